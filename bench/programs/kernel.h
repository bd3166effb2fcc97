/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel.h - what the programs of the prediction bench share: a size on the command line, memory, numbers
 * that are the same in every run, and a result that is printed so that nothing is optimised away.
 */
#ifndef FATHOM_BENCH_KERNEL_H
#define FATHOM_BENCH_KERNEL_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static inline size_t kernel_size(int argc, char **argv)
{
    if (argc != 2 || atol(argv[1]) < 1) {
        fprintf(stderr, "usage: %s SIZE\n", argv[0]);
        exit(2);
    }
    return (size_t)atol(argv[1]);
}

static inline void *kernel_memory(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (!memory) exit(1);
    return memory;
}

static inline uint64_t kernel_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

static inline int kernel_done(double result)
{
    return printf("%g\n", result) < 0;
}

#endif
