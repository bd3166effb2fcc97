/* SPDX-License-Identifier: Apache-2.0 */
/* pmu_machine.c - which performance counters there are, and whether a run has them. */
#define _GNU_SOURCE
#include "base/error.h"
#include "base/input.h"
#include "process/program_file.h"
#include "sample/pmu.h"
#include "sample/sampled_run_state.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- pmu sysfs ---- */

/* The first line of ROOT/PATH, without its end; false: it cannot be read, or is longer. */
static bool pmu_file_read(const char *root, const char *path, char *text, size_t size)
{
    char name[1024];
    if (snprintf(name, sizeof name, "%s%s", root ? root : "", path) >= (int)sizeof name) return false;
    const int file = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) return false;
    const ssize_t got = read(file, text, size);
    close(file);
    if (got < 0) return false;
    const char *end = memchr(text, '\n', (size_t)got);
    const size_t length = end ? (size_t)(end - text) : (size_t)got;
    if (length >= size) return false;
    text[length] = '\0';
    return true;
}

static bool parse_number(const char *text, uint64_t *value)
{
    char *end;
    if (text[0] < '0' || text[0] > '9') return false;
    errno = 0;
    *value = strtoull(text, &end, 0);
    return *end == '\0' && errno == 0;
}

static bool device_read(const fm_pmu_device *device, const char *folder, const char *file, char *text,
                        size_t size)
{
    char path[256];
    if (snprintf(path, sizeof path, "/%s%s", folder, file) >= (int)sizeof path) return false;
    return pmu_file_read(device->directory, path, text, size);
}

/* A file of a number, as caps/max_precise; `none` where there is none. */
static uint64_t pmu_device_number(const fm_pmu_device *device, const char *file, uint64_t none)
{
    char text[64];
    uint64_t value;
    if (!device_read(device, "", file, text, sizeof text) || !parse_number(text, &value)) return none;
    return value;
}

bool fm_pmu_device_find(fm_pmu_device *device, const char *root, const char *name)
{
    const int length = snprintf(device->directory, sizeof device->directory,
                                "%s/sys/bus/event_source/devices/%s", root ? root : "", name);
    if (length < 0 || (size_t)length >= sizeof device->directory) return false;
    const uint64_t type = pmu_device_number(device, "type", UINT64_MAX);
    device->type = (uint32_t)type;
    return type <= UINT32_MAX;
}

static bool pmu_device_has(const fm_pmu_device *device, const char *file)
{
    char path[1024];
    if (snprintf(path, sizeof path, "%s/%s", device->directory, file) >= (int)sizeof path) return false;
    return access(path, R_OK) == 0;
}

/* ---- fields ---- */

/* "0-7" or "21": *end is behind it. */
static bool parse_range(const char *text, unsigned *low, unsigned *high, const char **end)
{
    char *behind;
    if (*text < '0' || *text > '9') return false;
    const unsigned long first = strtoul(text, &behind, 10);
    unsigned long last = first;
    if (*behind == '-') {
        text = behind + 1;
        if (*text < '0' || *text > '9') return false;
        last = strtoul(text, &behind, 10);
    }
    if (last > 63 || first > last) return false;
    *low = (unsigned)first;
    *high = (unsigned)last;
    *end = behind;
    return true;
}

bool fm_pmu_format_apply(const char *format, uint64_t value, uint64_t config[3])
{
    static const char *const words[] = {"config:", "config1:", "config2:"};
    unsigned which = 0;
    while (which < 3 && strncmp(format, words[which], strlen(words[which])) != 0) which++;
    if (which == 3) return false;
    const char *at = format + strlen(words[which]);
    uint64_t bits = config[which];
    for (;;) {
        unsigned low, high;
        if (!parse_range(at, &low, &high, &at)) return false;
        const unsigned width = high - low + 1;
        const uint64_t mask = width == 64 ? UINT64_MAX : (UINT64_C(1) << width) - 1;
        bits = (bits & ~(mask << low)) | (value & mask) << low;
        value = width == 64 ? 0 : value >> width;
        if (*at == '\0') break;
        if (*at++ != ',') return false;
    }
    if (value != 0) return false;
    config[which] = bits;
    return true;
}

bool fm_pmu_device_set(const fm_pmu_device *device, const char *field, uint64_t value, uint64_t config[3])
{
    char format[128];
    return !strchr(field, '/') && device_read(device, "format/", field, format, sizeof format) &&
           fm_pmu_format_apply(format, value, config);
}

bool fm_pmu_device_event(const fm_pmu_device *device, const char *name, uint64_t config[3])
{
    char text[256], *next = NULL;
    uint64_t made[3] = {0};
    if (!device_read(device, "events/", name, text, sizeof text) || !text[0]) return false;
    for (char *term = strtok_r(text, ",", &next); term; term = strtok_r(NULL, ",", &next)) {
        char *equals = strchr(term, '=');
        uint64_t value = 1; /* a field of its own: it is on */
        if (equals) *equals = '\0';
        if (equals && !parse_number(equals + 1, &value)) return false;
        if (!fm_pmu_device_set(device, term, value, made)) return false;
    }
    memcpy(config, made, sizeof made);
    return true;
}

/* ---- pmu machine ---- */

enum { CAP_SYS_ADMIN_BIT = 21, CAP_PERFMON_BIT = 38, PARANOID_USUAL = 2 };

/* ---- looking ---- */

static FILE *open_under(const char *root, const char *path)
{
    char name[1024];
    if (snprintf(name, sizeof name, "%s%s", root, path) >= (int)sizeof name) return NULL;
    return fopen(name, "re");
}

/* The text behind the colon of "name   : text"; NULL: it is another line. */
static const char *value_of(char *line, const char *name)
{
    const size_t length = strlen(name);
    if (strncmp(line, name, length) != 0) return NULL;
    const char *at = line + length + strspn(line + length, " \t");
    if (*at != ':') return NULL;
    line[strcspn(line, "\n")] = '\0';
    return at + 1 + strspn(at + 1, " \t");
}

static bool has_word(const char *text, const char *word)
{
    const size_t length = strlen(word);
    for (const char *at = text; (at = strstr(at, word)) != NULL; at += length)
        if ((at == text || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0')) return true;
    return false;
}

static void look_at_processor(fm_pmu_machine *machine, const char *root)
{
    char *line = NULL;
    size_t room = 0;
    FILE *file = open_under(root, "/proc/cpuinfo");
    if (!file) return;
    while (getline(&line, &room, file) > 1) { /* the first processor: an empty line ends it */
        const char *value;
        if ((value = value_of(line, "vendor_id")))
            machine->vendor = strcmp(value, "GenuineIntel") == 0   ? FM_PMU_VENDOR_INTEL
                              : strcmp(value, "AuthenticAMD") == 0 ? FM_PMU_VENDOR_AMD
                                                                   : FM_PMU_VENDOR_OTHER;
        else if ((value = value_of(line, "cpu family")))
            machine->family = (unsigned)strtoul(value, NULL, 10);
        else if ((value = value_of(line, "flags")))
            machine->virtual = has_word(value, "hypervisor");
    }
    free(line);
    fclose(file);
}

/* Before Linux 5.18, a signal of a perf event that comes while it is blocked kills the process. */
static bool kernel_is_old(const fm_pmu_machine *machine)
{
    char *end;
    const long major = strtol(machine->kernel, &end, 10), minor = *end == '.' ? strtol(end + 1, NULL, 10) : 0;
    return major > 0 && (major < 5 || (major == 5 && minor < 18));
}

static void look_at_rights(fm_pmu_machine *machine, const char *root)
{
    char text[32], directory[1024];
    uint64_t rights;
    machine->paranoid = PARANOID_USUAL;
    if (pmu_file_read(root, "/proc/sys/kernel/perf_event_paranoid", text, sizeof text))
        machine->paranoid = (int)strtol(text, NULL, 10);
    snprintf(directory, sizeof directory, "%s/proc/self", root);
    if (fm_proc_status(directory, "CapEff", 16, &rights))
        machine->privileged = rights >> CAP_PERFMON_BIT & 1 || rights >> CAP_SYS_ADMIN_BIT & 1;
}

void fm_pmu_machine_look(fm_pmu_machine *machine, const char *root)
{
    *machine = (fm_pmu_machine){0};
    if (!pmu_file_read(root, "/proc/sys/kernel/osrelease", machine->kernel, sizeof machine->kernel))
        machine->kernel[0] = '\0';
    look_at_processor(machine, root);
    look_at_rights(machine, root);
    machine->has_core = fm_pmu_device_find(&machine->core, root, "cpu");
    if (!machine->has_core)
        machine->hybrid = machine->has_core = fm_pmu_device_find(&machine->core, root, "cpu_core");
    machine->has_ibs = fm_pmu_device_find(&machine->ibs, root, "ibs_op");
    if (!machine->has_core) return;
    machine->precise = (unsigned)pmu_device_number(&machine->core, "caps/max_precise", 0);
    machine->readable = pmu_device_number(&machine->core, "rdpmc", 1) != 0;
    if (!pmu_file_read(machine->core.directory, "/caps/pmu_name", machine->model, sizeof machine->model))
        machine->model[0] = '\0';
}

/* ---- words ---- */

static const char pass_on[] = "let the hypervisor pass them on (KVM: -cpu host,pmu=on), or run on the host";

static bool can_intel(const fm_pmu_machine *machine, char *why, size_t size)
{
    if (machine->precise >= 2) return true;
    snprintf(why, size, "the processor's counters tell no addresses here (PEBS: caps/max_precise is %u)%s%s",
             machine->precise, machine->virtual ? ", as this is a virtual machine; " : "",
             machine->virtual ? pass_on : "");
    return false;
}

static bool can_amd(const fm_pmu_machine *machine, char *why, size_t size)
{
    if (!machine->has_ibs) {
        snprintf(why, size, "the kernel shows no ibs_op, by which processors of AMD tell addresses%s",
                 machine->virtual ? ", as this is a virtual machine; run on the host" : "");
        return false;
    }
    if (pmu_device_has(&machine->ibs, "format/swfilt") || machine->privileged || machine->paranoid < 2)
        return true;
    snprintf(why, size,
             "on this kernel AMD's ibs_op cannot leave out the kernel, which needs rights: "
             "kernel.perf_event_paranoid is %d. Remedy: sysctl kernel.perf_event_paranoid=1, or run as root",
             machine->paranoid);
    return false;
}

bool fm_pmu_machine_can(const fm_pmu_machine *machine, char *why, size_t size)
{
    why[0] = '\0';
    if (machine->vendor == FM_PMU_VENDOR_OTHER)
        snprintf(why, size, "the processor is neither Intel's nor AMD's");
    else if (!machine->has_core && machine->virtual)
        snprintf(why, size, "this is a virtual machine that shows no performance counters; %s", pass_on);
    else if (!machine->has_core)
        snprintf(why, size,
                 "the kernel shows no performance counters (no cpu in /sys/bus/event_source/devices)");
    else if (kernel_is_old(machine))
        snprintf(why, size, "Linux %s is too old: 5.18 is needed", machine->kernel);
    else if (machine->paranoid > 2 && !machine->privileged)
        snprintf(
            why, size,
            "kernel.perf_event_paranoid is %d: performance counters are not for everybody. Remedy: sysctl "
            "kernel.perf_event_paranoid=2, or run as root; in a container --cap-add=PERFMON",
            machine->paranoid);
    else if (!machine->readable)
        snprintf(why, size,
                 "programs may not read counters. Remedy: echo 1 > /sys/bus/event_source/devices/%s/rdpmc",
                 machine->hybrid ? "cpu_core" : "cpu");
    else
        return machine->vendor == FM_PMU_VENDOR_INTEL ? can_intel(machine, why, size)
                                                      : can_amd(machine, why, size);
    return false;
}

void fm_pmu_machine_refused(const fm_pmu_machine *machine, int error, char *why, size_t size)
{
    switch (error) {
    case EACCES:
    case EPERM:
        snprintf(
            why, size,
            "the kernel does not allow it (%s; kernel.perf_event_paranoid is %d). Remedy: in a container "
            "--cap-add=PERFMON and a seccomp profile that allows perf_event_open; else sysctl "
            "kernel.perf_event_paranoid=%d or less, or run as root",
            strerror(error), machine->paranoid, machine->paranoid > 1 ? 1 : 0);
        break;
    case ENOSYS:
        snprintf(why, size,
                 "there is no perf_event_open: the kernel was built without it, or a sandbox hides it");
        break;
    case ENOENT:
    case ENODEV:
    case EOPNOTSUPP:
    case EINVAL:
        snprintf(why, size, "the kernel cannot count loads and stores with addresses here (%s)%s%s%s",
                 strerror(error),
                 machine->vendor == FM_PMU_VENDOR_AMD ? "; threads can be sampled by ibs_op since Linux 6.4"
                                                      : "",
                 machine->virtual ? ", as this is a virtual machine; " : "", machine->virtual ? pass_on : "");
        break;
    case EBUSY:
        snprintf(why, size, "another program has the performance counters (%s)", strerror(error));
        break;
    default:
        snprintf(why, size, "perf_event_open failed: %s", strerror(error));
    }
}

/* ---- pmu module ---- */

const fm_pfm_module *fm_pfm_load(const char *parts)
{
    char path[PATH_MAX];
    fm_error error;
    if (!fm_part_find(parts, FM_PFM_FILE, path, sizeof path)) return NULL;
    return fm_part_load(path, FM_PFM_SYMBOL, FM_PFM_INTERFACE, false, &error);
}

/* ---- pmu choice ---- */

/*
 * By which method a run is sampled: performance counters where there are some that tell
 * addresses, and where they may be used; else a clock, and a note says why. Larger blocks than a register
 * watches are sampled by a clock, too, unless counters were asked for: a burst sees all of a block.
 */

enum { REGISTER_BYTES = 8 };

/* A block is watched by as many of its bytes as a register can. */
static uint32_t watch_bytes(const fm_sampled_run_options *options)
{
    uint64_t least = REGISTER_BYTES;
    for (size_t i = 0; i < options->granularity_count; i++)
        if (options->granularities[i] < least) least = options->granularities[i];
    return (uint32_t)least;
}

static bool has_larger_blocks(const fm_sampled_run_options *options)
{
    for (size_t i = 0; i < options->granularity_count; i++)
        if (options->granularities[i] > REGISTER_BYTES) return true;
    return false;
}

/* For tests: a machine that is not this one. */
static const char *root_of_machine(void)
{
    const char *root = getenv("FATHOM_TEST_MACHINE");
    return root ? root : "";
}

static bool plan_counters(const fm_sampled_run_options *options, fm_pmu_plan *made)
{
    fm_pmu_machine machine;
    const fm_pmu_request request = {.period = options->period,
                                    .rate = options->rate,
                                    .share = options->overhead,
                                    .watch_bytes = watch_bytes(options),
                                    .names = fm_pfm_load(options->parts)};
    fm_pmu_machine_look(&machine, root_of_machine());
    return fm_pmu_plan_make(made, &machine, &request) && fm_pmu_plan_try(made, &machine, &request);
}

fm_status fm_sampled_run_choose(fm_sampled_run *run, fm_error *error)
{
    const fm_sampled_run_options *options = &run->options;
    fm_pmu_plan made;
    if (options->method == FM_SAMPLED_RUN_SOFTWARE ||
        /* Which accesses are a function's is exact in bursts, and inferred by single samples. */
        (options->method == FM_SAMPLED_RUN_ANY && (options->no_watches || options->function)))
        return FM_OK;
    if (!plan_counters(options, &made)) {
        if (options->method == FM_SAMPLED_RUN_PMU)
            return fm_fail(error, FM_E_UNSUPPORTED, NULL,
                           "performance counters cannot be used: %s. Without them: the method software",
                           made.why);
        fm_sampled_run_note(run, "sampled without performance counters: %s", made.why);
        return FM_OK;
    }
    if (options->method == FM_SAMPLED_RUN_ANY && has_larger_blocks(options)) {
        fm_sampled_run_note(
            run, "sampled without performance counters, which watch single words and would miss other "
                 "uses of a block (the method pmu uses them, the granularity 8 is about words)");
        return FM_OK;
    }
    fm_sample_session *session = run->memory.session;
    session->method = FM_SAMPLE_METHOD_PMU;
    session->pmu = made.events;
    if (options->plain_reservoir) session->wants |= FM_SAMPLE_WANT_PLAIN;
    run->context.counters = true;
    memcpy(run->counters, made.name, sizeof run->counters);
    return FM_OK;
}
