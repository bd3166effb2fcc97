/* SPDX-License-Identifier: Apache-2.0 */
/* program.c - files, where they lie, sites and calls: see program.h. */
#include "program/program.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST_NODES = 1 << 22, MOST_DEPTH = 512 };

static fm_status no_code_memory(fm_error *error)
{
    return fm_fail(error, FM_E_NOMEM, NULL, "out of memory: no room for what is known of the program's code");
}

/* ---- files ---- */

/* A path may be anything: a pipe would keep us waiting. */
static bool is_regular_file(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISREG(about.st_mode);
}

fm_status fm_program_file_named(fm_program *program, const char *path, bool look, uint32_t *index,
                                fm_error *error)
{
    for (size_t i = 0; i < program->file_count; i++) {
        *index = (uint32_t)i;
        if (strcmp(program->files[i].path, path) == 0) return FM_OK;
    }
    char *copy = strdup(path);
    if (!copy || fm_array_reserve((void **)&program->files, &program->file_capacity, program->file_count + 1,
                                  sizeof *program->files) != 0) {
        free(copy);
        return no_code_memory(error);
    }
    fm_code_file *file = &program->files[program->file_count];
    *file = (fm_code_file){.path = copy};
    if (look && is_regular_file(path) && !fm_symbols_build_id(path, file->build_id)) file->build_id[0] = '\0';
    *index = (uint32_t)program->file_count++;
    return FM_OK;
}

bool fm_program_call(fm_program *program, const char *path, const char *called)
{
    for (size_t i = 0; i < program->file_count; i++) {
        fm_code_file *file = &program->files[i];
        if (strcmp(file->path, path) != 0 || file->called) continue;
        file->called = strdup(called);
        if (!file->called) return false;
    }
    return true;
}

fm_status fm_program_seek_function(fm_program *program, uint32_t index, fm_error *error)
{
    fm_code_file *file = &program->files[index];
    fm_symbols *symbols = NULL;
    if (!program->function || file->function_sought) return FM_OK;
    fm_status status = file->ours || !is_regular_file(file->path)
                           ? FM_E_FORMAT
                           : fm_symbols_open(&symbols, file->path, error);
    if (status == FM_OK) {
        status = fm_symbols_function_ranges(symbols, program->function, true, &file->watched,
                                            &file->watched_count, error);
        if (status != FM_OK) file->watched_count = 0;
        fm_symbols_close(symbols);
    }
    if (status == FM_E_NOMEM) return status;
    file->function_sought = true;
    program->function_found |= file->watched_count > 0;
    return FM_OK;
}

fm_status fm_program_no_function(const fm_program *program, fm_error *error)
{
    return fm_fail(error, FM_E_ARGUMENT, NULL,
                   "there is no function '%s' in the program or in any library it used; functions that were "
                   "stripped of their names cannot be found, nor (without debug information) those that the "
                   "compiler inlined",
                   program->function);
}

fm_watched fm_code_file_watched(const fm_code_file *file, uint64_t address)
{
    fm_watched found = FM_WATCHED_NOT;
    for (size_t i = 0; i < file->watched_count; i++) {
        const fm_code_range *range = &file->watched[i];
        if (address < range->low || address >= range->high) continue;
        if (!range->inlined) return FM_WATCHED_IN;
        found = FM_WATCHED_INLINED;
    }
    return found;
}

/* ---- where they lie ---- */

bool fm_code_maps_add(fm_code_maps *maps, fm_code_map map)
{
    if (fm_array_reserve((void **)&maps->list, &maps->capacity, maps->count + 1, sizeof map) != 0 ||
        fm_address_ranges_put(&maps->ranges, (fm_address_range){map.from, map.to, (uint32_t)maps->count}) !=
            0)
        return false;
    maps->list[maps->count++] = map;
    return true;
}

bool fm_code_maps_copy(fm_code_maps *into, const fm_code_maps *from)
{
    if (fm_array_reserve((void **)&into->list, &into->capacity, from->count, sizeof *into->list) != 0 ||
        fm_address_ranges_copy(&into->ranges, &from->ranges) != 0)
        return false;
    if (from->count > 0) memcpy(into->list, from->list, from->count * sizeof *from->list);
    into->count = from->count;
    return true;
}

void fm_code_maps_free(fm_code_maps *maps)
{
    free(maps->list);
    fm_address_ranges_clear(&maps->ranges);
    *maps = (fm_code_maps){0};
}

const fm_code_map *fm_code_map_at(const fm_code_maps *maps, uint64_t address)
{
    const fm_address_range *range = fm_address_ranges_find(&maps->ranges, address);
    return range ? &maps->list[range->value] : NULL;
}

const fm_code_map *fm_code_map_numbered(const fm_code_maps *maps, uint32_t number)
{
    for (size_t i = maps->count; number && i-- > 0;)
        if (maps->list[i].number == number) return &maps->list[i];
    return NULL;
}

/* ---- sites ---- */

static fm_intern_entry *put_place(fm_intern_table *table, const fm_code_map *map, uint64_t address)
{
    return map ? fm_intern_table_put(table, address - map->bias, map->file + 1, NULL)
               : fm_intern_table_put(table, address, 0, NULL);
}

uint32_t fm_program_site(fm_program *program, const fm_code_map *map, uint64_t address)
{
    if (program->sites.count >= FM_SITES_MOST) return 0;
    const fm_intern_entry *entry = put_place(&program->sites, map, address);
    return entry ? (uint32_t)(entry - program->sites.entries) + 1 : 0;
}

uint32_t fm_program_place(fm_program *program, uint32_t site, uint32_t node)
{
    if (site == 0 || program->places.count >= FM_SITES_MOST) return 0;
    const fm_intern_entry *entry = fm_intern_table_put(&program->places, site, node, NULL);
    return entry ? (uint32_t)(entry - program->places.entries) + 1 : 0;
}

/* ---- calls ---- */

static uint32_t add_call_node(fm_call_tree *tree, uint32_t parent, uint32_t call)
{
    if (tree->count == 0) { /* the root */
        if (fm_array_reserve((void **)&tree->nodes, &tree->capacity, 2, sizeof *tree->nodes) != 0) return 0;
        tree->nodes[tree->count++] = (fm_call_node){0};
    }
    for (uint32_t at = parent; at != 0 && !tree->of_sites; at = tree->nodes[at].parent)
        if (tree->nodes[at].call == call) return at;
    uint32_t depth = tree->nodes[parent].depth + 1;
    if ((!tree->of_sites && (depth > MOST_DEPTH || tree->count >= MOST_NODES)) ||
        fm_array_reserve((void **)&tree->nodes, &tree->capacity, tree->count + 1, sizeof *tree->nodes) != 0)
        return parent;
    tree->nodes[tree->count] = (fm_call_node){parent, call, depth};
    return (uint32_t)tree->count++;
}

uint32_t fm_call_tree_node(fm_call_tree *tree, uint32_t parent, uint32_t call)
{
    bool fresh;
    fm_intern_entry *edge = fm_intern_table_put(&tree->edges, call, parent, &fresh);
    if (!edge) return parent;
    if (fresh) edge->value = add_call_node(tree, parent, call);
    FM_ASSERT(edge->value < tree->count || edge->value == parent);
    return edge->value;
}

uint32_t fm_call_tree_call(fm_call_tree *tree, const fm_code_maps *maps, uint32_t parent, uint64_t behind)
{
    size_t slot = (size_t)((behind ^ parent) * UINT64_C(0x9E3779B97F4A7C15) >> 56);
    if (tree->recent[slot].behind == behind && tree->recent[slot].parent == parent && behind)
        return tree->recent[slot].node;
    uint64_t address = behind - 1; /* in the call itself: its line is the call's */
    const fm_intern_entry *place = put_place(&tree->places, fm_code_map_at(maps, address), address);
    if (!place) return parent;
    const uint32_t node = fm_call_tree_node(tree, parent, (uint32_t)(place - tree->places.entries));
    tree->recent[slot].behind = behind;
    tree->recent[slot].parent = parent;
    tree->recent[slot].node = node;
    return node;
}

void fm_call_tree_forget(fm_call_tree *tree)
{
    memset(tree->recent, 0, sizeof tree->recent);
}

/* ---- fork and the end ---- */

/* Tables are copied by putting the same entries in the same order. */
static bool copy_table(fm_intern_table *to, const fm_intern_table *from)
{
    for (size_t i = 0; i < from->count; i++) {
        fm_intern_entry *entry = fm_intern_table_put(to, from->entries[i].a, from->entries[i].b, NULL);
        if (!entry) return false;
        entry->value = from->entries[i].value;
    }
    return true;
}

static bool copy_tree(fm_call_tree *to, const fm_call_tree *from)
{
    if (!copy_table(&to->places, &from->places) || !copy_table(&to->edges, &from->edges) ||
        fm_array_reserve((void **)&to->nodes, &to->capacity, from->count, sizeof *from->nodes) != 0)
        return false;
    if (from->count > 0) memcpy(to->nodes, from->nodes, from->count * sizeof *from->nodes);
    to->count = from->count;
    return true;
}

/* What its receiver looks for when it needs it is not copied. */
static bool copy_file(fm_code_file *to, const fm_code_file *from)
{
    *to = *from;
    to->called = NULL;
    to->watched = NULL;
    to->unwinder_sought = false;
    to->unwinder = NULL;
    to->path = strdup(from->path);
    if (to->path && from->watched_count > 0) {
        to->watched = fm_calloc(from->watched_count, sizeof *to->watched);
        if (to->watched) memcpy(to->watched, from->watched, from->watched_count * sizeof *to->watched);
    }
    return to->path && (from->watched_count == 0 || to->watched);
}

bool fm_program_inherit(fm_program *child, const fm_program *parent)
{
    if (fm_array_reserve((void **)&child->files, &child->file_capacity, parent->file_count,
                         sizeof *child->files) != 0)
        return false;
    for (size_t i = 0; i < parent->file_count; i++) {
        const bool copied = copy_file(&child->files[i], &parent->files[i]);
        child->file_count++;
        if (!copied) return false;
    }
    child->function_found = parent->function_found;
    return copy_tree(&child->calls, &parent->calls) && copy_tree(&child->heap, &parent->heap);
}

static void free_tree(fm_call_tree *tree)
{
    fm_intern_table_free(&tree->places);
    fm_intern_table_free(&tree->edges);
    free(tree->nodes);
}

void fm_program_free(fm_program *program)
{
    for (size_t i = 0; i < program->file_count; i++) {
        fm_code_file *file = &program->files[i];
        free(file->path);
        free(file->called);
        free(file->watched);
        fm_unwinder_close(file->unwinder);
    }
    free(program->files);
    fm_intern_table_free(&program->sites);
    fm_intern_table_free(&program->places);
    free_tree(&program->calls);
    free_tree(&program->heap);
    *program = (fm_program){0};
}
