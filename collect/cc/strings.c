/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strings.c - libc's comparisons, searches and copies of strings, where the compiler has left them calls.
 * As with copies.c the instructions of libc are not seen: what is reported is what the function must look at,
 * up to the byte that decides.
 */
#include "runtime.h"
#include "wrapped.h"

char *__real_strncpy(char *to, const char *from, size_t length);

/* Bytes of a string that are looked at, the terminator included, `most` at most. */
static size_t extent_of(const char *text, size_t most)
{
    size_t length = 0;
    while (length < most && text[length]) length++;
    return length < most ? length + 1 : most;
}

static size_t until_different(const unsigned char *a, const unsigned char *b, size_t most, bool strings)
{
    for (size_t i = 0; i < most; i++)
        if (a[i] != b[i] || (strings && !a[i])) return i + 1;
    return most;
}

static void tell_both(const void *a, const void *b, size_t bytes, uintptr_t pc)
{
    fm_load_range((uintptr_t)a, bytes, pc);
    fm_load_range((uintptr_t)b, bytes, pc);
}

WRAPPED(int, memcmp, (const void *a, const void *b, size_t length))
{
    if (!QUIET) tell_both(a, b, until_different(a, b, length, false), FM_SITE);
    return __real_memcmp(a, b, length);
}

WRAPPED(int, bcmp, (const void *a, const void *b, size_t length))
{
    if (!QUIET) tell_both(a, b, until_different(a, b, length, false), FM_SITE);
    return __real_bcmp(a, b, length);
}

WRAPPED(int, strcmp, (const char *a, const char *b))
{
    if (!QUIET)
        tell_both(a, b, until_different((const unsigned char *)a, (const unsigned char *)b, SIZE_MAX, true),
                  FM_SITE);
    return __real_strcmp(a, b);
}

WRAPPED(int, strncmp, (const char *a, const char *b, size_t most))
{
    if (!QUIET)
        tell_both(a, b, until_different((const unsigned char *)a, (const unsigned char *)b, most, true),
                  FM_SITE);
    return __real_strncmp(a, b, most);
}

WRAPPED(size_t, strlen, (const char *text))
{
    size_t length = __real_strlen(text);
    if (!QUIET) fm_load_range((uintptr_t)text, length + 1, FM_SITE);
    return length;
}

WRAPPED(size_t, strnlen, (const char *text, size_t most))
{
    if (!QUIET) fm_load_range((uintptr_t)text, extent_of(text, most), FM_SITE);
    return __real_strnlen(text, most);
}

WRAPPED(void *, memchr, (const void *block, int byte, size_t length))
{
    void *found = __real_memchr(block, byte, length);
    if (!QUIET)
        fm_load_range((uintptr_t)block, found ? (uintptr_t)found - (uintptr_t)block + 1 : length, FM_SITE);
    return found;
}

WRAPPED(char *, strchr, (const char *text, int byte))
{
    char *found = __real_strchr(text, byte);
    if (!QUIET)
        fm_load_range((uintptr_t)text,
                      found ? (uintptr_t)found - (uintptr_t)text + 1 : extent_of(text, SIZE_MAX), FM_SITE);
    return found;
}

WRAPPED(char *, strrchr, (const char *text, int byte))
{
    if (!QUIET) fm_load_range((uintptr_t)text, extent_of(text, SIZE_MAX), FM_SITE);
    return __real_strrchr(text, byte);
}

/* ---- copies of strings ---- */

static void tell_text_copy(char *to, const char *from, uintptr_t pc)
{
    fm_tell_copy((uintptr_t)to, (uintptr_t)from, extent_of(from, SIZE_MAX), pc);
}

static void tell_append(char *to, const char *from, uintptr_t pc)
{
    size_t before = extent_of(to, SIZE_MAX);
    fm_load_range((uintptr_t)to, before, pc);
    tell_text_copy(to + before - 1, from, pc);
}

/* The text, and zeroes behind it. A long way of zeroes is reported as it goes. */
static char *padded_copy(char *to, const char *from, size_t length, uintptr_t pc)
{
    size_t text = extent_of(from, length);
    fm_load_range((uintptr_t)from, text, pc);
    fm_store_range((uintptr_t)to, text, pc);
    __real_strncpy(to, from, text);
    fm_tell_and_fill(to + text, 0, length - text, pc);
    return to;
}

#define TEXT_COPY(name, report)                                                                              \
    WRAPPED(char *, name, (char *to, const char *from))                                                      \
    {                                                                                                        \
        if (!QUIET) report(to, from, FM_SITE);                                                               \
        return __real_##name(to, from);                                                                      \
    }                                                                                                        \
    WRAPPED(char *, __##name##_chk, (char *to, const char *from, size_t room))                               \
    {                                                                                                        \
        if (!QUIET) report(to, from, FM_SITE);                                                               \
        return __real___##name##_chk(to, from, room);                                                        \
    }
TEXT_COPY(strcpy, tell_text_copy)
TEXT_COPY(stpcpy, tell_text_copy)
TEXT_COPY(strcat, tell_append)

WRAPPED(char *, strncpy, (char *to, const char *from, size_t length))
{
    return QUIET ? __real_strncpy(to, from, length) : padded_copy(to, from, length, FM_SITE);
}

WRAPPED(char *, __strncpy_chk, (char *to, const char *from, size_t length, size_t room))
{
    return QUIET || length > room ? __real___strncpy_chk(to, from, length, room)
                                  : padded_copy(to, from, length, FM_SITE);
}
