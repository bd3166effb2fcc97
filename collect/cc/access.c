/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * access.c - the hooks of loads, stores and calls that are not the plain ones of hooks.S: ranges, what
 * reads and writes, functions entered and left; and the ways out of hooks.S when a chunk is full or the
 * thread has no channel yet.
 */
#include "runtime.h"

_Static_assert(offsetof(fm_channel, cursor) == FM_CURSOR && offsetof(fm_channel, limit) == FM_LIMIT, "");
_Static_assert(offsetof(fm_channel, spare0) + 8 * FM_SPARE_PAGE == FM_PAGE, "");
_Static_assert(offsetof(fm_channel, spare0) + 8 * FM_SPARE_MASK == FM_MASK, "");
_Static_assert(offsetof(fm_cells, load) == FM_CELL_LOAD && offsetof(fm_cells, store) == FM_CELL_STORE, "");
_Static_assert(offsetof(fm_cells, any) == FM_CELL_ANY, "");
_Static_assert(FM_CELL_LOAD == 0 && FM_CELL_STORE == 8 && offsetof(fm_cells, calls) == 24,
               "inline.s has them as numbers");
_Static_assert(FM_RECORD(FM_RECORD_PAGE, 0, 0) == UINT64_C(0x9500000000000000), "hooks.S has it as a number");
_Static_assert(FM_ACCESS_LOAD_1 == 1 && FM_ACCESS_LOAD_32 == 6 && FM_ACCESS_STORE_1 == 8 &&
                   FM_ACCESS_STORE_32 == 13,
               "hooks.S has them as numbers");

/* Beyond its limit from the beginning, so that the first hook comes to fm_access_slow. */
fm_channel fm_unclaimed_channel = {.cursor = 1, .limit = 0};
fm_thread fm_unclaimed_thread;
__thread fm_cells fm_my = {
    .load = &fm_unclaimed_channel,
    .store = &fm_unclaimed_channel,
    .any = &fm_unclaimed_channel,
    .calls = &fm_unclaimed_thread,
    .heap = &fm_unclaimed_thread,
    .thread = &fm_unclaimed_thread,
    .unclaimed = &fm_unclaimed_channel,
};

static uint64_t access_word(uintptr_t address, unsigned code, uintptr_t low)
{
    return FM_ACCESS_WORD(address, code, low) & ~(UINT64_C(1) << 63);
}

/* ---- out of hooks.S ---- */

static void get_ready(void)
{
    if (fm_my.any == &fm_unclaimed_channel) {
        fm_thread_attach();
        if (fm_my.any == &fm_unclaimed_channel) return;
    }
    if (fm_my.any) fm_make_room();
}

/* The runtime has not started: what comes so early is not reported. */
static bool too_early(void)
{
    return fm_my.any == &fm_unclaimed_channel;
}

void fm_access_slow(uintptr_t address, unsigned code, uintptr_t pc);
void fm_append1_slow(uint64_t word);
void fm_append2_slow(uint64_t first, uint64_t second);
void fm_append4_slow(uint64_t first, uint64_t second, uint64_t third, uint64_t fourth);
void fm_append_many_slow(const uint64_t *words, size_t count);

FM_COLD void fm_access_slow(uintptr_t address, unsigned code, uintptr_t pc)
{
    get_ready();
    if (!too_early()) fm_access(address, code, 0, pc);
}

FM_COLD void fm_append1_slow(uint64_t word)
{
    get_ready();
    if (!too_early()) fm_append1(word);
}

FM_COLD void fm_append2_slow(uint64_t first, uint64_t second)
{
    get_ready();
    if (!too_early()) fm_append2(first, second);
}

FM_COLD void fm_append4_slow(uint64_t first, uint64_t second, uint64_t third, uint64_t fourth)
{
    get_ready();
    if (!too_early()) fm_append4(first, second, third, fourth);
}

FM_COLD void fm_append_many_slow(const uint64_t *words, size_t count)
{
    get_ready();
    if (!too_early()) fm_append_many(words, count);
}

/* ---- accesses ---- */

static fm_channel *wanted_channel(unsigned code)
{
    return code <= FM_ACCESS_LOAD_RANGE ? fm_my.load : fm_my.store;
}

void fm_access(uintptr_t address, unsigned code, uint64_t length, uintptr_t pc)
{
    fm_channel *channel = wanted_channel(code);
    if (fm_likely(!channel)) return;
    if (fm_unlikely(channel == &fm_unclaimed_channel)) {
        fm_thread_attach();
        channel = wanted_channel(code);
        if (!channel || channel == &fm_unclaimed_channel) return;
    }
    uintptr_t low = (pc & channel->spare0[FM_SPARE_MASK]) ^ channel->spare0[FM_SPARE_PAGE];
    if (fm_unlikely(low > 0xFFF)) {
        uintptr_t page = pc & ~(uintptr_t)0xFFF;
        low = pc & 0xFFF;
        /* In this order: a signal handler in between reports the page that it finds here, see signal.c. */
        __atomic_store_n(&channel->spare0[FM_SPARE_PAGE], page, __ATOMIC_RELAXED);
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        fm_append1(FM_RECORD(FM_RECORD_PAGE, page >> 12, 0));
    }
    if (code == FM_ACCESS_LOAD_RANGE || code == FM_ACCESS_STORE_RANGE)
        fm_append2(access_word(address, code, low), length);
    else
        fm_append1(access_word(address, code, low));
}

/* Sizes that have a word of their own need no second one. base: FM_ACCESS_LOAD_1 or …_STORE_1. */
static void access_range(uintptr_t address, uint64_t length, unsigned base, uintptr_t pc)
{
    if (length == 0) return;
    if (length <= 32 && (length & (length - 1)) == 0) {
        fm_access(address, base + (unsigned)__builtin_ctz((unsigned)length), 0, pc);
        return;
    }
    const unsigned code = base + FM_ACCESS_LOAD_RANGE - FM_ACCESS_LOAD_1;
    while (length > FM_RANGE_MOST) {
        uint64_t bytes = fm_bytes_to_border(address, length, FM_RANGE_MOST);
        fm_access(address, code, bytes, pc);
        address += bytes;
        length -= bytes;
    }
    fm_access(address, code, length, pc);
}

void fm_load_range(uintptr_t address, uint64_t length, uintptr_t pc)
{
    if (fm_my.load) access_range(address, length, FM_ACCESS_LOAD_1, pc);
}

void fm_store_range(uintptr_t address, uint64_t length, uintptr_t pc)
{
    if (fm_my.store) access_range(address, length, FM_ACCESS_STORE_1, pc);
}

void fm_load_and_store(uintptr_t address, uint64_t length, uintptr_t pc)
{
    fm_load_range(address, length, pc);
    fm_store_range(address, length, pc);
}

static fm_thread *traced_thread(void)
{
    fm_thread *thread = fm_my.thread;
    return thread && thread != &fm_unclaimed_thread && thread->channel ? thread : NULL;
}

static uint64_t cursor_of(const fm_thread *thread)
{
    return *(const volatile uint64_t *)&thread->channel->cursor;
}

/* Remembers what a hook reported behind what was reported before it, at `cursor`. */
static void remember_range(uint64_t cursor, uintptr_t address, uint64_t length, bool store)
{
    fm_thread *thread = traced_thread();
    if (!thread) return;
    fm_reported_ranges *reported = &thread->reported;
    if (reported->cursor != cursor) reported->store_length = reported->load_length = 0;
    if (store) {
        reported->store_address = address;
        reported->store_length = length;
    } else {
        reported->load_address = address;
        reported->load_length = length;
    }
    reported->cursor = cursor_of(thread);
}

bool fm_ranges_reported(uintptr_t to, uintptr_t from, uint64_t length)
{
    fm_thread *thread = traced_thread();
    if (!thread || length == 0 || thread->reported.cursor != cursor_of(thread)) return false;
    const fm_reported_ranges *reported = &thread->reported;
    bool same = reported->store_length == length && reported->store_address == to &&
                (from ? reported->load_length == length && reported->load_address == from
                      : reported->load_length == 0);
    thread->reported.cursor = 0; /* once */
    return same;
}

static void tell_range(uintptr_t address, uint64_t length, bool store, uintptr_t pc)
{
    const fm_thread *thread = traced_thread();
    uint64_t cursor = thread ? cursor_of(thread) : 0;
    if (store)
        fm_store_range(address, length, pc);
    else
        fm_load_range(address, length, pc);
    remember_range(cursor, address, length, store);
}

FM_EXPORT void __tsan_read_range(uintptr_t address, uint64_t length);
FM_EXPORT void __tsan_write_range(uintptr_t address, uint64_t length);
FM_EXPORT void __tsan_vptr_update(uintptr_t address, void *value);
/* What clang's AddressSanitizer calls for any other size than 1 to 16, by way of hooks.S. */
void fm_load_other(uintptr_t address, uint64_t length);
void fm_store_other(uintptr_t address, uint64_t length);

FM_EXPORT void __tsan_read_range(uintptr_t address, uint64_t length)
{
    if (fm_unlikely(fm_my.any != NULL)) tell_range(address, length, false, FM_SITE);
}

FM_EXPORT void __tsan_write_range(uintptr_t address, uint64_t length)
{
    if (fm_unlikely(fm_my.any != NULL)) tell_range(address, length, true, FM_SITE);
}

void fm_load_other(uintptr_t address, uint64_t length)
{
    fm_load_range(address, length, FM_SITE);
}

void fm_store_other(uintptr_t address, uint64_t length)
{
    fm_store_range(address, length, FM_SITE);
}

/*
 * Vectors of `count` elements of which only those in the mask are loaded or stored (collect/gcc). The mask is
 * a row of elements whose signs count (AVX2), each of them an access as for the other collectors; or of bits
 * (AVX-512), and those side by side are one access.
 */
static void tell_masked(uintptr_t address, const unsigned char *mask, uint32_t count, uint32_t size,
                        bool bits, bool store, uintptr_t pc)
{
    uint32_t from = 0;
    for (uint32_t i = 0; i < count; from = ++i) {
        while (bits && i < count && mask[i / 8] >> i % 8 & 1) i++;
        const uint32_t end = bits ? i : i + (mask[(size_t)i * size + size - 1] >> 7);
        if (end == from) continue;
        const uintptr_t at = address + (uintptr_t)from * size;
        if (store)
            fm_store_range(at, (uint64_t)(end - from) * size, pc);
        else
            fm_load_range(at, (uint64_t)(end - from) * size, pc);
    }
}

FM_EXPORT void __fathom_masked_load(uintptr_t address, const void *mask, uint32_t count, uint32_t size,
                                    uint32_t bits);
FM_EXPORT void __fathom_masked_store(uintptr_t address, const void *mask, uint32_t count, uint32_t size,
                                     uint32_t bits);

FM_EXPORT void __fathom_masked_load(uintptr_t address, const void *mask, uint32_t count, uint32_t size,
                                    uint32_t bits)
{
    if (fm_unlikely(fm_my.load != NULL)) tell_masked(address, mask, count, size, bits, false, FM_SITE);
}

FM_EXPORT void __fathom_masked_store(uintptr_t address, const void *mask, uint32_t count, uint32_t size,
                                     uint32_t bits)
{
    if (fm_unlikely(fm_my.store != NULL)) tell_masked(address, mask, count, size, bits, true, FM_SITE);
}

FM_EXPORT void __tsan_vptr_update(uintptr_t address, void *value)
{
    (void)value;
    fm_access(address, FM_ACCESS_STORE_8, 0, FM_SITE);
}

/* What is read and then written by one hook (clang's --tsan-compound-read-before-write). */
#define READ_WRITE(name, length)                                                                             \
    FM_EXPORT void name(uintptr_t address);                                                                  \
    FM_EXPORT void name(uintptr_t address)                                                                   \
    {                                                                                                        \
        fm_load_and_store(address, length, FM_SITE);                                                         \
    }
READ_WRITE(__tsan_read_write1, 1)
READ_WRITE(__tsan_read_write2, 2)
READ_WRITE(__tsan_read_write4, 4)
READ_WRITE(__tsan_read_write8, 8)
READ_WRITE(__tsan_read_write16, 16)
READ_WRITE(__tsan_unaligned_read_write1, 1)
READ_WRITE(__tsan_unaligned_read_write2, 2)
READ_WRITE(__tsan_unaligned_read_write4, 4)
READ_WRITE(__tsan_unaligned_read_write8, 8)
READ_WRITE(__tsan_unaligned_read_write16, 16)

/* ---- calls ---- */

/*
 * A frame is counted before it is written, so that the frames of a signal handler come to lie above it;
 * they are gone when it returns. A function may be left without a hook: by longjmp or an exception, which
 * context.c and personality_cxx.c report when it happens, or in ways that nobody reports. Then its frame lies
 * below the stack pointer of the next function that is entered or left: stacks grow downwards.
 */

/* How many frames are left when those below a stack pointer are over. */
static uint32_t frames_from(const fm_thread *thread, uintptr_t stack)
{
    uint32_t depth = thread->depth;
    if (depth > FM_FRAMES) { /* those beyond were not remembered */
        if (thread->floor >= FM_FRAMES || thread->frames[FM_FRAMES - 1].stack >= stack) return depth;
        depth = FM_FRAMES;
    }
    while (depth > thread->floor && thread->frames[depth - 1].stack < stack) depth--;
    return depth;
}

static void set_depth(fm_thread *thread, uint32_t depth)
{
    *(volatile uint32_t *)&thread->depth = depth;
}

void fm_unwound(uintptr_t stack)
{
    fm_thread *thread = fm_my.calls;
    if (!thread || thread == &fm_unclaimed_thread) return;
    set_depth(thread, frames_from(thread, stack));
    if (thread->record_calls) fm_append2(FM_RECORD(FM_RECORD_UNWIND, 0, 1), stack);
}

static FM_COLD void function_enter(fm_thread *thread, uintptr_t call_site, uintptr_t inside, uintptr_t stack)
{
    if (thread == &fm_unclaimed_thread) {
        fm_thread_attach();
        thread = fm_my.calls;
        if (!thread || thread == &fm_unclaimed_thread) return;
    }
    if (fm_unlikely(thread->interruption && stack > thread->floor_stack)) { /* its handler was left */
        thread->interruption = NULL;
        thread->floor = 0;
    }
    uint32_t depth = frames_from(thread, stack + 1);
    set_depth(thread, depth + 1);
    if (depth < FM_FRAMES) {
        volatile fm_cc_frame *frame = &thread->frames[depth];
        frame->call_site = call_site;
        frame->inside = inside;
        frame->stack = stack;
    }
    if (thread->record_calls) fm_append4(FM_RECORD(FM_RECORD_ENTER, 0, 3), inside, call_site, stack);
}

/*
 * caller, stack: where the hook returns to, and the stack pointer there. That is the function that is left,
 * or, where the hook was called last of all by a jump, the one that called it.
 */
static FM_COLD void function_leave(fm_thread *thread, uintptr_t caller, uintptr_t stack)
{
    if (thread == &fm_unclaimed_thread) return; /* it was entered before the thread had a channel */
    uint32_t depth = thread->depth, above = frames_from(thread, stack);
    bool jumped = above < depth && thread->frames[above].call_site == caller;
    uint32_t abandoned = depth - above - jumped;
    if (fm_unlikely(abandoned > 0)) {
        fm_unwound(stack);
        if (jumped) return; /* and it with them */
        depth = above;
    }
    if (depth > thread->floor) set_depth(thread, depth - 1);
    if (thread->record_calls) fm_append1(FM_RECORD(FM_RECORD_LEAVE, 0, 0));
}

FM_EXPORT void __tsan_func_entry(uintptr_t call_site);
FM_EXPORT void __tsan_func_exit(void);

FM_EXPORT void __tsan_func_entry(uintptr_t call_site)
{
    fm_thread *thread = fm_my.calls;
    if (fm_unlikely(thread != NULL)) function_enter(thread, call_site, FM_CALLER, FM_CALLER_STACK);
}

FM_EXPORT void __tsan_func_exit(void)
{
    fm_thread *thread = fm_my.calls;
    if (fm_unlikely(thread != NULL)) function_leave(thread, FM_CALLER, FM_CALLER_STACK);
}
