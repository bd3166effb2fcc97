/* SPDX-License-Identifier: Apache-2.0 */
/* formula.c - how formulas (formula.h) are made, and made smaller. Their values: formula_value.c. */
#define _GNU_SOURCE
#include "static/symbolic/formula.h"

#include "base/memory.h"

#include <isl/set.h>
#include <stdlib.h>
#include <string.h>

/* ---- pieces ---- */

static void formula_piece_clear(fm_formula_piece *piece)
{
    free(piece->derived);
    free(piece->numbers);
    fm_quick_poly_clear(&piece->value);
    *piece = (fm_formula_piece){0};
}

void fm_formula_clear(fm_formula *formula)
{
    for (size_t i = 0; i < formula->count; i++) formula_piece_clear(&formula->pieces[i]);
    free(formula->pieces);
    *formula = (fm_formula){0};
}

typedef struct making {
    fm_isl_work *work;
    const fm_system *system;
    const fm_product *products;
    size_t product_count;
    fm_formula_piece piece;
    size_t number_capacity;
} making;

static bool add_numbers(making *this, const fm_line *line, int64_t sign)
{
    fm_formula_piece *piece = &this->piece;
    const size_t width = piece->columns + 1u;
    if (fm_array_reserve((void **)&piece->numbers, &this->number_capacity, piece->number_count + width,
                         sizeof *piece->numbers))
        return fm_isl_no_memory(this->work);
    int64_t *to = &piece->numbers[piece->number_count];
    for (unsigned i = 0; i <= piece->columns; i++) {
        const int64_t number = line->at[i < piece->columns ? i : (unsigned)FM_CONSTANT];
        if (number > FM_FORMULA_LARGEST || number < -FM_FORMULA_LARGEST)
            return fm_isl_fail(this->work, FM_E_LIMIT, "no formula: numbers beyond 2^56");
        to[i] = sign * number;
    }
    piece->number_count += width;
    return true;
}

static bool add_lines(making *this, const fm_counter_lines *lines)
{
    for (size_t i = 0; i < lines->count; i++)
        if (!add_numbers(this, &lines->lines[i], 1)) return false;
    return true;
}

/* Quotients and products, each after what it is made of. */
static bool order_derived(making *this)
{
    fm_formula_piece *piece = &this->piece;
    const fm_system *system = this->system;
    bool known[FM_COLUMNS] = {false};
    const size_t all = system->extra + this->product_count;
    piece->derived = fm_calloc(all + 1, sizeof *piece->derived);
    if (!piece->derived) return fm_isl_no_memory(this->work);
    for (unsigned i = 0; i < piece->parameters + piece->variables; i++) known[i] = true;
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < all; i++) {
            fm_derived one = {0};
            bool ready = true;
            if (i < system->extra) {
                const fm_floor *quotient = &system->floors[i];
                one.column = (uint8_t)(system->kept + i);
                one.by = quotient->by;
                for (unsigned j = 0; j < piece->columns; j++) ready &= known[j] || !quotient->of.at[j];
            } else {
                const fm_product *product = &this->products[i - system->extra];
                one.column = (uint8_t)product->column;
                one.count = (uint8_t)product->count;
                for (unsigned j = 0; j < product->count; j++) {
                    ready &= known[product->factors[j]];
                    one.factors[j] = (uint8_t)product->factors[j];
                }
            }
            if (!ready || known[one.column]) continue;
            known[one.column] = more = true;
            one.line = piece->number_count;
            if (one.by && !add_numbers(this, &system->floors[i].of, 1)) return false;
            piece->derived[piece->derived_count++] = one;
        }
    }
    return piece->derived_count == all ||
           fm_isl_fail(this->work, FM_E_LIMIT, "no formula: a quotient of itself");
}

/* Columns that depend on one of the variables that are marked. */
static void mark_dependent(const fm_formula_piece *piece, bool *marked)
{
    for (size_t i = 0; i < piece->derived_count; i++) {
        const fm_derived *one = &piece->derived[i];
        for (unsigned j = 0; one->by && j < piece->columns; j++)
            if (piece->numbers[one->line + j] && marked[j]) marked[one->column] = true;
        for (unsigned j = 0; j < one->count; j++)
            if (marked[one->factors[j]]) marked[one->column] = true;
    }
}

/* The conditions of what is not marked. */
static bool add_shadow(making *this, const bool *marked, size_t *count)
{
    fm_counter_lines lines = {0};
    const bool done = fm_system_shadow(this->work, this->system, marked, &lines) && add_lines(this, &lines);
    *count += lines.count;
    free(lines.lines);
    return done;
}

/* What bounds a variable when those before it are known, and when only the parameters are: with products, as
 * far as they are known, and without. */
static bool add_shadows(making *this, unsigned variable)
{
    fm_formula_piece *piece = &this->piece;
    const unsigned first = piece->parameters, end = first + piece->variables;
    for (int alone = 0; alone < 2; alone++)
        for (int without = 0; without < 2; without++) {
            bool marked[FM_COLUMNS] = {false};
            size_t *count = alone ? &piece->alone_counts[variable] : &piece->shadow_counts[variable];
            for (unsigned i = first; i < end; i++)
                marked[i] = alone ? i != first + variable : i > first + variable;
            for (size_t i = 0; without && i < this->product_count; i++)
                marked[this->products[i].column] = true;
            mark_dependent(piece, marked);
            if (alone && piece->variables == 1) continue;
            if (without && !this->product_count) continue;
            if (!add_shadow(this, marked, count)) return false;
        }
    bool marked[FM_COLUMNS] = {false};
    for (unsigned i = first + variable + 1; i < piece->columns; i++) marked[i] = true;
    return add_shadow(this, marked, &piece->plain_counts[variable]);
}

static bool fits_64_bits(__int128 number)
{
    return number <= INT64_MAX && number >= -INT64_MAX;
}

static bool add_terms(making *this, const fm_poly *value)
{
    fm_quick_poly *made = &this->piece.value;
    bool fits = fm_quick_poly_create(made, value) && fits_64_bits(made->denominator);
    size_t left = 0;
    for (size_t i = 0; i < made->count && fits; i++) {
        fits = fits_64_bits(made->terms[i].factor);
        if (made->terms[i].factor) made->terms[left++] = made->terms[i];
    }
    made->count = left;
    return fits || fm_isl_fail(this->work, FM_E_LIMIT, "no formula: numbers beyond 64 bits");
}

bool fm_formula_add(fm_isl_work *work, fm_formula *formula, const fm_system *system, const fm_poly *value,
                    unsigned parameters, unsigned variables, const fm_product *products, size_t product_count)
{
    making this = {.work = work,
                   .system = system,
                   .products = products,
                   .product_count = product_count,
                   .piece = {.parameters = (uint8_t)parameters,
                             .variables = (uint8_t)variables,
                             .columns = (uint8_t)(system->kept + system->extra),
                             .equality_count = system->equalities.count,
                             .inequality_count = system->inequalities.count}};
    if (variables > FM_FORMULA_MOST_VARIABLES)
        return fm_isl_fail(work, FM_E_LIMIT, "no formula: distances depend on too many variables");
    bool done = add_terms(&this, value);
    if (done && this.piece.value.count == 0) { /* it never adds anything */
        formula_piece_clear(&this.piece);
        return true;
    }
    done = done && order_derived(&this) && add_lines(&this, &system->equalities) &&
           add_lines(&this, &system->inequalities);
    for (unsigned i = 0; i < variables && done; i++) done = add_shadows(&this, i);
    if (done && fm_array_reserve((void **)&formula->pieces, &formula->capacity, formula->count + 1,
                                 sizeof *formula->pieces))
        done = fm_isl_no_memory(work);
    if (done)
        formula->pieces[formula->count++] = this.piece;
    else
        formula_piece_clear(&this.piece);
    return done;
}

bool fm_formula_add_pieces(fm_isl_work *work, fm_formula *formula, const fm_pieces *pieces, int64_t times)
{
    bool done = true;
    for (size_t i = 0; i < pieces->count && done; i++) {
        const fm_counter_piece *piece = &pieces->pieces[i];
        fm_poly value = {0};
        fm_poly_add(&value, &piece->value, times, 1);
        done = value.failed
                   ? fm_isl_no_memory(work)
                   : fm_formula_add(work, formula, &piece->domain, &value, piece->domain.kept, 0, NULL, 0);
        fm_poly_clear(&value);
    }
    return done;
}

size_t fm_formula_quotients(const fm_formula_piece *piece)
{
    size_t quotients = 0;
    for (size_t i = 0; i < piece->derived_count; i++) quotients += piece->derived[i].by != 0;
    return quotients;
}

/* ---- smaller formulas ---- */

/*
 * Formulas made smaller (formula.h): conditions that always hold go, and pieces with the same conditions
 * become one.
 */

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
        a->number_count != b->number_count || a->value.denominator != b->value.denominator)
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
static bool join_pieces(fm_formula_piece *to, const fm_formula_piece *other)
{
    fm_quick_term *terms = fm_calloc(to->value.count + other->value.count + 1, sizeof *terms);
    size_t count = to->value.count;
    bool fits = terms != NULL;
    if (fits) memcpy(terms, to->value.terms, count * sizeof *terms);
    for (size_t i = 0; i < other->value.count && fits; i++) {
        const fm_quick_term *term = &other->value.terms[i];
        size_t at = 0;
        while (at < count &&
               (terms[at].count != term->count || memcmp(terms[at].variables, term->variables, term->count)))
            at++;
        if (at == count)
            terms[count++] = *term;
        else
            fits = fits_64_bits(terms[at].factor += term->factor);
    }
    if (!fits) {
        free(terms);
        return false;
    }
    size_t left = 0;
    for (size_t i = 0; i < count; i++)
        if (terms[i].factor) terms[left++] = terms[i];
    free(to->value.terms);
    to->value.terms = terms;
    to->value.count = left;
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
                               join_pieces(&formula->pieces[at], &formula->pieces[i])))
            at++;
        if (at < count)
            formula_piece_clear(&formula->pieces[i]);
        else
            formula->pieces[count++] = formula->pieces[i];
    }
    formula->count = count;
    for (size_t i = 0; i < formula->count;) { /* those that cancelled */
        if (formula->pieces[i].value.count) {
            i++;
            continue;
        }
        formula_piece_clear(&formula->pieces[i]);
        formula->pieces[i] = formula->pieces[--formula->count];
    }
}
