/* SPDX-License-Identifier: Apache-2.0 */
/* counter_values.c - see counter_values.h. */
#include "static/counter/counter_values.h"

#include "base/memory.h"
#include "static/counter/counter_plan.h"
#include "static/counter/counter_reduce.h"
#include "static/counter/counter_walk.h"

#include <stdlib.h>
#include <string.h>

enum { STEPS_BETWEEN_LOOKS = 1 << 12, MANY_STEPS = 20000 };

/* The quotients behind the variables. */
static bool extend(fm_walk *this, const fm_system *system, const fm_sparse *floors, int64_t *at)
{
    for (unsigned i = 0; i < system->extra; i++) {
        int64_t number;
        if (!fm_sparse_at(&floors[i], at, &number)) return fm_walk_too_large(this->work);
        at[system->kept + i] = fm_floor_divide(number, floors[i].by);
    }
    return true;
}

/* The value at a point with its quotients; the count. */
static bool value_at(fm_walk *this, const int64_t *at, int64_t *value)
{
    return fm_quick_poly_value(&this->value, at, value) || fm_walk_too_large(this->work);
}

static bool count_at(fm_walk *this, const int64_t *at, uint64_t *count)
{
    int64_t number;
    if (!fm_quick_poly_value(&this->count, at, &number) || number < 0) return fm_walk_too_large(this->work);
    *count = (uint64_t)number;
    return true;
}

/* The quotients of the value's system at the point. */
static bool extend_value(fm_walk *this, int64_t *at)
{
    memcpy(at, this->at, this->value_system->kept * sizeof at[0]);
    return extend(this, this->value_system, this->value_floors, at);
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
        if (!extend(this, this->domain, this->floors, this->at)) return false;
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
        if (!fm_sparse_at(&at->line, this->at, &value)) return fm_walk_too_large(this->work);
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
    if (!fm_run_sum(differences, this->count_degree, (uint64_t)count, &sum))
        return fm_walk_too_large(this->work);
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
    if (!fm_walk_goes_evenly(this) || (last - first) / this->period <= (int64_t)this->value_degree + 2)
        return add_points(this, inner, first, 1, last - first + 1);
    for (int64_t i = 0; i < this->period; i++)
        if (!add_steps(this, inner, first + i, (last - first - i) / this->period + 1)) return false;
    return true;
}

static bool go_through(fm_walk *this, unsigned place)
{
    int64_t first = 0, last = 0;
    if (this->domain->kept == 0) return add_points(this, 0, 0, 0, 1);
    if (!fm_walk_bounds(this, place, &first, &last)) return false;
    if (place == this->domain->kept - 1) return add_range(this, this->order[place], first, last);
    for (int64_t i = first; i <= last; i++) {
        this->at[this->order[place]] = i;
        if (!go_through(this, place + 1)) return false;
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
        done = fm_walk_prepare(&this, &plan->value, &counts->value);
        *steps += this.cost;
        if (done && runs) done = go_through(&this, 0);
        fm_walk_clear(&this);
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
    if (!fm_plan_create(work, &other, piece, true)) return false;
    bool done = go_through_plan(work, &other, NULL, NULL, &other_steps);
    if (done && other_steps < steps) {
        fm_plan better = other;
        other = *plan;
        *plan = better;
    }
    fm_plan_clear(&other);
    return done;
}

static bool plan_values(fm_isl_work *work, const fm_counter_piece *piece, fm_runs *runs, uint64_t *points)
{
    fm_plan plan;
    double steps;
    if (!fm_plan_create(work, &plan, piece, false)) return false;
    bool done = improve_plan(work, &plan, piece) && go_through_plan(work, &plan, runs, points, &steps);
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
