/* SPDX-License-Identifier: Apache-2.0 */
/*
 * describe.c - what a collection knows besides references: processes, modules, sites, call paths, objects,
 * and notes for people.
 */
#define _GNU_SOURCE
#include "collect/collection.h"

#include "base/error.h"
#include "base/notes.h"
#include "base/sized.h"
#include "process/program_file.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* ---- processes and the state ---- */

size_t fm_collection_processes(const fm_collection *collection)
{
    return collection->process_count;
}

/* The program that a process became by exec. */
static const char *became(const fm_process *process)
{
    const fm_process *next = process->successor;
    if (next && next->program) return next->called ? next->called : next->program;
    return process->watched.replaced ? process->executed : NULL;
}

static fm_collected_process describe_process(const fm_process *process)
{
    fm_collected_process described = {
        .pid = process->watched.pid,
        .parent = process->parent,
        .program = process->called ? process->called : process->program,
        .arguments = process->arguments,
        .more_arguments = process->more_arguments,
        .by_exec = process->predecessor,
        .became = became(process),
        .threads = (uint32_t)process->threads.seen,
        .references = process->references,
        .left_out = process->left_out,
        .ended = process->watched.ended,
        .given_up = process->gave_up && !process->watched.ended,
        .complete = process->judged && process->complete,
        .lost = process->lost,
        .what_missing = process->missing,
    };
    if (process->watched.ended && WIFSIGNALED(process->watched.wait_status))
        described.signal = WTERMSIG(process->watched.wait_status);
    else if (process->watched.ended)
        described.exit_code = WEXITSTATUS(process->watched.wait_status);
    if (!described.complete && !described.what_missing) described.what_missing = "its end was not seen";
    return described;
}

void fm_collection_process_sized(size_t process_size, const fm_collection *collection, size_t index,
                                 fm_collected_process *process)
{
    const fm_collected_process known = index < collection->process_count
                                           ? describe_process(collection->processes[index])
                                           : (fm_collected_process){.parent = FM_NONE};
    fm_sized_copy(process, process_size, &known, sizeof known);
}

void fm_collection_state_get_sized(size_t state_size, const fm_collection *collection,
                                   fm_collection_state *state)
{
    const fm_collection_state now = {
        .collector = collection->collector,
        .collector_version = collection->version,
        .references = collection->delivered,
        .limit_reached = collection->limit_reached,
        .interrupted = collection->watch.interrupted,
        .seconds = fm_now() - collection->watch.started,
        .notes = collection->notes ? collection->notes : "",
    };
    fm_sized_copy(state, state_size, &now, sizeof now);
}

void fm_collection_note(fm_collection *collection, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fm_notes_add(&collection->notes, format, arguments);
    va_end(arguments);
}

/* Is the name among these, with ", " between them? */
static bool is_listed(const char *names, const char *name)
{
    const size_t length = strlen(name);
    for (const char *end = names; *end; names = end + 2) {
        end = strstr(names, ", ");
        if (!end) end = names + strlen(names);
        if ((size_t)(end - names) == length && memcmp(names, name, length) == 0) return true;
    }
    return false;
}

static const char *name_of(const fm_code_file *file)
{
    const char *slash = strrchr(file->path, '/');
    return slash ? slash + 1 : file->path;
}

/* A program that is one file has its libraries in it, libc among them. */
static void note_static(fm_collection *collection, const fm_code *code)
{
    const fm_code_file *program = NULL;
    for (size_t f = 0; f < code->file_count; f++) {
        const fm_code_file *file = &code->files[f];
        if (file->instrumented && file->program)
            program = file;
        else if (file->executable)
            return;
    }
    if (program)
        fm_collection_note(collection,
                           "not seen, because not built by `fathom cc`: libc and other libraries that are "
                           "linked into %s statically",
                           name_of(program));
}

static bool is_hooked_early(const fm_code_file *file)
{
    if (!file->instrumented) return false;
    fm_program_file program = {0};
    snprintf(program.path, sizeof program.path, "%s", file->path);
    return fm_program_look(&program, NULL) == FM_OK && program.hooked_early;
}

/* Files whose code was not compiled by fathom cc: their own references are not seen. */
void fm_collection_note_unseen(fm_collection *collection)
{
    if (collection->collector != FM_COLLECTOR_COMPILER) return;
    char names[600] = "";
    size_t used = 0;
    char early[128] = "";
    for (size_t i = 0; i < collection->process_count; i++) {
        const fm_code *code = &collection->processes[i]->code;
        note_static(collection, code);
        for (size_t f = 0; f < code->file_count; f++) {
            const fm_code_file *file = &code->files[f];
            const char *name = name_of(file);
            if (!early[0] && is_hooked_early(file)) snprintf(early, sizeof early, "%s", name);
            if (file->instrumented || !file->executable || name[0] == '[' || name[0] == '\0') continue;
            char entry[256];
            snprintf(entry, sizeof entry, "%s%s", used ? ", " : "", name);
            if (is_listed(names, name) || used + strlen(entry) + 8 > sizeof names) continue;
            used += (size_t)snprintf(names + used, sizeof names - used, "%s", entry);
        }
    }
    if (used) fm_collection_note(collection, "not seen, because not built by `fathom cc`: %s", names);
    if (early[0])
        fm_collection_note(collection,
                           "%s: built by `fathom cc` without its plug-in for this gcc: loops are not "
                           "vectorised and have more references than in an ordinary build; constant tables, "
                           "and local arrays of which gcc knows every index, are not seen",
                           early);
}

/* ---- modules ---- */

/* The program is called as it was started. */
static const char *path_of(const fm_process *process, const fm_code_file *file)
{
    return process->called && strcmp(file->path, process->program) == 0 ? process->called : file->path;
}

size_t fm_collection_modules(const fm_collection *collection, size_t process, fm_trace_module *modules,
                             size_t capacity)
{
    if (process >= collection->process_count) return 0;
    const fm_process *from = collection->processes[process];
    const fm_code *code = &from->code;
    for (size_t i = 0; i < code->map_count && i < capacity; i++) {
        const fm_code_map *map = &code->maps[i];
        const fm_code_file *file = &code->files[map->file];
        modules[i] = (fm_trace_module){
            .path = path_of(from, file),
            .build_id = file->build_id[0] ? file->build_id : NULL,
            .from = map->from,
            .to = map->to,
            .bias = map->bias,
        };
    }
    return code->map_count;
}

/* ---- objects ---- */

fm_status fm_collection_count_late_sized(size_t given_size, fm_collection *collection,
                                         const fm_collected *given, const fm_late *late, size_t count,
                                         fm_error *error)
{
    FM_REQUIRE(collection, error);
    fm_collected collected;
    fm_sized_copy(&collected, sizeof collected, given, given_size);
    if (collected.process >= collection->process_count)
        return fm_fail(error, FM_E_ARGUMENT, NULL, "there is no process number %u", collected.process);
    const fm_process *process = collection->processes[collected.process];
    if (!process->objects) return FM_OK;
    return fm_object_map_count(process->objects, collected.begin, collected.batch.address, late, count,
                               error);
}

/* ---- attribution ---- */

/* Where the parts of a description begin in the attribution. */
typedef struct places {
    fm_attribution *attribution;
    size_t sites, calls, heap_calls; /* first site of each kind */
    size_t call_paths, heap_paths;   /* first path */
} places;

static fm_status no_memory(fm_error *error)
{
    return fm_fail(error, FM_E_NOMEM, NULL, "out of memory: no room to describe the program's code");
}

/* Grows an array of the attribution by so many entries, which are zero. Returns the first new one. */
static void *extend(fm_attribution *attribution, void **array, size_t count, size_t more, size_t size)
{
    char *grown = fm_attribution_allocate(attribution, count + more, size);
    if (!grown) return NULL;
    if (count) memcpy(grown, *array, count * size);
    *array = grown;
    return grown + count * size;
}

static fm_status describe_modules(fm_attribution *attribution, const fm_process *process, bool compiler,
                                  fm_error *error)
{
    const fm_code *code = &process->code;
    fm_module *module = extend(attribution, (void **)&attribution->modules, attribution->module_count,
                               code->file_count, sizeof *module);
    if (!module) return no_memory(error);
    for (size_t i = 0; i < code->file_count; i++, module++) {
        const fm_code_file *file = &code->files[i];
        module->path = fm_attribution_intern(attribution, path_of(process, file));
        if (!module->path) return no_memory(error);
        if (file->build_id[0]) {
            module->build_id = fm_attribution_intern(attribution, file->build_id);
            if (!module->build_id) return no_memory(error);
        }
        module->bias = file->bias;
        module->unseen = compiler && !file->instrumented;
    }
    attribution->module_count += code->file_count;
    return FM_OK;
}

static void fill_site(fm_site *site, const fm_intern_entry *place, size_t modules)
{
    site->address = place->a;
    site->module = place->b ? (uint32_t)(modules + place->b - 1) : FM_NONE;
    site->path = FM_NONE;
}

static void fill_paths(fm_call_path *path, const fm_call_tree *tree, size_t first_path, size_t first_site)
{
    for (size_t i = 1; i < tree->count; i++, path++) {
        const fm_call_node *node = &tree->nodes[i];
        path->parent = node->parent ? (uint32_t)(first_path + node->parent - 1) : FM_NONE;
        path->call = (uint32_t)(first_site + node->call);
    }
}

static size_t path_count(const fm_call_tree *tree)
{
    return tree->count ? tree->count - 1 : 0; /* the root is none */
}

static fm_status describe_sites(places *at, const fm_code *code, bool paths, size_t modules, fm_error *error)
{
    fm_attribution *attribution = at->attribution;
    size_t tags = paths ? code->tags.count : code->sites.count;
    size_t all = tags + code->calls.places.count + code->heap.places.count;
    at->sites = attribution->site_count;
    at->calls = at->sites + tags;
    at->heap_calls = at->calls + code->calls.places.count;
    at->call_paths = attribution->path_count;
    at->heap_paths = at->call_paths + path_count(&code->calls);
    size_t all_paths = path_count(&code->calls) + path_count(&code->heap);
    fm_site *site =
        extend(attribution, (void **)&attribution->sites, attribution->site_count, all, sizeof *site);
    fm_call_path *path =
        extend(attribution, (void **)&attribution->paths, attribution->path_count, all_paths, sizeof *path);
    if (!site || !path) return no_memory(error);
    for (size_t i = 0; i < tags; i++, site++) {
        const fm_intern_entry *tag = paths ? &code->tags.entries[i] : NULL;
        fill_site(site, &code->sites.entries[tag ? tag->a - 1 : i], modules);
        if (tag && tag->b) site->path = (uint32_t)(at->call_paths + tag->b - 1);
    }
    for (size_t i = 0; i < code->calls.places.count; i++)
        fill_site(site++, &code->calls.places.entries[i], modules);
    for (size_t i = 0; i < code->heap.places.count; i++)
        fill_site(site++, &code->heap.places.entries[i], modules);
    attribution->site_count += all;
    fill_paths(path, &code->calls, at->call_paths, at->calls);
    fill_paths(path + path_count(&code->calls), &code->heap, at->heap_paths, at->heap_calls);
    attribution->path_count += all_paths;
    return FM_OK;
}

fm_status fm_collection_describe(fm_collection *collection, size_t process, fm_attribution *attribution,
                                 const uint32_t **map, size_t *map_count, fm_error *error)
{
    *map = NULL;
    *map_count = 0;
    FM_REQUIRE(collection, error);
    FM_REQUIRE(attribution, error);
    if (process >= collection->process_count)
        return fm_fail(error, FM_E_ARGUMENT, NULL, "there is no process %zu", process);
    fm_process *from = collection->processes[process];
    const fm_code *code = &from->code;
    bool paths = collection->options.call_paths;
    size_t modules = attribution->module_count, tags = paths ? code->tags.count : code->sites.count;
    if (modules > 0 && from->objects)
        return fm_fail(error, FM_E_ARGUMENT, NULL, "the attribution describes another process already");
    places at = {.attribution = attribution};
    fm_status status =
        describe_modules(attribution, from, collection->collector == FM_COLLECTOR_COMPILER, error);
    if (status == FM_OK) status = describe_sites(&at, code, paths, modules, error);
    if (status != FM_OK) return status;
    uint32_t *index = fm_attribution_allocate(attribution, tags + 1, sizeof *index);
    if (!index) return no_memory(error);
    index[0] = FM_NONE;
    for (size_t i = 0; i < tags; i++) index[i + 1] = (uint32_t)(at.sites + i);
    *map = index;
    *map_count = tags + 1;
    if (!from->objects) return FM_OK;
    size_t contexts = code->heap.count ? code->heap.count : 1; /* nodes; the root: not known */
    uint32_t *allocations = calloc(contexts, sizeof *allocations);
    if (!allocations) return no_memory(error);
    allocations[0] = FM_NONE;
    for (size_t i = 1; i < contexts; i++) allocations[i] = (uint32_t)(at.heap_paths + i - 1);
    status =
        fm_object_map_describe(from->objects, attribution, index, tags + 1, allocations, contexts, error);
    free(allocations);
    return status;
}
