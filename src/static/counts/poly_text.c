/* SPDX-License-Identifier: Apache-2.0 */
/* poly_text.c - see poly_text.h. */
#include "static/counts/poly_text.h"

#include <stdlib.h>
#include <string.h>

static unsigned degree_of(const fm_counter_term *term)
{
    unsigned sum = 0;
    for (unsigned i = 0; i < FM_COLUMNS; i++) sum += term->powers[i];
    return sum;
}

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
           (degree_of(&poly->terms[0]) == 0 && whole_number(poly->terms[0].factor, number));
}

bool fm_poly_affine_in(const fm_poly *poly, unsigned variable, int64_t *factor)
{
    *factor = 0;
    for (size_t i = 0; i < poly->count; i++) {
        const fm_counter_term *term = &poly->terms[i];
        if (term->powers[variable] == 0) continue;
        if (degree_of(term) != 1 || !whole_number(term->factor, factor)) return false;
    }
    return !poly->failed;
}

static int compare_terms(const void *left, const void *right)
{
    const fm_counter_term *a = left, *b = right;
    unsigned of_a = degree_of(a), of_b = degree_of(b);
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
    bool written = mpz_cmp_ui(factor, 1) != 0 || degree_of(term) == 0;
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
