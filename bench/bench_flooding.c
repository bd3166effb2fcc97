/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_flooding.c - hash flooding: keys crafted so that a well-known unseeded hash sends them all to
 * one place, and keys of plain structure, against random keys. The order of references is the same for
 * all, so that only the keys' values differ; the ratio to random keys is what an attacker gains.
 *
 * It does not know the table's seed, as an attacker does not.
 *
 *     bench_flooding [--references 10M] [--keys 1M] [--repeat 3] [--contenders exact,tree]
 */
#include "contender.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_CONTENDERS = 8, MOST_REPEATS = 101 };

static uint64_t random_key(uint64_t i)
{
    i += UINT64_C(0x9E3779B97F4A7C15);
    i = (i ^ (i >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    i = (i ^ (i >> 27)) * UINT64_C(0x94D049BB133111EB);
    return i ^ (i >> 31);
}

static uint64_t sequential(uint64_t i)
{
    return i;
}

static uint64_t pages(uint64_t i)
{
    return i << 12;
}

static uint64_t high_bits(uint64_t i)
{
    return i << 40;
}

static uint64_t far_strides(uint64_t i)
{
    return i * (UINT64_C(1) << 32 | 1) << 8;
}

/* The inverse of an odd number modulo 2^64, by Newton's iteration. */
static uint64_t inverse(uint64_t odd)
{
    uint64_t x = odd;
    for (int i = 0; i < 6; i++) x *= 2 - odd * x;
    return x;
}

/* key * golden ratio has the same high bits for all: one slot for a table that takes those. */
static uint64_t against_fibonacci_high(uint64_t i)
{
    return (i + (UINT64_C(0x5A5) << 52)) * inverse(UINT64_C(0x9E3779B97F4A7C15));
}

/* … the same low bits: one slot for a table that takes those. */
static uint64_t against_fibonacci_low(uint64_t i)
{
    return (i << 36) * inverse(UINT64_C(0x9E3779B97F4A7C15));
}

/* Backwards through MurmurHash3's 64-bit finalizer. */
static uint64_t unmixed(uint64_t hash)
{
    hash ^= hash >> 33;
    hash *= inverse(UINT64_C(0xC4CEB9FE1A85EC53));
    hash ^= hash >> 33;
    hash *= inverse(UINT64_C(0xFF51AFD7ED558CCD));
    hash ^= hash >> 33;
    return hash;
}

static uint64_t against_murmur_low(uint64_t i)
{
    return unmixed(i << 36);
}

static uint64_t against_murmur_high(uint64_t i)
{
    return unmixed(i);
}

/* Combinations of keys whose CRC-32C is 0. A CRC is linear: such keys meet under every start value, so a
 * table that is "seeded" by it alone would break here. */
static uint64_t crc_kernel[64];
static unsigned crc_kernel_size;

static uint32_t crc32c_of(uint64_t key)
{
    uint32_t crc = 0;
    for (int bit = 0; bit < 64; bit++) {
        uint32_t feedback = (crc ^ (uint32_t)(key >> bit)) & 1;
        crc = crc >> 1 ^ (feedback ? UINT32_C(0x82F63B78) : 0);
    }
    return crc;
}

static void find_crc_kernel(void)
{
    uint32_t images[64] = {0};
    uint64_t keys[64] = {0};
    unsigned rank = 0;
    for (unsigned bit = 0; bit < 64; bit++) {
        uint64_t key = UINT64_C(1) << bit;
        uint32_t image = crc32c_of(key);
        for (unsigned r = 0; r < rank; r++) {
            uint32_t reduced = image ^ images[r];
            if (reduced < image) image = reduced, key ^= keys[r];
        }
        if (image == 0) {
            crc_kernel[crc_kernel_size++] = key;
            continue;
        }
        /* Kept by falling highest bit, so that the smaller-than test above reduces fully. */
        unsigned place = rank++;
        for (; place > 0 && images[place - 1] < image; place--)
            images[place] = images[place - 1], keys[place] = keys[place - 1];
        images[place] = image;
        keys[place] = key;
    }
}

static uint64_t against_crc32c(uint64_t i)
{
    uint64_t key = 0;
    for (unsigned bit = 0; bit < crc_kernel_size && bit < 64; bit++)
        if (i >> bit & 1) key ^= crc_kernel[bit];
    if (crc32c_of(key) != 0) bench_die("the crafted key 0x%" PRIx64 " does not have a CRC of 0", key);
    return key;
}

static const struct pattern {
    const char *name;
    uint64_t (*key)(uint64_t i);
} patterns[] = {
    {"random", random_key},
    {"sequential", sequential},
    {"multiples of 4096", pages},
    {"multiples of 2^40", high_bits},
    {"stride 2^40+2^8", far_strides},
    {"golden-ratio hash, equal high bits", against_fibonacci_high},
    {"golden-ratio hash, equal low bits", against_fibonacci_low},
    {"murmur finalizer, equal low bits", against_murmur_low},
    {"murmur finalizer, equal high bits", against_murmur_high},
    {"equal CRC-32C", against_crc32c},
};
enum { PATTERNS = sizeof patterns / sizeof patterns[0] };

int main(int argc, char **argv)
{
    static const struct option options[] = {{"references", required_argument, NULL, 'n'},
                                            {"keys", required_argument, NULL, 'k'},
                                            {"repeat", required_argument, NULL, 'r'},
                                            {"contenders", required_argument, NULL, 'c'},
                                            {NULL, 0, NULL, 0}};
    uint64_t references = 10000000, keys = 1000000, repeat = 3;
    char default_contenders[] = "exact,floor", *chosen = default_contenders;
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) switch (option) {
        case 'n':
            references = bench_count(optarg);
            break;
        case 'k':
            keys = bench_count(optarg);
            break;
        case 'r':
            repeat = bench_count(optarg);
            break;
        case 'c':
            chosen = optarg;
            break;
        default:
            return 2;
        }
    if (repeat < 1 || repeat > MOST_REPEATS || keys < 1) bench_die("wrong --repeat or --keys");
    const char *names[MOST_CONTENDERS];
    size_t contenders = bench_split(chosen, names, MOST_CONTENDERS);
    find_crc_kernel();
    uint64_t *blocks = bench_allocate(references * sizeof *blocks);
    printf("Time relative to random keys (median of %" PRIu64 "): %.1f M references, uniform over %" PRIu64
           " keys.\n\n| keys |",
           repeat, (double)references / 1e6, keys);
    for (size_t c = 0; c < contenders; c++) printf(" %s |", names[c]);
    printf("\n|---|");
    for (size_t c = 0; c < contenders; c++) printf("--:|");
    printf("\n");
    static double seconds[PATTERNS][MOST_CONTENDERS][MOST_REPEATS];
    for (uint64_t r = 0; r < repeat; r++)
        for (size_t p = 0; p < PATTERNS; p++) {
            for (uint64_t i = 0; i < references; i++)
                blocks[i] = patterns[p].key((uint64_t)(((__uint128_t)random_key(i * 5) * keys) >> 64));
            for (size_t c = 0; c < contenders; c++) {
                contender who = contender_named(names[c]);
                contender_run *run = contender_start(&who, UINT64_C(0x1234567) * (r + 1));
                double start = bench_seconds();
                contender_feed(run, blocks, references);
                seconds[p][c][r] = bench_seconds() - start;
                contender_end(run);
            }
        }
    for (size_t p = 0; p < PATTERNS; p++) {
        printf("| %s |", patterns[p].name);
        for (size_t c = 0; c < contenders; c++) {
            double ratios[MOST_REPEATS];
            for (uint64_t r = 0; r < repeat; r++) ratios[r] = seconds[p][c][r] / seconds[0][c][r];
            double median = bench_median(ratios, repeat);
            printf(" %.2f |", median);
            bench_line("bench=flooding keys=\"%s\" contender=%s time_over_random=%.3f", patterns[p].name,
                       names[c], median);
        }
        printf("\n");
    }
    free(blocks);
    return fflush(stdout) ? 1 : 0;
}
