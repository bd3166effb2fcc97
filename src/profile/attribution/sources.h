/* SPDX-License-Identifier: Apache-2.0 */
/* sources.h - the source files of an attribution (fm_source): order, invariants, merging. Internal. */
#ifndef FATHOM_PROFILE_SOURCES_H
#define FATHOM_PROFILE_SOURCES_H

#include <fathom/attribution.h>

/* 64 digits, 0-9 a-f. */
bool fm_source_is_sum(const char *text);

/* By path. */
void fm_sources_sort(fm_source *sources, size_t count);

/* Ascending paths, each once; sums that are some; text only with a sum and, where none of its bytes was
 * replaced (by U+FFFD, in JSON), the one that has it. False: why says what is wrong and where, as in
 * `"sources", 'a.c': …`. */
bool fm_sources_sound(const fm_attribution *attribution, char *why, size_t size);

/*
 * The sources of a sum, made in the sum's memory, of those that a and b name (b may be NULL). A file that was
 * not the same in both, or of which one of the two that name it does not know what it was, keeps its path
 * only.
 */
fm_status fm_sources_add_up(fm_attribution *sum, const fm_attribution *a, const fm_attribution *b,
                            fm_error *error);

#endif
