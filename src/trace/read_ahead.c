/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read_ahead.c - see read_ahead.h.
 *
 * A ring of SLOTS slots; `made` and `taken` count up. The consumer holds slot taken - 1 until it asks for
 * the next, so the producer may fill slot `made` while made - (taken - 1) < SLOTS. A thread that waits for
 * a pipe nobody writes to is not woken by a condition: who stops it interrupts its input first.
 */
#include "trace/read_ahead.h"

#include "base/crew.h"
#include "base/error.h"
#include "base/memory.h"
#include "trace/columns.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 4 };

struct fm_read_ahead {
    pthread_t thread;
    bool running;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint64_t made, taken;
    bool holding; /* the consumer looks at slot taken - 1 */
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
        while (!ahead->stop && ahead->made - ahead->taken + (ahead->holding ? 1 : 0) >= SLOTS)
            pthread_cond_wait(&ahead->changed, &ahead->lock);
        if (ahead->stop) break;
        fm_slot *slot = &ahead->slots[ahead->made % SLOTS];
        pthread_mutex_unlock(&ahead->lock);
        ahead->filler(ahead->context, slot);
        pthread_mutex_lock(&ahead->lock);
        ahead->made++;
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
    ahead->holding = false;
    pthread_cond_broadcast(&ahead->changed);
    while (ahead->made == ahead->taken) pthread_cond_wait(&ahead->changed, &ahead->lock);
    const fm_slot *slot = &ahead->slots[ahead->taken % SLOTS];
    ahead->taken++;
    ahead->holding = true;
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
