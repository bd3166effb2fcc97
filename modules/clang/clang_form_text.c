/* SPDX-License-Identifier: Apache-2.0 */
/* clang_form_text.c - formulas and conditions as docs/STATIC-IR.md writes them. */
#include "clang_maker.h"

#include <inttypes.h>

static const char *atom_text(front *f, const atom *a)
{
    static const char *const names[] = {
        [ATOM_FLOOR] = "floor", [ATOM_MODULO] = "mod", [ATOM_MIN] = "min", [ATOM_MAX] = "max"};
    if (!a->left) {
        ((atom *)(uintptr_t)a)->used = true;
        return a->printed ? a->printed : a->name;
    }
    const char *left = form_text(f, a->left), *right = form_text(f, a->right);
    if (a->kind == ATOM_QUOTIENT || a->kind == ATOM_REMAINDER)
        return text_of(f, "((%s) %c (%s))", left, a->kind == ATOM_QUOTIENT ? '/' : '%', right);
    return text_of(f, "%s(%s, %s)", names[a->kind], left, right);
}

static const char *product_text(front *f, const term *t, uint64_t factor)
{
    const char *text = "";
    bool named = factor != 1;
    if (named) text = text_of(f, "%" PRIu64, factor);
    /* What varies last: products of parameters belong together. */
    for (unsigned turn = 0; turn < 2; turn++)
        for (unsigned k = 0; k < t->degree; k++) {
            if (form_varies(form_atom(f, t->atoms[k])) != (turn == 1)) continue;
            text = text_of(f, "%s%s%s", text, named ? " * " : "", atom_text(f, t->atoms[k]));
            named = true;
        }
    return text;
}

/* The terms with that sign, as a sum; NULL: there are none. */
static const char *side_text(front *f, const form *from, bool negative, bool constant)
{
    const char *text = NULL;
    for (size_t i = 0; i < from->count; i++) {
        const term *t = &from->terms[i];
        if ((t->factor < 0) != negative) continue;
        const char *one = product_text(f, t, t->factor < 0 ? 0 - (uint64_t)t->factor : (uint64_t)t->factor);
        text = text ? text_of(f, "%s + %s", text, one) : one;
    }
    if (constant && from->constant && (from->constant < 0) == negative) {
        uint64_t size = negative ? 0 - (uint64_t)from->constant : (uint64_t)from->constant;
        text = text ? text_of(f, "%s + %" PRIu64, text, size) : text_of(f, "%" PRIu64, size);
    }
    return text;
}

const char *form_text(front *f, const form *from)
{
    const char *text = NULL;
    for (unsigned turn = 0; turn < 2; turn++) /* what is added, then what is taken away */
        for (size_t i = 0; i < from->count; i++) {
            const term *t = &from->terms[i];
            if ((t->factor < 0) != (turn == 1)) continue;
            const char *one =
                product_text(f, t, t->factor < 0 ? 0 - (uint64_t)t->factor : (uint64_t)t->factor);
            if (text)
                text = text_of(f, "%s %c %s", text, turn ? '-' : '+', one);
            else
                text = turn ? text_of(f, "-%s", one) : one;
        }
    if (!text) return text_of(f, "%" PRId64, from->constant);
    if (from->constant == 0) return text;
    return text_of(f, "%s %c %" PRIu64, text, from->constant < 0 ? '-' : '+',
                   from->constant < 0 ? 0 - (uint64_t)from->constant : (uint64_t)from->constant);
}

const char *condition_text(front *f, const condition *c)
{
    if (c->left)
        return text_of(f, "(%s) %s (%s)", condition_text(f, c->left), c->kind == CONDITION_AND ? "and" : "or",
                       condition_text(f, c->right));
    if (!c->form) return c->kind == CONDITION_TRUE ? "true" : "false";
    /* Nothing negative: i - j - 1 >= 0 is i >= j + 1. */
    const char *left = side_text(f, c->form, false, true), *right = side_text(f, c->form, true, true);
    const char *sign = c->kind == CONDITION_NOT_NEGATIVE ? ">=" : c->kind == CONDITION_ZERO ? "==" : "!=";
    bool turned = side_text(f, c->form, false, false) == NULL; /* 9 >= i is i <= 9 */
    if (turned && c->kind == CONDITION_NOT_NEGATIVE) sign = "<=";
    if (turned) return text_of(f, "%s %s %s", right, sign, left ? left : "0");
    return text_of(f, "%s %s %s", left, sign, right ? right : "0");
}
