/* SPDX-License-Identifier: Apache-2.0 */
/*
 * phase_locator.c - windows show about where phases change; a second pass over the trace finds where exactly.
 *
 * Around each boundary between segments, the references are held for a while. Each votes by its block and its
 * distance which side it belongs to: a block that is in use behind and not before is a step to the next
 * phase, and so is a distance that is more frequent behind. The boundary lies where the sum of these votes
 * is least: all that speaks for the phase before is before it. So the first references of a phase are its
 * own, though they come from as far away as nothing else in it.
 *
 * Time O(1) for each reference, but for those near a boundary: a few. Space is bounded: boundaries of very
 * long windows are sought within MOST_REACH references.
 */
#include "model/phase_parts.h"

#include "base/error.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_REACH = 1 << 17, MOST_HELD = 4 * MOST_REACH, TABLE = 2 * MOST_HELD, BEFORE = 1, BEHIND = 2 };

/* Where to look for the boundary before a leaf. */
typedef struct region {
    uint64_t low, start, middle, stop, high; /* references: kept from low, sought from start to stop */
} region;

struct fm_phase_locator {
    size_t count;
    fm_phase_leaf *leaves;
    uint64_t *coarse; /* beginnings of the leaves by their windows, and the end */
    uint64_t width;
    uint64_t clock;
    size_t now;  /* leaf whose data is seen */
    size_t next; /* boundary that is sought; count: none is left */
    region around;
    uint64_t from; /* the reference that is held first */
    size_t held;
    uint64_t *blocks;
    uint8_t *classes;
    /* Blocks on the two sides of a boundary: open addressing; sides 0: free. */
    uint64_t *keys;
    uint8_t *sides;
    size_t mask; /* of the part of the table that is in use */
};

static uint64_t hash_of(uint64_t block)
{
    block = (block ^ block >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    block = (block ^ block >> 27) * UINT64_C(0x94d049bb133111eb);
    return block ^ block >> 31;
}

/* ---- where to look ---- */

static uint64_t smaller_of(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t larger_of(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static region region_of(const fm_phase_locator *self, size_t boundary)
{
    const uint64_t before = self->coarse[boundary - 1], middle = self->coarse[boundary],
                   behind = self->coarse[boundary + 1];
    const uint64_t next = self->leaves[boundary].segment->footprint;
    const uint64_t both = larger_of(next, self->leaves[boundary - 1].segment->footprint);
    const uint64_t reach =
        smaller_of(larger_of(2 * self->width, 2 * smaller_of(next, MOST_REACH)), MOST_REACH);
    const uint64_t beside =
        smaller_of(larger_of(4 * self->width, 4 * smaller_of(both, MOST_REACH)), MOST_REACH);
    region found = {.middle = middle};
    found.start = middle - smaller_of(reach, middle - before);
    found.stop = middle + smaller_of(reach, (behind - middle) / 2);
    found.low = found.start - smaller_of(beside, found.start - before);
    found.high = found.stop + smaller_of(beside, behind - found.stop);
    return found;
}

static void seek_next(fm_phase_locator *self)
{
    if (++self->next >= self->count) return;
    self->around = region_of(self, self->next);
    const uint64_t low = self->around.low;
    if (low >= self->from + self->held) {
        self->held = 0;
        self->from = low;
        return;
    }
    const size_t gone = (size_t)(low - self->from);
    self->held -= gone;
    self->from = low;
    memmove(self->blocks, self->blocks + gone, self->held * sizeof *self->blocks);
    memmove(self->classes, self->classes + gone, self->held * sizeof *self->classes);
}

/* ---- the boundary ---- */

static size_t slot_of(const fm_phase_locator *self, uint64_t block)
{
    size_t slot = hash_of(block) & self->mask;
    while (self->sides[slot] && self->keys[slot] != block) slot = (slot + 1) & self->mask;
    return slot;
}

/* The blocks of one side. */
static void see_side(fm_phase_locator *self, uint64_t begin, uint64_t end, uint8_t side)
{
    for (uint64_t time = begin; time < end && time - self->from < self->held; time++) {
        const size_t at = (size_t)(time - self->from), slot = slot_of(self, self->blocks[at]);
        self->keys[slot] = self->blocks[at];
        self->sides[slot] |= side;
    }
}

static double share_of(const fm_class_counts *counts, unsigned class)
{
    return ((double)counts->of[class] + 0.5) / ((double)counts->all + 0.5 * FM_PHASE_CLASSES);
}

static void locate_edge(fm_phase_locator *self)
{
    const region *around = &self->around;
    const fm_class_counts *before = &self->leaves[self->next - 1].segment->counts;
    const fm_class_counts *behind = &self->leaves[self->next].segment->counts;
    double says[FM_PHASE_CLASSES], sum = 0, least = 0;
    /* At most half full; TABLE is enough for all that can be held. */
    for (self->mask = 1023; self->mask + 1 < 2 * self->held; self->mask = 2 * self->mask + 1) continue;
    memset(self->sides, 0, self->mask + 1);
    see_side(self, around->low, around->start, BEFORE);
    see_side(self, around->stop, around->high, BEHIND);
    for (unsigned i = 0; i < FM_PHASE_CLASSES; i++)
        says[i] = fmax(-1, fmin(1, log(share_of(behind, i) / share_of(before, i)) / 2));
    const uint64_t start = larger_of(around->start, self->leaves[self->next - 1].begin + 1);
    uint64_t best = start;
    for (uint64_t time = start; time < around->stop && time - self->from < self->held; time++) {
        const size_t at = (size_t)(time - self->from);
        const uint8_t side = self->sides[slot_of(self, self->blocks[at])];
        sum += says[self->classes[at]] + (side == BEHIND ? 2 : side == BEFORE ? -2 : 0);
        /* Where nothing decides, the windows' edge. */
        if (sum < least - 1e-9 || (sum < least + 1e-9 && time < around->middle)) {
            least = fmin(sum, least);
            best = time + 1;
        }
    }
    self->leaves[self->next - 1].end = self->leaves[self->next].begin = best;
    seek_next(self);
}

/* ---- data ---- */

static void see_block(fm_phase_leaf *leaf, uint64_t block)
{
    const uint64_t hash = hash_of(block);
    if (leaf->held == FM_PHASE_SKETCH && hash >= leaf->smallest[FM_PHASE_SKETCH - 1]) return;
    unsigned at = leaf->held;
    while (at > 0 && leaf->smallest[at - 1] >= hash) at--;
    if (at < leaf->held && leaf->smallest[at] == hash) return;
    if (leaf->held < FM_PHASE_SKETCH) leaf->held++;
    memmove(leaf->smallest + at + 1, leaf->smallest + at, (leaf->held - 1 - at) * sizeof *leaf->smallest);
    leaf->smallest[at] = hash;
}

/* Whether the clock is in a leaf, wherever exactly that begins and ends: the next one may have begun to load
 * its data before the windows showed it. */
static bool is_within(const fm_phase_locator *self, size_t leaf)
{
    const uint64_t begin = self->coarse[leaf], end = self->coarse[leaf + 1], length = end - begin;
    const uint64_t loads = leaf + 1 < self->count ? self->leaves[leaf + 1].segment->footprint : 0;
    return self->clock >= begin + smaller_of(2 * self->width, length / 4) &&
           self->clock < end - smaller_of(larger_of(2 * self->width, loads + loads / 4), length / 2);
}

double fm_phase_common_data(const fm_phase_leaf *a, const fm_phase_leaf *b)
{
    unsigned i = 0, j = 0, seen = 0, common = 0;
    while (seen < FM_PHASE_SKETCH && (i < a->held || j < b->held)) {
        const bool from_a = j == b->held || (i < a->held && a->smallest[i] <= b->smallest[j]);
        const bool from_b = i == a->held || (j < b->held && b->smallest[j] <= a->smallest[i]);
        common += from_a && from_b;
        i += from_a;
        j += from_b;
        seen++;
    }
    return seen ? (double)common / seen : 0;
}

/* ---- */

fm_status fm_phase_locator_create(fm_phase_locator **locator, const fm_phase_segment *segments, size_t count,
                                  const fm_phase_windows *windows, fm_error *error)
{
    *locator = NULL;
    fm_phase_locator *made = fm_calloc(1, sizeof *made);
    if (!made) return fm_fail_memory(error, sizeof *made, "the search for phases");
    made->count = count;
    made->width = windows->width;
    made->leaves = fm_calloc(count, sizeof *made->leaves);
    made->coarse = fm_calloc(count + 1, sizeof *made->coarse);
    bool enough = made->leaves && made->coarse;
    if (count > 1) {
        made->blocks = fm_calloc(MOST_HELD, sizeof *made->blocks);
        made->classes = fm_calloc(MOST_HELD, sizeof *made->classes);
        made->keys = fm_calloc(TABLE, sizeof *made->keys);
        made->sides = fm_calloc(TABLE, sizeof *made->sides);
        enough = enough && made->blocks && made->classes && made->keys && made->sides;
    }
    if (!enough) {
        fm_phase_locator_destroy(made);
        return fm_fail_memory(error, MOST_HELD * sizeof(uint64_t), "the search for phases");
    }
    for (size_t i = 0; i < count; i++) {
        made->coarse[i] = segments[i].begin * windows->width;
        made->coarse[i + 1] = smaller_of(segments[i].end * windows->width, windows->references);
        made->leaves[i] =
            (fm_phase_leaf){.begin = made->coarse[i], .end = made->coarse[i + 1], .segment = &segments[i]};
    }
    seek_next(made);
    *locator = made;
    return FM_OK;
}

void fm_phase_locator_destroy(fm_phase_locator *locator)
{
    if (!locator) return;
    free(locator->leaves);
    free(locator->coarse);
    free(locator->blocks);
    free(locator->classes);
    free(locator->keys);
    free(locator->sides);
    free(locator);
}

void fm_phase_locator_feed(fm_phase_locator *self, const uint64_t *blocks, const uint64_t *distances,
                           size_t count)
{
    if (self->count < 2) return;
    for (size_t i = 0; i < count; i++, self->clock++) {
        while (self->now + 1 < self->count && self->clock >= self->coarse[self->now + 1]) self->now++;
        if (is_within(self, self->now)) see_block(&self->leaves[self->now], blocks[i]);
        if (self->next >= self->count || self->clock < self->around.low) continue;
        self->blocks[self->held] = blocks[i];
        self->classes[self->held++] = (uint8_t)fm_phase_class(distances[i]);
        if (self->clock + 1 >= self->around.high) locate_edge(self);
    }
}

/* What turned out to be nearly nothing was the change itself, and belongs to what follows. */
static void remove_remains(fm_phase_locator *self)
{
    size_t kept = 0;
    for (size_t i = 0; i < self->count; i++) {
        fm_phase_leaf *leaf = &self->leaves[i];
        if (leaf->end - leaf->begin < 2 * self->width && i + 1 < self->count) {
            self->leaves[i + 1].begin = leaf->begin;
            continue;
        }
        if (kept < i) self->leaves[kept] = *leaf;
        kept++;
    }
    self->count = kept;
}

const fm_phase_leaf *fm_phase_locator_leaves(fm_phase_locator *locator, size_t *count)
{
    locator->next = locator->count; /* nothing more is sought */
    remove_remains(locator);
    *count = locator->count;
    return locator->leaves;
}
