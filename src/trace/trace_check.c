/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_check.c - verifies a stored native trace: every block is read and decoded, every damage reported, and
 * the index compared with what is there.
 */
#include "base/error.h"
#include "trace/columns.h"
#include "trace/native/native_blocks.h"

#include <string.h>

typedef struct trace_checker {
    fm_stream *stream;
    fm_native_blocks *blocks;
    fm_columns columns;
} trace_checker;

static fm_status open_all(trace_checker *checker, const char *path, fm_check_result *result, fm_error *error)
{
    fm_native_header header = {0};
    fm_status status = fm_stream_open(&checker->stream, path, false, error);
    if (status == FM_OK)
        status = fm_native_blocks_open(&checker->blocks, checker->stream, checker->stream->input.name,
                                       &header, error);
    if (status == FM_OK) status = fm_columns_allocate(&checker->columns, header.columns, error);
    result->columns = header.columns;
    result->memory_addresses = header.memory_addresses;
    return status;
}

static fm_status check_all(const char *path, void (*visit)(void *context, const fm_block_report *report),
                           void *context, fm_check_result *result, fm_error *error)
{
    trace_checker checker = {0};
    fm_error here;
    fm_status worst = FM_OK, status = open_all(&checker, path, result, &here);
    while (status == FM_OK || fm_status_is_damage(status)) {
        if (!checker.blocks) break;
        fm_native_event event;
        status = fm_native_blocks_next(checker.blocks, &checker.columns, &event, &here);
        if (status == FM_OK && checker.columns.count == 0) break;
        bool damage = status != FM_OK;
        if (event.block) result->blocks++;
        if (damage && fm_status_is_damage(status)) {
            bool present, sound;
            fm_native_blocks_index(checker.blocks, &present, &sound);
            if (!present) result->bad_blocks++;
            result->lost += here.lost;
        }
        if (!damage) result->references += checker.columns.count;
        if (damage && worst == FM_OK) {
            worst = status;
            if (error) *error = here;
        }
        if (visit) {
            fm_block_report report = {.index = result->blocks - (event.block ? 1 : 0),
                                      .offset = event.offset,
                                      .stored_bytes = event.stored_bytes,
                                      .references = event.references,
                                      .status = status,
                                      .reason = damage ? here.reason : NULL};
            visit(context, &report);
        }
    }
    if (checker.blocks) {
        const fm_trace_module *modules;
        size_t count;
        fm_native_blocks_index(checker.blocks, &result->index_present, &result->index_sound);
        fm_native_blocks_modules(checker.blocks, &modules, &count, &result->modules_present);
        result->modules_sound = modules != NULL;
        result->modules = count;
    }
    if (checker.stream) result->stored_bytes = fm_stream_stored_offset(checker.stream);
    if (status != FM_OK && (worst == FM_OK || !fm_status_is_damage(status))) {
        worst = status; /* what kept us from going on outweighs damage */
        if (error) *error = here;
    }
    fm_native_blocks_close(checker.blocks);
    fm_stream_close(checker.stream);
    fm_columns_free(&checker.columns);
    return worst;
}

fm_status fm_trace_check_sized(size_t result_size, const char *path,
                               void (*visit)(void *context, const fm_block_report *report), void *context,
                               fm_check_result *result, fm_error *error)
{
    fm_check_result found = {0};
    fm_status status = check_all(path, visit, context, &found, error);
    fm_sized_copy(result, result_size, &found, sizeof found);
    return status;
}
