/* Functions of the same file; the mathematical library; constants of all kinds. */
#include <math.h>
enum { SIDE = 12 };
static const int inner = SIDE - 2;
static double A[SIDE][SIDE], x[SIDE], y[SIDE];
static int at(int i, int shift)
{
    return i + shift;
}
static double dot(const double *a, const double *b, int n)
{
    double sum = 0.0;
    for (int k = 0; k < n; k++) sum += a[k] * b[k];
    return sum;
}
static void scale(int n, double v[n], double by)
{
    for (int k = 0; k < n; k++) v[k] *= by;
}
void calls(void) /* --function calls */
{
    for (int i = 0; i < inner; i++) {
        y[at(i, 2)] = sqrt(fabs(dot(A[i], x, SIDE))) / (double)sizeof(double);
        scale(SIDE, A[i], x[i]);
    }
}
