/* SPDX-License-Identifier: Apache-2.0 */
/* merged_stack.c - see merged_stack.h: the limits, the memory, and merging. */
#include "engine/approximate/merged_stack.h"

#include "base/error.h"
#include "base/memory.h"

#include <math.h>
#include <string.h>

enum { MOST_AGE_BITS = 10 };

/* Blocks that a node may hold when `later` blocks are in later ones. */
static uint64_t capacity_behind(const fm_merge_rule *rule, uint64_t later)
{
    if (rule->relative_error <= 0) {
        if (later < rule->cutoff) return 1;
        return rule->absolute_error < UINT64_MAX ? rule->absolute_error + 1 : UINT64_MAX;
    }
    /* Rounding must not exceed the error that is allowed: so a little less. */
    const double share = rule->relative_error / (1 - rule->relative_error) * (1 - 1e-14);
    const double extra = (double)later * share;
    return extra < 0x1p63 ? 1 + (uint64_t)extra : UINT64_C(1) << 63;
}

/*
 * Twice what a merge can leave. Relative: the paper's Proposition 2.1. Absolute: single blocks below the
 * cutoff, and one node that begins there; above, two neighbours hold more than B + 1 blocks together.
 */
size_t fm_merged_stack_limit(const fm_merge_rule *rule, uint64_t blocks)
{
    const double live = blocks > 1 ? (double)blocks : 1;
    double most;
    if (rule->relative_error > 0)
        most = 4 * log(live) / log1p(rule->relative_error / (1 - rule->relative_error)) + 4;
    else
        most = 2 * fmin((double)rule->cutoff, live) + 4 * live / ((double)rule->absolute_error + 1) + 6;
    return most < (double)(SIZE_MAX / 64) ? (size_t)most : SIZE_MAX / 64;
}

void fm_merged_stack_start(fm_merged_stack *stack, const fm_merge_rule *rule)
{
    memset(stack, 0, sizeof *stack);
    stack->rule = *rule;
}

void fm_merged_stack_clear(fm_merged_stack *stack)
{
    if (stack->sums) fm_pages_free(stack->sums, (stack->capacity + 1) * sizeof *stack->sums);
    if (stack->newest) fm_pages_free(stack->newest, stack->capacity * sizeof *stack->newest);
    if (stack->by_age) fm_pages_free(stack->by_age, stack->capacity * sizeof *stack->by_age);
    stack->sums = stack->newest = NULL;
    stack->by_age = NULL;
    stack->capacity = 0;
}

/* ---- memory ---- */

/* The index by age has room in an array as long as the nodes: at least 65 buckets, for all powers of two. */
enum { LEAST_CAPACITY = 128 };

static size_t capacity_for(const fm_merged_stack *stack, uint64_t more)
{
    const uint64_t blocks = stack->live > UINT64_MAX - more ? UINT64_MAX : stack->live + more;
    const size_t limit = fm_merged_stack_limit(&stack->rule, blocks);
    return limit < LEAST_CAPACITY ? LEAST_CAPACITY : limit;
}

bool fm_merged_stack_has_room(const fm_merged_stack *stack, uint64_t more)
{
    return stack->capacity > 0 && capacity_for(stack, more) <= stack->capacity;
}

static uint64_t bytes_of(size_t capacity)
{
    return (uint64_t)capacity * (2 * sizeof(uint64_t) + sizeof(uint32_t)) + sizeof(uint64_t);
}

uint64_t fm_merged_stack_memory(const fm_merged_stack *stack)
{
    return stack->capacity ? bytes_of(stack->capacity) : 0;
}

/* A quarter more than is needed, so that arrays do not grow at every call. */
static size_t capacity_grown(const fm_merged_stack *stack, uint64_t more)
{
    const size_t needed = capacity_for(stack, more);
    return needed + needed / 4;
}

uint64_t fm_merged_stack_memory_growing(const fm_merged_stack *stack, uint64_t more)
{
    const uint64_t held = fm_merged_stack_memory(stack);
    return fm_merged_stack_has_room(stack, more) ? held : held + bytes_of(capacity_grown(stack, more));
}

/* New arrays in place of the old, which are not released. Fails without changing anything. */
static fm_status stack_allocate(fm_merged_stack *stack, size_t capacity, fm_error *error)
{
    fm_merged_stack made = *stack;
    made.capacity = capacity;
    made.sums = fm_pages_allocate((capacity + 1) * sizeof *made.sums);
    made.newest = fm_pages_allocate(capacity * sizeof *made.newest);
    made.by_age = fm_pages_allocate(capacity * sizeof *made.by_age);
    if (!made.sums || !made.newest || !made.by_age) {
        fm_merged_stack_clear(&made);
        return fm_fail_memory(error, bytes_of(capacity), "the stack of merged blocks");
    }
    *stack = made;
    return FM_OK;
}

fm_status fm_merged_stack_reserve(fm_merged_stack *stack, uint64_t more, fm_error *error)
{
    if (fm_merged_stack_has_room(stack, more)) return FM_OK;
    const size_t capacity = capacity_grown(stack, more);
    if (capacity > UINT32_MAX)
        return fm_fail(error, FM_E_LIMIT, NULL,
                       "so small an error would need more than 2^32 nodes for so many blocks");
    fm_merged_stack grown = *stack;
    fm_status status = stack_allocate(&grown, capacity, error);
    if (status != FM_OK) return status;
    if (stack->capacity > 0) {
        memcpy(grown.sums, stack->sums, (stack->limit + 1) * sizeof *stack->sums);
        memcpy(grown.newest, stack->newest, stack->merged * sizeof *stack->newest);
        memcpy(grown.by_age, stack->by_age, stack->capacity * sizeof *stack->by_age);
        fm_merged_stack_clear(stack);
    }
    *stack = grown;
    return FM_OK;
}

/* ---- merging ---- */

/* From the Fenwick tree to the sizes it is made of, in place; and back. */
static void sums_to_sizes(uint64_t *sums, size_t count)
{
    for (size_t i = count; i > 0; i--) {
        const size_t parent = i + (i & -i);
        if (parent <= count) sums[parent] -= sums[i];
    }
}

static void sizes_to_sums(uint64_t *sums, size_t count)
{
    for (size_t i = 1; i <= count; i++) {
        const size_t parent = i + (i & -i);
        if (parent <= count) sums[parent] += sums[i];
    }
}

/*
 * TreeCompression of the paper's figure 2, from the newest node to the oldest: a node takes in the one before
 * it while both together are within what the node may hold. Nodes without blocks vanish on the way. The
 * result stands at the end of the arrays; returns where it begins.
 */
static size_t merge_neighbours(const fm_merged_stack *stack, uint64_t *sizes, uint64_t *newest)
{
    size_t to = stack->count;
    uint64_t later = 0, held = 0, room = 0;
    for (size_t from = stack->count; from > 0; from--) {
        const uint64_t size = sizes[from - 1], time = newest[from - 1];
        if (size == 0) continue;
        if (to < stack->count && size <= room - held) {
            held += size;
        } else {
            later += held;
            held = size;
            /* A node that was merged earlier may hold more than it could take in now. */
            room = capacity_behind(&stack->rule, later);
            if (room < held) room = held;
            newest[--to] = time;
        }
        sizes[to] = held;
    }
    return to;
}

/* For each bucket of ages, ascending, the first node that is not older than the oldest age of the bucket. */
static void index_by_age(fm_merged_stack *stack)
{
    const unsigned powers = 64u - (unsigned)__builtin_clzll(stack->merged_at | 1);
    unsigned bits = 0;
    while (bits < MOST_AGE_BITS && ((size_t)(powers + 1) << (bits + 1)) <= stack->merged) bits++;
    stack->age_bits = bits;
    const size_t buckets = fm_merged_stack_bucket(stack, stack->merged_at) + 1;
    size_t node = stack->merged;
    for (size_t bucket = 0; bucket < buckets; bucket++) {
        const size_t whole = (size_t)1 << bits;
        const unsigned shift = bucket < 2 * whole ? 0 : (unsigned)((bucket >> bits) - 1);
        /* Ages of the bucket: [first, first + 2^shift - 1]. */
        const uint64_t first = (uint64_t)(bucket - ((size_t)shift << bits)) << shift;
        const uint64_t oldest = first + ((UINT64_C(1) << shift) - 1);
        while (node > 0 && stack->merged_at - stack->newest[node - 1] <= oldest) node--;
        stack->by_age[bucket] = (uint32_t)node;
    }
}

#ifdef FATHOM_ASSERTIONS
bool fm_merged_stack_is_sound(const fm_merged_stack *stack)
{
    uint64_t blocks = 0;
    for (size_t i = stack->count; i > 0; i &= i - 1) blocks += stack->sums[i];
    for (size_t i = 1; i < stack->merged; i++)
        if (stack->newest[i] <= stack->newest[i - 1]) return false;
    return blocks == stack->live && stack->count <= stack->limit && stack->limit <= stack->capacity;
}
#endif

void fm_merged_stack_merge(fm_merged_stack *stack)
{
    uint64_t *sizes = stack->sums + 1;
    sums_to_sizes(stack->sums, stack->limit);
    for (size_t i = stack->merged; i < stack->count; i++)
        stack->newest[i] = stack->merged_at + (i - stack->merged);
    const size_t begin = merge_neighbours(stack, sizes, stack->newest);
    stack->count -= begin;
    memmove(sizes, sizes + begin, stack->count * sizeof *sizes);
    memmove(stack->newest, stack->newest + begin, stack->count * sizeof *stack->newest);
    stack->merged = stack->count;
    stack->merged_at = stack->clock;
    stack->limit = fm_merged_stack_limit(&stack->rule, stack->live);
    for (size_t i = stack->count; i < stack->limit; i++) sizes[i] = 1;
    sizes_to_sums(stack->sums, stack->limit);
    if (stack->merged > 0) index_by_age(stack);
    FM_ASSERT(fm_merged_stack_is_sound(stack));
}
