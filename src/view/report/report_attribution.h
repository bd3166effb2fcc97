/* SPDX-License-Identifier: Apache-2.0 */
/* report_attribution.h - which code re-uses data too late, as JSON for the report page. */
#ifndef FATHOM_VIEW_REPORT_ATTRIBUTION_H
#define FATHOM_VIEW_REPORT_ATTRIBUTION_H

#include "view/source_files.h"

/*
 * Distances are given by number of the range they are in (index of an edge). A histogram is one flat array:
 * [cold, beyond, range, count, range, count, …].
 *
 *   edges, lateFrom, all                 of the whole attribution
 *   modules [{path, buildId, unseen}]
 *   names   [of functions, shortened], fullNames [[number, name], …] where that makes a difference
 *   places  [see report_places.h], reuse [histogram, …], use [histogram, …]: as re-user, as earlier user
 *   sites   [[place, module, "address", path, column], …], paths [[parent, call], …]
 *   pairs   [[use, reuse, histogram…], …]
 *   objects [{kind, name, module, address, size, blocks, path, thread, all: histogram}, …], otherObjects
 * histogram uses    [[object, site, histogram…], …] left    {pairs, rest: histogram, covered, places,
 * placeReferences, uses, usesCovered, objects, objectsRest}
 *
 * At most `most` pairs, and as many uses, are given; the rest is summed up in `left`. Totals of places and
 * objects are of everything, whatever was left out.
 */
fm_status fm_report_write_attribution(FILE *out, const fm_attribution *attribution, fm_source_files *files,
                                      size_t most, fm_error *error);

#endif
