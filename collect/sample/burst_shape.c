/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * burst_shape.c - what Zydis says of an instruction, in the words of burst_state.h, and which instructions a
 * burst does not run.
 *
 * Zydis and what it calls may use vector registers: the program's are saved meanwhile.
 */
#include "burst_state.h"

#include <Zydis/Zydis.h>

static void save_vectors(const burst_vectors *vectors)
{
    if (!vectors) return;
    __asm__ volatile("xsave64 (%0)"
                     :
                     : "r"(vectors->area), "a"((uint32_t)vectors->mask), "d"((uint32_t)(vectors->mask >> 32))
                     : "memory");
}

static void restore_vectors(const burst_vectors *vectors)
{
    if (!vectors) return;
    __asm__ volatile("xrstor64 (%0)"
                     :
                     : "r"(vectors->area), "a"((uint32_t)vectors->mask), "d"((uint32_t)(vectors->mask >> 32))
                     : "memory");
}

static uint8_t general_register(ZydisRegister name)
{
    switch (ZydisRegisterGetClass(name)) {
    case ZYDIS_REGCLASS_GPR8:
    case ZYDIS_REGCLASS_GPR16:
    case ZYDIS_REGCLASS_GPR32:
    case ZYDIS_REGCLASS_GPR64:
        return (uint8_t)(ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, name) -
                         ZYDIS_REGISTER_RAX);
    default:
        return BURST_NO_REGISTER;
    }
}

static uint8_t vector_number(ZydisRegister name, uint8_t *bytes)
{
    switch (ZydisRegisterGetClass(name)) {
    case ZYDIS_REGCLASS_XMM:
        *bytes = 16;
        break;
    case ZYDIS_REGCLASS_YMM:
        *bytes = 32;
        break;
    case ZYDIS_REGCLASS_ZMM:
        *bytes = 64;
        break;
    case ZYDIS_REGCLASS_MASK:
        *bytes = 0;
        break;
    default:
        *bytes = 0;
        return BURST_NO_REGISTER;
    }
    return (uint8_t)ZydisRegisterGetId(name);
}

static uint16_t operand_bit(uint8_t number)
{
    return number < 16 ? (uint16_t)(1u << number) : 0;
}

/* Whether a burst ends before it. */
static bool not_run(const ZydisDecodedInstruction *zydis, const ZydisDecodedOperand *operands)
{
    if (zydis->attributes & ZYDIS_ATTRIB_IS_PRIVILEGED) return true;
    if (zydis->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR) return true;
    switch (zydis->meta.category) {
    case ZYDIS_CATEGORY_INTERRUPT:
    case ZYDIS_CATEGORY_SYSRET:
    case ZYDIS_CATEGORY_IO:
    case ZYDIS_CATEGORY_IOSTRINGOP:
    case ZYDIS_CATEGORY_SEGOP:
    case ZYDIS_CATEGORY_AMX_TILE:
    case ZYDIS_CATEGORY_CLZERO:
    case ZYDIS_CATEGORY_ENQCMD:
    case ZYDIS_CATEGORY_MOVDIR:
    case ZYDIS_CATEGORY_MPX:
    case ZYDIS_CATEGORY_PADLOCK:
    case ZYDIS_CATEGORY_SGX:
    case ZYDIS_CATEGORY_UINTR:
    case ZYDIS_CATEGORY_VTX:
    case ZYDIS_CATEGORY_WAITPKG:
    case ZYDIS_CATEGORY_KEYLOCKER:
    case ZYDIS_CATEGORY_KEYLOCKER_WIDE:
    case ZYDIS_CATEGORY_SMAP:
        return true;
    case ZYDIS_CATEGORY_CET:
        return zydis->mnemonic != ZYDIS_MNEMONIC_ENDBR64 && zydis->mnemonic != ZYDIS_MNEMONIC_ENDBR32 &&
               zydis->mnemonic != ZYDIS_MNEMONIC_RDSSPD && zydis->mnemonic != ZYDIS_MNEMONIC_RDSSPQ;
    default:
        break;
    }
    if (zydis->meta.isa_ext == ZYDIS_ISA_EXT_RTM && zydis->mnemonic != ZYDIS_MNEMONIC_XTEST) return true;
    switch (zydis->mnemonic) {
    case ZYDIS_MNEMONIC_ENTER:
    case ZYDIS_MNEMONIC_POPF:
    case ZYDIS_MNEMONIC_POPFD:
    case ZYDIS_MNEMONIC_POPFQ:
    case ZYDIS_MNEMONIC_SYSENTER:
    case ZYDIS_MNEMONIC_SYSEXIT:
    case ZYDIS_MNEMONIC_UD0:
    case ZYDIS_MNEMONIC_UD1:
    case ZYDIS_MNEMONIC_UD2:
    case ZYDIS_MNEMONIC_WRFSBASE:
    case ZYDIS_MNEMONIC_WRGSBASE:
    case ZYDIS_MNEMONIC_WRPKRU:
    case ZYDIS_MNEMONIC_MONITORX:
    case ZYDIS_MNEMONIC_MWAITX:
    case ZYDIS_MNEMONIC_MONITOR:
    case ZYDIS_MNEMONIC_MWAIT:
    case ZYDIS_MNEMONIC_XBEGIN:
    case ZYDIS_MNEMONIC_XEND:
    case ZYDIS_MNEMONIC_XABORT:
        return true;
    case ZYDIS_MNEMONIC_MOV:
    case ZYDIS_MNEMONIC_POP: /* a segment register may get another base */
        return operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
               ZydisRegisterGetClass(operands[0].reg.value) == ZYDIS_REGCLASS_SEGMENT;
    default:
        return false;
    }
}

static burst_group string_group(const ZydisDecodedInstruction *zydis, burst_shape *shape)
{
    switch (zydis->mnemonic) {
    case ZYDIS_MNEMONIC_MOVSB:
    case ZYDIS_MNEMONIC_MOVSW:
    case ZYDIS_MNEMONIC_MOVSD:
    case ZYDIS_MNEMONIC_MOVSQ:
        shape->string = 1 | 2;
        break;
    case ZYDIS_MNEMONIC_CMPSB:
    case ZYDIS_MNEMONIC_CMPSW:
    case ZYDIS_MNEMONIC_CMPSD:
    case ZYDIS_MNEMONIC_CMPSQ:
        shape->string = 1 | 4;
        break;
    case ZYDIS_MNEMONIC_STOSB:
    case ZYDIS_MNEMONIC_STOSW:
    case ZYDIS_MNEMONIC_STOSD:
    case ZYDIS_MNEMONIC_STOSQ:
        shape->string = 2;
        break;
    case ZYDIS_MNEMONIC_SCASB:
    case ZYDIS_MNEMONIC_SCASW:
    case ZYDIS_MNEMONIC_SCASD:
    case ZYDIS_MNEMONIC_SCASQ:
        shape->string = 4;
        break;
    case ZYDIS_MNEMONIC_LODSB:
    case ZYDIS_MNEMONIC_LODSW:
    case ZYDIS_MNEMONIC_LODSD:
    case ZYDIS_MNEMONIC_LODSQ:
        shape->string = 1;
        break;
    default:
        return BURST_STOP;
    }
    shape->size = zydis->opcode & 1 ? zydis->operand_width / 8 : 1;
    /* Zydis does not say of all of them that rsi, rdi and rcx change. */
    shape->writes |= (uint16_t)(1u << BURST_RSI | 1u << BURST_RDI | 1u << BURST_RCX);
    return zydis->attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE)
               ? BURST_REPEATED
               : BURST_ONE_STRING;
}

static burst_group group_of(const ZydisDecodedInstruction *zydis, const ZydisDecodedOperand *operands,
                            burst_shape *shape)
{
    if (not_run(zydis, operands)) return BURST_STOP;
    bool direct = operands[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
    switch (zydis->meta.category) {
    case ZYDIS_CATEGORY_COND_BR:
        switch (zydis->mnemonic) {
        case ZYDIS_MNEMONIC_JRCXZ:
        case ZYDIS_MNEMONIC_JECXZ:
        case ZYDIS_MNEMONIC_LOOP:
        case ZYDIS_MNEMONIC_LOOPE:
        case ZYDIS_MNEMONIC_LOOPNE:
            return BURST_JUMP_RCX;
        default:
            return BURST_JUMP_IF;
        }
    case ZYDIS_CATEGORY_UNCOND_BR:
        return direct ? BURST_JUMP : BURST_JUMP_TO;
    case ZYDIS_CATEGORY_CALL:
        shape->stack = 8;
        return direct ? BURST_CALL : BURST_CALL_TO;
    case ZYDIS_CATEGORY_RET:
        shape->stack = 8;
        return zydis->operand_width == 16 ? BURST_STOP : BURST_RETURN;
    case ZYDIS_CATEGORY_SYSCALL:
        return zydis->mnemonic == ZYDIS_MNEMONIC_SYSCALL ? BURST_SYSTEM_CALL : BURST_STOP;
    case ZYDIS_CATEGORY_STRINGOP:
        return string_group(zydis, shape);
    case ZYDIS_CATEGORY_GATHER:
    case ZYDIS_CATEGORY_AVX2GATHER:
    case ZYDIS_CATEGORY_SCATTER:
        return BURST_VECTOR;
    default:
        break;
    }
    switch (zydis->mnemonic) {
    case ZYDIS_MNEMONIC_PUSH:
    case ZYDIS_MNEMONIC_PUSHF:
    case ZYDIS_MNEMONIC_PUSHFQ:
        shape->stack = zydis->operand_width == 16 ? 2 : 8;
        return BURST_PUSH;
    case ZYDIS_MNEMONIC_POP:
        shape->stack = zydis->operand_width == 16 ? 2 : 8;
        return BURST_POP;
    case ZYDIS_MNEMONIC_LEAVE:
        shape->stack = 8;
        return zydis->operand_width == 16 ? BURST_STOP : BURST_LEAVE;
    case ZYDIS_MNEMONIC_XLAT:
        return BURST_XLAT;
    case ZYDIS_MNEMONIC_MASKMOVQ:
    case ZYDIS_MNEMONIC_MASKMOVDQU:
    case ZYDIS_MNEMONIC_VMASKMOVDQU:
        shape->size = zydis->mnemonic == ZYDIS_MNEMONIC_MASKMOVQ ? 8 : 16;
        return BURST_BYTES;
    case ZYDIS_MNEMONIC_BT:
    case ZYDIS_MNEMONIC_BTS:
    case ZYDIS_MNEMONIC_BTR:
    case ZYDIS_MNEMONIC_BTC:
        if (operands[0].type == ZYDIS_OPERAND_TYPE_MEMORY && operands[1].type == ZYDIS_OPERAND_TYPE_REGISTER)
            return BURST_BIT_STRING;
        return BURST_ORDINARY;
    case ZYDIS_MNEMONIC_VMASKMOVPS:
    case ZYDIS_MNEMONIC_VMASKMOVPD:
    case ZYDIS_MNEMONIC_VPMASKMOVD:
    case ZYDIS_MNEMONIC_VPMASKMOVQ:
        return BURST_VECTOR;
    default:
        return BURST_ORDINARY;
    }
}

/* Whether memory is only named. */
static bool no_access(const ZydisDecodedInstruction *zydis)
{
    switch (zydis->meta.category) {
    case ZYDIS_CATEGORY_NOP:
    case ZYDIS_CATEGORY_WIDENOP:
    case ZYDIS_CATEGORY_PREFETCH:
    case ZYDIS_CATEGORY_PREFETCHWT1:
    case ZYDIS_CATEGORY_CLFLUSHOPT:
    case ZYDIS_CATEGORY_CLWB:
    case ZYDIS_CATEGORY_CLDEMOTE:
        return true;
    default:
        return zydis->mnemonic == ZYDIS_MNEMONIC_LEA || zydis->mnemonic == ZYDIS_MNEMONIC_CLFLUSH ||
               zydis->mnemonic == ZYDIS_MNEMONIC_NOP;
    }
}

static uint8_t kind_of(const ZydisDecodedOperand *operand)
{
    bool reads = (operand->actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0;
    bool writes = (operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
    return reads && writes ? BURST_MODIFY : writes ? BURST_STORE : reads ? BURST_LOAD : BURST_NO_ACCESS;
}

static void take_memory(burst_instruction *in, const ZydisDecodedInstruction *zydis,
                        const ZydisDecodedOperand *operand)
{
    const ZydisDecodedOperandMem *memory = &operand->mem;
    in->memory = true;
    in->displacement = memory->disp.has_displacement ? memory->disp.value : 0;
    in->scale = memory->scale == 8 ? 3 : memory->scale == 4 ? 2 : memory->scale == 2 ? 1 : 0;
    in->short_address = zydis->address_width == 32;
    if (memory->base == ZYDIS_REGISTER_RIP || memory->base == ZYDIS_REGISTER_EIP) {
        in->relative = true;
        in->displacement_at = zydis->raw.disp.offset;
        if (in->short_address) in->shape.group = BURST_STOP;
    } else {
        in->base = general_register(memory->base);
    }
    if (memory->type == ZYDIS_MEMOP_TYPE_VSIB)
        in->index_register = vector_number(memory->index, &in->index_size);
    else
        in->index = general_register(memory->index);
    in->shape.kind =
        no_access(zydis) || memory->type == ZYDIS_MEMOP_TYPE_AGEN ? BURST_NO_ACCESS : kind_of(operand);
    in->shape.size = operand->size / 8;
    if (in->shape.kind != BURST_NO_ACCESS && (operand->size == 0 || operand->size % 8))
        in->shape.group = BURST_STOP;
    if (memory->type == ZYDIS_MEMOP_TYPE_MIB) in->shape.group = BURST_STOP;
}

static void take_register(burst_instruction *in, const ZydisDecodedOperand *operand)
{
    uint8_t number = general_register(operand->reg.value);
    if (number == BURST_NO_REGISTER) return;
    burst_shape *shape = &in->shape;
    bool written = (operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
    bool byte = operand->size == 8;
    in->reads |= operand_bit(number);
    if (written) in->writes |= operand_bit(number);
    switch (operand->encoding) {
    case ZYDIS_OPERAND_ENCODING_MODRM_REG:
        shape->roles |= (uint8_t)((written ? BURST_REG_WRITTEN : 0) | (byte ? BURST_REG_BYTE : 0));
        in->reg = number;
        break;
    case ZYDIS_OPERAND_ENCODING_MODRM_RM:
        shape->roles |= (uint8_t)((written ? BURST_RM_WRITTEN : 0) | (byte ? BURST_RM_BYTE : 0));
        in->rm = number;
        break;
    case ZYDIS_OPERAND_ENCODING_NDSNDD:
        shape->roles |= written ? BURST_VVVV_WRITTEN : 0;
        break;
    case ZYDIS_OPERAND_ENCODING_OPCODE:
        shape->roles |= (uint8_t)(BURST_OPCODE_REGISTER | (written ? BURST_OPCODE_WRITTEN : 0) |
                                  (byte ? BURST_RM_BYTE : 0));
        in->rm = number;
        break;
    default:
        shape->reads |= operand_bit(number);
        if (written) shape->writes |= operand_bit(number);
        break;
    }
}

/* The mask and the elements of a gather, a scatter, or an access under a mask. */
static void take_vector(burst_instruction *in, const ZydisDecodedInstruction *zydis,
                        const ZydisDecodedOperand *operands, const ZydisDecodedOperand *memory)
{
    burst_shape *shape = &in->shape;
    bool evex = zydis->encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX;
    uint32_t element = memory->element_size / 8u;
    if (evex) {
        in->mask_register = BURST_NO_REGISTER;
        if (zydis->avx.mask.reg != ZYDIS_REGISTER_NONE && zydis->avx.mask.reg != ZYDIS_REGISTER_K0)
            in->mask_register = vector_number(zydis->avx.mask.reg, &in->mask_size);
    } else {
        for (int i = 0; i < zydis->operand_count; i++)
            if (operands[i].encoding == ZYDIS_OPERAND_ENCODING_NDSNDD &&
                operands[i].type == ZYDIS_OPERAND_TYPE_REGISTER)
                in->mask_register = vector_number(operands[i].reg.value, &in->mask_size);
    }
    if (in->index_register != BURST_NO_REGISTER) { /* dd, dq, qd, qq: of the index and of the data */
        uint32_t data = 0, index = 0;
        switch (zydis->mnemonic) {
        case ZYDIS_MNEMONIC_VPGATHERDD:
        case ZYDIS_MNEMONIC_VGATHERDPS:
        case ZYDIS_MNEMONIC_VPSCATTERDD:
        case ZYDIS_MNEMONIC_VSCATTERDPS:
            index = 4, data = 4;
            break;
        case ZYDIS_MNEMONIC_VPGATHERDQ:
        case ZYDIS_MNEMONIC_VGATHERDPD:
        case ZYDIS_MNEMONIC_VPSCATTERDQ:
        case ZYDIS_MNEMONIC_VSCATTERDPD:
            index = 4, data = 8;
            break;
        case ZYDIS_MNEMONIC_VPGATHERQD:
        case ZYDIS_MNEMONIC_VGATHERQPS:
        case ZYDIS_MNEMONIC_VPSCATTERQD:
        case ZYDIS_MNEMONIC_VSCATTERQPS:
            index = 8, data = 4;
            break;
        case ZYDIS_MNEMONIC_VPGATHERQQ:
        case ZYDIS_MNEMONIC_VGATHERQPD:
        case ZYDIS_MNEMONIC_VPSCATTERQQ:
        case ZYDIS_MNEMONIC_VSCATTERQPD:
            index = 8, data = 8;
            break;
        default:
            shape->group = BURST_STOP; /* prefetches of many lines */
            return;
        }
        uint32_t vector = zydis->avx.vector_length / 8u; /* of the longer of the two */
        in->index_bytes = (uint8_t)index;
        in->count = (uint8_t)(vector / (index > data ? index : data));
        if (in->index_size && in->count > in->index_size / index)
            in->count = (uint8_t)(in->index_size / index);
        shape->size = (uint16_t)data;
        shape->kind = zydis->meta.category == ZYDIS_CATEGORY_SCATTER ? BURST_STORE : BURST_LOAD;
        return;
    }
    if (element == 0 || shape->size % element || shape->size / element > 64 ||
        in->mask_register == BURST_NO_REGISTER) {
        shape->group = BURST_STOP;
        return;
    }
    in->compressed =
        zydis->meta.category == ZYDIS_CATEGORY_COMPRESS || zydis->meta.category == ZYDIS_CATEGORY_EXPAND;
    in->count = (uint8_t)(shape->size / element);
    shape->size = (uint16_t)element;
}

static void take_flags(burst_shape *shape, const ZydisDecodedInstruction *zydis)
{
    const uint32_t status = ZYDIS_CPUFLAG_CF | ZYDIS_CPUFLAG_PF | ZYDIS_CPUFLAG_AF | ZYDIS_CPUFLAG_ZF |
                            ZYDIS_CPUFLAG_SF | ZYDIS_CPUFLAG_OF;
    const ZydisAccessedFlags *flags = zydis->cpu_flags;
    shape->flags = 0;
    if (!flags) return;
    uint32_t written = flags->modified | flags->set_0 | flags->set_1;
    /* and, or, xor and test leave AF undefined, and processors clear it; elsewhere what is undefined may be
     * what it was. Shifts by nothing change no flag, nor do repetitions that do not happen. */
    if (zydis->meta.category == ZYDIS_CATEGORY_LOGICAL) written |= flags->undefined;
    if (flags->tested & status) shape->flags |= BURST_FLAGS_READ;
    if (zydis->meta.category == ZYDIS_CATEGORY_SHIFT || zydis->meta.category == ZYDIS_CATEGORY_ROTATE ||
        zydis->meta.category == ZYDIS_CATEGORY_STRINGOP)
        return;
    if ((written & status) == status) shape->flags |= BURST_FLAGS_WRITTEN;
}

void burst_shape_ask(burst_instruction *in, const burst_vectors *vectors, size_t room)
{
    ZydisDecoder decoder;
    ZydisDecodedInstruction zydis;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    save_vectors(vectors);
    bool decoded =
        ZYAN_SUCCESS(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) &&
        ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, in->bytes, room, &zydis, operands));
    burst_shape *shape = &in->shape;
    shape->group = BURST_STOP;
    if (decoded) {
        shape->size = shape->reads = shape->writes = 0;
        shape->kind = BURST_NO_ACCESS;
        shape->roles = shape->stack = shape->string = shape->unused = 0;
        shape->key = 0;
        in->length = zydis.length;
        in->opcode = zydis.opcode;
        in->wide = (zydis.attributes & ZYDIS_ATTRIB_HAS_REX) != 0 && zydis.raw.rex.W;
        if (zydis.attributes & ZYDIS_ATTRIB_HAS_REX) in->rex_at = zydis.raw.rex.offset;
        in->vex = zydis.encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY &&
                  zydis.encoding != ZYDIS_INSTRUCTION_ENCODING_3DNOW;
        if (in->vex)
            in->vex_at = zydis.encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX  ? zydis.raw.evex.offset
                         : zydis.encoding == ZYDIS_INSTRUCTION_ENCODING_XOP ? zydis.raw.xop.offset
                                                                            : zydis.raw.vex.offset;
        if (zydis.attributes & ZYDIS_ATTRIB_HAS_MODRM) {
            in->modrm_at = zydis.raw.modrm.offset;
            in->modrm = in->bytes[in->modrm_at];
        }
        for (int i = 0; i < zydis.raw.prefix_count; i++) {
            if (zydis.raw.prefixes[i].value == 0x64) in->segment = BURST_FS;
            if (zydis.raw.prefixes[i].value == 0x65) in->segment = BURST_GS;
        }
        shape->immediate = (uint8_t)((zydis.raw.imm[0].size + zydis.raw.imm[1].size) / 8);
        shape->group = group_of(&zydis, operands, shape);
        const ZydisDecodedOperand *memory = NULL;
        for (int i = 0; i < zydis.operand_count; i++) {
            const ZydisDecodedOperand *operand = &operands[i];
            if (operand->type == ZYDIS_OPERAND_TYPE_REGISTER) {
                take_register(in, operand);
            } else if (operand->type == ZYDIS_OPERAND_TYPE_MEMORY &&
                       (operand->encoding == ZYDIS_OPERAND_ENCODING_MODRM_RM ||
                        operand->encoding == ZYDIS_OPERAND_ENCODING_DISP16_32_64)) {
                uint16_t size = shape->size;
                memory = operand;
                take_memory(in, &zydis, operand);
                if (shape->group == BURST_BYTES) shape->size = size;
            } else if (operand->type == ZYDIS_OPERAND_TYPE_MEMORY && zydis.address_width == 32 &&
                       shape->group != BURST_ORDINARY) {
                shape->group = BURST_STOP; /* strings and xlat with short addresses */
            }
        }
        if (memory && zydis.encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX && shape->group == BURST_ORDINARY &&
            shape->kind != BURST_NO_ACCESS && zydis.avx.mask.reg != ZYDIS_REGISTER_NONE &&
            zydis.avx.mask.reg != ZYDIS_REGISTER_K0 && memory->element_size &&
            shape->size > memory->element_size / 8)
            shape->group = BURST_VECTOR;
        if (shape->group == BURST_VECTOR) {
            if (memory)
                take_vector(in, &zydis, operands, memory);
            else
                shape->group = BURST_ORDINARY;
        }
        in->reads |= shape->reads;
        in->writes |= shape->writes;
        if (in->base != BURST_NO_REGISTER) in->reads |= operand_bit(in->base);
        if (in->index != BURST_NO_REGISTER) in->reads |= operand_bit(in->index);
        in->uses_r15 = ((in->reads | in->writes) & operand_bit(BURST_R15)) != 0;
        take_flags(shape, &zydis);
    }
    restore_vectors(vectors);
}
