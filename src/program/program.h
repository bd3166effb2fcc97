/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program.h - the model of a program that all receivers share: its files and their places in the memory of
 * its processes, the instructions that access memory (sites), the calls that lead to them (paths); and how
 * all of it becomes an attribution, which no other code makes. Data objects: object_map.h. The README
 * explains the design.
 */
#ifndef FATHOM_PROGRAM_PROGRAM_H
#define FATHOM_PROGRAM_PROGRAM_H

#include "profile/profile_parts.h"
#include "program/program_tables.h"
#include "symbols/symbols.h"

#include <fathom/attribution.h>

/* ---- files ---- */

typedef struct fm_code_file {
    char *path;
    char *called;                    /* the link to it by which the program was started; NULL: none */
    char build_id[FM_BUILD_ID_TEXT]; /* "": none, or not known */
    uint64_t bias;                   /* where it was loaded last */
    bool executable;                 /* it has code */
    bool program;                    /* it was started, the others were loaded */
    bool instrumented;               /* by fathom cc */
    bool ours;                       /* the library that takes samples: what it does is not the program's */
    /* Where the function that is watched is in it. */
    bool function_sought;
    fm_code_range *watched;
    size_t watched_count;
    uint64_t local_bytes, local_align; /* thread-local storage; 0: none, or not known */
    bool unwinder_sought;
    fm_unwinder *unwinder; /* NULL: cannot be had, or was not needed yet */
} fm_code_file;

/* ---- where they lie ---- */

typedef struct fm_code_map {
    uint32_t number;   /* as a producer numbers it; 0: it does not */
    uint32_t file;     /* index */
    uint64_t from, to; /* `to` is behind the last byte */
    uint64_t bias;     /* address in memory - address in the file */
    bool whole;        /* of samples: it is data, whatever the file contains */
} fm_code_map;

/* Of one process. All zero is empty. */
typedef struct fm_code_maps {
    fm_code_map *list; /* in the order they came; the last one that has an address counts */
    size_t count, capacity;
    fm_address_ranges ranges; /* value: index in list */
} fm_code_maps;

bool fm_code_maps_add(fm_code_maps *maps, fm_code_map map); /* false: no memory */
bool fm_code_maps_copy(fm_code_maps *into, const fm_code_maps *from);
void fm_code_maps_free(fm_code_maps *maps);
/* The one that has an address, or a number; NULL: none. */
const fm_code_map *fm_code_map_at(const fm_code_maps *maps, uint64_t address);
const fm_code_map *fm_code_map_numbered(const fm_code_maps *maps, uint32_t number);

/* ---- calls ---- */

/* Calls within calls. Node 0 is the root: no call. */
typedef struct fm_call_node {
    uint32_t parent; /* node */
    uint32_t call;   /* index of its place */
    uint32_t depth;
} fm_call_node;
typedef struct fm_call_tree {
    fm_intern_table places; /* address in the file, file + 1: the calls */
    fm_intern_table edges;  /* call, parent; value: the node */
    fm_call_node *nodes;
    size_t count, capacity;
    /* Calls are sites of the program instead of places of the tree's own, and recursion is not folded: where
     * paths are those of single samples, which are few. */
    bool of_sites;
    struct { /* what was asked for lately */
        uint64_t behind;
        uint32_t parent, node;
    } recent[256];
} fm_call_tree;

/*
 * The node of a call from `parent`. A call that is on the path already (recursion) leads back to its first
 * node, and paths that are too long or too many are cut short at their end: so the tree stays small whatever
 * the program does.
 */
uint32_t fm_call_tree_node(fm_call_tree *tree, uint32_t parent, uint32_t call);
/* The same by the instruction that ends before `behind`. */
uint32_t fm_call_tree_call(fm_call_tree *tree, const fm_code_maps *maps, uint32_t parent, uint64_t behind);
/* Other code may be at the same addresses now. */
void fm_call_tree_forget(fm_call_tree *tree);

/* ---- the program ---- */

enum { FM_SITES_MOST = (1 << 24) - 1 };

typedef struct fm_program {
    fm_code_file *files;
    size_t file_count, file_capacity;
    const char *function; /* to watch; NULL: none */
    bool function_found;
    fm_intern_table sites;  /* address in the file, file + 1 (0: none) */
    fm_intern_table places; /* site, node of calls: a site that is reached on a path */
    fm_call_tree calls;     /* paths to references */
    fm_call_tree heap;      /* paths to allocations, where these are not among the calls */
} fm_program;

void fm_program_free(fm_program *program);
/* What a child of fork begins with: files and trees, not yet sites. False: no memory. */
bool fm_program_inherit(fm_program *child, const fm_program *parent);

/* The file with a path, made where there is none. look: at its build ID (devices are not to be opened). */
fm_status fm_program_file_named(fm_program *program, const char *path, bool look, uint32_t *index,
                                fm_error *error);
/* A file, where it is there, is shown under the name by which it was started. False: no memory. */
bool fm_program_call(fm_program *program, const char *path, const char *called);
static inline const char *fm_code_file_shown(const fm_code_file *file)
{
    return file->called ? file->called : file->path;
}

/* Looks for the function that is watched, in a file that was not looked at yet, which may take long. Fails
 * only when memory is short: a file without symbols has no function. */
fm_status fm_program_seek_function(fm_program *program, uint32_t file, fm_error *error);
fm_status fm_program_no_function(const fm_program *program, fm_error *error); /* FM_E_ARGUMENT, and why */
/* Is an address (in the file) part of it: in it, or (inlined) in one of its copies in another? */
typedef enum fm_watched { FM_WATCHED_NOT, FM_WATCHED_INLINED, FM_WATCHED_IN } fm_watched;
fm_watched fm_code_file_watched(const fm_code_file *file, uint64_t address);
/* The same of an address in memory. map NULL: none. */
static inline fm_watched fm_program_watched(const fm_program *program, const fm_code_map *map,
                                            uint64_t address)
{
    return map ? fm_code_file_watched(&program->files[map->file], address - map->bias) : FM_WATCHED_NOT;
}

/* The number of a site from 1; 0: there are too many, or no memory. */
uint32_t fm_program_site(fm_program *program, const fm_code_map *map, uint64_t address);
/* The number of the place of a site that is reached by a node of the calls; likewise. */
uint32_t fm_program_place(fm_program *program, uint32_t site, uint32_t node);

/* ---- an attribution ---- */

/* Room for so many more at the end of an attribution, all unknown, and counted. NULL: no memory, and said so.
 */
fm_module *fm_making_modules(fm_attribution *of, size_t count, fm_error *error);
fm_site *fm_making_sites(fm_attribution *of, size_t count, fm_error *error);
fm_call_path *fm_making_paths(fm_attribution *of, size_t count, fm_error *error);
fm_object *fm_making_objects(fm_attribution *of, size_t count, fm_error *error);
/* The sites of tags, which all are FM_NONE at first. */
uint32_t *fm_making_map(fm_attribution *of, size_t count, fm_error *error);
/* A text of the attribution's own; NULL stays NULL. */
fm_status fm_making_text(fm_attribution *of, const char *text, const char **kept, fm_error *error);
fm_status fm_making_module(fm_attribution *of, fm_module *module, const char *path, const char *build_id,
                           uint64_t bias, fm_error *error);

/* Late references to objects by sites, added to those that are there. */
typedef struct fm_making_uses {
    fm_attribution *of;
    fm_range_counts counts;
    uint32_t unknown; /* the site of all code that has none; FM_NONE: not needed yet */
} fm_making_uses;
fm_status fm_making_uses_begin(fm_making_uses *uses, fm_attribution *of, fm_error *error);
/* site: FM_NONE or one that is not there: unknown code. */
fm_status fm_making_uses_add(fm_making_uses *uses, uint32_t object, uint32_t site, uint32_t range,
                             uint64_t count, fm_error *error);
/* Also after a failure: with that status, which it returns. */
fm_status fm_making_uses_end(fm_making_uses *uses, fm_status status, fm_error *error);

/* Where the parts of a program begin in an attribution. */
typedef struct fm_described {
    size_t modules;
    size_t sites;       /* of places, or of sites where there are no paths */
    size_t calls, heap; /* paths of these trees: those of their nodes from 1 on */
} fm_described;

/* The path of a node; FM_NONE: the root. */
static inline uint32_t fm_described_path(size_t first, uint32_t node)
{
    return node ? (uint32_t)(first + node - 1) : FM_NONE;
}
/* Files, sites and calls, behind what is there. paths: sites are those of places. hooked_only: code of files
 * that are not instrumented was not seen. */
fm_status fm_program_describe(const fm_program *program, bool paths, bool hooked_only, fm_attribution *of,
                              fm_described *at, fm_error *error);

#endif
