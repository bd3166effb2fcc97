/* SPDX-License-Identifier: Apache-2.0 */
/* prepared.h - what other threads may do to a batch before its analyzer is fed. */
#ifndef FATHOM_ANALYZER_PREPARED_H
#define FATHOM_ANALYZER_PREPARED_H

#include <fathom/analyzer.h>

/*
 * What is done to a batch first needs no engine, and another thread may do it while the analyzer is busy:
 * accesses are cut into blocks, and references that repeat the block before them, at distance 0, are counted
 * and left out. Analyzers with the same granularity prepare alike. Those that need every single reference
 * (for single distances, time distances, estimates; with attribution also under max_memory, or where every
 * reference is late) cannot. One with attribution counts the pairs of what it leaves out: what it prepared is
 * for itself, and for others without attribution.
 *
 * Where the analyzer is the slower of the two threads, the other may also digest what it prepared: most
 * references are to blocks that were touched shortly before, and their distances follow from some thousand
 * references alone. They are counted, and what is left is for this analyzer only. Results do not depend on
 * it.
 *
 * Threads may prepare and digest while another one feeds: each under a number of its own. Batches are fed in
 * the order of the trace, whoever prepared them.
 */
enum { FM_PREPARERS = 1024 };
typedef struct fm_prepared {
    /* Number of the thread that prepares it, below FM_PREPARERS; set by the caller. With attribution, number
     * 0 needs some memory for every pair, the others have little each and one such memory together. */
    unsigned preparer;
    uint64_t *blocks;
    size_t count, capacity;
    uint64_t repeats;
    uint64_t accesses; /* of the batch */
    /* With attribution, for each block: the tags of the first and the last of its references in a row, and
     * the number in the batch of the first. */
    uint32_t *now, *leave, *reference;
    size_t tag_capacity[3];
    /* Digested: parts one after the other; of each, its blocks in the order of their first references, with
     * their places in the order of their last ones. Late ones among those that were counted. */
    const fm_analyzer *digested_by; /* NULL: not digested */
    struct fm_prepared_part *parts;
    size_t part_count, part_capacity;
    uint64_t *place;
    size_t place_capacity;
    fm_late *late;
    size_t late_count, late_capacity;
} fm_prepared; /* all 0 before its first use, but for the preparer; may be used again */
bool fm_analyzer_can_prepare(const fm_analyzer *analyzer);
/* FM_E_LIMIT: the accesses touch so many blocks that they would take much memory; nothing was done, and the
 * batch is to be fed as it is. */
fm_status fm_analyzer_prepare(fm_analyzer *analyzer, const fm_batch *batch, fm_prepared *prepared,
                              fm_error *error);
/* Without a bound or max_memory, by the engine "exact". */
bool fm_analyzer_can_digest(const fm_analyzer *analyzer);
fm_status fm_analyzer_digest(fm_analyzer *analyzer, fm_prepared *prepared, fm_error *error);
fm_status fm_analyzer_feed_prepared(fm_analyzer *analyzer, const fm_prepared *prepared, fm_error *error);
void fm_prepared_free(fm_prepared *prepared);

#endif
