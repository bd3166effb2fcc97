/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sample_protocol.h - how samples travel from a program to fathom while it runs: the layout of the memory
 * that they share.
 *
 * Two parties include this file: the receiver (src/sample) and the runtime that is preloaded into programs
 * (collect/sample). It is freestanding and holds no code but inline functions.
 *
 * THE SESSION is one memory file (memfd) that the receiver makes, and that never has a name. A program finds
 * it through the environment variable FATHOM_SAMPLE, "/proc/<receiver>/fd/<n>", maps it in its first
 * constructor and closes the descriptor: what the program does with its descriptors does not concern us.
 *
 *     FM_SAMPLE_HEAD     fm_sample_session: what the receiver wants; processes; which slabs are taken
 *     FM_SAMPLE_LANES    FM_SAMPLE_THREADS lanes of FM_SAMPLE_LANE_BYTES: the records of one thread
 *     FM_SAMPLE_SLABS    the logs of bursts, in slabs of a few sizes
 *     fm_sample_heap     blocks of the heap that were allocated and freed: some of them (behind the slabs)
 *
 * The file is sparse and cannot change its size. Nothing in it is trusted by the receiver: a program may
 * write anything there at any time. So every number is read once, into memory of the receiver's own, and
 * checked before it is used; what is impossible is dropped and counted.
 *
 * A PROCESS claims a place in `processes` (state FREE to CLAIMED by compare-and-swap), fills it in, sets
 * OPEN, and asks for a clock (clock = ASKED). The receiver opens the clock on it (a perf event that sends
 * SIGTRAP, and that new threads inherit), keeps its descriptor to itself, and answers RUNS; or REFUSED, with
 * the reason in clock_error, after which the process uses timers of its own. A clock of the receiver's ends
 * with the receiver. After a fork the child, if children are wanted, claims a place of its own.
 *
 * A PROCESS THAT RUNS ALREADY (fathom sample -p) is stopped by the receiver (ptrace), which lets it make the
 * memory file, loads the runtime into it and calls fathom_sampler_prepare and fathom_sampler_enter there
 * (enter.c). It opens a clock on each thread. At the end it stops it again and calls fathom_sampler_leave.
 *
 * A THREAD claims a lane when a clock tick finds it without one. Its records are in a ring of cells in the
 * lane: `written` counts those that are finished, `taken` those that the receiver has read. A ring that is
 * full costs the record, never time: `lost` counts them. What the thread watches at the moment is in
 * `watches`, so that the receiver knows it however the thread ends.
 *
 * A SLAB holds the log of one burst. A thread claims a free one by writing its lane's number + 1 into
 * slab_owner (compare-and-swap from 0); the record of the burst names it; the receiver copies its words and
 * sets slab_owner to 0. No free slab: the burst is left out, and counted.
 *
 * THE LOG is what burst_log.h describes. Behind its words are those bytes of the thread's table of blocks
 * that were not told before: the receiver puts them together again. A table that was begun anew (burst_reset)
 * has another generation.
 *
 * THE HEAP. Blocks of fm_sample_process.heap_large bytes and more are told, all of them, and of the others
 * those whose address has a hash below heap_limit (fm_sample_heap_hash): a known share of them, whatever
 * their size. Both numbers change as blocks are allocated faster; heap_limit, 2^k - 1, only falls, and a
 * block whose hash is not below it any more is forgotten. A cell is free (0), claimed (1) or full (2); the
 * receiver takes it and sets it to 0. Cells are in no order but that of their times.
 *
 * WITH CALL PATHS the last FM_SAMPLE_STACK_ROOM bytes of a slab are the registers at the burst's beginning
 * (FM_SAMPLE_REGISTERS of them) and behind them the stack from rsp on.
 *
 * TIME. `work` is the processor time of the thread in nanoseconds, without what the sampler itself used. In a
 * burst it stands still.
 *
 * COUNTERS. With the method FM_SAMPLE_METHOD_PMU a thread opens the events that the session lists, on itself.
 * Each sample of theirs is an access whose address is known: a record (FM_SAMPLE_RECORD_USE), and maybe a
 * watch. There are no bursts. `work`, and `begin` and `finish` of a watch, are then accesses of the thread,
 * by its counters, without the sampler's own; a watch's `burst` is the number of the use.
 */
#ifndef FATHOM_SAMPLE_PROTOCOL_H
#define FATHOM_SAMPLE_PROTOCOL_H

#include <stdint.h>

#define FM_SAMPLE_MAGIC UINT64_C(0x4C504D534D4F4854)
#define FM_SAMPLE_VERSION 4
#define FM_SAMPLE_ENVIRONMENT "FATHOM_SAMPLE"

/* What the sampler's SIGTRAPs carry (sig_data of perf events, sigev_value of timers): whose they are. */
#define FM_SAMPLE_TRAPS UINT64_C(0x666174686F6D0000)
#define FM_SAMPLE_TRAPS_END (FM_SAMPLE_TRAPS + 0x10000)
#define FM_SAMPLE_TRAP_CLOCK FM_SAMPLE_TRAPS
#define FM_SAMPLE_TRAP_WATCH (FM_SAMPLE_TRAPS + 0x100) /* + register */
#define FM_SAMPLE_TRAP_PMU (FM_SAMPLE_TRAPS + 0x200)   /* + event of the session's */

enum {
    FM_SAMPLE_PROCESSES = 256,
    FM_SAMPLE_REGION_BYTES = 256, /* of a region's name, with its end */
    FM_SAMPLE_THREADS = 2048,     /* lanes */
    FM_SAMPLE_LANE_BYTES = 8 << 10,
    FM_SAMPLE_CELLS = 44,            /* records in a lane's ring */
    FM_SAMPLE_WATCHES = 4,           /* debug registers of a thread */
    FM_SAMPLE_CLASSES = 4,           /* sizes of slabs */
    FM_SAMPLE_SLAB_MOST = 32,        /* slabs in all, at most */
    FM_SAMPLE_TABLE_BYTES = 1 << 20, /* of a thread's table of blocks */
    FM_SAMPLE_SHORTEST = 4096,       /* accesses of the shortest burst; each class has four times as many */
};

/* ---- slabs ---- */

typedef struct fm_sample_slab {
    uint64_t offset; /* in the file */
    uint32_t bytes;
    uint32_t class;
} fm_sample_slab;

/* So many slabs, of so many bytes, are in a class: 8 MiB in all, of which only what is used takes memory. A
 * burst takes 12 to 24 bytes for an access; FM_SAMPLE_TABLE_ROOM bytes behind it are for what is told of new
 * code. */
static inline uint32_t fm_sample_class_count(uint32_t class)
{
    return class == 0 ? 12 : class == 1 ? 4 : class < FM_SAMPLE_CLASSES ? 1 : 0;
}
static inline uint32_t fm_sample_class_bytes(uint32_t class)
{
    return (class == 0 ? 128u : class == 1 ? 384u : class == 2 ? 1280u : 3840u) << 10;
}
enum { FM_SAMPLE_SLABS_IN_ALL = 12 + 4 + 1 + 1, FM_SAMPLE_TABLE_ROOM = 16 << 10 };

/* ---- processes ---- */

enum { FM_SAMPLE_FREE = 0, FM_SAMPLE_CLAIMED = 1, FM_SAMPLE_OPEN = 2, FM_SAMPLE_CLOSED = 3 };
enum {
    FM_SAMPLE_CLOCK_NONE = 0,
    FM_SAMPLE_CLOCK_ASKED = 1,
    FM_SAMPLE_CLOCK_RUNS = 2,    /* the receiver's */
    FM_SAMPLE_CLOCK_REFUSED = 3, /* clock_error says why */
    FM_SAMPLE_CLOCK_TIMER = 4,   /* the process has a timer of its own */
    FM_SAMPLE_CLOCK_STOP = 5, /* the process asks to have it stopped, as it may make no system calls soon */
    FM_SAMPLE_CLOCK_STOPPED = 6,
};
/* Why a process takes no samples, or less than it might. */
enum {
    FM_SAMPLE_TROUBLE_SECCOMP = 1 << 0,  /* it gave up most system calls */
    FM_SAMPLE_TROUBLE_MEMORY = 1 << 1,   /* there was no memory for a thread */
    FM_SAMPLE_TROUBLE_WATCHES = 1 << 2,  /* no debug registers: watch_error */
    FM_SAMPLE_TROUBLE_TIMER = 1 << 3,    /* no timer either */
    FM_SAMPLE_TROUBLE_UNLOGGED = 1 << 4, /* no translator in this build */
    FM_SAMPLE_TROUBLE_PMU = 1 << 5,      /* a counter could not be had: pmu_error */
    FM_SAMPLE_TROUBLE_SHARED = 1 << 6,   /* counters stood still now and then: others use them too */
};

typedef struct fm_sample_process {
    uint32_t state;  /* FM_SAMPLE_… */
    uint32_t pid;    /* as the receiver sees it (same pid namespace) */
    uint32_t tid;    /* of the thread that asks for the clock */
    uint32_t serial; /* fm_sample_session.serial when it was claimed, from 1 */
    uint32_t parent; /* serial number of the process that forked it; 0: it was executed */
    uint32_t parent_pid;
    uint32_t clock;                   /* futex: FM_SAMPLE_CLOCK_… */
    int32_t clock_error, watch_error; /* errno */
    uint32_t trouble;                 /* FM_SAMPLE_TROUBLE_… */
    uint32_t refused_threads;         /* that found no lane */
    uint64_t cost;                    /* nanoseconds that a burst takes lately, with all that is around it */
    uint64_t ended_at;    /* processor time of the process at its exit, in nanoseconds; 0: not told */
    uint64_t peak_memory; /* bytes of it that were resident at most, at its exit; 0: not told */
    uint64_t heap_limit;  /* blocks whose hash is below this are told */
    uint64_t heap_large;  /* and those of at least so many bytes */
    uint32_t heap_seen;   /* 1: allocations come through the library */
    uint32_t heap_lost;   /* small blocks that found no cell */
    uint32_t region_met;  /* 1: it came to the region */
    int32_t pmu_error;    /* errno */
    uint64_t spare[4];
} __attribute__((aligned(64))) fm_sample_process;

/* ---- counters ---- */

enum { FM_SAMPLE_METHOD_SOFTWARE = 0, FM_SAMPLE_METHOD_PMU = 1 };
enum { FM_SAMPLE_PMU_EVENTS = 4 };
/* What an event is for. */
enum {
    FM_SAMPLE_PMU_USES = 1 << 0,    /* its samples are uses */
    FM_SAMPLE_PMU_COUNTS = 1 << 1,  /* its count is a part of the accesses */
    FM_SAMPLE_PMU_LATENCY = 1 << 2, /* its samples tell latencies of loads, and are no uses */
    FM_SAMPLE_PMU_LEADS = 1 << 3,   /* it leads the group of which the next event is a member */
    FM_SAMPLE_PMU_RATE = 1 << 4,    /* `period` is samples a second */
    FM_SAMPLE_PMU_KERNEL = 1 << 5,  /* the event cannot leave out the kernel: its samples there are dropped */
};
/* As perf_event_open wants it (struct perf_event_attr). */
typedef struct fm_sample_pmu_event {
    uint32_t type;
    uint32_t roles; /* FM_SAMPLE_PMU_… */
    uint64_t config, config1, config2;
    uint64_t period; /* 0: it only counts */
    uint64_t sample_type;
    uint32_t precise;
    uint32_t spare;
} fm_sample_pmu_event;

typedef struct fm_sample_pmu {
    uint32_t event_count;
    uint32_t watch_bytes; /* that a watch is for: 1, 2, 4, 8 */
    fm_sample_pmu_event events[FM_SAMPLE_PMU_EVENTS];
} fm_sample_pmu;

/* ---- the session ---- */

enum {
    FM_SAMPLE_WANT_CHILDREN = 1 << 0,
    FM_SAMPLE_WANT_WATCHES = 1 << 1,
    FM_SAMPLE_WANT_OBJECTS = 1 << 2, /* blocks of the heap */
    FM_SAMPLE_WANT_PATHS = 1 << 3,   /* the stack at the beginning of each burst */
    FM_SAMPLE_WANT_REGION = 1 << 4,  /* only what happens in `region` */
    FM_SAMPLE_WANT_PLAIN = 1 << 8,   /* the reservoir without caps */
};
enum { FM_SAMPLE_GO = 0, FM_SAMPLE_HALT = 1 };

typedef struct fm_sample_session {
    /* The receiver's. */
    uint64_t magic;
    uint32_t version;
    uint32_t wants; /* FM_SAMPLE_WANT_… */
    uint32_t receiver_pid;
    uint32_t order;    /* FM_SAMPLE_GO, FM_SAMPLE_HALT: take no more samples */
    uint64_t tick;     /* nanoseconds from tick to tick */
    uint64_t interval; /* nanoseconds from burst to burst; 0: as the budget allows */
    uint64_t period;   /* accesses from burst to burst; 0: by time */
    uint64_t budget; /* what may be used for sampling, in millionths of the program's own time; 0: no limit */
    uint64_t receiver_cost; /* nanoseconds that a burst costs beside what its thread sees */
    uint64_t seed;
    uint64_t frequency; /* of the time-stamp counter, in Hz */
    uint64_t heartbeat; /* raised by the receiver, several times a second */
    uint32_t method;    /* FM_SAMPLE_METHOD_… */
    uint32_t filters;   /* of system calls (seccomp) that the receiver is under */
    fm_sample_pmu pmu;
    uint64_t spare0[3];
    char region[FM_SAMPLE_REGION_BYTES]; /* of FATHOM_BEGIN */
    /* Changed by programs. */
    uint32_t wake;           /* futex of the receiver */
    uint32_t receiver_waits; /* 1 while it waits there */
    uint32_t serial;         /* next serial number of a process */
    uint32_t refused;        /* processes that found no place */
    uint64_t spare1[6];
    uint32_t slab_owner[FM_SAMPLE_SLAB_MOST]; /* 0: free; else lane + 1 */
    uint32_t lane_state[FM_SAMPLE_THREADS]; /* FM_SAMPLE_…: here, so that lanes nobody uses take no memory */
    fm_sample_process processes[FM_SAMPLE_PROCESSES];
} fm_sample_session;

/* ---- records ---- */

enum {
    FM_SAMPLE_RECORD_BURST = 1,
    FM_SAMPLE_RECORD_WATCH = 2,
    FM_SAMPLE_RECORD_END = 3,   /* of the thread */
    FM_SAMPLE_RECORD_TABLE = 4, /* more of the table than fits behind a log */
    FM_SAMPLE_RECORD_USE = 16,  /* a sampled access */
};
enum {
    FM_SAMPLE_PICK_FROM = 4096, /* uses, at most, from the first on, of which one is picked to be watched */
    FM_SAMPLE_TRIES = 8,        /* so many of them are looked at */
};
enum { FM_SAMPLE_WATCH_USED = 0, FM_SAMPLE_WATCH_REPLACED = 1, FM_SAMPLE_WATCH_ENDED = 2 };
#define FM_SAMPLE_NOWHERE UINT32_MAX

/* A use that is, or was, watched. */
typedef struct fm_sample_watched {
    uint32_t on;        /* in fm_sample_lane.watches: 1 while it is armed */
    uint32_t end;       /* FM_SAMPLE_WATCH_… */
    uint64_t burst;     /* number of the burst, in its thread, whose use it is */
    uint64_t address;   /* of the use */
    uint64_t position;  /* number of the use among the accesses of the log; of counters: 0, or that it is the
                           reuse of the sampled use, so many accesses after it, watched in its turn */
    uint64_t in_burst;  /* number of the burst in which, or in the window behind which, it ended; 0: none */
    uint64_t in_window; /* ticks of the time-stamp counter since that window began; 0: not in it */
    uint64_t begin;     /* work when it was armed: that of the burst's end */
    uint64_t finish;    /* work when it ended */
    uint64_t code;      /* address behind the instruction that used it again */
    uint64_t armed;     /* probability, in units of 2^-40 (reservoir.h) */
    uint64_t kept;      /* likewise, in units of 2^-31 */
    uint64_t stack_bytes; /* of the stack where it ended, in the slab that the record names; 0: none */
} fm_sample_watched;

/* A sample of a counter. */
typedef struct fm_sample_use {
    uint64_t number;   /* in its thread, from 1; 0: it tells a latency, and is no use */
    uint64_t position; /* accesses of the thread before it */
    uint64_t address;
    uint64_t code;            /* address of the instruction */
    uint64_t period;          /* accesses that it stands for, as the processor tells it */
    uint64_t latency, source; /* PERF_SAMPLE_WEIGHT, PERF_SAMPLE_DATA_SRC; 0: not told */
    uint64_t armed;           /* probability that it was watched, or would be (reservoir.h) */
    uint32_t place;           /* register that it got; …_NOWHERE: none */
    uint32_t event;           /* of the session's */
    uint64_t ticks;           /* of the time-stamp counter */
    uint64_t stack, fs_base;  /* registers: stack pointer, thread-local storage */
    uint32_t stack_bytes;     /* of the stack, in the slab that the record names; 0: none */
    uint32_t spare;
} fm_sample_use;

typedef struct fm_sample_record {
    uint32_t kind;
    uint32_t slab; /* of a burst; FM_SAMPLE_NOWHERE: its log was left out. With call paths of a watch, too:
                      its stack */
    union {
        struct {
            uint64_t number;       /* of the burst in its thread, from 1 */
            uint64_t work;         /* at its beginning */
            uint64_t planned;      /* nanoseconds of work that it stands for */
            uint32_t accesses;     /* that were logged */
            uint32_t words;        /* of the log */
            uint32_t table_from;   /* bytes of the table that were told before */
            uint32_t table_bytes;  /* that are told now, behind the words */
            uint32_t generation;   /* of the table */
            uint32_t reason;       /* why it ended: burst.h */
            uint32_t picked;       /* number, in the log, of the access that is watched; …_NOWHERE: none */
            uint32_t picked_place; /* register that it got; …_NOWHERE: none */
            uint64_t picked_armed; /* probability that it was armed (reservoir.h) */
            /* The window behind it, in which accesses were only counted; the work stands still there, too. */
            uint32_t counted;     /* accesses; 0: none */
            uint32_t calm;        /* of these, those of pieces that were timed and not disturbed */
            uint32_t stack_bytes; /* of the stack that are told; 0: none, and no registers either */
            uint32_t watching;    /* 1: a register was armed there */
            uint64_t calm_time;   /* that these took: nanoseconds of processor time */
            /* A window like this ahead of it, where no register was armed. */
            uint32_t ahead, ahead_calm, ahead_time;
            uint32_t heard; /* clock ticks of the thread until it; 0: there are ticks in the kernel, too */
            uint64_t own;   /* nanoseconds that the sampler had used in this thread before it */
            uint64_t fs_base, gs_base;
            uint64_t ticks, ticks_end; /* of the time-stamp counter, at its beginning and end */
            uint64_t stack;            /* the stack pointer, there */
        } burst;
        fm_sample_watched watch;
        fm_sample_use use;
        struct {
            uint64_t work, own;
            uint64_t time; /* nanoseconds of processor time; 0: work is that */
        } end;
        struct {
            uint32_t from, bytes, generation;
        } table;
    } is;
} fm_sample_record;
_Static_assert(sizeof(fm_sample_record) <= 160, "a cell");

typedef struct fm_sample_lane {
    uint32_t spare;
    uint32_t tid;
    uint32_t serial; /* of the process */
    uint32_t pid;
    uint64_t work, own;  /* as last known */
    uint64_t ticks;      /* clock ticks that came */
    uint64_t ticks_then; /* of these, before `work` was told */
    uint64_t bursts;     /* that were made */
    uint64_t crowded;    /* bursts that found no slab */
    uint64_t lost;       /* records that found no cell */
    uint32_t written;    /* records finished, modulo 2^32 */
    uint32_t spare0;
    uint64_t time;      /* with counters: nanoseconds of processor time, as last known */
    uint64_t stale;     /* samples that were seen too late to be of use */
    uint64_t dropped;   /* that the kernel had no room for */
    uint64_t throttled; /* times that the kernel took fewer samples, for a while */
    uint64_t foreign;   /* of no use: no address, the kernel's, our own */
    uint64_t spare1[1];
    uint32_t taken; /* the receiver's */
    uint32_t spare2[15];
    fm_sample_watched watches[FM_SAMPLE_WATCHES];
    uint64_t spare3[8];
    union {
        fm_sample_record record;
        uint8_t bytes[160];
    } cells[FM_SAMPLE_CELLS];
} fm_sample_lane;
_Static_assert(sizeof(fm_sample_lane) <= FM_SAMPLE_LANE_BYTES, "a lane");

/* ---- the heap ---- */

enum {
    FM_SAMPLE_ALLOCATIONS = 512, /* cells */
    FM_SAMPLE_FREES = 1024,
    FM_SAMPLE_HEAP_STACK = 2048, /* bytes of the stack that are told with an allocation */
    FM_SAMPLE_STACK = 16 << 10,  /* with a burst or a watch, at most */
    FM_SAMPLE_REGISTERS = 8,     /* that are told with a stack: rip, rsp, rbp, rbx, r12 to r15 */
};
enum { FM_SAMPLE_STACK_ROOM = FM_SAMPLE_REGISTERS * 8 + FM_SAMPLE_STACK };
enum { FM_SAMPLE_CELL_FREE = 0, FM_SAMPLE_CELL_CLAIMED = 1, FM_SAMPLE_CELL_FULL = 2 };

typedef struct fm_sample_allocation {
    uint32_t state;
    uint32_t serial; /* of the process */
    uint64_t time;   /* time-stamp counter */
    uint64_t address, bytes;
    uint64_t caller;    /* of malloc: where it returns to */
    uint32_t by_chance; /* 1: by its hash, 0: by its size */
    uint32_t stack_bytes;
    uint64_t registers[FM_SAMPLE_REGISTERS]; /* with them the stack can be unwound, from rsp on */
    unsigned char stack[FM_SAMPLE_HEAP_STACK];
} fm_sample_allocation;

typedef struct fm_sample_free {
    uint32_t state;
    uint32_t serial;
    uint64_t time;
    uint64_t address;
} fm_sample_free;

typedef struct fm_sample_heap {
    uint32_t told; /* cells that were ever filled, modulo 2^32 */
    uint32_t spare[15];
    fm_sample_free frees[FM_SAMPLE_FREES];
    fm_sample_allocation allocations[FM_SAMPLE_ALLOCATIONS];
} fm_sample_heap;

/* Functions of the allocator that are stood in for: malloc, calloc, realloc, free, memalign, aligned_alloc,
 * posix_memalign. */
enum { FM_SAMPLE_HEAP_FUNCTIONS = 7 };

/* Addresses are spread evenly: neighbours too. */
static inline uint64_t fm_sample_heap_hash(uint64_t address)
{
    return address * UINT64_C(0x9E3779B97F4A7C15);
}

/* ---- where things are ---- */

enum {
    FM_SAMPLE_HEAD_BYTES = 64 << 10,
    FM_SAMPLE_LANES = FM_SAMPLE_HEAD_BYTES,
    FM_SAMPLE_SLABS = FM_SAMPLE_LANES + FM_SAMPLE_THREADS * FM_SAMPLE_LANE_BYTES,
};
_Static_assert(sizeof(fm_sample_session) <= FM_SAMPLE_HEAD_BYTES, "the session's head");

static inline fm_sample_slab fm_sample_slab_at(uint32_t index)
{
    fm_sample_slab slab = {FM_SAMPLE_SLABS, 0, 0};
    for (uint32_t class = 0; class < FM_SAMPLE_CLASSES; class ++) {
        const uint32_t count = fm_sample_class_count(class), bytes = fm_sample_class_bytes(class);
        slab.class = class;
        slab.bytes = bytes;
        if (index < count) {
            slab.offset += (uint64_t)index * bytes;
            return slab;
        }
        slab.offset += (uint64_t)count * bytes;
        index -= count;
    }
    return slab; /* behind the last */
}
static inline uint64_t fm_sample_heap_offset(void)
{
    return fm_sample_slab_at(FM_SAMPLE_SLABS_IN_ALL).offset;
}
static inline uint64_t fm_sample_file_bytes(void)
{
    const uint64_t page = 4096;
    return (fm_sample_heap_offset() + sizeof(fm_sample_heap) + page - 1) / page * page;
}

#endif
