/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fortran_assumptions.c - what the user states about the program, in the words of the other front ends:
 *
 *     if at LINE holds | fails | both      a condition that depends on data; both: each branch is executed
 *     loop at LINE runs NUMBER times       a loop without bounds; NUMBER is a number or a parameter's name
 *     while runs NUMBER times              the same for the only loop of that kind
 *     NAME is identity                     an array of whole numbers: NAME(i) is i
 *     NAME is permutation of 1..LAST       the same, with a note that the order is not known
 *
 * LINE is where the statement begins. An assumption about nothing in the region is an error.
 */
#include "static/fortran/fortran_walker.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct ft_assumption {
    const char *text;
    bool loop, used, identity, permutation;
    uint32_t line, used_at; /* line 0: wherever it is */
    ft_outcome outcome;
    const char *times; /* a number or a name; of identity, the array */
    struct ft_assumption *next;
} ft_assumption;

static bool is_name(char *word)
{
    for (char *c = word; *c; c++) {
        *c = (char)tolower((unsigned char)*c);
        if (!isalnum((unsigned char)*c) && *c != '_') return false;
    }
    return true;
}

static bool understand(ft_assumption *assumption, char *word, size_t size)
{
    static const char *const outcomes[] = {"holds", "fails", "both"};
    const char *text = assumption->text;
    char end[8] = "", format[40];
    int used = 0;
    unsigned line;
    snprintf(format, sizeof format, "if at %%u %%%zus%%n", size - 1);
    if (sscanf(text, format, &line, word, &used) == 2 && !text[used]) {
        assumption->line = line;
        for (int i = 0; i < 3; i++)
            if (strcmp(word, outcomes[i]) == 0) {
                assumption->outcome = (ft_outcome)i;
                return true;
            }
        return false;
    }
    snprintf(format, sizeof format, "%%%zus is %%7sy%%n", size - 1);
    if (sscanf(text, format, word, end, &used) == 2 && strcmp(end, "identit") == 0 && !text[used]) {
        assumption->identity = true;
        return is_name(word);
    }
    const char *permuted = strstr(text, " is permutation of 1..");
    if (permuted && permuted > text && (size_t)(permuted - text) < size &&
        permuted[strlen(" is permutation of 1..")]) {
        assumption->identity = assumption->permutation = true;
        snprintf(word, size, "%.*s", (int)(permuted - text), text);
        return is_name(word);
    }
    snprintf(format, sizeof format, "while runs %%%zus %%6s%%n", size - 1);
    if (sscanf(text, format, word, end, &used) == 2 && strcmp(end, "times") == 0 && !text[used]) {
        assumption->loop = true;
        assumption->line = 0;
        return is_name(word);
    }
    snprintf(format, sizeof format, "loop at %%u runs %%%zus %%6s%%n", size - 1);
    assumption->loop = true;
    if (sscanf(text, format, &line, word, end, &used) != 3 || strcmp(end, "times") != 0 || text[used])
        return false;
    assumption->line = line;
    return is_name(word);
}

bool fm_ft_read_assumptions(ft_walker *walker)
{
    const fm_region_options *options = walker->context->options;
    const char *const *texts = options ? options->assumptions : NULL;
    for (; texts && *texts; texts++) {
        char word[80];
        ft_assumption *made = fm_ft_allocate(walker->context, 1, sizeof *made);
        if (!made) return false;
        made->text = fm_ft_intern(walker->context, *texts);
        if (!made->text) return false;
        if (!understand(made, word, sizeof word))
            return fm_ft_fail(walker->context, FM_E_ARGUMENT, NULL,
                              "the assumption '%.200s' is not understood: 'if at LINE holds' (fails, both), "
                              "'loop at LINE runs N times', 'while runs N times', 'NAME is identity', "
                              "'NAME is permutation of 1..LAST'",
                              *texts);
        if ((made->loop || made->identity) && !(made->times = fm_ft_intern(walker->context, word)))
            return false;
        made->next = walker->assumptions;
        walker->assumptions = made;
    }
    return true;
}

static bool note(ft_walker *walker, ft_assumption *found)
{
    found->used = true;
    return fm_ft_note(
        walker,
        fm_ft_print(walker->context, "assumed: %s%s", found->text,
                    found->permutation ? ", in an order that is not known: counted as if it ascended" : ""));
}

static ft_assumption *find(ft_walker *walker, bool loop, uint32_t line)
{
    ft_assumption *found = walker->assumptions;
    while (found && (found->identity || found->loop != loop || (found->line && found->line != line)))
        found = found->next;
    if (found && found->line == 0 && found->used && found->used_at != line) {
        fm_ft_fail(
            walker->context, FM_E_ARGUMENT, NULL,
            "the assumption '%.200s' is about several loops, in lines %u and %u: 'loop at LINE runs …' "
            "tells them apart",
            found->text, found->used_at, line);
        return NULL;
    }
    if (found) found->used_at = line;
    return found && note(walker, found) ? found : NULL;
}

bool fm_ft_assumed_identity(ft_walker *walker, const char *name)
{
    ft_assumption *found = walker->assumptions;
    while (found && !(found->identity && strcmp(found->times, name) == 0)) found = found->next;
    return found && note(walker, found);
}

bool fm_ft_assumed_if(ft_walker *walker, uint32_t line, ft_outcome *outcome)
{
    const ft_assumption *found = find(walker, false, line);
    if (found) *outcome = found->outcome;
    return found != NULL;
}

bool fm_ft_assumed_loop(ft_walker *walker, uint32_t line, const ft_value **times)
{
    const ft_assumption *found = find(walker, true, line);
    if (!found) return false;
    if (isdigit((unsigned char)found->times[0])) {
        *times = fm_ft_number(&walker->values, strtoll(found->times, NULL, 10));
        return true;
    }
    /* A variable of the program has the value that it has there; another name is a new parameter. */
    ft_symbol *symbol = fm_ft_lookup(walker, walker->activation->unit, found->times, false);
    ft_place place = walker->statement;
    if (!symbol) {
        *times = fm_ft_symbol_value(&walker->values, fm_ft_safe_name(walker, found->times), false);
        return true;
    }
    ft_expression name = {.kind = FT_X_NAME, .text = found->times, .place = place};
    *times = fm_ft_integer(walker, &name);
    return true;
}

bool fm_ft_check_assumptions(ft_walker *walker)
{
    for (const ft_assumption *a = walker->assumptions; a; a = a->next)
        if (!a->used)
            return fm_ft_fail(walker->context, FM_E_ARGUMENT, NULL,
                              "the assumption '%.200s' is about nothing in the region", a->text);
    return true;
}
