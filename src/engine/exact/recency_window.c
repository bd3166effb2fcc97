/* SPDX-License-Identifier: Apache-2.0 */
/* recency_window.c - laying out the window, opening regions, ranks one at a time. See exact_kernels.h. */
#include "engine/exact/exact_kernels.h"

#include "base/error.h"
#include "base/memory.h"

#include <string.h>

enum {
    LEAST_REGIONS = 64,     /* 1 Mi positions: 128 KiB of bits */
    POSITIONS_A_BLOCK = 16, /* 2.3 bytes a block; a restart every 15 references per live block */
};

#define FIELDS_AFTER_0 UINT64_C(0x40201008040200)
const uint64_t fm_line_packed_step[FM_LINE_WORDS] = {
    FIELDS_AFTER_0,
    FIELDS_AFTER_0 & ~UINT64_C(0) << 18,
    FIELDS_AFTER_0 & ~UINT64_C(0) << 27,
    FIELDS_AFTER_0 & ~UINT64_C(0) << 36,
    FIELDS_AFTER_0 & ~UINT64_C(0) << 45,
    FIELDS_AFTER_0 & ~UINT64_C(0) << 54,
    0,
    0,
};
/* The packed counts of a line whose bits are all set: 64·w in field w. */
#define PACKED_FULL                                                                                          \
    (UINT64_C(64) << 9 | UINT64_C(128) << 18 | UINT64_C(192) << 27 | UINT64_C(256) << 36 |                   \
     UINT64_C(320) << 45 | UINT64_C(384) << 54)

typedef struct shape {
    uint64_t regions;
    int levels;
    uint64_t bytes[FM_LEVELS_MAX + 1];
} shape;

/* The smallest window that the policy allows for that many live blocks. */
static shape shape_for(uint64_t live)
{
    shape result = {0};
    uint64_t regions = live * POSITIONS_A_BLOCK / FM_REGION_BITS + 2;
    if (regions < LEAST_REGIONS) regions = LEAST_REGIONS;
    result.levels = 1;
    uint64_t span = 1; /* regions under one child of the top */
    while (span * FM_TOP_CHILDREN < regions) {
        span *= FM_NODE_CHILDREN;
        result.levels++;
    }
    regions = (regions + span - 1) / span * span;
    result.regions = regions;
    result.bytes[0] = regions * FM_REGION_LINES * FM_LINE_WORDS * sizeof(uint64_t);
    result.bytes[1] = regions * FM_REGION_LINES * sizeof(uint16_t);
    uint64_t children = regions;
    for (int level = 2; level <= result.levels; level++) {
        result.bytes[level] = children * sizeof(uint32_t);
        children /= FM_NODE_CHILDREN;
    }
    return result;
}

static void **array_of(fm_recency_window *window, int level)
{
    if (level == 0) return (void **)&window->words;
    if (level == 1) return (void **)&window->lines;
    return (void **)&window->nodes[level];
}

uint64_t fm_recency_window_memory(const fm_recency_window *window)
{
    uint64_t sum = 0;
    for (int level = 0; level <= FM_LEVELS_MAX; level++) sum += window->capacity_bytes[level];
    return sum;
}

uint64_t fm_recency_window_memory_for(uint64_t live)
{
    shape wanted = shape_for(live);
    uint64_t sum = 0;
    for (int level = 0; level <= wanted.levels; level++) sum += wanted.bytes[level];
    return sum;
}

void fm_recency_window_clear(fm_recency_window *window)
{
    for (int level = 0; level <= FM_LEVELS_MAX; level++) {
        fm_pages_free(*array_of(window, level), window->capacity_bytes[level]);
        *array_of(window, level) = NULL;
        window->capacity_bytes[level] = 0;
    }
}

fm_status fm_recency_window_reserve(fm_recency_window *window, uint64_t live, fm_error *error)
{
    shape wanted = shape_for(live);
    for (int level = 0; level <= wanted.levels; level++) {
        uint64_t have = window->capacity_bytes[level], need = wanted.bytes[level];
        if (need <= have) continue;
        void **array = array_of(window, level);
        void *grown = have ? fm_pages_resize(*array, have, need) : fm_pages_allocate(need);
        if (!grown) return fm_fail_memory(error, need, "the recency window");
        *array = grown;
        window->capacity_bytes[level] = need;
    }
    return FM_OK;
}

fm_status fm_recency_window_create(fm_recency_window *window, fm_error *error)
{
    memset(window, 0, sizeof *window);
    fm_status status = fm_recency_window_reserve(window, 0, error);
    if (status != FM_OK) {
        fm_recency_window_clear(window);
        return status;
    }
    fm_recency_window_restart(window, 0);
    return FM_OK;
}

void fm_recency_region_fill(uint64_t *words, uint16_t *counters)
{
    for (int i = 0; i < FM_REGION_LINES; i++, words += FM_LINE_WORDS) {
        for (int w = 0; w < FM_LINE_WORDS - 1; w++) words[w] = ~UINT64_C(0);
        words[FM_LINE_WORDS - 1] = PACKED_FULL;
        counters[i] = (uint16_t)(i * FM_LINE_BITS);
    }
}

static void fill_region(fm_recency_window *window, uint64_t region)
{
    fm_recency_region_fill(window->words + region * FM_REGION_LINES * FM_LINE_WORDS,
                           window->lines + region * FM_REGION_LINES);
}

/*
 * Sets the counters above level 1 for a region about to be opened, `before` bits being set in the region
 * before it. A node's first child counts 0; every other counts what the child before it did, plus what
 * is in that child.
 */
static void count_region(fm_recency_window *window, uint64_t region, uint32_t before)
{
    uint64_t child = region;
    for (int level = 2; level <= window->levels; level++) {
        uint32_t *counters = window->nodes[level];
        if (child % FM_NODE_CHILDREN != 0) {
            counters[child] = counters[child - 1] + before;
            return;
        }
        before += counters[child - 1];
        counters[child] = 0;
        child /= FM_NODE_CHILDREN;
    }
    window->top[child] = window->top[child - 1] + before;
}

/* Bits set in a whole region, from its last line. */
static uint32_t region_live(const fm_recency_window *window, uint64_t region)
{
    uint64_t line = region * FM_REGION_LINES + FM_REGION_LINES - 1;
    const uint64_t *words = window->words + line * FM_LINE_WORDS;
    return (uint32_t)window->lines[line] + (uint32_t)(words[7] >> 54) +
           (uint32_t)__builtin_popcountll(words[6]);
}

static void open_region(fm_recency_window *window, uint64_t region)
{
    FM_ASSERT(region < window->regions);
    if (region > 0) count_region(window, region, region_live(window, region - 1));
    fill_region(window, region);
    window->open = region;
    window->open_live = 0;
    window->position = region << FM_REGION_SHIFT;
}

bool fm_recency_window_advance(fm_recency_window *window, size_t count)
{
    FM_ASSERT(count <= fm_recency_window_run(window) && window->position >> FM_REGION_SHIFT == window->open);
    FM_ASSERT(window->open_live <= FM_REGION_BITS);
    window->position += count;
    if ((window->position & ((1U << FM_LINE_SHIFT) - 1)) < FM_LINE_BITS) return true;
    window->position = ((window->position >> FM_LINE_SHIFT) + 1) << FM_LINE_SHIFT;
    if (window->position >> FM_REGION_SHIFT == window->open) return true;
    if (window->open + 1 == window->regions) return false;
    window->closed_live += window->open_live;
    open_region(window, window->open + 1);
    return true;
}

/*
 * The live blocks take the first bits of the lines from line 1 on (position 0 stays unused: it marks a
 * free slot in the block table). The next region after them is opened.
 */
void fm_recency_window_restart(fm_recency_window *window, uint64_t live)
{
    fm_recency_window_restart_for(window, live, live);
}

void fm_recency_window_restart_for(fm_recency_window *window, uint64_t live, uint64_t blocks)
{
    shape wanted = shape_for(blocks);
    window->levels = wanted.levels;
    window->regions = wanted.regions;
    memset(window->top, 0, sizeof window->top);
    uint64_t left = live;
    uint64_t region = 0;
    do {
        if (region > 0) count_region(window, region, region_live(window, region - 1));
        fill_region(window, region);
        uint32_t in_region = 0;
        for (uint64_t line = 0; line < FM_REGION_LINES; line++) {
            uint64_t bits = left < FM_LINE_BITS ? left : FM_LINE_BITS;
            if (region == 0 && line == 0) bits = 0;
            uint64_t *words = window->words + (region * FM_REGION_LINES + line) * FM_LINE_WORDS;
            window->lines[region * FM_REGION_LINES + line] = (uint16_t)in_region;
            if (bits < FM_LINE_BITS) {
                uint64_t packed = 0, before = 0;
                for (unsigned w = 0; w < 7; w++) {
                    uint64_t from = 64 * w, in_word = bits > from ? (bits - from < 64 ? bits - from : 64) : 0;
                    words[w] = in_word == 64 ? ~UINT64_C(0) : (UINT64_C(1) << in_word) - 1;
                    packed |= before << (9 * w);
                    before += in_word;
                }
                words[7] = packed;
            }
            in_region += (uint32_t)bits;
            left -= bits;
        }
        region++;
    } while (left > 0);
    window->closed_live = (uint32_t)live;
    open_region(window, region);
    FM_ASSERT(live == 0 ||
              fm_recency_window_rank(window, fm_recency_window_packed_position(live)) == (uint32_t)live);
}

uint64_t fm_recency_line_select(const uint64_t *words, uint64_t rank)
{
    unsigned word = 0;
    while (word + 1 < FM_LINE_WORDS - 1 && ((words[FM_LINE_WORDS - 1] >> (9 * (word + 1))) & 511) < rank)
        word++;
    rank -= (words[FM_LINE_WORDS - 1] >> (9 * word)) & 511;
    uint64_t bits = words[word];
    while (--rank > 0) bits &= bits - 1;
    return 64 * word + (uint64_t)__builtin_ctzll(bits);
}

uint64_t fm_recency_window_select(const fm_recency_window *window, uint32_t rank)
{
    uint64_t low = 0, end = (window->position - 1) / (1 << FM_LINE_SHIFT) + 1;
    while (end - low > 1) { /* the last line that has fewer before it */
        const uint64_t middle = (low + end) / 2;
        if (fm_recency_window_before(window, middle) < rank)
            low = middle;
        else
            end = middle;
    }
    return (low << FM_LINE_SHIFT) + fm_recency_line_select(window->words + low * FM_LINE_WORDS,
                                                           rank - fm_recency_window_before(window, low));
}
