/* SPDX-License-Identifier: Apache-2.0 */
/* numbering.c - see numbering.h. Open addressing with linear probing, at most half full. */
#include "view/numbering.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

static void put(uint32_t *slots, size_t slot_count, uint64_t hash, uint32_t number)
{
    size_t at = (size_t)hash & (slot_count - 1);
    while (slots[at]) at = (at + 1) & (slot_count - 1);
    slots[at] = number + 1;
}

static int make_room(fm_numbering *numbering)
{
    if (numbering->count < numbering->slot_count / 2) return 0;
    size_t wanted = numbering->slot_count ? numbering->slot_count * 2 : 64;
    uint32_t *slots = fm_calloc(wanted, sizeof *slots);
    if (!slots) return -1;
    for (size_t i = 0; i < numbering->count; i++) put(slots, wanted, numbering->items[i].hash, (uint32_t)i);
    free(numbering->slots);
    numbering->slots = slots;
    numbering->slot_count = wanted;
    return 0;
}

uint32_t fm_numbering_add(fm_numbering *numbering, const void *bytes, size_t length)
{
    uint64_t hash = XXH3_64bits(bytes, length);
    if (numbering->slot_count) {
        size_t mask = numbering->slot_count - 1;
        for (size_t at = (size_t)hash & mask; numbering->slots[at]; at = (at + 1) & mask) {
            const fm_numbered *item = &numbering->items[numbering->slots[at] - 1];
            if (item->hash == hash && item->length == length &&
                memcmp(numbering->bytes + item->offset, bytes, length) == 0)
                return numbering->slots[at] - 1;
        }
    }
    if (numbering->count >= UINT32_MAX - 1 || make_room(numbering) ||
        fm_array_reserve((void **)&numbering->items, &numbering->capacity, numbering->count + 1,
                         sizeof *numbering->items) ||
        fm_array_reserve((void **)&numbering->bytes, &numbering->room, numbering->used + length + 8, 1))
        return UINT32_MAX;
    uint32_t number = (uint32_t)numbering->count++;
    numbering->items[number] = (fm_numbered){numbering->used, length, hash};
    memcpy(numbering->bytes + numbering->used, bytes, length);
    numbering->bytes[numbering->used + length] = 0;
    numbering->used += (length + 8) & ~(size_t)7;
    put(numbering->slots, numbering->slot_count, hash, number);
    return number;
}

uint32_t fm_numbering_add_text(fm_numbering *numbering, const char *text)
{
    return fm_numbering_add(numbering, text, strlen(text));
}

const char *fm_numbering_text(const fm_numbering *numbering, size_t number)
{
    return numbering->bytes + numbering->items[number].offset;
}

void fm_numbering_clear(fm_numbering *numbering)
{
    free(numbering->items);
    free(numbering->bytes);
    free(numbering->slots);
    *numbering = (fm_numbering){0};
}
