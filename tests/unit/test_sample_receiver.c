/* SPDX-License-Identifier: Apache-2.0 */
/* The receiver of samples: time distances of bursts against closed forms and a naive computation, and memory
 * that a hostile program has written to. */

#include "case.h"

#include "collect/sample/burst_log.h"
#include "model/sample_internal.h"
#include "sample/sampled_run_state.h"
#include "sample/sampled_thread.h"

#include <stdlib.h>
#include <string.h>

/* ---- bursts ---- */

static uint64_t total(const fm_burst_kind *kinds, size_t count)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++) sum += kinds[i].count;
    return sum;
}

/* m blocks, again and again: every use that is not near the end comes back after m. */
CASE(test_cyclic)
{
    enum { BLOCKS = 100, COUNT = 1000 };
    fm_burst_table *table;
    fm_burst_touch touches[COUNT];
    fm_burst_view view;
    assert_int_equal(fm_burst_table_create(&table, NULL), FM_OK);
    for (unsigned i = 0; i < COUNT; i++)
        touches[i] = (fm_burst_touch){.address = i % BLOCKS * 64 + 8, .size = 8, .tag = 1 + i % 2};
    assert_int_equal(fm_burst_view_make(table, touches, COUNT, 6, 10, touches[10].address, &view, NULL),
                     FM_OK);
    assert_int_equal(view.references, COUNT);
    assert_int_equal(view.uses, COUNT / 2);
    assert_int_equal(view.cut_count, 0);
    assert_int_equal(view.found_count, 2); /* of either tag */
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(view.kinds[i].time, BLOCKS);
        assert_int_equal(view.kinds[i].count, COUNT / 4);
        assert_int_equal(view.kinds[i].use, view.kinds[i].reuse);
    }
    assert_int_equal(view.picked, FM_BURST_NONE); /* it was used again */
    free(view.kinds);
    /* At 8 bytes the same; at 4096 bytes almost all are in one block. */
    assert_int_equal(fm_burst_view_make(table, touches, COUNT, 12, FM_BURST_NONE, 0, &view, NULL), FM_OK);
    uint64_t at_once = 0;
    for (size_t i = 0; i < view.found_count; i++)
        if (view.kinds[i].time == 1) at_once += view.kinds[i].count;
    assert_true(at_once > 480);
    free(view.kinds);
    fm_burst_table_destroy(table);
}

/* An access over a boundary is two references; one that nobody repeats is cut off, and can be picked. */
CASE(test_straddling_and_cut_off)
{
    fm_burst_table *table;
    fm_burst_view view;
    const fm_burst_touch touches[] = {{.address = 60, .size = 8, .tag = 1},
                                      {.address = 640, .size = 4, .tag = 2},
                                      {.address = 64, .size = 1, .tag = 3},
                                      {.address = 0, .size = 1, .tag = 4},
                                      {.address = 128, .size = 8, .tag = 5}};
    assert_int_equal(fm_burst_table_create(&table, NULL), FM_OK);
    assert_int_equal(fm_burst_view_make(table, touches, 5, 6, 1, 640, &view, NULL), FM_OK);
    assert_int_equal(view.references, 6);
    assert_int_equal(view.uses, 3); /* blocks 0 and 1 of the first access, block 10 */
    assert_int_equal(view.found_count, 2);
    for (size_t i = 0; i < 2; i++) {
        const fm_burst_kind *kind = &view.kinds[i];
        assert_int_equal(kind->use, 1);
        assert_int_equal(kind->time, kind->reuse == 3 ? 2 : 4);
    }
    assert_int_equal(view.cut_count, 1);
    assert_int_equal(view.kinds[2].use, 2);
    assert_int_equal(view.kinds[2].time, 3); /* larger than what was seen behind it */
    assert_int_equal(view.picked, 2);
    free(view.kinds);
    size_t unused;
    assert_int_equal(fm_burst_unused_words(table, touches, 5, 2, &unused, NULL), FM_OK);
    assert_int_equal(unused, 2); /* 56..63 and 640..647: nobody touches these words again */
    fm_burst_table_destroy(table);
}

/* Against the definition, for random accesses and all granularities. */
CASE(test_naive)
{
    enum { COUNT = 600 };
    fm_burst_table *table;
    static fm_burst_touch touches[COUNT];
    static uint64_t blocks[COUNT * 80];
    uint64_t random = 7;
    assert_int_equal(fm_burst_table_create(&table, NULL), FM_OK);
    for (unsigned shift = 0; shift < 13; shift++) {
        size_t count = 0;
        for (unsigned i = 0; i < COUNT; i++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            touches[i] = (fm_burst_touch){
                .address = (random >> 33) % 3000, .size = 1 + (uint32_t)(random >> 20) % 70, .tag = 1};
            const uint64_t last = (touches[i].address + touches[i].size - 1) >> shift;
            for (uint64_t block = touches[i].address >> shift; block <= last; block++)
                blocks[count++] = block;
        }
        uint64_t found = 0, cut = 0, sum = 0, seen = 0;
        for (size_t i = 0; i < count / 2; i++) {
            size_t next = i + 1;
            while (next < count && blocks[next] != blocks[i]) next++;
            found += next < count;
            cut += next == count;
            if (next < count && next - i < 1024) sum += next - i;
        }
        fm_burst_view view;
        assert_int_equal(fm_burst_view_make(table, touches, COUNT, shift, FM_BURST_NONE, 0, &view, NULL),
                         FM_OK);
        assert_int_equal(view.references, count);
        assert_int_equal(total(view.kinds, view.found_count), found);
        assert_int_equal(total(view.kinds + view.found_count, view.cut_count), cut);
        for (size_t i = 0; i < view.found_count; i++)
            if (view.kinds[i].time < 1024) seen += (uint64_t)view.kinds[i].time * view.kinds[i].count;
        assert_int_equal(seen, sum);
        free(view.kinds);
    }
    fm_burst_table_destroy(table);
}

/* A size that no access has must not keep us for ever. */
CASE(test_endless_access)
{
    fm_burst_table *table;
    fm_burst_view view;
    const fm_burst_touch touches[] = {{.address = 0, .size = 1, .tag = 1},
                                      {.address = 64, .size = UINT32_MAX, .tag = 1},
                                      {.address = UINT64_MAX - 3, .size = 64, .tag = 1}};
    assert_int_equal(fm_burst_table_create(&table, NULL), FM_OK);
    assert_int_equal(fm_burst_view_make(table, touches, 3, 0, FM_BURST_NONE, 0, &view, NULL), FM_OK);
    assert_int_equal(view.references, 1);
    free(view.kinds);
    assert_int_equal(fm_burst_view_make(table, touches + 2, 1, 3, FM_BURST_NONE, 0, &view, NULL), FM_OK);
    assert_int_equal(view.references, 1); /* up to the end of addresses */
    free(view.kinds);
    fm_burst_table_destroy(table);
}

/* ---- hostile memory ---- */

typedef struct receiver {
    fm_sample_memory memory;
    fm_sampled_code code;
    fm_sample_context context;
    fm_sample_code_of process;
    fm_sampled_memory_of memory_of;
    fm_sampled_objects objects;
} receiver;

static fm_status no_heap(void *run, fm_error *error)
{
    (void)run;
    (void)error;
    return FM_OK;
}

static receiver *make(void)
{
    receiver *self = calloc(1, sizeof *self);
    assert_non_null(self);
    assert_int_equal(fm_sample_memory_create(&self->memory, NULL), FM_OK);
    self->context = (fm_sample_context){.memory = &self->memory,
                                        .code = &self->code,
                                        .objects = &self->objects,
                                        .with_objects = true,
                                        .with_paths = true,
                                        .take_heap = no_heap,
                                        .shifts = {6, 3},
                                        .granularity_count = 2,
                                        .nanoseconds = 0.3};
    self->context.log = malloc(fm_sample_class_bytes(FM_SAMPLE_CLASSES - 1));
    self->context.touches = malloc((size_t)FM_BURST_ACCESSES_MOST * sizeof *self->context.touches);
    assert_non_null(self->context.log);
    assert_non_null(self->context.touches);
    assert_int_equal(fm_burst_table_create(&self->context.table, NULL), FM_OK);
    return self;
}

static void destroy(receiver *self)
{
    fm_burst_table_destroy(self->context.table);
    free(self->context.log);
    free(self->context.touches);
    fm_sampled_code_free(&self->code);
    fm_sampled_memory_free(&self->memory_of);
    fm_sampled_objects_free(&self->objects);
    fm_sample_memory_destroy(&self->memory);
    free(self);
}

CASE(test_lanes)
{
    receiver *self = make();
    fm_sample_lane *lane = fm_sample_memory_lane(&self->memory, 3);
    fm_sample_record record;
    uint32_t taken = 5;
    bool damaged;
    lane->written = 5;
    assert_false(fm_sample_lane_next(lane, &taken, &record, &damaged));
    assert_false(damaged);
    lane->cells[5].record.kind = FM_SAMPLE_RECORD_END;
    lane->written = 6;
    assert_true(fm_sample_lane_next(lane, &taken, &record, &damaged));
    assert_int_equal(record.kind, FM_SAMPLE_RECORD_END);
    lane->written = 6 + FM_SAMPLE_CELLS + 1; /* more than there is room for */
    assert_false(fm_sample_lane_next(lane, &taken, &record, &damaged));
    assert_true(damaged);
    assert_int_equal(taken, lane->written);
    lane->written = 2; /* back in time */
    assert_false(fm_sample_lane_next(lane, &taken, &record, &damaged));
    assert_true(damaged);
    destroy(self);
}

CASE(test_slabs)
{
    receiver *self = make();
    uint64_t words[4];
    uint32_t *owner = self->memory.session->slab_owner;
    assert_false(fm_sample_slab_copy(&self->memory, 7, 0, 0, words, 8)); /* nobody's */
    owner[0] = 8;
    assert_true(fm_sample_slab_copy(&self->memory, 7, 0, 0, words, sizeof words));
    assert_false(fm_sample_slab_copy(&self->memory, 6, 0, 0, words, 8)); /* another's */
    assert_false(fm_sample_slab_copy(&self->memory, 7, 0, fm_sample_class_bytes(0) - 8, words, 16));
    assert_false(fm_sample_slab_copy(&self->memory, 7, 0, SIZE_MAX - 4, words, 8));
    assert_false(fm_sample_slab_copy(&self->memory, 7, FM_SAMPLE_SLABS_IN_ALL, 0, words, 8));
    assert_false(fm_sample_slab_copy(&self->memory, 7, FM_SAMPLE_NOWHERE, 0, words, 8));
    fm_sample_slab_release(&self->memory, 6, 0);
    assert_int_equal(owner[0], 8);
    fm_sample_lane_release(&self->memory, 7);
    assert_int_equal(owner[0], 0);
    /* The slabs are apart from each other, inside the file, and 8 MiB in all. */
    uint64_t end = FM_SAMPLE_SLABS;
    for (uint32_t i = 0; i < FM_SAMPLE_SLABS_IN_ALL; i++) {
        assert_int_equal(fm_sample_slab_at(i).offset, end);
        end += fm_sample_slab_at(i).bytes;
    }
    assert_int_equal(end, fm_sample_heap_offset());
    assert_true(end + sizeof(fm_sample_heap) <= fm_sample_file_bytes());
    assert_true(end - FM_SAMPLE_SLABS <= UINT64_C(8) << 20);
    destroy(self);
}

/* One burst of one block with one access, as the runtime would tell it. */
CASE(test_a_burst)
{
    enum { EXECUTIONS = 100 };
    receiver *self = make();
    fm_sampled_thread *thread;
    fm_sample_lane *lane = fm_sample_memory_lane(&self->memory, 0);
    assert_int_equal(
        fm_sampled_thread_create(&thread, &self->context, 0, &self->process, &self->memory_of, 1, NULL),
        FM_OK);
    struct {
        burst_table head;
        uint64_t address;
        uint16_t bytes, words, accesses, instructions;
        burst_access access;
    } table = {.address = 0x401000, .bytes = 4, .words = 1, .accesses = 1, .instructions = 1};
    table.access = (burst_access){.size = 8, .base = 0, .index = BURST_NO_WORD};
    table.head.used = sizeof table;
    uint64_t *log = (uint64_t *)(void *)((char *)self->memory.session + fm_sample_slab_at(0).offset);
    for (uint64_t i = 0; i < EXECUTIONS; i++) {
        log[2 * i] = sizeof table.head / 8; /* the block's number */
        log[2 * i + 1] = i % 10 * 64;
    }
    memcpy(log + 2 * EXECUTIONS, &table, sizeof table);
    self->memory.session->slab_owner[0] = 1;
    lane->cells[0].record = (fm_sample_record){.kind = FM_SAMPLE_RECORD_BURST};
    lane->cells[0].record.is.burst.number = 1;
    lane->cells[0].record.is.burst.words = 2 * EXECUTIONS;
    lane->cells[0].record.is.burst.table_bytes = sizeof table;
    lane->cells[0].record.is.burst.picked = lane->cells[0].record.is.burst.picked_place = FM_SAMPLE_NOWHERE;
    lane->written = 1;
    assert_int_equal(fm_sampled_thread_drain(thread, &self->context, NULL), FM_OK);
    assert_int_equal(thread->burst_count, 1);
    assert_int_equal(thread->bursts[0]->accesses, EXECUTIONS);
    const fm_burst_view *view = &thread->bursts[0]->views[0];
    assert_int_equal(view->found_count, 1);
    assert_int_equal(view->kinds[0].time, 10);
    assert_int_equal(view->kinds[0].count, EXECUTIONS / 2);
    assert_int_equal(self->memory.session->slab_owner[0], 0); /* given back */
    fm_sampled_thread_destroy(thread, &self->context);
    destroy(self);
}

/* A thread with bursts at equal distances, all of words, and a use of each that is used again after a while.
 */
enum { ACCESSES = 4096, INTERVAL = 1000000, ARMED = INTERVAL / 4 };

static fm_sampled_thread *make_thread(receiver *self, uint32_t bursts)
{
    fm_sampled_thread *thread;
    assert_int_equal(
        fm_sampled_thread_create(&thread, &self->context, 0, &self->process, &self->memory_of, 1, NULL),
        FM_OK);
    thread->bursts = calloc(bursts, sizeof *thread->bursts);
    thread->watches = calloc(bursts, sizeof *thread->watches);
    thread->burst_count = thread->watch_count = bursts;
    thread->work = (uint64_t)bursts * INTERVAL;
    for (uint32_t i = 0; i < bursts; i++) {
        fm_seen_burst *burst = thread->bursts[i] =
            calloc(1, sizeof *burst + self->context.granularity_count * sizeof burst->views[0]);
        burst->number = i + 1;
        burst->work = (uint64_t)i * INTERVAL;
        burst->planned = INTERVAL;
        burst->accesses = ACCESSES;
        burst->inside = burst->armed = 1;
        burst->picked_of = burst->picked_unused = 1;
        burst->picked_armed = true;
        fm_burst_view *view = &burst->views[0];
        view->references = ACCESSES;
        view->uses = ACCESSES / 2;
        view->cut_count = 1;
        view->kinds = calloc(1, sizeof *view->kinds);
        view->kinds[0] = (fm_burst_kind){.use = 1, .time = ACCESSES / 2, .count = view->uses};
        thread->watches[i].is = (fm_sample_watched){.burst = i + 1,
                                                    .begin = (uint64_t)i * INTERVAL,
                                                    .finish = (uint64_t)i * INTERVAL + ARMED,
                                                    .end = FM_SAMPLE_WATCH_USED};
    }
    return thread;
}

static fm_samples *observe(receiver *self, fm_sampled_thread *thread)
{
    fm_samples *samples;
    assert_int_equal(fm_sampled_samples_create(&samples, 8, false, NULL), FM_OK);
    assert_int_equal(fm_sampled_thread_observe(thread, &self->context, 0, 1, samples, NULL), FM_OK);
    assert_int_equal(samples->watch_count, thread->burst_count);
    return samples;
}

static void assert_near(double found, double expected, double share)
{
    if (!(found >= (1 - share) * expected && found <= (1 + share) * expected))
        fail_msg("%f instead of %f", found, expected);
}

/*
 * A loop over words, an access a nanosecond, and one that copies vectors of four words, an access in two:
 * what lies between two uses is told in references, by what an access is there and not by what it is in the
 * mean.
 */
CASE(test_two_loops)
{
    enum { BURSTS = 4 };
    static const double rates[BURSTS] = {1, 1, 0.5, 0.5};
    static const uint32_t words[BURSTS] = {1, 1, 4, 4};
    receiver *self = make();
    fm_sampled_thread *thread = make_thread(self, BURSTS);
    for (uint32_t i = 0; i < BURSTS; i++) {
        fm_seen_burst *burst = thread->bursts[i];
        burst->calm = 100000;
        burst->calm_time = burst->calm / rates[i];
        fm_burst_view *view = &burst->views[0];
        view->references = ACCESSES * words[i];
        view->uses = view->references / 2;
        view->kinds[0].time = view->references / 2;
        view->kinds[0].count = view->uses;
    }
    fm_samples *samples = observe(self, thread);
    for (uint32_t i = 0; i < BURSTS; i++) {
        if (i == 1) continue; /* a loop ends and the other begins */
        const double expected = ACCESSES * words[i] + INTERVAL / 4 * rates[i] * words[i];
        assert_in_range(samples->watches[i].length, (uint64_t)(0.999 * expected),
                        (uint64_t)(1.001 * expected));
        assert_in_range((uint64_t)samples->bursts[i].weight, (uint64_t)(INTERVAL * rates[i] * words[i]) - 1,
                        (uint64_t)(INTERVAL * rates[i] * words[i]) + 1);
    }
    const double all = 2 * ACCESSES * (1 + 4) + INTERVAL * (1 + 1.5 + 2 + 2);
    assert_in_range(samples->references[0], (uint64_t)(0.999 * all), (uint64_t)(1.001 * all));
    fm_sampled_samples_destroy(samples);
    fm_sampled_thread_destroy(thread, &self->context);
    destroy(self);
}

/*
 * A program that makes two accesses a nanosecond, and one while a register is armed, which is a quarter of
 * the time: behind every burst. In the window there the slow rate is seen, and the other one ahead of some
 * bursts. Then the same with a kernel that takes half of the time, in which the clock does not tick.
 */
CASE(test_slower_while_watched)
{
    enum { BURSTS = 8, COUNTED = 50000, AHEAD = 100000, TICK = 10000 };
    receiver *self = make();
    for (int with_kernel = 0; with_kernel < 2; with_kernel++) {
        fm_sampled_thread *thread = make_thread(self, BURSTS);
        double known = 0, inside, slowed;
        for (uint32_t i = 0; i < BURSTS; i++) {
            fm_seen_burst *burst = thread->bursts[i];
            burst->counted = burst->calm = COUNTED;
            burst->calm_time = COUNTED;
            burst->watching = true;
            burst->heard = 10 + i * (INTERVAL / TICK / 2);
            if (i % 2 == 0) {
                burst->ahead = burst->ahead_calm = AHEAD;
                burst->ahead_time = AHEAD / 2;
            }
            known += ACCESSES + COUNTED + burst->ahead;
        }
        thread->tick = with_kernel ? TICK : TICK * 2;
        thread->heard = 10 + BURSTS * (INTERVAL / TICK / 2);
        thread->heard_work = thread->work;
        const double share = with_kernel ? 0.5 : 1;
        fm_samples *samples = observe(self, thread);
        for (uint32_t i = 0; i < BURSTS; i++) {
            assert_near((double)samples->watches[i].length, ACCESSES + COUNTED + share * ARMED, 0.001);
            assert_near(samples->bursts[i].weight, share * (ARMED + 2 * (INTERVAL - ARMED)), 0.001);
        }
        assert_near((double)samples->references[0], known + BURSTS * share * (ARMED + 2 * (INTERVAL - ARMED)),
                    0.001);
        assert_int_equal(fm_sampled_thread_effects(thread, &inside, &slowed, NULL), FM_OK);
        assert_near(inside, known / 2, 0.001);
        assert_near(slowed, BURSTS * ARMED / 2.0, 0.001);
        fm_sampled_samples_destroy(samples);
        fm_sampled_thread_destroy(thread, &self->context);
    }
    destroy(self);
}

/*
 * Two loops take turns many times between two bursts, one at three accesses a nanosecond and one at one;
 * which of them a window sees is chance, and what a watch lasts is many turns: at two. Where they take turns
 * every 32 bursts, it is the rate of the loop.
 */
CASE(test_turns)
{
    enum { BURSTS = 128, PHASE = 32 };
    receiver *self = make();
    for (int slowly = 0; slowly < 2; slowly++) {
        fm_sampled_thread *thread = make_thread(self, BURSTS);
        uint64_t random = 7;
        double rates[BURSTS];
        for (uint32_t i = 0; i < BURSTS; i++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            rates[i] = (slowly ? i / PHASE % 2 : random >> 63) ? 3 : 1;
            thread->bursts[i]->calm = 60000;
            thread->bursts[i]->calm_time = 60000 / rates[i];
        }
        fm_samples *samples = observe(self, thread);
        for (uint32_t i = 0; i < BURSTS; i++) {
            if (slowly && i % PHASE == PHASE - 1) continue; /* one ends and the other begins */
            assert_near((double)samples->watches[i].length, ACCESSES + ARMED * (slowly ? rates[i] : 2),
                        slowly ? 0.001 : 0.25);
        }
        fm_sampled_samples_destroy(samples);
        fm_sampled_thread_destroy(thread, &self->context);
    }
    destroy(self);
}

/* Whatever is written there: it ends, stays inside (the sanitizers look), and gives nothing that is not
 * there. */
CASE(test_garbage)
{
    receiver *self = make();
    uint64_t random = 99;
    for (int round = 0; round < 300; round++) {
        fm_sampled_thread *thread;
        fm_sample_lane *lane = fm_sample_memory_lane(&self->memory, 0);
        fm_sample_lane_release(&self->memory, 0);
        assert_int_equal(
            fm_sampled_thread_create(&thread, &self->context, 0, &self->process, &self->memory_of, 1, NULL),
            FM_OK);
        for (uint64_t *at = (uint64_t *)lane; at < (uint64_t *)(lane + 1); at++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            *at = round % 3 ? random >> (random >> 58) : random;
        }
        for (uint32_t i = 0; i < FM_SAMPLE_CELLS && round % 4; i++) {
            lane->cells[i].record.kind = 1 + (uint32_t)(random >> (i + 8)) % 4;
            lane->cells[i].record.slab = i % FM_SAMPLE_SLABS_IN_ALL;
            lane->cells[i].record.is.burst.number = i + 1;
            lane->cells[i].record.is.burst.work = i;
            lane->cells[i].record.is.burst.words %= 2000;
            if (i % 2) lane->cells[i].record.is.burst.table_from = thread->told;
        }
        for (uint32_t i = 0; i < FM_SAMPLE_SLABS_IN_ALL; i++) {
            uint64_t *slab = (uint64_t *)(void *)((char *)self->memory.session + fm_sample_slab_at(i).offset);
            self->memory.session->slab_owner[i] = 1;
            for (int k = 0; k < 4000; k++) {
                random = random * 6364136223846793005u + 1442695040888963407u;
                slab[k] = random >> (k % 3 ? 55 : 3);
            }
        }
        thread->taken = 0;
        lane->written = (uint32_t)(random >> 40) % (FM_SAMPLE_CELLS + 5);
        assert_int_equal(fm_sampled_thread_drain(thread, &self->context, NULL), FM_OK);
        assert_int_equal(fm_sampled_thread_finish(thread, &self->context, 1000, NULL), FM_OK);
        for (size_t i = 0; i < thread->burst_count; i++) {
            const fm_burst_view *view = &thread->bursts[i]->views[0];
            assert_int_equal(total(view->kinds, (size_t)view->found_count + view->cut_count), view->uses);
        }
        fm_sampled_thread_destroy(thread, &self->context);
    }
    destroy(self);
}
