/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counter_quick.c - Equalities replace variables that have factor 1 in them. What is left is narrowed down:
 * each condition bounds each of its variables by what the others can be at most. Then one variable after the
 * other gets a value in the middle of what is left for it, and the others are narrowed down again.
 *
 * No equality is hidden where, for each variable, there is another point that differs from the first one in
 * this variable and in later ones only: those differences are independent, and as many as there are
 * variables.
 */
#include "static/counter/counter_system.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_COLUMNS = 32, MOST_LINES = 80, MOST_ROUNDS = 12 };

static const int64_t NO_BOUND = (int64_t)1 << 60, LARGEST = (int64_t)1 << 40;

typedef struct quick_line {
    fm_line of;
    uint8_t used[MOST_COLUMNS]; /* columns with a factor */
    unsigned count;
    bool equality, gone;
} quick_line;

typedef struct range {
    int64_t low, high;
} range;

typedef struct quick_system {
    unsigned columns, line_count;
    quick_line lines[MOST_LINES];
    uint8_t replaced[MOST_COLUMNS]; /* variables, in the order in which they were replaced … */
    uint8_t by[MOST_COLUMNS];       /* … by these lines */
    unsigned replaced_count;
    bool is_replaced[MOST_COLUMNS];
    bool equalities;             /* some are left */
    uint8_t order[MOST_COLUMNS]; /* in which variables get values: those that are not replaced */
    unsigned free_count;
} quick_system;

typedef enum outcome { GOES_ON, IS_EMPTY, TOO_HARD } outcome;

/* ---- the lines ---- */

static bool add_line(quick_system *this, const fm_line *line, int64_t sign, bool equality)
{
    if (this->line_count == MOST_LINES) return false;
    quick_line *added = &this->lines[this->line_count++];
    added->equality = equality;
    added->gone = false;
    for (unsigned i = 0; i <= this->columns; i++) {
        int64_t number = line->at[i < this->columns ? i : (unsigned)FM_CONSTANT];
        if (number > LARGEST || number < -LARGEST) return false;
        added->of.at[i < this->columns ? i : (unsigned)FM_CONSTANT] = sign * number;
    }
    return true;
}

/* 0 <= of - by * quotient <= by - 1 */
static bool add_floor(quick_system *this, const fm_system *system, unsigned index)
{
    fm_line line = system->floors[index].of;
    line.at[system->kept + index] = -system->floors[index].by;
    if (!add_line(this, &line, 1, false) || !add_line(this, &line, -1, false)) return false;
    this->lines[this->line_count - 1].of.at[FM_CONSTANT] += system->floors[index].by - 1;
    return true;
}

static bool load_system(quick_system *this, const fm_system *system, const fm_line *condition)
{
    this->columns = fm_system_columns(system);
    this->line_count = this->replaced_count = 0;
    this->equalities = false;
    if (this->columns > MOST_COLUMNS) return false;
    memset(this->is_replaced, 0, sizeof this->is_replaced);
    for (size_t i = 0; i < system->equalities.count; i++)
        if (!add_line(this, &system->equalities.lines[i], 1, true)) return false;
    for (size_t i = 0; i < system->inequalities.count; i++)
        if (!add_line(this, &system->inequalities.lines[i], 1, false)) return false;
    for (unsigned i = 0; i < system->extra; i++)
        if (!add_floor(this, system, i)) return false;
    return !condition || add_line(this, condition, 1, false);
}

/* Divides a line by what divides its factors. */
static outcome normalize_line(const quick_system *this, quick_line *line)
{
    int64_t common = 0;
    for (unsigned i = 0; i < this->columns; i++) common = fm_greatest_divisor(common, line->of.at[i]);
    int64_t *constant = &line->of.at[FM_CONSTANT];
    if (!common) {
        line->gone = true;
        return (line->equality ? *constant != 0 : *constant < 0) ? IS_EMPTY : GOES_ON;
    }
    if (common == 1) return GOES_ON;
    if (line->equality && *constant % common) return IS_EMPTY;
    for (unsigned i = 0; i < this->columns; i++) line->of.at[i] /= common;
    *constant = fm_floor_divide(*constant, common);
    return GOES_ON;
}

/* The variable, with factor 1 or -1 in the equality, is replaced in the line. */
static outcome replace_variable(const quick_system *this, const quick_line *equality, unsigned variable,
                                quick_line *line)
{
    int64_t times = line->of.at[variable] * equality->of.at[variable];
    if (!times) return GOES_ON;
    for (unsigned i = 0; i <= this->columns; i++) {
        unsigned column = i < this->columns ? i : (unsigned)FM_CONSTANT;
        __int128 number = line->of.at[column] - (__int128)times * equality->of.at[column];
        if (number > LARGEST || number < -LARGEST) return TOO_HARD;
        line->of.at[column] = (int64_t)number;
    }
    return normalize_line(this, line);
}

static outcome use_equality(quick_system *this, unsigned index)
{
    quick_line *equality = &this->lines[index];
    unsigned variable = this->columns;
    while (variable > 0 && equality->of.at[variable - 1] != 1 && equality->of.at[variable - 1] != -1)
        variable--;
    if (!variable--) return GOES_ON;
    for (unsigned i = 0; i < this->line_count; i++) {
        if (i == index || this->lines[i].gone) continue;
        outcome result = replace_variable(this, equality, variable, &this->lines[i]);
        if (result != GOES_ON) return result;
    }
    equality->gone = true;
    this->is_replaced[variable] = true;
    this->replaced[this->replaced_count] = (uint8_t)variable;
    this->by[this->replaced_count++] = (uint8_t)index;
    return GOES_ON;
}

static outcome use_equalities(quick_system *this)
{
    for (unsigned i = 0; i < this->line_count; i++) {
        outcome result = normalize_line(this, &this->lines[i]);
        if (result != GOES_ON) return result;
    }
    for (unsigned before = this->columns + 1; before != this->replaced_count;) {
        before = this->replaced_count;
        for (unsigned i = 0; i < this->line_count; i++) {
            if (!this->lines[i].equality || this->lines[i].gone) continue;
            outcome result = use_equality(this, i);
            if (result != GOES_ON) return result;
        }
    }
    for (unsigned i = 0; i < this->line_count; i++) {
        quick_line *line = &this->lines[i];
        line->count = 0;
        if (line->gone) continue;
        this->equalities |= line->equality;
        for (unsigned j = 0; j < this->columns; j++)
            if (line->of.at[j]) line->used[line->count++] = (uint8_t)j;
    }
    return GOES_ON;
}

/* ---- ranges ---- */

/* What sign * line says about its variables: sign * line >= 0. *changed: a range became smaller. */
static bool narrow_by(const quick_line *line, int64_t sign, range *ranges, bool *changed)
{
    __int128 most = sign * line->of.at[FM_CONSTANT];
    unsigned open = 0;
    for (unsigned i = 0; i < line->count; i++) {
        const range *one = &ranges[line->used[i]];
        int64_t factor = sign * line->of.at[line->used[i]], end = factor > 0 ? one->high : one->low;
        if (end >= NO_BOUND || end <= -NO_BOUND)
            open++;
        else
            most += (__int128)factor * end;
    }
    if (!open && most < 0) return false;
    if (open > 1) return true;
    for (unsigned i = 0; i < line->count; i++) {
        range *one = &ranges[line->used[i]];
        int64_t factor = sign * line->of.at[line->used[i]], end = factor > 0 ? one->high : one->low;
        bool is_open = end >= NO_BOUND || end <= -NO_BOUND;
        if (open && !is_open) continue;
        __int128 others = is_open ? most : most - (__int128)factor * end; /* factor * x + others >= 0 */
        __int128 bound =
            factor > 0 ? -fm_floor_divide_wide(others, factor) : fm_floor_divide_wide(others, -factor);
        if (bound >= NO_BOUND || bound <= -NO_BOUND) continue;
        if (factor > 0 && bound > one->low) {
            one->low = (int64_t)bound;
            *changed = true;
        } else if (factor < 0 && bound < one->high) {
            one->high = (int64_t)bound;
            *changed = true;
        }
        if (one->low > one->high) return false;
    }
    return true;
}

/* False: there are no points in these ranges. */
static bool narrow_ranges(const quick_system *this, range *ranges)
{
    bool changed = true;
    for (unsigned round = 0; round < MOST_ROUNDS && changed; round++) {
        changed = false;
        for (unsigned i = 0; i < this->line_count; i++) {
            const quick_line *line = &this->lines[i];
            if (line->gone) continue;
            if (!narrow_by(line, 1, ranges, &changed)) return false;
            if (line->equality && !narrow_by(line, -1, ranges, &changed)) return false;
        }
    }
    return true;
}

static bool is_open(const range *one)
{
    return one->low <= -NO_BOUND || one->high >= NO_BOUND;
}

/* Those with few values first: a quotient before what it is a quotient of, which has several values then. */
static void find_order(quick_system *this, const range *ranges)
{
    this->free_count = 0;
    for (unsigned i = 0; i < this->columns; i++) {
        if (this->is_replaced[i]) continue;
        unsigned at = this->free_count++;
        for (; at > 0; at--) {
            const range *before = &ranges[this->order[at - 1]];
            if (before->high - before->low <= ranges[i].high - ranges[i].low) break;
            this->order[at] = this->order[at - 1];
        }
        this->order[at] = (uint8_t)i;
    }
}

/* Gives variables values, from this place of the order on; before (may be NULL): the ranges before each of
 * them had its value. */
static bool find_point(const quick_system *this, range *ranges, unsigned from, range (*before)[MOST_COLUMNS])
{
    for (unsigned place = from; place < this->free_count; place++) {
        const unsigned v = this->order[place];
        range kept[MOST_COLUMNS];
        if (is_open(&ranges[v])) return false;
        if (before) memcpy(before[place], ranges, this->columns * sizeof *ranges);
        const int64_t low = ranges[v].low, high = ranges[v].high;
        const int64_t tried[3] = {low + (high - low) / 2, low, high};
        memcpy(kept, ranges, this->columns * sizeof *ranges);
        bool found = false;
        for (unsigned i = 0; i < 3 && !found; i++) {
            if (i) memcpy(ranges, kept, this->columns * sizeof *ranges);
            ranges[v].low = ranges[v].high = tried[i];
            found = narrow_ranges(this, ranges);
        }
        if (!found) return false;
    }
    return true;
}

/* Do all conditions hold at a point of variables that are not replaced? */
static bool all_hold(const quick_system *this, const range *ranges)
{
    for (unsigned i = 0; i < this->line_count; i++) {
        const quick_line *line = &this->lines[i];
        __int128 sum = line->of.at[FM_CONSTANT];
        if (line->gone) continue;
        for (unsigned j = 0; j < line->count; j++)
            sum += (__int128)line->of.at[line->used[j]] * ranges[line->used[j]].low;
        if (line->equality ? sum != 0 : sum < 0) return false;
    }
    return true;
}

/* Is there a point that agrees with the first one before this place of the order, and differs there? */
static bool point_differs(const quick_system *this, unsigned place, const range *before, const range *first)
{
    const unsigned v = this->order[place];
    const int64_t value = first[v].low;
    for (int64_t other = value - 1; other <= value + 1; other += 2) {
        range ranges[MOST_COLUMNS];
        if (other < before[v].low || other > before[v].high) continue;
        memcpy(ranges, before, this->columns * sizeof *ranges);
        ranges[v].low = ranges[v].high = other;
        if (narrow_ranges(this, ranges) && find_point(this, ranges, place + 1, NULL) &&
            all_hold(this, ranges))
            return true;
    }
    return false;
}

/* The values of all columns. */
static bool take_point(const quick_system *this, const range *ranges, int64_t *point)
{
    for (unsigned i = 0; i < this->columns; i++) point[i] = ranges[i].low;
    for (unsigned i = this->replaced_count; i-- > 0;) {
        const quick_line *line = &this->lines[this->by[i]];
        unsigned variable = this->replaced[i];
        __int128 sum = line->of.at[FM_CONSTANT];
        for (unsigned j = 0; j < this->columns; j++)
            if (j != variable) sum += (__int128)line->of.at[j] * point[j];
        sum *= -line->of.at[variable];
        if (sum >= NO_BOUND || sum <= -NO_BOUND) return false;
        point[variable] = (int64_t)sum;
    }
    return true;
}

/* Too much for the stack. */
typedef struct quick_search {
    quick_system system;
    range ranges[MOST_COLUMNS], before[MOST_COLUMNS][MOST_COLUMNS];
} quick_search;

static fm_quick search_point(quick_search *all, const fm_system *system, const fm_line *condition, bool full,
                             int64_t *point)
{
    quick_system *this = &all->system;
    range *ranges = all->ranges;
    if (!load_system(this, system, condition)) return FM_QUICK_UNKNOWN;
    outcome result = use_equalities(this);
    if (result != GOES_ON) return result == IS_EMPTY ? FM_QUICK_EMPTY : FM_QUICK_UNKNOWN;
    for (unsigned i = 0; i < this->columns; i++)
        ranges[i] = this->is_replaced[i] ? (range){0, 0} : (range){-NO_BOUND, NO_BOUND};
    if (!narrow_ranges(this, ranges)) return FM_QUICK_EMPTY;
    find_order(this, ranges);
    if (!find_point(this, ranges, 0, full ? all->before : NULL) || !all_hold(this, ranges))
        return FM_QUICK_UNKNOWN;
    if (point && !take_point(this, ranges, point)) return FM_QUICK_UNKNOWN;
    if (!full || this->equalities) return FM_QUICK_POINT;
    for (unsigned place = 0; place < this->free_count; place++)
        if (!point_differs(this, place, all->before[place], ranges)) return FM_QUICK_POINT;
    return FM_QUICK_FULL;
}

fm_quick fm_system_quick(const fm_system *system, const fm_line *condition, bool full, int64_t *point)
{
    quick_search *all = fm_malloc_array(1, sizeof *all);
    fm_quick quick = all ? search_point(all, system, condition, full, point) : FM_QUICK_UNKNOWN;
    free(all);
    return quick;
}
