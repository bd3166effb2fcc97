/* SPDX-License-Identifier: Apache-2.0 */
/* phase_finder.c - the two passes of the search for phases, and which of what they find are the same. */
#include <fathom/profile.h>

#include "base/error.h"
#include "base/memory.h"
#include "model/phase_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ======== phase windows ======== */

unsigned fm_phase_class(uint64_t distance)
{
    if (distance < 4) return (unsigned)distance;
    if (distance >= FM_BEYOND) return FM_PHASE_COLD;
    const unsigned power = 63 - (unsigned)__builtin_clzll(distance);
    const unsigned class = 4 * (power - 1) + (unsigned)(distance >> (power - 2) & 3);
    return class < FM_PHASE_COLD ? class : FM_PHASE_COLD - 1;
}

/* the smallest distance of a class */
static uint64_t phase_class_least(unsigned class)
{
    if (class < 4) return class;
    if (class >= FM_PHASE_COLD) return UINT64_MAX;
    return (uint64_t)(4 + class % 4) << (class / 4 - 1);
}

static fm_status phase_windows_init(fm_phase_windows *windows, fm_error *error)
{
    *windows = (fm_phase_windows){.width = FM_PHASE_FIRST_WIDTH};
    windows->each = fm_calloc(FM_PHASE_WINDOWS, sizeof *windows->each);
    if (!windows->each)
        return fm_fail_memory(error, FM_PHASE_WINDOWS * sizeof *windows->each, "the search for phases");
    return FM_OK;
}

static void phase_windows_clear(fm_phase_windows *windows)
{
    free(windows->each);
    *windows = (fm_phase_windows){0};
}

/* Two windows become one. */
static void windows_widen(fm_phase_windows *windows)
{
    fm_class_counts *each = windows->each;
    FM_ASSERT(windows->count == FM_PHASE_WINDOWS);
    for (size_t i = 0; i < FM_PHASE_WINDOWS / 2; i++) {
        const fm_class_counts *a = &each[2 * i], *b = &each[2 * i + 1];
        fm_class_counts sum = {.all = a->all + b->all};
        for (unsigned c = 0; c < FM_PHASE_CLASSES; c++) sum.of[c] = a->of[c] + b->of[c];
        each[i] = sum;
    }
    memset(each + FM_PHASE_WINDOWS / 2, 0, FM_PHASE_WINDOWS / 2 * sizeof *each);
    windows->count = FM_PHASE_WINDOWS / 2;
    windows->width *= 2;
}

static void phase_windows_feed(fm_phase_windows *windows, const uint64_t *distances, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (windows->references == windows->count * windows->width) {
            if (windows->count == FM_PHASE_WINDOWS) windows_widen(windows);
            windows->count++;
        }
        fm_class_counts *last = &windows->each[windows->count - 1];
        last->of[fm_phase_class(distances[i])]++;
        last->all++;
        windows->references++;
    }
}

/*
 * Distinct blocks of a stretch, about, by its distances alone: the largest D so that D references have
 * distances of D or more, or touch their block for the first time. The first reference to each block in the
 * stretch has such a distance where the stretch comes from elsewhere; none of the others has.
 */
static uint64_t phase_footprint(const fm_class_counts *counts)
{
    uint64_t above = counts->of[FM_PHASE_COLD];
    for (unsigned class = FM_PHASE_COLD; class -- > 0;) {
        const uint64_t least = phase_class_least(class), end = phase_class_least(class + 1);
        const uint64_t with = above + counts->of[class];
        if (above >= end) return above;
        if (with >= least && with > 0) return with < end ? with : end;
        above = with;
    }
    return above;
}

/* ---- differences ---- */

/* Counts are smoothed over neighbouring classes: where the edges of classes lie means nothing. */
static void classes_smooth(const fm_class_counts *counts, double *shares)
{
    static const double weights[] = {1. / 16, 2. / 16, 3. / 16, 4. / 16, 3. / 16, 2. / 16, 1. / 16};
    memset(shares, 0, FM_PHASE_CLASSES * sizeof *shares);
    if (counts->all == 0) return;
    for (int class = 0; class < FM_PHASE_CLASSES; class ++) {
        if (counts->of[class] == 0) continue;
        const double share = (double)counts->of[class] / (double)counts->all;
        if (class == FM_PHASE_COLD) {
            shares[class] += share;
            continue;
        }
        for (int i = -3; i <= 3; i++) {
            int to = class + i;
            if (to < 0) to = 0;
            if (to >= FM_PHASE_COLD) to = FM_PHASE_COLD - 1;
            shares[to] += share * weights[i + 3];
        }
    }
}

/* How different two stretches are: 0 the same, 1 nothing in common. Distances that differ by less than a
 * factor of two have some in common. */
static double phase_difference(const fm_class_counts *a, const fm_class_counts *b)
{
    double of_a[FM_PHASE_CLASSES], of_b[FM_PHASE_CLASSES], difference = 0;
    classes_smooth(a, of_a);
    classes_smooth(b, of_b);
    for (int i = 0; i < FM_PHASE_CLASSES; i++) difference += fabs(of_a[i] - of_b[i]);
    return difference / 2;
}

/* The difference that chance alone makes between two stretches of one kind, at most, about. */
static double phase_noise(const fm_class_counts *a, const fm_class_counts *b)
{
    if (a->all == 0 || b->all == 0) return 1;
    double of_a[FM_PHASE_CLASSES], of_b[FM_PHASE_CLASSES], sum = 0;
    const double all_a = (double)a->all, all_b = (double)b->all, scale = 1 / all_a + 1 / all_b;
    classes_smooth(a, of_a);
    classes_smooth(b, of_b);
    /* The deviation of each class; a smoothed one has that of the sum of its parts: 44/256 are the squares of
     * the weights. */
    for (int i = 0; i < FM_PHASE_CLASSES; i++)
        sum += sqrt((of_a[i] * all_a + of_b[i] * all_b) / (all_a + all_b) * scale * 44 / 256);
    return sum / 2;
}

/*
 * ======== phase segments ========
 * Where the distances of a trace change: windows are put together to segments.
 *
 * 1. Neighbours that chance may have made different become one, those first that lose least by it: the
 *    likelihood of their counts, each with its own distribution, against that of the sum.
 * 2. A segment that only loads the data of the next one belongs to it.
 * 3. Boundaries go that are none of a phase, the weakest first: of what is shorter than LEAST_WINDOWS; of a
 *    short stretch without re-use; where the distances change slowly (as the share of first touches does in a
 *    random trace); where they are not CLEARly different behind it. One stands whatever the difference: where
 *    most of the data of the next segment is loaded. What follows works on other data.
 * 2 and 3 are repeated: what has grown together may turn out to be loaded by what is before it.
 *
 * With n windows (at most 4096) and c classes: time O(n² + n c), space O(n c).
 */

#define CLEAR 0.25
#define ABRUPT 0.6
enum { LEAST_WINDOWS = 3 };

typedef struct segments {
    const fm_class_counts *until; /* counts of all windows before one */
    size_t count;
    fm_phase_segment **each; /* in order, within one array */
    double *strength;        /* of the boundary before each; the first has none */
} segments;

static void counts_between(const segments *self, size_t begin, size_t end, fm_class_counts *counts)
{
    const fm_class_counts *a = &self->until[begin], *b = &self->until[end];
    for (unsigned i = 0; i < FM_PHASE_CLASSES; i++) counts->of[i] = b->of[i] - a->of[i];
    counts->all = b->all - a->all;
}

static void remove_boundary(segments *self, size_t index)
{
    fm_phase_segment *left = self->each[index - 1], *right = self->each[index];
    left->end = right->end;
    left->counts.all += right->counts.all;
    for (unsigned i = 0; i < FM_PHASE_CLASSES; i++) left->counts.of[i] += right->counts.of[i];
    self->count--;
    memmove(self->each + index, self->each + index + 1, (self->count - index) * sizeof *self->each);
    memmove(self->strength + index, self->strength + index + 1,
            (self->count - index) * sizeof *self->strength);
}

static double count_weight(uint64_t count)
{
    return count ? (double)count * log((double)count) : 0;
}

/* What the likelihood loses when two segments become one; free: how much of that is chance. */
static double joining_loss(const fm_class_counts *a, const fm_class_counts *b, double *free)
{
    double lost = count_weight(a->all + b->all) - count_weight(a->all) - count_weight(b->all);
    unsigned classes = 0;
    for (unsigned i = 0; i < FM_PHASE_CLASSES; i++) {
        if (a->of[i] + b->of[i] == 0) continue;
        classes++;
        lost += count_weight(a->of[i]) + count_weight(b->of[i]) - count_weight(a->of[i] + b->of[i]);
    }
    *free = classes;
    return lost;
}

/* ---- 1: chance ---- */

static double chance_strength(const segments *self, size_t index, double windows)
{
    double by_chance;
    const double lost = joining_loss(&self->each[index - 1]->counts, &self->each[index]->counts, &by_chance);
    return lost > by_chance + 3 * log(windows) ? INFINITY : lost;
}

static double boundary_strength(const segments *self, size_t index);

/* The weakest boundary goes, until all that are left stand. windows: in the first round; 0: in the last. */
static void remove_weak(segments *self, double windows)
{
    for (size_t i = 1; i < self->count; i++)
        self->strength[i] = windows > 0 ? chance_strength(self, i, windows) : boundary_strength(self, i);
    while (self->count > 1) {
        size_t weakest = 1;
        for (size_t i = 2; i < self->count; i++)
            if (self->strength[i] < self->strength[weakest]) weakest = i;
        if (isinf(self->strength[weakest])) return;
        remove_boundary(self, weakest);
        for (size_t i = weakest > 2 ? weakest - 2 : 1; i <= weakest + 1; i++)
            if (i < self->count)
                self->strength[i] =
                    windows > 0 ? chance_strength(self, i, windows) : boundary_strength(self, i);
    }
}

/* ---- 2: loading ---- */

/* References from further away than what the phase itself uses, or the first to their block. */
static uint64_t far_of(const fm_class_counts *counts, uint64_t footprint)
{
    uint64_t far = counts->of[FM_PHASE_COLD];
    for (unsigned i = FM_PHASE_COLD; i-- > 0 && phase_class_least(i) >= footprint;) far += counts->of[i];
    return far;
}

static void near_part(const fm_class_counts *counts, uint64_t footprint, fm_class_counts *near)
{
    memset(near, 0, sizeof *near);
    for (unsigned i = 0; i < FM_PHASE_COLD && phase_class_least(i) < footprint; i++)
        near->all += near->of[i] = counts->of[i];
}

/* It has used its data, again and again. A few windows may have, and load what is next all the same. */
static bool is_settled(const fm_phase_segment *segment)
{
    return segment->end - segment->begin > 2 * LEAST_WINDOWS &&
           segment->counts.all >= 4 * phase_footprint(&segment->counts);
}

/* Whether a segment does what the next one does, but from further away, and no more than to load its data
 * once. */
static bool only_loads(const segments *self, size_t index, uint64_t *far)
{
    const fm_phase_segment *first = self->each[index], *next = self->each[index + 1];
    if (is_settled(first)) return false;
    const uint64_t footprint = phase_footprint(&next->counts);
    *far = far_of(&first->counts, footprint);
    const double share = (double)*far / (double)first->counts.all;
    const double usual = (double)far_of(&next->counts, footprint) / (double)next->counts.all;
    if (*far == 0 || share < 2 * usual || (double)*far > 1.3 * (double)footprint) return false;
    if (share > 0.8) return true;
    /* One that takes no longer than that may have an end of the phase before in it. */
    if (share > 0.4 && first->counts.all <= 2 * footprint && index > 0) {
        const fm_class_counts *before = &self->each[index - 1]->counts;
        if (share > 2 * (double)far_of(before, footprint) / (double)before->all) return true;
    }
    fm_class_counts near, like;
    near_part(&first->counts, footprint, &near);
    near_part(&next->counts, footprint, &like);
    return phase_difference(&near, &like) < CLEAR + phase_noise(&near, &like);
}

/* Whether it was so, and the two are one now. */
static bool join_loading(segments *self, size_t index)
{
    uint64_t far;
    if (!only_loads(self, index, &far)) return false;
    far += self->each[index]->loaded + self->each[index + 1]->loaded;
    remove_boundary(self, index + 1);
    self->each[index]->loaded = far;
    return true;
}

/* From the beginning first, so that a phase is whole before it is asked whether it loads what follows. */
static void join_all_loading(segments *self)
{
    for (size_t i = 0; i + 1 < self->count;)
        if (!join_loading(self, i)) i++;
    for (size_t i = self->count; i-- > 1;) join_loading(self, i - 1);
    for (size_t i = 0; i < self->count; i++) {
        fm_phase_segment *one = self->each[i];
        one->reloads = one->loaded > 0 && 2 * one->loaded >= phase_footprint(&one->counts);
    }
}

/* ---- 3: clear and abrupt ---- */

/* The class that nine of ten references do not exceed. */
static unsigned most_class(const fm_class_counts *counts)
{
    uint64_t seen = 0;
    unsigned class = 0;
    for (; class + 1 < FM_PHASE_CLASSES; class ++)
        if ((seen += counts->of[class]) >= counts->all - counts->all / 10) break;
    return class;
}

/* A few blocks that are used in between: a short stretch with hardly any re-use. What comes from further away
 * than nearly all in the segment behind is none: it loads. */
static bool is_interruption(const segments *self, size_t index)
{
    if (index == 0 || index + 1 >= self->count) return false;
    const fm_phase_segment *one = self->each[index], *behind = self->each[index + 1];
    const uint64_t length = one->counts.all, before = self->each[index - 1]->counts.all;
    const uint64_t shorter = before < behind->counts.all ? before : behind->counts.all;
    if (4 * length > shorter || 8 * length > before + behind->counts.all - shorter) return false;
    if (2 * length >= 5 * phase_footprint(&one->counts)) return false;
    uint64_t further = 0;
    for (unsigned i = most_class(&behind->counts) + 1; i < FM_PHASE_CLASSES; i++)
        further += one->counts.of[i];
    return 2 * further <= length;
}

/* Whether a segment begins with other data than the one before it used: most of its data comes from further
 * away than its own distances reach, at its beginning, and not so before and behind. */
static bool loads_at_first(const segments *self, size_t index)
{
    const fm_phase_segment *a = self->each[index - 1], *b = self->each[index];
    if (b->reloads) return true;
    const size_t of_a = a->end - a->begin, of_b = b->end - b->begin;
    const uint64_t footprint = phase_footprint(&b->counts);
    const uint64_t width = b->counts.all / of_b;
    size_t span = (size_t)(2 * footprint / (width ? width : 1)) + 1;
    if (span > of_b / 2) span = of_b / 2;
    fm_class_counts before, first, rest;
    counts_between(self, a->end - (span < of_a ? span : of_a), a->end, &before);
    counts_between(self, b->begin, b->begin + span, &first);
    counts_between(self, b->begin + span, b->end, &rest);
    if (before.all == 0 || first.all == 0 || rest.all == 0) return false;
    const uint64_t far = far_of(&first, footprint);
    const double share = (double)far / (double)first.all;
    return 2 * far >= footprint && share >= 2 * (double)far_of(&rest, footprint) / (double)rest.all &&
           share >= 2 * (double)far_of(&before, footprint) / (double)before.all;
}

/* Boundaries go in this order: of what is too short; what changes slowly; what is no clear difference. */
static double boundary_strength(const segments *self, size_t index)
{
    const fm_phase_segment *a = self->each[index - 1], *b = self->each[index];
    const size_t of_a = a->end - a->begin, of_b = b->end - b->begin;
    double by_chance;
    if (of_a < LEAST_WINDOWS || of_b < LEAST_WINDOWS)
        return -3 - 1 / (1 + joining_loss(&a->counts, &b->counts, &by_chance));
    if (is_interruption(self, index - 1) || is_interruption(self, index))
        return -1 - 1 / (1 + joining_loss(&a->counts, &b->counts, &by_chance));
    if (loads_at_first(self, index)) return INFINITY;
    size_t beside = (of_a < of_b ? of_a : of_b) / 4;
    if (beside < LEAST_WINDOWS) beside = LEAST_WINDOWS;
    fm_class_counts before, behind;
    counts_between(self, a->end - beside, a->end, &before);
    counts_between(self, b->begin, b->begin + beside, &behind);
    const double difference = phase_difference(&a->counts, &b->counts);
    const double step = phase_difference(&before, &behind);
    if (step < ABRUPT * difference + phase_noise(&before, &behind)) return difference;
    return difference < CLEAR + phase_noise(&a->counts, &b->counts) ? 10 + difference : INFINITY;
}

static void segments_find(segments *self, fm_class_counts *until, fm_phase_segment *all,
                          const fm_phase_windows *windows)
{
    const size_t n = windows->count;
    for (size_t i = 0; i < n; i++) {
        all[i] = (fm_phase_segment){.begin = i, .end = i + 1, .counts = windows->each[i]};
        self->each[i] = &all[i];
        for (unsigned c = 0; c < FM_PHASE_CLASSES; c++)
            until[i + 1].of[c] = until[i].of[c] + windows->each[i].of[c];
        until[i + 1].all = until[i].all + windows->each[i].all;
    }
    self->until = until;
    self->count = n;
    remove_weak(self, (double)n);
    for (size_t before = 0;
         before != self->count;) { /* what is whole now may be loaded by what is before it */
        before = self->count;
        join_all_loading(self);
        remove_weak(self, 0);
    }
    for (size_t i = 0; i < self->count; i++) {
        if (&all[i] != self->each[i]) all[i] = *self->each[i]; /* those move to the front only */
        all[i].footprint = phase_footprint(&all[i].counts);
    }
}

/* At least one where there are windows; the caller frees them. */
static fm_status phase_segments_find(const fm_phase_windows *windows, fm_phase_segment **found, size_t *count,
                                     fm_error *error)
{
    const size_t n = windows->count;
    segments self = {0};
    fm_class_counts *until = fm_calloc(n + 1, sizeof *until);
    fm_phase_segment *all = fm_calloc(n, sizeof *all);
    self.each = fm_calloc(n, sizeof *self.each);
    self.strength = fm_calloc(n, sizeof *self.strength);
    fm_status status = FM_OK;
    if (until && all && self.each && self.strength)
        segments_find(&self, until, all, windows);
    else
        status = fm_fail_memory(error, n * (sizeof *until + sizeof *all), "the search for phases");
    free(until);
    free(self.each);
    free(self.strength);
    if (status != FM_OK) {
        free(all);
        all = NULL;
    }
    *found = all;
    *count = self.count;
    return status;
}

/* ======== phase finder ======== */

#define SAME 0.2 /* phases that differ by less are the same */

fm_status fm_phase_finder_create(fm_phase_finder **finder, fm_error *error)
{
    *finder = NULL;
    fm_phase_finder *made = fm_calloc(1, sizeof *made);
    if (!made) return fm_fail_memory(error, sizeof *made, "the search for phases");
    fm_status status = phase_windows_init(&made->windows, error);
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
    phase_windows_clear(&finder->windows);
    free(finder);
}

fm_status fm_phase_finder_survey(fm_phase_finder *finder, const uint64_t *distances, size_t count,
                                 fm_error *error)
{
    FM_REQUIRE(finder, error);
    if (finder->locator) return fm_fail(error, FM_E_ARGUMENT, NULL, "the first pass over the trace is over");
    phase_windows_feed(&finder->windows, distances, count);
    return FM_OK;
}

/* The first pass is over. */
static fm_status end_survey(fm_phase_finder *finder, fm_error *error)
{
    if (finder->locator) return FM_OK;
    fm_status status = FM_OK;
    if (!finder->segments)
        status = phase_segments_find(&finder->windows, &finder->segments, &finder->segment_count, error);
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
    return phase_difference(&of_a, of_b) < SAME + phase_noise(&of_a, of_b);
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
