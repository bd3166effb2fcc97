/* SPDX-License-Identifier: Apache-2.0 */
/* polynomial.c - polynomials (polynomial.h). Few terms: they are searched one by one. */
#include "static/polyhedra/polynomial.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* Few terms: they are searched one by one. */

void fm_poly_clear(fm_poly *poly)
{
    for (size_t i = 0; i < poly->count; i++) mpq_clear(poly->terms[i].factor);
    free(poly->terms);
    memset(poly, 0, sizeof *poly);
}

static void add_term(fm_poly *poly, const uint8_t *powers, mpq_srcptr factor)
{
    if (mpq_sgn(factor) == 0) return;
    for (size_t i = 0; i < poly->count; i++) {
        fm_counter_term *term = &poly->terms[i];
        if (memcmp(term->powers, powers, sizeof term->powers)) continue;
        mpq_add(term->factor, term->factor, factor);
        if (mpq_sgn(term->factor) == 0) {
            mpq_clear(term->factor);
            *term = poly->terms[--poly->count];
        }
        return;
    }
    if (fm_array_reserve((void **)&poly->terms, &poly->capacity, poly->count + 1, sizeof *poly->terms)) {
        poly->failed = true;
        return;
    }
    fm_counter_term *term = &poly->terms[poly->count++];
    memcpy(term->powers, powers, sizeof term->powers);
    mpq_init(term->factor);
    mpq_set(term->factor, factor);
}

void fm_poly_add_number(fm_poly *poly, int64_t number)
{
    static const uint8_t none[FM_COLUMNS];
    mpq_t factor;
    mpq_init(factor);
    mpq_set_si(factor, number, 1);
    add_term(poly, none, factor);
    mpq_clear(factor);
}

static void add_scaled(fm_poly *poly, const fm_poly *other, mpq_srcptr scale)
{
    mpq_t factor;
    mpq_init(factor);
    poly->failed |= other->failed;
    for (size_t i = 0; i < other->count; i++) {
        mpq_mul(factor, other->terms[i].factor, scale);
        add_term(poly, other->terms[i].powers, factor);
    }
    mpq_clear(factor);
}

void fm_poly_add(fm_poly *poly, const fm_poly *other, int64_t numerator, int64_t denominator)
{
    mpq_t scale;
    mpq_init(scale);
    mpq_set_si(scale, numerator, (unsigned long)denominator);
    mpq_canonicalize(scale);
    add_scaled(poly, other, scale);
    mpq_clear(scale);
}

void fm_poly_add_line(fm_poly *poly, const fm_line *line, unsigned columns, int64_t numerator)
{
    mpq_t factor, scale;
    mpq_init(factor);
    mpq_init(scale);
    mpq_set_si(scale, numerator, 1);
    for (unsigned column = 0; column <= columns; column++) {
        int64_t number = line->at[column < columns ? column : FM_CONSTANT];
        if (!number) continue;
        uint8_t powers[FM_COLUMNS] = {0};
        if (column < columns) powers[column] = 1;
        mpq_set_si(factor, number, 1);
        mpq_mul(factor, factor, scale);
        add_term(poly, powers, factor);
    }
    mpq_clear(scale);
    mpq_clear(factor);
}

bool fm_poly_is_line(const fm_poly *poly)
{
    for (size_t i = 0; i < poly->count; i++) {
        unsigned degree = 0;
        for (unsigned j = 0; j < FM_COLUMNS; j++) degree += poly->terms[i].powers[j];
        if (degree > 1) return false;
    }
    return true;
}

fm_poly fm_poly_line_replaced(const fm_poly *poly, const fm_line *lines, unsigned columns)
{
    fm_poly result = {.failed = poly->failed};
    mpq_t factor;
    mpq_init(factor);
    for (size_t i = 0; i < poly->count; i++) {
        const fm_counter_term *term = &poly->terms[i];
        unsigned variable = 0;
        while (variable < FM_COLUMNS && !term->powers[variable]) variable++;
        if (variable == FM_COLUMNS) {
            add_term(&result, term->powers, term->factor);
            continue;
        }
        for (unsigned j = 0; j <= columns; j++) {
            uint8_t powers[FM_COLUMNS] = {0};
            int64_t number = lines[variable].at[j < columns ? j : FM_CONSTANT];
            if (!number) continue;
            if (j < columns) powers[j] = 1;
            mpq_set_si(factor, number, 1);
            mpq_mul(factor, factor, term->factor);
            add_term(&result, powers, factor);
        }
    }
    mpq_clear(factor);
    return result;
}

fm_poly fm_poly_copy(const fm_poly *poly)
{
    fm_poly copy = {.failed = poly->failed};
    if (!poly->count) return copy;
    if (fm_array_reserve((void **)&copy.terms, &copy.capacity, poly->count, sizeof *copy.terms)) {
        copy.failed = true;
        return copy;
    }
    for (; copy.count < poly->count; copy.count++) {
        memcpy(copy.terms[copy.count].powers, poly->terms[copy.count].powers, FM_COLUMNS);
        mpq_init(copy.terms[copy.count].factor);
        mpq_set(copy.terms[copy.count].factor, poly->terms[copy.count].factor);
    }
    return copy;
}

fm_poly fm_poly_product(const fm_poly *left, const fm_poly *right)
{
    fm_poly product = {.failed = left->failed || right->failed};
    mpq_t factor;
    mpq_init(factor);
    for (size_t i = 0; i < left->count; i++)
        for (size_t j = 0; j < right->count; j++) {
            uint8_t powers[FM_COLUMNS];
            for (unsigned k = 0; k < FM_COLUMNS; k++) {
                unsigned power = (unsigned)left->terms[i].powers[k] + right->terms[j].powers[k];
                if (power > FM_MOST_DEGREE) product.failed = true;
                powers[k] = (uint8_t)power;
            }
            mpq_mul(factor, left->terms[i].factor, right->terms[j].factor);
            add_term(&product, powers, factor);
        }
    mpq_clear(factor);
    return product;
}

static unsigned degree_in(const fm_poly *poly, unsigned variable)
{
    unsigned degree = 0;
    for (size_t i = 0; i < poly->count; i++)
        if (poly->terms[i].powers[variable] > degree) degree = poly->terms[i].powers[variable];
    return degree;
}

bool fm_poly_uses(const fm_poly *poly, unsigned variable)
{
    return degree_in(poly, variable) > 0;
}

/* powers[0 … degree] of a polynomial. */
static void make_powers(const fm_poly *poly, unsigned degree, fm_poly *powers)
{
    memset(powers, 0, (degree + 1) * sizeof *powers);
    fm_poly_add_number(&powers[0], 1);
    for (unsigned i = 1; i <= degree; i++) powers[i] = fm_poly_product(&powers[i - 1], poly);
}

/* The part of the polynomial that has that power of the variable, without it. */
static fm_poly factor_of(const fm_poly *poly, unsigned variable, unsigned power)
{
    fm_poly part = {.failed = poly->failed};
    for (size_t i = 0; i < poly->count; i++) {
        if (poly->terms[i].powers[variable] != power) continue;
        uint8_t powers[FM_COLUMNS];
        memcpy(powers, poly->terms[i].powers, sizeof powers);
        powers[variable] = 0;
        add_term(&part, powers, poly->terms[i].factor);
    }
    return part;
}

fm_poly fm_poly_replaced(const fm_poly *poly, unsigned variable, const fm_poly *by)
{
    fm_poly powers[FM_MOST_DEGREE + 1], result = {.failed = poly->failed || by->failed};
    unsigned degree = degree_in(poly, variable);
    make_powers(by, degree, powers);
    for (unsigned i = 0; i <= degree; i++) {
        fm_poly part = factor_of(poly, variable, i);
        if (part.count) {
            fm_poly product = fm_poly_product(&part, &powers[i]);
            fm_poly_add(&result, &product, 1, 1);
            fm_poly_clear(&product);
        }
        fm_poly_clear(&part);
        fm_poly_clear(&powers[i]);
    }
    return result;
}

/*
 * Factors of n^1 … n^(power + 1) in 1^power + 2^power + … + n^power: they solve S(n) - S(n - 1) = n^power,
 * from the highest on: the factor of n^j on the left is the sum over i > j of s[i] * C(i, j) * (-1)^(i - j +
 * 1).
 */
static void sum_factors(unsigned power, mpq_t *factors)
{
    mpq_t part, binomial;
    mpq_init(part);
    mpq_init(binomial);
    for (unsigned j = power + 1; j-- > 0;) {
        mpq_t *factor = &factors[j + 1];
        mpq_set_si(*factor, j == power, 1);
        for (unsigned i = j + 2; i <= power + 1; i++) {
            mpz_bin_uiui(mpq_numref(binomial), i, j);
            mpz_set_ui(mpq_denref(binomial), 1);
            mpq_mul(part, factors[i], binomial);
            if ((i - j) % 2)
                mpq_sub(*factor, *factor, part);
            else
                mpq_add(*factor, *factor, part);
        }
        mpq_set_si(part, j + 1, 1);
        mpq_div(*factor, *factor, part);
    }
    mpq_clear(binomial);
    mpq_clear(part);
}

fm_poly fm_poly_sum(const fm_poly *poly, unsigned variable, const fm_poly *first, const fm_poly *last)
{
    fm_poly result = {.failed = poly->failed || first->failed || last->failed};
    unsigned degree = degree_in(poly, variable);
    if (degree + 1 > FM_MOST_DEGREE) {
        result.failed = true;
        return result;
    }
    fm_poly before = fm_poly_copy(first), upper[FM_MOST_DEGREE + 1], lower[FM_MOST_DEGREE + 1];
    mpq_t factors[FM_MOST_DEGREE + 2], minus;
    fm_poly_add_number(&before, -1);
    make_powers(last, degree + 1, upper);
    make_powers(&before, degree + 1, lower);
    for (unsigned i = 0; i < degree + 2; i++) mpq_init(factors[i]);
    mpq_init(minus);
    for (unsigned power = 0; power <= degree; power++) {
        fm_poly part = factor_of(poly, variable, power), sum = {0};
        if (part.count) {
            sum_factors(power, factors);
            for (unsigned j = 1; j <= power + 1; j++) {
                add_scaled(&sum, &upper[j], factors[j]);
                mpq_neg(minus, factors[j]);
                add_scaled(&sum, &lower[j], minus);
            }
            fm_poly product = fm_poly_product(&part, &sum);
            fm_poly_add(&result, &product, 1, 1);
            fm_poly_clear(&product);
        }
        fm_poly_clear(&part);
        fm_poly_clear(&sum);
    }
    mpq_clear(minus);
    for (unsigned i = 0; i < degree + 2; i++) {
        mpq_clear(factors[i]);
        fm_poly_clear(&upper[i]);
        fm_poly_clear(&lower[i]);
    }
    fm_poly_clear(&before);
    return result;
}

void fm_poly_insert_variable(fm_poly *poly, unsigned variable)
{
    for (size_t i = 0; i < poly->count; i++) {
        uint8_t *powers = poly->terms[i].powers;
        memmove(powers + variable + 1, powers + variable, FM_COLUMNS - 1 - variable);
        powers[variable] = 0;
    }
}

void fm_poly_drop_variable(fm_poly *poly, unsigned variable)
{
    for (size_t i = 0; i < poly->count; i++) {
        uint8_t *powers = poly->terms[i].powers;
        memmove(powers + variable, powers + variable + 1, FM_COLUMNS - 1 - variable);
        powers[FM_COLUMNS - 1] = 0;
    }
}

/* ---- quick evaluation ---- */

static bool number_of(mpz_srcptr big, __int128 *number)
{
    if (mpz_sizeinbase(big, 2) > 100) return false;
    uint64_t words[2] = {0, 0};
    size_t count;
    mpz_export(words, &count, -1, sizeof words[0], 0, 0, big);
    *number = (__int128)words[1] << 64 | words[0];
    if (mpz_sgn(big) < 0) *number = -*number;
    return true;
}

bool fm_quick_poly_create(fm_quick_poly *quick, const fm_poly *poly)
{
    bool fits = true;
    mpz_t denominator, factor;
    *quick = (fm_quick_poly){.terms = fm_calloc(poly->count + 1, sizeof *quick->terms)};
    if (!quick->terms) return false;
    mpz_init_set_ui(denominator, 1);
    mpz_init(factor);
    for (size_t i = 0; i < poly->count; i++)
        mpz_lcm(denominator, denominator, mpq_denref(poly->terms[i].factor));
    fits = number_of(denominator, &quick->denominator);
    for (size_t i = 0; i < poly->count && fits; i++) {
        fm_quick_term *term = &quick->terms[quick->count++];
        mpz_divexact(factor, denominator, mpq_denref(poly->terms[i].factor));
        mpz_mul(factor, factor, mpq_numref(poly->terms[i].factor));
        fits = number_of(factor, &term->factor);
        for (unsigned v = 0; v < FM_COLUMNS && fits; v++)
            for (unsigned k = 0; k < poly->terms[i].powers[v] && fits; k++)
                if (term->count == FM_MOST_DEGREE)
                    fits = false;
                else
                    term->variables[term->count++] = (uint8_t)v;
    }
    mpz_clear(factor);
    mpz_clear(denominator);
    if (!fits) fm_quick_poly_clear(quick);
    return fits;
}

void fm_quick_poly_clear(fm_quick_poly *quick)
{
    free(quick->terms);
    *quick = (fm_quick_poly){0};
}

bool fm_quick_poly_wide(const fm_quick_poly *quick, const int64_t *values, __int128 *value)
{
    __int128 sum = 0;
    for (size_t i = 0; i < quick->count; i++) {
        __int128 product = quick->terms[i].factor;
        for (unsigned k = 0; k < quick->terms[i].count; k++)
            if (__builtin_mul_overflow(product, (__int128)values[quick->terms[i].variables[k]], &product))
                return false;
        if (__builtin_add_overflow(sum, product, &sum)) return false;
    }
    if (quick->denominator != 1) {
        if (sum % quick->denominator) return false;
        sum /= quick->denominator;
    }
    *value = sum;
    return true;
}

bool fm_quick_poly_value(const fm_quick_poly *quick, const int64_t *values, int64_t *value)
{
    __int128 wide;
    if (!fm_quick_poly_wide(quick, values, &wide)) return false;
    *value = (int64_t)wide;
    return *value == wide;
}

/* ---- for people ---- */

static bool whole_number(mpq_srcptr factor, int64_t *number)
{
    if (mpz_cmp_ui(mpq_denref(factor), 1) != 0 || !mpz_fits_slong_p(mpq_numref(factor))) return false;
    *number = mpz_get_si(mpq_numref(factor));
    return true;
}

bool fm_poly_is_number(const fm_poly *poly, int64_t *number)
{
    *number = 0;
    if (poly->failed || poly->count > 1) return false;
    return poly->count == 0 ||
           (fm_term_degree(&poly->terms[0]) == 0 && whole_number(poly->terms[0].factor, number));
}

bool fm_poly_affine_in(const fm_poly *poly, unsigned variable, int64_t *factor)
{
    *factor = 0;
    for (size_t i = 0; i < poly->count; i++) {
        const fm_counter_term *term = &poly->terms[i];
        if (term->powers[variable] == 0) continue;
        if (fm_term_degree(term) != 1 || !whole_number(term->factor, factor)) return false;
    }
    return !poly->failed;
}

static int compare_terms(const void *left, const void *right)
{
    const fm_counter_term *a = left, *b = right;
    unsigned of_a = fm_term_degree(a), of_b = fm_term_degree(b);
    if (of_a != of_b) return of_a > of_b ? -1 : 1;
    return -memcmp(a->powers, b->powers, FM_COLUMNS);
}

/* The term times the divisor, which makes it whole. */
static void write_term(FILE *out, const fm_counter_term *term, mpz_srcptr divisor, const char *const *names,
                       bool first)
{
    mpz_t factor;
    mpz_init(factor);
    mpz_divexact(factor, divisor, mpq_denref(term->factor));
    mpz_mul(factor, factor, mpq_numref(term->factor));
    if (mpz_sgn(factor) < 0)
        fputs(first ? "-" : " - ", out);
    else if (!first)
        fputs(" + ", out);
    mpz_abs(factor, factor);
    bool written = mpz_cmp_ui(factor, 1) != 0 || fm_term_degree(term) == 0;
    if (written) mpz_out_str(out, 10, factor);
    mpz_clear(factor);
    for (unsigned i = 0; i < FM_COLUMNS; i++) {
        if (term->powers[i] == 0) continue;
        fprintf(out, "%s%s", written ? "*" : "", names[i]);
        if (term->powers[i] > 1) fprintf(out, "^%u", term->powers[i]);
        written = true;
    }
}

void fm_poly_write(FILE *out, fm_poly *poly, const char *const *names)
{
    mpz_t divisor;
    mpz_init_set_ui(divisor, 1);
    for (size_t i = 0; i < poly->count; i++) mpz_lcm(divisor, divisor, mpq_denref(poly->terms[i].factor));
    bool divided = mpz_cmp_ui(divisor, 1) != 0, wrapped = divided && poly->count > 1;
    if (poly->count == 0) fputc('0', out);
    if (poly->count > 1) qsort(poly->terms, poly->count, sizeof *poly->terms, compare_terms);
    if (wrapped) fputc('(', out);
    for (size_t i = 0; i < poly->count; i++) write_term(out, &poly->terms[i], divisor, names, i == 0);
    if (wrapped) fputc(')', out);
    if (divided) {
        fputc('/', out);
        mpz_out_str(out, 10, divisor);
    }
    mpz_clear(divisor);
}
