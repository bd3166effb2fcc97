/* SPDX-License-Identifier: Apache-2.0 */
/* test_collect_receiver.c - the receiver's end of channels: the order of several threads' words, and what
 * nobody should write. */
#include "case.h"

#include <stdint.h>

#include "collect/collection.h"
#include "unit/synthetic_producer.h"

/* A channel that was read to its end is over: numbers that change afterwards do not make it go on for ever.
 */
CASE(written_after_its_end)
{
    fm_receiver *receiver;
    fm_error error;
    char path[64];
    assert_int_equal(fm_receiver_create(&receiver, 0, &error), FM_OK);
    fm_receiver_path(receiver, path, sizeof path);
    setenv(FM_STREAM_ENVIRONMENT, path, 1);
    producer self;
    producer_claim(&self, FM_PRODUCER_COMPILER, 0, 1);
    for (int i = 0; i < 1000; i++) producer_word(&self, FM_RECORD(FM_RECORD_END, 0, 0));
    producer_close(&self);

    bool damaged;
    fm_status status;
    fm_reception *channel = fm_receiver_opened(receiver, &damaged, &status, &error);
    assert_non_null(channel);
    fm_handed handed;
    int turns = 0;
    while (fm_receiver_next(receiver, &handed) && handed.words) {
        if (channel->rest_taken) self.channel->sealed += 3;
        fm_receiver_done(receiver, &handed);
        assert_true(++turns < 10);
    }
    assert_ptr_equal(handed.channel, channel);
    assert_null(handed.words);
    fm_receiver_release(receiver, channel);
    fm_receiver_destroy(receiver);
    munmap(self.ring, FM_RING_BYTES);
    munmap(self.session, FM_STREAM_RINGS_OFFSET);
    close(self.file);
}

/* ---- the order of threads ---- */

typedef struct session_of_threads {
    fm_receiver *receiver;
    producer threads[3];
    size_t count;
} session_of_threads;

static void begin(session_of_threads *all)
{
    fm_error error;
    char path[64];
    *all = (session_of_threads){0};
    assert_int_equal(fm_receiver_create(&all->receiver, 0, &error), FM_OK);
    fm_receiver_path(all->receiver, path, sizeof path);
    setenv(FM_STREAM_ENVIRONMENT, path, 1);
}

/* One more thread of the one process, with a channel of its own. */
static producer *thread(session_of_threads *all)
{
    producer *self = &all->threads[all->count++];
    producer_claim(self, FM_PRODUCER_COMPILER, 1, (uint32_t)all->count);
    return self;
}

static void words(producer *self, uint64_t first, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) producer_word(self, first + i);
}

/* All words that there are now, in the order in which they are handed out. */
static size_t receive(session_of_threads *all, uint64_t *found, size_t most)
{
    bool damaged;
    fm_status status;
    fm_error error;
    fm_handed handed;
    size_t count = 0;
    while (fm_receiver_opened(all->receiver, &damaged, &status, &error)) assert_false(damaged);
    while (fm_receiver_next(all->receiver, &handed)) {
        if (!handed.words) {
            fm_receiver_release(all->receiver, handed.channel);
            continue;
        }
        assert_in_range(handed.count, 0, most - count);
        memcpy(found + count, handed.words, handed.count * sizeof *found);
        count += handed.count;
        fm_receiver_done(all->receiver, &handed);
    }
    return count;
}

static void end(session_of_threads *all)
{
    fm_receiver_destroy(all->receiver);
    for (size_t i = 0; i < all->count; i++) {
        munmap(all->threads[i].ring, FM_RING_BYTES);
        munmap(all->threads[i].session, FM_STREAM_RINGS_OFFSET);
        close(all->threads[i].file);
    }
}

static void expect(const uint64_t *found, size_t count, const uint64_t *wanted, size_t wanted_count)
{
    assert_int_equal(count, wanted_count);
    for (size_t i = 0; i < count; i++) assert_int_equal(found[i], wanted[i]);
}

/* A receiver that comes late finds a thread's chunk, and another thread that was started by it and has begun:
 * the second one's words do not come before those of the first, which say where its code is. */
CASE(younger_threads_come_later)
{
    session_of_threads all;
    uint64_t found[64];
    begin(&all);
    producer *first = thread(&all);
    words(first, 100, 3);
    producer_seal(first);
    words(first, 110, 2);
    producer *second = thread(&all);
    words(second, 200, 4);
    const uint64_t before[] = {100, 101, 102};
    expect(found, receive(&all, found, 64), before, 3);
    producer_seal(second);
    const uint64_t after[] = {110, 111, 200, 201, 202, 203};
    expect(found, receive(&all, found, 64), after, 6);
    end(&all);
}

/* Neither does it help to be sealed first: the older one's chunk was begun before. */
CASE(chunks_that_were_begun_before)
{
    session_of_threads all;
    uint64_t found[64];
    begin(&all);
    producer *first = thread(&all);
    words(first, 100, 2);
    producer *second = thread(&all);
    words(second, 200, 2);
    producer_seal(second);
    words(first, 102, 2);
    producer_seal(first);
    words(first, 104, 1);
    const uint64_t wanted[] = {100, 101, 102, 103, 200, 201};
    expect(found, receive(&all, found, 64), wanted, 6);
    producer_seal(first);
    const uint64_t rest[] = {104};
    expect(found, receive(&all, found, 64), rest, 1);
    end(&all);
}

/* A thread that has ended, and the order where a channel of lower number belongs to a younger thread. */
CASE(threads_of_threads)
{
    session_of_threads all;
    uint64_t found[64];
    begin(&all);
    producer *gone = thread(&all), *first = thread(&all);
    words(first, 100, 2);
    producer_close(gone);
    receive(&all, found, 0);
    /* The channel of the one that is gone is taken by the third. */
    producer *third = &all.threads[2];
    all.count = 3;
    producer_claim(third, FM_PRODUCER_COMPILER, 1, 3);
    assert_ptr_equal(third->channel - third->session->channels, 0);
    words(third, 300, 2);
    producer fourth;
    producer_claim(&fourth, FM_PRODUCER_COMPILER, 1, 4);
    words(&fourth, 400, 2);
    producer_close(&fourth);
    words(first, 102, 1);
    producer_close(first);
    const uint64_t wanted[] = {100, 101, 102, 300, 301, 400, 401};
    expect(found, receive(&all, found, 64), wanted, 7);
    munmap(fourth.ring, FM_RING_BYTES);
    munmap(fourth.session, FM_STREAM_RINGS_OFFSET);
    close(fourth.file);
    end(&all);
}
