/* SPDX-License-Identifier: Apache-2.0 */
/* phases_json.h - the field "phases" of a profile's JSON (docs/PROFILE.md). Internal. */
#ifndef FATHOM_PROFILE_PHASES_JSON_H
#define FATHOM_PROFILE_PHASES_JSON_H

#include <fathom/profile.h>

#include "base/json.h"

#include <stdio.h>

/* The value of the field, braces included; no newline at the end. Output errors stay in the FILE. */
void fm_phases_write(FILE *out, const fm_phases *phases, const char *indent);
/* where: what stands before the field's name in messages ("profiles[0]."). */
fm_status fm_phases_read(fm_json_scan *scan, const char *where, fm_phases **phases);

#endif
