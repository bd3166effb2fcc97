/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_card_floor.cu - what the card can do at best: copying within its memory, reading from the host, and
 * sorting pairs of 32-bit keys and positions. What the stages of bench_gpu are held against.
 */
#include <cub/device/device_radix_sort.cuh>
#include <stdio.h>
#include <stdlib.h>

static void check(cudaError_t code)
{
    if (code == cudaSuccess) return;
    fprintf(stderr, "bench_card_floor: %s\n", cudaGetErrorString(code));
    exit(1);
}

__global__ void fill(uint32_t *keys, uint32_t *positions, size_t count)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count;
         i += (size_t)gridDim.x * blockDim.x) {
        keys[i] = (uint32_t)(i * 2654435761u) >> 12;
        positions[i] = (uint32_t)i;
    }
}

template <typename WORK> static float best_of_five(WORK work)
{
    cudaEvent_t start, end;
    float best = 1e9f;
    check(cudaEventCreate(&start));
    check(cudaEventCreate(&end));
    for (int i = 0; i < 6; i++) {
        float milliseconds;
        check(cudaEventRecord(start));
        work();
        check(cudaEventRecord(end));
        check(cudaEventSynchronize(end));
        check(cudaEventElapsedTime(&milliseconds, start, end));
        if (i > 0 && milliseconds < best) best = milliseconds;
    }
    return best;
}

int main(void)
{
    const size_t count = (size_t)1 << 28, bytes = count * 4;
    uint32_t *words[4];
    void *space, *host;
    size_t space_bytes = 0;
    for (uint32_t *&word : words) check(cudaMalloc((void **)&word, bytes));
    check(cudaMallocHost(&host, bytes));
    const float copy =
        best_of_five([&] { check(cudaMemcpyAsync(words[1], words[0], bytes, cudaMemcpyDeviceToDevice)); });
    const float upload =
        best_of_five([&] { check(cudaMemcpyAsync(words[0], host, bytes, cudaMemcpyHostToDevice)); });
    cub::DoubleBuffer<uint32_t> keys(words[0], words[1]), positions(words[2], words[3]);
    check(cub::DeviceRadixSort::SortPairs(nullptr, space_bytes, keys, positions, count, 0, 20));
    check(cudaMalloc(&space, space_bytes));
    const float filling =
        best_of_five([&] { fill<<<2048, 256>>>(keys.Current(), positions.Current(), count); });
    const float sort = best_of_five([&] {
        fill<<<2048, 256>>>(keys.Current(), positions.Current(), count);
        check(cub::DeviceRadixSort::SortPairs(space, space_bytes, keys, positions, count, 0, 20));
    });
    printf("| copy within the card | %.2f TB/s, read and written |\n", 2.0 * (double)bytes / copy / 1e9);
    printf("| host to card | %.1f GB/s |\n", (double)bytes / upload / 1e6);
    printf("| sort of 2^28 pairs by 20 bits | %.1f ms, %.1f G pairs/s |\n", sort - filling,
           (double)count / (sort - filling) / 1e6);
    return 0;
}
