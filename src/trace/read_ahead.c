/* SPDX-License-Identifier: Apache-2.0 */
/* read_ahead.c - threads that read and decompress ahead. */
#include "trace/format.h"

#include "base/bytes.h"
#include "base/crew.h"
#include "base/error.h"
#include "base/memory.h"
#include "trace/stream.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

/* ======== reading ======== */

/*
 * A ring (base/crew.h) that one thread fills, under a lock of its own. The consumer claims a slot, and lets
 * it go when it asks for the next. A thread that waits for a pipe nobody writes to is not woken by a
 * condition: who stops it interrupts its input first.
 */

enum { SLOTS = 4 };

struct fm_read_ahead {
    pthread_t thread;
    bool running;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    fm_ring ring;
    bool stop;
    fm_slot_filler filler;
    void *context;
    fm_slot slots[SLOTS];
};

static void *read_ahead_produce(void *argument)
{
    fm_read_ahead *ahead = argument;
    pthread_mutex_lock(&ahead->lock);
    for (;;) {
        while (!ahead->stop && fm_ring_is_full(&ahead->ring))
            pthread_cond_wait(&ahead->changed, &ahead->lock);
        if (ahead->stop) break;
        fm_slot *slot = &ahead->slots[fm_ring_slot(&ahead->ring, ahead->ring.cut)];
        pthread_mutex_unlock(&ahead->lock);
        ahead->filler(ahead->context, slot);
        pthread_mutex_lock(&ahead->lock);
        fm_ring_cut(&ahead->ring, 1);
        pthread_cond_broadcast(&ahead->changed);
        if (slot->last) break;
    }
    pthread_mutex_unlock(&ahead->lock);
    return NULL;
}

fm_status fm_read_ahead_start(fm_read_ahead **ahead_out, unsigned columns, fm_slot_filler filler,
                              void *context, fm_error *error)
{
    *ahead_out = NULL;
    fm_read_ahead *ahead = fm_calloc(1, sizeof *ahead);
    if (!ahead) return fm_fail_memory(error, sizeof *ahead, "reading ahead");
    pthread_mutex_init(&ahead->lock, NULL);
    pthread_cond_init(&ahead->changed, NULL);
    ahead->ring.slots = SLOTS;
    ahead->filler = filler;
    ahead->context = context;
    fm_status status = FM_OK;
    for (int i = 0; i < SLOTS && status == FM_OK; i++)
        status = fm_columns_allocate(&ahead->slots[i].columns, columns, error);
    if (status == FM_OK) {
        int cause = fm_thread_start(&ahead->thread, read_ahead_produce, ahead);
        ahead->running = cause == 0;
        if (cause) status = fm_fail(error, FM_E_NOMEM, NULL, "cannot start a thread: %s", strerror(cause));
    }
    if (status != FM_OK) {
        fm_read_ahead_stop(ahead);
        return status;
    }
    *ahead_out = ahead;
    return FM_OK;
}

const fm_slot *fm_read_ahead_next(fm_read_ahead *ahead)
{
    pthread_mutex_lock(&ahead->lock);
    if (ahead->ring.taken < ahead->ring.claimed) fm_ring_take(&ahead->ring);
    pthread_cond_broadcast(&ahead->changed);
    while (ahead->ring.claimed == ahead->ring.cut) pthread_cond_wait(&ahead->changed, &ahead->lock);
    const fm_slot *slot = &ahead->slots[fm_ring_claim(&ahead->ring)];
    pthread_mutex_unlock(&ahead->lock);
    return slot;
}

void fm_read_ahead_stop(fm_read_ahead *ahead)
{
    if (!ahead) return;
    if (ahead->running) {
        pthread_mutex_lock(&ahead->lock);
        ahead->stop = true;
        pthread_cond_broadcast(&ahead->changed);
        pthread_mutex_unlock(&ahead->lock);
        pthread_join(ahead->thread, NULL);
    }
    for (int i = 0; i < SLOTS; i++) fm_columns_free(&ahead->slots[i].columns);
    pthread_cond_destroy(&ahead->changed);
    pthread_mutex_destroy(&ahead->lock);
    free(ahead);
}

/* ======== zstd frames ======== */

enum { BLOCK_MOST = 128 << 10, BLOCK_HEADER = 3, CHECKSUM = 4, SKIPPABLE_HEADER = 8 };
enum { BLOCK_REPEATED = 1, BLOCK_RESERVED = 3 }; /* types of blocks */

static uint64_t zstd_load(const uint8_t *bytes, unsigned count)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < count; i++) value |= (uint64_t)bytes[i] << (8 * i);
    return value;
}

static fm_frame_found pass_header(fm_frame_walk *walk, const uint8_t *bytes, size_t left)
{
    enum { MAGIC = 4, DESCRIPTOR = 5 };
    if (left < DESCRIPTOR) return FM_FRAME_MORE;
    const unsigned descriptor = bytes[MAGIC];
    const unsigned size_flag = descriptor >> 6;
    const bool single = descriptor & 0x20;
    const unsigned dictionary = (unsigned[]){0, 1, 2, 4}[descriptor & 3];
    const unsigned size_bytes = size_flag == 0 ? single : 1U << size_flag;
    const unsigned whole = DESCRIPTOR + (single ? 0U : 1U) + dictionary + size_bytes;
    if (descriptor & 0x08) return FM_FRAME_OTHER; /* reserved */
    if (left < whole) return FM_FRAME_MORE;
    if (!single) {
        const unsigned window = bytes[DESCRIPTOR], log = 10 + (window >> 3);
        if (log > FM_ZSTD_WINDOW_LOG || (log == FM_ZSTD_WINDOW_LOG && (window & 7))) return FM_FRAME_OTHER;
    }
    walk->checked = descriptor & 0x04;
    walk->sized = size_bytes > 0;
    walk->content_most = zstd_load(bytes + whole - size_bytes, size_bytes) + (size_bytes == 2 ? 256 : 0);
    walk->begun = true;
    walk->at += whole;
    return FM_FRAME_WHOLE;
}

/* Up to where a frame's blocks begin; what is before it may be skippable frames. */
static fm_frame_found pass_beginning(fm_frame_walk *walk, const uint8_t *bytes, size_t count)
{
    while (!walk->begun) {
        if (walk->at > count || count - walk->at < 4) return FM_FRAME_MORE;
        const uint8_t *here = bytes + walk->at;
        const size_t left = count - (size_t)walk->at;
        const uint32_t magic = fm_load32(here);
        if (magic == ZSTD_MAGICNUMBER) {
            const fm_frame_found found = pass_header(walk, here, left);
            if (found != FM_FRAME_WHOLE) return found;
        } else if ((magic & ZSTD_MAGIC_SKIPPABLE_MASK) == ZSTD_MAGIC_SKIPPABLE_START) {
            if (left < SKIPPABLE_HEADER) return FM_FRAME_MORE;
            walk->at += SKIPPABLE_HEADER + (uint64_t)fm_load32(here + 4);
        } else {
            return FM_FRAME_OTHER;
        }
    }
    return FM_FRAME_WHOLE;
}

fm_frame_found fm_frame_walk_on(fm_frame_walk *walk, const uint8_t *bytes, size_t count)
{
    const fm_frame_found begun = pass_beginning(walk, bytes, count);
    if (begun != FM_FRAME_WHOLE) return begun;
    for (bool last = false; !last;) {
        if (walk->at > count || count - walk->at < BLOCK_HEADER) return FM_FRAME_MORE;
        const uint64_t header = zstd_load(bytes + walk->at, BLOCK_HEADER);
        const uint64_t size = header >> 3;
        const unsigned type = header >> 1 & 3;
        last = header & 1;
        if (type == BLOCK_RESERVED || size > BLOCK_MOST) return FM_FRAME_OTHER;
        const uint64_t stored = type == BLOCK_REPEATED ? 1 : size;
        const uint64_t behind = walk->at + BLOCK_HEADER + stored + (last && walk->checked ? CHECKSUM : 0);
        if (last && behind > count) return FM_FRAME_MORE; /* this header is looked at once more */
        walk->at = behind;
        if (!walk->sized) walk->content_most += BLOCK_MOST;
    }
    return FM_FRAME_WHOLE;
}

/* ======== frames ======== */

/*
 * Frames in a ring (base/crew.h), in the order of the file. One thread at a time cuts: it reads on to the
 * end of the next frame; what it has read beyond that is carried to the next. Any thread decodes what is cut.
 */

enum {
    STORED_MOST = 16 << 20, /* of a frame, with the skippable ones before it */
    CONTENT_MOST = 32 << 20,
    ALL_MOST = 256 << 20, /* bytes of all frames under way */
    READ_BYTES = FM_FRAMES_CARRIED,
    THREADS_MOST = 16,
};
enum { CUT, DECODE }; /* kinds of jobs */

typedef struct frame_slot {
    uint8_t *stored, *content;
    size_t stored_room, content_room;
    size_t stored_count, content_count;
    size_t content_most; /* as its headers tell */
    bool whole;          /* it is a frame that is not too large */
    bool sound;          /* content is all of it */
    bool decoded;        /* under the lock: it is known whether it is sound */
} frame_slot;

struct fm_frames_ahead {
    fm_input *input;
    fm_crew *crew; /* NULL: one thread does it all, so far */
    unsigned threads;
    frame_slot *slots;
    ZSTD_DCtx *decoder[THREADS_MOST];
    /* Of the one who cuts. */
    uint8_t *carried;
    size_t carried_count;
    fm_status status; /* of the input */
    fm_error error;
    /* Of the one who takes. */
    size_t content_at; /* in the oldest frame */
    bool over;
    uint64_t rest;  /* when it is over: slots from there on that were given back as they are stored, */
    size_t rest_at; /* and of the next one, bytes */
    uint64_t passed;
    bool any;
    /* Under the crew's lock. */
    fm_ring ring;
    size_t limit; /* frames under way, at most */
    bool cutting, ended;
};

static frame_slot *slot_of(const fm_frames_ahead *frames, uint64_t number)
{
    return &frames->slots[fm_ring_slot(&frames->ring, number)];
}

/* ---- cutting and decoding, by any thread ---- */

static bool frames_reserve(uint8_t **bytes, size_t *room, size_t wanted)
{
    if (wanted <= *room) return true;
    uint8_t *grown = realloc(*bytes, wanted);
    if (!grown) return false;
    *bytes = grown;
    *room = wanted;
    return true;
}

/* Reads the next frame, to its end. False: there is none that is whole and not too large; what was read is
 * in the slot. */
static bool cut_frame(fm_frames_ahead *frames, frame_slot *slot)
{
    fm_frame_walk walk = {0};
    slot->content_count = 0;
    slot->decoded = slot->sound = false;
    slot->stored_count = 0;
    if (!frames_reserve(&slot->stored, &slot->stored_room, READ_BYTES)) return false;
    memcpy(slot->stored, frames->carried, frames->carried_count);
    slot->stored_count = frames->carried_count;
    frames->carried_count = 0;
    fm_frame_found found;
    while ((found = fm_frame_walk_on(&walk, slot->stored, slot->stored_count)) == FM_FRAME_MORE) {
        size_t got, wanted = 2 * slot->stored_count;
        if (slot->stored_count > STORED_MOST || walk.at > STORED_MOST) return false;
        if (wanted < slot->stored_count + READ_BYTES) wanted = slot->stored_count + READ_BYTES;
        if (slot->stored_room < slot->stored_count + READ_BYTES &&
            !frames_reserve(&slot->stored, &slot->stored_room, wanted))
            return false;
        frames->status =
            fm_input_read(frames->input, slot->stored + slot->stored_count, READ_BYTES, &got, &frames->error);
        if (frames->status != FM_OK || got == 0) return false;
        slot->stored_count += got;
    }
    if (found != FM_FRAME_WHOLE || walk.content_most > CONTENT_MOST) return false;
    slot->content_most = (size_t)walk.content_most;
    frames->carried_count = slot->stored_count - (size_t)walk.at;
    memcpy(frames->carried, slot->stored + walk.at, frames->carried_count);
    slot->stored_count = (size_t)walk.at;
    return true;
}

/* What precedes the frame are skippable ones, which the decoder passes over. */
static bool decode_frame(ZSTD_DCtx **decoder, frame_slot *slot)
{
    if (!*decoder) *decoder = ZSTD_createDCtx();
    if (!*decoder || !frames_reserve(&slot->content, &slot->content_room, slot->content_most + 1))
        return false;
    const size_t count =
        ZSTD_decompressDCtx(*decoder, slot->content, slot->content_room, slot->stored, slot->stored_count);
    if (ZSTD_isError(count)) return false;
    slot->content_count = count;
    return true;
}

/* ---- the crew ---- */

static bool frames_claim(void *context, fm_crew_job *job)
{
    fm_frames_ahead *frames = context;
    fm_ring *ring = &frames->ring;
    if (ring->claimed < ring->cut) {
        *job = (fm_crew_job){.kind = DECODE, .task = fm_ring_claim(ring)};
        return true;
    }
    if (frames->cutting || frames->ended || fm_ring_under_way(ring) >= frames->limit) return false;
    frames->cutting = true;
    *job = (fm_crew_job){.kind = CUT, .task = fm_ring_slot(ring, ring->cut)};
    return true;
}

static void frames_run(void *context, fm_crew_job job, unsigned worker)
{
    fm_frames_ahead *frames = context;
    frame_slot *slot = &frames->slots[job.task];
    if (job.kind == DECODE)
        slot->sound = decode_frame(&frames->decoder[worker], slot);
    else
        slot->whole = cut_frame(frames, slot);
}

static void frames_complete(void *context, fm_crew_job job)
{
    fm_frames_ahead *frames = context;
    frame_slot *slot = &frames->slots[job.task];
    if (job.kind == DECODE) {
        slot->decoded = true;
        return;
    }
    frames->cutting = false;
    if (!slot->whole) {
        frames->ended = true;
        return;
    }
    fm_ring_cut(&frames->ring, 1);
    const size_t bytes = slot->stored_room + slot->content_most;
    if (ALL_MOST / bytes < frames->limit) frames->limit = ALL_MOST / bytes > 2 ? ALL_MOST / bytes : 2;
}

static bool next_is_there(void *context)
{
    const fm_frames_ahead *frames = context;
    const uint64_t next = frames->ring.taken;
    return next < frames->ring.cut ? slot_of(frames, next)->decoded : frames->ended;
}

/* ---- the one who takes ---- */

fm_frames_ahead *fm_frames_ahead_create(fm_input *input, const uint8_t *stored, size_t count,
                                        unsigned threads)
{
    fm_frames_ahead *frames = fm_calloc(1, sizeof *frames);
    if (!frames) return NULL;
    frames->input = input;
    frames->threads = threads < THREADS_MOST ? threads : THREADS_MOST;
    frames->ring.slots = frames->limit = frames->threads + 2;
    frames->slots = fm_calloc(frames->ring.slots, sizeof *frames->slots);
    frames->carried = malloc(FM_FRAMES_CARRIED);
    if (!frames->slots || !frames->carried) {
        fm_frames_ahead_destroy(frames);
        return NULL;
    }
    memcpy(frames->carried, stored, count);
    frames->carried_count = count;
    return frames;
}

/* Several threads are worth it from the second frame on. Where they cannot be had, one goes on. */
static void start_crew(fm_frames_ahead *frames)
{
    static const fm_crew_work work = {.claim = frames_claim, .run = frames_run, .complete = frames_complete};
    if (!frames->crew && frames->ring.cut == 2)
        (void)fm_crew_create(&frames->crew, frames->threads, &work, frames, NULL);
}

/* Waits for the oldest frame. */
static void wait_for_next(fm_frames_ahead *frames)
{
    fm_crew_job job;
    if (frames->crew) fm_crew_help(frames->crew, next_is_there);
    while (!frames->crew && !next_is_there(frames) && frames_claim(frames, &job)) {
        frames_run(frames, job, 0);
        frames_complete(frames, job);
        start_crew(frames);
        if (frames->crew) fm_crew_help(frames->crew, next_is_there);
    }
}

static void retire_slot(fm_frames_ahead *frames)
{
    if (frames->crew) fm_crew_lock(frames->crew);
    fm_ring_take(&frames->ring);
    if (frames->crew) fm_crew_call(frames->crew);
    if (frames->crew) fm_crew_unlock(frames->crew);
    frames->content_at = 0;
}

size_t fm_frames_ahead_read(fm_frames_ahead *frames, void *to, size_t capacity)
{
    while (!frames->over) {
        wait_for_next(frames);
        frame_slot *slot = slot_of(frames, frames->ring.taken);
        if (!slot->sound) { /* nothing is cut behind the last, which is not either */
            fm_crew_destroy(frames->crew);
            frames->crew = NULL;
            frames->over = true;
            break;
        }
        if (frames->content_at == 0) frames->passed += slot->stored_count;
        frames->any = true;
        const size_t left = slot->content_count - frames->content_at,
                     taken = left < capacity ? left : capacity;
        memcpy(to, slot->content + frames->content_at, taken);
        frames->content_at += taken;
        if (frames->content_at == slot->content_count) retire_slot(frames);
        if (taken > 0) return taken;
    }
    return 0;
}

bool fm_frames_ahead_any(const fm_frames_ahead *frames)
{
    return frames->any;
}

/* What is stored in the slots from the oldest on, and in the one that was cut last and is no frame; or
 * where there was none, what is carried. */
fm_status fm_frames_ahead_rest(fm_frames_ahead *frames, void *to, size_t capacity, size_t *got,
                               fm_error *error)
{
    *got = 0;
    for (;;) {
        const uint64_t next = frames->ring.taken + frames->rest;
        const bool slots = next < frames->ring.cut + frames->ended;
        const frame_slot *slot = slot_of(frames, next);
        const uint8_t *bytes = slots ? slot->stored : frames->carried;
        const size_t count = slots ? slot->stored_count : frames->carried_count;
        *got = count - frames->rest_at < capacity ? count - frames->rest_at : capacity;
        if (*got > 0) memcpy(to, bytes + frames->rest_at, *got);
        frames->rest_at += *got;
        if (*got > 0) return FM_OK;
        if (!slots) break;
        frames->rest++;
        frames->rest_at = 0;
    }
    if (frames->status != FM_OK && error) *error = frames->error;
    return frames->status;
}

uint64_t fm_frames_ahead_passed(const fm_frames_ahead *frames)
{
    return frames->passed;
}

uint64_t fm_frames_ahead_unread(const fm_frames_ahead *frames)
{
    uint64_t bytes = frames->carried_count;
    for (uint64_t i = frames->ring.taken + frames->rest; i < frames->ring.cut + frames->ended; i++)
        bytes += slot_of(frames, i)->stored_count;
    return bytes - frames->rest_at;
}

void fm_frames_ahead_destroy(fm_frames_ahead *frames)
{
    if (!frames) return;
    fm_crew_destroy(frames->crew);
    for (size_t i = 0; frames->slots && i < frames->ring.slots; i++) {
        free(frames->slots[i].stored);
        free(frames->slots[i].content);
    }
    for (size_t i = 0; i < THREADS_MOST; i++) ZSTD_freeDCtx(frames->decoder[i]);
    free(frames->slots);
    free(frames->carried);
    free(frames);
}
