/* SPDX-License-Identifier: Apache-2.0 */
/*
 * formula_text.c - formulas for people: one polynomial for large parameters. What adds to a number at one
 * large point is summed up, with the parameters left open; from where on the sum is right is then found out
 * by comparing it with the exact number at many points. It is a description: values are never computed by
 * it.
 */
#include "static/symbolic/symbolic.h"

#include "base/crew.h"
#include "base/memory.h"
#include "static/polyhedra/polyhedra.h"
#include "static/polyhedra/polynomial.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ATOMS = 24, MOST_POINTS = 20000, TRIALS = 48, LARGE_BITS = 22 };

/* Columns of a description: parameters as they are (n, not x), then quotients of them. */
typedef struct description {
    const fm_symbolic *symbolic;
    fm_poly sum;
    size_t atom_count, points;
    struct {
        fm_poly of; /* whole factors */
        int64_t by;
    } atoms[MOST_ATOMS];
    bool failed;
} description;

static void clear_description(description *this)
{
    fm_poly_clear(&this->sum);
    for (size_t i = 0; i < this->atom_count; i++) fm_poly_clear(&this->atoms[i].of);
}

static fm_poly number_poly(int64_t number)
{
    fm_poly poly = {0};
    if (number) fm_poly_add_number(&poly, number);
    return poly;
}

static fm_poly column_poly(unsigned column)
{
    fm_poly poly = {0};
    fm_line line = {{0}};
    line.at[column] = 1;
    fm_poly_add_line(&poly, &line, column + 1, 1);
    return poly;
}

/* x = (n - remainder) / modulus */
static fm_poly parameter_poly(const description *this, unsigned parameter)
{
    fm_poly value = column_poly(parameter), scaled = {0};
    fm_poly_add_number(&value, -this->symbolic->parameters[parameter].remainder);
    fm_poly_add(&scaled, &value, 1, this->symbolic->parameters[parameter].modulus);
    fm_poly_clear(&value);
    return scaled;
}

static bool constant_of(const fm_poly *poly, mpq_t constant, bool *only)
{
    mpq_set_si(constant, 0, 1);
    *only = true;
    for (size_t i = 0; i < poly->count; i++) {
        unsigned degree = 0;
        for (unsigned k = 0; k < FM_COLUMNS; k++) degree += poly->terms[i].powers[k];
        if (degree == 0)
            mpq_set(constant, poly->terms[i].factor);
        else if (mpq_sgn(poly->terms[i].factor))
            *only = false;
    }
    return !poly->failed;
}

/* The dividend and the divisor times the common denominator of the dividend. */
static bool make_whole(fm_poly *of, int64_t *by)
{
    mpz_t common;
    mpz_init_set_si(common, 1);
    for (size_t i = 0; i < of->count; i++) mpz_lcm(common, common, mpq_denref(of->terms[i].factor));
    bool fits = mpz_fits_slong_p(common) && !__builtin_mul_overflow(*by, mpz_get_si(common), by);
    if (fits) {
        fm_poly whole = {0};
        fm_poly_add(&whole, of, mpz_get_si(common), 1);
        fm_poly_clear(of);
        *of = whole;
    }
    mpz_clear(common);
    return fits && !of->failed;
}

static bool same_poly(const fm_poly *left, const fm_poly *right)
{
    fm_poly difference = fm_poly_copy(left);
    fm_poly_add(&difference, right, -1, 1);
    bool same = !difference.failed;
    for (size_t i = 0; i < difference.count; i++) same &= mpq_sgn(difference.terms[i].factor) == 0;
    fm_poly_clear(&difference);
    return same;
}

/* floor(of / by): a number, or a new column. Takes `of`. */
static fm_poly quotient_poly(description *this, fm_poly *of, int64_t by)
{
    fm_poly result = {0};
    mpq_t constant;
    bool only;
    mpq_init(constant);
    if (!constant_of(of, constant, &only)) this->failed = true;
    if (only && mpz_cmp_si(mpq_denref(constant), 1) == 0 && mpz_fits_slong_p(mpq_numref(constant))) {
        result = number_poly(fm_floor_divide(mpz_get_si(mpq_numref(constant)), by));
    } else if (make_whole(of, &by)) {
        size_t at = 0;
        while (at < this->atom_count && (this->atoms[at].by != by || !same_poly(&this->atoms[at].of, of)))
            at++;
        if (at == MOST_ATOMS) {
            this->failed = true;
        } else {
            if (at == this->atom_count) {
                this->atoms[this->atom_count].of = fm_poly_copy(of);
                this->atoms[this->atom_count++].by = by;
            }
            result = column_poly(this->symbolic->parameter_count + (unsigned)at);
        }
    } else {
        this->failed = true;
    }
    mpq_clear(constant);
    fm_poly_clear(of);
    return result;
}

static fm_poly line_poly(const fm_formula_piece *piece, const int64_t *line, const fm_poly *columns)
{
    fm_poly sum = number_poly(line[piece->columns]);
    for (unsigned i = 0; i < piece->columns; i++)
        if (line[i]) fm_poly_add(&sum, &columns[i], line[i], 1);
    return sum;
}

static fm_poly product_poly(const uint8_t *factors, unsigned count, const fm_poly *columns)
{
    fm_poly product = number_poly(1);
    for (unsigned i = 0; i < count; i++) {
        fm_poly next = fm_poly_product(&product, &columns[factors[i]]);
        fm_poly_clear(&product);
        product = next;
    }
    return product;
}

/* What a piece adds at a point: variables are numbers there, parameters stay open. */
static bool add_open(void *context, const fm_formula_piece *piece, const int64_t *at)
{
    description *this = context;
    fm_poly columns[FM_COLUMNS] = {{0}};
    if (++this->points > MOST_POINTS) return false;
    for (unsigned i = 0; i < (unsigned)piece->parameters + piece->variables; i++)
        columns[i] = i < piece->parameters ? parameter_poly(this, i) : number_poly(at[i]);
    for (size_t i = 0; i < piece->derived_count && !this->failed; i++) {
        const fm_derived *one = &piece->derived[i];
        fm_poly of = {0};
        if (one->by) of = line_poly(piece, &piece->numbers[one->line], columns);
        columns[one->column] =
            one->by ? quotient_poly(this, &of, one->by) : product_poly(one->factors, one->count, columns);
    }
    for (size_t i = 0; i < piece->value.count && !this->failed; i++) {
        const fm_quick_term *term = &piece->value.terms[i];
        fm_poly product = product_poly(term->variables, term->count, columns);
        fm_poly_add(&this->sum, &product, (int64_t)term->factor, (int64_t)piece->value.denominator);
        fm_poly_clear(&product);
    }
    for (unsigned i = 0; i < FM_COLUMNS; i++) {
        this->failed |= columns[i].failed;
        fm_poly_clear(&columns[i]);
    }
    return !this->failed && !this->sum.failed;
}

/* ---- from where on ---- */

typedef struct comparing {
    const fm_symbolic *symbolic;
    size_t index; /* of the formula */
    const description *text;
    fm_quick_poly sum, atoms[MOST_ATOMS];
    fm_static_random random;
    double deadline;
} comparing;

static bool text_value(const comparing *this, const int64_t *values, int64_t *value)
{
    int64_t at[FM_COLUMNS] = {0};
    const unsigned count = this->symbolic->parameter_count;
    memcpy(at, values, count * sizeof at[0]);
    for (size_t i = 0; i < this->text->atom_count; i++) {
        int64_t of;
        if (!fm_quick_poly_value(&this->atoms[i], at, &of)) return false;
        at[count + i] = fm_floor_divide(of, this->text->atoms[i].by);
    }
    return fm_quick_poly_value(&this->sum, at, value);
}

static int64_t value_from(const fm_symbolic *symbolic, unsigned parameter, int64_t from)
{
    const int64_t least = symbolic->parameters[parameter].least,
                  modulus = symbolic->parameters[parameter].modulus;
    return from <= least ? least : least - fm_floor_divide(least - from, modulus) * modulus;
}

/* Is it right at the corner, and at some points behind it? */
static bool right_from(comparing *this, const int64_t *from)
{
    const fm_symbolic *symbolic = this->symbolic;
    for (int trial = 0; trial < TRIALS; trial++) {
        int64_t values[FM_OPEN_MOST] = {0}, x[FM_OPEN_MOST], exact, text;
        for (unsigned i = 0; i < symbolic->parameter_count; i++) {
            const uint64_t room = (uint64_t)1 << (fm_static_random_next(&this->random) % 16);
            const int64_t more = trial ? (int64_t)fm_static_random_below(&this->random, room) : 0;
            values[i] = value_from(symbolic, i, from[i] + more);
        }
        fm_symbolic_quotients(symbolic, values, x);
        if (fm_now() > this->deadline ||
            fm_symbolic_number(symbolic, this->index, x, &exact) != FM_FORMULA_OK)
            return false;
        if (!text_value(this, values, &text) || text != exact) return false;
    }
    return true;
}

/* Lowers from[first … last - 1], all of the same value, which it is right for, as far as it stays right. */
static void lower_from(comparing *this, int64_t *from, unsigned first, unsigned last)
{
    int64_t low = 0, high = from[first];
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        for (unsigned i = first; i < last; i++) from[i] = middle;
        if (right_from(this, from))
            high = middle;
        else
            low = middle;
    }
    for (unsigned i = first; i < last; i++) from[i] = high;
}

/* The smallest such numbers: first one for all parameters, then for each of them. False: none was found. */
static bool find_from(comparing *this, int64_t *from)
{
    const unsigned count = this->symbolic->parameter_count;
    for (int64_t all = 1; all <= (int64_t)1 << LARGE_BITS; all *= 2) {
        for (unsigned i = 0; i < count; i++) from[i] = all;
        if (fm_now() > this->deadline) return false;
        if (!right_from(this, from)) continue;
        lower_from(this, from, 0, count);
        for (unsigned i = 0; i < count && count > 1; i++) lower_from(this, from, i, i + 1);
        return right_from(this, from);
    }
    return false;
}

/* ---- texts ---- */

static char *text_of(description *this)
{
    const fm_symbolic *symbolic = this->symbolic;
    const char *names[FM_COLUMNS] = {NULL};
    char *atoms[MOST_ATOMS] = {NULL}, *text = NULL;
    size_t size;
    bool whole = true;
    for (unsigned i = 0; i < symbolic->parameter_count; i++) names[i] = symbolic->parameters[i].name;
    for (size_t i = 0; i < this->atom_count && whole; i++) {
        FILE *stream = open_memstream(&atoms[i], &size);
        whole = stream != NULL;
        if (!whole) break;
        fputs("floor((", stream);
        fm_poly_write(stream, &this->atoms[i].of, names);
        fprintf(stream, ")/%" PRId64 ")", this->atoms[i].by);
        whole = fclose(stream) == 0;
        names[symbolic->parameter_count + i] = atoms[i];
    }
    FILE *stream = whole ? open_memstream(&text, &size) : NULL;
    if (stream) {
        fm_poly_write(stream, &this->sum, names);
        fclose(stream);
    }
    for (size_t i = 0; i < this->atom_count; i++) free(atoms[i]);
    return text;
}

/* "n >= 64 and m >= 64"; "" where that is all that there are formulas for. */
static char *condition_of(const fm_symbolic *symbolic, const int64_t *from)
{
    char *text = NULL;
    size_t size, count = 0;
    FILE *stream = open_memstream(&text, &size);
    if (!stream) return NULL;
    for (unsigned i = 0; i < symbolic->parameter_count; i++) {
        const int64_t first = value_from(symbolic, i, from[i]);
        if (first > symbolic->parameters[i].least)
            fprintf(stream, "%s%s >= %" PRId64, count++ ? " and " : "", symbolic->parameters[i].name, first);
    }
    fclose(stream);
    return text;
}

/* Terms that are 0 are dropped. */
static void tidy_poly(fm_poly *poly)
{
    size_t count = 0;
    for (size_t i = 0; i < poly->count; i++) {
        if (mpq_sgn(poly->terms[i].factor) == 0) {
            mpq_clear(poly->terms[i].factor);
            continue;
        }
        if (count != i) memcpy(&poly->terms[count], &poly->terms[i], sizeof poly->terms[i]);
        count++;
    }
    poly->count = count;
}

static void describe_formula(fm_symbolic *symbolic, size_t index, double deadline)
{
    description this = {.symbolic = symbolic};
    int64_t x[FM_OPEN_MOST] = {0}, values[FM_OPEN_MOST] = {0}, from[FM_OPEN_MOST] = {0};
    for (unsigned i = 0; i < symbolic->parameter_count; i++)
        values[i] = value_from(symbolic, i, ((int64_t)1 << LARGE_BITS) + 4096 * (int64_t)(i + 1));
    fm_symbolic_quotients(symbolic, values, x);
    bool done = fm_formula_visit_points(&symbolic->formulas[index], x, add_open, &this) == FM_FORMULA_OK;
    if (done && index >= FM_SYMBOLIC_HITS) { /* misses: all others */
        fm_poly hits = this.sum, misses = {0};
        this.sum = (fm_poly){0};
        done = fm_formula_visit_points(&symbolic->formulas[FM_SYMBOLIC_REFERENCES], x, add_open, &this) ==
               FM_FORMULA_OK;
        fm_poly_add(&misses, &this.sum, 1, 1);
        fm_poly_add(&misses, &hits, -1, 1);
        fm_poly_clear(&hits);
        fm_poly_clear(&this.sum);
        this.sum = misses;
    }
    tidy_poly(&this.sum);
    comparing compared = {.symbolic = symbolic, .index = index, .text = &this, .deadline = deadline};
    done = done && !this.sum.failed && fm_quick_poly_create(&compared.sum, &this.sum);
    for (size_t i = 0; i < this.atom_count && done; i++)
        done = fm_quick_poly_create(&compared.atoms[i], &this.atoms[i].of);
    if (done && find_from(&compared, from)) {
        symbolic->texts[index] = text_of(&this);
        symbolic->from[index] = condition_of(symbolic, from);
        if (!symbolic->texts[index] || !symbolic->from[index]) {
            free(symbolic->texts[index]);
            free(symbolic->from[index]);
            symbolic->texts[index] = symbolic->from[index] = NULL;
        }
    }
    fm_quick_poly_clear(&compared.sum);
    for (size_t i = 0; i < MOST_ATOMS; i++) fm_quick_poly_clear(&compared.atoms[i]);
    clear_description(&this);
}

void fm_symbolic_describe(fm_symbolic *symbolic, double deadline)
{
    for (size_t i = FM_SYMBOLIC_LOADS; i < fm_symbolic_formula_count(symbolic); i++)
        describe_formula(symbolic, i, deadline);
}
