/* SPDX-License-Identifier: Apache-2.0 */
/* proc_files.h - what /proc tells of processes, their parents and their children. */
#ifndef FATHOM_PROCESS_PROC_FILES_H
#define FATHOM_PROCESS_PROC_FILES_H

#include <dirent.h>
#include <fathom/status.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Fields of /proc/<pid>/stat, by their numbers in proc(5): a letter, a pid, the kernel's PF_…, clock ticks
 * since boot, as of waitpid. */
typedef enum fm_proc_field {
    FM_PROC_STATE = 3,
    FM_PROC_PARENT = 4,
    FM_PROC_FLAGS = 9,
    FM_PROC_BORN = 22,
    FM_PROC_EXIT_CODE = 52,
} fm_proc_field;

/* False: there is no such process. */
bool fm_proc_stat(uint32_t pid, fm_proc_field field, long *value);
/* A number of `directory`/status, in hexadecimal where base is 16: directory is /proc/<pid>, or
 * /proc/<pid>/task/<tid>. False: it does not tell. */
bool fm_proc_status(const char *directory, const char *name, int base, uint64_t *value);
/* Is there nothing left of it but its exit status, or not even that? */
bool fm_proc_is_zombie(uint32_t pid);
/* Of the calling process. */
bool fm_proc_is_descendant(uint32_t pid);
/* Does a child of a process have this property? Asked of one after the other until one does. */
bool fm_proc_any_child(uint32_t parent, bool (*has)(void *context, uint32_t parent, uint32_t pid),
                       void *context);

/* The threads of a process. False: there is no such process, and nothing to close. */
typedef struct fm_proc_tasks {
    DIR *directory;
} fm_proc_tasks;
bool fm_proc_tasks_open(fm_proc_tasks *tasks, uint32_t pid);
bool fm_proc_tasks_next(fm_proc_tasks *tasks, uint32_t *tid);
void fm_proc_tasks_close(fm_proc_tasks *tasks);

/* The file that a process executes. False: it cannot be told (errno). */
bool fm_proc_program(uint32_t pid, char *path, size_t size);

/* A mapping of a process: a line of /proc/<pid>/maps. path: "" where there is none; until the next one. */
typedef struct fm_proc_map {
    uint64_t from, to, offset;
    char access[5]; /* "r-xp" */
    const char *path;
} fm_proc_map;
typedef struct fm_proc_maps {
    FILE *file;
    char *line;
    size_t room;
} fm_proc_maps;
/* In the order of their addresses. False: there are none to read (errno), and nothing to close. */
bool fm_proc_maps_open(fm_proc_maps *maps, uint32_t pid);
bool fm_proc_maps_next(fm_proc_maps *maps, fm_proc_map *map);
void fm_proc_maps_close(fm_proc_maps *maps);

/* FM_E_UNSUPPORTED where `path`, a name of an open file of ours in /proc, does not lead to it: then programs
 * that we start do not find it there either. doing: what needs it, "tracing". */
fm_status fm_proc_shows(int file, const char *path, const char *doing, fm_error *error);

#endif
