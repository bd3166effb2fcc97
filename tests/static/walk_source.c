/* SPDX-License-Identifier: Apache-2.0 */
/*
 * walk_source.c - what a front end made of a source, for the scripts beside this: every access of the region,
 * as the walk (fm_region_walk) hands them out.
 *
 *     walk_source FILE [--function NAME] [--assume TEXT] [--scalars] [NAME=VALUE …] [-- compiler flags]
 *
 * Prints a line for each access: load or store, the array, the offset in it (bytes), the bytes touched.
 * Arrays of unknown length begin with their smallest subscript. Exit code: the status; the message is on
 * standard error.
 */
#include "static/region/region.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct printer {
    const fm_region *region;
    const fm_placement *placement;
} printer;

static fm_status print_accesses(void *context, const uint64_t *addresses, const uint32_t *sizes,
                                const uint32_t *tags, size_t count, fm_error *error)
{
    const printer *self = context;
    (void)error;
    for (size_t i = 0; i < count; i++) {
        const fm_region_access *access = fm_region_access_at(self->region, tags[i] - 1);
        const fm_region_array *array = &self->region->arrays[access->array];
        const fm_placed_array *placed = &self->placement->arrays[access->array];
        int64_t base = placed->origin;
        for (unsigned d = 0; d < array->dimensions; d++)
            base += placed->strides[d] * (array->lows ? array->lows[d] : 0);
        printf("%s %s %" PRId64 " %u\n", access->store ? "store" : "load", array->name,
               (int64_t)addresses[i] - base, sizes[i]);
    }
    return FM_OK;
}

int main(int count, char **arguments)
{
    fm_region_options options = {0};
    const char *assumptions[16] = {0}, *values[64] = {0};
    size_t assumed = 0, valued = 0;
    fm_region *region = NULL;
    fm_placement *placement = NULL;
    fm_error error = {0};
    char message[1200];
    if (count < 2) return 99;
    options.assumptions = assumptions;
    for (int i = 2; i < count; i++) {
        if (strcmp(arguments[i], "--") == 0) {
            options.flags = (const char *const *)arguments + i + 1;
            break;
        }
        if (strcmp(arguments[i], "--function") == 0)
            options.function = arguments[++i];
        else if (strcmp(arguments[i], "--assume") == 0 && assumed < 15)
            assumptions[assumed++] = arguments[++i];
        else if (strcmp(arguments[i], "--scalars") == 0)
            options.scalars = true;
        else if (valued < 64)
            values[valued++] = arguments[i];
    }
    fm_status status = fm_region_open(&region, arguments[1], &options, &error);
    for (size_t i = 0; i < valued && status == FM_OK; i++) {
        char *equals = strchr(values[i], '=');
        if (!equals) return 99;
        char *name = strndup(values[i], (size_t)(equals - values[i]));
        for (size_t k = 0; k < fm_region_parameter_count(region) && status == FM_OK; k++)
            if (strcmp(fm_region_parameter_name(region, k), name) == 0)
                status = fm_region_set_parameter(region, name, atoll(equals + 1), &error);
        free(name);
    }
    if (status == FM_OK) status = fm_placement_create(&placement, region, 64, FM_LAYOUT_CONTIGUOUS, &error);
    printer self = {region, placement};
    if (status == FM_OK)
        status = fm_region_walk(region, 64, FM_LAYOUT_CONTIGUOUS, print_accesses, &self, &error);
    fm_placement_destroy(placement);
    fm_region_destroy(region);
    if (status != FM_OK) fprintf(stderr, "%s\n", fm_error_message(&error, message, sizeof message));
    return (int)status;
}
