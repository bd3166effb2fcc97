/* SPDX-License-Identifier: Apache-2.0 */
/*
 * experimental.h - what is for experts: fathom.h does not include it, and nothing of it is promised.
 * Functions, structs and values of these headers change, move to fathom.h or go with any version
 * (docs/LIBRARY.md). The conventions of fathom.h hold here, too.
 *
 *     experimental/observations.h     samples of a run, from wherever they are, and the estimators
 *     experimental/pipeline.h         threads between a source of batches and its analyzers; blocks
 *                                     without one
 *     experimental/cluster.h          one trace analysed by the ranks of an MPI job
 *     experimental/region_formulas.h  formulas of open parameters, of source code
 *     experimental/compile.h          programs that report their own references: how they are built
 *     experimental/checks.h           what a file is; whether a profile can be true
 *     experimental/simulate.h         a sampler tried on a stored trace
 *     experimental/verdicts.h         what the first screen and a comparison rest on
 *
 * fathom's own program uses all of them.
 */
#ifndef FATHOM_EXPERIMENTAL_H
#define FATHOM_EXPERIMENTAL_H

#include <fathom/experimental/checks.h>
#include <fathom/experimental/cluster.h>
#include <fathom/experimental/compile.h>
#include <fathom/experimental/observations.h>
#include <fathom/experimental/pipeline.h>
#include <fathom/experimental/region_formulas.h>
#include <fathom/experimental/simulate.h>
#include <fathom/experimental/verdicts.h>
#include <fathom/fathom.h>

#endif
