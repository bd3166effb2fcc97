/* Tiles: bounds by a macro, by ?:, by an if; two conditions. */
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) (((a) > (b)) ? (a) : (b))
#define LEAST(a, b)                                                                                          \
    ({                                                                                                       \
        __typeof__(a) _a = (a);                                                                              \
        __typeof__(b) _b = (b);                                                                              \
        _a < _b ? _a : _b;                                                                                   \
    })
#define TILE (4 * 2)
static double A[40][50], B[50][40];
void tiles(int n, int m)
{
    for (int ii = 0; ii < n; ii += TILE)
        for (int jj = 0; jj < m; jj += TILE) {
            int end = jj + TILE;
            if (end > m) end = m;
            for (int i = ii; i < MIN(n, ii + TILE); i++)
                for (int j = MAX(jj, 1); j < end && j <= i + 5; j++) B[j][i] = A[i][j];
            for (int i = ii; i < LEAST(n, ii + TILE); i++) B[LEAST(jj, i)][i] = A[i][jj];
        }
}
