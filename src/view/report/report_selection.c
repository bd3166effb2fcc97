/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_selection.c - see report_selection.h.
 *
 * Pairs and uses first (late_choice.c). They need their sites; those their call paths; those the sites of the
 * calls. All sites need their places. Then other lines, that are not part of any chosen pair, are added as
 * long as there is room, by their references, so that the source can show how often every line touched data.
 */
#include "view/report/report_selection.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>

/* ---- subsets ---- */

static int subset_begin(fm_subset *subset, size_t count)
{
    subset->map = fm_calloc(count, sizeof *subset->map);
    subset->indices = fm_calloc(count, sizeof *subset->indices);
    return subset->map && subset->indices ? 0 : -1;
}

/* While a subset is being made, map holds 1 for what is in it. Returns whether it was not. */
static bool subset_add(fm_subset *subset, uint32_t index)
{
    if (subset->map[index]) return false;
    subset->map[index] = 1;
    subset->count++;
    return true;
}

static void subset_end(fm_subset *subset, size_t count)
{
    subset->count = 0;
    for (size_t i = 0; i < count; i++) {
        bool taken = subset->map[i] != 0;
        subset->map[i] = taken ? (uint32_t)subset->count : FM_NONE;
        if (taken) subset->indices[subset->count++] = (uint32_t)i;
    }
}

static void subset_clear(fm_subset *subset)
{
    free(subset->indices);
    free(subset->map);
}

/* ---- pairs and uses ---- */

static fm_status choose_pairs(fm_selection *selection, const fm_attribution *from, fm_edges edges,
                              size_t most, fm_error *error)
{
    fm_counts *counts = fm_calloc(from->pair_count, sizeof *counts);
    if (!counts) return fm_fail_memory(error, from->pair_count * sizeof *counts, "the choice of pairs");
    for (size_t i = 0; i < from->pair_count; i++) counts[i] = fm_pair_counts(&from->pairs[i]);
    size_t first = edges.count > 1 ? 1 : 0, late = fm_edges_index(edges, from->late_from);
    fm_status status = fm_choice_make(&selection->pairs, counts, from->pair_count, edges, first,
                                      late > first ? late : first, most, error);
    free(counts);
    return status;
}

static fm_status choose_uses(fm_selection *selection, const fm_attribution *from, fm_edges edges, size_t most,
                             fm_error *error)
{
    fm_counts *counts = fm_calloc(from->object_use_count, sizeof *counts);
    if (!counts)
        return fm_fail_memory(error, from->object_use_count * sizeof *counts, "the choice of objects");
    for (size_t i = 0; i < from->object_use_count; i++) counts[i] = fm_use_counts(&from->object_uses[i]);
    size_t late = fm_edges_index(edges, from->late_from);
    fm_status status =
        fm_choice_make(&selection->uses, counts, from->object_use_count, edges, late, late, most, error);
    free(counts);
    return status;
}

/* ---- what they need ---- */

static void add_path(fm_selection *selection, const fm_attribution *from, uint32_t path)
{
    /* What was taken before has its ancestors already; this also ends circles in a damaged tree. */
    while (path != FM_NONE && subset_add(&selection->paths, path)) {
        if (from->paths[path].call != FM_NONE) subset_add(&selection->sites, from->paths[path].call);
        path = from->paths[path].parent;
    }
}

static void add_site(fm_selection *selection, const fm_attribution *from, uint32_t site)
{
    if (site == FM_NONE) return;
    subset_add(&selection->sites, site);
    add_path(selection, from, from->sites[site].path);
}

typedef struct ranked {
    uint64_t references;
    uint32_t index;
    bool only_if_needed;
} ranked;

static int compare_references(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->references != y->references) return x->references < y->references ? 1 : -1;
    return (x->index > y->index) - (x->index < y->index);
}

/* Takes those with most references until `most` are taken; what is left is counted. */
static void add_most_used(fm_subset *subset, ranked *ranks, size_t count, size_t most, size_t *left,
                          uint64_t *left_references)
{
    if (count) qsort(ranks, count, sizeof *ranks, compare_references);
    for (size_t i = 0; i < count && ranks[i].references; i++) {
        if (subset->map[ranks[i].index]) continue;
        if (subset->count < most && !ranks[i].only_if_needed) {
            subset_add(subset, ranks[i].index);
        } else {
            (*left)++;
            *left_references += ranks[i].references;
        }
    }
}

/* Those that the chosen sites need, then other lines; an instruction without one says nothing by itself. */
static fm_status choose_places(fm_selection *selection, const fm_places *places, size_t most, fm_error *error)
{
    const fm_attribution *from = places->attribution;
    size_t count = places->keys.count;
    ranked *ranks = fm_calloc(count, sizeof *ranks);
    if (!ranks) return fm_fail_memory(error, count * sizeof *ranks, "the choice of places");
    for (size_t i = 0; i < count; i++) {
        size_t frame_count;
        ranks[i].index = (uint32_t)i;
        ranks[i].only_if_needed = !fm_places_frames(places, (uint32_t)i, &frame_count);
    }
    for (size_t i = 0; i < from->pair_count; i++) {
        if (from->pairs[i].reuse == FM_NONE) continue;
        ranks[places->of_site[from->pairs[i].reuse]].references += from->pairs[i].count;
    }
    for (size_t i = 0; i < from->site_count; i++)
        if (selection->sites.map[i]) subset_add(&selection->places, places->of_site[i]);
    add_most_used(&selection->places, ranks, count, most, &selection->left_places,
                  &selection->left_references);
    free(ranks);
    return FM_OK;
}

static fm_status choose_objects(fm_selection *selection, const fm_attribution *from, size_t most,
                                fm_error *error)
{
    ranked *ranks = fm_calloc(from->object_count, sizeof *ranks);
    if (!ranks) return fm_fail_memory(error, from->object_count * sizeof *ranks, "the choice of objects");
    for (size_t i = 0; i < from->object_count; i++) ranks[i].index = (uint32_t)i;
    for (size_t i = 0; i < from->object_use_count; i++)
        ranks[from->object_uses[i].object].references += from->object_uses[i].count;
    for (size_t i = 0; i < selection->uses.count; i++)
        subset_add(&selection->objects, from->object_uses[selection->uses.indices[i]].object);
    uint64_t references = 0;
    add_most_used(&selection->objects, ranks, from->object_count, most, &selection->left_objects,
                  &references);
    free(ranks);
    return FM_OK;
}

/* Which lines of which files the page refers to, and how much late re-use there is in each file. */
static fm_status want_lines(const fm_selection *selection, const fm_places *places, fm_source_files *files,
                            fm_error *error)
{
    const fm_attribution *from = places->attribution;
    size_t frame_count;
    for (size_t i = 0; i < selection->places.count; i++) {
        const fm_place_frame *frames = fm_places_frames(places, selection->places.indices[i], &frame_count);
        for (size_t j = 0; j < frame_count; j++)
            if (frames[j].file != UINT32_MAX && fm_source_files_want(files, frames[j].file, frames[j].line))
                return fm_fail_memory(error, sizeof(uint32_t), "a list of source lines");
    }
    for (size_t i = 0; i < from->pair_count; i++) {
        const fm_pair *pair = &from->pairs[i];
        double late = (double)pair->cold + (double)pair->beyond;
        for (size_t j = 0; j < pair->bin_count; j++)
            if (pair->bins[j].lo >= from->late_from) late += (double)pair->bins[j].count;
        for (int end = 0; end < 2; end++) {
            uint32_t site = end ? pair->use : pair->reuse;
            if (site == FM_NONE) continue;
            const fm_place_frame *frames = fm_places_frames(places, places->of_site[site], &frame_count);
            if (!frames) continue;
            fm_source_files_weigh(files, frames[0].file, late);
            const fm_place_frame *outer = &frames[frame_count - 1];
            if (outer->file != UINT32_MAX && outer->file != frames[0].file)
                fm_source_files_weigh(files, outer->file, late);
        }
    }
    return FM_OK;
}

static fm_status select_all(fm_selection *selection, const fm_places *places, fm_edges edges, size_t most,
                            fm_error *error)
{
    const fm_attribution *from = places->attribution;
    if (subset_begin(&selection->sites, from->site_count) ||
        subset_begin(&selection->paths, from->path_count) ||
        subset_begin(&selection->places, places->keys.count) ||
        subset_begin(&selection->objects, from->object_count))
        return fm_fail_memory(error, from->site_count * sizeof(uint32_t), "the choice of sites");
    fm_status status = choose_pairs(selection, from, edges, most, error);
    if (!status) status = choose_uses(selection, from, edges, most, error);
    if (!status) status = choose_objects(selection, from, most / 10, error);
    if (status) return status;
    for (size_t i = 0; i < selection->pairs.count; i++) {
        add_site(selection, from, from->pairs[selection->pairs.indices[i]].use);
        add_site(selection, from, from->pairs[selection->pairs.indices[i]].reuse);
    }
    for (size_t i = 0; i < selection->uses.count; i++)
        add_site(selection, from, from->object_uses[selection->uses.indices[i]].site);
    for (size_t i = 0; i < from->object_count; i++)
        if (selection->objects.map[i]) add_path(selection, from, from->objects[i].allocation);
    status = choose_places(selection, places, most, error);
    if (status) return status;
    subset_end(&selection->sites, from->site_count);
    subset_end(&selection->paths, from->path_count);
    subset_end(&selection->places, places->keys.count);
    subset_end(&selection->objects, from->object_count);
    return FM_OK;
}

fm_status fm_selection_make(fm_selection *selection, const fm_places *places, fm_source_files *files,
                            fm_edges edges, size_t most, fm_error *error)
{
    *selection = (fm_selection){0};
    fm_status status = select_all(selection, places, edges, most, error);
    if (!status) status = want_lines(selection, places, files, error);
    if (status) fm_selection_clear(selection);
    return status;
}

void fm_selection_clear(fm_selection *selection)
{
    free(selection->pairs.indices);
    free(selection->uses.indices);
    subset_clear(&selection->sites);
    subset_clear(&selection->paths);
    subset_clear(&selection->places);
    subset_clear(&selection->objects);
    *selection = (fm_selection){0};
}
