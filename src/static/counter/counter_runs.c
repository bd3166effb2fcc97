/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counter_runs.c - With y for one stride, a run of counts c(0), c(1), … without an end is the sum of
 * differences[j] * y^j / (1 - y)^(j + 1). Times (1 - y)^(degree + 1), which is what a table of this order
 * holds, that is a polynomial of y. A run with an end is one without, less the rest, which is one without an
 * end, too.
 */
#include "static/counter/counter_values.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

static const uint64_t MOST_BYTES = (uint64_t)1 << 30;

bool fm_runs_create(fm_runs *runs, uint64_t size, const fm_value_cells *cells)
{
    *runs = (fm_runs){.size = size ? size : 1, .cells = cells};
    uint64_t tables = size ? MOST_BYTES / 8 / size : FM_RUN_TABLES;
    runs->most_tables = tables > FM_RUN_TABLES ? FM_RUN_TABLES : (unsigned)tables;
    runs->tables[0].least = UINT64_MAX;
    runs->count = 1;
    if (cells)
        runs->counts = fm_calloc(cells->count, sizeof *runs->counts);
    else if (runs->most_tables)
        runs->tables[0].cells = fm_calloc(runs->size, sizeof(uint64_t));
    bool done = cells ? runs->counts != NULL : runs->tables[0].cells != NULL;
    if (!done) fm_runs_destroy(runs);
    return done;
}

void fm_runs_destroy(fm_runs *runs)
{
    for (unsigned i = 0; i < runs->count; i++) free(runs->tables[i].cells);
    free(runs->counts);
    memset(runs, 0, sizeof *runs);
}

static void widen_table(fm_run_table *table, uint64_t least, uint64_t most)
{
    if (least < table->least) table->least = least;
    if (most > table->most) table->most = most;
}

/* NULL: there is none and no room for one. */
static fm_run_table *table_for(fm_runs *runs, uint64_t stride, unsigned order)
{
    for (unsigned i = 1; i < runs->count; i++)
        if (runs->tables[i].stride == stride && runs->tables[i].order == order) return &runs->tables[i];
    if (runs->count >= runs->most_tables) return NULL;
    uint64_t *cells = fm_calloc(runs->size, sizeof *cells);
    if (!cells) return NULL;
    runs->tables[runs->count] =
        (fm_run_table){.stride = stride, .order = order, .cells = cells, .least = UINT64_MAX};
    return &runs->tables[runs->count++];
}

/* The value at a place, and its differences there. */
static void differences_at(const uint64_t *differences, unsigned degree, uint64_t place, uint64_t *result)
{
    /* (place over k), modulo 2^64: degree is small, so products of so many numbers are divided step by step
     */
    uint64_t over[FM_RUN_DEGREE + 1] = {1};
    for (unsigned k = 1; k <= degree; k++) {
        unsigned __int128 product = 1;
        uint64_t factors[FM_RUN_DEGREE];
        for (unsigned i = 0; i < k; i++) factors[i] = place - i;
        uint64_t divide = 1;
        for (unsigned i = 2; i <= k; i++) divide *= i;
        for (unsigned prime = 2; prime <= 3; prime++) /* k <= 4: only 2 and 3 divide k! */
            while (divide % prime == 0)
                for (unsigned i = 0; i < k; i++)
                    if (factors[i] % prime == 0) {
                        factors[i] /= prime;
                        divide /= prime;
                        break;
                    }
        for (unsigned i = 0; i < k; i++) product *= factors[i];
        over[k] = place >= k ? (uint64_t)product : 0;
    }
    for (unsigned j = 0; j <= degree; j++) {
        result[j] = 0;
        for (unsigned k = 0; j + k <= degree; k++) result[j] += differences[j + k] * over[k];
    }
}

bool fm_run_sum(const uint64_t *differences, unsigned degree, uint64_t length, uint64_t *sum)
{
    uint64_t sums[FM_RUN_DEGREE + 2] = {0}, at[FM_RUN_DEGREE + 1];
    if (degree >= FM_RUN_DEGREE) return false;
    memcpy(sums + 1, differences, (degree + 1) * sizeof sums[0]);
    differences_at(sums, degree + 1, length, at);
    *sum = at[0];
    return true;
}

/* Adds sign * (sum of differences[j] * y^j * (1 - y)^(degree - j)), y^0 being at value `at`. */
static void add_end(const fm_runs *runs, fm_run_table *table, uint64_t at, const uint64_t *differences,
                    unsigned degree, uint64_t sign)
{
    uint64_t result[FM_RUN_DEGREE + 1] = {0};
    for (unsigned j = 0; j <= degree; j++) {
        uint64_t binomial = 1;
        for (unsigned k = 0; j + k <= degree; k++) { /* (degree - j over k) * (-1)^k at y^(j + k) */
            result[j + k] += differences[j] * (k % 2 ? -binomial : binomial);
            binomial = binomial * (degree - j - k) / (k + 1);
        }
    }
    for (unsigned j = 0; j <= degree; j++) {
        unsigned __int128 place = (unsigned __int128)at + (unsigned __int128)table->stride * j;
        if (place < runs->size) table->cells[place] += sign * result[j];
    }
}

static void add_value(fm_runs *runs, uint64_t value, uint64_t count)
{
    if (runs->cells) {
        runs->counts[fm_cells_index(runs->cells, value)] += count;
        return;
    }
    runs->tables[0].cells[value] += count;
    widen_table(&runs->tables[0], value, value);
}

static void add_one_by_one(fm_runs *runs, uint64_t first, uint64_t stride, uint64_t length,
                           const uint64_t *differences, unsigned degree)
{
    uint64_t current[FM_RUN_DEGREE + 1];
    memcpy(current, differences, (degree + 1) * sizeof current[0]);
    for (uint64_t i = 0; i < length; i++) {
        add_value(runs, first + stride * i, current[0]);
        for (unsigned j = 0; j < degree; j++) current[j] += current[j + 1];
    }
}

/* The sum of the first counts of a run. */
static uint64_t sum_of_first(const uint64_t *differences, unsigned degree, uint64_t length)
{
    uint64_t sum = differences[0] * length;
    if (degree == 1)
        return sum + differences[1] * (length % 2 ? (length - 1) / 2 * length : length / 2 * (length - 1));
    if (degree > 1) fm_run_sum(differences, degree, length, &sum);
    return sum;
}

/* From cell to cell. */
static void add_cut(fm_runs *runs, uint64_t first, uint64_t stride, uint64_t length,
                    const uint64_t *differences, unsigned degree)
{
    uint64_t before = 0;
    for (uint64_t at = 0; at < length;) {
        size_t cell = fm_cells_index(runs->cells, first + stride * at);
        at = (runs->cells->borders[cell + 1] - 1 - first) / stride + 1;
        if (at > length) at = length;
        uint64_t sum = sum_of_first(differences, degree, at);
        runs->counts[cell] += sum - before;
        before = sum;
        runs->cuts++;
    }
}

/* Tables cost a look at every value between the least and the most one; a cut costs as much as some of them.
 */
static bool better_cut(const fm_runs *runs, unsigned degree)
{
    enum { VALUES_PER_CUT = 8 };
    return runs->cells && degree < FM_RUN_DEGREE &&
           (runs->cuts < runs->size / VALUES_PER_CUT || runs->most_tables <= 1);
}

/* The differences of the same counts from the last one to the first. */
static void turn_around(const uint64_t *differences, unsigned degree, uint64_t length, uint64_t *turned)
{
    uint64_t at[FM_RUN_DEGREE + 1];
    differences_at(differences, degree, length - 1, at);
    for (unsigned i = 0; i <= degree; i++) {
        turned[i] = at[0];
        for (unsigned j = degree; j-- > 0;) at[j] -= at[j + 1]; /* one step back, from the highest on */
    }
    for (unsigned j = 1; j <= degree; j++)
        for (unsigned i = degree; i >= j; i--) turned[i] -= turned[i - 1];
}

bool fm_runs_add(fm_runs *runs, int64_t first, int64_t stride, uint64_t length, const uint64_t *differences,
                 unsigned degree)
{
    uint64_t turned[FM_RUN_DEGREE + 1], ending[FM_RUN_DEGREE + 1];
    if (!length) return true;
    if (degree > FM_RUN_DEGREE) return false;
    __int128 last = first + (__int128)stride * (__int128)(length - 1);
    if (first < 0 || last < 0 || (uint64_t)first >= runs->size || last >= (__int128)runs->size) return false;
    if (stride < 0) {
        turn_around(differences, degree, length, turned);
        return fm_runs_add(runs, (int64_t)last, -stride, length, turned, degree);
    }
    while (degree && !differences[degree]) degree--;
    if (stride == 0 && fm_run_sum(differences, degree, length, &turned[0])) {
        add_value(runs, (uint64_t)first, turned[0]);
        return true;
    }
    if (length > 8 && stride && better_cut(runs, degree)) {
        add_cut(runs, (uint64_t)first, (uint64_t)stride, length, differences, degree);
        return true;
    }
    fm_run_table *table = length > 8 && stride ? table_for(runs, (uint64_t)stride, degree + 1) : NULL;
    if (!table) {
        add_one_by_one(runs, (uint64_t)first, (uint64_t)stride, length, differences, degree);
        return true;
    }
    differences_at(differences, degree, length, ending);
    add_end(runs, table, (uint64_t)first, differences, degree, 1);
    unsigned __int128 end = (unsigned __int128)first + (unsigned __int128)stride * length;
    if (end < runs->size) add_end(runs, table, (uint64_t)end, ending, degree, (uint64_t)-1);
    widen_table(table, (uint64_t)first, (uint64_t)last);
    return true;
}

static bool visit_value(fm_runs *runs, fm_runs_visit visit, void *context, uint64_t value, uint64_t count)
{
    if (!runs->cells) return visit(context, (int64_t)value, count);
    add_value(runs, value, count);
    return true;
}

static bool flush_table(fm_runs *runs, fm_run_table *table, fm_runs_visit visit, void *context)
{
    bool done = true;
    if (table->least == UINT64_MAX) return true;
    for (unsigned order = 0; order < table->order; order++)
        for (uint64_t i = table->least; i + table->stride <= table->most; i++)
            table->cells[i + table->stride] += table->cells[i];
    for (uint64_t i = table->least; i <= table->most && done; i++)
        if (table->cells[i]) done = visit_value(runs, visit, context, i, table->cells[i]);
    uint64_t end = table->most + 1 + table->stride * (table->order + 1);
    if (end > runs->size || end < table->most) end = runs->size;
    memset(&table->cells[table->least], 0, (end - table->least) * sizeof table->cells[0]);
    table->least = UINT64_MAX;
    table->most = 0;
    return done;
}

bool fm_runs_flush(fm_runs *runs, fm_runs_visit visit, void *context)
{
    bool done = true;
    for (unsigned i = 0; i < runs->count; i++)
        done = flush_table(runs, &runs->tables[i], visit, context) && done;
    for (size_t i = 0; runs->cells && i < runs->cells->count; i++) {
        if (runs->counts[i] && done) done = visit(context, (int64_t)runs->cells->borders[i], runs->counts[i]);
        runs->counts[i] = 0;
    }
    runs->cuts = 0;
    return done;
}
