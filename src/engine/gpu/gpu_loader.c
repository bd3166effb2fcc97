/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_loader.c - see gpu_loader.h. */
#include "engine/gpu/gpu_loader.h"

#include "base/error.h"
#include "base/parts.h"
#include "engine/engine.h"

#include <limits.h>

fm_status fm_gpu_load(const fm_gpu_module **module, fm_error *error)
{
    char path[PATH_MAX];
    *module = fm_gpu_stand_in;
    if (*module) return FM_OK;
    if (!fm_part_find(NULL, FM_GPU_MODULE_FILE, path, sizeof path)) {
        if (path[0]) return fm_fail(error, FM_E_UNSUPPORTED, path, "there is no CUDA module here");
        return fm_fail(
            error, FM_E_UNSUPPORTED, NULL,
            "this fathom was built without CUDA: install its compiler (nvcc) and build fathom again, or "
            "use another engine");
    }
    *module = fm_part_load(path, FM_GPU_MODULE_SYMBOL, FM_GPU_INTERFACE, false, error);
    return *module ? FM_OK : FM_E_UNSUPPORTED;
}

/* Starting CUDA takes some 0.5 s, in which `exact` on a few cores counts so many references
 * (bench/RESULTS.md). */
static const uint64_t worth_the_start = UINT64_C(100) << 20;

const char *fm_engine_choose(uint64_t references)
{
    const fm_gpu_module *module;
    unsigned cards;
    if (references >= worth_the_start && fm_gpu_find(&module, &cards, NULL) == FM_OK)
        return fm_engine_gpu.info.name;
    return fm_engine_exact.info.name;
}

fm_status fm_gpu_find(const fm_gpu_module **module, unsigned *cards, fm_error *error)
{
    *cards = 0;
    fm_status status = fm_gpu_load(module, error);
    return *module ? (*module)->devices(cards, error) : status;
}
