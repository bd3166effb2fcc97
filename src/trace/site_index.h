/* SPDX-License-Identifier: Apache-2.0 */
/* site_index.h - what other files of this room need of a site index (fathom/trace.h). */
#ifndef FATHOM_TRACE_SITE_INDEX_H
#define FATHOM_TRACE_SITE_INDEX_H

#include <fathom/trace.h>

/* Sites that have tags: these are 1 ... count. */
size_t fm_site_index_count(const fm_site_index *index);
/* Those with tags over `count` are forgotten; there is memory for as many others. */
void fm_site_index_truncate(fm_site_index *index, size_t count);

#endif
