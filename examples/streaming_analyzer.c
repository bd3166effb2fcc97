/* SPDX-License-Identifier: Apache-2.0 */
/*
 * streaming_analyzer.c - libfathom as a streaming analyser inside another program.
 *
 * The other program here is a small key-value store that serves requests. It feeds the keys of its
 * requests to an analyzer as they come, in blocks, and asks now and then how large an LRU cache would
 * have to be: without stopping, without storing a trace.
 *
 * Build it against an installed libfathom:
 *
 *     cc -O2 streaming_analyzer.c $(pkg-config --cflags --libs fathom) -o streaming_analyzer
 *
 * or with CMake: see examples/CMakeLists.txt.
 */
#include <fathom/fathom.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { BLOCK = 4096, BLOCKS_PER_REPORT = 64, REPORTS = 4 };

/* ---- the program that has something to analyse ---- */

typedef struct store {
    uint64_t state; /* of a small random number generator */
} store;

/* Serves a block of requests and notes their keys: nine of ten go to 1,000 popular keys, the rest
 * anywhere among 100,000. */
static void store_serve(store *self, uint64_t *keys, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        self->state = self->state * 6364136223846793005u + 1442695040888963407u;
        uint64_t number = self->state >> 33;
        keys[i] = number % 10 != 0 ? number / 10 % 1000 : number / 10 % 100000;
    }
}

/* ---- the analysis ---- */

static int complain(const fm_error *error)
{
    char text[1200];
    fprintf(stderr, "streaming_analyzer: %s\n", fm_error_message(error, text, sizeof text));
    return EXIT_FAILURE;
}

/* A profile is a copy: it may be taken at any time, kept, written, merged, compared. */
static fm_status report(fm_analyzer *analyzer, fm_error *error)
{
    fm_profile *profile;
    fm_status status = fm_analyzer_profile(analyzer, &profile, error);
    if (status != FM_OK) return status;
    printf("%8" PRIu64 " requests, %6" PRIu64
           " keys; hit ratio with a cache of 100: %.3f, 1,000: %.3f, 10,000: %.3f\n",
           profile->references, profile->distinct, 1 - fm_profile_miss_ratio(profile, 100),
           1 - fm_profile_miss_ratio(profile, 1000), 1 - fm_profile_miss_ratio(profile, 10000));
    fm_profile_destroy(profile);
    return FM_OK;
}

int main(void)
{
    /* Zero is a good default everywhere. Keys are keys here, so every key is its own block
     * (granularity 1); for addresses of memory it would be the size of a cache line. */
    fm_analyzer_options options = {.engine = "exact", .granularity = 1};
    fm_analyzer *analyzer;
    fm_error error;
    if (fm_analyzer_create(&analyzer, &options, &error) != FM_OK) return complain(&error);

    store store = {.state = 1};
    static uint64_t keys[BLOCK];
    int code = EXIT_SUCCESS;
    for (int i = 0; i < REPORTS * BLOCKS_PER_REPORT && code == EXIT_SUCCESS; i++) {
        store_serve(&store, keys, BLOCK);
        if (fm_analyzer_feed_blocks(analyzer, keys, BLOCK, &error) != FM_OK) code = complain(&error);
        if (code == EXIT_SUCCESS && (i + 1) % BLOCKS_PER_REPORT == 0 && report(analyzer, &error) != FM_OK)
            code = complain(&error);
    }
    if (code == EXIT_SUCCESS)
        printf("the analyzer held at most %" PRIu64 " KiB\n", fm_analyzer_memory_peak(analyzer) / 1024);
    fm_analyzer_destroy(analyzer);
    return fflush(stdout) == 0 ? code : EXIT_FAILURE;
}
