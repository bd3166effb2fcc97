/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job_internal.h - what a job holds, and what its sources share. Internal to src/job.
 *
 * job.c has the handle, the analysis and those who listen; job_<source>.c make profiles, each of its source;
 * job_results.c makes of profiles what is shown and written.
 */
#ifndef FATHOM_JOB_INTERNAL_H
#define FATHOM_JOB_INTERNAL_H

#include "base/error.h"

#include <fathom/experimental/observations.h>
#include <fathom/job.h>
#include <fathom/output.h>

enum {
    FM_JOB_EDGES = 128 /* 32 caches make at most so many */,
    FM_JOB_LINE = 2048,
    FM_JOB_LINES_KNOWN = 256
};

/* What is heard of a trace that is read: damage. */
typedef struct fm_job_damage {
    bool silent;           /* it was said before */
    uint64_t places, lost; /* references known to be missing */
    fm_error first;
} fm_job_damage;

typedef enum fm_job_source {
    FM_JOB_NOTHING,
    FM_JOB_TRACE,
    FM_JOB_PROGRAM,
    FM_JOB_SAMPLES,
    FM_JOB_REGION,
    FM_JOB_RECORDING,
    FM_JOB_PHASES,
    FM_JOB_MODEL
} fm_job_source;

struct fm_job {
    fm_job_options options;
    fm_job_source source; /* a job has one */
    uint64_t granularity[FM_JOB_GRANULARITIES];
    size_t count;                 /* 0: not known yet */
    fm_analyzer_options analyzer; /* but for granularity, threads and memory */
    char engine_place[1100];      /* engine options of the analyzer made last (fm_job_analyzer_of) */
    fm_cache caches[FM_JOB_CACHES];
    size_t cache_count;
    uint64_t edges[FM_JOB_EDGES];
    size_t edge_count, late_range; /* references of that range on are late */
    uint64_t late_from;            /* where it begins: what misses the smallest of the caches is late */
    fm_output *distances;          /* NULL: not asked for, or done */
    fm_job_damage damage;
    fm_job_progress progress;
    uint64_t lines_known[FM_JOB_LINES_KNOWN]; /* notes that were told; hashes */
    size_t line_count;
    /* Of a program. */
    fm_collection *collection;
    fm_sampled_run *sampled;
    fm_sampled_facts facts;
    fm_job_end end;
    struct fm_job_recording *recording; /* NULL: nothing is stored; and so on */
    struct fm_job_check *check;
    struct fm_job_code *code;
    struct fm_job_phases *phases;
    /* Results. */
    fm_profile *profile[FM_JOB_GRANULARITIES];
    bool incomplete;
};

/* ---- job.c ---- */

/* A job has one source. */
fm_status fm_job_begin(fm_job *job, fm_job_source source, fm_error *error);
void fm_job_note(fm_job *job, const char *format, ...) __attribute__((format(printf, 2, 3)));
void fm_job_warn(fm_job *job, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A stream for lines that other rooms have to say (NULL where nobody listens); closing it tells each that is
 * new. All zero before. */
typedef struct fm_job_lines {
    FILE *stream;
    char *text;
    size_t size;
} fm_job_lines;
void fm_job_lines_open(fm_job *job, fm_job_lines *lines);
void fm_job_lines_close(fm_job *job, fm_job_lines *lines, bool tell);
/* Each line of a text. */
void fm_job_note_lines(fm_job *job, const char *text);
void fm_job_progress_begin(fm_job *job, const char *noun, bool beside);
void fm_job_progress_at(fm_job *job, uint64_t done, double fraction);
void fm_job_progress_end(fm_job *job);

/* What is known of the engine; NULL: it is still to be chosen. */
const fm_engine_info *fm_job_engine(const fm_job *job);
/* What "auto" means for so many references; 0: nobody knows how many. Before any analyzer is made. */
void fm_job_choose_engine(fm_job *job, uint64_t references);
/* Where none was asked for. */
void fm_job_granularity_default(fm_job *job, uint64_t granularity);
/* The options of the analyzer at a granularity, but for its edges; alone: there is no other one, which can
 * have all graphics cards then. */
fm_status fm_job_analyzer_of(fm_job *job, size_t granularity, bool alone, fm_analyzer_options *options,
                             fm_error *error);
/* An FM_E_LIMIT is about a part of max_memory only: says of what. Returns status. */
fm_status fm_job_explain_limit(const fm_job *job, fm_status status, fm_error *error);
/* Of memory, whose accesses have sizes: that single bytes are counted, where that was asked for. */
void fm_job_note_bytes(fm_job *job);
/* options.opened. */
fm_status fm_job_opened(fm_job *job, bool memory_addresses, fm_error *error);
/* job->caches: those that were given; else, where the machine's are meant, these. */
void fm_job_find_caches(fm_job *job, bool machine);
/* job->edges and what is late, by the caches and the first granularity. */
void fm_job_cut_edges(fm_job *job);
/* A sink (fathom/engines.h) that writes distances into an fm_output. */
fm_status fm_job_write_distances(void *output, const uint64_t *blocks, const uint64_t *distances,
                                 size_t count, fm_error *error);
/* Threads, by the one policy (fm_job_options.threads). */
unsigned fm_job_threads(const fm_job *job);
unsigned fm_job_threads_beside(const fm_job *job, bool any_processes);

/* The command as a shell would take it; more: there was more of it. To be freed; NULL: no memory. */
char *fm_job_command_text(char *const *command, bool more);
enum { FM_JOB_ENDING = 4200 }; /* room for any path */
/* "exited with 0", "killed by SIGSEGV (Segmentation fault)", "became /bin/sh by exec", … */
char *fm_job_ending_text(const fm_collected_process *process, char *buffer, size_t size);

/* ---- job_trace.c ---- */

/* For fm_analyze and its like; context is the job. */
void fm_job_hear_damage(void *job, const fm_error *error);
void fm_job_hear_progress(void *job, uint64_t references, double fraction);
/* What was made of a damaged trace is marked as incomplete, with what is missing. */
fm_status fm_job_mark(const fm_job *job, fm_profile *profile, fm_error *error);

/* ---- job_run.c ---- */

/* job->collection until everything has ended: all that is delivered. Then tells what the collection has to
 * say, and of which process something is missing. FM_E_UNSUPPORTED: no process was seen. */
typedef fm_status (*fm_job_receiver)(void *context, const fm_collected *collected, fm_error *error);
fm_status fm_job_receive(fm_job *job, const fm_collect_options *program, fm_job_receiver take, void *context,
                         fm_error *error);
/* The job's source is a program: its options, as this library has them. */
fm_status fm_job_begin_program(fm_job *job, fm_job_source source, fm_collect_options *own,
                               const fm_collect_options *program, size_t program_size, fm_error *error);
/* What a reader of the result would stumble over. */
void fm_job_note_program(fm_job *job, const fm_collect_options *options);
/* job->end, as far as it is known. */
void fm_job_find_end(fm_job *job);

/* ---- job_region.c, job_changes.c: source code ---- */

/* A change of loops that was tried. */
typedef struct fm_suggestion {
    const char *change; /* NULL: none */
    double misses;
    char certainty[32];
} fm_suggestion;
enum { FM_SUGGESTIONS = 5 };

typedef struct fm_job_code {
    fm_job_region_options options;
    char *path;
    double began;
    const char **flags; /* those of the options, and macros */
    char (*macros)[96]; /* that flags points into */
    bool *used;         /* of each parameter: it is a macro */
    fm_region *region;
    fm_region_counts *counts; /* NULL: not known */
    /* Where the region is a changed one. */
    fm_region *original;
    fm_profile *before; /* of the original */
    char change[1024];
    /* Of changes that were tried: the best, in their order; none where a change was told. */
    char *changes; /* their texts */
    unsigned tried, legal, left;
    fm_suggestion as_it_is, best[FM_SUGGESTIONS + 1];
    size_t best_count;
} fm_job_code;
void fm_job_code_destroy(fm_job_code *code); /* NULL is fine */

/* The source once more, with scalar variables in memory, and values. */
fm_status fm_job_read_scalars(fm_job *job, fm_region **region, fm_error *error);
bool fm_job_is_text_form(const fm_job_code *code);
/* The profile of a region by the job's options, but for caches with sets and sources. counts: of the region,
 * or NULL. */
fm_status fm_job_region_profile(fm_job *job, const fm_region *region, const fm_region_counts *counts,
                                fm_profile **profile, fm_error *error);
/* The misses before and after a change, and of the changes that were tried, for people. */
void fm_job_show_changes(const fm_job *job, FILE *out);

/* ---- job_record.c, job_distances.c ---- */

void fm_job_recording_destroy(struct fm_job_recording *recording); /* NULL is fine */
/* The files, with the processes that they are of. */
void fm_job_show_recording(const fm_job *job, FILE *out, const fm_view_options *view);
fm_status fm_job_show_phases(const fm_job *job, FILE *out, const fm_screen_options *screen,
                             const fm_view_options *view, fm_error *error);
void fm_job_phases_destroy(struct fm_job_phases *phases); /* NULL is fine */

/* ---- job_files.c ---- */

void fm_job_check_destroy(struct fm_job_check *check); /* NULL is fine */
void fm_job_show_check(const fm_job *job, FILE *out, const fm_view_options *view);
void fm_job_write_check(const fm_job *job, FILE *out); /* as JSON */

/* ---- trace_notes.c ---- */

/* What there is to say of an open trace of which nearly every key is new; kept when the trace is closed. */
typedef struct fm_new_keys {
    char advice[900]; /* "": there is no doubt about traces of this format */
} fm_new_keys;
void fm_new_keys_look(fm_new_keys *keys, const fm_trace_info *info);
/* Says it where so many of the references were to keys that were not there before. */
void fm_new_keys_note(fm_job *job, const fm_new_keys *keys, uint64_t references, uint64_t first);

/* ---- job_results.c ---- */

/* Adds modules and sites to an attribution that has its edges, and says which site each tag is. */
typedef fm_status (*fm_job_describe)(void *context, fm_attribution *attribution, const uint32_t **map,
                                     size_t *map_count, fm_error *error);
/* Makes profile->attribution: edges, sites, pairs, symbols. late_from: 0, or that of the job. quiet: what
 * symbols lack was said before. */
fm_status fm_job_attribute(fm_job *job, fm_profile *profile, const fm_raw_pair *pairs, size_t count,
                           uint64_t late_from, fm_job_describe describe, void *context, bool quiet,
                           fm_error *error);
/* What the source files of a profile are now (of its parts, where it has no attribution itself). */
fm_status fm_job_record_sources(fm_job *job, fm_profile *profile, fm_error *error);
/* Profiles are done: whether they can be true; and what they were asked about. */
fm_status fm_job_settle(fm_job *job, fm_error *error);

#endif
