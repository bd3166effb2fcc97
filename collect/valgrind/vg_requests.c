/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vg_requests.c - what the program reports by client requests: regions (include/fathom/markers.h).
 */
#include "vg_tool.h"

#include "pub_tool_aspacemgr.h"
#include "pub_tool_libcassert.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_vki.h"

#include "vg_requests.h"

enum { NAME_MOST = 1024 }; /* bytes of a region's name */

static void region_begins(Addr name)
{
    HChar text[NAME_MOST];
    UInt length = 0;
    while (length < NAME_MOST - 1 && VG_(am_is_valid_for_client)(name + length, 1, VKI_PROT_READ) &&
           ((const HChar *)name)[length]) {
        text[length] = ((const HChar *)name)[length];
        length++;
    }
    text[length] = 0;
    fm_record_put(FM_RECORD_REGION_BEGIN, 0, NULL, 0, text);
}

static Bool client_request(ThreadId thread, UWord *arguments, UWord *result)
{
    (void)thread;
    if (arguments[0] >> 16 != (UWord)FM_REQUEST_BASE >> 16) return False;
    *result = 0;
    if (!fm_tracing()) return True;
    switch (arguments[0]) {
    case FM_REQUEST_REGION_BEGIN:
        region_begins(arguments[1]);
        break;
    case FM_REQUEST_REGION_END:
        fm_record_put(FM_RECORD_REGION_END, 0, NULL, 0, NULL);
        break;
    default:
        return False;
    }
    return True;
}

void fm_requests_track(void)
{
    VG_(needs_client_requests)(client_request);
}
