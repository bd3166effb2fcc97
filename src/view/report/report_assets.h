/* SPDX-License-Identifier: Apache-2.0 */
/* report_assets.h - the parts of the report page, embedded at build time (cmake/web.cmake). */
#ifndef FATHOM_VIEW_REPORT_ASSETS_H
#define FATHOM_VIEW_REPORT_ASSETS_H

#include <stddef.h>

#define FM_ASSET(name)                                                                                       \
    extern const unsigned char fm_asset_##name[];                                                            \
    extern const size_t fm_asset_##name##_size

FM_ASSET(page);
FM_ASSET(style);
FM_ASSET(style_late);
FM_ASSET(numbers);
FM_ASSET(plot);
FM_ASSET(charts);
FM_ASSET(late);
FM_ASSET(choice);
FM_ASSET(pieces);
FM_ASSET(pairs);
FM_ASSET(source_lines);
FM_ASSET(source);
FM_ASSET(objects);
FM_ASSET(latencies);
FM_ASSET(sampled);
FM_ASSET(parts);
FM_ASSET(phases);
FM_ASSET(verdict);
FM_ASSET(report);

#undef FM_ASSET
#endif
