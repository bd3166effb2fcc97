/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_symbolic.c - the reader of formulas (fathom static --symbolic --json). What it accepts comes out the
 * same when it is written and read again, and has values, or a reason why not, whatever its numbers are.
 */
#include "fuzz/fuzz_target.h"

#include "static/region/region.h"

#include <fathom/experimental/region_formulas.h>

/* Formulas of a small triangle, in which distances are products. */
size_t fuzz_seed(size_t number, uint8_t *to, size_t room)
{
    static const char *const seeds[] = {
        "fathom-region 1 param n array A[n] of 8 for i = 0 to n - 1 { do adds 1 { load A[i] store A[n - 1 - "
        "i] } }",
        "fathom-region 1 param n param m assume n >= 2 array A[n][8] of 8 array B[m] of 8 for t = 0 to m - 1 "
        "{"
        "for i = 0 to n - 1 { for j = 0 to i { do { load A[i][0] store B[t] load A[j][1] } } } }",
    };
    if (number >= sizeof seeds / sizeof *seeds) return 0;
    const uint64_t sizes[] = {1024};
    const fm_symbolic_options options = {.sizes = sizes, .size_count = 1};
    fm_region *region;
    fm_symbolic *symbolic;
    char path[64];
    int descriptor = fuzz_file(NULL, 0, path);
    FUZZ_REQUIRE(fm_region_parse(&region, seeds[number], strlen(seeds[number]), "seed", NULL) == FM_OK);
    FUZZ_REQUIRE(fm_region_symbolic(region, &options, &symbolic, NULL) == FM_OK);
    FUZZ_REQUIRE(fm_symbolic_write(symbolic, path, NULL) == FM_OK);
    fm_symbolic_destroy(symbolic);
    fm_region_destroy(region);
    ssize_t size = pread(descriptor, to, room, 0);
    close(descriptor);
    return size > 0 ? (size_t)size : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fm_symbolic *symbolic, *again;
    fm_error error;
    char path[64], copy[64];
    int descriptor = fuzz_file(data, size, path);
    if (fm_symbolic_read(&symbolic, path, &error) != FM_OK) {
        FUZZ_REQUIRE(error.reason[0]);
        close(descriptor);
        return 0;
    }
    fuzz_understood++;
    int written = fuzz_file(NULL, 0, copy);
    FUZZ_REQUIRE(fm_symbolic_write(symbolic, copy, &error) == FM_OK);
    FUZZ_REQUIRE(fm_symbolic_read(&again, copy, &error) == FM_OK);
    for (int64_t n = 0; n < 24; n += 5) {
        int64_t values[16];
        fm_symbolic_values one, other;
        for (size_t i = 0; i < 16; i++) values[i] = n + (int64_t)i;
        fm_status status = fm_symbolic_evaluate(symbolic, values, &one, &error);
        FUZZ_REQUIRE(status == FM_OK || error.reason[0]);
        FUZZ_REQUIRE(fm_symbolic_evaluate(again, values, &other, &error) == status);
        FUZZ_REQUIRE(status != FM_OK || memcmp(&one, &other, sizeof one) == 0);
    }
    fm_symbolic_destroy(symbolic);
    fm_symbolic_destroy(again);
    close(written);
    close(descriptor);
    return 0;
}
