/* SPDX-License-Identifier: Apache-2.0 */
/* trace_distances.h - the distances of a trace in memory, one by one. After <cmocka.h>. */
#ifndef FATHOM_TEST_TRACE_DISTANCES_H
#define FATHOM_TEST_TRACE_DISTANCES_H

#include <fathom/analyzer.h>
#include <stdlib.h>
#include <string.h>

typedef struct kept_distances {
    uint64_t *distances;
    size_t count;
} kept_distances;

static fm_status keep_distances(void *context, const uint64_t *blocks, const uint64_t *distances,
                                size_t count, fm_error *error)
{
    (void)blocks, (void)error;
    kept_distances *into = context;
    memcpy(into->distances + into->count, distances, count * sizeof *distances);
    into->count += count;
    return FM_OK;
}

/* The caller frees them. engine: NULL: the default. */
static uint64_t *trace_distances(const char *engine, const uint64_t *trace, size_t count)
{
    fm_analyzer *analyzer;
    kept_distances into = {malloc((count + 1) * sizeof(uint64_t)), 0};
    assert_non_null(into.distances);
    assert_int_equal(fm_analyzer_create(&analyzer, &(fm_analyzer_options){.engine = engine}, NULL), FM_OK);
    assert_int_equal(fm_analyzer_set_sink(analyzer, keep_distances, &into, NULL), FM_OK);
    assert_int_equal(fm_analyzer_feed_blocks(analyzer, trace, count, NULL), FM_OK);
    fm_analyzer_destroy(analyzer);
    assert_int_equal(into.count, count);
    return into.distances;
}

#endif
