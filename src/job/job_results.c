/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job_results.c - what becomes of a job's profiles: code and data that they come from, their checks, files
 * for people and for other programs, the first screen. It joins pairs, symbols and views; it computes nothing
 * itself.
 *
 * The order of things, whatever the source:
 *
 *     fm_job_find_caches, fm_job_cut_edges   sizes to judge by; ranges of distances are cut there
 *     fm_job_attribute                       pairs and sites, with symbols, become profile->attribution
 *     fm_job_record_sources                  checksums of the source files
 *     fm_job_settle                          nothing is shown that cannot be true; what was asked about
 *     fm_job_write, fm_job_show              whatever the caller wants
 */
#include "job/job_internal.h"

#include "base/error.h"
#include "base/memory.h"

#include <fathom/experimental/checks.h>
#include <fathom/experimental/verdicts.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { TOP = 10 }; /* lines of the first screen, where nobody says how many */

/* ---- making them ---- */

/* Symbols, and a note for each line that the resolver has to say. */
static fm_status resolve_symbols(fm_job *job, fm_attribution *attribution, bool quiet, fm_error *error)
{
    fm_job_lines lines = {0};
    if (!quiet) fm_job_lines_open(job, &lines);
    fm_status status = fm_symbols_resolve(attribution, lines.stream, error);
    fm_job_lines_close(job, &lines, status == FM_OK);
    return status;
}

fm_status fm_job_attribute(fm_job *job, fm_profile *profile, const fm_raw_pair *pairs, size_t count,
                           uint64_t late_from, fm_job_describe describe, void *context, bool quiet,
                           fm_error *error)
{
    fm_attribution *attribution = NULL;
    const uint32_t *map = NULL;
    size_t map_count = 0;
    fm_status status = fm_attribution_create(&attribution, error);
    if (status == FM_OK)
        status = fm_attribution_set_edges(attribution, job->edges, job->edge_count, late_from, error);
    if (status == FM_OK) status = describe(context, attribution, &map, &map_count, error);
    if (status == FM_OK) status = fm_attribution_add_pairs(attribution, pairs, count, map, map_count, error);
    if (status == FM_OK) status = fm_attribution_drop_unused(attribution, error);
    if (status == FM_OK) status = resolve_symbols(job, attribution, quiet, error);
    if (status != FM_OK) {
        fm_attribution_destroy(attribution);
        return status;
    }
    fm_attribution_destroy(profile->attribution);
    profile->attribution = attribution;
    return FM_OK;
}

fm_status fm_job_record_sources(fm_job *job, fm_profile *profile, fm_error *error)
{
    fm_status status = FM_OK;
    if (!profile->attribution) {
        for (size_t i = 0; i < profile->part_count && status == FM_OK; i++)
            status = fm_job_record_sources(job, profile->parts[i], error);
        return status;
    }
    fm_job_lines lines;
    fm_job_lines_open(job, &lines);
    status =
        fm_attribution_record_sources(profile->attribution, job->options.embed_source, lines.stream, error);
    fm_job_lines_close(job, &lines, status == FM_OK);
    return status;
}

/* Whoever shows a profile later shows it at the caches that it was asked about. */
static fm_status keep_caches(const fm_job *job, fm_profile *profile, fm_error *error)
{
    if (job->cache_count == 0) return FM_OK;
    fm_cache *kept = fm_calloc(job->cache_count, sizeof *kept);
    if (!kept) return fm_fail_memory(error, job->cache_count * sizeof *kept, "caches");
    memcpy(kept, job->caches, job->cache_count * sizeof *kept);
    free(profile->caches);
    profile->caches = kept;
    profile->cache_count = job->cache_count;
    return FM_OK;
}

fm_status fm_job_settle(fm_job *job, fm_error *error)
{
    fm_status status = fm_profile_check((const fm_profile *const *)job->profile, job->count, error);
    for (size_t i = 0; i < job->count && status == FM_OK; i++)
        status = keep_caches(job, job->profile[i], error);
    return status;
}

size_t fm_profiles_caches(const fm_profile *const *profiles, size_t count, fm_cache *caches, size_t capacity)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < profiles[i]->cache_count && found < capacity; j++) {
            const fm_cache *cache = &profiles[i]->caches[j];
            bool known = false;
            for (size_t k = 0; k < found; k++) known |= caches[k].bytes == cache->bytes;
            if (!known) caches[found++] = *cache;
        }
    return found;
}

/* ---- files ---- */

typedef struct result_file {
    fm_output *output;
    FILE *stream;
} result_file;

/* Ends it as `status` says. */
static fm_status file_end(result_file *file, fm_status status, fm_error *error)
{
    if (status == FM_OK) return fm_output_commit(file->output, error);
    fm_output_abandon(file->output);
    return status;
}

static fm_status file_begin(result_file *file, const char *path, fm_error *error)
{
    const fm_status status = fm_output_open(&file->output, path, error);
    if (status == FM_OK) file->stream = fm_output_stream(file->output);
    return status;
}

fm_status fm_profile_result_write(const char *path, fm_result_kind kind, const fm_profile *profile,
                                  const fm_cache *caches, size_t cache_count, fm_error *error)
{
    result_file file;
    FM_REQUIRE(path, error);
    FM_REQUIRE(profile, error);
    fm_status status = fm_check_choice(kind, FM_RESULT_PAIRS_CSV, "fm_result_kind", error);
    if (status == FM_OK) status = file_begin(&file, path, error);
    if (status != FM_OK) return status;
    status = (kind == FM_RESULT_CALLGRIND ? fm_view_callgrind : fm_view_pairs_csv)(
        file.stream, profile, caches, cache_count, error);
    return file_end(&file, status, error);
}

fm_status fm_report_write_file_sized(size_t page_size, const char *path, const fm_report_options *page,
                                     const fm_profile *const *profiles, size_t count, const fm_cache *caches,
                                     size_t cache_count, fm_error *error)
{
    result_file file;
    FM_REQUIRE(path, error);
    fm_status status = file_begin(&file, path, error);
    if (status != FM_OK) return status;
    status =
        fm_report_write_page_sized(page_size, file.stream, page, profiles, count, caches, cache_count, error);
    return file_end(&file, status, error);
}

/* The first failure is the job's; of each is told. */
static fm_status after_failure(fm_job *job, fm_status before, fm_status status, const fm_error *now,
                               fm_error *error)
{
    if (status == FM_OK) return before;
    if (job->options.failed) job->options.failed(job->options.context, now);
    if (before != FM_OK) return before;
    if (error) *error = *now;
    return status;
}

static fm_status write_page(fm_job *job, const fm_job_files *files, fm_error *error)
{
    const char *title = files->title ? files->title : job->code ? job->profile[0]->name : NULL;
    const fm_report_options page = {.title = title, .no_source = files->no_source};
    return fm_report_write_file(files->page, &page, (const fm_profile *const *)job->profile, job->count,
                                job->caches, job->cache_count, error);
}

static fm_status write_check(fm_job *job, const char *path, fm_error *error)
{
    result_file file;
    fm_error now;
    if (!path) return FM_OK;
    fm_status status = file_begin(&file, path, &now);
    if (status == FM_OK) fm_job_write_check(job, file.stream);
    if (status == FM_OK) status = file_end(&file, FM_OK, &now);
    return after_failure(job, FM_OK, status, &now, error);
}

/* A result that cannot be written does not take the others with it: a run may have taken long. */
fm_status fm_job_write_sized(size_t files_size, fm_job *job, const fm_job_files *files, fm_error *error)
{
    fm_job_files all;
    fm_error now;
    FM_REQUIRE(job, error);
    fm_status status = fm_sized_read(&all, sizeof all, files, files ? files_size : 0, "fm_job_files", error);
    if (status != FM_OK) return status;
    if (job->check) return write_check(job, all.json, error);
    const fm_profile *const *profiles;
    const size_t count = fm_job_profiles(job, &profiles);
    if (count == 0) return fm_fail(error, FM_E_ARGUMENT, NULL, "there are no profiles yet");
    if (job->distances) {
        fm_output *distances = job->distances;
        job->distances = NULL;
        status = after_failure(job, status, fm_output_commit(distances, &now), &now, error);
    }
    if (all.json)
        status = after_failure(job, status, fm_profile_write(all.json, profiles, count, &now), &now, error);
    const char *const of_code[] = {[FM_RESULT_CALLGRIND] = all.callgrind, [FM_RESULT_PAIRS_CSV] = all.csv};
    for (int kind = 0; kind < 2; kind++)
        if (of_code[kind] && profiles[0]->attribution)
            status = after_failure(job, status,
                                   fm_profile_result_write(of_code[kind], (fm_result_kind)kind, profiles[0],
                                                           job->caches, job->cache_count, &now),
                                   &now, error);
    if (all.page) status = after_failure(job, status, write_page(job, &all, &now), &now, error);
    return status;
}

/* ---- the first screen ---- */

static void show_histograms(FILE *out, const fm_view_options *view, const fm_profile *const *profiles,
                            size_t count, const fm_cache *caches, size_t cache_count)
{
    for (size_t i = 0; i < count; i++) {
        if (i > 0) fputc('\n', out);
        fm_view_histogram(out, profiles[i], view);
        if (cache_count == 0) continue;
        fputc('\n', out);
        fm_view_caches(out, profiles[i], caches, cache_count, view);
    }
}

static fm_status show_pairs(FILE *out, const fm_view_options *view, const fm_screen_options *screen,
                            const fm_profile *profile, const fm_cache *caches, size_t cache_count,
                            fm_error *error)
{
    if (!profile->attribution || cache_count == 0 || screen->top == 0) return FM_OK;
    fputc('\n', out);
    const size_t level = fm_verdict_level(profile, caches, cache_count);
    return fm_view_pairs(out, profile, &caches[level], screen->top, view, error);
}

/* Profiles that know neither code nor program (traces of keys) are shown as histograms. */
static fm_status show_screen(FILE *out, const fm_profile *const *profiles, size_t count,
                             const fm_cache *caches, size_t cache_count, const fm_screen_options *screen,
                             const fm_view_options *view, fm_error *error)
{
    fm_status status = FM_OK;
    const fm_profile *first = profiles[0];
    if (!first->attribution && !first->run && !first->kernel) {
        show_histograms(out, view, profiles, count, caches, cache_count);
        return FM_OK;
    }
    for (size_t i = 0; i < count && status == FM_OK; i++) {
        if (i > 0) fputc('\n', out);
        status = fm_view_verdict(out, profiles[i], caches, cache_count, screen->by, screen->top, view, error);
    }
    if (status == FM_OK && first->part_count > 0) {
        fputc('\n', out);
        fm_view_parts(out, first, caches, cache_count, view);
    }
    if (status == FM_OK && screen->histogram) {
        fputc('\n', out);
        show_histograms(out, view, profiles, count, caches, cache_count);
    }
    if (status == FM_OK && screen->pairs)
        status = show_pairs(out, view, screen, first, caches, cache_count, error);
    if (status == FM_OK && screen->also && first->references > 0 && !screen->pairs && !screen->histogram)
        fprintf(out, "\n%s", screen->also);
    return status;
}

static fm_status read_screen(fm_screen_options *own, const fm_screen_options *given, size_t size,
                             fm_view_options *view, const fm_view_options *given_view, size_t view_size,
                             fm_error *error)
{
    fm_status status = fm_sized_read(own, sizeof *own, given, given ? size : 0, "fm_screen_options", error);
    if (status == FM_OK)
        status = fm_sized_read(view, sizeof *view, given_view, given_view ? view_size : 0, "fm_view_options",
                               error);
    if (status == FM_OK) status = fm_check_choice(own->by, FM_BY_OBJECT, "fm_screen_options.by", error);
    if (!given) own->top = TOP;
    return status;
}

fm_status fm_profiles_show_sized(size_t screen_size, size_t view_size, FILE *out,
                                 const fm_profile *const *profiles, size_t count, const fm_cache *caches,
                                 size_t cache_count, const fm_screen_options *screen,
                                 const fm_view_options *view, fm_error *error)
{
    fm_screen_options own;
    fm_view_options terminal;
    FM_REQUIRE(out, error);
    if (count == 0) return FM_OK;
    FM_REQUIRE(profiles, error);
    const fm_status status = read_screen(&own, screen, screen_size, &terminal, view, view_size, error);
    return status == FM_OK ? show_screen(out, profiles, count, caches, cache_count, &own, &terminal, error)
                           : status;
}

/* What only profiles of source code have: caches with sets, bounds on a machine. */
static void show_code(FILE *out, const fm_profile *profile, const fm_view_options *view)
{
    if (profile->set_count > 0)
        fprintf(out, "\n%-16s %8s %6s %16s %12s  %s\n", "cache with sets", "sets", "ways", "misses",
                "miss ratio", "certainty");
    for (size_t i = 0; i < profile->set_count; i++) {
        const fm_set_misses *one = &profile->set_misses[i];
        fprintf(out, "%-16s %8" PRIu64 " %6" PRIu64 " %16" PRIu64 " %10.2f %%  %s\n", one->name, one->sets,
                one->ways, one->misses,
                one->references ? 100 * (double)one->misses / (double)one->references : 0, one->certainty);
        if (one->least != one->most)
            fprintf(out, "%-32s between %" PRIu64 " and %" PRIu64 " with 95 %% confidence\n", "", one->least,
                    one->most);
    }
    if (profile->set_count > 0) {
        fputs("LRU in each set, for these addresses: ", out);
        fm_view_text(out, profile->addresses, view);
        putc('\n', out);
    }
    if (!profile->bounds) return;
    putc('\n', out);
    fm_view_bounds(out, profile, view);
}

fm_status fm_job_show_sized(size_t screen_size, size_t view_size, fm_job *job, FILE *out,
                            const fm_screen_options *screen, const fm_view_options *view, fm_error *error)
{
    enum { LATENCY_LINES = 5 };
    fm_screen_options own;
    fm_view_options terminal;
    FM_REQUIRE(job, error);
    FM_REQUIRE(out, error);
    fm_status status = read_screen(&own, screen, screen_size, &terminal, view, view_size, error);
    const fm_profile *const *profiles;
    const size_t count = fm_job_profiles(job, &profiles);
    if (status != FM_OK) return status;
    if (job->recording) fm_job_show_recording(job, out, &terminal);
    if (job->check) fm_job_show_check(job, out, &terminal);
    if (job->recording || job->check) return FM_OK;
    if (count == 0) return fm_fail(error, FM_E_ARGUMENT, NULL, "there are no profiles yet");
    if (job->phases) return fm_job_show_phases(job, out, &own, &terminal, error);
    if (job->source == FM_JOB_TRACE && !profiles[0]->cold_known)
        fm_job_note(job,
                    "more distinct blocks than can be remembered under fm_job_options.bound: first touches "
                    "after that are counted as beyond");
    if (job->source == FM_JOB_SAMPLES) {
        fm_view_sampled(out, profiles[0], &job->facts, &terminal);
        fputc('\n', out);
    }
    if (job->code && job->code->original) {
        fm_job_show_changes(job, out);
        return FM_OK;
    }
    status = show_screen(out, profiles, count, job->caches, job->cache_count, &own, &terminal, error);
    if (status == FM_OK && job->code) show_code(out, profiles[0], &terminal);
    if (status == FM_OK && job->source == FM_JOB_SAMPLES && profiles[0]->attribution)
        fm_view_latencies(out, profiles[0]->attribution, LATENCY_LINES, &terminal);
    return status;
}
