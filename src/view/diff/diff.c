/* SPDX-License-Identifier: Apache-2.0 */
/* diff.c - two profiles become a diff: misses at each cache, rows by line, function and object. */
#define _GNU_SOURCE
#include "base/error.h"
#include "base/memory.h"
#include "base/plain_text.h"
#include "profile/attribution_parts.h"
#include "view/diff/diff_parts.h"
#include "view/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/*
 * ======== diff comparable ========
 * Whether two profiles may be compared at all: reasons why fewer misses need not be
 * better.
 *
 * A program that fails at its start misses nothing. Neither does a function that was renamed, nor a run of
 * which only the beginning was seen. Differences of code and data are none of this: they are what a diff is
 * about.
 */

/* ---- names ---- */

static const char *const reason_names[FM_DIFF_REASONS] = {"end",     "incomplete", "empty",
                                                          "watched", "collector",  "engine"};

const char *fm_diff_reason_name(fm_diff_reason_kind kind)
{
    return reason_names[kind];
}

/* Reads a list of allowed reasons; finds all there are. */
static fm_status diff_read_allowed(fm_diff *diff, const char *list, fm_error *error)
{
    while (list && *list) {
        const size_t length = strcspn(list, ",");
        size_t kind = 0;
        while (kind < FM_DIFF_REASONS &&
               !(strlen(reason_names[kind]) == length && memcmp(reason_names[kind], list, length) == 0))
            kind++;
        if (kind == FM_DIFF_REASONS)
            return fm_fail(error, FM_E_ARGUMENT, NULL,
                           "what is allowed to differ: expected end, incomplete, empty, watched, collector "
                           "or engine, found '%.*s'",
                           (int)(length < 100 ? length : 100), list);
        diff->allowed[kind] = true;
        list += length + (list[length] == ',');
    }
    return FM_OK;
}

/* ---- reasons ---- */

__attribute__((format(printf, 3, 4))) static void add_reason(fm_diff *diff, fm_diff_reason_kind kind,
                                                             const char *format, ...)
{
    fm_diff_reason *reason = &diff->reasons[diff->reason_count++];
    va_list arguments;
    reason->kind = kind;
    va_start(arguments, format);
    vsnprintf(reason->text, sizeof reason->text, format, arguments);
    va_end(arguments);
}

static bool texts_differ(const char *a, const char *b)
{
    return a && b && strcmp(a, b) != 0;
}

/* A status that both know decides; else the words for how it went on ("runs on"). */
static bool ends_differ(const fm_run *before, const fm_run *after)
{
    const bool known = (before->exit_code >= 0 || before->signal) && (after->exit_code >= 0 || after->signal);
    if (known) return before->exit_code != after->exit_code || before->signal != after->signal;
    return texts_differ(before->ending, after->ending);
}

static const char *ending_of(const fm_run *run)
{
    return run->ending ? run->ending : "ended in a way that is not known";
}

/* Where references come from. All that samples is one: bands say what the samplers know. */
static const char *collector_of(const fm_profile *profile)
{
    if (profile->kernel) return "computed from source code";
    if (!profile->run || !profile->run->collector) return NULL;
    return strncmp(profile->run->collector, "sampling", 8) == 0 ? "sampling" : profile->run->collector;
}

/* Neither exact nor with a band that says how far it may be off. */
static bool promises_nothing(const fm_profile *profile)
{
    return !profile->exact && !(profile->accuracy && profile->accuracy->band_count);
}

static void compare_runs(fm_diff *diff, const fm_run *before, const fm_run *after)
{
    if (ends_differ(before, after))
        add_reason(diff, FM_DIFF_END, "the program %s before, %s after", ending_of(before), ending_of(after));
    if (texts_differ(before->what, after->what))
        add_reason(diff, FM_DIFF_WATCHED, "not the same was watched: %s before, %s after", before->what,
                   after->what);
}

static const char *side_of(bool before, bool after)
{
    return before && after ? "both are" : before ? "before is" : "after is";
}

static void diff_find_reasons(fm_diff *diff)
{
    const fm_profile *before = diff->profile[0], *after = diff->profile[1];
    if (before->run && after->run) compare_runs(diff, before->run, after->run);
    if (!before->complete || !after->complete)
        add_reason(diff, FM_DIFF_INCOMPLETE, "%s incomplete", side_of(!before->complete, !after->complete));
    if (before->references == 0 || after->references == 0)
        add_reason(diff, FM_DIFF_EMPTY, "%s empty: no references",
                   side_of(before->references == 0, after->references == 0));
    const char *of_before = collector_of(before), *of_after = collector_of(after);
    if (before->kernel || after->kernel) {
        if (!of_before) of_before = "measured";
        if (!of_after) of_after = "measured";
    }
    if (texts_differ(of_before, of_after))
        add_reason(diff, FM_DIFF_COLLECTOR,
                   "the two were collected in different ways, which see different code: %s, %s", of_before,
                   of_after);
    const bool same_promise = before->exact == after->exact && !texts_differ(before->engine, after->engine);
    if (!same_promise && (promises_nothing(before) || promises_nothing(after)))
        add_reason(diff, FM_DIFF_ENGINE, "%s before, %s after: one is an approximation without a band",
                   before->engine ? before->engine : "?", after->engine ? after->engine : "?");
}

/* ---- asked for ---- */

bool fm_diff_incomparable(const fm_diff *diff, size_t number, const char **kind, char *text, size_t size)
{
    for (size_t i = 0; i < diff->reason_count; i++) {
        const fm_diff_reason *reason = &diff->reasons[i];
        if (diff->allowed[reason->kind] || number-- > 0) continue;
        if (kind) *kind = reason_names[reason->kind];
        if (text) snprintf(text, size, "%s", reason->text);
        return true;
    }
    return false;
}

bool fm_diff_is_comparable(const fm_diff *diff)
{
    return !fm_diff_incomparable(diff, 0, NULL, NULL, 0);
}

/*
 * ======== diff text ========
 * A diff in sentences: the verdict, what became of the references, what limits it.
 */

__attribute__((format(printf, 3, 4))) static void text_say(char *text, size_t size, const char *format, ...)
{
    const size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + used, size - used, format, arguments);
    va_end(arguments);
}

void fm_diff_percent(double before, double after, char *text, size_t size)
{
    const double change = before > 0 ? (after - before) / before * 100 : 0;
    if (before == after)
        snprintf(text, size, "0 %%");
    else if (!(before > 0))
        snprintf(text, size, "new");
    else if (!(after > 0))
        snprintf(text, size, "gone");
    else
        snprintf(text, size, "%+.*f %%", fabs(change) >= 10 ? 0 : fabs(change) >= 0.095 ? 1 : 3, change);
}

const char *fm_diff_verdict(const fm_diff *diff)
{
    bool better = false, worse = false;
    if (!fm_diff_is_comparable(diff)) return "not comparable";
    for (size_t i = 0; i < diff->level_count; i++) {
        better |= diff->change[i] == FM_CHANGE_BETTER;
        worse |= diff->change[i] == FM_CHANGE_WORSE;
    }
    return better && worse ? "mixed" : better ? "better" : worse ? "worse" : "same";
}

/* All that keeps the two from being compared. */
static void say_reasons(const fm_diff *diff, char *text, size_t size)
{
    char reason[sizeof diff->reasons->text];
    for (size_t i = 0; fm_diff_incomparable(diff, i, NULL, reason, sizeof reason); i++)
        text_say(text, size, "%s%s", i ? "; " : "", reason);
}

void fm_diff_sentence(const fm_diff *diff, char *text, size_t size)
{
    char percent[32];
    const char *verdict = fm_diff_verdict(diff);
    bool begun = false, unchanged = false;
    snprintf(text, size, "%s: ", verdict);
    if (!fm_diff_is_comparable(diff)) {
        say_reasons(diff, text, size);
        return;
    }
    for (size_t i = 0; i < diff->level_count; i++) {
        const double before = diff->fits[0][i].misses.expected, after = diff->fits[1][i].misses.expected;
        unchanged |= diff->change[i] == FM_CHANGE_NONE;
        if (diff->change[i] == FM_CHANGE_NONE) continue;
        fm_diff_percent(before, after, percent, sizeof percent);
        text_say(text, size, "%s%s %s misses in %s (%s -> %s, %s)", begun ? "; " : "",
                 fm_text_short(fabs(after - before)).text, after < before ? "fewer" : "more",
                 fm_text_cache_name(&diff->caches[i]).text, fm_text_short(before).text,
                 fm_text_short(after).text, percent);
        begun = true;
    }
    if (!begun) {
        text_say(text, size, "misses did not change by more than 0.5 %% in any cache");
        for (size_t i = 0; i < diff->level_count; i++)
            if (diff->within[i]) {
                text_say(text, size, ", or by no more than the bands of the two leave open");
                break;
            }
        return;
    }
    const char *before_name = "; ";
    for (size_t i = 0; unchanged && i < diff->level_count; i++)
        if (diff->change[i] == FM_CHANGE_NONE) {
            text_say(text, size, "%s%s", before_name, fm_text_cache_name(&diff->caches[i]).text);
            before_name = ", ";
        }
    if (unchanged) text_say(text, size, " unchanged");
}

void fm_diff_references(const fm_diff *diff, char *text, size_t size)
{
    const double before = (double)diff->profile[0]->references, after = (double)diff->profile[1]->references;
    const fm_cache_fit *was = &diff->fits[0][diff->judged], *is = &diff->fits[1][diff->judged];
    if (fm_diff_counts(before, after))
        snprintf(text, size, "references %s from %s to %s", after < before ? "fell" : "rose",
                 fm_text_short(before).text, fm_text_short(after).text);
    else
        snprintf(text, size, "references stayed at %s", fm_text_short(after).text);
    text_say(text, size, ": misses per reference in %s %s -> %s",
             fm_text_cache_name(&diff->caches[diff->judged]).text, fm_text_short_percent(was->ratio).text,
             fm_text_short_percent(is->ratio).text);
    if (!fm_diff_is_comparable(diff)) return;
    const bool more = fm_diff_counts(before, after) && after > before;
    if (more && is->ratio < was->ratio && diff->change[diff->judged] != FM_CHANGE_BETTER)
        text_say(
            text, size,
            ", which is no progress: the ratio falls because there are more references, not fewer misses");
    else if (!more && fm_diff_counts(before, after) && is->ratio > was->ratio &&
             diff->change[diff->judged] != FM_CHANGE_WORSE)
        text_say(text, size, ", which is no loss: the ratio rises because there are fewer references");
}

/* ---- what limits it ---- */

static bool is_edge(const fm_attribution *of, uint64_t blocks)
{
    for (size_t i = 0; i < of->edge_count; i++)
        if (of->edges[i] == blocks) return true;
    return blocks == 0;
}

/* Each kind of note as often as it applies; counted down to the one that is asked for. */
static bool is_next(size_t *number)
{
    return (*number)-- == 0;
}

static bool side_note(const fm_diff *diff, int side, size_t *number, char *text, size_t size)
{
    const fm_profile *profile = diff->profile[side];
    const char *which = side ? "after" : "before";
    if (!profile->complete && is_next(number)) {
        snprintf(text, size, "INCOMPLETE: %s covers only part of its input%s%s", which,
                 profile->what_missing ? ": " : "", profile->what_missing ? profile->what_missing : "");
        return true;
    }
    if (!profile->exact && is_next(number)) {
        snprintf(text, size, "APPROXIMATE: %s: %s", which,
                 profile->accuracy ? profile->accuracy->statement : "nothing is promised");
        return true;
    }
    if (!profile->attribution && is_next(number)) {
        snprintf(text, size, "%s does not say where its references come from: no lines to compare", which);
        return true;
    }
    for (size_t i = 0; profile->attribution && i < diff->level_count; i++) {
        if (is_edge(profile->attribution, diff->fits[side][i].blocks) || !is_next(number)) continue;
        snprintf(text, size, "%s was not made for %s: misses by line there are estimates", which,
                 fm_text_cache_name(&diff->caches[i]).text);
        return true;
    }
    return false;
}

bool fm_diff_note(const fm_diff *diff, size_t number, char *text, size_t size)
{
    for (int side = 0; side < 2; side++)
        if (side_note(diff, side, &number, text, size)) return true;
    for (size_t i = 0; i < diff->reason_count; i++) {
        if (!diff->allowed[diff->reasons[i].kind] || !is_next(&number)) continue;
        snprintf(text, size, "allowed: %s", diff->reasons[i].text);
        return true;
    }
    for (size_t i = 0; i < diff->file_count; i++) {
        const fm_file_match *file = &diff->files[i];
        if (!file->named || !file->lines.given_up || !is_next(&number)) continue;
        snprintf(text, size, "%s: the two states differ in too much: lines of its middle are not matched",
                 fm_base_name(file->before));
        return true;
    }
    size_t by_number = 0;
    const char *example = NULL;
    for (size_t i = 0; i < diff->file_count; i++)
        if (diff->files[i].named && diff->files[i].by_number && by_number++ == 0)
            example = fm_base_name(diff->files[i].before);
    if (by_number && is_next(&number)) {
        snprintf(text, size, "%s%s: what its lines were is not known: lines are matched by their numbers",
                 example, by_number > 1 ? " and others" : "");
        return true;
    }
    return false;
}

/* ======== diff make ======== */

bool fm_diff_counts(double before, double after)
{
    const double larger = before > after ? before : after;
    return fabs(after - before) > larger * 0.005;
}

static const char *name_of(const fm_profile *profile, const char *given)
{
    return given ? given : profile->name ? profile->name : "(unnamed)";
}

/* ---- caches ---- */

/* Whether what the two say may be the same: their bands meet. A profile without one is its own band. */
static bool bands_meet(const fm_diff *diff, size_t level)
{
    double least[2], most[2];
    bool any = false;
    for (int side = 0; side < 2; side++) {
        const fm_cache_fit *fit = &diff->fits[side][level];
        const double references = (double)diff->profile[side]->references;
        any |= fit->has_band;
        least[side] = fit->has_band ? fit->least * references : fit->misses.expected;
        most[side] = fit->has_band ? fit->most * references : fit->misses.expected;
    }
    return any && least[0] <= most[1] && least[1] <= most[0];
}

static void compare_levels(fm_diff *diff)
{
    for (size_t i = 0; i < diff->level_count; i++) {
        for (int side = 0; side < 2; side++)
            diff->fits[side][i] = fm_cache_fit_make(diff->profile[side], &diff->caches[i]);
        const double before = diff->fits[0][i].misses.expected, after = diff->fits[1][i].misses.expected;
        diff->within[i] = bands_meet(diff, i);
        if (diff->within[i] || !fm_diff_counts(before, after)) continue;
        diff->change[i] = after < before ? FM_CHANGE_BETTER : FM_CHANGE_WORSE;
    }
    /* Rows are about the first level that changed, else about the one that the first screen would judge. */
    diff->judged = fm_verdict_level(diff->profile[0], diff->caches, diff->level_count);
    for (size_t i = diff->level_count; i-- > 0;)
        if (diff->change[i] != FM_CHANGE_NONE) diff->judged = i;
}

/* ---- code ---- */

static fm_status make_table(fm_diff *diff, fm_by by, fm_error *error)
{
    fm_status status = FM_OK;
    for (int side = 0; side < 2 && !status; side++)
        status = fm_miss_table_fit(&diff->tables[by].sides[side], diff->profile[side], by, diff->fits[side],
                                   diff->level_count, error);
    return status ? status : fm_diff_match_rows(diff, by, error);
}

static fm_status make_tables(fm_diff *diff, fm_error *error)
{
    char why[300];
    for (int side = 0; side < 2; side++) {
        const fm_profile *profile = diff->profile[side];
        if (!profile->attribution) return FM_OK;
        if (!fm_attribution_sound(profile, why, sizeof why))
            return fm_fail(error, FM_E_ARGUMENT, diff->names[side],
                           "the profile's attribution is unsound: %s", why);
    }
    diff->coded = true;
    fm_status status = fm_diff_match_files(diff, error);
    for (int by = 0; by < FM_DIFF_TABLES && !status; by++) status = make_table(diff, (fm_by)by, error);
    return status;
}

/* ---- all of it ---- */

static fm_status diff_fill(fm_diff *diff, const fm_diff_options *options, fm_error *error)
{
    diff->level_count = options->cache_count;
    memcpy(diff->caches, options->caches, options->cache_count * sizeof *options->caches);
    diff->names[0] = strdup(name_of(diff->profile[0], options->name_before));
    diff->names[1] = strdup(name_of(diff->profile[1], options->name_after));
    diff->source_folders = (const char **)options->source_folders;
    diff->source_folder_count = options->source_folder_count;
    if (!diff->names[0] || !diff->names[1]) return fm_fail_memory(error, sizeof *diff, "a difference");
    fm_status status = diff_read_allowed(diff, options->allowed, error);
    if (status) return status;
    diff_find_reasons(diff);
    compare_levels(diff);
    return make_tables(diff, error);
}

fm_status fm_diff_create_sized(size_t given_size, fm_diff **diff, const fm_profile *before,
                               const fm_profile *after, const fm_diff_options *given, fm_error *error)
{
    *diff = NULL;
    FM_REQUIRE(before, error);
    FM_REQUIRE(after, error);
    fm_diff_options options;
    fm_status status = fm_sized_read(&options, sizeof options, given, given_size, "fm_diff_options", error);
    if (status) return status;
    if (before->granularity != after->granularity)
        return fm_fail(error, FM_E_ARGUMENT, NULL,
                       "the two profiles have different granularities, %" PRIu64 " and %" PRIu64,
                       before->granularity, after->granularity);
    if (before->elements != after->elements)
        return fm_fail(error, FM_E_ARGUMENT, NULL,
                       "one of the two profiles counts elements, the other one blocks");
    if (options.cache_count == 0 || options.cache_count > FM_DIFF_LEVELS)
        return fm_fail(error, FM_E_ARGUMENT, NULL, "expected 1 to %d caches, found %zu", (int)FM_DIFF_LEVELS,
                       options.cache_count);
    fm_diff *made = fm_calloc(1, sizeof *made);
    if (!made) return fm_fail_memory(error, sizeof *made, "a difference");
    made->profile[0] = before;
    made->profile[1] = after;
    status = diff_fill(made, &options, error);
    if (status) {
        fm_diff_destroy(made);
        return status;
    }
    *diff = made;
    return FM_OK;
}

void fm_diff_destroy(fm_diff *diff)
{
    if (!diff) return;
    for (int by = 0; by < FM_DIFF_TABLES; by++) {
        fm_miss_table_clear(&diff->tables[by].sides[0]);
        fm_miss_table_clear(&diff->tables[by].sides[1]);
        free(diff->tables[by].rows);
    }
    for (size_t i = 0; i < diff->file_count; i++) fm_line_match_clear(&diff->files[i].lines);
    for (size_t i = 0; i < diff->condition_count; i++) free(diff->conditions[i].text);
    free(diff->conditions);
    free(diff->files);
    free(diff->names[0]);
    free(diff->names[1]);
    free(diff);
}
