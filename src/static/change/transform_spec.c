/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transform_spec.c - changes as text: "interchange:i,j; tile:i,j=32,8" as steps, and changes that are worth
 * a try.
 */
#include "static/change/transform.h"

#include "base/error.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what is asked for ---- */

static const char *const words[] = {"interchange", "tile", "fuse", "distribute", "pad"};
enum { WORDS = sizeof words / sizeof words[0] };

const char *fm_step_word(fm_step_kind kind)
{
    return words[kind];
}

static void skip_spaces(const char **at)
{
    while (isspace((unsigned char)**at)) ++*at;
}

static size_t name_length(const char *at)
{
    size_t length = 0;
    while (isalnum((unsigned char)at[length]) || at[length] == '_' ||
           (length && (at[length] == '$' || at[length] == '.')))
        length++;
    return isdigit((unsigned char)at[0]) ? 0 : length;
}

/* Does a step begin here? Steps may be separated as their parts are. */
static bool begins_step(const char *at)
{
    skip_spaces(&at);
    at += name_length(at);
    skip_spaces(&at);
    return *at == ':';
}

static fm_status expected_here(const char *text, const char *at, const char *what, fm_error *error)
{
    if (*at)
        return fm_fail(error, FM_E_ARGUMENT, NULL, "'%.160s': expected %s, found '%.40s'", text, what, at);
    return fm_fail(error, FM_E_ARGUMENT, NULL, "'%.160s': expected %s at its end", text, what);
}

/* "@12", "#2": a number from 1 on behind a sign, where the sign is there. */
static fm_status read_mark(const char *text, const char **at, char sign, const char *what, uint32_t *number,
                           fm_error *error)
{
    if (**at != sign) return FM_OK;
    char *end;
    errno = 0;
    const unsigned long long found = isdigit((unsigned char)(*at)[1]) ? strtoull(*at + 1, &end, 10) : 0;
    if (found == 0 || found > UINT32_MAX || errno) return expected_here(text, *at + 1, what, error);
    *number = (uint32_t)found;
    *at = end;
    return FM_OK;
}

static fm_status read_name(const char *text, const char **at, fm_loop_name *name, bool loop, fm_error *error)
{
    skip_spaces(at);
    const size_t length = name_length(*at);
    if (length == 0 || length >= sizeof name->name)
        return expected_here(text, *at, loop ? "the variable of a loop" : "the name of an array", error);
    memcpy(name->name, *at, length);
    name->name[length] = '\0';
    *at += length;
    if (!loop) return FM_OK;
    fm_status status = read_mark(text, at, '@', "the number of a line", &name->line, error);
    return status == FM_OK ? read_mark(text, at, '#', "the number of a loop", &name->number, error) : status;
}

static fm_status read_number(const char *text, const char **at, int64_t least, int64_t *number,
                             fm_error *error)
{
    char *end;
    skip_spaces(at);
    errno = 0;
    *number = strtoll(*at, &end, 10);
    if (end == *at || errno || *number < least || *number > INT64_C(1) << 40)
        return expected_here(text, *at, least > 0 ? "a whole number from 1 on" : "a whole number, as +8",
                             error);
    *at = end;
    return FM_OK;
}

static bool another_follows(const char **at)
{
    skip_spaces(at);
    if (**at != ',' || begins_step(*at + 1)) return false;
    ++*at;
    return true;
}

static fm_status read_names(const char *text, const char **at, fm_change_step *step, fm_error *error)
{
    fm_status status;
    do {
        if (step->count == FM_MOST_TILED)
            return fm_fail(error, FM_E_ARGUMENT, NULL, "'%.160s': more than %d loops", text, FM_MOST_TILED);
        status = read_name(text, at, &step->names[step->count++], step->kind != FM_STEP_PAD, error);
    } while (status == FM_OK && another_follows(at));
    return status;
}

static fm_status read_numbers(const char *text, const char **at, fm_change_step *step, fm_error *error)
{
    if (**at != '=')
        return expected_here(text, *at, step->kind == FM_STEP_PAD ? "'=' and elements" : "'=' and sizes",
                             error);
    ++*at;
    for (unsigned i = 0; i < step->count; i++) {
        if (i > 0 && !another_follows(at)) return expected_here(text, *at, "as many sizes as loops", error);
        fm_status status = read_number(text, at, step->kind == FM_STEP_PAD ? 0 : 1, &step->numbers[i], error);
        if (status != FM_OK) return status;
    }
    return FM_OK;
}

static fm_status read_step(const char *text, const char **at, fm_change_step *step, fm_error *error)
{
    *step = (fm_change_step){0};
    skip_spaces(at);
    const size_t length = name_length(*at);
    unsigned kind = 0;
    while (kind < WORDS && (strlen(words[kind]) != length || strncmp(words[kind], *at, length) != 0)) kind++;
    if (kind == WORDS || !begins_step(*at))
        return expected_here(text, *at, "interchange:, tile:, fuse:, distribute: or pad:", error);
    step->kind = (fm_step_kind)kind;
    *at = strchr(*at, ':') + 1;
    fm_status status = read_names(text, at, step, error);
    if (status != FM_OK) return status;
    skip_spaces(at);
    if (step->kind == FM_STEP_TILE || step->kind == FM_STEP_PAD) {
        if (step->kind == FM_STEP_PAD && step->count != 1)
            return fm_fail(error, FM_E_ARGUMENT, NULL, "'%.160s': pad: takes one array", text);
        status = read_numbers(text, at, step, error);
        skip_spaces(at);
    } else if (step->count != (step->kind == FM_STEP_INTERCHANGE ? 2 : 1)) {
        return fm_fail(error, FM_E_ARGUMENT, NULL, "'%.160s': %s: takes %s", text, words[kind],
                       step->kind == FM_STEP_INTERCHANGE ? "two loops" : "one loop");
    }
    if (status == FM_OK && **at && **at != ';' && **at != ',')
        return expected_here(text, *at, "';' or the end", error);
    return status;
}

fm_status fm_change_parse(const char *text, fm_change_step *steps, size_t *count, fm_error *error)
{
    const char *at = text;
    fm_status status = FM_OK;
    *count = 0;
    for (;;) {
        if (*count == FM_MOST_STEPS)
            return fm_fail(error, FM_E_ARGUMENT, NULL, "'%.160s': more than %d changes", text, FM_MOST_STEPS);
        status = read_step(text, &at, &steps[*count], error);
        if (status != FM_OK) return status;
        ++*count;
        if (!*at) return FM_OK;
        at++;
        skip_spaces(&at);
        if (!*at && at[-1] != ',') return FM_OK; /* a ';' at the end */
    }
}

/* ---- what is worth a try ---- */

/*
 * Changes of a region's loops that are worth a try. Whether they are legal and what they bring is found out
 * by whoever asks.
 */

typedef struct suggesting {
    const fm_region *region;
    FILE *out;
} suggesting;

static void put_loop(const suggesting *self, const fm_region_node *loop)
{
    char label[FM_LOOP_NAME + 32];
    fm_loop_label(self->region, loop, label, sizeof label);
    fputs(label, self->out);
}

/* The loop that is the only thing in this one. */
static const fm_region_node *only_loop(const fm_region_node *loop)
{
    const fm_region_node *inner = loop->body;
    return inner && !inner->next && inner->kind == FM_NODE_LOOP ? inner : NULL;
}

static void put_tiles(const suggesting *self, const fm_region_node *const *loops, unsigned count)
{
    for (int size = 16; size <= 64; size *= 2) {
        for (unsigned i = 0; i < count; i++) {
            fputs(i == 0 ? "tile:" : ",", self->out);
            put_loop(self, loops[i]);
        }
        for (unsigned i = 0; i < count; i++) fprintf(self->out, "%c%d", i == 0 ? '=' : ',', size);
        fputc('\0', self->out);
    }
}

static void put_nest(const suggesting *self, const fm_region_node *loop)
{
    const fm_region_node *loops[3] = {loop, only_loop(loop), NULL};
    if (!loops[1]) return;
    fputs("interchange:", self->out);
    put_loop(self, loop);
    fputc(',', self->out);
    put_loop(self, loops[1]);
    fputc('\0', self->out);
    put_tiles(self, loops, 2);
    loops[2] = only_loop(loops[1]);
    if (loops[2]) put_tiles(self, loops, 3);
}

static void put_one(const suggesting *self, const char *word, const fm_region_node *loop)
{
    fputs(word, self->out);
    put_loop(self, loop);
    fputc('\0', self->out);
}

static void look_in_nodes(const suggesting *self, const fm_region_node *node)
{
    for (; node; node = node->next) {
        if (node->kind == FM_NODE_LOOP) {
            put_nest(self, node);
            if (node->body && node->body->next) put_one(self, "distribute:", node);
            if (node->next && node->next->kind == FM_NODE_LOOP) put_one(self, "fuse:", node);
        }
        look_in_nodes(self, node->body);
        look_in_nodes(self, node->otherwise);
    }
}

fm_status fm_region_suggest(const fm_region *region, char **changes, fm_error *error)
{
    FM_REQUIRE(region, error);
    size_t size;
    const suggesting self = {.region = region, .out = open_memstream(changes, &size)};
    if (!self.out) return fm_fail(error, FM_E_NOMEM, NULL, "out of memory: no room for suggestions");
    look_in_nodes(&self, region->body);
    fputc('\0', self.out);
    const bool failed = ferror(self.out);
    if (fclose(self.out) == 0 && !failed) return FM_OK;
    free(*changes);
    *changes = NULL;
    return fm_fail(error, FM_E_NOMEM, NULL, "out of memory: no room for suggestions");
}
