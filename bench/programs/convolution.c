/* SPDX-License-Identifier: Apache-2.0 */
/* convolution.c - a picture of n x n points blurred by a weighted mean over 5 x 5 of them, twice. */
#include "kernel.h"

int main(int argc, char **argv)
{
    const size_t n = kernel_size(argc, argv) + 4;
    float *from = kernel_memory(n * n, sizeof *from), *to = kernel_memory(n * n, sizeof *to), weights[25];
    for (size_t i = 0; i < 25; i++) weights[i] = (float)(1 + i % 5) / 75;
    for (size_t i = 0; i < n * n; i++) from[i] = (float)(i % 251);
    for (int time = 0; time < 2; time++) {
        for (size_t i = 2; i + 2 < n; i++)
            for (size_t j = 2; j + 2 < n; j++) {
                float sum = 0;
                for (size_t k = 0; k < 25; k++) sum += weights[k] * from[(i + k / 5 - 2) * n + j + k % 5 - 2];
                to[i * n + j] = sum;
            }
        float *swap = from;
        from = to;
        to = swap;
    }
    return kernel_done((double)from[n * n / 2]);
}
