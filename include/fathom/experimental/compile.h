/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compile.h - the command line by which a compiler builds a program that reports its own references, as
 * `fathom cc` does (collect/cc): for build systems, and for whoever starts compilers.
 *
 *     fm_error error;
 *     fm_compile *compile;
 *     char *arguments[] = {"-O2", "prog.c", "-o", "prog", NULL};
 *     if (fm_compile_create(&compile, fm_compiler_at(0), 4, arguments, &error)) return;
 *     for (char *const *word = fm_compile_words(compile); *word; word++) puts(*word); // or execvp
 *     fm_compile_destroy(compile);
 */
#ifndef FATHOM_EXPERIMENTAL_COMPILE_H
#define FATHOM_EXPERIMENTAL_COMPILE_H

#include <fathom/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A language: the verb of fathom, the variable of the environment that chooses the compiler, the compiler
 * otherwise, and its name for people. */
typedef struct fm_compiler {
    const char *verb, *variable, *usual, *what;
} fm_compiler;
FM_API const fm_compiler *fm_compiler_at(size_t index); /* C, C++, Fortran; NULL behind the last */

typedef struct fm_compile fm_compile;
/*
 * The whole command line: the compiler's words, what instruments, and the arguments, which must stay. The
 * compiler may be asked what it is. FM_E_ARGUMENT: an argument does not go together with instrumentation;
 * FM_E_UNSUPPORTED: there is no such compiler, or the runtime is missing.
 */
FM_API fm_status fm_compile_create(fm_compile **compile, const fm_compiler *compiler, int count,
                                   char *const *arguments, fm_error *error);
FM_API char *const *fm_compile_words(const fm_compile *compile); /* NULL at the end */
FM_API void fm_compile_destroy(fm_compile *compile);             /* NULL is fine */

#ifdef __cplusplus
}
#endif
#endif
