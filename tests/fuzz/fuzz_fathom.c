/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_fathom.c - the reader and the checker of the native format. Every input is read twice: as it is, and
 * with its checksums put right, so that the fuzzer gets past them to the decoder behind.
 */
#include "fuzz/fuzz_target.h"

#include "base/bytes.h"
#include "trace/native_layout.h"

#include <xxhash.h>

/* Corrects the file header's, every block's and the payloads' checksums as far as sizes make sense. */
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
    for (size_t at = FM_NATIVE_HEADER_SIZE; at + header <= size;) {
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
}

static void count_block(void *context, const fm_block_report *report)
{
    (*(uint64_t *)context)++;
    FUZZ_REQUIRE((report->status == FM_OK) == (report->reason == NULL));
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
    close(descriptor);
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

/* Files by the writer: columns and compression vary. */
size_t fuzz_seed(size_t number, uint8_t *to, size_t room)
{
    enum { COUNT = 300 };
    static const unsigned columns[] = {0, FM_COLUMN_SIZE | FM_COLUMN_KIND, 15};
    if (number >= 6) return 0;
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
        .format = "fathom", .columns = columns[number % 3], .level = number < 3 ? 0 : -1};
    fm_batch batch = {
        .count = COUNT, .address = address, .size = bytes, .kind = kind, .thread = thread, .site = site};
    char path[] = "/tmp/fathom-fuzz-XXXXXX";
    int descriptor = mkstemp(path);
    FUZZ_REQUIRE(descriptor >= 0);
    close(descriptor);
    fm_writer *writer;
    FUZZ_REQUIRE(fm_writer_open(&writer, path, &options, NULL) == FM_OK);
    FUZZ_REQUIRE(fm_writer_append(writer, &batch, NULL) == FM_OK);
    FUZZ_REQUIRE(fm_writer_finish(writer, NULL) == FM_OK);
    fm_writer_close(writer);
    FILE *file = fopen(path, "rb");
    FUZZ_REQUIRE(file);
    size_t size = fread(to, 1, room, file);
    fclose(file);
    unlink(path);
    return size;
}
