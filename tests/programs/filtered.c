/* SPDX-License-Identifier: Apache-2.0 */
/*
 * forbids itself system calls (seccomp) and goes on: 1000 blocks 1000 times in turn afterwards, more than a
 * ring holds. argv[1]:
 *     strict     read, write, exit and sigreturn remain
 *     few        write and exit remain; the program is killed for any other
 *     call       the same by syscall(2), for all threads: one that runs already touches the blocks, too
 *     refused    the same, but others fail (EPERM): one is tried
 *     trapped    the same, but others raise SIGSYS, which is counted: one is tried
 *     threads    as few, with what a thread needs; a new one touches the blocks
 *     signals    as few, while a timer comes every 200 us; its handler touches 10 blocks, argv[2] times
 *     hidden     as few, installed without libc
 *     exec       all but getppid are let through; executes argv[2]... afterwards
 *     guilty     as few, and then makes a call that is forbidden
 */
#define _GNU_SOURCE
#include "touch.h"
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

enum { BLOCKS = 1000, PASSES = 1000 };
static char data[BLOCKS * BLOCK] __attribute__((aligned(BLOCK)));
static volatile sig_atomic_t traps, comes, wanted;

static const int for_few[] = {SYS_write, SYS_exit, SYS_exit_group, SYS_rt_sigreturn, 0};
static const int for_threads[] = {SYS_write,           SYS_exit,         SYS_exit_group, SYS_rt_sigreturn,
                                  SYS_rt_sigprocmask,  SYS_rt_sigaction, SYS_mmap,       SYS_munmap,
                                  SYS_mprotect,        SYS_madvise,      SYS_brk,        SYS_fstat,
                                  SYS_getrandom,       SYS_clone,        SYS_clone3,     SYS_rseq,
                                  SYS_set_robust_list, SYS_futex,        SYS_gettid,     0};

static long plain(long number, long a, long b, long c)
{
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
    return result;
}

/* Each of them is let through, all others get the answer. how: prctl, 1: syscall(2) for all threads, 2:
 * neither */
static int install(const int *allowed, unsigned answer, int how)
{
    struct sock_filter code[64];
    unsigned short at = 0;
    code[at++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch));
    code[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0);
    code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    code[at++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (; *allowed; allowed++) {
        code[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)*allowed, 0, 1);
        code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    }
    code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, answer);
    struct sock_fprog program = {at, code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
    if (how == 1)
        return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
    if (how == 2) return (int)plain(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, (long)&program);
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static int deny_one(int number)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static void *touches(void *unused)
{
    touch(data, BLOCKS, PASSES);
    return unused;
}

static volatile sig_atomic_t runs, installed;
static void *waits_and_touches(void *unused)
{
    runs = 1;
    while (!installed) {
    }
    touch(data, BLOCKS, PASSES);
    installed = 2;
    while (installed) {
    }
    return unused;
}

static void trapped(int number)
{
    (void)number;
    traps = traps + 1;
}

static void comes_again(int number)
{
    (void)number;
    if (comes < wanted) touch(data, 10, 1);
    comes = comes + 1;
}

static void say(const char *text)
{
    (void)!write(STDOUT_FILENO, text, strlen(text));
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    pthread_t thread;
    int failed = 0;
    if (strcmp(how, "strict") == 0) failed = prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
    if (strcmp(how, "few") == 0 || strcmp(how, "guilty") == 0)
        failed = install(for_few, SECCOMP_RET_KILL_PROCESS, 0);
    if (strcmp(how, "refused") == 0) failed = install(for_few, SECCOMP_RET_ERRNO | EPERM, 0);
    if (strcmp(how, "hidden") == 0) failed = install(for_few, SECCOMP_RET_KILL_PROCESS, 2);
    if (strcmp(how, "exec") == 0) failed = deny_one(SYS_getppid);
    if (strcmp(how, "trapped") == 0) {
        signal(SIGSYS, trapped);
        failed = install(for_few, SECCOMP_RET_TRAP, 0);
    }
    if (strcmp(how, "threads") == 0) {
        failed = install(for_threads, SECCOMP_RET_KILL_PROCESS, 0) ||
                 pthread_create(&thread, NULL, touches, NULL) || pthread_join(thread, NULL);
    } else if (strcmp(how, "call") == 0) {
        failed = pthread_create(&thread, NULL, waits_and_touches, NULL);
        while (!runs && !failed) {
        }
        failed = failed || install(for_few, SECCOMP_RET_KILL_PROCESS, 1);
        for (installed = 1; installed != 2;) {
        }
    } else if (strcmp(how, "signals") == 0) {
        const struct itimerval often = {{0, 200}, {0, 200}};
        wanted = atoi(argv[2]);
        signal(SIGALRM, comes_again);
        failed = setitimer(ITIMER_REAL, &often, NULL) || install(for_few, SECCOMP_RET_KILL_PROCESS, 0);
        while (comes < wanted) touch(data, BLOCKS, 100);
    } else if (!failed) {
        touch(data, BLOCKS, PASSES);
    }
    if (strcmp(how, "refused") == 0) failed |= syscall(SYS_getppid) != -1 || errno != EPERM;
    if (strcmp(how, "trapped") == 0) {
        syscall(SYS_getppid);
        failed |= traps != 1;
    }
    say(failed ? "failed\n" : traps ? "trapped\n" : "done\n");
    if (strcmp(how, "guilty") == 0) syscall(SYS_getppid);
    if (strcmp(how, "exec") == 0) {
        say(syscall(SYS_getppid) == -1 ? "refused\n" : "let through\n");
        execv(argv[2], argv + 2);
    }
    syscall(strcmp(how, "strict") == 0 ? SYS_exit : SYS_exit_group, 3);
    return 0;
}
