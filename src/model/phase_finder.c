/* SPDX-License-Identifier: Apache-2.0 */
/* phase_finder.c - the two passes of the search for phases, and which of what they find are the same. */
#include "model/phase_finder.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

#define SAME 0.2 /* phases that differ by less are the same */

fm_status fm_phase_finder_create(fm_phase_finder **finder, fm_error *error)
{
    *finder = NULL;
    fm_phase_finder *made = fm_calloc(1, sizeof *made);
    if (!made) return fm_fail_memory(error, sizeof *made, "the search for phases");
    fm_status status = fm_phase_windows_init(&made->windows, error);
    if (status != FM_OK) {
        free(made);
        return status;
    }
    *finder = made;
    return FM_OK;
}

void fm_phase_finder_destroy(fm_phase_finder *finder)
{
    if (!finder) return;
    fm_phase_locator_destroy(finder->locator);
    free(finder->segments);
    fm_phase_windows_clear(&finder->windows);
    free(finder);
}

fm_status fm_phase_finder_survey(fm_phase_finder *finder, const uint64_t *distances, size_t count,
                                 fm_error *error)
{
    FM_REQUIRE(finder, error);
    if (finder->locator) return fm_fail(error, FM_E_ARGUMENT, NULL, "the first pass over the trace is over");
    fm_phase_windows_feed(&finder->windows, distances, count);
    return FM_OK;
}

/* The first pass is over. */
static fm_status end_survey(fm_phase_finder *finder, fm_error *error)
{
    if (finder->locator) return FM_OK;
    fm_status status = FM_OK;
    if (!finder->segments)
        status = fm_phase_segments_find(&finder->windows, &finder->segments, &finder->segment_count, error);
    if (status == FM_OK)
        status = fm_phase_locator_create(&finder->locator, finder->segments, finder->segment_count,
                                         &finder->windows, error);
    return status;
}

fm_status fm_phase_finder_locate(fm_phase_finder *finder, const uint64_t *blocks, const uint64_t *distances,
                                 size_t count, fm_error *error)
{
    FM_REQUIRE(finder, error);
    fm_status status = end_survey(finder, error);
    if (status == FM_OK) fm_phase_locator_feed(finder->locator, blocks, distances, count);
    return status;
}

fm_status fm_phase_finder_leaves(fm_phase_finder *finder, const fm_phase_leaf **leaves, size_t *count,
                                 fm_error *error)
{
    *leaves = NULL;
    *count = 0;
    fm_status status = end_survey(finder, error);
    if (status == FM_OK) *leaves = fm_phase_locator_leaves(finder->locator, count);
    return status;
}

/* ---- which are the same ---- */

/* As if nothing had been before: the first references to its blocks are first touches, however far away those
 * were. They are those of the largest distances, one for each block. */
static void seen_alone(const fm_phase_segment *segment, fm_class_counts *counts)
{
    uint64_t first = segment->footprint < segment->counts.all ? segment->footprint : segment->counts.all;
    *counts = segment->counts;
    if (counts->of[FM_PHASE_COLD] >= first) return;
    first -= counts->of[FM_PHASE_COLD];
    for (unsigned i = FM_PHASE_COLD; i-- > 0 && first > 0;) {
        const uint64_t some = counts->of[i] < first ? counts->of[i] : first;
        counts->of[i] -= some;
        counts->of[FM_PHASE_COLD] += some;
        first -= some;
    }
}

static bool are_same(const fm_phase_leaf *a, const fm_phase_leaf *b, const fm_class_counts *of_b,
                     bool with_data)
{
    const uint64_t length_a = a->end - a->begin, length_b = b->end - b->begin;
    if (length_a > 2 * length_b || length_b > 2 * length_a) return false;
    if (with_data && fm_phase_common_data(a, b) < 0.5) return false;
    fm_class_counts of_a;
    seen_alone(a->segment, &of_a);
    return fm_phase_difference(&of_a, of_b) < SAME + fm_phase_noise(&of_a, of_b);
}

void fm_phase_symbols(const fm_phase_leaf *leaves, size_t count, bool with_data, uint32_t *symbols)
{
    uint32_t known = 0;
    for (size_t i = 0; i < count; i++) {
        fm_class_counts alone;
        size_t first = 0;
        uint32_t symbol = 0;
        seen_alone(leaves[i].segment, &alone);
        /* The first of each symbol: where it appears for the first time. */
        for (; first < i; first++) {
            if (symbols[first] != symbol) continue;
            if (are_same(&leaves[first], &leaves[i], &alone, with_data)) break;
            symbol++;
        }
        symbols[i] = first < i ? symbol : known++;
    }
}
