/* SPDX-License-Identifier: Apache-2.0 */
/* read_all.h - a reader to its end, for analyzers (analyze.c) and for the ranks of a cluster. */
#ifndef FATHOM_ANALYZER_READ_ALL_H
#define FATHOM_ANALYZER_READ_ALL_H

#include <fathom/trace.h>

typedef struct fm_batch_taker {
    void *context;
    fm_status (*take)(void *context, const fm_batch *batch, fm_error *error);
    void (*damage)(void *context, const fm_error *error); /* NULL: damage ends it */
} fm_batch_taker;

static inline fm_status fm_read_all(fm_reader *reader, const fm_batch_taker *taker, fm_error *error)
{
    for (;;) {
        fm_batch batch;
        fm_status status = fm_reader_next(reader, &batch, error);
        const bool damage = fm_status_is_damage(status) && taker->damage;
        if (damage) taker->damage(taker->context, error);
        if (damage) continue;
        if (status == FM_OK && batch.count > 0) status = taker->take(taker->context, &batch, error);
        if (status != FM_OK || batch.count == 0) return status;
    }
}

#endif
