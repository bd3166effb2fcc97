/* Parameters that are arrays with variable extents, and pointers to rows of known length. */
void rows(int n, int m, double A[n][m], double (*B)[m], double x[restrict m])
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) A[i][j] = B[i][j] + x[j];
}
