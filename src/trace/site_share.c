/* SPDX-License-Identifier: Apache-2.0 */
/* site_share.c - see site_share.h. */
#include "trace/site_share.h"

#include "base/error.h"
#include "base/memory.h"
#include "trace/site_index.h"

#include <fathom/attribution.h>
#include <pthread.h>
#include <stdlib.h>

/* A site that came after the beginning. */
typedef struct shared_site {
    uint64_t site;
    uint64_t first; /* the least number of a reference that it has */
    uint32_t tag;
} shared_site;

typedef struct share_worker {
    fm_site_index *own; /* numbers of this thread */
    uint32_t *tag;      /* by its numbers, from 0 on, which is no site's */
    size_t known, room;
    shared_site *fresh; /* of one call */
    size_t fresh_room;
} share_worker;

struct fm_site_share {
    fm_site_index *index;
    size_t before; /* tags at the beginning */
    bool settled;
    pthread_mutex_t lock; /* of what follows, and of the index */
    shared_site *sites;   /* by tag, those after `before` */
    size_t count, room;
    unsigned workers;
    share_worker worker[];
};

fm_status fm_site_share_create(fm_site_share **made, fm_site_index *index, unsigned workers, fm_error *error)
{
    const size_t bytes = sizeof(fm_site_share) + workers * sizeof(share_worker);
    fm_site_share *share = *made = fm_calloc(1, bytes);
    if (!share) return fm_fail_memory(error, bytes, "code sites by several threads");
    share->index = index;
    share->before = fm_site_index_count(index);
    share->workers = workers;
    pthread_mutex_init(&share->lock, NULL);
    fm_status status = FM_OK;
    for (unsigned i = 0; i < workers && status == FM_OK; i++) {
        share_worker *worker = &share->worker[i];
        status = fm_site_index_create(&worker->own, error);
        if (status == FM_OK &&
            fm_array_reserve((void **)&worker->tag, &worker->room, 1, sizeof *worker->tag) != 0)
            status = fm_fail_memory(error, sizeof *worker->tag, "code sites by several threads");
        if (status == FM_OK) worker->tag[0] = 0;
    }
    if (status == FM_OK) return FM_OK;
    fm_site_share_destroy(share);
    *made = NULL;
    return status;
}

void fm_site_share_destroy(fm_site_share *share)
{
    if (!share) return;
    if (!share->settled) fm_site_index_truncate(share->index, share->before);
    for (unsigned i = 0; i < share->workers; i++) {
        fm_site_index_destroy(share->worker[i].own);
        free(share->worker[i].tag);
        free(share->worker[i].fresh);
    }
    pthread_mutex_destroy(&share->lock);
    free(share->sites);
    free(share);
}

/* ---- while threads read ---- */

/* Under the lock. After a failure the others may still come: the index has no site that is not here. */
static fm_status share_site(fm_site_share *share, shared_site *given, fm_error *error)
{
    if (fm_array_reserve((void **)&share->sites, &share->room, share->count + 1, sizeof *share->sites) != 0)
        return fm_fail_memory(error, (share->count + 1) * sizeof *share->sites,
                              "code sites by several threads");
    fm_status status = fm_site_index_tags(share->index, &given->site, 1, &given->tag, error);
    if (status != FM_OK) return status;
    if (given->tag == 0)
        return fm_fail(error, FM_E_LIMIT, NULL, "there are more than %u code sites", FM_TAG_MAX);
    if (given->tag <= share->before) return FM_OK;
    const size_t at = given->tag - share->before - 1;
    if (at == share->count)
        share->sites[share->count++] = *given;
    else if (given->first < share->sites[at].first)
        share->sites[at].first = given->first;
    return FM_OK;
}

/* Those that are new to this thread: its numbers for them are the next ones, in order of appearance. */
static fm_status site_share_learn(fm_site_share *share, share_worker *worker, const uint64_t *sites, size_t count,
                       uint64_t first, const uint32_t *numbers, fm_error *error)
{
    const size_t fresh = fm_site_index_count(worker->own) - worker->known;
    if (fm_array_reserve((void **)&worker->fresh, &worker->fresh_room, fresh, sizeof *worker->fresh) != 0 ||
        fm_array_reserve((void **)&worker->tag, &worker->room, worker->known + fresh + 1,
                         sizeof *worker->tag) != 0)
        return fm_fail_memory(error, fresh * sizeof *worker->fresh, "code sites by several threads");
    size_t found = 0;
    for (size_t i = 0; i < count && found < fresh; i++)
        if (numbers[i] == worker->known + found + 1)
            worker->fresh[found++] = (shared_site){.site = sites[i], .first = first + i};
    fm_status status = FM_OK;
    pthread_mutex_lock(&share->lock);
    for (size_t i = 0; i < fresh && status == FM_OK; i++)
        status = share_site(share, &worker->fresh[i], error);
    pthread_mutex_unlock(&share->lock);
    for (size_t i = 0; i < fresh && status == FM_OK; i++) worker->tag[++worker->known] = worker->fresh[i].tag;
    return status;
}

fm_status fm_site_share_tags(fm_site_share *share, unsigned worker, const uint64_t *sites, size_t count,
                             uint64_t first, uint32_t *tags, fm_error *error)
{
    share_worker *self = &share->worker[worker];
    fm_status status = fm_site_index_tags(self->own, sites, count, tags, error);
    if (status == FM_OK && fm_site_index_count(self->own) > self->known)
        status = site_share_learn(share, self, sites, count, first, tags, error);
    /* Then some may have none. */
    if (status == FM_OK && self->known == FM_TAG_MAX)
        status = fm_fail(error, FM_E_LIMIT, NULL, "there are too many code sites");
    if (status != FM_OK) return status;
    const uint32_t *const tag = self->tag;
    for (size_t i = 0; i < count; i++) tags[i] = tag[tags[i]];
    return FM_OK;
}

/* ---- in the end ---- */

static int by_first(const void *a, const void *b)
{
    const shared_site *x = a, *y = b;
    return x->first < y->first ? -1 : x->first > y->first;
}

static fm_status site_share_renumber(fm_site_share *share, uint32_t *map, fm_error *error)
{
    fm_status status = FM_OK;
    qsort(share->sites, share->count, sizeof *share->sites, by_first);
    fm_site_index_truncate(share->index, share->before);
    for (size_t t = 0; t <= share->before; t++) map[t] = (uint32_t)t;
    for (size_t i = 0; i < share->count && status == FM_OK; i++)
        status = fm_site_index_tags(share->index, &share->sites[i].site, 1, &map[share->sites[i].tag], error);
    return status;
}

fm_status fm_site_share_settle(fm_site_share *share, uint32_t **map, size_t *map_count, fm_error *error)
{
    bool sorted = true;
    for (size_t i = 1; i < share->count && sorted; i++)
        sorted = share->sites[i - 1].first < share->sites[i].first;
    *map = NULL;
    *map_count = share->before + share->count + 1;
    share->settled = sorted;
    if (sorted) return FM_OK;
    *map = fm_calloc(*map_count, sizeof **map);
    if (!*map) return fm_fail_memory(error, *map_count * sizeof **map, "code sites by several threads");
    const fm_status status = site_share_renumber(share, *map, error);
    share->settled = status == FM_OK;
    if (status == FM_OK) return FM_OK;
    free(*map);
    *map = NULL;
    return status;
}
