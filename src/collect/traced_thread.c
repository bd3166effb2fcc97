/* SPDX-License-Identifier: Apache-2.0 */
/* traced_thread.c - see traced_thread.h. */
#include "collect/traced_thread.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_FRAMES = 1 << 20, MOST_NESTED = 1 << 16 }; /* deeper ones are not told apart */

void fm_thread_free(fm_traced_thread *thread)
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

bool fm_thread_inherit(fm_traced_thread *child, const fm_traced_thread *parent)
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
