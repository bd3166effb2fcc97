/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_scaling.c - how the cost of a reference grows with the number of distinct keys, and how much of
 * that growth is the floor's own (caches and TLBs that no longer hold the table).
 *
 * For each size: every key is touched once, untimed; then uniform random references are timed. Keys
 * have all bits random. Nothing of the trace is held in memory: chunks are made between the clock's
 * stops. Growth is the cost at a size over the cost at the first; the last column is exact's growth over
 * the floor's.
 *
 *     bench_scaling [--references 20M] [--repeat 3] [--keys 1M,3M,10M,30M,100M]
 */
#include "contender.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>

enum { MOST_SIZES = 16, MOST_REPEATS = 101 };

static uint64_t scattered(uint64_t value)
{
    value += UINT64_C(0x9E3779B97F4A7C15);
    value = (value ^ (value >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    value = (value ^ (value >> 27)) * UINT64_C(0x94D049BB133111EB);
    return value ^ (value >> 31);
}

/* Nanoseconds per reference. */
static double measure(const char *name, uint64_t keys, uint64_t references, uint64_t seed)
{
    static uint64_t blocks[CONTENDER_CHUNK];
    contender who = contender_named(name);
    contender_run *run = contender_start(&who, seed);
    for (uint64_t i = 0; i < keys;) {
        size_t count = 0;
        while (count < CONTENDER_CHUNK && i < keys) blocks[count++] = scattered(i++);
        contender_feed(run, blocks, count);
    }
    double seconds = 0;
    uint64_t state = seed;
    for (uint64_t i = 0; i < references; i += CONTENDER_CHUNK) {
        for (size_t j = 0; j < CONTENDER_CHUNK; j++)
            blocks[j] = scattered((uint64_t)(((__uint128_t)scattered(state++ * 3) * keys) >> 64));
        double start = bench_seconds();
        contender_feed(run, blocks, CONTENDER_CHUNK);
        seconds += bench_seconds() - start;
    }
    if (contender_distinct(run) != keys)
        bench_die("%s: %" PRIu64 " distinct keys, expected %" PRIu64, name, contender_distinct(run), keys);
    contender_end(run);
    uint64_t timed = (references + CONTENDER_CHUNK - 1) / CONTENDER_CHUNK * CONTENDER_CHUNK;
    return seconds * 1e9 / (double)timed;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {{"references", required_argument, NULL, 'n'},
                                            {"repeat", required_argument, NULL, 'r'},
                                            {"keys", required_argument, NULL, 'k'},
                                            {NULL, 0, NULL, 0}};
    uint64_t references = 20000000, repeat = 3;
    char default_sizes[] = "1M,3M,10M,30M,100M", *chosen = default_sizes;
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) switch (option) {
        case 'n':
            references = bench_count(optarg);
            break;
        case 'r':
            repeat = bench_count(optarg);
            break;
        case 'k':
            chosen = optarg;
            break;
        default:
            return 2;
        }
    if (repeat < 1 || repeat > MOST_REPEATS) bench_die("between 1 and %d repetitions", MOST_REPEATS);
    const char *sizes[MOST_SIZES];
    size_t count = bench_split(chosen, sizes, MOST_SIZES);
    printf("Nanoseconds per reference in the steady state (median of %" PRIu64
           "), uniform over the keys.\n\n",
           repeat);
    printf("| distinct keys | floor | exact | exact / floor rate | floor's growth | exact's growth | exact's "
           "beyond "
           "the floor's |\n|--:|--:|--:|--:|--:|--:|--:|\n");
    double first_floor = 0, first_exact = 0;
    for (size_t s = 0; s < count; s++) {
        uint64_t keys = bench_count(sizes[s]);
        double floors[MOST_REPEATS], exacts[MOST_REPEATS];
        for (uint64_t r = 0; r < repeat; r++) {
            floors[r] = measure("floor", keys, references, 11 + r);
            exacts[r] = measure("exact", keys, references, 11 + r);
        }
        double floor = bench_median(floors, repeat), exact = bench_median(exacts, repeat);
        if (s == 0) first_floor = floor, first_exact = exact;
        double floor_growth = floor / first_floor, exact_growth = exact / first_exact;
        printf("| %s | %.1f | %.1f | %.2f | %.2f | %.2f | %.2f |\n", sizes[s], floor, exact, floor / exact,
               floor_growth, exact_growth, exact_growth / floor_growth);
        fflush(stdout);
        bench_line("bench=scaling keys=%" PRIu64 " floor_ns=%.2f exact_ns=%.2f growth_beyond_floor=%.3f",
                   keys, floor, exact, exact_growth / floor_growth);
    }
    return fflush(stdout) ? 1 : 0;
}
