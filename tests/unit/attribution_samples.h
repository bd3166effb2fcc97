/* SPDX-License-Identifier: Apache-2.0 */
/* attribution_samples.h - attributions made by hand, or at random with a naive count beside them. For tests.
 */
#ifndef FATHOM_TEST_ATTRIBUTION_SAMPLES_H
#define FATHOM_TEST_ATTRIBUTION_SAMPLES_H

#include <fathom/analyzer.h>
#include <fathom/profile.h>
#include <stdlib.h>
#include <string.h>

/* Ends the test program: a helper that cannot do its work is no test. */
#define SAMPLE_REQUIRE(condition)                                                                            \
    do {                                                                                                     \
        if (!(condition)) abort();                                                                           \
    } while (0)

/* Edges 0, 1, 2, 4, … 2^20, and 20480 (1.25 MiB of 64-byte blocks). */
enum { SAMPLE_EDGES = 23 };
static inline void sample_edges(uint64_t edges[SAMPLE_EDGES])
{
    size_t count = 0;
    edges[count++] = 0;
    for (unsigned power = 0; power <= 20; power++) {
        edges[count++] = UINT64_C(1) << power;
        if (power == 14) edges[count++] = 20480;
    }
    SAMPLE_REQUIRE(count == SAMPLE_EDGES);
}

/* The number of the range that begins at a distance. */
static inline uint32_t sample_range(uint64_t from)
{
    uint64_t edges[SAMPLE_EDGES];
    sample_edges(edges);
    for (uint32_t i = 0; i < SAMPLE_EDGES; i++)
        if (edges[i] == from) return i;
    abort();
}

static inline fm_attribution *sample_attribution(size_t modules, size_t sites, size_t paths, size_t objects)
{
    fm_attribution *made;
    uint64_t edges[SAMPLE_EDGES];
    sample_edges(edges);
    SAMPLE_REQUIRE(fm_attribution_create(&made, NULL) == FM_OK);
    SAMPLE_REQUIRE(fm_attribution_set_edges(made, edges, SAMPLE_EDGES, 512, NULL) == FM_OK);
    made->modules = fm_attribution_allocate(made, modules, sizeof *made->modules);
    made->sites = fm_attribution_allocate(made, sites, sizeof *made->sites);
    made->paths = fm_attribution_allocate(made, paths, sizeof *made->paths);
    made->objects = fm_attribution_allocate(made, objects, sizeof *made->objects);
    SAMPLE_REQUIRE(made->modules && made->sites && made->paths && made->objects);
    made->module_count = modules;
    made->site_count = sites;
    made->path_count = paths;
    made->object_count = objects;
    for (size_t i = 0; i < sites; i++) made->sites[i] = (fm_site){.module = FM_NONE, .path = FM_NONE};
    for (size_t i = 0; i < paths; i++) made->paths[i] = (fm_call_path){FM_NONE, 0};
    for (size_t i = 0; i < objects; i++)
        made->objects[i] = (fm_object){.kind = FM_OBJECT_OTHER, .module = FM_NONE, .allocation = FM_NONE};
    return made;
}

/* A site at a line; inlined_into (a function, its file and line) may be NULL. */
static inline void sample_site(fm_attribution *in, uint32_t site, uint64_t address, const char *function,
                               const char *file, uint32_t line, const char *inlined_into,
                               const char *outer_file, uint32_t outer_line)
{
    size_t count = inlined_into ? 2 : 1;
    fm_frame *frames = fm_attribution_allocate(in, count, sizeof *frames);
    SAMPLE_REQUIRE(frames);
    frames[0] = (fm_frame){fm_attribution_intern(in, function), fm_attribution_intern(in, file), line, 3};
    if (inlined_into)
        frames[1] = (fm_frame){fm_attribution_intern(in, inlined_into), fm_attribution_intern(in, outer_file),
                               outer_line, 0};
    uint32_t path = in->sites[site].path;
    in->sites[site] =
        (fm_site){.module = 0, .address = address, .path = path, .frame_count = count, .frames = frames};
}

/* Counts of use -> reuse in the range that begins at `from`. */
static inline void sample_pair(fm_attribution *in, uint32_t use, uint32_t reuse, uint32_t range,
                               uint64_t count)
{
    /* tags are sites + 1 */
    static uint32_t map[1 << 16];
    for (uint32_t i = 1; i <= in->site_count; i++) map[i] = i - 1;
    fm_raw_pair raw = {use == FM_NONE ? 0 : use + 1, reuse + 1, range, count};
    SAMPLE_REQUIRE(in->site_count < 1 << 16);
    SAMPLE_REQUIRE(fm_attribution_add_pairs(in, &raw, 1, map, in->site_count + 1, NULL) == FM_OK);
}

static inline void sample_uses(fm_attribution *in, const fm_object_use *uses, size_t count)
{
    in->object_uses = fm_attribution_allocate(in, count, sizeof *uses);
    SAMPLE_REQUIRE(in->object_uses);
    memcpy(in->object_uses, uses, count * sizeof *uses);
    in->object_use_count = count;
    for (size_t i = 0; i < count; i++) {
        fm_bin *bins = fm_attribution_allocate(in, uses[i].bin_count, sizeof *bins);
        SAMPLE_REQUIRE(bins);
        if (uses[i].bin_count) memcpy(bins, uses[i].bins, uses[i].bin_count * sizeof *bins);
        in->object_uses[i].bins = bins;
    }
}

/* A profile of 64-byte blocks whose counts are those of the attribution; its histogram has log2 bins. */
static inline fm_profile *sample_attributed(fm_attribution *attribution)
{
    fm_profile *made;
    SAMPLE_REQUIRE(fm_profile_create(&made, NULL) == FM_OK);
    made->granularity = 64;
    made->bins = FM_BINS_LOG2;
    made->attribution = attribution;
    uint64_t counts[65] = {0};
    for (size_t i = 0; i < attribution->pair_count; i++) {
        const fm_pair *pair = &attribution->pairs[i];
        made->references += pair->count;
        made->cold += pair->cold;
        made->beyond += pair->beyond;
        for (size_t j = 0; j < pair->bin_count; j++)
            counts[fm_bins_index(FM_BINS_LOG2, pair->bins[j].lo)] += pair->bins[j].count;
    }
    /* As of a phase: what it touches first is not all that it touches, and distances may be of any size. */
    made->distinct = made->references;
    made->distances.bins = calloc(65, sizeof(fm_bin));
    SAMPLE_REQUIRE(made->distances.bins);
    for (size_t i = 0; i < 65; i++)
        if (counts[i]) {
            fm_bin *bin = &made->distances.bins[made->distances.count++];
            fm_bins_range(FM_BINS_LOG2, i, &bin->lo, &bin->hi);
            bin->count = counts[i];
        }
    return made;
}

#endif
