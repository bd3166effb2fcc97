/* SPDX-License-Identifier: Apache-2.0 */
/* recency_bits.c - see recency_bits.h. */
#include "engine/sampled/recency_bits.h"

#include "base/memory.h"

#include <string.h>

static size_t word_bytes(uint64_t size)
{
    return (size_t)(size / 64 * sizeof(uint64_t));
}

uint64_t fm_recency_bits_memory(uint64_t size)
{
    return word_bytes(size) + (size / 64 + 1) * sizeof(uint32_t);
}

bool fm_recency_bits_grow(fm_recency_bits *bits, uint32_t size)
{
    const size_t old = (size_t)fm_recency_bits_memory(bits->size),
                 bytes = (size_t)fm_recency_bits_memory(size);
    uint64_t *words = bits->words ? fm_pages_resize(bits->words, old, bytes) : fm_pages_allocate(bytes);
    if (!words) return false;
    bits->words = words;
    bits->sums = (uint32_t *)(words + size / 64);
    bits->size = size;
    return true;
}

void fm_recency_bits_clear(fm_recency_bits *bits)
{
    fm_pages_free(bits->words, (size_t)fm_recency_bits_memory(bits->size));
    memset(bits, 0, sizeof *bits);
}

void fm_recency_bits_start_ranks(fm_recency_bits *bits)
{
    uint32_t sum = 0;
    for (uint32_t word = 0; word < bits->size / 64; word++) {
        bits->sums[word] = sum;
        sum += (uint32_t)__builtin_popcountll(bits->words[word]);
    }
}

uint32_t fm_recency_bits_rank(const fm_recency_bits *bits, uint32_t position)
{
    const uint64_t below = (UINT64_C(1) << (position % 64)) - 1;
    return bits->sums[position / 64] + (uint32_t)__builtin_popcountll(bits->words[position / 64] & below);
}

void fm_recency_bits_restart(fm_recency_bits *bits, uint32_t live)
{
    const uint32_t words = bits->size / 64;
    memset(bits->words, 0xFF, word_bytes(bits->size));
    bits->sums[0] = 0;
    for (uint32_t node = 1; node <= words; node++) bits->sums[node] = 64 * (node & -node);
    bits->next = bits->live = live;
}

uint32_t fm_recency_bits_remove(fm_recency_bits *bits, uint32_t position)
{
    const uint32_t at = position / 64, words = bits->size / 64;
    const uint64_t word = bits->words[at], bit = UINT64_C(1) << (position % 64);
    uint32_t before = (uint32_t)__builtin_popcountll(word & (bit - 1));
    bits->words[at] = word & ~bit;
    for (uint32_t node = at; node > 0; node &= node - 1) before += bits->sums[node];
    for (uint32_t node = at + 1; node <= words; node += node & -node) bits->sums[node]--;
    bits->live--;
    return bits->live - before;
}
