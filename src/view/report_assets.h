/* SPDX-License-Identifier: Apache-2.0 */
/* report_assets.h - the parts of the report page, embedded at build time (cmake/web.cmake). */
#ifndef FATHOM_VIEW_REPORT_ASSETS_H
#define FATHOM_VIEW_REPORT_ASSETS_H

#include <stddef.h>

extern const unsigned char fm_asset_page[], fm_asset_style[], fm_asset_numbers[], fm_asset_charts[],
    fm_asset_report[], fm_asset_uplot_style[], fm_asset_uplot_script[], fm_asset_uplot_license[];
extern const size_t fm_asset_page_size, fm_asset_style_size, fm_asset_numbers_size, fm_asset_charts_size,
    fm_asset_report_size, fm_asset_uplot_style_size, fm_asset_uplot_script_size, fm_asset_uplot_license_size;

#endif
