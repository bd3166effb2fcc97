/* SPDX-License-Identifier: Apache-2.0 */
/* reconstruct_parts.h - what reconstruct.c and describe_reference.c share. */
#ifndef FATHOM_STATIC_RECONSTRUCT_PARTS_H
#define FATHOM_STATIC_RECONSTRUCT_PARTS_H

#include "static/polyhedra/points.h"
#include "static/polyhedra/projection.h"
#include "static/reconstruct/description.h"
#include "static/reconstruct/special.h"

enum { FM_MOST_LEARNED = 64 };

/* Describes one reference after the other. */
typedef struct fm_describer {
    const fm_reference_list *list;
    fm_oracle *oracle;
    const fm_specials *specials;
    fm_static_random random;
    double deadline;
    uint64_t memory, memory_limit; /* bytes in descriptions */
    uint64_t asked;
    size_t learned_count; /* values of each loop at which a check failed */
    int64_t learned[FM_MOST_LEARNED][FM_REFERENCE_DEPTH];
    fm_error *error;
    /* of the reference that is described */
    uint32_t number;
    const fm_reference *reference;
    fm_projection *bounds;
} fm_describer;

/* The description of all points of a reference. NULL: self->error says why. */
fm_description *fm_describe(fm_describer *self, uint32_t number);
void fm_description_free(fm_describer *self, fm_description *description); /* NULL is fine */

#endif
