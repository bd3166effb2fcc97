/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_record_import.c - traces of binary records of one size (u64, oracleGeneral) in ranges that workers
 * fetch for themselves, and in parts: the keys are those that were written, in their order; a record that was
 * cut is told at the end, and lost bytes of a file that became shorter are found by whoever reads in order.
 */
#include "case.h"

#include "trace/supply.h"
#include "unit/trace_helpers.h"

enum { MOST = 60000, MOST_WORKERS = 5 };

typedef struct record_case {
    const char *name;
    size_t bytes, key_at;
} record_case;

static const record_case cases[] = {{"x.u64", 8, 0}, {"x.oracleGeneral.bin", 24, 4}};

/* count records, and `rest` bytes of one more. Returns the keys. */
static uint64_t *write_records(const record_case *made, const char *path, size_t count, size_t rest)
{
    uint8_t *bytes = malloc((count + 1) * made->bytes);
    uint64_t *keys = malloc((count + 1) * sizeof *keys), seed = count;
    if (!bytes || !keys) abort();
    memset(bytes, 0xEE, (count + 1) * made->bytes);
    for (size_t i = 0; i < count; i++) {
        keys[i] = random_from(&seed);
        for (unsigned b = 0; b < 8; b++)
            bytes[i * made->bytes + made->key_at + b] = (uint8_t)(keys[i] >> 8 * b);
    }
    write_file(path, bytes, count * made->bytes + rest);
    free(bytes);
    return keys;
}

/* All ranges, up to a failure. Returns how many keys there were. */
static size_t fetch_all(fm_reader *reader, unsigned workers, const uint64_t *keys, fm_status *status)
{
    fm_supply supply;
    fm_trace_range range;
    fm_batch batch = {0};
    fm_error error;
    size_t count = 0;
    assert_int_equal(fm_reader_share(reader, workers, false, &supply, &error), FM_OK);
    *status = FM_OK;
    for (unsigned i = 0; supply.claim(supply.context, 1 + i * i * 977 % 30000, &range); i++) do {
            const uint64_t before = supply.left(supply.context);
            *status = supply.fetch(supply.context, i % workers, &range, &batch, &error);
            if (*status != FM_OK) return count;
            assert_int_equal(supply.left(supply.context), before);
            assert_memory_equal(batch.address, keys + count, batch.count * sizeof *batch.address);
            count += batch.count;
        } while (batch.count > 0);
    assert_int_equal(supply.left(supply.context), 0);
    return count;
}

CASE(in_stretches)
{
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++)
        for (size_t count = 0; count <= MOST; count += count < 3 ? 1 : 19999) {
            const char *path = in_directory(cases[c].name);
            const size_t rest = count % 2 * (cases[c].bytes - 1);
            uint64_t *keys = write_records(&cases[c], path, count, rest);
            for (unsigned workers = 1; workers <= MOST_WORKERS; workers += 2) {
                fm_reader *reader;
                fm_batch batch;
                fm_error error;
                fm_trace_info info;
                fm_status status;
                assert_int_equal(fm_reader_open(&reader, path, NULL, &error), FM_OK);
                assert_int_equal(fetch_all(reader, workers, keys, &status), count);
                assert_int_equal(status, FM_OK);
                /* What is left: the record that was cut. */
                assert_int_equal(fm_reader_next(reader, &batch, &error), rest ? FM_E_TRUNCATED : FM_OK);
                if (rest) {
                    assert_int_equal(error.offset, count * cases[c].bytes);
                } else {
                    assert_int_equal(batch.count, 0);
                }
                fm_reader_info(reader, &info);
                assert_int_equal(info.references, count);
                assert_int_equal(info.bytes_read, count * cases[c].bytes + rest);
                fm_reader_close(reader);
            }
            free(keys);
        }
}

/* A worker meets the end too early; the reader, begun anew, delivers what there is and says so. */
CASE(shortened_meanwhile)
{
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        const char *path = in_directory(cases[c].name);
        uint64_t *keys = write_records(&cases[c], path, MOST, 0);
        const size_t left = MOST / 2;
        fm_reader *reader;
        fm_batch batch;
        fm_error error;
        fm_status status;
        assert_int_equal(fm_reader_open(&reader, path, NULL, &error), FM_OK);
        assert_int_equal(truncate(path, (off_t)(left * cases[c].bytes + 3)), 0);
        assert_true(fetch_all(reader, 2, keys, &status) <= left);
        assert_int_equal(status, FM_E_LIMIT);
        assert_true(fm_reader_can_restart(reader));
        assert_int_equal(fm_reader_restart(reader, &error), FM_OK);
        size_t count = 0;
        while ((status = fm_reader_next(reader, &batch, &error)) == FM_OK && batch.count > 0) {
            assert_memory_equal(batch.address, keys + count, batch.count * sizeof *batch.address);
            count += batch.count;
        }
        assert_int_equal(status, FM_E_TRUNCATED);
        assert_int_equal(count, left);
        fm_reader_close(reader);
        free(keys);
    }
}

/* A part may be shared, too; what is compressed cannot. */
CASE(parts_and_compressed)
{
    enum { PARTS = 7 };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        const char *path = in_directory(cases[c].name);
        uint64_t *keys = write_records(&cases[c], path, MOST, cases[c].bytes / 2);
        size_t count = 0;
        for (uint32_t part = 0; part < PARTS; part++) {
            const fm_reader_options options = {.part = part, .parts = PARTS};
            fm_reader *reader;
            fm_batch batch;
            fm_error error;
            fm_status status;
            assert_int_equal(fm_reader_open(&reader, path, &options, &error), FM_OK);
            if (part % 2) count += fetch_all(reader, 3, keys + count, &status);
            while ((status = fm_reader_next(reader, &batch, &error)) == FM_OK && batch.count > 0) {
                assert_memory_equal(batch.address, keys + count, batch.count * sizeof *batch.address);
                count += batch.count;
            }
            assert_int_equal(status, part + 1 == PARTS ? FM_E_TRUNCATED : FM_OK);
            fm_reader_close(reader);
        }
        assert_int_equal(count, MOST);
        free(keys);
    }
    const char *path = in_directory("x.u64.zst");
    fm_writer *writer;
    fm_reader *reader;
    fm_supply supply;
    assert_int_equal(fm_writer_open(&writer, path, NULL, NULL), FM_OK);
    assert_int_equal(fm_writer_finish(writer, NULL), FM_OK);
    fm_writer_close(writer);
    assert_int_equal(fm_reader_open(&reader, path, NULL, NULL), FM_OK);
    assert_int_equal(fm_reader_share(reader, 2, false, &supply, NULL), FM_E_UNSUPPORTED);
    fm_reader_close(reader);
}

CASES_WITH(make_directory, remove_directory);
