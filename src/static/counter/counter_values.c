/* SPDX-License-Identifier: Apache-2.0 */
/* counter_values.c - see counter_values.h. */
#include "static/counter/counter_values.h"

#include "base/memory.h"
#include "static/counter/counter_plan.h"
#include "static/counter/counter_reduce.h"

#include <stdlib.h>
#include <string.h>

enum { STEPS_BETWEEN_LOOKS = 1 << 12, MOST_PERIOD = 4096 };

/* A line without its zeros. */
typedef struct sparse {
    unsigned count;
    uint8_t columns[FM_COLUMNS];
    int64_t factors[FM_COLUMNS], constant, by; /* by: of a quotient */
} sparse;

typedef struct walk {
    fm_isl_work *work;
    const fm_system *domain; /* of the counts */
    const fm_system *value_system;
    fm_quick_poly value, count;
    unsigned value_degree, count_degree; /* in the innermost variable */
    unsigned order[FM_COLUMNS];          /* of the variables, from outside to inside */
    fm_counter_lines bounds[FM_COLUMNS]; /* of the variable at each place of the order */
    int64_t period; /* of the innermost variable, after which all quotients have grown by whole numbers; 0:
                       too long */
    int64_t growth[FM_COLUMNS], value_growth[FM_COLUMNS]; /* of the columns of both systems in this time */
    sparse *floors, *value_floors;                        /* their quotients */
    fm_runs *runs;
    uint64_t *points;
    uint64_t steps, next_look; /* so far; at how many the clock is looked at */
    int64_t at[FM_COLUMNS];    /* the variables, then quotients of the domain */
} walk;

static bool too_large(fm_isl_work *work)
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

static sparse sparse_of(const fm_line *line, unsigned columns, int64_t by)
{
    sparse result = {.constant = line->at[FM_CONSTANT], .by = by};
    for (unsigned i = 0; i < columns; i++) {
        if (!line->at[i]) continue;
        result.columns[result.count] = (uint8_t)i;
        result.factors[result.count++] = line->at[i];
    }
    return result;
}

static sparse *sparse_floors(fm_isl_work *work, const fm_system *system)
{
    sparse *result = fm_calloc(system->extra + 1u, sizeof *result);
    if (!result) fm_isl_no_memory(work);
    for (unsigned i = 0; result && i < system->extra; i++)
        result[i] = sparse_of(&system->floors[i].of, system->kept + i, system->floors[i].by);
    return result;
}

/* The quotients behind the variables. */
static bool extend(walk *this, const fm_system *system, const sparse *floors, int64_t *at)
{
    for (unsigned i = 0; i < system->extra; i++) {
        __int128 sum = floors[i].constant;
        for (unsigned j = 0; j < floors[i].count; j++)
            sum += (__int128)floors[i].factors[j] * at[floors[i].columns[j]];
        int64_t number = (int64_t)sum;
        if (number != sum) return too_large(this->work);
        at[system->kept + i] = fm_floor_divide(number, floors[i].by);
    }
    return true;
}

/* The value at a point with its quotients; the count. */
static bool value_at(walk *this, const int64_t *at, int64_t *value)
{
    return fm_quick_poly_value(&this->value, at, value) || too_large(this->work);
}

static bool count_at(walk *this, const int64_t *at, uint64_t *count)
{
    int64_t number;
    if (!fm_quick_poly_value(&this->count, at, &number) || number < 0) return too_large(this->work);
    *count = (uint64_t)number;
    return true;
}

/* The quotients of the value's system at the point. */
static bool extend_value(walk *this, int64_t *at)
{
    memcpy(at, this->at, this->value_system->kept * sizeof at[0]);
    return extend(this, this->value_system, this->value_floors, at);
}

static bool add_run(walk *this, int64_t first, int64_t stride, uint64_t length, const uint64_t *differences,
                    unsigned degree)
{
    return fm_runs_add(this->runs, first, stride, length, differences, degree) ||
           fm_isl_fail(this->work, FM_E_CORRUPT, "the exact count contradicts itself: a distance of %lld",
                       (long long)first);
}

static bool add_point(walk *this)
{
    int64_t value, at[FM_COLUMNS];
    uint64_t count = 0;
    if (!extend_value(this, at) || !value_at(this, at, &value) || !count_at(this, this->at, &count))
        return false;
    *this->points += count;
    return add_run(this, value, 0, 1, &count, 0);
}

static bool may_go_on(walk *this)
{
    if (++this->steps < this->next_look) return true;
    this->next_look = this->steps + STEPS_BETWEEN_LOOKS;
    return fm_isl_alive(this->work);
}

/* Point by point: so many steps of the innermost variable. */
static bool add_points(walk *this, unsigned inner, int64_t first, int64_t step, int64_t length)
{
    for (int64_t i = 0; i < length; i++) {
        if (!may_go_on(this)) return false;
        this->at[inner] = first + i * step;
        if (!extend(this, this->domain, this->floors, this->at)) return false;
        if (fm_system_holds(this->domain, this->at) && !add_point(this)) return false;
    }
    return true;
}

/* Where, of `length` steps of a period each, all conditions hold: *first … *first + *count - 1. at: of step
 * 0. */
static bool holding_steps(walk *this, int64_t length, int64_t *first, int64_t *count)
{
    const fm_system *domain = this->domain;
    int64_t last = length - 1;
    *first = 0;
    for (size_t i = 0; i < domain->equalities.count + domain->inequalities.count; i++) {
        bool equality = i < domain->equalities.count;
        const fm_line *line = equality ? &domain->equalities.lines[i]
                                       : &domain->inequalities.lines[i - domain->equalities.count];
        fm_line slope = *line;
        int64_t value, growth;
        slope.at[FM_CONSTANT] = 0;
        unsigned columns = fm_system_columns(domain);
        if (!line_at(line, this->at, columns, &value) || !line_at(&slope, this->growth, columns, &growth))
            return too_large(this->work);
        if (growth == 0) {
            if (equality ? value != 0 : value < 0) last = -1;
        } else if (equality) {
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
static bool add_stepping(walk *this, uint64_t *values, uint64_t *counts, int64_t length)
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
static bool add_steps(walk *this, unsigned inner, int64_t first, int64_t length)
{
    int64_t skipped = 0, count = 0;
    unsigned degree = this->value_degree > this->count_degree ? this->value_degree : this->count_degree;
    uint64_t values[FM_RUN_DEGREE + 1] = {0}, differences[FM_RUN_DEGREE + 1] = {0}, sum;
    this->steps += 8;
    this->at[inner] = first;
    if (!extend(this, this->domain, this->floors, this->at)) return false;
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
    if (!fm_run_sum(differences, this->count_degree, (uint64_t)count, &sum)) return too_large(this->work);
    *this->points += sum;
    if (this->value_degree <= 1)
        return add_run(this, (int64_t)values[0], (int64_t)values[1], (uint64_t)count, differences,
                       this->count_degree);
    return add_stepping(this, values, differences, count);
}

static bool goes_evenly(const walk *this)
{
    return this->period && this->value_degree <= FM_RUN_DEGREE && this->count_degree < FM_RUN_DEGREE;
}

static bool add_range(walk *this, unsigned inner, int64_t first, int64_t last)
{
    if (last < first) return true;
    if (!may_go_on(this)) return false;
    if (!goes_evenly(this) || (last - first) / this->period <= (int64_t)this->value_degree + 2)
        return add_points(this, inner, first, 1, last - first + 1);
    for (int64_t i = 0; i < this->period; i++)
        if (!add_steps(this, inner, first + i, (last - first - i) / this->period + 1)) return false;
    return true;
}

/* The range of the variable at a place of the order, when those before it have their values. */
static bool bounds_of(walk *this, unsigned place, int64_t *first, int64_t *last)
{
    bool above = false, below = false;
    unsigned variable = this->order[place];
    this->at[variable] = 0;
    for (size_t i = 0; i < this->bounds[place].count; i++) {
        const fm_line *line = &this->bounds[place].lines[i];
        int64_t factor = line->at[variable], sum;
        if (!line_at(line, this->at, this->domain->kept, &sum)) return too_large(this->work);
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

static bool go_through(walk *this, unsigned place)
{
    int64_t first = 0, last = 0;
    if (this->domain->kept == 0) return add_points(this, 0, 0, 0, 1);
    if (!bounds_of(this, place, &first, &last)) return false;
    if (place == this->domain->kept - 1) return add_range(this, this->order[place], first, last);
    for (int64_t i = first; i <= last; i++) {
        this->at[this->order[place]] = i;
        if (!go_through(this, place + 1)) return false;
    }
    return true;
}

/* ---- what is found out before ---- */

/* Conditions of one variable by some others: isl leaves out the rest (without regard to whole numbers, which
 * is enough for bounds). */
static bool find_bounds(fm_isl_work *work, const fm_system *domain, const bool *wanted,
                        fm_counter_lines *bounds)
{
    isl_basic_set *set = fm_system_to_isl(work, domain, NULL);
    fm_system shadow;
    for (unsigned i = fm_system_columns(domain); i-- > 0;)
        if (!wanted[i]) set = isl_basic_set_eliminate(set, isl_dim_set, i, 1);
    set = isl_basic_set_remove_divs(set);
    if (!fm_system_from_isl(work, &shadow, set, fm_system_columns(domain))) return false;
    bool done = true;
    bounds->count = 0;
    for (size_t i = 0; i < shadow.inequalities.count + 2 * shadow.equalities.count && done; i++) {
        fm_line *line = fm_lines_add(work, bounds);
        done = line != NULL;
        if (!done) break;
        size_t equality = i - shadow.inequalities.count;
        *line = i < shadow.inequalities.count ? shadow.inequalities.lines[i]
                                              : shadow.equalities.lines[equality / 2];
        for (unsigned j = 0; i >= shadow.inequalities.count && equality % 2 && j < FM_COLUMNS; j++)
            line->at[j] = -line->at[j];
    }
    fm_system_clear(&shadow);
    return done;
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

static int64_t divisor(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a < 0 ? -a : a;
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
        int64_t rest = (int64_t)(sum % quotient->by), times = quotient->by / divisor(quotient->by, rest);
        if (*period > MOST_PERIOD / times) return false;
        *period *= times;
        for (unsigned j = 0; j < system->kept + i; j++) growth[j] *= times;
        __int128 grown = sum * times / quotient->by;
        if (grown > INT64_MAX / MOST_PERIOD || grown < -(INT64_MAX / MOST_PERIOD)) return false;
        growth[system->kept + i] = (int64_t)grown;
    }
    return true;
}

/* The order with this variable as the innermost one, and all that depends on it. */
static bool use_order(walk *this, unsigned inner, const fm_poly *value, const fm_poly *count)
{
    bool wanted[FM_COLUMNS] = {false};
    unsigned place = 0;
    for (unsigned i = 0; i < this->domain->kept; i++)
        if (i != inner) this->order[place++] = i;
    this->order[place] = inner;
    for (place = 0; place < this->domain->kept; place++) {
        wanted[this->order[place]] = true;
        if (!find_bounds(this->work, this->domain, wanted, &this->bounds[place])) return false;
    }
    this->value_degree = degree_along(this->value_system, value, inner);
    this->count_degree = degree_along(this->domain, count, inner);
    this->period = 1;
    /* the value's again, by the common period */
    if (!find_period(this->value_system, inner, &this->period, this->value_growth) ||
        !find_period(this->domain, inner, &this->period, this->growth) ||
        !find_period(this->value_system, inner, &this->period, this->value_growth))
        this->period = 0;
    return true;
}

/* About how many steps the order takes: by going through the middle of every range. */
static bool order_cost(walk *this, double *cost)
{
    *cost = 1;
    for (unsigned place = 0; place < this->domain->kept; place++) {
        int64_t first = 0, last = 0;
        if (!bounds_of(this, place, &first, &last)) return false;
        this->at[this->order[place]] = first + (last - first) / 2;
        double length = last < first ? 1 : (double)(last - first) + 1, period = (double)this->period;
        if (place == this->domain->kept - 1 && goes_evenly(this) && length > 4 * period)
            length = 8 * period + (this->value_degree > 1 ? length / 16 : 0);
        *cost *= length;
    }
    return true;
}

static bool choose_order(walk *this, const fm_poly *value, const fm_poly *count)
{
    unsigned best = 0;
    double least = -1, cost;
    for (unsigned i = 0; i < this->domain->kept; i++) {
        if (!use_order(this, i, value, count) || !order_cost(this, &cost)) return false;
        if (least >= 0 && cost >= least) continue;
        least = cost;
        best = i;
    }
    return this->domain->kept == 1 || use_order(this, best, value, count);
}

static bool prepare(walk *this, const fm_poly *value, const fm_poly *count)
{
    if (!fm_quick_poly_create(&this->value, value) || !fm_quick_poly_create(&this->count, count))
        return too_large(this->work);
    this->floors = sparse_floors(this->work, this->domain);
    this->value_floors = sparse_floors(this->work, this->value_system);
    if (!this->floors || !this->value_floors) return false;
    return !this->domain->kept || choose_order(this, value, count);
}

static bool plan_values(fm_isl_work *work, const fm_counter_piece *piece, fm_runs *runs, uint64_t *points)
{
    fm_plan plan;
    if (!fm_plan_create(work, &plan, piece)) return false;
    bool done = true;
    for (size_t i = 0; i < plan.counts.count && done; i++) {
        const fm_counter_piece *counts = &plan.counts.pieces[i];
        walk this = {.work = work,
                     .domain = &counts->domain,
                     .value_system = &plan.value_system,
                     .runs = runs,
                     .points = points};
        done = prepare(&this, &plan.value, &counts->value) && go_through(&this, 0);
        fm_quick_poly_clear(&this.value);
        fm_quick_poly_clear(&this.count);
        free(this.floors);
        free(this.value_floors);
        for (unsigned j = 0; j < FM_COLUMNS; j++) free(this.bounds[j].lines);
    }
    fm_plan_clear(&plan);
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
