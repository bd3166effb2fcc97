/* SPDX-License-Identifier: Apache-2.0 */
/* verb_simulate.c - fathom simulate: the sampler of fathom sample, shown a stored trace; for those who
 * compare estimators. */
#include "sample/sample_options.h"

int cli_verb_simulate(int argc, char **argv)
{
    bool progress = false;
    cli_sample_simulation how = CLI_SIMULATION_START;
    cli_estimate_options estimate = CLI_ESTIMATE_START;
    cli_attribution_options attribution = {.top = CLI_TOP};
    cli_results results = {.attribution = &attribution, .file_width = 80};
    const cli_option table[] = {
        {"json", CLI_TO(&results.json)},
        {"report", CLI_TO(&results.report)},
        {"no-source", CLI_TO(&results.no_source)},
        {"output", CLI_TO(&results.output), .usual = "stdout"},
        CLI_ESTIMATE_OPTIONS(&estimate),
        {"registers", CLI_TO(&how.registers)},
        {"bursts", CLI_TO(&how.bursts)},
        {"reservoir", CLI_TO(&how.reservoir)},
        {"seed", CLI_TO(&how.seed), .usual = "0", .group = CLI_RESEARCH},
        {"even", CLI_TO(&how.even)},
        {"no-sites", CLI_TO(&attribution.no_sites)},
        CLI_ATTRIBUTION_OPTIONS(&attribution),
        {"quiet", CLI_TO(&cli_quiet)},
        {"progress", CLI_TO(&progress)},
        CLI_TRACE_OPTIONS(&how.reading),
        {0},
    };
    const cli_command command = {
        .usage = "fathom simulate [options] --period N TRACE",
        .about = "Shows a stored trace to the sampler of `fathom sample`, with a virtual counter\n"
                 "and virtual debug registers: so one sees how far an estimate is from what\n"
                 "`fathom analyze --time` finds in the same trace, and compares estimators.",
        .options = table,
        .exits = "0 complete, 1 no result, 2 bad usage, 3 incomplete input",
        .notes = "Examples:\n"
                 "  fathom simulate trace.fathom --period 10K -g 8 --estimator rdx --registers 1\n"
                 "  fathom simulate trace.fathom --period 100K --bursts 4K:4\n",
        .least = 1,
        .reads = CLI_READS_TRACE,
        .most = 1,
    };
    size_t count;
    int code = cli_parse(&command, argc, argv, &count);
    if (code >= 0) return code;
    how.trace = argv[1];
    code = cli_results_check(&results);
    if (code < 0) code = cli_results_try(&results);
    if (code < 0) code = cli_sample_simulate(&how, &estimate, &results, progress);
    return cli_finish(code);
}
