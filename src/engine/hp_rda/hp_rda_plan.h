/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hp_rda_plan.h - how a trace is cut for HP-RDA, and which arrays its analysis needs: for the CPU and for the
 * card, so that both have the same. Needs the macros of hp_rda_steps.h.
 */
#ifndef FATHOM_ENGINE_HP_RDA_PLAN_H
#define FATHOM_ENGINE_HP_RDA_PLAN_H

#include "engine/hp_rda/hp_rda.h"
#include "engine/hp_rda/hp_rda_steps.h"

#include <string.h>

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
