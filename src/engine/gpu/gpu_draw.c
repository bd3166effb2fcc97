/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_draw.c - threads that fetch references for themselves and fill pieces with them; and these pieces.
 *
 * Ranges of the trace are numbered in its order; number n has piece n % LENT, and its references
 * are written there by whoever claimed it, as they come out of the decoder and are still in its cache. How
 * many there are is known only then, so where they belong on the card is known when all before are there:
 * whoever finds the next piece filled sends it, and those behind it that are filled too, while the others go
 * on filling. A range is shorter than a piece, so that accesses to several blocks seldom have more; what
 * does not fit waits in memory of its own.
 */
#include "base/crew.h"
#include "base/error.h"
#include "base/memory.h"
#include "engine/gpu/gpu.h"

#include <stdlib.h>
#include <string.h>

enum { LENT = FM_GPU_PIECES - 4 }; /* pieces that are filled here */
enum { FILL, PLACE };              /* kinds of jobs */

typedef struct drawn_piece {
    fm_trace_range range;
    size_t count;   /* references in it */
    uint64_t *rest; /* what comes after them; NULL: nothing */
    size_t rest_count, rest_room;
    bool filled;
} drawn_piece;

typedef struct draw_state {
    const fm_gpu_drawing *drawing;
    fm_crew *crew;
    /* Under the crew's lock: */
    bool begun;   /* there is a crew */
    fm_ring ring; /* of ranges; those that are placed leave it */
    bool dry;     /* all are claimed */
    bool placing; /* somebody is */
    uint64_t repeats;
    fm_status status; /* of the first failure: then all is over */
    fm_error error;
    drawn_piece pieces[LENT];
} draw_state;

static void drawing_fail(draw_state *self, fm_status status, const fm_error *error)
{
    fm_crew_lock(self->crew);
    if (self->status == FM_OK) {
        self->status = status;
        self->error = *error;
    }
    fm_crew_unlock(self->crew);
}

/* ---- filling ---- */

static fm_status put_rest(drawn_piece *piece, const uint64_t *blocks, size_t count, fm_error *error)
{
    if (fm_array_reserve((void **)&piece->rest, &piece->rest_room, piece->rest_count + count,
                         sizeof *piece->rest) != 0)
        return fm_fail_memory(error, count * sizeof *piece->rest, "the blocks of a batch");
    memcpy(piece->rest + piece->rest_count, blocks, count * sizeof *piece->rest);
    piece->rest_count += count;
    return FM_OK;
}

static fm_status piece_fill(draw_state *self, unsigned number, unsigned worker, uint64_t *repeats,
                            fm_error *error)
{
    const fm_gpu_drawing *drawing = self->drawing;
    const fm_block_supply *supply = drawing->supply;
    drawn_piece *piece = &self->pieces[number];
    uint64_t *memory;
    fm_status status = fm_gpu_pieces_wait(drawing->pieces, number, &memory, error);
    piece->count = 0;
    while (status == FM_OK) {
        fm_references fetched;
        uint64_t left_out;
        status = supply->fetch(supply->context, worker, &piece->range, &fetched, &left_out, error);
        if (status != FM_OK || fetched.count == 0) break;
        const uint64_t *const blocks = fetched.blocks;
        const size_t count = fetched.count;
        *repeats += left_out;
        const size_t room = drawing->pieces->size - piece->count, some = count < room ? count : room;
        memcpy(memory + piece->count, blocks, some * sizeof *memory);
        piece->count += some;
        if (some < count) status = put_rest(piece, blocks + some, count - some, error);
    }
    return status;
}

/* ---- placing ---- */

static fm_status piece_place(const fm_gpu_drawing *drawing, unsigned number, drawn_piece *piece,
                             fm_error *error)
{
    fm_status status = drawing->place(drawing->context, number, piece->count, error);
    for (size_t from = 0; from < piece->rest_count && status == FM_OK;) {
        const size_t left = piece->rest_count - from, size = drawing->pieces->size;
        const size_t some = left < size ? left : size;
        uint64_t *memory;
        status = fm_gpu_pieces_wait(drawing->pieces, number, &memory, error);
        if (status != FM_OK) break;
        memcpy(memory, piece->rest + from, some * sizeof *memory);
        status = drawing->place(drawing->context, number, some, error);
        from += some;
    }
    free(piece->rest);
    piece->rest = NULL;
    piece->rest_count = piece->rest_room = 0;
    return status;
}

/* With the lock held: NULL where the next one is not there yet. */
static drawn_piece *next_to_place(draw_state *self)
{
    drawn_piece *next = &self->pieces[fm_ring_slot(&self->ring, self->ring.taken)];
    return self->status == FM_OK && fm_ring_under_way(&self->ring) > 0 && next->filled ? next : NULL;
}

static fm_status place_filled(draw_state *self, fm_error *error)
{
    fm_status status = FM_OK;
    fm_crew_lock(self->crew);
    for (drawn_piece *piece; status == FM_OK && (piece = next_to_place(self)) != NULL;) {
        const unsigned number = (unsigned)fm_ring_slot(&self->ring, self->ring.taken);
        fm_crew_unlock(self->crew);
        status = piece_place(self->drawing, number, piece, error);
        fm_crew_lock(self->crew);
        piece->filled = false;
        fm_ring_take(&self->ring);
        fm_crew_call(self->crew);
    }
    fm_crew_unlock(self->crew);
    return status;
}

/* ---- the crew's side ---- */

static bool drawing_claim(void *context, fm_crew_job *job)
{
    draw_state *self = context;
    const fm_block_supply *supply = self->drawing->supply;
    if (!self->begun) return false;
    if (!self->placing && next_to_place(self)) {
        self->placing = true;
        job->kind = PLACE;
        return true;
    }
    if (self->status != FM_OK || self->dry || fm_ring_is_full(&self->ring)) return false;
    const size_t size = self->drawing->pieces->size, wanted = size - size / 4;
    job->kind = FILL;
    job->task = fm_ring_slot(&self->ring, self->ring.cut);
    self->dry = !supply->claim(supply->context, wanted, &self->pieces[job->task].range);
    if (self->dry) return false;
    fm_ring_cut(&self->ring, 1);
    (void)fm_ring_claim(&self->ring);
    return true;
}

static void drawing_run(void *context, fm_crew_job job, unsigned worker)
{
    draw_state *self = context;
    fm_error error;
    uint64_t repeats = 0;
    const fm_status status = job.kind == PLACE
                                 ? place_filled(self, &error)
                                 : piece_fill(self, (unsigned)job.task, worker, &repeats, &error);
    if (status != FM_OK) drawing_fail(self, status, &error);
    if (repeats == 0) return;
    fm_crew_lock(self->crew);
    self->repeats += repeats;
    fm_crew_unlock(self->crew);
}

static void drawing_complete(void *context, fm_crew_job job)
{
    draw_state *self = context;
    if (job.kind == PLACE)
        self->placing = false;
    else
        self->pieces[job.task].filled = true;
}

static bool drawing_over(void *context)
{
    const draw_state *self = context;
    return self->status != FM_OK || (self->dry && fm_ring_under_way(&self->ring) == 0);
}

fm_status fm_gpu_draw(const fm_gpu_drawing *drawing, uint64_t *repeats, fm_error *error)
{
    static const fm_crew_work work = {
        .claim = drawing_claim, .run = drawing_run, .complete = drawing_complete};
    const unsigned threads = drawing->threads < LENT ? drawing->threads : LENT;
    draw_state *self = fm_calloc(1, sizeof *self);
    if (!self) return fm_fail_memory(error, sizeof *self, "drawing");
    self->drawing = drawing;
    self->ring.slots = LENT;
    drawing->pieces->lent = LENT;
    drawing->pieces->next = 0;
    fm_status status = fm_crew_create(&self->crew, threads, &work, self, error);
    if (status == FM_OK) {
        fm_crew_lock(self->crew);
        self->begun = true;
        fm_crew_call(self->crew);
        fm_crew_unlock(self->crew);
        fm_crew_help(self->crew, drawing_over);
        fm_crew_destroy(self->crew); /* what was claimed is finished, also after a failure */
        status = self->status;
        if (status != FM_OK && error) *error = self->error;
    }
    drawing->pieces->lent = 0;
    *repeats = self->repeats;
    for (unsigned i = 0; i < LENT; i++) free(self->pieces[i].rest);
    free(self);
    return status;
}

/* ==== pieces ==== */

uint64_t fm_gpu_pieces_memory(size_t size)
{
    return (uint64_t)FM_GPU_PIECES * size * sizeof(uint64_t);
}

fm_status fm_gpu_pieces_open(fm_gpu_pieces *pieces, const fm_gpu_module *module, unsigned device, size_t size,
                             fm_error *error)
{
    void *memory;
    memset(pieces, 0, sizeof *pieces);
    fm_status status = module->pin(device, (size_t)fm_gpu_pieces_memory(size), &memory, error);
    if (status != FM_OK) return status;
    pthread_rwlock_init(&pieces->cards, NULL);
    pieces->module = module;
    pieces->size = size;
    pieces->memory = memory;
    return FM_OK;
}

void fm_gpu_pieces_close(fm_gpu_pieces *pieces)
{
    if (!pieces->module) return;
    pieces->module->unpin(pieces->memory);
    pthread_rwlock_destroy(&pieces->cards);
    memset(pieces, 0, sizeof *pieces);
}

/* By the thread that has the piece, with the lock held for reading. */
static fm_status wait_for_reader(fm_gpu_pieces *pieces, unsigned piece, fm_error *error)
{
    fm_gpu_card *card = pieces->reader[piece];
    return card ? pieces->module->wait_for_piece(card, piece, error) : FM_OK;
}

fm_status fm_gpu_pieces_wait(fm_gpu_pieces *pieces, unsigned piece, uint64_t **memory, fm_error *error)
{
    pthread_rwlock_rdlock(&pieces->cards);
    const fm_status status = wait_for_reader(pieces, piece, error);
    pieces->reader[piece] = NULL;
    pthread_rwlock_unlock(&pieces->cards);
    *memory = pieces->memory + piece * pieces->size;
    return status;
}

fm_status fm_gpu_pieces_send(fm_gpu_pieces *pieces, unsigned piece, size_t from, size_t count,
                             fm_gpu_card *card, unsigned slot, size_t at, fm_error *error)
{
    fm_status status = FM_OK;
    pthread_rwlock_rdlock(&pieces->cards);
    /* One part of it here, another one there: only one card is remembered. */
    if (pieces->reader[piece] != card) status = wait_for_reader(pieces, piece, error);
    pieces->reader[piece] = card;
    pthread_rwlock_unlock(&pieces->cards);
    if (status != FM_OK) return status;
    return pieces->module->upload(card, piece, pieces->memory + piece * pieces->size + from, count, slot, at,
                                  error);
}

void fm_gpu_pieces_forget(fm_gpu_pieces *pieces, const fm_gpu_card *card)
{
    if (!pieces->module) return;
    pthread_rwlock_wrlock(&pieces->cards);
    for (unsigned i = 0; i < FM_GPU_PIECES; i++)
        if (pieces->reader[i] == card) pieces->reader[i] = NULL;
    pthread_rwlock_unlock(&pieces->cards);
}
