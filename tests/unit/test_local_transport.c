/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_local_transport.c - ranks that are threads: messages in order, between any two and among all; what the
 * parts shared by all transports make of them; and that a rank which gives up wakes all who wait for it.
 */
#include "case.h"

#include "cluster/transport.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_RANKS = 7, ROUNDS = 200 };

typedef struct rank_run {
    fm_transport *transport;
    const char *(*job)(fm_transport *transport);
    const char *wrong;
    pthread_t thread;
} rank_run;

static void *run_rank(void *argument)
{
    rank_run *self = argument;
    self->wrong = self->job(self->transport);
    return NULL;
}

/* All ranks of the cluster do the same job; the first complaint fails the test. */
static void run_in(fm_local_cluster *cluster, uint32_t size, const char *(*job)(fm_transport *transport))
{
    rank_run ranks[MOST_RANKS];
    for (uint32_t r = 0; r < size; r++) {
        ranks[r] = (rank_run){.transport = fm_local_cluster_rank(cluster, r), .job = job};
        assert_int_equal(ranks[r].transport->rank, r);
        assert_int_equal(ranks[r].transport->size, size);
        assert_int_equal(pthread_create(&ranks[r].thread, NULL, run_rank, &ranks[r]), 0);
    }
    for (uint32_t r = 0; r < size; r++) pthread_join(ranks[r].thread, NULL);
    for (uint32_t r = 0; r < size; r++)
        if (ranks[r].wrong) fail_msg("rank %u of %u: %s", r, size, ranks[r].wrong);
}

static void run_all_sizes(const char *(*job)(fm_transport *transport))
{
    for (uint32_t size = 1; size <= MOST_RANKS; size++) {
        fm_local_cluster *cluster;
        assert_int_equal(fm_local_cluster_create(&cluster, size, NULL), FM_OK);
        run_in(cluster, size, job);
        fm_local_cluster_destroy(cluster);
    }
    fm_local_cluster_destroy(NULL);
}

/* ---- messages ---- */

/* What a rank says in a round. */
static uint64_t word(uint32_t from, uint32_t to, uint64_t round)
{
    return (uint64_t)from << 48 | (uint64_t)to << 32 | round;
}

/* A number goes up the ranks, each adds its own. */
static const char *pass_along(fm_transport *transport)
{
    const uint32_t rank = transport->rank;
    for (uint64_t round = 0; round < ROUNDS; round++) {
        uint64_t sum = round;
        if (rank > 0 && transport->receive(transport, rank - 1, &sum, sizeof sum, NULL)) return "receive";
        if (sum != round + (uint64_t)rank * (rank + 1) / 2 - rank) return "a wrong sum";
        sum += rank;
        if (rank + 1 < transport->size && transport->send(transport, rank + 1, &sum, sizeof sum, NULL))
            return "send";
        if (rank > 0 && transport->receive(transport, rank - 1, NULL, 0, NULL)) return "an empty message";
        if (rank + 1 < transport->size && transport->send(transport, rank + 1, NULL, 0, NULL))
            return "sending an empty message";
    }
    return NULL;
}

CASE(test_send_and_receive)
{
    run_all_sizes(pass_along);
}

/* Everybody with everybody at the same time, itself included; sizes differ from round to round. */
static const char *exchange_round(fm_transport *transport)
{
    const uint32_t rank = transport->rank, size = transport->size;
    for (uint64_t round = 0; round < ROUNDS; round++) {
        const uint32_t to = (uint32_t)((rank + round) % size);
        const uint32_t from = (uint32_t)((rank + size - round % size) % size);
        uint64_t out[5], in[5];
        const size_t count = 1 + round % 5;
        for (size_t i = 0; i < count; i++) out[i] = word(rank, to, round + i);
        if (transport->exchange(transport, to, out, count * sizeof *out, from, in, count * sizeof *in, NULL))
            return "exchange";
        for (size_t i = 0; i < count; i++)
            if (in[i] != word(from, rank, round + i)) return "a wrong word was exchanged";
    }
    return NULL;
}

CASE(test_exchange)
{
    run_all_sizes(exchange_round);
}

static const char *gather_and_sum(fm_transport *transport)
{
    for (uint64_t round = 0; round < ROUNDS / 4; round++) {
        uint64_t mine[2] = {transport->rank, round}, all[2 * MOST_RANKS], sums[2] = {transport->rank, round};
        if (transport->gather(transport, mine, sizeof mine, all, NULL)) return "gather";
        for (uint32_t r = 0; r < transport->size; r++)
            if (all[2 * r] != r || all[2 * r + 1] != round) return "gather: a wrong word";
        if (fm_transport_sum(transport, sums, 2, NULL)) return "sum";
        if (sums[0] != (uint64_t)transport->size * (transport->size - 1) / 2) return "a wrong sum of ranks";
        if (sums[1] != round * transport->size) return "a wrong sum of rounds";
    }
    return NULL;
}

CASE(test_gather_and_sum)
{
    run_all_sizes(gather_and_sum);
}

/* Rank r has (r + to) % 4 words for each other one: none for some. */
static const char *exchange_all(fm_transport *transport)
{
    const uint32_t rank = transport->rank, size = transport->size;
    uint64_t out[4 * MOST_RANKS], out_begin[MOST_RANKS + 1] = {0}, in_begin[MOST_RANKS + 1];
    for (uint32_t to = 0; to < size; to++) {
        out_begin[to + 1] = out_begin[to] + (rank + to) % 4;
        for (uint64_t i = out_begin[to]; i < out_begin[to + 1]; i++)
            out[i] = word(rank, to, i - out_begin[to]);
    }
    void *in = NULL;
    if (fm_transport_exchange_all(transport, sizeof *out, out, out_begin, &in, in_begin, NULL))
        return "exchange_all";
    const uint64_t *words = in;
    const char *wrong = in_begin[0] == 0 ? NULL : "a wrong beginning";
    for (uint32_t from = 0; from < size && !wrong; from++) {
        if (in_begin[from + 1] - in_begin[from] != (from + rank) % 4) wrong = "a wrong number of words";
        for (uint64_t i = in_begin[from]; i < in_begin[from + 1] && !wrong; i++)
            if (words[i] != word(from, rank, i - in_begin[from])) wrong = "a wrong word";
    }
    free(in);
    return wrong;
}

CASE(test_exchange_all)
{
    run_all_sizes(exchange_all);
}

/* ---- failure ---- */

/* The parentheses keep cmocka's macro of that name away. */
static void give_up(fm_transport *transport, const fm_error *error)
{
    (transport->fail)(transport, error);
}

/* Rank 0 gives up; each of the others waits for it, or for one that waits, in a way of its own. */
static const char *wait_in_vain(fm_transport *transport)
{
    const uint32_t last =
        transport->size > 4 ? transport->size - 1 : 0; /* not rank 3 itself: it would not wait */
    uint64_t numbers[MOST_RANKS] = {0};
    fm_error error = {0};
    fm_status status = FM_OK;
    switch (transport->rank) {
    case 0:
        error = (fm_error){.status = FM_E_LIMIT, .reason = "rank 0 has had enough"};
        give_up(transport, &error);
        return NULL;
    case 1:
        status = transport->receive(transport, 0, numbers, sizeof *numbers, &error);
        break;
    case 2:
        status = transport->send(transport, 0, numbers, sizeof *numbers, &error);
        break;
    case 3:
        status = transport->exchange(transport, last, numbers, sizeof *numbers, last, numbers,
                                     sizeof *numbers, &error);
        break;
    default:
        status = transport->gather(transport, numbers, sizeof *numbers, numbers, &error);
    }
    if (status != FM_E_LIMIT || error.status != FM_E_LIMIT) return "it was not told of the failure";
    if (strcmp(error.reason, "rank 0 has had enough") != 0) return "it was not told the reason";
    return transport->send(transport, 0, numbers, 0, NULL) ? NULL : "it could go on after a failure";
}

CASE(test_failure)
{
    for (uint32_t size = 2; size <= MOST_RANKS; size++) {
        for (int again = 0; again < 20; again++) {
            fm_local_cluster *cluster;
            assert_int_equal(fm_local_cluster_create(&cluster, size, NULL), FM_OK);
            run_in(cluster, size, exchange_all);
            run_in(cluster, size, wait_in_vain);
            fm_local_cluster_destroy(cluster);
        }
    }
}

/* Who fails first is whose reason counts. */
CASE(test_first_reason)
{
    fm_local_cluster *cluster;
    assert_int_equal(fm_local_cluster_create(&cluster, 3, NULL), FM_OK);
    const fm_error first = {.status = FM_E_IO, .reason = "first"};
    const fm_error second = {.status = FM_E_NOMEM, .reason = "second"};
    fm_transport *one = fm_local_cluster_rank(cluster, 1), *two = fm_local_cluster_rank(cluster, 2);
    give_up(one, &first);
    give_up(two, &second);
    fm_error error = {0};
    uint64_t number;
    assert_int_equal(two->receive(two, 0, &number, sizeof number, &error), FM_E_IO);
    assert_string_equal(error.reason, "first");
    fm_local_cluster_destroy(cluster);
}
