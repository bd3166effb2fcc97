/* SPDX-License-Identifier: Apache-2.0 */
/* sampled_code.c - see sampled_program.h. */
#define _GNU_SOURCE
#include "sample/sampled_program.h"

#include "base/crew.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/plain_text.h"
#include "process/program_file.h"

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

static fm_status no_code_memory(fm_error *error)
{
    return fm_fail(error, FM_E_NOMEM, NULL, "out of memory: no room for what is known of the program's code");
}

static fm_status file_named(fm_sampled_code *code, const char *path, bool with_code, uint32_t *index,
                            fm_error *error)
{
    /* Others are not opened: devices. */
    const fm_status status = fm_program_file_named(&code->program, path, with_code, index, error);
    if (status != FM_OK) return status;
    if (code->program.file_count > MOST_FILES)
        return fm_fail(error, FM_E_UNSUPPORTED, NULL, "the program has more than %d files", MOST_FILES);
    code->program.files[*index].ours = strcmp(fm_base_name(path), OUR_NAME) == 0;
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

/* The data of a file, where that lies at `bias`. */
static fm_status add_data(fm_code_maps *data, fm_code_file *file, const loaded *of, fm_code_map map,
                          fm_error *error)
{
    for (size_t i = 0; i < data->count; i++)
        if (data->list[i].file == map.file && data->list[i].bias == map.bias) return FM_OK;
    for (size_t i = 0; i < of->count; i++) {
        const Elf64_Phdr *load = &of->headers[i];
        if (load->p_type == PT_TLS) {
            file->local_bytes = load->p_memsz;
            file->local_align = load->p_align;
        }
        if (load->p_type != PT_LOAD || !(load->p_flags & PF_W)) continue;
        map.from = map.bias + load->p_vaddr;
        map.to = map.from + load->p_memsz;
        if (map.to > map.from && !fm_code_maps_add(data, map)) return no_code_memory(error);
    }
    return FM_OK;
}

static fm_status add_code_map(fm_sampled_maps *maps, fm_sampled_code *code, uint64_t from, uint64_t to,
                              uint64_t offset, const char *path, fm_error *error)
{
    fm_code_map map = {.from = from, .to = to};
    loaded of;
    if (!read_headers(path, &of) || !find_bias(&of, from, offset, &map.bias)) return FM_OK;
    fm_status status = file_named(code, path, true, &map.file, error);
    if (status != FM_OK) return status;
    code->program.files[map.file].bias = map.bias;
    if (!fm_code_maps_add(&maps->code, map)) return no_code_memory(error);
    return add_data(&maps->data, &code->program.files[map.file], &of, map, error);
}

/* A file without code that is mapped: a table, a data base. */
static fm_status add_data_file(fm_sampled_maps *maps, fm_sampled_code *code, const fm_proc_map *one,
                               fm_error *error)
{
    const bool nobodys =
        strncmp(one->path, "/dev/zero", 9) == 0 || strncmp(one->path, "/memfd:fathom-", 14) == 0;
    fm_code_map map = {.from = one->from, .to = one->to, .bias = one->from - one->offset, .whole = true};
    for (size_t i = 0; i < maps->code.count; i++) /* of a file with code it is known what is data */
        if (strcmp(code->program.files[maps->code.list[i].file].path, one->path) == 0) return FM_OK;
    if (nobodys || maps->data_files >= MOST_DATA_FILES) return FM_OK;
    maps->data_files++;
    const fm_status status = file_named(code, one->path, false, &map.file, error);
    if (status != FM_OK) return status;
    return fm_code_maps_add(&maps->data, map) ? FM_OK : no_code_memory(error);
}

static fm_status read_data_maps(fm_sampled_maps *maps, fm_sampled_code *code, uint32_t pid, fm_error *error)
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
    while (status == FM_OK && read.code.count < MOST_MAPS && fm_proc_maps_next(&told, &one))
        if (one.path[0] == '/' && one.access[2] == 'x')
            status = add_code_map(&read, code, one.from, one.to, one.offset, one.path, error);
    fm_proc_maps_close(&told);
    if (status == FM_OK && read.code.count > 0) status = read_data_maps(&read, code, pid, error);
    if (status != FM_OK || read.code.count == 0) {
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
    fm_code_maps_free(&maps->code);
    fm_code_maps_free(&maps->data);
    *maps = (fm_sampled_maps){0};
}

fm_status fm_sampled_code_map(fm_sample_code_of *process, fm_sampled_code *code, uint64_t address,
                              const fm_code_map **found, fm_error *error)
{
    *found = fm_code_map_at(&process->maps.code, address);
    if (*found || !__atomic_load_n(&process->alive, __ATOMIC_RELAXED) || fm_now() < process->maps_next)
        return FM_OK;
    process->maps_next = fm_now() + MAPS_SECONDS;
    fm_status status = fm_sampled_maps_read(&process->maps, code, process->pid, error);
    *found = fm_code_map_at(&process->maps.code, address);
    return status;
}

fm_status fm_sampled_code_look_for_data(fm_sample_code_of *process, fm_sampled_code *code, fm_error *error)
{
    if (!__atomic_load_n(&process->alive, __ATOMIC_RELAXED) || fm_now() < process->data_next) return FM_OK;
    process->data_next = fm_now() + DATA_SECONDS;
    return fm_sampled_maps_read(&process->maps, code, process->pid, error);
}

fm_status fm_sampled_code_site(fm_sample_code_of *process, fm_sampled_code *code, uint64_t address,
                               uint32_t *site, fm_error *error)
{
    const size_t slot = (address ^ address >> 12) % (sizeof process->recent / sizeof process->recent[0]);
    const fm_code_map *map;
    *site = process->recent[slot].site;
    if (*site && process->recent[slot].address == address) return FM_OK;
    fm_status status = fm_sampled_code_map(process, code, address, &map, error);
    if (status != FM_OK) return status;
    *site = fm_program_site(&code->program, map, address);
    process->recent[slot].address = address;
    process->recent[slot].site = *site;
    return FM_OK;
}

uint32_t fm_sampled_code_path(fm_sampled_code *code, uint32_t parent, uint32_t call)
{
    code->program.calls.of_sites = true;
    return call ? fm_call_tree_node(&code->program.calls, parent, call - 1) : 0;
}

uint32_t fm_sampled_code_tag(fm_sampled_code *code, uint32_t site, uint32_t path, uint32_t object)
{
    const uint32_t place = fm_program_place(&code->program, site, path);
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

fm_status fm_sampled_code_describe(const fm_sampled_code *code, fm_attribution *attribution, fm_described *at,
                                   const uint32_t **map, size_t *map_count, fm_error *error)
{
    const fm_status status = fm_program_describe(&code->program, true, false, attribution, at, error);
    if (status != FM_OK) return status;
    uint32_t *index = fm_making_map(attribution, code->tags.count + 1, error);
    if (!index) return FM_E_NOMEM;
    for (size_t i = 0; i < code->tags.count; i++)
        index[i + 1] = (uint32_t)(at->sites + code->tags.entries[i].a - 1);
    *map = index;
    *map_count = code->tags.count + 1;
    return FM_OK;
}

void fm_sampled_code_free(fm_sampled_code *code)
{
    fm_program_free(&code->program);
    fm_intern_table_free(&code->tags);
    free(code->uses);
    *code = (fm_sampled_code){0};
}
