/* SPDX-License-Identifier: Apache-2.0 */
/* counter_reduce.c - see counter_reduce.h. One equality after the other (counter_renew.h). */
#include "static/counter/counter_reduce.h"

#include "base/memory.h"
#include "static/counter/counter_renew.h"
#include "static/polyhedra/rounding.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_REMAINDERS = 64, MOST_ROUNDS = 8 };

static bool use_equalities(fm_isl_work *work, fm_renewal *this, fm_counter_piece *piece, bool *changed)
{
    for (size_t i = 0; i < piece->domain.equalities.count; i++) {
        if (!fm_renewal_find(this, &piece->domain, &piece->domain.equalities.lines[i])) continue;
        if (!fm_renew(work, this, piece)) return false;
        *changed = true;
        i = (size_t)-1; /* all lines are other ones */
    }
    return true;
}

/* ---- quotients that do not matter ---- */

/* Columns of quotients that change with the variable. False: with another one, too, or not at all. */
static bool only_dependent(const fm_system *system, unsigned variable, const fm_poly *value, bool *dependent)
{
    bool any = false, other[FM_COLUMNS] = {false};
    memset(dependent, 0, FM_COLUMNS * sizeof dependent[0]);
    for (unsigned i = 0; i < system->kept; i++) *(i == variable ? &dependent[i] : &other[i]) = true;
    for (unsigned i = 0; i < system->extra; i++) {
        unsigned column = system->kept + i;
        for (unsigned j = 0; j < column; j++) {
            if (!system->floors[i].of.at[j]) continue;
            dependent[column] |= dependent[j];
            other[column] |= other[j];
        }
        if (!dependent[column] || !fm_poly_uses(value, column)) continue;
        if (other[column]) return false;
        any = true;
    }
    for (unsigned i = 0; i < system->extra; i++)
        if (other[system->kept + i]) dependent[system->kept + i] = false;
    dependent[variable] = false;
    return any;
}

/* By how much the quotients grow in so many steps of the variable; the steps are made more until all do by
 * whole numbers. 0: too many. */
static int64_t find_growth(const fm_system *system, unsigned variable, const bool *dependent, int64_t *growth)
{
    int64_t steps = 1;
    memset(growth, 0, FM_COLUMNS * sizeof growth[0]);
    growth[variable] = 1;
    for (unsigned i = 0; i < system->extra; i++) {
        __int128 sum = 0;
        int64_t by = system->floors[i].by;
        if (!dependent[system->kept + i]) continue;
        for (unsigned j = 0; j < system->kept + i; j++)
            sum += (__int128)system->floors[i].of.at[j] * growth[j];
        int64_t times = by / fm_greatest_divisor(by, (int64_t)(sum % by));
        if (times > MOST_REMAINDERS / steps) return 0;
        steps *= times;
        for (unsigned j = 0; j < system->kept + i; j++) growth[j] *= times;
        sum = sum * times / by;
        if (sum > INT32_MAX || sum < INT32_MIN) return 0;
        growth[system->kept + i] = (int64_t)sum;
    }
    return steps;
}

/* The value where the variable has this remainder, by the variable itself. */
static fm_poly value_at_remainder(const fm_system *system, unsigned variable, const bool *dependent,
                                  const int64_t *growth, int64_t steps, int64_t remainder,
                                  const fm_poly *value)
{
    int64_t at[FM_COLUMNS] = {0};
    fm_poly result = fm_poly_copy(value);
    at[variable] = remainder;
    for (unsigned i = 0; i < system->extra; i++) {
        unsigned column = system->kept + i;
        __int128 sum = system->floors[i].of.at[FM_CONSTANT];
        if (!dependent[column]) continue;
        for (unsigned j = 0; j < column; j++) sum += (__int128)system->floors[i].of.at[j] * at[j];
        int64_t number = (int64_t)sum;
        if (number != sum) result.failed = true;
        at[column] = fm_floor_divide(number, system->floors[i].by);
        if (!fm_poly_uses(&result, column)) continue;
        /* growth * (variable - remainder) / steps + at */
        fm_poly whole = {0}, line = {0};
        fm_line part = {{0}};
        part.at[variable] = growth[column];
        part.at[FM_CONSTANT] = -growth[column] * remainder;
        fm_poly_add_line(&whole, &part, system->kept, 1);
        fm_poly_add(&line, &whole, 1, steps);
        fm_poly_add_number(&line, at[column]);
        fm_poly replaced = fm_poly_replaced(&result, column, &line);
        fm_poly_clear(&whole);
        fm_poly_clear(&line);
        fm_poly_clear(&result);
        result = replaced;
    }
    return result;
}

/* Where the value is the same polynomial for all remainders of the variable, its quotients are left out. */
static void leave_out_quotients(fm_counter_piece *piece, unsigned variable)
{
    bool dependent[FM_COLUMNS], same = true;
    int64_t growth[FM_COLUMNS];
    fm_poly first = {0};
    if (!only_dependent(&piece->domain, variable, &piece->value, dependent)) return;
    int64_t steps = find_growth(&piece->domain, variable, dependent, growth);
    for (int64_t i = 0; i < steps && same; i++) {
        fm_poly value =
            value_at_remainder(&piece->domain, variable, dependent, growth, steps, i, &piece->value);
        if (i == 0) {
            first = value;
            same = !first.failed;
            continue;
        }
        fm_poly_add(&value, &first, -1, 1);
        same = value.count == 0 && !value.failed;
        fm_poly_clear(&value);
    }
    if (!steps || !same) {
        fm_poly_clear(&first);
        return;
    }
    fm_poly_clear(&piece->value);
    piece->value = first;
}

static bool reduce_domain(fm_isl_work *work, fm_renewal *this, fm_counter_piece *piece, bool *empty)
{
    for (unsigned round = 0; round < MOST_ROUNDS; round++) {
        bool changed = false;
        if (!use_equalities(work, this, piece, &changed)) return false;
        if (!changed) return true;
        fm_emptiness emptiness = fm_system_simplify(work, &piece->domain, &piece->value);
        *empty = emptiness == FM_EMPTY;
        if (emptiness != FM_NOT_EMPTY) return *empty;
    }
    return true;
}

bool fm_piece_reduce(fm_isl_work *work, fm_counter_piece *piece, bool *empty)
{
    *empty = false;
    if (fm_system_columns(&piece->domain) > FM_RENEWED_COLUMNS) return true; /* as it is */
    fm_renewal *this = fm_calloc(1, sizeof *this);
    if (!this) return fm_isl_no_memory(work);
    bool done = reduce_domain(work, this, piece, empty);
    free(this);
    if (!done || *empty) return done;
    for (unsigned i = 0; i < piece->domain.kept; i++) leave_out_quotients(piece, i);
    fm_system_drop_floors(&piece->domain, &piece->value);
    return true;
}
