/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clang_conditions.c - comparisons, and, or, not, and ?:. A condition is one of formulas, or it depends on
 * data: then its loads have happened, in the order of the text, whether the program would have come so far or
 * not.
 */
#include "clang_maker.h"

#include <string.h>

static const fm_guard *compare_forms(fm_front *f, const char *sign, const fm_form *difference) /* left - right */
{
    const fm_form *one = fm_form_number(f, 1);
    if (strcmp(sign, ">=") == 0) return fm_guard_of(f, FM_GUARD_NOT_NEGATIVE, difference);
    if (strcmp(sign, ">") == 0)
        return fm_guard_of(f, FM_GUARD_NOT_NEGATIVE, fm_form_subtract(f, difference, one));
    if (strcmp(sign, "<=") == 0)
        return fm_guard_of(f, FM_GUARD_NOT_NEGATIVE, fm_form_scale(f, difference, -1));
    if (strcmp(sign, "<") == 0)
        return fm_guard_of(f, FM_GUARD_NOT_NEGATIVE,
                           fm_form_subtract(f, fm_form_scale(f, difference, -1), one));
    if (strcmp(sign, "==") == 0) return fm_guard_of(f, FM_GUARD_ZERO, difference);
    return fm_guard_of(f, FM_GUARD_NOT_ZERO, difference);
}

/* How many elements two pointers into one array are apart; NULL: not known. */
static const fm_form *pointers_apart(fm_front *f, const location *left, const location *right)
{
    const fm_form *sum = fm_form_number(f, 0), *stride = fm_form_number(f, 1);
    if (!left->array || left->array != right->array || left->offset != right->offset) return NULL;
    for (unsigned d = left->array->rank; d-- > 0;) {
        const fm_form *far =
            stride
                ? fm_form_multiply(f, stride, fm_form_subtract(f, left->subscripts[d], right->subscripts[d]))
                : NULL;
        if (!far) return NULL;
        sum = fm_form_add(f, sum, far);
        if (d > 0)
            stride = left->array->extents[d] ? fm_form_multiply(f, stride, left->array->extents[d]) : NULL;
    }
    return sum;
}

static const fm_guard *comparison_from(fm_front *f, CXCursor left, CXCursor right, const char *sign,
                                  const char **why)
{
    fm_region_operations before = operations_of(f) ? *operations_of(f) : (fm_region_operations){0};
    value l = evaluate(f, left), r = evaluate(f, right);
    if (l.kind == VALUE_POINTER && r.kind == VALUE_POINTER) {
        const fm_form *distance = pointers_apart(f, &l.at, &r.at);
        if (distance) return compare_forms(f, sign, distance);
        *why = fm_front_text(f, "'%s' and '%s' are pointers that cannot be compared", source_text(f, left),
                             source_text(f, right));
        return NULL;
    }
    if (l.kind == VALUE_INTEGER && r.kind == VALUE_INTEGER) {
        if (operations_of(f)) operations_of(f)->integers = before.integers;
        /* An unsigned number is never negative: n - 1 >= 0 goes on for ever. */
        int64_t number;
        if (is_unsigned(clang_getCursorType(left)) && strcmp(sign, ">=") == 0 &&
            fm_form_is_number(r.number, &number) && number == 0)
            return fm_guard_constant(f, true);
        return compare_forms(f, sign, fm_form_subtract(f, l.number, r.number));
    }
    CXType type = classify(clang_getCursorType(left)) == TYPE_FLOAT ? clang_getCursorType(left)
                                                                    : clang_getCursorType(right);
    count_operation(f, type, '+');
    const value *unknown = l.kind != VALUE_INTEGER ? &l : &r;
    *why = fm_front_text(f, "'%s'%s%s", source_text(f, unknown == &l ? left : right),
                         unknown->why ? ", " : "", unknown->why ? unknown->why : "");
    return NULL;
}

static bool joins_conditions(const char *sign)
{
    return strcmp(sign, "&&") == 0 || strcmp(sign, "||") == 0;
}

const fm_guard *condition_from(fm_front *f, CXCursor expression, const char **why)
{
    enum CXCursorKind kind = clang_getCursorKind(expression);
    cursors all = children(f, expression);
    if ((kind == CXCursor_ParenExpr || kind == CXCursor_UnexposedExpr) && all.count == 1 &&
        clang_isExpression(clang_getCursorKind(all.at[0])))
        return condition_from(f, all.at[0], why);
    if (kind == CXCursor_BinaryOperator && all.count == 2) {
        const char *sign = operator_between(f, all.at[0], all.at[1]);
        if (joins_conditions(sign)) {
            const fm_guard *left = condition_from(f, all.at[0], why),
                           *right = condition_from(f, all.at[1], why);
            if (!left || !right) return NULL;
            return fm_guard_join(f, sign[0] == '&' ? FM_GUARD_AND : FM_GUARD_OR, left, right);
        }
        if (is_comparison(sign)) return comparison_from(f, all.at[0], all.at[1], sign, why);
    }
    if (kind == CXCursor_UnaryOperator && all.count == 1 &&
        strcmp(operator_before(f, expression, all.at[0]), "!") == 0) {
        const fm_guard *of = condition_from(f, all.at[0], why);
        return of ? fm_guard_not(f, of) : NULL;
    }
    fm_region_operations before = operations_of(f) ? *operations_of(f) : (fm_region_operations){0};
    value v = evaluate(f, expression);
    if (v.kind == VALUE_INTEGER) {
        if (operations_of(f)) operations_of(f)->integers = before.integers;
        return fm_guard_of(f, FM_GUARD_NOT_ZERO, v.number);
    }
    *why = fm_front_text(f, "'%s'%s%s", source_text(f, expression), v.why ? ", " : "", v.why ? v.why : "");
    return NULL;
}

/* ---- ?: ---- */

/* A branch of ?:, aside: does it touch or compute anything? */
static value evaluate_aside(fm_front *f, CXCursor branch, bool *busy)
{
    fm_front_node *statement = f->statement, *tried = front_node(f, FM_FRONT_STATEMENT, branch);
    f->statement = tried;
    value v = evaluate(f, branch);
    *busy |= tried->accesses || tried->operations.adds || tried->operations.multiplies ||
             tried->operations.divides || tried->operations.specials || f->statement != tried;
    f->statement = statement;
    return v;
}

static value choose_value(fm_front *f, CXCursor expression, const cursors *all, const fm_guard *c)
{
    bool busy = false;
    for (const choice *made = f->own->choices; made; made = made->next)
        if (same(made->cursor, expression) && fm_guard_equal(made->condition, c))
            return evaluate(f, all->at[made->holds ? 1 : 2]);
    if (c->kind == FM_GUARD_TRUE || c->kind == FM_GUARD_FALSE)
        return evaluate(f, all->at[c->kind == FM_GUARD_TRUE ? 1 : 2]);
    state *now = f->own->now;
    f->own->now = state_copy(f, now);
    value yes = evaluate_aside(f, all->at[1], &busy);
    f->own->now = state_copy(f, now);
    value no = evaluate_aside(f, all->at[2], &busy);
    f->own->now = now;
    if (!busy) {
        value one = merge_values(f, expression, c, &yes, &no);
        if (one.kind != VALUE_UNSET) return one;
        if (yes.kind == VALUE_DATA && no.kind == VALUE_DATA) return yes;
    }
    fork_at(f, expression, expression, c);
}

/* One note for all of them. */
static void both_counted(fm_front *f, unsigned line)
{
    static const char start[] = "both sides of ?: are counted, as conditions depend on data: line";
    struct fm_front_lines *known = f->notes;
    while (known && strncmp(known->text, start, strlen(start)) != 0) known = known->next;
    if (!known) {
        fm_front_note(f, "%s %u", start, line);
        return;
    }
    const char *last = strrchr(known->text, ' '), *here = fm_front_text(f, " %u", line);
    if (!f->nowhere && strcmp(last, here) != 0) known->text = fm_front_text(f, "%s,%s", known->text, here);
}

value conditional(fm_front *f, CXCursor expression)
{
    const char *why = NULL;
    cursors all = children(f, expression);
    if (clang_getCursorKind(expression) != CXCursor_ConditionalOperator) {
        const fm_guard *c = condition_from(f, expression, &why);
        count_operation(f, clang_getCursorType(expression), '+');
        if (!c) return data(why);
        if (c->kind == FM_GUARD_TRUE || c->kind == FM_GUARD_FALSE)
            return integer(fm_form_number(f, c->kind == FM_GUARD_TRUE));
        return data("which is true or false");
    }
    if (all.count != 3) refuse(f, expression, "'%s' is not understood", source_text(f, expression));
    const fm_guard *c = condition_from(f, all.at[0], &why);
    if (c) return choose_value(f, expression, &all, c);
    both_counted(f, line_of(f, expression));
    value yes = evaluate(f, all.at[1]), no = evaluate(f, all.at[2]);
    if (value_equal(f, &yes, &no)) return yes;
    return data(fm_front_text(f, "which depends on %s", why));
}
