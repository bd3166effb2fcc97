/* SPDX-License-Identifier: Apache-2.0 */
/* site_index.h - what other files of this room need of a site index (fathom/trace.h). */
#ifndef FATHOM_TRACE_SITE_INDEX_H
#define FATHOM_TRACE_SITE_INDEX_H

#include <fathom/trace.h>

/* Sites that have tags: these are 1 ... count. */
size_t fm_site_index_count(const fm_site_index *index);
/* Those with tags over `count` are forgotten; there is memory for as many others. */
void fm_site_index_truncate(fm_site_index *index, size_t count);

/* ---- site share ---- */

/*
 * One index of code sites (fathom/trace.h) for several threads that each read their own part
 * of a trace. While they do, sites have tags in the order in which threads come upon them. In the end all are
 * numbered anew, in the order of the trace, and those who used the tags are told which is which now.
 *
 * Each thread keeps the tags that it knows for itself, so that threads meet only where one is new to one of
 * them.
 */

typedef struct fm_site_share fm_site_share;

/* The index is not to be used until the end. */
fm_status fm_site_share_create(fm_site_share **made, fm_site_index *index, unsigned workers, fm_error *error);
/*
 * By several threads, each with its number below `workers`: tags[i] for sites[i]. first: of the first
 * reference, a number that grows along the trace, and for each thread from call to call. FM_E_LIMIT: there
 * are more sites than tags: which go without one can be told in order only.
 */
fm_status fm_site_share_tags(fm_site_share *share, unsigned worker, const uint64_t *sites, size_t count,
                             uint64_t first, uint32_t *tags, fm_error *error);
/* The index, as if it had been read in order. *map: by the tags that were given out, those that they are now;
 * NULL where they are the same; to be freed. The share is of no use any more. */
fm_status fm_site_share_settle(fm_site_share *share, uint32_t **map, size_t *map_count, fm_error *error);
/* Not settled: the index is as it was before. NULL is fine. */
void fm_site_share_destroy(fm_site_share *share);

#endif
