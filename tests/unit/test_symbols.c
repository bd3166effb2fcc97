/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_symbols.c - names for code and data, of programs that are compiled here: every instruction against
 * addr2line of binutils (which shares no code with libdw), variables and functions against nm, files in all
 * states of being stripped, separated, changed, gone and damaged.
 */
#define _GNU_SOURCE
#include "case.h"

#include <stdint.h>

#include "symbols/symbol_file.h"
#include "symbols/symbols.h"
#include "unit/symbol_programs.h"
#include <ctype.h>
#include <fathom/experimental.h>
#include <inttypes.h>
#include <pthread.h>
#include <sys/stat.h>

/* ---- helpers ---- */

/* Skips the test unless a program is there. */
static void need(const char *program)
{
    if (shell("command -v %s >/dev/null", program)) return;
    print_message("SKIP: %s is not installed\n", program);
    skip();
}

static void build(const char *command)
{
    if (!shell("%s", command)) fail_msg("failed: %s", command);
}

/* The addresses of all instructions of a program, in its own order. */
static size_t read_addresses(const char *program, uint64_t **addresses)
{
    assert_true(shell("objdump -d --no-show-raw-insn %s | grep -oE '^ +[0-9a-f]+:' | tr -d ' :' > addresses",
                      program));
    FILE *file = fopen(in_symbol_directory("addresses"), "r");
    assert_non_null(file);
    size_t count = 0, capacity = 1 << 16;
    *addresses = malloc(capacity * sizeof **addresses);
    while (count < capacity && fscanf(file, "%" SCNx64, &(*addresses)[count]) == 1) count++;
    fclose(file);
    assert_in_range(count, 50, capacity - 1);
    return count;
}

static fm_attribution *sites_of(const char *path, const uint64_t *addresses, size_t count)
{
    fm_error error;
    fm_attribution *attribution;
    assert_int_equal(fm_attribution_create(&attribution, &error), FM_OK);
    attribution->modules = fm_attribution_allocate(attribution, 1, sizeof(fm_module));
    attribution->sites = fm_attribution_allocate(attribution, count, sizeof(fm_site));
    attribution->modules[0].path = fm_attribution_intern(attribution, path);
    char id[FM_BUILD_ID_TEXT];
    if (fm_symbols_build_id(path, id))
        attribution->modules[0].build_id = fm_attribution_intern(attribution, id);
    attribution->module_count = 1;
    attribution->site_count = count;
    for (size_t i = 0; i < count; i++) /* not in order */
        attribution->sites[i] = (fm_site){.address = addresses[(i * 7919 + 3) % count], .path = FM_NONE};
    return attribution;
}

/* Resolves; the notes are returned, to be freed. */
static char *resolve(fm_attribution *attribution)
{
    char *notes = NULL;
    size_t size = 0;
    fm_error error;
    FILE *stream = open_memstream(&notes, &size);
    assert_non_null(stream);
    if (fm_symbols_resolve(attribution, stream, &error) != FM_OK) fail_msg("%s", error.reason);
    assert_int_equal(fclose(stream), 0);
    return notes;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* ---- against addr2line ---- */

/* Whether a name of ours and one of addr2line mean the same function. */
static bool same_function(const char *ours, const char *theirs)
{
    if (strcmp(ours, theirs) == 0) return true;
    /* gfortran's: it prints the linker's names. */
    char text[256];
    const char *mark = strstr(theirs, "_MOD_");
    if (strncmp(theirs, "__", 2) == 0 && mark) {
        snprintf(text, sizeof text, "%.*s::%s", (int)(mark - theirs) - 2, theirs + 2, mark + 5);
        return strcmp(ours, text) == 0;
    }
    snprintf(text, sizeof text, "%s_", ours);
    return strcmp(text, theirs) == 0 || (strcmp(ours, "heat") == 0 && strcmp(theirs, "MAIN__") == 0);
}

/* One answer of addr2line: lines up to the next address. */
typedef struct answer {
    char function[16][1024];
    char file[16][256];
    unsigned line[16];
    size_t frames;
} answer;

static bool read_line(FILE *file, char *line, size_t size)
{
    if (!fgets(line, (int)size, file)) return false;
    line[strcspn(line, "\n")] = '\0';
    return true;
}

static void read_answer(FILE *file, uint64_t address, answer *is)
{
    char line[1024];
    assert_true(read_line(file, line, sizeof line));
    assert_int_equal(strtoull(line, NULL, 16), address);
    is->frames = 0;
    for (;;) {
        long here = ftell(file);
        if (!read_line(file, line, sizeof line)) break;
        if (strncmp(line, "0x0", 3) == 0) {
            assert_int_equal(fseek(file, here, SEEK_SET), 0);
            break;
        }
        assert_in_range(is->frames, 0, 15);
        snprintf(is->function[is->frames], sizeof is->function[0], "%s", line);
        assert_true(read_line(file, line, sizeof line));
        char *colon = strrchr(line, ':');
        assert_non_null(colon);
        is->line[is->frames] = (unsigned)strtoul(colon + 1, NULL, 10);
        *colon = '\0';
        snprintf(is->file[is->frames++], sizeof is->file[0], "%.255s", base_name(line));
    }
}

static size_t between; /* lines without a function: alignment behind one, where nothing ever runs */

/* Returns how many frames were inlined ones. */
static size_t compare_frames(const fm_site *site, const answer *expected)
{
    if (expected->line[0] == 0) { /* it has found a symbol at most */
        if (site->frame_count > 0) assert_int_equal(site->frames[0].line, 0);
        const char *ours = site->symbol            ? site->symbol
                           : site->frame_count > 0 ? site->frames[0].function
                                                   : NULL;
        /* It does not look into the linkage table. */
        if (ours && !strstr(ours, "@plt") && strcmp(expected->function[0], "??") != 0)
            assert_true(same_function(ours, expected->function[0]));
        return 0;
    }
    if (site->frame_count != expected->frames)
        fail_msg("0x%" PRIx64 ": %zu frames, expected %zu", site->address, site->frame_count,
                 expected->frames);
    for (size_t f = 0; f < expected->frames; f++) {
        const fm_frame *frame = &site->frames[f];
        const char *function = frame->function ? frame->function : site->symbol;
        assert_non_null(frame->file);
        assert_true(frame->file[0] == '/');
        if (!function) {
            between++;
            function = expected->function[f];
        }
        if (!same_function(function, expected->function[f]) || frame->line != expected->line[f] ||
            (strcmp(base_name(frame->file), expected->file[f]) != 0 &&
             strcmp(expected->file[f], "<artificial>") != 0)) /* its word for link-time optimisation */
            fail_msg("0x%" PRIx64 ": %s %s:%u, expected %s %s:%u", site->address, function, frame->file,
                     frame->line, expected->function[f], expected->file[f], expected->line[f]);
    }
    return expected->frames - 1;
}

/* Compiles, and compares every instruction. Returns how many inlined frames there were. */
static size_t compare_program(const char *command, size_t least_inlined)
{
    static answer expected;
    uint64_t *addresses;
    build(command);
    size_t count = read_addresses("t", &addresses);
    assert_true(shell("addr2line -a -i -f -C -e t < addresses > expected"));
    fm_attribution *attribution = sites_of(in_symbol_directory("t"), addresses, count);
    char *notes = resolve(attribution);
    assert_string_equal(notes, "");
    free(notes);
    FILE *file = fopen(in_symbol_directory("expected"), "r");
    assert_non_null(file);
    size_t inlined = 0;
    between = 0;
    fm_site **by_place = calloc(count, sizeof *by_place);
    assert_non_null(by_place);
    for (size_t i = 0; i < count; i++) by_place[(i * 7919 + 3) % count] = &attribution->sites[i];
    for (size_t i = 0; i < count; i++) {
        read_answer(file, addresses[i], &expected);
        inlined += compare_frames(by_place[i], &expected);
    }
    assert_in_range(between, 0, count / 20);
    free(by_place);
    fclose(file);
    fm_attribution_destroy(attribution);
    free(addresses);
    assert_in_range(inlined, least_inlined, SIZE_MAX);
    return inlined;
}

CASE(lines_of_c)
{
    need("gcc");
    need("addr2line");
    compare_program("gcc -O2 -g c.c -o t", 10);
    compare_program("gcc -O2 -gdwarf-4 -no-pie c.c -o t", 10);
    compare_program("gcc -O0 -g c.c -o t", 0);
    compare_program("gcc -O3 -g -gz c.c -o t", 10);
    compare_program("gcc -O2 -g -flto c.c -o t", 10);
}

CASE(lines_of_clang)
{
    need("clang");
    need("addr2line");
    /* Without .debug_aranges; addr2line of binutils 2.40 does not see its inlined frames in DWARF 5. */
    compare_program("clang -O2 -gdwarf-4 c.c -o t", 10);
}

CASE(lines_of_cxx)
{
    need("g++");
    need("addr2line");
    compare_program("g++ -O2 -g x.cc -o t", 100);
    compare_program("g++ -O2 -gdwarf-4 -no-pie x.cc -o t", 100);
}

CASE(lines_of_fortran)
{
    need("gfortran");
    need("addr2line");
    compare_program("gfortran -O2 -g f.f90 -o t", 1);
    compare_program("gfortran -O0 -gdwarf-4 f.f90 -o t", 0);
}

/* ---- files that were taken apart ---- */

/* The same answers for all instructions, functions and lines, as in the whole file. */
static void same_as_whole(const char *whole, const char *part)
{
    uint64_t *addresses;
    size_t count = read_addresses(whole, &addresses);
    fm_attribution *a = sites_of(in_symbol_directory(whole), addresses, count);
    fm_attribution *b = sites_of(in_symbol_directory(part), addresses, count);
    free(resolve(a));
    char *notes = resolve(b);
    assert_string_equal(notes, "");
    free(notes);
    size_t lines = 0;
    for (size_t i = 0; i < count; i++) {
        char first[512], second[512];
        fm_site_text(a, (uint32_t)i, first, sizeof first);
        fm_site_text(b, (uint32_t)i, second, sizeof second);
        if (a->sites[i].frame_count > 0) assert_string_equal(first, second);
        assert_int_equal(a->sites[i].frame_count, b->sites[i].frame_count);
        lines += a->sites[i].frame_count > 0 && a->sites[i].frames[0].line > 0;
    }
    assert_in_range(lines, 30, count);
    fm_attribution_destroy(a);
    fm_attribution_destroy(b);
    free(addresses);
}

/* libdw alone takes 170 KiB of stack. */
static void *resolve_in_thread(void *context)
{
    static fm_status status;
    fm_error error;
    FILE *notes = fopen("/dev/null", "w");
    status = notes ? fm_symbols_resolve(context, notes, &error) : FM_E_IO;
    if (notes) fclose(notes);
    return &status;
}

CASE(small_stacks)
{
    need("gcc");
    build("gcc -O2 -g c.c -o t");
    uint64_t *addresses;
    size_t count = read_addresses("t", &addresses);
    fm_attribution *a = sites_of(in_symbol_directory("t"), addresses, count);
    fm_attribution *b = sites_of(in_symbol_directory("t"), addresses, count);
    pthread_attr_t attributes;
    pthread_t thread;
    void *status;
    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstacksize(&attributes, 128 << 10), 0);
    free(resolve(a));
    assert_int_equal(pthread_create(&thread, &attributes, resolve_in_thread, b), 0);
    assert_int_equal(pthread_join(thread, &status), 0);
    assert_int_equal(*(fm_status *)status, FM_OK);
    for (size_t i = 0; i < count; i++) {
        char first[512], second[512];
        fm_site_text(a, (uint32_t)i, first, sizeof first);
        fm_site_text(b, (uint32_t)i, second, sizeof second);
        assert_string_equal(first, second);
    }
    pthread_attr_destroy(&attributes);
    fm_attribution_destroy(a);
    fm_attribution_destroy(b);
    free(addresses);
}

CASE(separate_debug_files)
{
    need("gcc");
    need("objcopy");
    const char *const ids[] = {"-Wl,--build-id", "-Wl,--build-id=none"};
    for (int i = 0; i < 2; i++) {
        assert_true(shell("gcc -O2 -g %s c.c -o whole && objcopy --only-keep-debug whole whole.debug && "
                          "objcopy --strip-all --add-gnu-debuglink=whole.debug whole part && "
                          "gcc -O1 -g %s -DX=1 c.c -o t && objcopy --only-keep-debug t other.debug",
                          ids[i], ids[i]));
        same_as_whole("whole", "part");
        assert_true(shell("mkdir -p .debug && mv whole.debug .debug/"));
        same_as_whole("whole", "part");
        /* The debug file of another build is not taken. */
        assert_true(shell("rm -r .debug && cp other.debug whole.debug"));
        uint64_t *addresses;
        size_t count = read_addresses("whole", &addresses);
        fm_attribution *attribution = sites_of(in_symbol_directory("part"), addresses, count);
        char *notes = resolve(attribution);
        assert_non_null(strstr(notes, "part: no debug information"));
        for (size_t s = 0; s < count; s++) assert_int_equal(attribution->sites[s].frame_count, 0);
        free(notes);
        fm_attribution_destroy(attribution);
        free(addresses);
        assert_true(shell("rm -f whole whole.debug part other.debug"));
    }
}

/* Debug information in files of their own (.dwo), while they are there. */
CASE(split_debug_files)
{
    need("gcc");
    build("gcc -O2 -g c.c -o whole && gcc -O2 -g -gsplit-dwarf c.c -o part");
    same_as_whole("whole", "part");
    assert_true(shell("rm -f *.dwo"));
    uint64_t *addresses;
    size_t count = read_addresses("part", &addresses);
    fm_attribution *attribution = sites_of(in_symbol_directory("part"), addresses, count);
    free(resolve(attribution));
    size_t named = 0; /* lines are still there; functions by symbol */
    for (uint32_t i = 0; i < count; i++) {
        char text[256];
        fm_site_text(attribution, i, text, sizeof text);
        named += strncmp(text, "count (c.c:", 11) == 0;
    }
    assert_in_range(named, 20, count);
    fm_attribution_destroy(attribution);
    /* Something else under their names is not waited for. */
    assert_true(shell("mkfifo part-c.dwo c.dwo"));
    attribution = sites_of(in_symbol_directory("part"), addresses, count);
    alarm(60);
    free(resolve(attribution));
    fm_symbols *symbols;
    fm_code_range *ranges;
    size_t range_count;
    assert_int_equal(fm_symbols_open(&symbols, in_symbol_directory("part"), NULL), FM_OK);
    assert_int_equal(fm_symbols_function_ranges(symbols, "cube", true, &ranges, &range_count, NULL), FM_OK);
    alarm(0);
    free(ranges);
    fm_symbols_close(symbols);
    named = 0;
    for (uint32_t i = 0; i < count; i++) {
        char text[256];
        fm_site_text(attribution, i, text, sizeof text);
        named += strncmp(text, "count (c.c:", 11) == 0;
    }
    assert_in_range(named, 20, count);
    fm_attribution_destroy(attribution);
    free(addresses);
    assert_true(shell("rm -f whole part *.dwo"));
}

/* Function by symbol for the address of an instruction in `count`, or not; and the note. */
static void stripped_by(const char *command, const char *expected, const char *expected_note)
{
    build(command);
    uint64_t *addresses;
    size_t count = read_addresses("whole", &addresses);
    fm_attribution *attribution = sites_of(in_symbol_directory("t"), addresses, count);
    char *notes = resolve(attribution);
    assert_string_equal(notes, expected_note);
    free(notes);
    size_t found = 0;
    for (uint32_t i = 0; i < count; i++) {
        char text[256];
        assert_int_equal(attribution->sites[i].frame_count, 0);
        fm_site_text(attribution, i, text, sizeof text);
        found += strncmp(text, expected, strlen(expected)) == 0;
    }
    assert_in_range(found, 20, count);
    fm_attribution_destroy(attribution);
    free(addresses);
}

static uint64_t address_of(const char *program, const char *symbol)
{
    assert_true(shell("nm %s | grep ' [Tt] %s$' > address", program, symbol));
    FILE *file = fopen(in_symbol_directory("address"), "r");
    char line[256];
    assert_non_null(file);
    assert_true(read_line(file, line, sizeof line));
    fclose(file);
    return strtoull(line, NULL, 16);
}

CASE(stripped_programs)
{
    need("gcc");
    need("strip");
    build("gcc -O2 -g -rdynamic c.c -o whole");
    stripped_by("strip -g whole -o t", "count+0x",
                "t: no debug information: functions by symbol only; compile with -g, or install its -dbgsym "
                "package\n");
    stripped_by("strip -s whole -o t", "count+0x",
                "t: no debug information: functions by symbol only; compile with -g, or install its -dbgsym "
                "package\n");
    build("gcc -O2 -g c.c -o whole");
    build("strip -s whole -o t");
    char expected[64];
    snprintf(expected, sizeof expected, "t+0x%" PRIx64 "+0x", address_of("whole", "count"));
    stripped_by("strip -s whole -o t", expected,
                "t: no debug information and no symbols: functions by where they begin; compile with -g, or "
                "install its -dbgsym package\n");
    /* Not even rules for unwinding. */
    stripped_by("strip -s -R .eh_frame -R .eh_frame_hdr whole -o t", "0x",
                "t: no debug information and no symbols: code by address only; compile with -g, or install "
                "its -dbgsym package\n");
    /* Symbols that a distribution leaves in the file, compressed (.gnu_debugdata). */
    if (shell("command -v xz >/dev/null")) {
        build("gcc -O2 -g c.c -o whole");
        stripped_by("objcopy --only-keep-debug whole all && "
                    "objcopy -S --keep-symbol=count --keep-symbol=main all mini && xz -f mini && "
                    "objcopy -S --add-section .gnu_debugdata=mini.xz whole t",
                    "count+0x",
                    "t: no debug information: functions by symbol only; compile with -g, or install its "
                    "-dbgsym package\n");
    }
    assert_true(shell("rm -f whole all mini*"));
}

/* Assembly: a symbol without a size ends at the next symbol, with its function's rules for unwinding, or with
 * its section; one with a size ends where it says. */
CASE(symbols_without_sizes)
{
    need("gcc");
    need("nm");
    assert_true(shell("cat > a.s <<'END'\n"
                      ".text\n"
                      ".globl bare, sized, ruled, last, marks\n"
                      "bare: .skip 16, 0x90\n"
                      ".type sized, @function\n"
                      "sized: .skip 16, 0x90\n"
                      ".size sized, 8\n"
                      ".type ruled, @function\n"
                      "ruled: .cfi_startproc\n"
                      ".skip 16, 0x90\n"
                      ".cfi_endproc\n"
                      ".skip 16, 0x90\n"
                      "hidden: .cfi_startproc\n"
                      ".skip 16, 0x90\n"
                      ".cfi_endproc\n"
                      "last: .skip 16, 0x90\n"
                      "marks:\n"
                      "END"));
    build("gcc -shared -nostdlib a.s -o t && strip -N hidden t");
    const uint64_t bare = address_of("t", "bare"), sized = bare + 16, ruled = bare + 32, hidden = bare + 64,
                   last = bare + 80;
    char hidden_name[64];
    snprintf(hidden_name, sizeof hidden_name, "t+0x%" PRIx64 "+0x3", hidden);
    const struct {
        uint64_t address;
        const char *name; /* NULL: none */
    } cases[] = {
        {bare, "bare in t"},
        {bare + 15, "bare+0xf in t"},
        {sized + 7, "sized+0x7 in t"},
        {sized + 8, NULL},
        {sized + 15, NULL},
        {ruled + 15, "ruled+0xf in t"},
        {ruled + 16, NULL},
        {ruled + 31, NULL},
        {hidden + 3, hidden_name},
        {last + 15, "last+0xf in t"},
        {last + 16, NULL},
    };
    enum { CASES = sizeof cases / sizeof cases[0] };
    fm_attribution *attribution;
    assert_int_equal(fm_attribution_create(&attribution, NULL), FM_OK);
    attribution->modules = fm_attribution_allocate(attribution, 1, sizeof(fm_module));
    attribution->sites = fm_attribution_allocate(attribution, CASES, sizeof(fm_site));
    attribution->modules[0].path = in_symbol_directory("t");
    attribution->module_count = 1;
    attribution->site_count = CASES;
    for (size_t i = 0; i < CASES; i++)
        attribution->sites[i] = (fm_site){.address = cases[i].address, .path = FM_NONE};
    free(resolve(attribution));
    for (uint32_t i = 0; i < CASES; i++) {
        char text[256];
        fm_site_text(attribution, i, text, sizeof text);
        if (cases[i].name)
            assert_string_equal(text, cases[i].name);
        else if (attribution->sites[i].symbol)
            fail_msg("0x%" PRIx64 " is called %s", cases[i].address, attribution->sites[i].symbol);
    }
    fm_attribution_destroy(attribution);
    assert_true(shell("rm -f a.s"));
}

/* ---- names of source files ---- */

/* Every frame with a file has this one. Returns how many have. */
static size_t expect_files(fm_attribution *attribution, const char *expected)
{
    size_t found = 0;
    for (size_t i = 0; i < attribution->site_count; i++)
        for (size_t f = 0; f < attribution->sites[i].frame_count; f++) {
            const char *file = attribution->sites[i].frames[f].file;
            if (file) assert_string_equal(file, expected);
            found += file != NULL;
        }
    return found;
}

static fm_attribution *attribution_of(const char *command)
{
    build(command);
    uint64_t *addresses;
    size_t count = read_addresses("t", &addresses);
    fm_attribution *attribution = sites_of(in_symbol_directory("t"), addresses, count);
    free(resolve(attribution));
    free(addresses);
    return attribution;
}

CASE(source_names)
{
    need("gcc");
    char expected[4096], here[4096];
    assert_non_null(getcwd(here, sizeof here));
    assert_true(shell("mkdir -p sub/below && cp c.c sub/below/x.c && ln -sfn sub/below link"));
    /* One file, whatever it is called. */
    static const char *const commands[] = {
        "gcc -O2 -g ./sub/../c.c -o t",
        "gcc -O2 -g sub/below/.././../sub//../c.c -o t",
        "gcc -gdwarf-4 -O2 sub/../c.c -o t",
        "cd sub && gcc -O2 -g ../c.c -o ../t",
        "cd sub && gcc -O2 -gdwarf-4 ../c.c -o ../t",
    };
    snprintf(expected, sizeof expected, "%s", in_symbol_directory("c.c"));
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        fm_attribution *attribution = attribution_of(commands[i]);
        assert_in_range(expect_files(attribution, expected), 20, 100000);
        assert_int_equal(fm_attribution_record_sources(attribution, false, NULL, NULL), FM_OK);
        assert_int_equal(attribution->source_count, 1);
        fm_attribution_destroy(attribution);
    }
    /* Through a link, ".." is not what it looks like. */
    assert_true(shell("cp c.c sub/other.c && echo decoy > other.c"));
    fm_attribution *attribution = attribution_of("gcc -O2 -g link/../other.c -o t");
    snprintf(expected, sizeof expected, "%s", in_symbol_directory("link/../other.c"));
    assert_in_range(expect_files(attribution, expected), 20, 100000);
    fm_attribution_destroy(attribution);
    /* A folder of the compilation that is relative (reproducible builds): the file of that name here is
     * another. */
    static const char *const mapped[] = {
        "gcc -O2 -g -fdebug-prefix-map=$(pwd)=. c.c -o t",
        "gcc -O2 -gdwarf-4 -fdebug-prefix-map=$(pwd)=./built c.c -o t",
    };
    for (size_t i = 0; i < 2; i++) {
        attribution = attribution_of(mapped[i]);
        assert_in_range(expect_files(attribution, i ? "built/c.c" : "c.c"), 20, 100000);
        assert_int_equal(chdir(in_symbol_directory(".")), 0);
        assert_true(shell("mkdir -p built && cp c.c built/c.c"));
        assert_int_equal(fm_attribution_record_sources(attribution, true, NULL, NULL), FM_OK);
        assert_int_equal(chdir(here), 0);
        assert_int_equal(attribution->source_count, 0);
        fm_attribution_destroy(attribution);
    }
    assert_true(shell("rm -rf sub link built other.c"));
}

/* ---- files that are not what they were ---- */

CASE(changed_and_lost_files)
{
    need("gcc");
    build("gcc -O2 -g -Wl,--build-id c.c -o t");
    char id[FM_BUILD_ID_TEXT];
    assert_true(fm_symbols_build_id(in_symbol_directory("t"), id));
    assert_int_equal(strlen(id), 40);
    assert_int_equal(strspn(id, "0123456789abcdef"), 40);
    assert_true(shell("readelf -n t | grep -q 'Build ID: %s'", id));
    uint64_t *addresses;
    size_t count = read_addresses("t", &addresses);
    assert_true(shell("mkfifo pipe")); /* is not waited for */
    const struct {
        const char *path, *id, *note;
    } cases[] = {
        {in_symbol_directory("t"), id, ""},
        {in_symbol_directory("t"), "00ff",
         "t: the file has changed since the run: code by address only; profile it again\n"},
        {in_symbol_directory("t"), NULL,
         "t: which build of it ran is not known: functions and lines may be those of another\n"},
        {"t", NULL, "t: named without its folder: code by address only\n"},
        {in_symbol_directory("gone"), NULL, "gone: the file is gone: code by address only\n"},
        {in_symbol_directory("pipe"), NULL, "pipe: is no ELF file that can be read: code by address only\n"},
        {"[vdso]", NULL, "[vdso]: the kernel's code, in no file: by address only\n"},
        {"/memfd:jit (deleted)", NULL,
         "memfd:jit (deleted): not a file that can be read again: code by address only\n"},
        {in_symbol_directory("c.c"), NULL, "c.c: is no ELF file that can be read: code by address only\n"},
        {"/dev/null", NULL, "null: is no ELF file that can be read: code by address only\n"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        fm_attribution *attribution = sites_of(cases[c].path, addresses, count);
        attribution->modules[0].build_id = cases[c].id;
        attribution->sites[0].module = FM_NONE; /* code made at run time */
        char *notes = resolve(attribution);
        assert_string_equal(notes, cases[c].note);
        free(notes);
        size_t with_frames = 0;
        for (size_t i = 0; i < count; i++) with_frames += attribution->sites[i].frame_count > 0;
        assert_int_equal(attribution->sites[0].frame_count, 0);
        assert_int_equal(with_frames > 0, c == 0 || c == 2);
        fm_attribution_destroy(attribution);
    }
    free(addresses);
    assert_false(fm_symbols_build_id("/dev/null", id));
    assert_string_equal(id, "");
    fm_symbols *symbols;
    fm_error error;
    assert_int_equal(fm_symbols_open(&symbols, in_symbol_directory("gone"), &error), FM_E_IO);
    assert_int_equal(fm_symbols_open(&symbols, in_symbol_directory("c.c"), &error), FM_E_FORMAT);
}

/* Nothing that a damaged file says may crash or hang. */
CASE(damaged_files)
{
    need("gcc");
    static unsigned char whole[1 << 18], damaged[1 << 18];
    const char *const commands[] = {"gcc -O2 -g c.c -o t", "gcc -O2 -gdwarf-4 -gz -no-pie c.c -o t"};
    uint64_t random = 7;
    alarm(120);
    for (int program = 0; program < 2; program++) {
        build(commands[program]);
        FILE *file = fopen(in_symbol_directory("t"), "rb");
        assert_non_null(file);
        size_t size = fread(whole, 1, sizeof whole, file);
        fclose(file);
        assert_in_range(size, 1000, sizeof whole - 1);
        uint64_t *addresses;
        size_t count = read_addresses("t", &addresses);
        for (int round = 0; round < 150; round++) {
            memcpy(damaged, whole, size);
            size_t length = size, at = 0;
            for (int flips = 1 + round % 20; flips > 0; flips--) {
                random = random * 6364136223846793005u + 1442695040888963407u;
                /* More of it where headers and debug information are. */
                at = (size_t)(random >> 33) % (round % 4 == 0 ? 1024 : size);
                if (round % 3 == 0) at = size - 1 - at / 2;
                damaged[at] =
                    (unsigned char)(random & 256 ? damaged[at] ^ 1u << (random >> 9 & 7) : random >> 12);
            }
            if (round % 10 == 0) length = at;
            file = fopen(in_symbol_directory("damaged"), "wb");
            assert_non_null(file);
            assert_int_equal(fwrite(damaged, 1, length, file), length);
            assert_int_equal(fclose(file), 0);
            fm_attribution *attribution = sites_of(in_symbol_directory("damaged"), addresses, count);
            free(resolve(attribution));
            fm_attribution_destroy(attribution);
            fm_symbols *symbols;
            fm_error error;
            if (fm_symbols_open(&symbols, in_symbol_directory("damaged"), &error) != FM_OK) continue;
            const char *name;
            uint64_t start, bytes;
            fm_code_range *ranges;
            size_t range_count;
            for (uint64_t a = 0; a < 0x5000; a += 32)
                (void)fm_symbols_variable(symbols, a, &name, &start, &bytes);
            assert_int_equal(
                fm_symbols_function_ranges(symbols, "square", true, &ranges, &range_count, &error), FM_OK);
            free(ranges);
            fm_symbols_close(symbols);
        }
        free(addresses);
    }
    alarm(0);
}

/* ---- variables and functions, against nm ---- */

/* Address and size of a symbol. */
static void look_up(const char *symbol, uint64_t *address, uint64_t *size)
{
    assert_true(shell("nm -S t | awk '$4 == \"%s\" { print $1, $2 }' > found", symbol));
    FILE *file = fopen(in_symbol_directory("found"), "r");
    assert_non_null(file);
    int read = fscanf(file, "%" SCNx64 " %" SCNx64, address, size);
    fclose(file);
    if (read != 2) fail_msg("nm has no %s", symbol);
}

static void one_variable(const char *symbol, const char *expected)
{
    fm_symbols *symbols;
    fm_error error;
    uint64_t address, size, start, bytes;
    const char *name;
    look_up(symbol, &address, &size);
    assert_int_equal(fm_symbols_open(&symbols, in_symbol_directory("t"), &error), FM_OK);
    for (uint64_t at = address; at < address + size; at += size - 1 ? size - 1 : 1) {
        assert_true(fm_symbols_variable(symbols, at, &name, &start, &bytes));
        assert_string_equal(name, expected);
        assert_int_equal(start, address);
        assert_int_equal(bytes, size);
    }
    if (fm_symbols_variable(symbols, address + size, &name, &start, &bytes))
        assert_int_not_equal(start, address);
    fm_symbols_close(symbols);
}

CASE(variables)
{
    need("gcc");
    need("nm");
    build("gcc -O2 -g c.c -o t");
    one_variable("table", "table");
    one_variable("weights", "weights");
    one_variable("calls.0", "calls");
    if (shell("command -v g++ >/dev/null")) {
        build("g++ -O2 x.cc -o t");
        one_variable("_ZN3geo3BoxIiE4madeE", "geo::Box<int>::made");
        one_variable("_ZN12_GLOBAL__N_112hidden_tableE", "(anonymous namespace)::hidden_table");
        one_variable("_ZZN12_GLOBAL__N_16hiddenEiE4seen", "(anonymous namespace)::hidden(int)::seen");
    }
    if (shell("command -v gfortran >/dev/null")) {
        build("gfortran -O2 -no-pie f.f90 -o t");
        one_variable("__solver_MOD_grid", "solver::grid");
        one_variable("__solver_MOD_total", "solver::total");
        one_variable("shared_", "shared_");
    }
}

/* fm_symbols_resolve names variables that have none yet. */
CASE(variables_of_an_attribution)
{
    need("gcc");
    need("nm");
    build("gcc -O2 -g c.c -o t");
    uint64_t address, size;
    look_up("table", &address, &size);
    fm_attribution *attribution = sites_of(in_symbol_directory("t"), &address, 1);
    attribution->site_count = 0;
    attribution->objects = fm_attribution_allocate(attribution, 3, sizeof(fm_object));
    attribution->object_count = 3;
    attribution->objects[0] = (fm_object){.kind = FM_OBJECT_GLOBAL, .address = address};
    attribution->objects[1] = (fm_object){.kind = FM_OBJECT_GLOBAL, .address = address, .name = "mine"};
    attribution->objects[2] = (fm_object){.kind = FM_OBJECT_GLOBAL, .address = 1};
    char *notes = resolve(attribution);
    assert_string_equal(notes, "");
    free(notes);
    assert_string_equal(attribution->objects[0].name, "table");
    assert_int_equal(attribution->objects[0].size, size);
    assert_string_equal(attribution->objects[1].name, "mine");
    assert_null(attribution->objects[2].name);
    fm_attribution_destroy(attribution);
}

/* The ranges for a name are exactly those of these symbols (NULL: none). */
static void one_function(const char *name, const char *first, const char *second)
{
    fm_symbols *symbols;
    fm_error error;
    fm_code_range *ranges;
    size_t count, symbol_count = 0;
    uint64_t bytes = 0, expected = 0;
    assert_int_equal(fm_symbols_open(&symbols, in_symbol_directory("t"), &error), FM_OK);
    assert_int_equal(fm_symbols_function_ranges(symbols, name, false, &ranges, &count, &error), FM_OK);
    for (size_t i = 0; i < count; i++) {
        assert_true(ranges[i].low < ranges[i].high && !ranges[i].inlined);
        if (i > 0) assert_true(ranges[i - 1].high <= ranges[i].low);
        bytes += ranges[i].high - ranges[i].low;
    }
    const char *const names[] = {first, second};
    for (int n = 0; n < 2; n++) {
        const char *symbol = names[n];
        uint64_t address, size;
        if (!symbol) continue;
        look_up(symbol, &address, &size);
        bool inside = false;
        for (size_t i = 0; i < count; i++)
            inside = inside || (ranges[i].low <= address && address + size <= ranges[i].high);
        if (!inside) fail_msg("%s: %s is not covered", name, symbol);
        expected += size;
        symbol_count++;
    }
    if (bytes != expected)
        fail_msg("%s: %" PRIu64 " bytes of code, expected %" PRIu64, name, bytes, expected);
    assert_int_equal(count > 0, symbol_count > 0);
    free(ranges);
    fm_symbols_close(symbols);
}

CASE(functions)
{
    need("gcc");
    need("nm");
    const char *const ways[] = {"-O2 -g", "-O2", "-O2 -g -gdwarf-4 -no-pie"};
    for (size_t w = 0; w < sizeof ways / sizeof ways[0]; w++) {
        assert_true(shell("gcc %s c.c -o t", ways[w]));
        bool cold = shell("nm t | grep -q ' count.cold$'");
        one_function("count", "count", cold ? "count.cold" : NULL);
        one_function("main", "main", NULL);
        one_function("coun", NULL, NULL);
        one_function("", NULL, NULL);
        if (w == 2 || !shell("command -v g++ >/dev/null")) continue;
        assert_true(shell("g++ %s x.cc -o t", ways[w]));
        const char *const sum_int = "_ZNK3geo3BoxIiE3sumEi", *const sum_double = "_ZNK3geo3BoxIdE3sumEi";
        one_function("geo::Box<int>::sum(int) const", sum_int, NULL);
        one_function("geo::Box<int>::sum", sum_int, NULL);
        one_function("Box<int>::sum", sum_int, NULL);
        one_function("Box<int>::sum(int) const", sum_int, NULL);
        one_function("geo::Box::sum", sum_int, sum_double);
        one_function("Box::sum", sum_int, sum_double);
        one_function("sum", sum_int, sum_double);
        one_function(sum_int, sum_int, NULL);
        one_function("Square::area", "_ZN6Square4areaEi", NULL);
        one_function("operator<<", "_ZN3geolsERiRKNS_3BoxIiEE", NULL);
        one_function("int", NULL, NULL);
        one_function("const", NULL, NULL);
    }
    if (shell("command -v gfortran >/dev/null && gfortran -O2 -g f.f90 -o t")) {
        one_function("solver::step", "__solver_MOD_step", NULL);
        one_function("step", "__solver_MOD_step", NULL);
        one_function("weigh", "weigh_", NULL);
        one_function("heat", "MAIN__", NULL);
    }
}

/* Copies that were inlined elsewhere: exactly the instructions that have the function among their frames. */
CASE(inlined_functions)
{
    need("gcc");
    need("objdump");
    build("gcc -O2 -g c.c -o t");
    uint64_t *addresses;
    size_t count = read_addresses("t", &addresses), inside = 0;
    fm_attribution *attribution = sites_of(in_symbol_directory("t"), addresses, count);
    free(resolve(attribution));
    fm_symbols *symbols;
    fm_error error;
    fm_code_range *ranges;
    size_t range_count;
    assert_int_equal(fm_symbols_open(&symbols, in_symbol_directory("t"), &error), FM_OK);
    assert_int_equal(fm_symbols_function_ranges(symbols, "square", false, &ranges, &range_count, &error),
                     FM_OK);
    assert_int_equal(range_count, 0); /* it exists in no other form */
    free(ranges);
    assert_int_equal(fm_symbols_function_ranges(symbols, "square", true, &ranges, &range_count, &error),
                     FM_OK);
    for (size_t i = 0; i < count; i++) {
        const fm_site *site = &attribution->sites[i];
        bool is = false, covered = false;
        for (size_t f = 0; f < site->frame_count; f++)
            is = is || (site->frames[f].function && strcmp(site->frames[f].function, "square") == 0);
        for (size_t r = 0; r < range_count; r++) {
            assert_true(ranges[r].inlined);
            covered = covered || (ranges[r].low <= site->address && site->address < ranges[r].high);
        }
        assert_int_equal(is, covered);
        inside += is;
    }
    assert_in_range(inside, 5, count);
    free(ranges);
    fm_symbols_close(symbols);
    fm_attribution_destroy(attribution);
    free(addresses);
}

/* ---- texts ---- */

CASE(names_that_people_type)
{
    const struct {
        const char *wanted, *name;
        bool fits;
    } cases[] = {
        {"f", "f", true},
        {"f", "f(int)", true},
        {"f(int)", "f(int)", true},
        {"f(int)", "f(long)", false},
        {"f", "void ns::f<int, std::vector<int> >(int)", true},
        {"ns::f", "void ns::f<int>(int)", true},
        {"ns::f<int>", "void ns::f<int>(int)", true},
        {"s::f", "void ns::f<int>(int)", false},
        {"void", "void ns::f<int>(int)", false},
        {"int", "f(int)", false},
        {"g", "(anonymous namespace)::g(char const*)", true},
        {"(anonymous namespace)::g", "(anonymous namespace)::g(char const*)", true},
        {"operator()", "work(int)::{lambda(double, double)#1}::operator()(double, double) const", true},
        {"operator<", "bool ns::operator< <int>(ns::A const&, ns::A const&)", true},
        {"operator->", "ns::P::operator->() const", true},
        {"operator new", "operator new(unsigned long)", true},
        {"Box::operator[]", "ns::Box<int>::operator[](unsigned long)", true},
        {"h", "std::function<int (int)> ns::h(std::function<int (int)>)", true},
        {"method", "ns::outer(int)::Local::method()", true},
        {"solver::step", "solver::step", true},
        {"step", "solver::step", true},
        {"tep", "solver::step", false},
        {"", "f(int)", false},
        {"~Box", "ns::Box<int>::~Box()", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (fm_name_fits(cases[i].wanted, cases[i].name) != cases[i].fits)
            fail_msg("'%s' and '%s'", cases[i].wanted, cases[i].name);
    fm_demangler demangler = {0};
    assert_null(fm_demangle(&demangler, "main"));
    assert_null(fm_demangle(&demangler, "_Znonsense"));
    assert_null(fm_demangle(&demangler, "__libc_start_main"));
    assert_string_equal(fm_demangle(&demangler, "__a_MOD_b"), "a::b");
    assert_string_equal(fm_demangle(&demangler, "_ZN3geo3BoxIiE3addEi"), "geo::Box<int>::add(int)");
    fm_demangler_clear(&demangler);
    assert_int_equal(fm_name_stem("f.part.0.cold"), 1);
    assert_int_equal(fm_name_stem("f@@GLIBC_2.2.5"), 1);
    assert_int_equal(fm_name_stem(".f"), 2);
}

CASE(texts)
{
    char text[200], small[8];
    static const fm_frame frames[] = {{.function = "take", .file = "/usr/include/c++/12/x.h", .line = 3},
                                      {.function = "parse", .file = "/home/me/x.c", .line = 40}};
    static const fm_frame no_function[] = {{.file = "/home/me/y.s", .line = 7}};
    fm_module modules[] = {{.path = "/usr/lib/libx.so"}, {.path = "/home/me/prog"}};
    fm_site sites[] = {
        {.module = 1, .frame_count = 2, .frames = frames},
        {.module = 0, .symbol = "run", .symbol_offset = 31},
        {.module = 1, .address = 0x4011d0},
        {.module = FM_NONE, .address = 0x7f0012},
        {.module = FM_NONE, .symbol = "unknown"},
        {.module = 1, .frame_count = 1, .frames = no_function, .symbol = "fast", .symbol_offset = 4},
        {.module = 0, .symbol = "memcpy@plt"},
    };
    fm_call_path paths[] = {{FM_NONE, 0}, {0, 1}};
    fm_object objects[] = {
        {.kind = FM_OBJECT_GLOBAL, .name = "table", .module = 1},
        {.kind = FM_OBJECT_HEAP, .allocation = 0},
        {.kind = FM_OBJECT_HEAP, .allocation = 1},
        {.kind = FM_OBJECT_HEAP, .allocation = FM_NONE},
        {.kind = FM_OBJECT_STACK, .thread = 1},
        {.kind = FM_OBJECT_MODULE, .module = 0},
        {.kind = FM_OBJECT_OTHER, .module = FM_NONE},
        {.kind = FM_OBJECT_GLOBAL, .address = 16, .module = 1},
    };
    fm_attribution attribution = {.modules = modules,
                                  .module_count = 2,
                                  .sites = sites,
                                  .site_count = 7,
                                  .paths = paths,
                                  .path_count = 2,
                                  .objects = objects,
                                  .object_count = 8};
    const char *const site_texts[] = {
        "take (x.h:3)", "run+0x1f in libx.so", "0x4011d0 in prog",     "0x7f0012, made at run time",
        "unknown",      "fast (y.s:7)",        "memcpy@plt in libx.so"};
    for (uint32_t i = 0; i < 7; i++)
        assert_string_equal(fm_site_text(&attribution, i, text, sizeof text), site_texts[i]);
    assert_string_equal(fm_site_text(&attribution, FM_NONE, text, sizeof text), "unknown");
    assert_string_equal(fm_site_text(&attribution, 1, small, sizeof small), "run+0x1");
    /* A header of the library is not where the user allocates. */
    const char *const object_texts[] = {"global `table`",
                                        "heap block from parse (x.c:40)",
                                        "heap block from parse (x.c:40)",
                                        "heap block from unknown code",
                                        "stack of thread 1",
                                        "data of libx.so",
                                        "other memory",
                                        "global at 0x10 in prog"};
    for (uint32_t i = 0; i < 8; i++)
        assert_string_equal(fm_object_text(&attribution, i, text, sizeof text), object_texts[i]);
    /* Where nothing is the user's, the call itself. */
    paths[1].parent = FM_NONE;
    assert_string_equal(fm_object_text(&attribution, 2, text, sizeof text),
                        "heap block from run+0x1f in libx.so");
    /* A stripped program calls a library that has lines, and is called by one that has some. */
    fm_frame duplicate[] = {{.function = "strdup", .file = "string/strdup.c", .line = 42}};
    fm_frame start[] = {{.function = "__libc_start_call_main", .file = "csu/libc-start.c", .line = 58}};
    fm_module stripped[] = {{.path = "/usr/lib/x86_64-linux-gnu/libc.so.6"}, {.path = "/usr/bin/gawk"}};
    fm_site calls[] = {
        {.module = 0, .address = 1, .frame_count = 1, .frames = duplicate},
        {.module = 1, .address = 0x6dd60, .symbol = "gawk+0x6dd58", .symbol_offset = 8},
        {.module = 1, .address = 0x6ddf0, .symbol = "main", .symbol_offset = 16},
        {.module = 0, .address = 2, .frame_count = 1, .frames = start},
    };
    fm_call_path steps[] = {{FM_NONE, 3}, {0, 2}, {1, 1}, {2, 0}};
    fm_object block[] = {{.kind = FM_OBJECT_HEAP, .allocation = 3},
                         {.kind = FM_OBJECT_HEAP, .allocation = 0}};
    fm_attribution without_lines = {.modules = stripped,
                                    .module_count = 2,
                                    .sites = calls,
                                    .site_count = 4,
                                    .paths = steps,
                                    .path_count = 4,
                                    .objects = block,
                                    .object_count = 2};
    assert_string_equal(fm_object_text(&without_lines, 0, text, sizeof text),
                        "heap block from gawk+0x6dd58+0x8");
    assert_string_equal(fm_object_text(&without_lines, 1, text, sizeof text),
                        "heap block from __libc_start_call_main (libc-start.c:58)");
}

CASES_WITH(make_symbol_directory, remove_symbol_directory);
