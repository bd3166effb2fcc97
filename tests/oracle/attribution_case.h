/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attribution_case.h - one case of attribution, and its answer computed naively: a trace of tagged accesses,
 * edges, and what is to be counted for every reference. Distances are the list engine's (engine_run.h), which
 * is judged by the definition elsewhere; tags, ranges, pairs and late references are found here by plain
 * search.
 */
#ifndef FATHOM_TESTS_ATTRIBUTION_CASE_H
#define FATHOM_TESTS_ATTRIBUTION_CASE_H

#include "oracle/engine_run.h"

#include <fathom/analyzer.h>
#include <string.h>

typedef struct tagged_case {
    recipe made;
    uint64_t granularity;
    /* As fed: accesses. */
    size_t accesses;
    uint64_t *address;
    uint32_t *size; /* NULL: one block each */
    uint32_t *tag;  /* NULL: none */
    /* As counted: references to blocks. */
    size_t references;
    uint64_t *block;
    uint32_t *block_tag;
    size_t *access; /* which access it belongs to */
    /* The answer for each. */
    uint64_t *distance;
    uint32_t *use, *range;
    uint64_t edges[250];
    size_t edge_count;
    uint32_t late_from; /* range */
    bool forgetful;     /* more blocks are seen than may be remembered under the bound */
} tagged_case;

static inline void *case_array(size_t count, size_t size)
{
    void *array = calloc(count + 1, size);
    if (!array) abort();
    return array;
}

static inline void tagged_case_free(tagged_case *made)
{
    free(made->address);
    free(made->size);
    free(made->tag);
    free(made->block);
    free(made->block_tag);
    free(made->access);
    free(made->distance);
    free(made->use);
    free(made->range);
}

static inline void case_edges(tagged_case *made, recipe_random *random)
{
    size_t count = 0;
    made->edges[count++] = 0;
    switch (recipe_below(random, 6)) {
    case 0: /* one range */
        break;
    case 1: /* powers of two, and sizes of caches */
        for (unsigned bit = 0; bit < 40; bit++) {
            made->edges[count++] = UINT64_C(1) << bit;
            if (bit == 9) made->edges[count++] = 768;
            if (bit == 14) made->edges[count++] = 20480;
        }
        break;
    case 2: /* single distances, as many as there may be */
        while (count < 250) {
            made->edges[count] = count;
            count++;
        }
        break;
    case 3: /* crammed into one octave */
        for (uint64_t edge = 64; edge < 128 && count < 250; edge += 1 + recipe_below(random, 3))
            made->edges[count++] = edge;
        break;
    case 4: /* anywhere, also where no distance can be */
        for (uint64_t edge = 1 + recipe_below(random, 20); count < 250 && edge < UINT64_MAX / 4;) {
            made->edges[count++] = edge;
            edge += 1 + recipe_below(random, 2 * edge);
        }
        break;
    default: /* one edge, near the front's size */
        made->edges[count++] = 1 + recipe_below(random, 40);
        break;
    }
    made->edge_count = count;
    made->late_from = (uint32_t)recipe_below(random, count + 2);
    if (recipe_chance(random, 4)) made->late_from = 0;
}

static inline uint32_t case_range(const tagged_case *made, uint64_t distance)
{
    if (distance == FM_COLD) return FM_RANGE_COLD;
    if (distance == FM_BEYOND) return FM_RANGE_BEYOND;
    uint32_t range = 0;
    while (range + 1 < made->edge_count && made->edges[range + 1] <= distance) range++;
    return range;
}

/* A tag for every access: few or many, by chance, by place or by block. */
static inline void case_tags(tagged_case *made, recipe_random *random)
{
    static const uint64_t alphabets[] = {1, 2, 5, 60, 3000, FM_TAG_MAX};
    uint64_t alphabet = alphabets[recipe_below(random, 6)];
    uint64_t kind = recipe_below(random, 4), period = 1 + recipe_below(random, 50);
    for (size_t i = 0; i < made->accesses; i++) {
        uint64_t value = kind == 0   ? recipe_below(random, alphabet)
                         : kind == 1 ? i % period
                         : kind == 2 ? made->address[i] * UINT64_C(0x9E3779B97F4A7C15) >> 40
                                     : i / period;
        made->tag[i] = (uint32_t)(1 + value % alphabet);
        if (recipe_chance(random, 50)) made->tag[i] = recipe_chance(random, 2) ? 0 : FM_TAG_MAX;
    }
}

/* The last use of each block, found in a table of its own: key, tag + 1. */
static inline void case_uses(tagged_case *made)
{
    size_t slots = 64;
    while (slots < made->references * 2) slots *= 2;
    uint64_t *key = case_array(slots, sizeof *key);
    uint32_t *last = case_array(slots, sizeof *last);
    for (size_t i = 0; i < made->references; i++) {
        size_t at = (size_t)(made->block[i] * UINT64_C(0xD1342543DE82EF95) >> 20) & (slots - 1);
        while (last[at] && key[at] != made->block[i]) at = (at + 1) & (slots - 1);
        made->use[i] = made->distance[i] < FM_BEYOND ? last[at] - 1 : 0;
        key[at] = made->block[i];
        last[at] = made->block_tag[i] + 1;
    }
    free(key);
    free(last);
}

/* The case of a recipe. straddle: accesses have sizes, some of which reach into other blocks. NULL on
 * success. */
static inline const char *tagged_case_make(tagged_case *made, recipe from, bool straddle)
{
    memset(made, 0, sizeof *made);
    recipe_random random = {from.seed ^ 4711};
    if (straddle) from.keys = RECIPE_KEYS_PLAIN;
    uint64_t *trace = recipe_trace(&from);
    made->granularity = straddle ? UINT64_C(1) << (1 + recipe_below(&random, 8)) : 1;
    made->accesses = from.length;
    made->address = case_array(from.length, sizeof *made->address);
    made->tag = case_array(from.length, sizeof *made->tag);
    if (straddle) made->size = case_array(from.length, sizeof *made->size);
    const unsigned odd = 1 + (unsigned)recipe_below(&random, 400);
    size_t blocks = 0;
    for (size_t i = 0; i < from.length; i++) {
        uint64_t offset = straddle ? recipe_below(&random, made->granularity) : 0;
        made->address[i] = trace[i] * made->granularity + offset;
        if (straddle) {
            uint64_t room = made->granularity - offset;
            made->size[i] =
                (uint32_t)(recipe_chance(&random, odd) ? room + recipe_below(&random, 3 * made->granularity)
                                                       : recipe_below(&random, room + 1));
            uint64_t extent = made->size[i] ? made->size[i] - 1 : 0;
            blocks += (offset + extent) / made->granularity;
        }
        blocks++;
    }
    case_tags(made, &random);
    case_edges(made, &random);

    made->block = case_array(blocks, sizeof *made->block);
    made->block_tag = case_array(blocks, sizeof *made->block_tag);
    made->access = case_array(blocks, sizeof *made->access);
    made->distance = case_array(blocks, sizeof *made->distance);
    made->use = case_array(blocks, sizeof *made->use);
    made->range = case_array(blocks, sizeof *made->range);
    for (size_t i = 0; i < from.length; i++) {
        uint64_t extent = made->size && made->size[i] ? made->size[i] - 1 : 0;
        uint64_t last = (made->address[i] + extent) / made->granularity;
        for (uint64_t block = made->address[i] / made->granularity;; block++) {
            made->block[made->references] = block;
            made->block_tag[made->references] = made->tag[i];
            made->access[made->references++] = i;
            if (block == last) break;
        }
    }
    free(trace);
    from.length = made->references;
    made->made = from;
    engine_answers expected = engine_answers_make(made->references);
    const char *wrong = engine_expect(&from, made->block, &expected);
    memcpy(made->distance, expected.distances, made->references * sizeof *made->distance);
    made->forgetful = !expected.cold_known;
    engine_answers_free(&expected);
    case_uses(made);
    for (size_t i = 0; i < made->references; i++) made->range[i] = case_range(made, made->distance[i]);
    return wrong;
}

static inline int compare_raw(const void *left, const void *right)
{
    const fm_raw_pair *a = left, *b = right;
    if (a->reuse != b->reuse) return a->reuse < b->reuse ? -1 : 1;
    if (a->use != b->use) return a->use < b->use ? -1 : 1;
    return a->range < b->range ? -1 : a->range > b->range;
}

/* The pairs of the first `count` references: sorted, and equal ones joined. To be freed. */
static inline fm_raw_pair *tagged_case_pairs(const tagged_case *made, size_t count, size_t *pairs)
{
    fm_raw_pair *list = case_array(count, sizeof *list);
    for (size_t i = 0; i < count; i++)
        list[i] = (fm_raw_pair){
            .use = made->use[i], .reuse = made->block_tag[i], .range = made->range[i], .count = 1};
    qsort(list, count, sizeof *list, compare_raw);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (kept > 0 && compare_raw(&list[kept - 1], &list[i]) == 0)
            list[kept - 1].count++;
        else
            list[kept++] = list[i];
    }
    *pairs = kept;
    return list;
}

/* The analyzer's pairs after `count` references; NULL, or what is wrong with them. */
static inline const char *tagged_case_pairs_agree(fm_analyzer *analyzer, const tagged_case *made,
                                                  size_t count)
{
    fm_raw_pair *got = NULL;
    size_t got_count = 0, naive_count;
    if (fm_analyzer_pairs(analyzer, &got, &got_count, NULL)) return "fm_analyzer_pairs failed";
    fm_raw_pair *naive = tagged_case_pairs(made, count, &naive_count);
    const char *wrong = got_count != naive_count ? "another number of pairs" : NULL;
    uint64_t sum = 0;
    for (size_t i = 0; i < got_count && !wrong; i++) {
        sum += got[i].count;
        if (compare_raw(&got[i], &naive[i]) != 0 || got[i].count != naive[i].count) wrong = "a wrong pair";
    }
    if (!wrong && sum != count) wrong = "pairs do not add up";
    free(naive);
    free(got);
    return wrong;
}

#endif
