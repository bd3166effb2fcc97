/* SPDX-License-Identifier: Apache-2.0 */
/* test_rounds.c - threads that work together (base/crew.h, by pthread_create): every task is done once,
 * round after round. */
#include "case.h"

#include "base/crew.h"

#include <stdatomic.h>

enum { MOST = 1000 };

typedef struct tally {
    atomic_int done[MOST];
    int plain[MOST]; /* read by the caller after the round: the rounds must order that */
} tally;

static void do_one(void *context, size_t number)
{
    tally *work = context;
    atomic_fetch_add(&work->done[number], 1);
    work->plain[number]++;
}

static void check_rounds(unsigned members)
{
    static tally work;
    fm_rounds *rounds;
    work = (tally){0};
    assert_int_equal(fm_rounds_create(&rounds, members, NULL), FM_OK);
    for (int round = 1; round <= 200; round++) {
        const size_t tasks = round % 7 == 0 ? 0 : (size_t)(round * 37 % MOST);
        int before[MOST];
        for (size_t i = 0; i < MOST; i++) before[i] = work.plain[i];
        fm_rounds_run(rounds, do_one, &work, tasks);
        for (size_t i = 0; i < MOST; i++) {
            assert_int_equal(work.plain[i], before[i] + (i < tasks));
            assert_int_equal(atomic_load(&work.done[i]), work.plain[i]);
        }
    }
    fm_rounds_destroy(rounds);
}

CASE(test_every_task_once)
{
    static const unsigned members[] = {0, 1, 2, 3, 8};
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) check_rounds(members[i]);
    fm_rounds_destroy(NULL);
}

CASE(test_ended_without_work)
{
    for (int i = 0; i < 50; i++) {
        fm_rounds *rounds;
        assert_int_equal(fm_rounds_create(&rounds, 4, NULL), FM_OK);
        fm_rounds_destroy(rounds);
    }
}
