/* SPDX-License-Identifier: Apache-2.0 */
/*
 * phase_tree.c - see phase_tree.h. A sequence of symbols becomes a regular expression, after Shen, Zhong and
 * Ding (Locality phase prediction, ASPLOS 2004, section 2.4): A B A B C A B A B A B C is ((A B)* C)*.
 *
 * The shortest unit that repeats without a gap is folded first; a folded stretch is a symbol of its own, and
 * how often the unit repeats in it does not matter. What is left at the end of the sequence of one more unit
 * is a unit, too. Then again, until nothing repeats.
 *
 * Each fold takes O(n p) for n symbols and units of up to p = MOST_UNIT, and leaves fewer symbols.
 */
#include "model/phase_tree.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_UNIT = 512 };

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
static fm_status fold(folding *self, item *items, size_t count, size_t length, item *made, fm_error *error)
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
            fm_status status = fold(self, items + i, taken, length, &made, error);
            if (status != FM_OK) return status;
            *folded = true;
        }
        items[kept++] = made;
        i += taken;
    }
    self->count = kept;
    return FM_OK;
}

static fm_status build(folding *self, const uint32_t *symbols, size_t count, fm_error *error)
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

fm_status fm_phase_tree_build(fm_phase_tree *tree, const uint32_t *symbols, size_t count, fm_error *error)
{
    *tree = (fm_phase_tree){.first = FM_NO_NODE};
    folding self = {.tree = tree};
    self.items = fm_calloc(count, sizeof *self.items);
    self.matches = fm_calloc(count, sizeof *self.matches);
    /* A fold takes away more items than its unit is long: the units together are shorter than the sequence.
     */
    self.texts = fm_calloc(count, sizeof *self.texts);
    fm_status status = self.items && self.matches && self.texts
                           ? build(&self, symbols, count, error)
                           : fm_fail_memory(error, count * sizeof *self.items, "the phases");
    free(self.items);
    free(self.matches);
    free(self.texts);
    free(self.units);
    if (status != FM_OK) fm_phase_tree_clear(tree);
    return status;
}

void fm_phase_tree_clear(fm_phase_tree *tree)
{
    free(tree->nodes);
    *tree = (fm_phase_tree){.first = FM_NO_NODE};
}
