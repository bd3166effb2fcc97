/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample_limits.h - an estimate that cannot be true is brought within what can be (docs/TESTING.md, "Laws"),
 * and says so. Internal.
 */
#ifndef FATHOM_MODEL_SAMPLE_LIMITS_H
#define FATHOM_MODEL_SAMPLE_LIMITS_H

#include <fathom/experimental/observations.h>

/*
 * Of an estimated profile, before code is told apart: there are at most blocks_most distinct blocks, so that
 * no more references are the last to theirs, and no distance is as large; the references that this concerns
 * have the largest distance there can be. There are as many blocks as the largest distance needs, and
 * blocks_least.
 */
fm_status fm_sample_limit(fm_profile *profile, const fm_estimate_options *options, fm_error *error);

#endif
