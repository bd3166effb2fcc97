/* SPDX-License-Identifier: Apache-2.0 */
/* blur_fixed.c - blur.c, mended as docs/TUTORIAL.md tells. */
#include <stdio.h>
#include <stdlib.h>

enum { WIDTH = 2048, HEIGHT = 2048, REACH = 4 };

typedef float image[HEIGHT][WIDTH];

static void blur_rows(image from, image to)
{
    for (int y = 0; y < HEIGHT; y++)
        for (int x = REACH; x < WIDTH - REACH; x++) {
            float sum = 0;
            for (int d = -REACH; d <= REACH; d++) sum += from[y][x + d];
            to[y][x] = sum / (2 * REACH + 1);
        }
}

static void blur_columns(image from, image to)
{
    for (int y = REACH; y < HEIGHT - REACH; y++)
        for (int x = 0; x < WIDTH; x++) {
            float sum = 0;
            for (int d = -REACH; d <= REACH; d++) sum += from[y + d][x];
            to[y][x] = sum / (2 * REACH + 1);
        }
}

int main(void)
{
    float(*picture)[WIDTH] = calloc(HEIGHT, sizeof *picture);
    float(*half_way)[WIDTH] = calloc(HEIGHT, sizeof *half_way);
    float(*blurred)[WIDTH] = calloc(HEIGHT, sizeof *blurred);
    if (!picture || !half_way || !blurred) return 1;
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++) picture[y][x] = (float)((x * 7 + y * 13) % 256);
    blur_rows(picture, half_way);
    blur_columns(half_way, blurred);
    printf("%.1f\n", blurred[HEIGHT / 2][WIDTH / 2]);
    free(picture);
    free(half_way);
    free(blurred);
    return 0;
}
