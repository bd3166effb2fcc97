/* SPDX-License-Identifier: Apache-2.0 */
/*
 * object_map.c - see object_map.h.
 *
 * What is reported waits in a queue until the late references of its time are counted. Of what overlaps, the
 * last reported wins: a block over a dead thread's stack, a stack in a block. Variables are looked up only
 * where a late reference falls into a module's data; its symbols are read then.
 *
 * Cost: alloc and free O(log blocks) in a B+-tree (heap_tree.c); a late reference the same, or nothing where
 * it falls into the same object as the one before, or into a piece of a stack or variable that was found
 * lately.
 */
#include "program/object_map.h"
#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { CONTEXTS_MOST = 1 << 24 };

static fm_status no_object_memory(fm_error *error)
{
    return fm_fail(error, FM_E_NOMEM, NULL, "out of memory for the account of data objects");
}

/* ---- life ---- */

fm_status fm_object_map_create(fm_object_map **map, fm_error *error)
{
    *map = NULL;
    fm_object_map *made = fm_calloc(1, sizeof *made);
    if (!made) return no_object_memory(error);
    if (fm_array_reserve((void **)&made->objects, &made->object_capacity, 1, sizeof *made->objects) != 0) {
        free(made);
        return no_object_memory(error);
    }
    made->known = FM_TABLE(fm_known_object, object);
    made->objects[0] = (fm_counted_object){.kind = FM_OBJECT_OTHER};
    made->object_count = 1;
    *map = made;
    return FM_OK;
}

void fm_object_map_destroy(fm_object_map *map)
{
    if (!map) return;
    for (size_t i = 0; i < map->module_count; i++) {
        if (!map->modules[i].shared) fm_symbols_close(map->modules[i].symbols);
        free(map->modules[i].path);
    }
    for (size_t i = 0; i < map->object_count; i++) free(map->objects[i].name);
    free(map->queue);
    fm_heap_tree_clear(&map->heap);
    fm_address_ranges_clear(&map->stacks);
    fm_address_ranges_clear(&map->data);
    fm_address_ranges_clear(&map->locals);
    free(map->modules);
    free(map->by_context);
    free(map->objects);
    fm_table_clear(&map->known);
    fm_object_counts_clear(&map->counts);
    free(map->order);
    free(map);
}

static int add_module(fm_object_map *map, uint32_t number, bool local, const char *path, uint64_t bias)
{
    if (map->module_count >= UINT32_MAX || fm_array_reserve((void **)&map->modules, &map->module_capacity,
                                                            map->module_count + 1, sizeof *map->modules) != 0)
        return -1;
    char *copy = strdup(path);
    if (!copy) return -1;
    map->modules[map->module_count++] =
        (fm_data_module){.number = number, .local = local, .path = copy, .bias = bias};
    return 0;
}

static int copy_into(fm_object_map *map, const fm_object_map *from)
{
    size_t waiting = from->queued - from->done;
    for (size_t i = 0; i < from->module_count; i++)
        if (add_module(map, from->modules[i].number, from->modules[i].local, from->modules[i].path,
                       from->modules[i].bias) != 0)
            return -1;
    if (fm_array_reserve((void **)&map->queue, &map->queue_capacity, waiting, sizeof *map->queue) != 0 ||
        fm_array_reserve((void **)&map->by_context, &map->context_capacity, from->context_count,
                         sizeof *map->by_context) != 0 ||
        fm_heap_tree_copy(&map->heap, &from->heap) != 0 ||
        fm_address_ranges_copy(&map->stacks, &from->stacks) != 0 ||
        fm_address_ranges_copy(&map->data, &from->data) != 0 ||
        fm_address_ranges_copy(&map->locals, &from->locals) != 0)
        return -1;
    for (size_t i = 0; i < waiting; i++) {
        map->queue[i] = from->queue[from->done + i];
        map->queue[i].time = 0; /* all of it happened before the fork */
    }
    map->queued = waiting;
    if (from->context_count > 0)
        memcpy(map->by_context, from->by_context, from->context_count * sizeof *map->by_context);
    map->context_count = from->context_count;
    for (size_t i = 0; i < map->context_count; i++) map->by_context[i].object = 0;
    return 0;
}

fm_status fm_object_map_clone(fm_object_map **map, const fm_object_map *from, fm_error *error)
{
    fm_object_map *made = NULL;
    fm_status status = fm_object_map_create(&made, error);
    if (made && copy_into(made, from) != 0) {
        fm_object_map_destroy(made);
        made = NULL;
        status = no_object_memory(error);
    }
    *map = made;
    return status;
}

uint64_t fm_object_map_memory(const fm_object_map *map)
{
    return sizeof *map + map->queue_capacity * sizeof *map->queue + fm_heap_tree_memory(&map->heap) +
           (map->stacks.capacity + map->data.capacity + map->locals.capacity) * sizeof(fm_address_range) +
           map->module_capacity * sizeof *map->modules + map->context_capacity * sizeof *map->by_context +
           map->object_capacity * sizeof *map->objects + fm_table_memory(&map->known) +
           map->counts.slot_count * sizeof *map->counts.slots + map->order_capacity * sizeof *map->order;
}

/* ---- what is reported ---- */

static fm_status enqueue_event(fm_object_map *map, fm_object_event event, fm_error *error)
{
    if (map->done > 0 &&
        map->done >= map->queued / 2) { /* cheap: each is moved once for each that was done */
        memmove(map->queue, map->queue + map->done, (map->queued - map->done) * sizeof *map->queue);
        map->queued -= map->done;
        map->done = 0;
    }
    if (fm_array_reserve((void **)&map->queue, &map->queue_capacity, map->queued + 1, sizeof *map->queue) !=
        0)
        return no_object_memory(error);
    map->queue[map->queued++] = event;
    return FM_OK;
}

fm_status fm_object_map_alloc(fm_object_map *map, uint64_t time, uint64_t address, uint64_t size,
                              uint32_t context, fm_error *error)
{
    if (context >= CONTEXTS_MOST) context = 0; /* no producer makes so many: unknown */
    if (context >= map->context_count) {
        if (fm_array_reserve((void **)&map->by_context, &map->context_capacity, (size_t)context + 1,
                             sizeof *map->by_context) != 0)
            return no_object_memory(error);
        memset(map->by_context + map->context_count, 0,
               (context + 1 - map->context_count) * sizeof *map->by_context);
        map->context_count = (size_t)context + 1;
    }
    if (size > UINT64_MAX - address) size = UINT64_MAX - address;
    fm_status status =
        enqueue_event(map, (fm_object_event){time, address, size, context, FM_EVENT_ALLOC}, error);
    if (status != FM_OK) return status;
    map->by_context[context].blocks++;
    map->by_context[context].bytes += size;
    return FM_OK;
}

fm_status fm_object_map_free(fm_object_map *map, uint64_t time, uint64_t address, fm_error *error)
{
    return enqueue_event(map, (fm_object_event){time, address, 0, 0, FM_EVENT_FREE}, error);
}

fm_status fm_object_map_stack(fm_object_map *map, uint64_t time, uint32_t thread, uint64_t low, uint64_t high,
                              fm_error *error)
{
    if (low >= high) return FM_OK;
    return enqueue_event(map, (fm_object_event){time, low, high - low, thread, FM_EVENT_STACK}, error);
}

fm_status fm_object_map_module(fm_object_map *map, uint64_t time, uint32_t number, const char *path,
                               uint64_t bias, uint64_t from, uint64_t to, fm_error *error)
{
    if (from >= to) return FM_OK;
    /* Data and bss are reported one after the other: one module, one look at its symbols. */
    const fm_data_module *last = map->module_count > 0 ? &map->modules[map->module_count - 1] : NULL;
    if (!last || last->local || last->number != number || last->bias != bias || strcmp(last->path, path) != 0)
        if (add_module(map, number, false, path, bias) != 0) return no_object_memory(error);
    fm_object_event event = {time, from, to - from, (uint32_t)(map->module_count - 1), FM_EVENT_MODULE};
    return enqueue_event(map, event, error);
}

fm_status fm_object_map_unmap(fm_object_map *map, uint64_t time, uint64_t from, uint64_t to, fm_error *error)
{
    if (from >= to) return FM_OK;
    return enqueue_event(map, (fm_object_event){time, from, to - from, 0, FM_EVENT_UNMAP}, error);
}

fm_status fm_object_map_thread_local(fm_object_map *map, uint64_t time, uint32_t number, const char *path,
                                     uint64_t address, uint64_t size, fm_error *error)
{
    if (size == 0 || size > UINT64_MAX - address) return FM_OK;
    size_t module = 0; /* one for each place: threads come and go, and get the same places again */
    while (module < map->module_count &&
           !(map->modules[module].local && map->modules[module].number == number &&
             map->modules[module].bias == address && strcmp(map->modules[module].path, path) == 0))
        module++;
    if (module == map->module_count && add_module(map, number, true, path, address) != 0)
        return no_object_memory(error);
    return enqueue_event(map, (fm_object_event){time, address, size, (uint32_t)module, FM_EVENT_LOCAL},
                         error);
}

/* ---- what takes effect ---- */

static bool overlaps_last(const fm_object_map *map, uint64_t address, uint64_t size)
{
    return address < map->last_start + map->last_size && map->last_start < address + size;
}

static void forget_found(fm_object_map *map)
{
    map->last_size = 0;
    if (map->found_some) memset(map->found, 0, sizeof map->found);
    map->found_some = false;
}

static int apply_event(fm_object_map *map, const fm_object_event *event)
{
    uint64_t end = event->address + event->size;
    switch (event->kind) {
    case FM_EVENT_ALLOC:
        if (event->size == 0) return 0;
        if (overlaps_last(map, event->address, event->size)) map->last_size = 0;
        if (map->found_some && (fm_address_ranges_touch(&map->data, event->address, end) ||
                                fm_address_ranges_touch(&map->stacks, event->address, end) ||
                                fm_address_ranges_touch(&map->locals, event->address, end)))
            forget_found(map);
        if (fm_address_ranges_cut(&map->stacks, event->address, end) != 0 ||
            fm_address_ranges_cut(&map->locals, event->address, end) != 0)
            return -1;
        return fm_heap_tree_insert(&map->heap, (fm_heap_block){event->address, end, event->value});
    case FM_EVENT_FREE:
        if (map->last_start == event->address) map->last_size = 0;
        fm_heap_tree_erase(&map->heap, event->address);
        return 0;
    case FM_EVENT_STACK:
        forget_found(map);
        if (fm_address_ranges_cut(&map->locals, event->address, end) != 0) return -1;
        return fm_address_ranges_put(&map->stacks, (fm_address_range){event->address, end, event->value});
    case FM_EVENT_MODULE:
        forget_found(map);
        if (fm_address_ranges_cut(&map->locals, event->address, end) != 0) return -1;
        return fm_address_ranges_put(&map->data, (fm_address_range){event->address, end, event->value});
    case FM_EVENT_UNMAP:
        forget_found(map);
        return fm_address_ranges_cut(&map->data, event->address, end);
    case FM_EVENT_LOCAL:
        forget_found(map);
        if (fm_address_ranges_cut(&map->stacks, event->address, end) != 0) return -1;
        return fm_address_ranges_put(&map->locals, (fm_address_range){event->address, end, event->value});
    }
    return 0;
}

/* Everything that was reported up to a time. */
static inline fm_status catch_up(fm_object_map *map, uint64_t time, fm_error *error)
{
    while (map->done < map->queued && map->queue[map->done].time <= time) {
        if (apply_event(map, &map->queue[map->done]) != 0) return no_object_memory(error);
        map->done++;
    }
    return FM_OK;
}

/* ---- which object ---- */

/* The object with these marks, made where it is new. 0 (OTHER) when there are too many. */
static fm_status intern_object(fm_object_map *map, const fm_counted_object *wanted, const char *name,
                               uint32_t *index, fm_error *error)
{
    fm_key key = {(uint64_t)wanted->kind, wanted->number, wanted->address};
    fm_known_object *known = fm_table_find(&map->known, &key);
    *index = known ? known->object : 0;
    if (known) return FM_OK;
    if (map->object_count >= FM_OBJECTS_MOST) return FM_OK;
    if (fm_array_reserve((void **)&map->objects, &map->object_capacity, map->object_count + 1,
                         sizeof *map->objects) != 0)
        return no_object_memory(error);
    fm_counted_object made = *wanted;
    made.name = name ? strdup(name) : NULL;
    if (name && !made.name) return no_object_memory(error);
    known = fm_table_put(&map->known, &key, NULL);
    if (!known) {
        free(made.name);
        return no_object_memory(error);
    }
    *index = known->object = (uint32_t)map->object_count;
    map->objects[map->object_count++] = made;
    return FM_OK;
}

/* What lies in [low, high) belongs to this object. (The caller sees to it that nothing in it comes before.)
 */
static void remember_extent(fm_object_map *map, uint64_t low, uint64_t high, uint32_t index)
{
    map->last_start = low;
    map->last_size = high - low;
    map->last_object = index;
}

static fm_found_piece *place_of_piece(fm_object_map *map, uint64_t address)
{
    return &map->found[(address >> FM_PIECE_SHIFT) % FM_FOUND_PIECES];
}

/* The same for a stack or variable; they stay where they are. */
static void remember_piece(fm_object_map *map, uint64_t address, uint64_t low, uint64_t high, uint32_t index)
{
    const uint64_t piece = address >> FM_PIECE_SHIFT, begin = piece << FM_PIECE_SHIFT;
    remember_extent(map, low, high, index);
    if (begin < low || high - begin < UINT64_C(1) << FM_PIECE_SHIFT) return;
    *place_of_piece(map, address) = (fm_found_piece){piece + 1, index};
    map->found_some = true;
}

/* Looks for a module's symbols. All threads have the variables of one file. */
static fm_status seek_symbols(fm_object_map *map, fm_data_module *module, fm_error *error)
{
    module->sought = true;
    for (size_t i = 0; module->local && i < map->module_count; i++) {
        const fm_data_module *other = &map->modules[i];
        if (other == module || !other->sought || !other->local || strcmp(other->path, module->path) != 0)
            continue;
        module->shared = true;
        module->symbols = other->symbols;
        return FM_OK;
    }
    fm_status status = fm_symbols_open(&module->symbols, module->path, error);
    if (status == FM_OK) status = fm_symbols_read_table(module->symbols, error);
    return status;
}

static fm_status variable_at(fm_object_map *map, uint64_t address, const fm_address_range *range,
                             uint32_t *index, fm_error *error)
{
    fm_data_module *module = &map->modules[range->value];
    if (!module->sought) { /* not to be had: the file is gone, or no ELF. Then all of it is one object */
        fm_status status = seek_symbols(map, module, error);
        if (status == FM_E_NOMEM) return status;
    }
    const char *name = NULL;
    uint64_t start = 0, size = 0;
    fm_counted_object found = {.kind = module->local ? FM_OBJECT_THREAD_LOCAL : FM_OBJECT_MODULE,
                               .number = module->number,
                               .address = module->local ? UINT64_MAX : 0}; /* not that of a variable */
    bool (*find)(fm_symbols *, uint64_t, const char **, uint64_t *, uint64_t *) =
        module->local ? fm_symbols_thread_local : fm_symbols_variable;
    if (!module->symbols) {
        start = range->low - module->bias;
        size = range->high - range->low;
    } else if (find(module->symbols, address - module->bias, &name, &start, &size)) {
        if (!module->local) found.kind = FM_OBJECT_GLOBAL;
        found.address = start;
        found.size = size;
    }
    fm_status status = intern_object(map, &found, name, index, error);
    /* Only as far as the module's data goes: a block or stack elsewhere is not covered by a bad symbol. */
    uint64_t before = address - module->bias - start; /* so much of the variable, or gap, is before it */
    uint64_t low = before < address - range->low ? address - before : range->low;
    uint64_t high =
        before < size && size - before < range->high - address ? address + (size - before) : range->high;
    if (before < size && (module->local || (!fm_address_ranges_touch(&map->locals, low, high) &&
                                            !fm_address_ranges_touch(&map->stacks, low, high) &&
                                            !fm_heap_tree_touches(&map->heap, low, high))))
        remember_piece(map, address, low, high, *index);
    return status;
}

static fm_status find_object(fm_object_map *map, uint64_t address, uint32_t *index, fm_error *error)
{
    const fm_address_range *range = fm_address_ranges_find(&map->locals, address);
    if (range) return variable_at(map, address, range, index, error);
    range = fm_address_ranges_find(&map->stacks, address);
    if (range) {
        /* A program may start threads as long as it runs: those that come late are counted together. */
        const uint32_t thread = range->value <= FM_STACKS_MOST ? range->value : 0;
        fm_counted_object stack = {.kind = FM_OBJECT_STACK, .number = thread};
        fm_status status = intern_object(map, &stack, NULL, index, error);
        remember_piece(map, address, range->low, range->high, *index);
        return status;
    }
    fm_heap_block block;
    if (fm_heap_tree_find(&map->heap, address, &block)) {
        fm_allocations *from = &map->by_context[block.context];
        if (from->object == 0) {
            fm_counted_object heap = {.kind = FM_OBJECT_HEAP, .number = block.context};
            fm_status status = intern_object(map, &heap, NULL, &from->object, error);
            if (status != FM_OK) return status;
        }
        *index = from->object;
        if (!fm_address_ranges_touch(&map->stacks, block.start, block.end) &&
            !fm_address_ranges_touch(&map->locals, block.start, block.end))
            remember_extent(map, block.start, block.end, *index);
        return FM_OK;
    }
    range = fm_address_ranges_find(&map->data, address);
    if (range) return variable_at(map, address, range, index, error);
    *index = 0;
    return FM_OK;
}

static inline fm_status count_one(fm_object_map *map, uint64_t address, const fm_late *late, fm_error *error)
{
    /* Which of the two it is, is hard to predict; that it is one of them is not. */
    const fm_found_piece *found = place_of_piece(map, address);
    const bool last = address - map->last_start < map->last_size,
               piece = found->piece == (address >> FM_PIECE_SHIFT) + 1;
    uint32_t index = found->object ^ ((found->object ^ map->last_object) & -(uint32_t)last);
    if (!(last | piece)) {
        fm_status status = find_object(map, address, &index, error);
        if (status != FM_OK) return status;
    }
    if (fm_object_counts_add(&map->counts, index, late->tag, late->range & 255) != 0)
        return no_object_memory(error);
    return FM_OK;
}

static inline void look_ahead(const fm_object_map *map, uint64_t address)
{
    if (address - map->last_start >= map->last_size) fm_heap_tree_prefetch(&map->heap, address);
}

/* Sorts numbers (index << 32 | position) by index: radix sort by 11 bits, as many times as the largest needs.
 */
static uint64_t *sort_by_index(uint64_t *from, uint64_t *to, size_t count, uint32_t largest)
{
    enum { BITS = 11, BUCKETS = 1 << BITS };
    for (unsigned shift = 0; shift < 32 && largest >> shift > 0; shift += BITS) {
        uint32_t start[BUCKETS] = {0}, sum = 0;
        for (size_t i = 0; i < count; i++) start[from[i] >> (32 + shift) & (BUCKETS - 1)]++;
        for (size_t b = 0; b < BUCKETS; b++) {
            uint32_t here = start[b];
            start[b] = sum;
            sum += here;
        }
        for (size_t i = 0; i < count; i++) to[start[from[i] >> (32 + shift) & (BUCKETS - 1)]++] = from[i];
        uint64_t *swapped = from;
        from = to;
        to = swapped;
    }
    return from;
}

fm_status fm_object_map_count(fm_object_map *map, uint64_t begin, const uint64_t *addresses,
                              const fm_late *late, size_t count, fm_error *error)
{
    fm_status status = catch_up(map, begin, error);
    if (status != FM_OK || count == 0) return status;
    /* The batch was received some time ago, and the caches hold what came since: so addresses are prefetched
     * further ahead than leaves of the tree, which needs it where it is not in the near caches. */
    enum { FAR_AHEAD = 24 };
    const size_t ahead = map->heap.count > 20000 ? 8 : count;
    const bool at_rest = map->done == map->queued;
    uint32_t largest = 0;
    for (size_t i = 0; i < count && !at_rest; i++)
        if (late[i].index > largest) largest = late[i].index;
    if (at_rest || map->queue[map->done].time > begin + largest) {
        /* Nothing happened meanwhile: any order will do. */
        for (size_t i = 0; i < count && status == FM_OK; i++) {
            if (i + FAR_AHEAD < count) __builtin_prefetch(&addresses[late[i + FAR_AHEAD].index]);
            if (i + ahead < count) look_ahead(map, addresses[late[i + ahead].index]);
            status = count_one(map, addresses[late[i].index], &late[i], error);
        }
        return status;
    }
    if (count > UINT32_MAX ||
        fm_array_reserve((void **)&map->order, &map->order_capacity, 2 * count, sizeof *map->order) != 0)
        return no_object_memory(error);
    for (size_t i = 0; i < count; i++) map->order[i] = (uint64_t)late[i].index << 32 | i;
    const uint64_t *order = sort_by_index(map->order, map->order + count, count, largest);
    for (size_t i = 0; i < count && status == FM_OK; i++) {
        const fm_late *at = &late[(uint32_t)order[i]];
        if (i + ahead < count) look_ahead(map, addresses[late[(uint32_t)order[i + ahead]].index]);
        status = catch_up(map, begin + at->index, error);
        if (status == FM_OK) status = count_one(map, addresses[at->index], at, error);
    }
    return status;
}

fm_status fm_object_map_find(fm_object_map *map, uint64_t time, uint64_t address, uint32_t *object,
                             uint64_t *low, uint64_t *high, fm_error *error)
{
    fm_status status = catch_up(map, time, error);
    *object = map->last_object;
    if (status == FM_OK && address - map->last_start >= map->last_size) {
        map->last_size = 0;
        status = find_object(map, address, object, error);
    }
    const bool known = address - map->last_start < map->last_size;
    *low = known ? map->last_start : address;
    *high = known ? map->last_start + map->last_size : address + 1;
    return status;
}
