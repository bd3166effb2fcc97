/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_file.h - the file of a program before it is started: where it is, and what it is. It starts
 * nothing.
 */
#ifndef FATHOM_PROCESS_PROGRAM_FILE_H
#define FATHOM_PROCESS_PROGRAM_FILE_H

#include <fathom/status.h>
#include <limits.h>

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

#endif
