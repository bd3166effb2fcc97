/* SPDX-License-Identifier: Apache-2.0 */
/* Whose data samples use, and the calls that led to code: what is told of the heap, stacks, groups of tags.
 */
#define _GNU_SOURCE

#include "case.h"

#include "sample/sampled_program.h"

#include <fathom/experimental/observations.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the heap ---- */

typedef struct world {
    fm_sampled_memory_of memory;
    fm_sampled_objects objects;
    fm_sampled_code code;
    fm_sample_code_of process;
    fm_sample_allocation told;
} world;

static world *make(void)
{
    world *self = calloc(1, sizeof *self);
    assert_non_null(self);
    assert_int_equal(fm_sampled_memory_limit(&self->memory, UINT64_MAX, NULL), FM_OK);
    return self;
}

static void destroy(world *self)
{
    fm_sampled_memory_free(&self->memory);
    fm_sampled_objects_free(&self->objects);
    fm_sampled_code_free(&self->code);
    free(self);
}

static void allocate(world *self, uint64_t time, uint64_t address, uint64_t bytes, uint64_t caller,
                     bool by_chance)
{
    self->told = (fm_sample_allocation){
        .time = time, .address = address, .bytes = bytes, .caller = caller, .by_chance = by_chance};
    assert_int_equal(fm_sampled_memory_allocated(&self->memory, &self->objects, &self->process, &self->code,
                                                 &self->told, NULL),
                     FM_OK);
}

/* 0: not known. */
static const fm_sampled_object *object_at(world *self, uint64_t time, uint64_t address)
{
    fm_sampled_extent found;
    fm_sampled_memory_begin(&self->memory);
    assert_int_equal(fm_sampled_memory_find(&self->memory, &self->objects, time, address, &found, NULL),
                     FM_OK);
    return found.object ? &self->objects.objects[found.object - 1] : NULL;
}

static uint64_t caller_of(const world *self, const fm_sampled_object *object)
{
    return self->code.program.sites.entries[self->code.program.calls.nodes[object->is.number].call].a + 1;
}

/* A program that allocates as long as it runs, and of which there are hardly any bursts. */
CASE(test_blocks_without_bursts)
{
    enum { ROUNDS = 50, BLOCKS = 2000 };
    world *self = make();
    uint64_t time = 0, most = 0;
    for (int round = 1; round <= ROUNDS; round++) {
        for (uint64_t i = 0; i < BLOCKS; i++) {
            allocate(self, ++time, 0x10000 + i * 0x100, 0x80, 0x401000, false);
            assert_int_equal(fm_sampled_memory_freed(&self->memory, ++time, 0x10000 + i * 0x100, NULL),
                             FM_OK);
        }
        allocate(self, ++time, 0x8000 - (uint64_t)round * 8, 8, 0x402000, false);
        assert_int_equal(fm_sampled_memory_settle(&self->memory, round * 10, NULL), FM_OK);
        if (round == 4) most = fm_object_map_memory(self->memory.map);
    }
    assert_in_range(fm_object_map_memory(self->memory.map), 1, most + 64 * ROUNDS);
    /* The last but one is not settled: what is told of then is as it was. */
    assert_int_equal(caller_of(self, object_at(self, time - 2, 0x10000 + (BLOCKS - 1) * 0x100)), 0x401000);
    assert_null(object_at(self, time - 1, 0x10000 + (BLOCKS - 1) * 0x100));
    assert_int_equal(caller_of(self, object_at(self, time, 0x8000 - ROUNDS * 8)), 0x402000);
    destroy(self);
}

CASE(test_blocks_at_a_time)
{
    world *self = make();
    allocate(self, 10, 0x10000, 0x1000, 0x401000, false);
    allocate(self, 20, 0x20000, 0x40, 0x402000, false);
    assert_int_equal(fm_sampled_memory_freed(&self->memory, 30, 0x10000, NULL), FM_OK);
    allocate(self, 40, 0x10800, 0x100, 0x403000, false);
    assert_null(object_at(self, 5, 0x10000));
    assert_int_equal(caller_of(self, object_at(self, 25, 0x10fff)), 0x401000);
    assert_null(object_at(self, 25, 0x11000));
    assert_int_equal(caller_of(self, object_at(self, 25, 0x2003f)), 0x402000);
    assert_null(object_at(self, 35, 0x10800));
    assert_int_equal(caller_of(self, object_at(self, 45, 0x10800)), 0x403000);
    assert_int_equal(object_at(self, 45, 0x10800)->is.kind, FM_OBJECT_HEAP);
    destroy(self);
}

/* Blocks of 64 bytes from here on, of which the first are told; those above the limit are forgotten. */
CASE(test_limit)
{
    enum { BLOCKS = 4096, LEVEL = 5 };
    const uint64_t from = 0x7f0000000000, limit = UINT64_MAX >> LEVEL;
    world *self = make();
    size_t kept = 0, large = 0;
    for (uint64_t i = 0; i < BLOCKS; i++) allocate(self, i, from + i * 64, 64, 0x401000, i % 64 != 0);
    assert_int_equal(object_at(self, BLOCKS, from + 64)->level, 0);
    assert_int_equal(fm_sampled_memory_limit(&self->memory, limit, NULL), FM_OK);
    /* Told before the limit fell, and read after it. */
    uint64_t late = from + BLOCKS * 64;
    while (fm_sample_heap_hash(late) < limit) late += 64;
    allocate(self, BLOCKS, late, 64, 0x401000, true);
    assert_null(object_at(self, BLOCKS + 1, late));
    for (uint64_t i = 0; i < BLOCKS; i++) {
        const fm_sampled_object *object = object_at(self, BLOCKS + 1, from + i * 64);
        const bool told = i % 64 == 0 || fm_sample_heap_hash(from + i * 64) < limit;
        assert_int_equal(object != NULL, told);
        if (!told) continue;
        assert_int_equal(object->level, i % 64 == 0 ? 0 : LEVEL);
        large += i % 64 == 0;
        kept += i % 64 != 0;
    }
    assert_int_equal(large, BLOCKS / 64);
    /* The hash spreads neighbours evenly: better than chance would. */
    assert_in_range(kept, BLOCKS / 32 - BLOCKS / 64 - 8, BLOCKS / 32 + 8);
    destroy(self);
}

CASE(test_fork)
{
    world *self = make();
    fm_sampled_memory_of child = {0};
    allocate(self, 10, 0x10000, 0x1000, 0x401000, false);
    assert_int_equal(fm_sampled_memory_fork(&child, &self->memory, NULL), FM_OK);
    fm_sampled_extent found;
    assert_int_equal(fm_sampled_memory_freed(&self->memory, 20, 0x10000, NULL), FM_OK);
    assert_null(object_at(self, 30, 0x10000));
    assert_int_equal(fm_sampled_memory_find(&child, &self->objects, 30, 0x10000, &found, NULL), FM_OK);
    assert_int_not_equal(found.object, 0);
    fm_sampled_memory_free(&child);
    destroy(self);
}

/* Registers and stacks of any kind: it ends, and stays inside. */
CASE(test_garbage)
{
    world *self = make();
    uint64_t random = 7;
    for (int round = 0; round < 2000; round++) {
        unsigned char *bytes = (unsigned char *)&self->told;
        for (size_t i = 0; i < sizeof self->told; i += 8) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            const uint64_t word = random >> (random >> 58);
            memcpy(bytes + i, &word, sizeof self->told - i < 8 ? sizeof self->told - i : 8);
        }
        if (round % 2) self->told.stack_bytes %= FM_SAMPLE_HEAP_STACK + 1;
        assert_int_equal(fm_sampled_memory_allocated(&self->memory, &self->objects, &self->process,
                                                     &self->code, &self->told, NULL),
                         FM_OK);
        object_at(self, random, random >> 20);
    }
    destroy(self);
}

/* ---- calls ---- */

/* This program's own stack. */
typedef struct own_stack {
    uint64_t registers[FM_SAMPLE_REGISTERS];
    unsigned char bytes[4096];
    const void *callers[3];
} own_stack;

#define HERE(stack)                                                                                          \
    __asm__ volatile("lea 0(%%rip), %%rax\n\tmov %%rax, 0(%0)\n\tmov %%rsp, 8(%0)\n\tmov %%rbp, 16(%0)\n\t"  \
                     "mov %%rbx, 24(%0)\n\tmov %%r12, 32(%0)\n\tmov %%r13, 40(%0)\n\tmov %%r14, 48(%0)\n\t"  \
                     "mov %%r15, 56(%0)"                                                                     \
                     :                                                                                       \
                     : "r"((stack)->registers)                                                               \
                     : "rax", "memory")

__attribute__((noinline, no_sanitize_address)) static void innermost(own_stack *stack)
{
    stack->callers[0] = __builtin_return_address(0);
    HERE(stack);
    const volatile unsigned char *from = (const volatile unsigned char *)(uintptr_t)stack->registers[1];
    for (size_t i = 0; i < sizeof stack->bytes; i++) stack->bytes[i] = from[i];
}
__attribute__((noinline)) static void inner(own_stack *stack, volatile char *text)
{
    stack->callers[1] = __builtin_return_address(0);
    volatile char local[200];
    local[0] = text[0];
    innermost(stack);
    text[0] = local[0];
}
__attribute__((noinline)) static void outer(own_stack *stack, size_t bytes)
{
    stack->callers[2] = __builtin_return_address(0);
    volatile char *local = __builtin_alloca(bytes); /* its frame is found by rbp */
    local[0] = 1;
    inner(stack, local);
    local[1] = 2;
}

CASE(test_unwinding)
{
    static own_stack stack;
    fm_sampled_code code = {0};
    fm_sample_code_of *process = calloc(1, sizeof *process);
    fm_sampled_frame frames[FM_SAMPLED_FRAMES];
    size_t count;
    assert_non_null(process);
    process->pid = (uint32_t)getpid();
    process->alive = true;
    outer(&stack, 100);
    assert_int_equal(fm_sampled_stack_unwind(process, &code, stack.registers, stack.bytes, sizeof stack.bytes,
                                             frames, &count, NULL),
                     FM_OK);
    assert_in_range(count, 3, FM_SAMPLED_FRAMES);
    for (size_t i = 0; i < 3; i++)
        assert_ptr_equal((const void *)(uintptr_t)frames[i].back, stack.callers[i]);
    /* What lies beyond the copy is not known. */
    assert_int_equal(
        fm_sampled_stack_unwind(process, &code, stack.registers, stack.bytes, 0, frames, &count, NULL),
        FM_OK);
    assert_int_equal(count, 0);
    fm_sampled_maps_free(&process->maps);
    fm_sampled_code_free(&code);
    free(process);
}

/* The calls of a path, outermost first, by their addresses. */
static size_t calls_of(const fm_sampled_code *code, uint32_t path, uint64_t *addresses)
{
    size_t count = 0;
    const fm_program *program = &code->program;
    for (; path; path = program->calls.nodes[path].parent)
        addresses[count++] = program->sites.entries[program->calls.nodes[path].call].a;
    for (size_t i = 0; i < count / 2; i++) {
        const uint64_t address = addresses[i];
        addresses[i] = addresses[count - 1 - i];
        addresses[count - 1 - i] = address;
    }
    return count;
}

CASE(test_calls)
{
    fm_sampled_code code = {0};
    fm_sample_code_of *process = calloc(1, sizeof *process);
    fm_sampled_calls *calls = calloc(1, sizeof *calls);
    uint64_t found[8];
    uint32_t site;
    assert_non_null(process);
    assert_non_null(calls);
    const fm_sampled_frame frames[] = {{0x301, 0x7000}, {0x201, 0x7100}, {0x101, 0x7200}};
    assert_int_equal(fm_sampled_calls_begin(calls, process, &code, frames, 3, NULL), FM_OK);
    assert_int_equal(calls_of(&code, fm_sampled_calls_path(calls), found), 3);
    assert_int_equal(found[0], 0x100);
    assert_int_equal(found[2], 0x300);
    fm_sampled_code_site(process, &code, 0x400, &site, NULL);
    fm_sampled_calls_call(calls, &code, 0x6f00, site);
    assert_int_equal(calls_of(&code, fm_sampled_calls_path(calls), found), 4);
    assert_int_equal(found[3], 0x400);
    fm_sampled_calls_return(calls, 0x6f00);
    assert_int_equal(calls_of(&code, fm_sampled_calls_path(calls), found), 3);
    /* longjmp: out of two functions at once, and then another is called. */
    fm_sampled_calls_call(calls, &code, 0x7100, site);
    assert_int_equal(calls_of(&code, fm_sampled_calls_path(calls), found), 2);
    assert_int_equal(found[1], 0x400);
    /* A stack of which only the top was copied: what was outside of it is known from before. */
    assert_int_equal(fm_sampled_calls_begin(calls, process, &code, frames, 3, NULL), FM_OK);
    const fm_sampled_frame top[] = {{0x501, 0x6e00}, {0x301, 0x7000}};
    assert_int_equal(fm_sampled_calls_begin(calls, process, &code, top, 2, NULL), FM_OK);
    assert_int_equal(calls_of(&code, fm_sampled_calls_path(calls), found), 4);
    assert_int_equal(found[0], 0x100);
    assert_int_equal(found[3], 0x500);
    fm_sampled_code_free(&code);
    free(calls);
    free(process);
}

/* ---- groups ---- */

CASE(test_groups)
{
    enum { BURSTS = 40, REFERENCES = 1000000 };
    fm_samples *samples;
    fm_estimate *estimate;
    uint32_t thread;
    const fm_samples_options made = {.granularity = 64, .method = "test"};
    assert_int_equal(fm_samples_create(&samples, &made, NULL), FM_OK);
    assert_int_equal(fm_samples_add_thread(samples, REFERENCES, &thread, NULL), FM_OK);
    /* Half of the references come again at once, a half after 60 others: some 30 blocks. */
    const fm_burst_reuse found[] = {{.use = 1, .reuse = 1, .time = 1, .count = 50},
                                    {.use = 3, .reuse = 2, .time = 60, .count = 30},
                                    {.use = 2, .reuse = 3, .time = 60, .count = 20}};
    for (uint64_t i = 0; i < BURSTS; i++) {
        const fm_burst burst = {.at = i * (REFERENCES / BURSTS),
                                .thread = thread,
                                .length = 200,
                                .uses = 100,
                                .weight = REFERENCES / BURSTS,
                                .found = found,
                                .found_count = 3};
        assert_int_equal(fm_samples_add_burst(samples, &burst, NULL), FM_OK);
    }
    const uint64_t edges[] = {0, 8};
    const uint32_t codes[] = {0, 1, 1, 1}, groups[] = {0, 5, 7, 9};
    const fm_estimate_options how = {.bootstrap = 1,
                                     .edges = edges,
                                     .edge_count = 2,
                                     .codes = codes,
                                     .groups = groups,
                                     .tag_count = 4,
                                     .late_from = 8};
    assert_int_equal(fm_estimate_create(&estimate, samples, &how, NULL), FM_OK);
    assert_int_equal(estimate->group_count, 2); /* what comes again at once is not late */
    for (size_t i = 0; i < 2; i++) {
        const fm_group_estimate *group = &estimate->groups[i];
        assert_int_equal(group->group, i == 0 ? 7 : 9);
        assert_true(fabs(group->references - (i == 0 ? 0.3 : 0.2) * REFERENCES) < 0.001 * REFERENCES);
        assert_true(group->error < 0.001 * REFERENCES); /* all bursts are alike */
        assert_true(group->never == 0);
        assert_int_equal(group->samples, BURSTS);
    }
    fm_estimate_destroy(estimate);
    fm_samples_destroy(samples);
}
