/* SPDX-License-Identifier: Apache-2.0 */
/* More of what a program may do that a sampler inside it must not disturb (see sampled.c): stacks, code that
 * changes, threads and processes past libc, vectors, limits. Each word on the command line is one such thing;
 * what it prints must be the same with and without a sampler. Without words: their names. */
#define _GNU_SOURCE
#include <immintrin.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 512 };

static uint64_t work(unsigned rounds)
{
    static __thread uint64_t table[4096];
    uint64_t sum = 0;
    for (unsigned i = 0; i < 4096; i++) table[i] = i;
    for (unsigned r = 0; r < rounds; r++)
        for (unsigned i = 0; i < 4096; i++) sum += table[(i * 61u + r) % 4096] ^= r;
    return sum;
}

static void *pages(size_t count, int rights)
{
    void *made = mmap(NULL, count * PAGE, rights, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED) abort();
    return made;
}

static volatile sig_atomic_t heard;
static void hear(int number)
{
    (void)number;
    heard++;
}

static void handle(int number, void (*simple)(int), void (*full)(int, siginfo_t *, void *), int flags)
{
    struct sigaction action = {.sa_flags = flags | (full ? SA_SIGINFO : 0)};
    if (full)
        action.sa_sigaction = full;
    else
        action.sa_handler = simple;
    sigaction(number, &action, NULL);
}

/* ---- processes and threads past libc ---- */

static void do_vfork(void)
{
    volatile int right = 0;
    for (volatile int i = 0; i < 100; i++) {
        const pid_t child = vfork();
        if (child == 0) _exit((int)(work(2) & 1) + i % 100);
        int status;
        waitpid(child, &status, 0);
        right += WEXITSTATUS(status) == (int)(work(2) & 1) + i % 100;
        work(200);
    }
    printf("%d\n", right);
}

/* Shares all memory and even the thread-local storage of who made it, which waits. */
static int cloned(void *argument)
{
    static uint64_t table[4096];
    uint64_t *sum = argument;
    for (unsigned r = 0; r < 500; r++)
        for (unsigned i = 0; i < 4096; i++) *sum += table[i] += i ^ r;
    return 7;
}

static void do_clone(void)
{
    uint64_t sum = 0;
    for (int i = 0; i < 8; i++) {
        char *stack = pages(64, PROT_READ | PROT_WRITE);
        int status;
        const pid_t child = clone(cloned, stack + 64 * PAGE, CLONE_VM | CLONE_VFORK | SIGCHLD, &sum);
        waitpid(child, &status, 0);
        work(100);
        printf("%d ", WEXITSTATUS(status));
    }
    printf("%lu\n", (unsigned long)sum);
}

static void *endless(void *unused)
{
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    for (;;) work(1);
    return unused;
}

static void do_cancel(void)
{
    int right = 0;
    for (int i = 0; i < 30; i++) {
        pthread_t thread;
        void *result;
        pthread_create(&thread, NULL, endless, NULL);
        work(400);
        pthread_cancel(thread);
        pthread_join(thread, &result);
        right += result == PTHREAD_CANCELED;
    }
    printf("%d\n", right);
}

static void do_exit_among_threads(void)
{
    for (int i = 0; i < 8; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, endless, NULL);
    }
    work(20000);
    puts("leaving");
    fflush(stdout);
    _exit(9);
}

static void do_exec_among_threads(void)
{
    for (int i = 0; i < 4; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, endless, NULL);
    }
    work(20000);
    execl("/bin/echo", "echo", "executed", (char *)NULL);
}

/* Each of them is over before the clock comes by. */
static void *brief(void *number)
{
    work(3);
    if ((uintptr_t)number % 3 == 0) syscall(SYS_exit, 0);
    return NULL;
}

static void do_brief(void)
{
    for (uintptr_t i = 0; i < 3000; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, brief, (void *)i);
        pthread_join(thread, NULL);
    }
    puts("done");
}

/* ---- stacks ---- */

static sigjmp_buf back;
static int depth;

static void to_back(int number, siginfo_t *information, void *context)
{
    (void)number;
    (void)information;
    (void)context;
    siglongjmp(back, 1);
}

__attribute__((noinline)) static int deeper(int level)
{
    volatile char room[512];
    room[level % 512] = (char)level;
    depth = level;
    return level < 1 << 30 ? deeper(level + 1) + room[3] : 0;
}

/* The stack overflows; a handler on another one goes back. */
static void do_overflow(void)
{
    volatile int right = 0;
    stack_t other = {.ss_sp = pages(16, PROT_READ | PROT_WRITE), .ss_size = (size_t)16 * PAGE};
    sigaltstack(&other, NULL);
    handle(SIGSEGV, NULL, to_back, SA_ONSTACK);
    for (volatile int i = 0; i < 20; i++) {
        if (sigsetjmp(back, 1) == 0) deeper(0);
        work(1000);
        right += depth > 1000;
    }
    printf("%d\n", right);
}

static ucontext_t outer, inner;
static uint64_t switched;

static void other_stack(void)
{
    for (;;) {
        work(1);
        switched++;
        swapcontext(&inner, &outer);
    }
}

static void do_contexts(void)
{
    jmp_buf here;
    getcontext(&inner);
    inner.uc_stack.ss_sp = pages(16, PROT_READ | PROT_WRITE);
    inner.uc_stack.ss_size = (size_t)16 * PAGE;
    makecontext(&inner, other_stack, 0);
    for (volatile int i = 0; i < 30000; i++) {
        swapcontext(&outer, &inner);
        if (setjmp(here) == 0) longjmp(here, 1);
    }
    printf("%lu\n", (unsigned long)switched);
}

/* Below the stack pointer is a leaf's, too. */
static void do_red_zone(void)
{
    uint64_t sum = 0;
    for (uint64_t r = 0; r < 200000; r++) {
        uint64_t found;
        __asm__ volatile("movq %1, -8(%%rsp)\n movq %1, -128(%%rsp)\n mov $400, %%ecx\n"
                         "1: dec %%ecx\n jnz 1b\n"
                         "movq -8(%%rsp), %0\n addq -128(%%rsp), %0"
                         : "=&r"(found)
                         : "r"(r)
                         : "rcx", "memory", "cc");
        sum += found;
    }
    printf("%lu\n", (unsigned long)sum);
}

/* ---- code that changes ---- */

/* mov rax, [rdi]; add rax, value; ret */
static void write_code(unsigned char *at, uint32_t value)
{
    static const unsigned char code[] = {0x48, 0x8b, 0x07, 0x48, 0x05, 0, 0, 0, 0, 0xc3};
    memcpy(at, code, sizeof code);
    memcpy(at + 5, &value, sizeof value);
}

static uint64_t call_code(const unsigned char *at, uint64_t value)
{
    uint64_t (*function)(const uint64_t *);
    memcpy(&function, &at, sizeof function);
    uint64_t sum = 0;
    for (int i = 0; i < 30; i++) sum += function(&value);
    return sum;
}

/* Writable all along; made writable in between; taken away and put there anew. */
static void do_changing_code(void)
{
    enum { TIMES = 15000 };
    uint64_t sum = 0;
    unsigned char *at = pages(1, PROT_READ | PROT_WRITE | PROT_EXEC);
    for (uint32_t i = 0; i < TIMES; i++) {
        write_code(at, i);
        sum += call_code(at, i);
    }
    for (uint32_t i = 0; i < TIMES; i++) {
        mprotect(at, PAGE, PROT_READ | PROT_WRITE);
        write_code(at, 3 * i);
        mprotect(at, PAGE, PROT_READ | PROT_EXEC);
        sum += call_code(at, i);
    }
    for (uint32_t i = 0; i < TIMES; i++) {
        munmap(at, PAGE);
        mmap(at, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        write_code(at, 7 * i);
        sum += call_code(at, i);
    }
    printf("%lu\n", (unsigned long)sum);
}

/* ---- signals ---- */

static void do_timers(void)
{
    static const int numbers[] = {SIGPROF, SIGVTALRM, SIGALRM},
                     timers[] = {ITIMER_PROF, ITIMER_VIRTUAL, ITIMER_REAL};
    const struct itimerval each = {{0, 1000}, {0, 1000}};
    for (int i = 0; i < 3; i++) {
        handle(numbers[i], hear, NULL, SA_RESTART);
        setitimer(timers[i], &each, NULL);
    }
    const uint64_t sum = work(60000);
    printf("%lu %d\n", (unsigned long)sum, heard > 10);
}

/* One step at a time, and breakpoints of its own. */
static void do_traps(void)
{
    handle(SIGTRAP, hear, NULL, 0);
    for (int i = 0; i < 50; i++) {
        __asm__ volatile(
            "pushfq\n orq $0x100, (%%rsp)\n popfq\n nop\n nop\n pushfq\n andq $~0x100, (%%rsp)\n popfq" ::
                : "memory", "cc");
        work(800);
        __asm__ volatile("int3");
    }
    signal(SIGTRAP, SIG_IGN);
    raise(SIGTRAP);
    printf("%d %lu\n", (int)heard, (unsigned long)work(1000));
}

static char *area;

static void mend(int number, siginfo_t *information, void *context)
{
    (void)number;
    (void)context;
    heard++;
    mprotect((void *)((uintptr_t)information->si_addr / PAGE * PAGE), PAGE, PROT_READ | PROT_WRITE);
}

static void do_mended_faults(void)
{
    uint64_t sum = 0;
    handle(SIGSEGV, NULL, mend, 0);
    area = pages(PAGES, PROT_NONE);
    for (int k = 0; k < 20; k++) {
        mprotect(area, (size_t)PAGES * PAGE, PROT_NONE);
        for (size_t i = 0; i < (size_t)PAGES * PAGE; i += 64) sum += (unsigned char)++area[i];
    }
    printf("%d %lu\n", (int)heard, (unsigned long)sum);
}

/* ---- vectors ---- */

/* A gather faults in its midst, is mended, and goes on. */
__attribute__((target("avx2"))) static void do_faulting_gather(void)
{
    uint64_t sum = 0;
    if (!__builtin_cpu_supports("avx2")) return;
    handle(SIGSEGV, NULL, mend, 0);
    area = pages(PAGES, PROT_NONE);
    const __m256i steps =
        _mm256_set_epi32(7 * PAGE, 6 * PAGE, 5 * PAGE, 4 * PAGE, 3 * PAGE, 2 * PAGE, PAGE, 0);
    for (int k = 0; k < 40; k++) {
        mprotect(area, (size_t)PAGES * PAGE, PROT_NONE);
        for (int i = 0; i < PAGES - 8; i++) {
            const __m256i index = _mm256_add_epi32(steps, _mm256_set1_epi32(i * PAGE));
            const __m256i found = _mm256_i32gather_epi32((const int *)(void *)area, index, 1);
            sum += (uint64_t)_mm256_extract_epi32(found, 3);
            *(int *)(void *)(area + (size_t)i * PAGE) += i;
        }
    }
    printf("%d %lu\n", (int)heard, (unsigned long)sum);
}

__attribute__((target("avx512f"))) static void do_wide_vectors(void)
{
    enum { WORDS = 65536 };
    static int32_t words[WORDS];
    uint64_t sum = 0;
    if (!__builtin_cpu_supports("avx512f")) return;
    for (int i = 0; i < WORDS; i++) words[i] = i * 3;
    for (int r = 0; r < 1500; r++)
        for (int i = 0; i < WORDS; i += 16) {
            const __m512i index =
                _mm512_and_si512(_mm512_add_epi32(_mm512_set1_epi32(i * 7 + r),
                                                  _mm512_set_epi32(0, 5, 10, 15, 20, 25, 300, 350, 400, 450,
                                                                   500, 5500, 6000, 6500, 7000, 7)),
                                 _mm512_set1_epi32(WORDS - 1));
            const __m512i found =
                _mm512_mask_i32gather_epi32(index, (__mmask16)(0xa5a5 ^ r), index, words, 4);
            _mm512_mask_i32scatter_epi32(words, (__mmask16)0x11, index, found, 4);
            _mm512_mask_compressstoreu_epi32(words + ((i + r) & 32767), (__mmask16)0x7, found);
            sum += (uint64_t)_mm512_reduce_add_epi32(found);
        }
    printf("%lu\n", (unsigned long)sum);
}

/* ---- limits ---- */

/* No descriptor is left: nothing can be opened. */
static void do_no_descriptors(void)
{
    const struct rlimit none = {3, 3};
    setrlimit(RLIMIT_NOFILE, &none);
    printf("%lu\n", (unsigned long)work(60000));
}

static void do_other_root(void)
{
    if (chroot("/tmp") != 0 || chdir("/") != 0) puts("not allowed");
    printf("%lu\n", (unsigned long)work(60000));
}

static void do_little_memory(void)
{
    const struct rlimit little = {1 << 27, 1 << 27};
    setrlimit(RLIMIT_AS, &little);
    printf("%lu\n", (unsigned long)work(60000));
}

/* All signals, past libc, for a second: fathom looks for that a few times a second. */
static void do_blocked(void)
{
    const uint64_t all = ~UINT64_C(0);
    const clock_t end = clock() + CLOCKS_PER_SEC;
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, &all, NULL, sizeof all);
    while (clock() < end) work(100);
    puts("done");
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } all[] = {{"vfork", do_vfork},
               {"clone", do_clone},
               {"cancel", do_cancel},
               {"exit-among-threads", do_exit_among_threads},
               {"exec-among-threads", do_exec_among_threads},
               {"overflow", do_overflow},
               {"contexts", do_contexts},
               {"red-zone", do_red_zone},
               {"changing-code", do_changing_code},
               {"timers", do_timers},
               {"traps", do_traps},
               {"mended-faults", do_mended_faults},
               {"faulting-gather", do_faulting_gather},
               {"wide-vectors", do_wide_vectors},
               {"no-descriptors", do_no_descriptors},
               {"other-root", do_other_root},
               {"little-memory", do_little_memory},
               {"blocked", do_blocked},
               {"brief", do_brief}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (argc < 2) puts(all[i].name);
        for (int k = 1; k < argc; k++)
            if (strcmp(argv[k], all[i].name) == 0) all[i].run();
    }
    return 0;
}
