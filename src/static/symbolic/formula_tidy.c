/* SPDX-License-Identifier: Apache-2.0 */
/* formula_tidy.c - formulas made smaller (formula.h): conditions that always hold go, and pieces with the
 * same conditions become one. */
#define _GNU_SOURCE
#include "static/symbolic/formula.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* Does an inequality of parameters alone hold for all of them from `least` on? */
static bool always_holds(const fm_formula_piece *piece, const int64_t *line, const int64_t *least)
{
    __int128 sum = line[piece->columns];
    for (unsigned i = 0; i < piece->columns; i++) {
        if (!line[i]) continue;
        if (i >= piece->parameters || line[i] < 0) return false;
        sum += (__int128)line[i] * least[i];
    }
    return sum >= 0;
}

static void drop_conditions(fm_formula_piece *piece, const int64_t *least)
{
    const size_t width = piece->columns + 1u;
    size_t at = fm_formula_quotients(piece) + piece->equality_count;
    for (size_t i = 0; i < piece->inequality_count;) {
        int64_t *line = &piece->numbers[(at + i) * width];
        if (!always_holds(piece, line, least)) {
            i++;
            continue;
        }
        memmove(line, line + width, (piece->number_count - (at + i + 1) * width) * sizeof *line);
        piece->number_count -= width;
        piece->inequality_count--;
    }
}

static int compare_lines(const void *left, const void *right, void *width)
{
    return memcmp(left, right, *(const size_t *)width * sizeof(int64_t));
}

/* In one order, so that equal pieces look the same. */
static void sort_conditions(fm_formula_piece *piece)
{
    size_t width = piece->columns + 1u;
    if (piece->equality_count + piece->inequality_count == 0) return; /* there may be no numbers at all */
    int64_t *first = &piece->numbers[fm_formula_quotients(piece) * width];
    qsort_r(first, piece->equality_count, width * sizeof *first, compare_lines, &width);
    qsort_r(first + piece->equality_count * width, piece->inequality_count, width * sizeof *first,
            compare_lines, &width);
}

static bool same_conditions(const fm_formula_piece *a, const fm_formula_piece *b)
{
    if (a->variables || b->variables || a->columns != b->columns || a->derived_count != b->derived_count ||
        a->equality_count != b->equality_count || a->inequality_count != b->inequality_count ||
        a->number_count != b->number_count || a->denominator != b->denominator)
        return false;
    for (size_t i = 0; i < a->derived_count; i++) {
        const fm_derived *left = &a->derived[i], *right = &b->derived[i];
        if (left->column != right->column || left->by != right->by || left->count != right->count ||
            memcmp(left->factors, right->factors, left->count))
            return false;
    }
    return a->number_count == 0 ||
           memcmp(a->numbers, b->numbers, a->number_count * sizeof a->numbers[0]) == 0;
}

/* Adds the terms of the other; false: it cannot, and nothing is changed. */
static bool join(fm_formula_piece *to, const fm_formula_piece *other)
{
    fm_formula_term *terms = fm_calloc(to->term_count + other->term_count + 1, sizeof *terms);
    size_t count = to->term_count;
    bool fits = terms != NULL;
    if (fits) memcpy(terms, to->terms, count * sizeof *terms);
    for (size_t i = 0; i < other->term_count && fits; i++) {
        const fm_formula_term *term = &other->terms[i];
        size_t at = 0;
        while (at < count &&
               (terms[at].count != term->count || memcmp(terms[at].columns, term->columns, term->count)))
            at++;
        if (at == count)
            terms[count++] = *term;
        else
            fits = !__builtin_add_overflow(terms[at].factor, term->factor, &terms[at].factor);
    }
    if (!fits) {
        free(terms);
        return false;
    }
    size_t left = 0;
    for (size_t i = 0; i < count; i++)
        if (terms[i].factor) terms[left++] = terms[i];
    free(to->terms);
    to->terms = terms;
    to->term_count = left;
    return true;
}

void fm_formula_tidy(fm_formula *formula, const int64_t *least)
{
    size_t count = 0;
    for (size_t i = 0; i < formula->count; i++) {
        drop_conditions(&formula->pieces[i], least);
        sort_conditions(&formula->pieces[i]);
    }
    for (size_t i = 0; i < formula->count; i++) {
        size_t at = 0;
        while (at < count && !(same_conditions(&formula->pieces[at], &formula->pieces[i]) &&
                               join(&formula->pieces[at], &formula->pieces[i])))
            at++;
        if (at < count)
            fm_formula_piece_clear(&formula->pieces[i]);
        else
            formula->pieces[count++] = formula->pieces[i];
    }
    formula->count = count;
    for (size_t i = 0; i < formula->count;) { /* those that cancelled */
        if (formula->pieces[i].term_count) {
            i++;
            continue;
        }
        fm_formula_piece_clear(&formula->pieces[i]);
        formula->pieces[i] = formula->pieces[--formula->count];
    }
}
