/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verb_static.c - fathom static: the profile of loops in source code, without running them; and how often
 * they do what.
 *
 * Options for a job of the library (fathom/job.h), or only for what it reads: counts, formulas, its text.
 */
#include "cli.h"
#include "static_run.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_THREADS = 1024 };

static int check_options(cli_static_run *run)
{
    const cli_static_options *options = run->options;
    int code;
    uint64_t size = options->granularity;
    if (size == 0 || (size & (size - 1)) || size > UINT64_C(1) << 40)
        return cli_misuse("--granularity: expected a power of two, found %" PRIu64, size);
    if (options->layout && strcmp(options->layout, "contiguous") == 0)
        run->layout = FM_LAYOUT_CONTIGUOUS;
    else if (options->layout && strcmp(options->layout, "aligned") == 0)
        run->layout = FM_LAYOUT_ALIGNED;
    else if (options->layout)
        return cli_misuse("--layout: expected contiguous or aligned, found '%s'", options->layout);
    if (options->bins && !fm_bins_from_name(options->bins, &run->bins))
        return cli_misuse("--bins: expected loglinear, log2 or exact, found '%s'", options->bins);
    bool known = !options->method;
    for (size_t i = 0; !known && fm_static_method_at(i, NULL); i++)
        known = strcmp(options->method, fm_static_method_at(i, NULL)) == 0;
    if (!known) return cli_misuse("--method: there is no method '%s'", options->method);
    const bool changes = options->change.text[0] != '\0';
    if (changes && options->suggest) return cli_misuse("--what-if and --suggest: only one of them");
    const bool symbolic = options->symbolic || options->c;
    if (symbolic && (changes || options->suggest || options->counts || options->ir || options->report ||
                     options->method || options->verify))
        return cli_misuse("--symbolic and --emit-c do not go together with --what-if, --suggest, --counts, "
                          "--emit-ir, --report, --method and --verify");
    if (options->open.text[0] && !symbolic) return cli_misuse("--open: only with --symbolic or --emit-c");
    if ((changes || options->suggest) && options->counts)
        return cli_misuse("--counts: a change of loops does not change how often they do something");
    if (options->machine && options->counts)
        return cli_misuse("--machine-file and --counts: bounds need the misses, which --counts leaves out");
    if (!(options->limit > 0)) return cli_misuse("--limit-time: expected a number of seconds above 0");
    if ((code = cli_static_read_machine(run)) >= 0) return code;
    if ((code = cli_static_check_caches(run)) >= 0) return code;
    if ((code = cli_check_threads(options->threads, MOST_THREADS)) >= 0) return code;
    if ((code = cli_results_check(run->job.results)) >= 0) return code;
    if ((code = cli_results_try(run->job.results)) >= 0) return code;
    return cli_static_split(run);
}

static int write_region(const cli_static_run *run)
{
    fm_error error;
    fm_output *output;
    if (fm_output_open(&output, run->options->ir, &error)) return cli_fail(&error);
    if (fm_region_write(run->region, fm_output_stream(output), &error)) {
        fm_output_abandon(output);
        return cli_fail(&error);
    }
    return fm_output_commit(output, &error) ? cli_fail(&error) : -1;
}

static bool is_formulas(const cli_static_run *run)
{
    const char *dot = strrchr(run->path, '.');
    return !run->options->language && dot && strcmp(dot, ".json") == 0;
}

/* The job, with the region read. */
static int open_region(cli_static_run *run)
{
    const cli_static_options *options = run->options;
    const bool symbolic = options->symbolic || options->c;
    const fm_job_options analysis = {
        .granularity = &options->granularity,
        .granularity_count = 1,
        .bins = run->bins,
        .threads = options->threads == UINT64_MAX ? 0 : options->threads,
        .caches = run->machine ? run->machine->levels : NULL,
        .cache_count = run->machine ? run->machine->level_count : 0,
    };
    const fm_job_region_options what = {
        .language = options->language,
        .function = options->function,
        .flags = run->flags,
        .assumptions = run->assumptions,
        .param = run->parameters,
        .param_count = run->parameter_count,
        .open = symbolic ? options->open.text : NULL,
        .limit_time = options->limit,
        .samples = options->samples,
        .method = options->method,
        .machine = run->machine,
        .sets = run->sets,
        .set_count = run->set_count,
        .layout = run->layout,
        .scalars = options->scalars,
        .verify = options->verify,
    };
    fm_error error;
    const int code = cli_job_begin(&run->job, run->job.results, &analysis, options->progress);
    if (code >= 0) return code;
    const fm_status status = fm_job_region_open(run->job.job, run->path, &what, &error);
    run->region = fm_job_region_get(run->job.job);
    return status ? cli_job_end(&run->job, status, &error) : -1;
}

static int change_region(cli_static_run *run)
{
    const fm_cache *caches;
    fm_error error;
    if (run->options->suggest && fm_job_caches(run->job.job, &caches) == 0)
        return cli_misuse("--suggest: this machine's caches are not known: name one by --size");
    if (fm_job_region_change(run->job.job, run->options->suggest ? NULL : run->options->change.text, &error))
        return cli_fail(&error);
    run->region = fm_job_region_get(run->job.job);
    return -1;
}

static int show_counts(const cli_static_run *run)
{
    fm_region_counts *counts;
    fm_error error;
    if (fm_region_count(run->region, run->options->limit, &counts, &error)) return cli_fail(&error);
    cli_counts_show(stdout, run->region, counts);
    fm_region_counts_destroy(counts);
    return CLI_COMPLETE;
}

static int work_on_region(cli_static_run *run)
{
    char open[256];
    fm_error error;
    if (is_formulas(run)) return cli_static_evaluate(run);
    int code = open_region(run);
    if (code >= 0) return code;
    const bool changes = run->options->change.text[0] || run->options->suggest;
    cli_static_open_parameters(run->region, open, sizeof open);
    const bool symbolic = run->options->symbolic || run->options->c;
    if (open[0] && !run->options->counts && !symbolic && (!run->options->ir || changes))
        return cli_misuse(
            "%s: no value: give it by --param NAME=VALUE, or ask for formulas by --symbolic or --counts",
            open);
    if (symbolic) {
        bool found = false;
        code = cli_static_symbolic(run, &found);
        if (code >= 0 || found) return code < 0 ? CLI_COMPLETE : code;
    }
    if (changes) code = change_region(run);
    if (code >= 0) return code;
    if (run->options->ir) {
        code = write_region(run);
        return code < 0 ? CLI_COMPLETE : code;
    }
    if (run->options->counts) return show_counts(run);
    return cli_job_end(&run->job, fm_job_region(run->job.job, &error), &error);
}

int cli_verb_static(int argc, char **argv)
{
    cli_static_options options = {.granularity = 64,
                                  .threads = UINT64_MAX,
                                  .limit = 60,
                                  .samples = UINT64_MAX,
                                  .attribution.top = CLI_TOP};
    const cli_option table[] = {
        {"function", CLI_TO(&options.function), .help = "analyse the loops of this function",
         .usual = "scop"},
        {"param", CLI_TO(&options.parameters)},
        {"granularity", CLI_TO(&options.granularity), .help = "cache-line size"},
        {"layout", CLI_TO(&options.layout), .group = CLI_RESEARCH},
        {"scalars", CLI_TO(&options.scalars)},
        {"assume", CLI_TO(&options.assumptions)},
        {"counts", CLI_TO(&options.counts)},
        {"symbolic", CLI_TO(&options.symbolic)},
        {"open", CLI_TO(&options.open)},
        {"emit-c", CLI_TO(&options.c)},
        {"bins", CLI_TO(&options.bins)},
        {"json", CLI_TO(&options.json), .help = "write the profile, or the formulas, as JSON"},
        {"report", CLI_TO(&options.report)},
        {"no-source", CLI_TO(&options.no_source)},
        {"output", CLI_TO(&options.output), .usual = "stdout"},
        CLI_ATTRIBUTION_OPTIONS(&options.attribution),
        {"what-if", CLI_TO(&options.change)},
        {"suggest", CLI_TO(&options.suggest)},
        {"emit-ir", CLI_TO(&options.ir)},
        {"cache", CLI_TO(&options.caches)},
        {"machine-file", CLI_TO(&options.machine)},
        {"machine", CLI_OLD("machine-file")},
        {"emit-machine", CLI_TO(&options.emit_machine), .group = CLI_RESEARCH},
        {"language", CLI_TO(&options.language)},
        {"method", CLI_TO(&options.method)},
        {"samples", CLI_TO(&options.samples)},
        {"draws", CLI_OLD("samples")},
        {"verify", CLI_TO(&options.verify)},
        {"limit-time", CLI_TO(&options.limit), .help = "for the exact analysis", .usual = "60",
         .group = CLI_SPEED},
        {"threads", CLI_TO(&options.threads)},
        {"quiet", CLI_TO(&cli_quiet)},
        {"progress", CLI_TO(&options.progress)},
        {0},
    };
    const cli_command command = {
        .usage = "fathom static [options] FILE [-- COMPILER FLAGS]",
        .about = "The reuse-distance profile of loops in source code, without running them: C,\n"
                 "C++, Fortran, or a region's text form (.fir), with affine bounds and subscripts.",
        .options = table,
        .exits = "0 complete, 1 no result, 2 bad usage, 3 incomplete input",
        .notes = "Examples:\n"
                 "  fathom static gemm.c --function gemm --param n=1000\n"
                 "  fathom static --counts stencil.f90\n"
                 "  fathom static gemm.c --symbolic --size 32K,1M --json formulas.json\n"
                 "  fathom static formulas.json --param n=1000\n"
                 "  fathom static blur.c --function blur_columns -- -Iinclude -O2\n"
                 "  fathom static gemm.c --param n=1000 --what-if 'tile:i,j,k=32,32,32'\n",
        .least = 0,
        .reads = CLI_READS_SOURCE,
        .most = 1,
    };
    int own = 1;
    while (own < argc && strcmp(argv[own], "--") != 0) own++;
    if (argc - own - 1 > CLI_MOST_FLAGS) return cli_misuse("at most %d compiler flags", CLI_MOST_FLAGS);
    size_t count;
    int code = cli_parse(&command, own, argv, &count);
    if (code >= 0) return code;
    if (options.samples == 0) return cli_misuse("--samples: expected at least 1 access");
    if (options.samples == UINT64_MAX) options.samples = 0; /* not given */
    if (count == 0 && !options.emit_machine)
        return cli_misuse("too few arguments: 0 where at least 1 is needed\nUsage: %s", command.usage);
    if (count == 1 && options.emit_machine)
        return cli_misuse("--emit-machine is about this machine, not about '%s'", argv[1]);
    static const char also[] = "also: --what-if, --suggest (changes of loops), --pairs, --histogram,\n"
                               "      --by object, --report page.html, fathom diff before.json after.json\n";
    const cli_results results = {.json = options.json,
                                 .report = options.report,
                                 .output = options.output,
                                 .no_source = options.no_source,
                                 .attribution = &options.attribution,
                                 .file_width = 80,
                                 .also = also};
    cli_static_run *run = calloc(1, sizeof *run);
    if (!run) return cli_out_of_memory();
    run->options = &options;
    run->job.results = &results;
    run->path = argv[1];
    for (int i = own + 1; i < argc; i++) run->flags[run->flag_count++] = argv[i];
    code = options.emit_machine ? cli_static_write_machine(run) : check_options(run);
    if (options.emit_machine && code < 0) code = CLI_COMPLETE;
    if (code < 0) code = work_on_region(run);
    cli_job_destroy(&run->job);
    fm_machine_destroy(run->machine);
    free(run->texts[0]);
    free(run->texts[1]);
    free(run);
    return cli_finish(code);
}
