/* SPDX-License-Identifier: Apache-2.0 */
/* hashing.c - n keys into a table of twice as many places, and five random lookups for each. */
#include "kernel.h"

static size_t place_of(const uint64_t *table, size_t size, uint64_t key)
{
    size_t at = (size_t)(key * UINT64_C(0x9E3779B97F4A7C15) % size);
    while (table[at] && table[at] != key) at = at + 1 == size ? 0 : at + 1;
    return at;
}

int main(int argc, char **argv)
{
    const size_t n = kernel_size(argc, argv), size = 2 * n + 1;
    uint64_t *table = kernel_memory(size, sizeof *table), seed = 1, found = 0;
    for (size_t i = 1; i <= n; i++) table[place_of(table, size, i)] = i;
    for (size_t i = 0; i < 5 * n; i++)
        found += table[place_of(table, size, 1 + kernel_random(&seed) % n)] != 0;
    return kernel_done((double)found);
}
