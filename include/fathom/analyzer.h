/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analyzer.h - references in, profile out: the streaming heart of the library.
 *
 *     fm_analyzer *analyzer;
 *     fm_analyzer_options options = {.engine = "exact", .granularity = 64};
 *     fm_analyzer_create(&analyzer, &options, &error);
 *     while (more) fm_analyzer_feed_blocks(analyzer, blocks, count, &error);
 *     fm_analyzer_profile(analyzer, &profile, &error);      // at any time; feeding may go on
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

/* The distance of a first touch, wherever distances are delivered one by one. */
#define FM_COLD UINT64_MAX
/* Under a bound: a distance that reached it (or, when cold_known is false, perhaps a first touch). */
#define FM_BEYOND (UINT64_MAX - 1)

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

FM_API fm_status fm_analyzer_create(fm_analyzer **analyzer, const fm_analyzer_options *options,
                                    fm_error *error);
FM_API void fm_analyzer_destroy(fm_analyzer *analyzer);

/* References as a reader delivers them: addresses are cut into blocks of the analyzer's granularity. */
FM_API fm_status fm_analyzer_feed(fm_analyzer *analyzer, const fm_batch *batch, fm_error *error);
/* Block numbers as they are. */
FM_API fm_status fm_analyzer_feed_blocks(fm_analyzer *analyzer, const uint64_t *blocks, size_t count,
                                         fm_error *error);

/* With attribution: a reference that is told one by one, see fm_analyzer_set_late_sink. */
typedef struct fm_late {
    uint32_t index; /* in the batch that was fed */
    uint32_t tag;   /* its site */
    uint32_t range; /* as in fm_raw_pair */
} fm_late;

/*
 * What is done to a batch first needs no engine, and another thread may do it while the analyzer is busy:
 * accesses are cut into blocks, and references that repeat the block before them, at distance 0, are counted
 * and left out. Analyzers with the same granularity prepare alike. Those that need every single reference
 * (for single distances, time distances, estimates; with attribution also under max_memory, or where every
 * reference is late) cannot. One with attribution counts the pairs of what it leaves out: what it prepared is
 * for itself, and for others without attribution.
 *
 * Where the analyzer is the slower of the two threads, the other may also digest what it prepared: most
 * references are to blocks that were touched shortly before, and their distances follow from some thousand
 * references alone. They are counted, and what is left is for this analyzer only. Results do not depend on
 * it.
 *
 * Threads may prepare and digest while another one feeds: each under a number of its own. Batches are fed in
 * the order of the trace, whoever prepared them.
 */
enum { FM_PREPARERS = 32 };
typedef struct fm_prepared {
    /* Number of the thread that prepares it, below FM_PREPARERS; set by the caller. With attribution, number
     * 0 needs some memory for every pair, the others have little each and one such memory together. */
    unsigned preparer;
    uint64_t *blocks;
    size_t count, capacity;
    uint64_t repeats;
    uint64_t accesses; /* of the batch */
    /* With attribution, for each block: the tags of the first and the last of its references in a row, and
     * the number in the batch of the first. */
    uint32_t *now, *leave, *reference;
    size_t tag_capacity[3];
    /* Digested: parts one after the other; of each, its blocks in the order of their first references, with
     * their places in the order of their last ones. Late ones among those that were counted. */
    const fm_analyzer *digested_by; /* NULL: not digested */
    struct fm_prepared_part *parts;
    size_t part_count, part_capacity;
    uint64_t *place;
    size_t place_capacity;
    fm_late *late;
    size_t late_count, late_capacity;
} fm_prepared; /* all 0 before its first use, but for the preparer; may be used again */
FM_API bool fm_analyzer_can_prepare(const fm_analyzer *analyzer);
/* FM_E_LIMIT: the accesses touch so many blocks that they would take much memory; nothing was done, and the
 * batch is to be fed as it is. */
FM_API fm_status fm_analyzer_prepare(fm_analyzer *analyzer, const fm_batch *batch, fm_prepared *prepared,
                                     fm_error *error);
/* Without a bound or max_memory, by the engine "exact". */
FM_API bool fm_analyzer_can_digest(const fm_analyzer *analyzer);
FM_API fm_status fm_analyzer_digest(fm_analyzer *analyzer, fm_prepared *prepared, fm_error *error);
FM_API fm_status fm_analyzer_feed_prepared(fm_analyzer *analyzer, const fm_prepared *prepared,
                                           fm_error *error);
FM_API void fm_prepared_free(fm_prepared *prepared);

/*
 * All that a supply has (fm_reader_share), fetched by the analyzer's threads themselves: faster than feeding,
 * which is one thread's work. For analyzers that can prepare and have several threads (the engine "exact").
 * The supply has at least as many workers. On failure, what was counted is of no use. FM_E_LIMIT: accesses
 * touch so many blocks each that they must be fed, or there are too many blocks for anybody.
 */
FM_API bool fm_analyzer_can_draw(const fm_analyzer *analyzer);
FM_API fm_status fm_analyzer_draw(fm_analyzer *analyzer, const fm_supply *supply, fm_error *error);

/* Every distance in trace order is also given to this function, in runs. It returns FM_OK to go on.
 * It is called before the run is counted: when it fails, the run is not counted. */
typedef fm_status (*fm_distance_sink)(void *context, const uint64_t *distances, size_t count,
                                      fm_error *error);
/* Engines that tell the histogram only never call it. */
FM_API void fm_analyzer_set_sink(fm_analyzer *analyzer, fm_distance_sink sink, void *context);

/*
 * With attribution: how often a block last used under tag `use` was used again under tag `reuse` at a
 * distance in a range. use is 0 for first touches and for what a bound forgot.
 */
typedef struct fm_raw_pair {
    uint32_t use, reuse;
    uint32_t
        range; /* index of an edge: [edges[range], edges[range + 1]); or FM_RANGE_COLD, FM_RANGE_BEYOND */
    uint64_t count;
} fm_raw_pair;
enum { FM_RANGE_COLD = 254, FM_RANGE_BEYOND = 255 };
/* All of them, in order of reuse, use, range. The caller frees *pairs. */
FM_API fm_status fm_analyzer_pairs(const fm_analyzer *analyzer, fm_raw_pair **pairs, size_t *count,
                                   fm_error *error);

/* With attribution: references of range `from` on (and cold and beyond) are also told one by one, with their
 * index in the batch that was fed. Called at the end of each feed, at most once per 65536 references, in no
 * order. */
typedef fm_status (*fm_late_sink)(void *context, const fm_late *late, size_t count, fm_error *error);
FM_API void fm_analyzer_set_late_sink(fm_analyzer *analyzer, uint32_t from, fm_late_sink sink, void *context);

/* A copy of what is known so far. */
FM_API fm_status fm_analyzer_profile(const fm_analyzer *analyzer, fm_profile **profile, fm_error *error);

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
