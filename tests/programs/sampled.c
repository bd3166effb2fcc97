/* SPDX-License-Identifier: Apache-2.0 */
/* What a program may do that a sampler inside it must not disturb: each word on the command line is one such
 * thing. It prints what it finds, which must be the same with and without a sampler. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double cpu_seconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Some work whose result is known, `rounds` times. */
static uint64_t work(unsigned rounds)
{
    static __thread uint64_t table[4096];
    uint64_t sum = 0;
    for (unsigned i = 0; i < 4096; i++) table[i] = i;
    for (unsigned r = 0; r < rounds; r++)
        for (unsigned i = 0; i < 4096; i++) sum += table[(i * 61u + r) % 4096] ^= r;
    return sum;
}

/* At least so long, so that the clock comes by. */
static void spend(double seconds)
{
    const double until = cpu_seconds() + seconds;
    while (cpu_seconds() < until) work(4);
}

/* ---- signals ---- */

static volatile sig_atomic_t traps, profs, users;
static sigjmp_buf back;

static void on_trap(int number, siginfo_t *information, void *context)
{
    (void)number;
    (void)context;
    traps += information->si_code == SI_TKILL || information->si_code == SI_USER ? 1 : 100;
}
static void on_prof(int number)
{
    (void)number;
    profs++;
}
static void on_fault(int number)
{
    siglongjmp(back, number);
}

static void signals(void)
{
    struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO}, seen;
    sigaction(SIGTRAP, &action, NULL);
    sigaction(SIGTRAP, NULL, &seen);
    printf("trap handler is mine: %d\n", seen.sa_sigaction == on_trap);
    signal(SIGPROF, on_prof);
    struct itimerval timer = {{0, 2000}, {0, 2000}};
    setitimer(ITIMER_PROF, &timer, NULL);
    for (int i = 0; i < 5; i++) {
        raise(SIGTRAP);
        __asm__ volatile("int3");
        spend(0.02);
    }
    for (int i = 0; i < 200 && profs <= 5; i++) spend(0.02); /* a busy machine is slow to tell */
    timer = (struct itimerval){0};
    setitimer(ITIMER_PROF, &timer, NULL);
    printf("traps %d, profiling signals came: %d\n", (int)traps, profs > 5);

    /* Blocked: it waits. */
    sigset_t set, before, pending;
    sigemptyset(&set);
    sigaddset(&set, SIGTRAP);
    sigprocmask(SIG_BLOCK, &set, &before);
    traps = 0;
    raise(SIGTRAP);
    spend(0.05);
    sigpending(&pending);
    printf("blocked before: %d, traps while blocked: %d, pending: %d\n", sigismember(&before, SIGTRAP),
           (int)traps, sigismember(&pending, SIGTRAP));
    sigprocmask(SIG_SETMASK, &before, &set);
    printf("was blocked: %d, traps afterwards: %d\n", sigismember(&set, SIGTRAP), (int)traps);
    signal(SIGTRAP, SIG_IGN);
    raise(SIGTRAP);
    printf("ignored\n");
}

static void faults(void)
{
    static char stack[64 << 10];
    stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack}, seen;
    struct sigaction action = {.sa_handler = on_fault, .sa_flags = SA_ONSTACK};
    int caught = 0;
    sigaltstack(&alternate, NULL);
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGFPE, &action, NULL);
    for (int i = 0; i < 4000; i++) {
        work(1);
        if (sigsetjmp(back, 1) == 0) {
            if (i % 2)
                *(volatile int *)(uintptr_t)(16 + i) = 1;
            else
                __asm__ volatile("xorl %%ecx, %%ecx; xorl %%edx, %%edx; movl $1, %%eax; divl %%ecx"
                                 :
                                 :
                                 : "eax", "ecx", "edx");
        } else {
            caught++;
        }
    }
    sigaltstack(NULL, &seen);
    printf("caught %d, stack is mine: %d\n", caught, seen.ss_sp == stack);
}

static void crash(void)
{
    spend(0.1);
    printf("now\n");
    fflush(stdout);
    *(volatile int *)(uintptr_t)24 = 1;
}

/* ---- threads ---- */

static void *short_thread(void *argument)
{
    return (void *)(uintptr_t)(work(2 + (unsigned)(uintptr_t)argument % 3) & 0xffffff);
}
static void *blocking_thread(void *argument)
{
    sigset_t all, now;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    spend(0.1);
    pthread_sigmask(SIG_BLOCK, NULL, &now);
    *(int *)argument = sigismember(&now, SIGTRAP) && sigismember(&now, SIGUSR1);
    return (void *)(uintptr_t)(work(1000) & 0xffffff);
}

static void threads(int count, int at_once)
{
    uintptr_t sum = 0;
    pthread_t all[1024];
    for (int begun = 0; begun < count; begun += at_once) {
        int n = 0;
        for (; n < at_once && begun + n < count; n++)
            if (pthread_create(&all[n], NULL, short_thread, (void *)(uintptr_t)(begun + n))) break;
        for (int i = 0; i < n; i++) {
            void *result;
            pthread_join(all[i], &result);
            sum += (uintptr_t)result;
        }
    }
    int blocked = 0;
    void *result;
    pthread_create(&all[0], NULL, blocking_thread, &blocked);
    pthread_join(all[0], &result);
    printf("threads: %lu, blocked %d, %lu\n", (unsigned long)sum, blocked, (unsigned long)(uintptr_t)result);
}

/* ---- the rest ---- */

static void descriptors(void)
{
    int open_before = 0, open_now = 0;
    for (int fd = 3; fd < 1024; fd++) open_before += fcntl(fd, F_GETFD) >= 0;
    spend(0.1);
    for (int fd = 3; fd < 1024; fd++) close(fd);
    spend(0.15);
    for (int fd = 3; fd < 1024; fd++) open_now += fcntl(fd, F_GETFD) >= 0;
    printf("open before %d, now %d, next %d\n", open_before, open_now, open("/dev/null", O_RDONLY));
}

static void environment(void)
{
    extern char **environ;
    for (char **at = environ; *at; at++)
        if (strncmp(*at, "LD_", 3) == 0 || strncmp(*at, "FATHOM", 6) == 0) puts(*at);
    spend(0.05);
}

static void children(void)
{
    for (int i = 0; i < 20; i++) {
        fflush(stdout);
        const pid_t child = i % 2 ? fork() : vfork();
        if (child == 0) {
            if (i % 2) work(200);
            _exit(i);
        }
        int status = 0;
        waitpid(child, &status, 0);
        printf("%d ", WEXITSTATUS(status));
        work(100);
    }
    printf("\n");
    fflush(stdout);
    spend(0.05);
    if (system("echo from a shell") != 0) printf("no shell\n");
}

/* 300 processes that live at the same time. */
static void swarm(void)
{
    enum { CHILDREN = 300 };
    int gate[2], well = 0, status;
    if (pipe(gate) != 0) _exit(9);
    for (int i = 0; i < CHILDREN; i++)
        if (fork() == 0) {
            char none;
            close(gate[1]);
            (void)!read(gate[0], &none, 1); /* until all are there */
            _exit(0);
        }
    spend(0.1);
    close(gate[1]);
    while (wait(&status) > 0) well += status == 0;
    printf("%d\n", well);
}

/* how: strict, filter, or a filter behind which the program ends as programs do. */
static void sandbox(const char *how)
{
    const int strict = strcmp(how, "strict") == 0;
    spend(0.1);
    static const char text[] = "in the sandbox\n";
    if (strict) {
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
    } else {
        /* Nothing but write, exit and the return from handlers; all else kills. */
        struct {
            uint16_t code;
            uint8_t jt, jf;
            uint32_t k;
        } filter[] = {{0x20, 0, 0, 0},
                      {0x15, 4, 0, SYS_write},
                      {0x15, 3, 0, SYS_exit},
                      {0x15, 2, 0, SYS_exit_group},
                      {0x15, 1, 0, SYS_rt_sigreturn},
                      {0x06, 0, 0, 0x80000000u},
                      {0x06, 0, 0, 0x7fff0000u}};
        struct {
            unsigned short length;
            void *filter;
        } program = {sizeof filter / sizeof filter[0], filter};
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0) _exit(9);
    }
    const uint64_t sum = work(20000);
    (void)!write(1, text, sizeof text - 1);
    if (strcmp(how, "filter-exit") == 0) exit(42);
    syscall(SYS_exit, (int)(sum & 1) + 40);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "work") == 0) printf("%lu\n", (unsigned long)work(30000));
        if (strcmp(argv[i], "little") == 0) printf("%lu\n", (unsigned long)work(400));
        if (strcmp(argv[i], "signals") == 0) signals();
        if (strcmp(argv[i], "faults") == 0) faults();
        if (strcmp(argv[i], "crash") == 0) crash();
        if (strcmp(argv[i], "threads") == 0) threads(300, 4);
        if (strcmp(argv[i], "crowd") == 0) threads(1000, 1000);
        if (strcmp(argv[i], "descriptors") == 0) descriptors();
        if (strcmp(argv[i], "environment") == 0) environment();
        if (strcmp(argv[i], "children") == 0) children();
        if (strcmp(argv[i], "swarm") == 0) swarm();
        if (strcmp(argv[i], "strict") == 0 || strncmp(argv[i], "filter", 6) == 0) sandbox(argv[i]);
        if (strcmp(argv[i], "exec") == 0) {
            spend(0.05);
            fflush(stdout);
            execl("/proc/self/exe", argv[0], "work", (char *)NULL);
        }
        if (strcmp(argv[i], "endless") == 0) spend(1e9);
    }
    return 5;
}
