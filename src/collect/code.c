/* SPDX-License-Identifier: Apache-2.0 */
/* code.c - see code.h. */
#define _GNU_SOURCE
#include "collect/code.h"

#include "base/error.h"
#include "base/memory.h"
#include "collect/protocol.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    MOST_CONTEXTS = 1 << 24, /* numbers above are damage */
    MOST_NODES = 1 << 22,
    MOST_DEPTH = 512,
};

/* ---- files and where they are ---- */

static fm_status no_memory(fm_error *error)
{
    return fm_fail(error, FM_E_NOMEM, NULL, "out of memory: no room for what is known of the program's code");
}

/* A path may be anything: a pipe would keep us waiting. */
static bool is_file(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISREG(about.st_mode);
}

/* A file without symbols has no function; that none has it is said at the end. */
static fm_status find_function(fm_code *code, fm_code_file *file, fm_error *error)
{
    fm_symbols *symbols = NULL;
    if (!code->function) return FM_OK;
    fm_status status = fm_symbols_open(&symbols, file->path, error);
    if (status == FM_OK) {
        status = fm_symbols_function_ranges(symbols, code->function, true, &file->watched,
                                            &file->watched_count, error);
        if (status != FM_OK) file->watched_count = 0;
        fm_symbols_close(symbols);
    }
    code->function_found |= file->watched_count > 0;
    return status == FM_E_NOMEM ? status : FM_OK;
}

static fm_status file_named(fm_code *code, const char *path, uint32_t *index, fm_error *error)
{
    for (size_t i = 0; i < code->file_count; i++) {
        *index = (uint32_t)i;
        if (strcmp(code->files[i].path, path) == 0) return FM_OK;
    }
    char *copy = strdup(path);
    if (!copy || fm_array_reserve((void **)&code->files, &code->file_capacity, code->file_count + 1,
                                  sizeof *code->files) != 0) {
        free(copy);
        return no_memory(error);
    }
    fm_code_file *file = &code->files[code->file_count];
    *file = (fm_code_file){.path = copy};
    if (is_file(path)) {
        if (!fm_symbols_build_id(path, file->build_id)) file->build_id[0] = '\0';
        fm_status status = find_function(code, file, error);
        if (status != FM_OK) {
            free(copy);
            return status;
        }
    }
    *index = (uint32_t)code->file_count++;
    return FM_OK;
}

fm_status fm_code_load(fm_code *code, const uint64_t words[8], const char *path, fm_error *error)
{
    fm_code_map map = {.number = (uint32_t)words[0], .bias = words[1], .from = words[2], .to = words[3]};
    uint64_t flags = words[0] >> 32;
    fm_status status = file_named(code, path, &map.file, error);
    if (status != FM_OK) return status;
    fm_code_file *file = &code->files[map.file];
    file->bias = map.bias;
    file->instrumented |= (flags & FM_MODULE_INSTRUMENTED) != 0;
    file->program |= (flags & FM_MODULE_PROGRAM) != 0;
    file->executable |= map.to > map.from;
    for (size_t i = 0; i < code->map_count; i++) {
        const fm_code_map *old = &code->maps[i];
        if (old->number != map.number) continue;
        if (old->file == map.file && old->bias == map.bias && old->from == map.from && old->to == map.to)
            return FM_OK; /* reported again */
    }
    if (fm_array_reserve((void **)&code->maps, &code->map_capacity, code->map_count + 1,
                         sizeof *code->maps) != 0)
        return no_memory(error);
    code->maps[code->map_count++] = map;
    /* Other code may be at the same addresses now. */
    memset(code->calls.recent, 0, sizeof code->calls.recent);
    memset(code->heap.recent, 0, sizeof code->heap.recent);
    return FM_OK;
}

const fm_code_map *fm_code_map_at(const fm_code *code, uint64_t address)
{
    for (size_t i = code->map_count; i-- > 0;)
        if (address >= code->maps[i].from && address < code->maps[i].to) return &code->maps[i];
    return NULL;
}

const fm_code_map *fm_code_map_numbered(const fm_code *code, uint32_t number)
{
    for (size_t i = code->map_count; number && i-- > 0;)
        if (code->maps[i].number == number) return &code->maps[i];
    return NULL;
}

fm_watched fm_code_is_watched(const fm_code *code, const fm_code_map *map, uint64_t address)
{
    if (!map) return FM_WATCHED_NOT;
    const fm_code_file *file = &code->files[map->file];
    fm_watched found = FM_WATCHED_NOT;
    for (size_t i = 0; i < file->watched_count; i++) {
        const fm_code_range *range = &file->watched[i];
        if (address - map->bias < range->low || address - map->bias >= range->high) continue;
        if (!range->inlined) return FM_WATCHED_IN;
        found = FM_WATCHED_INLINED;
    }
    return found;
}

/* ---- sites ---- */

static fm_intern_entry *put_place(fm_intern_table *table, const fm_code_map *map, uint64_t address)
{
    return map ? fm_intern_table_put(table, address - map->bias, map->file + 1, NULL)
               : fm_intern_table_put(table, address, 0, NULL);
}

uint32_t fm_code_site(fm_code *code, const fm_code_map *map, uint64_t address)
{
    if (code->sites.count >= FM_TAG_MAX) return 0;
    const fm_intern_entry *entry = put_place(&code->sites, map, address);
    return entry ? (uint32_t)(entry - code->sites.entries) + 1 : 0;
}

uint32_t fm_code_tag(fm_code *code, uint32_t site, uint32_t node)
{
    if (site == 0 || code->tags.count >= FM_TAG_MAX) return 0;
    const fm_intern_entry *entry = fm_intern_table_put(&code->tags, site, node, NULL);
    return entry ? (uint32_t)(entry - code->tags.entries) + 1 : 0;
}

/* ---- calls ---- */

static uint32_t add_node(fm_call_tree *tree, uint32_t parent, uint32_t call)
{
    if (tree->count == 0) { /* the root */
        if (fm_array_reserve((void **)&tree->nodes, &tree->capacity, 2, sizeof *tree->nodes) != 0) return 0;
        tree->nodes[tree->count++] = (fm_call_node){0};
    }
    for (uint32_t at = parent; at != 0; at = tree->nodes[at].parent)
        if (tree->nodes[at].call == call) return at;
    uint32_t depth = tree->nodes[parent].depth + 1;
    if (depth > MOST_DEPTH || tree->count >= MOST_NODES ||
        fm_array_reserve((void **)&tree->nodes, &tree->capacity, tree->count + 1, sizeof *tree->nodes) != 0)
        return parent;
    tree->nodes[tree->count] = (fm_call_node){parent, call, depth};
    return (uint32_t)tree->count++;
}

uint32_t fm_code_call(const fm_code *code, fm_call_tree *tree, uint32_t parent, uint64_t behind)
{
    size_t slot = (size_t)((behind ^ parent) * UINT64_C(0x9E3779B97F4A7C15) >> 56);
    if (tree->recent[slot].behind == behind && tree->recent[slot].parent == parent && behind)
        return tree->recent[slot].node;
    uint64_t address = behind - 1; /* in the call itself: its line is the call's */
    const fm_intern_entry *place = put_place(&tree->places, fm_code_map_at(code, address), address);
    if (!place) return parent;
    uint32_t call = (uint32_t)(place - tree->places.entries);
    bool fresh;
    fm_intern_entry *edge = fm_intern_table_put(&tree->edges, call, parent, &fresh);
    if (!edge) return parent;
    if (fresh) edge->value = add_node(tree, parent, call);
    tree->recent[slot].behind = behind;
    tree->recent[slot].parent = parent;
    tree->recent[slot].node = edge->value;
    return edge->value;
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
        return no_memory(error);
    memset(code->contexts + had, 0, (code->context_capacity - had) * sizeof *code->contexts);
    uint32_t node = 0;
    for (size_t i = count; i-- > 0;)
        if (returns[i]) node = fm_code_call(code, &code->heap, node, returns[i]);
    code->contexts[number] = node;
    if (number >= code->context_count) code->context_count = (size_t)number + 1;
    return FM_OK;
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

static bool copy_array(void **to, size_t *capacity, const void *from, size_t count, size_t size)
{
    if (count == 0) return true;
    if (fm_array_reserve(to, capacity, count, size) != 0) return false;
    memcpy(*to, from, count * size);
    return true;
}

static bool copy_tree(fm_call_tree *to, const fm_call_tree *from)
{
    if (!copy_table(&to->places, &from->places) || !copy_table(&to->edges, &from->edges) ||
        !copy_array((void **)&to->nodes, &to->capacity, from->nodes, from->count, sizeof *from->nodes))
        return false;
    to->count = from->count;
    return true;
}

fm_status fm_code_inherit(fm_code *child, const fm_code *parent, fm_error *error)
{
    /* A child that has reported anything before it said whose it is, is damaged: it keeps what it has. */
    if (child->file_count || child->map_count || child->context_count || child->calls.places.count ||
        child->heap.places.count)
        return FM_OK;
    if (fm_array_reserve((void **)&child->files, &child->file_capacity, parent->file_count,
                         sizeof *child->files) != 0)
        return no_memory(error);
    for (size_t i = 0; i < parent->file_count; i++) {
        fm_code_file *file = &child->files[i];
        *file = parent->files[i];
        file->watched = NULL;
        file->path = strdup(parent->files[i].path);
        if (file->watched_count) {
            size_t bytes = file->watched_count * sizeof *file->watched;
            file->watched = malloc(bytes);
            if (file->watched) memcpy(file->watched, parent->files[i].watched, bytes);
        }
        child->file_count++;
        if (!file->path || (file->watched_count && !file->watched)) return no_memory(error);
    }
    child->function_found = parent->function_found;
    bool copied = copy_array((void **)&child->maps, &child->map_capacity, parent->maps, parent->map_count,
                             sizeof *child->maps) &&
                  copy_array((void **)&child->contexts, &child->context_capacity, parent->contexts,
                             parent->context_count, sizeof *child->contexts) &&
                  copy_tree(&child->calls, &parent->calls) && copy_tree(&child->heap, &parent->heap);
    if (!copied) return no_memory(error);
    child->map_count = parent->map_count;
    child->context_count = parent->context_count;
    if (child->context_capacity > child->context_count)
        memset(child->contexts + child->context_count, 0,
               (child->context_capacity - child->context_count) * sizeof *child->contexts);
    return FM_OK;
}

static void free_tree(fm_call_tree *tree)
{
    fm_intern_table_free(&tree->places);
    fm_intern_table_free(&tree->edges);
    free(tree->nodes);
}

void fm_code_free(fm_code *code)
{
    for (size_t i = 0; i < code->file_count; i++) {
        free(code->files[i].path);
        free(code->files[i].watched);
    }
    free(code->files);
    free(code->maps);
    fm_intern_table_free(&code->sites);
    fm_intern_table_free(&code->tags);
    free_tree(&code->calls);
    free_tree(&code->heap);
    free(code->contexts);
    *code = (fm_code){0};
}
