/* SPDX-License-Identifier: Apache-2.0 */
/* shared_window.c - the recency window of `exact` for several threads at once (parallel.h). */
#include "engine/parallel/parallel.h"

#include "base/error.h"
#include "base/memory.h"

#include <string.h>

enum {
    LEAST_REGIONS = 64,     /* as the window of one thread */
    POSITIONS_A_BLOCK = 16, /* likewise */
    PHASES = 4,             /* between two restarts at least */
};

enum { ARRAYS = 4 };

typedef struct array_of_window {
    void **array;
    size_t bytes; /* a region */
} array_of_window;

static void arrays_of(fm_shared_window *window, array_of_window arrays[ARRAYS])
{
    arrays[0] =
        (array_of_window){(void **)&window->words, FM_REGION_LINES * FM_LINE_WORDS * sizeof(uint64_t)};
    arrays[1] = (array_of_window){(void **)&window->lines, FM_REGION_LINES * sizeof(uint16_t)};
    arrays[2] = (array_of_window){(void **)&window->live, sizeof(uint32_t)};
    arrays[3] = (array_of_window){(void **)&window->before, sizeof(uint64_t)};
}

uint64_t fm_shared_window_memory(const fm_shared_window *window)
{
    array_of_window arrays[ARRAYS];
    uint64_t bytes = 0;
    arrays_of((fm_shared_window *)window, arrays);
    for (int i = 0; i < ARRAYS; i++) bytes += window->regions * arrays[i].bytes;
    return bytes;
}

void fm_shared_window_clear(fm_shared_window *window)
{
    array_of_window arrays[ARRAYS];
    arrays_of(window, arrays);
    for (int i = 0; i < ARRAYS; i++) {
        if (*arrays[i].array) fm_pages_free(*arrays[i].array, window->regions * arrays[i].bytes);
        *arrays[i].array = NULL;
    }
    window->regions = 0;
}

fm_status fm_shared_window_create(fm_shared_window *window, fm_error *error)
{
    array_of_window arrays[ARRAYS];
    memset(window, 0, sizeof *window);
    window->regions = LEAST_REGIONS;
    arrays_of(window, arrays);
    for (int i = 0; i < ARRAYS; i++) {
        *arrays[i].array = fm_pages_allocate(LEAST_REGIONS * arrays[i].bytes);
        if (!*arrays[i].array) {
            fm_shared_window_clear(window);
            return fm_fail_memory(error, LEAST_REGIONS * arrays[i].bytes, "the recency window");
        }
    }
    fm_shared_window_restart(window, 0);
    return FM_OK;
}

static uint64_t regions_for(const fm_shared_window *window, uint64_t live, uint64_t lines)
{
    const uint64_t regions = live * POSITIONS_A_BLOCK / FM_REGION_BITS + 2;
    const uint64_t least =
        fm_shared_window_regions(fm_shared_window_lines(live) + 1) + PHASES * fm_shared_window_regions(lines);
    const uint64_t wanted = regions < least ? least : regions;
    return wanted < window->regions ? window->regions : wanted;
}

uint64_t fm_shared_window_memory_for(const fm_shared_window *window, uint64_t live, uint64_t lines)
{
    fm_shared_window grown = *window;
    grown.regions = regions_for(window, live, lines);
    return fm_shared_window_memory(&grown);
}

/* The larger arrays of a window that could not grow as a whole go back to their size. */
fm_status fm_shared_window_reserve(fm_shared_window *window, uint64_t live, uint64_t lines, fm_error *error)
{
    array_of_window arrays[ARRAYS];
    const uint64_t regions = regions_for(window, live, lines);
    if (regions == window->regions) return FM_OK;
    arrays_of(window, arrays);
    for (int i = 0; i < ARRAYS; i++) {
        const size_t now = window->regions * arrays[i].bytes, wanted = regions * arrays[i].bytes;
        void *grown = fm_pages_resize(*arrays[i].array, now, wanted);
        if (!grown) {
            for (int j = 0; j < i; j++)
                *arrays[j].array = fm_pages_resize(*arrays[j].array, regions * arrays[j].bytes,
                                                   window->regions * arrays[j].bytes);
            return fm_fail_memory(error, wanted, "the recency window");
        }
        *arrays[i].array = grown;
    }
    window->regions = regions;
    return FM_OK;
}

/* Sets the first `bits` bits of a line, and its counts; no others. */
static void lay_line(uint64_t *words, uint64_t bits)
{
    uint64_t packed = 0, before = 0;
    for (unsigned w = 0; w < FM_LINE_WORDS - 1; w++) {
        const uint64_t left = bits - before, in_word = left < 64 ? left : 64;
        words[w] = in_word == 64 ? ~UINT64_C(0) : (UINT64_C(1) << in_word) - 1;
        packed |= before << (9 * w);
        before += in_word;
    }
    words[FM_LINE_WORDS - 1] = packed;
}

void fm_shared_window_begin(fm_shared_window *window)
{
    window->next = window->used * FM_REGION_LINES;
}

/* A line with that many bits at the end of what is in use. */
static void add_line(fm_shared_window *window, uint64_t bits)
{
    const uint64_t line = window->next++, region = line / FM_REGION_LINES;
    if (line % FM_REGION_LINES == 0) {
        window->live[region] = 0;
        window->used = region + 1;
    }
    lay_line(window->words + line * FM_LINE_WORDS, bits);
    window->lines[line] = (uint16_t)window->live[region];
    window->live[region] += (uint32_t)bits;
}

uint64_t fm_shared_window_add(fm_shared_window *window, uint64_t count)
{
    const uint64_t first = window->next << FM_LINE_SHIFT;
    for (; count > 0; count -= count < FM_LINE_BITS ? count : FM_LINE_BITS)
        add_line(window, count < FM_LINE_BITS ? count : FM_LINE_BITS);
    return first;
}

void fm_shared_window_end(fm_shared_window *window)
{
    while (window->next % FM_REGION_LINES != 0) add_line(window, 0);
}

void fm_shared_window_rank_regions(fm_shared_window *window)
{
    uint64_t live = 0;
    for (uint64_t region = 0; region < window->used; region++) {
        window->before[region] = live;
        live += window->live[region];
    }
}

uint64_t fm_shared_window_select(const fm_shared_window *window, uint64_t rank)
{
    uint64_t low = 0, end = window->used;
    while (end - low > 1) { /* the last region that has fewer before it */
        const uint64_t middle = (low + end) / 2;
        if (window->before[middle] < rank)
            low = middle;
        else
            end = middle;
    }
    rank -= window->before[low];
    uint64_t line = low * FM_REGION_LINES;
    end = line + FM_REGION_LINES;
    while (line + 1 < end && window->lines[line + 1] < rank) line++;
    return (line << FM_LINE_SHIFT) +
           fm_recency_line_select(window->words + line * FM_LINE_WORDS, rank - window->lines[line]);
}

void fm_shared_window_restart(fm_shared_window *window, uint64_t live)
{
    window->used = 0;
    fm_shared_window_begin(window);
    add_line(window, 0); /* it has position 0 */
    fm_shared_window_add(window, live);
    fm_shared_window_end(window);
}

/* ---- views ---- */

static int levels_of(uint64_t regions)
{
    int levels = 1;
    for (uint64_t span = 1; span * FM_TOP_CHILDREN < regions; span *= FM_NODE_CHILDREN) levels++;
    return levels;
}

/* Counters of a level, in whole nodes. */
static uint64_t counters_of(uint64_t children)
{
    return (children + FM_NODE_CHILDREN - 1) / FM_NODE_CHILDREN * FM_NODE_CHILDREN;
}

uint64_t fm_shared_window_view_bytes(uint64_t regions)
{
    uint64_t bytes = 0, children = regions;
    for (int level = 2; level <= levels_of(regions); level++) {
        bytes += counters_of(children) * sizeof(uint32_t);
        children = counters_of(children) / FM_NODE_CHILDREN;
    }
    return bytes;
}

/* From the numbers of a node's children to how many there are before each; the sum of all goes up. */
static void count_up(const uint32_t *numbers, uint64_t count, uint32_t *counters, uint32_t *sums)
{
    for (uint64_t i = 0; i < count; i += FM_NODE_CHILDREN) {
        const uint64_t end = count - i < FM_NODE_CHILDREN ? count : i + FM_NODE_CHILDREN;
        uint32_t sum = 0;
        for (uint64_t child = i; child < end; child++) {
            const uint32_t number = numbers[child];
            counters[child] = sum;
            sum += number;
        }
        sums[i / FM_NODE_CHILDREN] = sum;
    }
}

/* And back. */
static void count_down(const uint32_t *counters, uint64_t count, const uint32_t *sums, uint32_t *numbers)
{
    for (uint64_t i = 0; i < count; i += FM_NODE_CHILDREN) {
        const uint64_t last = count - i < FM_NODE_CHILDREN ? count - 1 : i + FM_NODE_CHILDREN - 1;
        const uint32_t sum = sums[i / FM_NODE_CHILDREN];
        for (uint64_t child = i; child < last; child++)
            numbers[child] = counters[child + 1] - counters[child];
        numbers[last] = sum - counters[last];
    }
}

/* Where the sums of a level's nodes stand: as counters of the next. */
static uint32_t *level_above(fm_recency_window *view, int level)
{
    return level < view->levels ? view->nodes[level + 1] : view->top;
}

void fm_shared_window_view(const fm_shared_window *window, uint64_t first, uint64_t end, void *counters,
                           fm_recency_window *view)
{
    uint32_t *next = counters;
    uint64_t count = end - first;
    memset(view, 0, sizeof *view);
    view->words = window->words + first * FM_REGION_LINES * FM_LINE_WORDS;
    view->lines = window->lines + first * FM_REGION_LINES;
    view->regions = count;
    view->levels = levels_of(count);
    for (int level = 2; level <= view->levels; level++) {
        view->nodes[level] = next;
        next += counters_of(count);
        count = counters_of(count) / FM_NODE_CHILDREN;
    }
    const uint32_t *numbers = window->live + first;
    count = view->regions;
    for (int level = 2; level <= view->levels; level++) {
        count_up(numbers, count, view->nodes[level], level_above(view, level));
        numbers = level_above(view, level);
        count = counters_of(count) / FM_NODE_CHILDREN;
    }
    for (uint64_t child = 0; child < count; child++) {
        const uint32_t number = numbers[child];
        view->top[child] = view->closed_live;
        view->closed_live += number;
    }
}

void fm_shared_window_view_done(fm_shared_window *window, uint64_t first, fm_recency_window *view)
{
    uint64_t count[FM_LEVELS_MAX + 2] = {0};
    count[2] = view->regions;
    for (int level = 2; level <= view->levels; level++)
        count[level + 1] = counters_of(count[level]) / FM_NODE_CHILDREN;
    /* The top is a node of its own, with more children. */
    const uint64_t tops = count[view->levels + 1];
    uint32_t *numbers = view->levels == 1 ? window->live + first : view->top;
    for (uint64_t child = 0; child < tops; child++)
        numbers[child] = (child + 1 < tops ? view->top[child + 1] : view->closed_live) - view->top[child];
    for (int level = view->levels; level >= 2; level--)
        count_down(view->nodes[level], count[level], level_above(view, level),
                   level == 2 ? window->live + first : view->nodes[level]);
}
