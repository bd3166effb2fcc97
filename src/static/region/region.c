/* SPDX-License-Identifier: Apache-2.0 */
/* region.c - what others may ask of a region, its parameters, and copies of it. */
#include "static/region/region.h"

#include "base/error.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What others may ask of a region, and its parameters. */

fm_status fm_region_fail_list(fm_error *error, fm_status status, const fm_region *region,
                              const fm_region_place *place, const char *format, va_list arguments)
{
    char reason[480];
    vsnprintf(reason, sizeof reason, format, arguments);
    if (place->file == 0 || place->file > region->file_count)
        return fm_fail(error, status, NULL, "%s", reason);
    return fm_fail_at(error, status, region->files[place->file - 1],
                      place->line ? FM_PLACE_LINE : FM_PLACE_NONE, place->line, "%s", reason);
}

fm_status fm_region_fail(fm_error *error, fm_status status, const fm_region *region,
                         const fm_region_place *place, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    status = fm_region_fail_list(error, status, region, place, format, arguments);
    va_end(arguments);
    return status;
}

fm_status fm_region_values(const fm_region *region, int64_t *values, fm_error *error)
{
    for (size_t i = 0; i < region->parameter_count; i++) {
        if (!region->parameters[i].has_value)
            return fm_fail(error, FM_E_ARGUMENT, NULL, "the parameter '%.60s' has no value",
                           region->parameters[i].name);
        values[i] = region->parameters[i].value;
    }
    return FM_OK;
}

void fm_region_destroy(fm_region *region)
{
    if (!region) return;
    fm_arena_destroy(region->arena);
    free(region);
}

size_t fm_region_parameter_count(const fm_region *region)
{
    return region->parameter_count;
}

const char *fm_region_parameter_name(const fm_region *region, size_t index)
{
    return index < region->parameter_count ? region->parameters[index].name : NULL;
}

bool fm_region_parameter_value(const fm_region *region, size_t index, int64_t *value)
{
    if (index >= region->parameter_count || !region->parameters[index].has_value) return false;
    *value = region->parameters[index].value;
    return true;
}

fm_status fm_region_set_parameter(fm_region *region, const char *name, int64_t value, fm_error *error)
{
    FM_REQUIRE(region, error);
    for (size_t i = 0; i < region->parameter_count; i++) {
        fm_region_parameter *parameter = &region->parameters[i];
        if (strcmp(parameter->name, name) != 0) continue;
        parameter->has_value = true;
        parameter->value = value;
        return FM_OK;
    }
    char known[256] = "";
    for (size_t i = 0; i < region->parameter_count; i++) {
        size_t used = strlen(known), length = strlen(region->parameters[i].name);
        if (used + length + 3 > sizeof known) break;
        if (used > 0) strcat(known, ", ");
        strcat(known, region->parameters[i].name);
    }
    if (!known[0]) return fm_fail(error, FM_E_ARGUMENT, NULL, "the region has no parameter '%.60s'", name);
    return fm_fail(error, FM_E_ARGUMENT, NULL, "the region has no parameter '%.60s': it has %s", name, known);
}

const char *fm_region_name(const fm_region *region)
{
    return region->function;
}

bool fm_region_lines(const fm_region *region, const char **file, uint32_t *first, uint32_t *last)
{
    if (region->place.file == 0 || region->place.line == 0) return false;
    *file = region->files[region->place.file - 1];
    *first = region->place.line;
    *last = region->place.last_line ? region->place.last_line : region->place.line;
    return true;
}

const char *fm_region_note(const fm_region *region, size_t index)
{
    return index < region->note_count ? region->notes[index] : NULL;
}

char *fm_region_list_values(const fm_region *region)
{
    char *text = NULL;
    size_t size, count = 0;
    FILE *stream = open_memstream(&text, &size);
    if (!stream) return NULL;
    for (size_t i = 0; i < region->parameter_count; i++)
        if (region->parameters[i].has_value)
            fprintf(stream, "%s%s = %" PRId64, count++ ? ", " : "", region->parameters[i].name,
                    region->parameters[i].value);
    if (fclose(stream) == 0) return text;
    free(text);
    return NULL;
}

char *fm_region_list_notes(const fm_region *region)
{
    char *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    if (!stream) return NULL;
    for (size_t i = 0; i < region->note_count; i++) fprintf(stream, "%s%s", i ? "\n" : "", region->notes[i]);
    if (fclose(stream) == 0) return text;
    free(text);
    return NULL;
}

static const fm_region_access *find_access(const fm_region_node *node, uint32_t number)
{
    for (; node; node = node->next) {
        if (node->kind == FM_NODE_STATEMENT) {
            if (number - node->first_access < node->access_count)
                return &node->accesses[number - node->first_access];
            continue;
        }
        const fm_region_access *found = find_access(node->body, number);
        if (!found) found = find_access(node->otherwise, number);
        if (found) return found;
    }
    return NULL;
}

const fm_region_access *fm_region_access_at(const fm_region *region, uint32_t number)
{
    return find_access(region->body, number);
}

/* ---- copies ---- */

/* ---- expressions and conditions ---- */

const fm_expr *fm_expr_replace(fm_arena *arena, const fm_expr *expression, uint32_t variable,
                               const fm_expr *by)
{
    if (!expression) return NULL;
    if (by && expression->kind == FM_EXPR_VARIABLE && expression->index == variable) return by;
    fm_expr *made = fm_arena_allocate(arena, 1, sizeof *made);
    if (!made) return NULL;
    *made = *expression;
    if (!expression->left) return made;
    made->left = fm_expr_replace(arena, expression->left, variable, by);
    made->right = fm_expr_replace(arena, expression->right, variable, by);
    return made->left && made->right ? made : NULL;
}

static const fm_condition *replace_condition(fm_arena *arena, const fm_condition *condition,
                                             uint32_t variable, const fm_expr *by)
{
    fm_condition *made = fm_arena_allocate(arena, 1, sizeof *made);
    if (!made) return NULL;
    *made = *condition;
    if (condition->expression) {
        made->expression = fm_expr_replace(arena, condition->expression, variable, by);
        if (!made->expression) return NULL;
    }
    if (condition->left && !(made->left = replace_condition(arena, condition->left, variable, by)))
        return NULL;
    if (condition->right && !(made->right = replace_condition(arena, condition->right, variable, by)))
        return NULL;
    return made;
}

static bool constant_value(const fm_region *region, const fm_expr *expression, int64_t *value)
{
    if (expression->kind == FM_EXPR_NUMBER) {
        *value = expression->number;
        return true;
    }
    if (expression->kind != FM_EXPR_PARAMETER || !region->parameters[expression->index].has_value)
        return false;
    *value = region->parameters[expression->index].value;
    return true;
}

bool fm_expr_same(const fm_region *region, const fm_expr *left, const fm_expr *right)
{
    int64_t a, b;
    if (constant_value(region, left, &a) && constant_value(region, right, &b)) return a == b;
    if (left->kind != right->kind || left->index != right->index || left->number != right->number)
        return false;
    return !left->left ||
           (fm_expr_same(region, left->left, right->left) && fm_expr_same(region, left->right, right->right));
}

/* ---- nodes ---- */

static bool replace_bounds(fm_arena *arena, fm_region_node *node, uint32_t variable, const fm_expr *by)
{
    node->first = fm_expr_replace(arena, node->first, variable, by);
    node->last = fm_expr_replace(arena, node->last, variable, by);
    return node->first && node->last;
}

static bool replace_accesses(fm_arena *arena, const fm_region *region, fm_region_node *node,
                             uint32_t variable, const fm_expr *by)
{
    for (size_t i = 0; i < node->access_count; i++)
        for (unsigned d = 0; d < region->arrays[node->accesses[i].array].dimensions; d++) {
            const fm_expr **subscript = &node->accesses[i].subscripts[d];
            *subscript = fm_expr_replace(arena, *subscript, variable, by);
            if (!*subscript) return false;
        }
    return true;
}

bool fm_nodes_replace(fm_arena *arena, const fm_region *region, fm_region_node *node, uint32_t variable,
                      const fm_expr *by)
{
    for (; node; node = node->next) {
        if (node->kind == FM_NODE_LOOP && !replace_bounds(arena, node, variable, by)) return false;
        if (node->kind == FM_NODE_IF &&
            !(node->condition = replace_condition(arena, node->condition, variable, by)))
            return false;
        if (node->kind == FM_NODE_STATEMENT && !replace_accesses(arena, region, node, variable, by))
            return false;
        if (!fm_nodes_replace(arena, region, node->body, variable, by) ||
            !fm_nodes_replace(arena, region, node->otherwise, variable, by))
            return false;
    }
    return true;
}

/* The nodes; what they point to is still the other region's. */
static bool copy_nodes(fm_region *to, const fm_region_node *from, fm_region_node **made)
{
    *made = NULL;
    for (; from; from = from->next) {
        fm_region_node *node = *made = fm_arena_allocate(to->arena, 1, sizeof *node);
        if (!node) return false;
        *node = *from;
        node->next = NULL;
        made = &node->next;
        if (!copy_nodes(to, from->body, &node->body) || !copy_nodes(to, from->otherwise, &node->otherwise))
            return false;
        if (from->access_count == 0) continue;
        node->accesses = fm_arena_allocate(to->arena, from->access_count, sizeof *node->accesses);
        if (!node->accesses) return false;
        memcpy(node->accesses, from->accesses, from->access_count * sizeof *node->accesses);
        for (size_t i = 0; i < from->access_count; i++) {
            fm_region_access *access = &node->accesses[i];
            const unsigned dimensions = to->arrays[access->array].dimensions;
            access->subscripts = fm_arena_allocate(to->arena, dimensions + 1, sizeof access->subscripts[0]);
            if (!access->subscripts) return false;
            memcpy(access->subscripts, from->accesses[i].subscripts,
                   dimensions * sizeof access->subscripts[0]);
            if (access->text && !(access->text = fm_arena_intern(to->arena, access->text))) return false;
        }
    }
    return true;
}

/* ---- the region ---- */

static const char **copy_texts(fm_arena *arena, const char **from, size_t count)
{
    const char **made = fm_arena_allocate(arena, count + 1, sizeof *made);
    for (size_t i = 0; i < count && made; i++)
        if (!(made[i] = fm_arena_intern(arena, from[i]))) return NULL;
    return made;
}

static bool copy_arrays(fm_region *to, const fm_region *from)
{
    to->arrays = fm_arena_allocate(to->arena, from->array_count + 1, sizeof *to->arrays);
    for (size_t i = 0; i < from->array_count && to->arrays; i++) {
        const fm_region_array *other = &from->arrays[i];
        fm_region_array *array = &to->arrays[i];
        *array = *other;
        array->name = fm_arena_intern(to->arena, other->name);
        array->extents = fm_arena_allocate(to->arena, other->dimensions + 1, sizeof array->extents[0]);
        if (!array->name || !array->extents) return false;
        for (unsigned d = 0; d < other->dimensions; d++)
            if (other->extents[d] &&
                !(array->extents[d] = fm_expr_replace(to->arena, other->extents[d], 0, NULL)))
                return false;
        if (!other->lows) continue;
        int64_t *lows = fm_arena_allocate(to->arena, other->dimensions + 1, sizeof *lows);
        if (!lows) return false;
        memcpy(lows, other->lows, other->dimensions * sizeof *lows);
        array->lows = lows;
    }
    return to->arrays;
}

static bool copy_declarations(fm_region *to, const fm_region *from)
{
    fm_arena *arena = to->arena;
    to->files = copy_texts(arena, from->files, from->file_count);
    to->variables = copy_texts(arena, from->variables, from->variable_count);
    to->notes = copy_texts(arena, from->notes, from->note_count);
    to->parameters = fm_arena_allocate(arena, from->parameter_count + 1, sizeof *to->parameters);
    to->assumptions = fm_arena_allocate(arena, from->assumption_count + 1, sizeof *to->assumptions);
    if (!to->files || !to->variables || !to->notes || !to->parameters || !to->assumptions) return false;
    if (from->function && !(to->function = fm_arena_intern(arena, from->function))) return false;
    for (size_t i = 0; i < from->parameter_count; i++) {
        to->parameters[i] = from->parameters[i];
        if (!(to->parameters[i].name = fm_arena_intern(arena, from->parameters[i].name))) return false;
    }
    for (size_t i = 0; i < from->assumption_count; i++)
        if (!(to->assumptions[i] = replace_condition(arena, from->assumptions[i], 0, NULL))) return false;
    return copy_arrays(to, from);
}

fm_status fm_region_copy(fm_region **copy, const fm_region *region, fm_error *error)
{
    fm_region *made = malloc(sizeof *made);
    *copy = NULL;
    if (made) {
        *made = *region;
        made->origin = NULL;
        made->arena = fm_arena_create();
    }
    if (!made || !made->arena || !copy_declarations(made, region) ||
        !copy_nodes(made, region->body, &made->body) ||
        !fm_nodes_replace(made->arena, made, made->body, 0, NULL)) {
        if (made && made->arena)
            fm_region_destroy(made);
        else
            free(made);
        return fm_fail(error, FM_E_NOMEM, NULL, "out of memory: no room for a region");
    }
    *copy = made;
    return FM_OK;
}
