/* SPDX-License-Identifier: Apache-2.0 */
/* caches_json.h - the field "caches" of a profile: what the run was asked about (docs/PROFILE.md). */
#ifndef FATHOM_PROFILE_CACHES_JSON_H
#define FATHOM_PROFILE_CACHES_JSON_H

#include "base/json.h"

#include <fathom/profile.h>
#include <stdio.h>

enum { FM_MOST_STORED_CACHES = 256 };

/* With the comma before it. */
void fm_caches_write(FILE *out, const fm_profile *profile, const char *indent);
/* where: which profile, for messages ("" or "profiles[2]."). */
fm_status fm_caches_read(fm_json_scan *scan, const char *where, fm_profile *profile);

#endif
