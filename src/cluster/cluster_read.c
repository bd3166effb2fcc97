/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cluster_read.c - every thread of every rank reads its own part of the trace, or its own share of files that
 * follow each other. One phase.
 */
#include "analyzer/read_all.h"
#include "cluster/cluster_work.h"

#include <stdlib.h>

/* Reads a file, or a part of one, to its end. */
static fm_status read_file(fm_gathering *gatherings, const char *path, const fm_reader_options *reading,
                           fm_error *error)
{
    const fm_batch_taker taker = {.context = gatherings, .take = fm_cluster_feed};
    fm_reader *reader = NULL;
    fm_status status = fm_reader_open(&reader, path, reading, error);
    if (status == FM_OK) status = fm_read_all(reader, &taker, error);
    fm_reader_close(reader);
    return status;
}

static fm_status read_piece(void *context, unsigned piece, fm_error *error)
{
    const fm_cluster_run *run = context;
    const fm_cluster_work *work = run->work;
    /* All teams have the same places. */
    const uint32_t pieces = run->transport->size * work->threads;
    const uint32_t number = run->ops->place(run->teams[0]) * work->threads + piece;
    fm_gathering *gatherings = fm_cluster_gather(run, piece);
    fm_status status = gatherings ? FM_OK : FM_E_NOMEM;
    if (status != FM_OK && error)
        *error = (fm_error){.status = FM_E_NOMEM, .reason = "out of memory for a thread that reads"};
    fm_reader_options reading = *work->reading;
    if (work->shards) {
        const size_t first = (size_t)number * work->shard_count / pieces;
        const size_t end = ((size_t)number + 1) * work->shard_count / pieces;
        for (size_t i = first; i < end && status == FM_OK; i++)
            status = read_file(gatherings, work->shards[i], &reading, error);
    } else if (status == FM_OK) {
        reading.part = number;
        reading.parts = pieces;
        status = read_file(gatherings, work->path, &reading, error);
    }
    if (status == FM_OK) status = fm_cluster_feed_end(gatherings, error);
    free(gatherings);
    return status;
}

fm_status fm_cluster_read_files(const fm_cluster_run *run, bool *damaged, fm_error *error)
{
    fm_status status = fm_cluster_for_pieces(run, read_piece, (void *)(uintptr_t)run, error);
    *damaged = false;
    if (fm_cluster_hears_damage(run) && (status == FM_OK || fm_status_is_damage(status))) {
        /* Nobody has sent anything to the others so far. */
        uint64_t met = status != FM_OK;
        status = fm_transport_sum(run->transport, &met, 1, error);
        *damaged = met > 0;
        if (status != FM_OK || *damaged) return status;
    }
    for (size_t i = 0; i < run->count && status == FM_OK; i++)
        status = run->ops->merge_phase(run->teams[i], true, error);
    return status;
}
