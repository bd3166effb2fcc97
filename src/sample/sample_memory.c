/* SPDX-License-Identifier: Apache-2.0 */
/* sample_memory.c - the memory that is shared with sampled programs: records and slabs, and what is told of
 * heaps. */
#define _GNU_SOURCE
#include "base/crew.h"
#include "base/error.h"
#include "base/memory.h"
#include "process/program_file.h"
#include "sample/sampled_program.h"
#include "sample/sampled_run_state.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- sample memory ---- */

static void begin_session(fm_sample_session *session)
{
    session->magic = FM_SAMPLE_MAGIC;
    session->version = FM_SAMPLE_VERSION;
    session->receiver_pid = (uint32_t)getpid();
    uint64_t filters = 0;
    if (fm_proc_status("/proc/self", "Seccomp_filters", 10, &filters)) session->filters = (uint32_t)filters;
}

fm_status fm_sample_memory_create(fm_sample_memory *memory, fm_error *error)
{
    const uint64_t bytes = fm_sample_file_bytes();
    memory->session = MAP_FAILED;
    memory->file = memfd_create("fathom-sample", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (memory->file >= 0 && ftruncate(memory->file, (off_t)bytes) == 0 &&
        /* A file that cannot shrink cannot make us fault. */
        fcntl(memory->file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0)
        memory->session = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory->file, 0);
    if (memory->session == MAP_FAILED) {
        const int cause = errno;
        fm_sample_memory_destroy(memory);
        return fm_proc_share_failed(cause, bytes, error);
    }
    begin_session(memory->session);
    return FM_OK;
}

fm_status fm_sample_memory_adopt(fm_sample_memory *memory, int file, fm_error *error)
{
    const uint64_t bytes = fm_sample_file_bytes();
    struct stat about;
    memory->file = file;
    memory->session = MAP_FAILED;
    const int seals = fcntl(file, F_GET_SEALS);
    errno = EINVAL;
    if (seals >= 0 && (seals & F_SEAL_SHRINK) && fstat(file, &about) == 0 && (uint64_t)about.st_size == bytes)
        memory->session = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory->session == MAP_FAILED) {
        const int why = errno;
        fm_sample_memory_destroy(memory);
        return fm_fail_io(error, NULL, "share memory with the program", why);
    }
    begin_session(memory->session);
    return FM_OK;
}

void fm_sample_memory_destroy(fm_sample_memory *memory)
{
    if (memory->session && memory->session != MAP_FAILED) munmap(memory->session, fm_sample_file_bytes());
    if (memory->session && memory->file >= 0) close(memory->file);
    memory->session = NULL;
}

void fm_sample_memory_path(const fm_sample_memory *memory, char *path, size_t size)
{
    snprintf(path, size, "/proc/%ld/fd/%d", (long)getpid(), memory->file);
}

bool fm_sample_lane_next(fm_sample_lane *lane, uint32_t *taken, fm_sample_record *record, bool *damaged)
{
    const uint32_t written = __atomic_load_n(&lane->written, __ATOMIC_ACQUIRE);
    *damaged = written - *taken > FM_SAMPLE_CELLS;
    if (*damaged) *taken = written;
    if (written == *taken) {
        __atomic_store_n(&lane->taken, *taken, __ATOMIC_RELEASE);
        return false;
    }
    memcpy(record, &lane->cells[*taken % FM_SAMPLE_CELLS], sizeof *record);
    *taken += 1;
    __atomic_store_n(&lane->taken, *taken, __ATOMIC_RELEASE);
    return true;
}

static bool is_of_lane(const fm_sample_memory *memory, uint32_t lane, uint32_t slab)
{
    return slab < FM_SAMPLE_SLABS_IN_ALL &&
           __atomic_load_n(&memory->session->slab_owner[slab], __ATOMIC_ACQUIRE) == lane + 1;
}

bool fm_sample_slab_copy(const fm_sample_memory *memory, uint32_t lane, uint32_t slab, size_t from, void *to,
                         size_t bytes)
{
    if (!is_of_lane(memory, lane, slab)) return false;
    const fm_sample_slab place = fm_sample_slab_at(slab);
    if (from > place.bytes || bytes > place.bytes - from) return false;
    if (bytes > 0) memcpy(to, (const char *)memory->session + place.offset + from, bytes);
    return true;
}

void fm_sample_slab_release(const fm_sample_memory *memory, uint32_t lane, uint32_t slab)
{
    if (is_of_lane(memory, lane, slab))
        __atomic_store_n(&memory->session->slab_owner[slab], 0, __ATOMIC_RELEASE);
}

void fm_sample_lane_release(const fm_sample_memory *memory, uint32_t lane)
{
    for (uint32_t slab = 0; slab < FM_SAMPLE_SLABS_IN_ALL; slab++) fm_sample_slab_release(memory, lane, slab);
    __atomic_store_n(&memory->session->lane_state[lane], FM_SAMPLE_FREE, __ATOMIC_RELEASE);
}

/* ---- sample heap ---- */

/*
 * Takes what programs tell of their heaps out of the shared memory, puts it into the order in
 * which it happened, and hands it to the maps of the processes.
 */

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
static void collect_told(fm_sampled_run *run, told *all, fm_sample_allocation *copies, size_t *count)
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
    pthread_mutex_lock(&run->lock);
    fm_sampled_process *found = serial ? fm_sampled_process_numbered(run, serial) : NULL;
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
        collect_told(run, all, copies, &count);
    if (count) qsort(all, count, sizeof *all, by_time);
    for (size_t i = 0; i < count && status == FM_OK; i++) status = hand_over(run, &all[i], error);
    free(all);
    free(copies);
    return status;
}
