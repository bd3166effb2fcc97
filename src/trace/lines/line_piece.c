/* SPDX-License-Identifier: Apache-2.0 */
/* line_piece.c - see line_piece.h. */
#define _GNU_SOURCE
#include "trace/lines/line_piece.h"

#include "base/error.h"
#include "trace/columns.h"
#include "trace/import/text_kernels.h"
#include "trace/lines/lines.h"

#include <stdlib.h>
#include <string.h>

/* The byte before the piece, and the longest line that may begin at its end, read in steps. */
enum { STEP = 4096, ROOM = 1 + FM_PIECE_BYTES + FM_LINE_MAX + STEP };

fm_status fm_line_piece_init(fm_line_piece *piece, unsigned columns, fm_error *error)
{
    /* Of the memory, what no line needs is never touched. */
    piece->memory = calloc(1, ROOM + 2 * FM_TEXT_MARGIN);
    if (!piece->memory) return fm_fail_memory(error, ROOM, "reading by several threads");
    piece->text = piece->memory + FM_TEXT_MARGIN;
    return fm_columns_allocate(&piece->columns, columns, error);
}

void fm_line_piece_clear(fm_line_piece *piece)
{
    free(piece->memory);
    fm_columns_free(&piece->columns);
    fm_string_list_free(&piece->strings);
}

fm_status fm_line_piece_parse(fm_line_piece *piece, const fm_line_parser *parser, const char *name,
                              uint64_t line, fm_error *error)
{
    fm_line_window window = {.at = piece->text,
                             .end = piece->text + piece->size,
                             .line = line,
                             .name = name,
                             .strings = &piece->strings};
    piece->columns.count = 0;
    piece->strings.count = 0;
    const fm_status status = parser->parse(parser->settings, &window, &piece->columns, error);
    piece->lines = window.line - line;
    piece->sound = status == FM_OK && window.at == window.end;
    return status;
}

/* How much of the text is whole lines, when the line at its end goes on at `offset` of the file. Reads on up
 * to its end; where that is the file's, it is left. 0: it cannot be had, or is too long. */
static size_t find_line_end(char *text, size_t have, const fm_input *input, uint64_t offset)
{
    const char *before = memrchr(text, '\n', have);
    const size_t line = before ? (size_t)(before - text) + 1 : 0; /* where it begins */
    for (size_t end = have; end - line <= FM_LINE_MAX; end += STEP, offset += STEP) {
        const size_t step = input->total - offset < STEP ? (size_t)(input->total - offset) : STEP;
        if (!fm_input_read_at(input, text + end, step, offset)) return 0;
        const char *newline = memchr(text + end, '\n', step);
        if (newline) return (size_t)(newline - text) - line <= FM_LINE_MAX ? (size_t)(newline - text) + 1 : 0;
        if (step < STEP) return line;
    }
    return 0;
}

void fm_line_piece_read(fm_line_piece *piece, const fm_input *input, uint64_t first, uint64_t from,
                        uint64_t to, const fm_line_parser *parser)
{
    fm_error error;
    char *memory = piece->memory + FM_TEXT_MARGIN;
    const uint64_t before = from > first; /* whether the byte before it tells where a line begins */
    const size_t size = (size_t)(to - from + before);
    *piece = (fm_line_piece){.memory = piece->memory, .columns = piece->columns, .strings = piece->strings};
    piece->columns.count = 0;
    piece->strings.count = 0;
    if (!fm_input_read_at(input, memory, size, from - before)) return;
    const char *newline = before ? memchr(memory, '\n', size) : memory - 1;
    piece->whole = piece->sound = true;
    if (!newline || newline == memory + size - 1) return; /* no line begins in it */
    piece->text = memory + (newline - memory) + 1;
    const size_t end = memory[size - 1] == '\n' ? size : find_line_end(memory, size, input, to);
    const size_t begin = (size_t)(piece->text - memory);
    if (end == begin && end > 0) return; /* only what is left */
    piece->whole = piece->sound = end > begin && !(parser->quotes && memchr(piece->text, '"', end - begin));
    if (!piece->whole) return;
    piece->size = end - begin;
    piece->end = from - before + end;
    (void)fm_line_piece_parse(piece, parser, input->name, 1, &error); /* in order, it is said */
}
