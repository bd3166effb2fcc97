/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_exact_kernels.c - every instruction set's kernels against a bitmap counted bit by bit, and the
 * recency window across regions and restarts. (Whole engines are compared in tests/oracle.)
 */
#include "engine/exact_kernels.h"

#include <fathom/analyzer.h>
#include <fathom/profile.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
// cmocka needs the four headers above first
#include <cmocka.h>

static uint64_t random_state = 88172645463325252ULL;
static uint64_t random64(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    return random_state ^= random_state << 17;
}

static void test_collapse(void **state)
{
    (void)state;
    enum { MOST = 300 };
    const char *isa;
    for (size_t k = 0; (isa = fm_isa_at(k)); k++) {
        const fm_exact_kernels *kernels = fm_exact_kernels_find(isa);
        for (int round = 0; round < 2000; round++) {
            uint64_t keys[MOST], left[MOST + 8], expected[MOST];
            size_t count = random64() % MOST, kept = 0;
            uint64_t last = random64() % 3, before = last;
            for (size_t i = 0; i < count; i++) {
                keys[i] = random64() % 3;
                if (keys[i] != before) expected[kept++] = keys[i];
                before = keys[i];
            }
            assert_int_equal(kernels->collapse(keys, count, &last, left), kept);
            assert_int_equal(last, before);
            assert_memory_equal(left, expected, kept * sizeof *left);
        }
    }
}

static void test_loglinear(void **state)
{
    (void)state;
    const char *isa;
    for (size_t k = 0; (isa = fm_isa_at(k)); k++) {
        const fm_exact_kernels *kernels = fm_exact_kernels_find(isa);
        for (int bit = 0; bit < 32; bit++) {
            uint32_t distances[FM_CHUNK_ROOM], bins[FM_CHUNK_ROOM];
            for (size_t i = 0; i < FM_CHUNK; i++) {
                uint64_t around =
                    (UINT64_C(1) << bit) + (random64() % 7) - 3 + (random64() >> 1 >> (63 - bit));
                distances[i] = bins[i] = (uint32_t)around;
            }
            kernels->loglinear(bins, FM_CHUNK);
            for (size_t i = 0; i < FM_CHUNK; i++)
                assert_int_equal(bins[i], fm_bins_index(FM_BINS_LOGLINEAR, distances[i]));
        }
    }
}

/* The front against a list of 16 blocks that is searched and moved by hand. */
static void test_front(void **state)
{
    (void)state;
    static uint64_t keys[FM_PART];
    static fm_front front;
    const char *isa;
    size_t tried = 0;
    for (size_t k = 0; (isa = fm_isa_at(k)); k++) {
        const fm_exact_kernels *kernels = fm_exact_kernels_find(isa);
        if (!kernels->front) continue;
        for (int round = 0; round < 400; round++, tried++) {
            size_t count = random64() % (round % 4 ? 200 : FM_PART + 1), alphabet = 2 + random64() % 40;
            for (size_t i = 0; i < count; i++) /* neighbours differ, as after collapse */
                do keys[i] = random64() % alphabet - 3;
                while (i > 0 && keys[i] == keys[i - 1]);
            kernels->front(keys, count, &front);
            uint64_t stack[FM_FRONT + 1] = {0}, hits[FM_FRONT] = {0};
            size_t held = 0, missed = 0;
            for (size_t i = 0; i < count; i++) {
                size_t place = 0;
                while (place < held && stack[place] != keys[i]) place++;
                if (place < held) {
                    hits[place]++;
                } else {
                    assert_int_equal(front.key[missed], keys[i]);
                    if (held == FM_FRONT)
                        assert_int_equal(front.key[front.evicted[missed]], stack[FM_FRONT - 1]);
                    missed++;
                    held += held < FM_FRONT;
                }
                memmove(stack + 1, stack, (place < FM_FRONT ? place : FM_FRONT) * sizeof *stack);
                stack[0] = keys[i];
            }
            assert_int_equal(front.missed, missed);
            assert_memory_equal(front.hits, hits, sizeof hits);
            assert_int_equal(front.inside_count, held);
            for (size_t place = 0; place < held; place++)
                assert_int_equal(front.key[front.inside[place]], stack[place]);
        }
    }
    if (!tried) {
        print_message("SKIP: no instruction set of this machine has a front\n");
        skip();
    }
}

/* ---- the window: which positions are live, kept a second time as plain bytes ---- */

typedef struct shadow {
    unsigned char *live;
    uint64_t positions;
} shadow;

static uint32_t shadow_rank(const shadow *bytes, uint64_t position)
{
    uint32_t rank = 0;
    for (uint64_t i = 0; i <= position; i++) rank += bytes->live[i];
    return rank;
}

/* One chunk of references to random live blocks and new ones, as the lookup kernel would report it. */
static void chunk_of(fm_recency_window *window, shadow *bytes, fm_chunk *chunk,
                     const fm_exact_kernels *kernels, uint64_t *position_of, size_t *blocks,
                     uint32_t *expected_near, uint32_t *expected_far)
{
    fm_bucket *soon[FM_CHUNK];
    static fm_bucket nowhere;
    for (size_t i = 0; i < FM_CHUNK; i++) soon[i] = &nowhere;
    size_t run = fm_recency_window_run(window);
    chunk->count = 1 + random64() % (run < FM_CHUNK ? run : FM_CHUNK);
    chunk->near_count = chunk->far_count = 0;
    uint64_t base = fm_recency_window_open_base(window);
    uint32_t open_live = window->open_live, total = 0;
    for (uint64_t i = 0; i < bytes->positions; i++) total += bytes->live[i];
    for (size_t i = 0; i < chunk->count; i++) {
        uint64_t now = window->position + i;
        if (*blocks == 0 || random64() % 20 == 0) {
            position_of[(*blocks)++] = now;
            total++;
            open_live++;
        } else {
            size_t block =
                random64() % 4 ? *blocks - 1 - random64() % ((*blocks + 9) / 10) : random64() % *blocks;
            uint64_t old = position_of[block];
            uint32_t distance = total - shadow_rank(bytes, old);
            if (old >= base) {
                expected_near[chunk->near_count] = distance;
                chunk->near_distance[chunk->near_count] = open_live;
                chunk->near_position[chunk->near_count++] = (uint32_t)(old - base);
            } else {
                expected_far[chunk->far_count] = distance;
                chunk->far_distance[chunk->far_count] = open_live;
                chunk->far_position[chunk->far_count++] = old;
                open_live++;
            }
            bytes->live[old] = 0;
            position_of[block] = now;
        }
        bytes->live[now] = 1;
    }
    size_t near = chunk->near_count;
    kernels->near(window, chunk, soon);
    kernels->far(window, chunk, soon);
    window->open_live += (uint32_t)(chunk->count - near);
}

static void test_window_against_bytes(void **state)
{
    (void)state;
    enum { CHUNKS = 700, MOST_BLOCKS = CHUNKS * FM_CHUNK };
    const char *isa;
    for (size_t k = 0; (isa = fm_isa_at(k)); k++) {
        const fm_exact_kernels *kernels = fm_exact_kernels_find(isa);
        fm_recency_window window;
        assert_int_equal(fm_recency_window_create(&window, NULL), FM_OK);
        uint64_t positions = window.regions << FM_REGION_SHIFT;
        shadow bytes = {calloc(positions, 1), positions};
        uint64_t *position_of = calloc(MOST_BLOCKS, sizeof *position_of);
        assert_non_null(bytes.live);
        assert_non_null(position_of);
        bytes.positions = 0; /* only what was reached is summed */
        size_t blocks = 0;
        fm_chunk *chunk = aligned_alloc(64, (sizeof *chunk + 63) / 64 * 64);
        assert_non_null(chunk);
        for (int c = 0; c < CHUNKS; c++) {
            uint32_t near[FM_CHUNK], far[FM_CHUNK];
            bytes.positions = window.position;
            chunk_of(&window, &bytes, chunk, kernels, position_of, &blocks, near, far);
            assert_memory_equal(chunk->near_distance, near, chunk->near_count * sizeof *near);
            assert_memory_equal(chunk->far_distance, far, chunk->far_count * sizeof *far);
            assert_true(fm_recency_window_advance(&window, chunk->count));
            if (c % 200 != 199) continue;
            /* Restart: every live block moves to the place of its rank. */
            bytes.positions = window.position;
            for (size_t b = 0; b < blocks; b++) {
                uint32_t rank = fm_recency_window_rank(&window, position_of[b]);
                assert_int_equal(rank, shadow_rank(&bytes, position_of[b]));
                position_of[b] = fm_recency_window_packed_position(rank);
            }
            assert_int_equal(fm_recency_window_reserve(&window, blocks, NULL), FM_OK);
            fm_recency_window_restart(&window, blocks);
            memset(bytes.live, 0, positions);
            for (size_t b = 0; b < blocks; b++) bytes.live[position_of[b]] = 1;
        }
        assert_true(window.open > 0);
        free(chunk);
        free(position_of);
        free(bytes.live);
        fm_recency_window_clear(&window);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_collapse),
        cmocka_unit_test(test_loglinear),
        cmocka_unit_test(test_front),
        cmocka_unit_test(test_window_against_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
