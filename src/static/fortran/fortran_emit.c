/* SPDX-License-Identifier: Apache-2.0 */
/* fortran_emit.c - the region's text: loops, guards, statements as they come, declarations put before them at
 * the end. */
#include "static/fortran/fortran_walker.h"

#include "base/memory.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BLOCKS = 150 }; /* inside each other: the reader has a limit too */

bool fm_ft_write(ft_walker *walker, ft_text *text, const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    bool room = length >= 0 &&
                fm_array_reserve((void **)&text->bytes, &text->room, text->size + (size_t)length + 1, 1) == 0;
    if (room) vsnprintf(text->bytes + text->size, (size_t)length + 1, format, again);
    va_end(again);
    if (!room) return fm_ft_no_memory(walker->context);
    text->size += (size_t)length;
    if (text->size > walker->most_text)
        return fm_ft_fail(
            walker->context, FM_E_LIMIT, &walker->statement,
            "the region would be larger than %zu MiB: calls are put in place of each other too often",
            walker->most_text >> 20);
    return true;
}

static bool indent(ft_walker *walker)
{
    unsigned columns = walker->blocks < 20 ? walker->blocks * 2 : 40;
    return fm_ft_write(walker, &walker->out, "%*s", (int)columns, "");
}

bool fm_ft_open(ft_walker *walker, const char *format, ...)
{
    char head[512];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(head, sizeof head, format, arguments);
    va_end(arguments);
    (void)length;
    if (walker->blocks == MOST_BLOCKS)
        return fm_ft_fail(walker->context, FM_E_LIMIT, &walker->statement,
                          "more than %d loops and conditions inside each other", MOST_BLOCKS);
    if (!indent(walker) || !fm_ft_write(walker, &walker->out, "%s {\n", head)) return false;
    walker->blocks++;
    return true;
}

bool fm_ft_close(ft_walker *walker)
{
    walker->blocks--;
    return indent(walker) && fm_ft_write(walker, &walker->out, "}\n");
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
    if (!first || !last) return false;
    if (walker->loop_count == FM_MOST_LOOPS)
        return fm_ft_fail(walker->context, FM_E_LIMIT, place, "more than %d loops inside each other",
                          FM_MOST_LOOPS);
    if (step == INT64_MIN) return fm_ft_refuse(walker->context, place, "the step of a loop is too large");
    const char *from = fm_form_written(&walker->front, first), *to = fm_form_written(&walker->front, last);
    const char *chosen = loop_name(walker, name);
    if (!from || !to || !chosen) return false;
    /* Loops that follow each other have one variable where they have one name. */
    fm_atom *counter = fm_atom_named(&walker->front, chosen, true);
    if (!counter) counter = fm_atom_new(&walker->front, FM_ATOM_LOOP, chosen);
    *variable = fm_form_atom(&walker->front, counter);
    if (!*variable) return false;
    char by[40] = "";
    if (step != 1 && step != -1) snprintf(by, sizeof by, " step %" PRId64, step < 0 ? -step : step);
    if (!indent(walker) ||
        !fm_ft_write(walker, &walker->out, "for %s = %s %s %s%s @%u:%u:%u {\n", chosen, from,
                     step < 0 ? "downto" : "to", to, by, place->file, place->line, place->column))
        return false;
    if (walker->blocks++ == MOST_BLOCKS)
        return fm_ft_fail(walker->context, FM_E_LIMIT, place,
                          "more than %d loops and conditions inside each other", MOST_BLOCKS);
    *loop = (ft_loop){chosen, construct, walker->loops};
    walker->loops = loop;
    walker->loop_count++;
    return true;
}

bool fm_ft_end_loop(ft_walker *walker)
{
    walker->loops = walker->loops->outer;
    walker->loop_count--;
    return fm_ft_close(walker);
}

bool fm_ft_begin_if(ft_walker *walker, const char *condition, const ft_place *place)
{
    if (!indent(walker) || !fm_ft_write(walker, &walker->out, "if %s @%u:%u:%u {\n", condition, place->file,
                                        place->line, place->column))
        return false;
    if (walker->blocks++ == MOST_BLOCKS)
        return fm_ft_fail(walker->context, FM_E_LIMIT, place,
                          "more than %d loops and conditions inside each other", MOST_BLOCKS);
    return true;
}

static bool write_quoted(ft_walker *walker, ft_text *text, const char *quoted)
{
    if (!fm_ft_write(walker, text, "\"")) return false;
    for (const char *c = quoted; *c; c++) {
        bool done = *c == '"' || *c == '\\' ? fm_ft_write(walker, text, "\\%c", *c)
                    : *c == '\n'            ? fm_ft_write(walker, text, "\\n")
                                 : fm_ft_write(walker, text, "%c", (unsigned char)*c < ' ' ? ' ' : *c);
        if (!done) return false;
    }
    return fm_ft_write(walker, text, "\"");
}

bool fm_ft_access(ft_walker *walker, bool store, const ft_reference *reference, const ft_positions *positions)
{
    fm_front *f = &walker->front;
    ft_text *text = &walker->accesses;
    ft_memory *memory = reference->memory;
    const ft_place *place = &reference->expression->place;
    const fm_form *subscripts[FM_MOST_DIMENSIONS];
    if (reference->rank != (positions && reference->rank ? positions->rank : 0))
        return reference->rank && !positions
                   ? fm_ft_refuse(walker->context, place, "a whole array where one element is needed")
                   : fm_ft_fail(walker->context, FM_E_FORMAT, place,
                                "arrays of %u and %u dimensions in one statement",
                                positions ? positions->rank : 0, reference->rank);
    memory->touched = true;
    memcpy(subscripts, reference->subscripts, sizeof subscripts);
    walker->place = *place;
    for (unsigned i = 0; i < reference->rank; i++) {
        const ft_section *section = &reference->sections[i];
        subscripts[section->dimension] =
            fm_form_plus(f, subscripts[section->dimension], positions->at[i], section->stride);
        if (!subscripts[section->dimension]) return false;
    }
    if (!fm_ft_write(walker, text, "%s %s", store ? "store" : "load", memory->name)) return false;
    for (unsigned i = 0; i < memory->dimensions; i++) {
        const char *subscript = fm_form_written(f, subscripts[i]);
        if (!subscript || !fm_ft_write(walker, text, "[%s]", subscript)) return false;
    }
    uint64_t bytes = reference->layout.bytes;
    if ((reference->offset || bytes != memory->element) &&
        !fm_ft_write(walker, text, " member %" PRIu64 " %" PRIu64, reference->offset, bytes))
        return false;
    const char *source = fm_ft_text(walker->context, place);
    return source && fm_ft_write(walker, text, " @%u:%u:%u ", place->file, place->line, place->column) &&
           write_quoted(walker, text, source) && fm_ft_write(walker, text, "\n");
}

bool fm_ft_flush(ft_walker *walker, const ft_place *place, bool always)
{
    const fm_region_operations *counts = &walker->operations;
    const struct {
        const char *word;
        uint64_t count;
    } words[] = {{"adds", counts->adds},
                 {"multiplies", counts->multiplies},
                 {"divides", counts->divides},
                 {"specials", counts->specials},
                 {"integers", counts->integers}};
    bool any = walker->accesses.size > 0;
    for (size_t i = 0; i < 5; i++) any |= words[i].count > 0;
    if (!any && !always) return true;
    if (!indent(walker) || !fm_ft_write(walker, &walker->out, "do")) return false;
    for (size_t i = 0; i < 5; i++)
        if (words[i].count &&
            !fm_ft_write(walker, &walker->out, " %s %" PRIu64, words[i].word, words[i].count))
            return false;
    if (!fm_ft_write(walker, &walker->out, " @%u:%u:%u {", place->file, place->line, place->column))
        return false;
    walker->blocks++;
    bool done = true;
    const char *at = walker->accesses.bytes, *end = walker->accesses.size ? at + walker->accesses.size : at;
    if (at < end) done = fm_ft_write(walker, &walker->out, "\n");
    for (const char *line_end; done && at < end; at = line_end + 1) {
        line_end = memchr(at, '\n', (size_t)(end - at));
        done = indent(walker) && fm_ft_write(walker, &walker->out, "%.*s\n", (int)(line_end - at), at);
    }
    walker->blocks--;
    if (done && walker->accesses.size) done = indent(walker);
    walker->accesses.size = 0;
    walker->operations = (fm_region_operations){0};
    return done &&
           fm_ft_write(walker, &walker->out, walker->out.bytes[walker->out.size - 1] == '{' ? " }\n" : "}\n");
}

bool fm_ft_note(ft_walker *walker, const char *text)
{
    if (!text) return false;
    for (size_t i = 0; i < walker->note_count; i++)
        if (strcmp(walker->notes[i], text) == 0) return true;
    if (fm_array_reserve((void **)&walker->notes, &walker->note_room, walker->note_count + 1,
                         sizeof *walker->notes))
        return fm_ft_no_memory(walker->context);
    walker->notes[walker->note_count++] = text;
    return true;
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

/* ---- declarations ---- */

static bool write_memory(ft_walker *walker, ft_text *text, const ft_memory *memory)
{
    if (!fm_ft_write(walker, text, "array %s", memory->name)) return false;
    bool lows = false;
    for (unsigned i = 0; i < memory->dimensions; i++) {
        const fm_form *extent = memory->extents[i];
        /* A last extent that nothing else needs stays unknown. */
        if (i + 1 == memory->dimensions && memory->last_extent && !memory->last_extent->used) extent = NULL;
        const char *shown = extent ? fm_form_written(&walker->front, extent) : "";
        if (!shown || !fm_ft_write(walker, text, "[%s]", shown)) return false;
        lows |= memory->lows[i] != 0;
    }
    if (!fm_ft_write(walker, text, " of %" PRIu64, memory->element)) return false;
    if (memory->dimensions > 1 && !fm_ft_write(walker, text, " column-major")) return false;
    if (lows && !fm_ft_write(walker, text, " low")) return false;
    for (unsigned i = 0; lows && i < memory->dimensions; i++)
        if (!fm_ft_write(walker, text, " %" PRId64, memory->lows[i])) return false;
    if (!memory->place.line) return fm_ft_write(walker, text, "\n");
    return fm_ft_write(walker, text, " @%u:%u:%u\n", memory->place.file, memory->place.line,
                       memory->place.column);
}

static bool write_declarations(ft_walker *walker, ft_text *text, ft_text *arrays)
{
    ft_context *context = walker->context;
    bool done = fm_ft_write(walker, text, "fathom-region 1\n");
    for (uint32_t i = 1; i <= context->name_count && done; i++)
        done = fm_ft_write(walker, text, "file %u ", i) && write_quoted(walker, text, context->name_of[i]) &&
               fm_ft_write(walker, text, "\n");
    /* Arrays first: what their extents use is used. */
    for (const ft_memory *memory = walker->memories; memory && done; memory = memory->next)
        done = !memory->touched || write_memory(walker, arrays, memory);
    return done;
}

static bool write_parameters(ft_walker *walker, ft_text *text)
{
    bool done = true;
    for (const fm_atom *atom = walker->front.atoms; atom && done; atom = atom->next) {
        if (atom->kind != FM_ATOM_PARAMETER || !atom->used) continue;
        done = fm_ft_write(walker, text, "param %s", atom->name);
        if (done && atom->has_number) done = fm_ft_write(walker, text, " = %" PRId64, atom->constant);
        if (done) done = fm_ft_write(walker, text, "\n");
    }
    for (const fm_atom *atom = walker->front.atoms; atom && done; atom = atom->next)
        if (atom->kind == FM_ATOM_PARAMETER && atom->used && atom->fixed)
            done = fm_ft_write(walker, text, "assume %s == %" PRId64 "\n", atom->name, atom->constant);
    return done;
}

bool fm_ft_emit(ft_walker *walker, const char *function, const ft_place *place, uint32_t last_line,
                char **text, size_t *size)
{
    ft_text head = {0}, arrays = {0};
    walker->most_text += walker->out.size + (1 << 20);
    bool done = write_declarations(walker, &head, &arrays) && fm_ft_write(walker, &head, "function ") &&
                write_quoted(walker, &head, function) &&
                fm_ft_write(walker, &head, " @%u:%u-%u\n", place->file, place->line, last_line) &&
                write_parameters(walker, &head);
    for (size_t i = 0; i < walker->note_count && done; i++)
        done = fm_ft_write(walker, &head, "note ") && write_quoted(walker, &head, walker->notes[i]) &&
               fm_ft_write(walker, &head, "\n");
    if (done && arrays.size) done = fm_ft_write(walker, &head, "%s", arrays.bytes);
    if (done) done = fm_ft_write(walker, &head, "\n%s", walker->out.size ? walker->out.bytes : "");
    free(arrays.bytes);
    if (!done) {
        free(head.bytes);
        return false;
    }
    *text = head.bytes;
    *size = head.size;
    return true;
}
