/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job_changes.c - changes of loops, whether they are legal, and what they do to the misses: one that is told,
 * or the best of those that are worth a try.
 *
 * Scalar variables count as being in registers, but values go through them: of a source, legality is asked of
 * the region with its scalars in memory.
 */
#include "job/job_internal.h"

#include "base/crew.h"

#include <stdlib.h>
#include <string.h>

/* The changed region, if the change can be done and is legal. */
static fm_status make_change(const fm_region *region, const fm_region *ask, const char *change, double limit,
                             fm_region **changed, fm_error *error)
{
    fm_region *asked;
    *changed = NULL;
    fm_status status = fm_region_transform(ask, change, &asked, error);
    if (status == FM_OK) status = fm_region_change_check(ask, asked, limit, error);
    fm_region_destroy(asked);
    return status == FM_OK ? fm_region_transform(region, change, changed, error) : status;
}

static double misses_at(const fm_job *job, const fm_profile *profile, const fm_cache *cache)
{
    return fm_profile_misses(profile, cache->bytes / job->granularity[0]).expected;
}

/* Misses are judged at the first size that is asked for, else at the smallest cache. */
static const fm_cache *judging_cache(const fm_job *job)
{
    const fm_cache *found = &job->caches[0];
    const bool asked = job->options.caches && !job->code->options.machine;
    for (size_t i = 1; i < job->cache_count && !asked; i++)
        if (job->caches[i].bytes < found->bytes) found = &job->caches[i];
    return found;
}

static const char *certainty_of(const fm_profile *profile)
{
    return profile->kernel && profile->kernel->certainty ? profile->kernel->certainty : "exact";
}

/* ---- numbers for people ---- */

typedef struct number_text {
    char text[40];
} number_text;

/* 8.11 M */
static number_text scaled_number(double value)
{
    static const char *const units[] = {"", " K", " M", " G", " T", " P"};
    number_text made;
    size_t unit = 0;
    while (value >= 999.5 && unit < 5) {
        value /= 1000;
        unit++;
    }
    snprintf(made.text, sizeof made.text, "%.*f%s",
             unit == 0       ? 0
             : value < 9.995 ? 2
             : value < 99.95 ? 1
                             : 0,
             value, units[unit]);
    return made;
}

/* 8,110,000 */
static number_text grouped_number(double value)
{
    number_text made;
    char digits[32];
    const int length = snprintf(digits, sizeof digits, "%.0f", value);
    size_t used = 0;
    for (int i = 0; i < length && used + 2 < sizeof made.text; i++) {
        if (i > 0 && (length - i) % 3 == 0) made.text[used++] = ',';
        made.text[used++] = digits[i];
    }
    made.text[used] = '\0';
    return made;
}

static void show_share(FILE *out, double before, double after)
{
    if (before > 0)
        fprintf(out, " %+7.1f %%\n", 100 * (after - before) / before);
    else
        fprintf(out, " %9s\n", "-");
}

static void show_misses(FILE *out, const char *cache, double before, double after)
{
    char name[48];
    snprintf(name, sizeof name, "%.24s misses", cache);
    fprintf(out, "%-16s %22s %22s", name, grouped_number(before).text, grouped_number(after).text);
    show_share(out, before, after);
}

/* The least time on the machine that is described; proved: whatever its caches replace. */
static void show_least_time(FILE *out, const fm_job *job, bool proved)
{
    const fm_bounds_part *parts[2] = {&job->code->before->bounds->whole, &job->profile[0]->bounds->whole};
    double least[2];
    for (int i = 0; i < 2; i++) {
        const size_t at = proved ? parts[i]->slowest_proved : parts[i]->slowest;
        if (at >= parts[i]->count) return;
        least[i] = parts[i]->bounds[at].seconds;
    }
    fprintf(out, "%-16s %19.4g ms %19.4g ms", proved ? "takes least" : "  by the model", 1000 * least[0],
            1000 * least[1]);
    show_share(out, least[0], least[1]);
}

static void show_best(FILE *out, const fm_job *job)
{
    const fm_job_code *code = job->code;
    char title[48];
    fprintf(out, "%u of %u changes are legal", code->legal, code->tried);
    if (code->left) fprintf(out, "; %u were not tried: the time was over", code->left);
    snprintf(title, sizeof title, "%.24s misses", judging_cache(job)->name);
    fprintf(out, "\n\n%-44s %14s  %s\n", "", title, "certainty");
    fprintf(out, "%-44s %14s  %s\n", "as it is", scaled_number(code->as_it_is.misses).text,
            code->as_it_is.certainty);
    for (size_t i = 0; i < code->best_count; i++)
        fprintf(out, "%-44s %14s  %s\n", code->best[i].change, scaled_number(code->best[i].misses).text,
                code->best[i].certainty);
    fprintf(out, "\n");
}

void fm_job_show_changes(const fm_job *job, FILE *out)
{
    const fm_profile *before = job->code->before, *after = job->profile[0];
    if (job->code->best_count > 0) show_best(out, job);
    fprintf(out, "%s\n\n", job->code->change);
    fprintf(out, "%-16s %22s %22s %9s\n", "", "before", "after", "change");
    fprintf(out, "%-16s %22s %22s\n", "references", grouped_number((double)before->references).text,
            grouped_number((double)after->references).text);
    for (size_t i = 0; i < job->cache_count; i++) {
        const fm_cache *cache = &job->caches[i];
        show_misses(out, cache->name, misses_at(job, before, cache), misses_at(job, after, cache));
    }
    for (size_t i = 0; i < before->set_count && i < after->set_count; i++)
        show_misses(out, before->set_misses[i].name, (double)before->set_misses[i].misses,
                    (double)after->set_misses[i].misses);
    if (before->bounds && after->bounds) {
        show_least_time(out, job, true);
        show_least_time(out, job, false);
    }
    fprintf(out, "%-16s %22s %22s\n\n", "", certainty_of(before), certainty_of(after));
    if (job->cache_count == 0) {
        fputs("legal\n", out);
        return;
    }
    const fm_cache *cache = judging_cache(job);
    fprintf(out, "%s misses %s -> %s, legal\n", cache->name,
            scaled_number(misses_at(job, before, cache)).text,
            scaled_number(misses_at(job, after, cache)).text);
}

/* ---- the best of several ---- */

/* Ranked by samples; then the best are computed as the main result is, while there is time. */
typedef struct suggesting {
    fm_job *job;
    fm_job_code *code;
    const fm_region *ask;
    double end; /* of the time allowed */
} suggesting;

static void take_misses(const fm_job *job, fm_profile *profile, fm_suggestion *one)
{
    one->misses = misses_at(job, profile, judging_cache(job));
    snprintf(one->certainty, sizeof one->certainty, "%s", certainty_of(profile));
    fm_profile_destroy(profile);
}

static fm_status sample_change(const fm_job *job, const fm_region *region, fm_suggestion *one,
                               fm_error *error)
{
    enum { DRAWS = 10000 };
    const fm_job_region_options *options = &job->code->options;
    const fm_static_options how = {
        .granularity = job->granularity[0],
        .layout = options->layout,
        .bins = job->analyzer.bins,
        .limit_seconds = options->limit_time,
        .samples = options->samples ? options->samples : DRAWS,
        .seed = 1,
        .method = "sample",
    };
    fm_profile *profile;
    fm_status status = fm_region_profile(region, &how, &profile, error);
    if (status == FM_OK) take_misses(job, profile, one);
    return status;
}

/* As the main result. */
static fm_status compute_misses(fm_job *job, const fm_region *region, fm_suggestion *one, fm_error *error)
{
    fm_region_counts *counts = NULL;
    fm_profile *profile = NULL;
    fm_region_count(region, job->code->options.limit_time, &counts, NULL); /* NULL where it cannot */
    fm_status status = fm_job_region_profile(job, region, counts, &profile, error);
    if (status == FM_OK)
        take_misses(job, profile, one);
    else
        fm_profile_destroy(profile);
    fm_region_counts_destroy(counts);
    return status;
}

/* A place among the best; the first tried stays in front of one that is as good. */
static void rank_change(fm_job_code *code, const fm_suggestion *one)
{
    size_t at = code->best_count;
    while (at > 0 && code->best[at - 1].misses > one->misses) {
        code->best[at] = code->best[at - 1];
        at--;
    }
    code->best[at] = *one;
    if (code->best_count < FM_SUGGESTIONS) code->best_count++;
}

static fm_status try_change(suggesting *self, const char *change, fm_error *error)
{
    fm_job_code *code = self->code;
    fm_region *changed;
    fm_suggestion one = {.change = change};
    const double left = self->end - fm_now();
    if (left <= 0) {
        code->left++;
        return FM_OK;
    }
    code->tried++;
    fm_status status =
        make_change(code->region, self->ask, change, left / 4 > 0.1 ? left / 4 : 0.1, &changed, error);
    if (status == FM_OK) {
        code->legal++;
        status = sample_change(self->job, changed, &one, error);
        if (status == FM_OK) rank_change(code, &one);
    }
    fm_region_destroy(changed);
    const bool expected = status == FM_E_UNSUPPORTED || status == FM_E_ARGUMENT || status == FM_E_LIMIT;
    return expected ? FM_OK : status;
}

static fm_status compute_best(suggesting *self, fm_error *error)
{
    fm_job_code *code = self->code;
    fm_suggestion sampled[FM_SUGGESTIONS];
    const size_t count = code->best_count;
    fm_status status = compute_misses(self->job, code->region, &code->as_it_is, error);
    memcpy(sampled, code->best, sizeof sampled);
    code->best_count = 0;
    for (size_t i = 0; i < count && status == FM_OK; i++) {
        if (fm_now() < self->end) {
            fm_region *changed;
            status = fm_region_transform(code->region, sampled[i].change, &changed, error);
            if (status != FM_OK) return status;
            status = compute_misses(self->job, changed, &sampled[i], error);
            fm_region_destroy(changed);
        }
        if (status == FM_OK) rank_change(code, &sampled[i]);
    }
    return status;
}

static fm_status fail_without_change(const fm_job_code *code, fm_error *error)
{
    if (code->tried > 0)
        return fm_fail(error, FM_E_UNSUPPORTED, NULL, "none of the %u changes that were tried is legal",
                       code->tried);
    return fm_fail(error, FM_E_UNSUPPORTED, NULL,
                   code->left ? "the time was over before a change was tried"
                              : "there is no change to try: no loops inside or behind each other");
}

static fm_status find_best(fm_job *job, const fm_region *ask, const char **change, fm_error *error)
{
    fm_job_code *code = job->code;
    suggesting self = {
        .job = job, .code = code, .ask = ask, .end = code->began + code->options.limit_time / 2};
    if (job->cache_count == 0)
        return fm_fail(error, FM_E_ARGUMENT, NULL, "no cache is known that changes could be judged by");
    fm_status status = fm_region_suggest(code->region, &code->changes, error);
    for (const char *at = code->changes; status == FM_OK && *at; at += strlen(at) + 1)
        status = try_change(&self, at, error);
    if (status != FM_OK) return status;
    if (code->best_count == 0) return fail_without_change(code, error);
    status = compute_best(&self, error);
    if (status != FM_OK) return status;
    *change = code->best[0].change;
    if (code->best[0].misses >= code->as_it_is.misses)
        fm_job_note(job, "no legal change, of those that are tried, misses less");
    return FM_OK;
}

/* ---- changing it ---- */

fm_status fm_job_region_change(fm_job *job, const char *change, fm_error *error)
{
    FM_REQUIRE(job, error);
    fm_job_code *code = job->code;
    fm_region *own = NULL, *changed = NULL;
    fm_status status = FM_OK;
    if (!code || !code->region || code->original)
        return fm_fail(error, FM_E_ARGUMENT, NULL, "expected a region that was opened, and not changed yet");
    if (!code->options.scalars && !fm_job_is_text_form(code)) status = fm_job_read_scalars(job, &own, error);
    const fm_region *ask = own ? own : code->region;
    if (status == FM_OK && change)
        status = make_change(code->region, ask, change, code->options.limit_time, &changed, error);
    else if (status == FM_OK) {
        status = find_best(job, ask, &change, error);
        if (status == FM_OK) status = fm_region_transform(code->region, change, &changed, error);
    }
    fm_region_destroy(own);
    if (status != FM_OK) return status;
    code->original = code->region;
    code->region = changed;
    snprintf(code->change, sizeof code->change, "%s", change);
    return FM_OK;
}
