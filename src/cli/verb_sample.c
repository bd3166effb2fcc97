/* SPDX-License-Identifier: Apache-2.0 */
/* verb_sample.c - fathom sample: the profile of a run of which only samples were seen. */
#include "sample/sample_options.h"

int cli_verb_sample(int argc, char **argv)
{
    bool quiet = false, pass_status = false;
    fm_job_end end = {0};
    cli_live_options live = CLI_LIVE_START;
    cli_sample_simulation simulation = CLI_SIMULATION_START;
    cli_estimate_options estimate = CLI_ESTIMATE_START;
    cli_attribution_options attribution = {.top = CLI_TOP};
    const cli_option table[] = {
        {"json", CLI_TO(&live.json)},
        CLI_LIVE_OPTIONS(&live),
        CLI_ESTIMATE_OPTIONS(&estimate),
        {"seed", CLI_TO(&simulation.seed), .usual = "0", .group = CLI_RESEARCH},
        {"no-sites", CLI_TO(&attribution.no_sites)},
        CLI_ATTRIBUTION_OPTIONS(&attribution),
        {"pass-status", CLI_TO(&pass_status)},
        {"quiet", CLI_TO(&quiet)},
        {"progress", CLI_TO(&live.progress)},
        CLI_OLD_SIMULATION_OPTIONS(&simulation),
        {0},
    };
    const cli_command command = {
        .usage = "fathom sample [options] -- PROGRAM [ARGUMENTS…]\n"
                 "       fathom sample --pid PID [--limit-time SECONDS] [options]",
        .about = "Estimates the miss ratios of a program from samples, at about 2 % overhead, and\n"
                 "shows them with 95 % confidence intervals, and the code that causes the misses.\n"
                 "Short reuses are measured exactly in bursts of 4 K to 256 K accesses, long ones\n"
                 "by watchpoints; --sampler pmu samples single accesses instead. For dynamically\n"
                 "linked x86-64 programs; --pid looks at a running one and leaves it as it was.",
        .options = table,
        .exits = CLI_PROGRAM_EXITS,
        .notes = "Examples:\n"
                 "  fathom sample -- ./server --port 8080\n"
                 "  fathom sample --limit-time 60 --report page.html -- ./simulation input\n"
                 "  fathom sample --pid 4711 --limit-time 10\n"
                 "  fathom sample --rate 1000 --json sampled.json -- gzip -k data\n"
                 "  fathom sample --sampler pmu --period 500K -g 8 --estimator rdx -- ./solver\n",
        .least = 0,
        .reads = CLI_READS_PROGRAM,
        .most = SIZE_MAX,
        .command_follows = true,
    };
    size_t count;
    int code = cli_parse(&command, argc, argv, &count);
    if (code >= 0) return code;
    cli_quiet = quiet;
    argv[1 + count] = NULL;
    if (simulation.trace && count > 0)
        return cli_misuse("--simulate: a trace is sampled, or a program is, not both");
    if (simulation.trace && live.pid)
        return cli_misuse("--simulate: a trace is sampled, or a process is, not both");
    if (pass_status && (simulation.trace || live.pid))
        return cli_misuse("--pass-status: is about a program that is run, not %s",
                          live.pid ? "one that runs already" : "a trace");
    if (!simulation.trace && !live.pid && count == 0)
        return cli_misuse("expected a program to run, or --pid PID");
    if (!simulation.trace)
        code =
            cli_sample_live(&live, &estimate, &attribution, simulation.seed, count ? argv + 1 : NULL, &end);
    else {
        const cli_results results = {.json = live.json,
                                     .report = live.report,
                                     .output = live.output,
                                     .no_source = live.no_source,
                                     .attribution = &attribution,
                                     .file_width = 80};
        if ((code = cli_results_check(&results)) < 0)
            code = cli_sample_simulate(&simulation, &estimate, &results, live.progress);
    }
    code = cli_finish(code);
    return pass_status ? cli_pass_status(code, &end) : code;
}
