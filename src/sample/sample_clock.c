/* SPDX-License-Identifier: Apache-2.0 */
/* sample_clock.c - see sample_clock.h. */
#define _GNU_SOURCE
#include "sample/sample_clock.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

/* Before Linux 5.18, a signal of a perf event that comes while it is blocked kills the process. */
static int kernel_is_older(long major, long minor)
{
    struct utsname name;
    char *end;
    if (uname(&name) != 0) return 0;
    const long is_major = strtol(name.release, &end, 10),
               is_minor = *end == '.' ? strtol(end + 1, NULL, 10) : 0;
    return is_major < major || (is_major == major && is_minor < minor);
}

int fm_sample_clock_open(uint32_t thread, uint64_t nanoseconds, uint64_t data)
{
    /* For tests: as where perf events are refused. */
    const char *refused = getenv("FATHOM_TEST_NO_PERF");
    if (refused && refused[0]) return -EACCES;
    if (kernel_is_older(5, 18)) return -EOPNOTSUPP;
    struct perf_event_attr event;
    memset(&event, 0, sizeof event);
    event.size = sizeof event;
    event.type = PERF_TYPE_SOFTWARE;
    event.config = PERF_COUNT_SW_CPU_CLOCK;
    event.sample_period = nanoseconds;
    event.exclude_kernel = 1;
    event.exclude_hv = 1;
    event.inherit = 1;
    event.inherit_thread = 1;
    event.remove_on_exec = 1;
    event.sigtrap = 1;
    event.sig_data = data;
    const long file = syscall(SYS_perf_event_open, &event, (pid_t)thread, -1, -1, PERF_FLAG_FD_CLOEXEC);
    return file < 0 ? -errno : (int)file;
}
