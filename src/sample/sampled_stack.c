/* SPDX-License-Identifier: Apache-2.0 */
/* sampled_stack.c - see sampled_stack.h. */
#include "sample/sampled_stack.h"

#include <string.h>

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
