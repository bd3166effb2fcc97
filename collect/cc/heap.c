/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * heap.c - malloc and its relatives: the allocator stays the one that the program has; what it gives and
 * takes is reported. Built into programs only (interpose.h).
 */
#define _GNU_SOURCE
#include "interpose.h"

#include <errno.h>

#ifdef FM_VARIANT_STATIC

#define EARLY_ALLOC(bytes, align)
#define EARLY_FREE(block)

#else

#include <dlfcn.h>

/*
 * The search for the next definition may itself allocate, or give back what the last search that failed has
 * left. The former comes from here, and neither is really given back: few and small blocks, once for each
 * function.
 */
static char early_memory[1 << 15] __attribute__((aligned(64)));
static size_t early_used;
/* volatile: dlsym is declared to call nothing in this file, but it does. */
static __thread volatile bool searching;

static void *early_block(size_t bytes, size_t align)
{
    size_t used = __atomic_load_n(&early_used, __ATOMIC_RELAXED), begin;
    if (align < 16) align = 16;
    do {
        begin = (used + align - 1) & ~(align - 1);
        if (bytes > sizeof early_memory || begin > sizeof early_memory - bytes) return NULL;
    } while (!__atomic_compare_exchange_n(&early_used, &used, begin + bytes, false, __ATOMIC_RELAXED,
                                          __ATOMIC_RELAXED));
    return early_memory + begin;
}

static bool is_early(const void *block)
{
    return (uintptr_t)block >= (uintptr_t)early_memory &&
           (uintptr_t)block < (uintptr_t)early_memory + sizeof early_memory;
}

void *fm_next(const char *name, void **found)
{
    void *next = __atomic_load_n(found, __ATOMIC_ACQUIRE);
    if (fm_likely(next != NULL)) return next;
    bool before = searching;
    searching = true;
    next = dlsym(RTLD_NEXT, name);
    searching = before;
    __atomic_store_n(found, next, __ATOMIC_RELEASE);
    return next;
}

#define EARLY_ALLOC(bytes, align)                                                                            \
    if (fm_unlikely(searching)) return early_block(bytes, align)
#define EARLY_FREE(block)                                                                                    \
    if (fm_unlikely(searching || is_early(block))) return

#endif

INTERPOSED(void *, malloc, (size_t bytes))
{
    EARLY_ALLOC(bytes, 16);
    void *block = NEXT(malloc)(bytes);
    fm_heap_allocated(block, bytes, FM_CALLER);
    return block;
}

INTERPOSED(void *, calloc, (size_t count, size_t each))
{
    EARLY_ALLOC(count * each, 16); /* zero, as nothing was there before; small, as said above */
    void *block = NEXT(calloc)(count, each);
    fm_heap_allocated(block, count * each, FM_CALLER);
    return block;
}

INTERPOSED(void, free, (void *block))
{
    EARLY_FREE(block);
    fm_heap_freed(block);
    NEXT(free)(block);
}

/*
 * The old block is reported as freed before it is, so that no other thread is reported to have it sooner; if
 * nothing comes of it, it is reported again, with this call for its origin.
 */
static void *block_moved(void *block, size_t bytes, void *result, size_t old_bytes, uintptr_t caller)
{
    if (result)
        fm_heap_allocated(result, bytes, caller);
    else if (block && bytes != 0)
        fm_heap_allocated(block, old_bytes, caller);
    return result;
}

#ifdef FM_VARIANT_STATIC
size_t malloc_usable_size(void *block);
#define USABLE(block) malloc_usable_size(block)
#else
static size_t usable_bytes(void *block)
{
    static void *found;
    size_t (*ask)(void *) = (size_t(*)(void *))(uintptr_t)fm_next("malloc_usable_size", &found);
    return ask ? ask(block) : 0;
}
#define USABLE(block) usable_bytes(block)
#endif

INTERPOSED(void *, realloc, (void *block, size_t bytes))
{
    EARLY_ALLOC(bytes, 16);
#ifndef FM_VARIANT_STATIC
    if (fm_unlikely(is_early(block))) {
        char *fresh = NEXT(malloc)(bytes);
        size_t have = sizeof early_memory - (size_t)((char *)block - early_memory);
        for (size_t i = 0; fresh && i < bytes && i < have; i++)
            ((volatile char *)fresh)[i] = ((char *)block)[i];
        fm_heap_allocated(fresh, bytes, FM_CALLER);
        return fresh;
    }
#endif
    if (!FM_HAS_THREADS || fm_likely(!fm_my.heap)) return NEXT(realloc)(block, bytes);
    size_t old_bytes = block ? USABLE(block) : 0;
    fm_heap_freed(block);
    return block_moved(block, bytes, NEXT(realloc)(block, bytes), old_bytes, FM_CALLER);
}

INTERPOSED(void *, reallocarray, (void *block, size_t count, size_t each))
{
    size_t bytes;
    if (__builtin_mul_overflow(count, each, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    if (!FM_HAS_THREADS || fm_likely(!fm_my.heap)) return NEXT(realloc)(block, bytes);
    size_t old_bytes = block ? USABLE(block) : 0;
    fm_heap_freed(block);
    return block_moved(block, bytes, NEXT(realloc)(block, bytes), old_bytes, FM_CALLER);
}

INTERPOSED(void *, memalign, (size_t align, size_t bytes))
{
    EARLY_ALLOC(bytes, align);
    void *block = NEXT(memalign)(align, bytes);
    fm_heap_allocated(block, bytes, FM_CALLER);
    return block;
}

INTERPOSED(void *, aligned_alloc, (size_t align, size_t bytes))
{
    EARLY_ALLOC(bytes, align);
    void *block = NEXT(aligned_alloc)(align, bytes);
    fm_heap_allocated(block, bytes, FM_CALLER);
    return block;
}

INTERPOSED(int, posix_memalign, (void **block, size_t align, size_t bytes))
{
    int result = NEXT(posix_memalign)(block, align, bytes);
    if (result == 0) fm_heap_allocated(*block, bytes, FM_CALLER);
    return result;
}

INTERPOSED(void *, valloc, (size_t bytes))
{
    void *block = NEXT(valloc)(bytes);
    fm_heap_allocated(block, bytes, FM_CALLER);
    return block;
}

INTERPOSED(void *, pvalloc, (size_t bytes))
{
    void *block = NEXT(pvalloc)(bytes);
    fm_heap_allocated(block, bytes, FM_CALLER);
    return block;
}
