/* SPDX-License-Identifier: Apache-2.0 */
/* sampled_code.c - see sampled_code.h. */
#define _GNU_SOURCE
#include "sample/sampled_code.h"

#include "base/error.h"
#include "base/memory.h"
#include "profile/attribution_grow.h"

#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PAGE = 4096, MOST_HEADERS = 128, MOST_FILES = 1 << 16, MOST_MAPS = 1 << 18 };

static fm_status no_memory(fm_error *error)
{
    return fm_fail(error, FM_E_NOMEM, NULL, "out of memory: no room for what is known of the program's code");
}

static fm_status file_named(fm_sampled_code *code, const char *path, uint32_t *index, fm_error *error)
{
    for (size_t i = 0; i < code->file_count; i++) {
        *index = (uint32_t)i;
        if (strcmp(code->files[i].path, path) == 0) return FM_OK;
    }
    if (code->file_count >= MOST_FILES)
        return fm_fail(error, FM_E_UNSUPPORTED, NULL, "the program has more than %d files with code",
                       MOST_FILES);
    if (fm_array_reserve((void **)&code->files, &code->file_capacity, code->file_count + 1,
                         sizeof *code->files) != 0)
        return no_memory(error);
    fm_sampled_file *file = &code->files[code->file_count];
    *file = (fm_sampled_file){.path = strdup(path)};
    if (!file->path) return no_memory(error);
    (void)fm_symbols_build_id(path, file->build_id);
    *index = (uint32_t)code->file_count++;
    return FM_OK;
}

/* What is to be subtracted from an address at file offset `offset` that lies at `from`; false: it is no ELF
 * file, or does not load anything from there. */
static bool find_bias(const char *path, uint64_t from, uint64_t offset, uint64_t *bias)
{
    Elf64_Ehdr head;
    Elf64_Phdr load[MOST_HEADERS];
    struct stat about;
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) return false;
    bool found = false;
    if (fstat(file, &about) == 0 && S_ISREG(about.st_mode) &&
        pread(file, &head, sizeof head, 0) == (ssize_t)sizeof head &&
        memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 && head.e_phentsize == sizeof load[0] &&
        head.e_phnum <= MOST_HEADERS &&
        pread(file, load, head.e_phnum * sizeof load[0], (off_t)head.e_phoff) ==
            (ssize_t)(head.e_phnum * sizeof load[0]))
        for (size_t i = 0; i < head.e_phnum && !found; i++) {
            const uint64_t begin = load[i].p_offset & ~(uint64_t)(PAGE - 1);
            found =
                load[i].p_type == PT_LOAD && offset >= begin && offset < load[i].p_offset + load[i].p_filesz;
            if (found) *bias = from - offset - (load[i].p_vaddr - load[i].p_offset);
        }
    close(file);
    return found;
}

static fm_status add_map(fm_sampled_maps *maps, fm_sampled_code *code, uint64_t from, uint64_t to,
                         uint64_t offset, const char *path, fm_error *error)
{
    fm_sampled_map map = {.from = from, .to = to};
    if (!find_bias(path, from, offset, &map.bias)) return FM_OK;
    fm_status status = file_named(code, path, &map.file, error);
    if (status != FM_OK) return status;
    code->files[map.file].bias = map.bias;
    if (fm_array_reserve((void **)&maps->maps, &maps->capacity, maps->count + 1, sizeof map) != 0)
        return no_memory(error);
    maps->maps[maps->count++] = map;
    return FM_OK;
}

fm_status fm_sampled_maps_read(fm_sampled_maps *maps, fm_sampled_code *code, uint32_t pid, fm_error *error)
{
    char name[64], *line = NULL;
    size_t room = 0;
    fm_status status = FM_OK;
    fm_sampled_maps read = {0};
    snprintf(name, sizeof name, "/proc/%" PRIu32 "/maps", pid);
    FILE *file = fopen(name, "re");
    if (!file) return FM_OK;
    while (status == FM_OK && read.count < MOST_MAPS && getline(&line, &room, file) > 0) {
        uint64_t from, to, offset;
        char access[5];
        int path = 0;
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %n", &from, &to, access, &offset,
                   &path) < 4 ||
            path == 0 || line[path] != '/' || access[2] != 'x')
            continue;
        line[strcspn(line, "\n")] = '\0';
        status = add_map(&read, code, from, to, offset, line + path, error);
    }
    free(line);
    fclose(file);
    if (status != FM_OK || read.count == 0) {
        free(read.maps);
        return status;
    }
    free(maps->maps);
    *maps = read;
    return FM_OK;
}

void fm_sampled_maps_free(fm_sampled_maps *maps)
{
    free(maps->maps);
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

uint32_t fm_sampled_code_tag(fm_sampled_code *code, const fm_sampled_map *map, uint64_t address)
{
    bool fresh;
    const fm_intern_entry *entry = fm_intern_table_put(&code->sites, map ? address - map->bias : address,
                                                       map ? map->file + 1 : 0, &fresh);
    return entry ? (uint32_t)(entry - code->sites.entries) + 1 : 0;
}

static fm_status describe_files(const fm_sampled_code *code, fm_attribution *attribution, fm_error *error)
{
    fm_module *modules = fm_attribution_grow(attribution, attribution->modules, attribution->module_count,
                                             code->file_count, sizeof *modules);
    if (!modules) return no_memory(error);
    for (size_t i = 0; i < code->file_count; i++) {
        fm_module *module = &modules[attribution->module_count + i];
        module->path = fm_attribution_intern(attribution, code->files[i].path);
        if (code->files[i].build_id[0])
            module->build_id = fm_attribution_intern(attribution, code->files[i].build_id);
        module->bias = code->files[i].bias;
        if (!module->path || (code->files[i].build_id[0] && !module->build_id)) return no_memory(error);
    }
    attribution->modules = modules;
    attribution->module_count += code->file_count;
    return FM_OK;
}

fm_status fm_sampled_code_describe(const fm_sampled_code *code, fm_attribution *attribution,
                                   const uint32_t **map, size_t *map_count, fm_error *error)
{
    const size_t first_file = attribution->module_count, first = attribution->site_count;
    const size_t count = code->sites.count;
    fm_status status = describe_files(code, attribution, error);
    if (status != FM_OK) return status;
    fm_site *sites = fm_attribution_grow(attribution, attribution->sites, first, count, sizeof *sites);
    uint32_t *index = fm_attribution_allocate(attribution, count + 1, sizeof *index);
    if (!sites || !index) return no_memory(error);
    index[0] = FM_NONE;
    for (size_t i = 0; i < count; i++) {
        const fm_intern_entry *entry = &code->sites.entries[i];
        sites[first + i] = (fm_site){
            .address = entry->a,
            .module = entry->b ? (uint32_t)(first_file + entry->b - 1) : FM_NONE,
            .path = FM_NONE,
        };
        index[i + 1] = (uint32_t)(first + i);
    }
    attribution->sites = sites;
    attribution->site_count = first + count;
    *map = index;
    *map_count = count + 1;
    return FM_OK;
}

void fm_sampled_code_free(fm_sampled_code *code)
{
    for (size_t i = 0; i < code->file_count; i++) free(code->files[i].path);
    free(code->files);
    fm_intern_table_free(&code->sites);
    *code = (fm_sampled_code){0};
}
