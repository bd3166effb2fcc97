/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch.c - starts the program under the collector that fits it. How each is started is said in
 * collect/valgrind/README.md and collect/cc/README.md.
 */
#define _GNU_SOURCE
#include "collect/collection.h"

#include "base/error.h"
#include "base/input.h"
#include "base/memory.h"
#include "process/program_file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- the parts ---- */

static const char tool_name[] = "valgrind/fathom-amd64-linux";

static fm_status find_tool(const char *parts, char *tool, fm_error *error)
{
    if (fm_part_find(parts, tool_name, tool, PATH_MAX)) return FM_OK;
    if (tool[0])
        return fm_fail(error, FM_E_UNSUPPORTED, tool,
                       "there is no Valgrind tool here; build the program with `fathom cc` to do without it");
    return fm_fail(error, FM_E_UNSUPPORTED, NULL,
                   "this fathom has no Valgrind tool: install Valgrind (Debian package valgrind) and build "
                   "fathom again, or build the program with `fathom cc`");
}

/* "valgrind-3.19.0", as the tool says. */
static fm_status ask_version(fm_collection *collection, const char *tool, fm_error *error)
{
    char *arguments[] = {(char *)(uintptr_t)tool, "--version", NULL};
    int output[2], status = 0;
    pid_t child;
    if (pipe2(output, O_CLOEXEC) != 0) return fm_fail_io(error, tool, "make a pipe to start it", errno);
    const fm_start_descriptor standard_output = {output[1], STDOUT_FILENO};
    fm_status result = fm_program_start(
        &(fm_start){
            .path = tool, .arguments = arguments, .descriptors = &standard_output, .descriptor_count = 1},
        &child, error);
    close(output[1]);
    size_t used = 0;
    while (result == FM_OK && used + 1 < sizeof collection->version) {
        ssize_t got = read(output[0], collection->version + used, sizeof collection->version - 1 - used);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        used += (size_t)got;
    }
    close(output[0]);
    collection->version[used] = '\0';
    collection->version[strcspn(collection->version, "\n")] = '\0';
    if (result != FM_OK) return result;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (status != 0 || strncmp(collection->version, "valgrind-", 9) != 0)
        return fm_fail(
            error, FM_E_UNSUPPORTED, tool,
            "does not run here as a Valgrind tool should: %s %d (is memory limited? see ulimit -a)",
            WIFSIGNALED(status) ? "killed by signal" : "exit code",
            WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    return FM_OK;
}

static fm_status launch_valgrind(fm_collection *collection, fm_error *error)
{
    char tool[PATH_MAX], path[64], session[80];
    fm_status status = find_tool(collection->options.parts, tool, error);
    if (status == FM_OK) status = ask_version(collection, tool, error);
    if (status != FM_OK) return status;
    fm_receiver_path(collection->receiver, path, sizeof path);
    snprintf(session, sizeof session, "--session=%s", path);
    char *const before[] = {tool, "--tool=fathom", "--command-line-only=yes", "--quiet", session, "--"};
    enum { BEFORE = sizeof before / sizeof before[0] };
    char *const *command = collection->options.command;
    size_t count = 0;
    while (command[count]) count++;
    char **arguments = fm_calloc(BEFORE + count + 1, sizeof *arguments);
    if (!arguments) return fm_fail(error, FM_E_NOMEM, NULL, "out of memory: no room for the command line");
    memcpy(arguments, before, sizeof before);
    memcpy(arguments + BEFORE, command, count * sizeof *arguments);
    static const char *const variables[] = {FM_STREAM_ENVIRONMENT, NULL};
    status = fm_watch_start(&collection->watch,
                            &(fm_start){.path = tool, .arguments = arguments, .variables = variables}, error);
    free(arguments);
    return status;
}

/*
 * A descriptor of the session that the program and all that it starts inherit, as a file that was opened once
 * more: the lock on ours is ours alone. By it programs come to the memory that have given up the right to
 * look at this process, or have another root directory. *place: its number in the program. -1: what lies
 * there is the user's, and the path must do.
 */
static int open_to_inherit(const char *path, int *place)
{
    struct rlimit files;
    struct stat there;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0) return -1;
    *place = fm_stream_descriptor(files.rlim_cur);
    bool free =
        fstat(*place, &there) != 0 || there.st_size > (off_t)FM_STREAM_RINGS_OFFSET; /* fathom's, again */
    return free ? open(path, O_RDWR | O_CLOEXEC) : -1;
}

static fm_status launch_compiler(fm_collection *collection, const fm_program_file *program, fm_error *error)
{
    char path[64], session[96];
    fm_receiver_path(collection->receiver, path, sizeof path);
    snprintf(session, sizeof session, FM_STREAM_ENVIRONMENT "=%s", path);
    snprintf(collection->version, sizeof collection->version, "fathom-cc-%d", FM_STREAM_VERSION);
    const char *const variables[] = {session, NULL};
    int place = -1;
    const int file = collection->options.follow_children ? open_to_inherit(path, &place) : -1;
    const fm_start_descriptor inherited = {file, place};
    fm_status status = fm_watch_start(&collection->watch,
                                      &(fm_start){.path = program->path,
                                                  .arguments = collection->options.command,
                                                  .variables = variables,
                                                  .descriptors = &inherited,
                                                  .descriptor_count = file >= 0},
                                      error);
    if (file >= 0) close(file);
    return status;
}

/* Can the program be traced at all? */
static fm_status check_program(const fm_program_file *program, fm_error *error)
{
    const char *file = program->file;
    switch (program->rights) {
    case FM_RIGHTS_NONE:
        break;
    case FM_RIGHTS_CAPABILITIES:
        return fm_fail(error, FM_E_UNSUPPORTED, file,
                       "has capabilities of its own: traced, it would not get them; a copy without them (cp "
                       "makes one) can be traced");
    case FM_RIGHTS_SETUID:
    case FM_RIGHTS_SETGID:
        return fm_fail(error, FM_E_UNSUPPORTED, file,
                       "is %s: traced, it would not get the rights that this gives it; a copy without "
                       "the bit (cp makes one) can be traced",
                       program->rights == FM_RIGHTS_SETUID ? "setuid (set-user-ID)"
                                                           : "setgid (set-group-ID)");
    }
    return fm_program_refuse(program, "traced", "tracing", error);
}

/* The collector that was asked for, or the one that fits. */
static fm_status choose_collector(fm_collection *collection, const fm_program_file *program, fm_error *error)
{
    fm_collector collector = collection->options.collector;
    if (collector == FM_COLLECTOR_AUTO)
        collector = program->instrumented && !program->script ? FM_COLLECTOR_COMPILER : FM_COLLECTOR_VALGRIND;
    collection->collector = collector;
    collection->instrumented = program->instrumented;
    if (collector == FM_COLLECTOR_VALGRIND) return FM_OK;
    if (!program->instrumented) {
        /* What it loads may be instrumented, or what it starts. */
        if (program->loader[0] || collection->options.follow_children) return FM_OK;
        return fm_fail(error, FM_E_UNSUPPORTED, program->path,
                       "was not built by `fathom cc`, and is linked statically, so that it loads no library "
                       "that was; build it so, or trace it with Valgrind");
    }
    if (program->runtime_version != FM_STREAM_VERSION)
        return fm_fail(error, FM_E_UNSUPPORTED, program->path,
                       "was built by `fathom cc` of another version (%u, this one is %d); build it again",
                       program->runtime_version, FM_STREAM_VERSION);
    return FM_OK;
}

/* What the producers have to tell. */
static uint32_t wanted_records(const fm_collection *collection)
{
    const fm_collect_options *options = &collection->options;
    bool calls = options->call_paths || options->function;
    bool valgrind = collection->collector == FM_COLLECTOR_VALGRIND;
    uint32_t result = 0;
    /* Under Valgrind a call is known by the store of its return address, and a return address is loaded. */
    if (!options->no_loads || (calls && valgrind)) result |= FM_WANT_LOADS;
    if (!options->no_stores || (calls && valgrind)) result |= FM_WANT_STORES;
    if ((options->columns & (FM_COLUMN_SITE | FM_COLUMN_TAG)) || calls) result |= FM_WANT_SITES;
    if (calls) result |= FM_WANT_CALLS;
    if (options->objects) result |= FM_WANT_HEAP;
    if (options->follow_children) result |= FM_WANT_CHILDREN;
    if (valgrind) result |= FM_WANT_SHARED;
    return result;
}

/* Programs find the session through /proc: is it there, and is it that of our processes? */
static fm_status check_proc(const fm_collection *collection, fm_error *error)
{
    char path[64];
    fm_receiver_path(collection->receiver, path, sizeof path);
    return fm_proc_shows(collection->receiver->file, path, "collecting", error);
}

fm_status fm_launch(fm_collection *collection, fm_error *error)
{
    fm_program_file program;
    fm_status status = check_proc(collection, error);
    if (status == FM_OK) status = fm_program_find(collection->options.command[0], &program, error);
    if (status == FM_OK) status = fm_program_look(&program, error);
    if (status == FM_OK) status = check_program(&program, error);
    if (status == FM_OK) status = choose_collector(collection, &program, error);
    if (status != FM_OK) return status;
    collection->receiver->session->wants = wanted_records(collection);
    return collection->collector == FM_COLLECTOR_VALGRIND ? launch_valgrind(collection, error)
                                                          : launch_compiler(collection, &program, error);
}
