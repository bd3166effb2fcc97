/* SPDX-License-Identifier: Apache-2.0 */
/* hash_join.c - a table of n rows joined with one of 4 n rows, by chains in a hash table. */
#include "kernel.h"

typedef struct row {
    uint64_t key, value;
    uint32_t next; /* 0: none; else the row's number, from 1 on */
} row;

int main(int argc, char **argv)
{
    const size_t n = kernel_size(argc, argv);
    row *build = kernel_memory(n + 1, sizeof *build);
    uint64_t *probe = kernel_memory(4 * n, sizeof *probe), *sums = kernel_memory(64, sizeof *sums), seed = 1;
    size_t places = 16;
    while (places < n) places *= 2;
    uint32_t *heads = kernel_memory(places, sizeof *heads);
    for (size_t i = 0; i < 4 * n; i++) probe[i] = kernel_random(&seed) % (2 * n);
    for (size_t i = 1; i <= n; i++) {
        build[i].key = kernel_random(&seed) % (2 * n);
        build[i].value = i;
        uint32_t *head = &heads[(build[i].key * UINT64_C(0x9E3779B97F4A7C15) >> 20) & (places - 1)];
        build[i].next = *head;
        *head = (uint32_t)i;
    }
    for (size_t i = 0; i < 4 * n; i++)
        for (uint32_t at = heads[(probe[i] * UINT64_C(0x9E3779B97F4A7C15) >> 20) & (places - 1)]; at;
             at = build[at].next)
            if (build[at].key == probe[i]) sums[probe[i] % 64] += build[at].value;
    return kernel_done((double)sums[7]);
}
