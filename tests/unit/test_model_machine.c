/* SPDX-License-Identifier: Apache-2.0 */
/* test_model_machine.c - caches of this machine, of machines that hwloc is told about, and no machine at all.
 */
#include "case.h"

#include <fathom/model.h>
#include <stdlib.h>
#include <string.h>

#include "model/model_internal.h"
#include "unit/pmu_tree.h"

CASE(a_described_machine_is_read)
{
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

CASE(no_caches_are_no_error)
{
    setenv("HWLOC_SYNTHETIC", "core:2 pu:1", 1);
    fm_cache caches[8];
    size_t count = 9;
    assert_int_equal(fm_machine_caches(caches, 8, &count, NULL), FM_OK);
    assert_int_equal(count, 0);
    unsetenv("HWLOC_SYNTHETIC");
}

CASE(an_unreadable_machine_is_one)
{
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

#define INDEX "/sys/devices/system/cpu/cpu5/cache/index"

static void put_index(const pmu_tree *tree, int index, const char *texts[5])
{
    static const char *const names[] = {"level", "type", "size", "ways_of_associativity", "shared_cpu_list"};
    char path[128];
    for (int i = 0; i < 5; i++) {
        snprintf(path, sizeof path, INDEX "%d/%s", index, names[i]);
        pmu_tree_put(tree, path, texts[i]);
    }
}

CASE(kernels_files_are_read)
{
    const pmu_tree tree = pmu_tree_make();
    fm_cache caches[8];
    assert_int_equal(fm_sysfs_caches(tree.root, 5, caches, 8), 0);
    put_index(&tree, 0, (const char *[]){"1\n", "Data\n", "48K\n", "12\n", "5,21\n"});
    put_index(&tree, 1, (const char *[]){"1\n", "Instruction\n", "32K\n", "8\n", "5,21\n"});
    put_index(&tree, 2, (const char *[]){"2\n", "Unified\n", "2048K\n", "16\n", "4-5,20-21\n"});
    put_index(&tree, 3, (const char *[]){"3\n", "Unified\n", "36M\n", "0\n", "nonsense\n"});
    pmu_tree_put(&tree, INDEX "0/coherency_line_size", "64\n");
    assert_int_equal(fm_sysfs_caches(tree.root, 5, caches, 8), 3);
    assert_string_equal(caches[0].name, "L1d");
    assert_int_equal(caches[0].bytes, 48 << 10);
    assert_int_equal(caches[0].line, 64);
    assert_int_equal(caches[0].ways, 12);
    assert_int_equal(caches[0].shared_by, 2);
    assert_string_equal(caches[1].name, "L2");
    assert_int_equal(caches[1].bytes, 2 << 20);
    assert_int_equal(caches[1].shared_by, 4);
    assert_string_equal(caches[2].name, "L3");
    assert_int_equal(caches[2].bytes, 36 << 20);
    assert_int_equal(caches[2].line, 0);
    assert_int_equal(caches[2].ways, 0);
    assert_int_equal(caches[2].shared_by, 0);
    assert_int_equal(fm_sysfs_caches(tree.root, 5, caches, 2), 2);
    char name[32];
    assert_false(fm_cpuinfo_name(tree.root, name, sizeof name));
    pmu_tree_put(&tree, "/proc/cpuinfo", "processor\t: 0\nmodel\t\t: 7\nmodel name\t: Some CPU @ 2 GHz\n");
    assert_true(fm_cpuinfo_name(tree.root, name, sizeof name));
    assert_string_equal(name, "Some CPU @ 2 GHz");
    pmu_tree_remove(&tree);
}

/* The judge is hwloc, which also knows processors that the kernel is wrong about. */
CASE(this_machine_is_as_hwloc_sees_it)
{
    fm_cache own[8], judge[8];
    size_t count = 0;
    const size_t found = fm_sysfs_caches("", 0, own, 8);
    setenv("HWLOC_COMPONENTS", "linux", 1);
    assert_int_equal(fm_machine_caches(judge, 8, &count, NULL), FM_OK);
    unsetenv("HWLOC_COMPONENTS");
    if (found == 0) {
        print_message("SKIP: the kernel tells no caches here\n");
        skip();
    }
    assert_int_equal(found, count);
    for (size_t i = 0; i < found; i++) {
        assert_string_equal(own[i].name, judge[i].name);
        assert_int_equal(own[i].bytes, judge[i].bytes);
        assert_int_equal(own[i].line, judge[i].line);
        assert_int_equal(own[i].ways, judge[i].ways);
    }
}

BEFORE_CASES
{
    setenv("HWLOC_HIDE_ERRORS", "2", 1);
    return -1;
}
