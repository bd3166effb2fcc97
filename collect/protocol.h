/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * protocol.h - how references travel from a traced program to fathom while it runs: the layout of the memory
 * they share, and the words in it.
 *
 * Three parties include this file: the receiver (src/collect, ordinary C), the Valgrind tool
 * (collect/valgrind, no libc at all) and the runtime behind compiler instrumentation (collect/cc). So it is
 * freestanding, holds no code but a few inline functions, and is licensed so that all three may use it.
 *
 * THE SESSION is one memory file (memfd) that the receiver makes; nothing of it ever has a name in /dev/shm
 * or /tmp. Producers open it through /proc/<receiver>/fd/<n>, the path given by `--session=` (Valgrind tool)
 * or by the environment variable FATHOM_SESSION (runtime). The receiver holds a flock(LOCK_EX) on its own
 * open file; a producer that gets flock(LOCK_EX|LOCK_NB) on *its* open file knows that the receiver is gone.
 *
 *     0                          fm_session
 *     FM_STREAM_RINGS_OFFSET     ring of channel 0, of channel 1, …: FM_RING_BYTES each
 *
 * The file is sparse: a ring takes memory only where it was written to; the receiver punches it out when the
 * channel is done.
 *
 * A CHANNEL carries the words of one producer in order: a process under Valgrind (whose threads take turns),
 * or a thread of an instrumented program. A producer claims a free channel by changing its state from FREE to
 * CLAIMED with compare-and-swap, fills in the fields of the descriptor, and then sets OPEN.
 *
 * A RING is FM_RING_CHUNKS chunks of FM_CHUNK_BYTES. The producer writes words at `cursor` (its own address
 * of the ring plus an offset). The cursor lives in the shared descriptor and is stored after the words it
 * covers, so that whatever happens to the producer, the receiver finds every word that was finished. When the
 * cursor has passed `limit`, the producer seals the chunk: it stores chunk_words and chunk_sequence, adds one
 * to `sealed` (release), wakes the receiver if it sleeps, waits until sealed - taken < FM_RING_CHUNKS, and
 * goes on in the next chunk. It waits on the futex `taken`, for 100 ms at most each time, and between waits
 * looks whether the session's order is DETACH or the receiver is gone: then it stops tracing and lets the
 * program run on. No record crosses from one chunk into the next.
 *
 * WORDS are 64 bits. A word whose highest bit is set is a record's first word:
 *
 *     63   62..56   55..16     15..0
 *     1    kind     argument   words that follow (0 for those of one word; not used by BLOCK)
 *
 * Everything else is data of the record before. What reads and writes the same place (add to memory, lock
 * xadd, atomic operations) is two accesses, a load and then a store, from every producer. What a reference
 * looks like depends on the producer:
 *
 * Valgrind: FM_RECORD_BLOCK with the number of a translated block (32 bits in the argument), then, if the
 * block was defined with FM_BLOCK_HAS_SP, one word with the stack pointer at the block's beginning, then one
 * word for each of its accesses: the address; 0 for an access whose guard was false (it did not happen).
 * Fewer words follow when the block was left by a side exit: the next word with the highest bit set ends it.
 * Size, kind and code address of each access were reported once, by FM_RECORD_DEFINE.
 *
 * Where FM_WANT_SHARED is set, an access whose address differs by a constant from that of one before it in
 * the block (the same base register, or both addresses are constants) may have no word of its own: its
 * definition says which word it shares, and the difference. Each eight accesses of a block, counted from its
 * first, share words among themselves only, and none shares one from before a side exit: so the number of
 * words still tells how many accesses there were, all up to the one whose word would be the next.
 *
 * Compiler runtime: each access is one word, FM_ACCESS_WORD(address, code, pc): the address in bits 62..16,
 * what was done in bits 15..12, the low 12 bits of the calling code address in bits 11..0. The upper bits of
 * the code address are those of the last FM_RECORD_PAGE. Where code is FM_ACCESS_LOAD_RANGE or …_STORE_RANGE
 * the next word is the number of bytes, FM_RANGE_MOST at most: longer accesses are reported in pieces, so
 * that what a word costs the receiver has a bound. When FM_WANT_SITES is not set, pc is 0 and there are no
 * pages.
 */
#ifndef FATHOM_PROTOCOL_H
#define FATHOM_PROTOCOL_H

#include <stdint.h>

#define FM_STREAM_MAGIC UINT64_C(0x4D4F4854414653FE)
#define FM_STREAM_VERSION 3
#define FM_STREAM_ENVIRONMENT "FATHOM_SESSION"

enum {
    FM_STREAM_CHANNELS = 1024,
    FM_CHUNK_BYTES = 128 << 10,
    FM_RING_CHUNKS = 16,
    FM_RING_BYTES = FM_CHUNK_BYTES * FM_RING_CHUNKS,
    FM_STREAM_RINGS_OFFSET = 512 << 10,
    /* A producer must leave a chunk when fewer bytes than this are left in it: no record is longer.
     * (The receiver does not depend on it.) */
    FM_RECORD_MOST_BYTES = 16 << 10,
    FM_RANGE_MOST = 64 << 10, /* bytes of one access */
};

/* Where a process keeps its descriptor of the session (compiler): high, where it changes none that the
 * program gets. With FM_WANT_CHILDREN it is inherited there. limit: RLIMIT_NOFILE. */
static inline int fm_stream_descriptor(uint64_t limit)
{
    if (limit >= 1064) return 1000;
    return limit > 128 ? (int)limit - 64 : (int)(limit / 2);
}

/* ---- the descriptor of a channel ---- */

enum { FM_CHANNEL_FREE = 0, FM_CHANNEL_CLAIMED = 1, FM_CHANNEL_OPEN = 2, FM_CHANNEL_CLOSED = 3 };
enum { FM_PRODUCER_VALGRIND = 1, FM_PRODUCER_COMPILER = 2 };

typedef struct fm_channel {
    /* The producer's, written all the time. */
    uint64_t cursor;       /* address, in the producer's memory, behind the last finished word */
    uint64_t limit;        /* likewise: seal the chunk when the cursor is above this */
    uint64_t ring_address; /* where the ring lies in the producer's memory */
    uint64_t spare0[5];
    /* The producer's, written when a chunk is sealed. */
    uint32_t sealed;         /* chunks sealed so far, modulo 2^32 */
    uint32_t producer_waits; /* 1 while it waits on `taken`: wake it after adding to that */
    uint32_t spare1[14];
    /* The receiver's. */
    uint32_t taken; /* futex: chunks taken so far */
    uint32_t spare2[15];
    /* Set once. */
    uint32_t state;    /* FM_CHANNEL_… */
    uint32_t producer; /* FM_PRODUCER_… */
    uint32_t pid;      /* of the process, as the receiver sees it (same pid namespace) */
    uint32_t tid;      /* kernel's thread number of the thread (compiler) or of the main thread (Valgrind) */
    uint32_t
        process; /* serial number of the process: fm_session.processes before it was raised; see PROCESS */
    uint32_t thread;  /* small number of the thread in its process, from 1 (compiler); 1 (Valgrind) */
    uint64_t born;    /* fm_session.sequence when the channel was claimed */
    uint32_t calling; /* compiler: 1 + the number of a system call that the runtime makes now; 0: none */
    uint32_t spare3[7];
    uint64_t chunk_sequence[FM_RING_CHUNKS]; /* fm_session.sequence, taken when the chunk was sealed: the
                                                order in which chunks of a process's threads are merged */
    uint32_t chunk_words[FM_RING_CHUNKS];    /* words in each sealed chunk */
} __attribute__((aligned(64))) fm_channel;

/* ---- the session ---- */

enum { FM_ORDER_TRACE = 0, FM_ORDER_DETACH = 1 };

/* What the receiver wants reported (fm_session.wants). */
enum {
    FM_WANT_LOADS = 1 << 0,
    FM_WANT_STORES = 1 << 1,
    FM_WANT_SITES = 1 << 2, /* code addresses (Valgrind always reports them) */
    FM_WANT_CALLS = 1 << 3, /* stack pointers with blocks (Valgrind), ENTER and LEAVE (compiler) */
    FM_WANT_HEAP = 1 << 4,  /* HEAP_… and CONTEXT */
    FM_WANT_CHILDREN =
        1 << 5,              /* children of fork are traced too (and of exec: Valgrind's --trace-children) */
    FM_WANT_SHARED = 1 << 6, /* accesses may share words (Valgrind) */
};

typedef struct fm_session {
    uint64_t magic;
    uint32_t version;
    uint32_t wants;
    uint32_t order; /* FM_ORDER_…, changed by the receiver */
    uint32_t receiver_pid;
    uint64_t beats; /* raised as long as the receiver works */
    uint64_t spare0[4];
    /* Changed by producers. */
    uint32_t wake;           /* futex of the receiver: raised by one after sealing or closing */
    uint32_t receiver_waits; /* 1 while the receiver waits on `wake` */
    uint64_t sequence;       /* next sequence number of a chunk */
    uint32_t processes;      /* next serial number of a process, from 1 */
    uint32_t refused;        /* producers that found no free channel */
    uint32_t quiet;          /* 1: one of them must not wake the receiver, which looks by itself then */
    uint32_t unused;
    uint64_t spare1[4];
    fm_channel channels[FM_STREAM_CHANNELS];
} fm_session;

_Static_assert(sizeof(fm_session) <= FM_STREAM_RINGS_OFFSET, "the session's head must end before the rings");
_Static_assert(sizeof(fm_channel) % 64 == 0, "channels start on cache lines");

/* ---- records ---- */

enum {
    /* argument: block number. See above. */
    FM_RECORD_BLOCK = 1,
    /*
     * words: [0] block number | accesses << 32 | FM_BLOCK_… flags << 48
     *        [1] number of the module its code is in (MODULE), 0: none (made at run time)
     *        [2] code address of the block's first instruction
     *        [3] address behind the call instruction that ends it (FM_BLOCK_CALLS), else 0
     *        then one word for each access: code address | size << 48 | fm_kind << 60 (load, store),
     *        and FM_DEFINE_SHARED where it has no word of its own; then one word for each of those:
     *        difference (16 bits, signed) | which word of its eight accesses it shares << 16
     */
    FM_RECORD_DEFINE = 2,
    /*
     * words: [0] number, from 1 | FM_MODULE_… flags << 32   [1] bias: address in memory - address in the file
     *        [2] [3] text from, to   [4] [5] data   [6] [7] bss (to: behind the last byte; 0 0: none)
     *        then the path, ended by a zero byte and padded with zeroes
     */
    FM_RECORD_MODULE = 3,
    /* argument: thread that runs from here on (Valgrind). */
    FM_RECORD_THREAD = 4,
    /* words: [0] thread number [1] [2] its stack: lowest and highest address [3] kernel's number */
    FM_RECORD_THREAD_START = 5,
    /* argument: thread number. */
    FM_RECORD_THREAD_END = 6,
    /* words: [0] address [1] bytes [2] number of the CONTEXT that asked for it */
    FM_RECORD_HEAP_ALLOC = 7,
    /* words: [0] address */
    FM_RECORD_HEAP_FREE = 8,
    /* words: [0] number, from 1, then return addresses, innermost first; frames inside the allocator left out
     */
    FM_RECORD_CONTEXT = 9,
    /* words: the region's name, as a path in MODULE. Regions nest; END ends the innermost. */
    FM_RECORD_REGION_BEGIN = 10,
    FM_RECORD_REGION_END = 11,
    /* A function was entered (compiler): [0] code address in it [1] return address [2] stack pointer. */
    FM_RECORD_ENTER = 12,
    /* It was left. */
    FM_RECORD_LEAVE = 13,
    /* A signal handler begins (Valgrind); argument: the signal. And ends. */
    FM_RECORD_SIGNAL = 14,
    FM_RECORD_SIGNAL_END = 15,
    /* First record of a process. words: [0] pid [1] parent's pid [2] serial number of the process it was
     * forked from, or 0 [3] serial number of this process, then the path of its program, ended by a zero
     * byte, and its arguments from the 0th on, each ended by one. argument: how many of them, and
     * FM_PROCESS_MORE_ARGUMENTS where there was no room for all */
    FM_RECORD_PROCESS = 16,
    /* The process is about to execute another program; argument: FM_EXEC_…; words: its path. */
    FM_RECORD_EXEC = 17,
    /* The program ends in order, by its own exit; argument: exit code. Under Valgrind this, or NOTE with
     * FATAL_SIGNAL, is what distinguishes a program's end from the collector's own. */
    FM_RECORD_END = 18,
    /* argument: FM_NOTE_…; words: a text for people, as in MODULE. */
    FM_RECORD_NOTE = 19,
    /* argument: this many references are missing here. */
    FM_RECORD_LOST = 20,
    /* argument: upper bits of code addresses from here on: address >> 12 (compiler). */
    FM_RECORD_PAGE = 21,
    /* Functions were left without LEAVE: by longjmp, an exception (compiler). words: [0] the stack pointer
     * now; calls that have a lower one are over. */
    FM_RECORD_UNWIND = 22,
    /* Thread-local variables of a module lie here in a thread, perhaps within what THREAD_START reported.
     * words: [0] number of the thread [1] of the module [2] address [3] bytes */
    FM_RECORD_THREAD_LOCAL = 23,
};

#define FM_DEFINE_SHARED (UINT64_C(1) << 62)
enum {
    FM_BLOCK_ACCESSES = FM_RECORD_MOST_BYTES / 8, /* of a block, at most */
    FM_BLOCK_EIGHT = 8,                           /* accesses that may share words */
};
enum {
    FM_BLOCK_HAS_SP = 1,
    FM_BLOCK_CALLS = 2,
    FM_BLOCK_RETURNS = 4,
    FM_BLOCK_IS_ENTRY = 8 /* starts a function */
};
enum {
    FM_MODULE_INSTRUMENTED = 1 /* compiled by fathom cc (compiler) */,
    FM_MODULE_PROGRAM = 2 /* the main one */
};
enum {
    FM_NOTE_TEXT = 0,
    FM_NOTE_UNKNOWN_INSTRUCTION = 1, /* the program used one that the collector cannot run (AVX-512) */
    FM_NOTE_FATAL_SIGNAL = 2,
    FM_NOTE_GAVE_UP = 3, /* the collector cannot go on, and ends the program; text: why */
};
enum {
    FM_EXEC_TRACED = 1, /* the new program will be traced, too: it claims a channel of its own */
    FM_EXEC_FAILED = 2, /* it was not executed after all */
};
#define FM_PROCESS_MORE_ARGUMENTS (UINT64_C(1) << 32)

#define FM_RECORD(kind, argument, words)                                                                     \
    (UINT64_C(1) << 63 | (uint64_t)(kind) << 56 | ((uint64_t)(argument)&UINT64_C(0xFFFFFFFFFF)) << 16 |      \
     (uint64_t)(words))
#define FM_RECORD_KIND(word) ((unsigned)((word) >> 56) & 127)
#define FM_RECORD_ARGUMENT(word) ((word) >> 16 & UINT64_C(0xFFFFFFFFFF))
#define FM_RECORD_WORDS(word) ((unsigned)(word)&0xFFFF)

/* ---- accesses of the compiler runtime ---- */

enum {
    FM_ACCESS_LOAD_1 = 1, /* never 0: no word is 0 */
    FM_ACCESS_LOAD_2,
    FM_ACCESS_LOAD_4,
    FM_ACCESS_LOAD_8,
    FM_ACCESS_LOAD_16,
    FM_ACCESS_LOAD_32,
    FM_ACCESS_LOAD_RANGE,
    FM_ACCESS_STORE_1,
    FM_ACCESS_STORE_2,
    FM_ACCESS_STORE_4,
    FM_ACCESS_STORE_8,
    FM_ACCESS_STORE_16,
    FM_ACCESS_STORE_32,
    FM_ACCESS_STORE_RANGE,
};
#define FM_ACCESS_WORD(address, code, pc)                                                                    \
    ((uint64_t)(address) << 16 | (uint64_t)(code) << 12 | ((uint64_t)(pc)&0xFFF))

#endif
