/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parallel_plan.c - who does what next. Everything here runs under the crew's lock, but run.
 *
 * Up to two phases are under way: while the window of one is worked off, the table of the next is. Steps of
 * the older go first, then those of the younger, then pieces of the one after: what others wait for the most
 * comes first. Pieces that are handed in go before those that are drawn. Only where all that is left is dealt
 * out, a piece for each thread, these go first: who begins one late ends late, and phases can be worked off
 * by those who end early.
 */
#include "engine/parallel/parallel.h"

enum { PIECE = 2 }; /* kinds of jobs: below it, a step of phases[kind] */

static fm_parallel_phase *phase_of(fm_parallel *self, uint64_t number)
{
    return &self->phases[number % 2];
}

void fm_parallel_retire(fm_parallel *self, size_t pieces)
{
    for (size_t i = 0; i < pieces; i++) {
        fm_piece *piece = &self->pieces[self->retired++ % self->piece_count];
        /* The arrays that were used last serve the next piece, whichever it is. */
        if (piece->drawn && piece->room > 0 && self->spare_count < self->piece_count)
            fm_piece_move_arrays(self, &self->spare[self->spare_count++], piece);
        piece->done = piece->drawn = false;
        piece->count = 0;
    }
}

/* Phases go through the steps; one that is over makes way for the next. */
static void plan_advance(fm_parallel *self)
{
    for (uint64_t number = self->ended; number < self->begun; number++) {
        fm_parallel_phase *phase = phase_of(self, number);
        while (phase->tasks_done == phase->tasks && phase->step < fm_phase_step_count) {
            const fm_phase_step *step = &fm_phase_steps[phase->step];
            const size_t tasks = step->tasks(self, phase);
            if (tasks > 0 && step->after_previous && number != self->ended) break;
            phase->tasks = tasks;
            phase->tasks_begun = phase->tasks_done = 0;
            phase->step++;
        }
        if (phase->tasks_done < phase->tasks || phase->step < fm_phase_step_count) continue;
        self->settled += phase->count;
        self->ended++;
        if (self->delivering)
            fm_crew_call(self->crew); /* the one who feeds waits for them */
        else
            fm_parallel_retire(self, phase->count);
    }
}

/* The phase before has left the tables alone. */
static bool may_begin(fm_parallel *self)
{
    if (self->begun == self->ended) return true;
    if (self->begun - self->ended == 2) return false;
    const fm_parallel_phase *before = phase_of(self, self->begun - 1);
    for (unsigned step = before->step; step < fm_phase_step_count; step++)
        if (fm_phase_steps[step].lets_next_begin) return false;
    return !fm_phase_steps[before->step - 1].lets_next_begin || before->tasks_done == before->tasks;
}

static bool is_whole(const fm_piece *piece)
{
    return piece->drawn && !piece->by_parts;
}

/* A phase begins when enough pieces of one kind in a row are done; when no more of them come, with those
 * there are. */
static bool begin_phase(fm_parallel *self)
{
    if (!may_begin(self)) return false;
    const fm_parallel_phase *before = phase_of(self, self->begun + 1);
    fm_parallel_phase next = {.first =
                                  self->begun == self->ended ? self->settled : before->first + before->count};
    const bool whole = is_whole(fm_parallel_phase_piece(self, &next, 0));
    const size_t enough = whole ? self->pieces_a_phase_drawn : self->pieces_a_phase;
    bool more = true;
    while (next.count < self->pieces_a_phase && next.first + next.count < self->filled) {
        const fm_piece *piece = fm_parallel_phase_piece(self, &next, next.count);
        more = is_whole(piece) == whole;
        if (!more || !piece->done) break;
        next.count++;
    }
    const bool flushing = self->flushing || (self->delivering && self->dry && self->drawing == 0);
    const bool all = !more || (flushing && next.first + next.count == self->filled);
    if (next.count == 0 || (next.count < enough && !all)) return false;
    *phase_of(self, self->begun++) = next;
    return true;
}

/* The one that was counted last. */
static bool claim_piece(const fm_parallel *self, fm_job *job)
{
    *job = (fm_job){.kind = PIECE, .task = (size_t)((self->claimed - 1) % self->piece_count)};
    return true;
}

static bool plan_claim(void *context, fm_job *job)
{
    fm_parallel *self = context;
    while (begin_phase(self)) plan_advance(self);
    if (self->shared_out && self->claimed == self->filled && fm_parallel_claim_drawn(self))
        return claim_piece(self, job);
    for (uint64_t number = self->ended; number < self->begun; number++) {
        fm_parallel_phase *phase = phase_of(self, number);
        if (phase->tasks_begun == phase->tasks) continue;
        *job = (fm_job){.kind = (unsigned)(number % 2), .task = phase->tasks_begun++};
        return true;
    }
    const bool dry = self->dry;
    if (self->claimed < self->filled)
        self->claimed++;
    else if (!fm_parallel_claim_drawn(self)) /* in order, a phase may begin now that nothing more comes */
        return self->delivering && self->dry && !dry ? plan_claim(self, job) : false;
    return claim_piece(self, job);
}

static void plan_run(void *context, fm_job job, unsigned worker)
{
    fm_parallel *self = context;
    if (job.kind == PIECE) {
        fm_piece *piece = &self->pieces[job.task];
        if (piece->drawn)
            fm_piece_draw(self, piece, worker);
        else
            fm_piece_analyze(self, piece, &self->workers[worker]);
        return;
    }
    fm_parallel_phase *phase = &self->phases[job.kind];
    fm_phase_steps[phase->step - 1].run(self, phase, job.task, &self->workers[worker]);
}

static void plan_complete(void *context, fm_job job)
{
    fm_parallel *self = context;
    if (job.kind == PIECE) {
        fm_piece *piece = &self->pieces[job.task];
        piece->done = true;
        if (piece->drawn) fm_parallel_judge_drawn(self, piece);
        return;
    }
    self->phases[job.kind].tasks_done++;
    plan_advance(self);
}

const fm_crew_work fm_parallel_work = {.claim = plan_claim, .run = plan_run, .complete = plan_complete};
