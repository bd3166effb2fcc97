/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_oracle.c - the reader of libCacheSim oracleGeneral records. */
#include "fuzz/fuzz_target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fm_reader_options options = {.format = "oracle"};
    if (size > 0) options.fetches = (fm_fetches)(data[size - 1] % 3);
    fuzz_read_trace(data, size, &options);
    return 0;
}

size_t fuzz_seed(size_t number, uint8_t *to, size_t room)
{
    if (number > 1 || room < 250) return 0;
    for (size_t i = 0; i < 250; i++) to[i] = (uint8_t)(i * 37 + number);
    return number ? 250 : 240;
}
