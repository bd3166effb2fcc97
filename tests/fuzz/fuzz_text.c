/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_text.c - the reader of text traces, one key a line. */
#include "fuzz/fuzz_target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fm_reader_options options = {.format = "text"};
    if (size > 0) options.fetches = (fm_fetches)(data[size - 1] % 3);
    fuzz_read_trace(data, size, &options);
    return 0;
}

size_t fuzz_seed(size_t number, uint8_t *to, size_t room)
{
    static const char *const texts[] = {
        "0\n18446744073709551615\n  7 \t\r\n\n0x1f\n0XFFFFFFFFFFFFFFFF\n007\n42\r\n5",
        "alice\nbob\n alice\t\n18446744073709551616\n-1\n0x\n0x10000000000000000\n#no\nbob\r\n1 2\n",
        "1\n22\n333\n4444\n12345678901234567\n9999999999999999\n10000000000000000\n5\n6\n7\n8\nx\n9\n10\n11\n"
        "12\n13\n14\n",
        "1\r\n2\r\n3\r\n4\r\n5\r\n6\r\n7\r\n8\r\n9\n10\r\n11\r\n\r\n12\r\n",
    };
    return fuzz_text_seed(texts, sizeof texts / sizeof texts[0], number, to, room);
}
