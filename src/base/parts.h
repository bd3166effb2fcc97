/* SPDX-License-Identifier: Apache-2.0 */
/* parts.h - where the parts of fathom are that are files of their own: the Valgrind tool, modules. */
#ifndef FATHOM_BASE_PARTS_H
#define FATHOM_BASE_PARTS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Writes the path of part `name` ("valgrind/…") into path (of `size` bytes) and returns true where it is
 * there and can be read. `directory`: where to look and nowhere else; NULL: what FATHOM_PARTS says,
 * or else beside the program or the library, as they are built or installed. On failure path is the place
 * that was named, empty where none was.
 */
bool fm_part_find(const char *directory, const char *name, char *path, size_t size);

#endif
