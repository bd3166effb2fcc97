/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * annotations.c - the public interface of ThreadSanitizer, that a program may call when it finds itself
 * compiled with it: fathom looks for no races, so none of these does anything.
 */
#include "runtime.h"

#define NOTHING(name, ...)                                                                                   \
    FM_EXPORT void name(__VA_ARGS__);                                                                        \
    FM_EXPORT void name(__VA_ARGS__)                                                                         \
    {                                                                                                        \
    }

#pragma GCC diagnostic ignored "-Wunused-parameter"
NOTHING(__tsan_acquire, void *address)
NOTHING(__tsan_release, void *address)
NOTHING(__tsan_mutex_create, void *address, unsigned flags)
NOTHING(__tsan_mutex_destroy, void *address, unsigned flags)
NOTHING(__tsan_mutex_pre_lock, void *address, unsigned flags)
NOTHING(__tsan_mutex_post_lock, void *address, unsigned flags, int recursion)
NOTHING(__tsan_mutex_post_unlock, void *address, unsigned flags)
NOTHING(__tsan_mutex_pre_signal, void *address, unsigned flags)
NOTHING(__tsan_mutex_post_signal, void *address, unsigned flags)
NOTHING(__tsan_mutex_pre_divert, void *address, unsigned flags)
NOTHING(__tsan_mutex_post_divert, void *address, unsigned flags)
NOTHING(__tsan_flush_memory, void)
NOTHING(__tsan_ignore_thread_begin, void)
NOTHING(__tsan_ignore_thread_end, void)
NOTHING(__tsan_destroy_fiber, void *fiber)
NOTHING(__tsan_switch_to_fiber, void *fiber, unsigned flags)
NOTHING(__tsan_set_fiber_name, void *fiber, const char *name)
NOTHING(AnnotateHappensBefore, const char *file, int line, void *address)
NOTHING(AnnotateHappensAfter, const char *file, int line, void *address)
NOTHING(AnnotateBenignRaceSized, const char *file, int line, void *address, long size, const char *text)
NOTHING(AnnotateIgnoreReadsBegin, const char *file, int line)
NOTHING(AnnotateIgnoreReadsEnd, const char *file, int line)
NOTHING(AnnotateIgnoreWritesBegin, const char *file, int line)
NOTHING(AnnotateIgnoreWritesEnd, const char *file, int line)
NOTHING(AnnotateRWLockCreate, const char *file, int line, void *lock)
NOTHING(AnnotateRWLockDestroy, const char *file, int line, void *lock)
NOTHING(AnnotateRWLockAcquired, const char *file, int line, void *lock, long writer)
NOTHING(AnnotateRWLockReleased, const char *file, int line, void *lock, long writer)

FM_EXPORT int __tsan_mutex_pre_unlock(void *address, unsigned flags);
FM_EXPORT void *__tsan_get_current_fiber(void);
FM_EXPORT void *__tsan_create_fiber(unsigned flags);

FM_EXPORT int __tsan_mutex_pre_unlock(void *address, unsigned flags)
{
    (void)address, (void)flags;
    return 1;
}

FM_EXPORT void *__tsan_get_current_fiber(void)
{
    return NULL;
}

FM_EXPORT void *__tsan_create_fiber(unsigned flags)
{
    (void)flags;
    return NULL;
}
