/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decode_kernels.h - the batch that is being filled, and the hot loops that fill it, made for each
 * instruction set.
 */
#ifndef FATHOM_COLLECT_DECODE_KERNELS_H
#define FATHOM_COLLECT_DECODE_KERNELS_H

#include "collect/protocol.h"

#include <fathom/trace.h>

/* ---- rows ---- */

/*
 * The batch that is being filled: one array for each column that is wanted. Kernels store whole
 * vectors at the end of a column, so there is room behind the last row.
 */

enum {
    FM_CHUNK_WORDS = FM_CHUNK_BYTES / 8,
    /* A batch is delivered when it holds so many rows: with size and tag 128 KiB, well inside L2 beside the
     * chunk that is read. What was looked through is finished (of the Valgrind tool FM_DECODE_WORDS words,
     * which tell of eight accesses each at most, and a block that began before), hence the room. */
    FM_ROWS_FULL = 8192,
    FM_DECODE_WORDS = 2048, /* words looked through at a time: they stay in the first-level cache */
    FM_ROWS_MOST = FM_ROWS_FULL + FM_CHUNK_WORDS + FM_BLOCK_ACCESSES,
    FM_ROWS_ROOM = FM_ROWS_MOST + 64,
};
_Static_assert(FM_BLOCK_EIGHT *(int)FM_DECODE_WORDS <= (int)FM_CHUNK_WORDS, "there is room for all accesses");
_Static_assert((int)FM_ROWS_MOST <= (int)FM_BATCH_MAX, "batches are not larger than promised");

/* All columns in one piece, so that a kernel needs one pointer. What is not wanted is never touched. */
typedef struct fm_row_memory {
    uint64_t address[FM_ROWS_ROOM];
    uint64_t site[FM_ROWS_ROOM];
    uint32_t size[FM_ROWS_ROOM];
    uint32_t tag[FM_ROWS_ROOM];
    uint32_t thread[FM_ROWS_ROOM]; /* the same number in all rows */
    uint8_t kind[FM_ROWS_ROOM];
} fm_row_memory;

typedef struct fm_rows {
    size_t count;
    unsigned columns; /* FM_COLUMN_… */
    fm_row_memory *at;
    uint32_t thread_number;
} fm_rows;

void fm_rows_set_thread(fm_rows *rows, uint32_t number); /* of an empty batch */

/* ---- decode kernels ---- */

/*
 * The hot loops of the receiver, chosen at run time by instruction set: words of a chunk
 * in, rows of a batch out. They do what is plain and frequent and stop at everything else; the caller does
 * that one word or record and calls again. Nothing they read from the shared memory is trusted: the lengths
 * come from the places of the record heads, which were found once. Up to seven words behind the last one are
 * read, so the mapping is larger than the ring.
 */

/* ---- Valgrind: blocks ---- */

/* Up to eight accesses of a block: what most runs need, in one cache line, and the rest. */
enum { FM_GROUP = FM_BLOCK_EIGHT };
typedef struct fm_block_group {
    uint32_t tag[FM_GROUP];
    int16_t delta[FM_GROUP]; /* address - the word that it is told by */
    uint8_t size[FM_GROUP];  /* of a block with larger ones, which is not plain: cut off */
    /* Packed. Bits 0 to 23, three for each access: which word of the group it is told by. From bit
     * FM_REACH_SHIFT on, four for each number of words from 0 to 8: how many accesses these tell of. From bit
     * FM_GROUP_WORDS_SHIFT on: how many words there are. */
    uint64_t words;
} __attribute__((aligned(64))) fm_block_group;
_Static_assert(sizeof(fm_block_group) == 64, "a group is a cache line");
enum { FM_FROM_BITS = 0xFFFFFF, FM_FROM_OWN = 0xFAC688, FM_REACH_SHIFT = 24, FM_GROUP_WORDS_SHIFT = 60 };
typedef struct fm_block_marks {
    uint16_t size[FM_GROUP];
    uint8_t kind[FM_GROUP];
    uint8_t wanted;  /* bit i: access i is of a kind that is wanted */
    uint8_t inlined; /* bit i: it is in an inlined copy of the function that is watched */
    uint8_t spare[6];
} fm_block_marks;

/* How many accesses so many words of a group tell of; how many words it has. */
static inline size_t fm_group_reach(uint64_t packed, size_t words)
{
    return packed >> (FM_REACH_SHIFT + 4 * words) & 15;
}
static inline size_t fm_group_words(uint64_t packed)
{
    return packed >> FM_GROUP_WORDS_SHIFT;
}

/* An entry of the table of blocks, for the kernel; all zero: not defined, or not plain, that is with a stack
 * pointer before the addresses, or with accesses of kinds that are not wanted, or of over 255 bytes. */
typedef struct fm_block {
    uint32_t group; /* index of its first group */
    uint16_t limit; /* words + 1, 0: the kernel stops here */
    /* Of a block with one group, as most are: words + 1, which tells that it was run to its end, and
     * accesses. */
    uint8_t whole, accesses;
} fm_block;
_Static_assert(FM_BLOCK_ACCESSES < UINT16_MAX, "a limit has room");

typedef struct fm_block_run {
    const uint64_t *words;
    const uint32_t *heads; /* where records begin: heads[head_count] is where the last one ends */
    size_t head, head_count;
    bool zeros; /* there may be accesses that did not happen */
    const fm_block *blocks;
    size_t block_count;
    const fm_block_group *groups;
    const fm_block_marks *marks; /* one for each group */
    const uint64_t *sites;       /* FM_GROUP code addresses for each group */
    /* Accesses to [stack_low, stack_low + stack_span) are left out; span 0: none. */
    uint64_t stack_low, stack_span;
    uint64_t left_out; /* counts those */
} fm_block_run;

/* The number of a word that is a BLOCK record, or something larger than any number of a block. */
static inline uint64_t fm_block_number(uint64_t word)
{
    return (word >> 16) ^ ((UINT64_C(128) | FM_RECORD_BLOCK) << 40);
}

/* ---- compiler: accesses ---- */

/* What a page of code (4096 bytes) has for each of its addresses: the tag of the access made there. */
typedef struct fm_code_page {
    uint64_t page; /* address >> 12 */
    uint64_t base; /* site of the place 0: producers give the address behind the call, the site is in it */
    uint32_t file; /* of fm_code, + 1; 0: none */
    uint64_t bias;
    uint8_t *watched;   /* for each address: 0 not asked for yet, 1 no, 2 in the watched function; or NULL */
    uint32_t tag[4096]; /* 0: not asked for yet */
} fm_code_page;
enum { FM_PAGE_CACHE = 256 }; /* pages seen lately, by the low bits of their number */

typedef struct fm_access_run {
    const uint64_t *words;
    const uint32_t
        *specials; /* where words are that are not plain accesses; specials[special_count]: the end */
    size_t special, special_count;
    size_t at;                /* next word; not behind specials[special] */
    const fm_code_page *page; /* NULL: none yet */
    fm_code_page *const *cache;
    bool tags_full; /* tag 0 is an answer */
    uint64_t stack_low, stack_span, left_out;
} fm_access_run;

/* By FM_ACCESS_…: 0 bytes where the kernel has to stop. */
extern const uint32_t fm_access_sizes[16];
extern const uint8_t fm_access_kinds[16];

typedef struct fm_decode_kernels {
    const char *isa;
    bool (*usable)(void);
    /* Where words with the highest bit are, in [from, to); returns how many. heads has room for 16 more.
     * *zeros: whether there may be words that are 0. */
    size_t (*heads)(const uint64_t *words, size_t from, size_t to, uint32_t *heads, bool *zeros);
    /* BLOCK records from run->head on, until they end or something else comes. There is room in the batch for
     * all words of the heads. */
    void (*blocks)(fm_block_run *run, fm_rows *rows);
    /* One block, plain or not: `count` words from `at` on, the first of them the first of `group`.
     * tags: of its accesses on the current path, NULL: those of the groups. inside: the watched function
     * runs; else only what is inlined from it counts. */
    void (*block)(fm_block_run *run, fm_rows *rows, size_t group, size_t at, size_t count,
                  const uint32_t *tags, bool inside);
    /* The same as heads for words that are not plain accesses: records, and ranges with their length behind
     * them. */
    size_t (*specials)(const uint64_t *words, size_t from, size_t to, uint32_t *specials);
    /* Accesses from run->at on, and PAGE records whose page is in the cache, until they end or something else
     * comes: another special, or an access whose place has no tag yet. */
    void (*accesses)(fm_access_run *run, fm_rows *rows);
} fm_decode_kernels;

/* ---- for decode_body.h ---- */

/* Which columns are there, and whether zeros and the stack are left out: known when a loop is compiled. */
typedef struct fm_loop_kind {
    unsigned columns;
    bool zeros, no_stack;
} fm_loop_kind;

/* Stands for the page of a channel that has named none. */
extern const fm_code_page fm_code_nowhere;

extern const fm_decode_kernels fm_decode_avx512, fm_decode_avx2, fm_decode_portable;
/* NULL or "avx512", "avx2", "portable"; NULL when this machine cannot. */
const fm_decode_kernels *fm_decode_kernels_find(const char *isa);

/* Words of the shared memory are read once: what is behind them may change at any time. */
static inline uint64_t fm_word(const uint64_t *word)
{
    return __atomic_load_n(word, __ATOMIC_RELAXED);
}

/* The address of access `in` of a group, by the group's words. */
static inline uint64_t fm_group_address(const fm_block_group *group, const uint64_t *words, size_t in)
{
    return fm_word(&words[group->words >> (3 * in) & 7]) + (uint64_t)(int64_t)group->delta[in];
}

/* The page that a PAGE record names, if it is one and the page is in the cache. */
static inline const fm_code_page *fm_page_cached(fm_code_page *const *cache, uint64_t word)
{
    uint64_t number = (word >> 16) ^ ((UINT64_C(128) | FM_RECORD_PAGE) << 40);
    const fm_code_page *page = cache[number % FM_PAGE_CACHE];
    return page && page->page == number ? page : NULL;
}

/* Accesses of one group one by one, whatever has to be left out; returns the row behind them. */
static inline size_t fm_store_each(fm_row_memory *rows, size_t row, unsigned columns, fm_block_run *run,
                                   size_t at, size_t group, size_t count, const uint32_t *tags, bool inside)
{
    const fm_block_marks *marks = &run->marks[group];
    if (!tags) tags = run->groups[group].tag;
    for (size_t in = 0; in < count; in++) {
        uint64_t address = fm_group_address(&run->groups[group], run->words + at, in);
        bool happened = address != 0 && (marks->wanted >> in & 1);
        bool out = address - run->stack_low < run->stack_span || !(inside || (marks->inlined >> in & 1));
        run->left_out += happened & out;
        rows->address[row] = address;
        if (columns & FM_COLUMN_SIZE) rows->size[row] = marks->size[in];
        if (columns & FM_COLUMN_TAG) rows->tag[row] = tags[in];
        if (columns & FM_COLUMN_KIND) rows->kind[row] = marks->kind[in];
        if (columns & FM_COLUMN_SITE) rows->site[row] = run->sites[group * FM_GROUP + in];
        row += happened & !out;
    }
    return row;
}

#endif
