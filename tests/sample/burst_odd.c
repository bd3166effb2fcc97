/* SPDX-License-Identifier: Apache-2.0 */
/*
 * burst_odd.c - a program that does what is hard to run in bursts, again and again, and prints what came of
 * it: faults that it handles, code that it writes and changes, jumps out of functions, children, threads.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

extern const char load_here[], divide_here[], stop_here[];
static sigjmp_buf back;
static uint64_t seen[8], rounds = 4000;

/* The fault is at the instruction, and its registers are what they are there. */
static void on_fault(int signal, siginfo_t *info, void *argument)
{
    const greg_t *registers = ((ucontext_t *)argument)->uc_mcontext.gregs;
    if (signal == SIGSEGV && registers[REG_RIP] == (greg_t)load_here && info->si_addr == (void *)0x40 &&
        registers[REG_RCX] == registers[REG_R15] + 5)
        seen[0]++;
    else if (signal == SIGFPE && registers[REG_RIP] == (greg_t)divide_here && info->si_code == FPE_INTDIV)
        seen[1]++;
    else if (signal == SIGILL && registers[REG_RIP] == (greg_t)stop_here)
        seen[2]++;
    else
        seen[7]++;
    siglongjmp(back, 1);
}

static uint64_t work(uint64_t n)
{
    static volatile uint64_t cells[256];
    for (uint64_t i = 0; i < 600; i++) cells[(i * n) % 256] += i ^ cells[i % 256];
    return cells[n % 256];
}

__attribute__((noinline)) static void faults(uint64_t i)
{
    if (sigsetjmp(back, 0) == 0)
        __asm__ volatile(
            "mov %0, %%r15; lea 5(%%r15), %%rcx; xor %%eax, %%eax; load_here: mov 0x40(%%rax), %%rbx"
            :
            : "r"(i)
            : "r15", "rcx", "rax", "rbx");
    if (sigsetjmp(back, 0) == 0)
        __asm__ volatile(
            "xor %%ecx, %%ecx; xor %%edx, %%edx; push %%rax; mov (%%rsp), %%rax; divide_here: div %%rcx"
            :
            :
            : "rax", "rcx", "rdx", "memory");
    if (sigsetjmp(back, 0) == 0) __asm__ volatile("stop_here: ud2");
}

/* mov eax, value; ret */
static void write_code(unsigned char *at, uint32_t value)
{
    at[0] = 0xb8;
    memcpy(at + 1, &value, 4);
    at[5] = 0xc3;
}

static uint64_t made_code(unsigned char *writable, unsigned char *seen_here, uint32_t value)
{
    write_code(writable, value);
    uint64_t sum = ((uint32_t(*)(void))(uintptr_t)seen_here)();
    write_code(writable, value * 3);
    return sum + ((uint32_t(*)(void))(uintptr_t)seen_here)();
}

static jmp_buf place;

static void deep(int depth)
{
    volatile char room[100];
    room[depth % 100] = (char)depth;
    if (depth == 0) longjmp(place, room[0] + 7);
    if (room[depth % 100] == (char)depth) deep(depth - 1);
    room[1]++;
}

static void *thread_main(void *argument)
{
    return (void *)(work((uint64_t)argument) & 0xffff);
}

int main(void)
{
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER};
    sigaction(SIGSEGV, &action, NULL), sigaction(SIGFPE, &action, NULL), sigaction(SIGILL, &action, NULL);
    unsigned char *both =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned char *turns = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int file = (int)syscall(SYS_memfd_create, "code", 0);
    if (ftruncate(file, 4096)) return 2;
    unsigned char *one = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    unsigned char *two = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, file, 0);
    static uint64_t sum, jumps, children, threads, i; /* static: longjmp leaves them alone */
    for (i = 1; i <= rounds; i++) {
        sum += work(i);
        faults(i);
        sum += work(i + 1) + made_code(both, both, (uint32_t)i);
        sum += made_code(one, two, (uint32_t)i * 5);
        if (i % 16 == 1) {
            mprotect(turns, 4096, PROT_READ | PROT_WRITE);
            write_code(turns, (uint32_t)i * 7);
            mprotect(turns, 4096, PROT_READ | PROT_EXEC);
        }
        sum += work(i + 2) + ((uint32_t(*)(void))(uintptr_t)turns)();
        int jumped = setjmp(place);
        if (!jumped) deep((int)(i % 50));
        jumps += (uint64_t)jumped;
        if (i % 500 == 0) {
            pid_t child = i % 1000 ? fork() : vfork();
            if (child == 0) _exit((int)(i % 97));
            int status;
            waitpid(child, &status, 0);
            children += (uint64_t)WEXITSTATUS(status);
            pthread_t thread;
            void *result;
            pthread_create(&thread, NULL, thread_main, (void *)i);
            pthread_join(thread, &result);
            threads += result != NULL;
        }
    }
    printf("%llu %llu %llu %llu; faults %llu %llu %llu, others %llu\n", (unsigned long long)sum,
           (unsigned long long)jumps, (unsigned long long)children, (unsigned long long)threads,
           (unsigned long long)seen[0], (unsigned long long)seen[1], (unsigned long long)seen[2],
           (unsigned long long)seen[7]);
    return 0;
}
