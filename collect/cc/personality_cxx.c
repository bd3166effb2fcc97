/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * personality_cxx.c - how an exception is seen to leave functions. The unwinder asks the personality routine
 * of each language what to do in a frame; one that answers "go there", to a handler or to code that cleans
 * up, has left everything below. Frames that have nothing to clean up (C) are never asked.
 *
 * The routines are wrapped by the linker. Each is a member of the archive by itself, so that it is part of
 * programs only that use it, and sees exported names only.
 */
#include "wrapped.h"

enum { FM_INSTALL_CONTEXT = 7 }; /* _URC_INSTALL_CONTEXT of the unwinder's interface */

void __fathom_unwound(uintptr_t stack);
uintptr_t _Unwind_GetCFA(void *context); /* what the stack pointer will be there */

#define PERSONALITY(name)                                                                                    \
    WRAPPED(int, name, (int version, int actions, uint64_t kind, void *exception, void *context))            \
    {                                                                                                        \
        int answer = __real_##name(version, actions, kind, exception, context);                              \
        if (answer == FM_INSTALL_CONTEXT) __fathom_unwound(_Unwind_GetCFA(context));                         \
        return answer;                                                                                       \
    }

PERSONALITY(__gxx_personality_v0)
