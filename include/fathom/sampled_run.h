/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sampled_run.h - runs a program at nearly its own speed and takes samples of its data references.
 *
 *     fm_error error;
 *     fm_sampled_run *run;
 *     bool ended = false;
 *     char *command[] = {"sort", "numbers.txt", NULL};
 *     const uint64_t granularity = 64;
 *     fm_sampled_run_options options = {.command = command, .overhead = 0.02, .granularities = &granularity,
 *                                    .granularity_count = 1};
 *     fm_estimate *estimate = NULL;
 *     const fm_estimate_options how = {.bootstrap = 200};
 *     if (fm_sampled_run_start(&run, &options, &error)) return;
 *     while (fm_sampled_run_wait(run, 1.0, &ended, &error) == FM_OK && !ended) continue;
 *     if (ended && fm_sampled_run_estimate(run, 0, FM_SAMPLED_RUN_ALL, &how, &estimate, &error) == FM_OK)
 *         fm_profile_write("profile.json", (const fm_profile *const *)&estimate->profile, 1, &error);
 *     fm_estimate_destroy(estimate);
 *     fm_sampled_run_close(run);
 *
 * A library is preloaded into the program (collect/sample): at clock ticks it runs the program's next
 * accesses itself and logs them, and watches a use now and then by a debug register. The logs come through
 * shared memory; a thread of this process reads them. Where the processor's performance counters tell
 * addresses of accesses, the library samples by these instead (`method`), and watches single accesses.
 *
 * A run is used by one thread, and one process has one at a time, as of collections (collect.h).
 */
#ifndef FATHOM_SAMPLED_RUN_H
#define FATHOM_SAMPLED_RUN_H

#include <fathom/attribution.h>
#include <fathom/sample.h>
#include <fathom/status.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { FM_SAMPLED_RUN_GRANULARITIES = 16 };

/* What takes samples. */
typedef enum fm_sampled_run_method {
    FM_SAMPLED_RUN_SOFTWARE = 0, /* a clock: bursts, and watches beyond them */
    FM_SAMPLED_RUN_PMU = 1, /* performance counters: single accesses, each of which may be watched, and that
                               are counted: estimates of these need no `reach` */
    FM_SAMPLED_RUN_ANY = 2, /* counters where they are there and allowed, and where blocks have at most 8
                               bytes; else software */
} fm_sampled_run_method;

typedef struct fm_sampled_run_options {
    char *const *command; /* program and arguments, NULL at the end; the program is looked for in PATH */
    const char *parts; /* directory with fathom's parts; NULL: beside this program, or where it was installed
                        */
    /* When samples are taken: so many a second of each thread's processor time, or one each so many accesses;
     * both 0: as many as `overhead` allows. */
    double rate;
    uint64_t period;
    double overhead; /* share of the program's own time that sampling may take, in it and in this process
                        until it ends; 0: no limit, where rate or period is given, else 0.02 */
    const uint64_t *granularities; /* powers of two */
    size_t granularity_count;      /* 0: one, of 64 */
    bool follow_children;          /* processes that it starts, too */
    bool signals;                  /* pass SIGINT, SIGTERM and SIGHUP on to the program, and end in order */
    bool no_watches;               /* no debug registers: nothing is known beyond the bursts */
    double limit_seconds; /* take samples for so long, then let the program run on; 0: until it ends */
    uint64_t seed;
    bool objects;    /* find out whose data is used: heap blocks, variables, stacks */
    bool call_paths; /* tell code apart by the calls that led to it */
    uint32_t pid;    /* a process that runs already is sampled, instead of a command; it runs on when sampling
                        ends. 0: none */
    const char *function; /* only while it, or one that it calls, runs; NULL: everything */
    const char *region; /* only between FATHOM_BEGIN("region") and FATHOM_END (markers.h); NULL: everything */
    fm_sampled_run_method method;
    bool plain_reservoir; /* by counters: the reservoir of the paper (fm_estimator_info) */
    bool mean_rate; /* by software: one rate of accesses for all of a thread's time. Samples are then left as
                       the clock takes them, too many of slow code: to see what local rates are good for */
    bool unused[2]; /* false: so that there is no padding at the end */
} fm_sampled_run_options;

typedef struct fm_sampled_run fm_sampled_run;

/*
 * Starts the program. FM_E_IO when it cannot be found or executed, FM_E_UNSUPPORTED when it cannot be sampled
 * (linked statically, setuid, not x86-64), or nothing can be in this build; the reason says what to do.
 */
FM_SIZED(fm_status, fm_sampled_run_start, fm_sampled_run_options,
         (fm_sampled_run **run, const fm_sampled_run_options *options, fm_error *error),
         (run, options, error));
/* Looks after the program for at most so many seconds. *ended: everything has ended, or the limit of time was
 * reached: samples can be taken. */
FM_API fm_status fm_sampled_run_wait(fm_sampled_run *run, double seconds, bool *ended, fm_error *error);
/* Takes no more samples; the program runs on. */
FM_API void fm_sampled_run_stop(fm_sampled_run *run);

typedef enum fm_sampled_run_clock {
    FM_SAMPLED_RUN_NO_CLOCK = 0, /* it ended before it had one, or could not have one */
    FM_SAMPLED_RUN_PERF = 1,     /* perf events */
    FM_SAMPLED_RUN_TIMER = 2, /* a timer of the process: perf events were refused, and there are no watches */
} fm_sampled_run_clock;

typedef struct fm_sampled_run_state {
    double seconds;     /* since the program was started */
    uint64_t bursts;    /* taken */
    uint64_t watches;   /* armed */
    uint64_t accesses;  /* logged */
    uint64_t left_out;  /* bursts that came when no room was left for them, or that could not be understood */
    double share;       /* by which sampling slowed the program's threads down, estimated */
    uint32_t threads;   /* that were seen */
    bool interrupted;   /* by SIGINT, SIGTERM or SIGHUP */
    bool limit_reached; /* limit_seconds */
    bool running;       /* the program has not ended */
    fm_sampled_run_clock clock;
    int clock_error, watch_error; /* errno of what was refused; 0: nothing was */
    bool heap_seen;               /* allocations of some process went through the library */
    const char *notes;            /* lines for people, each ended by a newline; "" */
    fm_sampled_run_method method; /* never FM_SAMPLED_RUN_ANY. By counters, `bursts` are sampled accesses */
    const char *counters;         /* which ones, for people; NULL: none */
    uint64_t overrun;     /* samples of counters that the kernel had no room for, or that came too late */
    uint64_t throttled;   /* times that the kernel took fewer of them */
    int counter_error;    /* errno of counters that a thread could not have; 0: none */
    bool counters_shared; /* they stood still now and then, as others use them too */
    double received;      /* processor time that taking the samples took in this process, as a share of the
                             program's; it is not in `share` */
    bool blocked; /* the program blocked the signal that its clock sends, by system calls of its own */
} fm_sampled_run_state;
FM_SIZED(void, fm_sampled_run_state_get, fm_sampled_run_state,
         (fm_sampled_run *run, fm_sampled_run_state *state), (run, state));

typedef struct fm_sampled_run_process {
    uint32_t pid;
    uint32_t parent_pid;
    const char *program; /* path; NULL: not known */
    bool by_exec;        /* the process was another program before */
    const char *became;  /* path of the program that it became by exec, and that was sampled; NULL: none */
    bool attached;       /* the library was loaded into it */
    uint32_t threads;
    uint64_t bursts;
    bool ended; /* exit_code or signal are known */
    int exit_code, signal;
    bool complete;            /* it was seen until its own end */
    const char *what_missing; /* NULL when complete */
} fm_sampled_run_process;
FM_API size_t fm_sampled_run_processes(const fm_sampled_run *run);
FM_SIZED(void, fm_sampled_run_process_get, fm_sampled_run_process,
         (const fm_sampled_run *run, size_t index, fm_sampled_run_process *process), (run, index, process));

/* What was observed, at one of the granularities, of a process or of all, and estimated (sample.h). When it
 * has ended; once for each. Tags of code are the same in all of them. Of the options, codes, groups and
 * tag_count are filled in, and reach where it is 0; data objects are told where there are edges. */
#define FM_SAMPLED_RUN_ALL SIZE_MAX
FM_SIZED(fm_status, fm_sampled_run_estimate, fm_estimate_options,
         (fm_sampled_run *run, size_t granularity, size_t process, const fm_estimate_options *options,
          fm_estimate **estimate, fm_error *error),
         (run, granularity, process, options, estimate, error));

/* How much is known of data objects. */
typedef struct fm_sampled_run_known {
    double share;  /* of the late uses, those whose object is known */
    double one_in; /* of the small blocks of the heap one in so many was told, and stands for the others */
} fm_sampled_run_known;
/* Adds modules and sites to an attribution that holds edges already, and, of an estimate that
 * fm_sampled_run_estimate made with these, objects and their late uses, with their errors (NULL: none).
 * map[tag] is the site's index; tags from 1; *map is allocated in the attribution. known: NULL is fine. */
FM_API fm_status fm_sampled_run_describe(const fm_sampled_run *run, const fm_estimate *estimate,
                                         fm_attribution *attribution, const uint32_t **map, size_t *map_count,
                                         fm_sampled_run_known *known, fm_error *error);

/* Ends what still runs (SIGKILL), frees everything. NULL is fine. */
FM_API void fm_sampled_run_close(fm_sampled_run *run);

#ifdef __cplusplus
}
#endif
#endif
