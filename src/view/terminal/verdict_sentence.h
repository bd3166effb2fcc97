/* SPDX-License-Identifier: Apache-2.0 */
/* verdict_sentence.h - what a profile covers, in a sentence or two: the head of the first screen. */
#ifndef FATHOM_VIEW_VERDICT_SENTENCE_H
#define FATHOM_VIEW_VERDICT_SENTENCE_H

#include <fathom/view.h>

/* "blur exited with 0: 54.9 M references to 48 MiB, every one seen, exact", and a line for each thing that
 * limits it: what is missing, what is estimated, notes. */
void fm_verdict_sentence(FILE *out, const fm_profile *profile, const fm_view_options *options);

#endif
