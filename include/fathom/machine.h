/* SPDX-License-Identifier: Apache-2.0 */
/*
 * machine.h - a machine that is described by its rates, and upper bounds on what code can reach on it.
 *
 * The description is a small text (docs/STATIC.md): operations per second, caches, bandwidths. What it does
 * not say of caches, hwloc does.
 *
 *     fm_error error;
 *     fm_machine *machine;
 *     fm_status status = fm_machine_read(&machine, "my.machine", &error);
 *     if (status == FM_OK) fm_machine_write(machine, stdout);
 *     fm_machine_destroy(machine);
 */
#ifndef FATHOM_MACHINE_H
#define FATHOM_MACHINE_H

#include <fathom/model.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { FM_MOST_LEVELS = 8 };

/* Rates are per second, of one processor; 0: not known, and bounds nothing. */
typedef struct fm_machine {
    char name[128];
    double flops, integer_operations, loads, stores, accesses; /* accesses: loads and stores together */
    double memory;                                             /* bytes out of memory */
    size_t level_count;
    fm_cache levels[FM_MOST_LEVELS]; /* the smallest first */
    /* Bytes that a level passes on to the level before it (the first one: to the processor), be they its own
     * or from further away. */
    double bandwidths[FM_MOST_LEVELS];
} fm_machine;

/* FM_E_FORMAT with the line where something is wrong. */
FM_API fm_status fm_machine_read(fm_machine **machine, const char *path, fm_error *error);
/* This machine, as far as hwloc knows it: its name and its caches. */
FM_API fm_status fm_machine_this(fm_machine **machine, fm_error *error);
FM_API void fm_machine_destroy(fm_machine *machine); /* NULL is fine */
/* As a description; rates that are not known as comments, to be filled in. */
FM_API void fm_machine_write(const fm_machine *machine, FILE *stream);

/*
 * The fewest misses that any cache of so many blocks can have on the references of a profile, whatever it
 * replaces: Sleator and Tarjan 1985, for caches that are empty at first. Right for exact profiles.
 */
FM_API double fm_profile_least_misses(const fm_profile *profile, uint64_t blocks);

/*
 * The least times of a region and its nests. nests: fm_region_nests, with ranges of distances that begin with
 * `edges`; the sizes of the machine's caches in blocks are among them. profile: of the region.
 */
FM_API fm_status fm_machine_bound(const fm_machine *machine, const fm_profile *profile, const fm_nest *nests,
                                  size_t count, const uint64_t *edges, fm_bounds **bounds, fm_error *error);

#ifdef __cplusplus
}
#endif
#endif
