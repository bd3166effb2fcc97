/* SPDX-License-Identifier: Apache-2.0 */
/* version.c - the version, from the one place that states it (fathom/version.h, where the build reads it
 * too). */
#include <fathom/version.h>

const char *fm_version(void)
{
    return FATHOM_VERSION;
}

unsigned fm_version_number(void)
{
    return FM_VERSION_NUMBER;
}
