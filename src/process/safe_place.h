/* SPDX-License-Identifier: Apache-2.0 */
/*
 * safe_place.h - whether a stopped thread stands where a library can be loaded: outside of the loader and of
 * the allocator, whose locks it could hold, and of signal handlers, which may have interrupted these.
 */
#ifndef FATHOM_PROCESS_SAFE_PLACE_H
#define FATHOM_PROCESS_SAFE_PLACE_H

#include "process/remote_modules.h"

enum { FM_UNSAFE_RANGES = 64 };

typedef struct fm_unsafe_places {
    struct {
        uint64_t first, behind;
    } ranges[FM_UNSAFE_RANGES];
    size_t count;
    uint64_t handler_end; /* where signal handlers return to; 0: not known */
} fm_unsafe_places;

void fm_unsafe_places_find(fm_unsafe_places *places, const fm_tracee *tracee,
                           const fm_remote_modules *modules);
bool fm_is_safe_place(const fm_unsafe_places *places, const fm_tracee *tracee,
                      const fm_tracee_thread *thread);
/* Is it in a signal handler, as far as its stack tells? */
bool fm_may_be_in_handler(const fm_unsafe_places *places, const fm_tracee *tracee,
                          const fm_tracee_thread *thread);

#endif
