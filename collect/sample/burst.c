/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * burst.c - a thread's state from beginning to end, and the dispatcher: goes from block to block where
 * translated code cannot do so by itself, and links what it found.
 */
#include "burst.h"
#include "burst_state.h"

#include <cpuid.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>

/*
 * ==== stubs ====
 *
 * The code that each state has once: the way from C into translated code, the way back, and
 * the lookup of targets of indirect jumps.
 */

static const unsigned char push_all[] = {0x53, 0x55, 0x41, 0x54, 0x41, 0x55, 0x41, 0x56, 0x41, 0x57};
static const unsigned char pop_all_and_return[] = {0x41, 0x5f, 0x41, 0x5e, 0x41, 0x5d,
                                                   0x41, 0x5c, 0x5d, 0x5b, 0xc3};

/* A function of C's: keeps its registers, loads the program's, goes to enter_target. */
static void make_enter(burst_emitter *out)
{
    burst *state = out->state;
    emit_bytes(out, push_all, sizeof push_all);
    emit_save(out, &state->host_stack, BURST_RSP);
    emit_byte(out, 0xff), emit_byte(out, 0x35), emit_relative(out, &state->flags, 0); /* push [flags] */
    emit_byte(out, 0x9d);                                                             /* popfq */
    for (uint32_t i = 0; i < 16; i++) emit_restore(out, &state->registers[i], i);
    emit_byte(out, 0xff), emit_byte(out, 0x25), emit_relative(out, &state->enter_target, 0);
}

/* Keeps the program's registers, and returns from what make_enter made. */
static void make_exit(burst_emitter *out)
{
    burst *state = out->state;
    for (uint32_t i = 0; i < 16; i++) emit_save(out, &state->registers[i], i);
    emit_restore(out, &state->host_stack, BURST_RSP);
    emit_byte(out, 0x9c);                                                             /* pushfq */
    emit_byte(out, 0x8f), emit_byte(out, 0x05), emit_relative(out, &state->flags, 0); /* pop [flags] */
    emit_byte(out, 0xfc);                                                             /* cld */
    emit_bytes(out, pop_all_and_return, sizeof pop_all_and_return);
}

/*
 * rax is the target, the program's rax is in saved[0], state->exit says which block it was. Flags must stay:
 * additions are made by lea, the comparison by jrcxz. In BURST_COUNT it ends
 * the burst too, when there are enough accesses. The entry is number (lowest byte) + 8 * (next byte).
 */
static void make_lookup(burst_emitter *out, burst_mode mode)
{
    burst *state = out->state;
    static const unsigned char number[] = {
        0x0f, 0xb6, 0xc8,       /* movzx ecx, al */
        0x0f, 0xb6, 0xd4,       /* movzx edx, ah */
        0x8d, 0x14, 0xd1,       /* lea edx, [rcx + rdx*8] */
        0x48, 0x8d, 0x14, 0x12, /* lea rdx, [rdx + rdx] */
    };
    static const unsigned char compare[] = {
        0x48, 0x8d, 0x14, 0xd1, /* lea rdx, [rcx + rdx*8] */
        0x48, 0x8b, 0x0a,       /* mov rcx, [rdx] */
        0x48, 0x8d, 0x0c, 0x01, /* lea rcx, [rcx + rax] */
    };
    emit_save(out, &state->saved[1], BURST_RCX);
    emit_save(out, &state->saved[2], BURST_RDX);
    unsigned char *enough = NULL;
    if (mode == BURST_COUNT) {
        emit_save(out, &state->scratch, BURST_R15);
        emit_byte(out, 0x0f), emit_byte(out, 0xb6), emit_byte(out, 0x0d); /* movzx ecx, byte [scratch + 7] */
        emit_relative(out, (unsigned char *)&state->scratch + 7, 0);
        emit_byte(out, 0xe3), emit_byte(out, 5); /* jrcxz over the jump */
        emit_byte(out, 0xe9);
        enough = out->at;
        emit_32(out, 0);
    }
    emit_bytes(out, number, sizeof number);
    emit_byte(out, 0x48), emit_byte(out, 0x8d), emit_byte(out, 0x0d); /* lea rcx, [lookup] */
    emit_relative(out, state->lookup[mode], 0);
    emit_bytes(out, compare, sizeof compare);
    emit_byte(out, 0xe3); /* jrcxz found */
    unsigned char *hop = out->at;
    emit_byte(out, 0);
    if (enough) {
        uint32_t distance = (uint32_t)(out->at - (enough + 4));
        __builtin_memcpy(enough, &distance, 4);
    }
    emit_save(out, &state->jump_target, BURST_RAX);
    emit_restore(out, &state->saved[0], BURST_RAX);
    emit_restore(out, &state->saved[1], BURST_RCX);
    emit_restore(out, &state->saved[2], BURST_RDX);
    emit_jump(out, burst_at(state, state->stub_exit));
    *hop = (unsigned char)(out->at - hop - 1);
    emit_based(out, 0x8b, BURST_RDX, BURST_RDX, 8);
    emit_save(out, &state->jump_slot, BURST_RDX);
    emit_restore(out, &state->saved[0], BURST_RAX);
    emit_restore(out, &state->saved[1], BURST_RCX);
    emit_restore(out, &state->saved[2], BURST_RDX);
    emit_byte(out, 0xff), emit_byte(out, 0x25), emit_relative(out, &state->jump_slot, 0);
}

/* rax is a target that is met for the first time at this place: the dispatcher finds it. */
static void make_first(burst_emitter *out)
{
    burst *state = out->state;
    emit_save(out, &state->jump_target, BURST_RAX);
    emit_restore(out, &state->saved[0], BURST_RAX);
    emit_jump(out, burst_at(state, state->stub_exit));
}

static uint32_t stub_offset(const burst_emitter *out)
{
    return (uint32_t)(out->at - (unsigned char *)out->state);
}

void burst_make_stubs(burst *state)
{
    burst_emitter out = {.state = state, .at = burst_at(state, state->code_used)};
    state->stub_enter = stub_offset(&out);
    make_enter(&out);
    state->stub_exit = stub_offset(&out);
    make_exit(&out);
    state->stub_first = stub_offset(&out);
    make_first(&out);
    for (burst_mode mode = BURST_LOG; mode <= BURST_COUNT; mode++) {
        state->stub_lookup[mode] = stub_offset(&out);
        make_lookup(&out, mode);
    }
    state->code_used = (stub_offset(&out) + 63) / 64 * 64;
}

enum {
    FRAME_SOFTWARE = 464, /* of struct _fpx_sw_bytes in a frame's floating-point state */
    FRAME_MAGIC = 0x46505853,
    FLAG_TRAP = 0x100,
    FLAG_ALIGNMENT = 0x40000,
    FLAGS_PROGRAM = 0x200cd5, /* CF PF AF ZF SF DF OF ID */
    AREA_ALIGNMENT = 64,
    FEATURES_TILES = 3 << 17, /* of AMX: nothing here uses them */
};

size_t burst_bytes(void)
{
    return BURST_BYTES_LEAST;
}

/* Which parts of the vector state there are, and how long they are together; false: no XSAVE. */
static bool vector_state(uint64_t *mask, uint32_t *bytes)
{
    uint32_t a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE)) return false;
    if (!__get_cpuid_count(0xd, 0, &a, &b, &c, &d)) return false;
    uint32_t low, high;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    *mask = (((uint64_t)high << 32) | low) & ~(uint64_t)FEATURES_TILES;
    *bytes = b;
    return true;
}

/* Whether calls and returns are checked by a shadow stack: rdsspq does nothing where they are not. */
static bool has_shadow_stack(void)
{
    uint64_t pointer = 0;
    __asm__ volatile("rdsspq %0" : "+r"(pointer));
    return pointer != 0;
}

void burst_forget(burst *state)
{
    for (uint32_t i = 0; i <= state->heads_mask; i++) state->heads[i] = 0;
    for (uint32_t mode = 0; mode < BURST_MODES; mode++)
        for (uint32_t i = 0; i < BURST_LOOKUPS; i++) state->lookup[mode][i].negated = 0;
    burst_lines_forget(state);
    state->codes_used = 0;
    state->code_used = state->code_begin;
    burst_make_stubs(state);
}

void burst_reset(burst *state, void *table, size_t table_bytes)
{
    uint64_t resets = state->table == table ? state->table->resets + 1 : 0;
    state->table = table;
    state->table_bytes = table_bytes;
    state->table->resets = resets;
    __atomic_store_n(&state->table->used, sizeof *state->table, __ATOMIC_RELEASE);
    burst_forget(state);
}

burst *burst_create(void *table, size_t table_bytes)
{
    return burst_create_sized(table, table_bytes, BURST_BYTES_LEAST);
}

static uint64_t aligned_offset(uint64_t offset)
{
    return (offset + AREA_ALIGNMENT - 1) / AREA_ALIGNMENT * AREA_ALIGNMENT;
}

/* The largest one that is not larger. */
static uint64_t power_of_two(uint64_t number)
{
    return UINT64_C(1) << (63 - __builtin_clzll(number));
}

burst *burst_create_sized(void *table, size_t table_bytes, size_t bytes)
{
    uint64_t mask;
    uint32_t area;
    if (bytes < BURST_BYTES_LEAST || bytes > BURST_BYTES_MOST || bytes % BURST_PAGE) return NULL;
    if (table_bytes < sizeof(burst_table) || !vector_state(&mask, &area) || has_shadow_stack()) return NULL;
    uint64_t codes_at = aligned_offset(sizeof(burst));
    uint64_t codes_most = bytes / BURST_BLOCK_BYTES;
    uint64_t lines_at = aligned_offset(codes_at + codes_most * sizeof(burst_code));
    uint64_t lines_most = bytes / BURST_LINE_BYTES;
    uint64_t heads_at = aligned_offset(lines_at + lines_most * sizeof(burst_line));
    uint64_t heads = power_of_two(codes_most), line_heads = power_of_two(lines_most);
    uint64_t line_heads_at = heads_at + heads * sizeof(uint32_t);
    uint64_t area_at = aligned_offset(line_heads_at + line_heads * sizeof(uint32_t));
    uint64_t code_at = (area_at + area + BURST_PAGE - 1) / BURST_PAGE * BURST_PAGE;
    if (code_at + bytes / 4 > bytes) return NULL;
    int64_t place = burst_kernel(SYS_mmap, 0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                                 (uint64_t)-1, 0);
    if (place < 0 && place > -4096) return NULL;
    if (burst_kernel(SYS_mprotect, (uint64_t)place + code_at, bytes - code_at,
                     PROT_READ | PROT_WRITE | PROT_EXEC, 0, 0, 0) != 0) {
        burst_kernel(SYS_munmap, (uint64_t)place, bytes, 0, 0, 0, 0);
        return NULL;
    }
    burst *state = (burst *)place;
    state->vectors.area = (void *)((uint64_t)place + area_at);
    state->vectors.mask = mask;
    state->code_begin = (uint32_t)code_at;
    state->code_end = (uint32_t)bytes;
    state->codes = (void *)((uint64_t)place + codes_at);
    state->codes_most = (uint32_t)codes_most;
    state->lines = (void *)((uint64_t)place + lines_at);
    state->lines_most = (uint32_t)lines_most;
    state->heads = (void *)((uint64_t)place + heads_at);
    state->heads_mask = (uint32_t)heads - 1;
    state->line_heads = (void *)((uint64_t)place + line_heads_at);
    state->line_heads_mask = (uint32_t)line_heads - 1;
    state->bytes = bytes;
    state->gs_readable = (getauxval(AT_HWCAP2) & 2) != 0;
    burst_reset(state, table, table_bytes);
    return state;
}

void burst_destroy(burst *state)
{
    if (state) burst_kernel(SYS_munmap, (uint64_t)state, state->bytes, 0, 0, 0, 0);
}

void burst_goes_on(burst *state, bool goes_on)
{
    state->goes_on = goes_on;
}

bool burst_running(const burst *state)
{
    return state->running != 0;
}

static uint32_t *head_of(burst *state, burst_mode mode, uint64_t address)
{
    uint64_t mixed = (address + (uint64_t)mode) * UINT64_C(0x9E3779B97F4A7C15);
    return &state->heads[mixed >> 32 & state->heads_mask];
}

static burst_code *find_code(burst *state, burst_mode mode, uint64_t address)
{
    for (uint32_t number = *head_of(state, mode, address); number; number = state->codes[number - 1].next) {
        burst_code *code = &state->codes[number - 1];
        if (code->address == address && code->mode == mode && !code->dropped) return code;
    }
    return NULL;
}

static const unsigned char *copy_of(burst *state, const burst_code *code)
{
    return burst_at(state, code->marks) + code->instructions * sizeof(burst_mark);
}

/* Whether the program's code is what it was. */
static bool code_unchanged(burst *state, const burst_code *code)
{
    return !burst_compare(copy_of(state, code), (const void *)code->address, code->bytes);
}

/* Code of files is compared once for each burst, before the program's vector registers are loaded; what is
 * not found the same makes all of it doubtful. */
static void compare_code(burst *state)
{
    if (!burst_compare_lines(state->lines, state->lines_used)) return;
    state->ranges_used = 0;
    burst_forget(state);
}

void burst_invalidate(burst *state, uint64_t first, uint64_t last)
{
    for (uint32_t i = 0; i < state->ranges_used; i++)
        if (state->ranges[i].first <= last && state->ranges[i].behind > first) {
            state->ranges_used = 0;
            break;
        }
    bool touched = burst_lines_touch(state, first, last);
    for (uint32_t i = 0; i < state->codes_used && !touched; i++) {
        const burst_code *code = &state->codes[i];
        touched = code->address <= last && code->address + code->bytes > first;
    }
    if (touched) burst_forget(state);
}

/* The block at `address`, translated now where it has to be; NULL: no room. */
static burst_code *get_code(burst *state, burst_mode mode, uint64_t address)
{
    burst_code *code = find_code(state, mode, address);
    if (code && code->trust != BURST_TRUST_FILE && (!code->bytes || !code_unchanged(state, code))) {
        code->dropped = true;
        code = NULL;
    }
    if (code) return code;
    code = burst_translate(state, mode, address);
    if (!code) return NULL;
    uint32_t *head = head_of(state, mode, address);
    code->next = *head;
    *head = (uint32_t)(code - state->codes) + 1;
    return code;
}

static const burst_direct *exits_of(burst *state, const burst_code *code)
{
    return (const void *)burst_at(state, code->exits);
}

static void link_code(burst *state, const burst_code *from, uint32_t which, const burst_code *to)
{
    if (to->trust != BURST_TRUST_FILE) return;
    unsigned char *patch = burst_at(state, exits_of(state, from)[which].patch);
    uint32_t distance = (uint32_t)(burst_at(state, to->code) - (patch + 4));
    __builtin_memcpy(patch, &distance, 4);
}

static void remember_target(burst *state, burst_mode mode, const burst_code *to)
{
    if (to->trust != BURST_TRUST_FILE) return;
    burst_lookup *lookup = &state->lookup[mode][(to->address & 255) + 8 * (to->address >> 8 & 255)];
    lookup->negated = 0 - to->address;
    lookup->code = (uint64_t)burst_at(state, to->code);
}

/* The program's system call, and what it leaves in registers. */
static void make_call(burst *state, uint64_t next)
{
    uint64_t *registers = state->registers;
    registers[BURST_RAX] =
        (uint64_t)burst_kernel(registers[BURST_RAX], registers[BURST_RDI], registers[BURST_RSI],
                               registers[BURST_RDX], registers[10], registers[8], registers[9]);
    registers[BURST_RCX] = next;
    registers[11] = state->flags;
}

/* Whether an address is one that code can have: not above those of programs. */
static bool is_canonical(uint64_t address)
{
    return address >> 47 == 0 || address >> 47 == (1 << 17) - 1;
}

static uint64_t last_instruction(burst *state, const burst_code *code)
{
    const burst_mark *marks = (const void *)burst_at(state, code->marks);
    return code->address + code->bytes - marks[code->instructions - 1].length;
}

/* Goes on from *address until there is a reason to end, and says where then. */
static burst_end burst_dispatch(burst *state, burst_mode mode, uint64_t *address, burst_result *result)
{
    burst_code *from = NULL;
    uint32_t which = 0;
    bool indirect = false;
    burst_code *branch = NULL;
    for (;;) {
        burst_code *code = get_code(state, mode, *address);
        if (!code) return BURST_END_FULL;
        if (!code->code) {
            if (code->stop != BURST_END_SYSTEM_CALL) return (burst_end)code->stop;
            if (!burst_call_allowed(state)) {
                result->call = state->registers[BURST_RAX];
                return BURST_END_SYSTEM_CALL;
            }
            *address += code->bytes;
            make_call(state, *address);
            from = NULL;
            indirect = false;
            continue;
        }
        if (from) link_code(state, from, which, code);
        if (indirect) {
            remember_target(state, mode, code);
            if (branch) burst_guess_target(state, branch, code);
        }
        from = NULL;
        indirect = false;
        state->enter_target = (uint64_t)burst_at(state, code->code);
        state->entered++;
        ((void (*)(void))(uint64_t)burst_at(state, state->stub_enter))();
        burst_code *last = &state->codes[state->exit / BURST_EXITS];
        switch (state->exit % BURST_EXITS) {
        case BURST_EXIT_INDIRECT:
            indirect = true;
            branch = last;
            *address = state->jump_target;
            if (is_canonical(*address)) break;
            /* The branch itself faults. */
            state->registers[BURST_RSP] -= (uint64_t)(int64_t)last->popped;
            *address = last_instruction(state, last);
            return BURST_END_FAULT;
        case BURST_EXIT_HEAD:
            if (mode == BURST_LOG)
                state->left += last->accesses;
            else
                state->registers[BURST_R15] += last->accesses;
            *address = last->address;
            return BURST_END_DONE;
        case BURST_EXIT_IDLE:
            *address = last->address;
            return BURST_END_IDLE;
        case BURST_EXIT_LOG_FULL:
            *address = last->address;
            return BURST_END_LOG_FULL;
        case BURST_EXIT_FAULT:
            state->program_r15 = state->registers[BURST_R15];
            state->registers[BURST_R15] = state->cursor;
            *address = state->jump_target;
            return BURST_END_FAULT;
        default:
            from = last;
            which = state->exit % BURST_EXITS;
            *address = exits_of(state, last)[which].target;
            break;
        }
        if ((mode == BURST_LOG ? state->left : (int64_t)state->registers[BURST_R15]) <= 0)
            return BURST_END_DONE;
    }
}

static uint64_t fs_base(const burst *state)
{
    uint64_t base;
    if (state->gs_readable)
        __asm__ volatile("rdfsbase %0" : "=r"(base));
    else
        __asm__ volatile("mov %%fs:0, %0" : "=r"(base));
    return base;
}

static uint64_t gs_base(const burst *state)
{
    uint64_t base = 0;
    if (state->gs_readable) __asm__ volatile("rdgsbase %0" : "=r"(base));
    return base;
}

/* The parts of the vector state that a signal's frame has; 0: it is not one that can be used. */
static uint64_t frame_features(const ucontext_t *context)
{
    const unsigned char *frame = (const unsigned char *)context->uc_mcontext.fpregs;
    uint32_t magic;
    uint64_t features;
    if (!frame || (uint64_t)frame % AREA_ALIGNMENT) return 0;
    __builtin_memcpy(&magic, frame + FRAME_SOFTWARE, sizeof magic);
    __builtin_memcpy(&features, frame + FRAME_SOFTWARE + 8, sizeof features);
    return magic == FRAME_MAGIC ? features : 0;
}

static const uint8_t context_places[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                                           REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                           REG_R12, REG_R13, REG_R14, REG_R15};

burst_end burst_run(burst *state, ucontext_t *context, burst_mode mode, uint64_t most, uint64_t *log,
                    size_t log_words, burst_result *result)
{
    greg_t *registers = context->uc_mcontext.gregs;
    result->accesses = result->words = result->blocks = result->fresh = result->call = 0;
    result->fs_base = fs_base(state);
    result->gs_base = gs_base(state);
    uint64_t features = frame_features(context);
    if (!features || registers[REG_EFL] & (FLAG_TRAP | FLAG_ALIGNMENT)) return BURST_END_CONTEXT;
    if (mode == BURST_LOG && log_words <= BURST_WORDS_MOST + 1) return BURST_END_LOG_FULL;
    if (most > INT32_MAX) most = INT32_MAX;
    state->running = 1;
    if (!state->goes_on) compare_code(state);
    uint64_t address = (uint64_t)registers[REG_RIP];
    for (uint32_t i = 0; i < 16; i++) state->registers[i] = (uint64_t)registers[context_places[i]];
    state->program_r15 = state->registers[BURST_R15];
    state->registers[BURST_R15] = mode == BURST_LOG ? (uint64_t)log : most;
    state->log_limit = (uint64_t)(log + log_words - BURST_WORDS_MOST - 1);
    state->minus_log_limit = 0 - state->log_limit;
    state->flags = (uint64_t)registers[REG_EFL];
    state->mode = mode;
    state->most = most;
    state->left = (int64_t)most;
    state->idle = BURST_IDLE_MOST + (int64_t)most;
    state->fresh = state->entered = 0;
    uint32_t low = (uint32_t)features, high = (uint32_t)(features >> 32);
    __asm__ volatile("xrstor64 (%0)" : : "r"(context->uc_mcontext.fpregs), "a"(low), "d"(high) : "memory");
    burst_end end = burst_is_before_sequence(address) ? BURST_END_INSTRUCTION
                                                      : burst_dispatch(state, mode, &address, result);
    __asm__ volatile("xsave64 (%0)" : : "r"(context->uc_mcontext.fpregs), "a"(low), "d"(high) : "memory");
    if (mode == BURST_LOG)
        result->words = (uint64_t)((const uint64_t *)state->registers[BURST_R15] - log);
    else
        state->left = (int64_t)state->registers[BURST_R15];
    state->registers[BURST_R15] = state->program_r15;
    for (uint32_t i = 0; i < 16; i++) registers[context_places[i]] = (greg_t)state->registers[i];
    registers[REG_EFL] =
        (greg_t)(((uint64_t)registers[REG_EFL] & ~(uint64_t)FLAGS_PROGRAM) | (state->flags & FLAGS_PROGRAM));
    registers[REG_RIP] = (greg_t)address;
    result->accesses = (uint64_t)((int64_t)most - state->left);
    result->blocks = state->entered;
    result->fresh = state->fresh;
    state->running = 0;
    return end;
}
