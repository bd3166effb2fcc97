/* SPDX-License-Identifier: Apache-2.0 */
/*
 * synthetic_producer.h - the other end of collect/protocol.h, written after that file alone: what a test
 * program plays when it is started by a collection as if it had been built by fathom cc. It carries the ELF
 * note that says so.
 */
#ifndef FATHOM_TEST_SYNTHETIC_PRODUCER_H
#define FATHOM_TEST_SYNTHETIC_PRODUCER_H

#include "collect/protocol.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

__asm__(".pushsection .note.fathom, \"a\", @note\n"
        ".balign 4\n"
        ".long 7, 8, 1\n"
        ".asciz \"fathom\"\n"
        ".balign 4\n"
        ".long 3, 0\n" /* FM_STREAM_VERSION */
        ".popsection\n");
_Static_assert(FM_STREAM_VERSION == 3, "the note above says 3");

typedef struct producer {
    fm_session *session;
    fm_channel *channel;
    char *ring;
    int file;
    bool stopped; /* told to */
} producer;

static inline fm_session *producer_session(int *file)
{
    const char *path = getenv(FM_STREAM_ENVIRONMENT);
    *file = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (*file < 0) _exit(90);
    fm_session *session = mmap(NULL, FM_STREAM_RINGS_OFFSET, PROT_READ | PROT_WRITE, MAP_SHARED, *file, 0);
    if (session == MAP_FAILED || session->magic != FM_STREAM_MAGIC) _exit(91);
    return session;
}

static inline void producer_chunk(producer *self)
{
    size_t at = self->channel->sealed % FM_RING_CHUNKS * (size_t)FM_CHUNK_BYTES;
    __atomic_store_n(&self->channel->cursor, (uint64_t)(uintptr_t)(self->ring + at), __ATOMIC_RELEASE);
}

/* To claim a channel for another process, which is over: it is seen when it is closed. 0: for this one. */
static uint32_t producer_pid;

/* serial: 0: a new process. */
static inline void producer_claim(producer *self, unsigned kind, uint32_t serial, uint32_t thread)
{
    self->session = producer_session(&self->file);
    self->stopped = false;
    uint32_t index = 0;
    for (;; index++) {
        uint32_t expected = FM_CHANNEL_FREE;
        if (index == FM_STREAM_CHANNELS) _exit(92);
        self->channel = &self->session->channels[index];
        if (__atomic_compare_exchange_n(&self->channel->state, &expected, FM_CHANNEL_CLAIMED, false,
                                        __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
            break;
    }
    self->ring = mmap(NULL, FM_RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, self->file,
                      (off_t)FM_STREAM_RINGS_OFFSET + (off_t)index * FM_RING_BYTES);
    if (self->ring == MAP_FAILED) _exit(93);
    fm_channel *channel = self->channel;
    channel->ring_address = (uint64_t)(uintptr_t)self->ring;
    channel->sealed = channel->taken;
    channel->producer = kind;
    channel->pid = producer_pid ? producer_pid : (uint32_t)getpid();
    channel->tid = (uint32_t)syscall(SYS_gettid);
    channel->process = serial ? serial : __atomic_fetch_add(&self->session->processes, 1, __ATOMIC_SEQ_CST);
    channel->thread = thread;
    channel->born = __atomic_load_n(&self->session->sequence, __ATOMIC_SEQ_CST);
    producer_chunk(self);
    if (!producer_pid) __atomic_store_n(&channel->state, FM_CHANNEL_OPEN, __ATOMIC_RELEASE);
}

static inline void producer_wake(producer *self)
{
    __atomic_add_fetch(&self->session->wake, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&self->session->receiver_waits, __ATOMIC_SEQ_CST))
        syscall(SYS_futex, &self->session->wake, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static inline void producer_seal(producer *self)
{
    fm_channel *channel = self->channel;
    uint32_t slot = channel->sealed % FM_RING_CHUNKS;
    uint64_t begin = channel->ring_address + (uint64_t)slot * FM_CHUNK_BYTES;
    channel->chunk_words[slot] = (uint32_t)((channel->cursor - begin) / 8);
    channel->chunk_sequence[slot] = __atomic_fetch_add(&self->session->sequence, 1, __ATOMIC_SEQ_CST);
    __atomic_store_n(&channel->sealed, channel->sealed + 1, __ATOMIC_SEQ_CST);
    producer_wake(self);
    for (;;) {
        uint32_t taken = __atomic_load_n(&channel->taken, __ATOMIC_SEQ_CST);
        if (channel->sealed - taken < FM_RING_CHUNKS) break;
        self->stopped = __atomic_load_n(&self->session->order, __ATOMIC_SEQ_CST) == FM_ORDER_DETACH;
        if (self->stopped) return;
        if (flock(self->file, LOCK_EX | LOCK_NB) == 0) _exit(94); /* the receiver is gone */
        struct timespec most = {0, 100 * 1000 * 1000};
        __atomic_store_n(&channel->producer_waits, 1, __ATOMIC_SEQ_CST);
        syscall(SYS_futex, &channel->taken, FUTEX_WAIT, taken, &most, NULL, 0);
        __atomic_store_n(&channel->producer_waits, 0, __ATOMIC_SEQ_CST);
    }
    producer_chunk(self);
}

static inline void producer_put(producer *self, const uint64_t *words, size_t count)
{
    fm_channel *channel = self->channel;
    uint64_t begin = channel->ring_address + channel->sealed % FM_RING_CHUNKS * (uint64_t)FM_CHUNK_BYTES;
    if (!self->stopped && channel->cursor + count * 8 > begin + FM_CHUNK_BYTES) producer_seal(self);
    if (self->stopped) return;
    memcpy((void *)(uintptr_t)channel->cursor, words, count * 8);
    __atomic_store_n(&channel->cursor, channel->cursor + count * 8, __ATOMIC_RELEASE);
}

static inline void producer_word(producer *self, uint64_t word)
{
    producer_put(self, &word, 1);
}

static inline void producer_text(producer *self, unsigned kind, uint64_t argument, const uint64_t *words,
                                 size_t count, const char *text)
{
    uint64_t all[600] = {0};
    size_t padded = strlen(text) / 8 + 1;
    all[0] = FM_RECORD(kind, argument, count + padded);
    if (count) memcpy(all + 1, words, count * 8);
    memcpy(all + 1 + count, text, strlen(text));
    producer_put(self, all, 1 + count + padded);
}

/* The first records of a process. */
static inline void producer_begin(producer *self, uint32_t parent_serial, const char *program)
{
    const uint64_t words[4] = {self->channel->pid, (uint64_t)getppid(), parent_serial,
                               self->channel->process};
    producer_text(self, FM_RECORD_PROCESS, 0, words, 4, program);
}

static inline void producer_close(producer *self)
{
    if (!self->stopped && self->channel->cursor > self->channel->ring_address + self->channel->sealed %
                                                                                    FM_RING_CHUNKS *
                                                                                    (uint64_t)FM_CHUNK_BYTES)
        producer_seal(self);
    __atomic_store_n(&self->channel->state, FM_CHANNEL_CLOSED, __ATOMIC_SEQ_CST);
    producer_wake(self);
}

#endif
