/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fortran_front.c - a region out of Fortran source (77 to 2008, fixed and free form), as text
 * (docs/STATIC-IR.md).
 *
 * Files begin with fortran_: source.c joins lines to statements and cuts them into words; declarations.c,
 * statements.c and expressions.c make trees of them; front.c finds the procedure or the marked part, and
 * walker.c with loops.c goes through it once: integers.c works out bounds, subscripts and conditions, names.c
 * what a name stands for, access.c what a statement touches and computes, sections.c which elements, and
 * array assignments, inline.c calls. The region's tree, the forms in it and its text are those of all front
 * ends (static/front/front_middle.h).
 *
 * It reads one file (and what that includes), compiles nothing, and knows no modules but those of that file.
 * What it does not understand is refused, but only where the region needs it.
 */
#include "static/fortran/fortran_walker.h"

#include "base/error.h"
#include "base/memory.h"
#include "static/front/front.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef struct ft_choice {
    ft_unit *unit;
    const ft_statement *first, *end; /* end NULL: to the end of the list */
    ft_place place;
    uint32_t last_line;
} ft_choice;

/* Understands options->flags. */
static bool read_flags(ft_context *context, const char *path);

static bool choose_region(ft_context *context, ft_unit *units, ft_choice *choice);

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
    const bool walked =
        fm_assumptions_read(&walker->front,
                            walker->context->options ? walker->context->options->assumptions : NULL) &&
        declare_arguments(walker, unit) && fm_ft_walk(walker, choice->first, choice->end) &&
        fm_assumptions_check(&walker->front) && fm_front_check(&walker->front, walker->front.list);
    walker->activation = NULL;
    return walked;
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
    ft_choice choice = {0};
    ft_unit *units = fm_ft_parse(context, source);
    ft_walker *walker = fm_calloc(1, sizeof *walker);
    if (!walker) return fm_ft_no_memory(context);
    walker->context = context;
    walker->units = units;
    fm_ft_begin_forms(walker);
    walker->most_text = ((size_t)4 << 20) + 64 * context->bytes;
    fm_front_list region;
    bool done = units && context->status == FM_OK && choose_region(context, units, &choice) &&
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
    bool done = read_flags(context, path) && fm_ft_read_source(context, path, &source) &&
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

/*
 * Which part of the source is the region: the named procedure, what is between two comments (!$fathom
 * begin, !$fathom end; !$scop, !$endscop), or the only procedure with loops.
 */

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

static bool choose_region(ft_context *context, ft_unit *units, ft_choice *choice)
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

/* ---- Failures, memory, flags: what all files of the reader share ---- */

bool fm_ft_fail(ft_context *context, fm_status status, const ft_place *place, const char *format, ...)
{
    if (context->status != FM_OK) return false;
    char reason[480];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
    const char *path = context->name_of[place && place->file ? place->file : 1];
    context->status = place && place->line
                          ? fm_fail_at(context->error, status, path, FM_PLACE_LINE, place->line, "%s", reason)
                          : fm_fail(context->error, status, path, "%s", reason);
    return false;
}

bool fm_ft_no_memory(ft_context *context)
{
    if (context->status == FM_OK)
        context->status = fm_fail(context->error, FM_E_NOMEM, NULL, "out of memory: no room for a program");
    return false;
}

void *fm_ft_allocate(ft_context *context, size_t count, size_t size)
{
    void *given = fm_arena_allocate(context->arena, count, size);
    if (!given) fm_ft_no_memory(context);
    return given;
}

const char *fm_ft_intern(ft_context *context, const char *text)
{
    const char *kept = fm_arena_intern(context->arena, text);
    if (!kept) fm_ft_no_memory(context);
    return kept;
}

const char *fm_ft_print(ft_context *context, const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    char *text = length < 0 ? NULL : fm_ft_allocate(context, (size_t)length + 1, 1);
    if (text) vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    return text;
}

const char *fm_ft_text(ft_context *context, const ft_place *place)
{
    size_t length = (size_t)(place->end - place->begin);
    char *text = fm_ft_allocate(context, length + 1, 1);
    if (!text) return NULL;
    size_t used = 0;
    bool line_end = false;
    for (size_t i = 0; i < length; i++) {
        char character = place->begin[i];
        /* Over an end of line: without the signs of continuation, as far as they can be told. */
        if (character == '\n' || character == '\r') {
            while (used && strchr(" \t&", text[used - 1])) used--;
            line_end = true;
        } else if (!line_end || !strchr(" \t&", character)) {
            text[used++] = character;
            line_end = false;
        }
    }
    text[used] = 0;
    return text;
}

/* ---- flags ---- */

/* Those that do not change what a program means. */
static bool harmless_flag(const char *flag)
{
    static const char *const beginnings[] = {"-O",
                                             "-W",
                                             "-g",
                                             "-std=",
                                             "-m",
                                             "-fopenmp",
                                             "-fPIC",
                                             "-c",
                                             "-I",
                                             "-J",
                                             "-ffree-line-length-",
                                             "-fcheck=",
                                             "-fimplicit-none",
                                             "-D",
                                             "-U"};
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
        if (strncmp(flag, beginnings[i], strlen(beginnings[i])) == 0) return true;
    return false;
}

static bool ends_with(const char *text, const char *ending)
{
    size_t length = strlen(text), part = strlen(ending);
    return length >= part && strcasecmp(text + length - part, ending) == 0;
}

static bool read_flags(ft_context *context, const char *path)
{
    static const char *const fixed[] = {".f", ".for", ".ftn", ".f77", ".fpp", ".fi"};
    context->line_length = 72;
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) context->fixed |= ends_with(path, fixed[i]);
    const char *const *flags = context->options ? context->options->flags : NULL;
    static const char length[] = "-ffixed-line-length-";
    for (; flags && *flags; flags++) {
        const char *flag = *flags;
        if (strcmp(flag, "-I") == 0 || strcmp(flag, "-J") == 0) {
            if (flags[1]) flags++;
        } else if (strcmp(flag, "-ffree-form") == 0) {
            context->fixed = false;
        } else if (strcmp(flag, "-ffixed-form") == 0) {
            context->fixed = true;
        } else if (strncmp(flag, length, sizeof length - 1) == 0) {
            const char *number = flag + sizeof length - 1;
            int columns = atoi(number);
            bool none = strcmp(number, "none") == 0 || strcmp(number, "0") == 0;
            if (!none && (columns < 7 || columns > 100000))
                return fm_ft_fail(context, FM_E_ARGUMENT, NULL, "flag '%.100s': not a length of lines", flag);
            context->line_length = none ? UINT32_MAX : (uint32_t)columns;
        } else if (strcmp(flag, "-fdefault-real-8") == 0) {
            context->real_8 = true;
        } else if (strcmp(flag, "-fdefault-double-8") == 0) {
            context->double_8 = true;
        } else if (strcmp(flag, "-fdefault-integer-8") == 0 || strcmp(flag, "-i8") == 0) {
            context->integer_8 = true;
        } else if (!harmless_flag(flag)) {
            return fm_ft_fail(context, FM_E_ARGUMENT, NULL, "flag '%.100s' is not understood for Fortran",
                              flag);
        }
    }
    return true;
}
