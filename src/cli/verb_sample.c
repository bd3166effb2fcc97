/* SPDX-License-Identifier: Apache-2.0 */
/* verb_sample.c - fathom sample: the profile of a run of which only samples were seen. */
#include "sample_simulate.h"

int cli_verb_sample(int argc, char **argv)
{
    const char *json = NULL;
    bool quiet = false, progress = false;
    cli_sample_simulation simulation = CLI_SIMULATION_START;
    cli_estimate_options estimate = CLI_ESTIMATE_START;
    cli_attribution_options attribution = {.top = CLI_TOP};
    const cli_option table[] = {
        {"json", 'j', CLI_STRING, &json, "FILE", "write the profile as JSON; - for standard output"},
        CLI_ESTIMATE_OPTIONS(&estimate),
        CLI_SIMULATION_OPTIONS(&simulation),
        {"no-sites", 0, CLI_FLAG, &attribution.no_sites, NULL, "do not tell code sites apart"},
        CLI_ATTRIBUTION_OPTIONS(&attribution),
        {"quiet", 'q', CLI_FLAG, &quiet, NULL, "no progress, no notes"},
        {"progress", 0, CLI_FLAG, &progress, NULL, "progress also when standard error is no terminal"},
        CLI_TRACE_OPTIONS(&simulation.reading),
        {0},
    };
    const cli_command command = {
        .usage = "fathom sample --simulate TRACE --period N [options]",
        .about =
            "The profile of a stored trace of which only samples are looked at: each PERIOD references one\n"
            "is taken, and a debug register waits for its block to be used again. The registers and the\n"
            "counter are computed; reservoir and estimators are those for running programs. So one can\n"
            "see how far an estimate is from what `fathom analyze --time` finds.",
        .options = table,
        .notes = "Examples:\n"
                 "  fathom sample --simulate trace.fathom --period 10K -g 8 --json sampled.json\n"
                 "  fathom sample --simulate trace.fathom --period 10K -g 8 --estimator rdx --registers 1\n"
                 "  fathom sample --simulate trace.fathom --period 100K --bursts 4K:4\n"
                 "  fathom analyze trace.fathom --time -g 8 --json exact.json && fathom compare exact.json "
                 "sampled.json\n",
        .least = 0,
        .most = 0,
    };
    size_t count;
    int code = cli_parse(&command, argc, argv, &count);
    if (code >= 0) return code;
    cli_quiet = quiet;
    if (!simulation.trace) return cli_misuse("expected --simulate TRACE");
    code = cli_attribution_check(&attribution, json);
    if (code < 0) code = cli_sample_simulate(&simulation, &estimate, &attribution, json, progress);
    return cli_finish(code);
}
