/* SPDX-License-Identifier: Apache-2.0 */
/* attribution_read.c - an attribution from JSON. */
#include "base/error.h"
#include "base/memory.h"
#include "profile/attribution_parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ======== rows of its tables ======== */

/*
 * Memory grows with what was read, never with a number that was
 * read.
 */

static fm_status no_memory(const fm_table_reader *from)
{
    return fm_fail_memory(from->scan->error, 1 << 16, "a profile's attribution");
}

/* Room for one more element; the old array stays in the arena, which is why it doubles. */
static fm_status rows_reserve(fm_table_reader *from, fm_attribution_table which, void *array_pointer,
                              size_t count, size_t size)
{
    void *array;
    memcpy(&array, array_pointer, sizeof array);
    if (count >= FM_NONE) return no_memory(from);
    if (count < from->capacity[which]) return FM_OK;
    size_t more = count < 16 ? 16 : count;
    array = fm_attribution_grow(from->made, array, count, more, size);
    if (!array) return no_memory(from);
    from->capacity[which] = count + more;
    memcpy(array_pointer, &array, sizeof array);
    return FM_OK;
}

/* ---- elements of rows ---- */

/* Takes the comma; the row must go on. */
static fm_status go_on(fm_table_reader *from, fm_json_list *list, const char *shape)
{
    bool more;
    fm_status status = fm_json_more(from->scan, list, &more);
    if (status || more) return status;
    return fm_json_refuse(from->scan, "%s: expected %s, found less", from->what, shape);
}

static fm_status end_row(fm_table_reader *from, fm_json_list *list, const char *shape)
{
    bool more;
    fm_status status = fm_json_more(from->scan, list, &more);
    if (status || !more) return status;
    return fm_json_refuse(from->scan, "%s: expected %s, found more", from->what, shape);
}

static fm_status next_index(fm_table_reader *from, fm_json_list *list, const char *shape, uint32_t *index)
{
    fm_status status = go_on(from, list, shape);
    return status ? status : fm_json_index(from->scan, from->what, index);
}

static fm_status next_whole(fm_table_reader *from, fm_json_list *list, const char *shape, uint64_t *value)
{
    fm_status status = go_on(from, list, shape);
    return status ? status : fm_json_whole(from->scan, from->what, value);
}

static fm_status read_small(fm_table_reader *from, uint32_t *value)
{
    uint64_t wide = 0;
    fm_status status = fm_json_whole(from->scan, from->what, &wide);
    if (!status && wide > UINT32_MAX)
        return fm_json_refuse(from->scan, "%s: expected a number below 2^32, found %" PRIu64, from->what,
                              wide);
    *value = (uint32_t)wide;
    return status;
}

static fm_status next_small(fm_table_reader *from, fm_json_list *list, const char *shape, uint32_t *value)
{
    fm_status status = go_on(from, list, shape);
    return status ? status : read_small(from, value);
}

/* A number of a string, in the place of its pointer until all are known. */
static fm_status next_string(fm_table_reader *from, fm_json_list *list, const char *shape, const char **text)
{
    uint32_t index = FM_NONE;
    fm_status status = next_index(from, list, shape, &index);
    *text = index == FM_NONE ? NULL : (const char *)((uintptr_t)index + 1);
    return status;
}

/* A text of its own; null is NULL. */
static fm_status read_text(fm_table_reader *from, const char **text)
{
    char *read = NULL;
    fm_status status = fm_json_optional_text(from->scan, from->what, &read);
    if (!status && read) {
        *text = fm_attribution_intern(from->made, read);
        if (!*text) status = no_memory(from);
    }
    free(read);
    return status;
}

/* ---- rows ---- */

static fm_status read_edge(fm_table_reader *from)
{
    fm_attribution *made = from->made;
    if (made->edge_count == FM_MOST_EDGES)
        return fm_json_refuse(from->scan, "%s: expected at most %d edges, found more", from->what,
                              (int)FM_MOST_EDGES);
    if (!made->edges) {
        made->edges = fm_attribution_allocate(made, FM_MOST_EDGES, sizeof *made->edges);
        if (!made->edges) return no_memory(from);
    }
    return fm_json_whole(from->scan, from->what, (uint64_t *)&made->edges[made->edge_count++]);
}

static fm_status read_string(fm_table_reader *from)
{
    fm_status status =
        rows_reserve(from, FM_TABLE_STRINGS, &from->strings, from->string_count, sizeof *from->strings);
    if (!status) status = read_text(from, &from->strings[from->string_count]);
    if (!status && !from->strings[from->string_count])
        status = fm_json_refuse(from->scan, "%s: expected a string, found null", from->what);
    from->string_count++;
    return status;
}

static fm_status read_module_field(fm_table_reader *from, const char *key, fm_module *module)
{
    if (strcmp(key, "path") == 0) return read_text(from, &module->path);
    if (strcmp(key, "build_id") == 0) return read_text(from, &module->build_id);
    if (strcmp(key, "bias") == 0) return fm_json_whole(from->scan, from->what, &module->bias);
    if (strcmp(key, "unseen") == 0) return fm_json_truth(from->scan, from->what, &module->unseen);
    return fm_json_skip(from->scan);
}

static fm_status read_module(fm_table_reader *from)
{
    fm_attribution *made = from->made;
    fm_status status =
        rows_reserve(from, FM_TABLE_MODULES, &made->modules, made->module_count, sizeof *made->modules);
    if (status) return status;
    fm_module *module = &made->modules[made->module_count++];
    fm_json_list list;
    bool more = true;
    char key[24];
    status = fm_json_enter_object(from->scan, from->what, &list);
    while (!status && !(status = fm_json_field(from->scan, &list, key, sizeof key, &more)) && more)
        status = read_module_field(from, key, module);
    return status;
}

static fm_status read_frames(fm_table_reader *from, fm_site *site)
{
    static const char shape[] = "function, file, line and column of every frame";
    fm_json_list list;
    fm_status status = fm_json_enter_array(from->scan, from->what, &list);
    size_t count = 0;
    while (!status) {
        bool more;
        status = fm_json_more(from->scan, &list, &more);
        if (status || !more) break;
        void *grown = from->frames;
        if (fm_array_reserve(&grown, &from->frame_capacity, count + 1, sizeof *from->frames))
            return no_memory(from);
        from->frames = grown;
        fm_frame *frame = &from->frames[count++];
        uint32_t function = FM_NONE;
        status = fm_json_index(from->scan, from->what, &function);
        frame->function = function == FM_NONE ? NULL : (const char *)((uintptr_t)function + 1);
        if (!status) status = next_string(from, &list, shape, &frame->file);
        if (!status) status = next_small(from, &list, shape, &frame->line);
        if (!status) status = next_small(from, &list, shape, &frame->column);
    }
    if (status || count == 0) return status;
    fm_frame *frames = fm_attribution_allocate(from->made, count, sizeof *frames);
    if (!frames) return no_memory(from);
    memcpy(frames, from->frames, count * sizeof *frames);
    site->frames = frames;
    site->frame_count = count;
    return FM_OK;
}

static fm_status read_site(fm_table_reader *from)
{
    static const char shape[] = "[module, address, path, symbol, offset, frames]";
    fm_attribution *made = from->made;
    fm_json_list list;
    fm_status status =
        rows_reserve(from, FM_TABLE_SITES, &made->sites, made->site_count, sizeof *made->sites);
    if (!status) status = fm_json_enter_array(from->scan, from->what, &list);
    if (status) return status;
    fm_site *site = &made->sites[made->site_count];
    status = next_index(from, &list, shape, &site->module);
    if (!status) status = next_whole(from, &list, shape, &site->address);
    if (!status) status = next_index(from, &list, shape, &site->path);
    if (!status) status = next_string(from, &list, shape, &site->symbol);
    if (!status) status = next_whole(from, &list, shape, &site->symbol_offset);
    if (!status) status = go_on(from, &list, shape);
    if (!status) status = read_frames(from, site);
    if (!status) status = end_row(from, &list, shape);
    made->site_count++;
    return status;
}

static fm_status read_levels(fm_table_reader *from, fm_site_latency *of)
{
    static const char shape[] = "counts of accesses by level";
    fm_json_list list;
    fm_status status = fm_json_enter_array(from->scan, from->what, &list);
    for (size_t i = 0; i < FM_MEMORY_LEVELS && !status; i++)
        status = next_whole(from, &list, shape, &of->levels[i]);
    return status ? status : end_row(from, &list, shape);
}

static fm_status read_latency(fm_table_reader *from)
{
    static const char shape[] = "[site, samples, timed, cycles, levels]";
    fm_attribution *made = from->made;
    fm_json_list list;
    fm_status status = rows_reserve(from, FM_TABLE_LATENCIES, &made->latencies, made->latency_count,
                                    sizeof *made->latencies);
    if (!status) status = fm_json_enter_array(from->scan, from->what, &list);
    if (status) return status;
    fm_site_latency *each = &made->latencies[made->latency_count++];
    status = next_index(from, &list, shape, &each->site);
    if (!status) status = next_whole(from, &list, shape, &each->samples);
    if (!status) status = next_whole(from, &list, shape, &each->timed);
    if (!status) status = next_whole(from, &list, shape, &each->cycles);
    if (!status) status = go_on(from, &list, shape);
    if (!status) status = read_levels(from, each);
    return status ? status : end_row(from, &list, shape);
}

static fm_status read_pair_error(fm_table_reader *from)
{
    static const char shape[] = "[use, reuse, error, samples]";
    fm_attribution *made = from->made;
    fm_json_list list;
    fm_status status = rows_reserve(from, FM_TABLE_PAIR_ERRORS, &made->pair_errors, made->pair_error_count,
                                    sizeof *made->pair_errors);
    if (!status) status = fm_json_enter_array(from->scan, from->what, &list);
    if (status) return status;
    fm_pair_error *each = &made->pair_errors[made->pair_error_count++];
    status = next_index(from, &list, shape, &each->use);
    if (!status) status = next_index(from, &list, shape, &each->reuse);
    if (!status) status = next_whole(from, &list, shape, &each->error);
    if (!status) status = next_whole(from, &list, shape, &each->samples);
    return status ? status : end_row(from, &list, shape);
}

static fm_status read_path(fm_table_reader *from)
{
    static const char shape[] = "[parent, call]";
    fm_attribution *made = from->made;
    fm_json_list list;
    fm_status status =
        rows_reserve(from, FM_TABLE_PATHS, &made->paths, made->path_count, sizeof *made->paths);
    if (!status) status = fm_json_enter_array(from->scan, from->what, &list);
    if (status) return status;
    fm_call_path *path = &made->paths[made->path_count++];
    status = next_index(from, &list, shape, &path->parent);
    if (!status) status = next_index(from, &list, shape, &path->call);
    return status ? status : end_row(from, &list, shape);
}

/* The counts of a pair or an object use: [a, b, count, cold, beyond, [range, count, range, count, …]]. */
typedef struct counts_row {
    uint32_t a, b;
    uint64_t count, cold, beyond;
    fm_bin bins[FM_MOST_EDGES];
    size_t bin_count;
} counts_row;

static fm_status read_ranges(fm_table_reader *from, counts_row *row)
{
    fm_json_list list;
    fm_status status = fm_json_enter_array(from->scan, from->what, &list);
    for (row->bin_count = 0; !status; row->bin_count++) {
        bool more;
        uint64_t range;
        status = fm_json_more(from->scan, &list, &more);
        if (status || !more) break;
        status = fm_json_whole(from->scan, from->what, &range);
        if (status) break;
        if (range >= FM_MOST_EDGES || (row->bin_count && range <= row->bins[row->bin_count - 1].lo))
            return fm_json_refuse(from->scan, "%s: expected ascending ranges below %d, found %" PRIu64,
                                  from->what, (int)FM_MOST_EDGES, range);
        fm_bin *bin = &row->bins[row->bin_count];
        bin->lo = range; /* until the edges are known for certain */
        bin->hi = 0;
        status = next_whole(from, &list, "a count behind every range", &bin->count);
    }
    return status;
}

static fm_status read_counts(fm_table_reader *from, counts_row *row, const char *shape, const fm_bin **bins)
{
    fm_json_list list;
    fm_status status = fm_json_enter_array(from->scan, from->what, &list);
    if (!status) status = next_index(from, &list, shape, &row->a);
    if (!status) status = next_index(from, &list, shape, &row->b);
    if (!status) status = next_whole(from, &list, shape, &row->count);
    if (!status) status = next_whole(from, &list, shape, &row->cold);
    if (!status) status = next_whole(from, &list, shape, &row->beyond);
    if (!status) status = go_on(from, &list, shape);
    if (!status) status = read_ranges(from, row);
    if (!status) status = end_row(from, &list, shape);
    if (status || row->bin_count == 0) return status;
    fm_bin *kept = fm_attribution_allocate(from->made, row->bin_count, sizeof *kept);
    if (!kept) return no_memory(from);
    memcpy(kept, row->bins, row->bin_count * sizeof *kept);
    *bins = kept;
    return FM_OK;
}

static fm_status read_pair(fm_table_reader *from)
{
    fm_attribution *made = from->made;
    counts_row row;
    const fm_bin *bins = NULL;
    fm_status status =
        rows_reserve(from, FM_TABLE_PAIRS, &made->pairs, made->pair_count, sizeof *made->pairs);
    if (!status) status = read_counts(from, &row, "[use, reuse, count, cold, beyond, ranges]", &bins);
    if (!status)
        made->pairs[made->pair_count++] =
            (fm_pair){row.a, row.b, row.count, row.cold, row.beyond, row.bin_count, bins};
    return status;
}

static fm_status read_object_use(fm_table_reader *from)
{
    fm_attribution *made = from->made;
    counts_row row;
    const fm_bin *bins = NULL;
    fm_status status = rows_reserve(from, FM_TABLE_OBJECT_USES, &made->object_uses, made->object_use_count,
                                    sizeof *made->object_uses);
    if (!status) status = read_counts(from, &row, "[object, site, count, cold, beyond, ranges]", &bins);
    if (!status)
        made->object_uses[made->object_use_count++] =
            (fm_object_use){row.a, row.b, row.count, row.cold, row.beyond, row.bin_count, bins};
    return status;
}

static fm_status read_kind(fm_table_reader *from, fm_object_kind *kind)
{
    static const char *const kinds[] = {"global", "heap",         "stack", "module",
                                        "other",  "thread-local", "array"};
    char *name = NULL;
    fm_status status = fm_json_text(from->scan, from->what, &name);
    if (status) return status;
    size_t found = 0;
    while (found < sizeof kinds / sizeof *kinds && strcmp(name, kinds[found]) != 0) found++;
    free(name);
    /* A kind that only a later version knows is FM_OBJECT_OTHER here. */
    *kind = found < sizeof kinds / sizeof *kinds ? (fm_object_kind)found : FM_OBJECT_OTHER;
    return FM_OK;
}

static fm_status read_object(fm_table_reader *from)
{
    fm_attribution *made = from->made;
    fm_status status =
        rows_reserve(from, FM_TABLE_OBJECTS, &made->objects, made->object_count, sizeof *made->objects);
    fm_json_list list;
    if (!status) status = fm_json_enter_object(from->scan, from->what, &list);
    if (status) return status;
    fm_object *object = &made->objects[made->object_count++];
    *object = (fm_object){.kind = FM_OBJECT_OTHER, .module = FM_NONE, .allocation = FM_NONE};
    for (;;) {
        bool more;
        char key[16];
        status = fm_json_field(from->scan, &list, key, sizeof key, &more);
        if (status || !more) return status;
        if (strcmp(key, "kind") == 0)
            status = read_kind(from, &object->kind);
        else if (strcmp(key, "name") == 0)
            status = read_text(from, &object->name);
        else if (strcmp(key, "module") == 0)
            status = fm_json_index(from->scan, from->what, &object->module);
        else if (strcmp(key, "address") == 0)
            status = fm_json_whole(from->scan, from->what, &object->address);
        else if (strcmp(key, "size") == 0)
            status = fm_json_whole(from->scan, from->what, &object->size);
        else if (strcmp(key, "blocks") == 0)
            status = fm_json_whole(from->scan, from->what, &object->blocks);
        else if (strcmp(key, "error") == 0)
            status = fm_json_whole(from->scan, from->what, &object->error);
        else if (strcmp(key, "samples") == 0)
            status = fm_json_whole(from->scan, from->what, &object->samples);
        else if (strcmp(key, "allocation") == 0)
            status = fm_json_index(from->scan, from->what, &object->allocation);
        else if (strcmp(key, "thread") == 0)
            status = read_small(from, &object->thread);
        else
            status = fm_json_skip(from->scan);
        if (status) return status;
    }
}

static fm_status read_sum(fm_table_reader *from, const char **sum)
{
    fm_status status = read_text(from, sum);
    if (!status && *sum && !fm_source_is_sum(*sum))
        return fm_json_refuse(from->scan, "%s: expected a sha256 of 64 digits 0-9 a-f, found another text",
                              from->what);
    return status;
}

/* Not interned: no two of them are the same, and they may be long. */
static fm_status read_source_text(fm_table_reader *from, const char **text)
{
    char *read = NULL;
    fm_status status = fm_json_optional_text(from->scan, from->what, &read);
    if (!status && read) {
        size_t length = strlen(read);
        char *copy = fm_attribution_allocate(from->made, length + 1, 1);
        if (copy) memcpy(copy, read, length);
        *text = copy;
        if (!copy) status = no_memory(from);
    }
    free(read);
    return status;
}

static fm_status read_line_sums(fm_table_reader *from, const char **sums)
{
    fm_status status = read_source_text(from, sums);
    if (!status && *sums && !fm_line_sums_sound(*sums))
        return fm_json_refuse(from->scan, "%s: expected six digits 0-9 a-f for each line, found another text",
                              from->what);
    return status;
}

fm_status fm_table_begin_sources(fm_table_reader *from)
{
    return rows_reserve(from, FM_TABLE_SOURCES, &from->made->sources, 0, sizeof *from->made->sources);
}

static fm_status read_source(fm_table_reader *from)
{
    fm_attribution *made = from->made;
    fm_status status =
        rows_reserve(from, FM_TABLE_SOURCES, &made->sources, made->source_count, sizeof *made->sources);
    fm_json_list list;
    if (!status) status = fm_json_enter_object(from->scan, from->what, &list);
    if (status) return status;
    const char *sums = NULL;
    fm_source *source = &made->sources[made->source_count++];
    for (;;) {
        bool more;
        char key[16];
        status = fm_json_field(from->scan, &list, key, sizeof key, &more);
        if (status) return status;
        if (!more) break;
        if (strcmp(key, "path") == 0)
            status = read_text(from, &source->path);
        else if (strcmp(key, "sha256") == 0)
            status = read_sum(from, &source->sha256);
        else if (strcmp(key, "size") == 0)
            status = fm_json_whole(from->scan, from->what, &source->size);
        else if (strcmp(key, "newer") == 0)
            status = fm_json_truth(from->scan, from->what, &source->newer);
        else if (strcmp(key, "text") == 0)
            status = read_source_text(from, &source->text);
        else if (strcmp(key, "lines") == 0)
            status = read_line_sums(from, &sums);
        else
            status = fm_json_skip(from->scan);
        if (status) return status;
    }
    if (!source->path) return fm_json_refuse(from->scan, "%s: expected a path, found none", from->what);
    return !sums || fm_line_sums_add(made, &from->line_sum_room, source->path, sums) ? FM_OK
                                                                                     : no_memory(from);
}

fm_status fm_table_read_row(fm_table_reader *from, fm_attribution_table which)
{
    static fm_status (*const row_readers[FM_TABLES])(fm_table_reader *) = {
        [FM_TABLE_EDGES] = read_edge,
        [FM_TABLE_STRINGS] = read_string,
        [FM_TABLE_MODULES] = read_module,
        [FM_TABLE_SITES] = read_site,
        [FM_TABLE_PATHS] = read_path,
        [FM_TABLE_PAIRS] = read_pair,
        [FM_TABLE_OBJECTS] = read_object,
        [FM_TABLE_OBJECT_USES] = read_object_use,
        [FM_TABLE_SOURCES] = read_source,
        [FM_TABLE_LATENCIES] = read_latency,
        [FM_TABLE_PAIR_ERRORS] = read_pair_error};
    return row_readers[which](from);
}

/* ======== the whole ======== */

/*
 * An attribution from JSON (docs/PROFILE.md): its tables, and what in them refers to
 * others.
 */

static const char *const table_names[FM_TABLES] = {"late_from",   "edges",   "strings",   "modules",
                                                   "sites",       "paths",   "pairs",     "objects",
                                                   "object_uses", "sources", "latencies", "pair_errors"};

static fm_status read_table(fm_table_reader *from, fm_attribution_table which)
{
    int length =
        snprintf(from->what, sizeof from->what, "\"%sattribution.%s\"", from->where, table_names[which]);
    if (from->seen & 1u << which) return fm_json_refuse(from->scan, "%s is given twice", from->what);
    from->seen |= 1u << which;
    if (which == FM_TABLE_LATE_FROM) return fm_json_whole(from->scan, from->what, &from->made->late_from);
    fm_json_list list;
    fm_status status = fm_json_enter_array(from->scan, from->what, &list);
    if (!status && which == FM_TABLE_SOURCES) status = fm_table_begin_sources(from);
    for (size_t row = 0; !status; row++) {
        bool more;
        status = fm_json_more(from->scan, &list, &more);
        if (status || !more) break;
        if (length > 0 && (size_t)length < sizeof from->what)
            snprintf(from->what + length, sizeof from->what - (size_t)length, "[%zu]", row);
        status = fm_table_read_row(from, which);
    }
    return status;
}

/* ---- what was kept as numbers ---- */

static bool resolve_string(const fm_table_reader *from, const char **text)
{
    uintptr_t number = (uintptr_t)*text;
    if (number == 0) return true;
    if (number > from->string_count) return false;
    *text = from->strings[number - 1];
    return true;
}

static fm_status resolve_sites(const fm_table_reader *from)
{
    fm_attribution *made = from->made;
    for (size_t i = 0; i < made->site_count; i++) {
        fm_site *site = &made->sites[i];
        bool found = resolve_string(from, &site->symbol);
        fm_frame *frames = (fm_frame *)site->frames;
        for (size_t j = 0; j < site->frame_count && found; j++)
            found = resolve_string(from, &frames[j].function) && resolve_string(from, &frames[j].file);
        if (!found)
            return fm_fail(from->scan->error, FM_E_FORMAT, from->scan->path,
                           "\"%sattribution.sites\"[%zu]: expected strings below %zu, found another",
                           from->where, i, from->string_count);
    }
    return FM_OK;
}

static fm_status resolve_ranges(const fm_table_reader *from, const char *name, size_t row, const fm_bin *bins,
                                size_t count)
{
    const fm_attribution *made = from->made;
    fm_bin *ours = (fm_bin *)bins;
    for (size_t i = 0; i < count; i++) {
        uint64_t range = ours[i].lo;
        if (range >= made->edge_count)
            return fm_fail(
                from->scan->error, FM_E_FORMAT, from->scan->path,
                "\"%sattribution.%s\"[%zu]: expected ranges below %zu, as many as there are edges, found "
                "%" PRIu64,
                from->where, name, row, made->edge_count, range);
        ours[i].lo = made->edges[range];
        ours[i].hi = range + 1 < made->edge_count ? made->edges[range + 1] - 1 : UINT64_MAX;
    }
    return FM_OK;
}

static int larger_first(const void *a, const void *b)
{
    const fm_pair *x = a, *y = b;
    if (x->count != y->count) return x->count > y->count ? -1 : 1;
    if (x->reuse != y->reuse) return x->reuse < y->reuse ? -1 : 1;
    return x->use < y->use ? -1 : x->use > y->use;
}

static fm_status reader_resolve(fm_table_reader *from)
{
    fm_attribution *made = from->made;
    fm_status status = resolve_sites(from);
    bool sorted = true;
    for (size_t i = 0; i < made->pair_count && !status; i++) {
        status = resolve_ranges(from, "pairs", i, made->pairs[i].bins, made->pairs[i].bin_count);
        sorted &= i == 0 || made->pairs[i - 1].count >= made->pairs[i].count;
    }
    for (size_t i = 0; i < made->object_use_count && !status; i++)
        status =
            resolve_ranges(from, "object_uses", i, made->object_uses[i].bins, made->object_uses[i].bin_count);
    if (!status) fm_sources_sort(made->sources, made->source_count);
    if (!status) fm_line_sums_sort(made);
    if (!status) fm_site_latencies_sort(made);
    if (!status) fm_pair_errors_sort(made);
    if (!status && !sorted) qsort(made->pairs, made->pair_count, sizeof *made->pairs, larger_first);
    return status;
}

fm_status fm_attribution_read(fm_json_scan *scan, const char *where, fm_attribution **attribution)
{
    fm_table_reader from = {.scan = scan, .where = where};
    fm_json_list list;
    snprintf(from.what, sizeof from.what, "\"%sattribution\"", where);
    fm_status status = fm_json_enter_object(scan, from.what, &list);
    if (!status) status = fm_attribution_create(&from.made, scan->error);
    while (!status) {
        bool more;
        char key[16];
        status = fm_json_field(scan, &list, key, sizeof key, &more);
        if (status || !more) break;
        size_t which = 0;
        while (which < FM_TABLES && strcmp(table_names[which], key) != 0) which++;
        status = which < FM_TABLES ? read_table(&from, (fm_attribution_table)which) : fm_json_skip(scan);
    }
    if (!status) status = reader_resolve(&from);
    free(from.frames);
    if (status) {
        fm_attribution_destroy(from.made);
        return status;
    }
    fm_attribution_destroy(*attribution);
    *attribution = from.made;
    return FM_OK;
}
