/* SPDX-License-Identifier: Apache-2.0 */
/*
 * terminal_verdict.c - the first screen: the answer, then why.
 *
 *     blur exited with 0: 54.9 M references to 48 MiB, every one seen, exact
 *
 *     cache       size   misses  of refs    late   first   most of them at
 *     L1d       48 KiB   9.16 M   16.7 %    91 %     9 %   blur.c:25, blur.c:26
 *     L2         2 MiB   1.31 M    2.4 %    40 %    60 %   blur.c:37
 *
 *     L1d: two lines make 86 % of the misses
 *                    L1d       L2  of L1d
 *       blur.c:25  3.93 M        0   43 %  sum += from[y + d][x];
 *           in blur_columns, on heap block from main (blur.c:33)
 *
 * Numbers are those of code_groups.c and the model; this file only lays them out. No line is wider than the
 * terminal.
 */
#define _GNU_SOURCE
#include <fathom/view.h>

#include "base/base_name.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/sized.h"
#include "profile/attribution/attribution_check.h"
#include "profile/laws.h"
#include "view/miss_table.h"
#include "view/source_files.h"
#include "view/text.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ======== verdict sentence ======== */

/* ---- a text that grows; what does not fit is left out ---- */

typedef struct sentence {
    char text[2000];
} sentence;

__attribute__((format(printf, 2, 3))) static void sentence_say(sentence *to, const char *format, ...)
{
    size_t used = strlen(to->text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(to->text + used, sizeof to->text - used, format, arguments);
    va_end(arguments);
}

static void sentence_write(FILE *out, const char *text, unsigned indent, const fm_view_options *options)
{
    fm_text_write_wrapped(out, text, strlen(text), indent, options);
    putc('\n', out);
}

/* ---- which program, trace or source ---- */

static void say_exactness(sentence *to, const fm_profile *profile)
{
    sentence_say(to, "%s", profile->exact ? "exact" : "estimated");
    if (profile->bound) sentence_say(to, " below %s blocks", fm_text_count(profile->bound).text);
}

static void say_run(sentence *to, const fm_profile *profile)
{
    const fm_run *run = profile->run;
    const char *name = profile->name ? profile->name : run->command ? run->command : "the program";
    sentence_say(to, "%s", fm_base_name(name));
    if (run->thread) sentence_say(to, ", thread %" PRIu32, run->thread);
    if (run->ending) sentence_say(to, " %s", run->ending);
}

static void say_counts(sentence *to, const fm_profile *profile)
{
    sentence_say(to, ": %s reference%s", fm_text_short((double)profile->references).text,
                 profile->references == 1 ? "" : "s");
    const uint64_t samples = fm_text_samples_of_footprint(profile);
    if (samples < FM_FEWEST_SAMPLES)
        sentence_say(to, " to an unknown number of blocks (%" PRIu64 " sample%s of it)", samples,
                     samples == 1 ? "" : "s");
    else if (profile->granularity > 1)
        sentence_say(to, " to %s", fm_text_bytes(profile->distinct, profile->granularity).text);
    else
        sentence_say(to, " to %s %s", fm_text_short((double)profile->distinct).text,
                     profile->elements ? "elements" : "blocks");
    const bool all =
        !profile->run || !profile->run->what || strcmp(profile->run->what, "all references") == 0;
    if (!all)
        sentence_say(to, ", %s", profile->run->what);
    else if (profile->run && profile->complete)
        sentence_say(to, ", every one seen");
    sentence_say(to, ", ");
    say_exactness(to, profile);
}

/* A number as numbers are shown, or a formula; nothing of what is not done. */
static void say_count(sentence *to, const char **before, const char *count, const char *what)
{
    char *end;
    if (!count || strcmp(count, "0") == 0) return;
    errno = 0;
    unsigned long long number = strtoull(count, &end, 10);
    const bool formula = *end || end == count || errno;
    sentence_say(to, "%s%s%s", *before, formula ? count : fm_text_short((double)number).text, what);
    *before = ", ";
}

static void say_kernel(sentence *to, const fm_profile *profile)
{
    const fm_kernel *kernel = profile->kernel;
    if (kernel->function) sentence_say(to, "%s", kernel->function);
    if (kernel->file) {
        sentence_say(to, "%s%s", kernel->function ? " (" : "", fm_base_name(kernel->file));
        if (kernel->first_line)
            sentence_say(to, ":%" PRIu32 "-%" PRIu32, kernel->first_line, kernel->last_line);
        if (kernel->function) sentence_say(to, ")");
    }
    if (kernel->parameters && kernel->parameters[0]) sentence_say(to, ", %s", kernel->parameters);
    if (kernel->loads) {
        const char *before = ": ";
        say_count(to, &before, kernel->loads, " loads");
        say_count(to, &before, kernel->stores, " stores");
        say_count(to, &before, kernel->flops, " flops");
        if (before[0] == ':') sentence_say(to, ": it touches nothing");
    } else {
        sentence_say(to, ": %s references", fm_text_short((double)profile->references).text);
    }
}

/* How sure a profile of source code is. */
static void write_certainty(FILE *out, const fm_profile *profile, const fm_view_options *options)
{
    const fm_kernel *kernel = profile->kernel;
    sentence how = {""};
    const char *method = profile->exact ? kernel->method : NULL; /* else it is in the accuracy */
    sentence_say(&how, "%s%s%s; %s rows; %.2f s", kernel->certainty ? kernel->certainty : "exact",
                 method ? ": " : "", method ? method : "", kernel->layout ? kernel->layout : "contiguous",
                 kernel->seconds);
    sentence_write(out, how.text, 0, options);
}

/* ---- what limits it ---- */

static void write_warning(FILE *out, const char *word, const char *text, const fm_view_options *options)
{
    fm_text_ink(out, options, FM_INK_WARNING);
    fputs(word, out);
    fm_text_ink(out, options, FM_INK_NONE);
    putc(' ', out);
    sentence_write(out, text, (unsigned)strlen(word) + 1, options);
}

static void write_notes(FILE *out, const char *notes, const fm_view_options *options)
{
    while (notes && *notes) {
        size_t length = strcspn(notes, "\n");
        if (strspn(notes, " ") < length) {
            fm_text_ink(out, options, FM_INK_DIM);
            fputs("note ", out);
            fm_text_ink(out, options, FM_INK_NONE);
            fm_text_write_wrapped(out, notes, length, 5, options);
            putc('\n', out);
        }
        notes += length + (notes[length] == '\n');
    }
}

void fm_verdict_sentence(FILE *out, const fm_profile *profile, const fm_view_options *options)
{
    sentence first = {""};
    if (profile->kernel) {
        say_kernel(&first, profile);
    } else if (profile->run) {
        say_run(&first, profile);
        say_counts(&first, profile);
    } else {
        sentence_say(&first, "%s", profile->name ? fm_base_name(profile->name) : "(unnamed)");
        say_counts(&first, profile);
    }
    fm_text_ink(out, options, FM_INK_BOLD);
    fm_text_write_wrapped(out, first.text, strlen(first.text), 0, options);
    fm_text_ink(out, options, FM_INK_NONE);
    putc('\n', out);
    if (profile->kernel) write_certainty(out, profile, options);
    if (!profile->exact)
        write_warning(out, "APPROXIMATE",
                      profile->accuracy ? profile->accuracy->statement : "nothing is promised", options);
    if (!profile->complete) {
        sentence missing = {""};
        if (profile->lost)
            sentence_say(&missing, "%s references are known to be missing",
                         fm_text_count(profile->lost).text);
        else
            sentence_say(&missing, "an unknown number of references is missing");
        if (profile->what_missing) sentence_say(&missing, ": %s", profile->what_missing);
        write_warning(out, "INCOMPLETE", missing.text, options);
    }
    if (!profile->cold_known)
        write_warning(out, "UNKNOWN",
                      "first touches among the references beyond the bound: memory to tell them ran out",
                      options);
    if (profile->run && !options->notes_shown) write_notes(out, profile->run->notes, options);
    if (profile->kernel) write_notes(out, profile->kernel->notes, options);
}

/* ======== terminal verdict ======== */

enum {
    MOST_LEVELS = 32,    /* of the table */
    MOST_COLUMNS = 4,    /* of the list */
    LATE_MATTERS = 1000, /* 1/1000 of the references */
    MOST_PLACES = 3,     /* named in the table */
    WIDEST_PLACE = 34,
};

typedef struct verdict {
    FILE *out;
    const fm_profile *profile;
    const fm_cache *caches;
    size_t count; /* of caches */
    fm_cache_fit fits[MOST_LEVELS];
    size_t judged; /* the list is about this one */
    fm_by by;
    const fm_view_options *options;
    unsigned width;
    /* Where the profile knows its code: */
    fm_code_groups groups;
    uint32_t *order; /* by the misses at the judged level */
    size_t listed;   /* rows of the list */
    bool few;        /* too few samples to say whose the misses are */
} verdict;

static void verdict_ink(const verdict *of, fm_ink which)
{
    fm_text_ink(of->out, of->options, which);
}

static const char *cache_name(const fm_cache *cache, char name[sizeof cache->name + 1])
{
    memcpy(name, cache->name, sizeof cache->name);
    name[sizeof cache->name] = '\0';
    return name;
}

/* Misses that are no first touches. */
static double late_of(const fm_profile *profile, const fm_cache_fit *fit)
{
    double late = fit->misses.expected - (double)profile->cold;
    return late > 0 ? late : 0;
}

size_t fm_verdict_level(const fm_profile *profile, const fm_cache *caches, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const fm_cache_fit fit = fm_cache_fit_make(profile, &caches[i]);
        if (late_of(profile, &fit) * LATE_MATTERS >= (double)profile->references && profile->references)
            return i;
    }
    return 0;
}

/* ---- misses at every cache ---- */

static bool has_band(const verdict *of)
{
    return of->profile->accuracy && of->profile->accuracy->band_count > 0;
}

/* The places with most misses at a level: enough of them for most of the misses, as many as there is room. */
static fm_status write_places(const verdict *of, size_t level, unsigned room, fm_error *error)
{
    uint32_t *order = fm_calloc(of->groups.count, sizeof *order);
    if (!order) return fm_fail_memory(error, of->groups.count * sizeof *order, "the order of lines");
    fm_status status = fm_code_groups_order(&of->groups, level, order, error);
    const double all = of->fits[level].misses.expected;
    const bool cold_only = !(late_of(of->profile, &of->fits[level]) > 0);
    char mark[32];
    const char *short_mark = of->profile->sampling ? " (never)" : " (first)";
    snprintf(mark, sizeof mark, " (%s)", fm_text_cold(of->profile));
    double passed = 0;
    for (size_t i = 0; !status && i < of->groups.count && i < MOST_PLACES; i++) {
        const fm_code_group *group = &of->groups.groups[order[i]];
        char text[600];
        if (!(group->misses[level] > 0) || (i && (passed > all * 0.8 || group->misses[level] < all * 0.1)))
            break;
        unsigned columns =
            fm_text_columns(fm_code_group_text(group, text, sizeof text), of->options->unicode);
        if (i && columns + 2 > room) break;
        fputs(i ? ", " : "   ", of->out);
        room -= i ? 2 : 0;
        room -= fm_text_write_short(of->out, text, room, FM_CUT_MIDDLE, of->options->unicode);
        passed += group->misses[level];
        if (cold_only) {
            if (room >= strlen(mark))
                fputs(mark, of->out);
            else if (room >= strlen(short_mark))
                fputs(short_mark, of->out);
            break;
        }
    }
    free(order);
    return status;
}

static fm_status write_level(const verdict *of, size_t level, fm_error *error)
{
    enum { BEFORE_PLACES = 55 };
    const fm_cache *cache = &of->caches[level];
    const fm_cache_fit *fit = &of->fits[level];
    char name[sizeof cache->name + 1];
    const double misses = fit->misses.expected;
    unsigned used =
        fm_text_write_short(of->out, cache_name(cache, name), 8, FM_CUT_END, of->options->unicode);
    fprintf(of->out, "%*s %8s", used < 8 ? (int)(8 - used) : 0, "",
            fm_text_cache_size(of->profile, cache->bytes).text);
    if (!fit->misses.known) {
        fprintf(of->out, "  unknown: larger than the profile's bound\n");
        return FM_OK;
    }
    fprintf(of->out, " %8s %8s", fm_text_short(misses).text, fm_text_short_percent(fit->ratio).text);
    if (has_band(of)) {
        char band[128] = "";
        if (fit->has_band)
            snprintf(band, sizeof band, "(%s to %s)", fm_text_short_percent(fit->least).text,
                     fm_text_short_percent(fit->most).text);
        fprintf(of->out, of->order ? " %-15s" : " %s", band);
    } else {
        const double late = late_of(of->profile, fit);
        fprintf(of->out, " %7s %7s", fm_text_whole_percent(misses > 0 ? late / misses : 0).text,
                fm_text_whole_percent(misses > 0 ? 1 - late / misses : 0).text);
    }
    fm_status status = FM_OK;
    if (of->order && !of->few)
        status =
            write_places(of, level, of->width > BEFORE_PLACES + 12 ? of->width - BEFORE_PLACES : 12, error);
    putc('\n', of->out);
    return status;
}

static fm_status write_levels(const verdict *of, fm_error *error)
{
    verdict_ink(of, FM_INK_DIM);
    fprintf(of->out, "\n%-8s %8s %8s %8s", "cache", "size", "misses", "of refs");
    if (has_band(of)) {
        char band[32];
        snprintf(band, sizeof band, "(%.0f %% band)", of->profile->accuracy->confidence * 100);
        fprintf(of->out, of->order ? " %-15s" : " %s", band);
    } else {
        fprintf(of->out, " %7s %7s", "late", "first");
    }
    fprintf(of->out, "%s\n", of->order && !of->few ? "   most of them at" : "");
    verdict_ink(of, FM_INK_NONE);
    fm_status status = FM_OK;
    for (size_t i = 0; i < of->count && !status; i++) status = write_level(of, i, error);
    verdict_ink(of, FM_INK_DIM);
    if (of->profile->elements)
        fputs("fully associative LRU, sizes in elements; late: used before, and lost since\n", of->out);
    else
        fprintf(of->out, "fully associative LRU, %s-byte blocks; late: used before, and lost since\n",
                fm_text_count(of->profile->granularity).text);
    verdict_ink(of, FM_INK_NONE);
    return status;
}

/* ---- the list ---- */

static const fm_code_group *verdict_row(const verdict *of, size_t rank)
{
    return &of->groups.groups[of->order[rank]];
}

static double verdict_total(const verdict *of)
{
    return of->fits[of->judged].misses.expected;
}

/* As many as make nearly everything, without the many small ones behind them. */
static size_t rows_that_matter(const verdict *of, size_t most)
{
    double passed = 0;
    size_t rows = 0;
    while (rows < of->groups.count && rows < most) {
        const double misses = verdict_row(of, rows)->misses[of->judged];
        if (!(misses > 0) || passed > verdict_total(of) * 0.95 || (rows && misses < verdict_total(of) * 0.01))
            break;
        passed += misses;
        rows++;
    }
    return rows;
}

/* The caches that have a column: the judged one, and the others in their order as far as there is room. */
static size_t choose_columns(const verdict *of, size_t columns[MOST_COLUMNS])
{
    size_t count = 0;
    const size_t last = of->judged < MOST_COLUMNS ? MOST_COLUMNS : MOST_COLUMNS - 1;
    for (size_t i = 0; i < of->count && count < last; i++) columns[count++] = i;
    if (of->judged >= last) columns[count++] = of->judged;
    return count;
}

static void write_heading(const verdict *of)
{
    static const char *const words[] = {"no",  "one",   "two",   "three", "four", "five",
                                        "six", "seven", "eight", "nine",  "ten"};
    static const char *const nouns[][2] = {
        {"line", "lines"}, {"function", "functions"}, {"object", "objects"}, {"place", "places"}};
    char name[sizeof of->caches->name + 1];
    double passed = 0;
    size_t told = 0, noun = of->by; /* told: so many make most of it */
    for (; told < of->listed && (told == 0 || passed < verdict_total(of) * 0.8); told++) {
        if (of->by == FM_BY_LINE && verdict_row(of, told)->kind != FM_GROUP_LINE) noun = 3;
        passed += verdict_row(of, told)->misses[of->judged];
    }
    verdict_ink(of, FM_INK_BOLD);
    fm_text_write_name(of->out, cache_name(&of->caches[of->judged], name), of->options->unicode);
    fputs(": ", of->out);
    if (told < sizeof words / sizeof *words)
        fputs(words[told], of->out);
    else
        fprintf(of->out, "%zu", told);
    fprintf(of->out, " %s make%s %s of the misses\n", nouns[noun][told != 1], told == 1 ? "s" : "",
            fm_text_whole_percent(passed / verdict_total(of)).text);
    verdict_ink(of, FM_INK_NONE);
}

/* What is missed on in a group's code, most of all; 0 where nothing is known. share: of the group's misses
 * that are known. */
static double main_object(const verdict *of, const fm_code_group *group, char *text, size_t size)
{
    const fm_attribution *at = of->groups.of;
    double *sums = fm_calloc(at->object_count, sizeof *sums), all = 0;
    size_t best = 0;
    if (!sums || !of->groups.of_site || at->object_count == 0) {
        free(sums);
        return 0;
    }
    for (size_t i = 0; i < at->object_use_count; i++) {
        const fm_object_use *use = &at->object_uses[i];
        if (of->groups.of_site[use->site] != group->number) continue;
        const double misses = fm_object_use_misses(use, of->groups.blocks[of->judged]);
        sums[use->object] += misses;
        all += misses;
    }
    for (size_t i = 0; i < at->object_count; i++)
        if (sums[i] > sums[best]) best = i;
    const double share = all > 0 ? sums[best] / all : 0;
    if (share > 0) fm_object_text(at, (uint32_t)best, text, size);
    free(sums);
    return share;
}

/* The function in a module, or the line in a function, with most of a group's misses. */
static void main_place(const verdict *of, const fm_code_group *group, char *text, size_t size)
{
    const fm_attribution *at = of->groups.of;
    double *sums = fm_calloc(at->site_count, sizeof *sums);
    size_t best = 0;
    text[0] = '\0';
    if (!sums || !of->groups.of_site || at->site_count == 0) {
        free(sums);
        return;
    }
    for (size_t i = 0; i < at->pair_count; i++)
        if (of->groups.of_site[at->pairs[i].reuse] == group->number)
            sums[at->pairs[i].reuse] += fm_pair_misses(&at->pairs[i], of->groups.blocks[of->judged]);
    for (size_t i = 0; i < at->site_count; i++)
        if (sums[i] > sums[best]) best = i;
    if (sums[best] > 0) fm_site_text(at, (uint32_t)best, text, size);
    free(sums);
}

static void write_detail(const verdict *of, const char *text)
{
    if (!text[0]) return;
    verdict_ink(of, FM_INK_DIM);
    fputs("      ", of->out);
    fm_text_write_short(of->out, text, of->width > 26 ? of->width - 6 : 20, FM_CUT_END, of->options->unicode);
    verdict_ink(of, FM_INK_NONE);
    putc('\n', of->out);
}

/* Below a row: what it has no room for, and how sure it is. */
static void write_details(const verdict *of, const fm_code_group *group)
{
    char object[600] = "", place[1200] = "", all[3000];
    const double share = main_object(of, group, object, sizeof object);
    if (group->kind == FM_GROUP_LINE && group->function) {
        snprintf(place, sizeof place, "in %s", group->function);
    } else if (group->kind == FM_GROUP_MODULE || group->kind == FM_GROUP_FUNCTION) {
        char most[1000];
        main_place(of, group, most, sizeof most);
        if (most[0]) snprintf(place, sizeof place, "most at %s", most);
    }
    snprintf(all, sizeof all, "%s%s%s%s%s", place, place[0] && object[0] ? ", " : "", object[0] ? "on " : "",
             object, object[0] && share < 0.995 ? " and others" : "");
    write_detail(of, all);
    write_detail(of, fm_text_sure(group->uses, group->error, group->samples, of->options).text);
}

/* The text of a source line, where there is some and room for it. */
static fm_status write_source(const verdict *of, const fm_code_group *group, unsigned room, fm_error *error)
{
    if (group->kind != FM_GROUP_LINE || room < 12) return FM_OK;
    fm_source_text *text = fm_calloc(1, sizeof *text);
    if (!text) return fm_fail_memory(error, sizeof *text, "the text of a source file");
    const fm_report_options options = {0};
    fm_status status = fm_source_text_read(text, &options, fm_attribution_source(of->groups.of, group->file),
                                           of->groups.of->sources != NULL, error);
    if (!status && !*text->why && group->line <= text->line_count) {
        size_t length, at = 0;
        char line[400];
        const char *bytes = fm_source_text_line(text, group->line - 1, &length);
        while (at < length && (bytes[at] == ' ' || bytes[at] == '\t')) at++;
        snprintf(line, sizeof line, "%.*s", (int)(length - at < sizeof line ? length - at : sizeof line - 1),
                 bytes + at);
        for (char *tab = line; (tab = strchr(tab, '\t'));) *tab = ' ';
        fputs("  ", of->out);
        fm_text_write_short(of->out, line, room - 2, FM_CUT_END, of->options->unicode);
    }
    fm_source_text_clear(text);
    free(text);
    return status;
}

static fm_status write_rows(const verdict *of, fm_error *error)
{
    size_t columns[MOST_COLUMNS], column_count = choose_columns(of, columns);
    unsigned place = 4;
    char text[1200], name[sizeof of->caches->name + 1];
    for (size_t i = 0; i < of->listed; i++) {
        unsigned needed =
            fm_text_columns(fm_code_group_text(verdict_row(of, i), text, sizeof text), of->options->unicode);
        if (needed > place) place = needed < WIDEST_PLACE ? needed : WIDEST_PLACE;
    }
    verdict_ink(of, FM_INK_DIM);
    fprintf(of->out, "  %*s", (int)place, "");
    for (size_t i = 0; i < column_count; i++) {
        putc(' ', of->out);
        fm_text_write_right(of->out, cache_name(&of->caches[columns[i]], name), 8, of->options->unicode);
    }
    fputs("  of ", of->out);
    fm_text_write_short(of->out, cache_name(&of->caches[of->judged], name), 8, FM_CUT_END,
                        of->options->unicode);
    putc('\n', of->out);
    verdict_ink(of, FM_INK_NONE);
    const unsigned used = 2 + place + 9 * (unsigned)column_count + 7;
    fm_status status = FM_OK;
    for (size_t i = 0; i < of->listed && !status; i++) {
        const fm_code_group *group = verdict_row(of, i);
        fputs("  ", of->out);
        unsigned wrote = fm_text_write_short(of->out, fm_code_group_text(group, text, sizeof text), place,
                                             FM_CUT_MIDDLE, of->options->unicode);
        fprintf(of->out, "%*s", (int)(place - wrote), "");
        for (size_t c = 0; c < column_count; c++)
            fprintf(of->out, " %8s", fm_text_short(group->misses[columns[c]]).text);
        fprintf(of->out, " %6s", fm_text_whole_percent(group->misses[of->judged] / verdict_total(of)).text);
        status = write_source(of, group, of->width > used ? of->width - used : 0, error);
        putc('\n', of->out);
        write_details(of, group);
    }
    return status;
}

/* ---- how far apart the uses are ---- */

/* The range of distances with the median of the late re-uses at the listed rows. False: none, or no end. */
static bool late_median(const verdict *of, uint64_t *lo, uint64_t *hi)
{
    const fm_attribution *at = of->groups.of;
    const uint64_t blocks = of->groups.blocks[of->judged];
    double counts[256] = {0}, all = 0, passed = 0;
    for (size_t i = 0; i < at->pair_count; i++) {
        const fm_pair *pair = &at->pairs[i];
        bool listed = of->by == FM_BY_OBJECT;
        for (size_t r = 0; r < of->listed && !listed; r++)
            listed = of->order[r] == of->groups.of_site[pair->reuse];
        for (size_t b = 0, edge = 0; listed && b < pair->bin_count; b++) {
            if (pair->bins[b].lo < blocks) continue;
            while (edge + 1 < at->edge_count && at->edges[edge + 1] <= pair->bins[b].lo) edge++;
            counts[edge] += (double)pair->bins[b].count;
            all += (double)pair->bins[b].count;
        }
    }
    if (!(all > 0)) return false;
    for (size_t edge = 0; edge + 1 < at->edge_count; edge++) {
        passed += counts[edge];
        if (passed * 2 < all) continue;
        *lo = at->edges[edge];
        *hi = at->edges[edge + 1];
        return true;
    }
    return false;
}

static void write_distance(const verdict *of)
{
    uint64_t lo, hi;
    const uint64_t unit = of->profile->granularity;
    char text[400];
    if (!late_median(of, &lo, &hi)) return;
    const fm_misses there = fm_profile_misses(of->profile, hi);
    int length = snprintf(text, sizeof text, "used again after %s to %s other %s", fm_text_count(lo).text,
                          fm_text_count(hi).text, of->profile->elements ? "elements" : "blocks");
    if (!of->profile->elements)
        length += snprintf(text + length, sizeof text - (size_t)length, " (%s to %s)",
                           fm_text_bytes(lo, unit).text, fm_text_bytes(hi, unit).text);
    if (there.known && there.expected < verdict_total(of) * 0.9)
        snprintf(text + length, sizeof text - (size_t)length, ": a cache of %s would miss %s instead of %s",
                 of->profile->elements ? fm_text_scaled(hi).text : fm_text_bytes(hi, unit).text,
                 fm_text_short_percent(there.expected / (double)of->profile->references).text,
                 fm_text_short_percent(of->fits[of->judged].ratio).text);
    fputs("  ", of->out);
    fm_text_write_wrapped(of->out, text, strlen(text), 2, of->options);
    putc('\n', of->out);
}

/* ---- all of it ---- */

static fm_status write_list(verdict *of, size_t most, fm_error *error)
{
    const double misses = verdict_total(of);
    if (!(misses > 0)) {
        fputs("\nno misses at all: every re-use comes in time for these caches\n", of->out);
        return FM_OK;
    }
    putc('\n', of->out);
    if (of->few) {
        fprintf(of->out, "too few samples for a verdict: %" PRIu64 " of misses (%d are the least)\n",
                fm_text_samples_of_misses(of->profile), (int)FM_FEWEST_SAMPLES);
        return FM_OK;
    }
    of->listed = rows_that_matter(of, most);
    if (of->listed == 0) {
        fputs("the profile does not tell which data its references are to\n", of->out);
        return FM_OK;
    }
    write_heading(of);
    fm_status status = write_rows(of, error);
    if (!status && late_of(of->profile, &of->fits[of->judged]) > 0)
        write_distance(of);
    else if (!status)
        fprintf(of->out, "  %s only: no re-use comes too late for any of these caches\n",
                fm_text_cold(of->profile));
    return status;
}

static fm_status find_groups(verdict *of, fm_error *error)
{
    uint64_t blocks[MOST_LEVELS];
    const uint64_t bound = of->profile->bound && of->profile->beyond ? of->profile->bound : UINT64_MAX;
    for (size_t i = 0; i < of->count; i++)
        blocks[i] = of->fits[i].blocks < bound ? of->fits[i].blocks : bound;
    fm_status status =
        fm_code_groups_make(&of->groups, of->profile->attribution, of->by, blocks, of->count, error);
    if (status) return status;
    of->order = fm_calloc(of->groups.count, sizeof *of->order);
    if (!of->order) return fm_fail_memory(error, of->groups.count * sizeof *of->order, "the order of lines");
    return fm_code_groups_order(&of->groups, of->judged, of->order, error);
}

fm_status fm_view_verdict_sized(FILE *out, const fm_profile *profile, const fm_cache *caches, size_t count,
                                fm_by by, size_t most, const fm_view_options *given, size_t given_size,
                                fm_error *error)
{
    FM_REQUIRE(profile, error);
    fm_view_options known;
    char why[300];
    fm_status status = fm_sized_read(&known, sizeof known, given, given_size, "fm_view_options", error);
    if (status != FM_OK) return status;
    if (profile->attribution && !fm_attribution_sound(profile, why, sizeof why))
        return fm_fail(error, FM_E_ARGUMENT, NULL, "the profile's attribution is unsound: %s", why);
    const fm_law *law = fm_law_broken(profile, FM_LAWS_ANY, why, sizeof why);
    if (law)
        return fm_fail(error, FM_E_ARGUMENT, NULL, "the profile breaks the law \"%s\" (%s): %s", law->name,
                       law->says, why);
    verdict of = {.out = out, .profile = profile, .caches = caches, .by = by, .options = &known};
    of.count = count < MOST_LEVELS ? count : MOST_LEVELS;
    of.width = known.width ? known.width : 80;
    of.judged = fm_verdict_level(profile, caches, of.count);
    for (size_t i = 0; i < of.count; i++) of.fits[i] = fm_cache_fit_make(profile, &caches[i]);
    of.few = fm_text_samples_of_misses(profile) < FM_FEWEST_SAMPLES;
    fm_verdict_sentence(out, profile, &known);
    if (profile->references == 0) {
        fputs("no references: nothing to show\n", out);
        return FM_OK;
    }
    if (of.count == 0) return FM_OK;
    if (profile->attribution) status = find_groups(&of, error);
    if (!status) status = write_levels(&of, error);
    if (!status && profile->attribution && most) status = write_list(&of, most, error);
    free(of.order);
    fm_code_groups_clear(&of.groups);
    return status;
}
