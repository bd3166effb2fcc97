/* SPDX-License-Identifier: Apache-2.0 */
/* attribution_merge.c - the sum of two attributions, of their sources, and the checksums of lines. */
#include "base/bytes.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/plain_text.h"
#include "base/table.h"
#include "profile/attribution_parts.h"
#include "profile/profile_parts.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ======== sums of lines ======== */

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n';
}

uint32_t fm_line_sum(const char *line, size_t length)
{
    uint32_t sum = 2166136261u;
    while (length && is_blank(line[length - 1])) length--;
    for (; length && is_blank(*line); length--) line++;
    for (size_t i = 0; i < length; i++) sum = (sum ^ (unsigned char)line[i]) * 16777619u;
    return (sum ^ sum >> 24) & 0xFFFFFF;
}

bool fm_line_sums_add(fm_attribution *attribution, size_t *room, const char *path, const char *sums)
{
    if (attribution->line_sum_count == *room) {
        const size_t more = *room ? *room : 16;
        void *grown = fm_attribution_grow(attribution, attribution->line_sums, *room, more,
                                          sizeof *attribution->line_sums);
        if (!grown) return false;
        attribution->line_sums = grown;
        *room += more;
    }
    attribution->line_sums[attribution->line_sum_count++] = (fm_line_sums){path, sums};
    return true;
}

bool fm_line_sums_record(fm_attribution *attribution, size_t *room, const char *path, const char *bytes,
                         size_t size)
{
    size_t count = size > 0 && bytes[size - 1] != '\n', at = 0;
    for (size_t i = 0; i < size; i++) count += bytes[i] == '\n';
    if (count > FM_MOST_LINE_SUMS) return true;
    char *sums = fm_attribution_allocate(attribution, count * FM_LINE_SUM + 1, 1);
    if (!sums) return false;
    for (size_t line = 0; line < count; line++) {
        const char *end = memchr(bytes + at, '\n', size - at);
        const size_t length = end ? (size_t)(end - bytes) - at : size - at;
        snprintf(sums + line * FM_LINE_SUM, FM_LINE_SUM + 1, "%06" PRIx32, fm_line_sum(bytes + at, length));
        at += length + 1;
    }
    return fm_line_sums_add(attribution, room, path, sums);
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp(((const fm_line_sums *)a)->path, ((const fm_line_sums *)b)->path);
}

void fm_line_sums_sort(fm_attribution *attribution)
{
    if (attribution->line_sum_count > 1)
        qsort(attribution->line_sums, attribution->line_sum_count, sizeof *attribution->line_sums,
              compare_paths);
}

const char *fm_line_sums_of(const fm_attribution *attribution, const char *path)
{
    const fm_line_sums key = {path, NULL};
    if (attribution->line_sum_count == 0) return NULL;
    const fm_line_sums *found =
        bsearch(&key, attribution->line_sums, attribution->line_sum_count, sizeof key, compare_paths);
    return found ? found->sums : NULL;
}

bool fm_line_sums_sound(const char *sums)
{
    const size_t length = strspn(sums, "0123456789abcdef");
    return sums[length] == '\0' && length % FM_LINE_SUM == 0 && length / FM_LINE_SUM <= FM_MOST_LINE_SUMS;
}

/* ======== sources ======== */

/* Reads no files: src/symbols/source_record.c does. */

bool fm_source_is_sum(const char *text)
{
    size_t length = strspn(text, "0123456789abcdef");
    return length == FM_SHA256_TEXT - 1 && text[length] == '\0';
}

static int compare_sources(const void *a, const void *b)
{
    return strcmp(((const fm_source *)a)->path, ((const fm_source *)b)->path);
}

void fm_sources_sort(fm_source *sources, size_t count)
{
    if (count > 1) qsort(sources, count, sizeof *sources, compare_sources);
}

const fm_source *fm_attribution_source(const fm_attribution *attribution, const char *path)
{
    const fm_source key = {.path = path};
    if (attribution->source_count == 0) return NULL;
    return bsearch(&key, attribution->sources, attribution->source_count, sizeof key, compare_sources);
}

/* Whether the text is that of the sum. Where bytes of it were no UTF-8, nobody can know any more. */
static bool is_text_of(const fm_source *source)
{
    char sum[FM_SHA256_TEXT];
    size_t length = strlen(source->text);
    if (strstr(source->text, "\xEF\xBF\xBD")) return true;
    fm_sha256_text(source->text, length, sum);
    return length == source->size && strcmp(sum, source->sha256) == 0;
}

static const char *trouble_of(const fm_source *source, const fm_source *before)
{
    if (!source->path) return "expected a path, found none";
    if (before && strcmp(before->path, source->path) == 0) return "the same path is given twice";
    if (before && strcmp(before->path, source->path) > 0) return "expected ascending paths";
    if (!source->sha256) return source->text ? "a text needs its sha256" : NULL;
    if (!fm_source_is_sum(source->sha256)) return "expected a sha256 of 64 digits 0-9 a-f, found another";
    if (!source->text) return NULL;
    if (strlen(source->text) > FM_LARGEST_TEXT)
        return "expected a text of at most 32 MiB, found a longer one";
    return is_text_of(source) ? NULL : "its text has another sha256 or size than it says";
}

bool fm_sources_sound(const fm_attribution *attribution, char *why, size_t size)
{
    for (size_t i = 0; i < attribution->source_count; i++) {
        const fm_source *source = &attribution->sources[i];
        const char *trouble = trouble_of(source, i ? source - 1 : NULL);
        if (!trouble) continue;
        snprintf(why, size, "\"sources\", '%.160s': %s", source->path ? source->path : "", trouble);
        return false;
    }
    return true;
}

/* ---- sums of two ---- */

/* Files that the frames of an attribution name, in the memory of another. */
static bool list_files(fm_table *files, fm_attribution *in, const fm_attribution *of)
{
    for (size_t i = 0; i < of->site_count; i++)
        for (size_t j = 0; j < of->sites[i].frame_count; j++) {
            if (!of->sites[i].frames[j].file) continue;
            const char *file = fm_attribution_intern(in, of->sites[i].frames[j].file);
            if (!file) return false;
            if (!fm_table_put(files, &file, NULL)) return false;
        }
    return true;
}

static bool source_own(fm_attribution *sum, fm_source *source)
{
    source->path = fm_attribution_intern(sum, source->path);
    if (!source->path) return false;
    if (source->sha256 && !(source->sha256 = fm_attribution_intern(sum, source->sha256))) return false;
    if (source->text) {
        size_t length = strlen(source->text);
        char *copy = fm_attribution_allocate(sum, length + 1, 1);
        if (!copy) return false;
        memcpy(copy, source->text, length);
        source->text = copy;
    }
    return true;
}

/* What is known of a file that both have. */
static fm_source source_joined(const fm_source *a, const fm_source *b)
{
    if (!a->sha256 || !b->sha256 || strcmp(a->sha256, b->sha256) != 0 || a->size != b->size)
        return (fm_source){.path = a->path};
    fm_source both = *a;
    if (!both.text) both.text = b->text;
    both.newer |= b->newer;
    return both;
}

/* What is known of a file that only one has, the other naming the files in the list. */
static fm_source source_alone(fm_attribution *sum, const fm_source *source, const fm_table *files)
{
    const char *path = fm_attribution_intern(sum, source->path); /* NULL: own() will say so */
    const bool named = path && fm_table_find(files, &path);
    return named ? (fm_source){.path = source->path} : *source;
}

static fm_status no_memory_for_sources(fm_error *error)
{
    return fm_fail_memory(error, 1 << 16, "the source files of two profiles");
}

fm_status fm_sources_add_up(fm_attribution *sum, const fm_attribution *a, const fm_attribution *b,
                            fm_error *error)
{
    const size_t a_count = a->source_count, b_count = b ? b->source_count : 0;
    fm_table a_files = FM_TABLE_OF(char *), b_files = FM_TABLE_OF(char *); /* interned names */
    if (!a->sources && !(b && b->sources)) return FM_OK;
    sum->source_count = 0;
    sum->sources = fm_attribution_allocate(sum, a_count + b_count, sizeof *sum->sources);
    bool made = sum->sources && list_files(&a_files, sum, a) && (!b || list_files(&b_files, sum, b));
    for (size_t i = 0, j = 0; made && (i < a_count || j < b_count);) {
        const fm_source *x = i < a_count ? &a->sources[i] : NULL, *y = j < b_count ? &b->sources[j] : NULL;
        const int order = !x ? 1 : !y ? -1 : strcmp(x->path, y->path);
        fm_source *next = &sum->sources[sum->source_count++];
        if (x && y && order == 0)
            *next = source_joined(x, y);
        else if (x && order < 0)
            *next = source_alone(sum, x, &b_files);
        else if (y)
            *next = source_alone(sum, y, &a_files);
        i += order <= 0;
        j += order >= 0;
        made = source_own(sum, next);
    }
    for (size_t i = 0, room = 0; made && i < sum->source_count; i++) {
        const char *path = sum->sources[i].path,
                   *sums = sum->sources[i].sha256 ? fm_line_sums_of(a, path) : NULL;
        if (!sums && b && sum->sources[i].sha256) sums = fm_line_sums_of(b, path);
        if (!sums) continue;
        char *copy = fm_attribution_allocate(sum, strlen(sums) + 1, 1);
        if (copy) memcpy(copy, sums, strlen(sums));
        made = copy && fm_line_sums_add(sum, &room, path, copy);
    }
    fm_table_clear(&a_files);
    fm_table_clear(&b_files);
    return made ? FM_OK : no_memory_for_sources(error);
}

/* ======== the whole ======== */

/*
 * Each of the two is taken in one after the other: everything
 * in it gets a number in the sum, that of something equal or a new one. Linear but for the sorting of pairs.
 */

/* Numbers in the sum, by number in what is taken in. */
typedef struct numbers {
    uint32_t *modules, *sites, *paths, *objects;
} numbers;

typedef struct sum_builder {
    fm_attribution *sum; /* while it is built, its arrays come from malloc and grow */
    size_t module_room, site_room, path_room, object_room;
    fm_table modules, sites, paths, objects, frames;
    fm_range_counts pairs, uses;
    fm_error *error;
} sum_builder;

static fm_status no_memory_for_sum(const sum_builder *into)
{
    return fm_fail_memory(into->error, 1 << 16, "the sum of two attributions");
}

bool fm_attribution_alike(const fm_attribution *a, const fm_attribution *b)
{
    return a->late_from == b->late_from && a->edge_count == b->edge_count &&
           (a->edge_count == 0 || memcmp(a->edges, b->edges, a->edge_count * sizeof *a->edges) == 0);
}

/* A text of the sum's own; NULL stays NULL. */
static bool sum_own(const sum_builder *into, const char **text)
{
    if (!*text) return true;
    *text = fm_attribution_intern(into->sum, *text);
    return *text != NULL;
}

static uint64_t word_of(const char *text)
{
    return (uint64_t)(uintptr_t)text; /* interned: equal texts, equal words */
}

static uint32_t sum_renumbered(const uint32_t *by, uint32_t number)
{
    return number == FM_NONE ? FM_NONE : by[number];
}

/* Room for one more in an array from malloc. */
static bool sum_reserve(void *array_pointer, size_t *room, size_t count, size_t size)
{
    void *array;
    memcpy(&array, array_pointer, sizeof array);
    if (count >= FM_NONE || fm_array_reserve(&array, room, count + 1, size)) return false;
    memcpy(array_pointer, &array, sizeof array);
    return true;
}

/* The number of the key in a table; *is_new: it had none. */
static bool number_of(fm_table *table, fm_key key, uint32_t *number, bool *is_new)
{
    *number = fm_table_number(table, fm_table_put(table, &key, is_new));
    return *number != FM_KEY_NONE;
}

static fm_status add_modules(sum_builder *into, const fm_attribution *from, const numbers *as)
{
    for (size_t i = 0; i < from->module_count; i++) {
        fm_attribution *sum = into->sum;
        fm_module module = from->modules[i];
        bool is_new;
        if (!sum_own(into, &module.path) || !sum_own(into, &module.build_id) ||
            !sum_reserve(&sum->modules, &into->module_room, sum->module_count, sizeof module) ||
            !number_of(&into->modules, (fm_key){word_of(module.path), word_of(module.build_id), 0},
                       &as->modules[i], &is_new))
            return no_memory_for_sum(into);
        if (is_new) sum->modules[sum->module_count++] = module;
        /* What was seen in one of the runs was seen. */
        else
            sum->modules[as->modules[i]].unseen &= module.unseen;
    }
    return FM_OK;
}

static bool own_names(sum_builder *into, fm_site *site)
{
    if (!sum_own(into, &site->symbol)) return false;
    if (site->frame_count == 0) return true;
    fm_frame *frames = fm_attribution_allocate(into->sum, site->frame_count, sizeof *frames);
    if (!frames) return false;
    memcpy(frames, site->frames, site->frame_count * sizeof *frames);
    site->frames = frames;
    for (size_t i = 0; i < site->frame_count; i++)
        if (!sum_own(into, &frames[i].function) || !sum_own(into, &frames[i].file)) return false;
    return true;
}

/* A place in the source is known by its frames: b becomes their number, from the outermost on. */
static bool key_of_place(sum_builder *into, const fm_site *site, fm_key *key)
{
    static const char place; /* no text has its address */
    uint32_t node = FM_NONE;
    for (size_t i = site->frame_count; i-- > 0;) {
        fm_frame frame = site->frames[i];
        bool is_new;
        if (!sum_own(into, &frame.function) || !sum_own(into, &frame.file)) return false;
        fm_key step = {word_of(frame.function), word_of(frame.file), (uint64_t)frame.line << 32 | node};
        if (!number_of(&into->frames, step, &node, &is_new)) return false;
    }
    key->b = (uint64_t)site->frames[0].column << 32 | node;
    key->c = word_of(&place);
    return true;
}

/* path: its number in the sum. */
static fm_status add_site(sum_builder *into, const fm_site *from, uint32_t path, const numbers *as,
                          uint32_t *number)
{
    fm_attribution *sum = into->sum;
    fm_site site = *from;
    site.module = sum_renumbered(as->modules, from->module);
    site.path = path;
    fm_key key = {(uint64_t)site.module << 32 | site.path, site.address, 0};
    /* Code without a module and without an address is known by its name alone: the site "unknown". */
    const char *name = site.module == FM_NONE ? site.symbol : NULL;
    bool is_new;
    if (!sum_own(into, &name)) return no_memory_for_sum(into);
    key.c = word_of(name);
    if (fm_site_is_place(&site) && !key_of_place(into, &site, &key)) return no_memory_for_sum(into);
    if (!sum_reserve(&sum->sites, &into->site_room, sum->site_count, sizeof site) ||
        !number_of(&into->sites, key, number, &is_new))
        return no_memory_for_sum(into);
    if (!is_new) {
        fm_site *known = &sum->sites[*number];
        if (known->frame_count || (known->symbol && !site.frame_count)) return FM_OK;
        site.module = known->module;
    }
    if (!own_names(into, &site)) return no_memory_for_sum(into);
    sum->sites[*number] = site;
    if (is_new) sum->site_count++;
    return FM_OK;
}

/*
 * Sites and paths refer to each other: a site stands at the end of a path, and a path's last step is a site
 * (the call). Sites without a path come first, then paths from the outermost on, each with its call; a call
 * that has a path itself, whose number is not known yet, loses it. Then the other sites.
 */
static fm_status add_sites(sum_builder *into, const fm_attribution *from, const numbers *as)
{
    fm_status status = FM_OK;
    for (size_t i = 0; i < from->site_count && !status; i++)
        if (from->sites[i].path == FM_NONE)
            status = add_site(into, &from->sites[i], FM_NONE, as, &as->sites[i]);
    for (size_t i = 0; i < from->path_count && !status; i++) {
        fm_attribution *sum = into->sum;
        fm_call_path path = from->paths[i];
        const fm_site *call = &from->sites[path.call];
        uint32_t call_number = as->sites[path.call];
        if (call->path != FM_NONE)
            status = add_site(into, call, call->path < i ? as->paths[call->path] : FM_NONE, as, &call_number);
        if (status) return status;
        path = (fm_call_path){sum_renumbered(as->paths, path.parent), call_number};
        bool is_new;
        if (!sum_reserve(&sum->paths, &into->path_room, sum->path_count, sizeof path) ||
            !number_of(&into->paths, (fm_key){path.parent, path.call, 0}, &as->paths[i], &is_new))
            return no_memory_for_sum(into);
        if (is_new) sum->paths[sum->path_count++] = path;
    }
    for (size_t i = 0; i < from->site_count && !status; i++)
        if (from->sites[i].path != FM_NONE)
            status = add_site(into, &from->sites[i], as->paths[from->sites[i].path], as, &as->sites[i]);
    return status;
}

static fm_status add_objects(sum_builder *into, const fm_attribution *from, const numbers *as)
{
    for (size_t i = 0; i < from->object_count; i++) {
        fm_attribution *sum = into->sum;
        fm_object object = from->objects[i];
        object.module = sum_renumbered(as->modules, object.module);
        object.allocation = sum_renumbered(as->paths, object.allocation);
        bool is_new;
        if (!sum_own(into, &object.name)) return no_memory_for_sum(into);
        fm_key key = {(uint64_t)object.kind << 32 | object.module,
                      object.kind == FM_OBJECT_HEAP ? object.allocation : object.address,
                      object.kind == FM_OBJECT_STACK ? object.thread : word_of(object.name)};
        if (!sum_reserve(&sum->objects, &into->object_room, sum->object_count, sizeof object) ||
            !number_of(&into->objects, key, &as->objects[i], &is_new))
            return no_memory_for_sum(into);
        if (is_new) {
            sum->objects[sum->object_count++] = object;
            continue;
        }
        fm_object *known = &sum->objects[as->objects[i]];
        known->error = (uint64_t)fmin(hypot((double)known->error, (double)object.error), 0x1p62);
        if (__builtin_add_overflow(known->samples, object.samples, &known->samples))
            known->samples = UINT64_MAX;
        if (object.kind == FM_OBJECT_HEAP) {
            if (__builtin_add_overflow(known->size, object.size, &known->size)) known->size = UINT64_MAX;
            if (__builtin_add_overflow(known->blocks, object.blocks, &known->blocks))
                known->blocks = UINT64_MAX;
        }
    }
    return FM_OK;
}

static fm_status add_counts(sum_builder *into, const fm_attribution *from, const numbers *as)
{
    fm_status status = FM_OK;
    for (size_t i = 0; i < from->pair_count && !status; i++) {
        const fm_pair *pair = &from->pairs[i];
        status = fm_range_counts_add_bins(&into->pairs, from, as->sites[pair->reuse],
                                          sum_renumbered(as->sites, pair->use), pair->cold, pair->beyond,
                                          pair->bins, pair->bin_count, into->error);
    }
    for (size_t i = 0; i < from->object_use_count && !status; i++) {
        const fm_object_use *use = &from->object_uses[i];
        status = fm_range_counts_add_bins(&into->uses, from, as->objects[use->object], as->sites[use->site],
                                          use->cold, use->beyond, use->bins, use->bin_count, into->error);
    }
    return status;
}

static fm_status merge_into(sum_builder *into, const fm_attribution *from)
{
    numbers as = {
        fm_calloc(from->module_count, sizeof(uint32_t)), fm_calloc(from->site_count, sizeof(uint32_t)),
        fm_calloc(from->path_count, sizeof(uint32_t)), fm_calloc(from->object_count, sizeof(uint32_t))};
    fm_status status = FM_E_NOMEM;
    if (as.modules && as.sites && as.paths && as.objects) {
        status = add_modules(into, from, &as);
        if (!status) status = add_sites(into, from, &as);
        if (!status) status = add_objects(into, from, &as);
        if (!status) status = add_counts(into, from, &as);
        if (!status) status = fm_site_latencies_merge(into->sum, from, as.sites, into->error);
        if (!status) status = fm_pair_errors_merge(into->sum, from, as.sites, into->error);
    } else {
        no_memory_for_sum(into);
    }
    free(as.modules);
    free(as.sites);
    free(as.paths);
    free(as.objects);
    return status;
}

/* From malloc's memory into the sum's own. */
static bool move_into_sum(fm_attribution *sum, void *array_pointer, size_t count, size_t size)
{
    void *array;
    memcpy(&array, array_pointer, sizeof array);
    void *moved = count ? fm_attribution_allocate(sum, count, size) : NULL;
    if (moved) memcpy(moved, array, count * size);
    free(array);
    memcpy(array_pointer, &moved, sizeof moved);
    return moved || count == 0;
}

fm_status fm_attribution_sum(fm_attribution **sum, const fm_attribution *a, const fm_attribution *b,
                             fm_error *error)
{
    sum_builder into = {.modules = FM_TABLE_OF(fm_key),
                        .sites = FM_TABLE_OF(fm_key),
                        .paths = FM_TABLE_OF(fm_key),
                        .objects = FM_TABLE_OF(fm_key),
                        .frames = FM_TABLE_OF(fm_key),
                        .error = error};
    fm_status status = fm_attribution_create(&into.sum, error);
    if (status) return status;
    fm_attribution *made = into.sum;
    made->late_from = a->late_from;
    if (a->edge_count) status = fm_attribution_set_edges(made, a->edges, a->edge_count, a->late_from, error);
    if (!status) status = merge_into(&into, a);
    if (!status && b) status = merge_into(&into, b);
    bool moved = move_into_sum(made, &made->modules, made->module_count, sizeof *made->modules);
    moved &= move_into_sum(made, &made->sites, made->site_count, sizeof *made->sites);
    moved &= move_into_sum(made, &made->paths, made->path_count, sizeof *made->paths);
    moved &= move_into_sum(made, &made->objects, made->object_count, sizeof *made->objects);
    if (!status && !moved) status = no_memory_for_sum(&into);
    if (!status) status = fm_sources_add_up(made, a, b, error);
    if (!status) status = fm_range_counts_to_pairs(&into.pairs, made, error);
    if (!status) status = fm_range_counts_to_uses(&into.uses, made, error);
    fm_table_clear(&into.modules);
    fm_table_clear(&into.sites);
    fm_table_clear(&into.paths);
    fm_table_clear(&into.objects);
    fm_table_clear(&into.frames);
    fm_range_counts_clear(&into.pairs);
    fm_range_counts_clear(&into.uses);
    if (status) {
        fm_attribution_destroy(made);
        made = NULL;
    }
    *sum = made;
    return status;
}
