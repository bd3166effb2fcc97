/* SPDX-License-Identifier: Apache-2.0 */
/* part.h - what formats that can be read in parts share: where the parts begin, before a format rounds to
 * what it can divide at, and how they say that a file cannot be divided. */
#ifndef FATHOM_TRACE_PART_H
#define FATHOM_TRACE_PART_H

#include "base/error.h"

/* Part number `part` of `parts` is the references [begin(part), begin(part + 1)) of total: all parts have the
 * same number of them, or one more. It is total * part / parts, rounded down, without overflow. */
static inline uint64_t fm_part_begin(uint64_t total, uint32_t part, uint32_t parts)
{
    return total / parts * part + total % parts * part / parts;
}

static inline fm_status fm_part_refuse(const char *name, const char *reason, fm_error *error)
{
    return fm_fail(error, FM_E_UNSUPPORTED, name, "cannot be read in parts: %s", reason);
}

#endif
