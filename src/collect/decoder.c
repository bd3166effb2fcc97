/* SPDX-License-Identifier: Apache-2.0 */
/* decoder.c - see decoder.h: what both decoders share. */
#include "collect/decoder.h"
#include "base/error.h"
#include "base/memory.h"
#include "collect/decode_kernels.h"

#include <stdlib.h>
#include <string.h>

/* ---- rows ---- */

static fm_status rows_create(fm_rows *rows, unsigned columns, fm_error *error)
{
    *rows = (fm_rows){.columns = columns, .at = fm_pages_allocate(sizeof(fm_row_memory))};
    if (!rows->at) return fm_fail_memory(error, sizeof(fm_row_memory), "a batch of references");
    return FM_OK;
}

static void rows_free(fm_rows *rows)
{
    fm_pages_free(rows->at, sizeof(fm_row_memory));
    *rows = (fm_rows){0};
}

void fm_rows_set_thread(fm_rows *rows, uint32_t number)
{
    if (rows->thread_number == number) return;
    rows->thread_number = number;
    if (rows->columns & FM_COLUMN_THREAD)
        for (size_t i = 0; i < FM_ROWS_ROOM; i++) rows->at->thread[i] = number;
}

fm_status fm_decoder_create(fm_decoder **decoder, const fm_collect_filter *filter, unsigned columns,
                            const char *isa, fm_error *error)
{
    fm_decoder *self = *decoder = fm_calloc(1, sizeof *self);
    if (!self) return fm_fail_memory(error, sizeof *self, "the decoder");
    self->filter = *filter;
    self->kernels = fm_decode_kernels_find(isa);
    fm_status status = self->kernels
                           ? rows_create(&self->rows, columns, error)
                           : fm_fail(error, FM_E_UNSUPPORTED, NULL, "no instruction set '%s' here", isa);
    if (status != FM_OK) {
        free(self);
        *decoder = NULL;
    }
    return status;
}

void fm_decoder_destroy(fm_decoder *decoder)
{
    if (!decoder) return;
    rows_free(&decoder->rows);
    free(decoder);
}

void fm_decoder_begin(fm_decoder *decoder, unsigned producer, fm_process *process, fm_traced_thread *thread,
                      uint64_t page, const uint64_t *words, size_t count)
{
    decoder->producer = producer;
    decoder->process = process;
    decoder->thread = thread;
    decoder->words = words;
    decoder->count = count;
    decoder->at = decoder->scanned = 0;
    decoder->mark = decoder->mark_count = 0;
    decoder->page = page ? fm_code_pages_find(&process->pages, &process->code, page - 1) : NULL;
}

fm_status fm_decoder_read(fm_decoder *decoder, fm_error *error)
{
    fm_status status = decoder->producer == FM_PRODUCER_VALGRIND ? fm_decode_valgrind(decoder, error)
                                                                 : fm_decode_compiler(decoder, error);
    if (status != FM_OK || decoder->at >= decoder->count) decoder->words = NULL;
    return status;
}

/* ---- records ---- */

/* A record as it was copied out of the shared memory. */
typedef struct stream_record {
    unsigned kind;
    uint64_t argument;
    size_t count;
    uint64_t *words; /* with room for one more */
} stream_record;

/* The text that begins after so many words, ended. "" where there is none. */
static const char *text_of(stream_record *record, size_t after)
{
    record->words[record->count] = 0;
    return after < record->count ? (const char *)&record->words[after] : "";
}

static fm_status too_short(const stream_record *record, fm_error *error)
{
    return fm_fail(error, FM_E_CORRUPT, NULL, "a record of kind %u has only %zu words", record->kind,
                   record->count);
}

static fm_status no_record_memory(fm_error *error)
{
    return fm_fail(error, FM_E_NOMEM, NULL, "out of memory: no room for what the program reported");
}

static fm_status read_module(fm_decoder *decoder, stream_record *record, fm_error *error)
{
    fm_process *process = decoder->process;
    const char *path = text_of(record, 8);
    uint32_t file; /* its index is that of the module in the attribution */
    fm_status status = fm_code_load(&process->code, record->words, path, &file, error);
    fm_code_pages_forget(&process->pages);
    if (status == FM_OK && process->called && strcmp(path, process->program) == 0 &&
        !fm_program_call(&process->code.program, path, process->called))
        status = no_record_memory(error);
    if (status != FM_OK || !process->objects) return status;
    const uint64_t *words = record->words;
    uint64_t time = process->references + decoder->rows.count;
    for (size_t i = 4; i <= 6 && status == FM_OK; i += 2)
        if (words[i + 1] > words[i])
            status = fm_object_map_module(process->objects, time, file, path, words[1], words[i],
                                          words[i + 1], error);
    return status;
}

static fm_status read_thread_start(fm_decoder *decoder, const stream_record *record, fm_error *error)
{
    fm_process *process = decoder->process;
    fm_traced_thread *thread;
    fm_status status = fm_process_thread(process, record->words[0], &thread, error);
    if (status != FM_OK) return status;
    thread->low = record->words[1];
    thread->high = record->words[2];
    if (!process->running && decoder->producer == FM_PRODUCER_VALGRIND)
        process->running = decoder->thread = thread;
    if (!process->objects || thread->high <= thread->low) return FM_OK;
    return fm_object_map_stack(process->objects, process->references + decoder->rows.count, thread->number,
                               thread->low, thread->high, error);
}

static fm_status read_local(fm_decoder *decoder, const stream_record *record, fm_error *error)
{
    fm_process *process = decoder->process;
    const uint64_t *words = record->words;
    fm_traced_thread *thread;
    fm_status status = fm_process_thread(process, words[0], &thread, error);
    if (status != FM_OK) return status;
    /* Of a thread that pthread_create made, it lies above the stack, in the same mapping. */
    if (words[2] > thread->low && words[2] < thread->high && words[3] > 0) thread->high = words[2];
    const fm_code_map *map = fm_code_map_numbered(&process->code.maps, (uint32_t)words[1]);
    if (!process->objects || !map) return FM_OK;
    return fm_object_map_thread_local(process->objects, process->references + decoder->rows.count, map->file,
                                      process->code.program.files[map->file].path, words[2], words[3], error);
}

static fm_status read_heap(fm_decoder *decoder, const stream_record *record, fm_error *error)
{
    fm_process *process = decoder->process;
    if (!process->objects) return FM_OK;
    uint64_t time = process->references + decoder->rows.count;
    if (record->kind == FM_RECORD_HEAP_FREE)
        return fm_object_map_free(process->objects, time, record->words[0], error);
    /* The node of the context: it means the same in a child of fork, whatever its contexts are numbered. */
    uint64_t number = record->words[2];
    uint32_t node = number < process->code.context_count ? process->code.contexts[number] : 0;
    return fm_object_map_alloc(process->objects, time, record->words[0], record->words[1], node, error);
}

/* Its number is not used again; the one that runs is let go when another does. */
static fm_status end_thread(fm_decoder *decoder, uint64_t number)
{
    fm_process *process = decoder->process;
    fm_traced_thread *thread =
        number <= FM_THREAD_NUMBER_MOST ? fm_thread_table_find(&process->threads, (uint32_t)number) : NULL;
    if (!thread) return FM_OK;
    thread->over = true;
    if (thread != decoder->thread) fm_process_let_go(process, thread);
    return FM_OK;
}

static fm_status handle_record(fm_decoder *decoder, stream_record *record, fm_error *error)
{
    static const uint8_t least[] = {
        [FM_RECORD_DEFINE] = 4,       [FM_RECORD_MODULE] = 8,    [FM_RECORD_THREAD_START] = 4,
        [FM_RECORD_HEAP_ALLOC] = 3,   [FM_RECORD_HEAP_FREE] = 1, [FM_RECORD_CONTEXT] = 1,
        [FM_RECORD_ENTER] = 3,        [FM_RECORD_PROCESS] = 4,   [FM_RECORD_UNWIND] = 1,
        [FM_RECORD_THREAD_LOCAL] = 4,
    };
    fm_process *process = decoder->process;
    fm_traced_thread *thread = decoder->thread;
    const fm_collect_filter *filter = &decoder->filter;
    if (record->kind >= sizeof least || record->kind == 0)
        return fm_fail(error, FM_E_CORRUPT, NULL, "there is no record of kind %u", record->kind);
    if (record->count < least[record->kind]) return too_short(record, error);
    switch (record->kind) {
    case FM_RECORD_DEFINE:
        return fm_blocks_define(&process->blocks, &process->code, record->words, record->count, filter,
                                error);
    case FM_RECORD_MODULE:
        return read_module(decoder, record, error);
    case FM_RECORD_THREAD_START:
        return read_thread_start(decoder, record, error);
    case FM_RECORD_THREAD_LOCAL:
        return read_local(decoder, record, error);
    case FM_RECORD_THREAD_END:
        return end_thread(decoder, record->argument);
    case FM_RECORD_HEAP_ALLOC:
    case FM_RECORD_HEAP_FREE:
        return read_heap(decoder, record, error);
    case FM_RECORD_CONTEXT:
        return fm_code_context(&process->code, record->words[0], record->words + 1, record->count - 1, error);
    case FM_RECORD_REGION_BEGIN: {
        bool watched = filter->region && strcmp(text_of(record, 0), filter->region) == 0;
        process->region_found |= watched;
        return fm_thread_region_begin(thread, watched) ? FM_OK : no_record_memory(error);
    }
    case FM_RECORD_REGION_END:
        fm_thread_region_end(thread);
        return FM_OK;
    case FM_RECORD_ENTER:
        return fm_thread_enter(thread, &process->code, record->words, filter->paths)
                   ? FM_OK
                   : no_record_memory(error);
    case FM_RECORD_LEAVE:
        fm_thread_leave(thread);
        return FM_OK;
    case FM_RECORD_UNWIND:
        fm_thread_unwind(thread, record->words[0]);
        return FM_OK;
    case FM_RECORD_SIGNAL:
        return fm_thread_signal(thread) ? FM_OK : no_record_memory(error);
    case FM_RECORD_SIGNAL_END:
        fm_thread_signal_end(thread);
        return FM_OK;
    case FM_RECORD_LOST:
        process->lost += record->argument;
        return FM_OK;
    case FM_RECORD_PROCESS:
    case FM_RECORD_EXEC:
    case FM_RECORD_END:
    case FM_RECORD_NOTE: {
        if (!decoder->process_record) return FM_OK;
        size_t before = record->kind == FM_RECORD_PROCESS ? 4 : 0;
        return decoder->process_record(decoder->context, process, record->kind, record->argument,
                                       record->words, text_of(record, before),
                                       (record->count - before) * sizeof *record->words, error);
    }
    default:
        return fm_fail(error, FM_E_CORRUPT, NULL, "a record of kind %u where none can be", record->kind);
    }
}

fm_status fm_decode_record(fm_decoder *decoder, bool *deliver, fm_error *error)
{
    uint64_t word = fm_word(&decoder->words[decoder->at]);
    stream_record record = {FM_RECORD_KIND(word), FM_RECORD_ARGUMENT(word), FM_RECORD_WORDS(word),
                            decoder->record};
    *deliver = false;
    if (record.count > decoder->count - decoder->at - 1)
        return fm_fail(error, FM_E_CORRUPT, NULL, "a record of kind %u is cut short", record.kind);
    if (record.kind == FM_RECORD_THREAD) {
        fm_traced_thread *thread;
        fm_status status = fm_process_thread(decoder->process, record.argument, &thread, error);
        if (status != FM_OK) return status;
        *deliver = thread != decoder->thread && decoder->rows.count > 0;
        if (*deliver) return FM_OK;
        fm_traced_thread *before = decoder->thread;
        decoder->process->running = decoder->thread = thread;
        if (before && before != thread) fm_process_let_go(decoder->process, before);
    } else {
        for (size_t i = 0; i < record.count; i++)
            record.words[i] = fm_word(&decoder->words[decoder->at + 1 + i]);
        fm_status status = handle_record(decoder, &record, error);
        if (status != FM_OK) return status;
    }
    decoder->at += 1 + record.count;
    return FM_OK;
}
