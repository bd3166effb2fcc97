/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_pipeline.c - batches through the threads of a pipeline give what feeding them gives: profiles, pairs
 * and late references, for any number of threads and analyzers (it starts threads: pthread_create in the
 * library).
 */
#include "case.h"
#include "random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <fathom/experimental.h>

#include <dirent.h>
#include <pthread.h>
#include <unistd.h>

enum { BATCHES = 160, MOST = 2000, EDGES = 4 };
static const uint64_t edges[EDGES] = {0, 16, 256, 4096};

typedef struct input {
    size_t count[BATCHES];
    uint64_t address[BATCHES][MOST];
    uint32_t size[BATCHES][MOST], tag[BATCHES][MOST];
} input;

/* Under a sanitizer, smaller ones, but as many: more than a pipeline holds at once. */
static size_t most_accesses(void)
{
    return getenv("FATHOM_TEST_STRIDE") ? MOST / 8 : MOST;
}

static input *make_input(uint64_t seed)
{
    input *made = calloc(1, sizeof *made);
    assert_non_null(made);
    for (size_t b = 0; b < BATCHES; b++) {
        made->count[b] = random_from(&seed) % (most_accesses() + 1);
        for (size_t i = 0; i < made->count[b]; i++) {
            const uint64_t kind = random_from(&seed) % 8;
            made->address[b][i] =
                kind < 5 && i > 0 ? made->address[b][i - 1] + 8 : random_from(&seed) % 2000000;
            made->size[b][i] = kind == 7 ? (uint32_t)(random_from(&seed) % 5000) : 8;
            made->tag[b][i] = (uint32_t)(1 + random_from(&seed) % 9);
        }
    }
    return made;
}

static fm_batch batch_of(const input *in, size_t number)
{
    return (fm_batch){.count = in->count[number],
                      .address = in->address[number],
                      .size = in->size[number],
                      .tag = in->tag[number]};
}

/* Late references, as a sum that does not depend on their order within a batch. */
typedef struct lateness {
    uint64_t count, sum;
} lateness;

static uint64_t late_value(uint64_t label, const uint64_t *address, const fm_late *late)
{
    return (label + 1) * 1000003 + address[late->index] * 31 + late->tag * 7 + late->range;
}

static fm_status take_late(void *context, const void *label, const uint64_t *address, const fm_late *late,
                           size_t count, fm_error *error)
{
    (void)error;
    lateness *all = context;
    uint64_t number;
    memcpy(&number, label, sizeof number);
    for (size_t i = 0; i < count; i++) all->sum += late_value(number, address, &late[i]);
    all->count += count;
    return FM_OK;
}

static struct {
    lateness late;
    uint64_t label;
    const uint64_t *address;
} direct;

static fm_status take_directly(void *context, const fm_late *late, size_t count, fm_error *error)
{
    (void)context, (void)error;
    for (size_t i = 0; i < count; i++) direct.late.sum += late_value(direct.label, direct.address, &late[i]);
    direct.late.count += count;
    return FM_OK;
}

static fm_analyzer *analyzer_of(uint64_t granularity, bool attributed)
{
    fm_analyzer *made;
    const fm_analyzer_options options = {
        .granularity = granularity, .edges = attributed ? edges : NULL, .edge_count = attributed ? EDGES : 0};
    assert_int_equal(fm_analyzer_create(&made, &options, NULL), FM_OK);
    return made;
}

static void assert_alike(fm_analyzer *found, fm_analyzer *wanted, bool attributed)
{
    fm_profile *a, *b;
    assert_int_equal(fm_analyzer_profile(found, &a, NULL), FM_OK);
    assert_int_equal(fm_analyzer_profile(wanted, &b, NULL), FM_OK);
    assert_int_equal(a->references, b->references);
    assert_int_equal(a->cold, b->cold);
    assert_int_equal(a->distances.count, b->distances.count);
    assert_memory_equal(a->distances.bins, b->distances.bins, a->distances.count * sizeof *a->distances.bins);
    fm_profile_destroy(a);
    fm_profile_destroy(b);
    if (!attributed) return;
    fm_raw_pair *pairs[2];
    size_t count[2];
    assert_int_equal(fm_analyzer_pairs(found, &pairs[0], &count[0], NULL), FM_OK);
    assert_int_equal(fm_analyzer_pairs(wanted, &pairs[1], &count[1], NULL), FM_OK);
    assert_int_equal(count[0], count[1]);
    for (size_t i = 0; i < count[0]; i++) {
        assert_int_equal(pairs[0][i].use, pairs[1][i].use);
        assert_int_equal(pairs[0][i].reuse, pairs[1][i].reuse);
        assert_int_equal(pairs[0][i].range, pairs[1][i].range);
        assert_int_equal(pairs[0][i].count, pairs[1][i].count);
    }
    free(pairs[0]);
    free(pairs[1]);
}

enum { IN_CALLER = 100 }; /* instead of a number of threads: none, the caller's does it */

static void as_if_fed(unsigned threads, bool attributed, bool several, uint64_t seed)
{
    input *in = make_input(seed);
    fm_analyzer *found[2] = {analyzer_of(64, attributed), analyzer_of(several ? 4096 : 64, false)};
    fm_analyzer *wanted[2] = {analyzer_of(64, attributed), analyzer_of(several ? 4096 : 64, false)};
    lateness late = {0};
    memset(&direct, 0, sizeof direct);
    fm_pipeline *pipeline;
    const fm_pipeline_options options = {.threads = threads == IN_CALLER ? 0 : threads,
                                         .late = attributed ? take_late : NULL,
                                         .context = &late,
                                         .label_size = 8,
                                         .in_caller = threads == IN_CALLER};
    assert_int_equal(fm_pipeline_create(&pipeline, &options, NULL), FM_OK);
    if (attributed) {
        assert_int_equal(fm_pipeline_report_late(pipeline, found[0], 2, NULL), FM_OK);
        assert_int_equal(fm_analyzer_set_late_sink(wanted[0], 2, take_directly, NULL, NULL), FM_OK);
    }
    for (uint64_t b = 0; b < BATCHES; b++) {
        const fm_batch batch = batch_of(in, b);
        assert_int_equal(fm_pipeline_feed(pipeline, &batch, found, 2, &b, NULL), FM_OK);
        direct.label = b;
        direct.address = batch.address;
        for (int i = 0; i < 2; i++) assert_int_equal(fm_analyzer_feed(wanted[i], &batch, NULL), FM_OK);
    }
    assert_int_equal(fm_pipeline_drain(pipeline, NULL), FM_OK);
    for (int i = 0; i < 2; i++) assert_alike(found[i], wanted[i], attributed && i == 0);
    if (attributed) {
        assert_true(late.count > most_accesses() / 2);
        assert_int_equal(late.count, direct.late.count);
        assert_int_equal(late.sum, direct.late.sum);
    }
    fm_pipeline_destroy(pipeline);
    for (int i = 0; i < 2; i++) fm_analyzer_destroy(found[i]), fm_analyzer_destroy(wanted[i]);
    free(in);
}

CASE(results_are_those_of_feeding)
{
    uint64_t seed = 1;
    const bool few = getenv("FATHOM_TEST_STRIDE") != NULL; /* under a sanitizer */
    for (unsigned threads = few ? 1 : 0; threads <= 6; threads += few ? 3 : 1 + threads / 3)
        for (int which = few ? 1 : 0; which < 4; which += few ? 2 : 1)
            as_if_fed(threads, which & 1, which & 2, seed++);
    for (int which = 0; which < 4; which++) as_if_fed(IN_CALLER, which & 1, which & 2, seed++);
}

/* Two with attribution, and one behind one without: what is prepared for the first has not their pairs. */
CASE(each_counts_its_own_pairs)
{
    input *in = make_input(77);
    for (unsigned turn = 0; turn < 6; turn++) {
        const bool first = turn & 1;
        fm_analyzer *found[2] = {analyzer_of(64, first), analyzer_of(64, true)};
        fm_analyzer *wanted[2] = {analyzer_of(64, first), analyzer_of(64, true)};
        fm_pipeline *pipeline;
        const fm_pipeline_options options = {.threads = 1 + turn, .in_caller = turn >= 4};
        assert_int_equal(fm_pipeline_create(&pipeline, &options, NULL), FM_OK);
        for (size_t b = 0; b < BATCHES; b++) {
            const fm_batch batch = batch_of(in, b);
            assert_int_equal(fm_pipeline_feed(pipeline, &batch, found, 2, NULL, NULL), FM_OK);
            for (int i = 0; i < 2; i++) assert_int_equal(fm_analyzer_feed(wanted[i], &batch, NULL), FM_OK);
        }
        assert_int_equal(fm_pipeline_drain(pipeline, NULL), FM_OK);
        for (int i = 0; i < 2; i++) assert_alike(found[i], wanted[i], i == 1 || first);
        fm_pipeline_destroy(pipeline);
        for (int i = 0; i < 2; i++) fm_analyzer_destroy(found[i]), fm_analyzer_destroy(wanted[i]);
    }
    free(in);
}

/* One that cannot go on: the failure is told, and the pipeline can be ended. */
CASE(failures_are_told)
{
    fm_pipeline *pipeline;
    fm_error error;
    fm_pipeline_options options = {.threads = FM_PIPELINE_THREADS + 1};
    assert_int_equal(fm_pipeline_create(&pipeline, &options, &error), FM_E_ARGUMENT);
    assert_null(pipeline);
    for (unsigned threads = 1; threads <= 5; threads += 2) {
        options.threads = threads;
        options.in_caller = threads == 5;
        assert_int_equal(fm_pipeline_create(&pipeline, &options, &error), FM_OK);
        fm_analyzer *analyzer = analyzer_of(64, true);
        const uint64_t address[2] = {0, 64};
        const uint32_t tag[2] = {1, UINT32_MAX}; /* no tag is that large */
        const fm_batch batch = {.count = 2, .address = address, .tag = tag};
        assert_int_equal(fm_pipeline_feed(pipeline, &batch, &analyzer, 0, NULL, &error), FM_E_ARGUMENT);
        fm_status status = fm_pipeline_feed(pipeline, &batch, &analyzer, 1, NULL, &error);
        if (status == FM_OK) status = fm_pipeline_drain(pipeline, &error);
        assert_int_equal(status, FM_E_ARGUMENT);
        assert_non_null(strstr(error.reason, "tag 4294967295"));
        if (options.in_caller) { /* it stays: nothing is fed behind what was not */
            const fm_batch good = {.count = 1, .address = address, .tag = tag};
            memset(&error, 0, sizeof error);
            assert_int_equal(fm_pipeline_drain(pipeline, &error), FM_E_ARGUMENT);
            assert_int_equal(fm_pipeline_feed(pipeline, &good, &analyzer, 1, NULL, &error), FM_E_ARGUMENT);
            assert_non_null(strstr(error.reason, "tag 4294967295"));
        }
        fm_pipeline_destroy(pipeline);
        fm_analyzer_destroy(analyzer);
    }
    fm_pipeline_destroy(NULL);
}

/* One whom late references are told of fails: so does the pipeline, with its words. */
static fm_status refuse_late(void *context, const void *label, const uint64_t *address, const fm_late *late,
                             size_t count, fm_error *error)
{
    (void)context, (void)label, (void)address, (void)late;
    if (count == 0) return FM_OK;
    snprintf(error->reason, sizeof error->reason, "no more of these");
    return FM_E_NOMEM;
}

static size_t thread_count(void)
{
    size_t count = 0;
    DIR *tasks = opendir("/proc/self/task");
    assert_non_null(tasks);
    for (const struct dirent *entry; (entry = readdir(tasks));) count += entry->d_name[0] != '.';
    closedir(tasks);
    return count;
}

CASE(the_caller_alone)
{
    const size_t before = thread_count();
    fm_pipeline *pipeline;
    fm_error error;
    const fm_pipeline_options options = {.threads = 4, .late = refuse_late, .label_size = 8, .in_caller = 1};
    assert_int_equal(fm_pipeline_create(&pipeline, &options, &error), FM_OK);
    assert_int_equal(thread_count(), before);
    fm_analyzer *analyzer = analyzer_of(64, true);
    assert_int_equal(fm_pipeline_report_late(pipeline, analyzer, 2, &error), FM_OK);
    input *in = make_input(5);
    fm_status status = FM_OK;
    for (uint64_t b = 0; b < BATCHES && status == FM_OK; b++) {
        const fm_batch batch = batch_of(in, b);
        status = fm_pipeline_feed(pipeline, &batch, &analyzer, 1, &b, &error);
    }
    assert_int_equal(status, FM_E_NOMEM);
    assert_string_equal(error.reason, "no more of these");
    memset(&error, 0, sizeof error);
    assert_int_equal(fm_pipeline_drain(pipeline, &error), FM_E_NOMEM);
    assert_string_equal(error.reason, "no more of these");
    assert_int_equal(thread_count(), before);
    fm_pipeline_destroy(pipeline);
    fm_analyzer_destroy(analyzer);
    free(in);
}

/* The program's signals are for its own threads: in all others everything but SIGKILL and SIGSTOP is blocked.
 */
CASE(signals_are_for_the_program)
{
    fm_pipeline *pipeline;
    const fm_pipeline_options options = {.threads = 3};
    assert_int_equal(fm_pipeline_create(&pipeline, &options, NULL), FM_OK);
    DIR *tasks = opendir("/proc/self/task");
    assert_non_null(tasks);
    unsigned others = 0;
    for (const struct dirent *entry; (entry = readdir(tasks));) {
        char path[300], line[256];
        if (entry->d_name[0] == '.' || atoi(entry->d_name) == getpid()) continue;
        snprintf(path, sizeof path, "/proc/self/task/%s/status", entry->d_name);
        FILE *status = fopen(path, "r");
        unsigned long long blocked = 0;
        while (status && fgets(line, sizeof line, status))
            if (sscanf(line, "SigBlk: %llx", &blocked) == 1) break;
        if (status) fclose(status);
        const unsigned long long asked = 1ULL << 1 | 1ULL << 14 | 1ULL << 16; /* SIGINT, SIGTERM, SIGCHLD */
        assert_int_equal(blocked & asked, asked);
        others++;
    }
    closedir(tasks);
    assert_true(others >= 3);
    fm_pipeline_destroy(pipeline);
}
