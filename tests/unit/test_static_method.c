/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_static_method.c - which method makes the profile of a region: a walk where accesses are few and
 * somebody walks, else what is exact without one; and what is passed on where a walk ends otherwise. The
 * judge of the histogram is a closed form.
 */
#include "case.h"

#include "static/region/region.h"

#include <fathom/analyzer.h>
#include <stdlib.h>
#include <string.h>

typedef struct walker {
    const fm_region *region;
    fm_analyzer *analyzer;
    fm_status result; /* FM_OK: it really walks */
    unsigned calls;
    double limit_seconds;
} walker;

static fm_status feed_accesses(void *context, const uint64_t *addresses, const uint32_t *sizes,
                               const uint32_t *tags, size_t count, fm_error *error)
{
    const walker *self = context;
    const fm_batch batch = {.count = count, .address = addresses, .size = sizes, .tag = tags};
    return fm_analyzer_feed(self->analyzer, &batch, error);
}

static const uint64_t edges[] = {0, 8};

static fm_status walk_region(void *context, double limit_seconds, fm_profile **profile, fm_raw_pair **pairs,
                             size_t *pair_count, fm_error *error)
{
    walker *self = context;
    self->calls++;
    self->limit_seconds = limit_seconds;
    if (self->result != FM_OK) {
        *error = (fm_error){.status = self->result, .reason = "as the test wants it"};
        return self->result;
    }
    const fm_analyzer_options options = {
        .granularity = 64, .bins = FM_BINS_EXACT, .edges = edges, .edge_count = 2};
    assert_int_equal(fm_analyzer_create(&self->analyzer, &options, error), FM_OK);
    fm_status status = fm_region_walk(self->region, 64, FM_LAYOUT_CONTIGUOUS, feed_accesses, self, error);
    if (status == FM_OK) status = fm_analyzer_pairs(self->analyzer, pairs, pair_count, error);
    if (status == FM_OK) status = fm_analyzer_profile(self->analyzer, profile, error);
    fm_analyzer_destroy(self->analyzer);
    return status;
}

/* Several sweeps over 16 blocks: 16 first touches, then distance 15. */
static fm_region *sweeps(unsigned times)
{
    char text[200];
    fm_region *region;
    fm_error error;
    int size = snprintf(
        text, sizeof text,
        "fathom-region 1 array A[16] of 64 for t = 1 to %u { for i = 0 to 15 { do { load A[i] } } }", times);
    assert_int_equal(fm_region_parse(&region, text, (size_t)size, "test", &error), FM_OK);
    return region;
}

typedef struct result {
    fm_region *region;
    fm_region_counts *counts;
    walker walker;
    fm_profile *profile;
    fm_error error;
    fm_status status;
} result;

static void analyze_sweeps(result *self, unsigned times, const char *method, bool walks, bool counted,
                           fm_status ends)
{
    *self = (result){.region = sweeps(times)};
    self->walker = (walker){.region = self->region, .result = ends};
    assert_int_equal(fm_region_count(self->region, 0, &self->counts, &self->error), FM_OK);
    const fm_static_options options = {.granularity = 64,
                                       .bins = FM_BINS_EXACT,
                                       .edges = edges,
                                       .edge_count = 2,
                                       .limit_seconds = 1000,
                                       .method = method,
                                       .walk = walks ? walk_region : NULL,
                                       .walk_context = &self->walker,
                                       .counts = counted ? self->counts : NULL};
    self->status = fm_region_profile(self->region, &options, &self->profile, &self->error);
}

static void check_profile(const result *self, uint64_t times, const char *method)
{
    assert_int_equal(self->status, FM_OK);
    const fm_profile *profile = self->profile;
    assert_true(profile->exact);
    assert_int_equal(profile->references, 16 * times);
    assert_int_equal(profile->cold, 16);
    assert_int_equal(profile->distances.count, 1);
    assert_int_equal(profile->distances.bins[0].lo, 15);
    assert_int_equal(profile->distances.bins[0].count, 16 * (times - 1));
    assert_string_equal(profile->engine, "static");
    assert_string_equal(profile->kernel->certainty, "exact");
    assert_non_null(strstr(profile->kernel->method, method));
    assert_non_null(profile->attribution);
}

static void forget_result(result *self)
{
    fm_profile_destroy(self->profile);
    fm_region_counts_destroy(self->counts);
    fm_region_destroy(self->region);
}

static const char WALKED[] = "every access worked out, one after the other";

CASE(test_few_are_walked)
{
    result of;
    analyze_sweeps(&of, 10, NULL, true, true, FM_OK);
    check_profile(&of, 10, WALKED);
    assert_int_equal(of.walker.calls, 1);
    assert_true(of.walker.limit_seconds > 900 && of.walker.limit_seconds <= 1000);
    forget_result(&of);
    analyze_sweeps(&of, 10, "walk", true, false, FM_OK); /* asked for */
    check_profile(&of, 10, WALKED);
    forget_result(&of);
}

CASE(test_others_are_counted)
{
    static const struct {
        unsigned times;
        const char *method;
        bool walks, counted;
        unsigned calls;
        fm_status ends;
    } cases[] = {
        {10, NULL, false, true, 0, FM_OK},      /* nobody walks */
        {10, NULL, true, false, 0, FM_OK},      /* how many there are is not known */
        {10, "count", true, true, 0, FM_OK},    /* as asked for */
        {13000000, NULL, true, true, 0, FM_OK}, /* 208 million */
        {10, NULL, true, true, 1, FM_E_LIMIT},  /* the walk takes too long */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        result of;
        analyze_sweeps(&of, cases[i].times, cases[i].method, cases[i].walks, cases[i].counted, cases[i].ends);
        check_profile(&of, cases[i].times, "counted: ");
        assert_int_equal(of.walker.calls, cases[i].calls);
        forget_result(&of);
    }
}

CASE(test_failures)
{
    result of;
    analyze_sweeps(&of, 10, NULL, true, true, FM_E_IO); /* no reason to try anything else */
    assert_int_equal(of.status, FM_E_IO);
    assert_null(of.profile);
    forget_result(&of);
    analyze_sweeps(&of, 10, "walk", true, true, FM_E_LIMIT);
    assert_int_equal(of.status, FM_E_LIMIT);
    assert_string_equal(of.error.reason,
                        "working all accesses off takes longer than the 1000 s that are allowed");
    forget_result(&of);
    analyze_sweeps(&of, 10, "walk", false, true, FM_OK);
    assert_int_equal(of.status, FM_E_ARGUMENT);
    assert_string_equal(of.error.reason, "there is no method 'walk'");
    forget_result(&of);
    analyze_sweeps(&of, 10, "guess", true, true, FM_OK);
    assert_int_equal(of.status, FM_E_ARGUMENT);
    forget_result(&of);
}

CASE(test_names)
{
    static const char *const names[] = {"walk", "count", "reconstruct", "sample"};
    const char *about;
    for (size_t i = 0; i < 4; i++) assert_string_equal(fm_static_method_at(i, &about), names[i]);
    assert_null(fm_static_method_at(4, NULL));
}
