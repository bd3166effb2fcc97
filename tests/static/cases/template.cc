// A template's instance, arrays by reference, references.
// --function transpose
template <typename T, int N> static void transpose(T (&a)[N][N], const T (&b)[N][N])
{
    for (int i = 0; i < N; ++i)
        for (int j = 0; j < N; ++j) {
            const T &from = b[j][i];
            a[i][j] = from;
        }
}
static float A[12][12], B[12][12];
void caller()
{
    transpose(A, B);
}
