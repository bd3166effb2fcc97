/* SPDX-License-Identifier: Apache-2.0 */
/* transport.c - see transport.h: what is the same for all transports. */
#include "cluster/transport.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

fm_status fm_transport_exchange_all(fm_transport *transport, size_t item_bytes, const void *out,
                                    const uint64_t *out_begin, void **in, uint64_t *in_begin, fm_error *error)
{
    const uint32_t size = transport->size, rank = transport->rank;
    *in = NULL;
    uint64_t *counts = fm_calloc((size_t)size * size + size, sizeof *counts), *mine;
    if (!counts) return fm_fail_memory(error, (size_t)size * size * sizeof *counts, "counts of messages");
    mine = counts + (size_t)size * size;
    for (uint32_t r = 0; r < size; r++) mine[r] = out_begin[r + 1] - out_begin[r];
    fm_status status = transport->gather(transport, mine, size * sizeof *mine, counts, error);
    if (status == FM_OK) {
        in_begin[0] = 0;
        for (uint32_t r = 0; r < size; r++) in_begin[r + 1] = in_begin[r] + counts[(size_t)r * size + rank];
        *in = fm_calloc(in_begin[size] ? in_begin[size] : 1, item_bytes);
        if (!*in) status = fm_fail_memory(error, in_begin[size] * item_bytes, "what other ranks send");
    }
    for (uint32_t round = 0; round < size && status == FM_OK; round++) {
        const uint32_t to = (rank + round) % size, from = (rank + size - round) % size;
        status = transport->exchange(transport, to, (const char *)out + out_begin[to] * item_bytes,
                                     mine[to] * item_bytes, from, (char *)*in + in_begin[from] * item_bytes,
                                     (in_begin[from + 1] - in_begin[from]) * item_bytes, error);
    }
    free(counts);
    if (status != FM_OK) {
        free(*in);
        *in = NULL;
    }
    return status;
}

fm_status fm_transport_sum(fm_transport *transport, uint64_t *numbers, size_t count, fm_error *error)
{
    uint64_t *all = fm_calloc(transport->size * count, sizeof *all);
    if (!all) return fm_fail_memory(error, transport->size * count * sizeof *all, "numbers of all ranks");
    fm_status status = transport->gather(transport, numbers, count * sizeof *numbers, all, error);
    if (status == FM_OK) {
        memset(numbers, 0, count * sizeof *numbers);
        for (size_t i = 0; i < transport->size * count; i++) numbers[i % count] += all[i];
    }
    free(all);
    return status;
}
