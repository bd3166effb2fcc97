/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_zstd_frames.c - zstd files of several frames, decompressed by several threads: in order, whatever
 * frames there are; cut, damaged or lying ones give what one decoder gives, message and place included; and
 * none takes much memory.
 *
 * Judges: the content that was compressed; libzstd for where frames end; and reading with one thread, which
 * never divides frames.
 */
#include "case.h"

#include "trace/stream.h"
#include "unit/trace_helpers.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sys/resource.h>
#include <zstd.h>

enum { MOST = 24 << 20, SKIPPABLE = 0x184D2A50 };
static uint8_t *stored, *content; /* of the file that is being made */
static size_t stored_count, content_count;

static int setup(void **state)
{
    stored = malloc(MOST);
    content = malloc(MOST);
    assert_true(stored && content);
    return make_directory(state);
}

static int teardown(void **state)
{
    free(stored);
    free(content);
    return remove_directory(state);
}

static void put32(uint32_t value)
{
    for (unsigned i = 0; i < 4; i++) stored[stored_count++] = (uint8_t)(value >> (8 * i));
}

/* A frame that holds the next `bytes` of random numbers, one a line. */
static void put_lines(uint64_t *random, size_t bytes, ZSTD_CCtx *compressor)
{
    char *at = (char *)content + content_count, *const from = at;
    while ((size_t)(at - from) < bytes) at += sprintf(at, "%" PRIu64 "\n", random_from(random) % 100000);
    const size_t cut = random_from(random) % 2 ? (size_t)(at - from) : bytes; /* perhaps within a line */
    ZSTD_CCtx_reset(compressor, ZSTD_reset_session_and_parameters);
    ZSTD_CCtx_setParameter(compressor, ZSTD_c_compressionLevel, (int)(random_from(random) % 5) + 1);
    ZSTD_CCtx_setParameter(compressor, ZSTD_c_checksumFlag, random_from(random) % 2);
    ZSTD_CCtx_setParameter(compressor, ZSTD_c_contentSizeFlag, random_from(random) % 2);
    ZSTD_inBuffer in = {from, cut, 0};
    ZSTD_outBuffer out = {stored + stored_count, MOST - stored_count, 0};
    assert_int_equal(ZSTD_compressStream2(compressor, &out, &in, ZSTD_e_end), 0);
    stored_count += out.pos;
    content_count += cut;
}

/* With anything in it; said: the size that its header tells. */
static void put_skippable(uint64_t *random, uint32_t size, uint32_t said)
{
    put32(SKIPPABLE + (uint32_t)(random_from(random) % 16));
    put32(said);
    for (uint32_t i = 0; i < size; i++) stored[stored_count++] = (uint8_t)random_from(random);
}

static void make_file(uint64_t *random, size_t frames, size_t most, ZSTD_CCtx *compressor)
{
    stored_count = content_count = 0;
    for (size_t i = 0; i < frames; i++) {
        const uint64_t dice = random_from(random) % 8;
        if (dice == 0) put_skippable(random, 4, 4); /* as pzstd has, but the size there is nonsense */
        const uint32_t any = (uint32_t)(random_from(random) % 3000);
        if (dice == 1) put_skippable(random, any, any);
        put_lines(random, dice == 2 ? 0 : random_from(random) % most, compressor);
    }
}

/* Read by several threads as by one. */
static void compare(const char *format, unsigned threads)
{
    const char *path = in_directory("frames.zst");
    gathered one, several;
    write_file(path, stored, stored_count);
    gather(&one, path, &(fm_reader_options){.format = format});
    gather(&several, path, &(fm_reader_options){.format = format, .threads = threads});
    assert_int_equal(several.opened, one.opened);
    assert_int_equal(several.status, one.status);
    assert_int_equal(several.damages, one.damages);
    assert_string_equal(several.message, one.message);
    assert_int_equal(several.count, one.count);
    if (one.count > 0) assert_memory_equal(several.address, one.address, one.count * sizeof *one.address);
    if (one.status == FM_OK) assert_int_equal(several.info.bytes_read, stored_count);
    gathered_free(&one);
    gathered_free(&several);
}

/* What fm_frames_ahead delivers, and what it gives back, is the whole file, in order. Returns how many bytes
 * of the content came out decoded. */
static size_t take_apart(unsigned threads, size_t step)
{
    const char *path = in_directory("frames.zst");
    fm_input input;
    fm_error error;
    uint8_t first[1000];
    size_t got;
    write_file(path, stored, stored_count);
    assert_int_equal(fm_input_open(&input, path, &error), FM_OK);
    assert_int_equal(fm_input_read(&input, first, sizeof first, &got, &error), FM_OK);
    fm_frames_ahead *frames = fm_frames_ahead_create(&input, first, got, threads);
    assert_non_null(frames);
    uint8_t *taken = malloc(step);
    size_t at = 0;
    assert_non_null(taken);
    while ((got = fm_frames_ahead_read(frames, taken, step)) > 0) {
        assert_true(at + got <= content_count);
        assert_memory_equal(taken, content + at, got);
        at += got;
    }
    const uint64_t passed = fm_frames_ahead_passed(frames);
    assert_true(passed + fm_frames_ahead_unread(frames) == input.taken);
    uint64_t rest = 0;
    for (;;) {
        assert_int_equal(fm_frames_ahead_rest(frames, taken, step, &got, &error), FM_OK);
        if (got == 0) break;
        assert_memory_equal(taken, stored + passed + rest, got);
        rest += got;
    }
    assert_int_equal(passed + rest, input.taken);
    assert_int_equal(fm_frames_ahead_unread(frames), 0);
    free(taken);
    fm_frames_ahead_destroy(frames);
    fm_input_close(&input);
    return at;
}

CASE(in_order)
{
    uint64_t random = 11;
    ZSTD_CCtx *compressor = ZSTD_createCCtx();
    for (size_t i = 0; i < 40; i++) {
        make_file(&random, 1 + random_from(&random) % 30, i % 4 ? 3000 : 200000, compressor);
        const unsigned threads = 2 + (unsigned)(random_from(&random) % 5);
        assert_int_equal(take_apart(threads, 1 + random_from(&random) % 70000), content_count);
        compare("text", threads);
    }
    ZSTD_freeCCtx(compressor);
}

/* Anything behind, or instead of, a frame. */
CASE(then_something_else)
{
    uint64_t random = 12;
    ZSTD_CCtx *compressor = ZSTD_createCCtx();
    for (size_t i = 0; i < 60; i++) {
        make_file(&random, 1 + random_from(&random) % 6, 3000, compressor);
        switch (i % 6) {
        case 0: /* cut anywhere */
            stored_count = 4 + random_from(&random) % (stored_count - 4);
            break;
        case 1: /* one wrong bit; what begins like no zstd file is not decompressed at all */
            stored[4 + random_from(&random) % (stored_count - 4)] ^=
                (uint8_t)(1U << random_from(&random) % 8);
            break;
        case 2: /* a gzip member, which does not belong there */
            memcpy(stored + stored_count, "\x1f\x8b\x08\0\0\0\0\0\0\x03\x03\0\0\0\0\0\0\0\0\0", 20);
            stored_count += 20;
            break;
        case 3: /* more is said than there is */
            put_skippable(&random, 100, UINT32_MAX);
            break;
        case 4: /* the last frames are skippable */
            put_skippable(&random, 10, 10);
            put_skippable(&random, 0, 0);
            break;
        default: /* a window of 2^31, and then more frames */
            memcpy(stored + stored_count, "\x28\xb5\x2f\xfd\x00\xa8\x01\0\0", 9);
            stored_count += 9;
            put_lines(&random, 1000, compressor);
        }
        compare("text", 2 + (unsigned)(random_from(&random) % 5));
    }
    ZSTD_freeCCtx(compressor);
}

/* The line that is wrong has its number, whichever frame it is in. */
CASE(wrong_line)
{
    uint64_t random = 13;
    ZSTD_CCtx *compressor = ZSTD_createCCtx();
    make_file(&random, 12, 100000, compressor);
    uint64_t lines = 1;
    for (size_t i = 0; i < content_count; i++) lines += content[i] == '\n';
    static const char wrong[] = "12\0"
                                "3\n";
    ZSTD_CCtx_reset(compressor, ZSTD_reset_session_and_parameters);
    stored_count += ZSTD_compress2(compressor, stored + stored_count, MOST - stored_count, "\n", 1);
    stored_count +=
        ZSTD_compress2(compressor, stored + stored_count, MOST - stored_count, wrong, sizeof wrong - 1);
    const char *path = in_directory("frames.zst");
    write_file(path, stored, stored_count);
    gathered all;
    gather(&all, path, &(fm_reader_options){.format = "text", .threads = 4});
    assert_int_equal(all.status, FM_E_FORMAT);
    assert_int_equal(all.error.place, FM_PLACE_LINE);
    assert_int_equal(all.error.offset, lines + 1);
    gathered_free(&all);
    compare("text", 4);
    ZSTD_freeCCtx(compressor);
}

/* Blocks that say 128 KiB of one byte, in a frame that tells no size. */
static void put_repeated(size_t blocks)
{
    memcpy(stored + stored_count, "\x28\xb5\x2f\xfd\x00\x58", 6);
    stored_count += 6;
    for (size_t i = 0; i < blocks; i++) {
        put32((uint32_t)(i == blocks - 1) | 1U << 1 | (128U << 10) << 3);
        stored[stored_count - 1] = 0; /* the byte */
    }
}

CASE(large_frames)
{
    uint64_t random = 14;
    ZSTD_CCtx *compressor = ZSTD_createCCtx();
    /* Small ones first; then one of 128 MiB, and more behind it. */
    make_file(&random, 5, 3000, compressor);
    const size_t before = content_count;
    put_repeated(1024);
    put_lines(&random, 1000, compressor);
    assert_int_equal(take_apart(4, 4096), before);
    /* Many of 16 MiB: no more are under way than have room. */
    stored_count = 0;
    for (int i = 0; i < 40; i++) put_repeated(128);
    struct rusage rusage;
    getrusage(RUSAGE_SELF, &rusage);
    const long peak = rusage.ru_maxrss;
    const char *path = in_directory("frames.zst");
    write_file(path, stored, stored_count);
    fm_reader *reader;
    fm_error error;
    uint64_t count = 0;
    assert_int_equal(
        fm_reader_open(&reader, path, &(fm_reader_options){.format = "u64", .threads = 64}, &error), FM_OK);
    for (fm_batch batch;; count += batch.count) {
        assert_int_equal(fm_reader_next(reader, &batch, &error), FM_OK);
        if (batch.count == 0) break;
        assert_int_equal(batch.address[batch.count - 1], 0);
    }
    fm_reader_close(reader);
    getrusage(RUSAGE_SELF, &rusage);
    assert_int_equal(count, (UINT64_C(40) << 24) / sizeof(uint64_t));
#if !defined(__SANITIZE_THREAD__) /* which has memory of its own for all that is touched */
    assert_true(rusage.ru_maxrss - peak < 320 << 10); /* kB */
#endif
    /* A frame that is stored in more than 16 MiB, as it is. */
    stored_count = 0;
    memcpy(stored, "\x28\xb5\x2f\xfd\x00\x58", 6);
    stored_count = 6;
    for (size_t i = 0; i < 136; i++) {
        put32((uint32_t)(i == 135) | (128U << 10) << 3);
        memset(stored + --stored_count, (int)i + 1, 128 << 10);
        stored_count += 128 << 10;
    }
    put_repeated(1);
    content_count = 0;
    assert_int_equal(take_apart(4, 100000), 0);
    compare("u64", 4);
    ZSTD_freeCCtx(compressor);
}

/* Where frames end, by libzstd; and no part of one is taken for a whole. */
CASE(walking)
{
    uint64_t random = 15;
    ZSTD_CCtx *compressor = ZSTD_createCCtx();
    for (size_t i = 0; i < 60; i++) {
        stored_count = content_count = 0;
        const uint32_t skipped = (uint32_t)(random_from(&random) % 100);
        if (i % 3 == 0) put_skippable(&random, skipped, skipped);
        const size_t first = stored_count;
        put_lines(&random, i % 10 ? random_from(&random) % 500 : 300000, compressor);
        const size_t behind = stored_count;
        put_lines(&random, 50, compressor);
        const size_t frame = ZSTD_findFrameCompressedSize(stored + first, stored_count - first);
        assert_int_equal(first + frame, behind);
        fm_frame_walk on = {0};
        for (size_t count = 0; count <= behind; count += i % 10 ? 1 : 1 + random_from(&random) % 1000) {
            fm_frame_walk at_once = {0};
            const fm_frame_found expected = count == behind ? FM_FRAME_WHOLE : FM_FRAME_MORE;
            assert_int_equal(fm_frame_walk_on(&at_once, stored, count), expected);
            if (count < behind) assert_int_equal(fm_frame_walk_on(&on, stored, count), expected);
        }
        assert_int_equal(fm_frame_walk_on(&on, stored, stored_count), FM_FRAME_WHOLE);
        assert_int_equal(on.at, behind);
        assert_true(on.content_most >= ZSTD_getFrameContentSize(stored + first, frame) ||
                    ZSTD_getFrameContentSize(stored + first, frame) == ZSTD_CONTENTSIZE_UNKNOWN);
        uint8_t decoded[400000];
        const size_t size = ZSTD_decompress(decoded, sizeof decoded, stored + first, frame);
        assert_true(!ZSTD_isError(size) && size <= on.content_most);
    }
    ZSTD_freeCCtx(compressor);
}

CASES_WITH(setup, teardown);
