/* SPDX-License-Identifier: Apache-2.0 */
/* fft.c - four complex Fourier transforms, radix 2 in place, of n numbers; n is rounded down to a power of
 * two. */
#include "kernel.h"

typedef struct complex_number {
    double re, im;
} complex_number;

static void bit_reverse(complex_number *data, size_t n)
{
    for (size_t i = 1, j = 0; i < n; i++) {
        size_t bit = n >> 1;
        for (; j & bit; bit >>= 1) j ^= bit;
        j ^= bit;
        if (i < j) {
            complex_number swap = data[i];
            data[i] = data[j];
            data[j] = swap;
        }
    }
}

static void transform(complex_number *data, const complex_number *roots, size_t n)
{
    bit_reverse(data, n);
    for (size_t length = 2; length <= n; length *= 2)
        for (size_t i = 0; i < n; i += length)
            for (size_t j = 0; j < length / 2; j++) {
                const complex_number w = roots[j * (n / length)];
                complex_number *a = &data[i + j], *b = &data[i + j + length / 2];
                const complex_number t = {b->re * w.re - b->im * w.im, b->re * w.im + b->im * w.re};
                *b = (complex_number){a->re - t.re, a->im - t.im};
                *a = (complex_number){a->re + t.re, a->im + t.im};
            }
}

int main(int argc, char **argv)
{
    size_t n = 1;
    while (2 * n <= kernel_size(argc, argv)) n *= 2;
    complex_number *data = kernel_memory(n, sizeof *data), *roots = kernel_memory(n, sizeof *roots);
    /* Roots by the rotation of the first one: sines are not what is measured. */
    double re = 1, im = 0, step = 6.283185307179586 / (double)n;
    for (size_t i = 0; i < n; i++) {
        roots[i] = (complex_number){re, im};
        const double next = re - step * im;
        im += step * re;
        re = next;
        data[i].re = (double)(i % 11);
    }
    for (int i = 0; i < 4; i++) transform(data, roots, n);
    return kernel_done(data[1].re);
}
