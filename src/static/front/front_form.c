/* SPDX-License-Identifier: Apache-2.0 */
/*
 * front_form.c - whole numbers as formulas: see front_middle.h. Numbers that do not fit 64 bits are a fault.
 *
 * A product of atoms is made once, so that two terms have the same one or different ones, and a sum is a
 * merge of two ordered lists. So is a quotient, a minimum: an atom of its own, found again by its operands.
 */
#include "base/error.h"
#include "static/front/front_middle.h"
#include "static/region/region.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- memory and texts ---- */

void *fm_front_allocate(fm_front *f, size_t count, size_t size)
{
    void *made = fm_arena_allocate(f->arena, count ? count : 1, size);
    if (!made) f->no_memory(f, count * size);
    return made;
}

const char *fm_front_text_list(fm_front *f, const char *format, va_list arguments)
{
    va_list again;
    va_copy(again, arguments);
    const int length = vsnprintf(NULL, 0, format, arguments);
    char *made = length < 0 ? NULL : fm_front_allocate(f, (size_t)length + 1, 1);
    if (made) vsnprintf(made, (size_t)length + 1, format, again);
    va_end(again);
    return made;
}

const char *fm_front_text(fm_front *f, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const char *made = fm_front_text_list(f, format, arguments);
    va_end(arguments);
    return made;
}

const char *fm_front_piece(fm_front *f, const char *begin, size_t size)
{
    char *made = fm_front_allocate(f, size + 1, 1);
    if (made) memcpy(made, begin, size);
    return made;
}

void fm_front_fail(fm_front *f, fm_status status, const fm_front_place *where, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const char *reason = fm_front_text_list(f, format, arguments);
    va_end(arguments);
    if (reason) f->fail(f, status, where, reason);
}

/* ---- products ---- */

static const fm_form *form_fault(fm_front *f, fm_form_fault fault)
{
    f->fault(f, fault);
    return NULL;
}

static const fm_form_product *product_of_atom(fm_front *f, const fm_atom *a)
{
    fm_form_product *made = fm_front_allocate(f, 1, sizeof *made + sizeof made->atoms[0]);
    if (!made) return NULL;
    made->number = a->number;
    made->varies = fm_atom_varies(a);
    made->degree = 1;
    made->atoms[0] = a;
    return made;
}

static const char *product_name(const fm_form_product *p)
{
    return p->degree == 1 ? p->atoms[0]->name : p->text;
}

/* As two factors are written: what varies last, else in the order of making. */
static const char *product_text_as_made(fm_front *f, const fm_form_product *left,
                                        const fm_form_product *right)
{
    if (left->number > right->number || (left->varies && !right->varies)) {
        const fm_form_product *swap = left;
        left = right;
        right = swap;
    }
    return fm_front_text(f, "%s * %s", product_name(left), product_name(right));
}

/* NULL, too: of too high a degree. */
static const fm_form_product *product_multiply(fm_front *f, const fm_form_product *left,
                                               const fm_form_product *right)
{
    const unsigned degree = left->degree + right->degree;
    if (degree > f->most_degree) return NULL;
    fm_form_product *made = fm_front_allocate(f, 1, sizeof *made + degree * sizeof made->atoms[0]);
    if (!made) return NULL;
    uint64_t hash = 0;
    for (unsigned i = 0, l = 0, r = 0; i < degree; i++) {
        const bool from_left =
            r == right->degree || (l < left->degree && left->atoms[l]->number <= right->atoms[r]->number);
        made->atoms[i] = from_left ? left->atoms[l++] : right->atoms[r++];
        FM_ASSERT(i == 0 || made->atoms[i - 1]->number <= made->atoms[i]->number);
        hash = hash * 131 + made->atoms[i]->number;
    }
    fm_form_product **alike = &f->products[hash % FM_FRONT_HASHES];
    for (const fm_form_product *p = *alike; p; p = p->next_alike)
        if (p->degree == degree && memcmp(p->atoms, made->atoms, degree * sizeof made->atoms[0]) == 0)
            return p;
    made->degree = degree;
    made->number = f->atom_count++;
    made->varies = left->varies || right->varies;
    if (f->as_made) made->text = product_text_as_made(f, left, right);
    made->next_alike = *alike;
    *alike = made;
    return made;
}

static int product_compare(const fm_front *f, const fm_form_product *left, const fm_form_product *right)
{
    if (left == right) return 0;
    if (f->as_made) return left->number < right->number ? -1 : 1;
    if (left->degree != right->degree) return left->degree > right->degree ? -1 : 1;
    for (unsigned i = 0; i < left->degree; i++)
        if (left->atoms[i] != right->atoms[i])
            return left->atoms[i]->number < right->atoms[i]->number ? -1 : 1;
    return 0;
}

/* `by` taken out of the product: *left is what remains, NULL where nothing does. False: it is not in it. */
static bool product_without(fm_front *f, const fm_form_product *from, const fm_form_product *by,
                            const fm_form_product **left)
{
    unsigned next = 0;
    *left = NULL;
    for (unsigned i = 0; i < from->degree; i++) {
        if (next < by->degree && from->atoms[i] == by->atoms[next])
            next++;
        else
            *left = *left ? product_multiply(f, *left, from->atoms[i]->self) : from->atoms[i]->self;
    }
    return next == by->degree;
}

/* ---- sums ---- */

static fm_form *form_new(fm_front *f, size_t terms)
{
    fm_form *made;
    return fm_front_allocate(f, 1, sizeof *made + terms * sizeof made->terms[0]);
}

const fm_form *fm_form_number(fm_front *f, int64_t number)
{
    fm_form *made = form_new(f, 0);
    if (made) made->constant = number;
    return made;
}

/* product NULL: the factor alone. */
static const fm_form *form_of_product(fm_front *f, const fm_form_product *product, int64_t factor)
{
    if (!product) return fm_form_number(f, factor);
    fm_form *made = form_new(f, 1);
    if (!made) return NULL;
    made->count = 1;
    made->terms[0] = (fm_term){factor, product};
    return made;
}

const fm_form *fm_form_of_term(fm_front *f, const fm_term *term)
{
    return form_of_product(f, term->product, term->factor);
}

const fm_form *fm_form_atom(fm_front *f, const fm_atom *a)
{
    return a ? form_of_product(f, a->self, 1) : NULL;
}

const fm_atom *fm_form_only_atom(const fm_form *form)
{
    FM_ASSERT(form->count == 1 && form->terms[0].product->degree == 1);
    return form->terms[0].product->atoms[0];
}

const fm_form *fm_form_add(fm_front *f, const fm_form *left, const fm_form *right)
{
    if (!left || !right) return NULL;
    fm_form *sum = form_new(f, left->count + right->count);
    size_t l = 0, r = 0;
    if (!sum) return NULL;
    if (__builtin_add_overflow(left->constant, right->constant, &sum->constant))
        return form_fault(f, FM_FORM_TOO_LARGE);
    while (l < left->count || r < right->count) {
        const int order = l == left->count ? 1
                          : r == right->count
                              ? -1
                              : product_compare(f, left->terms[l].product, right->terms[r].product);
        fm_term next = order <= 0 ? left->terms[l] : right->terms[r];
        if (order == 0 && __builtin_add_overflow(left->terms[l].factor, right->terms[r].factor, &next.factor))
            return form_fault(f, FM_FORM_TOO_LARGE);
        l += order <= 0;
        r += order >= 0;
        if (next.factor) sum->terms[sum->count++] = next;
    }
    return f->most_terms && sum->count > f->most_terms ? form_fault(f, FM_FORM_TOO_LONG) : sum;
}

const fm_form *fm_form_scale(fm_front *f, const fm_form *from, int64_t factor)
{
    if (!from || factor == 1) return from;
    if (factor == 0) return fm_form_number(f, 0);
    fm_form *made = form_new(f, from->count);
    if (!made) return NULL;
    made->count = from->count;
    bool large = __builtin_mul_overflow(from->constant, factor, &made->constant);
    for (size_t i = 0; i < from->count; i++) {
        made->terms[i].product = from->terms[i].product;
        large |= __builtin_mul_overflow(from->terms[i].factor, factor, &made->terms[i].factor);
    }
    return large ? form_fault(f, FM_FORM_TOO_LARGE) : made;
}

const fm_form *fm_form_plus(fm_front *f, const fm_form *left, const fm_form *right, int64_t factor)
{
    return left ? fm_form_add(f, left, fm_form_scale(f, right, factor)) : NULL;
}

const fm_form *fm_form_subtract(fm_front *f, const fm_form *left, const fm_form *right)
{
    return fm_form_plus(f, left, right, -1);
}

const fm_form *fm_form_add_number(fm_front *f, const fm_form *left, int64_t number)
{
    return left ? fm_form_add(f, left, fm_form_number(f, number)) : NULL;
}

const fm_form *fm_form_multiply(fm_front *f, const fm_form *left, const fm_form *right)
{
    int64_t number;
    if (!left || !right) return NULL;
    if (fm_form_is_number(left, &number)) return fm_form_scale(f, right, number);
    if (fm_form_is_number(right, &number)) return fm_form_scale(f, left, number);
    const fm_form *sum = fm_form_scale(f, right, left->constant);
    for (size_t l = 0; l < left->count && sum; l++) {
        for (size_t r = 0; r < right->count && sum; r++) {
            const fm_form_product *product =
                product_multiply(f, left->terms[l].product, right->terms[r].product);
            int64_t factor;
            if (!product) return NULL;
            if (__builtin_mul_overflow(left->terms[l].factor, right->terms[r].factor, &factor))
                return form_fault(f, FM_FORM_TOO_LARGE);
            sum = fm_form_add(f, sum, form_of_product(f, product, factor));
        }
        if (right->constant) sum = fm_form_plus(f, sum, fm_form_of_term(f, &left->terms[l]), right->constant);
    }
    return sum;
}

bool fm_form_is_number(const fm_form *form, int64_t *number)
{
    if (!form || form->count) return false;
    if (number) *number = form->constant;
    return true;
}

static bool fold_product(const fm_form_product *product, bool fix, int64_t *number)
{
    *number = 1;
    for (unsigned k = 0; k < product->degree; k++) {
        const fm_atom *a = product->atoms[k];
        if (!a->has_number || __builtin_mul_overflow(*number, a->constant, number)) return false;
        if (fix) ((fm_atom *)(uintptr_t)a)->fixed = true;
    }
    return true;
}

static bool fold_form(const fm_form *form, bool fix, int64_t *number)
{
    int64_t sum = form->constant, part;
    for (size_t i = 0; i < form->count; i++)
        if (!fold_product(form->terms[i].product, fix, &part) ||
            __builtin_mul_overflow(part, form->terms[i].factor, &part) ||
            __builtin_add_overflow(sum, part, &sum))
            return false;
    *number = sum;
    return true;
}

bool fm_form_fold(const fm_form *form, int64_t *number)
{
    return form && fold_form(form, false, number) && fold_form(form, true, number);
}

bool fm_form_difference(fm_front *f, const fm_form *left, const fm_form *right, int64_t *number)
{
    return fm_form_is_number(fm_form_subtract(f, left, right), number);
}

bool fm_form_equal(const fm_form *left, const fm_form *right)
{
    if (left == right) return true;
    if (!left || !right || left->constant != right->constant || left->count != right->count) return false;
    for (size_t i = 0; i < left->count; i++)
        if (left->terms[i].factor != right->terms[i].factor ||
            left->terms[i].product != right->terms[i].product)
            return false;
    return true;
}

/* ---- what is in a form ---- */

static bool atom_mentions(const fm_atom *in, const fm_atom *a)
{
    return in == a || (in->left && (fm_form_mentions(in->left, a) || fm_form_mentions(in->right, a)));
}

bool fm_form_mentions(const fm_form *form, const fm_atom *a)
{
    for (size_t i = 0; i < form->count; i++)
        for (unsigned k = 0; k < form->terms[i].product->degree; k++)
            if (atom_mentions(form->terms[i].product->atoms[k], a)) return true;
    return false;
}

bool fm_atom_varies(const fm_atom *a)
{
    if (a->kind == FM_ATOM_LOOP || a->kind == FM_ATOM_ENTRY) return true;
    return a->left && (fm_form_varies(a->left) || fm_form_varies(a->right));
}

bool fm_form_varies(const fm_form *form)
{
    for (size_t i = 0; form && i < form->count; i++)
        if (form->terms[i].product->varies) return true;
    return false;
}

bool fm_form_split(fm_front *f, const fm_form *form, const fm_atom *a, const fm_form **factor,
                   const fm_form **rest)
{
    const fm_form *one = fm_form_number(f, 0);
    fm_form *others = form_new(f, form->count);
    if (!one || !others) return false;
    others->constant = form->constant;
    for (size_t i = 0; i < form->count; i++) {
        const fm_form_product *product = form->terms[i].product, *left;
        unsigned found = 0, inside = 0;
        for (unsigned k = 0; k < product->degree; k++) {
            found += product->atoms[k] == a;
            inside += product->atoms[k] != a && atom_mentions(product->atoms[k], a);
        }
        if (found + inside == 0) {
            others->terms[others->count++] = form->terms[i];
            continue;
        }
        if (found != 1 || inside) return false;
        product_without(f, product, a->self, &left);
        one = fm_form_add(f, one, form_of_product(f, left, form->terms[i].factor));
    }
    *factor = one;
    *rest = others;
    return one != NULL;
}

/* ---- atoms ---- */

static uint64_t name_hash(const char *name)
{
    uint64_t hash = 0;
    for (; *name; name++) hash = hash * 131 + (unsigned char)*name;
    return hash % FM_FRONT_HASHES;
}

static fm_atom *atom_make(fm_front *f, fm_atom_kind kind, const char *name, const fm_form *left,
                          const fm_form *right)
{
    fm_atom *made = fm_front_allocate(f, 1, sizeof *made);
    if (!made) return NULL;
    *made = (fm_atom){.kind = kind, .name = name, .left = left, .right = right, .number = f->atom_count++};
    made->self = product_of_atom(f, made);
    if (!made->self) return NULL;
    if (f->last_atom)
        f->last_atom->next = made;
    else
        f->atoms = made;
    f->last_atom = made;
    return made;
}

static void atom_keep(fm_atom *a, fm_atom **alike)
{
    a->next_alike = *alike;
    *alike = a;
}

fm_atom *fm_atom_new(fm_front *f, fm_atom_kind kind, const char *name)
{
    fm_atom *made = name ? atom_make(f, kind, name, NULL, NULL) : NULL;
    if (made && kind != FM_ATOM_ENTRY) atom_keep(made, &f->named[name_hash(name)]);
    return made;
}

fm_atom *fm_atom_named(const fm_front *f, const char *name, bool loops)
{
    fm_atom *a = f->named[name_hash(name)];
    while (a && !((loops || a->kind == FM_ATOM_PARAMETER) && strcmp(a->name, name) == 0)) a = a->next_alike;
    return a;
}

/* ---- divisions, minima, maxima ---- */

static const char *composed_text(fm_front *f, fm_atom_kind kind, const char *left, const char *right)
{
    static const char *const names[] = {
        [FM_ATOM_FLOOR] = "floor", [FM_ATOM_MODULO] = "mod", [FM_ATOM_MIN] = "min", [FM_ATOM_MAX] = "max"};
    if (!left || !right) return NULL;
    if (kind == FM_ATOM_QUOTIENT || kind == FM_ATOM_REMAINDER)
        return fm_front_text(f, "((%s) %c (%s))", left, kind == FM_ATOM_QUOTIENT ? '/' : '%', right);
    return fm_front_text(f, "%s(%s, %s)", names[kind], left, right);
}

const fm_form *fm_form_composed(fm_front *f, fm_atom_kind kind, const fm_form *left, const fm_form *right)
{
    if (!left || !right) return NULL;
    uint64_t hash = (uint64_t)kind * 31 + (uint64_t)left->constant * 7 + (uint64_t)right->constant;
    for (size_t i = 0; i < left->count; i++) hash = hash * 131 + left->terms[i].product->number;
    for (size_t i = 0; i < right->count; i++) hash = hash * 137 + right->terms[i].product->number;
    fm_atom **alike = &f->composed[hash % FM_FRONT_HASHES];
    for (const fm_atom *a = *alike; a; a = a->next_alike)
        if (a->kind == kind && fm_form_equal(a->left, left) && fm_form_equal(a->right, right))
            return fm_form_atom(f, a);
    const char *text = NULL;
    if (f->as_made) {
        text = composed_text(f, kind, fm_form_text(f, left), fm_form_text(f, right));
        if (!text) return NULL;
        if (f->most_atom && strlen(text) >= f->most_atom) return form_fault(f, FM_FORM_TOO_LONG);
    }
    fm_atom *made = atom_make(f, kind, text, left, right);
    if (made) atom_keep(made, alike);
    return fm_form_atom(f, made);
}

int64_t fm_form_divided(fm_atom_kind kind, int64_t left, int64_t right)
{
    switch (kind) {
    case FM_ATOM_QUOTIENT:
        return left / right;
    case FM_ATOM_REMAINDER:
        return left % right;
    case FM_ATOM_FLOOR:
        return fm_floor_divide(left, right);
    default:
        return left - right * fm_floor_divide(left, right);
    }
}

const fm_form *fm_form_divide(fm_front *f, fm_atom_kind kind, const fm_form *left, const fm_form *right)
{
    int64_t divisor, number;
    const bool rest = kind == FM_ATOM_REMAINDER || kind == FM_ATOM_MODULO;
    if (!left || !right) return NULL;
    if (!fm_form_is_number(right, &divisor))
        return fm_form_varies(right) ? NULL : fm_form_composed(f, kind, left, right);
    if (divisor <= 0) {
        if (divisor == 0 || divisor == INT64_MIN) return NULL;
        if (kind == FM_ATOM_REMAINDER) return fm_form_divide(f, kind, left, fm_form_number(f, -divisor));
        if (kind == FM_ATOM_QUOTIENT)
            return fm_form_scale(f, fm_form_divide(f, kind, left, fm_form_number(f, -divisor)), -1);
        return NULL;
    }
    if (fm_form_is_number(left, &number)) return fm_form_number(f, fm_form_divided(kind, number, divisor));
    const fm_form *exact = fm_form_exact_quotient(f, left, divisor);
    if (exact) return rest ? fm_form_number(f, 0) : exact;
    return fm_form_composed(f, kind, left, right);
}

const fm_form *fm_form_extremum(fm_front *f, fm_atom_kind kind, const fm_form *left, const fm_form *right)
{
    int64_t difference;
    if (!left || !right) return NULL;
    if (fm_form_difference(f, left, right, &difference))
        return (difference <= 0) == (kind == FM_ATOM_MIN) ? left : right;
    return fm_form_composed(f, kind, left, right);
}

const fm_form *fm_form_exact_quotient(fm_front *f, const fm_form *from, int64_t divisor)
{
    if (from->constant % divisor) return NULL;
    for (size_t i = 0; i < from->count; i++)
        if (from->terms[i].factor % divisor) return NULL;
    fm_form *made = form_new(f, from->count);
    if (!made) return NULL;
    made->constant = from->constant / divisor;
    made->count = from->count;
    for (size_t i = 0; i < from->count; i++)
        made->terms[i] = (fm_term){from->terms[i].factor / divisor, from->terms[i].product};
    return made;
}

const fm_form *fm_form_exact_term(fm_front *f, const fm_form *from, const fm_form *divisor)
{
    if (fm_form_is_number(divisor, NULL))
        return divisor->constant ? fm_form_exact_quotient(f, from, divisor->constant) : NULL;
    if (divisor->count != 1 || divisor->constant || from->constant) return NULL;
    const fm_term *by = &divisor->terms[0];
    const fm_form *made = fm_form_number(f, 0);
    for (size_t i = 0; i < from->count; i++) {
        const fm_form_product *left;
        if (from->terms[i].factor % by->factor ||
            !product_without(f, from->terms[i].product, by->product, &left))
            return NULL;
        made = fm_form_add(f, made, form_of_product(f, left, from->terms[i].factor / by->factor));
    }
    return made;
}

/* ---- replacing ---- */

static const fm_form *atom_replace(fm_front *f, const fm_atom *a, const fm_replacement *replacements,
                                   size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (replacements[i].atom == a && replacements[i].form) return replacements[i].form;
    if (!a->left) return fm_form_atom(f, a);
    const fm_form *left = fm_form_replace(f, a->left, replacements, count);
    const fm_form *right = fm_form_replace(f, a->right, replacements, count);
    if (left == a->left && right == a->right) return fm_form_atom(f, a);
    const fm_form *made = a->kind == FM_ATOM_MIN || a->kind == FM_ATOM_MAX
                              ? fm_form_extremum(f, a->kind, left, right)
                              : fm_form_divide(f, a->kind, left, right);
    return made ? made : fm_form_composed(f, a->kind, left, right);
}

const fm_form *fm_form_replace(fm_front *f, const fm_form *from, const fm_replacement *replacements,
                               size_t count)
{
    bool any = false;
    for (size_t i = 0; i < count && !any; i++)
        any = replacements[i].form && fm_form_mentions(from, replacements[i].atom);
    if (!any) return from;
    const fm_form *made = fm_form_number(f, from->constant);
    for (size_t i = 0; i < from->count; i++) {
        const fm_form *product = fm_form_number(f, from->terms[i].factor);
        for (unsigned k = 0; k < from->terms[i].product->degree; k++) {
            const fm_atom *a = from->terms[i].product->atoms[k];
            product = fm_form_multiply(f, product, atom_replace(f, a, replacements, count));
            if (!product) return form_fault(f, FM_FORM_DEGREE);
        }
        made = fm_form_add(f, made, product);
    }
    return made;
}

/* ---- as text (docs/STATIC-IR.md) ---- */

static const char *atom_text(fm_front *f, const fm_atom *a)
{
    if (a->printed || a->name) return a->printed ? a->printed : a->name;
    return composed_text(f, a->kind, fm_form_text(f, a->left), fm_form_text(f, a->right));
}

static const char *product_text(fm_front *f, const fm_form_product *product, uint64_t factor)
{
    const char *text = factor != 1 ? fm_front_text(f, "%" PRIu64, factor) : NULL;
    if (product->text) return text ? fm_front_text(f, "%s * %s", text, product->text) : product->text;
    /* What varies last: products of parameters belong together. */
    for (unsigned turn = 0; turn < 2; turn++)
        for (unsigned k = 0; k < product->degree; k++) {
            if (product->atoms[k]->self->varies != (turn == 1)) continue;
            const char *one = atom_text(f, product->atoms[k]);
            text = text && one ? fm_front_text(f, "%s * %s", text, one) : one;
        }
    return text;
}

const char *fm_form_text(fm_front *f, const fm_form *from)
{
    const char *text = NULL;
    if (!from) return NULL;
    for (unsigned turn = 0; turn < (f->as_made ? 1 : 2); turn++)
        for (size_t i = 0; i < from->count; i++) {
            const bool minus = from->terms[i].factor < 0;
            if (!f->as_made && minus != (turn == 1)) continue;
            if (f->as_made && from->terms[i].factor == INT64_MIN) {
                f->fault(f, FM_FORM_TOO_LARGE);
                return NULL;
            }
            const uint64_t size =
                minus ? 0 - (uint64_t)from->terms[i].factor : (uint64_t)from->terms[i].factor;
            const char *one = product_text(f, from->terms[i].product, size);
            if (!one) return NULL;
            text = text    ? fm_front_text(f, "%s %c %s", text, minus ? '-' : '+', one)
                   : minus ? fm_front_text(f, "-%s", one)
                           : one;
        }
    if (f->as_made && from->constant == INT64_MIN) {
        f->fault(f, FM_FORM_TOO_LARGE);
        return NULL;
    }
    if (!text) return fm_front_text(f, "%" PRId64, from->constant);
    if (from->constant == 0) return text;
    return fm_front_text(f, "%s %c %" PRIu64, text, from->constant < 0 ? '-' : '+',
                         from->constant < 0 ? 0 - (uint64_t)from->constant : (uint64_t)from->constant);
}

void fm_form_use(const fm_form *form)
{
    for (size_t i = 0; i < form->count; i++)
        for (unsigned k = 0; k < form->terms[i].product->degree; k++) {
            fm_atom *a = (fm_atom *)(uintptr_t)form->terms[i].product->atoms[k];
            if (a->used) continue;
            a->used = true;
            if (!a->left) continue;
            fm_form_use(a->left);
            fm_form_use(a->right);
        }
}

const char *fm_form_written(fm_front *f, const fm_form *from)
{
    if (from) fm_form_use(from);
    return fm_form_text(f, from);
}
