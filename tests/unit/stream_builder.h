/* SPDX-License-Identifier: Apache-2.0 */
/* stream_builder.h - chunks as producers write them (collect/protocol.h), and what a decoder makes of them.
 */
#ifndef FATHOM_TEST_STREAM_BUILDER_H
#define FATHOM_TEST_STREAM_BUILDER_H

#include "random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collect/decoder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNUSED __attribute__((unused))

/* ---- words ---- */

typedef struct stream {
    size_t count;
    uint64_t words[FM_CHUNK_WORDS + 8]; /* kernels read a little behind the end */
} stream;

static UNUSED void put(stream *to, uint64_t word)
{
    assert_true(to->count < FM_CHUNK_WORDS);
    to->words[to->count++] = word;
}

static UNUSED void put_record(stream *to, unsigned kind, uint64_t argument, const uint64_t *words,
                              size_t count)
{
    put(to, FM_RECORD(kind, argument, count));
    for (size_t i = 0; i < count; i++) put(to, words[i]);
}

static UNUSED void put_text_record(stream *to, unsigned kind, uint64_t argument, const uint64_t *words,
                                   size_t count, const char *text)
{
    size_t bytes = strlen(text) + 1, padded = (bytes + 7) / 8;
    put(to, FM_RECORD(kind, argument, count + padded));
    for (size_t i = 0; i < count; i++) put(to, words[i]);
    memset(&to->words[to->count], 0, padded * 8);
    memcpy(&to->words[to->count], text, bytes);
    to->count += padded;
}

typedef struct access_told {
    uint64_t code;
    unsigned size, kind;
    /* It has no word of its own, but shares this one of its eight accesses. */
    bool shared;
    unsigned word;
    int delta;
} access_told;

static UNUSED void put_definition(stream *to, uint32_t number, uint32_t module, unsigned flags,
                                  uint64_t begin, uint64_t behind, const access_told *accesses, size_t count)
{
    uint64_t words[4 + 512] = {number | (uint64_t)count << 32 | (uint64_t)flags << 48, module, begin, behind};
    size_t all = 4 + count;
    for (size_t i = 0; i < count; i++) {
        words[4 + i] = accesses[i].code | (uint64_t)accesses[i].size << 48 | (uint64_t)accesses[i].kind << 60;
        if (!accesses[i].shared) continue;
        words[4 + i] |= FM_DEFINE_SHARED;
        words[all++] = (uint16_t)accesses[i].delta | (uint64_t)accesses[i].word << 16;
    }
    put_record(to, FM_RECORD_DEFINE, 0, words, all);
}

static UNUSED void put_block(stream *to, uint32_t number, const uint64_t *words, size_t count)
{
    put(to, FM_RECORD(FM_RECORD_BLOCK, number, 0));
    for (size_t i = 0; i < count; i++) put(to, words[i]);
}

static UNUSED void put_module(stream *to, uint32_t number, uint64_t flags, uint64_t bias, uint64_t from,
                              uint64_t to_, const char *path)
{
    const uint64_t words[8] = {number | flags << 32, bias, from, to_};
    put_text_record(to, FM_RECORD_MODULE, 0, words, 8, path);
}

static UNUSED void put_thread_start(stream *to, uint32_t number, uint64_t low, uint64_t high)
{
    const uint64_t words[4] = {number, low, high, number};
    put_record(to, FM_RECORD_THREAD_START, 0, words, 4);
}

/* ---- what comes out ---- */

enum { GOT_MOST = 1 << 18 };
typedef struct gotten {
    size_t count, batches;
    uint64_t *address, *site;
    uint32_t *size, *tag, *thread;
    uint8_t *kind;
} gotten;

static UNUSED void gotten_create(gotten *got)
{
    got->count = got->batches = 0;
    got->address = calloc(GOT_MOST, 8);
    got->site = calloc(GOT_MOST, 8);
    got->size = calloc(GOT_MOST, 4);
    got->tag = calloc(GOT_MOST, 4);
    got->thread = calloc(GOT_MOST, 4);
    got->kind = calloc(GOT_MOST, 1);
}

static UNUSED void gotten_free(gotten *got)
{
    free(got->address);
    free(got->site);
    free(got->size);
    free(got->tag);
    free(got->thread);
    free(got->kind);
}

enum { ALL_COLUMNS = FM_COLUMN_SIZE | FM_COLUMN_KIND | FM_COLUMN_THREAD | FM_COLUMN_SITE | FM_COLUMN_TAG };

static UNUSED void gotten_take(gotten *got, fm_decoder *decoder)
{
    fm_rows *rows = &decoder->rows;
    if (rows->count == 0) return;
    assert_true(got->count + rows->count <= GOT_MOST);
    memcpy(got->address + got->count, rows->at->address, rows->count * 8);
    if (rows->columns & FM_COLUMN_SITE) memcpy(got->site + got->count, rows->at->site, rows->count * 8);
    if (rows->columns & FM_COLUMN_SIZE) memcpy(got->size + got->count, rows->at->size, rows->count * 4);
    if (rows->columns & FM_COLUMN_TAG) memcpy(got->tag + got->count, rows->at->tag, rows->count * 4);
    if (rows->columns & FM_COLUMN_THREAD) memcpy(got->thread + got->count, rows->at->thread, rows->count * 4);
    if (rows->columns & FM_COLUMN_KIND) memcpy(got->kind + got->count, rows->at->kind, rows->count);
    got->count += rows->count;
    got->batches++;
    decoder->process->references += rows->count;
    rows->count = 0;
}

/* Decodes one chunk to its end. thread: NULL under Valgrind. */
static UNUSED fm_status decode_chunk(fm_decoder *decoder, unsigned producer, fm_process *process,
                                     fm_traced_thread *thread, const stream *chunk, gotten *got,
                                     fm_error *error)
{
    uint64_t page = decoder->page && decoder->process == process ? decoder->page->page + 1 : 0;
    fm_decoder_begin(decoder, producer, process, thread, page, chunk->words, chunk->count);
    fm_status status = FM_OK;
    for (size_t turns = 0; decoder->words && chunk->count; turns++) {
        assert_true(turns <= FM_CHUNK_WORDS + 10);
        status = fm_decoder_read(decoder, error);
        if (got)
            gotten_take(got, decoder);
        else
            decoder->rows.count = 0;
    }
    return status;
}

/* Instruction sets this machine has. */
static UNUSED const char *isa_at(size_t index)
{
    static const char *const all[] = {"avx512", "avx2", "portable"};
    for (size_t i = 0; i < 3; i++)
        if (fm_decode_kernels_find(all[i]) && index-- == 0) return all[i];
    return NULL;
}

#endif
