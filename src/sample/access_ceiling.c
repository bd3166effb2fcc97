/* SPDX-License-Identifier: Apache-2.0 */
/* access_ceiling.c - see access_ceiling.h. */
#include "sample/access_ceiling.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double accesses_a_cycle = 4, unknown_clock = 6; /* GHz */

/* GHz. 0: it is not told. */
static double clock_by_driver(void)
{
    double kilohertz = 0;
    FILE *file = fopen("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "re");
    if (!file) return 0;
    if (fscanf(file, "%lf", &kilohertz) != 1) kilohertz = 0;
    fclose(file);
    return kilohertz / 1e6;
}

static double clock_now(void)
{
    static const char name[] = "cpu MHz";
    char *line = NULL;
    size_t room = 0;
    double fastest = 0;
    FILE *file = fopen("/proc/cpuinfo", "re");
    if (!file) return 0;
    while (getline(&line, &room, file) > 0) {
        const char *value = strncmp(line, name, sizeof name - 1) == 0 ? strchr(line, ':') : NULL;
        const double megahertz = value ? strtod(value + 1, NULL) : 0;
        if (megahertz > fastest) fastest = megahertz;
    }
    free(line);
    fclose(file);
    return fastest / 1e3;
}

double fm_access_ceiling(void)
{
    const double most = clock_by_driver(), now = clock_now();
    const double clock = most > now ? most : now;
    return accesses_a_cycle * (clock > 0.1 ? clock : unknown_clock);
}
