/* SPDX-License-Identifier: Apache-2.0 */
/* counter_system.c - see counter_system.h. What isl is asked is in counter_isl.c. */
#include "static/counter/counter_system.h"

#include "base/memory.h"
#include "static/polyhedra/rounding.h"

#include <stdlib.h>
#include <string.h>

void fm_system_clear(fm_system *system)
{
    free(system->equalities.lines);
    free(system->inequalities.lines);
    free(system->floors);
    memset(system, 0, sizeof *system);
}

static bool lines_copy(fm_isl_work *work, fm_counter_lines *copy, const fm_counter_lines *lines)
{
    if (!lines->count) return true;
    if (fm_array_reserve((void **)&copy->lines, &copy->capacity, lines->count + 4, sizeof *lines->lines))
        return fm_isl_no_memory(work);
    memcpy(copy->lines, lines->lines, lines->count * sizeof *lines->lines);
    copy->count = lines->count;
    return true;
}

bool fm_system_copy(fm_isl_work *work, fm_system *copy, const fm_system *system)
{
    *copy = (fm_system){.kept = system->kept, .extra = system->extra, .counted = system->counted};
    bool done = lines_copy(work, &copy->equalities, &system->equalities) &&
                lines_copy(work, &copy->inequalities, &system->inequalities);
    if (done && system->extra) {
        if (fm_array_reserve((void **)&copy->floors, &copy->floor_capacity, system->extra,
                             sizeof *copy->floors))
            done = fm_isl_no_memory(work);
        else
            memcpy(copy->floors, system->floors, system->extra * sizeof *copy->floors);
    }
    if (!done) fm_system_clear(copy);
    return done;
}

fm_line *fm_lines_add(fm_isl_work *work, fm_counter_lines *lines)
{
    if (fm_array_reserve((void **)&lines->lines, &lines->capacity, lines->count + 1, sizeof *lines->lines)) {
        fm_isl_no_memory(work);
        return NULL;
    }
    fm_line *line = &lines->lines[lines->count++];
    memset(line, 0, sizeof *line);
    return line;
}

void fm_lines_remove(fm_counter_lines *lines, size_t index)
{
    lines->lines[index] = lines->lines[--lines->count];
}

static void insert_at(fm_line *line, unsigned column)
{
    memmove(&line->at[column + 1], &line->at[column], (FM_CONSTANT - 1 - column) * sizeof line->at[0]);
    line->at[column] = 0;
}

void fm_line_remove_column(fm_line *line, unsigned column)
{
    memmove(&line->at[column], &line->at[column + 1], (FM_CONSTANT - 1 - column) * sizeof line->at[0]);
    line->at[FM_CONSTANT - 1] = 0;
}

bool fm_system_insert_column(fm_isl_work *work, fm_system *system, unsigned column)
{
    if (fm_system_columns(system) + 1 >= FM_CONSTANT)
        return fm_isl_fail(work, FM_E_LIMIT, "the exact count was given up: more than %d unknowns at a time",
                           FM_CONSTANT - 1);
    for (size_t i = 0; i < system->equalities.count; i++) insert_at(&system->equalities.lines[i], column);
    for (size_t i = 0; i < system->inequalities.count; i++) insert_at(&system->inequalities.lines[i], column);
    for (unsigned i = 0; i < system->extra; i++) insert_at(&system->floors[i].of, column);
    return true;
}

void fm_system_remove_column(fm_system *system, unsigned column)
{
    for (size_t i = 0; i < system->equalities.count; i++)
        fm_line_remove_column(&system->equalities.lines[i], column);
    for (size_t i = 0; i < system->inequalities.count; i++)
        fm_line_remove_column(&system->inequalities.lines[i], column);
    for (unsigned i = 0; i < system->extra; i++) fm_line_remove_column(&system->floors[i].of, column);
}

bool fm_line_subtract(fm_isl_work *work, fm_line *target, int64_t factor, const fm_line *line)
{
    bool overflow = false;
    for (unsigned i = 0; i < FM_COLUMNS; i++) {
        int64_t product;
        if (!line->at[i]) continue;
        overflow |= __builtin_mul_overflow(factor, line->at[i], &product);
        overflow |= __builtin_sub_overflow(target->at[i], product, &target->at[i]);
    }
    if (overflow) fm_isl_fail(work, FM_E_LIMIT, "the exact count was given up: numbers beyond 64 bits");
    return !overflow;
}

bool fm_system_floor(fm_isl_work *work, fm_system *system, fm_poly *poly, const fm_line *of, int64_t by,
                     unsigned *column, bool *inserted)
{
    *inserted = false;
    for (unsigned i = 0; i < system->extra; i++)
        if (system->floors[i].by == by && !memcmp(&system->floors[i].of, of, sizeof *of)) {
            *column = system->kept + i;
            return true;
        }
    *column = system->kept + system->extra;
    if (fm_array_reserve((void **)&system->floors, &system->floor_capacity, system->extra + 1,
                         sizeof *system->floors))
        return fm_isl_no_memory(work);
    if (!fm_system_insert_column(work, system, *column)) return false;
    if (poly) fm_poly_insert_variable(poly, *column);
    system->floors[system->extra++] = (fm_floor){*of, by};
    *inserted = true;
    return true;
}

bool fm_system_quotient(fm_isl_work *work, fm_system *system, fm_poly *poly, const fm_line *of, int64_t by,
                        fm_line *quotient, bool *inserted)
{
    unsigned known = system->kept + system->extra, column;
    bool whole = true;
    int64_t common = by;
    fm_line rest = {{0}};
    *inserted = false;
    memset(quotient, 0, sizeof *quotient);
    for (unsigned i = 0; i < known; i++) common = fm_greatest_divisor(common, of->at[i]);
    by /= common;
    for (unsigned i = 0; i < known; i++) {
        int64_t factor = of->at[i] / common;
        quotient->at[i] = fm_floor_divide(factor, by);
        rest.at[i] = factor - quotient->at[i] * by;
        if (rest.at[i]) whole = false;
    }
    int64_t constant = fm_floor_divide(of->at[FM_CONSTANT], common);
    quotient->at[FM_CONSTANT] = fm_floor_divide(constant, by);
    rest.at[FM_CONSTANT] = constant - quotient->at[FM_CONSTANT] * by;
    if (whole) return true;
    /* Of a quotient and its opposite only one is used: -floor((by - 1 - rest) / by) is the same. */
    unsigned first = 0;
    while (!rest.at[first]) first++;
    int64_t sign = 1;
    if (rest.at[first] > by - rest.at[first]) {
        sign = -1;
        for (unsigned i = 0; i < known; i++) {
            if (!rest.at[i]) continue;
            quotient->at[i] += 1; /* by - rest instead of -rest */
            rest.at[i] = by - rest.at[i];
        }
        rest.at[FM_CONSTANT] = by - 1 - rest.at[FM_CONSTANT];
    }
    if (!fm_system_floor(work, system, poly, &rest, by, &column, inserted)) return false;
    quotient->at[column] += sign;
    return true;
}

/* 62 products of 64 bits each fit 128 bits but for a few numbers next to 2^63, which never come here: factors
 * from isl are below 2^62. */
bool fm_line_value(const fm_line *line, const int64_t *values, unsigned columns, int64_t *value)
{
    __int128 sum = line->at[FM_CONSTANT];
    for (unsigned i = 0; i < columns; i++) sum += (__int128)line->at[i] * values[i];
    *value = (int64_t)sum;
    return sum == *value;
}

bool fm_system_extend_point(const fm_system *system, int64_t *values)
{
    for (unsigned i = 0; i < system->extra; i++) {
        int64_t sum;
        if (!fm_line_value(&system->floors[i].of, values, system->kept + i, &sum)) return false;
        values[system->kept + i] = fm_floor_divide(sum, system->floors[i].by);
    }
    return true;
}

bool fm_system_holds(const fm_system *system, const int64_t *values)
{
    unsigned columns = system->kept + system->extra;
    int64_t sum;
    for (size_t i = 0; i < system->equalities.count; i++)
        if (!fm_line_value(&system->equalities.lines[i], values, columns, &sum) || sum != 0) return false;
    for (size_t i = 0; i < system->inequalities.count; i++)
        if (!fm_line_value(&system->inequalities.lines[i], values, columns, &sum) || sum < 0) return false;
    return true;
}
