/* SPDX-License-Identifier: Apache-2.0 */
/* superseded.c - see superseded.h. */
#include "cluster/superseded.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>

fm_status fm_superseded_create(fm_superseded *set, uint64_t low, uint64_t high, fm_error *error)
{
    const uint64_t words = (high - low) / 64;
    *set = (fm_superseded){.low = low, .words = words};
    set->bits = fm_calloc(words ? words : 1, sizeof *set->bits);
    set->sums = fm_calloc(words + 1, sizeof *set->sums);
    if (set->bits && set->sums) return FM_OK;
    fm_superseded_clear(set);
    return fm_fail_memory(error, words * (sizeof *set->bits + sizeof *set->sums), "positions");
}

void fm_superseded_clear(fm_superseded *set)
{
    free(set->bits);
    free(set->sums);
    *set = (fm_superseded){0};
}

uint64_t fm_superseded_leave(fm_superseded *set, uint64_t position)
{
    const uint64_t at = position - set->low, word = at / 64, bit = UINT64_C(1) << at % 64;
    uint64_t upto = (uint64_t)__builtin_popcountll(set->bits[word] & (bit - 1));
    for (uint64_t i = word; i > 0; i &= i - 1) upto += set->sums[i];
    for (uint64_t i = word + 1; i <= set->words; i += i & -i) set->sums[i]++;
    set->bits[word] |= bit;
    return set->count++ - upto;
}
