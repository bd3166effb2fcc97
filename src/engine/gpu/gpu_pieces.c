/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_pieces.c - see gpu_pieces.h. */
#include "engine/gpu/gpu_pieces.h"

#include <string.h>

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
