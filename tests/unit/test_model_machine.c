/* SPDX-License-Identifier: Apache-2.0 */
/* test_model_machine.c - caches of machines that hwloc is told about, and no machine at all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <fathom/model.h>
#include <stdlib.h>
#include <string.h>

static void a_described_machine_is_read(void **state)
{
    (void)state;
    setenv("HWLOC_SYNTHETIC", "pack:1 l3:1(size=33554432) l2:4(size=1048576) l1d:1(size=49152) core:1 pu:2",
           1);
    fm_cache caches[8];
    size_t count = 0;
    assert_int_equal(fm_machine_caches(caches, 8, &count, NULL), FM_OK);
    assert_int_equal(count, 3);
    assert_string_equal(caches[0].name, "L1d");
    assert_int_equal(caches[0].bytes, 49152);
    assert_int_equal(caches[0].shared_by, 2);
    assert_string_equal(caches[1].name, "L2");
    assert_int_equal(caches[1].bytes, 1048576);
    assert_string_equal(caches[2].name, "L3");
    assert_int_equal(caches[2].bytes, 33554432);
    assert_int_equal(caches[2].shared_by, 8);
    assert_int_equal(fm_machine_caches(caches, 2, &count, NULL), FM_OK);
    assert_int_equal(count, 2);
    unsetenv("HWLOC_SYNTHETIC");
}

static void no_caches_are_no_error(void **state)
{
    (void)state;
    setenv("HWLOC_SYNTHETIC", "core:2 pu:1", 1);
    fm_cache caches[8];
    size_t count = 9;
    assert_int_equal(fm_machine_caches(caches, 8, &count, NULL), FM_OK);
    assert_int_equal(count, 0);
    unsetenv("HWLOC_SYNTHETIC");
}

static void an_unreadable_machine_is_one(void **state)
{
    (void)state;
    setenv("HWLOC_XMLFILE", "/nonexistent/machine.xml", 1);
    setenv("HWLOC_COMPONENTS", "xml,stop", 1); /* else hwloc falls back to this machine */
    fm_cache caches[8];
    size_t count = 9;
    fm_error error;
    fm_status status = fm_machine_caches(caches, 8, &count, &error);
    unsetenv("HWLOC_XMLFILE");
    unsetenv("HWLOC_COMPONENTS");
    assert_int_equal(count, 0);
    assert_int_not_equal(status, FM_OK);
    assert_non_null(strstr(error.reason, "hwloc"));
}

int main(void)
{
    setenv("HWLOC_HIDE_ERRORS", "2", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_described_machine_is_read),
        cmocka_unit_test(no_caches_are_no_error),
        cmocka_unit_test(an_unreadable_machine_is_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
