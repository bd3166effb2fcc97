/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample_heap.c - takes what programs tell of their heaps out of the shared memory, puts it into the order in
 * which it happened, and hands it to the maps of the processes.
 */
#include "sample/sampled_run_state.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* One of the cells that were full. */
typedef struct told {
    uint64_t time;
    const fm_sample_allocation *allocation; /* NULL: a block was freed */
    uint64_t address;
    uint32_t serial;
} told;

static int by_time(const void *a, const void *b)
{
    const told *x = a, *y = b;
    if (x->time != y->time) return x->time < y->time ? -1 : 1;
    return (x->allocation != NULL) - (y->allocation != NULL); /* a place is free before it is used again */
}

static fm_sample_heap *heap_of(const fm_sampled_run *run)
{
    return (fm_sample_heap *)(void *)((char *)run->memory.session + fm_sample_heap_offset());
}

/* all, copies: room for as many as there are cells. */
static void collect(fm_sampled_run *run, told *all, fm_sample_allocation *copies, size_t *count)
{
    fm_sample_heap *shared = heap_of(run);
    *count = 0;
    for (size_t i = 0; i < FM_SAMPLE_FREES; i++) {
        fm_sample_free *cell = &shared->frees[i];
        if (__atomic_load_n(&cell->state, __ATOMIC_ACQUIRE) != FM_SAMPLE_CELL_FULL) continue;
        const fm_sample_free copy = *cell;
        all[(*count)++] = (told){copy.time, NULL, copy.address, copy.serial};
        __atomic_store_n(&cell->state, FM_SAMPLE_CELL_FREE, __ATOMIC_RELEASE);
    }
    for (size_t i = 0; i < FM_SAMPLE_ALLOCATIONS; i++) {
        fm_sample_allocation *cell = &shared->allocations[i];
        if (__atomic_load_n(&cell->state, __ATOMIC_ACQUIRE) != FM_SAMPLE_CELL_FULL) continue;
        memcpy(&copies[i], cell, sizeof *cell);
        all[(*count)++] = (told){copies[i].time, &copies[i], copies[i].address, copies[i].serial};
        __atomic_store_n(&cell->state, FM_SAMPLE_CELL_FREE, __ATOMIC_RELEASE);
    }
}

static fm_sampled_process *process_numbered(fm_sampled_run *run, uint32_t serial)
{
    fm_sampled_process *found = NULL;
    pthread_mutex_lock(&run->lock);
    for (size_t i = run->process_count; i-- > 0 && !found && serial;)
        if (run->processes[i]->serial == serial) found = run->processes[i];
    pthread_mutex_unlock(&run->lock);
    return found;
}

/* What a process told of itself, and what it has of its parent. */
static fm_status look_at_processes(fm_sampled_run *run, fm_error *error)
{
    fm_status status = FM_OK;
    for (size_t i = 0; i < FM_SAMPLE_PROCESSES && status == FM_OK; i++) {
        fm_sample_process *shared = &run->memory.session->processes[i];
        if (__atomic_load_n(&shared->state, __ATOMIC_ACQUIRE) != FM_SAMPLE_OPEN) continue;
        fm_sampled_process *process =
            process_numbered(run, __atomic_load_n(&shared->serial, __ATOMIC_RELAXED));
        if (!process) continue;
        if (process->parent) {
            fm_sampled_process *parent = process_numbered(run, process->parent);
            if (parent && parent != process)
                status = fm_sampled_memory_fork(&process->memory, &parent->memory, error);
            process->parent = 0; /* once */
        }
        process->heap_seen |= __atomic_load_n(&shared->heap_seen, __ATOMIC_RELAXED) != 0;
        const uint32_t lost = __atomic_load_n(&shared->heap_lost, __ATOMIC_RELAXED);
        if (lost > process->heap_lost) run->objects.lost += lost - process->heap_lost;
        process->heap_lost = lost;
        if (status == FM_OK)
            status = fm_sampled_memory_limit(&process->memory,
                                             __atomic_load_n(&shared->heap_limit, __ATOMIC_ACQUIRE), error);
        if (status == FM_OK) status = fm_sampled_memory_settle(&process->memory, fm_now(), error);
    }
    return status;
}

static fm_status hand_over(fm_sampled_run *run, const told *one, fm_error *error)
{
    fm_sampled_process *process = process_numbered(run, one->serial);
    if (!process) return FM_OK;
    if (!one->allocation) return fm_sampled_memory_freed(&process->memory, one->time, one->address, error);
    return fm_sampled_memory_allocated(&process->memory, &run->objects, &process->code, &run->code,
                                       one->allocation, error);
}

fm_status fm_sample_heap_take(void *of, fm_error *error)
{
    fm_sampled_run *run = of;
    size_t count = 0;
    fm_status status = look_at_processes(run, error);
    const uint32_t told_now = __atomic_load_n(&heap_of(run)->told, __ATOMIC_ACQUIRE);
    if (status != FM_OK || told_now == run->heap_told) return status;
    run->heap_told = told_now;
    told *all = fm_calloc(FM_SAMPLE_FREES + FM_SAMPLE_ALLOCATIONS, sizeof *all);
    fm_sample_allocation *copies = fm_calloc(FM_SAMPLE_ALLOCATIONS, sizeof *copies);
    if (!all || !copies)
        status = fm_fail_memory(error, FM_SAMPLE_ALLOCATIONS * sizeof *copies, "blocks of the heap");
    else
        collect(run, all, copies, &count);
    if (count) qsort(all, count, sizeof *all, by_time);
    for (size_t i = 0; i < count && status == FM_OK; i++) status = hand_over(run, &all[i], error);
    free(all);
    free(copies);
    return status;
}
