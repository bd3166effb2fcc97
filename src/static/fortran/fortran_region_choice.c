/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fortran_region_choice.c - which part of the source is the region: the named procedure, what is between two
 * comments
 * (!$fathom begin, !$fathom end; !$scop, !$endscop), or the only procedure with loops.
 */
#include "static/fortran/fortran_walker.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

typedef struct search {
    ft_context *context;
    const char *wanted; /* NULL: none */
    ft_unit *found;
    unsigned count;   /* that were found */
    char list[300];   /* of them */
    ft_choice choice; /* of comments */
    unsigned regions;
} search;

static void list_unit(search *s, const ft_unit *unit, uint32_t line)
{
    size_t used = strlen(s->list);
    if (used + 80 < sizeof s->list)
        snprintf(s->list + used, sizeof s->list - used, "%s%.60s (line %u)", used ? ", " : "", unit->name,
                 line);
    else if (used + 4 < sizeof s->list && s->list[used - 1] != '.')
        strcat(s->list, ", …");
}

static bool is_procedure(const ft_unit *unit)
{
    return unit->kind == FT_PROGRAM || unit->kind == FT_SUBROUTINE || unit->kind == FT_FUNCTION;
}

static void find_units(search *s, ft_unit *unit)
{
    for (; unit; unit = unit->next) {
        bool fits = s->wanted ? strcasecmp(unit->name, s->wanted) == 0 : unit->has_loops;
        if (is_procedure(unit) && fits) {
            s->found = unit;
            s->count++;
            list_unit(s, unit, unit->place.line);
        }
        find_units(s, unit->children);
    }
}

/* ---- comments ---- */

static bool find_markers(search *s, ft_unit *unit, const ft_statement *list)
{
    const ft_statement *begin = NULL;
    for (const ft_statement *at = list; at; at = at->next) {
        if (at->kind != FT_S_MARKER) {
            if (!find_markers(s, unit, at->body)) return false;
            for (const ft_branch *branch = at->branches; branch; branch = branch->next)
                if (!find_markers(s, unit, branch->body)) return false;
        } else if (at->marker == FT_REGION_BEGIN) {
            if (begin)
                return fm_ft_fail(s->context, FM_E_FORMAT, &at->place,
                                  "a region begins inside the one of line %u", begin->place.line);
            begin = at;
        } else {
            if (!begin)
                return fm_ft_fail(s->context, FM_E_FORMAT, &at->place,
                                  "a region ends here that does not begin in the same block");
            s->choice = (ft_choice){unit, begin->next, at, begin->place, at->place.line};
            s->regions++;
            list_unit(s, unit, begin->place.line);
            begin = NULL;
        }
    }
    if (begin)
        return fm_ft_fail(s->context, FM_E_FORMAT, &begin->place,
                          "the region that begins here does not end in the same block");
    return true;
}

static bool find_regions(search *s, ft_unit *unit)
{
    for (; unit; unit = unit->next)
        if (!find_markers(s, unit, unit->body) || !find_regions(s, unit->children)) return false;
    return true;
}

static bool only_procedure(search *s, ft_unit *unit)
{
    for (; unit; unit = unit->next) {
        if (is_procedure(unit) && unit->body) {
            s->found = unit;
            s->count++;
        }
        only_procedure(s, unit->children);
    }
    return s->count == 1;
}

bool fm_ft_choose(ft_context *context, ft_unit *units, ft_choice *choice)
{
    search s = {.context = context, .wanted = context->options ? context->options->function : NULL};
    if (!s.wanted) {
        if (!find_regions(&s, units)) return false;
        if (s.regions > 1)
            return fm_ft_fail(context, FM_E_ARGUMENT, NULL,
                              "there are several regions: %s; keep one, or name a procedure", s.list);
        if (s.regions == 1) {
            *choice = s.choice;
            return true;
        }
    }
    find_units(&s, units);
    if (s.count == 0 && s.wanted)
        return fm_ft_fail(context, FM_E_ARGUMENT, NULL, "there is no procedure '%.100s' in it", s.wanted);
    if (s.count == 0 && !only_procedure(&s, units))
        return fm_ft_fail(context, FM_E_ARGUMENT, NULL, "there is no procedure with a loop in it");
    if (s.count > 1)
        return fm_ft_fail(context, FM_E_ARGUMENT, NULL,
                          s.wanted ? "there are several procedures with this name: %s"
                                   : "there are several procedures with loops: %s; name one",
                          s.list);
    *choice = (ft_choice){s.found, s.found->body, NULL, s.found->place, s.found->last_line};
    return true;
}
