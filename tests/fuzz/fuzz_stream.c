/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_stream.c - words that a traced program has sent (collect/protocol.h): the first byte says which
 * producer and what is wanted, the rest is a chunk.
 */
#include "fuzz/fuzz_target.h"

#include "collect/decoder.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const isas[] = {NULL, "portable"};
    uint64_t words[FM_CHUNK_WORDS + 8] = {0};
    if (size == 0) return 0;
    uint8_t how = data[0];
    size_t count = (size - 1) / 8 < FM_CHUNK_WORDS ? (size - 1) / 8 : FM_CHUNK_WORDS;
    memcpy(words, data + 1, count * 8);
    const fm_collect_filter filter = {
        .loads = !(how & 2),
        .stores = true,
        .no_stack = how & 4,
        .tags = true,
        .paths = how & 8,
        .function = how & 16 ? "main" : NULL,
        .region = how & 32 ? "r" : NULL,
    };
    const unsigned columns =
        FM_COLUMN_SIZE | FM_COLUMN_KIND | FM_COLUMN_SITE | FM_COLUMN_TAG | FM_COLUMN_THREAD;
    unsigned producer = how & 1 ? FM_PRODUCER_VALGRIND : FM_PRODUCER_COMPILER;
    fm_error error;
    fm_decoder *decoder;
    fm_traced_thread *thread;
    FUZZ_REQUIRE(fm_decoder_create(&decoder, &filter, columns, isas[how >> 6 & 1], &error) == FM_OK);
    fm_process *process = fm_process_create(1, 1, filter.function, true, &error);
    FUZZ_REQUIRE(process && fm_process_thread(process, 1, &thread, &error) == FM_OK);
    uint64_t references = 0, sum = 0;
    if (count > 0) fm_decoder_begin(decoder, producer, process, thread, 0, words, count);
    for (size_t turns = 0; decoder->words; turns++) {
        FUZZ_REQUIRE(turns <= count + 1);
        fm_status status = fm_decoder_read(decoder, &error);
        FUZZ_REQUIRE(status == FM_OK || (status == FM_E_CORRUPT && error.reason[0] && !decoder->words));
        FUZZ_REQUIRE(decoder->rows.count < FM_ROWS_ROOM);
        for (size_t i = 0; i < decoder->rows.count; i++) {
            FUZZ_REQUIRE(decoder->rows.at->kind[i] <= FM_KIND_STORE);
            FUZZ_REQUIRE(decoder->rows.at->tag[i] <= FM_TAG_MAX);
            sum += decoder->rows.at->address[i] + decoder->rows.at->size[i] + decoder->rows.at->site[i];
        }
        references += decoder->rows.count;
        process->references += decoder->rows.count;
        decoder->rows.count = 0;
    }
    fuzz_understood += references > 0;
    *(volatile uint64_t *)&sum = sum;
    fm_process_destroy(process);
    fm_decoder_destroy(decoder);
    return 0;
}

/* ---- seeds ---- */

typedef struct seed {
    size_t count;
    uint64_t words[256];
} seed;

static void put(seed *to, uint64_t word)
{
    FUZZ_REQUIRE(to->count < 256);
    to->words[to->count++] = word;
}

static void put_module(seed *to, const char *path)
{
    size_t padded = strlen(path) / 8 + 1;
    put(to, FM_RECORD(FM_RECORD_MODULE, 0, 8 + padded));
    const uint64_t words[8] = {1, 0x400000, 0x400000, 0x500000, 0x500000, 0x501000, 0x501000, 0x502000};
    for (int i = 0; i < 8; i++) put(to, words[i]);
    FUZZ_REQUIRE(to->count + padded <= 256);
    memcpy(&to->words[to->count], path, strlen(path));
    to->count += padded;
}

static void put_common(seed *to)
{
    put_module(to, "/nowhere/program");
    const uint64_t started[5] = {FM_RECORD(FM_RECORD_THREAD_START, 0, 4), 1, 0x1000, 0x9000, 1};
    for (int i = 0; i < 5; i++) put(to, started[i]);
    const uint64_t heap[11] = {FM_RECORD(FM_RECORD_CONTEXT, 0, 3),
                               1,
                               0x400105,
                               0x400205,
                               FM_RECORD(FM_RECORD_HEAP_ALLOC, 0, 3),
                               0x5000,
                               64,
                               1,
                               FM_RECORD(FM_RECORD_HEAP_FREE, 0, 1),
                               0x5000,
                               FM_RECORD(FM_RECORD_LOST, 3, 0)};
    for (int i = 0; i < 11; i++) put(to, heap[i]);
    put(to, FM_RECORD(FM_RECORD_REGION_BEGIN, 0, 1));
    put(to, 'r');
}

static void put_blocks(seed *to, unsigned flags)
{
    put(to, FM_RECORD(FM_RECORD_DEFINE, 0, 7));
    put(to, 1 | UINT64_C(3) << 32 | (uint64_t)flags << 48);
    const uint64_t words[6] = {1,
                               0x400100,
                               0x40010D,
                               0x400100 | UINT64_C(8) << 48,
                               0x400104 | UINT64_C(4) << 48 | UINT64_C(1) << 60,
                               0x400108 | UINT64_C(8) << 48 | UINT64_C(2) << 60};
    for (int i = 0; i < 6; i++) put(to, words[i]);
    put(to, FM_RECORD(FM_RECORD_THREAD, 1, 0));
    for (uint64_t i = 0; i < 20; i++) {
        put(to, FM_RECORD(FM_RECORD_BLOCK, 1, 0));
        if (flags & FM_BLOCK_HAS_SP) put(to, 0x8000 - i * 8);
        put(to, 0xA000 + i);
        if (i % 5 == 0) continue; /* a side exit */
        put(to, i % 3 ? 0x2000 : 0);
        put(to, 0x8000 - i * 8 - 8);
    }
}

static void put_accesses(seed *to)
{
    for (uint64_t i = 0; i < 24; i++) {
        if (i % 10 == 0) put(to, FM_RECORD(FM_RECORD_PAGE, 0x400 + i % 3, 0));
        if (i % 8 == 1) {
            put(to, FM_RECORD(FM_RECORD_ENTER, 0, 3));
            put(to, 0x400100);
            put(to, 0x400200 + i);
            put(to, 0x8000 - i * 16);
        }
        if (i % 8 == 6) put(to, FM_RECORD(FM_RECORD_LEAVE, 0, 0));
        unsigned code = (unsigned)(1 + i % FM_ACCESS_STORE_RANGE);
        put(to, FM_ACCESS_WORD(0xA000 + i * 8, code, i * 7));
        if (code == FM_ACCESS_LOAD_RANGE || code == FM_ACCESS_STORE_RANGE) put(to, i * 100);
    }
}

size_t fuzz_seed(size_t number, uint8_t *to, size_t room)
{
    static const uint8_t how[] = {1, 0, 1 | 8, 8, 1 | 4 | 32, 4 | 32, 1 | 2, 1 | 64, 64};
    if (number >= sizeof how || room < 4096) return 0;
    seed made = {0};
    put_common(&made);
    if (how[number] & 1)
        put_blocks(&made, how[number] & 8 ? FM_BLOCK_HAS_SP | FM_BLOCK_CALLS : 0);
    else
        put_accesses(&made);
    to[0] = how[number];
    memcpy(to + 1, made.words, made.count * 8);
    return 1 + made.count * 8;
}
