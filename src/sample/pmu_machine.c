/* SPDX-License-Identifier: Apache-2.0 */
/* pmu_machine.c - see pmu_machine.h. */
#define _GNU_SOURCE
#include "sample/pmu_machine.h"

#include "process/program_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    if (fm_pmu_file_read(root, "/proc/sys/kernel/perf_event_paranoid", text, sizeof text))
        machine->paranoid = (int)strtol(text, NULL, 10);
    snprintf(directory, sizeof directory, "%s/proc/self", root);
    if (fm_proc_status(directory, "CapEff", 16, &rights))
        machine->privileged = rights >> CAP_PERFMON_BIT & 1 || rights >> CAP_SYS_ADMIN_BIT & 1;
}

void fm_pmu_machine_look(fm_pmu_machine *machine, const char *root)
{
    *machine = (fm_pmu_machine){0};
    if (!fm_pmu_file_read(root, "/proc/sys/kernel/osrelease", machine->kernel, sizeof machine->kernel))
        machine->kernel[0] = '\0';
    look_at_processor(machine, root);
    look_at_rights(machine, root);
    machine->has_core = fm_pmu_device_find(&machine->core, root, "cpu");
    if (!machine->has_core)
        machine->hybrid = machine->has_core = fm_pmu_device_find(&machine->core, root, "cpu_core");
    machine->has_ibs = fm_pmu_device_find(&machine->ibs, root, "ibs_op");
    if (!machine->has_core) return;
    machine->precise = (unsigned)fm_pmu_device_number(&machine->core, "caps/max_precise", 0);
    machine->readable = fm_pmu_device_number(&machine->core, "rdpmc", 1) != 0;
    if (!fm_pmu_file_read(machine->core.directory, "/caps/pmu_name", machine->model, sizeof machine->model))
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
    if (fm_pmu_device_has(&machine->ibs, "format/swfilt") || machine->privileged || machine->paranoid < 2)
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
