/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_notes.c - what there is to say about a trace besides its references: which column is the key, what
 * was passed over, and the doubt whether a line of text, or a column of a table, is the key. Where nearly
 * every key is new, a trace says nothing about any cache, and most likely something else was meant: a log
 * whose lines begin with the time is read without an error, and every line is another key.
 */
#include "job/job_internal.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

typedef struct note_taker {
    fm_line_taker take;
    void *context;
} note_taker;

static void tell_line(const note_taker *taker, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void tell_line(const note_taker *taker, const char *format, ...)
{
    char line[FM_JOB_LINE];
    va_list arguments;
    if (!taker->take) return;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    taker->take(taker->context, line);
}

/* ---- keys that are nearly all new ---- */

/* Below that, a trace may well have no key twice. */
enum { LEAST_REFERENCES = 2000, SUSPECT_PERCENT = 99 };

static void look_at_table(fm_new_keys *keys, const fm_trace_info *info)
{
    char key[300] = "";
    if (info->key_name[0] != '\0')
        snprintf(key, sizeof key, "'%s'", info->key_name);
    else
        snprintf(key, sizeof key, "%" PRIu64, info->key_column);
    if (info->columns_seen[0] == '\0')
        snprintf(keys->advice, sizeof keys->advice, "Is column %s the key? A few of its values: %s", key,
                 info->key_values);
    else
        snprintf(keys->advice, sizeof keys->advice,
                 "Is column %s the key? csv_key=COLUMN says which it is, of these: %s", key,
                 info->columns_seen);
}

static void look_at_text(fm_new_keys *keys, const fm_trace_info *info)
{
    char delimiter[8];
    snprintf(delimiter, sizeof delimiter, info->columns_delimiter == '\t' ? "tab" : "'%c'",
             info->columns_delimiter);
    if (info->columns_seen[0] == '\0')
        snprintf(keys->advice, sizeof keys->advice,
                 "Each whole line is taken as a key: is there more in it than the key? A line is: %s",
                 info->key_values);
    else
        snprintf(
            keys->advice, sizeof keys->advice,
            "Each whole line is taken as a key; fm_reader_options.format csv csv_delimiter=%s,csv_header=%s,"
            "csv_key=NUMBER takes a column of it, of these: %s",
            delimiter, info->columns_from_second ? "yes" : "no", info->columns_seen);
}

void fm_new_keys_look(fm_new_keys *keys, const fm_trace_info *info)
{
    *keys = (fm_new_keys){0};
    if (strcmp(info->format, "csv") == 0 && info->key_column > 0)
        look_at_table(keys, info);
    else if (strcmp(info->format, "text") == 0 && info->key_values)
        look_at_text(keys, info);
}

static void tell_new_keys(const note_taker *taker, const fm_new_keys *keys, uint64_t references,
                          uint64_t first)
{
    if (keys->advice[0] == '\0' || references < LEAST_REFERENCES) return;
    const double percent = 100 * (double)first / (double)references;
    if (percent < SUSPECT_PERCENT) return;
    tell_line(taker,
              "nearly every key is new: %" PRIu64 " of %" PRIu64
              " references (%.1f %%) are the first to their key, so that no cache can help. %s",
              first, references, percent, keys->advice);
}

void fm_new_keys_note(fm_job *job, const fm_new_keys *keys, uint64_t references, uint64_t first)
{
    tell_new_keys(&(note_taker){job->options.note, job->options.context}, keys, references, first);
}

/* ---- the reader ---- */

void fm_reader_opened_notes(const fm_reader *reader, uint64_t granularity, fm_line_taker note, void *context)
{
    const note_taker taker = {note, context};
    fm_trace_info info;
    fm_reader_info(reader, &info);
    if (info.key_found)
        tell_line(&taker, "the key is column %" PRIu64 ", '%s': %s (csv_key says another)", info.key_column,
                  info.key_name, info.key_values);
    if (granularity <= 1) return;
    if (info.key_unit_unknown && !info.key_identity)
        tell_line(&taker,
                  "fm_job_options.granularity %" PRIu64
                  ": of what column '%s' counts, which by its name is not "
                  "bytes; csv_key_unit=BYTES makes it bytes (512 for sectors)",
                  granularity, info.key_name);
    if (info.key_identity && info.key_columns == 1)
        tell_line(
            &taker,
            "fm_job_options.granularity %" PRIu64 ": column '%s' is an identity, no address: keys whose "
            "numbers are close are taken as one block; without fm_job_options.granularity, each key is one",
            granularity, info.key_name);
    if (info.key_identity && info.key_columns > 1)
        tell_line(&taker,
                  "fm_job_options.granularity %" PRIu64 ": keys of several columns are hashed, and have no "
                  "neighbours; csv_key_unit=BYTES makes the last column a place within the others",
                  granularity);
}

void fm_reader_ended_notes(const fm_reader *reader, bool new_keys, fm_line_taker note, fm_line_taker warn,
                           void *context)
{
    const note_taker notes = {note, context}, warnings = {warn, context};
    fm_trace_info info;
    fm_reader_info(reader, &info);
    if (info.fetches_skipped)
        tell_line(&notes,
                  "instruction fetches skipped: %" PRIu64
                  " (fm_reader_options.fetches all or only counts them)",
                  info.fetches_skipped);
    if (info.string_keys && info.key_columns > 1)
        tell_line(&notes, "distinct keys of several columns, hashed to 64 bits: %" PRIu64, info.string_keys);
    else if (info.string_keys)
        tell_line(&notes, "distinct keys that are no numbers, hashed to 64 bits: %" PRIu64, info.string_keys);
    if (info.string_collisions)
        tell_line(&warnings,
                  "distinct keys whose 64-bit hash is that of another, taken as one with it: %" PRIu64,
                  info.string_collisions);
    if (!new_keys) return;
    fm_new_keys keys;
    fm_new_keys_look(&keys, &info);
    tell_new_keys(&notes, &keys, info.references, info.string_keys);
}
