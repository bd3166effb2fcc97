/* SPDX-License-Identifier: Apache-2.0 */
/* sampled_code.c - see sampled_code.h. */
#define _GNU_SOURCE
#include "sample/sampled_code.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "process/proc_files.h"
#include "profile/attribution/attribution_grow.h"

#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    PAGE = 4096,
    MOST_HEADERS = 128,
    MOST_FILES = 1 << 16,
    MOST_MAPS = 1 << 18,
    MOST_DATA_FILES = 1 << 10
};

#define OUR_NAME "libfathom-sample.so"
/* Code that is in no file must not keep us reading where files are. */
static const double MAPS_SECONDS = 0.1, DATA_SECONDS = 0.5;

static fm_status no_memory(fm_error *error)
{
    return fm_fail(error, FM_E_NOMEM, NULL, "out of memory: no room for what is known of the program's code");
}

static fm_status file_named(fm_sampled_code *code, const char *path, bool with_code, uint32_t *index,
                            fm_error *error)
{
    for (size_t i = 0; i < code->file_count; i++) {
        *index = (uint32_t)i;
        if (strcmp(code->files[i].path, path) == 0) return FM_OK;
    }
    if (code->file_count >= MOST_FILES)
        return fm_fail(error, FM_E_UNSUPPORTED, NULL, "the program has more than %d files", MOST_FILES);
    if (fm_array_reserve((void **)&code->files, &code->file_capacity, code->file_count + 1,
                         sizeof *code->files) != 0)
        return no_memory(error);
    fm_sampled_file *file = &code->files[code->file_count];
    *file = (fm_sampled_file){.path = strdup(path)};
    if (!file->path) return no_memory(error);
    if (with_code) (void)fm_symbols_build_id(path, file->build_id); /* others are not opened: devices */
    const char *slash = strrchr(path, '/');
    file->ours = strcmp(slash ? slash + 1 : path, OUR_NAME) == 0;
    *index = (uint32_t)code->file_count++;
    return FM_OK;
}

fm_status fm_sampled_code_call(fm_sampled_code *code, const char *path, const char *called, fm_error *error)
{
    for (size_t i = 0; i < code->file_count; i++) {
        fm_sampled_file *file = &code->files[i];
        if (strcmp(file->path, path) != 0 || file->called) continue;
        file->called = strdup(called);
        if (!file->called) return no_memory(error);
    }
    return FM_OK;
}

/* What is loaded of a file. */
typedef struct loaded {
    size_t count;
    Elf64_Phdr headers[MOST_HEADERS];
} loaded;

static bool read_headers(const char *path, loaded *of)
{
    Elf64_Ehdr head;
    struct stat about;
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) return false;
    const bool done = fstat(file, &about) == 0 && S_ISREG(about.st_mode) &&
                      pread(file, &head, sizeof head, 0) == (ssize_t)sizeof head &&
                      memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 &&
                      head.e_phentsize == sizeof of->headers[0] && head.e_phnum <= MOST_HEADERS &&
                      pread(file, of->headers, head.e_phnum * sizeof of->headers[0], (off_t)head.e_phoff) ==
                          (ssize_t)(head.e_phnum * sizeof of->headers[0]);
    of->count = done ? head.e_phnum : 0;
    close(file);
    return done;
}

/* What is to be subtracted from an address at file offset `offset` that lies at `from`; false: nothing is
 * loaded from there. */
static bool find_bias(const loaded *of, uint64_t from, uint64_t offset, uint64_t *bias)
{
    for (size_t i = 0; i < of->count; i++) {
        const Elf64_Phdr *load = &of->headers[i];
        const uint64_t begin = load->p_offset & ~(uint64_t)(PAGE - 1);
        if (load->p_type != PT_LOAD || offset < begin || offset >= load->p_offset + load->p_filesz) continue;
        *bias = from - offset - (load->p_vaddr - load->p_offset);
        return true;
    }
    return false;
}

static fm_status add_one(fm_sampled_map **list, size_t *count, size_t *capacity, fm_sampled_map map,
                         fm_error *error)
{
    if (fm_array_reserve((void **)list, capacity, *count + 1, sizeof map) != 0) return no_memory(error);
    (*list)[(*count)++] = map;
    return FM_OK;
}

/* The data of a file, where that lies at `bias`. */
static fm_status add_data(fm_sampled_maps *maps, fm_sampled_file *file, const loaded *of, fm_sampled_map map,
                          fm_error *error)
{
    fm_status status = FM_OK;
    for (size_t i = 0; i < maps->data_count; i++)
        if (maps->data[i].file == map.file && maps->data[i].bias == map.bias) return FM_OK;
    for (size_t i = 0; i < of->count && status == FM_OK; i++) {
        const Elf64_Phdr *load = &of->headers[i];
        if (load->p_type == PT_TLS) {
            file->local_bytes = load->p_memsz;
            file->local_align = load->p_align;
        }
        if (load->p_type != PT_LOAD || !(load->p_flags & PF_W)) continue;
        map.from = map.bias + load->p_vaddr;
        map.to = map.from + load->p_memsz;
        if (map.to > map.from)
            status = add_one(&maps->data, &maps->data_count, &maps->data_capacity, map, error);
    }
    return status;
}

static fm_status add_map(fm_sampled_maps *maps, fm_sampled_code *code, uint64_t from, uint64_t to,
                         uint64_t offset, const char *path, fm_error *error)
{
    fm_sampled_map map = {.from = from, .to = to};
    loaded of;
    if (!read_headers(path, &of) || !find_bias(&of, from, offset, &map.bias)) return FM_OK;
    fm_status status = file_named(code, path, true, &map.file, error);
    if (status != FM_OK) return status;
    code->files[map.file].bias = map.bias;
    status = add_one(&maps->maps, &maps->count, &maps->capacity, map, error);
    if (status == FM_OK) status = add_data(maps, &code->files[map.file], &of, map, error);
    return status;
}

/* A file without code that is mapped: a table, a data base. */
static fm_status add_data_file(fm_sampled_maps *maps, fm_sampled_code *code, const fm_proc_map *one,
                               fm_error *error)
{
    const bool nobodys =
        strncmp(one->path, "/dev/zero", 9) == 0 || strncmp(one->path, "/memfd:fathom-", 14) == 0;
    fm_sampled_map map = {.from = one->from, .to = one->to, .bias = one->from - one->offset, .whole = true};
    for (size_t i = 0; i < maps->count; i++) /* of a file with code it is known what is data */
        if (strcmp(code->files[maps->maps[i].file].path, one->path) == 0) return FM_OK;
    if (nobodys || maps->data_files >= MOST_DATA_FILES) return FM_OK;
    maps->data_files++;
    const fm_status status = file_named(code, one->path, false, &map.file, error);
    if (status != FM_OK) return status;
    return add_one(&maps->data, &maps->data_count, &maps->data_capacity, map, error);
}

static fm_status read_data(fm_sampled_maps *maps, fm_sampled_code *code, uint32_t pid, fm_error *error)
{
    fm_proc_maps told;
    fm_proc_map one;
    fm_status status = FM_OK;
    if (!fm_proc_maps_open(&told, pid)) return FM_OK;
    while (status == FM_OK && fm_proc_maps_next(&told, &one)) {
        if (strcmp(one.path, "[heap]") == 0) {
            maps->heap_from = one.from;
            maps->heap_to = one.to;
        }
        if (one.path[0] == '/' && one.access[0] == 'r' && one.access[2] != 'x')
            status = add_data_file(maps, code, &one, error);
    }
    fm_proc_maps_close(&told);
    return status;
}

fm_status fm_sampled_maps_read(fm_sampled_maps *maps, fm_sampled_code *code, uint32_t pid, fm_error *error)
{
    fm_proc_maps told;
    fm_proc_map one;
    fm_status status = FM_OK;
    fm_sampled_maps read = {0};
    if (!fm_proc_maps_open(&told, pid)) return FM_OK;
    while (status == FM_OK && read.count < MOST_MAPS && fm_proc_maps_next(&told, &one))
        if (one.path[0] == '/' && one.access[2] == 'x')
            status = add_map(&read, code, one.from, one.to, one.offset, one.path, error);
    fm_proc_maps_close(&told);
    if (status == FM_OK && read.count > 0) status = read_data(&read, code, pid, error);
    if (status != FM_OK || read.count == 0) {
        fm_sampled_maps_free(&read);
        return status;
    }
    read.reading = maps->reading + 1;
    fm_sampled_maps_free(maps);
    *maps = read;
    return FM_OK;
}

void fm_sampled_maps_free(fm_sampled_maps *maps)
{
    free(maps->maps);
    free(maps->data);
    *maps = (fm_sampled_maps){0};
}

const fm_sampled_map *fm_sampled_map_at(const fm_sampled_maps *maps, uint64_t address)
{
    size_t low = 0, high = maps->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (maps->maps[middle].to <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < maps->count && maps->maps[low].from <= address ? &maps->maps[low] : NULL;
}

fm_status fm_sampled_code_map(fm_sample_code_of *process, fm_sampled_code *code, uint64_t address,
                              const fm_sampled_map **found, fm_error *error)
{
    *found = fm_sampled_map_at(&process->maps, address);
    if (*found || !__atomic_load_n(&process->alive, __ATOMIC_RELAXED) || fm_now() < process->maps_next)
        return FM_OK;
    process->maps_next = fm_now() + MAPS_SECONDS;
    fm_status status = fm_sampled_maps_read(&process->maps, code, process->pid, error);
    *found = fm_sampled_map_at(&process->maps, address);
    return status;
}

fm_status fm_sampled_code_look_for_data(fm_sample_code_of *process, fm_sampled_code *code, fm_error *error)
{
    if (!__atomic_load_n(&process->alive, __ATOMIC_RELAXED) || fm_now() < process->data_next) return FM_OK;
    process->data_next = fm_now() + DATA_SECONDS;
    return fm_sampled_maps_read(&process->maps, code, process->pid, error);
}

/* The number of an entry. */
static uint32_t put(fm_intern_table *table, uint64_t a, uint32_t b)
{
    const fm_intern_entry *entry = fm_intern_table_put(table, a, b, NULL);
    return entry ? (uint32_t)(entry - table->entries) + 1 : 0;
}

fm_status fm_sampled_code_site(fm_sample_code_of *process, fm_sampled_code *code, uint64_t address,
                               uint32_t *site, fm_error *error)
{
    const size_t slot = (address ^ address >> 12) % (sizeof process->recent / sizeof process->recent[0]);
    const fm_sampled_map *map;
    *site = process->recent[slot].site;
    if (*site && process->recent[slot].address == address) return FM_OK;
    fm_status status = fm_sampled_code_map(process, code, address, &map, error);
    if (status != FM_OK) return status;
    *site = put(&code->sites, map ? address - map->bias : address, map ? map->file + 1 : 0);
    process->recent[slot].address = address;
    process->recent[slot].site = *site;
    return FM_OK;
}

uint32_t fm_sampled_code_path(fm_sampled_code *code, uint32_t parent, uint32_t call)
{
    return call ? put(&code->paths, call, parent) : 0;
}

uint32_t fm_sampled_code_tag(fm_sampled_code *code, uint32_t site, uint32_t path, uint32_t object)
{
    const uint32_t place = site ? put(&code->places, site, path) : 0;
    if (!place) return 0;
    bool fresh;
    const fm_intern_entry *entry = fm_intern_table_put(&code->tags, place, object, &fresh);
    if (!entry || fm_array_reserve((void **)&code->uses, &code->use_capacity, code->tags.count,
                                   sizeof *code->uses) != 0)
        return 0;
    const uint32_t tag = (uint32_t)(entry - code->tags.entries) + 1;
    if (fresh) code->uses[tag - 1] = 0;
    return tag;
}

uint32_t fm_sampled_code_object(const fm_sampled_code *code, uint32_t tag)
{
    return tag && tag <= code->tags.count ? code->tags.entries[tag - 1].b : 0;
}

static fm_status describe_files(const fm_sampled_code *code, fm_attribution *attribution, fm_error *error)
{
    fm_module *modules = fm_attribution_grow(attribution, attribution->modules, attribution->module_count,
                                             code->file_count, sizeof *modules);
    if (!modules) return no_memory(error);
    for (size_t i = 0; i < code->file_count; i++) {
        fm_module *module = &modules[attribution->module_count + i];
        const fm_sampled_file *file = &code->files[i];
        module->path = fm_attribution_intern(attribution, file->called ? file->called : file->path);
        if (code->files[i].build_id[0])
            module->build_id = fm_attribution_intern(attribution, code->files[i].build_id);
        module->bias = code->files[i].bias;
        if (!module->path || (code->files[i].build_id[0] && !module->build_id)) return no_memory(error);
    }
    attribution->modules = modules;
    attribution->module_count += code->file_count;
    return FM_OK;
}

static fm_site site_of(const fm_sampled_code *code, uint64_t site, size_t first_file)
{
    const fm_intern_entry *entry = &code->sites.entries[site - 1];
    return (fm_site){
        .address = entry->a,
        .module = entry->b ? (uint32_t)(first_file + entry->b - 1) : FM_NONE,
        .path = FM_NONE,
    };
}

/* Places, and behind them the calls of paths: a site for each path. */
static fm_status describe_places(const fm_sampled_code *code, fm_attribution *attribution, size_t first_file,
                                 fm_error *error)
{
    const size_t first = attribution->site_count, first_path = attribution->path_count;
    const size_t places = code->places.count, paths = code->paths.count;
    fm_site *sites =
        fm_attribution_grow(attribution, attribution->sites, first, places + paths, sizeof *sites);
    fm_call_path *calls =
        fm_attribution_grow(attribution, attribution->paths, first_path, paths, sizeof *calls);
    if (!sites || !calls) return no_memory(error);
    for (size_t i = 0; i < places; i++) {
        const fm_intern_entry *place = &code->places.entries[i];
        sites[first + i] = site_of(code, place->a, first_file);
        if (place->b) sites[first + i].path = (uint32_t)(first_path + place->b - 1);
    }
    for (size_t i = 0; i < paths; i++) {
        const fm_intern_entry *path = &code->paths.entries[i];
        sites[first + places + i] = site_of(code, path->a, first_file);
        calls[first_path + i] =
            (fm_call_path){.parent = path->b ? (uint32_t)(first_path + path->b - 1) : FM_NONE,
                           .call = (uint32_t)(first + places + i)};
    }
    attribution->sites = sites;
    attribution->site_count = first + places + paths;
    attribution->paths = calls;
    attribution->path_count = first_path + paths;
    return FM_OK;
}

fm_status fm_sampled_code_describe(const fm_sampled_code *code, fm_attribution *attribution,
                                   const uint32_t **map, size_t *map_count, fm_error *error)
{
    const size_t first_file = attribution->module_count, first = attribution->site_count;
    fm_status status = describe_files(code, attribution, error);
    if (status == FM_OK) status = describe_places(code, attribution, first_file, error);
    if (status != FM_OK) return status;
    uint32_t *index = fm_attribution_allocate(attribution, code->tags.count + 1, sizeof *index);
    if (!index) return no_memory(error);
    index[0] = FM_NONE;
    for (size_t i = 0; i < code->tags.count; i++)
        index[i + 1] = (uint32_t)(first + code->tags.entries[i].a - 1);
    *map = index;
    *map_count = code->tags.count + 1;
    return FM_OK;
}

void fm_sampled_code_free(fm_sampled_code *code)
{
    for (size_t i = 0; i < code->file_count; i++) {
        free(code->files[i].path);
        free(code->files[i].called);
        fm_unwinder_close(code->files[i].unwinder);
    }
    free(code->files);
    fm_intern_table_free(&code->sites);
    fm_intern_table_free(&code->paths);
    fm_intern_table_free(&code->places);
    fm_intern_table_free(&code->tags);
    free(code->uses);
    *code = (fm_sampled_code){0};
}
