/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_static_quick.c - what is told of systems without isl (counter_system.h) against going through all
 * points: random conditions, equalities and quotients. "Empty" is without points, a point fulfils everything,
 * and where no equality is hidden, points differ in as many directions as the system's own equalities leave.
 */
#include "case.h"

#include "static/counter/counter_system.h"

#include <stdlib.h>
#include <string.h>
// cmocka needs the headers above first
enum { VARIABLES = 3, COLUMNS = VARIABLES + 1, SIDE = 6, ROUNDS = 3000 };

static uint64_t random_state = 88172645463325252ULL;
static int between(int least, int most)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return least + (int)((random_state >> 11) % (uint64_t)(most - least + 1));
}

/* Variables from 0 to SIDE, a quotient of them, one to three conditions, perhaps an equality. */
static void make_system(fm_isl_work *work, fm_system *system)
{
    *system = (fm_system){.kept = VARIABLES};
    for (unsigned i = 0; i < VARIABLES; i++)
        for (int side = 0; side < 2; side++) {
            fm_line *line = fm_lines_add(work, &system->inequalities);
            line->at[i] = side ? -1 : 1;
            line->at[FM_CONSTANT] = side ? SIDE : 0;
        }
    fm_line of = {{between(1, 3), between(-1, 1)}};
    unsigned column;
    bool inserted;
    assert_true(fm_system_floor(work, system, NULL, &of, between(2, 4), &column, &inserted));
    int conditions = between(1, 3), equalities = between(0, 3) / 2;
    for (int i = 0; i < conditions + equalities; i++) {
        fm_line *line = fm_lines_add(work, i < conditions ? &system->inequalities : &system->equalities);
        for (unsigned j = 0; j < COLUMNS; j++) line->at[j] = between(0, 2) ? between(-2, 2) : 0;
        line->at[FM_CONSTANT] = i < conditions ? between(-2, 8) : between(-2, 2);
    }
    if (between(0, 2)) return;
    fm_line opposite = system->inequalities.lines[system->inequalities.count - 1]; /* a hidden equality */
    for (unsigned j = 0; j < FM_COLUMNS; j++) opposite.at[j] = -opposite.at[j];
    opposite.at[FM_CONSTANT] += between(0, 1);
    *fm_lines_add(work, &system->inequalities) = opposite;
}

/* One more direction; returns whether it is independent of those that are there. Rows are kept reduced;
 * numbers stay small. */
static bool add_direction(int64_t rows[COLUMNS][COLUMNS], unsigned *rank, const int64_t *direction)
{
    int64_t row[COLUMNS];
    memcpy(row, direction, sizeof row);
    for (unsigned i = 0; i < *rank; i++) {
        unsigned lead = 0;
        while (!rows[i][lead]) lead++;
        int64_t factor = row[lead], times = rows[i][lead];
        for (unsigned j = 0; j < COLUMNS && factor; j++) row[j] = row[j] * times - rows[i][j] * factor;
    }
    for (unsigned j = 0; j < COLUMNS; j++)
        if (row[j]) {
            memcpy(rows[(*rank)++], row, sizeof row);
            return true;
        }
    return false;
}

/* How many points there are, and in how many directions they differ. */
static size_t go_through(const fm_system *system, const fm_line *condition, unsigned *directions)
{
    size_t points = 0;
    int64_t first[COLUMNS] = {0}, rows[COLUMNS][COLUMNS];
    *directions = 0;
    for (int number = 0; number < (SIDE + 1) * (SIDE + 1) * (SIDE + 1); number++) {
        int64_t at[FM_COLUMNS] = {number % (SIDE + 1), number / (SIDE + 1) % (SIDE + 1),
                                  number / (SIDE + 1) / (SIDE + 1)},
                value = 0;
        assert_true(fm_system_extend_point(system, at));
        if (!fm_system_holds(system, at)) continue;
        if (condition && (!fm_line_value(condition, at, COLUMNS, &value) || value < 0)) continue;
        if (!points++) memcpy(first, at, sizeof first);
        int64_t direction[COLUMNS];
        for (unsigned i = 0; i < COLUMNS; i++) direction[i] = at[i] - first[i];
        if (*directions < COLUMNS) add_direction(rows, directions, direction);
    }
    return points;
}

static unsigned independent_equalities(const fm_system *system)
{
    int64_t rows[COLUMNS][COLUMNS];
    unsigned rank = 0;
    for (size_t i = 0; i < system->equalities.count; i++)
        add_direction(rows, &rank, system->equalities.lines[i].at);
    return rank;
}

CASE(test_random_systems)
{
    size_t answers[FM_QUICK_FULL + 1] = {0}, empty = 0;
    for (int round = 0; round < ROUNDS; round++) {
        fm_isl_work work;
        assert_int_equal(fm_isl_work_begin(&work, &(fm_isl_limits){0}, NULL), FM_OK);
        fm_system system;
        fm_line more = {{between(-1, 1), between(-1, 1), between(-1, 1)}};
        const fm_line *condition = between(0, 1) ? &more : NULL;
        make_system(&work, &system);
        unsigned directions;
        size_t points = go_through(&system, condition, &directions);
        int64_t point[FM_COLUMNS], at[FM_COLUMNS], value = 0;
        fm_quick quick = fm_system_quick(&system, condition, round % 2 == 0, point);
        answers[quick]++;
        empty += points == 0;
        if (quick == FM_QUICK_EMPTY) assert_int_equal(points, 0);
        if (quick >= FM_QUICK_POINT) {
            memcpy(at, point, sizeof at);
            assert_true(fm_system_extend_point(&system, at));
            assert_memory_equal(at, point, COLUMNS * sizeof at[0]);
            assert_true(fm_system_holds(&system, at));
            if (condition) assert_true(fm_line_value(condition, at, COLUMNS, &value) && value >= 0);
        }
        if (quick == FM_QUICK_FULL) assert_int_equal(directions, COLUMNS - independent_equalities(&system));
        fm_system_clear(&system);
        assert_int_equal(fm_isl_work_end(&work, NULL), FM_OK);
    }
    /* it would be of no use if it did not know most of them */
    assert_true(answers[FM_QUICK_UNKNOWN] * 4 < ROUNDS);
    assert_true(answers[FM_QUICK_EMPTY] * 2 > empty);
    assert_true(answers[FM_QUICK_FULL] * 15 > ROUNDS);
}

/* Numbers that could become too large, and ranges without an end, are not known. */
CASE(test_limits)
{
    fm_isl_work work;
    assert_int_equal(fm_isl_work_begin(&work, &(fm_isl_limits){0}, NULL), FM_OK);
    fm_system system = {.kept = 2};
    fm_line *line = fm_lines_add(&work, &system.inequalities);
    line->at[0] = 1;
    assert_int_equal(fm_system_quick(&system, NULL, true, NULL), FM_QUICK_UNKNOWN);
    line->at[FM_CONSTANT] = INT64_MIN / 2;
    assert_int_equal(fm_system_quick(&system, NULL, true, NULL), FM_QUICK_UNKNOWN);
    line->at[0] = 0;
    line->at[FM_CONSTANT] = -1;
    assert_int_equal(fm_system_quick(&system, NULL, true, NULL), FM_QUICK_EMPTY);
    fm_system_clear(&system);
    assert_int_equal(fm_isl_work_end(&work, NULL), FM_OK);
}
