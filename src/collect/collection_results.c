/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collection_results.c - what a collection knows besides references: processes, how they ended and whether
 * all that they did was received, modules, sites, call paths, objects, and notes for people.
 */
#define _GNU_SOURCE
#include "base/error.h"
#include "base/memory.h"
#include "base/plain_text.h"
#include "collect/collection.h"
#include "process/program_file.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* ---- describe ---- */

/*
 * What a collection knows besides references: processes, modules, sites, call paths, objects,
 * and notes for people.
 */

/* ---- processes and the state ---- */

size_t fm_collection_processes(const fm_collection *collection)
{
    return collection->process_count;
}

/* The program that a process became by exec. */
static const char *became_program(const fm_process *process)
{
    const fm_process *next = process->successor;
    if (next && next->program) return fm_program_shown(next->program, next->called);
    return process->watched.replaced ? process->executed : NULL;
}

static fm_collected_process describe_process(const fm_process *process)
{
    fm_collected_process described = {
        .pid = process->watched.pid,
        .parent = process->parent,
        .program = fm_program_shown(process->program, process->called),
        .arguments = process->arguments,
        .more_arguments = process->more_arguments,
        .by_exec = process->predecessor,
        .became = became_program(process),
        .threads = (uint32_t)process->threads.seen,
        .references = process->references,
        .left_out = process->left_out,
        .ended = process->watched.ended,
        .given_up = process->gave_up && !process->watched.ended,
        .complete = process->judged && process->complete,
        .lost = process->lost,
        .what_missing = process->missing,
    };
    if (process->watched.ended)
        fm_wait_status_read(process->watched.wait_status, &described.exit_code, &described.signal);
    if (!described.complete && !described.what_missing) described.what_missing = "its end was not seen";
    return described;
}

void fm_collection_process_sized(size_t process_size, const fm_collection *collection, size_t index,
                                 fm_collected_process *process)
{
    const fm_collected_process known = index < collection->process_count
                                           ? describe_process(collection->processes[index])
                                           : (fm_collected_process){.parent = FM_NONE};
    fm_sized_copy(process, process_size, &known, sizeof known);
}

void fm_collection_state_get_sized(size_t state_size, const fm_collection *collection,
                                   fm_collection_state *state)
{
    const fm_collection_state now = {
        .collector = collection->collector,
        .collector_version = collection->version,
        .references = collection->delivered,
        .limit_reached = collection->limit_reached,
        .interrupted = collection->watch.interrupted,
        .seconds = fm_now() - collection->watch.started,
        .notes = collection->notes ? collection->notes : "",
    };
    fm_sized_copy(state, state_size, &now, sizeof now);
}

void fm_collection_note(fm_collection *collection, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fm_notes_add(&collection->notes, format, arguments);
    va_end(arguments);
}

/* Is the name among these, with ", " between them? */
static bool is_listed(const char *names, const char *name)
{
    const size_t length = strlen(name);
    for (const char *end = names; *end; names = end + 2) {
        end = strstr(names, ", ");
        if (!end) end = names + strlen(names);
        if ((size_t)(end - names) == length && memcmp(names, name, length) == 0) return true;
    }
    return false;
}

/* A program that is one file has its libraries in it, libc among them. */
static void note_static(fm_collection *collection, const fm_program *code)
{
    const fm_code_file *program = NULL;
    for (size_t f = 0; f < code->file_count; f++) {
        const fm_code_file *file = &code->files[f];
        if (file->instrumented && file->program)
            program = file;
        else if (file->executable)
            return;
    }
    if (program)
        fm_collection_note(collection,
                           "not seen, because not built by `fathom cc`: libc and other libraries that are "
                           "linked into %s statically",
                           fm_base_name(program->path));
}

static bool is_hooked_early(const fm_code_file *file)
{
    if (!file->instrumented) return false;
    fm_program_file program = {0};
    snprintf(program.path, sizeof program.path, "%s", file->path);
    return fm_program_look(&program, NULL) == FM_OK && program.hooked_early;
}

/* Files whose code was not compiled by fathom cc: their own references are not seen. */
void fm_collection_note_unseen(fm_collection *collection)
{
    if (collection->collector != FM_COLLECTOR_COMPILER) return;
    char names[600] = "";
    size_t used = 0;
    char early[128] = "";
    for (size_t i = 0; i < collection->process_count; i++) {
        const fm_program *code = &collection->processes[i]->code.program;
        note_static(collection, code);
        for (size_t f = 0; f < code->file_count; f++) {
            const fm_code_file *file = &code->files[f];
            const char *name = fm_base_name(file->path);
            if (!early[0] && is_hooked_early(file)) snprintf(early, sizeof early, "%s", name);
            if (file->instrumented || !file->executable || name[0] == '[' || name[0] == '\0') continue;
            char entry[256];
            snprintf(entry, sizeof entry, "%s%s", used ? ", " : "", name);
            if (is_listed(names, name) || used + strlen(entry) + 8 > sizeof names) continue;
            used += (size_t)snprintf(names + used, sizeof names - used, "%s", entry);
        }
    }
    if (used) fm_collection_note(collection, "not seen, because not built by `fathom cc`: %s", names);
    if (early[0])
        fm_collection_note(collection,
                           "%s: built by `fathom cc` without its plug-in for this gcc: loops are not "
                           "vectorised and have more references than in an ordinary build; constant tables, "
                           "and local arrays of which gcc knows every index, are not seen",
                           early);
}

/* ---- modules ---- */

size_t fm_collection_modules(const fm_collection *collection, size_t process, fm_trace_module *modules,
                             size_t capacity)
{
    if (process >= collection->process_count) return 0;
    const fm_process *from = collection->processes[process];
    const fm_code_maps *maps = &from->code.maps;
    for (size_t i = 0; i < maps->count && i < capacity; i++) {
        const fm_code_map *map = &maps->list[i];
        const fm_code_file *file = &from->code.program.files[map->file];
        modules[i] = (fm_trace_module){
            .path = fm_code_file_shown(file),
            .build_id = file->build_id[0] ? file->build_id : NULL,
            .from = map->from,
            .to = map->to,
            .bias = map->bias,
        };
    }
    return maps->count;
}

/* ---- objects ---- */

fm_status fm_collection_count_late_sized(size_t given_size, fm_collection *collection,
                                         const fm_collected *given, const fm_late *late, size_t count,
                                         fm_error *error)
{
    FM_REQUIRE(collection, error);
    fm_collected collected;
    fm_sized_copy(&collected, sizeof collected, given, given_size);
    if (collected.process >= collection->process_count)
        return fm_fail(error, FM_E_ARGUMENT, NULL, "there is no process number %u", collected.process);
    const fm_process *process = collection->processes[collected.process];
    if (!process->objects) return FM_OK;
    return fm_object_map_count(process->objects, collected.begin, collected.batch.address, late, count,
                               error);
}

/* ---- attribution ---- */

fm_status fm_collection_describe(fm_collection *collection, size_t process, fm_attribution *attribution,
                                 const uint32_t **map, size_t *map_count, fm_error *error)
{
    *map = NULL;
    *map_count = 0;
    FM_REQUIRE(collection, error);
    FM_REQUIRE(attribution, error);
    if (process >= collection->process_count)
        return fm_fail(error, FM_E_ARGUMENT, NULL, "there is no process %zu", process);
    fm_process *from = collection->processes[process];
    const fm_program *program = &from->code.program;
    const bool paths = collection->options.call_paths;
    const size_t tags = paths ? program->places.count : program->sites.count;
    if (attribution->module_count > 0 && from->objects)
        return fm_fail(error, FM_E_ARGUMENT, NULL, "the attribution describes another process already");
    fm_described at;
    fm_status status = fm_program_describe(program, paths, collection->collector == FM_COLLECTOR_COMPILER,
                                           attribution, &at, error);
    uint32_t *index = status == FM_OK ? fm_making_map(attribution, tags + 1, error) : NULL;
    if (!index) return status == FM_OK ? FM_E_NOMEM : status;
    for (size_t i = 0; i < tags; i++) index[i + 1] = (uint32_t)(at.sites + i);
    *map = index;
    *map_count = tags + 1;
    if (!from->objects) return FM_OK;
    const size_t contexts = program->heap.count ? program->heap.count : 1; /* nodes; the root: not known */
    uint32_t *allocations = fm_calloc(contexts, sizeof *allocations);
    if (!allocations)
        return fm_fail_memory(error, contexts * sizeof *allocations, "the places of allocations");
    for (size_t i = 0; i < contexts; i++) allocations[i] = fm_described_path(at.heap, (uint32_t)i);
    status =
        fm_object_map_describe(from->objects, attribution, index, tags + 1, allocations, contexts, error);
    free(allocations);
    return status;
}

/* ---- judge ---- */

/*
 * How a process ended, and whether everything that it did was received.
 *
 * Under Valgrind the process's exit status is not enough: Valgrind may end it for reasons of its own (no
 * memory, a failed assertion), with a status like any other. So the tool says it when the program itself
 * ends, by its exit or by a signal, and whatever ends without that word is incomplete.
 */

/* The name without SIG. */
static const char *signal_name(int wait_status)
{
    const char *name = sigabbrev_np(WTERMSIG(wait_status));
    return name ? name : "?";
}

/* Has it become another program, which is not traced? Where Valgrind says nothing of a failure, there was
 * none. */
static bool executed_another(const fm_process *process)
{
    if (!process->executes || process->end_reported || process->fatal_signal) return false;
    return process->valgrind || process->references + process->left_out == process->executes_after;
}

/*
 * The process may have been over before anyone saw that it was two programs (fm_watch_add): then what was
 * reported says so. A program with the same number that came later is what this one executed, and the end was
 * that one's.
 */
static void find_successor(fm_collection *collection, fm_process *process)
{
    if (!process->watched.replaced && !executed_another(process)) return;
    fm_process *next = NULL, *other;
    for (uint32_t n = 0; (other = fm_process_with_pid(collection, process->watched.pid, n)); n++)
        if (other->serial > process->serial && (!next || other->serial < next->serial)) next = other;
    if (!next || next->predecessor) return;
    fm_process_becomes(process, next);
    process->watched.ended = false;
}

static void judge_execution(fm_collection *collection, fm_process *process)
{
    const char *program = process->executed ? process->executed : "another program";
    bool followed = collection->options.follow_children;
    if (process->execution_known && process->valgrind)
        fm_process_miss(process, "it executed %s, which Valgrind could not run: its message says why",
                        program);
    else if (process->execution_known)
        fm_process_miss(
            process, "it executed %s, which did not come to the memory that it shares with fathom", program);
    else if (followed && process->valgrind)
        fm_process_miss(
            process,
            "it executed %s, which could not be traced (set-user-ID, not readable, not x86-64, or "
            "without /proc)",
            program);
    else
        fm_collection_note(collection, "%s executed %s, which was not traced%s",
                           process->program ? process->program : "the program", program,
                           followed ? "" : ": only children that are followed are");
}

/* Its end is known, but nobody reported that it was the program's own. */
static void judge_valgrind(fm_process *process)
{
    int status = process->watched.wait_status;
    if (!WIFSIGNALED(status))
        fm_process_miss(
            process, "Valgrind ended it, with exit code %d, before its own end: Valgrind's message says why",
            WEXITSTATUS(status));
    else
        fm_process_miss(process, "Valgrind was killed by SIG%s before its end", signal_name(status));
    process->watched.ended = false; /* that was Valgrind's status, not the program's */
    process->gave_up = true;
}

void fm_judge_process(fm_collection *collection, fm_process *process)
{
    if (process->judged) return;
    process->judged = true;
    process->complete = true;
    find_successor(collection, process);
    uint32_t refused = __atomic_load_n(&collection->receiver->session->refused, __ATOMIC_RELAXED);
    if (refused > 0)
        fm_process_miss(
            process,
            "%u threads or processes got none of the %d channels (or no memory for it), and were not "
            "seen",
            refused, FM_STREAM_CHANNELS);
    if (process->unknown_instruction)
        fm_process_miss(process, "it came to an instruction that Valgrind cannot run");
    if (process->lost > 0)
        fm_process_miss(process, "%llu references were lost on the way", (unsigned long long)process->lost);
    if (collection->stopped) fm_process_miss(process, "tracing was stopped before its end");
    if (collection->watch.interrupted) fm_process_miss(process, "it was interrupted before its end");
    if (process->missing) {
        process->complete = false;
        return;
    }
    if (collection->limit_reached || process->watched.replaced) return;
    if (executed_another(process)) {
        judge_execution(collection, process);
        return;
    }
    if (process->died_calling && process->watched.ended && WIFSIGNALED(process->watched.wait_status) &&
        WTERMSIG(process->watched.wait_status) == SIGSYS) {
        fm_process_miss(
            process,
            "killed by SIGSYS in a system call of fathom's own (number %u): its filter (seccomp) was not "
            "installed through libc",
            process->died_calling - 1);
        return;
    }
    bool own_end = process->end_reported || process->fatal_signal;
    if (!process->watched.ended && own_end) {
        process->watched.ended = true;
        process->watched.wait_status = process->fatal_signal ? process->fatal_signal : process->end_code << 8;
    }
    if (!process->watched.ended)
        fm_process_miss(process, process->gave_up ? "Valgrind ended it: Valgrind's message says why"
                                                  : "it ended in a way that could not be seen");
    else if (WIFSIGNALED(process->watched.wait_status) &&
             !fm_signal_is_crash(WTERMSIG(process->watched.wait_status)))
        fm_process_miss(process, "killed by SIG%s before its end", signal_name(process->watched.wait_status));
    else if (process->valgrind && !own_end)
        judge_valgrind(process);
}
