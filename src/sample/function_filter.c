/* SPDX-License-Identifier: Apache-2.0 */
/* function_filter.c - see function_filter.h. */
#include "sample/function_filter.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { UNKNOWN = 0, OUTSIDE = 1, INSIDE = 2, DEEPEST = 4096 };

static fm_status no_filter_memory(fm_error *error)
{
    return fm_fail(error, FM_E_NOMEM, NULL, "out of memory: no room for what is known of a function");
}

fm_status fm_function_filter_prepare(fm_function_filter *filter, fm_program *program, fm_error *error)
{
    for (; filter->file_count < program->file_count; filter->file_count++) {
        const fm_status status = fm_program_seek_function(program, (uint32_t)filter->file_count, error);
        if (status != FM_OK) return status;
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

static fm_status site_inside(fm_function_filter *filter, fm_program *program, uint32_t site, bool *inside,
                             fm_error *error)
{
    *inside = false;
    if (site == 0 || site > program->sites.count) return FM_OK;
    if (!make_room(&filter->sites, &filter->site_capacity, site)) return no_filter_memory(error);
    unsigned char *known = &filter->sites[site - 1];
    if (*known == UNKNOWN) {
        const uint64_t address = program->sites.entries[site - 1].a;
        const size_t file = (size_t)program->sites.entries[site - 1].b;
        fm_status status = fm_function_filter_prepare(filter, program, error);
        if (status != FM_OK) return status;
        const bool found = file && fm_code_file_watched(&program->files[file - 1], address) != FM_WATCHED_NOT;
        *known = found ? INSIDE : OUTSIDE;
    }
    *inside = *known == INSIDE;
    return FM_OK;
}

fm_status fm_function_filter_inside(fm_function_filter *filter, fm_program *program, uint32_t site,
                                    uint32_t path, bool *inside, fm_error *error)
{
    fm_status status = site_inside(filter, program, site, inside, error);
    if (status != FM_OK || *inside || path == 0 || path >= program->calls.count) return status;
    if (!make_room(&filter->paths, &filter->path_capacity, path)) return no_filter_memory(error);
    unsigned char *known = &filter->paths[path - 1];
    /* Paths are longer than those they go on from, and have greater numbers. */
    for (int depth = 0; *known == UNKNOWN && path != 0 && path < program->calls.count && depth < DEEPEST;
         depth++) {
        const fm_call_node *node = &program->calls.nodes[path];
        status = site_inside(filter, program, node->call + 1, inside, error);
        if (status != FM_OK) return status;
        if (*inside) *known = INSIDE;
        path = node->parent;
    }
    if (*known == UNKNOWN) *known = OUTSIDE;
    *inside = *known == INSIDE;
    return FM_OK;
}

fm_status fm_function_filter_check(fm_function_filter *filter, fm_program *program, fm_error *error)
{
    fm_status status = fm_function_filter_prepare(filter, program, error);
    if (status != FM_OK || program->function_found) return status;
    return fm_program_no_function(program, error);
}

void fm_function_filter_free(fm_function_filter *filter)
{
    free(filter->paths);
    free(filter->sites);
    *filter = (fm_function_filter){0};
}
