/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counter_values.c - how often the polynomials of pieces have which value (counter_values.h): which
 * variables must be gone through for that, in which order, and going through them.
 */
#include "static/counter/counter_values.h"

#include "base/memory.h"

#include <isl/ilp.h>
#include <isl/set.h>
#include <isl/val.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- plans ---- */

/*
 * Which variables must be gone through to know how often a polynomial has which value.
 *
 * Those that are multiplied with each other, and one for the sum of all that are not; or, where that takes
 * few steps, all that the polynomial has. All others are counted.
 */

typedef struct fm_plan {
    fm_system value_system; /* kept: the variables to go through; quotients of them; no conditions */
    fm_poly value;          /* by these */
    fm_pieces counts;       /* how many points there are for each; kept: the same variables */
    bool sum;               /* is the last variable a sum of others? */
} fm_plan;

enum { MOST_ROWS = 8192 };

typedef struct choice {
    const fm_counter_piece *piece;
    unsigned old;                 /* columns of the piece */
    bool gone[FM_COLUMNS];        /* of the piece's columns: gone through, or a quotient of such */
    bool others;                  /* the value has more than that */
    unsigned kept, extra;         /* of the new system */
    unsigned columns[FM_COLUMNS]; /* where the piece's columns are in the new system */
} choice;

/* all: of the polynomial, however many steps that takes. */
static void plan_clear(fm_plan *plan)
{
    fm_system_clear(&plan->value_system);
    fm_poly_clear(&plan->value);
    fm_pieces_clear(&plan->counts);
}

/* A variable is gone through, or for a quotient all variables in it. */
static void mark_column(choice *this, unsigned column)
{
    const fm_system *domain = &this->piece->domain;
    this->gone[column] = true;
    if (column < domain->kept) return;
    for (unsigned i = 0; i < column; i++)
        if (domain->floors[column - domain->kept].of.at[i]) mark_column(this, i);
}

/* How many values a variable has, at most. */
static bool range_of(fm_isl_work *work, isl_set *set, unsigned variable, double *range)
{
    isl_val *least = isl_set_dim_min_val(isl_set_copy(set), (int)variable);
    isl_val *most = isl_set_dim_max_val(isl_set_copy(set), (int)variable);
    bool done = least && most;
    *range = done && isl_val_is_int(least) == isl_bool_true && isl_val_is_int(most) == isl_bool_true
                 ? isl_val_get_d(most) - isl_val_get_d(least) + 1
                 : HUGE_VAL;
    isl_val_free(least);
    isl_val_free(most);
    return done || fm_isl_gave_up(work);
}

/*
 * To go through all variables of the value needs no sum of them, which is the more difficult count. It takes
 * as many steps as all of them but one have values.
 */
static bool choose_all(fm_isl_work *work, choice *this, bool whatever)
{
    const fm_system *domain = &this->piece->domain;
    choice all = *this;
    unsigned more = 0;
    double rows = 1, most = 1;
    for (unsigned i = 0; i < this->old; i++)
        if (fm_poly_uses(&this->piece->value, i)) mark_column(&all, i);
    for (unsigned i = 0; i < domain->kept; i++) more += all.gone[i] && !this->gone[i];
    if (more > 1 && !whatever) {
        isl_set *set = isl_set_from_basic_set(fm_system_to_isl(work, domain, NULL));
        bool done = true;
        for (unsigned i = 0; i < domain->kept && done; i++) {
            double range;
            if (!all.gone[i]) continue;
            done = range_of(work, set, i, &range);
            rows *= range;
            if (range > most) most = range;
        }
        isl_set_free(set);
        if (!done) return false;
        if (rows / most > MOST_ROWS) return true;
    }
    memcpy(this->gone, all.gone, sizeof this->gone);
    return true;
}

static bool choose_variables(fm_isl_work *work, choice *this, bool whatever)
{
    const fm_system *domain = &this->piece->domain;
    const fm_poly *value = &this->piece->value;
    this->old = domain->kept + domain->extra;
    for (size_t i = 0; i < value->count; i++)
        for (unsigned j = 0; j < this->old && fm_term_degree(&value->terms[i]) > 1; j++)
            if (value->terms[i].powers[j]) mark_column(this, j);
    if (!choose_all(work, this, whatever)) return false;
    for (unsigned i = 0; i < domain->extra; i++) {
        bool all = true;
        for (unsigned j = 0; j < domain->kept + i; j++)
            if (domain->floors[i].of.at[j] && !this->gone[j]) all = false;
        this->gone[domain->kept + i] = all;
    }
    for (unsigned i = 0; i < this->old; i++) {
        if (this->gone[i])
            *(i < domain->kept ? &this->kept : &this->extra) += 1;
        else if (fm_poly_uses(value, i))
            this->others = true;
    }
    unsigned variable = 0, quotient = this->kept + this->others, counted = quotient + this->extra;
    for (unsigned i = 0; i < this->old; i++)
        this->columns[i] = !this->gone[i] ? counted++ : i < domain->kept ? variable++ : quotient++;
    this->kept += this->others;
    return true;
}

static fm_line moved_line(const choice *this, const fm_line *line)
{
    fm_line result = {{0}};
    for (unsigned i = 0; i < this->old; i++)
        if (line->at[i]) result.at[this->columns[i]] = line->at[i];
    result.at[FM_CONSTANT] = line->at[FM_CONSTANT];
    return result;
}

static bool take_floors(fm_isl_work *work, const choice *this, fm_system *system)
{
    const fm_system *domain = &this->piece->domain;
    if (this->extra && fm_array_reserve((void **)&system->floors, &system->floor_capacity, this->extra,
                                        sizeof *system->floors))
        return fm_isl_no_memory(work);
    for (unsigned i = 0; i < domain->extra; i++)
        if (this->gone[domain->kept + i])
            system->floors[system->extra++] =
                (fm_floor){moved_line(this, &domain->floors[i].of), domain->floors[i].by};
    return true;
}

/* The domain by the new columns. */
static bool make_system(fm_isl_work *work, const choice *this, fm_system *system)
{
    const fm_system *domain = &this->piece->domain;
    system->kept = this->kept;
    system->counted = this->old + this->others - this->kept - this->extra;
    if (this->kept + this->extra + system->counted >= FM_CONSTANT)
        return fm_isl_fail(work, FM_E_LIMIT, "the exact count was given up: more than %d unknowns at a time",
                           FM_CONSTANT - 1);
    if (!take_floors(work, this, system)) return false;
    const fm_counter_lines *from[2] = {&domain->equalities, &domain->inequalities};
    fm_counter_lines *to[2] = {&system->equalities, &system->inequalities};
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < from[k]->count; i++) {
            fm_line *line = fm_lines_add(work, to[k]);
            if (!line) return false;
            *line = moved_line(this, &from[k]->lines[i]);
        }
    for (unsigned i = 0; i < 2 * domain->extra; i++) {
        const fm_floor *quotient = &domain->floors[i / 2];
        if (this->gone[domain->kept + i / 2]) continue;
        fm_line *line = fm_lines_add(work, &system->inequalities);
        if (!line) return false;
        *line = moved_line(this, &quotient->of);
        line->at[this->columns[domain->kept + i / 2]] = -quotient->by;
        if (i % 2 == 0) continue;
        for (unsigned j = 0; j < FM_COLUMNS; j++) line->at[j] = -line->at[j];
        line->at[FM_CONSTANT] += quotient->by - 1;
    }
    return true;
}

/* A factor times a common denominator; false: it does not fit. */
static bool whole_factor(mpq_srcptr factor, mpz_srcptr denominator, int64_t *number)
{
    mpz_t whole;
    mpz_init(whole);
    mpz_divexact(whole, denominator, mpq_denref(factor));
    mpz_mul(whole, whole, mpq_numref(factor));
    bool fits = mpz_sizeinbase(whole, 2) <= 62;
    if (fits) *number = mpz_get_si(whole);
    mpz_clear(whole);
    return fits;
}

/* The value by the new columns: what is not gone through is one sum, which is a variable of the system. */
static bool make_value(fm_isl_work *work, const choice *this, fm_poly *result, fm_system *system)
{
    const fm_poly *value = &this->piece->value;
    fm_line sum = {{0}};
    mpz_t denominator;
    bool fits = true;
    mpz_init_set_ui(denominator, 1);
    for (size_t i = 0; i < value->count; i++)
        mpz_lcm(denominator, denominator, mpq_denref(value->terms[i].factor));
    fits = mpz_sizeinbase(denominator, 2) <= 62;
    *result = fm_poly_copy(value);
    for (size_t i = 0; i < value->count && fits && !result->failed; i++) {
        uint8_t powers[FM_COLUMNS] = {0};
        fm_counter_term *term = &result->terms[i];
        for (unsigned j = 0; j < this->old; j++) {
            if (!term->powers[j]) continue;
            if (this->gone[j]) {
                powers[this->columns[j]] = term->powers[j];
                continue;
            }
            fits = whole_factor(value->terms[i].factor, denominator, &sum.at[this->columns[j]]);
            mpq_set_si(term->factor, 0, 1); /* it is in the sum, which follows */
        }
        memcpy(term->powers, powers, sizeof powers);
    }
    if (this->others && fits) {
        fm_poly part = {0};
        fm_line line = {{0}};
        line.at[this->kept - 1] = 1;
        fm_poly_add_line(&part, &line, this->kept, 1);
        fm_poly_add(result, &part, 1, mpz_get_si(denominator));
        fm_poly_clear(&part);
        sum.at[this->kept - 1] = -1;
        fm_line *equality = fm_lines_add(work, &system->equalities);
        if (equality) *equality = sum;
    }
    mpz_clear(denominator);
    if (!fits || result->failed)
        fm_isl_fail(work, FM_E_LIMIT, "the exact count was given up: numbers beyond 64 bits");
    return work->status == FM_OK;
}

/* all: of the polynomial, however many steps that takes. */
static bool plan_create(fm_isl_work *work, fm_plan *plan, const fm_counter_piece *piece, bool all)
{
    choice this = {.piece = piece};
    fm_system system = {0};
    memset(plan, 0, sizeof *plan);
    if (!choose_variables(work, &this, all)) return false;
    plan->sum = this.others;
    bool done = make_system(work, &this, &system) && make_value(work, &this, &plan->value, &system);
    plan->value_system.kept = this.kept;
    done = done && take_floors(work, &this, &plan->value_system);
    if (done)
        done = fm_count_system(work, &system, &plan->counts);
    else
        fm_system_clear(&system);
    if (!done) plan_clear(plan);
    return done;
}

/* ---- walks ---- */

/*
 * Going through the variables of a plan: in which order, between which bounds, and what is even along the
 * innermost one.
 */

/* Of the domain; growth: in one period of the innermost variable. */
typedef struct fm_walk_condition {
    const fm_line *line;
    uint64_t mask; /* of the columns that it has */
    int64_t growth;
    bool equality;
} fm_walk_condition;

typedef struct fm_walk {
    fm_isl_work *work;
    const fm_system *domain; /* of the counts */
    const fm_system *value_system;
    fm_quick_poly value, count;
    unsigned value_degree, count_degree; /* in the innermost variable */
    unsigned order[FM_COLUMNS];          /* of the variables, from outside to inside */
    fm_counter_lines bounds[FM_COLUMNS]; /* of the variable at each place of the order */
    int64_t period; /* of the innermost variable, after which all quotients have grown by whole numbers; 0:
                       too long */
    int64_t growth[FM_COLUMNS], value_growth[FM_COLUMNS];  /* of the columns of both systems in this time */
    uint64_t floors[FM_COLUMNS], value_floors[FM_COLUMNS]; /* columns that their quotients have */
    fm_walk_condition *conditions;
    size_t condition_count;
    fm_runs *runs;
    uint64_t *points;
    double cost;               /* about how many steps it takes */
    uint64_t steps, next_look; /* so far; at how many the clock is looked at */
    int64_t at[FM_COLUMNS];    /* the variables, then quotients of the domain */
} fm_walk;

enum { MOST_PERIOD = 4096 };

/* Says that numbers are too large. Returns false. */
static bool walk_too_large(fm_isl_work *work)
{
    return fm_isl_fail(work, FM_E_LIMIT, "the exact count was given up: numbers beyond 64 bits");
}

static bool line_at(const fm_line *line, const int64_t *values, unsigned columns, int64_t *value)
{
    int64_t sum = line->at[FM_CONSTANT];
    for (unsigned i = 0; i < columns; i++) {
        int64_t product;
        if (!line->at[i]) continue;
        if (__builtin_mul_overflow(line->at[i], values[i], &product)) return false;
        if (__builtin_add_overflow(sum, product, &sum)) return false;
    }
    *value = sum;
    return true;
}

static void find_masks(const fm_system *system, uint64_t *masks)
{
    for (unsigned i = 0; i < system->extra; i++)
        masks[i] = fm_line_mask(system->floors[i].of.at, system->kept + i);
}

/* Are value and count polynomials along the innermost variable, for each remainder of it? */
static bool walk_goes_evenly(const fm_walk *this)
{
    return this->period && this->value_degree <= FM_RUN_DEGREE && this->count_degree < FM_RUN_DEGREE;
}

/* The range of the variable at a place of the order, when those before it have their values. */
static bool walk_bounds(fm_walk *this, unsigned place, int64_t *first, int64_t *last)
{
    bool above = false, below = false;
    unsigned variable = this->order[place];
    this->at[variable] = 0;
    for (size_t i = 0; i < this->bounds[place].count; i++) {
        const fm_line *line = &this->bounds[place].lines[i];
        int64_t factor = line->at[variable], sum;
        if (!line_at(line, this->at, this->domain->kept, &sum)) return walk_too_large(this->work);
        if (factor > 0) {
            int64_t bound = -fm_floor_divide(sum, factor);
            if (!above || bound > *first) *first = bound;
            above = true;
        } else if (factor < 0) {
            int64_t bound = fm_floor_divide(sum, -factor);
            if (!below || bound < *last) *last = bound;
            below = true;
        }
    }
    return (above && below) ||
           fm_isl_fail(this->work, FM_E_LIMIT, "the exact count was given up: a range without an end");
}

/* Columns that change with the variable. */
static void find_dependent(const fm_system *system, unsigned variable, bool *dependent)
{
    for (unsigned i = 0; i < system->kept; i++) dependent[i] = i == variable;
    for (unsigned i = 0; i < system->extra; i++) {
        dependent[system->kept + i] = false;
        for (unsigned j = 0; j < system->kept + i; j++)
            if (system->floors[i].of.at[j] && dependent[j]) dependent[system->kept + i] = true;
    }
}

static unsigned degree_along(const fm_system *system, const fm_poly *poly, unsigned variable)
{
    bool dependent[FM_COLUMNS];
    unsigned degree = 0;
    find_dependent(system, variable, dependent);
    for (size_t i = 0; i < poly->count; i++) {
        unsigned sum = 0;
        for (unsigned j = 0; j < system->kept + system->extra; j++)
            if (dependent[j]) sum += poly->terms[i].powers[j];
        if (mpq_sgn(poly->terms[i].factor) && sum > degree) degree = sum;
    }
    return degree;
}

/* How long it takes until all quotients have grown by whole numbers, and by which. False: too long. */
static bool find_period(const fm_system *system, unsigned variable, int64_t *period, int64_t *growth)
{
    memset(growth, 0, FM_COLUMNS * sizeof growth[0]);
    growth[variable] = *period;
    for (unsigned i = 0; i < system->extra; i++) {
        const fm_floor *quotient = &system->floors[i];
        __int128 sum = 0;
        for (unsigned j = 0; j < system->kept + i; j++) sum += (__int128)quotient->of.at[j] * growth[j];
        int64_t rest = (int64_t)(sum % quotient->by),
                times = quotient->by / fm_greatest_divisor(quotient->by, rest);
        if (*period > MOST_PERIOD / times) return false;
        *period *= times;
        for (unsigned j = 0; j < system->kept + i; j++) growth[j] *= times;
        __int128 grown = sum * times / quotient->by;
        if (grown > INT64_MAX / MOST_PERIOD || grown < -(INT64_MAX / MOST_PERIOD)) return false;
        growth[system->kept + i] = (int64_t)grown;
    }
    return true;
}

static bool find_conditions(fm_walk *this)
{
    const fm_system *domain = this->domain;
    const size_t equalities = domain->equalities.count;
    this->condition_count = equalities + domain->inequalities.count;
    if (!this->conditions) {
        this->conditions = fm_calloc(this->condition_count + 1, sizeof *this->conditions);
        if (!this->conditions) return fm_isl_no_memory(this->work);
    }
    for (size_t i = 0; i < this->condition_count; i++) {
        fm_walk_condition *at = &this->conditions[i];
        at->equality = i < equalities;
        at->line = at->equality ? &domain->equalities.lines[i] : &domain->inequalities.lines[i - equalities];
        at->mask = fm_line_mask(at->line->at, fm_system_columns(domain));
        if (!fm_line_masked_at(at->line->at, 0, at->mask, this->growth, &at->growth))
            return walk_too_large(this->work);
    }
    return true;
}

/* The order with this variable as the innermost one, and all that depends on it. */
static bool use_order(fm_walk *this, unsigned inner, const fm_poly *value, const fm_poly *count)
{
    bool dropped[FM_COLUMNS];
    unsigned place = 0;
    memset(dropped, true, sizeof dropped);
    for (unsigned i = 0; i < this->domain->kept; i++)
        if (i != inner) this->order[place++] = i;
    this->order[place] = inner;
    for (place = 0; place < this->domain->kept; place++) {
        dropped[this->order[place]] = false;
        if (!fm_system_shadow(this->work, this->domain, dropped, &this->bounds[place])) return false;
    }
    this->value_degree = degree_along(this->value_system, value, inner);
    this->count_degree = degree_along(this->domain, count, inner);
    this->period = 1;
    /* the value's again, by the common period */
    if (!find_period(this->value_system, inner, &this->period, this->value_growth) ||
        !find_period(this->domain, inner, &this->period, this->growth) ||
        !find_period(this->value_system, inner, &this->period, this->value_growth))
        this->period = 0;
    return !this->period || find_conditions(this);
}

/* About how many steps the order takes: by going through the middle of every range. */
static bool order_cost(fm_walk *this, double *cost)
{
    *cost = 1;
    for (unsigned place = 0; place < this->domain->kept; place++) {
        int64_t first = 0, last = 0;
        if (!walk_bounds(this, place, &first, &last)) return false;
        this->at[this->order[place]] = first + (last - first) / 2;
        double length = last < first ? 1 : (double)(last - first) + 1, period = (double)this->period;
        if (place == this->domain->kept - 1 && walk_goes_evenly(this) && length > 4 * period)
            length = 8 * period + (this->value_degree > 1 ? length / 16 : 0);
        *cost *= length;
    }
    return true;
}

static bool choose_order(fm_walk *this, const fm_poly *value, const fm_poly *count)
{
    unsigned best = 0;
    double least = -1, cost;
    for (unsigned i = 0; i < this->domain->kept; i++) {
        if (!use_order(this, i, value, count) || !order_cost(this, &cost)) return false;
        if (least >= 0 && cost >= least) continue;
        least = cost;
        best = i;
    }
    this->cost = least;
    return this->domain->kept == 1 || use_order(this, best, value, count);
}

/* domain, value_system and work are filled in: finds the best order, and all that depends on it. False: see
 * work. */
static bool walk_prepare(fm_walk *this, const fm_poly *value, const fm_poly *count)
{
    if (!fm_quick_poly_create(&this->value, value) || !fm_quick_poly_create(&this->count, count))
        return walk_too_large(this->work);
    find_masks(this->domain, this->floors);
    find_masks(this->value_system, this->value_floors);
    return !this->domain->kept || choose_order(this, value, count);
}

/* domain, value_system and work are filled in: finds the best order, and all that depends on it. False: see
 * work. */
static void walk_clear(fm_walk *this)
{
    fm_quick_poly_clear(&this->value);
    fm_quick_poly_clear(&this->count);
    free(this->conditions);
    for (unsigned i = 0; i < FM_COLUMNS; i++) free(this->bounds[i].lines);
}

/* ---- values ---- */

enum { STEPS_BETWEEN_LOOKS = 1 << 12, MANY_STEPS = 20000 };

/* The quotients behind the variables. */
static bool extend_point(fm_walk *this, const fm_system *system, const uint64_t *masks, int64_t *at)
{
    for (unsigned i = 0; i < system->extra; i++) {
        int64_t number;
        const fm_floor *one = &system->floors[i];
        if (!fm_line_masked_at(one->of.at, one->of.at[FM_CONSTANT], masks[i], at, &number))
            return walk_too_large(this->work);
        at[system->kept + i] = fm_floor_divide(number, one->by);
    }
    return true;
}

/* The value at a point with its quotients; the count. */
static bool value_at(fm_walk *this, const int64_t *at, int64_t *value)
{
    return fm_quick_poly_value(&this->value, at, value) || walk_too_large(this->work);
}

static bool count_at(fm_walk *this, const int64_t *at, uint64_t *count)
{
    int64_t number;
    if (!fm_quick_poly_value(&this->count, at, &number) || number < 0) return walk_too_large(this->work);
    *count = (uint64_t)number;
    return true;
}

/* The quotients of the value's system at the point. */
static bool extend_value(fm_walk *this, int64_t *at)
{
    memcpy(at, this->at, this->value_system->kept * sizeof at[0]);
    return extend_point(this, this->value_system, this->value_floors, at);
}

static bool add_run(fm_walk *this, int64_t first, int64_t stride, uint64_t length,
                    const uint64_t *differences, unsigned degree)
{
    return fm_runs_add(this->runs, first, stride, length, differences, degree) ||
           fm_isl_fail(this->work, FM_E_CORRUPT, "the exact count contradicts itself: a distance of %lld",
                       (long long)first);
}

static bool add_point(fm_walk *this)
{
    int64_t value, at[FM_COLUMNS];
    uint64_t count = 0;
    if (!extend_value(this, at) || !value_at(this, at, &value) || !count_at(this, this->at, &count))
        return false;
    *this->points += count;
    return add_run(this, value, 0, 1, &count, 0);
}

static bool may_go_on(fm_walk *this)
{
    if (++this->steps < this->next_look) return true;
    this->next_look = this->steps + STEPS_BETWEEN_LOOKS;
    return fm_isl_alive(this->work);
}

/* Point by point: so many steps of the innermost variable. */
static bool add_points(fm_walk *this, unsigned inner, int64_t first, int64_t step, int64_t length)
{
    for (int64_t i = 0; i < length; i++) {
        if (!may_go_on(this)) return false;
        this->at[inner] = first + i * step;
        if (!extend_point(this, this->domain, this->floors, this->at)) return false;
        if (fm_system_holds(this->domain, this->at) && !add_point(this)) return false;
    }
    return true;
}

/* Where, of `length` steps of a period each, all conditions hold: *first … *first + *count - 1. at: of step
 * 0. */
static bool holding_steps(fm_walk *this, int64_t length, int64_t *first, int64_t *count)
{
    int64_t last = length - 1;
    *first = 0;
    for (size_t i = 0; i < this->condition_count && *first <= last; i++) {
        const fm_walk_condition *at = &this->conditions[i];
        int64_t value, growth = at->growth;
        if (!fm_line_masked_at(at->line->at, at->line->at[FM_CONSTANT], at->mask, this->at, &value))
            return walk_too_large(this->work);
        if (growth == 0) {
            if (at->equality ? value != 0 : value < 0) last = -1;
        } else if (at->equality) {
            int64_t step = -value / growth;
            if (value % growth != 0) last = -1;
            if (step > *first) *first = step;
            if (step < last) last = step;
        } else if (growth > 0) {
            int64_t step = -fm_floor_divide(value, growth);
            if (step > *first) *first = step;
        } else {
            int64_t step = fm_floor_divide(value, -growth);
            if (step < last) last = step;
        }
    }
    *count = last >= *first ? last - *first + 1 : 0;
    return true;
}

static void make_differences(uint64_t *values, unsigned degree)
{
    for (unsigned j = 1; j <= degree; j++)
        for (unsigned i = degree; i >= j; i--) values[i] -= values[i - 1];
}

/* Value by value, where both are polynomials: only differences are added. */
static bool add_stepping(fm_walk *this, uint64_t *values, uint64_t *counts, int64_t length)
{
    unsigned degree = this->value_degree > this->count_degree ? this->value_degree : this->count_degree;
    for (int64_t i = 0; i < length; i++) {
        if (!add_run(this, (int64_t)values[0], 0, 1, counts, 0)) return false;
        for (unsigned j = 0; j < degree; j++) {
            values[j] += values[j + 1];
            counts[j] += counts[j + 1];
        }
    }
    this->steps += (uint64_t)length / 16;
    return true;
}

/* Steps of a period each, in which value and count are polynomials. */
static bool add_steps(fm_walk *this, unsigned inner, int64_t first, int64_t length)
{
    int64_t skipped = 0, count = 0;
    unsigned degree = this->value_degree > this->count_degree ? this->value_degree : this->count_degree;
    uint64_t values[FM_RUN_DEGREE + 1] = {0}, differences[FM_RUN_DEGREE + 1] = {0}, sum;
    this->steps += 8;
    this->at[inner] = first;
    if (!extend_point(this, this->domain, this->floors, this->at)) return false;
    if (!holding_steps(this, length, &skipped, &count)) return false;
    first += skipped * this->period;
    if (count <= (int64_t)degree || count < 2) return add_points(this, inner, first, this->period, count);
    int64_t at[FM_COLUMNS];
    for (unsigned j = 0; j < fm_system_columns(this->domain); j++) this->at[j] += skipped * this->growth[j];
    if (!extend_value(this, at)) return false;
    for (unsigned i = 0; i <= degree; i++) {
        int64_t value = 0;
        if (i <= this->count_degree && !count_at(this, this->at, &differences[i])) return false;
        if (i <= this->value_degree && !value_at(this, at, &value)) return false;
        values[i] = (uint64_t)value;
        for (unsigned j = 0; j < fm_system_columns(this->domain); j++) this->at[j] += this->growth[j];
        for (unsigned j = 0; j < fm_system_columns(this->value_system); j++) at[j] += this->value_growth[j];
    }
    make_differences(differences, this->count_degree);
    make_differences(values, this->value_degree);
    if (!fm_run_sum(differences, this->count_degree, (uint64_t)count, &sum))
        return walk_too_large(this->work);
    *this->points += sum;
    if (this->value_degree <= 1)
        return add_run(this, (int64_t)values[0], (int64_t)values[1], (uint64_t)count, differences,
                       this->count_degree);
    return add_stepping(this, values, differences, count);
}

static bool add_range(fm_walk *this, unsigned inner, int64_t first, int64_t last)
{
    if (last < first) return true;
    if (!may_go_on(this)) return false;
    if (!walk_goes_evenly(this) || (last - first) / this->period <= (int64_t)this->value_degree + 2)
        return add_points(this, inner, first, 1, last - first + 1);
    for (int64_t i = 0; i < this->period; i++)
        if (!add_steps(this, inner, first + i, (last - first - i) / this->period + 1)) return false;
    return true;
}

static bool walk_place(fm_walk *this, unsigned place)
{
    int64_t first = 0, last = 0;
    if (this->domain->kept == 0) return add_points(this, 0, 0, 0, 1);
    if (!walk_bounds(this, place, &first, &last)) return false;
    if (place == this->domain->kept - 1) return add_range(this, this->order[place], first, last);
    for (int64_t i = first; i <= last; i++) {
        this->at[this->order[place]] = i;
        if (!walk_place(this, place + 1)) return false;
    }
    return true;
}

/* Goes through what is planned, one count after the other; runs NULL: only says about how many steps it
 * takes. */
static bool go_through_plan(fm_isl_work *work, const fm_plan *plan, fm_runs *runs, uint64_t *points,
                            double *steps)
{
    bool done = true;
    *steps = 0;
    for (size_t i = 0; i < plan->counts.count && done; i++) {
        const fm_counter_piece *counts = &plan->counts.pieces[i];
        fm_walk this = {.work = work,
                        .domain = &counts->domain,
                        .value_system = &plan->value_system,
                        .runs = runs,
                        .points = points};
        done = walk_prepare(&this, &plan->value, &counts->value);
        *steps += this.cost;
        if (done && runs) done = walk_place(&this, 0);
        walk_clear(&this);
    }
    return done;
}

/* The values of a sum of variables may have to be gone through one by one, and may be many: then the
 * variables themselves are, if that is better. */
static bool improve_plan(fm_isl_work *work, fm_plan *plan, const fm_counter_piece *piece)
{
    double steps, other_steps;
    fm_plan other;
    if (!plan->sum) return true;
    if (!go_through_plan(work, plan, NULL, NULL, &steps)) return false;
    if (steps < MANY_STEPS) return true;
    if (!plan_create(work, &other, piece, true)) return false;
    bool done = go_through_plan(work, &other, NULL, NULL, &other_steps);
    if (done && other_steps < steps) {
        fm_plan better = other;
        other = *plan;
        *plan = better;
    }
    plan_clear(&other);
    return done;
}

static bool plan_values(fm_isl_work *work, const fm_counter_piece *piece, fm_runs *runs, uint64_t *points)
{
    fm_plan plan;
    double steps;
    if (!plan_create(work, &plan, piece, false)) return false;
    bool done = improve_plan(work, &plan, piece) && go_through_plan(work, &plan, runs, points, &steps);
    plan_clear(&plan);
    return done;
}

bool fm_piece_values(fm_isl_work *work, const fm_counter_piece *piece, fm_runs *runs, uint64_t *points)
{
    fm_counter_piece reduced = {.value = fm_poly_copy(&piece->value)};
    bool empty = false, done = fm_system_copy(work, &reduced.domain, &piece->domain);
    if (done && reduced.value.failed) done = fm_isl_no_memory(work);
    done = done && fm_piece_reduce(work, &reduced, &empty);
    if (done && !empty) done = plan_values(work, &reduced, runs, points);
    fm_system_clear(&reduced.domain);
    fm_poly_clear(&reduced.value);
    return done;
}
