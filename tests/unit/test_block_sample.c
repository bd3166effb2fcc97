/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_block_sample.c - what the samples of `shards` are made of: which references every instruction set
 * chooses, against the definition; the order of last touches, against a list. (Whole samples are compared in
 * tests/oracle.)
 */
#include "case.h"
#include "random.h"

#include "engine/exact/exact_kernels.h"
#include "engine/sampled/sampled.h"

#include <fathom/analyzer.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
// cmocka needs the four headers above first
CASE(test_choice)
{
    enum { MOST = 300 };
    static const double rates[] = {1e-10, 0.001, 0.01, 0.3, 0.999, 1};
    const char *isa;
    for (size_t k = 0; (isa = fm_isa_at(k)); k++) {
        const fm_exact_kernels *kernels = fm_exact_kernels_find(isa);
        for (unsigned round = 0; round < 3000; round++) {
            uint64_t blocks[MOST], common[MOST];
            uint16_t chosen[MOST + 16], expected[MOST];
            const size_t count = random_next() % MOST;
            size_t wanted = 0;
            fm_block_sample sample;
            assert_int_equal(fm_block_sample_create(&sample, rates[round % 6], 0, round, NULL), FM_OK);
            for (size_t i = 0; i < count; i++) {
                blocks[i] = random_next() >> (random_next() % 64);
                if (fm_block_sample_hash(&sample, fm_block_sample_common(blocks[i])) < sample.threshold)
                    expected[wanted++] = (uint16_t)i;
            }
            kernels->sample_common(blocks, count, common);
            for (size_t i = 0; i < count; i++) assert_int_equal(common[i], fm_block_sample_common(blocks[i]));
            assert_int_equal(kernels->sample_choose(common, count, sample.multiplier,
                                                    fm_block_sample_limit(&sample), chosen),
                             wanted);
            assert_memory_equal(chosen, expected, wanted * sizeof *chosen);
            fm_block_sample_clear(&sample);
        }
    }
}

/* Every block is in as many samples as others: 0, with which keys often begin, was once in all of them. */
CASE(test_no_favourites)
{
    static const uint64_t blocks[] = {0, 1, 2, 4096, UINT64_C(1) << 32, UINT64_MAX - 1, UINT64_MAX};
    enum { SAMPLES = 4000, BLOCKS = sizeof blocks / sizeof *blocks };
    unsigned chosen[BLOCKS] = {0};
    for (uint64_t seed = 0; seed < SAMPLES; seed++) {
        fm_block_sample sample;
        assert_int_equal(fm_block_sample_create(&sample, 0.25, 0, seed, NULL), FM_OK);
        for (size_t i = 0; i < BLOCKS; i++)
            chosen[i] += fm_block_sample_hash(&sample, fm_block_sample_common(blocks[i])) < sample.threshold;
        fm_block_sample_clear(&sample);
    }
    for (size_t i = 0; i < BLOCKS; i++)
        assert_true(chosen[i] > SAMPLES / 4 - 5 * 28 && chosen[i] < SAMPLES / 4 + 5 * 28); /* 5 sigma */
}

/* The list has the positions of all live blocks, oldest first; they rise. */
CASE(test_order)
{
    enum { MOST = 200 };
    for (unsigned round = 0; round < 50; round++) {
        fm_recency_bits bits = {0};
        uint32_t list[MOST], count = 0, size = 64 * (uint32_t)(1 + random_next() % 20);
        const uint32_t most = 1 + (uint32_t)(random_next() % (size < MOST ? size - 1 : MOST - 1));
        assert_true(fm_recency_bits_grow(&bits, size));
        fm_recency_bits_restart(&bits, 0);
        for (unsigned touch = 0; touch < 5000; touch++) {
            const bool grow = touch % 1000 == 999;
            if (grow || bits.next == bits.size) {
                fm_recency_bits_start_ranks(&bits);
                for (uint32_t i = 0; i < count; i++) {
                    assert_int_equal(fm_recency_bits_rank(&bits, list[i]), i);
                    list[i] = i;
                }
                if (grow) assert_true(fm_recency_bits_grow(&bits, size += 64));
                fm_recency_bits_restart(&bits, count);
            }
            if (count > 0 && (count == most || random_next() % 3 > 0)) {
                const uint32_t which = (uint32_t)(random_next() % count);
                assert_int_equal(fm_recency_bits_remove(&bits, list[which]), count - 1 - which);
                count--;
                memmove(list + which, list + which + 1, (count - which) * sizeof *list);
                if (random_next() % 5 == 0) continue; /* a block that leaves the sample */
            }
            list[count++] = fm_recency_bits_give(&bits);
            assert_int_equal(bits.live, count);
        }
        fm_recency_bits_clear(&bits);
    }
}
