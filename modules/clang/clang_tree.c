/* SPDX-License-Identifier: Apache-2.0 */
/* clang_tree.c - see clang_tree.h. */
#include "clang_tree.h"

#include "clang_maker.h"

void list_begin(node_list *list)
{
    list->first = NULL;
    list->end = &list->first;
}

node *node_new(fm_front *f, node_kind kind, place where)
{
    if (++f->own->node_count > MOST_NODES)
        give_up(f, FM_E_LIMIT, "the region has more than %d statements, loops and guards", MOST_NODES);
    node *made = fm_front_allocate(f, 1, sizeof *made);
    made->kind = kind;
    made->place = where;
    made->accesses_end = &made->accesses;
    list_begin(&made->body);
    list_begin(&made->otherwise);
    return made;
}

void node_append(node_list *list, node *made)
{
    *list->end = made;
    list->end = &made->next;
}

void list_join(node_list *list, node_list *behind)
{
    if (!behind->first) return;
    *list->end = behind->first;
    list->end = behind->end;
    list_begin(behind);
}

condition *condition_constant(fm_front *f, bool holds)
{
    condition *made = fm_front_allocate(f, 1, sizeof *made);
    made->kind = holds ? CONDITION_TRUE : CONDITION_FALSE;
    return made;
}

condition *condition_of(fm_front *f, condition_kind kind, const fm_form *from)
{
    int64_t number;
    if (fm_form_is_number(from, &number))
        return condition_constant(f, kind == CONDITION_NOT_NEGATIVE ? number >= 0
                                     : kind == CONDITION_ZERO       ? number == 0
                                                                    : number != 0);
    condition *made = fm_front_allocate(f, 1, sizeof *made);
    made->kind = kind;
    made->form = from;
    return made;
}

condition *condition_join(fm_front *f, condition_kind kind, condition *left, condition *right)
{
    condition_kind decides = kind == CONDITION_AND ? CONDITION_FALSE : CONDITION_TRUE;
    condition_kind ignored = kind == CONDITION_AND ? CONDITION_TRUE : CONDITION_FALSE;
    if (left->kind == decides || right->kind == ignored) return left;
    if (right->kind == decides || left->kind == ignored) return right;
    condition *made = fm_front_allocate(f, 1, sizeof *made);
    made->kind = kind;
    made->left = left;
    made->right = right;
    return made;
}

condition *condition_not(fm_front *f, const condition *of)
{
    switch (of->kind) {
    case CONDITION_TRUE:
        return condition_constant(f, false);
    case CONDITION_FALSE:
        return condition_constant(f, true);
    case CONDITION_NOT_NEGATIVE: /* not (x >= 0): -x - 1 >= 0 */
        return condition_of(f, CONDITION_NOT_NEGATIVE,
                            fm_form_subtract(f, fm_form_scale(f, of->form, -1), fm_form_number(f, 1)));
    case CONDITION_ZERO:
        return condition_of(f, CONDITION_NOT_ZERO, of->form);
    case CONDITION_NOT_ZERO:
        return condition_of(f, CONDITION_ZERO, of->form);
    case CONDITION_AND:
        return condition_join(f, CONDITION_OR, condition_not(f, of->left), condition_not(f, of->right));
    case CONDITION_OR:
        break;
    }
    return condition_join(f, CONDITION_AND, condition_not(f, of->left), condition_not(f, of->right));
}

condition *condition_replace(fm_front *f, const condition *of, const fm_replacement *replacements,
                             size_t count)
{
    if (of->form) return condition_of(f, of->kind, fm_form_replace(f, of->form, replacements, count));
    if (of->left)
        return condition_join(f, of->kind, condition_replace(f, of->left, replacements, count),
                              condition_replace(f, of->right, replacements, count));
    return condition_constant(f, of->kind == CONDITION_TRUE);
}

bool condition_mentions(const condition *of, const fm_atom *a)
{
    if (of->form) return fm_form_mentions(of->form, a);
    return of->left && (condition_mentions(of->left, a) || condition_mentions(of->right, a));
}

bool condition_varies(const condition *of)
{
    if (of->form) return fm_form_varies(of->form);
    return of->left && (condition_varies(of->left) || condition_varies(of->right));
}

bool condition_equal(const condition *left, const condition *right)
{
    if (left == right) return true;
    if (left->kind != right->kind) return false;
    if (left->form) return fm_form_equal(left->form, right->form);
    return !left->left ||
           (condition_equal(left->left, right->left) && condition_equal(left->right, right->right));
}

void tree_replace(fm_front *f, node_list *list, const fm_replacement *replacements, size_t count)
{
    for (node *n = list->first; n; n = n->next) {
        if (n->first) n->first = fm_form_replace(f, n->first, replacements, count);
        if (n->last) n->last = fm_form_replace(f, n->last, replacements, count);
        if (n->condition) n->condition = condition_replace(f, n->condition, replacements, count);
        for (touch *a = n->accesses; a; a = a->next)
            for (unsigned i = 0; i < a->array->rank; i++)
                a->subscripts[i] = fm_form_replace(f, a->subscripts[i], replacements, count);
        tree_replace(f, &n->body, replacements, count);
        tree_replace(f, &n->otherwise, replacements, count);
    }
}

/* ---- is everything affine? ---- */

static void check_form(fm_front *f, const fm_form *from, const place *where, const char *what)
{
    for (size_t i = 0; i < from->count; i++) {
        const fm_atom *varying = NULL;
        for (unsigned k = 0; k < from->terms[i].product->degree; k++) {
            const fm_atom *a = from->terms[i].product->atoms[k];
            if (a->kind == FM_ATOM_ENTRY)
                refuse_at(f, where, "%s depends on '%s', %s", what, a->name,
                          a->why ? a->why : "which is not known here");
            if (a->left) {
                check_form(f, a->left, where, what);
                check_form(f, a->right, where, what);
            }
            if (!fm_atom_varies(a)) continue;
            if (varying)
                refuse_at(f, where, "%s is not affine: it multiplies '%s' by '%s'", what,
                          fm_form_written(f, fm_form_atom(f, varying)),
                          fm_form_written(f, fm_form_atom(f, a)));
            varying = a;
        }
    }
}

static void check_condition(fm_front *f, const condition *c, const place *where, const char *what)
{
    if (c->form) check_form(f, c->form, where, what);
    if (!c->left) return;
    check_condition(f, c->left, where, what);
    check_condition(f, c->right, where, what);
}

void tree_check(fm_front *f, const node_list *list)
{
    for (const node *n = list->first; n; n = n->next) {
        if (n->first) check_form(f, n->first, &n->place, "the first value of the loop's variable");
        if (n->last) check_form(f, n->last, &n->place, "the end of the loop");
        if (n->condition) check_condition(f, n->condition, &n->place, "the condition");
        for (const touch *a = n->accesses; a; a = a->next) carry(f, a->array, a->subscripts);
        for (const touch *a = n->accesses; a; a = a->next)
            for (unsigned i = 0; i < a->array->rank; i++)
                check_form(f, a->subscripts[i], &a->place,
                           fm_front_text(f, "the subscript of '%s'", a->text ? a->text : a->array->name));
        tree_check(f, &n->body);
        tree_check(f, &n->otherwise);
    }
}
