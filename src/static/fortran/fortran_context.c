/* SPDX-License-Identifier: Apache-2.0 */
/* fortran_context.c - see fortran_context.h. */
#include "static/fortran/fortran_context.h"

#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

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

bool fm_ft_flags(ft_context *context, const char *path)
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
