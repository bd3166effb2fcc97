/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile.h - what an analysis found: counts and a histogram of distances. Read, written, merged.
 *
 * A profile does not know which engine made it beyond the name it carries. Always:
 *     references == cold + beyond + sum of the histogram's counts
 */
#ifndef FATHOM_PROFILE_H
#define FATHOM_PROFILE_H

#include <fathom/attribution.h>
#include <fathom/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The distance of a first touch, wherever distances are delivered one by one. */
#define FM_COLD UINT64_MAX
/* Under a bound: a distance that reached it (or, when cold_known is false, perhaps a first touch). */
#define FM_BEYOND (UINT64_MAX - 1)

/* Resolution of a histogram. */
typedef enum fm_bins {
    FM_BINS_LOGLINEAR = 0, /* exact below 1024, then 64 bins per power of two: error below 1.6 % */
    FM_BINS_LOG2 = 1,      /* 0, 1, 2–3, 4–7, … */
    FM_BINS_EXACT = 2,     /* one bin per distance */
} fm_bins;

typedef struct fm_bin {
    uint64_t lo, hi; /* inclusive range of distances */
    uint64_t count;  /* never 0 */
} fm_bin;

/* Ascending, disjoint, only non-empty bins. */
typedef struct fm_histogram {
    size_t count;
    fm_bin *bins;
} fm_histogram;

/* The run that a profile is of, as `fathom run` saw it. All strings may be NULL, and are owned. */
typedef struct fm_run {
    char *command;    /* as typed, arguments quoted where they need it */
    char *collector;  /* "valgrind", "compiler" */
    char *what;       /* what was watched: "all references", "loads in function f and its callees", … */
    char *ending;     /* "exited with 0", "killed by SIGSEGV (11)", … */
    int exit_code;    /* -1: none */
    int signal;       /* 0: none */
    uint32_t process; /* pid, 0: none. For a part: whose it is */
    uint32_t parent;  /* pid of the process that started it, 0: none */
    bool by_exec;     /* what the process was before is another part, with the same pid */
    uint32_t thread;  /* number of the thread, 0: all of them */
    double seconds;   /* wall time of the traced run */
    char *notes;      /* what was not seen, hints; lines */
} fm_run;

/* The source code that a profile was computed from without running it, by `fathom static`. All strings may be
 * NULL, and are owned. */
typedef struct fm_kernel {
    char *function, *file;
    uint32_t first_line, last_line; /* 0: not known */
    char *parameters;               /* "n = 1000, m = 20" */
    char *layout;                   /* "contiguous", "aligned" */
    char *certainty;                /* "exact", "reconstructed, checked", "sampled" */
    char *method;                   /* how, for people */
    char *notes;                    /* what is assumed; lines */
    /* How often the source does something: a number, or a formula of parameters that are open. */
    char *loads, *stores, *flops, *integer_operations;
    double seconds; /* that the analysis took */
} fm_kernel;

/* What a loop that is in no other does, or a statement that is in no loop; or the whole region. */
typedef struct fm_nest {
    char *file;                     /* NULL: not known. Owned */
    uint32_t first_line, last_line; /* 0: not known */
    uint64_t loads, stores, flops, integer_operations;
    uint64_t loaded_bytes, stored_bytes;
    uint64_t first_touches; /* of blocks */
    size_t range_count;
    uint64_t *ranges; /* references with distances in each of the ranges that were asked about. Owned */
} fm_nest;

/* A resource of a machine, what it has to do, and the least time that this takes. */
typedef struct fm_bound {
    char resource[56]; /* "flops", "loads", "L2 to L1d", "memory to L2" */
    bool bytes;        /* work is in bytes; else it is in operations */
    bool proved;       /* no run does with less; false: as the source has it, or by the model of LRU caches */
    double work, rate; /* of the work in a second */
    double seconds;    /* work / rate */
} fm_bound;
typedef struct fm_bounds_part {
    fm_nest work;
    size_t count;
    fm_bound *bounds; /* Owned */
    /* The slowest of all, and of those that are proved; count: there is none. */
    size_t slowest, slowest_proved;
} fm_bounds_part;
/* Upper bounds on the performance of a region on a machine (machine.h). */
typedef struct fm_bounds {
    char *machine;        /* its name */
    double flops;         /* its peak, in a second; 0: not known */
    fm_bounds_part whole; /* the region; then its nests */
    size_t count;
    fm_bounds_part *nests;
} fm_bounds;
FM_API void fm_bounds_destroy(fm_bounds *bounds); /* NULL is fine */

/* Misses of a cache with sets, LRU in each, for known addresses (fm_region_set_misses). */
typedef struct fm_set_misses {
    char name[32];
    uint64_t sets, ways, line; /* sets * ways * line is its size */
    uint64_t references, misses;
    uint64_t least, most;  /* of the misses, with 95 % confidence; both are misses where that is exact */
    const char *certainty; /* "exact", "reconstructed, checked", "sampled"; not owned */
} fm_set_misses;

/* Between which miss ratios that of an LRU cache of so many blocks lies. */
typedef struct fm_band_point {
    uint64_t blocks;
    double least, most;
} fm_band_point;

/* How far a profile that is not exact may be from the truth. Numbers that do not apply are 0. */
typedef struct fm_accuracy {
    char *statement;         /* what is promised, for people. Never NULL */
    double relative_error;   /* E: of each distance, actual (1-E) <= reported <= actual */
    uint64_t absolute_error; /* B: of each distance, actual - B <= reported <= actual */
    uint64_t exact_below;    /* distances below this are exact */
    double rate;             /* share of the blocks that was looked at */
    uint64_t samples;        /* blocks that were looked at */
    double expected_overlap; /* of a predicted profile: 1 - E/2 is at least this in nine cases of ten, on
                                power-of-two bins */
    uint64_t references_least, references_most; /* of a predicted profile: the same of its references */
    double confidence; /* with this probability, the miss ratio at a size is within the band there */
    size_t band_count;
    fm_band_point *band; /* ascending sizes. Owned */
} fm_accuracy;

/* A block that was watched, and each time it came back from afar (predict.h, fm_sampler). */
typedef struct fm_time_sample {
    uint64_t time; /* references before it */
    uint64_t distance;
} fm_time_sample;
typedef struct fm_data_sample {
    uint64_t block;
    size_t count, capacity;
    fm_time_sample *times;
} fm_data_sample;

enum { FM_MOST_PHASES = 4096, FM_MOST_PHASE_LEVELS = 8 }; /* of a level; levels */
/* A stretch of a trace that is a phase (phases.h). */
typedef struct fm_trace_phase {
    uint64_t begin, end; /* references [begin, end) */
    uint64_t distinct;   /* blocks touched in it */
    uint64_t cold;       /* of these, for the first time at all */
    uint32_t kind;       /* phases of a level that recur have the same, from 0 on in order of appearance */
    size_t parent;       /* in inner levels: the phase of the level above that it is in */
} fm_trace_phase;
/* Phases inside those of the level above: ascending; a phase with none inside leaves a gap. */
typedef struct fm_phase_level {
    size_t count;
    fm_trace_phase *phases;
} fm_phase_level;
/* What decided where the phases of level 1 begin. */
typedef enum fm_phase_cut {
    FM_CUT_AT_PEAKS = 0,   /* the peaks of the first data sample */
    FM_CUT_AT_CHANGES = 1, /* the distances, or the data in use, change */
} fm_phase_cut;
typedef struct fm_phases {
    uint64_t threshold; /* blocks: smaller distances are no time samples */
    size_t sample_count;
    fm_data_sample *samples; /* the first is the one with the most peaks */
    size_t count;
    fm_trace_phase *phases; /* level 1: ascending, without gaps */
    fm_phase_cut cut;
    size_t inner_count; /* levels below, at most FM_MOST_PHASE_LEVELS - 1 */
    fm_phase_level *inner;
} fm_phases;
FM_API void fm_phases_destroy(fm_phases *phases); /* NULL is fine */

/* A cache that a profile is asked about. */
typedef struct fm_cache {
    char name[32]; /* "L1d", "L2", "L3" */
    uint64_t bytes;
    uint64_t line;      /* bytes; 0: unknown */
    uint64_t ways;      /* 0: unknown or fully associative */
    unsigned shared_by; /* processing units that share it */
} fm_cache;

/* How the run was sampled that a profile is an estimate of (sample.h); accuracy has the number of samples and
 * the band. Numbers that do not apply are 0. */
typedef struct fm_sampling {
    char *method;           /* what took the samples: "software", "pmu", "simulated" */
    char *estimator;        /* "capped", "rdx", … */
    char *conversion;       /* of time distances into distances: "aet", "shen" */
    uint64_t bursts;        /* stretches that were seen whole */
    uint64_t burst_uses;    /* references in them that are observed */
    uint64_t used;          /* watches that ended because their blocks were used again, */
    uint64_t replaced;      /* that were cut off, */
    uint64_t never;         /* and that lasted to the end; */
    uint64_t not_armed;     /* samples that could not be watched */
    uint64_t burst_time;    /* time distances up to this were seen in bursts */
    uint64_t measured_time; /* up to this, FM_MEASURED_LEAST observations at least lasted longer: beyond it,
                               the estimate is inferred from fewer, or from none */
    uint64_t measured;      /* the same as a distance, in blocks */
    uint64_t again;         /* of `used`, those whose reuse was watched in its turn: as many traps more, or
                               fewer where these were cut off */
} fm_sampling;
enum { FM_MEASURED_LEAST = 10 };
FM_API void fm_sampling_destroy(fm_sampling *sampling); /* NULL is fine */

/* What an engine spent its time on. */
typedef struct fm_stage {
    const char *name; /* a constant of the engine's */
    double seconds;
} fm_stage;
enum { FM_MOST_STAGES = 8 };

typedef struct fm_profile {
    char *name;   /* where it came from, for people: the trace's path. May be NULL */
    char *engine; /* "exact", … */
    bool exact;   /* every distance is exact (bins may still be ranges) */
    uint64_t granularity;
    uint64_t references;
    uint64_t distinct; /* distinct blocks */
    uint64_t cold;     /* first touches */
    uint64_t bound;    /* distances from here on are in beyond; 0: no bound */
    uint64_t beyond;
    bool cold_known; /* false: under a bound, memory to distinguish first touches from returns ran out;
                        cold and distinct are then lower bounds and the rest is in beyond */
    fm_bins bins;
    fm_histogram distances;
    bool has_times;     /* time distances were asked for */
    fm_histogram times; /* of the references that are not cold; not cut by the bound */
    bool complete;
    uint64_t lost;               /* references known to be missing */
    char *what_missing;          /* why it is incomplete, for people; NULL when complete */
    fm_attribution *attribution; /* which code it comes from; NULL: not known */
    fm_accuracy *accuracy;       /* NULL where everything is exact, or where nobody says */
    fm_phases *phases;           /* of the trace; NULL: not looked for */
    fm_run *run;                 /* the run of a program that it describes; NULL: a trace's profile */
    fm_kernel *kernel;           /* the source code that it was computed from; NULL: it was not */
    /* Where the engine reports it: written, and not read again. */
    size_t stage_count;
    fm_stage stages[FM_MOST_STAGES];
    /* Profiles of parts of the same run: of its threads, of its processes. Owned. */
    size_t part_count;
    struct fm_profile **parts;
    /* The caches that the run was asked about, or those of its machine: misses at their sizes are exact in
     * the attribution, and whoever shows the profile shows them there. Owned; none: not known. */
    size_t cache_count;
    fm_cache *caches;
    /* Written, and not read again: */
    fm_bounds *bounds; /* on a machine; NULL: not asked for */
    size_t set_count;
    fm_set_misses *set_misses; /* of caches with sets. Owned */
    char *addresses;           /* that these are for: "A at 65536, …". Owned */
    fm_sampling *sampling;     /* how it was sampled; NULL: it was not */
    /* Accesses as they are: each is one reference to its address, whatever its size. granularity is 1, and
     * distinct, distances and sizes of caches count elements, not bytes. */
    bool elements;
} fm_profile;

FM_API fm_status fm_profile_create(fm_profile **profile, fm_error *error); /* empty, complete */
FM_API void fm_profile_destroy(fm_profile *profile);                       /* NULL is fine */
/* Nothing promised but the statement. */
FM_API fm_status fm_accuracy_create(fm_accuracy **accuracy, fm_error *error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
FM_API void fm_accuracy_destroy(fm_accuracy *accuracy); /* NULL is fine */
FM_API void fm_kernel_destroy(fm_kernel *kernel);       /* NULL is fine */

/* A file holds one profile, or several of one run at different granularities. */
typedef struct fm_profile_list {
    size_t count;
    fm_profile **profiles;
} fm_profile_list;
FM_API fm_status fm_profile_read(const char *path, fm_profile_list *list, fm_error *error); /* "-": stdin */
FM_API void fm_profile_list_clear(fm_profile_list *list);

/* Writes JSON (schema fathom-profile-1): the first profile's fields at top level; with more than one,
 * all of them in the array "profiles" too. path "-" is standard output. A regular file appears under
 * its name only when it is complete. */
FM_API fm_status fm_profile_write(const char *path, const fm_profile *const *profiles, size_t count,
                                  fm_error *error);

/* into += from, as of two separate runs: counts add up (distinct blocks of different runs are
 * different blocks). Granularity (elements or not, too) and bound must agree; bins become the coarser of the
 * two. Time distances and attribution are kept where both profiles have them, the attribution only if both
 * cut distances at the same edges. Run and parts stay those of `into`. */
FM_API fm_status fm_profile_merge(fm_profile *into, const fm_profile *from, fm_error *error);

/*
 * Distances where only time distances are known, by a model (average eviction time: Hu et al., USENIX ATC
 * 2016): right in the mean over a trace whose time distances are alike all along; no error is promised.
 *
 * times: of all references, or of a sample of them; how many references later a block is used again, from 1
 * (at once) on. endless: those of the same references that have none. Where times look back that is first
 * touches, where they look forward it is blocks never used again: as many, over a whole trace.
 * references: of the whole trace; what times and endless count is scaled to it.
 *
 * Fills in references, cold, distinct and distances, in the resolution profile->bins; there is no bound.
 * times must not be profile->distances. FM_E_ARGUMENT where times are not ascending: nothing has changed.
 */
FM_API fm_status fm_profile_from_times(fm_profile *profile, const fm_histogram *times, uint64_t endless,
                                       uint64_t references, fm_error *error);

/* Bin arithmetic, for everyone who fills or reads histograms. */
FM_API size_t fm_bins_index(fm_bins bins, uint64_t distance);
FM_API void fm_bins_range(fm_bins bins, size_t index, uint64_t *lo, uint64_t *hi);
FM_API const char *fm_bins_name(fm_bins bins);
FM_API bool fm_bins_from_name(const char *name, fm_bins *bins);

#ifdef __cplusplus
}
#endif
#endif
