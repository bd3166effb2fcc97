/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * markers.h - marks regions of a program, for `fathom run --region NAME`. Includes nothing, needs no library,
 * works in C and C++ with gcc and clang.
 *
 *     #include <fathom/markers.h>
 *
 *     FATHOM_BEGIN("solve");
 *     solve();
 *     FATHOM_END;
 *
 * Regions nest; FATHOM_END ends the innermost one of the thread. Outside of fathom a marker costs a few
 * instructions and does nothing: on x86-64 it is the sequence by which programs talk to Valgrind, which
 * computes nothing on a real processor, and a test whether the runtime of `fathom cc` is there. On other
 * processors only the test remains.
 *
 * Neither marker makes an access inside its own region. (An outer region sees the few of an inner BEGIN.)
 */
#ifndef FATHOM_MARKERS_H
#define FATHOM_MARKERS_H

#ifdef __cplusplus
extern "C" {
#endif

/* Defined by the runtime of `fathom cc`, and nowhere else. */
extern void fathom_region_begin(const char *name) __attribute__((weak));
extern void fathom_region_end(void) __attribute__((weak));

#if defined(__x86_64__) && defined(__LP64__)
/* Valgrind's magic sequence for a client request (valgrind.h, "VALGRIND_DO_CLIENT_REQUEST_EXPR"). */
static inline __attribute__((always_inline)) void fathom_marker_request(const void *arguments)
{
    unsigned long result = 0;
    __asm__ volatile("rolq $3, %%rdi; rolq $13, %%rdi; rolq $61, %%rdi; rolq $51, %%rdi; xchgq %%rbx, %%rbx"
                     : "+d"(result)
                     : "a"(arguments)
                     : "cc", "memory");
    (void)result;
}
#endif

static inline __attribute__((always_inline)) void fathom_marker_begin(const char *name)
{
#if defined(__x86_64__) && defined(__LP64__)
    /* 'F', 'M', 1: see collect/valgrind/vg_main.c. Written before either collector's region begins. */
    const unsigned long arguments[2] = {0x464D0001UL, (unsigned long)name};
    __asm__ volatile("" : : "r"(arguments) : "memory");
#endif
    if (fathom_region_begin) fathom_region_begin(name);
#if defined(__x86_64__) && defined(__LP64__)
    fathom_marker_request(arguments);
#endif
}

static inline __attribute__((always_inline)) void fathom_marker_end(void)
{
#if defined(__x86_64__) && defined(__LP64__)
    static const unsigned long arguments[1] = {0x464D0002UL};
    fathom_marker_request(arguments);
#endif
    if (fathom_region_end) fathom_region_end();
}

#ifdef __cplusplus
}
#endif

#define FATHOM_BEGIN(name) fathom_marker_begin(name)
#define FATHOM_END fathom_marker_end()

#endif
