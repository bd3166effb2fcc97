/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native_planes.h - numbers in byte planes: the low bytes of all numbers, then the next ones, and so on, so
 * that zstd sees the constant high bytes as runs. The few numbers that are longer than the rest become
 * exceptions, so that they do not add planes to all. docs/FORMAT.md has the layout.
 */
#ifndef FATHOM_TRACE_NATIVE_PLANES_H
#define FATHOM_TRACE_NATIVE_PLANES_H

#include "trace/native/native_layout.h"

/* A signed difference as a number: small ones of either sign are small. And back. */
static inline uint64_t fm_zigzag(uint64_t difference)
{
    return difference << 1 ^ (0 - (difference >> 63));
}

static inline uint64_t fm_unzigzag(uint64_t code)
{
    return code >> 1 ^ (0 - (code & 1));
}

/* The low `planes` bytes of count numbers: planes * count bytes at `to`. */
void fm_native_planes_store(const uint64_t *numbers, size_t count, unsigned planes, uint8_t *to);
void fm_native_planes_load(const uint8_t *from, size_t count, unsigned planes, uint64_t *numbers);

/* Chooses how many planes, and stores planes and exceptions; fills part->planes and ->exceptions. Returns the
 * bytes used, at most count * 9 or so: exceptions are at most every 64th number. */
size_t fm_native_numbers_store(const uint64_t *numbers, size_t count, fm_native_part *part, uint8_t *to);
/* False: an exception lies outside. */
bool fm_native_numbers_load(const uint8_t *from, size_t count, const fm_native_part *part, uint64_t *numbers);

/* A table: differences from each entry to the next, in eight planes: 8 * count bytes. Storing uses up the
 * values. */
void fm_native_table_store(uint64_t *values, size_t count, uint8_t *to);
void fm_native_table_load(const uint8_t *from, size_t count, uint64_t *values);

#endif
