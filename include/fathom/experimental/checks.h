/* SPDX-License-Identifier: Apache-2.0 */
/*
 * checks.h - what is asked of files and of profiles before something is done with them: whether one may be
 * written over, whether one can be true.
 */
#ifndef FATHOM_EXPERIMENTAL_CHECKS_H
#define FATHOM_EXPERIMENTAL_CHECKS_H

#include <fathom/profile.h>
#include <fathom/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Whether profiles, of one run at different granularities, keep the laws of docs/TESTING.md, as all do that
 * the library makes: that counts are the sums of their parts, that no distance is larger than there are
 * blocks, … For whoever fills or changes one. FM_E_INTERNAL names the law and the numbers. */
FM_API fm_status fm_profile_check(const fm_profile *const *profiles, size_t count, fm_error *error);

/* What a file is, by its first bytes. */
typedef enum fm_file_kind {
    FM_FILE_OTHER,    /* none of these; or it is not there, no regular file, or cannot be read */
    FM_FILE_PROFILE,  /* profile.h; with its phases, too */
    FM_FILE_TRACE,    /* of the native format (docs/FORMAT.md). Others cannot be told from any bytes */
    FM_FILE_MODEL,    /* predict.h */
    FM_FILE_RESULT,   /* JSON that fathom writes for other programs */
    FM_FILE_FORMULAS, /* static.h: with parameters that are open */
    FM_FILE_MACHINE,  /* machine.h */
    FM_FILE_PAGE,     /* HTML */
    FM_FILE_SOURCE,   /* C, C++, Fortran, or regions of `fathom static`, by its name's ending */
    FM_FILE_PROGRAM,  /* ELF */
} fm_file_kind;

/*
 * Looks at a file without waiting for it. text becomes words for people, "" of FM_FILE_OTHER: "a fathom
 * profile of ./program", "a fathom trace". It may hold what the file says of itself: it is shown by
 * fm_visible_text.
 */
FM_API fm_file_kind fm_file_look(const char *path, char *text, size_t size);

#ifdef __cplusplus
}
#endif
#endif
