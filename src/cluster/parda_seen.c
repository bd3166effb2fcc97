/* SPDX-License-Identifier: Apache-2.0 */
/* parda_seen.c - see parda_seen.h. */
#include "cluster/parda_seen.h"

#include "base/error.h"

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
