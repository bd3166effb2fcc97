/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_target.h - what every fuzz target shares. A target is LLVMFuzzerTestOneInput for libFuzzer, and a few
 * seeds made by code (binary seeds are not committed; small text ones are in corpus/). In an ordinary build
 * replay_main.c runs the corpus, the seeds, and many mutations of both.
 */
#ifndef FATHOM_TEST_FUZZ_TARGET_H
#define FATHOM_TEST_FUZZ_TARGET_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <fathom/trace.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
/* Seed number `number` into to, which has room bytes; its size, or 0 when there are no more. */
size_t fuzz_seed(size_t number, uint8_t *to, size_t room);

/*
 * How many inputs were understood: references came out of a trace, a profile was accepted. The replay fails
 * when none was, so that a target that never reaches its reader is not taken for a sound one. Weak: the
 * target and the replaying main share it, and libFuzzer's main does not know it.
 */
__attribute__((weak)) uint64_t fuzz_understood;

/* Unlike assert, in every build. */
#define FUZZ_REQUIRE(condition)                                                                              \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition);                        \
            abort();                                                                                         \
        }                                                                                                    \
    } while (0)

/* A file that exists in memory only; its path goes to path. Returns the descriptor to close. */
static inline int fuzz_file(const uint8_t *data, size_t size, char path[64])
{
    int descriptor = memfd_create("fuzz", MFD_CLOEXEC);
    FUZZ_REQUIRE(descriptor >= 0);
    for (size_t at = 0; at < size;) {
        ssize_t done = write(descriptor, data + at, size - at);
        FUZZ_REQUIRE(done > 0);
        at += (size_t)done;
    }
    snprintf(path, 64, "/proc/self/fd/%d", descriptor);
    return descriptor;
}

/* Reads the bytes as a trace and checks what holds for every trace, sound or not. Returns the references. */
static inline uint64_t fuzz_read_trace(const uint8_t *data, size_t size, const fm_reader_options *options)
{
    enum { REFERENCES_ENOUGH = 1 << 22 }; /* a small file may decompress to a great many */
    char path[64], message[1200];
    int descriptor = fuzz_file(data, size, path);
    fm_reader *reader = NULL;
    fm_error error;
    memset(&error, 0, sizeof error);
    uint64_t references = 0, sum = 0;
    fm_status status = fm_reader_open(&reader, path, options, &error);
    FUZZ_REQUIRE((status == FM_OK) == (reader != NULL));
    if (status != FM_OK) {
        FUZZ_REQUIRE(error.status == status && error.reason[0]);
        close(descriptor);
        return 0;
    }
    fm_trace_info info;
    for (size_t calls = 0; references < REFERENCES_ENOUGH; calls++) {
        FUZZ_REQUIRE(calls < size + 1000);
        fm_batch batch;
        status = fm_reader_next(reader, &batch, &error);
        if (status != FM_OK) {
            FUZZ_REQUIRE(error.status == status && error.reason[0] && batch.count == 0);
            fm_error_message(&error, message, sizeof message);
            if (!fm_status_is_damage(status)) break;
            continue;
        }
        if (batch.count == 0) break;
        FUZZ_REQUIRE(batch.count <= FM_BATCH_MAX && batch.address);
        for (size_t i = 0; i < batch.count; i++) {
            sum += batch.address[i];
            if (batch.size) sum += batch.size[i];
            if (batch.thread) sum += batch.thread[i];
            if (batch.site) sum += batch.site[i];
            if (batch.kind) FUZZ_REQUIRE(batch.kind[i] <= FM_KIND_FETCH);
        }
        references += batch.count;
    }
    fm_reader_info(reader, &info);
    FUZZ_REQUIRE(info.references == references && info.bytes_read <= info.bytes_total);
    FUZZ_REQUIRE(options->parts > 1 ? info.bytes_total <= size : info.bytes_total == size);
    fm_reader_close(reader);
    close(descriptor);
    fuzz_understood += references > 0;
    *(volatile uint64_t *)&sum = sum; /* the columns were really read */
    return references;
}

/* A text seed. */
static inline size_t fuzz_text_seed(const char *const *texts, size_t count, size_t number, uint8_t *to,
                                    size_t room)
{
    if (number >= count) return 0;
    size_t length = strlen(texts[number]);
    FUZZ_REQUIRE(length <= room && length > 0);
    memcpy(to, texts[number], length);
    return length;
}

#endif
