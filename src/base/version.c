/* SPDX-License-Identifier: Apache-2.0 */
/* version.c - the version, from the one place that states it (CMakeLists.txt). */
#include <fathom/fathom.h>

const char *fm_version(void)
{
    return FATHOM_VERSION;
}
