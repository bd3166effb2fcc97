/* SPDX-License-Identifier: Apache-2.0 */
/* test_view_pairs.c - the list of late re-uses says the right numbers, names the right lines, and fits a
 * terminal; CSV reads back as what went in. */
#define _GNU_SOURCE
#include "case.h"

#include <fathom/view.h>
#include <inttypes.h>
#include <locale.h>
#include <stdio.h>
#include <unistd.h>
#include <wchar.h>

#include "attribution_samples.h"
#include "view/text.h"

static const fm_cache caches[] = {
    {.name = "L1d", .bytes = 32 << 10}, {.name = "L2", .bytes = 1310720}, {.name = "L3", .bytes = 64 << 20}};
enum { L1 = 0, L2 = 1, L3 = 2 };

/* Not inlined: gcc 12 then mistakes what open_memstream returns through &text for a dangling pointer. */
__attribute__((noinline)) static char *shown(const fm_profile *profile, const fm_cache *cache, size_t most,
                                             unsigned width, bool unicode)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    fm_view_options options = {.width = width, .unicode = unicode};
    fm_error error;
    if (fm_view_pairs(out, profile, cache, most, &options, &error)) fail_msg("%s", error.reason);
    assert_int_equal(fclose(out), 0);
    return text;
}

static _Noreturn void missing(const char *what, const char *text)
{
    fail_msg("expected '%s' in:\n%s", what, text);
    abort();
}

/* The parts occur in this order. Returns what is behind the last. */
static const char *in_order(const char *text, const char *const *parts)
{
    const char *at = text;
    for (; *parts; parts++) {
        const char *found = strstr(at, *parts);
        if (!found) missing(*parts, at);
        at = found + strlen(*parts);
    }
    return at;
}
#define ORDER(text, ...) in_order(text, (const char *const[]){__VA_ARGS__, NULL})

/* A program in the folder that the test runs in: a.c in it, b.c elsewhere. */
static char here[4096];
static const char *file_here(const char *name)
{
    static char path[4400];
    assert_non_null(getcwd(here, sizeof here));
    snprintf(path, sizeof path, "%s/%s", here, name);
    return path;
}

static fm_profile *sample(void)
{
    fm_attribution *made = sample_attribution(2, 8, 3, 3);
    made->modules[0].path = "/bin/prog";
    made->modules[1].path = "/lib/libz.so.1";
    sample_site(made, 0, 0x10, "fill", file_here("src/a.c"), 12, NULL, NULL, 0);
    sample_site(made, 1, 0x18, "fill", file_here("src/a.c"), 12, NULL, NULL, 0); /* the same line */
    sample_site(made, 2, 0x20, "scan", file_here("src/a.c"), 20, NULL, NULL, 0);
    sample_site(made, 3, 0x30, "std::vector<int, std::allocator<int> >::operator[](unsigned long)",
                "/usr/include/c++/12/bits/stl_vector.h", 1043, "solve(int)", "/other/b.cpp", 88);
    sample_site(made, 4, 0x40, "std::vector<int, std::allocator<int> >::operator[](unsigned long)",
                "/usr/include/c++/12/bits/stl_vector.h", 1043, "solve(int)", "/other/b.cpp", 99);
    made->sites[5] =
        (fm_site){.module = 1, .address = 0x5000, .path = FM_NONE, .symbol = "inflate", .symbol_offset = 31};
    made->sites[6] = (fm_site){.module = 1, .address = 0x6000, .path = FM_NONE};
    sample_site(made, 7, 0x70, "main", file_here("src/a.c"), 99, NULL, NULL, 0);
    made->paths[0] = (fm_call_path){FM_NONE, 7};
    made->objects[0] = (fm_object){FM_OBJECT_GLOBAL, "table", 0, 0, 0, 0, FM_NONE, 0, 0, 0};
    made->objects[1] = (fm_object){FM_OBJECT_HEAP, NULL, FM_NONE, 0, 100, 1, 0, 0, 0, 0};
    made->objects[2] = (fm_object){FM_OBJECT_STACK, NULL, FM_NONE, 0, 0, 0, FM_NONE, 2, 0, 0};

    /* fill -> scan through two instructions: 1000 + 500 late at L2 out of 1000 + 500 + 500. */
    sample_pair(made, 0, 2, sample_range(32768), 1000);
    sample_pair(made, 1, 2, sample_range(65536), 500);
    sample_pair(made, 1, 2, sample_range(4), 500);
    /* The same innermost line in two places. */
    sample_pair(made, 3, 3, sample_range(1 << 17), 300);
    sample_pair(made, 4, 4, sample_range(20480), 100);
    /* Without lines. */
    sample_pair(made, 5, 6, sample_range(32768), 50);
    /* Late at L1 only. */
    sample_pair(made, 2, 0, sample_range(1024), 2000);
    sample_pair(made, FM_NONE, 0, FM_RANGE_COLD, 40);
    sample_pair(made, FM_NONE, 1, FM_RANGE_COLD, 20);
    sample_pair(made, FM_NONE, 3, FM_RANGE_COLD, 15);
    const fm_bin many[] = {{32768, 65535, 900}}, few[] = {{65536, 131071, 600}},
                 least[] = {{32768, 65535, 3}}, early[] = {{512, 1023, 77}};
    const fm_object_use uses[] = {{0, 2, 900, 0, 0, 1, many},
                                  {1, 2, 600, 0, 0, 1, few},
                                  {2, 2, 3, 0, 0, 1, least},
                                  {2, 2, 77, 0, 0, 1, early}};
    sample_uses(made, uses, 4);
    return sample_attributed(made);
}

CASE(the_list_says_its_numbers)
{
    fm_profile *profile = sample();
    /* 1000+500+300+100+50 late, 75 cold; of 1000+500+500+300+100+50+2000+75 = 4525 references. */
    char *text = shown(profile, &caches[L2], 10, 100, false);
    const char *at = ORDER(text, "L2", "1.25 MiB", "20,480 blocks of 64 bytes");
    at = ORDER(at, "misses", "2,025", "44.75 %", "of all references");
    at = ORDER(at, "late", "1,950", "96.30 %", "cold", "75", "3.70 %", "first touches");
    at = ORDER(at, "most at fill (src/a.c:12), 80.00 %");
    /* The largest: two instructions of one line. Median in the lower of the two ranges. */
    at = ORDER(at, "  1 ", "1,500", "74.07 %", "75.00 %", "[32Ki, 64Ki)", "2 MiB to 4 MiB");
    at = ORDER(at, "used at", "fill (src/a.c:12)", "re-used at", "scan (src/a.c:20)");
    at = ORDER(at, "data", "59.88 %", "global `table`", "39.92 %", "heap block from main (a.c:99)");
    assert_true(strstr(text, "stack of thread") == NULL); /* less than 1 % */
    at = ORDER(at, "  2 ", "300", "14.81 %", "100.00 %", "[128Ki, 256Ki)", "8 MiB to 16 MiB");
    at = ORDER(at, "both uses at", "solve(int) (/other/b.cpp:88)", "through ", "operator[]",
               "(stl_vector.h:1043)");
    at = ORDER(at, "  3 ", "100", "4.94 %", "100.00 %", "[20Ki, 32Ki)", "1.25 MiB to 2 MiB",
               "/other/b.cpp:99");
    at = ORDER(at, "  4 ", "50", "2.47 %", "inflate in libz.so.1", "0x6000 in libz.so.1");
    assert_null(strstr(at, "\n  5 "));
    assert_null(strstr(text, "more pair"));
    assert_null(strstr(text, "estimate"));
    free(text);

    text = shown(profile, &caches[L2], 1, 100, false);
    ORDER(text, "  1 ", "...", "450", "22.22 %", "3 more pairs of lines");
    assert_null(strstr(text, "\n  2 "));
    free(text);

    /* At L1 (512 blocks) the re-use by fill is late, too, and the largest. */
    text = shown(profile, &caches[L1], 10, 100, false);
    ORDER(text, "misses", "4,025", "  1 ", "2,000", "[1Ki, 2Ki)", "scan (src/a.c:20)", "fill (src/a.c:12)",
          "  2 ", "1,500");
    free(text);

    /* A size that is no edge: 4096.5 blocks do not exist, 24576 do. A third of [20480, 32768) is below. */
    fm_cache between = {.name = "", .bytes = 24576 * 64};
    text = shown(profile, &between, 10, 100, false);
    ORDER(text, "a cache", "24,576 blocks", "misses", "1,992", "estimates");
    free(text);
    fm_profile_destroy(profile);
}

CASE(dust_is_swept_together)
{
    /* One pair with nearly all, and a hundred with 0.01 % each: the first is told. */
    fm_attribution *made = sample_attribution(1, 102, 0, 0);
    made->modules[0].path = "/bin/prog";
    for (uint32_t i = 0; i < 102; i++) sample_site(made, i, i, "f", "/x/a.c", i + 1, NULL, NULL, 0);
    sample_pair(made, 0, 1, sample_range(32768), 990000);
    for (uint32_t i = 2; i < 102; i++) sample_pair(made, i, i, sample_range(32768), 100);
    fm_profile *profile = sample_attributed(made);
    char *text = shown(profile, &caches[L2], 10, 80, false);
    ORDER(text, "\n  1 ", "990,000", "99.00 %", "...", "10,000", "1.00 %", "100 more pairs");
    assert_null(strstr(text, "\n  2 "));
    free(text);
    fm_profile_destroy(profile);
    /* A thousand that are all alike are no dust: the first ten are told. */
    made = sample_attribution(1, 2000, 0, 0);
    made->modules[0].path = "/bin/prog";
    fm_raw_pair *raw = calloc(2000, sizeof *raw);
    uint32_t *map = calloc(2001, sizeof *map);
    assert_true(raw && map);
    for (uint32_t i = 0; i < 2000; i++) {
        sample_site(made, i, i, "f", "/x/a.c", i + 1, NULL, NULL, 0);
        raw[i] = (fm_raw_pair){i + 1, i + 1, sample_range(32768), 5};
        map[i + 1] = i;
    }
    assert_int_equal(fm_attribution_add_pairs(made, raw, 2000, map, 2001, NULL), FM_OK);
    free(raw);
    free(map);
    profile = sample_attributed(made);
    text = shown(profile, &caches[L2], 10, 80, true);
    ORDER(text, "\n 10 ", "0.05 %", "…", "1990 more pairs");
    free(text);
    fm_profile_destroy(profile);
}

CASE(nothing_late_is_said)
{
    fm_profile *profile = sample();
    char *text = shown(profile, &caches[L3], 10, 80, true); /* 1 Mi blocks: all in time */
    ORDER(text, "misses", "75", "cold", "100.00 %", "no re-use comes too late");
    assert_null(strstr(text, "used at"));
    free(text);
    text = shown(profile, &caches[L2], 0, 80, true);
    ORDER(text, "2,025");
    assert_null(strstr(text, "used at"));
    free(text);
    fm_profile_destroy(profile);

    fm_attribution *made = sample_attribution(0, 1, 0, 0);
    sample_pair(made, 0, 0, 0, 5);
    profile = sample_attributed(made);
    text = shown(profile, &caches[L1], 10, 80, false);
    ORDER(text, "no misses at all");
    free(text);
    profile->attribution = NULL;
    text = shown(profile, &caches[L1], 10, 80, false);
    ORDER(text, "does not say where");
    free(text);
    profile->attribution = made;
    made->pairs[0].reuse = 7; /* made by hand, wrongly */
    FILE *nowhere = fopen("/dev/null", "w");
    fm_view_options options = {0};
    fm_error error;
    assert_int_equal(fm_view_pairs(nowhere, profile, &caches[L1], 1, &options, &error), FM_E_ARGUMENT);
    assert_int_equal(fm_view_pairs_csv(nowhere, profile, caches, 1, &error), FM_E_ARGUMENT);
    assert_int_equal(fm_view_callgrind(nowhere, profile, caches, 1, &error), FM_E_ARGUMENT);
    fclose(nowhere);
    fm_profile_destroy(profile);

    assert_int_equal(fm_profile_create(&profile, NULL), FM_OK);
    assert_int_equal(fm_attribution_create(&profile->attribution, NULL), FM_OK);
    text = shown(profile, &caches[L1], 10, 80, false);
    ORDER(text, "no references");
    free(text);
    fm_profile_destroy(profile);
}

CASE(a_bound_is_said)
{
    fm_attribution *made = sample_attribution(0, 2, 0, 0);
    sample_pair(made, 0, 1, FM_RANGE_BEYOND, 30);
    sample_pair(made, FM_NONE, 1, FM_RANGE_BEYOND, 10);
    sample_pair(made, FM_NONE, 1, FM_RANGE_COLD, 100); /* the same pair, but no re-use */
    sample_pair(made, 0, 1, 3, 60);
    fm_profile *profile = sample_attributed(made);
    profile->bound = 1024;
    char *text = shown(profile, &caches[L1], 10, 80, false);
    ORDER(text, "misses", "140", "70.00 %", "late", "40", "cold", "100", "  1 ", "30", "33.33 %", "from 1Ki",
          "from 64 KiB", "  2 ", "10", "100.00 %", "used at", "not known");
    assert_null(strstr(text, "bound"));
    free(text);
    text = shown(profile, &caches[L2], 10, 80, false);
    ORDER(text, "larger than the profile's bound", "1,024 blocks");
    free(text);
    fm_profile_destroy(profile);
}

CASE(call_paths_are_shown)
{
    fm_attribution *made = sample_attribution(1, 7, 4, 0);
    made->modules[0].path = "/bin/prog";
    made->sites[0].path = 2; /* copy, from step, from main */
    made->sites[1].path = 3; /* copy, from other, from main */
    sample_site(made, 0, 0x10, "copy", "/x/a.c", 5, NULL, NULL, 0);
    sample_site(made, 1, 0x10, "copy", "/x/a.c", 5, NULL, NULL, 0);
    sample_site(made, 2, 0x20, "step", "/x/a.c", 50, NULL, NULL, 0);
    sample_site(made, 3, 0x30, "other", "/x/a.c", 60, NULL, NULL, 0);
    sample_site(made, 4, 0x40, "main", "/x/a.c", 99, NULL, NULL, 0);
    made->sites[5] =
        (fm_site){.module = 0, .address = 0x50, .path = FM_NONE, .symbol = "start", .symbol_offset = 2};
    sample_site(made, 6, 0x60, "read", "/x/b.c", 7, NULL, NULL, 0);
    const fm_call_path calls[] = {{FM_NONE, 5}, {0, 4}, {1, 2}, {1, 3}};
    memcpy(made->paths, calls, sizeof calls);
    sample_pair(made, 6, 0, sample_range(32768), 730);
    sample_pair(made, 6, 1, sample_range(32768), 270);
    fm_profile *profile = sample_attributed(made);
    char *text = shown(profile, &caches[L2], 10, 100, false);
    ORDER(text, "  1 ", "1,000", "used at", "read (/x/b.c:7)", "re-used at", "copy (/x/a.c:5)",
          "called from step (a.c:50) < main (a.c:99) < start+0x2 in prog",
          "73.00 % of the misses of the pair");
    assert_null(strstr(text, "\n  2 "));
    assert_null(strstr(text, "other (a.c"));
    free(text);
    /* Calls within a library are passed over; where there are no others, none are shown. */
    made->modules = fm_attribution_allocate(made, 2, sizeof *made->modules);
    made->modules[0].path = "/bin/prog";
    made->modules[1].path = "/usr/lib/libc.so.6";
    made->module_count = 2;
    made->sites[4].module = 1;
    text = shown(profile, &caches[L2], 10, 100, true);
    ORDER(text, "called from step (a.c:50) ← … ← start+0x2 in prog\n", "73.00 %");
    free(text);
    made->sites[2].module = made->sites[3].module = 1;
    made->sites[5].symbol = "_start";
    text = shown(profile, &caches[L2], 10, 100, true);
    assert_null(strstr(text, "called from"));
    assert_null(strstr(text, "73.00 %"));
    free(text);
    fm_profile_destroy(profile);
}

/* ---- adversarial names, at every width ---- */

static void assert_fits(const char *text, unsigned width, bool unicode)
{
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1) {
        size_t length = strcspn(line, "\n");
        unsigned columns = 0;
        mbstate_t shift = {0};
        for (size_t at = 0; at < length;) {
            wchar_t wide;
            size_t bytes = mbrtowc(&wide, line + at, length - at, &shift);
            if (bytes == 0 || bytes > 8) fail_msg("no text: %.*s", (int)length, line);
            int taken = wcwidth(wide);
            if (taken < 0 || (!unicode && (unsigned char)line[at] >= 0x80))
                fail_msg("not shown: %.*s", (int)length, line);
            columns += (unsigned)taken;
            at += bytes;
        }
        if (columns > width) fail_msg("%u columns, wider than %u: %.*s", columns, width, (int)length, line);
        assert_true(length == 0 || line[length - 1] != ' ');
    }
}

CASE(names_of_all_kinds_fit)
{
    if (!setlocale(LC_ALL, "C.UTF-8")) {
        print_message("SKIP: there is no locale C.UTF-8 to measure columns by\n");
        skip();
    }
    static char longest[4001], folders[1001], wide[3001];
    memset(longest, 'x', sizeof longest - 1);
    for (size_t i = 0; i + 1 < sizeof folders; i++) folders[i] = i % 7 ? 'd' : '/';
    for (size_t i = 0; i + 3 < sizeof wide; i += 3) memcpy(wide + i, "\xe6\xb5\xb7", 3);
    const char *const names[] = {
        "f",
        "",
        longest,
        wide,
        "\n\n\r\t\x1b[31mred",
        "\xff\xfe broken \xc3",
        "caf\xc3\xa9 e\xcc\x81",
        "std::map<std::string, std::vector<int>, std::less<std::string> >::operator[](std::string&&)",
        "main::{lambda(std::vector<int>)#1}::operator()(std::vector<int>) const",
        "(anonymous namespace)::walk(node*)",
        "operator<",
        "a<b<c<d<e",
        "\xe2\x80\xae reversed",
    };
    const char *const files[] = {
        "a.c",
        "/x/a.c",
        folders,
        longest,
        wide,
        "/",
        "",
        "/a b/c d/\n.c",
        "/home/someone/projects/fathom/very/deep/folder/structure/of/sources/file.cpp"};
    size_t name_count = sizeof names / sizeof *names, file_count = sizeof files / sizeof *files;
    fm_attribution *made = sample_attribution(2, (uint32_t)(name_count * file_count), 60, name_count);
    made->modules[0].path = "/bin/prog";
    made->modules[1].path = longest;
    for (uint32_t i = 0; i < made->site_count; i++) {
        const char *name = names[i % name_count], *file = files[i / name_count];
        if (i % 5 == 4)
            made->sites[i] =
                (fm_site){.module = i % 2, .address = i, .path = FM_NONE, .symbol = name, .symbol_offset = i};
        else
            sample_site(made, i, i, name, file, i % 3 ? i * 1000003 + 1 : i % 2,
                        i % 2 ? names[(i + 1) % name_count] : NULL, files[(i + 1) % file_count], i);
        made->sites[i].path = i % 2 ? i % 60 : FM_NONE;
    }
    for (uint32_t i = 0; i < 60; i++) /* chains of calls of all lengths */
        made->paths[i] = (fm_call_path){i % 20 ? i - 1 : FM_NONE, i};
    for (uint32_t i = 0; i < name_count; i++)
        made->objects[i] = (fm_object){FM_OBJECT_GLOBAL, names[i], 0, 0, 0, 0, FM_NONE, 0, 0, 0};
    for (uint32_t i = 0; i < made->site_count; i++)
        sample_pair(made, (i * 7 + 3) % (uint32_t)made->site_count, i, sample_range(32768),
                    UINT64_C(123456789012) + i);
    fm_object_use uses[40];
    const fm_bin bins[] = {{32768, 65535, 9}};
    for (uint32_t i = 0; i < 40; i++)
        uses[i] = (fm_object_use){i % (uint32_t)name_count, i, 9, 0, 0, 1, bins};
    sample_uses(made, uses, 40);
    fm_profile *profile = sample_attributed(made);
    /* A sanitizer looks through long names again and again: fewer widths. */
    const unsigned step = getenv("FATHOM_TEST_STRIDE") ? 118 : 39;
    for (unsigned width = 80; width <= 200; width += width == 80 && step == 39 ? 1 : step)
        for (int unicode = 0; unicode < 2; unicode++) {
            char *text = shown(profile, &caches[L2], 200, width, unicode);
            assert_fits(text, width, unicode);
            /* File and line are always there. */
            if (width >= 120) ORDER(text, "sources/file.cpp:");
            assert_non_null(strstr(text, "file.cpp:"));
            free(text);
        }
    setlocale(LC_ALL, "C");
    fm_profile_destroy(profile);
}

CASE(names_of_functions_are_shortened)
{
    static const struct {
        const char *from, *to;
    } cases[] = {
        {"main", "main"},
        {"std::vector<int, std::allocator<int> >::push_back(int const&)", "std::vector<>::push_back"},
        {"(anonymous namespace)::parse(char*) const", "(anonymous namespace)::parse"},
        {"f()::{lambda(int)#1}::operator()(int) const", "f()::{lambda(int)#1}::operator()"},
        {"bool operator< <int>(a<int> const&, a<int> const&)", "operator< <>"},
        {"x::operator<=>(x const&)", "x::operator<=>"},
        {"foo(int) [clone .part.0]", "foo"},
        {"void std::sort<int*>(int*, int*)", "std::sort<>"},
        {"std::enable_if<(bool)1, int>::type (anonymous namespace)::g<int>(int)",
         "(anonymous namespace)::g<>"},
        {"two words", "two words"},
        {"a::operator bool() const", "a::operator bool"},
        {"operator()", "operator()"},
        {"((((", "(((("},
        {"a->b", "a->b"},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[200];
        assert_string_equal(fm_function_name_shorten(cases[i].from, text, sizeof text), cases[i].to);
        for (size_t size = 1; size < 20; size++) { /* never more than it may */
            char small[20];
            memset(small, '#', sizeof small);
            fm_function_name_shorten(cases[i].from, small, size);
            assert_true(strnlen(small, size) < size);
        }
    }
}

CASE(texts_are_cut)
{
    static const struct {
        const char *name;
        unsigned columns;
        fm_cut cut;
        bool unicode;
        const char *shown;
    } cases[] = {
        {"abcdefghij", 10, FM_CUT_END, false, "abcdefghij"},
        {"abcdefghij", 9, FM_CUT_END, false, "abcdef..."},
        {"abcdefghij", 9, FM_CUT_BEGINNING, false, "...efghij"},
        {"abcdefghij", 9, FM_CUT_MIDDLE, false, "ab...ghij"},
        {"abcdefghij", 9, FM_CUT_END, true, "abcdefgh…"},
        {"abcdefghij", 3, FM_CUT_END, false, "..."},
        {"abcdefghij", 2, FM_CUT_END, false, ".."},
        {"abcdefghij", 0, FM_CUT_END, true, ""},
        {"\xe6\xb5\xb7\xe6\xb5\xb7\xe6\xb5\xb7", 6, FM_CUT_END, true, "\xe6\xb5\xb7\xe6\xb5\xb7\xe6\xb5\xb7"},
        {"\xe6\xb5\xb7\xe6\xb5\xb7\xe6\xb5\xb7", 5, FM_CUT_BEGINNING, true, "…\xe6\xb5\xb7\xe6\xb5\xb7"},
        {"\xe6\xb5\xb7\xe6\xb5\xb7\xe6\xb5\xb7", 4, FM_CUT_BEGINNING, true, "…\xe6\xb5\xb7"},
        {"ab\xff", 6, FM_CUT_END, true, "ab\\xff"},
        {"ab\xff", 5, FM_CUT_END, true, "ab…"},
        {"\377ab", 5, FM_CUT_BEGINNING, true, "…ab"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = NULL;
        size_t size = 0;
        FILE *out = open_memstream(&text, &size);
        unsigned used =
            fm_text_write_short(out, cases[i].name, cases[i].columns, cases[i].cut, cases[i].unicode);
        fclose(out);
        assert_string_equal(text, cases[i].shown);
        assert_true(used <= cases[i].columns);
        free(text);
    }
}

/* ---- CSV ---- */

/* One cell of RFC 4180 into `cell`; returns what is behind it. */
static const char *next_cell(const char *at, char *cell, size_t size)
{
    size_t length = 0;
    bool quoted = *at == '"';
    if (quoted) at++;
    for (; *at; at++) {
        if (quoted && *at == '"') {
            if (at[1] != '"') {
                at++;
                break;
            }
            at++;
        } else if (!quoted && (*at == ',' || *at == '\n')) {
            break;
        }
        assert_true(length + 1 < size);
        cell[length++] = *at;
    }
    cell[length] = '\0';
    assert_true(*at == ',' || *at == '\n');
    return at;
}

__attribute__((noinline)) static char *csv_of(const fm_profile *profile)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    fm_error error;
    assert_int_equal(fm_view_pairs_csv(out, profile, caches, 3, &error), FM_OK);
    assert_int_equal(fclose(out), 0);
    return text;
}

CASE(csv_reads_back)
{
    enum { CELLS = 2 * 7 + 3 + 3 };
    fm_profile *profile = sample();
    fm_attribution *in = profile->attribution;
    sample_site(in, 2, 0x20, "a \"b\", c\nd", "/x/\xff, \"y\".c", 20, NULL, NULL, 0);
    in->sites[2].path = 0;
    char *text = csv_of(profile);
    const char *at = text;
    static char cells[CELLS][1000];
    for (size_t row = 0; row <= in->pair_count; row++) {
        for (size_t i = 0; i < CELLS; i++) {
            at = next_cell(at, cells[i], sizeof cells[i]);
            assert_int_equal(*at, i + 1 < CELLS ? ',' : '\n');
            at++;
        }
        if (row == 0) {
            assert_string_equal(cells[0], "use_function");
            assert_string_equal(cells[7], "reuse_function");
            assert_string_equal(cells[14], "count");
            assert_string_equal(cells[18], "misses_L2");
            continue;
        }
        const fm_pair *pair = &in->pairs[row - 1];
        const uint32_t sites[] = {pair->use, pair->reuse};
        for (size_t i = 0; i < 2; i++) {
            char(*cell)[1000] = &cells[7 * i];
            if (sites[i] == FM_NONE) {
                for (size_t j = 0; j < 7; j++) assert_string_equal(cell[j], "");
                continue;
            }
            const fm_site *site = &in->sites[sites[i]];
            assert_true(strtoull(cell[5], NULL, 16) == site->address);
            assert_string_equal(cell[4], in->modules[site->module].path);
            if (sites[i] == 2) {
                assert_string_equal(cell[0], "a \"b\", c\nd");
                assert_string_equal(cell[1], "/x/\xEF\xBF\xBD, \"y\".c");
                assert_string_equal(cell[6], "main (a.c:99)");
            } else if (site->frame_count) {
                assert_string_equal(cell[0], site->frames[0].function);
                assert_string_equal(cell[1], site->frames[0].file);
                assert_int_equal(strtoul(cell[2], NULL, 10), site->frames[0].line);
            }
            assert_string_equal(cell[3], site->frame_count > 1
                                             ? (site->frames[1].line == 88 ? "solve(int) (b.cpp:88)"
                                                                           : "solve(int) (b.cpp:99)")
                                             : "");
        }
        assert_true(strtoull(cells[14], NULL, 10) == pair->count);
        assert_true(strtoull(cells[15], NULL, 10) == pair->cold);
        assert_true(strtoull(cells[16], NULL, 10) == pair->beyond);
        for (size_t i = 0; i < 3; i++)
            assert_true(strtod(cells[17 + i], NULL) == fm_pair_misses(pair, caches[i].bytes / 64));
    }
    assert_int_equal(*at, '\0');
    free(text);
    fm_profile_destroy(profile);
}

/* Text that a terminal or a spreadsheet would carry out is text in a table. */
CASE(csv_cells_do_nothing)
{
    static const struct {
        const char *text, *cell; /* as it stands there */
    } cases[] = {
        {"plain_name", "plain_name"},
        {"=HYPERLINK(\"http://x\";\"y\")", "\"'=HYPERLINK(\"\"http://x\"\";\"\"y\"\")\""},
        {"=1+1", "'=1+1"},
        {"+cmd|' /C calc'!A0", "'+cmd|' /C calc'!A0"},
        {"-[NSObject init]", "'-[NSObject init]"},
        {"@SUM(1,2)", "\"'@SUM(1,2)\""},
        {"\uFF1D1+1", "'\uFF1D1+1"},
        {"operator==", "operator=="},
        {"a-b", "a-b"},
        {"\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"},
        {"\x1b]0;title\a", "\\x1b]0;title\\x07"},
        {"\t=1+1", "\\x09=1+1"},
        {"\r=1+1", "\\x0d=1+1"},
        {"a\r\nb", "\"a\\x0d\nb\""},
        {"a\xc2\x9b"
         "31m",
         "a<U+009B>31m"},
        {"ab\xe2\x80\xae"
         "cd",
         "ab<U+202E>cd"},
        {"b\xc3\xa4r", "b\xc3\xa4r"},
        {"\xff", "\xEF\xBF\xBD"},
        {"", ""},
        {" x", "\" x\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = NULL;
        size_t size = 0;
        FILE *out = open_memstream(&text, &size);
        fm_csv_write_cell(out, cases[i].text);
        assert_int_equal(fclose(out), 0);
        assert_string_equal(text, cases[i].cell);
        free(text);
    }
    /* In every cell of a table: none begins a formula, and there is no byte that controls. */
    fm_profile *profile = sample();
    fm_attribution *in = profile->attribution;
    sample_site(in, 2, 0x20, "=a\x1b[2J", "@b.c", 20, NULL, NULL, 0);
    in->sites[2].path = 0;
    sample_site(in, in->paths[0].call, 0x30, "=main", "a.c", 99, "+caller", "b.c", 7);
    char *text = csv_of(profile);
    assert_non_null(strstr(text, "'=a\\x1b[2J,'@b.c,"));
    assert_non_null(strstr(text, "\"'=main (a.c:99) < +caller (b.c:7)\""));
    for (const char *c = text; *c; c++) {
        if (*c < ' ' && *c != '\n') fail_msg("byte %02x at '%s'", (unsigned)*c, c);
        const bool begins = c == text || c[-1] == ',' || c[-1] == '\n' || (c[-1] == '"' && c[-2] == ',');
        if (begins && strchr("=+-@", *c)) fail_msg("a cell begins with '%.20s'", c);
    }
    free(text);
    fm_profile_destroy(profile);
}
