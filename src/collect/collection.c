/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collection.c - the loop of a collection: takes chunks in order, has them decoded, delivers batches, and
 * knows when everything has come.
 */
#define _GNU_SOURCE
#include "collect/collection.h"

#include "base/error.h"
#include "base/memory.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* In seconds; grace: how long one of our children may take to become known as a traced process. */
static const double idle_after = 0.1, look_every = 0.02, grace = 1.0;
enum { TURNS_MOST = 1000 }; /* chunks without a batch before the caller hears that we are still here */

/* ---- start ---- */

static char *copied_option(const char *text, bool *failed)
{
    char *copy = text ? strdup(text) : NULL;
    *failed |= text && !copy;
    return copy;
}

static fm_status begin_watch(fm_collection *collection, fm_error *error)
{
    const fm_collect_options *options = &collection->options;
    const fm_watch_options wanted = {.signals = options->signals,
                                     .orphans = options->follow_children,
                                     .limit_seconds = options->limit_seconds,
                                     .wake = &collection->receiver->session->wake};
    if (fm_watch_begin(&collection->watch, &wanted, NULL) == FM_OK) return FM_OK;
    return fm_fail(error, FM_E_ARGUMENT, NULL, "another collection is open in this process");
}

fm_status fm_collection_start_sized(size_t given_size, fm_collection **collection,
                                    const fm_collect_options *given, fm_error *error)
{
    *collection = NULL;
    fm_collect_options known;
    fm_status status = fm_sized_read(&known, sizeof known, given, given_size, "fm_collect_options", error);
    if (status == FM_OK)
        status =
            fm_check_choice(known.collector, FM_COLLECTOR_COMPILER, "fm_collect_options.collector", error);
    if (status != FM_OK) return status;
    const fm_collect_options *options = &known;
    if (!options->command || !options->command[0])
        return fm_fail(error, FM_E_ARGUMENT, NULL, "there is no program to run");
    if (!(options->limit_seconds >= 0))
        return fm_fail(error, FM_E_ARGUMENT, NULL, "fm_collect_options.limit_seconds is below 0");
    const unsigned columns =
        FM_COLUMN_SIZE | FM_COLUMN_KIND | FM_COLUMN_THREAD | FM_COLUMN_SITE | FM_COLUMN_TAG;
    if (options->columns & ~columns)
        return fm_fail(error, FM_E_ARGUMENT, NULL, "fm_collect_options.columns: there are no columns 0x%x",
                       options->columns & ~columns);
    if (options->no_loads && options->no_stores)
        return fm_fail(error, FM_E_ARGUMENT, NULL, "neither loads nor stores: nothing is left to collect");
    fm_collection *self = fm_calloc(1, sizeof *self);
    if (self) self->process_table = FM_TABLE(fm_known_process, index);
    if (!self) return fm_fail_memory(error, sizeof *self, "the collection");
    bool failed = false;
    self->options = *options;
    self->options.parts = copied_option(options->parts, &failed);
    self->options.function = copied_option(options->function, &failed);
    self->options.region = copied_option(options->region, &failed);
    fm_collect_filter filter = {
        .loads = !options->no_loads,
        .stores = !options->no_stores,
        .no_stack = options->no_stack,
        .tags = options->columns & FM_COLUMN_TAG,
        .paths = options->call_paths,
        .function = self->options.function,
        .region = self->options.region,
    };
    if (failed) status = fm_fail(error, FM_E_NOMEM, NULL, "out of memory: no room for the options");
    if (status == FM_OK) status = fm_receiver_create(&self->receiver, 0, error);
    if (status == FM_OK) status = fm_decoder_create(&self->decoder, &filter, options->columns, NULL, error);
    if (status == FM_OK) {
        self->decoder->process_record = fm_process_record;
        self->decoder->context = self;
        status = begin_watch(self, error);
    }
    if (status == FM_OK) status = fm_launch(self, error);
    self->options.command = NULL; /* the caller's */
    if (status != FM_OK)
        fm_collection_close(self);
    else
        *collection = self;
    return status;
}

/* ---- the end ---- */

/* Judges processes whose stream is at its end; what only reading needed is given back. */
static void judge_ended(fm_collection *collection)
{
    for (size_t i = 0; i < collection->process_count; i++) {
        fm_process *process = collection->processes[i];
        if (process->judged || !process->watched.gone || process->channels > 0) continue;
        if (collection->decoder->rows.count > 0 && collection->owner == process) continue;
        fm_judge_process(collection, process);
        fm_process_finish(process);
    }
}

static fm_status nothing_seen(const fm_collection *collection, fm_error *error)
{
    const char *who = collection->collector == FM_COLLECTOR_VALGRIND ? "Valgrind" : "the program";
    int status = collection->watch.child_status;
    if (collection->process_count == 0 &&
        __atomic_load_n(&collection->receiver->session->refused, __ATOMIC_RELAXED) > 0)
        return fm_fail(
            error, FM_E_IO, NULL,
            "the program ran, but nothing of it was seen: there was no room in it for the memory that it "
            "shares with fathom");
    if (WIFSIGNALED(status))
        return fm_fail(error, FM_E_IO, NULL, "%s was killed by signal %d before it made a reference", who,
                       WTERMSIG(status));
    if (collection->collector == FM_COLLECTOR_COMPILER && !collection->instrumented)
        return fm_fail(error, FM_E_UNSUPPORTED, NULL,
                       "the program ran, and nothing of it was seen: neither it nor a library that it loaded "
                       "was built by `fathom cc`; build it so, or trace it with Valgrind");
    return fm_fail(error, FM_E_IO, NULL, "%s ended with exit code %d before it made a reference%s", who,
                   WEXITSTATUS(status),
                   collection->collector == FM_COLLECTOR_VALGRIND ? "; its own message says why" : "");
}

/* Did Valgrind end the program before it did anything? */
static bool never_ran(const fm_collection *collection)
{
    const fm_process *first = collection->processes[0];
    return collection->process_count == 1 && first->gave_up && first->references + first->left_out == 0;
}

static fm_status finish_collection(fm_collection *collection, fm_collected *collected, fm_error *error)
{
    judge_ended(collection);
    if (collection->process_count == 0 || never_ran(collection)) return nothing_seen(collection, error);
    if (fm_receive_announce(collection, SIZE_MAX, collected)) return FM_OK;
    if (!collection->ended) {
        /* What was cut short may not have come to the region. */
        bool region =
            !collection->options.region || collection->watch.interrupted || collection->limit_reached;
        bool found = !collection->options.function, several = false;
        for (size_t i = 0; i < collection->process_count; i++) {
            found |= collection->processes[i]->code.program.function_found;
            region |= collection->processes[i]->region_found;
            several |= collection->processes[i]->threads.seen > 1;
        }
        if (!found) return fm_program_no_function(&collection->processes[0]->code.program, error);
        if (!region)
            return fm_fail(error, FM_E_ARGUMENT, NULL, "the program never came to a FATHOM_BEGIN(\"%s\")",
                           collection->options.region);
        if (several)
            fm_collection_note(collection,
                               collection->collector == FM_COLLECTOR_VALGRIND
                                   ? "threads ran one at a time, in slices of up to 100000 blocks of "
                                     "code: their interleaving is coarser than on the machine"
                                   : "references of different threads are merged in pieces of up to "
                                     "16384: their interleaving is coarser than on the machine");
        fm_collection_note_unseen(collection);
    }
    collection->ended = true;
    *collected = (fm_collected){.event = FM_COLLECTED_END};
    return FM_OK;
}

/* ---- the loop ---- */

/* Which processes are gone? Their channels are marked. */
static void look_at_processes(fm_collection *collection)
{
    fm_receiver *receiver = collection->receiver;
    fm_watch_look(&collection->watch);
    for (size_t i = 0; i < receiver->active_count; i++) {
        fm_reception *channel = &receiver->channels[receiver->active[i]];
        if (channel->process && channel->process->watched.gone) channel->dead = true;
    }
}

/* Is nothing left to come? */
static bool all_gone(fm_collection *collection)
{
    fm_watch *watch = &collection->watch;
    if (!watch->child_gone || collection->receiver->active_count > 0 || watch->live_count > 0) return false;
    /* A child that was just started may not have claimed its channel yet. */
    return !collection->options.follow_children || fm_receiver_detaching(collection->receiver) ||
           fm_now() - watch->child_ended > grace || !fm_watch_has_strangers(watch);
}

/* Nothing has come. Waits, or finds out that nothing will. *over: everything has ended. */
static fm_status idle_turn(fm_collection *collection, bool *over, fm_error *error)
{
    *over = false;
    size_t active = collection->receiver->active_count;
    fm_status status = fm_receive_admit(collection, error);
    if (status != FM_OK || collection->receiver->active_count != active) return status;
    double now = fm_now();
    bool near_end = collection->watch.child_gone && collection->receiver->active_count == 0;
    if (now - collection->looked >= look_every || fm_watch_children_changed() || near_end) {
        collection->looked = now;
        look_at_processes(collection);
        /* Whoever is gone has opened all channels that it will have. */
        status = fm_receive_admit(collection, error);
        if (status != FM_OK) return status;
        judge_ended(collection);
        *over = all_gone(collection);
        if (*over) return FM_OK;
    }
    for (size_t i = 0; i < collection->receiver->active_count && !collection->receiver->gap; i++) {
        const fm_reception *channel = &collection->receiver->channels[collection->receiver->active[i]];
        if ((channel->dead || channel->closed) && channel->sealed == channel->taken)
            return FM_OK; /* there is something to take */
    }
    collection->idle += fm_receiver_wait(collection->receiver);
    return FM_OK;
}

static fm_status take_turn(fm_collection *collection, fm_collected *collected, bool *answer, fm_error *error)
{
    fm_decoder *decoder = collection->decoder;
    *answer = true;
    if (collection->deliver) {
        if (decoder->rows.count > 0 && fm_receive_announce(collection, collection->owner->index, collected))
            return FM_OK;
        collection->deliver = false;
        bool any = decoder->rows.count > 0;
        if (any) fm_receive_deliver(collection, collected);
        if (collection->chunk.channel && !decoder->words)
            fm_receive_begin_chunk(collection); /* it had to wait */
        if (any && collected->batch.count > 0) return FM_OK;
    }
    *answer = false;
    fm_watch_attend(&collection->watch);
    if (collection->watch.time_over && !collection->stopped) fm_receive_limit(collection);
    if (decoder->words) return fm_receive_read_on(collection, error);
    bool came, over = false;
    fm_status status = fm_receive_next(collection, &came, error);
    if (status != FM_OK || came) {
        collection->idle = 0;
        return status;
    }
    if (decoder->rows.count > 0) { /* what is there is not kept waiting */
        collection->deliver = true;
        return FM_OK;
    }
    *answer = true;
    size_t next = collection->announced;
    while (next < collection->process_count && collection->processes[next]->described) next++;
    if (next > collection->announced && fm_receive_announce(collection, next - 1, collected)) return FM_OK;
    status = idle_turn(collection, &over, error);
    if (status == FM_OK && over) return finish_collection(collection, collected, error);
    *answer = status == FM_OK && collection->idle >= idle_after;
    if (*answer) {
        collection->idle = 0;
        *collected = (fm_collected){.event = FM_COLLECTED_IDLE};
    }
    return status;
}

static fm_status next_event(fm_collection *collection, fm_collected *collected, fm_error *error)
{
    bool answer = false;
    fm_error own;
    *collected = (fm_collected){.event = FM_COLLECTED_IDLE};
    if (collection->ended) collected->event = FM_COLLECTED_END;
    if (collection->ended) return FM_OK;
    if (collection->failed != FM_OK) {
        if (error) *error = collection->failure;
        return collection->failed;
    }
    for (int turns = 0; !answer && turns < TURNS_MOST; turns++) {
        fm_status status = take_turn(collection, collected, &answer, &own);
        if (status == FM_OK) continue;
        collection->failed = status;
        collection->failure = own;
        if (error) *error = own;
        return status;
    }
    return FM_OK;
}

fm_status fm_collection_next_sized(size_t collected_size, fm_collection *collection, fm_collected *collected,
                                   fm_error *error)
{
    FM_REQUIRE(collection, error);
    fm_collected found;
    fm_status status = next_event(collection, &found, error);
    fm_sized_copy(collected, collected_size, &found, sizeof found);
    return status;
}

void fm_collection_stop(fm_collection *collection, bool kill_it)
{
    collection->stopped = true;
    fm_receiver_order_detach(collection->receiver);
    if (kill_it) fm_watch_terminate(&collection->watch, SIGTERM);
}

/* ---- closing ---- */

void fm_collection_close(fm_collection *collection)
{
    if (!collection) return;
    if (collection->receiver) fm_receiver_order_detach(collection->receiver);
    fm_watch_end(&collection->watch);
    for (size_t i = 0; i < collection->process_count; i++) fm_process_destroy(collection->processes[i]);
    free(collection->processes);
    fm_table_clear(&collection->process_table);
    fm_decoder_destroy(collection->decoder);
    fm_receiver_destroy(collection->receiver);
    free((char *)(uintptr_t)collection->options.parts);
    free((char *)(uintptr_t)collection->options.function);
    free((char *)(uintptr_t)collection->options.region);
    free(collection->notes);
    free(collection);
}
