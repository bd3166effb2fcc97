/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fortran_sections.c - which elements of which array a variable in an expression means: a, a(i), a(1:n, j),
 * a(i)%x, a%x(j). Subscripts that are not affine are refused. Then what is done with sections.
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

/*
 * Assignments of arrays and sections as loops, in the order of array elements (the first dimension is the
 * innermost loop); sums over arrays; products of matrices.
 *
 * The right side is worked out before anything is stored. Where a loop could read what it has stored
 * already, a compiler makes a temporary array: that is refused.
 */

/* ---- shapes ---- */

static bool variable_shape(ft_walker *walker, const ft_expression *expression, ft_shape *shape)
{
    ft_reference reference;
    if (!fm_ft_resolve(walker, expression, &reference)) return false;
    shape->rank = reference.rank;
    for (unsigned i = 0; i < reference.rank; i++) shape->extents[i] = reference.sections[i].extent;
    return true;
}

static bool shape_of_expression(ft_walker *walker, const ft_expression *expression, ft_shape *shape)
{
    *shape = (ft_shape){0};
    if (walker->context->status != FM_OK) return false;
    switch (expression->kind) {
    case FT_X_UNARY:
    case FT_X_KEYWORD:
        return shape_of_expression(walker, expression->left, shape);
    case FT_X_BINARY:
        return shape_of_expression(walker, expression->left, shape) &&
               (shape->rank || shape_of_expression(walker, expression->right, shape));
    case FT_X_NAME:
    case FT_X_MEMBER:
        return variable_shape(walker, expression, shape);
    case FT_X_INDEX:
        if (fm_ft_is_variable(walker, expression)) return variable_shape(walker, expression, shape);
        if (strcmp(expression->left->text, "transpose") == 0 && expression->arguments) {
            if (!shape_of_expression(walker, expression->arguments, shape)) return false;
            const fm_form *swap = shape->extents[0];
            shape->extents[0] = shape->extents[1];
            shape->extents[1] = swap;
            return true;
        }
        if (!fm_ft_is_elemental(expression->left->text)) return true;
        for (const ft_expression *a = expression->arguments; a && !shape->rank; a = a->next)
            if (!shape_of_expression(walker, a, shape)) return false;
        return true;
    default:
        return true;
    }
}

/* Loops over a shape, the last dimension outermost. first: where each loop begins, position 0; NULL: from 0.
 */
typedef struct nest {
    ft_loop loops[FT_MOST_RANK];
    ft_positions positions;
} nest;

static bool begin_nest(ft_walker *walker, nest *loops, const ft_shape *shape, const fm_form *const *first,
                       const ft_place *place)
{
    fm_front *f = &walker->front;
    loops->positions.rank = shape->rank;
    for (unsigned i = shape->rank; i-- > 0;) {
        const fm_form *from = first && first[i] ? first[i] : fm_form_number(f, 0), *variable;
        if (!shape->extents[i])
            return fm_ft_refuse(walker->context, place,
                                "the last extent of an array of assumed size is not known");
        const char *name = fm_ft_print(walker->context, "at.%u", i + 1);
        walker->place = *place;
        const fm_form *last = fm_form_add_number(f, fm_form_plus(f, from, shape->extents[i], 1), -1);
        if (!name || !fm_ft_begin_loop(walker, &loops->loops[i], name, NULL, from, last, 1, place, &variable))
            return false;
        loops->positions.at[i] = fm_form_plus(f, variable, from, -1);
        if (!loops->positions.at[i]) return false;
    }
    return true;
}

static void end_nest(ft_walker *walker, const nest *loops)
{
    for (unsigned i = 0; i < loops->positions.rank; i++) fm_ft_end_loop(walker);
}

/* ---- does it need a temporary array? ---- */

/* May the loops read an element of `right` after they have stored it by `left`? */
static bool references_overlap(ft_walker *walker, const ft_reference *left, const ft_reference *right)
{
    fm_front *f = &walker->front;
    if (left->memory != right->memory) return false;
    bool sectioned[FM_MOST_DIMENSIONS] = {0};
    int64_t ahead = 0, difference;
    for (unsigned i = 0; i < left->rank; i++) sectioned[left->sections[i].dimension] = true;
    for (unsigned i = 0; i < right->rank; i++) sectioned[right->sections[i].dimension] = true;
    /* In a dimension without sections, different subscripts are different elements. */
    for (unsigned d = 0; d < left->memory->rank; d++)
        if (!sectioned[d] && fm_form_difference(f, left->subscripts[d], right->subscripts[d], &difference) &&
            difference)
            return false;
    if (left->rank != right->rank) return true;
    for (unsigned i = left->rank; i-- > 0;) {
        const ft_section *l = &left->sections[i], *r = &right->sections[i];
        if (l->dimension != r->dimension || l->stride != r->stride ||
            !fm_form_difference(f, right->subscripts[r->dimension], left->subscripts[l->dimension],
                                &difference))
            return true;
        /* The outermost difference counts: reading ahead of what is stored is fine. */
        if (!ahead) ahead = l->stride > 0 ? difference : difference > 0 ? -1 : difference < 0;
    }
    return ahead < 0;
}

/* moved: elements are not read in the order in which they are stored. */
static bool check_overlap(ft_walker *walker, const ft_expression *expression, const ft_reference *left,
                          bool moved)
{
    if (!expression) return true;
    bool variable = expression->kind == FT_X_NAME || expression->kind == FT_X_MEMBER ||
                    (expression->kind == FT_X_INDEX && fm_ft_is_variable(walker, expression));
    if (variable) {
        ft_reference reference;
        if (!fm_ft_resolve(walker, expression, &reference)) return false;
        if (!references_overlap(walker, left, &reference) && !(moved && reference.memory == left->memory))
            return true;
        const char *text = fm_ft_text(walker->context, &expression->place);
        return fm_ft_refuse(walker->context, &expression->place,
                            "'%.150s' may overlap what is assigned: a compiler would make a temporary array",
                            text ? text : "");
    }
    moved |= expression->kind == FT_X_INDEX && expression->left->kind == FT_X_NAME &&
             strcmp(expression->left->text, "transpose") == 0;
    for (const ft_expression *a = expression->arguments; a; a = a->next)
        if (!check_overlap(walker, a->kind == FT_X_KEYWORD ? a->left : a, left, moved)) return false;
    if (expression->kind == FT_X_INDEX) return true;
    return check_overlap(walker, expression->left, left, moved) &&
           check_overlap(walker, expression->right, left, moved);
}

/* ---- matmul ---- */

/* One access at positions that are named one by one. */
static bool touch_at(ft_walker *walker, bool store, const ft_reference *reference, const fm_form *first,
                     const fm_form *second)
{
    ft_positions positions = {reference->rank, {first, second}};
    ft_reference copy = *reference;
    return fm_ft_touch(walker, store, &copy, &positions);
}

static bool matrix_product(ft_walker *walker, const ft_statement *statement, const ft_reference *left)
{
    ft_context *context = walker->context;
    const ft_expression *call = statement->right, *first = call->arguments,
                        *second = first ? first->next : NULL;
    ft_reference a, b;
    if (!second || second->next)
        return fm_ft_fail(context, FM_E_FORMAT, &call->place, "matmul has two arguments");
    if (!fm_ft_is_variable(walker, first) || !fm_ft_is_variable(walker, second))
        return fm_ft_refuse(context, &call->place,
                            "matmul of expressions is not followed, only of arrays and sections");
    if (!fm_ft_resolve(walker, first, &a) || !fm_ft_resolve(walker, second, &b)) return false;
    if (a.rank < 1 || a.rank > 2 || b.rank < 1 || b.rank > 2 || a.rank + b.rank != 2 + left->rank)
        return fm_ft_fail(context, FM_E_FORMAT, &call->place, "matmul of arrays with %u and %u dimensions",
                          a.rank, b.rank);
    if (a.memory == left->memory || b.memory == left->memory || !a.memory || !b.memory)
        return fm_ft_refuse(context, &call->place,
                            "matmul of what is assigned: a compiler would make a temporary array");
    if (!fm_ft_note(walker, "matmul is counted as loops: the result is set to 0, then columns, products, "
                            "rows from the outermost in"))
        return false;
    ft_shape result = {left->rank,
                       {left->sections[0].extent, left->rank > 1 ? left->sections[1].extent : NULL}};
    nest loops;
    if (!begin_nest(walker, &loops, &result, NULL, &statement->place)) return false;
    ft_reference copy = *left;
    if (!fm_ft_touch(walker, true, &copy, &loops.positions) || !fm_ft_flush(walker, &statement->place, true))
        return false;
    end_nest(walker, &loops);
    /* Dimensions of the loops, innermost first: row, product, column. */
    bool rows = a.rank == 2, columns = b.rank == 2;
    ft_shape shape = {0};
    if (rows) shape.extents[shape.rank++] = left->sections[0].extent;
    unsigned k = shape.rank;
    shape.extents[shape.rank++] = b.sections[0].extent;
    if (columns) shape.extents[shape.rank++] = left->sections[left->rank - 1].extent;
    if (!begin_nest(walker, &loops, &shape, NULL, &statement->place)) return false;
    const fm_form *const *at = loops.positions.at;
    const fm_form *row = rows ? at[0] : NULL, *column = columns ? at[k + 1] : NULL;
    const fm_form *result_first = rows ? row : column, *result_second = rows ? column : NULL;
    bool done = touch_at(walker, false, left, result_first, result_second) &&
                touch_at(walker, false, &a, rows ? row : at[k], rows ? at[k] : NULL) &&
                touch_at(walker, false, &b, at[k], column) &&
                touch_at(walker, true, left, result_first, result_second);
    bool whole = a.layout.base == FT_INTEGER_TYPE;
    *(whole ? &walker->operations.integers : &walker->operations.multiplies) += 1;
    *(whole ? &walker->operations.integers : &walker->operations.adds) += 1;
    if (!done || !fm_ft_flush(walker, &statement->place, true)) return false;
    end_nest(walker, &loops);
    return true;
}

/* ---- assignments ---- */

bool fm_ft_array_assignment(ft_walker *walker, const ft_statement *statement, const ft_reference *left)
{
    const ft_expression *right = statement->right;
    if (right->kind == FT_X_INDEX && right->left->kind == FT_X_NAME &&
        strcmp(right->left->text, "matmul") == 0 && !fm_ft_is_variable(walker, right))
        return matrix_product(walker, statement, left);
    ft_shape shape = {left->rank, {0}}, other;
    const fm_form *first[FT_MOST_RANK] = {0};
    if (!check_overlap(walker, right, left, false) || !shape_of_expression(walker, right, &other))
        return false;
    for (unsigned i = 0; i < left->rank; i++) {
        const ft_section *section = &left->sections[i];
        int64_t difference;
        shape.extents[i] = section->extent;
        if (section->stride == 1) first[i] = left->subscripts[section->dimension];
        if (other.rank == left->rank && other.extents[i] && section->extent &&
            fm_form_difference(&walker->front, other.extents[i], section->extent, &difference) && difference)
            return fm_ft_fail(walker->context, FM_E_FORMAT, &statement->place,
                              "the two sides have different extents in dimension %u", i + 1);
    }
    nest loops;
    ft_base base;
    ft_reference target = *left;
    if (!begin_nest(walker, &loops, &shape, first, &statement->place) ||
        !fm_ft_data(walker, right, &loops.positions, &base) ||
        !fm_ft_touch(walker, true, &target, &loops.positions) ||
        !fm_ft_flush(walker, &statement->place, true))
        return false;
    end_nest(walker, &loops);
    return true;
}

/* ---- sums over arrays ---- */

static void count_reduction(ft_walker *walker, const char *name, ft_base base)
{
    fm_region_operations *operations = &walker->operations;
    uint64_t factor = base == FT_COMPLEX_TYPE ? 2 : 1;
    if (base == FT_INTEGER_TYPE) {
        operations->integers += name[0] == 'd' ? 2 : 1;
    } else if (strcmp(name, "product") == 0) {
        operations->multiplies += factor * factor;
        operations->adds += factor == 2 ? 2 : 0;
    } else {
        operations->adds += name[0] == 'd' && factor == 2 ? 4 : factor;
        if (name[0] == 'd') operations->multiplies += factor * factor;
    }
}

bool fm_ft_reduction(ft_walker *walker, const ft_expression *call, ft_base *base)
{
    const char *name = call->left->text;
    const ft_expression *argument = call->arguments, *second = argument->next;
    bool dot = strcmp(name, "dot_product") == 0;
    if (argument->kind == FT_X_KEYWORD || dot != (second != NULL) || (second && second->next))
        return fm_ft_refuse(walker->context, &call->place,
                            "'%.60s' of this form is not followed: only of whole arrays and sections", name);
    ft_shape shape;
    nest loops;
    if (!shape_of_expression(walker, argument, &shape)) return false;
    if (!shape.rank)
        return fm_ft_refuse(walker->context, &call->place, "'%.60s' of something that is no array", name);
    /* What the statement has loaded so far comes before. */
    if (!fm_ft_flush(walker, &walker->statement, false)) return false;
    ft_place place = walker->statement;
    if (!begin_nest(walker, &loops, &shape, NULL, &call->place) ||
        !fm_ft_data(walker, argument, &loops.positions, base))
        return false;
    ft_base other;
    if (second && !fm_ft_data(walker, second, &loops.positions, &other)) return false;
    count_reduction(walker, name, *base);
    bool done = fm_ft_flush(walker, &call->place, true);
    if (done) end_nest(walker, &loops);
    walker->statement = place;
    return done;
}
