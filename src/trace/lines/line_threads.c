/* SPDX-License-Identifier: Apache-2.0 */
/* line_threads.c - lines by several threads: for one, and each its own. */
#define _GNU_SOURCE
#include "base/crew.h"
#include "base/error.h"
#include "base/memory.h"
#include "trace/format.h"
#include "trace/lines/lines.h"
#include "trace/lines/text_kernels.h"

#include <stdlib.h>
#include <string.h>

/* ======== for one ======== */

/*
 * Pieces in a ring (base/crew.h), in the order of the trace. Of a plain file, cutting is to say which bytes;
 * a stream is cut by whoever has claimed to, and what is behind the last line end waits for the next one who
 * does.
 */

enum { SLOTS_A_THREAD = 2 };
enum { CUT, PARSE }; /* kinds of jobs */

typedef struct ahead_slot {
    fm_line_piece piece;
    uint64_t from, to; /* of a plain file */
    uint64_t stored;   /* bytes of the file up to its end */
    bool read;         /* under the lock: it has its references */
} ahead_slot;

struct fm_line_ahead {
    fm_stream *stream;
    const char *name; /* of the file */
    const fm_line_parser *parser;
    fm_crew *crew;
    ahead_slot *slots;
    bool plain;
    uint64_t first; /* plain: where it began */
    /* Of the one who cuts a stream: what was read of the next line. */
    char *rest;
    size_t rest_size;
    /* Of the one who takes. */
    uint64_t line, end;
    /* Under the crew's lock. */
    uint64_t next; /* plain: what is cut next */
    fm_ring ring;
    bool cutting, ended;
};

enum { REST_ROOM = FM_LINE_MAX + FM_PIECE_BYTES };

/* ---- the crew's side ---- */

static bool claim_plain(fm_line_ahead *ahead, fm_crew_job *job)
{
    const uint64_t behind = ahead->stream->input.total;
    if (fm_ring_is_full(&ahead->ring) || ahead->next >= behind) return false;
    fm_ring_cut(&ahead->ring, 1);
    *job = (fm_crew_job){.kind = PARSE, .task = fm_ring_claim(&ahead->ring)};
    ahead_slot *slot = &ahead->slots[job->task];
    slot->from = ahead->next;
    slot->to = behind - ahead->next < FM_PIECE_BYTES ? behind : ahead->next + FM_PIECE_BYTES;
    ahead->next = slot->to;
    return true;
}

static bool line_ahead_claim(void *context, fm_crew_job *job)
{
    fm_line_ahead *ahead = context;
    if (ahead->plain) return claim_plain(ahead, job);
    /* The one who takes does not wait for a pipe while there is something to take. */
    fm_ring *ring = &ahead->ring;
    const size_t most = job->worker == 0 ? 1 : ring->slots;
    if (!ahead->cutting && !ahead->ended && fm_ring_under_way(ring) < most) {
        ahead->cutting = true;
        *job = (fm_crew_job){.kind = CUT, .task = fm_ring_slot(ring, ring->cut)};
        return true;
    }
    if (ring->claimed == ring->cut) return false;
    *job = (fm_crew_job){.kind = PARSE, .task = fm_ring_claim(ring)};
    return true;
}

/* Fills a piece with the rest of the one before it and what follows, up to a line end. False: no line ends in
 * what can be had, or there are quotes; all of it is in the rest then. */
static bool cut_piece(fm_line_ahead *ahead, fm_line_piece *piece)
{
    char *text = piece->text = piece->memory + FM_TEXT_MARGIN;
    const char *newline = NULL;
    size_t size = ahead->rest_size, searched = size;
    memcpy(text, ahead->rest, size);
    while (size <= FM_LINE_MAX && !newline) {
        fm_error error;
        size_t got;
        if (fm_stream_read(ahead->stream, text + size, FM_PIECE_BYTES - 1, &got, &error) != FM_OK || got == 0)
            break;
        size += got;
        newline = memrchr(text + searched, '\n', got);
        searched = size;
    }
    piece->size = newline ? (size_t)(newline - text) + 1 : 0;
    if (newline && ahead->parser->quotes && memchr(text, '"', piece->size)) piece->size = 0;
    if (newline && !memchr(text, '\n', FM_LINE_MAX + 1)) piece->size = 0; /* too long */
    ahead->rest_size = size - piece->size;
    memcpy(ahead->rest, text + piece->size, ahead->rest_size);
    return piece->size > 0;
}

static void line_ahead_run(void *context, fm_crew_job job, unsigned worker)
{
    fm_line_ahead *ahead = context;
    ahead_slot *slot = &ahead->slots[job.task];
    (void)worker;
    if (job.kind == CUT) {
        slot->read = false;
        slot->piece.whole = cut_piece(ahead, &slot->piece);
        slot->stored = fm_stream_stored_offset(ahead->stream);
    } else if (ahead->plain) {
        fm_line_piece_read(&slot->piece, &ahead->stream->input, ahead->first, slot->from, slot->to,
                           ahead->parser);
        slot->stored = slot->to;
    } else {
        fm_error error; /* of a line whose number is not known here */
        (void)fm_line_piece_parse(&slot->piece, ahead->parser, "", 1, &error);
    }
}

static void line_ahead_complete(void *context, fm_crew_job job)
{
    fm_line_ahead *ahead = context;
    ahead_slot *slot = &ahead->slots[job.task];
    if (job.kind == PARSE) {
        slot->read = true;
        return;
    }
    ahead->cutting = false;
    if (slot->piece.whole)
        fm_ring_cut(&ahead->ring, 1);
    else
        ahead->ended = true;
}

/* The next piece is there, or there is none. */
static bool next_is_there(void *context)
{
    const fm_line_ahead *ahead = context;
    const fm_ring *ring = &ahead->ring;
    if (ring->taken < ring->cut) return ahead->slots[fm_ring_slot(ring, ring->taken)].read;
    return ahead->plain ? ahead->next >= ahead->stream->input.total : ahead->ended;
}

/* ---- start and stop ---- */

static fm_status line_ahead_allocate(fm_line_ahead *ahead, unsigned columns, fm_error *error)
{
    ahead->slots = fm_calloc(ahead->ring.slots, sizeof *ahead->slots);
    ahead->rest = malloc(REST_ROOM);
    if (!ahead->slots || !ahead->rest) return fm_fail_memory(error, REST_ROOM, "reading by several threads");
    for (size_t i = 0; i < ahead->ring.slots; i++) {
        fm_status status = fm_line_piece_init(&ahead->slots[i].piece, columns, error);
        if (status != FM_OK) return status;
    }
    return FM_OK;
}

fm_status fm_line_ahead_start(fm_line_ahead **made, const fm_lines *lines, const fm_line_parser *parser,
                              unsigned columns, unsigned threads, fm_error *error)
{
    static const fm_crew_work work = {
        .claim = line_ahead_claim, .run = line_ahead_run, .complete = line_ahead_complete};
    fm_stream *stream = lines->stream;
    fm_line_ahead *ahead = *made = fm_calloc(1, sizeof *ahead);
    if (!ahead) return fm_fail_memory(error, sizeof *ahead, "reading by several threads");
    const size_t left = lines->filled - lines->at;
    ahead->stream = stream;
    ahead->name = lines->name;
    ahead->parser = parser;
    ahead->ring.slots = (size_t)SLOTS_A_THREAD * threads;
    ahead->plain = fm_stream_at_any_place(stream);
    ahead->first = ahead->next = ahead->end = stream->offset - left;
    ahead->line = lines->line;
    fm_status status = line_ahead_allocate(ahead, columns, error);
    if (status == FM_OK && !ahead->plain) {
        memcpy(ahead->rest, lines->buffer + lines->at, left);
        ahead->rest_size = left;
        status = fm_input_allow_interrupt(&stream->input, error);
    }
    if (status == FM_OK) status = fm_crew_create(&ahead->crew, threads, &work, ahead, error);
    if (status == FM_OK) return FM_OK;
    fm_line_ahead_stop(ahead);
    *made = NULL;
    return status;
}

static void line_ahead_dismiss(fm_line_ahead *ahead)
{
    fm_crew_destroy(ahead->crew);
    ahead->crew = NULL;
}

void fm_line_ahead_stop(fm_line_ahead *ahead)
{
    if (!ahead) return;
    if (ahead->crew && !ahead->plain) fm_input_interrupt(&ahead->stream->input);
    line_ahead_dismiss(ahead);
    for (size_t i = 0; ahead->slots && i < ahead->ring.slots; i++)
        fm_line_piece_clear(&ahead->slots[i].piece);
    free(ahead->slots);
    free(ahead->rest);
    free(ahead);
}

/* ---- taking ---- */

fm_status fm_line_ahead_next(fm_line_ahead *ahead, fm_columns *columns, fm_string_list *strings,
                             uint64_t *stored, bool *over, fm_error *error)
{
    fm_crew_help(ahead->crew, next_is_there);
    fm_crew_lock(ahead->crew);
    *over = fm_ring_under_way(&ahead->ring) == 0;
    fm_crew_unlock(ahead->crew);
    ahead_slot *slot = &ahead->slots[fm_ring_slot(&ahead->ring, ahead->ring.taken)];
    fm_line_piece *piece = &slot->piece;
    *over = *over || !piece->whole;
    if (*over) return FM_OK;
    fm_status status = FM_OK;
    /* The line that is wrong has a number only now. */
    if (!piece->sound) status = fm_line_piece_parse(piece, ahead->parser, ahead->name, ahead->line, error);
    const fm_columns read = piece->columns;
    const fm_string_list seen = piece->strings;
    piece->columns = *columns;
    piece->strings = *strings;
    *columns = read;
    *strings = seen;
    *stored = slot->stored;
    ahead->line += piece->lines;
    if (piece->end > 0) ahead->end = piece->end;
    fm_crew_lock(ahead->crew);
    slot->read = false;
    fm_ring_take(&ahead->ring);
    fm_crew_call(ahead->crew);
    fm_crew_unlock(ahead->crew);
    return status;
}

fm_status fm_line_ahead_rest(fm_line_ahead *ahead, fm_lines *lines, fm_error *error)
{
    line_ahead_dismiss(ahead);
    fm_lines_go_on(lines, ahead->rest, ahead->rest_size, ahead->line);
    return ahead->plain ? fm_stream_pass(ahead->stream, ahead->end, error) : FM_OK;
}

/* ======== each its own ======== */

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
    *supply = (fm_supply){.context = share,
                          .workers = workers,
                          .claim = line_share_claim,
                          .fetch = line_share_fetch,
                          .left = line_share_left};
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
