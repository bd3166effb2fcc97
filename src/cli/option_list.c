/* SPDX-License-Identifier: Apache-2.0 */
/*
 * option_list.c - every word of the command line, once: what it takes, what it means, where help shows it.
 *
 * A verb's table names those that it has and says where the value goes; whatever it does not say itself is
 * said here, for all verbs alike. --help, --help=all, the manual's OPTIONS and the completions of bash, zsh
 * and fish are made of both (option_help.c), in the order of this list: daily ones first, by topic.
 *
 * Texts fit one line of help: 53 columns, with the default in brackets.
 */
#include "cli.h"

#include <string.h>

/* clang-format off */
const cli_word cli_words[] = {
    /* What comes out. */
    {CLI_REPORT, 'o', "output", "FILE", .help = "write the text report to FILE; - is stdout",
     .usual = "stderr", .role = CLI_OUTPUT},
    {CLI_REPORT, 'j', "json", "FILE", .help = "write the profile, for fathom diff, mrc and report",
     .role = CLI_OUTPUT},
    {CLI_REPORT, 0, "report", "FILE", .help = "write an HTML report", .role = CLI_OUTPUT},
    {CLI_REPORT, 0, "title", "TEXT", .help = "title of the HTML report", .usual = "program names"},
    {CLI_REPORT, 0, "source", "FOLDERS", .help = "where to look for source files first: DIR:DIR"},
    {CLI_REPORT, 0, "markdown", "FILE", .help = "write the differences as Markdown", .role = CLI_OUTPUT},
    {CLI_REPORT, 0, "fail-if", "CONDITION", .help = "exit with 4 when it holds: 'misses@L2 > +5%'"},
    {CLI_REPORT, 0, "allow", "LIST", .help = "compare although this differs: end, incomplete, …",
     .choices = "end incomplete empty watched collector engine"},
    {CLI_REPORT, 0, "by", "WHAT", .help = "sum misses by line, function or object", .usual = "line",
     .choices = "line function object"},
    {CLI_REPORT, 0, "top", "N", .help = "show at most N rows per table; 0: none", .usual = "10"},
    {CLI_REPORT, 0, "pairs", NULL, .help = "show which line used the data last, which misses"},
    {CLI_REPORT, 0, "histogram", NULL, .help = "show the reuse-distance histogram"},
    {CLI_REPORT, 0, "csv", "FILE", .help = "write every pair of code locations as CSV", .role = CLI_OUTPUT},
    {CLI_REPORT, 0, "callgrind", "FILE", .help = "write misses per line for KCachegrind", .role = CLI_OUTPUT},
    {CLI_REPORT, 0, "depth", "LEVEL", .help = "show the phases of this level", .usual = "1"},
    {CLI_REPORT, 0, "profiles", "PREFIX", .help = "write a profile per phase: PREFIX1.json, …"},
    {CLI_REPORT, 'v', "verbose", NULL, .help = "one line for each block of a native trace"},
    {CLI_REPORT, 0, "what-if", "CHANGE", .help = "misses before and after a change: tile:i,j=32,8"},
    {CLI_REPORT, 0, "suggest", NULL, .help = "find the five legal changes with the fewest misses"},
    {CLI_REPORT, 0, "counts", NULL, .help = "only count loads, stores and operations"},
    {CLI_REPORT, 0, "symbolic", NULL, .help = "formulas of the parameters, instead of numbers"},
    {CLI_REPORT, 0, "emit-c", "FILE", .help = "write the formulas as a C function", .role = CLI_OUTPUT},
    /* A trace that is written. */
    {CLI_WRITTEN, 0, "keys", "M", .help = "how many different keys there are"},
    {CLI_WRITTEN, 0, "references", "N", .help = "how many references to write"},
    {CLI_WRITTEN, 0, "skew", "A", .help = "zipf: the exponent", .usual = "0.99"},
    {CLI_WRITTEN, 0, "seed", "N", .help = "another seed makes other random choices", .usual = "1"},
    {CLI_WRITTEN, 0, "to", "NAME", .help = "format to write", .usual = "by the file's name",
     .choices = "u64 text csv lackey din fathom"},
    {CLI_WRITTEN, 0, "level", "N", .help = "compression level, 1 to 22; higher is smaller", .usual = "1"},
    {CLI_WRITTEN, 0, "store", NULL, .help = "native format: do not compress"},
    /* Caches and their blocks. */
    {CLI_CACHES, 0, "size", "LIST", .help = "cache sizes in bytes: 32K,1M", .usual = "this machine's"},
    {CLI_CACHES, 0, "blocks", "LIST", .help = "cache sizes in blocks: 1000,64K"},
    {CLI_CACHES, 0, "cache", "LIST", .help = "set-associative caches: SIZE:WAYS[:LINE],…"},
    {CLI_CACHES, 0, "hit-ratio", "SHARE", .help = "the smallest cache with this hit ratio: 0.9"},
    {CLI_CACHES, 0, "machine", NULL, .help = "also this machine's caches"},
    {CLI_CACHES, 0, "no-machine", NULL, .help = "no caches but those that are named"},
    {CLI_CACHES, 'g', "granularity", "BYTES", .help = "cache-line size, or a list: 8,64,4096", .usual = "64"},
    {CLI_CACHES, 0, "select", "BYTES", .help = "which one, where a file holds several",
     .usual = "first"},
    {CLI_CACHES, 0, "machine-file", "FILE", .help = "bound performance on the machine of FILE",
     .role = CLI_INPUT_MACHINE},
    {CLI_CACHES, 0, "emit-machine", "FILE", .help = "only write a description of this machine",
     .role = CLI_OUTPUT},
    /* What is looked at. */
    {CLI_MEASURED, 'p', "pid", "PID", .help = "attach to a running process; it runs on afterwards"},
    {CLI_MEASURED, 0, "format", "NAME", .help = "format of the trace; csv:key=2,size=3",
     .usual = "by its name", .choices = "u64 text csv lackey din oracle fathom"},
    {CLI_MEASURED, 0, "function", "NAME", .help = "only NAME and the functions that it calls"},
    {CLI_MEASURED, 0, "region", "NAME", .help = "only from FATHOM_BEGIN(\"NAME\") to FATHOM_END"},
    {CLI_MEASURED, 'D', "param", "NAME=VALUE", .help = "value of a parameter, or a macro of the source"},
    {CLI_MEASURED, 0, "loads", NULL, .help = "only accesses that read"},
    {CLI_MEASURED, 0, "stores", NULL, .help = "only accesses that write"},
    {CLI_MEASURED, 0, "no-stack", NULL, .help = "skip accesses to a thread's own stack"},
    {CLI_MEASURED, 0, "call-paths", NULL, .help = "tell code apart by call stack"},
    {CLI_MEASURED, 0, "follow-children", NULL, .help = "also the processes that PROGRAM starts"},
    {CLI_MEASURED, 0, "limit", "N", .help = "stop measuring after N accesses"},
    {CLI_MEASURED, 0, "limit-time", "SECONDS", .help = "stop measuring after so many seconds"},
    {CLI_MEASURED, 0, "at-limit", "WHAT", .help = "then let PROGRAM continue, or stop it",
     .usual = "continue", .choices = "continue stop"},
    {CLI_MEASURED, 0, "data-size", "SIZE", .help = "size of the data, in blocks"},
    {CLI_MEASURED, 0, "size-from", "TRACE", .help = "find that size in the beginning of a trace",
     .role = CLI_INPUT_TRACE},
    {CLI_MEASURED, 0, "language", "NAME", .help = "c, c++, fortran or fir", .usual = "by the file's name",
     .choices = "c c++ fortran fir"},
    {CLI_MEASURED, 0, "layout", "NAME", .help = "rows of arrays: contiguous, or aligned to blocks",
     .choices = "contiguous aligned"},
    {CLI_MEASURED, 0, "scalars", NULL, .help = "scalar variables are in memory", .usual = "registers"},
    {CLI_MEASURED, 0, "assume", "TEXT", .help = "what the source does not tell (see the manual)"},
    /* How it is done, and what is told meanwhile. */
    {CLI_SPEED, 0, "collector", "NAME", .help = "valgrind or compiler", .usual = "as PROGRAM was built",
     .choices = "auto valgrind compiler"},
    {CLI_SPEED, 0, "sampler", "NAME", .help = "software (bursts) or pmu (processor's counters)",
     .choices = "pmu software"},
    {CLI_SPEED, 0, "overhead", "PERCENT", .help = "sample as much as slows PROGRAM by this", .usual = "2%"},
    {CLI_SPEED, 0, "rate", "HZ", .help = "samples per second of each thread's CPU time"},
    {CLI_SPEED, 0, "period", "N", .help = "references between samples, on average"},
    {CLI_SPEED, 0, "method", "NAME", .help = "walk, count, reconstruct, sample", .usual = "surest in time",
     .choices = "walk count reconstruct sample"},
    {CLI_SPEED, 0, "samples", "N", .help = "accesses that --method sample draws", .usual = "10000"},
    {CLI_SPEED, 0, "no-sites", NULL, .help = "distances only, no source lines (faster)"},
    {CLI_SPEED, 0, "threads", "N", .help = "analysis threads; never change results", .usual = "all cores"},
    {CLI_SPEED, 0, "max-memory", "BYTES", .help = "fail instead of using more"},
    {CLI_SPEED, 'q', "quiet", NULL, .help = "no notes, no progress"},
    {CLI_SPEED, 0, "progress", NULL, .help = "show progress even where stderr is no terminal"},
    /* Engines, estimators, papers; and what is wanted once a year. */
    {CLI_RESEARCH, 'e', "engine", "NAME", .help = "algorithm: `fathom help engines` lists them",
     .usual = "exact", .choices = "exact tree list parda approx shards aet gpu auto hp-rda hp-rda-gpu"},
    {CLI_RESEARCH, 0, "engine-option", "NAME=VALUE", .help = "an option of that engine alone",
     .choices = "error= abs-error= cutoff= rate= samples= hashes= exact-below= hash-seed= card= cards= trace-size= "
                "thread-trace-size= hash-size= pool-size= disable-adjusting="},
    {CLI_RESEARCH, 0, "bound", "BLOCKS", .help = "count distances from here on as one class"},
    {CLI_RESEARCH, 0, "bins", "NAME", .help = "histogram: exact, log2 or loglinear", .usual = "loglinear",
     .choices = "exact log2 loglinear"},
    {CLI_RESEARCH, 0, "time", NULL, .help = "count reuse times (time distances), too"},
    {CLI_RESEARCH, 0, "isa", "NAME", .help = "instructions: avx512, avx2, portable",
     .usual = "best", .choices = "avx512 avx2 portable"},
    {CLI_RESEARCH, 0, "distances", "FILE", .help = "write every distance as little-endian u64",
     .role = CLI_OUTPUT},
    {CLI_RESEARCH, 0, "sites", NULL, .help = "fail where the trace has no code locations"},
    {CLI_RESEARCH, 0, "embed-source", NULL, .help = "put the text of the source into the profile"},
    {CLI_RESEARCH, 0, "no-source", NULL, .help = "no text of source files in the HTML report"},
    {CLI_RESEARCH, 0, "threads-private", NULL, .help = "also a profile of each thread, as if alone"},
    {CLI_RESEARCH, 0, "reproducible", NULL, .help = "fix addresses, environment, process numbers"},
    {CLI_RESEARCH, 0, "threshold", "BLOCKS", .help = "look at distances over this only"},
    {CLI_RESEARCH, 0, "data-samples", "M", .help = "--size-from: samples that must have their peak",
     .usual = "2"},
    {CLI_RESEARCH, 0, "peaks", "K", .help = "--size-from: which peak of each tells", .usual = "1"},
    {CLI_RESEARCH, 0, "dimensions", "N", .help = "of the data: 1, 2 or 3", .usual = "what fits best"},
    {CLI_RESEARCH, 0, "percent", "P", .help = "of the reuses, for each of which one pattern", .usual = "0.1"},
    {CLI_RESEARCH, 0, "alike", "SHARE", .help = "overlap of phases that are of one class", .usual = "0.9"},
    {CLI_RESEARCH, 0, "open", "NAMES", .help = "parameters that stay open in formulas", .usual = "all"},
    {CLI_RESEARCH, 0, "emit-ir", "FILE", .help = "only write the region as text (.fir)", .role = CLI_OUTPUT},
    {CLI_RESEARCH, 0, "verify", NULL, .help = "compare with a walk over all accesses"},
    {CLI_RESEARCH, 0, "estimator", "NAME", .help = "see ESTIMATORS in the manual", .usual = "capped",
     .choices = "capped rdx rdx-trapped kaplan-meier horvitz-thompson"},
    {CLI_RESEARCH, 0, "conversion", "NAME", .help = "from reuse times to distances: aet or shen",
     .usual = "aet", .choices = "aet shen"},
    {CLI_RESEARCH, 0, "bootstrap", "N", .help = "rounds for the confidence interval; 1: none",
     .usual = "200"},
    {CLI_RESEARCH, 0, "registers", "K", .help = "debug registers, 1 to 16", .usual = "4"},
    {CLI_RESEARCH, 0, "bursts", "LENGTH[:STEPS]", .help = "a sample is a burst of LENGTH references"},
    {CLI_RESEARCH, 0, "reservoir", "NAME", .help = "capped, or plain (as in the paper)", .usual = "capped",
     .choices = "capped plain"},
    {CLI_RESEARCH, 0, "even", NULL, .help = "the same period always", .usual = "a random place in each"},
    {CLI_RESEARCH, 0, "mean-rate", NULL, .help = "one rate of accesses for the whole run"},
    {CLI_RESEARCH, 0, "no-watches", NULL, .help = "no debug registers: only what bursts see"},
    {CLI_RESEARCH, 0, "mpi", NULL, .help = "one rank of many: mpirun -np 8 fathom analyze --mpi"},
    {CLI_RESEARCH, 0, "mpi-shards", "PATTERN", .help = "--mpi: files that follow each other in time"},
    {CLI_RESEARCH, 0, "pass-status", NULL, .help = "exit with PROGRAM's own status"},
    {CLI_RESEARCH, 0, "force", NULL, .help = "overwrite even a profile, a trace or a model"},
    {CLI_RESEARCH, 'h', "help", NULL, .help = "show help; --help=all: every option"},
    {.name = NULL},
};
/* clang-format on */

const cli_word *cli_word_find(const char *name, size_t length)
{
    for (const cli_word *word = cli_words; word->name; word++)
        if (strlen(word->name) == length && memcmp(word->name, name, length) == 0) return word;
    return NULL;
}
