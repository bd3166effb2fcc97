/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verb_convert.c - one trace format to another. What the new format cannot hold is left out and said; what
 * is damaged in the old trace is left out; a message and the exit code say so.
 */
#include "cli.h"
#include "results.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

typedef struct convert_options {
    const char *output, *to;
    uint64_t level;
    int writing_level;
    bool store, progress;
    cli_trace_options trace;
} convert_options;

static const struct {
    unsigned column;
    const char *name;
} columns[] = {{FM_COLUMN_SIZE, "sizes"},
               {FM_COLUMN_KIND, "kinds of access"},
               {FM_COLUMN_THREAD, "threads"},
               {FM_COLUMN_SITE, "code sites"}};

/* The format that will be written, or NULL where the writer will complain. */
static const fm_format_info *target_format(const convert_options *options)
{
    if (!options->to) return fm_format_of_name(options->output);
    const fm_format_info *format;
    for (size_t i = 0; (format = fm_format_at(i)); i++)
        if (strcmp(format->name, options->to) == 0) return format;
    return NULL;
}

static void note_losses(unsigned have, const fm_format_info *target)
{
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++)
        if (have & ~target->columns & columns[i].column)
            cli_note("%s of the references are left out: format %s cannot hold them", columns[i].name,
                     target->name);
}

/* Copies all there is. *damages counts places; *lost references known to be missing. */
static fm_status copy(fm_reader *reader, fm_writer *writer, cli_progress *progress, uint64_t *damages,
                      uint64_t *lost, fm_error *error)
{
    for (;;) {
        fm_batch batch;
        fm_status status = fm_reader_next(reader, &batch, error);
        if (fm_status_is_damage(status)) {
            char message[1200];
            cli_complain("%s", fm_error_message(error, message, sizeof message));
            (*damages)++;
            *lost += error->lost;
            continue;
        }
        if (status != FM_OK) return status;
        if (batch.count == 0) return FM_OK;
        status = fm_writer_append(writer, &batch, error);
        if (status != FM_OK) return status;
        fm_trace_info info;
        fm_reader_info(reader, &info);
        cli_progress_update_read(progress, &info);
    }
}

/* Which files the code sites belong to goes along, where the new format has a place for it. */
static fm_status copy_modules(const fm_reader *reader, fm_writer *writer, const fm_format_info *target,
                              fm_error *error)
{
    const fm_trace_module *modules;
    size_t count;
    fm_reader_modules(reader, &modules, &count);
    if (count == 0) return FM_OK;
    fm_status status = fm_writer_set_modules(writer, modules, count, error);
    if (status != FM_E_UNSUPPORTED) return status;
    cli_note("the table of %zu modules is left out: format %s cannot hold it", count, target->name);
    return FM_OK;
}

static int convert(const char *input, const convert_options *options, fm_reader_options *reading)
{
    fm_reader *reader = NULL;
    fm_writer *writer = NULL;
    fm_error error;
    fm_trace_info info;
    uint64_t damages = 0, lost = 0;
    reading->read_ahead = true;
    reading->threads = fm_analyzer_processors();
    if (fm_reader_open(&reader, input, reading, &error)) return cli_fail(&error);
    fm_reader_opened_notes(reader, 0, cli_hear_note, NULL);
    fm_reader_info(reader, &info);
    const fm_format_info *target = target_format(options);
    fm_writer_options writing = {.format = options->to,
                                 .columns = target ? info.columns & target->columns : 0,
                                 .memory_addresses = info.memory_addresses,
                                 .level = options->writing_level,
                                 .threads = fm_analyzer_processors()};
    fm_status status = fm_writer_open(&writer, options->output, &writing, &error);
    if (status == FM_OK && target) {
        note_losses(info.columns, target);
        cli_progress progress;
        cli_progress_start(&progress, "references", options->progress);
        status = copy(reader, writer, &progress, &damages, &lost, &error);
        cli_progress_end(&progress);
        if (status == FM_OK) status = copy_modules(reader, writer, target, &error);
    }
    if (status == FM_OK) status = fm_writer_finish(writer, &error);
    int code = status == FM_OK ? CLI_COMPLETE : cli_fail(&error);
    if (status == FM_OK && target) {
        fm_reader_ended_notes(reader, true, cli_hear_note, cli_hear_warning, NULL);
        fm_reader_info(reader, &info);
        cli_note("%" PRIu64 " references of format %s were written as %s", info.references, info.format,
                 target->name);
        if (damages > 0) {
            cli_complain("%s: the input is damaged: %" PRIu64 " references were converted, %" PRIu64
                         " are known to be missing",
                         input, info.references, lost);
            code = CLI_INCOMPLETE;
        }
    }
    fm_writer_close(writer);
    fm_reader_close(reader);
    return cli_finish(code);
}

int cli_verb_convert(int argc, char **argv)
{
    convert_options options = {.level = UINT64_MAX};
    const cli_option table[] = {
        {"output", CLI_TO(&options.output), .argument = "OUT",
         .help = "the trace to write; - is stdout (needs --to)", .usual = "", .group = CLI_WRITTEN},
        {"to", CLI_TO(&options.to)},
        {"level", CLI_TO(&options.level)},
        {"store", CLI_TO(&options.store)},
        {"quiet", CLI_TO(&cli_quiet)},
        {"progress", CLI_TO(&options.progress)},
        CLI_TRACE_OPTIONS(&options.trace),
        {0},
    };
    const cli_command command = {
        .usage = "fathom convert [options] IN -o OUT",
        .about = "Writes the trace IN (- is standard input) in another format: that of the ending\n"
                 "of OUT, or of --to; .zst and .gz compress all but the native format. OUT appears\n"
                 "only when it is complete. Of a damaged trace, what is sound is written.",
        .options = table,
        .exits = "0 complete, 1 no result, 2 bad usage, 3 incomplete input",
        .notes = "Examples:\n"
                 "  fathom convert trace.lackey -o trace.fathom\n"
                 "  fathom convert disk.csv --format csv:key=lbn,key-unit=512 -o disk.fathom\n"
                 "  fathom convert trace.fathom --to text -o - | head\n",
        .least = 1,
        .reads = CLI_READS_TRACE,
        .most = 1,
    };
    size_t count;
    int code = cli_parse(&command, argc, argv, &count);
    if (code >= 0) return code;
    if (!options.output) return cli_misuse("say where to write with -o OUT");
    if ((code = cli_check_level(options.level, options.store, &options.writing_level)) >= 0) return code;
    fm_reader_options reading;
    code = cli_reader_options(&options.trace, &reading);
    if (code >= 0) return code;
    return convert(argv[1], &options, &reading);
}
