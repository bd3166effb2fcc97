/* SPDX-License-Identifier: Apache-2.0 */
/* test_trace_native.c - the native format: what goes in comes out, whatever is damaged comes out as a correct
 * part of it, and lies are not believed. */
#include "case.h"

#include "base/bytes.h"
#include "trace/native/native_layout.h"
#include "unit/native_samples.h"

#include <inttypes.h>
#include <xxhash.h>

CASE(round_trip)
{
    static const size_t counts[] = {0, 1, 2, 255, 256, 257, 65535, 65536, 65537, 150000};
    const char *path = in_directory("x.fathom");
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++)
        for (int shape = 0; shape < 4; shape++) {
            sample s = make_sample(counts[c], shape, 7 + c);
            for (unsigned columns = 0; columns <= ALL_COLUMNS; columns++) {
                if (counts[c] > 1000 && columns != 0 && columns != ALL_COLUMNS && columns != 3) continue;
                int level = columns % 3 == 0 ? 0 : columns % 3 == 1 ? -1 : 5;
                store(&s, path, columns, level, 1 + 9973 * (columns % 3));
                gathered all;
                gather(&all, path, NULL);
                assert_int_equal(all.status, FM_OK);
                assert_int_equal(all.count, counts[c]);
                assert_int_equal(all.info.columns, columns);
                assert_int_equal(all.info.references_total, counts[c]);
                assert_true(all.info.memory_addresses);
                assert_int_equal(all.size != NULL, counts[c] && columns & FM_COLUMN_SIZE);
                if (all.count > 0) assert_slice(&all, 0, &s, 0, counts[c]);
                gathered_free(&all);
            }
            free_sample(&s);
        }
}

/* Fetches in a native trace are passed over, chosen or kept, as in the formats they came from. */
CASE(fetches)
{
    sample s = make_sample(200000, 0, 1);
    uint64_t total = 0;
    for (size_t i = 0; i < s.count; i++) {
        if (i < 70000 || i % 5 == 0) s.kind[i] = FM_KIND_FETCH; /* the first block is nothing else */
        total += s.kind[i] == FM_KIND_FETCH;
    }
    const char *path = in_directory("x.fathom");
    store(&s, path, ALL_COLUMNS, 0, 5000);
    for (fm_fetches which = FM_FETCHES_SKIP; which <= FM_FETCHES_ALL; which++) {
        fm_reader_options options = {.fetches = which};
        gathered all;
        gather(&all, path, &options);
        assert_int_equal(all.status, FM_OK);
        size_t at = 0;
        for (size_t i = 0; i < s.count; i++) {
            bool fetch = s.kind[i] == FM_KIND_FETCH;
            if (fetch ? which == FM_FETCHES_SKIP : which == FM_FETCHES_ONLY) continue;
            assert_slice(&all, at++, &s, i, 1);
        }
        assert_int_equal(at, all.count);
        assert_int_equal(all.info.fetches_skipped, which == FM_FETCHES_SKIP ? total : 0);
        gathered_free(&all);
    }
    free_sample(&s);
}

/* ---- a small file of three blocks, made by hand from the layout, for damage ---- */

enum { SMALL_BLOCKS = 3, SMALL_REFERENCES = 20 };
typedef struct small_file {
    uint8_t bytes[4096];
    size_t size, block_at[SMALL_BLOCKS + 1]; /* the last: the index */
} small_file;

static small_file make_small(const sample *s)
{
    static const size_t references[SMALL_BLOCKS] = {SMALL_REFERENCES, SMALL_REFERENCES, SMALL_REFERENCES};
    small_file file;
    file.size =
        make_blocks(s, references, SMALL_BLOCKS, NULL, 0, file.bytes, sizeof file.bytes, file.block_at);
    return file;
}

/* What was delivered is whole blocks of the sample in order; returns which, as bits. */
static unsigned assert_whole_blocks(const gathered *all, const sample *s)
{
    unsigned which = 0;
    size_t at = 0;
    for (size_t b = 0; b < SMALL_BLOCKS && at < all->count; b++)
        if (all->address[at] == s->address[b * SMALL_REFERENCES]) {
            assert_slice(all, at, s, b * SMALL_REFERENCES, SMALL_REFERENCES);
            at += SMALL_REFERENCES;
            which |= 1U << b;
        }
    assert_int_equal(at, all->count);
    return which;
}

CASE(cut_at_every_byte)
{
    sample s = make_sample(SMALL_BLOCKS * SMALL_REFERENCES, 1, 99);
    small_file file = make_small(&s);
    const char *path = in_directory("cut.fathom");
    for (size_t size = 0; size <= file.size; size += test_stride() > 1 ? 11 : 1) {
        write_file(path, file.bytes, size);
        gathered all;
        gather(&all, path, NULL);
        if (size < 64) {
            assert_int_equal(all.opened, FM_E_TRUNCATED);
        } else {
            size_t whole = 0;
            while (whole < SMALL_BLOCKS && file.block_at[whole + 1] <= size) whole++;
            assert_int_equal(all.opened, FM_OK);
            assert_int_equal(assert_whole_blocks(&all, &s), (1U << whole) - 1);
            assert_int_equal(all.status, size == file.size ? FM_OK : FM_E_TRUNCATED);
            assert_int_equal(all.damages, size == file.size ? 0 : 1);
            if (size < file.size) {
                /* The place is where the incomplete block or index begins; a check says the same. */
                char end[40];
                snprintf(end, sizeof end, ", at byte %zu", size);
                assert_int_equal(all.error.offset, file.block_at[whole]);
                assert_non_null(strstr(all.error.reason, end));
                fm_check_result result;
                fm_error error;
                assert_int_equal(fm_trace_check(path, NULL, NULL, &result, &error), FM_E_TRUNCATED);
                assert_int_equal(error.offset, file.block_at[whole]);
                assert_string_equal(error.reason, all.error.reason);
            }
            /* Where the header of the cut block was there, it tells what is lost. */
            bool header = whole < SMALL_BLOCKS &&
                          size >= file.block_at[whole] + fm_native_block_header_size(ALL_COLUMNS);
            assert_int_equal(all.lost, header ? SMALL_REFERENCES : 0);
        }
        gathered_free(&all);
    }
    free_sample(&s);
}

CASE(flip_every_bit)
{
    sample s = make_sample(SMALL_BLOCKS * SMALL_REFERENCES, 1, 99);
    small_file file = make_small(&s);
    const char *path = in_directory("flip.fathom");
    size_t header = fm_native_block_header_size(ALL_COLUMNS);
    for (size_t at = 0; at < file.size; at++)
        for (size_t bit = 0; bit < 8; bit++) {
            if ((8 * at + bit) % test_stride() != 0) continue;
            file.bytes[at] ^= (uint8_t)(1 << bit);
            write_file(path, file.bytes, file.size);
            file.bytes[at] ^= (uint8_t)(1 << bit);
            gathered all;
            gather(&all, path, NULL);
            if (at < 64) {
                assert_int_not_equal(all.opened, FM_OK);
                assert_int_equal(all.opened, at < 8 ? FM_E_FORMAT : FM_E_CORRUPT);
                gathered_free(&all);
                continue;
            }
            size_t block = SMALL_BLOCKS;
            while (block > 0 && at < file.block_at[block]) block--;
            unsigned every = (1U << SMALL_BLOCKS) - 1;
            unsigned which = assert_whole_blocks(&all, &s);
            assert_int_equal(all.damages, 1);
            assert_int_equal(all.status, FM_E_CORRUPT);
            if (at >= file.block_at[SMALL_BLOCKS]) {
                assert_int_equal(which, every);
            } else {
                block = 0;
                while (at >= file.block_at[block + 1]) block++;
                /* Exactly the block that was hit is missing, and the reader knows how much that is. */
                assert_int_equal(which, every & ~(1U << block));
                assert_int_equal(all.lost, SMALL_REFERENCES);
                assert_int_equal(all.error.offset, file.block_at[block]);
                if (at >= file.block_at[block] + header)
                    assert_non_null(strstr(all.message, "of 20 references is damaged"));
            }
            gathered_free(&all);
        }
    free_sample(&s);
}

/* Bytes taken out or put in anywhere: all blocks but those at the place are still found. */
CASE(shift_everywhere)
{
    sample s = make_sample(SMALL_BLOCKS * SMALL_REFERENCES, 1, 99);
    small_file file = make_small(&s);
    const char *path = in_directory("shift.fathom");
    for (size_t at = 64; at<file.block_at[SMALL_BLOCKS]; at += test_stride()> 1 ? 11 : 1)
        for (int how = 0; how < 2; how++) { /* 0: five bytes less, 1: five bytes more */
            uint8_t bytes[sizeof file.bytes + 8];
            size_t size;
            memcpy(bytes, file.bytes, at);
            if (how) {
                memset(bytes + at, 'F', 5);
                memcpy(bytes + at + 5, file.bytes + at, file.size - at);
                size = file.size + 5;
            } else {
                memcpy(bytes + at, file.bytes + at + 5, file.size - at - 5);
                size = file.size - 5;
            }
            write_file(path, bytes, size);
            gathered all;
            gather(&all, path, NULL);
            unsigned which = assert_whole_blocks(&all, &s);
            size_t block = 0, last = 0;
            while (at >= file.block_at[block + 1]) block++;
            while (last < SMALL_BLOCKS - 1 && at + 4 >= file.block_at[last + 1]) last++;
            for (size_t b = 0; b < SMALL_BLOCKS; b++)
                if (b < block || b > (how ? block : last)) assert_true(which & 1U << b);
            assert_int_equal(all.status, FM_E_CORRUPT);
            gathered_free(&all);
        }
    free_sample(&s);
}

CASE(missing_and_doubled_blocks)
{
    sample s = make_sample(SMALL_BLOCKS * SMALL_REFERENCES, 1, 99);
    small_file file = make_small(&s);
    const char *path = in_directory("blocks.fathom");
    uint8_t bytes[2 * sizeof file.bytes];
    /* The second block is gone. */
    memcpy(bytes, file.bytes, file.block_at[1]);
    memcpy(bytes + file.block_at[1], file.bytes + file.block_at[2], file.size - file.block_at[2]);
    write_file(path, bytes, file.size - (file.block_at[2] - file.block_at[1]));
    gathered all;
    gather(&all, path, NULL);
    assert_int_equal(assert_whole_blocks(&all, &s), 5);
    assert_int_equal(all.lost, SMALL_REFERENCES);
    assert_non_null(
        strstr(all.message, "blocks are missing before this one: expected reference 20, found 40"));
    gathered_free(&all);
    /* The second block comes twice. */
    memcpy(bytes, file.bytes, file.block_at[2]);
    memcpy(bytes + file.block_at[2], file.bytes + file.block_at[1], file.size - file.block_at[1]);
    write_file(path, bytes, file.size + (file.block_at[2] - file.block_at[1]));
    gather(&all, path, NULL);
    assert_int_equal(assert_whole_blocks(&all, &s), 7);
    assert_int_equal(all.lost, 0);
    assert_non_null(
        strstr(all.message, "a block stands in the wrong place: expected reference 40, found 20"));
    gathered_free(&all);
    free_sample(&s);
}

/* Headers that check out but lie: every number that someone might allocate or loop by. */
CASE(lying_headers)
{
    sample s = make_sample(SMALL_BLOCKS * SMALL_REFERENCES, 1, 99);
    small_file file = make_small(&s);
    const char *path = in_directory("lies.fathom");
    size_t header = fm_native_block_header_size(ALL_COLUMNS), block = file.block_at[1];
    static const struct {
        size_t at;
        int bytes;
        uint64_t lie;
    } lies[] = {
        {4, 2, 0xFFFF},      {4, 2, 0},  {8, 4, 0},           {8, 4, 65537}, {8, 4, UINT32_MAX},  {8, 4, 19},
        {8, 4, 21},          {12, 4, 0}, {12, 4, UINT32_MAX}, {32, 1, 1},    {33, 1, 2},          {33, 1, 1},
        {34, 1, 2},          {34, 1, 1}, {35, 1, 9},          {35, 1, 255},  {36, 4, UINT32_MAX}, {36, 4, 20},
        {40, 4, UINT32_MAX}, {40, 4, 0}, {44, 1, 0},          {46, 1, 1},    {58, 1, 1},
    };
    for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
        uint8_t bytes[sizeof file.bytes];
        memcpy(bytes, file.bytes, file.size);
        for (int b = 0; b < lies[i].bytes; b++)
            bytes[block + lies[i].at + (size_t)b] = (uint8_t)(lies[i].lie >> (8 * b));
        fm_store64(bytes + block + header - 8, XXH3_64bits(bytes + block, header - 8));
        write_file(path, bytes, file.size);
        gathered all;
        gather(&all, path, NULL);
        assert_int_equal(assert_whole_blocks(&all, &s), 5);
        assert_int_equal(all.status, FM_E_CORRUPT);
        assert_int_equal(all.lost, SMALL_REFERENCES);
        gathered_free(&all);
    }
    /* A block that is consistent in all but its count: no payload, every value 0, one reference too many. */
    uint8_t bytes[sizeof file.bytes];
    for (uint32_t count = 65536; count <= 65537; count++) {
        memcpy(bytes, file.bytes, 64);
        uint8_t *empty = bytes + 64;
        memcpy(empty, file.bytes + block, header);
        fm_store32(empty + 8, count);
        fm_store32(empty + 12, 0);
        fm_store64(empty + 16, 0);
        fm_store64(empty + 24, XXH3_64bits("", 0));
        for (size_t c = 0; c < 5; c++) {
            memset(empty + 32 + 12 * c, 0, 12);
            empty[32 + 12 * c] = (uint8_t)c;
        }
        fm_store64(empty + header - 8, XXH3_64bits(empty, header - 8));
        write_file(path, bytes, 64 + header);
        gathered all;
        gather(&all, path, NULL);
        assert_int_equal(all.count, count == 65536 ? 65536 : 0);
        assert_int_equal(all.status, count == 65536 ? FM_E_TRUNCATED : FM_E_CORRUPT);
        for (size_t i = 0; i < all.count; i++) assert_int_equal(all.address[i], 0);
        gathered_free(&all);
    }
    /* The index: a count of blocks that no memory could hold. */
    size_t index = file.block_at[SMALL_BLOCKS];
    static const uint64_t counts[] = {0, 2, 4, 1000000, UINT64_MAX, UINT64_MAX / 16 + 2};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        memcpy(bytes, file.bytes, file.size);
        fm_store64(bytes + index + 8, counts[i]);
        write_file(path, bytes, file.size);
        gathered all;
        gather(&all, path, NULL);
        assert_int_equal(assert_whole_blocks(&all, &s), 7);
        assert_int_equal(all.status, FM_E_CORRUPT);
        assert_int_equal(all.lost, 0);
        assert_non_null(strstr(all.message, "the index is damaged"));
        gathered_free(&all);
    }
    /* Another sum than that of its own entries, which are right. */
    size_t end = 24 + 16 * SMALL_BLOCKS;
    for (uint64_t sum = 59; sum <= 61; sum += 2) {
        memcpy(bytes, file.bytes, file.size);
        fm_store64(bytes + index + 16, sum);
        fm_store64(bytes + index + end, XXH3_64bits(bytes + index, end));
        fm_native_footer_store(bytes + index + end + 8, &(fm_native_footer){index, sum});
        write_file(path, bytes, file.size);
        gathered all;
        gather(&all, path, NULL);
        assert_int_equal(assert_whole_blocks(&all, &s), 7);
        assert_int_equal(all.status, FM_E_CORRUPT);
        assert_int_equal(all.lost, sum == 61);
        assert_non_null(strstr(all.message, "the index tells of other blocks than there are"));
        gathered_free(&all);
    }
    free_sample(&s);
}

static void reseal(uint8_t *header)
{
    fm_store64(header + 56, XXH3_64bits(header, 56));
}

CASE(wrong_headers)
{
    sample s = make_sample(5, 0, 1);
    const char *path = in_directory("input.fathom");
    store(&s, path, 0, 0, 5);
    size_t size;
    uint8_t *bytes = read_whole(path, &size);
    static const struct {
        size_t at;
        uint8_t value;
        bool sealed;
        fm_status status;
        const char *message;
    } cases[] = {
        {1, 'f', false, FM_E_FORMAT,
         "byte 0: not a fathom trace: expected 89 46 41 54 48 4f 4d 0a, found 89 66 41 54 48 4f 4d 0a"},
        {8, 2, true, FM_E_UNSUPPORTED,
         "byte 8: the trace is of format version 2; this program reads version 1"},
        {13, 1, true, FM_E_UNSUPPORTED,
         "byte 12: the trace uses features 0x100 that this program does not know"},
        {20, 16, true, FM_E_UNSUPPORTED,
         "byte 20: the trace has columns 0x10 and blocks of up to 65536 references; expected columns within "
         "0xf and "
         "1 to 65536 references"},
        {10, 128, true, FM_E_UNSUPPORTED, "byte 10: the file's header has 128 bytes; expected 64"},
        {16, 255, true, FM_OK, NULL}, /* compatible features that nobody knows */
        {40, 255, true, FM_OK, NULL}, /* reserved */
        {8, 2, false, FM_E_CORRUPT, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint8_t kept[64];
        memcpy(kept, bytes, 64);
        bytes[cases[i].at] = cases[i].value;
        if (cases[i].sealed) reseal(bytes);
        write_file(path, bytes, size);
        memcpy(bytes, kept, 64);
        gathered all;
        gather(&all, path, NULL);
        assert_int_equal(all.opened, cases[i].status);
        if (cases[i].message) assert_string_equal(strstr(all.message, "byte"), cases[i].message);
        if (cases[i].status == FM_OK) assert_int_equal(all.count, 5);
        gathered_free(&all);
    }
    free(bytes);
    write_file(path, "", 0);
    gathered all;
    gather(&all, path, NULL);
    assert_int_equal(all.opened, FM_E_TRUNCATED);
    assert_string_equal(strstr(all.message, "byte"),
                        "byte 0: the file is empty; expected the header of a fathom trace");
    free_sample(&s);
}

/* Content tells before the name does; the word of --format tells before content. */
CASE(content_wins)
{
    sample s = make_sample(5, 0, 1);
    const char *path = in_directory("x.fathom"), *other = in_directory("y.u64"), *none = in_directory("z");
    store(&s, path, 0, 0, 5);
    size_t size;
    uint8_t *bytes = read_whole(path, &size);
    write_file(other, bytes, size);
    write_file(none, bytes, size);
    gathered all;
    gather(&all, other, NULL);
    assert_string_equal(all.info.format, "fathom");
    assert_int_equal(all.count, 5);
    gathered_free(&all);
    gather(&all, none, NULL);
    assert_string_equal(all.info.format, "fathom");
    gathered_free(&all);
    fm_reader_options raw = {.format = "u64"};
    gather(&all, other, &raw);
    assert_string_equal(all.info.format, "u64");
    assert_int_equal(all.count, size / 8);
    gathered_free(&all);
    write_file(none, "12345678", 8);
    fm_reader_options native = {.format = "fathom"};
    gather(&all, none, &native);
    assert_int_equal(all.opened, FM_E_FORMAT);
    assert_string_equal(
        strstr(all.message, "byte"),
        "byte 0: not a fathom trace: expected 89 46 41 54 48 4f 4d 0a, found 31 32 33 34 35 36 37 38");
    gather(&all, none, NULL);
    assert_int_equal(all.opened, FM_E_FORMAT);
    assert_non_null(strstr(
        all.message, "neither the name nor the content tells the trace format; say it with "
                     "fm_reader_options.format NAME, one of u64, text, csv, lackey, din, oracle, fathom"));
    free(bytes);
    free_sample(&s);
}

/* ---- fm_trace_check ---- */

typedef struct visits {
    size_t calls, bad;
    uint64_t references;
} visits;

static void count_visit(void *context, const fm_block_report *report)
{
    visits *seen = context;
    seen->calls++;
    if (report->status != FM_OK) {
        seen->bad++;
        assert_non_null(report->reason);
    } else {
        assert_null(report->reason);
        assert_true(report->stored_bytes > 0);
        seen->references += report->references;
    }
}

CASE(check_tells)
{
    sample s = make_sample(SMALL_BLOCKS * SMALL_REFERENCES, 1, 99);
    small_file file = make_small(&s);
    const char *path = in_directory("check.fathom");
    fm_check_result result;
    fm_error error;
    for (int damage = 0; damage < 4; damage++) { /* none, a payload, a header, the index */
        uint8_t bytes[sizeof file.bytes];
        memcpy(bytes, file.bytes, file.size);
        size_t places[] = {0, file.block_at[2] - 1, file.block_at[1] + 9, file.block_at[3] + 30};
        if (damage) bytes[places[damage]] ^= 1;
        write_file(path, bytes, file.size);
        visits seen = {0};
        fm_status status = fm_trace_check(path, count_visit, &seen, &result, &error);
        assert_int_equal(status, damage ? FM_E_CORRUPT : FM_OK);
        assert_int_equal(result.blocks, damage == 2 ? 2 : 3);
        assert_int_equal(result.bad_blocks, damage == 1 || damage == 2);
        assert_int_equal(result.references, damage == 1 || damage == 2 ? 40 : 60);
        assert_int_equal(result.lost, damage == 1 || damage == 2 ? 20 : 0);
        assert_int_equal(result.columns, ALL_COLUMNS);
        assert_true(result.memory_addresses);
        assert_true(result.index_present);
        assert_int_equal(result.index_sound, damage != 3);
        assert_int_equal(seen.bad, damage > 0);
        assert_int_equal(seen.calls, damage == 3 ? 4 : 3);
        assert_int_equal(seen.references, result.references);
        if (damage != 3) assert_int_equal(result.stored_bytes, file.size);
    }
    write_file(path, file.bytes, file.block_at[2] + 5);
    assert_int_equal(fm_trace_check(path, NULL, NULL, &result, &error), FM_E_TRUNCATED);
    assert_int_equal(result.references, 40);
    assert_false(result.index_present);
    write_file(path, "hello, world", 12);
    assert_int_equal(fm_trace_check(path, NULL, NULL, &result, &error), FM_E_FORMAT);
    assert_int_equal(fm_trace_check(in_directory("absent"), NULL, NULL, &result, NULL), FM_E_IO);
    free_sample(&s);
}

/* The promise of two bytes a reference is measured on real programs by the bench; here, on a loop over
 * arrays, the coding must do far better than the addresses themselves. */
CASE(coding_is_small)
{
    sample s = make_sample(200000, 0, 3);
    const char *path = in_directory("small.fathom");
    store(&s, path, FM_COLUMN_SIZE | FM_COLUMN_KIND, 0, 65536);
    size_t size;
    free(read_whole(path, &size));
    assert_true(size < 200000 / 20);
    free_sample(&s);
}

CASES_WITH(make_directory, remove_directory);
