/* SPDX-License-Identifier: Apache-2.0 */
/*
 * isl_work.h - one use of isl under limits of time, memory and operations.
 *
 * isl never aborts the process here: what it cannot do gives NULL, which all of its functions take and hand
 * on. Whoever works with it looks at fm_isl_alive from time to time and stops when it is false; the first
 * reason is kept. A thread watches the clock and the memory of the process, since one call of isl can take
 * for ever.
 */
#ifndef FATHOM_STATIC_ISL_WORK_H
#define FATHOM_STATIC_ISL_WORK_H

#include <fathom/status.h>
#include <isl/ctx.h>

typedef struct fm_isl_limits {
    double seconds;           /* from now on; 0: no limit */
    uint64_t memory;          /* bytes that the process may grow by; 0: no limit */
    unsigned long operations; /* of isl; 0: no limit */
} fm_isl_limits;

typedef struct fm_isl_work {
    isl_ctx *ctx;
    fm_status status;
    fm_error error;
    struct fm_isl_watch *watch;
} fm_isl_work;

fm_status fm_isl_work_begin(fm_isl_work *work, const fm_isl_limits *limits, fm_error *error);
/* Everything of isl has been freed. Returns the status of the work, and its reason. */
fm_status fm_isl_work_end(fm_isl_work *work, fm_error *error);

/* Is there any use in going on? False after a failure, when isl gave up, or when the time is over. */
bool fm_isl_alive(fm_isl_work *work);
/* The first failure counts. Returns false. */
bool fm_isl_fail(fm_isl_work *work, fm_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool fm_isl_no_memory(fm_isl_work *work);
/* A result of isl is NULL: says why, where isl knows it. Returns false. */
bool fm_isl_gave_up(fm_isl_work *work);

#endif
