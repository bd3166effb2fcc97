/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vg_changing_code.c - code in files that changes after it was run. Valgrind's translations of code outside
 * of files check themselves whenever they run (--smc-check=all-non-file); those of files do not, which is
 * right for programs and libraries, and wrong where code is made at run time and the memory is that of a
 * file: one that is mapped twice, to be written and to be executed (a memfd; .NET does so), or a private
 * mapping that may be both. Here the translations of such memory check themselves, too, and no others: a
 * check costs as much as a short block.
 *
 * Not seen: a file on a disk that another process changes while this one executes it from a private mapping.
 */
#include "vg_tool.h"

#include "pub_tool_aspacemgr.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_libcproc.h"
#include "pub_tool_mallocfree.h"
#include "pub_tool_oset.h"
#include "pub_tool_vki.h"
#include "pub_tool_vkiscnums.h"

#include "vg_core.h"

Bool __real_vgPlain_translate(ThreadId thread, Addr code, Bool debugging, Int verbosity, ULong blocks,
                              Bool redirect);
Bool __wrap_vgPlain_translate(ThreadId thread, Addr code, Bool debugging, Int verbosity, ULong blocks,
                              Bool redirect);

enum { PAGE = 4096, GET_FILE_FLAGS = 3 /* F_GETFL */, ACCESS_MODE = 3 /* O_ACCMODE */ };

static OSet *written; /* files that may be written to while they are mapped: file_key */

/* Two files with the same key cost time and nothing else. */
static UWord file_key(ULong device, ULong inode)
{
    return (UWord)(inode * 0x9E3779B97F4A7C15ULL ^ device);
}

/* Is this a file that has no name, and so is written to by those that map it? */
static Bool is_memory_file(const NSegment *segment)
{
    const HChar *name = VG_(am_get_filename)(segment);
    return name && (VG_(strncmp)(name, "/memfd:", 7) == 0 || VG_(strncmp)(name, "/dev/shm/", 9) == 0);
}

static Bool may_change(const NSegment *segment)
{
    if (!segment || segment->kind != SkFileC) return False;
    return segment->hasW || is_memory_file(segment) ||
           (written && VG_(OSetWord_Contains)(written, file_key(segment->dev, segment->ino)));
}

Bool __wrap_vgPlain_translate(ThreadId thread, Addr code, Bool debugging, Int verbosity, ULong blocks,
                              Bool redirect)
{
    UInt usual = VG_(clo_smc_check);
    if (may_change(VG_(am_find_nsegment)(code))) VG_(clo_smc_check) = FM_VG_CHECK_ALL;
    Bool done = __real_vgPlain_translate(thread, code, debugging, verbosity, blocks, redirect);
    VG_(clo_smc_check) = usual;
    return done;
}

/* Code of a file in [from, to) is translated anew, with what is known now. device 0, inode 0: of any file. */
static void discard_blocks(Addr from, Addr to, ULong device, ULong inode)
{
    Int room = 256, count;
    Addr *starts = VG_(malloc)("fathom.code.starts", (SizeT)room * sizeof *starts);
    while ((count = VG_(am_get_segment_starts)(SkFileC, starts, room)) < 0) { /* it says how many there are */
        room = -count + 16;
        starts = VG_(realloc)("fathom.code.starts", starts, (SizeT)room * sizeof *starts);
    }
    for (Int i = 0; i < count; i++) {
        const NSegment *segment = VG_(am_find_nsegment)(starts[i]);
        Bool meant = segment && segment->hasT && segment->end >= from && segment->start < to &&
                     (!inode || (segment->dev == device && segment->ino == inode));
        if (meant) VG_(discard_translations)(segment->start, segment->end - segment->start + 1, "fathom");
    }
    VG_(free)(starts);
}

/* A shared mapping: through it, or through another one of the same file, code may be written. */
static void shared_mapping(Addr at, UWord protection, Int file)
{
    Bool executed = (protection & VKI_PROT_EXEC) != 0;
    if (!executed && (VG_(fcntl)(file, GET_FILE_FLAGS, 0) & ACCESS_MODE) == VKI_O_RDONLY) return;
    const NSegment *segment = VG_(am_find_nsegment)(at);
    if (!segment || segment->kind != SkFileC) return;
    if (!written) written = VG_(OSetWord_Create)(VG_(malloc), "fathom.code.written", VG_(free));
    UWord key = file_key(segment->dev, segment->ino);
    if (VG_(OSetWord_Contains)(written, key)) return;
    VG_(OSetWord_Insert)(written, key);
    discard_blocks(0, ~(Addr)0, segment->dev, segment->ino);
}

void fm_changing_code_look(UInt number, const UWord *arguments, Addr result)
{
    if (number == __NR_mmap) {
        UWord flags = arguments[3];
        if ((flags & VKI_MAP_SHARED) && !(flags & VKI_MAP_ANONYMOUS))
            shared_mapping(result, arguments[2], (Int)arguments[4]);
    } else if (number == __NR_mprotect && (arguments[2] & VKI_PROT_WRITE)) {
        /* Code that was executed, and may be written now; where it must not be executed, the core has seen to
         * it. */
        discard_blocks(arguments[0], arguments[0] + arguments[1], 0, 0);
    }
}
