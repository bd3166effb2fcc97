/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fortran_references.c - which elements of which array a variable in an expression means: a, a(i), a(1:n, j),
 * a(i)%x, a%x(j). Subscripts that are not affine are refused.
 */
#include "static/fortran/fortran_walker.h"

#include <inttypes.h>
#include <string.h>

bool fm_ft_is_variable(ft_walker *walker, const ft_expression *expression)
{
    if (expression->kind == FT_X_MEMBER) return true;
    if (expression->kind == FT_X_INDEX) {
        if (expression->left->kind != FT_X_NAME) return true;
        ft_symbol *symbol = fm_ft_lookup(walker, walker->activation->unit, expression->left->text, false);
        return symbol && symbol->rank > 0;
    }
    return expression->kind == FT_X_NAME;
}

/* An allocatable array that nobody has allocated in the region: its extents are parameters. */
static bool settle_shape(ft_walker *walker, ft_object *object)
{
    return !object->unknown_shape || fm_ft_set_shape(walker, object, object->symbol->rank,
                                                     object->symbol->dimensions, &object->symbol->place);
}

/* Everything of an object. */
static bool reference_whole(ft_walker *walker, ft_object *object, ft_reference *reference)
{
    if (!settle_shape(walker, object)) return false;
    reference->object = object;
    reference->layout = object->layout;
    reference->memory = object->memory;
    reference->offset = object->offset;
    reference->rank = object->rank;
    memcpy(reference->subscripts, object->base, sizeof reference->subscripts);
    for (unsigned i = 0; i < object->rank; i++)
        reference->sections[i] = (ft_section){object->dimension[i], object->stride[i], object->extents[i]};
    return true;
}

/* One subscript of a dimension: moves the first element, or makes a section of it. `low` is the dimension's.
 */
static bool reference_subscript(ft_walker *walker, ft_reference *reference, const ft_expression *given,
                      const ft_section *whole_one, const fm_form *low, unsigned *rank)
{
    fm_front *f = &walker->front;
    ft_context *context = walker->context;
    const fm_form **at = &reference->subscripts[whole_one->dimension];
    int64_t stride = 1;
    const fm_form *first;
    if (given->kind == FT_X_KEYWORD) return fm_ft_refuse(context, &given->place, "this is no subscript");
    if (given->kind != FT_X_RANGE) {
        const fm_form *value;
        if (given->kind == FT_X_NAME) { /* a vector subscript */
            ft_object *object = fm_ft_object_of_name(walker, given->text, &given->place);
            if (!object) return false;
            if (object->is_array)
                return fm_ft_refuse(context, &given->place,
                                    "'%.100s' is an array: a subscript that is a vector is not affine",
                                    given->text);
        }
        if (!(value = fm_ft_integer(walker, given))) return false;
        first = value;
    } else {
        if (given->third && !fm_ft_constant(walker, given->third, "the stride of a section", &stride))
            return false;
        if (stride == 0) return fm_ft_fail(context, FM_E_FORMAT, &given->place, "a section has stride 0");
        const fm_form *high_of_all =
            whole_one->extent ? fm_form_add_number(f, fm_form_plus(f, low, whole_one->extent, 1), -1) : NULL;
        first = given->left ? fm_ft_integer(walker, given->left) : stride > 0 ? low : high_of_all;
        const fm_form *last = given->right ? fm_ft_integer(walker, given->right)
                              : stride > 0 ? high_of_all
                                           : low;
        if (context->status != FM_OK) return false;
        if (!first || !last)
            return fm_ft_refuse(context, &given->place,
                                "the end of this section is not known: the array is of assumed size");
        walker->place = given->place;
        const fm_form *length = fm_form_plus(f, last, first, -1);
        if (stride < 0) length = fm_form_plus(f, fm_form_number(f, 0), length, -1);
        if (stride == INT64_MIN)
            return fm_ft_fail(context, FM_E_FORMAT, &given->place, "the stride of a section is too large");
        if (stride != 1 && stride != -1)
            length =
                fm_ft_divide(walker, FM_ATOM_FLOOR, length, fm_form_number(f, stride < 0 ? -stride : stride));
        ft_section *section = &reference->sections[(*rank)++];
        *section = (ft_section){whole_one->dimension, 0, fm_form_add_number(f, length, 1)};
        if (!section->extent) return false;
        if (__builtin_mul_overflow(stride, whole_one->stride, &section->stride))
            return fm_ft_fail(context, FM_E_LIMIT, &given->place, "the stride of a section is too large");
    }
    walker->place = given->place;
    *at = fm_form_plus(f, *at, fm_form_plus(f, first, low, -1), whole_one->stride);
    return *at != NULL;
}

static bool reference_indexed(ft_walker *walker, const ft_expression *expression, ft_reference *reference)
{
    ft_object *object = reference->object;
    unsigned count = 0, rank = 0;
    ft_section all[FT_MOST_RANK];
    memcpy(all, reference->sections, sizeof all);
    for (const ft_expression *a = expression->arguments; a; a = a->next) count++;
    if (reference->layout.base == FT_CHARACTER_TYPE && !reference->rank)
        return fm_ft_refuse(walker->context, &expression->place, "a substring is not followed");
    if (count != reference->rank)
        return fm_ft_fail(walker->context, FM_E_FORMAT, &expression->place,
                          "'%.100s' has %u dimensions, but %u subscripts here", object->symbol->name,
                          reference->rank, count);
    unsigned i = 0;
    for (const ft_expression *a = expression->arguments; a; a = a->next, i++)
        if (!reference_subscript(walker, reference, a, &all[i], object->lows[i], &rank)) return false;
    reference->rank = rank;
    return true;
}

/* Subscripts of a component that is an array inside each element: into the dimension of units, or, where they
 * are numbers, into the offset. */
static bool component_index(ft_walker *walker, const ft_expression *expression, const ft_symbol *member,
                            const ft_record *record, ft_reference *reference)
{
    fm_front *f = &walker->front;
    ft_context *context = walker->context;
    int64_t lows[FT_MOST_RANK], extents[FT_MOST_RANK];
    uint64_t unit = reference->object->layout.unit;
    if (!fm_ft_member_shape(walker, record, member, lows, extents)) return false;
    unsigned count = 0;
    for (const ft_expression *a = expression->arguments; a; a = a->next) count++;
    if (count != member->rank)
        return fm_ft_fail(context, FM_E_FORMAT, &expression->place,
                          "component '%.100s' has %u dimensions, but %u subscripts here", member->name,
                          member->rank, count);
    int64_t stride = (int64_t)reference->layout.bytes;
    unsigned i = 0;
    for (const ft_expression *a = expression->arguments; a; a = a->next, i++) {
        const fm_form *value =
            a->kind == FT_X_RANGE || a->kind == FT_X_KEYWORD ? NULL : fm_ft_integer(walker, a);
        if (!value) return fm_ft_refuse(context, &a->place, "a section of a component is not followed");
        const fm_form *from_low = fm_form_add_number(f, value, -lows[i]);
        int64_t number, moved;
        if (unit && (uint64_t)stride % unit == 0) {
            reference->subscripts[0] =
                fm_form_plus(f, reference->subscripts[0], from_low, stride / (int64_t)unit);
            if (!reference->subscripts[0]) return false;
        } else if (fm_form_fold(from_low, &number) && number >= 0 && number < extents[i] &&
                   !__builtin_mul_overflow(number, stride, &moved)) {
            reference->offset += (uint64_t)moved;
        } else {
            return fm_ft_refuse(
                context, &a->place,
                "the subscript of component '%.100s' changes, and its type has parts of several sizes: "
                "where the element is cannot be written",
                member->name);
        }
        if (__builtin_mul_overflow(stride, extents[i], &stride)) return false;
    }
    return true;
}

static bool member_of(ft_walker *walker, const ft_expression *expression, const ft_expression *index,
                      ft_reference *reference)
{
    ft_context *context = walker->context;
    if (!fm_ft_resolve(walker, expression->left, reference)) return false;
    ft_object *object = reference->object;
    const ft_record *record = reference->layout.record;
    if (!record) return fm_ft_fail(context, FM_E_FORMAT, &expression->place, "this has no components");
    uint64_t offset;
    ft_layout layout = {0};
    const ft_symbol *member =
        fm_ft_member(walker, record, expression->text, &expression->place, &offset, &layout);
    if (!member) return false;
    if (!reference->memory) { /* a scalar: each component is by itself */
        ft_object *inner = fm_ft_member_object(walker, object, member, &expression->place);
        if (!inner || !reference_whole(walker, inner, reference)) return false;
        return !index || reference_indexed(walker, index, reference);
    }
    if (!reference->object->layout.bytes || member->allocatable || member->pointer)
        return fm_ft_refuse(context, &expression->place,
                            "'%.100s' is allocated by itself for each element: where it is is not known",
                            member->name);
    reference->layout = layout;
    uint64_t unit = object->layout.unit;
    if (unit) {
        reference->subscripts[0] =
            fm_form_add_number(&walker->front, reference->subscripts[0], (int64_t)(offset / unit));
        if (!reference->subscripts[0]) return false;
    } else {
        reference->offset += offset;
    }
    if (!member->rank) return !index || fm_ft_refuse(context, &index->place, "a substring is not followed");
    if (!index) return fm_ft_refuse(context, &expression->place, "a whole array component is not followed");
    return component_index(walker, index, member, record, reference);
}

bool fm_ft_resolve(ft_walker *walker, const ft_expression *expression, ft_reference *reference)
{
    *reference = (ft_reference){0};
    bool done;
    const ft_expression *left = expression->left;
    if (expression->kind == FT_X_NAME) {
        ft_object *object = fm_ft_object_of_name(walker, expression->text, &expression->place);
        done = object && reference_whole(walker, object, reference);
    } else if (expression->kind == FT_X_MEMBER) {
        done = member_of(walker, expression, NULL, reference);
    } else if (expression->kind == FT_X_INDEX && left->kind == FT_X_MEMBER) {
        done = member_of(walker, left, expression, reference);
    } else if (expression->kind == FT_X_INDEX) {
        done = fm_ft_resolve(walker, left, reference) && reference_indexed(walker, expression, reference);
    } else {
        done = fm_ft_refuse(walker->context, &expression->place, "this is no variable");
    }
    reference->expression = expression;
    if (done && reference->memory && reference->layout.base == FT_CHARACTER_TYPE &&
        fm_ft_type_of(reference->object->symbol).any_length)
        return fm_ft_refuse(walker->context, &expression->place, "an array of characters of unknown length");
    return done;
}
