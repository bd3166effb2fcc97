/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_line_threads.c - traces of lines (text, csv, lackey, din): what was written is what is read, plain
 * lines and odd ones mixed, by one thread and by several, out of plain files, compressed ones and pipes;
 * errors have the right line whoever met them; and the same where threads fetch ranges for themselves.
 *
 * The judge knows what it wrote: it makes the text out of the references.
 */
#include "case.h"

#include "trace/supply.h"
#include "unit/trace_helpers.h"

#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <zstd.h>

enum { MOST_BYTES = 4 << 20, MOST_REFERENCES = 300000 };

typedef struct written {
    const char *format;
    char *text;
    size_t size;
    size_t count;
    uint64_t *address;
    uint32_t *length; /* NULL: the format has none */
    uint8_t *kind;    /* likewise */
    size_t wrong;     /* references before the line that is wrong; SIZE_MAX: none is */
    uint64_t line;    /* its number */
} written;

static fm_reader_options options_of(const written *trace, unsigned threads)
{
    fm_reader_options options = {.format = trace->format, .fetches = FM_FETCHES_ALL, .threads = threads};
    if (strcmp(trace->format, "csv") == 0) {
        options.csv_key = "offset";
        options.csv_size = trace->length ? "size" : NULL;
    }
    return options;
}

/* A number of up to so many digits; small ones are as frequent as large ones. */
static uint64_t number(uint64_t *random, unsigned bits)
{
    return random_from(random) >> (64 - bits) >> random_from(random) % bits;
}

typedef enum oddity { PLAIN, SOME_ODD, STRINGS, QUOTES } oddity;

/* One line, or row, or several, with one reference at most. Returns how many lines it took. */
static unsigned write_line(written *trace, char **at, uint64_t *random, oddity odd)
{
    const uint64_t key = number(random, 64), dice = odd == PLAIN ? 99 : random_from(random) % 40;
    const uint32_t length = (uint32_t)number(random, 20) + 1;
    const unsigned kind = (unsigned)(random_from(random) & 3);
    const char *end = random_from(random) % 4 ? "\n" : "\r\n";
    const size_t n = trace->count;
    unsigned lines = 1;
    trace->address[n] = key;
    if (trace->length) trace->length[n] = length;
    if (trace->kind) trace->kind[n] = (uint8_t)kind;
    trace->count++;
    if (dice == 0) { /* no reference at all */
        trace->count--;
        *at +=
            sprintf(*at, strcmp(trace->format, "lackey") == 0 ? "==12== a message, of Valgrind\n" : " \r\n");
    } else if (strcmp(trace->format, "text") == 0) {
        if (odd == STRINGS && dice < 4) {
            *at += sprintf(*at, "key %u\n", (unsigned)dice);
            trace->address[n] = 0; /* whatever it is hashed to */
        } else if (dice < 4) {
            *at += sprintf(*at, dice == 1 ? "0x%" PRIx64 "%s" : "  %" PRIu64 "\t%s", key, end);
        } else {
            *at += sprintf(*at, "%" PRIu64 "%s", key, end);
        }
    } else if (strcmp(trace->format, "csv") == 0) {
        if (trace->length && key + length < key) trace->address[n] = 12;
        const char *note = odd == QUOTES && dice == 2 ? "\"a,\nb\""
                           : dice == 3                ? "a long remark, that goes on"
                                                      : "x";
        lines += odd == QUOTES && dice == 2;
        *at += sprintf(*at, dice == 4 ? "%u, %" PRIu64 " ,%u,%s%s" : "%u,%" PRIu64 ",%u,%s%s", (unsigned)n,
                       trace->address[n], trace->length ? length : 7, note, end);
    } else if (strcmp(trace->format, "lackey") == 0) {
        *at += sprintf(*at, dice == 1 ? "%s %" PRIX64 ",%u%s" : "%s %08" PRIx64 ",%u%s",
                       (const char *[]){" L", " S", " M", "I "}[kind], key, length, end);
    } else {
        static const unsigned labels[] = {0, 1, 3, 2};
        if (kind == FM_KIND_MODIFY) trace->kind[n] = FM_KIND_LOAD; /* label 3 */
        *at += sprintf(*at, dice == 1 ? " %u  0x%" PRIx64 " comment%s" : "%u %" PRIx64 "%s", labels[kind],
                       key, end);
    }
    return lines;
}

static written write_trace(const char *format, size_t count, oddity odd, size_t wrong, bool sizes,
                           uint64_t *random)
{
    written trace = {.format = format, .wrong = wrong, .text = malloc(MOST_BYTES)};
    trace.address = calloc(MOST_REFERENCES, sizeof *trace.address);
    const bool lackey = strcmp(format, "lackey") == 0, din = strcmp(format, "din") == 0;
    if (lackey || sizes) trace.length = calloc(MOST_REFERENCES, sizeof *trace.length);
    if (lackey || din) trace.kind = calloc(MOST_REFERENCES, sizeof *trace.kind);
    char *at = trace.text;
    uint64_t line = 1;
    if (strcmp(format, "csv") == 0) {
        at += sprintf(at, "n,offset,size,note\n");
        line++;
    }
    while (trace.count < count && at - trace.text < MOST_BYTES - 4096) {
        if (trace.count >= wrong && !trace.line) {
            trace.line = line;
            trace.wrong = trace.count;
            at += sprintf(at,
                          strcmp(format, "csv") == 0    ? "1\n"
                          : strcmp(format, "text") == 0 ? "a%cb\n"
                                                        : "what\n",
                          0);
        }
        line += write_line(&trace, &at, random, odd);
    }
    if (random_from(random) % 2 && at > trace.text && at[-1] == '\n' && !trace.line)
        at--; /* the last line without its end */
    trace.size = (size_t)(at - trace.text);
    return trace;
}

static void written_free(written *trace)
{
    free(trace->text);
    free(trace->address);
    free(trace->length);
    free(trace->kind);
}

static void assert_as_written(const written *trace, const gathered *all, bool strings)
{
    const bool wrong = trace->line > 0;
    if (all->status != (wrong ? FM_E_FORMAT : FM_OK)) fail_msg("%s: %s", trace->format, all->message);
    if (wrong) assert_int_equal(all->error.offset, trace->line);
    assert_int_equal(all->count, wrong ? trace->wrong : trace->count);
    for (size_t i = 0; i < all->count; i++) {
        if (!strings || trace->address[i]) assert_int_equal(all->address[i], trace->address[i]);
        if (trace->length) assert_int_equal(all->size[i], trace->length[i]);
        if (trace->kind) assert_int_equal(all->kind[i], trace->kind[i]);
    }
    if (strings) assert_int_equal(all->info.string_keys, 3);
}

/* ---- the ways to a trace ---- */

typedef struct pipe_writer {
    const char *path;
    const written *trace;
} pipe_writer;

static void *write_pipe(void *argument)
{
    const pipe_writer *self = argument;
    const int file = open(self->path, O_WRONLY);
    for (size_t at = 0; file >= 0 && at < self->trace->size;) {
        const size_t left = self->trace->size - at;
        const ssize_t done = write(file, self->trace->text + at, left < 50001 ? left : 50001);
        if (done <= 0) break; /* the reader has closed it */
        at += (size_t)done;
    }
    close(file);
    return NULL;
}

static void gather_pipe(gathered *all, const written *trace, unsigned threads)
{
    const char *path = in_directory("pipe");
    const fm_reader_options options = options_of(trace, threads);
    const pipe_writer writer = {path, trace};
    pthread_t thread;
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(pthread_create(&thread, NULL, write_pipe, (void *)&writer), 0);
    gather(all, path, &options);
    pthread_join(thread, NULL);
}

/* Whether the trace can be had in ranges at all; the references are compared. */
static void assert_shared(const written *trace, const char *path, unsigned workers)
{
    fm_reader *reader = NULL;
    fm_error error;
    fm_supply supply;
    fm_batch batch;
    fm_trace_range range;
    size_t count = 0;
    const fm_reader_options options = options_of(trace, workers);
    assert_int_equal(fm_reader_open(&reader, path, &options, &error), FM_OK);
    assert_int_equal(fm_reader_share(reader, workers, false, &supply, &error), FM_OK);
    for (unsigned i = 0; supply.claim(supply.context, 1 + i * 7919, &range); i++) do {
            assert_int_equal(supply.fetch(supply.context, i % workers, &range, &batch, &error), FM_OK);
            assert_memory_equal(batch.address, trace->address + count, batch.count * sizeof *batch.address);
            count += batch.count;
        } while (batch.count > 0);
    while (fm_reader_next(reader, &batch, &error) == FM_OK && batch.count > 0) {
        assert_memory_equal(batch.address, trace->address + count, batch.count * sizeof *batch.address);
        count += batch.count;
    }
    assert_int_equal(count, trace->count);
    fm_trace_info info;
    fm_reader_info(reader, &info);
    assert_int_equal(info.references, trace->count);
    fm_reader_close(reader);
}

/* Under a sanitizer each way with one number of threads, with another one the next time. */
static void try_all_ways(const written *trace, bool strings)
{
    static size_t times;
    const size_t first = test_stride() > 1 ? times++ % 3 : 0;
    gathered all;
    const char *path = in_directory("plain"), *packed = in_directory("packed.zst");
    write_file(path, trace->text, trace->size);
    char *bytes = malloc(ZSTD_compressBound(trace->size));
    write_file(packed, bytes,
               ZSTD_compress(bytes, ZSTD_compressBound(trace->size), trace->text, trace->size, 1));
    free(bytes);
    static const unsigned threads[] = {0, 2, 5};
    for (size_t i = 0; i < 9; i++) {
        const size_t way = i % 3, which = (i / 3 + way + first) % 3;
        const fm_reader_options options = options_of(trace, threads[which]);
        if (test_stride() > 1 && i >= 3) break;
        if (way == 2)
            gather_pipe(&all, trace, threads[which]);
        else
            gather(&all, way == 0 ? path : packed, &options);
        assert_as_written(trace, &all, strings);
        gathered_free(&all);
    }
}

static const char *const formats[] = {"text", "csv", "lackey", "din"};

CASE(what_was_written_is_read)
{
    const size_t step = test_stride() > 1 ? 3 : 1;
    uint64_t random = 7;
    for (size_t i = 0; i < 40; i += step) {
        const char *format = formats[i % 4];
        const size_t count = (i < 8 ? 0 : i < 16 ? 1 : 100000 / step) + random_from(&random) % 3;
        written trace =
            write_trace(format, count, i / 4 % 2 ? SOME_ODD : PLAIN, SIZE_MAX, i % 8 == 1, &random);
        if (strcmp(format, "csv") != 0 || trace.count > 0) try_all_ways(&trace, false);
        written_free(&trace);
    }
}

CASE(strings_and_quotes)
{
    const size_t step = test_stride() > 1 ? 2 : 1;
    uint64_t random = 11;
    for (size_t i = 0; i < 4; i++) {
        written trace = write_trace(i % 2 ? "csv" : "text", 60000 / step, i % 2 ? QUOTES : STRINGS, SIZE_MAX,
                                    false, &random);
        try_all_ways(&trace, i % 2 == 0);
        written_free(&trace);
    }
}

CASE(wrong_lines)
{
    const size_t step = test_stride() > 1 ? 3 : 1;
    uint64_t random = 13;
    for (size_t i = 0; i < 16; i += step) {
        written trace = write_trace(formats[i % 4], 90000 / step, i / 4 % 2 ? SOME_ODD : PLAIN,
                                    (size_t)(random_from(&random) % (80000 / step)), false, &random);
        try_all_ways(&trace, false);
        written_free(&trace);
    }
}

/* All lines of a trace end in a carriage return alone, as on old Macintoshes. */
static void end_in_returns(written *trace)
{
    size_t size = 0;
    for (size_t i = 0; i < trace->size; i++)
        if (trace->text[i] != '\r') trace->text[size++] = trace->text[i] == '\n' ? '\r' : trace->text[i];
    trace->size = size;
}

CASE(lines_that_end_in_returns)
{
    const size_t step = test_stride() > 1 ? 3 : 1;
    uint64_t random = 23;
    for (size_t i = 0; i < 24; i += step) {
        const oddity odd = i / 8 == 0   ? PLAIN
                           : i / 8 == 1 ? SOME_ODD
                           : i % 4 == 0 ? STRINGS
                           : i % 4 == 1 ? QUOTES
                                        : PLAIN;
        const size_t count = (i % 8 < 4 ? 1 : 40000 / step) + random_from(&random) % 3;
        const size_t wrong =
            i / 4 % 2 && i / 8 < 2 ? (size_t)random_from(&random) % (40000 / step) : SIZE_MAX;
        written trace = write_trace(formats[i % 4], count, odd, wrong, false, &random);
        end_in_returns(&trace);
        try_all_ways(&trace, odd == STRINGS && i % 8 >= 4);
        written_free(&trace);
    }
}

/* One line ends in another way than all before it: said, whoever reads it, and nothing behind it is read. */
CASE(mixed_line_ends)
{
    const size_t step = test_stride() > 1 ? 3 : 1, count = 60000 / step;
    uint64_t random = 29;
    for (size_t i = 0; i < 32; i += step) {
        written trace =
            write_trace(formats[i % 4], count, PLAIN, SIZE_MAX, i / 16 == 1 && i % 4 == 1, &random);
        const bool returns = i / 4 % 2;
        if (returns) end_in_returns(&trace);
        /* One line is one reference; the header of a table is none. */
        const size_t other = 1 + (size_t)random_from(&random) % (i / 8 % 2 ? 40 : count - 3),
                     header = strcmp(trace.format, "csv") == 0;
        char *end = trace.text;
        for (size_t line = 0; line <= other + header; line++)
            end = (char *)memchr(end, returns ? '\r' : '\n', (size_t)(trace.text + trace.size - end)) + 1;
        end[-1] = returns ? '\n' : '\r';
        trace.wrong = other;
        trace.line = other + header + 1;
        try_all_ways(&trace, false);
        written_free(&trace);
    }
}

CASE(ranges)
{
    const size_t step = test_stride() > 1 ? 3 : 1;
    uint64_t random = 17;
    for (size_t i = 0; i < 16; i += step) {
        written trace = write_trace(formats[i % 4], 150000 / step, i / 4 % 2 ? SOME_ODD : PLAIN, SIZE_MAX,
                                    false, &random);
        const char *path = in_directory("plain");
        write_file(path, trace.text, trace.size);
        assert_shared(&trace, path, 1 + (unsigned)(i % 5));
        written_free(&trace);
    }
}

/* Lines longer than a piece, and one longer than is allowed: by one thread and by several the same. */
CASE(long_lines)
{
    enum { LONGEST = 1 << 20 };
    const unsigned before = test_stride() > 1 ? 30000 : 90000; /* lines; more than a piece */
    char message[100];
    snprintf(message, sizeof message, "line %u: longer than 1048576 bytes; is this really a text format?",
             before + 1);
    char *text = malloc(4 * LONGEST);
    for (size_t over = 0; over <= 1; over++)
        for (unsigned threads = 0; threads <= 4; threads += 2) {
            char *at = text;
            for (unsigned i = 0; i < before; i++) at += sprintf(at, "%u\n", i);
            memset(at, ' ', LONGEST + over);
            memcpy(at, "77", 2);
            at += LONGEST + over;
            at += sprintf(at, "\n78\n");
            gathered all;
            gather_text(&all, "text", text, &(fm_reader_options){.threads = threads});
            assert_int_equal(all.status, over ? FM_E_FORMAT : FM_OK);
            assert_int_equal(all.count, over ? before : before + 2);
            assert_int_equal(all.address[all.count - 1], over ? before - 1 : 78);
            if (over) assert_message(&all, message);
            gathered_free(&all);
        }
    free(text);
}

/* A reader that is closed early, while its threads are at work or wait for a pipe. */
CASE(closed_early)
{
    uint64_t random = 19;
    written trace = write_trace("text", test_stride() > 1 ? 100000 : 200000, PLAIN, SIZE_MAX, false, &random);
    const char *path = in_directory("plain");
    write_file(path, trace.text, trace.size);
    for (unsigned batches = 0; batches < 6; batches++) {
        fm_reader *reader = NULL;
        fm_error error;
        fm_batch batch;
        const fm_reader_options options = options_of(&trace, 3);
        assert_int_equal(fm_reader_open(&reader, path, &options, &error), FM_OK);
        for (unsigned i = 0; i < batches; i++)
            assert_int_equal(fm_reader_next(reader, &batch, &error), FM_OK);
        fm_reader_close(reader);
    }
    int ends[2];
    char name[32];
    assert_int_equal(pipe(ends), 0);
    snprintf(name, sizeof name, "/proc/self/fd/%d", ends[0]);
    assert_int_equal(write(ends[1], trace.text, 40000), 40000);
    fm_reader *reader = NULL;
    fm_error error;
    fm_batch batch;
    const fm_reader_options options = options_of(&trace, 3);
    assert_int_equal(fm_reader_open(&reader, name, &options, &error), FM_OK);
    assert_int_equal(fm_reader_next(reader, &batch, &error), FM_OK);
    assert_true(batch.count > 0);
    fm_reader_close(reader);
    close(ends[0]);
    close(ends[1]);
    written_free(&trace);
}

CASES_WITH(make_directory, remove_directory);

BEFORE_CASES
{
    signal(SIGPIPE, SIG_IGN); /* of pipes whose reader has met an error */
    return -1;
}
