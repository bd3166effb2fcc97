/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that somebody attaches to while it runs: each word on the command line is a thread that does
 * something which an attached sampler must not disturb, and checks it. When it is told to end (a line on
 * standard input, or its end), it prints what it found to be wrong, and its state, which must be the same
 * with and without a sampler.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile int over;
static int wrong, opened; /* opened: threads that have all their descriptors */
static volatile sig_atomic_t traps, faults;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;

static void bad(const char *what, int why)
{
    pthread_mutex_lock(&lock);
    wrong++;
    printf("wrong: %s (%s)\n", what, strerror(why));
    fflush(stdout);
    pthread_mutex_unlock(&lock);
}

/* ---- what threads do ---- */

static uint64_t sum_of(unsigned rounds)
{
    static __thread uint64_t table[8192];
    uint64_t sum = 0;
    for (unsigned i = 0; i < 8192; i++) table[i] = i * 3u;
    for (unsigned r = 0; r < rounds; r++)
        for (unsigned i = 0; i < 8192; i++) sum += table[(i * 61u + r) % 8192] ^= r;
    return sum;
}

static void *work(void *unused)
{
    const uint64_t expected = sum_of(20);
    double x = 1;
    while (!over) {
        if (sum_of(20) != expected) bad("a sum", 0);
        for (int i = 0; i < 1000; i++) x = x * 1.0000001 + 1e-9; /* vector registers are live */
        if (!(x >= 1)) bad("a product", 0);
        if (x > 1e6) x = 1;
    }
    return unused;
}

static void *waits(void *unused)
{
    int pipes[2], sockets[2];
    struct epoll_event event = {.events = EPOLLIN};
    char byte;
    if (pipe(pipes) || socketpair(AF_UNIX, SOCK_STREAM, 0, sockets)) abort();
    const struct timeval most = {.tv_usec = 400000};
    setsockopt(sockets[0], SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
    const int poller = epoll_create1(EPOLL_CLOEXEC);
    epoll_ctl(poller, EPOLL_CTL_ADD, pipes[0], &event);
    __atomic_fetch_add(&opened, 1, __ATOMIC_RELEASE);
    for (int i = 0; !over; i++) {
        errno = 0;
        struct pollfd one = {.fd = pipes[0], .events = POLLIN};
        struct timespec left, time = {.tv_nsec = 200000000}, begin, end;
        switch (i % 5) {
        case 0:
            if (epoll_wait(poller, &event, 1, 300) != 0) bad("epoll_wait", errno);
            break;
        case 1:
            clock_gettime(CLOCK_MONOTONIC, &begin);
            if (nanosleep(&time, &left) != 0) bad("nanosleep", errno);
            clock_gettime(CLOCK_MONOTONIC, &end);
            if ((end.tv_sec - begin.tv_sec) * 1000000000 + end.tv_nsec - begin.tv_nsec < 200000000)
                bad("nanosleep is too short", 0);
            break;
        case 2:
            if (poll(&one, 1, 200) != 0) bad("poll", errno);
            break;
        case 3:
            if (read(sockets[0], &byte, 1) != -1 || errno != EAGAIN) bad("read with a limit of time", errno);
            break;
        default: {
            fd_set set;
            struct timeval wait = {.tv_usec = 200000};
            FD_ZERO(&set);
            FD_SET(pipes[0], &set);
            if (select(pipes[0] + 1, &set, NULL, NULL, &wait) != 0) bad("select", errno);
        }
        }
    }
    close(poller);
    close(pipes[0]);
    close(pipes[1]);
    close(sockets[0]);
    close(sockets[1]);
    return unused;
}

static void *waits_for_ever(void *unused)
{
    (void)unused;
    pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, NULL);
    static pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&own);
    while (!over) pthread_cond_wait(&never, &own);
    pthread_mutex_unlock(&own);
    return NULL;
}

static void *allocates(void *unused)
{
    enum { COUNT = 256 };
    unsigned char *blocks[COUNT] = {0};
    size_t sizes[COUNT] = {0};
    unsigned state = 7;
    while (!over)
        for (unsigned i = 0; i < COUNT; i++) {
            for (size_t k = 0; blocks[i] && k < sizes[i]; k += 97)
                if (blocks[i][k] != (unsigned char)i) bad("a heap block", 0);
            free(blocks[i]);
            state = state * 1103515245u + 12345u;
            sizes[i] = state >> 16 & 4095;
            blocks[i] = malloc(sizes[i] + 1);
            if (!blocks[i]) abort();
            memset(blocks[i], (int)i, sizes[i]);
        }
    for (unsigned i = 0; i < COUNT; i++) free(blocks[i]);
    return unused;
}

static void *loads(void *unused)
{
    while (!over) {
        void *library = dlopen("libm.so.6", RTLD_NOW);
        if (!library || !dlsym(library, "cos")) bad("dlopen", 0);
        if (library) dlclose(library);
        sum_of(1);
    }
    return unused;
}

static void *one_thread(void *argument)
{
    return (void *)(uintptr_t)(sum_of((unsigned)(uintptr_t)argument) & 0xffff);
}

static void *makes_threads(void *unused)
{
    const uintptr_t expected = (uintptr_t)one_thread((void *)3);
    while (!over) {
        pthread_t threads[4];
        for (int i = 0; i < 4; i++)
            if (pthread_create(&threads[i], NULL, one_thread, (void *)3)) abort();
        for (int i = 0; i < 4; i++) {
            void *result;
            pthread_join(threads[i], &result);
            if ((uintptr_t)result != expected) bad("the result of a thread", 0);
        }
    }
    return unused;
}

static void *blocks(void *unused)
{
    sigset_t all, now;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    const uint64_t expected = sum_of(5);
    while (!over) {
        if (sum_of(5) != expected) bad("a sum of a thread that blocks signals", 0);
        pthread_sigmask(SIG_BLOCK, NULL, &now);
        if (!sigismember(&now, SIGTRAP) || !sigismember(&now, SIGUSR2)) bad("the mask of a thread", 0);
    }
    return unused;
}

static void *forks(void *unused)
{
    const uint64_t expected = sum_of(2);
    while (!over) {
        const pid_t child = fork();
        if (child == 0) _exit(sum_of(2) == expected ? 7 : 8);
        int status = 0;
        pid_t got;
        do got = waitpid(child, &status, 0);
        while (got < 0 && errno == EINTR);
        if (got != child || !WIFEXITED(status) || WEXITSTATUS(status) != 7) bad("a child", errno);
    }
    return unused;
}

static void on_trap(int number, siginfo_t *information, void *context)
{
    (void)number;
    (void)context;
    traps += information->si_code == SI_TKILL ? 1 : 1000;
}
static sigjmp_buf back;
static void on_fault(int number)
{
    faults++;
    siglongjmp(back, number);
}

/* Changes actions, and sees its own. One such thread at a time. */
static void *handles(void *unused)
{
    struct sigaction mine = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO},
                     fault = {.sa_handler = on_fault}, seen, first_trap, first_fault;
    sigaction(SIGTRAP, NULL, &first_trap);
    sigaction(SIGFPE, NULL, &first_fault);
    while (!over) {
        sigaction(SIGTRAP, &mine, NULL);
        sigaction(SIGTRAP, NULL, &seen);
        if (seen.sa_sigaction != on_trap) bad("the action of SIGTRAP", 0);
        traps = 0;
        raise(SIGTRAP);
        sum_of(1);
        if (traps != 1) bad("a trap", (int)traps);
        sigaction(SIGTRAP, &first_trap, NULL);
        signal(SIGFPE, on_fault);
        sigaction(SIGFPE, &fault, NULL);
        faults = 0;
        if (sigsetjmp(back, 1) == 0)
            __asm__ volatile("xorl %%ecx, %%ecx; xorl %%edx, %%edx; movl $1, %%eax; divl %%ecx"
                             :
                             :
                             : "eax", "ecx", "edx");
        if (faults != 1) bad("a fault", (int)faults);
        sigaction(SIGFPE, &first_fault, NULL);
        sum_of(2);
    }
    return unused;
}

/* ---- the state ---- */

static double processor_seconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void show_state(void)
{
    static const int numbers[] = {SIGTRAP, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGUSR1};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        struct { /* the kernel's, of 64 and of 32 bits */
            unsigned long handler, flags, restorer;
            unsigned char mask[8];
        } action = {0};
        if (syscall(SYS_rt_sigaction, numbers[i], NULL, &action, sizeof action.mask)) abort();
        printf("signal %d: %s, flags %lx\n", numbers[i],
               action.handler == 0   ? "default"
               : action.handler == 1 ? "ignored"
                                     : "handled",
               action.flags & ~0x04000000ul);
    }
    sigset_t mask;
    stack_t stack;
    sigprocmask(SIG_BLOCK, NULL, &mask);
    sigaltstack(NULL, &stack);
    int files = 0;
    for (int file = 0; file < 1024; file++) files += fcntl(file, F_GETFD) >= 0;
    printf("mask: trap %d, alternate stack %d, files %d, traced %d\n", sigismember(&mask, SIGTRAP),
           !(stack.ss_flags & SS_DISABLE), files, prctl(PR_GET_DUMPABLE) != 1);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void *(*function)(void *);
    } kinds[] = {{"work", work},           {"waits", waits}, {"for-ever", waits_for_ever},
                 {"allocates", allocates}, {"loads", loads}, {"threads", makes_threads},
                 {"blocks", blocks},       {"forks", forks}, {"handles", handles}};
    pthread_t threads[64];
    int count = 0, opening = 0;
    alarm(100); /* whatever becomes of the test */
    if (argc > 1 && strcmp(argv[1], "once") == 0) return (int)(sum_of(400) & 1);
    for (int i = 1; i < argc && count < 64; i++)
        for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
            if (strcmp(argv[i], kinds[k].name) != 0) continue;
            opening += kinds[k].function == waits;
            if (pthread_create(&threads[count++], NULL, kinds[k].function, NULL)) abort();
        }
    while (__atomic_load_n(&opened, __ATOMIC_ACQUIRE) < opening) usleep(1000);
    printf("ready\n");
    fflush(stdout);
    char line[16];
    ssize_t got;
    if (argc > 1 && strcmp(argv[1], "alone") == 0) { /* the only thread, and it works */
        fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK);
        const uint64_t expected = sum_of(20);
        while ((got = read(STDIN_FILENO, line, sizeof line)) < 0 && errno == EAGAIN)
            if (sum_of(20) != expected) bad("a sum", 0);
    } else if (strcmp(argv[argc - 1], "briefly") == 0) {
        got = 0;
        while (processor_seconds() < 0.6) usleep(10000);
    } else {
        got = read(STDIN_FILENO, line, sizeof line);
    }
    if (got < 0) bad("read", errno);
    over = 1;
    for (int i = 0; i < count; i++) {
        pthread_cond_broadcast(&never);
        while (pthread_tryjoin_np(threads[i], NULL) != 0) {
            pthread_cond_broadcast(&never);
            usleep(1000);
        }
    }
    show_state();
    printf("%s\n", wrong ? "wrong" : "right");
    return wrong != 0;
}
