/* SPDX-License-Identifier: Apache-2.0 */
/* decode_portable.c - the receiver's kernels in plain C, and the choice among all. */
#include "collect/decode_kernels.h"

#include <string.h>

const uint32_t fm_access_sizes[16] = {0, 1, 2, 4, 8, 16, 32, 0, 1, 2, 4, 8, 16, 32};
const uint8_t fm_access_kinds[16] = {
    0,
    FM_KIND_LOAD,
    FM_KIND_LOAD,
    FM_KIND_LOAD,
    FM_KIND_LOAD,
    FM_KIND_LOAD,
    FM_KIND_LOAD,
    FM_KIND_LOAD,
    FM_KIND_STORE,
    FM_KIND_STORE,
    FM_KIND_STORE,
    FM_KIND_STORE,
    FM_KIND_STORE,
    FM_KIND_STORE,
    FM_KIND_STORE,
};

static bool usable_always(void)
{
    return true;
}

static size_t find_heads(const uint64_t *words, size_t from, size_t to, uint32_t *heads, bool *zeros)
{
    size_t count = 0;
    *zeros = true;
    for (size_t i = from; i < to; i++) {
        heads[count] = (uint32_t)i;
        count += fm_word(&words[i]) >> 63;
    }
    return count;
}

/* Up to eight accesses, told by the words from `at` on; returns the row behind them. */
static size_t store_group(fm_block_run *run, fm_rows *rows, size_t row, size_t group, size_t at, size_t count,
                          const uint32_t *tags, bool inside)
{
    const fm_block_marks *marks = &run->marks[group];
    if (!tags) tags = run->groups[group].tag;
    for (size_t in = 0; in < count; in++) {
        uint64_t address = fm_group_address(&run->groups[group], run->words + at, in);
        bool happened = address != 0 && (marks->wanted >> in & 1);
        bool out = address - run->stack_low < run->stack_span || !(inside || (marks->inlined >> in & 1));
        run->left_out += happened & out;
        rows->at->address[row] = address;
        if (rows->columns & FM_COLUMN_SIZE) rows->at->size[row] = marks->size[in];
        if (rows->columns & FM_COLUMN_TAG) rows->at->tag[row] = tags[in];
        if (rows->columns & FM_COLUMN_KIND) rows->at->kind[row] = marks->kind[in];
        if (rows->columns & FM_COLUMN_SITE) rows->at->site[row] = run->sites[group * FM_GROUP + in];
        row += happened & !out;
    }
    return row;
}

static void decode_block(fm_block_run *run, fm_rows *rows, size_t group, size_t at, size_t count,
                         const uint32_t *tags, bool inside)
{
    for (size_t left = count; left > 0; group++) {
        const uint64_t packed = run->groups[group].words;
        const size_t words = left < fm_group_words(packed) ? left : fm_group_words(packed);
        rows->count =
            store_group(run, rows, rows->count, group, at, fm_group_reach(packed, words), tags, inside);
        at += words;
        left -= words;
        if (tags) tags += FM_GROUP;
    }
}

static void decode_blocks(fm_block_run *run, fm_rows *rows)
{
    for (; run->head < run->head_count; run->head++) {
        size_t at = run->heads[run->head], next = run->heads[run->head + 1];
        uint64_t number = fm_block_number(fm_word(&run->words[at]));
        if (number >= run->block_count) break;
        fm_block block = run->blocks[number];
        size_t count = next - at - 1;
        if (count >= block.limit) break;
        decode_block(run, rows, block.group, at + 1, count, NULL, true);
    }
}

static size_t find_specials(const uint64_t *words, size_t from, size_t to, uint32_t *specials)
{
    size_t count = 0;
    for (size_t i = from; i < to; i++) {
        uint64_t word = fm_word(&words[i]);
        specials[count] = (uint32_t)i;
        count += (word >> 63) | (fm_access_sizes[word >> 12 & 15] == 0);
    }
    return count;
}

static void decode_accesses(fm_access_run *run, fm_rows *rows)
{
    size_t row = rows->count;
    bool tags = rows->columns & FM_COLUMN_TAG;
    for (;;) {
        size_t stop = run->specials[run->special];
        for (; run->at < stop; run->at++) {
            uint64_t word = fm_word(&run->words[run->at]), address = word >> 16;
            unsigned code = (unsigned)(word >> 12) & 15;
            uint32_t tag = tags && run->page ? run->page->tag[word & 4095] : 0;
            if (tags && !tag && !run->tags_full) break;
            bool stack = address - run->stack_low < run->stack_span;
            run->left_out += stack;
            rows->at->address[row] = address;
            if (rows->columns & FM_COLUMN_SIZE) rows->at->size[row] = fm_access_sizes[code];
            if (rows->columns & FM_COLUMN_KIND) rows->at->kind[row] = fm_access_kinds[code];
            if (tags) rows->at->tag[row] = tag;
            if (rows->columns & FM_COLUMN_SITE)
                rows->at->site[row] = (run->page ? run->page->base : 0) + (word & 4095);
            row += !stack;
        }
        if (run->at < stop || run->special == run->special_count) break;
        const fm_code_page *page = fm_page_cached(run->cache, fm_word(&run->words[stop]));
        if (!page) break;
        run->page = page;
        run->at++;
        run->special++;
    }
    rows->count = row;
}

const fm_decode_kernels fm_decode_portable = {
    .isa = "portable",
    .usable = usable_always,
    .heads = find_heads,
    .blocks = decode_blocks,
    .block = decode_block,
    .specials = find_specials,
    .accesses = decode_accesses,
};

static const fm_decode_kernels *const kernels[] = {
#if defined(__x86_64__)
    &fm_decode_avx512,
    &fm_decode_avx2,
#endif
    &fm_decode_portable,
};

const fm_decode_kernels *fm_decode_kernels_find(const char *isa)
{
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++)
        if (kernels[i]->usable() && (!isa || strcmp(kernels[i]->isa, isa) == 0)) return kernels[i];
    return NULL;
}
