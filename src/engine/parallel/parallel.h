/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parallel.h - what the files of `exact` with several threads share: parallel.c (the engine),
 * parallel_chunk.c (what follows from a chunk of the trace alone), parallel_draw.c (from larger ones, which
 * threads fetch for themselves), parallel_judge.c (how large those should be), parallel_phase.c,
 * parallel_table.c and parallel_ranges.c (what does not follow, and who does what next), parallel_order.c
 * (single distances in order, times, and pairs of tags). docs/PARALLEL.md says why it is right and what it
 * costs.
 *
 * The trace goes through in *chunks*. A thread takes a chunk and finds all distances that follow from its
 * cache chunks (exact_count.c) alone, or where it pays, from all of it. What is left are the chunk's
 * *events*: first touches of cache chunks, or of the chunk, in order, each with the new position of its
 * block: those of a cache chunk, or of the chunk, are in the order of last touches.
 *
 * Several chunks make a *phase*. All blocks that were ever touched stand in a table that is divided by hash
 * into *partitions*, and in a shared window that is divided by position into *ranges*.
 *
 *     table    a thread has a partition: it looks up the events that fall to it and gives their blocks
 *              their new positions. Event number e had position q(e).
 *     split    a thread has some event chunks: it sorts their events by ranges of q, counting for each how
 * many before it in its event chunk are in a higher range. range    a thread has a range: it works off the
 * events there in order, with the kernels of `exact`.
 *
 * The distance of event e is (bits set after q(e), those of the phase's E new positions among them) - (E - e)
 * - (events before e with a larger q). The bits in q's own range are counted as they are cleared; of the
 * others, how many there were when the phase began, and how many were cleared before, is known by then.
 *
 * With tags (code sites), an event has two: that of the reference, and that under which the chunk leaves the
 * block. The table keeps the latter beside the position, as that of `exact` does. So each event gets the tag
 * of the touch before with its old position, and whoever finds its distance counts the pair, in a table of
 * his own: the order in which pairs are counted does not matter. Only chunks that are drawn have tags.
 *
 * In order (parallel_order.c), each reference has a place in its chunk for its distance, and each event the
 * numbers of the first and the last reference to its block there: another step takes the distances of events
 * to these places, and the thread that feeds delivers the chunks. With times, the table has that of each
 * block's last touch, too.
 *
 * Two or three threads that are fed do without that: there is one partition and one range, nothing is sorted,
 * and what happens at the same time are the chunks of one phase, the table of the phase before, and the
 * window of the one before that.
 */
#ifndef FATHOM_ENGINE_PARALLEL_PARALLEL_H
#define FATHOM_ENGINE_PARALLEL_PARALLEL_H

#include "base/crew.h"
#include "base/error.h"
#include "engine/exact/exact_kernels.h"
#include "engine/exact/exact_state.h"

#include <pthread.h>

/*
 * ==== shared window ====
 *
 * The recency window of `exact` (exact_kernels.h) for several threads at once.
 *
 * Lines and regions are the same; above the regions there is only one number for each, its live bits. In each
 * phase the regions are dealt out: a thread gets a *range* of consecutive regions, builds the counters above
 * them for itself (fm_shared_window_view: an ordinary recency window over these regions, for the ordinary
 * kernels), clears bits, and writes back what is still live. Ranges share no cache line, so threads need no
 * locks.
 *
 * New bits come in runs, each beginning with a new line and set ahead of time. Time: O(regions) a phase
 * beside the work on bits. Space: 1.3 bits a position, and the views' counters: 4.3 bytes a region.
 */

typedef struct fm_shared_window {
    uint64_t *words; /* as in fm_recency_window */
    uint16_t *lines;
    uint32_t *live;   /* of each region */
    uint64_t *before; /* live bits in the regions before it: only after fm_shared_window_rank_regions */
    uint64_t regions; /* there is room for */
    uint64_t used;    /* regions in use, from the first on */
    uint64_t next;    /* between begin and end: the line that the next run begins with */
} fm_shared_window;

/* A window without bits. */
fm_status fm_shared_window_create(fm_shared_window *window, fm_error *error);
void fm_shared_window_clear(fm_shared_window *window); /* safe on a zeroed one */
uint64_t fm_shared_window_memory(const fm_shared_window *window);

/* Lines that a run of `count` bits takes: it begins with a new line. Bit i of a run has the position
 * fm_shared_window_offset(i) after its first one's. */
static inline uint64_t fm_shared_window_lines(uint64_t count)
{
    return (count + FM_LINE_BITS - 1) / FM_LINE_BITS;
}
static inline uint64_t fm_shared_window_offset(uint64_t index)
{
    return (index / FM_LINE_BITS << FM_LINE_SHIFT) + index % FM_LINE_BITS;
}

/* Regions that so many lines take. */
static inline uint64_t fm_shared_window_regions(uint64_t lines)
{
    return (lines + FM_REGION_LINES - 1) / FM_REGION_LINES;
}

/* Whether so many lines fit behind the regions in use. */
static inline bool fm_shared_window_fits(const fm_shared_window *window, uint64_t lines)
{
    return window->used + fm_shared_window_regions(lines) <= window->regions;
}

/* Runs that fit are added one after the other between begin and end; add returns the first one's position. */
void fm_shared_window_begin(fm_shared_window *window);
uint64_t fm_shared_window_add(fm_shared_window *window, uint64_t count);
void fm_shared_window_end(fm_shared_window *window);

/*
 * A restart, when no run fits any more: make room for `live` blocks and runs of `lines` lines (may fail, then
 * nothing has changed); rank the regions; give every block its new position by its rank; lay out anew.
 * Ranks count from 1; the block of rank r gets fm_shared_window_packed_position(r).
 */
fm_status fm_shared_window_reserve(fm_shared_window *window, uint64_t live, uint64_t lines, fm_error *error);
/* What it holds after reserve. */
uint64_t fm_shared_window_memory_for(const fm_shared_window *window, uint64_t live, uint64_t lines);
void fm_shared_window_rank_regions(fm_shared_window *window);
void fm_shared_window_restart(fm_shared_window *window, uint64_t live);

/* Bits set at positions up to and including this one, which must be live. */
static inline uint64_t fm_shared_window_rank(const fm_shared_window *window, uint64_t position)
{
    return window->before[position >> FM_REGION_SHIFT] + window->lines[position >> FM_LINE_SHIFT] +
           fm_recency_line_rank(window->words, position);
}

/* The position of the bit with this rank, after fm_shared_window_rank_regions. */
uint64_t fm_shared_window_select(const fm_shared_window *window, uint64_t rank);

/* Position 0 marks a free slot in the block table: no bit is ever there. */
static inline uint64_t fm_shared_window_packed_position(uint64_t rank)
{
    return fm_recency_window_packed_position(rank);
}

/* Bytes that the counters of a view over so many regions take. */
uint64_t fm_shared_window_view_bytes(uint64_t regions);
/*
 * Regions [first, end) as a window of their own, for kernels->far; positions count from the first region on.
 * counters: room for view_bytes(end - first), in whole cache lines.
 */
void fm_shared_window_view(const fm_shared_window *window, uint64_t first, uint64_t end, void *counters,
                           fm_recency_window *view);
/* Writes back what is live. The view must not be used any more. */
void fm_shared_window_view_done(fm_shared_window *window, uint64_t first, fm_recency_window *view);

/* What a thread takes at most, beside the blocks of drawn chunks. */
#define FM_THREAD_BYTES (UINT64_C(24) << 20)

enum { FM_SAMPLES = 64 }; /* positions looked at in each partition before ranges are cut */

/* References of a chunk; and how many there must be before several threads are worth it. Only tests set them
 * to anything else. */
extern FM_TUNABLE size_t fm_parallel_chunk, fm_parallel_least;
/* References of the smallest chunk that a thread fetches for itself; of one from which on larger ones are
 * taken only where they are needed; and how many first touches it should have at most, 0: as many as there is
 * memory for. Likewise. */
extern FM_TUNABLE uint64_t fm_parallel_drawn_least, fm_parallel_drawn_most, fm_parallel_drawn_events;
/* References of a thread from which on its chunks drop blocks, under a bound. Likewise. */
extern FM_TUNABLE uint64_t fm_parallel_long_share;

/*
 * Events are sorted in *event chunks* that stay in the first-level cache, by partitions and then by ranges;
 * begin says where in the event chunk each partition's (range's) events begin, and where the last one's end.
 * With one partition there is nothing to sort, and the whole chunk is an event chunk.
 */
enum { FM_EVENT_CHUNK = FM_CACHE_CHUNK };

typedef struct fm_event_chunk {
    size_t first; /* its first event's place in the arrays of its chunk */
    size_t count;
    uint32_t begin[FM_PARTITIONS + 1];
} fm_event_chunk;

/* How many first touches so many references had; no references: not known. */
typedef struct fm_chunk_growth_point {
    uint64_t references, events;
} fm_chunk_growth_point;

/* Of all chunks of one size, added up. */
typedef struct fm_chunk_growth {
    uint64_t chunks;
    fm_chunk_growth_point quarter, half, end;
} fm_chunk_growth;

/* In order, of every reference of a chunk. In pages. */
typedef struct fm_chunk_order {
    uint32_t *distances; /* FM_COLD and FM_BEYOND as the lower half of these */
    size_t distance_bytes;
    uint64_t *blocks; /* NULL: nobody looks at them */
    size_t block_bytes;
} fm_chunk_order;

/*
 * Arrays are used over and over:
 *     blocks   references · by partitions: the events' keys, then the old positions of their blocks, with
 *              tags as they stand in the table · by ranges: these
 *     known    by partitions: their blocks' new positions, from the chunk's first on · by ranges: what is
 *              known of their distances
 *     group    the partitions of events, in order
 *     now      with tags, in order, and then by ranges: those of events
 *     leave    with tags, by partitions: those under which their blocks are left
 * In order:
 *     known    by ranges, at the end: distances
 *     group    in the end the ranges of events, in order
 *     now      in order: the number in the chunk of the reference that is the event
 *     leave    by partitions: with times, the number of the last reference to its block
 *     old_times  by partitions: with times, those of the blocks
 */
typedef struct fm_thread_chunk {
    void *pages; /* of all arrays */
    size_t room; /* references, or events, that there is room for; 0: no arrays yet */
    uint64_t *blocks;
    uint32_t *known;
    uint8_t *group;
    uint32_t *now, *leave; /* NULL without tags, and without order */
    uint64_t *old_times;   /* NULL without times */
    fm_chunk_order order;
    fm_event_chunk *event_chunks;
    size_t count; /* references, in its own arrays */
    size_t events, event_chunk_count;
    /* Under a bound, of a chunk that touched more blocks than it: event chunks from tail_event_chunk on are
     * its last blocks, which only get positions; behind event_chunk_count are those of blocks that are only
     * to be seen. */
    size_t tail_event_chunk, seen_event_chunks;
    uint64_t firsts; /* first touches, as far as they are known */
    uint64_t unheld; /* references to blocks that the chunk's engine did not hold */
    uint64_t forgot; /* so many that are beyond the bound, of a chunk whose others are not known: else 0 */
    /* Drawn: fetched by the thread that has the chunk. */
    bool drawn, by_cache_chunks;
    bool drops; /* its engine drops blocks beyond the bound */
    fm_trace_range range;
    uint64_t wanted, fetched;            /* references */
    fm_chunk_growth_point quarter, half; /* when so much of it, at most, had been fetched */
    uint64_t expected;                   /* blocks, about */
    bool distinct;                       /* no block has two events */
    uint64_t base;                       /* number of its first event in the phase */
    uint64_t position;                   /* of its run in the window */
    uint64_t time;                       /* of its first reference */
    bool done;                           /* its events are known */
} fm_thread_chunk;

typedef struct fm_partition {
    fm_block_table table;
    fm_seen_set *seen;  /* only under a bound */
    bool dropping;      /* blocks were dropped: until then, what is not held is new, and the set is empty */
    uint64_t fresh;     /* events of the phase whose block was not held: new ones, */
    uint64_t forgotten; /* and known ones, or nobody can know */
    uint64_t moved;     /* events of tails whose block was held */
} __attribute__((aligned(64))) fm_partition;

/* Events in order. */
typedef struct fm_events {
    size_t count;
    const uint64_t *keys;
    const uint32_t *positions; /* NULL: consecutive ones */
    /* With tags: of the references; and under which their blocks are left. */
    const uint32_t *now, *leave;
} fm_events;

/* Events that are not yet in an event chunk. */
typedef struct fm_held_events {
    size_t count;
    uint64_t key[FM_EVENT_CHUNK];
    uint32_t position[FM_EVENT_CHUNK];
    uint32_t now[FM_EVENT_CHUNK], leave[FM_EVENT_CHUNK]; /* with tags */
} fm_held_events;

/* Events of one partition, from several event chunks, whose positions are looked up together. */
typedef struct fm_gathered_events {
    size_t count, segments;
    uint64_t key[FM_EVENT_CHUNK];
    size_t place[FM_EVENT_CHUNK];    /* of each segment: where in the chunk its positions go, */
    uint32_t length[FM_EVENT_CHUNK]; /* and how many */
} fm_gathered_events;

/* Events of one partition that are looked up together: they stand in a row. */
typedef struct fm_table_lookups {
    size_t count;
    uint64_t *keys;
    const uint32_t *offsets; /* of their new positions, */
    uint64_t position;       /* from here on */
    const uint32_t *leave;   /* with tags; or with times: numbers of last references */
    uint64_t time;           /* with times: of reference 0, */
    uint64_t *old_times;     /* and where those of the blocks go */
    bool tail;               /* of a tail: nothing is to be counted */
    fm_bucket *home[FM_LOOKUPS];
} fm_table_lookups;

/* An event chunk's events in order. */
typedef struct fm_ordered_events {
    uint64_t position[FM_EVENT_CHUNK];
    uint8_t range[FM_EVENT_CHUNK];
    uint32_t now[FM_EVENT_CHUNK];  /* with tags */
    uint64_t pair[FM_EVENT_CHUNK]; /* of those whose block was not held */
} fm_ordered_events;

/* What each thread has for itself. */
typedef struct fm_parallel_worker {
    fm_exact *local;
    fm_exact *whole; /* for drawn chunks as a whole; NULL: there was none yet */
    fm_first_touches firsts;
    fm_tally tally;
    fm_tally times;             /* with times */
    struct fm_ordered_run *run; /* in order */
    void *counters;             /* of views */
    size_t counter_bytes;
    uint64_t bytes; /* of the three: atomic */
    union {
        fm_held_events held; /* while a chunk is worked off */
        struct {             /* in the steps table, */
            fm_table_lookups looked_up[2];
            uint64_t looked_for[FM_LOOKUPS];
        };
        fm_ordered_events ordered; /* split */
        fm_lookups cleared[2];     /* and range */
    };
    fm_bucket *soon[FM_LOOKUPS];
    fm_gathered_events gathered;
    uint64_t depth[FM_EVENT_CHUNK];
    uint32_t position[FM_EVENT_CHUNK], leave[FM_EVENT_CHUNK];
    fm_pairs pairs; /* with tags */
} __attribute__((aligned(64))) fm_parallel_worker;

typedef struct fm_parallel_phase {
    uint64_t first; /* number of its first chunk */
    size_t count;   /* chunks */
    /* Under the crew's lock: */
    unsigned step; /* the next one */
    size_t tasks, tasks_begun, tasks_done;
    /* Written by steps with one task: */
    uint64_t events;
    uint64_t lines; /* of the window that its new positions take */
    bool restarting;
    uint64_t dropped; /* at a restart: blocks of this rank or below go */
    uint64_t regions; /* of the window, its own last; the next phase may be adding more by now */
    uint64_t live;    /* blocks held after it */
    /* Written by the step table, each partition its own: */
    uint32_t samples[FM_PARTITIONS][FM_SAMPLES]; /* regions of old positions */
    size_t sample_count[FM_PARTITIONS];
    /* Written by the step cut: */
    size_t range_count;
    uint64_t range_region[FM_RANGES + 1];
    uint32_t range_above[FM_RANGES]; /* bits in the ranges above, at the phase's beginning */
} fm_parallel_phase;

typedef enum fm_parallel_mode {
    FM_GATHERING, /* the first references: perhaps there will not be many */
    FM_ALONE,     /* few, or somebody wants distances in order: all goes through `alone` */
    FM_TOGETHER,
} fm_parallel_mode;

typedef struct fm_parallel {
    fm_engine_options options;
    const fm_exact_kernels *kernels;
    unsigned threads;
    fm_parallel_mode mode;
    fm_exact *alone;        /* NULL while threads are together */
    fm_tally counted;       /* what was counted while the caller had given no tally, */
    fm_tally counted_times; /* and with times */
    bool ordered;           /* single distances can be had of chunks: all are drawn */
    uint64_t gathered;      /* references, while gathering */
    size_t chunk_size, chunks_a_phase, chunks_a_phase_drawn, chunk_count;
    size_t partitions, most_ranges;
    fm_thread_chunk *chunks;
    fm_thread_chunk *spare; /* arrays of chunks that are over, for the next ones: under the crew's lock */
    size_t spare_count;

    /* From here on only when TOGETHER. Chunks are numbered; number n is chunks[n % chunk_count]. */
    fm_crew *crew;
    fm_parallel_worker *workers;
    /* Under the crew's lock: */
    uint64_t filled, claimed;      /* chunks handed in, taken by a thread, */
    uint64_t settled;              /* gone through all steps, */
    uint64_t retired;              /* and, in order, delivered */
    bool delivering;               /* distances of the supply, in order, */
    bool with_blocks;              /* and the blocks; */
    uint64_t order_most;           /* then references of a chunk at most, otherwise UINT64_MAX */
    bool flushing;                 /* nothing more comes for now: a phase need not be full */
    uint64_t begun, ended;         /* phases; number n is phases[n % 2] */
    const fm_block_supply *supply; /* that chunks are drawn from; NULL: none, or nothing is left */
    bool dry;                      /* all of it is claimed */
    size_t drawing;                /* chunks that are being fetched from it */
    uint64_t drawn_size;           /* references of the next one */
    uint64_t drawn_first;          /* what is tried first */
    fm_chunk_growth drawn_growth;  /* of chunks of that size, so far */
    uint64_t drawn_events;         /* first touches that one may have */
    uint64_t drawn_expected;       /* blocks of the next one, about */
    bool may_drop;                 /* chunks as a whole may drop blocks beyond the bound, */
    bool drops;                    /* and the next ones do */
    bool drops_freely;             /* it is known that nobody need know what was dropped */
    bool shared_out;               /* all that is left is dealt out in chunks of this size */
    uint64_t by_cache_chunks;      /* so many of the next ones are worked off cache chunk by cache chunk */
    uint64_t memory_peak;
    fm_parallel_phase phases[2];
    fm_status status; /* of the first failure: then all is over */
    fm_error error;

    /* Changed by one task at a time, between those that look at it: */
    uint64_t seed[3]; /* of all tables; never changes */
    fm_partition partition[FM_PARTITIONS];
    fm_shared_window window;
    uint64_t live;         /* blocks held */
    uint64_t clock;        /* the time of the next reference */
    uint64_t cold, beyond; /* counted by the phases, in all; nothing else counts there */
    bool given_up;         /* under a bound: first touches cannot be distinguished any more */
    uint64_t distinct;     /* under a bound */
    uint8_t *range_of;     /* of each region */
    uint64_t range_of_bytes;
    fm_bins bins;
    fm_tally shared; /* with one bin per distance: counts of phases, for every worker cannot have its own */
    pthread_mutex_t shared_lock; /* of `shared` and `poured` */
    bool paired;                 /* with tags: the tables of pairs are there */
    fm_pair_table poured;        /* with tags: what threads had too many counters of */
    uint64_t poured_bytes;       /* atomic */
    uint32_t *names;             /* with tags: what those in the tables are called now; NULL: as they are */
    uint64_t table_bytes, window_bytes; /* held by what grows with the blocks: atomic */
    uint64_t chunk_bytes;               /* held by chunks: atomic */
    bool failed;                        /* status, for tasks: atomic */
} fm_parallel;

/* What is held, but for the tables, the window and what goes with them. */
uint64_t fm_parallel_memory_beside_tables(const fm_parallel *self);
/* A failure that ends everything; the first one is kept. Without the lock. */
void fm_parallel_fail(fm_parallel *self, fm_status status, const fm_error *error);
static inline bool fm_parallel_failed(const fm_parallel *self)
{
    return __atomic_load_n(&self->failed, __ATOMIC_RELAXED);
}

/* Event chunks that a chunk of so many references may have: two in a row are more than full. */
static inline size_t fm_chunk_most_event_chunks(size_t references)
{
    return 2 * (references / FM_EVENT_CHUNK) + 2;
}

/* parallel_chunk.c */

/* Room for so many events, or references; what is there stays. */
fm_status fm_chunk_reserve(fm_parallel *self, fm_thread_chunk *chunk, size_t room, fm_error *error);
void fm_chunk_release(fm_parallel *self, fm_thread_chunk *chunk);
/* to has none; from has none afterwards. */
void fm_chunk_move_arrays(const fm_parallel *self, fm_thread_chunk *to, fm_thread_chunk *from);
/* Finds the events of a chunk that has its references, sorted by partitions. */
void fm_chunk_analyze(fm_parallel *self, fm_thread_chunk *chunk, fm_parallel_worker *worker);

/* What cache chunks need. */
fm_status fm_parallel_start_local(const fm_parallel *self, fm_parallel_worker *worker, fm_error *error);
/* The same in steps. References of find may stand in the chunk's own arrays, where there is room for them. */
void fm_chunk_begin(fm_thread_chunk *chunk, fm_parallel_worker *worker);
fm_status fm_chunk_find(const fm_parallel *self, fm_thread_chunk *chunk, const fm_references *references,
                        fm_parallel_worker *worker, fm_error *error);
/* Events that the caller has found; positions are from the chunk's first on. At most FM_EVENT_CHUNK. */
void fm_chunk_put(const fm_parallel *self, fm_thread_chunk *chunk, const fm_events *events,
                  fm_parallel_worker *worker);
/* The same, as an event chunk: their positions, in known, and the tags in leave are not those that they will
 * have.
 */
void fm_chunk_put_unplaced(const fm_parallel *self, fm_thread_chunk *chunk, const fm_events *events,
                           fm_parallel_worker *worker);
/* Every reference becomes an event: they have tags, or stand outside of the chunk's arrays, where there is
 * room for them. */
void fm_chunk_put_all(const fm_parallel *self, fm_thread_chunk *chunk, const fm_references *references,
                      fm_parallel_worker *worker);
void fm_chunk_end(fm_parallel *self, fm_thread_chunk *chunk, fm_parallel_worker *worker);

/* parallel_draw.c */

/* The memory for chunks as a whole goes back. */
void fm_parallel_end_whole(fm_parallel_worker *worker);
/* Fetches a chunk, and finds its events. number: the thread's. */
void fm_chunk_draw(fm_parallel *self, fm_thread_chunk *chunk, unsigned number);
/* Under the lock: claims the next chunk to be drawn; false where there is none, or no room for it. */
bool fm_parallel_claim_drawn(fm_parallel *self);
/* Takes all of a supply; nothing is being filled. What is ordered goes to the sink of the results, if there
 * is one. */
fm_status fm_parallel_draw(fm_parallel *self, const fm_block_supply *supply, const fm_engine_results *results,
                           fm_error *error);
/* Many references at once, where they stand. */
fm_status fm_parallel_draw_array(fm_parallel *self, const uint64_t *blocks, size_t count, fm_error *error);

/* parallel_judge.c */

/* Of the memory for drawn chunks, for each block of one: what an engine takes, and the chunk itself. */
enum { FM_DRAWN_BLOCK_BYTES = 128 };
/* For the judgement: so many first touches, when so much has been fetched. */
void fm_chunk_note_growth(fm_thread_chunk *chunk, uint64_t events);
/* How many events a chunk of that size would have, about. At least `half` and `end` are known. */
double fm_chunk_growth_foretell(const fm_chunk_growth *seen, uint64_t size);
/* Under the lock: the next chunks are those that are tried first. */
void fm_parallel_try_first_size(fm_parallel *self);
/* Under the lock: first touches cannot be told from returns any more, so that chunks need not know them. */
void fm_parallel_drop_freely(fm_parallel *self);
/* Under the lock: from how it went, what the next ones should be like. */
void fm_parallel_judge_drawn(fm_parallel *self, const fm_thread_chunk *chunk);

/* parallel_phase.c: the steps, in this order. */
typedef struct fm_phase_step {
    size_t (*tasks)(const fm_parallel *self, const fm_parallel_phase *phase);
    void (*run)(fm_parallel *self, fm_parallel_phase *phase, size_t task, fm_parallel_worker *worker);
    bool after_previous;  /* not before the phase before is over */
    bool lets_next_begin; /* when it is done, the next phase may begin */
} fm_phase_step;
extern const fm_phase_step fm_phase_steps[];
extern const unsigned fm_phase_step_count;

static inline fm_thread_chunk *fm_parallel_phase_chunk(const fm_parallel *self,
                                                       const fm_parallel_phase *phase, size_t index)
{
    return &self->chunks[(phase->first + index) % self->chunk_count];
}

/* parallel_order.c: with tags. */

/* Each thread gets a table of pairs like the one that all go to in the end. */
fm_status fm_parallel_start_pairs(fm_parallel *self, const fm_pairs *like, fm_error *error);
/* Counts words, of which up to the next multiple of 8 may be read. */
fm_status fm_parallel_count_pairs(fm_parallel *self, fm_parallel_worker *worker, const uint64_t *words,
                                  size_t count, fm_error *error);
/* A thread that has many counters pours them together with those of others, so that there are not as many
 * copies of all pairs as threads. */
fm_status fm_parallel_pour_pairs(fm_parallel *self, fm_parallel_worker *worker, fm_error *error);
/* All that the crew, which is quiet, has counted: into `poured`. */
fm_status fm_parallel_collect_pairs(fm_parallel *self, fm_error *error);
/* Tags in the tables get their new names, if they have any. */
void fm_parallel_apply_names(fm_parallel *self);

/* parallel_order.c: single distances in order, and times. */

/* Whether the engine can do that by threads; if not, one is fed. */
bool fm_parallel_can_order(const fm_engine_options *options, fm_bins bins);
/* References of a chunk at most, as far as memory goes that is free now. */
uint64_t fm_parallel_order_room(const fm_parallel *self);
fm_status fm_parallel_start_order(fm_parallel_worker *worker, fm_error *error);
void fm_parallel_end_order(fm_parallel_worker *worker);
void fm_chunk_order_release(fm_parallel *self, fm_chunk_order *order);
/* The next references of a chunk: through the engine for chunks as a whole; or as events, all of them. */
fm_status fm_chunk_order_feed(fm_parallel *self, fm_thread_chunk *chunk, const fm_references *references,
                              fm_parallel_worker *worker, fm_error *error);
fm_status fm_chunk_order_put(fm_parallel *self, fm_thread_chunk *chunk, const fm_references *references,
                             fm_parallel_worker *worker, fm_error *error);
/* Of an event chunk that was looked up: counts times. */
fm_status fm_parallel_count_times(const fm_parallel *self, const fm_thread_chunk *chunk,
                                  const fm_event_chunk *event_chunk, fm_parallel_worker *worker,
                                  fm_error *error);
/* The distances of an event chunk, whose ranges were worked off, go to their references. */
void fm_parallel_settle_event_chunk(const fm_parallel *self, const fm_thread_chunk *chunk,
                                    const fm_event_chunk *event_chunk);
/* In the thread that feeds: all chunks that the supply has, to the sink, as they are settled. */
fm_status fm_parallel_deliver(fm_parallel *self, const fm_engine_results *results, fm_error *error);
/* Under the lock: makes way for the next ones. */
void fm_parallel_retire(fm_parallel *self, size_t chunks);

/* parallel_phase.c: what the crew does. */
extern const fm_crew_work fm_parallel_work;

/*
 * ==== steps of a phase ====
 *
 * What the files of a phase's steps share: parallel_phase.c (the list of them, and what a
 * phase needs), parallel_table.c (where every block was), parallel_ranges.c (the distances).
 */

enum { FM_KEYS_A_LINE = 8 }; /* of a cache */

/* A walk through the phase's events of one partition, or range, in order: segment by segment. */
typedef struct fm_event_walk {
    size_t group;
    size_t chunk, event_chunk; /* of the next segment */
} fm_event_walk;

typedef struct fm_event_segment {
    const fm_thread_chunk *chunk;
    const fm_event_chunk *event_chunk;
    size_t first, count; /* places in the arrays of the chunk */
} fm_event_segment;

/* False: there is none. */
bool fm_parallel_next_segment(const fm_parallel *self, const fm_parallel_phase *phase, fm_event_walk *at,
                              fm_event_segment *found);

/* Of one partition, or range. */
uint64_t fm_step_events_of_chunk(const fm_thread_chunk *chunk, size_t group);
uint64_t fm_step_events_of(const fm_parallel *self, const fm_parallel_phase *phase, size_t group);

/* All blocks that a partition holds are put into its set of blocks seen. */
fm_status fm_partition_remember_all(fm_partition *partition, fm_error *error);

/* As many tasks as are worth it for its events, `most` at most. */
size_t fm_step_tasks_for_events(const fm_parallel_phase *phase, size_t most);

/* Steps: how many tasks, and a task. Those without a number have one. */
size_t fm_step_table_tasks(const fm_parallel *self, const fm_parallel_phase *phase);
void fm_step_table(fm_parallel *self, fm_parallel_phase *phase, size_t task, fm_parallel_worker *worker);
void fm_step_count_cold(fm_parallel *self, fm_parallel_phase *phase, size_t task, fm_parallel_worker *worker);
void fm_step_cut(fm_parallel *self, fm_parallel_phase *phase, size_t task, fm_parallel_worker *worker);
size_t fm_step_split_tasks(const fm_parallel *self, const fm_parallel_phase *phase);
void fm_step_split(fm_parallel *self, fm_parallel_phase *phase, size_t task, fm_parallel_worker *worker);
size_t fm_step_range_tasks(const fm_parallel *self, const fm_parallel_phase *phase);
void fm_step_range(fm_parallel *self, fm_parallel_phase *phase, size_t task, fm_parallel_worker *worker);
size_t fm_step_settle_tasks(const fm_parallel *self, const fm_parallel_phase *phase);
void fm_step_settle(fm_parallel *self, fm_parallel_phase *phase, size_t task, fm_parallel_worker *worker);

#endif
