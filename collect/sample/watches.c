/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * watches.c - debug registers: the processor traps when a watched word is used again.
 *
 * Each is a perf event of the thread, which sends it SIGTRAP. Its descriptor is closed at once: a mapping
 * keeps the event alive, and the program's descriptors are as they would be without us.
 */
#define _GNU_SOURCE
#include "collect/sample/sampler.h"

#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <string.h>

enum { WORD = 8, PAGE = 4096, STRAYS_MOST = 16 };

/* Bytes that a watch is for: those of the smallest block that is asked for, as far as a register goes. */
static uint64_t watch_bytes(void)
{
    const uint64_t bytes = fm_self.counting ? fm_self.session->pmu.watch_bytes : WORD;
    return bytes == 1 || bytes == 2 || bytes == 4 ? bytes : WORD;
}

bool fm_sampler_arm(fm_sampler_thread *thread, uint32_t place, uint64_t address)
{
    struct perf_event_attr event;
    memset(&event, 0, sizeof event);
    event.size = sizeof event;
    event.type = PERF_TYPE_BREAKPOINT;
    event.bp_type = HW_BREAKPOINT_RW;
    event.bp_len = watch_bytes();
    event.bp_addr = address & ~(uint64_t)(event.bp_len - 1);
    event.sample_period = 1;
    event.sigtrap = 1;
    event.remove_on_exec = 1;
    event.exclude_kernel = 1;
    event.exclude_hv = 1;
    event.sig_data = FM_SAMPLE_TRAP_WATCH + place;
    const long file = fathom_sample_perf_event_open(&event, -1);
    long mapping = file;
    if (file >= 0) {
        mapping = fm_syscall(__NR_mmap, 0, PAGE, PROT_READ, MAP_SHARED, file, 0);
        fm_close((int)file);
    }
    if (mapping < 0 && mapping > -PAGE) {
        fm_self.process->watch_error = (int32_t)-mapping;
        fm_sampler_trouble(FM_SAMPLE_TROUBLE_WATCHES);
        return false;
    }
    thread->watches[place].event = (void *)mapping;
    return true;
}

void fm_sampler_drop(fm_sampler_thread *thread, uint32_t place)
{
    if (place >= FM_SAMPLE_WATCHES) return;
    if (thread->watches[place].event) fm_unmap(thread->watches[place].event, PAGE);
    thread->watches[place].event = NULL;
}

void fm_sampler_disarm(fm_sampler_thread *thread, uint32_t place)
{
    fm_sampler_drop(thread, place);
    __atomic_store_n(&thread->lane->watches[place].on, 0, __ATOMIC_RELEASE);
    if (!fm_sampler_is_watching(thread)) fm_sampler_span_ends(thread);
}

bool fm_sampler_is_watching(const fm_sampler_thread *thread)
{
    for (uint32_t i = 0; i < FM_SAMPLE_WATCHES; i++)
        if (thread->lane->watches[i].on) return true;
    return false;
}

/* Tells how it ended. context: where it was used again, if it was. */
static void watch_tell(fm_sampler_thread *thread, uint32_t place, uint32_t end, const ucontext_t *context,
                       uint32_t kept)
{
    fm_sample_record record = {.kind = FM_SAMPLE_RECORD_WATCH, .slab = FM_SAMPLE_NOWHERE};
    record.is.watch = thread->lane->watches[place];
    record.is.watch.end = end;
    record.is.watch.finish = thread->work;
    record.is.watch.in_burst = thread->in_burst ? thread->bursts : 0;
    record.is.watch.in_window = thread->window ? fm_sampler_ticks() - thread->window : 0;
    record.is.watch.code = context ? (uint64_t)context->uc_mcontext.gregs[REG_RIP] : 0;
    record.is.watch.kept = kept;
    if (context && !thread->in_burst && fm_self.session->wants & FM_SAMPLE_WANT_PATHS) {
        record.slab = fm_sampler_claim_slab(thread, 0);
        if (record.slab != FM_SAMPLE_NOWHERE)
            record.is.watch.stack_bytes = fm_sampler_tell_stack(record.slab, context);
    }
    fm_sampler_disarm(thread, place);
    if (!fm_sampler_record(thread, &record) && record.slab != FM_SAMPLE_NOWHERE)
        fm_sampler_free_slab(record.slab);
}

/* Our handlers use the stack below the program's, and so do our functions that it calls. */
static bool is_by_us(const fm_sampler_thread *thread, const ucontext_t *context)
{
    const uint64_t at = (uint64_t)context->uc_mcontext.gregs[REG_RIP];
    return fm_sampler_is_own_code(at) || fm_sampler_is_own_code(burst_where(thread->burst, at));
}

/* Counters: the reuse of a sampled use is watched in its turn, until a sample needs the register. Not in the
 * paper's reservoir. */
static void watch_again(fm_sampler_thread *thread, uint32_t place, const fm_sample_watched *before)
{
    if (!fm_self.counting || fm_self.session->wants & FM_SAMPLE_WANT_PLAIN || before->position > 0) return;
    if (thread->work <= before->begin || !fm_sampler_arm(thread, place, before->address)) return;
    fm_reservoir_lend(&thread->reservoir, place);
    fm_sample_watched *watched = &thread->lane->watches[place];
    *watched = *before;
    watched->end = FM_SAMPLE_WATCH_ENDED;
    watched->position = thread->work - before->begin;
    watched->begin = thread->work;
    watched->kept = UINT64_C(1) << FM_RESERVOIR_KEPT_BITS;
    __atomic_store_n(&watched->on, 1, __ATOMIC_RELEASE);
}

void fm_sampler_trapped(fm_sampler_thread *thread, uint32_t place, const ucontext_t *context)
{
    if (place >= FM_SAMPLE_WATCHES || !thread->lane->watches[place].on) return;
    if (fm_sampler_outside() ||
        is_by_us(thread, context)) { /* no use that counts; but it must not cost too much */
        if (++thread->strays[place] >= STRAYS_MOST)
            fm_sampler_replaced(thread, place, fm_reservoir_release(&thread->reservoir, place));
        return;
    }
    thread->traps++;
    const fm_sample_watched before = thread->lane->watches[place];
    watch_tell(thread, place, FM_SAMPLE_WATCH_USED, context, fm_reservoir_release(&thread->reservoir, place));
    watch_again(thread, place, &before);
}

void fm_sampler_replaced(fm_sampler_thread *thread, uint32_t place, uint32_t kept)
{
    if (thread->lane->watches[place].on) watch_tell(thread, place, FM_SAMPLE_WATCH_REPLACED, NULL, kept);
}

void fm_sampler_watches_end(fm_sampler_thread *thread)
{
    /* Where sampling ended before, they were cut off then. */
    const bool cut = fm_sampler_halted();
    const uint64_t work = thread->work;
    if (cut) thread->work = thread->lane->work;
    for (uint32_t place = 0; place < FM_SAMPLE_WATCHES; place++)
        if (thread->lane->watches[place].on)
            watch_tell(thread, place, cut ? FM_SAMPLE_WATCH_REPLACED : FM_SAMPLE_WATCH_ENDED, NULL,
                       fm_reservoir_release(&thread->reservoir, place));
    thread->work = work;
}
