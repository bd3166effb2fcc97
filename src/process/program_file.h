/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_file.h - the file of a program before it is started: where it is, and what it is. It starts
 * nothing.
 */
#ifndef FATHOM_PROCESS_PROGRAM_FILE_H
#define FATHOM_PROCESS_PROGRAM_FILE_H

#include <dirent.h>
#include <fathom/status.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef enum fm_program_kind {
    FM_PROGRAM_X86_64,
    FM_PROGRAM_UNREADABLE, /* may be executed but not read: nothing else is known of it */
    FM_PROGRAM_32_BIT,
    FM_PROGRAM_OTHER_MACHINE,
    FM_PROGRAM_NO_PROGRAM, /* an ELF file of another kind: an object file, a core */
    FM_PROGRAM_UNKNOWN,    /* neither ELF nor a script */
} fm_program_kind;

/* Rights that come with the file. They are lost where it is not execve that loads it, and where it is traced;
 * preloads are ignored with them. */
typedef enum fm_program_rights {
    FM_RIGHTS_NONE,
    FM_RIGHTS_SETUID,
    FM_RIGHTS_SETGID,
    FM_RIGHTS_CAPABILITIES
} fm_program_rights;

typedef struct fm_program_file {
    char path[PATH_MAX]; /* as execve wants it */
    char file[PATH_MAX]; /* whose code runs: path itself, or the interpreter of the script that it is. All
                            that follows is of this file */
    bool script;
    fm_program_kind kind;
    unsigned machine; /* as in its ELF header */
    fm_program_rights rights;
    char loader[256];         /* that links it when it starts; "": linked statically, preloads do nothing */
    bool instrumented;        /* built by fathom cc */
    uint32_t runtime_version; /* then: of what it was linked with */
    bool hooked_early; /* … and gcc called the hooks before its optimisations of loops, or some of it */
} fm_program_file;

/* Looks for name in PATH, unless it has a slash. FM_E_IO when there is none that may be executed. */
fm_status fm_program_find(const char *name, fm_program_file *program, fm_error *error);
/* Looks into the one that was found. FM_E_IO when it or its interpreter is not there or cannot be read. */
fm_status fm_program_look(fm_program_file *program, fm_error *error);
/* FM_E_UNSUPPORTED where it is no x86-64 program that can be read. done, doing: what it is wanted for,
 * "traced" and "tracing". Its rights are for the caller to judge. */
fm_status fm_program_refuse(const fm_program_file *program, const char *done, const char *doing,
                            fm_error *error);

/* ---- program called ---- */

/* Programs by the name that they were started by, where that is a link to their file. */

/*
 * "/usr/bin/redis-server" for a program that was started as `typed` ("redis-server", the first word of its
 * command line, perhaps with what it wrote behind it) and whose file is `program`,
 * "/usr/bin/redis-check-rdb". NULL: the name is that of the file, does not lead to it, or memory is short.
 * The caller frees it.
 */
char *fm_program_called(const char *typed, const char *program);
/* The same for a process that runs. */
char *fm_process_called(uint32_t pid, const char *program);
/* The name that is shown of a program. */
static inline const char *fm_program_shown(const char *program, const char *called)
{
    return called ? called : program;
}

/* ---- proc files ---- */

/* What /proc tells of processes, their parents and their children. */

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
/* Why there is no file of so many bytes in memory (errno). */
fm_status fm_proc_share_failed(int cause, uint64_t bytes, fm_error *error);

#endif
