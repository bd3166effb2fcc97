/* SPDX-License-Identifier: Apache-2.0 */
/*
 * object_map.h - which object an address belonged to at a moment of the run: heap blocks (by the place of
 * their allocation), stacks, variables of modules.
 *
 * Time is the number of references of the process delivered so far. What is reported (alloc, free, …) is
 * queued with its time and takes effect when late references are counted, which come in batches some time
 * later: so a block that was freed after the reference, and before its batch was analysed, is still found.
 * Times never decrease.
 */
#ifndef FATHOM_COLLECT_OBJECT_MAP_H
#define FATHOM_COLLECT_OBJECT_MAP_H

#include <fathom/attribution.h>

typedef struct fm_object_map fm_object_map;

enum { FM_STACKS_MOST = 1024 }; /* stacks of threads with higher numbers are one object, of thread 0 */

fm_status fm_object_map_create(fm_object_map **map, fm_error *error);
void fm_object_map_destroy(fm_object_map *map); /* NULL is fine */
/* For a forked process: everything known (queued or not) of `from`; its clock starts at 0; counts start at 0.
 */
fm_status fm_object_map_clone(fm_object_map **map, const fm_object_map *from, fm_error *error);

/* context: number of the place of allocation, as the producer numbers them. An allocation over an old block
 * replaces it (its free was not seen). */
fm_status fm_object_map_alloc(fm_object_map *map, uint64_t time, uint64_t address, uint64_t size,
                              uint32_t context, fm_error *error);
fm_status fm_object_map_free(fm_object_map *map, uint64_t time, uint64_t address, fm_error *error);
fm_status fm_object_map_stack(fm_object_map *map, uint64_t time, uint32_t thread, uint64_t low, uint64_t high,
                              fm_error *error);
/* Writable data of a module: data and bss. number: the module's index in the attribution that describe will
 * be given. */
fm_status fm_object_map_module(fm_object_map *map, uint64_t time, uint32_t number, const char *path,
                               uint64_t bias, uint64_t from, uint64_t to, fm_error *error);
/* What lies there is no module's data any more. */
fm_status fm_object_map_unmap(fm_object_map *map, uint64_t time, uint64_t from, uint64_t to, fm_error *error);

/* Thread-local storage of a module in one thread. number, path: as above. It comes before stacks and blocks
 * that it lies in, until they are reported anew. */
fm_status fm_object_map_thread_local(fm_object_map *map, uint64_t time, uint32_t number, const char *path,
                                     uint64_t address, uint64_t size, fm_error *error);

/*
 * Counts late references of a batch whose first reference had time `begin`: addresses[late[i].index] was
 * touched at begin + late[i].index. They may be in any order; batches come in order of time. count may be 0:
 * call it for batches without late references too, so that what was reported before `begin` need not wait any
 * longer (and take memory).
 */
fm_status fm_object_map_count(fm_object_map *map, uint64_t begin, const uint64_t *addresses,
                              const fm_late *late, size_t count, fm_error *error);

/*
 * The object that an address belonged to at a time: its number in the map (object_map_state.h), 0: not known.
 * [*low, *high) around the address belongs to it at that time, too. Nothing is counted.
 */
fm_status fm_object_map_find(fm_object_map *map, uint64_t time, uint64_t address, uint32_t *object,
                             uint64_t *low, uint64_t *high, fm_error *error);

/*
 * Adds objects and object_uses to the attribution. sites[tag]: index of the tag's site; paths[context]: index
 * of the call path of a context (FM_NONE: unknown). Variables are told apart by the ELF symbol table of their
 * module (fm_symbols_variable); references to what no symbol covers become FM_OBJECT_MODULE.
 */
fm_status fm_object_map_describe(fm_object_map *map, fm_attribution *attribution, const uint32_t *sites,
                                 size_t site_count, const uint32_t *paths, size_t path_count,
                                 fm_error *error);

uint64_t fm_object_map_memory(const fm_object_map *map);

#endif
