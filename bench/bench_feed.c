/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_feed.c - the way of a stored trace to a graphics card, step by step: what each adds, and with how
 * many threads.
 *
 *     bench_feed [--threads 1,2,4,8,16] [--granularity 64] [--steps NAME,...] [--repeat 3] [--key COLUMN]
 *                [--size COLUMN] TRACE
 *
 * The trace is a native one or one of lines, in a file: what threads divide among themselves. Of a table, the
 * columns of the key and of the size can be named.
 *
 * Steps, from `claim` to `upload` each with those before it:
 *     read      the file's bytes, 256 KiB at a time
 *     ahead     decoding for one thread that takes batches (fm_reader_next)
 *     claim     dividing the trace among threads (supply.h), which one at a time does
 *     decode    decoding, every thread for itself
 *     cut       and into blocks, without repeats
 *     copy      and from there into memory of 2 MiB for each thread, twice
 *     upload    the same into memory that the card reads, and sent to it
 *     exact     fm_analyze with the engine exact
 *     gpu       fm_analyze with the engine gpu, without the time that it takes to create one; idle_card.c is
 *               a card for machines without one
 *
 * Rates are references of the trace a second, and the processors' time in ns a reference: the best turns.
 */
#define _GNU_SOURCE
#include "contender.h"

#include "analyzer/analyzer_state.h"
#include "base/crew.h"
#include "engine/gpu/gpu.h"
#include "trace/supply.h"

#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { MOST_THREADS = FM_GPU_PIECES / 2, READ = 256 << 10, PIECE = 1 << 18 };

static void check(fm_status status, const fm_error *error)
{
    if (status != FM_OK) bench_die("%s", error->reason);
}

static double processor_seconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

typedef enum step { READING, AHEAD, CLAIM, DECODE, CUT, COPY, UPLOAD, EXACT, GPU, STEPS } step;
static const char *const step_names[STEPS] = {"read", "ahead",  "claim", "decode", "cut",
                                              "copy", "upload", "exact", "gpu"};

typedef struct feeding {
    const char *path, *key, *size;
    uint64_t granularity;
    step until;
    unsigned threads;
    /* What threads share. */
    int file;
    uint64_t bytes;
    uint64_t next; /* atomic */
    fm_supply supply;
    pthread_mutex_t claiming;
    fm_analyzer *analyzer;
    const fm_gpu_module *module;
    fm_gpu_card *card;
    void *pinned;
    uint64_t references; /* atomic */
} feeding;

/* ---- the threads' work ---- */

static void read_file(feeding *feed)
{
    char *buffer = bench_allocate(READ);
    for (;;) {
        const uint64_t at = __atomic_fetch_add(&feed->next, READ, __ATOMIC_RELAXED);
        if (at >= feed->bytes) break;
        if (pread(feed->file, buffer, READ, (off_t)at) <= 0) bench_die("cannot read");
    }
    free(buffer);
}

/* A thread has two pieces, which it fills in turn. */
typedef struct filling {
    feeding *feed;
    unsigned first, turn;
    uint64_t *memory[2];
    size_t filled;
} filling;

static void begin_piece(filling *fill)
{
    fm_error error;
    fill->filled = 0;
    if (fill->feed->until == UPLOAD)
        check(fill->feed->module->wait_for_piece(fill->feed->card, fill->first + fill->turn % 2, &error),
              &error);
}

static void end_piece(filling *fill)
{
    fm_error error;
    feeding *feed = fill->feed;
    if (feed->until == UPLOAD && fill->filled > 0)
        check(feed->module->upload(feed->card, fill->first + fill->turn % 2, fill->memory[fill->turn % 2],
                                   fill->filled, 0, (size_t)fill->first * PIECE, &error),
              &error);
    fill->turn++;
}

static void put(filling *fill, const uint64_t *blocks, size_t count)
{
    while (count > 0) {
        const size_t room = PIECE - fill->filled, some = count < room ? count : room;
        memcpy(fill->memory[fill->turn % 2] + fill->filled, blocks, some * sizeof *blocks);
        fill->filled += some;
        blocks += some;
        count -= some;
        if (fill->filled < PIECE) continue;
        end_piece(fill);
        begin_piece(fill);
    }
}

static void fetch_all(feeding *feed, unsigned number)
{
    fm_prepared prepared = {.preparer = number % FM_PREPARERS};
    filling fill = {.feed = feed, .first = 2 * number};
    fm_error error;
    uint64_t references = 0;
    if (feed->until == COPY)
        for (int i = 0; i < 2; i++) fill.memory[i] = bench_allocate(PIECE * sizeof(uint64_t));
    if (feed->until == UPLOAD)
        for (unsigned i = 0; i < 2; i++)
            fill.memory[i] = (uint64_t *)feed->pinned + (fill.first + i) * (size_t)PIECE;
    if (feed->until >= COPY) begin_piece(&fill);
    for (;;) {
        fm_trace_range range;
        fm_batch batch;
        pthread_mutex_lock(&feed->claiming);
        const bool claimed = feed->supply.claim(feed->supply.context, PIECE, &range);
        pthread_mutex_unlock(&feed->claiming);
        if (!claimed) break;
        while (feed->until > CLAIM) {
            check(feed->supply.fetch(feed->supply.context, number, &range, &batch, &error), &error);
            if (batch.count == 0) break;
            references += batch.count;
            if (feed->until < CUT) continue;
            check(fm_analyzer_prepare(feed->analyzer, &batch, &prepared, &error), &error);
            if (feed->until >= COPY) put(&fill, prepared.blocks, prepared.count);
        }
    }
    if (feed->until >= COPY) end_piece(&fill);
    if (feed->until == COPY)
        for (int i = 0; i < 2; i++) free(fill.memory[i]);
    fm_prepared_free(&prepared);
    __atomic_fetch_add(&feed->references, references, __ATOMIC_RELAXED);
}

static void work(void *context, size_t number)
{
    feeding *feed = context;
    if (feed->until == READING)
        read_file(feed);
    else
        fetch_all(feed, (unsigned)number);
}

/* ---- one turn ---- */

static fm_reader *open_reader(const feeding *feed)
{
    const fm_reader_options reading = {.read_ahead = feed->threads > 1,
                                       .threads = feed->threads,
                                       .csv_key = feed->key,
                                       .csv_size = feed->size};
    fm_reader *reader;
    fm_error error;
    check(fm_reader_open(&reader, feed->path, &reading, &error), &error);
    return reader;
}

static double take_batches(feeding *feed)
{
    fm_reader *reader = open_reader(feed);
    fm_error error;
    fm_batch batch;
    const double start = bench_seconds();
    for (;;) {
        check(fm_reader_next(reader, &batch, &error), &error);
        if (batch.count == 0) break;
        feed->references += batch.count;
    }
    const double seconds = bench_seconds() - start;
    fm_reader_close(reader);
    return seconds;
}

static double by_threads(feeding *feed)
{
    fm_rounds *rounds;
    fm_reader *reader = open_reader(feed);
    fm_error error;
    check(fm_rounds_create(&rounds, feed->threads, &error), &error);
    if (feed->until > READING)
        check(fm_reader_share(reader, feed->threads, false, &feed->supply, &error), &error);
    const double start = bench_seconds();
    fm_rounds_run(rounds, work, feed, feed->threads);
    const double seconds = bench_seconds() - start;
    fm_rounds_destroy(rounds);
    fm_reader_close(reader);
    return seconds;
}

static double analyze(feeding *feed)
{
    const fm_analyzer_options options = {
        .engine = step_names[feed->until], .granularity = feed->granularity, .threads = feed->threads};
    const fm_analyze_options how = {.threads = feed->threads};
    fm_reader *reader = open_reader(feed);
    fm_analyzer *analyzer;
    fm_profile *profile;
    fm_error error;
    check(fm_analyzer_create(&analyzer, &options, &error), &error);
    const double start = bench_seconds();
    check(fm_analyze(reader, &analyzer, 1, &how, &error), &error);
    check(fm_analyzer_profile(analyzer, &profile, &error), &error);
    const double seconds = bench_seconds() - start;
    feed->references = profile->references;
    for (size_t i = 0; i < profile->stage_count && getenv("BENCH_STAGES"); i++)
        fprintf(stderr, "%s %.1f ms%s", profile->stages[i].name, profile->stages[i].seconds * 1e3,
                i + 1 == profile->stage_count ? "\n" : ", ");
    fm_profile_destroy(profile);
    fm_analyzer_destroy(analyzer);
    fm_reader_close(reader);
    return seconds;
}

static void open_card(feeding *feed)
{
    const fm_gpu_setup setup = {
        .batch = (size_t)2 * MOST_THREADS * PIECE, .stack = (size_t)4 * MOST_THREADS * PIECE, .count = true};
    fm_error error;
    check(fm_gpu_load(&feed->module, &error), &error);
    check(feed->module->open(&feed->card, &setup, &error), &error);
    check(feed->module->pin(0, (size_t)FM_GPU_PIECES * PIECE * sizeof(uint64_t), &feed->pinned, &error),
          &error);
}

/* Prints a cell. references: of the trace. */
static void measure(feeding feed, int repeat, uint64_t references)
{
    double best = 1e9, least = 1e9; /* each by itself: both only ever grow when others have the machine */
    fm_error error;
    const fm_analyzer_options options = {.granularity = feed.granularity};
    check(fm_analyzer_create(&feed.analyzer, &options, &error), &error);
    if (feed.until == UPLOAD) open_card(&feed);
    for (int turn = 0; turn < repeat; turn++) {
        const double busy = processor_seconds();
        feed.references = feed.next = 0;
        const double seconds = feed.until == AHEAD    ? take_batches(&feed)
                               : feed.until <= UPLOAD ? by_threads(&feed)
                                                      : analyze(&feed);
        const bool counted = feed.until != READING && feed.until != CLAIM && feed.until < EXACT;
        if (counted && feed.references != references)
            bench_die("%" PRIu64 " references, not %" PRIu64, feed.references, references);
        const double used = processor_seconds() - busy;
        if (seconds < best) best = seconds;
        if (used < least) least = used;
    }
    if (feed.card) {
        feed.module->close(feed.card);
        feed.module->unpin(feed.pinned);
    }
    fm_analyzer_destroy(feed.analyzer);
    printf(" %.0f (%.2f) |", (double)references / best / 1e6, least / (double)references * 1e9);
    fflush(stdout);
    bench_line("part=feed step=%s threads=%u references=%" PRIu64 " seconds=%.6f processors=%.6f",
               step_names[feed.until], feed.threads, references, best, least);
}

/* For traces that do not say how many they have, such as text. */
static uint64_t count_references(feeding feed)
{
    feed.until = AHEAD;
    take_batches(&feed);
    return feed.references;
}

int main(int argc, char **argv)
{
    char usual_threads[] = "1,2,4,8,16", usual_steps[] = "ahead,read,claim,decode,cut,copy,upload,exact,gpu";
    char *threads = usual_threads, *steps = usual_steps;
    feeding feed = {.granularity = 64, .claiming = PTHREAD_MUTEX_INITIALIZER};
    int repeat = 3;
    static const struct option names[] = {{"threads", required_argument, NULL, 't'},
                                          {"granularity", required_argument, NULL, 'g'},
                                          {"steps", required_argument, NULL, 's'},
                                          {"repeat", required_argument, NULL, 'r'},
                                          {"key", required_argument, NULL, 'k'},
                                          {"size", required_argument, NULL, 'b'},
                                          {0}};
    for (int given; (given = getopt_long(argc, argv, "", names, NULL)) != -1;) {
        if (given == 't')
            threads = optarg;
        else if (given == 'g')
            feed.granularity = bench_count(optarg);
        else if (given == 's')
            steps = optarg;
        else if (given == 'r' && atoi(optarg) > 0)
            repeat = atoi(optarg);
        else if (given == 'k')
            feed.key = optarg;
        else if (given == 'b')
            feed.size = optarg;
        else
            return 2;
    }
    if (optind + 1 != argc)
        bench_die(
            "usage: bench_feed [--threads N,...] [--granularity N] [--steps ...] [--key C] [--size C] TRACE");
    feed.path = argv[optind];
    struct stat about;
    feed.file = open(feed.path, O_RDONLY | O_CLOEXEC);
    if (feed.file < 0 || fstat(feed.file, &about) != 0) bench_die("cannot open %s", feed.path);
    feed.bytes = (uint64_t)about.st_size;
    const char *counts[16], *wanted[STEPS];
    const size_t columns = bench_split(threads, counts, 16), rows = bench_split(steps, wanted, STEPS);
    fm_trace_info info;
    feed.threads = 1;
    fm_reader *reader = open_reader(&feed);
    fm_reader_info(reader, &info);
    fm_reader_close(reader);
    const uint64_t references = info.references_total ? info.references_total : count_references(feed);
    if (references == 0) bench_die("%s has no references", feed.path);
    printf("M references/s of the trace; in brackets the processors' time in ns a reference\n\n| threads |");
    for (size_t i = 0; i < columns; i++) printf(" %s |", counts[i]);
    printf("\n|---|");
    for (size_t i = 0; i < columns; i++) printf("---:|");
    for (size_t row = 0; row < rows; row++) {
        feed.until = READING;
        while (feed.until < STEPS && strcmp(wanted[row], step_names[feed.until]) != 0) feed.until++;
        if (feed.until == STEPS) bench_die("there is no step %s", wanted[row]);
        printf("\n| %s |", wanted[row]);
        for (size_t i = 0; i < columns; i++) {
            feed.threads = (unsigned)bench_count(counts[i]);
            if (feed.threads < 1 || feed.threads > MOST_THREADS) bench_die("%s threads", counts[i]);
            measure(feed, repeat, references);
        }
    }
    printf("\n\n%.1f M references, %.3f bytes each\n", (double)references / 1e6,
           (double)feed.bytes / (double)references);
    return 0;
}
