/* SPDX-License-Identifier: Apache-2.0 */
/*
 * front_child.h - a front end in a process of its own: a source that makes the compiler's library crash (it
 * runs out of its stack on a sum of many thousands of terms) is an error, and no end of the program.
 */
#ifndef FATHOM_STATIC_FRONT_CHILD_H
#define FATHOM_STATIC_FRONT_CHILD_H

#include "static/front/front_clang.h"

/* As module->region. Where there can be no other process, in this one. */
fm_status fm_front_in_child(const fm_clang_module *module, const fm_clang_request *request, char **text,
                            size_t *size, fm_error *error);

#endif
