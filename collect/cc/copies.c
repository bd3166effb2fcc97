/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * copies.c - memcpy and its relatives, as instrumented code calls them: the linker leads those calls here
 * (--wrap), and the compilers are told not to make instructions of them that nobody would see.
 *
 * What is reported is a model, as the instructions of libc are not seen: a copy touches each 64-byte line of
 * its source and of its destination once, alternately, in ascending order. At any other granularity the
 * receiver cuts the pieces further.
 */
#include "runtime.h"
#include "wrapped.h"

void *__real_memmove(void *to, const void *from, size_t length);
void *__real_memset(void *to, int value, size_t length);

enum { LINE = 64 };

void fm_tell_copy(uintptr_t to, uintptr_t from, uint64_t length, uintptr_t pc)
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
        fm_tell_copy((uintptr_t)next, (uintptr_t)source, bytes, pc);
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
        fm_tell_copy((uintptr_t)to + length, (uintptr_t)from + length, bytes, pc);
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

void *fm_tell_and_fill(void *to, int value, uint64_t length, uintptr_t pc)
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
    return QUIET ? __real_memset(to, value, length) : fm_tell_and_fill(to, value, length, FM_SITE);
}

WRAPPED(void *, __memset_chk, (void *to, int value, size_t length, size_t room))
{
    return QUIET || length > room ? __real___memset_chk(to, value, length, room)
                                  : fm_tell_and_fill(to, value, length, FM_SITE);
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
    return QUIET ? __real_memset(to, value, length) : fm_tell_and_fill(to, value, length, FM_SITE);
}
