/* SPDX-License-Identifier: Apache-2.0 */
/* threads_option.c - checks --threads, which several verbs have. */
#include "cli.h"

#include <inttypes.h>

int cli_check_threads(uint64_t given, unsigned most)
{
    if (given == UINT64_MAX || (given >= 1 && given <= most)) return -1;
    return cli_misuse("--threads: expected 1 to %u, found %" PRIu64, most, given);
}
