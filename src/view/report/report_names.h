/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_names.h - the names that the report page shows: modules (and whether their files have changed since
 * the run), functions, which modules a source file's code is in.
 */
#ifndef FATHOM_VIEW_REPORT_NAMES_H
#define FATHOM_VIEW_REPORT_NAMES_H

#include "view/report/report_selection.h"

/* The fields modules, names and fullNames of report_attribution.h, each with a comma behind it.
 */
fm_status fm_report_write_names(FILE *out, const fm_places *places, const fm_selection *selection,
                                fm_error *error);

#endif
