/* SPDX-License-Identifier: Apache-2.0 */
/* filter.h - which references of a program are wanted, and with what beside them: for the decoders. */
#ifndef FATHOM_COLLECT_FILTER_H
#define FATHOM_COLLECT_FILTER_H

#include <stdbool.h>

typedef struct fm_collect_filter {
    bool loads, stores;
    bool no_stack;
    bool tags;            /* sites are told apart */
    bool paths;           /* by the calls that led there, too */
    const char *function; /* only inside of it; NULL: always */
    const char *region;   /* likewise */
} fm_collect_filter;

#endif
