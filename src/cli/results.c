/* SPDX-License-Identifier: Apache-2.0 */
/* results.c - see results.h. */
#define _GNU_SOURCE /* O_PATH */
#include "results.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- options ---- */

int cli_parse_by(const char *text, fm_by *by)
{
    static const char *const names[] = {"line", "function", "object"};
    *by = FM_BY_LINE;
    for (size_t i = 0; text && i < sizeof names / sizeof *names; i++)
        if (strcmp(text, names[i]) == 0) {
            *by = (fm_by)i;
            return -1;
        }
    return text ? cli_misuse("--by: expected line, function or object, found '%s'", text) : -1;
}

/* A file that is there stays as it is; pipes and devices are not touched. */
static int try_outputs(const char *const *paths, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct stat about;
        fm_output *output;
        fm_error error;
        if (!paths[i] || cli_is_stdout(paths[i])) continue;
        if (stat(paths[i], &about) == 0 && !S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode)) continue;
        if (fm_output_open(&output, paths[i], &error)) return cli_fail(&error);
        fm_output_abandon(output);
    }
    return -1;
}

int cli_split_folders(char *text, const char **folders, size_t most, size_t *count)
{
    while (text) {
        const char *folder = strsep(&text, ":");
        if (!*folder) continue;
        if (*count == most) return cli_misuse("--source: at most %zu folders", most);
        folders[(*count)++] = folder;
    }
    return -1;
}

int cli_attribution_check(const cli_attribution_options *options, const char *json)
{
    const char *file = options->callgrind ? "callgrind" : options->csv ? "csv" : NULL;
    if (options->no_sites && file)
        return cli_misuse("--%s tells code sites apart, which --no-sites turns off", file);
    if (options->no_sites && options->embed_source)
        return cli_misuse("--embed-source is about the code, which --no-sites leaves out");
    if (options->embed_source && !json)
        return cli_misuse("--embed-source is about the profile that --json writes");
    if (cli_is_stdout(options->callgrind) + cli_is_stdout(options->csv) + cli_is_stdout(json) > 1)
        return cli_misuse("only one of --json, --csv and --callgrind can go to standard output");
    fm_by by;
    return cli_parse_by(options->by, &by);
}

static bool attribution_takes_stdout(const cli_attribution_options *options)
{
    return cli_is_stdout(options->callgrind) || cli_is_stdout(options->csv);
}

/* -1, or an exit code after a message. */
static int add_size(fm_cache *caches, size_t *count, const char *text, bool zero_is_fine)
{
    uint64_t bytes;
    if (!cli_parse_size(text, &bytes) || (bytes == 0 && !zero_is_fine))
        return cli_misuse("--size: expected sizes in bytes such as 32K,1M, found '%s'", text);
    if (*count == FM_JOB_CACHES) return cli_misuse("--size: at most %d sizes", FM_JOB_CACHES);
    for (size_t i = 0; i < *count; i++)
        if (caches[i].bytes == bytes) return cli_misuse("--size: %s is named twice", text);
    fm_cache *cache = &caches[(*count)++];
    *cache = (fm_cache){.bytes = bytes};
    snprintf(cache->name, sizeof cache->name, "%s", text);
    return -1;
}

int cli_parse_sizes(const char *list, fm_cache *caches, size_t *count, bool zero_is_fine)
{
    char *copy = strdup(list), *rest = copy;
    if (!copy) return cli_out_of_memory();
    int code = -1;
    *count = 0;
    while (code < 0 && rest) code = add_size(caches, count, strsep(&rest, ","), zero_is_fine);
    free(copy);
    return code;
}

int cli_stored_caches(const cli_attribution_options *options, const fm_profile *const *profiles, size_t count,
                      cli_caches *found)
{
    fm_error error;
    found->count = 0;
    if (options->sizes) return cli_parse_sizes(options->sizes, found->caches, &found->count, false);
    found->count = fm_profiles_caches(profiles, count, found->caches, FM_JOB_CACHES);
    for (size_t i = 0; i < count; i++)
        if (profiles[i]->elements) return -1; /* no bytes, and so none of this machine's */
    if (found->count == 0 && fm_machine_caches(found->caches, FM_JOB_CACHES, &found->count, &error)) {
        found->count = 0;
        cli_note("this machine's caches are left out: %s", error.reason);
    }
    return -1;
}

int cli_screen(const cli_attribution_options *asked, const char *also, fm_screen_options *screen)
{
    *screen = (fm_screen_options){.top = asked->top, .pairs = asked->pairs, .histogram = asked->histogram};
    if (!cli_quiet && !asked->by) screen->also = also;
    return cli_parse_by(asked->by, &screen->by);
}

int cli_results_check(const cli_results *results)
{
    int code = cli_attribution_check(results->attribution, results->json);
    if (code >= 0) return code;
    if (cli_is_stdout(results->json) + cli_is_stdout(results->distances) + cli_is_stdout(results->report) +
            cli_is_stdout(results->output) + attribution_takes_stdout(results->attribution) >
        1)
        return cli_misuse("only one result can go to standard output");
    if (results->no_source && !results->report)
        return cli_misuse("--no-source is about the page that --report writes");
    if (results->report && !fm_report_available())
        return cli_misuse("--report: this build has no report page (it was built with FATHOM_REPORT=OFF)");
    return -1;
}

int cli_results_try(const cli_results *results)
{
    const char *const files[] = {results->json, results->report, results->output,
                                 results->attribution->callgrind, results->attribution->csv};
    return try_outputs(files, sizeof files / sizeof *files);
}

fm_job_options cli_job_options(const cli_analysis *analysis)
{
    const fm_analyzer_options *analyzer = &analysis->analyzer;
    return (fm_job_options){.granularity = analysis->granularity,
                            .granularity_count = analysis->count,
                            .engine = analyzer->engine,
                            .engine_options = analyzer->engine_options,
                            .isa = analyzer->isa,
                            .bound = analyzer->bound,
                            .bins = analyzer->bins,
                            .time_distances = analyzer->time_distances,
                            .elements = analyzer->elements,
                            .max_memory = analysis->max_memory};
}

/* ---- who listens ---- */

void cli_hear_note(void *context, const char *line)
{
    char text[2048];
    (void)context;
    cli_note("%s", cli_option_words(line, text, sizeof text));
}

void cli_hear_warning(void *context, const char *line)
{
    (void)context;
    cli_complain("%s", line);
}

static void hear_progress(void *context, const fm_job_progress *at)
{
    cli_job *self = context;
    if (at->stage == FM_JOB_GOES_ON)
        cli_progress_update(&self->progress, at->done, at->fraction);
    else if (at->stage == FM_JOB_ENDS)
        cli_progress_end(&self->progress);
    else if (at->beside)
        cli_progress_start_beside(&self->progress, at->noun, self->progress_asked);
    else
        cli_progress_start(&self->progress, at->noun, self->progress_asked);
}

static void hear_failure(void *context, const fm_error *error)
{
    cli_job *self = context;
    self->code = cli_worse(self->code, cli_fail(error));
}

/* Sizes of caches are in the unit of what is analysed. */
static fm_status hear_opened(void *context, const fm_job_input *input, fm_error *error)
{
    cli_job *self = context;
    const bool keys = input->least_granularity == 1 && !input->memory_addresses;
    self->code = cli_check_sizes(self->results->attribution->sizes, input->least_granularity,
                                 input->elements ? "elements"
                                 : keys          ? "keys"
                                                 : NULL);
    fm_cache caches[FM_JOB_CACHES];
    size_t count;
    if (self->code < 0 && self->results->attribution->sizes)
        self->code = cli_parse_sizes(self->results->attribution->sizes, caches, &count, false);
    /* Of a program that is about to run: before it takes its time. */
    if (self->code < 0 && self->results->text == CLI_TEXT_ERROR) self->code = cli_results_try(self->results);
    if (self->code < 0) return FM_OK;
    *error = (fm_error){.status = FM_E_ARGUMENT};
    return FM_E_ARGUMENT;
}

/* ---- the job ---- */

int cli_job_begin(cli_job *self, const cli_results *results, const fm_job_options *options, bool progress)
{
    fm_job_options own = *options;
    fm_error error;
    *self = (cli_job){.results = results, .progress_asked = progress, .code = -1};
    if (results->attribution->sizes) {
        const int code = cli_parse_sizes(results->attribution->sizes, self->caches, &own.cache_count, true);
        if (code >= 0) return code;
        own.caches = self->caches;
    }
    own.distances = results->distances;
    own.no_sites = results->attribution->no_sites;
    own.embed_source = results->attribution->embed_source;
    own.context = self;
    own.note = cli_quiet ? NULL : cli_hear_note;
    own.warn = cli_hear_warning;
    own.failed = hear_failure;
    own.progress = hear_progress;
    own.opened = hear_opened;
    return fm_job_create(&self->job, &own, &error) ? cli_fail(&error) : -1;
}

/* ---- the text ---- */

/* Where the text goes that people read. Standard output is the program's where one was run: the text goes to
 * standard error then, or to a file, or to standard output where that is asked for. */
typedef struct closing_text {
    FILE *stream;         /* to write to */
    fm_view_options view; /* what can be shown there */
    fm_output *file;      /* NULL: a standard stream */
} closing_text;

/* Standard error has no buffer: a stream of its own has. NULL, and errno. */
static FILE *open_standard_error(void)
{
    const int flags = fcntl(STDERR_FILENO, F_GETFL);
    if (flags < 0) return NULL;
    if ((flags & O_PATH) || (flags & O_ACCMODE) == O_RDONLY) { /* closed by the caller, or not for writing */
        errno = EBADF;
        return NULL;
    }
    const int descriptor = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (descriptor < 0) return NULL;
    FILE *stream = fdopen(descriptor, "w");
    if (!stream) close(descriptor);
    return stream;
}

static int say_lost(const char *why)
{
    if (!cli_pipe_broken()) cli_complain("standard error: cannot write: %s", why);
    return CLI_FAILED;
}

static int text_open(closing_text *text, const char *path, unsigned file_width)
{
    fm_error error;
    *text = (closing_text){0};
    if (!path) {
        text->view = cli_view_after_notes(STDERR_FILENO);
        text->stream = open_standard_error();
        return text->stream ? -1 : say_lost(strerror(errno));
    }
    if (cli_is_stdout(path)) {
        text->view = cli_view_after_notes(STDOUT_FILENO);
        text->stream = stdout;
        return -1;
    }
    text->view = (fm_view_options){.width = file_width, .unicode = cli_view_options().unicode};
    if (fm_output_open(&text->file, path, &error)) return cli_fail(&error);
    text->stream = fm_output_stream(text->file);
    return -1;
}

static int close_standard_error(FILE *stream, int code)
{
    const bool lost = ferror(stream) != 0; /* by an earlier write, whose reason is gone */
    errno = 0;
    const bool closed = fclose(stream) == 0;
    if (code >= 0 || (closed && !lost)) return code;
    return say_lost(errno ? strerror(errno) : "output was lost");
}

static int text_close(closing_text *text, int code)
{
    fm_error error;
    if (!text->file) return text->stream == stdout ? code : close_standard_error(text->stream, code);
    if (code < 0) return fm_output_commit(text->file, &error) ? cli_fail(&error) : -1;
    fm_output_abandon(text->file);
    return code;
}

static int show_text(cli_job *self)
{
    const cli_results *results = self->results;
    closing_text text;
    fm_error error;
    fm_screen_options screen;
    const bool out = results->text == CLI_TEXT_OUT && !results->output;
    int code = cli_screen(results->attribution, results->also, &screen);
    if (code < 0) code = text_open(&text, out ? "-" : results->output, results->file_width);
    if (code >= 0) return code;
    if (out) text.view = cli_view_options();
    screen.depth = results->depth;
    code = fm_job_show(self->job, text.stream, &screen, &text.view, &error) ? cli_fail(&error) : -1;
    return text_close(&text, code);
}

int cli_job_end(cli_job *self, fm_status status, const fm_error *error)
{
    const cli_results *results = self->results;
    const fm_profile *const *profiles;
    const fm_job_files files = {.json = results->json,
                                .csv = results->attribution->csv,
                                .callgrind = results->attribution->callgrind,
                                .page = results->report,
                                .no_source = results->no_source};
    fm_error failure;
    if (status != FM_OK) return self->code >= 0 ? self->code : cli_fail(error);
    if (fm_job_profiles(self->job, &profiles) == 0 && !results->no_profiles)
        return CLI_COMPLETE; /* not the first rank */
    if (!results->no_profiles || results->json) fm_job_write(self->job, &files, &failure);
    const bool taken = cli_is_stdout(results->json) || cli_is_stdout(results->distances) ||
                       cli_is_stdout(results->report) || attribution_takes_stdout(results->attribution);
    /* A result that cannot be written does not take the text with it: a run may have taken long. */
    if (!results->no_text && (results->output || !taken)) {
        const int shown = show_text(self);
        /* The trace is the result of a recording: a summary that nobody can read is no failure. */
        if (!results->no_profiles) self->code = cli_worse(self->code, shown);
    }
    if (self->code >= 0) return self->code;
    return fm_job_is_complete(self->job) ? CLI_COMPLETE : CLI_INCOMPLETE;
}

void cli_job_destroy(cli_job *self)
{
    fm_job_destroy(self->job);
}

/* ---- --pass-status ---- */

enum { SIGNAL_STATUS = 128 }; /* as shells have it */

int cli_pass_status(int code, const fm_job_end *end)
{
    if (code != CLI_COMPLETE && code != CLI_INCOMPLETE) return code;
    if (!end->known) {
        if (code == CLI_COMPLETE) cli_complain("--pass-status: the program's exit status is not known");
        return CLI_INCOMPLETE;
    }
    if (end->signal) return SIGNAL_STATUS + end->signal;
    return code == CLI_COMPLETE ? end->exit_code : code;
}

/* ---- stored profiles ---- */

const fm_profile *cli_profile_find(const fm_profile_list *list, uint64_t granularity)
{
    if (granularity == 0) return list->count ? list->profiles[0] : NULL;
    for (size_t i = 0; i < list->count; i++)
        if (list->profiles[i] && list->profiles[i]->granularity == granularity) return list->profiles[i];
    return NULL;
}

const fm_profile *cli_profile_choose(const fm_profile_list *list, uint64_t granularity, const char *path)
{
    const fm_profile *found = cli_profile_find(list, granularity);
    char there[200] = "";
    for (size_t i = 0; i < list->count; i++) {
        size_t used = strlen(there);
        snprintf(there + used, sizeof there - used, "%s%" PRIu64, i ? ", " : "",
                 list->profiles[i]->granularity);
    }
    if (!found)
        cli_complain("%s: no profile of granularity %" PRIu64 "; the file has %s", path, granularity, there);
    else if (granularity == 0 && list->count > 1)
        cli_note("%s has the granularities %s; this is %" PRIu64 " (--select chooses)", path, there,
                 found->granularity);
    return found;
}

bool cli_profile_choose_two(const fm_profile_list *a, const fm_profile_list *b, uint64_t granularity,
                            char **paths, const fm_profile **of_a, const fm_profile **of_b)
{
    if (granularity == 0)
        for (size_t i = 0; i < a->count; i++)
            if (cli_profile_find(b, a->profiles[i]->granularity)) {
                granularity = a->profiles[i]->granularity;
                if (a->count > 1 || b->count > 1)
                    cli_note("comparing at the granularity %" PRIu64 " (--select chooses)", granularity);
                break;
            }
    /* Without a common one the library says why the first two cannot be compared. */
    *of_a = cli_profile_choose(a, granularity, paths[1]);
    *of_b = cli_profile_choose(b, granularity, paths[2]);
    return *of_a && *of_b;
}

int cli_profile_completeness(const fm_profile *profile, const char *path)
{
    if (profile->complete) return CLI_COMPLETE;
    cli_note("%s is a profile of incomplete input: %s", path,
             profile->what_missing ? profile->what_missing : "it does not say what is missing");
    return CLI_INCOMPLETE;
}
