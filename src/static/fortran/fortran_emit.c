/* SPDX-License-Identifier: Apache-2.0 */
/* fortran_emit.c - the region's tree (front_middle.h): loops, guards, statements and accesses, as they come.
 */
#include "static/fortran/fortran_walker.h"

#include <string.h>

enum { MOST_BLOCKS = 150 }; /* inside each other: the reader has a limit too */

fm_front_place fm_ft_front_place(const ft_walker *walker, const ft_place *place)
{
    return (fm_front_place){place->line ? &walker->files[place->file] : NULL, place->line, place->column};
}

/* That many characters more. */
static bool region_lengthen(ft_walker *walker, size_t size)
{
    walker->text += size;
    return walker->text <= walker->most_text ||
           fm_ft_fail(
               walker->context, FM_E_LIMIT, &walker->statement,
               "the region would be larger than %zu MiB: calls are put in place of each other too often",
               walker->most_text >> 20);
}

/* A node in the list at hand; NULL after a failure. */
static fm_front_node *new_block(ft_walker *walker, fm_front_node_kind kind, const ft_place *place)
{
    enum { USUAL_SIZE = 50 };
    const fm_front_place where = fm_ft_front_place(walker, place);
    fm_front_node *made = fm_front_node_new(&walker->front, kind, &where);
    if (!made || !region_lengthen(walker, USUAL_SIZE + 2 * walker->blocks)) return NULL;
    if (walker->blocks++ == MOST_BLOCKS) {
        fm_ft_fail(walker->context, FM_E_LIMIT, place, "more than %d loops and conditions inside each other",
                   MOST_BLOCKS);
        return NULL;
    }
    fm_front_append(walker->front.list, made);
    return made;
}

/* The name of a loop's variable: its own, unless a loop around it or a parameter has it. */
static const char *loop_name(ft_walker *walker, const char *name)
{
    const char *base = fm_ft_safe_name(walker, name);
    for (unsigned i = 1; base && i < 1000; i++) {
        const char *tried =
            fm_ft_intern(walker->context, i == 1 ? base : fm_ft_print(walker->context, "%s.%u", base, i));
        if (!tried) return NULL;
        bool taken = false;
        for (const ft_loop *loop = walker->loops; loop && !taken; loop = loop->outer)
            taken = loop->name == tried;
        if (!taken && !fm_atom_named(&walker->front, tried, false)) return tried;
    }
    return NULL;
}

bool fm_ft_begin_loop(ft_walker *walker, ft_loop *loop, const char *name, const char *construct,
                      const fm_form *first, const fm_form *last, int64_t step, const ft_place *place,
                      const fm_form **variable)
{
    fm_front *f = &walker->front;
    if (!first || !last) return false;
    if (walker->loop_count == FM_MOST_LOOPS)
        return fm_ft_fail(walker->context, FM_E_LIMIT, place, "more than %d loops inside each other",
                          FM_MOST_LOOPS);
    if (step == INT64_MIN) return fm_ft_refuse(walker->context, place, "the step of a loop is too large");
    const char *chosen = loop_name(walker, name);
    /* Loops that follow each other have one variable where they have one name. */
    fm_atom *counter = chosen ? fm_atom_named(f, chosen, true) : NULL;
    if (!counter) counter = fm_atom_new(f, FM_ATOM_LOOP, chosen);
    *variable = fm_form_atom(f, counter);
    fm_front_node *made = *variable ? new_block(walker, FM_FRONT_LOOP, place) : NULL;
    if (!made) return false;
    made->variable = counter;
    made->first = first;
    made->last = last;
    made->step = step;
    *loop = (ft_loop){chosen, construct, walker->loops, f->list};
    f->list = &made->body;
    walker->loops = loop;
    walker->loop_count++;
    return true;
}

void fm_ft_end_loop(ft_walker *walker)
{
    walker->front.list = walker->loops->outside;
    walker->loops = walker->loops->outer;
    walker->loop_count--;
    walker->blocks--;
}

fm_front_node *fm_ft_begin_if(ft_walker *walker, const fm_guard *condition, const ft_place *place)
{
    if (!condition || !region_lengthen(walker, condition->size)) return NULL;
    fm_front_node *made = new_block(walker, FM_FRONT_IF, place);
    if (!made) return NULL;
    made->condition = condition;
    walker->front.list = &made->body;
    return made;
}

void fm_ft_end_if(ft_walker *walker, fm_front_list *outside)
{
    walker->front.list = outside;
    walker->blocks--;
}

bool fm_ft_access(ft_walker *walker, bool store, const ft_reference *reference, const ft_positions *positions)
{
    fm_front *f = &walker->front;
    fm_front_array *memory = reference->memory;
    const ft_place *place = &reference->expression->place;
    const fm_form *subscripts[FM_MOST_DIMENSIONS];
    if (reference->rank != (positions && reference->rank ? positions->rank : 0))
        return reference->rank && !positions
                   ? fm_ft_refuse(walker->context, place, "a whole array where one element is needed")
                   : fm_ft_fail(walker->context, FM_E_FORMAT, place,
                                "arrays of %u and %u dimensions in one statement",
                                positions ? positions->rank : 0, reference->rank);
    memcpy(subscripts, reference->subscripts, sizeof subscripts);
    walker->place = *place;
    for (unsigned i = 0; i < reference->rank; i++) {
        const ft_section *section = &reference->sections[i];
        subscripts[section->dimension] =
            fm_form_plus(f, subscripts[section->dimension], positions->at[i], section->stride);
        if (!subscripts[section->dimension]) return false;
    }
    for (unsigned i = 0; i < memory->rank; i++)
        if (!subscripts[i]) return false;
    const char *source = fm_ft_text(walker->context, place);
    fm_front_touch *made = source ? fm_front_touch_new(f, f->statement, store, memory, subscripts) : NULL;
    if (!made) return false;
    made->offset = reference->offset;
    made->bytes = reference->layout.bytes;
    made->place = fm_ft_front_place(walker, place);
    made->text = source;
    enum { USUAL_SUBSCRIPT = 6, USUAL_SIZE = 24 };
    return region_lengthen(walker, strlen(source) + strlen(memory->name) + USUAL_SUBSCRIPT * memory->rank +
                                USUAL_SIZE + 2 * walker->blocks);
}

bool fm_ft_flush(ft_walker *walker, const ft_place *place, bool always)
{
    fm_front *f = &walker->front;
    fm_front_node *statement = f->statement;
    const fm_front_place where = fm_ft_front_place(walker, place);
    statement->operations = walker->operations;
    if (!always && !fm_front_statement_counts(statement)) return true;
    f->statement = fm_front_node_new(f, FM_FRONT_STATEMENT, &where);
    if (!f->statement) return false;
    statement->place = where;
    fm_front_append(f->list, statement);
    walker->operations = (fm_region_operations){0};
    return true;
}

bool fm_ft_note(ft_walker *walker, const char *text)
{
    if (text) fm_front_note(&walker->front, "%s", text);
    return walker->context->status == FM_OK;
}

const char *fm_ft_safe_name(ft_walker *walker, const char *name)
{
    static const char *const words[] = {
        "for",   "if",         "do",      "load",     "store",   "else",   "file", "function",
        "param", "assume",     "note",    "array",    "to",      "downto", "step", "of",
        "and",   "or",         "not",     "true",     "false",   "min",    "max",  "floor",
        "ceil",  "mod",        "member",  "low",      "align",   "offset", "row",  "column",
        "adds",  "multiplies", "divides", "specials", "integers"};
    if (!name) return NULL;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i], name) == 0) return fm_ft_print(walker->context, "%s$", name);
    return name;
}
