/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_static_values.c - how often a polynomial has which value, against going through all points of its
 * piece: random pieces with quotients and equalities of all kinds, every value by itself and in cells. The
 * same for the piece after it was reduced to fewer variables.
 */
#include "case.h"

#include "static/counter/counter_system.h"
#include "static/counter/counter_values.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
// cmocka needs the headers above first
enum { SIDE = 20, VALUES = 40000, LONG = 70 };

static uint64_t random_state = 88172645463325252ULL;
static int between(int least, int most)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return least + (int)((random_state >> 11) % (uint64_t)(most - least + 1));
}

static int sides[FM_COLUMNS]; /* variables are between 0 and this */

static fm_line *new_line(fm_isl_work *work, fm_counter_lines *lines)
{
    fm_line *line = fm_lines_add(work, lines);
    assert_non_null(line);
    return line;
}

static void add_floors(fm_isl_work *work, fm_system *system)
{
    static const int64_t divisors[] = {2, 3, 4, 8, 8, 8};
    int count = between(0, 5);
    for (int i = 0; i < count; i++) {
        fm_line of = {{0}};
        unsigned column;
        bool inserted;
        of.at[between(0, (int)system->kept - 1)] = 1;
        if (between(0, 4) == 0) of.at[between(0, (int)(system->kept + system->extra) - 1)] = between(-2, 3);
        of.at[FM_CONSTANT] = between(-3, 9);
        assert_true(fm_system_floor(work, system, NULL, &of, divisors[between(0, 5)], &column, &inserted));
    }
}

/* Multiples with a rest, neighbouring quotients, sums of variables. */
static void add_equality(fm_isl_work *work, fm_system *system)
{
    fm_line *line = new_line(work, &system->equalities);
    unsigned variable = (unsigned)between(0, (int)system->kept - 1);
    int kind = between(0, 3);
    line->at[FM_CONSTANT] = between(-2, 2);
    if (kind < 2 && system->extra) {
        unsigned quotient = (unsigned)between(0, (int)system->extra - 1);
        line->at[system->kept + quotient] = kind ? system->floors[quotient].by : between(-2, 2);
        if (kind == 0 && system->extra > 1)
            line->at[system->kept + (quotient + 1) % system->extra] = -1;
        else
            line->at[variable] = -1;
    } else {
        line->at[variable] = kind == 2 ? 1 : -1;
        line->at[(variable + 1) % system->kept] += between(-2, 1);
    }
}

static void add_conditions(fm_isl_work *work, fm_system *system)
{
    for (unsigned i = 0; i < system->kept; i++)
        for (int side = 0; side < 2; side++) {
            fm_line *line = new_line(work, &system->inequalities);
            line->at[i] = side ? -1 : 1;
            line->at[FM_CONSTANT] = side ? sides[i] : 0;
        }
    for (int i = between(0, 2); i > 0; i--) add_equality(work, system);
    for (int i = between(0, 2); i > 0; i--) {
        fm_line *line = new_line(work, &system->inequalities);
        for (unsigned j = 0; j < system->kept; j++) line->at[j] = between(-2, 2);
        if (system->extra)
            line->at[system->kept + (unsigned)between(0, (int)system->extra - 1)] = between(-2, 2);
        line->at[FM_CONSTANT] = between(0, 40);
    }
}

static fm_poly column_of(unsigned column)
{
    fm_poly poly = {0};
    fm_line line = {{0}};
    line.at[column] = 1;
    fm_poly_add_line(&poly, &line, FM_CONSTANT, 1);
    return poly;
}

/* factor * one * other */
static void add_product(fm_poly *value, unsigned one, unsigned other, int factor)
{
    fm_poly left = column_of(one), right = column_of(other), product = fm_poly_product(&left, &right);
    fm_poly_add(value, &product, factor, 1);
    fm_poly_clear(&left);
    fm_poly_clear(&right);
    fm_poly_clear(&product);
}

/* 8 * (x q - 4 q^2 - 3 q) and the same with the quotient of x + 1: their difference is 0. */
static void add_nothing(fm_isl_work *work, fm_system *system, fm_poly *value, unsigned variable)
{
    for (int i = 0; i < 2; i++) {
        fm_line of = {{0}};
        unsigned column;
        bool inserted;
        of.at[variable] = 1;
        of.at[FM_CONSTANT] = i;
        assert_true(fm_system_floor(work, system, value, &of, 8, &column, &inserted));
        fm_line line = {{0}};
        line.at[column] = -3;
        fm_poly_add_line(value, &line, FM_CONSTANT, i ? -1 : 1);
        add_product(value, variable, column, i ? -1 : 1);
        add_product(value, column, column, i ? 4 : -4);
    }
}

static void make_piece(fm_isl_work *work, fm_counter_piece *piece)
{
    memset(piece, 0, sizeof *piece);
    fm_system *system = &piece->domain;
    system->kept = (unsigned)between(1, 3);
    for (unsigned i = 0; i < system->kept; i++) sides[i] = between(2, SIDE);
    if (between(0, 3) == 0) sides[between(0, (int)system->kept - 1)] = LONG;
    add_floors(work, system);
    add_conditions(work, system);
    int columns = (int)(system->kept + system->extra);
    for (int i = between(0, 4); i > 0; i--) {
        fm_line line = {{0}};
        line.at[between(0, columns - 1)] = between(-3, 6);
        fm_poly_add_line(&piece->value, &line, FM_CONSTANT, 1);
    }
    for (int i = between(0, 3); i > 0; i--)
        add_product(&piece->value, (unsigned)between(0, columns - 1), (unsigned)between(0, columns - 1),
                    between(-2, 2));
    if (between(0, 3) == 0)
        add_nothing(work, system, &piece->value, (unsigned)between(0, (int)system->kept - 1));
}

/* Values from `least` on, of all points within the sides; false: they are too many. sum: over all points. */
static bool go_through(const fm_counter_piece *piece, const int *upto, int64_t *least, uint64_t *counts,
                       uint64_t *sum)
{
    fm_quick_poly quick;
    int64_t total = 1, most = INT64_MIN, smallest = INT64_MAX;
    bool fits = true;
    *sum = 0;
    memset(counts, 0, VALUES * sizeof counts[0]);
    assert_true(fm_quick_poly_create(&quick, &piece->value));
    for (unsigned i = 0; i < piece->domain.kept; i++) total *= upto[i] + 1;
    for (int round = 0; round < 2 && fits; round++) {
        for (int64_t i = 0; i < total; i++) {
            int64_t at[FM_COLUMNS] = {0}, rest = i, value;
            for (unsigned j = 0; j < piece->domain.kept; rest /= upto[j] + 1, j++)
                at[j] = rest % (upto[j] + 1);
            assert_true(fm_system_extend_point(&piece->domain, at));
            if (!fm_system_holds(&piece->domain, at)) continue;
            assert_true(fm_quick_poly_value(&quick, at, &value));
            if (value > most) most = value;
            if (value < smallest) smallest = value;
            if (round == 0) continue;
            counts[value - smallest]++;
            ++*sum;
        }
        fits = most < smallest || most - smallest < VALUES;
    }
    *least = smallest;
    fm_quick_poly_clear(&quick);
    return fits;
}

static bool add_to(void *context, int64_t value, uint64_t count)
{
    ((uint64_t *)context)[value] += count;
    return true;
}

/* False: given up. */
static bool compare(fm_isl_work *work, const fm_counter_piece *piece, const uint64_t *expected, uint64_t sum,
                    const fm_grouping *grouping, int round)
{
    static uint64_t found[VALUES], cells_expected[VALUES];
    fm_value_cells cells = {0};
    fm_runs runs;
    uint64_t points = 0;
    if (grouping) assert_true(fm_cells_create(&cells, grouping, VALUES));
    assert_true(fm_runs_create(&runs, VALUES, grouping ? &cells : NULL));
    memset(found, 0, sizeof found);
    bool done = fm_piece_values(work, piece, &runs, &points);
    if (!done && work->status != FM_E_LIMIT) fail_msg("round %d: %s", round, work->error.reason);
    assert_true(fm_runs_flush(&runs, add_to, found));
    if (done && points != sum) fail_msg("round %d: %d points, expected %d", round, (int)points, (int)sum);
    memset(cells_expected, 0, sizeof cells_expected);
    for (uint64_t i = 0; i < VALUES; i++) {
        uint64_t low = i, high;
        if (grouping) fm_bins_range(grouping->bins, fm_bins_index(grouping->bins, i), &low, &high);
        for (size_t j = 0; grouping && j < grouping->edge_count; j++)
            if (grouping->edges[j] <= i && grouping->edges[j] > low) low = grouping->edges[j];
        cells_expected[low] += expected[i];
    }
    for (int i = 0; i < VALUES && done; i++)
        if (found[i] != cells_expected[i])
            fail_msg("round %d: value %d %d times, expected %d", round, i, (int)found[i],
                     (int)cells_expected[i]);
    fm_runs_destroy(&runs);
    fm_cells_destroy(&cells);
    return done;
}

/* The new variables are within the old sides or their quotients; all values must be there again. */
static size_t compare_reduced(fm_isl_work *work, const fm_counter_piece *piece, const uint64_t *expected,
                              int64_t least, int round)
{
    static uint64_t counts[VALUES];
    fm_counter_piece reduced = {.value = fm_poly_copy(&piece->value)};
    bool empty;
    uint64_t sum, all = 0;
    int64_t again;
    assert_true(fm_system_copy(work, &reduced.domain, &piece->domain));
    if (!fm_piece_reduce(work, &reduced, &empty)) fail_msg("round %d: %s", round, work->error.reason);
    for (int i = 0; i < VALUES; i++) all += expected[i];
    size_t fewer = fm_system_columns(&piece->domain) - fm_system_columns(&reduced.domain);
    if (empty) assert_int_equal(all, 0);
    bool positive = !empty; /* quotients below 0 are not gone through here */
    for (unsigned i = 0; i < piece->domain.extra; i++)
        if (piece->domain.floors[i].of.at[FM_CONSTANT] < 0) positive = false;
    for (unsigned i = 0; positive && i < piece->domain.extra; i++)
        for (unsigned j = 0; j < fm_system_columns(&piece->domain); j++)
            if (piece->domain.floors[i].of.at[j] < 0 || piece->domain.floors[i].of.at[j] > 1)
                positive = false;
    if (positive) {
        int upto[FM_COLUMNS];
        for (unsigned i = 0; i < FM_COLUMNS; i++) upto[i] = LONG + 10;
        if (reduced.domain.kept < 3) {
            assert_true(go_through(&reduced, upto, &again, counts, &sum));
            assert_int_equal(sum, all);
            if (all) assert_int_equal(again, least);
            assert_memory_equal(counts, expected, sizeof counts);
        }
    }
    fm_system_clear(&reduced.domain);
    fm_poly_clear(&reduced.value);
    return fewer;
}

CASE(test_random_pieces)
{
    static uint64_t expected[VALUES];
    static const uint64_t edges[] = {0, 7, 100, 1000, 1024, 5000, 1000000};
    const fm_grouping groupings[] = {{.bins = FM_BINS_LOG2},
                                     {.bins = FM_BINS_LOG2, .edges = edges, .edge_count = 7},
                                     {.bins = FM_BINS_LOGLINEAR, .edges = edges, .edge_count = 5}};
    const char *wanted = getenv("FATHOM_STATIC_PIECES"); /* how many: by hand */
    int count = wanted ? atoi(wanted) : 200;
    size_t gone = 0, compared = 0;
    for (int round = 0; round < count; round++) {
        fm_isl_work work;
        fm_isl_limits limits = {.operations = wanted ? 0 : 200000}; /* a few would take seconds */
        fm_counter_piece piece;
        int64_t least;
        uint64_t sum;
        assert_int_equal(fm_isl_work_begin(&work, &limits, NULL), FM_OK);
        make_piece(&work, &piece);
        if (go_through(&piece, sides, &least, expected, &sum)) {
            gone += compare_reduced(&work, &piece, expected, least, round);
            if (sum) fm_poly_add_number(&piece.value, -least);
            compared += compare(&work, &piece, expected, sum, NULL, round) &&
                        compare(&work, &piece, expected, sum, &groupings[round % 3], round) && sum;
        }
        fm_system_clear(&piece.domain);
        fm_poly_clear(&piece.value);
        fm_status status = fm_isl_work_end(&work, NULL);
        if (status != FM_OK) assert_int_equal(status, FM_E_LIMIT);
    }
    print_message("%zu pieces, %zu columns gone\n", compared, gone);
    assert_true(compared > (size_t)count / 3);
    assert_true(gone > (size_t)count / 4);
}

/* What cancels only because of equalities and remainders is gone: lu has had three variables for one. */
CASE(test_reduced)
{
    fm_isl_work work;
    fm_isl_limits limits = {0};
    fm_counter_piece piece = {.domain = {.kept = 3}};
    fm_system *system = &piece.domain;
    bool empty, inserted;
    unsigned quotients[2];
    assert_int_equal(fm_isl_work_begin(&work, &limits, NULL), FM_OK);
    for (int i = 0; i < 3; i++) sides[i] = 2000;
    for (int i = 0; i < 2; i++) { /* of b, which is a multiple of 8 */
        fm_line of = {{0}};
        of.at[1] = 1;
        of.at[FM_CONSTANT] = i ? 7 : 0;
        assert_true(fm_system_floor(&work, system, NULL, &of, 8, &quotients[i], &inserted));
        fm_line *line = new_line(&work, &system->equalities);
        line->at[1] = -1;
        line->at[quotients[i]] = 8;
    }
    for (unsigned i = 0; i < 3; i++)
        for (int side = 0; side < 2; side++) {
            fm_line *line = new_line(&work, &system->inequalities);
            line->at[i] = side ? -1 : 1;
            line->at[FM_CONSTANT] = side ? sides[i] : 0;
        }
    add_product(&piece.value, 0, quotients[0], 1); /* a * b / 8 - a * b / 8 + a * a */
    add_product(&piece.value, 0, quotients[1], -1);
    add_product(&piece.value, 0, 0, 1);
    add_nothing(&work, system, &piece.value, 2);
    assert_true(fm_piece_reduce(&work, &piece, &empty));
    assert_false(empty);
    assert_int_equal(piece.domain.kept, 3);
    assert_int_equal(piece.domain.extra, 0);
    assert_int_equal(piece.value.count, 1);
    assert_int_equal(piece.value.terms[0].powers[0], 2);
    fm_system_clear(&piece.domain);
    fm_poly_clear(&piece.value);
    assert_int_equal(fm_isl_work_end(&work, NULL), FM_OK);
}
