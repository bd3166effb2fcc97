/* SPDX-License-Identifier: Apache-2.0 */
/* traced_process.c - see decoder.h. */
#define _GNU_SOURCE
#include "base/error.h"
#include "base/memory.h"
#include "collect/decoder.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- thread table ---- */

static fm_thread_page *page_of(const fm_thread_table *table, uint32_t number)
{
    const size_t page = number / FM_THREADS_A_PAGE;
    return page < table->page_count ? &table->pages[page] : NULL;
}

struct fm_traced_thread *fm_thread_table_find(const fm_thread_table *table, uint32_t number)
{
    const fm_thread_page *page = page_of(table, number);
    return page && page->slots ? page->slots[number % FM_THREADS_A_PAGE] : NULL;
}

/* 0, or -1 when memory is short. number: from 1 to FM_THREAD_NUMBER_MOST, and not there. */
static int thread_table_add(fm_thread_table *table, uint32_t number, struct fm_traced_thread *thread)
{
    const size_t had = table->page_count, wanted = number / FM_THREADS_A_PAGE + 1;
    if (fm_array_reserve((void **)&table->pages, &table->page_count, wanted, sizeof *table->pages) != 0)
        return -1;
    if (table->page_count > had)
        memset(table->pages + had, 0, (table->page_count - had) * sizeof *table->pages);
    fm_thread_page *page = page_of(table, number);
    if (!page->slots) page->slots = fm_calloc(FM_THREADS_A_PAGE, sizeof *page->slots);
    if (!page->slots) return -1;
    const uint32_t at = number % FM_THREADS_A_PAGE;
    const uint64_t bit = UINT64_C(1) << at % 64;
    page->slots[at] = thread;
    page->live++;
    table->live++;
    table->seen += !(page->seen[at / 64] & bit);
    page->seen[at / 64] |= bit;
    return 0;
}

static void thread_table_remove(fm_thread_table *table, uint32_t number)
{
    if (!fm_thread_table_find(table, number)) return;
    fm_thread_page *page = page_of(table, number);
    page->slots[number % FM_THREADS_A_PAGE] = NULL;
    table->live--;
    if (--page->live > 0) return;
    free(page->slots);
    page->slots = NULL;
}

/* free_thread is called for each that is there. */
static void thread_table_clear(fm_thread_table *table, void (*free_thread)(struct fm_traced_thread *))
{
    for (size_t i = 0; i < table->page_count; i++) {
        fm_thread_page *page = &table->pages[i];
        for (size_t slot = 0; page->slots && slot < FM_THREADS_A_PAGE; slot++)
            if (page->slots[slot]) free_thread(page->slots[slot]);
        free(page->slots);
    }
    free(table->pages);
    *table = (fm_thread_table){.seen = table->seen};
}

/* ---- traced thread ---- */

enum { MOST_FRAMES = 1 << 20, MOST_NESTED = 1 << 16 }; /* deeper ones are not told apart */

static void thread_free(fm_traced_thread *thread)
{
    if (!thread) return;
    free(thread->frames);
    free(thread->interrupted);
    free(thread->regions);
    free(thread);
}

static bool push_frame(fm_traced_thread *thread, fm_call_frame frame)
{
    if (thread->depth >= MOST_FRAMES) return true;
    if (fm_array_reserve((void **)&thread->frames, &thread->capacity, thread->depth + 1,
                         sizeof *thread->frames) != 0)
        return false;
    thread->frames[thread->depth++] = frame;
    return true;
}

/* The calls that the thread of a parent was in when it forked. False: no memory. */
static bool thread_inherit(fm_traced_thread *child, const fm_traced_thread *parent)
{
    child->low = parent->low;
    child->high = parent->high;
    child->inside = parent->inside;
    child->inside_stack = parent->inside_stack;
    child->stack = parent->stack;
    child->pushed_at = parent->pushed_at;
    child->call_behind = parent->call_behind;
    child->call_inside = parent->call_inside;
    child->depth = 0;
    for (size_t i = 0; i < parent->depth; i++)
        if (!push_frame(child, parent->frames[i])) return false;
    for (size_t i = 0; i < parent->region_count; i++)
        if (!fm_thread_region_begin(child, parent->regions[i])) return false;
    return true;
}

/* A handler that was left by siglongjmp is over as soon as the thread runs above what it interrupted, on its
 * own stack. (On its own: a handler may have an alternate stack anywhere.) */
static void drop_left_handlers(fm_traced_thread *thread, uint64_t stack)
{
    while (thread->interrupted_count > 0) {
        const fm_interrupted *top = &thread->interrupted[thread->interrupted_count - 1];
        if (top->stack == 0 || stack < top->stack || stack > thread->high) return;
        thread->floor = top->floor;
        thread->inside = top->inside;
        thread->inside_stack = top->inside_stack;
        thread->interrupted_count--;
    }
}

bool fm_thread_moves(fm_traced_thread *thread, fm_code *code, uint64_t stack, bool paths, bool watched)
{
    bool called = thread->pushed_at != 0 && stack == thread->pushed_at;
    thread->pushed_at = 0;
    if (thread->interrupted_count > 0) drop_left_handlers(thread, stack);
    thread->stack = stack;
    /* A frame ends when the stack pointer is above it, or when another begins in its place. */
    while (thread->depth > thread->floor && stack + called > thread->frames[thread->depth - 1].stack)
        thread->depth--;
    if (called && paths) {
        uint32_t node =
            fm_call_tree_call(&code->program.calls, &code->maps, fm_thread_node(thread), thread->call_behind);
        if (!push_frame(thread, (fm_call_frame){stack, node, false})) return false;
    }
    if (thread->inside && stack > thread->inside_stack) thread->inside = false;
    if (!thread->inside && (watched || (called && thread->call_inside))) {
        thread->inside = true;
        thread->inside_stack = stack;
    }
    return true;
}

bool fm_thread_enter(fm_traced_thread *thread, fm_code *code, const uint64_t words[3], bool paths)
{
    uint64_t stack = words[2];
    if (thread->interrupted_count > 0) drop_left_handlers(thread, stack);
    thread->stack = stack;
    while (thread->depth > thread->floor && thread->frames[thread->depth - 1].stack <= stack) thread->depth--;
    fm_call_frame frame = {.stack = stack};
    frame.inside = thread->depth > thread->floor && thread->frames[thread->depth - 1].inside;
    if (code->program.function && !frame.inside) {
        uint64_t call = words[1] - 1;
        frame.inside =
            fm_program_watched(&code->program, fm_code_map_at(&code->maps, words[0]), words[0]) ==
                FM_WATCHED_IN ||
            fm_program_watched(&code->program, fm_code_map_at(&code->maps, call), call) != FM_WATCHED_NOT;
    }
    if (paths)
        frame.node = fm_call_tree_call(&code->program.calls, &code->maps, fm_thread_node(thread), words[1]);
    bool pushed = push_frame(thread, frame);
    thread->inside = frame.inside;
    return pushed;
}

void fm_thread_leave(fm_traced_thread *thread)
{
    if (thread->depth > thread->floor) thread->depth--;
    if (thread->depth > thread->floor) thread->stack = thread->frames[thread->depth - 1].stack;
    thread->inside = thread->depth > thread->floor && thread->frames[thread->depth - 1].inside;
}

void fm_thread_unwind(fm_traced_thread *thread, uint64_t stack)
{
    while (thread->depth > thread->floor && thread->frames[thread->depth - 1].stack < stack) thread->depth--;
    thread->stack = stack;
    thread->inside = thread->depth > thread->floor && thread->frames[thread->depth - 1].inside;
}

bool fm_thread_signal(fm_traced_thread *thread)
{
    if (thread->interrupted_count >= MOST_NESTED) return true;
    if (fm_array_reserve((void **)&thread->interrupted, &thread->interrupted_capacity,
                         thread->interrupted_count + 1, sizeof *thread->interrupted) != 0)
        return false;
    thread->interrupted[thread->interrupted_count++] = (fm_interrupted){
        .depth = thread->depth,
        .floor = thread->floor,
        .stack = thread->stack,
        .pushed_at = thread->pushed_at,
        .call_behind = thread->call_behind,
        .call_inside = thread->call_inside,
        .inside = thread->inside,
        .inside_stack = thread->inside_stack,
    };
    thread->floor = thread->depth;
    thread->inside = false;
    thread->pushed_at = 0;
    return true;
}

void fm_thread_signal_end(fm_traced_thread *thread)
{
    if (thread->interrupted_count == 0) return;
    const fm_interrupted *top = &thread->interrupted[--thread->interrupted_count];
    if (thread->depth > top->depth) thread->depth = top->depth;
    thread->floor = top->floor;
    thread->stack = top->stack;
    thread->pushed_at = top->pushed_at;
    thread->call_behind = top->call_behind;
    thread->call_inside = top->call_inside;
    thread->inside = top->inside;
    thread->inside_stack = top->inside_stack;
}

bool fm_thread_region_begin(fm_traced_thread *thread, bool watched)
{
    if (thread->region_count >= MOST_NESTED) return true;
    if (fm_array_reserve((void **)&thread->regions, &thread->region_capacity, thread->region_count + 1, 1) !=
        0)
        return false;
    thread->regions[thread->region_count++] = watched;
    thread->region_open += watched;
    return true;
}

void fm_thread_region_end(fm_traced_thread *thread)
{
    if (thread->region_count == 0) return;
    thread->region_open -= thread->regions[--thread->region_count];
}

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
    thread_table_clear(&process->threads, thread_free);
    process->running = NULL;
    thread_free(process->forked);
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
        if (!child->forked || !thread_inherit(child->forked, parent->running)) return no_memory(error);
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
    if (thread_table_add(&process->threads, (uint32_t)number, made) != 0) {
        if (made != process->forked) thread_free(made);
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
    thread_table_remove(&process->threads, thread->number);
    thread_free(thread);
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
