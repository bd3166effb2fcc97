/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decoder.h - words of a chunk to rows of a batch. One chunk is read at a time; reading stops when the batch
 * is full or another thread's references begin, and goes on from there.
 *
 * Everything in a chunk may be damaged, or change while it is read: a producer may die in the middle of a
 * word, and the program under it may write anywhere. Damage is FM_E_CORRUPT; the rest of the chunk is then
 * passed over, and the next one begins with a record again.
 */
#ifndef FATHOM_COLLECT_DECODER_H
#define FATHOM_COLLECT_DECODER_H

#include "collect/rows.h"
#include "collect/traced_process.h"

/* Records about processes go to whoever knows all of them. words: copied, the text (if the kind has one)
 * behind them and ended; bytes: of the text with all that follows it. */
typedef fm_status (*fm_process_record_handler)(void *context, fm_process *process, unsigned kind,
                                               uint64_t argument, const uint64_t *words, const char *text,
                                               size_t bytes, fm_error *error);

typedef struct fm_decoder {
    fm_collect_filter filter;
    const fm_decode_kernels *kernels;
    fm_rows rows;
    bool drop; /* nothing is delivered any more: what comes is left out */
    fm_process_record_handler process_record;
    void *context;

    /* The chunk. */
    const uint64_t *words; /* NULL: none */
    size_t count, at;      /* words in it, next one */
    unsigned producer;
    fm_process *process;
    fm_traced_thread *thread;
    /* Where records begin (Valgrind) or words are that are no plain accesses (compiler), as far as scanned.
     */
    uint32_t marks[2 * FM_DECODE_WORDS + 64];
    size_t mark, mark_count;
    size_t scanned;
    bool zeros;
    fm_code_page *page;   /* compiler */
    uint64_t range_bytes; /* compiler: of accesses in the batch that a kernel left */

    /* Tags on paths that were asked for lately (compiler), of process `recent_of`. */
    struct {
        uint32_t site, node, tag;
    } recent[4096];
    const fm_process *recent_of;
    uint64_t record[FM_CHUNK_WORDS + 1]; /* one, copied out of the shared memory */
} fm_decoder;

fm_status fm_decoder_create(fm_decoder **decoder, const fm_collect_filter *filter, unsigned columns,
                            const char *isa, fm_error *error);
void fm_decoder_destroy(fm_decoder *decoder); /* NULL is fine */

/* Begins a chunk. thread: of a compiler's channel; for Valgrind's the process knows it. page: of code, the
 * last one reported in this channel. */
void fm_decoder_begin(fm_decoder *decoder, unsigned producer, fm_process *process, fm_traced_thread *thread,
                      uint64_t page, const uint64_t *words, size_t count);
/* Reads on. Afterwards the chunk is at its end (decoder->words is NULL), or the batch is to be delivered. */
fm_status fm_decoder_read(fm_decoder *decoder, fm_error *error);

/* ---- for the two decoders ---- */

fm_status fm_decode_valgrind(fm_decoder *decoder, fm_error *error);
fm_status fm_decode_compiler(fm_decoder *decoder, fm_error *error);
/* The record at decoder->at, which is neither BLOCK nor PAGE; moves behind it. *deliver: the batch has to be
 * delivered first, and the record was not done. */
fm_status fm_decode_record(fm_decoder *decoder, bool *deliver, fm_error *error);

/* Are the thread's references wanted now, as far as regions go? */
static inline bool fm_decoder_delivers(const fm_decoder *decoder)
{
    return !decoder->drop && (!decoder->filter.region || decoder->thread->region_open > 0);
}

#endif
