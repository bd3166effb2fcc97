/* SPDX-License-Identifier: Apache-2.0 */
/* region_text.h - regions from their text form (docs/STATIC-IR.md), and names for messages. */
#ifndef FATHOM_STATIC_REGION_TEXT_H
#define FATHOM_STATIC_REGION_TEXT_H

#include "static/region/region.h"

/* path: of the text, for messages. FM_E_FORMAT with the line in the text where something is wrong. */
fm_status fm_region_parse(fm_region **region, const char *text, size_t size, const char *path,
                          fm_error *error);

/* A failure at a place in the source; place->file 0: without. */
fm_status fm_region_fail(fm_error *error, fm_status status, const fm_region *region,
                         const fm_region_place *place, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

#endif
