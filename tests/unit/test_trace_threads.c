/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_trace_threads.c - native traces decoded by several threads: references, damage and its words are those
 * of one thread (which other tests judge), in the same order, whatever is in the file; and a reader may be
 * closed while its threads are at work. The same where threads fetch ranges for themselves
 * (fm_reader_share), which stop at the first damage, and where it is within a block, leave all to others.
 */
#include "case.h"

#include "trace/supply.h"
#include "unit/native_samples.h"

#include <fcntl.h>
#include <zstd.h>

enum { MOST_THREADS = 8, MOST_EVENTS = 64, MOST_BLOCKS = 40, ROOM = 1 << 19 };

/* All that a reader told, in order. */
typedef struct told {
    uint64_t batches;
    uint64_t digest; /* of the addresses, sizes and kinds of every batch */
    uint64_t sites;  /* of the sites; 0: none were told */
    uint64_t others; /* of the other columns; 0: not all were told */
    size_t count;
    struct {
        uint64_t after; /* references delivered before it */
        fm_error error;
    } event[MOST_EVENTS];
    size_t modules;
    fm_trace_info info;
} told;

static uint64_t digest_of(uint64_t before, const fm_batch *batch)
{
    const size_t count = batch->count;
    before = XXH3_64bits_withSeed(batch->address, count * sizeof *batch->address, before);
    if (batch->size) before = XXH3_64bits_withSeed(batch->size, count * sizeof *batch->size, before);
    return batch->kind ? XXH3_64bits_withSeed(batch->kind, count, before) : before;
}

static uint64_t digest_of_sites(uint64_t before, const fm_batch *batch)
{
    return batch->site ? XXH3_64bits_withSeed(batch->site, batch->count * sizeof *batch->site, before)
                       : before;
}

static uint64_t digest_of_others(uint64_t before, const fm_batch *batch)
{
    const size_t count = batch->count;
    if (batch->thread) before = XXH3_64bits_withSeed(batch->thread, count * sizeof *batch->thread, before);
    return batch->site ? XXH3_64bits_withSeed(batch->site, count * sizeof *batch->site, before) : before;
}

/* What can be had in ranges, one after the other; with sites where there is an even number of workers.
 * False: something in them is damaged. */
static bool listen_to_stretches(told *events, fm_reader *reader, unsigned workers, uint64_t *references)
{
    fm_supply supply;
    fm_trace_range range;
    fm_batch batch;
    fm_error error;
    const bool sites = workers % 2 == 0;
    uint64_t next = 0; /* number of a reference */
    if (fm_reader_share(reader, workers, sites, &supply, &error) != FM_OK) {
        assert_int_equal(error.status, FM_E_UNSUPPORTED);
        return true; /* it is compressed as a whole: all of it in order */
    }
    assert_int_equal(supply.workers, workers);
    fm_supply again;
    assert_int_equal(fm_reader_share(reader, workers, false, &again, &error), FM_E_UNSUPPORTED);
    for (unsigned number = 0; supply.claim(supply.context, 1 + 977 * (number % 5), &range); number++) {
        do {
            fm_status status = supply.fetch(supply.context, number % workers, &range, &batch, &error);
            if (status != FM_OK) {
                assert_int_equal(status, FM_E_CORRUPT);
                return false;
            }
            if (batch.count == 0) break;
            *references += batch.count;
            events->batches++;
            events->digest = digest_of(events->digest, &batch);
            events->sites = digest_of_sites(events->sites, &batch);
            assert_true(sites || !batch.site);
            if (!batch.site) continue;
            assert_true(range.reference - batch.count >= next);
            next = range.reference;
        } while (true);
    }
    assert_int_equal(supply.left(supply.context), 0);
    return true;
}

/* share: by so many workers in ranges, as far as that goes; 0: in order. False: ranges were damaged. */
static bool listen_to(told *events, const char *path, const fm_reader_options *options, unsigned share)
{
    memset(events, 0, sizeof *events);
    fm_reader *reader = NULL;
    fm_batch batch;
    uint64_t references = 0;
    fm_error error;
    fm_status status = fm_reader_open(&reader, path, options, &error);
    if (status != FM_OK) {
        events->event[events->count++].error = error;
        return true;
    }
    if (share > 0 && !listen_to_stretches(events, reader, share, &references)) {
        fm_reader_close(reader);
        return false;
    }
    while ((status = fm_reader_next(reader, &batch, &error)) != FM_OK || batch.count > 0) {
        if (status == FM_OK) {
            references += batch.count;
            events->batches++;
            events->digest = digest_of(events->digest, &batch);
            events->sites = digest_of_sites(events->sites, &batch);
            events->others = digest_of_others(events->others, &batch);
            continue;
        }
        assert_true(events->count < MOST_EVENTS);
        events->event[events->count].after = references;
        events->event[events->count++].error = error;
        if (!fm_status_is_damage(status)) break;
    }
    const fm_trace_module *modules;
    fm_reader_modules(reader, &modules, &events->modules);
    fm_reader_info(reader, &events->info);
    assert_int_equal(events->info.references, references);
    fm_reader_close(reader);
    if (share > 0) events->others = 0;
    if (share % 2 == 1) events->sites = 0;
    return true;
}

static void assert_told_same(const told *one, const told *other)
{
    assert_int_equal(one->count, other->count);
    for (size_t i = 0; i < one->count; i++) {
        const fm_error *a = &one->event[i].error, *b = &other->event[i].error;
        assert_int_equal(one->event[i].after, other->event[i].after);
        assert_int_equal(a->status, b->status);
        assert_int_equal(a->offset, b->offset);
        assert_int_equal(a->lost, b->lost);
        assert_string_equal(a->path, b->path);
        assert_string_equal(a->reason, b->reason);
    }
    assert_int_equal(one->info.references, other->info.references);
    assert_int_equal(one->batches, other->batches);
    assert_int_equal(one->digest, other->digest);
    if (one->sites && other->sites) assert_int_equal(one->sites, other->sites);
    if (one->others && other->others) assert_int_equal(one->others, other->others);
    assert_int_equal(one->modules, other->modules);
    assert_int_equal(one->info.references_total, other->info.references_total);
    assert_int_equal(one->info.bytes_total, other->info.bytes_total);
    assert_int_equal(one->info.fetches_skipped, other->info.fetches_skipped);
    if (one->count == 0) assert_int_equal(one->info.bytes_read, other->info.bytes_read);
}

/* The same by one thread and by so many; and in ranges, which only where something is damaged may come to
 * nothing. */
static void assert_same(const char *path, fm_reader_options options, unsigned threads)
{
    told one, other;
    fm_reader_options alone = options;
    alone.read_ahead = false;
    alone.threads = 0;
    options.threads = threads;
    listen_to(&one, path, &alone, 0);
    listen_to(&other, path, &options, 0);
    assert_told_same(&one, &other);
    if (listen_to(&other, path, &options, threads))
        assert_told_same(&one, &other);
    else
        assert_true(one.count > 0);
}

/* ---- sound traces ---- */

CASE(of_the_writer)
{
    static const size_t counts[] = {0, 1, 65536, 65537, 131072, 300001};
    static const unsigned columns[] = {0, FM_COLUMN_SIZE | FM_COLUMN_KIND, ALL_COLUMNS};
    const char *path = in_directory("x.fathom");
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++)
        for (int shape = 0; shape < 4; shape++) {
            /* Under a sanitizer: of the larger ones one shape each. */
            if (counts[c] > 1 && test_stride() > 1 && (size_t)shape != c % 4) continue;
            sample s = make_sample(counts[c], shape, 7 + c);
            for (size_t k = 0; k < 3; k++) {
                if ((counts[c] == 300001 || test_stride() > 1) && k != (c + (size_t)shape) % 3) continue;
                store(&s, path, columns[k], shape == 1 ? -1 : 0, 9973);
                unsigned threads = 1 + (unsigned)(c + (size_t)shape + 3 * k) % MOST_THREADS;
                assert_same(path, (fm_reader_options){.read_ahead = shape == 2}, threads);
                if (counts[c] == 131072 && shape == 0 && k == 2)
                    for (threads = 1; threads <= MOST_THREADS; threads++)
                        assert_same(path, (fm_reader_options){0}, threads);
            }
            free_sample(&s);
        }
}

/* Blocks as other writers may make them: of any size, many more than the threads have room for. */
CASE(uneven_blocks)
{
    const char *path = in_directory("x.fathom");
    uint8_t *bytes = malloc(ROOM);
    assert_non_null(bytes);
    uint64_t seed = 5;
    for (int turn = 0; turn<12; turn += test_stride()> 1 ? 4 : 1) {
        size_t references[MOST_BLOCKS], at[MOST_BLOCKS + 1], blocks = (size_t)turn * MOST_BLOCKS / 11,
                                                             all = 0;
        for (size_t b = 0; b < blocks; b++)
            all += references[b] = 1 + random_from(&seed) % (turn % 3 == 0 ? 1 : turn % 3 == 1 ? 7 : 400);
        sample s = make_sample(all, turn % 4, seed);
        write_file(path, bytes, make_blocks(&s, references, blocks, NULL, 0, bytes, ROOM, at));
        for (unsigned threads = 1; threads <= MOST_THREADS; threads += test_stride() > 1 ? 3 : 1)
            assert_same(path, (fm_reader_options){0}, threads);
        free_sample(&s);
    }
    free(bytes);
}

CASE(fetches)
{
    sample s = make_sample(test_stride() > 1 ? 200000 : 400000, 0, 1);
    for (size_t i = 0; i < s.count; i++)
        if (i < 140000 || i % 5 == 0)
            s.kind[i] = FM_KIND_FETCH; /* two whole blocks, and some of the others */
    const char *path = in_directory("x.fathom");
    store(&s, path, ALL_COLUMNS, 0, 5000);
    for (fm_fetches which = FM_FETCHES_SKIP; which <= FM_FETCHES_ALL; which++)
        assert_same(path, (fm_reader_options){.fetches = which}, 3);
    free_sample(&s);
}

/* Parts and threads go together. */
CASE(parts)
{
    const char *path = in_directory("x.fathom");
    const uint32_t step = test_stride() > 1 ? 3 : 1; /* of one part, and of four */
    sample s = make_sample(400000 / step, 0, 3);
    store(&s, path, FM_COLUMN_SIZE, 0, 9973);
    for (uint32_t all = 1; all <= 5; all += step)
        for (uint32_t part = 0; part < all; part++)
            assert_same(path, (fm_reader_options){.part = part, .parts = all}, 2 + part);
    free_sample(&s);
}

/* What cannot be read at any place is read from its beginning, as ever. */
CASE(streams)
{
    sample s = make_sample(test_stride() > 1 ? 100000 : 200000, 0, 3);
    const char *plain = in_directory("x.fathom"), *compressed = in_directory("x.fathom.zst");
    store(&s, plain, ALL_COLUMNS, 0, 9973);
    size_t size;
    uint8_t *bytes = read_whole(plain, &size), *packed = malloc(ZSTD_compressBound(size));
    assert_non_null(packed);
    write_file(compressed, packed, ZSTD_compress(packed, ZSTD_compressBound(size), bytes, size, 1));
    free(bytes);
    free(packed);
    assert_same(compressed, (fm_reader_options){0}, 4);
    assert_same(compressed, (fm_reader_options){.read_ahead = true}, 4);
    int before = dup(STDIN_FILENO), file = open(plain, O_RDONLY | O_CLOEXEC);
    assert_true(before >= 0 && file >= 0);
    assert_int_equal(dup2(file, STDIN_FILENO), STDIN_FILENO);
    gathered all;
    gather(&all, "-", &(fm_reader_options){.threads = 4});
    assert_int_equal(all.status, FM_OK);
    assert_int_equal(all.count, s.count);
    assert_slice(&all, 0, &s, 0, s.count);
    gathered_free(&all);
    dup2(before, STDIN_FILENO);
    close(before);
    close(file);
    free_sample(&s);
}

/* ---- damage, in small blocks: anywhere ---- */

enum { BLOCKS = 11, MODULES = 2 };
static const size_t eleven[BLOCKS] = {20, 3, 31, 1, 1, 40, 2, 9, 17, 5, 12};

typedef struct small_file {
    sample references;
    uint8_t bytes[8192];
    size_t size, block_at[BLOCKS + 1];
} small_file;

static small_file *make_small(void)
{
    static const fm_trace_module modules[MODULES] = {
        {.path = "/bin/prog", .from = 0x400000, .to = 0x401000},
        {.path = "/lib/libc.so", .from = 0x7f0000000000, .to = 0x7f0000002000}};
    small_file *file = malloc(sizeof *file);
    assert_non_null(file);
    size_t all = 0;
    for (size_t b = 0; b < BLOCKS; b++) all += eleven[b];
    file->references = make_sample(all, 1, 99);
    file->size = make_blocks(&file->references, eleven, BLOCKS, modules, MODULES, file->bytes,
                             sizeof file->bytes, file->block_at);
    return file;
}

static void free_small(small_file *file)
{
    free_sample(&file->references);
    free(file);
}

/* Few: eleven blocks are then more than they have room for at once. */
static unsigned threads_for(size_t at)
{
    return 2 + (unsigned)(at % 3);
}

CASE(flip_bits)
{
    small_file *file = make_small();
    const char *path = in_directory("flip.fathom");
    for (size_t at = 0; at < file->size; at += 11 * test_stride()) {
        uint8_t bit = (uint8_t)(1 << at % 8);
        file->bytes[at] ^= bit;
        write_file(path, file->bytes, file->size);
        file->bytes[at] ^= bit;
        assert_same(path, (fm_reader_options){0}, threads_for(at));
    }
    free_small(file);
}

CASE(cut_anywhere)
{
    small_file *file = make_small();
    const char *path = in_directory("cut.fathom");
    for (size_t size = 0; size <= file->size;
         size += test_stride() * (size < file->block_at[BLOCKS] ? 17 : 5)) {
        write_file(path, file->bytes, size);
        assert_same(path, (fm_reader_options){0}, threads_for(size));
    }
    for (size_t b = 0; b <= BLOCKS; b++) {
        write_file(path, file->bytes, file->block_at[b]);
        assert_same(path, (fm_reader_options){0}, threads_for(b));
    }
    free_small(file);
}

/* Five bytes more, or less, within the first, a middle and the last block. */
CASE(shift)
{
    small_file *file = make_small();
    const char *path = in_directory("shift.fathom");
    static const size_t blocks[] = {0, 5, BLOCKS - 1};
    uint8_t bytes[sizeof file->bytes + 8];
    for (size_t k = 0; k < 3; k++)
        for (size_t at = file->block_at[blocks[k]]; at + 5 < file->block_at[blocks[k] + 1];
             at += test_stride() > 1 ? 151 : 23)
            for (int how = 0; how < 2; how++) {
                memcpy(bytes, file->bytes, at);
                memset(bytes + at, 'F', 5);
                size_t from = how ? at : at + 5, to = how ? at + 5 : at;
                memcpy(bytes + to, file->bytes + from, file->size - from);
                write_file(path, bytes, file->size - from + to);
                assert_same(path, (fm_reader_options){0}, threads_for(at));
            }
    free_small(file);
}

/* A block is missing, or stands there twice, or changes places with the next. */
CASE(misplaced)
{
    small_file *file = make_small();
    const char *path = in_directory("misplaced.fathom");
    uint8_t bytes[2 * sizeof file->bytes];
    for (size_t b = 0; b < BLOCKS; b++) {
        size_t begin = file->block_at[b], end = file->block_at[b + 1];
        memcpy(bytes, file->bytes, begin);
        memcpy(bytes + begin, file->bytes + end, file->size - end);
        write_file(path, bytes, file->size - (end - begin));
        assert_same(path, (fm_reader_options){0}, threads_for(b));
        memcpy(bytes, file->bytes, end);
        memcpy(bytes + end, file->bytes + begin, file->size - begin);
        write_file(path, bytes, file->size + (end - begin));
        assert_same(path, (fm_reader_options){0}, threads_for(b + 1));
        if (b + 1 == BLOCKS) break;
        size_t after = file->block_at[b + 2];
        memcpy(bytes, file->bytes, file->size);
        memcpy(bytes + begin, file->bytes + end, after - end);
        memcpy(bytes + begin + (after - end), file->bytes + begin, end - begin);
        write_file(path, bytes, file->size);
        assert_same(path, (fm_reader_options){0}, threads_for(b + 2));
    }
    free_small(file);
}

/* Checksums that are right, of content that is not: found while decoding only. */
CASE(sealed_nonsense)
{
    small_file *file = make_small();
    const char *path = in_directory("nonsense.fathom");
    const size_t header = fm_native_block_header_size(ALL_COLUMNS);
    size_t found = 0;
    for (size_t b = 0; b < BLOCKS; b++) {
        uint8_t bytes[sizeof file->bytes];
        memcpy(bytes, file->bytes, file->size);
        uint8_t *block = bytes + file->block_at[b], *payload = block + header;
        size_t payload_bytes = fm_load32(block + 12);
        memset(payload, 0xFF, payload_bytes);
        fm_store64(block + 24, XXH3_64bits(payload, payload_bytes));
        fm_store64(block + header - 8, XXH3_64bits(block, header - 8));
        write_file(path, bytes, file->size);
        gathered all;
        gather(&all, path, &(fm_reader_options){.threads = 3});
        if (all.damages > 0) {
            found++;
            assert_int_equal(all.lost, eleven[b]);
            assert_int_equal(all.error.offset, file->block_at[b]);
            assert_non_null(strstr(all.message, "a block is damaged: "));
        }
        gathered_free(&all);
        assert_same(path, (fm_reader_options){0}, threads_for(b));
    }
    assert_true(found > BLOCKS / 2); /* bytes that mean something by chance are sound */
    free_small(file);
}

/* ---- damage in large blocks, while threads are far ahead ---- */

enum { LARGE_BLOCKS = 14 };

/* Under a sanitizer fewer, but more than two threads have room for. */
static size_t large_blocks(void)
{
    return test_stride() > 1 ? 7 : LARGE_BLOCKS;
}

CASE(large_damage)
{
    const char *path = in_directory("large.fathom");
    const size_t blocks = large_blocks();
    sample s = make_sample(blocks * 65536 - 77, 0, 4);
    store(&s, path, FM_COLUMN_SIZE, 0, 65536);
    size_t size, at[LARGE_BLOCKS + 1], header = fm_native_block_header_size(FM_COLUMN_SIZE);
    uint8_t *bytes = read_whole(path, &size);
    at[0] = 64;
    for (size_t b = 0; b < blocks; b++) at[b + 1] = at[b] + header + fm_load32(bytes + at[b] + 12);
    const size_t hit[] = {0, blocks / 2 - 1, blocks - 1};
    for (size_t k = 0; k < 3; k++)
        for (unsigned how = 0; how < 4; how++) {
            if (test_stride() > 1 && how % 3 != k) continue; /* each kind at one place */
            const size_t from = at[hit[k]], to = at[hit[k] + 1], place = how == 0 ? from + 9 : to - 20;
            if (how < 2) bytes[place] ^= 4; /* the header, the payload */
            write_file(path, bytes, how == 2 ? to - 20 : how == 3 ? to : size);
            if (how < 2) bytes[place] ^= 4;
            assert_same(path, (fm_reader_options){0}, 2 + how + 2 * (unsigned)k);
        }
    free(bytes);
    free_sample(&s);
}

/* The file becomes shorter while it is read: what comes is a beginning of it, and the end is told. */
CASE(shortened_meanwhile)
{
    const char *path = in_directory("short.fathom");
    sample s = make_sample((size_t)LARGE_BLOCKS * 65536, 1, 4);
    for (unsigned threads = 2; threads <= MOST_THREADS; threads += test_stride() > 1 ? 6 : 3) {
        store(&s, path, 0, -1, 65536);
        fm_reader *reader;
        fm_batch batch;
        fm_error error;
        fm_status status;
        size_t count = 0;
        assert_int_equal(fm_reader_open(&reader, path, &(fm_reader_options){.threads = threads}, &error),
                         FM_OK);
        while ((status = fm_reader_next(reader, &batch, &error)) == FM_OK && batch.count > 0) {
            assert_true(count + batch.count <= s.count);
            assert_memory_equal(batch.address, s.address + count, batch.count * sizeof *batch.address);
            count += batch.count;
            if (count == 3 * 65536) assert_int_equal(truncate(path, 5 << 20), 0);
        }
        assert_int_equal(status, FM_E_TRUNCATED);
        assert_true(count >= (size_t)3 * 65536);
        fm_reader_close(reader);
    }
    free_sample(&s);
}

/* Whenever it is closed, threads end and nothing is left. */
CASE(closed_early)
{
    const char *path = in_directory("early.fathom");
    sample s = make_sample(large_blocks() * 65536, 0, 4);
    store(&s, path, ALL_COLUMNS, 0, 65536);
    const bool few = getenv("FATHOM_TEST_STRIDE") != NULL; /* under a sanitizer */
    for (unsigned threads = 2; threads <= MOST_THREADS; threads += few ? 6 : 3)
        for (size_t batches = 0; batches <= large_blocks(); batches += batches < 3 ? 1 : 5) {
            fm_reader *reader;
            fm_batch batch;
            fm_reader_options options = {.threads = threads};
            assert_int_equal(fm_reader_open(&reader, path, &options, NULL), FM_OK);
            for (size_t i = 0; i < batches; i++) {
                assert_int_equal(fm_reader_next(reader, &batch, NULL), FM_OK);
                assert_int_equal(batch.count, 65536);
                assert_memory_equal(batch.address, s.address + i * 65536, 65536 * sizeof *batch.address);
            }
            fm_reader_close(reader);
        }
    free_sample(&s);
}

CASES_WITH(make_directory, remove_directory);
