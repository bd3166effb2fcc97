/* SPDX-License-Identifier: Apache-2.0 */
/* clang_form.c - see clang_form.h. Numbers that do not fit 64 bits end the work with a message. */
#include "clang_form.h"

#include "clang_maker.h"

#include <string.h>

static _Noreturn void too_large(front *f)
{
    limit_at(f, f->statement ? &f->statement->place : NULL,
             "a formula of the source has numbers beyond 64 bits");
}

static int64_t plus(front *f, int64_t left, int64_t right)
{
    int64_t sum;
    if (__builtin_add_overflow(left, right, &sum)) too_large(f);
    return sum;
}

static int64_t times(front *f, int64_t left, int64_t right)
{
    int64_t product;
    if (__builtin_mul_overflow(left, right, &product)) too_large(f);
    return product;
}

static form *form_new(front *f, size_t terms)
{
    form *made = allocate(f, 1, sizeof *made + terms * sizeof(term));
    return made;
}

/* Products of more atoms come first, then those of atoms that were known first. */
static int compare(const term *left, const term *right)
{
    if (left->degree != right->degree) return left->degree > right->degree ? -1 : 1;
    for (unsigned i = 0; i < left->degree; i++)
        if (left->atoms[i] != right->atoms[i])
            return left->atoms[i]->number < right->atoms[i]->number ? -1 : 1;
    return 0;
}

const form *form_number(front *f, int64_t number)
{
    form *made = form_new(f, 0);
    made->constant = number;
    return made;
}

const form *form_atom(front *f, const atom *a)
{
    form *made = form_new(f, 1);
    made->count = 1;
    made->terms[0] = (term){.factor = 1, .degree = 1, .atoms = {a}};
    return made;
}

const form *form_add(front *f, const form *left, const form *right)
{
    form *sum = form_new(f, left->count + right->count);
    size_t l = 0, r = 0;
    sum->constant = plus(f, left->constant, right->constant);
    while (l < left->count || r < right->count) {
        int order = l == left->count    ? 1
                    : r == right->count ? -1
                                        : compare(&left->terms[l], &right->terms[r]);
        term next = order <= 0 ? left->terms[l] : right->terms[r];
        if (order == 0) next.factor = plus(f, left->terms[l].factor, right->terms[r].factor);
        l += order <= 0;
        r += order >= 0;
        if (next.factor) sum->terms[sum->count++] = next;
    }
    return sum;
}

const form *form_scale(front *f, const form *from, int64_t factor)
{
    if (factor == 1) return from;
    if (factor == 0) return form_number(f, 0);
    form *made = form_new(f, from->count);
    made->constant = times(f, from->constant, factor);
    made->count = from->count;
    for (size_t i = 0; i < from->count; i++) {
        made->terms[i] = from->terms[i];
        made->terms[i].factor = times(f, from->terms[i].factor, factor);
    }
    return made;
}

const form *form_subtract(front *f, const form *left, const form *right)
{
    return form_add(f, left, form_scale(f, right, -1));
}

static bool term_multiply(front *f, const term *left, const term *right, term *product)
{
    if (left->degree + right->degree > MOST_DEGREE) return false;
    unsigned l = 0, r = 0;
    product->factor = times(f, left->factor, right->factor);
    product->degree = left->degree + right->degree;
    for (unsigned i = 0; i < product->degree; i++) {
        bool from_left =
            r == right->degree || (l < left->degree && left->atoms[l]->number <= right->atoms[r]->number);
        product->atoms[i] = from_left ? left->atoms[l++] : right->atoms[r++];
    }
    return true;
}

const form *form_multiply(front *f, const form *left, const form *right)
{
    int64_t number;
    if (form_is_number(left, &number)) return form_scale(f, right, number);
    if (form_is_number(right, &number)) return form_scale(f, left, number);
    const form *product = form_scale(f, right, left->constant);
    for (size_t l = 0; l < left->count; l++) {
        form *one = form_new(f, 1);
        one->count = 1;
        for (size_t r = 0; r < right->count; r++) {
            if (!term_multiply(f, &left->terms[l], &right->terms[r], &one->terms[0])) return NULL;
            product = form_add(f, product, one);
        }
        one->terms[0] = left->terms[l];
        if (right->constant) product = form_add(f, product, form_scale(f, one, right->constant));
    }
    return product;
}

atom *atom_new(front *f, atom_kind kind, const char *name)
{
    atom *made = allocate(f, 1, sizeof *made);
    made->kind = kind;
    made->name = name;
    made->number = f->atom_count++;
    made->next = f->atoms;
    f->atoms = made;
    return made;
}

static size_t hash(atom_kind kind, const form *left, const form *right)
{
    uint64_t made = (uint64_t)kind * 31 + (uint64_t)left->constant * 7 + (uint64_t)right->constant;
    for (size_t i = 0; i < left->count; i++) made = made * 131 + left->terms[i].atoms[0]->number;
    for (size_t i = 0; i < right->count; i++) made = made * 137 + right->terms[i].atoms[0]->number;
    return made % ATOM_HASHES;
}

static const form *composed(front *f, atom_kind kind, const form *left, const form *right)
{
    atom **alike = &f->composed[hash(kind, left, right)];
    for (const atom *a = *alike; a; a = a->next_alike)
        if (a->kind == kind && form_equal(a->left, left) && form_equal(a->right, right))
            return form_atom(f, a);
    atom *made = atom_new(f, kind, NULL);
    made->left = left;
    made->right = right;
    made->next_alike = *alike;
    *alike = made;
    return form_atom(f, made);
}

static int64_t floor_quotient(int64_t left, int64_t right)
{
    int64_t quotient = left / right;
    return quotient - (left % right < 0);
}

static int64_t divided(atom_kind kind, int64_t left, int64_t right)
{
    switch (kind) {
    case ATOM_QUOTIENT:
        return left / right;
    case ATOM_REMAINDER:
        return left % right;
    case ATOM_FLOOR:
        return floor_quotient(left, right);
    default:
        return left - right * floor_quotient(left, right);
    }
}

const form *form_divide(front *f, atom_kind kind, const form *left, const form *right)
{
    int64_t divisor, number;
    bool rest = kind == ATOM_REMAINDER || kind == ATOM_MODULO;
    if (!form_is_number(right, &divisor)) return form_varies(right) ? NULL : composed(f, kind, left, right);
    if (divisor <= 0) {
        if (divisor == 0 || divisor == INT64_MIN) return NULL;
        if (kind == ATOM_REMAINDER) return form_divide(f, kind, left, form_number(f, -divisor));
        if (kind == ATOM_QUOTIENT)
            return form_scale(f, form_divide(f, kind, left, form_number(f, -divisor)), -1);
        return NULL;
    }
    if (form_is_number(left, &number)) return form_number(f, divided(kind, number, divisor));
    const form *exact = form_exact_quotient(f, left, divisor);
    if (exact) return rest ? form_number(f, 0) : exact;
    return composed(f, kind, left, right);
}

const form *form_extreme(front *f, atom_kind kind, const form *left, const form *right)
{
    int64_t difference;
    if (form_is_number(form_subtract(f, left, right), &difference))
        return (difference <= 0) == (kind == ATOM_MIN) ? left : right;
    return composed(f, kind, left, right);
}

bool form_is_number(const form *from, int64_t *number)
{
    if (number) *number = from->constant;
    return from->count == 0;
}

bool form_equal(const form *left, const form *right)
{
    if (left == right) return true;
    if (!left || !right || left->constant != right->constant || left->count != right->count) return false;
    for (size_t i = 0; i < left->count; i++)
        if (left->terms[i].factor != right->terms[i].factor || compare(&left->terms[i], &right->terms[i]))
            return false;
    return true;
}

static bool atom_mentions(const atom *in, const atom *a)
{
    return in == a || (in->left && form_mentions(in->left, a)) || (in->right && form_mentions(in->right, a));
}

bool form_mentions(const form *from, const atom *a)
{
    for (size_t i = 0; i < from->count; i++)
        for (unsigned k = 0; k < from->terms[i].degree; k++)
            if (atom_mentions(from->terms[i].atoms[k], a)) return true;
    return false;
}

static bool atom_varies(const atom *a)
{
    if (a->kind == ATOM_LOOP || a->kind == ATOM_ENTRY) return true;
    return (a->left && form_varies(a->left)) || (a->right && form_varies(a->right));
}

bool form_varies(const form *from)
{
    for (size_t i = 0; i < from->count; i++)
        for (unsigned k = 0; k < from->terms[i].degree; k++)
            if (atom_varies(from->terms[i].atoms[k])) return true;
    return false;
}

bool form_split(front *f, const form *from, const atom *a, const form **factor, const form **rest)
{
    const form *one = form_number(f, 0);
    form *others = form_new(f, from->count);
    others->constant = from->constant;
    for (size_t i = 0; i < from->count; i++) {
        const term *t = &from->terms[i];
        unsigned found = 0, inside = 0;
        for (unsigned k = 0; k < t->degree; k++) {
            found += t->atoms[k] == a;
            inside += t->atoms[k] != a && atom_mentions(t->atoms[k], a);
        }
        if (found + inside == 0) {
            others->terms[others->count++] = *t;
            continue;
        }
        if (found != 1 || inside) return false;
        form *left_over = form_new(f, 1);
        term *other = &left_over->terms[0];
        other->factor = t->factor;
        for (unsigned k = 0; k < t->degree; k++)
            if (t->atoms[k] != a) other->atoms[other->degree++] = t->atoms[k];
        if (other->degree == 0)
            left_over->constant = t->factor;
        else
            left_over->count = 1;
        one = form_add(f, one, left_over);
    }
    *factor = one;
    *rest = others;
    return true;
}

const form *form_exact_quotient(front *f, const form *from, int64_t divisor)
{
    if (from->constant % divisor) return NULL;
    for (size_t i = 0; i < from->count; i++)
        if (from->terms[i].factor % divisor) return NULL;
    form *made = form_new(f, from->count);
    made->constant = from->constant / divisor;
    made->count = from->count;
    for (size_t i = 0; i < from->count; i++) {
        made->terms[i] = from->terms[i];
        made->terms[i].factor /= divisor;
    }
    return made;
}

const form *form_exact_term(front *f, const form *from, const form *divisor)
{
    if (form_is_number(divisor, NULL))
        return divisor->constant ? form_exact_quotient(f, from, divisor->constant) : NULL;
    if (divisor->count != 1 || divisor->constant || from->constant) return NULL;
    const term *by = &divisor->terms[0];
    const form *made = form_number(f, 0);
    for (size_t i = 0; i < from->count; i++) {
        term left = from->terms[i], other = {.factor = left.factor / by->factor};
        unsigned next = 0;
        if (left.factor % by->factor) return NULL;
        for (unsigned k = 0; k < left.degree; k++)
            if (next < by->degree && left.atoms[k] == by->atoms[next])
                next++;
            else
                other.atoms[other.degree++] = left.atoms[k];
        if (next < by->degree) return NULL;
        form *one = form_new(f, 1);
        if (other.degree == 0)
            one->constant = other.factor;
        else
            one->count = 1;
        one->terms[0] = other;
        made = form_add(f, made, one);
    }
    return made;
}

static const form *atom_replace(front *f, const atom *a, const replacement *replacements, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (replacements[i].atom == a && replacements[i].form) return replacements[i].form;
    if (!a->left) return form_atom(f, a);
    const form *left = form_replace(f, a->left, replacements, count);
    const form *right = form_replace(f, a->right, replacements, count);
    if (left == a->left && right == a->right) return form_atom(f, a);
    const form *made = a->kind == ATOM_MIN || a->kind == ATOM_MAX ? form_extreme(f, a->kind, left, right)
                                                                  : form_divide(f, a->kind, left, right);
    return made ? made : composed(f, a->kind, left, right);
}

const form *form_replace(front *f, const form *from, const replacement *replacements, size_t count)
{
    bool any = false;
    for (size_t i = 0; i < count && !any; i++)
        any = replacements[i].form && form_mentions(from, replacements[i].atom);
    if (!any) return from;
    const form *made = form_number(f, from->constant);
    for (size_t i = 0; i < from->count; i++) {
        const form *product = form_number(f, from->terms[i].factor);
        for (unsigned k = 0; k < from->terms[i].degree; k++) {
            product =
                form_multiply(f, product, atom_replace(f, from->terms[i].atoms[k], replacements, count));
            if (!product)
                give_up(f, FM_E_UNSUPPORTED, "a formula of the source multiplies too many variables");
        }
        made = form_add(f, made, product);
    }
    return made;
}
