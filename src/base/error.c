/* SPDX-License-Identifier: Apache-2.0 */
/* error.c - statuses, and messages that name the file, the place and the reason. */
#define _GNU_SOURCE
#include "base/error.h"

#include "base/memory.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *fm_status_name(fm_status status)
{
    switch (status) {
    case FM_OK:
        return "ok";
    case FM_E_NOMEM:
        return "out of memory";
    case FM_E_LIMIT:
        return "over the memory limit";
    case FM_E_IO:
        return "input/output error";
    case FM_E_FORMAT:
        return "wrong format";
    case FM_E_TRUNCATED:
        return "truncated";
    case FM_E_CORRUPT:
        return "corrupt";
    case FM_E_UNSUPPORTED:
        return "unsupported";
    case FM_E_ARGUMENT:
        return "wrong argument";
    case FM_E_INTERNAL:
        return "internal error";
    }
    return "unknown status";
}

bool fm_status_is_damage(fm_status status)
{
    return status == FM_E_TRUNCATED || status == FM_E_CORRUPT;
}

char *fm_error_message(const fm_error *error, char *buffer, size_t size)
{
    const char *path = error->path;
    const char *colon = path[0] ? ": " : "";
    const char *reason = error->reason[0] ? error->reason : fm_status_name(error->status);
    if (size == 0) return buffer;
    if (error->place == FM_PLACE_BYTE)
        snprintf(buffer, size, "%s%sbyte %" PRIu64 ": %s", path, colon, error->offset, reason);
    else if (error->place == FM_PLACE_LINE)
        snprintf(buffer, size, "%s%sline %" PRIu64 ": %s", path, colon, error->offset, reason);
    else
        snprintf(buffer, size, "%s%s%s", path, colon, reason);
    return buffer;
}

static void error_fill(fm_error *error, fm_status status, const char *path, fm_place place, uint64_t offset,
                       const char *format, va_list arguments)
{
    if (!error) return;
    /* The reason may quote an earlier error's text: format it before anything is overwritten. */
    char reason[sizeof error->reason];
    vsnprintf(reason, sizeof reason, format, arguments);
    char kept_path[sizeof error->path];
    kept_path[0] = '\0';
    if (path) {
        size_t length = strlen(path);
        if (length < sizeof kept_path)
            memcpy(kept_path, path, length + 1);
        else
            snprintf(kept_path, sizeof kept_path, "...%s", path + (length - (sizeof kept_path - 4)));
    }
    error->status = status;
    error->place = place;
    error->offset = offset;
    error->lost = 0;
    memcpy(error->path, kept_path, sizeof kept_path);
    memcpy(error->reason, reason, sizeof reason);
}

fm_status fm_fail(fm_error *error, fm_status status, const char *path, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    error_fill(error, status, path, FM_PLACE_NONE, 0, format, arguments);
    va_end(arguments);
    return status;
}

fm_status fm_fail_at(fm_error *error, fm_status status, const char *path, fm_place place, uint64_t offset,
                     const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    error_fill(error, status, path, place, offset, format, arguments);
    va_end(arguments);
    return status;
}

fm_status fm_fail_memory(fm_error *error, uint64_t bytes, const char *purpose)
{
    const char *why = fm_memory_is_there(bytes)
                          ? ""
                          : ": neither this machine nor the control group of this process has them free";
    return fm_fail(error, FM_E_NOMEM, NULL, "out of memory: no %" PRIu64 " bytes for %s%s", bytes, purpose,
                   why);
}

fm_status fm_fail_io(fm_error *error, const char *path, const char *verb, int errno_value)
{
    return fm_fail(error, FM_E_IO, path, "cannot %s: %s", verb, strerror(errno_value));
}

fm_status fm_fail_null(fm_error *error, const char *function, const char *argument)
{
    static const char behind[] = "_sized"; /* callers do not see that */
    const size_t length = strlen(function), extra = sizeof behind - 1;
    const bool sized = length > extra && strcmp(function + length - extra, behind) == 0;
    return fm_fail(error, FM_E_ARGUMENT, NULL, "%.*s: `%s` is NULL", (int)(length - (sized ? extra : 0)),
                   function, argument);
}

fm_status fm_check_choice(long long value, long long most, const char *member, fm_error *error)
{
    if (value >= 0 && value <= most) return FM_OK;
    return fm_fail(error, FM_E_ARGUMENT, NULL, "%s: there is no value %lld; expected 0 to %lld", member,
                   value, most);
}

#ifdef FATHOM_ASSERTIONS
#include <stdlib.h>

/* Only in builds of tests: the library itself never prints or aborts. */
void fm_assertion_failed(const char *condition, const char *file, int line)
{
    fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, condition);
    abort();
}
#endif

/* ======== notes ======== */

/* Is the line among these, each of which ends with a newline? */
static bool has_line(const char *lines, const char *line)
{
    const size_t length = strlen(line);
    for (const char *end; (end = strchr(lines, '\n')); lines = end + 1)
        if ((size_t)(end - lines) == length && memcmp(lines, line, length) == 0) return true;
    return false;
}

void fm_notes_add(char **notes, const char *format, va_list arguments)
{
    enum { MOST = 64 << 10 };
    char *line = NULL, *all = NULL;
    const int length = vasprintf(&line, format, arguments);
    if (length < 0) return;
    /* A note is one line, whatever a program put into it: so that it is found again. */
    for (char *at = line; (at = strchr(at, '\n')); at++) *at = ' ';
    const char *before = *notes ? *notes : "";
    if (!has_line(before, line) && strlen(before) + (size_t)length < MOST &&
        asprintf(&all, "%s%s\n", before, line) >= 0) {
        free(*notes);
        *notes = all;
    }
    free(line);
}
