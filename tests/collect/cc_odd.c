/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cc_odd.c - programs with odd behaviour, one for each first argument. Every one calls touch() so many times
 * as it says, and a call stores 100 numbers of 4 bytes in a region: cc_odd_test.sh knows the sums.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fathom/markers.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TOUCHED = 100 };
static int numbers[64][TOUCHED];
extern char **environ;

static __attribute__((noinline)) void store_all(int *place)
{
    for (int i = 0; i < TOUCHED; i++) *(volatile int *)&place[i] = i;
}

static void touch(int times)
{
    static __thread int next;
    for (int i = 0; i < times; i++) {
        int *place = numbers[next++ % 64];
        FATHOM_BEGIN("touch");
        store_all(place);
        FATHOM_END;
    }
}

static void *touch_thread(void *times)
{
    touch((int)(intptr_t)times);
    return times;
}

static pthread_t start(void *(*function)(void *), int times)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, function, (void *)(intptr_t)times) != 0) abort();
    return thread;
}

/* ---- threads ---- */

static int threads(int count) /* `count` threads, 10 each */
{
    pthread_t *started = calloc((size_t)count, sizeof *started);
    for (int i = 0; i < count; i++) started[i] = start(touch_thread, 10);
    for (int i = 0; i < count; i++) pthread_join(started[i], NULL);
    free(started);
    return 0;
}

static int churn(int count) /* one after the other, 1 each */
{
    for (int i = 0; i < count; i++) pthread_join(start(touch_thread, 1), NULL);
    return 0;
}

static void *late(void *unused)
{
    usleep(50000); /* main is gone by now */
    touch(10);
    return unused;
}

static int outlive(int times) /* main ends by pthread_exit; two threads go on: 2 * 10 + times */
{
    pthread_detach(start(late, 0));
    start(late, 0);
    touch(times);
    pthread_exit(NULL);
}

static void *forever(void *times)
{
    touch((int)(intptr_t)times);
    for (;;) pause();
    return times;
}

static int pool(int times) /* three threads that never end: 3 * times + 1 */
{
    for (int i = 0; i < 3; i++) start(forever, times);
    usleep(100000);
    touch(1);
    return 0;
}

static pthread_key_t key;
static void destroy(void *value)
{
    touch(1);
    /* again in the next round, three times in all */
    if ((intptr_t)value > 1) pthread_setspecific(key, (void *)((intptr_t)value - 1));
}

static void *with_data(void *unused)
{
    pthread_setspecific(key, (void *)(intptr_t)3);
    return unused;
}

static int destructors(int count) /* references in destructors of thread-specific data: 3 each */
{
    pthread_key_create(&key, destroy);
    for (int i = 0; i < count; i++) pthread_join(start(with_data, 0), NULL);
    return 0;
}

static int own_stack(int times) /* a thread on a stack that the program gave it, inside of a larger block */
{
    size_t bytes = 1 << 18;
    char *block = malloc(4 * bytes);
    char *stack = (char *)(((uintptr_t)block + bytes) & ~(uintptr_t)4095);
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, stack, bytes);
    pthread_create(&thread, &attributes, touch_thread, (void *)(intptr_t)times);
    pthread_join(thread, NULL);
    free(block);
    return 0;
}

/* ---- processes ---- */

static int forks(int times) /* parent times, child 2 * times, grandchild 3 * times */
{
    touch(times);
    pid_t child = fork();
    if (child == 0) {
        touch(2 * times);
        pid_t grandchild = fork();
        if (grandchild == 0) {
            touch(3 * times);
            exit(5);
        }
        waitpid(grandchild, NULL, 0);
        _exit(4);
    }
    int status;
    waitpid(child, &status, 0);
    return WEXITSTATUS(status);
}

static int fork_in_thread(int times)
{
    pthread_t other = start(touch_thread, times);
    pid_t child = fork();
    if (child == 0) {
        touch(times);
        pthread_join(start(touch_thread, times), NULL);
        exit(0);
    }
    pthread_join(other, NULL);
    waitpid(child, NULL, 0);
    return 0;
}

static int bare_fork(int times) /* runs no handler of pthread_atfork */
{
    touch(times);
    pid_t child = _Fork();
    if (child == 0) {
        touch(times);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    return 0;
}

static int vforks(int times)
{
    touch(times);
    pid_t child = vfork();
    if (child == 0) {
        execl("/bin/true", "true", (char *)NULL);
        _exit(127);
    }
    waitpid(child, NULL, 0);
    child = vfork();
    if (child == 0) _exit(3);
    waitpid(child, NULL, 0);
    char *arguments[] = {"sh", "-c", "exit 7", NULL};
    posix_spawn(&child, "/bin/sh", NULL, NULL, arguments, environ);
    waitpid(child, NULL, 0);
    touch(times);
    return system("exit 6") == 6 << 8 ? 0 : 1;
}

static int execs(int times) /* becomes `plain`: times + times again */
{
    touch(times);
    char count[16];
    snprintf(count, sizeof count, "%d", times);
    execl("/nowhere/at/all", "all", (char *)NULL);
    execl("/proc/self/exe", "cc_odd", "plain", count, (char *)NULL);
    return 1;
}

/* ---- ends ---- */

static int plain(int times)
{
    touch(times);
    return 0;
}

static int short_exit(int times)
{
    touch(times);
    _exit(9);
}

static int fast_exit(int times)
{
    touch(times);
    quick_exit(8);
}

static int aborts(int times)
{
    touch(times);
    abort();
}

static int crashes(int times)
{
    touch(times);
    *(volatile int *)(uintptr_t)(times & 1) = 1;
    return 0;
}

static void at_the_end(void)
{
    touch(2);
}
static __attribute__((destructor)) void destructor(void)
{
    if (getenv("CC_ODD_DESTRUCTOR")) touch(3);
}

static int handlers(int times) /* times + 2 + 3 */
{
    setenv("CC_ODD_DESTRUCTOR", "1", 1);
    atexit(at_the_end);
    touch(times);
    return 0;
}

static int endless(int unused)
{
    for (;;) touch(100);
    return unused;
}

/* ---- signals ---- */

static volatile sig_atomic_t handled;
static short in_handler[7];

/* On a page of its own, so that handler and program change the page back and forth. */
static __attribute__((noinline, aligned(8192))) void store_in_handler(short *place)
{
    for (int i = 0; i < 7; i++) *(volatile short *)&place[i] = (short)i;
}

static __attribute__((no_sanitize("thread"))) void handler(int number)
{
    (void)number;
    FATHOM_BEGIN("handler");
    store_in_handler(in_handler);
    FATHOM_END;
    handled++;
}

/* A handler that runs thousands of times, anywhere in hooks: times * 100 stores of 4 bytes, and 7 of 2 bytes
 * for each time it says. */
static int storm(int times)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART}, old;
    sigaction(SIGALRM, &action, NULL);
    sigaction(SIGALRM, NULL, &old);
    if (old.sa_handler != handler) return 1;
    struct itimerval often = {{0, 20}, {0, 20}}, never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &often, NULL);
    touch(times);
    setitimer(ITIMER_REAL, &never, NULL);
    printf("handled %d\n", (int)handled);
    return 0;
}

static sigjmp_buf back;
static volatile sig_atomic_t jumps;
static void jumper(int number)
{
    (void)number;
    handler(0);
    jumps++;
    siglongjmp(back, 1);
}

/* The same, left by siglongjmp each time, and on a stack of its own. What touch had done by then is not
 * known: the handler's 7 are. */
static int jump_storm(int times)
{
    static char stack[1 << 16];
    stack_t other = {.ss_sp = stack, .ss_size = sizeof stack};
    sigaltstack(&other, NULL);
    struct sigaction action = {.sa_handler = jumper, .sa_flags = SA_ONSTACK};
    sigaction(SIGALRM, &action, NULL);
    while (jumps < times) {
        if (sigsetjmp(back, 1) == 0) {
            struct itimerval once = {{0, 0}, {0, 30}};
            setitimer(ITIMER_REAL, &once, NULL);
            for (;;) store_all(numbers[0]);
        }
    }
    printf("handled %d\n", (int)handled);
    return 0;
}

static __attribute__((noinline)) int dive(int depth, jmp_buf where)
{
    touch(1);
    if (depth == 0 && where) longjmp(where, 1);
    return depth > 0 ? 1 + dive(depth - 1, where) : 0; /* no tail call */
}

static int long_jumps(int times) /* times * 11 */
{
    for (volatile int i = 0; i < times; i++) {
        jmp_buf where;
        if (setjmp(where) == 0) dive(10, where);
    }
    return 0;
}

static int masks(int times) /* the program's signals and errno are its own */
{
    sigset_t before, after;
    sigprocmask(SIG_BLOCK, NULL, &before);
    errno = 77;
    touch(times);
    if (errno != 77) return 1;
    sigprocmask(SIG_BLOCK, NULL, &after);
    if (memcmp(&before, &after, 8) != 0) return 2;
    if (signal(SIGUSR1, handler) != SIG_DFL || signal(SIGUSR1, SIG_IGN) != handler) return 3;
    if (signal(SIGUSR1, SIG_DFL) != SIG_IGN) return 4;
    struct sigaction once = {.sa_handler = handler, .sa_flags = SA_RESETHAND}, now;
    sigaction(SIGUSR2, &once, NULL);
    raise(SIGUSR2);
    sigaction(SIGUSR2, NULL, &now);
    if (handled != 1 || now.sa_handler != SIG_DFL) return 5;
    return getenv("FATHOM_SESSION") ? 6 : 0;
}

/* ---- the rest ---- */

static int loads_library(int times) /* touch of the program and of the library: 2 * times, twice over */
{
    for (int i = 0; i < 2; i++) {
        void *library = dlopen(getenv("CC_LIBRARY"), RTLD_NOW | RTLD_LOCAL);
        if (!library) {
            fprintf(stderr, "%s\n", dlerror());
            return 1;
        }
        void (*touch_library)(int) = (void (*)(int))dlsym(library, "touch_library");
        touch_library(times);
        touch(times);
        dlclose(library);
    }
    return 0;
}

static int closes_files(int times) /* all descriptors, then threads that need the session once more */
{
    for (int i = 3; i < 4096; i++) close(i);
    touch(times);
    pthread_join(start(touch_thread, times), NULL);
    return 0;
}

static int descriptors(int unused) /* the lowest free one is what it would be without us */
{
    (void)unused;
    int fd = dup(0);
    printf("descriptor %d\n", fd);
    return 0;
}

static int heap(int times) /* 3 * times blocks, all given back but one */
{
    for (int i = 0; i < times; i++) {
        char *a = malloc(100), *b = calloc(10, 10), *c = strdup("text");
        a = realloc(a, 100000);
        free(a);
        free(b);
        if (i > 0) free(c);
    }
    return 0;
}

static const struct {
    const char *name;
    int (*run)(int);
} all[] = {
    {"plain", plain},
    {"threads", threads},
    {"churn", churn},
    {"outlive", outlive},
    {"pool", pool},
    {"destructors", destructors},
    {"own-stack", own_stack},
    {"forks", forks},
    {"fork-in-thread", fork_in_thread},
    {"bare-fork", bare_fork},
    {"vforks", vforks},
    {"execs", execs},
    {"short-exit", short_exit},
    {"fast-exit", fast_exit},
    {"aborts", aborts},
    {"crashes", crashes},
    {"handlers", handlers},
    {"endless", endless},
    {"storm", storm},
    {"jump-storm", jump_storm},
    {"long-jumps", long_jumps},
    {"masks", masks},
    {"library", loads_library},
    {"closes-files", closes_files},
    {"descriptors", descriptors},
    {"heap", heap},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc == 3 && i < sizeof all / sizeof *all; i++)
        if (strcmp(argv[1], all[i].name) == 0) return all[i].run(atoi(argv[2]));
    fprintf(stderr, "usage: cc_odd WHAT TIMES\n");
    return 2;
}
