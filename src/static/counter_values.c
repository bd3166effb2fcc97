/* SPDX-License-Identifier: Apache-2.0 */
/* counter_values.c - see counter_values.h. */
#include "static/counter_values.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { POINTS_BETWEEN_LOOKS = 1 << 16 };

/* The value of the polynomial by new columns: variables that are multiplied, then the sum of all others. */
typedef struct plan {
    fm_system system; /* kept: those; counted: all columns of the piece */
    fm_poly value;
} plan;

static unsigned term_degree(const fm_term *term)
{
    unsigned degree = 0;
    for (unsigned i = 0; i < FM_COLUMNS; i++) degree += term->powers[i];
    return degree;
}

/* A number of GMP times a common denominator; false: it does not fit. */
static bool whole_factor(mpq_srcptr factor, mpz_srcptr denominator, int64_t *number)
{
    mpz_t whole;
    mpz_init(whole);
    mpz_divexact(whole, denominator, mpq_denref(factor));
    mpz_mul(whole, whole, mpq_numref(factor));
    bool fits = mpz_sizeinbase(whole, 2) <= 62;
    if (fits) *number = mpz_get_si(whole);
    mpz_clear(whole);
    return fits;
}

/* All columns of the piece are counted, behind `kept` new ones. */
static bool begin_plan(fm_isl_work *work, fm_system *system, const fm_system *domain, unsigned kept)
{
    unsigned old = domain->kept + domain->extra;
    memset(system, 0, sizeof *system);
    system->kept = kept;
    system->counted = old;
    if (kept + old >= FM_CONSTANT)
        return fm_isl_fail(work, FM_E_LIMIT, "the exact count was given up: more than %d unknowns at a time",
                           FM_CONSTANT - 1);
    const fm_lines *from[2] = {&domain->equalities, &domain->inequalities};
    fm_lines *to[2] = {&system->equalities, &system->inequalities};
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < from[k]->count; i++) {
            fm_line *line = fm_lines_add(work, to[k]);
            if (!line) return false;
            memcpy(&line->at[kept], from[k]->lines[i].at, old * sizeof line->at[0]);
            line->at[FM_CONSTANT] = from[k]->lines[i].at[FM_CONSTANT];
        }
    for (unsigned i = 0; i < domain->extra; i++)
        for (int side = 0; side < 2; side++) {
            fm_line *line = fm_lines_add(work, &system->inequalities);
            if (!line) return false;
            memcpy(&line->at[kept], domain->floors[i].of.at, old * sizeof line->at[0]);
            line->at[FM_CONSTANT] = domain->floors[i].of.at[FM_CONSTANT];
            line->at[kept + domain->kept + i] = -domain->floors[i].by;
            if (side == 0) continue;
            for (unsigned j = 0; j < FM_COLUMNS; j++) line->at[j] = -line->at[j];
            line->at[FM_CONSTANT] += domain->floors[i].by - 1;
        }
    return true;
}

static bool make_plan(fm_isl_work *work, plan *this, const fm_piece *piece)
{
    const fm_poly *value = &piece->value;
    unsigned old = piece->domain.kept + piece->domain.extra, chosen[FM_COLUMNS], count = 0;
    bool multiplied[FM_COLUMNS] = {false}, others = false;
    memset(this, 0, sizeof *this);
    for (size_t i = 0; i < value->count; i++)
        for (unsigned j = 0; j < old && term_degree(&value->terms[i]) > 1; j++)
            if (value->terms[i].powers[j]) multiplied[j] = true;
    for (unsigned i = 0; i < old; i++) {
        if (multiplied[i]) chosen[count++] = i;
        if (!multiplied[i] && fm_poly_uses(value, i)) others = true;
    }
    unsigned kept = count + others;
    if (!begin_plan(work, &this->system, &piece->domain, kept)) return false;
    mpz_t denominator;
    mpz_init_set_ui(denominator, 1);
    for (size_t i = 0; i < value->count; i++)
        mpz_lcm(denominator, denominator, mpq_denref(value->terms[i].factor));
    bool fits = mpz_sizeinbase(denominator, 2) <= 62;
    fm_line sum = {{0}};
    this->value = fm_poly_copy(value);
    for (size_t i = 0; i < value->count && fits; i++) {
        uint8_t powers[FM_COLUMNS] = {0};
        fm_term *term = &this->value.terms[i];
        bool is_other = false;
        for (unsigned j = 0; j < old; j++)
            if (term->powers[j] && !multiplied[j]) {
                is_other = true;
                fits = whole_factor(value->terms[i].factor, denominator, &sum.at[kept + j]);
            }
        for (unsigned j = 0; j < count; j++) powers[j] = term->powers[chosen[j]];
        memcpy(term->powers, powers, sizeof powers);
        if (is_other) mpq_set_si(term->factor, 0, 1); /* in the sum, which follows */
    }
    if (others && fits) {
        fm_poly part = {0};
        fm_line line = {{0}};
        line.at[count] = 1;
        fm_poly_add_line(&part, &line, kept, 1);
        fm_poly_add(&this->value, &part, 1, mpz_get_si(denominator));
        fm_poly_clear(&part);
        sum.at[count] = -1;
        fm_line *equality = fm_lines_add(work, &this->system.equalities);
        if (equality) *equality = sum;
    }
    for (unsigned i = 0; i < count; i++) {
        fm_line *equality = fm_lines_add(work, &this->system.equalities);
        if (!equality) break;
        equality->at[i] = 1;
        equality->at[kept + chosen[i]] = -1;
    }
    mpz_clear(denominator);
    if (!fits) fm_isl_fail(work, FM_E_LIMIT, "the exact count was given up: numbers beyond 64 bits");
    return work->status == FM_OK;
}

/* ---- going through the points of a piece of the counts ---- */

typedef struct walk {
    fm_isl_work *work;
    const fm_system *domain;
    fm_quick_poly value, count;
    fm_lines bounds[FM_COLUMNS]; /* of each variable by those before it */
    fm_value_visit visit;
    void *context;
    uint64_t points;
    int64_t values[FM_COLUMNS];
    bool stopped;
} walk;

static bool too_large(walk *this)
{
    this->stopped = true;
    return fm_isl_fail(this->work, FM_E_LIMIT, "the exact count was given up: numbers beyond 64 bits");
}

static bool visit_point(walk *this)
{
    int64_t value, count;
    if (++this->points % POINTS_BETWEEN_LOOKS == 0 && !fm_isl_alive(this->work)) return false;
    if (this->domain->extra && !fm_system_extend_point(this->domain, this->values)) return too_large(this);
    if (!fm_system_holds(this->domain, this->values)) return true;
    if (!fm_quick_poly_value(&this->value, this->values, &value) ||
        !fm_quick_poly_value(&this->count, this->values, &count) || count < 0)
        return too_large(this);
    return this->visit(this->context, value, (uint64_t)count);
}

/* The range of a variable, when those before it have their values. */
static bool bounds_of(walk *this, unsigned variable, int64_t *first, int64_t *last)
{
    bool above = false, below = false;
    for (size_t i = 0; i < this->bounds[variable].count; i++) {
        const fm_line *line = &this->bounds[variable].lines[i];
        int64_t factor = line->at[variable], sum = line->at[FM_CONSTANT], product;
        for (unsigned j = 0; j < variable; j++) {
            if (__builtin_mul_overflow(line->at[j], this->values[j], &product) ||
                __builtin_add_overflow(sum, product, &sum))
                return too_large(this);
        }
        if (factor > 0) {
            int64_t bound = -fm_floor_divided(sum, factor);
            if (!above || bound > *first) *first = bound;
            above = true;
        } else if (factor < 0) {
            int64_t bound = fm_floor_divided(sum, -factor);
            if (!below || bound < *last) *last = bound;
            below = true;
        }
    }
    if (above && below) return true;
    this->stopped = true;
    return fm_isl_fail(this->work, FM_E_LIMIT, "the exact count was given up: a range without an end");
}

static bool go_through(walk *this, unsigned variable)
{
    int64_t first = 0, last = 0;
    if (variable == this->domain->kept) return visit_point(this);
    if (!bounds_of(this, variable, &first, &last)) return false;
    for (int64_t i = first; i <= last; i++) {
        this->values[variable] = i;
        if (!go_through(this, variable + 1)) return false;
    }
    return true;
}

/* Conditions for each variable by those before it only: isl leaves out the others (without regard to whole
 * numbers, which is enough for bounds). */
static bool find_bounds(walk *this)
{
    unsigned columns = fm_system_columns(this->domain);
    for (unsigned i = 0; i < this->domain->kept; i++) {
        isl_basic_set *set = fm_system_to_isl(this->work, this->domain, NULL);
        set = isl_basic_set_remove_dims(set, isl_dim_set, i + 1, columns - i - 1);
        fm_system shadow;
        if (!fm_system_from_isl(this->work, &shadow, set, i + 1)) return false;
        bool done = true;
        for (size_t j = 0; j < shadow.inequalities.count && done; j++) {
            fm_line *line = fm_lines_add(this->work, &this->bounds[i]);
            done = line != NULL;
            if (done) *line = shadow.inequalities.lines[j];
        }
        for (size_t j = 0; j < 2 * shadow.equalities.count && done; j++) {
            fm_line *line = fm_lines_add(this->work, &this->bounds[i]);
            done = line != NULL;
            for (unsigned k = 0; k < FM_COLUMNS && done; k++)
                line->at[k] = (j % 2 ? -1 : 1) * shadow.equalities.lines[j / 2].at[k];
        }
        fm_system_clear(&shadow);
        if (!done) return false;
    }
    return true;
}

static bool walk_piece(fm_isl_work *work, const fm_poly *value, const fm_piece *counts, fm_value_visit visit,
                       void *context)
{
    walk this = {.work = work, .domain = &counts->domain, .visit = visit, .context = context};
    bool done = find_bounds(&this);
    if (done &&
        (!fm_quick_poly_create(&this.value, value) || !fm_quick_poly_create(&this.count, &counts->value)))
        done = too_large(&this);
    done = done && go_through(&this, 0);
    fm_quick_poly_clear(&this.value);
    fm_quick_poly_clear(&this.count);
    for (unsigned i = 0; i < FM_COLUMNS; i++) free(this.bounds[i].lines);
    return done;
}

bool fm_piece_values(fm_isl_work *work, const fm_piece *piece, fm_value_visit visit, void *context)
{
    plan this;
    fm_pieces counts = {0};
    bool done = make_plan(work, &this, piece);
    if (done)
        done = fm_count_system(work, &this.system, &counts); /* takes the system */
    else
        fm_system_clear(&this.system);
    for (size_t i = 0; i < counts.count && done; i++)
        done = walk_piece(work, &this.value, &counts.pieces[i], visit, context);
    fm_pieces_clear(&counts);
    fm_poly_clear(&this.value);
    return done;
}
