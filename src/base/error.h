/* SPDX-License-Identifier: Apache-2.0 */
/*
 * error.h - filling in an fm_error, invariants, notes, and structs of other versions. Internal; the public
 * side is fathom/status.h.
 */
#ifndef FATHOM_BASE_ERROR_H
#define FATHOM_BASE_ERROR_H

#include <fathom/status.h>
#include <stdarg.h>

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

/* ======== notes ======== */

/* What a reader of a result should know: lines, each once. */

/* Adds a line to *notes (NULL: none yet; to be freed), unless it is among them. A note is not worth failing
 * for: where memory is short, or there are 64 KiB of notes already, it is left out. */
void fm_notes_add(char **notes, const char *format, va_list arguments) __attribute__((format(printf, 2, 0)));

/* ======== structs that grow ======== */

/*
 * Structs of a program that was compiled with an older or a newer header (fathom/fathom.h says how
 * they grow). Every call whose name ends in _sized begins with one of these.
 */

/*
 * Copies what the program filled in, `given` of given_size bytes, into the library's own struct, and zeroes
 * what the program does not know of; NULL: all of it. FM_E_UNSUPPORTED where a newer program asks for
 * something that the library does not know; what it knows is copied all the same. name: of the struct, for
 * the message.
 */
fm_status fm_sized_read(void *own, size_t own_size, const void *given, size_t given_size, const char *name,
                        fm_error *error);

/* Copies a result into the program's struct, or back: what both know of. The rest is zeroed. */
void fm_sized_copy(void *to, size_t to_size, const void *from, size_t from_size);

/* ======== sizes that tests change ======== */

/*
 * Sizes that only tests set to anything else, so that short traces take the ways of long ones. In
 * the library they are constants: it has no state outside its handles. They are defined in files called
 * tunables.c, which are compiled once more for the tests (tests/CMakeLists.txt), as variables that are linked
 * instead.
 */

#ifdef FATHOM_TUNABLE
#define FM_TUNABLE
#else
#define FM_TUNABLE const
#endif

#endif
