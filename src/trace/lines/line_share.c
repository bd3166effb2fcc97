/* SPDX-License-Identifier: Apache-2.0 */
/* line_share.c - see line_share.h. */
#define _GNU_SOURCE
#include "trace/lines/line_share.h"

#include "base/error.h"
#include "base/memory.h"
#include "trace/columns.h"

#include <stdlib.h>
#include <string.h>

struct fm_line_share {
    fm_stream *stream;
    const fm_line_parser *parser;
    fm_fetches fetches;
    uint64_t first, line; /* where it began */
    uint64_t next;        /* to be claimed */
    uint64_t line_bytes;  /* of a line, about, in 256ths */
    /* Atomic: */
    uint64_t end; /* behind the last line that was fetched */
    uint64_t lines, skipped, fetched;
    unsigned workers;
    fm_line_piece worker[];
};

static bool line_share_claim(void *context, uint64_t wanted, fm_trace_range *range)
{
    fm_line_share *share = context;
    const uint64_t left = share->stream->input.total - share->next;
    uint64_t bytes = wanted * share->line_bytes / 256 + 1;
    if (bytes > left) bytes = left;
    *range = (fm_trace_range){.at = share->next, .left = bytes};
    share->next += bytes;
    return bytes > 0;
}

static void raise_to(uint64_t *most, uint64_t value)
{
    uint64_t known = __atomic_load_n(most, __ATOMIC_RELAXED);
    while (known < value &&
           !__atomic_compare_exchange_n(most, &known, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        continue;
}

static fm_status line_share_fetch(void *context, unsigned worker, fm_trace_range *range, fm_batch *batch,
                       fm_error *error)
{
    fm_line_share *share = context;
    fm_line_piece *piece = &share->worker[worker];
    fm_columns *columns = &piece->columns;
    columns->count = 0;
    while (range->left > 0 && columns->count == 0) {
        const uint64_t from = range->at, step = range->left < FM_PIECE_BYTES ? range->left : FM_PIECE_BYTES;
        fm_line_piece_read(piece, &share->stream->input, share->first, from, from + step, share->parser);
        if (!piece->sound || piece->strings.count > 0)
            return fm_fail_at(error, FM_E_LIMIT, share->stream->input.name, FM_PLACE_BYTE, from,
                              "there is a line that must be read in order");
        range->at += step;
        range->left -= step;
        raise_to(&share->end, piece->end);
        __atomic_fetch_add(&share->lines, piece->lines, __ATOMIC_RELAXED);
        __atomic_fetch_add(&share->skipped, fm_columns_filter(columns, share->fetches), __ATOMIC_RELAXED);
    }
    __atomic_fetch_add(&share->fetched, columns->count, __ATOMIC_RELAXED);
    fm_columns_batch(columns, batch);
    return FM_OK;
}

static uint64_t line_share_left(const void *context)
{
    const fm_line_share *share = context;
    return (share->stream->input.total - share->next) * 256 / share->line_bytes;
}

/* How long a line is, by those at the beginning; whether they are as they must be. */
static bool look_at_lines(fm_line_share *share)
{
    const uint64_t end = share->stream->input.total;
    fm_line_piece *piece = &share->worker[0];
    fm_line_piece_read(piece, &share->stream->input, share->first, share->first,
                       end - share->first < FM_PIECE_BYTES ? end : share->first + FM_PIECE_BYTES,
                       share->parser);
    if (!piece->sound || piece->strings.count > 0 || piece->columns.count == 0) return false;
    share->line_bytes = piece->size * 256 / piece->columns.count;
    return true;
}

fm_status fm_line_share_start(fm_line_share **made, const fm_lines *lines, const fm_line_parser *parser,
                              unsigned columns, unsigned workers, fm_fetches fetches, fm_supply *supply,
                              fm_error *error)
{
    fm_stream *stream = lines->stream;
    const size_t bytes = sizeof(fm_line_share) + workers * sizeof(fm_line_piece);
    *made = NULL;
    if (!fm_stream_at_any_place(stream) || lines->ends == FM_LINE_ENDS_RETURN)
        return fm_fail(error, FM_E_UNSUPPORTED, lines->name, "can be read in order only");
    fm_line_share *share = fm_calloc(1, bytes);
    if (!share) return fm_fail_memory(error, bytes, "reading by several threads");
    share->stream = stream;
    share->parser = parser;
    share->fetches = fetches;
    share->first = share->next = share->end = stream->offset - (lines->filled - lines->at);
    share->line = lines->line;
    share->workers = workers;
    fm_status status = FM_OK;
    for (unsigned i = 0; i < workers && status == FM_OK; i++)
        status = fm_line_piece_init(&share->worker[i], columns, error);
    if (status == FM_OK && !look_at_lines(share))
        status = fm_fail(error, FM_E_UNSUPPORTED, lines->name, "can be read in order only");
    if (status != FM_OK) {
        fm_line_share_stop(share);
        return status;
    }
    *supply = (fm_supply){.context = share, .workers = workers, .claim = line_share_claim, .fetch = line_share_fetch, .left = line_share_left};
    *made = share;
    return FM_OK;
}

void fm_line_share_stop(fm_line_share *share)
{
    if (!share) return;
    for (unsigned i = 0; i < share->workers; i++) fm_line_piece_clear(&share->worker[i]);
    free(share);
}

fm_status fm_line_share_rest(const fm_line_share *share, fm_lines *lines, fm_error *error)
{
    fm_lines_go_on(lines, "", 0, share->line + share->lines);
    return fm_stream_pass(share->stream, share->end, error);
}

void fm_line_share_counts(const fm_line_share *share, uint64_t *skipped, uint64_t *fetched)
{
    *skipped = share->skipped;
    *fetched = share->fetched;
}
