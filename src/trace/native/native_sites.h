/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native_sites.h - numbers the code sites of one block, in order of appearance, so that the site column is a
 * table and an index for each reference.
 *
 * What an instruction does is nearly always the same: so many bytes, a load or a store. So size, kind and
 * thread are numbered together with the site, and then follow from the index.
 */
#ifndef FATHOM_TRACE_NATIVE_SITES_H
#define FATHOM_TRACE_NATIVE_SITES_H

#include "trace/format.h"

enum { FM_NATIVE_SITES_MOST = 16384 }; /* in one block */

typedef struct fm_native_sites fm_native_sites;
fm_native_sites *fm_native_sites_create(void); /* NULL when memory is short */
void fm_native_sites_destroy(fm_native_sites *sites);
/*
 * The index of each reference: two have the same one if and only if they have the same site and the same of
 * the columns `with` (FM_COLUMN_SIZE, …KIND, …THREAD; those that are there). Returns how many different ones
 * there are, or 0 when those are more than `most` (at most FM_NATIVE_SITES_MOST).
 */
size_t fm_native_sites_index(fm_native_sites *sites, const fm_columns *columns, unsigned with, size_t most,
                             uint16_t *indices);
/* Which reference was the first of each index. */
const uint16_t *fm_native_sites_first(const fm_native_sites *sites);

#endif
