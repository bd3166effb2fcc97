/* SPDX-License-Identifier: Apache-2.0 */
/*
 * object_results.c - what was estimated of the late uses of objects, as an attribution has it.
 *
 * Where one in 2^level of the small blocks is told, most uses of such blocks have no object. For each
 * instruction it is known, from all its uses in bursts, how many had none and how many had which: those of
 * told blocks stand for 2^level times as many. So its late uses without an object are shared out as these
 * are, as far as these account for them; what is left stays unknown. (Late uses themselves are too few: most
 * of them are single watches.)
 *
 * What was never used again is as much as is touched for the first time, of each object, too: each block of
 * it has a first use and a last one.
 */
#include "sample/sampled_program.h"

#include "base/error.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

/* Late uses of an object by a site, in a range. */
typedef struct use_row {
    uint32_t object, site, range;
    uint32_t code; /* the instruction, where the object is not known */
    double count;
} use_row;

/* Uses of told blocks by an instruction. */
typedef struct code_share {
    uint32_t code, object; /* object 0: not known */
    double uses, weight;   /* weight: uses that they stand for */
} code_share;

typedef struct result {
    const fm_sampled_objects *objects;
    const fm_sampled_code *code;
    const fm_estimate *estimate;
    fm_attribution *attribution;
    const fm_described *at; /* the code */
    const uint32_t *map;
    size_t map_count;
    use_row *rows;
    size_t row_count, row_capacity;
    code_share *shares; /* by code */
    size_t share_count;
    uint32_t *places;                   /* of objects, in the attribution; FM_NONE: not there */
    double *stood_in;                   /* uses of each object that are inferred */
    double late, unknown, unknown_heap; /* the last: of `unknown` */
} result;

static fm_status no_object_memory(fm_error *error)
{
    return fm_fail(error, FM_E_NOMEM, NULL, "out of memory for the account of data objects");
}

static bool is_unknown(const result *of, uint32_t object)
{
    return fm_sampled_object_is_unknown(of->objects, object);
}

static double weight_of(const fm_sampled_objects *objects, uint32_t object)
{
    if (!object || objects->objects[object - 1].level == 0) return 1;
    const double lost = objects->told > 0 ? (double)objects->lost / (double)objects->told : 0;
    return ldexp(1 + lost, (int)objects->objects[object - 1].level);
}

static bool is_late(const result *of, const fm_raw_pair *raw)
{
    return raw->range < of->attribution->edge_count &&
           of->attribution->edges[raw->range] >= of->attribution->late_from;
}

static fm_status add_row(result *of, use_row row, fm_error *error)
{
    if (!(row.count > 0)) return FM_OK;
    if (fm_array_reserve((void **)&of->rows, &of->row_capacity, of->row_count + 1, sizeof row) != 0)
        return no_object_memory(error);
    of->rows[of->row_count++] = row;
    of->late += row.count;
    if (is_unknown(of, row.object)) of->unknown += row.count;
    if (row.object && is_unknown(of, row.object)) of->unknown_heap += row.count;
    return FM_OK;
}

/* ---- what code uses ---- */

static int by_code(const void *a, const void *b)
{
    const code_share *x = a, *y = b;
    if (x->code != y->code) return x->code < y->code ? -1 : 1;
    return (x->object > y->object) - (x->object < y->object);
}

static fm_status list_shares(result *of, fm_error *error)
{
    const size_t tags = of->code->tags.count;
    of->shares = fm_calloc(tags + 1, sizeof *of->shares);
    if (!of->shares) return no_object_memory(error);
    for (uint32_t tag = 1; tag <= tags; tag++) {
        const uint32_t object = fm_sampled_code_object(of->code, tag);
        const double weight = weight_of(of->objects, object), uses = (double)of->code->uses[tag - 1];
        const bool unknown = is_unknown(of, object);
        if ((!unknown && weight <= 1) || !(uses > 0)) continue;
        of->shares[of->share_count++] = (code_share){fm_sampled_code_instruction(of->code, tag),
                                                     unknown ? 0 : object, uses, uses * weight};
    }
    qsort(of->shares, of->share_count, sizeof *of->shares, by_code);
    return FM_OK;
}

/* Shares a row without an object out among those that its code uses. */
static fm_status share_out(result *of, use_row row, fm_error *error)
{
    size_t low = 0, high = of->share_count;
    double known = 0, unknown = 0, weight = 0;
    fm_status status = FM_OK;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (of->shares[middle].code < row.code)
            low = middle + 1;
        else
            high = middle;
    }
    const size_t from = low;
    for (high = from; high < of->share_count && of->shares[high].code == row.code; high++) {
        const code_share *share = &of->shares[high];
        if (share->object == 0) {
            unknown += share->uses;
        } else {
            known += share->uses;
            weight += share->weight;
        }
    }
    /* Of those unknown, so many are accounted for. */
    double part = row.code && weight > 0 && unknown > 0 ? (weight - known) / unknown : 0;
    if (part > 1) part = 1;
    for (size_t i = from; i < high && part > 0 && status == FM_OK; i++) {
        const code_share *share = &of->shares[i];
        if (share->object == 0) continue;
        use_row given = row;
        given.object = share->object;
        given.count = row.count * part * share->weight / weight;
        of->stood_in[share->object] += given.count;
        status = add_row(of, given, error);
    }
    row.count *= 1 - part;
    return status == FM_OK ? add_row(of, row, error) : status;
}

static fm_status take_row(result *of, use_row row, fm_error *error)
{
    return is_unknown(of, row.object) ? share_out(of, row, error) : add_row(of, row, error);
}

/* Late uses by the tags of the pairs; first touches by what was never used again. */
static fm_status list_rows(result *of, fm_error *error)
{
    const fm_estimate *estimate = of->estimate;
    fm_status status = FM_OK;
    for (size_t i = 0; i < estimate->raw_count && status == FM_OK; i++) {
        const fm_raw_pair *raw = &estimate->raw[i];
        const uint32_t site = raw->reuse < of->map_count ? of->map[raw->reuse] : FM_NONE;
        if (!is_late(of, raw)) continue;
        /* It is the same data: and where a watch ended, the instruction is not known exactly. */
        uint32_t code = fm_sampled_code_instruction(of->code, raw->use);
        if (!code) code = fm_sampled_code_instruction(of->code, raw->reuse);
        status = take_row(of,
                          (use_row){.object = fm_sampled_code_object(of->code, raw->reuse),
                                    .site = site,
                                    .range = raw->range,
                                    .code = code,
                                    .count = (double)raw->count},
                          error);
    }
    double never = 0, told = 0;
    for (size_t i = 0; i < estimate->group_count; i++) never += estimate->groups[i].never;
    const double cold = (double)estimate->profile->cold;
    const double share = never > cold ? cold / never : 1;
    for (size_t i = 0; i < estimate->group_count && status == FM_OK; i++) {
        const fm_group_estimate *group = &estimate->groups[i];
        const uint32_t objects = (uint32_t)of->objects->count,
                       sites = (uint32_t)of->code->program.sites.count;
        use_row row = {
            .object = group->group, .site = FM_NONE, .range = FM_RANGE_COLD, .count = group->never * share};
        if (group->group > objects) { /* fm_sampled_objects_group */
            const bool heap = group->group - objects > sites;
            row.object = heap ? of->objects->unknown_heap : 0;
            row.code = group->group - objects - (heap ? sites : 0);
        }
        told += row.count;
        status = take_row(of, row, error);
    }
    /* What no observation shows has no object either. */
    const use_row rest = {.site = FM_NONE, .range = FM_RANGE_COLD, .count = cold - told};
    return status == FM_OK ? add_row(of, rest, error) : status;
}

uint32_t fm_sampled_objects_group(const fm_sampled_objects *objects, const fm_sampled_code *code,
                                  uint32_t tag)
{
    const uint32_t object = fm_sampled_code_object(code, tag);
    if (!fm_sampled_object_is_unknown(objects, object)) return object;
    return (uint32_t)objects->count + (object ? (uint32_t)code->program.sites.count : 0) +
           fm_sampled_code_instruction(code, tag);
}

/* ---- objects ---- */

static bool same_object(const result *of, uint32_t a, uint32_t b)
{
    const fm_sampled_object *x = &of->objects->objects[a - 1], *y = &of->objects->objects[b - 1];
    return x->is.kind == y->is.kind && x->is.number == y->is.number;
}

/* Blocks of one place that were told for different reasons are one object. */
static void count_allocations(const result *of, const fm_counted_object *from, fm_object *made)
{
    made->allocation = fm_described_path(of->at->calls, from->number);
    for (size_t i = 0; i < of->objects->contexts.count; i++)
        if (of->objects->contexts.entries[i].a == from->number) {
            made->blocks += of->objects->allocations[i].blocks;
            made->size += of->objects->allocations[i].bytes;
        }
}

static fm_status describe_object(const result *of, const fm_counted_object *what, fm_object *made,
                                 fm_error *error)
{
    if (what->kind == FM_OBJECT_HEAP) count_allocations(of, what, made);
    return fm_counted_object_describe(what, of->at->modules, of->attribution, made, error);
}

/* Those that are used, each once. */
static fm_status add_objects(result *of, fm_error *error)
{
    const size_t all = of->objects->count + 1, before = of->attribution->object_count;
    size_t count = 0;
    of->places = fm_calloc(all, sizeof *of->places);
    if (!of->places) return no_object_memory(error);
    for (size_t i = 0; i < of->row_count; i++) of->places[of->rows[i].object] |= of->rows[i].count > 0;
    for (uint32_t object = 0; object < all; object++) {
        const bool used = of->places[object];
        const bool heap = object > 0 && of->objects->objects[object - 1].is.kind == FM_OBJECT_HEAP;
        of->places[object] = FM_NONE;
        for (uint32_t k = 1; heap && used && k < object && of->places[object] == FM_NONE; k++)
            if (of->places[k] != FM_NONE && same_object(of, k, object)) of->places[object] = of->places[k];
        if (used && of->places[object] == FM_NONE) of->places[object] = (uint32_t)(before + count++);
    }
    fm_object *made = fm_making_objects(of->attribution, count, error);
    fm_status status = made ? FM_OK : FM_E_NOMEM;
    size_t next = before;
    for (uint32_t object = 0; object < all && status == FM_OK; object++) {
        if (of->places[object] != next) continue; /* not there, or another's */
        if (object > 0) status = describe_object(of, &of->objects->objects[object - 1].is, made, error);
        made++;
        next++;
    }
    return status;
}

static uint64_t combined_error(uint64_t error, double other)
{
    return (uint64_t)llround(fmin(hypot((double)error, other), 0x1p62));
}

/* Errors of estimates; and where told blocks stand for others, that of choosing so many of them. */
static void add_errors(const result *of)
{
    const fm_estimate *estimate = of->estimate;
    double errors = 0, unknown = 0, samples = 0; /* of what had no object */
    for (size_t i = 0; i < estimate->group_count; i++) {
        const fm_group_estimate *group = &estimate->groups[i];
        if (group->group == 0 || group->group > of->objects->count) {
            errors = hypot(errors, group->error);
            unknown += group->references;
            samples += (double)group->samples;
            continue;
        }
        if (of->places[group->group] == FM_NONE) continue;
        fm_object *object = &of->attribution->objects[of->places[group->group]];
        object->error = combined_error(object->error, group->error);
        object->samples += group->samples;
    }
    for (uint32_t i = 1; i <= of->objects->count; i++) {
        if (is_unknown(of, i) || !(of->stood_in[i] > 0) || of->places[i] == FM_NONE) continue;
        fm_object *object = &of->attribution->objects[of->places[i]];
        const uint64_t met = of->objects->objects[i - 1].met;
        object->error = combined_error(object->error, of->stood_in[i] / sqrt(met > 0 ? (double)met : 1));
        const double share = unknown > 0 ? fmin(of->stood_in[i] / unknown, 1) : 0;
        object->error = combined_error(object->error, errors * share);
        object->samples += (uint64_t)llround(samples * share);
    }
    const uint32_t which[] = {0, of->objects->unknown_heap};
    const double rest[] = {of->unknown - of->unknown_heap, of->unknown_heap};
    for (size_t i = 0; i < 2 && unknown > 0; i++) {
        if ((i > 0 && !which[i]) || of->places[which[i]] == FM_NONE) continue;
        fm_object *object = &of->attribution->objects[of->places[which[i]]];
        const double left = fmin(rest[i] / unknown, 1);
        object->error = combined_error(0, errors * left);
        object->samples = (uint64_t)llround(samples * left);
    }
}

static fm_status add_uses(const result *of, fm_error *error)
{
    fm_making_uses uses;
    fm_status status = fm_making_uses_begin(&uses, of->attribution, error);
    double running = 0;
    uint64_t given = 0;
    for (size_t i = 0; i < of->row_count && status == FM_OK; i++) {
        const use_row *row = &of->rows[i];
        running += row->count; /* each is what the running sum, rounded, grows by */
        const uint64_t upto = (uint64_t)llround(running);
        if (upto > given)
            status = fm_making_uses_add(&uses, of->places[row->object], row->site, row->range, upto - given,
                                        error);
        given = upto;
    }
    return fm_making_uses_end(&uses, status, error);
}

fm_status fm_sampled_objects_describe(const fm_sampled_objects *objects, const fm_sampled_code *code,
                                      const fm_described *at, const fm_estimate *estimate,
                                      const uint32_t *map, size_t map_count, fm_attribution *attribution,
                                      double *known, fm_error *error)
{
    result of = {.objects = objects,
                 .code = code,
                 .estimate = estimate,
                 .attribution = attribution,
                 .at = at,
                 .map = map,
                 .map_count = map_count};
    *known = 0;
    of.stood_in = fm_calloc(objects->count + 1, sizeof *of.stood_in);
    fm_status status = of.stood_in ? FM_OK : no_object_memory(error);
    if (status == FM_OK) status = list_shares(&of, error);
    if (status == FM_OK) status = list_rows(&of, error);
    if (status == FM_OK) status = add_objects(&of, error);
    *known = of.late > 0 ? 1 - of.unknown / of.late : 1;
    if (status == FM_OK) add_errors(&of);
    if (status == FM_OK) status = add_uses(&of, error);
    free(of.rows);
    free(of.shares);
    free(of.places);
    free(of.stood_in);
    return status;
}
