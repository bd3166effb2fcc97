/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analyzer.h - references in, profile out: the streaming heart of the library.
 *
 *     fm_error error;
 *     fm_analyzer *analyzer;
 *     fm_profile *profile;
 *     fm_analyzer_options options = {.engine = "exact", .granularity = 64};
 *     fm_status status = fm_analyzer_create(&analyzer, &options, &error);
 *     while (status == FM_OK && more_blocks(blocks, &count))
 *         status = fm_analyzer_feed_blocks(analyzer, blocks, count, &error);
 *     if (status == FM_OK) status = fm_analyzer_profile(analyzer, &profile, &error); // at any time
 *     fm_analyzer_destroy(analyzer);
 *
 * An analyzer is not locked: one thread at a time. Different analyzers are independent.
 */
#ifndef FATHOM_ANALYZER_H
#define FATHOM_ANALYZER_H

#include <fathom/engines.h>
#include <fathom/profile.h>
#include <fathom/status.h>
#include <fathom/trace.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fm_analyzer_options {
    const char *engine;   /* NULL: "exact" */
    uint64_t granularity; /* power of two; 0: 1 */
    uint64_t bound;       /* 0: none */
    fm_bins bins;
    bool time_distances;
    uint64_t max_memory; /* bytes this analyzer may hold; 0: no limit */
    uint64_t seed;       /* of the hash table; 0: a random one. Results never depend on it */
    const char *isa;     /* NULL: the best this machine has; "avx512", "avx2", "portable" */
    /*
     * Threads that count, the one that feeds among them, at most 4096; 0: 1. Results never depend on it. One
     * thread does all where several make no sense: for short traces, and with engines other than "exact",
     * "parda" and "hp-rda". Several take more memory, up to a quarter of what is free. For distances in
     * order, time distances, attribution, and under max_memory, they count only what fm_analyze lets them
     * read for themselves; and several of these together, or times with a bound or FM_BINS_EXACT, one thread
     * counts.
     */
    unsigned threads;
    /*
     * Attribution: counts pairs of tags (batch->tag). Ranges of distances are cut at these edges, ascending,
     * the first 0, at most 250; NULL: no attribution.
     */
    const uint64_t *edges;
    size_t edge_count;
    /* Options of the engine alone, by name: "rate=0.01,hashes=8" (see fm_engine_option_at). NULL: none. */
    const char *engine_options;
    /* A sink (below) does not look at blocks and may be given none: several threads take less memory then. */
    bool distances_only;
    /* An access is one reference to its address, whatever its size; granularity must be 1 (or 0). The profile
     * says so (fm_profile.elements): it counts elements, and knows of no bytes. */
    bool elements;
    bool unused[6]; /* false: so that there is no padding at the end */
} fm_analyzer_options;

/* Processors that this process can use, at least 1: fewer than the machine has under taskset, in a cpuset, or
 * where its control group has a quota of processor time. More threads than that make nothing faster. */
FM_API unsigned fm_analyzer_processors(void);

typedef struct fm_analyzer fm_analyzer;

FM_SIZED(fm_status, fm_analyzer_create, fm_analyzer_options,
         (fm_analyzer **analyzer, const fm_analyzer_options *options, fm_error *error),
         (analyzer, options, error));
FM_API void fm_analyzer_destroy(fm_analyzer *analyzer);

/* References as a reader delivers them: addresses are cut into blocks of the analyzer's granularity. */
FM_API fm_status fm_analyzer_feed(fm_analyzer *analyzer, const fm_batch *batch, fm_error *error);
/* How many references these are: one for each block of that size that an access touches. */
FM_API uint64_t fm_batch_references(const fm_batch *batch, uint64_t granularity);
/* Block numbers as they are. */
FM_API fm_status fm_analyzer_feed_blocks(fm_analyzer *analyzer, const uint64_t *blocks, size_t count,
                                         fm_error *error);

/* Where single distances go (engines.h). Engines that tell the histogram only never call it. What was fed
 * before is counted first, which may fail. */
FM_API fm_status fm_analyzer_set_sink(fm_analyzer *analyzer, fm_distance_sink sink, void *context,
                                      fm_error *error);

/* With attribution: all pairs, in order of reuse, use, range. The caller frees *pairs. */
FM_API fm_status fm_analyzer_pairs(fm_analyzer *analyzer, fm_raw_pair **pairs, size_t *count,
                                   fm_error *error);

/* With attribution: references of range `from` on (and cold and beyond) are also told one by one, with their
 * index in the batch that was fed. Called at the end of each feed, at most once per 65536 references, in no
 * order. */
typedef fm_status (*fm_late_sink)(void *context, const fm_late *late, size_t count, fm_error *error);
FM_API fm_status fm_analyzer_set_late_sink(fm_analyzer *analyzer, uint32_t from, fm_late_sink sink,
                                           void *context, fm_error *error);

/* A copy of what is known so far; what was fed and not counted yet is counted first. */
FM_API fm_status fm_analyzer_profile(fm_analyzer *analyzer, fm_profile **profile, fm_error *error);

/*
 * A trace to its end, into analyzers that nothing was fed to yet: by as many threads as can help, and with
 * the results of fm_analyzer_feed, batch after batch. Of a trace in a file each thread of an analyzer
 * that can use several reads what it analyses; elsewhere, where there are tags, threads prepare batches for
 * the one that counts; several analyzers that have one thread each are fed side by side. Where threads meet
 * damage, in no order, all is begun anew, in order.
 *
 *     fm_error error;
 *     fm_reader *reader;
 *     fm_analyzer *analyzer;
 *     fm_profile *profile;
 *     fm_analyzer_options what = {.granularity = 64, .threads = 4};
 *     fm_analyze_options how = {.threads = 4};
 *     fm_status status = fm_reader_open(&reader, "trace.fathom", NULL, &error);
 *     if (status == FM_OK) status = fm_analyzer_create(&analyzer, &what, &error);
 *     if (status == FM_OK) status = fm_analyze(reader, &analyzer, 1, &how, &error);
 *     if (status == FM_OK) status = fm_analyzer_profile(analyzer, &profile, &error);
 *
 * Functions are called in the caller's thread, or while that waits.
 */
typedef struct fm_analyze_options {
    size_t threads;       /* that may help, the caller's among them; 0: 1 */
    fm_site_index *sites; /* not NULL: code sites become tags by it (trace.h) */
    void *context;        /* of these functions, each of which may be NULL */
    /* Damage, in the order of the trace; what is sound counts. An access of a size that no trace has is
     * damage too, and nothing behind it is read. NULL: damage is a failure. */
    void (*damage)(void *context, const fm_error *error);
    /* References so far, and the fraction that they are of all; below 0: nobody knows. */
    void (*progress)(void *context, uint64_t references, double fraction);
    /* An analyzer has met its max_memory. True: it is not used any more, may be destroyed, and the others go
     * on. NULL: that is a failure. */
    bool (*give_up)(void *context, fm_analyzer *analyzer);
    /* Before each batch. False: it is passed over. NULL: all are fed. */
    bool (*wants)(void *context, const fm_batch *batch);
} fm_analyze_options;
FM_SIZED(fm_status, fm_analyze, fm_analyze_options,
         (fm_reader *reader, fm_analyzer *const *analyzers, size_t count, const fm_analyze_options *options,
          fm_error *error),
         (reader, analyzers, count, options, error));

/* Bytes held now, and the most held at any moment (growth included). */
FM_API uint64_t fm_analyzer_memory(const fm_analyzer *analyzer);
FM_API uint64_t fm_analyzer_memory_peak(const fm_analyzer *analyzer);

#ifdef __cplusplus
}
#endif
#endif
