/* SPDX-License-Identifier: Apache-2.0 */
/*
 * formulas.c - loops whose bounds are sums of parameters and outer variables, summed up symbolically.
 *
 * The sum over a loop is a polynomial as long as the loop does not run backwards: its last value is at least
 * its first one less 1. That is a condition; where it depends on outer loops, it is asked for the worst of
 * their values. What has no such sum (guards, minima, quotients, steps) is refused, never approximated.
 */
#include "static/counts/counts.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

typedef struct summed_loop {
    uint32_t variable;
    fm_poly first, last;
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

static void set_number(fm_poly *to, int64_t number)
{
    fm_poly_clear(to);
    fm_poly_add_number(to, number);
}

static void set_variable(fm_poly *to, unsigned column)
{
    fm_line line = {.at[0] = 0};
    line.at[column] = 1;
    fm_poly_clear(to);
    fm_poly_add_line(to, &line, column + 1, 1);
}

/* Numbers only: as they are. */
static bool compute_numbers(fm_expr_kind kind, const fm_poly *left, const fm_poly *right, fm_poly *result)
{
    int64_t a, b, value;
    if (!fm_poly_is_number(left, &a) || !fm_poly_is_number(right, &b) || !fm_expr_compute(kind, a, b, &value))
        return false;
    set_number(result, value);
    return true;
}

/* False: it is no polynomial. */
static bool to_polynomial(const finder *self, const fm_expr *expression, fm_poly *result)
{
    const fm_region_parameter *parameter;
    switch (expression->kind) {
    case FM_EXPR_NUMBER:
        set_number(result, expression->number);
        return true;
    case FM_EXPR_PARAMETER:
        parameter = &self->region->parameters[expression->index];
        if (parameter->has_value)
            set_number(result, parameter->value);
        else if (expression->index < FM_CONSTANT)
            set_variable(result, expression->index);
        else
            return false;
        return true;
    case FM_EXPR_VARIABLE:
        for (unsigned i = 0; i < self->depth; i++)
            if (self->loops[i].variable == expression->index) {
                set_variable(result, symbol_of(self, i));
                return true;
            }
        return false;
    default:
        break;
    }
    fm_poly left = {0}, right = {0};
    bool fits =
        to_polynomial(self, expression->left, &left) && to_polynomial(self, expression->right, &right);
    if (fits && expression->kind == FM_EXPR_ADD) {
        fm_poly_clear(result);
        fm_poly_add(result, &left, 1, 1);
        fm_poly_add(result, &right, 1, 1);
    } else if (fits && expression->kind == FM_EXPR_MULTIPLY) {
        fm_poly_clear(result);
        *result = fm_poly_product(&left, &right);
    } else {
        fits = fits && compute_numbers(expression->kind, &left, &right, result);
    }
    fm_poly_clear(&left);
    fm_poly_clear(&right);
    return fits && !result->failed;
}

/* ---- conditions ---- */

static fm_status add_condition(finder *self, fm_poly *least, fm_error *error)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    if (!stream) return fm_fail(error, FM_E_NOMEM, NULL, "out of memory: no room for a condition");
    fm_poly_write(stream, least, self->formulas->names);
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
    fm_poly least = {0};
    const summed_loop *loop = &self->loops[level];
    fm_poly_add_number(&least, 1);
    fm_poly_add(&least, &loop->last, 1, 1);
    fm_poly_add(&least, &loop->first, -1, 1);
    bool fits = true;
    for (unsigned i = level; i-- > 0 && fits;) {
        int64_t factor;
        fits = fm_poly_affine_in(&least, symbol_of(self, i), &factor);
        if (!fits || factor == 0) continue;
        const summed_loop *outer = &self->loops[i];
        fm_poly worst =
            fm_poly_replaced(&least, symbol_of(self, i), factor > 0 ? &outer->first : &outer->last);
        fm_poly_clear(&least);
        least = worst;
    }
    fits = fits && !least.failed;
    int64_t number;
    fm_status status = FM_OK;
    if (!fits || (fm_poly_is_number(&least, &number) && number < 0))
        status = fm_region_fail(error, FM_E_UNSUPPORTED, self->region, &node->place,
                                "the loop over '%.60s' does not run for some values of outer loops: there is "
                                "no single formula",
                                self->region->variables[node->variable]);
    else if (!fm_poly_is_number(&least, &number))
        status = add_condition(self, &least, error);
    fm_poly_clear(&least);
    return status;
}

/* ---- sums ---- */

static fm_status find_nodes(finder *self, const fm_region_node *node, fm_error *error);

static fm_status find_statement(finder *self, const fm_region_node *node, fm_error *error)
{
    fm_poly *sum = &self->formulas->executions[node->statement];
    set_number(sum, 1);
    for (unsigned i = self->depth; i-- > 0;) {
        fm_poly all = fm_poly_sum(sum, symbol_of(self, i), &self->loops[i].first, &self->loops[i].last);
        fm_poly_clear(sum);
        *sum = all;
    }
    if (!sum->failed) return FM_OK;
    return fm_region_fail(error, FM_E_UNSUPPORTED, self->region, &node->place,
                          "the formula of this statement has powers beyond %d", FM_MOST_DEGREE);
}

/* A loop with steps whose number of iterations is known: counted from 0 to that. */
static bool steps_to_ones(const fm_region_node *node, summed_loop *loop)
{
    int64_t first, last;
    if (!fm_poly_is_number(&loop->first, &first) || !fm_poly_is_number(&loop->last, &last)) return false;
    int64_t span = node->step > 0 ? last - first : first - last;
    int64_t step = node->step > 0 ? node->step : -node->step;
    set_number(&loop->first, 0);
    set_number(&loop->last, span < 0 ? -1 : span / step);
    return true;
}

static bool uses_variable(const fm_region_node *node, uint32_t variable);

static fm_status find_loop(finder *self, const fm_region_node *node, fm_error *error)
{
    summed_loop *loop = &self->loops[self->depth];
    bool down = node->step < 0;
    *loop = (summed_loop){.variable = node->variable};
    if (symbol_of(self, self->depth) >= FM_CONSTANT)
        return fm_region_fail(error, FM_E_UNSUPPORTED, self->region, &node->place,
                              "more than %d parameters and loops", FM_CONSTANT);
    fm_status status = FM_OK;
    if (!to_polynomial(self, node->first, down ? &loop->last : &loop->first) ||
        !to_polynomial(self, node->last, down ? &loop->first : &loop->last))
        status = fm_region_fail(error, FM_E_UNSUPPORTED, self->region, &node->place,
                                "a bound of the loop over '%.60s' is no sum of parameters and variables",
                                self->region->variables[node->variable]);
    bool single = node->step == 1 || node->step == -1;
    if (status == FM_OK && !single) {
        if (down) {
            fm_poly swapped = loop->first;
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
    fm_poly_clear(&loop->first);
    fm_poly_clear(&loop->last);
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
        for (size_t i = 0; i < region->parameter_count && i < FM_COLUMNS; i++)
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
        fm_poly_clear(&formulas->executions[i]);
    free(formulas->executions);
    free(formulas->condition);
    *formulas = (fm_formulas){0};
}
