/* SPDX-License-Identifier: Apache-2.0 */
/* key_table.h - finds the number that was given to a key of three words. Internal; for joining tables. */
#ifndef FATHOM_BASE_KEY_TABLE_H
#define FATHOM_BASE_KEY_TABLE_H

#include <stddef.h>
#include <stdint.h>

typedef struct fm_key {
    uint64_t a, b, c;
} fm_key;

/* All zero is an empty one. */
typedef struct fm_key_table {
    struct fm_key_slot *slots;
    size_t slot_count, count;
    uint64_t seed;
} fm_key_table;

#define FM_KEY_NONE UINT32_MAX

/* The number of the key, or FM_KEY_NONE. */
uint32_t fm_key_table_find(const fm_key_table *table, fm_key key);
/* The number of the key; `number` where it had none, which it has from then on. FM_KEY_NONE: no memory
 * (number must be less). */
uint32_t fm_key_table_add(fm_key_table *table, fm_key key, uint32_t number);
void fm_key_table_clear(fm_key_table *table);

#endif
