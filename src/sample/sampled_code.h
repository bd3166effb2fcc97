/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sampled_code.h - which code an address of a sampled process is (program/program.h): where its files lie
 * now, by /proc; and what observations name by one number, the tag: a site, reached on a path, that used an
 * object.
 */
#ifndef FATHOM_SAMPLE_SAMPLED_CODE_H
#define FATHOM_SAMPLE_SAMPLED_CODE_H

#include "program/program.h"

#include <fathom/attribution.h>

/* Those with code, and the data of these files: what is initialised, and what is not. Files that have no code
 * are data as a whole. */
typedef struct fm_sampled_maps {
    fm_code_maps code, data;
    size_t data_files;
    uint64_t heap_from, heap_to; /* what the kernel calls the heap; 0: there is none */
    uint32_t reading;            /* how often they were read */
} fm_sampled_maps;

/* The code of a process. */
typedef struct fm_sample_code_of {
    fm_sampled_maps maps;
    uint32_t pid;
    bool alive;       /* /proc can be asked */
    double maps_next; /* not before */
    double data_next; /* the same where it is for data */
    struct {
        uint64_t address;
        uint32_t site;
    } recent[4096];
} fm_sample_code_of;

/* Of all processes. Numbers of all these are from 1 on: index + 1. Paths are nodes of the program's calls. */
typedef struct fm_sampled_code {
    fm_program program;
    fm_intern_table tags; /* place; object (0: not known) */
    uint64_t *uses;       /* in bursts, of each tag: [tag - 1] */
    size_t use_capacity;
} fm_sampled_code;

/* Reads where a process's files lie now. What cannot be read leaves *maps as it was. */
fm_status fm_sampled_maps_read(fm_sampled_maps *maps, fm_sampled_code *code, uint32_t pid, fm_error *error);
void fm_sampled_maps_free(fm_sampled_maps *maps);

/* The mapping with code at an address; it is looked for anew where it is not known. *found NULL: there is
 * none that is a file's. */
fm_status fm_sampled_code_map(fm_sample_code_of *process, fm_sampled_code *code, uint64_t address,
                              const fm_code_map **found, fm_error *error);
/* Looks for data anew: something was used that is nobody's. Not often. */
fm_status fm_sampled_code_look_for_data(fm_sample_code_of *process, fm_sampled_code *code, fm_error *error);
/* The site of an instruction; 0: there are too many, or no memory. */
fm_status fm_sampled_code_site(fm_sample_code_of *process, fm_sampled_code *code, uint64_t address,
                               uint32_t *site, fm_error *error);
/* A call, at the end of a path. */
uint32_t fm_sampled_code_path(fm_sampled_code *code, uint32_t parent, uint32_t call);
uint32_t fm_sampled_code_tag(fm_sampled_code *code, uint32_t site, uint32_t path, uint32_t object);
/* So many uses in bursts. */
static inline void fm_sampled_code_count(fm_sampled_code *code, uint32_t tag, uint64_t uses)
{
    if (tag) code->uses[tag - 1] += uses;
}
/* What a tag is of. */
uint32_t fm_sampled_code_object(const fm_sampled_code *code, uint32_t tag);
static inline uint32_t fm_sampled_code_instruction(const fm_sampled_code *code, uint32_t tag)
{
    return tag && tag <= code->tags.count
               ? (uint32_t)code->program.places.entries[code->tags.entries[tag - 1].a - 1].a
               : 0;
}
fm_status fm_sampled_code_describe(const fm_sampled_code *code, fm_attribution *attribution, fm_described *at,
                                   const uint32_t **map, size_t *map_count, fm_error *error);
void fm_sampled_code_free(fm_sampled_code *code);

#endif
