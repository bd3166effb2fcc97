/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * operators.c - operator new of C++: remembers who called it, so that blocks are reported as that caller's
 * and not as those of operator new, whose malloc is in libstdc++. Wrapped by the linker; not part of a
 * program that has no C++. A call may end by an exception.
 */
#include "wrapped.h"

/* This file is a member of the archive by itself, so it sees exported names only. */
void *__fathom_operator_entered(uintptr_t caller);
void __fathom_operator_left(void *thread);

static void channel_forget(void **thread)
{
    __fathom_operator_left(*thread);
}

#define OPERATOR(name, parameters, arguments)                                                                \
    WRAPPED(void *, name, parameters)                                                                        \
    {                                                                                                        \
        __attribute__((cleanup(channel_forget), unused)) void *remembered =                                  \
            __fathom_operator_entered(FM_CALLER);                                                            \
        return __real_##name arguments;                                                                      \
    }
/* new(bytes), new[](bytes), with std::nothrow, with std::align_val_t, with both. */
OPERATOR(_Znwm, (size_t bytes), (bytes))
OPERATOR(_Znam, (size_t bytes), (bytes))
OPERATOR(_ZnwmRKSt9nothrow_t, (size_t bytes, const void *nothrow), (bytes, nothrow))
OPERATOR(_ZnamRKSt9nothrow_t, (size_t bytes, const void *nothrow), (bytes, nothrow))
OPERATOR(_ZnwmSt11align_val_t, (size_t bytes, size_t align), (bytes, align))
OPERATOR(_ZnamSt11align_val_t, (size_t bytes, size_t align), (bytes, align))
OPERATOR(_ZnwmSt11align_val_tRKSt9nothrow_t, (size_t bytes, size_t align, const void *nothrow),
         (bytes, align, nothrow))
OPERATOR(_ZnamSt11align_val_tRKSt9nothrow_t, (size_t bytes, size_t align, const void *nothrow),
         (bytes, align, nothrow))
