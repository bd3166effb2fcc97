/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli.h - what every verb of the program shares: the table of verbs, options parsed from a table
 * (the same table prints --help), messages, exit codes, progress.
 *
 * The program sees the library through <fathom/experimental.h> only.
 */
#ifndef FATHOM_CLI_H
#define FATHOM_CLI_H

#include <fathom/experimental.h>
#include <stdio.h>

/* Exit codes, fixed by the contract. */
enum { CLI_COMPLETE = 0, CLI_FAILED = 1, CLI_USAGE = 2, CLI_INCOMPLETE = 3, CLI_CONDITION = 4 };

typedef struct cli_verb {
    const char *name;
    const char *summary;
    int (*run)(int argc, char **argv); /* argv[0] is the verb's name */
    bool research;                     /* for few: fathom --help=all shows it */
} cli_verb;
extern const cli_verb cli_verbs[]; /* ends with a NULL name */

int cli_verb_run(int argc, char **argv);
int cli_verb_record(int argc, char **argv);
int cli_verb_sample(int argc, char **argv);
int cli_verb_simulate(int argc, char **argv);
int cli_verb_analyze(int argc, char **argv);
int cli_verb_mrc(int argc, char **argv);
int cli_verb_compare(int argc, char **argv);
int cli_verb_diff(int argc, char **argv);
int cli_verb_report(int argc, char **argv);
int cli_verb_convert(int argc, char **argv);
int cli_verb_gen(int argc, char **argv);
int cli_verb_check(int argc, char **argv);
int cli_verb_train(int argc, char **argv);
int cli_verb_predict(int argc, char **argv);
int cli_verb_phases(int argc, char **argv);
int cli_verb_static(int argc, char **argv);
int cli_verb_cc(int argc, char **argv);
int cli_verb_cxx(int argc, char **argv);
int cli_verb_fc(int argc, char **argv);

/* ---- options ---- */

/* Topics of help, in their order. */
typedef enum cli_group {
    CLI_REPORT = 1,
    CLI_WRITTEN,
    CLI_CACHES,
    CLI_MEASURED,
    CLI_SPEED,
    CLI_RESEARCH, /* shown by --help=all and the manual */
} cli_group;

typedef enum cli_role {
    CLI_VALUE,
    CLI_OUTPUT,        /* a file that is written; "-" is standard output */
    CLI_INPUT_TRACE,   /* a trace that is read */
    CLI_INPUT_MACHINE, /* the same: a description of a machine */
} cli_role;

/* What a word means, whatever verb has it (option_list.c). */
typedef struct cli_word {
    cli_group group;
    char letter;          /* short form, or 0 */
    const char *name;     /* without the dashes */
    const char *argument; /* as shown in help: "FILE"; NULL for flags */
    const char *help;     /* one line */
    const char *usual;    /* the default; NULL: none to speak of */
    const char *choices;  /* words separated by blanks; NULL: anything */
    cli_role role;
} cli_word;
extern const cli_word cli_words[]; /* ends with a NULL name */
const cli_word *cli_word_find(const char *name, size_t length);

/* The type of what an option's value is written to. */
typedef enum cli_kind {
    CLI_OLD_WORD, /* nothing: an older spelling of another option */
    CLI_OLD_PART, /* the same; it is "name=value" of that option */
    CLI_FLAG,     /* bool: set to true */
    CLI_STRING,   /* const char * */
    CLI_COUNT, /* uint64_t: a whole number; suffixes K, M, G, T = 2^10, 2^20, …; of BYTES: also KiB, MB, … */
    CLI_REAL, /* double */
    CLI_JOIN, /* cli_joined: what is given, by every mention, separated by commas */
} cli_kind;

typedef struct cli_joined {
    char text[1024];
} cli_joined;

/* An option of a verb: a word, and where its value goes. What the verb does not say is as everywhere. */
typedef struct cli_option {
    const char *name;
    cli_kind kind;
    void *target;
    const char *help, *usual, *argument; /* usual "": none here */
    cli_group group;                     /* 0: as everywhere */
    const char *now;                     /* this is an older spelling of that option, or verb: not shown */
    cli_role role;                       /* of an older spelling that has a target of its own */
} cli_option;

/* For tables: {"json", CLI_TO(&options.json), .usual = …}, {"sizes", CLI_OLD("data-size")}. */
#define CLI_TO(to)                                                                                           \
    .kind = _Generic((to), bool *: CLI_FLAG, const char **: CLI_STRING, uint64_t *: CLI_COUNT,            \
                     double *: CLI_REAL, cli_joined *: CLI_JOIN),                                             \
    .target = (to)
#define CLI_OLD(new_name) .kind = CLI_OLD_WORD, .now = new_name

/* What positional arguments name; other kinds of files that are known are refused. */
typedef enum cli_reads {
    CLI_READS_NOTHING, /* or any file */
    CLI_READS_PROFILES,
    CLI_READS_TRACE,
    CLI_READS_MODEL,
    CLI_READS_SOURCE,
    CLI_READS_MACHINE,
    CLI_READS_PROGRAM,
} cli_reads;

typedef struct cli_command {
    const char *usage;         /* "fathom analyze [options] TRACE" */
    const char *about;         /* a few lines */
    const cli_option *options; /* ends with a NULL name */
    const char *exits;         /* a line about exit codes, where they are not as everywhere; or NULL */
    const char *notes;         /* shown after the options; examples. May be NULL */
    const char *choices;       /* what the first positional argument may be; NULL: a file */
    size_t least, most;        /* positional arguments */
    cli_reads reads;
    bool command_follows; /* the first positional argument ends the options: the rest is another program's */
} cli_command;

/*
 * Parses options anywhere among the positional arguments; `--name value` and `--name=value`; `--`
 * ends the options; a lone `-` is positional. Positional arguments end up in argv[1…*count].
 * Returns -1 to go on, or an exit code: 0 after --help (printed on standard output), 2 after a
 * message about wrong usage. A flag's or option's last mention wins.
 *
 * Where an option is an output, there is --force, too, and files are looked at (file_checks.h).
 */
int cli_parse(const cli_command *command, int argc, char **argv, size_t *count);
/* Whether it writes files, and so has --force. */
bool cli_writes_files(const cli_command *command);
/* The role of an option's value. */
cli_role cli_option_role(const cli_option *option);

typedef enum cli_help { CLI_HELP_DAILY, CLI_HELP_ALL, CLI_HELP_TABLE } cli_help;
/* --help, --help=all, --help=table on standard output: the exit code. */
int cli_print_help(const cli_command *command, cli_help how);
/* fathom help engines: all engines and their options. */
int cli_help_engines(void);

/*
 * "Did you mean …?": keeps in *best the candidate nearest to word so far; call it for every known word, with
 * *best NULL and *best_distance SIZE_MAX at first. *best stays NULL when nothing is near enough to be meant.
 */
void cli_nearest_consider(const char *word, const char *candidate, const char **best, size_t *best_distance);
/* The library speaks of members of its structs (csv_key, fm_reader_options.format), people gave options:
 * writes text with each member's name as that of the option, shortened to `size`. Returns to. Text in quotes
 * is somebody else's and stays as it is. */
char *cli_option_words(const char *text, char *to, size_t size);

/* --force: profiles, traces and models may be overwritten. */
extern bool cli_force;

/* Is it "-"? NULL is fine. */
bool cli_is_stdout(const char *path);
/* "64", "0x40", "4K", "1M": false when text is not wholly that, or overflows. */
bool cli_parse_count(const char *text, uint64_t *value);
/* The same of bytes, as they are printed, too: "4 KiB", "4KB", "64B". */
bool cli_parse_bytes(const char *text, uint64_t *value);
/* The same, or a number of keys: "30Mkeys". Which of both it may be is asked by cli_check_size. */
bool cli_parse_size(const char *text, uint64_t *value);
/* "keys" or "elements" where blocks have no bytes; NULL: memory. */
const char *cli_block_noun(const fm_profile *profile);
/* A size of a cache of such blocks: in the right unit, and not below one block. -1, or an exit code after a
 * message; -1 also where it cannot be read. */
int cli_check_size(const char *option, const char *text, uint64_t granularity, const char *noun);
/* The same of the list of --size (NULL: none); a note where plain numbers are no bytes. */
int cli_check_sizes(const char *list, uint64_t granularity, const char *noun);
/* The same for the smallest blocks of several profiles. */
int cli_check_profile_sizes(const char *list, const fm_profile *const *profiles, size_t count);
/* A number that is not below 0, and nothing behind it. */
bool cli_parse_real(const char *text, double *value);

/* A cache with sets, "32K:8" or "32K:8:64"; without its line, that is the granularity. -1, or an exit code
 * after a message about --cache. */
int cli_parse_cache(const char *text, uint64_t granularity, fm_cache *cache);

/* ---- messages: always on standard error, always "fathom VERB: …" ---- */

void cli_set_verb(const char *name);
void cli_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* A note that --quiet silences (see cli_quiet). */
void cli_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
extern bool cli_quiet;
/* A stream for lines that the library has to say (NULL where nobody wants to hear them); closing says each as
 * a note. Before it is opened, it is all zero, and closing it does nothing. */
typedef struct cli_notes {
    FILE *stream;
    char *text;
    size_t size;
} cli_notes;
void cli_notes_open(cli_notes *notes);
void cli_notes_close(cli_notes *notes, bool say);
/* Prints the error; returns the exit code: CLI_FAILED, or CLI_USAGE for FM_E_ARGUMENT. */
int cli_fail(const fm_error *error);
/* The message that there is no memory; returns CLI_FAILED. */
int cli_out_of_memory(void);
/* Message for a wrong use and the hint to --help; returns CLI_USAGE. */
int cli_misuse(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Flushes standard output and checks it: a full disk is never a success. Returns code, or CLI_FAILED
 * after a message. Every verb ends with it. */
int cli_finish(int code);
/* The first of two exit codes that is one; -1: neither. For results that are written one after the other. */
static inline int cli_worse(int first, int second)
{
    return first >= 0 ? first : second;
}

/* --threads, of which there may be so many. UINT64_MAX: not given. -1, or an exit code after a message. */
int cli_check_threads(uint64_t given, unsigned most);

enum { CLI_TOP = 10 }; /* --top, where it is not given: rows of a table */

/* ---- progress ---- */

/* On standard error, at most ten times a second, from one second after the start on: only on a
 * terminal unless `always`. Rate, fraction and time left where the total is known. */
typedef struct cli_progress {
    bool enabled, shown;
    bool beside; /* a program writes to the same terminal */
    bool rare;   /* nobody asked for it: a line now and then */
    double started, last;
    const char *noun; /* "references" */
} cli_progress;
void cli_progress_start(cli_progress *progress, const char *noun, bool always);
/* The same while a program runs that has our standard error: a line that is drawn over itself would run into
 * what the program writes. So it is in lines of their own, from a new line on: once a second where that was
 * asked for, else on a terminal, after 2, 4, 8 … seconds and then once a minute. The first says why it takes
 * so long. */
void cli_progress_start_beside(cli_progress *progress, const char *noun, bool asked);
/* fraction < 0: unknown. */
void cli_progress_update(cli_progress *progress, uint64_t done, double fraction);
void cli_progress_end(cli_progress *progress);

/* Width and abilities of standard output, for fm_view_…. */
fm_view_options cli_view_options(void);
/* The same of a standard descriptor at the end of a run whose notes went to standard error: once is enough
 * where both are one file. */
fm_view_options cli_view_after_notes(int descriptor);

/* ---- shared among verbs that read traces ---- */

/* --format, and the older spellings of what it says about csv, lackey and din. */
typedef struct cli_trace_options {
    const char *format;
    const char *instructions;
    const char *key, *size_column, *delimiter, *header;
    uint64_t key_unit, size_unit;
} cli_trace_options;
#define CLI_TRACE_OPTIONS(t) {"format", CLI_TO(&(t)->format)}, CLI_OLD_TRACE_OPTIONS(t)
#define CLI_OLD_TRACE_OPTIONS(t)                                                                             \
    {"instructions", CLI_TO(&(t)->instructions), .argument = "WHICH", .now = "format"},                      \
        {"key", CLI_TO(&(t)->key), .argument = "COLUMN", .now = "format"},                                   \
        {"size-column", CLI_TO(&(t)->size_column), .argument = "COLUMN", .now = "format"},                   \
        {"key-unit", CLI_TO(&(t)->key_unit), .argument = "BYTES", .now = "format"},                          \
        {"size-unit", CLI_TO(&(t)->size_unit), .argument = "BYTES", .now = "format"},                        \
        {"delimiter", CLI_TO(&(t)->delimiter), .argument = "CHAR", .now = "format"},                         \
    {                                                                                                        \
        "header", CLI_TO(&(t)->header), .argument = "yes|no", .now = "format"                                \
    }
enum { CLI_LEVEL = 1 }; /* fast enough to record by, and hardly larger than 3 */
/* --level of what writes traces. UINT64_MAX at first: not given. store: nothing is to be compressed.
 * Translated for fm_writer_options. -1, or an exit code after a message. */
int cli_check_level(uint64_t given, bool store, int *level);
/* Checks and translates. -1, or an exit code after a message. */
int cli_reader_options(const cli_trace_options *trace, fm_reader_options *options);

/* ---- how references are analysed ---- */

enum { CLI_MOST_GRANULARITIES = 16 };

/* As given on the command line. max_memory must start as UINT64_MAX: not given. */
typedef struct cli_analysis_options {
    const char *granularity, *engine, *bins, *bound, *isa;
    bool time;
    uint64_t max_memory;
    cli_joined engine_options;
} cli_analysis_options;

/* Older spellings of what --engine-option takes. */
#define CLI_OLD_ENGINE_OPTION(name, takes)                                                                   \
    {                                                                                                        \
        (name), CLI_OLD_PART, .argument = (takes), .now = "engine-option"                                    \
    }

#define CLI_ANALYSIS_OPTIONS(a)                                                                              \
    {"engine-option", CLI_TO(&(a)->engine_options)}, {"bound", CLI_TO(&(a)->bound)},                         \
        {"bins", CLI_TO(&(a)->bins)}, {"time", CLI_TO(&(a)->time)}, {"isa", CLI_TO(&(a)->isa)},              \
        CLI_OLD_ENGINE_OPTION("error", "SHARE"), CLI_OLD_ENGINE_OPTION("abs-error", "BLOCKS"),               \
        CLI_OLD_ENGINE_OPTION("cutoff", "BLOCKS"), CLI_OLD_ENGINE_OPTION("rate", "SHARE"),                   \
        CLI_OLD_ENGINE_OPTION("samples", "BLOCKS"), CLI_OLD_ENGINE_OPTION("hashes", "N"),                    \
        CLI_OLD_ENGINE_OPTION("exact-below", "BLOCKS"), CLI_OLD_ENGINE_OPTION("trace-size", "N"),            \
        CLI_OLD_ENGINE_OPTION("thread-trace-size", "N"), CLI_OLD_ENGINE_OPTION("hash-size", "N"),            \
        CLI_OLD_ENGINE_OPTION("pool-size", "N"), CLI_OLD_ENGINE_OPTION("disable-adjusting", NULL)

/* Checked and translated: one set of options for an analyzer per granularity. */
typedef struct cli_analysis {
    size_t count; /* 0: no granularity was named */
    uint64_t granularity[CLI_MOST_GRANULARITIES];
    fm_analyzer_options analyzer; /* everything but the granularity */
    uint64_t max_memory;          /* of the whole program; 0: no limit */
    bool histogram_only;          /* the engine gives no single distances */
} cli_analysis;

/* What --engine auto means for so many references; 0: nobody knows how many. Before any analyzer is made. */
void cli_analysis_choose_engine(cli_analysis *analysis, uint64_t references);
/* What is known of the engine; NULL: it is still to be chosen. */
const fm_engine_info *cli_analysis_engine(const cli_analysis *analysis);
/* -1, or an exit code after a message. */
int cli_analysis_check(const cli_analysis_options *options, cli_analysis *analysis);

/* ---- ranks ---- */

/* fathom analyze --mpi: this process is one rank of many. */

typedef struct cli_mpi_options {
    bool mpi;
    const char *shards; /* a pattern of file names; NULL: a single trace */
} cli_mpi_options;

#define CLI_MPI_OPTIONS(options)                                                                             \
    {"mpi", CLI_TO(&(options)->mpi)},                                                                        \
    {                                                                                                        \
        "mpi-shards", CLI_TO(&(options)->shards)                                                             \
    }

/* ---- the program that is run ---- */

/* The options about which program is run and what of it is watched, shared by run and
 * record.
 */

typedef struct cli_collect_options {
    const char *collector, *function, *region, *at_limit;
    bool loads, stores, no_stack, follow_children;
    uint64_t limit;
    double limit_time;
} cli_collect_options;

#define CLI_COLLECT_OPTIONS(c)                                                                               \
    {"collector", CLI_TO(&(c)->collector)}, {"function", CLI_TO(&(c)->function)},                            \
        {"region", CLI_TO(&(c)->region)}, {"loads", CLI_TO(&(c)->loads)}, {"stores", CLI_TO(&(c)->stores)},  \
        {"no-stack", CLI_TO(&(c)->no_stack)}, {"follow-children", CLI_TO(&(c)->follow_children)},            \
        {"limit", CLI_TO(&(c)->limit)}, {"limit-time", CLI_TO(&(c)->limit_time)},                            \
    {                                                                                                        \
        "at-limit", CLI_TO(&(c)->at_limit)                                                                   \
    }

/* Checks and translates. limit must start as UINT64_MAX, limit_time as -1: not given. -1, or an exit code. */
int cli_collect_check(const cli_collect_options *given, char **command, fm_collect_options *options);

/* ---- files ---- */

/* Files that a command line names, before anything is done: whether inputs are what the verb
 * reads, and outputs nothing that would be missed. */

/*
 * All of a parsed command line: its options whose roles are CLI_OUTPUT and CLI_INPUT_…, its positional
 * arguments, and standard input. An output must not be one of the inputs, nor another output; nor a profile,
 * a trace or a model unless cli_force. An input that is known to be of a kind that the verb does not read is
 * refused. -1, or an exit code after a message.
 */
int cli_check_files(const cli_command *command, char **arguments, size_t count);
/* An output whose name the verb made itself; option: that it made it from. */
int cli_check_output(const char *option, const char *path);

/* ---- a broken pipe ---- */

/* What happens when whoever reads our output goes away (fathom … | head). */

/* From here on a broken pipe is remembered instead of killing the program at once: verbs see the
 * failed write, clean up their unfinished files, and return. Does nothing where the parent chose to
 * ignore SIGPIPE: then a broken pipe is an ordinary write error with a message. */
void cli_pipe_watch(void);
/* Whether it happened. Messages about failed writes are then left out. */
bool cli_pipe_broken(void);
/* At the very end: where a pipe broke, ends the process by SIGPIPE as any filter does. */
void cli_pipe_leave(void);

/* ---- the line of progress ---- */

/* So that a message and the progress line do not write into each other. */

/* Clears a progress line that stands on the terminal; the next update draws it anew. */
void cli_progress_make_room(void);

#endif
