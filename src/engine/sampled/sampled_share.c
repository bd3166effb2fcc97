/* SPDX-License-Identifier: Apache-2.0 */
/* sampled_share.c - see sampled_share.h. */
#include "engine/sampled/sampled_share.h"

void fm_sampled_share_start(fm_sampled_share *share, const fm_exact_kernels *kernels, const uint64_t *blocks,
                            size_t count, const fm_small_stack *small)
{
    share->kernels = kernels;
    share->blocks = share->left = blocks;
    share->count = count;
    share->part = NULL;
    share->at = NULL;
    if (!small || !small->linked) {
        kernels->sample_common(blocks, count, share->common);
        return;
    }
    share->part = &small->part;
    kernels->sample_common(small->part.key, small->part.first_count, share->common);
    if (small->left_count == count) return;
    share->left = small->collapsed;
    /* The first reference is left unless it repeats that before the share. */
    const size_t later = kernels->sample_changes(blocks, count, share->index + 1);
    share->index[0] = 0;
    share->index[1 + later] = (uint16_t)count;
    share->at = share->index + (small->left_count > later ? 0 : 1);
}

static void touch(fm_block_sample *sample, uint64_t block, size_t times)
{
    const uint64_t common = fm_block_sample_common(block);
    const uint32_t hash = fm_block_sample_hash(sample, common);
    for (; times > 0 && hash < sample->threshold; times--) fm_block_sample_touch(sample, block, common, hash);
}

/* What is in a sample; the slots of those blocks are fetched. */
static void choose(fm_sampled_share *share, const fm_block_sample *sample, unsigned which)
{
    uint16_t *const chosen = share->chosen[which];
    const size_t hashed = share->part ? share->part->first_count : share->count;
    const size_t count = share->kernels->sample_choose(share->common, hashed, sample->multiplier,
                                                       fm_block_sample_limit(sample), chosen);
    for (size_t i = 0; i < count; i++) fm_block_sample_fetch_slot(sample, share->common[chosen[i]]);
    share->chosen_count[which] = count;
}

static void fetch_nodes(const fm_sampled_share *share, const fm_block_sample *sample, unsigned which)
{
    for (size_t i = 0; i < share->chosen_count[which]; i++)
        fm_block_sample_fetch_node(sample, share->common[share->chosen[which][i]]);
}

/* References to blocks whose first touches were chosen: marked along the links, then taken in order. */
static void touch_linked(const fm_sampled_share *share, fm_block_sample *sample, const uint16_t *chosen,
                         size_t count)
{
    const fm_part *part = share->part;
    uint64_t marked[FM_PART_WORDS] = {0};
    for (size_t i = 0; i < count; i++)
        for (size_t next = part->last[chosen[i]] + 1U; next > 0; next = part->before[next - 1])
            marked[(next - 1) / 64] |= UINT64_C(1) << ((next - 1) % 64);
    if (share->at) touch(sample, share->blocks[0], share->at[0]);
    for (size_t word = 0; word < FM_PART_WORDS; word++)
        for (uint64_t bits = marked[word]; bits; bits &= bits - 1) {
            const size_t which = 64 * word + (size_t)__builtin_ctzll(bits);
            const size_t times = share->at ? (size_t)share->at[which + 1] - share->at[which] : 1;
            touch(sample, share->left[which], times);
        }
}

static void touch_all(const fm_sampled_share *share, fm_block_sample *sample, const uint16_t *chosen,
                      size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const size_t which = chosen[i];
        const uint32_t hash = fm_block_sample_hash(sample, share->common[which]);
        /* The threshold may have fallen since. */
        if (hash < sample->threshold)
            fm_block_sample_touch(sample, share->blocks[which], share->common[which], hash);
    }
}

/* While it is found out what is in the next sample, what this one needs is on its way. */
void fm_sampled_share_touch(fm_sampled_share *share, fm_block_sample *samples, unsigned count)
{
    if (count > 0) choose(share, &samples[0], 0);
    for (unsigned k = 0; k < count; k++) {
        fetch_nodes(share, &samples[k], k % 2);
        if (k + 1 < count) choose(share, &samples[k + 1], (k + 1) % 2);
        const uint16_t *const chosen = share->chosen[k % 2];
        if (share->part)
            touch_linked(share, &samples[k], chosen, share->chosen_count[k % 2]);
        else
            touch_all(share, &samples[k], chosen, share->chosen_count[k % 2]);
    }
}
