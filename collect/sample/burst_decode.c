/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * burst_decode.c - parses prefixes, modrm and displacement, and looks up what Zydis said of this shape before
 * (burst_shape.c asks it). Prefixes and encodings that are rare go to Zydis each time.
 */
#include "burst_state.h"

enum {
    SHAPES = 4096, /* a power of two; a program uses some hundreds */
    BUSY = 1,      /* of a key: it is being written */
    KEY_VALID = 1u << 31,
    PREFIX_66 = 1,
    PREFIX_F3 = 2,
    PREFIX_F2 = 4,
    MAP_0F = 1,
    MAP_0F38 = 2,
    MAP_0F3A = 3,
    REX_W = 8,
    REX_R = 4,
    REX_X = 2,
    REX_B = 1,
};

/* Shared by all threads. A key is written last; nothing is ever changed or removed. */
static burst_shape shapes[SHAPES];

/* One bit for each opcode: those with modrm. */
static const uint32_t modrm_one[8] = {0x0f0f0f0f, 0x0f0f0f0f, 0,          0x00000a08,
                                      0x0000ffff, 0,          0xff0f00c3, 0xc0c00000};
static const uint32_t modrm_0f[8] = {0xffffa00f, 0x0000ff0f, 0xffffffff, 0xff7fffff,
                                     0xffff0000, 0xfffff8f8, 0xffff00ff, 0xffffffff};
/* Those whose meaning depends on modrm.reg. */
static const uint32_t reg_one[8] = {0, 0, 0, 0, 0x0000d00f, 0, 0xff0f00c3, 0xc0c00000};
static const uint32_t reg_0f[8] = {0xff002003, 0x0000000f, 0, 0x000e0000, 0, 0x06004000, 0x00000080, 0};

static bool bit_of(const uint32_t *bits, uint8_t opcode)
{
    return bits[opcode >> 5] >> (opcode & 31) & 1;
}

static int64_t signed_at(const unsigned char *bytes, uint32_t size)
{
    if (size == 1) return (int8_t)bytes[0];
    if (size == 2) return (int16_t)(bytes[0] | bytes[1] << 8);
    return (int32_t)((uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
                     (uint32_t)bytes[3] << 24);
}

/* Parses modrm, sib and displacement at `at`; returns where they end, 0: too few bytes. */
static size_t parse_modrm(burst_instruction *in, size_t at, size_t room, uint32_t rex)
{
    const unsigned char *bytes = in->bytes;
    if (at >= room) return 0;
    in->modrm_at = (uint8_t)at;
    uint8_t modrm = in->modrm = bytes[at++];
    in->reg = (uint8_t)((modrm >> 3 & 7) | (rex & REX_R ? 8 : 0));
    uint8_t mod = modrm >> 6, rm = modrm & 7;
    if (mod == 3) {
        in->rm = (uint8_t)(rm | (rex & REX_B ? 8 : 0));
        return at;
    }
    in->memory = true;
    size_t displacement = mod == 1 ? 1 : mod == 2 ? 4 : 0;
    if (rm == 4) {
        if (at >= room) return 0;
        uint8_t sib = bytes[at++];
        uint8_t index = (uint8_t)((sib >> 3 & 7) | (rex & REX_X ? 8 : 0));
        if (index != 4) in->index = index, in->scale = sib >> 6;
        if ((sib & 7) == 5 && mod == 0)
            displacement = 4;
        else
            in->base = (uint8_t)((sib & 7) | (rex & REX_B ? 8 : 0));
    } else if (rm == 5 && mod == 0) {
        in->relative = true;
        in->displacement_at = (uint8_t)at;
        displacement = 4;
    } else {
        in->base = (uint8_t)(rm | (rex & REX_B ? 8 : 0));
    }
    if (at + displacement > room) return 0;
    if (displacement) in->displacement = signed_at(bytes + at, (uint32_t)displacement);
    return at + displacement;
}

static uint16_t register_bit(uint32_t number)
{
    return number < 16 ? (uint16_t)(1u << number) : 0;
}

/* A register in a field; of one byte without REX, 4 to 7 are ah to bh. */
static uint16_t field_bits(uint32_t number, bool byte, bool rex)
{
    return register_bit(byte && !rex && number >= 4 && number < 8 ? number - 4 : number);
}

/* Which registers it uses, of its shape and its fields. */
static void count_registers(burst_instruction *in, bool rex, uint8_t vvvv)
{
    const burst_shape *shape = &in->shape;
    uint8_t roles = shape->roles;
    uint16_t reads = shape->reads, writes = shape->writes;
    if (in->modrm_at) {
        uint16_t reg = field_bits(in->reg, roles & BURST_REG_BYTE, rex);
        reads |= reg;
        if (roles & BURST_REG_WRITTEN) writes |= reg;
        if (in->modrm >> 6 == 3) {
            uint16_t rm = field_bits(in->rm, roles & BURST_RM_BYTE, rex);
            reads |= rm;
            if (roles & BURST_RM_WRITTEN) writes |= rm;
        }
    }
    if (roles & BURST_OPCODE_REGISTER) {
        uint16_t low = field_bits(in->rm, roles & BURST_RM_BYTE, rex);
        reads |= low;
        if (roles & BURST_OPCODE_WRITTEN) writes |= low;
    }
    if (in->vex) {
        reads |= register_bit(vvvv);
        if (roles & BURST_VVVV_WRITTEN) writes |= register_bit(vvvv);
    }
    if (in->base != BURST_NO_REGISTER) reads |= register_bit(in->base);
    if (in->index != BURST_NO_REGISTER) reads |= register_bit(in->index);
    in->reads = reads;
    in->writes = writes;
    in->uses_r15 = ((reads | writes) & register_bit(BURST_R15)) != 0;
}

static void find_target(burst_instruction *in)
{
    uint32_t size = in->shape.immediate;
    const unsigned char *at = in->bytes + in->length - size;
    uint64_t next = in->address + in->length;
    if (in->relative) in->displacement = (int64_t)(next + (uint64_t)in->displacement);
    switch (in->shape.group) {
    case BURST_JUMP:
    case BURST_JUMP_IF:
    case BURST_JUMP_RCX:
    case BURST_CALL:
        if (size != 1 && size != 4)
            in->shape.group = BURST_STOP;
        else
            in->immediate = (int64_t)(next + (uint64_t)signed_at(at, size));
        break;
    case BURST_RETURN:
        in->immediate = size == 2 ? at[0] | at[1] << 8 : 0;
        break;
    default:
        if (size == 1 || size == 4) in->immediate = signed_at(at, size);
        break;
    }
}

static burst_shape *find_shape(uint32_t key, burst_shape **empty)
{
    *empty = NULL;
    for (uint32_t i = 0, at = key * 0x9E3779B1u >> 20; i < 64; i++, at++) {
        burst_shape *shape = &shapes[at & (SHAPES - 1)];
        uint32_t found = __atomic_load_n(&shape->key, __ATOMIC_ACQUIRE);
        if (found == key) return shape;
        if (found == 0) {
            *empty = shape;
            return NULL;
        }
    }
    return NULL;
}

static void keep_shape(burst_shape *empty, uint32_t key, const burst_shape *shape)
{
    uint32_t none = 0;
    if (!__atomic_compare_exchange_n(&empty->key, &none, BUSY, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        return;
    empty->size = shape->size;
    empty->reads = shape->reads;
    empty->writes = shape->writes;
    empty->group = shape->group;
    empty->kind = shape->kind;
    empty->roles = shape->roles;
    empty->flags = shape->flags;
    empty->immediate = shape->immediate;
    empty->stack = shape->stack;
    empty->string = shape->string;
    __atomic_store_n(&empty->key, key, __ATOMIC_RELEASE);
}

static void instruction_clear(burst_instruction *in, const unsigned char *bytes, uint64_t address)
{
    in->bytes = bytes;
    in->address = address;
    in->length = in->opcode = in->modrm_at = in->modrm = in->displacement_at = in->vex_at = 0;
    in->vex = in->memory = in->relative = in->wide = in->uses_r15 = in->short_address = false;
    in->segment = 0;
    in->base = in->index = BURST_NO_REGISTER;
    in->scale = in->reg = in->rm = 0;
    in->displacement = in->immediate = 0;
    in->reads = in->writes = 0;
    in->index_register = in->mask_register = in->rex_at = BURST_NO_REGISTER;
    in->index_bytes = in->index_size = in->mask_size = in->count = 0;
    in->compressed = false;
    in->shape.group = BURST_STOP;
    in->shape.key = 0;
}

void burst_decode_anew(burst_instruction *in, const burst_vectors *vectors, const unsigned char *bytes,
                       uint64_t address, size_t room)
{
    instruction_clear(in, bytes, address);
    if (room > 15) room = 15;
    burst_shape_ask(in, vectors, room);
    if (in->shape.group != BURST_STOP) find_target(in);
}

void burst_decode(burst_instruction *in, const burst_vectors *vectors, const unsigned char *bytes,
                  uint64_t address, size_t room)
{
    instruction_clear(in, bytes, address);
    if (room > 15) room = 15;
    uint32_t prefixes = 0, rex = 0, map = 0, longer = 0;
    uint8_t vvvv = 0;
    bool has_rex = false;
    size_t at = 0;
    for (; at < room; at++) {
        uint8_t byte = bytes[at];
        if (byte == 0x66)
            prefixes |= PREFIX_66;
        else if (byte == 0xf3)
            prefixes = (prefixes & ~(uint32_t)PREFIX_F2) | PREFIX_F3;
        else if (byte == 0xf2)
            prefixes = (prefixes & ~(uint32_t)PREFIX_F3) | PREFIX_F2;
        else if (byte == 0x64)
            in->segment = BURST_FS;
        else if (byte == 0x65)
            in->segment = BURST_GS;
        else if (byte == 0x2e || byte == 0x36 || byte == 0x3e || byte == 0x26 || byte == 0xf0)
            continue;
        else if (byte == 0x67)
            goto rare;
        else
            break;
    }
    if (at < room && (bytes[at] & 0xf0) == 0x40) {
        has_rex = true;
        in->rex_at = (uint8_t)at;
        rex = bytes[at++] & 15;
    }
    if (at >= room) return;
    uint8_t opcode = bytes[at++];
    if (opcode == 0x0f) {
        if (at >= room) return;
        map = MAP_0F;
        opcode = bytes[at++];
        if (opcode == 0x0f) goto rare; /* 3DNow!: what it is comes last */
        if (opcode == 0x38 || opcode == 0x3a) {
            if (at >= room) return;
            map = opcode == 0x38 ? MAP_0F38 : MAP_0F3A;
            opcode = bytes[at++];
        }
    } else if (opcode == 0xc5 || opcode == 0xc4) {
        if (has_rex || prefixes || at + 3 >= room) goto rare;
        in->vex = true;
        in->vex_at = (uint8_t)(at - 1);
        uint8_t first = bytes[at++];
        uint8_t last = first;
        map = MAP_0F;
        if (!(first & 0x80)) rex |= REX_R;
        if (opcode == 0xc4) {
            if (!(first & 0x40)) rex |= REX_X;
            if (!(first & 0x20)) rex |= REX_B;
            map = first & 31;
            if (map < 1 || map > 3) goto rare;
            last = bytes[at++];
            if (last & 0x80) rex |= REX_W;
        }
        vvvv = (uint8_t)(~last >> 3 & 15);
        longer = last >> 2 & 1;
        static const uint8_t implied[4] = {0, PREFIX_66, PREFIX_F3, PREFIX_F2};
        prefixes = implied[last & 3];
        opcode = bytes[at++];
    } else if (opcode == 0x62 || opcode == 0x8f || (opcode & 0xf0) == 0x40 ||
               (opcode >= 0xa0 && opcode <= 0xa3) || opcode == 0x66 || opcode == 0xf2 || opcode == 0xf3 ||
               opcode == 0x67 || opcode == 0xf0 || opcode == 0x64 || opcode == 0x65 || opcode == 0x2e ||
               opcode == 0x36 || opcode == 0x3e || opcode == 0x26) {
        goto rare;
    }
    in->opcode = opcode;
    in->wide = (rex & REX_W) != 0 && !in->vex;
    uint32_t key = KEY_VALID | opcode | map << 8 | (in->vex ? 1u << 11 : 0) | longer << 12 | prefixes << 13 |
                   (rex & REX_W ? 1u << 16 : 0);
    bool modrm = in->vex   ? map != MAP_0F || opcode != 0x77
                 : map > 1 ? true
                           : bit_of(map ? modrm_0f : modrm_one, opcode);
    if (modrm) {
        at = parse_modrm(in, at, room, rex);
        if (!at) return;
        bool registers = in->modrm >> 6 == 3;
        if (registers) key |= 1u << 17;
        bool group = in->vex   ? map == MAP_0F38
                                     ? opcode == 0xf3
                                     : map == MAP_0F && (opcode == 0xae || (opcode >= 0x71 && opcode <= 0x73))
                       : map > 1 ? map == MAP_0F38 && opcode >= 0xd0
                               : bit_of(map ? reg_0f : reg_one, opcode);
        if (group) {
            key |= (in->modrm >> 3 & 7u) << 18;
            if (registers &&
                (map ? opcode <= 0x1f || opcode == 0xae || opcode == 0xc7 : opcode >= 0xd8 && opcode <= 0xdf))
                key |= (in->modrm & 7u) << 22 | 1u << 25;
        }
    } else {
        in->rm = (uint8_t)((opcode & 7) | (rex & REX_B ? 8 : 0));
        if (opcode == 0x90 && map == 0 && rex & REX_B) key |= 1u << 21;
    }
    burst_shape *empty;
    const burst_shape *known = find_shape(key, &empty);
    if (!known) {
        burst_instruction asked;
        instruction_clear(&asked, bytes, address);
        burst_shape_ask(&asked, vectors, room);
        if (asked.shape.group == BURST_STOP || asked.shape.group == BURST_VECTOR || asked.length < at ||
            (asked.modrm_at != 0) != modrm) {
            *in = asked;
            if (in->shape.group != BURST_STOP) find_target(in);
            return;
        }
        asked.shape.immediate = (uint8_t)(asked.length - at);
        in->shape = asked.shape;
        if (empty) keep_shape(empty, key, &asked.shape);
    } else {
        in->shape = *known;
    }
    if (at + in->shape.immediate > room) {
        in->shape.group = BURST_STOP;
        return;
    }
    in->length = (uint8_t)(at + in->shape.immediate);
    count_registers(in, has_rex, vvvv);
    find_target(in);
    return;
rare:
    burst_decode_anew(in, vectors, bytes, address, room);
}
