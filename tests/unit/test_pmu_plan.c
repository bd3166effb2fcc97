/* SPDX-License-Identifier: Apache-2.0 */
/* test_pmu_plan.c - which events are opened on which processor: with libpfm4, which is told to take other
 * processors for the one that is here, and by the kernel's names alone. Judge: the encodings of the vendors'
 * manuals; what a kernel that is played here allows. */
#define _GNU_SOURCE
#include "case.h"

#include "sample/pmu.h"
#include "unit/build_parts.h"
#include "unit/pmu_tree.h"

#include <errno.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <sys/wait.h>

enum { SAMPLES = FM_SAMPLE_PMU_USES, COUNTS = FM_SAMPLE_PMU_COUNTS, MOST = FM_SAMPLE_PMU_EVENTS };

/* Type, config, config1, roles but for FM_SAMPLE_PMU_RATE. */
typedef struct wanted {
    uint32_t type;
    uint64_t config, config1;
    uint32_t roles;
} wanted;

static void expect_events(const fm_pmu_plan *plan, const wanted *events, uint32_t count)
{
    assert_int_equal(plan->events.event_count, count);
    for (uint32_t i = 0; i < count; i++) {
        const fm_sample_pmu_event *found = &plan->events.events[i];
        assert_int_equal(found->type, events[i].type);
        assert_int_equal(found->config, events[i].config);
        assert_int_equal(found->config1, events[i].config1);
        assert_int_equal(found->roles & ~(uint32_t)FM_SAMPLE_PMU_RATE, events[i].roles);
        const bool sampled = found->roles & (FM_SAMPLE_PMU_USES | FM_SAMPLE_PMU_LATENCY) &&
                             !(found->roles & FM_SAMPLE_PMU_LEADS);
        assert_int_equal(found->period > 0, sampled);
        assert_int_equal((found->sample_type & (PERF_SAMPLE_IP | PERF_SAMPLE_ADDR)) != 0, sampled);
    }
}

static fm_pmu_plan plan_of(const pmu_tree *tree, const fm_pmu_request *request)
{
    fm_pmu_machine machine;
    fm_pmu_plan plan;
    fm_pmu_machine_look(&machine, tree->root);
    if (!fm_pmu_plan_make(&plan, &machine, request)) fail_msg("%s", plan.why);
    return plan;
}

/* ---- libpfm4 ---- */

/* It looks at the processor once: each model has a process of its own. */
static int with_model(const char *model, bool amd, const wanted *events, uint32_t count)
{
    const pid_t child = fork();
    if (child == 0) {
        setenv("LIBPFM_FORCE_PMU", model, 1);
        const pmu_tree tree = amd ? pmu_tree_zen() : pmu_tree_skylake();
        const fm_pmu_request request = {.period = 1000, .names = fm_pfm_load(NULL)};
        const fm_pmu_plan plan = plan_of(&tree, &request);
        expect_events(&plan, events, count);
        if (!strstr(plan.name, model)) fail_msg("no '%s' in '%s'", model, plan.name);
        pmu_tree_remove(&tree);
        _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    return status;
}

CASE(models)
{
    if (!use_build_parts(FM_PFM_FILE)) {
        print_message("SKIP: this build has no libpfm4\n");
        skip();
    }
    /* Intel's manuals: MEM_INST_RETIRED, before it MEM_UOPS_RETIRED: event D0H, loads 81H, stores 82H. */
    static const wanted intel[] = {{4, 0x81d0, 0, SAMPLES | COUNTS},
                                   {4, 0x82d0, 0, SAMPLES | COUNTS},
                                   {4, 0x1cd, 3, FM_SAMPLE_PMU_LATENCY}};
    static const char *const newer[] = {"hsw", "bdw", "skl", "skx", "clx", "icl", "icx", "spr", "glm", "tmt"};
    for (size_t i = 0; i < sizeof newer / sizeof *newer; i++)
        if (with_model(newer[i], false, intel, 3) != 0) fail_msg("%s", newer[i]);
    /* Before Haswell these count, and tell no addresses. */
    static const wanted older[] = {
        {4, 0x1cd, 3, SAMPLES}, {4, 0x82d0, 0, SAMPLES}, {4, 0x81d0, 0, COUNTS}, {4, 0x82d0, 0, COUNTS}};
    if (with_model("snb", false, older, 4) != 0) fail_msg("snb");
    if (with_model("ivb_ep", false, older, 4) != 0) fail_msg("ivb_ep");
    /* AMD's: PMCx029, all three bits. ibs_op: cnt_ctl is bit 19. */
    static const wanted amd[] = {{11, 1 << 19, 0, SAMPLES}, {4, 0x729, 0, COUNTS}};
    static const char *const zens[] = {"amd64_fam17h_zen1", "amd64_fam17h_zen2", "amd64_fam19h_zen3",
                                       "amd64_fam19h_zen4"};
    for (size_t i = 0; i < sizeof zens / sizeof *zens; i++)
        if (with_model(zens[i], true, amd, 2) != 0) fail_msg("%s", zens[i]);
}

/* ---- the kernel's names ---- */

CASE(without_libpfm)
{
    pmu_tree tree = pmu_tree_skylake();
    const fm_pmu_request request = {.period = 1000};
    fm_pmu_plan plan = plan_of(&tree, &request);
    /* L1-dcache-loads and -stores: cache 0, operation << 8. */
    static const wanted intel[] = {{PERF_TYPE_HW_CACHE, 0, 0, SAMPLES | COUNTS},
                                   {PERF_TYPE_HW_CACHE, 0x100, 0, SAMPLES | COUNTS},
                                   {4, 0x1cd, 3, FM_SAMPLE_PMU_LATENCY}};
    expect_events(&plan, intel, 3);
    /* Sapphire Rapids wants a second event beside mem-loads, as leader of a group. */
    pmu_tree_put(&tree, PMU_DEVICES "cpu/events/mem-loads-aux", "event=0x03,umask=0x82\n");
    plan = plan_of(&tree, &request);
    static const wanted rapids[] = {{PERF_TYPE_HW_CACHE, 0, 0, SAMPLES | COUNTS},
                                    {PERF_TYPE_HW_CACHE, 0x100, 0, SAMPLES | COUNTS},
                                    {4, 0x8203, 0, FM_SAMPLE_PMU_LATENCY | FM_SAMPLE_PMU_LEADS},
                                    {4, 0x1cd, 3, FM_SAMPLE_PMU_LATENCY}};
    expect_events(&plan, rapids, 4);
    pmu_tree_put(&tree, PMU_DEVICES "cpu/caps/pmu_name", "ivybridge\n");
    plan = plan_of(&tree, &request);
    static const wanted older[] = {{4, 0x1cd, 3, SAMPLES},
                                   {4, 0x82d0, 0, SAMPLES},
                                   {PERF_TYPE_HW_CACHE, 0, 0, COUNTS},
                                   {PERF_TYPE_HW_CACHE, 0x100, 0, COUNTS}};
    expect_events(&plan, older, 4);
    pmu_tree_cut(&tree, PMU_DEVICES "cpu/events");
    fm_pmu_machine machine;
    fm_pmu_machine_look(&machine, tree.root);
    assert_false(fm_pmu_plan_make(&plan, &machine, &request));
    assert_non_null(strstr(plan.why, "ivybridge"));
    pmu_tree_remove(&tree);
}

/* Processors of two kinds: the larger ones, by the number of their unit. */
CASE(hybrid)
{
    pmu_tree tree = pmu_tree_skylake();
    char move[300];
    snprintf(move, sizeof move, "mv %s" PMU_DEVICES "cpu %s" PMU_DEVICES "cpu_core", tree.root, tree.root);
    assert_int_equal(system(move), 0);
    pmu_tree_put(&tree, PMU_DEVICES "cpu_core/type", "8\n");
    const fm_pmu_request request = {.period = 1000};
    const fm_pmu_plan plan = plan_of(&tree, &request);
    static const wanted events[] = {{PERF_TYPE_HW_CACHE, UINT64_C(8) << 32, 0, SAMPLES | COUNTS},
                                    {PERF_TYPE_HW_CACHE, UINT64_C(8) << 32 | 0x100, 0, SAMPLES | COUNTS},
                                    {8, 0x1cd, 3, FM_SAMPLE_PMU_LATENCY}};
    expect_events(&plan, events, 3);
    assert_non_null(strstr(plan.name, "larger processors only"));
    pmu_tree_remove(&tree);
}

CASE(amd)
{
    pmu_tree tree = pmu_tree_zen();
    const fm_pmu_request request = {.period = 1000};
    fm_pmu_plan plan = plan_of(&tree, &request);
    static const wanted filtered[] = {{11, 1 << 19, 0, SAMPLES}, {4, 0x729, 0, COUNTS}};
    expect_events(&plan, filtered, 2);
    assert_int_equal(plan.events.events[0].config2, 1); /* swfilt */
    /* Of all operations: five for two accesses; a multiple of 16. */
    assert_int_equal(plan.events.events[0].period, 2496);
    pmu_tree_cut(&tree, PMU_DEVICES "ibs_op/format/swfilt");
    pmu_tree_put(&tree, "/proc/sys/kernel/perf_event_paranoid", "-1\n");
    plan = plan_of(&tree, &request);
    static const wanted all[] = {{11, 1 << 19, 0, SAMPLES | FM_SAMPLE_PMU_KERNEL}, {4, 0x729, 0, COUNTS}};
    expect_events(&plan, all, 2);
    fm_pmu_machine machine;
    pmu_tree_processor(&tree, "AuthenticAMD", 0x15, "svm");
    fm_pmu_machine_look(&machine, tree.root);
    assert_false(fm_pmu_plan_make(&plan, &machine, &request));
    assert_non_null(strstr(plan.why, "family 0x15"));
    pmu_tree_remove(&tree);
}

/* ---- how often ---- */

static bool is_prime(uint64_t number)
{
    for (uint64_t i = 2; i * i <= number; i++)
        if (number % i == 0) return false;
    return true;
}

CASE(periods)
{
    const pmu_tree tree = pmu_tree_skylake();
    fm_pmu_request request = {.period = 100000, .rate = 7};
    fm_pmu_plan plan = plan_of(&tree, &request);
    const fm_sample_pmu_event *events = plan.events.events;
    for (int i = 0; i < 2; i++) {
        assert_true(is_prime(events[i].period) && events[i].period >= 100000 && events[i].period < 100100);
        assert_false(events[i].roles & FM_SAMPLE_PMU_RATE);
    }
    assert_int_not_equal(events[0].period, events[1].period);
    request = (fm_pmu_request){.period = 10};
    plan = plan_of(&tree, &request);
    assert_int_equal(events[0].period, 10);
    /* Samples a second: loads and stores together. */
    request = (fm_pmu_request){.rate = 1000};
    plan = plan_of(&tree, &request);
    assert_int_equal(events[0].period + events[1].period, 1000);
    assert_true(events[0].roles & events[1].roles & FM_SAMPLE_PMU_RATE);
    /* 2 % at 50 microseconds each. */
    request = (fm_pmu_request){.share = 0.02};
    plan = plan_of(&tree, &request);
    assert_int_equal(events[0].period + events[1].period, 400);
    request = (fm_pmu_request){.share = 1e9};
    plan = plan_of(&tree, &request);
    assert_int_equal(events[0].period + events[1].period, 4000);
    request = (fm_pmu_request){.share = 1e-9};
    plan = plan_of(&tree, &request);
    assert_int_equal(events[0].period, 1);
    pmu_tree_remove(&tree);
}

/* ---- a kernel ---- */

static struct {
    int error;       /* of an event of these */
    uint64_t config; /* …; UINT64_MAX: of all */
    unsigned most_precise;
    unsigned opened;
    bool aux_alone; /* mem-loads without a leader is refused */
} kernel;

static long open_here(struct perf_event_attr *event, int group)
{
    kernel.opened++;
    assert_int_equal(event->size, sizeof *event);
    assert_int_equal(event->disabled, 1);
    assert_int_equal(event->remove_on_exec, 1);
    assert_int_equal(event->sigtrap, event->sample_period > 0);
    if (kernel.error && (kernel.config == UINT64_MAX || event->config == kernel.config)) return -kernel.error;
    if (event->precise_ip > kernel.most_precise) return -EOPNOTSUPP;
    if (kernel.aux_alone && event->config == 0x1cd && group < 0) return -ENODATA;
    return dup(STDERR_FILENO);
}

static unsigned open_files(void)
{
    unsigned count = 0;
    for (int i = 0; i < 256; i++) count += lseek(i, 0, SEEK_CUR) >= 0 || errno != EBADF;
    return count;
}

CASE(trying)
{
    const pmu_tree tree = pmu_tree_skylake();
    const fm_pmu_request request = {.period = 1000, .open = open_here};
    fm_pmu_machine machine;
    fm_pmu_machine_look(&machine, tree.root);
    const unsigned files = open_files();
    kernel.most_precise = 3;
    fm_pmu_plan plan = plan_of(&tree, &request);
    assert_true(fm_pmu_plan_try(&plan, &machine, &request));
    assert_int_equal(plan.events.event_count, 3);
    assert_int_equal(plan.events.events[0].precise, 3);
    /* Less precise, where that is all there is; but not less than what tells addresses. */
    kernel.most_precise = 2;
    plan = plan_of(&tree, &request);
    assert_true(fm_pmu_plan_try(&plan, &machine, &request));
    assert_int_equal(plan.events.events[0].precise, 2);
    kernel.most_precise = 1;
    plan = plan_of(&tree, &request);
    assert_false(fm_pmu_plan_try(&plan, &machine, &request));
    kernel.most_precise = 3;
    /* Latencies are left out where they are refused, alone. */
    kernel.error = EINVAL;
    kernel.config = 0x1cd;
    plan = plan_of(&tree, &request);
    assert_true(fm_pmu_plan_try(&plan, &machine, &request));
    assert_int_equal(plan.events.event_count, 2);
    kernel.config = UINT64_MAX;
    kernel.error = EACCES;
    kernel.opened = 0;
    plan = plan_of(&tree, &request);
    assert_false(fm_pmu_plan_try(&plan, &machine, &request));
    assert_non_null(strstr(plan.why, "--cap-add=PERFMON"));
    assert_int_equal(kernel.opened, 1); /* no rights are not had by less precision */
    /* A group, on Sapphire Rapids. */
    kernel.error = 0;
    kernel.aux_alone = true;
    plan = plan_of(&tree, &request);
    assert_true(fm_pmu_plan_try(&plan, &machine, &request));
    assert_int_equal(plan.events.event_count, 2);
    pmu_tree_put(&tree, PMU_DEVICES "cpu/events/mem-loads-aux", "event=0x03,umask=0x82\n");
    plan = plan_of(&tree, &request);
    assert_true(fm_pmu_plan_try(&plan, &machine, &request));
    assert_int_equal(plan.events.event_count, 4);
    kernel.error = EINVAL;
    kernel.config = 0x1cd;
    plan = plan_of(&tree, &request);
    assert_true(fm_pmu_plan_try(&plan, &machine, &request));
    assert_int_equal(plan.events.event_count, 2); /* without its leader, too */
    assert_int_equal(open_files(), files);
    pmu_tree_remove(&tree);
}
