/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vg_main.c - the tool as Valgrind sees it: its name, its one option, and which of its parts hear of what.
 */
#include "vg_tool.h"

#include "pub_tool_aspacemgr.h"
#include "pub_tool_libcassert.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_libcfile.h"
#include "pub_tool_libcprint.h"
#include "pub_tool_options.h"
#include "pub_tool_vki.h"
#include "pub_tool_vkiscnums.h"

#include "vg_core.h"

/*
 * ==== Valgrind's own files ====
 *
 * Valgrind's own temporary files. What a program reads as /proc/self/cmdline and auxv is a
 * file that Valgrind makes in /tmp, and unlinks at once. Here it is memory without a name: nothing can be
 * left in /tmp, and a /tmp that cannot be written to does not matter.
 *
 * The core's calls of mkstemp and unlink come here (--wrap, see cmake/valgrind.cmake).
 */

Int __real_vgPlain_mkstemp(const HChar *part_of_name, HChar *path);
Int __wrap_vgPlain_mkstemp(const HChar *part_of_name, HChar *path);
Int __real_vgPlain_unlink(const HChar *path);
Int __wrap_vgPlain_unlink(const HChar *path);

static const HChar nameless[] = "memory:"; /* in place of a path */

enum { CLOSE_ON_EXEC = 1 }; /* MFD_CLOEXEC */

/* path: the caller's, with room for a directory, part_of_name and some 30 bytes more. */
Int __wrap_vgPlain_mkstemp(const HChar *part_of_name, HChar *path)
{
    Long file = fm_syscall(__NR_memfd_create, (Long)part_of_name, CLOSE_ON_EXEC, 0, 0);
    if (file < 0) return __real_vgPlain_mkstemp(part_of_name, path);
    VG_(sprintf)(path, "%s%s", nameless, part_of_name);
    return VG_(safe_fd)((Int)file);
}

Int __wrap_vgPlain_unlink(const HChar *path)
{
    if (VG_(strncmp)(path, nameless, sizeof nameless - 1) == 0) return 0;
    return __real_vgPlain_unlink(path);
}

/*
 * ==== requests ====
 *
 * The client requests of the tool: include/fathom/markers.h makes them, and repeats the
 * numbers because it includes nothing.
 */

enum {
    FM_REQUEST_BASE = 'F' << 24 | 'M' << 16,       /* VG_USERREQ_TOOL_BASE('F', 'M') */
    FM_REQUEST_REGION_BEGIN = FM_REQUEST_BASE + 1, /* name */
    FM_REQUEST_REGION_END = FM_REQUEST_BASE + 2,
};

/*
 * ==== requests of the program ====
 *
 * What the program reports by client requests: regions (include/fathom/markers.h).
 */

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

static void requests_track(void)
{
    VG_(needs_client_requests)(client_request);
}

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
    requests_track();
    fm_allocators_track();
    fm_heap_track();
    fm_process_track();
}

VG_DETERMINE_INTERFACE_VERSION(tool_setup)
