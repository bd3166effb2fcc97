/* SPDX-License-Identifier: Apache-2.0 */
/*
 * place_chain.h - the functions around a place, for the terminal: what it was inlined into, and the calls
 * that led to it, in a few lines. What the reader did not write (the system's headers and libraries) is
 * passed over.
 */
#ifndef FATHOM_VIEW_PLACE_CHAIN_H
#define FATHOM_VIEW_PLACE_CHAIN_H

#include "view/place_text.h"

/* Where the lines go: no wider than `width`, behind `indent` blanks. */
typedef struct fm_chain_page {
    FILE *out;
    const fm_place_style *style;
    const fm_view_options *options;
    unsigned width, indent;
} fm_chain_page;

/* The frame that a reader knows: the innermost one that is not in the system's headers. 0 where all are. */
size_t fm_place_own_frame(const fm_site *site);

/* Lines "through …" and "inlined in …", around the site's own frame; nothing where nothing was inlined. */
void fm_chain_write_inlined(const fm_chain_page *page, const fm_site *site);
/* "called from …", innermost call first. Nothing, and false, where there is no call but the system's. path
 * may be FM_NONE. */
bool fm_chain_write_path(const fm_chain_page *page, uint32_t path);

#endif
