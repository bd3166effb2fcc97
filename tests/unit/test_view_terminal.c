/* SPDX-License-Identifier: Apache-2.0 */
/* test_view_terminal.c - what the terminal shows says the right numbers, and is fit for a terminal. */
#include "case.h"

#include <fathom/view.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "view/text.h"

static fm_bin bins[] = {{0, 0, 500}, {3, 3, 250}, {700, 700, 150}};

static fm_profile sample(void)
{
    return (fm_profile){.name = (char *)"a trace",
                        .engine = (char *)"exact",
                        .exact = true,
                        .granularity = 64,
                        .references = 1000,
                        .distinct = 100,
                        .cold = 100,
                        .cold_known = true,
                        .bins = FM_BINS_EXACT,
                        .distances = {3, bins},
                        .complete = true};
}

typedef enum kind { HISTOGRAM, CURVE, CACHES } kind;

/* Not inlined: gcc 12 then mistakes what open_memstream returns through &text for a dangling pointer. */
__attribute__((noinline)) static char *shown(kind what, const fm_profile *profile,
                                             const fm_view_options *options)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    static const fm_cache caches[] = {{.name = "L1d", .bytes = 32768, .line = 64, .ways = 8},
                                      {.name = "L2", .bytes = 65536, .line = 64}};
    if (what == HISTOGRAM) fm_view_histogram(out, profile, options);
    if (what == CURVE) assert_int_equal(fm_view_curve(out, profile, options, NULL), FM_OK);
    if (what == CACHES) fm_view_caches(out, profile, caches, 2, options);
    assert_int_equal(fclose(out), 0);
    return text;
}

/* fail_msg does not return, but its declaration does not say so. */
static _Noreturn void missing(const char *what, const char *text)
{
    fail_msg("expected '%s' in:\n%s", what, text);
    abort();
}

/* The first line that begins so, copied; fails when there is none. */
static char *line_of(const char *text, const char *beginning)
{
    for (const char *at = text; at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL)
        if (strncmp(at, beginning, strlen(beginning)) == 0) {
            char *line = strndup(at, strcspn(at, "\n"));
            if (line) return line;
        }
    missing(beginning, text);
}

static void assert_line(const char *text, const char *beginning, const char *const *parts)
{
    char *line = line_of(text, beginning);
    const char *at = line;
    for (; *parts; parts++) {
        const char *found = strstr(at, *parts);
        if (!found) missing(*parts, line);
        at = found + strlen(*parts);
    }
    free(line);
}
#define LINE(text, beginning, ...) assert_line(text, beginning, (const char *const[]){__VA_ARGS__, NULL})

CASE(the_histogram_says_its_numbers)
{
    fm_profile profile = sample();
    fm_view_options options = {.width = 100};
    char *text = shown(HISTOGRAM, &profile, &options);
    LINE(text, "profile of", "a trace");
    LINE(text, "references", "1,000");
    LINE(text, "distinct", "100 blocks of 64 bytes", "6.25 KiB");
    LINE(text, "cold ", "100 first touches", "10.00 %");
    LINE(text, "0 ", "64 B", "500", "50.00 %", "50.00 %", "####");
    LINE(text, "1 ", "128 B", "-", "50.00 %");
    LINE(text, "[2, 4)", "256 B", "250", "25.00 %", "75.00 %", "##");
    LINE(text, "[512, 1Ki)", "64 KiB", "150", "15.00 %", "90.00 %");
    /* the second line that begins with cold is the histogram's */
    LINE(strstr(text, "[512"), "cold", "100", "10.00 %");
    assert_null(strstr(text, "INCOMPLETE"));
    assert_null(strstr(text, "[1Ki"));
    free(text);

    profile.granularity = 1;
    profile.bound = 800;
    profile.beyond = 100;
    profile.references = 1100;
    profile.cold_known = false;
    profile.complete = false;
    profile.lost = 12345;
    profile.what_missing = (char *)"the trace ends early";
    fm_bin times[] = {{1, 1, 3}, {16, 16, 1}};
    profile.has_times = true;
    profile.times = (fm_histogram){2, times};
    text = shown(HISTOGRAM, &profile, &options);
    LINE(text, "INCOMPLETE", "12,345 references", "the trace ends early");
    LINE(text, "UNKNOWN", "first touches");
    LINE(text, "from 800", "100");
    assert_null(strstr(text, "fits in"));
    LINE(strstr(text, "time distance"), "1 ", "3", "75.00 %");
    LINE(strstr(text, "time distance"), "[16, 32)", "1", "25.00 %", "100.00 %");
    free(text);
}

static size_t width_of_line(const char *line, size_t bytes)
{
    size_t width = 0;
    for (size_t i = 0; i < bytes; i++) width += ((unsigned char)line[i] & 0xC0) != 0x80;
    return width;
}

CASE(lines_fit_the_terminal)
{
    fm_profile profile = sample();
    profile.references += 4000000000000 - 1000;
    bins[0].count += 4000000000000 - 1000;
    for (unsigned width = 80; width <= 200; width += 40)
        for (int unicode = 0; unicode < 2; unicode++)
            for (kind what = HISTOGRAM; what <= CACHES; what++) {
                fm_view_options options = {.width = width, .unicode = unicode};
                char *text = shown(what, &profile, &options);
                for (char *line = text; *line; line += strcspn(line, "\n") + 1) {
                    size_t length = strcspn(line, "\n");
                    if (width_of_line(line, length) > width)
                        fail_msg("wider than %u: %.*s", width, (int)length, line);
                    assert_true(length == 0 || line[length - 1] != ' ');
                    for (size_t i = 0; i < length && !unicode; i++)
                        assert_true((unsigned char)line[i] < 0x80);
                }
                free(text);
            }
    bins[0].count = 500;
}

CASE(the_curve_falls_where_it_should)
{
    /* Half hit at once, the rest from 1024 blocks on: half high on the left, nothing on the right. */
    fm_bin half[] = {{0, 0, 500}, {1023, 1023, 500}};
    fm_profile profile = sample();
    profile.cold = 0;
    profile.distinct = 1024;
    profile.distances = (fm_histogram){2, half};
    fm_view_options options = {.width = 80};
    char *text = shown(CURVE, &profile, &options);
    char *full = line_of(text, "  75 %"), *middle = line_of(text, "  50 %");
    assert_null(strchr(full, '#'));
    assert_int_equal(strspn(middle + 8, "#"), strlen(middle + 8));
    assert_in_range(strlen(middle + 8), 66, 69); /* all columns but the last, at 1024 blocks */
    assert_non_null(strstr(text, "64 B"));
    assert_non_null(strstr(text, "cache size, in bytes"));
    free(full);
    free(middle);
    free(text);
}

CASE(caches_say_their_miss_ratios)
{
    fm_profile profile = sample();
    fm_view_options options = {0};
    char *text = shown(CACHES, &profile, &options);
    LINE(text, "L1d", "32 KiB", "512", "8", "25.00 %"); /* 700 >= 512: misses, with the cold ones */
    LINE(text, "L2", "64 KiB", "1,024", "-", "10.00 %", "-");
    assert_non_null(strstr(text, "estimate"));
    double estimate = fm_profile_misses_associative(&profile, 64, 8) / 1000;
    fm_text wanted = fm_text_percent(estimate);
    LINE(text, "L1d", wanted.text);
    free(text);
    profile.granularity = 1; /* blocks are no lines: no estimate, and it says so */
    text = shown(CACHES, &profile, &options);
    LINE(text, "no estimate", "1 byte");
    free(text);
    profile.bound = 701;
    profile.beyond = 10;
    profile.references += 10;
    text = shown(CACHES, &profile, &options);
    LINE(text, "L1d", "unknown");
    free(text);
}

CASE(names_cannot_control_the_terminal)
{
    static const struct {
        const char *name, *plain, *unicode;
    } cases[] = {
        {"a b", "a b", "a b"},
        {"\x1b[31m", "\\x1b[31m", "\\x1b[31m"},
        {"a\nb\x7f", "a\\x0ab\\x7f", "a\\x0ab\\x7f"},
        {"\xc2\x9b", "<U+009B>", "<U+009B>"}, /* C1: an escape in one character */
        {"a\xe2\x80\xae"
         "b",
         "a<U+202E>b", "a<U+202E>b"},                                         /* reverses what follows */
        {"\xe2\x81\xa6\xe2\x81\xa9", "<U+2066><U+2069>", "<U+2066><U+2069>"}, /* isolates */
        {"\xe2\x80", "\\xe2\\x80", "\\xe2\\x80"},                             /* the beginning of one */
        {"\xc3\xa9", "\\xc3\\xa9", "\xc3\xa9"},
        {"\xff", "\\xff", "\\xff"},
        {NULL, "(unnamed)", "(unnamed)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int unicode = 0; unicode < 2; unicode++) {
            char *text = NULL;
            size_t size = 0;
            FILE *out = open_memstream(&text, &size);
            fm_text_write_name(out, cases[i].name, unicode);
            fclose(out);
            assert_string_equal(text, unicode ? cases[i].unicode : cases[i].plain);
            free(text);
        }
}

CASE(numbers_are_written_for_people)
{
    assert_string_equal(fm_text_count(0).text, "0");
    assert_string_equal(fm_text_count(999).text, "999");
    assert_string_equal(fm_text_count(1000).text, "1,000");
    assert_string_equal(fm_text_count(UINT64_MAX).text, "18,446,744,073,709,551,615");
    assert_string_equal(fm_text_bytes(1, 64).text, "64 B");
    assert_string_equal(fm_text_bytes(1536, 1).text, "1.50 KiB");
    assert_string_equal(fm_text_bytes(UINT64_MAX, 64).text, "1.00 ZiB");
    assert_string_equal(fm_text_scaled(1023).text, "1023");
    assert_string_equal(fm_text_bytes((1u << 20) - 1, 1).text, "1.00 MiB");
    assert_string_equal(fm_text_scaled(1u << 20).text, "1Mi");
    assert_string_equal(fm_text_exact_bytes(UINT64_MAX, 64).text, "1180591620717411303360");
    assert_string_equal(fm_text_exact_bytes(0, 64).text, "0");
    assert_string_equal(fm_text_percent(0).text, "0.00 %");
    assert_string_equal(fm_text_percent(1).text, "100.00 %");
    assert_string_equal(fm_text_percent(1e-7).text, "1e-05 %");
    assert_string_equal(fm_text_percent(1 - 1e-7).text, ">99.99 %");
}

CASE(nothing_is_no_trouble)
{
    fm_profile profile = {.engine = (char *)"exact", .granularity = 1, .complete = true, .cold_known = true};
    fm_view_options options = {0};
    for (kind what = HISTOGRAM; what <= CACHES; what++) {
        char *text = shown(what, &profile, &options);
        assert_non_null(text);
        free(text);
    }
}

/* ---- runs and their parts ---- */

__attribute__((noinline)) static char *parts_of(const fm_profile *profile, const fm_view_options *options)
{
    static const fm_cache caches[] = {{.name = "L1d", .bytes = 32768},
                                      {.name = "L2", .bytes = 65536},
                                      {.name = "a long name of a cache", .bytes = 1 << 20}};
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    fm_view_parts(out, profile, caches, 3, options);
    assert_int_equal(fclose(out), 0);
    return text;
}

CASE(a_run_is_said)
{
    fm_profile profile = sample();
    fm_run run = {
        .command = (char *)"./a trace 'b c'",
        .collector = (char *)"valgrind",
        .what = (char *)"loads in function f",
        .ending = (char *)"killed by SIGSEGV (11)",
        .exit_code = -1,
        .signal = 11,
        .process = 4711,
        .parent = 17,
        .seconds = 12.345,
        .notes =
            (char *)"libz.so.1 has no debug information, which is a pity because it is where most of the "
                    "misses are\n\n  \nthreads take turns\n\x1b[31mred"};
    profile.run = &run;
    fm_view_options options = {.width = 80};
    char *text = shown(HISTOGRAM, &profile, &options);
    LINE(text, "command", "./a trace 'b c'");
    LINE(text, "process", "4711", "17");
    LINE(text, "watched", "loads in function f", "valgrind");
    LINE(text, "ended", "killed by SIGSEGV (11)", "12.3");
    LINE(text, "note", "libz.so.1 has no debug information");
    LINE(text, "note        threads", "take turns");
    LINE(text, "note        \\x1b", "[31mred");
    for (char *line = text; *line; line += strcspn(line, "\n") + 1) assert_true(strcspn(line, "\n") <= 80);
    free(text);
    run = (fm_run){.process = 4711, .parent = 17, .by_exec = true, .exit_code = -1};
    text = shown(HISTOGRAM, &profile, &options);
    LINE(text, "process", "4711, started by 17, by exec");
    free(text);
    run = (fm_run){.thread = 3, .process = 9, .exit_code = -1};
    text = shown(HISTOGRAM, &profile, &options);
    LINE(text, "thread", "3 of process 9");
    assert_null(strstr(text, "command"));
    assert_null(strstr(text, "watched"));
    assert_null(strstr(text, "ended"));
    assert_null(strstr(text, "note"));
    free(text);
}

CASE(parts_are_a_tree)
{
    enum { PARTS = 8 };
    /* pid, its parent; the sixth is the fourth after exec; the seventh names a process that comes later. */
    static const uint32_t pids[PARTS][2] = {{10, 1},  {20, 10}, {30, 10}, {40, 20},
                                            {50, 99}, {40, 20}, {60, 70}, {70, 60}};
    fm_profile whole = sample(), parts[PARTS], threads[2];
    fm_run runs[PARTS], thread_runs[2];
    fm_profile *pointers[PARTS], *thread_pointers[2];
    for (size_t i = 0; i < PARTS; i++) {
        parts[i] = sample();
        parts[i].name = (char *)"/usr/bin/program";
        runs[i] = (fm_run){.process = pids[i][0], .parent = pids[i][1], .by_exec = i == 5, .exit_code = -1};
        parts[i].run = &runs[i];
        pointers[i] = &parts[i];
    }
    for (size_t i = 0; i < 2; i++) {
        threads[i] = sample();
        thread_runs[i] = (fm_run){.process = 20, .thread = (uint32_t)i + 1, .exit_code = -1};
        threads[i].run = &thread_runs[i];
        thread_pointers[i] = &threads[i];
    }
    fm_view_options options = {.width = 100};
    char *text = parts_of(&whole, &options);
    assert_string_equal(text, ""); /* no parts */
    free(text);
    whole.parts = pointers;
    whole.part_count = PARTS;
    parts[1].parts = thread_pointers;
    parts[1].part_count = 2;
    parts[4].complete = false;
    parts[4].lost = 1234;
    parts[4].what_missing = (char *)"killed";
    parts[7].references = parts[7].cold = parts[7].distinct = 0;
    parts[7].distances.count = 0;
    parts[6].name = NULL;
    text = parts_of(&whole, &options);
    static const char *const rows[] = {"part",         "program 10",     "  program 20",     "    thread 1",
                                       "    thread 2", "    program 40", "      program 40", "  program 30",
                                       "program 50",   "  INCOMPLETE",   "pid 60",           "  program 70",
                                       "distinct:"};
    const char *at = text;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strncmp(at, rows[i], strlen(rows[i])) != 0)
            fail_msg("line %zu should begin '%s':\n%s", i, rows[i], text);
        at += strcspn(at, "\n") + 1;
    }
    assert_int_equal(*at, '\0');
    /* 100 of 1000 cold; 25 % and 10 % miss at 512 and at 1024 blocks. */
    LINE(text, "program 10", "1,000", "100", "10.00 %", "25.00 %", "10.00 %", "10.00 %");
    LINE(text, "  program 70", " 0", " 0", "-", "-");
    LINE(text, "  INCOMPLETE", "1,234 lost", "killed");
    free(text);

    static char longest[5001];
    memset(longest, 'n', sizeof longest - 1);
    parts[0].name = longest;
    parts[4].what_missing = longest;
    parts[2].references = 999999999999;
    for (options.width = 80; options.width <= 200; options.width += 30)
        for (int unicode = 0; unicode < 2; unicode++) {
            options.unicode = unicode;
            text = parts_of(&whole, &options);
            for (char *line = text; *line; line += strcspn(line, "\n") + 1)
                if (width_of_line(line, strcspn(line, "\n")) > options.width) fail_msg("too wide: %s", line);
            free(text);
        }
}
