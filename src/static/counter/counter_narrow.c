/* SPDX-License-Identifier: Apache-2.0 */
/* counter_narrow.c - see counter_narrow.h. */
#include "static/counter/counter_narrow.h"

#include "base/memory.h"
#include "static/counter/counter_renew.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_ROUNDS = 8 };

void fm_narrowing_clear(fm_narrowing *narrowing)
{
    fm_system_clear(&narrowing->of);
    memset(narrowing, 0, sizeof *narrowing);
}

/* A line of the domain's columns by columns of the old variables. */
static bool by_old_variables(fm_isl_work *work, const fm_line *lines, const fm_line *line, unsigned columns,
                             fm_line *result)
{
    memset(result, 0, sizeof *result);
    result->at[FM_CONSTANT] = line->at[FM_CONSTANT];
    for (unsigned i = 0; i < columns; i++)
        if (line->at[i] && !fm_line_subtract(work, result, -line->at[i], &lines[i])) return false;
    return true;
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
        done = by_old_variables(work, lines, &quotient->of, i, &of) &&
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
    done = condition && by_old_variables(work, lines, equality, columns, condition);
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
        if (!fm_renewal_translate(work, renewal, &line, columns, &point[i])) return false;
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

bool fm_narrowing_copy(fm_isl_work *work, fm_narrowing *copy, const fm_narrowing *narrowing)
{
    *copy = *narrowing;
    return fm_system_copy(work, &copy->of, &narrowing->of);
}

bool fm_narrowing_split(fm_isl_work *work, fm_narrowing *part, const fm_narrowing *narrowing,
                        unsigned variable, int64_t by, int64_t remainder)
{
    bool inserted;
    if (!fm_narrowing_copy(work, part, narrowing)) return false;
    fm_line of = part->variables[variable], *condition = fm_lines_add(work, &part->of.equalities);
    if (!condition) return false;
    of.at[FM_CONSTANT] -= remainder;
    *condition = of;
    return fm_system_quotient(work, &part->of, NULL, &of, by, &part->variables[variable], &inserted) &&
           fm_line_subtract(work, condition, by, &part->variables[variable]);
}
