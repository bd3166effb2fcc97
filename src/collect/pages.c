/* SPDX-License-Identifier: Apache-2.0 */
/* pages.c - see pages.h. */
#include "collect/pages.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

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
