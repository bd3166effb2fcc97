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
#include "trace/format.h"
#include "trace/lines.h"
#include "trace/numbers.h"

#include <string.h>

/* Whether the line is Valgrind talking (==123==, --123--, **123**) or empty. */
static bool is_message(const char *line)
{
    if ((line[0] == '=' || line[0] == '-' || line[0] == '*') && line[1] == line[0]) return true;
    while (*line == ' ' || *line == '\t' || *line == '\r') line++;
    return *line == '\n';
}

static fm_status bad_line(const fm_import *import, uint64_t number, const char *line, fm_error *error)
{
    char quote[256];
    return fm_fail_at(error, FM_E_FORMAT, import->name, FM_PLACE_LINE, number,
                      "expected ' L address,size', ' S', ' M' or 'I ' likewise, found '%s'",
                      fm_line_quote(line, quote, sizeof quote));
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

static fm_status lackey_read(fm_import *import, fm_columns *columns, fm_error *error)
{
    fm_lines *lines = import->state;
    fm_status status = FM_OK;
    size_t count = 0;
    while (count < FM_BATCH_MAX && status == FM_OK) {
        if (lines->at == lines->whole) {
            status = fm_lines_more(lines, error);
            if (status != FM_OK || lines->at == lines->whole) break;
        }
        const char *at = lines->buffer + lines->at, *end = lines->buffer + lines->whole;
        for (; at < end && count < FM_BATCH_MAX; lines->line++) {
            uint8_t kind = FM_KIND_FETCH;
            const char *next = NULL;
            uint64_t address, size;
            if (at[0] == ' ' && (at[1] == 'L' || at[1] == 'S' || at[1] == 'M')) {
                kind = at[1] == 'L' ? FM_KIND_LOAD : at[1] == 'S' ? FM_KIND_STORE : FM_KIND_MODIFY;
                next = parse_access(at + 2, &address, &size);
            } else if (at[0] == 'I' && at[1] == ' ') {
                next = parse_access(at + 2, &address, &size);
            } else if (is_message(at)) {
                at = (const char *)memchr(at, '\n', (size_t)(end - at)) + 1;
                continue;
            }
            if (!next) {
                status = bad_line(import, lines->line, at, error);
                break;
            }
            at = next;
            columns->address[count] = address;
            columns->size[count] = (uint32_t)size;
            columns->kind[count++] = kind;
        }
        lines->at = (size_t)(at - lines->buffer);
    }
    columns->count = count;
    return status;
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
    .open = fm_lines_import_open,
    .read = lackey_read,
    .close = fm_lines_import_close,
    .write = lackey_write,
};
