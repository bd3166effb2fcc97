/* SPDX-License-Identifier: Apache-2.0 */
/* test_pmu_record.c - rings of perf events, written by hand: every place where a record can go round the end,
 * records that are lost or impossible, and bytes at random. Judge: what was written. */
#include "case.h"

#include "collect/sample/pmu_record.h"

#include <stdlib.h>
#include <string.h>

enum { SIZE = 256 };
#define TYPE                                                                                                 \
    (PERF_SAMPLE_IP | PERF_SAMPLE_ADDR | PERF_SAMPLE_PERIOD | PERF_SAMPLE_WEIGHT | PERF_SAMPLE_DATA_SRC)

typedef struct ring {
    uint8_t *bytes;
    uint64_t head, tail;
} ring;

static ring ring_at(uint64_t position)
{
    return (ring){calloc(1, SIZE), position, position};
}

static void put(ring *into, uint64_t word)
{
    memcpy(into->bytes + into->head % SIZE, &word, sizeof word);
    into->head += 8;
}

static uint64_t header(uint32_t type, uint16_t misc, uint16_t bytes)
{
    const struct perf_event_header made = {type, misc, bytes};
    uint64_t word;
    memcpy(&word, &made, sizeof word);
    return word;
}

static void put_sample(ring *into, uint64_t number, bool user)
{
    put(into, header(PERF_RECORD_SAMPLE, user ? PERF_RECORD_MISC_USER : PERF_RECORD_MISC_KERNEL, 48));
    for (uint64_t i = 1; i <= 5; i++) put(into, 1000 * number + i);
}

static fm_pmu_record_kind next(ring *from, fm_pmu_record *record)
{
    return fm_pmu_record_next(from->bytes, SIZE, from->head, &from->tail, TYPE, record);
}

static void expect_sample(ring *from, uint64_t number, bool user)
{
    fm_pmu_record record;
    assert_int_equal(next(from, &record), FM_PMU_RECORD_SAMPLE);
    assert_int_equal(record.user, user);
    assert_int_equal(record.ip, 1000 * number + 1);
    assert_int_equal(record.address, 1000 * number + 2);
    assert_int_equal(record.period, 1000 * number + 3);
    assert_int_equal(record.weight, 1000 * number + 4);
    assert_int_equal(record.source, 1000 * number + 5);
}

/* From each place of the ring on, so that each word is once the last before its end. */
CASE(samples_go_round_the_end)
{
    for (uint64_t from = 0; from < 2 * SIZE; from += 8) {
        ring made = ring_at(UINT64_MAX - SIZE - 7 + from); /* the count itself goes round, too */
        fm_pmu_record record;
        for (uint64_t n = 1; n <= 5; n++) put_sample(&made, n, n != 3); /* 240 of 256 bytes */
        for (uint64_t n = 1; n <= 5; n++) expect_sample(&made, n, n != 3);
        assert_int_equal(next(&made, &record), FM_PMU_RECORD_NONE);
        free(made.bytes);
    }
}

CASE(other_records)
{
    ring made = ring_at(240);
    fm_pmu_record record;
    put(&made, header(PERF_RECORD_LOST, 0, 24));
    put(&made, 1);
    put(&made, 77);
    put(&made, header(PERF_RECORD_LOST_SAMPLES, 0, 16));
    put(&made, 5);
    put(&made, header(PERF_RECORD_THROTTLE, 0, 32));
    for (int i = 0; i < 3; i++) put(&made, 9);
    put(&made, header(PERF_RECORD_UNTHROTTLE, 0, 32));
    for (int i = 0; i < 3; i++) put(&made, 9);
    put_sample(&made, 1, true);
    assert_int_equal(next(&made, &record), FM_PMU_RECORD_LOST);
    assert_int_equal(record.lost, 77);
    assert_int_equal(next(&made, &record), FM_PMU_RECORD_LOST);
    assert_int_equal(record.lost, 5);
    assert_int_equal(next(&made, &record), FM_PMU_RECORD_THROTTLE);
    assert_int_equal(next(&made, &record), FM_PMU_RECORD_OTHER);
    expect_sample(&made, 1, true);
    assert_int_equal(next(&made, &record), FM_PMU_RECORD_NONE);
    free(made.bytes);
}

/* A size that cannot be: all is skipped, and what comes later is read. */
CASE(impossible_sizes)
{
    static const uint16_t sizes[] = {0, 4, 7, 12, 47, 64, 256, 264, 65528, 65535};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        ring made = ring_at(0);
        fm_pmu_record record;
        put(&made, header(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, sizes[i]));
        for (int k = 0; k < 5; k++) put(&made, 3);
        assert_int_equal(next(&made, &record), FM_PMU_RECORD_DAMAGED);
        assert_int_equal(made.tail, made.head);
        put_sample(&made, 2, true);
        expect_sample(&made, 2, true);
        free(made.bytes);
    }
}

/* A sample of another shape than was asked for is not understood, but its end is known. */
CASE(samples_of_other_shapes)
{
    ring made = ring_at(0);
    fm_pmu_record record;
    put(&made, header(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, 16));
    put(&made, 1);
    put(&made, header(PERF_RECORD_LOST, 0, 16));
    put(&made, 1);
    put_sample(&made, 4, true);
    assert_int_equal(next(&made, &record), FM_PMU_RECORD_DAMAGED);
    assert_int_equal(next(&made, &record), FM_PMU_RECORD_DAMAGED);
    expect_sample(&made, 4, true);
    /* Types with more than words are none of ours. */
    put_sample(&made, 5, true);
    assert_int_equal(
        fm_pmu_record_next(made.bytes, SIZE, made.head, &made.tail, TYPE | PERF_SAMPLE_RAW, &record),
        FM_PMU_RECORD_DAMAGED);
    free(made.bytes);
}

CASE(positions_that_cannot_be)
{
    ring made = ring_at(0);
    fm_pmu_record record;
    made.head = SIZE + 8; /* more is waiting than there is room for */
    assert_int_equal(next(&made, &record), FM_PMU_RECORD_DAMAGED);
    assert_int_equal(made.tail, made.head);
    made.tail = made.head - 12;
    assert_int_equal(next(&made, &record), FM_PMU_RECORD_DAMAGED);
    assert_int_equal(made.tail, made.head);
    made.tail = 0;
    assert_int_equal(fm_pmu_record_next(made.bytes, 100, 64, &made.tail, TYPE, &record),
                     FM_PMU_RECORD_DAMAGED);
    free(made.bytes);
}

/* Whatever is there: it ends, and never looks behind the ring (which sanitizers watch). */
CASE(bytes_at_random)
{
    uint64_t random = 1;
    for (int round = 0; round < 20000; round++) {
        ring made = ring_at(0);
        fm_pmu_record record;
        for (uint64_t i = 0; i < SIZE / 8; i++) {
            random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
            uint64_t word = random;
            if (i % 3 == 0)
                word = header((uint32_t)(random >> 60), (uint16_t)(random >> 50),
                              (uint16_t)((random >> 33) % 72));
            memcpy(made.bytes + 8 * i, &word, sizeof word);
        }
        made.tail = random >> 30 & ~UINT64_C(7);
        made.head = made.tail + SIZE;
        int records = 0;
        uint64_t before = made.tail;
        while (next(&made, &record) != FM_PMU_RECORD_NONE) {
            assert_true(made.tail - before >= 8 && made.head - made.tail <= SIZE);
            before = made.tail;
            records++;
        }
        assert_true(records <= SIZE / 8);
        free(made.bytes);
    }
}

/* A page without a counter in use tells what the kernel stored; one that may not be read, nothing. */
CASE(counts)
{
    struct perf_event_mmap_page page;
    uint64_t count = 0;
    memset(&page, 0, sizeof page);
    page.offset = 12345;
    assert_false(fm_pmu_count(&page, &count));
    page.cap_user_rdpmc = 1;
    page.pmc_width = 48;
    assert_true(fm_pmu_count(&page, &count));
    assert_int_equal(count, 12345);
}
