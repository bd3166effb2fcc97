/* SPDX-License-Identifier: Apache-2.0 */
/* How an RNA folds: the largest number of pairs, by dynamic programming. */
#define LARGER(a, b) ((a) >= (b) ? (a) : (b))
#define PAIR(a, b) ((a) + (b) == 3 ? 1 : 0)
void kernel_nussinov(int n, char seq[restrict n], int table[restrict n][n])
{
    for (int i = n - 1; i >= 0; i--)
        for (int j = i + 1; j < n; j++) {
            if (j - 1 >= 0) table[i][j] = LARGER(table[i][j], table[i][j - 1]);
            if (i + 1 < n) table[i][j] = LARGER(table[i][j], table[i + 1][j]);
            if (j - 1 >= 0 && i + 1 < n) {
                if (i < j - 1)
                    table[i][j] = LARGER(table[i][j], table[i + 1][j - 1] + PAIR(seq[i], seq[j]));
                else
                    table[i][j] = LARGER(table[i][j], table[i + 1][j - 1]);
            }
            for (int k = i + 1; k < j; k++) table[i][j] = LARGER(table[i][j], table[i][k] + table[k + 1][j]);
        }
}
