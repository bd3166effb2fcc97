/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_static_counter.c - the counter of points against going through all of them, for random sets with
 * quotients, and quotients of sums; sums of powers; pieces laid over each other; runs of values against
 * adding them one by one; what is counted of a region.
 */
#include "case.h"

#include "static/counter/counter.h"
#include "static/counter/counter_system.h"
#include "static/counter/counter_values.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
// cmocka needs the headers above first
static uint64_t random_state = 88172645463325252ULL;
static int between(int least, int most)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return least + (int)((random_state >> 11) % (uint64_t)(most - least + 1));
}

/* 1^k + … + n^k */
CASE(test_sums)
{
    for (unsigned power = 0; power <= 8; power++) {
        fm_poly x = {0}, first = {0}, last = {0}, term = {0};
        fm_line line = {{0}};
        line.at[1] = 1;
        fm_poly_add_number(&term, 1);
        fm_poly_add_line(&x, &line, 3, 1);
        for (unsigned i = 0; i < power; i++) {
            fm_poly product = fm_poly_product(&term, &x);
            fm_poly_clear(&term);
            term = product;
        }
        line = (fm_line){{0}};
        line.at[0] = 1;
        fm_poly_add_line(&last, &line, 3, 1);
        fm_poly_add_number(&first, -2); /* from -2 on */
        fm_poly sum = fm_poly_sum(&term, 1, &first, &last);
        fm_quick_poly quick;
        assert_true(fm_quick_poly_create(&quick, &sum));
        int64_t expected = 0;
        for (int64_t n = -2; n <= 20; n++) {
            int64_t values[FM_COLUMNS] = {n}, value, one = 1;
            for (unsigned i = 0; i < power; i++) one *= n;
            expected += one;
            assert_true(fm_quick_poly_value(&quick, values, &value));
            assert_int_equal(value, expected);
        }
        fm_quick_poly_clear(&quick);
        fm_poly_clear(&x), fm_poly_clear(&first), fm_poly_clear(&last), fm_poly_clear(&term),
            fm_poly_clear(&sum);
    }
}

enum { SIDE = 6 };

/* x, y kept; u, v, w counted; all between 0 and SIDE; random conditions, some with a quotient. */
CASE(test_random_sets)
{
    size_t counted = 0;
    const int rounds = getenv("FATHOM_TEST_STRIDE") ? 40 : 150; /* under a sanitizer */
    for (int round = 0; round < rounds; round++) {
        fm_isl_work work;
        fm_isl_limits limits = {.operations = 200000};
        assert_int_equal(fm_isl_work_begin(&work, &limits, NULL), FM_OK);
        fm_system system = {.kept = 2, .counted = 3}, copy;
        for (unsigned i = 0; i < 5; i++)
            for (int side = 0; side < 2; side++) {
                fm_line *line = fm_lines_add(&work, &system.inequalities);
                line->at[i] = side ? -1 : 1;
                line->at[FM_CONSTANT] = side ? SIDE : 0;
            }
        int conditions = between(1, 3), equalities = between(0, 1);
        for (int i = 0; i < conditions + equalities; i++) {
            fm_line *line = fm_lines_add(&work, i < conditions ? &system.inequalities : &system.equalities);
            for (unsigned j = 0; j < 5; j++) line->at[j] = between(-3, 3);
            line->at[FM_CONSTANT] = between(-4, 8);
        }
        fm_pieces pieces = {0};
        assert_true(fm_system_copy(&work, &copy, &system));
        bool done = fm_count_system(&work, &copy, &pieces);
        for (int64_t x = 0; x <= SIDE && done; x++)
            for (int64_t y = 0; y <= SIDE; y++) {
                int64_t expected = 0, found = 0;
                for (int64_t i = 0; i < (SIDE + 1) * (SIDE + 1) * (SIDE + 1); i++) {
                    int64_t at[5] = {x, y, i % (SIDE + 1), i / (SIDE + 1) % (SIDE + 1),
                                     i / (SIDE + 1) / (SIDE + 1)};
                    bool holds = true;
                    for (size_t k = 0; k < system.inequalities.count + system.equalities.count && holds;
                         k++) {
                        bool equality = k >= system.inequalities.count;
                        const fm_line *line = equality
                                                  ? &system.equalities.lines[k - system.inequalities.count]
                                                  : &system.inequalities.lines[k];
                        int64_t sum = line->at[FM_CONSTANT];
                        for (unsigned j = 0; j < 5; j++) sum += line->at[j] * at[j];
                        holds = equality ? sum == 0 : sum >= 0;
                    }
                    expected += holds;
                }
                for (size_t k = 0; k < pieces.count; k++) {
                    int64_t values[FM_COLUMNS] = {x, y}, value;
                    fm_quick_poly quick;
                    assert_true(fm_system_extend_point(&pieces.pieces[k].domain, values));
                    if (!fm_system_holds(&pieces.pieces[k].domain, values)) continue;
                    assert_true(fm_quick_poly_create(&quick, &pieces.pieces[k].value));
                    assert_true(fm_quick_poly_value(&quick, values, &value));
                    fm_quick_poly_clear(&quick);
                    found += value;
                }
                if (found != expected)
                    fail_msg("round %d, x %d, y %d: %d points, expected %d", round, (int)x, (int)y,
                             (int)found, (int)expected);
            }
        counted += done;
        fm_pieces_clear(&pieces);
        fm_system_clear(&system);
        fm_status status = fm_isl_work_end(&work, NULL);
        assert_true(done ? status == FM_OK : status == FM_E_LIMIT);
    }
    assert_true(3 * counted > 2 * (size_t)rounds);
}

/*
 * Points x <= y <= n, each with the quotient of a sum of both by 8: there are (n + 1) (n + 2) / 2. Quotients
 * of counted variables are split by the remainders of these; by others, which takes ten times as many
 * operations, or has no end.
 */
CASE(test_quotients_of_sums)
{
    static const int64_t factors[][2] = {{3, 4}, {3, 2}};
    for (size_t i = 0; i < sizeof factors / sizeof factors[0]; i++) {
        fm_isl_work work;
        fm_isl_limits limits = {.operations = 50000};
        assert_int_equal(fm_isl_work_begin(&work, &limits, NULL), FM_OK);
        const int64_t a = factors[i][0], b = factors[i][1];
        const int64_t lines[][5] = {/* n, x, y, quotient, constant */
                                    {0, 1, 0, 0, 0},
                                    {0, -1, 1, 0, 0},
                                    {1, 0, -1, 0, 0},
                                    {0, a, b, -8, 0},
                                    {0, -a, -b, 8, 7}};
        fm_system system = {.kept = 1, .counted = 3};
        for (size_t k = 0; k < sizeof lines / sizeof lines[0]; k++) {
            fm_line *line = fm_lines_add(&work, &system.inequalities);
            memcpy(line->at, lines[k], 4 * sizeof line->at[0]);
            line->at[FM_CONSTANT] = lines[k][4];
        }
        fm_pieces pieces = {0};
        if (!fm_count_system(&work, &system, &pieces)) fail_msg("%s", work.error.reason);
        for (int64_t n = 0; n < 40; n++) {
            int64_t found = 0;
            for (size_t k = 0; k < pieces.count; k++) {
                int64_t values[FM_COLUMNS] = {n}, value;
                fm_quick_poly quick;
                assert_true(fm_system_extend_point(&pieces.pieces[k].domain, values));
                if (!fm_system_holds(&pieces.pieces[k].domain, values)) continue;
                assert_true(fm_quick_poly_create(&quick, &pieces.pieces[k].value));
                assert_true(fm_quick_poly_value(&quick, values, &value));
                fm_quick_poly_clear(&quick);
                found += value;
            }
            assert_int_equal(found, (n + 1) * (n + 2) / 2);
        }
        fm_pieces_clear(&pieces);
        assert_int_equal(fm_isl_work_end(&work, NULL), FM_OK);
    }
}

static bool add_to(void *context, int64_t value, uint64_t count)
{
    ((uint64_t *)context)[value] += count;
    return true;
}

/* Every value by itself, and in cells: some are cut, some go into tables, which size decides. */
static void check_runs(const fm_value_cells *cells, uint64_t size, uint64_t cuts)
{
    enum { SIZE = 500 };
    fm_runs runs;
    assert_true(fm_runs_create(&runs, size, cells));
    for (int round = 0; round < (getenv("FATHOM_TEST_STRIDE") ? 50 : 200); round++) {
        uint64_t expected[SIZE] = {0}, found[SIZE] = {0};
        runs.cuts = cuts;
        for (int i = 0; i < 20; i++) {
            int64_t stride = between(-4, 4), length = between(1, 60), first = between(0, SIZE - 1);
            unsigned degree = (unsigned)between(0, 3);
            uint64_t differences[FM_RUN_DEGREE + 1] = {0}, current[FM_RUN_DEGREE + 1];
            for (unsigned j = 0; j <= degree; j++) differences[j] = (uint64_t)between(0, 5);
            int64_t last = first + stride * (length - 1);
            bool fits = last >= 0 && last < SIZE;
            if (fits || size == SIZE)
                assert_int_equal(fm_runs_add(&runs, first, stride, (uint64_t)length, differences, degree),
                                 fits);
            if (!fits) continue;
            memcpy(current, differences, sizeof current);
            for (int64_t j = 0; j < length; j++) {
                uint64_t value = (uint64_t)(first + j * stride);
                expected[cells ? cells->borders[fm_cells_index(cells, value)] : value] += current[0];
                for (unsigned k = 0; k < degree; k++) current[k] += current[k + 1];
            }
        }
        assert_true(fm_runs_flush(&runs, add_to, found));
        assert_memory_equal(expected, found, sizeof found);
    }
    fm_runs_destroy(&runs);
}

CASE(test_runs)
{
    static const uint64_t edges[] = {0, 3, 4, 5, 100, 256, 300, 499, 500, 7000};
    const fm_grouping grouping = {.bins = FM_BINS_LOG2, .edges = edges, .edge_count = 10};
    fm_value_cells cells;
    check_runs(NULL, 500, 0);
    assert_true(fm_cells_create(&cells, &grouping, 500));
    for (uint64_t i = 0; i < 500; i++) {
        uint64_t low = i ? (uint64_t)1 << (63 - __builtin_clzll(i)) : 0; /* of its power of two, or an edge */
        for (int j = 0; j < 10; j++)
            if (edges[j] <= i && edges[j] > low) low = edges[j];
        assert_int_equal(cells.borders[fm_cells_index(&cells, i)], low);
    }
    check_runs(&cells, 500, 0);
    check_runs(&cells, 500, 1000); /* tables from the first run on */
    fm_cells_destroy(&cells);
    assert_true(fm_cells_create(&cells, &grouping, (uint64_t)1 << 50)); /* no tables */
    check_runs(&cells, (uint64_t)1 << 50, 1000);
    fm_cells_destroy(&cells);
    fm_runs runs;
    assert_false(fm_runs_create(&runs, (uint64_t)1 << 50, NULL));
}

CASE(test_counted)
{
    fm_static_counted counted = {0};
    uint64_t expected[10][8] = {{0}}, points = 0;
    for (int i = 0; i < 5000; i++) {
        int distance = between(0, 9), pair = between(0, 7), count = between(0, 3);
        expected[distance][pair] += (uint64_t)count;
        points += (uint64_t)count;
        assert_int_equal(fm_static_counted_add(&counted, (uint32_t)pair % 2, (uint32_t)pair / 2,
                                               (uint64_t)distance, (uint64_t)count, NULL),
                         FM_OK);
    }
    assert_int_equal(fm_static_counted_add(&counted, FM_FIRST_TOUCH, 3, 77, 5, NULL), FM_OK);
    fm_error error;
    assert_int_equal(fm_static_counted_add(&counted, 0, 0, 0, UINT64_MAX, &error), FM_E_LIMIT);
    counted.points = points + 5;
    assert_int_equal(fm_static_counted_finish(&counted, NULL), FM_OK);
    assert_int_equal(counted.cold, 5);
    assert_int_equal(counted.distance_count, 10);
    for (size_t i = 0; i < 10; i++) {
        uint64_t sum = 0;
        for (size_t j = 0; j < 8; j++) sum += expected[i][j];
        assert_int_equal(counted.distances[i].distance, i);
        assert_int_equal(counted.distances[i].count, sum);
    }
    assert_int_equal(counted.pair_count, 81);
    assert_int_equal(counted.pairs[80].use, FM_FIRST_TOUCH);
    assert_int_equal(counted.pairs[80].distance, 0);
    for (size_t i = 0; i < 80; i++) {
        const fm_counted_pair *pair = &counted.pairs[i];
        assert_int_equal(pair->count, expected[pair->distance][pair->reuse * 2 + pair->use]);
    }
    fm_static_counted_clear(&counted);
}

/* The square 0 <= x, y <= 99; x >= least besides. */
static fm_system square(fm_isl_work *work, int64_t least)
{
    fm_system made = {.kept = 2};
    for (unsigned i = 0; i < 5; i++) {
        fm_line *line = fm_lines_add(work, &made.inequalities);
        assert_non_null(line);
        line->at[i < 4 ? i % 2 : 0] = i >= 2 && i < 4 ? -1 : 1;
        line->at[FM_CONSTANT] = i < 2 ? 0 : i < 4 ? 99 : -least;
    }
    return made;
}

/*
 * Pieces laid over each other: their conditions are the domain's own, or opposite to them, but for one. isl
 * is not asked about what one look at the lines tells: within so few of its operations it cannot be asked
 * eighty times.
 */
CASE(test_overlay)
{
    fm_isl_work work;
    fm_isl_limits limits = {.operations = 4000};
    assert_int_equal(fm_isl_work_begin(&work, &limits, NULL), FM_OK);
    fm_pieces pieces = {0}, overlaid = {0};
    for (int i = 0; i < 80; i++) {
        fm_system one = square(&work, i == 40 ? 30 : i % 2 ? 0 : 200 + i);
        fm_poly value = {0};
        fm_poly_add_number(&value, i + 1);
        assert_true(fm_pieces_add(&work, &pieces, &one, &value));
    }
    fm_system whole = square(&work, 0);
    assert_true(fm_overlay(&work, &whole, &pieces, &overlaid));
    for (int64_t x = 0; x < 100; x += 29) {
        int64_t values[FM_COLUMNS] = {x, 7}, expected = x >= 30 ? 41 : 0, found = 0;
        for (int i = 1; i < 80; i += 2) expected += i + 1;
        for (size_t k = 0; k < overlaid.count; k++) {
            int64_t value;
            fm_quick_poly quick;
            if (!fm_system_holds(&overlaid.pieces[k].domain, values)) continue;
            assert_true(fm_quick_poly_create(&quick, &overlaid.pieces[k].value));
            assert_true(fm_quick_poly_value(&quick, values, &value));
            fm_quick_poly_clear(&quick);
            found += value;
        }
        assert_int_equal(found, expected);
    }
    assert_int_equal(overlaid.count, 2);
    fm_pieces_clear(&pieces);
    fm_pieces_clear(&overlaid);
    fm_system_clear(&whole);
    assert_int_equal(fm_isl_work_end(&work, NULL), FM_OK);
}

/* Seventy strips of 10, each with a quotient of its own: together more than a system has room for. */
CASE(test_overlay_of_many_quotients)
{
    enum { STRIPS = 70 };
    fm_isl_work work;
    assert_int_equal(fm_isl_work_begin(&work, &(fm_isl_limits){0}, NULL), FM_OK);
    fm_pieces pieces = {0}, overlaid = {0};
    fm_system whole = {0};
    for (int i = 0; i <= STRIPS; i++) {
        const int64_t first = i < STRIPS ? 10 * i : 0, last = i < STRIPS ? first + 9 : 10 * STRIPS - 1;
        fm_system strip = {.kept = 2};
        for (int side = 0; side < 4; side++) {
            fm_line *line = fm_lines_add(&work, &strip.inequalities);
            line->at[side / 2] = side % 2 ? -1 : 1;
            line->at[FM_CONSTANT] = side == 0 ? -first : side == 1 ? last : side == 2 ? 0 : 99;
        }
        if (i == STRIPS) {
            whole = strip;
            break;
        }
        fm_line y = {{0, 1}}, quotient;
        fm_poly value = {0};
        bool inserted;
        assert_true(fm_system_quotient(&work, &strip, NULL, &y, i + 2, &quotient, &inserted));
        fm_poly_add_line(&value, &quotient, 3, 1);
        assert_true(fm_pieces_add(&work, &pieces, &strip, &value));
    }
    if (!fm_overlay(&work, &whole, &pieces, &overlaid)) fail_msg("%s", work.error.reason);
    assert_int_equal(overlaid.count, STRIPS);
    for (int64_t x = 5; x < 10 * STRIPS; x += 10) {
        int64_t found = -1;
        for (size_t k = 0; k < overlaid.count; k++) {
            int64_t values[FM_COLUMNS] = {x, 99};
            fm_quick_poly quick;
            assert_true(fm_system_extend_point(&overlaid.pieces[k].domain, values));
            if (!fm_system_holds(&overlaid.pieces[k].domain, values)) continue;
            assert_true(fm_quick_poly_create(&quick, &overlaid.pieces[k].value));
            assert_true(fm_quick_poly_value(&quick, values, &found));
            fm_quick_poly_clear(&quick);
        }
        assert_int_equal(found, 99 / (x / 10 + 2));
    }
    fm_pieces_clear(&pieces);
    fm_pieces_clear(&overlaid);
    fm_system_clear(&whole);
    assert_int_equal(fm_isl_work_end(&work, NULL), FM_OK);
}
