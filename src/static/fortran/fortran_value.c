/* SPDX-License-Identifier: Apache-2.0 */
/* fortran_value.c - see fortran_value.h. Numbers that do not fit 64 bits are refused. */
#include "static/fortran/fortran_value.h"
#include "static/region/region.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const ft_value *too_large(ft_values *values)
{
    fm_ft_refuse(values->context, &values->place, "a number of a bound or subscript does not fit 64 bits");
    return NULL;
}

static const ft_value *too_long(ft_values *values)
{
    fm_ft_fail(values->context, FM_E_LIMIT, &values->place, "a bound or subscript has more than %d terms",
               FT_MOST_TERMS);
    return NULL;
}

static const ft_value *keep(ft_values *values, const ft_term *terms, size_t count, int64_t constant)
{
    ft_value *made = fm_ft_allocate(values->context, 1, sizeof *made + count * sizeof *terms);
    if (!made) return NULL;
    made->constant = constant;
    made->count = count;
    if (count) memcpy(made->terms, terms, count * sizeof *terms);
    return made;
}

const ft_value *fm_ft_number(ft_values *values, int64_t number)
{
    return keep(values, NULL, 0, number);
}

/* The atom with that text, made where it is new (then *made). */
static ft_atom *atom_of(ft_values *values, const char *text, bool *made)
{
    *made = false;
    const char *kept = fm_ft_intern(values->context, text);
    if (!kept) return NULL;
    ft_atom **bucket = &values->buckets[((uintptr_t)kept >> 4) % FT_ATOM_BUCKETS];
    for (ft_atom *atom = *bucket; atom; atom = atom->chain)
        if (atom->text == kept) return atom;
    ft_atom *atom = fm_ft_allocate(values->context, 1, sizeof *atom);
    if (!atom) return NULL;
    *made = true;
    atom->text = kept;
    atom->number = values->count++;
    atom->factors = 1;
    atom->chain = *bucket;
    *bucket = atom;
    if (values->last)
        values->last->next = atom;
    else
        values->first = atom;
    values->last = atom;
    return atom;
}

const ft_value *fm_ft_symbol_value(ft_values *values, const char *name, bool variable)
{
    bool made;
    ft_atom *atom = atom_of(values, name, &made);
    if (!atom) return NULL;
    if (made) {
        atom->variable = variable;
        atom->parameter = !variable;
    }
    ft_term term = {atom, 1};
    return keep(values, &term, 1, 0);
}

const ft_value *fm_ft_plus(ft_values *values, const ft_value *left, const ft_value *right, int64_t factor)
{
    if (!left || !right) return NULL;
    ft_term terms[2 * FT_MOST_TERMS];
    size_t count = 0, l = 0, r = 0;
    int64_t constant;
    if (__builtin_mul_overflow(right->constant, factor, &constant) ||
        __builtin_add_overflow(constant, left->constant, &constant))
        return too_large(values);
    while (l < left->count || r < right->count) {
        bool from_left = r == right->count ||
                         (l < left->count && left->terms[l].atom->number <= right->terms[r].atom->number);
        bool both = from_left && r < right->count && left->terms[l].atom == right->terms[r].atom;
        int64_t scaled = 0, sum;
        if ((!from_left || both) && __builtin_mul_overflow(right->terms[r].factor, factor, &scaled))
            return too_large(values);
        ft_atom *atom = from_left ? left->terms[l].atom : right->terms[r].atom;
        if (__builtin_add_overflow(scaled, from_left ? left->terms[l].factor : 0, &sum))
            return too_large(values);
        l += from_left;
        r += !from_left || both;
        if (sum) terms[count++] = (ft_term){atom, sum};
    }
    return count > FT_MOST_TERMS ? too_long(values) : keep(values, terms, count, constant);
}

const ft_value *fm_ft_add_number(ft_values *values, const ft_value *left, int64_t number)
{
    return fm_ft_plus(values, left, fm_ft_number(values, number), 1);
}

/* The product of two atoms. */
static ft_atom *product(ft_values *values, ft_atom *left, ft_atom *right)
{
    if (left->variable && right->variable) {
        fm_ft_refuse(values->context, &values->place,
                     "not affine: the product of '%.100s' and '%.100s', which both change in loops",
                     left->text, right->text);
        return NULL;
    }
    char text[FT_MOST_ATOM];
    /* Factors in one order, so that equal products are equal texts. */
    if (left->number > right->number || (left->variable && !right->variable)) {
        ft_atom *swap = left;
        left = right;
        right = swap;
    }
    if ((size_t)snprintf(text, sizeof text, "%s * %s", left->text, right->text) >= sizeof text) {
        too_long(values);
        return NULL;
    }
    bool made;
    ft_atom *atom = atom_of(values, text, &made);
    if (atom && made) {
        atom->variable = left->variable || right->variable;
        atom->parts[0] = left;
        atom->parts[1] = right;
        atom->factors = left->factors + right->factors;
    }
    return atom;
}

const ft_value *fm_ft_times(ft_values *values, const ft_value *left, const ft_value *right)
{
    if (!left || !right) return NULL;
    const ft_value *sum = fm_ft_number(values, 0);
    sum = fm_ft_plus(values, sum, right, left->constant);
    if (sum && right->constant) {
        ft_value *rest =
            fm_ft_allocate(values->context, 1, sizeof *rest + left->count * sizeof left->terms[0]);
        if (!rest) return NULL;
        memcpy(rest, left, sizeof *rest + left->count * sizeof left->terms[0]);
        rest->constant = 0; /* that product is in the sum already */
        sum = fm_ft_plus(values, sum, rest, right->constant);
    }
    for (size_t l = 0; sum && l < left->count; l++)
        for (size_t r = 0; sum && r < right->count; r++) {
            ft_term term = {product(values, left->terms[l].atom, right->terms[r].atom), 0};
            if (!term.atom) return NULL;
            if (__builtin_mul_overflow(left->terms[l].factor, right->terms[r].factor, &term.factor))
                return too_large(values);
            sum = fm_ft_plus(values, sum, keep(values, &term, 1, 0), 1);
        }
    return sum;
}

bool fm_ft_is_number(const ft_value *value, int64_t *number)
{
    if (!value || value->count) return false;
    *number = value->constant;
    return true;
}

static bool fold_atom(ft_atom *atom, bool fix, int64_t *number)
{
    if (atom->has_number) {
        atom->fixed |= fix;
        *number = atom->constant;
        return true;
    }
    int64_t left, right;
    return atom->parts[0] && fold_atom(atom->parts[0], fix, &left) &&
           fold_atom(atom->parts[1], fix, &right) && !__builtin_mul_overflow(left, right, number);
}

static bool fold(const ft_value *value, bool fix, int64_t *number)
{
    int64_t sum = value->constant, part;
    for (size_t i = 0; i < value->count; i++)
        if (!fold_atom(value->terms[i].atom, fix, &part) ||
            __builtin_mul_overflow(part, value->terms[i].factor, &part) ||
            __builtin_add_overflow(sum, part, &sum))
            return false;
    *number = sum;
    return true;
}

bool fm_ft_fold(const ft_value *value, int64_t *number)
{
    return value && fold(value, false, number) && fold(value, true, number);
}

bool fm_ft_difference(ft_values *values, const ft_value *left, const ft_value *right, int64_t *number)
{
    return fm_ft_is_number(fm_ft_plus(values, left, right, -1), number);
}

bool fm_ft_varies(const ft_value *value)
{
    for (size_t i = 0; value && i < value->count; i++)
        if (value->terms[i].atom->variable) return true;
    return false;
}

static bool atom_uses(const ft_atom *atom, const ft_atom *what)
{
    if (atom == what) return true;
    for (int i = 0; i < 2; i++) {
        if (atom->parts[i] && atom_uses(atom->parts[i], what)) return true;
        for (size_t j = 0; atom->operands[i] && j < atom->operands[i]->count; j++)
            if (atom_uses(atom->operands[i]->terms[j].atom, what)) return true;
    }
    return false;
}

bool fm_ft_factor(const ft_value *value, const ft_atom *atom, int64_t *factor)
{
    *factor = 0;
    for (size_t i = 0; i < value->count; i++) {
        if (value->terms[i].atom == atom)
            *factor = value->terms[i].factor;
        else if (atom->variable && value->terms[i].atom->variable && atom_uses(value->terms[i].atom, atom))
            return false;
    }
    return true;
}

/* ---- text ---- */

static const char *text_of(ft_values *values, const ft_value *value)
{
    if (!value) return NULL;
    size_t length = 32;
    for (size_t i = 0; i < value->count; i++) length += strlen(value->terms[i].atom->text) + 32;
    char *text = fm_ft_allocate(values->context, length, 1);
    if (!text) return NULL;
    size_t used = 0;
    for (size_t i = 0; i < value->count; i++) {
        const ft_term *term = &value->terms[i];
        bool minus = term->factor < 0;
        uint64_t size = minus ? 0 - (uint64_t)term->factor : (uint64_t)term->factor;
        if (size > INT64_MAX) {
            too_large(values);
            return NULL;
        }
        used += (size_t)snprintf(text + used, length - used, "%s",
                                 used    ? minus ? " - " : " + "
                                 : minus ? "-"
                                         : "");
        if (size != 1) used += (size_t)snprintf(text + used, length - used, "%" PRIu64 " * ", size);
        used += (size_t)snprintf(text + used, length - used, "%s", term->atom->text);
    }
    if (!used || value->constant) {
        bool minus = value->constant < 0;
        uint64_t size = minus ? 0 - (uint64_t)value->constant : (uint64_t)value->constant;
        if (size > INT64_MAX) {
            too_large(values);
            return NULL;
        }
        snprintf(text + used, length - used, "%s%" PRIu64,
                 used    ? minus ? " - " : " + "
                 : minus ? "-"
                         : "",
                 size);
    }
    return text;
}

static void use(ft_atom *atom)
{
    if (atom->used) return;
    atom->used = true;
    for (int i = 0; i < 2; i++) {
        if (atom->parts[i]) use(atom->parts[i]);
        for (size_t j = 0; atom->operands[i] && j < atom->operands[i]->count; j++)
            use(atom->operands[i]->terms[j].atom);
    }
}

const char *fm_ft_value_text(ft_values *values, const ft_value *value)
{
    for (size_t i = 0; value && i < value->count; i++) use(value->terms[i].atom);
    return text_of(values, value);
}

/* ---- divisions, minima, maxima: atoms of their own ---- */

static const ft_value *composite(ft_values *values, const char *format, const ft_value *left,
                                 const ft_value *right)
{
    const char *first = text_of(values, left), *second = text_of(values, right);
    char text[FT_MOST_ATOM];
    if (!first || !second) return NULL;
    if (strlen(first) + strlen(second) + 16 >= sizeof text) return too_long(values);
    snprintf(text, sizeof text, format, first, second);
    bool made;
    ft_atom *atom = atom_of(values, text, &made);
    if (!atom) return NULL;
    if (made) {
        atom->variable = fm_ft_varies(left) || fm_ft_varies(right);
        atom->operands[0] = left;
        atom->operands[1] = right;
    }
    ft_term term = {atom, 1};
    return keep(values, &term, 1, 0);
}

const ft_value *fm_ft_divide(ft_values *values, char how, const ft_value *left, const ft_value *right)
{
    if (!left || !right) return NULL;
    if (fm_ft_varies(right)) {
        fm_ft_refuse(values->context, &values->place,
                     "not affine: a division by something that changes in a loop");
        return NULL;
    }
    int64_t divisor, number;
    if (fm_ft_fold(right, &divisor)) {
        bool towards_zero = how == '/' || how == '%';
        if (divisor == 0 || divisor == INT64_MIN || (divisor < 0 && !towards_zero)) {
            fm_ft_refuse(values->context, &values->place, "a division by %" PRId64, divisor);
            return NULL;
        }
        if (divisor < 0) { /* the quotient changes its sign, the remainder does not */
            const ft_value *same = fm_ft_divide(values, how, left, fm_ft_number(values, -divisor));
            return how == '%' ? same : fm_ft_plus(values, fm_ft_number(values, 0), same, -1);
        }
        right = fm_ft_number(values, divisor);
        if (fm_ft_is_number(left, &number))
            return fm_ft_number(values, how == '/'   ? number / divisor
                                        : how == '%' ? number % divisor
                                        : how == 'f' ? fm_floor_divide(number, divisor)
                                                     : number - divisor * fm_floor_divide(number, divisor));
        if (divisor == 1) return how == '/' || how == 'f' ? left : fm_ft_number(values, 0);
    }
    return composite(values,
                     how == '/'   ? "((%s) / (%s))"
                     : how == '%' ? "((%s) %% (%s))"
                     : how == 'f' ? "floor(%s, %s)"
                                  : "mod(%s, %s)",
                     left, right);
}

const ft_value *fm_ft_extreme(ft_values *values, bool most, const ft_value *left, const ft_value *right)
{
    int64_t difference;
    if (!left || !right) return NULL;
    if (fm_ft_difference(values, left, right, &difference)) return (difference > 0) == most ? left : right;
    return composite(values, most ? "max(%s, %s)" : "min(%s, %s)", left, right);
}
