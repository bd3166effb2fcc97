/* SPDX-License-Identifier: Apache-2.0 */
/* phase_tree.h - what recurs in a sequence of phases. A *round* is a part of the sequence that is repeated;
 * rounds may consist of rounds. Internal. */
#ifndef FATHOM_MODEL_PHASE_TREE_H
#define FATHOM_MODEL_PHASE_TREE_H

#include <fathom/profile.h>
#include <fathom/status.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A stretch that is one phase, or a round of several. */
typedef struct fm_phase_node {
    size_t begin, end;   /* elements of the sequence */
    bool round;          /* it has children */
    size_t child, after; /* nodes: its first child, the next one of its siblings; FM_NO_NODE: none */
} fm_phase_node;
#define FM_NO_NODE SIZE_MAX

typedef struct fm_phase_tree {
    size_t count, capacity;
    fm_phase_node *nodes;
    size_t first;     /* of the uppermost level */
    size_t in_rounds; /* elements of the sequence that are in rounds of more than one */
} fm_phase_tree;

/* symbols: what each element is; the same for the same. */
fm_status fm_phase_tree_build(fm_phase_tree *tree, const uint32_t *symbols, size_t count, fm_error *error);
void fm_phase_tree_clear(fm_phase_tree *tree);

#endif
