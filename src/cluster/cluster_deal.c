/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cluster_deal.c - rank 0 reads the trace and deals out what it reads, phase by phase: to every rank a share
 * of references that follow each other, in the order of places. It reads on while the others work already.
 *
 * A share is so large that settling, which takes time in proportion to the blocks held, does not count.
 */
#include "cluster/team.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { LEAST_SHARE = 1 << 20, MOST_SHARE = 1 << 26 };

/* A rank's references of a phase. */
typedef struct dealt_share {
    uint64_t *address;
    uint32_t *size; /* where the trace has sizes */
    size_t count, room;
} dealt_share;

typedef struct dealing {
    const fm_cluster_run *run;
    fm_reader **reader; /* rank 0's; NULL there: to be opened */
    size_t shard;       /* rank 0's: of the files that follow each other, the one that is read */
    fm_batch batch;     /* rank 0's: the last one read, dealt up to `next` */
    size_t next;
    bool ended, sizes;
    dealt_share mine, other; /* other: on its way */
} dealing;

static fm_status make_room(dealt_share *share, size_t count, fm_error *error)
{
    if (count <= share->room) return FM_OK;
    free(share->address);
    free(share->size);
    share->address = fm_calloc(count, sizeof *share->address);
    share->size = fm_calloc(count, sizeof *share->size);
    share->room = share->address && share->size ? count : 0;
    if (share->room == 0) return fm_fail_memory(error, count * 12, "a rank's share of the trace");
    return FM_OK;
}

static fm_status open_next(dealing *deal, fm_error *error)
{
    const fm_cluster_work *work = deal->run->work;
    return fm_reader_open(deal->reader, work->shards ? work->shards[deal->shard] : work->path, work->reading,
                          error);
}

/* The next batch of the trace; deal->ended behind the last. */
static fm_status read_on(dealing *deal, fm_error *error)
{
    const fm_cluster_work *work = deal->run->work;
    fm_status status = *deal->reader ? FM_OK : open_next(deal, error);
    deal->next = deal->batch.count = 0;
    if (status != FM_OK) return status; /* damage so early that nothing can be made of it, too */
    status = fm_reader_next(*deal->reader, &deal->batch, error);
    if (fm_status_is_damage(status) && fm_cluster_hears_damage(deal->run)) {
        work->listener->damage(work->listener->context, error);
        return FM_OK; /* there may be something behind it */
    }
    if (status != FM_OK || deal->batch.count > 0) return status;
    if (work->shards && deal->shard + 1 < work->shard_count) {
        fm_reader_close(*deal->reader);
        *deal->reader = NULL;
        deal->shard++;
    } else {
        deal->ended = true;
        if (!work->shards && work->listener && work->listener->ended)
            work->listener->ended(work->listener->context, *deal->reader);
    }
    return FM_OK;
}

/* Fills a share from the trace. */
static fm_status read_share(dealing *deal, dealt_share *share, size_t most, fm_error *error)
{
    fm_status status = make_room(share, most, error);
    share->count = 0;
    while (status == FM_OK && share->count < most && !deal->ended) {
        if (deal->next == deal->batch.count) {
            status = read_on(deal, error);
            continue;
        }
        const size_t left = deal->batch.count - deal->next, room = most - share->count;
        const size_t taken = left < room ? left : room;
        memcpy(share->address + share->count, deal->batch.address + deal->next, taken * 8);
        if (deal->sizes && deal->batch.size)
            memcpy(share->size + share->count, deal->batch.size + deal->next, taken * 4);
        else if (deal->sizes) /* a file without, among others: one block each */
            memset(share->size + share->count, 0, taken * 4);
        deal->next += taken;
        share->count += taken;
    }
    return status;
}

static fm_status send_share(dealing *deal, uint32_t to, fm_error *error)
{
    fm_transport *transport = deal->run->transport;
    const dealt_share *share = &deal->other;
    const uint64_t count = share->count;
    fm_status status = transport->send(transport, to, &count, sizeof count, error);
    if (status == FM_OK) status = transport->send(transport, to, share->address, share->count * 8, error);
    if (status == FM_OK && deal->sizes)
        status = transport->send(transport, to, share->size, share->count * 4, error);
    return status;
}

static fm_status receive_share(dealing *deal, fm_error *error)
{
    fm_transport *transport = deal->run->transport;
    dealt_share *share = &deal->mine;
    uint64_t count;
    fm_status status = transport->receive(transport, 0, &count, sizeof count, error);
    if (status == FM_OK) status = make_room(share, count, error);
    if (status != FM_OK) return status;
    share->count = count;
    status = transport->receive(transport, 0, share->address, share->count * 8, error);
    if (status == FM_OK && deal->sizes)
        status = transport->receive(transport, 0, share->size, share->count * 4, error);
    return status;
}

/* Which rank has a place in the coming phase. */
static fm_status find_places(const fm_cluster_run *run, uint32_t *rank_at, fm_error *error)
{
    uint32_t *all = fm_calloc(run->transport->size, sizeof *all), mine = run->ops->place(run->teams[0]);
    if (!all) return fm_fail_memory(error, run->transport->size * sizeof *all, "places of ranks");
    fm_status status = run->transport->gather(run->transport, &mine, sizeof mine, all, error);
    for (uint32_t rank = 0; rank < run->transport->size && status == FM_OK; rank++) rank_at[all[rank]] = rank;
    free(all);
    return status;
}

/* A phase's shares; deal->mine is then this rank's. */
static fm_status deal_out(dealing *deal, size_t most, const uint32_t *rank_at, fm_error *error)
{
    const fm_transport *transport = deal->run->transport;
    fm_status status = FM_OK;
    if (transport->rank != 0) return receive_share(deal, error);
    for (uint32_t place = 0; place < transport->size && status == FM_OK; place++) {
        const uint32_t rank = rank_at[place];
        status = read_share(deal, rank == 0 ? &deal->mine : &deal->other, most, error);
        if (status == FM_OK && rank != 0) status = send_share(deal, rank, error);
    }
    return status;
}

static fm_status feed_chunk(void *context, unsigned chunk, fm_error *error)
{
    const dealing *deal = context;
    const fm_cluster_run *run = deal->run;
    const unsigned chunks = run->work->threads;
    const size_t first = deal->mine.count * chunk / chunks, end = deal->mine.count * (chunk + 1) / chunks;
    fm_gathering *gatherings = fm_cluster_gather(run, chunk);
    if (!gatherings) return fm_fail_memory(error, sizeof *gatherings, "a thread's references");
    fm_status status = FM_OK;
    if (end > first) { /* else there may be no arrays */
        const fm_batch batch = {.count = end - first,
                                .address = deal->mine.address + first,
                                .size = deal->sizes ? deal->mine.size + first : NULL};
        status = fm_cluster_feed(gatherings, &batch, error);
    }
    if (status == FM_OK) status = fm_cluster_feed_end(gatherings, error);
    free(gatherings);
    return status;
}

static size_t share_size(const fm_cluster_run *run)
{
    if (run->work->deal) return run->work->deal;
    uint64_t held = 0;
    for (size_t i = 0; i < run->count; i++)
        if (run->ops->held(run->teams[i]) > held) held = run->ops->held(run->teams[i]);
    const uint64_t wanted = 4 * held / run->transport->size;
    return wanted < LEAST_SHARE ? LEAST_SHARE : wanted > MOST_SHARE ? MOST_SHARE : (size_t)wanted;
}

/* Rank 0 knows when the trace has ended. */
static fm_status agree_on_end(dealing *deal, bool *last, fm_error *error)
{
    uint64_t ended = deal->ended;
    fm_status status = fm_transport_sum(deal->run->transport, &ended, 1, error);
    *last = ended > 0;
    return status;
}

/* Whether the trace has sizes: of several files, any may. */
static fm_status look_for_sizes(dealing *deal, uint64_t *sizes, fm_error *error)
{
    *sizes = 0;
    if (deal->run->transport->rank != 0) return FM_OK;
    fm_status status = *deal->reader ? FM_OK : open_next(deal, error);
    if (status != FM_OK) return status;
    fm_trace_info info;
    fm_reader_info(*deal->reader, &info);
    *sizes = deal->run->work->shards || (info.columns & FM_COLUMN_SIZE);
    return FM_OK;
}

fm_status fm_cluster_deal(const fm_cluster_run *run, fm_reader **reader, fm_error *error)
{
    dealing deal = {.run = run, .reader = reader};
    uint64_t sizes = 0;
    bool last = false;
    uint32_t *rank_at = fm_calloc(run->transport->size, sizeof *rank_at);
    if (!rank_at) return fm_fail_memory(error, run->transport->size * sizeof *rank_at, "places of ranks");
    fm_status status = look_for_sizes(&deal, &sizes, error);
    if (status == FM_OK) status = fm_transport_sum(run->transport, &sizes, 1, error);
    deal.sizes = sizes > 0;
    while (status == FM_OK && !last) {
        status = find_places(run, rank_at, error);
        if (status == FM_OK) status = deal_out(&deal, share_size(run), rank_at, error);
        if (status == FM_OK) status = fm_cluster_for_chunks(run, feed_chunk, &deal, error);
        if (status == FM_OK) status = agree_on_end(&deal, &last, error);
        for (size_t i = 0; i < run->count && status == FM_OK; i++)
            status = run->ops->merge_phase(run->teams[i], last, error);
    }
    free(rank_at);
    free(deal.mine.address);
    free(deal.mine.size);
    free(deal.other.address);
    free(deal.other.size);
    return status;
}
