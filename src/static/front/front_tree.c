/* SPDX-License-Identifier: Apache-2.0 */
/*
 * front_tree.c - the region while it is made: see front_middle.h. Conditions are kept as comparisons with 0,
 * decided and joined as far as they can be; or as they were written, where the text of the region is to have
 * them so.
 */
#include "base/error.h"
#include "static/front/front_middle.h"

#include <stdarg.h>
#include <string.h>

/* ---- conditions ---- */

static fm_guard *guard_new(fm_front *f, fm_guard_kind kind, const fm_guard *left, const fm_guard *right)
{
    fm_guard *made = fm_front_allocate(f, 1, sizeof *made);
    if (made) *made = (fm_guard){.kind = kind, .left = left, .right = right};
    return made;
}

const fm_guard *fm_guard_constant(fm_front *f, bool holds)
{
    fm_guard *made = guard_new(f, holds ? FM_GUARD_TRUE : FM_GUARD_FALSE, NULL, NULL);
    if (made) made->size = strlen(holds ? "true" : "false");
    return made;
}

static bool guard_holds(fm_guard_kind kind, int64_t number)
{
    return kind == FM_GUARD_NOT_NEGATIVE ? number >= 0 : kind == FM_GUARD_ZERO ? number == 0 : number != 0;
}

const fm_guard *fm_guard_of(fm_front *f, fm_guard_kind kind, const fm_form *form)
{
    int64_t number;
    if (fm_form_is_number(form, &number)) return fm_guard_constant(f, guard_holds(kind, number));
    fm_guard *made = form ? guard_new(f, kind, NULL, NULL) : NULL;
    if (made) made->form = form;
    return made;
}

const fm_guard *fm_guard_join(fm_front *f, fm_guard_kind kind, const fm_guard *left, const fm_guard *right)
{
    const fm_guard_kind decides = kind == FM_GUARD_AND ? FM_GUARD_FALSE : FM_GUARD_TRUE;
    const fm_guard_kind ignored = kind == FM_GUARD_AND ? FM_GUARD_TRUE : FM_GUARD_FALSE;
    if (!left || !right) return NULL;
    if (left->kind == decides || right->kind == ignored) return left;
    if (right->kind == decides || left->kind == ignored) return right;
    return guard_new(f, kind, left, right);
}

const fm_guard *fm_guard_not(fm_front *f, const fm_guard *of)
{
    if (!of) return NULL;
    switch (of->kind) {
    case FM_GUARD_TRUE:
        return fm_guard_constant(f, false);
    case FM_GUARD_FALSE:
        return fm_guard_constant(f, true);
    case FM_GUARD_NOT_NEGATIVE: /* not (x >= 0): -x - 1 >= 0 */
        return fm_guard_of(f, FM_GUARD_NOT_NEGATIVE,
                           fm_form_add_number(f, fm_form_scale(f, of->form, -1), -1));
    case FM_GUARD_ZERO:
        return fm_guard_of(f, FM_GUARD_NOT_ZERO, of->form);
    case FM_GUARD_NOT_ZERO:
        return fm_guard_of(f, FM_GUARD_ZERO, of->form);
    case FM_GUARD_NOT:
        return of->left;
    case FM_GUARD_AND:
    case FM_GUARD_OR:
        break;
    }
    return fm_guard_join(f, of->kind == FM_GUARD_AND ? FM_GUARD_OR : FM_GUARD_AND, fm_guard_not(f, of->left),
                         fm_guard_not(f, of->right));
}

/* left - right compared with 0: what is to be not negative, 0, or not 0. */
static const fm_form *compared_form(fm_front *f, const char *sign, const fm_form *difference,
                                    fm_guard_kind *kind)
{
    const bool equality = sign[0] == '=' || sign[0] == '!', strict = sign[1] == '\0';
    *kind = !equality ? FM_GUARD_NOT_NEGATIVE : sign[0] == '=' ? FM_GUARD_ZERO : FM_GUARD_NOT_ZERO;
    if (sign[0] == '<') difference = fm_form_scale(f, difference, -1);
    return strict ? fm_form_add_number(f, difference, -1) : difference;
}

const fm_guard *fm_guard_compare(fm_front *f, const char *sign, const fm_form *difference)
{
    fm_guard_kind kind;
    const fm_form *form = compared_form(f, sign, difference, &kind);
    return fm_guard_of(f, kind, form);
}

const fm_guard *fm_guard_compared(fm_front *f, const char *sign, const fm_form *left, const fm_form *right)
{
    fm_guard_kind kind;
    const fm_form *form = compared_form(f, sign, fm_form_subtract(f, left, right), &kind);
    const char *first = fm_form_text(f, left), *second = fm_form_text(f, right);
    fm_guard *made = form && first && second ? guard_new(f, kind, NULL, NULL) : NULL;
    if (!made) return NULL;
    made->form = form;
    made->sign = sign;
    made->sides[0] = left;
    made->sides[1] = right;
    made->size = strlen(first) + strlen(second) + strlen(sign) + 2;
    return made;
}

const fm_guard *fm_guard_joined(fm_front *f, fm_guard_kind kind, const fm_guard *left, const fm_guard *right)
{
    FM_ASSERT((kind == FM_GUARD_NOT) == (right == NULL));
    fm_guard *made = left ? guard_new(f, kind, left, right) : NULL;
    if (made) made->size = left->size + (right ? right->size : 0) + strlen("() and ()");
    return made;
}

const fm_guard *fm_guard_replace(fm_front *f, const fm_guard *of, const fm_replacement *replacements,
                                 size_t count)
{
    if (of->form) return fm_guard_of(f, of->kind, fm_form_replace(f, of->form, replacements, count));
    if (of->kind == FM_GUARD_NOT) return fm_guard_not(f, fm_guard_replace(f, of->left, replacements, count));
    if (of->left)
        return fm_guard_join(f, of->kind, fm_guard_replace(f, of->left, replacements, count),
                             fm_guard_replace(f, of->right, replacements, count));
    return of;
}

bool fm_guard_mentions(const fm_guard *of, const fm_atom *a)
{
    if (of->form) return fm_form_mentions(of->form, a);
    return (of->left && fm_guard_mentions(of->left, a)) || (of->right && fm_guard_mentions(of->right, a));
}

bool fm_guard_varies(const fm_guard *of)
{
    if (of->form) return fm_form_varies(of->form);
    return (of->left && fm_guard_varies(of->left)) || (of->right && fm_guard_varies(of->right));
}

bool fm_guard_equal(const fm_guard *left, const fm_guard *right)
{
    if (left == right) return true;
    if (!left || !right || left->kind != right->kind) return false;
    if (left->form) return fm_form_equal(left->form, right->form);
    return fm_guard_equal(left->left, right->left) && fm_guard_equal(left->right, right->right);
}

/* The terms with that sign as a sum of positive ones, and the constant; NULL: there are none. */
static const char *side_text(fm_front *f, const fm_form *from, bool negative, bool constant)
{
    const fm_form *side = fm_form_number(f, 0);
    for (size_t i = 0; i < from->count; i++)
        if ((from->terms[i].factor < 0) == negative)
            side = fm_form_plus(f, side, fm_form_of_term(f, &from->terms[i]), negative ? -1 : 1);
    if (constant && (from->constant < 0) == negative)
        side = fm_form_plus(f, side, fm_form_number(f, from->constant), negative ? -1 : 1);
    return side && (side->count || side->constant) ? fm_form_written(f, side) : NULL;
}

const char *fm_guard_text(fm_front *f, const fm_guard *of)
{
    if (of->kind == FM_GUARD_NOT) return fm_front_text(f, "not (%s)", fm_guard_text(f, of->left));
    if (of->left)
        return fm_front_text(f, "(%s) %s (%s)", fm_guard_text(f, of->left),
                             of->kind == FM_GUARD_AND ? "and" : "or", fm_guard_text(f, of->right));
    if (!of->form) return of->kind == FM_GUARD_TRUE ? "true" : "false";
    if (of->sign)
        return fm_front_text(f, "%s %s %s", fm_form_written(f, of->sides[0]), of->sign,
                             fm_form_written(f, of->sides[1]));
    /* Nothing negative: i - j - 1 >= 0 is i >= j + 1. */
    const char *left = side_text(f, of->form, false, true), *right = side_text(f, of->form, true, true);
    const char *sign = of->kind == FM_GUARD_NOT_NEGATIVE ? ">=" : of->kind == FM_GUARD_ZERO ? "==" : "!=";
    const bool turned = side_text(f, of->form, false, false) == NULL; /* 9 >= i is i <= 9 */
    if (turned && of->kind == FM_GUARD_NOT_NEGATIVE) sign = "<=";
    if (turned) return fm_front_text(f, "%s %s %s", right, sign, left ? left : "0");
    return fm_front_text(f, "%s %s %s", left, sign, right ? right : "0");
}

/* ---- lists ---- */

void fm_front_list_begin(fm_front_list *list)
{
    list->first = NULL;
    list->end = &list->first;
}

void fm_front_list_cut(fm_front_list *list, fm_front_node **end)
{
    list->end = end;
    *end = NULL;
}

void fm_front_append(fm_front_list *list, fm_front_node *made)
{
    FM_ASSERT(!*list->end && !made->next);
    *list->end = made;
    list->end = &made->next;
}

void fm_front_list_join(fm_front_list *list, fm_front_list *behind)
{
    if (!behind->first) return;
    *list->end = behind->first;
    list->end = behind->end;
    fm_front_list_begin(behind);
}

fm_front_node *fm_front_node_new(fm_front *f, fm_front_node_kind kind, const fm_front_place *where)
{
    if (f->most_nodes && ++f->node_count > f->most_nodes) {
        fm_front_fail(f, FM_E_LIMIT, NULL, "the region has more than %zu statements, loops and guards",
                      f->most_nodes);
        return NULL;
    }
    fm_front_node *made = fm_front_allocate(f, 1, sizeof *made);
    if (!made) return NULL;
    made->kind = kind;
    made->place = *where;
    made->accesses_end = &made->accesses;
    fm_front_list_begin(&made->body);
    fm_front_list_begin(&made->otherwise);
    return made;
}

fm_front_touch *fm_front_touch_new(fm_front *f, fm_front_node *statement, bool store, fm_front_array *array,
                                   const fm_form *const *subscripts)
{
    fm_front_touch *made = fm_front_allocate(f, 1, sizeof *made);
    if (made) made->subscripts = fm_front_allocate(f, array->rank, sizeof *made->subscripts);
    if (!made || !made->subscripts) return NULL;
    made->store = store;
    made->array = array;
    if (array->rank) memcpy(made->subscripts, subscripts, array->rank * sizeof *made->subscripts);
    *statement->accesses_end = made;
    statement->accesses_end = &made->next;
    return made;
}

bool fm_front_statement_counts(const fm_front_node *statement)
{
    const fm_region_operations *o = &statement->operations;
    return statement->accesses || o->adds || o->multiplies || o->divides || o->specials || o->integers;
}

fm_front_array *fm_front_array_add(fm_front *f, const fm_front_array *like)
{
    fm_front_array *made = like->name ? fm_front_allocate(f, 1, sizeof *made) : NULL;
    if (!made) return NULL;
    *made = *like;
    FM_ASSERT(made->rank <= FM_MOST_DIMENSIONS && !made->next);
    if (f->last_array)
        f->last_array->next = made;
    else
        f->arrays = made;
    f->last_array = made;
    return made;
}

void fm_front_count_product(fm_region_operations *o, bool divide, bool left, bool right)
{
    if (!left && !right) {
        *(divide ? &o->divides : &o->multiplies) += 1;
    } else if (divide && right) { /* by the conjugate: numerator, square of the right side, two quotients */
        o->multiplies += left ? 6 : 4;
        o->adds += left ? 3 : 1;
        o->divides += 2;
    } else if (divide) {
        o->divides += 2;
    } else {
        o->multiplies += left && right ? 4 : 2;
        o->adds += left && right ? 2 : 0;
    }
}

fm_front_array *fm_front_array_named(const fm_front *f, const char *name)
{
    fm_front_array *a = f->arrays;
    while (a && strcmp(a->name, name) != 0) a = a->next;
    return a;
}

const char *fm_front_free_name(fm_front *f, const char *wanted, bool loops)
{
    const char *name = wanted;
    for (unsigned turn = 2; name && (fm_front_array_named(f, name) || fm_atom_named(f, name, loops)); turn++)
        name = fm_front_text(f, "%s.%u", wanted, turn);
    return name;
}

/* ---- notes ---- */

static void add_line(fm_front *f, struct fm_front_lines **end, const char *text, const fm_guard *condition)
{
    while (*end) end = &(*end)->next;
    *end = fm_front_allocate(f, 1, sizeof **end);
    if (*end) **end = (struct fm_front_lines){.text = text, .condition = condition};
}

void fm_front_note(fm_front *f, const char *format, ...)
{
    va_list arguments;
    if (f->nowhere) return;
    va_start(arguments, format);
    const char *text = fm_front_text_list(f, format, arguments);
    va_end(arguments);
    for (const struct fm_front_lines *known = f->notes; known && text; known = known->next)
        if (strcmp(known->text, text) == 0) return;
    if (text) add_line(f, &f->notes, text, NULL);
}

void fm_front_assume(fm_front *f, const fm_guard *condition)
{
    if (condition->kind == FM_GUARD_TRUE || f->nowhere) return;
    for (const struct fm_front_lines *known = f->conditions; known; known = known->next)
        if (fm_guard_equal(known->condition, condition)) return;
    add_line(f, &f->conditions, NULL, condition);
}

/* ---- the whole tree ---- */

void fm_front_replace(fm_front *f, fm_front_list *list, const fm_replacement *replacements, size_t count)
{
    for (fm_front_node *n = list->first; n; n = n->next) {
        if (n->first) n->first = fm_form_replace(f, n->first, replacements, count);
        if (n->last) n->last = fm_form_replace(f, n->last, replacements, count);
        if (n->condition) n->condition = fm_guard_replace(f, n->condition, replacements, count);
        for (fm_front_touch *a = n->accesses; a; a = a->next)
            for (unsigned i = 0; i < a->array->rank; i++)
                a->subscripts[i] = fm_form_replace(f, a->subscripts[i], replacements, count);
        fm_front_replace(f, &n->body, replacements, count);
        fm_front_replace(f, &n->otherwise, replacements, count);
    }
}

static bool check_form(fm_front *f, const fm_form *from, const fm_front_place *where, const char *what)
{
    for (size_t i = 0; i < from->count; i++) {
        const fm_atom *varying = NULL;
        for (unsigned k = 0; k < from->terms[i].product->degree; k++) {
            const fm_atom *a = from->terms[i].product->atoms[k];
            if (a->kind == FM_ATOM_ENTRY) {
                fm_front_fail(f, FM_E_UNSUPPORTED, where, "%s depends on '%s', %s", what, a->name,
                              a->why ? a->why : "which is not known here");
                return false;
            }
            if (a->left && (!check_form(f, a->left, where, what) || !check_form(f, a->right, where, what)))
                return false;
            if (!fm_atom_varies(a)) continue;
            if (varying) {
                fm_front_fail(f, FM_E_UNSUPPORTED, where, "%s is not affine: it multiplies '%s' by '%s'",
                              what, fm_form_text(f, fm_form_atom(f, varying)),
                              fm_form_text(f, fm_form_atom(f, a)));
                return false;
            }
            varying = a;
        }
    }
    return true;
}

static bool check_guard(fm_front *f, const fm_guard *of, const fm_front_place *where, const char *what)
{
    return (!of->form || check_form(f, of->form, where, what)) &&
           (!of->left || check_guard(f, of->left, where, what)) &&
           (!of->right || check_guard(f, of->right, where, what));
}

bool fm_front_check(fm_front *f, const fm_front_list *list)
{
    for (const fm_front_node *n = list->first; n; n = n->next) {
        if ((n->first && !check_form(f, n->first, &n->place, "the first value of the loop's variable")) ||
            (n->last && !check_form(f, n->last, &n->place, "the end of the loop")) ||
            (n->condition && !check_guard(f, n->condition, &n->place, "the condition")))
            return false;
        for (const fm_front_touch *a = n->accesses; a; a = a->next)
            for (unsigned i = 0; i < a->array->rank; i++) {
                const char *what =
                    fm_front_text(f, "the subscript of '%s'", a->text ? a->text : a->array->name);
                if (!what || !check_form(f, a->subscripts[i], &a->place, what)) return false;
            }
        if (!fm_front_check(f, &n->body) || !fm_front_check(f, &n->otherwise)) return false;
    }
    return true;
}
