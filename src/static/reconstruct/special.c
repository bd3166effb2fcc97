/* SPDX-License-Identifier: Apache-2.0 */
/*
 * special.c - Something may change where a row of any reference in the loop becomes tight (bounds of inner
 * loops, guards), where the loop meets the value of an outer one, and where two references of the loop meet
 * in the same address. These are all of one kind: forms factor * x[loop] + sum of outer loops + constant
 * that are 0. The forms are collected once for each loop; with the outer loops given, each gives one value.
 */
#include "static/reconstruct/reconstruct_parts.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_FORMS = 96 };

typedef struct loop_forms {
    size_t count, whole;      /* all; of them those that are meetings, which come first */
    bool rough[MOST_FORMS];   /* quotients in it were not rounded: the value may be a few off */
    fm_row forms[MOST_FORMS]; /* of the loop and those outside it */
} loop_forms;

struct fm_specials {
    const fm_reference_list *list;
    fm_arena *arena;
    int64_t (*periods)[FM_REFERENCE_DEPTH];
    const loop_forms *(*forms)[FM_REFERENCE_DEPTH];
};

/* Do two references share loop number `loop` and all outside it? */
static bool share_loop(const fm_reference *left, const fm_reference *right, unsigned loop)
{
    if (left->depth <= loop || right->depth <= loop) return false;
    return !memcmp(left->position, right->position, (loop + 1) * sizeof left->position[0]);
}

/* ---- periods ---- */

static void join_period(int64_t *period, int64_t with)
{
    if (!*period || !with) {
        *period = 0;
        return;
    }
    *period = *period / fm_greatest_divisor(*period, with) * with;
    if (*period > FM_SPECIAL_MOST_PERIOD) *period = 0;
}

static void find_own_period(fm_specials *self, uint32_t number, unsigned loop, uint64_t sets)
{
    const fm_reference_list *list = self->list;
    const int64_t block = (int64_t)(list->granularity * (sets > 1 ? sets : 1));
    int64_t *period = &self->periods[number][loop];
    *period = 1;
    for (size_t i = 0; i < list->count; i++) {
        const fm_reference *other = &list->references[i];
        if (!share_loop(&list->references[number], other, loop)) continue;
        const int64_t factor = other->address.factors[loop] % block;
        if (factor) join_period(period, block / fm_greatest_divisor(block, factor));
        for (size_t r = 0; r < other->row_count; r++) { /* quotients */
            const int64_t here = other->rows[r].factors[loop];
            for (unsigned k = loop + 1; here && k < other->depth; k++)
                if (other->rows[r].factors[k])
                    join_period(period, llabs(other->rows[r].factors[k]) /
                                            fm_greatest_divisor(other->rows[r].factors[k], here));
        }
    }
}

/* A loop that bounds an inner one has the period of that too. */
static void find_bound_periods(fm_specials *self, uint32_t number, unsigned loop)
{
    const fm_reference_list *list = self->list;
    for (size_t i = 0; i < list->count; i++) {
        const fm_reference *other = &list->references[i];
        if (!share_loop(&list->references[number], other, loop)) continue;
        for (size_t r = 0; r < other->row_count; r++)
            for (unsigned k = loop + 1; other->rows[r].factors[loop] && k < other->depth; k++)
                if (other->rows[r].factors[k]) join_period(&self->periods[number][loop], self->periods[i][k]);
    }
}

int64_t fm_specials_period(const fm_specials *specials, uint32_t reference, unsigned loop)
{
    return specials->periods[reference][loop];
}

int64_t fm_specials_longer_period(const fm_specials *specials, uint32_t reference, unsigned loop)
{
    int64_t period = specials->periods[reference][loop];
    for (unsigned k = loop + 1; k < specials->list->references[reference].depth; k++)
        join_period(&period, specials->periods[reference][k]);
    return period;
}

/* ---- forms ---- */

static void put_form(loop_forms *forms, unsigned loop, fm_row form, bool rough)
{
    if (!form.factors[loop]) return;
    int64_t divisor = 0;
    for (unsigned k = loop + 1; k < FM_REFERENCE_DEPTH; k++) form.factors[k] = 0;
    for (unsigned k = 0; k <= loop; k++) divisor = fm_greatest_divisor(divisor, form.factors[k]);
    if (form.factors[loop] < 0) divisor = -divisor;
    for (unsigned k = 0; k <= loop; k++) form.factors[k] /= divisor;
    form.constant /= divisor;
    for (size_t i = 0; i < forms->count; i++) {
        const int64_t apart = forms->forms[i].constant - form.constant;
        if (!memcmp(forms->forms[i].factors, form.factors, sizeof form.factors) && apart >= -1 && apart <= 1)
            return;
    }
    if (forms->count == MOST_FORMS) return;
    forms->rough[forms->count] = rough;
    forms->forms[forms->count++] = form;
}

/* A row, with the inner loops at either end of their ranges. */
static void put_row(loop_forms *forms, unsigned loop, const fm_reference *reference, const fm_row *row)
{
    for (int largest = 0; largest < 2; largest++) {
        fm_row form = *row;
        __int128 constant = row->constant;
        bool inner = false;
        for (unsigned k = loop + 1; k < reference->depth; k++) {
            inner = inner || row->factors[k];
            constant += (__int128)row->factors[k] *
                        ((row->factors[k] > 0) == largest ? reference->most[k] : reference->least[k]);
        }
        if (constant > FM_AFFINE_MOST || constant < -FM_AFFINE_MOST) continue;
        form.constant = (int64_t)constant;
        put_form(forms, loop, form, false);
        if (!inner) break;
    }
}

/* The row of a quotient: inner = floor(sum of other loops / divisor). */
static const fm_row *find_quotient(const fm_reference *reference, unsigned inner)
{
    for (size_t i = 0; i < reference->row_count; i++) {
        const fm_row *low = &reference->rows[i]; /* sum - divisor * inner >= 0 */
        const int64_t divisor = -low->factors[inner];
        if (divisor < 2) continue;
        for (size_t k = 0; k < reference->row_count; k++) {
            fm_row sum = reference->rows[k];
            if (!fm_affine_add(&sum, low, 1)) continue;
            bool constant = sum.constant == divisor - 1;
            for (unsigned c = 0; c < FM_REFERENCE_DEPTH; c++) constant = constant && !sum.factors[c];
            if (constant) return low;
        }
    }
    return NULL;
}

/* The address without the loops inside `loop`: quotients as if they were not rounded, other loops at one end.
 * All of it times *times, so that it is whole. False: beyond 2^62. */
static bool outer_address(const fm_reference *reference, unsigned loop, bool largest, fm_row *form,
                          int64_t *times, bool *inner)
{
    *form = reference->address;
    *times = 1;
    for (unsigned k = reference->depth; k-- > loop + 1;) {
        const int64_t factor = form->factors[k];
        if (!factor) continue;
        const fm_row *quotient = find_quotient(reference, k);
        if (quotient) {
            const int64_t divisor = -quotient->factors[k];
            fm_row whole = {0};
            if (*times > FM_AFFINE_MOST / divisor || !fm_affine_add(&whole, form, divisor)) return false;
            whole.factors[k] = 0;
            *times *= divisor;
            fm_row numerator = *quotient;
            numerator.factors[k] = 0;
            if (!fm_affine_add(&whole, &numerator, factor)) return false;
            *form = whole;
        } else {
            const fm_row end = {.constant =
                                    (factor > 0) == largest ? reference->most[k] : reference->least[k]};
            form->factors[k] = 0;
            if (!fm_affine_add(form, &end, factor)) return false;
            *inner = true;
        }
    }
    return true;
}

/* Where two references of the loop have the same address. Loops inside it that both go through alike do not
 * matter; others are taken at their ends. */
static void put_meeting(loop_forms *forms, unsigned loop, const fm_reference *left, const fm_reference *right)
{
    fm_row form = left->address;
    if (left->array != right->array || !fm_affine_add(&form, &right->address, -1)) return;
    bool apart = false;
    for (unsigned k = loop + 1; k < FM_REFERENCE_DEPTH; k++) apart = apart || form.factors[k];
    if (!apart) {
        put_form(forms, loop, form, false);
        return;
    }
    bool inner = false;
    for (int end = 0; end < 4 && (end == 0 || inner); end++) {
        fm_row other, difference = {0};
        int64_t times, other_times;
        if (outer_address(left, loop, end & 1, &form, &times, &inner) &&
            outer_address(right, loop, end & 2, &other, &other_times, &inner) &&
            fm_affine_add(&difference, &form, other_times) && fm_affine_add(&difference, &other, -times))
            put_form(forms, loop, difference, times > 1 || other_times > 1);
    }
}

/* Is there an array that one reference goes through by the loop at one depth, another by the loop at the
 * other depth, in the same direction (sign 1) or the opposite one? Only then can the two loops meet. */
static bool swapped_by(const fm_reference_list *list, unsigned loop, unsigned outer, int sign)
{
    for (size_t i = 0; i < list->count; i++) {
        const fm_reference *one = &list->references[i];
        if (one->depth <= loop || !one->address.factors[loop]) continue;
        for (size_t k = 0; k < list->count; k++) {
            const fm_reference *other = &list->references[k];
            if (other->array == one->array && other->depth > outer &&
                other->address.factors[outer] == sign * one->address.factors[loop])
                return true;
        }
    }
    return false;
}

static void find_forms(const fm_reference_list *list, uint32_t number, unsigned loop, loop_forms *forms)
{
    const fm_reference *own = &list->references[number];
    for (unsigned k = 0; k < loop; k++) /* the same value as an outer loop, or its negative */
        for (int sign = -1; sign <= 1; sign += 2) {
            fm_row form = {0};
            form.factors[loop] = 1;
            form.factors[k] = sign;
            if (swapped_by(list, loop, k, -sign)) put_form(forms, loop, form, false);
        }
    for (size_t i = 0; i < list->count; i++) {
        const fm_reference *other = &list->references[i];
        if (!share_loop(own, other, loop)) continue;
        for (size_t k = 0; k < i; k++)
            if (share_loop(own, &list->references[k], loop))
                put_meeting(forms, loop, other, &list->references[k]);
    }
    forms->whole = forms->count;
    for (size_t i = 0; i < list->count; i++) {
        const fm_reference *other = &list->references[i];
        if (!share_loop(own, other, loop)) continue;
        for (size_t r = 0; r < other->row_count; r++) put_row(forms, loop, other, &other->rows[r]);
    }
}

/* ---- values ---- */

size_t fm_special_put(fm_special *values, size_t count, fm_special one)
{
    size_t at = count;
    while (at && values[at - 1].value > one.value) at--;
    if (at && values[at - 1].value == one.value) {
        values[at - 1].whole = values[at - 1].whole || one.whole;
        return count;
    }
    memmove(values + at + 1, values + at, (count - at) * sizeof *values);
    values[at] = one;
    return count + 1;
}

size_t fm_specials_find(const fm_specials *specials, uint32_t reference, unsigned loop, const int64_t *x,
                        int64_t low, int64_t high, fm_special *values, size_t most)
{
    const loop_forms *forms = specials->forms[reference][loop];
    size_t count = 0;
    for (size_t i = 0; i < forms->count; i++) {
        const fm_row *form = &forms->forms[i];
        __int128 sum = form->constant;
        for (unsigned k = 0; k < loop; k++) sum += (__int128)form->factors[k] * x[k];
        const __int128 root = fm_floor_divide_wide(-sum, form->factors[loop]);
        const int first = forms->rough[i] ? -2 : 0, last = forms->rough[i] ? 4 : 1;
        for (int near = first; near <= last && count < most; near++)
            if (root + near >= low && root + near <= high)
                count = fm_special_put(values, count, (fm_special){(int64_t)(root + near), i < forms->whole});
    }
    return count;
}

/* ---- making them ---- */

fm_status fm_specials_create(fm_specials **specials, const fm_reference_list *list, uint64_t sets,
                             fm_error *error)
{
    *specials = NULL;
    fm_specials *self = fm_calloc(1, sizeof *self);
    if (!self) return fm_fail_memory(error, sizeof *self, "special values");
    self->list = list;
    self->arena = fm_arena_create();
    if (self->arena) {
        self->periods = fm_arena_allocate(self->arena, list->count, sizeof self->periods[0]);
        self->forms = fm_arena_allocate(self->arena, list->count, sizeof self->forms[0]);
    }
    bool ok = self->periods && self->forms;
    for (uint32_t i = 0; i < list->count && ok; i++)
        for (unsigned loop = 0; loop < list->references[i].depth && ok; loop++) {
            uint32_t first = 0; /* those that share a loop share its forms */
            while (!share_loop(&list->references[first], &list->references[i], loop)) first++;
            if (first == i) {
                loop_forms *made = fm_arena_allocate(self->arena, 1, sizeof *made);
                ok = made != NULL;
                if (ok) find_forms(list, i, loop, made);
                self->forms[i][loop] = made;
            } else
                self->forms[i][loop] = self->forms[first][loop];
            find_own_period(self, i, loop, sets);
        }
    for (int round = 0; round < 3 && ok; round++)
        for (uint32_t i = 0; i < list->count; i++)
            for (unsigned loop = list->references[i].depth; loop-- > 0;) find_bound_periods(self, i, loop);
    if (!ok) {
        fm_specials_destroy(self);
        return fm_fail_memory(error, list->count * sizeof(loop_forms), "special values");
    }
    *specials = self;
    return FM_OK;
}

void fm_specials_destroy(fm_specials *specials)
{
    if (!specials) return;
    fm_arena_destroy(specials->arena);
    free(specials);
}
