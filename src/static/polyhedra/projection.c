/* SPDX-License-Identifier: Apache-2.0 */
/* projection.c - rows and affine forms, checked; and the points of a system of rows, variable by variable. */
#include "static/polyhedra/polyhedra.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* ---- rows ---- */

enum { MOST_ROUNDS = 24 }; /* of tightening: rows that shave off one point at a time are left alone */

static bool add_product(int64_t *to, int64_t a, int64_t b)
{
    __int128 sum = *to + (__int128)a * b;
    if (sum > FM_AFFINE_MOST || sum < -FM_AFFINE_MOST) return false;
    *to = (int64_t)sum;
    return true;
}

bool fm_affine_add(fm_row *to, const fm_row *form, int64_t factor)
{
    for (unsigned i = 0; i < FM_REFERENCE_DEPTH; i++)
        if (form->factors[i] && !add_product(&to->factors[i], form->factors[i], factor)) return false;
    return add_product(&to->constant, form->constant, factor);
}

bool fm_affine_add_constant(fm_row *to, int64_t number)
{
    return add_product(&to->constant, number, 1);
}

bool fm_affine_equal(const fm_row *left, const fm_row *right)
{
    for (unsigned i = 0; i < FM_REFERENCE_DEPTH; i++)
        if (left->factors[i] != right->factors[i]) return false;
    return left->constant == right->constant;
}

fm_row_kind fm_row_normalise(fm_row *row)
{
    int64_t divisor = 0;
    for (unsigned i = 0; i < FM_REFERENCE_DEPTH; i++) {
        if (row->factors[i]) divisor = fm_greatest_divisor(divisor, row->factors[i]);
        if (divisor == 1) return FM_ROW_PLAIN;
    }
    if (!divisor) return row->constant >= 0 ? FM_ROW_ALWAYS : FM_ROW_NEVER;
    for (unsigned i = 0; i < FM_REFERENCE_DEPTH; i++) row->factors[i] /= divisor;
    row->constant = fm_floor_divide(row->constant, divisor);
    return FM_ROW_PLAIN;
}

void fm_affine_range(const fm_row *form, unsigned depth, const int64_t *least, const int64_t *most,
                     __int128 *low, __int128 *high)
{
    *low = *high = form->constant;
    for (unsigned i = 0; i < depth; i++) {
        __int128 factor = form->factors[i];
        if (!factor) continue;
        *low += factor * (factor > 0 ? least[i] : most[i]);
        *high += factor * (factor > 0 ? most[i] : least[i]);
    }
}

/* One row; -1: no point, else whether the box changed. */
static int tighten_by(const fm_row *row, unsigned depth, int64_t *least, int64_t *most)
{
    __int128 low, high;
    fm_affine_range(row, depth, least, most, &low, &high);
    if (high < 0) return -1;
    if (low >= 0) return 0;
    int changed = 0;
    for (unsigned i = 0; i < depth; i++) {
        __int128 factor = row->factors[i];
        if (factor > 0) { /* factor * x >= -rest */
            __int128 rest = high - factor * most[i];
            __int128 bound = -fm_floor_divide_wide(rest, factor);
            if (bound > least[i]) {
                if (bound > most[i]) return -1;
                least[i] = (int64_t)bound;
                changed = 1;
            }
        } else if (factor < 0) {
            __int128 rest = high - factor * least[i];
            __int128 bound = fm_floor_divide_wide(rest, -factor);
            if (bound < most[i]) {
                if (bound < least[i]) return -1;
                most[i] = (int64_t)bound;
                changed = 1;
            }
        }
    }
    return changed;
}

bool fm_box_tighten(const fm_row *rows, size_t count, unsigned depth, int64_t *least, int64_t *most)
{
    for (unsigned i = 0; i < depth; i++)
        if (least[i] > most[i]) return false;
    int changed = 1;
    for (int round = 0; changed && round < MOST_ROUNDS; round++) {
        changed = 0;
        for (size_t i = 0; i < count; i++) {
            int now = tighten_by(&rows[i], depth, least, most);
            if (now < 0) return false;
            changed |= now;
        }
    }
    return true;
}

/* ---- elimination ---- */

/*
 * A variable is eliminated by adding every row that bounds it from below to every row that bounds it from
 * above. For p * v >= -f and q * v <= g (p, q > 0) the sum p * g + q * f >= 0 is exact over the real
 * numbers; over whole numbers there is surely a v where it is at least (p - 1)(q - 1). So an elimination is
 * exact where one of the two factors is 1, or where the sum has that value everywhere in the box. Rows that
 * hold everywhere in the box are left out, rows that only repeat another are too.
 */

enum { MOST_ROWS = 300 }; /* of one level; beyond it rows are left out, which makes it wider */

typedef struct row_set {
    unsigned columns; /* all of the projection's */
    const int64_t *least, *most;
    size_t count, capacity;
    fm_line *rows;
    bool empty, incomplete;
} row_set;

static bool in_range(__int128 value)
{
    return value <= FM_AFFINE_MOST && value >= -FM_AFFINE_MOST;
}

static void range_of(const row_set *set, const fm_line *row, __int128 *low, __int128 *high)
{
    *low = *high = row->at[FM_CONSTANT];
    for (unsigned c = 0; c < set->columns; c++) {
        __int128 factor = row->at[c];
        if (!factor) continue;
        *low += factor * (factor > 0 ? set->least[c] : set->most[c]);
        *high += factor * (factor > 0 ? set->most[c] : set->least[c]);
    }
}

/* -1: no memory. The row is divided by the greatest divisor of its factors. A derived one may be left out. */
static int put_row(row_set *set, const fm_line *row, bool derived)
{
    __int128 low, high;
    range_of(set, row, &low, &high);
    if (low >= 0) return 0;
    if (high < 0) set->empty = true;
    for (size_t i = 0; i < set->count; i++) {
        if (memcmp(set->rows[i].at, row->at, set->columns * sizeof row->at[0]) != 0) continue;
        if (row->at[FM_CONSTANT] < set->rows[i].at[FM_CONSTANT])
            set->rows[i].at[FM_CONSTANT] = row->at[FM_CONSTANT];
        return 0;
    }
    if (derived && (!in_range(low) || !in_range(high) || set->count >= MOST_ROWS)) {
        set->incomplete = true;
        return 0;
    }
    if (fm_array_reserve((void **)&set->rows, &set->capacity, set->count + 1, sizeof *row)) return -1;
    set->rows[set->count++] = *row;
    return 0;
}

static int put_wide(row_set *set, const __int128 *factors, __int128 constant, bool derived)
{
    __int128 divisor = 0;
    for (unsigned c = 0; c < set->columns; c++) {
        __int128 a = factors[c] < 0 ? -factors[c] : factors[c], b = divisor;
        while (b) {
            __int128 rest = a % b;
            a = b;
            b = rest;
        }
        divisor = a;
        if (divisor == 1) break;
    }
    if (!divisor) {
        if (constant < 0) set->empty = true;
        return 0;
    }
    fm_line row = {0};
    constant = divisor == 1 ? constant : fm_floor_divide_wide(constant, divisor);
    if (!in_range(constant)) {
        set->incomplete = true;
        return 0;
    }
    row.at[FM_CONSTANT] = (int64_t)constant;
    for (unsigned c = 0; c < set->columns; c++) {
        __int128 factor = factors[c] / divisor;
        if (!in_range(factor)) {
            set->incomplete = true;
            return 0;
        }
        row.at[c] = (int64_t)factor;
    }
    return put_row(set, &row, derived);
}

/* Adds low's and high's rows so that the column vanishes. */
static int combine_rows(row_set *to, const fm_line *low, const fm_line *high, unsigned column, bool *exact)
{
    const __int128 p = low->at[column], q = -(__int128)high->at[column];
    __int128 factors[FM_PROJECTION_COLUMNS], constant = p * high->at[FM_CONSTANT] + q * low->at[FM_CONSTANT];
    for (unsigned c = 0; c < to->columns; c++) factors[c] = p * high->at[c] + q * low->at[c];
    if (p != 1 && q != 1) {
        __int128 least = constant;
        for (unsigned c = 0; c < to->columns; c++)
            least += factors[c] * (factors[c] > 0 ? to->least[c] : to->most[c]);
        if (least < (p - 1) * (q - 1)) *exact = false;
    }
    return put_wide(to, factors, constant, true);
}

static bool opposite_rows(const fm_line *left, const fm_line *right, unsigned columns)
{
    if (left->at[FM_CONSTANT] != -right->at[FM_CONSTANT]) return false;
    for (unsigned c = 0; c < columns; c++)
        if (left->at[c] != -right->at[c]) return false;
    return true;
}

/* A pair of rows that is an equation with factor 1 for the column: then only these need to be added. */
static bool find_equation(const row_set *set, unsigned column, size_t *low, size_t *high)
{
    for (size_t i = 0; i < set->count; i++) {
        if (set->rows[i].at[column] != 1) continue;
        for (size_t k = 0; k < set->count; k++)
            if (opposite_rows(&set->rows[i], &set->rows[k], set->columns)) {
                *low = i;
                *high = k;
                return true;
            }
    }
    return false;
}

static int eliminate_column(const row_set *from, row_set *to, unsigned column, bool *exact)
{
    size_t low = 0, high = 0;
    const bool equation = find_equation(from, column, &low, &high);
    *exact = true;
    to->count = 0;
    to->incomplete = false;
    to->empty = from->empty;
    for (size_t i = 0; i < from->count; i++)
        if (!from->rows[i].at[column] && put_row(to, &from->rows[i], false)) return -1;
    for (size_t i = 0; i < from->count; i++) {
        if (from->rows[i].at[column] <= 0) continue;
        for (size_t k = 0; k < from->count; k++) {
            if (from->rows[k].at[column] >= 0) continue;
            if (equation && i != low && k != high) continue;
            if (combine_rows(to, &from->rows[i], &from->rows[k], column, exact)) return -1;
        }
    }
    /* The box bounds it too: rows that only say what it says were left out. */
    fm_line bound = {.at[FM_CONSTANT] = from->most[column]};
    bound.at[column] = -1;
    for (size_t i = 0; i < from->count; i++)
        if (from->rows[i].at[column] > 0 && combine_rows(to, &from->rows[i], &bound, column, exact))
            return -1;
    bound.at[FM_CONSTANT] = -from->least[column];
    bound.at[column] = 1;
    for (size_t i = 0; i < from->count; i++)
        if (from->rows[i].at[column] < 0 && combine_rows(to, &bound, &from->rows[i], column, exact))
            return -1;
    if (to->incomplete) *exact = false;
    return 0;
}

/* The rows of a level: those that have the last column in them (all, for the level of the parameters). */
static int keep_level(fm_projection *projection, fm_arena *arena, unsigned number, const row_set *set)
{
    fm_projection_level *level = &projection->levels[number];
    const unsigned columns = projection->parameters + number;
    level->rows = fm_arena_allocate(arena, set->count + 1, (columns + 1) * sizeof level->rows[0]);
    if (!level->rows) return -1;
    for (size_t i = 0; i < set->count; i++) {
        if (number && !set->rows[i].at[columns - 1]) continue;
        int64_t *row = level->rows + level->count++ * (columns + 1);
        row[0] = set->rows[i].at[FM_CONSTANT];
        memcpy(row + 1, set->rows[i].at, columns * sizeof row[0]);
    }
    return 0;
}

static int build_levels(fm_projection *projection, fm_arena *arena, const fm_line *rows, size_t count)
{
    const unsigned columns = projection->parameters + projection->variables;
    row_set set = {.columns = columns, .least = projection->least, .most = projection->most}, next = set;
    int failed = 0;
    bool exact = true;
    projection->complete = true;
    for (size_t i = 0; i < count && !failed; i++) {
        __int128 factors[FM_PROJECTION_COLUMNS];
        for (unsigned c = 0; c < columns; c++) factors[c] = rows[i].at[c];
        failed = put_wide(&set, factors, rows[i].at[FM_CONSTANT], false);
    }
    for (unsigned level = projection->variables; !failed; level--) {
        projection->levels[level].exact = exact;
        failed = keep_level(projection, arena, level, &set);
        if (!level || failed) break;
        bool now;
        failed = eliminate_column(&set, &next, projection->parameters + level - 1, &now);
        exact = exact && now;
        if (next.incomplete) projection->complete = false;
        row_set swap = set;
        set = next;
        next = swap;
    }
    projection->empty = set.empty;
    free(set.rows);
    free(next.rows);
    return failed;
}

fm_status fm_projection_create(fm_projection **projection, fm_arena *arena, unsigned parameters,
                               unsigned variables, const fm_line *rows, size_t count, const int64_t *least,
                               const int64_t *most, fm_error *error)
{
    const unsigned columns = parameters + variables;
    FM_ASSERT(columns <= FM_PROJECTION_COLUMNS);
    fm_projection *made = fm_arena_allocate(arena, 1, sizeof *made);
    if (made) {
        made->parameters = parameters;
        made->variables = variables;
        made->least = fm_arena_allocate(arena, columns, sizeof *least);
        made->most = fm_arena_allocate(arena, columns, sizeof *most);
        made->levels = fm_arena_allocate(arena, variables + 1, sizeof made->levels[0]);
    }
    if (!made || !made->least || !made->most || !made->levels)
        return fm_fail_memory(error, columns * sizeof *least, "the bounds of a loop");
    if (columns) {
        memcpy(made->least, least, columns * sizeof *least);
        memcpy(made->most, most, columns * sizeof *most);
    }
    if (build_levels(made, arena, rows, count))
        return fm_fail_memory(error, count * sizeof *rows, "the bounds of a loop");
    *projection = made;
    return FM_OK;
}

fm_status fm_projection_of_reference(fm_projection **projection, fm_arena *arena,
                                     const fm_reference *reference, fm_error *error)
{
    fm_line rows[reference->row_count + 1];
    memset(rows, 0, sizeof rows);
    for (size_t i = 0; i < reference->row_count; i++) {
        rows[i].at[FM_CONSTANT] = reference->rows[i].constant;
        memcpy(rows[i].at, reference->rows[i].factors, sizeof reference->rows[i].factors);
    }
    return fm_projection_create(projection, arena, 0, reference->depth, rows, reference->row_count,
                                reference->least, reference->most, error);
}

fm_search_result fm_projection_search(const fm_projection *projection, unsigned from, bool last,
                                      int64_t *values, uint64_t *budget)
{
    if (from == projection->variables) return FM_SEARCH_FOUND;
    int64_t low, high;
    if (!fm_projection_bounds(projection, from, values, &low, &high)) return FM_SEARCH_NONE;
    const bool exact = projection->levels[from + 1].exact;
    int64_t *at = &values[projection->parameters + from];
    for (int64_t count = 0; count <= high - low; count++) {
        if (!*budget) return FM_SEARCH_GIVEN_UP;
        --*budget;
        *at = last ? high - count : low + count;
        fm_search_result result = fm_projection_search(projection, from + 1, last, values, budget);
        if (result != FM_SEARCH_NONE || exact) return result;
    }
    return FM_SEARCH_NONE;
}

fm_status fm_form_extreme(const fm_row *rows, size_t count, unsigned depth, const int64_t *least,
                          const int64_t *most, const fm_row *form, bool largest, uint64_t budget,
                          fm_search_result *result, int64_t *value, int64_t *point, fm_error *error)
{
    /* The form's value, without constant and common divisor, is the first variable. */
    fm_line wide[2 + count];
    int64_t lows[FM_REFERENCE_DEPTH + 1], highs[FM_REFERENCE_DEPTH + 1], values[FM_REFERENCE_DEPTH + 1];
    int64_t divisor = 0;
    for (unsigned i = 0; i < depth; i++) divisor = fm_greatest_divisor(divisor, form->factors[i]);
    if (!divisor) divisor = 1;
    memset(wide, 0, (2 + count) * sizeof wide[0]);
    wide[0].at[0] = 1;
    wide[1].at[0] = -1;
    __int128 low = 0, high = 0;
    for (unsigned i = 0; i < depth; i++) {
        const int64_t factor = form->factors[i] / divisor;
        wide[0].at[i + 1] = -factor;
        wide[1].at[i + 1] = factor;
        low += (__int128)factor * (factor > 0 ? least[i] : most[i]);
        high += (__int128)factor * (factor > 0 ? most[i] : least[i]);
        lows[i + 1] = least[i];
        highs[i + 1] = most[i];
    }
    lows[0] = (int64_t)low;
    highs[0] = (int64_t)high;
    for (size_t r = 0; r < count; r++) {
        wide[2 + r].at[FM_CONSTANT] = rows[r].constant;
        memcpy(&wide[2 + r].at[1], rows[r].factors, depth * sizeof(int64_t));
    }
    fm_arena *arena = fm_arena_create();
    fm_projection *projection = NULL;
    fm_status status =
        arena ? fm_projection_create(&projection, arena, 0, depth + 1, wide, 2 + count, lows, highs, error)
              : fm_fail_memory(error, sizeof wide, "the bounds of a loop");
    if (status == FM_OK) {
        *result = !fm_projection_possible(projection, values)
                      ? FM_SEARCH_NONE
                      : fm_projection_search(projection, 0, largest, values, &budget);
        if (*result == FM_SEARCH_FOUND) {
            *value = values[0] * divisor + form->constant;
            memcpy(point, values + 1, depth * sizeof(int64_t));
        }
    }
    fm_arena_destroy(arena);
    return status;
}
