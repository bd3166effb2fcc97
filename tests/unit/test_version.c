/* SPDX-License-Identifier: Apache-2.0 */
/* test_version.c - the library, the headers and the build agree on the version. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>
#include <fathom/fathom.h>

/* fm_version is what CMake found in the header, fm_version_number what the compiler did. */
static void text_and_number_are_one_version(void **state)
{
    (void)state;
    char text[32];
    snprintf(text, sizeof text, "%d.%d.%d", FM_VERSION_MAJOR, FM_VERSION_MINOR, FM_VERSION_PATCH);
    assert_string_equal(fm_version(), text);
    assert_int_equal(fm_version_number(), FM_VERSION_NUMBER);
}

/* Two digits each: otherwise 0.1.100 would be 0.2.0. */
static void the_number_orders_versions(void **state)
{
    (void)state;
    assert_true(FM_VERSION_MINOR < 100 && FM_VERSION_PATCH < 100);
    assert_int_equal(FM_VERSION_NUMBER / 10000, FM_VERSION_MAJOR);
    assert_int_equal(FM_VERSION_NUMBER / 100 % 100, FM_VERSION_MINOR);
    assert_int_equal(FM_VERSION_NUMBER % 100, FM_VERSION_PATCH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_and_number_are_one_version),
        cmocka_unit_test(the_number_orders_versions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
