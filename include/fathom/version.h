/* SPDX-License-Identifier: Apache-2.0 */
/*
 * version.h - which libfathom this is: at compile time, and at run time. The build takes the version from
 * here. What the numbers promise is in docs/LIBRARY.md.
 */
#ifndef FATHOM_VERSION_H
#define FATHOM_VERSION_H

#include <fathom/status.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FM_VERSION_MAJOR 0
#define FM_VERSION_MINOR 1
#define FM_VERSION_PATCH 0
/* 0.1.0 is 100: a number to compare with, in #if too. */
#define FM_VERSION_NUMBER (FM_VERSION_MAJOR * 10000 + FM_VERSION_MINOR * 100 + FM_VERSION_PATCH)

/* The library's own, which may be another one than the headers' that a program was compiled with: "0.1.0" …
 */
FM_API const char *fm_version(void);
/* … and as a number. */
FM_API unsigned fm_version_number(void);

#ifdef __cplusplus
}
#endif
#endif
