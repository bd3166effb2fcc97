/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counts.c - how often statements are executed.
 *
 * The innermost loops, whose bodies do not depend on their variables, cost nothing: a nest of d loops that
 * all depend on each other takes as many steps as its outer d - 1 loops have iterations.
 */
#include "static/counts/counts.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "static/region/region_text.h"

#include <stdlib.h>
#include <time.h>

typedef struct counter {
    const fm_region *region;
    const int64_t *parameters;
    int64_t *variables;
    bool *steers; /* of each variable: a bound or a condition inside its loop uses it */
    uint64_t *executions;
    double deadline;
    unsigned steps;
} counter;

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

static void mark(counter *self, const fm_region_node *node)
{
    for (; node; node = node->next) {
        if (node->kind == FM_NODE_LOOP) {
            mark_expression(self, node->first);
            mark_expression(self, node->last);
        }
        if (node->kind == FM_NODE_IF) mark_condition(self, node->condition);
        mark(self, node->body);
        mark(self, node->otherwise);
    }
}

static fm_status count_nodes(counter *self, const fm_region_node *node, uint64_t times, fm_error *error);

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
    fm_status status = FM_OK;
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
    };
    fm_status status = FM_OK;
    for (uint32_t i = 0; i < region->statement_count; i++) executions[i] = 0;
    if (!self.variables || !self.steers)
        status = fm_fail(error, FM_E_NOMEM, NULL, "out of memory: no room for counts");
    if (status == FM_OK) {
        mark(&self, region->body);
        status = count_nodes(&self, region->body, 1, error);
    }
    free(self.variables);
    free(self.steers);
    return status;
}
