/* SPDX-License-Identifier: Apache-2.0 */
/*
 * make_rows.c - a table of block requests on standard output, for bench_feed: "offset,size" as CSV. Offsets
 * are multiples of 512 below 10^10, sizes are powers of two from 512 to 65536; both by the number of the row
 * alone.
 *
 *     make_rows ROWS >rows.csv
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { SECTOR = 512, SECTORS = 20000000, SIZES = 8 };

static uint64_t mix(uint64_t z)
{
    z += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "Usage: make_rows ROWS\n");
        return 2;
    }
    const uint64_t rows = strtoull(argv[1], NULL, 10);
    puts("offset,size");
    for (uint64_t row = 0; row < rows; row++) {
        const uint64_t random = mix(row);
        printf("%" PRIu64 ",%d\n", random % SECTORS * SECTOR, SECTOR << (random >> 60) % SIZES);
    }
    return fflush(stdout) != 0 || ferror(stdout);
}
