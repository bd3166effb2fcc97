/* SPDX-License-Identifier: Apache-2.0 */
/* blur_stream.c - the program of docs/TUTORIAL.md that keeps running: blurs one frame after the other. The
 * argument says how many; without, it goes on until it is ended. */
#include <stdio.h>
#include <stdlib.h>

enum { WIDTH = 2048, HEIGHT = 2048, REACH = 4 };

typedef float image[HEIGHT][WIDTH];

static void take_frame(image to, long number)
{
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++) to[y][x] = (float)((x * 7 + y * 13 + number) % 256);
}

static void blur_columns(image from, image to)
{
    for (int x = 0; x < WIDTH; x++)
        for (int y = REACH; y < HEIGHT - REACH; y++) {
            float sum = 0;
            for (int d = -REACH; d <= REACH; d++) sum += from[y + d][x];
            to[y][x] = sum / (2 * REACH + 1);
        }
}

int main(int argc, char **argv)
{
    const long frames = argc > 1 ? atol(argv[1]) : 0;
    float(*frame)[WIDTH] = calloc(HEIGHT, sizeof *frame);
    float(*blurred)[WIDTH] = calloc(HEIGHT, sizeof *blurred);
    if (!frame || !blurred) return 1;
    long number = 0;
    for (; frames == 0 || number < frames; number++) {
        take_frame(frame, number);
        blur_columns(frame, blurred);
    }
    printf("%ld frames\n", number);
    free(frame);
    free(blurred);
    return 0;
}
