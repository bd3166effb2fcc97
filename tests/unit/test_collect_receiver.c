/* SPDX-License-Identifier: Apache-2.0 */
/* test_collect_receiver.c - the receiver's end of a channel, while somebody writes what nobody should. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collect/session.h"
#include "unit/synthetic_producer.h"

/* A channel that was read to its end is over: numbers that change afterwards do not make it go on for ever.
 */
static void written_after_its_end(void **state)
{
    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(written_after_its_end),
    };
    return cmocka_run_group_tests_name("collect: receiver", tests, NULL, NULL);
}
