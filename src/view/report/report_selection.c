/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_selection.c - what of an attribution goes onto a page.
 *
 * Pairs and uses first. They need their sites; those their call paths; those the sites of the
 * calls. All sites need their places. Then other lines, that are not part of any chosen pair, are added as
 * long as there is room, by their references, so that the source can show how often every line touched data.
 */
#include "base/error.h"
#include "base/memory.h"
#include "view/report/report_parts.h"
#include "view/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/*
 * ======== report places ========
 * The key of a place is its frames as an array of fm_place_frame; of an instruction without a line, a
 * bare_key. Their lengths tell them apart.
 */

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

static int place_add_site(fm_places *places, uint32_t number, fm_source_files *files)
{
    const fm_site *site = &places->attribution->sites[number];
    uint32_t *place = &places->of_site[number];
    size_t before = places->keys.table.count;
    if (has_line(site) ? number_frames(places, site, files, place) : number_bare(places, site, place))
        return -1;
    if (places->keys.table.count == before) return 0;
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
        failed = place_add_site(places, (uint32_t)i, files) != 0;
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
    size_t length = fm_numbering_bytes(&places->keys, place).length;
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

/*
 * ======== late choice ========
 * Time: entries × edges, and two sorts.
 */

#define ALMOST_ALL 0.999

size_t fm_edges_index(fm_edges edges, uint64_t distance)
{
    size_t low = 0, high = edges.count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (edges.edges[middle] <= distance)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Misses at each size: levels[i] at a cache of edges[i] blocks. */
static void fill_levels(const fm_counts *counts, fm_edges edges, double *levels)
{
    for (size_t i = 0; i < edges.count; i++) levels[i] = 0;
    for (size_t i = 0; i < counts->bin_count; i++)
        levels[fm_edges_index(edges, counts->bins[i].lo)] += (double)counts->bins[i].count;
    double above = (double)counts->cold + (double)counts->beyond;
    for (size_t i = edges.count; i-- > 0;) {
        above += levels[i];
        levels[i] = above;
    }
}

static double least_covered(const double *covered, const double *total, size_t from, size_t count)
{
    double least = 1;
    for (size_t i = from; i < count; i++)
        if (total[i] > 0 && covered[i] / total[i] < least) least = covered[i] / total[i];
    return least;
}

/* What both rounds work on. */
typedef struct choosing {
    const fm_counts *counts;
    size_t count, most;
    fm_edges edges;
    double *total, *levels, *covered; /* misses at each size: of all, of one entry, of the kept ones */
    fm_ranked *ranks;
    bool *taken;
} choosing;

/* By the largest share at any size from edge `from` on. */
static void choice_rank(const choosing *by, size_t from)
{
    for (size_t i = 0; i < by->count; i++) {
        by->ranks[i] = (fm_ranked){0, (uint32_t)i};
        fill_levels(&by->counts[i], by->edges, by->levels);
        for (size_t level = from; level < by->edges.count; level++)
            if (by->total[level] > 0 && by->levels[level] / by->total[level] > by->ranks[i].weight)
                by->ranks[i].weight = by->levels[level] / by->total[level];
    }
    fm_ranked_sort(by->ranks, by->count);
}

/* Takes from the top of the ranks until enough is covered at every size from edge `from` on. */
static void choice_keep(fm_choice *choice, const choosing *by, size_t from)
{
    bool all = by->count <= by->most;
    for (size_t i = 0; i < by->count && choice->count < by->most; i++) {
        const fm_ranked *next = &by->ranks[i];
        if (!all &&
            (next->weight == 0 || least_covered(by->covered, by->total, from, by->edges.count) >= ALMOST_ALL))
            break;
        if (by->taken[next->number]) continue;
        by->taken[next->number] = true;
        fill_levels(&by->counts[next->number], by->edges, by->levels);
        for (size_t level = 0; level < by->edges.count; level++) by->covered[level] += by->levels[level];
        choice->indices[choice->count++] = next->number;
    }
}

fm_status fm_choice_make(fm_choice *choice, const fm_counts *counts, size_t count, fm_edges edges,
                         size_t from, size_t late, size_t most, fm_error *error)
{
    *choice = (fm_choice){.covered = 1};
    double *sums = fm_calloc(3 * edges.count, sizeof *sums);
    choosing by = {.counts = counts, .count = count, .most = most, .edges = edges};
    by.ranks = fm_calloc(count, sizeof *by.ranks);
    FM_ASSERT(from <= late && late < edges.count);
    by.taken = fm_calloc(count, sizeof *by.taken);
    choice->indices = fm_calloc(count < most ? count : most, sizeof *choice->indices);
    bool made = sums && by.ranks && by.taken && choice->indices;
    if (made) {
        by.total = sums, by.levels = sums + edges.count, by.covered = sums + 2 * edges.count;
        for (size_t i = 0; i < count; i++) {
            fill_levels(&counts[i], edges, by.levels);
            for (size_t level = 0; level < edges.count; level++) by.total[level] += by.levels[level];
        }
        choice_rank(&by, late);
        choice_keep(choice, &by, late);
        if (choice->count < count && choice->count < most && from < late) {
            choice_rank(&by, from);
            choice_keep(choice, &by, from);
        }
        choice->covered = least_covered(by.covered, by.total, late, edges.count);
        fm_numbers_sort(choice->indices, choice->count);
    } else {
        free(choice->indices);
        choice->indices = NULL;
    }
    free(sums);
    free(by.ranks);
    free(by.taken);
    return made ? FM_OK
                : fm_fail_memory(error, count * sizeof *by.ranks, "the choice of what goes onto the page");
}

/* ======== report selection ======== */

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
    size_t count = places->keys.table.count;
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
        subset_begin(&selection->places, places->keys.table.count) ||
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
    subset_end(&selection->places, places->keys.table.count);
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
