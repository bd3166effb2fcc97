/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hp_rda_cpu.c - HP-RDA on CPU threads (the paper's own comparison, section V-B, used OpenMP). A thread takes
 * one thread block's trace after the other and does the work of its 64 threads in turn; the steps are
 * hp_rda_steps.h's.
 */
#include "engine/hp_rda/hp_rda.h"

#include "base/crew.h"
#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>
#include <time.h>

#define HP_STEP static inline
#define HP_READ(place) __atomic_load_n(place, __ATOMIC_ACQUIRE)
#define HP_ADD(place, n) __atomic_fetch_add(place, n, __ATOMIC_RELAXED)
#define HP_ONES(word) ((uint32_t)__builtin_popcount(word))
#define HP_SWAP(place, a, b) hp_swap(place, a, b)

/* NOLINTNEXTLINE(readability-non-const-parameter): the compiler's atomics change it */
static inline uint32_t hp_swap(uint32_t *place, uint32_t was, uint32_t now)
{
    __atomic_compare_exchange_n(place, &was, now, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    return was;
}

#include "engine/hp_rda/hp_rda_steps.h"
/* What they work on: */

enum { SLICE = 1 << 14 }; /* nodes or infos of the top table that are one task */

struct fm_hp_rda_cpu {
    fm_hp_rda_shape shape;
    fm_rounds *workers;
};

/* One trace under way. */
typedef struct analysis {
    hp_work work;
    fm_bins bins;
    uint64_t *counts, total;
    fm_hp_rda_use *uses;
    bool short_of_memory;
} analysis;

/* ---- memory ---- */

static void allocate_array(void *context, void **array, size_t bytes, bool zeroed)
{
    (void)zeroed; /* new pages always are */
    analysis *run = context;
    *array = fm_pages_allocate(bytes);
    if (!*array) run->short_of_memory = true;
}

static void free_array(void *context, void **array, size_t bytes, bool zeroed)
{
    (void)context;
    (void)zeroed;
    fm_pages_free(*array, bytes);
}

static void add_size(void *context, void **array, size_t bytes, bool zeroed)
{
    (void)array;
    (void)zeroed;
    *(uint64_t *)context += bytes;
}

uint64_t fm_hp_rda_cpu_memory(const fm_hp_rda_shape *shape, size_t count)
{
    hp_work work = hp_plan(shape, count);
    uint64_t bytes = 0;
    hp_for_each_array(&work, add_size, &bytes);
    return bytes;
}

/* ---- the steps, as tasks ---- */

static void analyze_block(void *context, size_t block)
{
    analysis *run = context;
    for (uint32_t thread = 0; thread < run->work.threads; thread++)
        hp_analyze_thread(&run->work, (uint32_t)block, thread);
    hp_sum_threads(&run->work, (uint32_t)block);
}

static void merge_block(void *context, size_t block)
{
    analysis *run = context;
    const hp_table table = hp_table_of_block(&run->work, (uint32_t)block);
    for (uint32_t place = 0; place < hp_nodes(&table); place++)
        hp_merge_threads(&run->work, (uint32_t)block, place);
}

static void merge_top_slice(void *context, size_t slice)
{
    analysis *run = context;
    const uint32_t nodes = hp_nodes(&run->work.top), start = (uint32_t)slice * SLICE;
    const uint32_t end = nodes - start < SLICE ? nodes : start + SLICE;
    for (uint32_t place = start; place < end; place++) {
        uint32_t first, latest;
        if (!hp_merge_blocks(&run->work, place, &first, &latest)) continue;
        run->uses[HP_ADD(run->work.distinct, 1)] =
            (fm_hp_rda_use){.block = run->work.top.nodes[place].block, .first = first, .latest = latest};
    }
}

static void count_distance(analysis *run, uint64_t distance, uint64_t times)
{
    (void)__atomic_fetch_add(&run->counts[fm_bins_index(run->bins, distance)], times, __ATOMIC_RELAXED);
    (void)__atomic_fetch_add(&run->total, times, __ATOMIC_RELAXED);
}

static void count_block(void *context, size_t block)
{
    analysis *run = context;
    const hp_work *work = &run->work;
    const hp_table table = hp_table_of_block(work, (uint32_t)block);
    for (uint32_t distance = 0; distance < work->thread_trace; distance++) {
        const uint32_t times = work->distances[block * work->thread_trace + distance];
        if (times) count_distance(run, distance, times);
    }
    for (uint32_t place = 0; place < table.used[1]; place++) {
        const uint32_t distance = hp_final_local(work, (uint32_t)block, place);
        if (distance != HP_NONE) count_distance(run, distance, 1);
    }
}

static void count_top_slice(void *context, size_t slice)
{
    analysis *run = context;
    const uint32_t infos = run->work.top.used[1], start = (uint32_t)slice * SLICE;
    const uint32_t end = infos - start < SLICE ? infos : start + SLICE;
    for (uint32_t place = start; place < end; place++) {
        const uint32_t distance = hp_final_top(&run->work, place);
        if (distance != HP_NONE) count_distance(run, distance, 1);
    }
}

static size_t slice_count(uint32_t count)
{
    return (count + (size_t)SLICE - 1) / SLICE;
}

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static fm_status check_pools(const analysis *run, fm_error *error)
{
    if (!*run->work.failed) return FM_OK;
    return fm_fail(
        error, FM_E_LIMIT, NULL,
        "the memory pool of hp-rda is used up: %u elements for each thread block, %u for the trace",
        run->work.local.room, run->work.top.room);
}

static fm_status run_steps(analysis *run, fm_rounds *workers, double *seconds, fm_error *error)
{
    hp_work *work = &run->work;
    double marks[FM_HP_RDA_STAGES + 1];
    marks[FM_HP_RDA_ANALYZE] = seconds_now();
    fm_rounds_run(workers, analyze_block, run, work->blocks);
    fm_status status = check_pools(run, error);
    if (status != FM_OK) return status;
    marks[FM_HP_RDA_MERGE_THREADS] = seconds_now();
    fm_rounds_run(workers, merge_block, run, work->blocks);
    status = check_pools(run, error);
    if (status != FM_OK) return status;
    marks[FM_HP_RDA_MERGE_BLOCKS] = seconds_now();
    hp_sum_blocks(work);
    fm_rounds_run(workers, merge_top_slice, run, slice_count(hp_nodes(&work->top)));
    marks[FM_HP_RDA_ADJUST] = seconds_now();
    fm_rounds_run(workers, count_block, run, work->blocks);
    fm_rounds_run(workers, count_top_slice, run, slice_count(work->top.used[1]));
    marks[FM_HP_RDA_STAGES] = seconds_now();
    for (int stage = 0; stage < FM_HP_RDA_STAGES; stage++) seconds[stage] = marks[stage + 1] - marks[stage];
    return FM_OK;
}

/* ---- the interface ---- */

fm_status fm_hp_rda_cpu_open(fm_hp_rda_cpu **result, unsigned threads, const fm_hp_rda_shape *shape,
                             fm_error *error)
{
    fm_hp_rda_cpu *state = *result = fm_calloc(1, sizeof *state);
    if (!state) return fm_fail_memory(error, sizeof *state, "hp-rda");
    state->shape = *shape;
    fm_status status = fm_rounds_create(&state->workers, threads, error);
    if (status == FM_OK) return FM_OK;
    free(state);
    *result = NULL;
    return status;
}

void fm_hp_rda_cpu_close(fm_hp_rda_cpu *state)
{
    if (!state) return;
    fm_rounds_destroy(state->workers);
    free(state);
}

fm_status fm_hp_rda_cpu_analyze(fm_hp_rda_cpu *state, const uint64_t *blocks, size_t count,
                                fm_hp_rda_trace *result, fm_error *error)
{
    analysis run = {.work = hp_plan(&state->shape, count),
                    .bins = state->shape.bins,
                    .counts = result->counts,
                    .uses = result->uses};
    run.work.trace = blocks;
    fm_status status = FM_OK;
    hp_for_each_array(&run.work, allocate_array, &run);
    if (run.short_of_memory)
        status = fm_fail_memory(error, fm_hp_rda_cpu_memory(&state->shape, count),
                                "hp-rda's hash tables and pools");
    if (status == FM_OK) status = run_steps(&run, state->workers, result->seconds, error);
    if (status == FM_OK) {
        result->total = run.total;
        result->distinct = *run.work.distinct;
    }
    hp_for_each_array(&run.work, free_array, &run);
    return status;
}
