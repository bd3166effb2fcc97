/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_oracle_closed_forms.c - every engine against traces whose distances are known in closed form, at
 * sizes that the list engine could not judge. The same with 10^8 references: bench/bench_engines
 * closed-forms. FATHOM_TEST_REFERENCES asks for more here.
 */
#include "case.h"

#include "oracle/closed_forms.h"
#include "oracle/trace_recipe.h"

#include <string.h>

static uint64_t references_wanted(void)
{
    const char *text = getenv("FATHOM_TEST_REFERENCES");
    return text && *text ? strtoull(text, NULL, 0) : 400000;
}

static void check_engine(const fm_engine_ops *ops, const char *isa)
{
    static const uint64_t keys[] = {1, 2, 33, 449, 4096, 16385, 65537, 100000};
    uint64_t references = references_wanted();
    for (size_t f = 0; f < CLOSED_FORMS; f++) {
        for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++) {
            if (f >= 2 && k > 0 && k < 6)
                continue; /* the keys of the others are not so many: only the bound is */
            fm_engine_options options = {.seed = 42 + k, .isa = isa, .time_distances = k % 2 == 0};
            assert_int_equal(closed_form_check(&closed_forms[f], ops, options, keys[k], references), 0);
            options.bound = keys[k] / 2 + 1;
            options.first_time = UINT64_MAX - references / 2;
            assert_int_equal(closed_form_check(&closed_forms[f], ops, options, keys[k], references / 4), 0);
        }
    }
}

CASE(test_tree)
{
    check_engine(&fm_engine_tree, NULL);
}

CASE(test_exact)
{
    assert_non_null(fm_isa_at(0));
    for (size_t i = 0; fm_isa_at(i); i++) check_engine(&fm_engine_exact, fm_isa_at(i));
}

/* The list engine only where it can: short, to check the forms themselves. */
CASE(test_list)
{
    for (size_t f = 0; f < CLOSED_FORMS; f++)
        for (uint64_t keys = 1; keys < 300; keys += 7) {
            fm_engine_options options = {
                .seed = 1, .time_distances = true, .bound = keys % 3 ? 0 : keys / 2 + 1};
            assert_int_equal(closed_form_check(&closed_forms[f], &fm_engine_list, options, keys, 2000), 0);
        }
}

/* A clock that passes 2^32 and 2^64 in the middle of the trace. */
CASE(test_clock_edges)
{
    static const uint64_t edges[] = {UINT64_C(1) << 31, UINT64_C(1) << 32, UINT64_C(1) << 63, 0};
    const uint64_t length = few_rounds(200000);
    for (size_t e = 0; e < 4; e++)
        for (uint64_t before = 0; before < length; before += length / 3)
            for (size_t f = 0; f < 2; f++) {
                fm_engine_options options = {
                    .seed = 1, .time_distances = true, .first_time = edges[e] - before};
                assert_int_equal(closed_form_check(&closed_forms[f], &fm_engine_tree, options, 5000, length),
                                 0);
                for (size_t i = 0; fm_isa_at(i); i++) {
                    options.isa = fm_isa_at(i);
                    assert_int_equal(
                        closed_form_check(&closed_forms[f], &fm_engine_exact, options, 5000, length), 0);
                }
            }
}
