/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pmu_sample.c - samples by performance counters, as in Q. Wang, X. Liu, M. Chabbi: Featherlight
 * reuse-distance measurement, HPCA 2019, section IV: an event has counted so many loads, or stores, and tells
 * the address of one. That use may get a debug register (reservoir.h). Both at the use and when the register
 * traps the counters are read: the accesses in between are the time distance.
 */
#define _GNU_SOURCE
#define _GNU_SOURCE /* REG_RSP */
#include "collect/sample/pmu_record.h"
#include "collect/sample/sampler.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>

/*
 * ==== events ====
 *
 * The performance counters of a thread: opens the events that the session lists, counts.
 *
 * As with watches, descriptors are closed at once, and mappings keep the events alive. So counts are read by
 * the mapped page and the rdpmc instruction; no system call is needed for it.
 */

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

/* Accesses of the thread so far, without our own; in the region. */
static uint64_t pmu_accesses(const fm_sampler_thread *thread)
{
    uint64_t sum = 0, count;
    if (thread->pmu.outside) return thread->pmu.stands;
    for (uint32_t i = 0; i < event_count(); i++)
        if (wanted_events()->events[i].roles & FM_SAMPLE_PMU_COUNTS && thread->pmu.pages[i] &&
            fm_pmu_count(thread->pmu.pages[i], &count))
            sum += count;
    return sum > thread->pmu.own ? sum - thread->pmu.own : 0;
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
    thread->pmu.own = pmu_accesses(thread); /* from here on */
    thread->pmu.outside = fm_sampler_outside();
}

void fm_sampler_pmu_region(fm_sampler_thread *thread, bool enters)
{
    if (!thread->pmu.on || enters != thread->pmu.outside) return;
    if (enters) {
        thread->pmu.outside = false;
        const uint64_t now = pmu_accesses(thread);
        if (now > thread->pmu.stands) thread->pmu.own += now - thread->pmu.stands;
    } else {
        thread->pmu.stands = pmu_accesses(thread);
        thread->pmu.outside = true;
    }
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
    const uint64_t accesses = pmu_accesses(thread);
    if (accesses > thread->work) thread->work = accesses;
    thread->lane->time = time;
    if (stood_still(thread)) fm_sampler_trouble(FM_SAMPLE_TROUBLE_SHARED);
}

enum { RECORDS_MOST = 1024 };
/* Above this there are no addresses of programs. */
#define ADDRESS_MOST (UINT64_C(1) << 56)

/* From the beginning of a handler to its end. */
typedef struct visit {
    uint64_t accesses, time;
} visit;

static visit visit_enter(fm_sampler_thread *thread)
{
    thread->busy = true;
    const visit now = {pmu_accesses(thread), fm_sampler_cpu()};
    if (now.accesses > thread->work) thread->work = now.accesses;
    return now;
}

static void visit_leave(fm_sampler_thread *thread, visit then, uint64_t cost)
{
    fm_sample_lane *lane = thread->lane;
    lane->work = thread->work;
    const uint64_t now = fm_sampler_cpu();
    lane->time = then.time > thread->own ? then.time - thread->own : 0;
    thread->own += now - then.time + cost;
    lane->own = thread->own;
    thread->pmu.own += pmu_accesses(thread) - then.accesses + FM_SAMPLER_HANDLER_ACCESSES;
    thread->busy = false;
}

/* ---- the ring ---- */

/* The newest sample of an event's ring, all of which is read. False: there is none that is the program's. */
static bool newest_record(fm_sampler_thread *thread, uint32_t event, fm_pmu_record *sample)
{
    struct perf_event_mmap_page *page = thread->pmu.pages[event];
    fm_sample_lane *lane = thread->lane;
    const uint8_t *ring = (const uint8_t *)page + PAGE;
    const uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
    uint64_t tail = page->data_tail, found = 0;
    fm_pmu_record record;
    for (uint32_t i = 0; i < RECORDS_MOST; i++) {
        const fm_pmu_record_kind kind = fm_pmu_record_next(
            ring, PAGE, head, &tail, fm_self.session->pmu.events[event].sample_type, &record);
        if (kind == FM_PMU_RECORD_NONE) break;
        if (kind == FM_PMU_RECORD_LOST || kind == FM_PMU_RECORD_DAMAGED)
            lane->dropped += kind == FM_PMU_RECORD_LOST ? record.lost : 1;
        if (kind == FM_PMU_RECORD_THROTTLE) lane->throttled++;
        if (kind != FM_PMU_RECORD_SAMPLE) continue;
        if (!record.user || record.address == 0 || record.address >= ADDRESS_MOST ||
            fm_sampler_is_own_code(record.ip) || fm_sampler_is_own_data(record.address)) {
            lane->foreign++;
            continue;
        }
        lane->stale += found > 0; /* the accesses since it are not known */
        found++;
        *sample = record;
    }
    __atomic_store_n(&page->data_tail, tail, __ATOMIC_RELEASE);
    return found > 0;
}

/* ---- a use ---- */

/* It gets a register, or not. */
static void use_watch(fm_sampler_thread *thread, fm_sample_use *use)
{
    const fm_reservoir_choice choice = fm_reservoir_offer(&thread->reservoir);
    use->armed = choice.armed;
    if (choice.place < 0) return;
    const uint32_t place = (uint32_t)choice.place;
    if (choice.replaces) fm_sampler_replaced(thread, place, choice.replaced_kept);
    if (!fm_sampler_arm(thread, place, use->address)) {
        fm_reservoir_release(&thread->reservoir, place);
        return;
    }
    use->place = place;
    fm_sample_watched *watched = &thread->lane->watches[place];
    watched->end = FM_SAMPLE_WATCH_ENDED;
    watched->burst = use->number;
    watched->address = use->address;
    watched->position = 0;
    watched->begin = use->position;
    watched->armed = choice.armed;
    watched->kept = UINT64_C(1) << FM_RESERVOIR_KEPT_BITS;
    __atomic_store_n(&watched->on, 1, __ATOMIC_RELEASE);
}

/* What leads to its callers and its data. */
static void tell_place(fm_sampler_thread *thread, const ucontext_t *context, fm_sample_record *record)
{
    fm_sample_use *use = &record->is.use;
    use->ticks = fm_sampler_ticks();
    use->stack = (uint64_t)context->uc_mcontext.gregs[REG_RSP];
    __asm__("mov %%fs:0, %0" : "=r"(use->fs_base)); /* which stands there */
    if (!(fm_self.session->wants & FM_SAMPLE_WANT_PATHS)) return;
    record->slab = fm_sampler_claim_slab(thread, 0);
    if (record->slab == FM_SAMPLE_NOWHERE)
        fm_sampler_wake();
    else
        use->stack_bytes = fm_sampler_tell_stack(record->slab, context);
}

static void record_take(fm_sampler_thread *thread, uint32_t event, const fm_pmu_record *sample,
                        const ucontext_t *context)
{
    const fm_sample_pmu_event *wanted = &fm_self.session->pmu.events[event];
    fm_sample_record record = {.kind = FM_SAMPLE_RECORD_USE, .slab = FM_SAMPLE_NOWHERE};
    fm_sample_use *use = &record.is.use;
    use->position = thread->work;
    use->address = sample->address;
    use->code = sample->ip;
    use->period = sample->period ? sample->period : wanted->period;
    use->latency = sample->weight;
    use->source = sample->source;
    use->place = FM_SAMPLE_NOWHERE;
    use->event = event;
    if (wanted->roles & FM_SAMPLE_PMU_USES) {
        use->number = ++thread->bursts;
        if (fm_self.watching) use_watch(thread, use);
        thread->lane->bursts++;
    }
    tell_place(thread, context, &record);
    if (fm_sampler_record(thread, &record)) return;
    if (record.slab != FM_SAMPLE_NOWHERE) fm_sampler_free_slab(record.slab);
    fm_sampler_unheard(); /* nobody may read any more */
}

void fm_sampler_pmu_sample(fm_sampler_thread *thread, uint32_t event, const ucontext_t *context)
{
    fm_pmu_record sample = {0};
    if (!thread->pmu.on || event >= fm_self.session->pmu.event_count || !thread->pmu.pages[event] ||
        fm_self.session->pmu.events[event].period == 0)
        return;
    const visit begun = visit_enter(thread);
    if (newest_record(thread, event, &sample) && !fm_sampler_outside())
        record_take(thread, event, &sample, context);
    visit_leave(thread, begun, FM_SAMPLER_TICK_COST);
}

void fm_sampler_pmu_trapped(fm_sampler_thread *thread, uint32_t place, const ucontext_t *context)
{
    if (!thread->pmu.on) return;
    const visit begun = visit_enter(thread);
    fm_sampler_trapped(thread, place, context);
    visit_leave(thread, begun, FM_SAMPLER_TRAP_COST);
}

void fm_sampler_pmu_tick(fm_sampler_thread *thread)
{
    thread->lane->ticks++;
    if (!thread->pmu.on) return;
    visit_leave(thread, visit_enter(thread), FM_SAMPLER_TICK_COST / 2);
}
