/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vg_main.c - the tool as Valgrind sees it: its name, its one option, and which of its parts hear of what.
 */
#include "vg_tool.h"

#include "pub_tool_libcassert.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_libcprint.h"
#include "pub_tool_options.h"

#include "vg_core.h"

static const HChar *session_path;

static Bool tool_option(const HChar *argument)
{
    return VG_STR_CLO(argument, "--session", session_path) || fm_execute_option(argument);
}

static void tool_usage(void)
{
    VG_(printf)("    --session=/proc/PID/fd/N  the memory shared with fathom, which starts this tool\n");
}

static void debug_usage(void)
{
    VG_(printf)("    (none)\n");
}

static void tool_begin(void)
{
    if (!session_path) {
        VG_(fmsg)("--session is missing: this tool is started by `fathom run`\n");
        VG_(exit)(1);
    }
    fm_preload_clean();
    fm_execute_begin();
    if (!fm_session_open(session_path, fm_execute_session_file())) {
        fm_execute_untraced();
        return;
    }
    fm_children_trace((fm_vg.session->wants & FM_WANT_CHILDREN) != 0);
    fm_process_begin(0);
}

static void tool_setup(void)
{
    VG_(details_name)("fathom");
    VG_(details_version)(NULL);
    VG_(details_description)("the references of a program, for fathom");
    VG_(details_copyright_author)("GPL-2.0-or-later");
    VG_(details_bug_reports_to)("the authors of fathom");
    VG_(details_avg_translation_sizeB)(320);

    VG_(basic_tool_funcs)(tool_begin, fm_block_instrument, fm_process_fini);
    VG_(needs_command_line_options)(tool_option, tool_usage, debug_usage);
    /*
     * Blocks end at every jump and call. Where Valgrind joins them, calls disappear inside of blocks, and it
     * removes loads that are repeated in a condition like a && b. It gains nothing here: as measured, the
     * same speed.
     */
    VG_(clo_vex_control).guest_chase = False;
    VG_(clo_vgdb) = 0; /* unless asked for: its FIFOs stay in /tmp after SIGKILL */
    fm_modules_track();
    fm_threads_track();
    fm_requests_track();
    fm_allocators_track();
    fm_heap_track();
    fm_process_track();
}

VG_DETERMINE_INTERFACE_VERSION(tool_setup)
