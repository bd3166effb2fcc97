/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exact_kernels.h - what other rooms use of `exact`: the recency window, the kernels (its hot loops and those
 * of the analyzer, chosen at run time by instruction set), distances counted into a tally, the stack of a
 * small bound, and the ends of chunks that are analysed apart. The engine's own state is in exact_state.h.
 */
#ifndef FATHOM_ENGINE_EXACT_EXACT_KERNELS_H
#define FATHOM_ENGINE_EXACT_EXACT_KERNELS_H

#include "base/error.h"
#include "engine/engine.h"
#include "engine/engine_tables.h"

#include <fathom/status.h>

/*
 * ==== recency window ====
 *
 * Mattson's stack as a bitmap: one bit per reference, set where that reference is the
 * latest to its block. The number of set bits after a block's position is its reuse distance.
 *
 * Positions are numbered by reference. A *line* (one cache line) is seven words of bits and one word
 * that packs, for each of the seven, how many bits are set before it in the line (9 bits each); so a
 * position is line·512 + offset with offset < 448. Above the lines stand nodes of counters: a *node* is
 * one cache line that holds, for each child, how many bits are set in the children before it.
 *
 *     level 1: 32 × u16 over lines     (16 Ki positions: a *region*)
 *     level 2…: 16 × u32 each
 *     top:      32 × u32, the last one, kept in registers by the kernels
 *
 * To count the bits up to a position, add one counter per level; to clear a bit, subtract one from the
 * counters behind it: one vector operation per level. u32 counters may wrap; differences are right as
 * long as fewer than 2^32 blocks are live.
 *
 * References fill the *open* region, the last one; the regions before it are *closed*. What kernels do
 * in the open region needs its own lines and its level-1 node only. Counters of the levels above for a
 * region are set when it is opened.
 *
 * When the window is full, the live bits move to its beginning (fm_recency_window_restart) and the
 * owner renumbers its blocks (fm_recency_window_rank gives each its new place): O(live) work for every
 * 15·live references or more.
 */

enum {
    FM_LINE_BITS = 448,   /* bits in use of a line */
    FM_LINE_SHIFT = 9,    /* positions a line takes, as a power of two */
    FM_LINE_WORDS = 8,    /* seven of bits, one of counters */
    FM_REGION_LINES = 32, /* lines under a level-1 node */
    FM_REGION_SHIFT = 14, /* positions a region takes */
    FM_REGION_BITS = FM_LINE_BITS * FM_REGION_LINES,
    FM_NODE_CHILDREN = 16, /* from level 2 on */
    FM_NODE_SHIFT = 4,
    FM_TOP_CHILDREN = 32,
    FM_LEVELS_MAX = 6, /* levels under the top: 2^(14+5·4+5) = 2^39 positions */
};

typedef struct fm_recency_window {
    uint64_t *words;                    /* FM_LINE_WORDS per line */
    uint16_t *lines;                    /* level 1: a counter per line */
    uint32_t *nodes[FM_LEVELS_MAX + 1]; /* nodes[l] for l = 2 … levels: a counter per level-(l-1) node */
    uint32_t top[FM_TOP_CHILDREN] __attribute__((aligned(64)));
    int levels;                                 /* levels under the top, at least 1 */
    uint64_t regions;                           /* regions there is room for */
    uint64_t capacity_bytes[FM_LEVELS_MAX + 1]; /* of words (0), lines (1), nodes (2…) */
    uint64_t open;                              /* the open region */
    uint64_t position;                          /* the next reference's */
    uint32_t open_live;                         /* bits set in the open region */
    uint32_t closed_live;                       /* bits set in the closed ones, modulo 2^32 */
} fm_recency_window;

/* counts[w] has a one in the packed field of every word after w. */
extern const uint64_t fm_line_packed_step[FM_LINE_WORDS];

static inline uint64_t fm_recency_window_open_base(const fm_recency_window *window)
{
    return window->open << FM_REGION_SHIFT;
}

/* Positions that are left in the current line: a run of references takes consecutive positions there. */
static inline size_t fm_recency_window_run(const fm_recency_window *window)
{
    return FM_LINE_BITS - (size_t)(window->position & ((1U << FM_LINE_SHIFT) - 1));
}

/* Positions that are left before the window is full. */
static inline uint64_t fm_recency_window_left(const fm_recency_window *window)
{
    uint64_t lines = ((window->regions << FM_REGION_SHIFT) - window->position) >> FM_LINE_SHIFT;
    return lines * FM_LINE_BITS; /* a line that was begun is not counted */
}

/* A new region: every bit set ahead of time, so that a reference only ever clears the bit it leaves. words:
 * those of its lines; counters: one for each. */
void fm_recency_region_fill(uint64_t *words, uint16_t *counters);

fm_status fm_recency_window_create(fm_recency_window *window, fm_error *error);
void fm_recency_window_clear(fm_recency_window *window);
uint64_t fm_recency_window_memory(const fm_recency_window *window);
/* What it will hold after a restart with that many live blocks. */
uint64_t fm_recency_window_memory_for(uint64_t live);

/*
 * Moves on by `count` positions (at most fm_recency_window_run), opening the next line or region where
 * one is full. False when the window is full: restart it before the next reference.
 */
bool fm_recency_window_advance(fm_recency_window *window, size_t count);

/* Bits set in a line up to and including this position, which must be live; words: those of all lines. */
static inline uint32_t fm_recency_line_rank(const uint64_t *words, uint64_t position)
{
    const uint64_t word = position >> 6;
    FM_ASSERT((position & ((1U << FM_LINE_SHIFT) - 1)) < FM_LINE_BITS && words[word] >> (position & 63) & 1);
    return (uint32_t)__builtin_popcountll(words[word] << (~position & 63)) +
           ((uint32_t)(words[word | 7] >> (9 * (word & 7))) & 511);
}

/* Bits set before a line. Modulo 2^32. */
static inline uint32_t fm_recency_window_before(const fm_recency_window *window, uint64_t line)
{
    uint32_t rank = window->lines[line];
    uint64_t child = line / FM_REGION_LINES;
    for (int level = 2; level <= window->levels; level++) {
        rank += window->nodes[level][child];
        child /= FM_NODE_CHILDREN;
    }
    return rank + window->top[child];
}

/* Bits set at positions up to and including this one, which must be live. Modulo 2^32. */
static inline uint32_t fm_recency_window_rank(const fm_recency_window *window, uint64_t position)
{
    return fm_recency_line_rank(window->words, position) +
           fm_recency_window_before(window, position >> FM_LINE_SHIFT);
}
/* The position of the bit with this rank, from 1 on, in a line; words: the line's. */
uint64_t fm_recency_line_select(const uint64_t *words, uint64_t rank);
/* The position of the block with this rank, from 1 on. */
uint64_t fm_recency_window_select(const fm_recency_window *window, uint32_t rank);
/* The cache line that rank will need first. */
static inline const void *fm_recency_window_line(const fm_recency_window *window, uint64_t position)
{
    return window->words + (position >> FM_LINE_SHIFT) * FM_LINE_WORDS;
}

/* The position that the block with this rank (from 1) has after a restart. */
static inline uint64_t fm_recency_window_packed_position(uint64_t rank)
{
    uint64_t index = rank - 1;
    return ((index / FM_LINE_BITS + 1) << FM_LINE_SHIFT) + index % FM_LINE_BITS;
}

/*
 * Makes room for a restart with `live` blocks: may fail, then the window is as it was. After it, ranks
 * can still be asked for; fm_recency_window_restart then lays the live bits out anew and cannot fail.
 */
fm_status fm_recency_window_reserve(fm_recency_window *window, uint64_t live, fm_error *error);
void fm_recency_window_restart(fm_recency_window *window, uint64_t live);
/* The same with as many regions as it has room for with so many live blocks, for which memory was reserved:
 * it is not full before. */
void fm_recency_window_restart_for(fm_recency_window *window, uint64_t live, uint64_t blocks);

/*
 * ==== kernels ====
 *
 * The hot loops of `exact` and of the analyzer, chosen at run time by instruction set.
 *
 * For some hundred references at a time, all lookups come first; they sort the references into
 * three lists by where the block's previous position lies:
 *
 *     near   in the open region. Its distance depends on near references alone.
 *     far    in a closed region. Its distance depends on far references, plus the number of live bits
 *            in the open region, which the lookup loop counts as it goes.
 *     fresh  nowhere: a block that is not held.
 *
 * So the two lists are worked off one after the other, each in a loop without unpredictable branches;
 * while they run, the buckets of the next lookups are being fetched.
 *
 * For attribution, every reference has a tag (its code site), and a block keeps the tag of its last use: in
 * the upper bits of its position in the block table, which no position needs. Kernels whose name ends in
 * _tagged are the same loops with tags; the plain ones know nothing of them.
 */

/* A position has 39 bits at most (FM_LEVELS_MAX), a tag 24. */
enum { FM_TAG_SHIFT = 40 };
#define FM_POSITION_BITS ((UINT64_C(1) << FM_TAG_SHIFT) - 1)

enum { FM_LOOKUPS = 448 }; /* a whole line; its lists and bucket addresses take 20 KiB */

/* Kernels store whole vectors at a list's end. */
enum { FM_LOOKUPS_ROOM = FM_LOOKUPS + 16 };

typedef struct fm_lookups {
    size_t count;
    size_t near_count, far_count, fresh_count;
    uint32_t near_position[FM_LOOKUPS_ROOM]; /* relative to the open region */
    uint32_t near_distance[FM_LOOKUPS_ROOM]; /* before the near kernel: live bits of the open region then */
    uint32_t near_index[FM_LOOKUPS_ROOM];    /* which reference it is */
    uint64_t far_position[FM_LOOKUPS_ROOM];
    uint32_t far_distance[FM_LOOKUPS_ROOM]; /* likewise */
    uint32_t far_index[FM_LOOKUPS_ROOM];
    uint32_t fresh_index[FM_LOOKUPS_ROOM];
    /* With tags: the words to count (engine_tables.h), still without their ranges. */
    uint64_t near_pair[FM_LOOKUPS_ROOM];
    uint64_t far_pair[FM_LOOKUPS_ROOM];
    uint64_t fresh_pair[FM_LOOKUPS_ROOM];
} fm_lookups;

/*
 * A chunk of the trace: references that are worked off together, FM_CACHE_CHUNK of them. Where half as many
 * would be left over they are taken along, since short chunks have many first touches: up to
 * FM_CACHE_CHUNK_MOST. What is left of a chunk without the references that repeat the one before; with tags,
 * a block is used under the tag of the first of its repeats, and left under that of the last.
 */
enum { FM_CACHE_CHUNK = 4096, FM_CACHE_CHUNK_MOST = 6144, FM_CACHE_CHUNK_ROOM = FM_CACHE_CHUNK_MOST + 64 };

typedef struct fm_kept_tags {
    uint32_t now[FM_CACHE_CHUNK_ROOM];
    uint32_t leave[FM_CACHE_CHUNK_ROOM];
    bool index_wanted;
    uint16_t index[FM_CACHE_CHUNK_ROOM]; /* in the chunk; only where wanted */
    uint64_t
        pair[FM_CACHE_CHUNK_ROOM]; /* words to be counted: of what was removed, then of close references */
    size_t pair_count;
} fm_kept_tags;

/*
 * Within a chunk, most references are to blocks that were touched in it before. Their distances follow from
 * the chunk alone, and only a block's first reference in the chunk goes to the table and the window. Of the
 * others,
 *
 *     close  the block was touched at most FM_CLOSE references ago: found by comparing lags, 64 at once
 *     apart  further ago: by ranks in a bitmap of the chunk's references
 *
 * A block gets its new position in the window at the end of the chunk, in the order of last references.
 */
enum {
    FM_CLOSE = 64,
    FM_CACHE_CHUNK_SLOT_BITS = 13,
    FM_CACHE_CHUNK_SLOTS = 1 << FM_CACHE_CHUNK_SLOT_BITS,
    FM_CACHE_CHUNK_WORDS = FM_CACHE_CHUNK_MOST / 64,
};

/* How long a reference is the latest to its block. */
typedef enum fm_chunk_latest {
    FM_LEFT_SOON = 0,  /* a close one follows */
    FM_LEFT_LATER = 1, /* an apart one follows */
    FM_LAST = 2,       /* none follows in this chunk */
} fm_chunk_latest;

/* References are numbered from 0 here. */
typedef struct fm_cache_chunk {
    uint32_t multiplier[3]; /* of the hash; secret */
    /* A slot for each block: 1 + the latest reference to it; 0: free. All are free between chunks. */
    uint16_t entry[FM_CACHE_CHUNK_SLOTS];
    /* Of every reference: */
    uint16_t slot[FM_CACHE_CHUNK_ROOM];                /* its block's */
    uint16_t before[FM_CACHE_CHUNK_ROOM];              /* 1 + the one before to the same block; 0: none */
    uint8_t lags[FM_CLOSE + FM_CACHE_CHUNK_ROOM + 64]; /* see fm_chunk_lag */
    uint8_t distance[FM_CACHE_CHUNK_ROOM];             /* close ones only */
    uint8_t latest[FM_CACHE_CHUNK_ROOM];               /* fm_chunk_latest */
    uint64_t first_bits[FM_CACHE_CHUNK_WORDS];
    /* Close references by distance. */
    uint64_t close_count[FM_CLOSE];
    /* Apart references, in order. */
    size_t apart_count;
    uint16_t apart[FM_CACHE_CHUNK_ROOM];
    uint32_t apart_distance[FM_CACHE_CHUNK_ROOM];
    /* First references, in order; the last ones to their blocks; and what is looked up. */
    size_t first_count;
    uint16_t first[FM_CACHE_CHUNK_ROOM];
    uint16_t last[FM_CACHE_CHUNK_ROOM];
    uint64_t key[FM_CACHE_CHUNK_ROOM];
    uint64_t position[FM_CACHE_CHUNK_ROOM]; /* that the block gets; with tags, as it stands in the table */
    uint32_t now[FM_CACHE_CHUNK_ROOM];      /* with tags: the reference's */
} fm_cache_chunk;

/* How many references ago the block was touched; over FM_CLOSE where it was not that close. There are
 * readable ones before the first, too. */
static inline const uint8_t *fm_chunk_lag(const fm_cache_chunk *chunk)
{
    return chunk->lags + FM_CLOSE;
}

/* Of tables and windows that are shared by threads (parallel.h). */
enum { FM_PARTITION_BITS = 5, FM_PARTITIONS = 1 << FM_PARTITION_BITS, FM_RANGES = 32 };

/* The last block that an access touches; those of 0 bytes touch one. */
static inline uint64_t fm_last_block(uint64_t address, uint32_t size, unsigned shift)
{
    const uint64_t extent = size ? size - 1 : 0;
    return (address > UINT64_MAX - extent ? UINT64_MAX : address + extent) >> shift;
}

/*
 * What the kernel cut_tagged makes of accesses with tags: a block is kept where it is not that of the
 * reference before; its repeats are left out, and a pair counted for each. As in fm_kept_tags, a block is
 * used under the tag of the first of its repeats and left under that of the last.
 */
enum {
    FM_TAGGED_CUT_MOST = 1024
}; /* references at a time: the words of their repeats stay in the first-level cache */

typedef struct fm_tagged_cut {
    /* What is kept; all have room for two of each access that is cut, and 16 more. */
    uint64_t *blocks;
    uint32_t *now, *leave;
    uint32_t *reference; /* its number */
    size_t count;
    /* The latest reference. */
    uint64_t block;
    uint32_t tag;
    uint32_t all_tags; /* the bits of all of them */
    /* Of those that were left out in one call, at most FM_TAGGED_CUT_MOST: the words to be counted. */
    size_t pair_count;
    uint64_t pair[FM_TAGGED_CUT_MOST + 16];
} fm_tagged_cut;

struct fm_small_stack;

/* Which blocks are dropped, and where the ranks of the others are found. */
typedef struct fm_dropping {
    uint64_t from;                   /* the first position that stays */
    uint64_t dropped;                /* blocks before it */
    const fm_recency_window *window; /* NULL: as follows, as in fm_shared_window */
    const uint64_t *words;
    const uint16_t *lines;
    const uint64_t *before;
} fm_dropping;

typedef struct fm_exact_kernels {
    const char *isa;
    bool (*usable)(void);
    /* Copies keys without those that repeat the one before (*last, updated). Returns how many are left. */
    size_t (*drop_repeats)(const uint64_t *keys, size_t count, uint64_t *last, uint64_t *left);
    /* The same; the first key is kept whatever was before. */
    size_t (*drop_repeats_tagged)(const uint64_t *keys, const uint32_t *tags, size_t count, uint64_t *left,
                                  fm_kept_tags *kept);
    void (*home)(const fm_block_table *table, const uint64_t *keys, size_t count, fm_bucket **homes);
    /* Exchanges positions and fills the lists. */
    void (*lookup)(fm_block_table *table, const fm_recency_window *window, const uint64_t *keys,
                   fm_bucket *const *homes, fm_lookups *lookups);
    void (*lookup_tagged)(fm_block_table *table, const fm_recency_window *window, const uint64_t *keys,
                          const uint32_t *now, const uint32_t *leave, fm_bucket *const *homes,
                          fm_lookups *lookups);
    /* The same in a table with times: of each reference, the time distance, where its own time is `clock` and
     * more by one for each after the first. now and leave: NULL without tags. */
    void (*lookup_timed)(fm_block_table *table, const fm_recency_window *window, const uint64_t *keys,
                         const uint32_t *now, const uint32_t *leave, fm_bucket *const *homes, uint64_t clock,
                         uint64_t *times, fm_lookups *lookups);
    /* Clear the bits that were left, and turn …_distance into distances. soon: lookups->count buckets
     * to fetch meanwhile. */
    void (*near)(fm_recency_window *window, fm_lookups *lookups, fm_bucket *const *soon);
    void (*far)(fm_recency_window *window, fm_lookups *lookups, fm_bucket *const *soon);
    /*
     * Finds for every reference of a chunk the one before to the same block. False where too many blocks
     * meet in one slot: then nothing was done.
     */
    bool (*chunk_link)(const uint64_t *keys, size_t count, fm_cache_chunk *chunk);
    /* Separates first, close and apart references; all entries are free again. */
    void (*chunk_sort)(size_t count, fm_cache_chunk *chunk);
    void (*chunk_close)(size_t count, fm_cache_chunk *chunk);
    void (*chunk_apart)(size_t count, fm_cache_chunk *chunk);
    /* The words of close references, added to kept->pair. close_range: of the distances below FM_CLOSE. */
    void (*chunk_pairs)(size_t count, const uint32_t *now, const uint32_t *leave, const uint8_t *close_range,
                        const fm_cache_chunk *chunk, fm_kept_tags *kept);
    /* key, position and now of first references; position: the next one to be given out, in a window with
     * room for them. now, leave: NULL without tags. */
    void (*chunk_first)(const uint64_t *keys, size_t count, uint64_t position, const uint32_t *now,
                        const uint32_t *leave, fm_cache_chunk *chunk);
    /* lookup for lookups->count first references, from number `first` on; homes are theirs. */
    void (*lookup_first)(fm_block_table *table, const fm_recency_window *window, const fm_cache_chunk *chunk,
                         size_t first, fm_bucket *const *homes, fm_lookups *lookups);
    void (*lookup_first_tagged)(fm_block_table *table, const fm_recency_window *window,
                                const fm_cache_chunk *chunk, size_t first, fm_bucket *const *homes,
                                fm_lookups *lookups);
    /* Keys get the positions base + offset; in their place stand the old ones then, 0 where there was none.
     * There is room in the table. soon: what is to be fetched meanwhile, one for each key. */
    void (*exchange)(fm_block_table *table, fm_bucket *const *homes, size_t count, const uint32_t *offsets,
                     uint64_t base, uint64_t *keys, fm_bucket *const *soon);
    /* The same with the tags that blocks are left under. */
    void (*exchange_tagged)(fm_block_table *table, fm_bucket *const *homes, size_t count,
                            const uint32_t *offsets, const uint32_t *leave, uint64_t base, uint64_t *keys,
                            fm_bucket *const *soon);
    /* The same in a table with times: blocks get the times clock + numbers, and those that they had go to
     * old_times, with anything for new ones. */
    void (*exchange_timed)(fm_block_table *table, fm_bucket *const *homes, size_t count,
                           const uint32_t *offsets, const uint32_t *numbers, uint64_t base, uint64_t clock,
                           uint64_t *keys, uint64_t *old_times, fm_bucket *const *soon);
    /* Gives every block its packed position. Tags stay. */
    void (*renumber)(fm_block_table *table, const fm_recency_window *window);
    /* Blocks with positions below `from` go, the others get their packed positions. Tags stay, times do not.
     */
    void (*drop)(fm_block_table *table, const fm_dropping *what);
    /* Of blocks that are held: how many others were touched later, the last time; and above, their tags. */
    void (*depths)(const fm_block_table *table, const fm_recency_window *window, const uint64_t *keys,
                   size_t count, uint64_t *depths);
    /*
     * For the small stack. The next positions in order, to chunk.position. Touches of blocks, which get those
     * positions, to the lists of those that are held and of those that are not. Then held_distance, from live
     * bits at that moment to distances. And the blocks within the bound to the region's beginning.
     */
    void (*small_places)(size_t count, struct fm_small_stack *stack);
    void (*small_find)(const uint64_t *blocks, size_t count, struct fm_small_stack *stack);
    void (*small_ranks)(struct fm_small_stack *stack);
    void (*small_restart)(struct fm_small_stack *stack);
    /* For samples of blocks (sampled.h): the common hash of every block. And the indices, in order, of the
     * common hashes that are in a sample: their product with its multiplier is at most `limit`. At most 2^16
     * of them; may write up to 16 more than it returns. */
    void (*sample_common)(const uint64_t *blocks, size_t count, uint64_t *common);
    size_t (*sample_choose)(const uint64_t *common, size_t count, uint64_t multiplier, uint64_t limit,
                            uint16_t *chosen);
    /* Likewise of references, from the second on, that are no repeats of the one before. */
    size_t (*sample_changes)(const uint64_t *blocks, size_t count, uint16_t *changes);
    /* Which of FM_PARTITIONS each key belongs to: by the upper bits of its hash, so that the blocks of a
     * partition stand together in a table of all. */
    void (*partition)(const uint64_t *keys, size_t count, const uint64_t seed[3], uint8_t *partitions);
    /*
     * Sorts events by their ranges, stably. groups: below FM_RANGES, or that for those without; next:
     * where each group's next one goes; known gets the event's number (from `number` on) less how many
     * before it were in a higher range.
     */
    void (*split_ranges)(const uint64_t *positions, const uint8_t *groups, size_t count, uint32_t number,
                         uint32_t *next, uint64_t *sorted, uint32_t *known);
    /* The same; their tags are sorted, too. */
    void (*split_ranges_tagged)(const uint64_t *positions, const uint8_t *groups, size_t count,
                                uint32_t number, uint32_t *next, uint64_t *sorted, uint32_t *known,
                                const uint32_t *tags, uint32_t *sorted_tags);
    /* Those that are below 2^32, of which up to 16 more may be written; returns how many. The others are
     * FM_COLD and FM_BEYOND, which are added to these, or over 2^32. */
    size_t (*keep_small)(const uint64_t *distances, size_t count, uint32_t *small, uint64_t *cold,
                         uint64_t *beyond);
    /* Distances to the indices of their loglinear bins (fm_bins_index), in place. May write up to the next
     * multiple of 16. */
    void (*loglinear)(uint32_t *distances, size_t count);
    /* Puts the range of each distance into its word. May write up to the next multiple of 16. */
    void (*add_ranges)(const fm_ranges *ranges, const uint32_t *distances, size_t count, uint64_t *pairs);
    /* Counts each word once. There is room for all of them. May read up to the next multiple of 8. */
    void (*count_pairs)(fm_pair_table *table, const uint64_t *pairs, size_t count);
    /*
     * blocks[i] = address[i] >> shift, as far as no access reaches beyond its block: returns how many those
     * are, and writes up to 16 more. size may be NULL: then none does.
     */
    size_t (*cut)(const uint64_t *address, const uint32_t *size, size_t count, unsigned shift,
                  uint64_t *blocks);
    /*
     * The same without blocks that repeat the one before: *before, at first, and the latest afterwards. *kept
     * is how many blocks there are.
     */
    size_t (*cut_distinct)(const uint64_t *address, const uint32_t *size, size_t count, unsigned shift,
                           uint64_t *before, uint64_t *blocks, size_t *kept);
    /*
     * The same with tags, for at most FM_TAGGED_CUT_MOST references, the first of which has the number
     * `reference`. Something was kept before (cut->count > 0). Accesses to two blocks, which some programs
     * make often, are cut too. Returns how many there are up to the first that touches more.
     */
    size_t (*cut_tagged)(const uint64_t *address, const uint32_t *size, const uint32_t *tag, size_t count,
                         unsigned shift, uint32_t reference, fm_tagged_cut *cut);
    /* Copies tags; returns all their bits together. */
    uint32_t (*copy_tags)(const uint32_t *from, size_t count, uint32_t *to);
    /* The bits of all of them together. */
    uint32_t (*all_bits)(const uint32_t *numbers, size_t count);
    /* The indices, in order, of distances from `from` on. At most 2^16 distances; may write up to 16 more
     * than it returns. */
    size_t (*list_late)(const uint32_t *distances, size_t count, uint32_t from, uint16_t *late);
} fm_exact_kernels;

/* What follows from a chunk alone: its links, its first references, and the distances of the others. False
 * where its blocks crowd a few slots: then nothing was done. */
static inline bool fm_chunk_distances(const fm_exact_kernels *kernels, const uint64_t *keys, size_t count,
                                      fm_cache_chunk *chunk)
{
    if (!kernels->chunk_link(keys, count, chunk)) return false;
    kernels->chunk_sort(count, chunk);
    kernels->chunk_close(count, chunk);
    kernels->chunk_apart(count, chunk);
    return true;
}

extern const fm_exact_kernels fm_exact_avx512, fm_exact_avx2, fm_exact_portable;

/* The best usable kernels, or those named; NULL where this machine cannot run them or there are none. */
const fm_exact_kernels *fm_exact_kernels_find(const char *isa);

/*
 * ==== small stack ====
 *
 * Exact reuse distances below a small bound, at the cost of a few loads from near caches: the
 * exact part of the engine `shards`.
 *
 * `exact` under a bound works with tables made for any number of blocks. Where no more than some thousands
 * are of interest, everything fits into the second-level cache, and a chunk of the trace (fm_cache_chunk in
 * exact_kernels.h) is worked off like this:
 *
 *     - what follows from the chunk alone is counted by the kernels that `exact` has for it;
 *     - every block's first touch in the chunk is looked up in a table of 16-bit positions;
 *     - its distance is a rank in one region of a recency window, whose 32 counters are
 *       in a register;
 *     - the blocks of the chunk get the next positions of the region, in the order of their last touches.
 *
 * Where that leaves many lookups, all references are looked up instead, without a look at the chunk.
 *
 * When the region is full, the blocks within the bound move to its beginning, and the table is made anew: the
 * others are forgotten. So nothing is ever removed from the table.
 *
 * A block that is not held is a first touch, or one that was forgotten and is beyond the bound: those are
 * listed, and the owner decides which.
 */

enum {
    FM_SMALL_BOUND = 8192, /* the largest: the blocks within it and those of a chunk fill the region */
    FM_SMALL_LOOKUPS = 512,
    FM_SMALL_SLOT_BITS = 16,
    FM_SMALL_SLOTS = 1 << FM_SMALL_SLOT_BITS,
    FM_SMALL_POSITIONS = 1 << FM_REGION_SHIFT,
};

typedef struct fm_small_stack {
    fm_cache_chunk chunk;
    const fm_exact_kernels *kernels;
    uint64_t bound;
    uint32_t multiplier[3]; /* of the table's hash; secret */
    uint32_t next;          /* places of the region that are taken; the first is never given out */
    uint32_t live;          /* bits set there: blocks held, and one for the first place */
    uint64_t last;          /* the latest block, for removing repeats */
    bool started;           /* there is a latest block */
    unsigned single;        /* chunks that still go through reference by reference */
    unsigned straight;      /* chunks that still go through without a look for repeats */
    /* The region: positions that were not given out are set. */
    uint64_t words[FM_REGION_LINES * FM_LINE_WORDS] __attribute__((aligned(64)));
    uint16_t lines[FM_REGION_LINES] __attribute__((aligned(64)));
    uint64_t block[FM_SMALL_POSITIONS]; /* by position */
    uint16_t position[FM_SMALL_SLOTS];  /* of the latest touch, by linear probing; 0: free */
    /* Of the current chunk: the slot of every first touch and where the block was (0: nowhere). */
    uint16_t slot[FM_CACHE_CHUNK_ROOM];
    uint16_t old[FM_CACHE_CHUNK_ROOM];
    /* Those whose blocks are held, in order; distances become what they say in fm_exact_kernels.small_ranks.
     */
    size_t held_count;
    uint32_t held_position[FM_CACHE_CHUNK_ROOM];
    uint32_t held_distance[FM_CACHE_CHUNK_ROOM];
    /* Blocks that were not held, since fm_small_stack_count was called. */
    size_t fresh_count;
    uint64_t fresh[FM_CACHE_CHUNK_ROOM];
    /* Of what fm_small_stack_count was given last: whether `chunk` has its links (fm_cache_chunk.before,
     * first, last), of the references without repeats. */
    bool linked;
    size_t left_count;
    uint64_t unrepeated[FM_CACHE_CHUNK_ROOM]; /* those references, where any was removed */
    uint64_t packed[FM_REGION_BITS + 16];     /* blocks on their way to the region's beginning */
} fm_small_stack;

/* bound: 1 … FM_SMALL_BOUND. NULL when memory is short. */
fm_small_stack *fm_small_stack_create(uint64_t bound, uint64_t seed, const fm_exact_kernels *kernels);
void fm_small_stack_destroy(fm_small_stack *stack); /* NULL is fine */

/*
 * At most FM_CACHE_CHUNK references. Distances below the bound are counted, those of blocks that are held and
 * beyond it as `beyond`; blocks that are not held are in `fresh`, each as often as it came. The tally has
 * room for distances below the bound.
 */
void fm_small_stack_count(fm_small_stack *stack, const uint64_t *blocks, size_t count, fm_tally *tally);

/* The number of a place in the region, as a position there. */
static inline uint32_t fm_small_position(uint32_t place)
{
    return place / FM_LINE_BITS << FM_LINE_SHIFT | place % FM_LINE_BITS;
}

/*
 * ==== ends of chunks ====
 *
 * For callers that put a trace together from chunks, each analysed by an engine of its own:
 * which blocks a chunk touched first, in order, and in which order it touched them last.
 */

/* All zeroes is an empty list. */
typedef struct fm_first_touches {
    uint64_t *blocks; /* each once, in the order of first touches */
    /* Under which they were touched, where the engine keeps tags; then nothing is dropped. Of references that
     * are fed, in order: their numbers, from where fm_exact_number_from_here was called. */
    uint32_t *tags;
    size_t count, capacity, tag_capacity;
    uint64_t
        unheld; /* references to blocks that the engine did not hold: those, and returns of dropped ones */
    /*
     * Under a bound, when so many first touches are on the list, the next ones are beyond the bound whatever
     * came before the chunk; they are listed as long as they can be told from returns (engine_tables.h).
     * Then:
     */
    bool given_up;
} fm_first_touches;

/*
 * From now on first touches are not counted but put on the list; those that are fed get the distance and the
 * time FM_COLD. Before any reference; engine: of fm_engine_exact.
 */
void fm_exact_list_firsts(fm_engine *engine, fm_first_touches *firsts);
void fm_first_touches_clear(fm_first_touches *firsts); /* empty, and without memory */

/* Counts blocks, without tags. */
static inline fm_status fm_exact_count_blocks(fm_engine *engine, const uint64_t *blocks, size_t count,
                                              fm_tally *tally, fm_error *error)
{
    const fm_references references = {.count = count, .blocks = blocks};
    const fm_engine_results results = {.distances = tally};
    size_t done;
    return fm_engine_exact.count(engine, &references, &results, &done, error);
}

/* The next reference that is fed has number 0. Fewer than 2^32 are fed between two calls. */
void fm_exact_number_from_here(fm_engine *engine);

/* The numbers of the last references to blocks that an engine holds, which knows times. */
void fm_exact_last_numbers(const fm_engine *engine, const uint64_t *blocks, size_t count, uint32_t *numbers);

/* The engine is empty again, and keeps its memory. So is its list of first touches. */
void fm_exact_empty(fm_engine *engine);

/* Blocks that the engine holds. */
uint64_t fm_exact_live(const fm_engine *engine);
/* Whether it drops blocks; and how many it holds at most, about. */
bool fm_exact_drops(const fm_engine *engine);
uint64_t fm_exact_most_held(const fm_engine *engine);

/* Of blocks that the engine holds: how many others were touched later, the last time; and if it keeps tags,
 * from bit FM_TAG_SHIFT on, under which that was. */
void fm_exact_depths(const fm_engine *engine, const uint64_t *blocks, size_t count, uint64_t *depths);

/* The blocks that were touched last, at most `most`, the latest one first. Returns how many. */
uint64_t fm_exact_stack(const fm_engine *engine, uint64_t most, uint64_t *blocks);

#endif
