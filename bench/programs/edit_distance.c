/* SPDX-License-Identifier: Apache-2.0 */
/* edit_distance.c - the edit distance of two random texts of n letters, by rows. */
#include "kernel.h"

int main(int argc, char **argv)
{
    const size_t n = kernel_size(argc, argv);
    char *a = kernel_memory(n, 1), *b = kernel_memory(n, 1);
    unsigned *row = kernel_memory(n + 1, sizeof *row);
    uint64_t seed = 1;
    for (size_t i = 0; i < n; i++) {
        a[i] = (char)(kernel_random(&seed) % 4);
        b[i] = (char)(kernel_random(&seed) % 4);
    }
    for (size_t j = 0; j <= n; j++) row[j] = (unsigned)j;
    for (size_t i = 0; i < n; i++) {
        unsigned diagonal = row[0];
        row[0] = (unsigned)i + 1;
        for (size_t j = 0; j < n; j++) {
            unsigned best = diagonal + (a[i] != b[j]);
            diagonal = row[j + 1];
            if (row[j] + 1 < best) best = row[j] + 1;
            if (diagonal + 1 < best) best = diagonal + 1;
            row[j + 1] = best;
        }
    }
    return kernel_done(row[n]);
}
