/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exact_drop_body.h - part of exact_kernels_body.h: blocks beyond the bound leave the table, the others get
 * their packed positions, in one sweep.
 *
 * Which blocks go is told by their positions alone: only those that stay need their ranks. Buckets go in
 * order, from one that no block has come past: those before are final but for what is added to them. A block
 * goes to the first hole from its home on, or stays in its bucket: no hole is left before it.
 */

ALWAYS_INLINE uint64_t drop_rank(const fm_dropping *what, uint64_t position)
{
    if (what->window) return fm_recency_window_rank(what->window, position);
    return what->before[position >> FM_REGION_SHIFT] + what->lines[position >> FM_LINE_SHIFT] +
           fm_recency_line_rank(what->words, position);
}

/* A hole for the key before bucket number `at`; NULL where there is none. */
ALWAYS_INLINE uint64_t *drop_hole(fm_block_table *table, uint64_t at, uint64_t key)
{
    uint64_t home = fm_block_home_index(fm_block_hash(key, table->seed), table->bucket_count);
    while (home != at) {
        fm_bucket *bucket = &table->buckets[home];
        if (bucket->position[FM_BUCKET_SLOTS - 1] == 0) {
            size_t slot = 0;
            while (bucket->position[slot]) slot++;
            bucket->key[slot] = key;
            return &bucket->position[slot];
        }
        if (++home == table->bucket_count) home = 0;
    }
    return NULL;
}

ALWAYS_INLINE uint64_t drop_bucket(fm_block_table *table, uint64_t at, const fm_dropping *what)
{
    fm_bucket *const bucket = &table->buckets[at];
    uint64_t kept = 0;
    size_t end = 0;
    for (size_t slot = 0; slot < FM_BUCKET_SLOTS; slot++) {
        const uint64_t key = bucket->key[slot], old = bucket->position[slot];
        const uint64_t position = old & FM_POSITION_BITS;
        bucket->position[slot] = 0;
        if (position < what->from) continue;
        uint64_t *place = drop_hole(table, at, key);
        if (!place) {
            bucket->key[end] = key;
            place = &bucket->position[end++];
        }
        *place = fm_recency_window_packed_position(drop_rank(what, position) - what->dropped) |
                 (old & ~FM_POSITION_BITS);
        kept++;
    }
    return kept;
}

ALWAYS_INLINE uint64_t drop_buckets(fm_block_table *table, uint64_t from, uint64_t to,
                                    const fm_dropping *what)
{
    enum { AHEAD = 8 }; /* buckets whose lines of the window are fetched ahead */
    const uint64_t *const words = what->window ? what->window->words : what->words;
    uint64_t kept = 0;
    for (uint64_t i = from; i < to; i++) {
        if (i + AHEAD < to)
            for (int slot = 0; slot < FM_BUCKET_SLOTS; slot++) {
                const uint64_t position = table->buckets[i + AHEAD].position[slot] & FM_POSITION_BITS;
                __builtin_prefetch(words +
                                   ((position < what->from ? what->from : position) >> FM_LINE_SHIFT) *
                                       FM_LINE_WORDS);
            }
        kept += drop_bucket(table, i, what);
    }
    return kept;
}

static void kernel_drop(fm_block_table *table, const fm_dropping *what)
{
    uint64_t first = 0;
    while (table->buckets[first++].position[FM_BUCKET_SLOTS - 1]) {
    }
    table->used = drop_buckets(table, first, table->bucket_count, what);
    table->used += drop_buckets(table, 0, first, what);
}
