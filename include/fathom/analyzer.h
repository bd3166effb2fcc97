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
    uint64_t first_time; /* the clock's value at the first reference: for tests of overflow; usually 0 */
    const char *isa;     /* NULL: the best this machine has; "avx512", "avx2", "portable" */
    /*
     * Threads that count, the one that feeds among them; 0: 1. Results never depend on it. One thread does
     * all where several make no sense: for short traces, for distances in order, for time distances, for
     * attribution, under max_memory, and with engines other than "exact", "parda" and "hp-rda".
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
} fm_analyzer_options;

typedef struct fm_analyzer fm_analyzer;

FM_API fm_status fm_analyzer_create_sized(fm_analyzer **analyzer, const fm_analyzer_options *options,
                                          size_t options_size, fm_error *error);
static inline fm_status fm_analyzer_create(fm_analyzer **analyzer, const fm_analyzer_options *options,
                                           fm_error *error)
{
    return fm_analyzer_create_sized(analyzer, options, sizeof *options, error);
}
FM_API void fm_analyzer_destroy(fm_analyzer *analyzer);

/* References as a reader delivers them: addresses are cut into blocks of the analyzer's granularity. */
FM_API fm_status fm_analyzer_feed(fm_analyzer *analyzer, const fm_batch *batch, fm_error *error);
/* How many references these are: one for each block of that size that an access touches. */
FM_API uint64_t fm_batch_references(const fm_batch *batch, uint64_t granularity);
/* Block numbers as they are. */
FM_API fm_status fm_analyzer_feed_blocks(fm_analyzer *analyzer, const uint64_t *blocks, size_t count,
                                         fm_error *error);

/*
 * All that a supply has (fm_reader_share), fetched by the analyzer's threads themselves: faster than feeding,
 * which is one thread's work. For analyzers that can prepare and have several threads (the engine "exact").
 * The supply has at least as many workers. On failure, what was counted is of no use. FM_E_LIMIT: accesses
 * touch so many blocks each that they must be fed, or there are too many blocks for anybody.
 */
FM_API bool fm_analyzer_can_draw(const fm_analyzer *analyzer);
FM_API fm_status fm_analyzer_draw(fm_analyzer *analyzer, const fm_supply *supply, fm_error *error);

/* Every reference in trace order is also given to this function, in runs: its block (blocks is NULL with an
 * engine that works on a graphics card) and its distance. It returns FM_OK to go on. It is called before the
 * run is counted: when it fails, the run is not counted. */
typedef fm_status (*fm_distance_sink)(void *context, const uint64_t *blocks, const uint64_t *distances,
                                      size_t count, fm_error *error);
/* Engines that tell the histogram only never call it. What was fed before is counted first, which may fail.
 */
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

/* Bytes held now, and the most held at any moment (growth included). */
FM_API uint64_t fm_analyzer_memory(const fm_analyzer *analyzer);
FM_API uint64_t fm_analyzer_memory_peak(const fm_analyzer *analyzer);

typedef struct fm_engine_info {
    const char *name;
    const char *summary;
    bool exact;
    bool unbounded;      /* takes no bound */
    bool histogram_only; /* estimates the histogram as a whole: tells no single distances, times or pairs */
    bool on_card;        /* needs a graphics card, and the module for it */
    bool no_sites;       /* tells no pairs of code sites */
} fm_engine_info;
FM_API const fm_engine_info *fm_engine_at(size_t index); /* NULL past the end */

/*
 * Options that only one engine, or a few, have: each engine describes its own. They are given as one text,
 * NAME=VALUE separated by commas, without blanks; the last mention of a name counts. A flag's name alone
 * means yes.
 */
typedef enum fm_option_type {
    FM_OPTION_COUNT,      /* a whole number from least to most; suffixes K, M, G, T = 2^10, 2^20, … */
    FM_OPTION_SHARE,      /* a number over 0 and up to 1 */
    FM_OPTION_OPEN_SHARE, /* a number between 0 and 1, both excluded */
    FM_OPTION_FLAG,       /* yes or no */
} fm_option_type;
typedef struct fm_engine_option {
    const char *name;
    fm_option_type type;
    uint64_t least, most; /* of a count */
    const char *usual;    /* its value where it is not given; NULL: the meaning says */
    const char *excludes; /* an option that cannot be given beside it; or NULL */
    const char *needs;    /* one that must be given beside it; or NULL */
    const char *meaning;  /* one line */
} fm_engine_option;
/* NULL past the last option of the engine, and where there is no such engine. engine NULL: "exact". */
FM_API const fm_engine_option *fm_engine_option_at(const char *engine, size_t index);
/* Which values it takes, in words: "a whole number from 1 to 32". Returns text. */
FM_API const char *fm_engine_option_range(const fm_engine_option *option, char *text, size_t size);
/* What fm_analyzer_create will say of them: FM_E_ARGUMENT names the engine, the option and what it takes. */
FM_API fm_status fm_engine_options_check(const char *engine, const char *options, fm_error *error);
/* "64", "0x40", "4K", "1M": false when text is not wholly that, or overflows. */
FM_API bool fm_parse_count(const char *text, uint64_t *value);

/*
 * "gpu" where there is a graphics card that can be used and so many references are enough for it to be worth
 * its start; otherwise "exact". 0: nobody knows how many.
 */
FM_API const char *fm_engine_choose(uint64_t references);
/* Names of the instruction sets this machine can run, best first; NULL past the end. */
FM_API const char *fm_isa_at(size_t index);

#ifdef __cplusplus
}
#endif
#endif
