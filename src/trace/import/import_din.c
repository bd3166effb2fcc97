/* SPDX-License-Identifier: Apache-2.0 */
/*
 * import_din.c - Dinero's traditional "din" text: a label and a hexadecimal address on each line.
 *
 *     0 read · 1 write · 2 instruction fetch · 3 access of unknown kind (counted as a read)
 *     4 cache flush: no reference, passed over
 *
 * What follows the address on a line (Dinero calls it comment) is ignored, as Dinero does. There are no
 * sizes: each line touches exactly one block.
 */
#include "base/error.h"
#include "trace/import/text_kernels.h"
#include "trace/lines/line_import.h"
#include "trace/numbers.h"

#include <string.h>

static const char *skip_blanks(const char *at)
{
    while (*at == ' ' || *at == '\t' || *at == '\r') at++;
    return at;
}

static fm_status bad_din_line(const fm_line_window *window, fm_error *error)
{
    char quote[256];
    return fm_fail_at(error, FM_E_FORMAT, window->name, FM_PLACE_LINE, window->line,
                      "expected a label 0 to 4 and a hexadecimal address, found '%s'",
                      fm_line_quote(window->at, quote, sizeof quote));
}

/* Not at its beginning or end, where it is a blank. */
static bool din_has_return(const char *line, const char *newline)
{
    line = skip_blanks(line);
    while (newline > line && newline[-1] == '\r') newline--;
    return memchr(line, '\r', (size_t)(newline - line));
}

/* False where the line is not right. *label 4 also stands for an empty line. */
static bool parse_din_line(const char *line, unsigned *label, uint64_t *address)
{
    const char *at = skip_blanks(line);
    *label = 4;
    if (*at == '\n') return true;
    *label = (unsigned char)*at - (unsigned)'0';
    if (*label > 4) return false;
    const char *behind = skip_blanks(at + 1);
    if (behind == at + 1) return false;
    if (*label == 4 && *behind == '\n') return true;
    if (behind[0] == '0' && (behind[1] | 32) == 'x') behind += 2;
    at = fm_parse_hex(behind, address);
    return at && (*at == ' ' || *at == '\t' || *at == '\r' || *at == '\n');
}

static fm_status din_parse(const void *settings, fm_line_window *window, fm_columns *columns, fm_error *error)
{
    static const uint8_t kinds[4] = {FM_KIND_LOAD, FM_KIND_STORE, FM_KIND_FETCH, FM_KIND_LOAD};
    const fm_text_kernels *kernels = settings;
    while (window->at < window->end && columns->count < FM_BATCH_MAX) {
        const size_t count = columns->count;
        if (kernels) {
            const char *at = window->at;
            const size_t found = kernels->din(&at, window->end, columns->address + count,
                                              columns->kind + count, FM_BATCH_MAX - count);
            columns->count += found;
            window->line += found;
            window->at += at - window->at;
            if (found > 0) continue;
        }
        unsigned label;
        uint64_t address = 0;
        char *line = fm_line_pass_mark(window->at),
             *newline = memchr(line, '\n', (size_t)(window->end - line));
        if (din_has_return(line, newline)) return fm_line_mixed(window->name, window->line, error);
        if (!parse_din_line(line, &label, &address)) return bad_din_line(window, error);
        window->at = newline + 1;
        window->line++;
        if (label > 3) continue;
        columns->address[count] = address;
        columns->kind[count] = kinds[label];
        columns->count++;
    }
    return FM_OK;
}

static fm_status din_open(fm_import *import, const fm_reader_options *options, fm_error *error)
{
    const fm_line_parser parser = {.parse = din_parse, .settings = fm_text_kernels_at(0)};
    return fm_line_import_open(import, sizeof(fm_line_import), parser, options, error);
}

/* A modification is one reference: it is written as a write. */
static fm_status din_write(fm_export *export, const fm_batch *batch, fm_error *error)
{
    for (size_t i = 0; i < batch->count; i++) {
        char *room = fm_sink_room(export->sink, 32, error);
        if (!room) return error->status;
        room[0] = "0112"[batch->kind ? batch->kind[i] & 3 : 0];
        room[1] = ' ';
        char *end = fm_print_hex(room + 2, batch->address[i], 1);
        *end++ = '\n';
        fm_sink_advance(export->sink, (size_t)(end - room));
    }
    return FM_OK;
}

const fm_format fm_format_din = {
    .info = {.name = "din",
             .endings = ".din",
             .summary = "Dinero text: a label and a hexadecimal address a line",
             .memory_addresses = true,
             .can_write = true,
             .columns = FM_COLUMN_KIND},
    .open = din_open,
    .share = fm_line_import_share,
    .shared = fm_line_import_shared,
    .read = fm_line_import_read,
    .close = fm_line_import_close,
    .write = din_write,
};
