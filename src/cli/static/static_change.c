/* SPDX-License-Identifier: Apache-2.0 */
/*
 * static_change.c - fathom static --what-if and --suggest: changes of loops, whether they are legal, and what
 * they do to the misses.
 *
 * Scalar variables count as being in registers, but values go through them: of a source, legality is asked of
 * the region with its scalars in memory.
 */
#include "static/static_run.h"

#include <stdlib.h>
#include <string.h>

enum { BEST = 5, DRAWS = 10000 };

/* The region that is asked whether a change is legal: *own where it was opened for that. */
static int region_to_ask(cli_static_run *run, fm_region **own)
{
    *own = NULL;
    if (run->options->scalars || cli_static_is_text_form(run)) return -1;
    return cli_static_read_scalars(run, own);
}

/* The changed region, if the change can be done and is legal. */
static fm_status make(const cli_static_run *run, const fm_region *ask, const char *change, double limit,
                      fm_region **changed, fm_error *error)
{
    fm_region *asked;
    *changed = NULL;
    fm_status status = fm_region_transform(ask, change, &asked, error);
    if (status == FM_OK) status = fm_region_change_check(ask, asked, limit, error);
    fm_region_destroy(asked);
    return status == FM_OK ? fm_region_transform(run->region, change, changed, error) : status;
}

/* ---- numbers for people ---- */

typedef struct number {
    char text[40];
} number;

/* 8.11 M */
static number scaled(double value)
{
    static const char *const units[] = {"", " K", " M", " G", " T", " P"};
    number made;
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
static number grouped(double value)
{
    number made;
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

static double misses_at(const cli_static_run *run, const fm_profile *profile, const fm_cache *cache)
{
    return fm_profile_misses(profile, cache->bytes / run->options->granularity).expected;
}

/* Misses are judged at the first size that is asked for, else at the smallest cache. */
static const fm_cache *judging(const cli_static_run *run)
{
    const fm_cache *found = &run->caches.caches[0];
    for (size_t i = 1; i < run->caches.count && !run->options->attribution.sizes; i++)
        if (run->caches.caches[i].bytes < found->bytes) found = &run->caches.caches[i];
    return found;
}

static const char *certainty(const fm_profile *profile)
{
    return profile->kernel && profile->kernel->certainty ? profile->kernel->certainty : "exact";
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
    fprintf(out, "%-16s %22s %22s", name, grouped(before).text, grouped(after).text);
    show_share(out, before, after);
}

/* The least time on the machine that is described; proved: whatever its caches replace. */
static void show_least_time(FILE *out, const cli_static_run *run, bool proved)
{
    const fm_bounds_part *parts[2] = {&run->before->bounds->whole, &run->profile->bounds->whole};
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

void cli_static_show_change(FILE *out, const cli_static_run *run)
{
    const fm_profile *before = run->before, *after = run->profile;
    fprintf(out, "%s\n\n", run->change);
    fprintf(out, "%-16s %22s %22s %9s\n", "", "before", "after", "change");
    fprintf(out, "%-16s %22s %22s\n", "references", grouped((double)before->references).text,
            grouped((double)after->references).text);
    for (size_t i = 0; i < run->caches.count; i++) {
        const fm_cache *cache = &run->caches.caches[i];
        show_misses(out, cache->name, misses_at(run, before, cache), misses_at(run, after, cache));
    }
    for (size_t i = 0; i < before->set_count && i < after->set_count; i++)
        show_misses(out, before->set_misses[i].name, (double)before->set_misses[i].misses,
                    (double)after->set_misses[i].misses);
    if (before->bounds && after->bounds) {
        show_least_time(out, run, true);
        show_least_time(out, run, false);
    }
    fprintf(out, "%-16s %22s %22s\n\n", "", certainty(before), certainty(after));
    if (run->caches.count == 0) {
        fputs("legal\n", out);
        return;
    }
    const fm_cache *cache = judging(run);
    fprintf(out, "%s misses %s -> %s, legal\n", cache->name, scaled(misses_at(run, before, cache)).text,
            scaled(misses_at(run, after, cache)).text);
}

/* ---- --what-if ---- */

static void keep(cli_static_run *run, fm_region *changed, const char *change)
{
    run->original = run->region;
    run->region = changed;
    snprintf(run->change, sizeof run->change, "%s", change);
}

static int change_as_told(cli_static_run *run, const fm_region *ask)
{
    fm_region *changed;
    fm_error error;
    if (make(run, ask, run->options->change.text, run->options->limit, &changed, &error))
        return cli_fail(&error);
    keep(run, changed, run->options->change.text);
    return -1;
}

/* ---- --suggest ---- */

/* Ranked by samples; then the best are computed as the main result is, while there is time. */
typedef struct suggestion {
    const char *change; /* NULL: none */
    double misses;
    char certainty[32];
} suggestion;

typedef struct suggesting {
    cli_static_run *run;
    const fm_region *ask;
    double end; /* of the time allowed */
    unsigned tried, legal, left;
    suggestion before;
    suggestion best[BEST + 1];
    size_t count;
} suggesting;

static void take_misses(const cli_static_run *run, fm_profile *profile, suggestion *one)
{
    one->misses = misses_at(run, profile, judging(run));
    snprintf(one->certainty, sizeof one->certainty, "%s", certainty(profile));
    fm_profile_destroy(profile);
}

static fm_status sample(const cli_static_run *run, const fm_region *region, suggestion *one, fm_error *error)
{
    const fm_static_options how = {
        .granularity = run->options->granularity,
        .layout = run->layout,
        .bins = run->bins,
        .limit_seconds = run->options->limit,
        .samples = run->options->samples ? run->options->samples : DRAWS,
        .seed = 1,
        .method = "sample",
    };
    fm_profile *profile;
    fm_status status = fm_region_profile(region, &how, &profile, error);
    if (status == FM_OK) take_misses(run, profile, one);
    return status;
}

/* As the main result. */
static int compute(const cli_static_run *run, fm_region *region, suggestion *one)
{
    cli_static_run *other = malloc(sizeof *other);
    fm_error error;
    if (!other) return cli_out_of_memory();
    *other = *run;
    other->region = region;
    other->profile = NULL;
    fm_region_count(region, run->options->limit, &other->counts, &error); /* NULL where it cannot */
    int code = cli_static_analyze(other);
    if (code < 0)
        take_misses(run, other->profile, one);
    else
        fm_profile_destroy(other->profile);
    fm_region_counts_destroy(other->counts);
    free(other);
    return code;
}

/* A place among the best; the first tried stays in front of one that is as good. */
static void rank(suggesting *self, const suggestion *one)
{
    size_t at = self->count;
    while (at > 0 && self->best[at - 1].misses > one->misses) {
        self->best[at] = self->best[at - 1];
        at--;
    }
    self->best[at] = *one;
    if (self->count < BEST) self->count++;
}

static int try_change(suggesting *self, const char *change)
{
    fm_region *changed;
    fm_error error;
    suggestion one = {.change = change};
    const double left = self->end - cli_now();
    if (left <= 0) {
        self->left++;
        return -1;
    }
    self->tried++;
    fm_status status = make(self->run, self->ask, change, left / 4 > 0.1 ? left / 4 : 0.1, &changed, &error);
    if (status == FM_OK) {
        self->legal++;
        status = sample(self->run, changed, &one, &error);
        if (status == FM_OK) rank(self, &one);
    }
    fm_region_destroy(changed);
    return status == FM_OK || status == FM_E_UNSUPPORTED || status == FM_E_ARGUMENT || status == FM_E_LIMIT
               ? -1
               : cli_fail(&error);
}

static int compute_best(suggesting *self)
{
    suggestion sampled[BEST];
    const size_t count = self->count;
    int code = compute(self->run, self->run->region, &self->before);
    memcpy(sampled, self->best, sizeof sampled);
    self->count = 0;
    for (size_t i = 0; i < count && code < 0; i++) {
        fm_region *changed;
        fm_error error;
        if (cli_now() < self->end) {
            if (fm_region_transform(self->run->region, sampled[i].change, &changed, &error))
                return cli_fail(&error);
            code = compute(self->run, changed, &sampled[i]);
            fm_region_destroy(changed);
        }
        if (code < 0) rank(self, &sampled[i]);
    }
    return code;
}

static void show_best(const suggesting *self)
{
    const char *cache = judging(self->run)->name;
    char title[48];
    printf("%u of %u changes are legal", self->legal, self->tried);
    if (self->left) printf("; %u were not tried: the time was over", self->left);
    snprintf(title, sizeof title, "%.24s misses", cache);
    printf("\n\n%-44s %14s  %s\n", "", title, "certainty");
    printf("%-44s %14s  %s\n", "as it is", scaled(self->before.misses).text, self->before.certainty);
    for (size_t i = 0; i < self->count; i++)
        printf("%-44s %14s  %s\n", self->best[i].change, scaled(self->best[i].misses).text,
               self->best[i].certainty);
    printf("\n");
    if (self->count > 0 && self->best[0].misses >= self->before.misses)
        cli_note("no legal change, of those that are tried, misses less");
}

static int suggest(suggesting *self, const char *changes)
{
    cli_static_run *run = self->run;
    fm_region *changed;
    fm_error error;
    int code = -1;
    for (const char *at = changes; *at && code < 0; at += strlen(at) + 1) code = try_change(self, at);
    if (code >= 0) return code;
    if (self->count == 0) {
        if (self->tried == 0)
            cli_complain(self->left ? "the time was over before a change was tried"
                                    : "there is no change to try: no loops inside or behind each other");
        else
            cli_complain("none of the %u changes that were tried is legal", self->tried);
        return CLI_FAILED;
    }
    code = compute_best(self);
    if (code >= 0) return code;
    const bool quiet = (run->options->json && strcmp(run->options->json, "-") == 0) || run->options->ir;
    if (!quiet) show_best(self);
    if (fm_region_transform(run->region, self->best[0].change, &changed, &error)) return cli_fail(&error);
    keep(run, changed, self->best[0].change);
    return -1;
}

static int change_as_is_best(cli_static_run *run, const fm_region *ask)
{
    suggesting self = {.run = run, .ask = ask, .end = run->began + run->options->limit / 2};
    fm_error error;
    char *changes;
    if (run->caches.count == 0)
        return cli_misuse("--suggest: this machine's caches are not known: name one by --size");
    if (fm_region_suggest(run->region, &changes, &error)) return cli_fail(&error);
    int code = suggest(&self, changes);
    free(changes);
    return code;
}

int cli_static_change(cli_static_run *run)
{
    fm_region *own;
    int code = region_to_ask(run, &own);
    if (code < 0)
        code = run->options->suggest ? change_as_is_best(run, own ? own : run->region)
                                     : change_as_told(run, own ? own : run->region);
    fm_region_destroy(own);
    return code;
}
