/* SPDX-License-Identifier: Apache-2.0 */
/* wishes.h - what of a program's references is wanted, as the decoders need to know it. */
#ifndef FATHOM_COLLECT_WISHES_H
#define FATHOM_COLLECT_WISHES_H

#include <stdbool.h>

typedef struct fm_wishes {
    bool loads, stores; /* accesses that do both are wanted when either is */
    bool no_stack;
    bool tags;            /* sites are told apart */
    bool paths;           /* by the calls that led there, too */
    const char *function; /* only inside of it; NULL: always */
    const char *region;   /* likewise */
} fm_wishes;

#endif
