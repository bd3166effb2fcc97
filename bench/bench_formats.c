/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_formats.c - trace formats: bytes per reference as stored, and references per second encoded and
 * decoded, for the same references in every format that can be written. Through the public headers only.
 *
 * Columns are those that both the source and the format have. The native format is also written at level 1,
 * the pace of `fathom record`, in the caller's thread and by two threads of its own. Decoding is timed from a
 * file in the page cache, without and with the reader's own thread, and, but for u64, with 2, 4, …
 * threads up to so many as --threads says (default: as there are cores); the best of the repetitions counts.
 *
 *     bench_formats [--references 20M] [--repeat 3] [--threads N] --work DIRECTORY TRACE…
 */
#include "contender.h"

#include <fathom/experimental.h>

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct columns {
    size_t count;
    unsigned present;
    bool memory_addresses;
    uint64_t *address, *site;
    uint32_t *size, *thread;
    uint8_t *kind;
} columns;

/* How a trace is written. */
typedef struct manner {
    const char *ending;
    unsigned kept; /* columns */
    int level;
    unsigned threads;
} manner;

enum { MOST_COLUMNS = 8 }; /* of numbers of threads */

typedef struct pains {
    uint64_t repeat;
    unsigned threads; /* that decode, at most */
} pains;

static char message[1100];

static columns load(const char *path, uint64_t most)
{
    fm_reader *reader;
    fm_error error = {0};
    fm_reader_options options = {.fetches = FM_FETCHES_SKIP};
    if (fm_reader_open(&reader, path, &options, &error))
        bench_die("%s", fm_error_message(&error, message, sizeof message));
    columns loaded = {.address = bench_allocate(most * sizeof(uint64_t)),
                      .site = bench_allocate(most * sizeof(uint64_t)),
                      .size = bench_allocate(most * sizeof(uint32_t)),
                      .thread = bench_allocate(most * sizeof(uint32_t)),
                      .kind = bench_allocate(most)};
    fm_batch batch;
    fm_status status;
    while (!(status = fm_reader_next(reader, &batch, &error)) && batch.count > 0 && loaded.count < most) {
        size_t take = batch.count < most - loaded.count ? batch.count : (size_t)(most - loaded.count);
        memcpy(loaded.address + loaded.count, batch.address, take * sizeof(uint64_t));
        if (batch.size) memcpy(loaded.size + loaded.count, batch.size, take * sizeof(uint32_t));
        if (batch.kind) memcpy(loaded.kind + loaded.count, batch.kind, take);
        if (batch.thread) memcpy(loaded.thread + loaded.count, batch.thread, take * sizeof(uint32_t));
        if (batch.site) memcpy(loaded.site + loaded.count, batch.site, take * sizeof(uint64_t));
        loaded.present = (batch.size ? FM_COLUMN_SIZE : 0U) | (batch.kind ? FM_COLUMN_KIND : 0U) |
                         (batch.thread ? FM_COLUMN_THREAD : 0U) | (batch.site ? FM_COLUMN_SITE : 0U);
        loaded.count += take;
    }
    if (status) bench_die("%s", fm_error_message(&error, message, sizeof message));
    fm_trace_info info;
    fm_reader_info(reader, &info);
    loaded.memory_addresses = info.memory_addresses;
    fm_reader_close(reader);
    return loaded;
}

static void store(const columns *from, const char *path, const manner *how)
{
    fm_writer *writer;
    fm_error error = {0};
    unsigned kept = how->kept;
    fm_writer_options options = {.columns = kept,
                                 .memory_addresses = from->memory_addresses,
                                 .level = how->level,
                                 .threads = how->threads};
    fm_status status = fm_writer_open(&writer, path, &options, &error);
    for (size_t i = 0; !status && i < from->count; i += FM_BATCH_MAX) {
        fm_batch batch = {.count = from->count - i < FM_BATCH_MAX ? from->count - i : FM_BATCH_MAX,
                          .address = from->address + i,
                          .size = kept & FM_COLUMN_SIZE ? from->size + i : NULL,
                          .kind = kept & FM_COLUMN_KIND ? from->kind + i : NULL,
                          .thread = kept & FM_COLUMN_THREAD ? from->thread + i : NULL,
                          .site = kept & FM_COLUMN_SITE ? from->site + i : NULL};
        status = fm_writer_append(writer, &batch, &error);
    }
    if (!status) status = fm_writer_finish(writer, &error);
    if (status) bench_die("%s", fm_error_message(&error, message, sizeof message));
    fm_writer_close(writer);
}

/* Seconds to read it all. */
static double decode(const char *path, uint64_t expected, bool read_ahead, unsigned threads)
{
    fm_reader *reader;
    fm_error error = {0};
    fm_reader_options options = {.fetches = FM_FETCHES_SKIP, .read_ahead = read_ahead, .threads = threads};
    double start = bench_seconds();
    if (fm_reader_open(&reader, path, &options, &error))
        bench_die("%s", fm_error_message(&error, message, sizeof message));
    fm_batch batch;
    uint64_t count = 0;
    fm_status status;
    while (!(status = fm_reader_next(reader, &batch, &error)) && batch.count > 0) count += batch.count;
    double seconds = bench_seconds() - start;
    fm_reader_close(reader);
    if (status) bench_die("%s", fm_error_message(&error, message, sizeof message));
    if (count != expected)
        bench_die("%s: %" PRIu64 " references came back of %" PRIu64, path, count, expected);
    return seconds;
}

/* Numbers of threads that decode: 2, 4, 8, …, and the most. 0 when there are no more. */
static unsigned threads_at(size_t index, unsigned most)
{
    unsigned threads = 2U << index, before = index ? 1U << index : 1;
    if (before >= most) return 0;
    return threads < most ? threads : most;
}

static void measure(const columns *from, const char *label, const char *work, const manner *how,
                    const pains *effort)
{
    char path[600], name[64] = "";
    snprintf(path, sizeof path, "%s/format-bench%s", work, how->ending);
    if (how->level) snprintf(name, sizeof name, " level %d", how->level);
    if (how->threads > 1) {
        size_t length = strlen(name);
        snprintf(name + length, sizeof name - length, ", %u threads", how->threads);
    }
    const bool several = strncmp(how->ending, ".u64", 4) != 0; /* threads can decode it */
    double stored = 1e300, alone = 1e300, ahead = 1e300, together[MOST_COLUMNS];
    for (size_t i = 0; i < MOST_COLUMNS; i++) together[i] = 1e300;
    for (uint64_t r = 0; r < effort->repeat; r++) {
        double start = bench_seconds();
        store(from, path, how);
        double seconds = bench_seconds() - start;
        if (seconds < stored) stored = seconds;
        seconds = decode(path, from->count, false, 1);
        if (seconds < alone) alone = seconds;
        seconds = decode(path, from->count, true, 1);
        if (seconds < ahead) ahead = seconds;
        for (size_t i = 0; several && threads_at(i, effort->threads); i++) {
            seconds = decode(path, from->count, false, threads_at(i, effort->threads));
            if (seconds < together[i]) together[i] = seconds;
        }
    }
    struct stat status;
    if (stat(path, &status)) bench_die("%s: cannot look at it", path);
    double references = (double)from->count;
    printf("| %s | %s%s | %s%s%s%s | %.3f | %.1f | %.1f | %.1f |", label, how->ending, name,
           how->kept & FM_COLUMN_SIZE ? "size " : "", how->kept & FM_COLUMN_KIND ? "kind " : "",
           how->kept & FM_COLUMN_THREAD ? "thread " : "", how->kept & FM_COLUMN_SITE ? "site" : "",
           (double)status.st_size / references, references / stored / 1e6, references / alone / 1e6,
           references / ahead / 1e6);
    for (size_t i = 0; threads_at(i, effort->threads); i++) {
        if (!several) {
            printf(" |");
            continue;
        }
        printf(" %.1f |", references / together[i] / 1e6);
        bench_line(
            "bench=decode trace=%s format=%s columns=%u level=%d threads=%u references=%zu decode_mrefs=%.2f",
            label, how->ending, how->kept, how->level, threads_at(i, effort->threads), from->count,
            references / together[i] / 1e6);
    }
    printf("\n");
    fflush(stdout);
    bench_line("bench=formats trace=%s format=%s columns=%u level=%d threads=%u references=%zu "
               "bytes_per_reference=%.4f encode_mrefs=%.2f decode_mrefs=%.2f decode_ahead_mrefs=%.2f",
               label, how->ending, how->kept, how->level, how->threads, from->count,
               (double)status.st_size / references, references / stored / 1e6, references / alone / 1e6,
               references / ahead / 1e6);
    unlink(path);
}

/* One format in all manners. */
static void measure_format(const columns *from, const char *label, const char *work,
                           const fm_format_info *format, const pains *effort)
{
    char ending[40], compressed[48];
    snprintf(ending, sizeof ending, "%.*s", (int)strcspn(format->endings, " "), format->endings);
    snprintf(compressed, sizeof compressed, "%s.zst", ending);
    unsigned kept = from->present & format->columns;
    measure(from, label, work, &(manner){.ending = ending, .kept = kept}, effort);
    if (strcmp(format->name, "fathom") != 0) {
        measure(from, label, work, &(manner){.ending = compressed, .kept = kept}, effort);
        return;
    }
    measure(from, label, work, &(manner){.ending = ending, .kept = kept, .level = 1}, effort);
    measure(from, label, work, &(manner){.ending = ending, .kept = kept, .level = 1, .threads = 2}, effort);
    if (kept) measure(from, label, work, &(manner){.ending = ending}, effort);
}

int main(int argc, char **argv)
{
    static const struct option options[] = {{"references", required_argument, NULL, 'n'},
                                            {"repeat", required_argument, NULL, 'r'},
                                            {"threads", required_argument, NULL, 't'},
                                            {"work", required_argument, NULL, 'w'},
                                            {NULL, 0, NULL, 0}};
    uint64_t references = 20000000, threads = bench_processors();
    pains effort = {.repeat = 3};
    const char *work = NULL;
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) switch (option) {
        case 'n':
            references = bench_count(optarg);
            break;
        case 'r':
            effort.repeat = bench_count(optarg);
            break;
        case 't':
            threads = bench_count(optarg);
            break;
        case 'w':
            work = optarg;
            break;
        default:
            return 2;
        }
    if (!work || optind == argc) bench_die("--work DIRECTORY and a TRACE are needed");
    effort.threads = threads < 1U << MOST_COLUMNS ? (unsigned)threads : 1U << MOST_COLUMNS;
    printf("Million references per second; decoding from the page cache.\n\n");
    printf("| trace | stored as | other columns | bytes per reference | encoded | decoded | "
           "in own thread |");
    for (size_t i = 0; threads_at(i, effort.threads); i++)
        printf(" %u threads |", threads_at(i, effort.threads));
    printf("\n|---|---|---|--:|--:|--:|--:|");
    for (size_t i = 0; threads_at(i, effort.threads); i++) printf("--:|");
    printf("\n");
    for (int t = optind; t < argc; t++) {
        columns from = load(argv[t], references);
        const char *slash = strrchr(argv[t], '/'), *base = slash ? slash + 1 : argv[t];
        char label[64];
        snprintf(label, sizeof label, "%.*s", (int)strcspn(base, "."), base);
        for (size_t i = 0; fm_format_at(i); i++)
            if (fm_format_at(i)->can_write) measure_format(&from, label, work, fm_format_at(i), &effort);
        free(from.address);
        free(from.site);
        free(from.thread);
        free(from.size);
        free(from.kind);
    }
    return fflush(stdout) ? 1 : 0;
}
