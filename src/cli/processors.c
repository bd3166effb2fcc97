/* SPDX-License-Identifier: Apache-2.0 */
/* processors.c - how many processors there are for us: fewer than the machine has under taskset or in a
 * cpuset. */
#define _GNU_SOURCE
#include "cli.h"

#include <inttypes.h>
#include <sched.h>
#include <unistd.h>

unsigned cli_processors(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0) return (unsigned)CPU_COUNT(&set);
    const long online = sysconf(_SC_NPROCESSORS_ONLN); /* more than fit into a set */
    return online > 0 ? (unsigned)online : 1;
}

int cli_check_threads(uint64_t given, unsigned most)
{
    if (given == UINT64_MAX || (given >= 1 && given <= most)) return -1;
    return cli_misuse("--threads: expected 1 to %u, found %" PRIu64, most, given);
}
