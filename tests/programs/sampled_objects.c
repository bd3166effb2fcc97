/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For `fathom sample`: rounds over data of five kinds, whose misses in a small cache are known. In each
 * round, of 9,216 uses of blocks: a global twice 1,024, a large heap block, the stack, a thread-local array
 * 1,024 each, and 4,096 small heap blocks.
 *
 *     sampled_objects objects [SECONDS]
 *     sampled_objects own        the same with an allocator of its own
 *     sampled_objects paths      one function on two paths: four fifths of its uses through left
 *     sampled_objects threads    blocks that one thread allocates and another one frees, over and over
 *     sampled_objects seldom     marks of regions, seldom
 *     sampled_objects renews FILE    until a line comes: 1,024 uses each of a global, of a mapped file, of a
 *                                heap block from the beginning, of one that is allocated anew again and
 *                                again, and of small ones likewise; says whether malloc is what it was
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { BLOCKS = 1024, BLOCK = 64, NODES = 4 * BLOCKS };
struct node {
    struct node *next;
    char rest[BLOCK + BLOCK / 4];
};
static char global_table[BLOCKS * BLOCK] __attribute__((aligned(BLOCK)));
static __thread char local_table[BLOCKS * BLOCK] __attribute__((aligned(BLOCK)));
static char own_memory[1 << 20] __attribute__((aligned(BLOCK)));
static size_t own_used;
static int own;

static void *allocate(size_t bytes)
{
    if (!own) return malloc(bytes);
    void *block = own_memory + own_used;
    own_used += (bytes + 15) / 16 * 16;
    return block;
}

__attribute__((noinline)) static char *make_large(void)
{
    char *block = allocate(BLOCKS * BLOCK);
    __asm__ volatile("" : "+r"(block)); /* no jump to malloc: this function has to be on the stack */
    return block;
}

__attribute__((noinline)) static struct node *make_small(void)
{
    struct node *list = NULL;
    for (int i = 0; i < NODES; i++) {
        struct node *node = allocate(sizeof *node);
        node->next = list;
        list = node;
    }
    return list;
}

/* So many small blocks at once that not all of them can be told. */
__attribute__((noinline)) static void storm(void)
{
    void *kept[64] = {0};
    for (int i = 0; i < 20000; i++) {
        free(kept[i % 64]);
        kept[i % 64] = malloc(16 + (size_t)(i % 100));
    }
    for (int i = 0; i < 64; i++) free(kept[i]);
}

__attribute__((noinline)) static uint64_t sweep(volatile char *data)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < BLOCKS; i++) sum += (unsigned char)data[i * BLOCK];
    return sum;
}

__attribute__((noinline)) static uint64_t walk(const struct node *node)
{
    uint64_t count = 0;
    for (; node; node = node->next) count++;
    return count;
}

static double processor_seconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static uint64_t objects(double seconds)
{
    volatile char stack[BLOCKS * BLOCK] __attribute__((aligned(BLOCK)));
    storm();
    nanosleep(&(struct timespec){.tv_nsec = 100000000},
              NULL); /* until that was read: what comes next is told */
    char *large = make_large();
    struct node *small = make_small();
    uint64_t sum = 0;
    memset((char *)stack, 1, sizeof stack);
    memset(large, 1, BLOCKS * BLOCK);
    while (processor_seconds() < seconds)
        for (int i = 0; i < 50; i++) {
            sum |= sweep(global_table);
            sum |= sweep(large);
            sum |= sweep(stack);
            sum |= sweep(local_table);
            sum |= sweep(global_table);
            sum |= walk(small);
        }
    return sum;
}

/* ---- paths ---- */

__attribute__((noinline)) static uint64_t middle(size_t blocks)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < blocks; i++) sum += (unsigned char)((volatile char *)global_table)[i * BLOCK];
    __asm__ volatile("" ::: "memory");
    return sum;
}
__attribute__((noinline)) static uint64_t left(void)
{
    uint64_t sum = middle(BLOCKS);
    __asm__ volatile("" ::: "memory");
    return sum + 1;
}
__attribute__((noinline)) static uint64_t right(void)
{
    uint64_t sum = middle(BLOCKS / 2);
    __asm__ volatile("" ::: "memory");
    return sum + 2;
}
__attribute__((noinline)) static uint64_t paths(double seconds)
{
    uint64_t sum = 0;
    while (processor_seconds() < seconds)
        for (int i = 0; i < 300; i++) sum |= left() + right() + left();
    return sum;
}

/* ---- blocks that are allocated anew ---- */

static int line_came(void)
{
    struct pollfd input = {.fd = 0, .events = POLLIN};
    return poll(&input, 1, 0) > 0;
}

__attribute__((noinline)) static char *make_before(void)
{
    char *block = malloc(BLOCKS * BLOCK);
    __asm__ volatile("" : "+r"(block));
    return block;
}

__attribute__((noinline)) static void *allocator(void)
{
    void *(*volatile function)(size_t) = malloc;
    return (void *)(uintptr_t)function;
}

static int renews(const char *path)
{
    const int file = open(path, O_RDONLY);
    volatile char *table = mmap(NULL, BLOCKS * BLOCK, PROT_READ, MAP_PRIVATE, file, 0);
    const void *const before = allocator();
    uint64_t sum = 0;
    char *first = make_before();
    if (table == MAP_FAILED) return 1;
    memset(first, 1, BLOCKS * BLOCK);
    puts("ready");
    fflush(stdout);
    while (!line_came()) {
        char *large = make_large();
        struct node *small = make_small();
        for (size_t i = 0; i < BLOCKS; i++) ((volatile char *)large)[i * BLOCK] = 1; /* what sweep reads */
        for (int i = 0; i < 1000; i++)
            sum |= sweep(global_table) | sweep(table) | sweep(first) | sweep(large) | walk(small);
        while (small) {
            struct node *next = small->next;
            free(small);
            small = next;
        }
        free(large);
    }
    puts(allocator() == before ? "malloc is what it was" : "malloc is another one");
    return sum == 0;
}

/* ---- threads ---- */

enum { HANDED = 4096 };
static char *handed[HANDED];

static void *take(void *argument)
{
    uint64_t *sum = argument;
    for (long i = 0; i < 300000; i++) {
        char **place = &handed[i % HANDED];
        char *block;
        while (!(block = __atomic_exchange_n(place, NULL, __ATOMIC_ACQ_REL))) sched_yield();
        *sum += (unsigned char)block[0] + (unsigned char)block[40];
        free(block);
    }
    return NULL;
}

static uint64_t threads(void)
{
    pthread_t taker;
    uint64_t sum = 0;
    if (pthread_create(&taker, NULL, take, &sum) != 0) return 0;
    for (long i = 0; i < 300000; i++) {
        char *block = i % 3 == 0   ? calloc(1, 64)
                      : i % 3 == 1 ? realloc(malloc(8), 64)
                                   : aligned_alloc(64, 64);
        block[0] = (char)i;
        block[40] = 1;
        while (__atomic_load_n(&handed[i % HANDED], __ATOMIC_ACQUIRE)) sched_yield();
        __atomic_store_n(&handed[i % HANDED], block, __ATOMIC_RELEASE);
    }
    pthread_join(taker, NULL);
    return sum;
}

/* ---- seldom ---- */

extern void fathom_region_begin(const char *name) __attribute__((weak));
extern void fathom_region_end(void) __attribute__((weak));

/* Calls that use the sampler's own data, and then enough else that these uses look like ones to be watched.
 */
static uint64_t seldom(double seconds)
{
    enum { WORDS = 2048, ROUNDS = 3 };
    static uint64_t words[WORDS];
    uint64_t sum = 0;
    const clock_t end = clock() + (clock_t)(seconds * CLOCKS_PER_SEC);
    while (clock() < end)
        for (int i = 0; i < 64; i++) {
            if (fathom_region_begin) fathom_region_begin("seldom");
            for (int k = 0; k < ROUNDS * WORDS; k++)
                sum += __atomic_load_n(&words[k % WORDS], __ATOMIC_RELAXED);
            if (fathom_region_end) fathom_region_end();
        }
    return sum;
}

int main(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "objects";
    const double seconds = argc > 2 ? atof(argv[2]) : 0.6;
    own = strcmp(word, "own") == 0;
    uint64_t result;
    if (strcmp(word, "renews") == 0) return argc > 2 ? renews(argv[2]) : 2;
    if (strcmp(word, "paths") == 0)
        result = paths(seconds);
    else if (strcmp(word, "threads") == 0)
        result = threads();
    else if (strcmp(word, "seldom") == 0)
        result = seldom(seconds);
    else
        result = objects(seconds);
    printf("%llu\n", (unsigned long long)result);
    return 0;
}
