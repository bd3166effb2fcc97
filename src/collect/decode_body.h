/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decode_body.h - the receiver's kernels (decode_kernels.h), compiled once for each instruction set:
 * decode_avx512.c, decode_avx2.c and decode_portable.c include this behind what they do with vectors. What
 * they define:
 *
 *     ISA, ISA_INLINE                     how functions are declared
 *     HEAD_STEP, mark_heads               words looked through at a time; which of them have the highest bit;
 * also whether one is 0 SPECIAL_STEP, mark_specials         the same for words that are no plain accesses
 *     first_heads, store_heads            the numbers of those words, moved together; then come the next ones
 *     first_specials, store_specials
 *     store_group                         up to eight accesses of a plain block
 *     store_any                           the same of any block
 *     LANES, store_accesses               up to so many accesses of the compiler's runtime
 *     KERNELS, ISA_TEXT, isa_usable       the table, its name, and whether this machine has the instructions
 *
 * Stores into the rows are whole vectors: what is behind the last row is overwritten by the next ones.
 */

ISA static size_t find_heads(const uint64_t *words, size_t from, size_t to, uint32_t *heads, bool *zeros)
{
    size_t count = 0;
    unsigned zero = 0;
    head_places places = first_heads(from);
    for (; from + HEAD_STEP <= to; from += HEAD_STEP) {
        const unsigned found = mark_heads(words + from, &zero);
        store_heads(heads + count, &places, found);
        count += (unsigned)__builtin_popcount(found);
    }
    for (; from < to; from++) {
        const uint64_t word = fm_word(&words[from]);
        heads[count] = (uint32_t)from;
        count += word >> 63;
        zero |= word == 0;
    }
    *zeros = zero != 0;
    return count;
}

ISA static size_t find_specials(const uint64_t *words, size_t from, size_t to, uint32_t *specials)
{
    size_t count = 0;
    special_places places = first_specials(from);
    /* The words behind the last one are there, and cut off at the end. */
    for (; from < to; from += SPECIAL_STEP) {
        const unsigned found = mark_specials(words + from);
        store_specials(specials + count, &places, found);
        count += (unsigned)__builtin_popcount(found);
    }
    while (count > 0 && specials[count - 1] >= to) count--;
    return count;
}

/* ---- Valgrind: blocks ---- */

enum { USUAL = FM_COLUMN_SIZE, TAGGED = FM_COLUMN_SIZE | FM_COLUMN_TAG, NOT_THREAD = ~(int)FM_COLUMN_THREAD };

/* A block of several groups, or one that was left before its end. */
ISA_INLINE size_t store_groups(fm_row_memory *rows, size_t row, fm_loop_kind loop, fm_block_run *run,
                               size_t at, size_t group, size_t count)
{
    uint64_t packed = run->groups[group].words;
    while (count > fm_group_words(packed)) {
        row = store_group(rows, row, loop, run, at, group, FM_GROUP);
        at += fm_group_words(packed);
        count -= fm_group_words(packed);
        packed = run->groups[++group].words;
    }
    return store_group(rows, row, loop, run, at, group, fm_group_reach(packed, count));
}

ISA_INLINE void blocks_loop(fm_block_run *run, fm_rows *batch, fm_loop_kind loop)
{
    fm_block_run in = *run; /* a copy that nothing else points to: it stays in registers */
    fm_row_memory *rows = batch->at;
    const uint32_t *head = in.heads + in.head;
    const uint32_t *const end = in.heads + in.head_count;
    size_t row = batch->count, at = head[0];
    for (; head < end; head++) {
        const size_t next = head[1], behind = next - at; /* words and the first one */
        const uint64_t number = fm_block_number(fm_word(&in.words[at]));
        if (__builtin_expect(number >= in.block_count, 0)) break;
        const fm_block *block = &in.blocks[number];
        if (__builtin_expect(behind == block->whole, 1)) {
            row = store_group(rows, row, loop, &in, at + 1, block->group, block->accesses);
        } else {
            if (behind > block->limit) break;
            row = store_groups(rows, row, loop, &in, at + 1, block->group, behind - 1);
        }
        at = next;
    }
    run->head = (size_t)(head - in.heads);
    run->left_out = in.left_out;
    batch->count = row;
}

/* Each loop in a function of its own: together they leave the compiler too few registers for any. */
#define LOOP ISA static __attribute__((noinline)) void
LOOP tagged_loop(fm_block_run *run, fm_rows *rows)
{
    blocks_loop(run, rows, (fm_loop_kind){TAGGED, false, false});
}
LOOP tagged_loop_with_zeros(fm_block_run *run, fm_rows *rows)
{
    blocks_loop(run, rows, (fm_loop_kind){TAGGED, true, false});
}
LOOP usual_loop(fm_block_run *run, fm_rows *rows)
{
    blocks_loop(run, rows, (fm_loop_kind){USUAL, false, false});
}
LOOP usual_loop_with_zeros(fm_block_run *run, fm_rows *rows)
{
    blocks_loop(run, rows, (fm_loop_kind){USUAL, true, false});
}
LOOP any_loop(fm_block_run *run, fm_rows *rows)
{
    blocks_loop(run, rows, (fm_loop_kind){rows->columns & (unsigned)NOT_THREAD, true, true});
}

ISA static void decode_blocks(fm_block_run *run, fm_rows *rows)
{
    const unsigned columns = rows->columns & (unsigned)NOT_THREAD;
    if (run->head >= run->head_count) return;
    if (columns == TAGGED && run->stack_span == 0)
        (run->zeros ? tagged_loop_with_zeros : tagged_loop)(run, rows);
    else if (columns == USUAL && run->stack_span == 0)
        (run->zeros ? usual_loop_with_zeros : usual_loop)(run, rows);
    else
        any_loop(run, rows);
}

ISA static void decode_block(fm_block_run *run, fm_rows *rows, size_t group, size_t at, size_t count,
                             const uint32_t *tags, bool inside)
{
    unsigned columns = rows->columns & (unsigned)NOT_THREAD;
    size_t row = rows->count;
    uint64_t packed = run->groups[group].words;
    while (__builtin_expect(count > fm_group_words(packed), 0)) {
        row = store_any(rows->at, row, columns, run, at, group, FM_GROUP, tags, inside);
        at += fm_group_words(packed);
        count -= fm_group_words(packed);
        packed = run->groups[++group].words;
        if (tags) tags += FM_GROUP;
    }
    count = fm_group_reach(packed, count);
    if (columns == TAGGED)
        rows->count = store_any(rows->at, row, TAGGED, run, at, group, count, tags, inside);
    else
        rows->count = store_any(rows->at, row, columns, run, at, group, count, tags, inside);
}

/* ---- compiler: accesses ---- */

ISA_INLINE void accesses_loop(fm_access_run *run, fm_rows *batch, fm_loop_kind loop)
{
    fm_access_run in = *run; /* a copy that nothing else points to */
    fm_row_memory *rows = batch->at;
    size_t row = batch->count;
    const fm_code_page *page = in.page ? in.page : &fm_code_nowhere;
    for (;;) {
        size_t stop = in.specials[in.special];
        unsigned stopped = LANES;
        while (in.at + LANES < stop && stopped == LANES) {
            row = store_accesses(rows, row, loop, &in, page, in.at, LANES, &stopped);
            in.at += stopped;
        }
        if (__builtin_expect(stopped < LANES, 0)) break;
        unsigned left = (unsigned)(stop - in.at);
        row = store_accesses(rows, row, loop, &in, page, in.at, left, &stopped);
        if (__builtin_expect(stopped < LANES, 0)) {
            in.at += stopped;
            break;
        }
        in.at = stop;
        if (in.special == in.special_count) break;
        const fm_code_page *other = fm_page_cached(in.cache, fm_word(&in.words[stop]));
        if (!other) break;
        page = other;
        in.at++;
        in.special++;
    }
    run->at = in.at;
    run->special = in.special;
    run->left_out = in.left_out;
    run->page = page == &fm_code_nowhere ? NULL : page;
    batch->count = row;
}

ISA static void decode_accesses(fm_access_run *run, fm_rows *rows)
{
    unsigned columns = rows->columns & (unsigned)NOT_THREAD;
    if (columns == TAGGED && run->stack_span == 0)
        accesses_loop(run, rows, (fm_loop_kind){TAGGED, false, false});
    else if (columns == USUAL && run->stack_span == 0)
        accesses_loop(run, rows, (fm_loop_kind){USUAL, false, false});
    else
        accesses_loop(run, rows, (fm_loop_kind){columns, false, true});
}

const fm_decode_kernels KERNELS = {
    .isa = ISA_TEXT,
    .usable = isa_usable,
    .heads = find_heads,
    .blocks = decode_blocks,
    .block = decode_block,
    .specials = find_specials,
    .accesses = decode_accesses,
};
