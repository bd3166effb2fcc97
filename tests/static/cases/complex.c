/* Numbers of two parts: products and quotients are counted by them. */
#include <complex.h>
void complexes(int n, double complex *restrict a, double complex *restrict b, double *restrict x)
{
    for (int i = 0; i < n; i++) {
        a[i] *= b[i];
        a[i] = b[i] * x[i] + a[i] + 1.0;
        b[i] /= a[i];
        b[n - 1 - i] = -a[i];
        x[i] = cabs(b[i]);
    }
}
