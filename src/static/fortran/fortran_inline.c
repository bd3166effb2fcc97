/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fortran_inline.c - calls of procedures of the same file, put in their place. A dummy argument is the
 * caller's variable, the caller's element, or a value; an array is the caller's array from some element on,
 * as long as both agree where the elements are.
 */
#include "static/fortran/fortran_walker.h"

#include <string.h>

enum { MOST_DEPTH = 20, MOST_CALLS = 5000 };

typedef struct actual {
    const ft_expression *expression; /* NULL: not given */
    bool variable;
    ft_reference reference; /* of a variable */
    const fm_form *value;   /* of a whole number */
    ft_base base;
} actual;

static bool evaluate_argument(ft_walker *walker, const ft_symbol *dummy, actual *given)
{
    const ft_expression *expression = given->expression;
    given->variable = (expression->kind == FT_X_NAME || expression->kind == FT_X_MEMBER ||
                       expression->kind == FT_X_INDEX) &&
                      fm_ft_is_variable(walker, expression);
    if (expression->kind == FT_X_NAME &&
        !fm_ft_lookup(walker, walker->activation->unit, expression->text, false) &&
        fm_ft_procedure(walker, walker->activation->unit, expression->text))
        return fm_ft_refuse(walker->context, &expression->place,
                            "a procedure as an argument is not followed");
    if (given->variable) {
        if (!fm_ft_resolve(walker, expression, &given->reference)) return false;
        if (!given->reference.memory && !given->reference.rank)
            given->value = fm_ft_known(walker, given->reference.object); /* NULL: not known */
        return true;
    }
    if (dummy->rank)
        return fm_ft_refuse(walker->context, &expression->place,
                            "an expression as an array argument: a compiler would make a temporary array");
    if (expression->kind == FT_X_STRING) {
        given->base = FT_CHARACTER_TYPE;
        return true;
    }
    if (!fm_ft_data(walker, expression, NULL, &given->base)) return false;
    if (given->base == FT_LOGICAL_TYPE && expression->kind == FT_X_LOGICAL)
        given->value = fm_form_number(&walker->front, expression->operator== FT_TRUE);
    return given->base != FT_INTEGER_TYPE || fm_ft_quiet_integer(walker, expression, &given->value);
}

/* ---- scalars ---- */

static bool bind_scalar(ft_walker *walker, ft_activation *callee, const ft_symbol *dummy, const actual *given)
{
    ft_object *object = fm_ft_new_object(walker, callee, dummy);
    ft_type type = fm_ft_type_of(dummy);
    if (!object || !fm_ft_layout(walker, dummy->unit, &type, &given->expression->place, &object->layout))
        return false;
    const ft_reference *reference = &given->reference;
    if (!given->variable) {
        object->value = object->initial = given->value;
        object->why = "it is an argument that is not affine";
        return true;
    }
    if (reference->rank)
        return fm_ft_refuse(walker->context, &given->expression->place, "an array where '%.100s' is a scalar",
                            dummy->name);
    if (reference->layout.base != object->layout.base || reference->layout.bytes != object->layout.bytes)
        return fm_ft_refuse(walker->context, &given->expression->place,
                            "the argument and '%.100s' have different types", dummy->name);
    if (dummy->by_value || !reference->memory) {
        if (dummy->by_value || reference->object->loop) {
            object->value = object->initial = given->value;
            object->loop = reference->object->loop; /* not to be assigned either */
        } else {
            object->alias = reference->object;
            /* Bounds of arrays are worked out with what it was when the procedure began. */
            object->initial = given->value;
        }
        return true;
    }
    object->memory = reference->memory;
    object->offset = reference->offset;
    memcpy(object->base, reference->subscripts, sizeof object->base);
    object->why = "it is an element of an array";
    return true;
}

/* ---- arrays ---- */

static bool another_shape(ft_walker *walker, const ft_symbol *dummy, const actual *given, const char *what)
{
    const char *text = fm_ft_text(walker->context, &given->expression->place);
    return fm_ft_refuse(walker->context, &given->expression->place,
                        "'%.100s' is '%.100s' in the procedure with another shape: %s", text ? text : "",
                        dummy->name, what);
}

/* Where the elements are that follow the first one, seen as dimensions of the memory: sections must be
 * contiguous. */
static bool is_contiguous(ft_walker *walker, const ft_reference *reference, unsigned first)
{
    for (unsigned i = 0; i < reference->rank; i++) {
        const ft_section *section = &reference->sections[i];
        int64_t difference;
        if (section->dimension != first + i || section->stride != 1) return false;
        if (i + 1 == reference->rank) continue;
        const fm_form *whole = reference->memory->extents[section->dimension];
        if (!whole || !section->extent ||
            !fm_form_difference(&walker->front, whole, section->extent, &difference) || difference)
            return false;
    }
    return true;
}

/* a(lda, *) and the like: its dimensions are the first ones of the memory. */
static bool bind_sequence(ft_walker *walker, ft_object *object, const actual *given)
{
    const ft_symbol *dummy = object->symbol;
    const ft_reference *reference = &given->reference;
    const fm_front_array *memory = reference->memory;
    unsigned first = object->layout.unit ? 1 : 0;
    if (!is_contiguous(walker, reference, first))
        return another_shape(walker, dummy, given, "the section is not contiguous: it would be copied");
    if (dummy->rank > memory->rank - first) {
        if (dummy->rank > 1) return another_shape(walker, dummy, given, "it has more dimensions there");
    }
    for (unsigned i = 0; i < dummy->rank; i++) {
        int64_t difference;
        object->dimension[i] = first + i;
        object->stride[i] = 1;
        if (i + 1 == dummy->rank) break;
        const fm_form *whole = memory->extents[first + i];
        if (!whole || !object->extents[i] ||
            !fm_form_difference(&walker->front, whole, object->extents[i], &difference) || difference) {
            const char *one =
                object->extents[i] ? fm_form_written(&walker->front, object->extents[i]) : "unknown";
            const char *other = whole ? fm_form_written(&walker->front, whole) : "unknown";
            return fm_ft_refuse(walker->context, &given->expression->place,
                                "'%.100s' has another shape in the procedure: dimension %u has extent "
                                "'%.60s' there and '%.60s' here",
                                dummy->name, i + 1, one ? one : "", other ? other : "");
        }
    }
    return true;
}

static bool bind_array(ft_walker *walker, ft_object *object, const actual *given)
{
    const ft_symbol *dummy = object->symbol;
    const ft_reference *reference = &given->reference;
    fm_front *f = &walker->front;
    bool assumed = dummy->dimensions[0].kind == FT_ASSUMED_SHAPE;
    if (!reference->memory)
        return fm_ft_refuse(walker->context, &given->expression->place, "a scalar where '%.100s' is an array",
                            dummy->name);
    if (reference->layout.bytes != object->layout.bytes ||
        reference->layout.record != object->layout.record || reference->offset)
        return fm_ft_refuse(walker->context, &given->expression->place,
                            "the elements of '%.100s' have another size in the procedure", dummy->name);
    object->is_array = true;
    object->rank = dummy->rank;
    object->memory = reference->memory;
    memcpy(object->base, reference->subscripts, sizeof object->base);
    for (unsigned i = 0; i < dummy->rank; i++) {
        const ft_dimension *dimension = &dummy->dimensions[i];
        object->lows[i] = dimension->low ? fm_ft_integer(walker, dimension->low) : fm_form_number(f, 1);
        if (!object->lows[i]) return false;
        if (dimension->kind == FT_EXPLICIT) {
            const fm_form *high = fm_ft_integer(walker, dimension->high);
            object->extents[i] = fm_form_add_number(f, fm_form_plus(f, high, object->lows[i], -1), 1);
            if (!object->extents[i]) return false;
        }
    }
    if (!assumed) return bind_sequence(walker, object, given);
    if (reference->rank != dummy->rank)
        return another_shape(walker, dummy, given, "it has another number of dimensions");
    for (unsigned i = 0; i < dummy->rank; i++) {
        const ft_section *section = &reference->sections[i];
        object->dimension[i] = section->dimension;
        object->stride[i] = section->stride;
        object->extents[i] = section->extent;
        if (dummy->allocatable) object->lows[i] = reference->object->lows[i];
        if (!section->extent)
            return fm_ft_refuse(walker->context, &given->expression->place,
                                "the last extent of an array of assumed size is not known");
    }
    return true;
}

/* ---- calls ---- */

/* Actual arguments by the number of their dummy. */
static bool match_arguments(ft_walker *walker, const ft_expression *call, const ft_unit *unit, actual *given)
{
    unsigned position = 0;
    for (const ft_expression *a = call->kind == FT_X_INDEX ? call->arguments : NULL; a;
         a = a->next, position++) {
        unsigned number = position;
        if (a->kind == FT_X_KEYWORD)
            for (number = 0; number < unit->dummy_count && strcmp(unit->dummies[number]->name, a->text) != 0;)
                number++;
        if (a->kind == FT_X_RANGE || number >= unit->dummy_count || given[number].expression)
            return fm_ft_fail(walker->context, FM_E_FORMAT, &a->place, "'%.100s' has no such argument",
                              unit->name);
        given[number].expression = a->kind == FT_X_KEYWORD ? a->left : a;
    }
    for (unsigned i = 0; i < unit->dummy_count; i++)
        if (!given[i].expression)
            return fm_ft_refuse(walker->context, &call->place,
                                "the argument '%.100s' of '%.100s' is not given", unit->dummies[i]->name,
                                unit->name);
    return true;
}

static bool bind_arguments(ft_walker *walker, ft_activation *callee, actual *given)
{
    ft_unit *unit = callee->unit;
    ft_activation *caller = walker->activation;
    for (unsigned i = 0; i < unit->dummy_count; i++)
        if (!evaluate_argument(walker, unit->dummies[i], &given[i])) return false;
    /* Scalars first: the bounds of arrays need them. */
    walker->activation = callee;
    bool done = true, at_entry = walker->at_entry;
    for (unsigned i = 0; i < unit->dummy_count && done; i++)
        if (!unit->dummies[i]->rank) done = bind_scalar(walker, callee, unit->dummies[i], &given[i]);
    for (unsigned i = 0; i < unit->dummy_count && done; i++) {
        const ft_symbol *dummy = unit->dummies[i];
        ft_type type = fm_ft_type_of(dummy);
        if (!dummy->rank) continue;
        ft_object *object = fm_ft_new_object(walker, callee, dummy);
        done = object && fm_ft_layout(walker, unit, &type, &given[i].expression->place, &object->layout) &&
               bind_array(walker, object, &given[i]);
    }
    walker->at_entry = at_entry;
    walker->activation = caller;
    return done;
}

/* Arrays of the procedure's own whose bounds its arguments tell: as they are now. */
static bool own_arrays(ft_walker *walker, ft_activation *callee)
{
    ft_activation *caller = walker->activation;
    bool entering = walker->entering, done = true;
    walker->activation = callee;
    walker->entering = true;
    for (const ft_symbol *symbol = callee->unit->symbols; symbol && done; symbol = symbol->next)
        if (symbol->rank && !symbol->dummy && !symbol->allocatable && !symbol->pointer &&
            !symbol->equivalenced && !symbol->constant)
            done = fm_ft_object(walker, symbol, &symbol->place) != NULL;
    walker->entering = entering;
    walker->activation = caller;
    return done;
}

static bool walk_body(ft_walker *walker, ft_activation *callee)
{
    ft_activation *caller = walker->activation;
    const fm_guard *escape = walker->escape;
    const ft_statement *exit = walker->exit;
    unsigned outer = walker->outer_loops;
    walker->activation = callee;
    walker->escape = NULL;
    walker->outer_loops = walker->loop_count;
    callee->unit->active = true;
    walker->depth++;
    bool done = fm_ft_walk(walker, callee->unit->body, NULL);
    walker->depth--;
    callee->unit->active = false;
    walker->activation = caller;
    walker->escape = escape;
    walker->exit = exit;
    walker->outer_loops = outer;
    return done;
}

bool fm_ft_call(ft_walker *walker, const ft_expression *call, ft_unit *unit, ft_base *result)
{
    ft_context *context = walker->context;
    if (unit->active)
        return fm_ft_refuse(context, &call->place, "'%.100s' calls itself: recursion is not followed",
                            unit->name);
    if (unit->why)
        return fm_ft_refuse(context, &unit->why_place,
                            "a declaration of '%.100s', which is called in line %u, is not understood: %s",
                            unit->name, call->place.line, unit->why);
    if (walker->depth == MOST_DEPTH || ++walker->calls > MOST_CALLS)
        return fm_ft_fail(context, FM_E_LIMIT, &call->place,
                          "more than %d calls inside each other, or %d in all", MOST_DEPTH, MOST_CALLS);
    ft_activation *callee = fm_ft_allocate(context, 1, sizeof *callee);
    actual *given = fm_ft_allocate(context, unit->dummy_count + 1, sizeof *given);
    if (!callee || !given) return false;
    callee->unit = unit;
    callee->caller = walker->activation;
    if (!match_arguments(walker, call, unit, given) || !bind_arguments(walker, callee, given) ||
        !own_arrays(walker, callee))
        return false;
    /* Loads of what comes before, and of the arguments. */
    if (!fm_ft_flush(walker, &walker->statement, false)) return false;
    ft_place place = walker->statement;
    if (!walk_body(walker, callee)) return false;
    walker->statement = place;
    if (!result) return true;
    const ft_symbol *symbol = fm_ft_own_symbol(context, unit, unit->result, true);
    if (!symbol) return false;
    if (symbol->rank)
        return fm_ft_refuse(context, &call->place, "'%.100s' returns an array, which is not followed",
                            unit->name);
    *result = fm_ft_type_of(symbol).base;
    return true;
}
