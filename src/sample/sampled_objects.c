/* SPDX-License-Identifier: Apache-2.0 */
/* sampled_objects.c - see sampled_program.h. object_results.c makes an attribution of what was counted. */
#define _GNU_SOURCE
#include "sample/sampled_program.h"

#include "base/crew.h"
#include "base/error.h"
#include "base/memory.h"
#include "process/program_file.h"
#include "program/object_map.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    PATH_MOST = 32, /* calls that led to an allocation */
    NUMBER_BITS = 28,
    MAIN_STACK = 8 << 20, /* bytes that the first thread's stack may grow to, where it may grow */
    PRUNE_FROM = 4096,
};
static const double STACKS_SECONDS = 0.1;
/* Bursts arrive a tenth of a second after they ended, or some, where nobody stopped their thread meanwhile.
 */
static const double SETTLED_SECONDS = 5;

static fm_status no_memory_account(fm_error *error)
{
    return fm_fail(error, FM_E_NOMEM, NULL, "out of memory for the account of data objects");
}

void fm_sampled_objects_free(fm_sampled_objects *objects)
{
    free(objects->objects);
    free(objects->allocations);
    fm_intern_table_free(&objects->known);
    fm_intern_table_free(&objects->contexts);
    fm_intern_table_free(&objects->met);
    *objects = (fm_sampled_objects){0};
}

void fm_sampled_memory_free(fm_sampled_memory_of *memory)
{
    fm_object_map_destroy(memory->map);
    free(memory->told);
    free(memory->numbers);
    fm_intern_table_free(&memory->by_chance);
    *memory = (fm_sampled_memory_of){0};
}

static fm_status have_map(fm_sampled_memory_of *memory, fm_error *error)
{
    return memory->map ? FM_OK : fm_object_map_create(&memory->map, error);
}

/* A block was told by its hash, or is gone. */
static fm_status set_by_chance(fm_sampled_memory_of *memory, uint64_t address, bool living, fm_error *error)
{
    fm_intern_entry *entry = fm_intern_table_put(&memory->by_chance, address, 0, NULL);
    if (!entry) return no_memory_account(error);
    memory->living += living;
    memory->living -= entry->value;
    entry->value = living;
    return FM_OK;
}

fm_status fm_sampled_memory_fork(fm_sampled_memory_of *child, const fm_sampled_memory_of *parent,
                                 fm_error *error)
{
    if (!parent->map || child->map) return FM_OK;
    fm_status status = fm_object_map_clone(&child->map, parent->map, error);
    if (status != FM_OK) return status;
    const size_t told = parent->told_count;
    if (fm_array_reserve((void **)&child->told, &child->told_capacity, told, sizeof *child->told) != 0)
        return no_memory_account(error);
    if (told) memcpy(child->told, parent->told, told * sizeof *child->told);
    child->told_count = told;
    for (size_t i = 0; i < parent->by_chance.count && status == FM_OK; i++)
        if (parent->by_chance.entries[i].value)
            status = set_by_chance(child, parent->by_chance.entries[i].a, true, error);
    child->time = parent->time;
    child->level = parent->level;
    child->limit = parent->limit;
    child->program = parent->program;
    return status;
}

/* Times never decrease. */
static uint64_t time_of(fm_sampled_memory_of *memory, uint64_t time)
{
    if (time > memory->time) memory->time = time;
    return memory->time;
}

/* ---- the heap ---- */

/* The path of an allocation: the calls of functions that are not ours. */
static fm_status path_of(fm_sample_code_of *process, fm_sampled_code *code, const fm_sample_allocation *told,
                         uint32_t *path, fm_error *error)
{
    fm_sampled_frame frames[FM_SAMPLED_FRAMES];
    size_t count = 0, first = 0;
    const size_t bytes = told->stack_bytes <= sizeof told->stack ? told->stack_bytes : 0;
    fm_status status =
        fm_sampled_stack_unwind(process, code, told->registers, told->stack, bytes, frames, &count, error);
    for (; first < count && status == FM_OK; first++) {
        const fm_code_map *map = fm_code_map_at(&process->maps.code, frames[first].back);
        if (!map || !code->program.files[map->file].ours) break;
    }
    if (first == count) { /* the stack could not be followed: who called is known all the same */
        first = 0;
        count = 1;
        frames[0].back = told->caller;
    }
    if (count > first + PATH_MOST) count = first + PATH_MOST;
    *path = 0;
    for (size_t i = count; i-- > first && status == FM_OK;) {
        uint32_t site;
        status = fm_sampled_code_site(process, code, frames[i].back - 1, &site, error);
        *path = fm_sampled_code_path(code, *path, site);
    }
    return status;
}

/* Only those that live are kept, when most do not. */
static fm_status prune_blocks(fm_sampled_memory_of *memory, fm_error *error)
{
    if (memory->by_chance.count < 2 * memory->living + PRUNE_FROM) return FM_OK;
    fm_intern_table old = memory->by_chance;
    fm_status status = FM_OK;
    memory->by_chance = (fm_intern_table){0};
    memory->living = 0;
    for (size_t i = 0; i < old.count && status == FM_OK; i++)
        if (old.entries[i].value) status = set_by_chance(memory, old.entries[i].a, true, error);
    fm_intern_table_free(&old);
    return status;
}

fm_status fm_sampled_memory_allocated(fm_sampled_memory_of *memory, fm_sampled_objects *objects,
                                      fm_sample_code_of *process, fm_sampled_code *code,
                                      const fm_sample_allocation *told, fm_error *error)
{
    uint32_t path;
    fm_status status = have_map(memory, error);
    /* The limit has fallen since: nobody would tell that it is freed. */
    if (told->by_chance && fm_sample_heap_hash(told->address) >= memory->limit) return status;
    if (status == FM_OK) status = path_of(process, code, told, &path, error);
    if (status != FM_OK) return status;
    bool fresh;
    const fm_intern_entry *context =
        fm_intern_table_put(&objects->contexts, path, told->by_chance ? 1 : 0, &fresh);
    if (!context || fm_array_reserve((void **)&objects->allocations, &objects->allocation_capacity,
                                     objects->contexts.count, sizeof *objects->allocations) != 0)
        return no_memory_account(error);
    const uint32_t number = (uint32_t)(context - objects->contexts.entries);
    const uint32_t level = told->by_chance && memory->level < 40 ? memory->level : 0;
    fm_sampled_allocations *sum = &objects->allocations[number];
    if (fresh) *sum = (fm_sampled_allocations){0};
    objects->told += told->by_chance != 0;
    sum->blocks += UINT64_C(1) << level;
    sum->bytes += told->bytes >> 48 ? 0 : told->bytes << level;
    status = set_by_chance(memory, told->address, told->by_chance, error);
    if (status == FM_OK) status = prune_blocks(memory, error);
    if (status != FM_OK) return status;
    return fm_object_map_alloc(memory->map, time_of(memory, told->time), told->address, told->bytes, number,
                               error);
}

fm_status fm_sampled_memory_freed(fm_sampled_memory_of *memory, uint64_t time, uint64_t address,
                                  fm_error *error)
{
    fm_status status = have_map(memory, error);
    if (status == FM_OK) status = set_by_chance(memory, address, false, error);
    if (status == FM_OK) status = fm_object_map_free(memory->map, time_of(memory, time), address, error);
    return status;
}

fm_status fm_sampled_memory_limit(fm_sampled_memory_of *memory, uint64_t limit, fm_error *error)
{
    const uint32_t level = limit ? (uint32_t)__builtin_clzll(limit) : 0;
    fm_status status = FM_OK;
    if (limit && !memory->limit) memory->limit = limit;
    if (level <= memory->level || !memory->map) return FM_OK;
    memory->limit = limit;
    memory->level = level;
    memory->number_count = 0; /* what is told by chance has another object now */
    for (size_t i = 0; i < memory->by_chance.count && status == FM_OK; i++) {
        const uint64_t address = memory->by_chance.entries[i].a;
        if (!memory->by_chance.entries[i].value || fm_sample_heap_hash(address) < limit) continue;
        memory->by_chance.entries[i].value = 0;
        memory->living--;
        status = fm_object_map_free(memory->map, memory->time, address, error);
    }
    return status;
}

fm_status fm_sampled_memory_settle(fm_sampled_memory_of *memory, double now, fm_error *error)
{
    if (!memory->map || now < memory->settled_next) return FM_OK;
    fm_status status = fm_object_map_count(memory->map, memory->settled, NULL, NULL, 0, error);
    memory->settled = memory->time;
    memory->settled_next = now + SETTLED_SECONDS;
    return status;
}

/* ---- files and stacks ---- */

static bool is_among(const fm_code_map *maps, size_t count, const fm_code_map *map)
{
    for (size_t i = 0; i < count; i++)
        if (maps[i].from == map->from && maps[i].to == map->to && maps[i].file == map->file) return true;
    return false;
}

/* What is not there any more. */
static fm_status forget_data(fm_sampled_memory_of *memory, const fm_sampled_maps *now, fm_error *error)
{
    size_t kept = 0;
    fm_status status = FM_OK;
    for (size_t i = 0; i < memory->told_count && status == FM_OK; i++) {
        const fm_code_map map = memory->told[i];
        if (is_among(now->data.list, now->data.count, &map))
            memory->told[kept++] = map;
        else
            status = fm_object_map_unmap(memory->map, memory->time, map.from, map.to, error);
    }
    if (status == FM_OK) memory->told_count = kept;
    return status;
}

static fm_status tell_data(fm_sampled_memory_of *memory, const fm_sample_code_of *process,
                           const fm_sampled_code *code, fm_error *error)
{
    if (memory->reading == process->maps.reading) return FM_OK;
    memory->reading = process->maps.reading;
    fm_status status = forget_data(memory, &process->maps, error);
    for (size_t i = 0; i < process->maps.data.count && status == FM_OK; i++) {
        const fm_code_map *map = &process->maps.data.list[i];
        if (is_among(memory->told, memory->told_count, map)) continue;
        if (fm_array_reserve((void **)&memory->told, &memory->told_capacity, memory->told_count + 1,
                             sizeof *map) != 0)
            return no_memory_account(error);
        memory->told[memory->told_count++] = *map;
        const char *symbols = map->whole ? "" : code->program.files[map->file].path;
        status = fm_object_map_module(memory->map, memory->time, map->file, symbols, map->bias, map->from,
                                      map->to, error);
    }
    return status;
}

/* The mapping that an address lies in. growing: the first thread's stack, which may grow down to what lies
 * below it. */
static bool find_mapping(uint32_t pid, uint64_t address, fm_sampled_place *found)
{
    fm_proc_maps maps;
    fm_proc_map map;
    bool done = false;
    uint64_t before = 0;
    if (!fm_proc_maps_open(&maps, pid)) return false;
    while (!done && fm_proc_maps_next(&maps, &map)) {
        done = map.from <= address && address < map.to;
        if (done) {
            *found = (fm_sampled_place){map.from, map.to};
            if (strcmp(map.path, "[stack]") == 0)
                found->low = map.to - before > MAIN_STACK && map.to - map.from < MAIN_STACK
                                 ? map.to - MAIN_STACK
                                 : map.from;
        }
        before = map.to;
    }
    fm_proc_maps_close(&maps);
    return done;
}

static uint32_t program_of(uint32_t pid, const fm_sampled_code *code)
{
    char path[PATH_MAX];
    if (!fm_proc_program(pid, path, sizeof path)) return 0;
    for (size_t i = 0; i < code->program.file_count; i++)
        if (strcmp(code->program.files[i].path, path) == 0) return (uint32_t)i + 1;
    return 0;
}

/* The program's thread-local variables end at fs_base, as the x86-64 ABI has it; those of libraries lie below
 * or elsewhere. */
static fm_status tell_locals(fm_sampled_memory_of *memory, uint32_t pid, const fm_sampled_code *code,
                             uint64_t fs_base, fm_sampled_place *stack, fm_error *error)
{
    if (!memory->program) memory->program = program_of(pid, code);
    uint64_t begin = fs_base;
    fm_status status = FM_OK;
    if (memory->program) {
        const fm_code_file *file = &code->program.files[memory->program - 1];
        const uint64_t align = file->local_align ? file->local_align : 1;
        begin = fs_base - (file->local_bytes + align - 1) / align * align;
        if (file->local_bytes && begin < fs_base)
            status = fm_object_map_thread_local(memory->map, memory->time, memory->program - 1, file->path,
                                                begin, file->local_bytes, error);
    }
    /* The stack of a thread has both in one mapping. */
    if (stack->low < begin && begin < stack->high) stack->high = begin;
    return status;
}

fm_status fm_sampled_memory_thread(fm_sampled_memory_of *memory, fm_sample_code_of *process,
                                   fm_sampled_code *code, uint32_t thread, uint64_t stack, uint64_t fs_base,
                                   fm_sampled_place *place, fm_error *error)
{
    fm_status status = have_map(memory, error);
    if (status == FM_OK && memory->nobodys) {
        memory->nobodys = false;
        status = fm_sampled_code_look_for_data(process, code, error);
    }
    if (status == FM_OK) status = tell_data(memory, process, code, error);
    if (status != FM_OK || (place->low <= stack && stack < place->high)) return status;
    if (!__atomic_load_n(&process->alive, __ATOMIC_RELAXED)) return FM_OK;
    if (place->high && fm_now() < memory->stacks_next) return FM_OK; /* it has several stacks */
    memory->stacks_next = fm_now() + STACKS_SECONDS;
    fm_sampled_place found;
    if (!find_mapping(process->pid, stack, &found)) return FM_OK;
    const bool first = place->high == 0;
    fm_sampled_place known = found;
    if (first) status = tell_locals(memory, process->pid, code, fs_base, &known, error);
    *place = found;
    if (status != FM_OK) return status;
    return fm_object_map_stack(memory->map, memory->time, thread, known.low, known.high, error);
}

/* ---- uses ---- */

void fm_sampled_memory_begin(fm_sampled_memory_of *memory)
{
    memset(memory->recent, 0, sizeof memory->recent);
}

static fm_status add_object(fm_sampled_objects *objects, fm_sampled_object made, uint32_t *number,
                            fm_error *error)
{
    bool fresh;
    const fm_intern_entry *entry = fm_intern_table_put(
        &objects->known, made.is.address, (uint32_t)made.is.kind << NUMBER_BITS | made.is.number, &fresh);
    if (!entry || fm_array_reserve((void **)&objects->objects, &objects->capacity, objects->known.count,
                                   sizeof *objects->objects) != 0)
        return no_memory_account(error);
    *number = (uint32_t)(entry - objects->known.entries) + 1;
    if (fresh) objects->objects[objects->count++] = made;
    return FM_OK;
}

/* The object of the map, as all processes know it. */
static fm_status number_of(fm_sampled_memory_of *memory, fm_sampled_objects *objects, uint32_t index,
                           uint32_t *number, fm_error *error)
{
    if (index >= memory->number_count) {
        const size_t before = memory->number_count;
        if (fm_array_reserve((void **)&memory->numbers, &memory->number_capacity, (size_t)index + 1,
                             sizeof *memory->numbers) != 0)
            return no_memory_account(error);
        memory->number_count = (size_t)index + 1;
        memset(memory->numbers + before, 0, (memory->number_count - before) * sizeof *memory->numbers);
    }
    *number = memory->numbers[index];
    if (*number) return FM_OK;
    fm_sampled_object made = {.is = memory->map->objects[index]};
    if (made.is.kind == FM_OBJECT_HEAP) {
        const fm_intern_entry *context = &objects->contexts.entries[made.is.number];
        made.is.number = (uint32_t)context->a;
        made.level = context->b ? memory->level : 0;
        made.is.address = made.level;
    }
    if (made.is.number >> NUMBER_BITS) return FM_OK;
    const fm_status status = add_object(objects, made, number, error);
    if (status == FM_OK) memory->numbers[index] = *number;
    return status;
}

fm_status fm_sampled_memory_unknown(fm_sampled_memory_of *memory, const fm_sample_code_of *process,
                                    fm_sampled_objects *objects, uint64_t address, uint32_t *object,
                                    fm_error *error)
{
    *object = 0;
    if (address < process->maps.heap_from || address >= process->maps.heap_to) {
        memory->nobodys = true;
        return FM_OK;
    }
    fm_status status = FM_OK;
    if (!objects->unknown_heap)
        status = add_object(objects, (fm_sampled_object){.is = {.kind = FM_OBJECT_HEAP}},
                            &objects->unknown_heap, error);
    *object = objects->unknown_heap;
    return status;
}

/* How many different blocks what is counted rests on. */
static fm_status meet_block(fm_sampled_objects *objects, uint32_t object, uint64_t block, fm_error *error)
{
    bool fresh;
    if (!fm_intern_table_put(&objects->met, block, object, &fresh)) return no_memory_account(error);
    if (fresh) objects->objects[object - 1].met++;
    return FM_OK;
}

fm_status fm_sampled_memory_find(fm_sampled_memory_of *memory, fm_sampled_objects *objects, uint64_t time,
                                 uint64_t address, fm_sampled_extent *found, fm_error *error)
{
    *found = (fm_sampled_extent){.low = address, .high = address + 1};
    if (!memory->map) return FM_OK;
    fm_sampled_extent *recent =
        &memory->recent[(address >> 6) % (sizeof memory->recent / sizeof memory->recent[0])];
    if (address - recent->low < recent->high - recent->low) {
        *found = *recent;
        return FM_OK;
    }
    uint32_t index;
    fm_status status =
        fm_object_map_find(memory->map, time, address, &index, &found->low, &found->high, error);
    if (status == FM_OK && index) status = number_of(memory, objects, index, &found->object, error);
    if (status == FM_OK && found->object && objects->objects[found->object - 1].level > 0)
        status = meet_block(objects, found->object, found->low, error);
    *recent = *found;
    return status;
}
