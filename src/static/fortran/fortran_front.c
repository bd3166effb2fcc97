/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fortran_front.c - a region out of Fortran source (77 to 2008, fixed and free form), as text
 * (docs/STATIC-IR.md).
 *
 * Files begin with fortran_: source.c joins lines to statements, lexer.c cuts them into words, units.c,
 * declarations.c, statements.c and expressions.c make trees of them; region_choice.c finds the procedure or
 * the marked part, and walker.c with loops.c goes through it once and writes the region: integers.c works out
 * bounds and subscripts (as forms.c has them), access.c what a statement touches and computes, sections.c
 * array assignments, inline.c calls.
 *
 * It reads one file (and what that includes), compiles nothing, and knows no modules but those of that file.
 * What it does not understand is refused, but only where the region needs it.
 */
#include "static/front/front.h"

#include "base/error.h"
#include "base/memory.h"
#include "static/fortran/fortran_walker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whole-number arguments become parameters in the order in which the procedure has them. */
static bool declare_arguments(ft_walker *walker, const ft_unit *unit)
{
    for (unsigned i = 0; i < unit->dummy_count; i++) {
        const ft_symbol *dummy = unit->dummies[i];
        if (dummy->rank || fm_ft_type_of(dummy).base != FT_INTEGER_TYPE) continue;
        ft_object *object = fm_ft_object(walker, dummy, &dummy->place);
        if (!object || !fm_ft_known(walker, object)) return false;
    }
    return true;
}

static bool walk_region(ft_walker *walker, const ft_choice *choice)
{
    ft_unit *unit = choice->unit;
    if (unit->why)
        return fm_ft_refuse(walker->context, &unit->why_place,
                            "a declaration of '%.100s' is not understood: %s", unit->name, unit->why);
    for (const ft_unit *host = unit->host; host; host = host->host)
        if (host->why)
            return fm_ft_refuse(walker->context, &host->why_place,
                                "a declaration of '%.100s' is not understood: %s", host->name, host->why);
    ft_activation activation = {.unit = unit};
    walker->activation = &activation;
    unit->active = true;
    return fm_assumptions_read(&walker->front,
                               walker->context->options ? walker->context->options->assumptions : NULL) &&
           declare_arguments(walker, unit) && fm_ft_walk(walker, choice->first, choice->end) &&
           fm_assumptions_check(&walker->front) && fm_front_check(&walker->front, walker->front.list);
}

/* Where the region's tree begins, and the names of the files in it. */
static bool begin_tree(ft_walker *walker, fm_front_list *region)
{
    fm_front *f = &walker->front;
    const ft_context *context = walker->context;
    fm_front_list_begin(region);
    f->list = region;
    f->statement = fm_front_node_new(f, FM_FRONT_STATEMENT, &(fm_front_place){0});
    walker->files = fm_front_allocate(f, context->name_count + 1, sizeof *walker->files);
    for (uint32_t i = 1; i <= context->name_count && walker->files; i++) {
        walker->files[i].path = context->name_of[i];
        fm_front_file_number(f, &walker->files[i]);
    }
    return f->statement && walker->files;
}

static bool write_region(ft_walker *walker, const ft_choice *choice, char **text, size_t *size)
{
    const fm_front_function function = {choice->unit->name, &walker->files[choice->place.file],
                                        choice->place.line, choice->last_line};
    FILE *out = open_memstream(text, size);
    if (!out) return fm_ft_no_memory(walker->context);
    const bool done = fm_front_print(&walker->front, walker->front.list, &function, out);
    if (fclose(out) == 0 && done && walker->context->status == FM_OK) return true;
    free(*text);
    *text = NULL;
    *size = 0;
    return fm_ft_no_memory(walker->context); /* or it has failed already */
}

static bool make_region(ft_context *context, const ft_source *source, char **text, size_t *size)
{
    ft_choice choice;
    ft_unit *units = fm_ft_parse(context, source);
    ft_walker *walker = fm_calloc(1, sizeof *walker);
    if (!walker) return fm_ft_no_memory(context);
    walker->context = context;
    walker->units = units;
    fm_ft_begin_forms(walker);
    walker->most_text = ((size_t)4 << 20) + 64 * context->bytes;
    fm_front_list region;
    bool done = units && context->status == FM_OK && fm_ft_choose(context, units, &choice) &&
                begin_tree(walker, &region) && walk_region(walker, &choice) &&
                write_region(walker, &choice, text, size);
    free(walker);
    return done;
}

fm_status fm_front_fortran(const char *path, const fm_region_options *options, char **text, size_t *size,
                           fm_error *error)
{
    *text = NULL;
    *size = 0;
    ft_context *context = fm_calloc(1, sizeof *context);
    if (context) context->arena = fm_arena_create();
    if (!context || !context->arena) {
        free(context);
        return fm_fail(error, FM_E_NOMEM, NULL, "out of memory: no room for a program");
    }
    context->error = error;
    context->options = options;
    context->name_of[1] = path; /* for failures before the file is read */
    ft_source source = {0};
    bool done = fm_ft_flags(context, path) && fm_ft_read_source(context, path, &source) &&
                make_region(context, &source, text, size);
    fm_status status = context->status;
    if (!done && status == FM_OK)
        status = fm_fail(error, FM_E_NOMEM, NULL, "out of memory: no room for a program");
    free(source.lines);
    for (uint32_t i = 0; i < context->file_count; i++) fm_text_file_clear(&context->files[i].text);
    fm_arena_destroy(context->arena);
    free(context);
    return status;
}
