/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_lackey.c - the reader of Valgrind lackey text. */
#include "fuzz/fuzz_target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fm_reader_options options = {.format = "lackey"};
    if (size > 0) options.fetches = (fm_fetches)(data[size - 1] % 3);
    fuzz_read_trace(data, size, &options);
    return 0;
}

size_t fuzz_seed(size_t number, uint8_t *to, size_t room)
{
    static const char *const texts[] = {
        "==12== Lackey\nI  04015e40,3\n L 1ffefff8a8,8\n S 1ffefff8a0,8\n M 0421c7cc,4\n==12== end\n",
        " L ffffffffffffffff,1\r\n\n S 0,4294967295",
        " L 10,1\nhello\n S 20,1\n",
    };
    return fuzz_text_seed(texts, sizeof texts / sizeof texts[0], number, to, room);
}
