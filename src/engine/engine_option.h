/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine_option.h - options of a single engine: a table beside the engine says which there are, a text gives
 * some of them, and this turns the text into values. The values are in the order of the table, so that the
 * engine asks for them by an enum of its own.
 */
#ifndef FATHOM_ENGINE_OPTION_H
#define FATHOM_ENGINE_OPTION_H

#include <fathom/engines.h>

enum { FM_MOST_OWN_OPTIONS = 8 };

typedef struct fm_option_value {
    bool given;
    uint64_t count; /* of a flag: 0 or 1 */
    double real;
} fm_option_value;

/* "64", "0x40", "4K", "1M": false when text is not wholly that, or overflows. */
bool fm_parse_count(const char *text, uint64_t *value);

/* table: NULL for an engine that has none; values[FM_MOST_OWN_OPTIONS] are all set. */
fm_status fm_own_options_parse(const char *engine, const fm_engine_option *table, const char *text,
                               fm_option_value *values, fm_error *error);

/* The value that was given, or the usual one; 0 where there is none. Flags are counts. */
uint64_t fm_own_count(const fm_option_value *values, const fm_engine_option *table, size_t index);
double fm_own_real(const fm_option_value *values, const fm_engine_option *table, size_t index);

#endif
