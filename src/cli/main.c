/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c - the one table of verbs, and the way from the command line to a verb.
 *
 * It knows the verbs' names and nothing of what they do: options, files and results belong to the
 * verbs (verb_<name>.c). What it does for all of them is to make the process's surroundings sane: the
 * three standard descriptors exist, a reader that went away ends the program quietly, a file that must not
 * grow any more is a failed write.
 */
#define _GNU_SOURCE
#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

const cli_verb cli_verbs[] = {
    {"run", "runs a program: its profile, and the code that re-uses data too late", .run = cli_verb_run},
    {"record", "runs a program and stores its references", .run = cli_verb_record},
    {"sample", "runs a program at nearly its own speed: its profile, from samples", .run = cli_verb_sample},
    {"simulate", "the sampler of `fathom sample` on a stored trace", .run = cli_verb_simulate,
     .research = true},
    {"analyze", "the reuse-distance profile of a stored or piped trace", .run = cli_verb_analyze},
    {"mrc", "the miss-ratio curve of a profile, and misses at named cache sizes", .run = cli_verb_mrc},
    {"diff", "what got better and worse between two profiles", .run = cli_verb_diff},
    {"compare", "how alike two profiles are", .run = cli_verb_compare},
    {"report", "one self-contained HTML page from one or more profiles", .run = cli_verb_report},
    {"convert", "one trace format to another", .run = cli_verb_convert},
    {"gen", "synthetic traces with known answers", .run = cli_verb_gen},
    {"check", "verifies a stored trace, block by block", .run = cli_verb_check},
    {"train", "finds how distances grow with the size of the data", .run = cli_verb_train},
    {"predict", "the profile of data of another size", .run = cli_verb_predict},
    {"phases", "the phases of a trace, and the patterns in which they repeat", .run = cli_verb_phases},
    {"static", "the profile of loops in source code, without running it", .run = cli_verb_static},
    {"cc", "the C compiler, for programs that profile themselves under run", .run = cli_verb_cc},
    {"c++", "the same for C++", .run = cli_verb_cxx},
    {"fc", "the same for Fortran", .run = cli_verb_fc},
    {0},
};

static const cli_verb *find_verb(const char *name)
{
    for (const cli_verb *verb = cli_verbs; verb->name; verb++)
        if (strcmp(verb->name, name) == 0) return verb;
    return NULL;
}

static void print_help(FILE *out, bool all)
{
    fputs("Usage: fathom VERB [options] ARGUMENTS\n"
          "       fathom VERB --help | --help=all\n"
          "\n"
          "Measures data locality: the reuse distance of every reference (how many distinct\n"
          "other blocks were touched since the last one to the same block), and from it the\n"
          "miss ratio of every cache size at once.\n"
          "\n"
          "Verbs:\n",
          out);
    for (const cli_verb *verb = cli_verbs; verb->name; verb++)
        if (all || !verb->research) fprintf(out, "  %-10s %s\n", verb->name, verb->summary);
    fputs("  help       what a verb does and takes: fathom help VERB; fathom help engines\n"
          "\n"
          "Options:\n"
          "  -h, --help     show this help; --help=all: all verbs\n"
          "  -V, --version  show the version\n"
          "\n"
          "Example:\n"
          "  fathom gen zipf --keys 1M --references 10M -o zipf.fathom\n"
          "  fathom analyze zipf.fathom --json zipf.json\n"
          "  fathom mrc zipf.json\n"
          "  fathom report zipf.json -o zipf.html\n"
          "\n"
          "Exit: 0 complete result, 1 failed, 2 wrong usage, 3 result of incomplete input,\n"
          "4 a condition of diff --fail-if holds. With --pass-status, run, record and sample\n"
          "exit with the program's own status.\n",
          out);
}

/* topic: what is known here beside verbs. */
static int unknown_verb(const char *name, const char *topic)
{
    const char *best = NULL;
    size_t best_distance = SIZE_MAX;
    for (const cli_verb *verb = cli_verbs; verb->name; verb++)
        cli_nearest_consider(name, verb->name, &best, &best_distance);
    cli_nearest_consider(name, topic, &best, &best_distance);
    if (best) return cli_misuse("unknown verb '%s'; did you mean '%s'?", name, best);
    return cli_misuse("unknown verb '%s'", name);
}

static int run_verb(const cli_verb *verb, int argc, char **argv)
{
    cli_set_verb(verb->name);
    return verb->run(argc, argv);
}

/* --help, -h, --help=all, -H. */
static bool is_help(const char *word, bool *all)
{
    *all = strcmp(word, "--help=all") == 0 || strcmp(word, "-H") == 0;
    return *all || strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

static int help_on(const cli_verb *verb, const char *how)
{
    char option[16];
    char *arguments[] = {(char *)verb->name, option, NULL};
    snprintf(option, sizeof option, "%s", how);
    return run_verb(verb, 2, arguments);
}

/* For scripts: what each verb does, and its options (option_help.c). */
static int list_options(void)
{
    int code = CLI_COMPLETE;
    for (const cli_verb *verb = cli_verbs; verb->name && code == CLI_COMPLETE; verb++) {
        printf("%s\t\t\t\t\t\t\t\t%s\n", verb->name, verb->summary);
        code = help_on(verb, "--help=table");
    }
    return code;
}

/* fathom help [VERB], fathom help engines, fathom help options */
static int run_help(int argc, char **argv)
{
    bool all = false;
    if (argc < 2 || is_help(argv[1], &all)) {
        print_help(stdout, all);
        return cli_finish(CLI_COMPLETE);
    }
    if (argc > 2) return cli_misuse("help takes one verb, found '%s' after it", argv[2]);
    if (strcmp(argv[1], "engines") == 0) return cli_help_engines();
    if (strcmp(argv[1], "options") == 0) return list_options();
    const cli_verb *verb = find_verb(argv[1]);
    return verb ? help_on(verb, "--help") : unknown_verb(argv[1], "engines");
}

static int verb_dispatch(int argc, char **argv)
{
    bool all;
    if (argc < 2) {
        print_help(stderr, false);
        return CLI_USAGE;
    }
    const char *first = argv[1];
    if (is_help(first, &all)) {
        print_help(stdout, all);
        return cli_finish(CLI_COMPLETE);
    }
    if (strcmp(first, "--version") == 0 || strcmp(first, "-V") == 0 || strcmp(first, "version") == 0) {
        printf("fathom %s\n", fm_version());
        return cli_finish(CLI_COMPLETE);
    }
    if (first[0] == '-') {
        const char *best = NULL;
        size_t best_distance = SIZE_MAX;
        const char *word = first + strspn(first, "-");
        cli_nearest_consider(word, "help", &best, &best_distance);
        cli_nearest_consider(word, "version", &best, &best_distance);
        if (best) return cli_misuse("unknown option '%s'; did you mean '--%s'?", first, best);
        return cli_misuse("a verb must come first, found '%s'", first);
    }
    if (strcmp(first, "help") == 0) return run_help(argc - 1, argv + 1);
    const cli_verb *verb = find_verb(first);
    if (!verb) return unknown_verb(first, "help");
    return run_verb(verb, argc - 1, argv + 1);
}

/*
 * A standard descriptor that the caller closed would be given to the first file opened, and messages
 * would end up in a result. Such a descriptor is filled with one that can neither be read nor written, nor
 * opened anew for that by its name (/dev/stdout), so that its use fails with an ordinary error.
 */
static bool fill_standard_descriptors(void)
{
    for (int descriptor = 0; descriptor <= 2; descriptor++) {
        if (fcntl(descriptor, F_GETFD) >= 0 || errno != EBADF) continue;
        /* The lowest free descriptor is this one: those below are open by now. */
        if (open("/", O_PATH | O_DIRECTORY) != descriptor) return false;
    }
    return true;
}

static void let_the_write_fail(int number)
{
    (void)number;
}

/*
 * A limit on the size of files (ulimit -f) is a full disk by another name: the write fails with EFBIG, the
 * verb says so and cleans up. The signal is caught, not ignored: exec sets it back, so that programs under
 * run and record get it as they always do.
 */
static void watch_file_limit(void)
{
    struct sigaction current;
    if (sigaction(SIGXFSZ, NULL, &current) != 0 || current.sa_handler != SIG_DFL) return;
    struct sigaction action = {.sa_handler = let_the_write_fail, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(SIGXFSZ, &action, NULL);
}

int main(int argc, char **argv)
{
    if (!fill_standard_descriptors()) return CLI_FAILED;
    watch_file_limit();
    cli_pipe_watch();
    int code = verb_dispatch(argc, argv);
    cli_pipe_leave();
    return code;
}
