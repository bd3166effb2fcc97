/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * interpose.h - functions of libc that a whole program, its libraries included, calls through the runtime.
 *
 * A dynamic program simply defines them: the dynamic linker finds the program's definition first, and the
 * one behind it (libc's, or that of another allocator) is asked for by RTLD_NEXT. They are weak, so that
 * a program's own definition wins. A static one has them wrapped by the linker (wraps-static). Of those in
 * shared libraries only longjmp is part, wrapped (wraps-library).
 */
#ifndef FATHOM_CC_INTERPOSE_H
#define FATHOM_CC_INTERPOSE_H

#include "runtime.h"

#if defined FM_VARIANT_STATIC || defined FM_VARIANT_LIBRARY

#define INTERPOSED(result, name, parameters)                                                                 \
    result __real_##name parameters;                                                                         \
    FM_EXPORT result __wrap_##name parameters;                                                               \
    FM_EXPORT result __wrap_##name parameters
#define NEXT(name) __real_##name

#else

/* The definition behind the program's, NULL: there is none. */
void *fm_next(const char *name, void **found);

#define INTERPOSED(result, name, parameters)                                                                 \
    static __attribute__((unused)) __typeof__(result(*) parameters) next_##name(void)                        \
    {                                                                                                        \
        static void *found;                                                                                  \
        return (__typeof__(result(*) parameters))(uintptr_t)fm_next(#name, &found);                          \
    }                                                                                                        \
    FM_EXPORT __attribute__((weak)) result name parameters;                                                  \
    FM_EXPORT __attribute__((weak)) result name parameters
#define NEXT(name) (next_##name())

#endif
#endif
