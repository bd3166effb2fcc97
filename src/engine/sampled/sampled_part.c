/* SPDX-License-Identifier: Apache-2.0 */
/* sampled_part.c - see sampled_part.h. */
#include "engine/sampled/sampled_part.h"

void fm_sampled_part_start(fm_sampled_part *sampled, const fm_exact_kernels *kernels, const uint64_t *blocks,
                           size_t count, const fm_small_stack *small)
{
    sampled->kernels = kernels;
    sampled->blocks = sampled->left = blocks;
    sampled->count = count;
    sampled->part = NULL;
    sampled->at = NULL;
    if (!small || !small->linked) {
        kernels->sample_common(blocks, count, sampled->common);
        return;
    }
    sampled->part = &small->part;
    kernels->sample_common(small->part.key, small->part.first_count, sampled->common);
    if (small->left_count == count) return;
    sampled->left = small->unrepeated;
    /* The first reference is left unless it repeats that before the part. */
    const size_t later = kernels->sample_changes(blocks, count, sampled->index + 1);
    sampled->index[0] = 0;
    sampled->index[1 + later] = (uint16_t)count;
    sampled->at = sampled->index + (small->left_count > later ? 0 : 1);
}

static void sample_touch(fm_block_sample *sample, uint64_t block, size_t times)
{
    const uint64_t common = fm_block_sample_common(block);
    const uint32_t hash = fm_block_sample_hash(sample, common);
    for (; times > 0 && hash < sample->threshold; times--) fm_block_sample_touch(sample, block, common, hash);
}

/* What is in a sample; the slots of those blocks are fetched. */
static void part_choose(fm_sampled_part *sampled, const fm_block_sample *sample, unsigned which)
{
    uint16_t *const chosen = sampled->chosen[which];
    const size_t hashed = sampled->part ? sampled->part->first_count : sampled->count;
    const size_t count = sampled->kernels->sample_choose(sampled->common, hashed, sample->multiplier,
                                                         fm_block_sample_limit(sample), chosen);
    for (size_t i = 0; i < count; i++) fm_block_sample_fetch_slot(sample, sampled->common[chosen[i]]);
    sampled->chosen_count[which] = count;
}

static void fetch_nodes(const fm_sampled_part *sampled, const fm_block_sample *sample, unsigned which)
{
    for (size_t i = 0; i < sampled->chosen_count[which]; i++)
        fm_block_sample_fetch_node(sample, sampled->common[sampled->chosen[which][i]]);
}

/* References to blocks whose first touches were chosen: marked along the links, then taken in order. */
static void touch_linked(const fm_sampled_part *sampled, fm_block_sample *sample, const uint16_t *chosen,
                         size_t count)
{
    const fm_part *part = sampled->part;
    uint64_t marked[FM_PART_WORDS] = {0};
    for (size_t i = 0; i < count; i++)
        for (size_t next = part->last[chosen[i]] + 1U; next > 0; next = part->before[next - 1])
            marked[(next - 1) / 64] |= UINT64_C(1) << ((next - 1) % 64);
    if (sampled->at) sample_touch(sample, sampled->blocks[0], sampled->at[0]);
    for (size_t word = 0; word < FM_PART_WORDS; word++)
        for (uint64_t bits = marked[word]; bits; bits &= bits - 1) {
            const size_t which = 64 * word + (size_t)__builtin_ctzll(bits);
            const size_t times = sampled->at ? (size_t)sampled->at[which + 1] - sampled->at[which] : 1;
            sample_touch(sample, sampled->left[which], times);
        }
}

static void touch_all(const fm_sampled_part *sampled, fm_block_sample *sample, const uint16_t *chosen,
                      size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const size_t which = chosen[i];
        const uint32_t hash = fm_block_sample_hash(sample, sampled->common[which]);
        /* The threshold may have fallen since. */
        if (hash < sample->threshold)
            fm_block_sample_touch(sample, sampled->blocks[which], sampled->common[which], hash);
    }
}

/* While it is found out what is in the next sample, what this one needs is on its way. */
void fm_sampled_part_touch(fm_sampled_part *sampled, fm_block_sample *samples, unsigned count)
{
    if (count > 0) part_choose(sampled, &samples[0], 0);
    for (unsigned k = 0; k < count; k++) {
        fetch_nodes(sampled, &samples[k], k % 2);
        if (k + 1 < count) part_choose(sampled, &samples[k + 1], (k + 1) % 2);
        const uint16_t *const chosen = sampled->chosen[k % 2];
        if (sampled->part)
            touch_linked(sampled, &samples[k], chosen, sampled->chosen_count[k % 2]);
        else
            touch_all(sampled, &samples[k], chosen, sampled->chosen_count[k % 2]);
    }
}
