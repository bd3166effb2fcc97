/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sampled_objects.h - which data object a use belongs to: what is told of the heap (sample_protocol.h), the
 * data of files, the stacks of threads. Each process has a map of them over time (collect/object_map.h); the
 * objects themselves are of all processes together.
 *
 * Of small blocks a share is told, 2^-level of them, and uses of the others have no object. Which objects
 * code uses among those that are told says which they are, as far as there are enough told ones to account
 * for them.
 */
#ifndef FATHOM_SAMPLE_SAMPLED_OBJECTS_H
#define FATHOM_SAMPLE_SAMPLED_OBJECTS_H

#include "program/object_map.h"
#include "sample/sample_memory.h"
#include "sample/sampled_code.h"

#include <fathom/sample.h>

/* What uses are counted for. Its number is, of data of files, the file; HEAP: the path of the allocation.
 * Names are those of the map of a process. */
typedef struct fm_sampled_object {
    fm_counted_object is;
    uint32_t level; /* HEAP: one in 2^level of the blocks is told */
    uint64_t met;   /* HEAP, level above 0: blocks of it that were used in bursts */
} fm_sampled_object;

/* What one place allocated, as far as it can be told. */
typedef struct fm_sampled_allocations {
    uint64_t blocks, bytes;
} fm_sampled_allocations;

/* Of all processes. Numbers of objects are from 1 on, 0: not known. */
typedef struct fm_sampled_objects {
    fm_sampled_object *objects;
    size_t count, capacity;
    fm_intern_table known;               /* address, or level; kind and number */
    fm_intern_table contexts;            /* of heap blocks: path; 1: told by chance */
    fm_sampled_allocations *allocations; /* of each context */
    size_t allocation_capacity;
    uint32_t unknown_heap; /* object of heap blocks of which nothing is known; 0: none yet */
    uint64_t told, lost;   /* small blocks that were told, and that should have been */
    fm_intern_table met;   /* blocks: address; object */
} fm_sampled_objects;
void fm_sampled_objects_free(fm_sampled_objects *objects);

/* Memory around an address that is the same object's, or nobody's (0). */
typedef struct fm_sampled_extent {
    uint64_t low, high;
    uint32_t object;
} fm_sampled_extent;

/* Of a process. All zero is one of which nothing is known. */
typedef struct fm_sampled_memory_of {
    fm_object_map *map;
    uint64_t time; /* of the last that was told */
    uint32_t level;
    uint32_t reading;  /* of its maps that the map knows */
    bool nobodys;      /* something was used that no object is known for */
    fm_code_map *told; /* data of files that the map knows */
    size_t told_count, told_capacity;
    double stacks_next; /* when to look for stacks again, at the earliest */
    uint32_t program;   /* its file + 1; 0: not known */
    uint32_t *numbers;  /* of the map's objects, as they are known here; 0: not yet */
    size_t number_count, number_capacity;
    uint64_t limit;            /* as last known; 0: never heard of */
    fm_intern_table by_chance; /* blocks that were told by their hashes: address; value 0: gone */
    size_t living;             /* of these */
    uint64_t settled;          /* no burst from before this time comes any more */
    double settled_next;       /* when to raise that, at the earliest */
    fm_sampled_extent recent[256];
} fm_sampled_memory_of;
void fm_sampled_memory_free(fm_sampled_memory_of *memory);
/* A child of fork begins with what its parent knows. */
fm_status fm_sampled_memory_fork(fm_sampled_memory_of *child, const fm_sampled_memory_of *parent,
                                 fm_error *error);

fm_status fm_sampled_memory_allocated(fm_sampled_memory_of *memory, fm_sampled_objects *objects,
                                      fm_sample_code_of *process, fm_sampled_code *code,
                                      const fm_sample_allocation *told, fm_error *error);
fm_status fm_sampled_memory_freed(fm_sampled_memory_of *memory, uint64_t time, uint64_t address,
                                  fm_error *error);
/* Blocks whose hashes are not below the limit any more are forgotten. */
fm_status fm_sampled_memory_limit(fm_sampled_memory_of *memory, uint64_t limit, fm_error *error);

/* What was told long ago takes effect, and memory no more; now: of fm_now. */
fm_status fm_sampled_memory_settle(fm_sampled_memory_of *memory, double now, fm_error *error);

/* A burst begins, in a thread of this number and stack pointer, whose thread-local storage ends at fs_base:
 * what is known of its stack is looked for once. */
typedef struct fm_sampled_place {
    uint64_t low, high; /* stack; 0: not known */
} fm_sampled_place;
fm_status fm_sampled_memory_thread(fm_sampled_memory_of *memory, fm_sample_code_of *process,
                                   fm_sampled_code *code, uint32_t thread, uint64_t stack, uint64_t fs_base,
                                   fm_sampled_place *place, fm_error *error);
/* Uses of a burst are looked up from now on: nothing that was looked up before counts. */
void fm_sampled_memory_begin(fm_sampled_memory_of *memory);
fm_status fm_sampled_memory_find(fm_sampled_memory_of *memory, fm_sampled_objects *objects, uint64_t time,
                                 uint64_t address, fm_sampled_extent *found, fm_error *error);

/* For what has no object: one of all that lies in the heap and of which it is not known who allocated it, or
 * none (0). */
fm_status fm_sampled_memory_unknown(fm_sampled_memory_of *memory, const fm_sample_code_of *process,
                                    fm_sampled_objects *objects, uint64_t address, uint32_t *object,
                                    fm_error *error);
/* Is it that? Told blocks stand for those of it that were allocated meanwhile. */
static inline bool fm_sampled_object_is_unknown(const fm_sampled_objects *objects, uint32_t object)
{
    return object == 0 || object == objects->unknown_heap;
}

/* The group of a tag, for fm_estimate_options: its object; where that is not known, behind the last object,
 * its instruction, and behind these its instruction where it is in the heap. */
uint32_t fm_sampled_objects_group(const fm_sampled_objects *objects, const fm_sampled_code *code,
                                  uint32_t tag);

/* Adds objects and their uses to an attribution that has the code (fm_sampled_code_describe). *known: share
 * of the late uses whose object is known. */
fm_status fm_sampled_objects_describe(const fm_sampled_objects *objects, const fm_sampled_code *code,
                                      const fm_described *at, const fm_estimate *estimate,
                                      const uint32_t *map, size_t map_count, fm_attribution *attribution,
                                      double *known, fm_error *error);

#endif
