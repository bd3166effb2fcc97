/* SPDX-License-Identifier: Apache-2.0 */
/*
 * code.h - what is known of a process's code: its files, where they lie in memory, the places in them that
 * make references (sites, which batches name by tags), and the calls that lead there (trees of call paths).
 *
 * A file is told from others by its path, so that a library that is unloaded and loaded again, wherever it
 * comes to lie, has the same sites. Code that is in no file has its address in memory.
 */
#ifndef FATHOM_COLLECT_CODE_H
#define FATHOM_COLLECT_CODE_H

#include "program/program_tables.h"
#include "symbols/symbols.h"

#include <fathom/attribution.h>
#include <fathom/trace.h>

typedef struct fm_code_file {
    char *path;
    char build_id[FM_BUILD_ID_TEXT]; /* "": none, or not known */
    uint64_t bias;                   /* where it was loaded last */
    bool instrumented, program;
    bool executable; /* it has code */
    /* Where the function that is watched is in it. */
    fm_code_range *watched;
    size_t watched_count;
} fm_code_file;

/* A file in memory. */
typedef struct fm_code_map {
    uint32_t number; /* the producer's */
    uint32_t file;
    uint64_t from, to; /* `to` is behind the last byte */
    uint64_t bias;
} fm_code_map;

/* Calls within calls. Node 0 is the root: no call. */
typedef struct fm_call_node {
    uint32_t parent; /* node */
    uint32_t call;   /* index in places */
    uint32_t depth;
} fm_call_node;
typedef struct fm_call_tree {
    fm_intern_table places; /* address in the file, file + 1: the calls */
    fm_intern_table edges;  /* call, parent; value: the node */
    fm_call_node *nodes;
    size_t count, capacity;
    struct { /* what was asked for lately */
        uint64_t behind;
        uint32_t parent, node;
    } recent[256];
} fm_call_tree;

typedef struct fm_code {
    fm_code_file *files;
    size_t file_count, file_capacity;
    fm_code_map *maps; /* in the order they were reported; the last one that has an address counts */
    size_t map_count, map_capacity;
    const char *function; /* to watch; NULL: none */
    bool function_found;
    fm_intern_table sites; /* address in the file, file + 1 (0: none); index + 1 is the tag without paths */
    fm_intern_table tags;  /* site, node; index + 1 is the tag with paths */
    fm_call_tree calls;    /* paths to references */
    fm_call_tree heap;     /* paths to allocations */
    uint32_t *contexts;    /* node in heap by the producer's number */
    size_t context_count, context_capacity;
} fm_code;

/* words: those of FM_RECORD_MODULE; path: behind them. */
fm_status fm_code_load(fm_code *code, const uint64_t words[8], const char *path, fm_error *error);
/* For a child of fork: files, contexts and trees. */
fm_status fm_code_inherit(fm_code *child, const fm_code *parent, fm_error *error);
void fm_code_free(fm_code *code);

/* The file in memory that has an address, or the one with a number; NULL: none. */
const fm_code_map *fm_code_map_at(const fm_code *code, uint64_t address);
const fm_code_map *fm_code_map_numbered(const fm_code *code, uint32_t number);

/* Is an address part of the watched function: in it, or (inlined) in one of its copies in another? */
typedef enum fm_watched { FM_WATCHED_NOT, FM_WATCHED_INLINED, FM_WATCHED_IN } fm_watched;
fm_watched fm_code_is_watched(const fm_code *code, const fm_code_map *map, uint64_t address);

/* The number of a site from 1; 0: there are too many, or no memory. Without paths it is the tag. */
uint32_t fm_code_site(fm_code *code, const fm_code_map *map, uint64_t address);
/* The tag of a site on a path; likewise. */
uint32_t fm_code_tag(fm_code *code, uint32_t site, uint32_t node);

/*
 * The node of a call from `parent` by the instruction that ends before `behind`. A call that is on the path
 * already (recursion) leads back to its first node, and paths that are too long or too many are cut short
 * at their end: so the tree stays small whatever the program does.
 */
uint32_t fm_code_call(const fm_code *code, fm_call_tree *tree, uint32_t parent, uint64_t behind);

/* return addresses, innermost first. */
fm_status fm_code_context(fm_code *code, uint64_t number, const uint64_t *returns, size_t count,
                          fm_error *error);

#endif
