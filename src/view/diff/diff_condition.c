/* SPDX-License-Identifier: Apache-2.0 */
/* diff_condition.c - fm_diff_condition: the small language of `fathom diff --fail-if`. */
#include "base/error.h"
#include "base/memory.h"
#include "view/diff/diff_parts.h"
#include "view/text.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef enum metric { MISSES, LATE, RATIO, REFERENCES } metric;
static const char *const metric_names[] = {"misses", "late", "ratio", "references"};

typedef struct condition {
    metric what;
    size_t level;
    char function[512]; /* "": all of the program */
    bool greater, or_equal;
    bool change, percent; /* of before; value in percent */
    double value;
} condition;

static fm_status condition_refuse(fm_error *error, const char *text, const char *why, const char *what)
{
    return fm_fail(
        error, FM_E_ARGUMENT, NULL,
        "'%.200s': %s%.200s; a condition is METRIC[@CACHE] [in FUNCTION] OP VALUE, such as misses@L2 > +5%%",
        text, why, what);
}

/* ---- reading it ---- */

static size_t skip_blanks(const char *text, size_t at)
{
    while (text[at] == ' ' || text[at] == '\t') at++;
    return at;
}

/* "", "B", "iB": 48K, 48KB, 48KiB are the same. */
static bool is_byte_ending(const char *text)
{
    return !*text || strcasecmp(text, "b") == 0 || strcasecmp(text, "ib") == 0;
}

static fm_status read_cache(const fm_diff *diff, const char *text, const char *name, condition *to,
                            fm_error *error)
{
    for (size_t i = 0; i < diff->level_count; i++) {
        const fm_cache *cache = &diff->caches[i];
        char *end;
        const double bytes = strtod(name, &end);
        const char *units = "KMGT", *unit = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
        const double size = unit ? bytes * pow(1024, (double)(unit - units) + 1) : bytes;
        if (strcasecmp(fm_text_cache_name(cache).text, name) == 0 ||
            (end != name && (!*end || (unit && is_byte_ending(end + 1))) && size == (double)cache->bytes)) {
            to->level = i;
            return FM_OK;
        }
    }
    return condition_refuse(error, text, "there is no cache ", name);
}

static fm_status read_metric(const fm_diff *diff, const char *text, size_t *at, condition *to,
                             fm_error *error)
{
    char word[80], name[64];
    size_t length = strspn(text + *at, "abcdefghijklmnopqrstuvwxyz");
    snprintf(word, sizeof word, "%.*s", (int)length, text + *at);
    to->what = MISSES;
    while (to->what <= REFERENCES && strcmp(metric_names[to->what], word) != 0) to->what++;
    if (to->what > REFERENCES)
        return condition_refuse(error, text, "expected misses, late, ratio or references, found ", word);
    *at += length;
    if (to->what == REFERENCES)
        return text[*at] == '@' ? condition_refuse(error, text, "references are at no cache", "") : FM_OK;
    if (text[*at] != '@') return condition_refuse(error, text, "at which cache? Give it as ", "misses@L2");
    length = strcspn(text + ++*at, " \t<>");
    snprintf(name, sizeof name, "%.*s", (int)length, text + *at);
    *at += length;
    return read_cache(diff, text, name, to, error);
}

static fm_status read_function(const char *text, size_t *at, condition *to, fm_error *error)
{
    *at = skip_blanks(text, *at);
    if (strncmp(text + *at, "in", 2) != 0 || (text[*at + 2] != ' ' && text[*at + 2] != '\t')) return FM_OK;
    const size_t begin = skip_blanks(text, *at + 2);
    /* The operator is the last one: a function may be operator< or a template. */
    size_t end = strlen(text);
    while (end > begin && !strchr("<>", text[end - 1])) end--;
    if (end > begin) end--;
    size_t stop = end;
    while (stop > begin && (text[stop - 1] == ' ' || text[stop - 1] == '\t')) stop--;
    if (stop == begin) return condition_refuse(error, text, "expected the name of a function behind in", "");
    snprintf(to->function, sizeof to->function, "%.*s", (int)(stop - begin), text + begin);
    *at = end;
    return FM_OK;
}

static fm_status read_value(const char *text, size_t at, condition *to, fm_error *error)
{
    at = skip_blanks(text, at);
    if (text[at] != '<' && text[at] != '>')
        return condition_refuse(error, text, "expected <, <=, > or >= before ", text + at);
    to->greater = text[at++] == '>';
    to->or_equal = text[at] == '=';
    at = skip_blanks(text, at + to->or_equal);
    to->change = text[at] == '+' || text[at] == '-';
    char *end;
    to->value = strtod(text + at, &end);
    if (end == text + at || !isfinite(to->value))
        return condition_refuse(error, text, "expected a number, found ", text + at);
    static const char units[] = "KMGT"; /* 2^10, 2^20, ... as everywhere */
    const char *unit = *end ? strchr(units, *end) : NULL;
    if (unit) {
        to->value *= pow(1024, (double)(unit - units) + 1);
        end++;
    }
    if (!isfinite(to->value))
        return condition_refuse(error, text, "expected a smaller number than ", text + at);
    while (*end == ' ') end++;
    to->percent = *end == '%';
    if (to->percent) end++;
    while (*end == ' ') end++;
    if (*end) return condition_refuse(error, text, "expected nothing more, found ", end);
    if (to->percent && !to->change && to->what != RATIO)
        return condition_refuse(error, text, "a share of what? A change against before has a sign: ", "+5%");
    if (!to->percent && to->what == RATIO)
        return condition_refuse(error, text, "expected a share in percent, found ", text + at);
    return FM_OK;
}

/* ---- judging ---- */

/* What is measured, of the whole or of a function (NULL: it is not there). */
static double condition_measure(const fm_diff *diff, const condition *of, int side, bool whole,
                                const fm_miss_row *group)
{
    const fm_profile *profile = diff->profile[side];
    const fm_cache_fit *fit = &diff->fits[side][of->level];
    if (!whole && !group) return 0;
    const double misses = whole ? fit->misses.expected : group->misses[of->level];
    const double references = (double)(whole ? profile->references : group->references);
    const double cold = (double)(whole ? profile->cold : group->cold);
    switch (of->what) {
    case MISSES:
        return misses;
    case LATE:
        return misses > cold ? misses - cold : 0;
    case RATIO:
        return references > 0 ? misses / references : 0;
    case REFERENCES:
        return references;
    }
    return 0;
}

static bool condition_compares(const condition *of, double value)
{
    return of->greater ? value > of->value || (of->or_equal && value == of->value)
                       : value < of->value || (of->or_equal && value == of->value);
}

static bool condition_judge(const fm_diff *diff, const condition *of, double before, double after, bool whole)
{
    const bool banded = of->what != REFERENCES && whole && diff->within[of->level];
    if (of->change && banded) return condition_compares(of, 0);
    if (!of->change) return condition_compares(of, of->percent ? after * 100 : after);
    if (!of->percent) return condition_compares(of, after - before);
    if (before > 0) return condition_compares(of, (after - before) / before * 100);
    return after > 0 ? of->greater : condition_compares(of, 0);
}

static void condition_describe(const condition *of, double before, double after, const char *function,
                               char *text, size_t size)
{
    char percent[32], was[48], is[48];
    fm_diff_percent(before, after, percent, sizeof percent);
    snprintf(was, sizeof was, "%s",
             of->what == RATIO ? fm_text_percent(before).text : fm_text_count((uint64_t)(before + 0.5)).text);
    snprintf(is, sizeof is, "%s",
             of->what == RATIO ? fm_text_percent(after).text : fm_text_count((uint64_t)(after + 0.5)).text);
    snprintf(text, size, "%s%s%.60s: %s -> %s, %s", metric_names[of->what], function[0] ? " in " : "",
             function, was, is, percent);
}

/* A function by its name; with any, the first that makes it hold, else the one that changed most. */
static fm_status judge_functions(fm_diff *diff, const char *text, const condition *of,
                                 fm_diff_condition_result *result, fm_error *error)
{
    const bool any = strcmp(of->function, "*") == 0;
    bool found = false;
    if (!diff->coded)
        return fm_fail(error, FM_E_ARGUMENT, NULL, "'%.200s': the profiles do not know their functions",
                       text);
    for (size_t i = 0; i < diff->tables[FM_BY_FUNCTION].count; i++) {
        const fm_diff_row *row = &diff->tables[FM_BY_FUNCTION].rows[i];
        const fm_miss_row *group = row->after ? row->after : row->before;
        char name[700];
        fm_miss_row_text(group, name, sizeof name);
        if (!any && strcmp(name, of->function) != 0 &&
            !(group->function && strcmp(group->function, of->function) == 0))
            continue;
        const double before = condition_measure(diff, of, 0, false, row->before),
                     after = condition_measure(diff, of, 1, false, row->after);
        const bool holds = condition_judge(diff, of, before, after, false);
        if (!found || (holds && !result->holds))
            condition_describe(of, before, after, name, result->met_by, sizeof result->met_by);
        found = true;
        result->holds |= holds;
    }
    if (found) return FM_OK;
    return fm_fail(error, FM_E_ARGUMENT, NULL, "'%.200s': neither profile has a function '%.200s'", text,
                   of->function);
}

fm_status fm_diff_condition(fm_diff *diff, const char *text, bool *holds, fm_error *error)
{
    FM_REQUIRE(diff, error);
    condition of = {0};
    size_t at = skip_blanks(text, 0);
    fm_diff_condition_result result = {0};
    fm_status status = read_metric(diff, text, &at, &of, error);
    if (!status) status = read_function(text, &at, &of, error);
    if (!status) status = read_value(text, at, &of, error);
    if (!status && of.function[0]) {
        status = judge_functions(diff, text, &of, &result, error);
    } else if (!status) {
        const double before = condition_measure(diff, &of, 0, true, NULL),
                     after = condition_measure(diff, &of, 1, true, NULL);
        result.holds = condition_judge(diff, &of, before, after, true);
        condition_describe(&of, before, after, "", result.met_by, sizeof result.met_by);
    }
    if (status) return status;
    if (!fm_diff_is_comparable(diff)) { /* nobody knows: what asks is told that it may be */
        result.holds = true;
        snprintf(result.met_by, sizeof result.met_by, "the two are not comparable");
    }
    fm_diff_condition_result *grown = realloc(diff->conditions, (diff->condition_count + 1) * sizeof *grown);
    if (grown) diff->conditions = grown;
    result.text = grown ? strdup(text) : NULL;
    if (!result.text) return fm_fail_memory(error, sizeof result, "a condition");
    diff->conditions[diff->condition_count++] = result;
    *holds = result.holds;
    return FM_OK;
}
