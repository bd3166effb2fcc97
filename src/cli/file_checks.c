/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_checks.c - see file_checks.h.
 *
 * Files are compared by device and inode, so that links are seen through. What is no regular file, and names
 * in /dev and /proc, can be written as often as one likes.
 */
#include "cli.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool cli_force;

enum { MOST_OUTPUTS = 16, KIND_TEXT = 300 };

typedef struct named_file {
    const char *option, *path;
    struct stat about, folder; /* of the file, and of what it is in */
    bool exists, in_folder;    /* they are there */
} named_file;

static const char *value_of(const cli_option *option)
{
    return *(const char *const *)option->target;
}

static bool begins_with(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* Whether something could be lost by writing there. */
static bool is_ordinary(const char *path)
{
    struct stat about;
    if (!path || cli_is_stdout(path) || begins_with(path, "/proc/")) return false;
    if (begins_with(path, "/dev/") && !begins_with(path, "/dev/shm/")) return false;
    return stat(path, &about) != 0 || S_ISREG(about.st_mode);
}

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static void look_at(named_file *file)
{
    char folder[4096] = ".";
    const char *slash = strrchr(file->path, '/');
    if (slash) snprintf(folder, sizeof folder, "%.*s", (int)(slash - file->path + 1), file->path);
    file->exists = stat(file->path, &file->about) == 0;
    file->in_folder = stat(folder, &file->folder) == 0;
}

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Whether both names lead to one file, which need not be there yet. */
static bool are_one(const named_file *a, const named_file *b)
{
    if (a->exists || b->exists) return a->exists && b->exists && is_same(&a->about, &b->about);
    return a->in_folder && b->in_folder && is_same(&a->folder, &b->folder) &&
           strcmp(base_of(a->path), base_of(b->path)) == 0;
}

/* ---- outputs ---- */

/* Those that are given. */
static size_t find_outputs(const cli_option *options, named_file *outputs)
{
    size_t count = 0;
    for (const cli_option *option = options; option->name && count < MOST_OUTPUTS; option++) {
        if (cli_option_role(option) != CLI_OUTPUT || !is_ordinary(value_of(option))) continue;
        named_file *output = &outputs[count++];
        *output = (named_file){.option = option->name, .path = value_of(option)};
        look_at(output);
    }
    return count;
}

static int check_each_other(const named_file *outputs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t j = i + 1; j < count; j++)
            if (are_one(&outputs[i], &outputs[j]))
                return cli_misuse("--%s and --%s: both name %s", outputs[i].option, outputs[j].option,
                                  outputs[j].path);
    return -1;
}

static int check_input(const named_file *outputs, size_t count, const struct stat *input, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (outputs[i].exists && is_same(&outputs[i].about, input))
            return cli_misuse("--%s %s: names an input of this command (%s): a result never overwrites one",
                              outputs[i].option, outputs[i].path, name);
    return -1;
}

/* A program may read or write any of its arguments. */
static int check_argument(const named_file *outputs, size_t count, const char *argument)
{
    struct stat about;
    if (cli_force || stat(argument, &about) != 0) return -1;
    for (size_t i = 0; i < count; i++)
        if (outputs[i].exists && is_same(&outputs[i].about, &about))
            return cli_misuse("--%s %s: is an argument of the program, too; --force overwrites it",
                              outputs[i].option, outputs[i].path);
    return -1;
}

static bool is_input(const cli_option *option)
{
    const cli_role role = cli_option_role(option);
    return role == CLI_INPUT_TRACE || role == CLI_INPUT_MACHINE;
}

static int check_inputs(const cli_command *command, const named_file *outputs, size_t count, char **arguments,
                        size_t argument_count)
{
    struct stat about;
    int code = -1;
    if (fstat(STDIN_FILENO, &about) == 0 && S_ISREG(about.st_mode))
        code = check_input(outputs, count, &about, "standard input");
    for (const cli_option *option = command->options; option->name && code < 0; option++)
        if (is_input(option) && value_of(option) && stat(value_of(option), &about) == 0)
            code = check_input(outputs, count, &about, value_of(option));
    const size_t files = command->reads == CLI_READS_NOTHING ? 0 : argument_count;
    for (size_t i = 0; i < files && code < 0; i++) {
        const bool is_program = command->command_follows && i == 0;
        if (command->command_follows && !is_program)
            code = check_argument(outputs, count, arguments[i]);
        else if (is_program && !strchr(arguments[i], '/'))
            continue; /* looked for on the PATH */
        else if (stat(arguments[i], &about) == 0)
            code = check_input(outputs, count, &about, is_program ? "the program" : arguments[i]);
    }
    return code;
}

int cli_check_output(const char *option, const char *path)
{
    char what[KIND_TEXT];
    if (cli_force || !is_ordinary(path)) return -1;
    const fm_file_kind kind = fm_file_look(path, what, sizeof what);
    if (kind != FM_FILE_PROFILE && kind != FM_FILE_TRACE && kind != FM_FILE_MODEL) return -1;
    return cli_misuse("--%s %s: is %s, which would be lost; give another name, or --force to overwrite it",
                      option, path, what);
}

/* ---- inputs ---- */

/* What to do with a file of a kind. */
static void say_remedy(fm_file_kind kind, const char *path, char *text, size_t size)
{
    switch (kind) {
    case FM_FILE_PROFILE:
        snprintf(text, size, "fathom mrc, report, diff, compare and train read it");
        return;
    case FM_FILE_TRACE:
        snprintf(text, size, "'fathom analyze %.200s --json FILE' makes a profile of it", path);
        return;
    case FM_FILE_MODEL:
        snprintf(text, size, "'fathom predict %.200s --data-size N' makes a profile of it", path);
        return;
    case FM_FILE_FORMULAS:
        snprintf(text, size, "'fathom static %.200s --param NAME=N' puts numbers in", path);
        return;
    case FM_FILE_RESULT:
        snprintf(text, size, "it is for other programs: no verb reads it");
        return;
    case FM_FILE_MACHINE:
        snprintf(text, size, "'fathom static --machine-file %.200s' reads it", path);
        return;
    case FM_FILE_PAGE:
        snprintf(text, size, "a browser shows it");
        return;
    case FM_FILE_SOURCE:
        snprintf(text, size,
                 "'fathom static' reads it; or compile it, and run the program under 'fathom run'");
        return;
    case FM_FILE_PROGRAM:
        snprintf(text, size, "'fathom run -- %.200s' makes a profile of it", path);
        return;
    case FM_FILE_OTHER:
        break;
    }
    text[0] = '\0';
}

static const char *name_of(cli_reads reads)
{
    static const char *const names[] = {
        [CLI_READS_NOTHING] = "nothing",    [CLI_READS_PROFILES] = "a profile",
        [CLI_READS_TRACE] = "a trace",      [CLI_READS_MODEL] = "a model",
        [CLI_READS_SOURCE] = "source code", [CLI_READS_MACHINE] = "a machine's description",
        [CLI_READS_PROGRAM] = "a program",
    };
    return names[reads];
}

static bool is_readable(cli_reads reads, fm_file_kind kind)
{
    switch (reads) {
    case CLI_READS_NOTHING:
        return true;
    case CLI_READS_PROFILES:
        return kind == FM_FILE_PROFILE;
    case CLI_READS_TRACE:
        return kind == FM_FILE_TRACE;
    case CLI_READS_MODEL:
        return kind == FM_FILE_MODEL;
    case CLI_READS_SOURCE:
        return kind == FM_FILE_SOURCE || kind == FM_FILE_FORMULAS;
    case CLI_READS_MACHINE:
        return kind == FM_FILE_MACHINE;
    case CLI_READS_PROGRAM:
        return kind == FM_FILE_PROGRAM;
    }
    return true;
}

/* A file of which nothing is known may be anything: whoever reads it will see. */
static int check_kind(cli_reads reads, const char *path)
{
    char what[KIND_TEXT], remedy[KIND_TEXT];
    if (cli_is_stdout(path)) return -1;
    if (reads == CLI_READS_PROGRAM && access(path, X_OK) == 0) return -1;
    const fm_file_kind kind = fm_file_look(path, what, sizeof what);
    if (kind == FM_FILE_OTHER || is_readable(reads, kind)) return -1;
    say_remedy(kind, path, remedy, sizeof remedy);
    cli_complain("%s: expected %s, found %s: %s", path, name_of(reads), what, remedy);
    return CLI_FAILED;
}

/* Whoever says what format a trace has knows better. */
static bool has_format(const cli_command *command)
{
    for (const cli_option *option = command->options; option->name; option++)
        if (strcmp(option->name, "format") == 0 && option->target) return value_of(option) != NULL;
    return false;
}

static int check_kinds(const cli_command *command, char **arguments, size_t count)
{
    const bool any_trace = has_format(command);
    const size_t looked_at = command->command_follows && count > 1 ? 1 : count;
    int code = -1;
    if (command->reads != CLI_READS_NOTHING && !(command->reads == CLI_READS_TRACE && any_trace))
        for (size_t i = 0; i < looked_at && code < 0; i++) code = check_kind(command->reads, arguments[i]);
    for (const cli_option *option = command->options; option->name && code < 0; option++) {
        const cli_role role = cli_option_role(option);
        if (role == CLI_INPUT_TRACE && value_of(option) && !any_trace)
            code = check_kind(CLI_READS_TRACE, value_of(option));
        if (role == CLI_INPUT_MACHINE && value_of(option))
            code = check_kind(CLI_READS_MACHINE, value_of(option));
    }
    return code;
}

int cli_check_files(const cli_command *command, char **arguments, size_t count)
{
    named_file outputs[MOST_OUTPUTS];
    const size_t output_count = find_outputs(command->options, outputs);
    int code = check_each_other(outputs, output_count);
    if (code < 0) code = check_inputs(command, outputs, output_count, arguments, count);
    for (size_t i = 0; i < output_count && code < 0; i++)
        code = cli_check_output(outputs[i].option, outputs[i].path);
    return code < 0 ? check_kinds(command, arguments, count) : code;
}
