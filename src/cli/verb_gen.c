/* SPDX-License-Identifier: Apache-2.0 */
/* verb_gen.c - synthetic traces with known answers, in any format that can be written. */
#include "cli.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct gen_options {
    const char *output, *format;
    fm_generator_options stream;
    uint64_t level;
    int writing_level;
    bool progress;
} gen_options;

static fm_status generate_trace(fm_generator *generator, fm_writer *writer, const gen_options *options,
                                fm_error *error)
{
    enum { BATCH = 1 << 14 };
    uint64_t *keys = malloc(BATCH * sizeof *keys);
    if (!keys) {
        *error = (fm_error){.status = FM_E_NOMEM, .reason = "out of memory for a batch of keys"};
        return FM_E_NOMEM;
    }
    cli_progress progress;
    cli_progress_start(&progress, "references", options->progress);
    fm_status status = FM_OK;
    uint64_t done = 0;
    size_t count;
    while (status == FM_OK && (count = fm_generator_next(generator, keys, BATCH)) > 0) {
        status = fm_writer_append(writer, &(fm_batch){.count = count, .address = keys}, error);
        done += count;
        cli_progress_update(&progress, done, (double)done / (double)options->stream.references);
    }
    cli_progress_end(&progress);
    free(keys);
    return status == FM_OK ? fm_writer_finish(writer, error) : status;
}

static int run_generator(const gen_options *options)
{
    fm_generator *generator = NULL;
    fm_writer *writer = NULL;
    fm_error error;
    fm_writer_options writing = {.format = options->format, .level = options->writing_level};
    fm_status status = fm_generator_create(&generator, &options->stream, &error);
    if (status == FM_OK) status = fm_writer_open(&writer, options->output, &writing, &error);
    if (status == FM_OK) status = generate_trace(generator, writer, options, &error);
    int code = status == FM_OK ? CLI_COMPLETE : cli_fail(&error);
    fm_writer_close(writer);
    fm_generator_destroy(generator);
    return cli_finish(code);
}

/* The patterns as they stand in the library's table, for the help. */
static char *list_patterns(char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, "Patterns (M is --keys):\n");
    const fm_pattern_info *pattern;
    for (size_t i = 0; (pattern = fm_generator_pattern_at(i)) && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "  %-11s %s\n", pattern->name, pattern->summary);
    if (used < size)
        snprintf(text + used, size - used,
                 "\nExample:\n  fathom gen zipf --keys 1M --references 50M --skew 0.99 -o zipf.u64\n");
    return text;
}

int cli_verb_gen(int argc, char **argv)
{
    gen_options options = {.level = UINT64_MAX, .stream = {.seed = 1, .skew = 0.99}};
    uint64_t references = UINT64_MAX;
    const cli_option table[] = {
        {"output", CLI_TO(&options.output), .argument = "TRACE",
         .help = "the trace to write; - is stdout (needs --to)", .usual = "", .group = CLI_WRITTEN},
        {"keys", CLI_TO(&options.stream.keys)},
        {"references", CLI_TO(&references)},
        {"seed", CLI_TO(&options.stream.seed)},
        {"skew", CLI_TO(&options.stream.skew)},
        {"to", CLI_TO(&options.format)},
        {"level", CLI_TO(&options.level)},
        {"quiet", CLI_TO(&cli_quiet)},
        {"progress", CLI_TO(&options.progress)},
        {"format", CLI_OLD("to")},
        {0},
    };
    char notes[2048];
    const cli_command command = {
        .usage = "fathom gen PATTERN --keys M --references N [options] -o TRACE",
        .about = "Writes a synthetic trace. The same options and seed give the same trace on every\n"
                 "machine.",
        .options = table,
        .notes = list_patterns(notes, sizeof notes),
        .choices = "zipf uniform cyclic sawtooth loguniform distinct same",
        .least = 1,
        .most = 1,
    };
    size_t count;
    int code = cli_parse(&command, argc, argv, &count);
    if (code >= 0) return code;
    if (!options.output) return cli_misuse("say where to write with -o TRACE");
    if (options.stream.skew == 0) return cli_misuse("--skew: expected 0.001 to 16, found 0");
    if (references == UINT64_MAX) return cli_misuse("say how many references to write with --references N");
    if ((code = cli_check_level(options.level, false, &options.writing_level)) >= 0) return code;
    options.stream.pattern = argv[1];
    options.stream.references = references;
    return run_generator(&options);
}
