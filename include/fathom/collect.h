/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collect.h - runs a program and receives its references while it runs.
 *
 *     fm_error error;
 *     fm_collection *collection;
 *     fm_collected run = {.event = FM_COLLECTED_IDLE};
 *     fm_collected_process process;
 *     char *command[] = {"ls", "-l", NULL};
 *     fm_collect_options options = {.command = command};
 *     if (fm_collection_start(&collection, &options, &error)) return;
 *     while (fm_collection_next(collection, &run, &error) == FM_OK && run.event != FM_COLLECTED_END)
 *         if (run.event == FM_COLLECTED_REFERENCES) use_batch(&run.batch);
 *     fm_collection_process(collection, 0, &process); // how it ended
 *     fm_collection_close(collection);
 *
 * Two collectors: a Valgrind tool, for any x86-64 Linux program, and the runtime that `fathom cc` links into
 * programs it builds. Both write into memory that they share with this process (collect/protocol.h); nothing
 * is stored.
 *
 * A collection is used by one thread, and one process has one collection at a time: while it is open, it
 * takes care of SIGCHLD, and of SIGINT, SIGTERM and SIGHUP where options.signals is set.
 */
#ifndef FATHOM_COLLECT_H
#define FATHOM_COLLECT_H

#include <fathom/attribution.h>
#include <fathom/status.h>
#include <fathom/trace.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum fm_collector {
    FM_COLLECTOR_AUTO = 0, /* the compiler's where the program was built by fathom cc, else Valgrind */
    FM_COLLECTOR_VALGRIND = 1,
    FM_COLLECTOR_COMPILER = 2,
} fm_collector;

typedef struct fm_collect_options {
    char *const *command; /* program and arguments, NULL at the end; the program is looked for in PATH */
    fm_collector collector;
    const char *parts; /* directory with the collector's parts; NULL: beside this program, or where it was
                          installed */
    unsigned columns;  /* wanted in batches: FM_COLUMN_…; FM_COLUMN_TAG for attribution */
    bool no_loads, no_stores; /* leave them out; what reads and writes stays unless both are */
    bool no_stack;            /* leave out accesses to the stack of the thread that makes them */
    const char *
        function; /* only while this function, or one it called, runs; NULL: always. Name or demangled name */
    const char *region;   /* only between FATHOM_BEGIN(name) and FATHOM_END; NULL: always */
    bool call_paths;      /* sites are told apart by the calls that led there */
    bool objects;         /* keep account of heap blocks, stacks and globals */
    bool follow_children; /* processes that it starts are traced too */
    bool signals;         /* pass SIGINT, SIGTERM and SIGHUP on to the program, and end in order */
    bool stop_at_limit;   /* at a limit, also end the program (SIGTERM, SIGKILL after 2 s); else it runs on
                             untraced */
    uint64_t limit;       /* end tracing after so many references (of all processes); 0: none */
    double limit_seconds; /* end tracing after so long; 0: none */
} fm_collect_options;

typedef struct fm_collection fm_collection;

/*
 * Starts the program. Fails with FM_E_IO when it cannot be found or executed, FM_E_UNSUPPORTED when the
 * collector cannot run here or not for this program (no Valgrind, setuid, not x86-64); the reason says what
 * to do.
 */
FM_SIZED(fm_status, fm_collection_start, fm_collect_options,
         (fm_collection **collection, const fm_collect_options *options, fm_error *error),
         (collection, options, error));

typedef enum fm_collected_event {
    FM_COLLECTED_REFERENCES, /* batch holds references of one thread of one process */
    FM_COLLECTED_PROCESS,    /* a process was seen for the first time */
    FM_COLLECTED_IDLE,       /* nothing came for 0.1 s: time for progress */
    FM_COLLECTED_END,        /* everything has ended */
} fm_collected_event;

typedef struct fm_collected {
    fm_collected_event event;
    uint32_t process; /* index, from 0 */
    uint32_t thread;  /* number in its process, from 1 */
    uint64_t begin;   /* references of the process that were delivered before these */
    fm_batch batch;   /* valid until the next call */
} fm_collected;
FM_SIZED(fm_status, fm_collection_next, fm_collected,
         (fm_collection *collection, fm_collected *collected, fm_error *error),
         (collection, collected, error));

/* How a process ended. */
typedef struct fm_collected_process {
    uint32_t pid;
    uint32_t parent;        /* index; FM_NONE: the first one */
    const char *program;    /* path */
    char *const *arguments; /* its own command line, NULL at the end; NULL: not known */
    bool more_arguments;    /* there were more of them */
    bool by_exec;           /* it is the same process as its parent, after exec */
    const char *became;  /* path of the program that the process became by exec; NULL: none that was seen */
    uint32_t threads;    /* seen */
    uint64_t references; /* delivered: accesses, however many blocks each of them touches */
    uint64_t left_out;   /* received, but not wanted: function, region, stack, after the limit */
    bool ended;          /* exit_code or signal are known */
    int exit_code, signal;
    bool given_up; /* Valgrind ended it for reasons of its own: ended is false */
    bool
        complete; /* everything it did until it ended (or until the limit that was asked for) was delivered */
    uint64_t lost;
    const char *what_missing; /* NULL when complete */
} fm_collected_process;
FM_API size_t fm_collection_processes(const fm_collection *collection);
FM_SIZED(void, fm_collection_process, fm_collected_process,
         (const fm_collection *collection, size_t index, fm_collected_process *process),
         (collection, index, process));

typedef struct fm_collection_state {
    fm_collector collector;        /* the one in use */
    const char *collector_version; /* "valgrind-3.19.0" */
    uint64_t references;           /* delivered so far */
    bool limit_reached;            /* options.limit or limit_seconds */
    bool interrupted;              /* by SIGINT, SIGTERM or SIGHUP */
    double seconds;                /* since the start */
    const char *notes; /* lines for people, each ended by a newline: hints, what cannot be seen; "" */
} fm_collection_state;
FM_SIZED(void, fm_collection_state_get, fm_collection_state,
         (const fm_collection *collection, fm_collection_state *state), (collection, state));

/* Asks to stop tracing now. kill: the program too. */
FM_API void fm_collection_stop(fm_collection *collection, bool kill);

/*
 * Counts to which objects the late ones of a delivered batch went; they may be in any order. `collected` is
 * the batch or a copy of it (process, begin and addresses are looked at). Batches of a process in the order
 * they came; call it for one without late references too, with count 0: what is held for it can then be let
 * go.
 */
FM_SIZED(fm_status, fm_collection_count_late, fm_collected,
         (fm_collection *collection, const fm_collected *collected, const fm_late *late, size_t count,
          fm_error *error),
         (collection, collected, late, count, error));

/* Adds modules, sites (tags become indices: see map), paths and objects with their uses to an attribution
 * that holds edges already. map[tag] is the site's index; tags from 1; *map is allocated in the attribution.
 */
FM_API fm_status fm_collection_describe(fm_collection *collection, size_t process,
                                        fm_attribution *attribution, const uint32_t **map, size_t *map_count,
                                        fm_error *error);

/* The modules of a process, for a stored trace: as many as there are are counted, up to capacity are written.
 * Strings live as long as the collection. */
FM_API size_t fm_collection_modules(const fm_collection *collection, size_t process, fm_trace_module *modules,
                                    size_t capacity);

/* Ends what still runs (SIGKILL), frees everything. NULL is fine. */
FM_API void fm_collection_close(fm_collection *collection);

#ifdef __cplusplus
}
#endif
#endif
