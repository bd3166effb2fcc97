/* SPDX-License-Identifier: Apache-2.0 */
/* phase_windows.c - see phase_windows.h. */
#include "model/phase_windows.h"

#include "base/error.h"
#include "base/memory.h"

#include <fathom/profile.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

unsigned fm_phase_class(uint64_t distance)
{
    if (distance < 4) return (unsigned)distance;
    if (distance >= FM_BEYOND) return FM_PHASE_COLD;
    const unsigned power = 63 - (unsigned)__builtin_clzll(distance);
    const unsigned class = 4 * (power - 1) + (unsigned)(distance >> (power - 2) & 3);
    return class < FM_PHASE_COLD ? class : FM_PHASE_COLD - 1;
}

uint64_t fm_phase_class_least(unsigned class)
{
    if (class < 4) return class;
    if (class >= FM_PHASE_COLD) return UINT64_MAX;
    return (uint64_t)(4 + class % 4) << (class / 4 - 1);
}

fm_status fm_phase_windows_init(fm_phase_windows *windows, fm_error *error)
{
    *windows = (fm_phase_windows){.width = FM_PHASE_FIRST_WIDTH};
    windows->each = fm_calloc(FM_PHASE_WINDOWS, sizeof *windows->each);
    if (!windows->each)
        return fm_fail_memory(error, FM_PHASE_WINDOWS * sizeof *windows->each, "the search for phases");
    return FM_OK;
}

void fm_phase_windows_clear(fm_phase_windows *windows)
{
    free(windows->each);
    *windows = (fm_phase_windows){0};
}

/* Two windows become one. */
static void widen(fm_phase_windows *windows)
{
    fm_class_counts *each = windows->each;
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

void fm_phase_windows_feed(fm_phase_windows *windows, const uint64_t *distances, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (windows->references == windows->count * windows->width) {
            if (windows->count == FM_PHASE_WINDOWS) widen(windows);
            windows->count++;
        }
        fm_class_counts *last = &windows->each[windows->count - 1];
        last->of[fm_phase_class(distances[i])]++;
        last->all++;
        windows->references++;
    }
}

uint64_t fm_phase_footprint(const fm_class_counts *counts)
{
    uint64_t above = counts->of[FM_PHASE_COLD];
    for (unsigned class = FM_PHASE_COLD; class -- > 0;) {
        const uint64_t least = fm_phase_class_least(class), end = fm_phase_class_least(class + 1);
        const uint64_t with = above + counts->of[class];
        if (above >= end) return above;
        if (with >= least && with > 0) return with < end ? with : end;
        above = with;
    }
    return above;
}

/* ---- differences ---- */

/* Counts are smoothed over neighbouring classes: where the edges of classes lie means nothing. */
static void smooth(const fm_class_counts *counts, double *shares)
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

double fm_phase_difference(const fm_class_counts *a, const fm_class_counts *b)
{
    double of_a[FM_PHASE_CLASSES], of_b[FM_PHASE_CLASSES], difference = 0;
    smooth(a, of_a);
    smooth(b, of_b);
    for (int i = 0; i < FM_PHASE_CLASSES; i++) difference += fabs(of_a[i] - of_b[i]);
    return difference / 2;
}

double fm_phase_noise(const fm_class_counts *a, const fm_class_counts *b)
{
    if (a->all == 0 || b->all == 0) return 1;
    double of_a[FM_PHASE_CLASSES], of_b[FM_PHASE_CLASSES], sum = 0;
    const double all_a = (double)a->all, all_b = (double)b->all, scale = 1 / all_a + 1 / all_b;
    smooth(a, of_a);
    smooth(b, of_b);
    /* The deviation of each class; a smoothed one has that of the sum of its parts: 44/256 are the squares of
     * the weights. */
    for (int i = 0; i < FM_PHASE_CLASSES; i++)
        sum += sqrt((of_a[i] * all_a + of_b[i] * all_b) / (all_a + all_b) * scale * 44 / 256);
    return sum / 2;
}
