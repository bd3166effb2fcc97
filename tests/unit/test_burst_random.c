/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_burst_random.c - random sequences of instructions in bursts. Judge: the processor, which executes the
 * same step by step; and for the log, the addresses that Zydis works out from the registers before each step.
 *
 * FATHOM_TEST_TRACES: how many sequences; FATHOM_TEST_SEED: others; FATHOM_TEST_ONLY: only this one.
 */
#include "case.h"

#include <Zydis/Zydis.h>
#include <stdbool.h>
#include <stdint.h>

#include "burst_driver.h"

#include "collect/sample/burst_state.h"

static uint64_t random_state;

static uint32_t pick(uint32_t below)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((random_state >> 33) % below);
}

/* What the processor accessed, step by step. */
static burst_use judged[USES_MOST];
static uint32_t judged_count;
static ZydisDecoder decoder;

static uint64_t value_of(const ucontext_t *context, ZydisRegister name)
{
    static const int places[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                   REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
    if (name == ZYDIS_REGISTER_NONE) return 0;
    if (name == ZYDIS_REGISTER_RIP) return (uint64_t)context->uc_mcontext.gregs[REG_RIP];
    ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, name);
    uint64_t value = (uint64_t)context->uc_mcontext.gregs[places[whole - ZYDIS_REGISTER_RAX]];
    return ZydisRegisterGetClass(name) == ZYDIS_REGCLASS_GPR32 ? (uint32_t)value : value;
}

/* A vector register of the context. */
static void vector_of(const ucontext_t *context, ZydisRegister name, unsigned char bytes[32])
{
    const unsigned char *frame = (const unsigned char *)context->uc_mcontext.fpregs;
    uint64_t present;
    memcpy(&present, frame + 512, sizeof present);
    size_t number = (size_t)ZydisRegisterGetId(name);
    memset(bytes, 0, 32);
    if (present & 2) memcpy(bytes, frame + 160 + 16 * number, 16);
    if (present & 4) memcpy(bytes + 16, frame + 576 + 16 * number, 16);
}

static int64_t element(const unsigned char *bytes, uint32_t size, uint32_t i)
{
    int32_t narrow;
    int64_t wide;
    memcpy(&narrow, bytes + size * i, 4);
    if (size == 4) return narrow;
    memcpy(&wide, bytes + size * i, 8);
    return wide;
}

static void judge(uint64_t instruction, uint64_t address, uint32_t size, burst_kind kind)
{
    if (judged_count < USES_MOST)
        judged[judged_count++] =
            (burst_use){.address = address, .instruction = instruction, .size = size, .kind = kind};
}

/* The step before: its registers, and those that it may change. */
static greg_t before[NGREG];
static uint32_t may_change;
static uint64_t before_rip, undeclared;

static void on_step(ucontext_t *context)
{
    static const int places[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                   REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
    const greg_t *registers = context->uc_mcontext.gregs;
    uint64_t rip = (uint64_t)registers[REG_RIP];
    for (int i = 0; i < 16 && before_rip; i++)
        if (registers[places[i]] != before[places[i]] && !(may_change >> i & 1)) undeclared = before_rip;
    memcpy(before, registers, sizeof before);
    before_rip = rip;
    burst_instruction known;
    burst_decode(&known, NULL, (const unsigned char *)rip, rip, 15);
    may_change = known.writes;
    ZydisDecodedInstruction in;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, (const void *)rip, 15, &in, operands))) return;
    bool repeated =
        (in.attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE)) != 0 &&
        in.meta.category == ZYDIS_CATEGORY_STRINGOP;
    if (repeated && registers[REG_RCX] == 0) return;
    if (in.meta.category == ZYDIS_CATEGORY_PREFETCH || in.meta.category == ZYDIS_CATEGORY_WIDENOP ||
        in.meta.category == ZYDIS_CATEGORY_NOP || in.mnemonic == ZYDIS_MNEMONIC_CLFLUSH)
        return;
    /* Loads before stores. */
    for (int turn = 0; turn < 2; turn++)
        for (int i = 0; i < in.operand_count; i++) {
            /* Of cmps, [rdi] before [rsi]. */
            bool compares = in.meta.category == ZYDIS_CATEGORY_STRINGOP &&
                            operands[0].type == ZYDIS_OPERAND_TYPE_MEMORY &&
                            operands[1].type == ZYDIS_OPERAND_TYPE_MEMORY &&
                            !(operands[0].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE);
            const ZydisDecodedOperand *operand = &operands[compares && i < 2 ? 1 - i : i];
            if (operand->type != ZYDIS_OPERAND_TYPE_MEMORY || operand->mem.type == ZYDIS_MEMOP_TYPE_AGEN)
                continue;
            bool reads = (operand->actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0;
            bool writes = (operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
            if ((turn == 0) != reads) continue;
            bool modifies = reads && writes; /* a load and a store */
            burst_kind kind = reads ? BURST_LOAD : BURST_STORE;
            uint32_t size = operand->size / 8;
            uint64_t address = value_of(context, operand->mem.base) +
                               (operand->mem.disp.has_displacement ? (uint64_t)operand->mem.disp.value : 0);
            if (operand->mem.base == ZYDIS_REGISTER_RIP) address += in.length;
            if (operand->mem.type == ZYDIS_MEMOP_TYPE_VSIB) {
                unsigned char indices[32], mask[32];
                vector_of(context, operand->mem.index, indices);
                vector_of(context, operands[2].reg.value, mask);
                bool wide_index =
                    in.mnemonic == ZYDIS_MNEMONIC_VPGATHERQD || in.mnemonic == ZYDIS_MNEMONIC_VPGATHERQQ;
                bool wide_data =
                    in.mnemonic == ZYDIS_MNEMONIC_VPGATHERDQ || in.mnemonic == ZYDIS_MNEMONIC_VPGATHERQQ;
                uint32_t length = ZydisRegisterGetClass(operand->mem.index) == ZYDIS_REGCLASS_YMM ? 32 : 16;
                uint32_t to = ZydisRegisterGetClass(operands[0].reg.value) == ZYDIS_REGCLASS_YMM ? 32 : 16;
                uint32_t count = length / (wide_index ? 8u : 4u), second = to / (wide_data ? 8u : 4u);
                if (second < count) count = second;
                for (uint32_t k = 0; k < count; k++)
                    if (element(mask, wide_data ? 8 : 4, k) < 0)
                        judge(rip,
                              address +
                                  (uint64_t)element(indices, wide_index ? 8 : 4, k) * operand->mem.scale,
                              wide_data ? 8 : 4, BURST_LOAD);
                continue;
            }
            uint64_t index = value_of(context, operand->mem.index);
            if (in.mnemonic == ZYDIS_MNEMONIC_XLAT)
                address += (uint64_t)registers[REG_RAX] & 0xff;
            else
                address += index * (operand->mem.index ? operand->mem.scale ? operand->mem.scale : 1u : 0u);
            if (in.address_width == 32) address = (uint32_t)address;
            if (operand->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN &&
                operand->mem.base == ZYDIS_REGISTER_RSP && writes)
                address -= size;
            if (in.mnemonic == ZYDIS_MNEMONIC_POP &&
                operand->visibility == ZYDIS_OPERAND_VISIBILITY_EXPLICIT &&
                operand->mem.base == ZYDIS_REGISTER_RSP)
                address += size;
            if (in.mnemonic == ZYDIS_MNEMONIC_LEAVE) address = (uint64_t)registers[REG_RBP];
            switch (in.mnemonic) {
            case ZYDIS_MNEMONIC_BT:
            case ZYDIS_MNEMONIC_BTS:
            case ZYDIS_MNEMONIC_BTR:
            case ZYDIS_MNEMONIC_BTC:
                if (operands[1].type == ZYDIS_OPERAND_TYPE_REGISTER) {
                    int64_t bits = (int64_t)value_of(context, operands[1].reg.value);
                    if (operands[1].size == 32) bits = (int32_t)bits;
                    if (operands[1].size == 16) bits = (int16_t)bits;
                    address += (uint64_t)(bits >> 3);
                    size = 1;
                }
                break;
            case ZYDIS_MNEMONIC_VMASKMOVPS:
            case ZYDIS_MNEMONIC_VMASKMOVPD:
            case ZYDIS_MNEMONIC_VPMASKMOVD:
            case ZYDIS_MNEMONIC_VPMASKMOVQ: {
                unsigned char mask[32];
                vector_of(context,
                          operands[1].type == ZYDIS_OPERAND_TYPE_REGISTER ? operands[1].reg.value : 0, mask);
                uint32_t each =
                    in.mnemonic == ZYDIS_MNEMONIC_VMASKMOVPS || in.mnemonic == ZYDIS_MNEMONIC_VPMASKMOVD ? 4
                                                                                                         : 8;
                for (uint32_t k = 0; k < size / each; k++)
                    if (element(mask, each, k) < 0) judge(rip, address + k * each, each, kind);
                continue;
            }
            case ZYDIS_MNEMONIC_MASKMOVDQU:
            case ZYDIS_MNEMONIC_VMASKMOVDQU:
                kind = BURST_LOAD;
                modifies = true;
                size = 16;
                break;
            default:
                break;
            }
            judge(rip, address, size, kind);
            if (modifies) judge(rip, address, size, BURST_STORE);
        }
}

/* --- The sequences
 * ------------------------------------------------------------------------------------------ */

typedef enum pattern {
    RR,
    RM,
    MR,
    RI,
    MI,
    ONE_R,
    ONE_M,
    NONE,
    RRM,
    RRR,
    RRI,
    SHIFT_R,
    SHIFT_M,
    SHIFT_CL_R,
    SHIFT_CL_M,
    XX,
    XM,
    MX,
    XR,
    RX,
    XMI,
    YM,
    MY,
    YY,
    YYM,
    XXM,
    YXM,
    MASK_LOAD,
    MASK_STORE,
    GATHER,
    PUSH_R,
    POP_R,
    PUSH_M,
    POP_M,
    PUSH_I,
    WIDEN,
    WIDEN_M,
    STRING,
    REP_STRING,
    R3M,
    X87_32,
    X87_64,
    X87_80,
    M16,
    LEA_R,
    FIXED_M,
    MXI,
    RMI,
    CRC,
} pattern;

typedef struct template
{
    ZydisMnemonic mnemonic;
    pattern pattern;
    uint8_t sizes; /* bits of 1, 2, 4, 8 bytes, or bytes of memory */
}
template;

#define M(name) ZYDIS_MNEMONIC_##name
static const template templates[] = {
    {M(MOV), RM, 15},
    {M(MOV), RM, 12},
    {M(MOV), MR, 15},
    {M(MOV), RR, 15},
    {M(MOV), MI, 15},
    {M(MOV), RI, 15},
    {M(MOV), RM, 12},
    {M(MOV), MR, 12},
    {M(ADD), RR, 15},
    {M(ADD), RM, 15},
    {M(ADD), MR, 15},
    {M(ADD), MI, 15},
    {M(ADC), RM, 15},
    {M(ADC), MR, 15},
    {M(SUB), RR, 15},
    {M(SUB), RM, 15},
    {M(SUB), MR, 15},
    {M(SBB), MI, 15},
    {M(SBB), RM, 15},
    {M(AND), RM, 15},
    {M(AND), MR, 15},
    {M(OR), MI, 15},
    {M(OR), RM, 15},
    {M(XOR), MR, 15},
    {M(XOR), RR, 15},
    {M(CMP), RM, 15},
    {M(CMP), MI, 15},
    {M(CMP), MR, 15},
    {M(TEST), RR, 15},
    {M(TEST), MR, 15},
    {M(TEST), MI, 15},
    {M(XCHG), MR, 15},
    {M(XCHG), RR, 15},
    {M(XADD), MR, 15},
    {M(CMPXCHG), MR, 15},
    {M(CMPXCHG8B), FIXED_M, 8},
    {M(CMPXCHG16B), FIXED_M, 16},
    {M(INC), ONE_R, 15},
    {M(INC), ONE_M, 15},
    {M(DEC), ONE_M, 15},
    {M(NEG), ONE_M, 15},
    {M(NOT), ONE_M, 15},
    {M(NOT), ONE_R, 15},
    {M(MUL), ONE_M, 15},
    {M(IMUL), RM, 14},
    {M(IMUL), RMI, 14},
    {M(MUL), ONE_R, 15},
    {M(SHL), SHIFT_R, 15},
    {M(SHR), SHIFT_M, 15},
    {M(SAR), SHIFT_CL_R, 15},
    {M(SHL), SHIFT_CL_M, 15},
    {M(ROL), SHIFT_M, 15},
    {M(ROR), SHIFT_R, 15},
    {M(RCL), SHIFT_R, 15},
    {M(RCR), SHIFT_M, 15},
    {M(BT), MI, 14},
    {M(BTS), MI, 14},
    {M(BT), MR, 14},
    {M(BTS), MR, 14},
    {M(BTR), MR, 14},
    {M(BTC), MR, 14},
    {M(BSF), RM, 14},
    {M(BSR), RM, 14},
    {M(POPCNT), RM, 14},
    {M(TZCNT), RM, 14},
    {M(LZCNT), RM, 14},
    {M(MOVBE), RM, 14},
    {M(MOVBE), MR, 14},
    {M(BSWAP), ONE_R, 12},
    {M(ANDN), RRM, 12},
    {M(MULX), RRM, 12},
    {M(ADCX), RM, 12},
    {M(ADOX), RM, 12},
    {M(PDEP), RRM, 12},
    {M(PEXT), RRM, 12},
    {M(BLSR), RM, 12},
    {M(CRC32), CRC, 15},
    {M(SETB), ONE_M, 1},
    {M(SETNLE), ONE_R, 1},
    {M(SETZ), ONE_M, 1},
    {M(CMOVZ), RM, 14},
    {M(CMOVNB), RM, 14},
    {M(CMOVS), RR, 14},
    {M(CMOVLE), RM, 14},
    {M(LEA), LEA_R, 14},
    {M(LEA), LEA_R, 8},
    {M(MOVZX), WIDEN_M, 0},
    {M(MOVZX), WIDEN, 0},
    {M(MOVSX), WIDEN_M, 0},
    {M(MOVSX), WIDEN, 0},
    {M(MOVSXD), R3M, 0},
    {M(PUSH), PUSH_R, 8},
    {M(PUSH), PUSH_R, 8},
    {M(POP), POP_R, 8},
    {M(POP), POP_R, 8},
    {M(PUSH), PUSH_M, 8},
    {M(POP), POP_M, 8},
    {M(PUSH), PUSH_I, 8},
    {M(PUSHFQ), NONE, 0},
    {M(LAHF), NONE, 0},
    {M(SAHF), NONE, 0},
    {M(STC), NONE, 0},
    {M(CLC), NONE, 0},
    {M(CMC), NONE, 0},
    {M(CQO), NONE, 0},
    {M(CDQE), NONE, 0},
    {M(XLAT), NONE, 0},
    {M(NOP), ONE_M, 6},
    {M(PREFETCHT0), FIXED_M, 1},
    {M(PREFETCHW), FIXED_M, 1},
    {M(MOVNTI), MR, 12},
    {M(LFENCE), NONE, 0},
    {M(PAUSE), NONE, 0},
    {M(ENDBR64), NONE, 0},
    {M(MOVSB), STRING, 1},
    {M(MOVSQ), STRING, 8},
    {M(STOSB), STRING, 1},
    {M(STOSD), STRING, 4},
    {M(LODSQ), STRING, 8},
    {M(SCASW), STRING, 2},
    {M(CMPSB), STRING, 1},
    {M(CMPSQ), STRING, 8},
    {M(MOVSB), REP_STRING, 1},
    {M(MOVSQ), REP_STRING, 8},
    {M(STOSB), REP_STRING, 1},
    {M(STOSQ), REP_STRING, 8},
    {M(SCASB), REP_STRING, 1},
    {M(CMPSB), REP_STRING, 1},
    {M(CMPSD), REP_STRING, 4},
    {M(LODSB), REP_STRING, 1},
    {M(MOVUPS), XM, 16},
    {M(MOVUPS), MX, 16},
    {M(MOVAPS), XX, 16},
    {M(MOVDQU), XM, 16},
    {M(MOVDQU), MX, 16},
    {M(MOVSS), XM, 4},
    {M(MOVSS), MX, 4},
    {M(MOVSD), XM, 8},
    {M(MOVSD), MX, 8},
    {M(MOVD), XM, 4},
    {M(MOVD), MX, 4},
    {M(MOVQ), XM, 8},
    {M(MOVQ), MX, 8},
    {M(MOVHPS), XM, 8},
    {M(MOVHPS), MX, 8},
    {M(MOVLPD), XM, 8},
    {M(MOVQ), XR, 8},
    {M(MOVQ), RX, 8},
    {M(MOVD), XR, 4},
    {M(ADDSS), XM, 4},
    {M(ADDSD), XM, 8},
    {M(MULSD), XM, 8},
    {M(SUBSS), XM, 4},
    {M(PADDD), XX, 16},
    {M(PXOR), XX, 16},
    {M(PMOVZXBW), XM, 8},
    {M(PMOVSXBQ), XM, 2},
    {M(CVTSI2SD), XM, 4},
    {M(CVTSS2SD), XM, 4},
    {M(UCOMISD), XM, 8},
    {M(COMISS), XM, 4},
    {M(PINSRW), XMI, 2},
    {M(PINSRB), XMI, 1},
    {M(PINSRQ), XMI, 8},
    {M(PEXTRW), MXI, 2},
    {M(PEXTRD), MXI, 4},
    {M(EXTRACTPS), MXI, 4},
    {M(SQRTSD), XM, 8},
    {M(LDDQU), XM, 16},
    {M(MASKMOVDQU), XX, 16},
    {M(STMXCSR), FIXED_M, 4},
    {M(VMOVUPS), YM, 32},
    {M(VMOVUPS), MY, 32},
    {M(VMOVDQU), XM, 16},
    {M(VMOVDQU), MX, 16},
    {M(VADDPD), YYM, 32},
    {M(VPADDD), YYM, 32},
    {M(VPXOR), YYM, 32},
    {M(VMULSD), XXM, 8},
    {M(VADDSS), XXM, 4},
    {M(VFMADD231SD), XXM, 8},
    {M(VFMADD213PD), YYM, 32},
    {M(VBROADCASTSS), YM, 4},
    {M(VBROADCASTF128), YM, 16},
    {M(VPBROADCASTB), YM, 1},
    {M(VMOVAPS), YY, 32},
    {M(VCVTPS2PD), YM, 16},
    {M(VPSHUFB), XXM, 16},
    {M(VMASKMOVPS), MASK_LOAD, 32},
    {M(VMASKMOVPD), MASK_STORE, 32},
    {M(VPMASKMOVD), MASK_STORE, 32},
    {M(VPMASKMOVQ), MASK_LOAD, 16},
    {M(VPGATHERDD), GATHER, 0},
    {M(VPGATHERQQ), GATHER, 1},
    {M(VPGATHERDQ), GATHER, 2},
    {M(VPGATHERQD), GATHER, 3},
    {M(VZEROUPPER), NONE, 0},
    {M(FLD), X87_32, 0},
    {M(FLD), X87_64, 0},
    {M(FLD), X87_80, 0},
    {M(FSTP), X87_64, 0},
    {M(FSTP), X87_80, 0},
    {M(FILD), X87_64, 0},
    {M(FISTP), X87_32, 0},
    {M(FADD), X87_64, 0},
    {M(FNSTCW), M16, 0},
    {M(FNINIT), NONE, 0},
    {M(LODSW), STRING, 2},
    {M(STOSW), STRING, 2},
    {M(SCASQ), STRING, 8},
};

/* Registers that sequences compute with, and those that addresses are made of. */
static const ZydisRegister numbers[] = {ZYDIS_REGISTER_RAX, ZYDIS_REGISTER_RCX, ZYDIS_REGISTER_RDX,
                                        ZYDIS_REGISTER_R8,  ZYDIS_REGISTER_R9,  ZYDIS_REGISTER_R10,
                                        ZYDIS_REGISTER_R11, ZYDIS_REGISTER_R15};
static const ZydisRegister bases[] = {ZYDIS_REGISTER_RBX, ZYDIS_REGISTER_RSI, ZYDIS_REGISTER_RDI,
                                      ZYDIS_REGISTER_RBP, ZYDIS_REGISTER_R12, ZYDIS_REGISTER_RSP,
                                      ZYDIS_REGISTER_R15, ZYDIS_REGISTER_RIP};
static const ZydisRegister indices[] = {ZYDIS_REGISTER_NONE, ZYDIS_REGISTER_NONE, ZYDIS_REGISTER_R13,
                                        ZYDIS_REGISTER_R14};

/* Whether r15 is a base in this sequence (then nothing computes with it). */
static bool r15_is_base;

static ZydisRegister sized(ZydisRegister whole, uint32_t bytes)
{
    uint32_t number = (uint32_t)(whole - ZYDIS_REGISTER_RAX);
    switch (bytes) {
    case 1:
        return number < 4 ? ZYDIS_REGISTER_AL + number + (pick(4) == 0 ? 4 : 0)
                          : (ZydisRegister)(ZYDIS_REGISTER_R8B + number - 8);
    case 2:
        return (ZydisRegister)(ZYDIS_REGISTER_AX + number);
    case 4:
        return (ZydisRegister)(ZYDIS_REGISTER_EAX + number);
    default:
        return whole;
    }
}

static ZydisEncoderOperand reg_operand(ZydisRegister name)
{
    ZydisEncoderOperand operand = {.type = ZYDIS_OPERAND_TYPE_REGISTER};
    operand.reg.value = name;
    return operand;
}

static ZydisEncoderOperand number_operand(uint32_t bytes)
{
    return reg_operand(sized(numbers[pick(r15_is_base ? 7 : 8)], bytes));
}

static ZydisEncoderOperand value_operand(uint32_t bytes)
{
    ZydisEncoderOperand operand = {.type = ZYDIS_OPERAND_TYPE_IMMEDIATE};
    operand.imm.s = bytes == 1 || pick(2) ? (int8_t)pick(256)
                    : bytes == 2          ? (int16_t)pick(65536)
                                          : (int32_t)(pick(1u << 31) * 2u);
    return operand;
}

static ZydisEncoderOperand memory_operand(uint32_t bytes, uint64_t address)
{
    ZydisEncoderOperand operand = {.type = ZYDIS_OPERAND_TYPE_MEMORY};
    do operand.mem.base = bases[pick(8)];
    while (operand.mem.base == ZYDIS_REGISTER_R15 && !r15_is_base);
    operand.mem.size = (ZyanU16)bytes;
    if (operand.mem.base == ZYDIS_REGISTER_RIP) {
        uint64_t target = (uint64_t)the_driver.data + 1024 + pick(4096);
        operand.mem.displacement =
            (int64_t)(target - address); /* near enough: it is relative to another place */
        return operand;
    }
    operand.mem.index = indices[pick(4)];
    if (operand.mem.index) operand.mem.scale = (ZyanU8)(1u << pick(4));
    operand.mem.displacement = pick(3) == 0 ? 0 : pick(2) ? (int8_t)pick(256) : (int32_t)pick(4000) - 2000;
    return operand;
}

static ZydisEncoderOperand vector_operand(ZydisRegister first)
{
    return reg_operand((ZydisRegister)(first + pick(16)));
}

/* Fills in operands; false: not this one. */
static bool fill(ZydisEncoderRequest *request, const template *what, uint64_t address)
{
    ZydisEncoderOperand *o = request->operands;
    uint32_t bytes = 8;
    if (what->sizes && what->sizes < 16) do
            bytes = 1u << pick(4);
        while (!(what->sizes & bytes));
    ZydisEncoderOperand memory = memory_operand(bytes, address);
    const ZydisRegister x = ZYDIS_REGISTER_XMM0, y = ZYDIS_REGISTER_YMM0;
    uint32_t count = 2;
    switch (what->pattern) {
    case NONE:
        count = 0;
        break;
    case RR:
        o[0] = number_operand(bytes), o[1] = number_operand(bytes);
        break;
    case RM:
        o[0] = number_operand(bytes), o[1] = memory;
        break;
    case MR:
        o[0] = memory, o[1] = number_operand(bytes);
        break;
    case RI:
        o[0] = number_operand(bytes), o[1] = value_operand(bytes);
        break;
    case MI:
        o[0] = memory, o[1] = value_operand(what->mnemonic == M(BT) || what->mnemonic == M(BTS) ? 1 : bytes);
        break;
    case ONE_R:
        o[0] = number_operand(bytes), count = 1;
        break;
    case ONE_M:
        o[0] = memory, count = 1;
        break;
    case RRM:
        o[0] = number_operand(bytes), o[1] = number_operand(bytes), o[2] = memory, count = 3;
        break;
    case RMI:
        o[0] = number_operand(bytes), o[1] = memory, o[2] = value_operand(bytes), count = 3;
        break;
    case SHIFT_R:
        o[0] = number_operand(bytes), o[1] = value_operand(1), o[1].imm.s &= 63;
        break;
    case SHIFT_M:
        o[0] = memory, o[1] = value_operand(1), o[1].imm.s &= 63;
        break;
    case SHIFT_CL_R:
        o[0] = number_operand(bytes), o[1] = reg_operand(ZYDIS_REGISTER_CL);
        break;
    case SHIFT_CL_M:
        o[0] = memory, o[1] = reg_operand(ZYDIS_REGISTER_CL);
        break;
    case LEA_R:
        o[0] = number_operand(bytes), o[1] = memory, o[1].mem.size = 8;
        break;
    case CRC:
        o[0] = number_operand(bytes == 8 ? 8 : 4), o[1] = memory;
        break;
    case WIDEN:
        o[0] = number_operand(8), o[1] = number_operand(1u << pick(2));
        break;
    case WIDEN_M:
        o[0] = number_operand(4u << pick(2)), o[1] = memory, o[1].mem.size = (ZyanU16)(1u << pick(2));
        break;
    case R3M:
        o[0] = number_operand(8), o[1] = memory, o[1].mem.size = 4;
        break;
    case PUSH_R:
        o[0] = number_operand(8), count = 1;
        break;
    case POP_R:
        o[0] = number_operand(8), count = 1;
        break;
    case PUSH_M:
    case POP_M:
        o[0] = memory, o[0].mem.size = 8, count = 1;
        break;
    case PUSH_I:
        o[0] = value_operand(4), count = 1;
        break;
    case STRING:
    case REP_STRING:
        count = 0;
        break;
    case XX:
        o[0] = vector_operand(x), o[1] = vector_operand(x);
        break;
    case XM:
        o[0] = vector_operand(x), o[1] = memory, o[1].mem.size = what->sizes;
        break;
    case MX:
        o[0] = memory, o[0].mem.size = what->sizes, o[1] = vector_operand(x);
        break;
    case XR:
        o[0] = vector_operand(x), o[1] = number_operand(what->sizes);
        break;
    case RX:
        o[0] = number_operand(what->sizes), o[1] = vector_operand(x);
        break;
    case XMI:
        o[0] = vector_operand(x), o[1] = memory, o[1].mem.size = what->sizes, o[2] = value_operand(1),
        o[2].imm.u = 1, count = 3;
        break;
    case MXI:
        o[0] = memory, o[0].mem.size = what->sizes, o[1] = vector_operand(x), o[2] = value_operand(1),
        o[2].imm.u = 1, count = 3;
        break;
    case YM:
        o[0] = vector_operand(y), o[1] = memory, o[1].mem.size = what->sizes;
        break;
    case MY:
        o[0] = memory, o[0].mem.size = what->sizes, o[1] = vector_operand(y);
        break;
    case YY:
        o[0] = vector_operand(y), o[1] = vector_operand(y);
        break;
    case YYM:
        o[0] = vector_operand(y), o[1] = vector_operand(y), o[2] = memory, o[2].mem.size = what->sizes,
        count = 3;
        break;
    case XXM:
        o[0] = vector_operand(x), o[1] = vector_operand(x), o[2] = memory, o[2].mem.size = what->sizes,
        count = 3;
        break;
    case MASK_LOAD:
        o[0] = vector_operand(what->sizes == 32 ? y : x), o[1] = vector_operand(what->sizes == 32 ? y : x),
        o[2] = memory, o[2].mem.size = what->sizes, count = 3;
        break;
    case MASK_STORE:
        o[0] = memory, o[0].mem.size = what->sizes, o[1] = vector_operand(y), o[2] = vector_operand(y),
        count = 3;
        break;
    case GATHER: {
        bool wide = pick(2);
        uint32_t a = pick(5), b = 5 + pick(3); /* xmm8 to 15 stay small numbers: nothing writes them here */
        o[0] = reg_operand((wide && what->sizes != 3 ? y : x) + a);
        o[1] = memory;
        if (o[1].mem.base == ZYDIS_REGISTER_RIP) o[1].mem.base = ZYDIS_REGISTER_RBX;
        o[1].mem.displacement = 64;
        o[1].mem.index = (wide && what->sizes != 2 ? y : x) + (what->sizes & 1 ? 14 : 15);
        o[1].mem.scale = 4;
        o[1].mem.size = what->sizes == 0 || what->sizes == 3 ? 4 : 8;
        o[2] = reg_operand((wide && what->sizes != 3 ? y : x) + b);
        count = 3;
        break;
    }
    case X87_32:
        o[0] = memory, o[0].mem.size = 4, count = 1;
        break;
    case X87_64:
        o[0] = memory, o[0].mem.size = 8, count = 1;
        break;
    case X87_80:
        o[0] = memory, o[0].mem.size = 10, count = 1;
        break;
    case M16:
        o[0] = memory, o[0].mem.size = 2, count = 1;
        break;
    case FIXED_M:
        o[0] = memory, o[0].mem.size = what->sizes, count = 1;
        break;
    default:
        return false;
    }
    if (what->pattern == REP_STRING)
        request->prefixes =
            what->mnemonic == M(SCASB) || what->mnemonic == M(CMPSB) || what->mnemonic == M(CMPSD)
                ? pick(2) ? ZYDIS_ATTRIB_HAS_REPE : ZYDIS_ATTRIB_HAS_REPNE
                : ZYDIS_ATTRIB_HAS_REP;
    request->operand_count = (ZyanU8)count;
    return true;
}

static unsigned char *out_at;

static uint64_t here(void)
{
    return (uint64_t)(the_driver.code_address + (out_at - the_driver.code));
}

static void put(const void *bytes, size_t count)
{
    memcpy(out_at, bytes, count);
    out_at += count;
}

/* One instruction of the table. */
static void put_random(void)
{
    static const uint32_t locked_kinds = 0;
    (void)locked_kinds;
    for (int tries = 0; tries < 100; tries++) {
        const template *what = &templates[pick(sizeof templates / sizeof *templates)];
        ZydisEncoderRequest request;
        memset(&request, 0, sizeof request);
        request.machine_mode = ZYDIS_MACHINE_MODE_LONG_64;
        request.mnemonic = what->mnemonic;
        if (!fill(&request, what, here())) continue;
        unsigned char bytes[15];
        ZyanUSize length = sizeof bytes;
        if (what->pattern == REP_STRING) { /* rcx: a few times, or not at all */
            unsigned char load[5] = {0xb9, (unsigned char)pick(9), 0, 0, 0};
            if (pick(4) == 0) { /* backwards */
                put("\xfd", 1);
            }
            put(load, 5);
        }
        if (what->mnemonic == M(XLAT)) put("\x0f\xb6\xc0", 3);
        if (what->mnemonic == M(BT) || what->mnemonic == M(BTS) || what->mnemonic == M(BTR) ||
            what->mnemonic == M(BTC)) {
            if (what->pattern == MR) { /* bits nearby */
                ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64,
                                                                       request.operands[1].reg.value);
                uint32_t number = (uint32_t)(whole - ZYDIS_REGISTER_RAX);
                unsigned char load[7] = {(unsigned char)(0x48 | number >> 3), 0xc7,
                                         (unsigned char)(0xc0 | (number & 7))};
                int32_t value = (int32_t)pick(4000) - 2000;
                memcpy(load + 3, &value, 4);
                put(load, 7);
            }
        }
        bool again = what->mnemonic == M(FLD) || what->mnemonic == M(FSTP) || what->mnemonic == M(FADD) ||
                     what->mnemonic == M(FISTP) || what->mnemonic == M(FILD);
        if (!ZYAN_SUCCESS(ZydisEncoderEncodeInstruction(&request, bytes, &length))) continue;
        if (again && pick(2)) put("\xdb\xe3", 2);
        put(bytes, length);
        if (what->pattern == STRING && pick(2)) return; /* what follows uses the registers as they are now */
        if (what->pattern == REP_STRING || what->pattern == STRING) { /* address registers as they were */
            put("\xfc", 1);
            put("\x4c\x89\xe6", 3); /* mov rsi, r12 */
            put("\x48\x89\xdf", 3); /* mov rdi, rbx */
        }
        return;
    }
}

/* Forward jumps, calls of what follows, loops: each leads on to what comes next. */
static void put_branch(void)
{
    uint32_t kind = pick(8);
    unsigned char *from;
    switch (kind) {
    case 0:
    case 1: { /* jcc over a few, short or long */
        unsigned char code = (unsigned char)pick(16);
        bool far = pick(2);
        if (far) {
            unsigned char jump[2] = {0x0f, (unsigned char)(0x80 | code)};
            put(jump, 2), put("\0\0\0\0", 4);
        } else {
            unsigned char jump[2] = {(unsigned char)(0x70 | code), 0};
            put(jump, 2);
        }
        from = out_at;
        for (uint32_t i = pick(4); i > 0; i--) put_random();
        if (far) {
            int32_t distance = (int32_t)(out_at - from);
            memcpy(from - 4, &distance, 4);
        } else {
            if (out_at - from > 127) memset(from, 0x90, 100), out_at = from + 100;
            from[-1] = (unsigned char)(out_at - from);
        }
        break;
    }
    case 2: /* jrcxz over one */
        put("\xe3\x00", 2);
        from = out_at;
        put_random();
        if (out_at - from > 127) out_at = from;
        from[-1] = (unsigned char)(out_at - from);
        break;
    case 3: { /* a loop of three */
        unsigned char count[5] = {0xb9, (unsigned char)(1 + pick(4)), 0, 0, 0};
        put(count, 5);
        from = out_at;
        put("\x48\xff\x03", 3);     /* inc qword [rbx] */
        put("\x49\x8b\x04\x24", 4); /* mov rax, [r12] */
        unsigned char loop[2] = {(unsigned char)(0xe0 + pick(3)), (unsigned char)(from - (out_at + 2))};
        put(loop, 2);
        break;
    }
    case 4: { /* call; the function is behind a jump, and ends by ret or ret 0 */
        put("\xe8\x05\0\0\0", 5);
        put("\xe9", 1);
        from = out_at;
        put("\0\0\0\0", 4);
        for (uint32_t i = pick(3); i > 0; i--) {
            unsigned char *begin = out_at;
            put_random();
            ZydisDecodedInstruction in;
            ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
            for (unsigned char *at = begin; at < out_at; at += in.length)
                if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, at, 15, &in, operands)) ||
                    in.meta.category == ZYDIS_CATEGORY_PUSH || in.meta.category == ZYDIS_CATEGORY_POP) {
                    out_at = begin;
                    break;
                }
        }
        if (pick(2))
            put("\xc3", 1);
        else
            put("\xc2\x00\x00", 3);
        int32_t distance = (int32_t)(out_at - (from + 4));
        memcpy(from, &distance, 4);
        break;
    }
    case 5: { /* jmp rax, jmp r15 or a call by way of memory */
        uint32_t way = pick(3);
        if (way == 0) {
            put("\x48\xb8", 2);
            uint64_t target = here() + 8 + 2;
            put(&target, 8);
            put("\xff\xe0", 2);
        } else if (way == 1) {
            put("\x48\x8d\x05\x09\0\0\0", 7); /* lea rax, [rip + 9]: behind the pop */
            put("\x48\x89\x03", 3);           /* mov [rbx], rax */
            put("\xff\x13", 2);               /* call [rbx] */
            put("\x90\x90\x90\x90", 4);
            put("\x58", 1); /* pop rax */
        } else {
            put("\x48\x8d\x05\x06\0\0\0", 7); /* lea rax, [rip + 6] */
            put("\x50", 1);                   /* push rax */
            put("\xff\x24\x24", 3);           /* jmp [rsp] */
            put("\x90\x90", 2);
            put("\x58", 1);
        }
        break;
    }
    case 6: /* jmp over one */
        put("\xe9\0\0\0\0", 5);
        from = out_at;
        put_random();
        {
            int32_t distance = (int32_t)(out_at - from);
            memcpy(from - 4, &distance, 4);
        }
        break;
    default:                        /* frames */
        put("\x55", 1);             /* push rbp */
        put("\x48\x89\xe5", 3);     /* mov rbp, rsp */
        put("\x48\x83\xec\x20", 4); /* sub rsp, 32 */
        put("\x48\x89\x45\xf8", 4); /* mov [rbp - 8], rax */
        put("\x48\x8b\x0c\x24", 4); /* mov rcx, [rsp] */
        put("\xc9", 1);             /* leave */
        break;
    }
}

static void make_initial(void)
{
    driver *d = &the_driver;
    for (int i = 0; i < DATA_BYTES; i += 8) {
        uint64_t word = (uint64_t)pick(1u << 31) << 33 ^ pick(1u << 31);
        memcpy(d->initial + i, &word, 8);
    }
    memset(d->frame, 0, sizeof d->frame);
    d->frame[0] = 0x7f, d->frame[1] = 3; /* x87: all exceptions masked */
    d->frame[24] = 0x80, d->frame[25] = 0x1f;
    d->frame[28] = 0xff, d->frame[29] = 0xff; /* mask of mxcsr */
    for (int i = 160; i < 416; i++) d->frame[i] = (unsigned char)pick(256);
    for (int i = 576; i < 832; i++) d->frame[i] = (unsigned char)pick(256);
    for (int i = 0; i < 4; i++) { /* xmm15, ymm15: small, as indices of gathers */
        int32_t small = (int32_t)pick(600) - 300;
        memcpy(d->frame + 160 + 240 + 4 * i, &small, 4);
        memcpy(d->frame + 576 + 240 + 4 * i, &small, 4);
    }
    for (int i = 0; i < 2; i++) { /* xmm14, ymm14: the same with 64 bits */
        int64_t small = (int64_t)pick(600) - 300;
        memcpy(d->frame + 160 + 224 + 8 * i, &small, 8);
        memcpy(d->frame + 576 + 224 + 8 * i, &small, 8);
    }
    uint64_t middle = (uint64_t)d->data + DATA_BYTES / 2;
    for (int i = 0; i <= REG_RIP; i++)
        d->registers[i] = (greg_t)((uint64_t)pick(1u << 31) << 31 ^ pick(1u << 31));
    d->registers[REG_RBX] = (greg_t)(middle + pick(64));
    d->registers[REG_RSI] = d->registers[REG_R12] = (greg_t)(middle - 8192 + pick(64));
    d->registers[REG_RDI] = d->registers[REG_RBX];
    d->registers[REG_RBP] = (greg_t)(middle + 4096 + 8 * pick(8));
    d->registers[REG_RSP] = (greg_t)(middle + 16384);
    d->registers[REG_R13] = (greg_t)pick(200);
    d->registers[REG_R14] = (greg_t)((int64_t)pick(100) - 50);
    if (r15_is_base) d->registers[REG_R15] = (greg_t)(middle - 4096);
    d->registers[REG_EFL] = 0x202 | (greg_t)(pick(1u << 12) & 0x8d5);
    d->registers[REG_RIP] = (greg_t)d->code_address;
}

/* Taken several at a time they are what they are one by one. */
static const char *compare_taken(void)
{
    const driver *d = &the_driver;
    burst_reader one, many;
    burst_use use, taken[7];
    size_t count;
    burst_reader_begin(&one, d->table, d->table_bytes, d->log, d->result.words, d->result.fs_base,
                       d->result.gs_base);
    many = one;
    while ((count = burst_reader_take(&many, taken, 1 + d->result.words % 7)) > 0)
        for (size_t i = 0; i < count; i++) {
            if (burst_reader_next(&one, &use) != BURST_READ_USE)
                return "more accesses are taken than there are";
            if (use.address != taken[i].address || use.size != taken[i].size || use.kind != taken[i].kind ||
                use.instruction != taken[i].instruction || use.branch != taken[i].branch ||
                use.entry != taken[i].entry)
                return "another access is taken than the next";
        }
    return burst_reader_next(&one, &use) == BURST_READ_USE ? "fewer accesses are taken than there are" : NULL;
}

/* Looked for by words, or by number, they are found where one by one shows them. */
static const char *compare_sought(void)
{
    const driver *d = &the_driver;
    burst_reader one, sought;
    burst_use use, found;
    burst_reader_begin(&one, d->table, d->table_bytes, d->log, d->result.words, d->result.fs_base,
                       d->result.gs_base);
    sought = one;
    for (uint64_t seed = 1;; seed = seed * 0x2545F4914F6CDD1Du + 1) {
        const uint64_t pass = (seed >> 36) % 4, most = seed >> 63 ? 1000 : (seed >> 32) % 5 * 3;
        uint64_t passed = 0, ahead = most, word = (seed + 1) >> 40;
        burst_reader copy = one;
        for (uint64_t i = (seed >> 50) % 40; i > 0 && burst_reader_next(&copy, &use) == BURST_READ_USE; i--)
            word = use.address & ~UINT64_C(7); /* of one of the next */
        bool more = true;
        for (uint64_t i = 0; i < pass && more; i++) more = burst_reader_next(&one, &use) == BURST_READ_USE;
        if (burst_reader_pass(&sought, pass) != more) return "another number of accesses is passed over";
        if (!more) return NULL;
        const bool seen = burst_reader_seek(&sought, word, &ahead, &found);
        bool wanted = false;
        while (!wanted && more && passed < most) {
            more = burst_reader_next(&one, &use) == BURST_READ_USE;
            wanted = more && use.address <= word + 7 && use.address + use.size > word;
            passed += more;
        }
        if (wanted != seen) return "an access that is looked for is not found";
        if (passed != most - ahead) return "another number of accesses is looked at";
        if (!more) return NULL;
        if (wanted &&
            (use.address != found.address || use.size != found.size || use.kind != found.kind ||
             use.instruction != found.instruction || use.branch != found.branch || use.entry != found.entry))
            return "another access is found than the one that is looked for";
    }
}

/* The log's accesses are the judge's. */
static const char *compare_uses(void)
{
    static char text[200];
    driver *d = &the_driver;
    burst_reader reader;
    burst_use use;
    burst_reading reading;
    uint32_t at = 0;
    burst_reader_begin(&reader, d->table, d->table_bytes, d->log, d->result.words, d->result.fs_base,
                       d->result.gs_base);
    while ((reading = burst_reader_next(&reader, &use)) == BURST_READ_USE) {
        if (at == judged_count) return "the log has more accesses than there were";
        const burst_use *right = &judged[at++];
        if (use.address != right->address || use.size != right->size || use.kind != right->kind ||
            use.instruction != right->instruction) {
            snprintf(text, sizeof text,
                     "access %u is %d of %u at %llx by %llx, should be %d of %u at %llx by %llx", at - 1,
                     use.kind, use.size, (unsigned long long)use.address, (unsigned long long)use.instruction,
                     right->kind, right->size, (unsigned long long)right->address,
                     (unsigned long long)right->instruction);
            return text;
        }
    }
    if (reading == BURST_READ_DAMAGED) return "the log is damaged";
    if (at != judged_count) return "the log has fewer accesses than there were";
    const char *wrong = compare_taken();
    return wrong ? wrong : compare_sought();
}

static ending native, other;

static void show(uint64_t number, const char *what, const char *why)
{
    driver *d = &the_driver;
    fprintf(stderr, "sequence %llu, %s: %s\n", (unsigned long long)number, what, why);
    ZydisFormatter formatter;
    ZydisFormatterInit(&formatter, ZYDIS_FORMATTER_STYLE_INTEL);
    for (unsigned char *at = d->code; at < out_at;) {
        ZydisDecodedInstruction in;
        ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
        char text[128] = "?";
        uint64_t address = (uint64_t)(d->code_address + (at - d->code));
        if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, at, 15, &in, operands))) break;
        ZydisFormatterFormatInstruction(&formatter, &in, operands, in.operand_count_visible, text,
                                        sizeof text, address, NULL);
        fprintf(stderr, "  %llx  %s\n", (unsigned long long)address, text);
        at += in.length;
    }
}

static bool one_sequence(uint64_t number, uint64_t seed)
{
    driver *d = &the_driver;
    random_state = (number + 1) * 0x9E3779B97F4A7C15u + seed;
    pick(2);
    r15_is_base = pick(2);
    out_at = d->code;
    for (uint32_t i = 4 + pick(16); i > 0; i--) pick(5) == 0 ? put_branch() : put_random();
    uint64_t end = here();
    put("\xcc", 1);
    make_initial();
    judged_count = 0;
    before_rip = undeclared = 0;
    d->stepping = true;
    d->on_step = on_step;
    driver_run(&native, end);
    d->stepping = false;
    if (native.signal < 0) return true; /* an overwritten return address led back */
    driver_run(&native, end);           /* again: steps show in the flags that are pushed */
    if (native.signal == 0 && native.registers[REG_RIP] != (greg_t)end)
        return true; /* not a sequence that ends there */
    const char *why = NULL, *what = "log";
    uint64_t counted = 0;
    if (undeclared) {
        fprintf(stderr, "instruction %llx\n", (unsigned long long)undeclared);
        why = "an instruction changes registers that the decoder does not know of";
    }
    for (int turn = 0; turn < 3 && !why; turn++) { /* new code, known code, counting */
        d->mode = turn < 2 ? BURST_LOG : BURST_COUNT;
        what = turn == 0 ? "log" : turn == 1 ? "log, known code" : "count";
        driver_run(&other, 0);
        burst_end right = native.signal ? BURST_END_FAULT : BURST_END_INSTRUCTION;
        /* A fault shows flags that are dead, and may come in the middle of what the log has. */
        greg_t flags = native.signal ? 0x400 : 0xcd5;
        if (d->burst_ended == BURST_END_MEMORY && native.signal == SIGSEGV)
            right = BURST_END_MEMORY; /* a wild jump */
        if (d->burst_ended != right)
            why = "another end";
        else
            why = driver_differ(&native, &other, flags);
        if (!why && d->mode == BURST_LOG && !native.signal) why = compare_uses();
        if (!why && turn > 0 && !native.signal && d->result.accesses != counted)
            why = "not as many accesses as before";
        counted = d->result.accesses;
        if (!why && !native.signal && turn == 1 && d->result.fresh) why = "known code was translated again";
        if (why && d->burst_ended != right)
            fprintf(stderr, "ended by %d at %llx, native signal %d at %llx\n", d->burst_ended,
                    other.registers[REG_RIP], native.signal, native.registers[REG_RIP]);
    }
    burst_invalidate(d->state, (uint64_t)d->code_address, (uint64_t)d->code_address + CODE_BYTES - 1);
    burst_reset(d->state, d->table, d->table_bytes);
    if (!why) return true;
    show(number, what, why);
    return false;
}

static uint64_t number_of(const char *name, uint64_t without)
{
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 0) : without;
}

static void sequences_at(void *place)
{
    driver_begin(place);
    uint64_t count = number_of("FATHOM_TEST_TRACES", 500), only = number_of("FATHOM_TEST_ONLY", UINT64_MAX);
    uint64_t seed = number_of("FATHOM_TEST_SEED", 1), failed = 0, faults = 0;
    for (uint64_t i = 0; i < count && failed < 5; i++) {
        if (only != UINT64_MAX && i != only) continue;
        if (!one_sequence(i, seed)) failed++;
        if (native.signal) faults++;
    }
    driver_end();
    assert_int_equal(failed, 0);
    assert_true(faults < count / 2 || only != UINT64_MAX);
}

/* Near the translated code: displacements relative to rip can be changed. */
CASE(test_near)
{
    sequences_at(NULL);
}

/* Too far from it, as a program that is not position-independent is. */
CASE(test_far)
{
    sequences_at((void *)0x20000000);
}

BEFORE_CASES
{
    if (!__builtin_cpu_supports("avx2")) {
        printf("SKIP: no AVX2 here\n");
        return 0;
    }
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    return -1;
}
