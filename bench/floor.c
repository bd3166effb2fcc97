/* SPDX-License-Identifier: Apache-2.0 */
/*
 * floor.c - see floor.h. As fast as we can make it, since everything is measured against it: keys are hashed
 * by the engine's own kernel, buckets are fetched one chunk ahead while the chunk before is looked up, and
 * where there is AVX2 the four keys of a bucket are compared at once.
 */
#include "floor.h"

#include "engine/engine_tables.h"
#include "engine/exact/exact_kernels.h"

#include <stdlib.h>

struct bench_floor {
    fm_block_table table;
    const fm_exact_kernels *kernels;
    uint64_t time; /* from 1: a stored 0 means a free slot */
    void (*touch)(bench_floor *floor, const uint64_t *keys, size_t count, fm_bucket *const *homes,
                  fm_bucket *const *soon);
    fm_bucket *homes[2][FM_LOOKUPS];
};

static void touch_portable(bench_floor *floor, const uint64_t *keys, size_t count, fm_bucket *const *homes,
                           fm_bucket *const *soon)
{
    for (size_t i = 0; i < count; i++) {
        __builtin_prefetch(soon[i], 1, 3);
        fm_block_table_exchange(&floor->table, homes[i], keys[i], floor->time + i);
    }
}

#if defined(__x86_64__)
#include <immintrin.h>

/* The slot of a key in a bucket; free slots lie behind the used ones. NULL: not there. */
__attribute__((target("avx2"))) static inline uint64_t *find_avx2(fm_bucket *bucket, __m256i key)
{
    __m256i keys = _mm256_load_si256((const __m256i *)(const void *)bucket->key);
    unsigned mask = (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(keys, key)));
    uint64_t *slot =
        &bucket->position[(unsigned)__builtin_ctz(mask | 1U << FM_BUCKET_SLOTS) & (FM_BUCKET_SLOTS - 1)];
    return mask != 0 && *slot != 0 ? slot : NULL;
}

__attribute__((target("avx2"))) static void touch_avx2(bench_floor *floor, const uint64_t *keys, size_t count,
                                                       fm_bucket *const *homes, fm_bucket *const *soon)
{
    const fm_bucket *last = floor->table.buckets + floor->table.bucket_count - 1;
    for (size_t i = 0; i < count; i++) {
        __builtin_prefetch(soon[i], 1, 3);
        __m256i key = _mm256_set1_epi64x((long long)keys[i]);
        uint64_t *slot = find_avx2(homes[i], key);
        if (__builtin_expect(!slot && homes[i] < last && homes[i]->position[FM_BUCKET_SLOTS - 1], 0))
            slot = find_avx2(homes[i] + 1, key);
        if (__builtin_expect(slot != NULL, 1))
            *slot = floor->time + i;
        else
            fm_block_table_exchange_slow(&floor->table, homes[i], keys[i], floor->time + i);
    }
}
#endif

fm_status bench_floor_feed(bench_floor *floor, const uint64_t *keys, size_t count, fm_error *error)
{
    fm_bucket **homes = floor->homes[0], **soon = floor->homes[1];
    size_t now = count < FM_LOOKUPS ? count : FM_LOOKUPS;
    bool hashed = false; /* homes are those of the chunk at hand, in the table as it is */
    while (now > 0) {
        size_t next = count - now < FM_LOOKUPS ? count - now : FM_LOOKUPS;
        if (!fm_block_table_has_room(&floor->table, FM_LOOKUPS)) {
            fm_status status = fm_block_table_grow(&floor->table, FM_LOOKUPS, error);
            if (status) return status;
            hashed = false;
        }
        if (!hashed) floor->kernels->home(&floor->table, keys, now, homes);
        floor->kernels->home(&floor->table, keys + now, next, soon);
        for (size_t i = next; i < now; i++) soon[i] = floor->table.buckets;
        hashed = true;
        floor->touch(floor, keys, now, homes, soon);
        floor->time += now;
        keys += now;
        count -= now;
        now = next;
        fm_bucket **swap = homes;
        homes = soon;
        soon = swap;
    }
    return FM_OK;
}

bench_floor *bench_floor_create(uint64_t seed)
{
    bench_floor *floor = calloc(1, sizeof *floor);
    if (!floor) return NULL;
    if (fm_block_table_create(&floor->table, seed, false, NULL)) {
        free(floor);
        return NULL;
    }
    floor->time = 1;
    floor->kernels = fm_exact_kernels_find(NULL);
    floor->touch = touch_portable;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) floor->touch = touch_avx2;
#endif
    return floor;
}

uint64_t bench_floor_distinct(const bench_floor *floor)
{
    return floor->table.used;
}

uint64_t bench_floor_memory(const bench_floor *floor)
{
    return sizeof *floor + fm_block_table_memory(&floor->table);
}

void bench_floor_destroy(bench_floor *floor)
{
    if (!floor) return;
    fm_block_table_clear(&floor->table);
    free(floor);
}
