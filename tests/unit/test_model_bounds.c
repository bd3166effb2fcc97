/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_model_bounds.c - descriptions of machines, and bounds on them. The fewest misses that any cache can
 * have are judged by Belady's optimal replacement, worked out on random and on cyclic traces.
 */

#include "case.h"

#include <fathom/machine.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the fewest misses ---- */

enum { LENGTH = 400, BLOCKS = 24 };

/* Misses of the best replacement: out goes what is used again last. */
static uint64_t best_misses(const int *trace, size_t size)
{
    int held[BLOCKS];
    size_t count = 0;
    uint64_t misses = 0;
    for (size_t t = 0; t < LENGTH; t++) {
        size_t at = 0;
        while (at < count && held[at] != trace[t]) at++;
        if (at < count) continue;
        misses++;
        if (count < size) {
            held[count++] = trace[t];
            continue;
        }
        size_t out = 0, furthest = 0;
        for (size_t i = 0; i < count; i++) {
            size_t next = t + 1;
            while (next < LENGTH && trace[next] != held[i]) next++;
            if (next >= furthest) {
                furthest = next;
                out = i;
            }
        }
        held[out] = trace[t];
    }
    return misses;
}

static fm_profile *profile_of(const int *trace)
{
    fm_profile *profile;
    uint64_t counts[BLOCKS] = {0};
    assert_int_equal(fm_profile_create(&profile, NULL), FM_OK);
    for (size_t t = 0; t < LENGTH; t++) {
        bool seen[BLOCKS] = {false};
        uint64_t distance = 0;
        size_t at = t;
        while (at > 0 && trace[at - 1] != trace[t]) {
            at--;
            distance += !seen[trace[at]];
            seen[trace[at]] = true;
        }
        if (at == 0)
            profile->cold++;
        else
            counts[distance]++;
    }
    profile->references = LENGTH;
    profile->distinct = profile->cold;
    profile->granularity = 64;
    profile->exact = true;
    profile->bins = FM_BINS_EXACT;
    profile->distances.bins = calloc(BLOCKS, sizeof(fm_bin));
    for (uint64_t d = 0; d < BLOCKS; d++)
        if (counts[d]) profile->distances.bins[profile->distances.count++] = (fm_bin){d, d, counts[d]};
    return profile;
}

CASE(no_cache_misses_less)
{
    int trace[LENGTH];
    srand(7);
    double tightest = 0;
    for (int kind = 0; kind < 40; kind++) {
        for (int t = 0; t < LENGTH; t++)
            trace[t] = kind < 10   ? t % (5 + 2 * kind > BLOCKS ? BLOCKS : 5 + 2 * kind)
                       : kind < 30 ? rand() % (3 + kind % 20)
                                   : (t / 3 + rand() % 4) % BLOCKS;
        fm_profile *profile = profile_of(trace);
        for (size_t size = 1; size <= BLOCKS; size++) {
            const uint64_t best = best_misses(trace, size);
            const double least = fm_profile_least_misses(profile, size);
            if (least > (double)best + 1e-9)
                fail_msg("kind %d, %zu blocks: at least %g misses, and the best has %llu", kind, size, least,
                         (unsigned long long)best);
            assert_true(least >= (double)profile->cold);
            if (least > (double)profile->cold && least / (double)best > tightest)
                tightest = least / (double)best;
        }
        fm_profile_destroy(profile);
    }
    assert_true(tightest > 0.9); /* it says more than the first touches do */
}

/* n blocks again and again: LRU misses always; a cache of h blocks keeps h - 1 of them at best. */
CASE(cyclic_sweeps)
{
    int trace[LENGTH];
    const int n = 20;
    for (int t = 0; t < LENGTH; t++) trace[t] = t % n;
    fm_profile *profile = profile_of(trace);
    for (int h = 1; h < n; h++) {
        const double wanted = LENGTH * (double)(n - 1 - h + 1) / (n - 1); /* all distances are n - 1 */
        assert_float_equal(fm_profile_least_misses(profile, (uint64_t)h), (float)(wanted > n ? wanted : n),
                           1e-4);
    }
    assert_float_equal(fm_profile_least_misses(profile, (uint64_t)n), n, 1e-9);
    assert_float_equal(fm_profile_least_misses(profile, 0), LENGTH, 1e-9);
    fm_profile_destroy(profile);
}

/* ---- descriptions ---- */

static char path[] = "/tmp/fathom-machine-XXXXXX";

static fm_status read_text(const char *text, fm_machine **machine, fm_error *error)
{
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs(text, out);
    assert_int_equal(fclose(out), 0);
    return fm_machine_read(machine, path, error);
}

static const char whole[] =
    "# a comment\n\nfathom-machine 1\nname \"a # b\"\nflops 76.8G # peak\nintegers 2e9\n"
    "loads 3K\nstores 1M\naccesses 5T\n"
    "cache L1d size 32K ways 8 line 64 bandwidth 96\ncache L2 size 1M\nmemory bandwidth 20.5G\n";

static void check_whole(const fm_machine *machine)
{
    assert_string_equal(machine->name, "a # b");
    assert_float_equal(machine->flops, 76.8e9, 1);
    assert_float_equal(machine->integer_operations, 2e9, 0);
    assert_float_equal(machine->loads, 3000, 0);
    assert_float_equal(machine->stores, 1e6, 0);
    assert_float_equal(machine->accesses, 5e12, 0);
    assert_float_equal(machine->memory, 20.5e9, 1);
    assert_int_equal(machine->level_count, 2);
    assert_string_equal(machine->levels[0].name, "L1d");
    assert_int_equal(machine->levels[0].bytes, 32768);
    assert_int_equal(machine->levels[0].ways, 8);
    assert_int_equal(machine->levels[0].line, 64);
    assert_float_equal(machine->bandwidths[0], 96, 0);
    assert_int_equal(machine->levels[1].bytes, 1 << 20);
    assert_float_equal(machine->bandwidths[1], 0, 0);
}

CASE(a_description_is_read_and_written)
{
    fm_machine *machine;
    fm_error error;
    assert_int_equal(read_text(whole, &machine, &error), FM_OK);
    check_whole(machine);
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    fm_machine_write(machine, out);
    assert_int_equal(fclose(out), 0);
    fm_machine_destroy(machine);
    assert_int_equal(read_text(text, &machine, &error), FM_OK);
    check_whole(machine);
    fm_machine_destroy(machine);
    free(text);
}

CASE(hwloc_fills_in)
{
    fm_machine *machine;
    fm_error error;
    setenv("HWLOC_SYNTHETIC", "pack:1 l3:1(size=33554432) l2:4(size=1048576) l1d:1(size=49152) core:1 pu:2",
           1);
    assert_int_equal(read_text("fathom-machine 1\ncache L2 bandwidth 5G\n", &machine, &error), FM_OK);
    assert_int_equal(machine->level_count, 1);
    assert_int_equal(machine->levels[0].bytes, 1048576);
    assert_string_equal(machine->name, path); /* no name */
    fm_machine_destroy(machine);
    assert_int_equal(read_text("fathom-machine 1\nflops 1G\n", &machine, &error), FM_OK);
    assert_int_equal(machine->level_count, 3);
    fm_machine_destroy(machine);
    assert_int_equal(fm_machine_this(&machine, &error), FM_OK);
    assert_int_equal(machine->level_count, 3);
    assert_int_equal(machine->levels[2].bytes, 33554432);
    fm_machine_destroy(machine);
    assert_int_equal(read_text("fathom-machine 1\n\ncache L4 bandwidth 5G\n", &machine, &error), FM_E_FORMAT);
    assert_int_equal(error.offset, 3);
    assert_non_null(strstr(error.reason, "hwloc finds no cache of that name"));
    unsetenv("HWLOC_SYNTHETIC");
}

CASE(what_is_wrong_is_told)
{
    static const struct {
        const char *text;
        unsigned line;
        const char *reason;
    } cases[] = {
        {"", 1, "nothing in it"},
        {"# only\n", 2, "nothing in it"},
        {"machine 1\n", 1, "first words"},
        {"fathom-machine 2\n", 1, "first words"},
        {"fathom-machine 1 2\n", 1, "unexpected '2'"},
        {"fathom-machine 1\nspeed 3\n", 2, "expected name, flops"},
        {"fathom-machine 1\nflops\n", 2, "expected a rate"},
        {"fathom-machine 1\nflops 0\n", 2, "above 0"},
        {"fathom-machine 1\nflops -3G\n", 2, "above 0"},
        {"fathom-machine 1\nflops nan\n", 2, "above 0"},
        {"fathom-machine 1\nflops inf\n", 2, "above 0"},
        {"fathom-machine 1\nflops 1e308P\n", 2, "above 0"},
        {"fathom-machine 1\nflops 3X\n", 2, "found '3X'"},
        {"fathom-machine 1\nflops 3G\nflops 3G\n", 3, "given twice"},
        {"fathom-machine 1\nflops 3G 4\n", 2, "unexpected '4'"},
        {"fathom-machine 1\nname \"x\n", 2, "no end"},
        {"fathom-machine 1\nname\n", 2, "expected a text"},
        {"fathom-machine 1\nmemory 3G\n", 2, "'bandwidth'"},
        {"fathom-machine 1\ncache\n", 2, "a name of a cache"},
        {"fathom-machine 1\ncache a-name-of-a-cache-that-is-far-too-long size 1K\n", 2, "at most 31"},
        {"fathom-machine 1\ncache L1 size\n", 2, "expected a number"},
        {"fathom-machine 1\ncache L1 size K\n", 2, "found 'K'"},
        {"fathom-machine 1\ncache L1 size 99999999999999999999\n", 2, "whole number"},
        {"fathom-machine 1\ncache L1 size 1.5K\n", 2, "whole number"},
        {"fathom-machine 1\ncache L1 size 1K size 2K\n", 2, "given twice"},
        {"fathom-machine 1\ncache L1 colour 1K\n", 2, "found 'colour'"},
        {"fathom-machine 1\ncache L1 size 1K line 48\n", 2, "no power of two"},
        {"fathom-machine 1\ncache L1 size 32 line 64\n", 2, "smaller than its line"},
        {"fathom-machine 1\ncache L1 size 1000 line 64 ways 2\n", 2, "no multiple of one set"},
        {"fathom-machine 1\ncache L1 size 1K\ncache L1 size 2K\n", 3, "already"},
        {"fathom-machine 1\ncache L1 size 2K\ncache L2 size 1K\n", 3, "not larger"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fm_machine *machine;
        fm_error error;
        assert_int_equal(read_text(cases[i].text, &machine, &error), FM_E_FORMAT);
        assert_null(machine);
        if (error.offset != cases[i].line || !strstr(error.reason, cases[i].reason))
            fail_msg("%s: line %llu: %s", cases[i].text, (unsigned long long)error.offset, error.reason);
    }
    fm_machine *machine;
    fm_error error;
    assert_int_equal(fm_machine_read(&machine, "/nonexistent/machine", &error), FM_E_IO);
}

/* ---- bounds ---- */

static const fm_bound *resource(const fm_bounds_part *part, const char *name, bool proved)
{
    for (size_t i = 0; i < part->count; i++)
        if (strcmp(part->bounds[i].resource, name) == 0 && part->bounds[i].proved == proved)
            return &part->bounds[i];
    return NULL;
}

CASE(bounds_are_work_by_rate)
{
    int trace[LENGTH];
    for (int t = 0; t < LENGTH; t++) trace[t] = t % 20; /* 20 first touches, 380 times distance 19 */
    fm_profile *profile = profile_of(trace);
    fm_machine *machine;
    fm_error error;
    fm_bounds *bounds;
    assert_int_equal(read_text("fathom-machine 1\nname m\nflops 100\nloads 1000\nstores 500\nintegers 50\n"
                               "cache L1 size 512 line 64 bandwidth 100\ncache L2 size 2K bandwidth 64\n"
                               "memory bandwidth 32\n",
                               &machine, &error),
                     FM_OK);
    uint64_t edges[] = {0, 8, 32}, first[] = {0, 180, 0}, second[] = {0, 200, 0};
    const fm_nest nests[] = {
        {NULL, 0, 0, 200, 0, 3000, 10, 1600, 0, 20, 3, first},
        {NULL, 0, 0, 150, 50, 1000, 0, 1200, 400, 0, 3, second},
    };
    assert_int_equal(fm_machine_bound(machine, profile, nests, 2, edges, &bounds, &error), FM_OK);
    const fm_bounds_part *all = &bounds->whole;
    assert_int_equal(bounds->count, 2);
    assert_float_equal(resource(all, "flops", true)->seconds, 40, 1e-9);
    assert_float_equal(resource(all, "loads", false)->seconds, 0.35, 1e-9);
    assert_float_equal(resource(all, "integer operations", false)->seconds, 0.2, 1e-9);
    assert_float_equal(resource(all, "L1 to processor", false)->seconds, 3200 / 100., 1e-9);
    assert_float_equal(resource(all, "L2 to L1", false)->seconds, 400 * 64 / 64., 1e-9);
    assert_float_equal(resource(all, "L2 to L1", true)->seconds, (float)(400 * (19 - 8 + 1) / 19.), 1e-4);
    assert_float_equal(resource(all, "memory to L2", false)->seconds, 20 * 64 / 32., 1e-9);
    assert_float_equal(resource(all, "memory to L2", true)->seconds, 20 * 64 / 32., 1e-9);
    assert_null(resource(all, "loads", true));
    assert_string_equal(all->bounds[all->slowest].resource, "L2 to L1");
    assert_string_equal(all->bounds[all->slowest_proved].resource, "L2 to L1");
    assert_true(all->bounds[all->slowest_proved].proved);
    const fm_bounds_part *nest = &bounds->nests[0];
    assert_float_equal(resource(nest, "L2 to L1", false)->seconds, 200, 1e-9);
    assert_float_equal(resource(nest, "L2 to L1", true)->seconds, 20, 1e-9);
    assert_string_equal(nest->bounds[nest->slowest_proved].resource, "memory to L2"); /* 40 s, flops 30 s */
    fm_bounds_destroy(bounds);
    profile->exact = false; /* then only the whole's operations and first touches are sure */
    assert_int_equal(fm_machine_bound(machine, profile, nests, 2, edges, &bounds, &error), FM_OK);
    assert_float_equal(resource(&bounds->whole, "L2 to L1", true)->seconds, 20, 1e-9);
    assert_null(resource(&bounds->nests[0], "L2 to L1", true));
    fm_bounds_destroy(bounds);
    edges[1] = 9;
    assert_int_equal(fm_machine_bound(machine, profile, nests, 2, edges, &bounds, &error), FM_E_ARGUMENT);
    profile->granularity = 32;
    assert_int_equal(fm_machine_bound(machine, profile, nests, 2, edges, &bounds, &error), FM_E_ARGUMENT);
    fm_machine_destroy(machine);
    fm_profile_destroy(profile);
}
static int make_file(void **state)
{
    (void)state;
    int made = mkstemp(path);
    return made < 0 ? -1 : close(made);
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(path);
}

CASES_WITH(make_file, remove_file);
