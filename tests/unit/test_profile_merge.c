/* SPDX-License-Identifier: Apache-2.0 */
/* test_profile_merge.c - merged profiles are those of one naive count over both runs. */
#include "case.h"
#include "random.h"

#include <fathom/profile.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attribution_samples.h"

enum { LARGEST = 5000 };

/* A profile out of counts per distance. */
static fm_profile *from_counts(const uint64_t *counts, fm_bins bins, uint64_t cold)
{
    fm_profile *profile;
    assert_int_equal(fm_profile_create(&profile, NULL), FM_OK);
    profile->bins = bins;
    profile->distances.bins = calloc(LARGEST, sizeof(fm_bin));
    profile->distinct = profile->cold = profile->references = cold;
    for (uint64_t d = 0; d < LARGEST; d++) {
        if (!counts[d]) continue;
        fm_bin *last =
            profile->distances.count ? &profile->distances.bins[profile->distances.count - 1] : NULL;
        uint64_t lo, hi;
        fm_bins_range(bins, fm_bins_index(bins, d), &lo, &hi);
        if (!last || last->lo != lo) {
            last = &profile->distances.bins[profile->distances.count++];
            *last = (fm_bin){lo, hi, 0};
        }
        last->count += counts[d];
        profile->references += counts[d];
    }
    return profile;
}

CASE(sums_are_those_of_one_count)
{
    static const fm_bins all[] = {FM_BINS_EXACT, FM_BINS_LOGLINEAR, FM_BINS_LOG2}; /* finest first */
    for (int round = 0; round < 30; round++)
        for (size_t x = 0; x < 3; x++)
            for (size_t y = 0; y < 3; y++) {
                uint64_t a[LARGEST] = {0}, b[LARGEST] = {0}, both[LARGEST];
                for (int i = 0; i < 200; i++) {
                    a[random_next() % LARGEST] += random_next() % 5;
                    b[random_next() % LARGEST] += random_next() % 5;
                }
                for (size_t d = 0; d < LARGEST; d++) both[d] = a[d] + b[d];
                fm_profile *into = from_counts(a, all[x], LARGEST + 10),
                           *from = from_counts(b, all[y], LARGEST + 7);
                fm_profile *wanted = from_counts(both, all[x > y ? x : y], 2 * LARGEST + 17);
                assert_int_equal(fm_profile_merge(into, from, NULL), FM_OK);
                assert_int_equal(into->references, wanted->references);
                assert_int_equal(into->cold, 2 * LARGEST + 17);
                assert_int_equal(into->distinct, 2 * LARGEST + 17);
                assert_int_equal(into->bins, wanted->bins);
                assert_int_equal(into->distances.count, wanted->distances.count);
                assert_memory_equal(into->distances.bins, wanted->distances.bins,
                                    wanted->distances.count * sizeof(fm_bin));
                fm_profile_destroy(into);
                fm_profile_destroy(from);
                fm_profile_destroy(wanted);
            }
}

CASE(words_are_joined)
{
    uint64_t counts[LARGEST] = {[3] = 4};
    fm_profile *into = from_counts(counts, FM_BINS_EXACT, LARGEST),
               *from = from_counts(counts, FM_BINS_EXACT, LARGEST);
    into->name = strdup("a");
    from->name = strdup("b");
    from->complete = false;
    from->lost = 3;
    from->exact = false;
    from->what_missing = strdup("cut");
    into->has_times = true;
    into->times.bins = malloc(sizeof(fm_bin));
    into->times.bins[0] = (fm_bin){4, 4, 4};
    into->times.count = 1;
    assert_int_equal(fm_profile_merge(into, from, NULL), FM_OK);
    assert_string_equal(into->name, "a + b");
    assert_string_equal(into->engine, "exact");
    assert_string_equal(into->what_missing, "cut");
    assert_false(into->complete);
    assert_false(into->exact);
    assert_int_equal(into->lost, 3);
    assert_false(into->has_times); /* half of them would look like all */
    assert_int_equal(into->times.count, 0);
    for (int i = 0; i < 2000; i++) {
        free(from->name);
        from->name = strdup(i % 2 ? "a rather long name of a run" : "another rather long name");
        from->references = from->cold = from->distinct = 0;
        from->distances.count = 0;
        assert_int_equal(fm_profile_merge(into, from, NULL), FM_OK);
    }
    assert_true(strlen(into->name) < 2000);
    fm_profile_destroy(into);
    fm_profile_destroy(from);
}

CASE(what_does_not_fit_is_refused_and_changes_nothing)
{
    uint64_t counts[LARGEST] = {[3] = 4};
    fm_profile *into = from_counts(counts, FM_BINS_EXACT, 5), *from = from_counts(counts, FM_BINS_EXACT, 5);
    fm_error error;
    from->granularity = 64;
    assert_int_equal(fm_profile_merge(into, from, &error), FM_E_ARGUMENT);
    assert_non_null(strstr(error.reason, "1 and 64"));
    from->granularity = 1;
    from->bound = 10;
    assert_int_equal(fm_profile_merge(into, from, &error), FM_E_ARGUMENT);
    assert_non_null(strstr(error.reason, "0 and 10"));
    from->bound = 0;
    from->distances.bins[0].count = UINT64_MAX;
    assert_int_equal(fm_profile_merge(into, from, &error), FM_E_ARGUMENT);
    from->distances.bins[0].count = UINT64_MAX - from->cold;
    from->references = UINT64_MAX;
    assert_int_equal(fm_profile_merge(into, from, &error), FM_E_ARGUMENT);
    assert_non_null(strstr(error.reason, "references"));
    assert_int_equal(into->references, 9);
    assert_int_equal(into->distances.count, 1);
    assert_int_equal(into->distances.bins[0].count, 4);
    fm_profile_destroy(into);
    fm_profile_destroy(from);
}

CASE(the_last_bin_ends_at_the_bound)
{
    uint64_t counts[LARGEST] = {[1100] = 4};
    fm_profile *into = from_counts(counts, FM_BINS_LOGLINEAR, LARGEST),
               *from = from_counts(counts, FM_BINS_LOG2, LARGEST);
    into->bound = from->bound = 1200;
    assert_int_equal(fm_profile_merge(into, from, NULL), FM_OK);
    assert_int_equal(into->distances.count, 1);
    assert_int_equal(into->distances.bins[0].lo, 1024);
    assert_int_equal(into->distances.bins[0].hi, 1199);
    assert_int_equal(into->distances.bins[0].count, 8);
    fm_profile_destroy(into);
    fm_profile_destroy(from);
}

/* ---- attributions ---- */

/* What a site is, in words: numbers differ from run to run. */
static void identity(const fm_attribution *in, uint32_t number, char *text, size_t size)
{
    if (number == FM_NONE) {
        snprintf(text, size, "none");
        return;
    }
    SAMPLE_REQUIRE(in->sites && in->modules && in->paths);
    const fm_site *site = &in->sites[number];
    const fm_module *module = site->module == FM_NONE ? NULL : &in->modules[site->module];
    int used = snprintf(text, size, "%s/%s+%" PRIu64 "%s", module ? module->path : "-",
                        module && module->build_id ? module->build_id : "-", site->address,
                        site->module == FM_NONE && site->symbol ? site->symbol : "");
    for (uint32_t path = site->path; path != FM_NONE; path = in->paths[path].parent) {
        const fm_site *call = &in->sites[in->paths[path].call];
        const char *caller = in->modules[call->module].path;
        used += snprintf(text + used, size - (size_t)used, "<%s+%" PRIu64, caller, call->address);
    }
}

typedef struct ledger {
    size_t count;
    struct {
        char key[400];
        uint64_t sum;
    } items[6000];
} ledger;

static void enter(ledger *in, const char *key, uint64_t count)
{
    size_t at = 0;
    while (at < in->count && strcmp(in->items[at].key, key) != 0) at++;
    assert_true(at < 6000);
    if (at == in->count) {
        snprintf(in->items[at].key, sizeof in->items[at].key, "%s", key);
        in->items[at].sum = 0;
        in->count++;
    }
    in->items[at].sum += count;
}

static void object_identity(const fm_attribution *in, uint32_t number, char *text, size_t size)
{
    const fm_object *object = &in->objects[number];
    char place[160] = "";
    if (object->allocation != FM_NONE) identity(in, in->paths[object->allocation].call, place, sizeof place);
    snprintf(text, size, "%d %s %s %s %" PRIu64 " %" PRIu32, (int)object->kind,
             object->name ? object->name : "-",
             object->module == FM_NONE ? "-" : in->modules[object->module].path, place, object->address,
             object->thread);
}

static void enter_counts(ledger *in, const char *what, uint64_t cold, uint64_t beyond, const fm_bin *bins,
                         size_t count)
{
    char key[400];
    snprintf(key, sizeof key, "%s cold", what);
    if (cold) enter(in, key, cold);
    snprintf(key, sizeof key, "%s beyond", what);
    if (beyond) enter(in, key, beyond);
    for (size_t i = 0; i < count; i++) {
        snprintf(key, sizeof key, "%s %" PRIu64 "-%" PRIu64, what, bins[i].lo, bins[i].hi);
        enter(in, key, bins[i].count);
    }
}

/* Everything that an attribution counts, under names that do not depend on numbers. */
static void enter_all(ledger *in, const fm_attribution *from)
{
    char a[180], b[180], what[380];
    for (size_t i = 0; i < from->pair_count; i++) {
        const fm_pair *pair = &from->pairs[i];
        identity(from, pair->use, a, sizeof a);
        identity(from, pair->reuse, b, sizeof b);
        snprintf(what, sizeof what, "%s => %s", a, b);
        enter_counts(in, what, pair->cold, pair->beyond, pair->bins, pair->bin_count);
    }
    for (size_t i = 0; i < from->object_use_count; i++) {
        const fm_object_use *use = &from->object_uses[i];
        object_identity(from, use->object, a, sizeof a);
        identity(from, use->site, b, sizeof b);
        snprintf(what, sizeof what, "[%s] by %s", a, b);
        enter_counts(in, what, use->cold, use->beyond, use->bins, use->bin_count);
    }
    for (size_t i = 0; i < from->object_count; i++) {
        object_identity(from, (uint32_t)i, a, sizeof a);
        snprintf(what, sizeof what, "size of %s", a);
        if (from->objects[i].kind == FM_OBJECT_HEAP) enter(in, what, from->objects[i].size);
    }
}

/* Random, out of a small world, with the numbers of things in a random order. */
static fm_profile *random_attributed(void)
{
    enum { MODULES = 3, SITES = 20, PATHS = 6, OBJECTS = 5, USES = 8 };
    static const char *const names[] = {"/bin/a", "/lib/b", "/lib/c", "/lib/d"};
    fm_attribution *made = sample_attribution(MODULES, SITES, PATHS, OBJECTS);
    size_t turn = random_next() % 4;
    for (size_t i = 0; i < MODULES; i++)
        made->modules[i] = (fm_module){names[(i + turn) % 4], i == 0 ? "id" : NULL, i % 2, random_next()};
    for (size_t i = 0; i < SITES; i++) {
        fm_site *site = &made->sites[i];
        site->module = random_next() % 7 ? (uint32_t)(random_next() % MODULES) : FM_NONE;
        site->address = random_next() % 6;
        if (i < SITES / 2) site->module = (uint32_t)(i % MODULES); /* calls are among these */
        if (i >= SITES / 2 && random_next() % 2) site->path = (uint32_t)(random_next() % PATHS);
        if (site->module == FM_NONE) site->symbol = random_next() % 2 ? "unknown" : NULL;
        if (random_next() % 2 && site->module != FM_NONE) {
            fm_frame *frame = fm_attribution_allocate(made, 1, sizeof *frame);
            assert_non_null(frame);
            *frame = (fm_frame){"f", "f.c", (uint32_t)site->address, 0};
            site->frames = frame;
            site->frame_count = 1;
        }
    }
    for (size_t i = 0; i < PATHS; i++)
        made->paths[i] = (fm_call_path){i && random_next() % 2 ? (uint32_t)(random_next() % i) : FM_NONE,
                                        (uint32_t)(random_next() % (SITES / 2))};
    for (size_t i = 0; i < OBJECTS; i++) {
        made->objects[i].kind = (fm_object_kind)i;
        if (i == FM_OBJECT_HEAP)
            made->objects[i].allocation = (uint32_t)(random_next() % PATHS), made->objects[i].size = 100;
        if (i == FM_OBJECT_GLOBAL) made->objects[i].module = 0, made->objects[i].name = "table";
        if (i == FM_OBJECT_STACK) made->objects[i].thread = (uint32_t)(random_next() % 3);
    }
    for (size_t i = 0; i < 60; i++) {
        uint32_t range = (uint32_t)(random_next() % (SAMPLE_EDGES + 1));
        bool cold = range == SAMPLE_EDGES;
        sample_pair(made, cold ? FM_NONE : (uint32_t)(random_next() % SITES),
                    (uint32_t)(random_next() % SITES), cold ? FM_RANGE_COLD : range, random_next() % 100 + 1);
    }
    const fm_bin bins[] = {{512, 1023, 4}, {1 << 20, UINT64_MAX, 5}};
    fm_object_use uses[USES];
    for (uint32_t i = 0; i < USES; i++)
        uses[i] = (fm_object_use){
            (uint32_t)(random_next() % OBJECTS), (uint32_t)(random_next() % SITES), 10, 1, 0, 2, bins};
    sample_uses(made, uses, USES);
    fm_profile *profile = sample_attributed(made);
    profile->exact = false; /* uses of objects are estimated apart from pairs */
    return profile;
}

CASE(attributions_are_those_of_one_count)
{
    ledger *wanted = malloc(sizeof *wanted), *found = malloc(sizeof *found);
    assert_true(wanted && found);
    for (int round = 0; round < 20; round++) {
        wanted->count = found->count = 0;
        fm_profile *sum;
        assert_int_equal(fm_profile_create(&sum, NULL), FM_OK);
        sum->granularity = 64;
        for (int part = 0; part < 3; part++) {
            fm_profile *from = random_attributed();
            enter_all(wanted, from->attribution);
            fm_error error;
            if (fm_profile_merge(sum, from, &error)) fail_msg("%s", error.reason);
            fm_profile_destroy(from);
        }
        assert_non_null(sum->attribution);
        enter_all(found, sum->attribution);
        assert_int_equal(found->count, wanted->count);
        for (size_t i = 0; i < wanted->count; i++) {
            size_t at = 0;
            while (at < found->count && strcmp(found->items[at].key, wanted->items[i].key) != 0) at++;
            if (at == found->count || found->items[at].sum != wanted->items[i].sum)
                fail_msg("%s: wanted %" PRIu64, wanted->items[i].key, wanted->items[i].sum);
        }
        /* Nothing is there twice. */
        const fm_attribution *in = sum->attribution;
        for (uint32_t i = 0; i < in->site_count; i++)
            for (uint32_t j = 0; j < i; j++) {
                char a[180], b[180];
                identity(in, i, a, sizeof a);
                identity(in, j, b, sizeof b);
                assert_string_not_equal(a, b);
            }
        fm_profile_destroy(sum);
    }
    free(wanted);
    free(found);
}

CASE(attributions_that_do_not_fit_are_dropped)
{
    fm_profile *with = random_attributed(), *without = random_attributed(), *other = random_attributed(),
               *nothing;
    fm_attribution_destroy(without->attribution);
    without->attribution = NULL;
    other->attribution->late_from = 1;
    assert_int_equal(fm_profile_create(&nothing, NULL), FM_OK);
    nothing->granularity = 64;
    uint64_t before = with->references;
    with->run = calloc(1, sizeof *with->run);
    with->run->process = 5;
    assert_int_equal(fm_profile_merge(with, nothing, NULL), FM_OK);
    assert_non_null(with->attribution); /* nothing was added */
    with->attribution->pairs[0].count++;
    fm_error error;
    assert_int_equal(fm_profile_merge(with, with, &error), FM_E_ARGUMENT);
    assert_non_null(strstr(error.reason, "\"pairs\"[0]"));
    assert_int_equal(with->references, before);
    with->attribution->pairs[0].count--;
    assert_int_equal(fm_profile_merge(other, without, NULL), FM_OK);
    assert_null(other->attribution);
    assert_int_equal(fm_profile_merge(with, other, NULL), FM_OK);
    assert_null(with->attribution); /* half of it would look like all */
    assert_int_equal(with->run->process, 5);
    fm_profile *a = random_attributed(), *b = random_attributed();
    b->attribution->late_from = 1;
    assert_int_equal(fm_profile_merge(a, b, NULL), FM_OK);
    assert_null(a->attribution);
    fm_profile_destroy(a);
    fm_profile_destroy(b);
    fm_profile_destroy(with);
    fm_profile_destroy(without);
    fm_profile_destroy(other);
    fm_profile_destroy(nothing);
}
