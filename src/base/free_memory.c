/* SPDX-License-Identifier: Apache-2.0 */
/* free_memory.c - see free_memory.h. */
#include "base/free_memory.h"

#include "base/control_group.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

/* What the machine has, without any limits. */
typedef struct machine_memory {
    bool known;
    uint64_t available, swap_free;
} machine_memory;

static FILE *open_under(const char *root, const char *path)
{
    char name[PATH_MAX];
    if (snprintf(name, sizeof name, "%s%s", root, path) >= (int)sizeof name) return NULL;
    return fopen(name, "re");
}

static machine_memory memory_of_machine(const char *root)
{
    machine_memory machine = {0};
    char line[256];
    FILE *file = open_under(root, "/proc/meminfo");
    while (file && fgets(line, sizeof line, file)) {
        uint64_t kibibytes;
        if (sscanf(line, "MemAvailable: %" SCNu64, &kibibytes) == 1) {
            machine.available = kibibytes * 1024;
            machine.known = true;
        } else if (sscanf(line, "SwapFree: %" SCNu64, &kibibytes) == 1)
            machine.swap_free = kibibytes * 1024;
    }
    if (file) fclose(file);
    return machine;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

uint64_t fm_free_memory(void)
{
    const machine_memory machine = memory_of_machine("");
    if (!machine.known) return 0;
    uint64_t available = least(machine.available, fm_control_group_memory("", machine.swap_free).easily),
             pages;
    struct rlimit limit;
    FILE *file = open_under("", "/proc/self/statm");
    if (file && fscanf(file, "%" SCNu64, &pages) == 1 && getrlimit(RLIMIT_AS, &limit) == 0 &&
        limit.rlim_cur != RLIM_INFINITY)
        available = least(available, limit.rlim_cur > pages * 4096 ? limit.rlim_cur - pages * 4096 : 0);
    if (file) fclose(file);
    return available;
}

bool fm_memory_is_there_under(const char *root, uint64_t bytes)
{
    /* For tables of pages, for small things that nobody asks about, and for what others take meanwhile. */
    enum { RESERVE = 8 << 20, PAGE_TABLES = 64 };
    const machine_memory machine = memory_of_machine(root);
    if (!machine.known) return true;
    const uint64_t there = least(machine.available + machine.swap_free,
                                 fm_control_group_memory(root, machine.swap_free).at_the_most);
    const uint64_t reserve = RESERVE + bytes / PAGE_TABLES;
    return there >= reserve && there - reserve >= bytes;
}

bool fm_memory_is_there(uint64_t bytes)
{
    return fm_memory_is_there_under("", bytes);
}
