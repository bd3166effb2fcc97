/* SPDX-License-Identifier: Apache-2.0 */
/* thread_table.c - see thread_table.h: pages of slots, which are given back when the last one is over. */
#include "collect/thread_table.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

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

int fm_thread_table_add(fm_thread_table *table, uint32_t number, struct fm_traced_thread *thread)
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

void fm_thread_table_remove(fm_thread_table *table, uint32_t number)
{
    if (!fm_thread_table_find(table, number)) return;
    fm_thread_page *page = page_of(table, number);
    page->slots[number % FM_THREADS_A_PAGE] = NULL;
    table->live--;
    if (--page->live > 0) return;
    free(page->slots);
    page->slots = NULL;
}

void fm_thread_table_clear(fm_thread_table *table, void (*free_thread)(struct fm_traced_thread *))
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
