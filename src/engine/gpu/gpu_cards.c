/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_cards.c - see gpu_cards.h. */
#include "engine/gpu/gpu_cards.h"

#include "base/memory.h"

#include <stdlib.h>

static size_t list_bytes(const fm_gpu_setup *setup)
{
    return setup->batch * sizeof(uint64_t);
}

static void close_helper(fm_gpu_helper *helper)
{
    fm_pages_free(helper->order, list_bytes(&helper->batches.setup));
    fm_gpu_batches_close(&helper->batches);
    *helper = (fm_gpu_helper){0};
}

static bool open_helper(fm_gpu_helper *helper, const fm_gpu_module *module, fm_gpu_pieces *pieces,
                        const fm_gpu_setup *setup)
{
    fm_gpu_description card;
    if (module->describe(setup->device, &card, NULL) != FM_OK ||
        module->memory_needed(setup) > card.memory_free - card.memory_free / 16 ||
        fm_gpu_batches_open(&helper->batches, module, pieces, setup, NULL) != FM_OK)
        return false;
    /* Room for a batch without a block twice; what is not used takes no memory. */
    fm_gpu_each *each = &helper->batches.each;
    each->room = setup->batch;
    each->new_blocks = fm_pages_allocate(list_bytes(setup));
    helper->order = fm_pages_allocate(list_bytes(setup));
    if (each->new_blocks && helper->order) return true;
    close_helper(helper);
    return false;
}

void fm_gpu_cards_open(fm_gpu_cards *cards, const fm_gpu_module *module, fm_gpu_pieces *pieces,
                       const fm_gpu_setup *carrier, unsigned devices, unsigned most)
{
    *cards = (fm_gpu_cards){0};
    fm_gpu_setup setup = *carrier;
    setup.stack = setup.batch; /* it never has more than the blocks of its batch */
    if (most > devices - 1) most = devices - 1;
    if (most == 0 || !(cards->helpers = fm_calloc(most, sizeof *cards->helpers))) return;
    for (unsigned i = 1; i <= most; i++) {
        setup.device = (carrier->device + i) % devices;
        if (open_helper(&cards->helpers[cards->count], module, pieces, &setup)) cards->count++;
    }
}

void fm_gpu_cards_close(fm_gpu_cards *cards)
{
    for (size_t i = 0; i < cards->count; i++) close_helper(&cards->helpers[i]);
    free(cards->helpers);
    *cards = (fm_gpu_cards){0};
}

uint64_t fm_gpu_cards_memory(const fm_gpu_cards *cards)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < cards->count; i++) {
        const fm_gpu_setup *setup = &cards->helpers[i].batches.setup;
        bytes += sizeof *cards->helpers + fm_gpu_batches_memory(setup) + 2 * list_bytes(setup);
    }
    return bytes;
}

uint64_t fm_gpu_cards_pending(const fm_gpu_cards *cards)
{
    uint64_t pending = 0;
    for (size_t i = 0; i < cards->count; i++)
        if (cards->helpers[i].batches.uncollected) pending += cards->helpers[i].batches.batch.count;
    return pending;
}

fm_status fm_gpu_helper_start(fm_gpu_helper *helper, fm_error *error)
{
    return fm_gpu_batches_start(&helper->batches, 0, SIZE_MAX, error);
}

fm_status fm_gpu_helper_collect(fm_gpu_helper *helper, fm_error *error)
{
    fm_gpu_batches *batches = &helper->batches;
    fm_status status = fm_gpu_batches_collect(batches, error);
    if (status == FM_OK)
        status =
            batches->module->fetch_stack(batches->card, helper->order, NULL, batches->batch.stack, error);
    if (status == FM_OK) status = batches->module->load_stack(batches->card, 0, NULL, NULL, 0, error);
    return status;
}
