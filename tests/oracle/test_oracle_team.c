/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_oracle_team.c - a team of ranks that find exact distances together (cluster/team_exact.h) equals the
 * list engine: histogram, first touches, what is beyond the bound, distinct blocks. Ranks are threads.
 *
 *     FATHOM_TEST_TRACES=N   more (or fewer) traces
 */
#include "case.h"

#include "oracle/engine_calls.h"
#include "oracle/team_case.h"

#include <malloc.h>

enum { TRACES = 120 };

static uint64_t traces(void)
{
    return from_environment("FATHOM_TEST_TRACES", TRACES);
}

CASE(generated_traces)
{
    for (uint64_t index = 0; index < traces(); index++) {
        recipe made = recipe_make(2017, index);
        if (made.length > 2000) made.length %= 2000;
        if (made.alphabet > made.length) made.alphabet = made.length ? made.length : 1;
        const team_case chosen = team_case_of(&fm_team_exact, &made);
        assert_true(team_case_agrees(&chosen, &made));
    }
}

/*
 * Under a bound, an engine drops blocks when twice as many and 65,536 more are held: only long traces get
 * there. Judged by `exact` on one core, which the other tests compare with the list.
 */
CASE(blocks_are_dropped)
{
    for (uint64_t index = 0; index < traces() / 50 + 1; index++) {
        recipe made = recipe_make(4034, index);
        made.kind = (recipe_kind)(index % 4); /* uniform, Zipf, cyclic, sawtooth */
        made.length = 150000 + index * 5003;
        made.alphabet = 80000 + index * 1009;
        made.bound = 1 + index * index * 37 % 5000;
        made.seen_limit = index % 3 ? UINT64_MAX : 70000 + index * 500;
        made.chunk_most = 50000;
        uint64_t *trace = recipe_trace(&made);
        team_case chosen = team_case_of(&fm_team_exact, &made);
        if (chosen.phase_most < made.length / 3) chosen.phase_most = made.length / 3;
        fm_engine *engine;
        fm_tally wanted;
        size_t done;
        const fm_engine_options options = {.bound = made.bound, .seed = 5};
        fm_seen_limit = made.seen_limit;
        assert_int_equal(fm_engine_exact.create(&engine, &options, NULL), FM_OK);
        assert_int_equal(fm_tally_create(&wanted, chosen.bins, NULL), FM_OK);
        assert_int_equal(count_blocks(&fm_engine_exact, engine, trace, made.length, &wanted, &done, NULL),
                         FM_OK);
        const char *wrong = team_case_run(&chosen, &made, trace, &wanted, fm_engine_exact.distinct(engine),
                                          fm_engine_exact.cold_known(engine));
        fm_seen_limit = FM_SEEN_LIMIT;
        if (wrong) {
            fprintf(stderr, "%s: %u ranks, %u pieces\n", wrong, chosen.ranks, chosen.chunks);
            recipe_print(&made);
        }
        assert_null(wrong);
        fm_engine_exact.destroy(engine);
        fm_tally_clear(&wanted);
        free(trace);
    }
}

/* One rank that cannot go on ends the work of all. */
typedef struct failing {
    fm_transport *transport;
    fm_status status;
    fm_error error;
} failing;

static void *settle_or_fail(void *argument)
{
    failing *self = argument;
    const fm_team_options options = {.bins = FM_BINS_LOG2, .seed = 1, .chunks = 1};
    const uint64_t blocks[] = {1, 2, 3, self->transport->rank};
    fm_team *team;
    self->status = fm_team_exact.create(&team, self->transport, &options, &self->error);
    if (self->status == FM_OK) self->status = fm_team_exact.feed(team, 0, blocks, 4, &self->error);
    if (self->transport->rank == 2) {
        const fm_error error = {.status = FM_E_IO, .reason = "a cable was pulled"};
        (self->transport->fail)(self->transport, &error); /* cmocka has a macro of that name */
    } else if (self->status == FM_OK) {
        self->status = fm_team_exact.merge_phase(team, true, &self->error);
    }
    fm_team_exact.destroy(team);
    return NULL;
}

CASE(one_rank_fails)
{
    enum { RANKS = 5 };
    failing ranks[RANKS];
    pthread_t threads[RANKS];
    fm_local_cluster *cluster;
    assert_int_equal(fm_local_cluster_create(&cluster, RANKS, NULL), FM_OK);
    for (uint32_t r = 0; r < RANKS; r++) {
        ranks[r] = (failing){.transport = fm_local_cluster_rank(cluster, r)};
        assert_int_equal(pthread_create(&threads[r], NULL, settle_or_fail, &ranks[r]), 0);
    }
    for (uint32_t r = 0; r < RANKS; r++) pthread_join(threads[r], NULL);
    for (uint32_t r = 0; r < RANKS; r++) {
        if (r == 2) continue;
        assert_int_equal(ranks[r].status, FM_E_IO);
        assert_string_equal(ranks[r].error.reason, "a cable was pulled");
    }
    fm_local_cluster_destroy(cluster);
}

BEFORE_CASES
{
    /* Engines come and go with every phase: without this their memory would be the kernel's work, each time.
     */
    mallopt(M_MMAP_THRESHOLD, 64 << 20);
    mallopt(M_TRIM_THRESHOLD, 512 << 20);
    return -1;
}
