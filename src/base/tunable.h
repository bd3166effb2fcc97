/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tunable.h - sizes that only tests set to anything else, so that short traces take the ways of long ones. In
 * the library they are constants: it has no state outside its handles. They are defined in files called
 * tunables.c, which are compiled once more for the tests (tests/CMakeLists.txt), as variables that are linked
 * instead.
 */
#ifndef FATHOM_BASE_TUNABLE_H
#define FATHOM_BASE_TUNABLE_H

#ifdef FATHOM_TUNABLE
#define FM_TUNABLE
#else
#define FM_TUNABLE const
#endif

#endif
