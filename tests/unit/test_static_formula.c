/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_static_formula.c - values of formulas: random pieces with one and two variables, quotients, products,
 * conditions up to degree 2 and equalities. Judge: every point of a box, one by one, in 128 bits.
 */
#include "case.h"

#include "static/symbolic/formula.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_LINES = 24, WIDTH = 8 };

/* Parameters n, m; variables x, y; a quotient; a quotient of it; a product: seven columns, and the constant.
 */
enum { N, M, X, Y, QUOTIENT, SECOND, PRODUCT, COLUMNS };

static uint64_t state = 1;

static int64_t between(int64_t least, int64_t most)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return least + (int64_t)((state >> 33) % (uint64_t)(most - least + 1));
}

typedef struct sample {
    fm_formula_piece piece;
    fm_derived derived[3];
    int64_t numbers[MOST_LINES * WIDTH];
    fm_quick_term terms[4];
} sample;

static int64_t *line(sample *this)
{
    int64_t *made = &this->numbers[this->piece.number_count];
    assert_true(this->piece.number_count < MOST_LINES * WIDTH);
    this->piece.number_count += WIDTH;
    return made;
}

static void bound(sample *this, unsigned column, int64_t low, int64_t high)
{
    int64_t *first = line(this), *second = line(this);
    first[column] = 1;
    first[WIDTH - 1] = -low;
    second[column] = -1;
    second[WIDTH - 1] = high;
}

/* variables: 1 (x) or 2 (x, y). Bounds are those of a box, so that brute force ends; the other conditions cut
 * it. */
static void make(sample *this, unsigned variables, int64_t box)
{
    const unsigned last = variables == 2 ? Y : X;
    *this = (sample){.piece = {.parameters = 2, .variables = (uint8_t)variables, .columns = COLUMNS}};
    fm_formula_piece *piece = &this->piece;
    piece->derived = this->derived;
    piece->numbers = this->numbers;
    piece->value.terms = this->terms;
    /* With one variable, the column of y is a second product. */
    const uint8_t quotient = QUOTIENT, second = SECOND;
    int64_t *one = line(this), *other = line(this);
    one[last] = between(-3, 3);
    one[N] = between(-2, 2);
    one[WIDTH - 1] = between(-9, 9);
    other[quotient] = between(0, 3);
    other[X] = between(-2, 2);
    other[WIDTH - 1] = between(-5, 5);
    this->derived[0] = (fm_derived){.column = quotient, .by = between(1, 8), .line = 0};
    this->derived[1] = (fm_derived){.column = second, .by = between(1, 4), .line = WIDTH};
    const uint8_t factors[] = {(uint8_t)last, quotient, N, X};
    this->derived[2] = (fm_derived){.column = PRODUCT, .count = 2};
    this->derived[2].factors[0] = (uint8_t)last;
    this->derived[2].factors[1] = factors[between(0, 3)];
    piece->derived_count = 3;
    const int64_t kind = between(0, 5);
    if (kind < 3) {
        int64_t *equality = line(this);
        piece->equality_count = 1;
        if (kind == 0) { /* a remainder of the quotient: every so many values */
            equality[last] = one[last];
            equality[N] = one[N];
            equality[quotient] = -this->derived[0].by;
            equality[WIDTH - 1] = between(0, this->derived[0].by - 1);
        } else if (kind == 1) { /* one value, or none */
            equality[last] = between(1, 3);
            equality[N] = between(-3, 3);
            equality[WIDTH - 1] = between(-9, 9);
        } else { /* two, or none */
            equality[PRODUCT] = 1;
            equality[WIDTH - 1] = -between(0, 9) * between(0, 9);
        }
    }
    bound(this, X, -box, box);
    piece->inequality_count = 2;
    if (variables == 2) {
        bound(this, Y, -box, box);
        piece->inequality_count += 2;
    }
    for (int64_t more = between(0, 3); more > 0; more--) {
        int64_t *cut = line(this);
        for (unsigned k = 0; k < COLUMNS; k++)
            if ((k != Y || variables == 2) && between(0, 1)) cut[k] = between(-4, 4);
        cut[WIDTH - 1] = between(-2, 6) * box;
        piece->inequality_count++;
    }
    /* What bounds a variable, whatever the others are: its box. */
    for (unsigned i = 0; i < variables; i++) {
        for (int times = 0; times < 2; times++) bound(this, X + i, -box, box);
        piece->shadow_counts[i] = piece->alone_counts[i] = 2;
    }
    piece->value.count = (size_t)between(1, 4);
    for (size_t i = 0; i < piece->value.count; i++) {
        fm_quick_term *term = &this->terms[i];
        term->factor = between(-9, 9);
        term->count = (unsigned)between(0, 3);
        for (unsigned k = 0; k < term->count; k++) {
            const uint8_t columns[] = {N, M, X, (uint8_t)last, quotient, second, PRODUCT};
            term->variables[k] = columns[between(0, 6)];
        }
    }
    piece->value.denominator = 1;
}

static int64_t line_sum(const int64_t *of, const int64_t *at)
{
    int64_t sum = of[WIDTH - 1];
    for (unsigned k = 0; k < COLUMNS; k++) sum += of[k] * at[k];
    return sum;
}

static __int128 value_at(const sample *this, int64_t *at)
{
    const fm_formula_piece *piece = &this->piece;
    for (size_t i = 0; i < piece->derived_count; i++) {
        const fm_derived *one = &piece->derived[i];
        int64_t value = 1;
        if (one->by) {
            value = line_sum(&piece->numbers[one->line], at);
            value = (value - ((value % one->by) + one->by) % one->by) / one->by;
        }
        for (unsigned k = 0; k < one->count; k++) value *= at[one->factors[k]];
        at[one->column] = value;
    }
    for (size_t i = 0; i < piece->equality_count + piece->inequality_count; i++) {
        int64_t value = line_sum(&piece->numbers[(2 + i) * WIDTH], at);
        if (i < piece->equality_count ? value != 0 : value < 0) return 0;
    }
    __int128 sum = 0;
    for (size_t i = 0; i < piece->value.count; i++) {
        __int128 product = piece->value.terms[i].factor;
        for (unsigned k = 0; k < piece->value.terms[i].count; k++)
            product *= at[piece->value.terms[i].variables[k]];
        sum += product;
    }
    return sum;
}

static void try_pieces(unsigned variables, int64_t box, unsigned rounds)
{
    unsigned different = 0;
    for (unsigned round = 0; round < rounds; round++) {
        sample this;
        make(&this, variables, box);
        const fm_formula formula = {.pieces = &this.piece, .count = 1};
        const int64_t parameters[2] = {between(1, 60), between(1, 60)};
        __int128 wanted = 0;
        int64_t found = -1;
        for (int64_t x = -box; x <= box; x++)
            for (int64_t y = variables == 2 ? -box : 0; y <= (variables == 2 ? box : 0); y++) {
                int64_t at[COLUMNS] = {parameters[0], parameters[1], x, variables == 2 ? y : 0};
                wanted += value_at(&this, at);
            }
        const fm_formula_status status = fm_formula_value(&formula, parameters, &found);
        const bool fits = wanted == (int64_t)wanted;
        if (status != (fits ? FM_FORMULA_OK : FM_FORMULA_OVERFLOW) || (fits && found != (int64_t)wanted))
            fail_msg("piece %u of %u variables: %lld (%d), not %lld", round, variables, (long long)found,
                     (int)status, (long long)wanted);
        different += wanted != 0;
    }
    assert_true(different > rounds / 4); /* the test is about something */
}

CASE(one_variable_is_summed_as_point_by_point)
{
    try_pieces(1, 700, 3000);
    try_pieces(1, 40, 2000); /* few values: some are gone through */
}

CASE(two_variables_are_summed_as_point_by_point)
{
    try_pieces(2, 60, 150);
}

/* Pieces that hold everywhere, as those of a constant, have no numbers, not even room for some. */
CASE(pieces_without_conditions_are_joined)
{
    fm_formula formula = {.count = 2, .capacity = 2, .pieces = calloc(2, sizeof(fm_formula_piece))};
    assert_non_null(formula.pieces);
    for (size_t i = 0; i < 2; i++) {
        fm_formula_piece *piece = &formula.pieces[i];
        *piece = (fm_formula_piece){.parameters = 1, .columns = 1, .value = {.denominator = 1, .count = 1}};
        piece->value.terms = calloc(1, sizeof *piece->value.terms);
        assert_non_null(piece->value.terms);
        piece->value.terms[0].factor = 3 + (int64_t)i;
    }
    const int64_t least[] = {0}, parameters[] = {5};
    int64_t found = 0;
    fm_formula_tidy(&formula, least);
    assert_int_equal(formula.count, 1);
    assert_int_equal(fm_formula_value(&formula, parameters, &found), FM_FORMULA_OK);
    assert_true(found == 7);
    fm_formula_clear(&formula);
}
