/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * layout.h - the offsets that hooks.S needs; usable in assembler and in C. access.c checks them.
 */
#ifndef FATHOM_CC_LAYOUT_H
#define FATHOM_CC_LAYOUT_H

/* In fm_channel. Page and mask are kept in its spare words: they travel with the cursor's cache line. */
#define FM_CURSOR 0
#define FM_LIMIT 8
#define FM_PAGE 24 /* upper bits of the last code address that was reported; 0 in the beginning */
#define FM_MASK 32 /* all ones when sites are wanted, else 0 */
#define FM_SPARE_PAGE 0
#define FM_SPARE_MASK 1

/* In fm_cells. */
#define FM_CELL_LOAD 0
#define FM_CELL_STORE 8
#define FM_CELL_ANY 16

/* Each function of hooks.S begins at a multiple of this and is not longer. */
#define FM_HOOK_SLOT 128

#endif
