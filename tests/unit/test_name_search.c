/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_name_search.c - whether debug information can name a function: of programs that are compiled here, the
 * functions in their source can be named, others cannot, however the strings are stored.
 */
#include "case.h"

#include <stdint.h>

#include "symbols/symbol_file.h"
#include "unit/symbol_programs.h"
#include <fathom/experimental.h>

static fm_symbols *open_program(const char *name)
{
    fm_symbols *symbols;
    fm_error error;
    assert_int_equal(fm_symbols_open(&symbols, in_symbol_directory(name), &error), FM_OK);
    assert_int_equal(fm_symbols_read_table(symbols, &error), FM_OK);
    return symbols;
}

static void check(fm_symbols *symbols, const char *name, bool expected)
{
    if (fm_symbols_may_name(symbols, name) != expected)
        fail_msg("%s: expected %s", name, expected ? "perhaps" : "no");
}

static void need_compiler(const char *compiler)
{
    if (shell("command -v %s >/dev/null", compiler)) return;
    print_message("SKIP: %s is not installed\n", compiler);
    skip();
}

/* At all places relative to the pieces in which sections are decompressed: .debug_str has 45 KB here. */
CASE(every_one_of_many)
{
    enum { MANY = 1200 };
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz";
    need_compiler("gcc");
    FILE *file = fopen(in_symbol_directory("many.c"), "w");
    assert_non_null(file);
    for (int i = 0; i < MANY; i++)
        fprintf(file, "int f%d_%.*s(void) { return 0; }\n", i, 10 + i % 40, letters);
    fputs("int main(void) { return 0; }\n", file);
    assert_int_equal(fclose(file), 0);
    assert_true(shell("gcc -g -gz many.c -o many"));
    fm_symbols *symbols = open_program("many");
    for (int i = 0; i < MANY; i++) {
        char name[80];
        int length = snprintf(name, sizeof name, "f%d_%.*s", i, 10 + i % 40, letters);
        check(symbols, name, true);
        name[length - 1] = '\0';
        if (i % 40 == 39) check(symbols, name, false); /* the whole name is another */
    }
    fm_symbols_close(symbols);
}

CASE(names_of_languages)
{
    need_compiler("g++");
    const char *const ways[] = {"-O2 -g -gz", "-g -gdwarf-4 -fdebug-types-section"};
    for (size_t w = 0; w < sizeof ways / sizeof ways[0]; w++) {
        assert_true(shell("g++ %s x.cc -o t", ways[w]));
        fm_symbols *symbols = open_program("t");
        const char *const there[] = {"sum",  "Box::sum", "geo::Box::sum", "_ZNK3geo3BoxIiE3sumEi", "add",
                                     "work", "Box",      "hidden",        "Square::area",          "area"};
        for (size_t i = 0; i < sizeof there / sizeof there[0]; i++) check(symbols, there[i], true);
        /* Parts of names, and what no name has. */
        const char *const missing[] = {"hidde", "idde", "_ZNK3geo3BoxIiE3su", "no_such_function",
                                       "geo::Box::summ"};
        for (size_t i = 0; i < sizeof missing / sizeof missing[0]; i++) check(symbols, missing[i], false);
        /* Mangled names have letters for these, others are no plain words: nothing can be said. */
        const char *const unknown[] = {
            "basic_string", "std::string", "Box<int>::sum", "sum(int)", "operator<<", "~Shape", "",
            "::",           "geo::"};
        for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) check(symbols, unknown[i], true);
        fm_symbols_close(symbols);
    }
    if (shell("command -v gfortran >/dev/null && gfortran -O2 -g f.f90 -o t")) {
        fm_symbols *symbols = open_program("t");
        const char *const there[] = {"step", "solver::step", "weigh", "weigh_", "part", "__solver_MOD_step"};
        for (size_t i = 0; i < sizeof there / sizeof there[0]; i++) check(symbols, there[i], true);
        check(symbols, "solver::ste", false);
        fm_symbols_close(symbols);
    }
}

/* Debug information in a file of its own is searched there; in several, or damaged, nothing can be said. */
CASE(names_in_other_files)
{
    need_compiler("gcc");
    need_compiler("objcopy");
    assert_true(shell("gcc -O2 -g -gz c.c -o t && objcopy --only-keep-debug t t.debug && strip t && "
                      "objcopy --add-gnu-debuglink=t.debug t"));
    fm_symbols *symbols = open_program("t");
    check(symbols, "square", true);
    check(symbols, "no_such_function", false);
    fm_symbols_close(symbols);
    assert_true(shell("gcc -O2 -g -gsplit-dwarf c.c -o s"));
    symbols = open_program("s");
    check(symbols, "square", true);
    check(symbols, "no_such_function", true);
    fm_symbols_close(symbols);
    /* A compressed section that is damaged. */
    assert_true(shell("gcc -O2 -g -gz c.c -o z && printf '\\377\\377\\377\\377' > junk && "
                      "at=$(readelf -SW z | awk '$2 == \".debug_str\" || $3 == \".debug_str\" {"
                      "for (i = 2; i < NF; i++) if ($i == \"PROGBITS\") print $(i + 2)}') && "
                      "dd if=junk of=z bs=1 seek=$((0x$at + 28)) conv=notrunc"));
    symbols = open_program("z");
    check(symbols, "no_such_function", true);
    fm_symbols_close(symbols);
}

CASES_WITH(make_symbol_directory, remove_symbol_directory);
