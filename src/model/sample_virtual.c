/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample_virtual.c - a sampler whose counter, registers and bursts are computed: it is shown all references
 * of a trace, and takes the samples that a real one would take. The reservoir is the one that the runtime
 * inside programs uses (collect/reservoir.h).
 *
 * Time: a comparison with each armed register for each reference, and a lookup in bursts. Space: the samples,
 * and a table for the uses of one burst.
 */
#include "model/sample_internal.h"

#include "base/error.h"
#include "base/memory.h"
#include "collect/reservoir.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { BURST_LENGTH = 4096, MOST_BURST_STEPS = 8 };
#define MOST_BURST_LENGTH (UINT64_C(1) << 26) /* of all steps */

/* A use of the burst whose block has not come again; of one block, the last. */
typedef struct open_use {
    uint64_t block;
    uint64_t burst; /* that it is of: those of earlier bursts are not there */
    uint64_t use;   /* place in the burst */
    uint32_t tag;
    bool waiting; /* false: its block has come again */
} open_use;

typedef struct burst_state {
    bool running;
    uint64_t number; /* from 1 on */
    uint64_t at, length, uses;
    size_t table_size; /* power of two; at least twice the uses of the longest burst */
    open_use *table;
    size_t found_count, cut_count;
    fm_burst_reuse *found, *cut; /* room for all uses */
} burst_state;

struct fm_virtual_sampler {
    fm_virtual_sampler_options options;
    fm_samples *samples;
    uint32_t thread;
    uint64_t random;
    uint64_t clock; /* references so far */
    uint64_t next;  /* number of the reference that is sampled next */
    uint64_t from;  /* stratified: where the period of the next sample begins */
    fm_reservoir reservoir;
    uint32_t armed;                     /* registers in use, in these arrays: */
    uint64_t blocks[FM_RESERVOIR_MOST]; /* what they watch */
    uint32_t places[FM_RESERVOIR_MOST]; /* and which register it is */
    size_t watches[FM_RESERVOIR_MOST];  /* of each register: its watch in `taken` */
    size_t taken_count, taken_capacity;
    fm_sample_watch *taken;
    burst_state burst;
};

_Static_assert((int)FM_MOST_REGISTERS == (int)FM_RESERVOIR_MOST, "the reservoir has room for all registers");

/* ---- creating ---- */

enum { USUAL_PERIOD = 1 << 16 };

static fm_status check_options(fm_virtual_sampler_options *options, fm_error *error)
{
    if (options->period == 0) options->period = USUAL_PERIOD;
    if (options->registers == 0) options->registers = 4;
    if (options->burst_steps == 0) options->burst_steps = 1;
    if (options->burst_length == 0) options->burst_length = BURST_LENGTH;
    if (options->bursts || options->plain_reservoir) options->again = 0;
    if (options->bursts) options->stratified = 0;
    if (options->period >= UINT64_C(1) << 60)
        return fm_fail(error, FM_E_ARGUMENT, NULL,
                       "a period of %" PRIu64 ": expected 1 to 2^60 - 1 references", options->period);
    if (options->registers > FM_MOST_REGISTERS)
        return fm_fail(error, FM_E_ARGUMENT, NULL, "%u registers: expected 1 to %d", options->registers,
                       FM_MOST_REGISTERS);
    if (options->burst_steps > MOST_BURST_STEPS || options->burst_length < 2 ||
        options->burst_length > MOST_BURST_LENGTH >> 2 * (options->burst_steps - 1))
        return fm_fail(error, FM_E_ARGUMENT, NULL,
                       "bursts of %" PRIu64
                       " references and %u steps: expected 2 references at least, at most %d "
                       "steps, and no burst of more than %" PRIu64,
                       options->burst_length, options->burst_steps, (int)MOST_BURST_STEPS, MOST_BURST_LENGTH);
    return FM_OK;
}

static fm_status make_room_for_bursts(fm_virtual_sampler *sampler, fm_error *error)
{
    const fm_virtual_sampler_options *options = &sampler->options;
    burst_state *burst = &sampler->burst;
    const uint64_t uses = (options->burst_length << 2 * (options->burst_steps - 1)) / 2;
    burst->table_size = 4;
    while (burst->table_size < 2 * uses) burst->table_size *= 2;
    burst->table = fm_calloc(burst->table_size, sizeof *burst->table);
    burst->found = fm_calloc(uses, sizeof *burst->found);
    burst->cut = fm_calloc(uses, sizeof *burst->cut);
    if (burst->table && burst->found && burst->cut) return FM_OK;
    return fm_fail_memory(error, burst->table_size * sizeof *burst->table, "the bursts");
}

/* The sample behind this one. */
static uint64_t draw_next(fm_virtual_sampler *sampler)
{
    const uint64_t period = sampler->options.period;
    if (sampler->options.even) return sampler->clock + period;
    if (sampler->options.stratified) {
        sampler->from += period;
        return sampler->from + fm_sample_random_below(&sampler->random, period);
    }
    const uint64_t least = (period + 1) / 2; /* and as far above the period: that is the mean */
    return sampler->clock + least + fm_sample_random_below(&sampler->random, 2 * (period - least) + 1);
}

fm_status fm_virtual_sampler_create_sized(size_t given_size, fm_virtual_sampler **sampler,
                                          const fm_virtual_sampler_options *given, fm_error *error)
{
    *sampler = NULL;
    fm_virtual_sampler_options options;
    fm_status status =
        fm_sized_read(&options, sizeof options, given, given_size, "fm_virtual_sampler_options", error);
    if (status == FM_OK) status = check_options(&options, error);
    if (status != FM_OK) return status;
    fm_virtual_sampler *made = fm_calloc(1, sizeof *made);
    if (!made) return fm_fail_memory(error, sizeof *made, "the virtual sampler");
    made->options = options;
    made->random = options.seed;
    fm_reservoir_start(&made->reservoir, options.registers, options.plain_reservoir,
                       fm_random_next(&made->random));
    made->next = fm_sample_random_below(&made->random, options.period);
    const fm_samples_options of = {.granularity = options.granularity, .method = "simulated"};
    status = fm_samples_create(&made->samples, &of, error);
    if (status == FM_OK) status = fm_samples_add_thread(made->samples, 0, &made->thread, error);
    if (status == FM_OK && options.bursts) status = make_room_for_bursts(made, error);
    if (status != FM_OK) {
        fm_virtual_sampler_destroy(made);
        return status;
    }
    *sampler = made;
    return FM_OK;
}

void fm_virtual_sampler_destroy(fm_virtual_sampler *sampler)
{
    if (!sampler) return;
    fm_samples_destroy(sampler->samples);
    free(sampler->taken);
    free(sampler->burst.table);
    free(sampler->burst.found);
    free(sampler->burst.cut);
    free(sampler);
}

/* ---- registers ---- */

static double units_share(uint64_t units, int bits)
{
    return (double)units / (double)(UINT64_C(1) << bits);
}

/* The watch in register `place` ends; the register is not looked at any more. `now`: the last reference that
 * was compared with it. */
static fm_sample_watch *end_watch(fm_virtual_sampler *sampler, uint32_t place, fm_sample_watch_end end,
                                  uint64_t now)
{
    for (uint32_t i = 0; i < sampler->armed; i++)
        if (sampler->places[i] == place) {
            sampler->armed--;
            sampler->places[i] = sampler->places[sampler->armed];
            sampler->blocks[i] = sampler->blocks[sampler->armed];
            break;
        }
    fm_sample_watch *watch = &sampler->taken[sampler->watches[place]];
    watch->end = end;
    watch->length = now - watch->at;
    return watch;
}

/* `taken` has room for it. */
static void begin_watch(fm_virtual_sampler *sampler, uint32_t place, fm_sample_watch watch, uint64_t block)
{
    sampler->watches[place] = sampler->taken_count;
    sampler->places[sampler->armed] = place;
    sampler->blocks[sampler->armed++] = block;
    sampler->taken[sampler->taken_count++] = watch;
}

/* Reference number `now` touches what the i-th armed register watches. */
static void watch_trap(fm_virtual_sampler *sampler, uint32_t i, uint64_t now, uint32_t tag)
{
    const uint32_t place = sampler->places[i];
    const uint64_t block = sampler->blocks[i];
    fm_sample_watch *watch = end_watch(sampler, place, FM_WATCH_USED, now);
    watch->reuse = tag;
    watch->kept = units_share(fm_reservoir_release(&sampler->reservoir, place), FM_RESERVOIR_KEPT_BITS);
    if (!sampler->options.again || watch->since > 0) return;
    const fm_sample_watch second = {.thread = watch->thread,
                                    .at = now,
                                    .weight = watch->weight,
                                    .armed = watch->armed,
                                    .use = tag,
                                    .since = now - watch->at};
    fm_reservoir_lend(&sampler->reservoir, place);
    begin_watch(sampler, place, second, block);
}

/* A use asks for a register; reference number `now` was the last one seen. */
static fm_status watch_offer(fm_virtual_sampler *sampler, fm_sample_watch watch, uint64_t block, uint64_t now,
                             fm_error *error)
{
    void *grown = sampler->taken;
    const size_t room = sampler->taken_count + 1 + FM_RESERVOIR_MOST; /* and what may trap until the next */
    if (fm_array_reserve(&grown, &sampler->taken_capacity, room, sizeof watch))
        return fm_fail_memory(error, room * sizeof watch, "the samples");
    sampler->taken = grown;
    const fm_reservoir_choice choice = fm_reservoir_offer(&sampler->reservoir);
    watch.thread = sampler->thread;
    watch.armed = units_share(choice.armed, FM_RESERVOIR_ARMED_BITS);
    watch.end = FM_WATCH_NOT_ARMED;
    if (choice.place >= 0) {
        const uint32_t place = (uint32_t)choice.place;
        if (choice.replaces)
            end_watch(sampler, place, FM_WATCH_REPLACED, now)->kept =
                units_share(choice.replaced_kept, FM_RESERVOIR_KEPT_BITS);
        begin_watch(sampler, place, watch, block);
        return FM_OK;
    }
    sampler->taken[sampler->taken_count++] = watch;
    return FM_OK;
}

/* ---- bursts ---- */

static void begin_burst(fm_virtual_sampler *sampler)
{
    burst_state *burst = &sampler->burst;
    burst->running = true;
    burst->number++;
    burst->at = sampler->clock;
    burst->length = sampler->options.burst_length;
    for (unsigned step = 1; step < sampler->options.burst_steps; step++) {
        if (fm_sample_random_below(&sampler->random, 4) > 0) break;
        burst->length *= 4;
    }
    burst->uses = burst->length / 2;
    burst->found_count = burst->cut_count = 0;
}

static open_use *find_open(burst_state *burst, uint64_t block)
{
    size_t i = (size_t)(block * UINT64_C(0x9E3779B97F4A7C15) >> 20) & (burst->table_size - 1);
    while (burst->table[i].burst == burst->number && burst->table[i].block != block)
        i = (i + 1) & (burst->table_size - 1);
    return &burst->table[i];
}

static void burst_reference(burst_state *burst, uint64_t block, uint32_t tag, uint64_t place)
{
    open_use *open = find_open(burst, block);
    const bool known = open->burst == burst->number;
    if (known && open->waiting) {
        burst->found[burst->found_count++] =
            (fm_burst_reuse){.use = open->tag, .reuse = tag, .time = place - open->use, .count = 1};
        open->waiting = false;
    }
    if (place < burst->uses) *open = (open_use){block, burst->number, place, tag, true};
}

/* `seen` references of it were seen: all, unless the trace has ended. */
static fm_status end_burst(fm_virtual_sampler *sampler, uint64_t seen, fm_error *error)
{
    burst_state *burst = &sampler->burst;
    const bool ended = seen < burst->length;
    const open_use *picked = NULL;
    for (size_t i = 0; i < burst->table_size; i++) {
        const open_use *open = &burst->table[i];
        if (open->burst != burst->number || !open->waiting) continue;
        burst->cut[burst->cut_count++] =
            (fm_burst_reuse){.use = open->tag, .time = seen - 1 - open->use, .count = 1};
        if (fm_sample_random_below(&sampler->random, burst->cut_count) == 0) picked = open;
    }
    const uint64_t uses = burst->uses < seen ? burst->uses : seen;
    const fm_burst told = {.thread = sampler->thread,
                           .ended = ended,
                           .at = burst->at,
                           .length = seen,
                           .uses = uses,
                           .weight = (double)sampler->options.period,
                           .found_count = burst->found_count,
                           .cut_count = burst->cut_count,
                           .found = burst->found,
                           .cut = burst->cut};
    burst->running = false;
    fm_status status = fm_samples_add_burst(sampler->samples, &told, error);
    if (status != FM_OK || !picked || ended) return status;
    const uint64_t last = burst->at + seen - 1;
    const fm_sample_watch watch = {.at = burst->at + picked->use,
                                   .from = seen - 1 - picked->use,
                                   .weight = told.weight * (double)burst->cut_count / (double)uses,
                                   .burst = fm_samples_bursts(sampler->samples),
                                   .use = picked->tag};
    return watch_offer(sampler, watch, picked->block, last, error);
}

/* ---- references ---- */

/* The first reference that a register watches; count: none. Most are not, and are looked at eight at a time.
 * To be compiled for several instruction sets: without SSE 4.1 there is no comparison of 64 bits. */
static inline __attribute__((always_inline)) size_t
find_watched(const fm_virtual_sampler *sampler, const uint64_t *blocks, size_t from, size_t count)
{
    enum { STEP = 8, GROUP = 4 };
    const uint32_t armed = sampler->armed;
    if (armed == 0) return count;
    for (; from < count; from += STEP) {
        const size_t end = count - from < STEP ? count : from + STEP;
        bool any = end - from < STEP; /* a short rest is looked at one by one */
        for (uint32_t group = 0; group < armed && !any; group += GROUP) {
            uint64_t watched[GROUP], equal = 0;
            for (uint32_t k = 0; k < GROUP; k++)
                watched[k] = sampler->blocks[group + k < armed ? group + k : group];
            for (size_t i = 0; i < STEP; i++)
                for (uint32_t k = 0; k < GROUP; k++) equal |= blocks[from + i] == watched[k];
            any = equal != 0;
        }
        for (size_t i = from; i < end && any; i++)
            for (uint32_t k = 0; k < armed; k++)
                if (blocks[i] == sampler->blocks[k]) return i;
    }
    return count;
}

static size_t find_watched_plainly(const fm_virtual_sampler *sampler, const uint64_t *blocks, size_t from,
                                   size_t count)
{
    return find_watched(sampler, blocks, from, count);
}

#ifdef __x86_64__
__attribute__((target("avx2"))) static size_t
find_watched_avx2(const fm_virtual_sampler *sampler, const uint64_t *blocks, size_t from, size_t count)
{
    return find_watched(sampler, blocks, from, count);
}
#endif

/* Only registers look at these references. */
static void registers_pass(fm_virtual_sampler *sampler, const uint64_t *blocks, const uint32_t *tags,
                           size_t count)
{
    const uint64_t clock = sampler->clock;
    size_t (*find)(const fm_virtual_sampler *, const uint64_t *, size_t, size_t) = find_watched_plainly;
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx2")) find = find_watched_avx2;
#endif
    for (size_t i = 0; (i = find(sampler, blocks, i, count)) < count; i++)
        for (uint32_t k = sampler->armed; k-- > 0;) /* a trap moves the last one into its place */
            if (blocks[i] == sampler->blocks[k]) watch_trap(sampler, k, clock + i, tags ? tags[i] : 0);
    sampler->clock = clock + count;
}

static fm_status take_sample(fm_virtual_sampler *sampler, uint64_t block, uint32_t tag, fm_error *error)
{
    sampler->next = draw_next(sampler);
    if (sampler->options.bursts) {
        begin_burst(sampler);
        return FM_OK;
    }
    registers_pass(sampler, &block, &tag, 1);
    const uint64_t at = sampler->clock - 1;
    const fm_sample_watch watch = {.at = at, .weight = (double)sampler->options.period, .use = tag};
    return watch_offer(sampler, watch, block, at, error);
}

static fm_status run_burst(fm_virtual_sampler *sampler, const uint64_t *blocks, const uint32_t *tags,
                           size_t count, size_t *taken, fm_error *error)
{
    burst_state *burst = &sampler->burst;
    const uint64_t seen = sampler->clock - burst->at, left = burst->length - seen;
    *taken = count < left ? count : (size_t)left;
    for (size_t i = 0; i < *taken; i++) burst_reference(burst, blocks[i], tags ? tags[i] : 0, seen + i);
    registers_pass(sampler, blocks, tags, *taken);
    if (*taken < left) return FM_OK;
    /* Bursts do not overlap: one that is due begins now. */
    if (sampler->next < sampler->clock) sampler->next = sampler->clock;
    return end_burst(sampler, burst->length, error);
}

fm_status fm_virtual_sampler_feed(fm_virtual_sampler *sampler, const uint64_t *blocks, const uint32_t *tags,
                                  size_t count, fm_error *error)
{
    FM_REQUIRE(sampler, error);
    fm_status status = FM_OK;
    for (size_t done = 0; done < count && status == FM_OK;) {
        size_t taken = 0;
        if (sampler->burst.running) {
            status =
                run_burst(sampler, blocks + done, tags ? tags + done : NULL, count - done, &taken, error);
        } else if (sampler->clock == sampler->next) {
            const uint64_t before = sampler->clock;
            status = take_sample(sampler, blocks[done], tags ? tags[done] : 0, error);
            taken = (size_t)(sampler->clock - before);
        } else {
            const uint64_t until = sampler->next - sampler->clock;
            taken = count - done < until ? count - done : (size_t)until;
            registers_pass(sampler, blocks + done, tags ? tags + done : NULL, taken);
        }
        done += taken;
    }
    return status;
}

fm_status fm_virtual_sampler_finish(fm_virtual_sampler *sampler, fm_samples **samples, fm_error *error)
{
    *samples = NULL;
    FM_REQUIRE(sampler, error);
    fm_status status = FM_OK;
    if (sampler->burst.running && sampler->clock > sampler->burst.at)
        status = end_burst(sampler, sampler->clock - sampler->burst.at, error);
    while (status == FM_OK && sampler->armed > 0) {
        const uint32_t place = sampler->places[0];
        end_watch(sampler, place, FM_WATCH_NEVER, sampler->clock - 1)->kept =
            units_share(fm_reservoir_release(&sampler->reservoir, place), FM_RESERVOIR_KEPT_BITS);
    }
    for (size_t i = 0; i < sampler->taken_count && status == FM_OK; i++)
        status = fm_samples_add_watch(sampler->samples, &sampler->taken[i], error);
    if (status == FM_OK)
        status = fm_samples_set_references(sampler->samples, sampler->thread, sampler->clock, error);
    if (status != FM_OK) return status;
    sampler->taken_count = 0;
    *samples = sampler->samples;
    sampler->samples = NULL;
    return FM_OK;
}
