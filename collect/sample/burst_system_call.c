/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * burst_system_call.c - which system calls of the program are made while a burst runs: those that neither
 * wait for anybody, nor depend on blocked signals or raise any, nor change threads, signals or code. Signals
 * from outside are blocked meanwhile, so that a call that waits could not be interrupted.
 */
#include "burst_state.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* Arguments, as general registers are numbered. */
enum { FIRST = BURST_RDI, SECOND = BURST_RSI, THIRD = BURST_RDX, FOURTH = 10 };

static bool is_regular(uint64_t file)
{
    struct stat status;
    return burst_kernel(SYS_fstat, file, (uint64_t)&status, 0, 0, 0, 0) == 0 && S_ISREG(status.st_mode);
}

/* Above the limit, SIGXFSZ would come. */
static bool may_grow_files(void)
{
    struct rlimit limit;
    return burst_kernel(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, (uint64_t)&limit, 0, 0) == 0 &&
           limit.rlim_cur == RLIM_INFINITY;
}

static bool has_code(const burst *state, uint64_t first, uint64_t bytes)
{
    for (uint32_t i = 0; i < state->ranges_used; i++)
        if (first < state->ranges[i].behind && state->ranges[i].first < first + bytes) return true;
    return false;
}

bool burst_call_allowed(const burst *state)
{
    const uint64_t *registers = state->registers;
    switch (registers[BURST_RAX]) {
    case SYS_getpid:
    case SYS_gettid:
    case SYS_getppid:
    case SYS_getuid:
    case SYS_geteuid:
    case SYS_getgid:
    case SYS_getegid:
    case SYS_clock_gettime:
    case SYS_clock_getres:
    case SYS_gettimeofday:
    case SYS_time:
    case SYS_times:
    case SYS_getrusage:
    case SYS_getcpu:
    case SYS_sysinfo:
    case SYS_uname:
    case SYS_process_vm_readv:
    case SYS_lseek:
    case SYS_fstat:
    case SYS_stat:
    case SYS_lstat:
    case SYS_newfstatat:
    case SYS_statx:
    case SYS_access:
    case SYS_faccessat:
    case SYS_readlink:
    case SYS_readlinkat:
    case SYS_getcwd:
    case SYS_sched_getaffinity:
    case SYS_sched_yield:
    case SYS_brk:
    case SYS_madvise:
    case SYS_getrlimit:
    case SYS_umask:
    case SYS_dup:
        return true;
    case SYS_prlimit64:
        return registers[THIRD] == 0;
    case SYS_fcntl:
        return registers[SECOND] == F_GETFD || registers[SECOND] == F_SETFD || registers[SECOND] == F_GETFL;
    case SYS_read:
    case SYS_pread64:
    case SYS_readv:
        return is_regular(registers[FIRST]);
    case SYS_write:
    case SYS_pwrite64:
    case SYS_writev:
        return is_regular(registers[FIRST]) && may_grow_files();
    case SYS_mmap:
        return !(registers[THIRD] & PROT_EXEC) && !(registers[FOURTH] & (MAP_FIXED | MAP_GROWSDOWN));
    case SYS_munmap:
        return !has_code(state, registers[FIRST], registers[SECOND]);
    case SYS_futex:
        return (registers[SECOND] & (uint64_t)FUTEX_CMD_MASK) == FUTEX_WAKE;
    default:
        return false;
    }
}

/*
 * ==== restartable sequences ====
 *
 * Restartable sequences (rseq(2)): code that the kernel makes begin anew when its thread is
 * preempted in it, which it knows by the instruction pointer. Translated code lies elsewhere, and would not
 * be protected. So bursts end before the instruction that names such a sequence: the program executes it
 * itself.
 *
 * A sequence is described by a struct rseq_cs, to whose address a pointer in the thread's memory is set just
 * before it begins. The address has to come from somewhere: an instruction with it as a constant, or relative
 * to rip. That one is looked for in what is translated, and just before where a burst begins. What it points
 * to is such a struct if the kernel's signature stands before its abort handler.
 */

enum {
    SIGNATURE = 0x53053053,
    ALIGNMENT = 32,
    LENGTH_MOST = 1 << 20,
    FLAGS_MOST = 7,
    LOWEST = 1 << 16,
    MOV_CONSTANT = 0xb8, /* opcodes */
    MOV_CONSTANT_LAST = 0xbf,
    STORE_CONSTANT = 0xc7,
};

typedef struct sequence { /* struct rseq_cs of linux/rseq.h */
    uint32_t version, flags;
    uint64_t begin, length, abort;
} sequence;

bool burst_is_sequence(uint64_t address)
{
    sequence found;
    uint32_t signature;
    if (address % ALIGNMENT || address < LOWEST || address >> 47) return false;
    if (burst_copy(&found, (const void *)address, sizeof found)) return false;
    if (found.version != 0 || found.flags > FLAGS_MOST || found.length == 0 || found.length > LENGTH_MOST ||
        found.begin < LOWEST || found.begin >> 47 || found.abort < LOWEST || found.abort >> 47)
        return false;
    return !burst_copy(&signature, (const void *)(found.abort - sizeof signature), sizeof signature) &&
           signature == SIGNATURE;
}

/* A constant can be the address of one only where the program lies as low as that. */
static bool is_near(uint64_t constant, uint64_t code)
{
    const uint64_t most = UINT64_C(1) << 28;
    return code >> 32 == 0 && (constant > code ? constant - code : code - constant) < most;
}

bool burst_names_sequence(const burst_instruction *in)
{
    if (in->shape.group != BURST_ORDINARY || in->vex) return false;
    if (in->relative && in->shape.kind == BURST_NO_ACCESS)
        return burst_is_sequence((uint64_t)in->displacement);
    if ((in->opcode >= MOV_CONSTANT && in->opcode <= MOV_CONSTANT_LAST) || in->opcode == STORE_CONSTANT) {
        const uint32_t bytes = in->shape.immediate;
        uint64_t constant = 0;
        if (bytes != 4 || in->length <= bytes) return false;
        __builtin_memcpy(&constant, in->bytes + in->length - bytes, bytes);
        return is_near(constant, in->address) && burst_is_sequence(constant);
    }
    return false;
}

bool burst_is_before_sequence(uint64_t address)
{
    enum { LEA_BYTES = 7, LEA = 0x8d, RELATIVE = 0x05, MOV_BYTES = 5 };
    unsigned char before[LEA_BYTES];
    int32_t number;
    if (burst_copy(before, (const void *)(address - LEA_BYTES), sizeof before)) return false;
    __builtin_memcpy(&number, before + LEA_BYTES - sizeof number, sizeof number);
    if ((before[0] & 0xf8) == 0x48 && before[1] == LEA && (before[2] & 0xc7) == RELATIVE)
        return burst_is_sequence(address + (uint64_t)(int64_t)number);
    return (before[LEA_BYTES - MOV_BYTES] & 0xf8) == MOV_CONSTANT && is_near((uint32_t)number, address) &&
           burst_is_sequence((uint32_t)number);
}

/*
 * ==== faults ====
 *
 * Faults in translated code: which instruction of the program it was, and what its registers
 * are. The fault's context becomes the program's, but goes on in the code that leaves the burst.
 */

static const burst_code *code_at(const burst *state, uint64_t place)
{
    uint64_t begin = (uint64_t)state;
    if (place < begin + state->code_begin || place >= begin + state->code_used) return NULL;
    uint32_t offset = (uint32_t)(place - begin);
    for (uint32_t i = 0; i < state->codes_used; i++) {
        const burst_code *code = &state->codes[i];
        if (code->code && offset >= code->code && offset < code->code_end) return code;
    }
    return NULL;
}

/* The mark of the instruction at an address in the code; its own address in *address. */
static const burst_mark *mark_at(const burst *state, const burst_code *code, uint64_t place,
                                 uint64_t *address)
{
    const burst_mark *marks = (const void *)((const unsigned char *)state + code->marks);
    uint64_t offset = place - (uint64_t)state - code->code;
    *address = code->address;
    for (uint32_t i = 0; i < code->instructions; i++) {
        if (offset < marks[i].behind) return &marks[i];
        *address += marks[i].length;
    }
    return NULL;
}

uint64_t burst_where(const burst *state, uint64_t place)
{
    uint64_t address;
    const burst_code *code = code_at(state, place);
    if (!code) return 0;
    mark_at(state, code, place, &address);
    return address;
}

static greg_t *register_at(ucontext_t *context, uint32_t number)
{
    static const uint8_t places[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                                       REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                       REG_R12, REG_R13, REG_R14, REG_R15};
    return &context->uc_mcontext.gregs[places[number]];
}

bool burst_fault(burst *state, ucontext_t *context)
{
    if (!state->running) return false;
    greg_t *registers = context->uc_mcontext.gregs;
    uint64_t place = (uint64_t)registers[REG_RIP];
    uint64_t absent = burst_memory_fault(place);
    if (absent) {
        registers[REG_RIP] = (greg_t)absent;
        return true;
    }
    uint64_t address;
    const burst_code *code = code_at(state, place);
    const burst_mark *mark = code ? mark_at(state, code, place, &address) : NULL;
    if (!mark) return false;
    if (mark->moved & BURST_SPILLED) *register_at(context, mark->moved >> 4) = (greg_t)state->spilled;
    if (mark->moved & BURST_RAX_SPILLED) registers[REG_RAX] = (greg_t)state->saved[0];
    if (!(mark->moved & BURST_R15_LOADED)) {
        state->cursor = (uint64_t)registers[REG_R15];
        registers[REG_R15] = (greg_t)state->program_r15;
    }
    if (code->mode == BURST_LOG)
        state->left += code->accesses;
    else
        state->cursor += code->accesses;
    state->jump_target = address;
    state->exit = BURST_EXIT_FAULT;
    registers[REG_RIP] = (greg_t)((uint64_t)state + state->stub_exit);
    return true;
}
