/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analyzer_preparer.c - what each thread that prepares has for itself, and how what it counted comes back:
 * all of it when the threads are at rest, counters of pairs before, when there are many.
 */
#include "base/error.h"
#include "base/memory.h"
#include "engine/analyzer_state.h"

#include <stdlib.h>
#include <string.h>

/* Entries of the table of pairs (some 1.5 MiB) from which on it is handed over. */
enum { MANY_PAIRS = 1 << 16 };

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

fm_status fm_preparer_start_pairs(fm_analyzer *analyzer, fm_preparer *preparer, fm_error *error)
{
    fm_pairs *own = &preparer->pairs;
    const fm_pairs *pairs = &analyzer->attributing->pairs;
    own->late_wanted = pairs->late_wanted;
    own->late_from = pairs->late_from;
    if (own->table.buckets) return FM_OK;
    own->ranges = pairs->ranges;
    fm_status status = fm_pair_table_create(&own->table, 0, 0, error);
    if (status != FM_OK) return status;
    /* They will be put together: what has the same hash is moved in one sweep. */
    memcpy(own->table.multiplier, analyzer->attributing->multiplier, sizeof own->table.multiplier);
    return FM_OK;
}

fm_status fm_preparer_hand_over(fm_analyzer *analyzer, fm_preparer *preparer, fm_error *error)
{
    if (preparer->pairs.table.used < MANY_PAIRS) return FM_OK;
    fm_handed_pairs *handed = fm_calloc(1, sizeof *handed);
    if (!handed) return fm_fail_memory(error, sizeof *handed, "counters that are handed over");
    handed->table = preparer->pairs.table;
    memset(&preparer->pairs.table, 0, sizeof preparer->pairs.table);
    fm_handed_pairs **list = &analyzer->attributing->handed;
    handed->next = __atomic_load_n(list, __ATOMIC_RELAXED);
    while (
        !__atomic_compare_exchange_n(list, &handed->next, handed, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
    }
    return FM_OK;
}

void fm_handed_pairs_destroy(fm_handed_pairs *list)
{
    while (list) {
        fm_handed_pairs *next = list->next;
        fm_pair_table_clear(&list->table);
        free(list);
        list = next;
    }
}

fm_status fm_analyzer_take_handed(fm_analyzer *analyzer, fm_error *error)
{
    fm_attributing *attributing = analyzer->attributing;
    if (!__atomic_load_n(&attributing->handed, __ATOMIC_RELAXED)) return FM_OK;
    fm_handed_pairs *list = __atomic_exchange_n(&attributing->handed, NULL, __ATOMIC_ACQUIRE);
    fm_status status = FM_OK;
    for (fm_handed_pairs *at = list; at && status == FM_OK; at = at->next)
        status = fm_pair_table_take(&attributing->pairs.table, &at->table, error);
    fm_handed_pairs_destroy(list);
    return status;
}

fm_status fm_analyzer_join(fm_analyzer *analyzer, fm_error *error)
{
    fm_attributing *attributing = analyzer->attributing;
    fm_status status = attributing ? fm_analyzer_take_handed(analyzer, error) : FM_OK;
    for (size_t i = 0; i < FM_PREPARERS && status == FM_OK; i++) {
        fm_preparer *preparer = analyzer->preparers[i];
        if (!preparer) continue;
        if (attributing)
            status = fm_pair_table_take(&attributing->pairs.table, &preparer->pairs.table, error);
        if (status == FM_OK && preparer->digester)
            status = fm_tally_move(&analyzer->distances, &preparer->digested, error);
    }
    return status;
}
