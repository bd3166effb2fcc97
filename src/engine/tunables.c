/* SPDX-License-Identifier: Apache-2.0 */
/* tunables.c - the size of the engines' tables that tests change (base/error.h); what it is stands in its
 * header. */
#include "engine/engine_tables.h"

FM_TUNABLE uint64_t fm_seen_limit = FM_SEEN_LIMIT;
