/* SPDX-License-Identifier: Apache-2.0 */
/*
 * closed_forms.h - traces whose every distance is known without computing it, generated and judged in
 * one pass over chunks, so that 10^8 references need no memory (bench/bench_engines --closed-forms) and
 * 10^6 take no time (test_oracle_closed_forms).
 */
#ifndef FATHOM_TESTS_CLOSED_FORMS_H
#define FATHOM_TESTS_CLOSED_FORMS_H

#include "engine/engine.h"
#include "oracle/engine_calls.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct closed_form {
    const char *name;
    uint64_t (*key)(uint64_t i, uint64_t keys);
    uint64_t (*distance)(uint64_t i, uint64_t keys); /* FM_COLD for a first touch */
    uint64_t (*time)(uint64_t i, uint64_t keys);
} closed_form;

/* 0 1 … M−1 0 1 …: every return is as far as it can be. */
static inline uint64_t cyclic_key(uint64_t i, uint64_t keys)
{
    return i % keys;
}
static inline uint64_t cyclic_distance(uint64_t i, uint64_t keys)
{
    return i < keys ? FM_COLD : keys - 1;
}
static inline uint64_t cyclic_time(uint64_t i, uint64_t keys)
{
    return i < keys ? FM_COLD : keys;
}

/* 0 1 … M−1 M−1 … 1 0 0 1 …: in every sweep after the first, the i-th reference has distance i. */
static inline uint64_t sawtooth_key(uint64_t i, uint64_t keys)
{
    return i / keys % 2 ? keys - 1 - i % keys : i % keys;
}
static inline uint64_t sawtooth_distance(uint64_t i, uint64_t keys)
{
    return i < keys ? FM_COLD : i % keys;
}
static inline uint64_t sawtooth_time(uint64_t i, uint64_t keys)
{
    return i < keys ? FM_COLD : 2 * (i % keys) + 1;
}

static inline uint64_t distinct_key(uint64_t i, uint64_t keys)
{
    (void)keys;
    return UINT64_MAX - i;
}
static inline uint64_t distinct_distance(uint64_t i, uint64_t keys)
{
    (void)i;
    (void)keys;
    return FM_COLD;
}

static inline uint64_t same_key(uint64_t i, uint64_t keys)
{
    (void)i;
    return keys;
}
static inline uint64_t same_distance(uint64_t i, uint64_t keys)
{
    (void)keys;
    return i == 0 ? FM_COLD : 0;
}
static inline uint64_t same_time(uint64_t i, uint64_t keys)
{
    (void)keys;
    return i == 0 ? FM_COLD : 1;
}

static const closed_form closed_forms[] = {
    {"cyclic", cyclic_key, cyclic_distance, cyclic_time},
    {"sawtooth", sawtooth_key, sawtooth_distance, sawtooth_time},
    {"distinct", distinct_key, distinct_distance, distinct_distance},
    {"same", same_key, same_distance, same_time},
};
enum { CLOSED_FORMS = sizeof closed_forms / sizeof closed_forms[0] };

/* Feeds the first `references` of a form and judges every answer. 0, or -1 after a message on standard
 * error. */
static inline int closed_form_check(const closed_form *form, const fm_engine_ops *ops,
                                    fm_engine_options options, uint64_t keys, uint64_t references)
{
    enum { CHUNK = 1 << 15 };
    uint64_t *buffer = malloc(3 * CHUNK * sizeof *buffer);
    fm_engine *engine = NULL;
    fm_error error = {0};
    int result = -1;
    if (!buffer || ops->create(&engine, &options, &error)) {
        fprintf(stderr, "%s on %s: not created: %s\n", ops->info.name, form->name, error.reason);
        free(buffer);
        return -1;
    }
    uint64_t *blocks = buffer, *distances = buffer + CHUNK,
             *times = options.time_distances ? buffer + 2 * CHUNK : NULL;
    uint64_t cold = 0;
    for (uint64_t start = 0; start < references; start += CHUNK) {
        size_t count = references - start < CHUNK ? (size_t)(references - start) : CHUNK, done = 0;
        for (size_t i = 0; i < count; i++) blocks[i] = form->key(start + i, keys);
        if (feed_blocks(ops, engine, blocks, count, distances, times, &done, &error) || done != count) {
            fprintf(stderr, "%s on %s: feed failed: %s\n", ops->info.name, form->name, error.reason);
            goto out;
        }
        for (size_t i = 0; i < count; i++) {
            uint64_t expected = form->distance(start + i, keys);
            cold += expected == FM_COLD;
            if (options.bound && expected != FM_COLD && expected >= options.bound) expected = FM_BEYOND;
            if (distances[i] != expected || (times && times[i] != form->time(start + i, keys))) {
                fprintf(stderr,
                        "%s on %s of %" PRIu64 " keys, bound %" PRIu64 ": reference %" PRIu64
                        ": expected %" PRIu64 ", got %" PRIu64 "; time distance expected %" PRIu64
                        ", got %" PRIu64 "\n",
                        ops->info.name, form->name, keys, options.bound, start + i, expected, distances[i],
                        form->time(start + i, keys), times ? times[i] : 0);
                goto out;
            }
        }
    }
    if (ops->distinct(engine) != cold) {
        fprintf(stderr, "%s on %s: expected %" PRIu64 " distinct, got %" PRIu64 "\n", ops->info.name,
                form->name, cold, ops->distinct(engine));
        goto out;
    }
    result = 0;
out:
    ops->destroy(engine);
    free(buffer);
    return result;
}

#endif
