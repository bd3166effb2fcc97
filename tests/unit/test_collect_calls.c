/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_collect_calls.c - call paths and the watched function, out of stack pointers (Valgrind) and out of
 * entering and leaving (compiler): calls, returns, recursion, longjmp, tail calls, signals, threads, inlined
 * copies.
 */
#define _GNU_SOURCE
#include "case.h"

#include "unit/stream_builder.h"

#include <link.h>
#include <unistd.h>

/* A function of this program, found by its name. */
__asm__(".pushsection .text\n"
        ".globl watched_code\n"
        ".type watched_code, @function\n"
        "watched_code: .skip 64, 0x90\n"
        ".size watched_code, 64\n"
        ".popsection\n");
extern const char watched_code[];

static int first_module(struct dl_phdr_info *info, size_t size, void *bias)
{
    (void)size;
    *(uint64_t *)bias = info->dlpi_addr;
    return 1;
}

typedef struct scene {
    fm_decoder *decoder;
    fm_process *process;
    gotten got;
    stream chunk;
    fm_error error;
    uint64_t next; /* address of the next access: they are numbered, so that it can be seen which came */
} scene;

static scene *scene_create(const fm_collect_filter *filter, const char *isa)
{
    scene *self = calloc(1, sizeof *self);
    assert_non_null(self);
    assert_int_equal(fm_decoder_create(&self->decoder, filter, ALL_COLUMNS, isa, &self->error), FM_OK);
    self->process = fm_process_create(1, 1000, filter->function, false, &self->error);
    assert_non_null(self->process);
    gotten_create(&self->got);
    self->next = 1;
    return self;
}

static void scene_free(scene *self)
{
    fm_decoder_destroy(self->decoder);
    fm_process_destroy(self->process);
    gotten_free(&self->got);
    free(self);
}

static void scene_play(scene *self, unsigned producer)
{
    fm_traced_thread *thread = NULL;
    if (producer == FM_PRODUCER_COMPILER)
        assert_int_equal(fm_process_thread(self->process, 1, &thread, &self->error), FM_OK);
    fm_status status =
        decode_chunk(self->decoder, producer, self->process, thread, &self->chunk, &self->got, &self->error);
    if (status != FM_OK) fail_msg("%s", self->error.reason);
    self->chunk.count = 0;
}

/* ---- Valgrind: blocks by the function they are in ---- */

/* Numbers of blocks. Each has one load; those that call end with the store of the return address. */
enum { MAIN = 1, MAIN_CALLS_F, MAIN_CALLS_G, F, F_CALLS_G, G, G_CALLS_F, HANDLER, BLOCK_COUNT };
#define CODE(block) (UINT64_C(0x400000) + (block)*0x100)

static void define(scene *self, uint32_t block, uint64_t begin, bool calls)
{
    const access_told told[2] = {{.code = begin + 4, .size = 8, .kind = FM_KIND_LOAD},
                                 {.code = begin + 8, .size = 8, .kind = FM_KIND_STORE}};
    put_definition(&self->chunk, block, 1, FM_BLOCK_HAS_SP | (calls ? FM_BLOCK_CALLS : 0), begin,
                   calls ? begin + 13 : 0, told, calls ? 2 : 1);
}

static void define_all(scene *self, uint64_t f_code)
{
    put_module(&self->chunk, 1, 0, 0x400000, 0x400000, 0x410000, "/nowhere/program");
    put_thread_start(&self->chunk, 1, 0x100000, 0x200000);
    for (uint32_t b = MAIN; b < BLOCK_COUNT; b++) {
        bool calls = b == MAIN_CALLS_F || b == MAIN_CALLS_G || b == F_CALLS_G || b == G_CALLS_F;
        uint64_t begin = CODE(b);
        if (f_code && b == F) begin = f_code;
        if (f_code && b == F_CALLS_G) begin = f_code + 32;
        define(self, b, begin, calls);
    }
}

/* A block is executed; one that calls pushes below `stack`. */
static void step(scene *self, uint32_t block, uint64_t stack)
{
    bool calls = block == MAIN_CALLS_F || block == MAIN_CALLS_G || block == F_CALLS_G || block == G_CALLS_F;
    put_block(&self->chunk, block, (uint64_t[]){stack, self->next, stack - 8}, calls ? 3 : 2);
    self->next++;
}

/* "main>f>g" for the path of a row: the blocks whose calls lead there. */
static const char *path_of(const scene *self, size_t row)
{
    static char text[256];
    static const char *const names[] = {
        [MAIN_CALLS_F] = "mf", [MAIN_CALLS_G] = "mg", [F_CALLS_G] = "fg", [G_CALLS_F] = "gf"};
    const fm_program *code = &self->process->code.program;
    uint32_t node = code->places.entries[self->got.tag[row] - 1].b;
    char reversed[16][4];
    size_t count = 0;
    for (; node; node = code->calls.nodes[node].parent) {
        uint64_t call = code->calls.places.entries[code->calls.nodes[node].call].a;
        assert_int_equal(call % 0x100, 12); /* in the call: one less than the return address */
        snprintf(reversed[count++], 4, "%s", names[call / 0x100]);
    }
    text[0] = '\0';
    for (size_t used = 0; count > 0;)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", used ? ">" : "", reversed[--count]);
    return text;
}

/* The n-th access (from 1) came by this path; "-" when it was not delivered. Calls' own stores have the
 * addresses of stacks. */
static void expect_paths(const scene *self, const char *const *paths, size_t count)
{
    for (size_t n = 1; n <= count; n++) {
        size_t row = 0;
        while (row < self->got.count && self->got.address[row] != n) row++;
        const char *found = row == self->got.count ? "-" : path_of(self, row);
        if (strcmp(found, paths[n - 1]) != 0)
            fail_msg("access %zu: '%s', expected '%s'", n, found, paths[n - 1]);
    }
}

CASE(valgrind_paths)
{
    const fm_collect_filter filter = {.loads = true, .stores = true, .tags = true, .paths = true};
    for (size_t i = 0; isa_at(i); i++) {
        scene *self = scene_create(&filter, isa_at(i));
        define_all(self, 0);
        uint64_t sp = 0x180000;
        step(self, MAIN, sp);
        step(self, MAIN_CALLS_F, sp);
        step(self, F, sp - 8);   /* 3: mf */
        step(self, F, sp - 100); /* 4: f has locals */
        step(self, F_CALLS_G, sp - 100);
        step(self, G, sp - 108);      /* 6: mf>fg */
        step(self, F, sp - 100);      /* 7: g has returned */
        step(self, MAIN, sp);         /* 8: f, too */
        step(self, MAIN_CALLS_G, sp); /* 9 */
        step(self, G, sp - 8);        /* 10: mg */
        step(self, G_CALLS_F, sp - 8);
        step(self, F_CALLS_G, sp - 16); /* 12: mg>gf */
        step(self, G_CALLS_F, sp - 24); /* 13: mg>gf>fg: from here on the calls repeat */
        step(self, F_CALLS_G, sp - 32); /* 14: mg>gf */
        step(self, G, sp - 40);         /* 15: mg>gf>fg */
        step(self, MAIN, sp);           /* 16: longjmp out of all */
        /* A side exit before the call: nothing is called, although the next block lies in g. */
        put_block(&self->chunk, MAIN_CALLS_G, (uint64_t[]){sp, self->next++}, 2); /* 17 */
        step(self, G, sp - 8);                                                    /* 18: a jump */
        scene_play(self, FM_PRODUCER_VALGRIND);
        static const char *const paths[] = {"",         "",      "mf",       "mf", "mf", "mf>fg",
                                            "mf",       "",      "",         "mg", "mg", "mg>gf",
                                            "mg>gf>fg", "mg>gf", "mg>gf>fg", "",   "",   ""};
        expect_paths(self, paths, sizeof paths / sizeof paths[0]);
        /* The same site on the same path has the same tag. */
        assert_int_equal(self->got.tag[0], self->got.tag[9]); /* accesses 1 and 8 */
        assert_int_equal(self->process->left_out, 0);
        scene_free(self);
    }
}

CASE(valgrind_signals_and_threads)
{
    const fm_collect_filter filter = {.loads = true, .stores = true, .tags = true, .paths = true};
    scene *self = scene_create(&filter, NULL);
    define_all(self, 0);
    uint64_t sp = 0x180000, other = 0x380000, alternate = 0x900000;
    put_thread_start(&self->chunk, 2, 0x300000, 0x400000);
    put(&self->chunk, FM_RECORD(FM_RECORD_THREAD, 1, 0));
    step(self, MAIN_CALLS_F, sp); /* 1 */
    step(self, F, sp - 8);        /* 2: mf */
    put(&self->chunk, FM_RECORD(FM_RECORD_SIGNAL, 10, 0));
    step(self, HANDLER, alternate);   /* 3: a handler has no caller */
    step(self, G_CALLS_F, alternate); /* 4 */
    step(self, F, alternate - 8);     /* 5: gf */
    put(&self->chunk, FM_RECORD(FM_RECORD_SIGNAL_END, 10, 0));
    step(self, F, sp - 16); /* 6: mf again */
    put(&self->chunk, FM_RECORD(FM_RECORD_THREAD, 2, 0));
    step(self, MAIN_CALLS_G, other); /* 7 */
    step(self, G, other - 8);        /* 8: mg */
    put(&self->chunk, FM_RECORD(FM_RECORD_THREAD, 1, 0));
    step(self, F_CALLS_G, sp - 16);                        /* 9: mf */
    put(&self->chunk, FM_RECORD(FM_RECORD_SIGNAL, 10, 0)); /* between the call and the function called */
    step(self, HANDLER, sp - 200);                         /* 10 */
    put(&self->chunk, FM_RECORD(FM_RECORD_SIGNAL_END, 10, 0));
    step(self, G, sp - 24); /* 11: mf>fg */
    put(&self->chunk, FM_RECORD(FM_RECORD_SIGNAL, 10, 0));
    step(self, HANDLER, alternate); /* 12 */
    step(self, F, sp - 8);          /* 13: siglongjmp into f */
    step(self, MAIN, sp);           /* 14 */
    put(&self->chunk, FM_RECORD(FM_RECORD_THREAD, 2, 0));
    step(self, G, other - 40); /* 15: mg, as it was left */
    scene_play(self, FM_PRODUCER_VALGRIND);
    static const char *const paths[] = {"",   "mf", "",      "", "gf", "mf", "",  "mg",
                                        "mf", "",   "mf>fg", "", "mf", "",   "mg"};
    expect_paths(self, paths, sizeof paths / sizeof paths[0]);
    scene_free(self);
}

/* ---- the watched function ---- */

/* Which of the numbered accesses came. */
static void expect_came(const scene *self, const char *pattern)
{
    char came[64] = "";
    for (size_t n = 1; pattern[n - 1]; n++) {
        bool found = false;
        for (size_t row = 0; row < self->got.count; row++) found |= self->got.address[row] == n;
        came[n - 1] = found ? 'x' : '.';
    }
    assert_string_equal(came, pattern);
}

static void tell_own_module(scene *self)
{
    char path[4096];
    uint64_t bias;
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    assert_true(length > 0);
    path[length] = '\0';
    dl_iterate_phdr(first_module, &bias);
    uint64_t code = (uint64_t)(uintptr_t)watched_code & ~UINT64_C(0xFFFF);
    put_module(&self->chunk, 1, FM_MODULE_PROGRAM, bias, code, code + 0x20000, path);
}

CASE(valgrind_function)
{
    const fm_collect_filter filter = {
        .loads = true, .stores = true, .tags = true, .function = "watched_code"};
    for (size_t i = 0; isa_at(i); i++) {
        scene *self = scene_create(&filter, isa_at(i));
        define_all(self, (uint64_t)(uintptr_t)watched_code);
        self->chunk.count = 0; /* once more, with the module that the function is in */
        tell_own_module(self);
        put_thread_start(&self->chunk, 1, 0x100000, 0x200000);
        for (uint32_t b = MAIN; b < BLOCK_COUNT; b++) {
            bool calls = b == MAIN_CALLS_F || b == MAIN_CALLS_G || b == F_CALLS_G || b == G_CALLS_F;
            uint64_t begin = b == F           ? (uint64_t)(uintptr_t)watched_code
                             : b == F_CALLS_G ? (uint64_t)(uintptr_t)watched_code + 32
                                              : CODE(b);
            define(self, b, begin, calls);
        }
        uint64_t sp = 0x180000;
        step(self, MAIN, sp);           /* 1 */
        step(self, MAIN_CALLS_G, sp);   /* 2 */
        step(self, G, sp - 8);          /* 3: not yet */
        step(self, MAIN_CALLS_F, sp);   /* 4 */
        step(self, F, sp - 8);          /* 5 x */
        step(self, F_CALLS_G, sp - 48); /* 6 x */
        step(self, G_CALLS_F, sp - 56); /* 7 x: a callee */
        step(self, F, sp - 64);         /* 8 x: recursion */
        step(self, G, sp - 56);         /* 9 x: back from the inner one */
        step(self, F, sp - 8);          /* 10 x: about to return */
        step(self, MAIN, sp);           /* 11 */
        step(self, MAIN_CALLS_F, sp);   /* 12 */
        step(self, F, sp - 8);          /* 13 x */
        step(self, G, sp - 8);          /* 14 x: a tail call */
        step(self, MAIN, sp);           /* 15 */
        step(self, MAIN_CALLS_F, sp);   /* 16 */
        step(self, F_CALLS_G, sp - 8);  /* 17 x */
        put(&self->chunk, FM_RECORD(FM_RECORD_SIGNAL, 10, 0));
        step(self, HANDLER, sp - 300); /* 18: a handler is not called by it */
        put(&self->chunk, FM_RECORD(FM_RECORD_SIGNAL_END, 10, 0));
        step(self, G, sp - 16);   /* 19 x */
        step(self, MAIN, sp + 8); /* 20: an exception, caught above */
        scene_play(self, FM_PRODUCER_VALGRIND);
        assert_true(self->process->code.program.function_found);
        expect_came(self, "....xxxxxx..xx..x.x.");
        assert_int_equal(self->process->left_out, self->next - 1 + 7 - self->got.count);
        scene_free(self);
    }
}

/* ---- compiler ---- */

static void enter(scene *self, uint64_t inside, uint64_t behind, uint64_t stack)
{
    put_record(&self->chunk, FM_RECORD_ENTER, 0, (uint64_t[]){inside, behind, stack}, 3);
}

static void leave(scene *self)
{
    put_record(&self->chunk, FM_RECORD_LEAVE, 0, NULL, 0);
}

static void touch(scene *self)
{
    put(&self->chunk, FM_ACCESS_WORD(self->next++, FM_ACCESS_LOAD_8, 0x105));
}

CASE(compiler_paths)
{
    const fm_collect_filter filter = {.loads = true, .stores = true, .tags = true, .paths = true};
    scene *self = scene_create(&filter, NULL);
    put_module(&self->chunk, 1, FM_MODULE_INSTRUMENTED, 0x400000, 0x400000, 0x410000, "/nowhere/program");
    put_thread_start(&self->chunk, 1, 0x100000, 0x200000);
    put(&self->chunk, FM_RECORD(FM_RECORD_PAGE, 0x400, 0));
    uint64_t sp = 0x180000;
    touch(self);                                         /* 1 */
    enter(self, CODE(F), CODE(MAIN_CALLS_F) + 13, sp);   /* f */
    touch(self);                                         /* 2: mf */
    enter(self, CODE(G), CODE(F_CALLS_G) + 13, sp - 32); /* g */
    touch(self);                                         /* 3: mf>fg */
    leave(self);
    touch(self); /* 4: mf */
    enter(self, CODE(G), CODE(F_CALLS_G) + 13, sp - 32);
    enter(self, CODE(F), CODE(G_CALLS_F) + 13, sp - 64); /* recursion */
    touch(self);                                         /* 5: mf>fg>gf */
    /* longjmp to f; the next call shows it */
    enter(self, CODE(G), CODE(F_CALLS_G) + 13, sp - 32);
    touch(self); /* 6: mf>fg */
    put(&self->chunk, FM_RECORD(FM_RECORD_SIGNAL, 10, 0));
    touch(self); /* 7 */
    enter(self, CODE(F), CODE(MAIN_CALLS_F) + 13, 0x900000);
    touch(self); /* 8: mf */
    leave(self);
    put(&self->chunk, FM_RECORD(FM_RECORD_SIGNAL_END, 10, 0));
    touch(self); /* 9: mf>fg */
    leave(self);
    leave(self);
    touch(self); /* 10 */
    leave(self); /* entered before anyone looked */
    touch(self); /* 11 */
    scene_play(self, FM_PRODUCER_COMPILER);
    static const char *const paths[] = {"", "mf", "mf>fg", "mf", "mf>fg>gf", "mf>fg",
                                        "", "mf", "mf>fg", "",   ""};
    expect_paths(self, paths, sizeof paths / sizeof paths[0]);
    scene_free(self);
}

CASE(compiler_function)
{
    const fm_collect_filter filter = {
        .loads = true, .stores = true, .tags = true, .function = "watched_code"};
    scene *self = scene_create(&filter, NULL);
    tell_own_module(self);
    uint64_t f = (uint64_t)(uintptr_t)watched_code, sp = 0x180000;
    put(&self->chunk, FM_RECORD(FM_RECORD_PAGE, 0x400, 0));
    touch(self); /* 1 */
    enter(self, f + 5, CODE(MAIN_CALLS_F) + 13, sp);
    touch(self); /* 2 x */
    enter(self, CODE(G), f + 20, sp - 16);
    touch(self); /* 3 x */
    enter(self, f + 5, CODE(G_CALLS_F) + 13, sp - 32);
    leave(self);
    touch(self); /* 4 x */
    leave(self);
    leave(self);
    touch(self); /* 5 */
    enter(self, f + 5, CODE(MAIN_CALLS_F) + 13, sp);
    touch(self);                                           /* 6 x */
    enter(self, CODE(G), CODE(MAIN_CALLS_G) + 13, sp + 8); /* f was left by longjmp */
    touch(self);                                           /* 7 */
    leave(self);
    /* An access of the function itself, inlined or not, where entering it was not told. */
    put(&self->chunk, FM_RECORD(FM_RECORD_PAGE, f >> 12, 0));
    put(&self->chunk, FM_ACCESS_WORD(self->next++, FM_ACCESS_LOAD_8, (f & 4095) + 9)); /* 8 x */
    put(&self->chunk, FM_RECORD(FM_RECORD_PAGE, 0x400, 0));
    touch(self); /* 9 */
    scene_play(self, FM_PRODUCER_COMPILER);
    expect_came(self, ".xxx.x.x.");
    assert_int_equal(self->process->left_out, 4);
    scene_free(self);
}

/* What is told of longjmp and exceptions: the next access is right already. */
CASE(compiler_unwinding)
{
    const fm_collect_filter filter[2] = {
        {.loads = true, .stores = true, .tags = true, .paths = true},
        {.loads = true, .stores = true, .tags = true, .function = "watched_code"},
    };
    for (int watched = 0; watched < 2; watched++) {
        scene *self = scene_create(&filter[watched], NULL);
        if (watched)
            tell_own_module(self);
        else
            put_module(&self->chunk, 1, FM_MODULE_INSTRUMENTED, 0x400000, 0x400000, 0x410000, "/nowhere/it");
        uint64_t sp = 0x180000, g = watched ? (uint64_t)(uintptr_t)watched_code + 5 : CODE(G);
        put_thread_start(&self->chunk, 1, 0x100000, 0x200000);
        put(&self->chunk, FM_RECORD(FM_RECORD_PAGE, 0x400, 0));
        enter(self, CODE(F), CODE(MAIN_CALLS_F) + 13, sp);
        enter(self, g, CODE(F_CALLS_G) + 13, sp - 32);
        enter(self, CODE(F), CODE(G_CALLS_F) + 13, sp - 64);
        touch(self); /* 1 */
        put_record(&self->chunk, FM_RECORD_UNWIND, 0, (uint64_t[]){sp - 32}, 1);
        touch(self);                                                             /* 2: still in g */
        put_record(&self->chunk, FM_RECORD_UNWIND, 0, (uint64_t[]){sp - 16}, 1); /* f has taken room */
        touch(self);                                                             /* 3 */
        enter(self, g, CODE(F_CALLS_G) + 13, sp - 32);
        put(&self->chunk, FM_RECORD(FM_RECORD_SIGNAL, 10, 0));
        enter(self, CODE(F), CODE(MAIN_CALLS_F) + 13, 0x900000);
        put_record(&self->chunk, FM_RECORD_UNWIND, 0, (uint64_t[]){0x900010}, 1); /* in the handler only */
        touch(self);                                                              /* 4 */
        put(&self->chunk, FM_RECORD(FM_RECORD_SIGNAL_END, 10, 0));
        touch(self); /* 5 */
        put_record(&self->chunk, FM_RECORD_UNWIND, 0, (uint64_t[]){sp}, 1);
        touch(self); /* 6 */
        leave(self);
        touch(self); /* 7 */
        scene_play(self, FM_PRODUCER_COMPILER);
        static const char *const paths[] = {"mf>fg>gf", "mf>fg", "mf", "", "mf>fg", "mf", ""};
        if (watched)
            expect_came(self, "xx..x..");
        else
            expect_paths(self, paths, sizeof paths / sizeof paths[0]);
        scene_free(self);
    }
}

/* Whatever the calls: the tree stays small, and so do the frames. */
CASE(deep_recursion)
{
    const fm_collect_filter filter = {.loads = true, .stores = true, .tags = true, .paths = true};
    scene *self = scene_create(&filter, NULL);
    put(&self->chunk, FM_RECORD(FM_RECORD_PAGE, 0x400, 0));
    uint64_t seed = 5;
    for (int round = 0; round < 20; round++) {
        for (uint64_t i = 0; i < 4000; i++)
            enter(self, 0x400100, 0x400200 + random_from(&seed) % 2 * 16,
                  0x70000000 - (uint64_t)(round * 4000) * 16 - i * 16);
        touch(self);
        scene_play(self, FM_PRODUCER_COMPILER);
    }
    assert_int_equal(self->got.count, 20);
    assert_in_range(self->process->code.program.calls.count, 2, 1 + 4); /* a, b, a>b, b>a */
    scene_free(self);
}
