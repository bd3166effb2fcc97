/* SPDX-License-Identifier: Apache-2.0 */
/* function_filter.c - see function_filter.h. */
#include "sample/function_filter.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { UNKNOWN = 0, OUTSIDE = 1, INSIDE = 2, DEEPEST = 4096 };

typedef struct fm_function_file {
    fm_code_range *ranges;
    size_t count;
} fm_function_file;

static fm_status no_memory(fm_error *error)
{
    return fm_fail(error, FM_E_NOMEM, NULL, "out of memory: no room for what is known of a function");
}

/* A file without symbols has no function. */
fm_status fm_function_filter_prepare(fm_function_filter *filter, const fm_sampled_code *code, fm_error *error)
{
    while (filter->file_count < code->file_count) {
        fm_symbols *symbols = NULL;
        fm_function_file found = {0};
        if (fm_array_reserve((void **)&filter->files, &filter->file_capacity, filter->file_count + 1,
                             sizeof found) != 0)
            return no_memory(error);
        const fm_sampled_file *file = &code->files[filter->file_count];
        fm_status status = file->ours ? FM_E_FORMAT : fm_symbols_open(&symbols, file->path, error);
        if (status == FM_OK) {
            status =
                fm_symbols_function_ranges(symbols, filter->name, true, &found.ranges, &found.count, error);
            if (status != FM_OK) found = (fm_function_file){0};
            fm_symbols_close(symbols);
        }
        if (status == FM_E_NOMEM) return status;
        filter->files[filter->file_count++] = found;
    }
    return FM_OK;
}

/* Room for a number, from 1 on, and zeroes up to there. */
static bool make_room(unsigned char **array, size_t *capacity, uint32_t number)
{
    const size_t before = *capacity;
    if (number <= before) return true;
    if (fm_array_reserve((void **)array, capacity, number, 1) != 0) return false;
    memset(*array + before, UNKNOWN, *capacity - before);
    return true;
}

static fm_status site_inside(fm_function_filter *filter, const fm_sampled_code *code, uint32_t site,
                             bool *inside, fm_error *error)
{
    *inside = false;
    if (site == 0 || site > code->sites.count) return FM_OK;
    if (!make_room(&filter->sites, &filter->site_capacity, site)) return no_memory(error);
    unsigned char *known = &filter->sites[site - 1];
    if (*known == UNKNOWN) {
        const uint64_t address = code->sites.entries[site - 1].a;
        const size_t file = (size_t)code->sites.entries[site - 1].b;
        fm_status status = fm_function_filter_prepare(filter, code, error);
        if (status != FM_OK) return status;
        *known = OUTSIDE;
        for (size_t i = 0; file && file <= filter->file_count && i < filter->files[file - 1].count; i++) {
            const fm_code_range *range = &filter->files[file - 1].ranges[i];
            if (address >= range->low && address < range->high) *known = INSIDE;
        }
    }
    *inside = *known == INSIDE;
    return FM_OK;
}

fm_status fm_function_filter_inside(fm_function_filter *filter, const fm_sampled_code *code, uint32_t site,
                                    uint32_t path, bool *inside, fm_error *error)
{
    fm_status status = site_inside(filter, code, site, inside, error);
    if (status != FM_OK || *inside || path == 0 || path > code->paths.count) return status;
    if (!make_room(&filter->paths, &filter->path_capacity, path)) return no_memory(error);
    unsigned char *known = &filter->paths[path - 1];
    /* Paths are longer than those they go on from, and have greater numbers. */
    for (int depth = 0; *known == UNKNOWN && path != 0 && path <= code->paths.count && depth < DEEPEST;
         depth++) {
        const fm_intern_entry *entry = &code->paths.entries[path - 1];
        status = site_inside(filter, code, (uint32_t)entry->a, inside, error);
        if (status != FM_OK) return status;
        if (*inside) *known = INSIDE;
        path = (uint32_t)entry->b;
    }
    if (*known == UNKNOWN) *known = OUTSIDE;
    *inside = *known == INSIDE;
    return FM_OK;
}

fm_status fm_function_filter_check(fm_function_filter *filter, const fm_sampled_code *code, fm_error *error)
{
    fm_status status = fm_function_filter_prepare(filter, code, error);
    for (size_t i = 0; i < filter->file_count && status == FM_OK; i++)
        if (filter->files[i].count > 0) return FM_OK;
    if (status != FM_OK) return status;
    return fm_fail(error, FM_E_ARGUMENT, NULL,
                   "there is no function '%s' in the program or in any library it used; functions that were "
                   "stripped of their names cannot be found, nor (without debug information) those that the "
                   "compiler inlined",
                   filter->name);
}

void fm_function_filter_free(fm_function_filter *filter)
{
    for (size_t i = 0; i < filter->file_count; i++) free(filter->files[i].ranges);
    free(filter->files);
    free(filter->paths);
    free(filter->sites);
    *filter = (fm_function_filter){0};
}
