/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_decode.c - how fast the receiver reads what a traced program sends: made-up chunks of both producers,
 * decoded by each instruction set. Time on this thread's clock, the best of the repetitions; in ns a
 * reference.
 *
 *     bench_decode [--chunks 32] [--repeat 40]
 *
 * 32 chunks are 4 MiB: more than a second-level cache holds, as the ring of a running program is.
 */
#include "contender.h"

#include "collect/decoder.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BLOCKS = 1500, PAGES = 50, SPARE = 8 };

typedef struct chunks {
    size_t count;
    uint64_t **words; /* the first one is read once: it has the definitions */
    size_t *counts;
} chunks;

static uint64_t state = 1;

static uint64_t next_random(void)
{
    uint64_t z = state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

/* Few are frequent, many are rare. */
static uint64_t skewed(uint64_t below)
{
    uint64_t a = next_random() % below, b = next_random() % below, c = next_random() % below;
    uint64_t least = a < b ? a : b;
    return least < c ? least : c;
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static chunks make_chunks(size_t count)
{
    count++;
    chunks made = {count, bench_allocate(count * sizeof *made.words),
                   bench_allocate(count * sizeof *made.counts)};
    for (size_t i = 0; i < count; i++) {
        made.words[i] = bench_allocate(FM_CHUNK_BYTES + SPARE * 8);
        made.counts[i] = 0;
    }
    return made;
}

/* Blocks of 1 to 5 accesses, three on average, as programs under Valgrind have them. stack: with stack
 * pointers, and every tenth block calls. */
static chunks valgrind_chunks(size_t count, bool stack)
{
    chunks made = make_chunks(count);
    for (size_t i = 0; i < made.count; i++) {
        uint64_t *to = made.words[i], *from = to;
        for (uint64_t b = 0; i == 0 && b < BLOCKS; b++) {
            uint64_t accesses = b % 5 + 1,
                     flags = stack ? FM_BLOCK_HAS_SP | (b % 10 ? 0 : FM_BLOCK_CALLS) : 0;
            *to++ = FM_RECORD(FM_RECORD_DEFINE, 0, 4 + accesses);
            *to++ = b | accesses << 32 | flags << 48;
            *to++ = 0;
            *to++ = 0x400000 + b * 64;
            *to++ = 0x400000 + b * 64 + 32;
            for (uint64_t k = 0; k < accesses; k++) *to++ = (0x400000 + b * 64 + k * 4) | UINT64_C(8) << 48;
        }
        while (i > 0 && (size_t)(to - from) + 16 < FM_CHUNK_WORDS) {
            uint64_t b = skewed(BLOCKS);
            *to++ = FM_RECORD(FM_RECORD_BLOCK, b, 0);
            if (stack) *to++ = 0x7FF000 - next_random() % 64 * 8;
            for (uint64_t k = 0; k < b % 5 + 1; k++) *to++ = UINT64_C(0x10000000) + next_random() % (1 << 24);
        }
        made.counts[i] = (size_t)(to - from);
    }
    return made;
}

/* Accesses of a program built by fathom cc, another page of code every dozen. */
static chunks compiler_chunks(size_t count)
{
    static const unsigned codes[] = {FM_ACCESS_LOAD_4, FM_ACCESS_LOAD_8, FM_ACCESS_STORE_8, FM_ACCESS_LOAD_1};
    chunks made = make_chunks(count);
    for (size_t i = 0; i < made.count; i++) {
        uint64_t *to = made.words[i];
        to[made.counts[i]++] = FM_RECORD(FM_RECORD_PAGE, 0x400, 0);
        while (made.counts[i] < FM_CHUNK_WORDS)
            to[made.counts[i]++] = next_random() % 12 == 0
                                       ? FM_RECORD(FM_RECORD_PAGE, 0x400 + skewed(PAGES), 0)
                                       : FM_ACCESS_WORD(0x10000000 + next_random() % (1 << 24),
                                                        codes[next_random() % 4], skewed(300) * 13);
    }
    return made;
}

static void free_chunks(chunks *made)
{
    for (size_t i = 0; i < made->count; i++) free(made->words[i]);
    free(made->words);
    free(made->counts);
}

static void measure(const char *what, const chunks *made, unsigned producer, unsigned columns, bool paths,
                    int repeat)
{
    static const char *const isas[] = {"avx512", "avx2", "portable"};
    printf("%-44s", what);
    for (size_t i = 0; i < 3; i++) {
        fm_collect_filter filter = {
            .loads = true, .stores = true, .tags = columns & FM_COLUMN_TAG, .paths = paths};
        fm_error error;
        fm_decoder *decoder;
        fm_traced_thread *thread;
        if (!fm_decode_kernels_find(isas[i])) {
            printf("  %8s     -", isas[i]);
            continue;
        }
        if (fm_decoder_create(&decoder, &filter, columns, isas[i], &error)) bench_die("%s", error.reason);
        fm_process *process = fm_process_create(1, 1, NULL, false, &error);
        if (!process || fm_process_thread(process, 1, &thread, &error)) bench_die("%s", error.reason);
        double best = 1e9;
        uint64_t references = 0;
        for (int turn = 0; turn <= repeat; turn++) {
            double begin = now();
            references = 0;
            for (size_t k = turn > 0; k < made->count; k++) {
                fm_decoder_begin(decoder, producer, process, thread, 0, made->words[k], made->counts[k]);
                while (decoder->words) {
                    if (fm_decoder_read(decoder, &error)) bench_die("%s", error.reason);
                    references += decoder->rows.count;
                    decoder->rows.count = 0;
                }
            }
            double took = now() - begin;
            if (turn > 0 && took < best) best = took;
        }
        printf("  %8s %5.2f", isas[i], best / (double)references * 1e9);
        fm_process_destroy(process);
        fm_decoder_destroy(decoder);
    }
    printf("\n");
}

int main(int argc, char **argv)
{
    static const struct option names[] = {{"chunks", 1, NULL, 'c'}, {"repeat", 1, NULL, 'r'}, {0}};
    size_t count = 32;
    int repeat = 40;
    for (int option; (option = getopt_long(argc, argv, "", names, NULL)) != -1;) {
        if (option == 'c' && atoi(optarg) > 0)
            count = (size_t)atoi(optarg);
        else if (option == 'r' && atoi(optarg) > 0)
            repeat = atoi(optarg);
        else
            bench_die("usage: bench_decode [--chunks N] [--repeat N]");
    }
    const unsigned run = FM_COLUMN_SIZE | FM_COLUMN_TAG, plain = FM_COLUMN_SIZE;
    const unsigned record = FM_COLUMN_SIZE | FM_COLUMN_KIND | FM_COLUMN_THREAD | FM_COLUMN_SITE;
    printf("ns a reference, decoded from %zu chunks of %d KiB\n", count, FM_CHUNK_BYTES >> 10);
    chunks made = valgrind_chunks(count, false);
    measure("Valgrind, size and tag (run)", &made, FM_PRODUCER_VALGRIND, run, false, repeat);
    measure("Valgrind, size", &made, FM_PRODUCER_VALGRIND, plain, false, repeat);
    measure("Valgrind, size, kind, thread, site (record)", &made, FM_PRODUCER_VALGRIND, record, false,
            repeat);
    free_chunks(&made);
    made = valgrind_chunks(count, true);
    measure("Valgrind, call paths", &made, FM_PRODUCER_VALGRIND, run, true, repeat);
    free_chunks(&made);
    made = compiler_chunks(count);
    measure("compiler, size and tag (run)", &made, FM_PRODUCER_COMPILER, run, false, repeat);
    measure("compiler, size", &made, FM_PRODUCER_COMPILER, plain, false, repeat);
    measure("compiler, size, kind, thread, site (record)", &made, FM_PRODUCER_COMPILER, record, false,
            repeat);
    free_chunks(&made);
    return 0;
}
