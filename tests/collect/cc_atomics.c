/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cc_atomics.c - every atomic operation, in every size and order, and what it gives: an instrumented build
 * must print the same as an ordinary one. Then four threads add to common counters.
 *
 *     cc_atomics [THREADS TIMES]
 */
#include <fathom/markers.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

typedef unsigned __int128 uint128_t;

static void print(const char *name, uint128_t returned, uint128_t left)
{
    printf("%s %016" PRIx64 "%016" PRIx64 " %016" PRIx64 "%016" PRIx64 "\n", name, (uint64_t)(returned >> 64),
           (uint64_t)returned, (uint64_t)(left >> 64), (uint64_t)left);
}

/* 23 operations: 1 load, 2 stores, 20 that do both (and 2 loads and 1 store beside, to look and to set). */
#define TYPE(type, name)                                                                                     \
    static type place_##name;                                                                                \
    static __attribute__((noinline)) void test_##name(type start, type value)                                \
    {                                                                                                        \
        type *place = &place_##name;                                                                         \
        __atomic_store_n(place, start, __ATOMIC_SEQ_CST);                                                    \
        print(#name " load", __atomic_load_n(place, __ATOMIC_ACQUIRE), *place);                              \
        __atomic_store_n(place, value, __ATOMIC_RELAXED);                                                    \
        print(#name " store", 0, *place);                                                                    \
        CHANGE(name, __atomic_exchange_n, __ATOMIC_SEQ_CST)                                                  \
        CHANGE(name, __atomic_fetch_add, __ATOMIC_SEQ_CST)                                                   \
        CHANGE(name, __atomic_fetch_sub, __ATOMIC_RELAXED)                                                   \
        CHANGE(name, __atomic_fetch_and, __ATOMIC_RELEASE)                                                   \
        CHANGE(name, __atomic_fetch_or, __ATOMIC_ACQUIRE)                                                    \
        CHANGE(name, __atomic_fetch_xor, __ATOMIC_ACQ_REL)                                                   \
        CHANGE(name, __atomic_fetch_nand, __ATOMIC_SEQ_CST)                                                  \
        CHANGE(name, __atomic_add_fetch, __ATOMIC_SEQ_CST)                                                   \
        CHANGE(name, __atomic_nand_fetch, __ATOMIC_SEQ_CST)                                                  \
        CHANGE(name, __sync_fetch_and_add, )                                                                 \
        CHANGE(name, __sync_sub_and_fetch, )                                                                 \
        *place = start;                                                                                      \
        type expected = value;                                                                               \
        bool done =                                                                                          \
            __atomic_compare_exchange_n(place, &expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
        print(#name " compare, other", (uint128_t)done << 127 | expected, *place);                           \
        expected = start;                                                                                    \
        done =                                                                                               \
            __atomic_compare_exchange_n(place, &expected, value, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE); \
        print(#name " compare, same", (uint128_t)done << 127 | expected, *place);                            \
        expected = value;                                                                                    \
        while (!__atomic_compare_exchange_n(place, &expected, start, true, __ATOMIC_SEQ_CST,                 \
                                            __ATOMIC_RELAXED)) {                                             \
        }                                                                                                    \
        print(#name " compare, weak", expected, *place);                                                     \
        print(#name " sync compare", __sync_val_compare_and_swap(place, start, value), *place);              \
        print(#name " sync compare, bool", __sync_bool_compare_and_swap(place, start, value), *place);       \
    }
#define CHANGE(name, operation, ...)                                                                         \
    *place = start;                                                                                          \
    print(#name " " #operation, CALL(operation, place, value, __VA_ARGS__), *place);
#define CALL(operation, place, value, ...) operation(place, value __VA_OPT__(, ) __VA_ARGS__)

TYPE(uint8_t, u8)
TYPE(uint16_t, u16)
TYPE(uint32_t, u32)
TYPE(uint64_t, u64)
TYPE(uint128_t, u128)

static struct {
    uint8_t small;
    uint32_t word;
    uint64_t plain, locked;
    uint128_t wide;
    bool lock;
} shared;
static int times;

static void *add(void *unused)
{
    FATHOM_BEGIN("add");
    for (int i = 0; i < times; i++) {
        __atomic_fetch_add(&shared.small, 1, __ATOMIC_RELAXED);
        __atomic_fetch_add(&shared.word, 1, __ATOMIC_RELAXED);
        __atomic_fetch_add(&shared.wide, ((uint128_t)1 << 64) + 1, __ATOMIC_SEQ_CST);
        uint64_t seen = __atomic_load_n(&shared.plain, __ATOMIC_RELAXED);
        while (!__atomic_compare_exchange_n(&shared.plain, &seen, seen + 1, true, __ATOMIC_ACQ_REL,
                                            __ATOMIC_RELAXED)) {
        }
        while (__atomic_test_and_set(&shared.lock, __ATOMIC_ACQUIRE)) {
        }
        shared.locked++;
        __atomic_clear(&shared.lock, __ATOMIC_RELEASE);
    }
    FATHOM_END;
    return unused;
}

int main(int argc, char **argv)
{
    test_u8(0xF3, 0x5A);
    test_u16(0xF31C, 0x5AA5);
    test_u32(0xF31C0077, 0x5AA51234);
    test_u64(UINT64_C(0xF31C007700112233), UINT64_C(0x5AA51234DEADBEEF));
    test_u128((uint128_t)UINT64_C(0xF31C007700112233) << 64 | UINT64_C(0xFFFFFFFFFFFFFFFF),
              (uint128_t)UINT64_C(0x5AA51234DEADBEEF) << 64 | 0x77);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    __sync_synchronize();
    int threads = argc > 1 ? atoi(argv[1]) : 4;
    times = argc > 2 ? atoi(argv[2]) : 20000;
    pthread_t started[16];
    for (int i = 0; i < threads && i < 16; i++) pthread_create(&started[i], NULL, add, NULL);
    for (int i = 0; i < threads && i < 16; i++) pthread_join(started[i], NULL);
    printf("%u %" PRIu32 " %" PRIu64 " %" PRIu64 "\n", shared.small, shared.word, shared.plain,
           shared.locked);
    print("wide", 0, shared.wide);
    return 0;
}
