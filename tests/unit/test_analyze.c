/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_analyze.c - fm_analyze: whatever way a trace takes through threads (they are started by pthread_create
 * in the library), profiles, pairs and damage are those of feeding its batches one after the other.
 */
#include "case.h"

#include "engine/parallel/parallel.h"
#include "unit/native_samples.h"

#include <fathom/experimental.h>

enum { ACCESSES = 270000, FEW = 8000, SMALL_BLOCKS = 13, SMALL = 1100, ROOM = 1 << 20, MOST = 3, EDGES = 4 };
static const uint64_t edges[EDGES] = {0, 16, 256, 4096};

/* Then traces are of small blocks, and threads take little at a time: they meet as often in shorter ones. */
static bool under_sanitizer(void)
{
    return getenv("FATHOM_TEST_STRIDE") != NULL;
}

static void store_accesses(const sample *s, const char *path)
{
    if (!under_sanitizer()) {
        store(s, path, ALL_COLUMNS, 0, 9973);
        return;
    }
    size_t references[SMALL_BLOCKS], at[SMALL_BLOCKS + 1];
    for (size_t b = 0; b < SMALL_BLOCKS; b++)
        references[b] = s->count / SMALL_BLOCKS + (b < s->count % SMALL_BLOCKS);
    uint8_t *bytes = malloc(ROOM);
    assert_non_null(bytes);
    write_file(path, bytes, make_blocks(s, references, SMALL_BLOCKS, NULL, 0, bytes, ROOM, at));
    free(bytes);
}

/* Loops with strays; sites; most accesses within their blocks. */
static sample make_accesses(size_t count, uint32_t most_bytes)
{
    if (under_sanitizer() && count > SMALL_BLOCKS * SMALL) count = SMALL_BLOCKS * SMALL;
    sample s = make_sample(count, 0, 11);
    uint64_t seed = 3;
    for (size_t i = 0; i < s.count; i++) {
        s.address[i] = random_from(&seed) % 50 ? i * 24 % 300000 : random_from(&seed) % 4000000;
        s.size[i] = 1 + (uint32_t)(random_from(&seed) % most_bytes);
        s.site[i] = 0x1000 + random_from(&seed) % 40;
        s.kind[i] = FM_KIND_LOAD;
    }
    return s;
}

/* What is heard on the way. */
typedef struct heard {
    uint64_t damages, lost, progress, batches, most_batches;
    char first[512];
} heard;

static void hear_damage(void *context, const fm_error *error)
{
    heard *self = context;
    if (self->damages++ == 0) snprintf(self->first, sizeof self->first, "%s", error->reason);
    self->lost += error->lost;
}

static void hear_progress(void *context, uint64_t references, double fraction)
{
    heard *self = context;
    assert_true(fraction <= 1.01);
    if (references > self->progress) self->progress = references;
}

static bool want(void *context, const fm_batch *batch)
{
    heard *self = context;
    assert_true(batch->count > 0);
    return self->batches++ < self->most_batches;
}

typedef struct choice {
    uint64_t granularity[MOST];
    size_t count;
    bool times, sites;
} choice;

static void create(const choice *what, unsigned threads, fm_analyzer **analyzers)
{
    for (size_t i = 0; i < what->count; i++) {
        fm_analyzer_options options = {
            .granularity = what->granularity[i], .time_distances = what->times, .threads = threads};
        if (what->sites && i == 0) {
            options.edges = edges;
            options.edge_count = EDGES;
        }
        assert_int_equal(fm_analyzer_create(&analyzers[i], &options, NULL), FM_OK);
    }
}

/* Batch after batch, in order: the judge. */
static void feed_all(const char *path, const choice *what, fm_analyzer **analyzers, heard *ears)
{
    fm_reader *reader;
    fm_site_index *index;
    fm_batch batch;
    fm_error error;
    static uint32_t tags[FM_BATCH_MAX];
    bool ended = false;
    assert_int_equal(fm_reader_open(&reader, path, NULL, &error), FM_OK);
    assert_int_equal(fm_site_index_create(&index, NULL), FM_OK);
    while (!ended) {
        fm_status status = fm_reader_next(reader, &batch, &error);
        if (status == FM_OK && batch.count == 0) break;
        if (status == FM_OK && what->sites) {
            assert_int_equal(fm_site_index_tags(index, batch.site, batch.count, tags, NULL), FM_OK);
            batch.tag = tags;
        }
        for (size_t i = 0; i < what->count && status == FM_OK; i++) {
            status = fm_analyzer_feed(analyzers[i], &batch, &error);
            ended = status != FM_OK;
        }
        if (status != FM_OK) assert_true(fm_status_is_damage(status));
        if (status != FM_OK) hear_damage(ears, &error);
    }
    fm_site_index_destroy(index);
    fm_reader_close(reader);
}

static void assert_alike(fm_analyzer *found, fm_analyzer *wanted, const choice *what, bool pairs)
{
    fm_profile *a, *b;
    assert_int_equal(fm_analyzer_profile(found, &a, NULL), FM_OK);
    assert_int_equal(fm_analyzer_profile(wanted, &b, NULL), FM_OK);
    assert_int_equal(a->references, b->references);
    assert_int_equal(a->cold, b->cold);
    assert_int_equal(a->distances.count, b->distances.count);
    assert_memory_equal(a->distances.bins, b->distances.bins, a->distances.count * sizeof *a->distances.bins);
    if (what->times)
        assert_memory_equal(a->times.bins, b->times.bins, b->times.count * sizeof *a->times.bins);
    fm_profile_destroy(a);
    fm_profile_destroy(b);
    if (!pairs) return;
    fm_raw_pair *raw[2];
    size_t count[2];
    assert_int_equal(fm_analyzer_pairs(found, &raw[0], &count[0], NULL), FM_OK);
    assert_int_equal(fm_analyzer_pairs(wanted, &raw[1], &count[1], NULL), FM_OK);
    assert_int_equal(count[0], count[1]);
    assert_memory_equal(raw[0], raw[1], count[0] * sizeof *raw[0]);
    free(raw[0]);
    free(raw[1]);
}

static void check(const char *path, const choice *what, unsigned threads)
{
    fm_analyzer *wanted[MOST], *found[MOST];
    fm_reader *reader;
    fm_site_index *index = NULL;
    fm_error error;
    heard one = {0}, other = {0};
    create(what, 1, wanted);
    create(what, threads, found);
    feed_all(path, what, wanted, &one);
    assert_int_equal(fm_reader_open(&reader, path, &(fm_reader_options){.threads = threads}, NULL), FM_OK);
    if (what->sites) assert_int_equal(fm_site_index_create(&index, NULL), FM_OK);
    const fm_analyze_options options = {.threads = threads,
                                        .sites = index,
                                        .context = &other,
                                        .damage = hear_damage,
                                        .progress = hear_progress};
    if (fm_analyze(reader, found, what->count, &options, &error)) fail_msg("%s", error.reason);
    for (size_t i = 0; i < what->count; i++) {
        assert_alike(found[i], wanted[i], what, what->sites && i == 0);
        fm_analyzer_destroy(found[i]);
        fm_analyzer_destroy(wanted[i]);
    }
    assert_int_equal(other.damages, one.damages);
    assert_int_equal(other.lost, one.lost);
    assert_string_equal(other.first, one.first);
    assert_true(other.progress > 0 || one.damages > 0);
    fm_site_index_destroy(index);
    fm_reader_close(reader);
}

static const choice choices[] = {{.granularity = {64}, .count = 1},
                                 {.granularity = {64}, .count = 1, .sites = true},
                                 {.granularity = {8, 64, 4096}, .count = 3},
                                 {.granularity = {64, 8, 64}, .count = 3, .sites = true},
                                 {.granularity = {64, 8, 4096}, .count = 3, .times = true},
                                 {.granularity = {64, 4096}, .count = 2, .times = true, .sites = true}};

static void check_all(const char *path)
{
    for (size_t c = 0; c < sizeof choices / sizeof *choices; c++)
        for (unsigned threads = under_sanitizer() ? 3 : 1; threads <= 3; threads += 2)
            check(path, &choices[c], threads);
}

CASE(sound)
{
    const char *path = in_directory("x.fathom");
    sample s = make_accesses(ACCESSES, 8);
    store_accesses(&s, path);
    check_all(path);
    free_sample(&s);
}

/* Within a block of the trace: in no order for threads, so that all is begun anew. */
CASE(damaged)
{
    const char *path = in_directory("x.fathom");
    sample s = make_accesses(ACCESSES, 8);
    size_t size;
    store_accesses(&s, path);
    uint8_t *bytes = read_whole(path, &size);
    bytes[size / 2] ^= 4;
    write_file(path, bytes, size);
    check_all(path);
    write_file(path, bytes, size / 3);
    check_all(path);
    free(bytes);
    free_sample(&s);
}

/* Accesses to more blocks than are worth preparing; and one of a size that no trace has. */
CASE(long_accesses)
{
    const char *path = in_directory("x.fathom");
    sample s = make_accesses(under_sanitizer() ? FEW / 6 : FEW, 5000);
    store_accesses(&s, path);
    check(path, &choices[0], 3);
    check(path, &choices[1], 3);
    free_sample(&s);
    s = make_accesses(FEW, 8);
    s.size[FEW / 10] = UINT32_MAX;
    store_accesses(&s, path);
    /* With times this takes seconds under a sanitizer: there only those without. */
    if (!under_sanitizer())
        check_all(path);
    else
        for (size_t c = 0; !choices[c].times; c++) check(path, &choices[c], 3);
    free_sample(&s);
}

/* ---- what a caller may say on the way ---- */

static bool give_up(void *context, fm_analyzer *analyzer)
{
    fm_analyzer **limited = context;
    assert_ptr_equal(analyzer, *limited);
    fm_analyzer_destroy(analyzer);
    *limited = NULL;
    return true;
}

CASE(callers)
{
    const char *path = in_directory("x.fathom");
    const size_t accesses = under_sanitizer() ? 3 * FM_BATCH_MAX : ACCESSES;
    sample s = make_sample(accesses, 0, 5);
    for (size_t i = 0; i < s.count; i++) s.address[i] = i * 64;
    store(&s, path, FM_COLUMN_SIZE, 0, 9973);
    fm_reader *reader;
    fm_analyzer *analyzers[2];
    fm_profile *profile;
    fm_error error;
    /* One that has too little memory is let go: the other is not troubled. */
    for (int turn = 0; turn < 2; turn++) {
        fm_analyzer_options options = {.granularity = 64, .max_memory = 6 << 20};
        assert_int_equal(fm_analyzer_create(&analyzers[0], &options, NULL), FM_OK);
        options.max_memory = 0;
        assert_int_equal(fm_analyzer_create(&analyzers[1], &options, NULL), FM_OK);
        assert_int_equal(fm_reader_open(&reader, path, NULL, NULL), FM_OK);
        const fm_analyze_options how = {
            .threads = 3, .context = &analyzers[0], .give_up = turn ? give_up : NULL};
        assert_int_equal(fm_analyze(reader, analyzers, 2, &how, &error), turn ? FM_OK : FM_E_LIMIT);
        assert_int_equal(analyzers[0] == NULL, turn);
        assert_int_equal(fm_analyzer_profile(analyzers[1], &profile, NULL), FM_OK);
        if (turn) assert_int_equal(profile->cold, accesses);
        fm_profile_destroy(profile);
        fm_analyzer_destroy(analyzers[0]);
        fm_analyzer_destroy(analyzers[1]);
        fm_reader_close(reader);
    }
    /* Some batches are enough. What was fed before counts. */
    heard ears = {.most_batches = 2};
    const fm_batch before = {.count = 10, .address = s.address};
    assert_int_equal(fm_analyzer_create(&analyzers[0], &(fm_analyzer_options){.granularity = 64}, NULL),
                     FM_OK);
    assert_int_equal(fm_analyzer_feed(analyzers[0], &before, NULL), FM_OK);
    assert_int_equal(fm_reader_open(&reader, path, NULL, NULL), FM_OK);
    const fm_analyze_options how = {.threads = 3, .context = &ears, .wants = want};
    assert_int_equal(fm_analyze(reader, analyzers, 1, &how, NULL), FM_OK);
    assert_int_equal(ears.batches, (accesses + FM_BATCH_MAX - 1) / FM_BATCH_MAX);
    assert_int_equal(fm_analyzer_profile(analyzers[0], &profile, NULL), FM_OK);
    assert_int_equal(profile->references, 2 * FM_BATCH_MAX + 10);
    fm_profile_destroy(profile);
    fm_analyzer_destroy(analyzers[0]);
    assert_int_equal(fm_analyze(reader, analyzers, 0, &how, &error), FM_E_ARGUMENT);
    fm_reader_close(reader);
    free_sample(&s);
}

CASES_WITH(make_directory, remove_directory);

BEFORE_CASES
{
    if (under_sanitizer()) {
        fm_parallel_chunk = SMALL / 3;
        fm_parallel_least = 2 * SMALL;
        fm_parallel_drawn_least = SMALL / 4;
    }
    return -1;
}
