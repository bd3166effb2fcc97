/* SPDX-License-Identifier: Apache-2.0 */
/* columns.c - see columns.h. */
#include "trace/columns.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

fm_status fm_columns_allocate(fm_columns *columns, unsigned mask, fm_error *error)
{
    memset(columns, 0, sizeof *columns);
    bool enough = (columns->address = fm_malloc_array(FM_BATCH_MAX, sizeof *columns->address)) != NULL;
    if (enough && mask & FM_COLUMN_SIZE)
        enough = (columns->size = fm_malloc_array(FM_BATCH_MAX, sizeof *columns->size)) != NULL;
    if (enough && mask & FM_COLUMN_KIND)
        enough = (columns->kind = fm_malloc_array(FM_BATCH_MAX, sizeof *columns->kind)) != NULL;
    if (enough && mask & FM_COLUMN_THREAD)
        enough = (columns->thread = fm_malloc_array(FM_BATCH_MAX, sizeof *columns->thread)) != NULL;
    if (enough && mask & FM_COLUMN_SITE)
        enough = (columns->site = fm_malloc_array(FM_BATCH_MAX, sizeof *columns->site)) != NULL;
    if (enough) return FM_OK;
    fm_columns_free(columns);
    return fm_fail_memory(error, FM_BATCH_MAX * sizeof(uint64_t), "a batch of references");
}

void fm_columns_free(fm_columns *columns)
{
    free(columns->address);
    free(columns->size);
    free(columns->kind);
    free(columns->thread);
    free(columns->site);
    memset(columns, 0, sizeof *columns);
}

void fm_columns_batch(const fm_columns *columns, fm_batch *batch)
{
    *batch = (fm_batch){.count = columns->count,
                        .address = columns->address,
                        .size = columns->size,
                        .kind = columns->kind,
                        .thread = columns->thread,
                        .site = columns->site};
}

uint64_t fm_columns_filter(fm_columns *columns, fm_fetches fetches)
{
    if (!columns->kind || fetches == FM_FETCHES_ALL) return 0;
    bool only = fetches == FM_FETCHES_ONLY;
    /* Most traces have no fetches at all. */
    if (!only && !memchr(columns->kind, FM_KIND_FETCH, columns->count)) return 0;
    size_t kept = 0;
    uint64_t skipped = 0;
    for (size_t i = 0; i < columns->count; i++) {
        bool fetch = columns->kind[i] == FM_KIND_FETCH;
        if (fetch != only) {
            skipped += fetch;
            continue;
        }
        columns->address[kept] = columns->address[i];
        columns->kind[kept] = columns->kind[i];
        if (columns->size) columns->size[kept] = columns->size[i];
        if (columns->thread) columns->thread[kept] = columns->thread[i];
        if (columns->site) columns->site[kept] = columns->site[i];
        kept++;
    }
    columns->count = kept;
    return skipped;
}
