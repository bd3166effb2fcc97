/* SPDX-License-Identifier: Apache-2.0 */
/* test_pmu_machine.c - what files of the kernel say of counters, on machines that are made of such files:
 * fields of events, named events, and in words why counters cannot be used. Judge: the bits by hand, perf's
 * own encodings; what a user should read. */
#include "case.h"

#include "sample/pmu.h"
#include "unit/pmu_tree.h"

#include <errno.h>
#include <linux/perf_event.h>

CASE(formats)
{
    uint64_t config[3] = {0};
    assert_true(fm_pmu_format_apply("config:0-7", 0xd0, config));
    assert_true(fm_pmu_format_apply("config:8-15", 0x81, config));
    assert_int_equal(config[0], 0x81d0);
    assert_true(fm_pmu_format_apply("config:0-7", 0xcd, config)); /* set anew */
    assert_int_equal(config[0], 0x81cd);
    assert_true(fm_pmu_format_apply("config1:0-15", 3, config));
    assert_true(fm_pmu_format_apply("config2:63", 1, config));
    assert_int_equal(config[1], 3);
    assert_int_equal(config[2], UINT64_C(1) << 63);
    /* AMD's event has two parts. */
    memset(config, 0, sizeof config);
    assert_true(fm_pmu_format_apply("config:0-7,32-35", 0x729, config));
    assert_int_equal(config[0], UINT64_C(0x700000029));
    assert_true(fm_pmu_format_apply("config:0-63", UINT64_MAX, config));
    assert_int_equal(config[0], UINT64_MAX);
}

CASE(formats_that_are_none)
{
    static const char *const wrong[] = {"",           "config",      "config:",     "config3:0-7",
                                        "config:7-0", "config:0-64", "config:0-7,", "config:0-7;",
                                        "config:-7",  "config:a"};
    uint64_t config[3] = {1, 2, 3};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(fm_pmu_format_apply(wrong[i], 1, config));
    assert_false(fm_pmu_format_apply("config:0-7", 256, config)); /* does not fit */
    assert_int_equal(config[0], 1);
    assert_int_equal(config[1], 2);
    assert_int_equal(config[2], 3);
}

CASE(named_events)
{
    const pmu_tree tree = pmu_tree_skylake();
    fm_pmu_device device;
    uint64_t config[3] = {7, 7, 7};
    assert_true(fm_pmu_device_find(&device, tree.root, "cpu"));
    assert_int_equal(device.type, 4);
    assert_true(fm_pmu_device_event(&device, "mem-loads", config));
    assert_int_equal(config[0], 0x1cd);
    assert_int_equal(config[1], 3);
    assert_int_equal(config[2], 0);
    assert_false(fm_pmu_device_event(&device, "mem-loads-aux", config));
    pmu_tree_put(&tree, PMU_DEVICES "cpu/events/odd", "event=0xcd,frontend=1\n");
    pmu_tree_put(&tree, PMU_DEVICES "cpu/events/worse", "event=-1\n");
    pmu_tree_put(&tree, PMU_DEVICES "cpu/events/away", "../../../x=1\n");
    pmu_tree_put(&tree, PMU_DEVICES "cpu/events/empty", "");
    static const char *const wrong[] = {"odd", "worse", "away", "empty"};
    for (size_t i = 0; i < 4; i++) assert_false(fm_pmu_device_event(&device, wrong[i], config));
    assert_int_equal(config[0], 0x1cd); /* as it was */
    assert_false(fm_pmu_device_find(&device, tree.root, "gpu"));
    pmu_tree_put(&tree, PMU_DEVICES "gpu/type", "many\n");
    assert_false(fm_pmu_device_find(&device, tree.root, "gpu"));
    pmu_tree_remove(&tree);
}

static void expect_why(const pmu_tree *tree, const char *const *words)
{
    fm_pmu_machine machine;
    char why[640];
    fm_pmu_machine_look(&machine, tree->root);
    const bool can = fm_pmu_machine_can(&machine, why, sizeof why);
    assert_int_equal(can, words == NULL);
    for (; words && *words; words++)
        if (!strstr(why, *words)) fail_msg("expected '%s', found '%s'", *words, why);
}
#define WORDS(...)                                                                                           \
    (const char *const[])                                                                                    \
    {                                                                                                        \
        __VA_ARGS__, NULL                                                                                    \
    }

CASE(why_not)
{
    pmu_tree tree = pmu_tree_skylake();
    expect_why(&tree, NULL);
    pmu_tree_put(&tree, "/proc/sys/kernel/osrelease", "5.17.99-generic\n");
    expect_why(&tree, WORDS("Linux 5.17.99-generic is too old"));
    pmu_tree_put(&tree, "/proc/sys/kernel/osrelease", "5.18.0-rc1\n");
    expect_why(&tree, NULL);
    pmu_tree_put(&tree, "/proc/sys/kernel/osrelease", "6.1.0\n");
    pmu_tree_put(&tree, "/proc/sys/kernel/perf_event_paranoid", "3\n");
    expect_why(&tree, WORDS("perf_event_paranoid is 3", "sysctl kernel.perf_event_paranoid=2"));
    pmu_tree_put(&tree, "/proc/self/status", "CapEff:\t0000004000000000\n"); /* CAP_PERFMON */
    expect_why(&tree, NULL);
    pmu_tree_put(&tree, PMU_DEVICES "cpu/rdpmc", "0\n");
    expect_why(&tree, WORDS("may not read counters", "echo 1 > /sys/bus/event_source/devices/cpu/rdpmc"));
    pmu_tree_put(&tree, PMU_DEVICES "cpu/rdpmc", "2\n");
    pmu_tree_put(&tree, PMU_DEVICES "cpu/caps/max_precise", "0\n");
    expect_why(&tree, WORDS("tell no addresses", "max_precise is 0"));
    pmu_tree_processor(&tree, "GenuineIntel", 6, "hypervisor");
    expect_why(&tree, WORDS("tell no addresses", "virtual machine", "pmu=on"));
    pmu_tree_cut(&tree, PMU_DEVICES "cpu");
    expect_why(&tree, WORDS("virtual machine that shows no performance counters", "pmu=on"));
    pmu_tree_processor(&tree, "GenuineIntel", 6, "nohypervisor");
    expect_why(&tree, WORDS("the kernel shows no performance counters"));
    pmu_tree_processor(&tree, "HygonGenuine", 24, "x");
    expect_why(&tree, WORDS("neither Intel's nor AMD's"));
    pmu_tree_remove(&tree);
}

CASE(why_not_amd)
{
    pmu_tree tree = pmu_tree_zen();
    expect_why(&tree, NULL);
    pmu_tree_cut(&tree, PMU_DEVICES "ibs_op/format/swfilt");
    expect_why(&tree, WORDS("cannot leave out the kernel", "sysctl kernel.perf_event_paranoid=1"));
    pmu_tree_put(&tree, "/proc/sys/kernel/perf_event_paranoid", "1\n");
    expect_why(&tree, NULL);
    pmu_tree_cut(&tree, PMU_DEVICES "ibs_op");
    expect_why(&tree, WORDS("shows no ibs_op"));
    pmu_tree_remove(&tree);
}

CASE(what_errors_mean)
{
    const fm_pmu_machine machine = {.vendor = FM_PMU_VENDOR_AMD, .paranoid = 2, .virtual = true};
    char why[640];
    fm_pmu_machine_refused(&machine, EACCES, why, sizeof why);
    assert_non_null(strstr(why, "--cap-add=PERFMON"));
    assert_non_null(strstr(why, "perf_event_paranoid is 2"));
    fm_pmu_machine_refused(&machine, ENOSYS, why, sizeof why);
    assert_non_null(strstr(why, "no perf_event_open"));
    fm_pmu_machine_refused(&machine, EINVAL, why, sizeof why);
    assert_non_null(strstr(why, "virtual machine"));
    fm_pmu_machine_refused(&machine, EBUSY, why, sizeof why);
    assert_non_null(strstr(why, "another program"));
    fm_pmu_machine_refused(&machine, EMFILE, why, sizeof why);
    assert_non_null(strstr(why, strerror(EMFILE)));
}

/* ---- where data came from ---- */

/* Bits: what was done from 0, level from 5, its number from 33, whether it is remote 37. */
static fm_memory_level by_bits(uint64_t level)
{
    return fm_pmu_source_level(PERF_MEM_OP_LOAD | level << PERF_MEM_LVL_SHIFT);
}

static fm_memory_level by_number(uint64_t number, uint64_t remote)
{
    return fm_pmu_source_level(PERF_MEM_OP_LOAD | number << PERF_MEM_LVLNUM_SHIFT |
                               remote << PERF_MEM_REMOTE_SHIFT);
}

CASE(sources)
{
    assert_int_equal(fm_pmu_source_level(0), FM_LEVEL_UNKNOWN);
    assert_int_equal(by_bits(PERF_MEM_LVL_NA), FM_LEVEL_UNKNOWN);
    assert_int_equal(by_bits(PERF_MEM_LVL_HIT | PERF_MEM_LVL_L1), FM_LEVEL_L1);
    assert_int_equal(by_bits(PERF_MEM_LVL_MISS | PERF_MEM_LVL_L1), FM_LEVEL_UNKNOWN); /* a store's */
    assert_int_equal(by_bits(PERF_MEM_LVL_HIT | PERF_MEM_LVL_LFB), FM_LEVEL_ON_ITS_WAY);
    assert_int_equal(by_bits(PERF_MEM_LVL_HIT | PERF_MEM_LVL_L2), FM_LEVEL_L2);
    assert_int_equal(by_bits(PERF_MEM_LVL_HIT | PERF_MEM_LVL_L3), FM_LEVEL_L3);
    assert_int_equal(by_bits(PERF_MEM_LVL_MISS | PERF_MEM_LVL_L3), FM_LEVEL_MEMORY);
    assert_int_equal(by_bits(PERF_MEM_LVL_HIT | PERF_MEM_LVL_REM_CCE1), FM_LEVEL_OTHER_CACHE);
    assert_int_equal(by_bits(PERF_MEM_LVL_HIT | PERF_MEM_LVL_LOC_RAM), FM_LEVEL_MEMORY);
    assert_int_equal(by_bits(PERF_MEM_LVL_HIT | PERF_MEM_LVL_REM_RAM2), FM_LEVEL_FAR_MEMORY);
    assert_int_equal(by_bits(PERF_MEM_LVL_HIT | PERF_MEM_LVL_UNC), FM_LEVEL_UNCACHED);
    assert_int_equal(by_number(PERF_MEM_LVLNUM_L1, 0), FM_LEVEL_L1);
    assert_int_equal(by_number(PERF_MEM_LVLNUM_LFB, 0), FM_LEVEL_ON_ITS_WAY);
    assert_int_equal(by_number(PERF_MEM_LVLNUM_L2, 0), FM_LEVEL_L2);
    assert_int_equal(by_number(PERF_MEM_LVLNUM_L3, 0), FM_LEVEL_L3);
    assert_int_equal(by_number(PERF_MEM_LVLNUM_ANY_CACHE, 1), FM_LEVEL_OTHER_CACHE);
    assert_int_equal(by_number(PERF_MEM_LVLNUM_RAM, 0), FM_LEVEL_MEMORY);
    assert_int_equal(by_number(PERF_MEM_LVLNUM_RAM, 1), FM_LEVEL_FAR_MEMORY);
    assert_int_equal(by_number(PERF_MEM_LVLNUM_NA, 0), FM_LEVEL_UNKNOWN);
}
