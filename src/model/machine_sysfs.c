/* SPDX-License-Identifier: Apache-2.0 */
/* machine_sysfs.c - see machine_sysfs.h. */
#define _GNU_SOURCE
#include "model/machine_sysfs.h"

#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_INDICES = 16, WORD = 256 };

/* The first line of index<index>/<name>. */
static bool read_word(const char *root, unsigned processor, unsigned index, const char *name, char *word)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/sys/devices/system/cpu/cpu%u/cache/index%u/%s", root, processor,
                 index, name) >= (int)sizeof path)
        return false;
    FILE *file = fopen(path, "re");
    const bool read = file && fgets(word, WORD, file);
    if (file) fclose(file);
    if (read) word[strcspn(word, "\n")] = '\0';
    return read;
}

static uint64_t read_number(const char *root, unsigned processor, unsigned index, const char *name)
{
    char word[WORD], unit = '\0';
    uint64_t number;
    if (!read_word(root, processor, index, name, word)) return 0;
    const int found = sscanf(word, "%" SCNu64 "%c", &number, &unit);
    const unsigned shift = unit == 'K' ? 10 : unit == 'M' ? 20 : 0;
    return found < 1 || number > UINT64_MAX >> shift ? 0 : number << shift;
}

/* "0-3,8-11": 8. */
static unsigned count_list(const char *list)
{
    unsigned count = 0;
    for (const char *at = list; *at;) {
        char *end;
        const unsigned long first = strtoul(at, &end, 10);
        if (end == at) return 0;
        const unsigned long last = *end == '-' ? strtoul(end + 1, &end, 10) : first;
        if (last < first || last - first > UINT_MAX / 2 - count) return 0;
        count += (unsigned)(last - first + 1);
        at = *end == ',' ? end + 1 : end;
        if (*end && *end != ',') return 0;
    }
    return count;
}

static bool describe_index(const char *root, unsigned processor, unsigned index, fm_cache *cache)
{
    char type[WORD], sharing[WORD];
    if (!read_word(root, processor, index, "type", type)) return false;
    memset(cache, 0, sizeof *cache);
    if (strcmp(type, "Instruction") == 0) return true; /* bytes stay 0 */
    snprintf(cache->name, sizeof cache->name, "L%" PRIu64 "%s",
             read_number(root, processor, index, "level") % 100, strcmp(type, "Data") == 0 ? "d" : "");
    cache->bytes = read_number(root, processor, index, "size");
    cache->line = read_number(root, processor, index, "coherency_line_size");
    cache->ways = read_number(root, processor, index, "ways_of_associativity");
    if (read_word(root, processor, index, "shared_cpu_list", sharing)) cache->shared_by = count_list(sharing);
    return true;
}

size_t fm_sysfs_caches(const char *root, unsigned processor, fm_cache *caches, size_t capacity)
{
    size_t count = 0;
    for (unsigned index = 0; index < MOST_INDICES && count < capacity; index++) {
        if (!describe_index(root, processor, index, &caches[count])) break;
        if (caches[count].bytes == 0) continue;
        /* The kernel's order is that of the levels; where it is not, hwloc may sort it out. */
        if (count > 0 && strcmp(caches[count].name, caches[count - 1].name) <= 0) return 0;
        count++;
    }
    return count;
}

bool fm_cpuinfo_name(const char *root, char *name, size_t size)
{
    char path[PATH_MAX], line[512];
    if (snprintf(path, sizeof path, "%s/proc/cpuinfo", root) >= (int)sizeof path) return false;
    FILE *file = fopen(path, "re");
    bool found = false;
    while (!found && file && fgets(line, sizeof line, file)) {
        const char *colon = strchr(line, ':');
        if (!colon || strncmp(line, "model name", 10) != 0) continue;
        line[strcspn(line, "\n")] = '\0';
        snprintf(name, size, "%s", colon + 1 + strspn(colon + 1, " \t"));
        found = name[0] != '\0';
    }
    if (file) fclose(file);
    return found;
}

bool fm_hwloc_is_told(void)
{
    static const char *const variables[] = {"HWLOC_XMLFILE",    "HWLOC_SYNTHETIC",
                                            "HWLOC_FSROOT",     "HWLOC_CPUID_PATH",
                                            "HWLOC_COMPONENTS", "HWLOC_DUMPED_HWDATA_DIR"};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        if (getenv(variables[i])) return true;
    return false;
}

unsigned fm_first_processor(void)
{
    cpu_set_t set;
    unsigned first = 0;
    if (sched_getaffinity(0, sizeof set, &set) != 0 || CPU_COUNT(&set) == 0) return 0;
    while (!CPU_ISSET(first, &set)) first++;
    return first;
}
