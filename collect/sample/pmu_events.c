/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pmu_events.c - the performance counters of a thread: opens the events that the session lists, counts.
 *
 * As with watches, descriptors are closed at once, and mappings keep the events alive. So counts are read by
 * the mapped page and the rdpmc instruction; no system call is needed for it.
 */
#define _GNU_SOURCE
#include "collect/sample/pmu_record.h"
#include "collect/sample/sampler.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>

enum { PAGE = 4096 };

__attribute__((visibility("default"))) long fathom_sample_perf_event_open(struct perf_event_attr *event,
                                                                          int group)
{
    return fm_syscall(__NR_perf_event_open, (long)event, 0, -1, group, PERF_FLAG_FD_CLOEXEC, 0);
}

static const fm_sample_pmu *wanted_events(void)
{
    return &fm_self.session->pmu;
}

static uint32_t event_count(void)
{
    const uint32_t count = wanted_events()->event_count;
    return count < FM_SAMPLE_PMU_EVENTS ? count : FM_SAMPLE_PMU_EVENTS;
}

/* The page of counts, and the ring behind it. */
static size_t mapped_bytes(const fm_sample_pmu_event *wanted)
{
    return wanted->period ? 2 * PAGE : PAGE;
}

static void event_describe(const fm_sample_pmu_event *wanted, uint32_t number, struct perf_event_attr *event)
{
    memset(event, 0, sizeof *event);
    event->size = sizeof *event;
    event->type = wanted->type;
    event->config = wanted->config;
    event->config1 = wanted->config1;
    event->config2 = wanted->config2;
    event->exclude_kernel = !(wanted->roles & FM_SAMPLE_PMU_KERNEL);
    event->exclude_hv = !(wanted->roles & FM_SAMPLE_PMU_KERNEL);
    event->remove_on_exec = 1;
    if (!wanted->period) return;
    event->freq = (wanted->roles & FM_SAMPLE_PMU_RATE) != 0;
    event->sample_period = wanted->period;
    event->sample_type = wanted->sample_type;
    event->precise_ip = wanted->precise & 3;
    /* One at a time: else the processor collects samples, and we would hear of them when they are old. */
    event->wakeup_events = 1;
    event->sigtrap = 1;
    event->sig_data = FM_SAMPLE_TRAP_PMU + number;
}

static long ring_map(long file, size_t bytes)
{
    return fm_syscall(__NR_mmap, 0, (long)bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
}

static bool call_failed(long result)
{
    return result < 0 && result > -PAGE;
}

void fm_sampler_pmu_end(fm_sampler_thread *thread)
{
    thread->pmu.on = false;
    for (uint32_t i = 0; i < FM_SAMPLE_PMU_EVENTS; i++) {
        if (thread->pmu.pages[i]) fm_unmap(thread->pmu.pages[i], thread->pmu.bytes[i]);
        thread->pmu.pages[i] = NULL;
    }
}

/* 0, or -errno. *file: of the event, to be closed. */
static long open_event(fm_sampler_thread *thread, uint32_t i, int leader, long *file)
{
    struct perf_event_attr event;
    event_describe(&wanted_events()->events[i], i, &event);
    *file = fathom_sample_perf_event_open(&event, leader);
    if (*file < 0) return *file;
    const long page = ring_map(*file, mapped_bytes(&wanted_events()->events[i]));
    if (call_failed(page)) return page;
    thread->pmu.pages[i] = (void *)page;
    thread->pmu.bytes[i] = mapped_bytes(&wanted_events()->events[i]);
    uint64_t count;
    if (wanted_events()->events[i].roles & FM_SAMPLE_PMU_COUNTS && !fm_pmu_count((void *)page, &count))
        return -ENOTSUP;
    return 0;
}

void fm_sampler_pmu_begin(fm_sampler_thread *thread)
{
    long files[FM_SAMPLE_PMU_EVENTS] = {-1, -1, -1, -1}, result = 0;
    if (thread->pmu.on) return;
    for (uint32_t i = 0; i < event_count() && result == 0; i++) {
        const bool member = i > 0 && wanted_events()->events[i - 1].roles & FM_SAMPLE_PMU_LEADS;
        result = open_event(thread, i, member ? (int)files[i - 1] : -1, &files[i]);
    }
    for (uint32_t i = 0; i < FM_SAMPLE_PMU_EVENTS; i++)
        if (files[i] >= 0) fm_close((int)files[i]);
    if (result != 0) {
        fm_self.process->pmu_error = (int32_t)-result;
        fm_sampler_trouble(FM_SAMPLE_TROUBLE_PMU);
        fm_sampler_pmu_end(thread);
        return;
    }
    thread->pmu.own = thread->pmu.stands = 0;
    thread->pmu.outside = false;
    thread->pmu.on = true;
    thread->pmu.own = fm_sampler_pmu_accesses(thread); /* from here on */
    thread->pmu.outside = fm_sampler_outside();
}

void fm_sampler_pmu_region(fm_sampler_thread *thread, bool enters)
{
    if (!thread->pmu.on || enters != thread->pmu.outside) return;
    if (enters) {
        thread->pmu.outside = false;
        const uint64_t now = fm_sampler_pmu_accesses(thread);
        if (now > thread->pmu.stands) thread->pmu.own += now - thread->pmu.stands;
    } else {
        thread->pmu.stands = fm_sampler_pmu_accesses(thread);
        thread->pmu.outside = true;
    }
}

uint64_t fm_sampler_pmu_accesses(const fm_sampler_thread *thread)
{
    uint64_t sum = 0, count;
    if (thread->pmu.outside) return thread->pmu.stands;
    for (uint32_t i = 0; i < event_count(); i++)
        if (wanted_events()->events[i].roles & FM_SAMPLE_PMU_COUNTS && thread->pmu.pages[i] &&
            fm_pmu_count(thread->pmu.pages[i], &count))
            sum += count;
    return sum > thread->pmu.own ? sum - thread->pmu.own : 0;
}

/* Events that were not in a counter all the time. */
static bool stood_still(const fm_sampler_thread *thread)
{
    for (uint32_t i = 0; i < event_count(); i++) {
        const struct perf_event_mmap_page *page = thread->pmu.pages[i];
        if (page && page->time_running < page->time_enabled - page->time_enabled / 16) return true;
    }
    return false;
}

void fm_sampler_now(fm_sampler_thread *thread)
{
    const uint64_t used = fm_sampler_cpu(), time = used > thread->own ? used - thread->own : 0;
    if (!fm_self.counting) {
        thread->work = fm_sampler_worked(thread, used);
        return;
    }
    if (!thread->pmu.on) return;
    const uint64_t accesses = fm_sampler_pmu_accesses(thread);
    if (accesses > thread->work) thread->work = accesses;
    thread->lane->time = time;
    if (stood_still(thread)) fm_sampler_trouble(FM_SAMPLE_TROUBLE_SHARED);
}
