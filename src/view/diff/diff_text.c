/* SPDX-License-Identifier: Apache-2.0 */
/* diff_text.c - a diff in sentences: the verdict, what became of the references, what limits it. */
#include "view/diff/diff_parts.h"
#include "view/text.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

__attribute__((format(printf, 3, 4))) static void say(char *text, size_t size, const char *format, ...)
{
    const size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + used, size - used, format, arguments);
    va_end(arguments);
}

static const char *cache_name(const fm_diff *diff, size_t level, char name[sizeof diff->caches->name + 1])
{
    memcpy(name, diff->caches[level].name, sizeof diff->caches->name);
    name[sizeof diff->caches->name] = '\0';
    return name;
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
        say(text, size, "%s%s", i ? "; " : "", reason);
}

void fm_diff_sentence(const fm_diff *diff, char *text, size_t size)
{
    char name[sizeof diff->caches->name + 1], percent[32];
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
        say(text, size, "%s%s %s misses in %s (%s -> %s, %s)", begun ? "; " : "",
            fm_text_short(fabs(after - before)).text, after < before ? "fewer" : "more",
            cache_name(diff, i, name), fm_text_short(before).text, fm_text_short(after).text, percent);
        begun = true;
    }
    if (!begun) {
        say(text, size, "misses did not change by more than 0.5 %% in any cache");
        for (size_t i = 0; i < diff->level_count; i++)
            if (diff->within[i]) {
                say(text, size, ", or by no more than the bands of the two leave open");
                break;
            }
        return;
    }
    const char *before_name = "; ";
    for (size_t i = 0; unchanged && i < diff->level_count; i++)
        if (diff->change[i] == FM_CHANGE_NONE) {
            say(text, size, "%s%s", before_name, cache_name(diff, i, name));
            before_name = ", ";
        }
    if (unchanged) say(text, size, " unchanged");
}

void fm_diff_references(const fm_diff *diff, char *text, size_t size)
{
    const double before = (double)diff->profile[0]->references, after = (double)diff->profile[1]->references;
    const fm_cache_fit *was = &diff->fits[0][diff->judged], *is = &diff->fits[1][diff->judged];
    char name[sizeof diff->caches->name + 1];
    cache_name(diff, diff->judged, name);
    if (fm_diff_counts(before, after))
        snprintf(text, size, "references %s from %s to %s", after < before ? "fell" : "rose",
                 fm_text_short(before).text, fm_text_short(after).text);
    else
        snprintf(text, size, "references stayed at %s", fm_text_short(after).text);
    say(text, size, ": misses per reference in %s %s -> %s", name, fm_text_short_percent(was->ratio).text,
        fm_text_short_percent(is->ratio).text);
    if (!fm_diff_is_comparable(diff)) return;
    const bool more = fm_diff_counts(before, after) && after > before;
    if (more && is->ratio < was->ratio && diff->change[diff->judged] != FM_CHANGE_BETTER)
        say(text, size,
            ", which is no progress: the ratio falls because there are more references, not fewer misses");
    else if (!more && fm_diff_counts(before, after) && is->ratio > was->ratio &&
             diff->change[diff->judged] != FM_CHANGE_WORSE)
        say(text, size, ", which is no loss: the ratio rises because there are fewer references");
}

/* ---- what limits it ---- */

static bool is_edge(const fm_attribution *of, uint64_t blocks)
{
    for (size_t i = 0; i < of->edge_count; i++)
        if (of->edges[i] == blocks) return true;
    return blocks == 0;
}

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
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
        char name[sizeof diff->caches->name + 1];
        if (is_edge(profile->attribution, diff->fits[side][i].blocks) || !is_next(number)) continue;
        snprintf(text, size, "%s was not made for %s: misses by line there are estimates", which,
                 cache_name(diff, i, name));
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
                 base_of(file->before));
        return true;
    }
    size_t by_number = 0;
    const char *example = NULL;
    for (size_t i = 0; i < diff->file_count; i++)
        if (diff->files[i].named && diff->files[i].by_number && by_number++ == 0)
            example = base_of(diff->files[i].before);
    if (by_number && is_next(&number)) {
        snprintf(text, size, "%s%s: what its lines were is not known: lines are matched by their numbers",
                 example, by_number > 1 ? " and others" : "");
        return true;
    }
    return false;
}
