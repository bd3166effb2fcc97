/* SPDX-License-Identifier: Apache-2.0 */
/* clusters.c - n points of four numbers put to the nearest of sixteen centres, five rounds. */
#include "kernel.h"

enum { NUMBERS = 4, CENTRES = 16 };

static size_t nearest(const double *point, double centres[CENTRES][NUMBERS])
{
    size_t best = 0;
    double least = 1e300;
    for (size_t c = 0; c < CENTRES; c++) {
        double distance = 0;
        for (size_t k = 0; k < NUMBERS; k++)
            distance += (point[k] - centres[c][k]) * (point[k] - centres[c][k]);
        if (distance < least) least = distance, best = c;
    }
    return best;
}

int main(int argc, char **argv)
{
    const size_t n = kernel_size(argc, argv);
    double *points = kernel_memory(n * NUMBERS, sizeof *points), centres[CENTRES][NUMBERS];
    uint64_t seed = 1;
    for (size_t i = 0; i < n * NUMBERS; i++) points[i] = (double)(kernel_random(&seed) % 1000);
    for (size_t c = 0; c < CENTRES; c++)
        for (size_t k = 0; k < NUMBERS; k++) centres[c][k] = points[(c * n / CENTRES) * NUMBERS + k];
    for (int round = 0; round < 5; round++) {
        double sums[CENTRES][NUMBERS] = {0}, counts[CENTRES] = {0};
        for (size_t i = 0; i < n; i++) {
            const size_t c = nearest(points + i * NUMBERS, centres);
            counts[c] += 1;
            for (size_t k = 0; k < NUMBERS; k++) sums[c][k] += points[i * NUMBERS + k];
        }
        for (size_t c = 0; c < CENTRES; c++)
            for (size_t k = 0; k < NUMBERS && counts[c] > 0; k++) centres[c][k] = sums[c][k] / counts[c];
    }
    return kernel_done(centres[0][0]);
}
