/* SPDX-License-Identifier: Apache-2.0 */
/* native_samples.h - what the tests of native traces share: references of several shapes, files of them by
 * the writer, and files of small blocks put together by hand. */
#ifndef FATHOM_TEST_NATIVE_SAMPLES_H
#define FATHOM_TEST_NATIVE_SAMPLES_H

#include "base/bytes.h"
#include "trace/native/native_layout.h"
#include "unit/trace_helpers.h"

#include <xxhash.h>

enum { ALL_COLUMNS = FM_COLUMN_SIZE | FM_COLUMN_KIND | FM_COLUMN_THREAD | FM_COLUMN_SITE };

typedef struct sample {
    size_t count;
    uint64_t *address, *site;
    uint32_t *size, *thread;
    uint8_t *kind;
} sample;

/* References of a shape: 0 loops over arrays, 1 random, 2 extremes, 3 all the same. */
static __attribute__((unused)) sample make_sample(size_t count, int shape, uint64_t seed)
{
    sample s = {.count = count};
    s.address = calloc(count + 1, sizeof *s.address);
    s.site = calloc(count + 1, sizeof *s.site);
    s.size = calloc(count + 1, sizeof *s.size);
    s.thread = calloc(count + 1, sizeof *s.thread);
    s.kind = calloc(count + 1, 1);
    assert_true(s.address && s.site && s.size && s.thread && s.kind);
    for (size_t i = 0; i < count; i++) {
        uint64_t r = random_from(&seed);
        switch (shape) {
        case 0:
            s.address[i] = (i % 3 == 0   ? UINT64_C(0x7ffe00001000)
                            : i % 3 == 1 ? 0x601000
                                         : 0x10000) +
                           i / 3 * 8;
            s.site[i] = 0x400000 + i % 3 * 4;
            s.size[i] = i % 3 == 2 ? 4 : 8;
            s.kind[i] = i % 3 == 1;
            s.thread[i] = (uint32_t)(i / 1000 % 4);
            break;
        case 1:
            s.address[i] = r;
            s.site[i] = random_from(&seed);
            s.size[i] = (uint32_t)random_from(&seed);
            s.kind[i] = (uint8_t)(r % 3); /* no fetches: those are passed over unless asked for */
            s.thread[i] = (uint32_t)random_from(&seed);
            break;
        case 2:
            s.address[i] = r & 1 ? UINT64_MAX : r & 2 ? 0 : UINT64_C(1) << (r >> 8 & 63);
            s.site[i] = r & 4 ? UINT64_MAX : 0;
            s.size[i] = r & 8 ? UINT32_MAX : 0;
            s.thread[i] = r & 16 ? UINT32_MAX : 0;
            break;
        default:
            s.address[i] = 42;
            break;
        }
    }
    return s;
}

static __attribute__((unused)) void free_sample(sample *s)
{
    free(s->address);
    free(s->site);
    free(s->size);
    free(s->thread);
    free(s->kind);
}

static __attribute__((unused)) void store(const sample *s, const char *path, unsigned columns, int level,
                                          size_t per_batch)
{
    fm_writer *writer;
    fm_error error;
    fm_writer_options options = {.columns = columns, .memory_addresses = true, .level = level};
    assert_int_equal(fm_writer_open(&writer, path, &options, &error), FM_OK);
    for (size_t at = 0; at < s->count; at += per_batch) {
        size_t piece = s->count - at < per_batch ? s->count - at : per_batch;
        fm_batch batch = {.count = piece,
                          .address = s->address + at,
                          .size = s->size + at,
                          .kind = s->kind + at,
                          .thread = s->thread + at,
                          .site = s->site + at};
        assert_int_equal(fm_writer_append(writer, &batch, &error), FM_OK);
    }
    assert_int_equal(fm_writer_finish(writer, &error), FM_OK);
    fm_writer_close(writer);
}

static __attribute__((unused)) void assert_slice(const gathered *all, size_t at, const sample *s, size_t from,
                                                 size_t count)
{
    assert_memory_equal(all->address + at, s->address + from, count * sizeof *s->address);
    if (all->size) assert_memory_equal(all->size + at, s->size + from, count * sizeof *s->size);
    if (all->kind) assert_memory_equal(all->kind + at, s->kind + from, count);
    if (all->thread) assert_memory_equal(all->thread + at, s->thread + from, count * sizeof *s->thread);
    if (all->site) assert_memory_equal(all->site + at, s->site + from, count * sizeof *s->site);
}

/* Behind the blocks at to + at: the module table if there are modules, the index and the footer. Returns the
 * size of the file. */
static __attribute__((unused)) size_t make_tail(const fm_trace_module *modules, size_t module_count,
                                                const uint8_t *entries, size_t blocks, uint64_t references,
                                                uint8_t *to, size_t at)
{
    size_t bytes = 0;
    if (module_count > 0) {
        uint8_t *payload;
        assert_int_equal(fm_native_modules_store(modules, module_count, &payload, &bytes, NULL), FM_OK);
        fm_native_modules_header header = {.modules = (uint32_t)module_count,
                                           .payload_bytes = (uint32_t)bytes,
                                           .references = references,
                                           .payload_checksum = XXH3_64bits(payload, bytes)};
        fm_native_modules_header_store(to + at, &header);
        memcpy(to + at + FM_NATIVE_MODULES_FIXED, payload, bytes);
        bytes += FM_NATIVE_MODULES_FIXED;
        free(payload);
    }
    at += bytes;
    uint8_t *index = to + at;
    memcpy(index, "FmIx", 4);
    fm_store32(index + 4, (uint32_t)bytes);
    fm_store64(index + 8, blocks);
    fm_store64(index + 16, references);
    memcpy(index + 24, entries, 16 * blocks);
    fm_store64(index + 24 + 16 * blocks, XXH3_64bits(index, 24 + 16 * blocks));
    fm_native_footer_store(index + 24 + 16 * blocks + 8, &(fm_native_footer){at, references});
    return at + 24 + 16 * blocks + 8 + 32;
}

/*
 * A file whose blocks have these numbers of references, from the beginning of the sample, into to. Returns
 * its size. block_at, of one more than there are blocks: where they begin, and where the last one ends.
 *
 * The writer makes blocks of 65536; small blocks are put together here from files of one block each, which
 * also checks the layout from outside.
 */
static __attribute__((unused)) size_t make_blocks(const sample *s, const size_t *references, size_t blocks,
                                                  const fm_trace_module *modules, size_t module_count,
                                                  uint8_t *to, size_t room, size_t *block_at)
{
    const char *path = in_directory("part.fathom");
    uint8_t entries[16 * 64];
    size_t at = 64, first = 0;
    assert_true(blocks <= 64);
    fm_native_header_store(to, &(fm_native_header){.columns = ALL_COLUMNS, .memory_addresses = true});
    for (size_t b = 0; b < blocks; b++) {
        sample part = {references[b],   s->address + first, s->site + first,
                       s->size + first, s->thread + first,  s->kind + first};
        store(&part, path, ALL_COLUMNS, 0, 7);
        size_t size;
        uint8_t *bytes = read_whole(path, &size);
        assert_memory_equal(bytes, to, 64);
        size_t header = fm_native_block_header_size(ALL_COLUMNS);
        size_t whole = header + fm_load32(bytes + 64 + 12);
        assert_int_equal(whole + 64 + 24 + 16 + 8 + 32, size);
        assert_true(at + whole + 16 * blocks + 1024 < room);
        uint8_t *block = to + at;
        memcpy(block, bytes + 64, whole);
        fm_store64(block + 16, first);
        fm_store64(block + header - 8, XXH3_64bits(block, header - 8));
        fm_store64(entries + 16 * b, at);
        fm_store32(entries + 16 * b + 8, (uint32_t)references[b]);
        fm_store32(entries + 16 * b + 12, (uint32_t)whole);
        block_at[b] = at;
        at += whole;
        first += references[b];
        free(bytes);
    }
    block_at[blocks] = at;
    return make_tail(modules, module_count, entries, blocks, first, to, at);
}

#endif
