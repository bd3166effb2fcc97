/* SPDX-License-Identifier: Apache-2.0 */
/* pmu_tree.h - the files of /proc and /sys of a machine that is not here, in a directory for tests. */
#ifndef PMU_TREE_H
#define PMU_TREE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PMU_DEVICES "/sys/bus/event_source/devices/"

typedef struct pmu_tree {
    char root[64];
} pmu_tree;

static inline pmu_tree pmu_tree_make(void)
{
    pmu_tree tree = {"/tmp/fathom-pmu-XXXXXX"};
    if (!mkdtemp(tree.root)) abort();
    return tree;
}

/* Writes a file, and the directories above it. */
static inline void pmu_tree_put(const pmu_tree *tree, const char *path, const char *text)
{
    char name[512];
    snprintf(name, sizeof name, "%s%s", tree->root, path);
    for (char *at = strchr(name + strlen(tree->root) + 1, '/'); at; at = strchr(at + 1, '/')) {
        *at = '\0';
        mkdir(name, 0755);
        *at = '/';
    }
    FILE *file = fopen(name, "w");
    if (!file || fputs(text, file) < 0 || fclose(file) != 0) abort();
}

static inline void pmu_tree_cut(const pmu_tree *tree, const char *path)
{
    char command[512];
    snprintf(command, sizeof command, "rm -rf '%s%s'", tree->root, path);
    if (system(command) != 0) abort();
}

static inline void pmu_tree_processor(const pmu_tree *tree, const char *vendor, int family, const char *flags)
{
    char text[300];
    snprintf(text, sizeof text,
             "processor\t: 0\nvendor_id\t: %s\ncpu family\t: %d\nmodel name\t: X\nflags\t\t: fpu %s sse\n\n"
             "processor\t: 1\nvendor_id\t: other\n\n",
             vendor, family, flags);
    pmu_tree_put(tree, "/proc/cpuinfo", text);
}

/* An unprivileged user of a Skylake. */
static inline pmu_tree pmu_tree_skylake(void)
{
    const pmu_tree tree = pmu_tree_make();
    pmu_tree_processor(&tree, "GenuineIntel", 6, "vmx");
    pmu_tree_put(&tree, "/proc/sys/kernel/perf_event_paranoid", "2\n");
    pmu_tree_put(&tree, "/proc/self/status", "Name:\tx\nCapEff:\t0000000000000000\n");
    pmu_tree_put(&tree, PMU_DEVICES "cpu/type", "4\n");
    pmu_tree_put(&tree, PMU_DEVICES "cpu/rdpmc", "1\n");
    pmu_tree_put(&tree, PMU_DEVICES "cpu/caps/max_precise", "3\n");
    pmu_tree_put(&tree, PMU_DEVICES "cpu/caps/pmu_name", "skylake\n");
    pmu_tree_put(&tree, PMU_DEVICES "cpu/format/event", "config:0-7\n");
    pmu_tree_put(&tree, PMU_DEVICES "cpu/format/umask", "config:8-15\n");
    pmu_tree_put(&tree, PMU_DEVICES "cpu/format/ldlat", "config1:0-15\n");
    pmu_tree_put(&tree, PMU_DEVICES "cpu/events/mem-loads", "event=0xcd,umask=0x1,ldlat=3\n");
    pmu_tree_put(&tree, PMU_DEVICES "cpu/events/mem-stores", "event=0xd0,umask=0x82\n");
    return tree;
}

/* The same of a Zen 3. */
static inline pmu_tree pmu_tree_zen(void)
{
    const pmu_tree tree = pmu_tree_skylake();
    pmu_tree_processor(&tree, "AuthenticAMD", 25, "svm");
    pmu_tree_cut(&tree, PMU_DEVICES "cpu/events");
    pmu_tree_put(&tree, PMU_DEVICES "cpu/caps/max_precise", "0\n");
    pmu_tree_put(&tree, PMU_DEVICES "ibs_op/type", "11\n");
    pmu_tree_put(&tree, PMU_DEVICES "ibs_op/format/cnt_ctl", "config:19\n");
    pmu_tree_put(&tree, PMU_DEVICES "ibs_op/format/swfilt", "config2:0\n");
    return tree;
}

static inline void pmu_tree_remove(const pmu_tree *tree)
{
    pmu_tree_cut(tree, "");
}

#endif
