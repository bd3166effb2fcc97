/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * jumps.c - longjmp in its variants: the functions that it leaves make no call of __tsan_func_exit. Where it
 * leads is in the jump buffer.
 *
 * A handler that was entered through signal.c is left when the jump ends outside its part of the stack,
 * whichever stack that is: handlers may have one of their own.
 */
#define _GNU_SOURCE
#include "interpose.h"

/* The stack pointer after setjmp has returned, as glibc keeps it for x86-64: its seventh word, disguised. */
static uintptr_t target_of(const uintptr_t *buffer)
{
    uintptr_t stack = buffer[6], guard;
    __asm__("movq %%fs:0x30, %0" : "=r"(guard));
    return (stack >> 17 | stack << 47) ^ guard;
}

/* here: the stack pointer of the function that jumps. */
static void stack_jumps(const uintptr_t *buffer, uintptr_t here)
{
    if (!FM_HAS_THREADS) return;
    if (fm_unlikely(fm_my.busy >
                    0)) { /* out of a handler that is not seen: what it interrupted stays half done */
        fm_thread_lost();
        return;
    }
    fm_thread *thread = fm_my.calls;
    if (fm_likely(!thread) || thread == &fm_unclaimed_thread) return;
    uintptr_t target = target_of(buffer);
#ifndef FM_VARIANT_LIBRARY /* a library enters no handlers */
    for (const fm_interruption *inner; (inner = thread->interruption);) {
        if (target >= here && target <= thread->floor_stack) break;
        fm_signal_ends(thread, inner);
        here = inner->stack;
    }
#else
    (void)here;
#endif
    fm_unwound(target);
}

#define JUMP(name)                                                                                           \
    INTERPOSED(void, name, (const uintptr_t *buffer, int value))                                             \
    {                                                                                                        \
        stack_jumps(buffer, FM_CALLER_STACK);                                                                \
        NEXT(name)(buffer, value);                                                                           \
        __builtin_unreachable();                                                                             \
    }
JUMP(longjmp)
JUMP(_longjmp)
JUMP(siglongjmp)
JUMP(__longjmp_chk)

#ifdef FM_VARIANT_PROGRAM
/* A handler may jump: the search for libc's functions is not for handlers. */
static __attribute__((constructor(101))) void find_early(void)
{
    (void)next_longjmp();
    (void)next__longjmp();
    (void)next_siglongjmp();
    (void)next___longjmp_chk();
}
#endif

FM_EXPORT void __fathom_unwound(uintptr_t stack);

/* For personality.h, which is not part of this object. */
FM_EXPORT void __fathom_unwound(uintptr_t stack)
{
    fm_unwound(stack);
}
