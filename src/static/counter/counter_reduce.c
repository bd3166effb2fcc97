/* SPDX-License-Identifier: Apache-2.0 */
/* counter_reduce.c - pieces by fewer variables and quotients, as their equalities say (counter_system.h). */
#include "static/counter/counter_system.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* ---- fewer variables ---- */

static bool is_zero(const fm_line *line)
{
    for (unsigned i = 0; i < FM_COLUMNS; i++)
        if (line->at[i]) return false;
    return true;
}

/* 0 <= of - by * quotient <= by - 1 */
static bool add_definition(fm_isl_work *work, fm_system *system, const fm_line *of, int64_t by,
                           const fm_line *quotient)
{
    fm_line *low = fm_lines_add(work, &system->inequalities);
    if (!low) return false;
    *low = *of;
    if (!fm_line_subtract(work, low, by, quotient)) return false;
    fm_line line = *low, *high = fm_lines_add(work, &system->inequalities);
    if (!high) return false;
    for (unsigned i = 0; i < FM_COLUMNS; i++) high->at[i] = -line.at[i];
    high->at[FM_CONSTANT] += by - 1;
    return true;
}

static bool renew_floors(fm_isl_work *work, fm_renewal *this, const fm_system *old, fm_system *system)
{
    for (unsigned i = 0; i < old->extra; i++) {
        bool inserted;
        unsigned column = old->kept + i;
        fm_line of;
        if (!fm_line_composed(work, this->lines, &old->floors[i].of, column, &of)) return false;
        if (column == this->replaced) {
            fm_line *line = &this->lines[column];
            if (this->by) {
                if (!fm_line_composed(work, this->lines, this->by, column, line)) return false;
            } else {
                memset(line, 0, sizeof *line);
                line->at[this->variable] = 1;
            }
            if (!add_definition(work, system, &of, old->floors[i].by, line)) return false;
        } else if (!fm_system_quotient(work, system, NULL, &of, old->floors[i].by, &this->lines[column],
                                       &inserted)) {
            return false;
        }
    }
    return true;
}

static bool renew_lines(fm_isl_work *work, const fm_renewal *this, const fm_system *old, fm_system *system)
{
    const fm_counter_lines *from[2] = {&old->equalities, &old->inequalities};
    fm_counter_lines *to[2] = {&system->equalities, &system->inequalities};
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < from[k]->count; i++) {
            fm_line line, *new_line;
            if (!fm_line_composed(work, this->lines, &from[k]->lines[i], old->kept + old->extra, &line))
                return false;
            if (is_zero(&line)) continue;
            new_line = fm_lines_add(work, to[k]);
            if (!new_line) return false;
            *new_line = line;
        }
    return true;
}

/* Old columns are first moved out of the way, then replaced one by one. */
void fm_renew_value(const fm_renewal *this, const fm_system *old_system, const fm_system *system,
                    fm_poly *value)
{
    const unsigned old = fm_system_columns(old_system), columns = fm_system_columns(system);
    if (fm_poly_is_line(value)) {
        fm_poly replaced = fm_poly_line_replaced(value, this->lines, columns);
        fm_poly_clear(value);
        *value = replaced;
        return;
    }
    for (size_t i = 0; i < value->count; i++) {
        uint8_t *powers = value->terms[i].powers;
        memmove(powers + FM_COLUMNS / 2, powers, old);
        memset(powers, 0, FM_COLUMNS / 2);
    }
    for (unsigned i = 0; i < old; i++) {
        fm_poly line = {0};
        if (!fm_poly_uses(value, FM_COLUMNS / 2 + i)) continue;
        fm_poly_add_line(&line, &this->lines[i], columns, 1);
        fm_poly replaced = fm_poly_replaced(value, FM_COLUMNS / 2 + i, &line);
        fm_poly_clear(&line);
        fm_poly_clear(value);
        *value = replaced;
    }
}

bool fm_renew(fm_isl_work *work, fm_renewal *this, fm_counter_piece *piece)
{
    fm_system system = {.kept = this->kept};
    const fm_system *old = &piece->domain;
    bool done = renew_floors(work, this, old, &system) && renew_lines(work, this, old, &system);
    unsigned columns = fm_system_columns(&system);
    if (done && columns > FM_RENEWED_COLUMNS)
        done = fm_isl_fail(work, FM_E_LIMIT, "the exact count was given up: more than %d unknowns at a time",
                           FM_RENEWED_COLUMNS);
    if (!done) {
        fm_system_clear(&system);
        return false;
    }
    fm_renew_value(this, old, &system, &piece->value);
    fm_system_clear(&piece->domain);
    piece->domain = system;
    return !piece->value.failed ||
           fm_isl_fail(work, FM_E_LIMIT, "the exact count was given up: its formulas become too large");
}

/* The column solved for: column = the line. */
static fm_line solved_line(const fm_line *equality, unsigned column)
{
    fm_line line = {{0}};
    int64_t sign = equality->at[column]; /* 1 or -1 */
    for (unsigned i = 0; i < FM_COLUMNS; i++)
        if (i != column) line.at[i] = -sign * equality->at[i];
    return line;
}

/* The last variable with factor 1 or -1; `kept`: there is none. */
static unsigned unit_variable(const fm_line *line, unsigned kept)
{
    for (unsigned i = kept; i-- > 0;)
        if (line->at[i] == 1 || line->at[i] == -1) return i;
    return kept;
}

static void keep_variables(fm_renewal *this, unsigned kept)
{
    memset(this, 0, sizeof *this);
    this->kept = kept;
    this->replaced = FM_COLUMNS;
    for (unsigned i = 0; i < kept; i++) this->lines[i].at[i] = 1;
}

bool fm_renewal_find(fm_renewal *this, const fm_system *system, const fm_line *equality)
{
    fm_line *line = &this->sum;
    unsigned kept = system->kept, last = kept + system->extra, quotients = 0;
    while (last > 0 && !equality->at[last - 1]) last--;
    if (!last--) return false;
    for (unsigned i = kept; i <= last; i++) quotients += equality->at[i] != 0;
    unsigned variable = unit_variable(equality, kept);
    keep_variables(this, kept);
    if (last >= kept && (equality->at[last] == 1 || equality->at[last] == -1)) {
        *line = solved_line(equality, last);
        this->replaced = last;
        this->by = line;
        return true;
    }
    if (variable == kept || quotients > 1) return false;
    *line = solved_line(equality, variable);
    if (quotients) { /* it takes the place of the variable */
        this->replaced = last;
        this->variable = variable;
        line->at[variable] = line->at[last];
        line->at[last] = 0;
        this->lines[variable] = *line;
        return true;
    }
    this->variable = variable;
    memmove(&line->at[variable], &line->at[variable + 1], (kept - variable - 1) * sizeof line->at[0]);
    line->at[kept - 1] = 0;
    for (unsigned i = variable + 1; i < kept; i++) {
        memset(&this->lines[i], 0, sizeof this->lines[i]);
        this->lines[i].at[i - 1] = 1;
    }
    this->lines[variable] = *line;
    this->kept--;
    return true;
}

void fm_renewal_remainder(fm_renewal *this, const fm_system *system, unsigned variable, int64_t by,
                          int64_t remainder)
{
    keep_variables(this, system->kept);
    this->lines[variable].at[variable] = by;
    this->lines[variable].at[FM_CONSTANT] = remainder;
}

/* ---- fewer quotients ---- */

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
    int64_t steps;
    if (!fm_system_growth(&piece->domain, variable, MOST_REMAINDERS, dependent, growth, &steps)) return;
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
    if (!same) {
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
