/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_u64.c - the reader of raw 64-bit keys, compressed or not. */
#include "fuzz/fuzz_target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fm_reader_options options = {.format = "u64"};
    if (size > 0) options.fetches = (fm_fetches)(data[size - 1] % 3);
    uint64_t references = fuzz_read_trace(data, size, &options), in_parts = 0;
    /* What cannot be compressed can be divided, and the parts are the whole. */
    bool plain = size == 0 || (data[0] != 0x1f && data[0] != 0x28 && data[0] >> 4 != 5);
    for (options.parts = (uint32_t)(2 + size % 3); options.part < options.parts; options.part++)
        in_parts += fuzz_read_trace(data, size, &options);
    FUZZ_REQUIRE(in_parts == references || (in_parts == 0 && !plain));
    return 0;
}

size_t fuzz_seed(size_t number, uint8_t *to, size_t room)
{
    static const uint64_t keys[] = {0, 1, UINT64_MAX, 0x088B1F, 0x184D2A50, 0xFD2FB528};
    if (number >= sizeof keys / sizeof keys[0] || room < sizeof keys) return 0;
    memcpy(to, keys + number, sizeof keys - number * sizeof keys[0]);
    return sizeof keys - number * sizeof keys[0];
}
