/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attribution_maker.c - the one maker of an attribution: room for its tables, and what a program's files,
 * sites, calls and objects become in it. Who counts (a collection, an estimate, a stored trace, a region of
 * source code) says which tag is which site, and how often what was used. See program.h and object_map.h.
 */
#include "base/error.h"
#include "base/memory.h"
#include "profile/attribution_parts.h"
#include "program/object_map.h"
#include "program/program.h"

#include <stdlib.h>
#include <string.h>

static fm_status no_making_memory(fm_error *error)
{
    return fm_fail(error, FM_E_NOMEM, NULL, "out of memory: no room for what is known of the program");
}

/* ---- room ---- */

/* `more` zeroed elements behind the *count that there are. */
static void *extend_array(fm_attribution *of, void **array, size_t *count, size_t more, size_t size,
                          fm_error *error)
{
    char *grown = fm_attribution_grow(of, *array, *count, more, size);
    if (!grown) {
        no_making_memory(error);
        return NULL;
    }
    void *first = grown + *count * size;
    *array = grown;
    *count += more;
    return first;
}

fm_module *fm_making_modules(fm_attribution *of, size_t count, fm_error *error)
{
    return extend_array(of, (void **)&of->modules, &of->module_count, count, sizeof(fm_module), error);
}

fm_site *fm_making_sites(fm_attribution *of, size_t count, fm_error *error)
{
    fm_site *sites = extend_array(of, (void **)&of->sites, &of->site_count, count, sizeof *sites, error);
    for (size_t i = 0; sites && i < count; i++) sites[i].module = sites[i].path = FM_NONE;
    return sites;
}

fm_call_path *fm_making_paths(fm_attribution *of, size_t count, fm_error *error)
{
    fm_call_path *paths = extend_array(of, (void **)&of->paths, &of->path_count, count, sizeof *paths, error);
    for (size_t i = 0; paths && i < count; i++) paths[i].parent = FM_NONE;
    return paths;
}

fm_object *fm_making_objects(fm_attribution *of, size_t count, fm_error *error)
{
    fm_object *objects =
        extend_array(of, (void **)&of->objects, &of->object_count, count, sizeof *objects, error);
    for (size_t i = 0; objects && i < count; i++) {
        objects[i].kind = FM_OBJECT_OTHER;
        objects[i].module = objects[i].allocation = FM_NONE;
    }
    return objects;
}

uint32_t *fm_making_map(fm_attribution *of, size_t count, fm_error *error)
{
    uint32_t *map = fm_attribution_allocate(of, count, sizeof *map);
    if (!map) no_making_memory(error);
    for (size_t i = 0; map && i < count; i++) map[i] = FM_NONE;
    return map;
}

fm_status fm_making_text(fm_attribution *of, const char *text, const char **kept, fm_error *error)
{
    *kept = text ? fm_attribution_intern(of, text) : NULL;
    return text && !*kept ? no_making_memory(error) : FM_OK;
}

fm_status fm_making_module(fm_attribution *of, fm_module *module, const char *path, const char *build_id,
                           uint64_t bias, fm_error *error)
{
    module->bias = bias;
    fm_status status = fm_making_text(of, path, &module->path, error);
    if (status == FM_OK) status = fm_making_text(of, build_id, &module->build_id, error);
    return status;
}

/* ---- code ---- */

static fm_status describe_files(const fm_program *program, bool hooked_only, fm_attribution *of,
                                fm_error *error)
{
    fm_module *module = fm_making_modules(of, program->file_count, error);
    fm_status status = module ? FM_OK : FM_E_NOMEM;
    for (size_t i = 0; i < program->file_count && status == FM_OK; i++, module++) {
        const fm_code_file *file = &program->files[i];
        module->unseen = hooked_only && !file->instrumented;
        status = fm_making_module(of, module, fm_code_file_shown(file),
                                  file->build_id[0] ? file->build_id : NULL, file->bias, error);
    }
    return status;
}

static void fill_site(fm_site *site, const fm_intern_entry *place, size_t modules)
{
    site->address = place->a;
    if (place->b) site->module = (uint32_t)(modules + place->b - 1);
}

static size_t path_count(const fm_call_tree *tree)
{
    return tree->count ? tree->count - 1 : 0; /* the root is none */
}

static const fm_intern_table *calls_of(const fm_program *program, const fm_call_tree *tree)
{
    return tree->of_sites ? &program->sites : &tree->places;
}

static void fill_paths(fm_call_path *path, const fm_call_tree *tree, size_t first_path, size_t first_site)
{
    for (size_t i = 1; i < tree->count; i++, path++) {
        const fm_call_node *node = &tree->nodes[i];
        path->parent = fm_described_path(first_path, node->parent);
        path->call = (uint32_t)(first_site + node->call);
    }
}

fm_status fm_program_describe(const fm_program *program, bool paths, bool hooked_only, fm_attribution *of,
                              fm_described *at, fm_error *error)
{
    const fm_call_tree *const trees[] = {&program->calls, &program->heap};
    const fm_intern_table *const tags = paths ? &program->places : &program->sites;
    *at = (fm_described){.modules = of->module_count, .sites = of->site_count};
    fm_status status = describe_files(program, hooked_only, of, error);
    if (status != FM_OK) return status;
    at->calls = of->path_count;
    at->heap = at->calls + path_count(&program->calls);
    size_t sites = tags->count;
    for (size_t i = 0; i < 2; i++) sites += path_count(trees[i]) ? calls_of(program, trees[i])->count : 0;
    fm_site *site = fm_making_sites(of, sites, error);
    fm_call_path *path = fm_making_paths(of, path_count(trees[0]) + path_count(trees[1]), error);
    if (!site || !path) return FM_E_NOMEM;
    for (size_t i = 0; i < tags->count; i++, site++) {
        const fm_intern_entry *tag = paths ? &tags->entries[i] : NULL;
        fill_site(site, &program->sites.entries[tag ? tag->a - 1 : i], at->modules);
        if (tag) site->path = fm_described_path(at->calls, tag->b);
    }
    size_t first_path = at->calls, first_site = at->sites + tags->count;
    for (size_t i = 0; i < 2; i++) {
        if (path_count(trees[i]) == 0) continue;
        const fm_intern_table *calls = calls_of(program, trees[i]);
        for (size_t k = 0; k < calls->count; k++) fill_site(site++, &calls->entries[k], at->modules);
        fill_paths(path, trees[i], first_path, first_site);
        path += path_count(trees[i]);
        first_path += path_count(trees[i]);
        first_site += calls->count;
    }
    return FM_OK;
}

/* ---- uses of objects ---- */

fm_status fm_making_uses_begin(fm_making_uses *uses, fm_attribution *of, fm_error *error)
{
    fm_status status = FM_OK;
    *uses = (fm_making_uses){.of = of, .unknown = FM_NONE};
    for (size_t i = 0; i < of->object_use_count && status == FM_OK; i++) {
        const fm_object_use *use = &of->object_uses[i];
        status = fm_range_counts_add_bins(&uses->counts, of, use->object, use->site, use->cold, use->beyond,
                                          use->bins, use->bin_count, error);
    }
    return status;
}

/* Late references of tags that have no site are by one site that stands for all unknown code. */
static fm_status find_unknown_site(fm_attribution *of, uint32_t *site, fm_error *error)
{
    static const char symbol[] = "unknown"; /* as fm_attribution_add_pairs has it */
    for (size_t i = 0; i < of->site_count; i++) {
        const fm_site *at = &of->sites[i];
        if (at->module != FM_NONE || at->address != 0 || !at->symbol || strcmp(at->symbol, symbol) != 0)
            continue;
        *site = (uint32_t)i;
        return FM_OK;
    }
    fm_site *made = fm_making_sites(of, 1, error);
    if (!made) return FM_E_NOMEM;
    *site = (uint32_t)of->site_count - 1;
    return fm_making_text(of, symbol, &made->symbol, error);
}

fm_status fm_making_uses_add(fm_making_uses *uses, uint32_t object, uint32_t site, uint32_t range,
                             uint64_t count, fm_error *error)
{
    fm_status status = FM_OK;
    FM_ASSERT(object < uses->of->object_count);
    if (range >= uses->of->edge_count && range != FM_RANGE_COLD && range != FM_RANGE_BEYOND)
        return fm_fail(error, FM_E_ARGUMENT, NULL, "a late reference is in the range %u of %zu", range,
                       uses->of->edge_count);
    if (site >= uses->of->site_count) {
        if (uses->unknown == FM_NONE) status = find_unknown_site(uses->of, &uses->unknown, error);
        site = uses->unknown;
    }
    if (status != FM_OK) return status;
    return fm_range_counts_add(&uses->counts, (fm_range_count){object, site, range, count}, error);
}

fm_status fm_making_uses_end(fm_making_uses *uses, fm_status status, fm_error *error)
{
    if (status == FM_OK) status = fm_range_counts_to_uses(&uses->counts, uses->of, error);
    fm_range_counts_clear(&uses->counts);
    return status;
}

/* ---- objects ---- */

fm_status fm_counted_object_describe(const fm_counted_object *from, size_t first_module, fm_attribution *of,
                                     fm_object *to, fm_error *error)
{
    to->kind = from->kind;
    switch (from->kind) {
    case FM_OBJECT_THREAD_LOCAL:
    case FM_OBJECT_GLOBAL:
        to->address = from->name ? from->address : 0;
        to->size = from->size;
        if (fm_making_text(of, from->name, &to->name, error) != FM_OK) return FM_E_NOMEM;
        /* fallthrough */
    case FM_OBJECT_MODULE:
        if (first_module + from->number < of->module_count)
            to->module = (uint32_t)first_module + from->number;
        break;
    case FM_OBJECT_STACK:
        to->thread = from->number;
        break;
    case FM_OBJECT_HEAP:  /* whose number means something to those who count only */
    case FM_OBJECT_ARRAY: /* of source code that was not run: never here */
    case FM_OBJECT_OTHER:
        break;
    }
    return FM_OK;
}

typedef struct ranked_object {
    uint64_t count;
    uint32_t object;
    const fm_counted_object *what;
} ranked_object;

static int compare_numbers(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* Then by what they are: their numbers depend on the order in which threads counted late references. */
static int largest_first(const void *a, const void *b)
{
    const ranked_object *x = a, *y = b;
    int order = compare_numbers(y->count, x->count);
    if (order == 0) order = compare_numbers(x->what->kind, y->what->kind);
    if (order == 0) order = compare_numbers(x->what->number, y->what->number);
    if (order == 0) order = compare_numbers(x->what->address, y->what->address);
    return order ? order : compare_numbers(x->object, y->object);
}

/* New objects, in order of how often they were counted; place[object] is where each went. */
static fm_status add_objects(const fm_object_map *map, fm_attribution *of, const uint32_t *paths,
                             size_t path_count, ranked_object *order, uint32_t *place, fm_error *error)
{
    size_t before = of->object_count, count = 0;
    for (size_t i = 0; i < map->object_count; i++)
        order[i] = (ranked_object){0, (uint32_t)i, &map->objects[i]};
    for (size_t i = 0; i < map->counts.slot_count; i++) {
        const fm_object_count *at = &map->counts.slots[i];
        if (at->key) order[fm_object_count_object(at)].count += at->count;
    }
    qsort(order, map->object_count, sizeof *order, largest_first);
    while (count < map->object_count && order[count].count > 0) count++;
    fm_object *objects = fm_making_objects(of, count, error);
    fm_status status = objects ? FM_OK : FM_E_NOMEM;
    for (size_t i = 0; i < count && status == FM_OK; i++) {
        const fm_counted_object *what = order[i].what;
        place[order[i].object] = (uint32_t)(before + i);
        status = fm_counted_object_describe(what, 0, of, &objects[i], error);
        if (what->kind != FM_OBJECT_HEAP) continue;
        objects[i].blocks = map->by_context[what->number].blocks;
        objects[i].size = map->by_context[what->number].bytes;
        if (what->number < path_count) objects[i].allocation = paths[what->number];
    }
    return status;
}

fm_status fm_object_map_describe(fm_object_map *map, fm_attribution *of, const uint32_t *sites,
                                 size_t site_count, const uint32_t *paths, size_t path_count, fm_error *error)
{
    ranked_object *order = fm_calloc(map->object_count, sizeof *order);
    uint32_t *place = fm_calloc(map->object_count, sizeof *place);
    fm_making_uses uses;
    fm_status status = fm_making_uses_begin(&uses, of, error);
    if (status == FM_OK && (!order || !place)) status = no_making_memory(error);
    if (status == FM_OK) status = add_objects(map, of, paths, path_count, order, place, error);
    for (size_t i = 0; i < map->counts.slot_count && status == FM_OK; i++) {
        const fm_object_count *at = &map->counts.slots[i];
        const uint32_t tag = fm_object_count_tag(at);
        if (at->key)
            status = fm_making_uses_add(&uses, place[fm_object_count_object(at)],
                                        tag < site_count ? sites[tag] : FM_NONE, fm_object_count_range(at),
                                        at->count, error);
    }
    free(order);
    free(place);
    return fm_making_uses_end(&uses, status, error);
}
