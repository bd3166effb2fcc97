/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text.h - numbers and names as people read them, on terminals, in CSV and on pages. Buffers are small
 * structs, returned by value.
 */
#ifndef FATHOM_VIEW_TEXT_H
#define FATHOM_VIEW_TEXT_H

#include <fathom/profile.h>
#include <fathom/view.h>

#include <stddef.h>
#include <stdio.h>

typedef struct fm_text {
    char text[48];
} fm_text;

fm_text fm_text_count(uint64_t value); /* 1,234,567 */
/* 512 B, 4 KiB, 4.53 MiB: of blocks * unit bytes, which may exceed 64 bits. */
fm_text fm_text_bytes(uint64_t blocks, uint64_t unit);
fm_text fm_text_scaled(uint64_t value); /* 1023, 64Ki, 1.5Mi */
/* Of a cache: in bytes, or in elements where that is what the profile counts. */
fm_text fm_text_cache_size(const fm_profile *profile, uint64_t size);
/* Its name, which is not ended by a 0 byte where it is long. */
fm_text fm_text_cache_name(const fm_cache *cache);
fm_text fm_text_exact_bytes(uint64_t blocks, uint64_t unit); /* blocks * unit in digits */
fm_text fm_text_percent(double share); /* "12.3 %", "0.0012 %", "0 %", never a rounded 100 or 0 */

fm_text fm_text_short(double value);         /* 787, 9.16 M: three digits, units of thousands */
fm_text fm_text_short_percent(double share); /* 16.7 %, 0.16 %; never a rounded 100 or 0 */
fm_text fm_text_whole_percent(double share); /* 91 %, <1 %, >99 % */
/* Whether blocks are keys (or elements) of no memory: what comes from a program has a run or code sites. */
bool fm_text_counts_keys(const fm_profile *profile);
/* What cold references are: first touches; of samples, what was never used again. */
const char *fm_text_cold(const fm_profile *profile);
/*
 * Of a profile that was sampled: observations that its late references and those never used again rest on; of
 * others UINT64_MAX. With fewer than FM_FEWEST_SAMPLES, one more would move the first digit of a share:
 * nothing is said of whose they are, nor how many blocks there are.
 */
enum { FM_FEWEST_SAMPLES = 10 };
uint64_t fm_text_samples_of_misses(const fm_profile *profile);
uint64_t fm_text_samples_of_footprint(const fm_profile *profile);
/* ± 12 %, from 41 samples: how sure an estimate is. Empty where samples is 0 or there is nothing. */
fm_text fm_text_sure(double estimate, double error, uint64_t samples, const fm_view_options *options);

/* A name out of a file: control characters and broken UTF-8 are written as \xNN, characters that reorder a
 * line or are not seen as <U+202E> (visible.h). Everything beyond ASCII is written as \xNN without unicode.
 * NULL is "(unnamed)". */
void fm_text_write_name(FILE *out, const char *name, bool unicode);

/* Columns that fm_text_write_name takes for a name; wide characters take two. */
unsigned fm_text_columns(const char *name, bool unicode);

/* The same name in at most `columns` columns: what does not fit gives way to "..." (one column with unicode)
 * at the beginning, in the middle or at the end. Returns the columns used. */
typedef enum fm_cut { FM_CUT_BEGINNING, FM_CUT_MIDDLE, FM_CUT_END } fm_cut;
unsigned fm_text_write_short(FILE *out, const char *name, unsigned columns, fm_cut cut, bool unicode);

/* The same to the right of as many blanks as are left of the columns. */
void fm_text_write_right(FILE *out, const char *name, unsigned columns, bool unicode);

/* What is listed by weight: the heaviest first, then by number; and numbers in ascending order. */
typedef struct fm_ranked {
    double weight;
    uint32_t number;
} fm_ranked;
void fm_ranked_sort(fm_ranked *ranks, size_t count);
void fm_numbers_sort(uint32_t *numbers, size_t count);

/* A caller's options, as far as they are known; NULL: the usual ones. */
fm_view_options fm_text_options(const fm_view_options *given, size_t given_size);

/* A text from outside, broken between words where it is wider than the terminal: `indent` columns are used up
 * in the first line, and left free in the others. No newline at the end. */
void fm_text_write_wrapped(FILE *out, const char *text, size_t length, unsigned indent,
                           const fm_view_options *options);

/* Terminal colours; nothing where options say no. */
typedef enum fm_ink { FM_INK_NONE, FM_INK_DIM, FM_INK_BOLD, FM_INK_BAR, FM_INK_WARNING } fm_ink;
void fm_text_ink(FILE *out, const fm_view_options *options, fm_ink ink);

/* A bar of up to `columns` columns, value/most of it filled, in eighths of a column with unicode. A
 * value over 0 always shows. Returns the columns used. */
unsigned fm_text_bar(FILE *out, double value, double most, unsigned columns, bool unicode);

/* What a profile covers: name, references, distinct blocks, cold, engine, what is missing. */
void fm_view_header(FILE *out, const fm_profile *profile, const fm_view_options *options);

/*
 * ======== function name ========
 * Names of C++ functions without what makes them long.
 */

/*
 * Without the list of parameters and the type that it returns, and with "<>" for template arguments:
 *
 *     std::vector<int, std::allocator<int> >::push_back(int const&)   std::vector<>::push_back
 *     (anonymous namespace)::parse(char*) const                       (anonymous namespace)::parse
 *     void std::sort<int*>(int*, int*)                                std::sort<>
 *
 * What it does not understand stays as it is. to gets at most size - 1 bytes, and is to be a copy where the
 * name is longer than that: then it ends early. Returns to.
 */
char *fm_function_name_shorten(const char *name, char *to, size_t size);

/*
 * ======== csv cell ========
 * Text from outside (names of functions, files, caches) in cells of CSV (RFC 4180, but for the
 * line ends, which are those of Unix), the one way for every table that is written.
 *
 * A table is shown on terminals and opened in spreadsheets. So characters that control a terminal, are not
 * seen or reorder others are written as what they are (base/plain_text.h; a line feed is left, in a quoted
 * cell); and a cell that would begin like a formula (=, +, -, @) begins with an apostrophe, which
 * spreadsheets take for text.
 */

/* A cell, quoted where it must be; NULL: an empty one. */
void fm_csv_write_cell(FILE *out, const char *text);

/* A cell of several texts, always quoted: begin, parts, end. Bytes that are not from outside may be written
 * between the parts. */
void fm_csv_begin_cell(FILE *out);
void fm_csv_write_first(FILE *out, const char *text);
void fm_csv_write_part(FILE *out, const char *text);
void fm_csv_end_cell(FILE *out);

/*
 * ======== html text ========
 * Text from outside as text of a page: escaped, characters that are not seen as <U+202E>.
 */

void fm_html_write_text(FILE *out, const char *text);

#endif
