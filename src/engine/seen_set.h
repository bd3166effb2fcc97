/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seen_set.h - remembers which blocks were ever touched, up to a limit; then forgets everything.
 *
 * An engine that works under a bound drops the blocks that are further away than it. When such a block
 * comes back, only a memory of all blocks can distinguish it from a first touch. This set is that memory:
 * exact for up to `limit` distinct keys, so that its size is bounded. When one more key arrives, the
 * set is given up for good (its pages go back), and from then on the engine reports every block it
 * does not hold as FM_BEYOND, stops counting distinct blocks and says so through cold_known().
 *
 * On request the set also carries a time per key, so that time distances are not cut by the bound:
 * the engine stores a block's last time when it drops it. Once the set is given up, the time distance
 * of a block that is not held is FM_BEYOND too.
 *
 * It does not know which blocks the engine holds, and counts no memory but its own. There are two ways to
 * use it: insert every block that is not held; or, as long as nothing was dropped, meet it, and keep all that
 * is held before the first is dropped. With the second, where nothing is ever dropped, nothing is remembered.
 *
 * Rules for all engines:
 *     block held                     -> its distance, its time distance
 *     not held, insert says NEW      -> FM_COLD, FM_COLD
 *     not held, insert says KNOWN    -> FM_BEYOND, now - *last_time
 *     not held, insert says GIVEN_UP -> FM_BEYOND, FM_BEYOND
 *     distinct() is fm_seen_set_count(), cold_known() is !fm_seen_set_given_up().
 */
#ifndef FATHOM_ENGINE_SEEN_SET_H
#define FATHOM_ENGINE_SEEN_SET_H

#include "base/tunable.h"
#include "engine/block_table.h"

#include <stdbool.h>
#include <stdint.h>

/* 2^21 keys take 32 MiB (with times 64 MiB) and half as much again for a moment while growing. */
#define FM_SEEN_LIMIT (UINT64_C(1) << 21)

/* What engines pass as the limit. FM_SEEN_LIMIT; only tests set it to anything else. */
extern FM_TUNABLE uint64_t fm_seen_limit;

typedef enum fm_seen {
    FM_SEEN_KNOWN = 0,    /* the key was there */
    FM_SEEN_NEW = 1,      /* it was not, and is now */
    FM_SEEN_GIVEN_UP = 2, /* limit or budget passed, now or earlier: nobody can know any more */
    FM_SEEN_NO_MEMORY = 3 /* the system refused memory to grow; the set is as it was */
} fm_seen;

typedef struct fm_seen_set fm_seen_set;

/* NULL when memory is short. The seed should be a secret of this run: it keeps crafted keys from
 * colliding. */
fm_seen_set *fm_seen_set_create(uint64_t limit, uint64_t seed, bool with_times);
void fm_seen_set_destroy(fm_seen_set *set); /* NULL is fine */

/*
 * budget: bytes that the set may hold in all (at any moment, growth included); UINT64_MAX for no limit.
 * A set that would need more gives up, just as past its limit.
 * On FM_SEEN_KNOWN in a set with times, *last_time is what was stored last (0 where nothing was).
 * last_time may be NULL.
 */
fm_seen fm_seen_set_insert(fm_seen_set *set, uint64_t key, uint64_t budget, uint64_t *last_time);

/* A key that was never inserted, met or kept before: it is counted, nothing more. NEW, or GIVEN_UP. */
fm_seen fm_seen_set_meet(fm_seen_set *set);
/* Remembers all blocks of a table, which were met; false where memory is short. */
bool fm_seen_set_keep_table(fm_seen_set *set, const fm_block_table *table, uint64_t budget);
/* Fetches what insert and keep will look at. */
void fm_seen_set_prefetch(const fm_seen_set *set, uint64_t key);
void fm_seen_set_empty(fm_seen_set *set); /* as it was created; it keeps its memory, if it was not given up */

/* Takes over all keys of another set; false where memory is short. If that one was given up, so is this. */
bool fm_seen_set_absorb(fm_seen_set *set, const fm_seen_set *other);
/* Gives the set up; it had `count` keys. */
void fm_seen_set_give_up(fm_seen_set *set, uint64_t count);

/* Remembers the time of a key that is in the set; does nothing in a set that was given up or has no times. */
void fm_seen_set_store_time(fm_seen_set *set, uint64_t key, uint64_t time);

/* Distinct keys inserted or met; after giving up: as many as there were. */
uint64_t fm_seen_set_count(const fm_seen_set *set);
bool fm_seen_set_given_up(const fm_seen_set *set);
uint64_t fm_seen_set_memory(const fm_seen_set *set);      /* bytes held now */
uint64_t fm_seen_set_memory_peak(const fm_seen_set *set); /* the most ever held */
/* Bytes held for a moment by the next insertion of a new key, in all: more than memory() where it has to
 * grow. */
uint64_t fm_seen_set_memory_next(const fm_seen_set *set);

/* All keys, one at each call, in no order; false when there are no more (none after giving up). *cursor is 0
 * at the first call. */
bool fm_seen_set_next(const fm_seen_set *set, uint64_t *cursor, uint64_t *key);

#endif
