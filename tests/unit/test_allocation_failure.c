/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_allocation_failure.c - memory refused at the n-th request, for all n, through the library.
 *
 * malloc and its family, mmap and mremap are defined here, in the executable, so that every request of
 * the library and of the libraries below it (zstd, zlib, jansson, libc's stdio) passes by. A scenario is
 * run once to count its requests, then once for each n with only the n-th refused (a passing shortage)
 * and once with all from the n-th on refused (a lasting one). Each time: no crash, nothing left
 * allocated, no file left behind, and the status is FM_OK or FM_E_NOMEM.
 *
 * hwloc's own requests are not refused: its code is not ours, and it is entered through three calls
 * only, which are made to fail as a whole instead.
 */
#define _GNU_SOURCE
#include "case.h"

#include "analyzer/analyzer_state.h"
#include "base/bytes.h"

#include <inttypes.h>
#include <stdint.h>

#include <fathom/experimental.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define UNDER_SANITIZER 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define UNDER_SANITIZER 1
#endif

#ifdef UNDER_SANITIZER

CASE(refuse_every_allocation)
{
    print_message(
        "SKIP: the sanitizer brings its own malloc, which cannot be replaced; the release build runs this\n");
    skip();
}

#else

#include "cluster/parda.h"
#include "engine/gpu/gpu.h"
#include "engine/parallel/parallel.h"
#include "oracle/gpu_stand_in.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <hwloc.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <zlib.h>

/* ---- the requests ---- */

static atomic_long live;        /* blocks held */
static atomic_long mapped;      /* bytes held in mappings, in whole pages */
static atomic_long requests;    /* since the last arm() */
static atomic_long refuse_from; /* this request is refused; 0: none */
static atomic_bool refuse_on;   /* and all after it */
static atomic_bool fired;
static atomic_int excused; /* > 0: inside hwloc */

static bool refused(void)
{
    if (atomic_load(&excused) > 0) return false;
    long number = atomic_fetch_add(&requests, 1) + 1;
    long from = atomic_load(&refuse_from);
    if (from == 0 || number < from || (number > from && !atomic_load(&refuse_on))) return false;
    atomic_store(&fired, true);
    errno = ENOMEM;
    return true;
}

static void *counted(void *block)
{
    if (block && atomic_load(&excused) == 0) atomic_fetch_add(&live, 1);
    return block;
}

/* glibc's own, under the names it keeps for those who replace the public ones. */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *block);

/* Visible to the shared libraries too, whatever the build's default. glibc's headers name the parameters
 * in their own way. */
#pragma GCC visibility push(default)
/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name) */
void *malloc(size_t size)
{
    return refused() ? NULL : counted(__libc_malloc(size));
}

void *calloc(size_t count, size_t size)
{
    return refused() ? NULL : counted(__libc_calloc(count, size));
}

void *realloc(void *block, size_t size)
{
    if (block && size == 0) { /* glibc frees here */
        free(block);
        return NULL;
    }
    if (refused()) return NULL;
    return block ? __libc_realloc(block, size) : counted(__libc_malloc(size));
}

void *memalign(size_t alignment, size_t size);
void *memalign(size_t alignment, size_t size)
{
    return refused() ? NULL : counted(__libc_memalign(alignment, size));
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return memalign(alignment, size);
}

int posix_memalign(void **block, size_t alignment, size_t size)
{
    void *made = memalign(alignment, size);
    if (!made) return ENOMEM;
    *block = made;
    return 0;
}

void free(void *block)
{
    if (block && atomic_load(&excused) == 0) atomic_fetch_sub(&live, 1);
    __libc_free(block);
}

static long in_pages(size_t length)
{
    return (long)((length + 4095) & ~(size_t)4095);
}

/* Bytes, not mappings, are counted: a mapping may be unmapped in parts. */
void *mmap(void *address, size_t length, int protection, int flags, int descriptor, off_t offset)
{
    if (refused()) return MAP_FAILED;
    void *made = (void *)syscall(SYS_mmap, address, length, protection, flags, descriptor, offset);
    if (made != MAP_FAILED) atomic_fetch_add(&mapped, in_pages(length));
    return made;
}

void *mmap64(void *address, size_t length, int protection, int flags, int descriptor, off64_t offset)
{
    return mmap(address, length, protection, flags, descriptor, (off_t)offset);
}

void *mremap(void *address, size_t old_length, size_t new_length, int flags, ...)
{
    if (refused()) return MAP_FAILED;
    va_list arguments;
    va_start(arguments, flags);
    void *fixed = flags & MREMAP_FIXED ? va_arg(arguments, void *) : NULL;
    va_end(arguments);
    void *made = (void *)syscall(SYS_mremap, address, old_length, new_length, flags, fixed);
    if (made != MAP_FAILED) atomic_fetch_add(&mapped, in_pages(new_length) - in_pages(old_length));
    return made;
}

int munmap(void *address, size_t length)
{
    int result = (int)syscall(SYS_munmap, address, length);
    if (result == 0) atomic_fetch_sub(&mapped, in_pages(length));
    return result;
}
/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */

/* hwloc, entered through these three: refused as a whole, or excused as a whole. What it keeps inside is
 * not counted (it opens plug-ins, and libc remembers them); a topology is one block. */
int hwloc_topology_init(hwloc_topology_t *topology)
{
    static int (*real)(hwloc_topology_t *);
    if (refused()) return -1;
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "hwloc_topology_init");
    atomic_fetch_add(&excused, 1);
    int result = real(topology);
    atomic_fetch_sub(&excused, 1);
    if (result == 0) atomic_fetch_add(&live, 1);
    return result;
}

int hwloc_topology_load(hwloc_topology_t topology)
{
    static int (*real)(hwloc_topology_t);
    if (refused()) return -1;
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "hwloc_topology_load");
    atomic_fetch_add(&excused, 1);
    int result = real(topology);
    atomic_fetch_sub(&excused, 1);
    return result;
}

void hwloc_topology_destroy(hwloc_topology_t topology)
{
    static void (*real)(hwloc_topology_t);
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "hwloc_topology_destroy");
    atomic_fetch_add(&excused, 1);
    real(topology);
    atomic_fetch_sub(&excused, 1);
    atomic_fetch_sub(&live, 1);
}

#pragma GCC visibility pop

/* ---- the driver ---- */

static char directory[] = "/tmp/fathom-allocation-XXXXXX";

static const char *in_directory(char *buffer, size_t size, const char *name)
{
    snprintf(buffer, size, "%s/%s", directory, name);
    return buffer;
}

static size_t files_in_directory(void)
{
    size_t count = 0;
    DIR *handle = opendir(directory);
    assert_non_null(handle);
    while (readdir(handle)) count++;
    closedir(handle);
    return count;
}

static void arm(long from, bool on)
{
    atomic_store(&requests, 0);
    atomic_store(&fired, false);
    atomic_store(&refuse_on, on);
    atomic_store(&refuse_from, from);
}

static long disarm(void)
{
    atomic_store(&refuse_from, 0);
    return atomic_load(&requests);
}

typedef fm_status (*scenario)(fm_error *error);

static void one_refusal(scenario run, long n, bool on)
{
    fm_error error = {0};
    size_t files = files_in_directory();
    long before = atomic_load(&live), mapped_before = atomic_load(&mapped);
    arm(n, on);
    fm_status status = run(&error);
    disarm();
    long after = atomic_load(&live), mapped_after = atomic_load(&mapped);
    if (mapped_after != mapped_before)
        fail_msg("request %ld%s refused: %ld mapped bytes leaked", n, on ? " and on" : "",
                 mapped_after - mapped_before);
    if (after != before)
        fail_msg("request %ld%s refused: %ld blocks leaked", n, on ? " and on" : "", after - before);
    if (status != FM_OK && status != FM_E_NOMEM)
        fail_msg("request %ld%s refused: status '%s' (%s: %s)", n, on ? " and on" : "",
                 fm_status_name(status), error.path, error.reason);
    if (status != FM_OK) {
        assert_int_equal(error.status, status);
        assert_true(error.reason[0] != '\0');
    }
    if (on && status == FM_OK && n == 1) fail_msg("all memory was refused, and nobody noticed");
    assert_int_equal(files_in_directory(), files);
}

static void refuse_each_request(scenario run)
{
    fm_error error = {0};
    /* Twice: what libraries allocate once and keep is then there. */
    for (int i = 0; i < 2; i++)
        if (run(&error) != FM_OK) fail_msg("with enough memory: %s: %s", error.path, error.reason);
    long before = atomic_load(&live), mapped_before = atomic_load(&mapped);
    arm(0, false);
    assert_int_equal(run(&error), FM_OK);
    long total = disarm();
    assert_int_equal(atomic_load(&live), before);
    assert_int_equal(atomic_load(&mapped), mapped_before);
    assert_true(total > 0);
    for (long n = 1; n <= total; n++) {
        one_refusal(run, n, false);
        one_refusal(run, n, true);
    }
}

/* ---- the material: small traces in every interesting shape ---- */

enum { REFERENCES = 6000, KEYS = 2500 };
static size_t fed = REFERENCES; /* of them, to analyzers */
static uint64_t addresses[REFERENCES];
static uint32_t sizes[REFERENCES];
static uint8_t kinds[REFERENCES];
static FILE *nowhere; /* /dev/null, with a buffer that is not allocated */

static fm_batch material(void)
{
    return (fm_batch){.count = REFERENCES, .address = addresses, .size = sizes, .kind = kinds};
}

static fm_status write_trace(const char *name, unsigned columns, bool memory_addresses, fm_error *error)
{
    char path[256];
    fm_writer_options options = {.columns = columns, .memory_addresses = memory_addresses};
    fm_writer *writer = NULL;
    fm_status status = fm_writer_open(&writer, in_directory(path, sizeof path, name), &options, error);
    if (status != FM_OK) return status;
    fm_batch batch = material();
    if (!(columns & FM_COLUMN_SIZE)) batch.size = NULL;
    if (!(columns & FM_COLUMN_KIND)) batch.kind = NULL;
    status = fm_writer_append(writer, &batch, error);
    if (status == FM_OK) status = fm_writer_finish(writer, error);
    fm_writer_close(writer);
    return status;
}

static void write_csv_gzip(const char *name)
{
    char path[256];
    gzFile file = gzopen(in_directory(path, sizeof path, name), "wb");
    assert_non_null(file);
    gzputs(file, "time,offset,bytes,name\n");
    for (unsigned i = 0; i < REFERENCES; i++)
        gzprintf(file, "%u,%llu,%u,\"k %llu\"\n", i, (unsigned long long)addresses[i] * 64, 100 + i % 100,
                 (unsigned long long)addresses[i] % 500);
    assert_int_equal(gzclose(file), Z_OK);
}

static int prepare(void **state)
{
    (void)state;
    static char buffer[4096];
    if (!mkdtemp(directory)) return -1;
    nowhere = fopen("/dev/null", "w");
    if (!nowhere || setvbuf(nowhere, buffer, _IOFBF, sizeof buffer) != 0) return -1;
    uint64_t random = 42;
    for (size_t i = 0; i < REFERENCES; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        addresses[i] = (random >> 40) % KEYS;
        sizes[i] = 8;
        kinds[i] = (uint8_t)(i % 3);
    }
    fm_error error;
    if (write_trace("a.fathom", FM_COLUMN_SIZE | FM_COLUMN_KIND, true, &error) != FM_OK) return -1;
    if (write_trace("b.txt.zst", 0, false, &error) != FM_OK) return -1;
    if (write_trace("c.u64", 0, false, &error) != FM_OK) return -1;
    write_csv_gzip("d.csv.gz");
    return 0;
}

static int clean_up(void **state)
{
    (void)state;
    DIR *handle = opendir(directory);
    if (!handle) return -1;
    for (struct dirent *entry; (entry = readdir(handle));) {
        char path[512];
        if (entry->d_name[0] != '.') unlink(in_directory(path, sizeof path, entry->d_name));
    }
    closedir(handle);
    fclose(nowhere);
    return rmdir(directory);
}

/* ---- analyzers ---- */

static fm_status analyze(const fm_analyzer_options *options, fm_profile **profile, fm_error *error)
{
    fm_analyzer *analyzer = NULL;
    fm_batch batch = material();
    batch.count = fed;
    batch.size = NULL; /* one block each */
    fm_status status = fm_analyzer_create(&analyzer, options, error);
    if (status != FM_OK) return status;
    status = fm_analyzer_feed(analyzer, &batch, error);
    if (status == FM_OK && fm_analyzer_can_prepare(analyzer)) {
        fm_prepared prepared = {0};
        status = fm_analyzer_prepare(analyzer, &batch, &prepared, error);
        if (status == FM_OK && fm_analyzer_can_digest(analyzer))
            status = fm_analyzer_digest(analyzer, &prepared, error);
        if (status == FM_OK) status = fm_analyzer_feed_prepared(analyzer, &prepared, error);
        fm_prepared_free(&prepared);
    } else if (status == FM_OK) {
        status = fm_analyzer_feed_blocks(analyzer, addresses, fed, error);
    }
    fm_profile *made = NULL;
    if (status == FM_OK) status = fm_analyzer_profile(analyzer, &made, error);
    fm_analyzer_destroy(analyzer);
    if (status != FM_OK) return status;
    assert_int_equal(made->references, 2 * fed);
    if (profile)
        *profile = made;
    else
        fm_profile_destroy(made);
    return FM_OK;
}

static const char *engine_name;
static uint64_t engine_bound;
static fm_bins engine_bins;
static unsigned engine_threads;

static bool engine_with_times;

static fm_status analyze_with_engine(fm_error *error)
{
    fm_analyzer_options options = {.engine = engine_name,
                                   .granularity = 1,
                                   .bound = engine_bound,
                                   .bins = engine_bins,
                                   .time_distances = engine_with_times};
    return analyze(&options, NULL, error);
}

CASE(engines)
{
    const fm_engine_info *info;
    for (size_t i = 0; (info = fm_engine_at(i)); i++) {
        engine_name = info->name;
        if (info->no_sites) continue; /* engines_in_batches */
        engine_with_times = !info->histogram_only;
        for (int bounded = 0; bounded < (info->unbounded ? 1 : 2); bounded++)
            for (engine_bins = FM_BINS_LOGLINEAR; engine_bins <= FM_BINS_EXACT; engine_bins++) {
                engine_bound = bounded ? 100 : 0;
                refuse_each_request(analyze_with_engine);
            }
    }
}

/* Samples of a fixed number of blocks have arrays of their own; a large bound another exact part. */
static fm_status analyze_with_samples(fm_error *error)
{
    fm_analyzer_options options = {.engine = "shards", .granularity = 1};
    char own[100];
    snprintf(own, sizeof own, "samples=2000,exact-below=%" PRIu64, engine_bound);
    options.engine_options = own;
    return analyze(&options, NULL, error);
}

CASE(samples)
{
    for (engine_bound = 100; engine_bound < 100000; engine_bound *= 100)
        refuse_each_request(analyze_with_samples);
}

/* Every reference goes through threads; pieces are so small that tables and the window grow on the way. They
 * are copied, or drawn, as a whole and part by part. */
static fm_status analyze_with_threads(fm_error *error)
{
    fm_analyzer_options options = {
        .granularity = 1, .bound = engine_bound, .bins = engine_bins, .threads = engine_threads};
    return analyze(&options, NULL, error);
}

CASE(several_threads)
{
    const size_t usual_piece = fm_parallel_chunk, usual_least = fm_parallel_least;
    const uint64_t usual_drawn = fm_parallel_drawn_least;
    fm_parallel_chunk = 1000;
    fm_parallel_least = 0;
    for (int drawn = 0; drawn < 2; drawn++) {
        fm_parallel_drawn_least = drawn ? 400 : usual_drawn;
        for (engine_threads = 2; engine_threads <= 5; engine_threads += 3) /* undivided, divided */
            for (int bounded = 0; bounded < 2; bounded++)
                for (engine_bins = drawn ? FM_BINS_EXACT : FM_BINS_LOGLINEAR; engine_bins <= FM_BINS_EXACT;
                     engine_bins++) {
                    engine_bound = bounded ? 100 : 0;
                    refuse_each_request(analyze_with_threads);
                }
    }
    fm_parallel_chunk = usual_piece;
    fm_parallel_least = usual_least;
    fm_parallel_drawn_least = usual_drawn;
}

/* Engines that gather batches, with threads of their own. */
static fm_status analyze_in_batches(fm_error *error)
{
    const bool on_cards = strcmp(engine_name, "gpu") == 0;
    char own[100];
    snprintf(own, sizeof own, on_cards ? "cards=%u" : "trace-size=3000", engine_threads);
    fm_analyzer_options options = {.engine = engine_name, .threads = 2, .engine_options = own};
    if (on_cards && engine_threads == 1) options.time_distances = true;
    if (engine_bound) options.bins = FM_BINS_EXACT; /* single distances come from the card then */
    return analyze(&options, NULL, error);
}

CASE(engines_in_batches)
{
    static const char *const names[] = {"gpu", "hp-rda"};
    static const fm_gpu_module module = GPU_STAND_IN_TABLE;
    const fm_gpu_sizes usual = fm_gpu_first_sizes;
    fm_gpu_stand_in = &module;
    stand_in.more_cards = 2;
    fed = 2000; /* eight batches, more blocks than the stack holds: each batch asks for memory as the one
                   before */
    fm_gpu_first_sizes = (fm_gpu_sizes){.batch = 500, .each_batch = 300, .stack = 1000, .piece = 200};
    for (int small = 0; small < 2; small++)
        for (size_t i = 0; i < 2; i++) {
            engine_name = names[i];
            engine_bound = (uint64_t)small;
            stand_in.memory = small ? 4000 : UINT64_MAX; /* and older blocks go to the host */
            for (engine_threads = 1; engine_threads <= (i == 0 ? 3 : 1); engine_threads += 2)
                refuse_each_request(analyze_in_batches);
        }
    stand_in.more_cards = 0;
    fed = REFERENCES;
    fm_gpu_stand_in = NULL;
    fm_gpu_first_sizes = usual;
}

static fm_status take_late(void *context, const fm_late *late, size_t count, fm_error *error)
{
    (void)late;
    (void)error;
    *(uint64_t *)context += count;
    return FM_OK;
}

/* Many pairs, so that their counters grow, and a list of late references that does. */
static fm_status attribute_with_engine(fm_error *error)
{
    static const uint64_t edges[] = {0, 1, 16, 100, 1000};
    static uint32_t tags[REFERENCES];
    fm_analyzer_options options = {
        .engine = engine_name, .granularity = 1, .bound = engine_bound, .edges = edges, .edge_count = 5};
    fm_analyzer *analyzer = NULL;
    fm_raw_pair *pairs = NULL;
    size_t count = 0;
    uint64_t late = 0, sum = 0;
    for (uint32_t i = 0; i < REFERENCES; i++) tags[i] = 1 + i % 5000;
    fm_batch batch = material();
    batch.tag = tags;
    batch.size = NULL;
    fm_status status = fm_analyzer_create(&analyzer, &options, error);
    if (status != FM_OK) return status;
    status = fm_analyzer_set_late_sink(analyzer, 3, take_late, &late, error);
    if (status == FM_OK) status = fm_analyzer_feed(analyzer, &batch, error);
    if (status == FM_OK) status = fm_analyzer_pairs(analyzer, &pairs, &count, error);
    fm_analyzer_destroy(analyzer);
    if (status != FM_OK) return status;
    for (size_t i = 0; i < count; i++) sum += pairs[i].count;
    free(pairs);
    assert_int_equal(sum, REFERENCES);
    assert_true(late > 0);
    return FM_OK;
}

static fm_status take_distances(void *context, const uint64_t *blocks, const uint64_t *distances,
                                size_t count, fm_error *error)
{
    (void)blocks;
    (void)distances;
    (void)error;
    *(uint64_t *)context += count;
    return FM_OK;
}

static bool first_profile;

/* Ranks count the first half, in several phases; then distances are wanted in order. */
static fm_status count_with_ranks(fm_error *error)
{
    fm_analyzer_options options = {
        .engine = "parda", .bound = engine_bound, .bins = engine_bins, .threads = 3};
    fm_analyzer *analyzer = NULL;
    fm_profile *profile = NULL;
    uint64_t ordered = 0;
    fm_status status = fm_analyzer_create(&analyzer, &options, error);
    if (status != FM_OK) return status;
    status = fm_analyzer_feed_blocks(analyzer, addresses, REFERENCES, error);
    if (status == FM_OK && first_profile) status = fm_analyzer_profile(analyzer, &profile, error);
    fm_profile_destroy(profile);
    profile = NULL;
    /* Otherwise it is this that counts what was fed. */
    if (status == FM_OK) status = fm_analyzer_set_sink(analyzer, take_distances, &ordered, error);
    if (status == FM_OK) status = fm_analyzer_feed_blocks(analyzer, addresses, REFERENCES, error);
    if (status == FM_OK) status = fm_analyzer_profile(analyzer, &profile, error);
    fm_analyzer_destroy(analyzer);
    if (status != FM_OK) return status;
    assert_int_equal(profile->references, 2 * REFERENCES);
    assert_int_equal(ordered, REFERENCES);
    fm_profile_destroy(profile);
    return FM_OK;
}

CASE(parda_ranks)
{
    const size_t usual = fm_parda_share;
    fm_parda_share = 500;
    for (int bounded = 0; bounded < 2; bounded++)
        for (engine_bins = FM_BINS_LOGLINEAR; engine_bins <= FM_BINS_EXACT; engine_bins++) {
            engine_bound = bounded ? 100 : 0;
            first_profile = engine_bins != FM_BINS_LOG2;
            refuse_each_request(count_with_ranks);
        }
    fm_parda_share = usual;
}

CASE(attribution)
{
    const fm_engine_info *info;
    for (size_t i = 0; (info = fm_engine_at(i)); i++) {
        if (info->histogram_only) continue;
        engine_name = info->name;
        if (info->no_sites) continue;
        for (int bounded = 0; bounded < (info->unbounded ? 1 : 2); bounded++) {
            engine_bound = bounded ? 100 : 0;
            refuse_each_request(attribute_with_engine);
        }
    }
}

/* ---- readers ---- */

static const char *trace_name;
static fm_reader_options trace_options;
static uint64_t trace_references;

static fm_status read_and_analyze(fm_error *error)
{
    char path[256];
    fm_reader *reader = NULL;
    fm_analyzer *analyzer = NULL;
    fm_analyzer_options options = {.granularity = 64};
    fm_status status =
        fm_reader_open(&reader, in_directory(path, sizeof path, trace_name), &trace_options, error);
    if (status != FM_OK) return status;
    status = fm_analyzer_create(&analyzer, &options, error);
    uint64_t count = 0;
    while (status == FM_OK) {
        fm_batch batch;
        status = fm_reader_next(reader, &batch, error);
        if (status != FM_OK || batch.count == 0) break;
        count += batch.count;
        status = fm_analyzer_feed(analyzer, &batch, error);
    }
    if (status == FM_OK) assert_int_equal(count, trace_references);
    fm_analyzer_destroy(analyzer);
    fm_reader_close(reader);
    return status;
}

static void read_part(const char *name, fm_reader_options options, uint64_t references)
{
    trace_name = name;
    trace_options = options;
    trace_references = references;
    trace_options.read_ahead = false;
    refuse_each_request(read_and_analyze);
    trace_options.read_ahead = true;
    refuse_each_request(read_and_analyze);
}

static void read_trace(const char *name, fm_reader_options options)
{
    read_part(name, options, REFERENCES);
}

CASE(reader_of_native_traces)
{
    read_trace("a.fathom", (fm_reader_options){0});
}

CASE(reader_of_compressed_text)
{
    read_trace("b.txt.zst", (fm_reader_options){0});
}

CASE(reader_of_raw_keys)
{
    read_trace("c.u64", (fm_reader_options){0});
}

CASE(reader_of_csv_requests)
{
    read_trace("d.csv.gz", (fm_reader_options){.csv_key = "offset", .csv_size = "bytes"});
}

CASE(reader_of_csv_strings)
{
    read_trace("d.csv.gz", (fm_reader_options){.csv_key = "name"});
}

static fm_status measure_trace(fm_error *error)
{
    char path[256];
    fm_trace_extent extent;
    fm_status status = fm_trace_divisible(in_directory(path, sizeof path, "a.fathom"), NULL, &extent, error);
    if (status == FM_OK) assert_int_equal(extent.references, REFERENCES);
    return status;
}

CASE(extent_of_a_trace)
{
    refuse_each_request(measure_trace);
}

static fm_status check_trace(fm_error *error)
{
    char path[256];
    fm_check_result result;
    fm_status status =
        fm_trace_check(in_directory(path, sizeof path, "a.fathom"), NULL, NULL, &result, error);
    if (status == FM_OK) assert_int_equal(result.references, REFERENCES);
    return status;
}

CASE(check_of_a_trace)
{
    refuse_each_request(check_trace);
}

/* ---- writers ---- */

static const char *output_name;
static unsigned output_columns;

/* Writes a file and removes it again: whatever happens, the directory is as before. */
static fm_status write_and_remove(fm_error *error)
{
    char path[256];
    fm_status status = write_trace(output_name, output_columns, output_columns != 0, error);
    if (status == FM_OK) assert_int_equal(unlink(in_directory(path, sizeof path, output_name)), 0);
    return status;
}

CASE(writers)
{
    output_columns = FM_COLUMN_SIZE | FM_COLUMN_KIND;
    output_name = "out.fathom";
    refuse_each_request(write_and_remove);
    output_columns = 0;
    const char *const names[] = {"out.u64", "out.txt", "out.txt.zst", "out.u64.gz"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        output_name = names[i];
        refuse_each_request(write_and_remove);
    }
}

/* ---- code sites: written by two threads, read, numbered, described ---- */

static fm_status write_sites(const char *path, fm_error *error)
{
    static const fm_trace_module modules[] = {{"/bin/x", "00ff", 0, 1000, 0},
                                              {"/bin/y", NULL, 1000, 9999, 1}};
    fm_writer_options options = {.columns = FM_COLUMN_SITE, .threads = 2};
    fm_writer *writer = NULL;
    fm_batch batch = {.count = REFERENCES, .address = addresses, .site = addresses};
    fm_status status = fm_writer_open(&writer, path, &options, error);
    if (status == FM_OK) status = fm_writer_set_modules(writer, modules, 2, error);
    /* More than a block: its threads start with the first that is full. */
    for (size_t i = 0; i < 65536 / REFERENCES + 1 && status == FM_OK; i++)
        status = fm_writer_append(writer, &batch, error);
    if (status == FM_OK) status = fm_writer_finish(writer, error);
    fm_writer_close(writer);
    return status;
}

static fm_status describe_sites(const fm_site_index *index, const fm_reader *reader, fm_error *error)
{
    fm_attribution *attribution = NULL;
    const fm_trace_module *modules;
    const uint32_t *map;
    size_t count, map_count;
    fm_reader_modules(reader, &modules, &count);
    assert_int_equal(count, 2);
    fm_status status = fm_attribution_create(&attribution, error);
    if (status == FM_OK)
        status = fm_site_index_describe(index, modules, count, attribution, &map, &map_count, error);
    if (status == FM_OK) assert_int_equal(attribution->site_count + 1, map_count);
    fm_attribution_destroy(attribution);
    return status;
}

static fm_status read_sites(const char *path, fm_error *error)
{
    static uint32_t tags[FM_BATCH_MAX];
    fm_reader *reader = NULL;
    fm_site_index *index = NULL;
    fm_batch batch = {.count = 1};
    fm_status status = fm_reader_open(&reader, path, NULL, error);
    if (status == FM_OK) status = fm_site_index_create(&index, error);
    while (status == FM_OK && batch.count > 0) {
        status = fm_reader_next(reader, &batch, error);
        if (status == FM_OK) status = fm_site_index_tags(index, batch.site, batch.count, tags, error);
    }
    if (status == FM_OK) status = describe_sites(index, reader, error);
    fm_site_index_destroy(index);
    fm_reader_close(reader);
    return status;
}

static fm_status sites_there_and_back(fm_error *error)
{
    char path[256];
    fm_status status = write_sites(in_directory(path, sizeof path, "sites.fathom"), error);
    if (status == FM_OK) status = read_sites(path, error);
    unlink(path);
    return status;
}

CASE(code_sites)
{
    refuse_each_request(sites_there_and_back);
}

/* Of a trace of two blocks, and with modules, which every part looks for. */
CASE(readers_of_parts)
{
    static const uint64_t native[3] = {0, 65536, 464};
    char path[256];
    fm_error error;
    assert_int_equal(write_sites(in_directory(path, sizeof path, "parts.fathom"), &error), FM_OK);
    for (uint32_t part = 0; part < 3; part++) {
        fm_reader_options options = {.part = part, .parts = 3};
        read_part("parts.fathom", options, native[part]);
        read_part("c.u64", options, REFERENCES / 3);
    }
    unlink(path);
}

/* The same trace by two threads: two blocks are not for more. */
CASE(reader_by_threads)
{
    char path[256];
    fm_error error;
    assert_int_equal(write_sites(in_directory(path, sizeof path, "threads.fathom"), &error), FM_OK);
    read_part("threads.fathom", (fm_reader_options){.threads = 2}, 66000);
    unlink(path);
}

/* The same trace by threads that each fetch their own part, and its code sites. */
static fm_status sites_by_threads(fm_error *error)
{
    static const uint64_t edges[] = {0, 1, 10, 100};
    const fm_analyzer_options what = {
        .granularity = 1, .bound = engine_bound, .threads = engine_threads, .edges = edges, .edge_count = 4};
    char path[256];
    fm_reader *reader = NULL;
    fm_site_index *index = NULL;
    fm_analyzer *analyzer = NULL;
    fm_raw_pair *pairs = NULL;
    size_t count;
    fm_status status =
        fm_reader_open(&reader, in_directory(path, sizeof path, "threads.fathom"), NULL, error);
    if (status == FM_OK) status = fm_site_index_create(&index, error);
    if (status == FM_OK) status = fm_analyzer_create(&analyzer, &what, error);
    const fm_analyze_options how = {.threads = engine_threads, .sites = index};
    if (status == FM_OK) status = fm_analyze(reader, &analyzer, 1, &how, error);
    if (status == FM_OK) status = fm_analyzer_pairs(analyzer, &pairs, &count, error);
    uint64_t sum = 0;
    for (size_t i = 0; status == FM_OK && i < count; i++) sum += pairs[i].count;
    if (status == FM_OK) assert_int_equal(sum, (65536 / REFERENCES + 1) * REFERENCES);
    free(pairs);
    fm_analyzer_destroy(analyzer);
    fm_site_index_destroy(index);
    fm_reader_close(reader);
    return status;
}

/* Distances of the same trace in order, with their blocks, or times with them. */
static fm_status order_by_threads(fm_error *error)
{
    const fm_analyzer_options what = {.granularity = 1,
                                      .bound = engine_bound,
                                      .threads = engine_threads,
                                      .time_distances = engine_with_times,
                                      .distances_only = engine_with_times};
    char path[256];
    fm_reader *reader = NULL;
    fm_analyzer *analyzer = NULL;
    uint64_t ordered = 0;
    fm_status status =
        fm_reader_open(&reader, in_directory(path, sizeof path, "threads.fathom"), NULL, error);
    if (status == FM_OK) status = fm_analyzer_create(&analyzer, &what, error);
    if (status == FM_OK) status = fm_analyzer_set_sink(analyzer, take_distances, &ordered, error);
    const fm_analyze_options how = {.threads = engine_threads};
    if (status == FM_OK) status = fm_analyze(reader, &analyzer, 1, &how, error);
    if (status == FM_OK) assert_int_equal(ordered, (65536 / REFERENCES + 1) * REFERENCES);
    fm_analyzer_destroy(analyzer);
    fm_reader_close(reader);
    return status;
}

/* The function, where threads fetch even the shortest trace. */
static void refuse_threads_that_draw(fm_status (*function)(fm_error *error))
{
    const size_t usual_least = fm_parallel_least;
    const uint64_t usual_drawn = fm_parallel_drawn_least;
    char path[256];
    fm_error error;
    assert_int_equal(write_sites(in_directory(path, sizeof path, "threads.fathom"), &error), FM_OK);
    fm_parallel_least = 0;
    fm_parallel_drawn_least = 400;
    engine_threads = 2;
    refuse_each_request(function);
    fm_parallel_least = usual_least;
    fm_parallel_drawn_least = usual_drawn;
    unlink(path);
}

CASE(code_sites_by_threads)
{
    for (engine_bound = 0; engine_bound <= 100; engine_bound += 100)
        refuse_threads_that_draw(sites_by_threads);
}

CASE(in_order_by_threads)
{
    engine_with_times = false;
    for (engine_bound = 0; engine_bound <= 100; engine_bound += 100)
        refuse_threads_that_draw(order_by_threads);
    engine_bound = 0;
    engine_with_times = true;
    refuse_threads_that_draw(order_by_threads);
}

/* Samples of a stream, by bursts or by single references; what they tell; threads and profiles together. */
static bool sample_by_bursts;

static fm_status take_samples(fm_samples **samples, fm_error *error)
{
    const fm_virtual_sampler_options options = {.period = sample_by_bursts ? 1000 : 50,
                                                .bursts = sample_by_bursts,
                                                .burst_length = 200,
                                                .burst_steps = 2};
    fm_virtual_sampler *sampler;
    *samples = NULL;
    fm_status status = fm_virtual_sampler_create(&sampler, &options, error);
    if (status == FM_OK) status = fm_virtual_sampler_feed(sampler, addresses, sizes, REFERENCES, error);
    if (status == FM_OK) status = fm_virtual_sampler_finish(sampler, samples, error);
    fm_virtual_sampler_destroy(sampler);
    return status;
}

static fm_status sample_and_estimate(fm_error *error)
{
    fm_samples *first = NULL, *second = NULL;
    fm_estimate *estimate = NULL;
    fm_profile *sum = NULL;
    const fm_estimate_options options = {.estimator = sample_by_bursts ? NULL : "rdx", .bootstrap = 3};
    fm_status status = take_samples(&first, error);
    if (status == FM_OK) status = take_samples(&second, error);
    if (status == FM_OK) status = fm_samples_merge(first, second, error);
    if (status == FM_OK) status = fm_estimate_create(&estimate, first, &options, error);
    if (status == FM_OK) status = fm_profile_create(&sum, error);
    if (status == FM_OK) status = fm_profile_merge(sum, estimate->profile, error);
    fm_profile_destroy(sum);
    fm_estimate_destroy(estimate);
    fm_samples_destroy(first);
    fm_samples_destroy(second);
    return status;
}

CASE(samples_of_a_run)
{
    for (int bursts = 0; bursts <= 1; bursts++) {
        sample_by_bursts = bursts;
        refuse_each_request(sample_and_estimate);
    }
}

static fm_status generate(fm_error *error)
{
    fm_generator_options options = {
        .pattern = output_name, .keys = 100, .references = 1000, .seed = 1, .skew = 0.9};
    fm_generator *generator = NULL;
    uint64_t keys[1000];
    fm_status status = fm_generator_create(&generator, &options, error);
    if (status != FM_OK) return status;
    assert_true(fm_generator_next(generator, keys, 1000) > 0);
    fm_generator_destroy(generator);
    return FM_OK;
}

CASE(generators)
{
    const fm_pattern_info *info;
    for (size_t i = 0; (info = fm_generator_pattern_at(i)); i++) {
        output_name = info->name;
        refuse_each_request(generate);
    }
}

/* ---- profiles ---- */

static fm_profile *one, *other; /* made before memory gets short */

static fm_status no_room(fm_error *error)
{
    snprintf(error->reason, sizeof error->reason, "no room in the attribution");
    return error->status = FM_E_NOMEM;
}

static char source_file[256]; /* that the code is in */

/* Code for the profile's references: all that is known of it is made up, but its source is there. */
static fm_status attribute(fm_profile *profile, fm_error *error)
{
    static const uint64_t edges[] = {0, 1, 512, 1024};
    static const uint32_t map[] = {FM_NONE, 0, 1, 2};
    const fm_raw_pair pairs[] = {{0, 1, FM_RANGE_COLD, profile->cold},
                                 {1, 2, 3, profile->references - profile->cold - 1},
                                 {0, 9, 0, 1}}; /* by a site that nobody knows */
    fm_status status = fm_attribution_create(&profile->attribution, error);
    fm_attribution *made = profile->attribution;
    if (status == FM_OK) status = fm_attribution_set_edges(made, edges, 4, 512, error);
    if (status != FM_OK) return status;
    made->modules = fm_attribution_allocate(made, 1, sizeof *made->modules);
    made->sites = fm_attribution_allocate(made, 3, sizeof *made->sites);
    made->paths = fm_attribution_allocate(made, 1, sizeof *made->paths);
    made->objects = fm_attribution_allocate(made, 1, sizeof *made->objects);
    made->object_uses = fm_attribution_allocate(made, 1, sizeof *made->object_uses);
    fm_frame *frame = fm_attribution_allocate(made, 1, sizeof *frame);
    if (!made->modules || !made->sites || !made->paths || !made->objects || !made->object_uses || !frame)
        return no_room(error);
    *frame = (fm_frame){fm_attribution_intern(made, "f"), fm_attribution_intern(made, source_file), 7, 0};
    if (!frame->function || !frame->file) return no_room(error);
    made->modules[0].path = "/bin/x";
    for (uint32_t i = 0; i < 3; i++)
        made->sites[i] = (fm_site){0, i, i == 1 ? 0 : FM_NONE, i < 2, i < 2 ? frame : NULL, NULL, 0};
    made->paths[0] = (fm_call_path){FM_NONE, 2};
    made->objects[0] = (fm_object){.kind = FM_OBJECT_HEAP, .module = FM_NONE, .size = 1, .blocks = 1};
    made->object_uses[0] = (fm_object_use){0, 1, 1, 1, 0, 0, NULL};
    made->module_count = made->path_count = made->object_count = made->object_use_count = 1;
    made->site_count = 3;
    status = fm_attribution_add_pairs(made, pairs, 3, map, 4, error);
    const fm_frame places[] = {{"g", source_file, 8, 1}, {NULL, source_file, 8, 1}};
    uint32_t sites[2];
    if (status == FM_OK) status = fm_attribution_add_places(made, places, 2, sites, error);
    return status == FM_OK ? fm_attribution_record_sources(made, true, NULL, error) : status;
}

static fm_status attribute_again(fm_error *error)
{
    fm_profile profile = {.references = 100, .cold = 10};
    fm_status status = attribute(&profile, error);
    if (status == FM_OK) assert_int_equal(profile.attribution->site_count, 6);
    if (status == FM_OK) assert_int_equal(profile.attribution->source_count, 1);
    fm_attribution_destroy(profile.attribution);
    return status;
}

static int make_profiles(void **state), drop_profiles(void **state);

CASE_WITH(attributions, make_profiles, drop_profiles)
{
    refuse_each_request(attribute_again);
}

static int make_profiles(void **state)
{
    (void)state;
    fm_error error;
    fm_analyzer_options options = {.granularity = 1, .time_distances = true};
    in_directory(source_file, sizeof source_file, "f.c");
    FILE *source = fopen(source_file, "w");
    if (!source || fputs("int f;\n", source) < 0 || fclose(source)) return -1;
    if (analyze(&options, &one, &error) != FM_OK) return -1;
    options.bins = FM_BINS_LOG2;
    if (analyze(&options, &other, &error) != FM_OK || attribute(one, &error) != FM_OK) return -1;
    /* A run, and a part of it. */
    one->run = calloc(1, sizeof *one->run);
    one->parts = calloc(1, sizeof *one->parts);
    if (!one->run || !one->parts || !(one->run->command = strdup("./x")) ||
        fm_profile_create(&one->parts[0], &error) != FM_OK)
        return -1;
    one->part_count = 1;
    return 0;
}

static int drop_profiles(void **state)
{
    (void)state;
    fm_profile_destroy(one);
    fm_profile_destroy(other);
    unlink(source_file);
    return 0;
}

static fm_status write_and_read_profiles(fm_error *error)
{
    char path[256];
    in_directory(path, sizeof path, "p.json");
    const fm_profile *both[] = {one, other};
    fm_status status = fm_profile_write(path, both, 2, error);
    if (status != FM_OK) return status;
    fm_profile_list list = {0};
    status = fm_profile_read(path, &list, error);
    unlink(path);
    if (status != FM_OK) return status;
    assert_int_equal(list.count, 2);
    assert_int_equal(list.profiles[0]->references, one->references);
    status = fm_profile_merge(list.profiles[0], one, error);
    if (status == FM_OK) assert_int_equal(list.profiles[0]->references, 2 * one->references);
    if (status == FM_OK)
        assert_int_equal(list.profiles[0]->attribution->site_count, one->attribution->site_count);
    if (status == FM_OK) assert_non_null(list.profiles[0]->attribution->sources[0].text);
    fm_profile_list_clear(&list);
    return status;
}

CASE_WITH(profiles_written_read_merged, make_profiles, drop_profiles)
{
    refuse_each_request(write_and_read_profiles);
}

static fm_status model(fm_error *error)
{
    fm_comparison comparison;
    fm_curve curve = {0};
    fm_status status = fm_profile_compare(one, other, &comparison, error);
    if (status == FM_OK) status = fm_curve_create(&curve, one, error);
    fm_curve_clear(&curve);
    return status;
}

CASE_WITH(comparison_and_curve, make_profiles, drop_profiles)
{
    refuse_each_request(model);
}

static fm_status count_phases(fm_phases *phases, const uint64_t *distances, size_t count, fm_error *error)
{
    fm_phase_counter *counter = NULL;
    fm_profile **profiles = NULL, **deeper = NULL;
    fm_status status = fm_phase_counter_create(&counter, phases, 1, error);
    if (status == FM_OK) status = fm_phase_counter_feed(counter, distances, count, error);
    if (status == FM_OK) status = fm_phase_counter_finish(counter, 0.9, &profiles, error);
    if (status == FM_OK) deeper = fm_phase_counter_take(counter, 2);
    for (size_t i = 0; profiles && i < phases->count; i++) fm_profile_destroy(profiles[i]);
    for (size_t i = 0; deeper && i < phases->inner[0].count; i++) fm_profile_destroy(deeper[i]);
    free(profiles);
    free(deeper);
    fm_phase_counter_destroy(counter);
    return status;
}

/* Rounds of a loop over two blocks and one over forty: phases inside phases. */
static fm_status find_phases(fm_error *error)
{
    enum { LOOP = 400, LENGTH = 6 * LOOP };
    static uint64_t blocks[LENGTH], distances[LENGTH];
    for (size_t i = 0; i < LENGTH; i++) {
        const bool wide = i / LOOP % 2;
        const uint64_t some = wide ? 40 : 2, at = i % LOOP;
        blocks[i] = (wide ? 100 : 0) + at % some;
        distances[i] = at >= some ? some - 1 : i < 2 * (size_t)LOOP ? FM_COLD : 41;
    }
    fm_phase_finder *finder = NULL;
    fm_sampler *sampler = NULL;
    fm_phases *phases = NULL;
    fm_status status = fm_phase_finder_create(&finder, error);
    if (status == FM_OK) status = fm_phase_finder_survey(finder, distances, LENGTH, error);
    if (status == FM_OK) status = fm_phase_finder_locate(finder, blocks, distances, LENGTH, error);
    if (status == FM_OK) status = fm_sampler_create(&sampler, &(fm_sampler_options){.threshold = 40}, error);
    if (status == FM_OK) status = fm_sampler_feed(sampler, blocks, distances, LENGTH, error);
    if (status == FM_OK) status = fm_phases_create_nested(&phases, finder, sampler, 40, false, LENGTH, error);
    if (status == FM_OK) assert_int_equal(phases->inner_count, 1);
    if (status == FM_OK) status = count_phases(phases, distances, LENGTH, error);
    fm_phases_destroy(phases);
    fm_sampler_destroy(sampler);
    fm_phase_finder_destroy(finder);
    return status;
}

CASE(phases_inside_phases)
{
    refuse_each_request(find_phases);
}

/* A model of two profiles, through a file, to a profile; and phases. */
static fm_status prediction(fm_error *error)
{
    char path[256];
    in_directory(path, sizeof path, "a.model");
    static const double data[] = {100, 400};
    static const uint64_t blocks[] = {1, 5, 1, 5}, distances[] = {FM_COLD, 9, 9, 8};
    const fm_profile *both[] = {one, one};
    fm_model *trained = NULL, *read = NULL;
    fm_profile *predicted = NULL;
    fm_sampler *sampler = NULL;
    fm_phases *phases = NULL;
    fm_status status =
        fm_model_train(&trained, both, 2, &(fm_training_options){.percent = 10, .sizes = data}, error);
    if (status == FM_OK) status = fm_model_write(path, trained, error);
    if (status == FM_OK) status = fm_model_read(path, &read, error);
    if (status == FM_OK) status = fm_model_predict(read, 1600, FM_BINS_LOGLINEAR, &predicted, error);
    if (status == FM_OK) status = fm_sampler_create(&sampler, &(fm_sampler_options){.separation = 1}, error);
    if (status == FM_OK) status = fm_sampler_feed(sampler, blocks, distances, 4, error);
    if (status == FM_OK) status = fm_phases_create(&phases, sampler, 0, 4, error);
    if (status == FM_OK) status = count_phases(phases, distances, 4, error);
    fm_phases_destroy(phases);
    fm_sampler_destroy(sampler);
    fm_profile_destroy(predicted);
    fm_model_destroy(trained);
    fm_model_destroy(read);
    unlink(path);
    return status;
}

CASE_WITH(models_and_predictions, make_profiles, drop_profiles)
{
    refuse_each_request(prediction);
}

static fm_status machine(fm_error *error)
{
    fm_cache caches[16];
    size_t count;
    return fm_machine_caches(caches, 16, &count, error);
}

CASE(caches_of_this_machine)
{
    refuse_each_request(machine);
}

static fm_status views(fm_error *error)
{
    fm_view_options options = {.width = 100, .unicode = true};
    fm_cache cache = {.name = "L1d", .bytes = 32768, .line = 64, .ways = 8, .shared_by = 1};
    const fm_profile *both[] = {one, other};
    fm_view_histogram(nowhere, one, &options);
    fm_view_caches(nowhere, one, &cache, 1, &options);
    fm_status status = fm_view_curve(nowhere, one, &options, error);
    if (status == FM_OK) status = fm_view_curve_csv(nowhere, one, error);
    if (status == FM_OK) status = fm_view_curve_json(nowhere, one, &cache, 1, error);
    fm_view_parts(nowhere, one, &cache, 1, &options);
    if (status == FM_OK) status = fm_view_pairs(nowhere, one, &cache, 10, &options, error);
    if (status == FM_OK) status = fm_view_pairs_csv(nowhere, one, &cache, 1, error);
    if (status == FM_OK) status = fm_view_callgrind(nowhere, one, &cache, 1, error);
    if (status == FM_OK && fm_report_available())
        status = fm_report_write(nowhere, "A title", both, 2, &cache, 1, error);
    return status;
}

CASE_WITH(views_and_report, make_profiles, drop_profiles)
{
    refuse_each_request(views);
}

/* ---- the page of a program, with its source ---- */

static char source[64], sum[FM_SHA256_TEXT];
static size_t source_size;

static fm_status page_of_a_program(fm_error *error)
{
    static const uint64_t edges[] = {0, 1, 16, 256};
    static fm_bin late[] = {{256, UINT64_MAX, 7}};
    static fm_module modules[] = {{.path = "/no/such/program", .build_id = "aa"}};
    fm_frame frames[40];
    fm_site sites[80];
    fm_pair pairs[80];
    for (uint32_t i = 0; i < 40; i++) frames[i] = (fm_frame){"function", source, 1 + i, 1};
    for (uint32_t i = 0; i < 80; i++) {
        sites[i] = (fm_site){.module = 0, .address = i, .path = i % 3, .frame_count = i % 2, .symbol = "s"};
        if (i % 2) sites[i].frames = &frames[i / 2];
        pairs[i] = (fm_pair){.use = i, .reuse = 79 - i, .count = 8, .cold = 1, .bin_count = 1, .bins = late};
    }
    fm_call_path paths[] = {{FM_NONE, 1}, {0, 2}, {1, 3}};
    fm_object objects[] = {{.kind = FM_OBJECT_HEAP, .module = FM_NONE, .allocation = 2}};
    fm_object_use uses[] = {{.object = 0, .site = 1, .count = 7, .bin_count = 1, .bins = late}};
    fm_attribution attribution = {.edge_count = 4,
                                  .edges = edges,
                                  .late_from = 16,
                                  .module_count = 1,
                                  .site_count = 80,
                                  .path_count = 3,
                                  .pair_count = 80,
                                  .object_count = 1,
                                  .object_use_count = 1,
                                  .modules = modules,
                                  .sites = sites,
                                  .paths = paths,
                                  .pairs = pairs,
                                  .objects = objects,
                                  .object_uses = uses,
                                  .source_count = 1,
                                  .sources =
                                      &(fm_source){.path = source, .sha256 = sum, .size = source_size}};
    fm_run run = {.command = (char *)"program"};
    fm_profile part = {.engine = (char *)"exact", .granularity = 64, .complete = true, .run = &run};
    fm_profile *parts[] = {&part};
    fm_profile profile = {.engine = (char *)"exact",
                          .granularity = 64,
                          .complete = true,
                          .attribution = &attribution,
                          .run = &run,
                          .part_count = 1,
                          .parts = parts};
    const fm_profile *all[] = {&profile};
    fm_report_options options = {.title = "title"};
    return fm_report_write_page(nowhere, &options, all, 1, NULL, 0, error);
}

static int write_source(void **state)
{
    (void)state;
    char text[1000] = "";
    snprintf(source, sizeof source, "%s/source.c", directory);
    for (int i = 0; i < 50; i++) snprintf(text + strlen(text), sizeof text - strlen(text), "line %d\n", i);
    source_size = strlen(text);
    fm_sha256_text(text, source_size, sum);
    FILE *out = fopen(source, "w");
    if (!out) return -1;
    fputs(text, out);
    return fclose(out);
}

static int remove_source(void **state)
{
    (void)state;
    return unlink(source);
}

CASE_WITH(page_of_a_program_and_its_source, write_source, remove_source)
{
    if (!fm_report_available()) {
        print_message("SKIP: this build has no report page (made with FATHOM_REPORT=OFF)\n");
        skip();
    }
    refuse_each_request(page_of_a_program);
}

CASES_WITH(prepare, clean_up);

#endif
