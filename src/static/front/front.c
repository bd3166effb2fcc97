/* SPDX-License-Identifier: Apache-2.0 */
/*
 * front.c - opens a region: which front end a file needs, by its name or as it was said; and the one for C
 * and C++, which is in a module.
 */
#include "static/front/front.h"

#include "base/error.h"
#include "base/input.h"
#include "base/plain_text.h"
#include "static/region/region.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

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

typedef fm_status (*front)(const char *path, const fm_region_options *options, char **text, size_t *size,
                           fm_error *error);

/* The text itself. */
static fm_status read_text(const char *path, const fm_region_options *options, char **text, size_t *size,
                           fm_error *error)
{
    fm_text_file file;
    (void)options;
    fm_status status = fm_text_file_read(&file, path, UINT64_MAX, error);
    if (status == FM_OK && file.why[0])
        status = fm_fail(error, file.missing ? FM_E_IO : FM_E_FORMAT, path, "%s", file.why);
    if (status == FM_OK) {
        *text = file.bytes;
        *size = file.size;
        file.bytes = NULL;
    }
    fm_text_file_clear(&file);
    return status;
}

static const struct {
    const char *language, *endings;
    front read;
} fronts[] = {
    {"fir", ".fir", read_text},
    {"c", ".c .h", fm_front_clang},
    {"c++", ".cc .cpp .cxx .c++ .hh .hpp .hxx", fm_front_clang},
    {"fortran", ".f .for .ftn .f77 .f90 .f95 .f03 .f08 .f18", fm_front_fortran},
};

static bool has_ending(const char *path, const char *endings)
{
    const char *dot = strrchr(path, '.');
    size_t length = dot ? strlen(dot) : 0;
    for (const char *at = endings; length > 0 && *at; at += strcspn(at, " "), at += strspn(at, " "))
        if (strcspn(at, " ") == length && strncasecmp(at, dot, length) == 0) return true;
    return false;
}

fm_status fm_region_open_sized(size_t options_size, fm_region **region, const char *path,
                               const fm_region_options *options, fm_error *error)
{
    fm_region_options own;
    *region = NULL;
    fm_status status =
        fm_sized_read(&own, sizeof own, options, options ? options_size : 0, "fm_region_options", error);
    if (status != FM_OK) return status;
    front read = NULL;
    for (size_t i = 0; i < sizeof fronts / sizeof fronts[0] && !read; i++)
        if (own.language ? strcmp(own.language, fronts[i].language) == 0
                         : has_ending(path, fronts[i].endings))
            read = fronts[i].read;
    if (!read && own.language)
        return fm_fail(error, FM_E_ARGUMENT, NULL, "there is no language '%.60s': c, c++, fortran, fir",
                       own.language);
    if (!read)
        return fm_fail(error, FM_E_FORMAT, path,
                       "its name does not tell which language it is in: .c, .cc, .f90, .f, .fir, …");
    char *text = NULL;
    size_t size = 0;
    status = read(path, &own, &text, &size, error);
    if (status == FM_OK) {
        status = fm_region_parse(region, text, size, path, error);
        if (status != FM_OK && read != read_text && error) { /* the line is not one of the source */
            error->place = FM_PLACE_NONE;
            error->offset = 0;
        }
    }
    free(text);
    return status;
}
