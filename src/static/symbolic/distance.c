/* SPDX-License-Identifier: Apache-2.0 */
/* distance.c - see distance.h. */
#include "static/symbolic/distance.h"

#include "static/polyhedra/affine.h"

#include <stdlib.h>
#include <string.h>

static void divide_by_common(fm_line *line, unsigned columns)
{
    int64_t common = 0;
    for (unsigned i = 0; i < columns; i++) common = fm_greatest_divisor(common, line->at[i]);
    common = fm_greatest_divisor(common, line->at[FM_CONSTANT]);
    if (common < 2) return;
    for (unsigned i = 0; i < columns; i++) line->at[i] /= common;
    line->at[FM_CONSTANT] /= common;
}

/* The column that the equality gives: variables before quotients. False: none has factor 1. */
static bool column_given(const fm_line *line, unsigned parameters, unsigned columns, unsigned *column)
{
    for (unsigned i = parameters; i < columns; i++)
        if (line->at[i] == 1 || line->at[i] == -1) {
            *column = i;
            return true;
        }
    return false;
}

bool fm_distance_simplified(fm_isl_work *work, const fm_counter_piece *piece, unsigned parameters,
                            fm_poly *distance)
{
    const unsigned columns = piece->domain.kept + piece->domain.extra;
    fm_system system;
    *distance = (fm_poly){0};
    if (!fm_system_copy(work, &system, &piece->domain)) return false;
    *distance = fm_poly_copy(&piece->value);
    bool done = true;
    for (size_t i = 0; i < system.equalities.count && done; i++) {
        fm_line line = system.equalities.lines[i];
        unsigned column;
        divide_by_common(&line, columns);
        if (!column_given(&line, parameters, columns, &column)) continue;
        const int64_t sign = line.at[column];
        fm_line by = line;
        fm_poly value = {0};
        by.at[column] = 0;
        fm_poly_add_line(&value, &by, columns, -sign);
        fm_poly replaced = fm_poly_replaced(distance, column, &value);
        fm_poly_clear(&value);
        fm_poly_clear(distance);
        *distance = replaced;
        for (size_t k = 0; k < system.equalities.count && done; k++) {
            const int64_t factor = system.equalities.lines[k].at[column];
            if (k != i && factor)
                done = fm_line_subtract(work, &system.equalities.lines[k], factor * sign, &line);
        }
    }
    fm_system_clear(&system);
    if (done && distance->failed) done = fm_isl_no_memory(work);
    if (!done) fm_poly_clear(distance);
    return done;
}
