/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parda_messages.h - lists of blocks of any length between ranks, in messages: the heading of each says how
 * many blocks it has, and whether others follow.
 */
#ifndef FATHOM_CLUSTER_PARDA_MESSAGES_H
#define FATHOM_CLUSTER_PARDA_MESSAGES_H

#include "base/tunable.h"
#include "cluster/transport.h"

/* Blocks in a message. Only tests set it to anything else, to the same in all ranks. */
extern FM_TUNABLE size_t fm_parda_message_blocks;

typedef struct fm_parda_messages {
    fm_transport *transport;
    uint64_t *blocks; /* room for one message, to be sent or received */
    size_t most;      /* blocks it has room for */
} fm_parda_messages;

fm_status fm_parda_messages_create(fm_parda_messages *messages, fm_transport *transport, fm_error *error);
void fm_parda_messages_clear(fm_parda_messages *messages);

/* From anywhere; not more than `most`. */
fm_status fm_parda_messages_send(const fm_parda_messages *messages, uint32_t to, const uint64_t *blocks,
                                 size_t count, bool more, fm_error *error);
/* Into messages->blocks. */
fm_status fm_parda_messages_receive(const fm_parda_messages *messages, uint32_t from, size_t *count,
                                    bool *more, fm_error *error);

#endif
