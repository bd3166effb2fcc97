/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_region.c - the reader of regions' text. What it accepts must come out the same when written and read
 * again; counting, placing and walking it must end with a result or a reason, whatever its numbers are.
 */
#include "fuzz/fuzz_target.h"

#include "static/region/region.h"

#include <fathom/static.h>

static char *written(const fm_region *region)
{
    char *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    FUZZ_REQUIRE(stream && fm_region_write(region, stream, NULL) == FM_OK && fclose(stream) == 0);
    return text;
}

/* A walk may be endless: a few thousand accesses are enough. */
static fm_status visit(void *context, const uint64_t *addresses, const uint32_t *sizes, const uint32_t *tags,
                       size_t count, fm_error *error)
{
    const fm_region *region = context;
    (void)addresses;
    for (size_t i = 0; i < count; i++) {
        const fm_region_access *access = fm_region_access_at(region, tags[i] - 1);
        FUZZ_REQUIRE(access && access->member_bytes == sizes[i]);
        if (i == 100) break;
    }
    *error = (fm_error){.status = FM_E_LIMIT};
    return FM_E_LIMIT;
}

/* Loops that run for ever without an access would hold the walk up. */
static bool may_be_walked(const fm_region *region)
{
    fm_region_counts *counts;
    fm_error error;
    fm_status status = fm_region_count(region, 0.05, &counts, &error);
    if (status == FM_OK) fm_region_counts_destroy(counts);
    return status == FM_OK;
}

size_t fuzz_seed(size_t number, uint8_t *to, size_t room)
{
    static const char *const seeds[] = {
        "fathom-region 1 array A[9] of 8 for i = 0 to 8 { do { load A[i] store A[8 - i] } }",
        "fathom-region 1 param n = 4 array x of 8 for i = 0 to n { for j = i to n { do { load x } } }",
    };
    if (number >= sizeof seeds / sizeof *seeds) return 0;
    size_t size = strlen(seeds[number]);
    if (size > room) return 0;
    memcpy(to, seeds[number], size);
    return size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fm_region *region, *again;
    fm_error error;
    if (fm_region_parse(&region, (const char *)data, size, "fuzzed", &error) != FM_OK) {
        FUZZ_REQUIRE(error.reason[0]);
        return 0;
    }
    fuzz_understood++;
    char *first = written(region);
    FUZZ_REQUIRE(fm_region_parse(&again, first, strlen(first), "written", &error) == FM_OK);
    char *second = written(again);
    FUZZ_REQUIRE(strcmp(first, second) == 0);
    if (may_be_walked(region)) {
        fm_status status = fm_region_walk(region, 64, size & 1 ? FM_LAYOUT_ALIGNED : FM_LAYOUT_CONTIGUOUS,
                                          visit, region, &error);
        FUZZ_REQUIRE(status == FM_OK || status == FM_E_LIMIT || error.reason[0]);
    }
    free(first);
    free(second);
    fm_region_destroy(region);
    fm_region_destroy(again);
    return 0;
}
