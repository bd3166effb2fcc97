/* SPDX-License-Identifier: Apache-2.0 */
/* cub_calls.cu - what CUB is called for (card.cuh). */
#include "card.cuh"

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>

namespace fathom
{

namespace
{

struct IsFirst {
    __device__ bool operator()(uint32_t before) const
    {
        return before == NO_POSITION;
    }
};

template <typename Key>
cudaError_t sort_buffers(void *space, size_t &bytes, SortBuffers<Key> &buffers, size_t count, int bits,
                         cudaStream_t stream)
{
    cub::DoubleBuffer<Key> keys(buffers.keys, buffers.other_keys);
    cub::DoubleBuffer<uint32_t> values(buffers.values, buffers.other_values);
    const cudaError_t code =
        cub::DeviceRadixSort::SortPairs(space, bytes, keys, values, count, 0, bits, stream);
    buffers = SortBuffers<Key>{keys.Current(), keys.Alternate(), values.Current(), values.Alternate()};
    return code;
}

} // namespace

cudaError_t sum_before(void *space, size_t &bytes, uint32_t *from, uint32_t *to, size_t count,
                       cudaStream_t stream)
{
    return cub::DeviceScan::ExclusiveSum(space, bytes, from, to, count, stream);
}

cudaError_t select_firsts(void *space, size_t &bytes, const uint64_t *blocks, const uint32_t *previous,
                          uint64_t *to, uint32_t *found, int64_t count, cudaStream_t stream)
{
    return cub::DeviceSelect::FlaggedIf(space, bytes, blocks, previous, to, found, count, IsFirst(), stream);
}

cudaError_t sort_pairs(void *space, size_t &bytes, SortBuffers<uint32_t> &buffers, size_t count, int bits,
                       cudaStream_t stream)
{
    return sort_buffers(space, bytes, buffers, count, bits, stream);
}

cudaError_t sort_pairs(void *space, size_t &bytes, SortBuffers<uint64_t> &buffers, size_t count, int bits,
                       cudaStream_t stream)
{
    return sort_buffers(space, bytes, buffers, count, bits, stream);
}

} // namespace fathom
