/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sampled_code.h - which code an address of a sampled process is: its files and where they lie (/proc), and
 * the places in them that make references (sites, which observations name by tags).
 */
#ifndef FATHOM_SAMPLE_SAMPLED_CODE_H
#define FATHOM_SAMPLE_SAMPLED_CODE_H

#include "collect/intern_table.h"
#include "symbols/symbols.h"

#include <fathom/attribution.h>

/* A stretch of a process's memory that is a file's. */
typedef struct fm_sampled_map {
    uint64_t from, to;
    uint64_t bias; /* address in memory - address in the file */
    uint32_t file; /* index */
} fm_sampled_map;

typedef struct fm_sampled_maps {
    fm_sampled_map *maps; /* ascending */
    size_t count, capacity;
} fm_sampled_maps;

typedef struct fm_sampled_file {
    char *path;
    char build_id[FM_BUILD_ID_TEXT];
    uint64_t bias;
} fm_sampled_file;

/* Of all processes. */
typedef struct fm_sampled_code {
    fm_sampled_file *files;
    size_t file_count, file_capacity;
    fm_intern_table sites; /* address in the file, file + 1 (0: none); index + 1 is the tag */
} fm_sampled_code;

/* Reads where a process's files lie now. What cannot be read leaves *maps as it was. */
fm_status fm_sampled_maps_read(fm_sampled_maps *maps, fm_sampled_code *code, uint32_t pid, fm_error *error);
void fm_sampled_maps_free(fm_sampled_maps *maps);
const fm_sampled_map *fm_sampled_map_at(const fm_sampled_maps *maps, uint64_t address);

/* The tag of an instruction, from 1; 0: there are too many, or no memory. */
uint32_t fm_sampled_code_tag(fm_sampled_code *code, const fm_sampled_map *map, uint64_t address);
fm_status fm_sampled_code_describe(const fm_sampled_code *code, fm_attribution *attribution,
                                   const uint32_t **map, size_t *map_count, fm_error *error);
void fm_sampled_code_free(fm_sampled_code *code);

#endif
