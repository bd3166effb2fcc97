/* Steps of all kinds, a break, and variables that follow the loop's. */
static double A[400], B[400];
void steps(int n)
{
    for (int i = 1; i < n; i += 3) A[i] = B[i];
    for (int i = n - 1; i >= 0; i = i - 2) A[i] = B[i];
    int k = 5;
    for (int i = 0; i < n; i++) {
        int ip = i + 1;
        k += 2;
        A[ip] = B[k];
    }
    for (int i = 0, j = 0; i < n; i += 2, j++) A[j] = B[i];
    A[k] = 0.0;
    for (int i = 0; i < n; i++) {
        A[i] += 1.0;
        if (i >= 10) break;
        B[i] += 1.0;
    }
}
