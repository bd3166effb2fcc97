/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * atomics.c - atomic operations. The compilers make calls of them that must be reported *and performed*: what
 * they would have been as instructions, they are here.
 *
 * Orders: on x86-64 every atomic operation that reads and writes is a full barrier, loads are acquiring and
 * stores releasing as they are. So only stores look at the order that was asked for.
 *
 * What reads and writes is a load and a store, also a comparison that failed: the processor writes what it
 * has read then.
 */
#include "runtime.h"

/* Types as arguments of macros take no parentheses; what instructions change looks constant to linters. */
/* NOLINTBEGIN(bugprone-macro-parentheses,readability-non-const-parameter) */

typedef unsigned __int128 fm_u128;

/* ---- 16 bytes: one instruction, that every x86-64 processor of the last fifteen years has ---- */

static bool exchange_16(volatile fm_u128 *place, fm_u128 *expected, fm_u128 value)
{
    bool done = false;
    uint64_t low = (uint64_t)*expected, high = (uint64_t)(*expected >> 64);
    __asm__ volatile("lock cmpxchg16b %1"
                     : "=@ccz"(done), "+m"(*place), "+a"(low), "+d"(high)
                     : "b"((uint64_t)value), "c"((uint64_t)(value >> 64))
                     : "memory");
    *expected = (fm_u128)high << 64 | low;
    return done;
}

static fm_u128 load_16(const volatile fm_u128 *place)
{
    fm_u128 seen = 0;
    exchange_16((volatile fm_u128 *)place, &seen, 0); /* stores what is there, if that is 0 */
    return seen;
}

#define EXCHANGE_LOOP(next)                                                                                  \
    fm_u128 seen = *place; /* may be torn: then it fails */                                                  \
    while (!exchange_16(place, &seen, (next))) {                                                             \
    }                                                                                                        \
    return seen

static fm_u128 swap_16(volatile fm_u128 *place, fm_u128 value)
{
    EXCHANGE_LOOP(value);
}
static fm_u128 add_16(volatile fm_u128 *place, fm_u128 value)
{
    EXCHANGE_LOOP(seen + value);
}
static fm_u128 sub_16(volatile fm_u128 *place, fm_u128 value)
{
    EXCHANGE_LOOP(seen - value);
}
static fm_u128 and_16(volatile fm_u128 *place, fm_u128 value)
{
    EXCHANGE_LOOP(seen & value);
}
static fm_u128 or_16(volatile fm_u128 *place, fm_u128 value)
{
    EXCHANGE_LOOP(seen | value);
}
static fm_u128 xor_16(volatile fm_u128 *place, fm_u128 value)
{
    EXCHANGE_LOOP(seen ^ value);
}
static fm_u128 nand_16(volatile fm_u128 *place, fm_u128 value)
{
    EXCHANGE_LOOP(~(seen & value));
}

/* ---- the interface, for every size ---- */

/* The order comes with hints for lock elision in its upper bits. */
static bool is_sequential(int order)
{
    return (order & 0xFFFF) == __ATOMIC_SEQ_CST;
}

#define DEFINE(result, bits, name, ...)                                                                      \
    FM_EXPORT result __tsan_atomic##bits##_##name(__VA_ARGS__);                                              \
    FM_EXPORT result __tsan_atomic##bits##_##name(__VA_ARGS__)

#define CHANGE(type, bits, name, operation)                                                                  \
    DEFINE(type, bits, name, volatile type *place, type value, int order)                                    \
    {                                                                                                        \
        (void)order;                                                                                         \
        fm_load_and_store((uintptr_t)place, sizeof *place, FM_SITE);                                         \
        return operation;                                                                                    \
    }

#define COMPARE(type, bits, exchange)                                                                        \
    DEFINE(int, bits, compare_exchange_strong, volatile type *place, type *expected, type value, int order,  \
           int failure)                                                                                      \
    {                                                                                                        \
        (void)order, (void)failure;                                                                          \
        fm_load_and_store((uintptr_t)place, sizeof *place, FM_SITE);                                         \
        return exchange(place, expected, value);                                                             \
    }                                                                                                        \
    DEFINE(int, bits, compare_exchange_weak, volatile type *place, type *expected, type value, int order,    \
           int failure)                                                                                      \
    {                                                                                                        \
        (void)order, (void)failure;                                                                          \
        fm_load_and_store((uintptr_t)place, sizeof *place, FM_SITE);                                         \
        return exchange(place, expected, value);                                                             \
    }                                                                                                        \
    DEFINE(type, bits, compare_exchange_val, volatile type *place, type expected, type value, int order,     \
           int failure)                                                                                      \
    {                                                                                                        \
        (void)order, (void)failure;                                                                          \
        fm_load_and_store((uintptr_t)place, sizeof *place, FM_SITE);                                         \
        exchange(place, &expected, value);                                                                   \
        return expected;                                                                                     \
    }

#define EXCHANGE(place, expected, value)                                                                     \
    __atomic_compare_exchange_n(place, expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)

#define ALL(type, bits, load_code, store_code)                                                               \
    DEFINE(type, bits, load, const volatile type *place, int order)                                          \
    {                                                                                                        \
        (void)order;                                                                                         \
        fm_access((uintptr_t)place, load_code, 0, FM_SITE);                                                  \
        return __atomic_load_n(place, __ATOMIC_SEQ_CST);                                                     \
    }                                                                                                        \
    DEFINE(void, bits, store, volatile type *place, type value, int order)                                   \
    {                                                                                                        \
        fm_access((uintptr_t)place, store_code, 0, FM_SITE);                                                 \
        if (is_sequential(order))                                                                            \
            __atomic_store_n(place, value, __ATOMIC_SEQ_CST);                                                \
        else                                                                                                 \
            __atomic_store_n(place, value, __ATOMIC_RELEASE);                                                \
    }                                                                                                        \
    CHANGE(type, bits, exchange, __atomic_exchange_n(place, value, __ATOMIC_SEQ_CST))                        \
    CHANGE(type, bits, fetch_add, __atomic_fetch_add(place, value, __ATOMIC_SEQ_CST))                        \
    CHANGE(type, bits, fetch_sub, __atomic_fetch_sub(place, value, __ATOMIC_SEQ_CST))                        \
    CHANGE(type, bits, fetch_and, __atomic_fetch_and(place, value, __ATOMIC_SEQ_CST))                        \
    CHANGE(type, bits, fetch_or, __atomic_fetch_or(place, value, __ATOMIC_SEQ_CST))                          \
    CHANGE(type, bits, fetch_xor, __atomic_fetch_xor(place, value, __ATOMIC_SEQ_CST))                        \
    CHANGE(type, bits, fetch_nand, __atomic_fetch_nand(place, value, __ATOMIC_SEQ_CST))                      \
    COMPARE(type, bits, EXCHANGE)

ALL(uint8_t, 8, FM_ACCESS_LOAD_1, FM_ACCESS_STORE_1)
ALL(uint16_t, 16, FM_ACCESS_LOAD_2, FM_ACCESS_STORE_2)
ALL(uint32_t, 32, FM_ACCESS_LOAD_4, FM_ACCESS_STORE_4)
ALL(uint64_t, 64, FM_ACCESS_LOAD_8, FM_ACCESS_STORE_8)

DEFINE(fm_u128, 128, load, const volatile fm_u128 *place, int order)
{
    (void)order;
    fm_access((uintptr_t)place, FM_ACCESS_LOAD_16, 0, FM_SITE);
    return load_16(place);
}

DEFINE(void, 128, store, volatile fm_u128 *place, fm_u128 value, int order)
{
    (void)order;
    fm_access((uintptr_t)place, FM_ACCESS_STORE_16, 0, FM_SITE);
    swap_16(place, value);
}

CHANGE(fm_u128, 128, exchange, swap_16(place, value))
CHANGE(fm_u128, 128, fetch_add, add_16(place, value))
CHANGE(fm_u128, 128, fetch_sub, sub_16(place, value))
CHANGE(fm_u128, 128, fetch_and, and_16(place, value))
CHANGE(fm_u128, 128, fetch_or, or_16(place, value))
CHANGE(fm_u128, 128, fetch_xor, xor_16(place, value))
CHANGE(fm_u128, 128, fetch_nand, nand_16(place, value))
COMPARE(fm_u128, 128, exchange_16)

FM_EXPORT void __tsan_atomic_thread_fence(int order);
FM_EXPORT void __tsan_atomic_signal_fence(int order);

FM_EXPORT void __tsan_atomic_thread_fence(int order)
{
    if (is_sequential(order))
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
    else
        __atomic_thread_fence(__ATOMIC_ACQ_REL);
}

FM_EXPORT void __tsan_atomic_signal_fence(int order)
{
    (void)order;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* NOLINTEND(bugprone-macro-parentheses,readability-non-const-parameter) */
