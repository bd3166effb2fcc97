/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sampled_log.c - reads the log of a burst: each access with its code, the calls that led there, and its data
 * object, all of it one tag. An instruction mostly does what it did before: what was found for an access of
 * the table of blocks is kept beside the table.
 */
#include "sample/sampled_thread.h"

#include "base/error.h"
#include "base/memory.h"
#include "collect/sample/burst_log.h"

#include <string.h>

/* What a log is read with. */
typedef struct log_reader {
    fm_sampled_thread *thread;
    fm_sample_context *context;
    const fm_sample_record *record;
    fm_log_reading *reading;
    size_t pending; /* touches without object; their tags are sites, and their paths are in the touches */
} log_reader;

/* Entries of the table have 16 bytes, and no two begin in the same 16. */
enum { ENTRY_BYTES = sizeof(burst_access), AT_ONCE = 256 };

static fm_status make_room(fm_sampled_thread *thread, fm_error *error)
{
    const size_t wanted = thread->told / ENTRY_BYTES + 1;
    if (fm_array_reserve((void **)&thread->known, &thread->known_capacity, wanted, sizeof *thread->known) !=
        0)
        return fm_fail_memory(error, wanted * sizeof *thread->known, "the code of a thread");
    if (wanted > thread->known_count) {
        memset(thread->known + thread->known_count, 0,
               (wanted - thread->known_count) * sizeof *thread->known);
        thread->known_count = wanted;
    }
    return FM_OK;
}

static bool is_ours(const fm_sampled_code *code, uint32_t site)
{
    const uint32_t file = site ? code->program.sites.entries[site - 1].b : 0;
    return file && code->program.files[file - 1].ours;
}

static inline uint32_t tag_of(fm_known_access *known, fm_sampled_code *code, uint32_t path, uint32_t object)
{
    if (!known->tag || known->path != path || known->tagged != object) {
        known->path = path;
        known->tagged = object;
        known->tag = fm_sampled_code_tag(code, known->site, path, object);
    }
    return known->tag;
}

/* The object of a touch, as of the beginning of the burst. */
static inline fm_status find_object(log_reader *reader, fm_known_access *known, fm_burst_touch *touch,
                                    fm_error *error)
{
    fm_sampled_thread *thread = reader->thread;
    if (known->round != thread->round || touch->address - known->low >= known->high - known->low) {
        fm_sampled_extent found;
        fm_status status =
            fm_sampled_memory_find(thread->memory, reader->context->objects, reader->record->is.burst.ticks,
                                   touch->address, &found, error);
        if (status != FM_OK) return status;
        known->round = thread->round;
        known->low = found.low;
        known->high = found.high;
        known->object = found.object;
    }
    touch->object = known->object;
    return FM_OK;
}

static fm_status find_site(const log_reader *reader, fm_known_access *known, uint64_t instruction,
                           fm_error *error)
{
    const fm_sample_context *context = reader->context;
    fm_status status =
        fm_sampled_code_site(reader->thread->process, context->code, instruction, &known->site, error);
    if (status == FM_OK) known->ours = is_ours(context->code, known->site);
    return status;
}

/* An access that counts becomes a touch. */
static inline fm_status add_touch(log_reader *reader, fm_known_access *known, const burst_use *use,
                                  uint32_t path, fm_error *error)
{
    fm_sample_context *context = reader->context;
    fm_burst_touch *touch = &context->touches[reader->reading->count++];
    *touch = (fm_burst_touch){.address = use->address, .size = use->size ? use->size : 1, .path = path};
    if (context->with_objects) {
        const fm_status status = find_object(reader, known, touch, error);
        if (status != FM_OK) return status;
        if (!touch->object) {
            touch->tag = known->site;
            reader->pending++;
            return FM_OK;
        }
    }
    touch->tag = tag_of(known, context->code, path, touch->object);
    fm_sampled_code_count(context->code, touch->tag, 1);
    return FM_OK;
}

/* An access of the log, where calls are followed or only a function is looked at. */
static fm_status take_called(log_reader *reader, uint32_t number, const burst_use *use, fm_error *error)
{
    fm_sampled_thread *thread = reader->thread;
    fm_sample_context *context = reader->context;
    fm_log_reading *reading = reader->reading;
    fm_known_access *known = &thread->known[use->entry / ENTRY_BYTES];
    fm_status status = known->site ? FM_OK : find_site(reader, known, use->instruction, error);
    if (status != FM_OK) return status;
    const uint32_t path = thread->calls ? fm_sampled_calls_path(thread->calls) : 0;
    bool counts = !known->ours;
    reading->all += counts;
    if (counts && context->function) {
        status = fm_function_filter_inside(context->function, &context->code->program, known->site, path,
                                           &counts, error);
        if (status != FM_OK) return status;
    }
    if (counts) {
        if (number == reading->picked) reading->picked_at = (uint32_t)reading->count;
        status = add_touch(reader, known, use, context->tell_paths ? path : 0, error);
    }
    reading->returns += use->branch == BURST_RETURNS;
    if (thread->calls && use->branch == BURST_CALLS)
        fm_sampled_calls_call(thread->calls, context->code, use->address, known->site);
    if (thread->calls && use->branch == BURST_RETURNS) fm_sampled_calls_return(thread->calls, use->address);
    return status;
}

/* Accesses of the log, from this number on, where no call matters: what our own library does is left out,
 * nothing else. */
static fm_status take_plain(log_reader *reader, uint32_t number, const burst_use *uses, size_t count,
                            fm_error *error)
{
    fm_log_reading *reading = reader->reading;
    fm_known_access *all = reader->thread->known;
    fm_status status = FM_OK;
    for (size_t i = 0; i < count && status == FM_OK; i++) {
        fm_known_access *known = &all[uses[i].entry / ENTRY_BYTES];
        if (!known->site) {
            status = find_site(reader, known, uses[i].instruction, error);
            if (status != FM_OK) return status;
        }
        reading->returns += uses[i].branch == BURST_RETURNS;
        if (known->ours) continue;
        if (number + i == reading->picked) reading->picked_at = (uint32_t)reading->count;
        status = add_touch(reader, known, &uses[i], 0, error);
    }
    reading->all = reading->count;
    return status;
}

/* What was allocated in the burst itself is looked for once more, as of its end. */
static fm_status find_pending(const log_reader *reader, fm_error *error)
{
    fm_sampled_thread *thread = reader->thread;
    fm_sample_context *context = reader->context;
    struct {
        uint32_t site, path, object, tag;
    } last = {0};
    fm_status status = FM_OK;
    fm_sampled_memory_begin(thread->memory);
    size_t left = reader->pending;
    for (fm_burst_touch *touch = context->touches; left > 0 && status == FM_OK; touch++) {
        fm_sampled_extent found;
        if (touch->object) continue;
        left--;
        status = fm_sampled_memory_find(thread->memory, context->objects, reader->record->is.burst.ticks_end,
                                        touch->address, &found, error);
        if (status == FM_OK && !found.object)
            status = fm_sampled_memory_unknown(thread->memory, thread->process, context->objects,
                                               touch->address, &found.object, error);
        if (status != FM_OK) break;
        touch->object = found.object;
        if (touch->tag != last.site || touch->path != last.path || touch->object != last.object) {
            last.site = touch->tag;
            last.path = touch->path;
            last.object = touch->object;
            last.tag = fm_sampled_code_tag(context->code, last.site, last.path, last.object);
        }
        touch->tag = last.tag;
        fm_sampled_code_count(context->code, last.tag, 1);
    }
    return status;
}

/* What is known of the memory when the burst begins. */
static fm_status begin_objects(const log_reader *reader, fm_error *error)
{
    fm_sampled_thread *thread = reader->thread;
    fm_sample_context *context = reader->context;
    const fm_sample_record *record = reader->record;
    fm_status status = context->take_heap(context->run, error);
    if (status == FM_OK)
        status =
            fm_sampled_memory_thread(thread->memory, thread->process, context->code, thread->number,
                                     record->is.burst.stack, record->is.burst.fs_base, &thread->stack, error);
    fm_sampled_memory_begin(thread->memory);
    if (++thread->round == 0) thread->round = 1;
    return status;
}

fm_status fm_sampled_thread_read_log(fm_sampled_thread *thread, fm_sample_context *context,
                                     const fm_sample_record *record, fm_log_reading *reading, fm_error *error)
{
    log_reader self = {.thread = thread, .context = context, .record = record, .reading = reading};
    burst_reader reader;
    burst_use uses[AT_ONCE];
    fm_status status = make_room(thread, error);
    if (status == FM_OK && context->with_objects) status = begin_objects(&self, error);
    burst_reader_begin(&reader, thread->table, thread->told, context->log, record->is.burst.words,
                       record->is.burst.fs_base, record->is.burst.gs_base);
    const bool called = thread->calls || context->function;
    uint32_t number = 0;
    while (status == FM_OK && number < FM_BURST_ACCESSES_MOST) {
        const size_t left = FM_BURST_ACCESSES_MOST - number;
        const size_t count = burst_reader_take(&reader, uses, left < AT_ONCE ? left : AT_ONCE);
        if (count == 0) break;
        if (!called) status = take_plain(&self, number, uses, count, error);
        for (size_t i = 0; i < count && called && status == FM_OK; i++)
            status = take_called(&self, number + (uint32_t)i, &uses[i], error);
        number += (uint32_t)count;
    }
    if (status == FM_OK && self.pending > 0) status = find_pending(&self, error);
    return status;
}
