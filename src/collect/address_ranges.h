/* SPDX-License-Identifier: Apache-2.0 */
/* address_ranges.h - a few disjoint ranges of addresses (stacks, modules' data), by address, each with a
 * number. */
#ifndef FATHOM_COLLECT_ADDRESS_RANGES_H
#define FATHOM_COLLECT_ADDRESS_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct fm_address_range {
    uint64_t low, high; /* high: behind the last byte */
    uint32_t value;
} fm_address_range;

/* All zeroes is empty. */
typedef struct fm_address_ranges {
    fm_address_range *list;
    size_t count, capacity;
} fm_address_ranges;

void fm_address_ranges_clear(fm_address_ranges *ranges);
int fm_address_ranges_copy(fm_address_ranges *into, const fm_address_ranges *from); /* 0 or -1 */
/* Takes [low, high) out of what is there. 0, or -1 when memory is short: then nothing is changed. */
int fm_address_ranges_cut(fm_address_ranges *ranges, uint64_t low, uint64_t high);
/* Replaces what it lies over. 0, or -1 when memory is short. */
int fm_address_ranges_put(fm_address_ranges *ranges, fm_address_range range);
/* The range that holds an address; NULL: none. */
const fm_address_range *fm_address_ranges_find(const fm_address_ranges *ranges, uint64_t address);
/* Whether one of them has a byte in [low, high). */
bool fm_address_ranges_touch(const fm_address_ranges *ranges, uint64_t low, uint64_t high);

#endif
