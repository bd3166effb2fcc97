/* SPDX-License-Identifier: Apache-2.0 */
/*
 * formula_value.c - the value of a formula (formula.h). A variable is gone through between bounds that come
 * from all conditions, in floating point and a little wide; whether a point counts is decided exactly.
 */
#include "static/symbolic/formula_along.h"

#include <math.h>
#include <string.h>

enum { MOST_STEPS = 1 << 22, MOST_CHANGING = 256, MOST_MASKS = 192, FEW = 32 };

typedef struct evaluation {
    const fm_formula_piece *piece;
    const int64_t *lines; /* its conditions */
    int64_t at[FM_COLUMNS];
    __int128 sum;
    fm_formula_visit visit; /* NULL: the sum is asked for */
    void *context;
    uint64_t steps;
    fm_formula_status status;
    /* Columns that a line has, of pieces with variables: of quotients, and of conditions. */
    uint64_t derived_masks[FM_COLUMNS], masks[MOST_MASKS];
} evaluation;

/* ---- which columns lines have ---- */

static uint64_t mask_of(const fm_formula_piece *piece, const int64_t *line)
{
    uint64_t mask = 0;
    for (unsigned i = 0; i < piece->columns; i++) mask |= (uint64_t)(line[i] != 0) << i;
    return mask;
}

static void find_masks(evaluation *this, bool conditions)
{
    const fm_formula_piece *piece = this->piece;
    const size_t width = piece->columns + 1u;
    const int64_t *line = this->lines, *end = piece->numbers + piece->number_count;
    for (size_t i = 0; i < piece->derived_count; i++)
        this->derived_masks[i] =
            piece->derived[i].by ? mask_of(piece, &piece->numbers[piece->derived[i].line]) : 0;
    for (size_t i = 0; conditions && i < MOST_MASKS && line < end; i++, line += width)
        this->masks[i] = mask_of(piece, line);
}

/* Of the line with that number, conditions first. */
static uint64_t mask_at(const evaluation *this, size_t number, const int64_t *line)
{
    return number < MOST_MASKS ? this->masks[number] : mask_of(this->piece, line);
}

static void add_value(evaluation *this)
{
    __int128 value = 0;
    if (this->visit) {
        if (!this->visit(this->context, this->piece, this->at)) this->status = FM_FORMULA_TOO_LONG;
        return;
    }
    if (!fm_formula_poly_at(this->piece, this->at, &value) ||
        __builtin_add_overflow(this->sum, value, &this->sum))
        this->status = FM_FORMULA_OVERFLOW;
}

static void add_point(evaluation *this)
{
    const fm_formula_piece *piece = this->piece;
    const size_t width = piece->columns + 1u;
    bool fits = true;
    for (size_t i = 0; i < piece->derived_count && fits; i++)
        fits = fm_formula_derive(piece, &piece->derived[i], this->derived_masks[i], this->at);
    const int64_t *line = this->lines;
    for (size_t i = 0; i < piece->equality_count + piece->inequality_count && fits; i++, line += width) {
        int64_t value;
        fits = fm_formula_line_at(piece, line, this->at, &value);
        if (fits && (i < piece->equality_count ? value != 0 : value < 0)) return;
    }
    if (fits)
        add_value(this);
    else
        this->status = FM_FORMULA_OVERFLOW;
}

/* ---- bounds of a variable ---- */

/* A column between two polynomials of the variable, of degree 2 at most. */
typedef struct span {
    double low[3], high[3];
    bool varies, unknown;
} span;

static void scale_span(span *to, double by)
{
    for (int i = 0; i < 3; i++) {
        double low = to->low[i] * by, high = to->high[i] * by;
        to->low[i] = by < 0 ? high : low;
        to->high[i] = by < 0 ? low : high;
    }
}

static bool not_negative(const span *one, const double *range)
{
    for (int side = 0; side < 2; side++)
        if (one->low[0] + one->low[1] * range[side] < 0) return false;
    return one->low[2] == 0 && one->high[2] == 0;
}

static span product_span(const span *left, const span *right, const double *range)
{
    span result = {.varies = left->varies || right->varies, .unknown = left->unknown || right->unknown};
    if (result.unknown) return result;
    if (!right->varies || !left->varies) {
        const span *fixed = right->varies ? left : right;
        result = right->varies ? *right : *left;
        scale_span(&result, fixed->low[0]);
        return result;
    }
    result.unknown = !range || !not_negative(left, range) || !not_negative(right, range);
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) {
            result.low[i + j] += left->low[i] * right->low[j];
            result.high[i + j] += left->high[i] * right->high[j];
        }
    return result;
}

/* The sum of a line: from below and above. */
static span line_span(const fm_formula_piece *piece, const int64_t *line, uint64_t mask, const span *columns)
{
    span result = {.low[0] = (double)line[piece->columns], .high[0] = (double)line[piece->columns]};
    for (; mask; mask &= mask - 1) {
        const unsigned i = (unsigned)__builtin_ctzll(mask);
        span one = columns[i];
        result.varies |= one.varies;
        result.unknown |= one.unknown;
        scale_span(&one, (double)line[i]);
        for (int k = 0; k < 3; k++) {
            result.low[k] += one.low[k];
            result.high[k] += one.high[k];
        }
    }
    return result;
}

static void find_spans(const evaluation *this, unsigned variable, const double *range, span *columns)
{
    const fm_formula_piece *piece = this->piece;
    for (unsigned i = 0; i < piece->columns; i++) {
        columns[i] = (span){.low[0] = (double)this->at[i], .high[0] = (double)this->at[i]};
        /* what comes after it is not in its conditions */
        if (i > variable) columns[i].varies = columns[i].unknown = true;
    }
    columns[variable] = (span){.low[1] = 1, .high[1] = 1, .varies = true};
    for (size_t i = 0; i < piece->derived_count; i++) {
        const fm_derived *one = &piece->derived[i];
        span made = {.low[0] = 1, .high[0] = 1};
        if (one->by) {
            made = line_span(piece, &piece->numbers[one->line], this->derived_masks[i], columns);
            made.low[0] -= (double)(one->by - 1);
            scale_span(&made, 1 / (double)one->by);
        }
        for (unsigned k = 0; k < one->count; k++)
            made = product_span(&made, &columns[one->factors[k]], range);
        if (!made.varies)
            made = (span){.low[0] = (double)this->at[one->column], .high[0] = (double)this->at[one->column]};
        columns[one->column] = made;
    }
}

/* a + b x + c x^2 >= 0: makes the range smaller. */
static void cut_range(const double *row, double *range)
{
    const double a = row[0], b = row[1], c = row[2], much = fabs(a) * 1e-9 + 1;
    if (c > 0) return;
    if (c == 0) {
        if (b > 0 && -a / b - 1 - fabs(a / b) * 1e-9 > range[0]) range[0] = -a / b - 1 - fabs(a / b) * 1e-9;
        if (b < 0 && -a / b + 1 + fabs(a / b) * 1e-9 < range[1]) range[1] = -a / b + 1 + fabs(a / b) * 1e-9;
        if (b == 0 && a < -much) range[1] = range[0] - 1;
        return;
    }
    const double inside = b * b - 4 * (a + much) * c;
    if (inside < 0) {
        range[1] = range[0] - 1;
        return;
    }
    const double root = sqrt(inside) * (1 + 1e-9), first = (-b + root) / (2 * c),
                 last = (-b - root) / (2 * c);
    if (first - 1 > range[0]) range[0] = first - 1;
    if (last + 1 < range[1]) range[1] = last + 1;
}

/* Of the variable with that number, by some lines that bound it. */
static bool find_range(const evaluation *this, unsigned number, const int64_t *lines, size_t count,
                       int64_t *first, int64_t *last)
{
    const fm_formula_piece *piece = this->piece;
    const unsigned variable = piece->parameters + number;
    const size_t first_line = (size_t)(lines - this->lines) / (piece->columns + 1u);
    const double far = 0x1p62;
    double range[2] = {-far, far};
    for (int pass = 0; pass < 2 && range[0] <= range[1]; pass++) {
        span columns[FM_COLUMNS];
        const int64_t *line = lines;
        const double before[2] = {range[0], range[1]};
        find_spans(this, variable, pass ? before : NULL, columns);
        for (size_t i = 0; i < count; i++, line += piece->columns + 1u) {
            const span row = line_span(piece, line, mask_at(this, first_line + i, line), columns);
            if (!row.unknown) cut_range(row.high, range);
        }
    }
    *first = 0;
    *last = -1;
    if (range[0] > range[1]) return true;
    if (range[0] <= -far || range[1] >= far) return false;
    *first = (int64_t)floor(range[0]);
    *last = (int64_t)ceil(range[1]);
    return true;
}

/* ---- boxes of several variables ---- */

typedef struct interval {
    double low, high;
} interval;

static interval multiplied(interval left, interval right)
{
    const double corners[4] = {left.low * right.low, left.low * right.high, left.high * right.low,
                               left.high * right.high};
    interval result = {corners[0], corners[0]};
    for (int i = 1; i < 4; i++) {
        if (corners[i] < result.low) result.low = corners[i];
        if (corners[i] > result.high) result.high = corners[i];
    }
    return result;
}

static interval line_interval(const fm_formula_piece *piece, const int64_t *line, uint64_t mask,
                              const interval *columns)
{
    interval sum = {(double)line[piece->columns], (double)line[piece->columns]};
    for (; mask; mask &= mask - 1) {
        const unsigned i = (unsigned)__builtin_ctzll(mask);
        const double factor = (double)line[i];
        sum.low += factor * (factor > 0 ? columns[i].low : columns[i].high);
        sum.high += factor * (factor > 0 ? columns[i].high : columns[i].low);
    }
    return sum;
}

/* The columns of a box. */
static void find_intervals(const evaluation *this, const int64_t (*box)[2], interval *columns)
{
    const fm_formula_piece *piece = this->piece;
    for (unsigned i = 0; i < piece->parameters; i++)
        columns[i] = (interval){(double)this->at[i], (double)this->at[i]};
    for (unsigned i = 0; i < piece->variables; i++)
        columns[piece->parameters + i] = (interval){(double)box[i][0], (double)box[i][1]};
    for (size_t i = 0; i < piece->derived_count; i++) {
        const fm_derived *one = &piece->derived[i];
        interval value = {1, 1};
        if (one->by) {
            value = line_interval(piece, &piece->numbers[one->line], this->derived_masks[i], columns);
            value.low = floor(value.low / (double)one->by);
            value.high = floor(value.high / (double)one->by);
        }
        for (unsigned k = 0; k < one->count; k++) value = multiplied(value, columns[one->factors[k]]);
        columns[one->column] = value;
    }
}

/* What a condition, whose sum over the box this is, says of a variable that it has. */
static void cut_box(double factor, interval sum, double much, int64_t *range)
{
    /* factor * (x - the end that makes the sum largest) + sum.high >= 0 */
    const double slack = (sum.high + much) / fabs(factor);
    if (slack > 0x1p60) return;
    if (factor > 0 && (double)range[1] - slack > (double)range[0])
        range[0] = (int64_t)ceil((double)range[1] - slack);
    if (factor < 0 && (double)range[0] + slack < (double)range[1])
        range[1] = (int64_t)floor((double)range[0] + slack);
}

/* Makes the box smaller; false: no condition can hold anywhere in it. */
static bool shrink(const evaluation *this, int64_t (*box)[2])
{
    const fm_formula_piece *piece = this->piece;
    interval columns[FM_COLUMNS];
    find_intervals(this, (const int64_t(*)[2])box, columns);
    for (int pass = 0; pass < 2; pass++) {
        const int64_t *line = this->lines;
        for (size_t i = 0; i < piece->equality_count + piece->inequality_count;
             i++, line += piece->columns + 1u) {
            const interval sum = line_interval(piece, line, mask_at(this, i, line), columns);
            const double much = 1 + 1e-9 * (fabs(sum.low) + fabs(sum.high));
            if (sum.high < -much || (i < piece->equality_count && sum.low > much)) return false;
            for (unsigned k = 0; k < piece->variables && pass == 0; k++) {
                const double factor = (double)line[piece->parameters + k];
                const interval opposite = {-sum.high, -sum.low};
                if (factor == 0) continue;
                cut_box(factor, sum, much, box[k]);
                if (i < piece->equality_count) cut_box(-factor, opposite, much, box[k]);
            }
        }
        if (pass == 0) find_intervals(this, (const int64_t(*)[2])box, columns);
    }
    return true;
}

static bool may_go_on(evaluation *this)
{
    if (++this->steps > MOST_STEPS) this->status = FM_FORMULA_TOO_LONG;
    return this->status == FM_FORMULA_OK;
}

/* The last variable, between its bounds: at once, or value by value; then only what depends on it is computed
 * each time. box: where it is, NULL: not known. */
static void go_through(evaluation *this, unsigned number, const int64_t *shadow, const int64_t *box)
{
    const fm_formula_piece *piece = this->piece;
    const size_t width = piece->columns + 1u, all = piece->equality_count + piece->inequality_count;
    const unsigned variable = piece->parameters + number;
    bool varies[FM_COLUMNS] = {false};
    uint64_t varying = (uint64_t)1 << variable;
    int64_t first = 0, last = -1;
    varies[variable] = true;
    for (size_t i = 0; i < piece->derived_count; i++) {
        const fm_derived *one = &piece->derived[i];
        if (!fm_formula_derive(piece, one, this->derived_masks[i], this->at))
            this->status = FM_FORMULA_OVERFLOW;
        bool vary = (this->derived_masks[i] & varying) != 0;
        for (unsigned k = 0; k < one->count; k++) vary |= varies[one->factors[k]];
        varies[one->column] = vary;
        varying |= (uint64_t)vary << one->column;
    }
    const int64_t *line = this->lines, *changing[MOST_CHANGING];
    uint64_t changing_masks[MOST_CHANGING];
    size_t count = 0, equalities = 0;
    for (size_t i = 0; i < all; i++, line += width) {
        const bool changes = (mask_at(this, i, line) & varying) != 0;
        int64_t value;
        if (changes && count < MOST_CHANGING) {
            changing_masks[count] = mask_at(this, i, line);
            changing[count++] = line;
            equalities += i < piece->equality_count;
        } else if (changes) {
            this->status = FM_FORMULA_TOO_LONG;
        } else if (!fm_formula_masked_line_at(piece, line, mask_at(this, i, line), this->at, &value)) {
            this->status = FM_FORMULA_OVERFLOW;
        } else if (i < piece->equality_count ? value != 0 : value < 0) {
            return;
        }
    }
    const fm_formula_along along = {.piece = piece,
                                    .variable = variable,
                                    .varies = varies,
                                    .masks = this->derived_masks,
                                    .varying = varying,
                                    .conditions = changing,
                                    .condition_masks = changing_masks,
                                    .condition_count = count,
                                    .equality_count = equalities};
    const bool at_once = !this->visit && this->status == FM_FORMULA_OK && may_go_on(this);
    if (at_once && box && fm_formula_sum_along(&along, this->at, box[0], box[1], &this->sum)) {
        this->at[variable] = 0;
        return;
    }
    if (box && box[1] - box[0] < FEW) {
        first = box[0];
        last = box[1];
    } else if (!find_range(this, number, shadow, piece->shadow_counts[number], &first, &last)) {
        this->status = FM_FORMULA_TOO_LONG;
    }
    if (at_once && !box && this->status == FM_FORMULA_OK &&
        fm_formula_sum_along(&along, this->at, first, last, &this->sum))
        last = first - 1; /* done */
    for (int64_t x = first; x <= last && may_go_on(this); x++) {
        bool fits = true, holds = true;
        this->at[variable] = x;
        for (size_t i = 0; i < piece->derived_count && fits; i++)
            if (varies[piece->derived[i].column])
                fits = fm_formula_derive(piece, &piece->derived[i], this->derived_masks[i], this->at);
        for (size_t i = 0; i < count && fits && holds; i++) {
            int64_t value = 0;
            fits = fm_formula_masked_line_at(piece, changing[i], changing_masks[i], this->at, &value);
            holds = i < equalities ? value == 0 : value >= 0;
        }
        if (!fits)
            this->status = FM_FORMULA_OVERFLOW;
        else if (holds)
            add_value(this);
    }
    this->at[variable] = 0;
}

/* Variables from this number on: halved until one value is left, or nothing can be in it. */
static void divide(evaluation *this, unsigned number, int64_t (*box)[2], const int64_t *shadow)
{
    const fm_formula_piece *piece = this->piece;
    int64_t smaller[FM_FORMULA_MOST_VARIABLES][2];
    memcpy(smaller, box, sizeof smaller);
    if (!may_go_on(this) || !shrink(this, smaller)) return;
    const int64_t first = smaller[number][0], last = smaller[number][1];
    if (first > last) return;
    if (first < last) {
        const int64_t middle = first + (last - first) / 2;
        smaller[number][1] = middle;
        divide(this, number, smaller, shadow);
        smaller[number][0] = middle + 1;
        smaller[number][1] = last;
        divide(this, number, smaller, shadow);
        return;
    }
    this->at[piece->parameters + number] = first;
    shadow += (piece->shadow_counts[number] + piece->alone_counts[number] + piece->plain_counts[number]) *
              (piece->columns + 1u);
    if (number + 2 == piece->variables)
        go_through(this, number + 1, shadow, smaller[number + 1]);
    else
        divide(this, number + 1, smaller, shadow);
    this->at[piece->parameters + number] = 0;
}

static void add_piece(evaluation *this)
{
    const fm_formula_piece *piece = this->piece;
    const size_t width = piece->columns + 1u;
    int64_t box[FM_FORMULA_MOST_VARIABLES][2] = {{0}};
    const int64_t *shadow = this->lines + (piece->equality_count + piece->inequality_count) * width,
                  *at = shadow;
    find_masks(this, piece->variables > 0);
    if (piece->variables == 0)
        add_point(this);
    else if (piece->variables == 1)
        go_through(this, 0, shadow, NULL);
    if (piece->variables < 2) return;
    for (size_t i = 0; i < piece->derived_count; i++)
        if (!fm_formula_derive(piece, &piece->derived[i], this->derived_masks[i], this->at))
            this->status = FM_FORMULA_OVERFLOW;
    for (unsigned i = 0; i < piece->variables; i++) {
        at += piece->shadow_counts[i] * width;
        if (!find_range(this, i, at, piece->alone_counts[i], &box[i][0], &box[i][1]))
            this->status = FM_FORMULA_TOO_LONG;
        if (box[i][0] > box[i][1]) return;
        at += (piece->alone_counts[i] + piece->plain_counts[i]) * width;
    }
    divide(this, 0, box, shadow);
}

static void add_pieces(evaluation *this, const fm_formula *formula, const int64_t *parameters)
{
    for (size_t i = 0; i < formula->count && this->status == FM_FORMULA_OK; i++) {
        const fm_formula_piece *piece = this->piece = &formula->pieces[i];
        this->lines = &piece->numbers[fm_formula_quotients(piece) * (piece->columns + 1u)];
        memset(this->at, 0, piece->columns * sizeof this->at[0]);
        memcpy(this->at, parameters, piece->parameters * sizeof parameters[0]);
        add_piece(this);
    }
}

fm_formula_status fm_formula_value(const fm_formula *formula, const int64_t *parameters, int64_t *value)
{
    evaluation this = {.status = FM_FORMULA_OK};
    add_pieces(&this, formula, parameters);
    *value = (int64_t)this.sum;
    if (this.status == FM_FORMULA_OK && *value != this.sum) return FM_FORMULA_OVERFLOW;
    return this.status;
}

fm_formula_status fm_formula_visit_points(const fm_formula *formula, const int64_t *parameters,
                                          fm_formula_visit visit, void *context)
{
    evaluation this = {.status = FM_FORMULA_OK, .visit = visit, .context = context};
    add_pieces(&this, formula, parameters);
    return this.status;
}
