/* SPDX-License-Identifier: Apache-2.0 */
/*
 * front_child.h - a front end in a process of its own: a source that makes the compiler's library crash (it
 * runs out of its stack on a sum of many thousands of terms) is an error, and no end of the program; and so
 * is one that it would read for ever: a pipe or a device that is included, macros that grow and grow.
 */
#ifndef FATHOM_STATIC_FRONT_CHILD_H
#define FATHOM_STATIC_FRONT_CHILD_H

#include "static/front/front_clang.h"

typedef struct fm_front_limits {
    double seconds; /* on the clock */
    uint64_t bytes; /* of memory, on top of that of this process */
} fm_front_limits;

/* The limits that hold where none are asked for: as fathom/static.h says. */
fm_front_limits fm_front_limits_choose(double seconds, uint64_t bytes);
/* As module->region; FM_E_LIMIT: over one of the limits. The child is gone when this comes back. */
fm_status fm_front_in_child(const fm_clang_module *module, const fm_clang_request *request,
                            const fm_front_limits *limits, char **text, size_t *size, fm_error *error);

#endif
