/* SPDX-License-Identifier: Apache-2.0 */
/*
 * option_help.c - what --help shows: the daily options of a verb by topic, one line each, on one screen of 45
 * lines of 80 columns; with --help=all every option; with --help=table the same for scripts, from which the
 * build makes the manual's OPTIONS and the completions. And fathom help engines, from the engines' tables.
 */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

enum { HELP_WIDTH = 80, HELP_LINES = 45, HELP_COLUMN = 28 };

static const char *const group_heads[] = {
    [CLI_REPORT] = "Report",
    [CLI_WRITTEN] = "Trace that is written",
    [CLI_CACHES] = "Caches",
    [CLI_MEASURED] = "What is measured",
    [CLI_SPEED] = "Speed and progress",
    [CLI_RESEARCH] = "Research, and special uses",
};

static const cli_option shared_options[] = {{.name = "force", .kind = CLI_FLAG},
                                            {.name = "help", .kind = CLI_FLAG}};

/* The verb's option of that name which help shows, or NULL. */
static const cli_option *find_shown(const cli_command *command, const cli_word *word)
{
    for (const cli_option *option = command->options; option->name; option++)
        if (!option->now && strcmp(option->name, word->name) == 0) return option;
    for (size_t i = 0; i < 2; i++)
        if (strcmp(shared_options[i].name, word->name) == 0 && (i == 1 || cli_writes_files(command)))
            return &shared_options[i];
    return NULL;
}

/* A word as this verb means it; false: it is not in this group. */
static bool find_meaning(const cli_command *command, const cli_word *word, cli_group group, cli_word *meaning)
{
    const cli_option *option = find_shown(command, word);
    if (!option || (option->group ? option->group : word->group) != group) return false;
    *meaning = *word;
    if (option->help) meaning->help = option->help;
    if (option->argument) meaning->argument = option->argument;
    if (option->usual) meaning->usual = option->usual[0] ? option->usual : NULL;
    return true;
}

/* ---- for people ---- */

static int columns_of(const char *text)
{
    int columns = 0;
    for (; *text; text++) columns += (*text & 0xc0) != 0x80;
    return columns;
}

static void print_option(FILE *out, const cli_word *word)
{
    char letter[8] = "    ";
    if (word->letter) snprintf(letter, sizeof letter, "-%c, ", word->letter);
    int used = fprintf(out, "  %s--%s%s%s", letter, word->name, word->argument ? " " : "",
                       word->argument ? word->argument : "");
    used += fprintf(out, "%*s", used < HELP_COLUMN - 2 ? HELP_COLUMN - used : 2, "");
    fputs(word->help, out);
    used += columns_of(word->help);
    if (word->usual) {
        const int left = HELP_WIDTH - used - columns_of(word->usual) - 3;
        fprintf(out, "%*s[%s]", left > 0 ? left + 1 : 1, "", word->usual);
    }
    fputc('\n', out);
}

/* Names alone, behind each other. */
static void print_names(FILE *out, const cli_command *command)
{
    int used = 0;
    cli_word meaning;
    for (const cli_word *word = cli_words; word->name; word++) {
        if (!find_meaning(command, word, CLI_RESEARCH, &meaning) || word->letter == 'h') continue;
        if (used == 0) used = fprintf(out, "\nMore (--help=all):");
        const int length = (int)strlen(word->name) + 3;
        if (used + length > HELP_WIDTH) used = fprintf(out, "\n ") - 1;
        used += fprintf(out, " --%s", word->name);
    }
    if (used > 0) fputc('\n', out);
}

static void print_group(FILE *out, const cli_command *command, cli_group group)
{
    bool begun = false;
    cli_word meaning;
    for (const cli_word *word = cli_words; word->name; word++) {
        if (!find_meaning(command, word, group, &meaning)) continue;
        if (!begun) fprintf(out, "\n%s:\n", group_heads[group]);
        begun = true;
        print_option(out, &meaning);
    }
}

static void print_screen(FILE *out, const cli_command *command, bool all)
{
    fprintf(out, "Usage: %s\n\n%s\n", command->usage, command->about);
    for (cli_group group = CLI_REPORT; group < CLI_RESEARCH; group++) print_group(out, command, group);
    if (all)
        print_group(out, command, CLI_RESEARCH);
    else
        print_names(out, command);
    if (all)
        fputs("\nNumbers take the suffixes K, M, G, T: 1K is 1024, 1M is 1024 K, of counts, too.\n"
              "Sizes in bytes may be written as they are printed: 48K, 48KB, '48 KiB'.\n",
              out);
    if (command->exits) fprintf(out, "%sExit: %s\n", command->options->name ? "" : "\n", command->exits);
}

static size_t count_lines(const char *text)
{
    size_t lines = 0;
    for (; *text; text++) lines += *text == '\n';
    return lines;
}

/* ---- for scripts ---- */

/* Fields separated by tabs: verb, topic, letter, name, argument, "file" or nothing, choices, default, text.
 * The first line is about the verb's positional arguments. */
static void print_table(const cli_command *command)
{
    char verb[16] = "";
    sscanf(command->usage, "fathom %15s", verb);
    printf("%s\t\t\t\t\t%s\t%s\t\t\n", verb, command->choices ? "" : "file",
           command->choices ? command->choices : "");
    cli_word meaning;
    for (cli_group group = CLI_REPORT; group <= CLI_RESEARCH; group++)
        for (const cli_word *word = cli_words; word->name; word++) {
            if (!find_meaning(command, word, group, &meaning)) continue;
            const char letter[] = {meaning.letter, '\0'};
            const cli_option *option = find_shown(command, word);
            printf("%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", verb, group_heads[group], letter, meaning.name,
                   meaning.argument ? meaning.argument : "", meaning.role == CLI_VALUE ? "" : "file",
                   meaning.choices ? meaning.choices : "", meaning.usual ? meaning.usual : "", meaning.help,
                   option->help ? "own" : "");
        }
}

int cli_print_help(const cli_command *command, cli_help how)
{
    if (how == CLI_HELP_TABLE) {
        print_table(command);
        return cli_finish(CLI_COMPLETE);
    }
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out) return cli_out_of_memory();
    print_screen(out, command, how == CLI_HELP_ALL);
    if (fclose(out)) {
        free(text);
        return cli_out_of_memory();
    }
    fputs(text, stdout);
    /* Examples, where the screen has room for them. */
    const char *notes = command->notes ? command->notes : "";
    if (notes[0] && (how == CLI_HELP_ALL || count_lines(text) + 1 + count_lines(notes) <= HELP_LINES))
        printf("\n%s", notes);
    free(text);
    return cli_finish(CLI_COMPLETE);
}

/* ---- engines ---- */

static void print_engine_option(const fm_engine_option *option)
{
    char range[100];
    printf("      %-18s %s\n%25s%s", option->name, option->meaning, "",
           fm_engine_option_range(option, range, sizeof range));
    if (option->usual) printf("; default %s", option->usual);
    if (option->excludes) printf("; not with %s", option->excludes);
    if (option->needs) printf("; with %s only", option->needs);
    putchar('\n');
}

int cli_help_engines(void)
{
    fputs("Usage: fathom analyze --engine NAME --engine-option NAME=VALUE,... TRACE\n"
          "\n"
          "Engines (for run and analyze; the first is the default), and below each the options that it\n"
          "has alone. A whole number takes the suffixes K, M, G, T = 2^10, 2^20, ...; the name of a\n"
          "yes-or-no option alone means yes.\n"
          "\n",
          stdout);
    const fm_engine_info *engine;
    for (size_t i = 0; (engine = fm_engine_at(i)); i++) {
        printf("  %-11s %s\n", engine->name, engine->summary);
        const fm_engine_option *option;
        for (size_t k = 0; (option = fm_engine_option_at(engine->name, k)); k++) print_engine_option(option);
    }
    fputs("  auto        gpu where that pays, otherwise exact\n"
          "\n"
          "Example:\n"
          "  fathom analyze --engine shards --engine-option rate=0.01,hashes=8 trace.fathom\n",
          stdout);
    return cli_finish(CLI_COMPLETE);
}
