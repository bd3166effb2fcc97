/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unwind.c - see symbols.h. libdw reads the rules. Nearly all of them are "the frame's address is a register
 * and a number; a register was stored so far from it": those are kept in a table. The others (entries of the
 * linkage table, functions that align their stack) are expressions, which are evaluated each time.
 */
#define _GNU_SOURCE
#include "symbols/symbols.h"

#include "base/error.h"
#include "base/memory.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    FIRST_SLOTS = 256,
    MOST_RULES = 1 << 20,
    DEPTH = 16,      /* of the stack of an expression */
    MOST_STEPS = 64, /* of an expression */
    OPERATIONS = 3,  /* that libdw wants room for */
    SAVED = 6,       /* registers that functions preserve */
};
static const uint8_t saved[SAVED] = {FM_UNWIND_RBX, FM_UNWIND_RBP, 12, 13, 14, 15};

typedef enum rule_kind {
    RULE_NONE,  /* nothing is known here, or it is the outermost function */
    RULE_PLAIN, /* see below */
    RULE_OTHER  /* ask libdw */
} rule_kind;

#define SAME INT32_MIN /* of `at`: the caller has the same value */
#define GONE INT32_MAX /* it is lost */

typedef struct rule {
    uint64_t address; /* + 1; 0: none */
    uint8_t kind;
    uint8_t base; /* register of the frame's address */
    int32_t offset;
    int32_t at[SAVED]; /* stored there, from the frame's address on */
} rule;

struct fm_unwinder {
    int file;
    Elf *elf;
    Dwarf_CFI *cfi;
    rule *rules;
    size_t slot_count, used; /* a power of two */
};

fm_status fm_unwinder_open(fm_unwinder **unwinder, const char *path, fm_error *error)
{
    fm_unwinder *made = *unwinder = fm_calloc(1, sizeof *made);
    if (!made) return fm_fail_memory(error, sizeof *made, "what is known of stacks");
    made->file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (made->file < 0) {
        const int cause = errno;
        free(made);
        *unwinder = NULL;
        return fm_fail_io(error, path, "open", cause);
    }
    elf_version(EV_CURRENT);
    made->elf = elf_begin(made->file, ELF_C_READ, NULL);
    GElf_Ehdr head;
    if (made->elf && gelf_getehdr(made->elf, &head) && head.e_machine == EM_X86_64 &&
        head.e_ident[EI_CLASS] == ELFCLASS64)
        made->cfi = dwarf_getcfi_elf(made->elf);
    return FM_OK;
}

void fm_unwinder_close(fm_unwinder *unwinder)
{
    if (!unwinder) return;
    if (unwinder->cfi) dwarf_cfi_end(unwinder->cfi);
    if (unwinder->elf) elf_end(unwinder->elf);
    close(unwinder->file);
    free(unwinder->rules);
    free(unwinder);
}

/* ---- expressions ---- */

typedef struct machine {
    const fm_unwind_registers *registers;
    fm_unwind_read read;
    void *context;
    bool has_frame;
    uint64_t frame; /* its address */
    uint64_t stack[DEPTH];
    size_t depth;
} machine;

static bool push_value(machine *on, uint64_t value)
{
    if (on->depth == DEPTH) return false;
    on->stack[on->depth++] = value;
    return true;
}

static bool push_register(machine *on, uint64_t number, uint64_t offset)
{
    if (number >= FM_UNWIND_REGISTERS || !(on->registers->known >> number & 1)) return false;
    return push_value(on, on->registers->value[number] + offset);
}

static bool do_binary(machine *on, unsigned operation)
{
    if (on->depth < 2) return false;
    const uint64_t b = on->stack[--on->depth], a = on->stack[--on->depth];
    switch (operation) {
    case DW_OP_plus:
        return push_value(on, a + b);
    case DW_OP_minus:
        return push_value(on, a - b);
    case DW_OP_mul:
        return push_value(on, a * b);
    case DW_OP_and:
        return push_value(on, a & b);
    case DW_OP_or:
        return push_value(on, a | b);
    case DW_OP_shl:
        return push_value(on, b < 64 ? a << b : 0);
    case DW_OP_shr:
        return push_value(on, b < 64 ? a >> b : 0);
    case DW_OP_ge:
        return push_value(on, (int64_t)a >= (int64_t)b);
    default:
        return false;
    }
}

static bool do_operation(machine *on, const Dwarf_Op *operation)
{
    const unsigned atom = operation->atom;
    if (atom >= DW_OP_lit0 && atom <= DW_OP_lit31) return push_value(on, atom - DW_OP_lit0);
    if (atom >= DW_OP_breg0 && atom <= DW_OP_breg31)
        return push_register(on, atom - DW_OP_breg0, operation->number);
    switch (atom) {
    case DW_OP_bregx:
        return push_register(on, operation->number, operation->number2);
    case DW_OP_call_frame_cfa:
        return on->has_frame && push_value(on, on->frame);
    case DW_OP_const1u:
    case DW_OP_const1s:
    case DW_OP_const2u:
    case DW_OP_const2s:
    case DW_OP_const4u:
    case DW_OP_const4s:
    case DW_OP_const8u:
    case DW_OP_const8s:
    case DW_OP_constu:
    case DW_OP_consts:
        return push_value(on, operation->number);
    case DW_OP_plus_uconst:
        if (on->depth == 0) return false;
        on->stack[on->depth - 1] += operation->number;
        return true;
    case DW_OP_deref: {
        uint64_t value;
        if (on->depth == 0 || !on->read(on->context, on->stack[on->depth - 1], &value)) return false;
        on->stack[on->depth - 1] = value;
        return true;
    }
    case DW_OP_nop:
        return true;
    default:
        return do_binary(on, atom);
    }
}

/* *is_value: the result is the value itself, not where it is. */
static bool evaluate_expression(machine *on, const Dwarf_Op *operations, size_t count, uint64_t *result,
                                bool *is_value)
{
    on->depth = 0;
    *is_value = false;
    for (size_t i = 0; i < count; i++) {
        if (i >= MOST_STEPS) return false;
        if (operations[i].atom == DW_OP_stack_value)
            *is_value = true;
        else if (!do_operation(on, &operations[i]))
            return false;
    }
    if (on->depth == 0) return false;
    *result = on->stack[on->depth - 1];
    return true;
}

/* ---- rules ---- */

/* Whether it is "register and number". */
static bool is_base(const Dwarf_Op *operations, size_t count, rule *made)
{
    if (count != 1) return false;
    const unsigned atom = operations->atom;
    uint64_t number = 0, offset = 0;
    if (atom >= DW_OP_breg0 && atom <= DW_OP_breg31) {
        number = atom - DW_OP_breg0;
        offset = operations->number;
    } else if (atom == DW_OP_bregx) {
        number = operations->number;
        offset = operations->number2;
    } else {
        return false;
    }
    if (number >= FM_UNWIND_REGISTERS || (int64_t)offset != (int32_t)offset) return false;
    made->base = (uint8_t)number;
    made->offset = (int32_t)offset;
    return true;
}

/* Where a register was stored, from the frame's address on; false: it is another rule. */
static bool stored_at(const Dwarf_Op *operations, size_t count, const Dwarf_Op *room, int32_t *at)
{
    if (count == 0) {
        *at = operations == room ? GONE : SAME; /* as libdw tells them apart */
        return true;
    }
    if (operations[0].atom != DW_OP_call_frame_cfa) return false;
    uint64_t offset = 0;
    if (count == 2 && operations[1].atom == DW_OP_plus_uconst)
        offset = operations[1].number;
    else if (count == 3 && operations[1].atom == DW_OP_consts && operations[2].atom == DW_OP_plus)
        offset = operations[1].number;
    else if (count != 1)
        return false;
    if ((int64_t)offset != (int32_t)offset || (int32_t)offset == SAME || (int32_t)offset == GONE)
        return false;
    *at = (int32_t)offset;
    return true;
}

static rule_kind simplify_rule(Dwarf_Frame *frame, rule *made)
{
    Dwarf_Op room[OPERATIONS], *operations;
    size_t count;
    int32_t back;
    if (dwarf_frame_cfa(frame, &operations, &count) != 0 || count == 0) return RULE_NONE;
    if (!is_base(operations, count, made)) return RULE_OTHER;
    if (dwarf_frame_register(frame, FM_UNWIND_RIP, room, &operations, &count) != 0) return RULE_NONE;
    if (count == 0) return RULE_NONE; /* the outermost: its return address is not defined */
    if (!stored_at(operations, count, room, &back) || back != -8) return RULE_OTHER;
    for (size_t i = 0; i < SAVED; i++) {
        if (dwarf_frame_register(frame, saved[i], room, &operations, &count) != 0) return RULE_NONE;
        if (!stored_at(operations, count, room, &made->at[i])) return RULE_OTHER;
    }
    return RULE_PLAIN;
}

static rule *place_of(const fm_unwinder *unwinder, uint64_t address)
{
    size_t at = (size_t)((address * UINT64_C(0x9E3779B97F4A7C15)) >> 32) & (unwinder->slot_count - 1);
    while (unwinder->rules[at].address && unwinder->rules[at].address != address + 1)
        at = (at + 1) & (unwinder->slot_count - 1);
    return &unwinder->rules[at];
}

static bool grow_rules(fm_unwinder *unwinder)
{
    if (unwinder->used * 2 < unwinder->slot_count) return true;
    if (unwinder->used >= MOST_RULES) return false;
    const fm_unwinder before = *unwinder;
    unwinder->slot_count = before.slot_count ? before.slot_count * 2 : FIRST_SLOTS;
    unwinder->rules = fm_calloc(unwinder->slot_count, sizeof *unwinder->rules);
    if (!unwinder->rules) {
        *unwinder = before;
        return false;
    }
    for (size_t i = 0; i < before.slot_count; i++)
        if (before.rules[i].address) *place_of(unwinder, before.rules[i].address - 1) = before.rules[i];
    free(before.rules);
    return true;
}

static const rule *rule_at(fm_unwinder *unwinder, uint64_t address)
{
    if (!grow_rules(unwinder)) return NULL;
    rule *known = place_of(unwinder, address);
    if (known->address) return known;
    Dwarf_Frame *frame = NULL;
    *known = (rule){.address = address + 1, .kind = RULE_NONE};
    unwinder->used++;
    if (dwarf_cfi_addrframe(unwinder->cfi, address, &frame) == 0)
        known->kind = (uint8_t)simplify_rule(frame, known);
    free(frame);
    return known;
}

/* ---- steps ---- */

static bool step_plain(const rule *known, fm_unwind_registers *registers, fm_unwind_read read, void *context)
{
    if (!(registers->known >> known->base & 1)) return false;
    const uint64_t frame = registers->value[known->base] + (uint64_t)(int64_t)known->offset;
    uint64_t back;
    if (!read(context, frame - 8, &back)) return false;
    for (size_t i = 0; i < SAVED; i++) {
        const uint32_t bit = UINT32_C(1) << saved[i];
        if (known->at[i] == SAME) continue;
        if (known->at[i] != GONE &&
            read(context, frame + (uint64_t)(int64_t)known->at[i], &registers->value[saved[i]]))
            registers->known |= bit;
        else
            registers->known &= ~bit;
    }
    registers->value[FM_UNWIND_RIP] = back;
    registers->value[FM_UNWIND_RSP] = frame;
    return true;
}

static bool step_other(fm_unwinder *unwinder, uint64_t address, fm_unwind_registers *registers,
                       fm_unwind_read read, void *context)
{
    Dwarf_Frame *frame = NULL;
    Dwarf_Op room[OPERATIONS], *operations;
    size_t count;
    bool is_value, done = false;
    fm_unwind_registers after = *registers;
    machine on = {.registers = registers, .read = read, .context = context};
    if (dwarf_cfi_addrframe(unwinder->cfi, address, &frame) != 0) return false;
    if (dwarf_frame_cfa(frame, &operations, &count) == 0 && count > 0 &&
        evaluate_expression(&on, operations, count, &on.frame, &is_value)) {
        on.has_frame = done = true;
        static const uint8_t wanted[] = {FM_UNWIND_RIP, FM_UNWIND_RBX, FM_UNWIND_RBP, 12, 13, 14, 15};
        for (size_t i = 0; i < sizeof wanted && done; i++) {
            const uint32_t bit = UINT32_C(1) << wanted[i];
            uint64_t value = 0;
            done = dwarf_frame_register(frame, wanted[i], room, &operations, &count) == 0;
            if (!done || (count == 0 && operations != room)) continue; /* the same value */
            bool found = count > 0 && evaluate_expression(&on, operations, count, &value, &is_value) &&
                         (is_value || read(context, value, &value));
            after.value[wanted[i]] = value;
            after.known = found ? after.known | bit : after.known & ~bit;
            if (wanted[i] == FM_UNWIND_RIP) done = found;
        }
        after.value[FM_UNWIND_RSP] = on.frame;
    }
    free(frame);
    if (done) *registers = after;
    return done;
}

bool fm_unwinder_step(fm_unwinder *unwinder, uint64_t address, fm_unwind_registers *registers,
                      fm_unwind_read read, void *context)
{
    if (!unwinder->cfi) return false;
    const rule *known = rule_at(unwinder, address);
    if (!known || known->kind == RULE_NONE) return false;
    const uint64_t before = registers->value[FM_UNWIND_RSP];
    const bool done = known->kind == RULE_PLAIN ? step_plain(known, registers, read, context)
                                                : step_other(unwinder, address, registers, read, context);
    /* Stacks grow downwards: who calls is above. What does not get on would go round for ever. */
    return done && registers->value[FM_UNWIND_RSP] > before;
}

bool fm_unwinder_knows(fm_unwinder *unwinder, uint64_t address)
{
    const rule *known = unwinder->cfi ? rule_at(unwinder, address) : NULL;
    return known && known->kind != RULE_NONE;
}
