/* SPDX-License-Identifier: Apache-2.0 */
/* test_ring.c - the ring of base/crew.h: as a model of it says, and with a crew at work (by
 * pthread_create): what is cut in an order is taken in that order, each piece once. */
#include "base/crew.h"

#include "case.h"

enum { SLOTS_MOST = 7 };

/* A queue of numbers beside it, cut and claimed by hand. */
CASE(counters_keep_their_order)
{
    uint32_t random = 1;
    for (size_t slots = 1; slots <= SLOTS_MOST; slots++) {
        fm_ring ring = {.slots = slots};
        uint64_t held[SLOTS_MOST], cut = 0;
        size_t under_way = 0, claimed = 0;
        for (int step = 0; step < 20000; step++) {
            random = random * 1664525 + 1013904223;
            const unsigned what = random >> 28;
            if (what < 6) {
                const size_t pieces = what % (slots - under_way + 1);
                for (size_t i = 0; i < pieces; i++) held[under_way + i] = cut++;
                fm_ring_cut(&ring, pieces);
                under_way += pieces;
            } else if (what < 11 && claimed < under_way) {
                assert_int_equal(fm_ring_claim(&ring), held[claimed] % slots);
                claimed++;
            } else if (what >= 11 && claimed > 0) {
                assert_int_equal(ring.taken, held[0]);
                fm_ring_take(&ring);
                memmove(held, held + 1, --under_way * sizeof *held);
                claimed--;
            }
            assert_int_equal(fm_ring_under_way(&ring), under_way);
            assert_int_equal(fm_ring_is_full(&ring), under_way == slots);
            assert_int_equal(ring.cut, cut);
            assert_int_equal(ring.claimed - ring.taken, claimed);
        }
        assert_true(ring.taken > 1000);
    }
}

/* Counters are compared by their differences: slots of any number are found beyond 32 bits, too. */
CASE(numbers_are_wide)
{
    const uint64_t start = 5 * (UINT64_C(1) << 33);
    fm_ring ring = {.slots = 5, .cut = start, .claimed = start, .taken = start};
    fm_ring_cut(&ring, 5);
    assert_true(fm_ring_is_full(&ring));
    for (size_t i = 0; i < 5; i++) assert_int_equal(fm_ring_claim(&ring), i);
    for (size_t i = 0; i < 5; i++) fm_ring_take(&ring);
    assert_int_equal(fm_ring_under_way(&ring), 0);
}

/* ---- with a crew ---- */

enum { PIECES = 20000, SLOTS = 6, THREADS = 4 };

typedef struct squaring {
    fm_crew *crew;
    fm_ring ring;
    uint64_t number[SLOTS], square[SLOTS];
    bool done[SLOTS];
} squaring;

static bool squaring_claim(void *context, fm_crew_job *job)
{
    squaring *self = context;
    if (self->ring.claimed == self->ring.cut) return false;
    *job = (fm_crew_job){.task = fm_ring_claim(&self->ring)};
    return true;
}

static void squaring_run(void *context, fm_crew_job job, unsigned worker)
{
    squaring *self = context;
    (void)worker;
    self->square[job.task] = self->number[job.task] * self->number[job.task];
}

static void squaring_complete(void *context, fm_crew_job job)
{
    squaring *self = context;
    assert_false(self->done[job.task]);
    self->done[job.task] = true;
}

static bool oldest_is_done(void *context)
{
    const squaring *self = context;
    return self->done[fm_ring_slot(&self->ring, self->ring.taken)];
}

CASE(pieces_leave_in_their_order)
{
    static const fm_crew_work work = {
        .claim = squaring_claim, .run = squaring_run, .complete = squaring_complete};
    squaring self = {.ring.slots = SLOTS};
    assert_int_equal(fm_crew_create(&self.crew, THREADS, &work, &self, NULL), FM_OK);
    for (uint64_t cut = 0, taken = 0; taken < PIECES; taken++) {
        fm_crew_lock(self.crew);
        for (; cut < PIECES && !fm_ring_is_full(&self.ring); cut++) {
            self.number[fm_ring_slot(&self.ring, cut)] = cut;
            fm_ring_cut(&self.ring, 1);
        }
        fm_crew_call(self.crew);
        fm_crew_unlock(self.crew);
        fm_crew_help(self.crew, oldest_is_done);
        const size_t slot = fm_ring_slot(&self.ring, self.ring.taken);
        assert_int_equal(self.square[slot], taken * taken);
        fm_crew_lock(self.crew);
        self.done[slot] = false;
        fm_ring_take(&self.ring);
        fm_crew_unlock(self.crew);
    }
    fm_crew_destroy(self.crew);
}
