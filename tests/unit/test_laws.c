/* SPDX-License-Identifier: Apache-2.0 */
/* test_laws.c - a profile that keeps all laws, and for each law one that breaks it: said by its name and with
 * numbers, by who makes, writes, reads, adds up and shows it. */
#include "case.h"

#include "profile/profile_parts.h"

#include <fathom/experimental/checks.h>
#include <fathom/view.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attribution_samples.h"
#include "temporary_folder.h"

/* Ten blocks swept ten times: 10 first touches, 90 references at distance 9. */
static fm_profile *swept(void)
{
    fm_profile *made;
    assert_int_equal(fm_profile_create(&made, NULL), FM_OK);
    made->granularity = 64;
    made->references = 100;
    made->cold = made->distinct = 10;
    made->distances.bins = calloc(4, sizeof(fm_bin));
    made->times.bins = calloc(4, sizeof(fm_bin));
    assert_non_null(made->distances.bins);
    assert_non_null(made->times.bins);
    made->distances.bins[0] = (fm_bin){9, 9, 90};
    made->distances.count = 1;
    made->has_times = true;
    made->times.bins[0] = (fm_bin){10, 10, 90};
    made->times.count = 1;
    return made;
}

/* The same with code and data: site 0 touches the blocks of a table of 640 bytes first, site 1 again. */
static fm_profile *attributed(void)
{
    fm_attribution *of = sample_attribution(1, 2, 0, 1);
    fm_profile *made = swept();
    const uint64_t edges[] = {0, 8, 16};
    assert_int_equal(fm_attribution_set_edges(of, edges, 3, 8, NULL), FM_OK);
    of->modules[0].path = "/bin/sweep";
    of->objects[0] = (fm_object){
        .kind = FM_OBJECT_HEAP, .size = 640, .blocks = 1, .module = FM_NONE, .allocation = FM_NONE};
    sample_pair(of, FM_NONE, 0, FM_RANGE_COLD, 10);
    sample_pair(of, 0, 1, 1, 90);
    const fm_bin late[] = {{8, 15, 90}};
    const fm_object_use uses[] = {{0, 0, 10, 10, 0, 0, NULL}, {0, 1, 90, 0, 0, 1, late}};
    sample_uses(of, uses, 2);
    made->attribution = of;
    return made;
}

static fm_profile *in_phases(void)
{
    fm_profile *made = swept();
    made->phases = calloc(1, sizeof *made->phases);
    assert_non_null(made->phases);
    made->phases->phases = calloc(2, sizeof *made->phases->phases);
    assert_non_null(made->phases->phases);
    made->phases->count = 2;
    made->phases->phases[0] = (fm_trace_phase){.begin = 0, .end = 50, .distinct = 10, .cold = 10};
    made->phases->phases[1] = (fm_trace_phase){.begin = 50, .end = 100, .distinct = 10, .kind = 0};
    return made;
}

static fm_profile *estimated(void)
{
    fm_profile *made = swept();
    static const fm_band_point band[] = {{5, 0.9, 1}, {10, 0.05, 0.2}};
    made->exact = false;
    assert_int_equal(fm_accuracy_create(&made->accuracy, NULL, "by hand"), FM_OK);
    made->accuracy->references_least = 90;
    made->accuracy->references_most = 110;
    made->accuracy->confidence = 0.95;
    made->accuracy->band_count = 2;
    made->accuracy->band = malloc(sizeof band);
    assert_non_null(made->accuracy->band);
    memcpy(made->accuracy->band, band, sizeof band);
    return made;
}

/* ---- breaking them ---- */

static void break_sums(fm_profile *of)
{
    of->references++;
}
static void break_ranges(fm_profile *of)
{
    of->times.bins[1] = (fm_bin){8, 8, 1};
    of->times.count = 2;
}
static void break_blocks(fm_profile *of)
{
    of->distinct = 9;
}
static void break_first_touches(fm_profile *of)
{
    of->distinct = 11;
}
static void break_distances(fm_profile *of)
{
    of->distances.bins[0].lo = of->distances.bins[0].hi = 10;
}
static void break_times(fm_profile *of)
{
    of->times.bins[0].count = 101;
}
static void break_attribution(fm_profile *of)
{
    of->attribution->pairs[0].count++;
}
static void break_sites(fm_profile *of)
{
    of->attribution->object_uses[0].site = 1;
}
/* Ten blocks do not fit into 100 bytes, however these are rounded up. */
static void break_objects(fm_profile *of)
{
    of->attribution->objects[0].size = 100;
}
static void break_completeness(fm_profile *of)
{
    of->lost = 3;
}
static void break_ending(fm_profile *of)
{
    of->run = calloc(1, sizeof *of->run);
    assert_non_null(of->run);
    of->run->ending = strdup("ended by Valgrind, not by itself");
}
static void break_accuracy(fm_profile *of)
{
    of->accuracy->references_most = 99;
}
static void break_phases(fm_profile *of)
{
    of->phases->phases[1].begin = 51;
}
static void break_phase_sums(fm_profile *of)
{
    of->phases->phases[1].cold = 1;
}
static void break_band(fm_profile *of)
{
    of->accuracy->band[1].most = 1.5;
}

typedef struct breach {
    const char *law, *numbers;
    fm_profile *(*make)(void);
    void (*broken)(fm_profile *of);
} breach;

static const breach breaches[] = {
    {"sums", "references are 101, but cold 10 + beyond 0 + histogram 90 = 100", swept, break_sums},
    {"ranges", "range 1, 8 to 8", swept, break_ranges},
    {"blocks", "touch 9 distinct blocks, 10 of them first", swept, break_blocks},
    {"first touches", "10 first touches of 11 distinct blocks", swept, break_first_touches},
    {"distances", "a distance of 10 or more, but only 10", swept, break_distances},
    {"times", "more time distances than the 100", swept, break_times},
    {"attribution", "do not add up", attributed, break_attribution},
    {"sites", "90 late references to object 0, which is 10 more", attributed, break_sites},
    {"objects", "10 blocks of object 0, whose 100 bytes have room for 4", attributed, break_objects},
    {"completeness", "complete, but 3 references are lost", swept, break_completeness},
    {"completeness", "complete, but the program was ended by Valgrind", swept, break_ending},
    {"accuracy", "100 references, expected between 90 and 99", estimated, break_accuracy},
    {"accuracy", "a band from 0.05 to 1.5", estimated, break_band},
    {"phases", "phase 2, from 51 to 100", in_phases, break_phases},
    {"phases", "11 first touches in phases, 10 in the trace", in_phases, break_phase_sums},
};
enum { BREACHES = sizeof breaches / sizeof *breaches };

CASE(good_ones_keep_all)
{
    fm_profile *(*const makers[])(void) = {swept, attributed, in_phases, estimated};
    for (size_t i = 0; i < sizeof makers / sizeof *makers; i++) {
        char why[300];
        fm_error error;
        fm_profile *profile = makers[i]();
        const fm_law *law = fm_law_broken(profile, FM_LAWS_WHOLE, why, sizeof why);
        if (law) fail_msg("profile %zu breaks %s: %s", i, law->name, why);
        if (fm_profile_check((const fm_profile *const *)&profile, 1, &error)) fail_msg("%s", error.reason);
        fm_profile_destroy(profile);
    }
}

CASE(each_is_broken_once)
{
    for (size_t i = 0; i < BREACHES; i++) {
        const breach *one = &breaches[i];
        char why[300], named[80];
        fm_error error = {0};
        fm_profile *profile = one->make();
        one->broken(profile);
        const fm_law *law = fm_law_broken(profile, FM_LAWS_WHOLE, why, sizeof why);
        if (!law || strcmp(law->name, one->law) != 0)
            fail_msg("breach %zu: expected %s, found %s: %s", i, one->law, law ? law->name : "none", why);
        if (!strstr(why, one->numbers)) fail_msg("breach %zu: expected '%s' in '%s'", i, one->numbers, why);
        snprintf(named, sizeof named, "\"%s\"", one->law);
        assert_int_equal(fm_profile_made(profile, FM_LAWS_WHOLE, NULL, &error), FM_E_INTERNAL);
        assert_non_null(strstr(error.reason, named));
        assert_non_null(strstr(error.reason, "please report"));
        fm_profile_destroy(profile);
    }
}

CASE(every_law_is_broken_by_one)
{
    for (size_t i = 0; fm_law_at(i); i++) {
        size_t found = 0;
        for (size_t k = 0; k < BREACHES; k++) found += strcmp(breaches[k].law, fm_law_at(i)->name) == 0;
        if (!found) fail_msg("nothing here breaks the law \"%s\"", fm_law_at(i)->name);
    }
}

/* A phase touches blocks that were touched before it, and has distances to what lies there. */
CASE(a_phase_need_not_touch_first)
{
    char why[300];
    fm_profile *phase = swept();
    phase->distinct = 20;
    phase->distances.bins[0].lo = phase->distances.bins[0].hi = 700;
    assert_null(fm_law_broken(phase, FM_LAWS_ANY, why, sizeof why));
    assert_string_equal(fm_law_broken(phase, FM_LAWS_WHOLE, why, sizeof why)->name, "first touches");
    fm_profile_destroy(phase);
}

CASE(nothing_broken_is_written_or_added)
{
    for (size_t i = 0; i < BREACHES; i++) {
        fm_error error = {0};
        fm_profile *good = breaches[i].make(), *profile = breaches[i].make();
        breaches[i].broken(profile);
        if (strcmp(breaches[i].law, "first touches") != 0) { /* as of a phase */
            const fm_profile *const one[] = {profile};
            assert_int_equal(fm_profile_write("/nonexistent/p.json", one, 1, &error), FM_E_ARGUMENT);
            assert_int_equal(fm_profile_merge(good, profile, &error), FM_E_ARGUMENT);
            assert_int_equal(good->references, 100);
        }
        fm_profile_destroy(profile);
        fm_profile_destroy(good);
    }
}

/* As a hand-made file, changed in one place. */
CASE(files_are_refused)
{
    static const char *const changes[][3] = {
        {"\"distinct\": 10", "\"distinct\": 9", "\"blocks\""},
        {"[9, 9, 90]", "[10, 10, 90]", "\"distances\""},
        {"\"lost\": 0", "\"lost\": 4", "\"completeness\""},
        {"[10, 10, 90]", "[0, 0, 90]", "\"times\""},
    };
    const char *path = in_folder("laws.json");
    fm_profile *profile = swept();
    assert_int_equal(fm_profile_write(path, (const fm_profile *const *)&profile, 1, NULL), FM_OK);
    char text[4000] = "", changed[4200];
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_true(fread(text, 1, sizeof text - 1, file) > 0);
    fclose(file);
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        fm_error error = {0};
        fm_profile_list list;
        const char *at = strstr(text, changes[i][0]);
        assert_non_null(at);
        snprintf(changed, sizeof changed, "%.*s%s%s", (int)(at - text), text, changes[i][1],
                 at + strlen(changes[i][0]));
        file = fopen(path, "w");
        assert_non_null(file);
        fputs(changed, file);
        assert_int_equal(fclose(file), 0);
        if (fm_profile_read(path, &list, &error) != FM_E_FORMAT || !strstr(error.reason, changes[i][2]))
            fail_msg("%s: expected %s, found '%s'", changes[i][1], changes[i][2], error.reason);
    }
    unlink(path);
    fm_profile_destroy(profile);
}

CASE(footprints_nest)
{
    static const struct {
        uint64_t small, large;
        bool holds;
    } cases[] = {{10, 10, true}, {10, 1, true}, {64, 1, true},
                 {65, 1, false}, {65, 2, true}, {10, 11, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fm_profile *small = swept(), *large = swept();
        const fm_profile *const both[] = {large, small};
        fm_error error = {0};
        large->granularity = 4096;
        small->cold = small->distinct = cases[i].small;
        large->cold = large->distinct = cases[i].large;
        small->references = large->references = 100;
        for (int k = 0; k < 2; k++) {
            fm_profile *one = k ? large : small;
            one->distances.bins[0] = (fm_bin){0, 0, 100 - one->cold};
            one->times.bins[0] = (fm_bin){1, 1, 100 - one->cold};
        }
        const fm_status wanted = cases[i].holds ? FM_OK : FM_E_INTERNAL;
        if (fm_profile_check(both, 2, &error) != wanted) fail_msg("case %zu: %s", i, error.reason);
        if (!cases[i].holds) assert_non_null(strstr(error.reason, "\"nesting\""));
        /* Elements are not in blocks. */
        small->elements = true;
        assert_int_equal(fm_profile_check(both, 2, &error), FM_OK);
        fm_profile_destroy(small);
        fm_profile_destroy(large);
    }
}

/* ---- no verdict from few samples ---- */

static char *screen_of(const fm_profile *profile)
{
    static const fm_cache caches[] = {{.name = "L1d", .bytes = 512}};
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    const fm_view_options options = {.width = 100};
    fm_error error;
    assert_non_null(out);
    if (fm_view_verdict(out, profile, caches, 1, FM_BY_LINE, 10, &options, &error))
        fail_msg("%s", error.reason);
    assert_int_equal(fclose(out), 0);
    return text;
}

CASE(few_samples_make_no_verdict)
{
    for (uint64_t samples = 0; samples < 20; samples += 3) {
        fm_profile *profile = attributed();
        profile->exact = false;
        profile->sampling = calloc(1, sizeof *profile->sampling);
        assert_non_null(profile->sampling);
        profile->sampling->method = strdup("software");
        profile->sampling->estimator = strdup("capped");
        profile->sampling->conversion = strdup("aet");
        profile->sampling->never = samples;
        char *text = screen_of(profile), few[80], unknown[80];
        snprintf(few, sizeof few, "too few samples for a verdict: %" PRIu64 " of misses", samples);
        snprintf(unknown, sizeof unknown, "unknown number of blocks (%" PRIu64 " sample", samples);
        if ((strstr(text, few) != NULL) != (samples < 10) ||
            (strstr(text, unknown) != NULL) != (samples < 10) ||
            (strstr(text, "of the misses\n") != NULL) != (samples >= 10))
            fail_msg("from %" PRIu64 " samples:\n%s", samples, text);
        free(text);
        fm_profile_destroy(profile);
    }
}

CASES_WITH(make_folder, remove_folder);
