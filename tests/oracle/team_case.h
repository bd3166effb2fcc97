/* SPDX-License-Identifier: Apache-2.0 */
/*
 * team_case.h - runs one recipe through a team of ranks (cluster/team.h), each a thread of this process, and
 * compares with what the list engine finds.
 *
 * The trace is cut into phases, these into shares of the ranks, these into chunks, all at random places that
 * follow from the recipe: shares of a single reference, empty ones, empty phases, and traces with fewer
 * references than ranks all come up. Chunks of one rank are fed at the same time.
 */
#ifndef FATHOM_TESTS_TEAM_CASE_H
#define FATHOM_TESTS_TEAM_CASE_H

#include "cluster/team.h"
#include "cluster/transport.h"
#include "oracle/engine_run.h"

#include <pthread.h>

enum { TEAM_CASE_MOST_RANKS = 8, TEAM_CASE_MOST_PIECES = 4 };

typedef struct team_case {
    const fm_team_ops *ops;
    uint32_t ranks;
    unsigned chunks;
    size_t phase_most; /* references of a phase, of all ranks together; at least 1 */
    bool empty_end;    /* the last phase has no references at all */
    fm_bins bins;
} team_case;

/* Chosen by the recipe's seed: every number of ranks, one and more chunks, one and many phases. */
static inline team_case team_case_of(const fm_team_ops *ops, const recipe *made)
{
    recipe_random random = {made->seed ^ 8};
    team_case chosen = {.ops = ops,
                        .ranks = 1 + (uint32_t)recipe_below(&random, TEAM_CASE_MOST_RANKS),
                        .chunks = 1,
                        .empty_end = recipe_chance(&random, 6),
                        .bins = (fm_bins)recipe_below(&random, 3)};
    if (recipe_chance(&random, 3)) chosen.chunks += (unsigned)recipe_below(&random, TEAM_CASE_MOST_PIECES);
    /* One phase, some, or many; but not so many that threads are all the test does. */
    const size_t fewest = 1 + made->length / 12;
    switch (recipe_below(&random, 3)) {
    case 0:
        chosen.phase_most = made->length + 1;
        break;
    case 1:
        chosen.phase_most = fewest + recipe_below(&random, made->length / 2 + 1);
        break;
    default:
        chosen.phase_most = fewest + recipe_below(&random, 2 * chosen.ranks * chosen.chunks);
    }
    return chosen;
}

/* Where in the trace the next phase, and each chunk of each rank's share of it, ends. Every rank computes the
 * same. */
typedef struct team_phases {
    recipe_random random;
    size_t at, end, length;
    size_t cuts[TEAM_CASE_MOST_RANKS * TEAM_CASE_MOST_PIECES + 1];
    bool last, empty_end;
} team_phases;

static inline void team_phases_next(team_phases *phases, const team_case *chosen)
{
    const size_t left = phases->length - phases->end;
    const unsigned parts = chosen->ranks * chosen->chunks;
    size_t count = recipe_below(&phases->random, chosen->phase_most + 1);
    if (chosen->phase_most > phases->length || count > left) count = left;
    phases->at = phases->end;
    phases->end += count;
    phases->last = phases->end == phases->length && (!phases->empty_end || left == 0);
    phases->cuts[0] = phases->at;
    phases->cuts[parts] = phases->end;
    /* Equal shares, or random ones with empty ones among them. */
    const bool random_cuts = recipe_chance(&phases->random, 2);
    for (unsigned i = 1; i < parts; i++)
        phases->cuts[i] =
            phases->at + (random_cuts ? (size_t)recipe_below(&phases->random, count + 1) : count * i / parts);
    for (unsigned i = 1; i < parts && random_cuts; i++) /* sorted */
        for (unsigned j = i; j > 1 && phases->cuts[j - 1] > phases->cuts[j]; j--) {
            const size_t earlier = phases->cuts[j];
            phases->cuts[j] = phases->cuts[j - 1];
            phases->cuts[j - 1] = earlier;
        }
}

typedef struct team_chunk {
    const team_case *chosen;
    const recipe *made;
    fm_team *team;
    unsigned chunk;
    const uint64_t *blocks;
    size_t count;
    fm_status status;
    pthread_t thread;
} team_chunk;

static inline void *team_chunk_feed(void *argument)
{
    team_chunk *self = argument;
    recipe_random random = {self->made->seed ^ self->chunk};
    self->status = FM_OK;
    for (size_t i = 0; i < self->count && self->status == FM_OK;) {
        size_t count = 1 + recipe_below(&random, self->made->chunk_most);
        if (count > self->count - i) count = self->count - i;
        self->status = self->chosen->ops->feed(self->team, self->chunk, self->blocks + i, count, NULL);
        i += count;
    }
    return NULL;
}

typedef struct team_rank {
    const team_case *chosen;
    const recipe *made;
    const uint64_t *trace;
    fm_transport *transport;
    fm_tally tally;
    fm_team_result result;
    const char *wrong;
    pthread_t thread;
} team_rank;

static inline const char *team_rank_phase(team_rank *self, fm_team *team, const team_phases *phases)
{
    const team_case *chosen = self->chosen;
    const uint32_t place = chosen->ops->place(team);
    team_chunk chunks[TEAM_CASE_MOST_PIECES];
    if (place >= chosen->ranks || chosen->chunks == 0) return "place is out of range";
    for (unsigned i = 0; i < chosen->chunks; i++) {
        const size_t *cut = &phases->cuts[place * chosen->chunks + i];
        chunks[i] = (team_chunk){.chosen = chosen,
                                 .made = self->made,
                                 .team = team,
                                 .chunk = i,
                                 .blocks = self->trace + cut[0],
                                 .count = cut[1] - cut[0]};
        if (i > 0 && pthread_create(&chunks[i].thread, NULL, team_chunk_feed, &chunks[i]) != 0) abort();
    }
    team_chunk_feed(&chunks[0]);
    for (unsigned i = 1; i < chosen->chunks; i++) pthread_join(chunks[i].thread, NULL);
    for (unsigned i = 0; i < chosen->chunks; i++)
        if (chunks[i].status != FM_OK) return "feed failed";
    return chosen->ops->merge_phase(team, phases->last, NULL) == FM_OK ? NULL : "merge_phase failed";
}

static inline void *team_rank_run(void *argument)
{
    team_rank *self = argument;
    const team_case *chosen = self->chosen;
    const fm_team_options options = {.bound = self->made->bound,
                                     .bins = chosen->bins,
                                     .seed = self->made->engine_seed,
                                     .chunks = chosen->chunks};
    fm_team *team = NULL;
    team_phases phases = {
        .random = {self->made->seed ^ 88}, .length = self->made->length, .empty_end = chosen->empty_end};
    if (chosen->ops->create(&team, self->transport, &options, NULL)) self->wrong = "the team was not created";
    while (!self->wrong && !phases.last) {
        team_phases_next(&phases, chosen);
        self->wrong = team_rank_phase(self, team, &phases);
    }
    if (!self->wrong && chosen->ops->memory(team) == 0) self->wrong = "a team without memory";
    if (!self->wrong && chosen->ops->finish(team, &self->tally, &self->result, NULL))
        self->wrong = "finish failed";
    if (self->wrong) {
        const fm_error error = {.status = FM_E_ARGUMENT};
        (self->transport->fail)(self->transport, &error);
    }
    chosen->ops->destroy(team);
    return NULL;
}

/* NULL, or what was wrong. `wanted` is what rank 0 must have counted. */
static inline const char *team_case_run(const team_case *chosen, const recipe *made, const uint64_t *trace,
                                        const fm_tally *wanted, uint64_t distinct, bool cold_known)
{
    fm_local_cluster *cluster;
    team_rank ranks[TEAM_CASE_MOST_RANKS] = {0};
    const char *wrong = NULL;
    if (fm_local_cluster_create(&cluster, chosen->ranks, NULL)) abort();
    for (uint32_t r = 0; r < chosen->ranks; r++) {
        ranks[r] = (team_rank){
            .chosen = chosen, .made = made, .trace = trace, .transport = fm_local_cluster_rank(cluster, r)};
        if (fm_tally_create(&ranks[r].tally, chosen->bins, NULL)) abort();
        if (r > 0 && pthread_create(&ranks[r].thread, NULL, team_rank_run, &ranks[r]) != 0) abort();
    }
    team_rank_run(&ranks[0]);
    for (uint32_t r = 1; r < chosen->ranks; r++) pthread_join(ranks[r].thread, NULL);
    for (uint32_t r = 0; r < chosen->ranks && !wrong; r++) wrong = ranks[r].wrong;
    if (!wrong) wrong = engine_tallies_agree(&ranks[0].tally, wanted);
    if (!wrong && ranks[0].result.distinct != distinct) wrong = "wrong number of distinct blocks";
    if (!wrong && ranks[0].result.cold_known != cold_known) wrong = "wrong cold_known";
    for (uint32_t r = 0; r < chosen->ranks; r++) fm_tally_clear(&ranks[r].tally);
    fm_local_cluster_destroy(cluster);
    return wrong;
}

/* The recipe through a team; true when all agrees with the list engine, otherwise says what does not. */
static inline bool team_case_agrees(const team_case *chosen, const recipe *made)
{
    uint64_t *trace = recipe_trace(made);
    engine_answers expected = engine_answers_make(made->length);
    fm_tally wanted;
    if (fm_tally_create(&wanted, chosen->bins, NULL)) abort();
    fm_seen_limit = made->seen_limit;
    const char *wrong = engine_expect(made, trace, &expected);
    if (!wrong && fm_tally_add(&wanted, expected.distances, made->length, NULL)) abort();
    if (!wrong) wrong = team_case_run(chosen, made, trace, &wanted, expected.distinct, expected.cold_known);
    fm_seen_limit = FM_SEEN_LIMIT;
    if (wrong) {
        fprintf(stderr, "team of %s: %s: %" PRIu32 " ranks, %u pieces each, phases of up to %zu, bins %d%s\n",
                chosen->ops->name, wrong, chosen->ranks, chosen->chunks, chosen->phase_most,
                (int)chosen->bins, chosen->empty_end ? ", an empty last phase" : "");
        recipe_print(made);
    }
    fm_tally_clear(&wanted);
    engine_answers_free(&expected);
    free(trace);
    return !wrong;
}

#endif
