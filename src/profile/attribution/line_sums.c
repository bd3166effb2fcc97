/* SPDX-License-Identifier: Apache-2.0 */
/* line_sums.c - see line_sums.h. */
#include "profile/attribution/line_sums.h"

#include "profile/attribution/attribution_grow.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n';
}

uint32_t fm_line_sum(const char *line, size_t length)
{
    uint32_t sum = 2166136261u;
    while (length && is_blank(line[length - 1])) length--;
    for (; length && is_blank(*line); length--) line++;
    for (size_t i = 0; i < length; i++) sum = (sum ^ (unsigned char)line[i]) * 16777619u;
    return (sum ^ sum >> 24) & 0xFFFFFF;
}

bool fm_line_sums_add(fm_attribution *attribution, size_t *room, const char *path, const char *sums)
{
    if (attribution->line_sum_count == *room) {
        const size_t more = *room ? *room : 16;
        void *grown = fm_attribution_grow(attribution, attribution->line_sums, *room, more,
                                          sizeof *attribution->line_sums);
        if (!grown) return false;
        attribution->line_sums = grown;
        *room += more;
    }
    attribution->line_sums[attribution->line_sum_count++] = (fm_line_sums){path, sums};
    return true;
}

bool fm_line_sums_record(fm_attribution *attribution, size_t *room, const char *path, const char *bytes,
                         size_t size)
{
    size_t count = size > 0 && bytes[size - 1] != '\n', at = 0;
    for (size_t i = 0; i < size; i++) count += bytes[i] == '\n';
    if (count > FM_MOST_LINE_SUMS) return true;
    char *sums = fm_attribution_allocate(attribution, count * FM_LINE_SUM + 1, 1);
    if (!sums) return false;
    for (size_t line = 0; line < count; line++) {
        const char *end = memchr(bytes + at, '\n', size - at);
        const size_t length = end ? (size_t)(end - bytes) - at : size - at;
        snprintf(sums + line * FM_LINE_SUM, FM_LINE_SUM + 1, "%06" PRIx32, fm_line_sum(bytes + at, length));
        at += length + 1;
    }
    return fm_line_sums_add(attribution, room, path, sums);
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp(((const fm_line_sums *)a)->path, ((const fm_line_sums *)b)->path);
}

void fm_line_sums_sort(fm_attribution *attribution)
{
    if (attribution->line_sum_count > 1)
        qsort(attribution->line_sums, attribution->line_sum_count, sizeof *attribution->line_sums,
              compare_paths);
}

const char *fm_line_sums_of(const fm_attribution *attribution, const char *path)
{
    const fm_line_sums key = {path, NULL};
    if (attribution->line_sum_count == 0) return NULL;
    const fm_line_sums *found =
        bsearch(&key, attribution->line_sums, attribution->line_sum_count, sizeof key, compare_paths);
    return found ? found->sums : NULL;
}

bool fm_line_sums_sound(const char *sums)
{
    const size_t length = strspn(sums, "0123456789abcdef");
    return sums[length] == '\0' && length % FM_LINE_SUM == 0 && length / FM_LINE_SUM <= FM_MOST_LINE_SUMS;
}
