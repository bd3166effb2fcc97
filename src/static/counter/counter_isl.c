/* SPDX-License-Identifier: Apache-2.0 */
/* counter_isl.c - systems (counter_system.h) to isl and back: what is empty, equal or superfluous, isl knows.
 */
#include "static/counter/counter_system.h"

#include "base/memory.h"
#include "static/counter/counter_quick.h"

#include <isl/aff.h>
#include <isl/local_space.h>
#include <isl/map.h>
#include <isl/mat.h>
#include <isl/space.h>
#include <isl/val.h>
#include <stdlib.h>
#include <string.h>

static isl_mat *put_number(isl_mat *matrix, unsigned row, unsigned column, int64_t number)
{
    if (number >= INT32_MIN && number <= INT32_MAX)
        return isl_mat_set_element_si(matrix, (int)row, (int)column, (int)number);
    return isl_mat_set_element_val(matrix, (int)row, (int)column,
                                   isl_val_int_from_si(isl_mat_get_ctx(matrix), number));
}

static isl_mat *put_line(isl_mat *matrix, unsigned row, const fm_line *line, unsigned columns)
{
    for (unsigned i = 0; i < columns; i++) matrix = put_number(matrix, row, i, line->at[i]);
    return put_number(matrix, row, columns, line->at[FM_CONSTANT]);
}

/* 0 <= of - by * quotient <= by - 1, as two lines. */
static void floor_lines(const fm_system *system, unsigned index, fm_line lines[2])
{
    const fm_floor *quotient = &system->floors[index];
    lines[0] = quotient->of;
    lines[0].at[system->kept + index] = -quotient->by;
    for (unsigned i = 0; i < FM_COLUMNS; i++) lines[1].at[i] = -lines[0].at[i];
    lines[1].at[FM_CONSTANT] += quotient->by - 1;
}

isl_basic_set *fm_system_to_isl(fm_isl_work *work, const fm_system *system, const fm_line *condition)
{
    unsigned columns = fm_system_columns(system), row = 0;
    size_t inequalities = system->inequalities.count + 2u * system->extra + (condition != NULL);
    isl_mat *equal = isl_mat_alloc(work->ctx, (unsigned)system->equalities.count, columns + 1);
    isl_mat *rest = isl_mat_alloc(work->ctx, (unsigned)inequalities, columns + 1);
    for (size_t i = 0; i < system->equalities.count; i++)
        equal = put_line(equal, (unsigned)i, &system->equalities.lines[i], columns);
    for (size_t i = 0; i < system->inequalities.count; i++)
        rest = put_line(rest, row++, &system->inequalities.lines[i], columns);
    for (unsigned i = 0; i < system->extra; i++) {
        fm_line lines[2];
        floor_lines(system, i, lines);
        rest = put_line(rest, row++, &lines[0], columns);
        rest = put_line(rest, row++, &lines[1], columns);
    }
    if (condition) rest = put_line(rest, row++, condition, columns);
    return isl_basic_set_from_constraint_matrices(isl_space_set_alloc(work->ctx, 0, columns), equal, rest,
                                                  isl_dim_set, isl_dim_param, isl_dim_div, isl_dim_cst);
}

isl_basic_map *fm_system_to_isl_map(fm_isl_work *work, const fm_system *system, unsigned inputs)
{
    isl_basic_set *set = fm_system_to_isl(work, system, NULL);
    isl_basic_map *map = isl_basic_map_from_range(set);
    return isl_basic_map_move_dims(map, isl_dim_in, 0, isl_dim_out, 0, inputs);
}

fm_emptiness fm_system_emptiness(fm_isl_work *work, const fm_system *system, const fm_line *condition)
{
    fm_quick quick = fm_system_quick(system, condition, false, NULL);
    if (quick != FM_QUICK_UNKNOWN) return quick == FM_QUICK_EMPTY ? FM_EMPTY : FM_NOT_EMPTY;
    isl_basic_set *set = fm_system_to_isl(work, system, condition);
    isl_bool empty = isl_basic_set_is_empty(set);
    isl_basic_set_free(set);
    if (empty < 0) fm_isl_gave_up(work);
    return empty < 0 ? FM_EMPTINESS_FAILED : empty ? FM_EMPTY : FM_NOT_EMPTY;
}

/* A number of isl; false: it does not fit. */
static bool number_of(fm_isl_work *work, isl_val *value, int64_t *number)
{
    if (!value) return fm_isl_gave_up(work);
    bool fits =
        isl_val_is_int(value) == isl_bool_true && isl_val_n_abs_num_chunks(value, sizeof(int64_t)) <= 1;
    if (fits) {
        uint64_t chunk = 0;
        isl_val_get_abs_num_chunks(value, sizeof chunk, &chunk);
        fits = chunk <= INT64_MAX / 2;
        *number = isl_val_is_neg(value) == isl_bool_true ? -(int64_t)chunk : (int64_t)chunk;
    }
    isl_val_free(value);
    return fits || fm_isl_fail(work, FM_E_LIMIT, "the exact count was given up: numbers beyond 64 bits");
}

/* The rows of a matrix; column i of it is our column order[i], the last one the constant. Frees the matrix.
 */
static bool take_lines(fm_isl_work *work, fm_counter_lines *lines, isl_mat *matrix, unsigned columns,
                       const unsigned *order)
{
    bool done = matrix != NULL || fm_isl_gave_up(work);
    isl_size rows = isl_mat_rows(matrix);
    for (int i = 0; i < rows && done; i++) {
        fm_line *line = fm_lines_add(work, lines);
        if (!line) done = false;
        for (unsigned j = 0; j <= columns && done; j++) {
            unsigned column = j == columns ? (unsigned)FM_CONSTANT : order ? order[j] : j;
            done = number_of(work, isl_mat_get_element_val(matrix, i, (int)j), &line->at[column]);
        }
    }
    isl_mat_free(matrix);
    return done;
}

/* Is the line implied by the definition of a quotient? */
static bool says_floor(const fm_system *system, const fm_line *line)
{
    for (unsigned i = 0; i < system->extra; i++) {
        fm_line lines[2];
        if (!line->at[system->kept + i]) continue;
        floor_lines(system, i, lines);
        for (int side = 0; side < 2; side++)
            if (!memcmp(line->at, lines[side].at, FM_CONSTANT * sizeof line->at[0]) &&
                line->at[FM_CONSTANT] >= lines[side].at[FM_CONSTANT])
                return true;
    }
    return false;
}

bool fm_system_uses_floor(const fm_system *system, unsigned index)
{
    unsigned column = system->kept + index;
    for (unsigned i = index + 1; i < system->extra; i++)
        if (system->floors[i].of.at[column]) return true;
    for (size_t i = 0; i < system->equalities.count; i++)
        if (system->equalities.lines[i].at[column]) return true;
    for (size_t i = 0; i < system->inequalities.count; i++)
        if (system->inequalities.lines[i].at[column]) return true;
    return false;
}

void fm_system_drop_floor(fm_system *system, unsigned index)
{
    memmove(&system->floors[index], &system->floors[index + 1],
            (system->extra - index - 1) * sizeof *system->floors);
    system->extra--;
    fm_system_remove_column(system, system->kept + index);
}

void fm_system_drop_floors(fm_system *system, fm_poly *poly)
{
    for (unsigned i = system->extra; i-- > 0;) {
        if ((poly && fm_poly_uses(poly, system->kept + i)) || fm_system_uses_floor(system, i)) continue;
        fm_system_drop_floor(system, i);
        if (poly) fm_poly_drop_variable(poly, system->kept + i);
    }
}

fm_emptiness fm_system_tidy(fm_isl_work *work, fm_system *system)
{
    unsigned columns = fm_system_columns(system);
    fm_quick quick = fm_system_quick(system, NULL, true, NULL);
    if (quick == FM_QUICK_EMPTY) return FM_EMPTY;
    isl_basic_set *set = fm_system_to_isl(work, system, NULL);
    if (quick != FM_QUICK_FULL) set = isl_basic_set_detect_equalities(set);
    isl_bool empty = quick == FM_QUICK_UNKNOWN ? isl_basic_set_is_empty(set) : isl_bool_false;
    if (empty != isl_bool_false) {
        isl_basic_set_free(set);
        if (empty < 0) fm_isl_gave_up(work);
        return empty < 0 ? FM_EMPTINESS_FAILED : FM_EMPTY;
    }
    set = isl_basic_set_remove_redundancies(set);
    isl_size divs = isl_basic_set_dim(set, isl_dim_div);
    if (divs != 0) {
        isl_basic_set_free(set);
        if (divs < 0)
            fm_isl_gave_up(work);
        else
            fm_isl_fail(work, FM_E_LIMIT,
                        "the exact count was given up: isl found a quotient where none can be");
        return FM_EMPTINESS_FAILED;
    }
    isl_mat *equal =
        isl_basic_set_equalities_matrix(set, isl_dim_set, isl_dim_param, isl_dim_div, isl_dim_cst);
    isl_mat *rest =
        isl_basic_set_inequalities_matrix(set, isl_dim_set, isl_dim_param, isl_dim_div, isl_dim_cst);
    isl_basic_set_free(set);
    system->equalities.count = system->inequalities.count = 0;
    bool done = take_lines(work, &system->equalities, equal, columns, NULL);
    done = take_lines(work, &system->inequalities, rest, columns, NULL) && done;
    if (!done) return FM_EMPTINESS_FAILED;
    for (size_t i = system->inequalities.count; i-- > 0;)
        if (says_floor(system, &system->inequalities.lines[i])) fm_lines_remove(&system->inequalities, i);
    return FM_NOT_EMPTY;
}

fm_emptiness fm_system_simplify(fm_isl_work *work, fm_system *system, fm_poly *poly)
{
    fm_emptiness emptiness = fm_system_tidy(work, system);
    if (emptiness == FM_NOT_EMPTY) fm_system_drop_floors(system, poly);
    return emptiness;
}

/* A quotient of isl as floor(line / by), in isl's order of columns: dimensions, quotients. */
static bool take_floor(fm_isl_work *work, isl_local_space *space, unsigned index, unsigned dimensions,
                       fm_floor *quotient)
{
    isl_aff *aff = isl_local_space_get_div(space, (int)index);
    isl_val *by = isl_aff_get_denominator_val(aff);
    memset(quotient, 0, sizeof *quotient);
    bool done = aff && isl_aff_is_nan(aff) == isl_bool_false;
    if (!done) fm_isl_gave_up(work);
    for (unsigned i = 0; i < dimensions + index && done; i++) {
        isl_val *value = i < dimensions
                             ? isl_aff_get_coefficient_val(aff, isl_dim_in, (int)i)
                             : isl_aff_get_coefficient_val(aff, isl_dim_div, (int)(i - dimensions));
        done = number_of(work, isl_val_mul(value, isl_val_copy(by)), &quotient->of.at[i]);
    }
    if (done)
        done = number_of(work, isl_val_mul(isl_aff_get_constant_val(aff), isl_val_copy(by)),
                         &quotient->of.at[FM_CONSTANT]);
    isl_aff_free(aff);
    if (!done) {
        isl_val_free(by);
        return false;
    }
    return number_of(work, by, &quotient->by);
}

/* Which of our columns each of isl's columns gets: quotients of kept variables come first, the others are
 * counted like the other dimensions. */
static void arrange(fm_system *system, const fm_floor *floors, unsigned dimensions, unsigned divs,
                    unsigned kept, unsigned *order)
{
    bool counted[FM_COLUMNS] = {false};
    unsigned extra = 0, next;
    for (unsigned i = 0; i < dimensions; i++) counted[i] = i >= kept;
    for (unsigned i = 0; i < divs; i++) {
        for (unsigned j = 0; j < dimensions + i; j++)
            if (floors[i].of.at[j] && counted[j]) counted[dimensions + i] = true;
        if (!counted[dimensions + i]) order[dimensions + i] = kept + extra++;
    }
    next = kept + extra;
    for (unsigned i = 0; i < dimensions + divs; i++)
        if (counted[i])
            order[i] = next++;
        else if (i < dimensions)
            order[i] = i;
    system->kept = kept;
    system->extra = extra;
    system->counted = next - kept - extra;
}

static bool take_floors(fm_isl_work *work, fm_system *system, const fm_floor *floors, unsigned dimensions,
                        unsigned divs, const unsigned *order)
{
    if (system->extra && fm_array_reserve((void **)&system->floors, &system->floor_capacity, system->extra,
                                          sizeof *system->floors)) {
        system->extra = 0;
        return fm_isl_no_memory(work);
    }
    for (unsigned i = 0; i < divs; i++) {
        fm_line of = {{0}};
        unsigned column = order[dimensions + i];
        for (unsigned j = 0; j < dimensions + i; j++) of.at[order[j]] = floors[i].of.at[j];
        of.at[FM_CONSTANT] = floors[i].of.at[FM_CONSTANT];
        if (column < system->kept + system->extra) {
            system->floors[column - system->kept] = (fm_floor){of, floors[i].by};
            continue;
        }
        for (int side = 0; side < 2; side++) {
            fm_line *line = fm_lines_add(work, &system->inequalities);
            if (!line) return false;
            *line = of;
            line->at[column] = -floors[i].by;
            if (side == 0) continue;
            for (unsigned j = 0; j < FM_COLUMNS; j++) line->at[j] = -line->at[j];
            line->at[FM_CONSTANT] += floors[i].by - 1;
        }
    }
    return true;
}

bool fm_system_from_isl(fm_isl_work *work, fm_system *system, isl_basic_set *set, unsigned kept)
{
    unsigned order[FM_COLUMNS];
    memset(system, 0, sizeof *system);
    isl_size dimensions = isl_basic_set_dim(set, isl_dim_set), divs = isl_basic_set_dim(set, isl_dim_div);
    bool done = dimensions >= 0 && divs >= 0;
    if (!done) fm_isl_gave_up(work);
    if (done && dimensions + divs >= FM_CONSTANT)
        done = fm_isl_fail(work, FM_E_LIMIT, "the exact count was given up: more than %d unknowns at a time",
                           FM_CONSTANT - 1);
    fm_floor *floors = done ? fm_calloc((size_t)divs + 1, sizeof *floors) : NULL;
    if (done && !floors) done = fm_isl_no_memory(work);
    isl_local_space *space = done ? isl_basic_set_get_local_space(set) : NULL;
    for (int i = 0; i < divs && done; i++)
        done = take_floor(work, space, (unsigned)i, (unsigned)dimensions, &floors[i]);
    isl_local_space_free(space);
    if (done) {
        arrange(system, floors, (unsigned)dimensions, (unsigned)divs, kept, order);
        isl_mat *equal =
            isl_basic_set_equalities_matrix(set, isl_dim_set, isl_dim_div, isl_dim_param, isl_dim_cst);
        isl_mat *rest =
            isl_basic_set_inequalities_matrix(set, isl_dim_set, isl_dim_div, isl_dim_param, isl_dim_cst);
        unsigned columns = (unsigned)dimensions + (unsigned)divs;
        done = take_lines(work, &system->equalities, equal, columns, order);
        done = take_lines(work, &system->inequalities, rest, columns, order) && done;
        done = done && take_floors(work, system, floors, (unsigned)dimensions, (unsigned)divs, order);
    }
    free(floors);
    isl_basic_set_free(set);
    if (!done) fm_system_clear(system);
    return done;
}

/* A line of isl's columns (dimensions, quotients) by ours. */
static fm_line moved(const fm_line *line, unsigned count, const unsigned *columns)
{
    fm_line result = {{0}};
    for (unsigned i = 0; i < count; i++)
        if (line->at[i]) result.at[columns[i]] += line->at[i];
    result.at[FM_CONSTANT] = line->at[FM_CONSTANT];
    return result;
}

bool fm_system_value_of(fm_isl_work *work, fm_system *system, isl_aff *aff, fm_line *value)
{
    unsigned columns[FM_COLUMNS], dimensions = system->kept;
    isl_local_space *space = isl_aff_get_domain_local_space(aff);
    isl_size divs = isl_aff_dim(aff, isl_dim_div);
    isl_val *by_value = isl_aff_get_denominator_val(aff);
    bool inserted, done = divs >= 0 || fm_isl_gave_up(work);
    int64_t by = 1;
    fm_line of = {{0}};
    if (done && dimensions + (unsigned)divs >= FM_CONSTANT)
        done = fm_isl_fail(work, FM_E_LIMIT, "the exact count was given up: more than %d unknowns at a time",
                           FM_CONSTANT - 1);
    for (unsigned i = 0; i < dimensions; i++) columns[i] = i;
    for (unsigned i = 0; i < (unsigned)divs && done; i++) {
        fm_floor quotient;
        done = take_floor(work, space, i, dimensions, &quotient);
        if (!done) break;
        fm_line line = moved(&quotient.of, dimensions + i, columns);
        done = fm_system_floor(work, system, NULL, &line, quotient.by, &columns[dimensions + i], &inserted);
    }
    for (unsigned i = 0; i < dimensions + (unsigned)divs && done; i++) {
        isl_val *factor = i < dimensions
                              ? isl_aff_get_coefficient_val(aff, isl_dim_in, (int)i)
                              : isl_aff_get_coefficient_val(aff, isl_dim_div, (int)(i - dimensions));
        done = number_of(work, isl_val_mul(factor, isl_val_copy(by_value)), &of.at[i]);
    }
    if (done)
        done = number_of(work, isl_val_mul(isl_aff_get_constant_val(aff), isl_val_copy(by_value)),
                         &of.at[FM_CONSTANT]);
    isl_local_space_free(space);
    isl_aff_free(aff);
    if (!done) {
        isl_val_free(by_value);
        return false;
    }
    if (!number_of(work, by_value, &by)) return false;
    fm_line line = moved(&of, dimensions + (unsigned)divs, columns);
    return fm_system_quotient(work, system, NULL, &line, by, value, &inserted);
}
