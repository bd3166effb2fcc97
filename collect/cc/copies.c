/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * copies.c - memcpy and its relatives, as instrumented code calls them: the linker leads those calls here
 * (--wrap), and the compilers are told not to make instructions of them that nobody would see.
 *
 * What is told is a model, as the instructions of libc are not seen: a copy touches each 64-byte line of
 * its source and of its destination once, alternately, in ascending order. At any other granularity the
 * receiver cuts the pieces further.
 */
#include "runtime.h"
#include "wrapped.h"

enum { LINE = 64 };

static uint64_t to_line_end(uintptr_t address, uint64_t length)
{
    uint64_t rest = LINE - address % LINE;
    return rest < length ? rest : length;
}

void fm_tell_copy(uintptr_t to, uintptr_t from, uint64_t length, uintptr_t pc)
{
    uint64_t loaded = 0, stored = 0;
    while (stored < length) {
        if (loaded < length) {
            uint64_t bytes = to_line_end(from + loaded, length - loaded);
            fm_load_range(from + loaded, bytes, pc);
            loaded += bytes;
        }
        /* As much as has been loaded so far can be stored. */
        while (stored < loaded) {
            uint64_t bytes = to_line_end(to + stored, length - stored);
            if (stored + bytes > loaded) break;
            fm_store_range(to + stored, bytes, pc);
            stored += bytes;
        }
    }
}

#define COPY(name)                                                                                           \
    WRAPPED(void *, name, (void *to, const void *from, size_t length))                                       \
    {                                                                                                        \
        if (!QUIET && !fm_ranges_told((uintptr_t)to, (uintptr_t)from, length))                               \
            fm_tell_copy((uintptr_t)to, (uintptr_t)from, length, FM_SITE);                                   \
        return __real_##name(to, from, length);                                                              \
    }                                                                                                        \
    WRAPPED(void *, __##name##_chk, (void *to, const void *from, size_t length, size_t room))                \
    {                                                                                                        \
        if (!QUIET) fm_tell_copy((uintptr_t)to, (uintptr_t)from, length, FM_SITE);                           \
        return __real___##name##_chk(to, from, length, room);                                                \
    }
COPY(memcpy)
COPY(memmove)
COPY(mempcpy)

WRAPPED(void *, memset, (void *to, int value, size_t length))
{
    if (!QUIET && !fm_ranges_told((uintptr_t)to, 0, length)) fm_store_range((uintptr_t)to, length, FM_SITE);
    return __real_memset(to, value, length);
}

WRAPPED(void *, __memset_chk, (void *to, int value, size_t length, size_t room))
{
    if (!QUIET) fm_store_range((uintptr_t)to, length, FM_SITE);
    return __real___memset_chk(to, value, length, room);
}

/* Newer compilers call these by themselves. */
FM_EXPORT void *__tsan_memcpy(void *to, const void *from, size_t length);
FM_EXPORT void *__tsan_memmove(void *to, const void *from, size_t length);
FM_EXPORT void *__tsan_memset(void *to, int value, size_t length);

FM_EXPORT void *__tsan_memcpy(void *to, const void *from, size_t length)
{
    if (!QUIET) fm_tell_copy((uintptr_t)to, (uintptr_t)from, length, FM_SITE);
    return __real_memcpy(to, from, length);
}

FM_EXPORT void *__tsan_memmove(void *to, const void *from, size_t length)
{
    if (!QUIET) fm_tell_copy((uintptr_t)to, (uintptr_t)from, length, FM_SITE);
    return __real_memmove(to, from, length);
}

FM_EXPORT void *__tsan_memset(void *to, int value, size_t length)
{
    if (!QUIET) fm_store_range((uintptr_t)to, length, FM_SITE);
    return __real_memset(to, value, length);
}
