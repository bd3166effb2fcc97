/* SPDX-License-Identifier: Apache-2.0 */
/* process_records.c - what producers report of processes: that they begin, execute another program, end; and
 * notes. */
#define _GNU_SOURCE
#include "collect/collection.h"

#include "base/error.h"
#include "base/memory.h"
#include "process/program_file.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static fm_process *find_process(const fm_collection *collection, fm_key key)
{
    const fm_known_process *known = fm_table_find(&collection->process_table, &key);
    return known ? collection->processes[known->index] : NULL;
}

/* Keys of the table: by serial number, and by pid, which several may have, one after the other. */
static fm_key serial_key(uint64_t serial)
{
    return (fm_key){.a = serial};
}

static fm_key pid_key(uint64_t pid, uint64_t n)
{
    return (fm_key){.a = pid, .b = 1, .c = n};
}

fm_process *fm_process_with_pid(const fm_collection *collection, uint64_t pid, uint32_t n)
{
    return find_process(collection, pid_key(pid, n));
}

static bool know_process(fm_collection *collection, fm_key key, uint32_t index)
{
    fm_known_process *known = fm_table_put(&collection->process_table, &key, NULL);
    if (known) known->index = index;
    return known;
}

static fm_status add_process(fm_collection *collection, fm_process *process, fm_error *error)
{
    uint32_t n = 0, pid = process->watched.pid, index = (uint32_t)collection->process_count;
    while (fm_process_with_pid(collection, pid, n)) n++;
    if (fm_array_reserve((void **)&collection->processes, &collection->process_capacity, (size_t)index + 1,
                         sizeof(fm_process *)) != 0 ||
        !know_process(collection, serial_key(process->serial), index) ||
        !know_process(collection, pid_key(pid, n), index)) {
        fm_process_destroy(process);
        return fm_fail(error, FM_E_NOMEM, NULL, "out of memory: no room for another process");
    }
    process->index = index;
    collection->processes[collection->process_count++] = process;
    return FM_OK;
}

fm_status fm_process_find_or_create(fm_collection *collection, uint32_t serial, uint32_t pid,
                                    fm_process **found, fm_error *error)
{
    *found = find_process(collection, serial_key(serial));
    if (*found) return FM_OK;
    fm_process *process =
        fm_process_create(serial, pid, collection->options.function, collection->options.objects, error);
    if (!process) return FM_E_NOMEM;
    fm_status status = add_process(collection, process, error);
    if (status != FM_OK) return status;
    *found = process;
    fm_watched_process *same;
    status = fm_watch_add(&collection->watch, &process->watched, &same, error);
    if (same && process->watched.replaced)
        fm_process_becomes(process, same->owner);
    else if (same)
        fm_process_becomes(same->owner, process);
    return status;
}

static fm_process *parent_of(const fm_collection *collection, const fm_process *process, uint64_t serial,
                             uint64_t pid)
{
    fm_process *parent = serial ? find_process(collection, serial_key(serial)) : NULL, *other;
    for (uint32_t n = 0; !serial && (other = fm_process_with_pid(collection, pid, n)); n++)
        if (other != process) parent = other; /* the one that was seen last */
    return parent != process ? parent : NULL;
}

/* The program's own command line, behind its path: so many texts, within so many bytes. */
static fm_status read_arguments(fm_process *process, uint64_t argument, const char *text, size_t bytes,
                                fm_error *error)
{
    size_t count = argument & UINT32_MAX, found = 0, begin = strnlen(text, bytes) + 1;
    if (count > bytes) count = bytes; /* each takes one at least */
    char **arguments = fm_calloc(count + 1, sizeof *arguments);
    if (!arguments) return fm_fail(error, FM_E_NOMEM, NULL, "out of memory: no room for a command line");
    process->arguments = arguments;
    while (found < count && begin < bytes) {
        size_t length = strnlen(text + begin, bytes - begin);
        arguments[found] = strndup(text + begin, length);
        if (!arguments[found])
            return fm_fail(error, FM_E_NOMEM, NULL, "out of memory: no room for an argument");
        found++;
        begin += length + 1;
    }
    process->more_arguments = found < count || (argument & FM_PROCESS_MORE_ARGUMENTS);
    return FM_OK;
}

static fm_status process_begins(fm_collection *collection, fm_process *process, uint64_t argument,
                                const uint64_t *words, const char *program, size_t bytes, fm_error *error)
{
    if (process->described) return FM_OK;
    process->described = true;
    process->program = strdup(program);
    if (!process->program) return fm_fail(error, FM_E_NOMEM, NULL, "out of memory: no room for a name");
    if (argument & UINT32_MAX) {
        fm_status status = read_arguments(process, argument, program, bytes, error);
        if (status != FM_OK) return status;
        if (process->arguments[0]) process->called = fm_program_called(process->arguments[0], program);
    }
    const fm_process *parent = parent_of(collection, process, words[2], words[1]);
    if (parent && !process->predecessor) process->parent = parent->index;
    fm_status status = parent && words[2] ? fm_process_inherit(process, parent, error) : FM_OK;
    if (status == FM_OK && process->called &&
        !fm_program_call(&process->code.program, process->program, process->called))
        status = fm_fail(error, FM_E_NOMEM, NULL, "out of memory: no room for a name");
    return status;
}

static void add_note(fm_collection *collection, fm_process *process, uint64_t kind, const char *text)
{
    char clean[256];
    size_t length = 0;
    for (; text[length] && length + 1 < sizeof clean; length++)
        clean[length] = (unsigned char)text[length] < ' ' || text[length] == 127 ? '?' : text[length];
    clean[length] = '\0';
    int number;
    switch (kind) {
    case FM_NOTE_UNKNOWN_INSTRUCTION:
        process->unknown_instruction = true;
        fm_collection_note(collection,
                           "the program uses an instruction that Valgrind cannot run, at %s: build it with "
                           "`fathom cc`, or without AVX-512 (-march=native, -mavx512…)",
                           clean);
        break;
    case FM_NOTE_FATAL_SIGNAL:
        if (sscanf(clean, "signal %d", &number) == 1 && number > 0 && number < NSIG)
            process->fatal_signal = number;
        break;
    case FM_NOTE_GAVE_UP:
        process->gave_up = true;
        process->executes = false;
        break;
    default:
        fm_collection_note(collection, "%s", clean);
    }
}

/* Was a program built by `fathom cc`, so that it comes to the session itself when it is executed? */
static bool is_instrumented(const fm_process *process, const char *path)
{
    static const char *const from[] = {"root", "cwd"};
    fm_program_file program = {0};
    if (!path[0]) return false;
    if (strchr(path, '/')) /* as the process sees it */
        snprintf(program.path, sizeof program.path, "/proc/%u/%s/%s", process->watched.pid,
                 from[path[0] != '/'], path);
    else if (fm_program_find(path, &program, NULL) != FM_OK)
        return false;
    if (fm_program_look(&program, NULL) == FM_OK) return program.instrumented && !program.script;
    snprintf(program.path, sizeof program.path, "%s", path); /* the process is gone */
    return path[0] == '/' && fm_program_look(&program, NULL) == FM_OK && program.instrumented &&
           !program.script;
}

fm_status fm_process_record(void *context, fm_process *process, unsigned kind, uint64_t argument,
                            const uint64_t *words, const char *text, size_t bytes, fm_error *error)
{
    fm_collection *collection = context;
    switch (kind) {
    case FM_RECORD_PROCESS:
        return process_begins(collection, process, argument, words, text, bytes, error);
    case FM_RECORD_EXEC:
        process->executes = !(argument & FM_EXEC_FAILED);
        if (!process->executes) break;
        process->execution_known =
            process->valgrind ? argument & FM_EXEC_TRACED
                              : collection->options.follow_children && is_instrumented(process, text);
        free(process->executed);
        process->executed = strdup(text); /* for a note only */
        process->executes_after = process->references + process->left_out + collection->decoder->rows.count;
        break;
    case FM_RECORD_END:
        process->end_reported = true;
        process->end_code = (int)(argument & 0xFF);
        break;
    default:
        add_note(collection, process, argument, text);
    }
    return FM_OK;
}
