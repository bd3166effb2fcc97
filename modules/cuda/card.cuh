/* SPDX-License-Identifier: Apache-2.0 */
/*
 * card.cuh - what all files of the module share: its one symbol, CUDA's errors as fm_error, blocks as short
 * keys, and what CUB is called for.
 */
#ifndef FATHOM_CUDA_CARD_CUH
#define FATHOM_CUDA_CARD_CUH

#include <cuda_runtime.h>
#include <fathom/status.h>
#include <stddef.h>
#include <stdint.h>

/*
 * ==== module ====
 *
 * The module's one symbol, and the functions that other files put into its table.
 */

extern "C" {
#include "engine/gpu/gpu_module.h"

extern const fm_gpu_module fathom_gpu_module __attribute__((visibility("default")));
}

fm_status fathom_hp_rda_open(fm_gpu_hp_rda **state, unsigned device, const struct fm_hp_rda_shape *shape,
                             fm_error *error);
void fathom_hp_rda_close(fm_gpu_hp_rda *state);
fm_status fathom_hp_rda_analyze(fm_gpu_hp_rda *state, const uint64_t *blocks, size_t count,
                                struct fm_hp_rda_trace *result, fm_error *error);

/*
 * ==== errors ====
 *
 * CUDA's errors as fm_error. The module calls nothing of the library, so it fills them in
 * itself.
 */

/* Fills *error (where not NULL) and returns status. */
fm_status cuda_fail(fm_error *error, fm_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* What a CUDA call that failed means; `doing` says what it was for: "copying to the card". */
fm_status cuda_fail_call(fm_error *error, cudaError_t code, const char *doing);

/* In a function that returns fm_status and has an fm_error *error. */
#define CUDA_TRY(call, doing)                                                                                \
    do {                                                                                                     \
        const cudaError_t cuda_try_code = (call);                                                            \
        if (cuda_try_code != cudaSuccess) return cuda_fail_call(error, cuda_try_code, doing);                \
    } while (0)
#define FM_TRY(call)                                                                                         \
    do {                                                                                                     \
        const fm_status fm_try_status = (call);                                                              \
        if (fm_try_status != FM_OK) return fm_try_status;                                                    \
    } while (0)

/*
 * ==== keys ====
 *
 * blocks as short numbers: only the bits in which they differ, moved together. A trace over 2^20
 * blocks has keys of 20 bits, however large its block numbers are.
 */

namespace fathom
{

constexpr uint32_t NO_POSITION = 0xffffffffu; /* of a reference that there is none of */

/* What the blocks have in common, on the card. */
struct KeySummary {
    unsigned long long least, greatest, varying; /* varying: bits in which any differs from the first */
};

/* Which bits of (block - less) make a key: runs of bits, moved together. */
struct KeyPacking {
    static constexpr int RUNS = 8;
    uint64_t less;
    int runs;
    int bits; /* in all */
    uint64_t mask[RUNS];
    int shift[RUNS]; /* to the right, before masking */
    int at[RUNS];    /* to the left, after */

    __device__ __forceinline__ uint64_t key(uint64_t block) const
    {
        const uint64_t number = block - less;
        uint64_t packed = number >> shift[0] & mask[0]; /* the first run begins at bit 0 */
#pragma unroll 1
        for (int run = 1; run < runs; run++) packed |= (number >> shift[run] & mask[run]) << at[run];
        return packed;
    }
};

KeyPacking choose_packing(const KeySummary &summary);

/* Summarises blocks; waits for the answer. */
fm_status summarize_keys(const uint64_t *blocks, uint32_t count, KeySummary *on_card, KeySummary *answer,
                         cudaStream_t stream, fm_error *error);

/* Enough blocks of threads to fill any card; loops take the rest. */
constexpr unsigned SWEEP_BLOCKS = 132 * 16;

inline unsigned blocks_for(size_t count, size_t each)
{
    return (unsigned)((count + each - 1) / each);
}

} // namespace fathom

/*
 * ==== CUB ====
 *
 * what CUB, CUDA's library of device-wide primitives, is called for.
 *
 * In one file: CUB's headers take most of the time that a file with them takes to compile. A call with no
 * space (nullptr) does nothing and says in `bytes` how much space it needs.
 */

namespace fathom
{

/* to[i]: the sum of from[0 … i-1]. The two may be the same. */
cudaError_t sum_before(void *space, size_t &bytes, uint32_t *from, uint32_t *to, size_t count,
                       cudaStream_t stream);

/* Copies the blocks that are linked to nothing (NO_POSITION in `previous`), in order, and counts them. */
cudaError_t select_firsts(void *space, size_t &bytes, const uint64_t *blocks, const uint32_t *previous,
                          uint64_t *to, uint32_t *found, int64_t count, cudaStream_t stream);

/* Keys and values, and as much space again: whichever hold the result afterwards are `keys` and `values`. */
template <typename Key> struct SortBuffers {
    Key *keys, *other_keys;
    uint32_t *values, *other_values;
};

/* Sorts, stably, by the lowest `bits` of the keys. */
cudaError_t sort_pairs(void *space, size_t &bytes, SortBuffers<uint32_t> &buffers, size_t count, int bits,
                       cudaStream_t stream);
cudaError_t sort_pairs(void *space, size_t &bytes, SortBuffers<uint64_t> &buffers, size_t count, int bits,
                       cudaStream_t stream);

} // namespace fathom

#endif
