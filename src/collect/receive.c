/* SPDX-License-Identifier: Apache-2.0 */
/*
 * receive.c - how a batch is filled: channels are admitted, chunks taken in order and decoded, the batch
 * delivered when it is full or another thread's references follow.
 */
#include "collect/collection.h"

#include "base/error.h"

#include <signal.h>

/* ---- reading ---- */

/* Channels that producers have opened. */
fm_status fm_receive_admit(fm_collection *collection, fm_error *error)
{
    fm_reception *channel;
    fm_status status;
    bool damaged;
    collection->receiver->since_scan = 0;
    while ((channel = fm_receiver_opened(collection->receiver, &damaged, &status, error))) {
        status =
            fm_process_find_or_create(collection, channel->serial, channel->pid, &channel->process, error);
        if (status != FM_OK) return status;
        fm_process *process = channel->process;
        channel->dead = process->watched.gone;
        process->valgrind |= channel->producer == FM_PRODUCER_VALGRIND;
        process->channels++;
        if (channel->producer != FM_PRODUCER_COMPILER) continue;
        status = fm_process_thread(process, channel->thread_number, &channel->thread, error);
        if (status == FM_E_CORRUPT) {
            fm_process_miss(process, "a part of what it sent is damaged: %s", error->reason);
            status = fm_process_thread(process, 1, &channel->thread, error);
        }
        if (status != FM_OK) return status;
        channel->thread->channels++;
    }
    return status;
}

static void release_channel(fm_collection *collection, fm_reception *channel)
{
    if (channel->calling && channel->dead) channel->process->died_calling = channel->calling;
    channel->process->channels--;
    if (channel->thread) {
        channel->thread->channels--;
        fm_process_let_go(channel->process, channel->thread);
    }
    fm_receiver_release(collection->receiver, channel);
}

/* Is the batch of another thread than the chunk's? */
static bool batch_of_another(const fm_collection *collection, const fm_reception *channel)
{
    const fm_decoder *decoder = collection->decoder;
    if (decoder->rows.count == 0) return false;
    const fm_traced_thread *thread =
        channel->producer == FM_PRODUCER_VALGRIND ? channel->process->running : channel->thread;
    return collection->owner != channel->process || !thread || thread->number != decoder->rows.thread_number;
}

void fm_receive_begin_chunk(fm_collection *collection)
{
    const fm_reception *channel = collection->chunk.channel;
    collection->owner = channel->process;
    fm_decoder_begin(collection->decoder, channel->producer, channel->process, channel->thread, channel->page,
                     collection->chunk.words, collection->chunk.count);
}

/* The next chunk, or the end of a channel. *came: there was one. */
fm_status fm_receive_next(fm_collection *collection, bool *came, fm_error *error)
{
    fm_handed *chunk = &collection->chunk;
    fm_status status = FM_OK;
    if (collection->receiver->since_scan >= 64) status = fm_receive_admit(collection, error);
    if (status != FM_OK) return status;
    *came = fm_receiver_next(collection->receiver, chunk);
    if (!*came) return FM_OK;
    if (!chunk->words) {
        release_channel(collection, chunk->channel);
        chunk->channel = NULL;
        return FM_OK;
    }
    if (chunk->damaged) fm_process_miss(chunk->channel->process, "a part of what it sent is damaged");
    if (chunk->count == 0) {
        fm_receiver_done(collection->receiver, chunk);
        chunk->channel = NULL;
    } else if (batch_of_another(collection, chunk->channel)) {
        collection->deliver = true; /* the chunk begins afterwards */
    } else {
        fm_receive_begin_chunk(collection);
    }
    return FM_OK;
}

/* Reads on in the current chunk. */
fm_status fm_receive_read_on(fm_collection *collection, fm_error *error)
{
    fm_decoder *decoder = collection->decoder;
    fm_handed *chunk = &collection->chunk;
    fm_error damage;
    fm_process *process = chunk->channel->process;
    decoder->drop = collection->limit_reached || collection->stopped;
    fm_status status = fm_decoder_read(decoder, &damage);
    if (status == FM_E_CORRUPT) {
        fm_process_miss(process, "a part of what it sent is damaged: %s", damage.reason);
    } else if (status != FM_OK) {
        if (error) *error = damage;
        return status;
    }
    if (!decoder->words) {
        chunk->channel->page = decoder->page ? decoder->page->page + 1 : 0;
        fm_receiver_done(collection->receiver, chunk);
        chunk->channel = NULL;
        collection->deliver |= decoder->rows.count >= FM_ROWS_FULL;
    } else {
        collection->deliver = true;
    }
    return FM_OK;
}

/* ---- delivering ---- */

void fm_receive_limit(fm_collection *collection)
{
    if (collection->limit_reached) return;
    collection->limit_reached = true;
    fm_receiver_order_detach(collection->receiver);
    if (collection->options.stop_at_limit) fm_watch_terminate(&collection->watch, SIGTERM);
}

void fm_receive_deliver(fm_collection *collection, fm_collected *collected)
{
    fm_rows *rows = &collection->decoder->rows;
    fm_process *process = collection->owner;
    size_t count = rows->count;
    uint64_t limit = collection->options.limit;
    if (limit && count >= limit - collection->delivered) {
        size_t most = (size_t)(limit - collection->delivered);
        process->left_out += count - most;
        count = most;
        fm_receive_limit(collection);
    }
    unsigned columns = rows->columns;
    const fm_row_memory *at = rows->at;
    *collected = (fm_collected){
        .event = FM_COLLECTED_REFERENCES,
        .process = process->index,
        .thread = rows->thread_number,
        .begin = process->references,
        .batch = {.count = count,
                  .address = at->address,
                  .size = columns & FM_COLUMN_SIZE ? at->size : NULL,
                  .kind = columns & FM_COLUMN_KIND ? at->kind : NULL,
                  .thread = columns & FM_COLUMN_THREAD ? at->thread : NULL,
                  .site = columns & FM_COLUMN_SITE ? at->site : NULL,
                  .tag = columns & FM_COLUMN_TAG ? at->tag : NULL},
    };
    process->references += count;
    collection->delivered += count;
    rows->count = 0;
}

/* Reports the next process up to `index` that the caller does not know. */
bool fm_receive_announce(fm_collection *collection, size_t index, fm_collected *collected)
{
    if (collection->announced > index || collection->announced >= collection->process_count) return false;
    *collected = (fm_collected){.event = FM_COLLECTED_PROCESS, .process = (uint32_t)collection->announced};
    collection->announced++;
    return true;
}
