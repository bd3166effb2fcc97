/* SPDX-License-Identifier: Apache-2.0 */
/* program_file.c - see program_file.h. */
#define _GNU_SOURCE
#include "collect/program_file.h"

#include "base/error.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
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

static fm_status check_rights(int file, const char *path, fm_error *error)
{
    struct stat about;
    if (fstat(file, &about) != 0) return fm_fail_io(error, path, "look at it", errno);
    if (about.st_mode & (S_ISUID | S_ISGID))
        return fm_fail(error, FM_E_UNSUPPORTED, path,
                       "is %s: traced, it would not get the rights that this gives it; a copy without "
                       "the bit (cp makes one) can be traced",
                       about.st_mode & S_ISUID ? "setuid (set-user-ID)" : "setgid (set-group-ID)");
    if (fgetxattr(file, "security.capability", NULL, 0) > 0)
        return fm_fail(error, FM_E_UNSUPPORTED, path,
                       "has capabilities of its own: traced, it would not get them; a copy without them (cp "
                       "makes one) can be traced");
    return FM_OK;
}

/* The note of collect/cc: owner "fathom", type 1. */
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
        if (note.n_type == 1 && note.n_namesz == 7 && memcmp(name, "fathom", 7) == 0 && note.n_descsz >= 4) {
            program->instrumented = true;
            memcpy(&program->runtime_version, name + owner, 4);
        }
        if (text > left - owner) break;
        at += sizeof note + owner + text;
    }
    free(notes);
}

static fm_status check_elf(int file, const char *path, fm_program_file *program, fm_error *error)
{
    Elf64_Ehdr head;
    memset(&head, 0, sizeof head);
    ssize_t got = pread(file, &head, sizeof head, 0);
    if (got > EI_CLASS && head.e_ident[EI_CLASS] != ELFCLASS64)
        return fm_fail(error, FM_E_UNSUPPORTED, path, "is a 32-bit program; only x86-64 can be traced");
    if (got < (ssize_t)sizeof head || head.e_machine != EM_X86_64)
        return fm_fail(error, FM_E_UNSUPPORTED, path,
                       "is a program for another processor (ELF machine %u); only x86-64 can be traced",
                       (unsigned)head.e_machine);
    if (head.e_type != ET_EXEC && head.e_type != ET_DYN)
        return fm_fail(error, FM_E_UNSUPPORTED, path, "is an ELF file, but no program");
    for (unsigned i = 0; i < head.e_phnum && i < HEADERS_MOST; i++) {
        Elf64_Phdr segment;
        off_t at = (off_t)head.e_phoff + (off_t)i * head.e_phentsize;
        if (pread(file, &segment, sizeof segment, at) != (ssize_t)sizeof segment) break;
        if (segment.p_type == PT_NOTE) find_note(file, &segment, program);
    }
    return FM_OK;
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

fm_status fm_program_check(fm_program_file *program, fm_error *error)
{
    char path[PATH_MAX];
    memcpy(path, program->path, sizeof path);
    for (int level = 0;; level++) {
        int file = open(path, O_RDONLY | O_CLOEXEC);
        if (file < 0 && errno == EACCES)
            return fm_fail(error, FM_E_UNSUPPORTED, path,
                           "may be executed but not read: tracing needs to read it");
        if (file < 0)
            return fm_fail_io(error, path, level ? "open, the interpreter of a script" : "open", errno);
        char start[PATH_MAX];
        ssize_t got = pread(file, start, sizeof start, 0);
        fm_status status = got < 0 ? fm_fail_io(error, path, "read", errno) : FM_OK;
        bool elf = got >= SELFMAG && memcmp(start, ELFMAG, SELFMAG) == 0;
        bool script = got > 2 && start[0] == '#' && start[1] == '!';
        if (status == FM_OK && !script) status = check_rights(file, path, error);
        if (status == FM_OK && elf) status = check_elf(file, path, program, error);
        close(file);
        if (status != FM_OK || elf) return status;
        if (!script || level >= SCRIPTS_MOST || !interpreter_of(start, (size_t)got, path, sizeof path))
            return fm_fail(error, FM_E_UNSUPPORTED, path,
                           "is neither an x86-64 program nor a script that begins with #!");
        program->script = true;
    }
}
