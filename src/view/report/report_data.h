/* SPDX-License-Identifier: Apache-2.0 */
/* report_data.h - what the report page gets to draw, as JSON that is safe inside a script element. */
#ifndef FATHOM_VIEW_REPORT_DATA_H
#define FATHOM_VIEW_REPORT_DATA_H

#include <fathom/view.h>

fm_status fm_report_write_data(FILE *out, const fm_report_options *options, const fm_profile *const *profiles,
                               size_t count, const fm_cache *caches, size_t cache_count, fm_error *error);

#endif
