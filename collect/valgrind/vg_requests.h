/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vg_requests.h - the client requests of the tool: from the preload's wrappers (vg_preload.c) and from
 * include/fathom/markers.h, which repeats the numbers of the regions because it includes nothing.
 */
#ifndef FATHOM_VG_REQUESTS_H
#define FATHOM_VG_REQUESTS_H

enum {
    FM_REQUEST_BASE = 'F' << 24 | 'M' << 16,       /* VG_USERREQ_TOOL_BASE('F', 'M') */
    FM_REQUEST_REGION_BEGIN = FM_REQUEST_BASE + 1, /* name */
    FM_REQUEST_REGION_END = FM_REQUEST_BASE + 2,
    FM_REQUEST_ALLOCATED = FM_REQUEST_BASE + 3,   /* address, bytes */
    FM_REQUEST_FREED = FM_REQUEST_BASE + 4,       /* address */
    FM_REQUEST_REALLOCATED = FM_REQUEST_BASE + 5, /* old address, new address, bytes */
    FM_REQUEST_PRELOADED = FM_REQUEST_BASE + 6,   /* the wrappers are there */
};

#endif
