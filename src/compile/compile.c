/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compile.c - the user's compiler, with instrumentation added where it compiles and the runtime (collect/cc)
 * where it links. All arguments go through as they are.
 */
#include "compile/compiler_line.h"

#include "base/error.h"

#include <errno.h>
#include <fathom/experimental/compile.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const source_of[] = {"c", "c++", "f95-cpp-input"}; /* for -x */
static const fm_compiler compilers[] = {{"cc", "FATHOM_CC", "gcc", "C"},
                                        {"c++", "FATHOM_CXX", "g++", "C++"},
                                        {"fc", "FATHOM_FC", "gfortran", "Fortran"}};
enum { CXX = 1, COMPILERS = sizeof compilers / sizeof *compilers };

const fm_compiler *fm_compiler_at(size_t index)
{
    return index < COMPILERS ? &compilers[index] : NULL;
}

typedef enum cc_family { FAMILY_UNKNOWN, FAMILY_GCC, FAMILY_CLANG } cc_family;

/* ---- the new command line ---- */

enum { ADDED_MOST = 64 }; /* words that this file adds */

/* Words of others, and some that were made here. */
struct fm_compile {
    char **words;
    size_t count, room;
    char *made[ADDED_MOST];
    size_t made_count;
};

/* There is room for all arguments, all words of the compiler, and ADDED_MOST. */
static void add_word(fm_compile *line, const char *word)
{
    if (line->count + 1 < line->room) line->words[line->count++] = (char *)(uintptr_t)word;
}

/* Takes a word over that was allocated. False: it is NULL, or one too many. */
static bool keep_word(fm_compile *line, char *word)
{
    if (line->made_count == ADDED_MOST) {
        free(word);
        return false;
    }
    line->made[line->made_count++] = word;
    return word != NULL;
}

/* Adds the three parts as one word. False: out of memory. */
static bool add_joined(fm_compile *line, const char *a, const char *b, const char *c)
{
    size_t length = strlen(a) + strlen(b) + strlen(c) + 1;
    char *text = malloc(length);
    if (text) snprintf(text, length, "%s%s%s", a, b, c);
    if (!keep_word(line, text)) return false;
    add_word(line, text);
    return true;
}

void fm_compile_destroy(fm_compile *compile)
{
    if (!compile) return;
    for (size_t i = 0; i < compile->made_count; i++) free(compile->made[i]);
    free(compile->words);
    free(compile);
}

char *const *fm_compile_words(const fm_compile *compile)
{
    return compile->words;
}

/* ---- where the runtime is ---- */

typedef struct cc_parts {
    char path[4200];
} cc_parts;

/* Beside the program where it was built, or below the prefix it was installed to. */
static fm_status find_parts(cc_parts *parts, fm_error *error)
{
    char self[4096], archive[4300];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length <= 0)
        return fm_fail(error, FM_E_IO, NULL, "cannot tell where fathom lies: /proc/self/exe: %s",
                       strerror(errno));
    self[length] = '\0';
    char *slash = strrchr(self, '/');
    if (slash) *slash = '\0';
    static const char *const places[] = {"lib/fathom/cc", "../" FATHOM_CC_INSTALLED};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        snprintf(parts->path, sizeof parts->path, "%s/%s", self, places[i]);
        snprintf(archive, sizeof archive, "%s/libtsan.a", parts->path);
        if (access(archive, R_OK) != 0) continue;
        if (!strchr(parts->path, ',')) return FM_OK;
        return fm_fail(error, FM_E_UNSUPPORTED, parts->path,
                       "the linker cannot be told of a directory with a comma in its name");
    }
    return fm_fail(
        error, FM_E_UNSUPPORTED, NULL,
        "its runtime is missing: no libtsan.a in %.180s/%s nor in %.180s/%s; build or install fathom whole "
        "(make, make install), on x86-64",
        self, places[0], self, places[1]);
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

typedef struct cc_compiler {
    cc_family family;
    int version;           /* clang's: the first number; 0: not known */
    char full_version[32]; /* gcc's, "12.2.0"; "": not known */
} cc_compiler;

/* Has the compiler answer a question, and `take` each line of the answer. */
static void ask_compiler(const fm_compile *compiler, const char *const *question, cc_compiler *found,
                         void take(cc_compiler *found, const char *line))
{
    int ends[2];
    if (pipe(ends) != 0) return;
    pid_t child = fork();
    if (child == 0) {
        for (size_t i = 0; i == 0 || question[i - 1]; i++)
            compiler->words[compiler->count + i] = (char *)(uintptr_t)question[i];
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        execvp(compiler->words[0], compiler->words);
        _exit(127);
    }
    close(ends[1]);
    FILE *answer = fdopen(ends[0], "r");
    char line[512];
    while (answer && child > 0 && fgets(line, sizeof line, answer)) take(found, line);
    if (answer)
        fclose(answer);
    else
        close(ends[0]);
    if (child > 0)
        while (waitpid(child, NULL, 0) < 0 && errno == EINTR) {
        }
}

static void take_macro(cc_compiler *found, const char *line)
{
    if (strncmp(line, "#define __clang__ ", 18) == 0) found->family = FAMILY_CLANG;
    if (strncmp(line, "#define __GNUC__ ", 17) == 0 && found->family == FAMILY_UNKNOWN)
        found->family = FAMILY_GCC;
    if (strncmp(line, "#define __clang_major__ ", 24) == 0) found->version = atoi(line + 24);
}

static void take_version(cc_compiler *found, const char *line)
{
    const size_t length = strspn(line, "0123456789.");
    snprintf(found->full_version, sizeof found->full_version, "%.*s", (int)length, line);
}

/* The compiler's words ("ccache gcc" is two), at the beginning of the command line. False: out of memory. */
static bool choose_compiler(const fm_compiler *language, fm_compile *line)
{
    const char *chosen = getenv(language->variable);
    if (!chosen || chosen[strspn(chosen, " \t")] == '\0') chosen = language->usual;
    char *text = strdup(chosen), *rest = NULL;
    if (!keep_word(line, text)) return false;
    for (char *word = strtok_r(text, " \t", &rest); word; word = strtok_r(NULL, " \t", &rest))
        add_word(line, word);
    return line->count > 0;
}

/* FATHOM_CC="fathom cc" would never end. */
static bool is_ourselves(const char *compiler)
{
    const char *base = strrchr(compiler, '/');
    return strcmp(base ? base + 1 : compiler, "fathom") == 0;
}

static cc_compiler compiler_of(const fm_compile *compiler, const fm_compiler *language)
{
    cc_compiler found = {.family = FAMILY_UNKNOWN};
    for (size_t i = 0; i < compiler->count && found.family == FAMILY_UNKNOWN; i++)
        found.family = family_by_name(compiler->words[i]);
    /* The options for clang depend on its version. */
    const char *const macros[] = {"-E", "-dM", "-x", source_of[language - compilers], "/dev/null", NULL};
    static const char *const version[] = {"-dumpfullversion", NULL};
    if (found.family != FAMILY_GCC) ask_compiler(compiler, macros, &found, take_macro);
    if (found.family == FAMILY_GCC) ask_compiler(compiler, version, &found, take_version);
    return found;
}

/* ---- what is added ---- */

/*
 * clang's ThreadSanitizer reports functions and does the atomic operations. Loads and stores are left to the
 * AddressSanitizer for kernels, which calls a function for each and brings neither a runtime nor a layout of
 * its own: it sees local arrays whose address goes nowhere, and accesses of every size, which the other
 * leaves out (collect/cc/README.md).
 */
static void add_clang(fm_compile *line, int version, bool openmp)
{
    static const char *const past_driver[] = {
        /* The driver would link runtimes of its own and insist on position-independent programs. */
        "-fsanitize=thread", "-fsanitize=kernel-address",
        /* A call in every function, without which one that calls nothing would not be reported. */
        "-fsanitize-coverage-type=1", "-fsanitize-coverage-trace-pc", NULL};
    static const char *const to_passes[] = {"-tsan-instrument-memory-accesses=0",
                                            "-asan-instrumentation-with-call-threshold=0",
                                            "-asan-memory-access-callback-prefix=__fathom_",
                                            "-asan-max-ins-per-bb=2000000000",
                                            "-asan-opt=0",
                                            "-asan-stack=0",
                                            "-asan-globals=0",
                                            NULL};
    /*
     * clang calls loops of OpenMP parallel that write what they sum up into memory (schedule(dynamic),
     * guided, runtime; for simd), and its vectoriser believes it: wrong sums, also by -fsanitize=address, and
     * without any sanitizer at -O1. An ordinary -O2 build only has the sum in a register by then, which
     * instrumentation for addresses forbids.
     */
    static const char *const one_by_one[] = {"-force-vector-width=1", "-force-vector-interleave=1", NULL};
    for (size_t i = 0; past_driver[i]; i++) {
        add_word(line, "-Xclang");
        add_word(line, past_driver[i]);
    }
    for (size_t i = 0; to_passes[i]; i++) {
        add_word(line, "-mllvm");
        add_word(line, to_passes[i]);
    }
    if (version >= 13) {
        add_word(line, "-mllvm");
        add_word(line, "-asan-use-stack-safety=0");
    }
    for (size_t i = 0; openmp && one_by_one[i]; i++) {
        add_word(line, "-mllvm");
        add_word(line, one_by_one[i]);
    }
}

/* The plug-in for this gcc (collect/gcc), where there is one. False: out of memory. */
static bool add_plugin(fm_compile *line, const cc_compiler *compiler, const char *parts, bool *added)
{
    char path[4300];
    snprintf(path, sizeof path, "%s/gcc-%s.so", parts, compiler->full_version);
    *added = compiler->full_version[0] && access(path, R_OK) == 0;
    return !*added || add_joined(line, "-fplugin=", path, "");
}

/*
 * With the plug-in, hooks are called from what the optimiser made; without it, from what it begins with, and
 * local arrays need another way to be seen (collect/cc/README.md).
 */
static bool add_gcc(fm_compile *line, const compiler_line *asked, const cc_compiler *compiler,
                    const char *parts)
{
    bool late = false, compiles = asked->sources || asked->lto;
    /* The assembler, with a file to read, would not look at a pipe. */
    bool reads_file = compiles && !asked->pipe;
    /* What it does to calls is for gcc's own output, in its usual syntax. */
    bool inlines = reads_file && !asked->intel && !asked->assembles;
    bool fine = add_joined(line, "-specs=", parts, "/gcc.specs");
    if (fine && compiles) fine = add_plugin(line, compiler, parts, &late);
    if (fine && !late) fine = add_joined(line, "-specs=", parts, "/gcc-early.specs");
    if (fine && !late && reads_file) fine = add_joined(line, "-Wa,", parts, "/early.s");
    if (fine && inlines && (asked->pic || asked->shared)) add_word(line, "-Wa,--defsym,fathom_pic=1");
    if (fine && inlines) fine = add_joined(line, "-Wa,", parts, "/inline.s");
    return fine;
}

static bool add_compiling(fm_compile *line, const compiler_line *asked, const cc_compiler *compiler,
                          const char *parts)
{
    if (!asked->debug_chosen && (asked->sources || compiler->family == FAMILY_GCC)) add_word(line, "-g");
    if (compiler->family == FAMILY_GCC) return add_gcc(line, asked, compiler, parts);
    if (asked->sources || asked->lto) add_clang(line, compiler->version, asked->openmp);
    return true;
}

static bool add_linking(fm_compile *line, const compiler_line *asked, const fm_compiler *language,
                        const char *parts)
{
    const char *archive = asked->shared      ? "/libtsan_library.a"
                          : asked->is_static ? "/libtsan_static.a"
                                             : "/libtsan.a";
    add_word(line, "-Wl,-u,__fathom_anchor"); /* also where a library on the line has the hooks already */
    /* libstdc++.a calls what is wrapped, whether the program does or not, and comes behind. */
    bool static_cxx = asked->is_static && !asked->shared && (asked->cxx_named || language == &compilers[CXX]);
    if (static_cxx) add_word(line, "-Wl,-u,__wrap__Znwm,-u,__wrap___gxx_personality_v0");
    add_word(line, "-Xlinker"); /* not as an input, which -x might take for a source */
    bool fine = add_joined(line, parts, archive, "") && add_joined(line, "-Wl,@", parts, "/wraps");
    if (fine && asked->shared) fine = add_joined(line, "-Wl,@", parts, "/wraps-library");
    if (fine && asked->is_static && !asked->shared) fine = add_joined(line, "-Wl,@", parts, "/wraps-static");
    if (fine && !asked->is_static && !asked->shared)
        fine = add_joined(line, "-Wl,--dynamic-list=", parts, "/exports");
    /* What gcc's object-size checks call, see collect/cc/README.md. */
    if (!asked->checks) add_word(line, "-Wl,--defsym,__ubsan_handle_type_mismatch_v1=__fathom_nothing");
    if (static_cxx && asked->cxx_named) add_word(line, "-lstdc++");
    add_word(line, "-lpthread"); /* parts of libc since glibc 2.34, libraries before */
    add_word(line, "-ldl");
    return fine;
}

static fm_status refuse_asked(const fm_compiler *language, const compiler_line *asked, fm_error *error)
{
    if (asked->other_word)
        return fm_fail(error, FM_E_ARGUMENT, NULL, "-m32 and -mx32: there is no runtime but for x86-64");
    if (asked->sanitizer[0] == '\0') return FM_OK;
    return fm_fail(
        error, FM_E_ARGUMENT, NULL,
        "-fsanitize=%s has a runtime of its own, which cannot be in the same program as fathom's; leave it "
        "out to profile the program, or call %s itself",
        asked->sanitizer, language->usual);
}

static fm_status fail_without_room(fm_error *error)
{
    return fm_fail(error, FM_E_NOMEM, NULL, "out of memory: no room for the command line");
}

/* Adds the arguments, and what instruments. */
static fm_status complete_line(const fm_compiler *language, fm_compile *line, int count,
                               char *const *arguments, fm_error *error)
{
    compiler_line asked;
    if (!fm_compiler_line_read(&asked, count, arguments)) return fail_without_room(error);
    bool instruments = asked.inputs && !asked.question && !asked.freestanding;
    bool links = instruments && !asked.no_link && !asked.relocatable && (!asked.no_libc || asked.libc_named);
    cc_parts parts;
    if (instruments) {
        fm_status status = refuse_asked(language, &asked, error);
        if (status != FM_OK) return status;
        cc_compiler compiler = compiler_of(line, language);
        if (compiler.family == FAMILY_UNKNOWN)
            return fm_fail(error, FM_E_UNSUPPORTED, NULL,
                           "%.300s: cannot be run, or is neither gcc nor clang; %s chooses the %s compiler",
                           line->words[0], language->variable, language->what);
        status = find_parts(&parts, error);
        if (status != FM_OK) return status;
        /* Before the user's own options, so that those win. */
        if (!add_compiling(line, &asked, &compiler, parts.path)) return fail_without_room(error);
    }
    for (int i = 0; i < count; i++) add_word(line, arguments[i]);
    /* After the objects that need it. */
    if (links && !add_linking(line, &asked, language, parts.path)) return fail_without_room(error);
    line->words[line->count] = NULL;
    return FM_OK;
}

fm_status fm_compile_create(fm_compile **compile, const fm_compiler *compiler, int count,
                            char *const *arguments, fm_error *error)
{
    *compile = NULL;
    FM_REQUIRE(compiler, error);
    FM_REQUIRE(arguments, error);
    const char *chosen = getenv(compiler->variable);
    fm_compile *self = calloc(1, sizeof *self);
    if (!self) return fail_without_room(error);
    self->room = (size_t)count + 1 + (chosen ? strlen(chosen) : 1) + ADDED_MOST;
    self->words = calloc(self->room, sizeof *self->words);
    fm_status status = FM_OK;
    if (!self->words || !choose_compiler(compiler, self))
        status = fail_without_room(error);
    else if (is_ourselves(self->words[0]))
        status = fm_fail(error, FM_E_ARGUMENT, NULL, "%s names fathom itself: it must name a compiler",
                         compiler->variable);
    else
        status = complete_line(compiler, self, count, arguments, error);
    if (status == FM_OK)
        *compile = self;
    else
        fm_compile_destroy(self);
    return status;
}
