/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decode_compiler.c - reads chunks of the runtime behind fathom cc: accesses of one word each, as long as
 * they are plain by a kernel, one by one where calls matter; ranges with their length; and the records
 * between.
 */
#include "base/error.h"
#include "collect/decoder.h"

#include <inttypes.h>

/* Bytes of ranges in a batch, beyond which it is delivered: what a batch costs those who work it off has a
 * bound, and signals are answered between batches. */
enum { RANGES_FULL = 4 << 20 };

/* Looks for words that are not plain accesses, from decoder->at on. */
static void mark_specials(fm_decoder *decoder)
{
    while (decoder->mark < decoder->mark_count && decoder->marks[decoder->mark] < decoder->at)
        decoder->mark++; /* words that belong to what was read */
    if (decoder->at >= decoder->scanned) {
        size_t to =
            decoder->count - decoder->at > FM_DECODE_WORDS ? decoder->at + FM_DECODE_WORDS : decoder->count;
        decoder->mark = 0;
        decoder->mark_count = decoder->kernels->specials(decoder->words, decoder->at, to, decoder->marks);
        decoder->scanned = to;
    }
    decoder->marks[decoder->mark_count] = (uint32_t)decoder->scanned;
}

static void set_stack(const fm_decoder *decoder, uint64_t *low, uint64_t *span)
{
    const fm_traced_thread *thread = decoder->thread;
    bool leave_out = decoder->filter.no_stack && thread->high > thread->low;
    *low = leave_out ? thread->low : 0;
    *span = leave_out ? thread->high - thread->low : 0;
}

static bool tags_full(const fm_process *process)
{
    return process->code.program.sites.count >= FM_TAG_MAX;
}

static void read_plain(fm_decoder *decoder)
{
    fm_process *process = decoder->process;
    fm_access_run run = {
        .words = decoder->words,
        .specials = decoder->marks,
        .special = decoder->mark,
        .special_count = decoder->mark_count,
        .at = decoder->at,
        .page = decoder->page,
        .cache = process->pages.cache,
        .tags_full = tags_full(process),
    };
    set_stack(decoder, &run.stack_low, &run.stack_span);
    size_t before = decoder->rows.count;
    decoder->kernels->accesses(&run, &decoder->rows);
    process->left_out += run.left_out;
    if (!fm_decoder_delivers(decoder)) {
        process->left_out += decoder->rows.count - before;
        decoder->rows.count = before;
    }
    decoder->mark = run.special;
    decoder->at = run.at;
    /* All pages are the process's own, and may be changed. */
    decoder->page = (fm_code_page *)(uintptr_t)run.page;
}

static uint32_t path_tag(fm_decoder *decoder, uint32_t site)
{
    uint32_t node = fm_thread_node(decoder->thread);
    size_t slot = (site * 0x9E3779B1U ^ node * 0x85EBCA6BU) >> 20;
    if (decoder->recent_of != decoder->process) {
        for (size_t i = 0; i < sizeof decoder->recent / sizeof decoder->recent[0]; i++)
            decoder->recent[i].site = 0;
        decoder->recent_of = decoder->process;
    }
    if (site == 0) return 0;
    if (decoder->recent[slot].site != site || decoder->recent[slot].node != node) {
        decoder->recent[slot].site = site;
        decoder->recent[slot].node = node;
        decoder->recent[slot].tag = fm_program_place(&decoder->process->code.program, site, node);
    }
    return decoder->recent[slot].tag;
}

/* One access, whatever it is. */
static void read_access(fm_decoder *decoder, unsigned code, unsigned place, uint64_t address, uint64_t size)
{
    fm_process *process = decoder->process;
    const fm_collect_filter *filter = &decoder->filter;
    fm_rows *rows = &decoder->rows;
    unsigned kind = fm_access_kinds[code];
    if (!(kind == FM_KIND_LOAD ? filter->loads : filter->stores)) return;
    uint64_t low, span;
    set_stack(decoder, &low, &span);
    bool wanted = fm_decoder_delivers(decoder) && address - low >= span;
    if (wanted && filter->function && !decoder->thread->inside)
        wanted = decoder->page && fm_code_pages_watched(&process->code, decoder->page, place);
    if (!wanted) {
        process->left_out++;
        return;
    }
    uint32_t tag = 0;
    if (filter->tags && decoder->page) tag = fm_code_pages_site(&process->code, decoder->page, place);
    if (filter->paths) tag = path_tag(decoder, tag);
    size_t row = rows->count++;
    rows->at->address[row] = address;
    if (rows->columns & FM_COLUMN_SIZE) rows->at->size[row] = (uint32_t)size;
    if (rows->columns & FM_COLUMN_KIND) rows->at->kind[row] = (uint8_t)kind;
    if (rows->columns & FM_COLUMN_TAG) rows->at->tag[row] = tag;
    if (rows->columns & FM_COLUMN_SITE) rows->at->site[row] = decoder->page ? decoder->page->base + place : 0;
    decoder->range_bytes += size;
}

static fm_status read_page(fm_decoder *decoder, uint64_t number, fm_error *error)
{
    decoder->page = fm_code_pages_find(&decoder->process->pages, &decoder->process->code, number);
    if (!decoder->page) return fm_fail(error, FM_E_NOMEM, NULL, "out of memory: no room for a page of sites");
    decoder->at++;
    return FM_OK;
}

/* One word that a kernel leaves, with what belongs to it. */
static fm_status read_special(fm_decoder *decoder, bool *deliver, fm_error *error)
{
    uint64_t word = fm_word(&decoder->words[decoder->at]);
    unsigned code = (unsigned)(word >> 12) & 15, place = (unsigned)word & 4095;
    if (word >> 63) {
        if (FM_RECORD_KIND(word) == FM_RECORD_PAGE)
            return read_page(decoder, FM_RECORD_ARGUMENT(word), error);
        size_t maps = decoder->process->code.maps.count;
        fm_status status = fm_decode_record(decoder, deliver, error);
        if (status == FM_OK && decoder->page && decoder->process->code.maps.count != maps) {
            decoder->page = /* the module that it was in may have changed */
                fm_code_pages_find(&decoder->process->pages, &decoder->process->code, decoder->page->page);
        }
        return status;
    }
    if (code == 0 || code > FM_ACCESS_STORE_RANGE)
        return fm_fail(error, FM_E_CORRUPT, NULL, "the word %#" PRIx64 " is no access", word);
    uint64_t size = fm_access_sizes[code];
    size_t words = 1;
    if (size == 0) {
        if (decoder->at + 1 >= decoder->count)
            return fm_fail(error, FM_E_CORRUPT, NULL, "an access is cut off before its length");
        size = fm_word(&decoder->words[decoder->at + 1]);
        if (size > FM_RANGE_MOST)
            return fm_fail(error, FM_E_CORRUPT, NULL, "an access of %" PRIu64 " bytes, %d at most", size,
                           FM_RANGE_MOST);
        words = 2;
    }
    if (size > 0) read_access(decoder, code, place, word >> 16, size); /* a copy of nothing is no access */
    decoder->at += words;
    return FM_OK;
}

fm_status fm_decode_compiler(fm_decoder *decoder, fm_error *error)
{
    bool calls = decoder->filter.paths || decoder->filter.function, deliver = false;
    if (decoder->rows.count == 0) {
        fm_rows_set_thread(&decoder->rows, decoder->thread->number);
        decoder->range_bytes = 0;
    }
    while (decoder->at < decoder->count && decoder->rows.count < FM_ROWS_FULL &&
           decoder->range_bytes < RANGES_FULL && !deliver) {
        if (!calls) {
            mark_specials(decoder);
            read_plain(decoder);
            if (decoder->at >= decoder->scanned) continue;
        }
        fm_status status = read_special(decoder, &deliver, error);
        if (status != FM_OK) return status;
    }
    return FM_OK;
}
