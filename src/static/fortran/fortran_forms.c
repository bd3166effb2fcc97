/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fortran_forms.c - forms (front_middle.h) as Fortran's front end has them: terms as they were made, what is
 * not affine refused at once, with the part that is not; and what the user states about the program.
 */
#include "static/fortran/fortran_walker.h"

#include <inttypes.h>

static ft_walker *walker_of(fm_front *f)
{
    return (ft_walker *)f;
}

static void forms_fail(fm_front *f, fm_status status, const fm_front_place *where, const char *reason)
{
    const ft_place place =
        where && where->file ? (ft_place){.file = where->file->number, .line = where->line} : (ft_place){0};
    fm_ft_fail(walker_of(f)->context, status, &place, "%s", reason);
}

static void forms_fault(fm_front *f, fm_form_fault fault)
{
    if (fault == FM_FORM_TOO_LARGE)
        fm_ft_refuse(walker_of(f)->context, &walker_of(f)->place,
                     "a number of a bound or subscript does not fit 64 bits");
    else
        fm_ft_fail(walker_of(f)->context, FM_E_LIMIT, &walker_of(f)->place,
                   "a bound or subscript has more than %d terms", FT_MOST_TERMS);
}

static void forms_no_memory(fm_front *f, size_t bytes)
{
    (void)bytes;
    fm_ft_no_memory(walker_of(f)->context);
}

void fm_ft_begin_forms(ft_walker *walker)
{
    enum { MOST_FACTORS = 100, MOST_NESTED = 160 };
    walker->front = (fm_front){.arena = walker->context->arena,
                               .fail = forms_fail,
                               .fault = forms_fault,
                               .no_memory = forms_no_memory,
                               .any_case = true,
                               .as_made = true,
                               .most_degree = MOST_FACTORS,
                               .most_nested = MOST_NESTED,
                               .most_terms = FT_MOST_TERMS,
                               .most_atom = FT_MOST_ATOM};
}

const fm_form *fm_ft_times(ft_walker *walker, const fm_form *left, const fm_form *right)
{
    fm_front *f = &walker->front;
    if (!left || !right) return NULL;
    for (size_t l = 0; l < left->count; l++)
        for (size_t r = 0; r < right->count; r++) {
            const fm_term one = {1, left->terms[l].product}, other = {1, right->terms[r].product};
            if (!one.product->varies || !other.product->varies) continue;
            const char *first = fm_form_text(f, fm_form_of_term(f, &one)),
                       *second = fm_form_text(f, fm_form_of_term(f, &other));
            fm_ft_refuse(walker->context, &walker->place,
                         "not affine: the product of '%.100s' and '%.100s', which both change in loops",
                         first ? first : "", second ? second : "");
            return NULL;
        }
    const fm_form *product = fm_form_multiply(f, left, right);
    if (!product) forms_fault(f, FM_FORM_TOO_LONG); /* or it has failed already */
    return product;
}

const fm_form *fm_ft_divide(ft_walker *walker, fm_atom_kind kind, const fm_form *left, const fm_form *right)
{
    fm_front *f = &walker->front;
    const bool towards_zero = kind == FM_ATOM_QUOTIENT || kind == FM_ATOM_REMAINDER,
               rest = kind == FM_ATOM_REMAINDER || kind == FM_ATOM_MODULO;
    int64_t divisor, number;
    if (!left || !right) return NULL;
    if (fm_form_varies(right)) {
        fm_ft_refuse(walker->context, &walker->place,
                     "not affine: a division by something that changes in a loop");
        return NULL;
    }
    if (!fm_form_fold(right, &divisor)) return fm_form_composed(f, kind, left, right);
    if (divisor == 0 || divisor == INT64_MIN || (divisor < 0 && !towards_zero)) {
        fm_ft_refuse(walker->context, &walker->place, "a division by %" PRId64, divisor);
        return NULL;
    }
    if (divisor < 0) { /* the quotient changes its sign, the remainder does not */
        const fm_form *same = fm_ft_divide(walker, kind, left, fm_form_number(f, -divisor));
        return rest ? same : fm_form_scale(f, same, -1);
    }
    if (fm_form_is_number(left, &number)) return fm_form_number(f, fm_form_divided(kind, number, divisor));
    if (divisor == 1) return rest ? fm_form_number(f, 0) : left;
    return fm_form_composed(f, kind, left, fm_form_number(f, divisor));
}

bool fm_ft_factor(ft_walker *walker, const fm_form *form, const fm_atom *atom, int64_t *factor)
{
    const fm_form *of_it, *rest;
    return fm_form_split(&walker->front, form, atom, &of_it, &rest) && fm_form_is_number(of_it, factor);
}

/* ---- what the user states ---- */

static const fm_assumption *assumption_used(ft_walker *walker, fm_assumption_kind kind, uint32_t line,
                                    const char *name)
{
    const fm_assumption *found = fm_assumptions_find(&walker->front, kind, line, name);
    const char *order =
        found && found->permutation ? ", in an order that is not known: counted as if it ascended" : "";
    return found && fm_ft_note(walker, fm_ft_print(walker->context, "assumed: %s%s", found->text, order))
               ? found
               : NULL;
}

bool fm_ft_assumed_identity(ft_walker *walker, const char *name)
{
    return assumption_used(walker, FM_ASSUME_IDENTITY, 0, name) != NULL;
}

bool fm_ft_assumed_if(ft_walker *walker, uint32_t line, fm_outcome *outcome)
{
    const fm_assumption *found = assumption_used(walker, FM_ASSUME_IF, line, NULL);
    if (found) *outcome = found->outcome;
    return found != NULL;
}

bool fm_ft_assumed_loop(ft_walker *walker, uint32_t line, const fm_form **times)
{
    fm_front *f = &walker->front;
    const fm_assumption *found = assumption_used(walker, FM_ASSUME_LOOP, line, NULL);
    if (!found) return false;
    const char *name = found->amounts[0].name;
    if (!name) {
        *times = fm_form_number(f, found->amounts[0].number);
        return true;
    }
    /* A variable of the program has the value that it has there; another name is a new parameter. */
    if (fm_ft_lookup(walker, walker->activation->unit, name, false)) {
        const ft_expression variable = {.kind = FT_X_NAME, .text = name, .place = walker->statement};
        *times = fm_ft_integer(walker, &variable);
        return true;
    }
    name = fm_ft_safe_name(walker, name);
    fm_atom *made = name ? fm_atom_named(f, name, true) : NULL;
    *times = fm_form_atom(f, made ? made : fm_atom_new(f, FM_ATOM_PARAMETER, name));
    return true;
}
