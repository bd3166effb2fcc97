/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diff_comparable.c - whether two profiles may be compared at all: reasons why fewer misses need not be
 * better.
 *
 * A program that fails at its start misses nothing. Neither does a function that was renamed, nor a run of
 * which only the beginning was seen. Differences of code and data are none of this: they are what a diff is
 * about.
 */
#include "base/error.h"
#include "view/diff/diff_parts.h"

#include <stdarg.h>
#include <string.h>

/* ---- names ---- */

static const char *const names[FM_DIFF_REASONS] = {"end",     "incomplete", "empty",
                                                   "watched", "collector",  "engine"};

const char *fm_diff_reason_name(fm_diff_reason_kind kind)
{
    return names[kind];
}

fm_status fm_diff_read_allowed(fm_diff *diff, const char *list, fm_error *error)
{
    while (list && *list) {
        const size_t length = strcspn(list, ",");
        size_t kind = 0;
        while (kind < FM_DIFF_REASONS &&
               !(strlen(names[kind]) == length && memcmp(names[kind], list, length) == 0))
            kind++;
        if (kind == FM_DIFF_REASONS)
            return fm_fail(error, FM_E_ARGUMENT, NULL,
                           "what is allowed to differ: expected end, incomplete, empty, watched, collector or engine, found '%.*s'",
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

void fm_diff_find_reasons(fm_diff *diff)
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
        if (kind) *kind = names[reason->kind];
        if (text) snprintf(text, size, "%s", reason->text);
        return true;
    }
    return false;
}

bool fm_diff_is_comparable(const fm_diff *diff)
{
    return !fm_diff_incomparable(diff, 0, NULL, NULL, 0);
}
