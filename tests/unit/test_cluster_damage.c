/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks that meet damage, with threads as ranks: what is sound counts, once; the listener hears of the rest.
 */
#include "case.h"

#include "unit/trace_helpers.h"

#include "cluster/team.h"
#include "cluster/transport.h"

#include <fathom/experimental/cluster.h>
#include <fathom/model.h>
#include <pthread.h>

enum { RANKS = 3, KEYS = 40000, PERIOD = 700 };

typedef struct heard {
    size_t opened, damages, ended;
    char message[1200];
} heard;

static void hear_opened(void *context, const fm_reader *reader)
{
    (void)reader;
    ((heard *)context)->opened++;
}

static void hear_damage(void *context, const fm_error *error)
{
    heard *told = context;
    told->damages++;
    fm_error_message(error, told->message, sizeof told->message);
}

static void hear_ended(void *context, const fm_reader *reader)
{
    (void)reader;
    ((heard *)context)->ended++;
}

typedef struct rank {
    fm_cluster cluster;
    const fm_cluster_work *work;
    fm_profile *profile;
    fm_status status;
    fm_error error;
} rank;

static void *analyze(void *context)
{
    rank *self = context;
    bool memory;
    self->status = fm_cluster_analyze(&self->cluster, self->work, &self->profile, &memory, &self->error);
    if (self->status != FM_OK) fm_cluster_abort(&self->cluster, &self->error);
    return NULL;
}

/* All ranks; the profile of rank 0, or NULL and a status. */
static fm_profile *run(fm_cluster_work *work, fm_status *status)
{
    static const fm_reader_options reading = {0};
    fm_local_cluster *cluster;
    rank ranks[RANKS] = {0};
    pthread_t threads[RANKS];
    work->reading = &reading;
    assert_int_equal(fm_local_cluster_create(&cluster, RANKS, NULL), FM_OK);
    for (uint32_t r = 0; r < RANKS; r++) {
        ranks[r].cluster.transport = fm_local_cluster_rank(cluster, r);
        ranks[r].work = work;
        assert_int_equal(pthread_create(&threads[r], NULL, analyze, &ranks[r]), 0);
    }
    *status = FM_OK;
    for (uint32_t r = 0; r < RANKS; r++) {
        assert_int_equal(pthread_join(threads[r], NULL), 0);
        if (ranks[r].status != FM_OK) *status = ranks[r].status;
        if (r > 0) assert_null(ranks[r].profile);
    }
    fm_local_cluster_destroy(cluster);
    return ranks[0].profile;
}

/* Keys 0 1 2 … PERIOD-1, again and again: from the second round on every distance is PERIOD - 1. */
static void write_keys(const char *path, size_t from, size_t count, size_t rest)
{
    uint64_t *keys = calloc(count + 1, sizeof *keys);
    assert_non_null(keys);
    for (size_t i = 0; i < count; i++) keys[i] = (from + i) % PERIOD;
    write_file(path, keys, count * sizeof *keys + rest);
    free(keys);
}

static void check_profile(fm_profile *profile)
{
    assert_non_null(profile);
    assert_int_equal(profile->references, KEYS);
    assert_int_equal(profile->distinct, PERIOD);
    assert_int_equal(profile->cold, PERIOD);
    assert_int_equal(fm_profile_misses(profile, PERIOD - 1).expected, KEYS);
    assert_int_equal(fm_profile_misses(profile, PERIOD).expected, PERIOD);
    fm_profile_destroy(profile);
}

CASE(a_part_with_damage)
{
    const char *path = in_directory("cut.u64");
    write_keys(path, 0, KEYS, 3);
    for (unsigned threads = 1; threads <= 2; threads++) {
        heard told = {0};
        const fm_cluster_listener listener = {
            .context = &told, .opened = hear_opened, .damage = hear_damage, .ended = hear_ended};
        fm_cluster_work work = {.path = path, .threads = threads, .listener = &listener};
        fm_status status;
        check_profile(run(&work, &status));
        assert_int_equal(status, FM_OK);
        assert_int_equal(told.opened, 1);
        assert_int_equal(told.damages, 1);
        assert_int_equal(told.ended, 1);
        assert_non_null(strstr(told.message, "byte 320000: ends within a key: expected 8 bytes, found 3"));
    }
}

/* As it was before there were listeners. */
CASE(nobody_listens)
{
    const char *path = in_directory("cut.u64");
    write_keys(path, 0, KEYS, 3);
    fm_cluster_work work = {.path = path, .threads = 1};
    fm_status status;
    assert_null(run(&work, &status));
    assert_int_not_equal(status, FM_OK);
}

CASE(files_with_damage)
{
    const char *paths[RANKS] = {in_directory("0.u64"), in_directory("1.u64"), in_directory("2.u64")};
    write_keys(paths[0], 0, 9000, 5);
    write_keys(paths[1], 9000, 21000, 0);
    write_keys(paths[2], 30000, 10000, 7);
    heard told = {0};
    const fm_cluster_listener listener = {.context = &told, .damage = hear_damage};
    fm_cluster_work work = {.shards = paths, .shard_count = RANKS, .threads = 1, .listener = &listener};
    fm_status status;
    check_profile(run(&work, &status));
    assert_int_equal(status, FM_OK);
    assert_int_equal(told.damages, 2);
    assert_non_null(strstr(told.message, "2.u64: byte 80000: ends within a key")); /* the last */
}

CASES_WITH(make_directory, remove_directory);
