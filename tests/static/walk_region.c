/* SPDX-License-Identifier: Apache-2.0 */
/*
 * walk_region.c - what a front end made of a source, for the scripts beside this: the region's text, and
 * every access of it as the walk (fm_region_walk) hands them out.
 *
 *     walk_region OUT FILE [--function NAME] [--assume TEXT] [--scalars] [NAME=VALUE …] [-- compiler flags]
 *
 * Writes OUT.fir and, where every parameter has a value, OUT.trace: for each access 16 bytes (number of the
 * array in the text, from 0; bytes, with the highest bit for a store; offset in the array, 64 bits). Arrays
 * of unknown length begin with subscript 0. Exit code: the status; the message is on standard error.
 */
#include "static/front/front.h"
#include "static/region/region.h"

#include <fathom/static.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct writer {
    FILE *out;
    const fm_region *region;
    const fm_placement *placement;
} writer;

static fm_status write_accesses(void *context, const uint64_t *addresses, const uint32_t *sizes,
                                const uint32_t *tags, size_t count, fm_error *error)
{
    writer *self = context;
    (void)error;
    for (size_t i = 0; i < count; i++) {
        const fm_region_access *access = fm_region_access_at(self->region, tags[i] - 1);
        struct {
            uint32_t array, bytes;
            int64_t offset;
        } record = {access->array, sizes[i] | (access->store ? UINT32_C(1) << 31 : 0),
                    (int64_t)addresses[i] - self->placement->arrays[access->array].origin};
        fwrite(&record, sizeof record, 1, self->out);
    }
    return FM_OK;
}

static fm_status walk(const fm_region *region, const char *name, fm_error *error)
{
    fm_placement *placement;
    fm_status status = fm_placement_create(&placement, region, 64, FM_LAYOUT_CONTIGUOUS, error);
    if (status != FM_OK) return status;
    writer self = {fopen(name, "wb"), region, placement};
    if (!self.out) return FM_E_IO;
    status = fm_region_walk(region, 64, FM_LAYOUT_CONTIGUOUS, write_accesses, &self, error);
    fm_placement_destroy(placement);
    return fclose(self.out) == 0 ? status : FM_E_IO;
}

int main(int count, char **arguments)
{
    fm_region_options options = {0};
    const char *assumptions[16] = {0}, *values[64] = {0};
    size_t assumed = 0, valued = 0;
    fm_region *region = NULL;
    fm_error error = {0};
    char *text, name[4096], message[1200];
    size_t size;
    bool open = false;
    if (count < 3) return 99;
    options.assumptions = assumptions;
    for (int i = 3; i < count; i++) {
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
    fm_status status = fm_front_clang(arguments[2], &options, &text, &size, &error);
    if (status == FM_OK) {
        snprintf(name, sizeof name, "%s.fir", arguments[1]);
        FILE *out = fopen(name, "wb");
        if (!out || fwrite(text, 1, size, out) != size || fclose(out) != 0) return 98;
        status = fm_region_parse(&region, text, size, name, &error);
    }
    free(text);
    for (size_t i = 0; i < valued && status == FM_OK; i++) {
        char *equals = strchr(values[i], '='), *parameter = strndup(values[i], (size_t)(equals - values[i]));
        for (size_t k = 0; k < fm_region_parameter_count(region); k++)
            if (strcmp(fm_region_parameter_name(region, k), parameter) == 0)
                status = fm_region_set_parameter(region, parameter, atoll(equals + 1), &error);
        free(parameter);
    }
    for (size_t k = 0; status == FM_OK && k < fm_region_parameter_count(region); k++) {
        int64_t ignored;
        open |= !fm_region_parameter_value(region, k, &ignored);
    }
    if (status == FM_OK && !open) {
        snprintf(name, sizeof name, "%s.trace", arguments[1]);
        status = walk(region, name, &error);
    }
    fm_region_destroy(region);
    if (status != FM_OK) fprintf(stderr, "%s\n", fm_error_message(&error, message, sizeof message));
    return status;
}
