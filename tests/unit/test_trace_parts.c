/* SPDX-License-Identifier: Apache-2.0 */
/* test_trace_parts.c - traces read in parts: the parts are the whole, whatever is in it; they are of the same
 * size; each keeps to its own bytes; what cannot be divided is refused in plain words. */
#include "case.h"

#include "unit/native_samples.h"

#include <fcntl.h>
#include <sys/stat.h>

enum { MOST_PARTS = 9, MOST_BLOCKS = 40, ROOM = 1 << 19 };

/* Reads every part and compares all of them, one after the other, with what the whole says: references,
 * damage and its words. sizes[part], where not NULL: how many references each part promised. */
static void assert_parts_are(const char *path, const gathered *whole, uint32_t parts, bool read_ahead,
                             uint64_t *sizes)
{
    size_t at = 0, damages = 0;
    uint64_t lost = 0, skipped = 0;
    for (uint32_t part = 0; part < parts; part++) {
        fm_reader_options options = {.part = part, .parts = parts, .read_ahead = read_ahead};
        gathered own;
        gather(&own, path, &options);
        assert_int_equal(own.opened, FM_OK);
        assert_true(own.count <= whole->count - at);
        assert_int_equal(own.info.columns, whole->info.columns);
        assert_int_equal(own.info.memory_addresses, whole->info.memory_addresses);
        assert_int_equal(own.info.bytes_read, own.info.bytes_total);
        if (own.count > 0) {
            sample s = {whole->count, whole->address, whole->site, whole->size, whole->thread, whole->kind};
            assert_int_equal(own.site != NULL, whole->site != NULL);
            assert_slice(&own, 0, &s, at, own.count);
        }
        if (own.damages > 0) {
            assert_int_equal(own.error.offset, whole->error.offset);
            assert_string_equal(own.message, whole->message);
        } else if (parts > 1) {
            assert_int_equal(own.info.references_total, own.count + own.info.fetches_skipped);
        }
        if (sizes) sizes[part] = own.info.references_total;
        at += own.count;
        damages += own.damages;
        lost += own.lost;
        skipped += own.info.fetches_skipped;
        gathered_free(&own);
    }
    assert_int_equal(at, whole->count);
    assert_int_equal(damages, whole->damages);
    assert_int_equal(lost, whole->lost);
    assert_int_equal(skipped, whole->info.fetches_skipped);
}

static void assert_extent(const char *path, uint64_t references, size_t bytes)
{
    fm_trace_extent extent;
    assert_int_equal(fm_trace_divisible(path, NULL, &extent, NULL), FM_OK);
    assert_int_equal(extent.references, references);
    assert_int_equal(extent.bytes, bytes);
}

/* ---- u64 ---- */

/* Under a sanitizer not every number of parts is tried. */
static uint32_t parts_step(void)
{
    return test_stride() > 1 ? 3 : 1;
}

CASE(raw_keys)
{
    const char *path = in_directory("x.u64");
    static uint64_t keys[200001];
    uint64_t seed = 5, sizes[MOST_PARTS] = {0};
    for (size_t i = 0; i < 200001; i++) keys[i] = random_from(&seed);
    for (size_t count = 0; count <= 200001; count += count < 30 ? 1 : 66657)
        for (size_t rest = 0; rest < 8; rest += 7) { /* bytes of one more key */
            size_t bytes = count * 8 + (count < 200001 ? rest : 0);
            write_file(path, keys, bytes);
            assert_extent(path, count, bytes);
            gathered whole;
            gather(&whole, path, NULL);
            assert_int_equal(whole.count, count);
            assert_int_equal(whole.damages, bytes % 8 > 0);
            for (uint32_t parts = 1; parts <= MOST_PARTS; parts += parts_step()) {
                assert_parts_are(path, &whole, parts, parts % 2, parts > 1 ? sizes : NULL);
                for (uint32_t part = 0; part < parts && parts > 1; part++)
                    assert_true(sizes[part] == count / parts || sizes[part] == (count - 1) / parts + 1);
            }
            gathered_free(&whole);
        }
}

/* More parts than a 32-bit product holds, and more than there are keys. */
CASE(very_many_parts)
{
    const char *path = in_directory("x.u64");
    static const uint64_t keys[3] = {11, 22, 33};
    write_file(path, keys, sizeof keys);
    uint64_t begin[3] = {UINT32_MAX / 3, (uint64_t)UINT32_MAX * 2 / 3, UINT32_MAX - 1};
    for (size_t i = 0; i < 3; i++) /* key i is alone in the part that its end lies in */
        for (uint32_t before = 0; before < 3; before++) {
            fm_reader_options options = {.part = (uint32_t)begin[i] - before, .parts = UINT32_MAX};
            gathered own;
            gather(&own, path, &options);
            uint64_t from = (uint64_t)options.part * 3 / UINT32_MAX,
                     to = ((uint64_t)options.part + 1) * 3 / UINT32_MAX;
            assert_int_equal(own.count, to - from);
            if (own.count) assert_int_equal(own.address[0], keys[from]);
            assert_int_equal(own.status, FM_OK);
            gathered_free(&own);
        }
}

/* ---- native ---- */

/* As the writer makes them, with all columns and some fetches. */
CASE(native_traces)
{
    static const size_t counts[] = {0, 1, 65535, 65536, 65537, 150000, 5 * 65536 + 7};
    const char *path = in_directory("x.fathom");
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
        sample s = make_sample(counts[c], (int)c % 2, 7 + c);
        for (size_t i = 0; i < s.count; i += 5) s.kind[i] = FM_KIND_FETCH;
        store(&s, path, ALL_COLUMNS, 0, 9973);
        struct stat about;
        assert_int_equal(stat(path, &about), 0);
        assert_extent(path, counts[c], (size_t)about.st_size);
        gathered whole;
        gather(&whole, path, NULL);
        assert_int_equal(whole.status, FM_OK);
        assert_int_equal(whole.count + whole.info.fetches_skipped, counts[c]);
        for (uint32_t parts = 1; parts <= MOST_PARTS; parts += parts_step())
            assert_parts_are(path, &whole, parts, parts % 2, NULL);
        gathered_free(&whole);
        free_sample(&s);
    }
}

static const fm_trace_module modules[] = {
    {"/usr/bin/program", "0123456789abcdef", 0x400000, 0x500000, 0},
    {"/lib/libc.so.6", NULL, 0x7f0000000000, 0x7f0000200000, 0x7f0000000000},
};
enum { MODULES = 2 };

/* How many modules a reader of a part ends with. */
static size_t modules_of(const char *path, uint32_t part, uint32_t parts, bool read_ahead)
{
    fm_reader *reader;
    fm_batch batch;
    fm_status status;
    const fm_trace_module *found;
    size_t count;
    fm_reader_options options = {.part = part, .parts = parts, .read_ahead = read_ahead};
    assert_int_equal(fm_reader_open(&reader, path, &options, NULL), FM_OK);
    do {
        fm_reader_modules(reader, &found, &count);
        assert_int_equal(count, 0); /* not before the end */
        status = fm_reader_next(reader, &batch, NULL);
    } while (status != FM_OK || batch.count > 0);
    fm_reader_modules(reader, &found, &count);
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(found[i].path, modules[i].path);
        assert_int_equal(found[i].bias, modules[i].bias);
    }
    fm_reader_close(reader);
    return count;
}

/* The edge between two parts is the block's edge nearest to where the references are equally many; two may be
 * as near but for a reference. */
static void assert_nearest(const size_t *references, size_t blocks, uint64_t total, uint64_t edge,
                           uint32_t part, uint32_t parts)
{
    uint64_t ideal = total * part, at = 0, here = edge * parts;
    uint64_t far = here > ideal ? here - ideal : ideal - here;
    bool found = edge == 0;
    for (size_t b = 0; b <= blocks; b++) {
        uint64_t there = at * parts, other = there > ideal ? there - ideal : ideal - there;
        if (far > other + 2 * (uint64_t)parts) fail_msg("a nearer edge is there");
        if (b < blocks) at += references[b];
        if (at == edge) found = true;
    }
    assert_true(found);
}

/* Blocks of all sizes, as other writers may make them. */
CASE(uneven_blocks)
{
    const char *path = in_directory("uneven.fathom");
    uint8_t *bytes = malloc(ROOM);
    assert_non_null(bytes);
    uint64_t seed = 3;
    for (size_t blocks = 0; blocks <= MOST_BLOCKS; blocks += blocks < 10 ? 1 : 10) {
        size_t references[MOST_BLOCKS], block_at[MOST_BLOCKS + 1];
        uint64_t total = 0;
        for (size_t b = 0; b < blocks; b++) {
            references[b] = 1 + random_from(&seed) % (b % 3 == 0 ? 500 : 50);
            total += references[b];
        }
        sample s = make_sample(total, 1, blocks);
        size_t size = make_blocks(&s, references, blocks, modules, blocks % 4 == 1 ? 0 : MODULES, bytes, ROOM,
                                  block_at);
        write_file(path, bytes, size);
        assert_extent(path, total, size);
        gathered whole;
        gather(&whole, path, NULL);
        assert_int_equal(whole.status, FM_OK);
        assert_int_equal(whole.count, total);
        if (total > 0) assert_slice(&whole, 0, &s, 0, total);
        for (uint32_t parts = 2; parts <= MOST_PARTS; parts += parts_step()) {
            uint64_t sizes[MOST_PARTS] = {0}, edge = 0;
            assert_parts_are(path, &whole, parts, parts % 2, sizes);
            for (uint32_t part = 0; part < parts; part++) {
                assert_nearest(references, blocks, total, edge, part, parts);
                edge += sizes[part];
                assert_int_equal(modules_of(path, part, parts, part % 2), blocks % 4 == 1 ? 0 : MODULES);
            }
        }
        gathered_free(&whole);
        free_sample(&s);
    }
    free(bytes);
}

/* ---- damage: four blocks and a module table ---- */

enum { BLOCKS = 4 };
static const size_t four[BLOCKS] = {20, 3, 31, 12};
typedef struct four_blocks {
    sample references;
    uint8_t bytes[16384];
    size_t size, block_at[BLOCKS + 1], index;
} four_blocks;

static four_blocks *make_four(void)
{
    four_blocks *file = malloc(sizeof *file);
    assert_non_null(file);
    file->references = make_sample(20 + 3 + 31 + 12, 1, 99);
    file->size = make_blocks(&file->references, four, BLOCKS, modules, MODULES, file->bytes,
                             sizeof file->bytes, file->block_at);
    file->index = (size_t)fm_load64(file->bytes + file->size - 32);
    return file;
}

static void free_four(four_blocks *file)
{
    free_sample(&file->references);
    free(file);
}

/* Corrects the index's checksum. */
static void seal_index(four_blocks *file)
{
    uint8_t *index = file->bytes + file->index;
    fm_store64(index + 24 + 16 * BLOCKS, XXH3_64bits(index, 24 + 16 * BLOCKS));
}

static void assert_refused(const char *path, const fm_reader_options *options, const char *reason)
{
    fm_trace_extent extent;
    fm_error error;
    assert_int_equal(fm_trace_divisible(path, options, &extent, &error), FM_E_UNSUPPORTED);
    assert_string_equal(error.reason, reason);
    assert_int_equal(extent.references + extent.bytes, 0);
    for (uint32_t part = 0; part < 3; part++) {
        fm_reader_options chosen = options ? *options : (fm_reader_options){0};
        chosen.part = part;
        chosen.parts = 3;
        gathered all;
        gather(&all, path, &chosen);
        assert_int_equal(all.opened, FM_E_UNSUPPORTED);
        assert_string_equal(all.error.reason, reason);
        assert_true(strcmp(path, "-") == 0 || strcmp(all.error.path, path) == 0);
    }
}

/* Damage before the index is told by one part, in the words of a reader of the whole; damage of the index
 * makes the file indivisible. */
CASE(flip_a_bit_of_every_byte)
{
    four_blocks *file = make_four();
    const char *path = in_directory("flip.fathom");
    for (size_t at = 64; at < file->size; at += test_stride()) {
        uint8_t bit = (uint8_t)(1 << at % 8);
        file->bytes[at] ^= bit;
        write_file(path, file->bytes, file->size);
        file->bytes[at] ^= bit;
        if (at >= file->size - 32) {
            /* The footer is the way to the index. */
            assert_refused(path, NULL,
                           "cannot be read in parts: it has no index at its end (it was cut, or its writer "
                           "was stopped)");
            continue;
        }
        if (at >= file->index) {
            assert_refused(path, NULL, "cannot be read in parts: its index is damaged");
            continue;
        }
        gathered whole;
        gather(&whole, path, NULL);
        assert_int_equal(whole.damages, 1);
        assert_parts_are(path, &whole, (uint32_t)(2 + at % 5), false, NULL);
        gathered_free(&whole);
        bool table = at >= file->block_at[BLOCKS];
        if (!table && at % 16 > 0) continue; /* the other blocks have nothing to do with it */
        for (uint32_t part = 0; part < 3; part++)
            assert_int_equal(modules_of(path, part, 3, false), table ? 0 : MODULES);
    }
    free_four(file);
}

/* Anywhere, and at every byte of the header, the index and the footer. */
CASE(cut_anywhere)
{
    four_blocks *file = make_four();
    const char *path = in_directory("cut.fathom");
    for (size_t size = 0; size < file->size; size += size < 64 || size >= file->index - 13 ? 1 : 13) {
        write_file(path, file->bytes, size);
        if (size >= 64) {
            assert_refused(path, NULL,
                           "cannot be read in parts: it has no index at its end (it was cut, or its writer "
                           "was stopped)");
            continue;
        }
        fm_trace_extent extent;
        assert_int_equal(fm_trace_divisible(path, NULL, &extent, NULL), FM_E_TRUNCATED);
    }
    free_four(file);
}

/* A part does not look at the bytes of others: they may be anything. */
CASE(own_bytes_only)
{
    four_blocks *file = make_four();
    const char *path = in_directory("own.fathom");
    uint8_t bytes[sizeof file->bytes];
    size_t first = 0;
    for (uint32_t part = 0; part < BLOCKS; part++) {
        /* In so many parts that each block has one of its own. */
        enum { PARTS = 66 };
        uint32_t number = (uint32_t)(first + four[part] / 2);
        memcpy(bytes, file->bytes, file->size);
        memset(bytes + 64, 'F', file->block_at[part] - 64);
        memset(bytes + file->block_at[part + 1], 'F', file->block_at[BLOCKS] - file->block_at[part + 1]);
        write_file(path, bytes, file->size);
        gathered own;
        gather(&own, path, &(fm_reader_options){.part = number, .parts = PARTS});
        assert_int_equal(own.status, FM_OK);
        assert_int_equal(own.count, four[part]);
        assert_slice(&own, 0, &file->references, first, four[part]);
        assert_int_equal(own.info.bytes_read, file->block_at[part + 1] - file->block_at[part]);
        gathered_free(&own);
        first += four[part];
    }
    free_four(file);
}

/* An index with the right checksum that is not of these blocks. Either it contradicts itself and is refused,
 * or the parts that come upon other blocks tell; what they deliver is sound all the same. */
CASE(lying_index)
{
    const char *path = in_directory("lies.fathom");
    static const struct {
        size_t block, at; /* in the index; block BLOCKS: in its fixed part */
        int64_t change;   /* of a 32-bit number there; the next entry's is changed the other way */
        bool refused;
    } lies[] = {
        {0, 0, 1, true},        /* offset */
        {0, 8, -20, true},      /* no references */
        {0, 8, 65536, true},    /* more than a block may have */
        {0, 8, -1, false},      /* a reference less, and the next one more */
        {0, 8, 1, false},       /* the other way */
        {1, 8, 2, false},       /**/
        {0, 12, -1, true},      /* bytes: the next offset is then another one */
        {BLOCKS, 4, 1, true},   /* module table bytes */
        {BLOCKS, 8, -1, true},  /* blocks */
        {BLOCKS, 8, 1, true},   /**/
        {BLOCKS, 16, 1, true},  /* references: not those of the footer */
        {BLOCKS, 16, -1, true}, /**/
    };
    for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
        four_blocks *file = make_four();
        uint8_t *index = file->bytes + file->index;
        uint8_t *at =
            lies[i].block == BLOCKS ? index + lies[i].at : index + 24 + 16 * lies[i].block + lies[i].at;
        fm_store32(at, (uint32_t)(fm_load32(at) + lies[i].change));
        if (lies[i].block < BLOCKS) fm_store32(at + 16, (uint32_t)(fm_load32(at + 16) - lies[i].change));
        seal_index(file);
        write_file(path, file->bytes, file->size);
        if (lies[i].refused) {
            assert_refused(path, NULL, "cannot be read in parts: its index is damaged");
            free_four(file);
            continue;
        }
        size_t next = 0, damages = 0;
        for (uint32_t part = 0; part < 66; part++) {
            gathered own;
            gather(&own, path, &(fm_reader_options){.part = part, .parts = 66});
            assert_int_equal(own.opened, FM_OK);
            if (own.count > 0) { /* whole blocks in order, though perhaps not all of them */
                while (next < file->references.count && file->references.address[next] != own.address[0])
                    next++;
                assert_true(next + own.count <= file->references.count);
                assert_slice(&own, 0, &file->references, next, own.count);
                next += own.count;
            }
            damages += own.damages;
            if (own.damages) assert_int_equal(own.status, FM_E_CORRUPT);
            gathered_free(&own);
        }
        assert_true(damages > 0);
        free_four(file);
    }
}

/* A sound index that tells of blocks which end elsewhere: one edge is moved, entries and offsets agree. */
CASE(moved_edges)
{
    const char *path = in_directory("moved.fathom");
    four_blocks *file = make_four();
    uint8_t *first = file->bytes + file->index + 24, *second = first + 16;
    size_t header = fm_native_block_header_size(ALL_COLUMNS);
    for (int64_t change = -40; change <= 40; change++) {
        if (change == 0) continue;
        uint32_t bytes = fm_load32(first + 12), next = fm_load32(second + 12);
        fm_store32(first + 12, (uint32_t)(bytes + change));
        fm_store64(second, fm_load64(second) + (uint64_t)change);
        fm_store32(second + 12, (uint32_t)(next - change));
        assert_true(bytes - 40 > header && next - 40 > header);
        seal_index(file);
        write_file(path, file->bytes, file->size);
        gathered own;
        gather(&own, path, &(fm_reader_options){.part = 10, .parts = 66});
        assert_int_equal(own.status, FM_E_CORRUPT);
        assert_int_equal(own.damages, 1);
        assert_string_equal(own.error.reason, "the index tells of other blocks than there are");
        assert_int_equal(own.count + own.lost, 20);
        assert_int_equal(own.count, change < 0 ? 0 : 20);
        gathered_free(&own);
        gather(&own, path, &(fm_reader_options){.part = 21, .parts = 66});
        assert_int_equal(own.status, FM_E_CORRUPT);
        assert_int_equal(own.count + own.lost, 3);
        gathered_free(&own);
        /* Within one part: it begins and ends as the index says, with other blocks between. */
        gather(&own, path, &(fm_reader_options){.part = 0, .parts = 2});
        assert_int_equal(own.status, FM_E_CORRUPT);
        assert_int_equal(own.damages, 1);
        assert_int_equal(own.count, 23);
        assert_int_equal(own.lost, 0);
        gathered_free(&own);
        fm_store32(first + 12, bytes);
        fm_store64(second, fm_load64(second) - (uint64_t)change);
        fm_store32(second + 12, next);
    }
    free_four(file);
}

/* A module table of a trace with other references is nobody's. */
CASE(foreign_modules)
{
    const char *path = in_directory("foreign.fathom");
    four_blocks *file = make_four();
    uint8_t *table = file->bytes + file->block_at[BLOCKS];
    fm_store64(table + 16, 65);
    fm_store64(table + 32, XXH3_64bits(table, 32));
    write_file(path, file->bytes, file->size);
    gathered whole;
    gather(&whole, path, NULL);
    assert_int_equal(whole.damages, 1);
    assert_parts_are(path, &whole, 3, false, NULL);
    for (uint32_t part = 0; part < 3; part++) assert_int_equal(modules_of(path, part, 3, false), 0);
    gathered_free(&whole);
    free_four(file);
}

/* Reads one of three parts of a file that is cut to `bytes` before the first batch. */
static void read_shortened(const char *path, uint32_t part, size_t bytes, uint64_t references,
                           fm_error *error)
{
    fm_reader *reader;
    fm_batch batch;
    fm_status status;
    fm_reader_options options = {.part = part, .parts = 3};
    assert_int_equal(fm_reader_open(&reader, path, &options, error), FM_OK);
    assert_int_equal(truncate(path, (off_t)bytes), 0);
    uint64_t count = 0;
    while ((status = fm_reader_next(reader, &batch, error)) == FM_OK && batch.count > 0) count += batch.count;
    assert_int_equal(count, references);
    assert_int_equal(status, FM_E_TRUNCATED);
    assert_int_equal(fm_reader_next(reader, &batch, NULL), FM_OK);
    assert_int_equal(batch.count, 0);
    fm_reader_close(reader);
}

/* The file becomes shorter while parts of it are read: no part takes that for its end. */
CASE(shortened_meanwhile)
{
    const char *path = in_directory("short.fathom"), *raw = in_directory("short.u64");
    four_blocks *file = make_four();
    fm_error error;
    write_file(path, file->bytes, file->size); /* the second part is the third block */
    read_shortened(path, 1, file->block_at[3] - 1, 0, &error);
    assert_int_equal(error.lost, 31);
    write_file(path, file->bytes, file->size);
    read_shortened(path, 1, file->block_at[2], 0, &error);
    write_file(path, file->bytes, file->size);
    read_shortened(path, 2, file->index + 40, 12, &error);
    static const uint64_t keys[30];
    for (size_t bytes = 0; bytes < 20 * 8; bytes++) {
        write_file(raw, keys, sizeof keys);
        size_t left = bytes < 10 * 8 ? 0 : bytes / 8 - 10;
        read_shortened(raw, 1, bytes, left, &error);
        assert_int_equal(error.lost, 10 - left);
        assert_non_null(strstr(error.reason, "became shorter while it was read: expected "));
    }
    free_four(file);
}

/* ---- what cannot be divided ---- */

CASE(other_formats)
{
    static const char *const names[] = {"text", "csv", "lackey", "din"};
    const char *path = in_directory("input");
    write_file(path, "1\n2\n", 4);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char reason[128];
        snprintf(reason, sizeof reason,
                 "cannot be read in parts: traces of format %s are read from their beginning only", names[i]);
        fm_reader_options options = {.format = names[i]};
        assert_refused(path, &options, reason);
    }
    /* One part is the whole, of any format. */
    gathered all;
    gather(&all, path, &(fm_reader_options){.format = "text", .parts = 1});
    assert_int_equal(all.status, FM_OK);
    assert_int_equal(all.count, 2);
    gathered_free(&all);
    static const char *const compressed[] = {"x.u64.zst", "x.u64.gz"};
    for (size_t i = 0; i < 2; i++) {
        path = in_directory(compressed[i]);
        fm_writer *writer;
        assert_int_equal(fm_writer_open(&writer, path, NULL, NULL), FM_OK);
        assert_int_equal(fm_writer_finish(writer, NULL), FM_OK);
        fm_writer_close(writer);
        assert_refused(path, NULL,
                       i == 0 ? "cannot be read in parts: it is compressed as a whole (zstd)"
                              : "cannot be read in parts: it is compressed as a whole (gzip)");
    }
}

/* Pipes lose nothing, and nobody waits for their other end. */
CASE(pipes)
{
    fm_reader_options options = {.format = "u64"};
    const char *path = in_directory("fifo");
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_refused(path, &options, "cannot be read in parts: it is not a regular file");
    assert_refused("-", &options, "cannot be read in parts: that takes a regular file with a name");
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    static const uint64_t keys[2] = {5, 6};
    assert_int_equal(write(ends[1], keys, sizeof keys), sizeof keys);
    close(ends[1]);
    char name[64];
    snprintf(name, sizeof name, "/dev/fd/%d", ends[0]);
    assert_refused(name, &options, "cannot be read in parts: it is not a regular file");
    gathered all;
    gather(&all, name, &options);
    assert_int_equal(all.count, 2);
    gathered_free(&all);
    close(ends[0]);
}

CASE(wrong_arguments)
{
    const char *path = in_directory("x.u64");
    write_file(path, "12345678", 8);
    static const uint32_t wrong[][2] = {{1, 0}, {1, 1}, {2, 2}, {UINT32_MAX, UINT32_MAX}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        gathered all;
        gather(&all, path, &(fm_reader_options){.part = wrong[i][0], .parts = wrong[i][1]});
        assert_int_equal(all.opened, FM_E_ARGUMENT);
        assert_non_null(strstr(all.message, "they are numbered from 0"));
    }
    fm_trace_extent extent;
    fm_error error;
    assert_int_equal(fm_trace_divisible(in_directory("absent.u64"), NULL, &extent, &error), FM_E_IO);
    assert_string_equal(error.reason, "cannot open: No such file or directory");
    assert_int_equal(
        fm_trace_divisible(test_directory, &(fm_reader_options){.format = "u64"}, &extent, &error), FM_E_IO);
    assert_string_equal(error.reason, "is a directory, expected a file");
}

CASES_WITH(make_directory, remove_directory);
