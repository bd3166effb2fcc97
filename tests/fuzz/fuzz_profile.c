/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_profile.c - the reader of profiles (JSON). What it accepts must obey the profile's law, and must come
 * out the same when written and read again. */
#include "fuzz/fuzz_target.h"

#include <fathom/profile.h>

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
    for (size_t i = 0; i < list.count; i++) require_lawful(list.profiles[i]);
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
    for (size_t i = 0; i < list.count; i++) {
        const fm_profile *a = list.profiles[i], *b = again.profiles[i];
        FUZZ_REQUIRE(a->references == b->references && a->cold == b->cold &&
                     a->distances.count == b->distances.count);
        FUZZ_REQUIRE(a->distances.count == 0 || memcmp(a->distances.bins, b->distances.bins,
                                                       a->distances.count * sizeof *a->distances.bins) == 0);
    }
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
    };
    return fuzz_text_seed(texts, sizeof texts / sizeof texts[0], number, to, room);
}
