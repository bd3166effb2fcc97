/* SPDX-License-Identifier: Apache-2.0 */
/* transform.c - a copy of a region with changed loops, step after step; and the loops that a step names. */
#include "static/change/transform.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- loops ---- */

typedef struct finder {
    fm_changer *changer;
    const fm_change_step *step;
    unsigned named, fitting;   /* loops with the first name; those that are as the step needs them */
    fm_region_node *candidate; /* the last one with the name */
    fm_region_node **loops;    /* of the last one that fits */
    unsigned count;
    char reason[300]; /* why the last one does not fit */
    char list[160];   /* loops with the name */
    char all[160];    /* every loop */
} finder;

/* How many loops over the variable `name` there are, in this line (0: in any), and which of them is `loop`.
 */
static void count_alike(const fm_region *region, const fm_region_node *node, const char *name, uint32_t line,
                        const fm_region_node *loop, uint32_t *count, uint32_t *number)
{
    for (; node; node = node->next) {
        if (node->kind == FM_NODE_LOOP && strcmp(region->variables[node->variable], name) == 0 &&
            (line == 0 || node->place.line == line)) {
            ++*count;
            if (node == loop) *number = *count;
        }
        count_alike(region, node->body, name, line, loop, count, number);
        count_alike(region, node->otherwise, name, line, loop, count, number);
    }
}

void fm_loop_label(const fm_region *region, const fm_region_node *loop, char *label, size_t size)
{
    const char *name = region->variables[loop->variable];
    uint32_t count = 0, number = 0;
    int used = snprintf(label, size, "%s", name);
    count_alike(region, region->body, name, loop->place.line, loop, &count, &number);
    if (loop->place.line && used > 0 && (size_t)used < size)
        used += snprintf(label + used, size - (size_t)used, "@%u", loop->place.line);
    if (count > 1 && used > 0 && (size_t)used < size)
        snprintf(label + used, size - (size_t)used, "#%u", number);
}

static bool has_name(const finder *self, const fm_region_node *loop, unsigned number)
{
    const fm_region *region = self->changer->region;
    const fm_loop_name *wanted = &self->step->names[number];
    uint32_t count = 0, found = 0;
    if (strcmp(region->variables[loop->variable], wanted->name) != 0 ||
        (wanted->line && wanted->line != loop->place.line))
        return false;
    if (wanted->number == 0) return true;
    count_alike(region, region->body, wanted->name, wanted->line, loop, &count, &found);
    return found == wanted->number;
}

static void put_label(char *list, size_t size, const fm_region *region, const fm_region_node *loop)
{
    const size_t used = strlen(list);
    char label[FM_LOOP_NAME + 32];
    fm_loop_label(region, loop, label, sizeof label);
    if (used + strlen(label) + 6 > size) {
        if (used + 5 < size && strcmp(list + used - 3, "…") != 0) strcat(list, ", …");
        return;
    }
    snprintf(list + used, size - used, "%s%s", used ? ", " : "", label);
}

/* Down from the loop to the one with the last name. */
static bool fits_nest(finder *self, fm_region_node *loop, fm_region_node **loops, unsigned *count)
{
    const bool between = self->step->kind == FM_STEP_INTERCHANGE; /* others may be between */
    unsigned found = 1;
    *count = 0;
    loops[(*count)++] = loop;
    while (found < self->step->count) {
        fm_region_node *inner = loop->body;
        if (!inner || inner->next || inner->kind != FM_NODE_LOOP || *count == FM_MOST_LOOPS) {
            const char *name = fm_change_name(self->changer, loop);
            snprintf(self->reason, sizeof self->reason,
                     "the loop over '%.60s' is not the only thing in the loop over '%.60s'",
                     self->step->names[found].name, name);
            return false;
        }
        if (has_name(self, inner, found)) {
            found++;
        } else if (!between) {
            snprintf(self->reason, sizeof self->reason,
                     "directly inside the loop over '%.60s' is the one over '%.60s', not '%.60s'",
                     fm_change_name(self->changer, loop), fm_change_name(self->changer, inner),
                     self->step->names[found].name);
            return false;
        }
        loops[(*count)++] = inner;
        loop = inner;
    }
    return true;
}

static bool loop_fits(finder *self, fm_region_node *loop, fm_region_node **loops, unsigned *count)
{
    const char *name = fm_change_name(self->changer, loop);
    loops[0] = loop;
    *count = 1;
    switch (self->step->kind) {
    case FM_STEP_FUSE:
        if (loop->next && loop->next->kind == FM_NODE_LOOP) return true;
        snprintf(self->reason, sizeof self->reason, "what follows the loop over '%.60s' is %s", name,
                 !loop->next                             ? "nothing"
                 : loop->next->kind == FM_NODE_STATEMENT ? "no loop but a statement"
                                                         : "no loop but a condition");
        return false;
    case FM_STEP_DISTRIBUTE:
        if (loop->body && loop->body->next) return true;
        snprintf(self->reason, sizeof self->reason,
                 "there is nothing to separate: the loop over '%.60s' has one thing in it", name);
        return false;
    default:
        return fits_nest(self, loop, loops, count);
    }
}

static void look_in_nodes(finder *self, fm_region_node *node)
{
    for (; node; node = node->next) {
        if (node->kind == FM_NODE_LOOP) {
            put_label(self->all, sizeof self->all, self->changer->region, node);
            if (has_name(self, node, 0)) {
                fm_region_node *loops[FM_MOST_LOOPS];
                unsigned count;
                self->named++;
                self->candidate = node;
                if (loop_fits(self, node, loops, &count)) {
                    put_label(self->list, sizeof self->list, self->changer->region, node);
                    memcpy(self->loops, loops, count * sizeof *loops);
                    self->count = count;
                    self->fitting++;
                }
            }
        }
        look_in_nodes(self, node->body);
        look_in_nodes(self, node->otherwise);
    }
}

/*
 * The loops that a step names: INTERCHANGE and TILE from outside to inside, each the only thing in the one
 * before (*count of them; of INTERCHANGE with those between); FUSE and DISTRIBUTE the loop. FM_E_ARGUMENT: no
 * such loop, or several; FM_E_UNSUPPORTED: it is not as the step needs it.
 */
static fm_status change_find(fm_changer *self, const fm_change_step *step,
                             fm_region_node *loops[FM_MOST_LOOPS], unsigned *count)
{
    finder at = {.changer = self, .step = step, .loops = loops};
    const char *name = step->names[0].name;
    look_in_nodes(&at, self->region->body);
    *count = at.count;
    if (at.fitting == 1) return FM_OK;
    if (at.fitting > 1)
        return fm_fail(self->error, FM_E_ARGUMENT, NULL,
                       "%s: there are several loops over '%.60s': say which: %s", fm_step_word(step->kind),
                       name, at.list);
    if (at.named > 0)
        return fm_region_fail(self->error, FM_E_UNSUPPORTED, self->region, &at.candidate->place, "%s: %s",
                              fm_step_word(step->kind), at.reason);
    if (!at.all[0])
        return fm_fail(self->error, FM_E_ARGUMENT, NULL, "%s: the region has no loops",
                       fm_step_word(step->kind));
    if (step->names[0].number)
        return fm_fail(self->error, FM_E_ARGUMENT, NULL,
                       "%s: there is no loop number %u over '%.60s': there are %s", fm_step_word(step->kind),
                       step->names[0].number, name, at.all);
    if (step->names[0].line)
        return fm_fail(self->error, FM_E_ARGUMENT, NULL,
                       "%s: there is no loop over '%.60s' in line %u: there are %s", fm_step_word(step->kind),
                       name, step->names[0].line, at.all);
    return fm_fail(self->error, FM_E_ARGUMENT, NULL, "%s: there is no loop over '%.60s': there are %s",
                   fm_step_word(step->kind), name, at.all);
}

/* ---- steps ---- */

fm_status fm_change_fail(fm_changer *self, const fm_region_node *at, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fm_status status =
        fm_region_fail_list(self->error, FM_E_UNSUPPORTED, self->region, &at->place, format, arguments);
    va_end(arguments);
    return status;
}

fm_status fm_change_no_memory(fm_changer *self)
{
    return fm_fail(self->error, FM_E_NOMEM, NULL, "out of memory: no room for a changed region");
}

const char *fm_change_name(const fm_changer *self, const fm_region_node *loop)
{
    return self->region->variables[loop->variable];
}

bool fm_change_variable(fm_changer *self, const char *name, uint32_t *variable)
{
    fm_region *region = self->region;
    const char **names = fm_arena_allocate(region->arena, region->variable_count + 2, sizeof *names);
    if (!names) return false;
    memcpy(names, region->variables, region->variable_count * sizeof *names);
    names[region->variable_count] = fm_arena_intern(region->arena, name);
    if (!names[region->variable_count]) return false;
    region->variables = names;
    *variable = (uint32_t)region->variable_count++;
    return true;
}

static bool replace_values(fm_changer *self, const fm_region_node *node, uint32_t variable, const fm_expr *by)
{
    for (; node; node = node->next) {
        const fm_expr **values = self->values[node->statement];
        for (size_t v = 0; v < self->variable_count && node->kind == FM_NODE_STATEMENT; v++)
            if (values[v] && !(values[v] = fm_expr_replace(self->region->arena, values[v], variable, by)))
                return false;
        if (!replace_values(self, node->body, variable, by) ||
            !replace_values(self, node->otherwise, variable, by))
            return false;
    }
    return true;
}

bool fm_change_replace(fm_changer *self, fm_region_node *nodes, uint32_t variable, const fm_expr *by)
{
    return fm_nodes_replace(self->region->arena, self->region, nodes, variable, by) &&
           replace_values(self, nodes, variable, by);
}

/* ---- before and after the steps ---- */

/* Every statement is where it was: each variable around it has its own value. */
static bool note_values(fm_changer *self, const fm_region_node *node, const uint32_t *around, unsigned count)
{
    fm_arena *arena = self->region->arena;
    uint32_t inside[FM_MOST_LOOPS + 1];
    if (count > 0) memcpy(inside, around, count * sizeof *inside);
    for (; node; node = node->next) {
        unsigned now = count;
        if (node->kind == FM_NODE_LOOP && count < FM_MOST_LOOPS) inside[now++] = node->variable;
        if (node->kind == FM_NODE_STATEMENT) {
            const fm_expr **values = fm_arena_allocate(arena, self->variable_count + 1, sizeof *values);
            self->values[node->statement] = values;
            for (unsigned i = 0; i < count && values; i++)
                if (!(values[inside[i]] = fm_expr_variable(arena, inside[i]))) return false;
            if (!values) return false;
        }
        if (!note_values(self, node->body, inside, now) || !note_values(self, node->otherwise, inside, now))
            return false;
    }
    return true;
}

/* Numbers by their order in the text, as the reader gives them. */
static void renumber_nodes(fm_region *region, fm_region_node *node, uint32_t *statements)
{
    for (; node; node = node->next) {
        if (node->kind == FM_NODE_STATEMENT) {
            statements[region->statement_count] = node->statement;
            node->statement = region->statement_count++;
            node->first_access = region->access_count;
            region->access_count += (uint32_t)node->access_count;
        }
        renumber_nodes(region, node->body, statements);
        renumber_nodes(region, node->otherwise, statements);
    }
}

static bool is_taken(const fm_region *region, const uint32_t *around, unsigned count, const char *name)
{
    for (size_t i = 0; i < region->parameter_count; i++)
        if (strcmp(region->parameters[i].name, name) == 0) return true;
    for (unsigned i = 0; i < count; i++)
        if (strcmp(region->variables[around[i]], name) == 0) return true;
    return false;
}

/* In the text, a name means the innermost loop that has it: no two loops inside each other share one. */
static fm_status resolve_names(fm_changer *self, fm_region_node *node, const uint32_t *around, unsigned count)
{
    fm_region *region = self->region;
    uint32_t inside[FM_MOST_LOOPS + 1];
    if (count > 0) memcpy(inside, around, count * sizeof *inside);
    fm_status status = FM_OK;
    for (; node && status == FM_OK; node = node->next) {
        unsigned now = count;
        if (node->kind == FM_NODE_LOOP) {
            const char *name = region->variables[node->variable];
            char other[FM_LOOP_NAME + 16];
            if (count == FM_MOST_LOOPS)
                return fm_change_fail(self, node, "more than %d loops inside each other", FM_MOST_LOOPS);
            snprintf(other, sizeof other, "%s", name);
            for (unsigned i = 2; is_taken(region, inside, count, other); i++)
                snprintf(other, sizeof other, "%.*s_%u", FM_LOOP_NAME - 12, name, i);
            if (strcmp(other, name) != 0 &&
                !(region->variables[node->variable] = fm_arena_intern(region->arena, other)))
                return fm_change_no_memory(self);
            inside[now++] = node->variable;
        }
        status = resolve_names(self, node->body, inside, now);
        if (status == FM_OK) status = resolve_names(self, node->otherwise, inside, now);
    }
    return status;
}

/* Every result says what was changed. */
static bool add_note(fm_region *region, const char *change)
{
    char text[512];
    const char **notes = fm_arena_allocate(region->arena, region->note_count + 2, sizeof *notes);
    if (!notes) return false;
    memcpy(notes, region->notes, region->note_count * sizeof *notes);
    snprintf(text, sizeof text, "the loops were changed: %.480s", change);
    notes[region->note_count] = fm_arena_intern(region->arena, text);
    region->notes = notes;
    return notes[region->note_count++];
}

static fm_status finish_change(fm_changer *self, const char *change)
{
    fm_region *region = self->region;
    if (!add_note(region, change)) return fm_change_no_memory(self);
    fm_region_origin *origin = fm_arena_allocate(region->arena, 1, sizeof *origin);
    uint32_t *statements =
        fm_arena_allocate(region->arena, (size_t)region->statement_count + 1, sizeof *statements);
    if (!origin || !statements) return fm_change_no_memory(self);
    region->statement_count = region->access_count = 0;
    renumber_nodes(region, region->body, statements);
    *origin = (fm_region_origin){.statements = statements, .values = self->values};
    region->origin = origin;
    return resolve_names(self, region->body, NULL, 0);
}

static fm_status make_step(fm_changer *self, const fm_change_step *step)
{
    fm_region_node *loops[FM_MOST_LOOPS];
    unsigned count;
    if (step->kind == FM_STEP_PAD) return fm_change_pad(self, step->names[0].name, step->numbers[0]);
    fm_status status = change_find(self, step, loops, &count);
    if (status != FM_OK) return status;
    switch (step->kind) {
    case FM_STEP_INTERCHANGE:
        return fm_change_interchange(self, loops, count);
    case FM_STEP_TILE:
        return fm_change_tile(self, loops, count, step->numbers);
    case FM_STEP_FUSE:
        return fm_change_fuse(self, loops[0]);
    default:
        return fm_change_distribute(self, loops[0]);
    }
}

fm_status fm_region_transform(const fm_region *region, const char *change, fm_region **changed,
                              fm_error *error)
{
    *changed = NULL;
    FM_REQUIRE(region, error);
    size_t count;
    fm_changer self = {.variable_count = region->variable_count, .error = error};
    fm_change_step *steps = fm_calloc(FM_MOST_STEPS, sizeof *steps);
    if (!steps) return fm_fail_memory(error, FM_MOST_STEPS * sizeof *steps, "a change of loops");
    fm_status status = fm_change_parse(change, steps, &count, error);
    if (status == FM_OK) status = fm_region_copy(&self.region, region, error);
    if (status != FM_OK) {
        free(steps);
        return status;
    }
    self.values =
        fm_arena_allocate(self.region->arena, (size_t)region->statement_count + 1, sizeof *self.values);
    if (!self.values || !note_values(&self, self.region->body, NULL, 0)) status = fm_change_no_memory(&self);
    for (size_t i = 0; i < count && status == FM_OK; i++) status = make_step(&self, &steps[i]);
    free(steps);
    if (status == FM_OK) status = finish_change(&self, change);
    if (status == FM_OK)
        *changed = self.region;
    else
        fm_region_destroy(self.region);
    return status;
}
