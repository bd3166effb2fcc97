/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counter_overlay.c - see counter_overlay.h. All pieces together (counter_arrange.h), by the quotients of all
 * of them. Where those are more than a system has columns: one piece after the other, each with its own
 * quotients only. A domain is cut in two by a condition of a piece that holds in a part of it; what is cut is
 * never put together again. It asks isl anew for every piece and every part, and takes several times as long.
 */
#include "static/counter/counter_overlay.h"

#include "static/counter/counter_arrange.h"
#include "static/polyhedra/rounding.h"

#include <stdlib.h>
#include <string.h>

typedef struct overlay {
    fm_isl_work *work;
    const fm_pieces *pieces;
    fm_pieces *overlaid;
} overlay;

/* The lines of a piece by the columns of the domain, which gets the quotients that it does not have. */
typedef struct translated {
    fm_counter_lines lines; /* >= 0: an equality is two of them */
    fm_poly value;
} translated;

static void translated_clear(translated *this)
{
    free(this->lines.lines);
    fm_poly_clear(&this->value);
}

static fm_line moved(const fm_line *line, unsigned count, const unsigned *columns)
{
    fm_line result = {{0}};
    for (unsigned i = 0; i < count; i++)
        if (line->at[i]) result.at[columns[i]] += line->at[i];
    result.at[FM_CONSTANT] = line->at[FM_CONSTANT];
    return result;
}

static bool translate(fm_isl_work *work, fm_system *domain, fm_poly *sum, const fm_counter_piece *piece,
                      translated *result)
{
    const fm_system *system = &piece->domain;
    unsigned columns[FM_COLUMNS], count = system->kept + system->extra;
    memset(result, 0, sizeof *result);
    for (unsigned i = 0; i < system->kept; i++) columns[i] = i;
    for (unsigned i = 0; i < system->extra; i++) {
        bool inserted;
        fm_line of = moved(&system->floors[i].of, system->kept + i, columns);
        if (!fm_system_floor(work, domain, sum, &of, system->floors[i].by, &columns[system->kept + i],
                             &inserted))
            return false;
    }
    for (size_t i = 0; i < system->inequalities.count + 2 * system->equalities.count; i++) {
        size_t equality = i - system->inequalities.count;
        fm_line *line = fm_lines_add(work, &result->lines);
        if (!line) return false;
        if (i < system->inequalities.count) {
            *line = moved(&system->inequalities.lines[i], count, columns);
            continue;
        }
        *line = moved(&system->equalities.lines[equality / 2], count, columns);
        if (equality % 2 == 0) continue;
        for (unsigned j = 0; j < FM_COLUMNS; j++) line->at[j] = -line->at[j];
    }
    result->value = fm_poly_copy(&piece->value);
    for (size_t i = 0; i < result->value.count; i++) {
        uint8_t powers[FM_COLUMNS] = {0};
        for (unsigned j = 0; j < count; j++)
            powers[columns[j]] = (uint8_t)(powers[columns[j]] + result->value.terms[i].powers[j]);
        memcpy(result->value.terms[i].powers, powers, sizeof powers);
    }
    return true;
}

/* line < 0 */
static fm_line opposite(const fm_line *line)
{
    fm_line result;
    for (unsigned i = 0; i < FM_COLUMNS; i++) result.at[i] = -line->at[i];
    result.at[FM_CONSTANT] -= 1;
    return result;
}

typedef enum fm_truth { FM_ALWAYS, FM_NEVER, FM_UNKNOWN } fm_truth;

/* The line as isl writes the domain's: without what its equalities replace (of each its last column), divided
 * by what divides all factors. False: numbers are too large. */
static bool normalize(const fm_system *domain, unsigned columns, fm_line *line)
{
    for (size_t i = 0; i < domain->equalities.count; i++) {
        const fm_line *equality = &domain->equalities.lines[i];
        unsigned last = columns;
        while (last > 0 && !equality->at[last - 1]) last--;
        if (!last || !line->at[last - 1]) continue;
        int64_t common = fm_greatest_divisor(equality->at[last - 1], line->at[last - 1]);
        int64_t times = equality->at[last - 1] / common, factor = line->at[last - 1] / common;
        if (times < 0) times = -times, factor = -factor;
        for (unsigned j = 0; j < FM_COLUMNS; j++) {
            int64_t left, right;
            if (!line->at[j] && !equality->at[j]) continue;
            if (__builtin_mul_overflow(line->at[j], times, &left) ||
                __builtin_mul_overflow(equality->at[j], factor, &right) ||
                __builtin_sub_overflow(left, right, &line->at[j]))
                return false;
        }
    }
    int64_t common = 0;
    for (unsigned i = 0; i < columns; i++) common = fm_greatest_divisor(common, line->at[i]);
    for (unsigned i = 0; i < columns && common > 1; i++) line->at[i] /= common;
    if (common > 1) line->at[FM_CONSTANT] = fm_floor_divide(line->at[FM_CONSTANT], common);
    return true;
}

/* What one condition of the domain says about another one with the same factors, or the opposite ones. */
static fm_truth compare_lines(const fm_line *known, const fm_line *line, unsigned columns)
{
    int64_t most;
    if (!memcmp(known->at, line->at, columns * sizeof line->at[0]))
        return line->at[FM_CONSTANT] >= known->at[FM_CONSTANT] ? FM_ALWAYS : FM_UNKNOWN;
    for (unsigned i = 0; i < columns; i++)
        if (known->at[i] != -line->at[i]) return FM_UNKNOWN;
    return !__builtin_add_overflow(known->at[FM_CONSTANT], line->at[FM_CONSTANT], &most) && most < 0
               ? FM_NEVER
               : FM_UNKNOWN;
}

/* Does line >= 0 hold in the domain? What one look at its conditions tells; isl takes a thousand times as
 * long. */
static fm_truth seen_at_once(const fm_system *domain, const fm_line *condition)
{
    unsigned columns = fm_system_columns(domain);
    fm_line line = *condition;
    bool constant = true;
    if (!normalize(domain, columns, &line)) return FM_UNKNOWN;
    for (unsigned i = 0; i < columns; i++) constant &= line.at[i] == 0;
    if (constant) return line.at[FM_CONSTANT] >= 0 ? FM_ALWAYS : FM_NEVER;
    for (size_t i = 0; i < domain->inequalities.count; i++) {
        fm_truth truth = compare_lines(&domain->inequalities.lines[i], &line, columns);
        if (truth != FM_UNKNOWN) return truth;
    }
    for (unsigned i = 0; i < domain->extra; i++)
        for (int side = 0; side < 2; side++) { /* 0 <= of - by * quotient <= by - 1 */
            fm_line known = domain->floors[i].of;
            known.at[domain->kept + i] = -domain->floors[i].by;
            for (unsigned j = 0; side && j < FM_COLUMNS; j++) known.at[j] = -known.at[j];
            if (side) known.at[FM_CONSTANT] += domain->floors[i].by - 1;
            if (!normalize(domain, columns, &known)) continue;
            fm_truth truth = compare_lines(&known, &line, columns);
            if (truth != FM_UNKNOWN) return truth;
        }
    return FM_UNKNOWN;
}

/* The lines that hold everywhere are dropped; false: one holds nowhere. */
static bool drop_what_holds(const fm_system *domain, fm_counter_lines *lines)
{
    for (size_t i = lines->count; i-- > 0;) {
        fm_truth truth = seen_at_once(domain, &lines->lines[i]);
        if (truth == FM_NEVER) return false;
        if (truth == FM_ALWAYS) fm_lines_remove(lines, i);
    }
    return true;
}

/* Does the domain have points in the piece? */
static fm_emptiness common_points(fm_isl_work *work, fm_system *domain, const fm_counter_lines *lines)
{
    size_t count = domain->inequalities.count;
    if (!lines->count) return FM_NOT_EMPTY;
    for (size_t i = 0; i < lines->count; i++) {
        fm_line *line = fm_lines_add(work, &domain->inequalities);
        if (!line) return FM_EMPTINESS_FAILED;
        *line = lines->lines[i];
    }
    fm_emptiness emptiness = fm_system_emptiness(work, domain, NULL);
    domain->inequalities.count = count;
    return emptiness;
}

static bool cut(overlay *this, fm_system *domain, fm_poly *sum, size_t next);

/* The part of the domain where the condition does not hold, which is in no case in the piece `next`. */
static bool cut_off(overlay *this, const fm_system *domain, const fm_poly *sum, const fm_line *condition,
                    size_t next)
{
    fm_system part;
    if (!fm_system_copy(this->work, &part, domain)) return false;
    fm_poly copy = fm_poly_copy(sum);
    fm_line *line = fm_lines_add(this->work, &part.inequalities);
    if (!line) {
        fm_system_clear(&part);
        fm_poly_clear(&copy);
        return false;
    }
    *line = opposite(condition);
    return cut(this, &part, &copy, next + 1);
}

/* Cuts off what is not in the piece, and adds its polynomial to the rest, which stays in *domain. */
static bool cut_by_piece(overlay *this, fm_system *domain, fm_poly *sum, size_t next)
{
    fm_isl_work *work = this->work;
    translated piece;
    bool done = translate(work, domain, sum, &this->pieces->pieces[next], &piece);
    fm_emptiness common = !done ? FM_EMPTINESS_FAILED
                          : !drop_what_holds(domain, &piece.lines)
                              ? FM_EMPTY
                              : common_points(work, domain, &piece.lines);
    done = common != FM_EMPTINESS_FAILED;
    bool changed = false;
    for (size_t i = 0; i < piece.lines.count && done && common == FM_NOT_EMPTY; i++) {
        fm_line outside = opposite(&piece.lines.lines[i]);
        if (changed && seen_at_once(domain, &piece.lines.lines[i]) == FM_ALWAYS) continue;
        fm_emptiness emptiness = fm_system_emptiness(work, domain, &outside);
        done = emptiness != FM_EMPTINESS_FAILED;
        if (emptiness != FM_NOT_EMPTY) continue;
        done = cut_off(this, domain, sum, &piece.lines.lines[i], next);
        fm_line *line = done ? fm_lines_add(work, &domain->inequalities) : NULL;
        done = line != NULL;
        if (done) *line = piece.lines.lines[i];
        changed = true;
    }
    if (done && common == FM_NOT_EMPTY) fm_poly_add(sum, &piece.value, 1, 1);
    translated_clear(&piece);
    if (done && !changed) fm_system_drop_floors(domain, sum);
    if (done && changed) done = fm_system_simplify(work, domain, sum) == FM_NOT_EMPTY;
    return done;
}

/* Takes domain and sum: what remains to be done are the pieces from `next` on. */
static bool cut(overlay *this, fm_system *domain, fm_poly *sum, size_t next)
{
    fm_isl_work *work = this->work;
    bool done = fm_isl_alive(work) && fm_system_simplify(work, domain, sum) == FM_NOT_EMPTY;
    for (; next < this->pieces->count && done; next++) done = cut_by_piece(this, domain, sum, next);
    if (done) return fm_pieces_add(work, this->overlaid, domain, sum);
    fm_system_clear(domain);
    fm_poly_clear(sum);
    return fm_isl_alive(work) ? fm_isl_fail(work, FM_E_LIMIT, "the exact count was given up: an empty piece")
                              : false;
}

static bool one_by_one(fm_isl_work *work, const fm_system *domain, const fm_pieces *pieces,
                       fm_pieces *overlaid)
{
    overlay this = {work, pieces, overlaid};
    fm_system whole;
    fm_poly sum = {0};
    if (!fm_system_copy(work, &whole, domain)) return false;
    fm_emptiness emptiness = fm_system_simplify(work, &whole, &sum);
    if (emptiness == FM_NOT_EMPTY) return cut(&this, &whole, &sum, 0);
    fm_system_clear(&whole);
    return emptiness == FM_EMPTY;
}

bool fm_overlay(fm_isl_work *work, const fm_system *domain, const fm_pieces *pieces, fm_pieces *overlaid)
{
    bool fits;
    if (!fm_arrange(work, domain, pieces, overlaid, &fits)) return false;
    return fits || one_by_one(work, domain, pieces, overlaid);
}
