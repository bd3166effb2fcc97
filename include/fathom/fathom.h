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
 * The library follows the data, in one direction:
 *
 *     collect.h    references out of running programs
 *     trace.h      references out of files and pipes        (generate.h: out of thin air)
 *     analyzer.h   references to distances, exact, streaming
 *     profile.h    the distances' histogram: read, write, merge
 *     attribution.h  and which code, which data they come from
 *     model.h      what it means: miss ratios, caches, likeness
 *     predict.h    profiles of inputs that were never run
 *     phases.h     where a trace begins anew
 *     view.h       for people: terminal, CSV, JSON, HTML
 *
 * Whatever goes into a file appears under its name only when it is whole (output.h).
 *
 * Conventions that hold everywhere:
 *   - Calls that can fail return an fm_status and take an fm_error last (status.h).
 *   - Handles are opaque, made by …_create or …_open, ended by …_destroy or …_close
 *     (an fm_output by …_commit or …_abandon).
 *   - Distances, counts, addresses and sizes are uint64_t; every value of a key is an ordinary one,
 *     0 and 2^64−1 among them. A first touch has the distance FM_COLD.
 *   - The library never prints, exits or aborts, keeps no global state, and starts no thread unless
 *     asked to (fm_reader_options.read_ahead).
 */
#ifndef FATHOM_FATHOM_H
#define FATHOM_FATHOM_H

#include <fathom/analyzer.h>
#include <fathom/attribution.h>
#include <fathom/cluster.h>
#include <fathom/collect.h>
#include <fathom/generate.h>
#include <fathom/model.h>
#include <fathom/output.h>
#include <fathom/phases.h>
#include <fathom/predict.h>
#include <fathom/profile.h>
#include <fathom/status.h>
#include <fathom/trace.h>
#include <fathom/version.h>
#include <fathom/view.h>

#endif
