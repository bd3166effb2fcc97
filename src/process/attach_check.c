/* SPDX-License-Identifier: Apache-2.0 */
/* attach_check.c - see tracee.h. */
#define _GNU_SOURCE
#include "process/tracee.h"

#include "base/error.h"
#include "process/program_file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { KERNEL_THREAD = 0x00200000 }; /* PF_KTHREAD */

/* ---- /proc ---- */

/* A number of /proc/<pid>/status. */
static bool status_number(long pid, const char *name, long *value)
{
    char directory[64];
    uint64_t number;
    snprintf(directory, sizeof directory, "/proc/%ld", pid);
    if (!fm_proc_status(directory, name, 10, &number)) return false;
    *value = (long)number;
    return true;
}

static long read_setting(const char *path)
{
    char text[32] = "";
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return -1;
    const ssize_t got = read(file, text, sizeof text - 1);
    close(file);
    return got > 0 ? strtol(text, NULL, 10) : -1;
}

/* Is it in the namespace that we are in? What cannot be seen counts as the same. */
static bool same_namespace(pid_t pid, const char *kind)
{
    char path[64];
    struct stat ours, theirs;
    snprintf(path, sizeof path, "/proc/self/ns/%s", kind);
    if (stat(path, &ours) != 0) return true;
    snprintf(path, sizeof path, "/proc/%ld/ns/%s", (long)pid, kind);
    return stat(path, &theirs) != 0 || (ours.st_ino == theirs.st_ino && ours.st_dev == theirs.st_dev);
}

/* ---- reasons ---- */

fm_status fm_attach_refused(pid_t pid, int why, fm_error *error)
{
    long tracer = 0, uid = -1;
    if (why == ESRCH || why == ENOENT || kill(pid, 0) != 0)
        if (why != EPERM && why != EACCES)
            return fm_fail(error, FM_E_IO, NULL, "process %ld ended while it was being attached to",
                           (long)pid);
    if (status_number(pid, "TracerPid", &tracer) && tracer > 0) {
        status_number(tracer, "Tgid", &tracer); /* it may be any thread of a process */
        return fm_fail(
            error, FM_E_IO, NULL,
            "process %ld is traced by process %ld (a debugger, strace, another fathom): only one can "
            "at a time",
            (long)pid, tracer);
    }
    const bool known = status_number(pid, "Uid", &uid);
    if (known && uid != (long)getuid() && geteuid() != 0)
        return fm_fail(error, FM_E_IO, NULL,
                       "process %ld belongs to another user (%ld): run fathom as that user, or as root",
                       (long)pid, uid);
    const long scope = read_setting("/proc/sys/kernel/yama/ptrace_scope");
    if (scope == 3)
        return fm_fail(error, FM_E_IO, NULL,
                       "process %ld cannot be attached to: kernel.yama.ptrace_scope is 3, which cannot be "
                       "changed until the next boot. `fathom sample -- PROGRAM` needs no such right",
                       (long)pid);
    if (scope > 0)
        return fm_fail(error, FM_E_IO, NULL,
                       "process %ld cannot be attached to: kernel.yama.ptrace_scope is %ld. Remedy: sysctl "
                       "kernel.yama.ptrace_scope=0, or the capability CAP_SYS_PTRACE (root; in a container "
                       "--cap-add=SYS_PTRACE)",
                       (long)pid, scope);
    return fm_fail(
        error, FM_E_IO, NULL,
        "process %ld cannot be attached to (%s): it protects its memory (it was setuid, or said so "
        "by prctl), or ptrace is forbidden here (in a container: --cap-add=SYS_PTRACE)",
        (long)pid, strerror(why));
}

static fm_status check_state(pid_t pid, fm_error *error)
{
    long state, tracer = 0;
    if (!fm_proc_stat((uint32_t)pid, FM_PROC_STATE, &state))
        return fm_fail(error, FM_E_IO, NULL, "there is no process %ld", (long)pid);
    if (status_number(pid, "TracerPid", &tracer) && tracer > 0) return fm_attach_refused(pid, EPERM, error);
    if (state == 'Z' || state == 'X')
        return fm_fail(error, FM_E_IO, NULL, "process %ld has ended (a zombie: its parent has not asked yet)",
                       (long)pid);
    if (state == 'T' || state == 't')
        return fm_fail(error, FM_E_IO, NULL,
                       "process %ld is stopped: it has to run to be sampled (kill -CONT %ld)", (long)pid,
                       (long)pid);
    return FM_OK;
}

/* Has it given up more than we have? */
static fm_status check_seccomp(pid_t pid, fm_error *error)
{
    long mode = 0, ours = 0, filters = 0, our_filters = 0;
    if (!status_number(pid, "Seccomp", &mode) || mode == 0) return FM_OK;
    const bool known = status_number(getpid(), "Seccomp", &ours) &&
                       status_number(pid, "Seccomp_filters", &filters) &&
                       status_number(getpid(), "Seccomp_filters", &our_filters);
    if (known && mode == ours && filters <= our_filters) return FM_OK; /* a container's, for all in it */
    return fm_fail(
        error, FM_E_UNSUPPORTED, NULL,
        "process %ld has given up system calls (seccomp): it would be killed for those of the sampler",
        (long)pid);
}

/* The library must be there under the same name. */
static fm_status check_namespaces(pid_t pid, const char *library, fm_error *error)
{
    char path[PATH_MAX];
    struct stat ours, theirs;
    if (!same_namespace(pid, "pid"))
        return fm_fail(error, FM_E_UNSUPPORTED, NULL,
                       "process %ld is in another PID namespace (a container): run fathom inside of it",
                       (long)pid);
    if (snprintf(path, sizeof path, "/proc/%ld/root%s", (long)pid, library) >= (int)sizeof path) return FM_OK;
    if (stat(library, &ours) != 0 || (stat(path, &theirs) != 0 && errno == EACCES)) return FM_OK;
    if (stat(path, &theirs) == 0 && ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino)
        return FM_OK;
    return fm_fail(
        error, FM_E_UNSUPPORTED, NULL,
        "process %ld sees other files (a container, chroot): %s is not there for it. Run fathom inside "
        "of it",
        (long)pid, library);
}

static fm_status check_program(pid_t pid, fm_error *error)
{
    fm_program_file program;
    char name[PATH_MAX];
    memset(&program, 0, sizeof program);
    snprintf(program.path, sizeof program.path, "/proc/%ld/exe", (long)pid);
    const ssize_t length = readlink(program.path, name, sizeof name - 1);
    if (length < 0) {
        const int why = errno;
        long flags;
        if (why == EACCES || why == EPERM) return fm_attach_refused(pid, why, error);
        if (fm_proc_stat((uint32_t)pid, FM_PROC_FLAGS, &flags) && (flags & KERNEL_THREAD))
            return fm_fail(error, FM_E_UNSUPPORTED, NULL,
                           "process %ld is a thread of the kernel, not a program", (long)pid);
        return fm_attach_refused(pid, ESRCH, error);
    }
    name[length] = '\0';
    fm_status status = fm_program_look(&program, error);
    if (status != FM_OK) return status;
    memcpy(program.file, name, sizeof program.file); /* for messages */
    status = fm_program_refuse(&program, "sampled", "sampling", error);
    if (status != FM_OK) return status;
    if (!program.loader[0])
        return fm_fail(error, FM_E_UNSUPPORTED, name,
                       "is linked statically: the sampling runtime cannot be loaded into it. Link it "
                       "dynamically, or measure it exactly with `fathom run`");
    if (strstr(program.loader, "musl"))
        return fm_fail(error, FM_E_UNSUPPORTED, name,
                       "is linked with musl: the sampling runtime is for programs with the GNU C library");
    return FM_OK;
}

fm_status fm_attach_check(pid_t pid, const char *library, fm_error *error)
{
    if (pid <= 0) return fm_fail(error, FM_E_ARGUMENT, NULL, "there is no process %ld", (long)pid);
    if (pid == getpid())
        return fm_fail(error, FM_E_ARGUMENT, NULL, "process %ld is fathom itself", (long)pid);
    if (pid == 1)
        return fm_fail(error, FM_E_UNSUPPORTED, NULL,
                       "process 1 is the one that everything else depends on: it is not touched");
    long group;
    fm_status status = check_state(pid, error);
    if (status == FM_OK && status_number(pid, "Tgid", &group) && group != (long)pid)
        return fm_fail(error, FM_E_ARGUMENT, NULL, "%ld is a thread of process %ld: attach to that",
                       (long)pid, group);
    if (status == FM_OK) status = check_program(pid, error);
    if (status == FM_OK) status = check_seccomp(pid, error);
    if (status == FM_OK) status = check_namespaces(pid, library, error);
    return status;
}
