/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For `fathom sample`: about half of the time few accesses, each to the next of 4,096 blocks (64 bytes), with
 * much arithmetic in between; the other half many, to 8 blocks. In a cache of 64 KiB those of the first kind
 * miss, 1 of 51: a clock's samples see them half of the time.
 *
 *     two_rates ROUNDS
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { BLOCKS = 4096, BLOCK = 64, NEAR = 8, FAR_ACCESSES = 1000000, NEAR_ACCESSES = 50 * FAR_ACCESSES };
static volatile char table[BLOCKS * BLOCK] __attribute__((aligned(BLOCK)));
static volatile uint64_t near[NEAR * BLOCK / 8] __attribute__((aligned(BLOCK)));

__attribute__((noinline)) static uint64_t slow(uint64_t x)
{
    for (uint64_t i = 0; i < FAR_ACCESSES; i++) {
        for (int k = 0; k < 60; k++) x = (x ^ x >> 7) * 2654435769u;
        table[i % BLOCKS * BLOCK] = (char)x;
    }
    return x;
}

__attribute__((noinline)) static void fast(uint64_t x)
{
    for (uint64_t i = 0; i < NEAR_ACCESSES / NEAR; i++)
        for (int k = 0; k < NEAR; k++) near[k * BLOCK / 8] = x + i;
}

int main(int argc, char **argv)
{
    uint64_t sum = 1;
    for (int rounds = argc > 1 ? atoi(argv[1]) : 100; rounds > 0; rounds--) {
        sum = slow(sum);
        fast(sum);
    }
    printf("%d\n", sum == 1);
    return 0;
}
