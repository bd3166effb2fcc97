/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_gpu.c - how fast a graphics card counts: with the references on the card already, from the host's
 * memory, and from a stored trace; and all engines side by side. For `make bench-gpu`, which keeps what it
 * prints.
 *
 *     bench_gpu [--references 28] [--most 30] [--slow 24] [--trace FILE] [--resident]
 *
 * Numbers of references are powers of two: of most measurements, of the largest, and of engines on one core.
 * --resident: only with the references on the card already.
 * The card's own part is timed by the card, stage by stage (gpu_module.h).
 */
#include "contender.h"

#include "base/crew.h"
#include "engine/gpu/gpu.h"

#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- references, made by all cores ---- */

typedef enum shape { LOG_UNIFORM, ZIPF, UNIFORM, CYCLIC, SCATTERED } shape;
static const char *const shape_names[] = {"log-uniform", "zipf 0.99", "uniform", "cyclic",
                                          "uniform, random 64-bit keys"};

typedef struct making {
    uint64_t *blocks, keys;
    size_t count, start; /* start: of the sequence, for pieces of it */
    shape kind;
} making;

enum { MAKE_SLICE = 1 << 20 };

static uint64_t mix(uint64_t z)
{
    z += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

/* Reference i depends on i alone. Zipf by the inverse of the continuous distribution. */
static uint64_t reference(const making *make, size_t i)
{
    const double skew = 0.99, keys = (double)make->keys;
    const double u = (double)(mix(i) >> 11) * 0x1p-53;
    switch (make->kind) {
    case LOG_UNIFORM:
        return (uint64_t)exp(u * log(keys)) - 1;
    case ZIPF:
        return (uint64_t)pow((pow(keys, 1 - skew) - 1) * u + 1, 1 / (1 - skew)) - 1;
    case UNIFORM:
        return (uint64_t)(u * keys);
    case CYCLIC:
        return i % make->keys;
    default:
        return mix((uint64_t)(u * keys) ^ UINT64_C(0x123456789));
    }
}

static void make_slice(void *context, size_t number)
{
    const making *make = context;
    const size_t start = number * MAKE_SLICE;
    for (size_t i = start; i < start + MAKE_SLICE && i < make->count; i++)
        make->blocks[i] = reference(make, make->start + i);
}

static fm_rounds *all_cores;

static void make_references(making make)
{
    fm_rounds_run(all_cores, make_slice, &make, (make.count + MAKE_SLICE - 1) / MAKE_SLICE);
}

/* ---- on the card ---- */

static const fm_gpu_module *module;

static void check(fm_status status, const fm_error *error)
{
    if (status != FM_OK) bench_die("%s", error->reason);
}

static void bench_resident(int bits, shape kind, uint64_t keys, fm_bins bins)
{
    enum { REPEATS = 5, STAGES = FM_GPU_STAGE_STACK + 1 };
    const size_t count = (size_t)1 << bits, piece = 1 << 20;
    size_t stack = 1 << 25;
    if (stack + count > FM_GPU_MOST) stack = FM_GPU_MOST - count;
    const fm_gpu_setup setup = {.batch = count, .stack = stack, .bins = bins, .count = true};
    fm_error error;
    fm_gpu_card *card;
    void *pinned;
    check(module->open(&card, &setup, &error), &error);
    check(module->pin(0, FM_GPU_PIECES * piece * sizeof(uint64_t), &pinned, &error), &error);
    for (size_t at = 0; at < count; at += piece) {
        const unsigned number = (unsigned)(at / piece % FM_GPU_PIECES);
        uint64_t *memory = (uint64_t *)pinned + number * piece;
        const size_t some = count - at < piece ? count - at : piece;
        check(module->wait_for_piece(card, number, &error), &error);
        make_references((making){.blocks = memory, .keys = keys, .count = some, .start = at, .kind = kind});
        check(module->upload(card, number, memory, some, 0, at, &error), &error);
    }
    double seconds[REPEATS], stages[STAGES] = {0};
    for (int i = -1; i < REPEATS; i++) { /* the first is not counted */
        fm_gpu_batch batch = {.count = count, .keep = SIZE_MAX};
        check(module->load_stack(card, 0, NULL, NULL, 0, &error), &error);
        const double start = bench_seconds();
        check(module->count(card, &batch, &error), &error);
        if (i < 0) continue;
        seconds[i] = bench_seconds() - start;
        for (int stage = 0; stage < STAGES; stage++) stages[stage] += batch.seconds[stage] * 1e3 / REPEATS;
    }
    const double median = bench_median(seconds, REPEATS);
    module->close(card);
    module->unpin(pinned);
    printf("| 2^%d | %s, %.3g keys | %s | %.1f | **%.2f** | %.1f | %.1f | %.1f | %.1f | %.1f | %.1f |\n",
           bits, shape_names[kind], (double)keys, fm_bins_name(bins), median * 1e3,
           (double)count / median / 1e9, stages[FM_GPU_STAGE_KEYS], stages[FM_GPU_STAGE_SORT],
           stages[FM_GPU_STAGE_LINK], stages[FM_GPU_STAGE_SPLIT], stages[FM_GPU_STAGE_FINISH],
           stages[FM_GPU_STAGE_STACK]);
    fflush(stdout);
    bench_line("part=resident references=%zu workload=%s keys=%" PRIu64 " bins=%s seconds=%.6f", count,
               shape_names[kind], keys, fm_bins_name(bins), median);
}

/* ---- through the analyzer ---- */

typedef struct outcome {
    double seconds;
    fm_profile *profile;
} outcome;

static outcome analyze(const fm_analyzer_options *options, const uint64_t *blocks, size_t count)
{
    fm_analyzer *analyzer;
    fm_error error;
    outcome found;
    const double start = bench_seconds();
    check(fm_analyzer_create(&analyzer, options, &error), &error);
    check(fm_analyzer_feed_blocks(analyzer, blocks, count, &error), &error);
    check(fm_analyzer_profile(analyzer, &found.profile, &error), &error);
    found.seconds = bench_seconds() - start;
    fm_analyzer_destroy(analyzer);
    return found;
}

static bool same_histogram(const fm_profile *a, const fm_profile *b)
{
    return a->cold == b->cold && a->distances.count == b->distances.count &&
           memcmp(a->distances.bins, b->distances.bins, a->distances.count * sizeof(fm_bin)) == 0;
}

static void bench_host(int bits, shape kind, uint64_t keys, bool times)
{
    const size_t count = (size_t)1 << bits;
    uint64_t *blocks = bench_allocate(count * sizeof *blocks);
    make_references((making){.blocks = blocks, .keys = keys, .count = count, .kind = kind});
    const fm_analyzer_options options = {.engine = "gpu", .time_distances = times};
    double best = 1e9;
    for (int i = 0; i < 3; i++) {
        outcome found = analyze(&options, blocks, count);
        if (found.seconds < best) best = found.seconds;
        fm_profile_destroy(found.profile);
    }
    printf("| 2^%d | %s, %.3g keys%s | %.0f | **%.2f** |\n", bits, shape_names[kind], (double)keys,
           times ? ", --time" : "", best * 1e3, (double)count / best / 1e9);
    fflush(stdout);
    bench_line("part=host references=%zu workload=%s keys=%" PRIu64 " seconds=%.6f", count, shape_names[kind],
               keys, best);
    free(blocks);
}

/* All engines, on as many references as each can do in reasonable time; exact ones must agree. */
static void bench_engines(int slow_bits, int bits, shape kind, uint64_t keys)
{
    const unsigned cores = bench_processors();
    const struct {
        const char *engine;
        unsigned threads;
        bool fast, plain; /* plain: without adjusting */
    } runs[] = {{"tree", 1, false, false},       {"exact", 1, false, false},
                {"exact", cores, true, false},   {"hp-rda", 1, false, false},
                {"hp-rda", cores, false, false}, {"hp-rda-gpu", 1, true, false},
                {"hp-rda-gpu", 1, true, true},   {"gpu", 1, true, false}};
    const size_t most = (size_t)1 << bits;
    uint64_t *blocks = bench_allocate(most * sizeof *blocks);
    make_references((making){.blocks = blocks, .keys = keys, .count = most, .kind = kind});
    char *stages;
    size_t stages_length;
    FILE *listed = open_memstream(&stages, &stages_length);
    if (!listed) bench_die("out of memory");
    double tree_rate = 0;
    fm_profile *exact[2] = {NULL, NULL};
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
        const size_t count = (size_t)1 << (runs[i].fast ? bits : slow_bits);
        const fm_analyzer_options options = {.engine = runs[i].engine,
                                             .threads = runs[i].threads,
                                             .engine_options = runs[i].plain ? "disable-adjusting" : NULL};
        outcome found = analyze(&options, blocks, count);
        const double rate = (double)count / found.seconds / 1e6;
        if (i == 0) tree_rate = rate;
        fm_comparison difference;
        fm_error error;
        fm_profile **judge = &exact[runs[i].fast];
        if (found.profile->exact && *judge && !same_histogram(*judge, found.profile))
            bench_die("%s: another histogram than exact's", runs[i].engine);
        char error_text[32] = "exact";
        if (!found.profile->exact && *judge) {
            check(fm_profile_compare(*judge, found.profile, &difference, &error), &error);
            snprintf(error_text, sizeof error_text, "%.2f %%", 100 * difference.average_error);
        }
        printf("| %s%s | %u | 2^%d | %.1f | %.1f | %s |\n", runs[i].engine,
               runs[i].plain ? ", not adjusted" : "", runs[i].threads, runs[i].fast ? bits : slow_bits, rate,
               rate / tree_rate, error_text);
        if (found.profile->stage_count)
            fprintf(listed, "- %s%s, threads %u:", runs[i].engine, runs[i].plain ? ", not adjusted" : "",
                    runs[i].threads);
        for (size_t s = 0; s < found.profile->stage_count; s++)
            fprintf(listed, "%s%s %.0f ms%s", s ? ", " : " ", found.profile->stages[s].name,
                    found.profile->stages[s].seconds * 1e3, s + 1 == found.profile->stage_count ? "\n" : "");
        fflush(stdout);
        bench_line("part=engines engine=%s threads=%u references=%zu rate=%.3f", runs[i].engine,
                   runs[i].threads, count, rate);
        if (strcmp(runs[i].engine, "exact") == 0 && !*judge)
            *judge = found.profile;
        else
            fm_profile_destroy(found.profile);
    }
    fm_profile_destroy(exact[0]);
    fm_profile_destroy(exact[1]);
    free(blocks);
    if (fclose(listed)) bench_die("out of memory");
    printf("\nStages:\n\n%s", stages);
    free(stages);
}

/* A stored trace: decoding alone, and decoding with each engine behind it, by one thread that reads ahead and
 * by as many as there are cores. */
static void bench_file(const char *path)
{
    static const char *const engines[] = {NULL, "exact", "gpu"};
    const unsigned cores = bench_processors();
    for (size_t run = 0; run < 2 * sizeof engines / sizeof engines[0]; run++) {
        const char *engine = engines[run / 2];
        const unsigned threads = run % 2 ? cores : 1;
        const fm_analyzer_options options = {.engine = engine, .granularity = 64, .threads = threads};
        const fm_reader_options reading = {.read_ahead = true, .threads = threads};
        double best = 1e9;
        uint64_t references = 0;
        for (int i = 0; i < 3; i++) {
            fm_reader *reader;
            fm_analyzer *analyzer = NULL;
            fm_profile *profile = NULL;
            fm_batch batch;
            fm_error error;
            const double start = bench_seconds();
            references = 0;
            check(fm_reader_open(&reader, path, &reading, &error), &error);
            if (engine) check(fm_analyzer_create(&analyzer, &options, &error), &error);
            for (;;) {
                check(fm_reader_next(reader, &batch, &error), &error);
                if (batch.count == 0) break;
                references += batch.count;
                if (analyzer) check(fm_analyzer_feed(analyzer, &batch, &error), &error);
            }
            if (analyzer) check(fm_analyzer_profile(analyzer, &profile, &error), &error);
            const double seconds = bench_seconds() - start;
            if (seconds < best) best = seconds;
            fm_profile_destroy(profile);
            fm_analyzer_destroy(analyzer);
            fm_reader_close(reader);
        }
        printf("| %s | %u | %.1f M | %.0f | %.1f |\n", engine ? engine : "decoding alone", threads,
               (double)references / 1e6, best * 1e3, (double)references / best / 1e6);
        fflush(stdout);
        bench_line("part=file engine=%s threads=%u references=%" PRIu64 " rate=%.3f",
                   engine ? engine : "none", threads, references, (double)references / best / 1e6);
    }
}

/* Whatever the host has a part in. trace: NULL: none. */
static void bench_with_host(int bits, int most, int slow, const char *trace)
{
    printf("\n### Exact, from the host's memory to the histogram\n\nThe card is opened and closed within the "
           "time.\n\n"
           "| references | workload | ms | G/s |\n|---|---|---|---|\n");
    bench_host(bits + 1, LOG_UNIFORM, 1 << 20, false);
    bench_host(bits + 1, UNIFORM, 10000000, false);
    bench_host(bits + 1, CYCLIC, 1 << 20, false);
    bench_host(bits + 1, LOG_UNIFORM, 1 << 20, true);
    bench_host(most, LOG_UNIFORM, 10000000, false);
    if (trace) {
        printf("\n### From a stored trace (%s), in the page cache\n\n"
               "| engine | threads that decode | references | ms | M/s |\n|---|---|---|---|---|\n",
               strrchr(trace, '/') ? strrchr(trace, '/') + 1 : trace);
        bench_file(trace);
    }
    printf("\n### All engines, log-uniform over 2^20 keys\n\n"
           "| engine | CPU threads | references | M/s | times tree | average error "
           "|\n|---|---|---|---|---|---|\n");
    bench_engines(slow, bits, LOG_UNIFORM, 1 << 20);
}

int main(int argc, char **argv)
{
    int bits = 28, most = 30, slow = 24;
    const char *trace = NULL;
    bool only_resident = false;
    static const struct option options[] = {
        {"references", required_argument, NULL, 'r'}, {"most", required_argument, NULL, 'm'},
        {"slow", required_argument, NULL, 's'},       {"trace", required_argument, NULL, 't'},
        {"resident", no_argument, NULL, 'o'},         {0}};
    for (int given; (given = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (given == 'r')
            bits = atoi(optarg);
        else if (given == 'm')
            most = atoi(optarg);
        else if (given == 's')
            slow = atoi(optarg);
        else if (given == 't')
            trace = optarg;
        else if (given == 'o')
            only_resident = true;
        else
            return 2;
    }
    unsigned cards;
    fm_error error;
    fm_gpu_description card;
    const double start = bench_seconds();
    check(fm_gpu_find(&module, &cards, &error), &error);
    check(module->describe(0, &card, &error), &error);
    check(fm_rounds_create(&all_cores, bench_processors(), &error), &error);
    printf("%u × %s, %.1f GB free of %.1f; CUDA starts in %.2f s\n", cards, card.name,
           (double)card.memory_free / 1e9, (double)card.memory_total / 1e9, bench_seconds() - start);
    printf("\n### Exact, references on the card already\n\nMilliseconds, all and by stage; references in "
           "G/s.\n\n"
           "| references | workload | bins | ms | G/s | keys | sort | link | split | finish | stack |\n"
           "|---|---|---|---|---|---|---|---|---|---|---|\n");
    bench_resident(bits, LOG_UNIFORM, 1 << 20, FM_BINS_LOGLINEAR);
    bench_resident(bits, ZIPF, 1 << 20, FM_BINS_LOGLINEAR);
    bench_resident(bits, UNIFORM, 1 << 20, FM_BINS_LOGLINEAR);
    bench_resident(bits, CYCLIC, 1 << 20, FM_BINS_LOGLINEAR);
    bench_resident(bits, CYCLIC, 1 << 20, FM_BINS_EXACT);
    bench_resident(bits, UNIFORM, 10000000, FM_BINS_LOGLINEAR);
    bench_resident(bits, UNIFORM, 10000000, FM_BINS_EXACT);
    bench_resident(bits, UNIFORM, 4096, FM_BINS_LOGLINEAR);
    bench_resident(bits, SCATTERED, 1 << 20, FM_BINS_LOGLINEAR);
    bench_resident(most, LOG_UNIFORM, 10000000, FM_BINS_LOGLINEAR);
    if (!only_resident) bench_with_host(bits, most, slow, trace);
    fm_rounds_destroy(all_cores);
    return 0;
}
