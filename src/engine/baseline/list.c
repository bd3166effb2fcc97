/* SPDX-License-Identifier: Apache-2.0 */
/*
 * list.c - Mattson's LRU stack as a plain array: the oracle that every other engine is judged by.
 *
 * The stack holds every block ever touched, the most recent one last. A reference searches from that
 * end; the number of blocks it passes is the distance; then the block moves to the end. It is slow
 * (time O(n * d) for n references of mean distance d, space O(distinct), 16 bytes a block) and meant
 * to be obviously right: no hashing, no tree, nothing dropped under a bound.
 *
 * R. L. Mattson, J. Gecsei, D. R. Slutz, I. L. Traiger: Evaluation techniques for storage hierarchies,
 * IBM Systems Journal 9(2), 1970.
 */
#include "base/error.h"
#include "base/memory.h"
#include "engine/engine.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 256 };

typedef struct entry {
    uint64_t block;
    uint64_t time; /* of the last reference to it */
} entry;

struct fm_engine {
    entry *stack; /* oldest first */
    size_t count, capacity;
    uint64_t time; /* of the next reference; wraps modulo 2^64, which differences do not feel */
    uint64_t bound, max_memory;
    uint64_t memory_peak;
};

static uint64_t memory_with(const fm_engine *list, size_t capacity)
{
    (void)list;
    return sizeof *list + (uint64_t)capacity * sizeof(entry);
}

static fm_status list_resize(fm_engine *list, size_t capacity, fm_error *error)
{
    if (capacity > SIZE_MAX / sizeof(entry))
        return fm_fail_memory(error, SIZE_MAX, "the list engine's stack");
    uint64_t needed = memory_with(list, capacity);
    if (list->max_memory && needed > list->max_memory)
        return fm_fail(error, FM_E_LIMIT, NULL,
                       "the list engine needs %" PRIu64 " bytes for %zu blocks, the limit is %" PRIu64,
                       needed, list->count + 1, list->max_memory);
    size_t bytes = capacity * sizeof(entry);
    entry *stack = list->stack ? fm_pages_resize(list->stack, list->capacity * sizeof(entry), bytes)
                               : fm_pages_allocate(bytes);
    if (!stack) return fm_fail_memory(error, bytes, "the list engine's stack");
    list->stack = stack;
    list->capacity = capacity;
    list->memory_peak = needed;
    return FM_OK;
}

static void list_destroy(fm_engine *list)
{
    if (!list) return;
    fm_pages_free(list->stack, list->capacity * sizeof(entry));
    free(list);
}

static fm_status list_create(fm_engine **engine, const fm_engine_options *options, fm_error *error)
{
    *engine = NULL;
    fm_engine *list = fm_calloc(1, sizeof *list);
    if (!list) return fm_fail_memory(error, sizeof *list, "the list engine");
    list->time = options->first_time;
    list->bound = options->bound;
    list->max_memory = options->max_memory;
    fm_status status = list_resize(list, FIRST_CAPACITY, error);
    if (status) {
        list_destroy(list);
        return status;
    }
    *engine = list;
    return FM_OK;
}

static fm_status list_feed(fm_engine *list, const fm_references *references, const fm_engine_results *results,
                           size_t *done, fm_error *error)
{
    const uint64_t *const blocks = references->blocks;
    const size_t count = references->count;
    uint64_t *const distances = results->each_distance, *const times = results->each_time;
    for (size_t i = 0; i < count; i++) {
        *done = i;
        size_t place = list->count;
        while (place > 0 && list->stack[place - 1].block != blocks[i]) place--;
        if (place > 0) {
            place--;
            entry *found = &list->stack[place];
            size_t above = list->count - 1 - place;
            distances[i] = list->bound && above >= list->bound ? FM_BEYOND : above;
            if (times) times[i] = list->time - found->time;
            memmove(found, found + 1, above * sizeof(entry));
        } else {
            if (list->count == list->capacity) {
                fm_status status = list_resize(list, list->capacity * 2, error);
                if (status) return status;
            }
            distances[i] = FM_COLD;
            if (times) times[i] = FM_COLD;
            list->count++;
        }
        list->stack[list->count - 1] = (entry){.block = blocks[i], .time = list->time};
        list->time++;
    }
    *done = count;
    return FM_OK;
}

static uint64_t list_distinct(const fm_engine *list)
{
    return list->count;
}

static bool list_cold_known(const fm_engine *list)
{
    (void)list;
    return true;
}

static uint64_t list_memory(const fm_engine *list)
{
    return memory_with(list, list->capacity);
}

static uint64_t list_memory_peak(const fm_engine *list)
{
    return list->memory_peak;
}

const fm_engine_ops fm_engine_list = {
    .info = {.name = "list",
             .summary = "Mattson's stack, searched from the top: slow, the oracle",
             .exact = true},
    .create = list_create,
    .destroy = list_destroy,
    .feed = list_feed,
    .distinct = list_distinct,
    .cold_known = list_cold_known,
    .memory = list_memory,
    .memory_peak = list_memory_peak,
};
