/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parallel_pairs.c - with tags: the pairs that threads count, each for itself, until all come together; and
 * the names of tags. A tag is a number that was given out while threads read (site_share.h); what it is
 * called in the end is known when all is read.
 */
#include "base/error.h"
#include "engine/parallel/parallel.h"

#include <stdlib.h>
#include <string.h>

/* Entries of a thread's table (some 6 MiB) from which on it is poured out: with fewer, those that come again
 * and again would be put in anew each time.
 */
enum { MANY_PAIRS = 1 << 18 };

/* What has the same hash is put together in one sweep. */
static fm_status make_table(const fm_pair_table *like, fm_pair_table *table, fm_error *error)
{
    fm_status status = fm_pair_table_create(table, 0, 0, error);
    if (status == FM_OK) memcpy(table->multiplier, like->multiplier, sizeof table->multiplier);
    return status;
}

fm_status fm_parallel_start_pairs(fm_parallel *self, const fm_pairs *like, fm_error *error)
{
    if (self->paired) return FM_OK; /* threads may be at work with them */
    self->paired = true;
    fm_status status = make_table(&like->table, &self->poured, error);
    for (unsigned w = 0; w < self->threads && status == FM_OK; w++) {
        fm_pairs *pairs = &self->workers[w].pairs;
        pairs->ranges = like->ranges;
        status = make_table(&like->table, &pairs->table, error);
    }
    return status;
}

fm_status fm_parallel_count_pairs(fm_parallel *self, fm_parallel_worker *worker, const uint64_t *words,
                                  size_t count, fm_error *error)
{
    fm_status status = fm_pairs_reserve(&worker->pairs, count, error);
    if (status == FM_OK) self->kernels->count_pairs(&worker->pairs.table, words, count);
    return status;
}

static fm_status pairs_pour(fm_parallel *self, fm_parallel_worker *worker, fm_error *error)
{
    pthread_mutex_lock(&self->shared_lock);
    const fm_status status = fm_pair_table_drain(&self->poured, &worker->pairs.table, error);
    __atomic_store_n(&self->poured_bytes, fm_pair_table_memory(&self->poured), __ATOMIC_RELAXED);
    pthread_mutex_unlock(&self->shared_lock);
    return status;
}

fm_status fm_parallel_pour_pairs(fm_parallel *self, fm_parallel_worker *worker, fm_error *error)
{
    return worker->pairs.table.used < MANY_PAIRS ? FM_OK : pairs_pour(self, worker, error);
}

fm_status fm_parallel_collect_pairs(fm_parallel *self, fm_error *error)
{
    fm_status status = FM_OK;
    for (unsigned w = 0; w < self->threads && status == FM_OK; w++)
        if (self->workers[w].pairs.table.buckets) status = pairs_pour(self, &self->workers[w], error);
    return status;
}

void fm_parallel_apply_names(fm_parallel *self)
{
    if (!self->names) return;
    for (size_t p = 0; p < self->partitions; p++)
        fm_exact_rename_tags(&self->partition[p].table, self->names);
    free(self->names);
    self->names = NULL;
}
