/* SPDX-License-Identifier: Apache-2.0 */
/* input.h - files that are read, and where fathom's own parts are. */
#ifndef FATHOM_BASE_INPUT_H
#define FATHOM_BASE_INPUT_H

#include <fathom/status.h>

/*
 * Checked reading from a file, a FIFO or standard input. No buffering, no decoding: bytes as
 * they are stored, with every failure named.
 */

typedef struct fm_input {
    int descriptor;
    bool owned;       /* to be closed by us; standard input is not */
    bool seekable;    /* a regular file: fm_input_read_at works */
    const char *name; /* for messages: the path, or "standard input". Points into path, or is static */
    char *path;
    uint64_t total;    /* bytes of a regular file when it was opened; 0: unknown */
    uint64_t from, to; /* what is read: all there is, or see fm_input_restrict */
    uint64_t taken;    /* bytes read so far, counted from `from` */
    int wake;          /* see fm_input_allow_interrupt; -1: not allowed */
} fm_input;

/* path "-" is standard input. A directory is refused here, not at the first read. */
fm_status fm_input_open(fm_input *input, const char *path, fm_error *error);
/* Up to capacity bytes, at least one; *got 0 is the end. */
fm_status fm_input_read(fm_input *input, void *to, size_t capacity, size_t *got, fm_error *error);
/* Exactly bytes at offset without moving the reading position; false when that cannot be had. */
bool fm_input_read_at(const fm_input *input, void *to, size_t bytes, uint64_t offset);
/* From now on only the bytes [from, to) of a regular file are read. Not for standard input: others may read
 * through the same position. */
fm_status fm_input_restrict(fm_input *input, uint64_t from, uint64_t to, fm_error *error);
/* The bytes of a regular file before this offset count as read; reading goes on there. Not for standard input
 * either. */
fm_status fm_input_pass(fm_input *input, uint64_t offset, fm_error *error);
/* From now on fm_input_interrupt, from another thread, ends a read that waits (a pipe nobody writes to). */
fm_status fm_input_allow_interrupt(fm_input *input, fm_error *error);
/* Reads see the end of the input from now on. Does nothing where it was not allowed. */
void fm_input_interrupt(const fm_input *input);
void fm_input_close(fm_input *input);

/* ======== parts ======== */

/* Where the parts of fathom are that are files of their own: the Valgrind tool, modules. */

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
