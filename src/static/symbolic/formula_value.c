/* SPDX-License-Identifier: Apache-2.0 */
/* formula_value.c - the value of a formula (formula.h). */
#include "static/symbolic/formula.h"

#include <math.h>
#include <string.h>

/* ---- along one variable ---- */

/*
 * Quotients of sums with whole factors repeat their rounding after some values of the variable, the period.
 * Values that are a period apart are first + r + period * y: for a fixed r every column is a polynomial in y
 * with whole factors, and so are conditions and the value. Conditions up to degree 2 hold in some intervals
 * of y, which are found in floating point and corrected exactly; over an interval the polynomial is summed
 * by its differences: f(0) + … + f(n - 1) = sum over k of (k-th difference at 0) * binomial(n, k + 1).
 */

/* What is fixed along the variable: which columns vary with it, and the conditions that do, equalities first.
 */
typedef struct fm_formula_along {
    const fm_formula_piece *piece;
    unsigned variable; /* its column */
    const bool *varies;
    const uint64_t *masks; /* of each derived column that is a quotient: the columns that its line has */
    uint64_t varying;      /* the columns that vary, as bits */
    const int64_t *const *conditions;
    const uint64_t *condition_masks; /* the columns that each has */
    size_t condition_count, equality_count;
} fm_formula_along;

/* The sum of a line over those of its columns that are not 0. */
static inline bool masked_line_at(const fm_formula_piece *piece, const int64_t *line, uint64_t mask,
                                  const int64_t *at, int64_t *value)
{
    return fm_line_masked_at(line, line[piece->columns], mask, at, value);
}

enum { MOST_PERIOD = 4096, MOST_SUM_DEGREE = 8, MOST_INTERVALS = 16 };

/* Values of columns, lines and the polynomial at a point; false: beyond their bits. */
static bool formula_line_at(const fm_formula_piece *piece, const int64_t *line, const int64_t *at,
                            int64_t *value)
{
    __int128 sum = line[piece->columns];
    for (unsigned i = 0; i < piece->columns; i++)
        if (line[i]) sum += (__int128)line[i] * at[i];
    *value = (int64_t)sum;
    return *value == sum;
}

/* mask: the columns that the line of a quotient has. */
static bool formula_derive(const fm_formula_piece *piece, const fm_derived *one, uint64_t mask, int64_t *at)
{
    int64_t value = 1;
    if (one->by) {
        if (!masked_line_at(piece, &piece->numbers[one->line], mask, at, &value)) return false;
        /* A shift of a negative number rounds down, as gcc and clang define it. */
        value = (one->by & (one->by - 1)) == 0 ? value >> __builtin_ctzll((uint64_t)one->by)
                                               : fm_floor_divide(value, one->by);
    }
    for (unsigned i = 0; i < one->count; i++)
        if (__builtin_mul_overflow(value, at[one->factors[i]], &value)) return false;
    at[one->column] = value;
    return true;
}

/* ---- periods and degrees ---- */

enum { MOST_CONDITIONS = 128 };

typedef struct shape {
    int64_t period;
    unsigned value; /* its degree */
    bool curved;    /* there are conditions of degree 2 */
    uint8_t degrees[MOST_CONDITIONS];
    /* Over a period: the change of a condition of degree 1, and the change of the change of one of degree 2,
     * are the same everywhere. */
    int64_t slopes[MOST_CONDITIONS], bends[MOST_CONDITIONS];
} shape;

static bool join_periods(int64_t *period, int64_t other)
{
    *period = *period / fm_greatest_divisor(*period, other) * other;
    return *period <= MOST_PERIOD;
}

static bool find_shape(const fm_formula_along *along, shape *found)
{
    const fm_formula_piece *piece = along->piece;
    int64_t periods[FM_COLUMNS];
    unsigned degrees[FM_COLUMNS] = {0};
    if (along->condition_count > MOST_CONDITIONS) return false;
    for (unsigned i = 0; i < piece->columns; i++) periods[i] = 1;
    degrees[along->variable] = 1;
    found->period = 1;
    found->value = 0;
    found->curved = false;
    for (size_t i = 0; i < piece->derived_count; i++) {
        const fm_derived *one = &piece->derived[i];
        int64_t period = 1;
        unsigned degree = 0;
        if (!along->varies[one->column]) continue;
        for (uint64_t mask = along->masks[i] & along->varying; mask; mask &= mask - 1) {
            const unsigned k = (unsigned)__builtin_ctzll(mask);
            if (!join_periods(&period, periods[k])) return false;
            if (degrees[k] > degree) degree = degrees[k];
        }
        if (one->by && degree && (period > MOST_PERIOD / one->by)) return false;
        if (one->by && degree) period *= one->by;
        for (unsigned k = 0; k < one->count; k++) {
            if (!along->varies[one->factors[k]]) continue;
            if (!join_periods(&period, periods[one->factors[k]])) return false;
            degree += degrees[one->factors[k]];
        }
        periods[one->column] = period;
        degrees[one->column] = degree;
        if (!join_periods(&found->period, period)) return false;
    }
    for (size_t i = 0; i < along->condition_count; i++) {
        unsigned degree = 0;
        for (uint64_t mask = along->varying; mask; mask &= mask - 1) {
            const unsigned k = (unsigned)__builtin_ctzll(mask);
            if (along->conditions[i][k] && degrees[k] > degree) degree = degrees[k];
        }
        if (degree > 2) return false;
        found->degrees[i] = (uint8_t)degree;
        found->curved |= degree == 2;
    }
    for (size_t i = 0; i < piece->value.count; i++) {
        unsigned degree = 0;
        for (unsigned k = 0; k < piece->value.terms[i].count; k++)
            degree += degrees[piece->value.terms[i].variables[k]];
        if (degree > found->value) found->value = degree;
    }
    return found->value <= MOST_SUM_DEGREE;
}

/* ---- where conditions hold ---- */

typedef struct interval {
    int64_t first, last;
} interval;

typedef struct intervals {
    size_t count;
    interval at[MOST_INTERVALS];
} intervals;

/* A condition: value + slope * y + bend * y (y - 1) / 2. The numbers are below 2^62. */
typedef struct curve {
    int64_t value, slope, bend;
} curve;

static __int128 curve_at(const curve *of, int64_t y)
{
    return of->value + (__int128)of->slope * y + of->bend * ((__int128)y * (y - 1) / 2);
}

/* The last y from `low` on up to `high` with curve >= 0 (sign 1) or < 0 (sign -1), which is so from low on up
 * to some place, near `guess`; low - 1: none. */
static int64_t last_with(const curve *of, int sign, int64_t low, int64_t high, double guess)
{
    int64_t y = guess < (double)low ? low - 1 : guess > (double)high ? high : (int64_t)guess;
    while (y >= low && (curve_at(of, y) >= 0) != (sign > 0)) y--;
    while (y < high && (curve_at(of, y + 1) >= 0) == (sign > 0)) y++;
    return y;
}

/* The intervals inside [low, high] where the curve is not negative. */
static size_t not_negative(const curve *of, int64_t low, int64_t high, interval *made)
{
    size_t count = 0;
    if (of->bend <= 0) { /* between two places where it holds it holds everywhere */
        const bool begins = curve_at(of, low) >= 0, ends = curve_at(of, high) >= 0;
        if (begins && ends) made[count++] = (interval){low, high};
        if (begins == ends && (begins || of->bend == 0)) return count;
    }
    if (of->bend == 0) {   /* it changes its sign once */
        if (of->slope > 0) /* y >= -value / slope, rounded up */
            made[count++] = (interval){-fm_floor_divide(of->value, of->slope), high};
        else
            made[count++] = (interval){low, fm_floor_divide(of->value, -of->slope)};
        return count;
    }
    /* value + (slope - bend / 2) y + bend / 2 y^2 */
    const double a = (double)of->bend / 2, b = (double)of->slope - a, c = (double)of->value;
    const double inside = b * b - 4 * a * c, root = inside > 0 ? sqrt(inside) : 0, top = -b / (2 * a);
    const double left = top - root / (2 * fabs(a)), right = top + root / (2 * fabs(a));
    /* The two halves, up to the highest (lowest) value and behind it: each side changes its sign once at
     * most. */
    const int64_t middle = top < (double)low ? low - 1 : top >= (double)high ? high : (int64_t)floor(top);
    const int rising = of->bend < 0 ? 1 : -1; /* on the left side */
    for (int side = 0; side < 2; side++) {
        const int64_t begin = side ? middle + 1 : low, end = side ? high : middle;
        if (begin > end) continue;
        const int first_sign = side ? rising : -rising; /* of the part that comes first on this side */
        const int64_t last = last_with(of, first_sign, begin, end, side ? right : left);
        interval one = first_sign > 0 ? (interval){begin, last} : (interval){last + 1, end};
        if (one.first > one.last) continue;
        if (count && made[count - 1].last + 1 == one.first)
            made[count - 1].last = one.last;
        else
            made[count++] = one;
    }
    return count;
}

static bool keep_where(const curve *of, intervals *all)
{
    interval left[MOST_INTERVALS];
    size_t count = 0;
    for (size_t i = 0; i < all->count; i++) {
        if (count + 2 > MOST_INTERVALS) return false;
        count += not_negative(of, all->at[i].first, all->at[i].last, &left[count]);
    }
    for (size_t i = 0; i < count; i++) all->at[i] = left[i];
    all->count = count;
    return true;
}

/* ---- one residue ---- */

/* The columns at a value of the variable. */
static bool place_columns(const fm_formula_along *along, int64_t *at, int64_t value)
{
    const fm_formula_piece *piece = along->piece;
    at[along->variable] = value;
    for (size_t i = 0; i < piece->derived_count; i++)
        if (along->varies[piece->derived[i].column] &&
            !formula_derive(piece, &piece->derived[i], along->masks[i], at))
            return false;
    return true;
}

/* A condition at a point; false: too large for curves. */
static bool condition_at(const fm_formula_along *along, size_t number, const int64_t *at, int64_t *value)
{
    return masked_line_at(along->piece, along->conditions[number], along->condition_masks[number], at,
                          value) &&
           *value < INT64_MAX / 8 && *value > -(INT64_MAX / 8);
}

/* What is the same for all values of the variable. */
static bool find_changes(const fm_formula_along *along, shape *of, int64_t *at, int64_t first)
{
    int64_t values[3][MOST_CONDITIONS];
    for (unsigned y = 0; y <= (of->curved ? 2u : 1u); y++) {
        if (!place_columns(along, at, first + (int64_t)y * of->period)) return false;
        for (size_t i = 0; i < along->condition_count; i++)
            if (of->degrees[i] >= y && !condition_at(along, i, at, &values[y][i])) return false;
    }
    for (size_t i = 0; i < along->condition_count; i++) {
        of->slopes[i] = of->degrees[i] == 1 ? values[1][i] - values[0][i] : 0;
        of->bends[i] = of->degrees[i] == 2 ? values[2][i] - 2 * values[1][i] + values[0][i] : 0;
    }
    return true;
}

/* Where all conditions hold among y = 0 … count - 1. false: not found out. */
static bool find_intervals(const fm_formula_along *along, const shape *of, int64_t *at, int64_t first,
                           int64_t count, intervals *all)
{
    curve curves[MOST_CONDITIONS];
    all->count = 0;
    if (!place_columns(along, at, first)) return false;
    for (size_t i = 0; i < along->condition_count; i++) {
        const bool equality = i < along->equality_count;
        curves[i] = (curve){.slope = of->slopes[i], .bend = of->bends[i]};
        if (!condition_at(along, i, at, &curves[i].value)) return false;
        const int64_t value = curves[i].value, slope = curves[i].slope;
        if (of->degrees[i] == 2) continue;
        /* It never holds, or it is an equality that is passed by. */
        if (equality ? (slope == 0 ? value != 0 : value % slope != 0) : value < 0 && slope <= 0) return true;
    }
    if (of->curved && !place_columns(along, at, first + of->period)) return false;
    all->at[0] = (interval){0, count - 1};
    all->count = 1;
    for (size_t i = 0; i < along->condition_count && all->count; i++) {
        curve *one = &curves[i];
        if (of->degrees[i] == 2) {
            int64_t next;
            if (!condition_at(along, i, at, &next)) return false;
            one->slope = next - one->value;
        }
        if (!keep_where(one, all)) return false;
        if (i >= along->equality_count) continue;
        *one = (curve){-one->value, -one->slope, -one->bend};
        if (!keep_where(one, all)) return false;
    }
    return true;
}

/* The sum of n values of a polynomial whose first ones are given; they become its differences. */
static bool sum_differences(__int128 *values, unsigned degree, int64_t n, __int128 *sum)
{
    for (unsigned k = 1; k <= degree; k++)
        for (unsigned i = degree; i >= k; i--)
            if (__builtin_sub_overflow(values[i], values[i - 1], &values[i])) return false;
    __int128 binomial = n, product;
    for (unsigned k = 0;; k++) {
        if (__builtin_mul_overflow(values[k], binomial, &product) ||
            __builtin_add_overflow(*sum, product, sum))
            return false;
        if (k == degree) return true;
        if (__builtin_mul_overflow(binomial, (__int128)(n - 1 - (int64_t)k), &binomial)) return false;
        binomial /= k + 2;
    }
}

static bool sum_interval(const fm_formula_along *along, const shape *of, int64_t *at, int64_t first,
                         int64_t count, __int128 *sum)
{
    __int128 values[MOST_SUM_DEGREE + 1];
    const bool all = count <= (int64_t)of->value + 1;
    const unsigned points = all ? (unsigned)count : of->value + 1;
    for (unsigned i = 0; i < points; i++) {
        if (!place_columns(along, at, first + (int64_t)i * of->period) ||
            !fm_quick_poly_wide(&along->piece->value, at, &values[i]))
            return false;
        if (all && __builtin_add_overflow(*sum, values[i], sum)) return false;
    }
    return all || sum_differences(values, of->value, count, sum);
}

/*
 * Adds the values at all points from first to last where the conditions hold. at: the columns, of which those
 * that vary are changed. false: it is not done here, and nothing was added: too few values to be worth it,
 * conditions of a degree above 2, or numbers beyond 128 bits on the way.
 */
static bool formula_sum_along(const fm_formula_along *along, int64_t *at, int64_t first, int64_t last,
                              __int128 *sum)
{
    shape of;
    int64_t length;
    __int128 made = 0;
    if (__builtin_sub_overflow(last, first, &length) || length < 16 || !find_shape(along, &of)) return false;
    if (length / of.period < 4) return false; /* one by one is as quick */
    if (!find_changes(along, &of, at, first)) return false;
    for (int64_t rest = 0; rest < of.period; rest++) {
        intervals all;
        if (!find_intervals(along, &of, at, first + rest, (length - rest) / of.period + 1, &all))
            return false;
        for (size_t i = 0; i < all.count; i++)
            if (!sum_interval(along, &of, at, first + rest + all.at[i].first * of.period,
                              all.at[i].last - all.at[i].first + 1, &made))
                return false;
    }
    return !__builtin_add_overflow(*sum, made, sum);
}

/* ---- values ---- */

/*
 * The value of a formula (formula.h). A variable is gone through between bounds that come from all
 * conditions, in floating point and a little wide; whether a point counts is decided exactly.
 */

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

static void find_masks(evaluation *this, bool conditions)
{
    const fm_formula_piece *piece = this->piece;
    const size_t width = piece->columns + 1u;
    const int64_t *line = this->lines, *end = piece->numbers + piece->number_count;
    for (size_t i = 0; i < piece->derived_count; i++)
        this->derived_masks[i] =
            piece->derived[i].by ? fm_line_mask(&piece->numbers[piece->derived[i].line], piece->columns) : 0;
    for (size_t i = 0; conditions && i < MOST_MASKS && line < end; i++, line += width)
        this->masks[i] = fm_line_mask(line, piece->columns);
}

/* Of the line with that number, conditions first. */
static uint64_t mask_at(const evaluation *this, size_t number, const int64_t *line)
{
    return number < MOST_MASKS ? this->masks[number] : fm_line_mask(line, this->piece->columns);
}

static void add_value(evaluation *this)
{
    __int128 value = 0;
    if (this->visit) {
        if (!this->visit(this->context, this->piece, this->at)) this->status = FM_FORMULA_TOO_LONG;
        return;
    }
    if (!fm_quick_poly_wide(&this->piece->value, this->at, &value) ||
        __builtin_add_overflow(this->sum, value, &this->sum))
        this->status = FM_FORMULA_OVERFLOW;
}

static void add_point(evaluation *this)
{
    const fm_formula_piece *piece = this->piece;
    const size_t width = piece->columns + 1u;
    bool fits = true;
    for (size_t i = 0; i < piece->derived_count && fits; i++)
        fits = formula_derive(piece, &piece->derived[i], this->derived_masks[i], this->at);
    const int64_t *line = this->lines;
    for (size_t i = 0; i < piece->equality_count + piece->inequality_count && fits; i++, line += width) {
        int64_t value;
        fits = formula_line_at(piece, line, this->at, &value);
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

static bool span_not_negative(const span *one, const double *range)
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
    result.unknown = !range || !span_not_negative(left, range) || !span_not_negative(right, range);
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

typedef struct real_interval {
    double low, high;
} real_interval;

static real_interval multiplied_intervals(real_interval left, real_interval right)
{
    const double corners[4] = {left.low * right.low, left.low * right.high, left.high * right.low,
                               left.high * right.high};
    real_interval result = {corners[0], corners[0]};
    for (int i = 1; i < 4; i++) {
        if (corners[i] < result.low) result.low = corners[i];
        if (corners[i] > result.high) result.high = corners[i];
    }
    return result;
}

static real_interval line_interval(const fm_formula_piece *piece, const int64_t *line, uint64_t mask,
                                   const real_interval *columns)
{
    real_interval sum = {(double)line[piece->columns], (double)line[piece->columns]};
    for (; mask; mask &= mask - 1) {
        const unsigned i = (unsigned)__builtin_ctzll(mask);
        const double factor = (double)line[i];
        sum.low += factor * (factor > 0 ? columns[i].low : columns[i].high);
        sum.high += factor * (factor > 0 ? columns[i].high : columns[i].low);
    }
    return sum;
}

/* The columns of a box. */
static void column_intervals(const evaluation *this, const int64_t (*box)[2], real_interval *columns)
{
    const fm_formula_piece *piece = this->piece;
    for (unsigned i = 0; i < piece->parameters; i++)
        columns[i] = (real_interval){(double)this->at[i], (double)this->at[i]};
    for (unsigned i = 0; i < piece->variables; i++)
        columns[piece->parameters + i] = (real_interval){(double)box[i][0], (double)box[i][1]};
    for (size_t i = 0; i < piece->derived_count; i++) {
        const fm_derived *one = &piece->derived[i];
        real_interval value = {1, 1};
        if (one->by) {
            value = line_interval(piece, &piece->numbers[one->line], this->derived_masks[i], columns);
            value.low = floor(value.low / (double)one->by);
            value.high = floor(value.high / (double)one->by);
        }
        for (unsigned k = 0; k < one->count; k++)
            value = multiplied_intervals(value, columns[one->factors[k]]);
        columns[one->column] = value;
    }
}

/* What a condition, whose sum over the box this is, says of a variable that it has. */
static void cut_box(double factor, real_interval sum, double much, int64_t *range)
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
static bool shrink_box(const evaluation *this, int64_t (*box)[2])
{
    const fm_formula_piece *piece = this->piece;
    real_interval columns[FM_COLUMNS];
    column_intervals(this, (const int64_t(*)[2])box, columns);
    for (int pass = 0; pass < 2; pass++) {
        const int64_t *line = this->lines;
        for (size_t i = 0; i < piece->equality_count + piece->inequality_count;
             i++, line += piece->columns + 1u) {
            const real_interval sum = line_interval(piece, line, mask_at(this, i, line), columns);
            const double much = 1 + 1e-9 * (fabs(sum.low) + fabs(sum.high));
            if (sum.high < -much || (i < piece->equality_count && sum.low > much)) return false;
            for (unsigned k = 0; k < piece->variables && pass == 0; k++) {
                const double factor = (double)line[piece->parameters + k];
                const real_interval opposite = {-sum.high, -sum.low};
                if (factor == 0) continue;
                cut_box(factor, sum, much, box[k]);
                if (i < piece->equality_count) cut_box(-factor, opposite, much, box[k]);
            }
        }
        if (pass == 0) column_intervals(this, (const int64_t(*)[2])box, columns);
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
        if (!formula_derive(piece, one, this->derived_masks[i], this->at)) this->status = FM_FORMULA_OVERFLOW;
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
        } else if (!masked_line_at(piece, line, mask_at(this, i, line), this->at, &value)) {
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
    if (at_once && box && formula_sum_along(&along, this->at, box[0], box[1], &this->sum)) {
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
        formula_sum_along(&along, this->at, first, last, &this->sum))
        last = first - 1; /* done */
    for (int64_t x = first; x <= last && may_go_on(this); x++) {
        bool fits = true, holds = true;
        this->at[variable] = x;
        for (size_t i = 0; i < piece->derived_count && fits; i++)
            if (varies[piece->derived[i].column])
                fits = formula_derive(piece, &piece->derived[i], this->derived_masks[i], this->at);
        for (size_t i = 0; i < count && fits && holds; i++) {
            int64_t value = 0;
            fits = masked_line_at(piece, changing[i], changing_masks[i], this->at, &value);
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
static void divide_box(evaluation *this, unsigned number, int64_t (*box)[2], const int64_t *shadow)
{
    const fm_formula_piece *piece = this->piece;
    int64_t smaller[FM_FORMULA_MOST_VARIABLES][2];
    memcpy(smaller, box, sizeof smaller);
    if (!may_go_on(this) || !shrink_box(this, smaller)) return;
    const int64_t first = smaller[number][0], last = smaller[number][1];
    if (first > last) return;
    if (first < last) {
        const int64_t middle = first + (last - first) / 2;
        smaller[number][1] = middle;
        divide_box(this, number, smaller, shadow);
        smaller[number][0] = middle + 1;
        smaller[number][1] = last;
        divide_box(this, number, smaller, shadow);
        return;
    }
    this->at[piece->parameters + number] = first;
    shadow += (piece->shadow_counts[number] + piece->alone_counts[number] + piece->plain_counts[number]) *
              (piece->columns + 1u);
    if (number + 2 == piece->variables)
        go_through(this, number + 1, shadow, smaller[number + 1]);
    else
        divide_box(this, number + 1, smaller, shadow);
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
        if (!formula_derive(piece, &piece->derived[i], this->derived_masks[i], this->at))
            this->status = FM_FORMULA_OVERFLOW;
    for (unsigned i = 0; i < piece->variables; i++) {
        at += piece->shadow_counts[i] * width;
        if (!find_range(this, i, at, piece->alone_counts[i], &box[i][0], &box[i][1]))
            this->status = FM_FORMULA_TOO_LONG;
        if (box[i][0] > box[i][1]) return;
        at += (piece->alone_counts[i] + piece->plain_counts[i]) * width;
    }
    divide_box(this, 0, box, shadow);
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
