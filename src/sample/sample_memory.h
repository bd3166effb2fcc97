/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample_memory.h - the receiver's end of the memory that it shares with sampled programs
 * (collect/sample/sample_protocol.h): makes it, and reads it without believing it.
 */
#ifndef FATHOM_SAMPLE_SAMPLE_MEMORY_H
#define FATHOM_SAMPLE_SAMPLE_MEMORY_H

#include "collect/sample/sample_protocol.h"

#include <fathom/status.h>

typedef struct fm_sample_memory {
    int file;
    fm_sample_session *session;
} fm_sample_memory;

fm_status fm_sample_memory_create(fm_sample_memory *memory, fm_error *error);
/* The same of a file that another process has made, of this size; it is taken over, also on failure. */
fm_status fm_sample_memory_adopt(fm_sample_memory *memory, int file, fm_error *error);
void fm_sample_memory_destroy(fm_sample_memory *memory);
/* "/proc/123/fd/4" */
void fm_sample_memory_path(const fm_sample_memory *memory, char *path, size_t size);

static inline fm_sample_lane *fm_sample_memory_lane(const fm_sample_memory *memory, uint32_t lane)
{
    return (fm_sample_lane *)(void *)((char *)memory->session + FM_SAMPLE_LANES +
                                      (size_t)lane * FM_SAMPLE_LANE_BYTES);
}

/*
 * The next record of a lane, of which `taken` were read before; false: there is none. *damaged: the numbers
 * of the lane are impossible, and what it holds was skipped.
 */
bool fm_sample_lane_next(fm_sample_lane *lane, uint32_t *taken, fm_sample_record *record, bool *damaged);

/* Copies bytes out of the slab that a record of this lane names; false: there is no such slab, it is not this
 * lane's, or has not so many. */
bool fm_sample_slab_copy(const fm_sample_memory *memory, uint32_t lane, uint32_t slab, size_t from, void *to,
                         size_t bytes);
/* It was read. Only where it is this lane's. */
void fm_sample_slab_release(const fm_sample_memory *memory, uint32_t lane, uint32_t slab);
/* The lane's thread is gone: its slabs are free, and so is the lane. */
void fm_sample_lane_release(const fm_sample_memory *memory, uint32_t lane);

#endif
