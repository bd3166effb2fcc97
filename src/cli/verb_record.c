/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verb_record.c - fathom record: runs a program and stores its references in the native format, with sizes,
 * kinds, threads and code sites, to be analysed later and as often as one likes.
 *
 * Each process has a file of its own: the first the one that was named, the others the same name with their
 * process number in it.
 */
#define _GNU_SOURCE /* asprintf */
#include "cli.h"
#include "closing_text.h"
#include "collect_options.h"
#include "pass_status.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct record_options {
    const char *output;
    uint64_t level;
    bool store, pass_status, quiet, progress;
    cli_collect_options collect;
} record_options;

typedef struct recording {
    const record_options *options;
    fm_collect_options collecting;
    fm_collection *collection;
    fm_writer **writers; /* by process */
    char **paths;
    size_t count;
    int level; /* for the writers */
} recording;

enum { COLUMNS = FM_COLUMN_SIZE | FM_COLUMN_KIND | FM_COLUMN_THREAD | FM_COLUMN_SITE };

/* same: how many processes had that number, with this one. */
static char *process_path(const char *named, uint32_t pid, unsigned same)
{
    const char *slash = strrchr(named, '/'), *dot = strchr(slash ? slash : named, '.');
    const int stem = dot ? (int)(dot - named) : (int)strlen(named);
    char *path, which[16] = "";
    if (same > 1) snprintf(which, sizeof which, "-%u", same);
    return asprintf(&path, "%.*s.%" PRIu32 "%s%s", stem, named, pid, which, dot ? dot : "") < 0 ? NULL : path;
}

/* "run.fathom" for the first process, "run.1234.fathom" for process 1234; a process after exec has the same
 * number as before: "run.1234-2.fathom". */
static char *path_of(const recording *self, size_t index)
{
    const char *named = self->options->output;
    if (index == 0) return strdup(named);
    fm_collected_process process, other;
    fm_collection_process(self->collection, index, &process);
    unsigned same = 0;
    for (size_t i = 0; i < index; i++) {
        fm_collection_process(self->collection, i, &other);
        same += other.pid == process.pid;
    }
    char *path = NULL;
    do {
        free(path);
        path = process_path(named, process.pid, ++same);
    } while (path && !cli_force && access(path, F_OK) == 0); /* a trace of a process of long ago */
    return path;
}

static int open_writer(recording *self)
{
    fm_writer **writers = realloc(self->writers, (self->count + 1) * sizeof *writers);
    if (writers) self->writers = writers;
    char **paths = realloc(self->paths, (self->count + 1) * sizeof *paths);
    if (paths) self->paths = paths;
    if (!writers || !paths) return cli_out_of_memory();
    char *path = path_of(self, self->count);
    if (!path) return cli_out_of_memory();
    self->writers[self->count] = NULL;
    self->paths[self->count++] = path;
    enum { MOST_WRITING = 8 };
    const unsigned processors = fm_analyzer_processors();
    fm_writer_options options = {.format = fm_format_of_name(path) ? NULL : "fathom",
                                 .columns = COLUMNS,
                                 .memory_addresses = true,
                                 .threads = processors < MOST_WRITING ? processors : MOST_WRITING,
                                 .level = self->level};
    fm_error error;
    return fm_writer_open(&self->writers[self->count - 1], path, &options, &error) ? cli_fail(&error) : -1;
}

/* Whoever looks for the reason why the program is gone finds it here. */
static void say_ended(const recording *self)
{
    cli_complain(
        "%s was ended for that: its references could no longer be stored; nothing of the trace is left",
        self->collecting.command[0]);
}

static int open_writer_of_child(recording *self)
{
    const int code = open_writer(self);
    if (code >= 0) say_ended(self);
    return code;
}

/* Until everything has ended. -1, or an exit code after a message. */
static int receive(recording *self)
{
    fm_error error;
    fm_collected collected;
    cli_progress progress;
    int code = -1;
    cli_progress_start_beside(&progress, "accesses", self->options->progress);
    while (code < 0) {
        if (fm_collection_next(self->collection, &collected, &error)) {
            code = cli_fail(&error);
            break;
        }
        if (collected.event == FM_COLLECTED_END) break;
        if (collected.event != FM_COLLECTED_IDLE)
            while (code < 0 && self->count <= collected.process) code = open_writer_of_child(self);
        if (code < 0 && collected.event == FM_COLLECTED_REFERENCES &&
            fm_writer_append(self->writers[collected.process], &collected.batch, &error)) {
            code = cli_fail(&error);
            say_ended(self);
        }
        fm_collection_state state;
        fm_collection_state_get(self->collection, &state);
        cli_progress_update(&progress, state.references,
                            self->collecting.limit ? (double)state.references / (double)self->collecting.limit
                                                   : -1);
    }
    cli_progress_end(&progress);
    return code;
}

static int finish_writer(recording *self, size_t index)
{
    fm_error error;
    size_t count = fm_collection_modules(self->collection, index, NULL, 0);
    fm_trace_module *modules = calloc(count + 1, sizeof *modules);
    if (!modules) return cli_out_of_memory();
    fm_collection_modules(self->collection, index, modules, count);
    fm_status status = fm_writer_set_modules(self->writers[index], modules, count, &error);
    free(modules);
    if (status == FM_OK) status = fm_writer_finish(self->writers[index], &error);
    return status ? cli_fail(&error) : -1;
}

/* The trace is the result: a summary that nobody can read is no failure. */
static void summarise(const recording *self)
{
    cli_closing_text text;
    if (cli_closing_text_open(&text, NULL, 0) >= 0) return;
    for (size_t i = 0; i < self->count; i++) {
        char ending[CLI_ENDING];
        fm_collected_process process;
        fm_collection_process(self->collection, i, &process);
        bool was = process.given_up || (process.ended && process.signal);
        bool known = was || process.ended || process.became;
        fm_view_text(text.stream, self->paths[i], &text.view);
        fprintf(text.stream, ": %" PRIu64 " accesses of process %" PRIu32 " (", process.references,
                process.pid);
        fm_view_text(text.stream, process.program ? process.program : self->collecting.command[0],
                     &text.view);
        fprintf(text.stream, "), %s %s\n",
                was     ? "which was"
                : known ? "which"
                        : "whose end is",
                cli_collect_ending(&process, ending, sizeof ending));
    }
    cli_closing_text_close(&text, -1);
}

static int record(recording *self)
{
    fm_error error;
    /* Before the program starts: a name that cannot be written is refused at once. */
    int code = open_writer(self);
    if (code >= 0) return code;
    if (fm_collection_start(&self->collection, &self->collecting, &error)) return cli_fail(&error);
    if ((code = receive(self)) >= 0) return code;
    int completeness = cli_collect_completeness(self->collection);
    if (fm_collection_processes(self->collection) == 0) {
        cli_complain("%s: nothing of it was seen", self->collecting.command[0]);
        return CLI_FAILED;
    }
    for (size_t i = 0; code < 0 && i < self->count; i++) code = finish_writer(self, i);
    if (code >= 0) return code;
    summarise(self);
    return completeness;
}

int cli_verb_record(int argc, char **argv)
{
    record_options options = {.level = UINT64_MAX, .collect.limit = UINT64_MAX, .collect.limit_time = -1};
    const cli_option table[] = {
        {"output", CLI_TO(&options.output), .argument = "TRACE",
         .help = "the trace to write, in the native format", .usual = "", .group = CLI_WRITTEN},
        CLI_COLLECT_OPTIONS(&options.collect),
        {"level", CLI_TO(&options.level)},
        {"store", CLI_TO(&options.store), .help = "do not compress"},
        {"pass-status", CLI_TO(&options.pass_status)},
        {"quiet", CLI_TO(&options.quiet)},
        {"progress", CLI_TO(&options.progress), .help = "a line of progress a second on stderr"},
        {0},
    };
    const cli_command command = {
        .usage = "fathom record [options] -o TRACE -- PROGRAM [ARGUMENTS…]",
        .about = "Runs PROGRAM and stores its data references, with the code that makes them, for\n"
                 "`fathom analyze`. `fathom run` does both at once and stores nothing.",
        .options = table,
        .exits = CLI_PROGRAM_EXITS,
        .notes = "Examples:\n"
                 "  fathom record -o sort.fathom -- sort -n numbers.txt\n"
                 "  fathom record --limit 100M --at-limit stop -o start.fathom -- ./server\n",
        .least = 1,
        .reads = CLI_READS_PROGRAM,
        .most = SIZE_MAX,
        .command_follows = true,
    };
    size_t count;
    int code = cli_parse(&command, argc, argv, &count);
    if (code >= 0) return code;
    cli_quiet = options.quiet;
    argv[1 + count] = NULL;
    recording self = {.options = &options};
    if (!options.output) return cli_misuse("where to? -o TRACE names the file to write");
    if (strcmp(options.output, "-") == 0)
        return cli_misuse("-o -: standard output is the program's own; name a file");
    const fm_format_info *format = fm_format_of_name(options.output);
    if (format && strcmp(format->name, "fathom") != 0)
        return cli_misuse(
            "-o %s: only the native format holds everything; name it .fathom and use fathom convert",
            options.output);
    if ((code = cli_check_level(options.level, options.store, &self.level)) >= 0) return code;
    if ((code = cli_collect_check(&options.collect, argv + 1, &self.collecting)) >= 0) return code;
    self.collecting.columns = COLUMNS;

    if (options.pass_status && self.collecting.stop_at_limit)
        return cli_misuse("--pass-status and --at-limit stop contradict each other: fathom ends the program");

    code = record(&self);
    cli_program_end end;
    cli_program_end_find(self.collection, &end);
    for (size_t i = 0; i < self.count; i++) {
        fm_writer_close(self.writers[i]);
        free(self.paths[i]);
    }
    free(self.writers);
    free(self.paths);
    fm_collection_close(self.collection);
    code = cli_finish(code);
    return options.pass_status ? cli_pass_status(code, &end) : code;
}
