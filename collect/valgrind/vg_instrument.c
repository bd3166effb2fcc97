/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vg_instrument.c - adds to each block of translated code what appends its accesses to the channel: no call
 * for each access, only stores. It does not know how chunks are handed over (vg_channel.c).
 *
 * A block becomes
 *
 *     if (cursor > limit) fm_channel_seal()          once, at its beginning
 *     cursor[0] = BLOCK word                         then the stack pointer, where calls are wanted
 *     cursor[k] = address                            of accesses, four at a time
 *     channel->cursor = cursor + k                   before each exit and at the end, if there is news
 *
 * An access whose address differs by a constant from that of one before it (vg_instrument.c) has no word: its
 * definition tells which one it shares. Words are shared among eight accesses, and not across exits
 * (protocol.h).
 *
 * Nothing is committed between: a fault in the middle of a block (SIGSEGV, SIGFPE) loses the words since the
 * last commit, at most those of that block; signals from outside come between blocks and lose nothing.
 *
 * The access model: an instruction that reads and writes the same place is a load and a store, as the
 * processor does them; so is compare-and-swap, whether it succeeds or not, and a double one loads and stores
 * both halves at once; a load or store under a condition counts when that holds; what a helper of Valgrind's
 * does for an instruction (fxsave, 80-bit floats) has the size of its effect.
 */
#include "vg_tool.h"

#include "pub_tool_debuginfo.h"
#include "pub_tool_libcassert.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_machine.h"
#include "pub_tool_mallocfree.h"
#include "pub_tool_transtab.h"

#include "vg_core.h"

/*
 * ==== bases of addresses ====
 *
 * Which addresses of a block differ by a constant: those that come from the same temporary by
 * adding and subtracting constants, and those that are constants. It does not know what they are for.
 */

/* An address is that of its root, plus the offset; IRTemp_INVALID as root: the offset alone. */
typedef struct address_base {
    IRTemp root;
    ULong offset;
} address_base;
#define NO_BASE (IRTemp_INVALID - 1) /* as root: nothing is known */

static address_base *bases; /* of each temporary of the block at hand */
static Int room, count;

/* A block begins; its statements are to be noted in their order. */
static void bases_begin(const IRSB *block)
{
    count = block->tyenv->types_used;
    if (count > room) {
        room = count + 256;
        VG_(free)(bases);
        bases = VG_(malloc)("fathom.bases", (SizeT)room * sizeof *bases);
    }
    for (Int i = 0; i < count; i++) bases[i] = (address_base){.root = (IRTemp)i, .offset = 0};
}

static address_base base_of_address(const IRExpr *address)
{
    if (address->tag == Iex_RdTmp && address->Iex.RdTmp.tmp < (IRTemp)count)
        return bases[address->Iex.RdTmp.tmp];
    if (address->tag == Iex_Const && address->Iex.Const.con->tag == Ico_U64)
        return (address_base){.root = IRTemp_INVALID, .offset = address->Iex.Const.con->Ico.U64};
    return (address_base){.root = NO_BASE, .offset = 0};
}

static void bases_note(const IRStmt *statement)
{
    if (statement->tag != Ist_WrTmp || statement->Ist.WrTmp.tmp >= (IRTemp)count) return;
    const IRExpr *value = statement->Ist.WrTmp.data;
    address_base *base = &bases[statement->Ist.WrTmp.tmp];
    if (value->tag == Iex_RdTmp) *base = base_of_address(value);
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
    *base = base_of_address(left);
    base->offset += adds ? by : -by;
}

enum {
    KIND_LOAD = 0, /* fm_kind of include/fathom/trace.h */
    KIND_STORE = 1,
    WORDS_MOST = FM_RECORD_MOST_BYTES / 8 - 8, /* of a block, and of its definition */
    DELTA_MOST = 0x7FFF,
    WAITING_MOST = 4,
    UNDECODABLE_MOST = 64,
};

static UInt last_block; /* number of the block defined last */
static Addr undecodable[UNDECODABLE_MOST];
static UInt undecodable_count;

/* A block while it is being instrumented. */
typedef struct block_state {
    IRSB *out;
    IRTemp cursor;  /* value of the cursor at the block's beginning */
    UInt words;     /* written so far */
    UInt committed; /* of these, covered by the cursor */
    /*
     * Addresses that will be the next words. Written a few at a time they cost less than one by one, because
     * Valgrind joins no instructions across a store; all at the block's end they would take too many
     * registers.
     */
    IRExpr *waiting[WAITING_MOST];
    UInt waiting_count;
    UInt accesses;   /* reported so far */
    UInt shared;     /* of these, without a word of their own */
    UInt eight;      /* words of the eight accesses at hand */
    UInt open_count; /* and those of them that may be shared */
    struct {
        address_base base;
        UInt word;
    } open[FM_BLOCK_EIGHT];
    Bool want_shared;
    Addr code;       /* of the current instruction */
    Bool want_loads; /* FM_WANT_… */
    Bool want_stores;
    Bool calls;
    /* The last access of this instruction, if it is a load that belongs to a compare-and-swap. */
    const IRExpr *load_address;
    UInt load_size;
} block_state;

static ULong definition[4 + WORDS_MOST];
static ULong shared_words[WORDS_MOST];

static void add_statement(block_state *block, IRStmt *statement)
{
    addStmtToIRSB(block->out, statement);
}

static IRExpr *assign_value(block_state *block, IRType type, IRExpr *value)
{
    IRTemp temp = newIRTemp(block->out->tyenv, type);
    add_statement(block, IRStmt_WrTmp(temp, value));
    return IRExpr_RdTmp(temp);
}

static IRExpr *address_constant(Addr value)
{
    return IRExpr_Const(IRConst_U64(value));
}

/* The address of word k of this block. */
static IRExpr *word_address(block_state *block, UInt k)
{
    if (k == 0) return IRExpr_RdTmp(block->cursor);
    return assign_value(block, Ity_I64,
                        IRExpr_Binop(Iop_Add64, IRExpr_RdTmp(block->cursor), address_constant(8 * (Addr)k)));
}

static void write_word(block_state *block, IRExpr *value)
{
    add_statement(block, IRStmt_Store(Iend_LE, word_address(block, block->words), value));
    block->words++;
}

static void write_waiting(block_state *block)
{
    for (UInt i = 0; i < block->waiting_count; i++) write_word(block, block->waiting[i]);
    block->waiting_count = 0;
}

static void block_commit(block_state *block)
{
    write_waiting(block);
    block->open_count = 0; /* the number of words behind an exit tells whether it was taken */
    /* A block that was left before its first access has nothing to say, unless for its stack pointer. */
    if (block->words == block->committed || (block->accesses == 0 && !block->calls)) return;
    add_statement(block, IRStmt_Store(Iend_LE, address_constant((Addr)&fm_vg.mine->cursor),
                                      word_address(block, block->words)));
    block->committed = block->words;
}

static void block_begin(block_state *block, UInt number, const VexGuestLayout *layout)
{
    IRExpr *cursor = assign_value(block, Ity_I64,
                                  IRExpr_Load(Iend_LE, Ity_I64, address_constant((Addr)&fm_vg.mine->cursor)));
    IRExpr *limit = assign_value(block, Ity_I64,
                                 IRExpr_Load(Iend_LE, Ity_I64, address_constant((Addr)&fm_vg.mine->limit)));
    IRExpr *full = assign_value(block, Ity_I1, IRExpr_Binop(Iop_CmpLT64U, limit, cursor));
    IRDirty *seal =
        unsafeIRDirty_0_N(0, "fm_channel_seal", VG_(fnptr_to_fnentry)(&fm_channel_seal), mkIRExprVec_0());
    seal->guard = full;
    seal->mFx = Ifx_Modify;
    seal->mAddr = address_constant((Addr)&fm_vg.mine->cursor);
    seal->mSize = 8;
    add_statement(block, IRStmt_Dirty(seal));
    block->cursor = newIRTemp(block->out->tyenv, Ity_I64);
    add_statement(block,
                  IRStmt_WrTmp(block->cursor,
                               IRExpr_Load(Iend_LE, Ity_I64, address_constant((Addr)&fm_vg.mine->cursor))));
    write_word(block, address_constant((Addr)FM_RECORD(FM_RECORD_BLOCK, number, 0)));
    if (block->calls)
        write_word(block, assign_value(block, Ity_I64, IRExpr_Get((Int)layout->offset_SP, Ity_I64)));
}

/* True: the address is told by a word of these eight accesses, and shared_words says by which. */
static Bool share_word(block_state *block, const IRExpr *address)
{
    const address_base base = base_of_address(address);
    if (base.root == NO_BASE) return False;
    for (UInt i = 0; i < block->open_count; i++) {
        const ULong delta = base.offset - block->open[i].base.offset;
        if (block->open[i].base.root != base.root || delta + DELTA_MOST > 2 * DELTA_MOST) continue;
        shared_words[block->shared++] = (delta & 0xFFFF) | (ULong)block->open[i].word << 16;
        return True;
    }
    block->open[block->open_count].base = base;
    block->open[block->open_count++].word = block->eight;
    return False;
}

static void report_access(block_state *block, UInt kind, IRExpr *address, UInt size, IRExpr *guard)
{
    tl_assert(size > 0 && size < 4096);
    tl_assert(block->accesses + block->shared + WAITING_MOST < WORDS_MOST);
    if (block->accesses % FM_BLOCK_EIGHT == 0) block->eight = block->open_count = 0;
    definition[4 + block->accesses] = (block->code & 0xFFFFFFFFFFFF) | (ULong)size << 48 | (ULong)kind << 60;
    if (block->want_shared && !guard && share_word(block, address)) {
        definition[4 + block->accesses++] |= FM_DEFINE_SHARED;
        return;
    }
    if (guard) address = assign_value(block, Ity_I64, IRExpr_ITE(guard, address, address_constant(0)));
    if (block->waiting_count == WAITING_MOST) write_waiting(block);
    block->waiting[block->waiting_count++] = address;
    block->accesses++;
    block->eight++;
}

static void report_load(block_state *block, IRExpr *address, UInt size, IRExpr *guard)
{
    if (block->want_loads) report_access(block, KIND_LOAD, address, size, guard);
    block->load_address = guard ? NULL : address;
    block->load_size = size;
}

static void report_store(block_state *block, IRExpr *address, UInt size, IRExpr *guard)
{
    if (block->want_stores) report_access(block, KIND_STORE, address, size, guard);
    block->load_address = NULL;
}

static UInt size_of(const block_state *block, const IRExpr *value)
{
    return (UInt)sizeofIRType(typeOfIRExpr(block->out->tyenv, value));
}

static UInt size_of_guarded_load(const IRLoadG *guarded)
{
    IRType result = Ity_INVALID, loaded = Ity_INVALID;
    typeOfIRLoadGOp(guarded->cvt, &result, &loaded);
    return (UInt)sizeofIRType(loaded);
}

/* An always-true guard is none. */
static IRExpr *guard_of(IRExpr *guard)
{
    if (guard && guard->tag == Iex_Const && guard->Iex.Const.con->tag == Ico_U1 &&
        guard->Iex.Const.con->Ico.U1)
        return NULL;
    return guard;
}

static void accesses_of(block_state *block, const IRStmt *statement)
{
    switch (statement->tag) {
    case Ist_WrTmp: {
        const IRExpr *value = statement->Ist.WrTmp.data;
        if (value->tag == Iex_Load)
            report_load(block, value->Iex.Load.addr, (UInt)sizeofIRType(value->Iex.Load.ty), NULL);
        break;
    }
    case Ist_Store:
        report_store(block, statement->Ist.Store.addr, size_of(block, statement->Ist.Store.data), NULL);
        break;
    case Ist_LoadG: {
        const IRLoadG *guarded = statement->Ist.LoadG.details;
        report_load(block, guarded->addr, size_of_guarded_load(guarded), guard_of(guarded->guard));
        break;
    }
    case Ist_StoreG: {
        const IRStoreG *guarded = statement->Ist.StoreG.details;
        report_store(block, guarded->addr, size_of(block, guarded->data), guard_of(guarded->guard));
        break;
    }
    case Ist_CAS: {
        const IRCAS *cas = statement->Ist.CAS.details;
        UInt size = size_of(block, cas->dataLo) * (cas->dataHi ? 2 : 1);
        /* Of `lock xadd` and similar instructions VEX makes a load, and a swap of what was loaded: one load.
         */
        if (!block->load_address || block->load_size != size || !eqIRAtom(block->load_address, cas->addr))
            report_load(block, cas->addr, size, NULL);
        report_store(block, cas->addr, size, NULL);
        break;
    }
    case Ist_LLSC:
        if (statement->Ist.LLSC.storedata)
            report_store(block, statement->Ist.LLSC.addr, size_of(block, statement->Ist.LLSC.storedata),
                         NULL);
        else
            report_load(block, statement->Ist.LLSC.addr,
                        (UInt)sizeofIRType(typeOfIRTemp(block->out->tyenv, statement->Ist.LLSC.result)),
                        NULL);
        break;
    case Ist_Dirty: {
        const IRDirty *helper = statement->Ist.Dirty.details;
        if (helper->mFx == Ifx_None) break;
        IRExpr *guard = guard_of(helper->guard);
        if (helper->mFx != Ifx_Write) report_load(block, helper->mAddr, (UInt)helper->mSize, guard);
        if (helper->mFx != Ifx_Read) report_store(block, helper->mAddr, (UInt)helper->mSize, guard);
        break;
    }
    default:
        break;
    }
}

static Bool has_accesses(const IRSB *in)
{
    for (Int i = 0; i < in->stmts_used; i++) {
        const IRStmt *statement = in->stmts[i];
        if (!statement) continue;
        switch (statement->tag) {
        case Ist_WrTmp:
            if (statement->Ist.WrTmp.data->tag == Iex_Load) return True;
            break;
        case Ist_Store:
        case Ist_LoadG:
        case Ist_StoreG:
        case Ist_CAS:
        case Ist_LLSC:
            return True;
        case Ist_Dirty:
            if (statement->Ist.Dirty.details->mFx != Ifx_None) return True;
            break;
        default:
            break;
        }
    }
    return False;
}

static void note_undecodable(const IRSB *in)
{
    if (in->jumpkind != Ijk_NoDecode || in->next->tag != Iex_Const) return;
    Addr code = (Addr)in->next->Iex.Const.con->Ico.U64;
    if (fm_block_undecodable_at(code)) return;
    undecodable[undecodable_count++ % UNDECODABLE_MOST] = code;
}

Bool fm_block_undecodable_at(Addr code)
{
    for (UInt i = 0; i < undecodable_count && i < UNDECODABLE_MOST; i++)
        if (undecodable[i] == code) return True;
    return False;
}

IRSB *fm_block_instrument(VgCallbackClosure *closure, IRSB *in, const VexGuestLayout *layout,
                          const VexGuestExtents *extents, const VexArchInfo *host, IRType guest_word,
                          IRType host_word)
{
    (void)closure, (void)host;
    tl_assert(guest_word == Ity_I64 && host_word == Ity_I64);
    note_undecodable(in);
    if (!fm_tracing()) return in;
    UInt wants = fm_vg.session->wants;
    Bool calls = (wants & FM_WANT_CALLS) != 0;
    Addr first = extents->base[0];
    Bool heap = (wants & FM_WANT_HEAP) != 0;
    fm_allocator allocator = heap ? fm_allocator_at(first) : FM_NO_ALLOCATOR;
    Bool returns = heap && in->jumpkind == Ijk_Ret && fm_allocator_code(first);
    heap = returns || allocator != FM_NO_ALLOCATOR;
    if (!calls && !heap && !has_accesses(in)) return in;
    const fm_vg_module *module = fm_module_find(first);
    if (!fm_tracing()) return in; /* reporting the module may have ended it */

    block_state block = {
        .out = deepCopyIRSBExceptStmts(in),
        .want_loads = (wants & FM_WANT_LOADS) != 0,
        .want_stores = (wants & FM_WANT_STORES) != 0,
        .calls = calls,
        .want_shared = (wants & FM_WANT_SHARED) != 0,
    };
    bases_begin(in);
    Int i = 0;
    for (; i < in->stmts_used && in->stmts[i]->tag != Ist_IMark; i++) add_statement(&block, in->stmts[i]);
    if (allocator != FM_NO_ALLOCATOR) fm_heap_instrument_entry(block.out, allocator);
    UInt number = last_block + 1;
    block_begin(&block, number, layout);
    Addr behind = first;
    for (; i < in->stmts_used; i++) {
        IRStmt *statement = in->stmts[i];
        if (!statement || statement->tag == Ist_NoOp) continue;
        if (statement->tag == Ist_IMark) {
            block.code = (Addr)statement->Ist.IMark.addr;
            behind = block.code + statement->Ist.IMark.len;
            block.load_address = NULL;
        } else if (statement->tag == Ist_Exit) {
            block_commit(&block);
            block.load_address = NULL;
        } else {
            bases_note(statement);
            accesses_of(&block, statement);
        }
        add_statement(&block, statement);
    }
    block_commit(&block);
    if (returns) fm_heap_instrument_return(block.out);
    if (block.accesses == 0 && !calls) return heap ? block.out : in; /* it has only what is not wanted */

    last_block = number;
    UInt flags = (calls ? FM_BLOCK_HAS_SP : 0) | (in->jumpkind == Ijk_Call ? FM_BLOCK_CALLS : 0) |
                 (in->jumpkind == Ijk_Ret ? FM_BLOCK_RETURNS : 0);
    definition[0] = number | (ULong)block.accesses << 32 | (ULong)flags << 48;
    definition[1] = module ? module->number : 0;
    definition[2] = first;
    definition[3] = in->jumpkind == Ijk_Call ? behind : 0;
    for (UInt k = 0; k < block.shared; k++) definition[4 + block.accesses + k] = shared_words[k];
    fm_record_put(FM_RECORD_DEFINE, 0, definition, 4 + block.accesses + block.shared, NULL);
    return fm_tracing() ? block.out : in;
}

void fm_blocks_discard(void)
{
    VG_(discard_translations)((Addr)0x1000, ~(ULong)0xfff, "fathom");
    last_block = 0;
}
