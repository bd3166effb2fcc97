/* SPDX-License-Identifier: Apache-2.0 */
/* sieve.c - the prime numbers below n by Eratosthenes' sieve, and the gaps between them. */
#include "kernel.h"

int main(int argc, char **argv)
{
    const size_t n = kernel_size(argc, argv) + 3;
    char *composite = kernel_memory(n, 1);
    uint64_t gaps[256] = {0};
    for (size_t i = 2; i * i < n; i++)
        if (!composite[i])
            for (size_t j = i * i; j < n; j += i) composite[j] = 1;
    for (size_t i = 3, last = 2; i < n; i++)
        if (!composite[i]) {
            gaps[(i - last) % 256]++;
            last = i;
        }
    return kernel_done((double)gaps[2]);
}
