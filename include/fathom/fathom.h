/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fathom.h - measure and predict data locality.
 *
 * A program, a cache or a disk sees a stream of *references*, each to a *block* (a cache line, a
 * key, a disk block). The *reuse distance* of a reference is the number of distinct other blocks
 * touched since the last reference to the same block. It is a property of the stream alone; and a
 * fully associative LRU cache of C blocks hits exactly the references whose distance is below C. So
 * one histogram of distances answers "what would hit?" for every cache size at once.
 *
 * What a user asks for, in one piece, is a *job* (job.h): a source, an analysis, results. It is put together
 * from what follows the data, in one direction:
 *
 *     collect.h    references out of running programs
 *     trace.h      references out of files and pipes        (generate.h: synthetic ones)
 *     analyzer.h   references to distances, exact, streaming
 *     engines.h    the algorithms that find distances
 *     profile.h    the distances' histogram: read, write, merge
 *     attribution.h  and which code, which data they come from
 *     model.h      what it means: miss ratios, caches, likeness
 *     sample.h     profiles of runs of which only samples were seen
 *     predict.h    profiles of inputs that were never run
 *     phases.h     where a trace begins anew
 *     view.h       for people: terminal, CSV, JSON, HTML
 *     diff.h       two profiles, before and after a change
 *
 * Parts for experts, which may change with every version, are in experimental.h.
 *
 * Whatever goes into a file appears under its name only when it is whole (output.h).
 *
 * Conventions that hold everywhere:
 *   - Calls that can fail return an fm_status and take an fm_error last (status.h).
 *   - Handles are opaque, made by …_create or …_open, ended by …_destroy or …_close
 *     (an fm_output by …_commit or …_abandon).
 *   - To end a handle that is NULL is to do nothing. Every other call that returns an fm_status and is given
 *     NULL where it takes a handle, a profile, an attribution or a model fails with FM_E_ARGUMENT and has
 * done nothing, but where its description says what NULL means. Calls that return no fm_status have no way to
 *     say it, and must not be given NULL; nor must any call for the place of a result. options NULL are those
 *     of which every member is 0.
 *   - Reasons name members of options (fm_reader_options.format, csv_key); fathom shows its own options then.
 *   - Distances, counts, addresses and sizes are uint64_t; every value of a key is an ordinary one,
 *     0 and 2^64−1 among them. A first touch has the distance FM_COLD.
 *   - The library never prints, exits or aborts. Only in a cluster does fm_cluster_abort end all
 *     ranks, and so does MPI where it fails itself (experimental/cluster.h).
 *   - It keeps no state outside its handles; handles are independent of each other. Only signals are
 *     the process's, so that it has one collection at a time (collect.h).
 *   - It starts no thread unless asked to: by read_ahead or `threads` in options, or by an engine that
 *     counts on a graphics card, which keeps some to feed it. Debug information is read in a thread of
 *     its own where the caller has little stack (ulimit -s).
 *
 * Structs that grow. Later versions give structs of options and results new members at their ends. A
 * program that was compiled before keeps working, and says nothing about versions: the sizes that it was
 * compiled with travel by themselves. fm_reader_open, say, is an inline function that hands
 * sizeof(fm_reader_options) to fm_reader_open_sized, which is what the library exports (so does zlib with
 * deflateInit and deflateInit_). FM_SIZED in status.h declares the two.
 *   - An older program's options lack the newest members: they are 0, which means what was done before
 *     they existed. Of results it gets the members it knows.
 *   - A newer program's options may have members that the library does not know. Where one is not 0, the
 *     call fails with FM_E_UNSUPPORTED (one that returns nothing does what it knows). In results they
 *     are 0.
 * A member for the size would have had to be set by every caller, and forgotten by some; with the size as
 * an argument there is nothing to forget, and options are `= {0}` or designated initialisers as ever.
 * Languages without inline functions call what ends in _sized; the size of the struct they have comes first.
 * Structs that only the library allocates (fm_profile, fm_attribution, fm_model, rows of tables) grow at
 * their ends as well. All others lie in arrays or in other structs, or are part of every call (fm_error,
 * fm_batch, fm_cache, …): their layout stays for as long as the SONAME (docs/LIBRARY.md).
 */
#ifndef FATHOM_FATHOM_H
#define FATHOM_FATHOM_H

#include <fathom/analyzer.h>
#include <fathom/attribution.h>
#include <fathom/collect.h>
#include <fathom/diff.h>
#include <fathom/engines.h>
#include <fathom/generate.h>
#include <fathom/job.h>
#include <fathom/machine.h>
#include <fathom/model.h>
#include <fathom/output.h>
#include <fathom/phases.h>
#include <fathom/predict.h>
#include <fathom/profile.h>
#include <fathom/sample.h>
#include <fathom/sampled_run.h>
#include <fathom/self_sampler.h>
#include <fathom/static.h>
#include <fathom/status.h>
#include <fathom/trace.h>
#include <fathom/version.h>
#include <fathom/view.h>

#endif
