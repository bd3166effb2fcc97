/* SPDX-License-Identifier: Apache-2.0 */
/* static_machine.c - a machine that is described: its caches, and the bounds of a region on it. */
#include "static/static_run.h"

#include <inttypes.h>
#include <string.h>

int cli_static_read_machine(cli_static_run *run)
{
    const char *path = run->options->machine;
    fm_error error;
    if (!path) return -1;
    if (run->options->attribution.sizes)
        return cli_misuse("--size and --machine-file: only one of them can say which caches there are");
    if (fm_machine_read(&run->machine, path, &error)) return cli_fail(&error);
    const fm_machine *machine = run->machine;
    for (size_t i = 0; i < machine->level_count; i++)
        if (machine->levels[i].line && machine->levels[i].line != run->options->granularity) {
            cli_complain("%s: lines of %s are %" PRIu64 " bytes, and blocks of %" PRIu64
                         " bytes are analysed: give --granularity %" PRIu64,
                         path, machine->levels[i].name, machine->levels[i].line, run->options->granularity,
                         machine->levels[i].line);
            return CLI_USAGE;
        }
    run->caches.count = machine->level_count;
    memcpy(run->caches.caches, machine->levels, machine->level_count * sizeof machine->levels[0]);
    return -1;
}

int cli_static_write_machine(const cli_static_run *run)
{
    fm_machine *machine;
    fm_output *output;
    fm_error error;
    if (fm_machine_this(&machine, &error)) return cli_fail(&error);
    fm_status status = fm_output_open(&output, run->options->emit_machine, &error);
    if (status == FM_OK) {
        fm_machine_write(machine, fm_output_stream(output));
        status = fm_output_commit(output, &error);
    }
    fm_machine_destroy(machine);
    return status == FM_OK ? -1 : cli_fail(&error);
}

int cli_static_bound(const cli_static_run *run, fm_profile *profile, const fm_raw_pair *pairs, size_t count)
{
    fm_nest *nests;
    size_t nest_count;
    fm_error error;
    if (!run->machine) return -1;
    fm_status status = fm_region_nests(run->region, run->options->limit, pairs, count, run->edge_count,
                                       &nests, &nest_count, &error);
    if (status == FM_OK) {
        status =
            fm_machine_bound(run->machine, profile, nests, nest_count, run->edges, &profile->bounds, &error);
        fm_nests_destroy(nests, nest_count);
    }
    return status == FM_OK ? -1 : cli_fail(&error);
}
