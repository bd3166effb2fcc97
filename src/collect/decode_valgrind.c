/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decode_valgrind.c - reads chunks of the Valgrind tool: blocks, as long as they are plain by a kernel, one
 * by one where calls matter; and the records between.
 */
#include "base/error.h"
#include "collect/decoder.h"

#include <inttypes.h>

/* Makes sure that the record at decoder->at is marked, and its end as well. False: the next word is none. */
static bool mark_record(fm_decoder *decoder)
{
    while (decoder->mark < decoder->mark_count && decoder->marks[decoder->mark] < decoder->at)
        decoder->mark++; /* words of a record that look like the first of one */
    if (decoder->scanned < decoder->at) decoder->scanned = decoder->at;
    while (decoder->mark + 1 >= decoder->mark_count && decoder->scanned < decoder->count) {
        size_t kept = decoder->mark_count - decoder->mark; /* 0 or 1 */
        if (kept) decoder->marks[0] = decoder->marks[decoder->mark];
        size_t to = decoder->count - decoder->scanned > FM_DECODE_WORDS ? decoder->scanned + FM_DECODE_WORDS
                                                                        : decoder->count;
        bool zeros;
        size_t found =
            decoder->kernels->heads(decoder->words, decoder->scanned, to, decoder->marks + kept, &zeros);
        decoder->zeros = zeros || (kept && decoder->zeros);
        decoder->mark = 0;
        decoder->mark_count = kept + found;
        decoder->scanned = to;
    }
    decoder->marks[decoder->mark_count] = (uint32_t)decoder->count;
    return decoder->mark < decoder->mark_count && decoder->marks[decoder->mark] == decoder->at;
}

/* What kernels need to know of the process and the thread. */
static fm_block_run make_run(const fm_decoder *decoder)
{
    const fm_blocks *blocks = &decoder->process->blocks;
    const fm_traced_thread *thread = decoder->thread;
    bool no_stack = decoder->filter.no_stack && thread->high > thread->low;
    return (fm_block_run){
        .words = decoder->words,
        .heads = decoder->marks,
        .head = decoder->mark,
        /* The end of the last one is known only when everything was looked through. */
        .head_count = decoder->mark_count - (decoder->scanned < decoder->count),
        .zeros = decoder->zeros,
        .blocks = blocks->blocks,
        .block_count = blocks->count,
        .groups = blocks->groups,
        .marks = blocks->marks,
        .sites = blocks->sites,
        .stack_low = no_stack ? thread->low : 0,
        .stack_span = no_stack ? thread->high - thread->low : 0,
    };
}

/* Rows from `before` on were read: they stay in the batch or are left out. */
static void keep_rows(fm_decoder *decoder, size_t before, const fm_block_run *run)
{
    decoder->process->left_out += run->left_out;
    if (fm_decoder_delivers(decoder)) return;
    decoder->process->left_out += decoder->rows.count - before;
    decoder->rows.count = before;
}

/* As many plain blocks as there are. */
static void read_plain(fm_decoder *decoder)
{
    fm_block_run run = make_run(decoder);
    size_t before = decoder->rows.count;
    decoder->kernels->blocks(&run, &decoder->rows);
    keep_rows(decoder, before, &run);
    decoder->mark = run.head;
    decoder->at = decoder->marks[run.head];
}

/* Says what is wrong with a block that is not as it was defined. */
static fm_status wrong_block(const fm_block_detail *detail, uint64_t number, size_t count, fm_error *error)
{
    if (!(detail->flags & FM_BLOCK_KNOWN))
        return fm_fail(error, FM_E_CORRUPT, NULL, "the block with the number %" PRIu64 " was never defined",
                       number);
    return fm_fail(error, FM_E_CORRUPT, NULL, "a block of %u words has %zu", detail->words, count);
}

/* The address of a block's last access; its words end at `end`. */
static uint64_t last_address(const fm_block_run *run, uint32_t first, const fm_block_detail *detail,
                             size_t end)
{
    const size_t last = detail->count - 1U;
    const fm_block_group *group = &run->groups[first + last / FM_GROUP];
    return fm_group_address(group, run->words + end - fm_group_words(group->words), last % FM_GROUP);
}

/*
 * Blocks one after the other, with the calls between them, plain or not, until something else comes.
 */
static fm_status read_blocks(fm_decoder *decoder, fm_error *error)
{
    fm_process *process = decoder->process;
    fm_traced_thread *thread = decoder->thread;
    fm_blocks *blocks = &process->blocks;
    const fm_collect_filter filter = decoder->filter;
    bool tagged = filter.paths && filter.tags;
    fm_block_run run = make_run(decoder);
    size_t before = decoder->rows.count, head = run.head;
    fm_status status = FM_OK;
    for (; head < run.head_count; head++) {
        size_t at = run.heads[head], end = run.heads[head + 1];
        uint64_t number = fm_block_number(fm_word(&run.words[at]));
        if (number >> 32) break; /* no block */
        at++;
        static const fm_block_detail unknown;
        const fm_block_detail *detail = number < blocks->count ? &blocks->details[number] : &unknown;
        unsigned flags = detail->flags;
        bool has_stack = (flags & FM_BLOCK_HAS_SP) && at < end;
        if (has_stack && !fm_thread_block(thread, &process->code, fm_word(&run.words[at++]), filter.paths,
                                          flags & FM_BLOCK_WATCHED)) {
            status = fm_fail(error, FM_E_NOMEM, NULL, "out of memory: no room for the program's calls");
            break;
        }
        size_t count = end - at;
        if (!(flags & FM_BLOCK_KNOWN) || count > detail->words) {
            status = wrong_block(detail, number, count, error);
            break;
        }
        if (count == 0) continue;
        const uint32_t *tags = NULL;
        if (tagged) {
            tags = fm_blocks_tags(blocks, &process->code, (uint32_t)number, fm_thread_node(thread));
            if (!tags) {
                status = fm_fail(error, FM_E_NOMEM, NULL, "out of memory: no room for call paths");
                break;
            }
        }
        decoder->kernels->block(&run, &decoder->rows, run.blocks[number].group, at, count, tags,
                                !filter.function || thread->inside);
        /* Its last access pushes the return address; without it the call was not reached. */
        if (has_stack && (flags & FM_BLOCK_CALLS) && count == detail->words)
            fm_thread_calls(thread, last_address(&run, run.blocks[number].group, detail, end),
                            detail->call_behind, flags & FM_BLOCK_CALL_INSIDE);
    }
    keep_rows(decoder, before, &run);
    decoder->mark = head;
    decoder->at = decoder->marks[head];
    return status;
}

fm_status fm_decode_valgrind(fm_decoder *decoder, fm_error *error)
{
    fm_process *process = decoder->process;
    bool calls = decoder->filter.paths || decoder->filter.function; /* then no block is plain */
    if (!process->running) {
        fm_status status = fm_process_thread(process, 1, &process->running, error);
        if (status != FM_OK) return status;
    }
    decoder->thread = process->running;
    if (decoder->rows.count == 0) fm_rows_set_thread(&decoder->rows, decoder->thread->number);
    while (decoder->at < decoder->count && decoder->rows.count < FM_ROWS_FULL) {
        if (!mark_record(decoder))
            return fm_fail(error, FM_E_CORRUPT, NULL, "expected a record, found the word %#" PRIx64,
                           fm_word(&decoder->words[decoder->at]));
        fm_status status = FM_OK;
        if (calls)
            status = read_blocks(decoder, error);
        else
            read_plain(decoder);
        if (status != FM_OK) return status;
        /* It stops where the end is not known yet, or at what is not plain: which of the two is seen here. */
        if (decoder->at >= decoder->count) break;
        if (decoder->mark + 1 >= decoder->mark_count && decoder->scanned < decoder->count) continue;
        bool deliver = false;
        uint64_t word = fm_word(&decoder->words[decoder->at]);
        if (fm_block_number(word) >> 32 == 0)
            status = read_blocks(decoder, error); /* not a plain one */
        else
            status = fm_decode_record(decoder, &deliver, error);
        if (status != FM_OK) return status;
        if (deliver) break;
        if (decoder->rows.count == 0) fm_rows_set_thread(&decoder->rows, decoder->thread->number);
    }
    return FM_OK;
}
