/* SPDX-License-Identifier: Apache-2.0 */
/* code.c - see decoder.h. */
#include "base/error.h"
#include "base/memory.h"
#include "collect/decoder.h"
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

/* ---- pages ---- */

/* 16 KiB each: 256 MiB of tables for 64 MiB of code. Homeless pages belong to no module: those reported too
 * late, and damage. */
enum { MOST_PAGES = 1 << 14, MOST_HOMELESS = 1 << 10 };

static fm_code_page *make_page(fm_code_pages *pages)
{
    fm_code_page *page = fm_calloc(1, sizeof *page);
    if (!page || fm_array_reserve((void **)&pages->pages, &pages->capacity, pages->count + 1,
                                  sizeof *pages->pages) != 0) {
        free(page);
        return NULL;
    }
    pages->pages[pages->count++] = page;
    return page;
}

static fm_code_page *stand_in(fm_code_pages *pages, uint64_t number)
{
    if (!pages->nowhere) pages->nowhere = fm_calloc(1, sizeof *pages->nowhere);
    if (!pages->nowhere) return NULL;
    pages->nowhere->page = number;
    pages->nowhere->base = (number << 12) - 1;
    return pages->nowhere;
}

fm_code_page *fm_code_pages_find(fm_code_pages *pages, const fm_code *code, uint64_t number)
{
    const fm_code_map *map = fm_code_map_at(&code->maps, number << 12);
    if (!map) map = fm_code_map_at(&code->maps, (number << 12) + 4095);
    bool fresh;
    fm_intern_entry *entry = fm_intern_table_put(&pages->index, number, 0, &fresh);
    if (!entry) return NULL;
    fm_code_page *page;
    if (fresh || entry->value == 0) {
        entry->value = 0;
        if (pages->count >= MOST_PAGES || (!map && pages->homeless >= MOST_HOMELESS))
            return stand_in(pages, number);
        page = make_page(pages);
        if (!page) return NULL;
        pages->homeless += !map;
        page->page = number;
        page->base = (number << 12) - 1;
        entry->value = (uint32_t)pages->count;
    } else {
        page = pages->pages[entry->value - 1];
    }
    uint32_t file = map ? map->file + 1 : 0;
    uint64_t bias = map ? map->bias : 0;
    if (page->file != file || page->bias != bias) {
        memset(page->tag, 0, sizeof page->tag);
        if (page->watched) memset(page->watched, 0, 4096);
        page->file = file;
        page->bias = bias;
    }
    pages->cache[number % FM_PAGE_CACHE] = page;
    return page;
}

void fm_code_pages_forget(fm_code_pages *pages)
{
    memset(pages->cache, 0, sizeof pages->cache);
}

uint32_t fm_code_pages_site(fm_code *code, fm_code_page *page, unsigned place)
{
    if (page->tag[place]) return page->tag[place];
    fm_code_map map = {.file = page->file - 1, .bias = page->bias};
    uint32_t site = fm_program_site(&code->program, page->file ? &map : NULL, page->base + place);
    page->tag[place] = site;
    return site;
}

bool fm_code_pages_watched(const fm_code *code, fm_code_page *page, unsigned place)
{
    if (!page->file) return false;
    fm_code_map map = {.file = page->file - 1, .bias = page->bias};
    if (!page->watched) page->watched = fm_calloc(4096, 1);
    if (!page->watched) return fm_program_watched(&code->program, &map, page->base + place) != FM_WATCHED_NOT;
    if (page->watched[place] == 0)
        page->watched[place] =
            fm_program_watched(&code->program, &map, page->base + place) == FM_WATCHED_NOT ? 1 : 2;
    return page->watched[place] == 2;
}

void fm_code_pages_free(fm_code_pages *pages)
{
    for (size_t i = 0; i < pages->count; i++) {
        free(pages->pages[i]->watched);
        free(pages->pages[i]);
    }
    free(pages->pages);
    if (pages->nowhere) free(pages->nowhere->watched);
    free(pages->nowhere);
    fm_intern_table_free(&pages->index);
    *pages = (fm_code_pages){0};
}
