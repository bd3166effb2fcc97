/* SPDX-License-Identifier: Apache-2.0 */
/*
 * access_supply.h - accesses in memory that the threads of an analyzer fetch for themselves (fm_supply), or
 * that it is fed, batch after batch.
 */
#ifndef FATHOM_TESTS_ACCESS_SUPPLY_H
#define FATHOM_TESTS_ACCESS_SUPPLY_H

#include "analyzer/analyzer_state.h"
#include "trace/supply.h"

#include <fathom/analyzer.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { MOST_IN_BATCH = 5000, MOST_DRAWING = 8 };

typedef struct access_supply {
    const uint64_t *address;
    const uint32_t *size; /* NULL: none */
    const uint32_t *tag;  /* likewise */
    const uint64_t *site; /* of code, instead of tags; NULL: none */
    size_t claimed, end;  /* accesses */
    size_t most_in_batch;
} access_supply;

static inline bool claim_accesses(void *context, uint64_t wanted, fm_trace_range *range)
{
    access_supply *self = context;
    const uint64_t left = self->end - self->claimed;
    if (left == 0) return false;
    *range = (fm_trace_range){.at = self->claimed, .left = wanted < left ? wanted : left};
    self->claimed += (size_t)range->left;
    return true;
}

static inline fm_batch batch_of(const access_supply *self, size_t at, size_t count)
{
    return (fm_batch){.count = count,
                      .address = self->address + at,
                      .size = self->size ? self->size + at : NULL,
                      .tag = self->tag && !self->site ? self->tag + at : NULL,
                      .site = self->site ? self->site + at : NULL};
}

static inline fm_status fetch_accesses(void *context, unsigned worker, fm_trace_range *range, fm_batch *batch,
                                       fm_error *error)
{
    const access_supply *self = context;
    (void)error;
    assert_true(worker < MOST_DRAWING);
    const size_t count = range->left < self->most_in_batch ? (size_t)range->left : self->most_in_batch;
    *batch = batch_of(self, range->at, count);
    range->at += count;
    range->left -= count;
    range->reference = range->at;
    return FM_OK;
}

static inline uint64_t left_accesses(const void *context)
{
    const access_supply *self = context;
    return self->end - self->claimed;
}

static inline fm_supply supply_of(access_supply *from)
{
    return (fm_supply){.context = from,
                       .workers = MOST_DRAWING,
                       .claim = claim_accesses,
                       .fetch = fetch_accesses,
                       .left = left_accesses};
}

/* The next accesses, batch after batch, as one thread takes them. index: where there are sites. */
static inline fm_status feed_accesses(fm_analyzer *analyzer, access_supply *from, fm_site_index *index)
{
    static uint32_t tags[MOST_IN_BATCH];
    fm_status status = FM_OK;
    while (from->claimed < from->end && status == FM_OK) {
        const size_t left = from->end - from->claimed,
                     count = left < from->most_in_batch ? left : from->most_in_batch;
        fm_batch batch = batch_of(from, from->claimed, count);
        if (batch.site) {
            assert_int_equal(fm_site_index_tags(index, batch.site, count, tags, NULL), FM_OK);
            batch.tag = tags;
        }
        status = fm_analyzer_feed(analyzer, &batch, NULL);
        from->claimed += count;
    }
    return status;
}

#endif
