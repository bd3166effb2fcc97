/* SPDX-License-Identifier: Apache-2.0 */
/* test_profile_places.c - sites that are places in the source, without module and address: added, written,
 * read, merged and shown. Judge: the pairs that the test put in. */
#define _GNU_SOURCE
#include "case.h"

#include <fathom/view.h>
#include <stdio.h>
#include <unistd.h>

#include "attribution_samples.h"

static const fm_cache cache = {.name = "L2", .bytes = 1310720}; /* 20480 blocks */

enum { FILL, SCAN, SCAN_LATER, NAMELESS, OTHER_FUNCTION, OTHER_FILE, PLACES };
/* Each differs from another in one thing alone. */
static const fm_frame all[PLACES] = {
    {"fill", "/src/a.c", 12, 5}, {"scan", "/src/a.c", 20, 3},      {"scan", "/src/a.c", 20, 9},
    {NULL, "/src/b.f90", 7, 0},  {"scan<int>", "/src/a.c", 20, 3}, {"scan", "/src/c.c", 20, 3},
};

/* The number of the site that is the place; there is one. */
static uint32_t site_of(const fm_attribution *of, const fm_frame *place)
{
    uint32_t found = FM_NONE;
    for (uint32_t i = 0; i < of->site_count; i++) {
        const fm_site *site = &of->sites[i];
        assert_int_equal(site->module, FM_NONE);
        assert_int_equal(site->address, 0);
        assert_int_equal(site->frame_count, 1);
        const fm_frame *frame = &site->frames[0];
        if (strcmp(frame->file, place->file) != 0 || frame->line != place->line ||
            frame->column != place->column || !frame->function != !place->function ||
            (place->function && strcmp(frame->function, place->function) != 0))
            continue;
        assert_int_equal(found, FM_NONE);
        found = i;
    }
    assert_int_not_equal(found, FM_NONE);
    return found;
}

static const fm_pair *pair_of(const fm_attribution *of, int use, int reuse)
{
    const uint32_t from = use < 0 ? FM_NONE : site_of(of, &all[use]), to = site_of(of, &all[reuse]);
    for (size_t i = 0; i < of->pair_count; i++)
        if (of->pairs[i].use == from && of->pairs[i].reuse == to) return &of->pairs[i];
    fail();
    return NULL;
}

/* order: which places, as they come. Counts are `times` those of the first profile. */
static fm_profile *profile_of(const int *order, size_t count, uint64_t times)
{
    fm_attribution *made = sample_attribution(0, 0, 0, 0);
    fm_frame places[PLACES];
    uint32_t map[PLACES + 1], tags[PLACES] = {0};
    for (size_t i = 0; i < count; i++) {
        places[i] = all[order[i]];
        tags[order[i]] = (uint32_t)i + 1;
    }
    map[0] = FM_NONE;
    assert_int_equal(fm_attribution_add_places(made, places, count, map + 1, NULL), FM_OK);
    assert_int_equal(made->site_count, count);
    const fm_raw_pair raw[] = {
        {tags[FILL], tags[SCAN], sample_range(32768), 1000 * times},
        {tags[FILL], tags[SCAN_LATER], sample_range(32768), 500 * times},
        {tags[SCAN], tags[NAMELESS], sample_range(65536), 300 * times},
        {tags[SCAN], tags[OTHER_FUNCTION], sample_range(32768), 70 * times},
        {tags[SCAN], tags[OTHER_FILE], sample_range(4), 30 * times},
        {0, tags[FILL], FM_RANGE_COLD, 40 * times},
    };
    assert_int_equal(fm_attribution_add_pairs(made, raw, 6, map, count + 1, NULL), FM_OK);
    return sample_attributed(made);
}

static void check(const fm_profile *profile, uint64_t times)
{
    const fm_attribution *of = profile->attribution;
    assert_int_equal(of->site_count, PLACES);
    assert_int_equal(of->pair_count, 6);
    assert_int_equal(pair_of(of, FILL, SCAN)->count, 1000 * times);
    assert_int_equal(pair_of(of, FILL, SCAN_LATER)->count, 500 * times);
    assert_int_equal(pair_of(of, SCAN, NAMELESS)->count, 300 * times);
    assert_int_equal(pair_of(of, SCAN, OTHER_FUNCTION)->count, 70 * times);
    assert_int_equal(pair_of(of, SCAN, OTHER_FILE)->count, 30 * times);
    assert_int_equal(pair_of(of, -1, FILL)->cold, 40 * times);
}

static const int forward[] = {FILL, SCAN, SCAN_LATER, NAMELESS, OTHER_FUNCTION, OTHER_FILE};
static const int backward[] = {OTHER_FILE, OTHER_FUNCTION, NAMELESS, SCAN_LATER, SCAN, FILL};

CASE(equal_places_are_one_site)
{
    fm_attribution *made = sample_attribution(0, 0, 0, 0);
    uint32_t first[PLACES], again[PLACES + 1];
    char file[] = "/src/a.c"; /* copied */
    const fm_frame twice[] = {all[SCAN], {"fill", file, 12, 5}, all[SCAN]};
    assert_int_equal(fm_attribution_add_places(made, twice, 3, first, NULL), FM_OK);
    file[5] = 'x';
    assert_int_equal(made->site_count, 2);
    assert_int_equal(first[0], first[2]);
    assert_int_equal(fm_attribution_add_places(made, all, PLACES, again, NULL), FM_OK);
    assert_int_equal(made->site_count, PLACES);
    assert_int_equal(again[SCAN], first[0]);
    assert_int_equal(again[FILL], first[1]);
    for (size_t i = 0; i < PLACES; i++) assert_int_equal(site_of(made, &all[i]), again[i]);
    assert_int_equal(fm_attribution_add_places(made, NULL, 0, NULL, NULL), FM_OK);
    /* Without a file or a line, nothing is added. */
    const fm_frame bad[][2] = {{{"f", "/new.c", 1, 0}, {"f", NULL, 3, 0}},
                               {{"f", "/new.c", 1, 0}, {"f", "", 3, 0}},
                               {{"f", "/new.c", 1, 0}, {"f", "/a.c", 0, 3}}};
    for (size_t i = 0; i < 3; i++) {
        fm_error error;
        assert_int_equal(fm_attribution_add_places(made, bad[i], 2, again, &error), FM_E_ARGUMENT);
        assert_string_equal(error.reason, "place 2 of 2: expected a file and a line from 1 on");
        assert_int_equal(made->site_count, PLACES);
    }
    fm_attribution_destroy(made);
}

CASE(what_is_written_is_read)
{
    char path[] = "/tmp/fathom-places-XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    fm_profile *profile = profile_of(forward, PLACES, 1);
    check(profile, 1);
    assert_int_equal(fm_profile_write(path, (const fm_profile *const[]){profile}, 1, NULL), FM_OK);
    fm_profile_list list;
    assert_int_equal(fm_profile_read(path, &list, NULL), FM_OK);
    unlink(path);
    check(list.profiles[0], 1);
    /* What was read can be added to. */
    uint32_t site;
    assert_int_equal(
        fm_attribution_add_places(list.profiles[0]->attribution, &all[OTHER_FILE], 1, &site, NULL), FM_OK);
    assert_int_equal(site, OTHER_FILE);
    /* There is nothing to resolve, and nothing gets lost. */
    assert_int_equal(fm_symbols_resolve(list.profiles[0]->attribution, NULL, NULL), FM_OK);
    check(list.profiles[0], 1);
    fm_profile_list_clear(&list);
    fm_profile_destroy(profile);
}

CASE(equal_places_are_merged)
{
    fm_profile *profile = profile_of(forward, PLACES, 1), *other = profile_of(backward, PLACES, 10);
    assert_int_equal(fm_profile_merge(profile, other, NULL), FM_OK);
    check(profile, 11);
    fm_profile_destroy(profile);
    fm_profile_destroy(other);
}

/* What a function of view.h writes. */
typedef fm_status writer(FILE *out, const fm_profile *profile, fm_error *error);
static fm_status write_pairs(FILE *out, const fm_profile *profile, fm_error *error)
{
    return fm_view_pairs(out, profile, &cache, 10, &(fm_view_options){.width = 100}, error);
}
static fm_status write_csv(FILE *out, const fm_profile *profile, fm_error *error)
{
    return fm_view_pairs_csv(out, profile, &cache, 1, error);
}
static fm_status write_callgrind(FILE *out, const fm_profile *profile, fm_error *error)
{
    return fm_view_callgrind(out, profile, &cache, 1, error);
}
static fm_status write_report(FILE *out, const fm_profile *profile, fm_error *error)
{
    return fm_report_write(out, NULL, (const fm_profile *const[]){profile}, 1, &cache, 1, error);
}

__attribute__((noinline)) static void shows(writer *write, const char *const *parts, const char *never)
{
    fm_profile *profile = profile_of(forward, PLACES, 1);
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    assert_int_equal(write(out, profile, NULL), FM_OK);
    assert_int_equal(fclose(out), 0);
    for (; *parts; parts++)
        if (!strstr(text, *parts)) fail_msg("expected '%s' in:\n%.3000s", *parts, text);
    if (never && strstr(text, never)) fail_msg("found '%s' in:\n%s", never, text);
    free(text);
    fm_profile_destroy(profile);
}
#define SHOWS(write, never, ...) shows(write, (const char *const[]){__VA_ARGS__, NULL}, never)

CASE(places_are_shown_by_their_lines)
{
    /* Two columns of a line are one line: 1000 + 500. */
    SHOWS(write_pairs, "0x", "fill (/src/a.c:12)", "scan (/src/a.c:20)", "1,500", "/src/b.f90:7",
          "scan<int> (/src/a.c:20)");
    SHOWS(write_csv, "0x", "\nfill,/src/a.c,12,,,,,scan,/src/a.c,20,,,,,1000,0,0,1000\n",
          "\nscan,/src/a.c,20,,,,,,/src/b.f90,7,,,,,300,0,0,300\n",
          "\n,,,,,,,fill,/src/a.c,12,,,,,40,40,0,40\n");
    SHOWS(write_callgrind, "0x", "fl=(1) /src/a.c\nfn=(1) fill\n12 40 40 40 40\n",
          "fn=(2) scan\n20 1500 1500", "/src/b.f90\nfn=(3) ???\n7 300 300");
    if (fm_report_available()) SHOWS(write_report, NULL, "/src/a.c", "b.f90", "scan");
    fm_profile *profile = profile_of(forward, PLACES, 1);
    char text[80];
    assert_string_equal(fm_site_text(profile->attribution, FILL, text, sizeof text), "fill (a.c:12)");
    assert_string_equal(fm_site_text(profile->attribution, NAMELESS, text, sizeof text), "b.f90:7");
    fm_profile_destroy(profile);
}
