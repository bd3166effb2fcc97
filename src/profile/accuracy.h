/* SPDX-License-Identifier: Apache-2.0 */
/* accuracy.h - the field "accuracy" of a profile's JSON (docs/PROFILE.md), and its merging. Internal. */
#ifndef FATHOM_PROFILE_ACCURACY_H
#define FATHOM_PROFILE_ACCURACY_H

#include <fathom/profile.h>

#include "base/json.h"

#include <stdio.h>

/* The value of the field, braces included; no newline at the end. Output errors stay in the FILE. */
void fm_accuracy_write(FILE *out, const fm_accuracy *accuracy, const char *indent);
/* where: what stands before the field's name in messages ("profiles[0]."). */
fm_status fm_accuracy_read(fm_json_scan *scan, const char *where, fm_accuracy **accuracy);

/* One more sentence of the statement. */
fm_status fm_accuracy_add(fm_accuracy *accuracy, fm_error *error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* What the sum of two profiles promises: what either does, where the other is exact or says the same; else
 * nothing (NULL). */
fm_status fm_accuracy_weaker(fm_accuracy **weaker, const fm_profile *a, const fm_profile *b, fm_error *error);

#endif
