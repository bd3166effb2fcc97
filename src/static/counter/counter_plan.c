/* SPDX-License-Identifier: Apache-2.0 */
/* counter_plan.c - see counter_plan.h. */
#include "static/counter/counter_plan.h"

#include "base/memory.h"

#include <isl/ilp.h>
#include <isl/set.h>
#include <isl/val.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROWS = 8192 };

typedef struct choice {
    const fm_counter_piece *piece;
    unsigned old;                 /* columns of the piece */
    bool gone[FM_COLUMNS];        /* of the piece's columns: gone through, or a quotient of such */
    bool others;                  /* the value has more than that */
    unsigned kept, extra;         /* of the new system */
    unsigned columns[FM_COLUMNS]; /* where the piece's columns are in the new system */
} choice;

void fm_plan_clear(fm_plan *plan)
{
    fm_system_clear(&plan->value_system);
    fm_poly_clear(&plan->value);
    fm_pieces_clear(&plan->counts);
}

static unsigned term_degree(const fm_counter_term *term)
{
    unsigned degree = 0;
    for (unsigned i = 0; i < FM_COLUMNS; i++) degree += term->powers[i];
    return degree;
}

/* A variable is gone through, or for a quotient all variables in it. */
static void go_through(choice *this, unsigned column)
{
    const fm_system *domain = &this->piece->domain;
    this->gone[column] = true;
    if (column < domain->kept) return;
    for (unsigned i = 0; i < column; i++)
        if (domain->floors[column - domain->kept].of.at[i]) go_through(this, i);
}

/* How many values a variable has, at most. */
static bool range_of(fm_isl_work *work, isl_set *set, unsigned variable, double *range)
{
    isl_val *least = isl_set_dim_min_val(isl_set_copy(set), (int)variable);
    isl_val *most = isl_set_dim_max_val(isl_set_copy(set), (int)variable);
    bool done = least && most;
    *range = done && isl_val_is_int(least) == isl_bool_true && isl_val_is_int(most) == isl_bool_true
                 ? isl_val_get_d(most) - isl_val_get_d(least) + 1
                 : HUGE_VAL;
    isl_val_free(least);
    isl_val_free(most);
    return done || fm_isl_gave_up(work);
}

/*
 * To go through all variables of the value needs no sum of them, which is the more difficult count. It takes
 * as many steps as all of them but one have values.
 */
static bool choose_all(fm_isl_work *work, choice *this, bool whatever)
{
    const fm_system *domain = &this->piece->domain;
    choice all = *this;
    unsigned more = 0;
    double rows = 1, most = 1;
    for (unsigned i = 0; i < this->old; i++)
        if (fm_poly_uses(&this->piece->value, i)) go_through(&all, i);
    for (unsigned i = 0; i < domain->kept; i++) more += all.gone[i] && !this->gone[i];
    if (more > 1 && !whatever) {
        isl_set *set = isl_set_from_basic_set(fm_system_to_isl(work, domain, NULL));
        bool done = true;
        for (unsigned i = 0; i < domain->kept && done; i++) {
            double range;
            if (!all.gone[i]) continue;
            done = range_of(work, set, i, &range);
            rows *= range;
            if (range > most) most = range;
        }
        isl_set_free(set);
        if (!done) return false;
        if (rows / most > MOST_ROWS) return true;
    }
    memcpy(this->gone, all.gone, sizeof this->gone);
    return true;
}

static bool choose(fm_isl_work *work, choice *this, bool whatever)
{
    const fm_system *domain = &this->piece->domain;
    const fm_poly *value = &this->piece->value;
    this->old = domain->kept + domain->extra;
    for (size_t i = 0; i < value->count; i++)
        for (unsigned j = 0; j < this->old && term_degree(&value->terms[i]) > 1; j++)
            if (value->terms[i].powers[j]) go_through(this, j);
    if (!choose_all(work, this, whatever)) return false;
    for (unsigned i = 0; i < domain->extra; i++) {
        bool all = true;
        for (unsigned j = 0; j < domain->kept + i; j++)
            if (domain->floors[i].of.at[j] && !this->gone[j]) all = false;
        this->gone[domain->kept + i] = all;
    }
    for (unsigned i = 0; i < this->old; i++) {
        if (this->gone[i])
            *(i < domain->kept ? &this->kept : &this->extra) += 1;
        else if (fm_poly_uses(value, i))
            this->others = true;
    }
    unsigned variable = 0, quotient = this->kept + this->others, counted = quotient + this->extra;
    for (unsigned i = 0; i < this->old; i++)
        this->columns[i] = !this->gone[i] ? counted++ : i < domain->kept ? variable++ : quotient++;
    this->kept += this->others;
    return true;
}

static fm_line moved(const choice *this, const fm_line *line)
{
    fm_line result = {{0}};
    for (unsigned i = 0; i < this->old; i++)
        if (line->at[i]) result.at[this->columns[i]] = line->at[i];
    result.at[FM_CONSTANT] = line->at[FM_CONSTANT];
    return result;
}

static bool take_floors(fm_isl_work *work, const choice *this, fm_system *system)
{
    const fm_system *domain = &this->piece->domain;
    if (this->extra && fm_array_reserve((void **)&system->floors, &system->floor_capacity, this->extra,
                                        sizeof *system->floors))
        return fm_isl_no_memory(work);
    for (unsigned i = 0; i < domain->extra; i++)
        if (this->gone[domain->kept + i])
            system->floors[system->extra++] =
                (fm_floor){moved(this, &domain->floors[i].of), domain->floors[i].by};
    return true;
}

/* The domain by the new columns. */
static bool make_system(fm_isl_work *work, const choice *this, fm_system *system)
{
    const fm_system *domain = &this->piece->domain;
    system->kept = this->kept;
    system->counted = this->old + this->others - this->kept - this->extra;
    if (this->kept + this->extra + system->counted >= FM_CONSTANT)
        return fm_isl_fail(work, FM_E_LIMIT, "the exact count was given up: more than %d unknowns at a time",
                           FM_CONSTANT - 1);
    if (!take_floors(work, this, system)) return false;
    const fm_counter_lines *from[2] = {&domain->equalities, &domain->inequalities};
    fm_counter_lines *to[2] = {&system->equalities, &system->inequalities};
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < from[k]->count; i++) {
            fm_line *line = fm_lines_add(work, to[k]);
            if (!line) return false;
            *line = moved(this, &from[k]->lines[i]);
        }
    for (unsigned i = 0; i < 2 * domain->extra; i++) {
        const fm_floor *quotient = &domain->floors[i / 2];
        if (this->gone[domain->kept + i / 2]) continue;
        fm_line *line = fm_lines_add(work, &system->inequalities);
        if (!line) return false;
        *line = moved(this, &quotient->of);
        line->at[this->columns[domain->kept + i / 2]] = -quotient->by;
        if (i % 2 == 0) continue;
        for (unsigned j = 0; j < FM_COLUMNS; j++) line->at[j] = -line->at[j];
        line->at[FM_CONSTANT] += quotient->by - 1;
    }
    return true;
}

/* A factor times a common denominator; false: it does not fit. */
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

/* The value by the new columns: what is not gone through is one sum, which is a variable of the system. */
static bool make_value(fm_isl_work *work, const choice *this, fm_poly *result, fm_system *system)
{
    const fm_poly *value = &this->piece->value;
    fm_line sum = {{0}};
    mpz_t denominator;
    bool fits = true;
    mpz_init_set_ui(denominator, 1);
    for (size_t i = 0; i < value->count; i++)
        mpz_lcm(denominator, denominator, mpq_denref(value->terms[i].factor));
    fits = mpz_sizeinbase(denominator, 2) <= 62;
    *result = fm_poly_copy(value);
    for (size_t i = 0; i < value->count && fits && !result->failed; i++) {
        uint8_t powers[FM_COLUMNS] = {0};
        fm_counter_term *term = &result->terms[i];
        for (unsigned j = 0; j < this->old; j++) {
            if (!term->powers[j]) continue;
            if (this->gone[j]) {
                powers[this->columns[j]] = term->powers[j];
                continue;
            }
            fits = whole_factor(value->terms[i].factor, denominator, &sum.at[this->columns[j]]);
            mpq_set_si(term->factor, 0, 1); /* it is in the sum, which follows */
        }
        memcpy(term->powers, powers, sizeof powers);
    }
    if (this->others && fits) {
        fm_poly part = {0};
        fm_line line = {{0}};
        line.at[this->kept - 1] = 1;
        fm_poly_add_line(&part, &line, this->kept, 1);
        fm_poly_add(result, &part, 1, mpz_get_si(denominator));
        fm_poly_clear(&part);
        sum.at[this->kept - 1] = -1;
        fm_line *equality = fm_lines_add(work, &system->equalities);
        if (equality) *equality = sum;
    }
    mpz_clear(denominator);
    if (!fits || result->failed)
        fm_isl_fail(work, FM_E_LIMIT, "the exact count was given up: numbers beyond 64 bits");
    return work->status == FM_OK;
}

bool fm_plan_create(fm_isl_work *work, fm_plan *plan, const fm_counter_piece *piece, bool all)
{
    choice this = {.piece = piece};
    fm_system system = {0};
    memset(plan, 0, sizeof *plan);
    if (!choose(work, &this, all)) return false;
    plan->sum = this.others;
    bool done = make_system(work, &this, &system) && make_value(work, &this, &plan->value, &system);
    plan->value_system.kept = this.kept;
    done = done && take_floors(work, &this, &plan->value_system);
    if (done)
        done = fm_count_system(work, &system, &plan->counts);
    else
        fm_system_clear(&system);
    if (!done) fm_plan_clear(plan);
    return done;
}
