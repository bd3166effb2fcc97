/* SPDX-License-Identifier: Apache-2.0 */
/*
 * options.c - options parsed from a verb's table. The same table prints --help, so that the two
 * cannot disagree.
 *
 * It does not know any option but --help. Options and positional arguments may be mixed; names are
 * never abbreviated, because an abbreviation that works today is an ambiguity tomorrow.
 */
#include "cli.h"
#include "file_checks.h"
#include "nearest.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- values ---- */

/* As the library's of engine options: "64", "0x40", "4K". Neither signs nor blanks, which strtoull takes. */
bool cli_is_stdout(const char *path)
{
    return path && strcmp(path, "-") == 0;
}

bool cli_parse_count(const char *text, uint64_t *value)
{
    static const char letters[] = "kKmMgGtT";
    const bool hexadecimal = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    const char *digits = hexadecimal ? text + 2 : text;
    const size_t length = strspn(digits, hexadecimal ? "0123456789abcdefABCDEF" : "0123456789");
    char *end;
    errno = 0;
    const unsigned long long number = strtoull(digits, &end, hexadecimal ? 16 : 10);
    if (length == 0 || errno == ERANGE || end != digits + length) return false;
    const char *letter = *end ? strchr(letters, *end) : NULL;
    const unsigned shift = letter ? 10 * (unsigned)((letter - letters) / 2 + 1) : 0;
    if (end[letter ? 1 : 0] != '\0' || number > (UINT64_MAX >> shift)) return false;
    *value = (uint64_t)number << shift;
    return true;
}

/* No option's number is below 0: many have a value there that stands for "not given". */
bool cli_parse_real(const char *text, double *value)
{
    if (text[0] == '\0' || strchr("- \t\n\v\f\r", text[0])) return false;
    char *end;
    double number = strtod(text, &end);
    if (*end != '\0' || !isfinite(number)) return false;
    *value = number;
    return true;
}

/* 2^64-1 stands for "not given" where that is what a count begins as. */
static bool parse_count_option(const char *text, bool bytes, uint64_t *target)
{
    const bool has_none = *target == UINT64_MAX;
    uint64_t value;
    if (!(bytes ? cli_parse_bytes : cli_parse_count)(text, &value) || (has_none && value == UINT64_MAX))
        return false;
    *target = value;
    return true;
}

/* Adds "name=text" to a list, or the text alone. */
static int join(const cli_option *option, const char *name, const char *text)
{
    cli_joined *joined = option->target;
    if (!name && !text[0])
        return cli_misuse("--%s: expected %s, found nothing", option->name, option->argument);
    const size_t length = strlen(joined->text);
    const int more = snprintf(joined->text + length, sizeof joined->text - length, "%s%s%s%s",
                              length ? "," : "", name ? name : "", name && text ? "=" : "", text ? text : "");
    if (more >= 0 && (size_t)more < sizeof joined->text - length) return -1;
    return cli_misuse("--%s: too much of it", option->name);
}

/* -1, or CLI_USAGE after a message. */
static int store(const cli_option *option, const char *text)
{
    switch (option->kind) {
    case CLI_FLAG:
        *(bool *)option->target = true;
        return -1;
    case CLI_STRING:
    case CLI_OUTPUT:
    case CLI_INPUT_TRACE:
    case CLI_INPUT_MACHINE:
        *(const char **)option->target = text;
        return -1;
    case CLI_COUNT:
        if (parse_count_option(text, strcmp(option->argument, "BYTES") == 0, option->target)) return -1;
        return cli_misuse("--%s: expected a whole number below 2^64 (suffixes K, M, G, T), found '%s'",
                          option->name, text);
    case CLI_REAL:
        if (cli_parse_real(text, option->target)) return -1;
        return cli_misuse("--%s: expected a number, 0 or more, found '%s'", option->name, text);
    case CLI_JOIN:
        return join(option, NULL, text);
    case CLI_JOIN_NAMED:
        return join(option, option->name, text);
    }
    return -1;
}

static bool takes_no_value(const cli_option *option)
{
    return !option->argument;
}

/* ---- help ---- */

enum { HELP_COLUMN_MOST = 28 }; /* explanations begin at this column at the latest */

/* "-o, --output FILE" without the leading blanks; returns its length. */
static int left_part(char *buffer, size_t size, const cli_option *option)
{
    char letter[8] = "    ";
    if (option->letter) snprintf(letter, sizeof letter, "-%c, ", option->letter);
    return snprintf(buffer, size, "%s--%s%s%s", letter, option->name, option->argument ? " " : "",
                    option->argument ? option->argument : "");
}

static void print_option(const cli_option *option, int column)
{
    char left[128];
    int used = 2 + left_part(left, sizeof left, option);
    printf("  %s", left);
    if (used > column - 2) {
        printf("\n");
        used = 0;
    }
    for (const char *line = option->help; line;) {
        const char *end = strchr(line, '\n');
        int length = end ? (int)(end - line) : (int)strlen(line);
        printf("%*s%.*s\n", column - used, "", length, line);
        used = 0;
        line = end ? end + 1 : NULL;
    }
}

static const cli_option help_option = {"help", 'h', CLI_FLAG, NULL, NULL, "show this help"};
/* Of every verb that writes files. */
static const cli_option force_option = {
    "force", 0, CLI_FLAG, &cli_force, NULL, "overwrite a file although it is a profile, a trace or a model"};

static bool writes_files(const cli_command *command)
{
    for (const cli_option *option = command->options; option->name; option++)
        if (option->kind == CLI_OUTPUT) return true;
    return false;
}

static bool takes_numbers(const cli_command *command)
{
    for (const cli_option *option = command->options; option->name; option++)
        if (option->kind == CLI_COUNT && option->help) return true;
    return false;
}

static int print_help(const cli_command *command)
{
    printf("Usage: %s\n\n%s\n\nOptions:\n", command->usage, command->about);
    int column = 0;
    char left[128];
    for (const cli_option *option = command->options; option->name; option++) {
        if (!option->help) continue;
        int wanted = 4 + left_part(left, sizeof left, option);
        if (wanted > column && wanted <= HELP_COLUMN_MOST) column = wanted;
    }
    if (column < 16) column = 16;
    for (const cli_option *option = command->options; option->name; option++)
        if (option->help) print_option(option, column);
    if (writes_files(command)) print_option(&force_option, column);
    print_option(&help_option, column);
    if (takes_numbers(command))
        puts("\nNumbers take the suffixes K, M, G, T: 1K is 1024, 1M is 1024 K, of counts, too. Sizes in "
             "bytes may\n"
             "be written as they are printed: 48K, 48KB, '48 KiB'.");
    if (command->notes) {
        size_t length = strlen(command->notes);
        printf("\n%s%s", command->notes, length && command->notes[length - 1] == '\n' ? "" : "\n");
    }
    return cli_finish(CLI_COMPLETE);
}

/* ---- parsing ---- */

/* Everything one pass over the arguments carries along. */
typedef struct parse {
    const cli_command *command;
    int argc;
    char **argv;
    int at; /* the argument being looked at */
} parse;

static const cli_option *find_name(const cli_command *command, const char *name, size_t length)
{
    for (const cli_option *option = command->options; option->name; option++)
        if (strlen(option->name) == length && memcmp(option->name, name, length) == 0) return option;
    if (length == strlen(force_option.name) && memcmp(name, force_option.name, length) == 0 &&
        writes_files(command))
        return &force_option;
    return NULL;
}

static const cli_option *find_letter(const cli_command *command, char letter)
{
    for (const cli_option *option = command->options; option->name; option++)
        if (option->letter == letter) return option;
    return NULL;
}

static int unknown_name(const cli_command *command, const char *name, size_t length)
{
    char word[64];
    const char *best = NULL;
    size_t best_distance = SIZE_MAX;
    if (length < sizeof word) {
        memcpy(word, name, length);
        word[length] = '\0';
        for (const cli_option *option = command->options; option->name; option++)
            if (option->help) cli_nearest_consider(word, option->name, &best, &best_distance);
        if (writes_files(command)) cli_nearest_consider(word, force_option.name, &best, &best_distance);
        cli_nearest_consider(word, help_option.name, &best, &best_distance);
    }
    if (best) return cli_misuse("unknown option '--%.*s'; did you mean '--%s'?", (int)length, name, best);
    return cli_misuse("unknown option '--%.*s'", (int)length, name);
}

/* The value of an option that is not written together with it: the next argument. NULL after a message. */
static const char *next_value(parse *state, const cli_option *option)
{
    const char *value = state->at + 1 < state->argc ? state->argv[state->at + 1] : NULL;
    /* `--json --quiet` forgot the value; a file of such a name can still be had as --json=--quiet. */
    if (!value || strncmp(value, "--", 2) == 0) {
        cli_misuse("option '--%s' needs a value: %s", option->name, option->argument);
        return NULL;
    }
    state->at++;
    return value;
}

static int parse_long(parse *state, const char *argument)
{
    const char *name = argument + 2;
    const char *equals = strchr(name, '=');
    size_t length = equals ? (size_t)(equals - name) : strlen(name);
    const cli_option *option = find_name(state->command, name, length);
    if (!option && length == 4 && memcmp(name, "help", 4) == 0 && !equals) return print_help(state->command);
    if (!option) return unknown_name(state->command, name, length);
    if (takes_no_value(option)) {
        if (equals) return cli_misuse("option '--%s' takes no value, found '%s'", option->name, equals + 1);
        return store(option, NULL);
    }
    const char *value = equals ? equals + 1 : next_value(state, option);
    return value ? store(option, value) : CLI_USAGE;
}

/* -q, -qv, -o FILE, -oFILE */
static int parse_letters(parse *state, const char *argument)
{
    for (const char *letter = argument + 1; *letter; letter++) {
        const cli_option *option = find_letter(state->command, *letter);
        if (!option && *letter == help_option.letter) return print_help(state->command);
        if (!option) return cli_misuse("unknown option '-%c'", *letter);
        if (takes_no_value(option)) {
            store(option, NULL);
            continue;
        }
        const char *value = letter[1] ? letter + 1 : next_value(state, option);
        return value ? store(option, value) : CLI_USAGE;
    }
    return -1;
}

static int check_count(const cli_command *command, size_t found, char **argv)
{
    if (found < command->least)
        return cli_misuse("too few arguments: %zu where at least %zu %s needed\nUsage: %s", found,
                          command->least, command->least == 1 ? "is" : "are", command->usage);
    if (found > command->most)
        return cli_misuse("unexpected argument '%s'\nUsage: %s", argv[1 + command->most], command->usage);
    return -1;
}

/* An option of ours among the program's arguments, with no -- before the program that tells whose they are.
 */
static void hint_at_options(const cli_command *command, char *const *arguments, size_t count)
{
    static const char *const common[] = {"help", "quiet", "output", "progress", "force", "size"};
    const cli_option *quiet = find_name(command, "quiet", 5);
    if (quiet && *(const bool *)quiet->target) return;
    for (size_t i = 1; i < count; i++) {
        const char *name = arguments[i] + 2;
        if (strncmp(arguments[i], "--", 2) != 0) continue;
        if (*name == '\0') return;
        const cli_option *option = find_name(command, name, strcspn(name, "="));
        if (!option || !option->help) continue;
        bool is_common = false;
        for (size_t j = 0; j < sizeof common / sizeof *common; j++)
            is_common |= strcmp(option->name, common[j]) == 0;
        if (is_common) continue;
        cli_note("--%s stands after %s and goes to it; fathom's options stand before the program (-- before "
                 "it says "
                 "that this is meant)",
                 option->name, arguments[0]);
        return;
    }
}

int cli_parse(const cli_command *command, int argc, char **argv, size_t *count)
{
    parse state = {.command = command, .argc = argc, .argv = argv};
    bool options_ended = false, told = false; /* by -- */
    *count = 0;
    for (state.at = 1; state.at < argc; state.at++) {
        char *argument = argv[state.at];
        int code = -1;
        if (options_ended || argument[0] != '-' || argument[1] == '\0') {
            argv[1 + (*count)++] = argument; /* never overtakes state.at */
            if (command->command_follows) options_ended = true;
        } else if (strcmp(argument, "--") == 0)
            options_ended = told = true;
        else if (argument[1] == '-')
            code = parse_long(&state, argument);
        else
            code = parse_letters(&state, argument);
        if (code >= 0) return code;
    }
    const int code = check_count(command, *count, argv);
    if (code < 0 && command->command_follows && !told) hint_at_options(command, argv + 1, *count);
    return code < 0 ? cli_check_files(command, argv + 1, *count) : code;
}
