/* Rows that are computed by hand, in several ways of writing. */
void linear(int n, int m, double *A, const double *restrict B, double *C)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) {
            A[i * m + j] += *(B + i * m + j);
            *(C + (i * m + j)) = 2.0 * (&A[i * m])[j];
            const double *row = B + i * m;
            C[i * m + j] += row[j];
        }
}
