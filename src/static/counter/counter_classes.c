/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counter_classes.c - reuses by fewer variables, and their pieces remainder by remainder
 * (counter_touches.h).
 */
#include "static/counter/counter_touches.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* ---- fewer variables ---- */

enum { MOST_ROUNDS = 8 };

void fm_narrowing_clear(fm_narrowing *narrowing)
{
    fm_system_clear(&narrowing->of);
    memset(narrowing, 0, sizeof *narrowing);
}

/* All columns of the domain, up to the last one of the equality, by columns of the old variables. */
static bool find_lines(fm_isl_work *work, fm_narrowing *this, const fm_system *domain, unsigned columns,
                       fm_line *lines)
{
    bool done = true, inserted;
    memcpy(lines, this->variables, this->count * sizeof lines[0]);
    for (unsigned i = domain->kept; i < columns && done; i++) {
        const fm_floor *quotient = &domain->floors[i - domain->kept];
        fm_line of;
        done = fm_line_composed(work, lines, &quotient->of, i, &of) &&
               fm_system_quotient(work, &this->of, NULL, &of, quotient->by, &lines[i], &inserted);
    }
    return done;
}

/* What the renewal by the equality makes of the variables. */
static bool note_variables(fm_isl_work *work, fm_narrowing *this, const fm_system *domain,
                           const fm_line *equality, const fm_renewal *renewal)
{
    unsigned columns = fm_system_columns(domain);
    fm_line *lines = fm_calloc(FM_COLUMNS, sizeof *lines), *condition = NULL;
    if (!lines) return fm_isl_no_memory(work);
    while (columns > domain->kept && !equality->at[columns - 1]) columns--;
    bool done = find_lines(work, this, domain, columns, lines);
    if (done) condition = fm_lines_add(work, &this->of.equalities);
    done = condition && fm_line_composed(work, lines, equality, columns, condition);
    if (renewal->replaced == FM_COLUMNS) { /* a variable goes */
        this->count--;
        memmove(&this->variables[renewal->variable], &this->variables[renewal->variable + 1],
                (this->count - renewal->variable) * sizeof this->variables[0]);
    } else if (!renewal->by) { /* a quotient takes the place of a variable */
        this->variables[renewal->variable] = lines[renewal->replaced];
    }
    free(lines);
    return done;
}

static bool translate_point(fm_isl_work *work, const fm_renewal *renewal, unsigned columns, fm_line *point)
{
    for (unsigned i = 0; i < FM_REFERENCE_DEPTH; i++) {
        fm_line line = point[i];
        if (!fm_line_composed(work, renewal->lines, &line, columns, &point[i])) return false;
    }
    return true;
}

static bool use_equalities(fm_isl_work *work, fm_renewal *renewal, fm_isl_reuse *reuse,
                           fm_narrowing *narrowing, bool *changed)
{
    for (size_t i = 0; i < reuse->domain.equalities.count; i++) {
        unsigned columns = fm_system_columns(&reuse->domain);
        if (!fm_renewal_find(renewal, &reuse->domain, &reuse->domain.equalities.lines[i])) continue;
        if (!note_variables(work, narrowing, &reuse->domain, &reuse->domain.equalities.lines[i], renewal))
            return false;
        fm_counter_piece piece = {.domain = reuse->domain};
        bool done = fm_renew(work, renewal, &piece);
        reuse->domain = piece.domain;
        if (!done || !translate_point(work, renewal, columns, reuse->from) ||
            !translate_point(work, renewal, columns, reuse->to))
            return false;
        *changed = true;
        i = (size_t)-1; /* all lines are other ones */
    }
    return true;
}

/* Quotients that neither the domain nor the two points have. */
static void drop_floors(fm_isl_reuse *reuse)
{
    fm_system *domain = &reuse->domain;
    for (unsigned i = domain->extra; i-- > 0;) {
        unsigned column = domain->kept + i;
        bool used = fm_system_uses_floor(domain, i);
        for (unsigned j = 0; j < FM_REFERENCE_DEPTH; j++)
            used = used || reuse->from[j].at[column] || reuse->to[j].at[column];
        if (used) continue;
        fm_system_drop_floor(domain, i);
        for (unsigned j = 0; j < FM_REFERENCE_DEPTH; j++) {
            fm_line_remove_column(&reuse->from[j], column);
            fm_line_remove_column(&reuse->to[j], column);
        }
    }
}

bool fm_reuse_narrow(fm_isl_work *work, fm_isl_reuse *reuse, fm_narrowing *narrowing, bool *empty)
{
    *empty = false;
    *narrowing = (fm_narrowing){.of = {.kept = reuse->domain.kept}, .count = reuse->domain.kept};
    for (unsigned i = 0; i < narrowing->count; i++) narrowing->variables[i].at[i] = 1;
    if (fm_system_columns(&reuse->domain) > FM_RENEWED_COLUMNS) return true; /* as it is */
    fm_renewal *renewal = fm_calloc(1, sizeof *renewal);
    if (!renewal) return fm_isl_no_memory(work);
    bool done = true, changed = true;
    for (unsigned round = 0; round < MOST_ROUNDS && changed && done && !*empty; round++) {
        changed = false;
        done = use_equalities(work, renewal, reuse, narrowing, &changed);
        if (!done || !changed) break;
        fm_emptiness emptiness = fm_system_tidy(work, &reuse->domain);
        done = emptiness != FM_EMPTINESS_FAILED;
        *empty = emptiness == FM_EMPTY;
    }
    free(renewal);
    if (done) drop_floors(reuse);
    return done;
}

bool fm_narrowing_at(const fm_narrowing *narrowing, const int64_t *x, int64_t *variables)
{
    int64_t values[FM_COLUMNS] = {0};
    memcpy(values, x, narrowing->of.kept * sizeof values[0]);
    if (!fm_system_extend_point(&narrowing->of, values) || !fm_system_holds(&narrowing->of, values))
        return false;
    for (unsigned i = 0; i < narrowing->count; i++)
        if (!fm_line_value(&narrowing->variables[i], values, fm_system_columns(&narrowing->of),
                           &variables[i]))
            return false;
    return true;
}

static bool narrowing_copy(fm_isl_work *work, fm_narrowing *copy, const fm_narrowing *narrowing)
{
    *copy = *narrowing;
    return fm_system_copy(work, &copy->of, &narrowing->of);
}

/* The part where a new variable has this remainder; its quotient takes its place. False: see work. */
static bool narrowing_split(fm_isl_work *work, fm_narrowing *part, const fm_narrowing *narrowing,
                            unsigned variable, int64_t by, int64_t remainder)
{
    bool inserted;
    if (!narrowing_copy(work, part, narrowing)) return false;
    fm_line of = part->variables[variable], *condition = fm_lines_add(work, &part->of.equalities);
    if (!condition) return false;
    of.at[FM_CONSTANT] -= remainder;
    *condition = of;
    return fm_system_quotient(work, &part->of, NULL, &of, by, &part->variables[variable], &inserted) &&
           fm_line_subtract(work, condition, by, &part->variables[variable]);
}

/* ---- remainders ---- */

enum {
    FEW_PIECES = 8,       /* are overlaid at once */
    MOST_REMAINDERS = 16, /* of one variable; with more of them there are more classes than pieces */
};

typedef struct classes {
    fm_isl_work *work;
    fm_pieces *overlaid;
    fm_class_taken take;
    void *context;
} classes;

/* Quotients of all pieces, each once. */
typedef struct quotients {
    fm_floor *floors;
    size_t count, capacity;
} quotients;

/* After how many steps of the variable all quotients have grown by whole numbers; 0: too many. */
static int64_t steps_of(const fm_system *system, unsigned variable)
{
    int64_t steps, growth[FM_COLUMNS];
    return fm_system_growth(system, variable, MOST_REMAINDERS, NULL, growth, &steps) ? steps : 0;
}

static bool collect_quotients(fm_isl_work *work, quotients *all, const fm_system *system)
{
    for (unsigned i = 0; i < system->extra; i++) {
        const fm_floor *one = &system->floors[i];
        size_t at = 0;
        while (at < all->count &&
               (all->floors[at].by != one->by || memcmp(&all->floors[at].of, &one->of, sizeof one->of) != 0))
            at++;
        if (at < all->count) continue;
        if (fm_array_reserve((void **)&all->floors, &all->capacity, all->count + 1, sizeof *all->floors))
            return fm_isl_no_memory(work);
        all->floors[all->count++] = *one;
    }
    return true;
}

/* The variable with the most quotients, and how many remainders it has; *by: 1 where there are no quotients,
 * 0 where a variable has too many remainders. */
static bool choose_variable(fm_isl_work *work, const fm_system *domain, const fm_pieces *pieces,
                            unsigned *variable, int64_t *by)
{
    quotients all = {0};
    size_t most = 0;
    bool done = collect_quotients(work, &all, domain);
    *by = 1;
    for (size_t i = 0; i < pieces->count && done; i++)
        done = collect_quotients(work, &all, &pieces->pieces[i].domain);
    for (unsigned v = 0; v < domain->kept && done; v++) {
        size_t count = 0;
        int64_t steps = steps_of(domain, v);
        for (size_t i = 0; i < all.count; i++) count += all.floors[i].of.at[v] != 0;
        if (!count) continue;
        for (size_t i = 0; i < pieces->count && steps; i++) {
            int64_t more = steps_of(&pieces->pieces[i].domain, v);
            steps = more ? steps / fm_greatest_divisor(steps, more) * more : 0;
            if (steps > MOST_REMAINDERS) steps = 0;
        }
        if (!steps) {
            *by = 0;
            break;
        }
        if (steps < 2 || count <= most) continue;
        most = count;
        *variable = v;
        *by = steps;
    }
    free(all.floors);
    return done;
}

/* Does a look at single conditions tell that there are no points? */
static bool surely_empty(const fm_system *system)
{
    unsigned columns = fm_system_columns(system);
    for (size_t i = 0; i < system->equalities.count; i++) {
        const fm_line *line = &system->equalities.lines[i];
        int64_t common = 0;
        for (unsigned j = 0; j < columns; j++) common = fm_greatest_divisor(common, line->at[j]);
        if (common ? line->at[FM_CONSTANT] % common != 0 : line->at[FM_CONSTANT] != 0) return true;
    }
    for (size_t i = 0; i < system->inequalities.count; i++) {
        const fm_line *line = &system->inequalities.lines[i];
        unsigned j = 0;
        while (j < columns && !line->at[j]) j++;
        if (j == columns && line->at[FM_CONSTANT] < 0) return true;
    }
    return false;
}

/* The piece where the variable has this remainder; *empty: surely without points. */
static bool renew_piece(fm_isl_work *work, fm_renewal *renewal, const fm_counter_piece *piece,
                        unsigned variable, int64_t by, int64_t remainder, fm_counter_piece *part, bool *empty)
{
    *part = (fm_counter_piece){0};
    if (!fm_system_copy(work, &part->domain, &piece->domain)) return false;
    fm_renewal_remainder(renewal, &piece->domain, variable, by, remainder);
    if (!fm_renew(work, renewal, part)) return false;
    *empty = surely_empty(&part->domain);
    if (*empty) return true;
    part->value = fm_poly_copy(&piece->value);
    fm_renew_value(renewal, &piece->domain, &part->domain, &part->value);
    return !part->value.failed || fm_isl_no_memory(work);
}

static bool overlay_class(classes *this, const fm_system *domain, const fm_pieces *pieces,
                          const fm_narrowing *narrowing);

static bool overlay_remainder(classes *this, fm_renewal *renewal, const fm_system *domain,
                              const fm_pieces *pieces, const fm_narrowing *narrowing, unsigned variable,
                              int64_t by, int64_t remainder)
{
    fm_isl_work *work = this->work;
    fm_pieces parts = {0};
    fm_narrowing variables = {0};
    fm_counter_piece part, whole = {.domain = *domain};
    bool empty = false;
    bool done = renew_piece(work, renewal, &whole, variable, by, remainder, &part, &empty);
    fm_system part_domain = part.domain;
    fm_poly_clear(&part.value);
    if (done && !empty) {
        fm_emptiness emptiness = fm_system_tidy(work, &part_domain);
        done = emptiness != FM_EMPTINESS_FAILED;
        empty = emptiness == FM_EMPTY;
    }
    for (size_t i = 0; i < pieces->count && done && !empty; i++) {
        bool nothing = false;
        done = renew_piece(work, renewal, &pieces->pieces[i], variable, by, remainder, &part, &nothing);
        if (done && !nothing) {
            done = fm_pieces_add(work, &parts, &part.domain, &part.value);
            continue;
        }
        fm_system_clear(&part.domain);
        fm_poly_clear(&part.value);
    }
    if (done && !empty) done = narrowing_split(work, &variables, narrowing, variable, by, remainder);
    if (done && !empty) done = overlay_class(this, &part_domain, &parts, &variables);
    fm_narrowing_clear(&variables);
    fm_system_clear(&part_domain);
    fm_pieces_clear(&parts);
    return done;
}

static bool can_be_renewed(const fm_system *domain, const fm_pieces *pieces)
{
    if (fm_system_columns(domain) > FM_RENEWED_COLUMNS) return false;
    for (size_t i = 0; i < pieces->count; i++)
        if (fm_system_columns(&pieces->pieces[i].domain) > FM_RENEWED_COLUMNS) return false;
    return true;
}

static bool overlay_class(classes *this, const fm_system *domain, const fm_pieces *pieces,
                          const fm_narrowing *narrowing)
{
    fm_isl_work *work = this->work;
    unsigned variable = 0;
    int64_t by = 1;
    if (!fm_isl_alive(work)) return false;
    if (pieces->count > FEW_PIECES && can_be_renewed(domain, pieces) &&
        !choose_variable(work, domain, pieces, &variable, &by))
        return false;
    if (by < 2) {
        fm_narrowing variables;
        size_t first = this->overlaid->count;
        if (!fm_overlay(work, domain, pieces, this->overlaid)) return false;
        if (!narrowing_copy(work, &variables, narrowing)) return false;
        return this->take(this->context, &variables, first);
    }
    fm_renewal *renewal = fm_calloc(1, sizeof *renewal);
    if (!renewal) return fm_isl_no_memory(work);
    bool done = true;
    for (int64_t remainder = 0; remainder < by && done; remainder++)
        done = overlay_remainder(this, renewal, domain, pieces, narrowing, variable, by, remainder);
    free(renewal);
    return done;
}

bool fm_overlay_classes(fm_isl_work *work, const fm_system *domain, const fm_pieces *pieces,
                        const fm_narrowing *narrowing, fm_pieces *overlaid, fm_class_taken take,
                        void *context)
{
    classes this = {work, overlaid, take, context};
    return overlay_class(&this, domain, pieces, narrowing);
}
