/* SPDX-License-Identifier: Apache-2.0 */
/* workload.c - see workload.h. */
#include "workload.h"

#include "contender.h"

#include <fathom/generate.h>
#include <fathom/trace.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void generate(workload *made, const char *words, const char *colon, uint64_t references)
{
    char pattern[32];
    snprintf(pattern, sizeof pattern, "%.*s", (int)(colon - words), words);
    fm_generator_options options = {.pattern = pattern,
                                    .keys = bench_count(colon + 1),
                                    .references = references,
                                    .seed = 1,
                                    .skew = 0.99};
    fm_generator *generator;
    fm_error error = {0};
    if (fm_generator_create(&generator, &options, &error)) bench_die("%s: %s", words, error.reason);
    made->blocks = bench_allocate(references * sizeof *made->blocks);
    size_t taken;
    while (made->count < references &&
           (taken = fm_generator_next(generator, made->blocks + made->count, references - made->count)) > 0)
        made->count += taken;
    fm_generator_destroy(generator);
    snprintf(made->name, sizeof made->name, "%s %s", pattern, colon + 1);
}

static void load(workload *made, const char *words, const char *at, uint64_t references)
{
    char path[512];
    snprintf(path, sizeof path, "%.*s", (int)(at - words), words);
    uint64_t granularity = bench_count(at + 1);
    if (granularity == 0 || (granularity & (granularity - 1))) bench_die("%s: not a power of two", words);
    fm_reader *reader;
    fm_error error = {0};
    fm_reader_options options = {.fetches = FM_FETCHES_SKIP};
    char text[1100];
    if (fm_reader_open(&reader, path, &options, &error))
        bench_die("%s", fm_error_message(&error, text, sizeof text));
    made->blocks = bench_allocate(references * sizeof *made->blocks);
    fm_batch batch;
    fm_status status;
    while (!(status = fm_reader_next(reader, &batch, &error)) && batch.count > 0 && made->count < references)
        for (size_t i = 0; i < batch.count; i++) {
            uint64_t first = batch.address[i] / granularity;
            uint64_t more = batch.size && batch.size[i]
                                ? (batch.address[i] % granularity + batch.size[i] - 1) / granularity
                                : 0;
            for (uint64_t j = 0; j <= more && made->count < references; j++)
                made->blocks[made->count++] = first + j;
        }
    if (status) bench_die("%s", fm_error_message(&error, text, sizeof text));
    fm_reader_close(reader);
    const char *slash = strrchr(path, '/');
    const char *base = slash ? slash + 1 : path;
    snprintf(made->name, sizeof made->name, "%.*s, %s-byte blocks", (int)strcspn(base, "."), base, at + 1);
}

workload workload_make(const char *words, uint64_t references)
{
    workload made = {.count = 0};
    const char *at = strrchr(words, '@'), *colon = strchr(words, ':');
    if (at)
        load(&made, words, at, references);
    else if (colon)
        generate(&made, words, colon, references);
    else
        bench_die("'%s' is neither PATTERN:KEYS nor PATH@BYTES", words);
    if (made.count == 0) bench_die("%s: no references", words);
    return made;
}

void workload_free(workload *made)
{
    free(made->blocks);
    made->blocks = NULL;
}
