/* SPDX-License-Identifier: Apache-2.0 */
/*
 * local_transport.c - see local_transport.h.
 *
 * For every pair of ranks there is a letter box that holds at most one message: where it lies in the sender's
 * memory. The receiver copies it out and says so. One lock for all, a condition for each rank: ranks are few,
 * and messages long.
 */
#include "cluster/local_transport.h"

#include "base/error.h"
#include "base/memory.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct letter {
    const void *data;
    size_t bytes;
    bool full, copying;
} letter;

typedef struct local_rank {
    fm_transport transport; /* first: it is what callers have */
    fm_local_cluster *cluster;
    pthread_cond_t changed; /* a letter for it came, or one of its own was taken */
} local_rank;

struct fm_local_cluster {
    pthread_mutex_t lock;
    bool failed;
    fm_error reason; /* of the rank that failed first */
    uint32_t size;
    letter *boxes; /* [from * size + to] */
    local_rank *ranks;
};

static fm_status others_failed(const fm_local_cluster *cluster, fm_error *error)
{
    if (error) *error = cluster->reason;
    return cluster->reason.status;
}

/* Under the lock. */
static void letter_post(local_rank *self, uint32_t to, const void *data, size_t bytes)
{
    fm_local_cluster *cluster = self->cluster;
    cluster->boxes[(size_t)self->transport.rank * cluster->size + to] =
        (letter){.data = data, .bytes = bytes, .full = true};
    pthread_cond_signal(&cluster->ranks[to].changed);
}

static bool letter_taken(const local_rank *self, uint32_t to)
{
    return !self->cluster->boxes[(size_t)self->transport.rank * self->cluster->size + to].full;
}

/* After a failure: a letter that is being copied must stay where it is until that is done. */
static void letter_withdraw(local_rank *self, uint32_t to)
{
    fm_local_cluster *cluster = self->cluster;
    const letter *box = &cluster->boxes[(size_t)self->transport.rank * cluster->size + to];
    while (box->copying) pthread_cond_wait(&self->changed, &cluster->lock);
}

/* Takes a letter, if one is there. The lock is not held while it is copied. */
static bool letter_take(local_rank *self, uint32_t from, void *data, size_t bytes)
{
    fm_local_cluster *cluster = self->cluster;
    letter *box = &cluster->boxes[(size_t)from * cluster->size + self->transport.rank];
    if (!box->full || cluster->failed) return false;
    const void *source = box->data;
    const size_t size = box->bytes < bytes ? box->bytes : bytes; /* they are equal, or there is a mistake */
    box->copying = true;
    pthread_mutex_unlock(&cluster->lock);
    if (size > 0) memcpy(data, source, size);
    pthread_mutex_lock(&cluster->lock);
    box->full = box->copying = false;
    pthread_cond_signal(&cluster->ranks[from].changed);
    return true;
}

static fm_status local_exchange(fm_transport *transport, uint32_t to, const void *out, size_t out_bytes,
                                uint32_t from, void *in, size_t in_bytes, fm_error *error)
{
    local_rank *self = (local_rank *)transport;
    fm_local_cluster *cluster = self->cluster;
    bool sending = true, receiving = true;
    if (to == transport->rank) {
        sending = false;
        if (from == to) {
            receiving = false;
            if (in_bytes > 0) memcpy(in, out, in_bytes);
        }
    }
    pthread_mutex_lock(&cluster->lock);
    if (sending) letter_post(self, to, out, out_bytes);
    while ((sending || receiving) && !cluster->failed) {
        if (receiving && letter_take(self, from, in, in_bytes)) receiving = false;
        if (sending && letter_taken(self, to)) sending = false;
        if ((sending || receiving) && !cluster->failed) pthread_cond_wait(&self->changed, &cluster->lock);
    }
    if (sending) letter_withdraw(self, to);
    fm_status status = cluster->failed ? others_failed(cluster, error) : FM_OK;
    pthread_mutex_unlock(&cluster->lock);
    return status;
}

static fm_status local_send(fm_transport *transport, uint32_t to, const void *data, size_t bytes,
                            fm_error *error)
{
    local_rank *self = (local_rank *)transport;
    fm_local_cluster *cluster = self->cluster;
    pthread_mutex_lock(&cluster->lock);
    if (!cluster->failed) letter_post(self, to, data, bytes);
    while (!cluster->failed && !letter_taken(self, to)) pthread_cond_wait(&self->changed, &cluster->lock);
    letter_withdraw(self, to);
    fm_status status = cluster->failed ? others_failed(cluster, error) : FM_OK;
    pthread_mutex_unlock(&cluster->lock);
    return status;
}

static fm_status local_receive(fm_transport *transport, uint32_t from, void *data, size_t bytes,
                               fm_error *error)
{
    local_rank *self = (local_rank *)transport;
    fm_local_cluster *cluster = self->cluster;
    pthread_mutex_lock(&cluster->lock);
    while (!cluster->failed && !letter_take(self, from, data, bytes))
        pthread_cond_wait(&self->changed, &cluster->lock);
    fm_status status = cluster->failed ? others_failed(cluster, error) : FM_OK;
    pthread_mutex_unlock(&cluster->lock);
    return status;
}

static fm_status local_gather(fm_transport *transport, const void *mine, size_t bytes, void *all,
                              fm_error *error)
{
    const uint32_t size = transport->size, rank = transport->rank;
    fm_status status = FM_OK;
    for (uint32_t round = 0; round < size && status == FM_OK; round++) {
        const uint32_t to = (rank + round) % size, from = (rank + size - round) % size;
        status = local_exchange(transport, to, mine, bytes, from, (char *)all + from * bytes, bytes, error);
    }
    return status;
}

static void local_fail(fm_transport *transport, const fm_error *error)
{
    local_rank *self = (local_rank *)transport;
    fm_local_cluster *cluster = self->cluster;
    pthread_mutex_lock(&cluster->lock);
    if (!cluster->failed) {
        cluster->failed = true;
        cluster->reason = *error;
    }
    for (uint32_t i = 0; i < cluster->size; i++) pthread_cond_broadcast(&cluster->ranks[i].changed);
    pthread_mutex_unlock(&cluster->lock);
}

static void local_stay(fm_transport *transport)
{
    (void)transport; /* the cluster owns its ranks */
}

fm_status fm_local_cluster_create(fm_local_cluster **cluster, uint32_t size, fm_error *error)
{
    *cluster = NULL;
    fm_local_cluster *self = fm_calloc(1, sizeof *self);
    if (self) {
        self->boxes = fm_calloc((size_t)size * size, sizeof *self->boxes);
        self->ranks = fm_calloc(size, sizeof *self->ranks);
    }
    if (!self || !self->boxes || !self->ranks) {
        if (self) {
            free(self->boxes);
            free(self->ranks);
        }
        free(self);
        return fm_fail_memory(error, (size_t)size * size * sizeof(letter), "ranks");
    }
    self->size = size;
    pthread_mutex_init(&self->lock, NULL);
    for (uint32_t i = 0; i < size; i++) {
        local_rank *rank = &self->ranks[i];
        rank->cluster = self;
        rank->transport = (fm_transport){.rank = i,
                                         .size = size,
                                         .send = local_send,
                                         .receive = local_receive,
                                         .exchange = local_exchange,
                                         .gather = local_gather,
                                         .fail = local_fail,
                                         .close = local_stay};
        pthread_cond_init(&rank->changed, NULL);
    }
    *cluster = self;
    return FM_OK;
}

void fm_local_cluster_destroy(fm_local_cluster *cluster)
{
    if (!cluster) return;
    for (uint32_t i = 0; i < cluster->size; i++) pthread_cond_destroy(&cluster->ranks[i].changed);
    pthread_mutex_destroy(&cluster->lock);
    free(cluster->boxes);
    free(cluster->ranks);
    free(cluster);
}

fm_transport *fm_local_cluster_rank(fm_local_cluster *cluster, uint32_t rank)
{
    return &cluster->ranks[rank].transport;
}

void fm_local_cluster_reset(fm_local_cluster *cluster)
{
    cluster->failed = false;
    memset(cluster->boxes, 0, (size_t)cluster->size * cluster->size * sizeof *cluster->boxes);
}
