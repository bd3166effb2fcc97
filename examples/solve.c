/* SPDX-License-Identifier: Apache-2.0 */
/*
 * solve.c - the program of docs/PREDICT.md: heat in a plate of N x N cells, by rounds of Jacobi's method.
 * Each round is a sweep over the plate, the new values put in the place of the old ones, and a norm that says
 * how far it is.
 *
 *   cc -O2 -g solve.c -o solve && ./solve N
 */
#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 6 };

static void sweep(int n, const double *old, double *new)
{
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < n - 1; j++)
            new[i * n + j] =
                (old[(i - 1) * n + j] + old[(i + 1) * n + j] + old[i * n + j - 1] + old[i * n + j + 1]) / 4;
}

static void replace(int n, double *old, const double *new)
{
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < n - 1; j++) old[i * n + j] = new[i * n + j];
}

static double norm(int n, const double *plate)
{
    double sum = 0;
    for (int i = 0; i < n * n; i++) sum += plate[i] * plate[i];
    return sum;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 100;
    if (n < 3 || n > 10000) {
        fprintf(stderr, "usage: solve N, with 3 to 10000 cells a side\n");
        return 2;
    }
    double *old = calloc((size_t)n * (size_t)n, sizeof *old),
           *new = calloc((size_t)n * (size_t)n, sizeof *new);
    if (!old || !new) return 1;
    for (int i = 0; i < n; i++) old[i] = 100; /* the upper edge is hot */
    for (int round = 1; round <= ROUNDS; round++) {
        sweep(n, old, new);
        replace(n, old, new);
        printf("round %d: %.1f\n", round, norm(n, old));
    }
    free(old);
    free(new);
    return 0;
}
