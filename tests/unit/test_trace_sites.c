/* SPDX-License-Identifier: Apache-2.0 */
/* test_trace_sites.c - native traces with code sites: what goes in comes out, whichever way the columns are
 * coded and however many threads do it; tables that lie are not believed. */
#include "case.h"

#include "base/bytes.h"
#include "trace/native/native_layout.h"
#include "trace/native/native_planes.h"
#include "unit/trace_helpers.h"

#include <fathom/analyzer.h>
#include <xxhash.h>

enum { OTHERS = FM_COLUMN_SIZE | FM_COLUMN_KIND | FM_COLUMN_THREAD, ALL = OTHERS | FM_COLUMN_SITE };

typedef struct sample {
    size_t count;
    uint64_t *address, *site;
    uint32_t *size, *thread;
    uint8_t *kind;
} sample;

typedef enum shape {
    LOOP,          /* three instructions over arrays */
    THREADS,       /* the same in 64 threads that take turns */
    MANY,          /* 20,000 instructions, each again and again: more than a block's table takes */
    SIZES,         /* three instructions, any size */
    RANDOM,        /* no site twice */
    ONE,           /* one instruction */
    FREQUENT_ONES, /* 300 instructions: indices of two bytes */
    SHAPES
} shape;

static sample make_sample(size_t count, shape what)
{
    sample s = {.count = count};
    uint64_t seed = 5;
    s.address = calloc(count + 1, sizeof *s.address);
    s.site = calloc(count + 1, sizeof *s.site);
    s.size = calloc(count + 1, sizeof *s.size);
    s.thread = calloc(count + 1, sizeof *s.thread);
    s.kind = calloc(count + 1, 1);
    assert_true(s.address && s.site && s.size && s.thread && s.kind);
    for (size_t i = 0; i < count; i++) {
        uint64_t r = random_from(&seed);
        size_t of = what == MANY            ? i % 20000
                    : what == RANDOM        ? i
                    : what == ONE           ? 0
                    : what == FREQUENT_ONES ? r % 300
                                            : i % 3;
        s.site[i] = UINT64_C(0x7f0000000000) + of * 5;
        s.address[i] = of << 36 | i * (8 + of);
        s.size[i] = what == SIZES ? (uint32_t)r : 1U << of % 4;
        s.kind[i] = (uint8_t)(of % 3);
        s.thread[i] = what == THREADS ? (uint32_t)(i % 64) : 7;
        if (r % 1000 == 0) s.address[i] = r; /* now and then somewhere else */
    }
    return s;
}

static void free_sample(sample *s)
{
    free(s->address);
    free(s->site);
    free(s->size);
    free(s->thread);
    free(s->kind);
}

static fm_status append(fm_writer *writer, const sample *s, size_t from, size_t count, fm_error *error)
{
    fm_batch batch = {.count = count,
                      .address = s->address + from,
                      .size = s->size + from,
                      .kind = s->kind + from,
                      .thread = s->thread + from,
                      .site = s->site + from};
    return fm_writer_append(writer, &batch, error);
}

static void store(const sample *s, const char *path, unsigned columns, int level, unsigned threads,
                  size_t per_batch)
{
    fm_writer *writer;
    fm_writer_options options = {.columns = columns, .level = level, .threads = threads};
    assert_int_equal(fm_writer_open(&writer, path, &options, NULL), FM_OK);
    for (size_t at = 0; at < s->count; at += per_batch) {
        size_t piece = s->count - at < per_batch ? s->count - at : per_batch;
        assert_int_equal(append(writer, s, at, piece, NULL), FM_OK);
    }
    assert_int_equal(fm_writer_finish(writer, NULL), FM_OK);
    fm_writer_close(writer);
}

static void assert_comes_out(const sample *s, const char *path, unsigned columns)
{
    gathered all;
    gather(&all, path, NULL);
    assert_int_equal(all.status, FM_OK);
    assert_int_equal(all.count, s->count);
    assert_int_equal(all.info.columns, columns);
    if (s->count > 0) {
        assert_memory_equal(all.address, s->address, s->count * sizeof *s->address);
        assert_memory_equal(all.site, s->site, s->count * sizeof *s->site);
        if (columns & FM_COLUMN_SIZE) assert_memory_equal(all.size, s->size, s->count * sizeof *s->size);
        if (columns & FM_COLUMN_KIND) assert_memory_equal(all.kind, s->kind, s->count);
        if (columns & FM_COLUMN_THREAD)
            assert_memory_equal(all.thread, s->thread, s->count * sizeof *s->thread);
    }
    gathered_free(&all);
}

CASE(round_trip)
{
    static const size_t counts[] = {1, 3, 4, 5, 11, 12, 300, 65536, 65540, 140000};
    const char *path = in_directory("x.fathom");
    for (shape what = 0; what < SHAPES; what++)
        for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
            sample s = make_sample(counts[c], what);
            for (unsigned others = 0; others <= OTHERS; others++) {
                if (counts[c] > 1000 && others != 0 && others != OTHERS && others != 1) continue;
                int level = others % 3 == 0 ? 1 : others % 3 == 1 ? -1 : 0;
                store(&s, path, others | FM_COLUMN_SITE, level, 0, 5000 + 7 * c);
                assert_comes_out(&s, path, others | FM_COLUMN_SITE);
            }
            free_sample(&s);
        }
}

/* Which encodings the first block of a file has, column by column. */
static void encodings_of(const char *path, uint8_t found[5])
{
    size_t size;
    uint8_t *bytes = read_whole(path, &size);
    for (size_t c = 0; c < 5; c++) found[c] = bytes[64 + 32 + 12 * c + 1];
    free(bytes);
}

/* Each shape is coded as it should be: a table where one pays. */
CASE(right_encodings)
{
    enum { D = FM_NATIVE_DIRECT, T = FM_NATIVE_TABLE, A = FM_NATIVE_AS_SITE, B = FM_NATIVE_BY_SITE };
    static const struct {
        shape what;
        uint8_t size, kind, thread, site;
    } expected[] = {{LOOP, A, A, A, T},   {THREADS, A, A, A, T},       {SIZES, D, D, T, T},
                    {ONE, A, A, A, T},    {FREQUENT_ONES, A, A, A, T}, {MANY, D, D, T, 99},
                    {RANDOM, D, D, T, 99}};
    const char *path = in_directory("x.fathom");
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        sample s = make_sample(70000, expected[i].what);
        store(&s, path, ALL, 1, 0, 65536);
        uint8_t found[5];
        encodings_of(path, found);
        assert_int_equal(found[1], expected[i].size);
        assert_int_equal(found[2], expected[i].kind);
        assert_int_equal(found[3], expected[i].thread);
        if (expected[i].site == 99) {
            assert_true(found[4] <= FM_NATIVE_LOOKBACK);
            assert_true(found[0] <= FM_NATIVE_LOOKBACK);
        } else {
            assert_int_equal(found[4], expected[i].site);
            assert_int_equal(found[0], B);
        }
        free_sample(&s);
    }
}

/* Sites that tell everything cost next to nothing: loops over arrays. */
CASE(coding_is_small)
{
    sample s = make_sample(200000, LOOP);
    const char *path = in_directory("small.fathom");
    store(&s, path, ALL, 1, 0, 65536);
    size_t size;
    free(read_whole(path, &size));
    /* One of a thousand addresses is random: it and the way back from it take ten bytes each. */
    assert_true(size < 200 * 20 + 200000 / 100);
    free_sample(&s);
}

/* ---- threads ---- */

CASE(threads_change_nothing)
{
    sample s = make_sample(400000, FREQUENT_ONES);
    const char *one = in_directory("one.fathom"), *other = in_directory("other.fathom");
    store(&s, one, ALL, 1, 0, 65536);
    size_t size;
    uint8_t *bytes = read_whole(one, &size);
    static const unsigned threads[] = {1, 2, 3, 7, 100};
    for (size_t i = 0; i < sizeof threads / sizeof threads[0]; i++) {
        size_t again;
        store(&s, other, ALL, 1, threads[i], 1 + 20011 * i);
        uint8_t *same = read_whole(other, &again);
        assert_int_equal(size, again);
        assert_memory_equal(bytes, same, size);
        free(same);
    }
    free(bytes);
    free_sample(&s);
}

/* Closed at any time: nothing hangs, nothing is left behind. */
CASE(abandoned)
{
    sample s = make_sample(300000, LOOP);
    const char *path = in_directory("abandoned.fathom");
    for (size_t appended = 0; appended <= s.count; appended += 60000) {
        fm_writer *writer;
        fm_writer_options options = {.columns = ALL, .threads = 2};
        assert_int_equal(fm_writer_open(&writer, path, &options, NULL), FM_OK);
        assert_int_equal(append(writer, &s, 0, appended, NULL), FM_OK);
        fm_writer_close(writer);
        assert_int_not_equal(access(path, F_OK), 0);
    }
    free_sample(&s);
}

/* A full disk is told by an append while it is going on, or by finish; from then on always. */
CASE(full_disk)
{
    if (access("/dev/full", W_OK) != 0) {
        print_message("SKIP: there is no /dev/full here that can be written to\n");
        skip();
    }
    sample s = make_sample(400000, RANDOM);
    for (unsigned threads = 0; threads < 4; threads++) {
        fm_writer *writer;
        fm_error error;
        fm_writer_options options = {.format = "fathom", .columns = ALL, .level = -1, .threads = threads};
        assert_int_equal(fm_writer_open(&writer, "/dev/full", &options, NULL), FM_OK);
        fm_status status = FM_OK;
        size_t at = 0;
        for (; status == FM_OK && at < s.count; at += 10000) status = append(writer, &s, at, 10000, &error);
        /* Without threads long before the end; with them, when the first block comes back. */
        if (threads < 3) assert_int_equal(status, FM_E_IO);
        if (threads < 2) assert_true(at < s.count);
        assert_int_equal(fm_writer_finish(writer, &error), FM_E_IO);
        assert_int_equal(append(writer, &s, 0, 1, &error), FM_E_IO);
        fm_writer_close(writer);
    }
    free_sample(&s);
}

/* ---- tables that lie ---- */

enum { SMALL = 40, COLUMNS_AT = 64 + 32, HEADER = 32 + 12 * 5 + 8 };

static void seal(uint8_t *bytes)
{
    uint8_t *block = bytes + 64;
    fm_store64(block + 24, XXH3_64bits(block + HEADER, fm_load32(block + 12)));
    fm_store64(block + HEADER - 8, XXH3_64bits(block, HEADER - 8));
}

CASE(lying_tables)
{
    sample s = make_sample(SMALL, LOOP);
    const char *path = in_directory("lies.fathom");
    store(&s, path, ALL, -1, 0, SMALL);
    size_t size;
    uint8_t *bytes = read_whole(path, &size), *entry = bytes + COLUMNS_AT;
    /* Three entries, an index byte each: the site column is the last. */
    assert_int_equal(entry[4 * 12 + 1], FM_NATIVE_TABLE);
    assert_int_equal(entry[4 * 12 + 3], 1);
    assert_int_equal(fm_load32(entry + 4 * 12 + 4), 3);
    assert_int_equal(fm_load32(entry + 4 * 12 + 8), SMALL + 3 * 8);
    static const struct {
        size_t column, at;
        int bytes;
        uint64_t lie;
    } lies[] = {
        {4, 1, 1, FM_NATIVE_AS_SITE},
        {4, 1, 1, FM_NATIVE_BY_SITE},
        {4, 1, 1, FM_NATIVE_DIRECT}, /* then the others have no table to refer to */
        {4, 1, 1, 5},
        {4, 1, 1, 255},
        {4, 3, 1, 0},
        {4, 3, 1, 2},
        {4, 3, 1, 3},
        {4, 3, 1, 255},
        {4, 4, 4, 0},
        {4, 4, 4, 2},
        {4, 4, 4, 4},
        {4, 4, 4, SMALL + 1},
        {4, 4, 4, 65537},
        {4, 4, 4, UINT32_MAX},
        {0, 1, 1, FM_NATIVE_AS_SITE},
        {0, 1, 1, FM_NATIVE_TABLE},
        {0, 4, 4, SMALL + 1},
        {1, 1, 1, FM_NATIVE_BY_SITE},
        {1, 1, 1, FM_NATIVE_TABLE},
        {1, 3, 1, 1},
        {1, 4, 4, 1},
        {1, 4, 4, UINT32_MAX},
        {2, 1, 1, 5},
    };
    for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
        uint8_t kept[16], *at = entry + 12 * lies[i].column + lies[i].at;
        memcpy(kept, at, sizeof kept);
        for (int b = 0; b < lies[i].bytes; b++) at[b] = (uint8_t)(lies[i].lie >> (8 * b));
        seal(bytes);
        write_file(path, bytes, size);
        gathered all;
        gather(&all, path, NULL);
        assert_int_equal(all.count, 0);
        assert_int_equal(all.status, FM_E_CORRUPT);
        assert_int_equal(all.lost, SMALL);
        gathered_free(&all);
        memcpy(at, kept, sizeof kept);
    }
    /* An index behind the table's end. */
    uint8_t *index = bytes + 64 + HEADER;
    for (size_t c = 0; c < 4; c++) index += fm_load32(entry + 12 * c + 8);
    assert_int_equal(index[2], 2);
    index[2] = 3;
    seal(bytes);
    write_file(path, bytes, size);
    gathered all;
    gather(&all, path, NULL);
    assert_int_equal(all.count, 0);
    assert_non_null(strstr(all.message, "an index lies outside its table"));
    gathered_free(&all);
    /* And the file as it was. */
    index[2] = 2;
    seal(bytes);
    write_file(path, bytes, size);
    assert_comes_out(&s, path, ALL);
    free(bytes);
    free_sample(&s);
}

/* ---- the pieces ---- */

/* Planes and exceptions of numbers of every length: back they come. */
CASE(numbers_come_back)
{
    enum { MOST = 3000 };
    static uint64_t numbers[MOST], back[MOST];
    static uint8_t bytes[MOST * 10 + 64];
    uint64_t seed = 11;
    for (size_t count = 1; count < MOST; count = count * 3 / 2 + 1)
        for (unsigned length = 0; length <= 8; length++)
            for (int odd = 0; odd < 2; odd++) { /* a few that are longer than the rest */
                for (size_t i = 0; i < count; i++) {
                    uint64_t r = random_from(&seed);
                    numbers[i] = length == 0 ? 0 : r >> (64 - 8 * length);
                    if (odd && i % 100 == 50) numbers[i] = r;
                }
                fm_native_part part = {0};
                size_t used = fm_native_numbers_store(numbers, count, &part, bytes);
                assert_true(used <= sizeof bytes);
                assert_int_equal(used, count * part.planes + 10 * (size_t)part.exceptions);
                assert_true(part.exceptions <= count / 64);
                assert_true(fm_native_numbers_load(bytes, count, &part, back));
                assert_memory_equal(numbers, back, count * sizeof *numbers);
            }
}

/* Every instruction set makes the same choices, and they lead back to the values. */
CASE(choices_are_the_same)
{
    enum { COUNT = 20000 };
    static uint64_t values[COUNT], codes[COUNT], others[COUNT];
    static uint8_t back[COUNT], other_back[COUNT];
    uint64_t seed = 3;
    for (int what = 0; what < 3; what++) {
        for (size_t i = 0; i < COUNT; i++) {
            uint64_t r = random_from(&seed);
            values[i] = what == 0   ? (i % 5) << 40 | i * 8
                        : what == 1 ? r
                                    : (r & 1 ? UINT64_MAX - (r >> 60) : r >> 50 & 7);
        }
        fm_native_lookback *plain = fm_native_lookback_create("portable");
        assert_non_null(plain);
        fm_native_lookback_choose(plain, values, COUNT, back, codes);
        fm_native_lookback_destroy(plain);
        for (size_t i = 0; i < COUNT; i++) {
            uint64_t base = back[i] < i ? values[i - 1 - back[i]] : 0;
            assert_int_equal(base + fm_unzigzag(codes[i]), values[i]);
        }
        for (size_t isa = 0; fm_isa_at(isa); isa++) {
            fm_native_lookback *vector = fm_native_lookback_create(fm_isa_at(isa));
            assert_non_null(vector);
            for (int again = 0; again < 2; again++) { /* nothing is left of the time before */
                fm_native_lookback_choose(vector, values, COUNT, other_back, others);
                assert_memory_equal(back, other_back, sizeof back);
                assert_memory_equal(codes, others, sizeof codes);
            }
            fm_native_lookback_destroy(vector);
        }
    }
}

CASES_WITH(make_directory, remove_directory);
