/* SPDX-License-Identifier: Apache-2.0 */
/* free_memory.c - see free_memory.h. */
#include "base/free_memory.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/resource.h>

/* The number behind a word at the beginning of a line, or the first one of all. */
static bool number_in(const char *path, const char *word, uint64_t *number)
{
    FILE *file = fopen(path, "re");
    char line[256], format[64];
    bool found = false;
    if (!file) return false;
    snprintf(format, sizeof format, "%s%%%s", word, SCNu64);
    while (!found && fgets(line, sizeof line, file)) found = sscanf(line, format, number) == 1;
    fclose(file);
    return found;
}

/* What is left of a limit that a pair of files tells. Without a limit there is no number, or a huge one. */
static uint64_t left_of(const char *limit_path, const char *used_path)
{
    uint64_t limit, used;
    if (!number_in(limit_path, "", &limit) || !number_in(used_path, "", &used)) return UINT64_MAX;
    return limit > used ? limit - used : 0;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

uint64_t fm_free_memory(void)
{
    uint64_t available, pages;
    if (!number_in("/proc/meminfo", "MemAvailable: ", &available)) return 0;
    available *= 1024;
    available = least(available, left_of("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"));
    available = least(available, left_of("/sys/fs/cgroup/memory/memory.limit_in_bytes",
                                         "/sys/fs/cgroup/memory/memory.usage_in_bytes"));
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
        number_in("/proc/self/statm", "", &pages))
        available = least(available, limit.rlim_cur > pages * 4096 ? limit.rlim_cur - pages * 4096 : 0);
    return available;
}
