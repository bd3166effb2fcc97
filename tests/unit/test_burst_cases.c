/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_burst_cases.c - single instructions and situations in bursts: what is logged of each, where bursts
 * end, code that changes. Judges: lists written by hand, and the processor.
 */
#include "case.h"

#include <Zydis/Zydis.h>
#include <stdbool.h>
#include <stdint.h>

#include "burst_driver.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "collect/sample/burst_state.h"

/* Code between two labels; what follows it is an int3. */
#define CODE(name, text)                                                                                     \
    __asm__(".pushsection .text\n" #name ":\n" text "\n" #name "_end: int3\n.popsection\n");                 \
    extern const unsigned char name[], name##_end[];

/* rbx, rdi: the middle of the data; rsi, r12: 8192 below; rbp: 4096 above; rsp: 16384 above; r13 is 3, r14 is
 * -2. */
typedef struct expected {
    burst_kind kind;
    uint32_t size;
    int32_t offset; /* from the middle */
} expected;

static ending native, other;

static uint64_t middle(void)
{
    return (uint64_t)the_driver.data + DATA_BYTES / 2;
}

static void initial(void)
{
    driver *d = &the_driver;
    for (int i = 0; i < DATA_BYTES; i++) d->initial[i] = (unsigned char)(i * 7 + i / 256);
    memset(d->frame, 0, sizeof d->frame);
    d->frame[0] = 0x7f, d->frame[1] = 3;
    d->frame[24] = 0x80, d->frame[25] = 0x1f;
    d->frame[28] = 0xff, d->frame[29] = 0xff;
    for (int i = 0; i <= REG_RIP; i++) d->registers[i] = 0x1000 + i;
    d->registers[REG_RBX] = d->registers[REG_RDI] = (greg_t)middle();
    d->registers[REG_RSI] = d->registers[REG_R12] = (greg_t)middle() - 8192;
    d->registers[REG_RBP] = (greg_t)middle() + 4096;
    d->registers[REG_RSP] = (greg_t)middle() + 16384;
    d->registers[REG_R13] = 3;
    d->registers[REG_R14] = -2;
    d->registers[REG_EFL] = 0x202;
    d->registers[REG_RIP] = (greg_t)d->code_address;
}

/* Puts code into the file; returns the address of its int3. */
static uint64_t place_code(const unsigned char *begin, const unsigned char *end)
{
    driver *d = &the_driver;
    memcpy(d->code, begin, (size_t)(end - begin) + 1);
    initial();
    return (uint64_t)d->code_address + (uint64_t)(end - begin);
}

static burst_end run_burst(burst_mode mode)
{
    the_driver.mode = mode;
    driver_run(&other, 0);
    return the_driver.burst_ended;
}

/* Runs it natively and in both modes; all must be equal, and the log as expected. */
static void check(const char *name, const unsigned char *begin, const unsigned char *end,
                  const expected *list, uint32_t count)
{
    driver *d = &the_driver;
    uint64_t stop = place_code(begin, end);
    driver_run(&native, stop);
    assert_int_equal(native.signal, 0);
    for (burst_mode mode = BURST_LOG; mode <= BURST_COUNT; mode++) {
        assert_int_equal(run_burst(mode), BURST_END_INSTRUCTION);
        const char *why = driver_differ(&native, &other, 0xcd5);
        if (why) fail_msg("%s, mode %d: %s", name, mode, why);
        if (mode == BURST_COUNT) break;
        burst_reader reader;
        burst_use use;
        burst_reader_begin(&reader, d->table, d->table_bytes, d->log, d->result.words, d->result.fs_base,
                           d->result.gs_base);
        for (uint32_t i = 0; i < count; i++) {
            assert_int_equal(burst_reader_next(&reader, &use), BURST_READ_USE);
            if (use.kind != list[i].kind || use.size != list[i].size ||
                use.address != middle() + (uint64_t)(int64_t)list[i].offset)
                fail_msg("%s, access %u: %d of %u at %lld", name, i, use.kind, use.size,
                         (long long)(use.address - middle()));
        }
        if (burst_reader_next(&reader, &use) != BURST_READ_END)
            fail_msg("%s: more accesses than expected", name);
    }
    burst_reset(d->state, d->table, d->table_bytes);
}

#define L BURST_LOAD
#define S BURST_STORE
#define CHECK(name, ...)                                                                                     \
    check(#name, name, name##_end, (const expected[]){__VA_ARGS__},                                          \
          sizeof((const expected[]){__VA_ARGS__}) / sizeof(expected))
#define CHECK_NONE(name) check(#name, name, name##_end, NULL, 0)

CODE(
    case_sizes,
    "movb 1(%rbx),%al; movw 2(%rbx),%cx; movl 4(%rbx,%r13,8),%edx; movq (%rbx,%r14,4),%r8; movq %r8,16(%rsi)")
CODE(case_modify,
     "incq (%rbx); lock xaddl %eax,8(%rbx); lock cmpxchg16b -4096(%rbp); xchgb %al,3(%rdi); notw (%rsi)")
CODE(case_stack, "push %rax; push 8(%rbx); push (%rsp); pop 16(%rbx); pop %rcx; pop 8(%rsp); call 1f; 1: pop "
                 "%rdx; pushfq; popq %r9; pushw %ax; popw %cx")
CODE(case_frame, "push %rbp; mov %rsp,%rbp; sub $64,%rsp; mov %rax,-8(%rbp); mov 8(%rsp),%rcx; leave; mov "
                 "(%rsp),%rdx; mov (%rbp),%r8")
CODE(case_calls, "call 2f; jmp 3f; 2: mov (%rbx),%rax; ret; 3: lea 4f(%rip),%rax; mov %rax,(%rbx); call "
                 "*(%rbx); jmp 5f; 4: ret $8; 5: push %rax")
CODE(case_rep_movsb, "mov $5,%ecx; rep movsb")
CODE(case_rep_back, "std; mov $3,%ecx; rep stosq; cld")
CODE(case_rep_none, "xor %ecx,%ecx; rep movsq; mov $1,%ecx; repe cmpsb")
CODE(case_scan, "movb $9,2(%rdi); mov $9,%eax; mov $100,%ecx; repne scasb")
CODE(case_compare, "mov $2,%ecx; movq (%rsi),%rax; movq %rax,(%rdi); repe cmpsl")
CODE(case_string, "movsb; movsq; lodsw; stosl; scasb; cmpsb")
CODE(case_xlat, "mov $0x1ff,%eax; xlat; mov $7,%eax; xlat")
CODE(case_bits, "mov $-9,%rax; btq %rax,(%rbx); mov $100,%ecx; btsl %ecx,(%rbx); btcw $3,(%rsi); mov "
                "$17,%r15; btr %r15,(%rsi)")
CODE(case_nothing, "lea (%rbx,%rax),%rcx; nopw 8(%rax); prefetcht0 (%rbx); prefetchw (%rbx); clflush (%rbx); "
                   "endbr64; pause; mfence; nop")
CODE(case_x87, "fninit; fldl (%rbx); fldt 16(%rbx); fstpt 32(%rbx); fstps (%rsi); fildq 8(%rsi); fistpl "
               "(%rdi); fnstcw 4(%rdi)")
CODE(case_sse, "movups (%rbx),%xmm1; movss (%rsi),%xmm15; movsd %xmm15,(%rdi); movhps 8(%rbx),%xmm2; pinsrw "
               "$1,6(%rbx),%xmm3; pextrb $1,%xmm1,(%rdi); stmxcsr 24(%rbx); pmovzxbq (%rsi),%xmm4")
CODE(case_mask_bytes, "movups (%rbx),%xmm1; maskmovdqu %xmm1,%xmm1")
CODE(case_fxsave, "and $-16,%rbx; fxsave (%rbx); fxrstor (%rbx)")
CODE(case_r15, "mov %rbx,%r15; mov 8(%r15),%rax; add $16,%r15; mov (%r15,%r13,2),%rcx; mov %r15,(%r15); lea "
               "8(%r15),%r15; push (%r15); pop %r15")
CODE(case_short, "mov %ebx,%eax; movl (%eax),%ecx; movl 4(%eax,%r13d,4),%ecx")
CODE(case_gather,
     "vpcmpeqd %ymm2,%ymm2,%ymm2; vpxor %ymm1,%ymm1,%ymm1; vpgatherdd %ymm2,8(%rbx,%ymm1,4),%ymm3; vpxor "
     "%ymm2,%ymm2,%ymm2; vpgatherqq %ymm2,(%rbx,%ymm1,8),%ymm3; vzeroupper")
CODE(case_masked, "vpcmpeqd %xmm2,%xmm2,%xmm2; vpsrldq $8,%xmm2,%xmm2; vmaskmovps (%rbx),%xmm2,%xmm3; "
                  "vpmaskmovq %xmm3,%xmm2,(%rsi); vmaskmovpd (%rbx),%ymm2,%ymm3")
CODE(case_loop, "mov $3,%ecx; 6: mov (%rbx,%rcx,8),%rax; loop 6b; jrcxz 7f; push %rax; 7: nop")
CODE(case_flags_alive, "stc; jmp 8f; 8: mov (%rbx),%rax; adc %rax,8(%rbx); mov 16(%rbx),%rcx; jmp 9f; 9: sbb "
                       "%rdx,%rdx; setc (%rsi)")

CASE(test_accesses)
{
    driver_begin((void *)0x20000000);
    CHECK(case_sizes, {L, 1, 1}, {L, 2, 2}, {L, 4, 28}, {L, 8, -8}, {S, 8, -8176});
    CHECK(case_modify, {L, 8, 0}, {S, 8, 0}, {L, 4, 8}, {S, 4, 8}, {L, 16, 0}, {S, 16, 0}, {L, 1, 3},
          {S, 1, 3}, {L, 2, -8192}, {S, 2, -8192});
    CHECK(case_stack, {S, 8, 16376}, {L, 8, 8}, {S, 8, 16368}, {L, 8, 16368}, {S, 8, 16360}, {L, 8, 16360},
          {S, 8, 16}, {L, 8, 16368}, {L, 8, 16376}, {S, 8, 16392}, {S, 8, 16376}, {L, 8, 16376},
          {S, 8, 16376}, {L, 8, 16376}, {S, 2, 16382}, {L, 2, 16382});
    CHECK(case_frame, {S, 8, 16376}, {S, 8, 16368}, {L, 8, 16320}, {L, 8, 16376}, {L, 8, 16384},
          {L, 8, 4096});
    CHECK(case_calls, {S, 8, 16376}, {L, 8, 0}, {L, 8, 16376}, {S, 8, 0}, {L, 8, 0}, {S, 8, 16376},
          {L, 8, 16376}, {S, 8, 16384});
    CHECK(case_rep_movsb, {L, 1, -8192}, {S, 1, 0}, {L, 1, -8191}, {S, 1, 1}, {L, 1, -8190}, {S, 1, 2},
          {L, 1, -8189}, {S, 1, 3}, {L, 1, -8188}, {S, 1, 4});
    CHECK(case_rep_back, {S, 8, 0}, {S, 8, -8}, {S, 8, -16});
    CHECK(case_rep_none, {L, 1, 0}, {L, 1, -8192});
    CHECK(case_scan, {S, 1, 2}, {L, 1, 0}, {L, 1, 1}, {L, 1, 2});
    CHECK(case_compare, {L, 8, -8192}, {S, 8, 0}, {L, 4, 0}, {L, 4, -8192}, {L, 4, 4}, {L, 4, -8188});
    CHECK(case_string, {L, 1, -8192}, {S, 1, 0}, {L, 8, -8191}, {S, 8, 1}, {L, 2, -8183}, {S, 4, 9},
          {L, 1, 13}, {L, 1, 14}, {L, 1, -8181});
    CHECK(case_xlat, {L, 1, 255}, {L, 1, 7});
    CHECK(case_bits, {L, 1, -2}, {L, 1, 12}, {S, 1, 12}, {L, 2, -8192}, {S, 2, -8192}, {L, 1, -8190},
          {S, 1, -8190});
    CHECK_NONE(case_nothing);
    CHECK(case_x87, {L, 8, 0}, {L, 10, 16}, {S, 10, 32}, {S, 4, -8192}, {L, 8, -8184}, {S, 4, 0}, {S, 2, 4});
    CHECK(case_sse, {L, 16, 0}, {L, 4, -8192}, {S, 8, 0}, {L, 8, 8}, {L, 2, 6}, {S, 1, 0}, {S, 4, 24},
          {L, 2, -8192});
    CHECK(case_mask_bytes, {L, 16, 0}, {L, 16, 0}, {S, 16, 0});
    CHECK(case_fxsave, {S, 512, 0}, {L, 512, 0});
    CHECK(case_r15, {L, 8, 8}, {L, 8, 22}, {S, 8, 16}, {L, 8, 24}, {S, 8, 16376}, {L, 8, 16376});
    CHECK(case_short, {L, 4, 0}, {L, 4, 16});
    CHECK(case_loop, {L, 8, 24}, {L, 8, 16}, {L, 8, 8});
    CHECK(case_flags_alive, {L, 8, 0}, {L, 8, 8}, {S, 8, 8}, {L, 8, 16}, {S, 1, -8192});
    if (__builtin_cpu_supports("avx2")) {
        CHECK(case_gather, {L, 4, 8}, {L, 4, 8}, {L, 4, 8}, {L, 4, 8}, {L, 4, 8}, {L, 4, 8}, {L, 4, 8},
              {L, 4, 8});
        CHECK(case_masked, {L, 4, 0}, {L, 4, 4}, {S, 8, -8192}, {L, 8, 0});
    }
    driver_end();
}

CODE(end_enter, "mov (%rbx),%rax; enter $16,$0")
CODE(end_ud2, "mov (%rbx),%rax; ud2")
CODE(end_hlt, "mov (%rbx),%rax; hlt")
CODE(end_in, "mov (%rbx),%rax; in %dx,%al")
CODE(end_popf, "mov (%rbx),%rax; popfq")
CODE(end_segment, "mov (%rbx),%rax; mov %eax,%gs")
CODE(end_xbegin, "mov (%rbx),%rax; .byte 0xc7,0xf8,0,0,0,0")
CODE(end_far, "mov (%rbx),%rax; lretq")
CODE(end_unknown, "mov (%rbx),%rax; .byte 0x0f,0x04")

/* The burst ends before what it does not run: after the load, which is three bytes long. */
CASE(test_ends_before)
{
    driver_begin(NULL);
    const unsigned char *const all[][2] = {
        {end_enter, end_enter_end},   {end_ud2, end_ud2_end},   {end_hlt, end_hlt_end},
        {end_in, end_in_end},         {end_popf, end_popf_end}, {end_segment, end_segment_end},
        {end_xbegin, end_xbegin_end}, {end_far, end_far_end},   {end_unknown, end_unknown_end}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        place_code(all[i][0], all[i][1]);
        assert_int_equal(run_burst(BURST_LOG), BURST_END_INSTRUCTION);
        assert_int_equal(other.registers[REG_RIP], (greg_t)the_driver.code_address + 3);
        assert_int_equal(the_driver.result.accesses, 1);
    }
    driver_end();
}

CODE(call_getpid, "mov $39,%eax; syscall; mov %rax,(%rbx)")
CODE(call_read, "xor %eax,%eax; syscall")

CASE(test_system_calls)
{
    driver *d = &the_driver;
    driver_begin(NULL);
    uint64_t stop = place_code(call_getpid, call_getpid_end);
    assert_int_equal(run_burst(BURST_LOG), BURST_END_INSTRUCTION);
    assert_int_equal(other.registers[REG_RIP], stop);
    assert_int_equal(other.registers[REG_RAX], getpid());
    assert_int_equal(other.registers[REG_RCX], d->code_address + 7); /* as the instruction leaves it */
    /* A pipe: it would wait. */
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    place_code(call_read, call_read_end);
    d->registers[REG_RDI] = ends[0];
    assert_int_equal(run_burst(BURST_LOG), BURST_END_SYSTEM_CALL);
    assert_int_equal(other.registers[REG_RIP], d->code_address + 2);
    /* A file: it is read. */
    int file = open("/proc/self/exe", O_RDONLY);
    place_code(call_read, call_read_end);
    d->registers[REG_RDI] = file;
    d->registers[REG_RSI] = (greg_t)middle();
    d->registers[REG_RDX] = 4;
    assert_int_equal(run_burst(BURST_LOG), BURST_END_INSTRUCTION);
    assert_int_equal(other.registers[REG_RAX], 4);
    assert_memory_equal(other.data + DATA_BYTES / 2, "\177ELF", 4);
    close(file), close(ends[0]), close(ends[1]);
    driver_end();
}

CODE(wait_for_ever, "1: jmp 1b")
CODE(wait_indirect, "lea 1f(%rip),%rax; 1: jmp *%rax")
CODE(spin, "1: mov (%rbx),%rax; test %rax,%rax; jne 1b")
CODE(spin_alive, "stc; 1: mov (%rbx),%rax; jmp 1b")
CODE(spin_rep, "1: xor %ecx,%ecx; rep movsb; jmp 1b")
CODE(to_nowhere, "mov $0x1000,%eax; jmp *%rax")
CODE(to_vsyscall, "mov $0xffffffffff600000,%rax; jmp *%rax")
CODE(call_without_stack, "mov $0x1234,%eax; xor %esp,%esp; call *(%rbx)")
CODE(divide, "mov (%rbx),%r15; xor %ecx,%ecx; xor %edx,%edx; div %rcx")

CASE(test_limits)
{
    driver *d = &the_driver;
    driver_begin(NULL);
    for (burst_mode mode = BURST_LOG; mode <= BURST_COUNT; mode++) {
        d->most = 1000;
        place_code(wait_for_ever, wait_for_ever_end);
        assert_int_equal(run_burst(mode), BURST_END_IDLE);
        assert_int_equal(other.registers[REG_RIP], d->code_address);
        place_code(wait_indirect, wait_indirect_end);
        assert_int_equal(run_burst(mode), BURST_END_IDLE);
        place_code(spin, spin_end);
        assert_int_equal(run_burst(mode), BURST_END_DONE);
        assert_in_range(d->result.accesses, 999, 1001);
        place_code(spin_alive, spin_alive_end);
        assert_int_equal(run_burst(mode), BURST_END_DONE);
        assert_in_range(d->result.accesses, 999, 1001);
        place_code(to_nowhere, to_nowhere_end);
        assert_int_equal(run_burst(mode), BURST_END_MEMORY);
        assert_int_equal(other.registers[REG_RIP], 0x1000);
        place_code(to_vsyscall, to_vsyscall_end);
        assert_int_equal(run_burst(mode), BURST_END_MEMORY);
        /* The return address cannot be stored when the target is known already. */
        place_code(call_without_stack, call_without_stack_end);
        assert_int_equal(run_burst(mode), BURST_END_FAULT);
        assert_int_equal(other.registers[REG_RIP],
                         d->code_address + (call_without_stack_end - call_without_stack) - 2);
        assert_int_equal(other.registers[REG_RAX], 0x1234);
        assert_int_equal(other.registers[REG_RSP], 0);
        place_code(divide, divide_end);
        assert_int_equal(run_burst(mode), BURST_END_FAULT);
        assert_int_equal(other.registers[REG_RIP], d->code_address + (divide_end - divide) - 3);
        assert_int_equal(other.registers[REG_R15], *(int64_t *)(d->initial + DATA_BYTES / 2));
        d->registers[REG_EFL] |= 0x100;
        assert_int_equal(run_burst(mode), BURST_END_CONTEXT);
    }
    d->log_words = 1024;
    place_code(spin, spin_end);
    assert_int_equal(run_burst(BURST_LOG), BURST_END_LOG_FULL);
    assert_true(d->result.words > 700 && d->result.words <= 1024);
    place_code(spin_rep, spin_rep_end); /* no access at all, but words */
    assert_int_equal(run_burst(BURST_LOG), BURST_END_LOG_FULL);
    assert_true(d->result.words <= 1024);
    d->log_words = 1 << 16;
    burst_reset(d->state, d->table, 4096); /* a small table fills */
    for (int i = 0; i < 200; i++)
        memcpy(d->code + 10 * i, "\x48\x8b\x03\xe9\x02\0\0\0\x90\x90", 10); /* load; jmp */
    d->code[2000] = 0xcc;
    initial();
    assert_int_equal(run_burst(BURST_LOG), BURST_END_FULL);
    uint64_t done = (uint64_t)(other.registers[REG_RIP] - (greg_t)d->code_address);
    assert_true(done > 0 && done < 2000 && done % 10 == 0);
    assert_int_equal(d->result.accesses, done / 10);
    driver_end();
}

CODE(old_code, "mov $1,%eax; mov (%rbx),%rcx")
CODE(new_code, "mov $2,%eax; mov 8(%rbx),%rcx")
/* Overwrites the constant of the next instruction: what is executed is the new one. */
CODE(changes_itself, "movb $7,1f+1(%rip); 1: mov $1,%eax; nop")

CASE(test_changed_code)
{
    driver *d = &the_driver;
    driver_begin(NULL);
    place_code(old_code, old_code_end);
    run_burst(BURST_LOG);
    assert_int_equal(other.registers[REG_RAX], 1);
    place_code(new_code, new_code_end); /* of a file, between bursts */
    run_burst(BURST_LOG);
    assert_int_equal(other.registers[REG_RAX], 2);
    assert_true(d->result.fresh > 0);
    run_burst(BURST_LOG);
    assert_int_equal(d->result.fresh, 0);

    unsigned char *page =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(page, changes_itself, (size_t)(changes_itself_end - changes_itself) + 1);
    initial();
    d->registers[REG_RIP] = (greg_t)page;
    assert_int_equal(run_burst(BURST_LOG), BURST_END_INSTRUCTION);
    assert_int_equal(other.registers[REG_RAX], 7);
    /* Code without a file that cannot be written here: it changes by way of another mapping. */
    mprotect(page, 4096, PROT_READ | PROT_WRITE);
    memcpy(page, old_code, (size_t)(old_code_end - old_code) + 1);
    mprotect(page, 4096, PROT_READ | PROT_EXEC);
    burst_invalidate(d->state, (uint64_t)page, (uint64_t)page + 4095);
    run_burst(BURST_LOG);
    assert_int_equal(other.registers[REG_RAX], 1);
    mprotect(page, 4096, PROT_READ | PROT_WRITE);
    memcpy(page, new_code, (size_t)(new_code_end - new_code) + 1);
    mprotect(page, 4096, PROT_READ | PROT_EXEC);
    run_burst(BURST_LOG);
    assert_int_equal(other.registers[REG_RAX], 2);
    munmap(page, 4096);
    assert_int_equal(run_burst(BURST_LOG), BURST_END_MEMORY);
    /* Code of a file that is not there any more, while other code runs: it is compared, and that faults. */
    place_code(old_code, old_code_end);
    run_burst(BURST_LOG);
    uint64_t gone = (uint64_t)d->code_address;
    int file = open("/proc/self/exe", O_RDONLY);
    assert_ptr_not_equal(mmap((void *)gone, CODE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_FIXED, file, 0),
                         MAP_FAILED);
    close(file);
    d->registers[REG_RIP] = (greg_t)old_code;
    assert_int_equal(run_burst(BURST_LOG), BURST_END_INSTRUCTION);
    assert_int_equal(other.registers[REG_RIP], old_code_end);
    driver_end();
}

CASE(test_segments)
{
    driver *d = &the_driver;
    driver_begin(NULL);
    static const unsigned char code[] = {0x64, 0x48, 0x8b, 0x04, 0x25, 0, 0, 0, 0, /* mov rax, fs:0 */ 0xcc};
    memcpy(d->code, code, sizeof code);
    initial();
    assert_int_equal(run_burst(BURST_LOG), BURST_END_INSTRUCTION);
    burst_reader reader;
    burst_use use;
    burst_reader_begin(&reader, d->table, d->table_bytes, d->log, d->result.words, d->result.fs_base,
                       d->result.gs_base);
    assert_int_equal(burst_reader_next(&reader, &use), BURST_READ_USE);
    assert_int_equal(use.address,
                     other.registers[REG_RAX]); /* the thread's block begins with its own address */
    driver_end();
}

/* Under a mask of bits, elements side by side are one access; where signs count, or where they lie apart,
 * not.
 */
CASE(test_masks)
{
    static uint64_t table[64];
    enum { HEADER = sizeof(burst_table) / 8, MOST = 4 };
    static const struct {
        uint8_t size, count, flags;
        uint64_t mask;
        struct {
            uint32_t offset, size;
        } uses[MOST]; /* size 0: no more */
    } cases[] = {
        {1, 64, BURST_MASK_BITS, 0x3ff, {{0, 10}}},
        {1, 64, BURST_MASK_BITS, UINT64_MAX, {{0, 64}}},
        {1, 64, BURST_MASK_BITS, 0, {{0, 0}}},
        {1,
         32,
         BURST_MASK_BITS,
         0xff000000ff00f0f0,
         {{4, 4}, {12, 4}, {24, 8}}}, /* above 32 there are none */
        {4, 16, BURST_MASK_BITS, 0x8007, {{0, 12}, {60, 4}}},
        {8, 8, BURST_MASK_BITS | BURST_COMPRESSED, 0xa9, {{0, 32}}},
        {4, 2, 0, 0x8000000080000000, {{0, 4}, {4, 4}}},
        {4, 2, 0, 0x8000000000000000, {{4, 4}}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        burst_block *block = (void *)(table + HEADER);
        const uint64_t log[] = {HEADER, 0x10000, cases[i].mask};
        burst_reader reader;
        burst_use use;
        memset(table, 0, sizeof table);
        *block = (burst_block){.address = 0x400000, .bytes = 8, .words = 2, .accesses = 1, .instructions = 1};
        block->access[0] = (burst_access){.form_kind = BURST_MASKED << 4 | BURST_LOAD,
                                          .size = cases[i].size,
                                          .base = 0,
                                          .index = BURST_NO_WORD,
                                          .scale_flags = cases[i].flags,
                                          .vector = {.addend = 8, .mask = 1, .count = cases[i].count}};
        burst_reader_begin(&reader, table, sizeof table, log, 3, 0, 0);
        for (size_t k = 0; k < MOST && cases[i].uses[k].size; k++) {
            assert_int_equal(burst_reader_next(&reader, &use), BURST_READ_USE);
            assert_int_equal(use.address, 0x10008 + cases[i].uses[k].offset);
            assert_int_equal(use.size, cases[i].uses[k].size);
        }
        assert_int_equal(burst_reader_next(&reader, &use), BURST_READ_END);
    }
}

/* The reader of logs believes nothing. */
CASE(test_damaged_log)
{
    static uint64_t table[64], log[16];
    burst_reader reader;
    burst_use use;
    uint64_t random = 1;
    for (int i = 0; i < 200000; i++) {
        for (int k = 0; k < 80; k++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            uint64_t word = random >> (random >> 58);
            if (k < 64)
                table[k] = word;
            else
                log[k - 64] = random >> 40 & 1 ? word : word & 63;
        }
        burst_reader_begin(&reader, table, sizeof table, log, 16, 0, 0);
        for (int uses = 0; uses < 1000 && burst_reader_next(&reader, &use) == BURST_READ_USE; uses++)
            assert_true(reader.at <= 16);
    }
}

/* What is kept of Zydis's words is what Zydis says, for the code of this program and of libc. */
static void decode_file(const char *name)
{
    int file = open(name, O_RDONLY);
    if (file < 0) return;
    struct stat status;
    fstat(file, &status);
    const unsigned char *all = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    close(file);
    assert_ptr_not_equal(all, MAP_FAILED);
    const Elf64_Ehdr *header = (const void *)all;
    const Elf64_Shdr *sections = (const void *)(all + header->e_shoff);
    for (int i = 0; i < header->e_shnum; i++) {
        if (sections[i].sh_type != SHT_PROGBITS || !(sections[i].sh_flags & SHF_EXECINSTR)) continue;
        const unsigned char *at = all + sections[i].sh_offset, *end = at + sections[i].sh_size;
        while (at < end) {
            burst_instruction a, b;
            burst_decode(&a, NULL, at, (uint64_t)at, (size_t)(end - at));
            burst_decode_anew(&b, NULL, at, (uint64_t)at, (size_t)(end - at));
            bool same = a.shape.group == b.shape.group;
            if (same && a.shape.group != BURST_STOP)
                same = a.length == b.length && a.memory == b.memory && a.relative == b.relative &&
                       a.base == b.base && a.index == b.index &&
                       (a.index == BURST_NO_REGISTER || a.scale == b.scale) &&
                       a.displacement == b.displacement && a.segment == b.segment && a.wide == b.wide &&
                       a.modrm_at == b.modrm_at && a.rex_at == b.rex_at && a.vex_at == b.vex_at &&
                       a.vex == b.vex && a.displacement_at == b.displacement_at &&
                       a.shape.kind == b.shape.kind && a.shape.size == b.shape.size &&
                       a.shape.stack == b.shape.stack && a.shape.flags == b.shape.flags &&
                       a.shape.string == b.shape.string && a.writes == b.writes &&
                       (b.reads & ~a.reads) == 0 && a.opcode == b.opcode &&
                       (a.shape.group == BURST_ORDINARY || a.immediate == b.immediate);
            if (!same) fail_msg("%s: instruction at %zx of section %d", name, (size_t)(at - all), i);
            at += b.shape.group == BURST_STOP && !b.length ? 1 : b.length;
        }
    }
    munmap((void *)all, (size_t)status.st_size);
}

CASE(test_decoder)
{
    decode_file("/proc/self/exe");
    decode_file("/lib/x86_64-linux-gnu/libc.so.6");
}

CODE(wide_gather, "vpgatherdd 8(%rbx,%zmm17,4),%zmm3{%k3}; vpscatterqq %zmm9,(%rbx,%zmm8,8){%k1}")
CODE(wide_masked, "vmovdqu8 (%rsi),%zmm20{%k5}{z}; vmovups %zmm2,64(%rdi){%k2}; vaddpd "
                  "8(%rbx){1to8},%zmm1,%zmm2{%k1}; vpcompressd %zmm3,(%rdi){%k4}; "
                  "vmovdqu64 64(%rbx),%zmm31")

/* AVX-512, which this machine may not have: what is said of its accesses, and what the translated code
 * stores. */
static void wide_code(const unsigned char *begin, const unsigned char *end, const burst_access *right,
                      uint32_t count, const char *const *stores)
{
    driver *d = &the_driver;
    place_code(begin, end);
    const burst_code *code = burst_translate(d->state, BURST_LOG, (uint64_t)d->code_address);
    assert_non_null(code);
    const burst_block *block = (const void *)((char *)d->table + sizeof(burst_table));
    assert_int_equal(block->accesses, count);
    for (uint32_t i = 0; i < count; i++) {
        const burst_access *one = &block->access[i];
        assert_int_equal(one->form_kind, right[i].form_kind);
        assert_int_equal(one->size, right[i].size);
        assert_int_equal(one->scale_flags, right[i].scale_flags);
        if (one->form_kind >> 4 != BURST_PLAIN) {
            assert_int_equal(one->vector.count, right[i].vector.count);
            assert_int_equal(one->vector.addend, right[i].vector.addend);
        } else {
            assert_int_equal(one->addend, right[i].addend);
        }
    }
    /* The stores are there, in this order, as Zydis reads them. */
    ZydisDecoder decoder;
    ZydisFormatter formatter;
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    ZydisFormatterInit(&formatter, ZYDIS_FORMATTER_STYLE_INTEL);
    const unsigned char *at = (const unsigned char *)d->state + code->code,
                        *behind = (const unsigned char *)d->state + code->code_end;
    while (at < behind && *stores) {
        ZydisDecodedInstruction in;
        ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
        char line[128];
        assert_true(ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, at, 15, &in, operands)));
        ZydisFormatterFormatInstruction(&formatter, &in, operands, in.operand_count_visible, line,
                                        sizeof line, 0, NULL);
        if (!strcmp(line, *stores)) stores++;
        at += in.length;
    }
    if (*stores) fail_msg("no %s", *stores);
    burst_reset(d->state, d->table, d->table_bytes);
}

CASE(test_wide_vectors)
{
    driver_begin(NULL);
    const burst_access gathers[] = {{.form_kind = BURST_GATHER << 4 | BURST_LOAD,
                                     .size = 4,
                                     .scale_flags = 2 << 6 | BURST_MASK_BITS,
                                     .vector = {.count = 16, .addend = 8}},
                                    {.form_kind = BURST_GATHER << 4 | BURST_STORE,
                                     .size = 8,
                                     .scale_flags = 3 << 6 | BURST_MASK_BITS,
                                     .vector = {.count = 8}}};
    /* Words: the block's number, rbx, 8 of indices, the mask; 8 of indices, the mask. */
    const char *const gather_stores[] = {"mov [r15+0x08], rbx",
                                         "vmovdqu64 zmmword ptr [r15+0x10], zmm17",
                                         "mov qword ptr [r15+0x50], 0x00",
                                         "kmovw word ptr [r15+0x50], k3",
                                         "vmovdqu64 zmmword ptr [r15+0x58], zmm8",
                                         "kmovw word ptr [r15+0x98], k1",
                                         NULL};
    wide_code(wide_gather, wide_gather_end, gathers, 2, gather_stores);
    const burst_access masked[] = {{.form_kind = BURST_MASKED << 4 | BURST_LOAD,
                                    .size = 1,
                                    .scale_flags = BURST_MASK_BITS,
                                    .vector = {.count = 64}},
                                   {.form_kind = BURST_MASKED << 4 | BURST_STORE,
                                    .size = 4,
                                    .scale_flags = BURST_MASK_BITS,
                                    .vector = {.count = 16, .addend = 64}},
                                   {.form_kind = BURST_PLAIN << 4 | BURST_LOAD, .size = 8, .addend = 8},
                                   {.form_kind = BURST_MASKED << 4 | BURST_STORE,
                                    .size = 4,
                                    .scale_flags = BURST_MASK_BITS | BURST_COMPRESSED,
                                    .vector = {.count = 16}},
                                   {.form_kind = BURST_PLAIN << 4 | BURST_LOAD, .size = 64, .addend = 64}};
    const char *const masked_stores[] = {"kmovq [r15+0x10], k5", "kmovw word ptr [r15+0x20], k2",
                                         "kmovw word ptr [r15+0x30], k4", NULL};
    wide_code(wide_masked, wide_masked_end, masked, 5, masked_stores);
    driver_end();
}
