/* SPDX-License-Identifier: Apache-2.0 */
/* transport.c - how ranks talk (transport.h): what all transports share, the module for each MPI, and
 * threads. */
#include "cluster/transport.h"
#include "base/error.h"
#include "base/input.h"
#include "base/memory.h"

#include <limits.h>
#include <pthread.h>
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

/* ==== MPI modules ==== */

typedef struct known_mpi {
    const char *name, *file;
    const char *signs[3]; /* variables that its processes find in their environment */
    const char *package;
} known_mpi;

static const known_mpi known[] = {
    {"Open MPI", "fathom-openmpi.so", {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK"}, "libopenmpi-dev"},
    {"MPICH", "fathom-mpich.so", {"PMI_SIZE", "PMI_RANK"}, "libmpich-dev"},
};
enum { KNOWN = sizeof known / sizeof *known };

/* The one that started this process; NULL: none did. */
static const known_mpi *mpi_announced(void)
{
    for (size_t i = 0; i < KNOWN; i++)
        for (size_t s = 0; s < 3 && known[i].signs[s]; s++)
            if (getenv(known[i].signs[s])) return &known[i];
    return NULL;
}

static fm_status mpi_missing(const known_mpi *mpi, fm_error *error)
{
    if (!mpi)
        return fm_fail(error, FM_E_UNSUPPORTED, NULL,
                       "this fathom was built without MPI: install one (Debian package libopenmpi-dev or "
                       "libmpich-dev) and build fathom again");
    return fm_fail(
        error, FM_E_UNSUPPORTED, NULL,
        "this fathom has no module for %s, which started it: install its headers (Debian package %s) "
        "and build fathom again",
        mpi->name, mpi->package);
}

static fm_status mpi_load(const char *path, fm_transport **transport, fm_error *error)
{
    /* Global: parts that Open MPI loads by itself look for its symbols. */
    const fm_mpi_module *module = fm_part_load(path, FM_MPI_SYMBOL, FM_MPI_INTERFACE, true, error);
    if (!module) return FM_E_UNSUPPORTED;
    fm_status status = module->open(transport);
    if (status != FM_OK) return fm_fail(error, status, path, "MPI cannot be started");
    return FM_OK;
}

fm_status fm_mpi_join(fm_transport **transport, fm_error *error)
{
    char path[PATH_MAX];
    const known_mpi *started = mpi_announced();
    *transport = NULL;
    for (size_t i = 0; i < KNOWN; i++)
        if ((!started || started == &known[i]) && fm_part_find(NULL, known[i].file, path, sizeof path))
            return mpi_load(path, transport, error);
    return mpi_missing(started, error);
}

/*
 * ==== threads as ranks ====
 *
 * See transport.h.
 *
 * For every pair of ranks there is a letter box that holds at most one message: where it lies in the sender's
 * memory. The receiver copies it out and says so. One lock for all, a condition for each rank: ranks are few,
 * and messages long.
 */

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
