/* SPDX-License-Identifier: Apache-2.0 */
/* rows.c - see rows.h. */
#include "collect/rows.h"

#include "base/error.h"
#include "base/memory.h"

fm_status fm_rows_create(fm_rows *rows, unsigned columns, fm_error *error)
{
    *rows = (fm_rows){.columns = columns, .at = fm_pages_allocate(sizeof(fm_row_memory))};
    if (!rows->at) return fm_fail_memory(error, sizeof(fm_row_memory), "a batch of references");
    return FM_OK;
}

void fm_rows_free(fm_rows *rows)
{
    fm_pages_free(rows->at, sizeof(fm_row_memory));
    *rows = (fm_rows){0};
}

void fm_rows_set_thread(fm_rows *rows, uint32_t number)
{
    if (rows->thread_number == number) return;
    rows->thread_number = number;
    if (rows->columns & FM_COLUMN_THREAD)
        for (size_t i = 0; i < FM_ROWS_ROOM; i++) rows->at->thread[i] = number;
}
