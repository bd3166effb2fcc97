/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fortran_assigned.c - which whole numbers and truth values a piece of a program may assign: what is known of
 * them does not hold any more behind it, nor in the next iteration. Calls count, also those of functions in
 * expressions; a procedure that is not in this file stops the walk anyway.
 */
#include "static/fortran/fortran_walker.h"

#include "base/memory.h"

#include <string.h>

typedef struct search {
    ft_walker *walker;
    ft_assigned *assigned;
    ft_unit *unit; /* whose statements these are */
    bool local;    /* its own names count; else only those of modules, hosts and common blocks */
    unsigned depth;
} search;

static bool in_statements(search *s, const ft_statement *statement);

static bool assigned_keep(search *s, ft_object *object)
{
    ft_assigned *all = s->assigned;
    for (size_t i = all->count; i-- > 0 && i + 64 > all->count;) /* twice in the list is no harm */
        if (all->list[i].object == object) return true;
    if (fm_array_reserve((void **)&all->list, &all->room, all->count + 1, sizeof *all->list))
        return fm_ft_no_memory(s->walker->context);
    all->list[all->count++] = (struct ft_saved){object, object->value, object->why, object->untouched};
    return true;
}

/* A whole number, a truth value, or a scalar of derived type, whose components may be such. */
static bool assigned_add(search *s, const ft_expression *target)
{
    ft_walker *walker = s->walker;
    while (target->kind == FT_X_INDEX) target = target->left;
    if (target->kind == FT_X_MEMBER && s->local && target->left->kind == FT_X_NAME) {
        ft_reference reference;
        if (!fm_ft_resolve(walker, target, &reference)) return false;
        return reference.memory || reference.rank || assigned_keep(s, reference.object);
    }
    /* Of other components: all of the variable. */
    while (target->kind == FT_X_MEMBER || target->kind == FT_X_INDEX) target = target->left;
    if (target->kind != FT_X_NAME) return true;
    ft_symbol *symbol = fm_ft_lookup(walker, s->unit, target->text, true);
    if (!symbol || symbol->rank || symbol->constant || symbol->external || symbol->function) return true;
    if (!s->local && symbol->unit == s->unit && !symbol->common) return true;
    ft_base base = fm_ft_type_of(symbol).base;
    if (base != FT_INTEGER_TYPE && base != FT_LOGICAL_TYPE && base != FT_DERIVED_TYPE) return true;
    ft_object *object = fm_ft_object(walker, symbol, &target->place);
    return object && assigned_keep(s, object);
}

/* What a procedure assigns that is not its own. */
static bool in_procedure(search *s, ft_unit *unit)
{
    if (unit->scanned == s->walker->epoch || s->depth > 40) return true;
    unit->scanned = s->walker->epoch;
    search inner = *s;
    inner.unit = unit;
    inner.local = false;
    inner.depth++;
    return in_statements(&inner, unit->body);
}

static bool in_call(search *s, const ft_expression *call, ft_unit *unit)
{
    unsigned number = 0;
    for (const ft_expression *a = call->kind == FT_X_INDEX ? call->arguments : NULL; a;
         a = a->next, number++) {
        const ft_expression *actual = a->kind == FT_X_KEYWORD ? a->left : a;
        const ft_symbol *dummy =
            number < unit->dummy_count && a->kind != FT_X_KEYWORD ? unit->dummies[number] : NULL;
        if (dummy && (dummy->intent_in || dummy->by_value || dummy->rank)) continue;
        if ((actual->kind == FT_X_NAME || actual->kind == FT_X_MEMBER) && !assigned_add(s, actual)) return false;
    }
    return in_procedure(s, unit);
}

static bool in_expression(search *s, const ft_expression *expression)
{
    for (; expression; expression = expression->next) {
        if (expression->kind == FT_X_INDEX && expression->left->kind == FT_X_NAME) {
            const ft_symbol *symbol = fm_ft_lookup(s->walker, s->unit, expression->left->text, false);
            ft_unit *unit =
                symbol && symbol->rank ? NULL : fm_ft_procedure(s->walker, s->unit, expression->left->text);
            if (unit && !in_call(s, expression, unit)) return false;
        }
        if ((expression->left && !in_expression(s, expression->left)) ||
            (expression->right && !in_expression(s, expression->right)) ||
            (expression->third && !in_expression(s, expression->third)) ||
            (expression->arguments && !in_expression(s, expression->arguments)))
            return false;
    }
    return true;
}

static bool in_statement(search *s, const ft_statement *statement)
{
    if ((statement->left && !in_expression(s, statement->left)) ||
        (statement->right && !in_expression(s, statement->right)) ||
        (statement->first && !in_expression(s, statement->first)) ||
        (statement->last && !in_expression(s, statement->last)))
        return false;
    switch (statement->kind) {
    case FT_S_ASSIGN:
        return assigned_add(s, statement->left);
    case FT_S_DO:
        if (!assigned_add(s, statement->left)) return false;
        break;
    case FT_S_CALL: {
        const ft_expression *name =
            statement->left->kind == FT_X_INDEX ? statement->left->left : statement->left;
        ft_unit *unit = name->kind == FT_X_NAME ? fm_ft_procedure(s->walker, s->unit, name->text) : NULL;
        return !unit || in_call(s, statement->left, unit);
    }
    case FT_S_IF:
        for (const ft_branch *branch = statement->branches; branch; branch = branch->next)
            if ((branch->condition && !in_expression(s, branch->condition)) ||
                !in_statements(s, branch->body))
                return false;
        return true;
    default:
        break;
    }
    return in_statements(s, statement->body);
}

static bool in_statements(search *s, const ft_statement *statement)
{
    for (; statement; statement = statement->next)
        if (!in_statement(s, statement)) return false;
    return true;
}

bool fm_ft_assigned(ft_walker *walker, const ft_statement *statements, ft_assigned *assigned)
{
    search s = {.walker = walker, .assigned = assigned, .unit = walker->activation->unit, .local = true};
    walker->epoch++;
    return in_statements(&s, statements);
}

/* Components of a scalar of derived type. */
static void forget_members(ft_object *owner, const char *why)
{
    owner->changed = why;
    for (ft_object *member = owner->members; member; member = member->sibling) {
        fm_ft_set_known(member, NULL, why);
        forget_members(member, why);
    }
}

void fm_ft_restore(const ft_assigned *assigned)
{
    for (size_t i = 0; i < assigned->count; i++) {
        const struct ft_saved *saved = &assigned->list[i];
        if (saved->object->layout.base == FT_DERIVED_TYPE) {
            forget_members(saved->object, "a component of the same variable is assigned in another branch");
            continue;
        }
        fm_ft_set_known(saved->object, saved->value, saved->why);
        saved->object->untouched = saved->untouched;
    }
}

bool fm_ft_forget(ft_walker *walker, const ft_assigned *assigned, const ft_place *because)
{
    if (!assigned->count) return true;
    const char *why =
        fm_ft_print(walker->context, "it is assigned in the loop or branch of line %u", because->line);
    for (size_t i = 0; i < assigned->count; i++) {
        fm_ft_set_known(assigned->list[i].object, NULL, why);
        if (assigned->list[i].object->layout.base == FT_DERIVED_TYPE)
            forget_members(assigned->list[i].object, why);
    }
    return why != NULL;
}
