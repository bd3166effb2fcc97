/* SPDX-License-Identifier: Apache-2.0 */
/*
 * make_site_keys.c - a native trace of generated keys with code sites, for bench_sites.py: fathom gen makes
 * none. Each reference is by one of so many sites, chosen at random; or with "near", by one of the four that
 * its key has, as in programs, where a structure has few places of code that touch it.
 *
 *     make_site_keys zipf|uniform|... KEYS REFERENCES SITES any|near OUTPUT.fathom
 */
#include <fathom/experimental.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 1 << 16, SITES_OF_A_KEY = 4, INSTRUCTION = 4 };
#define CODE UINT64_C(0x400000)

static void stop(const fm_error *error)
{
    fprintf(stderr, "make_site_keys: %s\n", error->reason);
    exit(1);
}

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}

int main(int argc, char **argv)
{
    if (argc != 7) {
        fprintf(stderr, "Usage: make_site_keys PATTERN KEYS REFERENCES SITES any|near OUTPUT.fathom\n");
        return 2;
    }
    static uint64_t keys[BATCH], sites[BATCH];
    const fm_generator_options what = {.pattern = argv[1],
                                       .keys = strtoull(argv[2], NULL, 10),
                                       .references = strtoull(argv[3], NULL, 10),
                                       .seed = 1,
                                       .skew = 0.99};
    const uint64_t site_count = strtoull(argv[4], NULL, 10);
    const bool near = strcmp(argv[5], "near") == 0;
    const fm_writer_options how = {.columns = FM_COLUMN_SITE, .threads = 2};
    uint64_t state = 88172645463325252U;
    fm_generator *generator;
    fm_writer *writer;
    fm_error error;
    if (fm_generator_create(&generator, &what, &error)) stop(&error);
    if (fm_writer_open(&writer, argv[6], &how, &error)) stop(&error);
    for (size_t count; (count = fm_generator_next(generator, keys, BATCH)) > 0;) {
        for (size_t i = 0; i < count; i++) {
            const uint64_t die = next_random(&state);
            const uint64_t site =
                near ? keys[i] * UINT64_C(0x9E3779B97F4A7C15) / 8 + die % SITES_OF_A_KEY : die >> 20;
            sites[i] = CODE + INSTRUCTION * (site % site_count);
        }
        const fm_batch batch = {.count = count, .address = keys, .site = sites};
        if (fm_writer_append(writer, &batch, &error)) stop(&error);
    }
    if (fm_writer_finish(writer, &error)) stop(&error);
    fm_writer_close(writer);
    fm_generator_destroy(generator);
    return 0;
}
