/* SPDX-License-Identifier: Apache-2.0 */
/* test_pmu_kernel.c - the ring of a perf event that this kernel writes: page faults, which have addresses
 * too, opened, mapped, closed and read as counters are (collect/sample/pmu_sample.c). Judge: the pages that
 * were touched. */
#define _GNU_SOURCE
#include "case.h"

#include "collect/cc/system.h"
#include "collect/sample/pmu_record.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 500 }; /* records go round the ring several times */
#define TYPE                                                                                                 \
    (PERF_SAMPLE_IP | PERF_SAMPLE_ADDR | PERF_SAMPLE_PERIOD | PERF_SAMPLE_WEIGHT | PERF_SAMPLE_DATA_SRC)

static struct perf_event_mmap_page *page;
static uint64_t addresses[2 * PAGES], periods;
static unsigned found, others, of_kernel;

static void on_signal(int number, siginfo_t *information, void *context)
{
    (void)number, (void)information, (void)context;
    if (!page) return; /* it is on from the beginning */
    const uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
    uint64_t tail = page->data_tail;
    fm_pmu_record record;
    for (;;) {
        const fm_pmu_record_kind kind =
            fm_pmu_record_next((const uint8_t *)page + PAGE, PAGE, head, &tail, TYPE, &record);
        if (kind == FM_PMU_RECORD_NONE) break;
        others += kind != FM_PMU_RECORD_SAMPLE;
        if (kind != FM_PMU_RECORD_SAMPLE || found == 2 * PAGES) continue;
        of_kernel += !record.user;
        periods += record.period;
        addresses[found++] = record.address;
    }
    __atomic_store_n(&page->data_tail, tail, __ATOMIC_RELEASE);
}

CASE(pages_that_are_touched)
{
    const struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_NODEFER};
    struct perf_event_attr event;
    memset(&event, 0, sizeof event);
    event.size = sizeof event;
    event.type = PERF_TYPE_SOFTWARE;
    event.config = PERF_COUNT_SW_PAGE_FAULTS;
    event.exclude_kernel = event.exclude_hv = 1;
    event.remove_on_exec = 1;
    event.sample_period = 1;
    event.sample_type = TYPE;
    event.wakeup_events = 1;
    event.sigtrap = 1;
    assert_int_equal(sigaction(SIGTRAP, &action, NULL), 0);
    char *memory = fm_map((size_t)PAGES * PAGE, -1, 0);
    assert_non_null(memory);
    madvise(memory, (size_t)PAGES * PAGE, MADV_NOHUGEPAGE);
    const long file = fm_syscall(__NR_perf_event_open, (long)&event, 0, -1, -1, PERF_FLAG_FD_CLOEXEC, 0);
    if (file < 0) {
        print_message("SKIP: perf events are refused here: %s\n", strerror((int)-file));
        skip();
    }
    page = fm_map((size_t)2 * PAGE, (int)file, 0);
    fm_close((int)file); /* the mapping keeps it alive */
    assert_non_null(page);
    for (int i = 0; i < PAGES; i++) *(volatile char *)(memory + (size_t)i * PAGE + 24) = 1;
    const unsigned before = found;
    fm_unmap(page, (size_t)2 * PAGE); /* and ends it */
    char *more = fm_map((size_t)PAGE, -1, 0);
    more[0] = 1;
    assert_int_equal(found, before);
    assert_int_equal(others, 0);
    assert_int_equal(of_kernel, 0);
    assert_int_equal(periods, found);
    unsigned next = 0; /* faults elsewhere may be among them */
    for (unsigned i = 0; i < found && next < PAGES; i++)
        next += addresses[i] == (uint64_t)(uintptr_t)memory + (uint64_t)next * PAGE + 24;
    assert_int_equal(next, PAGES);
}
