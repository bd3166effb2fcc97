/* Constant expressions are computed by the compiler. */
enum { REACH = 2 };
static const int ways = 3;
void folded(int n, double a[n], double b[n], int k[n])
{
    for (int i = REACH; i < n - REACH; i++) {
        b[i] = a[i] / (2 * REACH + 1) + -1.0 * 2.0;
        k[i] = k[i] * (ways - 1) + ~0;
        b[i] = -a[i];
    }
}
