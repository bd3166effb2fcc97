/* Guards; ?: that chooses by variables of loops; continue; periodic neighbours. */
static double A[50][50], B[50];
void guards(int n)
{
    for (int i = 0; i < n; i++) {
        if (i == 3) continue;
        for (int j = 0; j < n; j++) {
            if (j > i && j != 7)
                A[i][j] = 0.0;
            else if (j == i)
                A[i][j] = 1.0;
            else
                A[i][j] = A[j][i];
        }
        int left = i == 0 ? n - 1 : i - 1, right = i + 1;
        if (right == n) right = 0;
        B[i] = A[left][i] + A[right][i];
        B[i] += i > 5 ? A[i][0] : B[0] * 2.0;
    }
}
