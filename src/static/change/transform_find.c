/* SPDX-License-Identifier: Apache-2.0 */
/* transform_find.c - the loops that a step names, and why it cannot have them. */
#include "static/change/transform.h"

#include "base/error.h"
#include "static/region/region_text.h"

#include <stdio.h>
#include <string.h>

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

static void put(char *list, size_t size, const fm_region *region, const fm_region_node *loop)
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

static bool fits(finder *self, fm_region_node *loop, fm_region_node **loops, unsigned *count)
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

static void look(finder *self, fm_region_node *node)
{
    for (; node; node = node->next) {
        if (node->kind == FM_NODE_LOOP) {
            put(self->all, sizeof self->all, self->changer->region, node);
            if (has_name(self, node, 0)) {
                fm_region_node *loops[FM_MOST_LOOPS];
                unsigned count;
                self->named++;
                self->candidate = node;
                if (fits(self, node, loops, &count)) {
                    put(self->list, sizeof self->list, self->changer->region, node);
                    memcpy(self->loops, loops, count * sizeof *loops);
                    self->count = count;
                    self->fitting++;
                }
            }
        }
        look(self, node->body);
        look(self, node->otherwise);
    }
}

fm_status fm_change_find(fm_changer *self, const fm_change_step *step, fm_region_node *loops[FM_MOST_LOOPS],
                         unsigned *count)
{
    finder at = {.changer = self, .step = step, .loops = loops};
    const char *name = step->names[0].name;
    look(&at, self->region->body);
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
