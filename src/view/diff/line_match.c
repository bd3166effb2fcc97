/* SPDX-License-Identifier: Apache-2.0 */
/* line_match.c - see line_match.h. */
#include "view/diff/line_match.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_DIFFERENCES = 1500 };

/* The lines between a common beginning and a common end. */
typedef struct middle {
    const uint32_t *a, *b;
    size_t n, m;
    int32_t **furthest; /* by differences d: for each diagonal -d, -d + 2, … d how far along a one comes */
} middle;

static void match_lines(fm_line_match *match, size_t before, size_t after)
{
    match->to_after[before] = (uint32_t)after;
    match->to_before[after] = (uint32_t)before;
}

/* How far one comes on a diagonal k with d differences; d - 1 is known. */
static int32_t step(const middle *of, int32_t d, int32_t k)
{
    int32_t x = 0;
    if (d > 0) {
        const int32_t *before = of->furthest[d - 1];
        const bool down = k == -d || (k != d && before[(k - 1 + d - 1) / 2] < before[(k + 1 + d - 1) / 2]);
        x = down ? before[(k + 1 + d - 1) / 2] : before[(k - 1 + d - 1) / 2] + 1;
    }
    while (x >= 0 && (size_t)x < of->n && x - k >= 0 && (size_t)(x - k) < of->m && of->a[x] == of->b[x - k])
        x++;
    return x;
}

/* Back from the end: along equal lines, then over the difference that was made there. */
static void trace_back(const middle *of, int32_t d, size_t offset, fm_line_match *match)
{
    int32_t x = (int32_t)of->n, y = (int32_t)of->m;
    for (; d >= 0; d--) {
        const int32_t k = x - y;
        int32_t from = 0, from_y = 0;
        if (d > 0) {
            const int32_t *before = of->furthest[d - 1];
            const bool down =
                k == -d || (k != d && before[(k - 1 + d - 1) / 2] < before[(k + 1 + d - 1) / 2]);
            from = down ? before[(k + 1 + d - 1) / 2] : before[(k - 1 + d - 1) / 2];
            from_y = from - (down ? k + 1 : k - 1);
        }
        while (x > from && y > from_y && of->a[x - 1] == of->b[y - 1]) {
            match_lines(match, offset + (size_t)--x, offset + (size_t)--y);
        }
        x = from;
        y = from_y;
    }
}

/* Returns 0, 1 where there are too many differences, -1 without memory. */
static int match_middle(middle *of, size_t offset, fm_line_match *match)
{
    int result = 1;
    int32_t d = 0;
    of->furthest = fm_calloc(MOST_DIFFERENCES + 1, sizeof *of->furthest);
    if (!of->furthest) return -1;
    for (; d <= MOST_DIFFERENCES && result == 1; d++) {
        of->furthest[d] = fm_calloc((size_t)d + 1, sizeof **of->furthest);
        if (!of->furthest[d]) {
            result = -1;
            break;
        }
        for (int32_t k = -d; k <= d; k += 2) {
            const int32_t x = step(of, d, k);
            of->furthest[d][(k + d) / 2] = x;
            if (x >= (int32_t)of->n && x - k >= (int32_t)of->m) {
                result = 0;
                break;
            }
        }
        if (result == 0) break;
    }
    if (result == 0) trace_back(of, d, offset, match);
    for (int32_t i = 0; i <= MOST_DIFFERENCES; i++) free(of->furthest[i]);
    free(of->furthest);
    return result;
}

/* As many taken out as put in, between two matched lines: changed ones. */
static void match_changed(fm_line_match *match)
{
    size_t a = 0, b = 0;
    while (a < match->before_count && b < match->after_count) {
        size_t a_end = a, b_end = b;
        while (a_end < match->before_count && match->to_after[a_end] == UINT32_MAX) a_end++;
        while (b_end < match->after_count && match->to_before[b_end] == UINT32_MAX) b_end++;
        if (a_end - a == b_end - b)
            while (a < a_end) match_lines(match, a++, b++);
        a = a_end;
        b = b_end;
        if (a < match->before_count && b < match->after_count) a++, b++;
    }
}

fm_status fm_line_match_make(fm_line_match *match, const uint32_t *before, size_t before_count,
                             const uint32_t *after, size_t after_count, fm_error *error)
{
    *match = (fm_line_match){before_count, after_count, fm_calloc(before_count, sizeof *match->to_after),
                             fm_calloc(after_count, sizeof *match->to_before), false};
    if (!match->to_after || !match->to_before) {
        fm_line_match_clear(match);
        return fm_fail_memory(error, (before_count + after_count) * sizeof *before, "matched lines");
    }
    memset(match->to_after, 0xFF, before_count * sizeof *before);
    memset(match->to_before, 0xFF, after_count * sizeof *before);
    size_t first = 0, last = 0;
    while (first < before_count && first < after_count && before[first] == after[first]) first++;
    while (last < before_count - first && last < after_count - first &&
           before[before_count - 1 - last] == after[after_count - 1 - last])
        last++;
    for (size_t i = 0; i < first; i++) match_lines(match, i, i);
    for (size_t i = 1; i <= last; i++) match_lines(match, before_count - i, after_count - i);
    middle between = {before + first, after + first, before_count - first - last, after_count - first - last,
                      NULL};
    const int result = between.n && between.m ? match_middle(&between, first, match) : 0;
    match->given_up = result == 1;
    if (result < 0) {
        fm_line_match_clear(match);
        return fm_fail_memory(error, (uint64_t)MOST_DIFFERENCES * MOST_DIFFERENCES * 2, "matched lines");
    }
    if (!match->given_up) match_changed(match);
    return FM_OK;
}

void fm_line_match_clear(fm_line_match *match)
{
    free(match->to_after);
    free(match->to_before);
    *match = (fm_line_match){0};
}
