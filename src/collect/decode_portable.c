/* SPDX-License-Identifier: Apache-2.0 */
/* decode_portable.c - the receiver's kernels (decode_body.h) in plain C, and the choice among all. */
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

const fm_code_page fm_code_nowhere;

/* ---- what decode_body.h wants, a word at a time ---- */

#define ISA
#define ISA_INLINE static inline __attribute__((always_inline))

static bool isa_usable(void)
{
    return true;
}

enum { HEAD_STEP = 1, SPECIAL_STEP = 1, LANES = 64 };

ISA_INLINE unsigned mark_heads(const uint64_t *words, unsigned *zero)
{
    const uint64_t word = fm_word(words);
    *zero |= word == 0;
    return (unsigned)(word >> 63);
}

ISA_INLINE unsigned mark_specials(const uint64_t *words)
{
    const uint64_t word = fm_word(words);
    return (unsigned)(word >> 63) | (fm_access_sizes[word >> 12 & 15] == 0);
}

typedef size_t head_places, special_places;

ISA_INLINE void store_heads(uint32_t *to, size_t *places, unsigned found)
{
    (void)found;
    *to = (uint32_t)(*places)++;
}

ISA_INLINE size_t store_group(fm_row_memory *rows, size_t row, fm_loop_kind loop, fm_block_run *run,
                              size_t at, size_t group, size_t count)
{
    return fm_store_each(rows, row, loop.columns, run, at, group, count, NULL, true);
}

/* *stopped: how many were done where one has no tag, else as it was. */
ISA_INLINE size_t store_accesses(fm_row_memory *rows, size_t row, fm_loop_kind loop, fm_access_run *run,
                                 const fm_code_page *page, size_t at, unsigned count, unsigned *stopped)
{
    for (unsigned i = 0; i < count; i++) {
        const uint64_t word = fm_word(&run->words[at + i]), address = word >> 16;
        const unsigned code = (unsigned)(word >> 12) & 15, place = (unsigned)word & 4095;
        const uint32_t tag = loop.columns & FM_COLUMN_TAG ? page->tag[place] : 0;
        if ((loop.columns & FM_COLUMN_TAG) && !tag && !run->tags_full) {
            *stopped = i;
            break;
        }
        const bool stack = address - run->stack_low < run->stack_span;
        run->left_out += stack;
        rows->address[row] = address;
        if (loop.columns & FM_COLUMN_SIZE) rows->size[row] = fm_access_sizes[code];
        if (loop.columns & FM_COLUMN_KIND) rows->kind[row] = fm_access_kinds[code];
        if (loop.columns & FM_COLUMN_TAG) rows->tag[row] = tag;
        if (loop.columns & FM_COLUMN_SITE) rows->site[row] = page->base + place;
        row += !stack;
    }
    return row;
}

#define store_any fm_store_each
#define store_specials store_heads
#define first_heads(from) (from)
#define first_specials(from) (from)
#define KERNELS fm_decode_portable
#define ISA_TEXT "portable"
#include "collect/decode_body.h"

/* ---- the choice ---- */

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
