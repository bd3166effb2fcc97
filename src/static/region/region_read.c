/* SPDX-License-Identifier: Apache-2.0 */
/*
 * region_read.c - a region from its text (docs/STATIC-IR.md): declarations, then loops, guards, statements,
 * accesses.
 */
#include "static/region/region_reader.h"

#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what both parts need ---- */

fm_status fm_fir_expect(fm_region_reader *reader, int sign, const char *expected, fm_error *error)
{
    if (!fm_lexer_is_sign(&reader->lexer, sign)) return fm_lexer_unexpected(&reader->lexer, expected, error);
    return fm_lexer_next(&reader->lexer, error);
}

/* Makes room for one more element behind `count`, in the region's arena. */
static fm_status fir_room(fm_region_reader *reader, void *array, size_t *room, size_t count, size_t size,
                          fm_error *error)
{
    if (count < *room) return FM_OK;
    size_t wanted = *room ? 2 * *room : 8;
    void *old, *grown = fm_arena_allocate(reader->region->arena, wanted, size);
    if (!grown) return fm_fail_memory(error, wanted * size, "a region");
    memcpy(&old, array, sizeof old); /* array: the address of a pointer of some type */
    if (count > 0) memcpy(grown, old, count * size);
    memcpy(array, &grown, sizeof grown);
    *room = wanted;
    return FM_OK;
}

static fm_status read_place_number(fm_region_reader *reader, uint32_t *number, fm_error *error)
{
    if (reader->lexer.kind != FM_TOKEN_NUMBER || reader->lexer.number > UINT32_MAX)
        return fm_lexer_unexpected(&reader->lexer, "a number of a file, line or column", error);
    *number = (uint32_t)reader->lexer.number;
    return fm_lexer_next(&reader->lexer, error);
}

/* "@1:20:5", where one follows; else *place is all 0. */
static fm_status fir_place(fm_region_reader *reader, fm_region_place *place, fm_error *error)
{
    fm_lexer *lexer = &reader->lexer;
    *place = (fm_region_place){0};
    if (!fm_lexer_is_sign(lexer, '@')) return FM_OK;
    fm_status status = fm_lexer_next(lexer, error);
    if (status == FM_OK) status = read_place_number(reader, &place->file, error);
    if (status == FM_OK && (place->file == 0 || place->file > reader->region->file_count))
        return fm_lexer_fail(lexer, error, "there is no file %u", place->file);
    uint32_t *const numbers[] = {&place->line, &place->column};
    for (int i = 0; i < 2 && status == FM_OK && fm_lexer_is_sign(lexer, ':'); i++) {
        status = fm_lexer_next(lexer, error);
        if (status == FM_OK) status = read_place_number(reader, numbers[i], error);
    }
    if (status == FM_OK && fm_lexer_is_sign(lexer, '-')) {
        status = fm_lexer_next(lexer, error);
        if (status == FM_OK) status = read_place_number(reader, &place->last_line, error);
    }
    return status;
}

/* ---- declarations ---- */

static fm_status read_quoted(fm_region_reader *reader, const char **text, fm_error *error)
{
    if (reader->lexer.kind != FM_TOKEN_TEXT)
        return fm_lexer_unexpected(&reader->lexer, "a text in quotes", error);
    *text = reader->lexer.text;
    return fm_lexer_next(&reader->lexer, error);
}

static fm_status read_whole(fm_region_reader *reader, int64_t least, int64_t most, const char *what,
                            int64_t *number, fm_error *error)
{
    fm_lexer *lexer = &reader->lexer;
    bool minus = least < 0 && fm_lexer_is_sign(lexer, '-');
    fm_status status = minus ? fm_lexer_next(lexer, error) : FM_OK;
    if (status != FM_OK) return status;
    if (lexer->kind != FM_TOKEN_NUMBER) return fm_lexer_unexpected(lexer, what, error);
    *number = minus ? -lexer->number : lexer->number;
    if (*number < least || *number > most)
        return fm_lexer_fail(lexer, error, "%s must be from %lld to %lld", what, (long long)least,
                             (long long)most);
    return fm_lexer_next(lexer, error);
}

static fm_status read_new_name(fm_region_reader *reader, const char **name, fm_error *error)
{
    const fm_region *region = reader->region;
    if (reader->lexer.kind != FM_TOKEN_NAME) return fm_lexer_unexpected(&reader->lexer, "a name", error);
    *name = reader->lexer.text;
    bool known = false;
    for (size_t i = 0; i < region->parameter_count; i++)
        known |= strcmp(region->parameters[i].name, *name) == 0;
    for (size_t i = 0; i < region->array_count; i++) known |= strcmp(region->arrays[i].name, *name) == 0;
    if (known) return fm_lexer_fail(&reader->lexer, error, "'%.60s' is declared twice", *name);
    return fm_lexer_next(&reader->lexer, error);
}

static fm_status read_file(fm_region_reader *reader, fm_error *error)
{
    fm_region *region = reader->region;
    int64_t number = 0;
    fm_status status = read_whole(reader, 1, UINT32_MAX, "the number of a file", &number, error);
    if (status != FM_OK) return status;
    if ((uint64_t)number != region->file_count + 1)
        return fm_lexer_fail(&reader->lexer, error,
                             "files are numbered one after the other: this is file %zu",
                             region->file_count + 1);
    status = fir_room(reader, &region->files, &reader->file_room, region->file_count, sizeof *region->files,
                      error);
    if (status == FM_OK) status = read_quoted(reader, &region->files[region->file_count], error);
    if (status == FM_OK) region->file_count++;
    return status;
}

static fm_status read_parameter(fm_region_reader *reader, fm_error *error)
{
    fm_region *region = reader->region;
    fm_region_parameter parameter = {0};
    fm_status status = read_new_name(reader, &parameter.name, error);
    if (status == FM_OK && fm_lexer_is_sign(&reader->lexer, '=')) {
        parameter.has_value = true;
        status = fm_lexer_next(&reader->lexer, error);
        if (status == FM_OK)
            status = read_whole(reader, -INT64_MAX, INT64_MAX, "the value of a parameter", &parameter.value,
                                error);
    }
    if (status == FM_OK)
        status = fir_room(reader, &region->parameters, &reader->parameter_room, region->parameter_count,
                          sizeof parameter, error);
    if (status == FM_OK) region->parameters[region->parameter_count++] = parameter;
    return status;
}

static fm_status read_assumption(fm_region_reader *reader, fm_error *error)
{
    fm_region *region = reader->region;
    fm_status status = fir_room(reader, &region->assumptions, &reader->assumption_room,
                                region->assumption_count, sizeof *region->assumptions, error);
    if (status == FM_OK)
        status = fm_fir_condition(reader, &region->assumptions[region->assumption_count], error);
    if (status == FM_OK) region->assumption_count++;
    return status;
}

static fm_status read_note(fm_region_reader *reader, fm_error *error)
{
    fm_region *region = reader->region;
    fm_status status = fir_room(reader, &region->notes, &reader->note_room, region->note_count,
                                sizeof *region->notes, error);
    if (status == FM_OK) status = read_quoted(reader, &region->notes[region->note_count], error);
    if (status == FM_OK) region->note_count++;
    return status;
}

static fm_status read_extents(fm_region_reader *reader, fm_region_array *array, fm_error *error)
{
    const fm_expr *extents[FM_MOST_DIMENSIONS];
    fm_status status = FM_OK;
    while (status == FM_OK && fm_lexer_is_sign(&reader->lexer, '[')) {
        if (array->dimensions == FM_MOST_DIMENSIONS)
            return fm_lexer_fail(&reader->lexer, error, "an array has more than %d dimensions",
                                 FM_MOST_DIMENSIONS);
        const fm_expr **extent = &extents[array->dimensions++];
        *extent = NULL;
        status = fm_lexer_next(&reader->lexer, error);
        if (status == FM_OK && !fm_lexer_is_sign(&reader->lexer, ']'))
            status = fm_fir_expression(reader, extent, error);
        if (status == FM_OK) status = fm_fir_expect(reader, ']', "']'", error);
    }
    if (status != FM_OK || array->dimensions == 0) return status;
    array->extents = fm_arena_allocate(reader->region->arena, array->dimensions, sizeof *array->extents);
    if (!array->extents) return fm_fail_memory(error, sizeof extents, "an array");
    memcpy(array->extents, extents, array->dimensions * sizeof *extents);
    return FM_OK;
}

static fm_status read_lows(fm_region_reader *reader, fm_region_array *array, fm_error *error)
{
    int64_t *lows = fm_arena_allocate(reader->region->arena, array->dimensions + 1, sizeof *lows);
    if (!lows) return fm_fail_memory(error, (array->dimensions + 1) * sizeof *lows, "an array");
    fm_status status = FM_OK;
    for (unsigned i = 0; i < array->dimensions && status == FM_OK; i++)
        status = read_whole(reader, INT32_MIN, INT32_MAX, "a smallest subscript", &lows[i], error);
    array->lows = lows;
    return status;
}

static fm_status read_order(fm_region_reader *reader, fm_region_array *array, fm_error *error)
{
    array->column_major = fm_lexer_is_word(&reader->lexer, "column");
    fm_status status = fm_lexer_next(&reader->lexer, error);
    if (status == FM_OK) status = fm_fir_expect(reader, '-', "'-major'", error);
    if (status == FM_OK && !fm_lexer_is_word(&reader->lexer, "major"))
        return fm_lexer_unexpected(&reader->lexer, "'major'", error);
    return status == FM_OK ? fm_lexer_next(&reader->lexer, error) : status;
}

static fm_status read_array_options(fm_region_reader *reader, fm_region_array *array, fm_error *error)
{
    fm_lexer *lexer = &reader->lexer;
    fm_status status = FM_OK;
    while (status == FM_OK) {
        int64_t number = 0;
        if (fm_lexer_is_word(lexer, "row") || fm_lexer_is_word(lexer, "column")) {
            status = read_order(reader, array, error);
        } else if (fm_lexer_is_word(lexer, "align") || fm_lexer_is_word(lexer, "offset")) {
            bool align = fm_lexer_is_word(lexer, "align");
            status = fm_lexer_next(lexer, error);
            if (status == FM_OK)
                status = read_whole(reader, align, INT32_MAX, align ? "an alignment" : "an offset", &number,
                                    error);
            if (status != FM_OK) return status;
            if (align && (number & (number - 1)))
                return fm_lexer_fail(lexer, error, "an alignment must be a power of two");
            *(align ? &array->align : &array->offset) = (uint64_t)number;
        } else if (fm_lexer_is_word(lexer, "low")) {
            status = fm_lexer_next(lexer, error);
            if (status == FM_OK) status = read_lows(reader, array, error);
        } else {
            break;
        }
    }
    return status == FM_OK ? fir_place(reader, &array->place, error) : status;
}

static fm_status check_array(const fm_region_reader *reader, const fm_region_array *array, fm_error *error)
{
    for (unsigned i = 0; i < array->dimensions; i++) {
        if (!array->extents[i]) {
            if (i != (array->column_major ? array->dimensions - 1 : 0))
                return fm_lexer_fail(&reader->lexer, error,
                                     "only the %s extent of '%.60s' may be left open: others say where "
                                     "elements are",
                                     array->column_major ? "last" : "first", array->name);
        } else if (fm_expr_has_variable(array->extents[i])) {
            return fm_lexer_fail(&reader->lexer, error, "an extent of '%.60s' uses a variable", array->name);
        }
    }
    return FM_OK;
}

static fm_status read_array(fm_region_reader *reader, fm_error *error)
{
    fm_region *region = reader->region;
    fm_region_array array = {0};
    int64_t element = 0;
    fm_status status = read_new_name(reader, &array.name, error);
    if (status == FM_OK) status = read_extents(reader, &array, error);
    if (status == FM_OK && !fm_lexer_is_word(&reader->lexer, "of"))
        return fm_lexer_unexpected(&reader->lexer, "'of' and the size of an element", error);
    if (status == FM_OK) status = fm_lexer_next(&reader->lexer, error);
    if (status == FM_OK)
        status = read_whole(reader, 1, FM_MOST_ELEMENT, "the size of an element", &element, error);
    array.element = (uint64_t)element;
    if (status == FM_OK) status = read_array_options(reader, &array, error);
    if (status == FM_OK) status = check_array(reader, &array, error);
    if (status == FM_OK)
        status =
            fir_room(reader, &region->arrays, &reader->array_room, region->array_count, sizeof array, error);
    if (status == FM_OK) region->arrays[region->array_count++] = array;
    return status;
}

static fm_status read_function(fm_region_reader *reader, fm_error *error)
{
    fm_region *region = reader->region;
    if (region->function) return fm_lexer_fail(&reader->lexer, error, "a region is of one function");
    fm_status status = read_quoted(reader, &region->function, error);
    return status == FM_OK ? fir_place(reader, &region->place, error) : status;
}

/* The parts of a region, up to its end. */
static fm_status fir_declarations(fm_region_reader *reader, fm_error *error)
{
    static const struct {
        const char *word;
        fm_status (*read)(fm_region_reader *reader, fm_error *error);
    } kinds[] = {{"file", read_file},         {"function", read_function}, {"param", read_parameter},
                 {"assume", read_assumption}, {"note", read_note},         {"array", read_array}};
    for (;;) {
        size_t i = 0, count = sizeof kinds / sizeof kinds[0];
        while (i < count && !fm_lexer_is_word(&reader->lexer, kinds[i].word)) i++;
        if (i == count) return FM_OK;
        fm_status status = fm_lexer_next(&reader->lexer, error);
        if (status == FM_OK) status = kinds[i].read(reader, error);
        if (status != FM_OK) return status;
    }
}

/* ---- loops, guards, statements, accesses ---- */

enum { MOST_ACCESSES = 1 << 20, MOST_OPERATIONS = 1 << 20 }; /* of a region; of a statement */

/* ---- statements ---- */

static fm_status read_body(fm_region_reader *reader, fm_region_node **body, fm_error *error);

static fm_status read_loop(fm_region_reader *reader, fm_region_node *node, fm_error *error)
{
    fm_lexer *lexer = &reader->lexer;
    fm_region *region = reader->region;
    if (reader->loop_count == FM_MOST_LOOPS)
        return fm_lexer_fail(lexer, error, "more than %d loops inside each other", FM_MOST_LOOPS);
    if (lexer->kind != FM_TOKEN_NAME) return fm_lexer_unexpected(lexer, "the name of a variable", error);
    fm_status status = fir_room(reader, &region->variables, &reader->variable_room, region->variable_count,
                                sizeof *region->variables, error);
    if (status != FM_OK) return status;
    node->variable = (uint32_t)region->variable_count;
    region->variables[region->variable_count++] = lexer->text;
    status = fm_lexer_next(lexer, error);
    if (status == FM_OK) status = fm_fir_expect(reader, '=', "'='", error);
    if (status == FM_OK) status = fm_fir_expression(reader, &node->first, error);
    if (status != FM_OK) return status;
    bool down = fm_lexer_is_word(lexer, "downto");
    if (!down && !fm_lexer_is_word(lexer, "to")) return fm_lexer_unexpected(lexer, "'to' or 'downto'", error);
    node->step = 1;
    status = fm_lexer_next(lexer, error);
    if (status == FM_OK) status = fm_fir_expression(reader, &node->last, error);
    if (status == FM_OK && fm_lexer_is_word(lexer, "step")) {
        status = fm_lexer_next(lexer, error);
        if (status == FM_OK &&
            (lexer->kind != FM_TOKEN_NUMBER || lexer->number == 0 || lexer->number > INT32_MAX))
            return fm_lexer_unexpected(lexer, "a step from 1 to 2147483647", error);
        node->step = lexer->number;
        if (status == FM_OK) status = fm_lexer_next(lexer, error);
    }
    if (down) node->step = -node->step;
    if (status == FM_OK) status = fir_place(reader, &node->place, error);
    reader->loops[reader->loop_count++] = node->variable;
    if (status == FM_OK) status = read_body(reader, &node->body, error);
    reader->loop_count--;
    return status;
}

static fm_status read_if(fm_region_reader *reader, fm_region_node *node, fm_error *error)
{
    fm_status status = fm_fir_condition(reader, &node->condition, error);
    if (status == FM_OK) status = fir_place(reader, &node->place, error);
    if (status == FM_OK) status = read_body(reader, &node->body, error);
    if (status != FM_OK || !fm_lexer_is_word(&reader->lexer, "else")) return status;
    status = fm_lexer_next(&reader->lexer, error);
    return status == FM_OK ? read_body(reader, &node->otherwise, error) : status;
}

static fm_status read_member(fm_region_reader *reader, const fm_region_array *array, fm_region_access *access,
                             fm_error *error)
{
    fm_lexer *lexer = &reader->lexer;
    uint64_t *const numbers[] = {&access->member_offset, &access->member_bytes};
    for (int i = 0; i < 2; i++) {
        fm_status status = fm_lexer_next(lexer, error);
        if (status != FM_OK) return status;
        if (lexer->kind != FM_TOKEN_NUMBER)
            return fm_lexer_unexpected(lexer, "the offset and the size of a member", error);
        *numbers[i] = (uint64_t)lexer->number;
    }
    /* A member may reach over the elements behind it: part of a struct that is addressed in small pieces. */
    if (access->member_bytes == 0 || access->member_offset >= array->element)
        return fm_lexer_fail(lexer, error, "that member does not begin inside the elements of '%.60s'",
                             array->name);
    if (access->member_bytes > FM_MOST_ELEMENT - access->member_offset)
        return fm_lexer_fail(lexer, error, "that member has more than %d bytes", (int)FM_MOST_ELEMENT);
    return fm_lexer_next(lexer, error);
}

static fm_status read_access(fm_region_reader *reader, fm_region_access *access, fm_error *error)
{
    fm_lexer *lexer = &reader->lexer;
    fm_region *region = reader->region;
    access->store = fm_lexer_is_word(lexer, "store");
    fm_status status = fm_lexer_next(lexer, error);
    if (status != FM_OK) return status;
    if (lexer->kind != FM_TOKEN_NAME) return fm_lexer_unexpected(lexer, "the name of an array", error);
    while (access->array < region->array_count &&
           strcmp(region->arrays[access->array].name, lexer->text) != 0)
        access->array++;
    if (access->array == region->array_count)
        return fm_lexer_fail(lexer, error, "there is no array with the name '%.60s'", lexer->text);
    const fm_region_array *array = &region->arrays[access->array];
    access->member_bytes = array->element;
    access->subscripts = fm_arena_allocate(region->arena, array->dimensions + 1, sizeof *access->subscripts);
    if (!access->subscripts) return fm_fail_memory(error, array->dimensions, "subscripts");
    status = fm_lexer_next(lexer, error);
    for (unsigned i = 0; i < array->dimensions && status == FM_OK; i++) {
        if (!fm_lexer_is_sign(lexer, '['))
            return fm_lexer_fail(lexer, error, "'%.60s' has %u dimensions, here are %u subscripts",
                                 array->name, array->dimensions, i);
        status = fm_lexer_next(lexer, error);
        if (status == FM_OK) status = fm_fir_expression(reader, &access->subscripts[i], error);
        if (status == FM_OK) status = fm_fir_expect(reader, ']', "']'", error);
    }
    if (status == FM_OK && fm_lexer_is_sign(lexer, '['))
        return fm_lexer_fail(lexer, error, "'%.60s' has %u dimensions, here are more subscripts", array->name,
                             array->dimensions);
    if (status == FM_OK && fm_lexer_is_word(lexer, "member"))
        status = read_member(reader, array, access, error);
    if (status == FM_OK) status = fir_place(reader, &access->place, error);
    if (status == FM_OK && lexer->kind == FM_TOKEN_TEXT) {
        access->text = lexer->text;
        status = fm_lexer_next(lexer, error);
    }
    return status;
}

static fm_status read_operations(fm_region_reader *reader, fm_region_operations *operations, fm_error *error)
{
    fm_lexer *lexer = &reader->lexer;
    struct {
        const char *word;
        uint64_t *count;
    } kinds[] = {{"adds", &operations->adds},
                 {"multiplies", &operations->multiplies},
                 {"divides", &operations->divides},
                 {"specials", &operations->specials},
                 {"integers", &operations->integers}};
    while (lexer->kind == FM_TOKEN_NAME) {
        size_t i = 0;
        while (i < 5 && !fm_lexer_is_word(lexer, kinds[i].word)) i++;
        if (i == 5) return fm_lexer_unexpected(lexer, "a kind of operation, a place or '{'", error);
        fm_status status = fm_lexer_next(lexer, error);
        if (status != FM_OK) return status;
        if (lexer->kind != FM_TOKEN_NUMBER || lexer->number > MOST_OPERATIONS)
            return fm_lexer_unexpected(lexer, "the number of operations (at most 2^20)", error);
        *kinds[i].count = (uint64_t)lexer->number;
        status = fm_lexer_next(lexer, error);
        if (status != FM_OK) return status;
    }
    return FM_OK;
}

static fm_status read_statement(fm_region_reader *reader, fm_region_node *node, fm_error *error)
{
    fm_lexer *lexer = &reader->lexer;
    fm_region *region = reader->region;
    size_t room = 0;
    fm_status status = read_operations(reader, &node->operations, error);
    if (status == FM_OK) status = fir_place(reader, &node->place, error);
    if (status == FM_OK) status = fm_fir_expect(reader, '{', "'{'", error);
    node->statement = region->statement_count++;
    node->first_access = region->access_count;
    while (status == FM_OK && (fm_lexer_is_word(lexer, "load") || fm_lexer_is_word(lexer, "store"))) {
        if (region->access_count == MOST_ACCESSES)
            return fm_lexer_fail(lexer, error, "a region has more than %d accesses", MOST_ACCESSES);
        fm_region_access access = {0};
        status = fir_room(reader, &node->accesses, &room, node->access_count, sizeof access, error);
        if (status == FM_OK) status = read_access(reader, &access, error);
        if (status != FM_OK) return status;
        if (access.place.file == 0) access.place = node->place;
        node->accesses[node->access_count++] = access;
        region->access_count++;
    }
    return status == FM_OK ? fm_fir_expect(reader, '}', "'load', 'store' or '}'", error) : status;
}

/* Statements up to a '}' or to the end. */
static fm_status read_nodes(fm_region_reader *reader, fm_region_node **nodes, fm_error *error)
{
    static const struct {
        const char *word;
        fm_node_kind kind;
        fm_status (*read)(fm_region_reader *reader, fm_region_node *node, fm_error *error);
    } kinds[] = {{"for", FM_NODE_LOOP, read_loop},
                 {"if", FM_NODE_IF, read_if},
                 {"do", FM_NODE_STATEMENT, read_statement}};
    while (reader->lexer.kind != FM_TOKEN_END && !fm_lexer_is_sign(&reader->lexer, '}')) {
        size_t i = 0;
        while (i < 3 && !fm_lexer_is_word(&reader->lexer, kinds[i].word)) i++;
        if (i == 3) return fm_lexer_unexpected(&reader->lexer, "'for', 'if' or 'do'", error);
        fm_region_node *node = fm_arena_allocate(reader->region->arena, 1, sizeof *node);
        if (!node) return fm_fail_memory(error, sizeof *node, "a statement");
        node->kind = kinds[i].kind;
        *nodes = node;
        nodes = &node->next;
        fm_status status = fm_lexer_next(&reader->lexer, error);
        if (status == FM_OK) status = kinds[i].read(reader, node, error);
        if (status != FM_OK) return status;
    }
    return FM_OK;
}

static fm_status read_body(fm_region_reader *reader, fm_region_node **body, fm_error *error)
{
    if (reader->nesting == FM_MOST_NESTING)
        return fm_lexer_fail(&reader->lexer, error, "more than %d blocks inside each other", FM_MOST_NESTING);
    reader->nesting++;
    fm_status status = fm_fir_expect(reader, '{', "'{'", error);
    if (status == FM_OK) status = read_nodes(reader, body, error);
    if (status == FM_OK) status = fm_fir_expect(reader, '}', "'}'", error);
    FM_ASSERT(reader->nesting > 0);
    reader->nesting--;
    return status;
}

/* The parts of a region, up to its end. */
static fm_status fir_statements(fm_region_reader *reader, fm_error *error)
{
    fm_status status = read_nodes(reader, &reader->region->body, error);
    if (status == FM_OK && reader->lexer.kind != FM_TOKEN_END)
        return fm_lexer_unexpected(&reader->lexer, "a statement or the end", error);
    return status;
}

static fm_status read_version(fm_region_reader *reader, fm_error *error)
{
    fm_lexer *lexer = &reader->lexer;
    fm_status status = fm_lexer_next(lexer, error);
    bool fits = status == FM_OK && fm_lexer_is_word(lexer, "fathom");
    if (fits) fits = fm_lexer_next(lexer, error) == FM_OK && fm_lexer_is_sign(lexer, '-');
    if (fits) fits = fm_lexer_next(lexer, error) == FM_OK && fm_lexer_is_word(lexer, "region");
    if (fits) fits = fm_lexer_next(lexer, error) == FM_OK && lexer->kind == FM_TOKEN_NUMBER;
    if (!fits)
        return fm_fail(error, FM_E_FORMAT, lexer->path,
                       "this is no region: its first words are not 'fathom-region 1'");
    if (lexer->number != 1)
        return fm_fail(error, FM_E_UNSUPPORTED, lexer->path,
                       "version %lld of the text form: this fathom knows version 1",
                       (long long)lexer->number);
    return fm_lexer_next(lexer, error);
}

fm_status fm_region_parse(fm_region **region, const char *text, size_t size, const char *path,
                          fm_error *error)
{
    *region = NULL;
    fm_region *made = calloc(1, sizeof *made);
    if (made) made->arena = fm_arena_create();
    if (!made || !made->arena) {
        free(made);
        return fm_fail(error, FM_E_NOMEM, NULL, "out of memory: no room for a region");
    }
    fm_region_reader reader = {
        .lexer = {.at = text, .end = text + size, .path = path, .line = 1, .arena = made->arena},
        .region = made,
    };
    fm_status status = read_version(&reader, error);
    if (status == FM_OK) status = fir_declarations(&reader, error);
    if (status == FM_OK) status = fir_statements(&reader, error);
    if (status != FM_OK)
        fm_region_destroy(made);
    else
        *region = made;
    return status;
}
