/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_static_front_middle.c - what all front ends share: forms against numbers (random sums, products,
 * quotients and minima, worked out for random values of their atoms), conditions, assumptions, and the text
 * of a small region.
 */
#include "case.h"
#include "random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "static/front/front_middle.h"

static char told[600]; /* the first failure */
static unsigned faults;

static void note_failure(fm_front *f, fm_status status, const fm_front_place *where, const char *reason)
{
    (void)f;
    (void)where;
    (void)status;
    if (!told[0]) snprintf(told, sizeof told, "%s", reason);
}

static void note_fault(fm_front *f, fm_form_fault fault)
{
    (void)f;
    (void)fault;
    faults++;
}

static void no_memory(fm_front *f, size_t bytes)
{
    (void)f;
    fail_msg("no memory for %zu bytes", bytes);
}

static fm_front *begin(bool as_made)
{
    fm_front *f = calloc(1, sizeof *f);
    f->arena = fm_arena_create();
    f->fail = note_failure;
    f->fault = note_fault;
    f->no_memory = no_memory;
    f->as_made = as_made;
    f->most_degree = 4;
    f->most_nested = 20;
    told[0] = '\0';
    faults = 0;
    return f;
}

static void end(fm_front *f)
{
    fm_arena_destroy(f->arena);
    free(f);
}

/* ---- forms ---- */

enum { ATOMS = 5 };
static int64_t values[ATOMS];

static int64_t worth(const fm_form *form);

static int64_t worth_of_atom(const fm_atom *a)
{
    if (!a->left) return values[a->name[0] - 'a'];
    const int64_t left = worth(a->left), right = worth(a->right);
    if (a->kind == FM_ATOM_MIN || a->kind == FM_ATOM_MAX)
        return (left < right) == (a->kind == FM_ATOM_MIN) ? left : right;
    return fm_form_divided(a->kind, left, right);
}

static int64_t worth(const fm_form *form)
{
    int64_t sum = form->constant;
    for (size_t i = 0; i < form->count; i++) {
        int64_t product = form->terms[i].factor;
        assert_int_not_equal(product, 0);
        for (unsigned k = 0; k < form->terms[i].product->degree; k++)
            product *= worth_of_atom(form->terms[i].product->atoms[k]);
        sum += product;
    }
    return sum;
}

/* A random form, and what it is worth. */
static const fm_form *make(fm_front *f, fm_atom *const *atoms, uint64_t *dice, unsigned depth, int64_t *value)
{
    static const fm_atom_kind divisions[] = {FM_ATOM_QUOTIENT, FM_ATOM_REMAINDER, FM_ATOM_FLOOR,
                                             FM_ATOM_MODULO};
    const uint64_t form = depth ? random_from(dice) % 8 : random_from(dice) % 2;
    const size_t which = random_from(dice) % ATOMS;
    const int64_t number = (int64_t)(random_from(dice) % 7) - 3,
                  divisor = 1 + (int64_t)(random_from(dice) % 4);
    int64_t left, right;
    if (form == 0) {
        *value = number;
        return fm_form_number(f, number);
    }
    if (form == 1) {
        *value = values[which];
        return fm_form_atom(f, atoms[which]);
    }
    const fm_form *one = make(f, atoms, dice, depth - 1, &left);
    if (form == 2) {
        const fm_atom_kind kind = divisions[random_from(dice) % 4];
        *value = fm_form_divided(kind, left, divisor);
        return fm_form_divide(f, kind, one, fm_form_number(f, divisor));
    }
    const fm_form *other = make(f, atoms, dice, depth - 1, &right);
    if (form == 3 || form == 4) {
        *value = form == 3 ? left + right : left - right;
        return form == 3 ? fm_form_add(f, one, other) : fm_form_subtract(f, one, other);
    }
    if (form == 5) {
        *value = (left < right) ? left : right;
        return fm_form_extremum(f, FM_ATOM_MIN, one, other);
    }
    const fm_form *product = fm_form_multiply(f, one, other);
    *value = product ? left * right : left + number * right;
    return product ? product : fm_form_plus(f, one, other, number); /* of too high a degree */
}

CASE(forms_are_worth_what_they_say)
{
    uint64_t dice = 5;
    for (unsigned turn = 0; turn < 400; turn++) {
        fm_front *f = begin(turn % 2);
        fm_atom *atoms[ATOMS];
        for (size_t i = 0; i < ATOMS; i++) {
            const char name[] = {(char)('a' + i), '\0'};
            values[i] = (int64_t)(random_from(&dice) % 21) - 10;
            atoms[i] = fm_atom_new(f, i % 2 ? FM_ATOM_LOOP : FM_ATOM_PARAMETER, fm_front_text(f, "%s", name));
        }
        int64_t value, other;
        const fm_form *form = make(f, atoms, &dice, 4, &value), *factor, *rest;
        assert_int_equal(worth(form), value);
        /* What is taken away from itself is nothing; what is split is the same together. */
        assert_true(fm_form_is_number(fm_form_subtract(f, form, form), &other) && other == 0);
        if (fm_form_split(f, form, atoms[1], &factor, &rest))
            assert_int_equal(worth(factor) * values[1] + worth(rest), value);
        const fm_replacement nine = {atoms[2], fm_form_number(f, 9)};
        const fm_form *replaced = fm_form_replace(f, form, &nine, 1);
        if (replaced) {
            values[2] = 9;
            assert_int_equal(worth(replaced), worth(form));
            assert_false(fm_form_mentions(replaced, atoms[2]));
        }
        assert_string_equal(told, "");
        end(f);
    }
}

CASE(numbers_beyond_64_bits_are_a_fault)
{
    fm_front *f = begin(false);
    const fm_form *n = fm_form_atom(f, fm_atom_new(f, FM_ATOM_PARAMETER, "n"));
    assert_null(fm_form_scale(f, fm_form_scale(f, n, INT64_MAX), 2));
    assert_null(fm_form_add(f, fm_form_number(f, INT64_MAX), fm_form_number(f, 1)));
    assert_int_equal(faults, 2);
    assert_null(fm_form_divide(f, FM_ATOM_FLOOR, n, fm_form_number(f, 0)));
    assert_null(fm_form_add(f, NULL, n));
    f->most_terms = 1;
    assert_null(fm_form_add(f, n, fm_form_atom(f, fm_atom_new(f, FM_ATOM_PARAMETER, "m"))));
    assert_int_equal(faults, 3);
    end(f);
}

CASE(text_is_sorted_or_as_it_was_made)
{
    for (int as_made = 0; as_made < 2; as_made++) {
        fm_front *f = begin(as_made);
        const fm_form *n = fm_form_atom(f, fm_atom_new(f, FM_ATOM_PARAMETER, "n")),
                      *i = fm_form_atom(f, fm_atom_new(f, FM_ATOM_LOOP, "i"));
        const fm_form *sum = fm_form_plus(f, fm_form_scale(f, n, -1), fm_form_multiply(f, i, n), 2);
        assert_string_equal(fm_form_text(f, fm_form_add_number(f, sum, -3)),
                            as_made ? "-n + 2 * n * i - 3" : "2 * n * i - n - 3");
        assert_string_equal(fm_form_text(f, fm_form_divide(f, FM_ATOM_QUOTIENT, sum, fm_form_number(f, 4))),
                            as_made ? "((-n + 2 * n * i) / (4))" : "((2 * n * i - n) / (4))");
        assert_true(fm_form_equal(fm_form_multiply(f, i, n), fm_form_multiply(f, n, i)));
        end(f);
    }
}

/* ---- conditions ---- */

CASE(conditions_are_decided_or_as_written)
{
    fm_front *f = begin(false);
    const fm_form *n = fm_form_atom(f, fm_atom_new(f, FM_ATOM_PARAMETER, "n")),
                  *m = fm_form_atom(f, fm_atom_new(f, FM_ATOM_PARAMETER, "m"));
    const fm_guard *less = fm_guard_compare(f, "<", fm_form_subtract(f, n, m));
    assert_string_equal(fm_guard_text(f, less), "m >= n + 1");
    assert_string_equal(fm_guard_text(f, fm_guard_not(f, less)), "n >= m");
    assert_int_equal(fm_guard_compare(f, ">=", fm_form_number(f, 0))->kind, FM_GUARD_TRUE);
    assert_ptr_equal(fm_guard_join(f, FM_GUARD_AND, fm_guard_constant(f, true), less), less);
    const fm_guard *written = fm_guard_compared(f, "<", n, m);
    assert_string_equal(fm_guard_text(f, written), "n < m");
    assert_true(fm_guard_equal(written, less));
    const fm_guard *none = fm_guard_joined(f, FM_GUARD_NOT, written, NULL);
    assert_string_equal(fm_guard_text(f, fm_guard_joined(f, FM_GUARD_OR, none, less)),
                        "(not (n < m)) or (m >= n + 1)");
    assert_int_equal(none->left->size, strlen("n < m"));
    end(f);
}

/* How often a loop runs, by what its condition says, and by running it. */
CASE(loops_end_where_their_condition_says)
{
    enum { MOST = 40 };
    static const char *const signs[] = {"<", "<=", ">", ">=", "!="};
    for (int64_t factor = -3; factor <= 3; factor++)
        for (int64_t rest = -7; rest <= 7; rest++)
            for (int64_t step = -2; step <= 2; step++)
                for (size_t k = 0; k < 5 && step != 0; k++) {
                    fm_front *f = begin(false);
                    const fm_atom *i = fm_atom_new(f, FM_ATOM_LOOP, "i");
                    const fm_form *value =
                        fm_form_add_number(f, fm_form_scale(f, fm_form_atom(f, i), factor), rest);
                    const fm_guard *goes_on = fm_guard_compare(f, signs[k], value);
                    const char *why;
                    fm_trips trips;
                    int64_t last, runs = 0, told_runs = 0;
                    for (int64_t at = 2; runs < MOST; at += step, runs++) {
                        const int64_t now = factor * at + rest;
                        if (!(k == 0   ? now < 0
                              : k == 1 ? now <= 0
                              : k == 2 ? now > 0
                              : k == 3 ? now >= 0
                                       : now != 0))
                            break;
                    }
                    const bool known =
                        fm_front_trips(f, goes_on, i, fm_form_number(f, 2), step, true, &trips, &why);
                    if (known && trips.guard && trips.guard->kind == FM_GUARD_FALSE)
                        assert_int_equal(runs, 0);
                    else if (known && !trips.last) /* for ever */
                        assert_int_equal(runs, MOST);
                    if (known && trips.last && !trips.guard) {
                        assert_true(fm_form_is_number(trips.last, &last));
                        for (int64_t at = 2; step > 0 ? at <= last : at >= last; at += step) told_runs++;
                        assert_int_equal(told_runs, runs);
                    }
                    if (k < 4) assert_true(known);
                    end(f);
                }
}

/* ---- assumptions ---- */

CASE(assumptions_are_understood)
{
    static const char *const texts[] = {"if at 7 both",
                                        "loop at 9 runs  N  times",
                                        "while runs 12 times",
                                        "A is matrix[n][4]",
                                        "Idx is identity",
                                        "k is permutation of 1..n",
                                        NULL};
    for (int any_case = 0; any_case < 2; any_case++) {
        fm_front *f = begin(false);
        f->any_case = any_case;
        assert_true(fm_assumptions_read(f, texts));
        assert_int_equal(fm_assumptions_find(f, FM_ASSUME_IF, 7, NULL)->outcome, FM_OUTCOME_BOTH);
        assert_null(fm_assumptions_find(f, FM_ASSUME_IF, 8, NULL));
        assert_string_equal(fm_assumptions_find(f, FM_ASSUME_LOOP, 9, NULL)->amounts[0].name,
                            any_case ? "n" : "N");
        assert_false(fm_assumptions_check(f));
        assert_string_equal(told, "the assumption 'while runs 12 times' is about nothing in the region");
        assert_int_equal(fm_assumptions_find(f, FM_ASSUME_LOOP, 30, NULL)->amounts[0].number, 12);
        const fm_assumption *matrix = fm_assumptions_find(f, FM_ASSUME_MATRIX, 0, any_case ? "a" : "A");
        assert_int_equal(matrix->amounts[1].number, 4);
        assert_false(fm_assumptions_find(f, FM_ASSUME_IDENTITY, 0, any_case ? "idx" : "Idx")->permutation);
        assert_true(fm_assumptions_find(f, FM_ASSUME_IDENTITY, 0, "k")->permutation);
        assert_true(fm_assumptions_check(f));
        told[0] = '\0';
        assert_null(fm_assumptions_find(f, FM_ASSUME_LOOP, 31, NULL));
        assert_non_null(strstr(told, "is about several loops, in lines 30 and 31"));
        end(f);
    }
}

CASE(assumptions_that_are_not_understood)
{
    static const char *const wrong[] = {"it rains", "if at 3 perhaps", "loop at 3 runs times",
                                        "A is matrix[n]", "loop at 3 runs n + 1 times"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        fm_front *f = begin(false);
        assert_false(fm_assumptions_read(f, (const char *const[]){wrong[i], NULL}));
        assert_non_null(strstr(told, i == 4 ? "needs a number or a name" : "is not understood"));
        end(f);
    }
}

/* ---- the region ---- */

CASE(a_region_is_printed)
{
    fm_front *f = begin(false);
    fm_front_file file = {.path = "a\"b.x"};
    fm_front_list region;
    fm_front_list_begin(&region);
    fm_atom *n = fm_atom_new(f, FM_ATOM_PARAMETER, "n"), *i = fm_atom_new(f, FM_ATOM_LOOP, "n");
    fm_atom_new(f, FM_ATOM_PARAMETER, "unused");
    fm_front_node *loop = fm_front_node_new(f, FM_FRONT_LOOP, &(fm_front_place){&file, 3, 5}),
                  *inside = fm_front_node_new(f, FM_FRONT_STATEMENT, &(fm_front_place){&file, 4, 0});
    loop->variable = i;
    loop->first = fm_form_number(f, 0);
    loop->last = fm_form_add_number(f, fm_form_atom(f, n), -1);
    loop->step = 2;
    const fm_front_array like = {
        .name = fm_front_free_name(f, "n", false), .rank = 1, .extents = {fm_form_atom(f, n)}, .bytes = 8};
    fm_front_array *array = fm_front_array_add(f, &like);
    const fm_form *at = fm_form_atom(f, i);
    fm_front_touch *touch = fm_front_touch_new(f, inside, true, array, &at);
    touch->bytes = 4;
    inside->operations.adds = 1;
    fm_front_append(&loop->body, inside);
    fm_front_append(&region, loop);
    fm_front_note(f, "once");
    fm_front_note(f, "once");
    assert_true(fm_front_check(f, &region));
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_true(fm_front_print(f, &region, &(fm_front_function){"f", &file, 1, 9}, out));
    fclose(out);
    assert_string_equal(
        text, "fathom-region 1\nfile 1 \"a\\\"b.x\"\nfunction \"f\" @1:1-9\nparam n\nnote \"once\"\n"
              "array n.2[n] of 8\n\nfor n.2 = 0 to n - 1 step 2 @1:3:5 {\n"
              "  do adds 1 @1:4 { store n.2[n.2] member 0 4 }\n}\n");
    free(text);
    /* A product of two loops' variables is not affine. */
    touch->subscripts[0] = fm_form_multiply(f, at, fm_form_atom(f, fm_atom_new(f, FM_ATOM_LOOP, "k")));
    assert_false(fm_front_check(f, &region));
    assert_non_null(strstr(told, "is not affine: it multiplies"));
    end(f);
}
