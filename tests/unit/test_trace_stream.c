/* SPDX-License-Identifier: Apache-2.0 */
/* test_trace_stream.c - what lies around the formats: compression, pipes, reading ahead, odd files, and files
 * that appear only when they are complete. */
#define _GNU_SOURCE
#include "case.h"

#include "trace/stream.h"
#include "trace/supply.h"
#include "unit/trace_helpers.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <zlib.h>
#include <zstd.h>

enum { KEYS = 200000 };
static uint64_t keys[KEYS];

static int setup(void **state)
{
    uint64_t seed = 5;
    for (size_t i = 0; i < KEYS; i++) keys[i] = random_from(&seed) % 1000 * (i % 7 ? 1 : UINT64_C(1) << 40);
    return make_directory(state);
}

static size_t zstd_frame(void *to, size_t room, const void *from, size_t bytes)
{
    size_t size = ZSTD_compress(to, room, from, bytes, 1);
    assert_false(ZSTD_isError(size));
    return size;
}

static size_t gzip_member(void *to, size_t room, const void *from, size_t bytes)
{
    z_stream z = {0};
    assert_int_equal(deflateInit2(&z, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_in = (Bytef *)(uintptr_t)from;
    z.avail_in = (uInt)bytes;
    z.next_out = to;
    z.avail_out = (uInt)room;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    size_t size = room - z.avail_out;
    deflateEnd(&z);
    return size;
}

/* Two frames or members, with a skippable frame between; the split is in the middle of a key. */
static size_t compress_keys(bool gzip, uint8_t *to, size_t room, size_t count)
{
    const uint8_t *from = (const uint8_t *)keys;
    size_t bytes = count * 8, first = bytes / 3, used;
    if (gzip) {
        used = gzip_member(to, room, from, first);
        used += gzip_member(to + used, room - used, from + first, bytes - first);
        return used;
    }
    used = zstd_frame(to, room, from, first);
    memcpy(to + used, "\x53\x2a\x4d\x18\x03\0\0\0abc", 11);
    used += 11;
    return used + zstd_frame(to + used, room - used, from + first, bytes - first);
}

CASE(compressed_by_content)
{
    size_t room = sizeof keys + 100000;
    uint8_t *packed = malloc(room);
    assert_non_null(packed);
    for (int gzip = 0; gzip < 2; gzip++) {
        size_t size = compress_keys(gzip, packed, room, KEYS);
        static const char *const names[] = {"k.u64", "k.u64.zst", "k.u64.gz"};
        for (size_t n = 0; n < 3; n++) {
            const char *path = in_directory(names[n]);
            write_file(path, packed, size);
            gathered all;
            gather(&all, path, NULL);
            assert_int_equal(all.status, FM_OK);
            assert_string_equal(all.info.compression, gzip ? "gzip" : "zstd");
            assert_int_equal(all.count, KEYS);
            assert_memory_equal(all.address, keys, sizeof keys);
            assert_int_equal(all.info.bytes_total, size);
            assert_int_equal(all.info.bytes_read, size);
            gathered_free(&all);
        }
    }
    free(packed);
}

/* Every cut of a compressed file: all whole keys that could be decoded, then one word about the cut. */
CASE(compressed_and_cut)
{
    enum { FEW = 100 };
    uint8_t packed[8192];
    const char *named = in_directory("c.u64.gz"); /* compressed, says the name; how, says the content */
    for (int gzip = 0; gzip < 2; gzip++) {
        size_t size = compress_keys(gzip, packed, sizeof packed, FEW);
        /* The first frame or member alone is a complete file. */
        size_t first = 0;
        uint8_t part[8192];
        first = gzip ? gzip_member(part, sizeof part, keys, FEW * 8 / 3)
                     : zstd_frame(part, sizeof part, keys, FEW * 8 / 3);
        for (size_t cut = 4; cut < size; cut++) {
            write_file(named, packed, cut);
            gathered all;
            gather(&all, named, NULL);
            assert_int_equal(all.opened, FM_OK);
            /* After the first part, and after the skippable frame, the stream itself is whole: but 266 bytes
             * are not whole keys. */
            assert_int_equal(all.status, FM_E_TRUNCATED);
            assert_int_equal(all.damages, 1);
            assert_true(all.count <= FEW); /* the last bytes are a checksum only */
            if (cut >= first) assert_true(all.count >= FEW / 3);
            assert_memory_equal(all.address, keys, all.count * 8);
            bool complete = cut == first || (!gzip && cut == first + 11);
            if (complete)
                assert_non_null(strstr(all.message, "ends within a key"));
            else
                assert_non_null(
                    strstr(all.message, gzip ? "the gzip stream ends early" : "the zstd stream ends early"));
            if (!complete) {
                char stored[64];
                snprintf(stored, sizeof stored, "(stored byte %zu)", cut);
                assert_non_null(strstr(all.message, stored));
            }
            gathered_free(&all);
        }
    }
}

CASE(compressed_and_corrupt)
{
    uint8_t packed[8192];
    const char *path = in_directory("d.u64.gz");
    size_t size = compress_keys(true, packed, sizeof packed, 100);
    packed[size - 6] ^= 1; /* the checksum of the second member */
    write_file(path, packed, size);
    gathered all;
    gather(&all, path, NULL);
    assert_int_equal(all.status, FM_E_CORRUPT);
    assert_non_null(strstr(all.message, "the gzip stream is corrupt: incorrect data check (stored byte"));
    gathered_free(&all);
    size = compress_keys(false, packed, sizeof packed, 100);
    memcpy(packed + size, "garbage", 7);
    write_file(path, packed, size + 7);
    gather(&all, path, NULL);
    assert_int_equal(all.status, FM_E_CORRUPT);
    assert_int_equal(all.count, 100);
    assert_non_null(strstr(all.message, "the zstd stream is corrupt"));
    gathered_free(&all);
    /* gzip pads with zeros; that is no damage. */
    size = compress_keys(true, packed, sizeof packed, 100);
    memset(packed + size, 0, 100);
    write_file(path, packed, size + 100);
    gather(&all, path, NULL);
    assert_int_equal(all.status, FM_OK);
    assert_int_equal(all.count, 100);
    gathered_free(&all);
    /* A name that says so, and content that does not. */
    write_file(path, keys, 80);
    gather(&all, path, NULL);
    assert_int_equal(all.opened, FM_E_FORMAT);
    assert_non_null(
        strstr(all.message, "the name says gzip, but the content does not: expected 1f 8b 08, found"));
}

/* A frame that wants 2 GiB of window is refused; one of 4 GiB of zeros in 130 kB streams through small
 * memory. */
CASE(bombs)
{
    const uint8_t wide[] = {0x28, 0xb5, 0x2f, 0xfd, 0x00,
                            0xa8, 0x01, 0x00, 0x00}; /* window descriptor 2^31 */
    const char *path = in_directory("bomb.u64.zst");
    write_file(path, wide, sizeof wide);
    gathered all;
    gather(&all, path, NULL);
    assert_int_equal(all.status, FM_E_UNSUPPORTED);
    assert_non_null(strstr(all.message, "needs a window of more than 128 MiB, which is not accepted"));
    gathered_free(&all);
    /* RLE blocks by hand: each says 128 KiB of zeros in 4 bytes. */
    enum { BLOCKS = 4096 };
    size_t size = 6;
    uint8_t *bomb = malloc(6 + BLOCKS * 4);
    assert_non_null(bomb);
    memcpy(bomb, "\x28\xb5\x2f\xfd\x00\x58", 6); /* no content size, window 2^21 */
    for (size_t i = 0; i < BLOCKS; i++, size += 4) {
        uint32_t block = (uint32_t)(i == BLOCKS - 1) | 1U << 1 | (128U << 10) << 3;
        bomb[size] = (uint8_t)block;
        bomb[size + 1] = (uint8_t)(block >> 8);
        bomb[size + 2] = (uint8_t)(block >> 16);
        bomb[size + 3] = 0;
    }
    write_file(path, bomb, size);
    free(bomb);
    struct rusage before, after;
    getrusage(RUSAGE_SELF, &before);
    fm_reader *reader;
    fm_error error;
    assert_int_equal(fm_reader_open(&reader, path, NULL, &error), FM_OK);
    uint64_t count = 0;
    for (fm_batch batch;;) {
        assert_int_equal(fm_reader_next(reader, &batch, &error), FM_OK);
        if (batch.count == 0) break;
        count += batch.count;
    }
    fm_reader_close(reader);
    getrusage(RUSAGE_SELF, &after);
    assert_int_equal(count, (uint64_t)BLOCKS * (128 << 10) / 8);
    assert_true(after.ru_maxrss - before.ru_maxrss < 64 << 10); /* kB */
}

/* ---- pipes ---- */

typedef struct feed {
    int descriptor;
    const uint8_t *bytes;
    size_t count, step;
} feed;

static void *feed_slowly(void *argument)
{
    feed *f = argument;
    for (size_t at = 0; at < f->count;) {
        size_t piece = f->count - at < f->step ? f->count - at : f->step;
        ssize_t done = write(f->descriptor, f->bytes + at, piece);
        if (done <= 0) break;
        at += (size_t)done;
    }
    close(f->descriptor);
    return NULL;
}

/* Standard input as a pipe, in odd pieces, with and without reading ahead, plain and compressed. */
CASE(standard_input)
{
    uint8_t *packed = malloc(sizeof keys + 100000);
    assert_non_null(packed);
    for (int packing = 0; packing < 3; packing++)
        for (int ahead = 0; ahead < 2; ahead++) {
            size_t size = sizeof keys;
            if (packing)
                size = compress_keys(packing == 2, packed, sizeof keys + 100000, KEYS);
            else
                memcpy(packed, keys, size);
            int ends[2];
            assert_int_equal(pipe(ends), 0);
            int kept = dup(0);
            assert_true(dup2(ends[0], 0) == 0);
            close(ends[0]);
            feed f = {ends[1], packed, size, 4093};
            pthread_t thread;
            assert_int_equal(pthread_create(&thread, NULL, feed_slowly, &f), 0);
            fm_reader_options options = {.format = "u64", .read_ahead = ahead};
            gathered all;
            gather(&all, "-", &options);
            pthread_join(thread, NULL);
            dup2(kept, 0);
            close(kept);
            assert_int_equal(all.status, FM_OK);
            assert_int_equal(all.count, KEYS);
            assert_memory_equal(all.address, keys, sizeof keys);
            assert_int_equal(all.info.bytes_total, 0);
            assert_int_equal(all.info.bytes_read, size);
            gathered_free(&all);
        }
    free(packed);
}

CASE(fifo)
{
    const char *path = in_directory("pipe.u64");
    assert_int_equal(mkfifo(path, 0600), 0);
    int writer = open(path, O_RDWR); /* does not wait for a reader */
    assert_true(writer >= 0);
    int feeding = open(path, O_WRONLY);
    close(writer);
    feed f = {feeding, (const uint8_t *)keys, 80001, 1000};
    pthread_t thread;
    /* Between closing and opening, the FIFO must keep one end open: the thread writes while we read. */
    int held = open(path, O_RDONLY | O_NONBLOCK);
    assert_int_equal(pthread_create(&thread, NULL, feed_slowly, &f), 0);
    fm_reader *reader;
    fm_error error;
    assert_int_equal(fm_reader_open(&reader, path, NULL, &error), FM_OK);
    close(held);
    size_t count = 0;
    fm_status status;
    for (fm_batch batch;;) {
        status = fm_reader_next(reader, &batch, &error);
        if (status != FM_OK || batch.count == 0) break;
        assert_memory_equal(batch.address, keys + count, batch.count * 8);
        count += batch.count;
    }
    pthread_join(thread, NULL);
    assert_int_equal(count, 10000);
    assert_int_equal(status, FM_E_TRUNCATED);
    fm_reader_close(reader);
}

/* Closing while the thread is ahead, in the middle, and while it waits for a pipe that stays silent. */
CASE(closing_early)
{
    const char *path = in_directory("early.u64");
    write_file(path, keys, sizeof keys);
    fm_reader_options options = {.read_ahead = true};
    fm_error error;
    for (int batches = 0; batches < 4; batches++) {
        fm_reader *reader;
        assert_int_equal(fm_reader_open(&reader, path, &options, &error), FM_OK);
        for (int i = 0; i < batches; i++) {
            fm_batch batch;
            assert_int_equal(fm_reader_next(reader, &batch, &error), FM_OK);
        }
        fm_reader_close(reader);
    }
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    fcntl(ends[1], F_SETPIPE_SZ, 1 << 20);
    assert_int_equal(write(ends[1], keys, 65536 * 8), 65536 * 8); /* one batch, then silence */
    char name[64];
    snprintf(name, sizeof name, "/dev/fd/%d", ends[0]);
    options.format = "u64";
    fm_reader *reader;
    assert_int_equal(fm_reader_open(&reader, name, &options, &error), FM_OK);
    fm_batch batch;
    assert_int_equal(fm_reader_next(reader, &batch, &error), FM_OK);
    assert_int_equal(batch.count, 65536);
    fm_reader_close(reader); /* hangs if the thread cannot be woken */
    close(ends[0]);
    close(ends[1]);
}

/* With and without reading ahead: the same references, words and counts, damage included. */
CASE(reading_ahead_is_the_same)
{
    const char *path = in_directory("ahead.fathom");
    fm_writer *writer;
    fm_error error;
    assert_int_equal(fm_writer_open(&writer, path, NULL, &error), FM_OK);
    for (int i = 0; i < 5; i++)
        assert_int_equal(fm_writer_append(writer, &(fm_batch){.count = KEYS, .address = keys}, &error),
                         FM_OK);
    assert_int_equal(fm_writer_finish(writer, &error), FM_OK);
    fm_writer_close(writer);
    size_t size;
    uint8_t *bytes = read_whole(path, &size);
    for (int damage = 0; damage < 3; damage++) {
        if (damage) bytes[size / 3 * (size_t)damage] ^= 16;
        write_file(path, bytes, damage == 2 ? size - 100 : size);
        gathered plain, ahead;
        gather(&plain, path, NULL);
        gather(&ahead, path, &(fm_reader_options){.read_ahead = true});
        assert_int_equal(plain.count, ahead.count);
        assert_memory_equal(plain.address, ahead.address, plain.count * 8);
        assert_int_equal(plain.status, ahead.status);
        assert_int_equal(plain.damages, ahead.damages);
        assert_int_equal(plain.lost, ahead.lost);
        assert_string_equal(plain.message, ahead.message);
        assert_int_equal(plain.info.bytes_read, ahead.info.bytes_read);
        if (!damage) assert_int_equal(plain.count, 5 * KEYS);
        if (damage == 1) assert_int_equal(plain.count + plain.lost, 5 * KEYS);
        gathered_free(&plain);
        gathered_free(&ahead);
    }
    free(bytes);
}

/* ---- odd files ---- */

CASE(odd_paths)
{
    gathered all;
    gather(&all, test_directory, &(fm_reader_options){.format = "u64"});
    assert_int_equal(all.opened, FM_E_IO);
    assert_non_null(strstr(all.message, ": is a directory, expected a file"));
    gather(&all, in_directory("absent.u64"), NULL);
    assert_int_equal(all.opened, FM_E_IO);
    assert_non_null(strstr(all.message, "absent.u64: cannot open: No such file or directory"));
    gather(&all, in_directory("absent.u64"), &(fm_reader_options){.format = "nonsense"});
    assert_int_equal(all.opened, FM_E_ARGUMENT);
    assert_string_equal(all.message,
                        "there is no trace format 'nonsense'; expected one of u64, text, csv, lackey, din, "
                        "oracle, fathom");
    assert_int_equal(fm_reader_open(&(fm_reader *){NULL}, in_directory("absent.u64"), NULL, NULL), FM_E_IO);
}

static size_t files_in_directory(void)
{
    size_t count = 0;
    DIR *directory = opendir(test_directory);
    assert_non_null(directory);
    while (readdir(directory)) count++;
    closedir(directory);
    return count - 2;
}

/* Nothing is under the name before finish, and nothing is left without it. */
CASE(files_appear_whole)
{
    static const char *const names[] = {"w.u64", "w.txt",    "w.csv",     "w.lackey",
                                        "w.din", "w.fathom", "w.u64.zst", "w.txt.gz"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *path = in_directory(names[i]);
        size_t before = files_in_directory();
        for (int finish = 0; finish < 2; finish++) {
            fm_writer *writer;
            fm_error error;
            assert_int_equal(fm_writer_open(&writer, path, NULL, &error), FM_OK);
            assert_int_equal(fm_writer_append(writer, &(fm_batch){.count = KEYS, .address = keys}, &error),
                             FM_OK);
            assert_int_not_equal(access(path, F_OK), 0);
            if (finish) assert_int_equal(fm_writer_finish(writer, &error), FM_OK);
            fm_writer_close(writer);
            assert_int_equal(files_in_directory(), before + (size_t)finish);
        }
        gathered all;
        gather(&all, path, NULL);
        assert_int_equal(all.status, FM_OK);
        assert_int_equal(all.count, KEYS);
        assert_memory_equal(all.address, keys, sizeof keys);
        if (strstr(names[i], ".zst")) assert_string_equal(all.info.compression, "zstd");
        gathered_free(&all);
        /* A file that is replaced keeps its permissions, and a link stays a link. */
        assert_int_equal(chmod(path, 0640), 0);
        const char *link_path = in_directory("link.u64");
        unlink(link_path);
        assert_int_equal(symlink(path, link_path), 0);
        fm_writer *writer;
        assert_int_equal(fm_writer_open(&writer, link_path, NULL, NULL), FM_OK);
        assert_int_equal(fm_writer_finish(writer, NULL), FM_OK);
        fm_writer_close(writer);
        struct stat about;
        assert_int_equal(lstat(link_path, &about), 0);
        assert_true(S_ISLNK(about.st_mode));
        assert_int_equal(stat(path, &about), 0);
        assert_int_equal(about.st_mode & 0777, 0640);
        assert_int_equal(about.st_size, 0);
        unlink(link_path);
        unlink(path);
    }
}

CASE(full_disk)
{
    static const char *const formats[] = {"u64", "text", "csv", "lackey", "din", "fathom"};
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        fm_writer *writer;
        fm_error error;
        fm_writer_options options = {.format = formats[i]};
        assert_int_equal(fm_writer_open(&writer, "/dev/full", &options, &error), FM_OK);
        fm_status status = FM_OK;
        for (int k = 0; k < 20 && status == FM_OK; k++)
            status = fm_writer_append(writer, &(fm_batch){.count = 1000, .address = keys}, &error);
        status = fm_writer_finish(writer, &error);
        assert_int_equal(status, FM_E_IO);
        char message[1200];
        assert_string_equal(fm_error_message(&error, message, sizeof message),
                            "/dev/full: cannot write: No space left on device");
        assert_int_equal(fm_writer_finish(writer, &error), FM_E_IO); /* it stays so */
        fm_writer_close(writer);
    }
}

CASE(wrong_writers)
{
    static const struct {
        const char *name;
        fm_writer_options options;
        const char *message;
    } cases[] = {
        {"x.oracle",
         {0},
         "traces of format oracle can be read, not written; expected one of u64, text, csv, lackey, din, "
         "fathom"},
        {"x.bin",
         {0},
         "the name does not tell the trace format to write; expected an ending such as .fathom or .u64, or "
         "the name of a format: u64, text, csv, lackey, din, fathom"},
        {"x.u64", {.columns = FM_COLUMN_SIZE}, "traces of format u64 cannot hold sizes"},
        {"x.din",
         {.columns = FM_COLUMN_KIND | FM_COLUMN_SITE},
         "traces of format din cannot hold code sites"},
        {"x.fathom.zst", {0}, "the native format is compressed already; expected a name without .zst"},
        {"x.u64", {.level = 100}, "compression level 100; expected -1 (none) to 22"},
        {"absent/x.u64", {0}, "cannot create: No such file or directory"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fm_writer *writer;
        fm_error error;
        assert_int_not_equal(fm_writer_open(&writer, in_directory(cases[i].name), &cases[i].options, &error),
                             FM_OK);
        assert_null(writer);
        assert_string_equal(error.reason, cases[i].message);
    }
    fm_writer *writer;
    fm_error error;
    fm_writer_options sized = {.columns = FM_COLUMN_SIZE};
    assert_int_equal(fm_writer_open(&writer, in_directory("x.fathom"), &sized, &error), FM_OK);
    assert_int_equal(fm_writer_append(writer, &(fm_batch){.count = 5, .address = keys}, &error),
                     FM_E_ARGUMENT);
    fm_writer_close(writer);
}

/* Text formats keep sizes and kinds through a round trip. */
CASE(text_round_trips)
{
    static uint32_t sizes[KEYS];
    static uint8_t kinds[KEYS];
    for (size_t i = 0; i < KEYS; i++) {
        sizes[i] = (uint32_t)(1 + i % 300);
        kinds[i] = (uint8_t)(i % 4);
    }
    static const struct {
        const char *name;
        unsigned columns;
    } cases[] = {{"r.csv", FM_COLUMN_SIZE},
                 {"r.lackey.zst", FM_COLUMN_SIZE | FM_COLUMN_KIND},
                 {"r.din.gz", FM_COLUMN_KIND}};
    for (size_t i = 0; i < 3; i++) {
        const char *path = in_directory(cases[i].name);
        fm_writer *writer;
        fm_writer_options options = {.columns = cases[i].columns};
        assert_int_equal(fm_writer_open(&writer, path, &options, NULL), FM_OK);
        fm_batch batch = {.count = KEYS, .address = keys, .size = sizes, .kind = kinds};
        assert_int_equal(fm_writer_append(writer, &batch, NULL), FM_OK);
        assert_int_equal(fm_writer_finish(writer, NULL), FM_OK);
        fm_writer_close(writer);
        gathered all;
        fm_reader_options reading = {.fetches = FM_FETCHES_ALL};
        if (i == 0) {
            reading.csv_key = "offset";
            reading.csv_size = "size";
        }
        gather(&all, path, &reading);
        assert_int_equal(all.status, FM_OK);
        assert_int_equal(all.count, KEYS);
        assert_memory_equal(all.address, keys, sizeof keys);
        if (cases[i].columns & FM_COLUMN_SIZE) assert_memory_equal(all.size, sizes, sizeof sizes);
        for (size_t k = 0; all.kind && k < KEYS; k++) /* din has no modify: it is a write there */
            assert_int_equal(all.kind[k], i == 2 && kinds[k] == FM_KIND_MODIFY ? FM_KIND_STORE : kinds[k]);
        gathered_free(&all);
    }
}

/* ---- string keys ---- */

/* Prepared collisions are found, each once; a growing table forgets nothing. */
CASE(string_collisions)
{
    /* By the clock (0), a rare seed crowds the place of a collision, which is then counted at every sight. */
    fm_string_keys table = {.seed = 1};
    const size_t many = test_stride() > 1 ? 150000 : 1500000;
    for (int pass = 0; pass < 2; pass++) {
        uint64_t seed = 1;
        for (size_t i = 0; i < many; i++) {
            uint64_t key = random_from(&seed), check = random_from(&seed);
            assert_int_equal(fm_string_keys_note(&table, key, check, NULL), FM_OK);
            if (i % 1000 == 0) assert_int_equal(fm_string_keys_note(&table, key, check + 1, NULL), FM_OK);
        }
        assert_int_equal(table.used, many + many / 1000);
        assert_int_equal(table.collisions, many / 1000);
    }
    /* Many strings on one key: all are told, and memory does not run away. */
    for (uint64_t i = 0; i < 1000; i++) assert_int_equal(fm_string_keys_note(&table, 77, i, NULL), FM_OK);
    assert_true(table.collisions >= many / 1000 + 999);
    assert_true(table.bits <= 24);
    fm_string_keys_free(&table);
}

CASES_WITH(setup, remove_directory);
