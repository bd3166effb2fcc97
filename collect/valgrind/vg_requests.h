/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vg_requests.h - the client requests of the tool: include/fathom/markers.h makes them, and repeats the
 * numbers because it includes nothing.
 */
#ifndef FATHOM_VG_REQUESTS_H
#define FATHOM_VG_REQUESTS_H

enum {
    FM_REQUEST_BASE = 'F' << 24 | 'M' << 16,       /* VG_USERREQ_TOOL_BASE('F', 'M') */
    FM_REQUEST_REGION_BEGIN = FM_REQUEST_BASE + 1, /* name */
    FM_REQUEST_REGION_END = FM_REQUEST_BASE + 2,
};

#endif
