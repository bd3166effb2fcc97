/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compiler_line.c - reads the command line of gcc, clang or gfortran (see compiler_line.h). It changes
 * nothing: the compiler gets the arguments as they came. An argument that it does not know is one without a
 * meaning here.
 */
#include "compile/compiler_line.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Options whose value is the next argument, where it is not joined to them. */
static const char *const with_value[] = {
    "-o",
    "-I",
    "-D",
    "-U",
    "-L",
    "-l",
    "-x",
    "-T",
    "-u",
    "-e",
    "-z",
    "-B",
    "-A",
    "-J",
    "-h",
    "-G",
    "-arch",
    "-MF",
    "-MT",
    "-MQ",
    "-MJ",
    "-Xlinker",
    "-Xassembler",
    "-Xpreprocessor",
    "-Xclang",
    "-mllvm",
    "-include",
    "-imacros",
    "-isystem",
    "-idirafter",
    "-iquote",
    "-iprefix",
    "-iwithprefix",
    "-iwithprefixbefore",
    "-isysroot",
    "-imultilib",
    "-cxx-isystem",
    "-aux-info",
    "-dumpbase",
    "-dumpbase-ext",
    "-dumpdir",
    "-wrapper",
    "-target",
    "--param",
    "--sysroot",
    "--include",
    "--output",
    "--define-macro",
    "--undefine-macro",
    "--library-directory",
    "--include-directory",
    "--for-linker",
    "--gcc-toolchain",
    "-Tbss",
    "-Tdata",
    "-Ttext",
    "-R",
    NULL,
};

static const char *const questions[] = {
    "-E",           "-M",         "-MM",    "--preprocess",  "--version", "-dumpversion", "-dumpfullversion",
    "-dumpmachine", "-dumpspecs", "--help", "--target-help", NULL,
};

/* Sanitizers whose own runtime takes hold of the same functions and memory. */
static const char *const sanitizers[] = {
    "address",       "kernel-address", "hwaddress", "kernel-hwaddress", "thread",         "memory",
    "kernel-memory", "leak",           "dataflow",  "fuzzer",           "fuzzer-no-link", NULL,
};

static const char *const not_pic[] = {
    "-fno-PIC", "-fno-pic", "-fPIE", "-fpie", "-fno-PIE", "-fno-pie", NULL,
};

static bool is_among(const char *const *list, const char *word)
{
    for (; *list; list++)
        if (strcmp(*list, word) == 0) return true;
    return false;
}

static bool starts_with(const char *text, const char *beginning)
{
    return strncmp(text, beginning, strlen(beginning)) == 0;
}

static void read_sanitizers(compiler_line *line, const char *list, bool on)
{
    while (*list) {
        char name[sizeof line->sanitizer];
        size_t length = strcspn(list, ",");
        snprintf(name, sizeof name, "%.*s", (int)length, list);
        if (on && is_among(sanitizers, name))
            memcpy(line->sanitizer, name, sizeof name);
        else if (on)
            line->checks = true;
        else if (!on && (strcmp(name, line->sanitizer) == 0 || strcmp(name, "all") == 0))
            line->sanitizer[0] = '\0';
        list += length + (list[length] == ',');
    }
}

/* Words for the linker: "-Wl,a,b" and the value of -Xlinker. */
static void read_linker_words(compiler_line *line, const char *words)
{
    while (*words) {
        size_t length = strcspn(words, ",");
        line->relocatable |= (length == 2 && (memcmp(words, "-r", 2) == 0 || memcmp(words, "-i", 2) == 0)) ||
                             (length == 13 && memcmp(words, "--relocatable", 13) == 0) ||
                             (length == 12 && memcmp(words, "-relocatable", 12) == 0);
        line->shared |= (length == 7 && memcmp(words, "-shared", 7) == 0) ||
                        (length == 8 && memcmp(words, "--shared", 8) == 0);
        words += length + (words[length] == ',');
    }
}

/* Object files, libraries and the linker's scripts; everything else is compiled (or is by -x). */
static bool is_for_linker(const char *name)
{
    static const char *const endings[] = {".o",   ".lo",  ".a",   ".la",  ".so",  ".obj", ".lib", ".ld",
                                          ".lds", ".map", ".exp", ".def", ".sym", ".ver", NULL};
    const char *base = strrchr(name, '/');
    base = base ? base + 1 : name;
    if (strstr(base, ".so.")) return true;
    const char *ending = strrchr(base, '.');
    return !ending || is_among(endings, ending);
}

static bool is_assembler(const char *name)
{
    const char *ending = strrchr(name, '.');
    return ending && (strcmp(ending, ".s") == 0 || strcmp(ending, ".S") == 0 || strcmp(ending, ".sx") == 0);
}

static bool read_all(compiler_line *line, int count, char *const *arguments, int depth);

/* One argument of a response file, by the compilers' rules: blanks divide, quotes and backslashes protect. */
static char *next_word(FILE *file, bool *out_of_memory)
{
    int c;
    do c = fgetc(file);
    while (c != EOF && isspace(c));
    if (c == EOF) return NULL;
    char *word = NULL;
    size_t length = 0, room = 0;
    int quote = 0;
    for (; c != EOF && (quote || !isspace(c)); c = fgetc(file)) {
        if (c == quote) {
            quote = 0;
            continue;
        }
        if (!quote && (c == '"' || c == '\'')) {
            quote = c;
            continue;
        }
        if (c == '\\' && (c = fgetc(file)) == EOF) break;
        if (length + 1 >= room) {
            char *grown = realloc(word, room = room * 2 + 64);
            if (!grown) {
                free(word);
                *out_of_memory = true;
                return NULL;
            }
            word = grown;
        }
        word[length++] = (char)c;
    }
    if (!word && !(word = malloc(1))) *out_of_memory = true;
    if (word) word[length] = '\0';
    return word;
}

/* A file that cannot be read is an argument like any other, as the compilers see it. */
static bool read_response(compiler_line *line, const char *path, int depth)
{
    FILE *file = fopen(path, "r");
    if (!file) return true;
    char **words = NULL;
    int count = 0;
    bool out_of_memory = false;
    for (char *word; !out_of_memory && (word = next_word(file, &out_of_memory));) {
        char **grown = realloc(words, (size_t)(count + 1) * sizeof *words);
        if (!grown) {
            free(word);
            out_of_memory = true;
            break;
        }
        words = grown;
        words[count++] = word;
    }
    fclose(file);
    bool fine = !out_of_memory && read_all(line, count, words, depth + 1);
    for (int i = 0; i < count; i++) free(words[i]);
    free(words);
    return fine;
}

static void read_option(compiler_line *line, const char *option)
{
    if (is_among(questions, option) || starts_with(option, "-print-") || starts_with(option, "--print-"))
        line->question = true;
    else if (strcmp(option, "-c") == 0 || strcmp(option, "-S") == 0 || strcmp(option, "-fsyntax-only") == 0 ||
             strcmp(option, "--compile") == 0 || strcmp(option, "--assemble") == 0)
        line->no_link = true;
    else if (strcmp(option, "-shared") == 0 || strcmp(option, "--shared") == 0)
        line->shared = true;
    else if (strcmp(option, "-static") == 0 || strcmp(option, "--static") == 0 ||
             strcmp(option, "-static-pie") == 0)
        line->is_static = true;
    else if (strcmp(option, "-r") == 0)
        line->relocatable = true;
    else if (strcmp(option, "-nostdlib") == 0 || strcmp(option, "-nodefaultlibs") == 0 ||
             strcmp(option, "-nolibc") == 0)
        line->no_libc = true;
    else if (strcmp(option, "-lc") == 0)
        line->libc_named = true;
    else if (strcmp(option, "-lstdc++") == 0)
        line->cxx_named = true;
    else if (strcmp(option, "-ffreestanding") == 0)
        line->freestanding = true;
    else if (strcmp(option, "-m32") == 0 || strcmp(option, "-mx32") == 0 || strcmp(option, "-m64") == 0)
        line->other_word = strcmp(option, "-m64") != 0;
    else if (strcmp(option, "-fPIC") == 0 || strcmp(option, "-fpic") == 0)
        line->pic = true;
    else if (is_among(not_pic, option))
        line->pic = false;
    else if (strcmp(option, "-pipe") == 0)
        line->pipe = true;
    else if (starts_with(option, "-masm="))
        line->intel = strcmp(option, "-masm=intel") == 0;
    else if (starts_with(option, "-flto"))
        line->lto = true;
    else if (strcmp(option, "-fno-lto") == 0)
        line->lto = false;
    else if (starts_with(option, "-fopenmp"))
        line->openmp = true;
    else if (starts_with(option, "-fsanitize="))
        read_sanitizers(line, option + strlen("-fsanitize="), true);
    else if (starts_with(option, "-fno-sanitize="))
        read_sanitizers(line, option + strlen("-fno-sanitize="), false);
    else if (starts_with(option, "-Wl,"))
        read_linker_words(line, option + 4);
    else if (starts_with(option, "-g") && !starts_with(option, "-gcc-toolchain"))
        line->debug_chosen = true;
}

static void read_value(compiler_line *line, const char *option, const char *value)
{
    if (strcmp(option, "-Xlinker") == 0) read_linker_words(line, value);
    if (strcmp(option, "-l") == 0 && strcmp(value, "c") == 0) line->libc_named = true;
    if (strcmp(option, "-l") == 0 && strcmp(value, "stdc++") == 0) line->cxx_named = true;
}

static bool read_all(compiler_line *line, int count, char *const *arguments, int depth)
{
    enum { DEPTH_MOST = 32 }; /* response files that name each other */
    bool language_chosen = false;
    for (int i = 0; i < count; i++) {
        const char *argument = arguments[i];
        if (argument[0] == '@' && depth < DEPTH_MOST) {
            if (!read_response(line, argument + 1, depth)) return false;
        } else if (argument[0] != '-' || argument[1] == '\0') { /* a lone dash is standard input */
            line->inputs = true;
            bool compiled = argument[0] == '-' || language_chosen || !is_for_linker(argument);
            line->sources |= compiled && !is_assembler(argument);
            line->assembles |= is_assembler(argument);
        } else {
            read_option(line, argument);
            if (!is_among(with_value, argument) || i + 1 >= count) continue;
            i++;
            read_value(line, argument, arguments[i]);
            if (strcmp(argument, "-x") == 0) language_chosen = strcmp(arguments[i], "none") != 0;
        }
    }
    return true;
}

bool fm_compiler_line_read(compiler_line *line, int count, char *const *arguments)
{
    *line = (compiler_line){0};
    return read_all(line, count, arguments, 0);
}
