/* SPDX-License-Identifier: Apache-2.0 */
/* program_called.c - see program_called.h. Of a name nothing is believed but where it leads. */
#define _GNU_SOURCE
#include "process/program_called.h"

#include "process/program_file.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
