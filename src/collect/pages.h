/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pages.h - the pages of code that a process built by fathom cc has reported: tables from the low bits of a
 * code address to the tag of its site.
 */
#ifndef FATHOM_COLLECT_PAGES_H
#define FATHOM_COLLECT_PAGES_H

#include "collect/code.h"
#include "collect/decode_kernels.h"

typedef struct fm_code_pages {
    fm_code_page *cache[FM_PAGE_CACHE];
    fm_intern_table index; /* page; value: its place in pages */
    fm_code_page **pages;
    size_t count, capacity, homeless;
    fm_code_page *nowhere; /* stands for pages that are too many: they have no tags */
} fm_code_pages;

/* The page with a number, made where there is none, with what is in it now. NULL: no memory. */
fm_code_page *fm_code_pages_find(fm_code_pages *pages, const fm_code *code, uint64_t number);
/* Modules have changed: what is in the cache may not be what is in memory. */
void fm_code_pages_forget(fm_code_pages *pages);
/* The site (see fm_program_site) of an address in a page, remembered in its table. */
uint32_t fm_code_pages_site(fm_code *code, fm_code_page *page, unsigned place);
/* Does it belong to the watched function? */
bool fm_code_pages_watched(const fm_code *code, fm_code_page *page, unsigned place);
void fm_code_pages_free(fm_code_pages *pages);

#endif
