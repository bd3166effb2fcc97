/* SPDX-License-Identifier: Apache-2.0 */
/* counter_overlay.c - pieces that overlap become pieces that do not (counter_system.h). */
#include "static/counter/counter_system.h"

#include "base/memory.h"

#include <isl/point.h>
#include <isl/set.h>
#include <isl/val.h>
#include <stdlib.h>
#include <string.h>

/* ---- all together ---- */

enum { MOST_POINTS = 64 }; /* of one domain */

/* A piece by the common columns: its conditions are numbers of lines. */
typedef struct member {
    uint32_t *lines;
    size_t count, capacity;
    fm_poly value;
} member;

/* A point, and which lines are at least 0 there. */
typedef struct known_point {
    int64_t at[FM_COLUMNS];
    uint8_t *holds;
} known_point;

typedef struct arrangement {
    fm_isl_work *work;
    fm_pieces *overlaid;
    fm_counter_lines lines; /* conditions of all pieces, each once */
    member *members;
    size_t member_count;
    known_point *points;
    size_t point_count, point_capacity;
} arrangement;

typedef enum truth { UNKNOWN, ALWAYS, NEVER } truth;

/* A domain, and what is known in it. */
typedef struct cell {
    fm_system domain;
    uint8_t *truths;  /* of lines */
    uint8_t *gone;    /* members that have no points here, or are in the sum */
    uint32_t *inside; /* members that are everywhere in it */
    size_t inside_count;
    uint32_t points[MOST_POINTS];
    size_t point_count;
} cell;

static void cell_clear(cell *this)
{
    fm_system_clear(&this->domain);
    free(this->truths);
    free(this->gone);
    free(this->inside);
}

static bool cell_create(arrangement *all, cell *this, const fm_system *domain)
{
    memset(this, 0, sizeof *this);
    this->truths = fm_calloc(all->lines.count + 1, 1);
    this->gone = fm_calloc(all->member_count + 1, 1);
    this->inside = fm_calloc(all->member_count + 1, sizeof *this->inside);
    if (!this->truths || !this->gone || !this->inside) return fm_isl_no_memory(all->work);
    return fm_system_copy(all->work, &this->domain, domain);
}

static fm_line opposite_line(const fm_line *line)
{
    fm_line result;
    for (unsigned i = 0; i < FM_COLUMNS; i++) result.at[i] = -line->at[i];
    result.at[FM_CONSTANT] -= 1;
    return result;
}

/* ---- what single conditions tell of each other ---- */

/* What one condition says about another one with the same factors, or the opposite ones. */
static truth compare_lines(const fm_line *known, const fm_line *line, unsigned columns)
{
    int64_t most;
    if (!memcmp(known->at, line->at, columns * sizeof line->at[0]))
        return line->at[FM_CONSTANT] >= known->at[FM_CONSTANT] ? ALWAYS : UNKNOWN;
    for (unsigned i = 0; i < columns; i++)
        if (known->at[i] != -line->at[i]) return UNKNOWN;
    return !__builtin_add_overflow(known->at[FM_CONSTANT], line->at[FM_CONSTANT], &most) && most < 0
               ? NEVER
               : UNKNOWN;
}

static void learn_condition(const arrangement *all, cell *this, const fm_line *known)
{
    for (size_t i = 0; i < all->lines.count; i++)
        if (this->truths[i] == UNKNOWN)
            this->truths[i] = (uint8_t)compare_lines(known, &all->lines.lines[i], FM_CONSTANT);
}

static void learn_all(const arrangement *all, cell *this)
{
    const fm_system *domain = &this->domain;
    for (size_t i = 0; i < all->lines.count; i++) { /* numbers */
        const fm_line *line = &all->lines.lines[i];
        unsigned column = 0;
        while (column < FM_CONSTANT && !line->at[column]) column++;
        if (column == FM_CONSTANT) this->truths[i] = line->at[FM_CONSTANT] >= 0 ? ALWAYS : NEVER;
    }
    for (size_t i = 0; i < domain->inequalities.count; i++)
        learn_condition(all, this, &domain->inequalities.lines[i]);
    for (size_t i = 0; i < domain->equalities.count; i++) {
        fm_line line = domain->equalities.lines[i];
        learn_condition(all, this, &line);
        for (unsigned j = 0; j < FM_COLUMNS; j++) line.at[j] = -line.at[j];
        learn_condition(all, this, &line);
    }
}

/* ---- points ---- */

static bool take_coordinate(fm_isl_work *work, isl_point *point, unsigned index, int64_t *number)
{
    isl_val *value = isl_point_get_coordinate_val(point, isl_dim_set, (int)index);
    if (!value) return fm_isl_gave_up(work);
    uint64_t chunk = 0;
    bool fits = isl_val_n_abs_num_chunks(value, sizeof chunk) <= 1;
    if (fits) isl_val_get_abs_num_chunks(value, sizeof chunk, &chunk);
    fits = fits && chunk <= INT64_MAX / 2;
    *number = isl_val_is_neg(value) == isl_bool_true ? -(int64_t)chunk : (int64_t)chunk;
    isl_val_free(value);
    return fits || fm_isl_fail(work, FM_E_LIMIT, "the exact count was given up: numbers beyond 64 bits");
}

static bool add_point(arrangement *all, cell *this, const int64_t *point)
{
    fm_isl_work *work = all->work;
    if (fm_array_reserve((void **)&all->points, &all->point_capacity, all->point_count + 1,
                         sizeof *all->points))
        return fm_isl_no_memory(work);
    known_point *added = &all->points[all->point_count];
    memset(added, 0, sizeof *added);
    unsigned columns = fm_system_columns(&this->domain);
    memcpy(added->at, point, columns * sizeof added->at[0]);
    added->holds = fm_calloc(all->lines.count + 1, 1);
    if (!added->holds) return fm_isl_no_memory(work);
    all->point_count++;
    for (size_t i = 0; i < all->lines.count; i++) {
        int64_t value;
        if (!fm_line_value(&all->lines.lines[i], added->at, columns, &value))
            return fm_isl_fail(work, FM_E_LIMIT, "the exact count was given up: numbers beyond 64 bits");
        added->holds[i] = value >= 0;
    }
    /* Of too many, the one that was known last makes room: it is not wrong to know fewer. */
    if (this->point_count == MOST_POINTS) this->point_count--;
    this->points[this->point_count++] = (uint32_t)(all->point_count - 1);
    return true;
}

/* A point of the domain, as isl finds it. */
static fm_emptiness ask_isl(arrangement *all, const fm_system *domain, int64_t *at)
{
    fm_isl_work *work = all->work;
    isl_point *point = isl_basic_set_sample_point(fm_system_to_isl(work, domain, NULL));
    isl_bool nothing = point ? isl_point_is_void(point) : isl_bool_error;
    fm_emptiness emptiness = nothing < 0 ? FM_EMPTINESS_FAILED : nothing ? FM_EMPTY : FM_NOT_EMPTY;
    if (emptiness == FM_EMPTINESS_FAILED) fm_isl_gave_up(work);
    unsigned columns = fm_system_columns(domain);
    for (unsigned i = 0; i < columns && emptiness == FM_NOT_EMPTY; i++)
        if (!take_coordinate(work, point, i, &at[i])) emptiness = FM_EMPTINESS_FAILED;
    isl_point_free(point);
    return emptiness;
}

/* Has the domain, with the last of its inequalities, which are no longer there then, points? */
static fm_emptiness ask_for_points(arrangement *all, cell *this, size_t inequalities)
{
    int64_t at[FM_COLUMNS];
    fm_quick quick = fm_system_quick(&this->domain, NULL, false, at);
    fm_emptiness emptiness = quick == FM_QUICK_UNKNOWN ? ask_isl(all, &this->domain, at)
                             : quick == FM_QUICK_EMPTY ? FM_EMPTY
                                                       : FM_NOT_EMPTY;
    this->domain.inequalities.count = inequalities;
    if (emptiness == FM_NOT_EMPTY && !add_point(all, this, at)) emptiness = FM_EMPTINESS_FAILED;
    return emptiness;
}

/* ---- members ---- */

/* Is a point known that the member has? */
static bool known_in(const arrangement *all, const cell *this, const member *one)
{
    for (size_t p = 0; p < this->point_count; p++) {
        const uint8_t *holds = all->points[this->points[p]].holds;
        size_t i = 0;
        while (i < one->count && holds[one->lines[i]]) i++;
        if (i == one->count) return true;
    }
    return false;
}

static bool known_outside(const arrangement *all, const cell *this, uint32_t line)
{
    for (size_t p = 0; p < this->point_count; p++)
        if (!all->points[this->points[p]].holds[line]) return true;
    return false;
}

/* What single conditions tell of a member: gone, inside, or (false) neither of them. */
static bool is_decided(cell *this, const member *one, uint32_t number)
{
    bool inside = true;
    for (size_t i = 0; i < one->count; i++) {
        if (this->truths[one->lines[i]] == NEVER) {
            this->gone[number] = true;
            return true;
        }
        if (this->truths[one->lines[i]] == UNKNOWN) inside = false;
    }
    if (!inside) return false;
    this->gone[number] = true;
    this->inside[this->inside_count++] = number;
    return true;
}

/* Decides a member that single conditions do not: *line becomes a line that cuts the domain, if there is one.
 */
static bool decide_member(arrangement *all, cell *this, uint32_t number, uint32_t *line, bool *cuts)
{
    const member *one = &all->members[number];
    fm_system *domain = &this->domain;
    const size_t before = domain->inequalities.count;
    *cuts = false;
    if (!known_in(all, this, one)) {
        for (size_t i = 0; i < one->count; i++) {
            if (this->truths[one->lines[i]] != UNKNOWN) continue;
            fm_line *added = fm_lines_add(all->work, &domain->inequalities);
            if (!added) return false;
            *added = all->lines.lines[one->lines[i]];
        }
        fm_emptiness emptiness = ask_for_points(all, this, before);
        if (emptiness == FM_EMPTINESS_FAILED) return false;
        this->gone[number] = emptiness == FM_EMPTY;
        if (this->gone[number]) return true;
    }
    for (size_t i = 0; i < one->count; i++) {
        *line = one->lines[i];
        if (this->truths[*line] != UNKNOWN) continue;
        *cuts = known_outside(all, this, *line);
        if (*cuts) return true;
        fm_line *added = fm_lines_add(all->work, &domain->inequalities);
        if (!added) return false;
        *added = opposite_line(&all->lines.lines[*line]);
        fm_emptiness emptiness = ask_for_points(all, this, before);
        if (emptiness == FM_EMPTINESS_FAILED) return false;
        *cuts = emptiness == FM_NOT_EMPTY;
        if (*cuts) return true;
        this->truths[*line] = ALWAYS;
    }
    return is_decided(this, one, number);
}

/* ---- cells ---- */

static bool finish_cell(arrangement *all, cell *this)
{
    fm_poly sum = {0};
    for (size_t i = 0; i < this->inside_count; i++)
        fm_poly_add(&sum, &all->members[this->inside[i]].value, 1, 1);
    fm_system_drop_floors(&this->domain, &sum);
    return fm_pieces_add(all->work, all->overlaid, &this->domain, &sum);
}

static bool cut_cell(arrangement *all, cell *this);

/* The part of the cell where the condition holds. */
static bool cut_part(arrangement *all, const cell *this, uint32_t line, bool holds)
{
    cell part;
    fm_line condition = all->lines.lines[line];
    if (!holds) condition = opposite_line(&condition);
    bool done = cell_create(all, &part, &this->domain);
    fm_line *added = done ? fm_lines_add(all->work, &part.domain.inequalities) : NULL;
    done = added != NULL;
    if (done) {
        *added = condition;
        memcpy(part.truths, this->truths, all->lines.count);
        memcpy(part.gone, this->gone, all->member_count);
        memcpy(part.inside, this->inside, this->inside_count * sizeof this->inside[0]);
        part.inside_count = this->inside_count;
        learn_condition(all, &part, &condition);
        for (size_t i = 0; i < this->point_count; i++)
            if ((bool)all->points[this->points[i]].holds[line] == holds)
                part.points[part.point_count++] = this->points[i];
        done = fm_system_tidy(all->work, &part.domain) == FM_NOT_EMPTY;
    }
    done = done && cut_cell(all, &part);
    cell_clear(&part);
    return done;
}

static bool cut_cell(arrangement *all, cell *this)
{
    if (!fm_isl_alive(all->work)) return false;
    for (uint32_t i = 0; i < all->member_count; i++) {
        uint32_t line = 0;
        bool cuts = false;
        if (this->gone[i] || is_decided(this, &all->members[i], i)) continue;
        if (!decide_member(all, this, i, &line, &cuts)) return false;
        if (cuts) return cut_part(all, this, line, true) && cut_part(all, this, line, false);
    }
    return finish_cell(all, this);
}

/* ---- the beginning ---- */

/* A condition by the common columns, divided by what divides all factors. */
static bool add_condition(arrangement *all, member *one, const fm_line *line, unsigned count,
                          const unsigned *columns, int64_t sign)
{
    fm_line moved = {{0}};
    int64_t common = 0;
    size_t at = 0;
    for (unsigned i = 0; i < count; i++)
        if (line->at[i]) moved.at[columns[i]] += sign * line->at[i];
    for (unsigned i = 0; i < FM_CONSTANT; i++) common = fm_greatest_divisor(common, moved.at[i]);
    if (!common) common = 1;
    for (unsigned i = 0; i < FM_CONSTANT; i++) moved.at[i] /= common;
    moved.at[FM_CONSTANT] = fm_floor_divide(sign * line->at[FM_CONSTANT], common);
    while (at < all->lines.count && memcmp(&all->lines.lines[at], &moved, sizeof moved) != 0) at++;
    if (at == all->lines.count) {
        fm_line *added = fm_lines_add(all->work, &all->lines);
        if (!added) return false;
        *added = moved;
    }
    if (fm_array_reserve((void **)&one->lines, &one->capacity, one->count + 1, sizeof *one->lines))
        return fm_isl_no_memory(all->work);
    one->lines[one->count++] = (uint32_t)at;
    return true;
}

static bool add_member(arrangement *all, fm_system *joint, const fm_counter_piece *piece, bool *fits)
{
    const fm_system *system = &piece->domain;
    unsigned columns[FM_COLUMNS], count = system->kept + system->extra;
    member *one = &all->members[all->member_count++];
    for (unsigned i = 0; i < system->kept; i++) columns[i] = i;
    for (unsigned i = 0; i < system->extra; i++) {
        fm_line of = {{0}};
        bool inserted;
        for (unsigned j = 0; j < system->kept + i; j++)
            if (system->floors[i].of.at[j]) of.at[columns[j]] += system->floors[i].of.at[j];
        of.at[FM_CONSTANT] = system->floors[i].of.at[FM_CONSTANT];
        *fits = fm_system_columns(joint) + 2 < FM_CONSTANT;
        if (!*fits) return true;
        if (!fm_system_floor(all->work, joint, NULL, &of, system->floors[i].by, &columns[system->kept + i],
                             &inserted))
            return false;
    }
    bool done = true;
    for (size_t i = 0; i < system->inequalities.count && done; i++)
        done = add_condition(all, one, &system->inequalities.lines[i], count, columns, 1);
    for (size_t i = 0; i < 2 * system->equalities.count && done; i++)
        done = add_condition(all, one, &system->equalities.lines[i / 2], count, columns, i % 2 ? 1 : -1);
    one->value = fm_poly_copy(&piece->value);
    for (size_t i = 0; i < one->value.count; i++) {
        uint8_t powers[FM_COLUMNS] = {0};
        for (unsigned j = 0; j < count; j++)
            powers[columns[j]] = (uint8_t)(powers[columns[j]] + one->value.terms[i].powers[j]);
        memcpy(one->value.terms[i].powers, powers, sizeof powers);
    }
    return done;
}

static void arrangement_clear(arrangement *all)
{
    for (size_t i = 0; i < all->member_count; i++) {
        free(all->members[i].lines);
        fm_poly_clear(&all->members[i].value);
    }
    for (size_t i = 0; i < all->point_count; i++) free(all->points[i].holds);
    free(all->members);
    free(all->points);
    free(all->lines.lines);
}

/* As fm_overlay; *fits: false where all quotients are too many together, and nothing was done. */
static bool arrange_pieces(fm_isl_work *work, const fm_system *domain, const fm_pieces *pieces,
                           fm_pieces *overlaid, bool *fits)
{
    arrangement all = {.work = work, .overlaid = overlaid};
    fm_system joint;
    cell whole = {0};
    *fits = true;
    if (!fm_system_copy(work, &joint, domain)) return false;
    all.members = fm_calloc(pieces->count + 1, sizeof *all.members);
    bool done = all.members || fm_isl_no_memory(work), empty = false;
    for (size_t i = 0; i < pieces->count && done && *fits; i++)
        done = add_member(&all, &joint, &pieces->pieces[i], fits);
    if (done && *fits) {
        fm_emptiness emptiness = fm_system_tidy(work, &joint);
        done = emptiness != FM_EMPTINESS_FAILED;
        empty = emptiness == FM_EMPTY;
    }
    if (done && *fits && !empty) {
        done = cell_create(&all, &whole, &joint);
        if (done) learn_all(&all, &whole);
        done = done && cut_cell(&all, &whole);
    }
    cell_clear(&whole);
    fm_system_clear(&joint);
    arrangement_clear(&all);
    return done;
}

/* ---- one after the other ---- */

/*
 * All pieces together (fm_arrange), by the quotients of all of them. Where those are more than a
 * system has columns: one piece after the other, each with its own quotients only. A domain is cut in two by
 * a condition of a piece that holds in a part of it; what is cut is never put together again. It asks isl
 * anew for every piece and every part, and takes several times as long.
 */

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

static bool translate_piece(fm_isl_work *work, fm_system *domain, fm_poly *sum, const fm_counter_piece *piece,
                            translated *result)
{
    const fm_system *system = &piece->domain;
    unsigned columns[FM_COLUMNS], count = system->kept + system->extra;
    memset(result, 0, sizeof *result);
    for (unsigned i = 0; i < system->kept; i++) columns[i] = i;
    for (unsigned i = 0; i < system->extra; i++) {
        bool inserted;
        fm_line of = fm_line_moved(&system->floors[i].of, system->kept + i, columns);
        if (!fm_system_floor(work, domain, sum, &of, system->floors[i].by, &columns[system->kept + i],
                             &inserted))
            return false;
    }
    for (size_t i = 0; i < system->inequalities.count + 2 * system->equalities.count; i++) {
        size_t equality = i - system->inequalities.count;
        fm_line *line = fm_lines_add(work, &result->lines);
        if (!line) return false;
        if (i < system->inequalities.count) {
            *line = fm_line_moved(&system->inequalities.lines[i], count, columns);
            continue;
        }
        *line = fm_line_moved(&system->equalities.lines[equality / 2], count, columns);
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

/* The line as isl writes the domain's: without what its equalities replace (of each its last column), divided
 * by what divides all factors. False: numbers are too large. */
static bool normalize_line(const fm_system *domain, unsigned columns, fm_line *line)
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

/* Does line >= 0 hold in the domain? What one look at its conditions tells; isl takes a thousand times as
 * long. */
static truth seen_at_once(const fm_system *domain, const fm_line *condition)
{
    unsigned columns = fm_system_columns(domain);
    fm_line line = *condition;
    bool constant = true;
    if (!normalize_line(domain, columns, &line)) return UNKNOWN;
    for (unsigned i = 0; i < columns; i++) constant &= line.at[i] == 0;
    if (constant) return line.at[FM_CONSTANT] >= 0 ? ALWAYS : NEVER;
    for (size_t i = 0; i < domain->inequalities.count; i++) {
        truth seen = compare_lines(&domain->inequalities.lines[i], &line, columns);
        if (seen != UNKNOWN) return seen;
    }
    for (unsigned i = 0; i < domain->extra; i++)
        for (int side = 0; side < 2; side++) { /* 0 <= of - by * quotient <= by - 1 */
            fm_line known = domain->floors[i].of;
            known.at[domain->kept + i] = -domain->floors[i].by;
            for (unsigned j = 0; side && j < FM_COLUMNS; j++) known.at[j] = -known.at[j];
            if (side) known.at[FM_CONSTANT] += domain->floors[i].by - 1;
            if (!normalize_line(domain, columns, &known)) continue;
            truth seen = compare_lines(&known, &line, columns);
            if (seen != UNKNOWN) return seen;
        }
    return UNKNOWN;
}

/* The lines that hold everywhere are dropped; false: one holds nowhere. */
static bool drop_what_holds(const fm_system *domain, fm_counter_lines *lines)
{
    for (size_t i = lines->count; i-- > 0;) {
        truth seen = seen_at_once(domain, &lines->lines[i]);
        if (seen == NEVER) return false;
        if (seen == ALWAYS) fm_lines_remove(lines, i);
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

static bool cut_pieces(overlay *this, fm_system *domain, fm_poly *sum, size_t next);

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
    *line = opposite_line(condition);
    return cut_pieces(this, &part, &copy, next + 1);
}

/* Cuts off what is not in the piece, and adds its polynomial to the rest, which stays in *domain. */
static bool cut_by_piece(overlay *this, fm_system *domain, fm_poly *sum, size_t next)
{
    fm_isl_work *work = this->work;
    translated piece;
    bool done = translate_piece(work, domain, sum, &this->pieces->pieces[next], &piece);
    fm_emptiness common = !done ? FM_EMPTINESS_FAILED
                          : !drop_what_holds(domain, &piece.lines)
                              ? FM_EMPTY
                              : common_points(work, domain, &piece.lines);
    done = common != FM_EMPTINESS_FAILED;
    bool changed = false;
    for (size_t i = 0; i < piece.lines.count && done && common == FM_NOT_EMPTY; i++) {
        fm_line outside = opposite_line(&piece.lines.lines[i]);
        if (changed && seen_at_once(domain, &piece.lines.lines[i]) == ALWAYS) continue;
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
static bool cut_pieces(overlay *this, fm_system *domain, fm_poly *sum, size_t next)
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
    if (emptiness == FM_NOT_EMPTY) return cut_pieces(&this, &whole, &sum, 0);
    fm_system_clear(&whole);
    return emptiness == FM_EMPTY;
}

bool fm_overlay(fm_isl_work *work, const fm_system *domain, const fm_pieces *pieces, fm_pieces *overlaid)
{
    bool fits;
    if (!arrange_pieces(work, domain, pieces, overlaid, &fits)) return false;
    return fits || one_by_one(work, domain, pieces, overlaid);
}
