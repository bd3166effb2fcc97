/* SPDX-License-Identifier: Apache-2.0 */
/*
 * string_keys.c - see string_keys.h.
 *
 * A table of one 8-byte slot per distinct string tells strings that share their 64-bit key apart by 13
 * more bits of an independent hash: a collision goes unnoticed with a chance of 1 in 8192. The slot does
 * not hold the 64 bits of the key; the place determines some of them (Knuth's quotienting):
 *
 *     mixed key = home (top `bits` bits: where the search begins) | rest (64 − bits bits)
 *     slot      = rest << 20 … | distance from home (6) | check (13) | in use (1)
 *
 * bits starts at 20, so that rest has at most 44 bits, and all fits. The key is mixed by a bijection with
 * a secret seed, so that nobody can prepare strings that crowd one place. Time O(1) per string.
 */
#include "trace/supply.h"

#include "base/error.h"
#include "base/memory.h"

#include <fathom/trace.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

enum {
    FIRST_BITS = 20,
    MOST_BITS = 40,
    CHECK_BITS = 13,
    FAR_BITS = 6,
    TAG_BITS = 20,
    FAR_MOST = (1 << FAR_BITS) - 1
};

/* A bijection of 64-bit numbers and its inverse: xor, multiply by an odd number, xor-shift. */
static uint64_t string_keys_mix(uint64_t key, uint64_t seed)
{
    key = (key ^ seed) * UINT64_C(0x9E3779B97F4A7C15);
    key ^= key >> 32;
    return key * UINT64_C(0xD6E8FEB86659FD93);
}

static uint64_t slot_of(uint64_t rest, uint64_t far, uint64_t check)
{
    return rest << TAG_BITS | far << (CHECK_BITS + 1) | check << 1 | 1;
}

static fm_status out_of_room(fm_error *error, unsigned bits)
{
    return fm_fail_memory(error, UINT64_C(8) << bits, "the table of string keys");
}

/* Puts a mixed key that is not in the table; false when it would be too far from home. */
static bool string_keys_put(uint64_t *slots, unsigned bits, uint64_t mixed, uint64_t check)
{
    uint64_t mask = (UINT64_C(1) << bits) - 1, home = mixed >> (64 - bits),
             rest = mixed & (UINT64_MAX >> bits);
    for (uint64_t far = 0; far <= FAR_MOST; far++) {
        uint64_t *slot = &slots[(home + far) & mask];
        if (*slot) continue;
        *slot = slot_of(rest, far, check);
        return true;
    }
    return false;
}

static bool string_keys_refill(uint64_t *into, unsigned into_bits, const uint64_t *from, unsigned from_bits)
{
    uint64_t mask = (UINT64_C(1) << from_bits) - 1;
    for (uint64_t i = 0; i <= mask; i++) {
        if (!from[i]) continue;
        uint64_t far = from[i] >> (CHECK_BITS + 1) & FAR_MOST;
        uint64_t mixed = ((i - far) & mask) << (64 - from_bits) | from[i] >> TAG_BITS;
        if (!string_keys_put(into, into_bits, mixed, from[i] >> 1 & ((1U << CHECK_BITS) - 1))) return false;
    }
    return true;
}

static fm_status string_keys_grow(fm_string_keys *keys, fm_error *error)
{
    for (unsigned bits = keys->bits + 1; bits <= MOST_BITS; bits++) {
        uint64_t *slots = fm_pages_allocate(sizeof(uint64_t) << bits);
        if (!slots) return out_of_room(error, bits);
        if (string_keys_refill(slots, bits, keys->slots, keys->bits)) {
            fm_pages_free(keys->slots, sizeof(uint64_t) << keys->bits);
            keys->slots = slots;
            keys->bits = bits;
            return FM_OK;
        }
        fm_pages_free(slots, sizeof(uint64_t) << bits);
    }
    return out_of_room(error, MOST_BITS);
}

fm_status fm_string_keys_note(fm_string_keys *keys, uint64_t key, uint64_t check, fm_error *error)
{
    if (!keys->slots) {
        keys->slots = fm_pages_allocate(sizeof(uint64_t) << FIRST_BITS);
        if (!keys->slots) return out_of_room(error, FIRST_BITS);
        keys->bits = FIRST_BITS;
        struct timespec now = {0};
        clock_gettime(CLOCK_REALTIME, &now);
        uint64_t sources[4] = {(uint64_t)now.tv_sec, (uint64_t)now.tv_nsec, (uint64_t)getpid(),
                               (uint64_t)(uintptr_t)keys->slots};
        if (!keys->seed) keys->seed = XXH3_64bits(sources, sizeof sources);
    }
    check &= (1U << CHECK_BITS) - 1;
    uint64_t mixed = string_keys_mix(key, keys->seed);
    uint64_t mask = (UINT64_C(1) << keys->bits) - 1;
    uint64_t home = mixed >> (64 - keys->bits), rest = mixed & (UINT64_MAX >> keys->bits);
    bool shared = false, crowded = true;
    for (uint64_t far = 0; far <= FAR_MOST; far++) {
        uint64_t slot = keys->slots[(home + far) & mask];
        if (!slot) {
            crowded = false;
            break;
        }
        uint64_t wanted = slot_of(rest, far, check);
        if (slot == wanted) return FM_OK; /* known */
        if ((slot ^ wanted) >> (CHECK_BITS + 1) == 0) shared = true;
    }
    if (shared) keys->collisions++;
    keys->used++;
    /* Strings made to collide can fill a neighbourhood: a larger table would not part them. Then, and where
     * the table is far from full anyway, they are counted at every sight and not kept. */
    if (crowded && (shared || keys->used < mask / 16)) return FM_OK;
    if (keys->used > mask / 8 * 5 || crowded) {
        fm_status status = string_keys_grow(keys, error);
        if (status != FM_OK) return status;
    }
    while (!string_keys_put(keys->slots, keys->bits, mixed, check)) {
        if (shared) return FM_OK;
        fm_status status = string_keys_grow(keys, error);
        if (status != FM_OK) return status;
    }
    return FM_OK;
}

fm_status fm_string_keys_note_all(fm_string_keys *keys, fm_string_list *list, fm_error *error)
{
    fm_status status = FM_OK;
    for (size_t i = 0; i < list->count && status == FM_OK; i++)
        status = fm_string_keys_note(keys, list->seen[i].key, list->seen[i].check, error);
    list->count = 0;
    return status;
}

void fm_string_keys_free(fm_string_keys *keys)
{
    if (keys->slots) fm_pages_free(keys->slots, sizeof(uint64_t) << keys->bits);
    keys->slots = NULL;
}

fm_status fm_string_list_add(fm_string_list *list, const char *text, size_t length, uint64_t *key,
                             fm_error *error)
{
    const size_t bytes = FM_BATCH_MAX * sizeof *list->seen;
    if (!list->seen && !(list->seen = malloc(bytes))) return fm_fail_memory(error, bytes, "string keys");
    *key = XXH3_64bits(text, length);
    list->seen[list->count++] =
        (struct fm_seen_string){*key, XXH3_64bits_withSeed(text, length, UINT64_C(0x6661746F6D))};
    return FM_OK;
}

void fm_string_list_free(fm_string_list *list)
{
    free(list->seen);
    *list = (fm_string_list){0};
}
