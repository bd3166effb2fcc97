/* SPDX-License-Identifier: Apache-2.0 */
/* pmu_uses.c - accesses that counters sampled, as the thread's lane tells them: which code, which calls,
 * whose data. */
#include "sample/sampled_thread.h"

#include "base/error.h"
#include "base/memory.h"

enum { MOST_USES = 1 << 24 }; /* of a thread */

static fm_status find_object(fm_sampled_thread *thread, fm_sample_context *context, const fm_sample_use *use,
                             uint32_t *object, fm_error *error)
{
    *object = 0;
    if (!context->with_objects) return FM_OK;
    fm_status status =
        fm_sampled_memory_thread(thread->memory, thread->process, context->code, thread->number, use->stack,
                                 use->fs_base, &thread->stack, error);
    if (status != FM_OK) return status;
    fm_sampled_memory_begin(thread->memory);
    fm_sampled_extent found;
    status =
        fm_sampled_memory_find(thread->memory, context->objects, use->ticks, use->address, &found, error);
    *object = found.object;
    if (status != FM_OK || *object) return status;
    return fm_sampled_memory_unknown(thread->memory, thread->process, context->objects, use->address, object,
                                     error);
}

static fm_status find_tag(fm_sampled_thread *thread, fm_sample_context *context, const fm_sample_use *use,
                          uint32_t slab, fm_seen_use *seen, fm_error *error)
{
    uint32_t site = 0, path = 0, object = 0;
    fm_status status = fm_sampled_code_site(thread->process, context->code, use->code, &site, error);
    if (status == FM_OK && thread->calls && slab != FM_SAMPLE_NOWHERE && use->stack_bytes) {
        status = fm_sampled_thread_calls(thread, context, slab, use->stack_bytes, error);
        path = fm_sampled_calls_path(thread->calls);
    }
    if (status == FM_OK && context->function) {
        bool inside = false;
        status =
            fm_function_filter_inside(context->function, &context->code->program, site, path, &inside, error);
        seen->outside = !inside;
        seen->unknown = !inside && !use->stack_bytes; /* there was no room for its stack */
        if (status != FM_OK || !inside) return status;
        if (!context->tell_paths) path = 0;
    }
    if (status == FM_OK) status = find_object(thread, context, use, &object, error);
    if (status != FM_OK) return status;
    seen->tag = fm_sampled_code_tag(context->code, site, path, object);
    seen->context = object ? fm_sampled_code_tag(context->code, site, path, 0) : seen->tag;
    fm_sampled_code_count(context->code, seen->tag, 1);
    return FM_OK;
}

fm_status fm_sampled_thread_take_use(fm_sampled_thread *thread, fm_sample_context *context,
                                     const fm_sample_use *use, uint32_t slab, fm_error *error)
{
    const fm_seen_use *before = thread->use_count ? &thread->uses[thread->use_count - 1] : NULL;
    fm_seen_use seen = {.is = *use};
    if (thread->use_count >= MOST_USES) return FM_OK;
    fm_status status = find_tag(thread, context, use, slab, &seen, error);
    if (status == FM_OK && !seen.outside)
        status = fm_latencies_add(&context->latencies, seen.tag, use, error);
    if (status == FM_OK && seen.unknown) thread->lost++;
    if (status != FM_OK || use->number == 0 || seen.unknown) return status; /* 0: it told a latency */
    if (before && (use->number <= before->is.number || use->position < before->is.position)) {
        thread->damaged++;
        return FM_OK;
    }
    if (fm_array_reserve((void **)&thread->uses, &thread->use_capacity, thread->use_count + 1,
                         sizeof *thread->uses) != 0)
        return fm_fail_memory(error, (thread->use_count + 1) * sizeof *thread->uses, "the samples");
    thread->uses[thread->use_count++] = seen;
    context->bursts += !seen.outside;
    return FM_OK;
}

uint32_t fm_sampled_thread_use_tag(const fm_sampled_thread *thread, uint64_t number)
{
    size_t low = 0, high = thread->use_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (thread->uses[middle].is.number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low < thread->use_count && thread->uses[low].is.number == number ? thread->uses[low].tag : 0;
}
