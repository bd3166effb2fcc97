/* SPDX-License-Identifier: Apache-2.0 */
/* parda_messages.c - see parda_messages.h. */
#include "cluster/parda_messages.h"

#include "base/error.h"
#include "base/memory.h"

#include <inttypes.h>
#include <stdlib.h>

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
