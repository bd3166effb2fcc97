/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oracle.c - Previous access and time; the blocks between are in between.c.
 *
 * The previous access: of a reference that shares c loops with the asked one, points before a time t are
 * those that agree with t in all c loops and are earlier by position, and those that agree in the first l
 * loops and have x[l] < t[l], for l = c - 1 … 0. The deeper two accesses agree, the closer they are: so
 * levels are looked at from the deepest, and the first level at which any reference has a point in the block
 * holds the latest one. A query (reference, loops that agree, whether x[l] is bounded) is a projection that
 * is made once; the values of the loops and the block are its parameters.
 */
#include "static/oracle/oracle_parts.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* Negative, 0 or positive: left is before, at or behind right. */
static int point_compare(const fm_reference_list *list, const fm_point *left, const fm_point *right)
{
    const fm_reference *a = &list->references[left->reference], *b = &list->references[right->reference];
    for (unsigned level = 0;; level++) {
        if (a->position[level] != b->position[level]) return a->position[level] < b->position[level] ? -1 : 1;
        if (level == a->depth || level == b->depth) return a->order < b->order ? -1 : a->order > b->order;
        if (left->x[level] != right->x[level]) return left->x[level] < right->x[level] ? -1 : 1;
    }
}

/* ---- previous access ---- */

/* Columns of a query: x[0 … fixed-1], the x[fixed] to stay below where it is bounded, the block; then the
 * free loops: first those that the block nearly determines, then the others from outside to inside. */
struct oracle_query {
    fm_projection *projection;
    unsigned parameters, variables;
    unsigned leading; /* loops that the block nearly determines */
    unsigned order[FM_REFERENCE_DEPTH];
};

/*
 * A loop whose factor in the address is about as large as everything that smaller factors can add has only a
 * few values for a given block, as the row of a matrix has. Chosen first, they keep the search from trying
 * loops for which no whole row fits.
 */
static void order_loops(fm_oracle *self, const fm_reference *reference, unsigned fixed, oracle_query *query)
{
    bool chosen[FM_REFERENCE_DEPTH] = {false};
    __int128 rest = (__int128)1 << self->shift; /* what those that are not chosen can add, and a block */
    for (unsigned k = fixed; k < reference->depth; k++)
        rest += (__int128)llabs(reference->address.factors[k]) * (reference->most[k] - reference->least[k]);
    for (;;) {
        unsigned largest = reference->depth;
        for (unsigned k = fixed; k < reference->depth; k++)
            if (!chosen[k] && reference->address.factors[k] &&
                (largest == reference->depth ||
                 llabs(reference->address.factors[k]) > llabs(reference->address.factors[largest])))
                largest = k;
        if (largest == reference->depth) break;
        const __int128 factor = llabs(reference->address.factors[largest]);
        rest -= factor * (reference->most[largest] - reference->least[largest]);
        if (factor <= (__int128)1 << self->shift || rest > 3 * factor) break;
        chosen[largest] = true;
        query->order[query->leading++] = largest;
    }
    unsigned count = query->leading;
    for (unsigned k = fixed; k < reference->depth; k++)
        if (!chosen[k]) query->order[count++] = k;
}

static fm_status make_query(fm_oracle *self, const fm_reference *reference, unsigned fixed, bool bounded,
                            oracle_query **made, fm_error *error)
{
    oracle_query *query = fm_arena_allocate(self->arena, 1, sizeof *query);
    if (!query) return fm_fail_memory(error, sizeof *query, "the oracle");
    const unsigned parameters = fixed + bounded + 1, variables = reference->depth - fixed;
    const unsigned block = parameters - 1;
    const int64_t granularity = (int64_t)self->list->granularity;
    unsigned column[FM_REFERENCE_DEPTH];
    int64_t least[FM_PROJECTION_COLUMNS], most[FM_PROJECTION_COLUMNS];
    fm_line rows[reference->row_count + 3];
    query->parameters = parameters;
    query->variables = variables;
    order_loops(self, reference, fixed, query);
    for (unsigned k = 0; k < fixed; k++) column[k] = k;
    for (unsigned i = 0; i < variables; i++) column[query->order[i]] = parameters + i;
    memset(rows, 0, (reference->row_count + 3) * sizeof rows[0]);
    size_t count = 0;
    for (size_t i = 0; i <= reference->row_count; i++) {
        const fm_row *from = i < reference->row_count ? &reference->rows[i] : &reference->address;
        fm_line *to = &rows[count++];
        to->at[FM_CONSTANT] = from->constant;
        for (unsigned k = 0; k < reference->depth; k++) to->at[column[k]] = from->factors[k];
    }
    fm_line *low = &rows[count - 1], *high = &rows[count++]; /* in the block */
    for (unsigned c = 0; c < parameters + variables; c++) high->at[c] = -low->at[c];
    high->at[FM_CONSTANT] = granularity - 1 - low->at[FM_CONSTANT];
    low->at[block] -= granularity;
    high->at[block] += granularity;
    for (unsigned k = 0; k < reference->depth; k++) {
        least[column[k]] = reference->least[k];
        most[column[k]] = reference->most[k];
    }
    least[block] = self->arrays[reference->array].first;
    most[block] = self->arrays[reference->array].last;
    if (bounded) {
        fm_line *bound = &rows[count++]; /* x[fixed] <= limit - 1 */
        bound->at[fixed] = 1;
        bound->at[column[fixed]] = -1;
        bound->at[FM_CONSTANT] = -1;
        least[fixed] = reference->least[fixed];
        most[fixed] = reference->most[fixed] + 1;
    }
    *made = query;
    return fm_projection_create(&query->projection, self->arena, parameters, variables, rows, count, least,
                                most, error);
}

typedef struct search {
    const oracle_query *query;
    unsigned fixed;
    int64_t values[FM_PROJECTION_COLUMNS];
    int64_t best[FM_REFERENCE_DEPTH]; /* x from `fixed` on */
    bool found;
    uint64_t budget;
} search;

/* Is what the search has in values later than the best so far? Then it is the best. */
static void keep_later(search *self)
{
    const oracle_query *query = self->query;
    int64_t x[FM_REFERENCE_DEPTH];
    for (unsigned i = 0; i < query->variables; i++)
        x[query->order[i] - self->fixed] = self->values[query->parameters + i];
    for (unsigned i = 0; self->found && i < query->variables; i++) {
        if (x[i] < self->best[i]) return;
        if (x[i] > self->best[i]) break;
    }
    memcpy(self->best, x, query->variables * sizeof x[0]);
    self->found = true;
}

/* False: too many steps. */
static bool search_leading(search *self, unsigned variable)
{
    const oracle_query *query = self->query;
    if (variable == query->leading) {
        fm_search_result result =
            fm_projection_search(query->projection, variable, true, self->values, &self->budget);
        if (result == FM_SEARCH_FOUND) keep_later(self);
        return result != FM_SEARCH_GIVEN_UP;
    }
    int64_t low, high;
    if (!fm_projection_bounds(query->projection, variable, self->values, &low, &high)) return true;
    for (int64_t value = high; value >= low; value--) {
        self->values[query->parameters + variable] = value;
        if (!search_leading(self, variable + 1)) return false;
    }
    return true;
}

/* The last point of `number` that agrees with `before` in `fixed` loops and is earlier (bounded: in the
 * next). */
static fm_status last_in_block(fm_oracle *self, uint32_t number, unsigned fixed, bool bounded,
                               const int64_t *before, int64_t block, fm_point *found, bool *exists,
                               fm_error *error)
{
    const fm_reference *reference = &self->list->references[number];
    oracle_query **query = &self->places[number].queries[2 * fixed + bounded];
    *exists = false;
    for (unsigned k = 0; k < fixed; k++)
        if (before[k] < reference->least[k] || before[k] > reference->most[k]) return FM_OK;
    if (bounded && before[fixed] <= reference->least[fixed]) return FM_OK;
    if (!*query) {
        fm_status status = make_query(self, reference, fixed, bounded, query, error);
        if (status != FM_OK) return status;
    }
    search look = {.query = *query, .fixed = fixed, .budget = FM_ORACLE_BUDGET};
    memcpy(look.values, before, fixed * sizeof *before);
    unsigned parameters = fixed;
    if (bounded) {
        const int64_t end = reference->most[fixed] + 1;
        look.values[parameters++] = before[fixed] < end ? before[fixed] : end;
    }
    look.values[parameters] = block;
    if (!fm_projection_possible((*query)->projection, look.values)) return FM_OK;
    if (!search_leading(&look, 0))
        return fm_fail(error, FM_E_LIMIT, NULL, "the search for a previous access took too many steps");
    if (!look.found) return FM_OK;
    *exists = true;
    found->reference = number;
    memcpy(found->x, before, fixed * sizeof *before);
    memcpy(found->x + fixed, look.best, (*query)->variables * sizeof *before);
    return FM_OK;
}

/* Loops that two references share. */
static unsigned shared_loops(const fm_reference *left, const fm_reference *right)
{
    unsigned level = 0;
    while (level < left->depth && level < right->depth && left->position[level] == right->position[level])
        level++;
    return level;
}

/* Is `other` earlier than `one` where all the loops that they share agree? */
static bool earlier_inside(const fm_reference *other, const fm_reference *one, unsigned shared)
{
    if (other->position[shared] != one->position[shared])
        return other->position[shared] < one->position[shared];
    return other->order < one->order;
}

static fm_status find_previous(fm_oracle *self, const fm_point *at, int64_t block, fm_point *previous,
                               bool *found, fm_error *error)
{
    const oracle_place *place = &self->places[at->reference];
    *found = false;
    for (unsigned level = 2 * self->list->references[at->reference].depth + 1; level-- > 0 && !*found;) {
        /* level 2 * l: earlier by position behind l loops; 2 * l + 1: x[l] is smaller. */
        for (size_t i = 0; i < place->companion_count; i++) {
            const oracle_companion *other = &place->companions[i];
            const unsigned loops = level / 2;
            const bool bounded = level & 1;
            if (bounded ? other->shared <= loops : other->shared != loops || !other->earlier) continue;
            fm_point point;
            bool exists;
            fm_status status =
                last_in_block(self, other->reference, loops, bounded, at->x, block, &point, &exists, error);
            if (status != FM_OK) return status;
            if (exists && (!*found || point_compare(self->list, &point, previous) > 0)) {
                *previous = point;
                *found = true;
            }
        }
    }
    return FM_OK;
}

fm_status fm_oracle_ask(fm_oracle *oracle, const fm_point *point, fm_reuse *reuse, fm_error *error)
{
    const fm_reference *reference = &oracle->list->references[point->reference];
    const int64_t block = fm_affine_at(&reference->address, reference->depth, point->x) >> oracle->shift;
    bool found;
    fm_status status = find_previous(oracle, point, block, &reuse->previous, &found, error);
    reuse->first = !found;
    reuse->distance = 0;
    if (status != FM_OK || !found) return status;
    return fm_oracle_between(oracle, &reuse->previous, point, block, &reuse->distance, error);
}

/* ---- making one ---- */

static fm_status find_companions(fm_oracle *self, uint32_t number, fm_error *error)
{
    const fm_reference *all = self->list->references;
    oracle_place *place = &self->places[number];
    place->companions = fm_arena_allocate(self->arena, self->list->count, sizeof place->companions[0]);
    place->queries = fm_arena_allocate(self->arena, 2 * FM_REFERENCE_DEPTH + 2, sizeof place->queries[0]);
    if (!place->companions || !place->queries)
        return fm_fail_memory(error, self->list->count * sizeof place->companions[0], "the oracle");
    for (uint32_t i = 0; i < self->list->count; i++) {
        if (all[i].array != all[number].array) continue;
        const unsigned shared = shared_loops(&all[i], &all[number]);
        place->companions[place->companion_count++] = (oracle_companion){
            .reference = i, .shared = shared, .earlier = earlier_inside(&all[i], &all[number], shared)};
    }
    return FM_OK;
}

/* Are the two the same but for their positions and the constant of the address? */
static bool same_class(const fm_reference *left, const fm_reference *right)
{
    return left->array == right->array && left->depth == right->depth &&
           left->row_count == right->row_count &&
           !memcmp(left->address.factors, right->address.factors, sizeof left->address.factors) &&
           !memcmp(left->least, right->least, left->depth * sizeof left->least[0]) &&
           !memcmp(left->most, right->most, left->depth * sizeof left->most[0]) &&
           !memcmp(left->rows, right->rows, left->row_count * sizeof left->rows[0]);
}

static fm_status find_class(fm_oracle *self, uint32_t number, fm_error *error)
{
    const fm_reference *all = self->list->references;
    size_t found = 0;
    while (found < self->class_count && !same_class(&all[self->classes[found].reference], &all[number]))
        found++;
    self->places[number].class_number = (uint32_t)found;
    if (found < self->class_count) return FM_OK;
    oracle_class *made = &self->classes[self->class_count++];
    made->reference = number;
    made->families = fm_arena_allocate(self->arena, 4 * FM_REFERENCE_DEPTH + 4, sizeof made->families[0]);
    return made->families ? FM_OK : fm_fail_memory(error, sizeof *made, "the oracle");
}

/* The blocks of each array, as far as it is touched; references in the order of their arrays. */
static fm_status find_arrays(fm_oracle *self, fm_error *error)
{
    const fm_reference_list *list = self->list;
    size_t arrays = 0;
    for (size_t i = 0; i < list->count; i++)
        if (list->references[i].array >= arrays) arrays = (size_t)list->references[i].array + 1;
    self->array_count = arrays;
    self->arrays = fm_arena_allocate(self->arena, arrays, sizeof self->arrays[0]);
    self->by_array = fm_arena_allocate(self->arena, list->count, sizeof self->by_array[0]);
    if (!self->arrays || !self->by_array)
        return fm_fail_memory(error, list->count * sizeof self->by_array[0], "the oracle");
    size_t at = 0;
    for (size_t a = 0; a < arrays; a++) {
        oracle_array *array = &self->arrays[a];
        array->begin = at;
        for (size_t i = 0; i < list->count; i++) {
            const fm_reference *reference = &list->references[i];
            if (reference->array != a) continue;
            __int128 low, high;
            fm_affine_range(&reference->address, reference->depth, reference->least, reference->most, &low,
                            &high);
            const int64_t first = (int64_t)low >> self->shift, last = (int64_t)high >> self->shift;
            if (at == array->begin || first < array->first) array->first = first;
            if (at == array->begin || last > array->last) array->last = last;
            self->by_array[at++] = (uint32_t)i;
        }
        array->end = at;
    }
    return FM_OK;
}

fm_status fm_oracle_create(fm_oracle **oracle, const fm_reference_list *list, uint64_t sets, fm_error *error)
{
    *oracle = NULL;
    if (!list->granularity || (list->granularity & (list->granularity - 1)) || sets > UINT32_MAX)
        return fm_fail(error, FM_E_ARGUMENT, NULL,
                       "blocks must be a power of two of bytes, and sets at most 2^32 - 1");
    fm_oracle *self = fm_calloc(1, sizeof *self);
    if (!self) return fm_fail_memory(error, sizeof *self, "the oracle");
    self->list = list;
    self->sets = sets;
    self->shift = self->intervals.shift = (unsigned)__builtin_ctzll(list->granularity);
    fm_oracle_limit(self, 0, 0);
    self->arena = fm_arena_create();
    if (self->arena) {
        self->places = fm_arena_allocate(self->arena, list->count, sizeof self->places[0]);
        self->classes = fm_arena_allocate(self->arena, list->count, sizeof self->classes[0]);
    }
    fm_status status = self->places && self->classes ? find_arrays(self, error)
                                                     : fm_fail_memory(error, sizeof *self, "the oracle");
    for (uint32_t i = 0; i < list->count && status == FM_OK; i++) {
        status = find_companions(self, i, error);
        if (status == FM_OK) status = find_class(self, i, error);
    }
    if (status != FM_OK) {
        fm_oracle_destroy(self);
        return status;
    }
    *oracle = self;
    return FM_OK;
}

void fm_oracle_limit(fm_oracle *oracle, double deadline, uint64_t memory)
{
    oracle->deadline = deadline;
    oracle->most_intervals = (size_t)((memory ? memory : FM_ORACLE_MEMORY) / sizeof(fm_interval));
}

void fm_oracle_destroy(fm_oracle *oracle)
{
    if (!oracle) return;
    fm_intervals_clear(&oracle->intervals);
    free(oracle->pieces);
    fm_arena_destroy(oracle->arena);
    free(oracle);
}
