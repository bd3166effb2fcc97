/* SPDX-License-Identifier: Apache-2.0 */
/*
 * import_lackey.c - what `valgrind --tool=lackey --trace-mem=yes` prints:
 *
 *     I  04015e40,3        instruction fetch: address in hexadecimal, size in decimal
 *      L 1ffefff8a8,8      load
 *      S 1ffefff8a0,8      store
 *      M 0421c7cc,4        modify: a load and a store of the same place, one reference
 *
 * Valgrind's own messages (==pid== …) and empty lines are passed over; anything else is an error, for it
 * may be the traced program's output in the middle of a line.
 */
#include "base/error.h"
#include "trace/import/text_kernels.h"
#include "trace/lines/line_import.h"
#include "trace/numbers.h"

#include <string.h>

enum { NO_REFERENCE = 4 }; /* among the kinds */

/* Whether the line is Valgrind talking (==123==, --123--, **123**) or empty. */
static bool is_message(const char *line)
{
    if ((line[0] == '=' || line[0] == '-' || line[0] == '*') && line[1] == line[0]) return true;
    while (*line == ' ' || *line == '\t' || *line == '\r') line++;
    return *line == '\n';
}

/* Not at its end. */
static bool lackey_has_return(const char *line, const char *end)
{
    const char *newline = memchr(line, '\n', (size_t)(end - line));
    while (newline > line && newline[-1] == '\r') newline--;
    return memchr(line, '\r', (size_t)(newline - line));
}

static fm_status bad_lackey_line(const fm_line_window *window, fm_error *error)
{
    char quote[256];
    return fm_fail_at(error, FM_E_FORMAT, window->name, FM_PLACE_LINE, window->line,
                      "expected ' L address,size', ' S', ' M' or 'I ' likewise, found '%s'",
                      fm_line_quote(window->at, quote, sizeof quote));
}

/* Address and size behind the letter; returns the next line, or NULL where they are not right. */
static const char *parse_access(const char *at, uint64_t *address, uint64_t *size)
{
    if (*at != ' ') return NULL;
    at = fm_parse_hex(at + 1, address);
    if (!at || *at != ',') return NULL;
    at = fm_parse_decimal(at + 1, size);
    if (!at || *size == 0 || *size > UINT32_MAX) return NULL;
    if (*at == '\r') at++;
    return *at == '\n' ? at + 1 : NULL;
}

/* Any line. *next: behind it; NULL: it is not right. *kind NO_REFERENCE: it is none. */
static void parse_lackey_line(char *at, const char *end, char **next, uint64_t *address, uint64_t *size,
                              unsigned *kind)
{
    const char *behind = NULL;
    *kind = FM_KIND_FETCH;
    if (at[0] == ' ' && (at[1] == 'L' || at[1] == 'S' || at[1] == 'M')) {
        *kind = at[1] == 'L' ? FM_KIND_LOAD : at[1] == 'S' ? FM_KIND_STORE : FM_KIND_MODIFY;
        behind = parse_access(at + 2, address, size);
    } else if (at[0] == 'I' && at[1] == ' ') {
        behind = parse_access(at + 2, address, size);
    } else if (is_message(at)) {
        *kind = NO_REFERENCE;
        behind = (const char *)memchr(at, '\n', (size_t)(end - at)) + 1;
    }
    *next = behind ? at + (behind - at) : NULL;
}

static fm_status lackey_parse(const void *settings, fm_line_window *window, fm_columns *columns,
                              fm_error *error)
{
    const fm_text_kernels *kernels = settings;
    while (window->at < window->end && columns->count < FM_BATCH_MAX) {
        const size_t count = columns->count;
        if (kernels) {
            const char *at = window->at;
            const size_t found =
                kernels->lackey(&at, window->end, columns->address + count, columns->size + count,
                                columns->kind + count, FM_BATCH_MAX - count);
            columns->count += found;
            window->line += found;
            window->at += at - window->at;
            if (found > 0) continue;
        }
        uint64_t address, size;
        unsigned kind;
        char *next;
        char *line = fm_line_pass_mark(window->at);
        parse_lackey_line(line, window->end, &next, &address, &size, &kind);
        if ((!next || kind == NO_REFERENCE) && lackey_has_return(line, window->end))
            return fm_line_mixed(window->name, window->line, error);
        if (!next) return bad_lackey_line(window, error);
        window->at = next;
        window->line++;
        if (kind == NO_REFERENCE) continue;
        columns->address[count] = address;
        columns->size[count] = (uint32_t)size;
        columns->kind[count] = (uint8_t)kind;
        columns->count++;
    }
    return FM_OK;
}

static fm_status lackey_open(fm_import *import, const fm_reader_options *options, fm_error *error)
{
    const fm_line_parser parser = {.parse = lackey_parse, .settings = fm_text_kernels_at(0)};
    return fm_line_import_open(import, sizeof(fm_line_import), parser, options, error);
}

/* A trace without sizes is written as accesses of one byte, one without kinds as loads. */
static fm_status lackey_write(fm_export *export, const fm_batch *batch, fm_error *error)
{
    for (size_t i = 0; i < batch->count; i++) {
        char *room = fm_sink_room(export->sink, 48, error);
        if (!room) return error->status;
        unsigned kind = batch->kind ? batch->kind[i] : FM_KIND_LOAD;
        memcpy(room, &" L  S  M I  "[(size_t)3 * (kind & 3)], 3);
        char *end = fm_print_hex(room + 3, batch->address[i], 8);
        *end++ = ',';
        end = fm_print_decimal(end, batch->size && batch->size[i] ? batch->size[i] : 1);
        *end++ = '\n';
        fm_sink_advance(export->sink, (size_t)(end - room));
    }
    return FM_OK;
}

const fm_format fm_format_lackey = {
    .info = {.name = "lackey",
             .endings = ".lackey",
             .summary = "text of valgrind --tool=lackey --trace-mem=yes",
             .memory_addresses = true,
             .can_write = true,
             .columns = FM_COLUMN_SIZE | FM_COLUMN_KIND},
    .open = lackey_open,
    .share = fm_line_import_share,
    .shared = fm_line_import_shared,
    .read = fm_line_import_read,
    .close = fm_line_import_close,
    .write = lackey_write,
};
