/* SPDX-License-Identifier: Apache-2.0 */
/* object_map_state.h - what object_map.c keeps and object_describe.c reads. */
#ifndef FATHOM_COLLECT_OBJECT_MAP_STATE_H
#define FATHOM_COLLECT_OBJECT_MAP_STATE_H

#include "base/table.h"
#include "collect/address_ranges.h"
#include "collect/heap_tree.h"
#include "collect/object_counts.h"
#include "collect/object_map.h"
#include "symbols/symbols.h"

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

fm_status fm_object_map_no_memory(fm_error *error);
/* object_describe.c: late references of tags that have no site are by one site that stands for all unknown
 * code. */
fm_status fm_object_unknown_site(fm_attribution *attribution, uint32_t *site, fm_error *error);

#endif
