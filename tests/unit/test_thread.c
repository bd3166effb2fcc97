/* SPDX-License-Identifier: Apache-2.0 */
/* test_thread.c - threads have stack enough, however small ulimit -s makes the usual one. */
#define _GNU_SOURCE
#include "case.h"

#include <stdint.h>

#include "base/crew.h"

#include <stdbool.h>
#include <unistd.h>

enum { SMALL = 128 << 10, MUCH = 512 << 10 };

static pthread_t called_in;

/* Writes to every page of much stack. */
static void *use_much(void *context)
{
    volatile char much[MUCH];
    for (size_t i = 0; i < sizeof much; i += 512) much[i] = 1;
    called_in = pthread_self();
    *(bool *)context = much[0] == 1;
    return NULL;
}

static void set_usual_size(size_t size)
{
#ifdef __SANITIZE_THREAD__
    if (size == SMALL) { /* what ThreadSanitizer does in a new thread needs more */
        print_message("SKIP: no thread of ThreadSanitizer's can have so small a stack\n");
        skip();
    }
#endif
    pthread_attr_t attributes;
    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstacksize(&attributes, size), 0);
    assert_int_equal(pthread_setattr_default_np(&attributes), 0);
    pthread_attr_destroy(&attributes);
}

CASE(threads_of_the_library)
{
    pthread_t thread;
    bool done = false;
    set_usual_size(SMALL);
    assert_int_equal(fm_thread_start(&thread, use_much, &done), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(done);
}

static void *call_with_stack(void *context)
{
    static bool elsewhere;
    elsewhere = fm_thread_with_stack(MUCH + SMALL, use_much, context) == 0 && called_in != pthread_self();
    return &elsewhere;
}

CASE(callers_with_little_stack)
{
    bool done = false;
    assert_false(*(bool *)call_with_stack(&done)); /* here there is enough */
    assert_true(done);
    for (int large = 0; large < 2; large++) {
        pthread_t thread;
        void *elsewhere;
        set_usual_size(large ? 8 * (size_t)MUCH : SMALL);
        done = false;
        assert_int_equal(pthread_create(&thread, NULL, call_with_stack, &done), 0);
        assert_int_equal(pthread_join(thread, &elsewhere), 0);
        assert_true(done);
        assert_int_equal(*(bool *)elsewhere, !large);
    }
}
