/* SPDX-License-Identifier: Apache-2.0 */
/* formulas.h - how often statements are executed, as polynomials of the parameters that are open. */
#ifndef FATHOM_STATIC_FORMULAS_H
#define FATHOM_STATIC_FORMULAS_H

#include "static/counts/poly_text.h"
#include "static/region/region.h"

typedef struct fm_formulas {
    const char *names[FM_COLUMNS]; /* of parameters, for fm_poly_write */
    size_t count;
    fm_poly *executions; /* of each statement */
    char *condition;     /* where they are right; NULL: always */
} fm_formulas;

/* FM_E_UNSUPPORTED: guards, minima, quotients or steps stand in the way, with the place. */
fm_status fm_formulas_find(fm_formulas *formulas, const fm_region *region, fm_error *error);
void fm_formulas_clear(fm_formulas *formulas);

#endif
