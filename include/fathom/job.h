/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job.h - what a user asks for, in one piece: a *source* of references, an *analysis* of them, and *results*.
 * It is what the verbs of `fathom` are made of; whoever wants parts in another order uses the other headers.
 *
 *     fm_error error;
 *     fm_job *job;
 *     char *command[] = {"sort", "numbers.txt", NULL};
 *     const fm_job_options analysis = {.threads = 2};               // zero: as `fathom run` has it
 *     const fm_collect_options program = {.command = command};
 *     const fm_job_files files = {.json = "sort.json", .page = "sort.html"};
 *     fm_status status = fm_job_create(&job, &analysis, &error);
 *     if (status == FM_OK) status = fm_job_run(job, &program, &error); // or fm_job_trace, fm_job_sample, …
 *     if (status == FM_OK) status = fm_job_write(job, &files, &error);
 *     if (status == FM_OK) status = fm_job_show(job, stdout, NULL, NULL, &error);
 *     fm_job_destroy(job);
 *
 * A job has one source. Its profiles are named, merged, attributed to code and data, checked
 * (fm_profile_check) and marked with what is missing when the call of the source returns; every source can be
 * written in every form. A source that delivered something, but not all, is no failure: fm_job_is_complete
 * tells.
 */
#ifndef FATHOM_JOB_H
#define FATHOM_JOB_H

#include <fathom/analyzer.h>
#include <fathom/collect.h>
#include <fathom/machine.h>
#include <fathom/phases.h>
#include <fathom/predict.h>
#include <fathom/sampled_run.h>
#include <fathom/static.h>
#include <fathom/view.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fm_job fm_job;

enum { FM_JOB_GRANULARITIES = 16, FM_JOB_CACHES = 32 }; /* at most */

/* ---- the analysis, and who hears of it ---- */

/* What was opened. */
typedef struct fm_job_input {
    bool memory_addresses;      /* not keys */
    bool elements;              /* accesses as they are (fm_analyzer_options) */
    uint64_t least_granularity; /* of those that are analysed */
} fm_job_input;

typedef enum fm_job_stage { FM_JOB_BEGINS = 0, FM_JOB_GOES_ON = 1, FM_JOB_ENDS = 2 } fm_job_stage;
typedef struct fm_job_progress {
    fm_job_stage stage;
    const char *noun; /* of what is counted: "references" */
    uint64_t done;
    double fraction; /* of all; below 0: nobody knows */
    bool beside;     /* a program runs that has our standard error, too */
} fm_job_progress;

/* Zero is a good default for each. What pointers lead to must stay until the job is destroyed. */
typedef struct fm_job_options {
    const uint64_t *granularity;      /* one profile for each; code and objects are those of the first */
    size_t granularity_count;         /* 0: one, 64 for memory addresses and 1 for keys */
    const char *engine;               /* NULL: "exact"; "auto": on a graphics card where that pays */
    const char *engine_options, *isa; /* these as in fm_analyzer_options, and so are … */
    uint64_t bound;
    fm_bins bins;
    bool time_distances, elements; /* … these */
    /*
     * A trace without engine, bound, time and single distances: is analysed exactly as long as that fits, and
     * by samples where it does not; other jobs fail with FM_E_LIMIT.
     */
    bool threads_private; /* fm_job_run: a profile of each thread, as if it were alone, too */
    bool reproducible;    /* fm_job_run: nothing in profiles that differs from run to run (pids, times) */
    uint64_t max_memory;  /* of the whole process; 0: no limit */
    /*
     * Threads that analyse; 0: as many as have something to do. Of a trace and of source code that is one for
     * each processor; of ranks, one in each; beside a program that runs, as many as there are processors
     * left, 6 at most, and one where memory is limited or there may be any number of processes.
     */
    uint64_t threads;
    const fm_cache *caches; /* to judge by; NULL: this machine's, where memory is analysed */
    size_t cache_count;
    const char *distances;   /* NULL, or a file for every single distance (fm_job_write makes it) */
    const char *needs_sites; /* NULL, or the name of what cannot do without code sites: then the job fails
                                where there are none, with that name */
    bool no_sites;           /* do not tell code sites apart */
    bool embed_source;       /* the text of source files goes into the profiles */
    /* ---- who hears of it; each may be NULL ---- */
    bool unused[6]; /* false: so that there is no padding */
    void *context;
    void (*note)(void *context, const char *line); /* what a reader of the result should know */
    void (*warn)(void *context, const char *line); /* what is wrong or missing, and does not end the job */
    /* A result that could not be written; others are written all the same. */
    void (*failed)(void *context, const fm_error *error);
    void (*progress)(void *context, const fm_job_progress *at);
    /* The source is open, and nothing is analysed yet. Other than FM_OK: the job ends with that. */
    fm_status (*opened)(void *context, const fm_job_input *input, fm_error *error);
} fm_job_options;

FM_SIZED(fm_status, fm_job_create, fm_job_options,
         (fm_job **job, const fm_job_options *options, fm_error *error), (job, options, error));
FM_API void fm_job_destroy(fm_job *job); /* NULL is fine; what still runs is ended (SIGKILL) */

/* ---- sources ---- */

/* A trace that is read; "-" is standard input. reading->threads and read_ahead are the job's to choose. */
FM_SIZED(fm_status, fm_job_trace, fm_reader_options,
         (fm_job *job, const char *path, const fm_reader_options *reading, fm_error *error),
         (job, path, reading, error));
/*
 * The same by all ranks of an MPI job together (cluster.h); every rank makes this call, and rank 0 alone has
 * profiles afterwards. shards: instead of a path, a pattern of files that follow each other in time, by the
 * numbers in their names. A rank that fails ends all of them, and does not return.
 */
FM_SIZED(fm_status, fm_job_ranks, fm_reader_options,
         (fm_job *job, const char *path, const char *shards, const fm_reader_options *reading,
          fm_error *error),
         (job, path, shards, reading, error));

/* A program that is run, and analysed while it runs: until it has ended. program->columns, call_paths and
 * objects … are as the analysis needs them: of these the job looks at call_paths only. Where there were
 * several processes, a profile is their sum, and each process is one of its parts. */
FM_SIZED(fm_status, fm_job_run, fm_collect_options,
         (fm_job *job, const fm_collect_options *program, fm_error *error), (job, program, error));

/* A program that is run at nearly its own speed, or one that runs already (program->pid), of which samples
 * are taken. Of the options, granularities and objects are the job's; of those of the estimate, what depends
 * on code. */
FM_SIZED_BY(fm_status, fm_job_sample, (size_t, size_t),
            (sizeof(fm_sampled_run_options), sizeof(fm_estimate_options)),
            (fm_job *job, const fm_sampled_run_options *program, const fm_estimate_options *estimate,
             fm_error *error),
            (job, program, estimate, error));

/* A value of a parameter of a region, or of a macro of its source. */
typedef struct fm_job_value {
    const char *name;
    int64_t value;
} fm_job_value;
typedef struct fm_job_region_options {
    const char *language, *function, *const *flags, *const *assumptions; /* as in fm_region_options … */
    const fm_job_value *param;
    size_t param_count;
    /* Names of parameters that stay open although they have values, separated by commas; "": all. NULL: none
     */
    const char *open;
    double limit_time;         /* seconds, for an exact result; 0: 60 */
    uint64_t samples;          /* as in fm_static_options, and so is … */
    const char *method;        /* … this */
    const fm_machine *machine; /* NULL, or whose bounds are found (fm_machine_bound) */
    const fm_set_misses
        *sets; /* caches with sets, of which the misses are found, too (fm_region_set_misses) */
    size_t set_count;
    fm_layout layout;
    bool scalars;   /* … and this */
    bool verify;    /* the result is compared with a walk over all accesses */
    bool unused[2]; /* false: so that there is no padding at the end */
} fm_job_region_options;
/*
 * Source code that is not run: one region of it (static.h), whose parameters get their values, and where it
 * has no such parameter, its macros. It is read here, and then it can be looked at and changed; fm_job_region
 * makes its profile, by the surest method that is done in time.
 */
FM_SIZED(fm_status, fm_job_region_open, fm_job_region_options,
         (fm_job *job, const char *path, const fm_job_region_options *options, fm_error *error),
         (job, path, options, error));
/* It belongs to the job. NULL: nothing was read. */
FM_API fm_region *fm_job_region_get(const fm_job *job);
/*
 * Changes its loops (fm_region_transform), if the change is legal: the profile of the region as it was is
 * made, too, and fm_job_show compares both. change NULL: of the changes that are worth a try, the legal one
 * with the fewest misses; FM_E_UNSUPPORTED where none is legal.
 */
FM_API fm_status fm_job_region_change(fm_job *job, const char *change, fm_error *error);
FM_API fm_status fm_job_region(fm_job *job, fm_error *error);

/* A program whose references are stored: no profile. The first process has the file that is named, the others
 * the same name with their process number in it. */
typedef struct fm_record_options {
    const char *path; /* in the native format */
    int level;        /* as in fm_writer_options */
    bool overwrite;   /* files of other processes, too, that are there from an earlier run */
    bool unused[3];   /* false: so that there is no padding at the end */
} fm_record_options;
FM_SIZED_BY(fm_status, fm_job_record, (size_t, size_t),
            (sizeof(fm_record_options), sizeof(fm_collect_options)),
            (fm_job *job, const fm_record_options *options, const fm_collect_options *program,
             fm_error *error),
            (job, options, program, error));

/* A trace in another format. Of `writing`, the format (NULL: by the name's ending) and the level are looked
 * at. */
FM_SIZED_BY(fm_status, fm_job_convert, (size_t, size_t), (sizeof(fm_reader_options), sizeof(fm_writer_options)),
            (fm_job *job, const char *from, const fm_reader_options *reading, const char *to,
             const fm_writer_options *writing, fm_error *error),
            (job, from, reading, to, writing, error));
/* Whether a stored trace is sound: a native one block by block, with a line for each where `blocks` is not
 * NULL; any other by reading it to its end. fm_job_is_complete: it is. fm_job_write makes JSON of it,
 * fm_job_show a summary. */
FM_SIZED(fm_status, fm_job_check, fm_reader_options,
         (fm_job *job, const char *path, const fm_reader_options *reading, FILE *blocks, fm_error *error),
         (job, path, reading, blocks, error));

/* The phases of a trace (phases.h), which is read three times. The profile of the job is that of the whole.
 */
typedef struct fm_phase_options {
    uint64_t
        threshold; /* level 1 is cut where blocks come back from further away; 0: where the trace changes */
    double alike;  /* phases whose profiles overlap by this are of one kind; 0: 0.9 */
} fm_phase_options;
FM_SIZED_BY(fm_status, fm_job_find_phases, (size_t, size_t),
            (sizeof(fm_reader_options), sizeof(fm_phase_options)),
            (fm_job *job, const char *path, const fm_reader_options *reading,
             const fm_phase_options *options, fm_error *error),
            (job, path, reading, options, error));
/* The profiles of the phases of a level, from 1 on; they stay until those of another inner level are asked
 * for. How many there are. */
FM_API size_t fm_job_phase_profiles(fm_job *job, size_t level, const fm_profile *const **profiles);
/* The profile that a model expects for data of another size, which may be found in a trace by sampling its
 * beginning. */
FM_SIZED_BY(fm_status, fm_job_find_size, (size_t, size_t),
            (sizeof(fm_reader_options), sizeof(fm_sampler_options)),
            (fm_job *job, const fm_model *model, const char *path, const fm_reader_options *reading,
             const fm_sampler_options *sampling, double *size, fm_error *error),
            (job, model, path, reading, sampling, size, error));
FM_API fm_status fm_job_predict(fm_job *job, const fm_model *model, double size, fm_error *error);

/* How the program ended: what was started, or what it became by exec. */
typedef struct fm_job_end {
    bool known;
    int exit_code, signal; /* signal 0: none */
} fm_job_end;
FM_API fm_job_end fm_job_program_end(const fm_job *job);

/* ---- results ---- */

/* False: something is missing, and the profiles say what. */
FM_API bool fm_job_is_complete(const fm_job *job);
/* One for each granularity; they belong to the job. */
FM_API size_t fm_job_profiles(const fm_job *job, const fm_profile *const **profiles);
/* Those that were judged by. */
FM_API size_t fm_job_caches(const fm_job *job, const fm_cache **caches);

/* Files; each may be NULL, and "-" is standard output. */
typedef struct fm_job_files {
    const char *json;            /* the profiles */
    const char *csv, *callgrind; /* where the code is known: pairs of sites, costs of lines (view.h) */
    const char *page;            /* HTML */
    const char *title;           /* of the page */
    bool no_source;              /* no text of source files on it */
    bool unused[7];              /* false: so that there is no padding at the end */
} fm_job_files;
/* All of them; the first failure is returned. What options.distances names is completed here, too. */
FM_SIZED(fm_status, fm_job_write, fm_job_files, (fm_job *job, const fm_job_files *files, fm_error *error),
         (job, files, error));

/* What is shown to people: what is wrong at every cache, and the code that does it; of phases, those of a
 * level. */
typedef struct fm_screen_options {
    uint64_t top;   /* at most so many lines (functions, objects), pairs, phases; 0: none */
    uint64_t depth; /* of phases: the level, from 1 on; 0: 1 */
    fm_by by;
    bool pairs, histogram; /* below it */
    bool unused[2];        /* false */
    const char *also;      /* what else one can ask, where nothing was asked for; NULL: nothing */
} fm_screen_options;
/* screen NULL: ten lines. */
FM_SIZED_BY(fm_status, fm_job_show, (size_t, size_t), (sizeof(fm_screen_options), sizeof(fm_view_options)),
            (fm_job *job, FILE *out, const fm_screen_options *screen, const fm_view_options *view,
             fm_error *error),
            (job, out, screen, view, error));

/* The same of profiles that come from elsewhere: of one source, at several granularities, of which the first
 * is the one with the code. */
FM_SIZED_BY(fm_status, fm_profiles_show, (size_t, size_t),
            (sizeof(fm_screen_options), sizeof(fm_view_options)),
            (FILE *out, const fm_profile *const *profiles, size_t count, const fm_cache *caches,
             size_t cache_count, const fm_screen_options *screen, const fm_view_options *view,
             fm_error *error),
            (out, profiles, count, caches, cache_count, screen, view, error));
/* The caches that profiles were asked about, each size once. How many there are, at most `capacity`. */
FM_API size_t fm_profiles_caches(const fm_profile *const *profiles, size_t count, fm_cache *caches,
                                 size_t capacity);
/* A file of such profiles, as fm_job_write makes them. */
typedef enum fm_result_kind { FM_RESULT_CALLGRIND = 0, FM_RESULT_PAIRS_CSV = 1 } fm_result_kind;
FM_API fm_status fm_profile_result_write(const char *path, fm_result_kind kind, const fm_profile *profile,
                                         const fm_cache *caches, size_t cache_count, fm_error *error);
FM_SIZED(fm_status, fm_report_write_file, fm_report_options,
         (const char *path, const fm_report_options *page, const fm_profile *const *profiles, size_t count,
          const fm_cache *caches, size_t cache_count, fm_error *error),
         (path, page, profiles, count, caches, cache_count, error));

/* ---- notes about traces, for whoever reads one without a job ---- */

typedef void (*fm_line_taker)(void *context, const char *line);
/* Of a reader that was just opened: which column was taken for the key where none was given; and that blocks
 * of so many bytes were asked for where it counts something else. granularity 0: not asked for. */
FM_API void fm_reader_opened_notes(const fm_reader *reader, uint64_t granularity, fm_line_taker note,
                                   void *context);
/* At the end: skipped fetches, hashed strings; collisions are warnings. new_keys: also that nearly every key
 * was new, as far as keys are text. */
FM_API void fm_reader_ended_notes(const fm_reader *reader, bool new_keys, fm_line_taker note,
                                  fm_line_taker warn, void *context);

#ifdef __cplusplus
}
#endif
#endif
