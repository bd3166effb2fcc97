/* SPDX-License-Identifier: Apache-2.0 */
/*
 * burst_driver.h - runs pieces of machine code natively, step by step, and in bursts, from the same registers
 * and memory, and tells what each left behind. Code ends at an int3.
 */
#ifndef FATHOM_TEST_BURST_DRIVER_H
#define FATHOM_TEST_BURST_DRIVER_H

#include <assert.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "collect/sample/burst.h"

enum {
    DATA_BYTES = 1 << 16,
    CODE_BYTES = 1 << 16,
    FRAME_BYTES = 832,
    STEPS_MOST = 4096,
    USES_MOST = 1 << 14
};

/* Registers and memory at the end of a run. */
typedef struct ending {
    int signal; /* 0: the int3 was reached */
    greg_t registers[NGREG];
    unsigned char frame[FRAME_BYTES]; /* x87, xmm, ymm */
    unsigned char data[DATA_BYTES];
} ending;

typedef struct driver {
    unsigned char *code;         /* written here … */
    unsigned char *code_address; /* … executed here */
    unsigned char *data;
    burst *state;
    void *table;
    size_t table_bytes;
    uint64_t *log;
    size_t log_words;
    /* The running one. */
    greg_t registers[NGREG]; /* at the beginning */
    unsigned char frame[FRAME_BYTES];
    unsigned char initial[DATA_BYTES];
    ending *end;
    enum { DRIVER_IDLE, DRIVER_NATIVE, DRIVER_BURST } what;
    bool stepping;
    uint32_t steps;
    uint64_t end_address; /* of the int3 */
    burst_mode mode;
    uint64_t most;
    burst_end burst_ended;
    burst_result result;
    void (*on_step)(ucontext_t *context);
    sigjmp_buf back;
} driver;

static driver the_driver;
static void *driver_stack;       /* of handlers */
static void *driver_fault_stack; /* of faults in bursts */

static void driver_take(ucontext_t *context, int signal)
{
    driver *d = &the_driver;
    d->end->signal = signal;
    memcpy(d->end->registers, context->uc_mcontext.gregs, sizeof d->end->registers);
    memcpy(d->end->frame, context->uc_mcontext.fpregs, FRAME_BYTES);
    memcpy(d->end->data, d->data, DATA_BYTES);
    /* Components in their initial state are not written. */
    uint64_t present;
    memcpy(&present, d->end->frame + 512, sizeof present);
    if (!(present & 4)) memset(d->end->frame + 576, 0, 256);
    if (!(present & 2)) memset(d->end->frame + 160, 0, 256);
}

static void driver_set(ucontext_t *context)
{
    driver *d = &the_driver;
    greg_t *registers = context->uc_mcontext.gregs;
    for (int i = 0; i <= REG_RIP; i++) registers[i] = d->registers[i];
    registers[REG_EFL] = d->registers[REG_EFL];
    unsigned char *frame = (unsigned char *)context->uc_mcontext.fpregs;
    memcpy(frame, d->frame, 416);             /* x87 and xmm */
    memcpy(frame + 576, d->frame + 576, 256); /* ymm */
    uint64_t present = 7;
    memcpy(frame + 512, &present, sizeof present);
}

static void driver_handler(int signal, siginfo_t *info, void *argument)
{
    (void)info;
    driver *d = &the_driver;
    ucontext_t *context = argument;
    if (d->what == DRIVER_BURST && burst_running(d->state)) {
        if (burst_fault(d->state, context)) return;
        static const char text[] = "a fault that is not the program's\n";
        if (write(2, text, sizeof text - 1) < 0) _exit(3);
        _exit(2);
    }
    if (d->what == DRIVER_IDLE) { /* begin */
        d->what = d->end_address ? DRIVER_NATIVE : DRIVER_BURST;
        driver_set(context);
        if (d->what == DRIVER_NATIVE) {
            if (d->stepping) {
                context->uc_mcontext.gregs[REG_EFL] |= 0x100;
                d->on_step(context);
            }
            return;
        }
        stack_t stack = {.ss_sp = driver_fault_stack, .ss_size = 1 << 18, .ss_flags = 0};
        sigaltstack(&stack, NULL);
        d->burst_ended = burst_run(d->state, context, d->mode, d->most, d->log, d->log_words, &d->result);
        driver_take(context, 0);
        siglongjmp(d->back, 1);
    }
    uint64_t rip = (uint64_t)context->uc_mcontext.gregs[REG_RIP];
    if (signal == SIGTRAP && rip != d->end_address + 1 && d->stepping) {
        if (rip != d->end_address) d->on_step(context);
        if (++d->steps < STEPS_MOST) return;
        d->end->signal = -1; /* it may never end */
        siglongjmp(d->back, 1);
    }
    context->uc_mcontext.gregs[REG_EFL] &= ~0x100;
    driver_take(context, signal == SIGTRAP && rip == d->end_address + 1 ? 0 : signal);
    if (!d->end->signal) d->end->registers[REG_RIP]--;
    siglongjmp(d->back, 1);
}

/* Runs from the initial state; natively up to the int3 at `end_address`, or in a burst where that is 0. */
static void driver_run(ending *end, uint64_t end_address)
{
    driver *d = &the_driver;
    d->end = end;
    d->end_address = end_address;
    d->what = DRIVER_IDLE;
    d->steps = 0;
    memcpy(d->data, d->initial, DATA_BYTES);
    if (sigsetjmp(d->back, 1) == 0) raise(SIGUSR1);
    d->what = DRIVER_IDLE;
    /* The stack was disarmed when its handler was left by a jump. */
    stack_t stack = {.ss_sp = driver_stack, .ss_size = 1 << 18, .ss_flags = (int)(1U << 31)};
    sigaltstack(&stack, NULL);
}

/* Code and data at `place` (NULL: anywhere); code in a file, so that it is trusted as that of programs is. */
static void driver_begin(void *place)
{
    driver *d = &the_driver;
    int fixed = place ? MAP_FIXED_NOREPLACE : 0;
    char name[] = "/tmp/burst_code_XXXXXX";
    int file = mkstemp(name);
    if (file < 0 || ftruncate(file, CODE_BYTES)) abort();
    unlink(name);
    unsigned char *all =
        mmap(place, CODE_BYTES + DATA_BYTES + 65536, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | fixed, -1, 0);
    if (all == MAP_FAILED) abort();
    d->code = mmap(NULL, CODE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    d->code_address = mmap(all, CODE_BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, file, 0);
    d->data = mmap(all + CODE_BYTES, DATA_BYTES, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    close(file);
    d->table_bytes = 1 << 22;
    d->table = mmap(NULL, d->table_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    d->log_words = 1 << 16;
    d->log = mmap(NULL, d->log_words * 8, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    d->state = burst_create(d->table, d->table_bytes);
    d->most = 1 << 14;
    if (!d->state) abort();
    if (!driver_stack)
        driver_stack = mmap(NULL, 1 << 18, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (!driver_fault_stack)
        driver_fault_stack = mmap(NULL, 1 << 18, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    stack_t stack = {.ss_sp = driver_stack, .ss_size = 1 << 18, .ss_flags = (int)(1U << 31)};
    sigaltstack(&stack, NULL);
    struct sigaction action = {.sa_sigaction = driver_handler,
                               .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    static const int signals[] = {SIGUSR1, SIGTRAP, SIGSEGV, SIGBUS, SIGFPE, SIGILL};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) sigaction(signals[i], &action, NULL);
}

static void driver_end(void)
{
    driver *d = &the_driver;
    burst_destroy(d->state);
    munmap(d->code, CODE_BYTES);
    munmap(d->code_address, CODE_BYTES + DATA_BYTES + 65536);
    munmap(d->table, d->table_bytes);
    munmap(d->log, d->log_words * 8);
}

/* Names what differs between two endings; NULL: nothing. */
static const char *driver_differ(const ending *a, const ending *b, greg_t flags_that_count)
{
    static char text[200];
    static const char *const names[] = {"r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15", "rdi",
                                        "rsi", "rbp", "rbx", "rdx", "rax", "rcx", "rsp", "rip"};
    for (int i = 0; i <= REG_RIP; i++)
        if (a->registers[i] != b->registers[i]) {
            snprintf(text, sizeof text, "%s is %llx and %llx", names[i], a->registers[i], b->registers[i]);
            return text;
        }
    if ((a->registers[REG_EFL] ^ b->registers[REG_EFL]) & flags_that_count) {
        snprintf(text, sizeof text, "flags are %llx and %llx", a->registers[REG_EFL], b->registers[REG_EFL]);
        return text;
    }
    for (int i = 0; i < 416; i++) {
        if (i >= 8 && i < 24) continue; /* the last x87 instruction's address and operand's */
        if (a->frame[i] != b->frame[i]) {
            snprintf(text, sizeof text, "byte %d of the floating-point state is %x and %x", i, a->frame[i],
                     b->frame[i]);
            return text;
        }
    }
    if (memcmp(a->frame + 576, b->frame + 576, 256)) return "upper halves of ymm registers differ";
    for (int i = 0; i < DATA_BYTES; i++)
        if (a->data[i] != b->data[i]) {
            snprintf(text, sizeof text, "byte %d of memory is %x and %x", i, a->data[i], b->data[i]);
            return text;
        }
    return NULL;
}

#endif
