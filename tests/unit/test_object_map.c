/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_object_map.c - which object an address belonged to: against a naive model that keeps everything that
 * was told in a list and searches it from the end, on random runs; and the cases that need a module with
 * symbols: this program.
 */
#define _GNU_SOURCE
#include "case.h"
#include "random.h"

#include <stdint.h>

#include "program/object_map.h"
#include "program/program_tables.h"
#include <fathom/experimental.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the tree of heap blocks ---- */

enum { SPACE = 4096 };

/* The model: who owns each byte. */
CASE(tree_agrees_with_bytes)
{
    static uint32_t owner[SPACE], start_of[SPACE];
    for (int seed = 1; seed <= 6; seed++) {
        fm_heap_tree tree = {0};
        size_t live = 0;
        random_state = (uint64_t)seed;
        memset(owner, 0, sizeof owner);
        uint64_t largest = seed % 2 ? 4 : 40, frees = (uint64_t)seed % 3;
        for (uint32_t step = 1; step < 12000; step++) {
            uint64_t at = random_below(SPACE - largest);
            if (random_below(4) >= 3 - frees && step > 2000) { /* free what is there, or nothing */
                uint64_t start = owner[at] ? start_of[at] : at;
                fm_heap_tree_erase(&tree, start);
                uint32_t gone = owner[start];
                for (uint64_t i = start; gone && i < SPACE && owner[i] == gone; i++) owner[i] = 0;
                live -= gone != 0;
            } else {
                uint64_t size = 1 + random_below(largest);
                for (uint64_t i = at; i < at + size; i++) {
                    uint32_t gone = owner[i];
                    if (!gone) continue;
                    for (uint64_t j = start_of[i]; j < SPACE && owner[j] == gone; j++) owner[j] = 0;
                    live--;
                }
                for (uint64_t i = at; i < at + size; i++) {
                    owner[i] = step;
                    start_of[i] = (uint32_t)at;
                }
                live++;
                fm_heap_block block = {at, at + size, step};
                assert_int_equal(fm_heap_tree_insert(&tree, block), 0);
            }
            assert_int_equal(tree.count, live);
            for (int probe = 0; probe < 8; probe++) {
                uint64_t address = random_below(SPACE);
                fm_heap_block found;
                bool is = fm_heap_tree_find(&tree, address, &found);
                assert_int_equal(is, owner[address] != 0);
                if (is) assert_int_equal(found.context, owner[address]);
                uint64_t high = address + 1 + random_below(20);
                bool touches = false;
                for (uint64_t i = address; i < high && i < SPACE; i++) touches = touches || owner[i];
                assert_int_equal(fm_heap_tree_touches(&tree, address, high), touches);
            }
        }
        fm_heap_tree copy = {0};
        assert_int_equal(fm_heap_tree_copy(&copy, &tree), 0);
        assert_int_equal(copy.count, tree.count);
        for (uint64_t address = 0; address < SPACE; address++) {
            fm_heap_block a, b;
            assert_int_equal(fm_heap_tree_find(&tree, address, &a), fm_heap_tree_find(&copy, address, &b));
            if (owner[address]) assert_int_equal(b.context, owner[address]);
        }
        for (uint64_t address = 0; address < SPACE; address++) fm_heap_tree_erase(&tree, address);
        assert_int_equal(tree.count, 0);
        assert_true(fm_heap_tree_memory(&tree) <= 4096); /* nodes go with their blocks */
        fm_heap_tree_clear(&tree);
        fm_heap_tree_clear(&copy);
    }
}

/* Half a million blocks, freed in another order; nothing may be lost, and memory must come back. */
CASE(tree_of_many_blocks)
{
    enum { MANY = 500000 };
    fm_heap_tree tree = {0};
    for (uint64_t i = 0; i < MANY; i++) {
        uint64_t n = i * 314159 % MANY; /* coprime: every number once */
        fm_heap_block block = {n * 48 + 16, n * 48 + 48, (uint32_t)n};
        assert_int_equal(fm_heap_tree_insert(&tree, block), 0);
    }
    assert_int_equal(tree.count, MANY);
    fm_heap_block found;
    for (uint64_t n = 0; n < MANY; n++) {
        if (!fm_heap_tree_find(&tree, n * 48 + 47, &found) || found.context != n) fail_msg("lost %d", (int)n);
        if (fm_heap_tree_find(&tree, n * 48 + 15, &found)) fail_msg("found too much at %d", (int)n);
    }
    assert_true(fm_heap_tree_memory(&tree) < (uint64_t)MANY * 60);
    for (uint64_t i = 0; i < MANY; i++)
        if (i * 271829 % MANY % 100 != 0) fm_heap_tree_erase(&tree, i * 271829 % MANY * 48 + 16);
    assert_int_equal(tree.count, MANY / 100);
    assert_true(fm_heap_tree_memory(&tree) < (uint64_t)MANY / 100 * 400);
    for (uint64_t n = 0; n < MANY; n++)
        assert_int_equal(fm_heap_tree_find(&tree, n * 48 + 20, &found), n % 100 == 0);
    fm_heap_tree_clear(&tree);
}

CASE(ranges_agree_with_bytes)
{
    uint32_t owner[300] = {0};
    fm_address_ranges ranges = {0};
    random_state = 5;
    for (uint32_t step = 1; step < 4000; step++) {
        uint64_t low = random_below(250), high = low + random_below(50);
        bool put = random_below(3) > 0;
        if (put)
            assert_int_equal(fm_address_ranges_put(&ranges, (fm_address_range){low, high, step}), 0);
        else
            assert_int_equal(fm_address_ranges_cut(&ranges, low, high), 0);
        for (uint64_t i = low; i < high; i++) owner[i] = put ? step : 0;
        for (uint64_t i = 0; i < 300; i++) {
            const fm_address_range *found = fm_address_ranges_find(&ranges, i);
            assert_int_equal(found ? found->value : 0, owner[i]);
            assert_int_equal(fm_address_ranges_touch(&ranges, i, i + 1), owner[i] != 0);
        }
    }
    fm_address_ranges_clear(&ranges);
}

/* ---- the map, against a list of everything that was told ---- */

typedef struct fact {
    char kind;                /* 'h', 's', 'm' */
    uint64_t from, to, freed; /* freed: time; UINT64_MAX: never */
    uint64_t time;
    uint32_t value;
} fact;

enum { EDGES = 4, TAGS = 7, FACTS_MOST = 20000 };
static const uint64_t edges[EDGES] = {0, 16, 64, 256};
static fact facts[FACTS_MOST];
static size_t fact_count;

/* Whom an address belongs to at a time, told in full: kind << 32 | value. The last told wins; only the live
 * count. A heap block goes altogether when another lies over a part of it; of a stack and of a module's data
 * the rest stays. */
static uint64_t owner_at(uint64_t address, uint64_t time)
{
    const fact *heap = NULL, *stack = NULL, *data = NULL;
    for (size_t i = 0; i < fact_count; i++) {
        const fact *f = &facts[i];
        if (f->time > time) break;
        bool holds = f->from <= address && address < f->to;
        if (f->kind == 'h') {
            if (heap && heap->from < f->to && f->from < heap->to) heap = NULL; /* replaced */
            if (holds) {
                heap = f;
                stack = NULL;
            }
        } else if (f->kind == 's' && holds) {
            stack = f;
        } else if (f->kind == 'm' && holds) {
            data = f;
        }
    }
    if (heap && heap->freed <= time) heap = NULL;
    const fact *is = stack ? stack : heap ? heap : data;
    return is ? (uint64_t)is->kind << 32 | is->value : 0;
}

typedef struct tally {
    uint64_t owner;
    uint32_t tag, range;
    uint64_t count;
} tally;
static tally tallies[8192];
static size_t tally_count;

static void tally_add(uint64_t owner, uint32_t tag, uint32_t range)
{
    for (size_t i = 0; i < tally_count; i++)
        if (tallies[i].owner == owner && tallies[i].tag == tag && tallies[i].range == range) {
            tallies[i].count++;
            return;
        }
    assert_true(tally_count < sizeof tallies / sizeof tallies[0]);
    tallies[tally_count++] = (tally){owner, tag, range, 1};
}

static uint64_t owner_of(const fm_object *object)
{
    switch (object->kind) {
    case FM_OBJECT_HEAP:
        return (uint64_t)'h' << 32 | object->allocation;
    case FM_OBJECT_STACK:
        return (uint64_t)'s' << 32 | object->thread;
    case FM_OBJECT_MODULE:
        return (uint64_t)'m' << 32 | object->module;
    default:
        return 0;
    }
}

static uint64_t count_in(const fm_object_use *use, uint32_t range)
{
    if (range == FM_RANGE_COLD) return use->cold;
    if (range == FM_RANGE_BEYOND) return use->beyond;
    for (size_t i = 0; i < use->bin_count; i++)
        if (use->bins[i].lo == edges[range]) return use->bins[i].count;
    return 0;
}

static fm_attribution *empty_attribution(size_t sites, size_t paths, size_t modules)
{
    fm_error error;
    fm_attribution *attribution;
    assert_int_equal(fm_attribution_create(&attribution, &error), FM_OK);
    assert_int_equal(fm_attribution_set_edges(attribution, edges, EDGES, 16, &error), FM_OK);
    attribution->sites = fm_attribution_allocate(attribution, sites, sizeof(fm_site));
    attribution->paths = fm_attribution_allocate(attribution, paths, sizeof(fm_call_path));
    attribution->modules = fm_attribution_allocate(attribution, modules, sizeof(fm_module));
    for (size_t i = 0; i < sites; i++)
        attribution->sites[i] = (fm_site){.module = FM_NONE, .path = FM_NONE, .address = i + 1};
    for (size_t i = 0; i < paths; i++) attribution->paths[i].parent = FM_NONE;
    attribution->site_count = sites;
    attribution->path_count = paths;
    attribution->module_count = modules;
    return attribution;
}

enum { CONTEXTS = 9, MODULES = 3 };
static const uint32_t sites_of_tags[TAGS] = {0, 0, 1, 2, 3, 4, 5};
static uint32_t paths_of_contexts[CONTEXTS];

/* Everything that the map describes is in the tallies, and the other way round. */
static void compare_with_tallies(fm_object_map *map)
{
    fm_error error;
    fm_attribution *attribution = empty_attribution(TAGS, CONTEXTS, MODULES);
    assert_int_equal(
        fm_object_map_describe(map, attribution, sites_of_tags, TAGS, paths_of_contexts, CONTEXTS, &error),
        FM_OK);
    uint64_t described = 0, expected = 0;
    for (size_t i = 0; i < tally_count; i++) {
        uint64_t found = 0;
        for (size_t u = 0; u < attribution->object_use_count; u++) {
            const fm_object_use *use = &attribution->object_uses[u];
            if (owner_of(&attribution->objects[use->object]) == tallies[i].owner &&
                use->site == tallies[i].tag)
                found += count_in(use, tallies[i].range);
        }
        assert_int_equal(found, tallies[i].count);
        expected += found;
    }
    uint64_t before = UINT64_MAX;
    for (size_t o = 0; o < attribution->object_count; o++) {
        uint64_t count = 0;
        for (size_t u = 0; u < attribution->object_use_count; u++)
            if (attribution->object_uses[u].object == o) count += attribution->object_uses[u].count;
        assert_in_range(count, 1, before); /* largest first, none without uses */
        before = count;
        described += count;
    }
    assert_int_equal(described, expected);
    fm_attribution_destroy(attribution);
}

/* A batch of late references in no order, counted by the map and by the model. */
static void count_batch(fm_object_map *map, uint64_t begin, uint32_t length, uint64_t space)
{
    enum { MOST = 3000 };
    static uint64_t addresses[MOST];
    static fm_late late[MOST];
    size_t count = 0;
    fm_error error;
    for (uint32_t i = 0; i < length; i++) {
        addresses[i] = random_below(3) ? random_below(space) : addresses[i ? i - 1 : 0];
        if (random_below(3) == 0) continue;
        uint32_t range = (uint32_t)random_below(5);
        if (range >= 3) range = range == 3 ? FM_RANGE_COLD : FM_RANGE_BEYOND;
        late[count++] = (fm_late){i, 1 + (uint32_t)random_below(TAGS - 1), range};
    }
    for (size_t i = count; i > 1; i--) {
        size_t j = random_below(i);
        fm_late kept = late[i - 1];
        late[i - 1] = late[j];
        late[j] = kept;
    }
    for (size_t i = 0; i < count; i++)
        tally_add(owner_at(addresses[late[i].index], begin + late[i].index), sites_of_tags[late[i].tag],
                  late[i].range);
    assert_int_equal(fm_object_map_count(map, begin, addresses, late, count, &error), FM_OK);
}

/* Ranges begin and end at multiples of it: large ones hold whole pieces that the map remembers. */
static uint64_t scale = 1;

static void tell_something(fm_object_map *map, uint64_t time, uint64_t space)
{
    fm_error error;
    uint64_t from = random_below(space - 60) * scale, size = (1 + random_below(60)) * scale;
    unsigned what = (unsigned)random_below(20);
    assert_true(fact_count < FACTS_MOST);
    if (what == 0) {
        uint32_t thread = 1 + (uint32_t)random_below(4);
        facts[fact_count++] = (fact){'s', from, from + size, UINT64_MAX, time, thread};
        assert_int_equal(fm_object_map_stack(map, time, thread, from, from + size, &error), FM_OK);
    } else if (what == 1) {
        uint32_t module = (uint32_t)random_below(MODULES);
        facts[fact_count++] = (fact){'m', from, from + size, UINT64_MAX, time, module};
        assert_int_equal(
            fm_object_map_module(map, time, module, "/nonexistent/library.so", 0, from, from + size, &error),
            FM_OK);
    } else if (what < 12) {
        uint32_t context = 1 + (uint32_t)random_below(CONTEXTS - 1);
        facts[fact_count++] = (fact){'h', from, from + size, UINT64_MAX, time, paths_of_contexts[context]};
        assert_int_equal(fm_object_map_alloc(map, time, from, size, context, &error), FM_OK);
    } else if (fact_count > 0) {
        fact *gone = &facts[random_below(fact_count)];
        if (gone->kind != 'h') return;
        /* Of the blocks that start there, the last one is the one that a free can mean. */
        for (fact *f = facts + fact_count; f-- > facts;)
            if (f->kind == 'h' && f->from == gone->from) {
                gone = f;
                break;
            }
        if (gone->freed == UINT64_MAX) gone->freed = time;
        assert_int_equal(fm_object_map_free(map, time, gone->from, &error), FM_OK);
    }
}

CASE(map_agrees_with_list)
{
    fm_error error;
    for (uint32_t i = 0; i < CONTEXTS; i++) paths_of_contexts[i] = i % 5; /* two contexts may be one path */
    for (int seed = 1; seed <= 12; seed++) {
        fm_object_map *map;
        scale = seed <= 4 ? 1 : seed <= 8 ? 100 : 700;
        const uint64_t space = seed % 2 ? 400 : 3000;
        random_state = (uint64_t)seed * 77;
        fact_count = tally_count = 0;
        assert_int_equal(fm_object_map_create(&map, &error), FM_OK);
        uint64_t time = 0;
        for (int batch = 0; batch < 25; batch++) {
            uint32_t length = 1 + (uint32_t)random_below(300);
            /* What happens during the batch, and sometimes what happens after it, is told before it is
             * counted. */
            uint64_t ahead = time;
            for (int i = 0; i < 40; i++) {
                ahead += random_below(length) / 20;
                tell_something(map, ahead, space);
            }
            count_batch(map, time, length, space * scale);
            time = (time + length > ahead ? time + length : ahead) + random_below(5);
        }
        compare_with_tallies(map);

        /* A forked process knows all of it, has counted nothing, and its clock starts at 0. */
        fm_object_map *child;
        assert_int_equal(fm_object_map_clone(&child, map, &error), FM_OK);
        tally_count = 0;
        compare_with_tallies(child);
        for (size_t i = 0; i < fact_count; i++) {
            facts[i].time = 0;
            if (facts[i].freed != UINT64_MAX) facts[i].freed = 0;
        }
        for (int i = 0; i < 30; i++) tell_something(child, 0, space);
        count_batch(child, 0, 2000, space * scale);
        compare_with_tallies(child);
        assert_true(fm_object_map_memory(child) > 0);
        fm_object_map_destroy(map);
        fm_object_map_destroy(child);
    }
}

/* ---- variables ---- */

int object_map_table[100];
static char object_map_pool[256];
static int find_program(struct dl_phdr_info *info, size_t size, void *bias)
{
    (void)size;
    *(uint64_t *)bias = info->dlpi_addr;
    return 1; /* the first is the program */
}

static void count_one(fm_object_map *map, uint64_t time, const void *address, uint64_t plus)
{
    fm_error error;
    uint64_t at = (uint64_t)(uintptr_t)address + plus;
    fm_late late = {0, 1, FM_RANGE_COLD};
    assert_int_equal(fm_object_map_count(map, time, &at, &late, 1, &error), FM_OK);
}

CASE(variables_have_names)
{
    fm_error error;
    fm_object_map *map;
    uint64_t bias = 0, end = (uint64_t)(uintptr_t)(object_map_table + 100);
    assert_int_equal(dl_iterate_phdr(find_program, &bias), 1);
    uint64_t low = (uint64_t)(uintptr_t)object_map_table, pool = (uint64_t)(uintptr_t)object_map_pool;
    uint64_t from = (low < pool ? low : pool) & ~UINT64_C(4095);
    uint64_t to = (end > pool + 256 ? end : pool + 256) + 4096;
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    assert_true(length > 0);
    path[length] = '\0';
    assert_int_equal(fm_object_map_create(&map, &error), FM_OK);
    assert_int_equal(fm_object_map_module(map, 0, 1, path, bias, from, to, &error), FM_OK);
    count_one(map, 0, object_map_table, 4);
    count_one(map, 1, object_map_table, sizeof object_map_table - 1);
    count_one(map, 2, object_map_pool, 100);
    /* An allocator of the program's own, in a variable: its blocks are heap, the rest is the variable. */
    assert_int_equal(fm_object_map_alloc(map, 3, pool + 64, 64, 1, &error), FM_OK);
    count_one(map, 3, object_map_pool, 100);
    count_one(map, 4, object_map_pool, 10);
    count_one(map, 5, object_map_pool, 64);
    count_one(map, 6, (void *)16, 0);
    fm_attribution *attribution = empty_attribution(2, 2, 2);
    const uint32_t tags[2] = {0, 1}, paths[2] = {FM_NONE, 1};
    assert_int_equal(fm_object_map_describe(map, attribution, tags, 2, paths, 2, &error), FM_OK);
    assert_int_equal(attribution->object_count, 4);
    for (size_t i = 0; i < 4; i++) {
        const fm_object *object = &attribution->objects[i];
        uint64_t count = 0;
        for (size_t u = 0; u < attribution->object_use_count; u++)
            if (attribution->object_uses[u].object == i) count += attribution->object_uses[u].count;
        char text[100];
        fm_object_text(attribution, (uint32_t)i, text, sizeof text);
        if (object->kind == FM_OBJECT_HEAP) {
            assert_int_equal(count, 2);
            assert_int_equal(object->allocation, 1);
            assert_int_equal(object->size, 64);
            assert_int_equal(object->blocks, 1);
        } else if (object->kind == FM_OBJECT_OTHER) {
            assert_int_equal(count, 1);
            assert_string_equal(text, "other memory");
        } else if (strcmp(object->name, "object_map_table") == 0) {
            assert_int_equal(object->kind, FM_OBJECT_GLOBAL);
            assert_int_equal(count, 2);
            assert_int_equal(object->size, sizeof object_map_table);
            assert_int_equal(object->address + bias, low);
            assert_int_equal(object->module, 1);
            assert_string_equal(text, "global `object_map_table`");
        } else {
            assert_string_equal(object->name, "object_map_pool");
            assert_int_equal(count, 2);
        }
    }
    fm_attribution_destroy(attribution);
    fm_object_map_destroy(map);
}

/* ---- thread-local variables ---- */

static __thread int object_map_local[64];
static int find_storage(struct dl_phdr_info *info, size_t size, void *from)
{
    (void)size;
    *(uint64_t *)from = (uint64_t)(uintptr_t)info->dlpi_tls_data;
    return 1;
}

static uint64_t uses_of(const fm_attribution *attribution, const char *text, uint64_t *size)
{
    uint64_t count = 0;
    for (size_t u = 0; u < attribution->object_use_count; u++) {
        char found[100];
        uint32_t object = attribution->object_uses[u].object;
        fm_object_text(attribution, object, found, sizeof found);
        if (strcmp(found, text) != 0) continue;
        count += attribution->object_uses[u].count;
        *size = attribution->objects[object].size;
    }
    return count;
}

/* Stacks of threads without end: those that come late are one object. */
CASE(stacks_of_many_threads)
{
    enum { MANY = 200000, AT = 0x10000, SIZE = 0x1000 };
    fm_object_map *map;
    fm_error error;
    uint64_t early = 0, few = 0;
    assert_int_equal(fm_object_map_create(&map, &error), FM_OK);
    for (uint32_t thread = 1; thread <= MANY; thread++) {
        const uint64_t address = AT + 8;
        const fm_late late = {.index = 0, .tag = 1 + thread % 3, .range = FM_RANGE_COLD};
        assert_int_equal(fm_object_map_stack(map, thread, thread, AT, AT + SIZE, &error), FM_OK);
        assert_int_equal(fm_object_map_count(map, thread, &address, &late, 1, &error), FM_OK);
        if (thread == FM_STACKS_MOST + 10) few = fm_object_map_memory(map);
        early += thread <= FM_STACKS_MOST;
    }
    assert_int_equal(fm_object_map_memory(map), few);
    const uint32_t tags[4] = {0, 1, 2, 3}, paths[2] = {FM_NONE, 1};
    uint64_t size, told = 0;
    fm_attribution *attribution = empty_attribution(4, 2, 2);
    assert_int_equal(fm_object_map_describe(map, attribution, tags, 4, paths, 2, &error), FM_OK);
    assert_int_equal(attribution->object_count, FM_STACKS_MOST + 1);
    assert_int_equal(uses_of(attribution, "stack of thread 1", &size), 1);
    assert_int_equal(uses_of(attribution, "stacks of other threads", &size), MANY - early);
    for (size_t i = 0; i < attribution->object_use_count; i++) told += attribution->object_uses[i].cold;
    assert_int_equal(told, MANY);
    fm_attribution_destroy(attribution);
    fm_object_map_destroy(map);
}

/* The storage of two threads, told at made-up places: at the end of a stack, and in a block of the heap. */
CASE(thread_locals_have_names)
{
    fm_error error;
    fm_object_map *map;
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    assert_true(length > 0);
    path[length] = '\0';
    uint64_t own = 0, size = 0;
    assert_int_equal(dl_iterate_phdr(find_storage, &own), 1);
    assert_int_not_equal(own, 0);
    const uint64_t offset = (uint64_t)(uintptr_t)object_map_local - own, bytes = offset + 4096;
    const uint64_t first = 0x50000, second = 0x90000;
    char *at_first = (char *)(uintptr_t)first, *at_second = (char *)(uintptr_t)second;
    assert_int_equal(fm_object_map_create(&map, &error), FM_OK);
    assert_int_equal(fm_object_map_stack(map, 0, 1, 0x40000, 0x60000, &error), FM_OK);
    count_one(map, 1, at_first, offset); /* stack: not told yet */
    assert_int_equal(fm_object_map_thread_local(map, 2, 0, path, first, bytes, &error), FM_OK);
    assert_int_equal(fm_object_map_alloc(map, 2, second - 64, bytes + 128, 1, &error), FM_OK);
    assert_int_equal(fm_object_map_thread_local(map, 2, 0, path, second, bytes, &error), FM_OK);
    count_one(map, 2, at_first, offset);
    count_one(map, 3, at_first, offset + sizeof object_map_local - 1);
    count_one(map, 4, at_second, offset + 4);
    count_one(map, 5, at_second - 1, 0);       /* the block around it */
    count_one(map, 6, at_first - 1, 0);        /* the stack below it */
    count_one(map, 7, at_first + bytes, 0);    /* the stack above it */
    count_one(map, 8, at_first + bytes, -1UL); /* what no variable covers */
    /* The storage of a forked process is that of its parent. */
    fm_object_map *child;
    assert_int_equal(fm_object_map_clone(&child, map, &error), FM_OK);
    /* A new stack, and a new block, where it was. */
    assert_int_equal(fm_object_map_stack(map, 9, 2, 0x40000, 0x60000, &error), FM_OK);
    assert_int_equal(fm_object_map_free(map, 9, second - 64, &error), FM_OK);
    assert_int_equal(fm_object_map_alloc(map, 9, second, bytes, 1, &error), FM_OK);
    count_one(map, 9, at_first, offset);
    count_one(map, 10, at_second, offset);
    count_one(child, 0, at_second, offset);
    const uint32_t tags[2] = {0, 1}, paths[2] = {FM_NONE, 1};
    fm_attribution *attribution = empty_attribution(2, 2, 2);
    assert_int_equal(fm_object_map_describe(map, attribution, tags, 2, paths, 2, &error), FM_OK);
    assert_int_equal(uses_of(attribution, "thread-local `object_map_local`", &size), 3);
    assert_int_equal(size, sizeof object_map_local);
    assert_int_equal(uses_of(attribution, "stack of thread 1", &size), 3);
    assert_int_equal(uses_of(attribution, "stack of thread 2", &size), 1);
    size_t heap = 0, rest = 0;
    for (size_t i = 0; i < attribution->object_count; i++) {
        const fm_object *object = &attribution->objects[i];
        heap += object->kind == FM_OBJECT_HEAP;
        rest += object->kind == FM_OBJECT_THREAD_LOCAL && !object->name && object->module == 0;
    }
    assert_int_equal(heap, 1);
    assert_int_equal(rest, 1);
    fm_attribution_destroy(attribution);
    attribution = empty_attribution(2, 2, 2);
    assert_int_equal(fm_object_map_describe(child, attribution, tags, 2, paths, 2, &error), FM_OK);
    assert_int_equal(uses_of(attribution, "thread-local `object_map_local`", &size), 1);
    fm_attribution_destroy(attribution);
    fm_object_map_destroy(map);
    fm_object_map_destroy(child);
}

/* Two processes in one attribution; a tag without a site. */
CASE(describes_into_what_is_there)
{
    fm_error error;
    fm_object_map *map;
    uint64_t address = 100;
    fm_late late[2] = {{0, 1, 2}, {0, 3, FM_RANGE_BEYOND}};
    const uint32_t tags[2] = {FM_NONE, 1};
    fm_attribution *attribution = empty_attribution(2, 0, 0);
    for (int process = 0; process < 2; process++) {
        assert_int_equal(fm_object_map_create(&map, &error), FM_OK);
        assert_int_equal(fm_object_map_stack(map, 0, 7, 50, 150, &error), FM_OK);
        assert_int_equal(fm_object_map_count(map, 0, &address, late, 2, &error), FM_OK);
        assert_int_equal(fm_object_map_describe(map, attribution, tags, 2, NULL, 0, &error), FM_OK);
        fm_object_map_destroy(map);
    }
    assert_int_equal(attribution->object_count, 2);
    assert_int_equal(attribution->object_use_count, 4);
    assert_int_equal(attribution->site_count, 3); /* one for the tag that nobody knows */
    for (uint32_t i = 0; i < 4; i++) {
        const fm_object_use *use = &attribution->object_uses[i];
        assert_int_equal(use->object, i / 2);
        assert_int_equal(use->site, i % 2 ? 2 : 1);
        assert_int_equal(use->count, 1);
        assert_int_equal(use->beyond, i % 2);
        assert_int_equal(use->bin_count, i % 2 ? 0 : 1);
        if (use->bin_count) assert_int_equal(use->bins[0].lo, 64);
    }
    char text[100];
    assert_string_equal(fm_object_text(attribution, 1, text, sizeof text), "stack of thread 7");
    assert_string_equal(fm_site_text(attribution, 2, text, sizeof text), "unknown");
    /* A range that is none is refused. */
    late[0].range = EDGES;
    assert_int_equal(fm_object_map_create(&map, &error), FM_OK);
    assert_int_equal(fm_object_map_count(map, 0, &address, late, 1, &error), FM_OK);
    assert_int_equal(fm_object_map_describe(map, attribution, tags, 2, NULL, 0, &error), FM_E_ARGUMENT);
    fm_object_map_destroy(map);
    fm_attribution_destroy(attribution);
}

/* The queue is emptied by batches without late references, and does not grow with the run. */
CASE(queue_does_not_grow)
{
    fm_error error;
    fm_object_map *map;
    assert_int_equal(fm_object_map_create(&map, &error), FM_OK);
    for (uint64_t time = 0; time < 100000; time++) {
        assert_int_equal(fm_object_map_alloc(map, time, 4096 + time % 7 * 64, 64, 1, &error), FM_OK);
        assert_int_equal(fm_object_map_free(map, time, 4096 + time % 7 * 64, &error), FM_OK);
        if (time % 100 == 0) assert_int_equal(fm_object_map_count(map, time, NULL, NULL, 0, &error), FM_OK);
    }
    assert_true(fm_object_map_memory(map) < 100000);
    fm_object_map_destroy(map);
}

/* A file that is unmapped: what is used there later is nobody's. */
CASE(unmapped_data_is_nobodys)
{
    fm_object_map *map;
    fm_error error;
    static const struct {
        uint64_t time, address;
        bool known;
    } uses[] = {{4, 0x2800, true}, {4, 0x1800, true}, {6, 0x2800, false}, {6, 0x2fff, false},
                {6, 0x1fff, true}, {6, 0x3000, true}, {6, 0x1000, true}};
    assert_int_equal(fm_object_map_create(&map, &error), FM_OK);
    assert_int_equal(fm_object_map_module(map, 0, 3, "", 0, 0x1000, 0x4000, &error), FM_OK);
    assert_int_equal(fm_object_map_unmap(map, 5, 0x2000, 0x3000, &error), FM_OK);
    assert_int_equal(fm_object_map_unmap(map, 5, 0x2000, 0x2000, &error), FM_OK);
    for (size_t i = 0; i < sizeof uses / sizeof uses[0]; i++) {
        uint32_t object = 77;
        uint64_t low, high;
        assert_int_equal(fm_object_map_find(map, uses[i].time, uses[i].address, &object, &low, &high, &error),
                         FM_OK);
        assert_int_equal(object != 0, uses[i].known);
        assert_true(low <= uses[i].address && uses[i].address < high);
        if (uses[i].known) assert_int_equal(map->objects[object].kind, FM_OBJECT_MODULE);
    }
    fm_object_map_destroy(map);
}
