/* SPDX-License-Identifier: Apache-2.0 */
/* version.c - the version, and structs of programs that were compiled with another. */
#include "base/error.h"

#include <fathom/version.h>
#include <string.h>

/*
 * The version, from the one place that states it (fathom/version.h, where the build reads it
 * too).
 */

const char *fm_version(void)
{
    return FATHOM_VERSION;
}

unsigned fm_version_number(void)
{
    return FM_VERSION_NUMBER;
}

/* ======== structs that grow ======== */

void fm_sized_copy(void *to, size_t to_size, const void *from, size_t from_size)
{
    const size_t common = to_size < from_size ? to_size : from_size;
    memcpy(to, from, common);
    memset((char *)to + common, 0, to_size - common);
}

fm_status fm_sized_read(void *own, size_t own_size, const void *given, size_t given_size, const char *name,
                        fm_error *error)
{
    if (!given) {
        memset(own, 0, own_size);
        return FM_OK;
    }
    fm_sized_copy(own, own_size, given, given_size);
    for (size_t i = own_size; i < given_size; i++)
        if (((const unsigned char *)given)[i])
            return fm_fail(error, FM_E_UNSUPPORTED, NULL,
                           "the program is newer than libfathom %s, which does not know what it asks for: "
                           "byte %zu of %s",
                           fm_version(), i, name);
    return FM_OK;
}
