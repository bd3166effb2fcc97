/* SPDX-License-Identifier: Apache-2.0 */
/* error.h - filling in an fm_error. Internal; the public side is fathom/status.h. */
#ifndef FATHOM_BASE_ERROR_H
#define FATHOM_BASE_ERROR_H

#include <fathom/status.h>

/* Fills *error (where not NULL) and returns status, so that callers can write `return fm_fail(…)`.
 * path may be NULL. */
fm_status fm_fail(fm_error *error, fm_status status, const char *path, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* The same with a place in the file. */
fm_status fm_fail_at(fm_error *error, fm_status status, const char *path, fm_place place, uint64_t offset,
                     const char *format, ...) __attribute__((format(printf, 6, 7)));
/* FM_E_NOMEM, saying how much was asked for and what for ("the hash table"). */
fm_status fm_fail_memory(fm_error *error, uint64_t bytes, const char *purpose);
/* FM_E_IO with the text of errno_value: "cannot open: No such file or directory". */
fm_status fm_fail_io(fm_error *error, const char *path, const char *verb, int errno_value);

/* FM_E_ARGUMENT: the function was given NULL for that argument. */
fm_status fm_fail_null(fm_error *error, const char *function, const char *argument);
/* At the beginning of every exported function that returns a status, for each handle and profile that it
 * takes: fathom.h promises it, and tests/install/null-handles.py looks. */
#define FM_REQUIRE(argument, error)                                                                          \
    do {                                                                                                     \
        if (!(argument)) return fm_fail_null(error, __func__, #argument);                                    \
    } while (0)

/* FM_E_ARGUMENT where a member of options (fm_analyzer_options.bins) is none of the values 0 to `most`. */
fm_status fm_check_choice(long long value, long long most, const char *member, fm_error *error);

/*
 * FM_ASSERT - an invariant of a table, ring, tree or cursor: false only by a fault of the library's own.
 * Checked where FATHOM_ASSERTIONS is defined (cmake -DFATHOM_ASSERTIONS=ON, and every build with a
 * sanitizer); elsewhere it costs nothing, and the condition is not evaluated. Never for input: that fails
 * with a status.
 */
#ifdef FATHOM_ASSERTIONS
#define FM_ASSERT(condition) ((condition) ? (void)0 : fm_assertion_failed(#condition, __FILE__, __LINE__))
void fm_assertion_failed(const char *condition, const char *file, int line) __attribute__((noreturn, cold));
#else
#define FM_ASSERT(condition) ((void)sizeof(!(condition)))
#endif

#endif
