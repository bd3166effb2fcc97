/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compiler_line.h - what a compiler's command line asks for, as far as `fathom cc` must know: whether it
 * compiles, links, and what; which options would not go together with instrumentation.
 */
#ifndef FATHOM_COMPILE_COMPILER_LINE_H
#define FATHOM_COMPILE_COMPILER_LINE_H

#include <stdbool.h>
#include <stddef.h>

typedef struct compiler_line {
    bool inputs;    /* there is at least one: else the compiler only answers a question */
    bool sources;   /* … that is compiled, and not assembled or linked only */
    bool assembles; /* … an assembler file is among them */
    bool question;  /* -E, -M, --version, -print-…: nothing is made of the inputs */
    bool no_link;   /* -c, -S, -fsyntax-only */
    bool shared, is_static, relocatable; /* what is linked: -shared; -static, -static-pie; -r */
    bool no_libc;                        /* -nostdlib or -nodefaultlibs … */
    bool libc_named;                     /* … but -lc */
    bool cxx_named;                      /* -lstdc++ */
    bool freestanding;                   /* -ffreestanding */
    bool debug_chosen;                   /* some -g option */
    bool lto;
    bool openmp;        /* -fopenmp, or -fopenmp-simd */
    bool pic;           /* -fPIC: for shared libraries */
    bool intel;         /* -masm=intel */
    bool pipe;          /* -pipe */
    bool checks;        /* -fsanitize=… of another kind, undefined behaviour for one */
    bool other_word;    /* -m32 or -mx32 */
    char sanitizer[64]; /* one that has a runtime of its own, in the way of ours; "" */
} compiler_line;

/* Reads the arguments, those in response files (@FILE) too. False: out of memory. */
bool fm_compiler_line_read(compiler_line *line, int count, char *const *arguments);

#endif
