/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shared_window.h - the recency window of `exact` (recency_window.h) for several threads at once.
 *
 * Lines and regions are the same; above the regions there is only one number for each, its live bits. In each
 * phase the regions are dealt out: a thread gets a *range* of consecutive regions, builds the counters above
 * them for itself (fm_shared_window_view: an ordinary recency window over these regions, for the ordinary
 * kernels), clears bits, and writes back what is still live. Ranges share no cache line, so threads need no
 * locks.
 *
 * New bits come in runs, each beginning with a new line and set ahead of time. Time: O(regions) a phase
 * beside the work on bits. Space: 1.3 bits a position, and the views' counters: 4.3 bytes a region.
 */
#ifndef FATHOM_ENGINE_SHARED_WINDOW_H
#define FATHOM_ENGINE_SHARED_WINDOW_H

#include "engine/exact/recency_window.h"

typedef struct fm_shared_window {
    uint64_t *words; /* as in fm_recency_window */
    uint16_t *lines;
    uint32_t *live;   /* of each region */
    uint64_t *before; /* live bits in the regions before it: only after fm_shared_window_rank_regions */
    uint64_t regions; /* there is room for */
    uint64_t used;    /* regions in use, from the first on */
    uint64_t next;    /* between begin and end: the line that the next run begins with */
} fm_shared_window;

/* A window without bits. */
fm_status fm_shared_window_create(fm_shared_window *window, fm_error *error);
void fm_shared_window_clear(fm_shared_window *window); /* safe on a zeroed one */
uint64_t fm_shared_window_memory(const fm_shared_window *window);

/* Lines that a run of `count` bits takes: it begins with a new line. Bit i of a run has the position
 * fm_shared_window_offset(i) after its first one's. */
static inline uint64_t fm_shared_window_lines(uint64_t count)
{
    return (count + FM_LINE_BITS - 1) / FM_LINE_BITS;
}
static inline uint64_t fm_shared_window_offset(uint64_t index)
{
    return (index / FM_LINE_BITS << FM_LINE_SHIFT) + index % FM_LINE_BITS;
}

/* Regions that so many lines take. */
static inline uint64_t fm_shared_window_regions(uint64_t lines)
{
    return (lines + FM_REGION_LINES - 1) / FM_REGION_LINES;
}

/* Whether so many lines fit behind the regions in use. */
static inline bool fm_shared_window_fits(const fm_shared_window *window, uint64_t lines)
{
    return window->used + fm_shared_window_regions(lines) <= window->regions;
}

/* Runs that fit are added one after the other between begin and end; add returns the first one's position. */
void fm_shared_window_begin(fm_shared_window *window);
uint64_t fm_shared_window_add(fm_shared_window *window, uint64_t count);
void fm_shared_window_end(fm_shared_window *window);

/*
 * A restart, when no run fits any more: make room for `live` blocks and runs of `lines` lines (may fail, then
 * nothing has changed); rank the regions; give every block its new position by its rank; lay out anew.
 * Ranks count from 1; the block of rank r gets fm_shared_window_packed_position(r).
 */
fm_status fm_shared_window_reserve(fm_shared_window *window, uint64_t live, uint64_t lines, fm_error *error);
/* What it holds after reserve. */
uint64_t fm_shared_window_memory_for(const fm_shared_window *window, uint64_t live, uint64_t lines);
void fm_shared_window_rank_regions(fm_shared_window *window);
void fm_shared_window_restart(fm_shared_window *window, uint64_t live);

/* Bits set at positions up to and including this one, which must be live. */
static inline uint64_t fm_shared_window_rank(const fm_shared_window *window, uint64_t position)
{
    return window->before[position >> FM_REGION_SHIFT] + window->lines[position >> FM_LINE_SHIFT] +
           fm_recency_line_rank(window->words, position);
}

/* The position of the bit with this rank, after fm_shared_window_rank_regions. */
uint64_t fm_shared_window_select(const fm_shared_window *window, uint64_t rank);

/* Position 0 marks a free slot in the block table: no bit is ever there. */
static inline uint64_t fm_shared_window_packed_position(uint64_t rank)
{
    return fm_recency_window_packed_position(rank);
}

/* Bytes that the counters of a view over so many regions take. */
uint64_t fm_shared_window_view_bytes(uint64_t regions);
/*
 * Regions [first, end) as a window of their own, for kernels->far; positions count from the first region on.
 * counters: room for view_bytes(end - first), in whole cache lines.
 */
void fm_shared_window_view(const fm_shared_window *window, uint64_t first, uint64_t end, void *counters,
                           fm_recency_window *view);
/* Writes back what is live. The view must not be used any more. */
void fm_shared_window_view_done(fm_shared_window *window, uint64_t first, fm_recency_window *view);

#endif
