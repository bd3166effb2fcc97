/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vg_bases.c - which addresses of a block differ by a constant: those that come from the same temporary by
 * adding and subtracting constants, and those that are constants. It does not know what they are for.
 */
#include "vg_tool.h"

#include "pub_tool_libcbase.h"
#include "pub_tool_mallocfree.h"

static fm_vg_base *bases; /* of each temporary of the block at hand */
static Int room, count;

void fm_bases_begin(const IRSB *block)
{
    count = block->tyenv->types_used;
    if (count > room) {
        room = count + 256;
        VG_(free)(bases);
        bases = VG_(malloc)("fathom.bases", (SizeT)room * sizeof *bases);
    }
    for (Int i = 0; i < count; i++) bases[i] = (fm_vg_base){.root = (IRTemp)i, .offset = 0};
}

fm_vg_base fm_base_of(const IRExpr *address)
{
    if (address->tag == Iex_RdTmp && address->Iex.RdTmp.tmp < (IRTemp)count)
        return bases[address->Iex.RdTmp.tmp];
    if (address->tag == Iex_Const && address->Iex.Const.con->tag == Ico_U64)
        return (fm_vg_base){.root = IRTemp_INVALID, .offset = address->Iex.Const.con->Ico.U64};
    return (fm_vg_base){.root = FM_VG_NO_BASE, .offset = 0};
}

void fm_bases_note(const IRStmt *statement)
{
    if (statement->tag != Ist_WrTmp || statement->Ist.WrTmp.tmp >= (IRTemp)count) return;
    const IRExpr *value = statement->Ist.WrTmp.data;
    fm_vg_base *base = &bases[statement->Ist.WrTmp.tmp];
    if (value->tag == Iex_RdTmp) *base = fm_base_of(value);
    if (value->tag != Iex_Binop) return;
    const Bool adds = value->Iex.Binop.op == Iop_Add64;
    const IRExpr *left = value->Iex.Binop.arg1, *right = value->Iex.Binop.arg2;
    if (!adds && value->Iex.Binop.op != Iop_Sub64) return;
    if (adds && left->tag == Iex_Const) {
        const IRExpr *other = left;
        left = right;
        right = other;
    }
    if (left->tag != Iex_RdTmp || right->tag != Iex_Const) return;
    const ULong by = right->Iex.Const.con->Ico.U64;
    *base = fm_base_of(left);
    base->offset += adds ? by : -by;
}
