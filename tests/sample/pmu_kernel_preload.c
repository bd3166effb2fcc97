/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preloaded into fathom by tests: a kernel that allows all perf events, or refuses those of processors with
 * the error in FAKE_KERNEL_REFUSES. FAKE_KERNEL_CLOCK: clocks are the real kernel's. What the events would
 * do, fake_pmu.c does in the program.
 */
#define _GNU_SOURCE
#include "collect/cc/system.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((visibility("default"))) long syscall(long number, ...)
{
    long given[6];
    va_list arguments;
    va_start(arguments, number);
    for (int i = 0; i < 6; i++) given[i] = va_arg(arguments, long);
    va_end(arguments);
    long result;
    const struct perf_event_attr *wanted = (const struct perf_event_attr *)given[0];
    if (number == __NR_perf_event_open &&
        !(wanted->type == PERF_TYPE_SOFTWARE && getenv("FAKE_KERNEL_CLOCK"))) {
        const char *refused = wanted->type == PERF_TYPE_SOFTWARE ? NULL : getenv("FAKE_KERNEL_REFUSES");
        result = refused ? -atoi(refused) : fm_open("/dev/null", O_RDONLY | O_CLOEXEC);
    } else {
        result = fm_syscall(number, given[0], given[1], given[2], given[3], given[4], given[5]);
    }
    if (result >= 0 || result < -4095) return result;
    errno = (int)-result;
    return -1;
}
