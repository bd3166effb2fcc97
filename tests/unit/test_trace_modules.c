/* SPDX-License-Identifier: Apache-2.0 */
/* test_trace_modules.c - the module table of native traces: what goes in comes out; damage to it costs no
 * reference and is told; lies are not believed. */
#define _GNU_SOURCE
#include "case.h"

#include "base/bytes.h"
#include "trace/native/native_layout.h"
#include "unit/trace_helpers.h"

#include <xxhash.h>

enum { REFERENCES = 40, COLUMNS = FM_COLUMN_SITE };

static const fm_trace_module samples[] = {
    {"/usr/bin/program", "0123456789abcdefABCDEF", 0x400000, 0x500000, 0},
    {"/lib/x86_64-linux-gnu/libc.so.6", NULL, 0x7f0000000000, 0x7f0000200000, 0x7f0000000000},
    {"/tmp/a name with \n and \xff", "00", 0, UINT64_MAX, UINT64_MAX},
};
enum { SAMPLES = sizeof samples / sizeof samples[0] };

static fm_status write_trace(const char *path, const fm_trace_module *modules, size_t count)
{
    uint64_t address[REFERENCES], site[REFERENCES];
    for (size_t i = 0; i < REFERENCES; i++) {
        address[i] = 0x1000 + 8 * i;
        site[i] = 0x400000 + i % 3;
    }
    fm_writer *writer;
    fm_writer_options options = {.columns = COLUMNS, .memory_addresses = true};
    fm_batch batch = {.count = REFERENCES, .address = address, .site = site};
    assert_int_equal(fm_writer_open(&writer, path, &options, NULL), FM_OK);
    if (modules)
        assert_int_equal(fm_writer_set_modules(writer, samples, 1, NULL), FM_OK); /* will not count */
    assert_int_equal(fm_writer_append(writer, &batch, NULL), FM_OK);
    fm_status status = modules ? fm_writer_set_modules(writer, modules, count, NULL) : FM_OK;
    assert_int_equal(fm_writer_finish(writer, NULL), FM_OK);
    fm_writer_close(writer);
    return status;
}

static void assert_modules(const fm_trace_module *found, size_t count)
{
    assert_int_equal(count, SAMPLES);
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(found[i].path, samples[i].path);
        assert_int_equal(found[i].build_id != NULL, samples[i].build_id != NULL);
        if (found[i].build_id) assert_string_equal(found[i].build_id, samples[i].build_id);
        assert_int_equal(found[i].from, samples[i].from);
        assert_int_equal(found[i].to, samples[i].to);
        assert_int_equal(found[i].bias, samples[i].bias);
    }
}

/* What reading a file tells. */
typedef struct reading {
    uint64_t references, lost;
    size_t damages, modules;
    fm_status status; /* the last that was not FM_OK */
    char reason[512]; /* of the first */
} reading;

/* Modules must be all of the samples or none. */
static reading read_trace(const char *path, bool read_ahead)
{
    reading told = {0};
    fm_reader *reader;
    fm_error error;
    fm_batch batch;
    const fm_trace_module *modules;
    fm_reader_options options = {.format = "fathom", .read_ahead = read_ahead};
    fm_status status = fm_reader_open(&reader, path, &options, &error);
    if (status != FM_OK) {
        told.status = status;
        return told;
    }
    for (;;) {
        fm_reader_modules(reader, &modules, &told.modules);
        assert_int_equal(told.modules, 0); /* not before the end */
        status = fm_reader_next(reader, &batch, &error);
        if (status != FM_OK) {
            if (told.damages++ == 0) snprintf(told.reason, sizeof told.reason, "%s", error.reason);
            told.status = status;
            told.lost += error.lost;
            assert_true(fm_status_is_damage(status));
            continue;
        }
        if (batch.count == 0) break;
        for (size_t i = 0; i < batch.count; i++) {
            assert_int_equal(batch.address[i], 0x1000 + 8 * i);
            assert_int_equal(batch.site[i], 0x400000 + i % 3);
        }
        told.references += batch.count;
    }
    fm_reader_modules(reader, &modules, &told.modules);
    if (told.modules > 0) assert_modules(modules, told.modules);
    fm_reader_close(reader);
    /* A check says the same. */
    fm_check_result result;
    assert_int_equal(fm_trace_check(path, NULL, NULL, &result, &error) == FM_OK, told.damages == 0);
    assert_int_equal(result.references, told.references);
    assert_int_equal(result.lost, told.lost);
    assert_int_equal(result.modules, told.modules);
    assert_int_equal(result.modules_sound, told.modules > 0);
    if (result.modules_sound) assert_true(result.modules_present);
    return told;
}

CASE(round_trip)
{
    const char *path = in_directory("m.fathom");
    assert_int_equal(write_trace(path, samples, SAMPLES), FM_OK);
    for (int ahead = 0; ahead < 2; ahead++) {
        reading told = read_trace(path, ahead);
        assert_int_equal(told.damages, 0);
        assert_int_equal(told.references, REFERENCES);
        assert_int_equal(told.modules, SAMPLES);
    }
}

/* No modules, by silence or by taking them back: the file is the same, byte for byte. */
CASE(none)
{
    const char *silent = in_directory("s.fathom"), *back = in_directory("b.fathom");
    assert_int_equal(write_trace(silent, NULL, 0), FM_OK);
    assert_int_equal(write_trace(back, samples, 0), FM_OK);
    size_t size, other;
    uint8_t *bytes = read_whole(silent, &size), *same = read_whole(back, &other);
    assert_int_equal(size, other);
    assert_memory_equal(bytes, same, size);
    assert_null(memmem(bytes, size, FM_NATIVE_MODULES_MAGIC, 4));
    assert_int_equal(read_trace(silent, false).modules, 0);
    free(bytes);
    free(same);
}

CASE(refused)
{
    char *long_path = malloc(FM_NATIVE_MODULES_PAYLOAD_MAX + 1);
    assert_non_null(long_path);
    memset(long_path, 'x', FM_NATIVE_MODULES_PAYLOAD_MAX);
    long_path[FM_NATIVE_MODULES_PAYLOAD_MAX] = '\0';
    const fm_trace_module wrong[] = {{NULL, NULL, 0, 1, 0}, {"", NULL, 0, 1, 0},  {"a", "12 34", 0, 1, 0},
                                     {"a", "xyz", 0, 1, 0}, {"a", NULL, 2, 1, 0}, {long_path, NULL, 0, 1, 0}};
    const char *path = in_directory("r.fathom");
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_int_equal(write_trace(path, &wrong[i], 1), FM_E_ARGUMENT);
        /* The trace did not suffer, and what was told before counts. */
        reading told = {.references = 0};
        fm_reader *reader;
        fm_batch batch;
        const fm_trace_module *modules;
        assert_int_equal(fm_reader_open(&reader, path, NULL, NULL), FM_OK);
        while (fm_reader_next(reader, &batch, NULL) == FM_OK && batch.count) told.references += batch.count;
        fm_reader_modules(reader, &modules, &told.modules);
        assert_int_equal(told.references, REFERENCES);
        assert_int_equal(told.modules, 1);
        assert_string_equal(modules[0].path, samples[0].path);
        fm_reader_close(reader);
    }
    /* As long as may be. */
    long_path[FM_NATIVE_MODULES_PAYLOAD_MAX - 32] = '\0';
    assert_int_equal(write_trace(path, &wrong[5], 1), FM_OK);
    free(long_path);
    fm_writer *writer;
    fm_error error;
    assert_int_equal(fm_writer_open(&writer, in_directory("x.u64"), NULL, NULL), FM_OK);
    assert_int_equal(fm_writer_set_modules(writer, samples, SAMPLES, &error), FM_E_UNSUPPORTED);
    assert_string_equal(error.reason, "traces of format u64 have no place for modules");
    assert_int_equal(fm_writer_finish(writer, NULL), FM_OK);
    fm_writer_close(writer);
    assert_int_equal(fm_writer_open(&writer, path, NULL, NULL), FM_OK);
    assert_int_equal(fm_writer_finish(writer, NULL), FM_OK);
    assert_int_equal(fm_writer_set_modules(writer, samples, SAMPLES, NULL), FM_E_ARGUMENT);
    fm_writer_close(writer);
}

/* ---- damage ---- */

typedef struct stored {
    uint8_t *bytes;
    size_t size, table, payload, index; /* where things are */
} stored;

static stored make_stored(void)
{
    const char *path = in_directory("m.fathom");
    assert_int_equal(write_trace(path, samples, SAMPLES), FM_OK);
    stored file;
    file.bytes = read_whole(path, &file.size);
    uint8_t *table = memmem(file.bytes, file.size, FM_NATIVE_MODULES_MAGIC, 4);
    assert_non_null(table);
    file.table = (size_t)(table - file.bytes);
    file.payload = file.table + FM_NATIVE_MODULES_FIXED;
    file.index = file.payload + fm_load32(table + 12);
    assert_memory_equal(file.bytes + file.index, FM_NATIVE_INDEX_MAGIC, 4);
    assert_int_equal(fm_load32(file.bytes + file.index + 4), file.index - file.table);
    return file;
}

CASE(cut_at_every_byte)
{
    stored file = make_stored();
    const char *path = in_directory("cut.fathom");
    for (size_t size = file.table; size < file.size; size += test_stride()) {
        write_file(path, file.bytes, size);
        reading told = read_trace(path, false);
        assert_int_equal(told.references, REFERENCES);
        assert_int_equal(told.status, FM_E_TRUNCATED);
        assert_int_equal(told.damages, 1);
        assert_int_equal(told.lost, 0);
        assert_int_equal(told.modules, size < file.index ? 0 : SAMPLES);
        if (size >= file.table + 4 && size < file.index)
            assert_non_null(strstr(told.reason, "within its module table"));
    }
    free(file.bytes);
}

CASE(flip_every_bit)
{
    stored file = make_stored();
    const char *path = in_directory("flip.fathom");
    for (size_t at = file.table; at < file.size; at++)
        for (size_t bit = 0; bit < 8; bit++) {
            if ((8 * at + bit) % test_stride() != 0) continue;
            file.bytes[at] ^= (uint8_t)(1 << bit);
            write_file(path, file.bytes, file.size);
            file.bytes[at] ^= (uint8_t)(1 << bit);
            reading told = read_trace(path, false);
            assert_int_equal(told.references, REFERENCES);
            assert_int_equal(told.status, FM_E_CORRUPT);
            assert_int_equal(told.damages, 1);
            assert_int_equal(told.lost, 0);
            assert_int_equal(told.modules, at < file.index ? 0 : SAMPLES);
        }
    free(file.bytes);
}

/* The only block is damaged in its header: the table is found, and tells how much is lost. */
CASE(found_again)
{
    stored file = make_stored();
    const char *path = in_directory("again.fathom");
    file.bytes[64 + 9] ^= 1;
    write_file(path, file.bytes, file.size);
    reading told = read_trace(path, false);
    assert_int_equal(told.references, 0);
    assert_int_equal(told.lost, REFERENCES);
    assert_int_equal(told.damages, 1);
    assert_int_equal(told.modules, SAMPLES);
    free(file.bytes);
}

/* ---- lies with right checksums ---- */

static void seal(stored *file)
{
    uint8_t *table = file->bytes + file->table;
    fm_store64(table + 24, XXH3_64bits(file->bytes + file->payload, file->index - file->payload));
    fm_store64(table + 32, XXH3_64bits(table, 32));
}

CASE(lies)
{
    const char *path = in_directory("lies.fathom");
    size_t second = 32 + strlen(samples[0].path) + strlen(samples[0].build_id);
    const struct {
        bool in_payload;
        size_t at;
        int bytes;
        uint64_t lie;
        uint64_t lost;
        size_t damages;
    } cases[] = {
        {false, 4, 4, 1, 0, 1},                    /* reserved */
        {false, 8, 4, 0, 0, 1},                    /* modules */
        {false, 8, 4, 2, 0, 1},                    /**/
        {false, 8, 4, 4, 0, 1},                    /**/
        {false, 8, 4, UINT32_MAX, 0, 1},           /**/
        {false, 12, 4, UINT32_MAX, 0, 1},          /* bytes: more than may be */
        {false, 16, 8, 0, 0, 1},                   /* references: too few, so it stands in the wrong place */
        {true, 24, 4, 0, 0, 1},                    /* no path */
        {true, 24, 4, UINT32_MAX, 0, 1},           /* a path longer than all */
        {true, 28, 4, UINT32_MAX, 0, 1},           /* a build ID longer than all */
        {true, 28, 4, 0, 0, 1},                    /* none: what follows is no module */
        {true, 0, 8, UINT64_MAX, 0, 1},            /* from behind to */
        {true, 33, 1, 0, 0, 1},                    /* a zero in a path */
        {true, 32 + 16, 1, 'g', 0, 1},             /* no hexadecimal digit */
        {true, second + 24, 4, 0x7fffffff, 0, 1},  /* a long path in the second */
        {true, second + 28, 4, 0xffffffe0U, 0, 1}, /* sums that overflow 32 bits */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        stored file = make_stored();
        uint8_t *at = file.bytes + (cases[i].in_payload ? file.payload : file.table) + cases[i].at;
        for (int b = 0; b < cases[i].bytes; b++) at[b] = (uint8_t)(cases[i].lie >> (8 * b));
        seal(&file);
        write_file(path, file.bytes, file.size);
        reading told = read_trace(path, false);
        assert_int_equal(told.references, REFERENCES);
        assert_int_equal(told.status, FM_E_CORRUPT);
        assert_int_equal(told.lost, cases[i].lost);
        assert_int_equal(told.damages, cases[i].damages);
        assert_int_equal(told.modules, 0);
        free(file.bytes);
    }
    /* More references than there are: those are lost, by what the table says, and the index says otherwise.
     */
    stored file = make_stored();
    fm_store64(file.bytes + file.table + 16, REFERENCES + 7);
    seal(&file);
    write_file(path, file.bytes, file.size);
    reading told = read_trace(path, false);
    assert_int_equal(told.references, REFERENCES);
    assert_int_equal(told.lost, 7);
    assert_non_null(strstr(told.reason, "blocks are missing before the module table"));
    free(file.bytes);
}

/* Pieces in another order, or missing. */
CASE(misplaced)
{
    stored file = make_stored();
    const char *path = in_directory("order.fathom");
    size_t table = file.index - file.table, rest = file.size - file.index;
    uint8_t bytes[8192], *at;
    assert_true(file.size + table < sizeof bytes);
    /* Without the table: the index knows of it. */
    memcpy(bytes, file.bytes, file.table);
    memcpy(bytes + file.table, file.bytes + file.index, rest);
    write_file(path, bytes, file.table + rest);
    reading told = read_trace(path, false);
    assert_int_equal(told.references, REFERENCES);
    assert_int_equal(told.damages, 1);
    assert_non_null(strstr(told.reason, "another module table"));
    /* Twice. */
    memcpy(bytes, file.bytes, file.index);
    memcpy(bytes + file.index, file.bytes + file.table, table);
    memcpy(bytes + file.index + table, file.bytes + file.index, rest);
    write_file(path, bytes, file.size + table);
    told = read_trace(path, false);
    assert_int_equal(told.references, REFERENCES);
    assert_int_equal(told.modules, SAMPLES);
    assert_non_null(strstr(told.reason, "a second module table"));
    /* Before the block: sound for itself, with no references so far. */
    at = bytes;
    memcpy(at, file.bytes, 64);
    stored early = file;
    early.bytes = malloc(file.size);
    assert_non_null(early.bytes);
    memcpy(early.bytes, file.bytes, file.size);
    fm_store64(early.bytes + early.table + 16, 0);
    seal(&early);
    memcpy(at + 64, early.bytes + early.table, table);
    memcpy(at + 64 + table, file.bytes + 64, file.table - 64);
    memcpy(at + table + file.table, file.bytes + file.index, rest);
    write_file(path, bytes, file.size);
    told = read_trace(path, false);
    assert_int_equal(told.references, REFERENCES);
    assert_int_equal(told.modules, SAMPLES);
    assert_non_null(strstr(told.reason, "a block stands behind the module table"));
    free(early.bytes);
    free(file.bytes);
}

CASES_WITH(make_directory, remove_directory);
