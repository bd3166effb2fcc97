/* SPDX-License-Identifier: Apache-2.0 */
/*
 * card_hp_rda.cu - HP-RDA on the card, one CUDA thread for each thread-level trace, as its paper has it
 * (src/engine/hp_rda/hp_rda.h). The steps are those that CPU threads do too
 * (src/engine/hp_rda/hp_rda_steps.h); nothing here is tuned beyond the paper.
 */
#include "card.cuh"
#include "thread_blocks.cuh"

#include <algorithm>
#include <cuda/atomic>
#include <new>
#include <stdio.h>
#include <vector>

typedef cuda::atomic_ref<uint32_t, cuda::thread_scope_device> shared_word;

#define HP_STEP static __host__ __device__ inline
#define HP_READ(place) shared_word(*(place)).load(cuda::memory_order_acquire)
#define HP_ADD(place, n) shared_word(*(place)).fetch_add(n, cuda::memory_order_relaxed)
#define HP_SWAP(place, a, b) hp_swap(place, a, b)
#ifdef __CUDA_ARCH__
#define HP_ONES(word) ((uint32_t)__popc(word))
#else
#define HP_ONES(word) ((uint32_t)__builtin_popcount(word))
#endif

static __host__ __device__ inline uint32_t hp_swap(uint32_t *place, uint32_t was, uint32_t now)
{
    shared_word(*place).compare_exchange_strong(was, now, cuda::memory_order_acq_rel,
                                                cuda::memory_order_acquire);
    return was;
}

extern "C" {
#include "engine/hp_rda/hp_rda_steps.h"
}

using namespace fathom;

namespace
{

constexpr int THREADS = 256;
constexpr unsigned HP_SWEEP_BLOCKS = 132 * 8;

__global__ void __launch_bounds__(FM_HP_RDA_THREADS) analyze_threads(const __grid_constant__ hp_work work)
{
    hp_analyze_thread(&work, blockIdx.x, threadIdx.x);
    __syncthreads();
    if (threadIdx.x == 0) hp_sum_threads(&work, blockIdx.x);
}

__global__ void __launch_bounds__(THREADS) merge_threads(const __grid_constant__ hp_work work)
{
    const hp_table table = hp_table_of_block(&work, blockIdx.x);
    const uint32_t nodes = hp_nodes(&table);
    for (uint32_t place = threadIdx.x; place < nodes; place += THREADS)
        hp_merge_threads(&work, blockIdx.x, place);
}

__global__ void sum_blocks(const __grid_constant__ hp_work work)
{
    hp_sum_blocks(&work);
}

__global__ void __launch_bounds__(THREADS)
    merge_blocks(const __grid_constant__ hp_work work, fm_hp_rda_use *uses)
{
    const uint32_t nodes = hp_nodes(&work.top);
    for (uint32_t place = blockIdx.x * THREADS + threadIdx.x; place < nodes; place += gridDim.x * THREADS) {
        fm_hp_rda_use use;
        if (!hp_merge_blocks(&work, place, &use.first, &use.latest)) continue;
        use.block = work.top.nodes[place].block;
        uses[atomicAdd(work.distinct, 1)] = use;
    }
}

template <fm_bins BINS> __device__ void count_distance(Count *counts, uint32_t distance, Count times)
{
    atomicAdd(&counts[bin_of<BINS>(distance)], times);
}

/* What threads and thread blocks found; *total is how much it is. */
template <fm_bins BINS>
__global__ void __launch_bounds__(THREADS)
    count_local(const __grid_constant__ hp_work work, Count *counts, Count *total)
{
    const uint32_t block = blockIdx.x;
    const hp_table table = hp_table_of_block(&work, block);
    Count counted = 0;
    for (uint32_t distance = threadIdx.x; distance < work.thread_trace; distance += THREADS) {
        const uint32_t times = work.distances[(uint64_t)block * work.thread_trace + distance];
        if (times) count_distance<BINS>(counts, distance, times);
        counted += times;
    }
    for (uint32_t place = threadIdx.x; place < table.used[1]; place += THREADS) {
        const uint32_t distance = hp_final_local(&work, block, place);
        if (distance == HP_NONE) continue;
        count_distance<BINS>(counts, distance, 1);
        counted++;
    }
    if (counted) atomicAdd(total, counted);
}

template <fm_bins BINS>
__global__ void __launch_bounds__(THREADS)
    count_top(const __grid_constant__ hp_work work, Count *counts, Count *total)
{
    Count counted = 0;
    for (uint32_t place = blockIdx.x * THREADS + threadIdx.x; place < work.top.used[1];
         place += gridDim.x * THREADS) {
        const uint32_t distance = hp_final_top(&work, place);
        if (distance == HP_NONE) continue;
        count_distance<BINS>(counts, distance, 1);
        counted++;
    }
    if (counted) atomicAdd(total, counted);
}

template <fm_bins BINS> void count_all(const hp_work &work, Count *counts, Count *total)
{
    count_local<BINS><<<work.blocks, THREADS>>>(work, counts, total);
    count_top<BINS><<<HP_SWEEP_BLOCKS, THREADS>>>(work, counts, total);
}

/* Bytes of the card, handed out from the front. */
struct Arena {
    unsigned char *memory;
    size_t used;
    cudaError_t code;

    void *allocate(size_t bytes)
    {
        void *at = memory ? memory + used : nullptr;
        used += (bytes + 255) / 256 * 256;
        return at;
    }
};

void allocate_array(void *context, void **array, size_t bytes, bool zeroed)
{
    Arena *arena = (Arena *)context;
    *array = arena->allocate(bytes);
    if (arena->memory && zeroed && arena->code == cudaSuccess)
        arena->code = cudaMemsetAsync(*array, 0, bytes, 0);
}

/* All that a trace needs on the card. */
struct Trace {
    hp_work work;
    uint64_t *blocks;
    fm_hp_rda_use *uses;
    Count *counts, *total;
    size_t bins;

    Trace(const fm_hp_rda_shape &shape, size_t count, Arena &arena) : work(hp_plan(&shape, count))
    {
        bins = shape.bins == FM_BINS_EXACT  ? count + 1
               : shape.bins == FM_BINS_LOG2 ? LOG2_BINS
                                            : LOGLINEAR_BINS;
        allocate_array(&arena, (void **)&counts, bins * sizeof *counts, true);
        allocate_array(&arena, (void **)&total, sizeof *total, true);
        hp_for_each_array(&work, allocate_array, &arena);
        allocate_array(&arena, (void **)&blocks, count * sizeof *blocks, false);
        allocate_array(&arena, (void **)&uses, count * sizeof *uses, false);
        work.trace = blocks;
    }
};

} // namespace

struct fm_gpu_hp_rda {
    int device;
    fm_hp_rda_shape shape;
    unsigned char *memory;
    size_t room;
    cudaEvent_t marks[FM_HP_RDA_STAGES + 1];
};

void fathom_hp_rda_close(fm_gpu_hp_rda *state)
{
    if (!state) return;
    (void)cudaSetDevice(state->device);
    (void)cudaFree(state->memory);
    for (cudaEvent_t mark : state->marks)
        if (mark) (void)cudaEventDestroy(mark);
    delete state;
}

fm_status fathom_hp_rda_open(fm_gpu_hp_rda **result, unsigned device, const fm_hp_rda_shape *shape,
                             fm_error *error)
{
    fm_gpu_hp_rda *state = *result = new (std::nothrow) fm_gpu_hp_rda();
    if (!state) return cuda_fail(error, FM_E_NOMEM, "out of memory: hp-rda");
    state->device = (int)device;
    state->shape = *shape;
    cudaError_t code = cudaSetDevice(state->device);
    for (cudaEvent_t &mark : state->marks)
        if (code == cudaSuccess) code = cudaEventCreate(&mark);
    if (code == cudaSuccess) return FM_OK;
    fathom_hp_rda_close(state);
    *result = nullptr;
    return cuda_fail_call(error, code, "using the graphics card");
}

static fm_status check_pools(const hp_work &work, fm_error *error)
{
    uint32_t failed;
    CUDA_TRY(cudaMemcpy(&failed, work.failed, sizeof failed, cudaMemcpyDeviceToHost), "hp-rda");
    if (!failed) return FM_OK;
    return cuda_fail(
        error, FM_E_LIMIT,
        "the memory pool of hp-rda is used up: %u elements for each thread block, %u for the trace",
        work.local.room, work.top.room);
}

static fm_status run_steps(fm_gpu_hp_rda *state, Trace &trace, fm_error *error)
{
    const hp_work &work = trace.work;
    CUDA_TRY(cudaEventRecord(state->marks[FM_HP_RDA_ANALYZE]), "hp-rda");
    analyze_threads<<<work.blocks, FM_HP_RDA_THREADS>>>(work);
    CUDA_TRY(cudaGetLastError(), "hp-rda: thread-level analysis");
    FM_TRY(check_pools(work, error));
    CUDA_TRY(cudaEventRecord(state->marks[FM_HP_RDA_MERGE_THREADS]), "hp-rda");
    merge_threads<<<work.blocks, THREADS>>>(work);
    CUDA_TRY(cudaGetLastError(), "hp-rda: merging threads");
    FM_TRY(check_pools(work, error));
    CUDA_TRY(cudaEventRecord(state->marks[FM_HP_RDA_MERGE_BLOCKS]), "hp-rda");
    sum_blocks<<<1, 1>>>(work);
    merge_blocks<<<HP_SWEEP_BLOCKS, THREADS>>>(work, trace.uses);
    CUDA_TRY(cudaGetLastError(), "hp-rda: merging blocks");
    CUDA_TRY(cudaEventRecord(state->marks[FM_HP_RDA_ADJUST]), "hp-rda");
    switch (state->shape.bins) {
    case FM_BINS_LOG2:
        count_all<FM_BINS_LOG2>(work, trace.counts, trace.total);
        break;
    case FM_BINS_EXACT:
        count_all<FM_BINS_EXACT>(work, trace.counts, trace.total);
        break;
    default:
        count_all<FM_BINS_LOGLINEAR>(work, trace.counts, trace.total);
        break;
    }
    CUDA_TRY(cudaGetLastError(), "hp-rda: adjusting");
    CUDA_TRY(cudaEventRecord(state->marks[FM_HP_RDA_STAGES]), "hp-rda");
    CUDA_TRY(cudaDeviceSynchronize(), "hp-rda");
    return FM_OK;
}

static fm_status fetch_results(fm_gpu_hp_rda *state, const Trace &trace, fm_hp_rda_trace *result,
                               fm_error *error)
{
    std::vector<uint64_t> counts(trace.bins);
    CUDA_TRY(cudaMemcpy(counts.data(), trace.counts, trace.bins * sizeof counts[0], cudaMemcpyDeviceToHost),
             "fetching the histogram");
    for (size_t i = 0; i < trace.bins; i++)
        if (counts[i]) result->counts[i] += counts[i];
    CUDA_TRY(cudaMemcpy(&result->total, trace.total, sizeof result->total, cudaMemcpyDeviceToHost),
             "fetching the histogram");
    CUDA_TRY(
        cudaMemcpy(&result->distinct, trace.work.distinct, sizeof result->distinct, cudaMemcpyDeviceToHost),
        "fetching blocks");
    CUDA_TRY(
        cudaMemcpy(result->uses, trace.uses, result->distinct * sizeof *result->uses, cudaMemcpyDeviceToHost),
        "fetching blocks");
    for (int stage = 0; stage < FM_HP_RDA_STAGES; stage++) {
        float milliseconds = 0;
        CUDA_TRY(cudaEventElapsedTime(&milliseconds, state->marks[stage], state->marks[stage + 1]), "timing");
        result->seconds[stage] = milliseconds / 1e3;
    }
    return FM_OK;
}

fm_status fathom_hp_rda_analyze(fm_gpu_hp_rda *state, const uint64_t *blocks, size_t count,
                                fm_hp_rda_trace *result, fm_error *error)
{
    Arena arena = {nullptr, 0, cudaSuccess};
    CUDA_TRY(cudaSetDevice(state->device), "using the graphics card");
    (void)Trace(state->shape, count, arena); /* how much it is */
    if (arena.used > state->room) {
        char doing[96];
        snprintf(doing, sizeof doing, "hp-rda needs %zu bytes for a trace of %zu references", arena.used,
                 count);
        (void)cudaFree(state->memory);
        state->memory = nullptr;
        state->room = 0;
        CUDA_TRY(cudaMalloc((void **)&state->memory, arena.used), doing);
        state->room = arena.used;
    }
    arena = Arena{state->memory, 0, cudaSuccess};
    Trace trace(state->shape, count, arena);
    CUDA_TRY(arena.code, "clearing hash tables");
    CUDA_TRY(cudaMemcpy(trace.blocks, blocks, count * sizeof *blocks, cudaMemcpyHostToDevice),
             "copying to the card");
    FM_TRY(run_steps(state, trace, error));
    return fetch_results(state, trace, result, error);
}
