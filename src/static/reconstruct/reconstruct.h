/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reconstruct.h - all reuses of a region out of a small part of its accesses.
 *
 * Along every loop, distances and bounds are polynomials of the loop's variable between a few places, apart
 * from a period (of blocks and quotients). From accesses at the begin of such a stretch the polynomials are
 * worked out; the far end, special values (reconstruct_parts.h) and others say how far they hold. It is not a
 * proof. What is known for sure: the number of accesses and of first touches are compared with exact ones,
 * and random accesses are worked out by the oracle and compared with what was reconstructed. Where one
 * differs, its place becomes a special value and the reference is done again. If that does not help, the
 * whole is refused: no result is given that is known to be wrong.
 */
#ifndef FATHOM_STATIC_RECONSTRUCT_H
#define FATHOM_STATIC_RECONSTRUCT_H

#include "static/oracle/oracle.h"

typedef struct fm_reconstruct_options {
    uint64_t sets;   /* as in oracle.h */
    uint64_t seed;   /* of the random accesses */
    uint64_t checks; /* random accesses; 0: 10,000 */
    uint64_t memory; /* bytes for descriptions and results, about; 0: 1 GiB */
    double deadline; /* fm_now; 0: none */
} fm_reconstruct_options;

typedef struct fm_reconstructed {
    fm_reuses reuses;
    uint64_t asked;   /* accesses that it was made from */
    uint64_t checked; /* random accesses that were compared, none of them different */
    uint64_t mended;  /* random accesses that differed, and whose references were done again */
} fm_reconstructed;

/* FM_E_LIMIT: time or memory is used up, or it could not be reconstructed; error says which. */
fm_status fm_reconstruct(fm_reconstructed *result, const fm_reference_list *list,
                         const fm_reconstruct_options *options, fm_error *error);
void fm_reconstructed_clear(fm_reconstructed *result);

#endif
