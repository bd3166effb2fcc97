/* SPDX-License-Identifier: Apache-2.0 */
/* polynomial.c - see polynomial.h. */
#include "static/polynomial.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_POWER = 60, MOST_TERMS = 4096 };

static __int128 gcd(__int128 a, __int128 b)
{
    while (b) {
        __int128 rest = a % b;
        a = b;
        b = rest;
    }
    return a < 0 ? -a : a;
}

void fm_polynomial_clear(fm_polynomial *polynomial)
{
    free(polynomial->terms);
    *polynomial = (fm_polynomial){.divisor = 1};
}

/* Ends a computation: the result becomes what was made, or 0. */
static bool finish(fm_polynomial *result, fm_polynomial *made, bool right)
{
    if (right) { /* divide by what all share */
        __int128 common = made->divisor;
        for (size_t i = 0; i < made->count; i++) common = gcd(common, made->terms[i].factor);
        for (size_t i = 0; i < made->count && common > 1; i++) made->terms[i].factor /= common;
        if (common > 1) made->divisor /= common;
        if (made->count == 0) made->divisor = 1;
    } else {
        fm_polynomial_clear(made);
    }
    fm_polynomial_clear(result);
    *result = *made;
    return right;
}

static bool add_term(fm_polynomial *to, const uint8_t *powers, __int128 factor)
{
    if (factor == 0) return true;
    for (size_t i = 0; i < to->count; i++) {
        if (memcmp(to->terms[i].powers, powers, FM_MOST_SYMBOLS) != 0) continue;
        if (__builtin_add_overflow(to->terms[i].factor, factor, &to->terms[i].factor)) return false;
        if (to->terms[i].factor == 0) to->terms[i] = to->terms[--to->count];
        return true;
    }
    if (to->count == MOST_TERMS ||
        fm_array_reserve((void **)&to->terms, &to->room, to->count + 1, sizeof *to->terms) != 0)
        return false;
    memcpy(to->terms[to->count].powers, powers, FM_MOST_SYMBOLS);
    to->terms[to->count++].factor = factor;
    return true;
}

bool fm_polynomial_number(fm_polynomial *result, int64_t number)
{
    fm_polynomial made = {.divisor = 1};
    static const uint8_t none[FM_MOST_SYMBOLS];
    bool right = add_term(&made, none, number);
    return finish(result, &made, right);
}

bool fm_polynomial_symbol(fm_polynomial *result, unsigned symbol)
{
    fm_polynomial made = {.divisor = 1};
    uint8_t powers[FM_MOST_SYMBOLS] = {0};
    if (symbol < FM_MOST_SYMBOLS) powers[symbol] = 1;
    bool right = symbol < FM_MOST_SYMBOLS && add_term(&made, powers, 1);
    return finish(result, &made, right);
}

bool fm_polynomial_copy(fm_polynomial *result, const fm_polynomial *from)
{
    return fm_polynomial_scale(result, from, 1);
}

/* to += from * factor, where to has a divisor already. */
static bool add_scaled(fm_polynomial *to, const fm_polynomial *from, __int128 factor)
{
    for (size_t i = 0; i < from->count; i++) {
        __int128 product;
        if (__builtin_mul_overflow(from->terms[i].factor, factor, &product) ||
            !add_term(to, from->terms[i].powers, product))
            return false;
    }
    return true;
}

bool fm_polynomial_scale(fm_polynomial *result, const fm_polynomial *from, int64_t factor)
{
    fm_polynomial made = {.divisor = from->divisor};
    bool right = add_scaled(&made, from, factor);
    return finish(result, &made, right);
}

bool fm_polynomial_add(fm_polynomial *result, const fm_polynomial *left, const fm_polynomial *right)
{
    fm_polynomial made = {.divisor = 1};
    __int128 common = gcd(left->divisor, right->divisor), to_left = right->divisor / common;
    bool fits = !__builtin_mul_overflow(left->divisor, to_left, &made.divisor) &&
                add_scaled(&made, left, to_left) && add_scaled(&made, right, left->divisor / common);
    return finish(result, &made, fits);
}

bool fm_polynomial_multiply(fm_polynomial *result, const fm_polynomial *left, const fm_polynomial *right)
{
    fm_polynomial made = {.divisor = 1};
    bool fits = !__builtin_mul_overflow(left->divisor, right->divisor, &made.divisor);
    for (size_t i = 0; i < left->count && fits; i++)
        for (size_t k = 0; k < right->count && fits; k++) {
            uint8_t powers[FM_MOST_SYMBOLS];
            __int128 factor;
            for (unsigned s = 0; s < FM_MOST_SYMBOLS; s++) {
                powers[s] = (uint8_t)(left->terms[i].powers[s] + right->terms[k].powers[s]);
                fits &= powers[s] <= MOST_POWER;
            }
            fits = fits && !__builtin_mul_overflow(left->terms[i].factor, right->terms[k].factor, &factor) &&
                   add_term(&made, powers, factor);
        }
    return finish(result, &made, fits);
}

/* What stands beside symbol^power. */
static bool beside(fm_polynomial *result, const fm_polynomial *from, unsigned symbol, unsigned power)
{
    fm_polynomial made = {.divisor = from->divisor};
    bool fits = true;
    for (size_t i = 0; i < from->count && fits; i++) {
        uint8_t powers[FM_MOST_SYMBOLS];
        if (from->terms[i].powers[symbol] != power) continue;
        memcpy(powers, from->terms[i].powers, sizeof powers);
        powers[symbol] = 0;
        fits = add_term(&made, powers, from->terms[i].factor);
    }
    return finish(result, &made, fits);
}

static unsigned degree_in(const fm_polynomial *polynomial, unsigned symbol)
{
    unsigned most = 0;
    for (size_t i = 0; i < polynomial->count; i++)
        if (polynomial->terms[i].powers[symbol] > most) most = polynomial->terms[i].powers[symbol];
    return most;
}

bool fm_polynomial_replace(fm_polynomial *result, const fm_polynomial *from, unsigned symbol,
                           const fm_polynomial *by)
{
    fm_polynomial made = {.divisor = 1}, part = {.divisor = 1};
    bool fits = true;
    for (unsigned power = degree_in(from, symbol) + 1; power-- > 0 && fits;) /* Horner's way */
        fits = fm_polynomial_multiply(&made, &made, by) && beside(&part, from, symbol, power) &&
               fm_polynomial_add(&made, &made, &part);
    fm_polynomial_clear(&part);
    return finish(result, &made, fits);
}

/*
 * The sum of k^power for k from 0 to `symbol`, as a polynomial of it: from
 * (x+1)^(p+1) = sum over j <= p of binomial(p+1, j) S_j(x), solved for S_p.
 */
static bool power_sum(fm_polynomial *result, unsigned symbol, unsigned power)
{
    fm_polynomial made = {.divisor = 1}, next = {.divisor = 1}, lower = {.divisor = 1};
    bool fits = fm_polynomial_symbol(&next, symbol) && fm_polynomial_number(&made, 1) &&
                fm_polynomial_add(&next, &next, &made);
    for (unsigned i = 0; i <= power && fits; i++) fits = fm_polynomial_multiply(&made, &made, &next);
    int64_t binomial = 1; /* of power + 1 over j */
    for (unsigned j = 0; j < power && fits; j++) {
        fits = power_sum(&lower, symbol, j) && fm_polynomial_scale(&lower, &lower, -binomial) &&
               fm_polynomial_add(&made, &made, &lower);
        binomial = binomial * (power + 1 - j) / (j + 1);
    }
    /* 0^0 is 1, so that S_0(x) = x + 1 and nothing is to be taken off for the sum's beginning. */
    if (fits) fits = !__builtin_mul_overflow(made.divisor, (__int128)(power + 1), &made.divisor);
    fm_polynomial_clear(&next);
    fm_polynomial_clear(&lower);
    return finish(result, &made, fits);
}

bool fm_polynomial_sum(fm_polynomial *result, const fm_polynomial *from, unsigned symbol,
                       const fm_polynomial *first, const fm_polynomial *last)
{
    fm_polynomial made = {.divisor = 1}, part = {.divisor = 1}, sums = {.divisor = 1}, at = {.divisor = 1},
                  before = {.divisor = 1};
    unsigned degree = degree_in(from, symbol);
    bool fits =
        degree <= 12 && fm_polynomial_number(&before, -1) && fm_polynomial_add(&before, &before, first);
    for (unsigned power = 0; power <= degree && fits; power++) {
        fits = beside(&part, from, symbol, power) && power_sum(&sums, symbol, power) &&
               fm_polynomial_replace(&at, &sums, symbol, last) &&
               fm_polynomial_replace(&sums, &sums, symbol, &before) &&
               fm_polynomial_scale(&sums, &sums, -1) && fm_polynomial_add(&at, &at, &sums) &&
               fm_polynomial_multiply(&part, &part, &at) && fm_polynomial_add(&made, &made, &part);
    }
    fm_polynomial_clear(&part);
    fm_polynomial_clear(&sums);
    fm_polynomial_clear(&at);
    fm_polynomial_clear(&before);
    return finish(result, &made, fits);
}

bool fm_polynomial_value(const fm_polynomial *polynomial, const int64_t *values, int64_t *value)
{
    __int128 sum = 0;
    for (size_t i = 0; i < polynomial->count; i++) {
        __int128 product = polynomial->terms[i].factor;
        for (unsigned s = 0; s < FM_MOST_SYMBOLS; s++)
            for (unsigned k = 0; k < polynomial->terms[i].powers[s]; k++)
                if (__builtin_mul_overflow(product, (__int128)values[s], &product)) return false;
        if (__builtin_add_overflow(sum, product, &sum)) return false;
    }
    if (sum % polynomial->divisor != 0) return false;
    sum /= polynomial->divisor;
    *value = (int64_t)sum;
    return sum == *value;
}

bool fm_polynomial_is_number(const fm_polynomial *polynomial, int64_t *number)
{
    static const int64_t nothing[FM_MOST_SYMBOLS];
    for (size_t i = 0; i < polynomial->count; i++)
        for (unsigned s = 0; s < FM_MOST_SYMBOLS; s++)
            if (polynomial->terms[i].powers[s]) return false;
    return fm_polynomial_value(polynomial, nothing, number);
}

bool fm_polynomial_affine_in(const fm_polynomial *polynomial, unsigned symbol, int64_t *factor)
{
    *factor = 0;
    if (polynomial->divisor != 1) return false;
    for (size_t i = 0; i < polynomial->count; i++) {
        const fm_term *term = &polynomial->terms[i];
        if (term->powers[symbol] == 0) continue;
        for (unsigned s = 0; s < FM_MOST_SYMBOLS; s++)
            if (term->powers[s] != (s == symbol)) return false;
        *factor = (int64_t)term->factor;
        if (*factor != term->factor) return false;
    }
    return true;
}

/* ---- text ---- */

static unsigned degree_of(const fm_term *term)
{
    unsigned sum = 0;
    for (unsigned s = 0; s < FM_MOST_SYMBOLS; s++) sum += term->powers[s];
    return sum;
}

static int compare_terms(const void *left, const void *right)
{
    const fm_term *a = left, *b = right;
    unsigned of_a = degree_of(a), of_b = degree_of(b);
    if (of_a != of_b) return of_a > of_b ? -1 : 1;
    return -memcmp(a->powers, b->powers, FM_MOST_SYMBOLS);
}

static void write_whole(FILE *out, __int128 number)
{
    char digits[48];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + (int)(number % 10));
        number /= 10;
    } while (number > 0);
    fwrite(digits + at, 1, sizeof digits - at, out);
}

static void write_term(FILE *out, const fm_term *term, const char *const *names, bool first)
{
    __int128 factor = term->factor;
    if (factor < 0)
        fputs(first ? "-" : " - ", out);
    else if (!first)
        fputs(" + ", out);
    if (factor < 0) factor = -factor;
    bool written = factor != 1 || degree_of(term) == 0;
    if (written) write_whole(out, factor);
    for (unsigned s = 0; s < FM_MOST_SYMBOLS; s++) {
        if (term->powers[s] == 0) continue;
        fprintf(out, "%s%s", written ? "*" : "", names[s]);
        if (term->powers[s] > 1) fprintf(out, "^%u", term->powers[s]);
        written = true;
    }
}

void fm_polynomial_write(FILE *out, fm_polynomial *polynomial, const char *const *names)
{
    bool wrapped = polynomial->divisor != 1 && polynomial->count > 1;
    if (polynomial->count == 0) fputc('0', out);
    if (polynomial->count > 1) qsort(polynomial->terms, polynomial->count, sizeof(fm_term), compare_terms);
    if (wrapped) fputc('(', out);
    for (size_t i = 0; i < polynomial->count; i++) write_term(out, &polynomial->terms[i], names, i == 0);
    if (wrapped) fputc(')', out);
    if (polynomial->divisor != 1) {
        fputc('/', out);
        write_whole(out, polynomial->divisor);
    }
}
