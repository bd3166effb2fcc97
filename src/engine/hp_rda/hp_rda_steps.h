/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hp_rda_steps.h - the steps of HP-RDA (hp_rda.h), one thread's share each. Compiled as C for CPU threads and
 * as CUDA for a graphics card: what differs is how memory is read and changed by many threads at once, a few
 * macros that the including file defines:
 *
 *     HP_STEP               how functions are declared
 *     HP_READ(place)        reads a uint32_t that others publish, and all that was written before it
 *     HP_SWAP(place, a, b)  if it is a, makes it b, publishing what was written before; returns what it was
 *     HP_ADD(place, n)      adds to a uint32_t, returns what it was
 *     HP_COUNT(place, n)    adds to a uint64_t
 *     HP_ONES(word)         bits set in a uint32_t
 *
 * The data structures are the paper's (figure 5): hash nodes, each with a list of access infos, one per
 * thread-level trace that referenced the block; and the same again one level up, one per thread block. Nodes
 * and infos come from pools, by adding to a counter (IV-B). A local array says which reference of a
 * thread-level trace is the latest to its block: of each entry only whether it is zero is ever looked at, so
 * it is one bit here.
 *
 * What comes out does not depend on who is first: lists are sorted before they are read.
 */
#ifndef FATHOM_ENGINE_HP_RDA_HP_RDA_STEPS_H
#define FATHOM_ENGINE_HP_RDA_HP_RDA_STEPS_H

#include "engine/hp_rda/hp_rda.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Numbers of nodes and infos are one more than their place in the pool; 0 is none. */
typedef struct hp_node {
    uint64_t block;
    uint32_t infos; /* the list */
    uint32_t next;  /* of the same entry of the hash table */
} hp_node;

typedef struct hp_info {
    uint32_t owner;         /* which trace */
    uint32_t first, latest; /* while the trace is analysed, latest is the place of the last reference */
    uint32_t distance;      /* to the reference before, in an earlier trace; HP_NONE: there is none */
    uint32_t next;
} hp_info;

#define HP_NONE UINT32_MAX

/* A hash table with its pools. */
typedef struct hp_table {
    uint32_t *heads;
    uint32_t buckets;
    hp_node *nodes;
    hp_info *infos;
    uint32_t room;  /* of each pool */
    uint32_t *used; /* [0] of nodes, [1] of infos; may count past room */
} hp_table;

/* Everything about one trace. */
typedef struct hp_work {
    const uint64_t *trace;
    uint32_t count;
    uint32_t thread_trace, threads, blocks; /* threads: in a block */
    bool adjust;
    /* A part of each for every thread block: */
    hp_table local;          /* of block 0; the others follow */
    uint32_t *bits;          /* thread_words() for each thread */
    uint32_t *distances;     /* [block][distance]: counts of thread-level distances */
    uint32_t *thread_prefix; /* [block][threads + 1]: distinct blocks of the thread-level traces before */
    uint32_t *block_counts;  /* distinct blocks of each thread block's trace */
    /* One level up: */
    hp_table top;
    uint32_t *block_prefix; /* [blocks + 1]: sums of block_counts */
    uint32_t *distinct;     /* of the trace */
    uint32_t *failed;       /* not 0: a pool was too small */
} hp_work;

HP_STEP uint32_t hp_thread_words(const hp_work *work)
{
    return (work->thread_trace + 31) / 32;
}

HP_STEP hp_table hp_table_of_block(const hp_work *work, uint32_t block)
{
    hp_table table = work->local;
    table.heads += (uint64_t)block * table.buckets;
    table.nodes += (uint64_t)block * table.room;
    table.infos += (uint64_t)block * table.room;
    table.used += 2 * (uint64_t)block;
    return table;
}

HP_STEP uint32_t hp_bucket(const hp_table *table, uint64_t block)
{
    uint64_t hash = block * UINT64_C(0x9E3779B97F4A7C15);
    hash ^= hash >> 32;
    hash *= UINT64_C(0xD6E8FEB86659FD93);
    return (uint32_t)((hash >> 32) * table->buckets >> 32);
}

/* NOLINTNEXTLINE(readability-non-const-parameter): HP_ADD changes it */
HP_STEP uint32_t hp_allocate(uint32_t *used, uint32_t room, uint32_t *failed)
{
    const uint32_t place = HP_ADD(used, 1);
    if (place < room) return place + 1;
    *failed = 1;
    return 0;
}

/* The node of a block, made where there is none; 0: the pool is used up. Lock-free: a new node is put before
 * what the entry had, and if that changed in the meantime, what was added is searched first. */
HP_STEP uint32_t hp_find_node(const hp_table *table, uint64_t block, uint32_t *failed)
{
    uint32_t *const head = &table->heads[hp_bucket(table, block)];
    uint32_t top = HP_READ(head), searched = 0, made = 0;
    for (;;) {
        for (uint32_t number = top; number != searched; number = table->nodes[number - 1].next)
            if (table->nodes[number - 1].block == block)
                return number; /* one that was made for nothing stays unused */
        searched = top;
        if (!made) {
            made = hp_allocate(&table->used[0], table->room, failed);
            if (!made) return 0;
            table->nodes[made - 1].block = block;
            table->nodes[made - 1].infos = 0;
        }
        table->nodes[made - 1].next = top;
        const uint32_t was = HP_SWAP(head, top, made);
        if (was == top) return made;
        top = was;
    }
}

/* The info of one owner, which nobody else adds to the node; 0: there is none. */
HP_STEP uint32_t hp_find_info(const hp_table *table, uint32_t node, uint32_t owner)
{
    uint32_t number = HP_READ(&table->nodes[node - 1].infos);
    while (number != 0 && table->infos[number - 1].owner != owner) number = table->infos[number - 1].next;
    return number;
}

HP_STEP void hp_add_info(const hp_table *table, uint32_t node, uint32_t owner, uint32_t first,
                         uint32_t latest, uint32_t *failed)
{
    const uint32_t made = hp_allocate(&table->used[1], table->room, failed);
    if (!made) return;
    hp_info *info = &table->infos[made - 1];
    info->owner = owner;
    info->first = first;
    info->latest = latest;
    info->distance = HP_NONE;
    uint32_t *const head = &table->nodes[node - 1].infos;
    uint32_t top = HP_READ(head);
    for (;;) {
        info->next = top;
        const uint32_t was = HP_SWAP(head, top, made);
        if (was == top) return;
        top = was;
    }
}

/* Bits set after place `from` and before place `to`. */
HP_STEP uint32_t hp_ones_between(const uint32_t *bits, uint32_t from, uint32_t to)
{
    uint32_t word = (from + 1) / 32, sum = 0;
    const uint32_t last = to / 32;
    uint32_t mask = UINT32_MAX << (from + 1) % 32;
    for (; word < last; word++) {
        sum += HP_ONES(bits[word] & mask);
        mask = UINT32_MAX;
    }
    return to % 32 == 0 ? sum : sum + HP_ONES(bits[last] & mask & ((UINT32_C(1) << to % 32) - 1));
}

/* Step 1, section III-C: the thread-level trace of one thread. */
HP_STEP void hp_analyze_thread(const hp_work *work, uint32_t block, uint32_t thread)
{
    const uint64_t all = (uint64_t)block * work->threads + thread, start = all * work->thread_trace;
    uint32_t *const distinct =
        &work->thread_prefix[block * (work->threads + 1) + thread + 1]; /* summed up later */
    *distinct = 0;
    if (start >= work->count) return;
    const uint32_t length =
        work->count - start < work->thread_trace ? (uint32_t)(work->count - start) : work->thread_trace;
    const hp_table table = hp_table_of_block(work, block);
    const uint64_t *const trace = work->trace + start;
    uint32_t *const bits = work->bits + all * hp_thread_words(work);
    uint32_t *const distances = work->distances + (uint64_t)block * work->thread_trace;
    uint32_t count = 0;
    for (uint32_t word = 0; word < hp_thread_words(work); word++) bits[word] = 0;
    for (uint32_t i = 0; i < length; i++) {
        const uint32_t node = hp_find_node(&table, trace[i], work->failed);
        if (!node) return;
        const uint32_t number = hp_find_info(&table, node, thread);
        if (number) {
            hp_info *info = &table.infos[number - 1];
            (void)HP_ADD(&distances[hp_ones_between(bits, info->latest, i)], 1);
            bits[info->latest / 32] &= ~(UINT32_C(1) << info->latest % 32);
            info->latest = i;
        } else {
            hp_add_info(&table, node, thread, count, i, work->failed);
            if (*work->failed) return;
            count++;
        }
        bits[i / 32] |= UINT32_C(1) << i % 32;
    }
    /* From places to numbers of distinct blocks. */
    uint32_t after = 0;
    for (uint32_t i = length; i-- > 0;) {
        if (!(bits[i / 32] >> i % 32 & 1)) continue;
        const uint32_t node = hp_find_node(&table, trace[i], work->failed);
        table.infos[hp_find_info(&table, node, thread) - 1].latest = after++;
    }
    *distinct = count;
}

/* Between steps 1 and 2, once for each thread block. */
HP_STEP void hp_sum_threads(const hp_work *work, uint32_t block)
{
    uint32_t *const prefix = &work->thread_prefix[block * (work->threads + 1)];
    prefix[0] = 0;
    for (uint32_t thread = 0; thread < work->threads; thread++) prefix[thread + 1] += prefix[thread];
    work->block_counts[block] = 0;
}

/* The list in order of owners: merge sort, runs of 1, 2, 4, …. */
HP_STEP uint32_t hp_sort_infos(hp_info *infos, uint32_t list)
{
    for (uint32_t run = 1;; run *= 2) {
        uint32_t left = list, end = 0, merges = 0;
        list = 0;
        while (left) {
            uint32_t right = left, left_size = 0, right_size = run;
            merges++;
            while (left_size < run && right) {
                left_size++;
                right = infos[right - 1].next;
            }
            while (left_size > 0 || (right_size > 0 && right)) {
                uint32_t take;
                if (left_size > 0 &&
                    (right_size == 0 || !right || infos[left - 1].owner < infos[right - 1].owner)) {
                    take = left;
                    left = infos[left - 1].next;
                    left_size--;
                } else {
                    take = right;
                    right = infos[right - 1].next;
                    right_size--;
                }
                if (end)
                    infos[end - 1].next = take;
                else
                    list = take;
                end = take;
            }
            left = right;
        }
        if (end) infos[end - 1].next = 0;
        if (merges <= 1) return list;
    }
}

/* Section III-D: the infos of one block, in order. Formula 1 gives distances between consecutive ones; *first
 * and *latest are those of all the traces together. prefix: distinct blocks of the traces before each, and of
 * all. */
HP_STEP void hp_merge_node(hp_node *node, hp_info *infos, const uint32_t *prefix, uint32_t owners,
                           uint32_t *first, uint32_t *latest)
{
    node->infos = hp_sort_infos(infos, node->infos);
    uint32_t number = node->infos;
    const hp_info *before = &infos[number - 1];
    *first = prefix[before->owner] + before->first;
    while ((number = before->next) != 0) {
        hp_info *info = &infos[number - 1];
        info->distance = before->latest + (prefix[info->owner] - prefix[before->owner + 1]) + info->first;
        before = info;
    }
    *latest = before->latest + (prefix[owners] - prefix[before->owner + 1]);
}

HP_STEP uint32_t hp_adjust(uint32_t distance, uint64_t distinct, uint64_t sum)
{
    return distance > distinct && sum > 0 ? (uint32_t)(distance * distinct / sum) : distance;
}

/* The thread-level traces of a block before a node: how many nodes, in the pool. */
HP_STEP uint32_t hp_nodes(const hp_table *table)
{
    return table->used[0] < table->room ? table->used[0] : table->room;
}

/* Step 2: a node of a thread block's table. Its distances are counted with the effective factor of the
 * block's trace in step 4; what the block's trace says about the node goes one level up. */
HP_STEP void hp_merge_threads(const hp_work *work, uint32_t block, uint32_t place)
{
    const hp_table table = hp_table_of_block(work, block);
    hp_node *node = &table.nodes[place];
    if (!node->infos) return; /* made for nothing: somebody else was faster */
    uint32_t first, latest;
    hp_merge_node(node, table.infos, &work->thread_prefix[block * (work->threads + 1)], work->threads, &first,
                  &latest);
    (void)HP_ADD(&work->block_counts[block], 1);
    const uint32_t above = hp_find_node(&work->top, node->block, work->failed);
    if (above) hp_add_info(&work->top, above, block, first, latest, work->failed);
}

/* Between steps 2 and 3, once. */
HP_STEP void hp_sum_blocks(const hp_work *work)
{
    work->block_prefix[0] = 0;
    for (uint32_t block = 0; block < work->blocks; block++)
        work->block_prefix[block + 1] = work->block_prefix[block] + work->block_counts[block];
    *work->distinct = 0;
}

/* Step 3: a node of the top table. What the whole trace says about the block goes to *first and *latest;
 * false: the node was made for nothing. */
HP_STEP bool hp_merge_blocks(const hp_work *work, uint32_t place, uint32_t *first, uint32_t *latest)
{
    hp_node *node = &work->top.nodes[place];
    if (!node->infos) return false;
    /* What thread blocks say was counted thread by thread: no more than the blocks they have. */
    if (work->adjust)
        for (uint32_t number = node->infos; number; number = work->top.infos[number - 1].next) {
            hp_info *info = &work->top.infos[number - 1];
            const uint32_t distinct = work->block_counts[info->owner];
            const uint32_t sum = work->thread_prefix[info->owner * (work->threads + 1) + work->threads];
            info->first = hp_adjust(info->first, distinct, sum);
            info->latest = hp_adjust(info->latest, distinct, sum);
        }
    hp_merge_node(node, work->top.infos, work->block_prefix, work->blocks, first, latest);
    return true;
}

/* Step 4, section III-E: the distance of an info of a thread block's table, or of the top one; HP_NONE: none.
 */
HP_STEP uint32_t hp_final_local(const hp_work *work, uint32_t block, uint32_t place)
{
    const hp_table table = hp_table_of_block(work, block);
    const uint32_t distance = table.infos[place].distance;
    if (distance == HP_NONE || !work->adjust) return distance;
    return hp_adjust(distance, work->block_counts[block],
                     work->thread_prefix[block * (work->threads + 1) + work->threads]);
}

HP_STEP uint32_t hp_final_top(const hp_work *work, uint32_t place)
{
    const uint32_t distance = work->top.infos[place].distance;
    if (distance == HP_NONE || !work->adjust) return distance;
    return hp_adjust(distance, *work->distinct, work->block_prefix[work->blocks]);
}

/*
 * ==== plan ====
 *
 * How a trace is cut for HP-RDA, and which arrays its analysis needs: for the CPU and for the
 * card, so that both have the same. Needs the macros of hp_rda_steps.h.
 */

/* Hash table and pools are shared out among all thread blocks of a whole trace; a shorter one has fewer
 * blocks, and as much less of both. */
static inline hp_work hp_plan(const fm_hp_rda_shape *shape, size_t count)
{
    hp_work work;
    memset(&work, 0, sizeof work);
    work.count = (uint32_t)count;
    work.thread_trace = shape->thread_trace;
    work.threads = FM_HP_RDA_THREADS;
    work.adjust = shape->adjust;
    const uint64_t block_trace = (uint64_t)work.threads * work.thread_trace;
    const uint32_t all_blocks = (uint32_t)((shape->trace + block_trace - 1) / block_trace);
    work.blocks = (uint32_t)((count + block_trace - 1) / block_trace);
    work.local.buckets = shape->hash / all_blocks ? shape->hash / all_blocks : 1;
    work.local.room = shape->pool / all_blocks ? shape->pool / all_blocks : 1;
    work.top.buckets = work.local.buckets * work.blocks;
    work.top.room = work.local.room * work.blocks;
    return work;
}

/* Called for every array. Those that must be zero at the beginning come first; zeroed: whether it is one of
 * them. */
typedef void (*hp_array_visitor)(void *context, void **array, size_t bytes, bool zeroed);

static inline void hp_for_each_array(hp_work *work, hp_array_visitor visit, void *context)
{
    const size_t blocks = work->blocks, word = sizeof(uint32_t);
    visit(context, (void **)&work->local.heads, blocks * work->local.buckets * word, true);
    visit(context, (void **)&work->local.used, blocks * 2 * word, true);
    visit(context, (void **)&work->distances, blocks * work->thread_trace * word, true);
    visit(context, (void **)&work->top.heads, work->top.buckets * word, true);
    visit(context, (void **)&work->top.used, 2 * word, true);
    visit(context, (void **)&work->failed, word, true);
    visit(context, (void **)&work->local.nodes, blocks * work->local.room * sizeof(hp_node), false);
    visit(context, (void **)&work->local.infos, blocks * work->local.room * sizeof(hp_info), false);
    visit(context, (void **)&work->bits, blocks * work->threads * ((work->thread_trace + 31) / 32) * word,
          false);
    visit(context, (void **)&work->thread_prefix, blocks * (work->threads + 1) * word, false);
    visit(context, (void **)&work->block_counts, blocks * word, false);
    visit(context, (void **)&work->top.nodes, work->top.room * sizeof(hp_node), false);
    visit(context, (void **)&work->top.infos, work->top.room * sizeof(hp_info), false);
    visit(context, (void **)&work->block_prefix, (blocks + 1) * word, false);
    visit(context, (void **)&work->distinct, word, false);
}

#endif
