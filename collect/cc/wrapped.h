/* SPDX-License-Identifier: BSD-2-Clause */
/* wrapped.h - functions of libc that the linker leads here: a call of memcpy in the program becomes one of
 * __wrap_memcpy, and __real_memcpy is libc's. The list of them is the file wraps. */
#ifndef FATHOM_CC_WRAPPED_H
#define FATHOM_CC_WRAPPED_H

#include "runtime.h"

/* Nothing is traced: the call costs one look at thread-local storage. */
#define QUIET (!FM_HAS_THREADS || fm_likely(!fm_my.any))

#define WRAPPED(result, name, parameters)                                                                    \
    result __real_##name parameters;                                                                         \
    FM_EXPORT result __wrap_##name parameters;                                                               \
    FM_EXPORT result __wrap_##name parameters

#endif
