/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counter.c - Counted variables go one by one:
 *
 * 1. equalities: a variable with factor 1 is replaced; where none has, a new one makes factors smaller until
 * one has (Pugh's omega test); a common divisor of all factors asks for a remainder of kept variables;
 * 2. a variable that has factor 1 wherever other counted ones are: cases by which lower and which upper bound
 * is the tightest, and in each the polynomial is summed up between the two; bounds of kept variables alone
 * are divided and rounded, by quotients;
 * 3. when there is none: a variable is split into its remainders, first one of which others are quotients.
 */
#include "static/counter/counter_system.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_REMAINDERS = 512, MOST_PIECES = 200000, MOST_DIVIDENDS = 2 };

void fm_pieces_clear(fm_pieces *pieces)
{
    for (size_t i = 0; i < pieces->count; i++) {
        fm_system_clear(&pieces->pieces[i].domain);
        fm_poly_clear(&pieces->pieces[i].value);
    }
    free(pieces->pieces);
    memset(pieces, 0, sizeof *pieces);
}

bool fm_pieces_add(fm_isl_work *work, fm_pieces *pieces, fm_system *domain, fm_poly *value)
{
    bool done = true;
    if (value->failed || pieces->count >= MOST_PIECES)
        done = fm_isl_fail(work, FM_E_LIMIT, "the exact count was given up: its formulas become too large");
    else if (fm_array_reserve((void **)&pieces->pieces, &pieces->capacity, pieces->count + 1,
                              sizeof *pieces->pieces))
        done = fm_isl_no_memory(work);
    if (done) {
        pieces->pieces[pieces->count++] = (fm_counter_piece){*domain, *value};
        memset(domain, 0, sizeof *domain);
        memset(value, 0, sizeof *value);
    } else {
        fm_system_clear(domain);
        fm_poly_clear(value);
    }
    return done;
}

static int64_t magnitude_of(int64_t number)
{
    return number < 0 ? -number : number;
}

/* The common divisor of the factors of counted variables; 0: it has none. */
static int64_t counted_divisor(const fm_system *system, const fm_line *line)
{
    int64_t common = 0;
    unsigned columns = fm_system_columns(system);
    for (unsigned i = system->kept + system->extra; i < columns; i++)
        common = fm_greatest_divisor(common, line->at[i]);
    return common;
}

/* The part of a line without counted variables. */
static fm_line kept_part(const fm_system *system, const fm_line *line)
{
    fm_line part = {{0}};
    memcpy(part.at, line->at, (system->kept + system->extra) * sizeof part.at[0]);
    part.at[FM_CONSTANT] = line->at[FM_CONSTANT];
    return part;
}

/* The factors of counted variables are divided by their common divisor, the kept part by it and rounded down.
 */
static bool divide_line(fm_isl_work *work, fm_system *system, fm_poly *poly, fm_counter_lines *lines,
                        size_t index, int64_t by, fm_line *quotient)
{
    bool inserted;
    fm_line part = kept_part(system, &lines->lines[index]);
    if (!fm_system_quotient(work, system, poly, &part, by, quotient, &inserted)) return false;
    unsigned known = system->kept + system->extra, columns = fm_system_columns(system);
    fm_line *line = &lines->lines[index];
    memcpy(line->at, quotient->at, known * sizeof line->at[0]);
    line->at[FM_CONSTANT] = quotient->at[FM_CONSTANT];
    for (unsigned i = known; i < columns; i++) line->at[i] /= by;
    return true;
}

/* An equality whose counted variables have a common divisor: the kept part must be a multiple of it. */
static bool divide_equality(fm_isl_work *work, fm_system *system, fm_poly *poly, size_t index, int64_t by)
{
    fm_line part = kept_part(system, &system->equalities.lines[index]), quotient;
    if (!divide_line(work, system, poly, &system->equalities, index, by, &quotient)) return false;
    fm_line *multiple = fm_lines_add(work, &system->equalities);
    if (!multiple) return false;
    *multiple = part;
    return fm_line_subtract(work, multiple, by, &quotient);
}

/* The variable, which has factor 1 or -1 in the equality, is replaced everywhere, and gone. */
static bool replace_by_equality(fm_isl_work *work, fm_system *system, fm_poly *poly, size_t index,
                                unsigned variable)
{
    fm_line equality = system->equalities.lines[index], by = equality;
    int64_t sign = equality.at[variable];
    fm_poly value = {0};
    by.at[variable] = 0;
    fm_poly_add_line(&value, &by, fm_system_columns(system), -sign);
    fm_poly replaced = fm_poly_replaced(poly, variable, &value);
    fm_poly_clear(&value);
    fm_poly_clear(poly);
    *poly = replaced;
    fm_lines_remove(&system->equalities, index);
    bool done = true;
    fm_counter_lines *both[2] = {&system->equalities, &system->inequalities};
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < both[k]->count && done; i++) {
            int64_t factor = both[k]->lines[i].at[variable];
            if (factor) done = fm_line_subtract(work, &both[k]->lines[i], factor * sign, &equality);
        }
    fm_system_remove_column(system, variable);
    fm_poly_drop_variable(poly, variable);
    system->counted--;
    return done;
}

/*
 * No factor is 1: a new variable takes the place of the one that has the smallest, and all factors become
 * smaller (Pugh, 1991). At once, without isl: it would bring the equalities into another form in between, and
 * that for ever.
 */
static bool make_factors_smaller(fm_isl_work *work, fm_system *system, fm_poly *poly, size_t index,
                                 unsigned variable)
{
    unsigned columns = fm_system_columns(system);
    int64_t by = magnitude_of(system->equalities.lines[index].at[variable]) + 1;
    if (!fm_system_insert_column(work, system, columns)) return false;
    system->counted++;
    fm_line *line = fm_lines_add(work, &system->equalities);
    if (!line) return false;
    const fm_line *old = &system->equalities.lines[index];
    for (unsigned i = 0; i < FM_COLUMNS; i++) {
        /* the remainder that is nearest to 0: of `variable` it is 1 or -1 */
        int64_t rest = old->at[i] - by * fm_floor_divide(old->at[i], by);
        line->at[i] = rest * 2 >= by ? rest - by : rest;
    }
    line->at[columns] = -by;
    return replace_by_equality(work, system, poly, system->equalities.count - 1, variable);
}

/* One step with an equality that has counted variables. *changed: there was one. */
static bool use_equality(fm_isl_work *work, fm_system *system, fm_poly *poly, bool *changed)
{
    *changed = false;
    for (size_t i = 0; i < system->equalities.count; i++) {
        int64_t common = counted_divisor(system, &system->equalities.lines[i]);
        if (!common) continue;
        *changed = true;
        if (common > 1 && !divide_equality(work, system, poly, i, common)) return false;
        unsigned columns = fm_system_columns(system), best = columns;
        const fm_line *line = &system->equalities.lines[i];
        for (unsigned j = system->kept + system->extra; j < columns; j++)
            if (line->at[j] && (best == columns || magnitude_of(line->at[j]) < magnitude_of(line->at[best])))
                best = j;
        return magnitude_of(line->at[best]) == 1 ? replace_by_equality(work, system, poly, i, best)
                                                 : make_factors_smaller(work, system, poly, i, best);
    }
    return true;
}

static bool divide_inequalities(fm_isl_work *work, fm_system *system, fm_poly *poly)
{
    for (size_t i = 0; i < system->inequalities.count; i++) {
        fm_line quotient;
        int64_t common = counted_divisor(system, &system->inequalities.lines[i]);
        if (common > 1 && !divide_line(work, system, poly, &system->inequalities, i, common, &quotient))
            return false;
    }
    return true;
}

static bool has_other_counted(const fm_system *system, const fm_line *line, unsigned variable)
{
    unsigned columns = fm_system_columns(system);
    for (unsigned i = system->kept + system->extra; i < columns; i++)
        if (i != variable && line->at[i]) return true;
    return false;
}

/* The variable that gives the fewest cases; *variable is the number of columns where none can be summed up.
 */
static bool choose_variable(fm_isl_work *work, const fm_system *system, unsigned *variable)
{
    unsigned columns = fm_system_columns(system);
    size_t least = 0;
    *variable = columns;
    for (unsigned v = system->kept + system->extra; v < columns; v++) {
        size_t lower = 0, upper = 0, divided = 0;
        bool fits = true;
        for (size_t i = 0; i < system->inequalities.count; i++) {
            const fm_line *line = &system->inequalities.lines[i];
            if (!line->at[v]) continue;
            *(line->at[v] > 0 ? &lower : &upper) += 1;
            if (magnitude_of(line->at[v]) == 1) continue;
            if (has_other_counted(system, line, v))
                fits = false;
            else
                divided++;
        }
        if (!lower || !upper)
            return fm_isl_fail(work, FM_E_LIMIT, "the exact count was given up: a range without an end");
        size_t cost = lower * upper * 8 + divided;
        if (fits && (*variable == columns || cost < least)) {
            *variable = v;
            least = cost;
        }
    }
    return true;
}

static bool solve_system(fm_isl_work *work, fm_system *system, fm_poly *poly, fm_pieces *pieces);

/* variable = remainders * variable + 0, 1, … remainders - 1. */
static bool split_by_remainder(fm_isl_work *work, const fm_system *system, const fm_poly *poly,
                               unsigned variable, int64_t remainders, fm_pieces *pieces)
{
    if (remainders > MOST_REMAINDERS)
        return fm_isl_fail(work, FM_E_LIMIT, "the exact count was given up: %lld remainders of one variable",
                           (long long)remainders);
    bool done = true;
    for (int64_t remainder = 0; remainder < remainders && done; remainder++) {
        fm_system part;
        if (!fm_system_copy(work, &part, system)) return false;
        fm_counter_lines *both[2] = {&part.equalities, &part.inequalities};
        bool overflow = false;
        for (int k = 0; k < 2; k++)
            for (size_t i = 0; i < both[k]->count; i++) {
                int64_t *at = both[k]->lines[i].at, product;
                overflow |= __builtin_mul_overflow(at[variable], remainder, &product);
                overflow |= __builtin_add_overflow(at[FM_CONSTANT], product, &at[FM_CONSTANT]);
                overflow |= __builtin_mul_overflow(at[variable], remainders, &at[variable]);
            }
        fm_line line = {{0}};
        fm_poly value = {0};
        line.at[variable] = remainders;
        line.at[FM_CONSTANT] = remainder;
        fm_poly_add_line(&value, &line, fm_system_columns(system), 1);
        fm_poly replaced = fm_poly_replaced(poly, variable, &value);
        fm_poly_clear(&value);
        if (overflow) {
            fm_system_clear(&part);
            fm_poly_clear(&replaced);
            return fm_isl_fail(work, FM_E_LIMIT, "the exact count was given up: numbers beyond 64 bits");
        }
        done = solve_system(work, &part, &replaced, pieces);
    }
    return done;
}

/* Is the other line the first one turned around, with fewer than `by` values in between? */
static bool line_encloses(const fm_line *line, const fm_line *other, int64_t by)
{
    int64_t sum;
    for (unsigned i = 0; i < FM_CONSTANT; i++)
        if (line->at[i] != -other->at[i]) return false;
    return !__builtin_add_overflow(line->at[FM_CONSTANT], other->at[FM_CONSTANT], &sum) && sum < by;
}

/* Of how many variables the line is a quotient with a remainder. */
static unsigned dividends_of(const fm_line *line, unsigned first, unsigned columns, int64_t by)
{
    unsigned dividends = 0;
    for (unsigned v = first; v < columns; v++) dividends += line->at[v] % by != 0;
    return dividends;
}

/*
 * A counted variable that is the quotient of others: 0 <= x + 3 y - 8 q <= 7. When the remainders of these
 * are known it is a sum, and gone. Takes the variable with the fewest remainders; *variable is not changed
 * where there is none. Of three variables it would be 8 * 8 * 8 cases, and other ways have fewer.
 */
static void find_dividend(const fm_system *system, unsigned *variable, int64_t *remainders)
{
    unsigned first = system->kept + system->extra, columns = fm_system_columns(system);
    const fm_counter_lines *lines = &system->inequalities;
    bool found = false;
    for (size_t i = 0; i < lines->count; i++)
        for (unsigned q = first; q < columns; q++) {
            const int64_t *at = lines->lines[i].at;
            int64_t by = magnitude_of(at[q]);
            size_t other = 0;
            if (by < 2) continue;
            while (other < lines->count && !line_encloses(&lines->lines[i], &lines->lines[other], by))
                other++;
            if (dividends_of(&lines->lines[i], first, columns, by) > MOST_DIVIDENDS) continue;
            for (unsigned v = first; v < columns && other < lines->count; v++) {
                int64_t times = by / fm_greatest_divisor(by, at[v]);
                if (v == q || times < 2 || times > MOST_REMAINDERS) continue;
                if (found && times >= *remainders) continue;
                found = true;
                *variable = v;
                *remainders = times;
            }
        }
}

static bool split_some_variable(fm_isl_work *work, const fm_system *system, const fm_poly *poly,
                                fm_pieces *pieces)
{
    unsigned first = system->kept + system->extra, columns = fm_system_columns(system), best = columns;
    int64_t least = 0;
    find_dividend(system, &best, &least);
    if (best < columns) return split_by_remainder(work, system, poly, best, least, pieces);
    for (size_t i = 0; i < system->inequalities.count; i++) {
        const int64_t *at = system->inequalities.lines[i].at;
        for (unsigned v = first; v < columns; v++)
            for (unsigned other = first; other < columns && magnitude_of(at[v]) > 1; other++) {
                if (other == v || !at[other]) continue;
                int64_t remainders = magnitude_of(at[v]) / fm_greatest_divisor(at[v], at[other]);
                if (remainders > 1 && (best == columns || remainders < least)) {
                    best = other;
                    least = remainders;
                }
            }
    }
    if (best == columns)
        return fm_isl_fail(work, FM_E_LIMIT, "the exact count was given up: no variable can be summed up");
    return split_by_remainder(work, system, poly, best, least, pieces);
}

/* Bounds of the variable that have a factor (and no other counted variables): divided and rounded. */
static bool round_bounds(fm_isl_work *work, fm_system *system, fm_poly *poly, unsigned *variable)
{
    for (size_t i = 0; i < system->inequalities.count; i++) {
        fm_line quotient;
        int64_t by = magnitude_of(system->inequalities.lines[i].at[*variable]);
        if (by <= 1) continue;
        unsigned extra = system->extra;
        if (!divide_line(work, system, poly, &system->inequalities, i, by, &quotient)) return false;
        *variable += system->extra - extra;
    }
    return true;
}

/* One more condition: line - other >= strictly. */
static bool add_comparison(fm_isl_work *work, fm_system *system, const fm_line *line, const fm_line *other,
                           unsigned variable, bool strictly)
{
    fm_line *new_line = fm_lines_add(work, &system->inequalities);
    if (!new_line) return false;
    *new_line = *line;
    if (!fm_line_subtract(work, new_line, 1, other)) return false;
    new_line->at[variable] = 0;
    new_line->at[FM_CONSTANT] -= strictly;
    return true;
}

/* The case in which the lower bound and the upper bound with these numbers are the tightest ones, the first
 * of several. */
static bool sum_case(fm_isl_work *work, const fm_system *system, const fm_poly *poly, unsigned variable,
                     size_t lower, size_t upper, fm_pieces *pieces)
{
    fm_system part;
    const fm_line *lines = system->inequalities.lines;
    if (!fm_system_copy(work, &part, system)) return false;
    part.inequalities.count = 0;
    bool done = true;
    for (size_t i = 0; i < system->inequalities.count && done; i++) {
        int64_t sign = lines[i].at[variable];
        if (i == lower || i == upper) continue;
        if (sign) {
            size_t tightest = sign > 0 ? lower : upper;
            done = add_comparison(work, &part, &lines[i], &lines[tightest], variable, i < tightest);
        } else {
            fm_line *line = fm_lines_add(work, &part.inequalities);
            done = line != NULL;
            if (done) *line = lines[i];
        }
    }
    /* x >= -low and x <= high: low + high >= 0 */
    fm_line low = lines[lower], high = lines[upper], minus_high = {{0}};
    low.at[variable] = high.at[variable] = 0;
    if (done) done = fm_line_subtract(work, &minus_high, 1, &high);
    if (done) done = add_comparison(work, &part, &low, &minus_high, variable, false);
    if (!done) {
        fm_system_clear(&part);
        return false;
    }
    fm_poly first = {0}, last = {0};
    fm_poly_add_line(&first, &low, fm_system_columns(system), -1);
    fm_poly_add_line(&last, &high, fm_system_columns(system), 1);
    fm_poly sum = fm_poly_sum(poly, variable, &first, &last);
    fm_poly_clear(&first);
    fm_poly_clear(&last);
    fm_poly_drop_variable(&sum, variable);
    fm_system_remove_column(&part, variable);
    part.counted--;
    return solve_system(work, &part, &sum, pieces);
}

static bool sum_up(fm_isl_work *work, fm_system *system, fm_poly *poly, unsigned variable, fm_pieces *pieces)
{
    if (!round_bounds(work, system, poly, &variable)) return false;
    bool done = true;
    for (size_t i = 0; i < system->inequalities.count; i++)
        for (size_t j = 0; j < system->inequalities.count && done; j++)
            if (system->inequalities.lines[i].at[variable] > 0 &&
                system->inequalities.lines[j].at[variable] < 0)
                done = sum_case(work, system, poly, variable, i, j, pieces);
    return done;
}

/* Takes system and poly. */
static bool solve_system(fm_isl_work *work, fm_system *system, fm_poly *poly, fm_pieces *pieces)
{
    bool done = false;
    for (;;) {
        bool changed;
        unsigned variable;
        if (!fm_isl_alive(work)) break;
        if (poly->failed) {
            fm_isl_fail(work, FM_E_LIMIT, "the exact count was given up: its formulas become too large");
            break;
        }
        fm_emptiness emptiness = fm_system_simplify(work, system, poly);
        done = emptiness == FM_EMPTY;
        if (emptiness != FM_NOT_EMPTY) break;
        unsigned steps = 0;
        do {
            if (!use_equality(work, system, poly, &changed)) break;
        } while (changed && ++steps);
        if (changed) break;
        if (steps) continue;
        if (!system->counted) {
            if (poly->count) return fm_pieces_add(work, pieces, system, poly);
            done = true;
            break;
        }
        if (!divide_inequalities(work, system, poly) || !choose_variable(work, system, &variable)) break;
        done = variable == fm_system_columns(system) ? split_some_variable(work, system, poly, pieces)
                                                     : sum_up(work, system, poly, variable, pieces);
        break;
    }
    fm_system_clear(system);
    fm_poly_clear(poly);
    return done;
}

bool fm_count_system(fm_isl_work *work, fm_system *system, fm_pieces *pieces)
{
    fm_poly one = {0};
    fm_poly_add_number(&one, 1);
    return solve_system(work, system, &one, pieces);
}

typedef struct count_job {
    fm_isl_work *work;
    unsigned kept;
    fm_pieces *pieces;
} count_job;

static isl_stat count_basic_set(isl_basic_set *set, void *context)
{
    count_job *job = context;
    fm_system system;
    if (!fm_system_from_isl(job->work, &system, set, job->kept)) return isl_stat_error;
    return fm_count_system(job->work, &system, job->pieces) ? isl_stat_ok : isl_stat_error;
}

bool fm_count_set(fm_isl_work *work, isl_set *set, unsigned kept, fm_pieces *pieces)
{
    count_job job = {work, kept, pieces};
    set = isl_set_compute_divs(isl_set_make_disjoint(isl_set_compute_divs(set)));
    isl_stat stat = isl_set_foreach_basic_set(set, count_basic_set, &job);
    isl_set_free(set);
    return stat == isl_stat_ok || fm_isl_gave_up(work);
}

bool fm_count_points(fm_isl_work *work, isl_set *set, uint64_t *count)
{
    fm_pieces pieces = {0};
    bool done = fm_count_set(work, set, 0, &pieces);
    *count = 0;
    for (size_t i = 0; i < pieces.count && done; i++) {
        fm_quick_poly quick;
        int64_t value = 0, values[FM_COLUMNS] = {0};
        fm_counter_piece *piece = &pieces.pieces[i];
        bool fits = fm_quick_poly_create(&quick, &piece->value);
        fits = fits && fm_system_extend_point(&piece->domain, values);
        fits = fits && fm_quick_poly_value(&quick, values, &value) && value >= 0;
        fm_quick_poly_clear(&quick);
        if (!fits || __builtin_add_overflow(*count, (uint64_t)value, count))
            done = fm_isl_fail(work, FM_E_LIMIT, "the exact count was given up: numbers beyond 64 bits");
    }
    fm_pieces_clear(&pieces);
    return done;
}
