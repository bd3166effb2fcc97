/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_batches.c - a card's batches: references are copied into pieces by a few threads, travel to the card
 * while the batch before is counted there, and a thread waits for the card. See gpu_module.h for the other
 * side.
 */
#include "base/crew.h"
#include "base/error.h"
#include "base/input.h"
#include "base/memory.h"
#include "engine/engine.h"
#include "engine/gpu/gpu.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One thread copies at 4 to 10 GB/s, the card reads at 50 and more. */
enum { MOST_COPIERS = 12 };

/* ---- the thread that counts ---- */

static void *count_all(void *context)
{
    fm_gpu_batches *self = context;
    pthread_mutex_lock(&self->lock);
    for (;;) {
        while (!self->running && !self->ending) pthread_cond_wait(&self->changed, &self->lock);
        if (self->ending) break;
        pthread_mutex_unlock(&self->lock);
        self->status = self->module->count(self->card, &self->batch, &self->error);
        pthread_mutex_lock(&self->lock);
        self->running = false;
        pthread_cond_broadcast(&self->changed);
    }
    pthread_mutex_unlock(&self->lock);
    return NULL;
}

static void wait_until_idle(fm_gpu_batches *self)
{
    pthread_mutex_lock(&self->lock);
    while (self->running) pthread_cond_wait(&self->changed, &self->lock);
    pthread_mutex_unlock(&self->lock);
}

/* ---- open and close ---- */

static fm_status make_each(fm_gpu_each *each, const fm_gpu_setup *setup, fm_error *error)
{
    if (!setup->each) return FM_OK;
    const size_t bytes = setup->batch * sizeof(uint64_t);
    each->room = setup->batch;
    each->distances = fm_pages_allocate(bytes);
    each->new_blocks = fm_pages_allocate(bytes);
    if (setup->times) each->times = fm_pages_allocate(bytes);
    if (each->distances && each->new_blocks && (each->times || !setup->times)) return FM_OK;
    return fm_fail_memory(error, bytes, "single distances of a batch");
}

static void free_each(fm_gpu_each *each)
{
    const size_t bytes = each->room * sizeof(uint64_t);
    fm_pages_free(each->distances, bytes);
    fm_pages_free(each->new_blocks, bytes);
    fm_pages_free(each->times, bytes);
}

uint64_t fm_gpu_batches_memory(const fm_gpu_setup *setup)
{
    return setup->each ? setup->batch * (setup->times ? 3 : 2) * sizeof(uint64_t) : 0;
}

fm_status fm_gpu_batches_open(fm_gpu_batches *self, const fm_gpu_module *module, fm_gpu_pieces *pieces,
                              const fm_gpu_setup *setup, fm_error *error)
{
    memset(self, 0, sizeof *self);
    self->module = module;
    self->pieces = pieces;
    self->setup = *setup;
    pthread_mutex_init(&self->lock, NULL);
    pthread_cond_init(&self->changed, NULL);
    const unsigned cores = fm_processors_usable();
    fm_status status = make_each(&self->each, setup, error);
    if (status == FM_OK) status = module->open(&self->card, setup, error);
    if (status == FM_OK)
        status = fm_rounds_create(&self->copiers, cores < MOST_COPIERS ? cores : MOST_COPIERS, error);
    if (status == FM_OK && fm_thread_start(&self->thread, count_all, self) != 0)
        status = fm_fail(error, FM_E_NOMEM, NULL, "out of memory: the system starts no more threads");
    self->thread_started = status == FM_OK;
    if (status != FM_OK) fm_gpu_batches_close(self);
    return status;
}

void fm_gpu_batches_close(fm_gpu_batches *self)
{
    if (!self->module) return;
    if (self->thread_started) {
        wait_until_idle(self);
        pthread_mutex_lock(&self->lock);
        self->ending = true;
        pthread_cond_broadcast(&self->changed);
        pthread_mutex_unlock(&self->lock);
        pthread_join(self->thread, NULL);
    }
    fm_rounds_destroy(self->copiers);
    fm_gpu_pieces_forget(self->pieces, self->card);
    self->module->close(self->card);
    free_each(&self->each);
    pthread_cond_destroy(&self->changed);
    pthread_mutex_destroy(&self->lock);
    memset(self, 0, sizeof *self);
}

/* ---- filling ---- */

/* The index of the first of `count` pieces in a row, which are the caller's then. */
static unsigned take_pieces(fm_gpu_pieces *pieces, unsigned count)
{
    const unsigned first = pieces->next;
    pieces->next = (first + count) % fm_gpu_pieces_own(pieces);
    return first;
}

fm_status fm_gpu_batches_send(fm_gpu_batches *self, fm_error *error)
{
    const size_t count = self->in_piece;
    self->in_piece = 0;
    self->begun = NULL;
    if (count == 0) return FM_OK;
    return fm_gpu_pieces_send(self->pieces, self->piece, 0, count, self->card, self->slot,
                              self->filled - count, error);
}

fm_status fm_gpu_batches_put_piece(fm_gpu_batches *self, unsigned piece, size_t from, size_t count,
                                   fm_error *error)
{
    fm_status status = fm_gpu_batches_send(self, error);
    if (status == FM_OK)
        status =
            fm_gpu_pieces_send(self->pieces, piece, from, count, self->card, self->slot, self->filled, error);
    self->filled += count;
    return status;
}

/* Up to what is missing in the piece that was begun. */
static fm_status put_some(fm_gpu_batches *self, const uint64_t *blocks, size_t count, size_t *taken,
                          fm_error *error)
{
    fm_status status = FM_OK;
    if (!self->begun) {
        self->piece = fm_gpu_pieces_number(self->pieces, take_pieces(self->pieces, 1));
        status = fm_gpu_pieces_wait(self->pieces, self->piece, &self->begun, error);
    }
    if (status != FM_OK) return status;
    const size_t room = self->pieces->size - self->in_piece;
    *taken = count < room ? count : room;
    memcpy(self->begun + self->in_piece, blocks, *taken * sizeof *blocks);
    self->in_piece += *taken;
    self->filled += *taken;
    return self->in_piece == self->pieces->size ? fm_gpu_batches_send(self, error) : FM_OK;
}

typedef struct copying {
    fm_gpu_batches *batches;
    const uint64_t *blocks;
    unsigned first; /* piece, by its index */
    pthread_mutex_t lock;
    fm_status status; /* of the first that failed */
    fm_error error;
} copying;

/* Whole piece number `number` of those given. */
static void copy_piece(void *context, size_t number)
{
    copying *job = context;
    fm_gpu_batches *self = job->batches;
    const unsigned piece = fm_gpu_pieces_number(self->pieces, job->first + number);
    const size_t size = self->pieces->size, before = number * size;
    uint64_t *memory;
    fm_error error;
    fm_status status = fm_gpu_pieces_wait(self->pieces, piece, &memory, &error);
    if (status == FM_OK) {
        memcpy(memory, job->blocks + before, size * sizeof *memory);
        status = fm_gpu_pieces_send(self->pieces, piece, 0, size, self->card, self->slot,
                                    self->filled + before, &error);
    }
    if (status == FM_OK) return;
    pthread_mutex_lock(&job->lock);
    if (job->status == FM_OK) {
        job->status = status;
        job->error = error;
    }
    pthread_mutex_unlock(&job->lock);
}

/* Several whole pieces at once, at most all there are. */
static fm_status put_pieces(fm_gpu_batches *self, const uint64_t *blocks, unsigned pieces, fm_error *error)
{
    copying job = {.batches = self,
                   .blocks = blocks,
                   .first = take_pieces(self->pieces, pieces),
                   .lock = PTHREAD_MUTEX_INITIALIZER};
    fm_rounds_run(self->copiers, copy_piece, &job, pieces);
    pthread_mutex_destroy(&job.lock);
    self->filled += pieces * self->pieces->size;
    if (job.status != FM_OK && error) *error = job.error;
    return job.status;
}

fm_status fm_gpu_batches_put(fm_gpu_batches *self, const uint64_t *blocks, size_t count, fm_error *error)
{
    fm_status status = FM_OK;
    while (count > 0 && status == FM_OK) {
        const size_t whole = count / self->pieces->size;
        size_t taken = 0;
        if (self->in_piece == 0 && whole > 1) {
            const unsigned most = fm_gpu_pieces_own(self->pieces),
                           pieces = whole < most ? (unsigned)whole : most;
            status = put_pieces(self, blocks, pieces, error);
            taken = pieces * self->pieces->size;
        } else {
            status = put_some(self, blocks, count, &taken, error);
        }
        blocks += taken;
        count -= taken;
    }
    return status;
}

/* ---- counting ---- */

fm_status fm_gpu_batches_start(fm_gpu_batches *self, uint64_t first_time, size_t keep, fm_error *error)
{
    fm_status status = fm_gpu_batches_send(self, error);
    if (status != FM_OK) return status;
    self->batch = (fm_gpu_batch){.slot = self->slot,
                                 .count = self->filled,
                                 .first_time = first_time,
                                 .keep = keep,
                                 .distances = self->each.distances,
                                 .times = self->each.times,
                                 .new_blocks = self->each.new_blocks};
    self->filled = 0;
    self->slot = (self->slot + 1) % FM_GPU_SLOTS;
    self->uncollected = true;
    pthread_mutex_lock(&self->lock);
    self->running = true;
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->lock);
    return FM_OK;
}

fm_status fm_gpu_batches_collect(fm_gpu_batches *self, fm_error *error)
{
    wait_until_idle(self);
    self->uncollected = false;
    if (self->status != FM_OK && error) *error = self->error;
    return self->status;
}

fm_status fm_gpu_batches_count_now(fm_gpu_batches *self, const uint64_t *blocks, fm_gpu_batch *batch,
                                   fm_error *error)
{
    fm_status status = fm_gpu_batches_send(self, error);
    if (status != FM_OK) return status;
    const size_t filled = self->filled;
    const unsigned slot = self->slot;
    self->slot = batch->slot = (slot + 1) % FM_GPU_SLOTS;
    self->filled = 0;
    status = fm_gpu_batches_put(self, blocks, batch->count, error);
    if (status == FM_OK) status = fm_gpu_batches_send(self, error);
    if (status == FM_OK) status = self->module->count(self->card, batch, error);
    self->slot = slot;
    self->filled = filled;
    return status;
}

/* ==== cards ==== */

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

/* ==== loader ==== */

fm_status fm_gpu_load(const fm_gpu_module **module, fm_error *error)
{
    char path[PATH_MAX];
    *module = fm_gpu_stand_in;
    if (*module) return FM_OK;
    if (!fm_part_find(NULL, FM_GPU_MODULE_FILE, path, sizeof path)) {
        if (path[0]) return fm_fail(error, FM_E_UNSUPPORTED, path, "there is no CUDA module here");
        return fm_fail(
            error, FM_E_UNSUPPORTED, NULL,
            "this fathom was built without CUDA: install its compiler (nvcc) and build fathom again, or "
            "use another engine");
    }
    *module = fm_part_load(path, FM_GPU_MODULE_SYMBOL, FM_GPU_INTERFACE, false, error);
    return *module ? FM_OK : FM_E_UNSUPPORTED;
}

/* Starting CUDA takes some 0.5 s, in which `exact` on a few cores counts so many references
 * (bench/RESULTS.md). */
static const uint64_t worth_the_start = UINT64_C(100) << 20;

const char *fm_engine_choose(uint64_t references)
{
    const fm_gpu_module *module;
    unsigned cards;
    if (references >= worth_the_start && fm_gpu_find(&module, &cards, NULL) == FM_OK)
        return fm_engine_gpu.info.name;
    return fm_engine_exact.info.name;
}

fm_status fm_gpu_find(const fm_gpu_module **module, unsigned *cards, fm_error *error)
{
    *cards = 0;
    fm_status status = fm_gpu_load(module, error);
    return *module ? (*module)->devices(cards, error) : status;
}
