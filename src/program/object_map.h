/* SPDX-License-Identifier: Apache-2.0 */
/*
 * object_map.h - which object an address belonged to at a moment of the run: heap blocks (by the place of
 * their allocation), stacks, variables of modules.
 *
 * Time is the number of references of the process delivered so far. What is reported (alloc, free, …) is
 * queued with its time and takes effect when late references are counted, which come in batches some time
 * later: so a block that was freed after the reference, and before its batch was analysed, is still found.
 * Times never decrease.
 */
#ifndef FATHOM_PROGRAM_OBJECT_MAP_H
#define FATHOM_PROGRAM_OBJECT_MAP_H

#include "base/table.h"
#include "program/program_tables.h"
#include "symbols/symbols.h"

#include <fathom/attribution.h>

typedef struct fm_object_map fm_object_map;

enum { FM_STACKS_MOST = 1024 }; /* stacks of threads with higher numbers are one object, of thread 0 */

fm_status fm_object_map_create(fm_object_map **map, fm_error *error);
void fm_object_map_destroy(fm_object_map *map); /* NULL is fine */
/* For a forked process: everything known (queued or not) of `from`; its clock starts at 0; counts start at 0.
 */
fm_status fm_object_map_clone(fm_object_map **map, const fm_object_map *from, fm_error *error);

/* context: number of the place of allocation, as the producer numbers them. An allocation over an old block
 * replaces it (its free was not seen). */
fm_status fm_object_map_alloc(fm_object_map *map, uint64_t time, uint64_t address, uint64_t size,
                              uint32_t context, fm_error *error);
fm_status fm_object_map_free(fm_object_map *map, uint64_t time, uint64_t address, fm_error *error);
fm_status fm_object_map_stack(fm_object_map *map, uint64_t time, uint32_t thread, uint64_t low, uint64_t high,
                              fm_error *error);
/* Writable data of a module: data and bss. number: the module's index in the attribution that describe will
 * be given. */
fm_status fm_object_map_module(fm_object_map *map, uint64_t time, uint32_t number, const char *path,
                               uint64_t bias, uint64_t from, uint64_t to, fm_error *error);
/* What lies there is no module's data any more. */
fm_status fm_object_map_unmap(fm_object_map *map, uint64_t time, uint64_t from, uint64_t to, fm_error *error);

/* Thread-local storage of a module in one thread. number, path: as above. It comes before stacks and blocks
 * that it lies in, until they are reported anew. */
fm_status fm_object_map_thread_local(fm_object_map *map, uint64_t time, uint32_t number, const char *path,
                                     uint64_t address, uint64_t size, fm_error *error);

/*
 * Counts late references of a batch whose first reference had time `begin`: addresses[late[i].index] was
 * touched at begin + late[i].index. They may be in any order; batches come in order of time. count may be 0:
 * call it for batches without late references too, so that what was reported before `begin` need not wait any
 * longer (and take memory).
 */
fm_status fm_object_map_count(fm_object_map *map, uint64_t begin, const uint64_t *addresses,
                              const fm_late *late, size_t count, fm_error *error);

/*
 * The object that an address belonged to at a time: its number in the map, 0: not known.
 * [*low, *high) around the address belongs to it at that time, too. Nothing is counted.
 */
fm_status fm_object_map_find(fm_object_map *map, uint64_t time, uint64_t address, uint32_t *object,
                             uint64_t *low, uint64_t *high, fm_error *error);

/*
 * Adds objects and object_uses to the attribution. sites[tag]: index of the tag's site; paths[context]: index
 * of the call path of a context (FM_NONE: unknown). Variables are told apart by the ELF symbol table of their
 * module (fm_symbols_variable); references to what no symbol covers become FM_OBJECT_MODULE.
 */
fm_status fm_object_map_describe(fm_object_map *map, fm_attribution *attribution, const uint32_t *sites,
                                 size_t site_count, const uint32_t *paths, size_t path_count,
                                 fm_error *error);

uint64_t fm_object_map_memory(const fm_object_map *map);

/* ---- what the map holds ---- */

/* What object_map.c keeps and attribution_maker.c reads. */

typedef enum fm_object_event_kind {
    FM_EVENT_ALLOC,
    FM_EVENT_FREE,
    FM_EVENT_STACK,
    FM_EVENT_MODULE,
    FM_EVENT_UNMAP,
    FM_EVENT_LOCAL
} fm_object_event_kind;

typedef struct fm_object_event {
    uint64_t time;
    uint64_t address, size; /* of the block or the range */
    uint32_t value;         /* ALLOC: context; STACK: thread; MODULE, LOCAL: index of modules */
    fm_object_event_kind kind;
} fm_object_event;

/* The data of a module, as reported: it may be reported several times, for several ranges. */
typedef struct fm_data_module {
    uint32_t number;
    bool local; /* thread-local storage, with its address as bias */
    char *path;
    uint64_t bias;
    bool sought; /* symbols were looked for */
    bool shared; /* they are those of another */
    fm_symbols *symbols;
} fm_data_module;

typedef struct fm_counted_object {
    fm_object_kind kind;
    uint32_t number;        /* GLOBAL, MODULE, THREAD_LOCAL: of the module; HEAP: context; STACK: thread */
    uint64_t address, size; /* GLOBAL, THREAD_LOCAL */
    char *name;             /* GLOBAL, THREAD_LOCAL */
} fm_counted_object;

/* What one place allocated. */
typedef struct fm_allocations {
    uint64_t blocks, bytes;
    uint32_t object; /* 0: not counted yet */
} fm_allocations;

/*
 * Pieces of memory that lately were found to lie wholly in one stack or variable: a look at their symbols
 * takes as long as everything else that is done for a late reference.
 */
enum { FM_PIECE_SHIFT = 9, FM_FOUND_PIECES = 4096 };

typedef struct fm_found_piece {
    uint64_t piece; /* 1 + address >> FM_PIECE_SHIFT; 0: none */
    uint32_t object;
} fm_found_piece;

typedef struct fm_known_object {
    fm_key key; /* kind, number, address */
    uint32_t object;
} fm_known_object;

struct fm_object_map {
    fm_object_event *queue; /* those from `done` on wait */
    size_t done, queued, queue_capacity;
    fm_heap_tree heap;
    fm_address_ranges stacks, data; /* value: thread; index of modules */
    fm_address_ranges locals;       /* thread-local storage: index of modules */
    fm_data_module *modules;
    size_t module_count, module_capacity;
    fm_allocations *by_context;
    size_t context_count, context_capacity;
    fm_counted_object *objects; /* objects[0]: OTHER */
    size_t object_count, object_capacity;
    fm_table known; /* fm_known_object */
    fm_object_counts counts;
    uint64_t last_start, last_size; /* where the last late reference fell into; size 0: nowhere */
    uint32_t last_object;
    bool found_some; /* there is something in `found` */
    fm_found_piece found[FM_FOUND_PIECES];
    uint64_t *order; /* late references by time; twice, for sorting */
    size_t order_capacity;
};

/* attribution_maker.c: what is known of an object by itself, whose number is that of a module behind the
 * first.
 */
fm_status fm_counted_object_describe(const fm_counted_object *from, size_t first_module, fm_attribution *of,
                                     fm_object *to, fm_error *error);

#endif
