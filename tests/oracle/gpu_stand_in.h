/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_stand_in.h - the interface of src/engine/gpu/gpu_module.h without a graphics card: the stack is a list
 * that is searched from its end, one reference after the other. What it answers is obviously right; what it
 * is for is the other side of the interface, which cuts a trace into batches.
 *
 * It is as strict as a card: it reads a piece as late as a card may, it fails where a batch or a stack does
 * not fit, and it can be given little memory, so that the library has to make do.
 */
#ifndef FATHOM_TESTS_GPU_STAND_IN_H
#define FATHOM_TESTS_GPU_STAND_IN_H

#include "engine/gpu/gpu_module.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { STAND_IN_CARDS = 8 };

/* What the card is like; tests set it. */
typedef struct stand_in_nature {
    uint64_t memory;     /* bytes; a block of the stack takes one, and so does a reference of a batch */
    fm_status devices;   /* what asking for devices answers */
    unsigned more_cards; /* beside the first */
    unsigned opened_on;  /* the card opened last */
    unsigned full_card;  /* this one and those after it have no free memory; 0: none is full */
    uint64_t taken[STAND_IN_CARDS]; /* bytes of each that open cards have */
    size_t opened, counted;         /* how often; counted up */
    size_t fail_at;                 /* counting number fail_at fails; 0: never */
    bool patient;                   /* counting waits up to 1 s for uploads to the other slot */
    size_t in_vain;                 /* how often none came */
} stand_in_nature;
static stand_in_nature stand_in = {.memory = UINT64_MAX};

/* An upload that was begun. */
typedef struct stand_in_upload {
    const uint64_t *from;
    size_t count, at;
    unsigned slot;
} stand_in_upload;

enum { STAND_IN_UPLOADS = 4 }; /* of one piece */

struct fm_gpu_card {
    fm_gpu_setup setup;
    pthread_mutex_t lock; /* several threads upload */
    stand_in_upload uploads[FM_GPU_PIECES][STAND_IN_UPLOADS];
    size_t upload_count[FM_GPU_PIECES];
    uint64_t *slots[FM_GPU_SLOTS];
    size_t uploaded[FM_GPU_SLOTS]; /* references, since it was counted last */
    uint64_t *blocks, *times;      /* the stack */
    size_t stack;
    uint64_t *counts, *time_counts;
    size_t bins;
    uint64_t total, beyond, times_total;
};

static inline fm_status stand_in_fail(fm_error *error, fm_status status, const char *reason)
{
    if (error) {
        memset(error, 0, sizeof *error);
        error->status = status;
        snprintf(error->reason, sizeof error->reason, "%s", reason);
    }
    return status;
}

static inline fm_status stand_in_devices(unsigned *count, fm_error *error)
{
    *count = stand_in.devices == FM_OK ? 1 + stand_in.more_cards : 0;
    return stand_in.devices == FM_OK
               ? FM_OK
               : stand_in_fail(error, stand_in.devices, "there is no graphics card to stand in for");
}

static inline fm_status stand_in_describe(unsigned device, fm_gpu_description *description, fm_error *error)
{
    (void)error;
    snprintf(description->name, sizeof description->name, "stand-in");
    description->memory_total = stand_in.memory;
    const bool full = stand_in.full_card > 0 && device >= stand_in.full_card;
    description->memory_free = full ? 0 : stand_in.memory - stand_in.taken[device % STAND_IN_CARDS];
    return FM_OK;
}

static inline uint64_t stand_in_memory_needed(const fm_gpu_setup *setup)
{
    return setup->stack + setup->batch;
}

static inline void *stand_in_allocate(size_t count)
{
    return calloc(count + 1, sizeof(uint64_t));
}

static inline void stand_in_close(fm_gpu_card *card)
{
    if (!card) return;
    stand_in.taken[card->setup.device % STAND_IN_CARDS] -= stand_in_memory_needed(&card->setup);
    pthread_mutex_destroy(&card->lock);
    for (int i = 0; i < FM_GPU_SLOTS; i++) free(card->slots[i]);
    free(card->blocks);
    free(card->times);
    free(card->counts);
    free(card->time_counts);
    free(card);
}

static inline fm_status stand_in_open(fm_gpu_card **result, const fm_gpu_setup *setup, fm_error *error)
{
    *result = NULL;
    if (stand_in_memory_needed(setup) > stand_in.memory || setup->batch == 0)
        return stand_in_fail(error, FM_E_NOMEM, "the graphics card's memory is too small");
    stand_in.opened++;
    stand_in.opened_on = setup->device;
    stand_in.taken[setup->device % STAND_IN_CARDS] += stand_in_memory_needed(setup);
    fm_gpu_card *card = calloc(1, sizeof *card);
    if (!card) {
        stand_in.taken[setup->device % STAND_IN_CARDS] -= stand_in_memory_needed(setup);
        return stand_in_fail(error, FM_E_NOMEM, "out of memory");
    }
    card->setup = *setup;
    pthread_mutex_init(&card->lock, NULL);
    for (int i = 0; i < FM_GPU_SLOTS; i++) card->slots[i] = stand_in_allocate(setup->batch);
    card->blocks = stand_in_allocate(setup->stack + setup->batch);
    card->times = stand_in_allocate(setup->stack + setup->batch);
    card->bins = setup->bins == FM_BINS_EXACT ? setup->stack + setup->batch : 4480;
    card->counts = stand_in_allocate(card->bins);
    card->time_counts = stand_in_allocate(4480);
    if (!card->slots[0] || !card->slots[1] || !card->blocks || !card->times || !card->counts ||
        !card->time_counts) {
        stand_in_close(card);
        return stand_in_fail(error, FM_E_NOMEM, "out of memory");
    }
    *result = card;
    return FM_OK;
}

/* As bins.c, which a module cannot call. */
static inline size_t stand_in_bin(fm_bins bins, uint64_t distance)
{
    if (bins == FM_BINS_LOG2) return distance ? 64u - (size_t)__builtin_clzll(distance) : 0;
    if (bins == FM_BINS_EXACT || distance < 1024) return (size_t)distance;
    const unsigned exponent = 63u - (unsigned)__builtin_clzll(distance);
    return 1024 + (exponent - 10) * 64 + (size_t)(distance >> (exponent - 6)) - 64;
}

static inline fm_status stand_in_pin(unsigned device, size_t bytes, void **memory, fm_error *error)
{
    (void)device;
    *memory = malloc(bytes);
    return *memory ? FM_OK : stand_in_fail(error, FM_E_NOMEM, "out of memory");
}

static inline void stand_in_unpin(void *memory)
{
    free(memory);
}

/* A piece is read when somebody waits for it, or counts: no sooner, so that what is written into it too early
 * arrives. */
static inline void stand_in_read_piece(fm_gpu_card *card, unsigned piece)
{
    for (size_t i = 0; i < card->upload_count[piece]; i++) {
        const stand_in_upload *upload = &card->uploads[piece][i];
        memcpy(card->slots[upload->slot] + upload->at, upload->from, upload->count * sizeof(uint64_t));
    }
    card->upload_count[piece] = 0;
}

static inline fm_status stand_in_wait_for_piece(fm_gpu_card *card, unsigned piece, fm_error *error)
{
    (void)error;
    pthread_mutex_lock(&card->lock);
    stand_in_read_piece(card, piece);
    pthread_mutex_unlock(&card->lock);
    return FM_OK;
}

static inline fm_status stand_in_upload_piece(fm_gpu_card *card, unsigned piece, const uint64_t *references,
                                              size_t count, unsigned slot, size_t at, fm_error *error)
{
    if (at + count > card->setup.batch || slot >= FM_GPU_SLOTS)
        return stand_in_fail(error, FM_E_ARGUMENT, "an upload that does not fit");
    pthread_mutex_lock(&card->lock);
    if (card->upload_count[piece] == STAND_IN_UPLOADS) stand_in_read_piece(card, piece);
    card->uploads[piece][card->upload_count[piece]++] = (stand_in_upload){references, count, at, slot};
    pthread_mutex_unlock(&card->lock);
    __atomic_add_fetch(&card->uploaded[slot], count, __ATOMIC_RELAXED);
    return FM_OK;
}

static inline void stand_in_wait_for_uploads(const fm_gpu_card *card, unsigned slot)
{
    for (int i = 0; i < 1000; i++) {
        if (__atomic_load_n(&card->uploaded[1 - slot], __ATOMIC_RELAXED) > 0) return;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    stand_in.in_vain++;
}

static inline void stand_in_answer(fm_gpu_card *card, fm_gpu_batch *batch, size_t i, uint64_t distance,
                                   uint64_t time)
{
    if (card->setup.bound && distance >= card->setup.bound && distance != FM_COLD) distance = FM_BEYOND;
    if (batch->distances) batch->distances[i] = distance;
    if (batch->times) batch->times[i] = time;
    if (distance == FM_COLD) return;
    if (card->setup.count && distance == FM_BEYOND) card->beyond++;
    if (card->setup.count && distance != FM_BEYOND) {
        card->counts[stand_in_bin(card->setup.bins, distance)]++;
        card->total++;
    }
    if (card->setup.count_times) {
        card->time_counts[stand_in_bin(card->setup.bins, time)]++;
        card->times_total++;
    }
}

static inline fm_status stand_in_count(fm_gpu_card *card, fm_gpu_batch *batch, fm_error *error)
{
    if (batch->count == 0 || batch->count > card->setup.batch || (batch->distances && !card->setup.each) ||
        (batch->times && !card->setup.times))
        return stand_in_fail(error, FM_E_ARGUMENT, "a batch that the card was not opened for");
    /* Several cards count at the same time. */
    if (__atomic_add_fetch(&stand_in.counted, 1, __ATOMIC_RELAXED) == stand_in.fail_at)
        return stand_in_fail(error, FM_E_IO, "the card fell off the bus");
    if (stand_in.patient) stand_in_wait_for_uploads(card, batch->slot);
    pthread_mutex_lock(&card->lock);
    for (unsigned piece = 0; piece < FM_GPU_PIECES; piece++) stand_in_read_piece(card, piece);
    pthread_mutex_unlock(&card->lock);
    const uint64_t *references = card->slots[batch->slot];
    batch->cold = 0;
    for (size_t i = 0; i < batch->count; i++) {
        const uint64_t now = batch->first_time + i;
        size_t at = card->stack;
        while (at > 0 && card->blocks[at - 1] != references[i]) at--;
        if (at == 0) {
            if (batch->new_blocks) batch->new_blocks[batch->cold] = references[i];
            batch->cold++;
            card->stack++;
            stand_in_answer(card, batch, i, FM_COLD, FM_COLD);
        } else {
            stand_in_answer(card, batch, i, card->stack - at, now - card->times[at - 1]);
            memmove(&card->blocks[at - 1], &card->blocks[at], (card->stack - at) * sizeof(uint64_t));
            memmove(&card->times[at - 1], &card->times[at], (card->stack - at) * sizeof(uint64_t));
        }
        card->blocks[card->stack - 1] = references[i];
        card->times[card->stack - 1] = now;
    }
    const size_t drop = card->stack > batch->keep ? card->stack - batch->keep : 0;
    card->stack -= drop;
    memmove(card->blocks, card->blocks + drop, card->stack * sizeof(uint64_t));
    memmove(card->times, card->times + drop, card->stack * sizeof(uint64_t));
    batch->stack = card->stack;
    if (card->stack > card->setup.stack)
        return stand_in_fail(error, FM_E_LIMIT, "the stack does not fit the card");
    /* A card does not keep a batch's references. */
    memset(card->slots[batch->slot], 0xAA, card->setup.batch * sizeof(uint64_t));
    __atomic_store_n(&card->uploaded[batch->slot], 0, __ATOMIC_RELAXED);
    return FM_OK;
}

static inline fm_status stand_in_load_stack(fm_gpu_card *card, size_t from, const uint64_t *blocks,
                                            const uint64_t *times, size_t count, fm_error *error)
{
    if (from > card->stack || count > card->setup.stack - from)
        return stand_in_fail(error, FM_E_ARGUMENT, "the stack does not fit the card");
    if (count > 0) memcpy(card->blocks + from, blocks, count * sizeof(uint64_t));
    if (count > 0 && times) memcpy(card->times + from, times, count * sizeof(uint64_t));
    card->stack = from + count;
    return FM_OK;
}

static inline fm_status stand_in_fetch_stack(fm_gpu_card *card, uint64_t *blocks, uint64_t *times,
                                             size_t count, fm_error *error)
{
    if (count > card->stack) return stand_in_fail(error, FM_E_ARGUMENT, "the stack has fewer blocks");
    memcpy(blocks, card->blocks, count * sizeof(uint64_t));
    if (times) memcpy(times, card->times, count * sizeof(uint64_t));
    return FM_OK;
}

static inline fm_status stand_in_fetch_counts(fm_gpu_card *card, fm_gpu_counts *counts, fm_error *error)
{
    for (size_t i = 0; i < card->bins; i++) {
        if (card->counts[i] && i >= counts->bins) return stand_in_fail(error, FM_E_ARGUMENT, "too few bins");
        if (card->counts[i]) counts->distances[i] += card->counts[i];
        card->counts[i] = 0;
    }
    for (size_t i = 0; i < 4480 && card->setup.count_times; i++) {
        if (counts->times && card->time_counts[i]) counts->times[i] += card->time_counts[i];
        card->time_counts[i] = 0;
    }
    counts->total = card->total;
    counts->beyond = card->beyond;
    counts->times_total = card->times_total;
    card->total = card->beyond = card->times_total = 0;
    return FM_OK;
}

#define GPU_STAND_IN_TABLE                                                                                   \
    {                                                                                                        \
        .interface = FM_GPU_INTERFACE, .devices = stand_in_devices, .describe = stand_in_describe,           \
        .memory_needed = stand_in_memory_needed, .open = stand_in_open, .close = stand_in_close,             \
        .pin = stand_in_pin, .unpin = stand_in_unpin, .wait_for_piece = stand_in_wait_for_piece,             \
        .upload = stand_in_upload_piece, .count = stand_in_count, .load_stack = stand_in_load_stack,         \
        .fetch_stack = stand_in_fetch_stack, .fetch_counts = stand_in_fetch_counts,                          \
    }

#endif
