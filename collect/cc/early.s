# SPDX-License-Identifier: BSD-2-Clause
#
# early.s - marks what gcc compiled without the plug-in (collect/gcc): its loops are not vectorised, and fathom run says
# so. The assembler reads this file before each one that gcc hands it. An ELF note: owner fathom, type 2, no descriptor.

    .ifndef fathom_early # link-time optimization names this file twice
    .set fathom_early, 1
    .pushsection .note.fathom.early, "aG", @note, fathom_early, comdat
    .p2align 2
    .long 7, 0, 2
    .asciz "fathom"
    .byte 0
    .popsection
    .endif
