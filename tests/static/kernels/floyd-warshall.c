/* SPDX-License-Identifier: Apache-2.0 */
/* Shortest paths between all pairs. */
void kernel_floyd_warshall(int n, int path[restrict n][n])
{
    for (int k = 0; k < n; k++)
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                path[i][j] = path[i][j] < path[i][k] + path[k][j] ? path[i][j] : path[i][k] + path[k][j];
}
