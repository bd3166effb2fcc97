/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verb_cc.c - `fathom cc`, `fathom c++` and `fathom fc`: the user's compiler, with instrumentation added
 * where it compiles and the runtime (collect/cc) where it links. All arguments go through as they are; the
 * compiler takes this process's place, so its status is ours.
 */
#include "cli.h"
#include "compiler_line.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct cc_language {
    const char *verb, *variable, *usual; /* the verb, what chooses the compiler, the compiler otherwise */
    const char *what, *source;           /* its name, for people and for -x */
} cc_language;

static const cc_language c_language = {"cc", "FATHOM_CC", "gcc", "C", "c"};
static const cc_language cxx_language = {"c++", "FATHOM_CXX", "g++", "C++", "c++"};
static const cc_language fortran_language = {"fc", "FATHOM_FC", "gfortran", "Fortran", "f95-cpp-input"};

typedef enum cc_family { FAMILY_UNKNOWN, FAMILY_GCC, FAMILY_CLANG } cc_family;

/* ---- the new command line ---- */

enum { ADDED_MOST = 32 };

typedef struct cc_command {
    char **words;
    size_t count, room;
} cc_command;

/* The words live as long as the process, which ends with exec. */
static void add(cc_command *line, const char *word)
{
    if (line->count + 1 < line->room) line->words[line->count++] = (char *)(uintptr_t)word;
}

static char *join(const char *a, const char *b, const char *c)
{
    size_t length = strlen(a) + strlen(b) + strlen(c) + 1;
    char *text = malloc(length);
    if (text) snprintf(text, length, "%s%s%s", a, b, c);
    return text;
}

/* ---- where the runtime is ---- */

/* Beside the program where it was built, or below the prefix it was installed to. NULL after a message. */
static char *find_parts(void)
{
    char self[4096];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length <= 0) {
        cli_complain("cannot tell where fathom lies: /proc/self/exe: %s", strerror(errno));
        return NULL;
    }
    self[length] = '\0';
    char *slash = strrchr(self, '/');
    if (slash) *slash = '\0';
    char *places[] = {join(self, "/lib/fathom/cc", ""), join(self, "/../", FATHOM_CC_INSTALLED)};
    char *found = NULL;
    for (size_t i = 0; i < 2; i++) {
        char *archive = places[i] && !found ? join(places[i], "/libtsan.a", "") : NULL;
        if (archive && access(archive, R_OK) == 0)
            found = places[i];
        else
            free(places[i]);
        free(archive);
    }
    if (!found)
        cli_complain(
            "its runtime is missing: no libtsan.a in %s/lib/fathom/cc nor in %s/../%s; build or install "
            "fathom whole (make, make install), on x86-64",
            self, self, FATHOM_CC_INSTALLED);
    else if (strchr(found, ',')) {
        cli_complain("%s: the linker cannot be told of a directory with a comma in its name", found);
        free(found);
        found = NULL;
    }
    return found;
}

/* ---- the compiler ---- */

static cc_family family_by_name(const char *name)
{
    const char *base = strrchr(name, '/');
    base = base ? base + 1 : name;
    if (strstr(base, "clang")) return FAMILY_CLANG;
    if (strstr(base, "gcc") || strstr(base, "g++") || strstr(base, "gfortran")) return FAMILY_GCC;
    return FAMILY_UNKNOWN;
}

/* Asks the compiler what it defines. */
static cc_family family_by_asking(const cc_command *compiler, const char *source)
{
    int ends[2];
    if (pipe(ends) != 0) return FAMILY_UNKNOWN;
    pid_t child = fork();
    if (child == 0) {
        const char *const question[] = {"-E", "-dM", "-x", source, "/dev/null", NULL};
        for (size_t i = 0; i < sizeof question / sizeof *question; i++)
            compiler->words[compiler->count + i] = (char *)(uintptr_t)question[i];
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        execvp(compiler->words[0], compiler->words);
        _exit(127);
    }
    close(ends[1]);
    FILE *answer = fdopen(ends[0], "r");
    cc_family family = FAMILY_UNKNOWN;
    char line[512];
    while (answer && child > 0 && fgets(line, sizeof line, answer)) {
        if (strncmp(line, "#define __clang__ ", 18) == 0) family = FAMILY_CLANG;
        if (strncmp(line, "#define __GNUC__ ", 17) == 0 && family == FAMILY_UNKNOWN) family = FAMILY_GCC;
    }
    if (answer)
        fclose(answer);
    else
        close(ends[0]);
    if (child > 0)
        while (waitpid(child, NULL, 0) < 0 && errno == EINTR) {
        }
    return family;
}

/* The compiler's words ("ccache gcc" is two), at the beginning of the command line. */
static bool choose_compiler(const cc_language *language, cc_command *line)
{
    const char *chosen = getenv(language->variable);
    if (!chosen || chosen[strspn(chosen, " \t")] == '\0') chosen = language->usual;
    char *text = strdup(chosen), *rest = NULL;
    if (!text) return false;
    for (char *word = strtok_r(text, " \t", &rest); word; word = strtok_r(NULL, " \t", &rest))
        add(line, word);
    return true;
}

/* FATHOM_CC="fathom cc" would never end. */
static bool is_ourselves(const cc_command *compiler)
{
    const char *base = strrchr(compiler->words[0], '/');
    return strcmp(base ? base + 1 : compiler->words[0], "fathom") == 0;
}

/* ---- what is added ---- */

static bool add_compiling(cc_command *line, const compiler_line *asked, cc_family family, const char *parts)
{
    if (family == FAMILY_GCC) {
        char *specs = join("-specs=", parts, "/gcc.specs");
        if (!specs) return false;
        add(line, specs);
    } else if (asked->sources || asked->lto) {
        /* Past the driver, which would link its own runtime and insist on position-independent programs. */
        add(line, "-Xclang");
        add(line, "-fsanitize=thread");
        add(line, "-mllvm");
        add(line, "-tsan-instrument-read-before-write=1");
        /* It does not instrument vectors of 32 bytes and more. */
        add(line, "-mprefer-vector-width=128");
    }
    if (!asked->debug_chosen && (asked->sources || family == FAMILY_GCC)) add(line, "-g");
    return true;
}

static bool add_linking(cc_command *line, const compiler_line *asked, const char *parts)
{
    const char *archive = asked->shared      ? "/libtsan_library.a"
                          : asked->is_static ? "/libtsan_static.a"
                                             : "/libtsan.a";
    char *runtime = join(parts, archive, "");
    char *wraps = join("-Wl,@", parts, "/wraps");
    char *more = asked->shared      ? NULL
                 : asked->is_static ? join("-Wl,@", parts, "/wraps-static")
                                    : join("-Wl,--dynamic-list=", parts, "/exports");
    if (!runtime || !wraps || (!more && !asked->shared)) return false;
    add(line, "-Xlinker"); /* not as an input, which -x might take for a source */
    add(line, runtime);
    add(line, wraps);
    if (more) add(line, more);
    add(line, "-lpthread"); /* parts of libc since glibc 2.34, libraries before */
    add(line, "-ldl");
    return true;
}

/* -1 to go on, or an exit code after a message. */
static int refuse(const cc_language *language, const compiler_line *asked)
{
    if (asked->other_word) {
        cli_complain("-m32 and -mx32: there is no runtime but for x86-64");
        return CLI_USAGE;
    }
    if (asked->sanitizer[0] == '\0') return -1;
    cli_complain(
        "-fsanitize=%s has a runtime of its own, which cannot be in the same program as fathom's; leave it "
        "out to profile the program, or call %s itself",
        asked->sanitizer, language->usual);
    return CLI_USAGE;
}

static int compile(const cc_language *language, int argc, char **argv)
{
    compiler_line asked;
    if (!compiler_line_read(&asked, argc - 1, argv + 1)) {
        cli_complain("out of memory");
        return CLI_FAILED;
    }
    const char *chosen = getenv(language->variable);
    cc_command line = {.room = (size_t)argc + (chosen ? strlen(chosen) : 0) + ADDED_MOST};
    line.words = calloc(line.room, sizeof *line.words);
    if (!line.words || !choose_compiler(language, &line)) {
        cli_complain("out of memory");
        return CLI_FAILED;
    }
    if (is_ourselves(&line))
        return cli_misuse("%s names fathom itself: it must name a compiler", language->variable);

    bool instruments = asked.inputs && !asked.question && !asked.freestanding;
    bool links = instruments && !asked.no_link && !asked.relocatable && (!asked.no_libc || asked.libc_named);
    if (instruments) {
        int code = refuse(language, &asked);
        if (code >= 0) return code;
        cc_family family = FAMILY_UNKNOWN;
        for (size_t i = 0; i < line.count && family == FAMILY_UNKNOWN; i++)
            family = family_by_name(line.words[i]);
        if (family == FAMILY_UNKNOWN) family = family_by_asking(&line, language->source);
        if (family == FAMILY_UNKNOWN) {
            cli_complain("%s: cannot be run, or is neither gcc nor clang; %s chooses the %s compiler",
                         line.words[0], language->variable, language->what);
            return CLI_FAILED;
        }
        char *parts = find_parts();
        if (!parts) return CLI_FAILED;
        /* Before the user's own options, so that those win; the runtime after the objects that need it. */
        bool fine = add_compiling(&line, &asked, family, parts);
        for (int i = 1; i < argc; i++) add(&line, argv[i]);
        if (!fine || (links && !add_linking(&line, &asked, parts))) {
            cli_complain("out of memory");
            return CLI_FAILED;
        }
    } else {
        for (int i = 1; i < argc; i++) add(&line, argv[i]);
    }
    line.words[line.count] = NULL;
    execvp(line.words[0], line.words);
    cli_complain("%s: %s; %s chooses the %s compiler", line.words[0], strerror(errno), language->variable,
                 language->what);
    return CLI_FAILED;
}

/* ---- the verbs ---- */

static int run(const cc_language *language, const char *usage, const char *example, int argc, char **argv)
{
    const cli_option none[] = {{NULL, 0, CLI_FLAG, NULL, NULL, NULL}};
    char about[1600], notes[1200];
    snprintf(about, sizeof about,
             "Compiles and links as %s does, with a hook at every load and store. The program runs alone as\n"
             "ever; started by fathom run, it profiles itself, several times faster than under Valgrind.\n"
             "All arguments are the compiler's own and go to it as they are, but for a lone --help.\n"
             "What is not compiled so (libc, other libraries) is not seen.",
             language->usual);
    snprintf(notes, sizeof notes,
             "Environment:\n"
             "  %-10s the %s compiler, gcc's or clang's (default %s); may have arguments\n"
             "\n"
             "Adds -g where no -g option is given, so that references can be led back to lines.\n"
             "\n"
             "Example:\n%s",
             language->variable, language->what, language->usual, example);
    const cli_command command = {
        .usage = usage, .about = about, .options = none, .notes = notes, .least = 0, .most = 0};
    bool wants_help = argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0);
    if (wants_help) {
        size_t count;
        return cli_finish(cli_parse(&command, argc, argv, &count));
    }
    if (argc < 2) return cli_misuse("nothing to compile: arguments for %s are expected", language->usual);
    return compile(language, argc, argv);
}

int cli_verb_cc(int argc, char **argv)
{
    return run(&c_language, "fathom cc ARGUMENTS...",
               "  fathom cc -O2 prog.c -o prog && fathom run -- ./prog\n"
               "  make CC=\"fathom cc\" CXX=\"fathom c++\"\n",
               argc, argv);
}

int cli_verb_cxx(int argc, char **argv)
{
    return run(&cxx_language, "fathom c++ ARGUMENTS...",
               "  fathom c++ -O2 prog.cc -o prog && fathom run -- ./prog\n", argc, argv);
}

int cli_verb_fc(int argc, char **argv)
{
    return run(&fortran_language, "fathom fc ARGUMENTS...",
               "  fathom fc -O2 prog.f90 -o prog && fathom run -- ./prog\n", argc, argv);
}
