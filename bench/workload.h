/* SPDX-License-Identifier: Apache-2.0 */
/*
 * workload.h - a stream of block numbers held in memory, so that a measurement reads nothing else.
 *
 * Named in words: "zipf:1M" (skew 0.99), "uniform:10M", "cyclic:1M", and every other pattern of
 * fathom/generate.h with its number of keys; or "PATH@64": a stored trace, its data references cut into
 * blocks of so many bytes.
 */
#ifndef FATHOM_BENCH_WORKLOAD_H
#define FATHOM_BENCH_WORKLOAD_H

#include <stddef.h>
#include <stdint.h>

typedef struct workload {
    char name[96]; /* for people: "zipf 1M", "cc1, 64-byte blocks" */
    uint64_t *blocks;
    size_t count;
} workload;

/* references: how many to generate, and the most to take of a stored trace. Exits after a message on failure.
 */
workload workload_make(const char *words, uint64_t references);
void workload_free(workload *made);

#endif
