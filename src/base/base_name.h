/* SPDX-License-Identifier: Apache-2.0 */
/* base_name.h - what a path ends in. */
#ifndef FATHOM_BASE_BASE_NAME_H
#define FATHOM_BASE_BASE_NAME_H

#include <string.h>

/* "gawk" of "/usr/bin/gawk"; a path that ends in a slash is whole. */
static inline const char *fm_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

#endif
