/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cub_calls.cuh - what CUB, CUDA's library of device-wide primitives, is called for.
 *
 * In one file: CUB's headers take most of the time that a file with them takes to compile. A call with no
 * space (nullptr) does nothing and says in `bytes` how much space it needs.
 */
#ifndef FATHOM_CUDA_CUB_CALLS_CUH
#define FATHOM_CUDA_CUB_CALLS_CUH

#include <cuda_runtime.h>
#include <stddef.h>
#include <stdint.h>

namespace fathom
{

/* to[i]: the sum of from[0 … i-1]. The two may be the same. */
cudaError_t sum_before(void *space, size_t &bytes, const uint32_t *from, uint32_t *to, size_t count,
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
