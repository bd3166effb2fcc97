/* Pointers that walk. */
static double A[30][40], x[30 * 40];
double pointers(int n, double *from)
{
    double sum = 0.0;
    double *p = from, *const end = from + n;
    while (p < end) sum += *p++;
    double *q = &A[0][0];
    for (int i = 0; i < 30; i++)
        for (int j = 0; j < 40; j++) *q++ = x[i * 40 + j];
    for (double *r = x, *last = x + n; r != last; ++r) *r = *r + 1.0;
    double(*row)[40] = A;
    for (int i = 0; i < 30; i++, row++) (*row)[3] = row[0][4];
    return sum;
}
