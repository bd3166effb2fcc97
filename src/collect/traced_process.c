/* SPDX-License-Identifier: Apache-2.0 */
/* traced_process.c - see traced_process.h. */
#define _GNU_SOURCE
#include "collect/traced_process.h"

#include "base/error.h"
#include "base/memory.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static fm_status no_memory(fm_error *error)
{
    return fm_fail(error, FM_E_NOMEM, NULL, "out of memory: no room for another process or thread");
}

fm_process *fm_process_create(uint32_t serial, uint32_t pid, const char *function, bool objects,
                              fm_error *error)
{
    fm_process *process = fm_calloc(1, sizeof *process);
    if (!process) {
        no_memory(error);
        return NULL;
    }
    process->serial = serial;
    process->watched = (fm_watched_process){.pid = pid, .order = serial, .owner = process, .handle = -1};
    process->parent = FM_NONE;
    process->code.program.function = function;
    if (objects && fm_object_map_create(&process->objects, error) != FM_OK) {
        free(process);
        return NULL;
    }
    return process;
}

static void link_programs(fm_process *before, fm_process *after)
{
    before->successor = after;
    after->predecessor = before;
    after->parent = before->index;
    before->watched.replaced = true;
}

void fm_process_becomes(fm_process *before, fm_process *after)
{
    /* They need not have been seen in their order: each comes between those that it came between. */
    while (after->predecessor && after->predecessor->serial > before->serial) after = after->predecessor;
    if (after->predecessor) link_programs(after->predecessor, before);
    if (before->successor && before->successor != after) link_programs(after, before->successor);
    link_programs(before, after);
}

void fm_process_finish(fm_process *process)
{
    fm_blocks_free(&process->blocks);
    fm_code_pages_free(&process->pages);
    fm_thread_table_clear(&process->threads, fm_thread_free);
    process->running = NULL;
    fm_thread_free(process->forked);
    process->forked = NULL;
}

void fm_process_destroy(fm_process *process)
{
    if (!process) return;
    fm_process_finish(process);
    fm_code_free(&process->code);
    fm_object_map_destroy(process->objects);
    free(process->program);
    free(process->called);
    for (char **at = process->arguments; at && *at; at++) free(*at);
    free(process->arguments);
    free(process->executed);
    free(process->missing);
    free(process);
}

fm_status fm_process_inherit(fm_process *child, const fm_process *parent, fm_error *error)
{
    fm_status status = fm_code_inherit(&child->code, &parent->code, error);
    if (status != FM_OK) return status;
    if (parent->objects) {
        fm_object_map *objects;
        status = fm_object_map_clone(&objects, parent->objects, error);
        if (status != FM_OK) return status;
        fm_object_map_destroy(child->objects);
        child->objects = objects;
    }
    if (parent->running) {
        child->forked = fm_calloc(1, sizeof *child->forked);
        if (!child->forked || !fm_thread_inherit(child->forked, parent->running)) return no_memory(error);
    }
    return FM_OK;
}

fm_status fm_process_thread(fm_process *process, uint64_t number, fm_traced_thread **thread, fm_error *error)
{
    if (number == 0 || number > FM_THREAD_NUMBER_MOST)
        return fm_fail(error, FM_E_CORRUPT, NULL, "a thread has the number %" PRIu64, number);
    *thread = fm_thread_table_find(&process->threads, (uint32_t)number);
    if (*thread) return FM_OK;
    if (process->threads.live >= FM_THREADS_AT_ONCE)
        return fm_fail(error, FM_E_CORRUPT, NULL, "it has more than %d threads at once", FM_THREADS_AT_ONCE);
    /* The first thread of a child is the one that forked, under another number. */
    fm_traced_thread *made = process->forked ? process->forked : fm_calloc(1, sizeof *made);
    if (!made) return no_memory(error);
    if (fm_thread_table_add(&process->threads, (uint32_t)number, made) != 0) {
        if (made != process->forked) fm_thread_free(made);
        return no_memory(error);
    }
    process->forked = NULL;
    made->number = (uint32_t)number;
    *thread = made;
    return FM_OK;
}

void fm_process_let_go(fm_process *process, fm_traced_thread *thread)
{
    if (!thread->over || thread->channels > 0 || thread == process->running) return;
    fm_thread_table_remove(&process->threads, thread->number);
    fm_thread_free(thread);
}

void fm_process_miss(fm_process *process, const char *format, ...)
{
    if (process->missing) return;
    va_list arguments;
    va_start(arguments, format);
    if (vasprintf(&process->missing, format, arguments) < 0) process->missing = NULL;
    va_end(arguments);
    if (!process->missing) process->missing = strdup("a part of it was not received");
    process->complete = false;
}
