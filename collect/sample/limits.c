/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * limits.c - a program that gives up system calls (seccomp) would be killed for ours: sampling ends before it
 * does. It is noticed in prctl and syscall, which are the ways there in libc and in libseccomp.
 */
#define _GNU_SOURCE
#include "collect/sample/sampler.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

/* Called by the assembler below. */
void fm_sampler_give_up(void) __attribute__((visibility("hidden")));
long fm_sampler_failed(long result) __attribute__((visibility("hidden")));

void fm_sampler_give_up(void)
{
    fm_sampler_step_in();
    if (!fm_self.session || fm_self.stopped) {
        fm_sampler_step_out();
        return;
    }
    fm_sampler_stop_clock();
    fm_sampler_thread *thread = fm_sampler_me();
    if (thread) {
        thread->busy = true;
        fm_sampler_now(thread);
        fm_sampler_watches_end(thread);
        fm_sampler_pmu_end(thread);
        thread->lane->work = thread->work;
        thread->lane->ticks_then = thread->lane->ticks;
    }
    fm_self.stopped = true;
    fm_sampler_trouble(FM_SAMPLE_TROUBLE_SECCOMP);
    fm_sampler_step_out();
}

/* A whole number of /proc/self/status; 0: it is not there. name: with the newline before and the colon
 * behind. */
static uint64_t status_number(const char *name)
{
    char text[4096];
    const int file = fm_open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    if (file < 0) return 0;
    const long got = fm_syscall(__NR_read, file, (long)text, sizeof text - 1, 0, 0, 0);
    fm_close(file);
    text[got > 0 ? got : 0] = '\0';
    const char *at = strstr(text, name);
    uint64_t number = 0;
    for (at = at ? at + strlen(name) : ""; *at == ' ' || *at == '\t';) at++;
    for (; *at >= '0' && *at <= '9'; at++) number = number * 10 + (uint64_t)(*at - '0');
    return number;
}

/* It was executed by one that had given up system calls. Those that are made here are the loader's, too. */
bool fm_sampler_limited(void)
{
    return status_number("\nSeccomp_filters:") > fm_self.session->filters;
}

/* What getrusage tells is, until it is passed, that of the program that started this one. */
uint64_t fm_sampler_peak_memory(void)
{
    return status_number("\nVmHWM:") * 1024;
}

long fm_sampler_failed(long result)
{
    errno = (int)-result;
    return -1;
}

__attribute__((visibility("default"))) int prctl(int option, ...)
{
    va_list arguments;
    long given[4];
    va_start(arguments, option);
    for (int i = 0; i < 4; i++) given[i] = va_arg(arguments, long);
    va_end(arguments);
    if (option == PR_SET_SECCOMP) fm_sampler_give_up();
    const long result = fm_syscall(__NR_prctl, option, given[0], given[1], given[2], given[3], 0);
    return (int)(result < 0 ? fm_sampler_failed(result) : result);
}

/* No frame of C: what is called may change the stack (clone). */
__asm__(
    ".pushsection .text\n"
    ".globl syscall\n"
    ".type syscall, @function\n"
    "syscall:\n"
    "    cmp $317, %rdi\n" /* seccomp */
    "    jne 1f\n"
    "    push %rdi\n    push %rsi\n    push %rdx\n    push %rcx\n    push %r8\n    push %r9\n    push %rax\n"
    "    call fm_sampler_give_up\n"
    "    pop %rax\n    pop %r9\n    pop %r8\n    pop %rcx\n    pop %rdx\n    pop %rsi\n    pop %rdi\n"
    "1:  mov %rdi, %rax\n"
    "    mov %rsi, %rdi\n"
    "    mov %rdx, %rsi\n"
    "    mov %rcx, %rdx\n"
    "    mov %r8, %r10\n"
    "    mov %r9, %r8\n"
    "    mov 8(%rsp), %r9\n"
    "    syscall\n"
    "    cmp $-4095, %rax\n"
    "    jae 2f\n"
    "    ret\n"
    "2:  mov %rax, %rdi\n"
    "    jmp fm_sampler_failed\n"
    ".size syscall, . - syscall\n"
    ".popsection\n");
