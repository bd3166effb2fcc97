/* SPDX-License-Identifier: Apache-2.0 */
/*
 * control_group.c - see memory.h. /proc/self/cgroup names the group of each hierarchy,
 * /proc/self/mountinfo where the hierarchy is mounted, and which of its groups is at the mount point: in a
 * container that is often the container's own.
 */
#include "base/memory.h"

#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 2048, NAME = 1024 };

/* A group's folder, below `top`, the folder of the uppermost group that can be seen. */
typedef struct group_place {
    char folder[PATH_MAX];
    size_t top;
} group_place;

static FILE *open_below(const char *folder, const char *name)
{
    char path[PATH_MAX + NAME];
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path) return NULL;
    return fopen(path, "re");
}

static uint64_t smaller_of(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t left_of(uint64_t limit, uint64_t used)
{
    return limit == UINT64_MAX ? UINT64_MAX : limit > used ? limit - used : 0;
}

/* Without an overflow of what has no limit. */
static uint64_t sum_of(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* ---- where the group is ---- */

/* One of a list of words between commas. */
static bool is_listed(const char *list, const char *word)
{
    const size_t length = strlen(word);
    for (const char *at = list;; at++) {
        if (strncmp(at, word, length) == 0 && (at[length] == ',' || at[length] == '\0')) return true;
        if (!(at = strchr(at, ','))) return false;
    }
}

/* "ID:CONTROLLERS:PATH"; of version 2: "0::PATH". */
static bool find_group(const char *root, const char *controller, char *path, size_t size)
{
    char line[LINE];
    FILE *file = open_below(root, "proc/self/cgroup");
    bool found = false;
    while (!found && file && fgets(line, sizeof line, file)) {
        char *const list = strchr(line, ':'), *const colon = list ? strchr(list + 1, ':') : NULL;
        if (!colon) continue;
        *colon = '\0';
        if (controller ? !is_listed(list + 1, controller) : list[1] != '\0') continue;
        colon[1 + strcspn(colon + 1, "\n")] = '\0';
        found = snprintf(path, size, "%s", colon + 1) < (int)size;
    }
    if (file) fclose(file);
    return found;
}

/* Blanks and the like are written as \ooo. */
static void decode_octal(char *text)
{
    char *to = text;
    for (const char *at = text; *at; to++) {
        const bool coded = at[0] == '\\' && strspn(at + 1, "01234567") >= 3;
        *to = coded ? (char)((at[1] - '0') * 64 + (at[2] - '0') * 8 + (at[3] - '0')) : *at;
        at += coded ? 4 : 1;
    }
    *to = '\0';
}

/* Whether a path is a folder or below it; *rest: what follows. */
static bool is_below(const char *path, const char *folder, const char **rest)
{
    const size_t length = strcmp(folder, "/") == 0 ? 0 : strlen(folder);
    *rest = path + length;
    return strncmp(path, folder, length) == 0 && (**rest == '/' || **rest == '\0');
}

/* "ID PARENT DEVICE ROOT POINT OPTIONS … - TYPE SOURCE OPTIONS": whether the hierarchy is mounted there. */
static bool read_mount(char *line, const char *controller, char **top, char **point)
{
    char *fields[5], *saved = NULL, *const rest = strstr(line, " - ");
    if (!rest) return false;
    *rest = '\0';
    for (int i = 0; i < 5; i++)
        if (!(fields[i] = strtok_r(i ? NULL : line, " ", &saved))) return false;
    const char *const type = strtok_r(rest + 3, " \n", &saved);
    (void)strtok_r(NULL, " \n", &saved);
    const char *const options = strtok_r(NULL, " \n", &saved);
    if (!type || strcmp(type, controller ? "cgroup" : "cgroup2") != 0) return false;
    if (controller && !(options && is_listed(options, controller))) return false;
    decode_octal(*top = fields[3]);
    decode_octal(*point = fields[4]);
    return true;
}

/* controller: of version 1; NULL: the hierarchy of version 2. A mount that does not show this group (another
 * one's, or one from outside of the namespace) is taken for a place above it. */
static bool find_place(group_place *place, const char *root, const char *controller)
{
    char path[NAME], line[LINE], *top, *point;
    if (!find_group(root, controller, path, sizeof path)) return false;
    FILE *file = open_below(root, "proc/self/mountinfo");
    bool found = false, below = false;
    while (!below && file && fgets(line, sizeof line, file)) {
        const char *rest;
        if (!read_mount(line, controller, &top, &point)) continue;
        below = is_below(path, top, &rest) && strncmp(path, "/..", 3) != 0;
        const int length = snprintf(place->folder, sizeof place->folder, "%s%s%s", root, point,
                                    below && strcmp(rest, "/") != 0 ? rest : "");
        place->top = strlen(root) + strlen(point);
        found = length < (int)sizeof place->folder;
    }
    if (file) fclose(file);
    return found;
}

/* On to the group above. false: that was the uppermost. */
static bool go_up(group_place *place)
{
    char *const slash = strrchr(place->folder, '/');
    if (!slash || (size_t)(slash - place->folder) < place->top) return false;
    *slash = '\0';
    return true;
}

/* ---- its files ---- */

/* The number of a file, or of its line that begins with a word. Otherwise, and for "max": `otherwise`. */
static uint64_t number_of(const group_place *place, const char *name, const char *word, uint64_t otherwise)
{
    char line[256];
    const size_t length = strlen(word);
    FILE *file = open_below(place->folder, name);
    uint64_t number = otherwise;
    bool found = false;
    while (!found && file && fgets(line, sizeof line, file)) {
        found = strncmp(line, word, length) == 0 && (length == 0 || line[length] == ' ');
        if (found && sscanf(line + length, "%" SCNu64, &number) != 1) number = otherwise;
    }
    if (file) fclose(file);
    return number;
}

/* Version 1 writes a huge number where there is no limit. */
static uint64_t limit_of_1(const group_place *place, const char *name)
{
    const uint64_t limit = number_of(place, name, "", UINT64_MAX);
    return limit >= INT64_MAX / 65536 * 65536 ? UINT64_MAX : limit;
}

/* Pages of files go when memory is short, those that nobody has used lately at no cost. */
static fm_memory_room room_left(uint64_t limit, uint64_t used, uint64_t inactive, uint64_t active)
{
    const uint64_t idle = smaller_of(inactive, used), files = smaller_of(sum_of(inactive, active), used);
    return (fm_memory_room){left_of(limit, used - idle), left_of(limit, used - files)};
}

static fm_memory_room room_of_2(const group_place *place, uint64_t *swap)
{
    const uint64_t limit = smaller_of(number_of(place, "memory.max", "", UINT64_MAX),
                                      number_of(place, "memory.high", "", UINT64_MAX)),
                   swap_limit = number_of(place, "memory.swap.max", "", UINT64_MAX);
    *swap = smaller_of(*swap, left_of(swap_limit, number_of(place, "memory.swap.current", "", 0)));
    if (limit == UINT64_MAX) return (fm_memory_room){UINT64_MAX, UINT64_MAX};
    return room_left(limit, number_of(place, "memory.current", "", 0),
                     number_of(place, "memory.stat", "inactive_file", 0),
                     number_of(place, "memory.stat", "active_file", 0));
}

/* Its second limit is of memory and swap space together. */
static fm_memory_room room_of_1(const group_place *place, uint64_t swap)
{
    const uint64_t limit = limit_of_1(place, "memory.limit_in_bytes"),
                   both = limit_of_1(place, "memory.memsw.limit_in_bytes");
    if (limit == UINT64_MAX && both == UINT64_MAX) return (fm_memory_room){UINT64_MAX, UINT64_MAX};
    const uint64_t inactive = number_of(place, "memory.stat", "total_inactive_file", 0),
                   active = number_of(place, "memory.stat", "total_active_file", 0);
    const fm_memory_room room = room_left(limit, number_of(place, "memory.usage_in_bytes", "", 0), inactive,
                                          active),
                         with_swap = room_left(both, number_of(place, "memory.memsw.usage_in_bytes", "", 0),
                                               inactive, active);
    return (fm_memory_room){smaller_of(room.easily, with_swap.easily),
                            smaller_of(sum_of(room.at_the_most, swap), with_swap.at_the_most)};
}

fm_memory_room fm_control_group_memory(const char *root, uint64_t swap_free)
{
    fm_memory_room least = {UINT64_MAX, UINT64_MAX};
    uint64_t swap = swap_free; /* a group's swap space is that of those above, too */
    group_place place;
    if (find_place(&place, root, NULL)) do {
            const fm_memory_room room = room_of_2(&place, &swap);
            least.easily = smaller_of(least.easily, room.easily);
            least.at_the_most = smaller_of(least.at_the_most, room.at_the_most);
        } while (go_up(&place));
    least.at_the_most = sum_of(least.at_the_most, swap);
    if (find_place(&place, root, "memory")) do {
            const fm_memory_room room = room_of_1(&place, swap_free);
            least.easily = smaller_of(least.easily, room.easily);
            least.at_the_most = smaller_of(least.at_the_most, room.at_the_most);
        } while (go_up(&place));
    return least;
}

/* ---- processors ---- */

static unsigned rounded_up(uint64_t quota, uint64_t period)
{
    const uint64_t count = period ? quota / period + (quota % period != 0) : 0;
    return count < UINT_MAX ? (unsigned)count : 0;
}

/* "QUOTA PERIOD", or "max PERIOD". */
static unsigned quota_of_2(const group_place *place)
{
    uint64_t quota = 0, period = 0;
    FILE *file = open_below(place->folder, "cpu.max");
    const bool found = file && fscanf(file, "%" SCNu64 " %" SCNu64, &quota, &period) == 2;
    if (file) fclose(file);
    return found ? rounded_up(quota, period) : 0;
}

/* Without a quota it is -1. */
static unsigned quota_of_1(const group_place *place)
{
    const uint64_t quota = number_of(place, "cpu.cfs_quota_us", "", 0);
    if (quota > INT64_MAX) return 0;
    return rounded_up(quota, number_of(place, "cpu.cfs_period_us", "", 0));
}

static unsigned least_quota(const char *root, const char *controller, unsigned (*of)(const group_place *))
{
    unsigned least = 0;
    group_place place;
    if (find_place(&place, root, controller)) do {
            const unsigned quota = of(&place);
            if (quota && (least == 0 || quota < least)) least = quota;
        } while (go_up(&place));
    return least;
}

unsigned fm_control_group_processors(const char *root)
{
    const unsigned one = least_quota(root, "cpu", quota_of_1), two = least_quota(root, NULL, quota_of_2);
    return one && (two == 0 || one < two) ? one : two;
}
