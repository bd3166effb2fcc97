/* SPDX-License-Identifier: Apache-2.0 */
/* trace_helpers.h - what the trace tests share: a directory of their own, files from bytes, and a whole trace
 * read into memory with everything the reader said on the way. */
#ifndef FATHOM_TEST_TRACE_HELPERS_H
#define FATHOM_TEST_TRACE_HELPERS_H

#include "random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fathom/trace.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Of all places where damage is tried, one in so many: FATHOM_TEST_STRIDE, for sanitizers, which are slow. */
static __attribute__((unused)) size_t test_stride(void)
{
    const char *text = getenv("FATHOM_TEST_STRIDE");
    const size_t stride = text ? strtoul(text, NULL, 10) : 1;
    return stride > 0 ? stride : 1;
}

static char test_directory[64];

static __attribute__((unused)) int make_directory(void **state)
{
    (void)state;
    /* In memory where that can be had: rewriting a small file on a disk may wait for the disk each time. */
    const char *where = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    snprintf(test_directory, sizeof test_directory, "%s/fathom-test-XXXXXX", where);
    return mkdtemp(test_directory) ? 0 : -1;
}

static __attribute__((unused)) int remove_directory(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", test_directory);
    return system(command);
}

/* Path of a file in the test's directory; four can be in use at once. */
static __attribute__((unused)) const char *in_directory(const char *name)
{
    static char paths[4][256];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", test_directory, name);
    return path;
}

static __attribute__((unused)) void write_file(const char *path, const void *bytes, size_t count)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
}

static __attribute__((unused)) uint8_t *read_whole(const char *path, size_t *count)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    assert_true(size >= 0);
    rewind(file);
    uint8_t *bytes = malloc((size_t)size + 1);
    assert_non_null(bytes);
    *count = fread(bytes, 1, (size_t)size, file);
    assert_int_equal(*count, size);
    fclose(file);
    return bytes;
}

typedef struct gathered {
    size_t count, capacity;
    uint64_t *address, *site;
    uint32_t *size, *thread;
    uint8_t *kind;
    fm_status opened; /* of fm_reader_open */
    fm_status status; /* the last that was not FM_OK; FM_OK: all was well */
    size_t damages;   /* times damage was told */
    uint64_t lost;    /* sum */
    fm_error error;   /* of the first that was not FM_OK */
    char message[1200];
    fm_trace_info info;
} gathered;

static __attribute__((unused)) void gathered_free(gathered *all)
{
    free(all->address);
    free(all->site);
    free(all->size);
    free(all->thread);
    free(all->kind);
    memset(all, 0, sizeof *all);
}

#define GATHER_COLUMN(column)                                                                                \
    if (batch.column) {                                                                                      \
        all->column = realloc(all->column, (all->count + batch.count) * sizeof *all->column);                \
        assert_non_null(all->column);                                                                        \
        memcpy(all->column + all->count, batch.column, batch.count * sizeof *all->column);                   \
    }

/* Reads path to the end, past damage. */
static __attribute__((unused)) void gather(gathered *all, const char *path, const fm_reader_options *options)
{
    memset(all, 0, sizeof *all);
    fm_reader *reader = NULL;
    fm_error error;
    all->opened = all->status = fm_reader_open(&reader, path, options, &error);
    if (all->opened != FM_OK) {
        assert_null(reader);
        assert_int_equal(error.status, all->opened);
        all->error = error;
        fm_error_message(&all->error, all->message, sizeof all->message);
        return;
    }
    for (int calls = 0;; calls++) {
        assert_true(calls < 10000000); /* it ends */
        fm_batch batch;
        fm_status status = fm_reader_next(reader, &batch, &error);
        if (status != FM_OK) {
            assert_int_equal(error.status, status);
            assert_int_equal(batch.count, 0);
            if (all->status == FM_OK) {
                all->error = error;
                fm_error_message(&all->error, all->message, sizeof all->message);
            }
            all->status = status;
            if (!fm_status_is_damage(status)) break;
            all->damages++;
            all->lost += error.lost;
            continue;
        }
        if (batch.count == 0) break;
        assert_true(batch.count <= FM_BATCH_MAX);
        assert_non_null(batch.address);
        GATHER_COLUMN(address)
        GATHER_COLUMN(size)
        GATHER_COLUMN(kind)
        GATHER_COLUMN(thread)
        GATHER_COLUMN(site)
        all->count += batch.count;
    }
    fm_reader_info(reader, &all->info);
    assert_int_equal(all->info.references, all->count);
    fm_reader_close(reader);
}

/* A text file's references, as of a format. */
static __attribute__((unused)) void gather_text(gathered *all, const char *format, const char *text,
                                                const fm_reader_options *options)
{
    fm_reader_options chosen = options ? *options : (fm_reader_options){0};
    chosen.format = format;
    const char *path = in_directory("input");
    write_file(path, text, strlen(text));
    gather(all, path, &chosen);
}

/* The reason must be exactly this, behind "path: ". */
static __attribute__((unused)) void assert_message(const gathered *all, const char *expected)
{
    const char *colon = strstr(all->message, "/input: ");
    assert_string_equal(colon ? colon + 8 : all->message, expected);
}

#endif
