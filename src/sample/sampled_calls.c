/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sampled_calls.c - the calls that led to where a thread of a sampled program is, and whether that is in the
 * function that was asked for.
 */
#include "base/error.h"
#include "base/memory.h"
#include "sample/sampled_program.h"

#include <stdlib.h>
#include <string.h>

/* ---- sampled calls ---- */

static void push_call(fm_sampled_calls *calls, fm_sampled_code *code, uint64_t slot, uint64_t back,
                      uint32_t site)
{
    if (calls->count == FM_SAMPLED_CALLS) return;
    const uint32_t path = fm_sampled_code_path(code, fm_sampled_calls_path(calls), site);
    calls->calls[calls->count].slot = slot;
    calls->calls[calls->count].back = back;
    calls->calls[calls->count++].path = path;
}

fm_status fm_sampled_calls_begin(fm_sampled_calls *calls, fm_sample_code_of *process, fm_sampled_code *code,
                                 const fm_sampled_frame *frames, size_t count, fm_error *error)
{
    fm_status status = FM_OK;
    size_t kept = 0;
    if (count > 0)
        for (size_t i = 0; i < calls->count; i++)
            if (calls->calls[i].slot == frames[count - 1].slot &&
                calls->calls[i].back == frames[count - 1].back)
                kept = i;
    calls->count = kept;
    for (size_t i = count; i-- > 0 && status == FM_OK;) {
        uint32_t site;
        status = fm_sampled_code_site(process, code, frames[i].back - 1, &site, error);
        push_call(calls, code, frames[i].slot, frames[i].back, site);
    }
    return status;
}

/* Stacks grow downwards: what lies at or below the slot is over. */
static void leave_calls(fm_sampled_calls *calls, uint64_t slot)
{
    while (calls->count > 0 && calls->calls[calls->count - 1].slot <= slot) calls->count--;
}

void fm_sampled_calls_call(fm_sampled_calls *calls, fm_sampled_code *code, uint64_t slot, uint32_t site)
{
    leave_calls(calls, slot);
    push_call(calls, code, slot, 0, site);
}

void fm_sampled_calls_return(fm_sampled_calls *calls, uint64_t slot)
{
    leave_calls(calls, slot);
}

/* ---- sampled stack ---- */

typedef struct copied_stack {
    uint64_t from;
    const unsigned char *bytes;
    size_t count;
} copied_stack;

static bool read_copy(void *context, uint64_t address, uint64_t *value)
{
    const copied_stack *stack = context;
    const uint64_t offset = address - stack->from;
    if (stack->count < sizeof *value || offset > stack->count - sizeof *value) return false;
    memcpy(value, stack->bytes + offset, sizeof *value);
    return true;
}

static fm_unwinder *unwinder_of(fm_code_file *file)
{
    if (!file->unwinder_sought) (void)fm_unwinder_open(&file->unwinder, file->path, NULL);
    file->unwinder_sought = true;
    return file->unwinder;
}

/* Code without rules: by the chain of frame pointers, where rbp looks like one. */
static bool step_by_pointer(fm_unwind_registers *registers, copied_stack *stack)
{
    const uint64_t frame = registers->value[FM_UNWIND_RBP];
    uint64_t back, next;
    if (!(registers->known >> FM_UNWIND_RBP & 1) || frame < registers->value[FM_UNWIND_RSP] || frame % 8 ||
        !read_copy(stack, frame, &next) || !read_copy(stack, frame + 8, &back) || back == 0)
        return false;
    registers->value[FM_UNWIND_RBP] = next;
    registers->value[FM_UNWIND_RSP] = frame + 16;
    registers->value[FM_UNWIND_RIP] = back;
    registers->known =
        UINT32_C(1) << FM_UNWIND_RBP | UINT32_C(1) << FM_UNWIND_RSP | UINT32_C(1) << FM_UNWIND_RIP;
    return true;
}

fm_status fm_sampled_stack_unwind(fm_sample_code_of *process, fm_sampled_code *code,
                                  const uint64_t *registers, const unsigned char *stack, size_t bytes,
                                  fm_sampled_frame *frames, size_t *count, fm_error *error)
{
    static const uint8_t numbers[] = {
        FM_UNWIND_RIP, FM_UNWIND_RSP, FM_UNWIND_RBP, FM_UNWIND_RBX, 12, 13, 14, 15};
    fm_unwind_registers at = {.known = 0};
    copied_stack copy = {registers[1], stack, bytes};
    for (size_t i = 0; i < sizeof numbers; i++) {
        at.value[numbers[i]] = registers[i];
        at.known |= UINT32_C(1) << numbers[i];
    }
    *count = 0;
    while (*count < FM_SAMPLED_FRAMES) {
        /* A caller is where it called: the instruction before the one it is returned to. */
        const uint64_t here = at.value[FM_UNWIND_RIP] - (*count > 0);
        const fm_code_map *map;
        fm_status status = fm_sampled_code_map(process, code, here, &map, error);
        if (status != FM_OK) return status;
        fm_unwinder *unwinder = map ? unwinder_of(&code->program.files[map->file]) : NULL;
        const bool rule = unwinder && fm_unwinder_knows(unwinder, here - map->bias);
        const bool done = rule ? fm_unwinder_step(unwinder, here - map->bias, &at, read_copy, &copy)
                               : step_by_pointer(&at, &copy);
        if (!done || at.value[FM_UNWIND_RIP] == 0) break;
        frames[(*count)++] =
            (fm_sampled_frame){.back = at.value[FM_UNWIND_RIP], .slot = at.value[FM_UNWIND_RSP] - 8};
    }
    return FM_OK;
}

/* ---- function filter ---- */

enum { UNKNOWN = 0, OUTSIDE = 1, INSIDE = 2, DEEPEST = 4096 };

static fm_status no_filter_memory(fm_error *error)
{
    return fm_fail(error, FM_E_NOMEM, NULL, "out of memory: no room for what is known of a function");
}

fm_status fm_function_filter_prepare(fm_function_filter *filter, fm_program *program, fm_error *error)
{
    for (; filter->file_count < program->file_count; filter->file_count++) {
        const fm_status status = fm_program_seek_function(program, (uint32_t)filter->file_count, error);
        if (status != FM_OK) return status;
    }
    return FM_OK;
}

/* Room for a number, from 1 on, and zeroes up to there. */
static bool make_room(unsigned char **array, size_t *capacity, uint32_t number)
{
    const size_t before = *capacity;
    if (number <= before) return true;
    if (fm_array_reserve((void **)array, capacity, number, 1) != 0) return false;
    memset(*array + before, UNKNOWN, *capacity - before);
    return true;
}

static fm_status site_inside(fm_function_filter *filter, fm_program *program, uint32_t site, bool *inside,
                             fm_error *error)
{
    *inside = false;
    if (site == 0 || site > program->sites.count) return FM_OK;
    if (!make_room(&filter->sites, &filter->site_capacity, site)) return no_filter_memory(error);
    unsigned char *known = &filter->sites[site - 1];
    if (*known == UNKNOWN) {
        const uint64_t address = program->sites.entries[site - 1].a;
        const size_t file = (size_t)program->sites.entries[site - 1].b;
        fm_status status = fm_function_filter_prepare(filter, program, error);
        if (status != FM_OK) return status;
        const bool found = file && fm_code_file_watched(&program->files[file - 1], address) != FM_WATCHED_NOT;
        *known = found ? INSIDE : OUTSIDE;
    }
    *inside = *known == INSIDE;
    return FM_OK;
}

fm_status fm_function_filter_inside(fm_function_filter *filter, fm_program *program, uint32_t site,
                                    uint32_t path, bool *inside, fm_error *error)
{
    fm_status status = site_inside(filter, program, site, inside, error);
    if (status != FM_OK || *inside || path == 0 || path >= program->calls.count) return status;
    if (!make_room(&filter->paths, &filter->path_capacity, path)) return no_filter_memory(error);
    unsigned char *known = &filter->paths[path - 1];
    /* Paths are longer than those they go on from, and have greater numbers. */
    for (int depth = 0; *known == UNKNOWN && path != 0 && path < program->calls.count && depth < DEEPEST;
         depth++) {
        const fm_call_node *node = &program->calls.nodes[path];
        status = site_inside(filter, program, node->call + 1, inside, error);
        if (status != FM_OK) return status;
        if (*inside) *known = INSIDE;
        path = node->parent;
    }
    if (*known == UNKNOWN) *known = OUTSIDE;
    *inside = *known == INSIDE;
    return FM_OK;
}

fm_status fm_function_filter_check(fm_function_filter *filter, fm_program *program, fm_error *error)
{
    fm_status status = fm_function_filter_prepare(filter, program, error);
    if (status != FM_OK || program->function_found) return status;
    return fm_program_no_function(program, error);
}

void fm_function_filter_free(fm_function_filter *filter)
{
    free(filter->paths);
    free(filter->sites);
    *filter = (fm_function_filter){0};
}
