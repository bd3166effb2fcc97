/* SPDX-License-Identifier: Apache-2.0 */
/*
 * new_keys.h - the doubt whether a line of text, or a column of a table, is the key: where nearly every one
 * is new, a trace says nothing about any cache, and most likely something else was meant. A log whose lines
 * begin with the time is read without an error, and every line is another key.
 */
#ifndef FATHOM_CLI_NEW_KEYS_H
#define FATHOM_CLI_NEW_KEYS_H

#include <fathom/trace.h>

/* What there is to say of an open trace; it can be kept when the trace is closed. */
typedef struct cli_new_keys {
    char advice[900]; /* "": there is no doubt about traces of this format */
    bool said;
} cli_new_keys;

void cli_new_keys_look(cli_new_keys *keys, const fm_trace_info *info);
/* Says it, once, where so many of the references were to keys that were not there before. */
void cli_new_keys_note(cli_new_keys *keys, uint64_t references, uint64_t first);

#endif
