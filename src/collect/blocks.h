/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blocks.h - the blocks of translated code that a process under Valgrind has defined: what each access of a
 * block is, laid out for the kernels, and the tags of its accesses on each call path.
 */
#ifndef FATHOM_COLLECT_BLOCKS_H
#define FATHOM_COLLECT_BLOCKS_H

#include "collect/code.h"
#include "collect/decode_kernels.h"
#include "collect/filter.h"

/* What the kernel does not need. */
typedef struct fm_block_detail {
    uint64_t call_behind; /* address behind the call that ends it, 0: none */
    uint16_t count;       /* accesses */
    uint16_t flags;       /* FM_BLOCK_…, and: */
    uint32_t path_node;   /* the path it was on last, */
    uint32_t path_tags;   /* and where the tags for that are */
    uint32_t words;       /* that tell of all accesses */
} fm_block_detail;
enum {
    FM_BLOCK_KNOWN = 1 << 8,       /* it was defined */
    FM_BLOCK_WATCHED = 1 << 9,     /* its code belongs to the function that is watched */
    FM_BLOCK_CALL_INSIDE = 1 << 10 /* its call belongs to it, or to an inlined copy */
};

typedef struct fm_blocks {
    fm_block *blocks; /* by number; in pages, which grow in place */
    fm_block_detail *details;
    size_t room;  /* numbers that have a place */
    size_t count; /* highest number + 1 */
    fm_block_group *groups;
    fm_block_marks *marks;
    uint64_t *sites;
    size_t group_count, group_room;
    fm_intern_table paths; /* block, node; value: where its tags are */
    uint32_t *tags;
    size_t tag_count, tag_capacity;
} fm_blocks;

/* words: those of FM_RECORD_DEFINE, count of them. FM_E_CORRUPT when they are impossible. */
fm_status fm_blocks_define(fm_blocks *blocks, fm_code *code, const uint64_t *words, size_t count,
                           const fm_collect_filter *filter, fm_error *error);
const uint32_t *fm_blocks_find_tags(fm_blocks *blocks, fm_code *code, uint32_t number, uint32_t node);
/* The tags of a block's accesses on a path. NULL: no memory. */
static inline const uint32_t *fm_blocks_tags(fm_blocks *blocks, fm_code *code, uint32_t number, uint32_t node)
{
    const fm_block_detail *detail = &blocks->details[number];
    if (detail->path_node == node) return blocks->tags + detail->path_tags;
    return fm_blocks_find_tags(blocks, code, number, node);
}
void fm_blocks_free(fm_blocks *blocks);

#endif
