/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fortran_sections.c - assignments of arrays and sections as loops, in the order of array elements (the first
 * dimension is the innermost loop); sums over arrays; products of matrices.
 *
 * The right side is worked out before anything is stored. Where a loop could read what it has stored already,
 * a compiler makes a temporary array: that is refused.
 */
#include "static/fortran/fortran_walker.h"

#include <string.h>

/* ---- shapes ---- */

static bool variable_shape(ft_walker *walker, const ft_expression *expression, ft_shape *shape)
{
    ft_reference reference;
    if (!fm_ft_resolve(walker, expression, &reference)) return false;
    shape->rank = reference.rank;
    for (unsigned i = 0; i < reference.rank; i++) shape->extents[i] = reference.sections[i].extent;
    return true;
}

bool fm_ft_shape_of(ft_walker *walker, const ft_expression *expression, ft_shape *shape)
{
    *shape = (ft_shape){0};
    if (walker->context->status != FM_OK) return false;
    switch (expression->kind) {
    case FT_X_UNARY:
    case FT_X_KEYWORD:
        return fm_ft_shape_of(walker, expression->left, shape);
    case FT_X_BINARY:
        return fm_ft_shape_of(walker, expression->left, shape) &&
               (shape->rank || fm_ft_shape_of(walker, expression->right, shape));
    case FT_X_NAME:
    case FT_X_MEMBER:
        return variable_shape(walker, expression, shape);
    case FT_X_INDEX:
        if (fm_ft_is_variable(walker, expression)) return variable_shape(walker, expression, shape);
        if (strcmp(expression->left->text, "transpose") == 0 && expression->arguments) {
            if (!fm_ft_shape_of(walker, expression->arguments, shape)) return false;
            const fm_form *swap = shape->extents[0];
            shape->extents[0] = shape->extents[1];
            shape->extents[1] = swap;
            return true;
        }
        if (!fm_ft_is_elemental(expression->left->text)) return true;
        for (const ft_expression *a = expression->arguments; a && !shape->rank; a = a->next)
            if (!fm_ft_shape_of(walker, a, shape)) return false;
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
        if (!references_overlap(walker, left, &reference) && !(moved && reference.memory == left->memory)) return true;
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
    if (!check_overlap(walker, right, left, false) || !fm_ft_shape_of(walker, right, &other)) return false;
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
    if (!fm_ft_shape_of(walker, argument, &shape)) return false;
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
