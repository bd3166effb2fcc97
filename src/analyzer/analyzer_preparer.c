/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analyzer_preparer.c - what each thread that prepares has for itself, and how what it counted comes back:
 * all of it when the threads are at rest, counters of pairs before, when there are many. Number 0 keeps its
 * own: where it is the only one, that is one copy, and pouring it out would cost time for nothing.
 */
#include "analyzer/analyzer_state.h"
#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* Entries of a table of pairs (1 MiB, which stays in the second-level cache) from which on it is poured out.
 */
enum { MANY_PAIRS = 1 << 15 };

fm_status fm_analyzer_preparer(fm_analyzer *analyzer, unsigned number, fm_preparer **preparer,
                               fm_error *error)
{
    if (number >= FM_PREPARERS)
        return fm_fail(error, FM_E_ARGUMENT, NULL, "a preparer has the number %u, over %d", number,
                       FM_PREPARERS - 1);
    *preparer = analyzer->preparers[number];
    if (*preparer) return FM_OK;
    if (posix_memalign((void **)preparer, 64, sizeof **preparer) != 0 || !*preparer) /* of its ranges */
        return fm_fail_memory(error, sizeof **preparer, "a thread that prepares");
    memset(*preparer, 0, sizeof **preparer);
    (*preparer)->number = number;
    analyzer->preparers[number] = *preparer;
    return FM_OK;
}

void fm_preparer_destroy(fm_preparer *preparer, const fm_engine_ops *ops)
{
    if (!preparer) return;
    if (preparer->digester) ops->destroy(preparer->digester);
    fm_tally_clear(&preparer->digested);
    fm_pairs_clear(&preparer->pairs);
    free(preparer);
}

uint64_t fm_preparer_memory(const fm_preparer *preparer, const fm_engine_ops *ops)
{
    uint64_t bytes = sizeof *preparer + fm_tally_memory(&preparer->digested);
    if (preparer->pairs.table.buckets) bytes += fm_pairs_memory(&preparer->pairs);
    if (preparer->digester) bytes += ops->memory(preparer->digester);
    return bytes;
}

/* What has the same hash is put together in one sweep. */
static fm_status make_table(const fm_attributing *attributing, fm_pair_table *table, fm_error *error)
{
    fm_status status = fm_pair_table_create(table, 0, 0, error);
    if (status == FM_OK) memcpy(table->multiplier, attributing->multiplier, sizeof table->multiplier);
    return status;
}

fm_status fm_preparer_start_pairs(fm_analyzer *analyzer, fm_preparer *preparer, fm_error *error)
{
    fm_pairs *own = &preparer->pairs;
    const fm_pairs *pairs = &analyzer->attributing->pairs;
    own->late_wanted = pairs->late_wanted;
    own->late_from = pairs->late_from;
    if (own->table.buckets) return FM_OK;
    own->ranges = pairs->ranges;
    return make_table(analyzer->attributing, &own->table, error);
}

fm_status fm_preparer_pour_pairs(fm_analyzer *analyzer, fm_preparer *preparer, fm_error *error)
{
    fm_attributing *attributing = analyzer->attributing;
    if (preparer->number == 0 || preparer->pairs.table.used < MANY_PAIRS) return FM_OK;
    fm_status status = FM_OK;
    pthread_mutex_lock(&attributing->poured_lock);
    if (!attributing->poured.buckets) status = make_table(attributing, &attributing->poured, error);
    if (status == FM_OK) status = fm_pair_table_drain(&attributing->poured, &preparer->pairs.table, error);
    pthread_mutex_unlock(&attributing->poured_lock);
    return status;
}

fm_status fm_analyzer_join(fm_analyzer *analyzer, fm_error *error)
{
    fm_attributing *attributing = analyzer->attributing;
    fm_status status = FM_OK;
    if (attributing) status = fm_pair_table_merge(&attributing->pairs.table, &attributing->poured, error);
    for (size_t i = 0; i < FM_PREPARERS && status == FM_OK; i++) {
        fm_preparer *preparer = analyzer->preparers[i];
        if (!preparer) continue;
        if (attributing)
            status = fm_pair_table_merge(&attributing->pairs.table, &preparer->pairs.table, error);
        if (status == FM_OK && preparer->digester)
            status = fm_tally_move(&analyzer->distances, &preparer->digested, error);
    }
    return status;
}
