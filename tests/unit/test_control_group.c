/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_control_group.c - limits of control groups, as the files of other machines tell them: of version 1, of
 * version 2, of both at once, in containers with a namespace and without one.
 */
#include "case.h"

#include <stdint.h>

#include "base/memory.h"
#include "unit/pmu_tree.h"

#define MIB(n) ((uint64_t)(n) << 20)
#define GROUP_2 "/sys/fs/cgroup"
#define GROUP_1 "/sys/fs/cgroup/memory"
#define MOUNT_2 "29 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
#define MOUNT_1 "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory\n"

static pmu_tree tree;

static int make_tree(void **state)
{
    (void)state;
    tree = pmu_tree_make();
    pmu_tree_put(&tree, "/proc/meminfo",
                 "MemTotal: 9 kB\nMemAvailable:    8388608 kB\nSwapFree: 1048576 kB\n");
    return 0;
}

static int remove_tree(void **state)
{
    (void)state;
    pmu_tree_remove(&tree);
    return 0;
}

static void put_bytes(const char *path, uint64_t bytes)
{
    char text[32];
    snprintf(text, sizeof text, "%llu\n", (unsigned long long)bytes);
    pmu_tree_put(&tree, path, text);
}

static void expect_room(uint64_t swap, uint64_t easily, uint64_t at_the_most)
{
    const fm_memory_room room = fm_control_group_memory(tree.root, swap);
    assert_int_equal(room.easily, easily);
    assert_int_equal(room.at_the_most, at_the_most);
}

CASE_WITH(no_groups_no_limit, make_tree, remove_tree)
{
    expect_room(0, UINT64_MAX, UINT64_MAX);
    assert_int_equal(fm_control_group_processors(tree.root), 0);
    pmu_tree_put(&tree, "/proc/self/cgroup", "0::/user.slice\n");
    expect_room(0, UINT64_MAX, UINT64_MAX);
    pmu_tree_put(&tree, "/proc/self/mountinfo", MOUNT_2);
    pmu_tree_put(&tree, GROUP_2 "/user.slice/memory.max", "max\n");
    pmu_tree_put(&tree, GROUP_2 "/user.slice/cpu.max", "max 100000\n");
    put_bytes(GROUP_2 "/user.slice/memory.current", MIB(500));
    expect_room(0, UINT64_MAX, UINT64_MAX);
    assert_int_equal(fm_control_group_processors(tree.root), 0);
}

/* As under systemd-run: the group's parent has the limit, the group itself has none, or a larger one. */
CASE_WITH(version_2_nested, make_tree, remove_tree)
{
    pmu_tree_put(&tree, "/proc/self/cgroup", "0::/a.slice/b.service/c\n");
    pmu_tree_put(&tree, "/proc/self/mountinfo", "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n" MOUNT_2);
    pmu_tree_put(&tree, GROUP_2 "/a.slice/b.service/c/memory.max", "max\n");
    put_bytes(GROUP_2 "/a.slice/b.service/memory.max", MIB(200));
    put_bytes(GROUP_2 "/a.slice/b.service/memory.current", MIB(150));
    put_bytes(GROUP_2 "/a.slice/memory.max", MIB(400));
    put_bytes(GROUP_2 "/a.slice/memory.current", MIB(160));
    expect_room(0, MIB(50), MIB(50));
    /* Files that were read: 40 MiB nobody has used lately, 30 MiB somebody has. */
    pmu_tree_put(&tree, GROUP_2 "/a.slice/b.service/memory.stat",
                 "anon 1\nfile 2\nslab_inactive_file 5\ninactive_file 41943040\nactive_file 31457280\n");
    expect_room(0, MIB(90), MIB(120));
    /* The parent's other children have taken the most. */
    put_bytes(GROUP_2 "/a.slice/memory.current", MIB(390));
    expect_room(0, MIB(10), MIB(10));
    /* Swap space: as much as the machine has, unless a group has less. */
    expect_room(MIB(7), MIB(10), MIB(17));
    put_bytes(GROUP_2 "/a.slice/memory.swap.max", MIB(5));
    put_bytes(GROUP_2 "/a.slice/memory.swap.current", MIB(3));
    expect_room(MIB(7), MIB(10), MIB(12));
    /* Above memory.high a process hardly gets on. */
    put_bytes(GROUP_2 "/a.slice/memory.swap.max", 0);
    put_bytes(GROUP_2 "/a.slice/b.service/c/memory.high", MIB(8));
    put_bytes(GROUP_2 "/a.slice/b.service/c/memory.current", MIB(6));
    expect_room(0, MIB(2), MIB(2));
    /* Over the limit already: nothing is left, not 2^64. */
    put_bytes(GROUP_2 "/a.slice/b.service/c/memory.current", MIB(9));
    expect_room(0, 0, 0);
}

CASE_WITH(version_1_nested, make_tree, remove_tree)
{
    pmu_tree_put(&tree, "/proc/self/cgroup", "4:cpu,cpuacct:/\n3:memory:/slurm/uid_0/job_7\n0::/\n");
    pmu_tree_put(&tree, "/proc/self/mountinfo", MOUNT_1);
    put_bytes(GROUP_1 "/memory.limit_in_bytes", UINT64_C(9223372036854771712));
    put_bytes(GROUP_1 "/slurm/memory.limit_in_bytes", MIB(300));
    put_bytes(GROUP_1 "/slurm/memory.usage_in_bytes", MIB(100));
    put_bytes(GROUP_1 "/slurm/uid_0/job_7/memory.limit_in_bytes", UINT64_C(9223372036854771712));
    expect_room(0, MIB(200), MIB(200));
    put_bytes(GROUP_1 "/slurm/uid_0/job_7/memory.limit_in_bytes", MIB(90));
    put_bytes(GROUP_1 "/slurm/uid_0/job_7/memory.usage_in_bytes", MIB(80));
    expect_room(MIB(3), MIB(10), MIB(13));
    pmu_tree_put(&tree, GROUP_1 "/slurm/uid_0/job_7/memory.stat",
                 "inactive_file 1\ntotal_inactive_file 20971520\ntotal_active_file 1048576\n");
    expect_room(MIB(3), MIB(30), MIB(34));
    /* Its limit of memory and swap space together. */
    put_bytes(GROUP_1 "/slurm/uid_0/job_7/memory.memsw.limit_in_bytes", MIB(90));
    put_bytes(GROUP_1 "/slurm/uid_0/job_7/memory.memsw.usage_in_bytes", MIB(80));
    expect_room(MIB(3), MIB(30), MIB(31));
}

/* Hybrid: version 2 is mounted for systemd, the memory is version 1's. */
CASE_WITH(both_versions, make_tree, remove_tree)
{
    pmu_tree_put(&tree, "/proc/self/cgroup", "5:memory:/box\n0::/box\n");
    pmu_tree_put(&tree, "/proc/self/mountinfo",
                 MOUNT_1 "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n");
    put_bytes(GROUP_1 "/box/memory.limit_in_bytes", MIB(64));
    put_bytes(GROUP_1 "/box/memory.usage_in_bytes", MIB(4));
    pmu_tree_put(&tree, "/sys/fs/cgroup/unified/box/cgroup.procs", "1\n");
    expect_room(0, MIB(60), MIB(60));
}

/* A container without a namespace of its own sees its group at the mount point, but the whole path; one with
 * a namespace sees "/"; and who was moved out of his namespace "/../x". */
CASE_WITH(containers, make_tree, remove_tree)
{
    pmu_tree_put(&tree, "/proc/self/mountinfo",
                 "35 31 0:32 /docker/12ab /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n"
                 "36 31 0:32 /docker/12ab /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu,cpuacct\n");
    pmu_tree_put(&tree, "/proc/self/cgroup", "5:memory:/docker/12ab\n6:cpuacct,cpu:/docker/12ab/in\n");
    put_bytes(GROUP_1 "/memory.limit_in_bytes", MIB(64));
    put_bytes(GROUP_1 "/memory.usage_in_bytes", MIB(4));
    pmu_tree_put(&tree, "/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "250000\n");
    pmu_tree_put(&tree, "/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    pmu_tree_put(&tree, "/sys/fs/cgroup/cpu/in/cpu.cfs_quota_us", "-1\n");
    expect_room(0, MIB(60), MIB(60));
    assert_int_equal(fm_control_group_processors(tree.root), 3);
    pmu_tree_put(&tree, "/proc/self/cgroup", "5:memory:/\n6:cpuacct,cpu:/\n");
    expect_room(0, MIB(60), MIB(60));
    pmu_tree_put(&tree, "/proc/self/cgroup", "5:memory:/../elsewhere\n");
    expect_room(0, MIB(60), MIB(60));
    pmu_tree_put(&tree, "/proc/self/cgroup", "5:memory:/docker/12abc\n"); /* no group below /docker/12ab */
    expect_room(0, MIB(60), MIB(60));
}

CASE_WITH(blanks_in_names, make_tree, remove_tree)
{
    pmu_tree_put(&tree, "/proc/self/cgroup", "0::/my group\n");
    pmu_tree_put(&tree, "/proc/self/mountinfo", "29 23 0:26 / /sys/fs/c\\040g rw - cgroup2 cgroup2 rw\n");
    put_bytes("/sys/fs/c g/my group/memory.max", MIB(64));
    put_bytes("/sys/fs/c g/my group/memory.current", MIB(60));
    expect_room(0, MIB(4), MIB(4));
}

CASE_WITH(processors_of_version_2, make_tree, remove_tree)
{
    pmu_tree_put(&tree, "/proc/self/cgroup", "0::/a/b\n");
    pmu_tree_put(&tree, "/proc/self/mountinfo", MOUNT_2);
    pmu_tree_put(&tree, GROUP_2 "/a/b/cpu.max", "400000 100000\n");
    assert_int_equal(fm_control_group_processors(tree.root), 4);
    pmu_tree_put(&tree, GROUP_2 "/a/cpu.max", "50000 100000\n"); /* half a processor is one thread's */
    assert_int_equal(fm_control_group_processors(tree.root), 1);
    pmu_tree_put(&tree, GROUP_2 "/a/cpu.max", "1 0\n"); /* no kernel writes this */
    assert_int_equal(fm_control_group_processors(tree.root), 4);
}

CASE_WITH(what_is_there, make_tree, remove_tree)
{
    assert_true(fm_memory_is_there_under(tree.root, MIB(8192))); /* with a part of the swap space */
    assert_true(fm_memory_is_there_under(tree.root, MIB(9000)));
    assert_false(fm_memory_is_there_under(tree.root, MIB(9216)));
    assert_false(fm_memory_is_there_under(tree.root, UINT64_MAX));
    pmu_tree_put(&tree, "/proc/self/cgroup", "0::/a\n");
    pmu_tree_put(&tree, "/proc/self/mountinfo", MOUNT_2);
    put_bytes(GROUP_2 "/a/memory.max", MIB(200));
    put_bytes(GROUP_2 "/a/memory.swap.max", 0);
    put_bytes(GROUP_2 "/a/memory.current", MIB(100));
    assert_true(fm_memory_is_there_under(tree.root, MIB(80)));
    assert_false(fm_memory_is_there_under(tree.root, MIB(100)));
    pmu_tree_cut(&tree, "/proc/meminfo");
    assert_true(fm_memory_is_there_under(tree.root, MIB(8192))); /* nobody knows */
}

/* More than any machine has is refused, though the kernel would grant it; the table stays as it was. */
CASE(pages_of_this_machine)
{
    const uint64_t none = fm_free_memory();
    if (none == 0) {
        print_message("SKIP: /proc/meminfo tells nothing here\n");
        skip();
    }
    const size_t too_much = SIZE_MAX / 4096;
    assert_null(fm_pages_allocate(too_much));
    assert_null(fm_malloc_array(too_much, 8));
    char *pages = fm_pages_allocate(MIB(4));
    assert_non_null(pages);
    pages[MIB(4) - 1] = 7;
    assert_null(fm_pages_resize(pages, MIB(4), too_much));
    assert_int_equal(pages[MIB(4) - 1], 7);
    pages = fm_pages_resize(pages, MIB(4), MIB(16));
    assert_non_null(pages);
    assert_int_equal(pages[MIB(4) - 1], 7);
    assert_int_equal(pages[MIB(16) - 1], 0);
    fm_pages_free(pages, MIB(16));
}
