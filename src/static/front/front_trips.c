/* SPDX-License-Identifier: Apache-2.0 */
/* front_trips.c - up to where a loop goes, by the condition that keeps it going: see front_middle.h. */
#include "static/front/front_middle.h"

/* Is it positive? A parameter that multiplies is taken to be, and that is said. */
static bool is_positive(fm_front *f, const fm_form *from, bool *negative)
{
    int64_t number;
    *negative = false;
    if (fm_form_is_number(from, &number)) {
        *negative = number < 0;
        return number != 0;
    }
    if (from->count != 1 || from->constant || fm_form_varies(from)) return false;
    *negative = from->terms[0].factor < 0;
    for (unsigned k = 0; k < from->terms[0].product->degree; k++)
        fm_front_assume(f, fm_guard_of(f, FM_GUARD_NOT_NEGATIVE,
                                       fm_form_subtract(f, fm_form_atom(f, from->terms[0].product->atoms[k]),
                                                        fm_form_number(f, 1))));
    return true;
}

/* factor * variable + rest >= 0, factor not 0. */
static bool trips_of_inequality(fm_front *f, const fm_form *factor, const fm_form *rest, const fm_form *first,
                                int64_t step, const fm_atom *of, const fm_form *whole, fm_trips *result,
                                const char **why)
{
    bool negative;
    if (!is_positive(f, factor, &negative)) {
        *why = fm_front_text(f, "whether '%s' is positive is not known", fm_form_written(f, factor));
        return false;
    }
    if (negative != (step > 0)) { /* once it holds it goes on holding */
        const fm_replacement begin = {of, first};
        result->guard = fm_guard_of(f, FM_GUARD_NOT_NEGATIVE, fm_form_replace(f, whole, &begin, 1));
        result->last = NULL;
        return true;
    }
    result->guard = NULL;
    if (negative) { /* variable <= floor(rest / -factor) */
        result->last = fm_form_divide(f, FM_ATOM_FLOOR, rest, fm_form_scale(f, factor, -1));
    } else { /* variable >= ceil(-rest / factor) = -floor(rest / factor) */
        const fm_form *quotient = fm_form_divide(f, FM_ATOM_FLOOR, rest, factor);
        result->last = quotient ? fm_form_scale(f, quotient, -1) : NULL;
    }
    if (!result->last) *why = fm_front_text(f, "'%s' is not affine", fm_form_written(f, whole));
    return result->last != NULL;
}

/* factor * variable + rest != 0: holds until the two meet. */
static bool until_equal(fm_front *f, const fm_form *factor, const fm_form *rest, const fm_form *first,
                        int64_t step, bool exact, fm_trips *result, const char **why)
{
    int64_t number, far;
    if (!fm_form_is_number(factor, &number) || (number != 1 && number != -1) || (step != 1 && step != -1)) {
        *why = "!= may never be reached by steps other than 1";
        return false;
    }
    const fm_form *end = fm_form_scale(f, rest, -number); /* where they meet */
    const fm_form *way = step > 0 ? fm_form_subtract(f, end, first) : fm_form_subtract(f, first, end);
    if (exact && (!fm_form_is_number(way, &far) || far < 0)) {
        *why = fm_front_text(f, "whether '%s' is reached is not known", fm_form_written(f, end));
        return false;
    }
    result->guard = NULL;
    result->last = fm_form_subtract(f, end, fm_form_number(f, step));
    return true;
}

static bool trips_of_both(fm_front *f, const fm_guard *goes_on, const fm_atom *of, const fm_form *first,
                          int64_t step, bool exact, fm_trips *result, const char **why)
{
    fm_trips left, right;
    bool any = goes_on->kind == FM_GUARD_OR;
    if (!fm_front_trips(f, goes_on->left, of, first, step, exact, &left, why) ||
        !fm_front_trips(f, goes_on->right, of, first, step, exact, &right, why))
        return false;
    if (any && (left.guard || right.guard)) {
        *why = "its condition joins by || what does not change with what does";
        return false;
    }
    result->guard = left.guard && right.guard ? fm_guard_join(f, FM_GUARD_AND, left.guard, right.guard)
                    : left.guard              ? left.guard
                                              : right.guard;
    if (!left.last || !right.last)
        result->last = any ? NULL : left.last ? left.last : right.last;
    else
        result->last =
            fm_form_extremum(f, (step > 0) == any ? FM_ATOM_MAX : FM_ATOM_MIN, left.last, right.last);
    return true;
}

bool fm_front_trips(fm_front *f, const fm_guard *goes_on, const fm_atom *of, const fm_form *first,
                    int64_t step, bool exact, fm_trips *result, const char **why)
{
    const fm_form *factor, *rest;
    int64_t none;
    *result = (fm_trips){0};
    if (goes_on->kind == FM_GUARD_AND || goes_on->kind == FM_GUARD_OR)
        return trips_of_both(f, goes_on, of, first, step, exact, result, why);
    if (goes_on->kind == FM_GUARD_TRUE) return true;
    if (goes_on->kind == FM_GUARD_FALSE) {
        result->last = fm_form_subtract(f, first, fm_form_number(f, step));
        return true;
    }
    if (!goes_on->form || !fm_form_split(f, goes_on->form, of, &factor, &rest)) {
        *why = fm_front_text(f, "'%s' is not affine in its variable", fm_guard_text(f, goes_on));
        return false;
    }
    if (fm_form_is_number(factor, &none) && none == 0) { /* does not change */
        result->guard = fm_guard_of(f, goes_on->kind, goes_on->form);
        return true;
    }
    if (goes_on->kind == FM_GUARD_NOT_NEGATIVE)
        return trips_of_inequality(f, factor, rest, first, step, of, goes_on->form, result, why);
    if (goes_on->kind == FM_GUARD_NOT_ZERO)
        return until_equal(f, factor, rest, first, step, exact, result, why);
    *why = "it goes on while two numbers are equal";
    return false;
}
