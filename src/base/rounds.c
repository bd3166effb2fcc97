/* SPDX-License-Identifier: Apache-2.0 */
/* rounds.c - see rounds.h. */
#include "base/rounds.h"

#include "base/crew.h"
#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>

struct fm_rounds {
    fm_crew *crew;
    /* The round; under the crew's lock, but for the first two, which only change between rounds. */
    fm_round_task task;
    void *context;
    size_t tasks, begun, done;
};

static bool claim(void *context, fm_crew_job *job)
{
    fm_rounds *rounds = context;
    if (rounds->begun == rounds->tasks) return false;
    *job = (fm_crew_job){.task = rounds->begun++};
    return true;
}

static void run(void *context, fm_crew_job job, unsigned worker)
{
    (void)worker;
    const fm_rounds *rounds = context;
    rounds->task(rounds->context, job.task);
}

static void complete(void *context, fm_crew_job job)
{
    (void)job;
    ((fm_rounds *)context)->done++;
}

static bool all_done(void *context)
{
    const fm_rounds *rounds = context;
    return rounds->done == rounds->tasks;
}

fm_status fm_rounds_create(fm_rounds **rounds, unsigned workers, fm_error *error)
{
    static const fm_crew_work work = {.claim = claim, .run = run, .complete = complete};
    fm_rounds *self = *rounds = fm_calloc(1, sizeof *self);
    if (!self) return fm_fail_memory(error, sizeof *self, "threads");
    fm_status status = fm_crew_create(&self->crew, workers ? workers : 1, &work, self, error);
    if (status == FM_OK) return FM_OK;
    free(self);
    *rounds = NULL;
    return status;
}

unsigned fm_rounds_workers(const fm_rounds *rounds)
{
    return fm_crew_size(rounds->crew);
}

void fm_rounds_destroy(fm_rounds *rounds)
{
    if (!rounds) return;
    fm_crew_destroy(rounds->crew);
    free(rounds);
}

void fm_rounds_run(fm_rounds *rounds, fm_round_task task, void *context, size_t tasks)
{
    fm_crew_lock(rounds->crew);
    rounds->task = task;
    rounds->context = context;
    rounds->tasks = tasks;
    rounds->begun = rounds->done = 0;
    fm_crew_call(rounds->crew);
    fm_crew_unlock(rounds->crew);
    fm_crew_help(rounds->crew, all_done);
}
