/* SPDX-License-Identifier: Apache-2.0 */
/* parda_chunk.c - PARDA's part of one chunk of the trace, the messages that ranks send, and how many distinct
 * blocks they have missed (parda.h). */
#include "base/error.h"
#include "base/memory.h"
#include "cluster/parda.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ==== messages ==== */

typedef struct heading {
    uint64_t count, more;
} heading;

fm_status fm_parda_messages_create(fm_parda_messages *messages, fm_transport *transport, fm_error *error)
{
    *messages = (fm_parda_messages){.transport = transport, .most = fm_parda_message_blocks};
    messages->blocks = fm_calloc(messages->most, sizeof *messages->blocks);
    if (!messages->blocks) return fm_fail_memory(error, messages->most * sizeof(uint64_t), "messages");
    return FM_OK;
}

void fm_parda_messages_clear(fm_parda_messages *messages)
{
    free(messages->blocks);
    messages->blocks = NULL;
}

fm_status fm_parda_messages_send(const fm_parda_messages *messages, uint32_t to, const uint64_t *blocks,
                                 size_t count, bool more, fm_error *error)
{
    fm_transport *transport = messages->transport;
    const heading head = {count, more};
    fm_status status = transport->send(transport, to, &head, sizeof head, error);
    if (status == FM_OK && count > 0)
        status = transport->send(transport, to, blocks, count * sizeof *blocks, error);
    return status;
}

fm_status fm_parda_messages_receive(const fm_parda_messages *messages, uint32_t from, size_t *count,
                                    bool *more, fm_error *error)
{
    fm_transport *transport = messages->transport;
    heading head = {0, 0};
    fm_status status = transport->receive(transport, from, &head, sizeof head, error);
    if (status == FM_OK && head.count > messages->most)
        status = fm_fail(error, FM_E_CORRUPT, NULL,
                         "rank %" PRIu32 " sends %" PRIu64 " blocks at once; there is room for %zu", from,
                         head.count, messages->most);
    if (status == FM_OK && head.count > 0)
        status = transport->receive(transport, from, messages->blocks, head.count * sizeof(uint64_t), error);
    *count = head.count;
    *more = head.more != 0;
    return status;
}

enum { RUN = 1024 }; /* references whose distances are counted together */

fm_status fm_parda_chunk_create(fm_parda_chunk *chunk, uint64_t bound, fm_bins bins, uint64_t seed,
                                fm_error *error)
{
    memset(chunk, 0, sizeof *chunk);
    chunk->bound = bound;
    fm_status status = fm_block_tree_create(&chunk->blocks, seed, 0, error);
    if (status == FM_OK) status = fm_tally_create(&chunk->tally, bins, error);
    if (status == FM_OK && bound) {
        chunk->seen = fm_seen_set_create(fm_seen_limit, seed, false);
        if (!chunk->seen)
            status = fm_fail_memory(error, fm_block_tree_memory(&chunk->blocks), "the set of blocks seen");
    }
    if (status != FM_OK) fm_parda_chunk_clear(chunk);
    return status;
}

void fm_parda_chunk_clear(fm_parda_chunk *chunk)
{
    fm_block_tree_clear(&chunk->blocks);
    fm_tally_clear(&chunk->tally);
    fm_seen_set_destroy(chunk->seen);
    free(chunk->infinities);
    memset(chunk, 0, sizeof *chunk);
}

uint64_t fm_parda_chunk_memory(const fm_parda_chunk *chunk)
{
    return fm_block_tree_memory(&chunk->blocks) + fm_tally_memory(&chunk->tally) +
           (chunk->seen ? fm_seen_set_memory(chunk->seen) : 0) +
           chunk->infinity_capacity * sizeof *chunk->infinities;
}

/* Whether one more infinity goes to the left; counted if not. */
static bool passes_on(fm_parda_chunk *chunk)
{
    if (!chunk->leftmost && (!chunk->bound || chunk->passed < chunk->bound)) {
        chunk->passed++;
        return true;
    }
    ++*(chunk->bound ? &chunk->tally.beyond : &chunk->tally.cold);
    return false;
}

static fm_status note_infinity(fm_parda_chunk *chunk, uint64_t block, fm_error *error)
{
    if (!passes_on(chunk)) return FM_OK;
    if (fm_array_reserve((void **)&chunk->infinities, &chunk->infinity_capacity, chunk->infinity_count + 1,
                         sizeof *chunk->infinities))
        return fm_fail_memory(error, 2 * chunk->infinity_capacity * sizeof *chunk->infinities,
                              "references whose distance earlier ranks know");
    chunk->infinities[chunk->infinity_count++] = block;
    return FM_OK;
}

/* A reference to a block that is not held. */
static fm_status chunk_miss(fm_parda_chunk *chunk, uint64_t block, uint32_t hash, fm_error *error)
{
    fm_block_tree *blocks = &chunk->blocks;
    const bool full = chunk->bound && blocks->count >= chunk->bound;
    fm_status status = FM_OK;
    if (!full && !fm_block_tree_has_room(blocks)) status = fm_block_tree_grow(blocks, false, error);
    if (status == FM_OK && chunk->seen &&
        fm_seen_set_insert(chunk->seen, block, UINT64_MAX, NULL) == FM_SEEN_NO_MEMORY)
        status = fm_fail_memory(error, fm_seen_set_memory_next(chunk->seen), "the set of blocks seen");
    if (status == FM_OK) status = note_infinity(chunk, block, error);
    if (status != FM_OK) return status;
    const uint32_t x = full ? fm_block_tree_drop_oldest(blocks) : fm_block_tree_new_node(blocks);
    fm_block_tree_add(blocks, x, block, hash);
    return FM_OK;
}

fm_status fm_parda_chunk_feed(fm_parda_chunk *chunk, const uint64_t *blocks, size_t count, fm_error *error)
{
    fm_block_tree *const held = &chunk->blocks;
    uint64_t distances[RUN];
    fm_status status = FM_OK;
    for (size_t i = 0; i < count && status == FM_OK;) {
        const size_t end = count - i < RUN ? count : i + RUN;
        size_t hits = 0;
        for (; i < end && status == FM_OK; i++) {
            fm_block_tree_fetch(held, blocks, i, count);
            const uint32_t hash = fm_block_tree_hash(held, blocks[i]);
            const uint32_t x = fm_block_tree_find(held, blocks[i], hash)->node;
            if (x != SPLAY_NONE)
                distances[hits++] = fm_block_tree_touch(held, x);
            else
                status = chunk_miss(chunk, blocks[i], hash, error);
            held->time++;
        }
        if (status == FM_OK) status = fm_tally_add(&chunk->tally, distances, hits, error);
    }
    return status;
}

fm_status fm_parda_chunk_absorb(fm_parda_chunk *chunk, uint64_t *blocks, size_t *count, fm_error *error)
{
    fm_block_tree *const held = &chunk->blocks;
    uint64_t distances[RUN];
    size_t kept = 0;
    fm_status status = FM_OK;
    for (size_t i = 0; i < *count && status == FM_OK;) {
        const size_t end = *count - i < RUN ? *count : i + RUN;
        size_t hits = 0;
        for (; i < end; i++) {
            fm_block_tree_fetch(held, blocks, i, *count);
            const uint64_t block = blocks[i];
            fm_block_slot *slot = fm_block_tree_find(held, block, fm_block_tree_hash(held, block));
            if (slot->node != SPLAY_NONE) {
                /* Touched since: what the chunk holds above it, and all that came from the right before. The
                 * two have nothing in common, because what came was forgotten here. */
                const uint64_t distance = fm_block_tree_remove(held, slot) + chunk->received;
                distances[hits++] = chunk->bound && distance >= chunk->bound ? FM_BEYOND : distance;
            } else if (passes_on(chunk)) {
                blocks[kept++] = block;
            }
            chunk->received++;
        }
        status = fm_tally_add(&chunk->tally, distances, hits, error);
    }
    *count = kept;
    return status;
}

void fm_parda_chunk_begin_phase(fm_parda_chunk *chunk, bool leftmost)
{
    chunk->leftmost = leftmost;
    chunk->passed = chunk->received = 0;
    chunk->infinity_count = 0;
}

uint64_t fm_parda_chunk_wants(const fm_parda_chunk *chunk)
{
    return chunk->bound ? chunk->bound - chunk->blocks.count : UINT64_MAX;
}

fm_status fm_parda_chunk_inherit(fm_parda_chunk *chunk, const uint64_t *blocks, size_t count, fm_error *error)
{
    fm_status status = FM_OK;
    for (size_t i = 0; i < count && status == FM_OK; i++) {
        if (!fm_block_tree_has_room(&chunk->blocks))
            status = fm_block_tree_grow(&chunk->blocks, false, error);
        if (status == FM_OK) fm_block_tree_add_older(&chunk->blocks, blocks[i]);
    }
    return status;
}

/* ==== blocks missed ==== */

/* Adds what is in the message. A set that is given up stays so. */
static fm_status add_keys(fm_seen_set *seen, const fm_parda_messages *messages, size_t count, fm_error *error)
{
    for (size_t i = 0; i < count; i++)
        if (fm_seen_set_insert(seen, messages->blocks[i], UINT64_MAX, NULL) == FM_SEEN_NO_MEMORY)
            return fm_fail_memory(error, fm_seen_set_memory_next(seen), "the set of blocks seen");
    return FM_OK;
}

/* The next keys of a set, into the message. */
static size_t next_keys(const fm_seen_set *seen, uint64_t *cursor, const fm_parda_messages *messages)
{
    size_t count = 0;
    while (count < messages->most && fm_seen_set_next(seen, cursor, &messages->blocks[count])) count++;
    return count;
}

static fm_status add_set(fm_seen_set *seen, const fm_seen_set *other, const fm_parda_messages *messages,
                         fm_error *error)
{
    uint64_t cursor = 0;
    size_t count;
    fm_status status = FM_OK;
    while (status == FM_OK && (count = next_keys(other, &cursor, messages)) > 0)
        status = add_keys(seen, messages, count, error);
    return status;
}

/* The keys, and then whether some were forgotten: in this case no key matters any more, and none is sent. */
static fm_status send_set(const fm_parda_messages *messages, uint32_t to, const fm_seen_set *seen,
                          bool forgot, fm_error *error)
{
    const uint64_t sent = forgot;
    uint64_t cursor = 0;
    size_t count;
    fm_status status = FM_OK;
    do {
        count = forgot ? 0 : next_keys(seen, &cursor, messages);
        status = fm_parda_messages_send(messages, to, messages->blocks, count, count > 0, error);
    } while (status == FM_OK && count > 0);
    return status == FM_OK ? messages->transport->send(messages->transport, to, &sent, sizeof sent, error)
                           : status;
}

static fm_status receive_set(const fm_parda_messages *messages, uint32_t from, fm_seen_set *seen,
                             bool *forgot, fm_error *error)
{
    bool more = true;
    uint64_t sent = 0;
    fm_status status = FM_OK;
    while (more && status == FM_OK) {
        size_t count;
        status = fm_parda_messages_receive(messages, from, &count, &more, error);
        if (status == FM_OK) status = add_keys(seen, messages, count, error);
    }
    if (status == FM_OK)
        status = messages->transport->receive(messages->transport, from, &sent, sizeof sent, error);
    *forgot |= sent || fm_seen_set_given_up(seen);
    return status;
}

fm_status fm_parda_seen_unite(const fm_parda_messages *messages, const fm_parda_chunk *chunks, unsigned count,
                              fm_parda_seen *result, fm_error *error)
{
    const uint32_t rank = messages->transport->rank, size = messages->transport->size;
    fm_seen_set *mine = chunks[0].seen;
    bool forgot = fm_seen_set_given_up(mine);
    fm_status status = FM_OK;
    for (unsigned i = 1; i < count && status == FM_OK; i++) {
        status = add_set(mine, chunks[i].seen, messages, error);
        forgot |= fm_seen_set_given_up(mine) || fm_seen_set_given_up(chunks[i].seen);
    }
    for (uint32_t step = 1; step < size && status == FM_OK; step *= 2) {
        if (rank % (2 * step) != 0) return send_set(messages, rank - step, mine, forgot, error);
        if (step < size - rank) status = receive_set(messages, rank + step, mine, &forgot, error);
    }
    *result = (fm_parda_seen){.distinct = forgot ? fm_seen_limit : fm_seen_set_count(mine), .forgot = forgot};
    return status;
}
