/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vg_own_files.c - Valgrind's own temporary files. What a program reads as /proc/self/cmdline and auxv is a
 * file that Valgrind makes in /tmp, and unlinks at once. Here it is memory without a name: nothing can be
 * left in /tmp, and a /tmp that cannot be written to does not matter.
 *
 * The core's calls of mkstemp and unlink come here (--wrap, see cmake/valgrind.cmake).
 */
#include "vg_tool.h"

#include "pub_tool_libcassert.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_libcfile.h"
#include "pub_tool_libcprint.h"
#include "pub_tool_vki.h"
#include "pub_tool_vkiscnums.h"

#include "vg_core.h"

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
