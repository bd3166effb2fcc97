/* SPDX-License-Identifier: Apache-2.0 */
/* region_describe.c - the accesses of a region as sites of an attribution: places in the source. */
#include "static/region.h"

#include "base/error.h"
#include "base/memory.h"

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

fm_status fm_region_describe(const fm_region *region, fm_attribution *attribution, const uint32_t **map,
                             size_t *map_count, fm_error *error)
{
    const size_t count = region->access_count;
    listing self = {
        .region = region,
        .places = fm_calloc(count + 1, sizeof *self.places),
        .numbers = fm_calloc(count + 1, sizeof *self.numbers),
    };
    uint32_t *sites = fm_calloc(count + 1, sizeof *sites);
    uint32_t *all = fm_attribution_allocate(attribution, count + 1, sizeof *all);
    fm_status status = FM_OK;
    if (!self.places || !self.numbers || !sites || !all)
        status = fm_fail(error, FM_E_NOMEM, NULL, "out of memory: no room for the places of accesses");
    if (status == FM_OK) {
        list_places(&self, region->body);
        status = fm_attribution_add_places(attribution, self.places, self.count, sites, error);
    }
    if (status == FM_OK) {
        for (size_t i = 0; i <= count; i++) all[i] = FM_NONE; /* tags are from 1 on */
        for (size_t i = 0; i < self.count; i++) all[self.numbers[i] + 1] = sites[i];
        *map = all;
        *map_count = count + 1;
    }
    free(self.places);
    free(self.numbers);
    free(sites);
    return status;
}
