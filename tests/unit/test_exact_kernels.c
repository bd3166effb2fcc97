/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_exact_kernels.c - every instruction set's kernels against a bitmap counted bit by bit, and the
 * recency window across regions and restarts. (Whole engines are compared in tests/oracle.)
 */
#include "case.h"
#include "random.h"

#include "engine/exact/exact_kernels.h"

#include <fathom/analyzer.h>
#include <fathom/profile.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
// cmocka needs the four headers above first
CASE(test_drop_repeats)
{
    enum { MOST = 300 };
    const char *isa;
    for (size_t k = 0; (isa = fm_isa_at(k)); k++) {
        const fm_exact_kernels *kernels = fm_exact_kernels_find(isa);
        for (int round = 0; round < 2000; round++) {
            uint64_t keys[MOST], left[MOST + 8], expected[MOST];
            size_t count = random_next() % MOST, kept = 0;
            uint64_t last = random_next() % 3, before = last;
            for (size_t i = 0; i < count; i++) {
                keys[i] = random_next() % 3;
                if (keys[i] != before) expected[kept++] = keys[i];
                before = keys[i];
            }
            assert_int_equal(kernels->drop_repeats(keys, count, &last, left), kept);
            assert_int_equal(last, before);
            assert_memory_equal(left, expected, kept * sizeof *left);
        }
    }
}

/* The same with tags, and what is to be counted of the repeats, by hand. */
CASE(test_drop_repeats_tagged)
{
    enum { MOST = 300 };
    static fm_kept_tags kept;
    const char *isa;
    for (size_t k = 0; (isa = fm_isa_at(k)); k++) {
        const fm_exact_kernels *kernels = fm_exact_kernels_find(isa);
        for (int round = 0; round < 2000; round++) {
            uint64_t keys[MOST], left[FM_CACHE_CHUNK_ROOM], key[MOST], pair[MOST];
            uint32_t tags[MOST], now[MOST], leave[MOST];
            uint16_t index[MOST];
            size_t count = random_next() % MOST, expected = 0, pairs = 0;
            for (size_t i = 0; i < count; i++) {
                keys[i] = random_next() % 3;
                tags[i] = (uint32_t)random_next() & FM_TAG_MAX;
                if (i > 0 && keys[i] == keys[i - 1]) {
                    pair[pairs++] = fm_pair_word(tags[i - 1], tags[i], 0);
                } else {
                    key[expected] = keys[i];
                    now[expected] = tags[i];
                    index[expected++] = (uint16_t)i;
                }
                leave[expected - 1] = tags[i];
            }
            memset(&kept, 0xAA, sizeof kept);
            kept.index_wanted = round % 2;
            assert_int_equal(kernels->drop_repeats_tagged(keys, tags, count, left, &kept), expected);
            assert_memory_equal(left, key, expected * sizeof *key);
            assert_memory_equal(kept.now, now, expected * sizeof *now);
            assert_memory_equal(kept.leave, leave, expected * sizeof *leave);
            if (kept.index_wanted) assert_memory_equal(kept.index, index, expected * sizeof *index);
            assert_int_equal(kept.pair_count, pairs);
            assert_memory_equal(kept.pair, pair, pairs * sizeof *pair);
        }
    }
}

/* Cutting with tags, against what is cut one by one. */
static void check_cut_tagged(const fm_exact_kernels *kernels, unsigned shift, const uint64_t *address,
                             const uint32_t *size, const uint32_t *tags, size_t count)
{
    static fm_tagged_cut cut;
    enum { ROOM = 2 * FM_TAGGED_CUT_MOST + 20 };
    static uint64_t blocks[ROOM];
    static uint32_t now[ROOM], leave[ROOM], reference[ROOM];
    uint64_t block = random_next() % 2 && count > 0 ? address[0] >> shift : random_next();
    uint32_t before = (uint32_t)random_next() & FM_TAG_MAX, all = 1U << 31;
    cut = (fm_tagged_cut){.blocks = blocks,
                          .now = now,
                          .leave = leave,
                          .reference = reference,
                          .count = 1,
                          .block = block,
                          .tag = before,
                          .all_tags = all};
    const size_t taken = kernels->cut_tagged(address, size, tags, count, shift, 1000, &cut);
    size_t kept = 1, pairs = 0, i = 0;
    for (; i < count; i++) {
        const uint64_t begin = address[i] >> shift,
                       end = size ? fm_last_block(address[i], size[i], shift) : begin;
        if (end - begin > 1) break; /* two blocks are cut, more are not */
        for (uint64_t here = begin; here - begin <= end - begin; here++) {
            if (here == block) {
                assert_int_equal(cut.pair[pairs++], fm_pair_word(before, tags[i], 0));
            } else {
                assert_int_equal(leave[kept - 1], before);
                assert_int_equal(blocks[kept], here);
                assert_int_equal(now[kept], tags[i]);
                assert_int_equal(reference[kept++], 1000 + i);
            }
            block = here;
            all |= before = tags[i];
        }
    }
    assert_int_equal(taken, i);
    assert_int_equal(cut.count, kept);
    assert_int_equal(cut.pair_count, pairs);
    assert_int_equal(cut.block, block);
    assert_int_equal(cut.tag, before);
    assert_int_equal(leave[kept - 1], before);
    assert_int_equal(cut.all_tags, all);
}

CASE(test_cut)
{
    enum { MOST = 200 };
    const char *isa;
    for (size_t k = 0; (isa = fm_isa_at(k)); k++) {
        const fm_exact_kernels *kernels = fm_exact_kernels_find(isa);
        for (int round = 0; round < 4000; round++) {
            uint64_t address[MOST], blocks[MOST + 16];
            uint32_t size[MOST], tags[MOST], copied[MOST], all = 0;
            const size_t count = random_next() % MOST;
            const unsigned shift = (unsigned)(random_next() % 64),
                           seldom = 1 + (unsigned)(random_next() % 300);
            const uint64_t granularity = UINT64_C(1) << shift;
            size_t within = count;
            for (size_t i = 0; i < count; i++) {
                uint64_t offset = random_next() & (granularity - 1), room = granularity - offset;
                address[i] = (random_next() & ~(granularity - 1)) | offset;
                if (room > UINT32_MAX) room = UINT32_MAX;
                size[i] = (uint32_t)(random_next() % (room + 1));
                if (random_next() % 4 == 0) size[i] = (uint32_t)room; /* to the very end */
                if (random_next() % seldom == 0) size[i] = (uint32_t)(random_next() >> (random_next() % 64));
                if (random_next() % seldom == 0 && room < UINT32_MAX)
                    size[i] = (uint32_t)room + 1; /* two blocks */
                if (within == count && offset + size[i] > granularity) within = i;
                tags[i] = (uint32_t)random_next();
                all |= tags[i];
            }
            assert_int_equal(kernels->cut(address, size, count, shift, blocks), within);
            for (size_t i = 0; i < within; i++) assert_int_equal(blocks[i], address[i] >> shift);
            assert_int_equal(kernels->cut(address, NULL, count, shift, blocks), count);
            for (size_t i = 0; i < count; i++) assert_int_equal(blocks[i], address[i] >> shift);
            /* Blocks that repeat the one before are left out. */
            const size_t runs = 1 + random_next() % 4;
            for (size_t i = 1; i < count; i++)
                if (random_next() % runs != 0) address[i] = address[i - 1], size[i] = size[i - 1];
            for (int sized = 0; sized < 2; sized++) {
                uint64_t latest = random_next() % 2 && count > 0 ? address[0] >> shift : random_next(),
                         seen = latest;
                size_t kept, wanted = 0, taken = 0;
                const size_t cut =
                    kernels->cut_distinct(address, sized ? size : NULL, count, shift, &latest, blocks, &kept);
                for (; taken < count; taken++) {
                    if (sized && (address[taken] & (granularity - 1)) + size[taken] > granularity) break;
                    const uint64_t block = address[taken] >> shift;
                    if (block == seen) continue;
                    assert_int_equal(blocks[wanted++], block);
                    seen = block;
                }
                assert_int_equal(cut, taken);
                assert_int_equal(kept, wanted);
                assert_int_equal(latest, seen);
            }
            for (size_t i = 0; i < count; i++) copied[i] = tags[i] & FM_TAG_MAX;
            check_cut_tagged(kernels, shift, address, NULL, copied, count);
            check_cut_tagged(kernels, shift, address, size, copied, count);
            assert_int_equal(kernels->copy_tags(tags, count, copied), all);
            assert_memory_equal(copied, tags, count * sizeof *tags);
            assert_int_equal(kernels->all_bits(tags, count), all);
            if (count == 0) continue;
            memset(copied, 0, count * sizeof *copied); /* none of them is passed over */
            const uint32_t bit = UINT32_C(1) << random_next() % 32;
            copied[random_next() % count] = bit;
            assert_int_equal(kernels->all_bits(copied, count), bit);
        }
    }
}

CASE(test_loglinear)
{
    const char *isa;
    for (size_t k = 0; (isa = fm_isa_at(k)); k++) {
        const fm_exact_kernels *kernels = fm_exact_kernels_find(isa);
        for (int bit = 0; bit < 32; bit++) {
            uint32_t distances[FM_LOOKUPS_ROOM], bins[FM_LOOKUPS_ROOM];
            for (size_t i = 0; i < FM_LOOKUPS; i++) {
                uint64_t around =
                    (UINT64_C(1) << bit) + (random_next() % 7) - 3 + (random_next() >> 1 >> (63 - bit));
                distances[i] = bins[i] = (uint32_t)around;
            }
            kernels->loglinear(bins, FM_LOOKUPS);
            for (size_t i = 0; i < FM_LOOKUPS; i++)
                assert_int_equal(bins[i], fm_bins_index(FM_BINS_LOGLINEAR, distances[i]));
        }
    }
}

CASE(test_list_late)
{
    enum { MOST = 300 };
    const char *isa;
    for (size_t k = 0; (isa = fm_isa_at(k)); k++) {
        const fm_exact_kernels *kernels = fm_exact_kernels_find(isa);
        for (int round = 0; round < 2000; round++) {
            uint32_t distances[MOST];
            uint16_t late[MOST + 16];
            const size_t count = random_next() % MOST;
            const uint32_t from =
                (uint32_t)(random_next() >> (32 + random_next() % 32)); /* with the highest bit, too */
            size_t found = 0;
            for (size_t i = 0; i < count; i++)
                distances[i] = random_next() % 3 ? (uint32_t)random_next()
                                                 : from - (uint32_t)(random_next() % 2); /* at the edge */
            const size_t listed = kernels->list_late(distances, count, from, late);
            for (size_t i = 0; i < count; i++)
                if (distances[i] >= from) assert_int_equal(late[found++], i);
            assert_int_equal(listed, found);
        }
    }
}

CASE(test_tally_indices)
{
    for (int round = 0; round < 500; round++) {
        uint32_t indices[FM_LOOKUPS];
        uint64_t expected[32] = {0};
        const size_t count = random_next() % (FM_LOOKUPS + 1), bins = 1 + random_next() % 32,
                     runs = 1 + random_next() % 20;
        fm_tally tally;
        assert_int_equal(fm_tally_create(&tally, FM_BINS_LOGLINEAR, NULL), FM_OK);
        for (size_t i = 0; i < count; i++) {
            indices[i] = i > 0 && random_next() % runs ? indices[i - 1] : (uint32_t)(random_next() % bins);
            expected[indices[i]]++;
        }
        fm_tally_add_indices(&tally, indices, count);
        assert_int_equal(tally.total, count);
        for (size_t i = 0; i < 32; i++) assert_int_equal(tally.counts[i], expected[i]);
        fm_tally_clear(&tally);
    }
}

/* ---- a part by itself ---- */

static uint64_t part_keys[FM_CACHE_CHUNK_MOST];
static fm_cache_chunk part;
static fm_kept_tags part_kept;

/* Against a list that is searched by hand: the one before, and the distinct blocks since. */
static void check_part(const fm_exact_kernels *kernels, size_t count, const fm_recency_window *window)
{
    uint8_t close_range[FM_CLOSE];
    for (size_t d = 0; d < FM_CLOSE; d++) close_range[d] = (uint8_t)(d * 3 + 1);
    part_kept.pair_count = random_next() % 2; /* what repeats left there stays */
    size_t pairs = part_kept.pair_count;
    assert_true(kernels->chunk_link(part_keys, count, &part));
    kernels->chunk_sort(count, &part);
    kernels->chunk_close(count, &part);
    kernels->chunk_apart(count, &part);
    kernels->chunk_pairs(count, part_kept.now, part_kept.leave, close_range, &part, &part_kept);
    kernels->chunk_first(part_keys, count, window->position, part_kept.now, part_kept.leave, &part);
    for (size_t i = 0; i < FM_CACHE_CHUNK_SLOTS; i++) assert_int_equal(part.entry[i], 0);
    uint64_t close_count[FM_CLOSE] = {0};
    size_t firsts = 0, aparts = 0;
    for (size_t i = 0; i < count; i++) {
        size_t before = i;
        while (before > 0 && part_keys[before - 1] != part_keys[i]) before--; /* 1 + the one before */
        assert_int_equal(part.before[i], before);
        assert_int_equal(part.first_bits[i / 64] >> (i % 64) & 1, before == 0);
        if (before == 0) {
            size_t last = i;
            for (size_t k = i; k < count; k++)
                if (part_keys[k] == part_keys[i]) last = k;
            assert_int_equal(part.first[firsts], i);
            assert_int_equal(part.last[firsts], last);
            assert_int_equal(part.key[firsts], part_keys[i]);
            assert_int_equal(part.now[firsts], part_kept.now[i]);
            firsts++;
            continue;
        }
        uint32_t distance = 0;
        for (size_t k = before; k < i; k++) /* blocks whose first reference since then this is */
            distance += part.before[k] < before;
        if (i + 1 - before > FM_CLOSE) {
            assert_int_equal(part.apart[aparts], i);
            assert_int_equal(part.apart_distance[aparts++], distance);
            assert_true(fm_chunk_lag(&part)[i] > FM_CLOSE);
        } else {
            assert_int_equal(fm_chunk_lag(&part)[i], i + 1 - before);
            assert_int_equal(part.distance[i], distance);
            close_count[distance]++;
            assert_int_equal(part_kept.pair[pairs++], fm_pair_word(part_kept.leave[before - 1],
                                                                   part_kept.now[i], close_range[distance]));
        }
    }
    assert_int_equal(part.first_count, firsts);
    assert_int_equal(part.apart_count, aparts);
    assert_int_equal(part_kept.pair_count, pairs);
    assert_memory_equal(part.close_count, close_count, sizeof close_count);
    /* Positions follow each other in the order of last references. */
    for (size_t f = 0; f < firsts; f++) {
        uint64_t position = window->position, earlier = 0;
        for (size_t g = 0; g < firsts; g++) earlier += part.last[g] < part.last[f];
        for (; earlier > 0; earlier--)
            if ((++position & ((1U << FM_LINE_SHIFT) - 1)) == FM_LINE_BITS)
                position = ((position >> FM_LINE_SHIFT) + 1) << FM_LINE_SHIFT;
        assert_int_equal(part.position[f] & FM_POSITION_BITS, position);
        assert_int_equal(part.position[f] >> FM_TAG_SHIFT, part_kept.leave[part.last[f]]);
    }
}

CASE(test_part)
{
    const char *isa;
    for (size_t k = 0; (isa = fm_isa_at(k)); k++) {
        const fm_exact_kernels *kernels = fm_exact_kernels_find(isa);
        for (int round = 0; round < 300; round++) {
            fm_recency_window window = {.position = (1 + random_next() % 99) << FM_LINE_SHIFT};
            window.position += random_next() % FM_LINE_BITS;
            size_t count = random_next() % (round % 30 ? 400 : FM_CACHE_CHUNK_MOST + 1);
            if (round == 0) count = FM_CACHE_CHUNK_MOST;
            uint64_t alphabet = 1 + random_next() % (round % 3 ? 100 : 1000), stride = random_next() | 1;
            for (size_t m = 0; m < 3; m++) part.multiplier[m] = (uint32_t)random_next() | 1;
            if (round % 7 == 0) part.multiplier[2] = 1; /* blocks meet in few slots */
            if (round % 7 == 0) stride = UINT64_C(3) << FM_CACHE_CHUNK_SLOT_BITS;
            if (round % 7 == 1) stride = 1; /* or, of one stretch of memory, in none */
            for (size_t i = 0; i < count; i++) {
                part_keys[i] =
                    (random_next() % 2 ? random_next() % alphabet : i * alphabet / (count + 1)) * stride;
                part_kept.now[i] = (uint32_t)random_next() & FM_TAG_MAX;
                part_kept.leave[i] = (uint32_t)random_next() & FM_TAG_MAX;
            }
            check_part(kernels, count, &window);
        }
        /* Nobody can make it slow: where all blocks meet in one slot, it gives up. */
        for (size_t m = 0; m < 3; m++) part.multiplier[m] = 0;
        for (size_t i = 0; i < FM_CACHE_CHUNK_MOST; i++)
            part_keys[i] = (uint64_t)i << FM_CACHE_CHUNK_SLOT_BITS;
        assert_false(kernels->chunk_link(part_keys, FM_CACHE_CHUNK_MOST, &part));
        for (size_t i = 0; i < FM_CACHE_CHUNK_SLOTS; i++) assert_int_equal(part.entry[i], 0);
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
static void chunk_of(fm_recency_window *window, shadow *bytes, fm_lookups *chunk,
                     const fm_exact_kernels *kernels, uint64_t *position_of, size_t *blocks,
                     uint32_t *expected_near, uint32_t *expected_far)
{
    fm_bucket *soon[FM_LOOKUPS];
    static fm_bucket nowhere;
    for (size_t i = 0; i < FM_LOOKUPS; i++) soon[i] = &nowhere;
    size_t run = fm_recency_window_run(window);
    chunk->count = 1 + random_next() % (run < FM_LOOKUPS ? run : FM_LOOKUPS);
    chunk->near_count = chunk->far_count = 0;
    uint64_t base = fm_recency_window_open_base(window);
    uint32_t open_live = window->open_live, total = 0;
    for (uint64_t i = 0; i < bytes->positions; i++) total += bytes->live[i];
    for (size_t i = 0; i < chunk->count; i++) {
        uint64_t now = window->position + i;
        if (*blocks == 0 || random_next() % 20 == 0) {
            position_of[(*blocks)++] = now;
            total++;
            open_live++;
        } else {
            size_t block = random_next() % 4 ? *blocks - 1 - random_next() % ((*blocks + 9) / 10)
                                             : random_next() % *blocks;
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

CASE(test_window_against_bytes)
{
    enum { CHUNKS = 700, MOST_BLOCKS = CHUNKS * FM_LOOKUPS };
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
        fm_lookups *chunk = aligned_alloc(64, (sizeof *chunk + 63) / 64 * 64);
        assert_non_null(chunk);
        for (int c = 0; c < CHUNKS; c++) {
            uint32_t near[FM_LOOKUPS], far[FM_LOOKUPS];
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
