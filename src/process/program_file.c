/* SPDX-License-Identifier: Apache-2.0 */
/* program_file.c - see program_file.h. */
#define _GNU_SOURCE
#include "process/program_file.h"
#include "base/error.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

enum {
    SCRIPTS_MOST = 4,  /* interpreters that are scripts themselves; the kernel's own limit */
    HEADERS_MOST = 64, /* program headers looked at */
    NOTES_MOST = 1 << 16,
};

/* ---- where it is ---- */

static bool may_be_executed(const char *path, int *why)
{
    struct stat about;
    if (stat(path, &about) != 0)
        *why = errno;
    else if (S_ISDIR(about.st_mode))
        *why = EISDIR;
    else if (!S_ISREG(about.st_mode) || access(path, X_OK) != 0)
        *why = EACCES;
    else
        return true;
    return false;
}

static fm_status not_executable(const char *name, int why, fm_error *error)
{
    if (why == EISDIR) return fm_fail(error, FM_E_IO, name, "is a directory, not a program");
    if (why == EACCES)
        return fm_fail(error, FM_E_IO, name,
                       "no permission to execute it (chmod +x, if it is meant to be a program)");
    return fm_fail_io(error, name, "execute", why);
}

fm_status fm_program_find(const char *name, fm_program_file *program, fm_error *error)
{
    *program = (fm_program_file){0};
    int why = ENOENT;
    if (name[0] == '\0') return fm_fail(error, FM_E_ARGUMENT, NULL, "the program's name is empty");
    if (strchr(name, '/')) {
        if (snprintf(program->path, sizeof program->path, "%s", name) >= (int)sizeof program->path)
            why = ENAMETOOLONG;
        else if (may_be_executed(name, &why))
            return FM_OK;
        return not_executable(name, why, error);
    }
    const char *path = getenv("PATH");
    int denied = 0;
    for (const char *at = path ? path : "/usr/local/bin:/usr/bin:/bin"; at;) {
        const char *end = strchrnul(at, ':');
        int length = (int)(end - at);
        int used =
            snprintf(program->path, sizeof program->path, "%.*s%s%s", length, at, length ? "/" : "./", name);
        if (used < (int)sizeof program->path && may_be_executed(program->path, &why)) return FM_OK;
        if (why == EACCES) denied = why;
        at = *end ? end + 1 : NULL;
    }
    if (denied) return not_executable(name, denied, error);
    return fm_fail(error, FM_E_IO, name, "not found: there is no such program in the directories of PATH%s",
                   access(name, X_OK) == 0 ? " (the one in this directory is named by ./)" : "");
}

/* ---- what it is ---- */

static fm_program_rights rights_of(int file, const struct stat *about)
{
    if (about->st_mode & S_ISUID) return FM_RIGHTS_SETUID;
    if (about->st_mode & S_ISGID) return FM_RIGHTS_SETGID;
    return fgetxattr(file, "security.capability", NULL, 0) > 0 ? FM_RIGHTS_CAPABILITIES : FM_RIGHTS_NONE;
}

/* The notes of collect/cc: owner "fathom", type 1 (module.c), type 2 (early.s). */
static void find_note(int file, const Elf64_Phdr *segment, fm_program_file *program)
{
    size_t size = segment->p_filesz < NOTES_MOST ? (size_t)segment->p_filesz : NOTES_MOST;
    size_t align = segment->p_align == 8 ? 8 : 4;
    unsigned char *notes = malloc(size ? size : 1);
    ssize_t got = notes ? pread(file, notes, size, (off_t)segment->p_offset) : -1;
    for (size_t at = 0; got > 0 && at + sizeof(Elf64_Nhdr) <= (size_t)got;) {
        Elf64_Nhdr note;
        memcpy(&note, notes + at, sizeof note);
        size_t left = (size_t)got - at - sizeof note;
        size_t owner = ((size_t)note.n_namesz + align - 1) / align * align;
        if (align == 8) owner = ((sizeof note + note.n_namesz + 7) & ~(size_t)7) - sizeof note;
        size_t text = ((size_t)note.n_descsz + align - 1) / align * align;
        if (owner > left || note.n_descsz > left - owner) break;
        const unsigned char *name = notes + at + sizeof note;
        const bool ours = note.n_namesz == 7 && memcmp(name, "fathom", 7) == 0;
        if (ours && note.n_type == 1 && note.n_descsz >= 4) {
            program->instrumented = true;
            memcpy(&program->runtime_version, name + owner, 4);
        }
        if (ours && note.n_type == 2) program->hooked_early = true;
        if (text > left - owner) break;
        at += sizeof note + owner + text;
    }
    free(notes);
}

static fm_program_kind look_at_elf(int file, fm_program_file *program)
{
    Elf64_Ehdr head;
    memset(&head, 0, sizeof head);
    ssize_t got = pread(file, &head, sizeof head, 0);
    program->machine = head.e_machine;
    if (got > EI_CLASS && head.e_ident[EI_CLASS] != ELFCLASS64) return FM_PROGRAM_32_BIT;
    if (got < (ssize_t)sizeof head || head.e_machine != EM_X86_64) return FM_PROGRAM_OTHER_MACHINE;
    if (head.e_type != ET_EXEC && head.e_type != ET_DYN) return FM_PROGRAM_NO_PROGRAM;
    for (unsigned i = 0; i < head.e_phnum && i < HEADERS_MOST; i++) {
        Elf64_Phdr segment;
        off_t at = (off_t)head.e_phoff + (off_t)i * head.e_phentsize;
        if (pread(file, &segment, sizeof segment, at) != (ssize_t)sizeof segment) break;
        if (segment.p_type == PT_NOTE) find_note(file, &segment, program);
        if (segment.p_type == PT_INTERP) {
            size_t most = sizeof program->loader - 1;
            (void)!pread(file, program->loader, segment.p_filesz < most ? segment.p_filesz : most,
                         (off_t)segment.p_offset);
        }
    }
    return FM_PROGRAM_X86_64;
}

/* "#! /bin/sh -e": the path goes to interpreter. */
static bool interpreter_of(const char *line, size_t size, char *interpreter, size_t room)
{
    size_t at = 2, length = 0;
    while (at < size && (line[at] == ' ' || line[at] == '\t')) at++;
    while (at < size && !strchr(" \t\r\n", line[at]) && length + 1 < room) interpreter[length++] = line[at++];
    interpreter[length] = '\0';
    return length > 0;
}

/* The interpreter that its first line names, if it does. */
static fm_status look_at_file(fm_program_file *program, bool may_be_script, char *interpreter, size_t room,
                              fm_error *error)
{
    /* An interpreter may be a pipe that nobody writes to. */
    int file = open(program->file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    program->kind = file < 0 && errno == EACCES ? FM_PROGRAM_UNREADABLE : FM_PROGRAM_UNKNOWN;
    if (program->kind == FM_PROGRAM_UNREADABLE) return FM_OK;
    if (file < 0)
        return fm_fail_io(error, program->file,
                          program->script ? "open, the interpreter of a script" : "open", errno);
    char start[PATH_MAX];
    struct stat about;
    ssize_t got = 0;
    fm_status status = FM_OK;
    if (fstat(file, &about) != 0)
        status = fm_fail_io(error, program->file, "look at it", errno);
    else if (!S_ISREG(about.st_mode))
        status = not_executable(program->file, S_ISDIR(about.st_mode) ? EISDIR : EACCES, error);
    else if ((got = pread(file, start, sizeof start, 0)) < 0)
        status = fm_fail_io(error, program->file, "read", errno);
    bool script = got > 2 && start[0] == '#' && start[1] == '!' && may_be_script &&
                  interpreter_of(start, (size_t)got, interpreter, room);
    if (status == FM_OK && !script) program->rights = rights_of(file, &about);
    if (got >= SELFMAG && memcmp(start, ELFMAG, SELFMAG) == 0) program->kind = look_at_elf(file, program);
    close(file);
    return status;
}

fm_status fm_program_look(fm_program_file *program, fm_error *error)
{
    memcpy(program->file, program->path, sizeof program->file);
    for (int level = 0;; level++) {
        char interpreter[PATH_MAX] = "";
        fm_status status =
            look_at_file(program, level < SCRIPTS_MOST, interpreter, sizeof interpreter, error);
        if (status != FM_OK || !interpreter[0]) return status;
        memcpy(program->file, interpreter, sizeof interpreter);
        program->script = true;
    }
}

fm_status fm_program_refuse(const fm_program_file *program, const char *done, const char *doing,
                            fm_error *error)
{
    const char *file = program->file;
    switch (program->kind) {
    case FM_PROGRAM_X86_64:
        break;
    case FM_PROGRAM_UNREADABLE:
        return fm_fail(error, FM_E_UNSUPPORTED, file, "may be executed but not read: %s needs to read it",
                       doing);
    case FM_PROGRAM_32_BIT:
        return fm_fail(error, FM_E_UNSUPPORTED, file, "is a 32-bit program; only x86-64 can be %s", done);
    case FM_PROGRAM_OTHER_MACHINE:
        return fm_fail(error, FM_E_UNSUPPORTED, file,
                       "is a program for another processor (ELF machine %u); only x86-64 can be %s",
                       program->machine, done);
    case FM_PROGRAM_NO_PROGRAM:
        return fm_fail(error, FM_E_UNSUPPORTED, file, "is an ELF file, but no program");
    case FM_PROGRAM_UNKNOWN:
        return fm_fail(error, FM_E_UNSUPPORTED, file,
                       "is neither an x86-64 program nor a script that begins with #!");
    }
    return FM_OK;
}

/* ---- program called ---- */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* A link to the program, as an absolute path; NULL: it is none. */
static char *link_to(const char *candidate, const char *program)
{
    char *called = NULL, *leads = realpath(candidate, NULL), *file = realpath(program, NULL);
    const char *base = base_name(candidate);
    if (leads && file && strcmp(leads, file) == 0 && base[0] && strcmp(base, base_name(program)) != 0) {
        char folder[PATH_MAX];
        const int length = base == candidate ? 1 : (int)(base - candidate);
        char *whole = NULL;
        if (snprintf(folder, sizeof folder, "%.*s", length, base == candidate ? "." : candidate) <
            (int)sizeof folder)
            whole = realpath(folder, NULL);
        if (whole && asprintf(&called, "%s/%s", strcmp(whole, "/") == 0 ? "" : whole, base) < 0)
            called = NULL;
        free(whole);
    }
    free(leads);
    free(file);
    return called;
}

/* A name without folders: beside the file, or in the folders of PATH. */
static char *link_named(const char *name, const char *program)
{
    char *beside = NULL;
    const int folder = (int)(base_name(program) - program);
    if (asprintf(&beside, "%.*s%s", folder, program, name) < 0) return NULL;
    char *called = link_to(beside, program);
    free(beside);
    fm_program_file found;
    if (!called && fm_program_find(name, &found, NULL) == 0) called = link_to(found.path, program);
    return called;
}

char *fm_program_called(const char *typed, const char *program)
{
    if (typed[0] == '-') typed++; /* a login shell */
    if (!typed[0] || program[0] != '/') return NULL;
    char *called = strchr(typed, '/') ? link_to(typed, program) : link_named(typed, program);
    if (called) return called;
    /* Servers write what they do behind their names, or in their place: "nginx: master process". */
    const size_t length = strcspn(typed, " :");
    char *word = typed[length] && length ? strndup(typed, length) : NULL;
    if (word) called = strchr(word, '/') ? link_to(word, program) : link_named(word, program);
    free(word);
    return called;
}

char *fm_process_called(uint32_t pid, const char *program)
{
    char path[64], typed[PATH_MAX];
    snprintf(path, sizeof path, "/proc/%" PRIu32 "/cmdline", pid);
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t got = file >= 0 ? read(file, typed, sizeof typed - 1) : -1;
    if (file >= 0) close(file);
    if (got <= 0) return NULL;
    typed[got] = '\0';
    return fm_program_called(typed, program);
}
