/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * context.c - blocks of the heap: who asked for them. A context is the call of the allocator and the calls
 * that led there, as far as they were made by instrumented functions; it is reported once to each channel
 * that uses it, and has a number.
 */
#define _GNU_SOURCE
#include "interpose.h"
#include "runtime.h"

/*
 * The calls, innermost first. An allocation made by a library that is not instrumented (strdup, a member of
 * std::string) came from somewhere in the innermost instrumented function: an address in that stands for the
 * call we cannot see.
 */
static size_t frames_collect(fm_cc_process *process, const fm_thread *thread, uintptr_t caller,
                             uint64_t *frames)
{
    size_t count = 0;
    frames[count++] = caller;
    uint32_t depth = thread->depth < FM_FRAMES ? thread->depth : FM_FRAMES;
    if (depth > 0 && !fm_module_instrumented(process, caller))
        frames[count++] = thread->frames[depth - 1].inside;
    while (depth > 0 && count < FM_CONTEXT_MOST) frames[count++] = thread->frames[--depth].call_site;
    return count;
}

/* The number of the context with this hash; 0 when the table is full, or nearly. Contexts are few (a place in
 * the source each), two with the same 64 bits not to be expected. */
static uint32_t number_of(fm_cc_process *process, uint64_t hash)
{
    if (hash == 0) hash = 1;
    uint32_t place = (uint32_t)hash % FM_CONTEXTS;
    for (unsigned tries = 0; tries < 64; tries++, place = (place + 1) % FM_CONTEXTS) {
        uint64_t there = __atomic_load_n(&process->contexts[place], __ATOMIC_RELAXED);
        if (there == 0 && __atomic_compare_exchange_n(&process->contexts[place], &there, hash, false,
                                                      __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            return place + 1;
        if (there == hash) return place + 1;
    }
    return 0;
}

static uint32_t tell_context(fm_cc_process *process, fm_thread *thread, uintptr_t caller)
{
    uint64_t words[2 + FM_CONTEXT_MOST];
    size_t count = frames_collect(process, thread, caller, &words[2]);
    uint64_t hash = count;
    for (size_t i = 0; i < count; i++) hash = fm_hash(hash, words[2 + i]);
    uint32_t number = number_of(process, hash);
    if (number == 0) { /* too many call paths: the place alone */
        count = 1;
        number = number_of(process, fm_hash(1, caller));
        if (number == 0) return 0;
    }
    uint64_t bit = UINT64_C(1) << (number - 1) % 64;
    uint64_t *sent = &thread->context_sent[(number - 1) / 64];
    if (!(*sent & bit)) {
        words[0] = FM_RECORD(FM_RECORD_CONTEXT, 0, 1 + count);
        words[1] = number;
        fm_append_many(words, 2 + count);
        *sent |= bit;
    }
    return number;
}

void fm_heap_allocated(const void *block, size_t bytes, uintptr_t caller)
{
    if (!block || !FM_HAS_THREADS || !fm_my.heap) return;
    if (fm_my.heap == &fm_unclaimed_thread) fm_thread_attach();
    fm_thread *thread = fm_my.heap;
    fm_cc_process *process = fm_process_active();
    if (!thread || thread == &fm_unclaimed_thread || !process) return;
    uintptr_t asked_by = thread->allocator_caller ? thread->allocator_caller : caller;
    uint32_t number = tell_context(process, thread, asked_by);
    fm_append4(FM_RECORD(FM_RECORD_HEAP_ALLOC, 0, 3), (uintptr_t)block, bytes & (UINT64_MAX >> 1), number);
    fm_locals_await(process, thread, caller);
}

void fm_heap_freed(const void *block)
{
    if (!block || !FM_HAS_THREADS || !fm_my.heap || fm_my.heap == &fm_unclaimed_thread) return;
    fm_append2(FM_RECORD(FM_RECORD_HEAP_FREE, 0, 1), (uintptr_t)block);
}

/* ---- operator new (operators.c) ---- */

FM_EXPORT void *__fathom_operator_entered(uintptr_t caller);
FM_EXPORT void __fathom_operator_left(void *thread);

/* NULL: not wanted, or inside of another operator new, which counts. */
FM_EXPORT void *__fathom_operator_entered(uintptr_t caller)
{
    if (fm_likely(!fm_my.heap)) return NULL;
    if (fm_my.heap == &fm_unclaimed_thread) fm_thread_attach();
    fm_thread *thread = fm_my.heap;
    if (!thread || thread == &fm_unclaimed_thread || thread->allocator_caller) return NULL;
    thread->allocator_caller = caller;
    return thread;
}

FM_EXPORT void __fathom_operator_left(void *thread)
{
    if (thread) ((fm_thread *)thread)->allocator_caller = 0;
}

/*
 * ==== jumps ====
 *
 * Longjmp in its variants: the functions that it leaves make no call of __tsan_func_exit. Where it
 * leads is in the jump buffer.
 *
 * A handler that was entered through signal.c is left when the jump ends outside its part of the stack,
 * whichever stack that is: handlers may have one of their own.
 */

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

/* For personality_cxx.c, which is not part of this object. */
FM_EXPORT void __fathom_unwound(uintptr_t stack)
{
    fm_unwound(stack);
}
