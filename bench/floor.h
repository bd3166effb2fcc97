/* SPDX-License-Identifier: Apache-2.0 */
/*
 * floor.h - the least work there is: look each key up in the default engine's own hash table, and store
 * the time of the reference there. No distance comes out. What `exact` costs beyond this is the price of
 * the answer.
 */
#ifndef FATHOM_BENCH_FLOOR_H
#define FATHOM_BENCH_FLOOR_H

#include <fathom/status.h>

typedef struct bench_floor bench_floor;

bench_floor *bench_floor_create(uint64_t seed); /* NULL when memory is short */
fm_status bench_floor_feed(bench_floor *floor, const uint64_t *keys, size_t count, fm_error *error);
uint64_t bench_floor_distinct(const bench_floor *floor);
uint64_t bench_floor_memory(const bench_floor *floor);
void bench_floor_destroy(bench_floor *floor); /* NULL is fine */

#endif
