/* SPDX-License-Identifier: Apache-2.0 */
/* counter_walk.c - see counter_walk.h. */
#include "static/counter/counter_walk.h"

#include "base/memory.h"
#include "static/polyhedra/rounding.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_PERIOD = 4096 };

bool fm_walk_too_large(fm_isl_work *work)
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

static fm_sparse sparse_of(const fm_line *line, unsigned columns, int64_t by)
{
    fm_sparse result = {.constant = line->at[FM_CONSTANT], .by = by};
    for (unsigned i = 0; i < columns; i++) {
        if (!line->at[i]) continue;
        result.columns[result.count] = (uint8_t)i;
        result.factors[result.count++] = line->at[i];
    }
    return result;
}

static fm_sparse *sparse_floors(fm_isl_work *work, const fm_system *system)
{
    fm_sparse *result = fm_calloc(system->extra + 1u, sizeof *result);
    if (!result) fm_isl_no_memory(work);
    for (unsigned i = 0; result && i < system->extra; i++)
        result[i] = sparse_of(&system->floors[i].of, system->kept + i, system->floors[i].by);
    return result;
}

bool fm_walk_goes_evenly(const fm_walk *this)
{
    return this->period && this->value_degree <= FM_RUN_DEGREE && this->count_degree < FM_RUN_DEGREE;
}

bool fm_walk_bounds(fm_walk *this, unsigned place, int64_t *first, int64_t *last)
{
    bool above = false, below = false;
    unsigned variable = this->order[place];
    this->at[variable] = 0;
    for (size_t i = 0; i < this->bounds[place].count; i++) {
        const fm_line *line = &this->bounds[place].lines[i];
        int64_t factor = line->at[variable], sum;
        if (!line_at(line, this->at, this->domain->kept, &sum)) return fm_walk_too_large(this->work);
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
        at->line = sparse_of(at->equality ? &domain->equalities.lines[i]
                                          : &domain->inequalities.lines[i - equalities],
                             fm_system_columns(domain), 1);
        fm_sparse slope = at->line;
        slope.constant = 0;
        if (!fm_sparse_at(&slope, this->growth, &at->growth)) return fm_walk_too_large(this->work);
    }
    return true;
}

/* The order with this variable as the innermost one, and all that depends on it. */
static bool use_order(fm_walk *this, unsigned inner, const fm_poly *value, const fm_poly *count)
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
    return !this->period || find_conditions(this);
}

/* About how many steps the order takes: by going through the middle of every range. */
static bool order_cost(fm_walk *this, double *cost)
{
    *cost = 1;
    for (unsigned place = 0; place < this->domain->kept; place++) {
        int64_t first = 0, last = 0;
        if (!fm_walk_bounds(this, place, &first, &last)) return false;
        this->at[this->order[place]] = first + (last - first) / 2;
        double length = last < first ? 1 : (double)(last - first) + 1, period = (double)this->period;
        if (place == this->domain->kept - 1 && fm_walk_goes_evenly(this) && length > 4 * period)
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

bool fm_walk_prepare(fm_walk *this, const fm_poly *value, const fm_poly *count)
{
    if (!fm_quick_poly_create(&this->value, value) || !fm_quick_poly_create(&this->count, count))
        return fm_walk_too_large(this->work);
    this->floors = sparse_floors(this->work, this->domain);
    this->value_floors = sparse_floors(this->work, this->value_system);
    if (!this->floors || !this->value_floors) return false;
    return !this->domain->kept || choose_order(this, value, count);
}

void fm_walk_clear(fm_walk *this)
{
    fm_quick_poly_clear(&this->value);
    fm_quick_poly_clear(&this->count);
    free(this->floors);
    free(this->value_floors);
    free(this->conditions);
    for (unsigned i = 0; i < FM_COLUMNS; i++) free(this->bounds[i].lines);
}
