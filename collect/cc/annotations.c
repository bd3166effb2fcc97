/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * annotations.c - what sanitizers have beside the hooks of accesses: calls that compilers make, and the
 * public interfaces of ThreadSanitizer and AddressSanitizer, that a program may call when it finds itself
 * compiled with them. fathom looks for no faults, so none of these does anything.
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
/* In every function that clang compiles; before calls that do not return. */
NOTHING(__sanitizer_cov_trace_pc, void)
NOTHING(__asan_handle_no_return, void)
/* Instead of what gcc's check of object sizes reports to. */
NOTHING(__fathom_nothing, void)
NOTHING(__asan_poison_memory_region, const volatile void *address, size_t size)
NOTHING(__asan_unpoison_memory_region, const volatile void *address, size_t size)
NOTHING(__asan_set_error_report_callback, void (*callback)(const char *))
NOTHING(__sanitizer_annotate_contiguous_container, const void *from, const void *to, const void *old_middle,
        const void *new_middle)
NOTHING(__sanitizer_start_switch_fiber, void **save, const void *bottom, size_t size)
NOTHING(__sanitizer_finish_switch_fiber, void *save, const void **bottom, size_t *size)
NOTHING(__lsan_disable, void)
NOTHING(__lsan_enable, void)
NOTHING(__lsan_ignore_object, const void *address)
NOTHING(__lsan_register_root_region, const void *address, size_t size)
NOTHING(__lsan_unregister_root_region, const void *address, size_t size)
NOTHING(__lsan_do_leak_check, void)

FM_EXPORT int __asan_address_is_poisoned(const volatile void *address);
FM_EXPORT void *__asan_region_is_poisoned(void *address, size_t size);
FM_EXPORT int __lsan_do_recoverable_leak_check(void);
FM_EXPORT int __tsan_mutex_pre_unlock(void *address, unsigned flags);
FM_EXPORT void *__tsan_get_current_fiber(void);
FM_EXPORT void *__tsan_create_fiber(unsigned flags);

FM_EXPORT int __asan_address_is_poisoned(const volatile void *address)
{
    (void)address;
    return 0;
}

FM_EXPORT void *__asan_region_is_poisoned(void *address, size_t size)
{
    (void)address, (void)size;
    return NULL;
}

FM_EXPORT int __lsan_do_recoverable_leak_check(void)
{
    return 0;
}

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
