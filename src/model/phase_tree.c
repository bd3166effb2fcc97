/* SPDX-License-Identifier: Apache-2.0 */
/*
 * phase_tree.c - what recurs in a sequence of phases. A *round* is a part of the sequence that is repeated;
 * rounds may consist of rounds. A sequence of symbols becomes a regular expression, after Shen, Zhong and
 * Ding (Locality phase prediction, ASPLOS 2004, section 2.4): A B A B C A B A B A B C is ((A B)* C)*.
 *
 * The shortest unit that repeats without a gap is folded first; a folded stretch is a symbol of its own, and
 * how often the unit repeats in it does not matter. What is left at the end of the sequence of one more unit
 * is a unit, too. Then again, until nothing repeats.
 *
 * Each fold takes O(n p) for n symbols and units of up to p = MOST_UNIT, and leaves fewer symbols.
 */
#include "base/error.h"
#include "base/memory.h"
#include "model/phase_parts.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_UNIT = 512 };

/* A stretch that is one phase, or a round of several. */
typedef struct fm_phase_node {
    size_t begin, end;   /* elements of the sequence */
    bool round;          /* it has children */
    size_t child, after; /* nodes: its first child, the next one of its siblings; FM_NO_NODE: none */
} fm_phase_node;
#define FM_NO_NODE SIZE_MAX

typedef struct fm_phase_tree {
    size_t count, capacity;
    fm_phase_node *nodes;
    size_t first;     /* of the uppermost level */
    size_t in_rounds; /* elements of the sequence that are in rounds of more than one */
} fm_phase_tree;

/* An element of the sequence, folded or not. */
typedef struct item {
    uint32_t symbol;
    size_t first, last; /* nodes, siblings */
    size_t elements;
    bool rounds; /* of more than one element */
} item;

typedef struct unit {
    uint32_t symbol;
    size_t length;
    const uint32_t *symbols;
} unit;

typedef struct folding {
    fm_phase_tree *tree;
    size_t count;
    item *items;
    size_t *matches; /* how many items from here on are those one unit further on */
    uint32_t next_symbol;
    size_t unit_count, unit_capacity;
    unit *units;
    size_t text_count;
    uint32_t *texts; /* the units' symbols */
} folding;

static fm_status add_node(fm_phase_tree *tree, fm_phase_node node, size_t *index, fm_error *error)
{
    void *nodes = tree->nodes;
    if (fm_array_reserve(&nodes, &tree->capacity, tree->count + 1, sizeof *tree->nodes))
        return fm_fail_memory(error, (tree->count + 1) * sizeof *tree->nodes, "the phases");
    tree->nodes = nodes;
    *index = tree->count;
    tree->nodes[tree->count++] = node;
    return FM_OK;
}

/* The symbol of a unit that repeats. */
static fm_status symbol_of(folding *self, const item *items, size_t length, uint32_t *symbol, fm_error *error)
{
    for (size_t i = 0; i < self->unit_count; i++) {
        const unit *known = &self->units[i];
        size_t same = 0;
        while (known->length == length && same < length && known->symbols[same] == items[same].symbol) same++;
        if (same == length) {
            *symbol = known->symbol;
            return FM_OK;
        }
    }
    void *units = self->units;
    if (fm_array_reserve(&units, &self->unit_capacity, self->unit_count + 1, sizeof *self->units))
        return fm_fail_memory(error, (self->unit_count + 1) * sizeof *self->units, "the phases");
    self->units = units;
    uint32_t *text = self->texts + self->text_count;
    for (size_t i = 0; i < length; i++) text[i] = items[i].symbol;
    self->text_count += length;
    *symbol = self->next_symbol++;
    self->units[self->unit_count++] = (unit){*symbol, length, text};
    return FM_OK;
}

/* A round of several items: a node above theirs. */
static fm_status make_round(folding *self, const item *items, size_t length, size_t *index, fm_error *error)
{
    fm_phase_node *nodes = self->tree->nodes;
    const fm_phase_node round = {.begin = nodes[items[0].first].begin,
                                 .end = nodes[items[length - 1].last].end,
                                 .round = true,
                                 .child = items[0].first,
                                 .after = FM_NO_NODE};
    for (size_t i = 0; i + 1 < length; i++) nodes[items[i].last].after = items[i + 1].first;
    return add_node(self->tree, round, index, error);
}

/* `count` items in units of `length` become one; the last unit may be shorter. */
static fm_status tree_fold(folding *self, item *items, size_t count, size_t length, item *made,
                           fm_error *error)
{
    size_t previous = FM_NO_NODE;
    *made = (item){.rounds = length > 1, .first = FM_NO_NODE};
    /* One that stands several times is the same as one that stands once. */
    made->symbol = items[0].symbol;
    fm_status status = length > 1 ? symbol_of(self, items, length, &made->symbol, error) : FM_OK;
    for (size_t i = 0; i < count && status == FM_OK; i += length) {
        const size_t some = count - i < length ? count - i : length;
        size_t first = items[i].first, last = items[i].last;
        if (some > 1) {
            status = make_round(self, items + i, some, &first, error);
            last = first;
            if (status != FM_OK) break;
        }
        if (previous != FM_NO_NODE) self->tree->nodes[previous].after = first;
        if (made->first == FM_NO_NODE) made->first = first;
        made->last = previous = last;
    }
    for (size_t i = 0; i < count; i++) {
        made->elements += items[i].elements;
        made->rounds |= items[i].rounds;
    }
    return status;
}

/* All that repeats in units of that length; whether there was any. */
static fm_status fold_all(folding *self, size_t length, bool *folded, fm_error *error)
{
    item *items = self->items;
    const size_t count = self->count;
    *folded = false;
    for (size_t i = count; i-- > 0;)
        self->matches[i] = i + length < count && items[i].symbol == items[i + length].symbol
                               ? (i + 1 < count ? self->matches[i + 1] : 0) + 1
                               : 0;
    size_t kept = 0;
    for (size_t i = 0; i < count;) {
        item made = items[i];
        size_t taken = 1;
        if (self->matches[i] >= length) {
            taken = length + self->matches[i];
            if (i + taken < count) taken -= taken % length; /* a part of a unit only at the end */
            fm_status status = tree_fold(self, items + i, taken, length, &made, error);
            if (status != FM_OK) return status;
            *folded = true;
        }
        items[kept++] = made;
        i += taken;
    }
    self->count = kept;
    return FM_OK;
}

static fm_status tree_build(folding *self, const uint32_t *symbols, size_t count, fm_error *error)
{
    fm_status status = FM_OK;
    for (size_t i = 0; i < count && status == FM_OK; i++) {
        const fm_phase_node leaf = {.begin = i, .end = i + 1, .child = FM_NO_NODE, .after = FM_NO_NODE};
        size_t node = 0;
        status = add_node(self->tree, leaf, &node, error);
        self->items[i] = (item){.symbol = symbols[i], .first = node, .last = node, .elements = 1};
        if (symbols[i] >= self->next_symbol) self->next_symbol = symbols[i] + 1;
    }
    self->count = count;
    for (size_t length = 1; status == FM_OK && length <= MOST_UNIT && 2 * length <= self->count;) {
        bool folded;
        status = fold_all(self, length, &folded, error);
        length = folded ? 1 : length + 1;
    }
    for (size_t i = 0; i < self->count && status == FM_OK; i++) {
        if (i + 1 < self->count) self->tree->nodes[self->items[i].last].after = self->items[i + 1].first;
        if (self->items[i].rounds) self->tree->in_rounds += self->items[i].elements;
    }
    if (status == FM_OK) self->tree->first = self->count ? self->items[0].first : FM_NO_NODE;
    return status;
}

static void phase_tree_clear(fm_phase_tree *tree)
{
    free(tree->nodes);
    *tree = (fm_phase_tree){.first = FM_NO_NODE};
}

/* symbols: what each element is; the same for the same. */
static fm_status phase_tree_build(fm_phase_tree *tree, const uint32_t *symbols, size_t count, fm_error *error)
{
    *tree = (fm_phase_tree){.first = FM_NO_NODE};
    folding self = {.tree = tree};
    self.items = fm_calloc(count, sizeof *self.items);
    self.matches = fm_calloc(count, sizeof *self.matches);
    /* A fold takes away more items than its unit is long: the units together are shorter than the sequence.
     */
    self.texts = fm_calloc(count, sizeof *self.texts);
    fm_status status = self.items && self.matches && self.texts
                           ? tree_build(&self, symbols, count, error)
                           : fm_fail_memory(error, count * sizeof *self.items, "the phases");
    free(self.items);
    free(self.matches);
    free(self.texts);
    free(self.units);
    if (status != FM_OK) phase_tree_clear(tree);
    return status;
}

/*
 * ======== phase nesting ========
 * See fathom/phases.h: leaves, rounds and peaks become levels of phases.
 *
 * Leaves are compared with their data first: phases that do the same with other data take turns, too. Where
 * that shows no rounds, data is left out: rounds may do the same with new data each time.
 */

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
        FM_ASSERT(node < tree->count && one->begin < one->end && one->end <= self->count);
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
    fm_status status = phase_tree_build(tree, self->symbols, count, error);
    if (status != FM_OK || 2 * tree->in_rounds >= count) return status;
    phase_tree_clear(tree);
    fm_phase_symbols(self->inside, count, false, self->symbols);
    return phase_tree_build(tree, self->symbols, count, error);
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
        phase_tree_clear(&tree);
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

static fm_status nest_phases(nesting *self, bool at_peaks, uint64_t references, fm_error *error)
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
    phase_tree_clear(&tree);
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
        status = nest_phases(&self, at_peaks || self.count == 0, references, error);
    free(self.inside);
    free(self.symbols);
    if (status != FM_OK) {
        fm_phases_destroy(self.phases);
        return status;
    }
    *phases = self.phases;
    return FM_OK;
}
