/* SPDX-License-Identifier: Apache-2.0 */
/* test_version.c - the library, the headers and the build agree on the version. */
#include "case.h"

#include <fathom/experimental.h>
#include <stdio.h>

/* fm_version is what CMake found in the header, fm_version_number what the compiler did. */
CASE(text_and_number_are_one_version)
{
    char text[32];
    snprintf(text, sizeof text, "%d.%d.%d", FM_VERSION_MAJOR, FM_VERSION_MINOR, FM_VERSION_PATCH);
    assert_string_equal(fm_version(), text);
    assert_int_equal(fm_version_number(), FM_VERSION_NUMBER);
}

/* Two digits each: otherwise 0.1.100 would be 0.2.0. */
CASE(the_number_orders_versions)
{
    assert_true(FM_VERSION_MINOR < 100 && FM_VERSION_PATCH < 100);
    assert_int_equal(FM_VERSION_NUMBER / 10000, FM_VERSION_MAJOR);
    assert_int_equal(FM_VERSION_NUMBER / 100 % 100, FM_VERSION_MINOR);
    assert_int_equal(FM_VERSION_NUMBER % 100, FM_VERSION_PATCH);
}
