/* SPDX-License-Identifier: Apache-2.0 */
/*
 * formulas.c - loops whose bounds are sums of parameters and outer variables, summed up symbolically.
 *
 * The sum over a loop is a polynomial as long as the loop does not run backwards: its last value is at least
 * its first one less 1. That is a condition; where it depends on outer loops, it is asked for the worst of
 * their values. What has no such sum (guards, minima, quotients, steps) is refused, never approximated.
 */
#include "static/formulas.h"

#include "base/error.h"
#include "base/memory.h"
#include "static/region_text.h"

#include <stdlib.h>
#include <string.h>

typedef struct summed_loop {
    uint32_t variable;
    fm_polynomial first, last;
} summed_loop;

typedef struct finder {
    const fm_region *region;
    fm_formulas *formulas;
    summed_loop loops[FM_MOST_LOOPS];
    unsigned depth;
    FILE *conditions;
    char *text;
    size_t size;
} finder;

static unsigned symbol_of(const finder *self, unsigned level)
{
    return (unsigned)self->region->parameter_count + level;
}

/* False: it is no polynomial (or too large a one). */
static bool to_polynomial(const finder *self, const fm_expr *expression, fm_polynomial *result)
{
    fm_polynomial left = {.divisor = 1}, right = {.divisor = 1};
    int64_t number;
    bool fits = false;
    switch (expression->kind) {
    case FM_EXPR_NUMBER:
        return fm_polynomial_number(result, expression->number);
    case FM_EXPR_PARAMETER:
        if (self->region->parameters[expression->index].has_value)
            return fm_polynomial_number(result, self->region->parameters[expression->index].value);
        return fm_polynomial_symbol(result, expression->index);
    case FM_EXPR_VARIABLE:
        for (unsigned i = 0; i < self->depth; i++)
            if (self->loops[i].variable == expression->index)
                return fm_polynomial_symbol(result, symbol_of(self, i));
        return false;
    default:
        break;
    }
    if (to_polynomial(self, expression->left, &left) && to_polynomial(self, expression->right, &right)) {
        if (expression->kind == FM_EXPR_ADD) {
            fits = fm_polynomial_add(result, &left, &right);
        } else if (expression->kind == FM_EXPR_MULTIPLY) {
            fits = fm_polynomial_multiply(result, &left, &right);
        } else if (fm_polynomial_is_number(&left, &number) && fm_polynomial_is_number(&right, &number)) {
            /* Numbers only: as they are. */
            int64_t a, value;
            fm_polynomial_is_number(&left, &a);
            const fm_expr sides[] = {{.kind = FM_EXPR_NUMBER, .number = a},
                                     {.kind = FM_EXPR_NUMBER, .number = number}};
            const fm_expr both = {.kind = expression->kind, .left = &sides[0], .right = &sides[1]};
            fits = fm_expr_value(&both, NULL, NULL, &value) && fm_polynomial_number(result, value);
        }
    }
    fm_polynomial_clear(&left);
    fm_polynomial_clear(&right);
    return fits;
}

/* ---- conditions ---- */

static fm_status add_condition(finder *self, fm_polynomial *least, fm_error *error)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    if (!stream) return fm_fail(error, FM_E_NOMEM, NULL, "out of memory: no room for a condition");
    fm_polynomial_write(stream, least, self->formulas->names);
    fputs(" >= 0", stream);
    fclose(stream);
    fflush(self->conditions);
    bool known = false;
    for (const char *at = self->text; at && *at && !known;
         at = strstr(at, " and "), at = at ? at + 5 : NULL) {
        size_t length = strcspn(at, "=");
        known = strncmp(at, text, length) == 0 && strncmp(text + length, "= 0", 4) == 0;
    }
    if (!known) fprintf(self->conditions, "%s%s", self->size ? " and " : "", text);
    fflush(self->conditions);
    free(text);
    return FM_OK;
}

/* The loop at `level` never runs backwards: last - first + 1 >= 0 for all values of outer loops. */
static fm_status check_loop(finder *self, unsigned level, const fm_region_node *node, fm_error *error)
{
    fm_polynomial least = {.divisor = 1}, other = {.divisor = 1};
    const summed_loop *loop = &self->loops[level];
    bool fits = fm_polynomial_scale(&least, &loop->first, -1) &&
                fm_polynomial_add(&least, &least, &loop->last) && fm_polynomial_number(&other, 1) &&
                fm_polynomial_add(&least, &least, &other);
    for (unsigned i = level; i-- > 0 && fits;) {
        int64_t factor;
        fits = fm_polynomial_affine_in(&least, symbol_of(self, i), &factor);
        if (fits && factor != 0)
            fits = fm_polynomial_replace(&least, &least, symbol_of(self, i),
                                         factor > 0 ? &self->loops[i].first : &self->loops[i].last);
    }
    int64_t number;
    fm_status status = FM_OK;
    if (!fits || (fm_polynomial_is_number(&least, &number) && number < 0))
        status = fm_region_fail(error, FM_E_UNSUPPORTED, self->region, &node->place,
                                "the loop over '%.60s' does not run for some values of outer loops: there is "
                                "no single formula",
                                self->region->variables[node->variable]);
    else if (!fm_polynomial_is_number(&least, &number))
        status = add_condition(self, &least, error);
    fm_polynomial_clear(&least);
    fm_polynomial_clear(&other);
    return status;
}

/* ---- sums ---- */

static fm_status find_nodes(finder *self, const fm_region_node *node, fm_error *error);

static fm_status find_statement(finder *self, const fm_region_node *node, fm_error *error)
{
    fm_polynomial *sum = &self->formulas->executions[node->statement];
    bool fits = fm_polynomial_number(sum, 1);
    for (unsigned i = self->depth; i-- > 0 && fits;)
        fits = fm_polynomial_sum(sum, sum, symbol_of(self, i), &self->loops[i].first, &self->loops[i].last);
    if (fits) return FM_OK;
    return fm_region_fail(error, FM_E_UNSUPPORTED, self->region, &node->place,
                          "the formula of this statement has numbers beyond 128 bits");
}

/* A loop with steps whose number of iterations is known: counted from 0 to that. */
static bool steps_to_ones(const fm_region_node *node, summed_loop *loop)
{
    int64_t first, last;
    if (!fm_polynomial_is_number(&loop->first, &first) || !fm_polynomial_is_number(&loop->last, &last))
        return false;
    int64_t span = node->step > 0 ? last - first : first - last;
    int64_t step = node->step > 0 ? node->step : -node->step;
    return fm_polynomial_number(&loop->first, 0) &&
           fm_polynomial_number(&loop->last, span < 0 ? -1 : span / step);
}

static bool uses_variable(const fm_region_node *node, uint32_t variable);

static fm_status find_loop(finder *self, const fm_region_node *node, fm_error *error)
{
    summed_loop *loop = &self->loops[self->depth];
    bool down = node->step < 0;
    *loop = (summed_loop){node->variable, {.divisor = 1}, {.divisor = 1}};
    if (symbol_of(self, self->depth) >= FM_MOST_SYMBOLS)
        return fm_region_fail(error, FM_E_UNSUPPORTED, self->region, &node->place,
                              "more than %d parameters and loops", FM_MOST_SYMBOLS);
    fm_status status = FM_OK;
    if (!to_polynomial(self, node->first, down ? &loop->last : &loop->first) ||
        !to_polynomial(self, node->last, down ? &loop->first : &loop->last))
        status = fm_region_fail(error, FM_E_UNSUPPORTED, self->region, &node->place,
                                "a bound of the loop over '%.60s' is no sum of parameters and variables",
                                self->region->variables[node->variable]);
    bool single = node->step == 1 || node->step == -1;
    if (status == FM_OK && !single) {
        if (down) {
            fm_polynomial swapped = loop->first;
            loop->first = loop->last;
            loop->last = swapped;
        }
        if (uses_variable(node->body, node->variable) || !steps_to_ones(node, loop))
            status = fm_region_fail(error, FM_E_UNSUPPORTED, self->region, &node->place,
                                    "the loop over '%.60s' has a step of %lld: its formula needs quotients",
                                    self->region->variables[node->variable], (long long)node->step);
    }
    if (status == FM_OK) status = check_loop(self, self->depth, node, error);
    if (status == FM_OK) {
        self->depth++;
        status = find_nodes(self, node->body, error);
        self->depth--;
    }
    fm_polynomial_clear(&loop->first);
    fm_polynomial_clear(&loop->last);
    return status;
}

/* Does a bound inside depend on it? (Guards are refused anyway.) */
static bool uses_variable(const fm_region_node *node, uint32_t variable)
{
    for (; node; node = node->next)
        if (node->kind == FM_NODE_LOOP &&
            (fm_expr_uses(node->first, variable) || fm_expr_uses(node->last, variable) ||
             uses_variable(node->body, variable)))
            return true;
    return false;
}

static fm_status find_nodes(finder *self, const fm_region_node *node, fm_error *error)
{
    fm_status status = FM_OK;
    for (; node && status == FM_OK; node = node->next) {
        switch (node->kind) {
        case FM_NODE_LOOP:
            status = find_loop(self, node, error);
            break;
        case FM_NODE_STATEMENT:
            status = find_statement(self, node, error);
            break;
        case FM_NODE_IF:
            return fm_region_fail(error, FM_E_UNSUPPORTED, self->region, &node->place,
                                  "a guard: there is no single formula");
        }
    }
    return status;
}

fm_status fm_formulas_find(fm_formulas *formulas, const fm_region *region, fm_error *error)
{
    finder *self = fm_calloc(1, sizeof *self);
    *formulas = (fm_formulas){.count = region->statement_count};
    formulas->executions = fm_calloc((size_t)region->statement_count + 1, sizeof *formulas->executions);
    fm_status status = FM_OK;
    if (self) self->conditions = open_memstream(&self->text, &self->size);
    if (!self || !formulas->executions || !self->conditions) {
        status = fm_fail(error, FM_E_NOMEM, NULL, "out of memory: no room for formulas");
    } else {
        self->region = region;
        self->formulas = formulas;
        for (size_t i = 0; i < formulas->count; i++) formulas->executions[i].divisor = 1;
        for (size_t i = 0; i < region->parameter_count && i < FM_MOST_SYMBOLS; i++)
            formulas->names[i] = region->parameters[i].name;
        status = find_nodes(self, region->body, error);
    }
    if (self && self->conditions) {
        if (fclose(self->conditions) != 0 && status == FM_OK)
            status = fm_fail(error, FM_E_NOMEM, NULL, "out of memory: no room for conditions");
        if (status == FM_OK && self->size > 0)
            formulas->condition = self->text;
        else
            free(self->text);
    }
    free(self);
    if (status != FM_OK) fm_formulas_clear(formulas);
    return status;
}

void fm_formulas_clear(fm_formulas *formulas)
{
    for (size_t i = 0; i < formulas->count && formulas->executions; i++)
        fm_polynomial_clear(&formulas->executions[i]);
    free(formulas->executions);
    free(formulas->condition);
    *formulas = (fm_formulas){0};
}
