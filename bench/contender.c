/* SPDX-License-Identifier: Apache-2.0 */
/* contender.c - see contender.h. */
#include "contender.h"

#include "floor.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct contender_run {
    contender who;
    fm_analyzer *analyzer;
    bench_floor *floor;
    uint64_t sum; /* of all that was read */
};

/* Takes distances and leaves them: their delivery is what is timed. */
static fm_status take(void *context, const uint64_t *blocks, const uint64_t *distances, size_t count,
                      fm_error *error)
{
    (void)blocks;
    (void)context;
    (void)distances;
    (void)count;
    (void)error;
    return FM_OK;
}

/* "0.01", "0.01+alone". */
static void name_rate(contender *who, const char *words)
{
    const int length = (int)strcspn(words, "+");
    const bool alone = strcmp(words + length, "+alone") == 0;
    snprintf(who->engine_options, sizeof who->engine_options, "rate=%.*s%s", length, words,
             alone ? ",hashes=1,exact-below=0" : "");
}

contender contender_named(const char *name)
{
    contender who = {.name = name};
    who.reads = strcmp(name, "read") == 0;
    if (who.reads || strcmp(name, "floor") == 0) return who;
    size_t length = strcspn(name, "/+@*");
    const fm_engine_info *engine;
    for (size_t i = 0; (engine = fm_engine_at(i)); i++) {
        if (strlen(engine->name) != length || strncmp(engine->name, name, length) != 0) continue;
        who.engine = engine;
        if (name[length] == '/') who.isa = name + length + 1;
        who.distances = strcmp(name + length, "+distances") == 0;
        if (name[length] == '@') name_rate(&who, name + length + 1);
        if (name[length] == '*') who.threads = (unsigned)bench_count(name + length + 1);
        if (!name[length] || who.isa || who.distances || who.threads || who.engine_options[0]) return who;
    }
    bench_die("no contender '%s': read, floor, ENGINE, exact/ISA, exact+distances, ENGINE*THREADS, "
              "shards@RATE[+alone]",
              name);
}

contender_run *contender_start(const contender *who, uint64_t seed)
{
    contender_run *run = bench_allocate(sizeof *run);
    memset(run, 0, sizeof *run);
    run->who = *who;
    if (who->reads) return run;
    if (!who->engine) {
        run->floor = bench_floor_create(seed);
        if (!run->floor) bench_die("floor: out of memory");
        return run;
    }
    fm_error error = {0};
    fm_analyzer_options options = {.engine = who->engine->name,
                                   .seed = seed,
                                   .isa = who->isa,
                                   .threads = who->threads,
                                   .engine_options = who->engine_options};
    if (fm_analyzer_create(&run->analyzer, &options, &error)) bench_die("%s: %s", who->name, error.reason);
    if (who->distances && fm_analyzer_set_sink(run->analyzer, take, NULL, NULL)) abort();
    return run;
}

void contender_feed(contender_run *run, const uint64_t *blocks, size_t count)
{
    fm_error error = {0};
    if (run->who.reads) {
        for (size_t i = 0; i < count; i++) run->sum += blocks[i];
        return;
    }
    while (count > 0) {
        size_t chunk = count < CONTENDER_CHUNK ? count : CONTENDER_CHUNK;
        fm_status status = run->floor ? bench_floor_feed(run->floor, blocks, chunk, &error)
                                      : fm_analyzer_feed_blocks(run->analyzer, blocks, chunk, &error);
        if (status) bench_die("%s: %s", run->who.name, error.reason);
        blocks += chunk;
        count -= chunk;
    }
}

uint64_t contender_distinct(const contender_run *run)
{
    if (run->who.reads) return run->sum == 1; /* none, but the sum must be wanted */
    if (run->floor) return bench_floor_distinct(run->floor);
    fm_profile *profile = NULL;
    if (fm_analyzer_profile(run->analyzer, &profile, NULL)) bench_die("%s: no profile", run->who.name);
    uint64_t distinct = profile->distinct;
    fm_profile_destroy(profile);
    return distinct;
}

uint64_t contender_memory(const contender_run *run)
{
    if (run->who.reads) return 0;
    return run->floor ? bench_floor_memory(run->floor) : fm_analyzer_memory(run->analyzer);
}

uint64_t contender_memory_peak(const contender_run *run)
{
    if (run->who.reads) return 0;
    return run->floor ? bench_floor_memory(run->floor) : fm_analyzer_memory_peak(run->analyzer);
}

void contender_end(contender_run *run)
{
    bench_floor_destroy(run->floor);
    fm_analyzer_destroy(run->analyzer);
    free(run);
}

double bench_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

unsigned bench_processors(void)
{
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (unsigned)online : 1;
}

void bench_die(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("bench: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(1);
}

void *bench_allocate(size_t bytes)
{
    void *memory = malloc(bytes ? bytes : 1);
    if (!memory) bench_die("out of memory: no %zu bytes", bytes);
    return memory;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double bench_median(double *values, size_t count)
{
    qsort(values, count, sizeof *values, compare_doubles);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

void bench_line(const char *format, ...)
{
    const char *path = getenv("BENCH_LINES");
    if (!path || !*path) return;
    FILE *file = fopen(path, "a");
    if (!file) bench_die("%s: cannot open: %s", path, strerror(errno));
    va_list arguments;
    va_start(arguments, format);
    vfprintf(file, format, arguments);
    va_end(arguments);
    fputc('\n', file);
    if (fclose(file)) bench_die("%s: cannot write: %s", path, strerror(errno));
}

size_t bench_split(char *text, const char **parts, size_t most)
{
    size_t count = 0;
    for (char *part = strtok(text, ","); part; part = strtok(NULL, ",")) {
        if (count == most) bench_die("more than %zu parts in a list", most);
        parts[count++] = part;
    }
    return count;
}

uint64_t bench_count(const char *text)
{
    char *end;
    errno = 0;
    uint64_t value = strtoull(text, &end, 10), unit = 1;
    if (*end == 'K') unit = 1000;
    if (*end == 'M') unit = 1000000;
    if (*end == 'G') unit = 1000000000;
    if (unit > 1) end++;
    if (end == text || *end || errno || value > UINT64_MAX / unit) bench_die("'%s' is not a count", text);
    return value * unit;
}
