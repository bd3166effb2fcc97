/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_places.c - see report_places.h.
 *
 * The key of a place is its frames as an array of fm_place_frame; of an instruction without a line, a
 * bare_key. Their lengths tell them apart.
 */
#include "view/report/report_places.h"

#include "base/error.h"
#include "base/memory.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct bare_key {
    uint32_t module, high, low, name;
} bare_key;
_Static_assert(sizeof(bare_key) % sizeof(fm_place_frame) != 0, "keys must differ in length");

static bool has_line(const fm_site *site)
{
    return site->frame_count && site->frames[0].file && site->frames[0].line;
}

/* 0, or -1: no memory. */
static int number_name(fm_places *places, const char *name, uint32_t *number)
{
    *number = UINT32_MAX;
    if (!name) return 0;
    *number = fm_numbering_add_text(&places->names, name);
    return *number == UINT32_MAX ? -1 : 0;
}

static int number_frames(fm_places *places, const fm_site *site, fm_source_files *files, uint32_t *place)
{
    fm_place_frame *frames = fm_calloc(site->frame_count, sizeof *frames);
    if (!frames) return -1;
    int failed = 0;
    for (size_t i = 0; i < site->frame_count && !failed; i++) {
        const fm_frame *from = &site->frames[i];
        const char *name = from->function;
        if (!name && i + 1 == site->frame_count) name = site->symbol;
        frames[i].file = UINT32_MAX;
        frames[i].line = from->line;
        failed = number_name(places, name, &frames[i].name);
        if (!failed && from->file) {
            frames[i].file = fm_source_files_add(files, places->attribution, from->file);
            if (frames[i].file == UINT32_MAX) failed = -1;
        }
    }
    if (!failed) *place = fm_numbering_add(&places->keys, frames, site->frame_count * sizeof *frames);
    free(frames);
    return failed || *place == UINT32_MAX ? -1 : 0;
}

static int number_bare(fm_places *places, const fm_site *site, uint32_t *place)
{
    bare_key key = {site->module, (uint32_t)(site->address >> 32), (uint32_t)site->address, UINT32_MAX};
    const char *function = site->frame_count ? site->frames[0].function : NULL;
    if (number_name(places, function ? function : site->symbol, &key.name)) return -1;
    *place = fm_numbering_add(&places->keys, &key, sizeof key);
    return *place == UINT32_MAX ? -1 : 0;
}

static int add_site(fm_places *places, uint32_t number, fm_source_files *files)
{
    const fm_site *site = &places->attribution->sites[number];
    uint32_t *place = &places->of_site[number];
    size_t before = places->keys.count;
    if (has_line(site) ? number_frames(places, site, files, place) : number_bare(places, site, place))
        return -1;
    if (places->keys.count == before) return 0;
    if (fm_array_reserve((void **)&places->example, &places->example_room, *place + 1,
                         sizeof *places->example))
        return -1;
    places->example[*place] = number;
    return 0;
}

fm_status fm_places_make(fm_places *places, const fm_attribution *attribution, fm_source_files *files,
                         fm_error *error)
{
    *places = (fm_places){.attribution = attribution};
    places->of_site = fm_calloc(attribution->site_count, sizeof *places->of_site);
    bool failed = !places->of_site;
    for (size_t i = 0; i < attribution->site_count && !failed; i++)
        failed = add_site(places, (uint32_t)i, files) != 0;
    if (!failed) return FM_OK;
    fm_places_clear(places);
    return fm_fail_memory(error, attribution->site_count * sizeof(uint32_t), "the places of the program");
}

void fm_places_clear(fm_places *places)
{
    fm_numbering_clear(&places->names);
    fm_numbering_clear(&places->keys);
    free(places->of_site);
    free(places->example);
    *places = (fm_places){0};
}

const fm_place_frame *fm_places_frames(const fm_places *places, uint32_t place, size_t *count)
{
    size_t length = places->keys.items[place].length;
    *count = length % sizeof(fm_place_frame) ? 0 : length / sizeof(fm_place_frame);
    return *count ? (const void *)fm_numbering_text(&places->keys, place) : NULL;
}

void fm_places_mark_names(const fm_places *places, uint32_t place, bool *used)
{
    size_t count;
    const fm_place_frame *frames = fm_places_frames(places, place, &count);
    if (!frames) {
        const bare_key *key = (const void *)fm_numbering_text(&places->keys, place);
        if (key->name != UINT32_MAX) used[key->name] = true;
        return;
    }
    for (size_t i = 0; i < count; i++)
        if (frames[i].name != UINT32_MAX) used[frames[i].name] = true;
}

/* Unknown ones as -1. */
static void write_number(FILE *out, uint32_t number)
{
    if (number == UINT32_MAX)
        fputs("-1", out);
    else
        fprintf(out, "%" PRIu32, number);
}

static void write_bare(FILE *out, const fm_places *places, uint32_t place)
{
    const bare_key *key = (const void *)fm_numbering_text(&places->keys, place);
    const fm_site *site = &places->attribution->sites[places->example[place]];
    fputs("{\"module\":", out);
    write_number(out, key->module);
    fprintf(out, ",\"address\":\"%" PRIx64 "\",\"name\":", site->address);
    write_number(out, key->name);
    if (site->symbol) fprintf(out, ",\"offset\":%" PRIu64, site->symbol_offset);
    putc('}', out);
}

void fm_places_write(FILE *out, const fm_places *places, uint32_t place)
{
    size_t count;
    const fm_place_frame *frames = fm_places_frames(places, place, &count);
    if (!frames) {
        write_bare(out, places, place);
        return;
    }
    putc('[', out);
    for (size_t i = 0; i < count; i++) {
        if (i) putc(',', out);
        write_number(out, frames[i].name);
        putc(',', out);
        write_number(out, frames[i].file);
        fprintf(out, ",%" PRIu32, frames[i].line);
    }
    putc(']', out);
}
