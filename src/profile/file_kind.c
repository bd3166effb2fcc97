/* SPDX-License-Identifier: Apache-2.0 */
/* file_kind.c - see fathom/experimental/checks.h. It reads no more than a file's beginning, and checks
 * nothing else of it. */
#define _GNU_SOURCE /* memmem */
#include <fathom/experimental/checks.h>

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LOOKED_AT = 4096 }; /* bytes: JSON of ours begins with its schema and its name */

/* What of a file was read; a 0 behind it. */
typedef struct file_begin {
    char bytes[LOOKED_AT + 1];
    size_t size;
} file_begin;

static bool read_begin(const char *path, file_begin *begin)
{
    struct stat about;
    begin->size = 0;
    /* A pipe's writer would take a look for its reader, and end by it. */
    if (stat(path, &about) != 0 || !S_ISREG(about.st_mode)) return false;
    const int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (descriptor < 0) return false;
    const bool regular = fstat(descriptor, &about) == 0 && S_ISREG(about.st_mode);
    while (regular && begin->size < LOOKED_AT) {
        const ssize_t got = read(descriptor, begin->bytes + begin->size, LOOKED_AT - begin->size);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        begin->size += (size_t)got;
    }
    close(descriptor);
    begin->bytes[begin->size] = '\0';
    return regular;
}

static bool begins_with(const file_begin *begin, const char *bytes, size_t size)
{
    return begin->size >= size && memcmp(begin->bytes, bytes, size) == 0;
}

/* Where the text of a JSON string begins that is the first value of a key, or NULL. As far as can be told
 * without reading all of it. */
static const char *find_text(const file_begin *begin, const char *key)
{
    char quoted[40];
    const int length = snprintf(quoted, sizeof quoted, "\"%s\"", key);
    const char *at = memmem(begin->bytes, begin->size, quoted, (size_t)length);
    if (!at) return NULL;
    at += length;
    at += strspn(at, " \t\r\n");
    if (*at++ != ':') return NULL;
    at += strspn(at, " \t\r\n");
    return *at == '"' ? at + 1 : NULL;
}

static fm_file_kind look_at_json(const file_begin *begin, char *text, size_t size)
{
    static const struct {
        const char *schema, *words;
    } results[] = {{"diff-", "a result of fathom diff"},
                   {"mrc-", "a result of fathom mrc"},
                   {"comparison-", "a result of fathom compare"},
                   {"check-", "a result of fathom check"}};
    static const char family[] = "fathom-";
    const char *schema = find_text(begin, "schema"), *name = find_text(begin, "name");
    if (!schema || strncmp(schema, family, sizeof family - 1) != 0) return FM_FILE_OTHER;
    schema += sizeof family - 1;
    if (strncmp(schema, "profile-", 8) == 0) {
        const size_t length = name ? strcspn(name, "\"\\") : 0;
        snprintf(text, size, "a fathom profile%s%.*s", length ? " of " : "", (int)length, length ? name : "");
        return FM_FILE_PROFILE;
    }
    if (strncmp(schema, "model-", 6) == 0) {
        snprintf(text, size, "a model of fathom train");
        return FM_FILE_MODEL;
    }
    if (strncmp(schema, "symbolic-", 9) == 0) {
        snprintf(text, size, "formulas of fathom static");
        return FM_FILE_FORMULAS;
    }
    snprintf(text, size, "a result of fathom");
    for (size_t i = 0; i < sizeof results / sizeof *results; i++)
        if (strncmp(schema, results[i].schema, strlen(results[i].schema)) == 0)
            snprintf(text, size, "%s", results[i].words);
    return FM_FILE_RESULT;
}

static bool is_source(const char *path)
{
    static const char *const endings[] = {".c",   ".h", ".cc",  ".cpp", ".cxx", ".hpp", ".f90",
                                          ".f95", ".f", ".for", ".f03", ".f08", ".fir"};
    const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');
    for (size_t i = 0; dot && i < sizeof endings / sizeof *endings; i++)
        if (strcasecmp(dot, endings[i]) == 0) return true;
    return false;
}

fm_file_kind fm_file_look(const char *path, char *text, size_t size)
{
    static const char trace[] = "\x89"
                                "FATHOM\n",
                      elf[] = "\x7f"
                              "ELF",
                      machine[] = "fathom-machine", page[] = "<!doctype html";
    file_begin begin;
    text[0] = '\0';
    if (!read_begin(path, &begin)) return FM_FILE_OTHER;
    if (begins_with(&begin, trace, sizeof trace - 1)) {
        snprintf(text, size, "a fathom trace");
        return FM_FILE_TRACE;
    }
    if (begins_with(&begin, elf, sizeof elf - 1)) {
        snprintf(text, size, "a program");
        return FM_FILE_PROGRAM;
    }
    const char *first = begin.bytes;
    while (isspace((unsigned char)*first)) first++;
    if (*first == '{') return look_at_json(&begin, text, size);
    if (strncmp(first, machine, sizeof machine - 1) == 0) {
        snprintf(text, size, "a description of a machine");
        return FM_FILE_MACHINE;
    }
    if (strncasecmp(first, page, sizeof page - 1) == 0) {
        snprintf(text, size, "an HTML page");
        return FM_FILE_PAGE;
    }
    if (!is_source(path)) return FM_FILE_OTHER;
    snprintf(text, size, "source code");
    return FM_FILE_SOURCE;
}
