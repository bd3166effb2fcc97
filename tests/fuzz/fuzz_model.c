/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_model.c - the reader of models (JSON). What it accepts must predict lawful profiles at any size. */
#include "fuzz/fuzz_target.h"

#include <fathom/predict.h>

static void require_lawful(const fm_profile *profile)
{
    uint64_t sum = profile->cold;
    for (size_t i = 0; i < profile->distances.count; i++) {
        const fm_bin *bin = &profile->distances.bins[i];
        FUZZ_REQUIRE(bin->count > 0 && bin->lo <= bin->hi && (i == 0 || bin->lo > bin[-1].hi));
        sum += bin->count;
    }
    FUZZ_REQUIRE(sum == profile->references && !profile->exact && profile->accuracy);
    const fm_accuracy *accuracy = profile->accuracy;
    FUZZ_REQUIRE(accuracy->expected_overlap >= 0 && accuracy->expected_overlap <= 1);
    FUZZ_REQUIRE(accuracy->references_least <= profile->references &&
                 accuracy->references_most >= profile->references);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    fm_error error;
    fm_model *model;
    int descriptor = fuzz_file(data, size, path);
    fm_status status = fm_model_read(path, &model, &error);
    close(descriptor);
    if (status != FM_OK) {
        FUZZ_REQUIRE(error.status == status && !model);
        return 0;
    }
    fuzz_understood++;
    static const double sizes[] = {1, 1000, 1e9, 1e17};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        fm_profile *profile;
        const fm_bins bins = i % 2 ? FM_BINS_LOG2 : FM_BINS_LOGLINEAR;
        status = fm_model_predict(model, sizes[i], bins, &profile, &error);
        FUZZ_REQUIRE(status == FM_OK || status == FM_E_ARGUMENT);
        if (status == FM_OK) require_lawful(profile);
        fm_profile_destroy(profile);
    }
    fm_model_destroy(model);
    return 0;
}

size_t fuzz_seed(size_t number, uint8_t *to, size_t room)
{
    static const char *const texts[] = {
        "{\"schema\": \"fathom-model-1\", \"granularity\": 64, \"percent\": 25, \"dimensions\": 2,\n"
        "\"runs\": [{\"name\": \"a\", \"size\": 100, \"references\": 1000, \"distinct\": 100, \"complete\": "
        "false,\n"
        "\"distances\": [1, 30, 85, 100]}, {\"name\": null, \"size\": 400, \"references\": 4000,\n"
        "\"distinct\": 400, \"complete\": true, \"distances\": [1, 60, 355, 400]}],\n"
        "\"references_factor\": 10, \"references_exponent\": 1, \"distinct_c\": 0, \"distinct_e\": 1,\n"
        "\"shares\": [[\"constant\", 1, 0, 0], [\"x^1/2\", 0, 3, 0.1], [\"linear\", -5, 0.9, 0], "
        "[\"linear\", 0, 1, 2]]}\n",
        "{\"schema\": \"fathom-model-1\", \"granularity\": 1, \"dimensions\": 3, \"runs\": [\n"
        "{\"size\": 1, \"references\": 1, \"distinct\": 1, \"distances\": [0, 0]},\n"
        "{\"size\": 1.05, \"references\": 18446744073709551615, \"distinct\": 9, \"distances\": [4e18, 0]},\n"
        "{\"size\": 1000, \"references\": 1000, \"distinct\": 1000, \"distances\": [0, 4e18]},\n"
        "{\"size\": 4e18, \"references\": 18446744073709551615, \"distinct\": 18446744073709551615,\n"
        "\"distances\": [0, 4e18]}],\n"
        "\"references_factor\": 1e9, \"references_exponent\": -3, \"distinct_c\": -7, \"distinct_e\": 1e-9,\n"
        "\"shares\": [[\"x^1/3\", 1e308, 1e308, 1e9], [\"x^2/3\", -1e308, 0, 0]]}\n",
    };
    return fuzz_text_seed(texts, sizeof texts / sizeof texts[0], number, to, room);
}
