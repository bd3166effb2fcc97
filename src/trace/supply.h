/* SPDX-License-Identifier: Apache-2.0 */
/*
 * supply.h - a reader for several threads of one program, without a plan of who reads what: each claims the
 * next range when it has the time. And what those need who read in this way, and find that they must begin
 * anew.
 */
#ifndef FATHOM_TRACE_SUPPLY_H
#define FATHOM_TRACE_SUPPLY_H

#include <fathom/trace.h>

typedef struct fm_trace_range {
    uint64_t at, reference; /* where it goes on: the supply's own */
    uint64_t left;          /* how much of it, likewise; 0: nothing */
} fm_trace_range;

typedef struct fm_supply {
    void *context;
    unsigned workers; /* that may fetch at the same time */
    /* One thread at a time: claims the next range, in time order, of about so many references. False: what
     * comes next, if anything, cannot be had in this way. */
    bool (*claim)(void *context, uint64_t wanted, fm_trace_range *range);
    /* By several threads, each with its number below `workers` and a range of its own: the next batch of
     * it, addresses, sizes and kinds, and where they were asked for, sites; its arrays stay until this
     * worker's next call. Threads are not delivered: those who fetch for themselves count, and tell none
     * apart. count 0: the end of the range. With sites, range->reference - batch->count + i is then a
     * number for reference i of the batch: these ascend along the trace. */
    fm_status (*fetch)(void *context, unsigned worker, fm_trace_range *range, fm_batch *batch,
                       fm_error *error);
    /* References that nobody has claimed, about; 0: none, or nobody knows. */
    uint64_t (*left)(const void *context);
} fm_supply;

/*
 * Before the first fm_reader_next: the rest of the trace, for several threads; with its code sites, if it has
 * any and they are asked for. FM_E_UNSUPPORTED, and nothing has happened: it can be read in order only. That
 * takes a native trace, or one of lines or records, in a regular file with a name that is not compressed as a
 * whole. After the last fetch, fm_reader_next delivers what was not claimed, tells of damage there, and finds
 * the end; before that, nothing but the supply may be used. When a fetch fails, the reader must be restarted:
 * it then tells what is wrong, and delivers what is not.
 */
fm_status fm_reader_share(fm_reader *reader, unsigned workers, bool sites, fm_supply *supply,
                          fm_error *error);

/* Whether it could be read once more from its beginning: as for fm_reader_share, but compressed ones too. */
bool fm_reader_can_restart(const fm_reader *reader);
/* From the beginning, as if it had just been opened. After a failure it can only be closed. */
fm_status fm_reader_restart(fm_reader *reader, fm_error *error);
/* As in messages: the path, or "standard input". */
const char *fm_reader_name(const fm_reader *reader);

#endif
