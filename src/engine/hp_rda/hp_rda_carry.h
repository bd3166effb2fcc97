/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hp_rda_carry.h - from one trace of HP-RDA to the next: distances that cross from trace to trace are merged
 * by formula 1 too, as those between thread blocks are. The paper does not say what becomes of them.
 */
#ifndef FATHOM_ENGINE_HP_RDA_CARRY_H
#define FATHOM_ENGINE_HP_RDA_CARRY_H

#include "engine/hp_rda/hp_rda.h"

/* A block's entry: distinct blocks after its last reference, less all that traces had before that one's end.
 */
typedef struct fm_hp_rda_carry {
    struct carried {
        uint64_t block, after;
        bool used;
    } * entries;
    size_t room, count; /* room: a power of two, or 0 */
    uint64_t seed;
    uint64_t sum; /* distinct blocks of all traces so far, added up */
} fm_hp_rda_carry;

void fm_hp_rda_carry_clear(fm_hp_rda_carry *carry);
uint64_t fm_hp_rda_carry_memory(const fm_hp_rda_carry *carry);
/*
 * The next trace: distances[i] becomes the distance between the last reference to uses[i].block in an earlier
 * trace and the first one in this, or FM_COLD. On failure nothing has changed.
 */
fm_status fm_hp_rda_carry_next(fm_hp_rda_carry *carry, const fm_hp_rda_use *uses, uint32_t count, bool adjust,
                               uint64_t *distances, fm_error *error);

#endif
