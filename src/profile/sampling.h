/* SPDX-License-Identifier: Apache-2.0 */
/* sampling.h - the field "sampling" of a profile's JSON (docs/PROFILE.md), and its merging. Internal. */
#ifndef FATHOM_PROFILE_SAMPLING_H
#define FATHOM_PROFILE_SAMPLING_H

#include <fathom/profile.h>

#include "base/json.h"

#include <stdio.h>

/* The value of the field, braces included; no newline at the end. Output errors stay in the FILE. */
void fm_sampling_write(FILE *out, const fm_sampling *sampling, const char *indent);
/* where: what stands before the field's name in messages ("profiles[0]."). */
fm_status fm_sampling_read(fm_json_scan *scan, const char *where, fm_sampling **sampling);

/* Empty, with these words. */
fm_status fm_sampling_create(fm_sampling **sampling, const char *method, const char *estimator,
                             const char *conversion, fm_error *error);
/* That of the sum of two profiles: NULL unless both were sampled in the same way. A profile of nothing is
 * like any other. */
fm_status fm_sampling_sum(fm_sampling **sum, const fm_profile *a, const fm_profile *b, fm_error *error);

#endif
