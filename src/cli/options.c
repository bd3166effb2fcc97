/* SPDX-License-Identifier: Apache-2.0 */
/*
 * options.c - a command line read by a verb's table of options and the list of words (option_list.c), from
 * which --help comes, too (option_help.c), so that they cannot disagree.
 *
 * It does not know any option but --help and --force. Options and positional arguments may be mixed; names
 * are never abbreviated, because an abbreviation that works today is an ambiguity tomorrow.
 */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

/* ---- values ---- */

/* An option as it is given: by which name, and to which one of the verb's table that leads. */
typedef struct cli_use {
    const char *name;
    const cli_option *option;
    const char *argument; /* NULL: takes no value */
    bool is_part;         /* "name=value" of the option */
} cli_use;

/* 2^64-1 stands for "not given" where that is what a count begins as. */
static bool parse_count_option(const char *text, bool bytes, uint64_t *target)
{
    const bool has_none = *target == UINT64_MAX;
    uint64_t value = 0;
    if (!(bytes ? cli_parse_bytes : cli_parse_count)(text, &value) || (has_none && value == UINT64_MAX))
        return false;
    *target = value;
    return true;
}

/* Adds "name=text" to a list, or the text alone. */
static int option_join(const cli_use *use, const char *name, const char *text)
{
    cli_joined *joined = use->option->target;
    if (!name && (!text || !text[0]))
        return cli_misuse("--%s: expected %s, found nothing", use->name, use->argument);
    const size_t length = strlen(joined->text);
    const int more = snprintf(joined->text + length, sizeof joined->text - length, "%s%s%s%s",
                              length ? "," : "", name ? name : "", name && text ? "=" : "", text ? text : "");
    if (more >= 0 && (size_t)more < sizeof joined->text - length) return -1;
    return cli_misuse("--%s: too much of it", use->name);
}

/* -1, or CLI_USAGE after a message. */
static int option_store(const cli_use *use, const char *text)
{
    void *target = use->option->target;
    if (use->is_part) return option_join(use, use->name, text);
    if (!text) { /* a flag */
        *(bool *)target = true;
        return -1;
    }
    switch (use->option->kind) {
    case CLI_OLD_WORD:
    case CLI_OLD_PART:
    case CLI_FLAG:
        break;
    case CLI_STRING:
        *(const char **)target = text;
        break;
    case CLI_COUNT:
        if (parse_count_option(text, use->argument && strcmp(use->argument, "BYTES") == 0, target)) break;
        return cli_misuse("--%s: expected a whole number below 2^64 (suffixes K, M, G, T), found '%s'",
                          use->name, text);
    case CLI_REAL:
        if (cli_parse_real(text, target)) break;
        return cli_misuse("--%s: expected a number, 0 or more, found '%s'", use->name, text);
    case CLI_JOIN:
        return option_join(use, NULL, text);
    }
    return -1;
}

/* ---- the table ---- */

static const cli_option force_option = {"force", CLI_TO(&cli_force)}; /* of every verb that writes files */

cli_role cli_option_role(const cli_option *option)
{
    if (option->now) return option->role;
    return cli_word_find(option->name, strlen(option->name))->role;
}

bool cli_writes_files(const cli_command *command)
{
    for (const cli_option *option = command->options; option->name; option++)
        if (cli_option_role(option) == CLI_OUTPUT) return true;
    return false;
}

static const cli_option *find_option(const cli_command *command, const char *name, size_t length)
{
    for (const cli_option *option = command->options; option->name; option++)
        if (strlen(option->name) == length && memcmp(option->name, name, length) == 0) return option;
    const bool is_force = length == strlen(force_option.name) && memcmp(name, force_option.name, length) == 0;
    return is_force && cli_writes_files(command) ? &force_option : NULL;
}

/* False: there is no such option. */
static bool find_use(const cli_command *command, const char *name, size_t length, cli_use *use)
{
    const cli_option *given = find_option(command, name, length), *option = given;
    if (!given) return false;
    if (given->kind == CLI_OLD_WORD || given->kind == CLI_OLD_PART)
        option = find_option(command, given->now, strlen(given->now));
    *use = (cli_use){given->name, option, given->argument, given->kind == CLI_OLD_PART};
    if (use->argument || use->is_part || option->kind == CLI_FLAG) return true;
    const cli_word *word = cli_word_find(option->name, strlen(option->name));
    use->argument = option->argument ? option->argument : word->argument;
    return true;
}

static bool find_letter(const cli_command *command, char letter, cli_use *use)
{
    for (const cli_word *word = cli_words; word->name; word++)
        if (word->letter == letter && find_use(command, word->name, strlen(word->name), use)) return true;
    return false;
}

/* ---- did you mean? ---- */

/* Edit distance: insertions, deletions, replacements and swaps of neighbours each count one (optimal string
 * alignment). Quadratic, on words of a few letters. */
enum { LONGEST_WORD = 32 }; /* longer words are nobody's typing error */

static size_t lesser_of(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t edit_distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    size_t rows[3][LONGEST_WORD + 1]; /* the row before the last one, the last one, this one */
    for (size_t j = 0; j <= b_length; j++) rows[1][j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        size_t *before = rows[(i + 2) % 3], *last = rows[i % 3], *now = rows[(i + 1) % 3];
        now[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            size_t change = last[j - 1] + (a[i - 1] != b[j - 1]);
            now[j] = lesser_of(change, lesser_of(last[j], now[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                now[j] = lesser_of(now[j], before[j - 2] + 1);
        }
    }
    return rows[(a_length + 1) % 3][b_length];
}

void cli_nearest_consider(const char *word, const char *candidate, const char **best, size_t *best_distance)
{
    size_t length = strlen(word), candidate_length = strlen(candidate);
    if (length == 0 || length > LONGEST_WORD || candidate_length > LONGEST_WORD) return;
    /* In halves: a beginning of at least three letters is better than two slips, and not as good as one. */
    size_t distance = 2 * edit_distance(word, length, candidate, candidate_length);
    if (length >= 3 && strncmp(word, candidate, length) == 0) distance = lesser_of(distance, 3);
    size_t shorter = lesser_of(length, candidate_length);
    size_t limit = 2 * (shorter < 4 ? 1 : shorter / 3 + 1) + 1;
    if (distance > limit || distance >= *best_distance) return;
    *best = candidate;
    *best_distance = distance;
}

/* ---- parsing ---- */

/* Everything one pass over the arguments carries along. */
typedef struct parse {
    const cli_command *command;
    int argc;
    char **argv;
    int at; /* the argument being looked at */
} parse;

static int unknown_name(const cli_command *command, const char *name, size_t length)
{
    char word[64];
    const char *best = NULL;
    size_t best_distance = SIZE_MAX;
    if (length < sizeof word) {
        memcpy(word, name, length);
        word[length] = '\0';
        for (const cli_option *option = command->options; option->name; option++)
            if (!option->now) cli_nearest_consider(word, option->name, &best, &best_distance);
        if (cli_writes_files(command)) cli_nearest_consider(word, force_option.name, &best, &best_distance);
        cli_nearest_consider(word, "help", &best, &best_distance);
    }
    if (best) return cli_misuse("unknown option '--%.*s'; did you mean '--%s'?", (int)length, name, best);
    return cli_misuse("unknown option '--%.*s'", (int)length, name);
}

/* The value of an option that is not written together with it: the next argument. NULL after a message. */
static const char *next_value(parse *state, const cli_use *use)
{
    const char *value = state->at + 1 < state->argc ? state->argv[state->at + 1] : NULL;
    /* `--json --quiet` forgot the value; a file of such a name can still be had as --json=--quiet. */
    if (!value || strncmp(value, "--", 2) == 0) {
        cli_misuse("option '--%s' needs a value: %s", use->name, use->argument);
        return NULL;
    }
    state->at++;
    return value;
}

static int help_on(const cli_command *command, const char *what)
{
    if (!what) return cli_print_help(command, CLI_HELP_DAILY);
    if (strcmp(what, "all") == 0) return cli_print_help(command, CLI_HELP_ALL);
    if (strcmp(what, "table") == 0) return cli_print_help(command, CLI_HELP_TABLE);
    return cli_misuse("--help: alone, or --help=all; found '%s'", what);
}

static int parse_long(parse *state, const char *argument)
{
    const char *name = argument + 2;
    const char *equals = strchr(name, '=');
    size_t length = equals ? (size_t)(equals - name) : strlen(name);
    cli_use use;
    if (!find_use(state->command, name, length, &use)) {
        if (length == 4 && memcmp(name, "help", 4) == 0)
            return help_on(state->command, equals ? equals + 1 : NULL);
        return unknown_name(state->command, name, length);
    }
    if (!use.argument) {
        if (equals) return cli_misuse("option '--%s' takes no value, found '%s'", use.name, equals + 1);
        return option_store(&use, NULL);
    }
    const char *value = equals ? equals + 1 : next_value(state, &use);
    return value ? option_store(&use, value) : CLI_USAGE;
}

/* -q, -qv, -o FILE, -oFILE */
static int parse_letters(parse *state, const char *argument)
{
    for (const char *letter = argument + 1; *letter; letter++) {
        cli_use use;
        if (!find_letter(state->command, *letter, &use)) {
            if (*letter == 'h' || *letter == 'H')
                return help_on(state->command, *letter == 'H' ? "all" : NULL);
            return cli_misuse("unknown option '-%c'", *letter);
        }
        if (!use.argument) {
            option_store(&use, NULL);
            continue;
        }
        const char *value = letter[1] ? letter + 1 : next_value(state, &use);
        return value ? option_store(&use, value) : CLI_USAGE;
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
    const cli_option *quiet = find_option(command, "quiet", 5);
    if (quiet && *(const bool *)quiet->target) return;
    for (size_t i = 1; i < count; i++) {
        const char *name = arguments[i] + 2;
        if (strncmp(arguments[i], "--", 2) != 0) continue;
        if (*name == '\0') return;
        const cli_option *option = find_option(command, name, strcspn(name, "="));
        if (!option || option->now) continue;
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
