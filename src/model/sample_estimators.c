/* SPDX-License-Identifier: Apache-2.0 */
/* sample_estimators.c - the table of estimators. docs/SAMPLE-ESTIMATE.md says what each assumes. */
#include "model/sample_internal.h"

#include <string.h>

static const fm_estimator estimators[] = {
    {.info = {.name = "capped",
              .summary = "Kaplan-Meier, watches weighted by the inverse of their chance to be armed",
              .bursts = true},
     .weights = FM_WEIGHTS_ENTRY,
     .survival = true,
     .windows = true,
     .conversion = "aet"},
    {.info = {.name = "rdx",
              .summary = "the paper's: traps, each for all samples at its context while it was armed",
              .plain_reservoir = true},
     .weights = FM_WEIGHTS_PROPORTIONAL,
     .conversion = "shen"},
    {.info = {.name = "rdx-trapped",
              .summary = "the paper's without proportional attribution: each trap once",
              .plain_reservoir = true},
     .weights = FM_WEIGHTS_TRAPPED,
     .conversion = "shen"},
    {.info = {.name = "kaplan-meier",
              .summary = "Kaplan-Meier, all watches alike: right where a run has no phases",
              .bursts = true},
     .weights = FM_WEIGHTS_NONE,
     .survival = true,
     .conversion = "aet"},
    {.info = {.name = "horvitz-thompson",
              .summary = "weights by the chance to be seen to the end: no bias, more noise",
              .bursts = true},
     .weights = FM_WEIGHTS_BOTH,
     .conversion = "aet"},
};
enum { ESTIMATORS = sizeof estimators / sizeof *estimators };

const fm_estimator_info *fm_estimator_at(size_t index)
{
    return index < ESTIMATORS ? &estimators[index].info : NULL;
}

const fm_estimator *fm_estimator_named(const char *name)
{
    if (!name) return &estimators[0];
    for (size_t i = 0; i < ESTIMATORS; i++)
        if (strcmp(name, estimators[i].info.name) == 0) return &estimators[i];
    return NULL;
}
