/* SPDX-License-Identifier: Apache-2.0 */
/*
 * distinct_sketch.h - how many distinct blocks there were, to within a percent, in 16 KiB. For first touches,
 * which a sample of few blocks estimates badly.
 *
 * P. Flajolet, É. Fusy, O. Gandouet, F. Meunier: HyperLogLog, AofA 2007. Each block's hash chooses a
 * register, which keeps the longest run of leading zeros seen in the rest; few blocks are counted by the
 * registers that are still empty.
 */
#ifndef FATHOM_ENGINE_DISTINCT_SKETCH_H
#define FATHOM_ENGINE_DISTINCT_SKETCH_H

#include <math.h>
#include <stdint.h>

enum { FM_SKETCH_BITS = 14, FM_SKETCH_REGISTERS = 1 << FM_SKETCH_BITS };
/* The standard error of the estimate: 1.04 / sqrt(registers). */
#define FM_SKETCH_ERROR 0.008125

typedef struct fm_distinct_sketch {
    uint8_t registers[FM_SKETCH_REGISTERS];
} fm_distinct_sketch;

/* hash: all 64 bits well mixed. */
static inline void fm_distinct_sketch_add(fm_distinct_sketch *sketch, uint64_t hash)
{
    uint8_t *kept = &sketch->registers[hash >> (64 - FM_SKETCH_BITS)];
    /* The bit behind the rest ends every run. */
    const uint64_t rest = hash << FM_SKETCH_BITS | UINT64_C(1) << (FM_SKETCH_BITS - 1);
    const uint8_t run = (uint8_t)(1 + __builtin_clzll(rest));
    if (run > *kept) *kept = run;
}

static inline double fm_distinct_sketch_count(const fm_distinct_sketch *sketch)
{
    const double registers = FM_SKETCH_REGISTERS;
    double sum = 0;
    unsigned empty = 0;
    for (int i = 0; i < FM_SKETCH_REGISTERS; i++) {
        sum += ldexp(1, -sketch->registers[i]);
        empty += sketch->registers[i] == 0;
    }
    const double count = 0.7213 / (1 + 1.079 / registers) * registers * registers / sum;
    return count <= 2.5 * registers && empty > 0 ? registers * log(registers / empty) : count;
}

#endif
