/* SPDX-License-Identifier: Apache-2.0 */
/* session.c - see collection.h. */
#define _GNU_SOURCE
#include "collect/collection.h"

#include "base/error.h"
#include "base/memory.h"
#include "process/program_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    PAGE = 4096,
    /* Kernels read a little behind the last word: a ring is mapped with what follows it. */
    RING_MAPPED = FM_RING_BYTES + PAGE,
    NAP_NANOSECONDS = 100000,    /* a producer does not fill its ring in that time */
    QUIET_NANOSECONDS = 1000000, /* where a producer must not wake us */
    NAPS = 8,                    /* before sleeping until one wakes us, which costs it a system call */
    PATIENCE = 20,               /* naps for a chunk whose number was taken but that did not come */
    WAKE_AT = FM_RING_CHUNKS / 2,
};
#define FILE_BYTES ((off_t)FM_STREAM_RINGS_OFFSET + (off_t)FM_STREAM_CHANNELS * FM_RING_BYTES + PAGE)

fm_status fm_receiver_create(fm_receiver **receiver, uint32_t wants, fm_error *error)
{
    fm_receiver *self = *receiver = fm_calloc(1, sizeof *self);
    if (!self) return fm_fail_memory(error, sizeof *self, "the receiver");
    self->session = MAP_FAILED;
    self->patience = PATIENCE;
    self->file = memfd_create("fathom-session", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (self->file >= 0 && ftruncate(self->file, FILE_BYTES) == 0 &&
        /* A file that cannot shrink cannot make us fault. */
        fcntl(self->file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0 &&
        flock(self->file, LOCK_EX | LOCK_NB) == 0)
        self->session = mmap(NULL, FM_STREAM_RINGS_OFFSET, PROT_READ | PROT_WRITE, MAP_SHARED, self->file, 0);
    if (self->session == MAP_FAILED) {
        fm_status status = fm_proc_share_failed(errno, (uint64_t)FILE_BYTES, error);
        fm_receiver_destroy(self);
        *receiver = NULL;
        return status;
    }
    self->session->magic = FM_STREAM_MAGIC;
    self->session->version = FM_STREAM_VERSION;
    self->session->wants = wants;
    self->session->receiver_pid = (uint32_t)getpid();
    self->session->processes = 1;
    return FM_OK;
}

void fm_receiver_destroy(fm_receiver *receiver)
{
    if (!receiver) return;
    for (size_t i = 0; i < FM_STREAM_CHANNELS; i++)
        if (receiver->channels[i].ring) munmap((void *)(uintptr_t)receiver->channels[i].ring, RING_MAPPED);
    if (receiver->session != MAP_FAILED) munmap(receiver->session, FM_STREAM_RINGS_OFFSET);
    if (receiver->file >= 0) close(receiver->file);
    free(receiver);
}

void fm_receiver_path(const fm_receiver *receiver, char *path, size_t size)
{
    snprintf(path, size, "/proc/%ld/fd/%d", (long)getpid(), receiver->file);
}

static bool producer_waits(const fm_channel *channel)
{
    return __atomic_load_n(&channel->producer_waits, __ATOMIC_SEQ_CST);
}

static void wake_producer(fm_channel *channel)
{
    syscall(SYS_futex, &channel->taken, FUTEX_WAKE, 1, NULL, NULL, 0);
}

void fm_receiver_order_detach(fm_receiver *receiver)
{
    __atomic_store_n(&receiver->session->order, FM_ORDER_DETACH, __ATOMIC_SEQ_CST);
    for (size_t i = 0; i < receiver->active_count; i++)
        wake_producer(&receiver->session->channels[receiver->active[i]]);
}

bool fm_receiver_detaching(const fm_receiver *receiver)
{
    return __atomic_load_n(&receiver->session->order, __ATOMIC_RELAXED) == FM_ORDER_DETACH;
}

/* ---- channels ---- */

static uint32_t get_shared(const uint32_t *shared)
{
    return __atomic_load_n(shared, __ATOMIC_ACQUIRE);
}

/* Makes a channel free for the next producer: its ring takes no memory any more. */
static void recycle_channel(fm_receiver *receiver, uint32_t index, uint32_t taken)
{
    fm_channel *shared = &receiver->session->channels[index];
    (void)fallocate(receiver->file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                    (off_t)FM_STREAM_RINGS_OFFSET + (off_t)index * FM_RING_BYTES, FM_RING_BYTES);
    memset(shared, 0, offsetof(fm_channel, taken));
    __atomic_store_n(&shared->taken, taken, __ATOMIC_RELAXED);
    shared->sealed = taken;
    shared->calling = 0;
    shared->producer = shared->pid = shared->tid = shared->process = shared->thread = 0;
    __atomic_store_n(&shared->state, FM_CHANNEL_FREE, __ATOMIC_RELEASE);
}

fm_reception *fm_receiver_opened(fm_receiver *receiver, bool *damaged, fm_status *status, fm_error *error)
{
    *status = FM_OK;
    *damaged = false;
    unsigned untouched = 0;
    /* Producers take the first one that is free: behind the last that was ever used nothing is. */
    for (uint32_t i = 0; i < FM_STREAM_CHANNELS && untouched < 8; i++) {
        fm_channel *shared = &receiver->session->channels[i];
        fm_reception *channel = &receiver->channels[i];
        uint32_t state = channel->active ? FM_CHANNEL_FREE : get_shared(&shared->state);
        untouched = i >= receiver->used && state == FM_CHANNEL_FREE ? untouched + 1 : 0;
        if (state != FM_CHANNEL_OPEN && state != FM_CHANNEL_CLOSED) continue;
        uint32_t taken = channel->taken; /* what is in the shared memory is a copy of it */
        *channel = (fm_reception){
            .index = i,
            .taken = taken,
            .producer = get_shared(&shared->producer),
            .pid = get_shared(&shared->pid),
            .serial = get_shared(&shared->process),
            .thread_number = get_shared(&shared->thread),
            .born = __atomic_load_n(&shared->born, __ATOMIC_RELAXED),
        };
        bool possible =
            channel->producer == FM_PRODUCER_VALGRIND || channel->producer == FM_PRODUCER_COMPILER;
        if (!possible || channel->serial == 0) {
            *damaged = true;
            recycle_channel(receiver, i, taken);
            continue;
        }
        void *ring = mmap(NULL, RING_MAPPED, PROT_READ, MAP_SHARED, receiver->file,
                          (off_t)FM_STREAM_RINGS_OFFSET + (off_t)i * FM_RING_BYTES);
        if (ring == MAP_FAILED) {
            *status = fm_fail_io(error, NULL, "map a ring of the program", errno);
            return NULL;
        }
        if (i >= receiver->used) receiver->used = i + 1;
        channel->ring = ring;
        channel->active = true;
        channel->sealed = taken;
        receiver->active[receiver->active_count++] = i;
        return channel;
    }
    return NULL;
}

void fm_receiver_release(fm_receiver *receiver, fm_reception *channel)
{
    munmap((void *)(uintptr_t)channel->ring, RING_MAPPED);
    uint32_t index = channel->index, taken = channel->taken;
    for (size_t i = 0; i < receiver->active_count; i++)
        if (receiver->active[i] == index) receiver->active[i] = receiver->active[--receiver->active_count];
    *channel = (fm_reception){.taken = taken};
    recycle_channel(receiver, index, taken);
}

/* ---- chunks ---- */

/* Looks at what a channel has. */
static void look_at_channel(fm_receiver *receiver, fm_reception *channel)
{
    if (channel->sealed != channel->taken) return;
    fm_channel *shared = &receiver->session->channels[channel->index];
    if (!channel->closed) channel->closed = get_shared(&shared->state) == FM_CHANNEL_CLOSED;
    channel->sealed = get_shared(&shared->sealed);
    channel->sequence =
        __atomic_load_n(&shared->chunk_sequence[channel->taken % FM_RING_CHUNKS], __ATOMIC_RELAXED);
}

/* Words that were handed out ahead are not handed out again. */
static void skip_begun(const fm_reception *channel, fm_handed *handed)
{
    size_t begun = channel->begun < handed->count ? channel->begun : handed->count;
    handed->words += begun;
    handed->count -= begun;
}

/* The words behind the last sealed chunk, of a producer that writes no more. */
static void read_rest(fm_receiver *receiver, fm_reception *channel, fm_handed *handed)
{
    const fm_channel *shared = &receiver->session->channels[channel->index];
    uint64_t cursor = __atomic_load_n(&shared->cursor, __ATOMIC_RELAXED);
    uint64_t base = __atomic_load_n(&shared->ring_address, __ATOMIC_RELAXED);
    uint64_t begin = (uint64_t)(channel->taken % FM_RING_CHUNKS) * FM_CHUNK_BYTES;
    channel->rest_taken = true;
    channel->calling = channel->producer == FM_PRODUCER_COMPILER ? get_shared(&shared->calling) : 0;
    *handed = (fm_handed){.channel = channel, .words = channel->ring + begin / 8};
    uint64_t offset = cursor - base;
    /* Outside of the ring is where a producer writes that was told to stop. */
    if (offset > FM_RING_BYTES) handed->damaged = !channel->closed && !fm_receiver_detaching(receiver);
    /* In another chunk: that one is sealed, and this one not begun. */
    if (offset > begin && offset <= begin + FM_CHUNK_BYTES) handed->count = (size_t)(offset - begin) / 8;
    skip_begun(channel, handed);
}

/* How many words there are in the chunk that is to be taken next, whether it is sealed or still written to.
 */
static uint32_t words_so_far(const fm_receiver *receiver, const fm_reception *channel)
{
    const fm_channel *shared = &receiver->session->channels[channel->index];
    const uint32_t slot = channel->taken % FM_RING_CHUNKS;
    const uint64_t begin = (uint64_t)slot * FM_CHUNK_BYTES;
    for (int looks = 0; looks < 2; looks++) {
        if (get_shared(&shared->sealed) != channel->taken) {
            uint32_t count = get_shared(&shared->chunk_words[slot]);
            return count <= FM_CHUNK_WORDS ? count : 0;
        }
        uint64_t base = __atomic_load_n(&shared->ring_address, __ATOMIC_RELAXED);
        uint64_t cursor = __atomic_load_n(&shared->cursor, __ATOMIC_ACQUIRE), offset = cursor - base;
        if (offset >= begin && offset <= begin + FM_CHUNK_BYTES) return (uint32_t)((offset - begin) / 8);
        /* In another one: this one is not begun, or was sealed just now. */
    }
    return 0;
}

/* Was a thread there when another got its channel? Numbers are given in order. */
static bool is_older(const fm_reception *channel, const fm_reception *other)
{
    return channel->born != other->born ? channel->born < other->born
                                        : channel->thread_number < other->thread_number;
}

/*
 * What the older threads of its process wrote before a thread's first words comes before those: the modules
 * that its code is in, the heap blocks that it was given. So each of them is read once as far as it has come,
 * also in the middle of a chunk, or a chunk that was sealed later; except where that chunk was begun when the
 * thread was there already. What is read so has its own older threads. False when all of them were.
 */
static bool catch_up(fm_receiver *receiver, fm_reception *late, fm_handed *handed)
{
    if (late->producer != FM_PRODUCER_COMPILER) return false;
    for (; late->caught_up < receiver->used; late->caught_up++) {
        fm_reception *channel = &receiver->channels[late->caught_up];
        if (channel == late || !channel->active || channel->serial != late->serial || channel->rest_taken ||
            channel->passed > late->born || !is_older(channel, late))
            continue;
        const uint32_t count = words_so_far(receiver, channel);
        if (count <= channel->begun) continue;
        if (catch_up(receiver, channel, handed)) return true;
        *handed = (fm_handed){.channel = channel,
                              .words = channel->ring + (channel->taken % FM_RING_CHUNKS) * FM_CHUNK_WORDS,
                              .count = count,
                              .ahead = true};
        skip_begun(channel, handed);
        channel->begun = count;
        receiver->naps = 0;
        late->caught_up++;
        return true;
    }
    return false;
}

static bool hand_out(fm_receiver *receiver, fm_reception *channel, fm_handed *handed)
{
    const fm_channel *shared = &receiver->session->channels[channel->index];
    uint32_t slot = channel->taken % FM_RING_CHUNKS;
    uint32_t count = get_shared(&shared->chunk_words[slot]);
    *handed = (fm_handed){.channel = channel, .words = channel->ring + (size_t)slot * FM_CHUNK_WORDS};
    if (channel->sealed - channel->taken > FM_RING_CHUNKS) {
        channel->taken = channel->sealed - 1; /* start anew where it claims to be */
        handed->damaged = true;
    } else if (count > FM_CHUNK_WORDS) {
        handed->damaged = true;
    } else {
        handed->count = count;
        skip_begun(channel, handed);
    }
    channel->passed = channel->sequence + 1;
    receiver->naps = 0;
    receiver->since_scan++;
    return true;
}

bool fm_receiver_next(fm_receiver *receiver, fm_handed *handed)
{
    receiver->gap = false;
    fm_reception *first = NULL;
    for (size_t i = 0; i < receiver->active_count; i++) {
        fm_reception *channel = &receiver->channels[receiver->active[i]];
        if (channel->rest_taken) continue; /* it is over, whatever is written into it now */
        look_at_channel(receiver, channel);
        if (channel->sealed != channel->taken && (!first || channel->sequence < first->sequence))
            first = channel;
    }
    if (first && catch_up(receiver, first, handed)) return true;
    if (first) {
        bool in_order = first->sequence <= receiver->expected;
        if (!in_order) {
            /* Its predecessor's number was taken, and it will be there in a moment: unless its producer died
             * just then. A new channel may have it, too. */
            receiver->gap = receiver->naps < receiver->patience;
            if (receiver->gap) return false;
            receiver->patience /= 2;
        } else if (first->sequence == receiver->expected) {
            receiver->patience = PATIENCE;
        }
        if (first->sequence >= receiver->expected) receiver->expected = first->sequence + 1;
        return hand_out(receiver, first, handed);
    }
    for (size_t i = 0; i < receiver->active_count; i++) {
        fm_reception *channel = &receiver->channels[receiver->active[i]];
        if (!channel->closed && !channel->dead) continue;
        if (!channel->rest_taken && catch_up(receiver, channel, handed)) return true;
        if (!channel->rest_taken)
            read_rest(receiver, channel, handed);
        else
            *handed = (fm_handed){.channel = channel};
        receiver->naps = 0;
        return true;
    }
    return false;
}

/* Producers that must not ask otherwise know by it that there is a receiver. */
static void beat_once(fm_receiver *receiver)
{
    __atomic_store_n(&receiver->session->beats, ++receiver->beats, __ATOMIC_RELAXED);
}

void fm_receiver_done(fm_receiver *receiver, const fm_handed *handed)
{
    beat_once(receiver);
    fm_reception *channel = handed->channel;
    fm_channel *shared = &receiver->session->channels[channel->index];
    if (handed->ahead || channel->rest_taken) return;
    channel->begun = 0;
    __atomic_store_n(&shared->taken, ++channel->taken, __ATOMIC_SEQ_CST);
    /* A producer that waits is woken when there is room for several chunks: else it would sleep again at
     * once, each time. */
    if ((get_shared(&shared->sealed) - channel->taken) <= WAKE_AT && producer_waits(shared))
        wake_producer(shared);
    if (channel->sealed != channel->taken) /* the next one of those that were seen */
        channel->sequence =
            __atomic_load_n(&shared->chunk_sequence[channel->taken % FM_RING_CHUNKS], __ATOMIC_RELAXED);
}

/* ---- waiting ---- */

double fm_receiver_wait(fm_receiver *receiver)
{
    fm_session *session = receiver->session;
    beat_once(receiver);
    for (size_t i = 0; i < receiver->active_count; i++) { /* whoever was left asleep may be waited for */
        fm_channel *shared = &session->channels[receiver->active[i]];
        if (producer_waits(shared)) wake_producer(shared);
    }
    uint32_t seen = __atomic_load_n(&session->wake, __ATOMIC_SEQ_CST);
    if (receiver->naps++ < NAPS || receiver->gap) {
        struct timespec nap = {0, NAP_NANOSECONDS};
        nanosleep(&nap, NULL);
        return NAP_NANOSECONDS * 1e-9;
    }
    if (get_shared(&session->quiet)) {
        struct timespec nap = {0, QUIET_NANOSECONDS};
        nanosleep(&nap, NULL);
        return QUIET_NANOSECONDS * 1e-9;
    }
    /* What was sealed between the last look and now has raised the number: look once more first. */
    static const struct timespec most = {0, 100 * 1000 * 1000};
    __atomic_store_n(&session->receiver_waits, 1, __ATOMIC_SEQ_CST);
    for (size_t i = 0; i < receiver->active_count; i++) {
        const fm_reception *channel = &receiver->channels[receiver->active[i]];
        const fm_channel *shared = &session->channels[channel->index];
        if (get_shared(&shared->sealed) != channel->taken ||
            (!channel->closed && get_shared(&shared->state) == FM_CHANNEL_CLOSED)) {
            __atomic_store_n(&session->receiver_waits, 0, __ATOMIC_SEQ_CST);
            return 0;
        }
    }
    long waited = syscall(SYS_futex, &session->wake, FUTEX_WAIT, seen, &most, NULL, 0);
    bool timed_out = waited < 0 && errno == ETIMEDOUT;
    __atomic_store_n(&session->receiver_waits, 0, __ATOMIC_SEQ_CST);
    return timed_out ? 0.1 : 0;
}
