/* SPDX-License-Identifier: Apache-2.0 */
/*
 * laws.h - what holds of every profile (docs/TESTING.md, "Laws"). Internal.
 *
 * Whoever makes a profile calls fm_profile_made at its end; writing and reading one checks it again. A result
 * that breaks a law is never shown: of ours it is an internal error, of a file it is refused. Estimates are
 * kept within what can be true before that (src/model/sample_result.c).
 */
#ifndef FATHOM_PROFILE_LAWS_H
#define FATHOM_PROFILE_LAWS_H

#include <fathom/profile.h>

/* What a profile is of. */
typedef enum fm_law_scope {
    FM_LAWS_ANY,   /* of all of a trace, or of a phase of it, whose blocks may have been touched before */
    FM_LAWS_WHOLE, /* of all that the engine was given: each block has its first touch in it */
} fm_law_scope;

typedef struct fm_law {
    const char *name;
    const char *says;   /* what holds */
    fm_law_scope scope; /* FM_LAWS_WHOLE: it holds of a whole trace only */
    /* Whether it holds; else why has the numbers. */
    bool (*holds)(const fm_profile *profile, char *why, size_t size);
} fm_law;

/* The laws, for tests and documents; NULL past the end. */
const fm_law *fm_law_at(size_t index);
/* The first law that a profile or one of its parts breaks, and the numbers. NULL: none. */
const fm_law *fm_law_broken(const fm_profile *profile, fm_law_scope scope, char *why, size_t size);
/* The same of two profiles of one run at different granularities. */
extern const fm_law fm_law_nested;
bool fm_footprints_nest(const fm_profile *small, const fm_profile *large, char *why, size_t size);
/* FM_E_INTERNAL where a profile that we made breaks one. path: where it was to be written; may be NULL. */
fm_status fm_profile_made(const fm_profile *profile, fm_law_scope scope, const char *path, fm_error *error);

#endif
