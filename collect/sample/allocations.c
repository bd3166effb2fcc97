/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * allocations.c - malloc and its relatives: the allocator stays the one that the program has; some of the
 * blocks that it gives and takes are told to the receiver (sample_protocol.h), so that it knows whose data a
 * burst uses.
 *
 * Programs allocate ten million blocks a second and more, so that nearly all calls must do nothing here but a
 * test. Large blocks are told, and of the others those whose address has a hash below a limit: then free
 * need not ask anybody whether a small block was told. Where they come faster than so many a second, fewer
 * are told from then on: the limit falls.
 */
#define _GNU_SOURCE
#include "collect/sample/sampler.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#define EXPORT __attribute__((visibility("default")))
#define LIKELY(condition) __builtin_expect(!!(condition), 1)

enum {
    FIRST_LARGE = 4096,   /* bytes of a block that is told for its size, */
    LARGE_MOST = 1 << 30, /* and that may become more */
    ROUND_BLOCKS = 256,   /* blocks after which it is looked how fast they came */
    ROUNDS_A_SECOND = 16, /* at most, */
    COST_SHARE = 256,     /* and so that telling takes one part in so many of the time */
    COST_MOST = 100000,   /* one of so many of a second that telling one block is believed to take, at most */
    MET = 2048,
    NEAR = 16, /* places of `blocks` where one may be */
    CROWDED = 16,
    PAGE = 4096,
};

static struct {
    uint64_t limit;              /* as heap_limit of the process; 0: none is told */
    uint64_t large;              /* as heap_large; UINT64_MAX: none */
    uint64_t since;              /* time-stamp counter when the round began */
    uint64_t cost;               /* what telling took in it, by the same counter */
    uint32_t by_chance, by_size; /* told in it */
    uint32_t telling;            /* threads that do */
    uint8_t met[MET];            /* large blocks that were told and not freed, by their hash; 255: too many */
    uintptr_t blocks[MET];       /* these blocks */
} heap = {.large = UINT64_MAX};

/* ---- the functions behind ours ---- */

static void *first_malloc(size_t bytes);
static void *first_calloc(size_t count, size_t each);
static void *first_realloc(void *block, size_t bytes);
static void first_free(void *block);
static void *first_aligned(size_t align, size_t bytes);
static int first_posix_memalign(void **block, size_t align, size_t bytes);

static struct {
    void *(*malloc)(size_t);
    void *(*calloc)(size_t, size_t);
    void *(*realloc)(void *, size_t);
    void (*free)(void *);
    void *(*memalign)(size_t, size_t);
    void *(*aligned_alloc)(size_t, size_t);
    int (*posix_memalign)(void **, size_t, size_t);
} next = {first_malloc,  first_calloc,  first_realloc,       first_free,
          first_aligned, first_aligned, first_posix_memalign};

/*
 * The search for them may itself allocate. What it gets comes from here, and is never really given back. No
 * C library known does so since many years, hence the one who pays is free, and only then.
 */
static char early_memory[1 << 14] __attribute__((aligned(64)));
static size_t early_used;
static void (*behind_free)(void *);
static uintptr_t behind[FM_SAMPLE_HEAP_FUNCTIONS];
/* volatile: dlsym is declared to call nothing in this file, but it does. */
static __thread volatile bool searching __attribute__((tls_model("initial-exec")));

static void *early_block(size_t bytes)
{
    const size_t room = (bytes + 15) & ~(size_t)15;
    if (room < bytes || room > sizeof early_memory) return NULL;
    const size_t at = __atomic_fetch_add(&early_used, room, __ATOMIC_RELAXED);
    return at <= sizeof early_memory - room ? early_memory + at : NULL;
}

static bool is_early(const void *block)
{
    return (uintptr_t)block - (uintptr_t)early_memory < sizeof early_memory;
}

static void free_unless_early(void *block)
{
    if (!is_early(block)) behind_free(block);
}

/* Those that the program calls: what it was linked with may bring another allocator than libc's. We come
 * before all of it, or, where it ran already, behind. */
static void allocator_search(void)
{
    static const char *const names[FM_SAMPLE_HEAP_FUNCTIONS] = {
        "malloc", "calloc", "realloc", "free", "memalign", "aligned_alloc", "posix_memalign"};
    void *found[FM_SAMPLE_HEAP_FUNCTIONS];
    searching = true;
    for (size_t i = 0; i < FM_SAMPLE_HEAP_FUNCTIONS; i++)
        found[i] = dlsym(fm_self.joined ? RTLD_DEFAULT : RTLD_NEXT, names[i]);
    searching = false;
    for (size_t i = 0; i < FM_SAMPLE_HEAP_FUNCTIONS; i++) behind[i] = (uintptr_t)found[i];
    behind_free = (void (*)(void *))(uintptr_t)found[3];
    next.free = __atomic_load_n(&early_used, __ATOMIC_RELAXED) ? free_unless_early : behind_free;
    next.calloc = (void *(*)(size_t, size_t))(uintptr_t)found[1];
    next.realloc = (void *(*)(void *, size_t))(uintptr_t)found[2];
    next.memalign = (void *(*)(size_t, size_t))(uintptr_t)found[4];
    next.aligned_alloc = (void *(*)(size_t, size_t))(uintptr_t)found[5];
    next.posix_memalign = (int (*)(void **, size_t, size_t))(uintptr_t)found[6];
    next.malloc = (void *(*)(size_t))(uintptr_t)found[0];
}

static void *first_malloc(size_t bytes)
{
    if (searching) return early_block(bytes);
    allocator_search();
    return next.malloc(bytes);
}

static void *first_calloc(size_t count, size_t each)
{
    size_t bytes;
    if (searching) return __builtin_mul_overflow(count, each, &bytes) ? NULL : early_block(bytes);
    allocator_search();
    return next.calloc(count, each);
}

static void *first_realloc(void *block, size_t bytes)
{
    if (searching) return NULL;
    allocator_search();
    return next.realloc(block, bytes);
}

static void first_free(void *block)
{
    if (searching || !block) return;
    allocator_search();
    next.free(block);
}

/* memalign and aligned_alloc: what one allows the other does. */
static void *first_aligned(size_t align, size_t bytes)
{
    if (searching) return NULL;
    allocator_search();
    return next.memalign(align, bytes);
}

static int first_posix_memalign(void **block, size_t align, size_t bytes)
{
    if (searching) return ENOMEM;
    allocator_search();
    return next.posix_memalign(block, align, bytes);
}

/* ---- large blocks ---- */

static uint32_t home_of(uint64_t hash)
{
    return (uint32_t)(hash >> 53);
}
_Static_assert(MET == 1 << (64 - 53), "home_of");

/* False: there is no place for it. */
static bool block_remember(uintptr_t block, uint32_t home)
{
    if (__atomic_load_n(&heap.met[home], __ATOMIC_RELAXED) >= NEAR) return false;
    for (uint32_t i = 0; i < NEAR; i++) {
        uintptr_t none = 0;
        if (!__atomic_compare_exchange_n(&heap.blocks[(home + i) % MET], &none, block, false,
                                         __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            continue;
        __atomic_fetch_add(&heap.met[home], 1, __ATOMIC_RELAXED);
        return true;
    }
    return false;
}

static bool is_there(uintptr_t block, uint32_t home)
{
    for (uint32_t i = 0; i < NEAR; i++)
        if (__atomic_load_n(&heap.blocks[(home + i) % MET], __ATOMIC_RELAXED) == block) return true;
    return false;
}

/* It is not remembered any more. False: it was not. */
static bool block_recall(uintptr_t block, uint32_t home)
{
    for (uint32_t i = 0; i < NEAR; i++) {
        uintptr_t same = block;
        if (!__atomic_compare_exchange_n(&heap.blocks[(home + i) % MET], &same, 0, false, __ATOMIC_RELAXED,
                                         __ATOMIC_RELAXED))
            continue;
        __atomic_fetch_sub(&heap.met[home], 1, __ATOMIC_RELAXED);
        return true;
    }
    return false;
}

/* ---- telling ---- */

static fm_sample_heap *shared_heap(void)
{
    return (fm_sample_heap *)(void *)((char *)fm_self.session + fm_sample_heap_offset());
}

static bool slot_claim(uint32_t *state)
{
    uint32_t free = FM_SAMPLE_CELL_FREE;
    return __atomic_load_n(state, __ATOMIC_RELAXED) == free &&
           __atomic_compare_exchange_n(state, &free, FM_SAMPLE_CELL_CLAIMED, false, __ATOMIC_ACQUIRE,
                                       __ATOMIC_RELAXED);
}

static void slot_publish(uint32_t *state)
{
    __atomic_store_n(state, FM_SAMPLE_CELL_FULL, __ATOMIC_RELEASE);
    __atomic_fetch_add(&shared_heap()->told, 1, __ATOMIC_RELEASE);
}

static void block_lost(bool by_chance)
{
    if (by_chance) __atomic_fetch_add(&fm_self.process->heap_lost, 1, __ATOMIC_RELAXED);
    fm_sampler_wake();
}

/* Fewer are told from now on, where they came too fast or telling took too long; the more so, the faster. */
static void end_round(uint64_t now)
{
    const uint64_t took = now - heap.since, cost = __atomic_exchange_n(&heap.cost, 0, __ATOMIC_RELAXED);
    const uint32_t by_chance = heap.by_chance, by_size = heap.by_size;
    uint64_t wanted = fm_self.session->frequency / ROUNDS_A_SECOND;
    if (wanted < cost * COST_SHARE) wanted = cost * COST_SHARE;
    heap.since = now;
    heap.by_chance = heap.by_size = 0;
    if (took >= wanted) return;
    const uint32_t steps = took >= wanted / 64 ? 1 : 2;
    if (by_size > by_chance) {
        if (heap.large < LARGE_MOST) heap.large <<= 2 * steps;
    } else {
        heap.limit >>= steps;
        if (heap.limit == 0) heap.limit = 1;
    }
    fm_self.process->heap_large = heap.large;
    __atomic_store_n(&fm_self.process->heap_limit, heap.limit, __ATOMIC_RELEASE);
}

uint32_t fm_sampler_copy_stack(void *to, uint64_t from, uint32_t most)
{
    /* By the kernel, page by page: where the stack ends is not known. */
    enum { PIECES = FM_SAMPLE_STACK / PAGE + 1 };
    struct iovec there[PIECES];
    uint32_t pieces = 0;
    for (uint64_t at = from, end = from + most; at < end && pieces < PIECES; pieces++) {
        const uint64_t border = (at / PAGE + 1) * PAGE, until = border < end ? border : end;
        there[pieces] = (struct iovec){(void *)(uintptr_t)at, until - at};
        at = until;
    }
    const struct iovec here = {to, most};
    const long copied =
        fm_syscall(__NR_process_vm_readv, fm_self.pid, (long)&here, 1, (long)there, pieces, 0);
    return copied > 0 ? (uint32_t)copied : 0;
}

/* Around everything that uses the session. A signal may come in the midst of it, whose handler takes its
 * time: the session stays until then. */
static void step_in(void)
{
    __atomic_fetch_add(&heap.telling, 1, __ATOMIC_SEQ_CST);
}

static void step_out(void)
{
    __atomic_fetch_sub(&heap.telling, 1, __ATOMIC_SEQ_CST);
}

static void tell_block(uintptr_t block, size_t bytes, uintptr_t caller)
{
    if (!fm_self.session || fm_self.stopped || fm_sampler_halted()) {
        heap.limit = 0;
        heap.large = UINT64_MAX;
        return;
    }
    fm_self.process->heap_seen = 1;
    const uint64_t hash = fm_sample_heap_hash(block), now = fm_sampler_ticks();
    const bool by_size = bytes >= heap.large && block_remember(block, home_of(hash));
    if (!by_size && hash >= heap.limit) return;
    const uint32_t count = __atomic_add_fetch(by_size ? &heap.by_size : &heap.by_chance, 1, __ATOMIC_RELAXED);
    if (count >= ROUND_BLOCKS) end_round(now);
    fm_sample_allocation *cell = shared_heap()->allocations;
    /* The last cells are for large blocks: a storm of small ones must not hide these. */
    const uint32_t most = by_size ? FM_SAMPLE_ALLOCATIONS : FM_SAMPLE_ALLOCATIONS / 8 * 7;
    uint32_t at = 0;
    while (at < most && !slot_claim(&cell[at].state)) at++;
    if (at == most) {
        block_lost(!by_size);
        return;
    }
    cell += at;
    cell->serial = fm_self.process->serial;
    cell->time = now;
    cell->address = block;
    cell->bytes = bytes;
    cell->caller = caller;
    cell->by_chance = !by_size;
    __asm__ volatile("lea 0(%%rip), %%rax\n\tmov %%rax, 0(%0)\n\tmov %%rsp, 8(%0)\n\tmov %%rbp, 16(%0)\n\t"
                     "mov %%rbx, 24(%0)\n\tmov %%r12, 32(%0)\n\tmov %%r13, 40(%0)\n\tmov %%r14, 48(%0)\n\t"
                     "mov %%r15, 56(%0)"
                     :
                     : "r"(cell->registers)
                     : "rax", "memory");
    cell->stack_bytes = fm_sampler_copy_stack(cell->stack, cell->registers[1], FM_SAMPLE_HEAP_STACK);
    slot_publish(&cell->state);
    if (at >= CROWDED) fm_sampler_wake();
}

/* To be called around what tells one. A signal whose handler takes its time is not what telling costs. */
static void count_cost(uint64_t begin)
{
    const uint64_t took = fm_sampler_ticks() - begin, most = fm_self.session->frequency / COST_MOST;
    __atomic_fetch_add(&heap.cost, took < most ? took : most, __ATOMIC_RELAXED);
}

__attribute__((noinline, cold)) static void block_tell(uintptr_t block, size_t bytes, uintptr_t caller)
{
    const uint64_t begin = fm_sampler_ticks();
    step_in();
    tell_block(block, bytes, caller);
    if (fm_self.session) count_cost(begin);
    step_out();
}

static void tell_freed(uintptr_t block, bool by_size)
{
    const uint64_t now = fm_sampler_ticks();
    if (!(by_size || fm_sample_heap_hash(block) < heap.limit) || !fm_self.session || fm_self.stopped ||
        fm_sampler_halted())
        return;
    fm_sample_free *cell = shared_heap()->frees;
    uint32_t at = 0;
    while (at < FM_SAMPLE_FREES && !slot_claim(&cell[at].state)) at++;
    if (at == FM_SAMPLE_FREES) {
        block_lost(false);
        return;
    }
    cell += at;
    cell->serial = fm_self.process->serial;
    cell->time = now;
    cell->address = block;
    slot_publish(&cell->state);
    count_cost(now);
}

/* Most that come here only have their place in common with a large one that was told. */
__attribute__((noinline, cold)) static void tell_free(uintptr_t block)
{
    const uint64_t hash = fm_sample_heap_hash(block);
    const uint32_t home = home_of(hash);
    const bool by_size = block && heap.met[home] && is_there(block, home);
    if (!block || !(by_size || hash < heap.limit)) return;
    step_in();
    tell_freed(block, by_size && block_recall(block, home));
    step_out();
}

void fm_sampler_heap_prepare(void)
{
    if (!behind_free) allocator_search();
}

uintptr_t fm_sampler_heap_behind(uint32_t which)
{
    return which < FM_SAMPLE_HEAP_FUNCTIONS ? behind[which] : 0;
}

bool fm_sampler_heap_is_told(void)
{
    return __atomic_load_n(&heap.telling, __ATOMIC_SEQ_CST) != 0;
}

void fm_sampler_heap_forked(void)
{
    heap.telling = 0; /* by threads that are not here */
}

void fm_sampler_heap_end(void)
{
    fm_sampler_heap_begin();              /* without a session: none is told */
    memset(heap.met, 0, sizeof heap.met); /* who frees them tells nobody */
    memset(heap.blocks, 0, sizeof heap.blocks);
}

void fm_sampler_heap_begin(void)
{
    const bool wanted = fm_self.session && fm_self.session->wants & FM_SAMPLE_WANT_OBJECTS;
    if (wanted && heap.since == 0) heap.since = fm_sampler_ticks();
    if (wanted && heap.limit == 0) heap.limit = UINT64_MAX;
    if (wanted && heap.large == UINT64_MAX) heap.large = FIRST_LARGE;
    if (wanted) {
        fm_self.process->heap_limit = heap.limit;
        fm_self.process->heap_large = heap.large;
    } else {
        heap.limit = 0;
        heap.large = UINT64_MAX;
    }
}

/* ---- what the program calls ---- */

#define CALLER ((uintptr_t)__builtin_return_address(0))

static inline __attribute__((always_inline)) void *allocated(void *block, size_t bytes, uintptr_t caller)
{
    if (LIKELY(fm_sample_heap_hash((uintptr_t)block) >= heap.limit && bytes < heap.large)) return block;
    if (block) block_tell((uintptr_t)block, bytes, caller);
    return block;
}

static inline __attribute__((always_inline)) void freed(const void *block)
{
    const uint64_t hash = fm_sample_heap_hash((uintptr_t)block);
    if (LIKELY(hash >= heap.limit && !heap.met[home_of(hash)])) return;
    tell_free((uintptr_t)block);
}

EXPORT void *malloc(size_t bytes)
{
    return allocated(next.malloc(bytes), bytes, CALLER);
}

EXPORT void *calloc(size_t count, size_t each)
{
    return allocated(next.calloc(count, each), count * each, CALLER);
}

EXPORT void free(void *block)
{
    freed(block);
    next.free(block);
}

/* What lies behind the block comes with it: it is not known how long it is. */
static void *moved_from_early(const char *block, size_t bytes)
{
    const size_t have = sizeof early_memory - (size_t)(block - early_memory);
    char *fresh = next.malloc(bytes);
    for (size_t i = 0; fresh && i < bytes && i < have; i++) ((volatile char *)fresh)[i] = block[i];
    return fresh;
}

EXPORT void *realloc(void *block, size_t bytes)
{
    if (__builtin_expect(is_early(block), 0)) return moved_from_early(block, bytes);
    freed(block); /* before it is, so that no other thread is told to have it sooner */
    return allocated(next.realloc(block, bytes), bytes, CALLER);
}

EXPORT void *reallocarray(void *block, size_t count, size_t each)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, each, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    freed(block);
    return allocated(next.realloc(block, bytes), bytes, CALLER);
}

EXPORT void *memalign(size_t align, size_t bytes)
{
    return allocated(next.memalign(align, bytes), bytes, CALLER);
}

EXPORT void *aligned_alloc(size_t align, size_t bytes)
{
    return allocated(next.aligned_alloc(align, bytes), bytes, CALLER);
}

EXPORT int posix_memalign(void **block, size_t align, size_t bytes)
{
    const int result = next.posix_memalign(block, align, bytes);
    if (result == 0) allocated(*block, bytes, CALLER);
    return result;
}
