/* SPDX-License-Identifier: Apache-2.0 */
/* test_demangle.c - names of Rust's compilers, made readable. Judge: the examples of RFC 2603, c++filt
 * (binutils). */
#include "case.h"

#include "symbols/symbol_file.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void expect(const char *name, const char *expected)
{
    fm_demangler demangler = {0};
    const char *readable = fm_demangle(&demangler, name);
    if (!readable || strcmp(readable, expected) != 0)
        fail_msg("%s: '%s', expected '%s'", name, readable ? readable : "(none)", expected);
    fm_demangler_clear(&demangler);
}

/* Names of all rules of the grammar, and what c++filt makes of them. */
static const char *const names[] = {
    "_RNvC6_123foo3bar",
    "_RNvCs1234_7mycrate3foo",
    "_RNvNtCs1234_7mycrate3foo3bar",
    "_RNvMNtCs1234_7mycrate3fooNtB2_3Foo3bar",
    "_RNvXCs1234_7mycrateINtC7mycrate3FoopEINtNtC3std7convert4FrompE4from",
    "_RNvYNtC7mycrate3FooNtNtC4core5clone5Clone5clone",
    "_RNCNvCsgStHSCytQ6I_7mycrate4main0B3_",
    "_RNCNCNgCs6DXkGYLi8lr_2cc5spawn00B5_",
    "_RNSNvCs1234_7mycrate3foo4shim",
    "_RINvNtC3std3mem8align_ofjdE",
    "_RINvNtC3std3mem8align_ofNtNtC3std3mem12DiscriminantE",
    "_RINvC7mycrate3fooNvMs_C7mycrateNtB2_3Bar3baz4_EB2_",
    "_RINvC7mycrate4callTijEE",
    "_RINvC7mycrate4callTiEE",
    "_RINvC7mycrate4callTEE",
    "_RINvC7mycrate4callRShQeRL_hPuOzE",
    "_RINvC7mycrate4callAhj20_E",
    "_RINvC7mycrate4callKj1f4_Kin7b_Kb0_Kb1_Kc76_KpE",
    "_RINvC7mycrate4callFUKCcEuFKd11swift__callhmE",
    "_RINvC7mycrate4callFG_RL0_hEB0_E",
    "_RINvC7mycrate4callFG0_RL1_hRL0_tEuE",
    "_RINvC7mycrate4callDNtC4core5CloneEL_E",
    "_RINvC7mycrate4callDNtC4core5CloneINtC4core4IterhEp4ItemmEL_E",
    "_RINvC7mycrate4callDG_INtC4core6FnOnceTRL0_hEEp6OutputuEL_E",
    "_RINvC7mycrate4callL_hE",
    "_RNvC6_123foo7u_example",
    "_RNqCs4fqI2P2rA04_11utf8_identsu30____7hkackfecea1cbdathfdh9hlq6y",
    "_RNvNvC7mycrateu8gdel_5qa3bar",
    "_RNvCs1234_7mycrate3foo.llvm.9D1C9369",
    "_RINvNtC7mycrate1ApB2_E",
    "_RNvXs_C7mycrateNtB4_3FooNtB4_5Trait6method",
    "_RINvXs5_C7mycrateINtB5_3FooKj8_ENtNtC4core3fmt5Debug3fmtNtB5_1XE",
};

CASE(as_cxxfilt_reads_them)
{
    if (system("command -v c++filt >/dev/null") != 0) {
        print_message("SKIP: c++filt is not installed\n");
        skip();
    }
    size_t read = 0;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char command[1024], expected[1024] = "";
        snprintf(command, sizeof command, "c++filt --no-verbose '%s'", names[i]);
        FILE *pipe = popen(command, "r");
        assert_non_null(pipe);
        assert_non_null(fgets(expected, sizeof expected, pipe));
        assert_int_equal(pclose(pipe), 0);
        expected[strcspn(expected, "\n")] = '\0';
        char *suffix = strstr(expected, " (.llvm.");
        if (suffix) *suffix = '\0';
        suffix = strstr(expected, ".llvm.");
        if (suffix) *suffix = '\0';
        fm_demangler demangler = {0};
        const char *readable = fm_demangle(&demangler, names[i]);
        if (strcmp(expected, names[i]) == 0) { /* it cannot */
            if (readable) fail_msg("%s: '%s', and c++filt cannot read it", names[i], readable);
        } else {
            read++;
            if (!readable || strcmp(readable, expected) != 0)
                fail_msg("%s: '%s', expected '%s'", names[i], readable ? readable : "(none)", expected);
        }
        fm_demangler_clear(&demangler);
    }
    assert_true(read + 5 >= sizeof names / sizeof names[0]);
}

CASE(as_the_rfc_reads_them)
{
    expect("_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar");
    expect("_RNCNvCsgStHSCytQ6I_7mycrate4main0B3_", "mycrate::main::{closure#0}");
    expect("_RINvNtC3std3mem8align_ofjdE", "std::mem::align_of::<usize, f64>");
    expect("_RNvYNtC7mycrate3FooNtNtC4core5clone5Clone5clone", "<mycrate::Foo as core::clone::Clone>::clone");
    expect("_RINvC7mycrate4callFG_RL0_hEuE", "mycrate::call::<for<'a> fn(&'a u8)>");
    expect("_RINvC7mycrate4callKc2202_Kc27_Kca_E", "mycrate::call::<'\u2202', '\\'', '\\u{a}'>");
    expect("_RINvC7mycrate4callKo123456789abcdef012_E", "mycrate::call::<0x123456789abcdef012>");
}

CASE(older_ones)
{
    if (system("command -v c++filt >/dev/null") != 0) skip(); /* and no C++ library, perhaps */
    expect("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad");
    expect("_ZN4core3ptr46drop_in_place$LT$alloc..vec..Vec$LT$u8$GT$$GT$17h0123456789abcdefE",
           "core::ptr::drop_in_place<alloc::vec::Vec<u8>>");
    expect("_ZN60_$LT$alloc..string..String$u20$as$u20$core..fmt..Display$GT$3fmt17h0123456789abcdefE",
           "<alloc::string::String as core::fmt::Display>::fmt");
    expect("_ZN7mycrate4main28_$u7b$$u7b$closure$u7d$$u7d$17h0123456789abcdefE",
           "mycrate::main::{{closure}}");
    expect("_ZN4hash17h0123456789abcdexE", "hash::h0123456789abcdex"); /* C++'s, with a strange name */
}

/* Whatever a name is, the reader ends, stays in its room and in its stack. */
CASE(damaged_names)
{
    uint64_t random = 1;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        for (int round = 0; round < 400; round++) {
            char damaged[256], text[300];
            snprintf(damaged, sizeof damaged, "%s", names[i]);
            for (int change = 0; change < 1 + round % 3; change++) {
                random = random * UINT64_C(6364136223846793005) + 1;
                static const char letters[] = "NICMXYBRTFDKLEspu_0129azGQSA";
                damaged[2 + (random >> 33) % (strlen(damaged) - 2)] =
                    letters[(random >> 20) % (sizeof letters - 1)];
            }
            const size_t room = 1 + (size_t)(random >> 40) % sizeof text;
            memset(text, '#', sizeof text);
            if (fm_demangle_rust(damaged, text, room)) assert_in_range(strlen(text), 1, room - 1);
            for (size_t at = room; at < sizeof text; at++) assert_int_equal(text[at], '#');
        }
    /* Back references that double the text, again and again; brackets without end. */
    char bomb[4096] = "_RINvC1a1b", *at = bomb + strlen(bomb), text[4096];
    strcpy(at, "TzzE");
    for (int i = 0; i < 60; i++)
        sprintf(at + strlen(at), "TB%c_B%c_E", "6789abcdef"[i % 10], "6789abcdef"[i % 10]);
    strcat(at, "E");
    assert_false(fm_demangle_rust(bomb, text, 64));
    (void)fm_demangle_rust(bomb, text, sizeof text);
    memset(bomb, 'S', sizeof bomb);
    memcpy(bomb, "_RINvC1a1b", 10);
    bomb[sizeof bomb - 1] = '\0';
    assert_false(fm_demangle_rust(bomb, text, sizeof text));
    static const char *const others[] = {
        "_R", "_Rust", "_RNv", "_R0", "_RB_", "_RNvB_3foo", "_RNvC99999999999999999999a1b"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        assert_false(fm_demangle_rust(others[i], text, sizeof text));
}
