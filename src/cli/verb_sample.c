/* SPDX-License-Identifier: Apache-2.0 */
/* verb_sample.c - fathom sample: the profile of a run of which only samples were seen. */
#include "sample/sample_live.h"

int cli_verb_sample(int argc, char **argv)
{
    bool quiet = false, pass_status = false;
    cli_program_end end = {0};
    cli_live_options live = CLI_LIVE_START;
    cli_sample_simulation simulation = CLI_SIMULATION_START;
    cli_estimate_options estimate = CLI_ESTIMATE_START;
    cli_attribution_options attribution = {.top = CLI_TOP};
    const cli_option table[] = {
        {"json", 'j', CLI_OUTPUT, &live.json, "FILE", "write the profile as JSON; - for standard output"},
        CLI_LIVE_OPTIONS(&live),
        CLI_ESTIMATE_OPTIONS(&estimate),
        CLI_SIMULATION_OPTIONS(&simulation),
        {"no-sites", 0, CLI_FLAG, &attribution.no_sites, NULL, "do not tell code sites apart"},
        CLI_ATTRIBUTION_OPTIONS(&attribution),
        CLI_PASS_STATUS_OPTION(&pass_status),
        {"quiet", 'q', CLI_FLAG, &quiet, NULL, "no progress, no notes"},
        {"progress", 0, CLI_FLAG, &live.progress, NULL, "progress also when standard error is no terminal"},
        CLI_TRACE_OPTIONS(&simulation.reading),
        {0},
    };
    const cli_command command = {
        .usage = "fathom sample [options] -- PROGRAM [ARGUMENTS…]\n"
                 "       fathom sample --pid PID [--duration SECONDS] [options]\n"
                 "       fathom sample --simulate TRACE --period N [options]",
        .about =
            "Runs a program at nearly its own speed and estimates its reuse distances from samples: bursts\n"
            "of 4 K to 256 K accesses, in which everything is exact, and watches of single uses by debug\n"
            "registers for what lies beyond; or, for words of at most 8 bytes, single accesses by the\n"
            "processor's performance counters where it has them. Each miss ratio comes with a band in\n"
            "which it lies with 95 % confidence. Works for dynamically linked x86-64 programs.\n\n"
            "--pid does so with a program that runs already, until Ctrl-C, --duration or its end, and "
            "leaves\n"
            "it as it was.\n\n"
            "--simulate does the same with a stored trace and a virtual counter: so one can see how far an\n"
            "estimate is from what `fathom analyze --time` finds.",
        .options = table,
        .notes =
            "The program's own exit status is in the profile; fathom's is 0 when it was sampled until its\n"
            "end, 3 when it was killed or interrupted, 1 when there is no result (--pass-status: the\n"
            "program's).\n\n"
            "Examples:\n"
            "  fathom sample -- ./server --port 8080\n"
            "  fathom sample --duration 60 --report page.html -- ./simulation input\n"
            "  fathom sample --pid 4711 --duration 10\n"
            "  fathom sample --rate 1000 --json sampled.json -- gzip -k data\n"
            "  fathom sample --method pmu --period 500K -g 8 --estimator rdx -- ./solver\n"
            "  fathom sample --simulate trace.fathom --period 10K -g 8 --estimator rdx --registers 1\n"
            "  fathom sample --simulate trace.fathom --period 100K --bursts 4K:4\n",
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
        return cli_misuse("expected a program to run, --pid PID, or --simulate TRACE");
    if (!simulation.trace)
        code =
            cli_sample_live(&live, &estimate, &attribution, simulation.seed, count ? argv + 1 : NULL, &end);
    else if ((code = cli_attribution_check(&attribution, live.json)) < 0)
        code = cli_sample_simulate(&simulation, &estimate, &attribution, live.json, live.progress);
    code = cli_finish(code);
    return pass_status ? cli_pass_status(code, &end) : code;
}
