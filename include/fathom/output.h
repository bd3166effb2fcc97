/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output.h - a result appears under its name when it is whole, or not at all.
 *
 * Everything that libfathom and its program write to a file goes through here; a program that writes
 * its own results beside them may do the same. An output is opened, written like any stdio stream, and
 * ended by exactly one of two calls:
 *
 *     fm_error error;
 *     fm_output *output;
 *     if (fm_output_open(&output, "counts.csv", &error)) return;
 *     fprintf(fm_output_stream(output), "blocks,count\n");
 *     for (size_t i = 0; i < count; i++) fprintf(fm_output_stream(output), "%zu,%d\n", i, 1);
 *     if (fm_output_commit(output, &error)) return; // or fm_output_abandon(output)
 *
 * Until the commit, nothing is under the name, or still the file that was there before. The new file
 * has no name at all meanwhile (O_TMPFILE), so a process that is interrupted or killed leaves nothing
 * behind. File systems that cannot do this (NFS, FAT) get a file called .fathom-….tmp in the same
 * directory, which the commit renames and an abandon removes; there a kill leaves it behind.
 *
 * A file that was there keeps its owner, group and permissions. Where a new one could not have these (another
 * owner's file, an access control list) or the file has more names (hard links), it is not replaced: the
 * whole result is copied into it at the commit, once there is room for it on the disk; only a process that is
 * killed during that copy leaves a part. A file that may not be written is not replaced either, though its
 * directory would allow it. A symbolic link stays; the file it points to is replaced, or made.
 *
 * What cannot be replaced is written in place: standard output ("-"), devices, pipes, and names in
 * /dev and /proc, which are doors to descriptors (/dev/stdout may be a regular file that others write
 * to as well). /dev/shm is an ordinary directory.
 *
 * There is no fsync: a crash of the machine may lose a result; a crash of the program never leaves a
 * part of one.
 */
#ifndef FATHOM_OUTPUT_H
#define FATHOM_OUTPUT_H

#include <fathom/status.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fm_output fm_output;

/* path "-" is standard output. On failure *output is NULL. Names that cannot be written, as far as that
 * can be known now, are refused here and not after the work is done. */
FM_API fm_status fm_output_open(fm_output **output, const char *path, fm_error *error);

/* Fully buffered; stdout itself for "-". Belongs to the output: never close it. Failed writes need not
 * be looked for one by one: the commit knows of them. It has no descriptor (fileno gives -1). */
FM_API FILE *fm_output_stream(const fm_output *output);

/* The path as it was given, or "standard output": for messages. Lives as long as the output. */
FM_API const char *fm_output_name(const fm_output *output);

/* Writes to the stream and says at once when that fails: for large outputs, where going on is a waste. */
FM_API fm_status fm_output_write(fm_output *output, const void *from, size_t bytes, fm_error *error);

/* Flushes, checks that everything was written, and moves the file into place. Whatever it returns, the
 * output is gone; when it fails, so is what was written. Memory that ran short is FM_E_NOMEM. */
FM_API fm_status fm_output_commit(fm_output *output, fm_error *error);

/* Ends the output without a result. What already went to a device or pipe stays there, what is still
 * buffered for it does not follow. NULL is fine. */
FM_API void fm_output_abandon(fm_output *output);

#ifdef __cplusplus
}
#endif
#endif
