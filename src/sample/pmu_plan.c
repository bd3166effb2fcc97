/* SPDX-License-Identifier: Apache-2.0 */
/* pmu_plan.c - see pmu.h. */
#define _GNU_SOURCE
#include "sample/pmu.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    SAMPLE_COST = 50000, /* nanoseconds: the signal, arming a register, its trap; both once more */
    RATE_MOST = 4000,    /* samples a second */
    LATENCIES_EACH = 4,  /* one sample of latencies for so many others */
    OPS_OF_ACCESS = 5,   /* AMD samples all operations: five for two accesses, in the mean, */
    OPS_PER = 2,
    IBS_STEP = 16,   /* in steps of so many, */
    IBS_LEAST = 144, /* and at least so many */
    L1D_LOADS = PERF_COUNT_HW_CACHE_L1D,
    L1D_STORES = PERF_COUNT_HW_CACHE_L1D | PERF_COUNT_HW_CACHE_OP_WRITE << 8,
    AMD_ZEN = 0x17,             /* family, from which on */
    AMD_ZEN_DISPATCHED = 0x729, /* loads, stores, and both in one, that were dispatched */
};
#define BASIC_TYPE (PERF_SAMPLE_IP | PERF_SAMPLE_ADDR | PERF_SAMPLE_PERIOD)
#define WHOLE_TYPE (BASIC_TYPE | PERF_SAMPLE_WEIGHT | PERF_SAMPLE_DATA_SRC)

/* ---- periods ---- */

static bool is_prime(uint64_t number)
{
    if (number % 2 == 0) return number == 2;
    for (uint64_t divisor = 3; divisor <= number / divisor; divisor += 2)
        if (number % divisor == 0) return false;
    return number > 1;
}

/* Loops of the program must not fall into step with samples. */
static uint64_t prime_from(uint64_t number)
{
    if (number < 100 || number > UINT32_MAX) return number;
    while (!is_prime(number)) number++;
    return number;
}

/* parts: samples come from so many events. */
static void set_period(fm_sample_pmu_event *event, const fm_pmu_request *request, double share_of)
{
    double rate = request->rate;
    if (request->period) {
        event->period = request->period;
        return;
    }
    if (!(rate > 0)) rate = (request->share > 0 ? request->share : 0.02) * 1e9 / SAMPLE_COST;
    if (rate > RATE_MOST) rate = RATE_MOST;
    rate *= share_of;
    event->period = rate < 1 ? 1 : (uint64_t)rate;
    event->roles |= FM_SAMPLE_PMU_RATE;
}

static fm_sample_pmu_event *add_event(fm_pmu_plan *plan, uint32_t type, const uint64_t config[3],
                                      uint32_t roles)
{
    fm_sample_pmu_event *event = &plan->events.events[plan->events.event_count++];
    *event = (fm_sample_pmu_event){
        .type = type, .roles = roles, .config = config[0], .config1 = config[1], .config2 = config[2]};
    return event;
}

/* ---- Intel ---- */

/* Before Haswell, only events of their own tell addresses: mem-loads and mem-stores. */
static bool is_older(const fm_pmu_machine *machine, const char *model)
{
    static const char *const older[] = {"nhm",     "wsm",      "snb",         "ivb",       "core",
                                        "nehalem", "westmere", "sandybridge", "ivybridge", "core2"};
    const char *name = model ? model : machine->model;
    for (size_t i = 0; i < sizeof older / sizeof *older; i++)
        if (strncmp(name, older[i], strlen(older[i])) == 0) return true;
    return false;
}

typedef struct load_store {
    uint32_t type;
    uint64_t loads[3], stores[3];
    const char *name;
} load_store;

/* The events that count loads and stores. */
static void find_counts(load_store *found, const fm_pmu_machine *machine, const fm_pfm_module *names)
{
    static const struct {
        const char *loads, *stores;
    } known[] = {{"MEM_INST_RETIRED:ALL_LOADS", "MEM_INST_RETIRED:ALL_STORES"},
                 {"MEM_UOPS_RETIRED:ALL_LOADS", "MEM_UOPS_RETIRED:ALL_STORES"},
                 {"MEM_UOP_RETIRED:ALL_LOADS", "MEM_UOP_RETIRED:ALL_STORES"}};
    for (size_t i = 0; names && i < sizeof known / sizeof *known; i++) {
        *found = (load_store){.type = machine->core.type, .name = known[i].loads};
        if (!names->encode(known[i].loads, found->loads) && !names->encode(known[i].stores, found->stores))
            return;
    }
    *found = (load_store){
        .type = PERF_TYPE_HW_CACHE, .loads = {L1D_LOADS}, .stores = {L1D_STORES}, .name = "L1-dcache-loads"};
    if (!machine->hybrid) return;
    found->loads[0] |= (uint64_t)machine->core.type << 32; /* of this kind of processor */
    found->stores[0] |= (uint64_t)machine->core.type << 32;
}

static void add_latencies(fm_pmu_plan *plan, const fm_pmu_machine *machine, const fm_pmu_request *request)
{
    uint64_t config[3];
    const bool aux = fm_pmu_device_event(&machine->core, "mem-loads-aux", config);
    if (aux) add_event(plan, machine->core.type, config, FM_SAMPLE_PMU_LATENCY | FM_SAMPLE_PMU_LEADS);
    if (!fm_pmu_device_event(&machine->core, "mem-loads", config)) {
        plan->events.event_count -= aux;
        return;
    }
    fm_sample_pmu_event *event = add_event(plan, machine->core.type, config, FM_SAMPLE_PMU_LATENCY);
    event->sample_type = WHOLE_TYPE;
    event->precise = machine->precise;
    set_period(event, request, 1.0 / LATENCIES_EACH);
    if (request->period) event->period = prime_from(request->period * LATENCIES_EACH);
}

static bool plan_intel(fm_pmu_plan *plan, const fm_pmu_machine *machine, const fm_pmu_request *request)
{
    const char *model = request->names ? request->names->model() : NULL;
    load_store counts, samples;
    find_counts(&counts, machine, request->names);
    const bool older = is_older(machine, model);
    samples = counts;
    if (older) {
        samples = (load_store){.type = machine->core.type, .name = "mem-loads"};
        if (!fm_pmu_device_event(&machine->core, "mem-loads", samples.loads) ||
            !fm_pmu_device_event(&machine->core, "mem-stores", samples.stores)) {
            snprintf(plan->why, sizeof plan->why,
                     "this processor (%s) has no events that tell the addresses of loads and stores",
                     model ? model : machine->model);
            return false;
        }
    }
    const uint32_t roles = FM_SAMPLE_PMU_USES | (older ? 0u : FM_SAMPLE_PMU_COUNTS);
    fm_sample_pmu_event *loads = add_event(plan, samples.type, samples.loads, roles);
    fm_sample_pmu_event *stores = add_event(plan, samples.type, samples.stores, roles);
    loads->precise = stores->precise = machine->precise;
    loads->sample_type = stores->sample_type = older ? WHOLE_TYPE : BASIC_TYPE;
    set_period(loads, request, 0.5);
    set_period(stores, request, 0.5);
    if (request->period) {
        loads->period = prime_from(request->period);
        stores->period = prime_from(loads->period + 1);
    }
    if (older) {
        add_event(plan, counts.type, counts.loads, FM_SAMPLE_PMU_COUNTS);
        add_event(plan, counts.type, counts.stores, FM_SAMPLE_PMU_COUNTS);
    } else {
        add_latencies(plan, machine, request);
    }
    snprintf(plan->name, sizeof plan->name, "Intel PEBS%s%s%s (%s)", model || machine->model[0] ? " of " : "",
             model ? model : machine->model, machine->hybrid ? ", on the larger processors only" : "",
             samples.name);
    return true;
}

/* ---- AMD ---- */

static bool plan_amd(fm_pmu_plan *plan, const fm_pmu_machine *machine, const fm_pmu_request *request)
{
    uint64_t sampled[3] = {0}, counted[3] = {0};
    const char *name = "LS_DISPATCH", *model = request->names ? request->names->model() : NULL;
    const bool filter = fm_pmu_device_set(&machine->ibs, "swfilt", 1, sampled);
    if (!fm_pmu_device_set(&machine->ibs, "cnt_ctl", 1, sampled)) {
        snprintf(plan->why, sizeof plan->why, "this processor's ibs_op cannot count operations");
        return false;
    }
    if (!request->names ||
        request->names->encode("LS_DISPATCH:LD_DISPATCH:STORE_DISPATCH:LD_ST_DISPATCH", counted) != NULL) {
        if (machine->family < AMD_ZEN) {
            snprintf(plan->why, sizeof plan->why,
                     "no events that count loads and stores are known of this processor (AMD, family 0x%x)",
                     machine->family);
            return false;
        }
        counted[0] = AMD_ZEN_DISPATCHED;
    }
    fm_sample_pmu_event *uses = add_event(plan, machine->ibs.type, sampled,
                                          FM_SAMPLE_PMU_USES | (filter ? 0u : FM_SAMPLE_PMU_KERNEL));
    uses->sample_type = WHOLE_TYPE;
    set_period(uses, request, (double)OPS_OF_ACCESS / OPS_PER);
    if (request->period) {
        uses->period = uses->period > UINT64_MAX / OPS_OF_ACCESS ? UINT64_MAX / OPS_PER
                                                                 : uses->period * OPS_OF_ACCESS / OPS_PER;
        uses->period = uses->period < IBS_LEAST ? IBS_LEAST : uses->period / IBS_STEP * IBS_STEP;
    }
    add_event(plan, machine->core.type, counted, FM_SAMPLE_PMU_COUNTS);
    snprintf(plan->name, sizeof plan->name, "AMD IBS%s%s (%s)", model ? " of " : "", model ? model : "",
             name);
    return true;
}

/* ---- all ---- */

bool fm_pmu_plan_make(fm_pmu_plan *plan, const fm_pmu_machine *machine, const fm_pmu_request *request)
{
    *plan = (fm_pmu_plan){0};
    plan->events.watch_bytes = request->watch_bytes;
    if (!fm_pmu_machine_can(machine, plan->why, sizeof plan->why)) return false;
    return machine->vendor == FM_PMU_VENDOR_INTEL ? plan_intel(plan, machine, request)
                                                  : plan_amd(plan, machine, request);
}

/* ---- trying ---- */

static long pmu_open(struct perf_event_attr *event, int group)
{
    const long file = syscall(SYS_perf_event_open, event, 0, -1, group, PERF_FLAG_FD_CLOEXEC);
    return file < 0 ? -errno : file;
}

/* As the runtime opens it (collect/sample/pmu_sample.c), but that it does not run. The descriptor, or -errno.
 */
static long try_event(const fm_sample_pmu_event *wanted, uint32_t precise, long group,
                      const fm_pmu_request *request)
{
    struct perf_event_attr event;
    memset(&event, 0, sizeof event);
    event.size = sizeof event;
    event.type = wanted->type;
    event.config = wanted->config;
    event.config1 = wanted->config1;
    event.config2 = wanted->config2;
    event.disabled = 1;
    event.exclude_kernel = event.exclude_hv = !(wanted->roles & FM_SAMPLE_PMU_KERNEL);
    event.remove_on_exec = 1;
    if (wanted->period) {
        event.freq = (wanted->roles & FM_SAMPLE_PMU_RATE) != 0;
        event.sample_period = wanted->period;
        event.sample_type = wanted->sample_type;
        event.precise_ip = precise & 3;
        event.wakeup_events = 1;
        event.sigtrap = 1;
    }
    return (request->open ? request->open : pmu_open)(&event, (int)group);
}

static bool is_about_rights(long result)
{
    return result == -EACCES || result == -EPERM;
}

bool fm_pmu_plan_try(fm_pmu_plan *plan, const fm_pmu_machine *machine, const fm_pmu_request *request)
{
    long leader = -1, file = 0;
    for (uint32_t i = 0; i < plan->events.event_count; i++) {
        fm_sample_pmu_event *event = &plan->events.events[i];
        file = try_event(event, event->precise, leader, request);
        while (file < 0 && !is_about_rights(file) && event->precise > 2)
            file = try_event(event, --event->precise, leader, request);
        if (leader >= 0) close((int)leader);
        const bool led = leader >= 0;
        leader = file >= 0 && event->roles & FM_SAMPLE_PMU_LEADS ? file : -1;
        if (file >= 0 && leader < 0) close((int)file);
        if (file >= 0) continue;
        if (event->roles & FM_SAMPLE_PMU_LATENCY) { /* they are the last */
            plan->events.event_count = led ? i - 1 : i;
            break;
        }
        fm_pmu_machine_refused(machine, (int)-file, plan->why, sizeof plan->why);
        return false;
    }
    if (leader >= 0) close((int)leader);
    return true;
}

/* ---- pmu source ---- */

/* See pmu.h. Newer kernels tell a number of the level (mem_lvl_num), older ones bits.
 */

enum { MHB = 5, MSC = 6, UNCACHED = 8, CXL = 9, IO = 10 }; /* of mem_lvl_num, which headers may not have */

static fm_memory_level by_number(const union perf_mem_data_src *source)
{
    switch (source->mem_lvl_num) {
    case PERF_MEM_LVLNUM_L1:
        return FM_LEVEL_L1;
    case PERF_MEM_LVLNUM_LFB:
    case MHB:
        return FM_LEVEL_ON_ITS_WAY;
    case PERF_MEM_LVLNUM_L2:
        return FM_LEVEL_L2;
    case PERF_MEM_LVLNUM_L3:
    case PERF_MEM_LVLNUM_L4:
    case PERF_MEM_LVLNUM_ANY_CACHE:
    case MSC:
        return source->mem_remote ? FM_LEVEL_OTHER_CACHE : FM_LEVEL_L3;
    case PERF_MEM_LVLNUM_RAM:
    case PERF_MEM_LVLNUM_PMEM:
    case CXL:
        return source->mem_remote ? FM_LEVEL_FAR_MEMORY : FM_LEVEL_MEMORY;
    case UNCACHED:
    case IO:
        return FM_LEVEL_UNCACHED;
    default:
        return FM_LEVEL_UNKNOWN;
    }
}

static fm_memory_level by_bits(const union perf_mem_data_src *source)
{
    const uint64_t level = source->mem_lvl;
    if (level == 0 || level & PERF_MEM_LVL_NA) return FM_LEVEL_UNKNOWN;
    if (level & (PERF_MEM_LVL_IO | PERF_MEM_LVL_UNC)) return FM_LEVEL_UNCACHED;
    if (level & (PERF_MEM_LVL_REM_CCE1 | PERF_MEM_LVL_REM_CCE2)) return FM_LEVEL_OTHER_CACHE;
    if (level & (PERF_MEM_LVL_REM_RAM1 | PERF_MEM_LVL_REM_RAM2)) return FM_LEVEL_FAR_MEMORY;
    if (level & PERF_MEM_LVL_LOC_RAM) return FM_LEVEL_MEMORY;
    /* A miss of L3 came from memory; "L1 miss" of a store says no more. */
    if (level & PERF_MEM_LVL_L3) return level & PERF_MEM_LVL_MISS ? FM_LEVEL_MEMORY : FM_LEVEL_L3;
    if (level & PERF_MEM_LVL_MISS) return FM_LEVEL_UNKNOWN;
    if (level & PERF_MEM_LVL_L2) return FM_LEVEL_L2;
    if (level & PERF_MEM_LVL_LFB) return FM_LEVEL_ON_ITS_WAY;
    return level & PERF_MEM_LVL_L1 ? FM_LEVEL_L1 : FM_LEVEL_UNKNOWN;
}

fm_memory_level fm_pmu_source_level(uint64_t value)
{
    const union perf_mem_data_src source = {.val = value};
    const fm_memory_level level = by_number(&source);
    return level != FM_LEVEL_UNKNOWN ? level : by_bits(&source);
}
