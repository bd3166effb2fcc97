/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * strings.c - libc's comparisons, searches and copies of strings, where the compiler has left them calls.
 * As with strings.c the instructions of libc are not seen: what is reported is what the function must look
 * at, up to the byte that decides.
 */
#include "runtime.h"
#include "wrapped.h"

/*
 * ==== copies ====
 *
 * Memcpy and its relatives, as instrumented code calls them: the linker leads those calls here
 * (--wrap), and the compilers are told not to make instructions of them that nobody would see.
 *
 * What is reported is a model, as the instructions of libc are not seen: a copy touches each 64-byte line of
 * its source and of its destination once, alternately, in ascending order. At any other granularity the
 * receiver cuts the pieces further.
 */

void *__real_memmove(void *to, const void *from, size_t length);
void *__real_memset(void *to, int value, size_t length);

enum { LINE = 64 };

static void tell_copy(uintptr_t to, uintptr_t from, uint64_t length, uintptr_t pc)
{
    uint64_t loaded = 0, stored = 0;
    while (stored < length) {
        if (loaded < length) {
            uint64_t bytes = fm_bytes_to_border(from + loaded, length - loaded, LINE);
            fm_load_range(from + loaded, bytes, pc);
            loaded += bytes;
        }
        /* As much as has been loaded so far can be stored. */
        while (stored < loaded) {
            uint64_t bytes = fm_bytes_to_border(to + stored, length - stored, LINE);
            if (stored + bytes > loaded) break;
            fm_store_range(to + stored, bytes, pc);
            stored += bytes;
        }
    }
}

/*
 * A long call is reported and done in pieces: one that faults in the middle, say because its length is below
 * zero, has then reported little more than it did. Pieces end at multiples of their size, so that they cut no
 * line of the destination in two.
 */
enum { PIECE = FM_RANGE_MOST };

static void *bytes_copy(void *to, const void *from, uint64_t length, uintptr_t pc)
{
    char *next = to;
    if (fm_ranges_reported((uintptr_t)to, (uintptr_t)from, length)) return __real_memmove(to, from, length);
    for (const char *source = from; length > 0;) {
        uint64_t bytes = fm_bytes_to_border((uintptr_t)next, length, PIECE);
        tell_copy((uintptr_t)next, (uintptr_t)source, bytes, pc);
        __real_memmove(next, source, bytes);
        next += bytes;
        source += bytes;
        length -= bytes;
    }
    return to;
}

/* To a higher address in the same bytes: the last piece first. */
static void *copy_upwards(void *to, const void *from, uint64_t length, uintptr_t pc)
{
    while (length > 0) {
        uint64_t over = ((uintptr_t)to + length - 1) % PIECE + 1, bytes = over < length ? over : length;
        length -= bytes;
        tell_copy((uintptr_t)to + length, (uintptr_t)from + length, bytes, pc);
        __real_memmove((char *)to + length, (const char *)from + length, bytes);
    }
    return to;
}

static void *bytes_move(void *to, const void *from, uint64_t length, uintptr_t pc)
{
    bool upwards = (uintptr_t)to - (uintptr_t)from < length; /* unsigned: also false where to is below */
    return upwards ? copy_upwards(to, from, length, pc) : bytes_copy(to, from, length, pc);
}

static void *copy_to_end(void *to, const void *from, uint64_t length, uintptr_t pc)
{
    return (char *)bytes_copy(to, from, length, pc) + length;
}

/* memset, reported piece by piece as it is done. */
static void *tell_and_fill(void *to, int value, uint64_t length, uintptr_t pc)
{
    if (fm_ranges_reported((uintptr_t)to, 0, length)) return __real_memset(to, value, length);
    for (char *next = to; length > 0;) {
        uint64_t bytes = fm_bytes_to_border((uintptr_t)next, length, PIECE);
        fm_store_range((uintptr_t)next, bytes, pc);
        __real_memset(next, value, bytes);
        next += bytes;
        length -= bytes;
    }
    return to;
}

/* The versions that know how much room there is end the program where it is not enough. */
#define COPY(name, way)                                                                                      \
    WRAPPED(void *, name, (void *to, const void *from, size_t length))                                       \
    {                                                                                                        \
        return QUIET ? __real_##name(to, from, length) : way(to, from, length, FM_SITE);                     \
    }                                                                                                        \
    WRAPPED(void *, __##name##_chk, (void *to, const void *from, size_t length, size_t room))                \
    {                                                                                                        \
        return QUIET || length > room ? __real___##name##_chk(to, from, length, room)                        \
                                      : way(to, from, length, FM_SITE);                                      \
    }
COPY(memcpy, bytes_copy)
COPY(memmove, bytes_move)
COPY(mempcpy, copy_to_end)

WRAPPED(void *, memset, (void *to, int value, size_t length))
{
    return QUIET ? __real_memset(to, value, length) : tell_and_fill(to, value, length, FM_SITE);
}

WRAPPED(void *, __memset_chk, (void *to, int value, size_t length, size_t room))
{
    return QUIET || length > room ? __real___memset_chk(to, value, length, room)
                                  : tell_and_fill(to, value, length, FM_SITE);
}

/* Newer compilers call these by themselves. */
FM_EXPORT void *__tsan_memcpy(void *to, const void *from, size_t length);
FM_EXPORT void *__tsan_memmove(void *to, const void *from, size_t length);
FM_EXPORT void *__tsan_memset(void *to, int value, size_t length);

FM_EXPORT void *__tsan_memcpy(void *to, const void *from, size_t length)
{
    return QUIET ? __real_memcpy(to, from, length) : bytes_copy(to, from, length, FM_SITE);
}

FM_EXPORT void *__tsan_memmove(void *to, const void *from, size_t length)
{
    return QUIET ? __real_memmove(to, from, length) : bytes_move(to, from, length, FM_SITE);
}

FM_EXPORT void *__tsan_memset(void *to, int value, size_t length)
{
    return QUIET ? __real_memset(to, value, length) : tell_and_fill(to, value, length, FM_SITE);
}

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
    tell_copy((uintptr_t)to, (uintptr_t)from, extent_of(from, SIZE_MAX), pc);
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
    tell_and_fill(to + text, 0, length - text, pc);
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
