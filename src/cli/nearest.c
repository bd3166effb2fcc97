/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nearest.c - edit distance for suggestions: insertions, deletions, replacements and swaps of
 * neighbours each count one (optimal string alignment). Quadratic, on words of a few letters.
 */
#include "nearest.h"

#include <string.h>

enum { LONGEST = 32 }; /* longer words are nobody's typing error */

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t edit_distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    size_t rows[3][LONGEST + 1]; /* the row before the last one, the last one, this one */
    for (size_t j = 0; j <= b_length; j++) rows[1][j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        size_t *before = rows[(i + 2) % 3], *last = rows[i % 3], *now = rows[(i + 1) % 3];
        now[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            size_t change = last[j - 1] + (a[i - 1] != b[j - 1]);
            now[j] = least(change, least(last[j], now[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                now[j] = least(now[j], before[j - 2] + 1);
        }
    }
    return rows[(a_length + 1) % 3][b_length];
}

void cli_nearest_consider(const char *word, const char *candidate, const char **best, size_t *best_distance)
{
    size_t length = strlen(word), candidate_length = strlen(candidate);
    if (length == 0 || length > LONGEST || candidate_length > LONGEST) return;
    /* In halves: a beginning of at least three letters is better than two slips, and not as good as one. */
    size_t distance = 2 * edit_distance(word, length, candidate, candidate_length);
    if (length >= 3 && strncmp(word, candidate, length) == 0) distance = least(distance, 3);
    size_t shorter = least(length, candidate_length);
    size_t limit = 2 * (shorter < 4 ? 1 : shorter / 3 + 1) + 1;
    if (distance > limit || distance >= *best_distance) return;
    *best = candidate;
    *best_distance = distance;
}
