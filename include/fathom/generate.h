/* SPDX-License-Identifier: Apache-2.0 */
/*
 * generate.h - synthetic reference streams with known answers.
 *
 * The same options and seed give the same stream on every machine.
 */
#ifndef FATHOM_GENERATE_H
#define FATHOM_GENERATE_H

#include <fathom/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fm_generator_options {
    const char *pattern; /* see fm_generator_pattern_at */
    uint64_t keys;       /* M: keys are 0 … M−1 */
    uint64_t references; /* N */
    uint64_t seed;
    double skew; /* Zipf exponent, 0.001 to 16; used by zipf only; 0: 0.99 */
} fm_generator_options;

typedef struct fm_generator fm_generator;
FM_SIZED(fm_status, fm_generator_create, fm_generator_options,
         (fm_generator **generator, const fm_generator_options *options, fm_error *error),
         (generator, options, error));
/* Fills up to capacity keys; returns how many, 0 at the end of the stream. */
FM_API size_t fm_generator_next(fm_generator *generator, uint64_t *keys, size_t capacity);
FM_API void fm_generator_destroy(fm_generator *generator);

typedef struct fm_pattern_info {
    const char *name;
    const char *summary;
} fm_pattern_info;
/* zipf, uniform, cyclic, sawtooth, loguniform, distinct, same, …; NULL past the end. */
FM_API const fm_pattern_info *fm_generator_pattern_at(size_t index);

#ifdef __cplusplus
}
#endif
#endif
