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
#include "help_engines.h"
#include "nearest.h"
#include "pipe_end.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

const cli_verb cli_verbs[] = {
    {"run", "runs a program: its profile, and the code that re-uses data too late", cli_verb_run},
    {"record", "runs a program and stores its references", cli_verb_record},
    {"sample", "runs a program at nearly its own speed: its profile, from samples", cli_verb_sample},
    {"analyze", "the reuse-distance profile of a stored or piped trace", cli_verb_analyze},
    {"mrc", "the miss-ratio curve of a profile, and misses at named cache sizes", cli_verb_mrc},
    {"diff", "what got better and worse between two profiles", cli_verb_diff},
    {"compare", "how alike two profiles are", cli_verb_compare},
    {"report", "one self-contained HTML page from one or more profiles", cli_verb_report},
    {"convert", "one trace format to another", cli_verb_convert},
    {"gen", "synthetic traces with known answers", cli_verb_gen},
    {"check", "verifies a stored trace, block by block", cli_verb_check},
    {"train", "finds how distances grow with the size of the data", cli_verb_train},
    {"predict", "the profile of data of another size", cli_verb_predict},
    {"phases", "where a trace begins anew, and what recurs in it", cli_verb_phases},
    {"static", "the profile of loops in source code, without running it", cli_verb_static},
    {"cc", "the C compiler, for programs that profile themselves under run", cli_verb_cc},
    {"c++", "the same for C++", cli_verb_cxx},
    {"fc", "the same for Fortran", cli_verb_fc},
    {NULL, NULL, NULL},
};

static const cli_verb *find_verb(const char *name)
{
    for (const cli_verb *verb = cli_verbs; verb->name; verb++)
        if (strcmp(verb->name, name) == 0) return verb;
    return NULL;
}

static void print_help(FILE *out)
{
    fputs("Usage: fathom VERB [options] ARGUMENTS\n"
          "       fathom VERB --help\n"
          "\n"
          "Measures data locality: the reuse distance of every reference of a trace (how many\n"
          "distinct other blocks were touched since the last reference to the same block), and\n"
          "from it the miss ratio of every cache size at once.\n"
          "\n"
          "Verbs:\n",
          out);
    for (const cli_verb *verb = cli_verbs; verb->name; verb++)
        fprintf(out, "  %-10s %s\n", verb->name, verb->summary);
    fputs("  help       what a verb does and takes: fathom help VERB; fathom help engines\n"
          "\n"
          "Options:\n"
          "  -h, --help     show this help\n"
          "      --version  show the version\n"
          "\n"
          "Example:\n"
          "  fathom gen zipf --keys 1M --references 10M -o zipf.fathom\n"
          "  fathom analyze zipf.fathom --json zipf.json\n"
          "  fathom mrc zipf.json\n"
          "  fathom report zipf.json -o zipf.html\n"
          "\n"
          "Exit codes: 0 complete result, 1 failed, 2 wrong usage, 3 result of incomplete input,\n"
          "4 a condition of diff --fail-if holds. --pass-status of run, record and sample hands on\n"
          "the program's own instead of 0.\n",
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

/* fathom help [VERB], fathom help engines */
static int run_help(int argc, char **argv)
{
    if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        print_help(stdout);
        return cli_finish(CLI_COMPLETE);
    }
    if (argc > 2) return cli_misuse("help takes one verb, found '%s' after it", argv[2]);
    if (strcmp(argv[1], "engines") == 0) return cli_help_engines();
    const cli_verb *verb = find_verb(argv[1]);
    if (!verb) return unknown_verb(argv[1], "engines");
    char help[] = "--help";
    char *arguments[] = {argv[1], help, NULL};
    return run_verb(verb, 2, arguments);
}

static int dispatch(int argc, char **argv)
{
    if (argc < 2) {
        print_help(stderr);
        return CLI_USAGE;
    }
    const char *first = argv[1];
    if (strcmp(first, "--help") == 0 || strcmp(first, "-h") == 0) {
        print_help(stdout);
        return cli_finish(CLI_COMPLETE);
    }
    if (strcmp(first, "--version") == 0) {
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
    int code = dispatch(argc, argv);
    cli_pipe_leave();
    return code;
}
