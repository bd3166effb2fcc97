/* SPDX-License-Identifier: Apache-2.0 */
/* Loops that an optimiser changes, each in a region: what is told must be the accesses of what it made.
 * Numbers are those of -O3 -mavx2 -ffast-math, n a multiple of 64. cc_runtime_test.sh has them.
 *
 *     cc_optimised LOOP N */
#include <fathom/markers.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOOP __attribute__((noinline)) static

/* n / 4 loads and n / 8 stores of 32 bytes */
LOOP void scale(float *restrict a, const float *restrict b, int n)
{
    for (int i = 0; i < n; i++) a[i] = a[i] * .5F + b[i];
}

/* n / 8 loads of 32 bytes; a load and a store of 4 bytes for every third element */
LOOP void masked(const float *restrict a, float *restrict b, int n)
{
    for (int i = 0; i < n; i++)
        if (a[i] > 1) b[i] = b[i] * 2 + 1;
}

/* n / 8 loads of 32 bytes, n of 4 bytes */
LOOP float gathered(const float *a, const int32_t *index, int n)
{
    float sum = 0;
    for (int i = 0; i < n; i++) sum += a[index[i]];
    return sum;
}

/* n / 8 loads of 32 bytes, one load and one store of 4: the sum is in a register meanwhile */
LOOP void total(const float *restrict a, float *restrict sum, int n)
{
    for (int i = 0; i < n; i++) *sum += a[i];
}

/* n loads of 4 bytes, of a constant table, and n of the index */
LOOP uint32_t table(const uint8_t *at, int n)
{
    static const uint32_t primes[16] = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53};
    uint32_t sum = 0;
    for (int i = 0; i < n; i++) sum = sum * 3 ^ primes[at[i] & 15];
    return sum;
}

/* n loads of 1 byte; a local array whose index is masked to fit, and whose address goes nowhere: n loads and
 * n stores of 4, and 64 stores of 4 or 8 of 32 bytes, that clear it */
LOOP uint32_t local(const uint8_t *at, int n)
{
    uint32_t counts[64];
    for (int i = 0; i < 64; i++) counts[i] = (uint32_t)n;
    for (int i = 0; i < n; i++) counts[at[i] & 63]++;
    return counts[7];
}

/* n loads and stores of 8 bytes that are not aligned */
typedef struct __attribute__((packed)) packed {
    uint8_t one;
    uint64_t eight;
} packed;

LOOP void unaligned(packed *items, int n)
{
    for (int i = 0; i < n; i++) items[i].eight = items[i].eight * 3 + 1;
}

int main(int argc, char **argv)
{
    if (argc != 3) return 2;
    const int n = atoi(argv[2]);
    float *a = aligned_alloc(64, (size_t)n * 64), *b = aligned_alloc(64, (size_t)n * 64);
    int32_t *index = aligned_alloc(64, (size_t)n * 4);
    if (!a || !b || !index) return 1;
    for (int i = 0; i < n; i++) a[i] = (float)(i % 3), b[i] = 1, index[i] = i * 7 % n;
    static const char *const names[] = {"scale", "masked", "gathered", "total",
                                        "table", "local",  "unaligned"};
    int loop = 0;
    while (loop < 7 && strcmp(argv[1], names[loop]) != 0) loop++;
    float result = 0;
    FATHOM_BEGIN("loop");
    switch (loop) {
    case 0:
        scale(a, b, n);
        break;
    case 1:
        masked(a, b, n);
        break;
    case 2:
        result = gathered(a, index, n);
        break;
    case 3:
        total(a, b, n);
        break;
    case 4:
        result = (float)table((uint8_t *)index, n);
        break;
    case 5:
        result = (float)local((uint8_t *)index, n);
        break;
    case 6:
        unaligned((packed *)a, n);
        break;
    default:
        return 2;
    }
    FATHOM_END;
    printf("%g %g %g\n", (double)result, (double)a[5], (double)b[5]);
    free(a);
    free(b);
    free(index);
    return 0;
}
