/* SPDX-License-Identifier: Apache-2.0 */
/* memory_choice.c - see memory_choice.h. */
#include "memory_choice.h"

#include <inttypes.h>

/* What `exact` takes at most for a block while it grows, and to start with. */
enum { EXACT_BYTES_A_BLOCK = 100, EXACT_BYTES_TO_START = 8 << 20 };
/* The samples' part of the memory: a quarter, but no more than brings anything. */
enum { SAMPLED_MOST = 64 << 20, SAMPLED_SHARE = 4 };
/* Of that: half for the exact small distances, the rest for samples, by what sampled.h says of a block.
 */
enum { HASHES = 4, SAMPLES_LEAST = 256, SAMPLE_BYTES_A_BLOCK = 44, SAMPLES_BASE = 512 << 10 };

static uint64_t samples_within(uint64_t bytes)
{
    const uint64_t half = bytes / 2;
    const uint64_t samples =
        half > SAMPLES_BASE ? (half - SAMPLES_BASE) / HASHES / SAMPLE_BYTES_A_BLOCK : SAMPLES_LEAST;
    return samples < SAMPLES_LEAST ? SAMPLES_LEAST : samples;
}

static bool exact_always_fits(uint64_t memory, uint64_t references)
{
    return references > 0 && memory > EXACT_BYTES_TO_START &&
           references <= (memory - EXACT_BYTES_TO_START) / EXACT_BYTES_A_BLOCK;
}

fm_status cli_memory_choice_create(cli_memory_choice *choice, const fm_analyzer_options *options,
                                   uint64_t references, fm_error *error)
{
    fm_analyzer_options exact = *options, sampled = *options;
    *choice = (cli_memory_choice){0};
    if (!exact_always_fits(options->max_memory, references)) {
        sampled.engine = "shards";
        sampled.max_memory = options->max_memory / SAMPLED_SHARE;
        if (sampled.max_memory > SAMPLED_MOST) sampled.max_memory = SAMPLED_MOST;
        choice->samples = samples_within(sampled.max_memory);
        char own[100];
        snprintf(own, sizeof own, "samples=%" PRIu64 ",hashes=%d", choice->samples, (int)HASHES);
        sampled.engine_options = own;
        fm_status status = fm_analyzer_create(&choice->sampled, &sampled, error);
        if (status == FM_OK) exact.max_memory -= sampled.max_memory;
        if (status != FM_OK && status != FM_E_LIMIT) return status;
    }
    fm_status status = fm_analyzer_create(&choice->exact, &exact, error);
    if (status != FM_OK) cli_memory_choice_destroy(choice);
    return status;
}

void cli_memory_choice_destroy(cli_memory_choice *choice)
{
    fm_analyzer_destroy(choice->exact);
    fm_analyzer_destroy(choice->sampled);
    *choice = (cli_memory_choice){0};
}

bool cli_memory_choice_give_up(cli_memory_choice *choice, const fm_analyzer *analyzer)
{
    if (!choice->sampled || analyzer != choice->exact) return false;
    fm_analyzer_destroy(choice->exact);
    choice->exact = NULL;
    return true;
}

fm_status cli_memory_choice_profile(const cli_memory_choice *choice, fm_profile **profile, fm_error *error)
{
    return fm_analyzer_profile(choice->exact ? choice->exact : choice->sampled, profile, error);
}

void cli_memory_choice_note(const cli_memory_choice *choice, const fm_profile *profile)
{
    if (choice->exact)
        cli_note("--max-memory: the exact engine fits");
    else
        cli_note("--max-memory: the exact engine does not fit; chosen was --engine shards "
                 "--engine-option samples=%" PRIu64 ": %s",
                 choice->samples, profile->accuracy->statement);
}
