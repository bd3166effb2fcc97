/* SPDX-License-Identifier: Apache-2.0 */
/* parts.h - where the parts of fathom are that are files of their own: the Valgrind tool, modules. */
#ifndef FATHOM_BASE_PARTS_H
#define FATHOM_BASE_PARTS_H

#include <fathom/status.h>

/*
 * Writes the path of part `name` ("valgrind/…") into path (of `size` bytes) and returns true where it is
 * there and can be read. `directory`: where to look and nowhere else; NULL: what FATHOM_PARTS says,
 * or else beside the program or the library, as they are built or installed. On failure path is the place
 * that was named, empty where none was.
 */
bool fm_part_find(const char *directory, const char *name, char *path, size_t size);

/*
 * Opens a part that is a shared object (modules/) and returns the struct of functions that it exports as
 * `symbol`. The struct begins with the number of its interface, an unsigned int: a part of another version is
 * refused. NULL: FM_E_UNSUPPORTED. The part stays open: neither CUDA nor MPI can be started twice.
 * global: what it loads by itself looks for symbols of what it is linked with.
 */
const void *fm_part_load(const char *path, const char *symbol, unsigned interface, bool global,
                         fm_error *error);

#endif
