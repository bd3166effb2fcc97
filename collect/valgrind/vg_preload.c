/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vg_preload.c - wrappers around the allocation functions of a program under the tool: they call the real
 * ones, so that the heap's layout stays as it is, and tell the tool. Loaded (LD_PRELOAD) only where the heap
 * is wanted. The tool does not count the accesses that the code of this file makes.
 *
 * Valgrind finds the functions by name, in any library (Za) and in the program itself. operator new of
 * libstdc++ and libc++ calls malloc and needs no wrapper; those of other allocators have one.
 */
#include <stddef.h>
#include <valgrind.h>

#include "vg_requests.h"

#define WRAP(library, function) I_WRAP_SONAME_FNNAME_ZU(library, function)

#pragma GCC visibility push(default)          /* Valgrind looks for them in the symbol table */
#pragma GCC diagnostic ignored "-Wconversion" /* in Valgrind's macros */

static inline void tell(unsigned long request, size_t a, size_t b, size_t c)
{
    VALGRIND_DO_CLIENT_REQUEST_STMT(request, a, b, c, 0, 0);
}

__attribute__((constructor)) static void preloaded(void)
{
    tell(FM_REQUEST_PRELOADED, 0, 0, 0);
}

#define WRAP_ALLOCATE_1(library, function)                                                                   \
    void *WRAP(library, function)(size_t bytes);                                                             \
    void *WRAP(library, function)(size_t bytes)                                                              \
    {                                                                                                        \
        OrigFn original;                                                                                     \
        void *address;                                                                                       \
        VALGRIND_GET_ORIG_FN(original);                                                                      \
        CALL_FN_W_W(address, original, bytes);                                                               \
        tell(FM_REQUEST_ALLOCATED, (size_t)address, bytes, 0);                                               \
        return address;                                                                                      \
    }

/* operator new with a second argument (alignment, nothrow) that does not matter here. */
#define WRAP_ALLOCATE_FIRST(library, function)                                                               \
    void *WRAP(library, function)(size_t bytes, size_t other);                                               \
    void *WRAP(library, function)(size_t bytes, size_t other)                                                \
    {                                                                                                        \
        OrigFn original;                                                                                     \
        void *address;                                                                                       \
        VALGRIND_GET_ORIG_FN(original);                                                                      \
        CALL_FN_W_WW(address, original, bytes, other);                                                       \
        tell(FM_REQUEST_ALLOCATED, (size_t)address, bytes, 0);                                               \
        return address;                                                                                      \
    }

#define WRAP_ALLOCATE_SECOND(library, function)                                                              \
    void *WRAP(library, function)(size_t alignment, size_t bytes);                                           \
    void *WRAP(library, function)(size_t alignment, size_t bytes)                                            \
    {                                                                                                        \
        OrigFn original;                                                                                     \
        void *address;                                                                                       \
        VALGRIND_GET_ORIG_FN(original);                                                                      \
        CALL_FN_W_WW(address, original, alignment, bytes);                                                   \
        tell(FM_REQUEST_ALLOCATED, (size_t)address, bytes, 0);                                               \
        return address;                                                                                      \
    }

#define WRAP_FREE(library, function)                                                                         \
    void WRAP(library, function)(void *address);                                                             \
    void WRAP(library, function)(void *address)                                                              \
    {                                                                                                        \
        OrigFn original;                                                                                     \
        VALGRIND_GET_ORIG_FN(original);                                                                      \
        tell(FM_REQUEST_FREED, (size_t)address, 0, 0); /* before another thread can get it */                \
        CALL_FN_v_W(original, address);                                                                      \
    }

WRAP_ALLOCATE_1(Za, malloc)
WRAP_ALLOCATE_1(Za, valloc)
WRAP_ALLOCATE_1(Za, pvalloc)
WRAP_ALLOCATE_SECOND(Za, memalign)
WRAP_ALLOCATE_SECOND(Za, aligned_alloc)
WRAP_FREE(Za, free)
WRAP_FREE(Za, cfree)

void *WRAP(Za, calloc)(size_t count, size_t size);
void *WRAP(Za, calloc)(size_t count, size_t size)
{
    OrigFn original;
    void *address;
    VALGRIND_GET_ORIG_FN(original);
    CALL_FN_W_WW(address, original, count, size);
    tell(FM_REQUEST_ALLOCATED, (size_t)address, count * size, 0);
    return address;
}

void *WRAP(Za, realloc)(void *old, size_t bytes);
void *WRAP(Za, realloc)(void *old, size_t bytes)
{
    OrigFn original;
    void *address;
    VALGRIND_GET_ORIG_FN(original);
    CALL_FN_W_WW(address, original, old, bytes);
    tell(FM_REQUEST_REALLOCATED, (size_t)old, (size_t)address, bytes);
    return address;
}

int WRAP(Za, posix_memalign)(void **result, size_t alignment, size_t bytes);
int WRAP(Za, posix_memalign)(void **result, size_t alignment, size_t bytes)
{
    OrigFn original;
    int failure;
    VALGRIND_GET_ORIG_FN(original);
    CALL_FN_W_WWW(failure, original, result, alignment, bytes);
    if (failure == 0) tell(FM_REQUEST_ALLOCATED, (size_t)*result, bytes, 0);
    return failure;
}

/* operator new and delete of allocators that need not use malloc: in the program itself, jemalloc, tcmalloc,
 * mimalloc. */
#define WRAP_NEW_DELETE(library)                                                                             \
    WRAP_ALLOCATE_1(library, _Znwm)                                                                          \
    WRAP_ALLOCATE_1(library, _Znam)                                                                          \
    WRAP_ALLOCATE_FIRST(library, _ZnwmRKSt9nothrow_t)                                                        \
    WRAP_ALLOCATE_FIRST(library, _ZnamRKSt9nothrow_t)                                                        \
    WRAP_ALLOCATE_FIRST(library, _ZnwmSt11align_val_t)                                                       \
    WRAP_ALLOCATE_FIRST(library, _ZnamSt11align_val_t)                                                       \
    WRAP_FREE(library, _ZdlPv)                                                                               \
    WRAP_FREE(library, _ZdaPv)                                                                               \
    WRAP_DELETE_SIZED(library, _ZdlPvm)                                                                      \
    WRAP_DELETE_SIZED(library, _ZdaPvm)

#define WRAP_DELETE_SIZED(library, function)                                                                 \
    void WRAP(library, function)(void *address, size_t bytes);                                               \
    void WRAP(library, function)(void *address, size_t bytes)                                                \
    {                                                                                                        \
        OrigFn original;                                                                                     \
        VALGRIND_GET_ORIG_FN(original);                                                                      \
        tell(FM_REQUEST_FREED, (size_t)address, 0, 0);                                                       \
        CALL_FN_v_WW(original, address, bytes);                                                              \
    }

WRAP_NEW_DELETE(NONE)
WRAP_NEW_DELETE(libjemallocZa)
WRAP_NEW_DELETE(libtcmallocZa)
WRAP_NEW_DELETE(libmimallocZa)
