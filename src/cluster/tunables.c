/* SPDX-License-Identifier: Apache-2.0 */
/* tunables.c - the cluster's sizes that tests change (base/error.h). */
#include "cluster/parda.h"

FM_TUNABLE size_t fm_parda_message_blocks =
    16384; /* 128 KiB: far more than a message costs, far less than a cache */
FM_TUNABLE size_t fm_parda_share = 1 << 18; /* 2 MiB */
