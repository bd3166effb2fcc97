/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_engines.c - how fast: references per second of every contender on every workload, and the two
 * ratios that count: exact over tree (the papers' baseline) and exact over the floor.
 *
 * Every contender runs the whole workload from an empty state, growth included. Within a repetition the
 * contenders run one after the other, in an order that turns with every repetition; a ratio is the
 * median of the ratios within repetitions, so that a machine that is slow for a while is slow for both.
 * A rate is that of the best repetition. The tree takes minutes where others take seconds, so it runs in
 * the first repetitions only (--slow).
 *
 *     bench_engines [--references 50M] [--repeat 5] [--slow 1] [--contenders floor,exact,tree]
 *                   WORKLOAD…
 */
#include "contender.h"
#include "workload.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CONTENDERS = 12, MOST_REPEATS = 101 };

typedef struct result {
    double seconds[MOST_REPEATS]; /* of each repetition */
    size_t count;                 /* repetitions run */
    uint64_t distinct, memory_peak;
} result;

static const char *contender_names[MOST_CONTENDERS];
static size_t contenders;

static void run_once(const contender *who, const workload *work, uint64_t seed, result *into)
{
    contender_run *run = contender_start(who, seed);
    double start = bench_seconds();
    contender_feed(run, work->blocks, work->count);
    into->distinct = contender_distinct(run); /* asks for the profile: what was only taken is counted now */
    into->seconds[into->count++] = bench_seconds() - start;
    into->memory_peak = contender_memory_peak(run);
    contender_end(run);
}

/* How many times faster a is than b: the median over the repetitions both ran. 0: one of them ran none. */
static double ratio(const result *a, const result *b)
{
    double ratios[MOST_REPEATS];
    size_t count = a->count < b->count ? a->count : b->count;
    for (size_t i = 0; i < count; i++) ratios[i] = b->seconds[i] / a->seconds[i];
    return count ? bench_median(ratios, count) : 0;
}

static double best_rate(const result *of, size_t references)
{
    double best = of->seconds[0];
    for (size_t i = 1; i < of->count; i++) best = of->seconds[i] < best ? of->seconds[i] : best;
    return (double)references / best / 1e6;
}

static const result *result_of(const result *results, const char *name)
{
    for (size_t c = 0; c < contenders; c++)
        if (strcmp(contender_names[c], name) == 0 && results[c].count) return &results[c];
    return NULL;
}

static void print_cell(double value, const char *format)
{
    if (value > 0)
        printf(format, value);
    else
        printf(" - |");
}

static void print_header(void)
{
    printf(
        "Million references per second (best repetition), and ratios (median within repetitions). \"To\" is "
        "from `exact`.\n+distances and /ISA: `exact` with them. Peak: memory of `exact`, MiB, and what is "
        "allowed.\n\n");
    printf("| workload | references | distinct |");
    for (size_t c = 0; c < contenders; c++) {
        const char *name = contender_names[c];
        printf(" %s |", strncmp(name, "exact", 5) == 0 && name[5] ? name + 5 : name);
    }
    printf(" to tree | to floor | peak (allowed) |\n|---|--:|--:|");
    for (size_t c = 0; c < contenders; c++) printf("--:|");
    printf("--:|--:|--:|\n");
}

static void report(const workload *work, const result *results)
{
    const result *exact = result_of(results, "exact"), *tree = result_of(results, "tree"),
                 *floor = result_of(results, "floor");
    uint64_t distinct = 0;
    for (size_t c = 0; c < contenders; c++) {
        const contender who = contender_named(contender_names[c]);
        if (!results[c].count || who.reads || (who.engine && !who.engine->exact))
            continue; /* estimates differ */
        if (distinct && distinct != results[c].distinct)
            bench_die("%s: %s counts %" PRIu64 " distinct blocks, others %" PRIu64, work->name,
                      contender_names[c], results[c].distinct, distinct);
        distinct = results[c].distinct;
    }
    printf("| %s | %.1f M | %" PRIu64 " |", work->name, (double)work->count / 1e6, distinct);
    for (size_t c = 0; c < contenders; c++)
        print_cell(results[c].count ? best_rate(&results[c], work->count) : 0, " %.2f |");
    print_cell(exact && tree ? ratio(exact, tree) : 0, " %.1f |");
    print_cell(exact && floor ? ratio(exact, floor) : 0, " %.2f |");
    /* Allowed: 48 bytes per distinct block plus 64 MiB. */
    if (exact)
        printf(" %.0f (%.0f) |", (double)exact->memory_peak / 1048576.0,
               48.0 * (double)distinct / 1048576.0 + 64.0);
    else
        printf(" - |");
    printf("\n");
    fflush(stdout);
    for (size_t c = 0; c < contenders; c++)
        if (results[c].count)
            bench_line("bench=engines workload=\"%s\" contender=%s references=%zu distinct=%" PRIu64
                       " mrefs_per_s=%.3f memory_peak=%" PRIu64,
                       work->name, contender_names[c], work->count, distinct,
                       best_rate(&results[c], work->count), results[c].memory_peak);
    bench_line("bench=ratios workload=\"%s\" exact_over_tree=%.3f exact_over_floor=%.3f", work->name,
               exact && tree ? ratio(exact, tree) : 0, exact && floor ? ratio(exact, floor) : 0);
}

int main(int argc, char **argv)
{
    static const struct option options[] = {{"references", required_argument, NULL, 'n'},
                                            {"repeat", required_argument, NULL, 'r'},
                                            {"slow", required_argument, NULL, 's'},
                                            {"contenders", required_argument, NULL, 'c'},
                                            {NULL, 0, NULL, 0}};
    uint64_t references = 50000000, repeat = 5, slow = 1;
    char default_contenders[] = "floor,exact,exact+distances,tree", *chosen = default_contenders;
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) switch (option) {
        case 'n':
            references = bench_count(optarg);
            break;
        case 'r':
            repeat = bench_count(optarg);
            break;
        case 's':
            slow = bench_count(optarg);
            break;
        case 'c':
            chosen = optarg;
            break;
        default:
            return 2;
        }
    if (optind == argc) bench_die("which workload? zipf:1M uniform:10M cyclic:1M PATH@64");
    if (repeat < 1 || repeat > MOST_REPEATS) bench_die("between 1 and %d repetitions", MOST_REPEATS);
    contenders = bench_split(chosen, contender_names, MOST_CONTENDERS);
    contender who[MOST_CONTENDERS] = {{0}};
    for (size_t c = 0; c < contenders; c++) who[c] = contender_named(contender_names[c]);
    result *results = bench_allocate(MOST_CONTENDERS * sizeof *results);
    print_header();
    for (int w = optind; w < argc; w++) {
        workload work = workload_make(argv[w], references);
        memset(results, 0, MOST_CONTENDERS * sizeof *results);
        for (uint64_t r = 0; r < repeat; r++)
            for (size_t turn = 0; turn < contenders; turn++) {
                size_t c = (turn + r) % contenders;
                bool is_slow = who[c].engine && strcmp(who[c].engine->name, "exact") != 0;
                if (is_slow && r >= slow) continue;
                run_once(&who[c], &work, 1000 + r, &results[c]);
            }
        report(&work, results);
        workload_free(&work);
    }
    free(results);
    return fflush(stdout) ? 1 : 0;
}
