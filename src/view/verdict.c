/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verdict.c - what is wrong at every cache, and whose misses these are: which cache is judged, which rows
 * matter, how far apart the uses are; and the words for it, which are the same on the terminal
 * (terminal_verdict.c) and on pages (report.c, which gives them to web/verdict.js).
 */
#define _GNU_SOURCE
#include "view/miss_table.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/plain_text.h"

#include <errno.h>
#include <fathom/experimental/verdicts.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* One in so many references matters. */
static const double references_matter = 1000;
/* Shares of the misses: what is most of them, or nearly all, and from where on a row is worth a line, or a
 * name. */
static const double most_of_all = 0.8, nearly_all = 0.95, worth_a_line = 0.01, worth_a_name = 0.1;

/* ---- which cache, which rows ---- */

static bool level_matters(const fm_profile *profile, const fm_cache_fit *fit)
{
    return profile->references && fit->late * references_matter >= (double)profile->references;
}

bool fm_verdict_matters(const fm_profile *profile, const fm_cache *cache)
{
    const fm_cache_fit fit = fm_cache_fit_make(profile, cache);
    return level_matters(profile, &fit);
}

size_t fm_verdict_level(const fm_profile *profile, const fm_cache *caches, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (fm_verdict_matters(profile, &caches[i])) return i;
    return 0;
}

double fm_verdict_total(const fm_verdict *of)
{
    return of->fits[of->judged].misses.expected;
}

const fm_miss_row *fm_verdict_row(const fm_verdict *of, size_t rank)
{
    FM_ASSERT(rank < of->table.count);
    return &of->table.rows[of->order[rank]];
}

/* As many as make nearly everything, without the many small ones behind them; and how many of these make
 * most. */
static void find_rows(fm_verdict *of, size_t most)
{
    const double all = fm_verdict_total(of);
    double passed = 0;
    for (; of->listed < of->table.count && of->listed < most; of->listed++) {
        const double misses = fm_verdict_row(of, of->listed)->misses[of->judged];
        if (!(misses > 0) || passed > all * nearly_all || (of->listed && misses < all * worth_a_line)) break;
        passed += misses;
    }
    for (; of->told < of->listed && (of->told == 0 || of->told_misses < all * most_of_all); of->told++)
        of->told_misses += fm_verdict_row(of, of->told)->misses[of->judged];
}

fm_status fm_verdict_make(fm_verdict *of, const fm_profile *profile, const fm_cache *caches, size_t count,
                          fm_by by, size_t most, fm_error *error)
{
    *of = (fm_verdict){.profile = profile, .caches = caches, .by = by};
    of->count = count < FM_VERDICT_LEVELS ? count : FM_VERDICT_LEVELS;
    of->judged = fm_verdict_level(profile, caches, of->count);
    of->few = fm_text_samples_of_misses(profile) < FM_FEWEST_SAMPLES;
    for (size_t i = 0; i < of->count; i++) of->fits[i] = fm_cache_fit_make(profile, &caches[i]);
    if (!profile->attribution || of->count == 0 || profile->references == 0) return FM_OK;
    fm_status status = fm_miss_table_fit(&of->table, profile, by, of->fits, of->count, error);
    if (status) return status;
    of->order = fm_calloc(of->table.count, sizeof *of->order);
    status = of->order ? fm_miss_table_order(&of->table, of->judged, of->order, error)
                       : fm_fail_memory(error, of->table.count * sizeof *of->order, "the order of lines");
    if (status)
        fm_verdict_clear(of);
    else
        find_rows(of, most);
    FM_ASSERT(of->told <= of->listed && of->listed <= of->table.count);
    return status;
}

void fm_verdict_clear(fm_verdict *of)
{
    free(of->order);
    fm_miss_table_clear(&of->table);
    *of = (fm_verdict){0};
}

fm_status fm_verdict_places(const fm_verdict *of, size_t level, const fm_miss_row *places[FM_VERDICT_PLACES],
                            size_t *count, fm_error *error)
{
    uint32_t *order = fm_calloc(of->table.count, sizeof *order);
    if (!order) return fm_fail_memory(error, of->table.count * sizeof *order, "the order of lines");
    fm_status status = fm_miss_table_order(&of->table, level, order, error);
    const double all = of->fits[level].misses.expected;
    const size_t most = of->fits[level].late > 0 ? FM_VERDICT_PLACES : 1;
    double passed = 0;
    *count = 0;
    for (size_t i = 0; !status && i < of->table.count && i < most; i++) {
        const fm_miss_row *row = &of->table.rows[order[i]];
        const double misses = row->misses[level];
        if (!(misses > 0) || (i && (passed > all * most_of_all || misses < all * worth_a_name))) break;
        passed += misses;
        places[(*count)++] = row;
    }
    free(order);
    return status;
}

/* The range of distances with the median of the late re-uses at the listed rows. False: none, or no end. */
static bool late_median(const fm_verdict *of, uint64_t *lo, uint64_t *hi)
{
    const fm_attribution *at = of->table.of;
    const uint64_t blocks = of->table.blocks[of->judged];
    double counts[256] = {0}, all = 0, passed = 0;
    for (size_t i = 0; i < at->pair_count; i++) {
        const fm_pair *pair = &at->pairs[i];
        bool listed = of->by == FM_BY_OBJECT;
        for (size_t r = 0; r < of->listed && !listed; r++)
            listed = of->order[r] == of->table.of_site[pair->reuse];
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

/* What is missed on in a row's code, most of all; 0 where nothing is known. Returns the share of the row's
 * misses that are known. */
static double main_object(const fm_verdict *of, const fm_miss_row *row, char *text, size_t size)
{
    const fm_attribution *at = of->table.of;
    double *sums = fm_calloc(at->object_count, sizeof *sums), all = 0;
    size_t best = 0;
    if (!sums || !of->table.of_site || at->object_count == 0) {
        free(sums);
        return 0;
    }
    for (size_t i = 0; i < at->object_use_count; i++) {
        const fm_object_use *use = &at->object_uses[i];
        if (of->table.of_site[use->site] != row->number) continue;
        const double misses = fm_object_use_misses(use, of->table.blocks[of->judged]);
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

/* The function in a module, or the line in a function, with most of a row's misses. */
static void main_place(const fm_verdict *of, const fm_miss_row *row, char *text, size_t size)
{
    const fm_attribution *at = of->table.of;
    double *sums = fm_calloc(at->site_count, sizeof *sums);
    size_t best = 0;
    text[0] = '\0';
    if (!sums || !of->table.of_site || at->site_count == 0) {
        free(sums);
        return;
    }
    for (size_t i = 0; i < at->pair_count; i++)
        if (of->table.of_site[at->pairs[i].reuse] == row->number)
            sums[at->pairs[i].reuse] += fm_pair_misses(&at->pairs[i], of->table.blocks[of->judged]);
    for (size_t i = 0; i < at->site_count; i++)
        if (sums[i] > sums[best]) best = i;
    if (sums[best] > 0) fm_site_text(at, (uint32_t)best, text, size);
    free(sums);
}

/* ---- a text that grows; what does not fit is left out ---- */

__attribute__((format(printf, 2, 3))) static void sentence_say(char text[FM_SENTENCE], const char *format,
                                                               ...)
{
    const size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + used, FM_SENTENCE - used, format, arguments);
    va_end(arguments);
}

/* ---- which program, trace or source ---- */

static void say_exactness(char *to, const fm_profile *profile)
{
    sentence_say(to, "%s", profile->exact ? "exact" : "estimated");
    if (profile->bound) sentence_say(to, " below %s blocks", fm_text_count(profile->bound).text);
}

static void say_run(char *to, const fm_profile *profile)
{
    const fm_run *run = profile->run;
    const char *name = profile->name ? profile->name : run->command ? run->command : "the program";
    sentence_say(to, "%s", fm_base_name(name));
    if (run->thread) sentence_say(to, ", thread %" PRIu32, run->thread);
    if (run->ending) sentence_say(to, " %s", run->ending);
}

static void say_counts(char *to, const fm_profile *profile)
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
static void say_count(char *to, const char **before, const char *count, const char *what)
{
    char *end;
    if (!count || strcmp(count, "0") == 0) return;
    errno = 0;
    unsigned long long number = strtoull(count, &end, 10);
    const bool formula = *end || end == count || errno;
    sentence_say(to, "%s%s%s", *before, formula ? count : fm_text_short((double)number).text, what);
    *before = ", ";
}

static void say_kernel(char *to, const fm_profile *profile)
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

void fm_verdict_covers(const fm_profile *profile, char text[FM_SENTENCE])
{
    text[0] = '\0';
    if (profile->kernel) {
        say_kernel(text, profile);
        return;
    }
    if (profile->run)
        say_run(text, profile);
    else
        sentence_say(text, "%s", profile->name ? fm_base_name(profile->name) : "(unnamed)");
    say_counts(text, profile);
}

/* ---- misses at every cache ---- */

fm_level_text fm_verdict_level_text(const fm_verdict *of, size_t level)
{
    const fm_cache_fit *fit = &of->fits[level];
    const double misses = fit->misses.expected;
    fm_level_text made = {.size = fm_text_cache_size(of->profile, of->caches[level].bytes)};
    made.misses = fm_text_short(misses);
    made.ratio = fm_text_short_percent(fit->ratio);
    made.late = fm_text_whole_percent(misses > 0 ? fit->late / misses : 0);
    made.first = fm_text_whole_percent(misses > 0 ? 1 - fit->late / misses : 0);
    if (fit->has_band)
        snprintf(made.band.text, sizeof made.band.text, "(%.20s to %.20s)",
                 fm_text_short_percent(fit->least).text, fm_text_short_percent(fit->most).text);
    return made;
}

/* ---- whose they are ---- */

bool fm_verdict_too_few(const fm_verdict *of, char text[FM_SENTENCE])
{
    text[0] = '\0';
    if (of->few)
        sentence_say(text, "too few samples for a verdict: %" PRIu64 " of misses (%d are the least)",
                     fm_text_samples_of_misses(of->profile), (int)FM_FEWEST_SAMPLES);
    return of->few;
}

bool fm_verdict_heading(const fm_verdict *of, char text[FM_SENTENCE])
{
    static const char *const words[] = {"no",  "one",   "two",   "three", "four", "five",
                                        "six", "seven", "eight", "nine",  "ten"};
    static const char *const nouns[][2] = {
        {"line", "lines"}, {"function", "functions"}, {"object", "objects"}, {"place", "places"}};
    size_t noun = of->by;
    text[0] = '\0';
    if (of->told == 0) return false;
    for (size_t i = 0; i < of->told; i++)
        if (of->by == FM_BY_LINE && fm_verdict_row(of, i)->kind != FM_ROW_LINE) noun = 3;
    sentence_say(text, "%s: ", fm_text_cache_name(&of->caches[of->judged]).text);
    if (of->told < sizeof words / sizeof *words)
        sentence_say(text, "%s", words[of->told]);
    else
        sentence_say(text, "%zu", of->told);
    sentence_say(text, " %s make%s %s of the misses", nouns[noun][of->told != 1], of->told == 1 ? "s" : "",
                 fm_text_whole_percent(of->told_misses / fm_verdict_total(of)).text);
    return true;
}

void fm_verdict_detail(const fm_verdict *of, const fm_miss_row *row, char text[FM_SENTENCE])
{
    char object[600] = "", place[1200] = "";
    const double share = main_object(of, row, object, sizeof object);
    if (row->kind == FM_ROW_LINE && row->function) {
        snprintf(place, sizeof place, "in %s", row->function);
    } else if (row->kind == FM_ROW_MODULE || row->kind == FM_ROW_FUNCTION) {
        char most[1000];
        main_place(of, row, most, sizeof most);
        if (most[0]) snprintf(place, sizeof place, "most at %s", most);
    }
    snprintf(text, FM_SENTENCE, "%s%s%s%s%s", place, place[0] && object[0] ? ", " : "",
             object[0] ? "on " : "", object, object[0] && share < 0.995 ? " and others" : "");
}

bool fm_verdict_distance(const fm_verdict *of, char text[FM_SENTENCE])
{
    uint64_t lo, hi;
    const uint64_t unit = of->profile->granularity;
    text[0] = '\0';
    if (!(of->fits[of->judged].late > 0) || !late_median(of, &lo, &hi)) return false;
    const fm_misses there = fm_profile_misses(of->profile, hi);
    sentence_say(text, "used again after %s to %s other %s", fm_text_count(lo).text, fm_text_count(hi).text,
                 of->profile->elements ? "elements" : "blocks");
    if (!of->profile->elements)
        sentence_say(text, " (%s to %s)", fm_text_bytes(lo, unit).text, fm_text_bytes(hi, unit).text);
    if (there.known && there.expected < fm_verdict_total(of) * 0.9)
        sentence_say(text, ": a cache of %s would miss %s instead of %s",
                     of->profile->elements ? fm_text_scaled(hi).text : fm_text_bytes(hi, unit).text,
                     fm_text_short_percent(there.expected / (double)of->profile->references).text,
                     fm_text_short_percent(of->fits[of->judged].ratio).text);
    return true;
}

/* ---- the answer of a page ---- */

/* "a, b and c": the rows that make most of the misses. */
static void say_rows(char *to, const fm_verdict *of)
{
    enum { MOST_NAMES = 3 };
    const size_t names = of->told > MOST_NAMES ? MOST_NAMES - 1 : of->told;
    char text[600];
    for (size_t i = 0; i < names; i++)
        sentence_say(to, "%s%s",
                     i == 0              ? ""
                     : i + 1 == of->told ? " and "
                                         : ", ",
                     fm_miss_row_text(fm_verdict_row(of, i), text, sizeof text));
    if (names < of->told) sentence_say(to, " and %zu other places", of->told - names);
}

bool fm_verdict_answer(const fm_verdict *of, char text[FM_SENTENCE])
{
    const fm_profile *profile = of->profile;
    const char *about = profile->exact ? "" : "about ";
    text[0] = '\0';
    if (of->count == 0 || !of->fits[of->judged].misses.known) return false;
    if (of->few) {
        fm_verdict_too_few(of, text);
        text[0] = 'T';
        sentence_say(text, ". A longer run, or more samples a second (--rate), has more.");
        return true;
    }
    const fm_cache_fit *judged = &of->fits[of->judged];
    const fm_text name = fm_text_cache_name(&of->caches[of->judged]);
    if (of->fits[0].misses.known && of->fits[0].ratio * references_matter < 1) {
        sentence_say(
            text,
            "Next to no misses: %s%s of the references miss %s. Data locality is not a problem of this "
            "program.",
            about, fm_text_short_percent(of->fits[0].ratio).text, fm_text_cache_name(&of->caches[0]).text);
        return true;
    }
    const bool late = level_matters(profile, judged), placed = late && of->told > 0;
    if (placed) {
        say_rows(text, of);
        sentence_say(text, " %s %s of the ", of->told == 1 ? "causes" : "cause",
                     fm_text_whole_percent(of->told_misses / fm_verdict_total(of)).text);
    }
    const size_t begin = strlen(text);
    sentence_say(text, "%s%s misses in %s, %s of all references", about,
                 fm_text_short(judged->misses.expected).text, name.text,
                 fm_text_short_percent(judged->ratio).text);
    if (begin == 0 && text[0] == 'a') text[0] = 'A';
    if (!late)
        sentence_say(text, ", nearly all %s: data that is used again is still in the cache.",
                     fm_text_cold(profile));
    else if (!placed)
        sentence_say(text, "; %s of them reuse data that the cache has lost.",
                     fm_text_whole_percent(judged->late / judged->misses.expected).text);
    char distance[FM_SENTENCE];
    if (placed) sentence_say(text, ".");
    if (placed && fm_verdict_distance(of, distance))
        sentence_say(text, " Most of their data is %s.", distance);
    return true;
}

/* ---- keys ---- */

static double hits_at(const fm_profile *profile, uint64_t blocks)
{
    const fm_misses misses = fm_profile_misses(profile, blocks);
    return misses.known ? 1 - misses.expected / (double)profile->references : -1;
}

/* The largest size that says something: with all keys in it, or at the bound. */
static uint64_t largest_known(const fm_profile *profile)
{
    const uint64_t most = profile->distinct ? profile->distinct : 1;
    return profile->bound && profile->beyond && profile->bound < most ? profile->bound : most;
}

/* The smallest size with this hit ratio; 0: none has it, as far as the profile knows. */
static uint64_t size_for_hits(const fm_profile *profile, double wanted)
{
    uint64_t low = 1, high = largest_known(profile);
    if (hits_at(profile, high) < wanted) return 0;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (hits_at(profile, middle) >= wanted)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

void fm_verdict_of_keys(const fm_profile *profile, fm_key_row rows[FM_KEY_ROWS], char answer[FM_SENTENCE])
{
    static const double shares[] = {0.01, 0.1, 0.5}, wanted[] = {0.8, 0.9};
    enum { TEN = 1, EIGHTY = 3 };
    const char *about = profile->exact ? "" : "about ", *word = profile->elements ? "element" : "key";
    for (size_t i = 0; i < FM_KEY_ROWS; i++) {
        rows[i] = (fm_key_row){0};
        if (i < 3) {
            rows[i].share = shares[i];
            rows[i].blocks = (uint64_t)fmax(1, round((double)profile->distinct * shares[i]));
            rows[i].hits = hits_at(profile, rows[i].blocks);
        } else {
            rows[i].wanted = rows[i].hits = wanted[i - 3];
            rows[i].blocks = size_for_hits(profile, wanted[i - 3]);
            rows[i].share = (double)rows[i].blocks / fmax(1, (double)profile->distinct);
        }
    }
    const bool bounded = profile->bound && profile->beyond;
    const fm_key_row *ten = &rows[TEN], *eighty = &rows[EIGHTY];
    answer[0] = '\0';
    if (ten->hits >= 0)
        sentence_say(answer, "A cache of 10 %% of the %ss (%s) hits %s%s of the references. ", word,
                     fm_text_count(ten->blocks).text, about, fm_text_percent(ten->hits).text);
    if (eighty->blocks)
        sentence_say(answer, "80 %% hits need %s%s %s%s (%s of them). ", about,
                     fm_text_count(eighty->blocks).text, word, eighty->blocks == 1 ? "" : "s",
                     fm_text_percent(eighty->share).text);
    sentence_say(
        answer, "%s%s%s",
        bounded ? "The largest cache that the profile knows hits " : "No cache hits more than ",
        fm_text_percent(fmax(0, hits_at(profile, bounded ? profile->bound : largest_known(profile)))).text,
        bounded ? "." : ": the other references are the first to their ");
    if (!bounded) sentence_say(answer, "%ss.", word);
}
