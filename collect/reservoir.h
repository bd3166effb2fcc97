/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * reservoir.h - which of the debug registers a new sample gets, if any. For the runtime inside programs (no
 * calls, no allocation, no floating point: safe in any signal handler) and for the virtual sampler of the
 * library (src/model/sample_virtual.c).
 *
 * A sample takes a free register where there is one. Else it tries the registers in random order, register k
 * with probability 1 / (n + 1), n being the samples seen since that register was last free, its own first one
 * included: then each of these has the same chance to be in it (Q. Wang, X. Liu, M. Chabbi: Featherlight
 * reuse-distance measurement, HPCA 2019, section IV.A). But n only grows, and so a program that runs long
 * hardly changes its registers any more. In the *capped* reservoir n is at most the register's cap, a few
 * samples for the first and many for the last: short and long reuses both have registers of theirs, and
 * no register is lost to data that is never used again.
 *
 * A register that is free may be lent to something that is no sample (the second use of a block, watched in
 * its turn). Samples do not see that: which of them gets a register, and with which probability, is the same.
 * They take registers that hold nothing first.
 *
 * Whoever estimates must know with which probability a sample was armed, given what the registers held:
 * 1 where one was free, else 1 - product of (1 - 1 / (n + 1)).
 */
#ifndef FATHOM_COLLECT_SAMPLE_RESERVOIR_H
#define FATHOM_COLLECT_SAMPLE_RESERVOIR_H

#include <stdbool.h>
#include <stdint.h>

enum {
    FM_RESERVOIR_MOST = 16,
    FM_RESERVOIR_ARMED_BITS = 40, /* probabilities of arming are in units of 2^-40 */
    FM_RESERVOIR_KEPT_BITS = 31,  /* and those of being kept in units of 2^-31 */
    FM_RESERVOIR_SEEN_MOST = (1 << 24) - 2,
};

typedef struct fm_reservoir {
    uint64_t random; /* state of the generator, not 0 */
    uint32_t registers;
    struct {
        uint32_t seen; /* samples since it was last free; 0: it is free */
        uint32_t cap;  /* n is at most this */
        uint32_t kept; /* probability that what it holds was not replaced so far */
        uint32_t lent; /* 1: it is free, but until a sample needs it holds what is no sample */
    } at[FM_RESERVOIR_MOST];
} fm_reservoir;

/* What becomes of a sample. */
typedef struct fm_reservoir_choice {
    int32_t place;          /* the register it gets; -1: none */
    bool replaces;          /* what was in it ends here, cut off */
    uint32_t replaced_kept; /* then: its probability of having been kept until before this sample */
    uint64_t armed; /* probability with which this sample was armed; not armed: with which it would have
                       been */
} fm_reservoir_choice;

/* The next 64 random bits: xorshift64*. The state is never 0. */
static inline uint64_t fm_reservoir_bits(uint64_t *state)
{
    uint64_t x = *state;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    *state = x;
    return x * UINT64_C(0x2545F4914F6CDD1D);
}

/* A number below `most`, not 0: upper bits by multiplication. */
static inline uint32_t fm_reservoir_random(fm_reservoir *reservoir, uint32_t most)
{
    return (uint32_t)(((fm_reservoir_bits(&reservoir->random) >> 32) * most) >> 32);
}

/* Caps for so many registers: 16 to 1024, evenly on the scale of logarithms; those in the middle for 1 and 2.
 */
static inline uint32_t fm_reservoir_cap(uint32_t registers, uint32_t place)
{
    if (registers == 1) return 128;
    if (registers == 2) return place == 0 ? 32 : 512;
    return UINT32_C(16) << (6 * place / (registers - 1));
}

/* registers: 1 to FM_RESERVOIR_MOST. plain: the paper's, without caps. */
static inline void fm_reservoir_start(fm_reservoir *reservoir, uint32_t registers, bool plain, uint64_t seed)
{
    /* Seeds that are alike give streams that are not (splitmix64). */
    uint64_t z = seed + UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    z ^= z >> 31;
    reservoir->random = z ? z : 1;
    reservoir->registers = registers;
    for (uint32_t k = 0; k < registers; k++) {
        reservoir->at[k].seen = reservoir->at[k].kept = reservoir->at[k].lent = 0;
        reservoir->at[k].cap = plain ? FM_RESERVOIR_SEEN_MOST : fm_reservoir_cap(registers, k);
    }
}

static inline void fm_reservoir_take(fm_reservoir *reservoir, uint32_t place)
{
    reservoir->at[place].kept = UINT32_C(1) << FM_RESERVOIR_KEPT_BITS;
    reservoir->at[place].lent = 0;
}

/* The register, which is free, holds something until a sample needs it, or it is released. */
static inline void fm_reservoir_lend(fm_reservoir *reservoir, uint32_t place)
{
    fm_reservoir_take(reservoir, place);
    reservoir->at[place].lent = 1;
}

/* The register's watch has ended by itself: it is free. Its probability of having been kept until now. */
static inline uint32_t fm_reservoir_release(fm_reservoir *reservoir, uint32_t place)
{
    const uint32_t kept = reservoir->at[place].kept;
    reservoir->at[place].seen = reservoir->at[place].kept = reservoir->at[place].lent = 0;
    return kept ? kept : 1;
}

static inline void fm_reservoir_count(fm_reservoir *reservoir)
{
    for (uint32_t k = 0; k < reservoir->registers; k++)
        if (reservoir->at[k].seen > 0 && reservoir->at[k].seen < FM_RESERVOIR_SEEN_MOST)
            reservoir->at[k].seen++;
}

/* All registers hold something: tries them in random order. */
static inline fm_reservoir_choice fm_reservoir_compete(fm_reservoir *reservoir)
{
    const uint64_t one = UINT64_C(1) << FM_RESERVOIR_ARMED_BITS;
    uint32_t order[FM_RESERVOIR_MOST];
    for (uint32_t k = 0; k < reservoir->registers; k++) {
        const uint32_t other = fm_reservoir_random(reservoir, k + 1);
        order[k] = k;
        order[k] = order[other];
        order[other] = k;
    }
    fm_reservoir_choice choice = {.place = -1};
    uint64_t none = one; /* probability that those tried so far keep what they hold */
    for (uint32_t i = 0; i < reservoir->registers; i++) {
        const uint32_t k = order[i], seen = reservoir->at[k].seen, cap = reservoir->at[k].cap;
        const uint64_t chances = (seen < cap ? seen : cap) + UINT64_C(1);
        /* Replaced here with probability none / chances, whatever the later ones do. */
        const uint64_t stays = (one - none / chances) >> (FM_RESERVOIR_ARMED_BITS - FM_RESERVOIR_KEPT_BITS);
        const uint32_t before = reservoir->at[k].kept;
        reservoir->at[k].kept = (uint32_t)(before * stays >> FM_RESERVOIR_KEPT_BITS);
        if (choice.place < 0 && fm_reservoir_random(reservoir, (uint32_t)chances) == 0) {
            choice.place = (int32_t)k;
            choice.replaces = true;
            choice.replaced_kept = before ? before : 1;
        }
        none = none * (chances - 1) / chances;
    }
    choice.armed = one - none;
    if (choice.place >= 0) fm_reservoir_take(reservoir, (uint32_t)choice.place);
    fm_reservoir_count(reservoir);
    return choice;
}

/* A register that no sample holds, one that is not lent if there is any. -1: none. */
static inline int32_t fm_reservoir_find_free(const fm_reservoir *reservoir)
{
    int32_t found = -1;
    for (uint32_t k = 0; k < reservoir->registers; k++) {
        if (reservoir->at[k].seen > 0) continue;
        if (!reservoir->at[k].lent) return (int32_t)k;
        if (found < 0) found = (int32_t)k;
    }
    return found;
}

/* A new sample. Where it gets a register, that one is taken from now on. */
static inline fm_reservoir_choice fm_reservoir_offer(fm_reservoir *reservoir)
{
    const int32_t place = fm_reservoir_find_free(reservoir);
    if (place < 0) return fm_reservoir_compete(reservoir);
    fm_reservoir_choice choice = {.place = place, .armed = UINT64_C(1) << FM_RESERVOIR_ARMED_BITS};
    choice.replaces = reservoir->at[place].lent;
    choice.replaced_kept = reservoir->at[place].kept;
    fm_reservoir_count(reservoir);
    reservoir->at[place].seen = 1;
    fm_reservoir_take(reservoir, (uint32_t)place);
    return choice;
}

#endif
