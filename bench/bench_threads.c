/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_threads.c - how much faster the default engine is with several threads, and what memory they take.
 *
 * In every repetition all numbers of threads run one after the other; a ratio is the median of the ratios
 * within repetitions. The workload is held in memory; --passes makes it that many times as long, by
 * repeating it (10^9 references take 8 GB). Every histogram must be that of one thread.
 *
 * What the machine gives at most is measured beside it: as many engines as there are threads, each by itself
 * on the whole workload and without a word to the others, against one alone. Cores share caches and memory,
 * and on a rented machine more than that.
 *
 * All of the workload is fed at once, where it stands; --together gives it to the engine in portions, as a
 * pipe would, and then it is copied. --no-ceiling leaves the ceiling out (its column says nothing then).
 *
 *     bench_threads [--references 50M] [--repeat 3] [--passes 1] [--threads 1,2] [--bound BLOCKS]
 *                   [--together REFERENCES] [--no-ceiling] WORKLOAD…
 */
#include "contender.h"
#include "workload.h"

#include <getopt.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_COUNTS = 16, MOST_REPEATS = 101 };

typedef struct setup {
    uint64_t references, repeat, passes, bound;
    const char *threads[MOST_COUNTS];
    size_t counts;     /* of threads */
    uint64_t together; /* references that are fed at a time */
    bool no_ceiling;
} setup;

typedef struct outcome {
    double seconds[MOST_REPEATS];
    double side_by_side[MOST_REPEATS]; /* seconds of as many engines, each by itself */
    uint64_t memory;                   /* the most in any repetition */
    fm_profile *profile;
} outcome;

/* The whole workload through one engine; returns its analyzer. */
static fm_analyzer *analyze(const setup *chosen, const workload *work, unsigned threads)
{
    fm_analyzer_options options = {.threads = threads, .bound = chosen->bound};
    fm_analyzer *analyzer;
    fm_error error;
    if (fm_analyzer_create(&analyzer, &options, &error)) bench_die("%s", error.reason);
    for (size_t i = 0; i < work->count; i += chosen->together) {
        const size_t left = work->count - i;
        if (fm_analyzer_feed_blocks(analyzer, work->blocks + i,
                                    left < chosen->together ? left : (size_t)chosen->together, &error))
            bench_die("%s", error.reason);
    }
    return analyzer;
}

typedef struct lone_engine {
    const setup *chosen;
    const workload *work;
    pthread_t thread;
} lone_engine;

static void *run_alone(void *context)
{
    const lone_engine *self = context;
    fm_analyzer_destroy(analyze(self->chosen, self->work, 1));
    return NULL;
}

static double run_side_by_side(const setup *chosen, const workload *work, unsigned count)
{
    lone_engine *engines = bench_allocate(count * sizeof *engines);
    const double start = bench_seconds();
    for (unsigned i = 0; i < count; i++) {
        engines[i] = (lone_engine){.chosen = chosen, .work = work};
        if (pthread_create(&engines[i].thread, NULL, run_alone, &engines[i]) != 0)
            bench_die("no thread can be started");
    }
    for (unsigned i = 0; i < count; i++) pthread_join(engines[i].thread, NULL);
    const double seconds = bench_seconds() - start;
    free(engines);
    return seconds;
}

static void run_once(const setup *chosen, const workload *work, unsigned threads, uint64_t repetition,
                     outcome *out)
{
    fm_profile *profile;
    fm_error error;
    const double start = bench_seconds();
    fm_analyzer *analyzer = analyze(chosen, work, threads);
    if (fm_analyzer_profile(analyzer, &profile, &error)) bench_die("%s", error.reason);
    out->seconds[repetition] = bench_seconds() - start;
    const uint64_t memory = fm_analyzer_memory_peak(analyzer);
    if (memory > out->memory) out->memory = memory;
    fm_analyzer_destroy(analyzer);
    fm_profile_destroy(out->profile);
    out->profile = profile;
    out->side_by_side[repetition] = threads > 1 && !chosen->no_ceiling
                                        ? run_side_by_side(chosen, work, threads)
                                        : out->seconds[repetition];
}

static bool same(const fm_profile *a, const fm_profile *b)
{
    return a->references == b->references && a->distinct == b->distinct && a->cold == b->cold &&
           a->beyond == b->beyond && a->distances.count == b->distances.count &&
           memcmp(a->distances.bins, b->distances.bins, a->distances.count * sizeof(fm_bin)) == 0;
}

/* The workload several times over, as one. */
static void repeat_workload(workload *work, uint64_t passes)
{
    uint64_t *blocks = bench_allocate(work->count * passes * sizeof *blocks);
    for (uint64_t pass = 0; pass < passes; pass++)
        memcpy(blocks + pass * work->count, work->blocks, work->count * sizeof *blocks);
    free(work->blocks);
    work->blocks = blocks;
    work->count *= passes;
}

static void measure(const setup *chosen, const char *words)
{
    workload work = workload_make(words, chosen->references);
    if (chosen->passes > 1) repeat_workload(&work, chosen->passes);
    outcome *outcomes = bench_allocate(chosen->counts * sizeof *outcomes);
    memset(outcomes, 0, chosen->counts * sizeof *outcomes);
    for (uint64_t r = 0; r < chosen->repeat; r++)
        for (size_t c = 0; c < chosen->counts; c++) {
            run_once(chosen, &work, (unsigned)bench_count(chosen->threads[c]), r, &outcomes[c]);
            if (!same(outcomes[c].profile, outcomes[0].profile))
                bench_die("%s: %s threads find another histogram", words, chosen->threads[c]);
        }
    const double references = (double)work.count;
    for (size_t c = 0; c < chosen->counts; c++) {
        double ratios[MOST_REPEATS], most[MOST_REPEATS], best = outcomes[c].seconds[0];
        const double threads = (double)bench_count(chosen->threads[c]);
        for (uint64_t r = 0; r < chosen->repeat; r++) {
            ratios[r] = outcomes[0].seconds[r] / outcomes[c].seconds[r];
            most[r] = threads * outcomes[0].seconds[r] / outcomes[c].side_by_side[r];
            if (outcomes[c].seconds[r] < best) best = outcomes[c].seconds[r];
        }
        const double ratio = bench_median(ratios, chosen->repeat);
        const double ceiling = bench_median(most, chosen->repeat);
        const double memory = (double)outcomes[c].memory / (double)outcomes[0].memory;
        printf("| %s | %.1f M | %" PRIu64 " | %s | %.1f | %.2f | %.2f | %.0f | %.2f |\n", work.name,
               references / 1e6, outcomes[c].profile->distinct, chosen->threads[c], references / best / 1e6,
               ratio, ceiling, (double)outcomes[c].memory / 1048576.0, memory);
        fflush(stdout);
        bench_line("bench=threads workload=%s bound=%" PRIu64
                   " threads=%s mrefs=%.2f ratio=%.3f side_by_side=%.3f memory_ratio=%.3f",
                   words, chosen->bound, chosen->threads[c], references / best / 1e6, ratio, ceiling, memory);
        fm_profile_destroy(outcomes[c].profile);
    }
    free(outcomes);
    workload_free(&work);
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"references", required_argument, NULL, 'n'}, {"repeat", required_argument, NULL, 'r'},
        {"passes", required_argument, NULL, 'p'},     {"threads", required_argument, NULL, 't'},
        {"bound", required_argument, NULL, 'b'},      {"together", required_argument, NULL, 'g'},
        {"no-ceiling", no_argument, NULL, 'c'},       {NULL, 0, NULL, 0}};
    setup chosen = {.references = 50000000, .repeat = 3, .passes = 1, .together = SIZE_MAX};
    char default_threads[] = "1,2", *threads = default_threads;
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) switch (option) {
        case 'n':
            chosen.references = bench_count(optarg);
            break;
        case 'r':
            chosen.repeat = bench_count(optarg);
            break;
        case 'p':
            chosen.passes = bench_count(optarg);
            break;
        case 't':
            threads = optarg;
            break;
        case 'b':
            chosen.bound = bench_count(optarg);
            break;
        case 'g':
            chosen.together = bench_count(optarg);
            break;
        case 'c':
            chosen.no_ceiling = true;
            break;
        default:
            return 2;
        }
    if (chosen.repeat < 1 || chosen.repeat > MOST_REPEATS)
        bench_die("between 1 and %d repetitions", MOST_REPEATS);
    chosen.counts = bench_split(threads, chosen.threads, MOST_COUNTS);
    if (chosen.bound) printf("Under a bound of %" PRIu64 " blocks.\n\n", chosen.bound);
    printf("| workload | references | distinct | threads | M/s | times one thread | side by side | "
           "memory, MiB | times one's |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|\n");
    for (int i = optind; i < argc; i++) measure(&chosen, argv[i]);
    return fflush(stdout) ? 1 : 0;
}
