/* SPDX-License-Identifier: Apache-2.0 */
/* clang_trips.c - up to where a loop goes: see clang_maker.h. */
#include "clang_maker.h"

void assume_condition(front *f, condition *c)
{
    if (c->kind == CONDITION_TRUE || f->nowhere) return;
    condition_list **end = &f->conditions;
    for (; *end; end = &(*end)->next)
        if (condition_equal((*end)->condition, c)) return;
    *end = allocate(f, 1, sizeof **end);
    (*end)->condition = c;
}

/* Is it positive? A parameter that multiplies is taken to be, and that is said. */
static bool positive(front *f, const form *from, bool *negative)
{
    int64_t number;
    *negative = false;
    if (form_is_number(from, &number)) {
        *negative = number < 0;
        return number != 0;
    }
    if (from->count != 1 || from->constant || form_varies(from)) return false;
    *negative = from->terms[0].factor < 0;
    for (unsigned k = 0; k < from->terms[0].degree; k++)
        assume_condition(
            f, condition_of(f, CONDITION_NOT_NEGATIVE,
                            form_subtract(f, form_atom(f, from->terms[0].atoms[k]), form_number(f, 1))));
    return true;
}

/* factor * variable + rest >= 0, factor not 0. */
static bool inequality(front *f, const form *factor, const form *rest, const form *first, int64_t step,
                       const atom *of, const form *whole, trips *result, const char **why)
{
    bool negative;
    if (!positive(f, factor, &negative)) {
        *why = text_of(f, "whether '%s' is positive is not known", form_text(f, factor));
        return false;
    }
    if (negative != (step > 0)) { /* once it holds it goes on holding */
        const replacement begin = {of, first};
        result->guard = condition_of(f, CONDITION_NOT_NEGATIVE, form_replace(f, whole, &begin, 1));
        result->last = NULL;
        return true;
    }
    result->guard = NULL;
    if (negative) { /* variable <= floor(rest / -factor) */
        result->last = form_divide(f, ATOM_FLOOR, rest, form_scale(f, factor, -1));
    } else { /* variable >= ceil(-rest / factor) = -floor(rest / factor) */
        const form *quotient = form_divide(f, ATOM_FLOOR, rest, factor);
        result->last = quotient ? form_scale(f, quotient, -1) : NULL;
    }
    if (!result->last) *why = text_of(f, "'%s' is not affine", form_text(f, whole));
    return result->last != NULL;
}

/* factor * variable + rest != 0: holds until the two meet. */
static bool until_equal(front *f, const form *factor, const form *rest, const form *first, int64_t step,
                        bool exact, trips *result, const char **why)
{
    int64_t number, far;
    if (!form_is_number(factor, &number) || (number != 1 && number != -1) || (step != 1 && step != -1)) {
        *why = "!= may never be reached by steps other than 1";
        return false;
    }
    const form *end = form_scale(f, rest, -number); /* where they meet */
    const form *way = step > 0 ? form_subtract(f, end, first) : form_subtract(f, first, end);
    if (exact && (!form_is_number(way, &far) || far < 0)) {
        *why = text_of(f, "whether '%s' is reached is not known", form_text(f, end));
        return false;
    }
    result->guard = NULL;
    result->last = form_subtract(f, end, form_number(f, step));
    return true;
}

static bool both(front *f, const condition *goes_on, const atom *of, const form *first, int64_t step,
                 bool exact, trips *result, const char **why)
{
    trips left, right;
    bool any = goes_on->kind == CONDITION_OR;
    if (!trips_of(f, goes_on->left, of, first, step, exact, &left, why) ||
        !trips_of(f, goes_on->right, of, first, step, exact, &right, why))
        return false;
    if (any && (left.guard || right.guard)) {
        *why = "its condition joins by || what does not change with what does";
        return false;
    }
    result->guard = left.guard && right.guard ? condition_join(f, CONDITION_AND, left.guard, right.guard)
                    : left.guard              ? left.guard
                                              : right.guard;
    if (!left.last || !right.last)
        result->last = any ? NULL : left.last ? left.last : right.last;
    else
        result->last = form_extreme(f, (step > 0) == any ? ATOM_MAX : ATOM_MIN, left.last, right.last);
    return true;
}

bool trips_of(front *f, const condition *goes_on, const atom *of, const form *first, int64_t step, bool exact,
              trips *result, const char **why)
{
    const form *factor, *rest;
    int64_t none;
    *result = (trips){0};
    if (goes_on->kind == CONDITION_AND || goes_on->kind == CONDITION_OR)
        return both(f, goes_on, of, first, step, exact, result, why);
    if (goes_on->kind == CONDITION_TRUE) return true;
    if (goes_on->kind == CONDITION_FALSE) {
        result->last = form_subtract(f, first, form_number(f, step));
        return true;
    }
    if (!form_split(f, goes_on->form, of, &factor, &rest)) {
        *why = text_of(f, "'%s' is not affine in its variable", condition_text(f, goes_on));
        return false;
    }
    if (form_is_number(factor, &none) && none == 0) { /* does not change */
        result->guard = condition_of(f, goes_on->kind, goes_on->form);
        return true;
    }
    if (goes_on->kind == CONDITION_NOT_NEGATIVE)
        return inequality(f, factor, rest, first, step, of, goes_on->form, result, why);
    if (goes_on->kind == CONDITION_NOT_ZERO)
        return until_equal(f, factor, rest, first, step, exact, result, why);
    *why = "it goes on while two numbers are equal";
    return false;
}
