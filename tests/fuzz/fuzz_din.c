/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_din.c - the reader of Dinero din text. */
#include "fuzz/fuzz_target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fm_reader_options options = {.format = "din"};
    if (size > 0) options.fetches = (fm_fetches)(data[size - 1] % 3);
    fuzz_read_trace(data, size, &options);
    return 0;
}

size_t fuzz_seed(size_t number, uint8_t *to, size_t room)
{
    static const char *const texts[] = {
        "0 10\n1 0x20 extra words\n2 30\r\n3 40\n4 0\n\n 0\tffffffffffffffff\n",
        "2 0\n2 1\n2 2",
        "0 1\n5 1\n",
    };
    return fuzz_text_seed(texts, sizeof texts / sizeof texts[0], number, to, room);
}
