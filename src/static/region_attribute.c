/* SPDX-License-Identifier: Apache-2.0 */
/*
 * region_attribute.c - which lines and which arrays of a region re-use data too late: its accesses are the
 * sites of an attribution (places in the source), its arrays the objects.
 */
#include "static/region/region.h"

#include "base/error.h"
#include "base/memory.h"
#include "program/program.h"

#include <stdlib.h>

typedef struct listing {
    const fm_region *region;
    fm_frame *places;  /* of each access that has one */
    uint32_t *numbers; /* of that access */
    size_t count;
} listing;

static void list_places(listing *self, const fm_region_node *node)
{
    for (; node; node = node->next) {
        for (size_t i = 0; node->kind == FM_NODE_STATEMENT && i < node->access_count; i++) {
            const fm_region_place *place = &node->accesses[i].place;
            if (place->file == 0 || place->line == 0) continue;
            self->numbers[self->count] = node->first_access + (uint32_t)i;
            self->places[self->count++] = (fm_frame){
                .function = self->region->function,
                .file = self->region->files[place->file - 1],
                .line = place->line,
                .column = place->column,
            };
        }
        list_places(self, node->body);
        list_places(self, node->otherwise);
    }
}

/* The site of each tag, which is the number of an access and 1. */
static fm_status add_sites(const fm_region *region, fm_attribution *attribution, uint32_t *map,
                           fm_error *error)
{
    const size_t count = region->access_count;
    listing self = {
        .region = region,
        .places = fm_calloc(count + 1, sizeof *self.places),
        .numbers = fm_calloc(count + 1, sizeof *self.numbers),
    };
    uint32_t *sites = fm_calloc(count + 1, sizeof *sites);
    fm_status status = FM_OK;
    if (!self.places || !self.numbers || !sites)
        status = fm_fail(error, FM_E_NOMEM, NULL, "out of memory: no room for the places of accesses");
    if (status == FM_OK) {
        list_places(&self, region->body);
        status = fm_attribution_add_places(attribution, self.places, self.count, sites, error);
    }
    for (size_t i = 0; i <= count; i++) map[i] = FM_NONE;
    for (size_t i = 0; i < self.count && status == FM_OK; i++) map[self.numbers[i] + 1] = sites[i];
    free(self.places);
    free(self.numbers);
    free(sites);
    return status;
}

/* ---- arrays ---- */

static fm_status add_arrays(const fm_region *region, fm_attribution *attribution, fm_error *error)
{
    fm_object *objects = fm_making_objects(attribution, region->array_count, error);
    fm_status status = objects ? FM_OK : FM_E_NOMEM;
    for (size_t i = 0; i < region->array_count && status == FM_OK; i++) {
        objects[i].kind = FM_OBJECT_ARRAY;
        status = fm_making_text(attribution, region->arrays[i].name, &objects[i].name, error);
    }
    return status;
}

static void list_arrays(const fm_region_node *node, uint32_t *arrays)
{
    for (; node; node = node->next) {
        for (size_t i = 0; node->kind == FM_NODE_STATEMENT && i < node->access_count; i++)
            arrays[node->first_access + i + 1] = node->accesses[i].array;
        list_arrays(node->body, arrays);
        list_arrays(node->otherwise, arrays);
    }
}

/* Every access is to one array: late references of the pair are of that one. */
static fm_status add_uses(const fm_region *region, fm_attribution *attribution, const fm_raw_pair *pairs,
                          size_t count, const uint32_t *map, fm_error *error)
{
    fm_making_uses uses;
    uint32_t *arrays = fm_calloc((size_t)region->access_count + 1, sizeof *arrays);
    if (!arrays) return fm_fail(error, FM_E_NOMEM, NULL, "out of memory: no room for the arrays of accesses");
    list_arrays(region->body, arrays);
    fm_status status = fm_making_uses_begin(&uses, attribution, error);
    for (size_t i = 0; i < count && status == FM_OK; i++) {
        const fm_raw_pair *pair = &pairs[i];
        bool always = pair->range == FM_RANGE_COLD || pair->range == FM_RANGE_BEYOND;
        if (pair->reuse == 0 || pair->reuse > region->access_count || map[pair->reuse] == FM_NONE) continue;
        if (!always && attribution->edges[pair->range] < attribution->late_from) continue;
        status =
            fm_making_uses_add(&uses, arrays[pair->reuse], map[pair->reuse], pair->range, pair->count, error);
    }
    free(arrays);
    return fm_making_uses_end(&uses, status, error);
}

fm_status fm_region_attribute(const fm_region *region, const fm_raw_pair *pairs, size_t pair_count,
                              const uint64_t *edges, size_t edge_count, uint64_t late_from,
                              fm_attribution **attribution, fm_error *error)
{
    *attribution = NULL;
    FM_REQUIRE(region, error);
    fm_attribution *made = NULL;
    const size_t tags = (size_t)region->access_count + 1;
    uint32_t *map = fm_calloc(tags, sizeof *map);
    fm_status status = map ? fm_attribution_create(&made, error)
                           : fm_fail_memory(error, tags * sizeof *map, "the sites of accesses");
    if (status == FM_OK) status = fm_attribution_set_edges(made, edges, edge_count, late_from, error);
    if (status == FM_OK) status = add_sites(region, made, map, error);
    if (status == FM_OK) status = fm_attribution_add_pairs(made, pairs, pair_count, map, tags, error);
    if (status == FM_OK) status = add_arrays(region, made, error);
    if (status == FM_OK) status = add_uses(region, made, pairs, pair_count, map, error);
    free(map);
    if (status != FM_OK)
        fm_attribution_destroy(made);
    else
        *attribution = made;
    return status;
}
