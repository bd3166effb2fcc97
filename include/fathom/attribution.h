/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attribution.h - which code re-uses which data too late: the part of a profile that points into a program.
 *
 * A *site* is an instruction that touches data (with call paths: an instruction reached on one path). Every
 * reference that is not a first touch closes a *pair*: the site that used the block last, and the site that
 * uses it again. For each pair there is the number of such reuses and the histogram of their distances. The
 * histogram's ranges are cut at `edges`: powers of two, and the sizes (in blocks) of the caches that were
 * asked about, so that misses at those sizes are exact.
 *
 *     for every site s:  sum of count over pairs with reuse == s  ==  references made at s
 *     over all pairs:    sum of count == references; of cold == cold; of beyond == beyond
 *
 * An *object* is what an address belongs to: a global variable, the heap blocks allocated at one place, a
 * thread's stack. Objects are counted for late references only: those whose distance is at least late_from,
 * and first touches.
 *
 * All strings belong to the attribution (fm_attribution_intern) and live as long as it.
 */
#ifndef FATHOM_ATTRIBUTION_H
#define FATHOM_ATTRIBUTION_H

#include <fathom/status.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

struct fm_bin; /* profile.h */

/* No site, module, path or object. */
#define FM_NONE UINT32_MAX

/* A file with code: the program, a shared library. */
typedef struct fm_module {
    const char *path;
    const char *build_id; /* hexadecimal; NULL: unknown */
    bool unseen;          /* its own accesses are not in the profile (not compiled with fathom cc) */
    uint64_t bias;        /* address in memory - address in the file, at the time of the run */
} fm_module;

/* Where code comes from. Anything may be unknown: NULL, 0. */
typedef struct fm_frame {
    const char *function; /* demangled */
    const char *file;     /* as the debug information has it, made absolute where it can be */
    uint32_t line;
    uint32_t column;
} fm_frame;

typedef struct fm_site {
    uint32_t module;  /* index; FM_NONE: code made at run time, or a place in the source alone */
    uint64_t address; /* in the module's file (as objdump shows it); in memory where there is no module; 0:
                         a place in the source, frames are all that is known (fm_attribution_add_places) */
    uint32_t path;    /* index of the call path that leads to it; FM_NONE: not asked for */
    /* Resolved by fm_symbols_resolve; frames[0] is the innermost inlined function, the last one the function
     * itself. Without any: nothing is known but module and address. */
    size_t frame_count;
    const fm_frame *frames;
    /* Where there are no frames with function names: the symbol of the ELF file whose code this is; of a
     * function without one "gawk+0x6dd58", its file and where it begins there; or NULL. */
    const char *symbol;
    uint64_t symbol_offset; /* address - that of the symbol, or of the beginning */
} fm_site;

/* A node in the tree of calls: `call` (index of a site: the call instruction) within `parent`. */
typedef struct fm_call_path {
    uint32_t parent; /* FM_NONE: outermost */
    uint32_t call;
} fm_call_path;

/* Counts of distances between edges: ascending, only non-empty ones (the same shape as fm_histogram). */
typedef struct fm_pair {
    uint32_t use;   /* site; FM_NONE for first touches and for what a bound forgot */
    uint32_t reuse; /* site */
    uint64_t count; /* == cold + beyond + sum of bins */
    uint64_t cold, beyond;
    size_t bin_count;
    const struct fm_bin *bins; /* inclusive ranges */
} fm_pair;

typedef enum fm_object_kind {
    FM_OBJECT_GLOBAL = 0,       /* a variable in a module */
    FM_OBJECT_HEAP = 1,         /* all blocks that were allocated at one place */
    FM_OBJECT_STACK = 2,        /* of one thread, or of all that came late (thread 0) */
    FM_OBJECT_MODULE = 3,       /* data of a module that no variable's name covers */
    FM_OBJECT_OTHER = 4,        /* mapped memory, and what is not known */
    FM_OBJECT_THREAD_LOCAL = 5, /* a thread-local variable of a module, in all threads; without a name: what
                                   else a module has there */
    FM_OBJECT_ARRAY = 6,        /* an array of source code that was read and not run (static.h) */
} fm_object_kind;

typedef struct fm_object {
    fm_object_kind kind;
    const char *name; /* of a variable; NULL: none */
    uint32_t module;  /* GLOBAL, MODULE, THREAD_LOCAL */
    uint64_t address; /* GLOBAL: in the module's file; THREAD_LOCAL: from the beginning of what the module has
                         in a thread; HEAP: 0 */
    uint64_t size;    /* GLOBAL, THREAD_LOCAL: bytes. HEAP: bytes allocated in all */
    uint64_t blocks;  /* HEAP: how many allocations */
    uint32_t allocation; /* HEAP: call path of the allocation (its innermost call is the call of malloc); else
                            FM_NONE */
    uint32_t thread;     /* STACK */
    /* Where uses are estimated from samples: */
    uint64_t error;   /* standard error of its uses in all; 0: exact, or not known */
    uint64_t samples; /* observations that they rest on */
} fm_object;

/* Late references that a site makes to an object. */
typedef struct fm_object_use {
    uint32_t object, site;
    uint64_t count; /* == cold + beyond + sum of bins */
    uint64_t cold, beyond;
    size_t bin_count;
    const struct fm_bin *bins;
} fm_object_use;

/*
 * A source file that frames name, as it was when the profile was made (fm_attribution_record_sources).
 * Whoever shows text beside lines of the profile shows that of a file with this sum, or the text that is
 * here: a file that has changed has other lines, and a profile that comes from somebody else may name any
 * file.
 */
typedef struct fm_source {
    const char *path;   /* as fm_frame.file has it */
    const char *sha256; /* of its bytes: 64 digits, 0-9 a-f. NULL: not known, or not the same in all runs that
                           were added up */
    uint64_t size;      /* bytes */
    const char *text;   /* NULL: not asked for */
    bool newer;         /* than the files with the code: its lines may have moved */
} fm_source;

/* A short checksum of every line of a source file, six hexadecimal digits each: so that lines can be matched
 * with those of a later state of the file when this one is gone (docs/PROFILE.md). */
typedef struct fm_line_sums {
    const char *path; /* as fm_frame.file has it */
    const char *sums;
} fm_line_sums;

/* Where the data of an access came from, as the processor tells it. */
typedef enum fm_memory_level {
    FM_LEVEL_UNKNOWN = 0,
    FM_LEVEL_L1 = 1,
    FM_LEVEL_ON_ITS_WAY = 2, /* another access had asked for it (line fill buffer) */
    FM_LEVEL_L2 = 3,
    FM_LEVEL_L3 = 4,
    FM_LEVEL_OTHER_CACHE = 5, /* of another processor or socket */
    FM_LEVEL_MEMORY = 6,
    FM_LEVEL_FAR_MEMORY = 7, /* of another socket */
    FM_LEVEL_UNCACHED = 8
} fm_memory_level;
enum { FM_MEMORY_LEVELS = 9 };

/* What a processor told of sampled accesses of a site, beside their addresses. */
typedef struct fm_site_latency {
    uint32_t site;
    uint64_t samples;                  /* == sum of levels */
    uint64_t timed;                    /* of these, those whose latency is known */
    uint64_t cycles;                   /* of those together */
    uint64_t levels[FM_MEMORY_LEVELS]; /* by fm_memory_level */
} fm_site_latency;

/* How sure the late references of a pair are, where these are estimated from samples: those at a distance of
 * late_from and over, and first touches. */
typedef struct fm_pair_error {
    uint32_t use, reuse; /* sites; or tags (fm_attribution_add_pair_errors) */
    uint64_t error;      /* standard error of their number */
    uint64_t samples;    /* observations that they rest on */
} fm_pair_error;

typedef struct fm_attribution {
    size_t edge_count;
    const uint64_t *edges; /* ascending, from 0: ranges are [edges[i], edges[i+1] - 1] */
    uint64_t late_from;    /* objects are counted from this distance on */
    size_t module_count, site_count, path_count, pair_count, object_count, object_use_count;
    fm_module *modules;
    fm_site *sites;
    fm_call_path *paths;
    fm_pair *pairs; /* by count, largest first */
    fm_object *objects;
    fm_object_use *object_uses;
    struct fm_arena *arena; /* holds every string and every array that the above point to */
    size_t source_count;
    fm_source *sources; /* by path (strcmp), each once; NULL: never recorded */
    size_t line_sum_count;
    fm_line_sums *line_sums; /* by path, of files that sources knows */
    size_t latency_count;
    fm_site_latency *latencies; /* by site, each once; only where counters of the processor told them */
    size_t pair_error_count;
    fm_pair_error *pair_errors; /* by reuse, then by use, each pair once; only of what is estimated */
} fm_attribution;

FM_API fm_status fm_attribution_create(fm_attribution **attribution, fm_error *error); /* empty */
FM_API void fm_attribution_destroy(fm_attribution *attribution);                       /* NULL is fine */
/* Memory that lives as long as the attribution, zeroed; a string made its own (equal ones share). NULL: no
 * memory. */
FM_API void *fm_attribution_allocate(fm_attribution *attribution, size_t count, size_t size);
FM_API const char *fm_attribution_intern(fm_attribution *attribution, const char *text);

/*
 * How often a block last used under tag `use` was used again under tag `reuse` at a
 * distance in a range. use is 0 for first touches and for what a bound forgot.
 */
typedef struct fm_raw_pair {
    uint32_t use, reuse;
    uint32_t
        range; /* index of an edge: [edges[range], edges[range + 1]); or FM_RANGE_COLD, FM_RANGE_BEYOND */
    uint64_t count;
} fm_raw_pair;
enum { FM_RANGE_COLD = 254, FM_RANGE_BEYOND = 255 };

/* A reference that is reported by itself, because it misses the smallest cache. */
typedef struct fm_late {
    uint32_t index; /* in its batch */
    uint32_t tag;   /* its site */
    uint32_t range; /* as in fm_raw_pair */
} fm_late;

/* The ranges that bins and pairs will have; to be set first. Copied. */
FM_API fm_status fm_attribution_set_edges(fm_attribution *attribution, const uint64_t *edges, size_t count,
                                          uint64_t late_from, fm_error *error);
/*
 * Sites that are places in the source, without module and address: for code that was read and not run. Of
 * each place file and line must be there, column and function may be; texts are copied. sites[i] gets the
 * index of the site of places[i]: equal places have one, also those of an earlier call. All at once rather
 * than one by one: every call copies the table of sites. On failure no site has been added.
 *
 *     fm_error error;
 *     fm_attribution *attribution;
 *     const uint64_t edges[] = {0, 512};
 *     const fm_frame places[] = {{"fill", "/src/a.c", 12, 5}, {"scan", "/src/a.c", 20, 0}};
 *     const fm_raw_pair pairs[] = {{1, 2, 1, 1000}, {0, 1, FM_RANGE_COLD, 1000}};
 *     uint32_t map[3] = {FM_NONE}; // tags are from 1 on
 *     fm_status status = fm_attribution_create(&attribution, &error);
 *     if (status == FM_OK) status = fm_attribution_set_edges(attribution, edges, 2, 512, &error);
 *     if (status == FM_OK) status = fm_attribution_add_places(attribution, places, 2, map + 1, &error);
 *     if (status == FM_OK) status = fm_attribution_add_pairs(attribution, pairs, 2, map, 3, &error);
 */
FM_API fm_status fm_attribution_add_places(fm_attribution *attribution, const fm_frame *places, size_t count,
                                           uint32_t *sites, fm_error *error);
/* Pairs as an analyzer counted them, map[tag] being the index of a tag's site. Pairs of the same two sites
 * are joined. A tag that the map does not have becomes FM_NONE for a use, and one site "unknown" for a reuse.
 */
FM_API fm_status fm_attribution_add_pairs(fm_attribution *attribution, const fm_raw_pair *raw, size_t count,
                                          const uint32_t *map, size_t map_count, fm_error *error);
/* How sure these pairs are; raw has tags. Those of the same two sites are joined, as errors that may go
 * together. Those whose reuse the map does not have are left out. */
FM_API fm_status fm_attribution_add_pair_errors(fm_attribution *attribution, const fm_pair_error *raw,
                                                size_t count, const uint32_t *map, size_t map_count,
                                                fm_error *error);

/*
 * Drops the sites and call paths that no pair, object, use of an object or latency refers to; the others get
 * new numbers, in the same order. To be called when all of these are there, before fm_symbols_resolve: a
 * collection describes all code that ran, also what the options left out. On failure nothing has changed.
 */
FM_API fm_status fm_attribution_drop_unused(fm_attribution *attribution, fm_error *error);

/* Misses at a fully associative LRU cache of that many blocks: exact where blocks is one of the edges, else
 * the bin that it falls into is spread evenly. */
FM_API double fm_pair_misses(const fm_pair *pair, uint64_t blocks);
FM_API double fm_object_use_misses(const fm_object_use *use, uint64_t blocks); /* blocks >= late_from */

/*
 * Fills in frames and symbols of all sites, and names of global variables, from the modules' ELF and DWARF
 * (libdw). What cannot be resolved stays empty; notes (may be NULL) gets one line for each module that
 * had no debug information or whose file has changed since, with what to do about it. libdw does not survive
 * every lack of memory: it runs in a child process that is forked and waited for here. Where that ends early,
 * names are missing and a note says so.
 */
FM_API fm_status fm_symbols_resolve(fm_attribution *attribution, FILE *notes, fm_error *error);

/*
 * Fills in sources: the checksum of every file that a frame names and that can be read now, and with_text its
 * text. To be called as soon as the frames are there. What cannot be read is left out. notes (may be NULL)
 * gets one line where files are newer than the code that was made of them.
 */
FM_API fm_status fm_attribution_record_sources(fm_attribution *attribution, bool with_text, FILE *notes,
                                               fm_error *error);
/* What is known of a file; NULL: nothing. */
FM_API const fm_source *fm_attribution_source(const fm_attribution *attribution, const char *path);

/* "function (file.c:12)", "function+0x1f in libx.so", "0x4011d0 in prog": a site in one line of text. Returns
 * buffer. */
FM_API char *fm_site_text(const fm_attribution *attribution, uint32_t site, char *buffer, size_t size);
/* "global `table`", "heap block from parse (x.c:40)", "stack of thread 1". */
FM_API char *fm_object_text(const fm_attribution *attribution, uint32_t object, char *buffer, size_t size);

#ifdef __cplusplus
}
#endif
#endif
