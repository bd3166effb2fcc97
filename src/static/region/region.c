/* SPDX-License-Identifier: Apache-2.0 */
/* region.c - what others may ask of a region, and its parameters. */
#include "static/region/region_text.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

void fm_region_destroy(fm_region *region)
{
    if (!region) return;
    fm_arena_destroy(region->arena);
    free(region);
}

size_t fm_region_parameter_count(const fm_region *region)
{
    return region->parameter_count;
}

const char *fm_region_parameter_name(const fm_region *region, size_t index)
{
    return index < region->parameter_count ? region->parameters[index].name : NULL;
}

bool fm_region_parameter_value(const fm_region *region, size_t index, int64_t *value)
{
    if (index >= region->parameter_count || !region->parameters[index].has_value) return false;
    *value = region->parameters[index].value;
    return true;
}

fm_status fm_region_set_parameter(fm_region *region, const char *name, int64_t value, fm_error *error)
{
    FM_REQUIRE(region, error);
    for (size_t i = 0; i < region->parameter_count; i++) {
        fm_region_parameter *parameter = &region->parameters[i];
        if (strcmp(parameter->name, name) != 0) continue;
        parameter->has_value = true;
        parameter->value = value;
        return FM_OK;
    }
    char known[256] = "";
    for (size_t i = 0; i < region->parameter_count; i++) {
        size_t used = strlen(known), length = strlen(region->parameters[i].name);
        if (used + length + 3 > sizeof known) break;
        if (used > 0) strcat(known, ", ");
        strcat(known, region->parameters[i].name);
    }
    if (!known[0]) return fm_fail(error, FM_E_ARGUMENT, NULL, "the region has no parameter '%.60s'", name);
    return fm_fail(error, FM_E_ARGUMENT, NULL, "the region has no parameter '%.60s': it has %s", name, known);
}

const char *fm_region_name(const fm_region *region)
{
    return region->function;
}

bool fm_region_lines(const fm_region *region, const char **file, uint32_t *first, uint32_t *last)
{
    if (region->place.file == 0 || region->place.line == 0) return false;
    *file = region->files[region->place.file - 1];
    *first = region->place.line;
    *last = region->place.last_line ? region->place.last_line : region->place.line;
    return true;
}

const char *fm_region_note(const fm_region *region, size_t index)
{
    return index < region->note_count ? region->notes[index] : NULL;
}

static const fm_region_access *find_access(const fm_region_node *node, uint32_t number)
{
    for (; node; node = node->next) {
        if (node->kind == FM_NODE_STATEMENT) {
            if (number - node->first_access < node->access_count)
                return &node->accesses[number - node->first_access];
            continue;
        }
        const fm_region_access *found = find_access(node->body, number);
        if (!found) found = find_access(node->otherwise, number);
        if (found) return found;
    }
    return NULL;
}

const fm_region_access *fm_region_access_at(const fm_region *region, uint32_t number)
{
    return find_access(region->body, number);
}
