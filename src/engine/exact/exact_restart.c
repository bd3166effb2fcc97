/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exact_restart.c - when the window of `exact` is full: live blocks are renumbered by their ranks; under a
 * bound, those beyond it are dropped. Tags stay with their blocks.
 */
#include "engine/exact/exact_ends.h"
#include "engine/exact/exact_state.h"

/* Blocks that may be held beyond twice the bound: dropping them costs a sweep of the table, so that it should
 * be worth it; but whoever sets a small bound wants little memory used. */
static uint64_t slack_of(uint64_t bound)
{
    enum { LEAST = 1 << 12, MOST = 1 << 16, SHARES = 4 };
    if (bound >= MOST / SHARES) return MOST;
    return bound * SHARES > LEAST ? bound * SHARES : LEAST;
}

typedef struct bounding {
    fm_exact *self;
    uint64_t dropped; /* blocks of this rank or below go */
} bounding;

static uint64_t keep_within_bound(void *context, uint64_t key, uint64_t position, uint64_t time)
{
    bounding *bounded = context;
    uint64_t rank = fm_recency_window_rank(&bounded->self->window, position & FM_POSITION_BITS);
    if (rank > bounded->dropped)
        return fm_recency_window_packed_position(rank - bounded->dropped) | (position & ~FM_POSITION_BITS);
    if (bounded->self->with_times) fm_seen_set_store_time(bounded->self->seen, key, time);
    return 0;
}

uint64_t fm_exact_seen_budget(const fm_exact *self)
{
    if (!self->max_memory) return UINT64_MAX;
    const uint64_t others = fm_exact_memory(self) - fm_seen_set_memory(self->seen);
    return self->max_memory > others ? self->max_memory - others : 0;
}

void fm_exact_note_seen(fm_exact *self)
{
    const uint64_t peak = fm_seen_set_memory_peak(self->seen);
    if (peak == self->seen_peak) return;
    self->seen_peak = peak;
    fm_exact_note_memory(self, fm_exact_memory(self) - fm_seen_set_memory(self->seen) + peak);
}

/* Before the first block is dropped: all were met, and are held. */
static void remember_all(fm_exact *self)
{
    if (self->dropping) return;
    self->dropping = true;
    /* No memory to remember them: from now on first touches are not known. */
    if (!fm_seen_set_keep_table(self->seen, &self->table, fm_exact_seen_budget(self)))
        fm_seen_set_give_up(self->seen, fm_seen_set_count(self->seen));
    fm_exact_note_seen(self);
}

/* A bound may be as large as 2^64 - 1. */
uint64_t fm_exact_most_held(const fm_engine *engine)
{
    const uint64_t held = ((const fm_exact *)engine)->held;
    if (held == 0 || held > (UINT64_MAX - slack_of(held)) / 2) return UINT64_MAX;
    return 2 * held + slack_of(held);
}

bool fm_exact_too_many(const fm_exact *self)
{
    if (!self->held) return false;
    const uint64_t slack = slack_of(self->held);
    /* A bound may be as large as 2^64 - 1. */
    return self->table.used > slack && (self->table.used - slack) / 2 > self->held;
}

fm_status fm_exact_restart(fm_exact *self, fm_error *error)
{
    uint64_t live = self->table.used;
    uint64_t kept = self->held && live > self->held ? self->held : live;
    uint64_t bytes = fm_exact_memory(self) - fm_recency_window_memory(&self->window);
    uint64_t grown = fm_recency_window_memory_for(kept), now = fm_recency_window_memory(&self->window);
    bytes += grown > now ? grown : now;
    fm_status status = fm_exact_check_limit(self, bytes, error);
    if (status == FM_OK) status = fm_recency_window_reserve(&self->window, kept, error);
    if (status != FM_OK) {
        self->window_full = true;
        return status;
    }
    fm_exact_note_memory(self, bytes);
    if (kept < live) {
        bounding bounded = {.self = self, .dropped = live - kept};
        remember_all(self);
        if (self->with_times) {
            fm_block_table_filter(&self->table, keep_within_bound, &bounded);
        } else {
            const fm_dropping what = {
                .from = fm_recency_window_select(&self->window, (uint32_t)(bounded.dropped + 1)),
                .dropped = bounded.dropped,
                .window = &self->window};
            self->kernels->drop(&self->table, &what);
        }
    } else {
        self->kernels->renumber(&self->table, &self->window);
    }
    fm_recency_window_restart(&self->window, kept);
    self->window_full = false;
    return FM_OK;
}
