/* SPDX-License-Identifier: Apache-2.0 */
/*
 * contender.h - whatever can be fed block numbers and timed: the floor, the engines, the analyzer.
 *
 * A contender is named in words: "read" (only adds all keys up: what reading them from memory takes);
 * "floor" (only looks each key up in the default engine's hash table and stores its time); "exact", "tree",
 * "list" (an engine behind the public analyzer, as `fathom analyze` uses it: what comes out is the
 * histogram); "exact/avx2" (with a chosen instruction set); "exact+distances" (every single distance comes
 * out too, in trace order); "parda*2" (with two threads); "shards@0.01" (with that rate), "shards@0.01+alone"
 * (one sample, nothing exact).
 */
#ifndef FATHOM_BENCH_CONTENDER_H
#define FATHOM_BENCH_CONTENDER_H

#include <fathom/experimental.h>

enum { CONTENDER_CHUNK = 1 << 15 }; /* references per feed: their distances stay in the second-level cache */

typedef struct contender {
    const char *name;
    const fm_engine_info *engine; /* NULL: the floor, or reading */
    bool reads;
    const char *isa; /* NULL: best */
    bool distances;
    unsigned threads;
    char engine_options[100];
} contender;

typedef struct contender_run contender_run;

/* The contender of that name; name must live on. Exits after a message when there is none. */
contender contender_named(const char *name);

/* These exit after a message on failure: a bench has nothing to save. */
contender_run *contender_start(const contender *who, uint64_t seed);
void contender_feed(contender_run *run, const uint64_t *blocks, size_t count);
uint64_t contender_distinct(const contender_run *run);
uint64_t contender_memory(const contender_run *run);
uint64_t contender_memory_peak(const contender_run *run);
void contender_end(contender_run *run);

/* ---- small things every bench needs ---- */

double bench_seconds(void);      /* monotonic */
unsigned bench_processors(void); /* at least 1 */
_Noreturn void bench_die(const char *format, ...) __attribute__((format(printf, 1, 2)));
void *bench_allocate(size_t bytes); /* or exits */
double bench_median(double *values, size_t count);
/* A line for programs, "key=value …", appended to the file that the variable BENCH_LINES names. */
void bench_line(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Splits "a,b,c" in place; returns how many (at most most). */
size_t bench_split(char *text, const char **parts, size_t most);
uint64_t bench_count(const char *text); /* "50M" = 50,000,000; K, M, G are powers of ten here. Or exits */

#endif
