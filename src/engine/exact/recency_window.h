/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recency_window.h - Mattson's stack as a bitmap: one bit per reference, set where that reference is the
 * latest to its block. The number of set bits after a block's position is its reuse distance.
 *
 * Positions are numbered by reference. A *line* (one cache line) is seven words of bits and one word
 * that packs, for each of the seven, how many bits are set before it in the line (9 bits each); so a
 * position is line·512 + offset with offset < 448. Above the lines stand nodes of counters: a *node* is
 * one cache line that holds, for each child, how many bits are set in the children before it.
 *
 *     level 1: 32 × u16 over lines     (16 Ki positions: a *region*)
 *     level 2…: 16 × u32 each
 *     top:      32 × u32, the last one, kept in registers by the kernels
 *
 * To count the bits up to a position, add one counter per level; to clear a bit, subtract one from the
 * counters behind it: one vector operation per level. u32 counters may wrap; differences are right as
 * long as fewer than 2^32 blocks are live.
 *
 * References fill the *open* region, the last one; the regions before it are *closed*. What kernels do
 * in the open region needs its own lines and its level-1 node only. Counters of the levels above for a
 * region are set when it is opened.
 *
 * When the window is full, the live bits move to its beginning (fm_recency_window_restart) and the
 * owner renumbers its blocks (fm_recency_window_rank gives each its new place): O(live) work for every
 * 15·live references or more.
 */
#ifndef FATHOM_ENGINE_RECENCY_WINDOW_H
#define FATHOM_ENGINE_RECENCY_WINDOW_H

#include <fathom/status.h>

enum {
    FM_LINE_BITS = 448,   /* bits in use of a line */
    FM_LINE_SHIFT = 9,    /* positions a line takes, as a power of two */
    FM_LINE_WORDS = 8,    /* seven of bits, one of counters */
    FM_REGION_LINES = 32, /* lines under a level-1 node */
    FM_REGION_SHIFT = 14, /* positions a region takes */
    FM_REGION_BITS = FM_LINE_BITS * FM_REGION_LINES,
    FM_NODE_CHILDREN = 16, /* from level 2 on */
    FM_NODE_SHIFT = 4,
    FM_TOP_CHILDREN = 32,
    FM_LEVELS_MAX = 6, /* levels under the top: 2^(14+5·4+5) = 2^39 positions */
};

typedef struct fm_recency_window {
    uint64_t *words;                    /* FM_LINE_WORDS per line */
    uint16_t *lines;                    /* level 1: a counter per line */
    uint32_t *nodes[FM_LEVELS_MAX + 1]; /* nodes[l] for l = 2 … levels: a counter per level-(l-1) node */
    uint32_t top[FM_TOP_CHILDREN] __attribute__((aligned(64)));
    int levels;                                 /* levels under the top, at least 1 */
    uint64_t regions;                           /* regions there is room for */
    uint64_t capacity_bytes[FM_LEVELS_MAX + 1]; /* of words (0), lines (1), nodes (2…) */
    uint64_t open;                              /* the open region */
    uint64_t position;                          /* the next reference's */
    uint32_t open_live;                         /* bits set in the open region */
    uint32_t closed_live;                       /* bits set in the closed ones, modulo 2^32 */
} fm_recency_window;

/* counts[w] has a one in the packed field of every word after w. */
extern const uint64_t fm_line_packed_step[FM_LINE_WORDS];

static inline uint64_t fm_recency_window_open_base(const fm_recency_window *window)
{
    return window->open << FM_REGION_SHIFT;
}

/* Positions that are left in the current line: a run of references takes consecutive positions there. */
static inline size_t fm_recency_window_run(const fm_recency_window *window)
{
    return FM_LINE_BITS - (size_t)(window->position & ((1U << FM_LINE_SHIFT) - 1));
}

/* Positions that are left before the window is full. */
static inline uint64_t fm_recency_window_left(const fm_recency_window *window)
{
    uint64_t lines = ((window->regions << FM_REGION_SHIFT) - window->position) >> FM_LINE_SHIFT;
    return lines * FM_LINE_BITS; /* a line that was begun is not counted */
}

/* A new region: every bit set ahead of time, so that a reference only ever clears the bit it leaves. words:
 * those of its lines; counters: one for each. */
void fm_recency_region_fill(uint64_t *words, uint16_t *counters);

fm_status fm_recency_window_create(fm_recency_window *window, fm_error *error);
void fm_recency_window_clear(fm_recency_window *window);
uint64_t fm_recency_window_memory(const fm_recency_window *window);
/* What it will hold after a restart with that many live blocks. */
uint64_t fm_recency_window_memory_for(uint64_t live);

/*
 * Moves on by `count` positions (at most fm_recency_window_run), opening the next line or region where
 * one is full. False when the window is full: restart it before the next reference.
 */
bool fm_recency_window_advance(fm_recency_window *window, size_t count);

/* Bits set in a line up to and including this position, which must be live; words: those of all lines. */
static inline uint32_t fm_recency_line_rank(const uint64_t *words, uint64_t position)
{
    const uint64_t word = position >> 6;
    return (uint32_t)__builtin_popcountll(words[word] << (~position & 63)) +
           ((uint32_t)(words[word | 7] >> (9 * (word & 7))) & 511);
}

/* Bits set before a line. Modulo 2^32. */
static inline uint32_t fm_recency_window_before(const fm_recency_window *window, uint64_t line)
{
    uint32_t rank = window->lines[line];
    uint64_t child = line / FM_REGION_LINES;
    for (int level = 2; level <= window->levels; level++) {
        rank += window->nodes[level][child];
        child /= FM_NODE_CHILDREN;
    }
    return rank + window->top[child];
}

/* Bits set at positions up to and including this one, which must be live. Modulo 2^32. */
static inline uint32_t fm_recency_window_rank(const fm_recency_window *window, uint64_t position)
{
    return fm_recency_line_rank(window->words, position) +
           fm_recency_window_before(window, position >> FM_LINE_SHIFT);
}
/* The position of the bit with this rank, from 1 on, in a line; words: the line's. */
uint64_t fm_recency_line_select(const uint64_t *words, uint64_t rank);
/* The position of the block with this rank, from 1 on. */
uint64_t fm_recency_window_select(const fm_recency_window *window, uint32_t rank);
/* The cache line that rank will need first. */
static inline const void *fm_recency_window_line(const fm_recency_window *window, uint64_t position)
{
    return window->words + (position >> FM_LINE_SHIFT) * FM_LINE_WORDS;
}

/* The position that the block with this rank (from 1) has after a restart. */
static inline uint64_t fm_recency_window_packed_position(uint64_t rank)
{
    uint64_t index = rank - 1;
    return ((index / FM_LINE_BITS + 1) << FM_LINE_SHIFT) + index % FM_LINE_BITS;
}

/*
 * Makes room for a restart with `live` blocks: may fail, then the window is as it was. After it, ranks
 * can still be asked for; fm_recency_window_restart then lays the live bits out anew and cannot fail.
 */
fm_status fm_recency_window_reserve(fm_recency_window *window, uint64_t live, fm_error *error);
void fm_recency_window_restart(fm_recency_window *window, uint64_t live);
/* The same with as many regions as it has room for with so many live blocks, for which memory was reserved:
 * it is not full before. */
void fm_recency_window_restart_for(fm_recency_window *window, uint64_t live, uint64_t blocks);

#endif
