/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verb_cc.c - `fathom cc`, `fathom c++` and `fathom fc`: the user's compiler, with instrumentation added by
 * the library (fathom/experimental/compile.h). It takes this process's place, so its status is ours.
 */
#include "cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* FATHOM_CC="fathom cc" would never end. */
static bool is_ourselves(const fm_compiler *language)
{
    const char *chosen = getenv(language->variable);
    if (!chosen) return false;
    chosen += strspn(chosen, " \t");
    const size_t length = strcspn(chosen, " \t"), own = strlen("fathom");
    return length >= own && strncmp(chosen + length - own, "fathom", own) == 0 &&
           (length == own || chosen[length - own - 1] == '/');
}

static int compile_with(const fm_compiler *language, int argc, char **argv)
{
    fm_compile *compile;
    fm_error error;
    if (is_ourselves(language))
        return cli_misuse("%s names fathom itself: it must name a compiler", language->variable);
    if (fm_compile_create(&compile, language, argc - 1, argv + 1, &error)) return cli_fail(&error);
    char *const *words = fm_compile_words(compile);
    execvp(words[0], words);
    cli_complain("%s: %s; %s chooses the %s compiler", words[0], strerror(errno), language->variable,
                 language->what);
    fm_compile_destroy(compile);
    return CLI_FAILED;
}

static int run_compiler(const fm_compiler *language, const char *usage, const char *example, int argc,
                        char **argv)
{
    const cli_option none[] = {{0}};
    char about[1600], notes[1200];
    snprintf(about, sizeof about,
             "Compiles and links as %s does, with a hook at every load and store. The\n"
             "program runs alone as ever; started by fathom run, it reports its own\n"
             "references, in 0.4 to 0.8 of the time that Valgrind takes, and several threads\n"
             "at once. All arguments are the compiler's own and go to it as they are, but for\n"
             "a lone --help. What is not compiled so (libc, other libraries) is not seen.",
             language->usual);
    snprintf(notes, sizeof notes,
             "Environment:\n"
             "  %s: the %s compiler and its arguments (default %s)\n"
             "\n"
             "Adds -g where no -g option is given, for source lines.\n"
             "\n"
             "Example:\n%s",
             language->variable, language->what, language->usual, example);
    const cli_command command = {.usage = usage,
                                 .about = about,
                                 .options = none,
                                 .exits = "that of the compiler",
                                 .notes = notes,
                                 .least = 0,
                                 .most = 0};
    bool wants_help = argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
                                    strcmp(argv[1], "--help=table") == 0);
    if (wants_help) {
        size_t count;
        return cli_finish(cli_parse(&command, argc, argv, &count));
    }
    if (argc < 2) return cli_misuse("nothing to compile: arguments for %s are expected", language->usual);
    return compile_with(language, argc, argv);
}

int cli_verb_cc(int argc, char **argv)
{
    return run_compiler(fm_compiler_at(0), "fathom cc ARGUMENTS...",
                        "  fathom cc -O2 prog.c -o prog && fathom run -- ./prog\n"
                        "  make CC=\"fathom cc\" CXX=\"fathom c++\"\n",
                        argc, argv);
}

int cli_verb_cxx(int argc, char **argv)
{
    return run_compiler(fm_compiler_at(1), "fathom c++ ARGUMENTS...",
                        "  fathom c++ -O2 prog.cc -o prog && fathom run -- ./prog\n", argc, argv);
}

int cli_verb_fc(int argc, char **argv)
{
    return run_compiler(fm_compiler_at(2), "fathom fc ARGUMENTS...",
                        "  fathom fc -O2 prog.f90 -o prog && fathom run -- ./prog\n", argc, argv);
}
