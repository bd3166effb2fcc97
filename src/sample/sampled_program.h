/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sampled_program.h - what is known of a sampled program: its code and the calls that led there, its data;
 * and the memory that it shares with us, from which all that comes.
 */
#ifndef FATHOM_SAMPLE_SAMPLED_PROGRAM_H
#define FATHOM_SAMPLE_SAMPLED_PROGRAM_H

#include "collect/sample/sample_protocol.h"
#include "program/object_map.h"
#include "program/program.h"

#include <fathom/attribution.h>
#include <fathom/experimental/observations.h>
#include <fathom/status.h>

/* ---- sampled code ---- */

/*
 * Which code an address of a sampled process is (program/program.h): where its files lie
 * now, by /proc; and what observations name by one number, the tag: a site, reached on a path, that used an
 * object.
 */

/* Those with code, and the data of these files: what is initialised, and what is not. Files that have no code
 * are data as a whole. */
typedef struct fm_sampled_maps {
    fm_code_maps code, data;
    size_t data_files;
    uint64_t heap_from, heap_to; /* what the kernel calls the heap; 0: there is none */
    uint32_t reading;            /* how often they were read */
} fm_sampled_maps;

/* The code of a process. */
typedef struct fm_sample_code_of {
    fm_sampled_maps maps;
    uint32_t pid;
    bool alive;       /* /proc can be asked */
    double maps_next; /* not before */
    double data_next; /* the same where it is for data */
    struct {
        uint64_t address;
        uint32_t site;
    } recent[4096];
} fm_sample_code_of;

/* Of all processes. Numbers of all these are from 1 on: index + 1. Paths are nodes of the program's calls. */
typedef struct fm_sampled_code {
    fm_program program;
    fm_intern_table tags; /* place; object (0: not known) */
    uint64_t *uses;       /* in bursts, of each tag: [tag - 1] */
    size_t use_capacity;
} fm_sampled_code;

/* Reads where a process's files lie now. What cannot be read leaves *maps as it was. */
fm_status fm_sampled_maps_read(fm_sampled_maps *maps, fm_sampled_code *code, uint32_t pid, fm_error *error);
void fm_sampled_maps_free(fm_sampled_maps *maps);

/* The mapping with code at an address; it is looked for anew where it is not known. *found NULL: there is
 * none that is a file's. */
fm_status fm_sampled_code_map(fm_sample_code_of *process, fm_sampled_code *code, uint64_t address,
                              const fm_code_map **found, fm_error *error);
/* Looks for data anew: something was used that is nobody's. Not often. */
fm_status fm_sampled_code_look_for_data(fm_sample_code_of *process, fm_sampled_code *code, fm_error *error);
/* The site of an instruction; 0: there are too many, or no memory. */
fm_status fm_sampled_code_site(fm_sample_code_of *process, fm_sampled_code *code, uint64_t address,
                               uint32_t *site, fm_error *error);
/* A call, at the end of a path. */
uint32_t fm_sampled_code_path(fm_sampled_code *code, uint32_t parent, uint32_t call);
uint32_t fm_sampled_code_tag(fm_sampled_code *code, uint32_t site, uint32_t path, uint32_t object);
/* So many uses in bursts. */
static inline void fm_sampled_code_count(fm_sampled_code *code, uint32_t tag, uint64_t uses)
{
    if (tag) code->uses[tag - 1] += uses;
}
/* What a tag is of. */
uint32_t fm_sampled_code_object(const fm_sampled_code *code, uint32_t tag);
static inline uint32_t fm_sampled_code_instruction(const fm_sampled_code *code, uint32_t tag)
{
    return tag && tag <= code->tags.count
               ? (uint32_t)code->program.places.entries[code->tags.entries[tag - 1].a - 1].a
               : 0;
}
fm_status fm_sampled_code_describe(const fm_sampled_code *code, fm_attribution *attribution, fm_described *at,
                                   const uint32_t **map, size_t *map_count, fm_error *error);
void fm_sampled_code_free(fm_sampled_code *code);

/* ---- sampled stack ---- */

/*
 * Which calls led to a place of a sampled program, from the registers and a copy of the top
 * of its stack that came with a sample: by the rules of .eh_frame, and by frame pointers where there are
 * none.
 */

/* A call that has not returned. */
typedef struct fm_sampled_frame {
    uint64_t back; /* address that it returns to */
    uint64_t slot; /* where on the stack that stands */
} fm_sampled_frame;

enum { FM_SAMPLED_FRAMES = 256 };

/* registers: as sample_protocol.h has them. Innermost first; *count: as far as the copy goes. */
fm_status fm_sampled_stack_unwind(fm_sample_code_of *process, fm_sampled_code *code,
                                  const uint64_t *registers, const unsigned char *stack, size_t bytes,
                                  fm_sampled_frame *frames, size_t *count, fm_error *error);

/* ---- sampled calls ---- */

/*
 * The calls that led to where a thread is, while its burst is read: those of the stack at
 * the burst's beginning, and then each call and return of the log. A call is known by the place on the stack
 * where its return address lies, so that what leaves several functions at once (longjmp, exceptions) is
 * noticed with the next call or return.
 */

enum { FM_SAMPLED_CALLS = 1024 };

typedef struct fm_sampled_calls {
    size_t count;
    struct {
        uint64_t slot, back;
        uint32_t path;
    } calls[FM_SAMPLED_CALLS]; /* outermost first */
} fm_sampled_calls;

/*
 * The burst begins, with these frames (innermost first). Where they end before the outermost function, as
 * only so much of the stack was copied, what was known before of the calls outside of them is kept, if it
 * fits.
 */
fm_status fm_sampled_calls_begin(fm_sampled_calls *calls, fm_sample_code_of *process, fm_sampled_code *code,
                                 const fm_sampled_frame *frames, size_t count, fm_error *error);
/* A call stores its return address at a slot; site: of the call. */
void fm_sampled_calls_call(fm_sampled_calls *calls, fm_sampled_code *code, uint64_t slot, uint32_t site);
void fm_sampled_calls_return(fm_sampled_calls *calls, uint64_t slot);

static inline uint32_t fm_sampled_calls_path(const fm_sampled_calls *calls)
{
    return calls->count ? calls->calls[calls->count - 1].path : 0;
}

/* ---- function filter ---- */

/*
 * Which accesses of a sampled program were made in a function, or in one that it called:
 * by the place of the instruction and the calls that led there (--function).
 */

typedef struct fm_function_filter {
    size_t file_count;    /* so many of the program's files were looked at */
    unsigned char *paths; /* of each path that was asked for: 0 not known, 1 outside, 2 inside */
    size_t path_capacity;
    unsigned char *sites; /* likewise */
    size_t site_capacity;
} fm_function_filter;

/* Looks for the function in files that came since the last time, which may take long: before it is needed. */
fm_status fm_function_filter_prepare(fm_function_filter *filter, fm_program *program, fm_error *error);
/* path 0: none. */
fm_status fm_function_filter_inside(fm_function_filter *filter, fm_program *program, uint32_t site,
                                    uint32_t path, bool *inside, fm_error *error);
/* Does any file of the program have the function? FM_E_ARGUMENT: none. */
fm_status fm_function_filter_check(fm_function_filter *filter, fm_program *program, fm_error *error);
void fm_function_filter_free(fm_function_filter *filter);

/* ---- sample memory ---- */

/*
 * The receiver's end of the memory that it shares with sampled programs
 * (collect/sample/sample_protocol.h): makes it, and reads it without believing it.
 */

typedef struct fm_sample_memory {
    int file;
    fm_sample_session *session;
} fm_sample_memory;

fm_status fm_sample_memory_create(fm_sample_memory *memory, fm_error *error);
/* The same of a file that another process has made, of this size; it is taken over, also on failure. */
fm_status fm_sample_memory_adopt(fm_sample_memory *memory, int file, fm_error *error);
void fm_sample_memory_destroy(fm_sample_memory *memory);
/* "/proc/123/fd/4" */
void fm_sample_memory_path(const fm_sample_memory *memory, char *path, size_t size);

static inline fm_sample_lane *fm_sample_memory_lane(const fm_sample_memory *memory, uint32_t lane)
{
    return (fm_sample_lane *)(void *)((char *)memory->session + FM_SAMPLE_LANES +
                                      (size_t)lane * FM_SAMPLE_LANE_BYTES);
}

/*
 * The next record of a lane, of which `taken` were read before; false: there is none. *damaged: the numbers
 * of the lane are impossible, and what it holds was skipped.
 */
bool fm_sample_lane_next(fm_sample_lane *lane, uint32_t *taken, fm_sample_record *record, bool *damaged);

/* Copies bytes out of the slab that a record of this lane names; false: there is no such slab, it is not this
 * lane's, or has not so many. */
bool fm_sample_slab_copy(const fm_sample_memory *memory, uint32_t lane, uint32_t slab, size_t from, void *to,
                         size_t bytes);
/* It was read. Only where it is this lane's. */
void fm_sample_slab_release(const fm_sample_memory *memory, uint32_t lane, uint32_t slab);
/* The lane's thread is gone: its slabs are free, and so is the lane. */
void fm_sample_lane_release(const fm_sample_memory *memory, uint32_t lane);

/* ---- sampled objects ---- */

/*
 * Which data object a use belongs to: what is told of the heap (sample_protocol.h), the
 * data of files, the stacks of threads. Each process has a map of them over time (collect/object_map.h); the
 * objects themselves are of all processes together.
 *
 * Of small blocks a share is told, 2^-level of them, and uses of the others have no object. Which objects
 * code uses among those that are told says which they are, as far as there are enough told ones to account
 * for them.
 */

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
