/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_approx.c - the cost of a reference against the number of data, as in figure 3 of Ding & Zhong (PLDI
 * 2003): the data are swept through in pieces of a hundredth of them, each piece twice, so that every reuse
 * has the same distance. The source needs no stored trace, and no table either: when a datum was used last
 * follows from when it is used again.
 *
 * First table: the merged stack of `approx` alone, last uses given, as the paper measured it, up to 10^12
 * data. The paper's run of 2·10^12 references took 20 days; --whole does all of it. Otherwise the stack is
 * put into the state in which a merge leaves it after that many data (the oldest ones merged as far as the
 * error allows), and the next references of the sweep are timed: new data and reuses, half and half.
 *
 * Second table: the same references through engines with their hash tables, for as many data as fit.
 *
 *     bench_approx [--references 20M] [--repeat 3] [--error 0.01] [--data 100K,1M,…,1000G] [--whole]
 *                  [--engines exact,tree,approx,shards,aet] [--engine-data 100K,1M,10M]
 */
#include "contender.h"
#include "engine/approximate/merged_stack.h"

#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_SIZES = 16, MOST_REPEATS = 101, MOST_ENGINES = 16 };

/* ---- the stack alone ---- */

static fm_merged_stack empty_stack(double error, uint64_t room)
{
    fm_merged_stack stack;
    fm_merge_rule rule = {.relative_error = error};
    fm_merged_stack_start(&stack, &rule);
    if (fm_merged_stack_reserve(&stack, room, NULL)) bench_die("no memory for the stack");
    return stack;
}

/* As after so many first touches and a merge: from the newest on, nodes as large as the error allows. */
static fm_merged_stack full_stack(double error, uint64_t data, uint64_t room)
{
    fm_merged_stack stack = empty_stack(error, data + room);
    const double share = error / (1 - error) * (1 - 1e-14);
    size_t at = stack.capacity;
    uint64_t later = 0;
    while (later < data && at > 0) {
        uint64_t size = 1 + (uint64_t)((double)later * share);
        if (size > data - later) size = data - later;
        at--;
        stack.newest[at] = data - 1 - later;
        stack.sums[at + 1] = size;
        later += size;
    }
    if (later < data) bench_die("more nodes than were proven to be enough");
    stack.count = stack.capacity - at;
    for (size_t i = 0; i < stack.count; i++) {
        stack.newest[i] = stack.newest[at + i];
        stack.sums[i + 1] = stack.sums[at + i + 1];
    }
    /* The sums are still plain sizes, and no node is of the time after the last merge: the merge that is due
     * makes tree and index of them. */
    stack.limit = 0;
    stack.merged = stack.count;
    stack.live = stack.clock = stack.merged_at = data;
    fm_merged_stack_merge(&stack);
    return stack;
}

typedef struct cost {
    double nanoseconds;
    size_t nodes;  /* the most */
    uint64_t live; /* data at the end */
} cost;

/* The rest of a sweep: a piece of new data, then the piece again, as far as the references reach. */
static cost time_stack(double error, uint64_t data, uint64_t references)
{
    const uint64_t piece = data / 100;
    if (piece == 0 || references < 2) bench_die("at least 100 data and 2 references");
    fm_merged_stack stack = full_stack(error, data, references);
    cost found = {0};
    uint64_t sum = 0;
    double start = bench_seconds();
    const uint64_t part = references / 2 < piece ? references / 2 : piece;
    const uint64_t parts = references / 2 / part;
    for (uint64_t p = 0; p < parts; p++) {
        for (uint64_t i = 0; i < part; i++) fm_merged_stack_first(&stack);
        if (stack.count > found.nodes) found.nodes = stack.count;
        for (uint64_t i = 0; i < part; i++) sum += fm_merged_stack_reuse(&stack, stack.clock - piece);
    }
    references = 2 * part * parts;
    found.nanoseconds = (bench_seconds() - start) * 1e9 / (double)references;
    if (stack.limit > found.nodes) found.nodes = stack.limit;
    found.live = stack.live;
    /* Every distance within its bounds, all of them together. */
    const double mean = (double)sum / ((double)references / 2);
    if (mean > (double)piece - 1 || mean < ((double)piece - 1) * (1 - error))
        bench_die("%" PRIu64 " data: a mean distance of %g, expected %" PRIu64, data, mean, piece - 1);
    fm_merged_stack_clear(&stack);
    return found;
}

static cost time_whole(double error, uint64_t data)
{
    const uint64_t piece = data / 100;
    fm_merged_stack stack = empty_stack(error, data);
    cost found = {0};
    double start = bench_seconds();
    for (int i = 0; i < 100; i++) {
        for (uint64_t j = 0; j < piece; j++) fm_merged_stack_first(&stack);
        for (uint64_t j = 0; j < piece; j++) {
            uint64_t told = fm_merged_stack_reuse(&stack, stack.clock - piece);
            if (told > piece - 1 || (double)told < ((double)piece - 1) * (1 - error))
                bench_die("a distance of %" PRIu64 ", expected %" PRIu64, told, piece - 1);
        }
    }
    found.nanoseconds = (bench_seconds() - start) * 1e9 / (200.0 * (double)piece);
    found.nodes = stack.limit;
    found.live = stack.live;
    fm_merged_stack_clear(&stack);
    return found;
}

static void table_of_stack(const char *const *sizes, size_t count, double error, uint64_t references,
                           uint64_t repeat, bool whole)
{
    printf("The stack of `approx --error %g` alone, last uses given%s; median of %" PRIu64 ".\n\n", error,
           whole ? ", whole sweeps" : ", from a stack that holds all the data", repeat);
    printf("| data | ns a reference | M refs/s | against the first | nodes at most | proven |\n"
           "|--:|--:|--:|--:|--:|--:|\n");
    double first = 0;
    for (size_t s = 0; s < count; s++) {
        const uint64_t data = bench_count(sizes[s]);
        double times[MOST_REPEATS];
        cost found = {0};
        for (uint64_t r = 0; r < repeat; r++) {
            found = whole ? time_whole(error, data) : time_stack(error, data, references);
            times[r] = found.nanoseconds;
        }
        const double time = bench_median(times, repeat);
        const double proven = 4 * log((double)found.live) / log1p(error / (1 - error)) + 4;
        if (s == 0) first = time;
        printf("| %s | %.1f | %.1f | %.2f | %zu | %.0f |\n", sizes[s], time, 1000 / time, time / first,
               found.nodes, floor(proven));
        fflush(stdout);
        bench_line("bench=approx data=%" PRIu64 " contender=approx-stack ns=%.2f nodes=%zu", data, time,
                   found.nodes);
    }
}

/* ---- engines ---- */

static double time_engine(const char *name, uint64_t data)
{
    static uint64_t blocks[CONTENDER_CHUNK];
    contender who = contender_named(name);
    contender_run *run = contender_start(&who, 1);
    const uint64_t piece = data / 100;
    double seconds = 0;
    size_t filled = 0;
    for (uint64_t i = 0; i < 200 * piece;) {
        for (filled = 0; filled < CONTENDER_CHUNK && i < 200 * piece; i++)
            blocks[filled++] = i / (2 * piece) * piece + i % piece;
        double start = bench_seconds();
        contender_feed(run, blocks, filled);
        seconds += bench_seconds() - start;
    }
    contender_end(run);
    return seconds * 1e9 / (200.0 * (double)piece);
}

static void table_of_engines(const char *const *sizes, size_t count, const char *const *engines,
                             size_t engine_count, uint64_t repeat)
{
    printf("\nEngines with their hash tables, whole sweeps, M references a second.\n\n| data |");
    for (size_t e = 0; e < engine_count; e++) printf(" %s |", engines[e]);
    printf("\n|--:|");
    for (size_t e = 0; e < engine_count; e++) printf("--:|");
    for (size_t s = 0; s < count; s++) {
        const uint64_t data = bench_count(sizes[s]);
        printf("\n| %s |", sizes[s]);
        for (size_t e = 0; e < engine_count; e++) {
            double times[MOST_REPEATS];
            for (uint64_t r = 0; r < repeat; r++) times[r] = time_engine(engines[e], data);
            const double time = bench_median(times, repeat);
            printf(" %.1f |", 1000 / time);
            fflush(stdout);
            bench_line("bench=approx data=%" PRIu64 " contender=%s ns=%.2f", data, engines[e], time);
        }
    }
    putchar('\n');
}

int main(int argc, char **argv)
{
    static const struct option options[] = {{"references", required_argument, NULL, 'n'},
                                            {"repeat", required_argument, NULL, 'r'},
                                            {"error", required_argument, NULL, 'e'},
                                            {"data", required_argument, NULL, 'd'},
                                            {"whole", no_argument, NULL, 'w'},
                                            {"engines", required_argument, NULL, 'E'},
                                            {"engine-data", required_argument, NULL, 'D'},
                                            {NULL, 0, NULL, 0}};
    uint64_t references = 20000000, repeat = 3;
    double error = 0.01;
    bool whole = false;
    char default_data[] = "100K,1M,10M,100M,1G,10G,100G,1000G", *data = default_data;
    char default_engines[] = "exact,tree,approx,shards,aet", *engines = default_engines;
    char default_engine_data[] = "100K,1M,10M", *engine_data = default_engine_data;
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) switch (option) {
        case 'n':
            references = bench_count(optarg);
            break;
        case 'r':
            repeat = bench_count(optarg);
            break;
        case 'e':
            error = strtod(optarg, NULL);
            break;
        case 'd':
            data = optarg;
            break;
        case 'w':
            whole = true;
            break;
        case 'E':
            engines = optarg;
            break;
        case 'D':
            engine_data = optarg;
            break;
        default:
            return 2;
        }
    if (repeat < 1 || repeat > MOST_REPEATS) bench_die("between 1 and %d repetitions", MOST_REPEATS);
    if (references < 1000) bench_die("at least 1000 references");
    if (!(error > 0 && error < 1)) bench_die("an error between 0 and 1");
    const char *sizes[MOST_SIZES], *names[MOST_ENGINES];
    size_t size_count = bench_split(data, sizes, MOST_SIZES);
    for (size_t i = 0; i < size_count; i++)
        if (bench_count(sizes[i]) < 1000) bench_die("at least 1000 data");
    table_of_stack(sizes, size_count, error, references, repeat, whole);
    size_t engine_count = bench_split(engines, names, MOST_ENGINES);
    size_count = bench_split(engine_data, sizes, MOST_SIZES);
    table_of_engines(sizes, size_count, names, engine_count, repeat);
    return fflush(stdout) ? 1 : 0;
}
