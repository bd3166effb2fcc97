/* SPDX-License-Identifier: Apache-2.0 */
/* columns.h - memory for one batch of references. */
#ifndef FATHOM_TRACE_COLUMNS_H
#define FATHOM_TRACE_COLUMNS_H

#include "trace/format.h"

/* Room for FM_BATCH_MAX references in the address column and those in the mask. */
fm_status fm_columns_allocate(fm_columns *columns, unsigned mask, fm_error *error);
void fm_columns_free(fm_columns *columns);
void fm_columns_batch(const fm_columns *columns, fm_batch *batch);
/* Takes out the instruction fetches, or all else; returns how many fetches were passed over. */
uint64_t fm_columns_filter(fm_columns *columns, fm_fetches fetches);

#endif
