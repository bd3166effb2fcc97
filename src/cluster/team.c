/* SPDX-License-Identifier: Apache-2.0 */
/* team.c - see team.h: what is the same for all kinds of teams. */
#include "cluster/team.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>

/* Adds what another rank has counted. */
static fm_status receive_tally(fm_transport *transport, uint32_t from, fm_tally *tally, fm_error *error)
{
    uint64_t head[4]; /* bins, total, cold, beyond */
    fm_status status = transport->receive(transport, from, head, sizeof head, error);
    if (status == FM_OK) status = fm_tally_reserve(tally, head[0], error);
    if (status != FM_OK) return status;
    uint64_t *counts = fm_calloc(head[0] ? head[0] : 1, sizeof *counts);
    if (!counts) return fm_fail_memory(error, head[0] * sizeof *counts, "another rank's histogram");
    status = transport->receive(transport, from, counts, head[0] * sizeof *counts, error);
    for (uint64_t i = 0; i < head[0] && status == FM_OK; i++) tally->counts[i] += counts[i];
    free(counts);
    tally->total += head[1];
    tally->cold += head[2];
    tally->beyond += head[3];
    return status;
}

fm_status fm_team_sum_tallies(fm_transport *transport, fm_tally *tally, fm_error *error)
{
    fm_status status = FM_OK;
    if (transport->rank == 0) {
        for (uint32_t from = 1; from < transport->size && status == FM_OK; from++)
            status = receive_tally(transport, from, tally, error);
        return status;
    }
    const uint64_t bins = fm_tally_end(tally);
    const uint64_t head[4] = {bins, tally->total, tally->cold, tally->beyond};
    status = transport->send(transport, 0, head, sizeof head, error);
    if (status == FM_OK)
        status = transport->send(transport, 0, tally->counts, bins * sizeof *tally->counts, error);
    return status;
}
