/* SPDX-License-Identifier: Apache-2.0 */
/* region_declare.c - the declarations of a region's text: files, parameters, arrays, assumptions. */
#include "static/region/region_reader.h"

#include "base/error.h"

#include <string.h>

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
    status = fm_fir_room(reader, &region->files, &reader->file_room, region->file_count,
                         sizeof *region->files, error);
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
        status = fm_fir_room(reader, &region->parameters, &reader->parameter_room, region->parameter_count,
                             sizeof parameter, error);
    if (status == FM_OK) region->parameters[region->parameter_count++] = parameter;
    return status;
}

static fm_status read_assumption(fm_region_reader *reader, fm_error *error)
{
    fm_region *region = reader->region;
    fm_status status = fm_fir_room(reader, &region->assumptions, &reader->assumption_room,
                                   region->assumption_count, sizeof *region->assumptions, error);
    if (status == FM_OK)
        status = fm_fir_condition(reader, &region->assumptions[region->assumption_count], error);
    if (status == FM_OK) region->assumption_count++;
    return status;
}

static fm_status read_note(fm_region_reader *reader, fm_error *error)
{
    fm_region *region = reader->region;
    fm_status status = fm_fir_room(reader, &region->notes, &reader->note_room, region->note_count,
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
    return status == FM_OK ? fm_fir_place(reader, &array->place, error) : status;
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
        status = fm_fir_room(reader, &region->arrays, &reader->array_room, region->array_count, sizeof array,
                             error);
    if (status == FM_OK) region->arrays[region->array_count++] = array;
    return status;
}

static fm_status read_function(fm_region_reader *reader, fm_error *error)
{
    fm_region *region = reader->region;
    if (region->function) return fm_lexer_fail(&reader->lexer, error, "a region is of one function");
    fm_status status = read_quoted(reader, &region->function, error);
    return status == FM_OK ? fm_fir_place(reader, &region->place, error) : status;
}

fm_status fm_fir_declarations(fm_region_reader *reader, fm_error *error)
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
