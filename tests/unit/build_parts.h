/* SPDX-License-Identifier: Apache-2.0 */
/* build_parts.h - where the parts of fathom are that tests load: FATHOM_TEST_PARTS, else those of the test's
 * own build. Sanitized tests get those of the ordinary build, since theirs has none. */
#ifndef FATHOM_TEST_BUILD_PARTS_H
#define FATHOM_TEST_BUILD_PARTS_H

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Makes the library look there; false: the part is not there. */
static bool use_build_parts(const char *name)
{
    char parts[PATH_MAX], path[2 * PATH_MAX];
    const char *given = getenv("FATHOM_TEST_PARTS");
    if (given) {
        snprintf(parts, sizeof parts, "%s", given);
    } else {
        /* Tests are in build/tests/unit, parts in build/lib/fathom. */
        const ssize_t length = readlink("/proc/self/exe", parts, sizeof parts - 32);
        if (length < 0) return false;
        parts[length] = '\0';
        *strrchr(parts, '/') = '\0';
        strcat(parts, "/../../lib/fathom");
    }
    setenv("FATHOM_PARTS", parts, 1);
    snprintf(path, sizeof path, "%s/%s", parts, name);
    return access(path, R_OK) == 0;
}

#endif
