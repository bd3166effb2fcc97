/* SPDX-License-Identifier: Apache-2.0 */
/*
 * case.h - cmocka's cases, each registered where it is written. A test program includes this header once, and
 * has no list of its cases and no main:
 *
 *     CASE(bins_number_without_gaps)
 *     {
 *         assert_int_equal(…);
 *     }
 *
 * Cases run in the order in which they are written. Further forms:
 *
 *     CASE_WITH(name, setup, teardown) { … }             with a state of its own, in `state`
 *     CASE_AGAIN("other name", name, setup, teardown);   the same case in other surroundings
 *     CASES_WITH(setup, teardown);                       once, around all cases of the program
 *     BEFORE_CASES { … }                                 argc and argv as of main; to return 0 or more ends
 * the program with that, below 0 the cases are run
 */
#ifndef FATHOM_TESTS_CASE_H
#define FATHOM_TESTS_CASE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct {
    struct CMUnitTest list[128];
    size_t count;
    CMFixtureFunction setup, teardown;
    int (*before)(int argc, char **argv);
} all_cases;

static inline void case_register(const char *name, CMUnitTestFunction function, CMFixtureFunction setup,
                                 CMFixtureFunction teardown)
{
    if (all_cases.count == sizeof all_cases.list / sizeof *all_cases.list) abort();
    all_cases.list[all_cases.count++] = (struct CMUnitTest){name, function, setup, teardown, NULL};
}

#define CASE_NAMED(name, setup, teardown, parameter)                                                         \
    static void name(void **parameter);                                                                      \
    __attribute__((constructor)) static void case_register_##name(void)                                      \
    {                                                                                                        \
        case_register(#name, name, setup, teardown);                                                         \
    }                                                                                                        \
    static void name(__attribute__((unused)) void **parameter)
#define CASE(name) CASE_NAMED(name, NULL, NULL, no_state)
#define CASE_WITH(name, setup, teardown) CASE_NAMED(name, setup, teardown, state)

#define CASE_AGAIN(title, name, setup, teardown)                                                             \
    __attribute__((constructor)) static void case_again_##name(void)                                         \
    {                                                                                                        \
        case_register(title, name, setup, teardown);                                                         \
    }                                                                                                        \
    struct case_again_##name /* takes the semicolon */

#define CASES_WITH(first, last)                                                                              \
    __attribute__((constructor)) static void cases_surrounded(void)                                          \
    {                                                                                                        \
        all_cases.setup = first;                                                                             \
        all_cases.teardown = last;                                                                           \
    }                                                                                                        \
    struct cases_surrounded /* takes the semicolon */

#define BEFORE_CASES                                                                                         \
    static int before_cases(int argc, char **argv);                                                          \
    __attribute__((constructor)) static void cases_prepared(void)                                            \
    {                                                                                                        \
        all_cases.before = before_cases;                                                                     \
    }                                                                                                        \
    static int before_cases(__attribute__((unused)) int argc, __attribute__((unused)) char **argv)

int main(int argc, char **argv)
{
    if (all_cases.before) {
        int code = all_cases.before(argc, argv);
        if (code >= 0) return code;
    }
    const char *slash = strrchr(argv[0], '/');
    return _cmocka_run_group_tests(slash ? slash + 1 : argv[0], all_cases.list, all_cases.count,
                                   all_cases.setup, all_cases.teardown);
}

#endif
