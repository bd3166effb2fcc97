/* SPDX-License-Identifier: Apache-2.0 */
/* code.c - see code.h. */
#include "collect/code.h"

#include "base/error.h"
#include "base/memory.h"
#include "collect/protocol.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(FM_SITES_MOST == FM_TAG_MAX, "every site has a tag");

enum { MOST_CONTEXTS = 1 << 24 }; /* numbers above are damage */

static fm_status no_code_memory(fm_error *error)
{
    return fm_fail(error, FM_E_NOMEM, NULL, "out of memory: no room for what is known of the program's code");
}

fm_status fm_code_load(fm_code *code, const uint64_t words[8], const char *path, uint32_t *index,
                       fm_error *error)
{
    fm_code_map map = {.number = (uint32_t)words[0], .bias = words[1], .from = words[2], .to = words[3]};
    uint64_t flags = words[0] >> 32;
    fm_status status = fm_program_file_named(&code->program, path, true, &map.file, error);
    if (status == FM_OK) status = fm_program_seek_function(&code->program, map.file, error);
    if (status != FM_OK) return status;
    *index = map.file;
    fm_code_file *file = &code->program.files[map.file];
    file->bias = map.bias;
    file->instrumented |= (flags & FM_MODULE_INSTRUMENTED) != 0;
    file->program |= (flags & FM_MODULE_PROGRAM) != 0;
    file->executable |= map.to > map.from;
    for (size_t i = 0; i < code->maps.count; i++) {
        const fm_code_map *old = &code->maps.list[i];
        if (old->number != map.number) continue;
        if (old->file == map.file && old->bias == map.bias && old->from == map.from && old->to == map.to)
            return FM_OK; /* reported again */
    }
    if (!fm_code_maps_add(&code->maps, map)) return no_code_memory(error);
    fm_call_tree_forget(&code->program.calls);
    fm_call_tree_forget(&code->program.heap);
    return FM_OK;
}

fm_status fm_code_context(fm_code *code, uint64_t number, const uint64_t *returns, size_t count,
                          fm_error *error)
{
    if (number == 0 || number > MOST_CONTEXTS)
        return fm_fail(error, FM_E_CORRUPT, NULL, "a context has the number %llu",
                       (unsigned long long)number);
    size_t had = code->context_capacity;
    if (fm_array_reserve((void **)&code->contexts, &code->context_capacity, (size_t)number + 1,
                         sizeof *code->contexts) != 0)
        return no_code_memory(error);
    memset(code->contexts + had, 0, (code->context_capacity - had) * sizeof *code->contexts);
    uint32_t node = 0;
    for (size_t i = count; i-- > 0;)
        if (returns[i]) node = fm_call_tree_call(&code->program.heap, &code->maps, node, returns[i]);
    code->contexts[number] = node;
    if (number >= code->context_count) code->context_count = (size_t)number + 1;
    return FM_OK;
}

fm_status fm_code_inherit(fm_code *child, const fm_code *parent, fm_error *error)
{
    /* A child that has reported anything before it said whose it is, is damaged: it keeps what it has. */
    const fm_program *own = &child->program;
    if (own->file_count || child->maps.count || child->context_count || own->calls.places.count ||
        own->heap.places.count)
        return FM_OK;
    if (!fm_program_inherit(&child->program, &parent->program) ||
        !fm_code_maps_copy(&child->maps, &parent->maps) ||
        fm_array_reserve((void **)&child->contexts, &child->context_capacity, parent->context_count,
                         sizeof *child->contexts) != 0)
        return no_code_memory(error);
    if (parent->context_count > 0)
        memcpy(child->contexts, parent->contexts, parent->context_count * sizeof *child->contexts);
    child->context_count = parent->context_count;
    if (child->context_capacity > child->context_count)
        memset(child->contexts + child->context_count, 0,
               (child->context_capacity - child->context_count) * sizeof *child->contexts);
    return FM_OK;
}

void fm_code_free(fm_code *code)
{
    fm_program_free(&code->program);
    fm_code_maps_free(&code->maps);
    free(code->contexts);
    *code = (fm_code){0};
}
