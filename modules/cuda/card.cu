/* SPDX-License-Identifier: Apache-2.0 */
/*
 * card.cu - one graphics card behind the interface of src/engine/gpu/gpu_module.h: its memory, its streams,
 * and the order of what is done with a batch. The algorithms are in links.cu, partition.cu, split.cu,
 * finish.cu and stack.cu.
 */
#include "card.cuh"
#include "distances.cuh"
#include "links.cuh"

#include <algorithm>
#include <mutex>
#include <new>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ==== errors ==== */

fm_status cuda_fail(fm_error *error, fm_status status, const char *format, ...)
{
    if (!error) return status;
    memset(error, 0, sizeof *error);
    error->status = status;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->reason, sizeof error->reason, format, arguments);
    va_end(arguments);
    return status;
}

fm_status cuda_fail_call(fm_error *error, cudaError_t code, const char *doing)
{
    (void)cudaGetLastError(); /* it was heard */
    switch (code) {
    case cudaErrorMemoryAllocation:
        return cuda_fail(error, FM_E_NOMEM, "the graphics card's memory is too small: %s", doing);
    case cudaErrorInsufficientDriver:
        return cuda_fail(error, FM_E_UNSUPPORTED,
                         "no usable NVIDIA driver: it is absent, or older than CUDA %d.%d needs",
                         CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
    case cudaErrorNoDevice:
        return cuda_fail(error, FM_E_UNSUPPORTED, "there is no NVIDIA graphics card that CUDA can use");
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorUnsupportedPtxVersion:
        return cuda_fail(error, FM_E_UNSUPPORTED, "the CUDA module was not built for this graphics card");
    default:
        return cuda_fail(error, FM_E_IO, "CUDA: %s: %s", doing, cudaGetErrorString(code));
    }
}

using namespace fathom;

namespace
{

constexpr int EVENTS = FM_GPU_STAGES + 1;
constexpr size_t ALIGNMENT = 512;

/* Bytes of the parts of the card's memory, in order; the same list sizes and places them. */
struct Layout {
    size_t positions, words, again_words;
    size_t keys[FM_GPU_SLOTS], word_arrays, ordering, counts, sums, part_sizes[2], scan, again, last_sums;
    size_t stack[2], times[2], histogram, time_histogram, small;
    size_t scan_bytes, histogram_bins;
    size_t total;

    size_t place(size_t bytes)
    {
        const size_t at = total;
        total += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        return at;
    }

    explicit Layout(const fm_gpu_setup &setup)
    {
        total = 0;
        positions = std::min(setup.stack + setup.batch, FM_GPU_MOST);
        words = (positions + ALIGNMENT - 1) / ALIGNMENT *
                ALIGNMENT; /* of each array: pairs of them are one of 8 bytes */
        again_words = (positions + 8191) / 8192 * 256;
        scan_bytes = std::max(split_scan_needed(positions), firsts_space_needed(positions));
        histogram_bins = setup.bins == FM_BINS_EXACT  ? positions
                         : setup.bins == FM_BINS_LOG2 ? LOG2_BINS
                                                      : LOGLINEAR_BINS;
        /* A slot has the stack before its batch, wherever that begins. */
        for (size_t &at : keys) at = place((setup.stack + setup.batch) * 8);
        word_arrays = place(6 * words * 4);
        ordering = place(link_space_needed(positions));
        counts = place(split_counts_needed(positions) * 4);
        sums = place(split_counts_needed(positions) * 4);
        for (size_t &at : part_sizes) at = place(split_parts_needed(positions) * 4);
        scan = place(scan_bytes);
        again = place(again_words * 4);
        last_sums = place((again_words + 1) * 4);
        for (size_t &at : stack) at = place(setup.stack * 8);
        for (size_t &at : times) at = setup.times ? place(setup.stack * 8) : 0;
        histogram = place(histogram_bins * 8);
        time_histogram = place(setup.count_times ? LOGLINEAR_BINS * 8 : 0);
        small = place(4096);
    }
};

/* Words in the `small` part. */
struct Small {
    Count total, beyond, times_total;
    KeySummary summary;
    uint32_t found;
};

} // namespace

struct fm_gpu_card {
    fm_gpu_setup setup;
    Layout layout;
    int multiprocessors;
    unsigned char *memory;
    cudaStream_t copying, counting;
    std::mutex uploading; /* a copy and the events behind it belong together */
    cudaEvent_t uploaded[FM_GPU_SLOTS], sent[FM_GPU_PIECES], marks[EVENTS];
    size_t stack;      /* blocks in it */
    int current_stack; /* which of the two */

    explicit fm_gpu_card(const fm_gpu_setup &given) : setup(given), layout(given)
    {
    }
    template <typename T> T *at(size_t place) const
    {
        return (T *)(memory + place);
    }
    uint32_t *word(int number) const
    {
        return at<uint32_t>(layout.word_arrays) + number * layout.words;
    }
    Small *small() const
    {
        return at<Small>(layout.small);
    }
    uint64_t *stack_blocks(int which) const
    {
        return at<uint64_t>(layout.stack[which]);
    }
    uint64_t *stack_times(int which) const
    {
        return setup.times ? at<uint64_t>(layout.times[which]) : nullptr;
    }
};

static fm_status card_devices(unsigned *count, fm_error *error)
{
    int devices = 0;
    *count = 0;
    CUDA_TRY(cudaGetDeviceCount(&devices), "looking for graphics cards");
    if (devices < 1) return cuda_fail_call(error, cudaErrorNoDevice, "");
    *count = (unsigned)devices;
    return FM_OK;
}

static fm_status card_describe(unsigned device, fm_gpu_description *description, fm_error *error)
{
    cudaDeviceProp properties;
    size_t free_bytes, total_bytes;
    CUDA_TRY(cudaSetDevice((int)device), "using the graphics card");
    CUDA_TRY(cudaGetDeviceProperties(&properties, (int)device), "asking the graphics card for its name");
    CUDA_TRY(cudaMemGetInfo(&free_bytes, &total_bytes), "asking the graphics card for its memory");
    snprintf(description->name, sizeof description->name, "%.127s", properties.name);
    description->memory_total = total_bytes;
    description->memory_free = free_bytes;
    return FM_OK;
}

static uint64_t card_memory_needed(const fm_gpu_setup *setup)
{
    return Layout(*setup).total;
}

static void card_close(fm_gpu_card *card)
{
    if (!card) return;
    (void)cudaSetDevice((int)card->setup.device);
    if (card->counting) (void)cudaStreamSynchronize(card->counting);
    if (card->copying) (void)cudaStreamSynchronize(card->copying);
    for (cudaEvent_t event : card->uploaded)
        if (event) (void)cudaEventDestroy(event);
    for (cudaEvent_t event : card->marks)
        if (event) (void)cudaEventDestroy(event);
    for (cudaEvent_t event : card->sent)
        if (event) (void)cudaEventDestroy(event);
    (void)cudaFree(card->memory);
    if (card->copying) (void)cudaStreamDestroy(card->copying);
    if (card->counting) (void)cudaStreamDestroy(card->counting);
    delete card;
}

static fm_status open_parts(fm_gpu_card *card, fm_error *error)
{
    const int device = (int)card->setup.device;
    char doing[160];
    CUDA_TRY(cudaSetDevice(device), "using the graphics card");
    CUDA_TRY(cudaDeviceGetAttribute(&card->multiprocessors, cudaDevAttrMultiProcessorCount, device),
             "using the graphics card");
    snprintf(doing, sizeof doing, "%zu bytes are needed for batches of %zu references and %zu blocks",
             card->layout.total, card->setup.batch, card->setup.stack);
    CUDA_TRY(cudaMalloc((void **)&card->memory, card->layout.total), doing);
    CUDA_TRY(cudaStreamCreateWithFlags(&card->copying, cudaStreamNonBlocking), "using the graphics card");
    CUDA_TRY(cudaStreamCreateWithFlags(&card->counting, cudaStreamNonBlocking), "using the graphics card");
    for (cudaEvent_t &event : card->uploaded)
        CUDA_TRY(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "using the graphics card");
    for (cudaEvent_t &event : card->sent)
        CUDA_TRY(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "using the graphics card");
    for (cudaEvent_t &event : card->marks) CUDA_TRY(cudaEventCreate(&event), "using the graphics card");
    CUDA_TRY(cudaMemsetAsync(card->memory + card->layout.histogram, 0, card->layout.histogram_bins * 8,
                             card->counting),
             "clearing the histogram");
    if (card->setup.count_times)
        CUDA_TRY(cudaMemsetAsync(card->memory + card->layout.time_histogram, 0, LOGLINEAR_BINS * 8,
                                 card->counting),
                 "clearing the histogram");
    CUDA_TRY(cudaMemsetAsync(card->small(), 0, sizeof(Small), card->counting), "clearing the histogram");
    CUDA_TRY(cudaStreamSynchronize(card->counting), "clearing the histogram");
    return FM_OK;
}

static fm_status card_open(fm_gpu_card **result, const fm_gpu_setup *setup, fm_error *error)
{
    *result = nullptr;
    if (setup->count_times && setup->bins == FM_BINS_EXACT)
        return cuda_fail(error, FM_E_ARGUMENT,
                         "time distances are not counted with one bin each on the card");
    fm_gpu_card *card = new (std::nothrow) fm_gpu_card(*setup);
    if (!card) return cuda_fail(error, FM_E_NOMEM, "out of memory: the graphics card's description");
    card->memory = nullptr;
    memset(card->sent, 0, sizeof card->sent);
    card->copying = card->counting = nullptr;
    memset(card->uploaded, 0, sizeof card->uploaded);
    memset(card->marks, 0, sizeof card->marks);
    card->stack = 0;
    card->current_stack = 0;
    const fm_status status = open_parts(card, error);
    if (status != FM_OK) {
        card_close(card);
        return status;
    }
    *result = card;
    return FM_OK;
}

/* Where a slot's batch is on the card; the stack is put before it. */
static uint64_t *batch_on_card(const fm_gpu_card *card, unsigned slot)
{
    return card->at<uint64_t>(card->layout.keys[slot]) + card->setup.stack;
}

static fm_status card_pin(unsigned device, size_t bytes, void **memory, fm_error *error)
{
    *memory = nullptr;
    CUDA_TRY(cudaSetDevice((int)device), "using the graphics card");
    CUDA_TRY(cudaHostAlloc(memory, bytes, cudaHostAllocPortable), "host memory that it can read");
    return FM_OK;
}

static void card_unpin(void *memory)
{
    (void)cudaFreeHost(memory);
}

static fm_status card_wait_for_piece(fm_gpu_card *card, unsigned piece, fm_error *error)
{
    CUDA_TRY(cudaSetDevice((int)card->setup.device), "using the graphics card");
    CUDA_TRY(cudaEventSynchronize(card->sent[piece]), "copying to the card");
    return FM_OK;
}

static fm_status card_upload(fm_gpu_card *card, unsigned piece, const uint64_t *references, size_t count,
                             unsigned slot, size_t at, fm_error *error)
{
    const std::lock_guard<std::mutex> lock(card->uploading);
    CUDA_TRY(cudaSetDevice((int)card->setup.device), "using the graphics card");
    CUDA_TRY(cudaMemcpyAsync(batch_on_card(card, slot) + at, references, count * 8, cudaMemcpyHostToDevice,
                             card->copying),
             "copying to the card");
    CUDA_TRY(cudaEventRecord(card->sent[piece], card->copying), "copying to the card");
    CUDA_TRY(cudaEventRecord(card->uploaded[slot], card->copying), "copying to the card");
    return FM_OK;
}

static fm_status card_mark(fm_gpu_card *card, int stage, fm_error *error)
{
    CUDA_TRY(cudaEventRecord(card->marks[stage], card->counting), "timing");
    return FM_OK;
}

/* From blocks to the bitmap of positions that come again, with everything counted. `free_pair` is eight bytes
 * per position that nothing uses afterwards. */
static fm_status find_distances(fm_gpu_card *card, Sequence *sequence, fm_gpu_batch *batch,
                                uint32_t **distance_of_next, void **free_pair, fm_error *error)
{
    const cudaStream_t stream = card->counting;
    const Layout &layout = card->layout;
    Small *small = card->small();
    KeySummary summary;
    OrderedReferences ordered;
    const LinkSpace link_space = {
        {card->word(0), card->word(1), card->word(2), card->word(3), card->word(4), card->word(5)},
        card->at<void>(layout.ordering),
        layout.positions};
    FM_TRY(summarize_keys(sequence->blocks, sequence->count, &small->summary, &summary, stream, error));
    const KeyPacking packing = choose_packing(summary);
    FM_TRY(card_mark(card, FM_GPU_STAGE_KEYS + 1, error));
    FM_TRY(order_references(sequence->blocks, sequence->count, packing, link_space, &ordered, stream, error));
    FM_TRY(card_mark(card, FM_GPU_STAGE_SORT + 1, error));
    uint32_t *previous;
    FM_TRY(link_references(ordered, sequence->count, link_space, &previous, stream, error));
    FM_TRY(card_mark(card, FM_GPU_STAGE_LINK + 1, error));
    sequence->previous = previous;

    const Elements one = {card->word(0), card->word(1)}, other = {card->word(2), card->word(3)};
    const SplitSpace split_space = {card->at<uint32_t>(layout.counts),
                                    card->at<uint32_t>(layout.sums),
                                    card->at<uint32_t>(layout.part_sizes[0]),
                                    card->at<uint32_t>(layout.part_sizes[1]),
                                    card->at<void>(layout.scan),
                                    layout.scan_bytes};
    SplitResult parts;
    FM_TRY(split_links(sequence->previous, sequence->count, one, other, split_space, &parts, stream, error));
    FM_TRY(card_mark(card, FM_GPU_STAGE_SPLIT + 1, error));

    const bool in_one = parts.elements.linked == one.linked;
    *distance_of_next = batch->distances ? (in_one ? other.linked : one.linked) : nullptr;
    *free_pair = in_one ? one.linked : other.linked;
    const FinishTask task = {sequence->previous,
                             sequence->count,
                             card->setup.bins,
                             card->setup.bound ? card->setup.bound : UINT64_MAX,
                             card->setup.count,
                             card->at<Count>(layout.histogram),
                             &small->beyond,
                             &small->total,
                             card->at<uint32_t>(layout.again),
                             *distance_of_next};
    FM_TRY(finish_parts(parts, task, card->multiprocessors, stream, error));
    return card_mark(card, FM_GPU_STAGE_FINISH + 1, error);
}

static fm_status renew_stack(fm_gpu_card *card, const Sequence &sequence, fm_gpu_batch *batch,
                             fm_error *error)
{
    const cudaStream_t stream = card->counting;
    const Layout &layout = card->layout;
    const uint32_t *again = card->at<uint32_t>(layout.again);
    uint32_t *sums = card->at<uint32_t>(layout.last_sums);
    uint32_t distinct;
    FM_TRY(count_last(again, sequence.count, sums, card->at<void>(layout.scan), layout.scan_bytes, &distinct,
                      stream, error));
    batch->cold = distinct - sequence.stack;
    batch->stack = std::min<size_t>(distinct, batch->keep);
    if (batch->stack > card->setup.stack)
        return cuda_fail(error, FM_E_LIMIT,
                         "a stack of %zu blocks does not fit the %zu that the card has room for",
                         batch->stack, card->setup.stack);
    const int next = 1 - card->current_stack;
    FM_TRY(gather_stack(sequence, again, sums, distinct - (uint32_t)batch->stack, card->stack_blocks(next),
                        card->stack_times(next), stream, error));
    return card_mark(card, FM_GPU_STAGE_STACK + 1, error);
}

/* What is asked for one by one goes through `pair`, eight bytes per position. */
static fm_status card_deliver(fm_gpu_card *card, const Sequence &sequence, fm_gpu_batch *batch,
                              const uint32_t *distance_of_next, void *pair, fm_error *error)
{
    const cudaStream_t stream = card->counting;
    const Layout &layout = card->layout;
    uint64_t *words = (uint64_t *)pair;
    if (card->setup.count_times)
        FM_TRY(count_times(sequence, card->setup.bins, card->at<Count>(layout.time_histogram),
                           &card->small()->times_total, stream, error));
    if (batch->distances) {
        FM_TRY(deliver_distances(sequence, distance_of_next,
                                 card->setup.bound ? card->setup.bound : UINT64_MAX, words, stream, error));
        CUDA_TRY(cudaMemcpyAsync(batch->distances, words, batch->count * 8, cudaMemcpyDeviceToHost, stream),
                 "fetching distances");
    }
    if (batch->times) {
        FM_TRY(deliver_times(sequence, words, stream, error));
        CUDA_TRY(cudaMemcpyAsync(batch->times, words, batch->count * 8, cudaMemcpyDeviceToHost, stream),
                 "fetching time distances");
    }
    if (batch->new_blocks) {
        FM_TRY(gather_new_blocks(sequence, words, &card->small()->found, card->at<void>(layout.scan),
                                 layout.scan_bytes, stream, error));
        CUDA_TRY(cudaMemcpyAsync(batch->new_blocks, words, batch->cold * 8, cudaMemcpyDeviceToHost, stream),
                 "fetching new blocks");
    }
    return card_mark(card, FM_GPU_STAGE_DELIVER + 1, error);
}

static fm_status card_count(fm_gpu_card *card, fm_gpu_batch *batch, fm_error *error)
{
    const cudaStream_t stream = card->counting;
    if (batch->count == 0 || batch->count > card->setup.batch || batch->slot >= FM_GPU_SLOTS ||
        card->stack + batch->count > card->layout.positions)
        return cuda_fail(error, FM_E_ARGUMENT,
                         "a batch of %zu references after %zu blocks does not fit the card", batch->count,
                         card->stack);
    if ((batch->distances && !card->setup.each) || (batch->times && !card->setup.times))
        return cuda_fail(error, FM_E_ARGUMENT, "the card was not opened for single distances");
    CUDA_TRY(cudaSetDevice((int)card->setup.device), "using the graphics card");
    FM_TRY(card_mark(card, FM_GPU_STAGE_UPLOAD, error));
    CUDA_TRY(cudaStreamWaitEvent(stream, card->uploaded[batch->slot], 0), "waiting for the references");
    uint64_t *blocks = batch_on_card(card, batch->slot) - card->stack;
    CUDA_TRY(cudaMemcpyAsync(blocks, card->stack_blocks(card->current_stack), card->stack * 8,
                             cudaMemcpyDeviceToDevice, stream),
             "copying the stack");
    FM_TRY(card_mark(card, FM_GPU_STAGE_UPLOAD + 1, error));
    Sequence sequence = {blocks,
                         (uint32_t)card->stack,
                         (uint32_t)(card->stack + batch->count),
                         card->stack_times(card->current_stack),
                         batch->first_time,
                         nullptr};
    uint32_t *distance_of_next;
    void *free_pair;
    FM_TRY(find_distances(card, &sequence, batch, &distance_of_next, &free_pair, error));
    FM_TRY(renew_stack(card, sequence, batch, error));
    FM_TRY(card_deliver(card, sequence, batch, distance_of_next, free_pair, error));
    CUDA_TRY(cudaStreamSynchronize(stream), "counting");
    card->current_stack = 1 - card->current_stack;
    card->stack = batch->stack;
    for (int stage = 0; stage < FM_GPU_STAGES; stage++) {
        float milliseconds = 0;
        CUDA_TRY(cudaEventElapsedTime(&milliseconds, card->marks[stage], card->marks[stage + 1]), "timing");
        batch->seconds[stage] = milliseconds / 1e3;
    }
    return FM_OK;
}

static fm_status card_load_stack(fm_gpu_card *card, size_t from, const uint64_t *blocks,
                                 const uint64_t *times, size_t count, fm_error *error)
{
    if (from > card->stack || count > card->setup.stack - from)
        return cuda_fail(error, FM_E_ARGUMENT, "a stack of %zu blocks does not fit the card", from + count);
    CUDA_TRY(cudaSetDevice((int)card->setup.device), "using the graphics card");
    CUDA_TRY(
        cudaMemcpy(card->stack_blocks(card->current_stack) + from, blocks, count * 8, cudaMemcpyHostToDevice),
        "copying the stack");
    if (times && card->setup.times)
        CUDA_TRY(cudaMemcpy(card->stack_times(card->current_stack) + from, times, count * 8,
                            cudaMemcpyHostToDevice),
                 "copying the stack");
    card->stack = from + count;
    return FM_OK;
}

static fm_status card_fetch_stack(fm_gpu_card *card, uint64_t *blocks, uint64_t *times, size_t count,
                                  fm_error *error)
{
    if (count > card->stack)
        return cuda_fail(error, FM_E_ARGUMENT, "the card's stack has %zu blocks, not %zu", card->stack,
                         count);
    CUDA_TRY(cudaSetDevice((int)card->setup.device), "using the graphics card");
    CUDA_TRY(cudaMemcpy(blocks, card->stack_blocks(card->current_stack), count * 8, cudaMemcpyDeviceToHost),
             "fetching the stack");
    if (times && card->setup.times)
        CUDA_TRY(cudaMemcpy(times, card->stack_times(card->current_stack), count * 8, cudaMemcpyDeviceToHost),
                 "fetching the stack");
    return FM_OK;
}

/* Adds what the card counted to an array of the host, in pieces that pass through a slot. */
static fm_status add_counts(fm_gpu_card *card, uint64_t *to, size_t place, size_t bins, fm_error *error)
{
    constexpr size_t PIECE = 1 << 16;
    static thread_local uint64_t piece[PIECE];
    for (size_t from = 0; from < bins; from += PIECE) {
        const size_t count = std::min(PIECE, bins - from);
        CUDA_TRY(cudaMemcpy(piece, card->memory + place + from * 8, count * 8, cudaMemcpyDeviceToHost),
                 "fetching the histogram");
        for (size_t i = 0; i < count; i++) to[from + i] += piece[i];
    }
    CUDA_TRY(cudaMemset(card->memory + place, 0, bins * 8), "clearing the histogram");
    return FM_OK;
}

static fm_status card_fetch_counts(fm_gpu_card *card, fm_gpu_counts *counts, fm_error *error)
{
    Small small;
    CUDA_TRY(cudaSetDevice((int)card->setup.device), "using the graphics card");
    CUDA_TRY(cudaMemcpy(&small, card->small(), sizeof small, cudaMemcpyDeviceToHost),
             "fetching the histogram");
    CUDA_TRY(cudaMemset(card->small(), 0, sizeof small), "clearing the histogram");
    counts->total = small.total;
    counts->beyond = small.beyond;
    counts->times_total = small.times_total;
    FM_TRY(add_counts(card, counts->distances, card->layout.histogram,
                      std::min(counts->bins, card->layout.histogram_bins), error));
    if (counts->times && card->setup.count_times)
        FM_TRY(add_counts(card, counts->times, card->layout.time_histogram,
                          card->setup.bins == FM_BINS_LOG2 ? LOG2_BINS : LOGLINEAR_BINS, error));
    CUDA_TRY(cudaDeviceSynchronize(), "clearing the histogram");
    return FM_OK;
}

const fm_gpu_module fathom_gpu_module = {
    FM_GPU_INTERFACE,
    card_devices,
    card_describe,
    card_memory_needed,
    card_open,
    card_close,
    card_pin,
    card_unpin,
    card_wait_for_piece,
    card_upload,
    card_count,
    card_load_stack,
    card_fetch_stack,
    card_fetch_counts,
    fathom_hp_rda_open,
    fathom_hp_rda_close,
    fathom_hp_rda_analyze,
};
