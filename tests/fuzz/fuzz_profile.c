/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_profile.c - the reader of profiles (JSON). What it accepts must obey the profile's laws, must come out
 * the same when written and read again, and must be no trouble to what shows it. */
#include "fuzz/fuzz_target.h"

#include <fathom/view.h>

static void require_lawful_counts(const fm_attribution *in, uint64_t count, uint64_t cold, uint64_t beyond,
                                  const fm_bin *bins, size_t bin_count)
{
    uint64_t sum = cold + beyond;
    for (size_t i = 0; i < bin_count; i++) {
        bool is_edge = false;
        for (size_t j = 0; j < in->edge_count; j++) is_edge |= in->edges[j] == bins[i].lo;
        FUZZ_REQUIRE(is_edge && bins[i].lo <= bins[i].hi && bins[i].count > 0);
        FUZZ_REQUIRE(i == 0 || bins[i].lo > bins[i - 1].hi);
        sum += bins[i].count;
    }
    FUZZ_REQUIRE(sum == count);
}

static bool is_one_of(uint32_t number, size_t count, bool optional)
{
    return number < count || (optional && number == FM_NONE);
}

/* Every number leads to something; every count is the sum of its parts. */
static void require_lawful_attribution(const fm_profile *profile)
{
    const fm_attribution *in = profile->attribution;
    uint64_t references = 0;
    for (size_t i = 0; i < in->site_count; i++) {
        FUZZ_REQUIRE(is_one_of(in->sites[i].module, in->module_count, true));
        FUZZ_REQUIRE(is_one_of(in->sites[i].path, in->path_count, true));
        for (size_t j = 0; j < in->sites[i].frame_count; j++) /* texts are texts */
            FUZZ_REQUIRE(!in->sites[i].frames[j].function ||
                         strlen(in->sites[i].frames[j].function) < SIZE_MAX);
    }
    for (size_t i = 0; i < in->source_count; i++) {
        const fm_source *source = &in->sources[i];
        FUZZ_REQUIRE(i == 0 || strcmp(source[-1].path, source->path) < 0);
        FUZZ_REQUIRE(!source->sha256 || strspn(source->sha256, "0123456789abcdef") == 64);
        FUZZ_REQUIRE(!source->text || (source->sha256 && strlen(source->text) < SIZE_MAX));
        FUZZ_REQUIRE(fm_attribution_source(in, source->path) == source);
    }
    for (size_t i = 0; i < in->path_count; i++)
        FUZZ_REQUIRE(is_one_of(in->paths[i].parent, i, true) &&
                     is_one_of(in->paths[i].call, in->site_count, false));
    for (size_t i = 0; i < in->pair_count; i++) {
        const fm_pair *pair = &in->pairs[i];
        FUZZ_REQUIRE(is_one_of(pair->use, in->site_count, true) &&
                     is_one_of(pair->reuse, in->site_count, false));
        FUZZ_REQUIRE(i == 0 || pair[-1].count >= pair->count);
        require_lawful_counts(in, pair->count, pair->cold, pair->beyond, pair->bins, pair->bin_count);
        references += pair->count;
    }
    FUZZ_REQUIRE(references == profile->references);
    for (size_t i = 0; i < in->object_use_count; i++) {
        const fm_object_use *use = &in->object_uses[i];
        FUZZ_REQUIRE(is_one_of(use->object, in->object_count, false) &&
                     is_one_of(use->site, in->site_count, false));
        require_lawful_counts(in, use->count, use->cold, use->beyond, use->bins, use->bin_count);
    }
}

static void require_lawful(const fm_profile *profile)
{
    uint64_t sum = profile->cold + profile->beyond;
    uint64_t before = 0;
    for (size_t i = 0; i < profile->distances.count; i++) {
        const fm_bin *bin = &profile->distances.bins[i];
        FUZZ_REQUIRE(bin->lo <= bin->hi && bin->count > 0 && (i == 0 || bin->lo > before));
        before = bin->hi;
        sum += bin->count;
    }
    FUZZ_REQUIRE(sum == profile->references);
    if (profile->attribution) require_lawful_attribution(profile);
    for (size_t i = 0; i < profile->part_count; i++) require_lawful(profile->parts[i]);
}

/* Everything that shows a profile, for its own sake. */
static void show(const fm_profile *profile)
{
    static const fm_cache caches[] = {{.name = "L1d", .bytes = 256}, {.name = "L2", .bytes = 4096}};
    static const fm_view_options options = {.width = 80, .unicode = true};
    fm_error error;
    FILE *nowhere = fopen("/dev/null", "w");
    FUZZ_REQUIRE(nowhere);
    fm_view_histogram(nowhere, profile, &options);
    fm_view_parts(nowhere, profile, caches, 2, &options);
    for (size_t i = 0; i < 2; i++)
        FUZZ_REQUIRE(fm_view_pairs(nowhere, profile, &caches[i], 5, &options, &error) == FM_OK);
    if (profile->attribution) {
        FUZZ_REQUIRE(fm_view_pairs_csv(nowhere, profile, caches, 2, &error) == FM_OK);
        FUZZ_REQUIRE(fm_view_callgrind(nowhere, profile, caches, 2, &error) == FM_OK);
    }
    fclose(nowhere);
}

static void require_same(const fm_profile *a, const fm_profile *b)
{
    FUZZ_REQUIRE(a->references == b->references && a->cold == b->cold &&
                 a->distances.count == b->distances.count);
    FUZZ_REQUIRE(a->distances.count == 0 || memcmp(a->distances.bins, b->distances.bins,
                                                   a->distances.count * sizeof *a->distances.bins) == 0);
    FUZZ_REQUIRE(!a->run == !b->run && !a->attribution == !b->attribution && a->part_count == b->part_count);
    if (a->run) FUZZ_REQUIRE(a->run->seconds == b->run->seconds && a->run->exit_code == b->run->exit_code);
    const fm_attribution *x = a->attribution, *y = b->attribution;
    if (x) {
        FUZZ_REQUIRE(x->module_count == y->module_count && x->site_count == y->site_count &&
                     x->path_count == y->path_count && x->pair_count == y->pair_count &&
                     x->object_count == y->object_count && x->object_use_count == y->object_use_count &&
                     x->source_count == y->source_count && !x->sources == !y->sources);
        for (size_t i = 0; i < x->source_count; i++)
            FUZZ_REQUIRE(strcmp(x->sources[i].path, y->sources[i].path) == 0 &&
                         !x->sources[i].sha256 == !y->sources[i].sha256 &&
                         !x->sources[i].text == !y->sources[i].text);
        for (size_t i = 0; i < x->pair_count; i++)
            FUZZ_REQUIRE(x->pairs[i].count == y->pairs[i].count &&
                         x->pairs[i].bin_count == y->pairs[i].bin_count);
    }
    for (size_t i = 0; i < a->part_count; i++) require_same(a->parts[i], b->parts[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    int descriptor = fuzz_file(data, size, path);
    fm_profile_list list = {0, NULL};
    fm_error error;
    memset(&error, 0, sizeof error);
    fm_status status = fm_profile_read(path, &list, &error);
    close(descriptor);
    if (status != FM_OK) {
        FUZZ_REQUIRE(error.status == status && list.count == 0);
        return 0;
    }
    FUZZ_REQUIRE(list.count > 0);
    fuzz_understood++;
    for (size_t i = 0; i < list.count; i++) {
        require_lawful(list.profiles[i]);
        show(list.profiles[i]);
    }
    const fm_profile **profiles = malloc(list.count * sizeof *profiles);
    FUZZ_REQUIRE(profiles);
    for (size_t i = 0; i < list.count; i++) profiles[i] = list.profiles[i];
    char temporary[] = "/tmp/fathom-fuzz-XXXXXX";
    int named = mkstemp(temporary);
    FUZZ_REQUIRE(named >= 0);
    close(named);
    FUZZ_REQUIRE(fm_profile_write(temporary, profiles, list.count, &error) == FM_OK);
    fm_profile_list again = {0, NULL};
    FUZZ_REQUIRE(fm_profile_read(temporary, &again, &error) == FM_OK);
    unlink(temporary);
    FUZZ_REQUIRE(again.count == list.count);
    for (size_t i = 0; i < list.count; i++) require_same(list.profiles[i], again.profiles[i]);
    /* Twice of it, unless that is more than 64 bits hold. */
    fm_status merged = fm_profile_merge(list.profiles[0], again.profiles[0], &error);
    FUZZ_REQUIRE(merged == FM_OK || merged == FM_E_ARGUMENT);
    if (merged == FM_OK) require_lawful(list.profiles[0]);
    free(profiles);
    fm_profile_list_clear(&list);
    fm_profile_list_clear(&again);
    return 0;
}

size_t fuzz_seed(size_t number, uint8_t *to, size_t room)
{
    static const char *const texts[] = {
        "{\"schema\": \"fathom-profile-1\", \"engine\": \"exact\", \"exact\": true, \"granularity\": 64,\n"
        "\"references\": 10, \"distinct\": 3, \"cold\": 3, \"beyond\": 0,\n"
        "\"histogram\": [[0, 0, 2], [1, 1, 4], [1024, 1039, 1]], \"complete\": true, \"lost\": 0}\n",
        "{\"schema\": \"fathom-profile-1\", \"engine\": \"tree\", \"exact\": true, \"granularity\": 1,\n"
        "\"references\": 5, \"distinct\": 5, \"cold\": 5, \"beyond\": 0, \"histogram\": [],\n"
        "\"complete\": false, \"lost\": 7}\n",
        "{\"schema\":\"fathom-profile-1\",\"engine\":\"exact\",\"exact\":true,\"granularity\":64,"
        "\"references\":10,\"distinct\":2,\"cold\":2,\"histogram\":[[0,0,3],[5,5,5]],"
        "\"complete\":true,\"lost\":0,\"run\":{\"command\":\"./x\",\"exit_code\":0,\"seconds\":1.5e0},"
        "\"attribution\":{\"late_from\":4,\"edges\":[0,1,4],\"strings\":[\"f\",\"a.c\"],"
        "\"modules\":[{\"path\":\"p\"}],\"sites\":[[0,16,null,null,0,[0,1,7,0,1,1,9,0]],[0,32,0,0,4,[]]],"
        "\"paths\":[[null,0],[0,1]],\"pairs\":[[0,1,8,0,0,[0,3,2,5]],[null,0,2,2,0,[]]],"
        "\"objects\":[{\"kind\":\"heap\",\"allocation\":1,\"size\":9}],\"object_uses\":[[0,1,5,0,0,[2,5]]]},"
        "\"parts\":[{\"schema\":\"fathom-profile-1\",\"engine\":\"exact\",\"exact\":true,\"granularity\":64,"
        "\"references\":0,\"distinct\":0,\"cold\":0,\"histogram\":[],\"complete\":true,\"lost\":0,"
        "\"run\":{\"process\":5,\"parent\":5}}]}\n",
        "{\"schema\":\"fathom-profile-1\",\"engine\":\"shards\",\"exact\":false,\"granularity\":1,"
        "\"references\":9,\"distinct\":4,\"cold\":4,\"histogram\":[[2,2,5]],\"complete\":true,\"lost\":0,"
        "\"accuracy\":{\"statement\":\"within 5 "
        "%\",\"relative_error\":0.05,\"absolute_error\":3,\"exact_below\":7,"
        "\"rate\":0.5,\"samples\":2,\"expected_overlap\":0.9,\"references_least\":1,\"references_most\":9,"
        "\"confidence\":0.95,\"band\":[[1,0.5,1],[8,0,0."
        "25]]},"
        "\"phases\":{\"threshold\":1,\"samples\":[{\"block\":7,\"times\":[[3,2],[6,2]]}],"
        "\"cut\":\"changes\",\"phases\":[[0,3,3,3,0],[3,6,3,1,1],[6,9,3,0,1]],"
        "\"inner\":[{\"level\":2,\"phases\":[[0,1,1,1,0,0],[1,3,2,2,1,0]]},"
        "{\"level\":3,\"phases\":[[1,2,1,1,0,1]]}]}}\n",
    };
    return fuzz_text_seed(texts, sizeof texts / sizeof texts[0], number, to, room);
}
