/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parallel_plan.c - who does what next. Everything here runs under the crew's lock, but run.
 *
 * Steps of a phase go before pieces of the next one: they are what the others wait for.
 */
#include "engine/parallel.h"

enum { PIECE, STEP }; /* kinds of jobs */

/* A phase begins when enough pieces in a row are done; when nothing more comes, with those there are. */
static void begin_phase(fm_parallel *self)
{
    const uint64_t waiting = self->filled - self->retired;
    size_t ready = 0;
    while (ready < self->pieces_a_phase && ready < waiting && fm_phase_piece(self, ready)->done) ready++;
    if (ready < self->pieces_a_phase && !(self->flushing && ready == waiting)) return;
    self->phase_count = ready;
    self->step = 0;
    self->tasks = self->tasks_begun = self->tasks_done = 0;
}

static void retire(fm_parallel *self, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        fm_piece *piece = fm_phase_piece(self, i);
        piece->done = false;
        piece->count = 0;
    }
    self->retired += count;
    self->phase_count = 0;
}

/* The next step that has something to do; the phase is over after the last. */
static void next_step(fm_parallel *self)
{
    while (self->phase_count > 0 && self->tasks_done == self->tasks) {
        if (self->step == fm_phase_step_count) {
            retire(self, self->phase_count);
            break;
        }
        self->tasks = fm_phase_steps[self->step++].tasks(self);
        self->tasks_begun = self->tasks_done = 0;
    }
}

static bool claim(void *context, fm_job *job)
{
    fm_parallel *self = context;
    if (self->phase_count == 0) {
        begin_phase(self);
        next_step(self);
    }
    if (self->phase_count > 0 && self->tasks_begun < self->tasks) {
        *job = (fm_job){.kind = STEP, .task = self->tasks_begun++};
        return true;
    }
    if (self->claimed == self->filled) return false;
    *job = (fm_job){.kind = PIECE, .task = (size_t)(self->claimed++ % self->piece_count)};
    return true;
}

static void run(void *context, fm_job job, unsigned worker)
{
    fm_parallel *self = context;
    if (job.kind == PIECE)
        fm_piece_analyze(self, &self->pieces[job.task], &self->workers[worker]);
    else
        fm_phase_steps[self->step - 1].run(self, job.task, &self->workers[worker]);
}

static void complete(void *context, fm_job job)
{
    fm_parallel *self = context;
    if (job.kind == PIECE) {
        self->pieces[job.task].done = true;
        return;
    }
    self->tasks_done++;
    next_step(self);
}

const fm_crew_work fm_parallel_work = {.claim = claim, .run = run, .complete = complete};
