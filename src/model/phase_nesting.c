/* SPDX-License-Identifier: Apache-2.0 */
/*
 * phase_nesting.c - see fathom/phases.h: leaves, rounds and peaks become levels of phases.
 *
 * Leaves are compared with their data first: phases that do the same with other data take turns, too. Where
 * that shows no rounds, data is left out: rounds may do the same with new data each time.
 */
#include "base/error.h"
#include "base/memory.h"
#include "model/phase_cut.h"
#include "model/phase_finder.h"
#include "model/phase_tree.h"

#include <stdlib.h>
#include <string.h>

typedef struct nesting {
    fm_phases *phases;
    const fm_phase_leaf *leaves;
    size_t count;
    uint64_t width;        /* of the windows that found them */
    fm_phase_leaf *inside; /* those of one phase, cut to its ends */
    uint32_t *symbols;     /* theirs */
    size_t capacities[FM_MOST_PHASE_LEVELS];
} nesting;

/* ---- adding phases ---- */

static fm_status add_phase(nesting *self, size_t level, uint64_t begin, uint64_t end, fm_error *error)
{
    fm_phases *phases = self->phases;
    if (level > phases->inner_count) phases->inner_count = level;
    size_t *count = level ? &phases->inner[level - 1].count : &phases->count;
    fm_trace_phase **each = level ? &phases->inner[level - 1].phases : &phases->phases;
    void *grown = *each;
    if (fm_array_reserve(&grown, &self->capacities[level], *count + 1, sizeof **each))
        return fm_fail_memory(error, (*count + 1) * sizeof **each, "the phases");
    *each = grown;
    fm_trace_phase *made = &(*each)[(*count)++];
    *made = (fm_trace_phase){.begin = begin, .end = end};
    if (level > 0) made->parent = (level > 1 ? phases->inner[level - 2].count : phases->count) - 1;
    return FM_OK;
}

/* A node and its siblings. */
static fm_status add_nodes(nesting *self, const fm_phase_tree *tree, size_t node, size_t level,
                           fm_error *error)
{
    fm_status status = FM_OK;
    for (; node != FM_NO_NODE && status == FM_OK; node = tree->nodes[node].after) {
        const fm_phase_node *one = &tree->nodes[node];
        status =
            add_phase(self, level, self->inside[one->begin].begin, self->inside[one->end - 1].end, error);
        if (status == FM_OK && one->round && level + 1 < FM_MOST_PHASE_LEVELS)
            status = add_nodes(self, tree, one->child, level + 1, error);
    }
    return status;
}

/* Rounds of the leaves inside: with their data, if that shows any. */
static fm_status build_tree(nesting *self, size_t count, fm_phase_tree *tree, fm_error *error)
{
    fm_phase_symbols(self->inside, count, true, self->symbols);
    fm_status status = fm_phase_tree_build(tree, self->symbols, count, error);
    if (status != FM_OK || 2 * tree->in_rounds >= count) return status;
    fm_phase_tree_clear(tree);
    fm_phase_symbols(self->inside, count, false, self->symbols);
    return fm_phase_tree_build(tree, self->symbols, count, error);
}

/* ---- level 1 at peaks ---- */

/* Too little of a leaf to be a phase: the peak is where the leaf begins or ends, nearly. */
static bool is_sliver(const nesting *self, const fm_phase_leaf *leaf, uint64_t length)
{
    const uint64_t whole = leaf->end - leaf->begin;
    return length < whole && (length < 3 * self->width || length < whole / 10);
}

/* The leaves inside a phase; *next: where to look for those of the next one. */
static size_t leaves_inside(nesting *self, const fm_trace_phase *phase, size_t *next)
{
    size_t count = 0;
    while (*next < self->count && self->leaves[*next].end <= phase->begin) ++*next;
    for (size_t i = *next; i < self->count && self->leaves[i].begin < phase->end; i++) {
        fm_phase_leaf *leaf = &self->inside[count];
        *leaf = self->leaves[i];
        if (leaf->begin < phase->begin) leaf->begin = phase->begin;
        if (leaf->end > phase->end) leaf->end = phase->end;
        if (is_sliver(self, &self->leaves[i], leaf->end - leaf->begin)) continue;
        if (count > 0) leaf->begin = self->inside[count - 1].end;
        count++;
    }
    if (count == 0) return 0;
    self->inside[0].begin = phase->begin;
    self->inside[count - 1].end = phase->end;
    return count;
}

static fm_status nest_in_peaks(nesting *self, fm_error *error)
{
    fm_phases *phases = self->phases;
    const size_t outer = phases->count;
    fm_status status = FM_OK;
    size_t next = 0;
    for (size_t i = 0; i < outer && status == FM_OK; i++) {
        const size_t count = leaves_inside(self, &phases->phases[i], &next);
        if (count < 2) continue;
        fm_phase_tree tree;
        phases->count = i + 1; /* the parent of what is added */
        status = build_tree(self, count, &tree, error);
        if (status == FM_OK) status = add_nodes(self, &tree, tree.first, 1, error);
        fm_phase_tree_clear(&tree);
    }
    phases->count = outer;
    return status;
}

/* Whether nine of ten peaks are where leaves begin. */
static bool peaks_are_changes(const nesting *self)
{
    const fm_phases *phases = self->phases;
    size_t there = 0, leaf = 0;
    for (size_t i = 1; i < phases->count; i++) {
        const uint64_t time = phases->phases[i].begin;
        while (leaf + 1 < self->count && self->leaves[leaf].end <= time) leaf++;
        const fm_phase_leaf *in = &self->leaves[leaf];
        there += is_sliver(self, in, time - in->begin) || is_sliver(self, in, in->end - time);
    }
    return 10 * there >= 9 * (phases->count - 1);
}

/* ---- all levels ---- */

/* What only changes show. */
static fm_status nest_changes(nesting *self, const fm_phase_tree *tree, fm_error *error)
{
    fm_phases *phases = self->phases;
    free(phases->phases);
    phases->phases = NULL;
    phases->count = 0;
    phases->cut = FM_CUT_AT_CHANGES;
    return add_nodes(self, tree, tree->first, 0, error);
}

static fm_status nest(nesting *self, bool at_peaks, uint64_t references, fm_error *error)
{
    if (at_peaks) {
        fm_status status = fm_phases_cut_at_peaks(self->phases, references, error);
        return status == FM_OK ? nest_in_peaks(self, error) : status;
    }
    memcpy(self->inside, self->leaves, self->count * sizeof *self->inside);
    fm_phase_tree tree;
    fm_status status = build_tree(self, self->count, &tree, error);
    if (status != FM_OK) return status;
    const bool has_rounds = 2 * tree.in_rounds >= self->count && tree.in_rounds > 0;
    bool peaks_tell = false;
    if (!has_rounds && fm_phases_samples_agree(self->phases)) {
        status = fm_phases_cut_at_peaks(self->phases, references, error);
        peaks_tell = status == FM_OK && (self->count < 2 || peaks_are_changes(self));
        if (status == FM_E_LIMIT && self->count > 1) status = FM_OK;
    }
    if (status == FM_OK) status = peaks_tell ? nest_in_peaks(self, error) : nest_changes(self, &tree, error);
    fm_phase_tree_clear(&tree);
    return status;
}

fm_status fm_phases_create_nested(fm_phases **phases, fm_phase_finder *finder, const fm_sampler *sampler,
                                  uint64_t threshold, bool at_peaks, uint64_t references, fm_error *error)
{
    *phases = NULL;
    FM_REQUIRE(finder, error);
    FM_REQUIRE(sampler, error);
    nesting self = {.width = finder->windows.width};
    fm_status status = fm_phase_finder_leaves(finder, &self.leaves, &self.count, error);
    if (status == FM_OK) status = fm_phases_create_samples(&self.phases, sampler, threshold, error);
    if (status != FM_OK) return status;
    self.inside = fm_calloc(self.count, sizeof *self.inside);
    self.symbols = fm_calloc(self.count, sizeof *self.symbols);
    self.phases->inner = fm_calloc(FM_MOST_PHASE_LEVELS - 1, sizeof *self.phases->inner);
    if (!self.inside || !self.symbols || !self.phases->inner)
        status = fm_fail_memory(error, self.count * sizeof *self.inside, "the phases");
    else
        status = nest(&self, at_peaks || self.count == 0, references, error);
    free(self.inside);
    free(self.symbols);
    if (status != FM_OK) {
        fm_phases_destroy(self.phases);
        return status;
    }
    *phases = self.phases;
    return FM_OK;
}
