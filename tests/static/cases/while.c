/* Loops in disguise: while, do, descending, several variables. */
static double A[100], B[200];
void disguised(int n)
{
    int i = 0;
    while (i < n) {
        A[i] = 0.0;
        i++;
    }
    i = n;
    while (i-- > 0) A[i] += 1.0;
    int k = n - 1, twice = 0;
    do {
        A[k] *= 2.0;
        B[twice] = A[k];
        twice += 2;
        --k;
    } while (k >= 0);
    for (int lo = 0, hi = n - 1; lo < hi; lo++, hi--) A[lo] = A[hi];
    for (unsigned u = n; u != 0; u--) A[u - 1] = B[2 * u - 1];
}
