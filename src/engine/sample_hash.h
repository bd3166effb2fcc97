/* SPDX-License-Identifier: Apache-2.0 */
/* sample_hash.h - the hash by which samples of blocks are chosen: the same for all samples of a run. */
#ifndef FATHOM_ENGINE_SAMPLE_HASH_H
#define FATHOM_ENGINE_SAMPLE_HASH_H

#include <stdint.h>

#define FM_SAMPLE_FOR_ZERO UINT64_C(0x9E3779B97F4A7C15)
#define FM_SAMPLE_MIX_FIRST UINT64_C(0x9FB21C651E98DF25)
#define FM_SAMPLE_MIX_SECOND UINT64_C(0xD6E8FEB86659FD93)

/* The common hash of a block, which all samples share. Were it 0, the block would be in all of them: block 0,
 * which is a usual one, goes with another. */
static inline uint64_t fm_block_sample_common(uint64_t block)
{
    uint64_t mixed = block ? block : FM_SAMPLE_FOR_ZERO;
    mixed = (mixed ^ mixed >> 32) * FM_SAMPLE_MIX_FIRST;
    mixed = (mixed ^ mixed >> 28) * FM_SAMPLE_MIX_SECOND;
    return mixed ^ mixed >> 32;
}

#endif
