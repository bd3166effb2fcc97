/* SPDX-License-Identifier: Apache-2.0 */
/* module_name.h - how a module is called, and its functions that have no name of their own: "gawk+0x6dd58".
 */
#ifndef FATHOM_PROFILE_ATTRIBUTION_MODULE_NAME_H
#define FATHOM_PROFILE_ATTRIBUTION_MODULE_NAME_H

#include "base/plain_text.h"

#include <stdbool.h>
#include <string.h>

/* Whether a function's name says already in which module it is. path: may be NULL. */
static inline bool fm_function_names_module(const char *function, const char *path)
{
    if (!path) return false;
    const char *name = fm_base_name(path);
    const size_t length = strlen(name);
    return strncmp(function, name, length) == 0 && strncmp(function + length, "+0x", 3) == 0;
}

#endif
