/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_formats.c - trace formats: bytes per reference as stored, and references per second decoded, for
 * the same references in every format that can be written. Through the public headers only.
 *
 * Columns are those that both the source and the format have. Decoding is timed from a file in the page
 * cache, without and with the reader's own thread; the best of the repetitions counts.
 *
 *     bench_formats [--references 20M] [--repeat 3] --work DIRECTORY TRACE…
 */
#include "contender.h"

#include <fathom/fathom.h>

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
    uint64_t *address;
    uint32_t *size;
    uint8_t *kind;
} columns;

static char message[1100];

static columns load(const char *path, uint64_t most)
{
    fm_reader *reader;
    fm_error error = {0};
    fm_reader_options options = {.fetches = FM_FETCHES_SKIP, .csv_header = -1};
    if (fm_reader_open(&reader, path, &options, &error))
        bench_die("%s", fm_error_message(&error, message, sizeof message));
    columns loaded = {.address = bench_allocate(most * sizeof(uint64_t)),
                      .size = bench_allocate(most * sizeof(uint32_t)),
                      .kind = bench_allocate(most)};
    fm_batch batch;
    fm_status status;
    while (!(status = fm_reader_next(reader, &batch, &error)) && batch.count > 0 && loaded.count < most) {
        size_t take = batch.count < most - loaded.count ? batch.count : (size_t)(most - loaded.count);
        memcpy(loaded.address + loaded.count, batch.address, take * sizeof(uint64_t));
        if (batch.size) memcpy(loaded.size + loaded.count, batch.size, take * sizeof(uint32_t));
        if (batch.kind) memcpy(loaded.kind + loaded.count, batch.kind, take);
        loaded.present = (batch.size ? FM_COLUMN_SIZE : 0U) | (batch.kind ? FM_COLUMN_KIND : 0U);
        loaded.count += take;
    }
    if (status) bench_die("%s", fm_error_message(&error, message, sizeof message));
    fm_trace_info info;
    fm_reader_info(reader, &info);
    loaded.memory_addresses = info.memory_addresses;
    fm_reader_close(reader);
    return loaded;
}

static void store(const columns *from, const char *path, unsigned kept)
{
    fm_writer *writer;
    fm_error error = {0};
    fm_writer_options options = {.columns = kept, .memory_addresses = from->memory_addresses};
    fm_status status = fm_writer_open(&writer, path, &options, &error);
    for (size_t i = 0; !status && i < from->count; i += FM_BATCH_MAX) {
        fm_batch batch = {.count = from->count - i < FM_BATCH_MAX ? from->count - i : FM_BATCH_MAX,
                          .address = from->address + i,
                          .size = kept & FM_COLUMN_SIZE ? from->size + i : NULL,
                          .kind = kept & FM_COLUMN_KIND ? from->kind + i : NULL};
        status = fm_writer_append(writer, &batch, &error);
    }
    if (!status) status = fm_writer_finish(writer, &error);
    if (status) bench_die("%s", fm_error_message(&error, message, sizeof message));
    fm_writer_close(writer);
}

/* Seconds to read it all. */
static double decode(const char *path, uint64_t expected, bool read_ahead)
{
    fm_reader *reader;
    fm_error error = {0};
    fm_reader_options options = {.fetches = FM_FETCHES_SKIP, .csv_header = -1, .read_ahead = read_ahead};
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

static void measure(const columns *from, const char *label, const char *work, const char *ending,
                    unsigned kept, uint64_t repeat)
{
    char path[600];
    snprintf(path, sizeof path, "%s/format-bench%s", work, ending);
    double start = bench_seconds();
    store(from, path, kept);
    double stored = bench_seconds() - start;
    struct stat status;
    if (stat(path, &status)) bench_die("%s: cannot look at it", path);
    double alone = 1e300, ahead = 1e300;
    for (uint64_t r = 0; r < repeat; r++) {
        double seconds = decode(path, from->count, false);
        if (seconds < alone) alone = seconds;
        seconds = decode(path, from->count, true);
        if (seconds < ahead) ahead = seconds;
    }
    double references = (double)from->count;
    printf("| %s | %s | %s%s | %.3f | %.1f | %.1f | %.1f |\n", label, ending,
           kept & FM_COLUMN_SIZE ? "size " : "", kept & FM_COLUMN_KIND ? "kind" : "",
           (double)status.st_size / references, references / stored / 1e6, references / alone / 1e6,
           references / ahead / 1e6);
    fflush(stdout);
    bench_line("bench=formats trace=%s format=%s columns=%u references=%zu bytes_per_reference=%.4f "
               "encode_mrefs=%.2f decode_mrefs=%.2f decode_ahead_mrefs=%.2f",
               label, ending, kept, from->count, (double)status.st_size / references,
               references / stored / 1e6, references / alone / 1e6, references / ahead / 1e6);
    unlink(path);
}

int main(int argc, char **argv)
{
    static const struct option options[] = {{"references", required_argument, NULL, 'n'},
                                            {"repeat", required_argument, NULL, 'r'},
                                            {"work", required_argument, NULL, 'w'},
                                            {NULL, 0, NULL, 0}};
    uint64_t references = 20000000, repeat = 3;
    const char *work = NULL;
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) switch (option) {
        case 'n':
            references = bench_count(optarg);
            break;
        case 'r':
            repeat = bench_count(optarg);
            break;
        case 'w':
            work = optarg;
            break;
        default:
            return 2;
        }
    if (!work || optind == argc) bench_die("--work DIRECTORY and a TRACE are needed");
    printf("Million references per second; decoding from the page cache.\n\n");
    printf("| trace | stored as | columns beside the address | bytes per reference | encoded | decoded | "
           "decoded, own "
           "thread |\n|---|---|---|--:|--:|--:|--:|\n");
    for (int t = optind; t < argc; t++) {
        columns from = load(argv[t], references);
        const char *slash = strrchr(argv[t], '/'), *base = slash ? slash + 1 : argv[t];
        char label[64];
        snprintf(label, sizeof label, "%.*s", (int)strcspn(base, "."), base);
        for (size_t i = 0; fm_format_at(i); i++) {
            const fm_format_info *format = fm_format_at(i);
            if (!format->can_write) continue;
            char ending[40], compressed[48];
            snprintf(ending, sizeof ending, "%.*s", (int)strcspn(format->endings, " "), format->endings);
            unsigned kept = from.present & format->columns;
            measure(&from, label, work, ending, kept, repeat);
            if (strcmp(format->name, "fathom") == 0) {
                if (kept) measure(&from, label, work, ending, 0, repeat);
            } else {
                snprintf(compressed, sizeof compressed, "%s.zst", ending);
                measure(&from, label, work, compressed, kept, repeat);
            }
        }
        free(from.address);
        free(from.size);
        free(from.kind);
    }
    return fflush(stdout) ? 1 : 0;
}
