/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sized.h - structs of a program that was compiled with an older or a newer header (fathom/fathom.h says how
 * they grow). Every call whose name ends in _sized begins with one of these.
 */
#ifndef FATHOM_BASE_SIZED_H
#define FATHOM_BASE_SIZED_H

#include <fathom/status.h>

/*
 * Copies what the program filled in, `given` of given_size bytes, into the library's own struct, and zeroes
 * what the program does not know of; NULL: all of it. FM_E_UNSUPPORTED where a newer program asks for
 * something that the library does not know; what it knows is copied all the same. name: of the struct, for
 * the message.
 */
fm_status fm_sized_read(void *own, size_t own_size, const void *given, size_t given_size, const char *name,
                        fm_error *error);

/* Copies a result into the program's struct, or back: what both know of. The rest is zeroed. */
void fm_sized_copy(void *to, size_t to_size, const void *from, size_t from_size);

#endif
