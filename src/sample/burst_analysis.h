/* SPDX-License-Identifier: Apache-2.0 */
/*
 * burst_analysis.h - the accesses of one burst in, the time distances of its uses out, at any granularities.
 *
 * An access is one reference to each block that it touches, ascending. The first half of the references are
 * the uses that are observed. The time distance of a use is how many references later its block is used
 * again, exactly, where that is before the burst's end.
 */
#ifndef FATHOM_SAMPLE_BURST_ANALYSIS_H
#define FATHOM_SAMPLE_BURST_ANALYSIS_H

#include <fathom/status.h>

enum {
    FM_BURST_ACCESSES_MOST = 1 << 20, /* more are not looked at: a log can claim any number */
    FM_BURST_REFERENCES_MOST = 1 << 22,
};
#define FM_BURST_NONE UINT32_MAX

typedef struct fm_burst_touch {
    uint64_t address;
    uint32_t size;         /* at least 1 */
    uint32_t tag;          /* of the code */
    uint32_t path, object; /* on the way to the tag; not looked at here */
} fm_burst_touch;

/* So many uses of one kind. Time distances from 1024 on are rounded, to 1/64 of their value at most. */
typedef struct fm_burst_kind {
    uint32_t use, reuse; /* tags; reuse 0: cut off */
    uint32_t time, count;
} fm_burst_kind;

/* A burst at one granularity. */
typedef struct fm_burst_view {
    uint32_t references, uses;
    uint32_t found_count, cut_count;
    fm_burst_kind *kinds; /* found, then cut off */
    uint32_t picked;      /* number of the reference of the picked access; FM_BURST_NONE: none was picked, or
                             its block was used again */
} fm_burst_view;

/* Memory that is used again from burst to burst. */
typedef struct fm_burst_table fm_burst_table;
fm_status fm_burst_table_create(fm_burst_table **table, fm_error *error);
void fm_burst_table_destroy(fm_burst_table *table);

/* picked: an access; FM_BURST_NONE: none. `picked_address`: in the block that is meant. */
fm_status fm_burst_view_make(fm_burst_table *table, const fm_burst_touch *touches, size_t count,
                             unsigned granularity_shift, uint32_t picked, uint64_t picked_address,
                             fm_burst_view *view, fm_error *error);

/* How many of the first `from` accesses went to words of 8 bytes (their first one) that no later access
 * touches. */
fm_status fm_burst_unused_words(fm_burst_table *table, const fm_burst_touch *touches, size_t count,
                                size_t from, size_t *unused, fm_error *error);

#endif
