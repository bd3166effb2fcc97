/* SPDX-License-Identifier: Apache-2.0 */
/* proc_files.c - see program_file.h. */
#define _GNU_SOURCE
#include "process/program_file.h"

#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool fm_proc_stat(uint32_t pid, fm_proc_field field, long *value)
{
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%u/stat", pid);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    ssize_t got = read(file, text, sizeof text - 1);
    close(file);
    if (got <= 0) return false;
    text[got] = '\0';
    char *at = strrchr(text, ')'); /* the command may have blanks and parentheses */
    for (int i = FM_PROC_STATE - 1; at && i < (int)field; i++) {
        at = strchr(at, ' ');
        if (at) at++;
    }
    if (!at) return false;
    *value = field == FM_PROC_STATE ? (unsigned char)*at : strtol(at, NULL, 10);
    return true;
}

bool fm_proc_is_zombie(uint32_t pid)
{
    long state;
    return !fm_proc_stat(pid, FM_PROC_STATE, &state) || state == 'Z';
}

bool fm_proc_is_descendant(uint32_t pid)
{
    long parent = (long)pid, us = (long)getpid();
    for (int steps = 0; steps < 4096 && parent > 1; steps++) {
        if (!fm_proc_stat((uint32_t)parent, FM_PROC_PARENT, &parent)) return false;
        if (parent == us) return true;
    }
    return false;
}

bool fm_proc_status(const char *directory, const char *name, int base, uint64_t *value)
{
    char path[1024], *line = NULL;
    size_t room = 0;
    const size_t length = strlen(name);
    bool found = false;
    if (snprintf(path, sizeof path, "%s/status", directory) >= (int)sizeof path) return false;
    FILE *file = fopen(path, "re");
    while (file && !found && getline(&line, &room, file) > 0) {
        found = strncmp(line, name, length) == 0 && line[length] == ':';
        if (found) *value = strtoull(line + length + 1, NULL, base);
    }
    free(line);
    if (file) fclose(file);
    return found;
}

bool fm_proc_tasks_open(fm_proc_tasks *tasks, uint32_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%" PRIu32 "/task", pid);
    tasks->directory = opendir(path);
    return tasks->directory != NULL;
}

bool fm_proc_tasks_next(fm_proc_tasks *tasks, uint32_t *tid)
{
    for (const struct dirent *task; (task = readdir(tasks->directory));) {
        *tid = (uint32_t)strtoul(task->d_name, NULL, 10); /* not of "." and ".." */
        if (*tid > 0) return true;
    }
    return false;
}

void fm_proc_tasks_close(fm_proc_tasks *tasks)
{
    closedir(tasks->directory);
}

bool fm_proc_any_child(uint32_t parent, bool (*has)(void *context, uint32_t parent, uint32_t pid),
                       void *context)
{
    fm_proc_tasks tasks;
    char path[80];
    bool found = false;
    uint32_t tid;
    if (!fm_proc_tasks_open(&tasks, parent)) return false;
    while (!found && fm_proc_tasks_next(&tasks, &tid)) {
        snprintf(path, sizeof path, "/proc/%" PRIu32 "/task/%" PRIu32 "/children", parent, tid);
        FILE *file = fopen(path, "re");
        unsigned pid;
        while (file && !found && fscanf(file, "%u", &pid) == 1) found = has(context, parent, pid);
        if (file) fclose(file);
    }
    fm_proc_tasks_close(&tasks);
    return found;
}

bool fm_proc_program(uint32_t pid, char *path, size_t size)
{
    char link[64];
    snprintf(link, sizeof link, "/proc/%" PRIu32 "/exe", pid);
    const ssize_t length = readlink(link, path, size - 1);
    if (length <= 0) return false;
    path[length] = '\0';
    return true;
}

bool fm_proc_maps_open(fm_proc_maps *maps, uint32_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%" PRIu32 "/maps", pid);
    *maps = (fm_proc_maps){.file = fopen(path, "re")};
    return maps->file != NULL;
}

bool fm_proc_maps_next(fm_proc_maps *maps, fm_proc_map *map)
{
    while (getline(&maps->line, &maps->room, maps->file) > 0) {
        int path = 0;
        if (sscanf(maps->line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %n", &map->from, &map->to,
                   map->access, &map->offset, &path) < 4)
            continue;
        maps->line[strcspn(maps->line, "\n")] = '\0';
        map->path = path > 0 ? maps->line + path : "";
        return true;
    }
    return false;
}

void fm_proc_maps_close(fm_proc_maps *maps)
{
    free(maps->line);
    fclose(maps->file);
}

fm_status fm_proc_shows(int file, const char *path, const char *doing, fm_error *error)
{
    struct stat ours, found;
    if (fstat(file, &ours) == 0 && stat(path, &found) == 0 && found.st_dev == ours.st_dev &&
        found.st_ino == ours.st_ino)
        return FM_OK;
    return fm_fail(
        error, FM_E_UNSUPPORTED, "/proc",
        "is not mounted here, or is that of other processes (another PID namespace); %s needs it: mount "
        "-t proc proc /proc",
        doing);
}

fm_status fm_proc_share_failed(int cause, uint64_t bytes, fm_error *error)
{
    if (cause != EFBIG) return fm_fail_io(error, NULL, "make memory to share with the program", cause);
    return fm_fail(
        error, FM_E_IO, NULL,
        "cannot make memory to share with the program: it counts as a file, and files must not be larger "
        "than 'ulimit -f' says; that must be %" PRIu64 " KiB or more, whatever is written",
        bytes >> 10);
}
