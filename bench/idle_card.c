/* SPDX-License-Identifier: Apache-2.0 */
/*
 * idle_card.c - a module in place of fathom-cuda.so (src/engine/gpu/gpu_module.h) whose card takes references
 * in no time and counts none: with it, the engine gpu does all that the host has to do for a card, and
 * nothing waits. What comes out is no profile.
 *
 *     FATHOM_PARTS=build/bench/idle build/bench/bench_feed --steps gpu TRACE
 */
#include "engine/gpu/gpu_module.h"

#include <stdlib.h>
#include <string.h>

struct fm_gpu_card {
    size_t counted;
};

static fm_status idle_devices(unsigned *count, fm_error *error)
{
    (void)error;
    *count = 1;
    return FM_OK;
}

static fm_status idle_describe(unsigned device, fm_gpu_description *description, fm_error *error)
{
    (void)device;
    (void)error;
    *description =
        (fm_gpu_description){.name = "idle", .memory_total = UINT64_MAX, .memory_free = UINT64_MAX};
    return FM_OK;
}

static uint64_t idle_memory_needed(const fm_gpu_setup *setup)
{
    (void)setup;
    return 0;
}

static fm_status no_memory(fm_error *error)
{
    if (error) *error = (fm_error){.status = FM_E_NOMEM, .reason = "out of memory"};
    return FM_E_NOMEM;
}

static fm_status idle_open(fm_gpu_card **card, const fm_gpu_setup *setup, fm_error *error)
{
    (void)setup;
    *card = calloc(1, sizeof **card);
    return *card ? FM_OK : no_memory(error);
}

static void idle_close(fm_gpu_card *card)
{
    free(card);
}

/* Written once: a card's memory is there from the beginning too. */
static fm_status idle_pin(unsigned device, size_t bytes, void **memory, fm_error *error)
{
    (void)device;
    *memory = malloc(bytes);
    if (!*memory) return no_memory(error);
    memset(*memory, 1, bytes);
    return FM_OK;
}

static fm_status idle_wait_for_piece(fm_gpu_card *card, unsigned piece, fm_error *error)
{
    (void)card;
    (void)piece;
    (void)error;
    return FM_OK;
}

static fm_status idle_upload(fm_gpu_card *card, unsigned piece, const uint64_t *references, size_t count,
                             unsigned slot, size_t at, fm_error *error)
{
    (void)card;
    (void)piece;
    (void)references;
    (void)count;
    (void)slot;
    (void)at;
    (void)error;
    return FM_OK;
}

static fm_status idle_count(fm_gpu_card *card, fm_gpu_batch *batch, fm_error *error)
{
    (void)error;
    card->counted += batch->count;
    batch->cold = batch->stack = 0;
    return FM_OK;
}

static fm_status idle_load_stack(fm_gpu_card *card, size_t from, const uint64_t *blocks,
                                 const uint64_t *times, size_t count, fm_error *error)
{
    (void)card;
    (void)from;
    (void)blocks;
    (void)times;
    (void)count;
    (void)error;
    return FM_OK;
}

static fm_status idle_fetch_stack(fm_gpu_card *card, uint64_t *blocks, uint64_t *times, size_t count,
                                  fm_error *error)
{
    (void)card;
    (void)blocks;
    (void)times;
    (void)count;
    (void)error;
    return FM_OK;
}

/* All at distance 0, so that none is missing. */
static fm_status idle_fetch_counts(fm_gpu_card *card, fm_gpu_counts *counts, fm_error *error)
{
    (void)error;
    if (counts->bins > 0) counts->distances[0] += card->counted;
    counts->total = counts->bins > 0 ? card->counted : 0;
    counts->beyond = counts->times_total = 0;
    card->counted = 0;
    return FM_OK;
}

__attribute__((visibility("default"))) extern const fm_gpu_module fathom_gpu_module;
const fm_gpu_module fathom_gpu_module = {.interface = FM_GPU_INTERFACE,
                                         .devices = idle_devices,
                                         .describe = idle_describe,
                                         .memory_needed = idle_memory_needed,
                                         .open = idle_open,
                                         .close = idle_close,
                                         .pin = idle_pin,
                                         .unpin = free,
                                         .wait_for_piece = idle_wait_for_piece,
                                         .upload = idle_upload,
                                         .count = idle_count,
                                         .load_stack = idle_load_stack,
                                         .fetch_stack = idle_fetch_stack,
                                         .fetch_counts = idle_fetch_counts};
