/* SPDX-License-Identifier: Apache-2.0 */
/* jumps out of a function, in the way that is asked for, and then reads 1000 blocks without a call: jumping
 * WAY [THREAD]. The function reads one block. */
#define _GNU_SOURCE
#include "touch.h"
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
enum { BLOCKS = 1000 };
static volatile char data[BLOCKS * BLOCK] __attribute__((aligned(BLOCK)));
static const char *way;
static jmp_buf plain;
static sigjmp_buf with_signals;
static struct {
    void *words[5];
} by_compiler;
__attribute__((noinline)) static int inside(int depth, char kind)
{
    if (depth > 0) {
        int result = inside(depth - 1, kind);
        __asm__ volatile("" ::: "memory");
        return result + 1;
    }
    (void)data[0];
    if (kind == '_') _longjmp(plain, 1);
    if (kind == 's') siglongjmp(with_signals, 1);
    longjmp(plain, 1);
}
static void handler(int number)
{
    (void)number;
    inside(3, 's');
}
static void start_handler(void)
{
    static char other_stack[64 << 10];
    stack_t stack = {.ss_sp = other_stack, .ss_size = sizeof other_stack};
    struct sigaction action = {.sa_handler = handler};
    sigemptyset(&action.sa_mask);
    if (strcmp(way, "signal-stack") == 0) {
        sigaltstack(&stack, NULL);
        action.sa_flags = SA_ONSTACK;
    }
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
}
__attribute__((noinline)) static void *jump(void *unused)
{
    int jumped = way[0] == 's' ? sigsetjmp(with_signals, 1) : setjmp(plain);
    if (!jumped) {
        if (strncmp(way, "signal", 6) == 0) start_handler();
        inside(strcmp(way, "deep") == 0 ? 6000 : 10, way[0]);
    }
    for (size_t i = 0; i < BLOCKS; i++) (void)data[i * BLOCK];
    return unused;
}
/* Ways that nobody tells of: they are noticed when the function that was jumped to is left. */
__attribute__((noinline)) static void inside_unseen(void)
{
    (void)data[0];
    __builtin_longjmp(by_compiler.words, 1);
}
__attribute__((noinline)) static void jump_unseen(void)
{
    if (__builtin_setjmp(by_compiler.words) == 0) inside_unseen();
}
int main(int argc, char **argv)
{
    pthread_t thread;
    way = argc > 1 ? argv[1] : "longjmp";
    if (strcmp(way, "builtin") == 0) {
        jump_unseen();
        for (size_t i = 0; i < BLOCKS; i++) (void)data[i * BLOCK];
        return 0;
    }
    if (argc <= 2) return jump(NULL) != NULL;
    return pthread_create(&thread, NULL, jump, NULL) != 0 || pthread_join(thread, NULL) != 0;
}
