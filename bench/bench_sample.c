/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_sample.c - how far estimates from samples are from the truth, on one trace: the virtual sampler with
 * several numbers of samples, registers and seeds, and every estimator.
 *
 *   bench_sample NAME TRACE|listing1|listing2|phases [SEEDS [REFERENCES [FIRST [quick]]]]
 *
 * quick: 1,000 samples of single references only, and no bands: for many seeds.
 * SEEDS 0: all references are observed instead, and what is left is the error of the conversion.
 * Blocks are 8-byte words, as in the paper. Prints one line for each estimate, words "key=value":
 *   st, stp      S of time distances, power-of-two bins and the paper's 20 bins, over the reuses
 *   sd, sdp      the same of distances
 *   sdh          S^ of distances, power-of-two bins
 *   mae          mean difference of the miss-ratio curves, sizes from 64 words on, four for each doubling
 *   in, of       sizes (powers of two where the curve is neither 0 nor 1) at which the band has the truth
 *   wide         mean width of the band there
 * bench_sample_accuracy.py runs it and makes the tables.
 */
#include <fathom/experimental.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    GRANULARITY = 8,
    LOG2_BINS = 66,
    PAPER_BINS = 20,
    MOST_SEEDS = 100,
    SEEDS_OF_MANY = 3 /* with 5,000 samples and more, and other numbers of registers */
};

typedef struct trace {
    const char *name;
    uint64_t count, most;
    uint64_t *blocks;
    uint32_t *tags;
    fm_profile *truth;
} trace;

static void fail(const fm_error *error)
{
    char message[1200];
    fprintf(stderr, "bench_sample: %s\n", fm_error_message(error, message, sizeof message));
    exit(1);
}

/* ---- traces ---- */

static void put(trace *to, uint64_t block, uint32_t tag)
{
    if (to->count == to->most) return;
    to->blocks[to->count] = block;
    to->tags[to->count++] = tag;
}

/* The paper's, over larger arrays: used in one loop, used again in the next. */
static void listing1(trace *to)
{
    const uint64_t words = to->most / 2;
    for (uint32_t loop = 1; loop <= 2; loop++)
        for (uint64_t i = 0; i < words; i++) put(to, i, loop);
}

/* And in a third one twice in a row. */
static void listing2(trace *to)
{
    const uint64_t words = to->most / 4;
    for (uint32_t loop = 1; loop <= 2; loop++)
        for (uint64_t i = 0; i < words; i++) put(to, i, loop);
    for (uint64_t i = 0; i < words; i++) {
        put(to, i, 3);
        put(to, i, 4);
    }
}

static uint64_t draw(uint64_t *state, uint64_t most)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (*state >> 33) % most;
}

/* Four phases of one length: a small loop, random words, a stream that never comes back, a large loop. */
static void phases(trace *to)
{
    const uint64_t each = to->most / 4;
    uint64_t state = 1;
    for (uint64_t i = 0; i < each; i++) put(to, i % 1000, 1);
    for (uint64_t i = 0; i < each; i++) put(to, 10000 + draw(&state, 100000), 2);
    for (uint64_t i = 0; i < each; i++) put(to, 1000000 + i, 3);
    for (uint64_t i = 0; i < each; i++) put(to, i % 300000, 4);
}

static fm_status take(void *context, const uint64_t *blocks, const uint32_t *tags, size_t count,
                      fm_error *error)
{
    (void)error;
    for (size_t i = 0; i < count; i++) put(context, blocks[i], tags ? tags[i] : 0);
    return FM_OK;
}

static void read_trace(trace *to, const char *path)
{
    static uint32_t tags[FM_BATCH_MAX];
    fm_error error;
    fm_reader *reader;
    fm_block_stream *stream;
    fm_site_index *sites;
    fm_batch batch;
    if (fm_reader_open(&reader, path, NULL, &error) || fm_block_stream_create(&stream, GRANULARITY, &error) ||
        fm_site_index_create(&sites, &error))
        fail(&error);
    for (;;) {
        if (fm_reader_next(reader, &batch, &error)) fail(&error);
        if (batch.count == 0 || to->count == to->most) break;
        if (batch.site) {
            if (fm_site_index_tags(sites, batch.site, batch.count, tags, &error)) fail(&error);
            batch.tag = tags;
        }
        if (fm_block_stream_feed(stream, &batch, take, to, &error)) fail(&error);
    }
    fm_site_index_destroy(sites);
    fm_block_stream_destroy(stream);
    fm_reader_close(reader);
}

static void find_truth(trace *of)
{
    fm_error error;
    fm_analyzer *analyzer;
    const fm_analyzer_options options = {.granularity = GRANULARITY, .time_distances = true};
    if (fm_analyzer_create(&analyzer, &options, &error) ||
        fm_analyzer_feed_blocks(analyzer, of->blocks, of->count, &error) ||
        fm_analyzer_profile(analyzer, &of->truth, &error))
        fail(&error);
    fm_analyzer_destroy(analyzer);
}

/* ---- likeness ---- */

static size_t log2_bin(uint64_t distance)
{
    return fm_bins_index(FM_BINS_LOG2, distance);
}

/* [0, 4 Ki), [4 Ki, 8 Ki), … [1 Gi, all the rest). */
static size_t paper_bin(uint64_t distance)
{
    if (distance < 4096) return 0;
    const size_t bin = (size_t)(63 - __builtin_clzll(distance)) - 11;
    return bin < PAPER_BINS ? bin : PAPER_BINS - 1;
}

static void bars_of(const fm_histogram *histogram, size_t (*bin)(uint64_t), double *bars)
{
    double sum = 0;
    memset(bars, 0, LOG2_BINS * sizeof *bars);
    for (size_t i = 0; i < histogram->count; i++) {
        bars[bin(histogram->bins[i].lo)] += (double)histogram->bins[i].count;
        sum += (double)histogram->bins[i].count;
    }
    for (size_t i = 0; i < LOG2_BINS && sum > 0; i++) bars[i] /= sum;
}

/* S of the paper, or with windows of two bins S^. */
static double likeness(const fm_histogram *a, const fm_histogram *b, size_t (*bin)(uint64_t), bool smoothed)
{
    double of_a[LOG2_BINS], of_b[LOG2_BINS], off = 0;
    bars_of(a, bin, of_a);
    bars_of(b, bin, of_b);
    for (size_t i = 0; i + smoothed < LOG2_BINS; i++)
        off += smoothed ? fabs(of_a[i] + of_a[i + 1] - of_b[i] - of_b[i + 1]) / 2 : fabs(of_a[i] - of_b[i]);
    return 1 - off / 2;
}

static double curve_error(const fm_profile *truth, const fm_profile *found)
{
    double sum = 0;
    unsigned count = 0;
    for (double exponent = 6; exponent <= log2((double)truth->distinct) + 0.01; exponent += 0.25, count++) {
        const uint64_t size = (uint64_t)exp2(exponent);
        sum += fabs(fm_profile_miss_ratio(truth, size) - fm_profile_miss_ratio(found, size));
    }
    return count ? sum / count : 0;
}

static void count_covered(const fm_profile *truth, const fm_profile *found, unsigned *in, unsigned *of,
                          double *wide)
{
    *in = *of = 0;
    *wide = 0;
    for (unsigned exponent = 2; exponent < 40; exponent++) {
        double least, most;
        const double actual = fm_profile_miss_ratio(truth, UINT64_C(1) << exponent);
        if (actual < 0.0005 || actual > 0.9995) continue;
        if (UINT64_C(1) << exponent > truth->distinct) break;
        if (!fm_profile_band(found, UINT64_C(1) << exponent, &least, &most)) continue;
        ++*of;
        *in += actual >= least && actual <= most;
        *wide += most - least;
    }
    if (*of) *wide /= *of;
}

/* ---- estimates ---- */

typedef struct plan {
    const char *design; /* "plain", "capped", "once", "jitter", "bursts", "mixed", "bound" */
    unsigned samples, registers;
    unsigned seed;
    bool quick;
} plan;

static void judge(const trace *of, const plan *how, const char *estimator, const char *conversion,
                  const fm_samples *samples)
{
    fm_error error;
    fm_estimate *estimate;
    const fm_estimate_options options = {
        .estimator = estimator, .conversion = conversion, .seed = how->seed, .bootstrap = how->quick};
    if (fm_estimate_create(&estimate, samples, &options, &error)) {
        /* Of few samples none may have trapped. */
        fprintf(stderr, "bench_sample: %s, %s, %u samples: %s\n", of->name, estimator, how->samples,
                error.reason);
        return;
    }
    const fm_profile *found = estimate->profile, *truth = of->truth;
    unsigned in, points;
    double wide;
    count_covered(truth, found, &in, &points, &wide);
    printf("program=%s design=%s samples=%u registers=%u seed=%u estimator=%s conversion=%s st=%.5f stp=%.5f "
           "sd=%.5f sdp=%.5f sdh=%.5f mae=%.6f in=%u of=%u wide=%.4f\n",
           of->name, how->design, how->samples, how->registers, how->seed, estimator, conversion,
           likeness(&truth->times, &found->times, log2_bin, false),
           likeness(&truth->times, &found->times, paper_bin, false),
           likeness(&truth->distances, &found->distances, log2_bin, false),
           likeness(&truth->distances, &found->distances, paper_bin, false),
           likeness(&truth->distances, &found->distances, log2_bin, true), curve_error(truth, found), in,
           points, wide);
    fm_estimate_destroy(estimate);
}

static fm_samples *sample(const trace *of, const plan *how)
{
    fm_error error;
    fm_virtual_sampler *sampler;
    fm_samples *samples;
    fm_virtual_sampler_options options = {.granularity = GRANULARITY,
                                          .period = of->count / how->samples,
                                          .registers = how->registers,
                                          .plain_reservoir = strcmp(how->design, "plain") == 0,
                                          .bursts = strcmp(how->design, "bursts") == 0 ||
                                                    strcmp(how->design, "mixed") == 0,
                                          .burst_steps = strcmp(how->design, "mixed") == 0 ? 4 : 1,
                                          .burst_length = 4096,
                                          .seed = how->seed,
                                          .again = strcmp(how->design, "capped") == 0,
                                          .stratified = strcmp(how->design, "jitter") != 0};
    if (fm_virtual_sampler_create(&sampler, &options, &error) ||
        fm_virtual_sampler_feed(sampler, of->blocks, of->tags, of->count, &error) ||
        fm_virtual_sampler_finish(sampler, &samples, &error))
        fail(&error);
    fm_virtual_sampler_destroy(sampler);
    return samples;
}

static void judge_plan(const trace *of, const plan *how)
{
    fm_samples *samples = sample(of, how);
    if (strcmp(how->design, "plain") == 0) {
        judge(of, how, "rdx", "shen", samples);
        judge(of, how, "rdx", "aet", samples);
        judge(of, how, "rdx-trapped", "shen", samples);
        judge(of, how, "kaplan-meier", "aet", samples);
        judge(of, how, "horvitz-thompson", "aet", samples);
    }
    judge(of, how, "capped", "aet", samples);
    fm_samples_destroy(samples);
}

/* As many registers as samples: all there is to know. next: of each reference, that of the same block; 0:
 * none. */
static void judge_bound(const trace *of, const plan *how, const uint32_t *next)
{
    fm_error error;
    fm_samples *samples;
    uint32_t thread;
    const uint64_t period = of->count / how->samples;
    const fm_samples_options options = {.granularity = GRANULARITY, .method = "bound"};
    if (fm_samples_create(&samples, &options, &error) ||
        fm_samples_add_thread(samples, of->count, &thread, &error))
        fail(&error);
    uint64_t state = how->seed + 12345;
    for (uint64_t from = 0, at; (at = from + draw(&state, period)) < of->count; from += period) {
        const fm_sample_watch watch = {.thread = thread,
                                       .end = next[at] ? FM_WATCH_USED : FM_WATCH_NEVER,
                                       .at = at,
                                       .length = next[at] ? next[at] - at : of->count - at,
                                       .weight = (double)period,
                                       .armed = 1,
                                       .kept = 1,
                                       .use = of->tags[at]};
        if (fm_samples_add_watch(samples, &watch, &error)) fail(&error);
    }
    judge(of, how, "capped", "aet", samples);
    fm_samples_destroy(samples);
}

/* Every reference is observed, a stretch of the run after the other: what is left is the error of the
 * conversions. */
static void judge_all(const trace *of, const uint32_t *next)
{
    enum { STRETCHES = 400 };
    fm_error error;
    fm_samples *samples;
    uint32_t thread;
    const plan how = {.design = "all"};
    const fm_samples_options options = {.granularity = GRANULARITY, .method = "all"};
    if (fm_samples_create(&samples, &options, &error) ||
        fm_samples_add_thread(samples, of->count, &thread, &error))
        fail(&error);
    const size_t bins = fm_bins_index(FM_BINS_LOGLINEAR, of->count) + 1;
    uint64_t *counts = calloc(bins, sizeof *counts);
    fm_burst_reuse *found = calloc(bins, sizeof *found);
    if (!counts || !found) exit(1);
    for (uint64_t stretch = 0; stretch < STRETCHES; stretch++) {
        const uint64_t from = of->count * stretch / STRETCHES, to = of->count * (stretch + 1) / STRETCHES;
        fm_burst burst = {.thread = thread,
                          .ended = 1,
                          .at = from,
                          .length = of->count - from,
                          .uses = to - from,
                          .weight = (double)(to - from),
                          .found = found};
        memset(counts, 0, bins * sizeof *counts); /* the first: never */
        for (uint64_t i = from; i < to; i++)
            counts[next[i] ? fm_bins_index(FM_BINS_LOGLINEAR, next[i] - i) : 0]++;
        for (size_t bin = 1; bin < bins; bin++) {
            uint64_t lo, hi;
            fm_bins_range(FM_BINS_LOGLINEAR, bin, &lo, &hi);
            const uint64_t middle = lo + (hi - lo) / 2, most = burst.length - 1;
            const fm_burst_reuse kind = {.time = middle < most ? middle : most, .count = counts[bin]};
            if (counts[bin] > 0) found[burst.found_count++] = kind;
        }
        const fm_burst_reuse cut = {.time = burst.length - 1, .count = counts[0]};
        burst.cut = &cut;
        burst.cut_count = counts[0] > 0;
        if (fm_samples_add_burst(samples, &burst, &error)) fail(&error);
    }
    free(counts);
    free(found);
    judge(of, &how, "kaplan-meier", "aet", samples);
    judge(of, &how, "capped", "aet", samples);
    judge(of, &how, "capped", "shen", samples);
    fm_samples_destroy(samples);
}

static uint32_t *find_next(const trace *of)
{
    /* Distances in order would not tell which reference is next: a table from blocks to references. */
    uint64_t size = 1 << 16;
    while (size < 2 * of->truth->distinct + 2) size *= 2;
    struct entry {
        uint64_t block;
        uint32_t at;
        bool known;
    } *table = calloc(size, sizeof *table);
    uint32_t *next = calloc(of->count + 1, sizeof *next);
    if (!table || !next || of->count > UINT32_MAX) exit(1);
    for (uint64_t i = of->count; i-- > 0;) {
        uint64_t place = (of->blocks[i] * UINT64_C(0x9E3779B97F4A7C15) >> 20) & (size - 1);
        while (table[place].known && table[place].block != of->blocks[i]) place = (place + 1) & (size - 1);
        next[i] = table[place].known ? table[place].at : 0;
        table[place] = (struct entry){of->blocks[i], (uint32_t)i, true};
    }
    free(table);
    return next;
}

int main(int argc, char **argv)
{
    if (argc < 3 || argc > 7 || (argc > 6 && strcmp(argv[6], "quick") != 0)) {
        fprintf(
            stderr,
            "usage: bench_sample NAME TRACE|listing1|listing2|phases [SEEDS [REFERENCES [FIRST [quick]]]]\n");
        return 2;
    }
    const unsigned seeds = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 10;
    const unsigned first = argc > 5 ? (unsigned)strtoul(argv[5], NULL, 10) : 1;
    trace of = {.name = argv[1], .most = argc > 4 ? strtoull(argv[4], NULL, 10) : 10000000};
    of.blocks = malloc(of.most * sizeof *of.blocks);
    of.tags = malloc(of.most * sizeof *of.tags);
    if (!of.blocks || !of.tags || seeds > MOST_SEEDS || of.most < 100000) {
        free(of.blocks);
        free(of.tags);
        return 2;
    }
    if (strcmp(argv[2], "listing1") == 0)
        listing1(&of);
    else if (strcmp(argv[2], "listing2") == 0)
        listing2(&of);
    else if (strcmp(argv[2], "phases") == 0)
        phases(&of);
    else
        read_trace(&of, argv[2]);
    find_truth(&of);
    fprintf(stderr, "bench_sample: %s: %" PRIu64 " references, %" PRIu64 " words\n", of.name, of.count,
            of.truth->distinct);
    uint32_t *next = find_next(&of);
    if (seeds == 0) {
        judge_all(&of, next);
        return fflush(stdout) != 0;
    }
    static const char *const single[] = {"capped", "once", "jitter"};
    for (unsigned seed = first; seed < first + seeds && argc > 6; seed++) {
        plan how = {"bound", 1000, 4, seed, true};
        judge_bound(&of, &how, next);
        for (size_t i = 0; i < sizeof single / sizeof *single; i++) {
            how.design = single[i];
            judge_plan(&of, &how);
        }
    }
    static const unsigned counts[] = {200, 1000, 5000, 20000};
    for (unsigned seed = first; seed < first + seeds && argc < 7; seed++) {
        const bool all = seed < first + SEEDS_OF_MANY;
        for (size_t i = 0; i < sizeof counts / sizeof *counts && (all || counts[i] <= 1000); i++) {
            plan how = {"plain", counts[i], 4, seed, false};
            judge_plan(&of, &how);
            how.design = "capped";
            judge_plan(&of, &how);
            how.design = "once";
            judge_plan(&of, &how);
            how.design = "jitter";
            if (counts[i] == 1000) judge_plan(&of, &how);
            how.design = "bound";
            judge_bound(&of, &how, next);
            /* Bursts that leave most of the trace unseen. */
            how.design = "bursts";
            if (of.count / counts[i] >= 8 * 4096) judge_plan(&of, &how);
            how.design = "mixed";
            if (of.count / counts[i] >= 8 * 4 * 4096) judge_plan(&of, &how);
        }
        for (unsigned registers = 1; registers <= 3 && all; registers++) {
            plan how = {"plain", 5000, registers, seed, false};
            judge_plan(&of, &how);
            how.design = "capped";
            judge_plan(&of, &how);
        }
    }
    fm_profile_destroy(of.truth);
    free(next);
    free(of.blocks);
    free(of.tags);
    return fflush(stdout) != 0;
}
