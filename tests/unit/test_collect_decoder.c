/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_collect_decoder.c - chunks to batches: every instruction set against expectations that are built
 * beside the chunks, for both producers; and words that mean nothing.
 */
#define _GNU_SOURCE
#include "case.h"

#include "unit/stream_builder.h"

#include <link.h>
#include <unistd.h>

typedef struct bench {
    fm_decoder *decoder;
    fm_process *process;
    gotten got;
    stream chunk;
    fm_error error;
} bench;

static bench *bench_with(const fm_collect_filter *filter, const char *isa, unsigned columns)
{
    bench *self = calloc(1, sizeof *self);
    assert_non_null(self);
    assert_int_equal(fm_decoder_create(&self->decoder, filter, columns, isa, &self->error), FM_OK);
    self->process = fm_process_create(1, 1000, filter->function, true, &self->error);
    assert_non_null(self->process);
    gotten_create(&self->got);
    return self;
}

static bench *bench_create(const fm_collect_filter *filter, const char *isa)
{
    return bench_with(filter, isa, ALL_COLUMNS);
}

static void bench_free(bench *self)
{
    fm_decoder_destroy(self->decoder);
    fm_process_destroy(self->process);
    gotten_free(&self->got);
    free(self);
}

static fm_status bench_valgrind(bench *self)
{
    fm_status status = decode_chunk(self->decoder, FM_PRODUCER_VALGRIND, self->process, NULL, &self->chunk,
                                    &self->got, &self->error);
    self->chunk.count = 0;
    return status;
}

static fm_status bench_compiler(bench *self, uint32_t number)
{
    fm_traced_thread *thread;
    assert_int_equal(fm_process_thread(self->process, number, &thread, &self->error), FM_OK);
    fm_status status = decode_chunk(self->decoder, FM_PRODUCER_COMPILER, self->process, thread, &self->chunk,
                                    &self->got, &self->error);
    self->chunk.count = 0;
    return status;
}

static const fm_collect_filter everything = {.loads = true, .stores = true, .tags = true};

/* Kernels have loops of their own for the first ones. */
static const unsigned column_sets[] = {FM_COLUMN_SIZE | FM_COLUMN_TAG, FM_COLUMN_SIZE, ALL_COLUMNS, 0,
                                       FM_COLUMN_SIZE | FM_COLUMN_KIND | FM_COLUMN_THREAD | FM_COLUMN_SITE};

/* ---- Valgrind ---- */

enum { BLOCKS = 40, STACK_LOW = 0x10000, STACK_HIGH = 0x20000 };

/* A thread with its thread-local storage above its stack, in what was told as stack. */
static void put_stack(stream *chunk, uint32_t thread)
{
    put_thread_start(chunk, thread, STACK_LOW, STACK_HIGH + 0x2000);
    put_record(chunk, FM_RECORD_THREAD_LOCAL, 0, (uint64_t[]){thread, 1, STACK_HIGH + 64, 4096}, 4);
    put_record(chunk, FM_RECORD_THREAD_LOCAL, 0, (uint64_t[]){thread, 1, STACK_HIGH, 64}, 4);
    put_record(chunk, FM_RECORD_THREAD_LOCAL, 0, (uint64_t[]){thread, 1, 0x30000, 64}, 4);
}

/* A random block of so many accesses; in every other one, some share words. Returns how many words it has. */
static size_t make_accesses(uint32_t block, access_told *accesses, size_t count, uint64_t *seed)
{
    size_t words = 0, in_eight = 0;
    for (size_t i = 0; i < count; i++) {
        if (i % FM_BLOCK_EIGHT == 0) in_eight = 0;
        accesses[i] = (access_told){.code = 0x400000 + block * 0x100 + i * 4,
                                    /* some blocks have larger ones than kernels like */
                                    .size = (unsigned)(1 + random_from(seed) % (block % 5 ? 255 : 512)),
                                    .kind = (unsigned)(random_from(seed) % 2),
                                    .shared = block % 2 && in_eight > 0 && random_from(seed) % 2};
        if (accesses[i].shared) {
            accesses[i].word = (unsigned)(random_from(seed) % in_eight);
            accesses[i].delta = (int)(random_from(seed) % 0xFFFF) - 0x7FFF;
        } else {
            in_eight++;
            words++;
        }
    }
    return words;
}

/* The addresses of a block's accesses that so many words tell of; returns how many these are. Words that
 * nobody shares are 0 where guards are wanted: now and then. */
static size_t make_addresses(const access_told *accesses, size_t count, size_t told, bool guards,
                             uint64_t *words, uint64_t *addresses, uint64_t *seed)
{
    size_t at = 0, eight = 0, i = 0;
    bool is_shared[64] = {false};
    for (size_t k = 0, word = 0, first = 0; k < count; k++) {
        if (k % FM_BLOCK_EIGHT == 0) first = word;
        if (accesses[k].shared)
            is_shared[first + accesses[k].word] = true;
        else
            word++;
    }
    for (; i < count; i++) {
        if (i % FM_BLOCK_EIGHT == 0) eight = at;
        if (accesses[i].shared) {
            addresses[i] = words[eight + accesses[i].word] + (uint64_t)(int64_t)accesses[i].delta;
            continue;
        }
        if (at == told) break;
        words[at] = random_from(seed) % 0x40000 + 0x8000;
        if (guards && !is_shared[at] && random_from(seed) % 16 == 0) words[at] = 0;
        addresses[i] = words[at++];
    }
    return i;
}

/* Random blocks of 0 to 39 accesses, left early, with guards, across batches; the expectation is made beside.
 */
static void random_blocks(const char *isa, unsigned columns, bool no_stack, bool loads, bool stores)
{
    fm_collect_filter filter = everything;
    filter.no_stack = no_stack;
    filter.loads = loads;
    filter.stores = stores;
    filter.tags = columns & FM_COLUMN_TAG;
    bench *self = bench_with(&filter, isa, columns);
    gotten expected;
    gotten_create(&expected);
    static access_told accesses[BLOCKS][64];
    size_t counts[BLOCKS], told[BLOCKS];
    uint64_t seed = 7, left_out = 0;
    put_module(&self->chunk, 1, 0, 0x400000, 0x400000, 0x500000, "/nowhere/program");
    put_stack(&self->chunk, 1);
    put(&self->chunk, FM_RECORD(FM_RECORD_THREAD, 1, 0));
    for (uint32_t b = 0; b < BLOCKS; b++) {
        counts[b] = b;
        told[b] = make_accesses(b, accesses[b], counts[b], &seed);
        put_definition(&self->chunk, b, 1, 0, 0x400000 + b * 0x100, 0, accesses[b], counts[b]);
    }
    for (int round = 0; round < 6; round++) {
        while (self->chunk.count + 64 < FM_CHUNK_WORDS) {
            uint32_t b = (uint32_t)(random_from(&seed) % (round < 3 ? 6 : BLOCKS));
            size_t word_count = told[b];
            if (random_from(&seed) % 8 == 0) word_count = random_from(&seed) % (word_count + 1); /* an exit */
            uint64_t words[64], addresses[64];
            size_t count =
                make_addresses(accesses[b], counts[b], word_count, round % 3 == 1, words, addresses, &seed);
            for (size_t i = 0; i < count; i++) {
                const access_told *access = &accesses[b][i];
                bool wanted = access->kind == FM_KIND_LOAD ? loads : stores;
                if (addresses[i] == 0 || !wanted) continue;
                if (no_stack && addresses[i] >= STACK_LOW && addresses[i] < STACK_HIGH) {
                    left_out++;
                    continue;
                }
                size_t row = expected.count++;
                expected.address[row] = addresses[i];
                expected.size[row] = access->size;
                expected.kind[row] = (uint8_t)access->kind;
                expected.site[row] = access->code;
            }
            put_block(&self->chunk, b, words, word_count);
        }
        assert_int_equal(bench_valgrind(self), FM_OK);
    }
    gotten *got = &self->got;
    assert_int_equal(got->count, expected.count);
    assert_true(expected.count > 30000 && got->batches > 3);
    assert_memory_equal(got->address, expected.address, expected.count * 8);
    if (columns & FM_COLUMN_SIZE) assert_memory_equal(got->size, expected.size, expected.count * 4);
    if (columns & FM_COLUMN_KIND) assert_memory_equal(got->kind, expected.kind, expected.count);
    if (columns & FM_COLUMN_SITE) assert_memory_equal(got->site, expected.site, expected.count * 8);
    assert_int_equal(self->process->left_out, left_out);
    const fm_program *code = &self->process->code.program;
    for (size_t i = 0; i < got->count; i++) {
        if (columns & FM_COLUMN_THREAD) assert_int_equal(got->thread[i], 1);
        if (!(columns & FM_COLUMN_TAG)) continue;
        assert_in_range(got->tag[i], 1, code->sites.count);
        /* A tag is the site: its address in the file. */
        assert_int_equal(code->sites.entries[got->tag[i] - 1].a, expected.site[i] - 0x400000);
    }
    gotten_free(&expected);
    bench_free(self);
}

CASE(valgrind_blocks)
{
    for (size_t i = 0; isa_at(i); i++) {
        for (size_t c = 0; c < sizeof column_sets / sizeof column_sets[0]; c++) {
            random_blocks(isa_at(i), column_sets[c], false, true, true);
            random_blocks(isa_at(i), column_sets[c], true, true, true);
        }
        random_blocks(isa_at(i), ALL_COLUMNS, false, true, false);
        random_blocks(isa_at(i), ALL_COLUMNS, true, false, true);
    }
}

/* References of different threads are never in one batch. */
CASE(valgrind_threads)
{
    bench *self = bench_create(&everything, NULL);
    const access_told one = {.code = 0x1000, .size = 8, .kind = FM_KIND_LOAD};
    put_definition(&self->chunk, 1, 0, 0, 0x1000, 0, &one, 1);
    for (uint32_t thread = 1; thread <= 3; thread++) {
        put_thread_start(&self->chunk, thread, 0, 0);
        put(&self->chunk, FM_RECORD(FM_RECORD_THREAD, thread, 0));
        for (uint64_t i = 0; i < thread * 10; i++) put_block(&self->chunk, 1, (uint64_t[]){i + 1}, 1);
        put(&self->chunk, FM_RECORD(FM_RECORD_THREAD, thread, 0)); /* the same again: nothing changes */
        put_block(&self->chunk, 1, (uint64_t[]){7}, 1);
    }
    put(&self->chunk, FM_RECORD(FM_RECORD_THREAD_END, 2, 0));
    assert_int_equal(bench_valgrind(self), FM_OK);
    assert_int_equal(self->got.batches, 3);
    assert_int_equal(self->got.count, 11 + 21 + 31);
    for (size_t i = 0; i < self->got.count; i++)
        assert_int_equal(self->got.thread[i], i < 11 ? 1 : i < 32 ? 2 : 3);
    assert_int_equal(self->process->threads.seen, 3);
    bench_free(self);
}

/* A program that starts threads as long as it runs: what is known of those that are over is given back. */
CASE(threads_that_come_and_go)
{
    enum { FIRST = (1 << 20) - 50000, MANY = FIRST + 100000, AT_ONCE = 3 };
    bench *self = bench_create(&everything, NULL);
    const fm_thread_table *threads = &self->process->threads;
    enum { FIRST_OF_ALL = 1 }; /* it is there before anything is told, and never over */
    for (uint32_t thread = FIRST; thread <= MANY; thread++) {
        put_thread_start(&self->chunk, thread, 0, 0);
        put(&self->chunk, FM_RECORD(FM_RECORD_THREAD, thread, 0));
        if (thread >= FIRST + AT_ONCE)
            put(&self->chunk, FM_RECORD(FM_RECORD_THREAD_END, thread - AT_ONCE, 0));
        if (thread % 2 == 0) put(&self->chunk, FM_RECORD(FM_RECORD_THREAD_END, thread + 1, 0)); /* nobody */
        if (thread % 1000 != 0 && thread != MANY) continue;
        assert_int_equal(bench_valgrind(self), FM_OK);
        assert_int_equal(threads->live, FIRST_OF_ALL + AT_ONCE);
        assert_int_equal(threads->seen, FIRST_OF_ALL + thread - FIRST + 1);
    }
    size_t pages = 0;
    for (size_t i = 0; i < threads->page_count; i++) pages += threads->pages[i].slots != NULL;
    assert_in_range(pages, 2, 3);
    /* One that runs is over when another does; ends may be told twice. */
    for (int i = 0; i < 2; i++) put(&self->chunk, FM_RECORD(FM_RECORD_THREAD_END, MANY, 0));
    assert_int_equal(bench_valgrind(self), FM_OK);
    assert_int_equal(threads->live, FIRST_OF_ALL + AT_ONCE);
    put(&self->chunk, FM_RECORD(FM_RECORD_THREAD, MANY - 1, 0));
    assert_int_equal(bench_valgrind(self), FM_OK);
    assert_int_equal(threads->live, FIRST_OF_ALL + AT_ONCE - 1);
    bench_free(self);
}

/* The same code has the same tag: translated again, and loaded again at another place. */
CASE(tags_are_stable)
{
    bench *self = bench_create(&everything, NULL);
    const access_told first = {.code = 0x401010, .size = 4, .kind = FM_KIND_LOAD},
                      moved = {.code = 0x701010, .size = 4, .kind = FM_KIND_LOAD};
    const access_told other = {.code = 0x701010, .size = 4, .kind = FM_KIND_LOAD};
    put_module(&self->chunk, 1, FM_MODULE_PROGRAM, 0x400000, 0x400000, 0x410000, "/nowhere/a.so");
    put_definition(&self->chunk, 1, 1, 0, 0x401010, 0, &first, 1);
    put_block(&self->chunk, 1, (uint64_t[]){100}, 1);
    put_definition(&self->chunk, 2, 1, 0, 0x401010, 0, &first, 1);
    put_block(&self->chunk, 2, (uint64_t[]){101}, 1);
    put_module(&self->chunk, 2, 0, 0x700000, 0x700000, 0x710000, "/nowhere/a.so");
    put_definition(&self->chunk, 3, 2, 0, 0x701010, 0, &moved, 1);
    put_block(&self->chunk, 3, (uint64_t[]){102}, 1);
    put_module(&self->chunk, 3, 0, 0x700000, 0x700000, 0x710000, "/nowhere/b.so");
    put_definition(&self->chunk, 4, 3, 0, 0x701010, 0, &other, 1);
    put_block(&self->chunk, 4, (uint64_t[]){103}, 1);
    put_definition(&self->chunk, 5, 0, 0, 0x701010, 0, &other, 1); /* made at run time */
    put_block(&self->chunk, 5, (uint64_t[]){104}, 1);
    put_definition(&self->chunk, 1, 3, 0, 0x701010, 0, &other, 1); /* a number used again */
    put_block(&self->chunk, 1, (uint64_t[]){105}, 1);
    assert_int_equal(bench_valgrind(self), FM_OK);
    static const uint32_t tags[] = {1, 1, 1, 2, 3, 2};
    assert_int_equal(self->got.count, 6);
    assert_memory_equal(self->got.tag, tags, sizeof tags);
    assert_int_equal(self->process->code.program.file_count, 2);
    bench_free(self);
}

/* Regions by name, nested in others and in themselves; what is outside is counted. */
CASE(regions)
{
    fm_collect_filter filter = everything;
    filter.region = "inner loop";
    bench *self = bench_create(&filter, NULL);
    stream *chunk = &self->chunk;
    const access_told one = {.code = 0x1000, .size = 8, .kind = FM_KIND_STORE};
    put_definition(chunk, 1, 0, 0, 0x1000, 0, &one, 1);
    uint64_t next = 1;
    static const char *const steps[] = {"other", "inner loop", "deeper", "inner loop", NULL,
                                        NULL,    NULL,         NULL,     NULL};
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        if (steps[i])
            put_text_record(chunk, FM_RECORD_REGION_BEGIN, 0, NULL, 0, steps[i]);
        else
            put_record(chunk, FM_RECORD_REGION_END, 0, NULL, 0); /* the last one ends nothing */
        for (int k = 0; k < 5; k++) put_block(chunk, 1, (uint64_t[]){next++}, 1);
    }
    assert_int_equal(bench_valgrind(self), FM_OK);
    assert_int_equal(self->got.count, 5 * 5); /* steps 1 to 5 */
    assert_int_equal(self->got.address[0], 6);
    assert_int_equal(self->got.address[24], 30);
    assert_int_equal(self->process->left_out, 20);
    bench_free(self);
}

/* ---- the compiler's runtime ---- */

static void random_accesses(const char *isa, unsigned columns, bool no_stack)
{
    fm_collect_filter filter = everything;
    filter.no_stack = no_stack;
    filter.tags = columns & FM_COLUMN_TAG;
    bench *self = bench_with(&filter, isa, columns);
    stream *chunk = &self->chunk;
    gotten expected;
    gotten_create(&expected);
    uint64_t seed = 11, left_out = 0, page = 0x400;
    static const unsigned sizes[] = {0, 1, 2, 4, 8, 16, 32, 0, 1, 2, 4, 8, 16, 32, 0};
    put_module(chunk, 1, FM_MODULE_INSTRUMENTED, 0x400000, 0x400000, 0x440000, "/nowhere/program");
    put_stack(chunk, 2);
    put(chunk, FM_RECORD(FM_RECORD_PAGE, page, 0));
    for (int round = 0; round < 5; round++) {
        while (chunk->count + 8 < FM_CHUNK_WORDS) {
            uint64_t dice = random_from(&seed) % 64;
            if (dice < 3) {
                page = 0x400 + random_from(&seed) % 64;
                put(chunk, FM_RECORD(FM_RECORD_PAGE, page, 0));
                continue;
            }
            unsigned code = (unsigned)(1 + random_from(&seed) % FM_ACCESS_STORE_RANGE);
            if (sizes[code] == 0 && dice > 6) code = FM_ACCESS_LOAD_8;
            uint64_t address = random_from(&seed) % 0x40000, size = sizes[code];
            uint64_t place = random_from(&seed) % 64 * 37 % 4096;
            put(chunk, FM_ACCESS_WORD(address, code, place));
            if (size == 0) {
                size = random_from(&seed) % (FM_RANGE_MOST + 1);
                put(chunk, size);
                if (size == 0) continue;
            }
            if (no_stack && address >= STACK_LOW && address < STACK_HIGH) {
                left_out++;
                continue;
            }
            size_t row = expected.count++;
            expected.address[row] = address;
            expected.size[row] = (uint32_t)size;
            expected.kind[row] = code <= FM_ACCESS_LOAD_RANGE ? FM_KIND_LOAD : FM_KIND_STORE;
            expected.site[row] = page * 4096 + place - 1;
        }
        assert_int_equal(bench_compiler(self, 2), FM_OK);
    }
    gotten *got = &self->got;
    assert_int_equal(got->count, expected.count);
    assert_true(expected.count > 40000 && got->batches > 3);
    assert_memory_equal(got->address, expected.address, expected.count * 8);
    if (columns & FM_COLUMN_SIZE) assert_memory_equal(got->size, expected.size, expected.count * 4);
    if (columns & FM_COLUMN_KIND) assert_memory_equal(got->kind, expected.kind, expected.count);
    if (columns & FM_COLUMN_SITE) assert_memory_equal(got->site, expected.site, expected.count * 8);
    assert_int_equal(self->process->left_out, left_out);
    const fm_program *code = &self->process->code.program;
    for (size_t i = 0; i < got->count; i++) {
        if (columns & FM_COLUMN_THREAD) assert_int_equal(got->thread[i], 2);
        if (!(columns & FM_COLUMN_TAG)) continue;
        assert_in_range(got->tag[i], 1, code->sites.count);
        if (expected.site[i] >= 0x400000) /* the byte before the module is in none */
            assert_int_equal(code->sites.entries[got->tag[i] - 1].a, expected.site[i] - 0x400000);
    }
    gotten_free(&expected);
    bench_free(self);
}

CASE(compiler_accesses)
{
    for (size_t i = 0; isa_at(i); i++) {
        for (size_t c = 0; c < sizeof column_sets / sizeof column_sets[0]; c++) {
            random_accesses(isa_at(i), column_sets[c], false);
            random_accesses(isa_at(i), column_sets[c], true);
        }
    }
}

/* Ranges that touch many blocks fill a batch by their bytes: what is delivered at a time has a bound. */
CASE(long_ranges)
{
    enum { RANGES = 2000, FULL = (4 << 20) / FM_RANGE_MOST };
    bench *self = bench_create(&everything, NULL);
    for (uint64_t i = 0; i < RANGES; i++) {
        put(&self->chunk, FM_ACCESS_WORD(i * FM_RANGE_MOST, FM_ACCESS_STORE_RANGE, 0));
        put(&self->chunk, FM_RANGE_MOST);
    }
    assert_int_equal(bench_compiler(self, 1), FM_OK);
    assert_int_equal(self->got.count, RANGES);
    assert_int_equal(self->got.batches, (RANGES + FULL - 1) / FULL);
    for (uint64_t i = 0; i < RANGES; i++) {
        assert_int_equal(self->got.address[i], i * FM_RANGE_MOST);
        assert_int_equal(self->got.size[i], FM_RANGE_MOST);
    }
    bench_free(self);
}

/* A library that takes another's place in memory: the same code address is another site. And a page that was
 * told before its module finds it afterwards. */
CASE(compiler_modules_change)
{
    bench *self = bench_create(&everything, NULL);
    stream *chunk = &self->chunk;
    put(chunk, FM_RECORD(FM_RECORD_PAGE, 0x700, 0));
    put(chunk, FM_ACCESS_WORD(0x1000, FM_ACCESS_LOAD_4, 0x11)); /* in no module yet */
    put_module(chunk, 1, 1, 0x700000, 0x700000, 0x701000, "/nowhere/a.so");
    put(chunk, FM_ACCESS_WORD(0x1000, FM_ACCESS_LOAD_4, 0x11));
    put_module(chunk, 2, 1, 0x6FF000, 0x6FF000, 0x701000, "/nowhere/b.so");
    put(chunk, FM_ACCESS_WORD(0x1000, FM_ACCESS_LOAD_4, 0x11));
    put_module(chunk, 3, 1, 0x700000, 0x700000, 0x701000, "/nowhere/a.so");
    put(chunk, FM_RECORD(FM_RECORD_PAGE, 0x700, 0));
    put(chunk, FM_ACCESS_WORD(0x1000, FM_ACCESS_LOAD_4, 0x11));
    assert_int_equal(bench_compiler(self, 1), FM_OK);
    static const uint32_t tags[] = {1, 2, 3, 2};
    assert_int_equal(self->got.count, 4);
    assert_memory_equal(self->got.tag, tags, sizeof tags);
    const fm_intern_entry *sites = self->process->code.program.sites.entries;
    assert_int_equal(sites[0].a, 0x700010);
    assert_int_equal(sites[0].b, 0);
    assert_int_equal(sites[1].a, 0x10);
    assert_int_equal(sites[2].a, 0x1010);
    bench_free(self);
}

/* ---- heap ---- */

CASE(heap_contexts)
{
    bench *self = bench_create(&everything, NULL);
    stream *chunk = &self->chunk;
    put_module(chunk, 1, 0, 0x400000, 0x400000, 0x410000, "/nowhere/program");
    put_record(chunk, FM_RECORD_CONTEXT, 0, (uint64_t[]){5, 0x400105, 0x400205}, 3);
    put_record(chunk, FM_RECORD_CONTEXT, 0, (uint64_t[]){9, 0x400305, 0x400205}, 3);
    put_record(chunk, FM_RECORD_CONTEXT, 0, (uint64_t[]){5, 0x400105, 0x400205}, 3); /* another thread's */
    put_record(chunk, FM_RECORD_HEAP_ALLOC, 0, (uint64_t[]){0x5000, 64, 5}, 3);
    put_record(chunk, FM_RECORD_HEAP_FREE, 0, (uint64_t[]){0x5000}, 1);
    put_record(chunk, FM_RECORD_HEAP_ALLOC, 0, (uint64_t[]){0x5000, 64, 1234567}, 3); /* of no context */
    assert_int_equal(bench_valgrind(self), FM_OK);
    const fm_code *code = &self->process->code;
    const fm_call_tree *heap = &code->program.heap;
    assert_int_equal(heap->count, 4); /* the root, the caller that both share, two calls of malloc */
    const fm_call_node *five = &heap->nodes[code->contexts[5]], *nine = &heap->nodes[code->contexts[9]];
    assert_int_equal(five->parent, nine->parent);
    assert_int_equal(heap->places.entries[five->call].a, 0x104);
    assert_int_equal(heap->places.entries[nine->call].a, 0x304);
    assert_int_equal(heap->places.entries[heap->nodes[five->parent].call].a, 0x204);
    bench_free(self);
}

/* ---- damage ---- */

CASE(damage_is_told)
{
    static const struct {
        unsigned producer;
        uint64_t words[8];
        size_t count;
        const char *why;
    } table[] = {
        {FM_PRODUCER_VALGRIND, {5}, 1, "expected a record"},
        {FM_PRODUCER_VALGRIND, {FM_RECORD(FM_RECORD_BLOCK, 3, 0)}, 1, "never defined"},
        {FM_PRODUCER_VALGRIND, {FM_RECORD(FM_RECORD_BLOCK, 0xFFFFFFFFFF, 0)}, 1, "kind 1"},
        {FM_PRODUCER_VALGRIND, {FM_RECORD(FM_RECORD_MODULE, 0, 5000)}, 1, "cut short"},
        {FM_PRODUCER_VALGRIND, {FM_RECORD(FM_RECORD_MODULE, 0, 2), 1, 1}, 3, "only 2 words"},
        {FM_PRODUCER_VALGRIND,
         {FM_RECORD(FM_RECORD_DEFINE, 0, 4), 1 | UINT64_C(5) << 32, 0, 0, 0},
         5,
         "cut short"},
        {FM_PRODUCER_VALGRIND,
         {FM_RECORD(FM_RECORD_DEFINE, 0, 4), 0xFFFFFFFF, 0, 0, 0},
         5,
         "number 4294967295"},
        /* The first access has nothing to share; the second one does not say what; or what is not there. */
        {FM_PRODUCER_VALGRIND,
         {FM_RECORD(FM_RECORD_DEFINE, 0, 6), 1 | UINT64_C(1) << 32, 0, 0, 0, FM_DEFINE_SHARED | 1, 0},
         7,
         "share"},
        {FM_PRODUCER_VALGRIND,
         {FM_RECORD(FM_RECORD_DEFINE, 0, 6), 1 | UINT64_C(2) << 32, 0, 0, 0, 1, FM_DEFINE_SHARED | 1},
         7,
         "share"},
        {FM_PRODUCER_VALGRIND,
         {FM_RECORD(FM_RECORD_DEFINE, 0, 7), 1 | UINT64_C(2) << 32, 0, 0, 0, 1, FM_DEFINE_SHARED | 1,
          1 << 16},
         8,
         "share"},
        {FM_PRODUCER_VALGRIND, {FM_RECORD(FM_RECORD_THREAD, 0, 0)}, 1, "number 0"},
        {FM_PRODUCER_VALGRIND, {FM_RECORD(FM_RECORD_THREAD, 0xFFFFFFFF, 0)}, 1, "number 4294967295"},
        {FM_PRODUCER_VALGRIND, {FM_RECORD(99, 0, 0)}, 1, "kind 99"},
        {FM_PRODUCER_VALGRIND, {FM_RECORD(0, 0, 0)}, 1, "kind 0"},
        {FM_PRODUCER_VALGRIND, {FM_RECORD(FM_RECORD_CONTEXT, 0, 1), UINT64_C(1) << 60}, 2, "context"},
        {FM_PRODUCER_VALGRIND, {FM_RECORD(FM_RECORD_SIGNAL_END, 1, 0), 7}, 2, "expected a record"},
        {FM_PRODUCER_COMPILER, {0}, 1, "no access"},
        {FM_PRODUCER_COMPILER, {FM_ACCESS_WORD(1, FM_ACCESS_LOAD_RANGE, 0)}, 1, "before its length"},
        {FM_PRODUCER_COMPILER,
         {FM_ACCESS_WORD(1, FM_ACCESS_LOAD_RANGE, 0), FM_RANGE_MOST + 1},
         2,
         "65537 bytes"},
        {FM_PRODUCER_COMPILER, {FM_RECORD(FM_RECORD_BLOCK, 1, 0)}, 1, "kind 1"},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        bench *self = bench_create(&everything, NULL);
        for (size_t k = 0; k < table[i].count; k++) put(&self->chunk, table[i].words[k]);
        fm_status status =
            table[i].producer == FM_PRODUCER_VALGRIND ? bench_valgrind(self) : bench_compiler(self, 1);
        assert_int_equal(status, FM_E_CORRUPT);
        if (!strstr(self->error.reason, table[i].why)) fail_msg("%zu: %s", i, self->error.reason);
        bench_free(self);
    }
    /* A block with more accesses than it was defined with. */
    bench *self = bench_create(&everything, NULL);
    const access_told one = {.code = 0x1000, .size = 8, .kind = FM_KIND_LOAD};
    put_definition(&self->chunk, 1, 0, 0, 0x1000, 0, &one, 1);
    put_block(&self->chunk, 1, (uint64_t[]){10}, 1);
    put_block(&self->chunk, 1, (uint64_t[]){10, 11}, 2);
    assert_int_equal(bench_valgrind(self), FM_E_CORRUPT);
    assert_int_equal(self->got.count, 1);
    /* The next chunk is sound again. */
    put_block(&self->chunk, 1, (uint64_t[]){12}, 1);
    assert_int_equal(bench_valgrind(self), FM_OK);
    assert_int_equal(self->got.count, 2);
    bench_free(self);
}

/* Words without sense, some of them records by their look: whatever comes out, nothing breaks. */
CASE(garbage)
{
    uint64_t seed = 3;
    for (int round = 0; round < 600; round++) {
        fm_collect_filter filter = {.loads = round & 1, .stores = true, .no_stack = round & 2, .tags = true};
        filter.paths = round & 4;
        filter.function = round & 8 ? "main" : NULL;
        filter.region = (round & 48) == 48 ? "r" : NULL;
        bench *self = bench_create(&filter, isa_at((size_t)round % 3));
        const access_told told[3] = {{.code = 0x1000, .size = 8, .kind = 0},
                                     {.code = 0x1004, .size = 8, .kind = 1},
                                     {.code = 0x1008, .size = 8, .kind = 2}};
        put_thread_start(&self->chunk, 1, 0x1000, 0x9000);
        put_definition(&self->chunk, 1, 0, round & 4 ? FM_BLOCK_HAS_SP | FM_BLOCK_CALLS : 0, 0x1000, 0x2000,
                       told, 3);
        size_t size = 200 + random_from(&seed) % 3000;
        while (self->chunk.count < size) {
            uint64_t word = random_from(&seed);
            switch (random_from(&seed) % 6) {
            case 0:
                word = FM_RECORD(word % 24, word >> 40, random_from(&seed) % 12);
                break;
            case 1:
                word = FM_RECORD(FM_RECORD_BLOCK, word % 3, 0);
                break;
            case 2:
                word %= 0x10000;
                break;
            case 3:
                word = FM_ACCESS_WORD(word % 0x10000, word >> 60, word >> 20);
                break;
            case 4:
                word = random_from(&seed) % 4;
                break;
            default:
                break;
            }
            put(&self->chunk, word);
        }
        fm_status status = round % 2 ? bench_valgrind(self) : bench_compiler(self, 1);
        assert_true(status == FM_OK || status == FM_E_CORRUPT);
        bench_free(self);
    }
}
