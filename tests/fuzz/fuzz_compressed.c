/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_compressed.c - zstd and gzip around text: damage in the middle, several frames, bombs. */
#include "fuzz/fuzz_target.h"

#include <zlib.h>
#include <zstd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fm_reader_options options = {.format = "text"};
    fuzz_read_trace(data, size, &options);
    return 0;
}

size_t fuzz_seed(size_t number, uint8_t *to, size_t room)
{
    static const char text[] = "1\n22\n333\n4444\n55555\n666666\n1\n22\n333\n4444\n55555\n666666\nabc\n";
    if (number > 2 || room < 4096) return 0;
    size_t used = 0;
    for (int frame = 0; frame < 2; frame++) {
        if (number == 0 || (number == 2 && frame == 0)) {
            size_t size = ZSTD_compress(to + used, 2048, text, sizeof text - 1, 3);
            FUZZ_REQUIRE(!ZSTD_isError(size));
            used += size;
            memcpy(to + used, "\x50\x2a\x4d\x18\x02\0\0\0xy", 10); /* a frame to be skipped */
            used += 10;
        } else {
            z_stream z = {0};
            FUZZ_REQUIRE(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
            z.next_in = (Bytef *)(uintptr_t)text;
            z.avail_in = sizeof text - 1;
            z.next_out = to + used;
            z.avail_out = 2048;
            FUZZ_REQUIRE(deflate(&z, Z_FINISH) == Z_STREAM_END);
            used += 2048 - z.avail_out;
            deflateEnd(&z);
        }
    }
    return used;
}
