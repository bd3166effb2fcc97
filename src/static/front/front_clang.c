/* SPDX-License-Identifier: Apache-2.0 */
/* front_clang.c - see front_clang.h. */
#include "static/front/front_child.h"

#include "base/error.h"
#include "base/input.h"

#include <limits.h>

fm_status fm_front_clang(const char *path, const fm_region_options *options, char **text, size_t *size,
                         fm_error *error)
{
    static const fm_region_options none;
    char part[PATH_MAX];
    *text = NULL;
    *size = 0;
    if (!options) options = &none;
    if (!fm_part_find(NULL, FM_CLANG_FILE, part, sizeof part)) {
        if (part[0]) return fm_fail(error, FM_E_UNSUPPORTED, part, "there is no module for C and C++ here");
        return fm_fail(error, FM_E_UNSUPPORTED, path,
                       "this fathom was built without its front end for C and C++: install libclang "
                       "(apt-get install libclang-dev) and build fathom again (make)");
    }
    const fm_clang_module *module = fm_part_load(part, FM_CLANG_SYMBOL, FM_CLANG_INTERFACE, false, error);
    if (!module) return FM_E_UNSUPPORTED;
    fm_clang_request request = {
        .path = path,
        .language = options->language,
        .function = options->function,
        .flags = options->flags,
        .scalars = options->scalars,
        .assumptions = options->assumptions,
    };
    const fm_front_limits limits = fm_front_limits_choose(options->most_seconds, options->most_memory);
    return fm_front_in_child(module, &request, &limits, text, size, error);
}
