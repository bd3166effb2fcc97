/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counts.c - how often statements are executed.
 *
 * Loops whose bodies do not depend on their variables cost nothing, and so do loops around such loops only:
 * between the places where a guard changes or a loop in it begins to run, how often everything in it is
 * executed follows a polynomial of the variable, which is summed up by its differences. A nest of d loops
 * that all depend on each other takes as many steps as its outer d - 2 loops have iterations.
 */
#include "static/counts/counts.h"

#include "base/crew.h"
#include "base/error.h"
#include "base/memory.h"
#include "static/region/region.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_CUTS = 64, MOST_DEGREE = 6 };

typedef struct counter {
    const fm_region *region;
    const int64_t *parameters;
    int64_t *variables;
    bool *steers; /* of each variable: a bound or a condition inside its loop uses it */
    uint64_t *executions;
    double deadline;
    unsigned steps;
    uint64_t *samples; /* MOST_DEGREE + 1 times the number of statements */
} counter;

/* Values of a variable at which something in its loop may change. */
typedef struct cut_list {
    uint32_t variable;
    int64_t first, last; /* of the variable */
    int64_t at[MOST_CUTS];
    unsigned count;
} cut_list;

static void mark_expression(counter *self, const fm_expr *expression)
{
    if (expression->kind == FM_EXPR_VARIABLE) self->steers[expression->index] = true;
    if (!expression->left) return;
    mark_expression(self, expression->left);
    mark_expression(self, expression->right);
}

static void mark_condition(counter *self, const fm_condition *condition)
{
    if (condition->expression) mark_expression(self, condition->expression);
    if (condition->left) mark_condition(self, condition->left);
    if (condition->right) mark_condition(self, condition->right);
}

static void mark_nodes(counter *self, const fm_region_node *node)
{
    for (; node; node = node->next) {
        if (node->kind == FM_NODE_LOOP) {
            mark_expression(self, node->first);
            mark_expression(self, node->last);
        }
        if (node->kind == FM_NODE_IF) mark_condition(self, node->condition);
        mark_nodes(self, node->body);
        mark_nodes(self, node->otherwise);
    }
}

static fm_status count_nodes(counter *self, const fm_region_node *node, uint64_t times, fm_error *error);

/* ---- sums in closed form ---- */

/* Is it a sum with a whole factor of the variable? */
static bool is_affine_in(const fm_expr *expression, uint32_t variable)
{
    if (!fm_expr_uses(expression, variable)) return true;
    if (expression->kind == FM_EXPR_VARIABLE) return true;
    const fm_expr *left = expression->left, *right = expression->right;
    if (expression->kind == FM_EXPR_ADD) return is_affine_in(left, variable) && is_affine_in(right, variable);
    if (expression->kind != FM_EXPR_MULTIPLY) return false;
    return fm_expr_uses(left, variable) ? !fm_expr_uses(right, variable) && is_affine_in(left, variable)
                                        : is_affine_in(right, variable);
}

static bool add_cut(cut_list *cuts, __int128 at)
{
    unsigned place = cuts->count;
    if (at <= cuts->first || at > cuts->last) return true;
    while (place > 0 && cuts->at[place - 1] > at) place--;
    if (place > 0 && cuts->at[place - 1] == at) return true;
    if (cuts->count == MOST_CUTS) return false;
    memmove(&cuts->at[place + 1], &cuts->at[place], (cuts->count - place) * sizeof cuts->at[0]);
    cuts->at[place] = (int64_t)at;
    cuts->count++;
    return true;
}

/* Where base + factor * variable becomes at least 0, or less, and the same of 1. */
static bool add_cuts(cut_list *cuts, __int128 base, __int128 factor)
{
    for (int more = 0; more < 2 && factor; more++) {
        const __int128 from = base - more;
        __int128 at =
            factor > 0 ? -fm_floor_divide_wide(from, factor) : fm_floor_divide_wide(from, -factor) + 1;
        if (!add_cut(cuts, at)) return false;
    }
    return true;
}

/* The expression is base + factor * variable. */
static bool line_of(counter *self, const fm_expr *expression, uint32_t variable, int64_t *base,
                    int64_t *factor)
{
    const int64_t kept = self->variables[variable];
    int64_t next;
    if (!is_affine_in(expression, variable)) return false;
    self->variables[variable] = 0;
    bool fits = fm_expr_value(expression, self->parameters, self->variables, base);
    self->variables[variable] = 1;
    fits = fits && fm_expr_value(expression, self->parameters, self->variables, &next);
    self->variables[variable] = kept;
    return fits && !__builtin_sub_overflow(next, *base, factor);
}

static bool cuts_of_condition(counter *self, const fm_condition *condition, cut_list *cuts)
{
    int64_t base, factor;
    if (condition->expression && !(line_of(self, condition->expression, cuts->variable, &base, &factor) &&
                                   add_cuts(cuts, base, factor)))
        return false;
    return (!condition->left || cuts_of_condition(self, condition->left, cuts)) &&
           (!condition->right || cuts_of_condition(self, condition->right, cuts));
}

/* False: it is not that simple. *degree: of how many loops the numbers of iterations depend on the variable.
 */
static bool cuts_of_nodes(counter *self, const fm_region_node *node, cut_list *cuts, unsigned depth,
                          unsigned *degree)
{
    for (; node; node = node->next) {
        unsigned inside = depth;
        if (node->kind == FM_NODE_IF && !cuts_of_condition(self, node->condition, cuts)) return false;
        if (node->kind == FM_NODE_LOOP) {
            int64_t first, last, growth, growth_last;
            if (self->steers[node->variable]) return false;
            if (!line_of(self, node->first, cuts->variable, &first, &growth) ||
                !line_of(self, node->last, cuts->variable, &last, &growth_last))
                return false;
            const int sign = node->step > 0 ? 1 : -1;
            const __int128 span = sign * ((__int128)last - first),
                           more = sign * ((__int128)growth_last - growth);
            if (more && node->step != sign) return false; /* quotients */
            if (!add_cuts(cuts, span, more)) return false;
            inside += more != 0;
        }
        if (inside > *degree) *degree = inside;
        if (!cuts_of_nodes(self, node->body, cuts, inside, degree) ||
            !cuts_of_nodes(self, node->otherwise, cuts, inside, degree))
            return false;
    }
    return true;
}

/* Executions of each statement follow polynomials, of which the first degree + 1 values are given: adds the
 * sum of the first `length`. False: numbers are too large. */
static bool add_polynomial(const uint64_t *samples, size_t statements, unsigned degree, uint64_t length,
                           uint64_t *executions)
{
    for (size_t s = 0; s < statements; s++) {
        __int128 differences[MOST_DEGREE + 1], sum = 0, chosen = (__int128)length;
        for (unsigned i = 0; i <= degree; i++) differences[i] = samples[i * statements + s];
        for (unsigned j = 1; j <= degree; j++)
            for (unsigned i = degree; i >= j; i--) differences[i] -= differences[i - 1];
        for (unsigned i = 0; i <= degree; i++) { /* chosen: length over i + 1 */
            __int128 product;
            if (__builtin_mul_overflow(differences[i], chosen, &product) ||
                __builtin_add_overflow(sum, product, &sum) ||
                __builtin_mul_overflow(chosen, (__int128)length - i - 1, &chosen))
                return false;
            chosen /= i + 2;
        }
        if (sum > UINT64_MAX || __builtin_add_overflow(executions[s], (uint64_t)sum, &executions[s]))
            return false;
    }
    return true;
}

/* Variable from `from` on, so many values, nothing changes in between. */
static fm_status sum_interval(counter *self, const fm_region_node *node, int64_t from, uint64_t length,
                              unsigned degree, uint64_t times, fm_error *error)
{
    const size_t statements = self->region->statement_count;
    uint64_t *executions = self->executions;
    const bool few = length <= degree + 1;
    fm_status status = FM_OK;
    memset(self->samples, 0, (degree + 1) * statements * sizeof *self->samples);
    for (unsigned i = 0; i < (few ? length : degree + 1) && status == FM_OK; i++) {
        self->variables[node->variable] = from + (int64_t)i;
        if (!few) self->executions = self->samples + i * statements;
        status = count_nodes(self, node->body, times, error);
    }
    self->executions = executions;
    if (status != FM_OK || few) return status;
    return add_polynomial(self->samples, statements, degree, length, executions)
               ? FM_OK
               : fm_region_fail(error, FM_E_LIMIT, self->region, &node->place,
                                "a statement is executed more than 2^64 times");
}

/* The loop in closed form; *done: false where it is not that simple, and nothing was counted. */
static fm_status sum_loop(counter *self, const fm_region_node *node, int64_t first, int64_t last,
                          uint64_t times, bool *done, fm_error *error)
{
    cut_list cuts = {.variable = node->variable};
    unsigned degree = 0;
    cuts.first = first < last ? first : last;
    cuts.last = first < last ? last : first;
    *done = (node->step == 1 || node->step == -1) && cuts_of_nodes(self, node->body, &cuts, 0, &degree) &&
            degree <= MOST_DEGREE;
    fm_status status = FM_OK;
    int64_t from = cuts.first;
    for (unsigned i = 0; i <= cuts.count && *done && status == FM_OK; i++) {
        const int64_t to = i < cuts.count ? cuts.at[i] - 1 : cuts.last;
        status = sum_interval(self, node, from, (uint64_t)(to - from) + 1, degree, times, error);
        from = to + 1;
    }
    return status;
}

/* ---- loops ---- */

static fm_status count_loop(counter *self, const fm_region_node *node, uint64_t times, fm_error *error)
{
    int64_t first, last, span;
    uint64_t iterations, all;
    if (!fm_expr_value(node->first, self->parameters, self->variables, &first) ||
        !fm_expr_value(node->last, self->parameters, self->variables, &last) ||
        __builtin_sub_overflow(node->step > 0 ? last : first, node->step > 0 ? first : last, &span))
        return fm_region_fail(error, FM_E_ARGUMENT, self->region, &node->place,
                              "a bound of the loop over '%.60s' cannot be worked out",
                              self->region->variables[node->variable]);
    if (span < 0) return FM_OK;
    iterations = (uint64_t)span / (uint64_t)(node->step > 0 ? node->step : -node->step) + 1;
    if (!self->steers[node->variable]) {
        if (__builtin_mul_overflow(times, iterations, &all))
            return fm_region_fail(error, FM_E_LIMIT, self->region, &node->place,
                                  "statements are executed more than 2^64 times");
        return count_nodes(self, node->body, all, error);
    }
    bool done = false;
    fm_status status = iterations > 2 ? sum_loop(self, node, first, last, times, &done, error) : FM_OK;
    if (done) return status;
    for (uint64_t i = 0; i < iterations && status == FM_OK; i++) {
        if (self->deadline > 0 && (++self->steps & 4095) == 0 && fm_now() > self->deadline)
            return fm_fail(error, FM_E_LIMIT, NULL, "counting took longer than allowed");
        self->variables[node->variable] = first + (int64_t)i * node->step;
        status = count_nodes(self, node->body, times, error);
    }
    return status;
}

static fm_status count_nodes(counter *self, const fm_region_node *node, uint64_t times, fm_error *error)
{
    fm_status status = FM_OK;
    for (; node && status == FM_OK; node = node->next) {
        bool holds;
        switch (node->kind) {
        case FM_NODE_LOOP:
            status = count_loop(self, node, times, error);
            break;
        case FM_NODE_IF:
            if (!fm_condition_value(node->condition, self->parameters, self->variables, &holds))
                return fm_region_fail(error, FM_E_ARGUMENT, self->region, &node->place,
                                      "a condition cannot be worked out");
            status = count_nodes(self, holds ? node->body : node->otherwise, times, error);
            break;
        case FM_NODE_STATEMENT:
            if (__builtin_add_overflow(self->executions[node->statement], times,
                                       &self->executions[node->statement]))
                return fm_region_fail(error, FM_E_LIMIT, self->region, &node->place,
                                      "a statement is executed more than 2^64 times");
            break;
        }
    }
    return status;
}

fm_status fm_count_executions(const fm_region *region, const int64_t *parameters, double deadline,
                              uint64_t *executions, fm_error *error)
{
    counter self = {
        .region = region,
        .parameters = parameters,
        .variables = fm_calloc(region->variable_count + 1, sizeof *self.variables),
        .steers = fm_calloc(region->variable_count + 1, sizeof *self.steers),
        .executions = executions,
        .deadline = deadline,
        .samples = fm_calloc(((size_t)region->statement_count + 1) * (MOST_DEGREE + 1), sizeof *self.samples),
    };
    fm_status status = FM_OK;
    for (uint32_t i = 0; i < region->statement_count; i++) executions[i] = 0;
    if (!self.variables || !self.steers || !self.samples)
        status = fm_fail(error, FM_E_NOMEM, NULL, "out of memory: no room for counts");
    if (status == FM_OK) {
        mark_nodes(&self, region->body);
        status = count_nodes(&self, region->body, 1, error);
    }
    free(self.variables);
    free(self.steers);
    free(self.samples);
    return status;
}
