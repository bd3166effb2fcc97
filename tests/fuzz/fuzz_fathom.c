/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_fathom.c - the reader and the checker of the native format, whole and in parts. Every input is read
 * twice: as it is, and with its checksums put right, so that the fuzzer gets past them to the decoder behind.
 */
#include "fuzz/fuzz_target.h"

#include "base/bytes.h"
#include "trace/native/native_layout.h"

#include <xxhash.h>

/* Corrects the checksums of the module table at `at`, if there is one, and returns where the index should be.
 */
static size_t reseal_modules(uint8_t *data, size_t size, size_t at, uint64_t references)
{
    if (size - at < FM_NATIVE_MODULES_FIXED || memcmp(data + at, FM_NATIVE_MODULES_MAGIC, 4) != 0) return at;
    uint8_t *table = data + at, *payload = table + FM_NATIVE_MODULES_FIXED;
    size_t bytes = fm_load32(table + 12), room = size - at - FM_NATIVE_MODULES_FIXED;
    if (bytes > room) bytes = room;
    fm_store32(table + 4, 0);
    fm_store32(table + 12, (uint32_t)bytes);
    fm_store64(table + 16, references);
    fm_store64(table + 24, XXH3_64bits(payload, bytes));
    fm_store64(table + 32, XXH3_64bits(table, 32));
    return at + FM_NATIVE_MODULES_FIXED + bytes;
}

/* The index too, where it is whole, so that sound files come out of it as well. */
static void reseal_index(uint8_t *data, size_t size, size_t at, size_t table, uint64_t references)
{
    if (size - at < FM_NATIVE_INDEX_FIXED || memcmp(data + at, FM_NATIVE_INDEX_MAGIC, 4) != 0) return;
    uint64_t entries = fm_load64(data + at + 8),
             most = (size - at - FM_NATIVE_INDEX_FIXED) / FM_NATIVE_INDEX_ENTRY;
    if (entries >= most) return;
    size_t bytes = FM_NATIVE_INDEX_FIXED + (size_t)entries * FM_NATIVE_INDEX_ENTRY;
    fm_store32(data + at + 4, (uint32_t)(at - table));
    fm_store64(data + at + 16, references);
    fm_store64(data + at + bytes, XXH3_64bits(data + at, bytes));
}

/* Corrects the file header's, every block's, the payloads', the module table's and the index's checksums as
 * far as sizes make sense. */
static void reseal(uint8_t *data, size_t size)
{
    if (size < FM_NATIVE_HEADER_SIZE) return;
    memcpy(data, FM_NATIVE_MAGIC, FM_NATIVE_MAGIC_SIZE);
    fm_store16(data + 8, FM_NATIVE_VERSION);
    fm_store16(data + 10, FM_NATIVE_HEADER_SIZE);
    fm_store32(data + 12, 0);
    fm_store32(data + 20, fm_load32(data + 20) & 15);
    fm_store32(data + 28, FM_NATIVE_BLOCK_MAX);
    fm_store64(data + 56, XXH3_64bits(data, 56));
    size_t header = fm_native_block_header_size(fm_load32(data + 20));
    uint64_t first = 0;
    size_t at = FM_NATIVE_HEADER_SIZE;
    while (at + header <= size) {
        uint8_t *block = data + at;
        if (memcmp(block, FM_NATIVE_BLOCK_MAGIC, 4) != 0) break;
        uint64_t payload = fm_load32(block + 12);
        if (payload > size - at - header) payload = size - at - header;
        fm_store64(block + 16, first);
        fm_store64(block + 24, XXH3_64bits(block + header, payload));
        fm_store64(block + header - 8, XXH3_64bits(block, header - 8));
        first += fm_load32(block + 8);
        at += header + payload;
    }
    size_t index = reseal_modules(data, size, at, first);
    reseal_index(data, size, index, at, first);
}

/* Modules that were read obey what trace.h says of them. */
static uint64_t read_modules(const char *path)
{
    fm_reader *reader = NULL;
    fm_reader_options options = {.format = "fathom"};
    if (fm_reader_open(&reader, path, &options, NULL) != FM_OK) return 0;
    fm_batch batch;
    fm_status status;
    do status = fm_reader_next(reader, &batch, NULL);
    while (fm_status_is_damage(status) || (status == FM_OK && batch.count > 0));
    const fm_trace_module *modules;
    size_t count, characters = 0;
    fm_reader_modules(reader, &modules, &count);
    for (size_t i = 0; i < count; i++) {
        FUZZ_REQUIRE(modules[i].path && modules[i].path[0] && modules[i].from <= modules[i].to);
        characters += strlen(modules[i].path);
        if (modules[i].build_id)
            FUZZ_REQUIRE(strspn(modules[i].build_id, "0123456789abcdefABCDEF") ==
                         strlen(modules[i].build_id));
    }
    FUZZ_REQUIRE(characters <= FM_NATIVE_MODULES_PAYLOAD_MAX);
    fm_reader_close(reader);
    return count;
}

static void count_block(void *context, const fm_block_report *report)
{
    (*(uint64_t *)context)++;
    FUZZ_REQUIRE((report->status == FM_OK) == (report->reason == NULL));
}

/* The references of all parts; 0 where it cannot be divided. */
static uint64_t read_parts(const uint8_t *data, size_t size, uint32_t parts)
{
    uint64_t references = 0;
    for (uint32_t part = 0; part < parts; part++) {
        fm_reader_options options = {
            .format = "fathom", .fetches = FM_FETCHES_ALL, .part = part, .parts = parts};
        references += fuzz_read_trace(data, size, &options);
    }
    return references;
}

static void read_and_check(const uint8_t *data, size_t size)
{
    fm_reader_options options = {.format = "fathom", .fetches = FM_FETCHES_ALL};
    uint64_t references = fuzz_read_trace(data, size, &options);
    char path[64];
    int descriptor = fuzz_file(data, size, path);
    uint64_t visits = 0;
    fm_check_result result;
    fm_error error;
    fm_status status = fm_trace_check(path, count_block, &visits, &result, &error);
    FUZZ_REQUIRE(read_modules(path) == result.modules);
    fm_trace_extent extent;
    fm_status divisible = fm_trace_divisible(path, &options, &extent, &error);
    close(descriptor);
    /* A sound file can be divided, unless it is compressed, and the parts are the whole. */
    if (divisible != FM_OK) FUZZ_REQUIRE(divisible == status || divisible == FM_E_UNSUPPORTED);
    if (status == FM_OK && size > 0 && data[0] == 0x89)
        FUZZ_REQUIRE(divisible == FM_OK && extent.references == references && extent.bytes == size);
    uint64_t in_parts = read_parts(data, size, (uint32_t)(2 + size % 3));
    FUZZ_REQUIRE(divisible == FM_OK || in_parts == 0);
    if (status == FM_OK && divisible == FM_OK) FUZZ_REQUIRE(in_parts == references);
    /* Both ways must agree on what is readable. */
    FUZZ_REQUIRE(result.references == references);
    FUZZ_REQUIRE(status != FM_OK ||
                 (result.bad_blocks == 0 && result.index_sound && visits == result.blocks));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    read_and_check(data, size);
    uint8_t *copy = malloc(size + 1);
    FUZZ_REQUIRE(copy);
    memcpy(copy, data, size);
    reseal(copy, size);
    read_and_check(copy, size);
    free(copy);
    return 0;
}

/* Files by the writer: columns and compression vary; the last ones have modules. */
size_t fuzz_seed(size_t number, uint8_t *to, size_t room)
{
    enum { COUNT = 300 };
    static const unsigned columns[] = {0, FM_COLUMN_SIZE | FM_COLUMN_KIND, 15};
    static const fm_trace_module modules[] = {
        {"/bin/x", "0123456789abcdef", 0x400000, 0x500000, 0},
        {"/lib/y.so", NULL, UINT64_C(0x7f0000000000), UINT64_C(0x7f0000001000), UINT64_C(0x7f0000000000)}};
    if (number >= 9) return 0;
    uint64_t address[COUNT], site[COUNT];
    uint32_t bytes[COUNT], thread[COUNT];
    uint8_t kind[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        address[i] = i % 3 * 0x1000000 + i * 8 + (i % 50 == 7 ? UINT64_C(1) << 45 : 0);
        site[i] = 0x400000 + i % 3 * 4;
        bytes[i] = i % 2 ? 4 : 8;
        thread[i] = (uint32_t)(i / 100);
        kind[i] = (uint8_t)(i % 4);
    }
    fm_writer_options options = {
        .format = "fathom", .columns = columns[number % 3], .level = number % 6 < 3 ? 0 : -1};
    fm_batch batch = {
        .count = COUNT, .address = address, .size = bytes, .kind = kind, .thread = thread, .site = site};
    char path[] = "/tmp/fathom-fuzz-XXXXXX";
    int descriptor = mkstemp(path);
    FUZZ_REQUIRE(descriptor >= 0);
    close(descriptor);
    fm_writer *writer;
    FUZZ_REQUIRE(fm_writer_open(&writer, path, &options, NULL) == FM_OK);
    FUZZ_REQUIRE(fm_writer_append(writer, &batch, NULL) == FM_OK);
    if (number >= 6) FUZZ_REQUIRE(fm_writer_set_modules(writer, modules, 2, NULL) == FM_OK);
    FUZZ_REQUIRE(fm_writer_finish(writer, NULL) == FM_OK);
    fm_writer_close(writer);
    FILE *file = fopen(path, "rb");
    FUZZ_REQUIRE(file);
    size_t size = fread(to, 1, room, file);
    fclose(file);
    unlink(path);
    return size;
}
