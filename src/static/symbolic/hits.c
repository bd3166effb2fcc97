/* SPDX-License-Identifier: Apache-2.0 */
/* hits.c - distances of an open region, and how many of them hit (symbolic.h). */
#include "static/symbolic/symbolic.h"

#include "base/memory.h"

#include <isl/set.h>
#include <stdlib.h>
#include <string.h>

/* ---- pieces ---- */

void fm_open_pieces_clear(fm_open_pieces *pieces)
{
    fm_pieces_clear(&pieces->reuses);
    fm_pieces_clear(&pieces->cold);
    fm_pieces_clear(&pieces->points);
    *pieces = (fm_open_pieces){0};
}

/* ---- all touches ---- */

static bool pieces_of_reuse(fm_isl_work *work, fm_open_pieces *pieces, const fm_touches *touches,
                            const fm_isl_reuse *reuse)
{
    fm_pieces counts = {0};
    bool done = fm_between_count(work, touches, reuse, &counts) &&
                fm_overlay(work, &reuse->domain, &counts, &pieces->reuses);
    fm_pieces_clear(&counts);
    return done;
}

static bool pieces_of_touch(fm_isl_work *work, fm_open_pieces *pieces, const fm_touches *touches,
                            size_t touch)
{
    fm_isl_reuses reuses;
    const fm_touch *one = &touches->touches[touch];
    const unsigned depth = one->reference->depth;
    if (!fm_isl_reuses_find(work, &reuses, touches, touch)) return false;
    isl_basic_set *all = fm_system_to_isl(work, &one->system, NULL);
    all = isl_basic_set_project_out(all, isl_dim_set, depth, one->system.kept - depth);
    bool done = fm_count_set(work, isl_set_from_basic_set(all), pieces->parameters, &pieces->points) &&
                fm_count_set(work, isl_set_copy(reuses.cold), pieces->parameters, &pieces->cold);
    for (size_t i = 0; i < reuses.count && done; i++)
        done = pieces_of_reuse(work, pieces, touches, &reuses.reuses[i]);
    fm_isl_reuses_clear(&reuses);
    return done;
}

bool fm_open_pieces_create(fm_isl_work *work, fm_open_pieces *pieces, const fm_open_references *open)
{
    fm_touches touches;
    *pieces = (fm_open_pieces){.parameters = open->class->count};
    if (!fm_open_touches_create(work, &touches, open)) return false;
    bool done = true;
    for (size_t i = 0; i < touches.count && done; i++) done = pieces_of_touch(work, pieces, &touches, i);
    fm_touches_clear(&touches);
    if (!done) fm_open_pieces_clear(pieces);
    return done;
}

/* ---- distances ---- */

static void divide_by_common(fm_line *line, unsigned columns)
{
    int64_t common = 0;
    for (unsigned i = 0; i < columns; i++) common = fm_greatest_divisor(common, line->at[i]);
    common = fm_greatest_divisor(common, line->at[FM_CONSTANT]);
    if (common < 2) return;
    for (unsigned i = 0; i < columns; i++) line->at[i] /= common;
    line->at[FM_CONSTANT] /= common;
}

/* The column that the equality gives: variables before quotients. False: none has factor 1. */
static bool column_given(const fm_line *line, unsigned parameters, unsigned columns, unsigned *column)
{
    for (unsigned i = parameters; i < columns; i++)
        if (line->at[i] == 1 || line->at[i] == -1) {
            *column = i;
            return true;
        }
    return false;
}

/*
 * The polynomial of the piece with what its domain's equalities say of single columns put in: other terms may
 * cancel then. The first `parameters` columns are never replaced. It is to be cleared.
 */
static bool distance_simplified(fm_isl_work *work, const fm_counter_piece *piece, unsigned parameters,
                                fm_poly *distance)
{
    const unsigned columns = piece->domain.kept + piece->domain.extra;
    fm_system system;
    *distance = (fm_poly){0};
    if (!fm_system_copy(work, &system, &piece->domain)) return false;
    *distance = fm_poly_copy(&piece->value);
    bool done = true;
    for (size_t i = 0; i < system.equalities.count && done; i++) {
        fm_line line = system.equalities.lines[i];
        unsigned column;
        divide_by_common(&line, columns);
        if (!column_given(&line, parameters, columns, &column)) continue;
        const int64_t sign = line.at[column];
        fm_line by = line;
        fm_poly value = {0};
        by.at[column] = 0;
        fm_poly_add_line(&value, &by, columns, -sign);
        fm_poly replaced = fm_poly_replaced(distance, column, &value);
        fm_poly_clear(&value);
        fm_poly_clear(distance);
        *distance = replaced;
        for (size_t k = 0; k < system.equalities.count && done; k++) {
            const int64_t factor = system.equalities.lines[k].at[column];
            if (k != i && factor)
                done = fm_line_subtract(work, &system.equalities.lines[k], factor * sign, &line);
        }
    }
    fm_system_clear(&system);
    if (done && distance->failed) done = fm_isl_no_memory(work);
    if (!done) fm_poly_clear(distance);
    return done;
}

/* ---- hits ---- */

/* The columns of a piece in a new system: parameters, variables that are gone through, products, quotients of
 * the first two, and all others, which are counted. */
typedef struct split {
    fm_isl_work *work;
    const fm_counter_piece *piece;
    fm_poly distance;
    unsigned parameters, old;
    bool stays[FM_COLUMNS];
    unsigned columns[FM_COLUMNS];
    unsigned kept, extra; /* of the new system; kept: without products */
    size_t product_count;
    size_t terms[FM_COLUMNS];    /* of the distance: those that are products */
    fm_floor floors[FM_COLUMNS]; /* that stay, by new columns */
} split;

static void keep_column(split *this, unsigned column)
{
    const fm_system *domain = &this->piece->domain;
    this->stays[column] = true;
    if (column < domain->kept) return;
    for (unsigned i = 0; i < column; i++)
        if (domain->floors[column - domain->kept].of.at[i]) keep_column(this, i);
}

/* How many factors of products depend on a variable. */
static unsigned factors_with(const split *this, unsigned variable)
{
    const fm_system *domain = &this->piece->domain;
    unsigned count = 0;
    for (size_t i = 0; i < this->product_count; i++)
        for (unsigned j = variable; j < this->old; j++)
            if (j == variable || (j >= domain->kept && domain->floors[j - domain->kept].of.at[variable]))
                count += this->distance.terms[this->terms[i]].powers[j];
    return count;
}

/* The column of a variable that stays: parameters, then those that are in most products, so that the last
 * one of them is in few. */
static unsigned place_of(const split *this, unsigned variable)
{
    unsigned place = 0;
    if (variable < this->parameters) return variable;
    for (unsigned i = this->parameters; i < this->piece->domain.kept; i++) {
        const unsigned theirs = factors_with(this, i), ours = factors_with(this, variable);
        if (this->stays[i] && (theirs > ours || (theirs == ours && i < variable))) place++;
    }
    return this->parameters + place;
}

static bool choose_columns(split *this)
{
    const fm_system *domain = &this->piece->domain;
    const fm_poly *distance = &this->distance;
    this->old = domain->kept + domain->extra;
    for (unsigned i = 0; i < this->parameters; i++) this->stays[i] = true;
    for (size_t i = 0; i < distance->count; i++) {
        if (fm_term_degree(&distance->terms[i]) < 2 || !mpq_sgn(distance->terms[i].factor)) continue;
        if (fm_term_degree(&distance->terms[i]) > FM_FORMULA_MOST_FACTORS ||
            this->product_count == FM_COLUMNS)
            return fm_isl_fail(this->work, FM_E_LIMIT, "no formula: distances of a high degree");
        this->terms[this->product_count++] = i;
        for (unsigned j = 0; j < this->old; j++)
            if (distance->terms[i].powers[j]) keep_column(this, j);
    }
    for (unsigned i = 0; i < domain->extra; i++) {
        bool all = true;
        for (unsigned j = 0; j < domain->kept + i; j++)
            if (domain->floors[i].of.at[j] && !this->stays[j]) all = false;
        this->stays[domain->kept + i] = all;
    }
    for (unsigned i = 0; i < this->old; i++)
        if (this->stays[i]) *(i < domain->kept ? &this->kept : &this->extra) += 1;
    unsigned quotient = this->kept + (unsigned)this->product_count, counted = quotient + this->extra;
    if (this->old + this->product_count >= FM_CONSTANT)
        return fm_isl_fail(this->work, FM_E_LIMIT, "no formula: more than %d unknowns at a time",
                           FM_CONSTANT);
    for (unsigned i = 0; i < this->old; i++)
        this->columns[i] = !this->stays[i] ? counted++ : i < domain->kept ? place_of(this, i) : quotient++;
    return true;
}

static fm_line moved_line(const split *this, const fm_line *line)
{
    fm_line result = {{0}};
    for (unsigned i = 0; i < this->old; i++)
        if (line->at[i]) result.at[this->columns[i]] += line->at[i];
    result.at[FM_CONSTANT] = line->at[FM_CONSTANT];
    return result;
}

static bool add_line(fm_isl_work *work, fm_counter_lines *to, const fm_line *line)
{
    fm_line *added = fm_lines_add(work, to);
    if (added) *added = *line;
    return added != NULL;
}

/* The domain by the new columns; quotients that are counted become variables between two conditions. */
static bool make_system(split *this, fm_system *system)
{
    fm_isl_work *work = this->work;
    const fm_system *domain = &this->piece->domain;
    fm_line line;
    *system = (fm_system){.kept = this->kept + (unsigned)this->product_count,
                          .counted = this->old - this->kept - this->extra};
    if (this->extra && fm_array_reserve((void **)&system->floors, &system->floor_capacity, this->extra,
                                        sizeof *system->floors))
        return fm_isl_no_memory(work);
    for (size_t i = 0; i < domain->equalities.count; i++) {
        line = moved_line(this, &domain->equalities.lines[i]);
        if (!add_line(work, &system->equalities, &line)) return false;
    }
    for (size_t i = 0; i < domain->inequalities.count; i++) {
        line = moved_line(this, &domain->inequalities.lines[i]);
        if (!add_line(work, &system->inequalities, &line)) return false;
    }
    for (unsigned i = 0; i < domain->extra; i++) {
        const unsigned column = domain->kept + i;
        const fm_floor quotient = {moved_line(this, &domain->floors[i].of), domain->floors[i].by};
        if (this->stays[column]) {
            this->floors[system->extra] = quotient;
            system->floors[system->extra++] = quotient;
            continue;
        }
        fm_line low = quotient.of, high = {{0}};
        low.at[this->columns[column]] = -quotient.by;
        for (unsigned j = 0; j < FM_COLUMNS; j++) high.at[j] = -low.at[j];
        high.at[FM_CONSTANT] += quotient.by - 1;
        if (!add_line(work, &system->inequalities, &low) || !add_line(work, &system->inequalities, &high))
            return false;
    }
    return true;
}

/* A product whose factors are never negative is not either: that spares cases. */
static bool bound_products(split *this, fm_system *system)
{
    for (size_t i = 0; i < this->product_count; i++) {
        const fm_counter_term *term = &this->distance.terms[this->terms[i]];
        bool positive = true;
        for (unsigned j = 0; j < this->old && positive; j++) {
            fm_line below = {{0}};
            if (!term->powers[j]) continue;
            below.at[j] = -1;
            below.at[FM_CONSTANT] = -1;
            fm_emptiness emptiness = fm_system_emptiness(this->work, &this->piece->domain, &below);
            if (emptiness == FM_EMPTINESS_FAILED) return false;
            positive = emptiness == FM_EMPTY;
        }
        fm_line line = {{0}};
        line.at[this->kept + i] = 1;
        if (positive && !add_line(this->work, &system->inequalities, &line)) return false;
    }
    return true;
}

/* blocks - 1 - distance >= 0, times the denominator of the distance. */
static bool add_limit(split *this, fm_system *system, uint64_t blocks)
{
    fm_quick_poly quick;
    fm_line line = {{0}};
    const __int128 most = (int64_t)1 << 61;
    bool fits = fm_quick_poly_create(&quick, &this->distance) &&
                quick.denominator <= most / ((int64_t)1 << 40) && blocks < (uint64_t)1 << 40;
    size_t product = 0;
    if (fits) line.at[FM_CONSTANT] = (int64_t)(blocks - 1) * (int64_t)quick.denominator;
    for (size_t i = 0; i < quick.count && fits; i++) {
        const fm_quick_term *term = &quick.terms[i];
        if (term->factor == 0) continue;
        fits = term->factor <= most && term->factor >= -most;
        const unsigned column = term->count == 0   ? (unsigned)FM_CONSTANT
                                : term->count == 1 ? this->columns[term->variables[0]]
                                                   : this->kept + (unsigned)product++;
        if (fits) line.at[column] -= (int64_t)term->factor;
    }
    fm_quick_poly_clear(&quick);
    if (!fits) return fm_isl_fail(this->work, FM_E_LIMIT, "no formula: numbers beyond 64 bits");
    return add_line(this->work, &system->inequalities, &line);
}

/* What was counted, with the definitions of its products. */
static bool add_piece(split *this, fm_formula *hits, fm_counter_piece *counted)
{
    fm_isl_work *work = this->work;
    fm_product products[FM_COLUMNS] = {{0}};
    unsigned now[FM_COLUMNS] = {0}; /* where the new columns are in the result */
    const unsigned kept = this->kept + (unsigned)this->product_count;
    for (unsigned i = 0; i < kept; i++) now[i] = i;
    for (unsigned i = 0; i < this->extra; i++) {
        fm_line of = {{0}};
        bool inserted;
        for (unsigned j = 0; j < kept + i; j++)
            if (this->floors[i].of.at[j]) of.at[now[j]] += this->floors[i].of.at[j];
        of.at[FM_CONSTANT] = this->floors[i].of.at[FM_CONSTANT];
        if (!fm_system_floor(work, &counted->domain, &counted->value, &of, this->floors[i].by, &now[kept + i],
                             &inserted))
            return false;
    }
    for (size_t i = 0; i < this->product_count; i++) {
        const fm_counter_term *term = &this->distance.terms[this->terms[i]];
        products[i].column = this->kept + (unsigned)i;
        for (unsigned j = 0; j < this->old; j++)
            for (unsigned k = 0; k < term->powers[j]; k++)
                products[i].factors[products[i].count++] = now[this->columns[j]];
    }
    return fm_formula_add(work, hits, &counted->domain, &counted->value, this->parameters,
                          this->kept - this->parameters, products, this->product_count);
}

static bool hits_of_part(fm_isl_work *work, fm_formula *hits, const fm_counter_piece *piece,
                         unsigned parameters, uint64_t blocks)
{
    split *this = fm_calloc(1, sizeof *this);
    fm_system system = {0};
    fm_pieces counted = {0};
    if (!this) return fm_isl_no_memory(work);
    *this = (split){.work = work, .piece = piece, .parameters = parameters};
    bool done = distance_simplified(work, piece, parameters, &this->distance) && choose_columns(this) &&
                make_system(this, &system) && bound_products(this, &system) &&
                add_limit(this, &system, blocks);
    if (done) {
        fm_emptiness emptiness = fm_system_emptiness(work, &system, NULL);
        done = emptiness != FM_EMPTINESS_FAILED;
        if (emptiness == FM_NOT_EMPTY)
            done = fm_count_system(work, &system, &counted);
        else
            fm_system_clear(&system);
    } else {
        fm_system_clear(&system);
    }
    for (size_t i = 0; i < counted.count && done; i++) done = add_piece(this, hits, &counted.pieces[i]);
    fm_pieces_clear(&counted);
    fm_poly_clear(&this->distance);
    free(this);
    return done;
}

/* Is a column multiplied with another one? */
static bool in_product(const fm_poly *poly, unsigned column)
{
    for (size_t i = 0; i < poly->count; i++)
        if (poly->terms[i].powers[column] && fm_term_degree(&poly->terms[i]) > 1 &&
            mpq_sgn(poly->terms[i].factor))
            return true;
    return false;
}

/* The difference of two quotients whose dividends differ by a number only: one of two numbers. Of those that
 * are in products, so that products may cancel. */
static bool find_twins(const fm_counter_piece *piece, const fm_poly *distance, unsigned parameters,
                       unsigned *left, unsigned *right, int64_t *difference)
{
    const fm_system *domain = &piece->domain;
    for (unsigned i = 0; i < domain->extra; i++)
        for (unsigned j = 0; j < i; j++) {
            const fm_floor *a = &domain->floors[i], *b = &domain->floors[j];
            if (a->by != b->by || memcmp(a->of.at, b->of.at, FM_CONSTANT * sizeof a->of.at[0])) continue;
            if (!in_product(distance, domain->kept + i) || !in_product(distance, domain->kept + j)) continue;
            bool varies = false;
            for (unsigned k = parameters; k < domain->kept + j; k++) varies |= a->of.at[k] != 0;
            if (!varies) continue;
            *left = domain->kept + i;
            *right = domain->kept + j;
            *difference = fm_floor_divide(a->of.at[FM_CONSTANT] - b->of.at[FM_CONSTANT], a->by);
            return true;
        }
    return false;
}

/* Cuts the piece until no such pair is left. */
static bool hits_of_piece(fm_isl_work *work, fm_formula *hits, const fm_counter_piece *piece,
                          unsigned parameters, uint64_t blocks)
{
    fm_poly distance;
    unsigned left, right;
    int64_t difference;
    if (!distance_simplified(work, piece, parameters, &distance)) return false;
    bool twins = find_twins(piece, &distance, parameters, &left, &right, &difference), done = true;
    fm_poly_clear(&distance);
    if (!twins) return hits_of_part(work, hits, piece, parameters, blocks);
    for (int side = 0; side < 2 && done; side++) {
        fm_counter_piece part = {.value = fm_poly_copy(&piece->value)};
        done = !part.value.failed && fm_system_copy(work, &part.domain, &piece->domain);
        fm_line *line = done ? fm_lines_add(work, &part.domain.equalities) : NULL;
        done = line != NULL;
        if (done) {
            line->at[left] = 1;
            line->at[right] = -1;
            line->at[FM_CONSTANT] = -difference - side;
            fm_emptiness emptiness = fm_system_emptiness(work, &part.domain, NULL);
            done = emptiness != FM_EMPTINESS_FAILED &&
                   (emptiness == FM_EMPTY || hits_of_piece(work, hits, &part, parameters, blocks));
        }
        fm_system_clear(&part.domain);
        fm_poly_clear(&part.value);
    }
    return done;
}

bool fm_hits_create(fm_isl_work *work, fm_formula *hits, const fm_open_pieces *pieces, uint64_t blocks)
{
    *hits = (fm_formula){0};
    bool done = true;
    for (size_t i = 0; i < pieces->reuses.count && done; i++)
        done = fm_isl_alive(work) &&
               hits_of_piece(work, hits, &pieces->reuses.pieces[i], pieces->parameters, blocks);
    if (!done) fm_formula_clear(hits);
    return done;
}
