/* SPDX-License-Identifier: Apache-2.0 */
/* attribution_json.h - the fields "attribution", "run", "kernel" and "counts" of a profile's JSON
 * (docs/PROFILE.md). Internal. */
#ifndef FATHOM_PROFILE_ATTRIBUTION_JSON_H
#define FATHOM_PROFILE_ATTRIBUTION_JSON_H

#include <fathom/profile.h>

#include "base/json.h"

#include <stdio.h>

/* Profiles may be parts of parts to this depth: processes, their threads, and some room. Each level needs
 * some of the program's stack, and a file may come from anywhere. */
enum { FM_DEEPEST_PART = 8 };

/* The value of the field, braces included; no newline at the end. Output errors stay in the FILE. */
fm_status fm_attribution_write(FILE *out, const fm_attribution *attribution, const char *indent,
                               fm_error *error);
/* where: what stands before the field's name in messages ("profiles[0]."). The indices are not yet checked:
 * fm_attribution_sound does that, once the profile is whole. */
fm_status fm_attribution_read(fm_json_scan *scan, const char *where, fm_attribution **attribution);

void fm_run_write(FILE *out, const fm_run *run, const char *indent);
fm_status fm_run_read(fm_json_scan *scan, const char *where, fm_run **run);
void fm_run_destroy(fm_run *run); /* NULL is fine */

/* Both fields, with the commas before them. */
void fm_kernel_write(FILE *out, const fm_kernel *kernel, const char *indent);
/* counts: the field "counts", else "kernel". */
fm_status fm_kernel_read(fm_json_scan *scan, const char *where, bool counts, fm_kernel **kernel);
/* The field "bounds", with the comma before it. */
void fm_bounds_write(FILE *out, const fm_bounds *bounds, const char *indent);
/* The fields "set_associative" and "addresses", with the commas before them. */
void fm_set_misses_write(FILE *out, const fm_profile *profile, const char *indent);

#endif
