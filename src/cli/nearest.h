/* SPDX-License-Identifier: Apache-2.0 */
/* nearest.h - "did you mean …?": the known word nearest to a mistyped one. */
#ifndef FATHOM_CLI_NEAREST_H
#define FATHOM_CLI_NEAREST_H

#include <stddef.h>

/*
 * Keeps in *best the candidate nearest to word so far; call it for every known word, with *best NULL
 * and *best_distance SIZE_MAX at first. *best stays NULL when nothing is near enough to be meant.
 */
void cli_nearest_consider(const char *word, const char *candidate, const char **best, size_t *best_distance);

#endif
