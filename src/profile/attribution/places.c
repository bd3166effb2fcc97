/* SPDX-License-Identifier: Apache-2.0 */
/* places.c - sites by file and line. Linear in the sites that there are and those that are added. */
#include "profile/attribution/places.h"

#include "base/error.h"
#include "base/table.h"
#include "profile/attribution/attribution_grow.h"

typedef struct known_place {
    fm_key key;
    uint32_t site;
} known_place;

/* The frame with texts of the attribution's own, and the site that has it: `next` where none had. */
static bool number_place(fm_table *table, fm_attribution *attribution, fm_frame *frame, size_t next,
                         uint32_t *number)
{
    if (frame->function) {
        frame->function = fm_attribution_intern(attribution, frame->function);
        if (!frame->function) return false;
    }
    frame->file = fm_attribution_intern(attribution, frame->file);
    if (!frame->file) return false;
    const fm_key key = {(uint64_t)(uintptr_t)frame->function, (uint64_t)(uintptr_t)frame->file,
                        (uint64_t)frame->line << 32 | frame->column};
    bool fresh;
    known_place *known = fm_table_put(table, &key, &fresh);
    if (!known) return false;
    if (fresh) known->site = (uint32_t)next;
    *number = known->site;
    return true;
}

fm_status fm_attribution_add_places(fm_attribution *attribution, const fm_frame *places, size_t count,
                                    uint32_t *sites, fm_error *error)
{
    FM_REQUIRE(attribution, error);
    for (size_t i = 0; i < count; i++)
        if (!places[i].file || !places[i].file[0] || !places[i].line)
            return fm_fail(error, FM_E_ARGUMENT, NULL,
                           "place %zu of %zu: expected a file and a line from 1 on", i + 1, count);
    if (count == 0) return FM_OK;
    size_t next = attribution->site_count;
    fm_table table = FM_TABLE(known_place, site);
    fm_site *grown = fm_attribution_grow(attribution, attribution->sites, next, count, sizeof *grown);
    fm_frame *frames = fm_attribution_allocate(attribution, count, sizeof *frames);
    bool made = grown && frames && count < FM_NONE - next;
    for (size_t i = 0; i < attribution->site_count && made; i++) {
        const fm_site *site = &attribution->sites[i];
        if (!fm_site_is_place(site) || site->frame_count > 1 || site->path != FM_NONE) continue;
        fm_frame frame = site->frames[0];
        uint32_t number;
        if (frame.file) made = number_place(&table, attribution, &frame, i, &number);
    }
    for (size_t i = 0; i < count && made; i++) {
        frames[i] = places[i];
        made = number_place(&table, attribution, &frames[i], next, &sites[i]);
        if (made && sites[i] == next)
            grown[next++] =
                (fm_site){.module = FM_NONE, .path = FM_NONE, .frame_count = 1, .frames = &frames[i]};
    }
    fm_table_clear(&table);
    if (!made) return fm_fail_memory(error, ((uint64_t)next + count) * sizeof *grown, "sites");
    attribution->sites = grown;
    attribution->site_count = next;
    return FM_OK;
}
